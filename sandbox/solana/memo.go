package solana

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// memo runs the Memo program: the data must be UTF-8, and in version 3 every account that the
// instruction names must have signed.
func (in *invocation) memo() *InstructionError {
	granted := in.units
	if in.program == memoV3 {
		for i := range in.accounts {
			if !in.signs(i) {
				err := in.charge(memoUnits(in, 0), granted)
				if err == nil {
					err = refused("MissingRequiredSignature")
				}
				return err
			}
			in.log("Program log: Signed by %s", in.key(i))
		}
	}
	if !utf8.Valid(in.data) {
		if in.program == memoV3 {
			in.log("Program log: Invalid UTF-8, from byte %d", validPrefix(in.data))
		}
		if err := in.charge(memoUnits(in, len(in.data)), granted); err != nil {
			return err
		}
		return refused("InvalidInstructionData")
	}
	if in.program == memoV3 {
		in.log("Program log: Memo (len %d): %s", len(in.data), rustQuote(string(in.data)))
	}
	return in.charge(memoUnits(in, len(in.data)), granted)
}

// charge takes a program's compute units and logs them, as the loader does.
func (in *invocation) charge(units, granted uint64) *InstructionError {
	err := in.consume(units)
	if err != nil {
		units = granted
		err = refused("ProgramFailedToComplete")
	}
	in.log("Program %s consumed %d of %d compute units", in.program, units, granted)
	return err
}

// memoUnits estimates what the program uses; the real figure depends on the bytes
// (docs/sandbox-differences.md).
func memoUnits(in *invocation, length int) uint64 {
	return 300 + uint64(length)*20 + uint64(len(in.accounts))*200
}

func validPrefix(data []byte) int {
	n := 0
	for n < len(data) {
		r, size := utf8.DecodeRune(data[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// rustQuote writes a text as Rust's {:?} does, which is what the program logs.
func rustQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == 0:
			b.WriteString(`\0`)
		case strconv.IsPrint(r) && !unicode.Is(unicode.Mn, r) || r == 0x3000:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
