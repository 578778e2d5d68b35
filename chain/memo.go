package chain

import (
	"slices"
	"unicode/utf8"

	"purser/wallet"
)

// memoLimit is the longest memo, in bytes of UTF-8.
const memoLimit = 512

// memoCodec is the row of a memo: a public note beside the transfer. It names no signers, so only the fee payer signs
// it.
func memoCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionMemo, Programs: []wallet.Address{memoProgram, memoProgramV4},
		Decode: decodeMemo,
		Encode: func(a wallet.Action) Instruction { return Instruction{Program: memoProgram, Data: []byte(a.Text)} }}
}

// decodeMemo allows one memo of visible text. Invisible characters could show the person something else than what is
// stored.
func decodeMemo(c Call, before []wallet.Action) (wallet.Action, error) {
	text := string(c.Data())
	switch {
	case slices.ContainsFunc(before, func(a wallet.Action) bool { return a.Type == wallet.ActionMemo }):
		return wallet.Action{}, refuse(BadMemo, "it holds more than one memo")
	case c.Len() > 0:
		return wallet.Action{}, refuse(BadMemo, "the memo names accounts")
	case text == "" || len(text) > memoLimit:
		return wallet.Action{}, refuse(BadMemo, "the memo is empty or too long")
	case !utf8.ValidString(text):
		return wallet.Action{}, refuse(BadMemo, "the memo is not text")
	case wallet.HidesCharacters(text):
		return wallet.Action{}, refuse(BadMemo, "the memo holds characters that do not show")
	}
	return wallet.Action{Type: wallet.ActionMemo, Text: text}, nil
}
