package solana

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// memo runs the Memo program: the data must be UTF-8, and in version 3 every account that the
// instruction names must have signed. Version 3 is the rewritten one: it logs the memo first and
// fails in the log call when that is not UTF-8.
func (in *invocation) memo() *InstructionError {
	before := in.units
	err := in.consume(in.memoUnits())
	used := before - in.units
	switch {
	case err != nil:
		err = refused("ProgramFailedToComplete")
		err.logged = "exceeded CUs meter at BPF instruction"
	case in.program == memoV1:
		if !utf8.Valid(in.data) {
			err = refused("InvalidInstructionData")
		}
	default:
		err = in.memoV3()
	}
	in.log("Program %s consumed %d of %d compute units", in.program, used, before)
	return err
}

func (in *invocation) memoV3() *InstructionError {
	if len(in.accounts) > 0 {
		in.log("Program log: Signed by:")
	}
	for i := range in.accounts {
		if !in.signs(i) {
			return refused("MissingRequiredSignature")
		}
		in.log("Program log: %s", in.key(i))
	}
	in.log("Program log: Memo (len %d)", len(in.data))
	if fault := utf8Fault(in.data); fault != "" {
		err := refused("ProgramFailedToComplete")
		err.logged = fault
		return err
	}
	in.log("Program log: %s", in.data)
	return nil
}

// memoUnits estimates what the program uses. Logging is priced by the runtime, 100 units or one a
// byte; the rest was fitted to measurements (docs/sandbox-differences.md).
func (in *invocation) memoUnits() uint64 {
	length := uint64(len(in.data))
	if in.program == memoV1 {
		wide := uint64(0) // bytes outside ASCII, which take longer to check
		for _, b := range in.data {
			if b >= 0x80 {
				wide++
			}
		}
		return 240 + length*2/3 + 22*wide + 260*uint64(len(in.accounts))
	}
	signing := uint64(0) // what checking and logging the signers takes
	for i := range in.accounts {
		if !in.signs(i) {
			return 130 + 115*uint64(i)
		}
		signing = 113 + 113*uint64(i+1)
	}
	if length == 0 {
		return 232 + signing
	}
	return 180 + max(100, length) + signing
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

// utf8Fault says in the validator's words what is wrong with a text that has to be UTF-8; "" when
// nothing is.
func utf8Fault(data []byte) string {
	from := validPrefix(data)
	if from == len(data) {
		return ""
	}
	rest := data[from:]
	bytes := strings.ReplaceAll(fmt.Sprint(data), " ", ", ")
	if !utf8.FullRune(rest) {
		return fmt.Sprintf("incomplete utf-8 byte sequence from index %d: %s", from, bytes)
	}
	bad := 1
	for bad < len(rest) && !utf8.FullRune(rest[:bad]) {
		bad++
	}
	return fmt.Sprintf("invalid utf-8 sequence of %d bytes from index %d: %s", max(bad-1, 1), from, bytes)
}
