package handlers

import (
	"context"
	"errors"
	"fmt"

	"purser/wallet"
)

// requiredMemo is what a recipient reads who takes a token only with a memo.
const requiredMemo = "payment"

// Budget of compute units, where a price for them is paid at all.
const (
	solUnits = 1_000 // of a System transfer: it takes 450 with the two instructions of its budget
	// maxPriority is the most that is offered beyond the signature fee, in lamports. The owner sees
	// the whole fee before they confirm.
	maxPriority = 100_000
)

// price finishes a transfer: its amount where that is all there is, its fee, its message, and the
// network's own opinion of it.
func (s *Transfers) price(ctx context.Context, t wallet.Transaction, f accountSnapshot, all bool) (wallet.Transaction, error) {
	price, err := s.Chain.UnitPrice(ctx, wallet.SendRules().Writes(t))
	if err != nil {
		return t, err
	}
	if t.Token.Native() && price > 0 {
		t.ComputeUnitLimit, t.ComputeUnitPrice = solUnits, min(price, maxPriority*1_000_000/solUnits)
	}
	asked := t
	if all {
		asked.Amount = 1 // no fee depends on the amount
	}
	if t.Fee, err = s.fee(ctx, asked); err != nil {
		return t, err
	}
	if all {
		if t.Amount, err = f.maxSendable(t.Fee); err != nil {
			return t, wallet.About(wallet.FieldAmount, err)
		}
	}
	if err := f.checkAmount(t.Amount, t.Fee); err != nil {
		return t, err
	}
	t.TransferFee = f.withheld(t.Amount)
	taken, err := s.rehearse(ctx, &t)
	if err != nil {
		return t, err
	}
	if !t.Token.Native() && price > 0 { // how much tokens take depends on their program
		taken = min(taken, wallet.MaxComputeUnits) // a node's word, which may be anything
		t.ComputeUnitLimit = uint32(min(taken+taken/4+5_000, wallet.MaxComputeUnits))
		t.ComputeUnitPrice = min(price, maxPriority*1_000_000/uint64(t.ComputeUnitLimit))
		if t.Fee, err = s.fee(ctx, t); err != nil {
			return t, err
		}
		if err := f.checkAmount(t.Amount, t.Fee); err != nil {
			return t, err
		}
		if t.Message, err = s.Build(t); err != nil {
			return t, fmt.Errorf("build the transfer: %w", err)
		}
	}
	t.BalanceLeft = f.left(t.Amount, t.Fee)
	if t.Token.Native() && t.BalanceLeft == 0 {
		t.Warnings = append(t.Warnings, wallet.WarnAllSOL)
	}
	return t, nil
}

// fee is what the network asks for a transfer like t.
func (s *Transfers) fee(ctx context.Context, t wallet.Transaction) (uint64, error) {
	message, err := s.Build(t)
	if err != nil {
		return 0, fmt.Errorf("build the transfer: %w", err)
	}
	return s.Chain.Fee(ctx, message)
}

// rehearse builds the message and has the network carry it out without consequence. It tells how
// many compute units that took.
func (s *Transfers) rehearse(ctx context.Context, t *wallet.Transaction) (uint64, error) {
	var err error
	if t.Message, err = s.Build(*t); err != nil {
		return 0, fmt.Errorf("build the transfer: %w", err)
	}
	return s.simulate(ctx, t.Message)
}

// simulate explains in words why the network would refuse a message.
func (s *Transfers) simulate(ctx context.Context, message []byte) (uint64, error) {
	units, err := s.Chain.Simulate(ctx, message)
	var refused *wallet.PreflightError
	if errors.As(err, &refused) {
		code := wallet.InvalidRequest
		if refused.Failure == wallet.InsufficientBalance {
			code = wallet.InsufficientFunds
		}
		return 0, &wallet.Error{Code: code, Detail: "Solana was asked what would happen, and would refuse it: " + refused.Reason, Err: err}
	}
	return units, err
}
