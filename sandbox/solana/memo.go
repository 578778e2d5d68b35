package solana

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// memo runs the Memo program. The data must be UTF-8, and since version 3 every account of the instruction must have
// signed. Versions 3 and 4 run the same code: it logs first, and fails inside the log call if the memo is not UTF-8.
func (in *invocation) memo() *InstructionError {
	before := in.units
	run := in.memoV4
	if in.program == memoV1 {
		run = in.memoV1
	}
	err := run()
	in.log("Program %s consumed %d of %d compute units", in.program, before-in.units, before)
	return err
}

// memoV1 logs nothing. Its compute units are fitted to measurements (docs/sandbox-differences.md).
func (in *invocation) memoV1() *InstructionError {
	length := uint64(len(in.data))
	wide := uint64(0) // bytes outside ASCII, which take longer to check
	for _, b := range in.data {
		if b >= 0x80 {
			wide++
		}
	}
	if err := in.spend(240 + length*2/3 + 22*wide + 260*uint64(len(in.accounts))); err != nil {
		return err
	}
	if !utf8.Valid(in.data) {
		return refused("InvalidInstructionData")
	}
	return nil
}

// memoV4 charges the units step by step as the program does. So it runs out of them at the same place: in its own
// instructions, or in a call of the runtime.
func (in *invocation) memoV4() *InstructionError {
	format := uint64(27) // instructions until the memo's length is written
	// Each signer is logged. Every step charges before it acts.
	for i := range in.accounts {
		if i == 0 {
			if err := in.step(7, unitsOfLog); err != nil {
				return err
			}
			in.log("Program log: Signed by:")
			format += 2
		}
		if in.repeated(i) { // an account is checked and logged once
			if err := in.spend(6); err != nil {
				return err
			}
			continue
		}
		check := uint64(15)
		if i == 0 {
			check = 17
		}
		if !in.signs(i) {
			if err := in.spend(check + 6); err != nil {
				return err
			}
			return refused("MissingRequiredSignature")
		}
		if err := in.step(check, unitsOfLog); err != nil {
			return err
		}
		in.log("Program log: %s", in.key(i))
	}
	// The memo's length is part of the log line, so formatting it costs units by its digits.
	length := uint64(len(in.data))
	if length > 0 {
		format += 13 * uint64(len(strconv.FormatUint(length, 10)))
		if err := in.step(format, 10); err != nil { // copies the length into the log line
			return err
		}
		format = 19
	}
	if err := in.step(format, unitsOfLog); err != nil {
		return err
	}
	in.log("Program log: Memo (len %d)", length)
	// The log call charges one unit per byte, but at least its minimum, before it looks at the text.
	if err := in.step(3, max(unitsOfLog, length)); err != nil {
		return err
	}
	if fault := utf8Fault(in.data); fault != "" {
		err := refused("ProgramFailedToComplete")
		err.logged = fault
		return err
	}
	in.log("Program log: %s", in.data)
	return in.spend(2)
}

// repeated says whether the account at i occurs earlier in the instruction.
func (in *invocation) repeated(i int) bool {
	for j := range i {
		if in.same(i, j) {
			return true
		}
	}
	return false
}

const unitsOfLog = 100 // minimum compute units of a log call; it costs one unit a byte

// step charges the units of a program's instructions, and then those of the runtime call that follows them.
func (in *invocation) step(instructions, call uint64) *InstructionError {
	if err := in.spend(instructions); err != nil {
		return err
	}
	return in.consume(call)
}

// validPrefix is how many bytes at the start are valid UTF-8.
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

// utf8Fault says what is wrong with a text that must be UTF-8, in the words of Rust's error. It returns "" for valid
// text.
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
	// A sequence that breaks off in the middle is invalid up to the byte that does not belong to it.
	bad := 1
	for bad < len(rest) && !utf8.FullRune(rest[:bad]) {
		bad++
	}
	return fmt.Sprintf("invalid utf-8 sequence of %d bytes from index %d: %s", max(bad-1, 1), from, bytes)
}
