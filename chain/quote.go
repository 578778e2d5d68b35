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

// maxPricedAccounts is the limit of getRecentPrioritizationFees.
const maxPricedAccounts = 128

// UnitPrice is what recent transactions that wrote the same accounts paid for a compute unit, in
// micro-lamports: the third quartile, so that ours is not the last in a queue
// (getRecentPrioritizationFees). 0 where nobody pays.
func (c *Client) UnitPrice(ctx context.Context, written []wallet.Address) (uint64, error) {
	names := addresses(written[:min(len(written), maxPricedAccounts)])
	return c.prices.get(ctx, strings.Join(names, " "), c.now, c.sharedFor, func(ctx context.Context) (uint64, error) {
		return c.unitPrice(ctx, names)
	})
}

func (c *Client) unitPrice(ctx context.Context, written []string) (uint64, error) {
	const method = "getRecentPrioritizationFees"
	recent, err := call[[]struct {
		Fee *uint64 `json:"prioritizationFee"`
	}](ctx, c.primary(), method, written)
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

// Fee is what the network charges for a message at most, in lamports: signatures and priority (getFeeForMessage). The
// message's own blockhash does not matter; it is asked over the newest one. A fee beyond what any device would
// sign makes no sense.
func (c *Client) Fee(ctx context.Context, message []byte) (uint64, error) {
	m, err := parse(message)
	if err != nil {
		return 0, err
	}
	return c.fees.get(ctx, m.costs(), c.now, c.sharedFor, func(ctx context.Context) (uint64, error) { return c.fee(ctx, message) })
}

// costs names what the network's fee for a message depends on: its signatures, the programs it calls (some charge for
// signatures that they check) and what it says of its budget. Messages of the same name cost the same.
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
	// An address stands for many machines: one may not know a blockhash that another has just told.
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

// Simulate has the node carry out a message that nobody has signed, on the state of now: nil, and
// how many compute units it takes, when it would succeed; a *wallet.PreflightError with the reason when
// it would fail; wallet.NetworkError when nobody knows (simulateTransaction).
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
