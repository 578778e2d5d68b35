package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// facts is what a transfer of SOL is judged by.
type facts struct {
	from, to wallet.Account
	free     uint64 // lamports of from that no confirmed transaction has reserved
	floor    uint64 // the rent minimum of a plain account
}

// look reads both accounts at one slot, and what is reserved of the sender's.
func (s *Transfers) look(ctx context.Context, from, to wallet.Address) (facts, error) {
	accounts, err := s.Chain.Accounts(ctx, []wallet.Address{from, to})
	if err != nil {
		return facts{}, err
	}
	floor, err := s.Chain.RentMinimum(ctx, 0)
	if err != nil {
		return facts{}, err
	}
	f := facts{from: accounts[0], to: accounts[1], floor: floor}
	f.free, err = read(ctx, s.Store, func(tx store.Tx) (uint64, error) { return free(tx, from, f.from) })
	return f, err
}

// free subtracts what is reserved from a balance, never below zero.
func free(tx store.Tx, from wallet.Address, account wallet.Account) (uint64, error) {
	reserved, err := Reserved(tx, from, account.Slot)
	if err != nil {
		return 0, err
	}
	return account.Lamports - min(reserved, account.Lamports), nil
}

// Reserved is the sum of lamports that confirmed transactions of an address hold back from a
// balance that was read at slot (DESIGN §3.5).
func Reserved(tx store.Tx, from wallet.Address, slot uint64) (uint64, error) {
	open, err := tx.UnsettledFrom(from)
	if err != nil {
		return 0, err
	}
	var reserved uint64
	for _, t := range open {
		if t.Reserves(slot) {
			reserved += t.Spends()
		}
	}
	return reserved, nil
}

// acceptable judges what the chain holds at the two addresses.
func (f facts) acceptable() error {
	switch {
	case f.to.Executable:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"that address is a program, not a wallet: money sent there is lost"))
	case f.to.Exists && f.to.Owner != wallet.SystemProgram:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"that address belongs to a program (a token account or a mint, for example), not to a person. Ask for the owner's wallet address"))
	case f.from.Exists && f.from.Owner != wallet.SystemProgram:
		return wallet.Refuse(wallet.PolicyViolation, "the sending address belongs to a program, so it cannot send SOL by itself")
	}
	return nil
}

// affordable judges an amount; what it refuses is the amount's fault.
func (f facts) affordable(lamports, fee uint64) error {
	return wallet.About(wallet.FieldAmount, f.judge(lamports, fee))
}

// judge finds an amount good that is covered with its fee, and neither side left under the rent minimum,
// which the network would refuse (Agave: InsufficientFundsForRent).
func (f facts) judge(lamports, fee uint64) error {
	if lamports > f.free || fee > f.free-lamports {
		return wallet.Refuse(wallet.InsufficientFunds, "you hold %s SOL free to send; %s SOL and the network fee of %s SOL are needed",
			wallet.Lamports(f.free), wallet.Lamports(lamports), wallet.Lamports(fee))
	}
	if f.to.Lamports < f.floor && lamports < f.floor-f.to.Lamports {
		return wallet.Refuse(wallet.InvalidRequest, "the receiving account holds %s SOL, and Solana keeps none under %s SOL: send at least %s SOL",
			wallet.Lamports(f.to.Lamports), wallet.Lamports(f.floor), wallet.Lamports(f.floor-f.to.Lamports))
	}
	if left := f.free - lamports - fee; left != 0 && left < f.floor {
		if f.free >= f.floor+fee && f.free-f.floor-fee > 0 {
			return wallet.Refuse(wallet.InsufficientFunds, "this would leave %s SOL, and Solana keeps no account under %s: send %s SOL or less, or send max",
				wallet.Lamports(left), wallet.Lamports(f.floor), wallet.Lamports(f.free-f.floor-fee))
		}
		return wallet.Refuse(wallet.InsufficientFunds, "this would leave %s SOL, and Solana keeps no account under %s: send max instead",
			wallet.Lamports(left), wallet.Lamports(f.floor))
	}
	return nil
}
