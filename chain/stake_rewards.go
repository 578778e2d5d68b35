package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"purser/wallet"
)

// inflationReward is an entry of getInflationReward. Newer nodes tell the commission in basis points, and null in percent.
type inflationReward struct {
	Amount     *uint64 `json:"amount"`
	Balance    *uint64 `json:"postBalance"`
	Epoch      *uint64 `json:"epoch"`
	Slot       *uint64 `json:"effectiveSlot"`
	Commission *uint64 `json:"commission"`
	BasisPoint *uint64 `json:"commissionBps"`
}

// Codes of getInflationReward that say nothing about the accounts asked for.
const (
	codeBlockCleanedUp  = -32001 // the epoch is older than what the node keeps
	codeNoBlock         = -32004 // the epoch has not ended, or not at this commitment
	codeNoBlockOfLedger = -32007
	codeNoBlockAtAll    = -32009
	codeNoHistory       = -32011 // the node keeps no history at all
	codeRewardsActive   = -32017 // its rewards are being paid
	codeNoEpochBoundary = -32018 // the node's ledger has a gap where the epoch ended
)

// StakeRewards reads what inflation paid to stake accounts for an epoch (getInflationReward, finalized), in the order
// given; nil for nothing. The first node that can tell is believed. Errors are wallet.NetworkError, with
// wallet.ErrRewardsNotPaid inside where it is too early to ask, and wallet.ErrHistoryPruned where every node has forgotten it.
func (c *Client) StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error) {
	return c.stakeRewards(ctx, accounts, epoch, 0)
}

// stakeRewards is StakeRewards on nodes that have come to minSlot. A node that has forgotten an epoch says nothing of the others: as
// long as one of them may still tell, nothing is lost.
func (c *Client) stakeRewards(ctx context.Context, accounts []wallet.Address, epoch, minSlot uint64) ([]*wallet.InflationReward, error) {
	if len(accounts) == 0 {
		return nil, nil
	}
	var early, failed, pruned error
	for _, n := range c.nodes {
		paid, err := n.stakeRewards(ctx, accounts, epoch, minSlot)
		switch {
		case err == nil:
			return paid, nil
		case errors.Is(err, wallet.ErrRewardsNotPaid):
			early = err
		case errors.Is(err, wallet.ErrHistoryPruned):
			pruned = err
		case failed == nil:
			failed = err
		}
	}
	return nil, cmp.Or(early, failed, pruned)
}

// stakeRewards asks one node.
func (n *node) stakeRewards(ctx context.Context, accounts []wallet.Address, epoch, minSlot uint64) ([]*wallet.InflationReward, error) {
	const method = "getInflationReward"
	asked := settings{"commitment": finalized, "epoch": epoch}
	if minSlot > 0 {
		asked["minContextSlot"] = minSlot
	}
	list, err := call[[]*inflationReward](ctx, n, method, addresses(accounts), asked)
	var answered *rpcError
	if errors.As(err, &answered) {
		switch answered.code {
		case codeNoBlock, codeRewardsActive:
			return nil, unreachable(fmt.Errorf("%s: %w", method, wallet.ErrRewardsNotPaid))
		case codeBlockCleanedUp, codeNoBlockOfLedger, codeNoBlockAtAll, codeNoHistory, codeNoEpochBoundary:
			return nil, unreachable(fmt.Errorf("%s: %w", method, wallet.ErrHistoryPruned))
		}
	}
	if err != nil {
		return nil, err
	}
	if len(list) != len(accounts) {
		return nil, n.nodeError(method, errGarbage)
	}
	out := make([]*wallet.InflationReward, len(list))
	for i, r := range list {
		if r == nil {
			continue
		}
		// An entry for another epoch, or a reward above the balance after it, is no answer to this question.
		if r.Amount == nil || r.Balance == nil || *r.Amount > *r.Balance || r.Epoch == nil || *r.Epoch != epoch {
			return nil, n.nodeError(method, errGarbage)
		}
		out[i] = &wallet.InflationReward{Account: accounts[i], Epoch: epoch, Lamports: *r.Amount, Balance: *r.Balance, Commission: r.points()}
	}
	return out, nil
}

// points is the commission in basis points; wallet.UnknownCommission if the node tells none.
func (r inflationReward) points() uint64 {
	const all = 10_000
	switch {
	case r.BasisPoint != nil:
		return min(*r.BasisPoint, all)
	case r.Commission != nil:
		return min(*r.Commission, 100) * 100
	}
	return wallet.UnknownCommission
}
