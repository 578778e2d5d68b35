package chain

import (
	"context"
	"encoding/binary"
	"slices"

	"purser/wallet"
)

// maxPayments bounds how many new mentions of one reference are looked into at once: who is asked to
// pay pays once, and whoever else mentions the reference costs us a call.
const maxPayments = 20

// Payments lists the finalized transfers of a token to an address that name a reference, oldest
// first, whoever made them (Solana Pay: the reference is the transfer's last account). judged is the
// caller's memory between looks: mentions in it are passed over, and those that are final and pay
// nothing are added, so that nobody can hide a payment behind mentions of their own.
func (c *Client) Payments(ctx context.Context, to, reference wallet.Address, token wallet.Token, judged map[wallet.Signature]bool) ([]wallet.Payment, error) {
	n := c.primary()
	mentioned, err := mentions(ctx, n, reference)
	if err != nil {
		return nil, err
	}
	mentioned = slices.DeleteFunc(mentioned, func(sig wallet.Signature) bool { return judged[sig] })
	slices.Reverse(mentioned)
	var out []wallet.Payment
	for _, sig := range mentioned[:min(len(mentioned), maxPayments)] {
		landing, err := c.landed(ctx, n, sig)
		if err != nil {
			return nil, err
		}
		if landing == nil || !landing.Finalized {
			continue
		}
		if landing.Failure == "" {
			switch p, ok, err := c.payment(ctx, n, sig, to, reference, token); {
			case err != nil:
				return nil, err
			case ok:
				p.Landing = *landing
				out = append(out, p)
				continue
			}
		}
		judged[sig] = true
	}
	return out, nil
}

// payment reads what one transaction on chain pays; false when it is not the kind sought.
func (c *Client) payment(ctx context.Context, n *node, sig wallet.Signature, to, reference wallet.Address, token wallet.Token) (wallet.Payment, bool, error) {
	m, err := shown(ctx, n, sig)
	if err != nil {
		return wallet.Payment{}, false, err
	}
	for _, in := range m.instructions {
		if p, ok := m.transferred(in, token); ok && p.reference == reference && p.pays(to, token) {
			return wallet.Payment{From: p.from, Units: p.units}, true, nil
		}
	}
	return wallet.Payment{}, false, nil
}

// shown fetches a transaction by its signature, which its fee payer must have made. A node that lists
// a transaction but cannot show it, or shows another one, cannot tell.
func shown(ctx context.Context, n *node, sig wallet.Signature) (*message, error) {
	const method = "getTransaction"
	answer, err := transaction(ctx, n, sig)
	if err != nil {
		return nil, err
	}
	if answer == nil {
		return nil, n.trouble(method, errGarbage)
	}
	wire, err := answer.wire()
	if err != nil {
		return nil, n.trouble(method, errGarbage)
	}
	signatures, raw, m, err := disassemble(wire)
	if err != nil || signatures[0] != sig || !VerifySignature(raw, m.keys[0], sig) {
		return nil, n.trouble(method, errGarbage)
	}
	return m, nil
}

// transfer is an instruction that moves SOL or a token, with its last account as a reference. source
// and destination are token accounts; of SOL the wallets themselves.
type transfer struct {
	from, source, destination, reference wallet.Address
	units                                uint64
}

// transferred reads in as a transfer of token: System's Transfer, or TransferChecked.
func (m *message) transferred(in instruction, token wallet.Token) (transfer, bool) {
	// SOL's program is the zero address, which is the System program's.
	if program, ok := m.key(in.program); !ok || program != token.Program {
		return transfer{}, false
	}
	at := func(i int) wallet.Address {
		key, _ := m.key(in.accounts[i])
		return key
	}
	last := len(in.accounts) - 1
	if token.Native() {
		if last < 2 || len(in.data) != 12 || binary.LittleEndian.Uint32(in.data) != systemTransfer {
			return transfer{}, false
		}
		return transfer{at(0), at(0), at(1), at(last), binary.LittleEndian.Uint64(in.data[4:])}, true
	}
	if last < 4 || len(in.data) != 10 || in.data[0] != transferChecked || at(1) != token.Mint || in.data[9] != token.Decimals {
		return transfer{}, false
	}
	return transfer{at(3), at(0), at(2), at(last), binary.LittleEndian.Uint64(in.data[1:])}, true
}

// pays tells whether the transfer goes to a wallet, or to its associated account of the token.
func (t transfer) pays(to wallet.Address, token wallet.Token) bool {
	if token.Native() {
		return t.destination == to
	}
	return t.destination == wallet.AssociatedAccount(to, token.Mint, token.Program)
}

// leaves tells whether the transfer comes from a wallet, or from its associated account.
func (t transfer) leaves(from wallet.Address, token wallet.Token) bool {
	if t.from != from || token.Native() {
		return t.from == from
	}
	return t.source == wallet.AssociatedAccount(from, token.Mint, token.Program)
}
