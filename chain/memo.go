package chain

import (
	"slices"
	"unicode/utf8"

	"purser/wallet"
)

// memoLimit is how many bytes of UTF-8 a memo has at most.
const memoLimit = 512

// memoCodec is a public note beside what the transaction is about. Nobody signs it but the fee payer, who signs all.
func memoCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionMemo, Programs: []wallet.Address{memoProgram, memoProgramV4},
		Decode: decodeMemo,
		Encode: func(a wallet.Action) Instruction { return Instruction{Program: memoProgram, Data: []byte(a.Text)} }}
}

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
