package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// accountSnapshot is the Snapshot of a transfer: what the chain holds on both sides at one slot. All amounts are in base
// units. free and units are zero until NetOfReservations has set them.
type accountSnapshot struct {
	sender, recipient wallet.Address // wallets, not token accounts

	from, to    wallet.Account      // their system accounts
	atRecipient wallet.TokenAccount // the token account at the recipient's address, if it is one
	free        uint64              // lamports of the sender that no confirmed transaction has reserved
	floor       uint64              // rent minimum of an account without data, in lamports

	token wallet.Token
	held  wallet.TokenFacts // mint and token accounts; zero for SOL
	units uint64            // base units of the token that are not reserved; 0 for SOL
	rent  uint64            // lamports to create the recipient's token account; 0 if it exists
	all   bool              // the request is for the largest possible amount
}

// fetch reads both sides of a transfer at one slot, so that they are consistent with each other.
func (s *Transfers) fetch(ctx context.Context, from, to wallet.Address, token wallet.Token) (accountSnapshot, error) {
	f := accountSnapshot{sender: from, recipient: to, token: token}
	var err error
	if f.floor, err = s.Chain.RentMinimum(ctx, 0); err != nil {
		return f, err
	}
	if token.Native() {
		parties, err := s.Chain.Parties(ctx, from, to)
		if err != nil {
			return f, err
		}
		f.from, f.to, f.atRecipient = parties.From, parties.To, parties.AtTo
	} else {
		if f.held, err = s.Chain.TokenFacts(ctx, from, to, token.Mint, token.Program); err != nil {
			return f, err
		}
		f.from, f.to, f.atRecipient = f.held.From, f.held.To, f.held.AtTo
		// The sender pays the rent of the recipient's associated token account. Its size depends on the mint's
		// extensions.
		if !f.held.Destination.Exists {
			if f.rent, err = s.Chain.RentMinimum(ctx, f.held.Mint.AccountSize); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// NetOfReservations returns the snapshot with reserved funds subtracted. Balances never go below zero: funds may have
// been spent outside of this wallet while they were reserved.
func (f accountSnapshot) NetOfReservations(tx store.Tx) (Snapshot, error) {
	reserved, err := Reserved(tx, f.sender, f.from.Slot)
	if err != nil {
		return f, err
	}
	f.free = f.from.Lamports - min(reserved.Lamports, f.from.Lamports)
	if !f.token.Native() {
		f.units = f.held.Source.Units - min(reserved.Tokens[f.token.Mint], f.held.Source.Units)
	}
	return f, nil
}

// Complete sets the amount if all is requested, checks it against the fee, and computes what the token's transfer fee
// withholds.
func (f accountSnapshot) Complete(t wallet.Transaction) (wallet.Transaction, error) {
	var err error
	if f.all {
		if t.Amount, err = f.maxSendable(t.Fee); err != nil {
			return t, wallet.About(wallet.FieldAmount, err)
		}
	}
	if err := f.checkAmount(t.Amount, t.Fee); err != nil {
		return t, err
	}
	t.TransferFee = f.withheld(t.Amount)
	return t, nil
}

// Reservation is what confirmed transactions of an address hold back from its balances.
type Reservation struct {
	Lamports uint64
	Tokens   map[wallet.Address]uint64 // base units by mint
}

// Reserved sums up what unfinished transactions of an address hold back from balances that were read at slot. A
// transaction that landed at or before that slot is already part of the balances (docs/architecture.md, The rule against
// paying twice, 5).
func Reserved(tx store.Tx, from wallet.Address, slot uint64) (Reservation, error) {
	held, err := tx.ReservationsFrom(from)
	if err != nil {
		return Reservation{}, err
	}
	sum := Reservation{Tokens: map[wallet.Address]uint64{}}
	for _, r := range held {
		if !r.Holds(slot) {
			continue
		}
		sum.Lamports += r.Spending.Lamports
		if r.Spending.Units > 0 {
			sum.Tokens[r.Spending.Mint] += r.Spending.Units
		}
	}
	return sum, nil
}

// checkAccounts refuses senders and recipients that cannot take part in a transfer: programs, and accounts that a program
// owns. Neither has a private key that could sign or move the funds on.
func (f accountSnapshot) checkAccounts() error {
	switch {
	case f.to.Executable:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"recipient.program"))
	case f.to.Exists && f.to.Owner != wallet.SystemProgram:
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"recipient.owned_by_program"))
	case f.from.Exists && f.from.Owner != wallet.SystemProgram:
		return wallet.Refuse(wallet.PolicyViolation, "sender.owned_by_program")
	}
	if f.token.Native() {
		return nil
	}
	return f.checkToken()
}

