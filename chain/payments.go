package chain

import (
	"context"
	"encoding/binary"
	"slices"

	"purser/wallet"
)

// maxPayments bounds how many mentions of one reference are looked into: who is asked to pay pays
// once, and whoever else mentions the reference costs us a call.
const maxPayments = 20

// Payments lists the finalized transfers of a token to an address that name a reference, oldest
// first, whoever made them (Solana Pay: the reference is the transfer's last account).
func (c *Client) Payments(ctx context.Context, to, reference wallet.Address, token wallet.Token) ([]wallet.Payment, error) {
	n := c.primary()
	mentioned, err := mentions(ctx, n, reference)
	if err != nil {
		return nil, err
	}
	slices.Reverse(mentioned)
	mentioned = mentioned[:min(len(mentioned), maxPayments)]
	var out []wallet.Payment
	for _, sig := range mentioned {
		landing, err := c.landed(ctx, n, sig)
		if err != nil {
			return nil, err
		}
		if landing == nil || landing.Failure != "" || !landing.Finalized {
			continue
		}
		p, ok, err := c.payment(ctx, n, sig, to, reference, token)
		if err != nil {
			return nil, err
		}
		if ok {
			p.Landing = *landing
			out = append(out, p)
		}
	}
	return out, nil
}

// payment reads what one transaction on chain pays; false when it is not the kind sought.
func (c *Client) payment(ctx context.Context, n *node, sig wallet.Signature, to, reference wallet.Address, token wallet.Token) (wallet.Payment, bool, error) {
	const method = "getTransaction"
	answer, err := transaction(ctx, n, sig)
	if err != nil {
		return wallet.Payment{}, false, err
	}
	if answer == nil {
		return wallet.Payment{}, false, n.trouble(method, errGarbage)
	}
	wire, err := answer.wire()
	if err != nil {
		return wallet.Payment{}, false, n.trouble(method, errGarbage)
	}
	signatures, raw, m, err := disassemble(wire)
	if err != nil || signatures[0] != sig || !VerifySignature(raw, m.keys[0], sig) {
		return wallet.Payment{}, false, n.trouble(method, errGarbage)
	}
	for _, in := range m.instructions {
		if p, ok := m.received(in, to, reference, token); ok {
			return p, true, nil
		}
	}
	return wallet.Payment{}, false, nil
}

// received reads in as a transfer of token to an owner that names reference last.
func (m *message) received(in instruction, to, reference wallet.Address, token wallet.Token) (wallet.Payment, bool) {
	program, ok := m.key(in.program)
	if !ok || program != token.Program || len(in.accounts) == 0 {
		return wallet.Payment{}, false
	}
	if last, _ := m.key(in.accounts[len(in.accounts)-1]); last != reference {
		return wallet.Payment{}, false
	}
	at := func(i int) wallet.Address {
		key, _ := m.key(in.accounts[i])
		return key
	}
	if token.Native() {
		if len(in.accounts) < 3 || len(in.data) != 12 || binary.LittleEndian.Uint32(in.data) != systemTransfer || at(1) != to {
			return wallet.Payment{}, false
		}
		return wallet.Payment{From: at(0), Units: binary.LittleEndian.Uint64(in.data[4:])}, true
	}
	if len(in.accounts) < 5 || len(in.data) != 10 || in.data[0] != transferChecked || at(1) != token.Mint ||
		at(2) != wallet.AssociatedAccount(to, token.Mint, token.Program) {
		return wallet.Payment{}, false
	}
	return wallet.Payment{From: at(3), Units: binary.LittleEndian.Uint64(in.data[1:])}, true
}
