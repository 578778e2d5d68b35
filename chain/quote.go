package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"purser/wallet"
)

// maxPricedAccounts is the limit of getRecentPrioritizationFees, in accounts.
const maxPricedAccounts = 128

// UnitPrice is a price for a compute unit, in micro-lamports: the third quartile of what the network recently accepted
// for the accounts that are written, so that ours is not the lowest (getRecentPrioritizationFees). 0 if nobody pays
// any.
func (c *Client) UnitPrice(ctx context.Context, writable []wallet.Address) (uint64, error) {
	names := addresses(writable[:min(len(writable), maxPricedAccounts)])
	return c.prices.get(ctx, strings.Join(names, " "), c.now, c.sharedFor, func(ctx context.Context) (uint64, error) {
		return c.unitPrice(ctx, names)
	})
}

// unitPrice asks for the price.
func (c *Client) unitPrice(ctx context.Context, writable []string) (uint64, error) {
	const method = "getRecentPrioritizationFees"
	recent, err := call[[]struct {
		Fee *uint64 `json:"prioritizationFee"`
	}](ctx, c.primary(), method, writable)
	switch {
	case err != nil:
		return 0, err
	case recent == nil:
		return 0, c.primary().nodeError(method, errGarbage)
	case len(recent) == 0:
		return 0, nil
	}
	prices := make([]uint64, len(recent))
	for i, r := range recent {
		if r.Fee == nil {
			return 0, c.primary().nodeError(method, errGarbage)
		}
		prices[i] = *r.Fee
	}
	slices.Sort(prices)
	return prices[len(prices)*3/4], nil
}

// Fee is the most that the network charges for a message, in lamports: signatures and priority (getFeeForMessage). It
// asks with the newest blockhash, since the message's own does not matter. A fee above what any device would sign is an
// error.
func (c *Client) Fee(ctx context.Context, message []byte) (uint64, error) {
	m, err := parse(message)
	if err != nil {
		return 0, err
	}
	return c.fees.get(ctx, m.costs(), c.now, c.sharedFor, func(ctx context.Context) (uint64, error) { return c.fee(ctx, message) })
}

// costs names what the fee of a message depends on: the number of signatures, the programs it calls (some charge for
// signatures that they check), and its compute budget. Messages of the same name cost the same.
func (m *message) costs() string {
	name := []byte{byte(m.signers)}
	for _, in := range m.instructions {
		program := m.program(in)
		name = append(name, program[:]...)
		if program == computeBudgetProgram {
			name = append(append(name, byte(len(in.data))), in.data...)
		}
	}
	return string(name)
}

// fee asks for the fee of a message.
func (c *Client) fee(ctx context.Context, message []byte) (uint64, error) {
	const method = "getFeeForMessage"
	// An address stands for many machines: one may not know yet the blockhash that another returned. Then ask for a new
	// one.
	for _, newest := range []func(context.Context) (wallet.Blockhash, error){c.Blockhash, c.latestBlockhash} {
		hash, err := newest(ctx)
		if err != nil {
			return 0, err
		}
		over, err := WithBlockhash(message, hash.Hash)
		if err != nil {
			return 0, err
		}
		answer, err := call[answerAt[*uint64]](ctx, c.primary(), method, base64.StdEncoding.EncodeToString(over), settings{"commitment": confirmed})
		if err != nil {
			return 0, err
		}
		if fee := answer.value; fee != nil {
			if *fee > wallet.SignatureFee+priorityFeeCeiling {
				return 0, c.primary().nodeError(method, errGarbage)
			}
			return *fee, nil
		}
	}
	return 0, c.primary().nodeError(method, errBehind)
}

// Simulate has the node execute an unsigned message on its present state (simulateTransaction). It returns the compute
// units used if it would succeed, a *wallet.PreflightError with the reason if it would fail, and wallet.NetworkError if
// nobody knows.
func (c *Client) Simulate(ctx context.Context, message []byte) (units uint64, _ error) {
	const method = "simulateTransaction"
	m, err := parse(message)
	if err != nil {
		return 0, err
	}
	wire, err := Assemble(message, wallet.Signature{})
	if err != nil {
		return 0, err
	}
	answer, err := call[answerAt[struct {
		Err   json.RawMessage `json:"err"`
		Units *uint64         `json:"unitsConsumed"`
	}]](ctx, c.primary(), method, base64.StdEncoding.EncodeToString(wire), settings{
		"encoding": "base64", "commitment": confirmed, "sigVerify": false, "replaceRecentBlockhash": true,
	})
	var refused *rpcError
	switch {
	case errors.As(err, &refused) && refused.code == invalidParams:
		return 0, notAccepted(wallet.SimulationFailed, wallet.Because("preflight.unreadable"))
	case err != nil:
		return 0, err
	}
	if f := parseFailure(answer.value.Err); f != nil {
		return 0, f.refusal(m)
	}
	if answer.value.Units == nil {
		return 0, c.primary().nodeError(method, errGarbage)
	}
	return *answer.value.Units, nil
}