// checkToken checks the mint and both token accounts. Issuers of Token-2022 mints can keep powers that make a transfer
// fail or do something else. Whatever could change what the owner was shown is POLICY_VIOLATION.
func (f accountSnapshot) checkToken() error {
	no := func(key string, args ...wallet.Arg) error { return wallet.Refuse(wallet.PolicyViolation, key, args...) }
	mint, name := f.held.Mint, wallet.TextArg("Token", f.token.Name())
	refused := wallet.Refusal(wallet.Judge(wallet.RuleInput{Transaction: wallet.Transaction{Token: f.token}, Mint: &mint}, wallet.TokenRules()))
	switch {
	case mint.Decimals != f.token.Decimals:
		return no("token.other_decimals", name)
	case refused != nil:
		return refused
	case mint.Paused:
		return no("token.paused", name)
	case f.held.Source.Frozen:
		return no("token.frozen", name)
	case f.held.Source.Exists && f.held.Source.Owner != f.sender: // its authority was transferred to somebody else
		return no("token.account_given_away", name)
	case f.held.Destination.Exists && f.held.Destination.Owner != f.recipient:
		return wallet.About(wallet.FieldTo, no("recipient.account_given_away", name))
	case f.held.Destination.Frozen:
		return wallet.About(wallet.FieldTo, no("recipient.frozen", name))
	case !f.held.Destination.Exists && mint.DefaultFrozen:
		return wallet.About(wallet.FieldTo, no("recipient.not_admitted", name))
	}
	return nil
}

// FillRuleInput sets the token's mint and both sides of the transfer; nothing for SOL.
func (f accountSnapshot) FillRuleInput(in *wallet.RuleInput) {
	if !f.token.Native() {
		in.Mint, in.Accounts = &f.held.Mint, []wallet.TokenAccount{f.held.Source, f.held.Destination}
	}
}

// withheld returns how much of units the token's transfer fee keeps (Token-2022, TransferFeeConfig), in base units, at
// the epoch of the snapshot. The recipient gets the rest.
func (f accountSnapshot) withheld(units uint64) uint64 {
	if f.held.Mint.TransferFee == nil {
		return 0
	}
	return f.held.Mint.TransferFee.At(f.held.Epoch, units)
}

// maxSendable returns the largest amount that can be sent at a network fee in lamports. INSUFFICIENT_FUNDS if it is zero.
func (f accountSnapshot) maxSendable(fee uint64) (uint64, error) {
	switch {
	case !f.token.Native() && f.units == 0:
		return 0, NoneToSend(f.token)
	case !f.token.Native():
		return f.units, nil
	case f.free <= fee:
		return 0, NothingToSend(f.free, fee)
	}
	return f.free - fee, nil
}

// Remaining returns how many base units remain. It is only valid for an amount that checkAmount accepted: it would wrap around
// otherwise.
func (f accountSnapshot) Remaining(t wallet.Transaction) uint64 {
	if f.token.Native() {
		return f.free - t.Amount - t.Fee
	}
	return f.units - t.Amount
}

// checkAmount checks an amount in base units and a fee in lamports. Errors name the amount, except when a token transfer
// lacks SOL for its fees.
func (f accountSnapshot) checkAmount(units, fee uint64) error {
	if f.token.Native() {
		return wallet.About(wallet.FieldAmount, f.checkLamports(units, fee))
	}
	if units > f.units {
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds,
			"funds.token_short", wallet.AmountArg("Free", f.token.Amount(f.units)), wallet.TextArg("Token", f.token.Name())))
	}
	if f.withheld(units) >= units {
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest,
			"funds.all_withheld", wallet.TextArg("Token", f.token.Name())))
	}
	return f.checkFee(fee)
}

