package chain

import (
	"crypto/ed25519"
	"encoding/binary"
	"slices"

	"filippo.io/edwards25519"

	"purser/wallet"
)

// budgetOf returns the Compute Budget instructions of t: the limit in compute units, the price in micro-lamports a
// unit. A zero value leaves it to the network's default.
func budgetOf(t wallet.Transaction) []Instruction {
	var out []Instruction
	if t.ComputeUnitLimit > 0 {
		out = append(out, Instruction{Program: computeBudgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{budgetLimit}, t.ComputeUnitLimit)})
	}
	if t.ComputeUnitPrice > 0 {
		out = append(out, Instruction{Program: computeBudgetProgram, Data: binary.LittleEndian.AppendUint64([]byte{budgetPrice}, t.ComputeUnitPrice)})
	}
	return out
}

// zeroed returns a copy of raw, from which m was parsed, with a zero blockhash: the bytes that a transaction's intent
// is the hash of.
func (m *message) zeroed(raw []byte) []byte {
	out := slices.Clone(raw)
	clear(out[m.blockhashAt : m.blockhashAt+32])
	return out
}

// WithBlockhash returns a copy of a message with another blockhash. Errors are *NotAllowed.
func WithBlockhash(raw []byte, hash [32]byte) ([]byte, error) {
	m, err := parse(raw)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(raw)
	copy(out[m.blockhashAt:], hash[:])
	return out, nil
}

// Messages has this package's functions on message bytes as methods, for packages that name what they need of chain as an
// interface. It has no state.
type Messages struct{}

// WithBlockhash is the function of the same name.
func (Messages) WithBlockhash(raw []byte, hash [32]byte) ([]byte, error) {
	return WithBlockhash(raw, hash)
}

// Assemble is the function of the same name.
func (Messages) Assemble(raw []byte, signature wallet.Signature) ([]byte, error) {
	return Assemble(raw, signature)
}

// VerifySignature is the function of the same name.
func (Messages) VerifySignature(raw []byte, signer wallet.Address, signature wallet.Signature) bool {
	return VerifySignature(raw, signer, signature)
}

// CheckSigned is the function of the same name.
func (Messages) CheckSigned(message []byte, blockhash [32]byte, signer wallet.Address, wire []byte) (wallet.Signature, error) {
	return CheckSigned(message, blockhash, signer, wire)
}

// Assemble joins a message of one signer and its signature into the wire form of a transaction. It does not verify the
// signature: VerifySignature does. Errors are *NotAllowed.
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

// disassemble splits a wire transaction into signatures and message. It accepts everything that a foreign transaction
// may contain, up to the size of a packet. Errors are *NotAllowed.
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

// disassembleV1 is disassemble for version 1. There the signatures follow the message, and only its header counts them.
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

// VerifySignature tells whether a signature is the signer's over the message, by the strict rule of Solana's
// validators: RFC 8032, and neither the key nor the signature's point R of small order.
func VerifySignature(raw []byte, signer wallet.Address, signature wallet.Signature) bool {
	return !smallOrder(signer[:]) && !smallOrder(signature[:32]) &&
		ed25519.Verify(signer[:], raw, signature[:])
}

// smallOrder tells whether point is no point of Ed25519, or one of the eight for which anybody can make signatures.
func smallOrder(point []byte) bool {
	p, err := new(edwards25519.Point).SetBytes(point)
	return err != nil || p.MultByCofactor(p).Equal(edwards25519.NewIdentityPoint()) == 1
}
