package world

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"

	"purser/chain"
	"purser/wallet"
)

// What a hostile app gets signed, and does with it. Nothing of it can be signed through purser, so these instructions of the
// token programs are written here.
const (
	spends   = "spend"   // TransferChecked: Units of Mint from Account to Source, by From
	approves = "approve" // Approve: To may take Units from Account, by From
)

// hostile is the codec with rows for them.
func (w *World) hostile() chain.Codec {
	w.Helper()
	row := func(typ string, number byte, size int, accounts func(wallet.Action) []chain.Account) chain.ActionCodec {
		read := func(c chain.Call) wallet.Action {
			a := wallet.Action{Type: typ, From: c.Payer(), Account: c.At(0), Program: c.Program(), Units: binary.LittleEndian.Uint64(c.Data()[1:])}
			if typ == spends {
				a.Mint, a.Source, a.Decimals = c.At(1), c.At(2), c.Data()[9]
			} else {
				a.To = c.At(1)
			}
			return a
		}
		return chain.ActionCodec{Type: typ, Programs: []wallet.Address{wallet.TokenProgram, wallet.Token2022Program}, Principal: true,
			Claims:  func(c chain.Call) bool { return len(c.Data()) == size && c.Data()[0] == number },
			Decode:  func(c chain.Call, _ []wallet.Action) (wallet.Action, error) { return read(c), nil },
			Matches: func(chain.Call, wallet.Action) bool { return false },
			Encode: func(a wallet.Action) chain.Instruction {
				return chain.Instruction{Program: a.Program, Accounts: accounts(a), Data: append(binary.LittleEndian.AppendUint64([]byte{number}, a.Units), a.Decimals)[:size]}
			}}
	}
	codec, err := chain.NewCodec(
		row(spends, 12, 10, func(a wallet.Action) []chain.Account {
			return []chain.Account{{Address: a.Account, Writable: true}, {Address: a.Mint}, {Address: a.Source, Writable: true}, {Address: a.From, Signer: true, Writable: true}}
		}),
		row(approves, 4, 9, func(a wallet.Action) []chain.Account {
			return []chain.Account{{Address: a.Account, Writable: true}, {Address: a.To}, {Address: a.From, Signer: true, Writable: true}}
		}))
	w.Must(err)
	return codec
}

// broadcasts signs actions with a key and sends them, behind purser's back. The error is the network's refusal.
func (w *World) broadcasts(key ed25519.PrivateKey, a wallet.Action) error {
	w.Helper()
	ctx := context.Background()
	message, err := w.hostile().Build(wallet.Transaction{From: AddressOf(key)}, []wallet.Action{a})
	w.Must(err)
	hash, err := w.Chain.Blockhash(ctx)
	w.Must(err)
	message, err = chain.WithBlockhash(message, hash.Hash)
	w.Must(err)
	wire, err := chain.Assemble(message, wallet.Signature(ed25519.Sign(key, message)))
	w.Must(err)
	if err := w.Chain.Broadcast(ctx, wire); err != nil {
		return err
	}
	w.Blocks(3)
	return nil
}

// TokenOf returns a listed test token of the sandbox ("USDC").
func (w *World) TokenOf(symbol string) wallet.Token {
	w.Helper()
	token, ok := w.Tokens.BySymbol(symbol)
	if !ok {
		w.Fatalf("no token %s is listed", symbol)
	}
	return token
}

// Approve lets a delegate spend up to units from somebody's associated account of a token, as a hostile app gets people to do.
func (w *World) Approve(p *Person, token wallet.Token, delegate wallet.Address, units uint64) wallet.Address {
	w.Helper()
	account := wallet.AssociatedAccount(p.Address(), token.Mint, token.Program)
	w.Must(w.broadcasts(p.Key, wallet.Action{Type: approves, From: p.Address(), To: delegate, Account: account, Program: token.Program, Units: units}))
	return account
}

// Spend lets a delegate take units from a token account into its own associated account, which must exist. The error is the
// network's refusal.
func (w *World) Spend(delegate ed25519.PrivateKey, from wallet.Address, token wallet.Token, units uint64) error {
	w.Helper()
	by := AddressOf(delegate)
	return w.broadcasts(delegate, wallet.Action{Type: spends, From: by, Account: from, Source: wallet.AssociatedAccount(by, token.Mint, token.Program),
		Mint: token.Mint, Program: token.Program, Units: units, Decimals: token.Decimals})
}