// checkFee checks that the sender has enough SOL for the fee and the rent of a token transfer.
func (f accountSnapshot) checkFee(fee uint64) error {
	// Both numbers come from an RPC node, so the sum must not overflow.
	short := f.rent > f.free || fee > f.free-f.rent
	left := uint64(0)
	if !short {
		left = f.free - f.rent - fee
	}
	switch {
	case short && f.rent > 0:
		return wallet.Refuse(wallet.InsufficientFunds, "funds.rent_short",
			wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Rent", wallet.Lamports(f.rent)), wallet.AmountArg("Fee", wallet.Lamports(fee)))
	case short:
		return wallet.Refuse(wallet.InsufficientFunds, "funds.fee_short",
			wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Fee", wallet.Lamports(fee)))
	case left != 0 && left < f.floor:
		return wallet.Refuse(wallet.InsufficientFunds, "funds.fee_leaves_dust",
			wallet.AmountArg("Left", wallet.Lamports(left)), wallet.AmountArg("Floor", wallet.Lamports(f.floor)))
	}
	return nil
}

// checkLamports checks that an amount of SOL and its fee are covered, and that neither side ends below the rent minimum
// but above zero. The network refuses such transactions (Agave: InsufficientFundsForRent).
func (f accountSnapshot) checkLamports(lamports, fee uint64) error {
	if lamports > f.free || fee > f.free-lamports {
		return wallet.Refuse(wallet.InsufficientFunds, "funds.sol_short",
			wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Amount", wallet.Lamports(lamports)), wallet.AmountArg("Fee", wallet.Lamports(fee)))
	}
	// The recipient must end with the rent minimum at least.
	if f.to.Lamports < f.floor && lamports < f.floor-f.to.Lamports {
		return wallet.Refuse(wallet.InvalidRequest, "funds.recipient_dust",
			wallet.AmountArg("Held", wallet.Lamports(f.to.Lamports)), wallet.AmountArg("Floor", wallet.Lamports(f.floor)), wallet.AmountArg("Least", wallet.Lamports(f.floor-f.to.Lamports)))
	}
	// The sender must end with the rent minimum, or with nothing. The message suggests the largest amount that works.
	if left := f.free - lamports - fee; left != 0 && left < f.floor {
		if f.free >= f.floor+fee && f.free-f.floor-fee > 0 {
			return wallet.Refuse(wallet.InsufficientFunds, "funds.leaves_dust",
				wallet.AmountArg("Left", wallet.Lamports(left)), wallet.AmountArg("Floor", wallet.Lamports(f.floor)), wallet.AmountArg("Most", wallet.Lamports(f.free-f.floor-fee)),
				wallet.AmountArg("All", wallet.Lamports(f.free-fee)))
		}
		return wallet.Refuse(wallet.InsufficientFunds, "funds.leaves_dust_send_max",
			wallet.AmountArg("Left", wallet.Lamports(left)), wallet.AmountArg("Floor", wallet.Lamports(f.floor)), wallet.AmountArg("All", wallet.Lamports(f.free-fee)))
	}
	return nil
}

// NoneToSend is the refusal when there are no unreserved units of a token.
func NoneToSend(token wallet.Token) error {
	return wallet.Refuse(wallet.InsufficientFunds, "funds.no_token", wallet.TextArg("Token", token.Name()))
}

// NothingToSend is the refusal when the unreserved SOL does not cover the fee. Both are in lamports.
func NothingToSend(free, fee uint64) error {
	return wallet.Refuse(wallet.InsufficientFunds, "funds.no_sol",
		wallet.AmountArg("Free", wallet.Lamports(free)), wallet.AmountArg("Fee", wallet.Lamports(fee)))
}

// StillFits checks a proposal against this newer snapshot. It refuses if the rent or the token's transfer fee has grown,
// or if the funds no longer suffice. A cheaper transaction still fits.
func (f accountSnapshot) StillFits(t wallet.Transaction) error {
	if err := f.checkAccounts(); err != nil {
		return err
	}
	// The costs must not exceed what the owner was shown.
	switch {
	case f.rent > t.Rent && t.Rent > 0:
		return wallet.Refuse(wallet.InvalidRequest, "proposal.rent_grew")
	case f.rent > t.Rent:
		return wallet.Refuse(wallet.InvalidRequest, "proposal.account_closed")
	case f.withheld(t.Amount) > t.TransferFee:
		return wallet.Refuse(wallet.InvalidRequest, "proposal.fee_grew")
	}
	f.rent = t.Rent // as shown, even if the token account exists by now
	return f.checkAmount(t.Amount, t.Fee)
}
