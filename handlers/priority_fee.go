package handlers

import (
	"context"
	"errors"
	"reflect"

	"purser/wallet"
)

// maxPriority is the highest priority fee, in lamports, that is added to the signature fee. The owner sees the total
// before confirming.
const maxPriority = 100_000

// price completes a draft with its fee, the terms that follow from the fee, and its message, and simulates it. A compute
// budget is added only when recent transactions on the same accounts paid a priority fee. The fee depends on the message
// and the message on the fee, so some steps run twice.
func (s *Transactions) price(ctx context.Context, t wallet.Transaction, rules wallet.Rules, snapshot Snapshot) (wallet.Transaction, error) {
	price, err := s.Network.UnitPrice(ctx, contended(t, rules))
	if err != nil {
		return t, err
	}
	// A kind with a known maximum of compute units can be priced before the simulation.
	units := rules.ComputeUnits(t)
	if units > 0 && price > 0 {
		t.ComputeUnitLimit, t.ComputeUnitPrice = units, affordablePrice(price, units)
	}
	if t, err = s.complete(ctx, t, rules, snapshot); err != nil {
		return t, err
	}
	taken, err := s.simulate(ctx, t.Message)
	if err != nil {
		return t, err
	}
	if units == 0 && price > 0 { // the kind has no known maximum: use what the simulation took
		taken = min(taken, wallet.MaxComputeUnits) // an RPC node's number, which may be anything
		// A quarter and 5,000 units are added as a margin: the state of the chain may change until it lands.
		t.ComputeUnitLimit = uint32(min(taken+taken/4+5_000, wallet.MaxComputeUnits))
		t.ComputeUnitPrice = affordablePrice(price, t.ComputeUnitLimit)
		if t, err = s.complete(ctx, t, rules, snapshot); err != nil {
			return t, err
		}
	}
	t.BalanceLeft = snapshot.Remaining(t)
	return t, nil
}

// contended lists the accounts that t writes and others may write too. Its own wallet is left out: nobody else pays for a turn to
// write that, and payments to the same recipient at the same time so share one answer of the node.
func contended(t wallet.Transaction, rules wallet.Rules) (accounts []wallet.Address) {
	for _, a := range rules.Writes(t) {
		if a != t.From {
			accounts = append(accounts, a)
		}
	}
	return accounts
}

// affordablePrice limits a price in micro-lamports per compute unit, so that the priority fee is at most maxPriority.
func affordablePrice(price uint64, units uint32) uint64 {
	return min(price, maxPriority*1_000_000/uint64(units))
}

// complete sets the network fee of t, lets its kind complete the terms that depend on it, and sets the message that does
// what is then asked for.
func (s *Transactions) complete(ctx context.Context, t wallet.Transaction, rules wallet.Rules, snapshot Snapshot) (wallet.Transaction, error) {
	priced := rules.Actions(t)
	message, err := s.Messages.Build(t, priced)
	if err != nil {
		return t, err
	}
	if t.Fee, err = s.Network.Fee(ctx, message); err != nil {
		return t, err
	}
	if t, err = snapshot.Complete(t); err != nil {
		return t, err
	}
	// Most terms depend on no fee, and the message that was priced is the one to sign. Building and
	// checking one is a dear part of a proposal.
	if actions := rules.Actions(t); !reflect.DeepEqual(actions, priced) {
		if message, err = s.Messages.Build(t, actions); err != nil {
			return t, err
		}
	}
	t.Message = message
	return t, nil
}

// simulate runs a message on a node without effect. A refusal becomes INSUFFICIENT_FUNDS or INVALID_REQUEST with the
// node's reason.
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
