package chain

import (
	"fmt"

	"purser/wallet"
)

// ReadSwap reads what a quoted instruction of the swap program does when a wallet signs it, with its route packed as a message
// holds it: the accounts of the steps are taken from lookup tables where these have them. The error says why nobody may sign
// it, or how the quote contradicts itself.
func (c Codec) ReadSwap(q wallet.SwapQuote, owner wallet.Address) (wallet.SwapAction, error) {
	if q.Program != wallet.SwapProgram {
		return wallet.SwapAction{}, refuse(UnknownProgram, "it calls the program "+q.Program.String())
	}
	at, known := layoutOf(q.Data)
	if !known {
		return wallet.SwapAction{}, refuse(UnknownInstruction, "an instruction of the swap program that is not allowed here")
	}
	accounts, err := pack(q, owner, at.fixed)
	if err != nil {
		return wallet.SwapAction{}, err
	}
	raw, err := marshal(owner, []Instruction{{Program: q.Program, Accounts: accounts, Data: q.Data}})
	if err != nil {
		return wallet.SwapAction{}, fmt.Errorf("read a quote: %w", err)
	}
	m, err := parse(raw)
	if err != nil {
		return wallet.SwapAction{}, err
	}
	action, err := decodeRoute(Call{m, m.instructions[0]})
	if err != nil {
		return wallet.SwapAction{}, err
	}
	return *action.Swap, nil
}

// pack puts the accounts behind the fixed ones into lookup tables where it can. The fixed ones, and those that the message names
// anyway, must be readable from the message alone.
func pack(q wallet.SwapQuote, owner wallet.Address, fixed int) ([]Account, error) {
	type place struct {
		table wallet.Address
		index byte
	}
	places := map[wallet.Address]place{}
	for _, t := range q.Tables {
		for i, address := range t.Addresses {
			if _, twice := places[address]; !twice && i < maxAccounts && !t.Address.IsZero() {
				places[address] = place{t.Address, byte(i)}
			}
		}
	}
	writable := map[wallet.Address]bool{} // an account is loaded once, with the most that the instruction does to it
	for i, a := range q.Accounts {
		if a.Signer && a.Address != owner {
			return nil, refuse(Signers, "it needs more than one signature")
		}
		if i < fixed {
			delete(places, a.Address)
		}
		writable[a.Address] = writable[a.Address] || a.Writable
	}
	// These are named by the other instructions of a swap.
	for _, named := range []wallet.Address{owner, wallet.SystemProgram, wallet.TokenProgram, wallet.AssociatedProgram, wallet.WrappedSOL,
		wallet.SwapProgram, computeBudgetProgram, wrappedAccount(owner)} {
		delete(places, named)
	}
	accounts := make([]Account, len(q.Accounts))
	for i, a := range q.Accounts {
		accounts[i] = Account{Address: a.Address, Signer: a.Signer, Writable: writable[a.Address] || a.Address == owner}
		if p, ok := places[a.Address]; ok && i >= fixed {
			accounts[i] = Account{Writable: writable[a.Address], Table: p.table, Index: p.index}
		}
	}
	return accounts, nil
}
