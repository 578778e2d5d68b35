package chain

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"filippo.io/edwards25519"
	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// Build makes the legacy message of t with its blockhash zeroed (docs/architecture.md, The rule against paying twice,
// 3): budget first, then the recipient's token account if its rent is part of t, then the memo (which a Token-2022
// account wants right before the transfer, as Solana Pay does), then the transfer with the references of the payment
// link that it answers and its own as last, read-only accounts. The message has passed Decode, so a *NotAllowed tells
// of fields that no device would sign.
func Build(t wallet.Transaction) ([]byte, error) {
	var instructions []solana.Instruction
	add := func(program wallet.Address, data []byte, accounts ...*solana.AccountMeta) {
		instructions = append(instructions, solana.NewInstruction(solana.PublicKey(program), accounts, data))
	}
	if t.ComputeUnitLimit > 0 {
		add(computeBudgetProgram, binary.LittleEndian.AppendUint32([]byte{budgetLimit}, t.ComputeUnitLimit))
	}
	if t.ComputeUnitPrice > 0 {
		add(computeBudgetProgram, binary.LittleEndian.AppendUint64([]byte{budgetPrice}, t.ComputeUnitPrice))
	}
	if t.Rent > 0 {
		add(wallet.AssociatedProgram, []byte{createIdempotent},
			signer(t.From), writable(recipientAccount(t)), readonly(t.To), readonly(t.Token.Mint),
			readonly(wallet.SystemProgram), readonly(t.Token.Program))
	}
	if t.Memo != "" {
		add(memoProgram, []byte(t.Memo))
	}
	var accounts []*solana.AccountMeta
	var data []byte
	if t.Token.Native() {
		data = binary.LittleEndian.AppendUint32(nil, systemTransfer)
		data = binary.LittleEndian.AppendUint64(data, t.Amount)
		accounts = append(accounts, signer(t.From), writable(t.To))
	} else {
		data = binary.LittleEndian.AppendUint64([]byte{transferChecked}, t.Amount)
		data = append(data, t.Token.Decimals)
		accounts = append(accounts, writable(wallet.AssociatedAccount(t.From, t.Token.Mint, t.Token.Program)),
			readonly(t.Token.Mint), writable(recipientAccount(t)), signer(t.From))
	}
	for _, reference := range referencesOf(t) {
		accounts = append(accounts, readonly(reference))
	}
	add(t.Token.Program, data, accounts...) // SOL's program is the zero address: the System program's

	tx, err := solana.NewTransaction(instructions, solana.Hash{}, solana.TransactionPayer(solana.PublicKey(t.From)))
	if err != nil {
		return nil, fmt.Errorf("build transfer: %w", err)
	}
	raw, err := tx.Message.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("build transfer: %w", err)
	}
	// The library built it, our own reader must find in it what was asked, and nothing else.
	d, err := Decode(raw, t.From)
	if err != nil {
		return nil, fmt.Errorf("build transfer: %w", err)
	}
	want := intended(t)
	if !slices.ContainsFunc(d.Actions, func(a wallet.Action) bool { return reflect.DeepEqual(a, want) }) {
		return nil, errors.New("build transfer: the message does not hold the transfer that was asked for")
	}
	return raw, nil
}

// intended is the action that t is about, as Decode tells it.
func intended(t wallet.Transaction) wallet.Action {
	if t.Token.Native() {
		return wallet.Action{Type: wallet.ActionTransfer, From: t.From, To: t.To, Lamports: t.Amount, Reference: t.Reference, References: referencesOf(t)}
	}
	a := wallet.Action{Type: wallet.ActionTokenTransfer, From: t.From, Account: recipientAccount(t), Mint: t.Token.Mint,
		Program: t.Token.Program, Units: t.Amount, Decimals: t.Token.Decimals, Reference: t.Reference, References: referencesOf(t)}
	if t.Rent > 0 {
		a.To = t.To
	}
	return a
}

// referencesOf are those of the link that t answers, then its own, which is the last account of the transfer.
func referencesOf(t wallet.Transaction) []wallet.Address {
	if t.Reference.IsZero() {
		return nil
	}
	return append(slices.Clone(t.LinkReferences), t.Reference)
}

