package chain

import (
	"bytes"
	"slices"

	"purser/wallet"
)

// Changed is the code of the refusal of a transaction that a wallet changed more than it may.
const Changed = "changed"

// lighthouseProgram checks, as part of a transaction, that accounts are as the wallet showed them. Wallets add it by
// themselves.
var lighthouseProgram = wallet.MustAddress("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95")

// Lighthouse's instructions by their first byte (LighthouseInstruction). The first two, MemoryWrite and MemoryClose,
// keep state and cost rent. The others are assertions, which can only make a transaction fail.
const (
	firstAssertion = 2
	lastAssertion  = 17
)

// CheckSigned judges a transaction that an external wallet of the owner signed and perhaps extended
// (docs/architecture.md, Custody and the signing page). The owner must be its only signer, over this blockhash, and
// every instruction of message must be there, unchanged and in order. Additions may only be compute budget under the
// ceiling, and Lighthouse assertions. It returns the verified signature. Errors are *NotAllowed.
func CheckSigned(message []byte, blockhash [32]byte, signer wallet.Address, wire []byte) (wallet.Signature, error) {
	asked, err := parse(message)
	if err != nil {
		return wallet.Signature{}, err
	}
	if err := checkVersion(wire); err != nil { // a version 1 transaction begins with its message
		return wallet.Signature{}, err
	}
	signatures, raw, _, err := disassemble(wire)
	if err != nil {
		return wallet.Signature{}, err
	}
	if err := checkVersion(raw); err != nil {
		return wallet.Signature{}, err
	}
	got, err := parse(raw)
	if err != nil {
		return wallet.Signature{}, err
	}
	switch {
	case got.signers != 1 || got.keys[0] != signer || asked.keys[0] != signer:
		return wallet.Signature{}, refuse(Signers, "this wallet is not its only signer")
	case len(got.lookups) > 0 && !asked.calls(wallet.SwapProgram):
		return wallet.Signature{}, refuse(LookupTables, "it takes accounts from a lookup table")
	case got.blockhash != blockhash:
		return wallet.Signature{}, refuse(Changed, "it does not carry the newest blockhash that was handed out for it")
	}
	if err := got.keeps(asked); err != nil {
		return wallet.Signature{}, err
	}
	if !VerifySignature(raw, signer, signatures[0]) {
		return wallet.Signature{}, refuse(Signers, "its signature is not this wallet's")
	}
	return signatures[0], nil
}

// keeps compares the instructions of a signed message with those that were asked for.
func (m *message) keeps(asked *message) error {
	budget := instructionTotals{message: m}
	var kept []instruction
	for _, in := range m.instructions {
		switch m.program(in) {
		case computeBudgetProgram:
			if err := budget.budget(in); err != nil {
				return err
			}
		case lighthouseProgram:
			if len(in.data) == 0 || in.data[0] < firstAssertion || in.data[0] > lastAssertion {
				return refuse(Changed, "a Lighthouse instruction that is no assertion")
			}
		default:
			kept = append(kept, in)
		}
	}
	if _, err := budget.fee(); err != nil {
		return err
	}
	want := slices.DeleteFunc(slices.Clone(asked.instructions), func(in instruction) bool {
		return asked.program(in) == computeBudgetProgram
	})
	if !slices.EqualFunc(kept, want, func(a, b instruction) bool { return same(m, a, asked, b) }) {
		return refuse(Changed, "its instructions are not those that were asked for")
	}
	return nil
}

// same tells whether two instructions of two messages call the same program with the same data and the same accounts,
// each writable in both or in neither.
func same(m *message, a instruction, n *message, b instruction) bool {
	if m.program(a) != n.program(b) || !bytes.Equal(a.data, b.data) {
		return false
	}
	return slices.EqualFunc(a.accounts, b.accounts, func(i, j byte) bool {
		return m.place(i) == n.place(j)
	})
}

// place is the account at an index, with what the message may do to it. It is the same for the same account of two messages,
// also if it comes from a lookup table. The index must be in range, as after parse.
func (m *message) place(index byte) (a Account) {
	if key, ok := m.key(index); ok {
		return Account{Address: key, Writable: m.writable(index)}
	}
	table, at, writable := m.lookedUp(index)
	return Account{Table: m.lookups[table].table, Index: at, Writable: writable}
}
