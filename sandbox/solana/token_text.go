package solana

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Instructions of the SPL Token program that return data about a mint, and the conversion of amounts to text and
// back.

// tokenDataSize returns the size of a token account in bytes; it never varies in this program.
func (in *invocation) tokenDataSize() *InstructionError {
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	in.give(binary.LittleEndian.AppendUint64(nil, accountSize))
	return nil
}

// tokenMintGiven requires account 0 to be a mint of this program.
func (in *invocation) tokenMintGiven() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	if _, err := in.tokenIssue(0); err != nil {
		return custom(tokenInvalidMint)
	}
	return nil
}

// give sets the return data, which the calling program reads.
func (in *invocation) give(data []byte) { in.returned = &returnData{in.program, data} }

// tokenImmutableOwner does nothing but check: owners of associated accounts never change in this program.
func (in *invocation) tokenImmutableOwner() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	h := tokenAccount(in.account(0).Data)
	if len(h) != accountSize || h.state() > stateFrozen {
		return refused("InvalidAccountData")
	}
	if h.state() != stateNone {
		return custom(tokenInUse)
	}
	return nil
}

// tokenToText converts base units to a decimal amount of whole tokens.
func (in *invocation) tokenToText(d []byte) *InstructionError {
	amount, _, ok := amounts(d, false)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	in.give([]byte(decimal(amount, mintAccount(in.account(0).Data).decimals())))
	return nil
}

// tokenFromText converts a decimal amount of whole tokens to base units.
func (in *invocation) tokenFromText(d []byte) *InstructionError {
	if !utf8.Valid(d) {
		return custom(tokenInvalidInstruction)
	}
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	amount, ok := units(string(d), mintAccount(in.account(0).Data).decimals())
	if !ok {
		return refused("InvalidArgument")
	}
	in.give(binary.LittleEndian.AppendUint64(nil, amount))
	return nil
}

// decimal formats base units as a decimal number of whole tokens, without trailing zeros.
func decimal(amount uint64, decimals byte) string {
	text := strconv.FormatUint(amount, 10)
	if decimals == 0 {
		return text
	}
	if short := int(decimals) + 1 - len(text); short > 0 {
		text = strings.Repeat("0", short) + text
	}
	at := len(text) - int(decimals)
	return strings.TrimSuffix(strings.TrimRight(text[:at]+"."+text[at:], "0"), ".")
}

// units parses such a number into base units. It is false for anything else, and for more digits than the token has.
func units(text string, decimals byte) (amount uint64, ok bool) {
	whole, rest, _ := strings.Cut(text, ".")
	rest = strings.TrimRight(rest, "0") // a second point stays in rest, and fails as a digit
	if whole == "" && rest == "" || len(rest) > int(decimals) {
		return 0, false
	}
	digits := strings.TrimPrefix(whole+rest+strings.Repeat("0", int(decimals)-len(rest)), "+")
	if digits == "" || strings.ContainsAny(digits, "+-_") {
		return 0, false
	}
	amount, err := strconv.ParseUint(digits, 10, 64)
	return amount, err == nil
}
