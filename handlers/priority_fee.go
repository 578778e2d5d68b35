package handlers

import (
	"context"
	"errors"

	"purser/wallet"
)

// maxPriority is the most that is offered beyond the signature fee, in lamports. The owner sees the whole fee before
// they confirm.
const maxPriority = 100_000

// price finishes a draft: its fee, the terms that follow from it, its message, and the network's own opinion of it.
// Compute units are asked for only where others pay for them.
func (s *Transactions) price(ctx context.Context, t wallet.Transaction, rules wallet.Rules, snapshot Snapshot) (wallet.Transaction, error) {
	price, err := s.Network.UnitPrice(ctx, rules.Writes(t))
	if err != nil {
		return t, err
	}
	units := rules.ComputeUnits(t)
	if units > 0 && price > 0 {
		t.ComputeUnitLimit, t.ComputeUnitPrice = units, affordablePrice(price, units)
	}
	if t, err = s.complete(ctx, t, rules, snapshot); err != nil {
		return t, err
	}
	taken, err := s.rehearse(ctx, &t, rules)
	if err != nil {
		return t, err
	}
	if units == 0 && price > 0 { // it took as many as the network has just said
		taken = min(taken, wallet.MaxComputeUnits) // a node's word, which may be anything
		t.ComputeUnitLimit = uint32(min(taken+taken/4+5_000, wallet.MaxComputeUnits))
		t.ComputeUnitPrice = affordablePrice(price, t.ComputeUnitLimit)
		if t, err = s.complete(ctx, t, rules, snapshot); err != nil {
			return t, err
		}
		if t.Message, err = s.Build(t, rules.Actions(t)); err != nil {
			return t, err
		}
	}
	t.BalanceLeft = snapshot.Left(t)
	return t, nil
}

// affordablePrice bounds what is offered for a compute unit, in micro-lamports, so that all of them cost maxPriority.
func affordablePrice(price uint64, units uint32) uint64 {
	return min(price, maxPriority*1_000_000/uint64(units))
}

// complete asks what the network charges for a transaction like t, and has its kind finish the terms that follow.
func (s *Transactions) complete(ctx context.Context, t wallet.Transaction, rules wallet.Rules, snapshot Snapshot) (wallet.Transaction, error) {
	message, err := s.Build(t, rules.Actions(t))
	if err != nil {
		return t, err
	}
	if t.Fee, err = s.Network.Fee(ctx, message); err != nil {
		return t, err
	}
	return snapshot.Complete(t)
}

// rehearse builds the message and has the network carry it out without consequence. It tells how
// many compute units that took.
func (s *Transactions) rehearse(ctx context.Context, t *wallet.Transaction, rules wallet.Rules) (uint64, error) {
	var err error
	if t.Message, err = s.Build(*t, rules.Actions(*t)); err != nil {
		return 0, err
	}
	return s.simulate(ctx, t.Message)
}

// simulate explains in words why the network would refuse a message.
func (s *Transactions) simulate(ctx context.Context, message []byte) (uint64, error) {
	units, err := s.Network.Simulate(ctx, message)
	var refused *wallet.PreflightError
	if errors.As(err, &refused) {
		code := wallet.InvalidRequest
		if refused.Failure == wallet.InsufficientBalance {
			code = wallet.InsufficientFunds
		}
		return 0, &wallet.Error{Code: code, Reason: refused.Reason, Err: err}
	}
	return units, err
}