// recipientAccount is where a token transfer goes.
func recipientAccount(t wallet.Transaction) wallet.Address {
	return wallet.AssociatedAccount(t.To, t.Token.Mint, t.Token.Program)
}

// Roles of an account in an instruction.
func signer(a wallet.Address) *solana.AccountMeta {
	return solana.NewAccountMeta(solana.PublicKey(a), true, true)
}

func writable(a wallet.Address) *solana.AccountMeta {
	return solana.NewAccountMeta(solana.PublicKey(a), true, false)
}

func readonly(a wallet.Address) *solana.AccountMeta {
	return solana.NewAccountMeta(solana.PublicKey(a), false, false)
}

// zeroed returns a copy of raw, which m was parsed from, with its blockhash zeroed.
func (m *message) zeroed(raw []byte) []byte {
	out := slices.Clone(raw)
	clear(out[m.blockhashAt : m.blockhashAt+32])
	return out
}

// WithBlockhash returns a copy of a message that carries hash. Errors are *NotAllowed.
func WithBlockhash(raw []byte, hash [32]byte) ([]byte, error) {
	m, err := parse(raw)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(raw)
	copy(out[m.blockhashAt:], hash[:])
	return out, nil
}

// Assemble joins a message of one signer and its signature into a transaction as it goes over the
// wire. It does not verify: see VerifySignature. Errors are *NotAllowed.
func Assemble(raw []byte, signature wallet.Signature) ([]byte, error) {
	m, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if m.signers != 1 {
		return nil, refuse(Signers, "it needs more than one signature")
	}
	return slices.Concat([]byte{1}, signature[:], raw), nil
}

// disassemble splits a wire transaction into its signatures and its message. It takes what a
// foreign transaction may hold, up to the size of a packet. Errors are *NotAllowed.
func disassemble(wire []byte) ([]wallet.Signature, []byte, *message, error) {
	if len(wire) > 0 && wire[0] > 0x80 {
		return disassembleV1(wire)
	}
	if len(wire) > packetSize {
		return nil, nil, nil, refuse(TooLarge, "more bytes than a transaction can have")
	}
	r := &reader{rest: wire}
	var signatures []wallet.Signature
	for range r.count(64) {
		signatures = append(signatures, wallet.Signature(r.take(64)))
	}
	raw := r.rest
	if r.failed {
		return nil, nil, nil, refuse(Malformed, "bad signature list")
	}
	m, err := structure(raw)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(signatures) == 0 || len(signatures) != m.signers || m.signers > len(m.keys) {
		return nil, nil, nil, refuse(Malformed, "signatures and signers differ in number")
	}
	return signatures, raw, m, nil
}

// disassembleV1 is disassemble for version 1, whose signatures follow the message and are counted by its
// header alone.
func disassembleV1(wire []byte) ([]wallet.Signature, []byte, *message, error) {
	if len(wire) > packetSizeV1 {
		return nil, nil, nil, refuse(TooLarge, "more bytes than a transaction can have")
	}
	m, end, err := structureV1(wire)
	if err != nil {
		return nil, nil, nil, err
	}
	if m.signers < 1 || m.signers > len(m.keys) || len(wire)-end != 64*m.signers {
		return nil, nil, nil, refuse(Malformed, "signatures and signers differ in number")
	}
	signatures := make([]wallet.Signature, m.signers)
	for i := range signatures {
		signatures[i] = wallet.Signature(wire[end+64*i:])
	}
	return signatures, wire[:end], m, nil
}

// VerifySignature tells whether signature is signer's over the message, by the strict rule that
// Solana's validators use: RFC 8032, and neither key nor nonce point of small order.
func VerifySignature(raw []byte, signer wallet.Address, signature wallet.Signature) bool {
	return !smallOrder(signer[:]) && !smallOrder(signature[:32]) &&
		ed25519.Verify(signer[:], raw, signature[:])
}

// smallOrder tells whether point is no point of Ed25519, or one of the eight that anybody can make
// signatures for.
func smallOrder(point []byte) bool {
	p, err := new(edwards25519.Point).SetBytes(point)
	return err != nil || p.MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1
}
