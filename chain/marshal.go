package chain

import (
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// layout collects the accounts of a version 0 message.
type layout struct {
	static []Account // the fee payer first; each once, with the most that any instruction does to it
	tables []lookup
}

// add notes an account that an instruction names.
func (l *layout) add(a Account) {
	if a.Table.IsZero() {
		if i := slices.IndexFunc(l.static, func(b Account) bool { return b.Address == a.Address }); i >= 0 {
			l.static[i].Signer, l.static[i].Writable = l.static[i].Signer || a.Signer, l.static[i].Writable || a.Writable
			return
		}
		l.static = append(l.static, a)
		return
	}
	i := slices.IndexFunc(l.tables, func(t lookup) bool { return t.table == a.Table })
	if i < 0 {
		i, l.tables = len(l.tables), append(l.tables, lookup{table: a.Table})
	}
	list := &l.tables[i].readonly
	if a.Writable {
		list = &l.tables[i].writable
	}
	if !slices.Contains(*list, a.Index) {
		*list = append(*list, a.Index)
	}
}

// sorted puts the static accounts in the order of a message: writable ones before those that are only read. Among these they
// keep their order. The fee payer is the only signer.
func (l *layout) sorted() {
	slices.SortStableFunc(l.static[1:], func(a, b Account) int {
		switch {
		case a.Writable == b.Writable:
			return 0
		case a.Writable:
			return -1
		}
		return 1
	})
}

// indexOf is the index by which an instruction names an account that was added.
func (l *layout) indexOf(a Account) int {
	if a.Table.IsZero() {
		return slices.IndexFunc(l.static, func(b Account) bool { return b.Address == a.Address })
	}
	at := len(l.static)
	for _, writable := range []bool{true, false} {
		for _, t := range l.tables {
			list := t.readonly
			if writable {
				list = t.writable
			}
			if i := slices.Index(list, a.Index); i >= 0 && t.table == a.Table && a.Writable == writable {
				return at + i
			}
			at += len(list)
		}
	}
	return -1
}

// marshalV0 writes a version 0 message with a zero blockhash. The payer must be the only signer.
func marshalV0(payer wallet.Address, instructions []Instruction) ([]byte, error) {
	l := &layout{static: []Account{signer(payer)}}
	for _, in := range instructions {
		for _, a := range in.Accounts {
			l.add(a)
		}
	}
	for _, in := range instructions { // programs are only called
		l.add(readonly(in.Program))
	}
	l.sorted()
	m := solana.Message{Header: solana.MessageHeader{NumRequiredSignatures: 1}}
	for i, a := range l.static {
		if a.Signer && i > 0 {
			return nil, fmt.Errorf("a message that %s would have to sign too", a.Address)
		}
		if !a.Writable {
			m.Header.NumReadonlyUnsignedAccounts++
		}
		m.AccountKeys = append(m.AccountKeys, solana.PublicKey(a.Address))
	}
	for _, in := range instructions {
		compiled := solana.CompiledInstruction{ProgramIDIndex: uint16(l.indexOf(readonly(in.Program))), Data: in.Data}
		for _, a := range in.Accounts {
			compiled.Accounts = append(compiled.Accounts, uint16(l.indexOf(a)))
		}
		m.Instructions = append(m.Instructions, compiled)
	}
	for _, t := range l.tables {
		m.AddressTableLookups = append(m.AddressTableLookups, solana.MessageAddressTableLookup{AccountKey: solana.PublicKey(t.table),
			WritableIndexes: t.writable, ReadonlyIndexes: t.readonly})
	}
	if len(l.static) > maxAccounts {
		return nil, fmt.Errorf("a message with %d accounts", len(l.static))
	}
	m.SetVersion(solana.MessageVersionV0)
	return m.MarshalBinary()
}
