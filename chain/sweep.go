package chain

import (
	"context"
	"errors"
	"slices"

	"purser/wallet"
)

// sweepData is how many bytes of each account a sweep reads: mint, owner, amount and state of a token account, and the
// byte that tells it from a mint of Token-2022.
const sweepData = tokenSize + 1

// minSlotNotReached is the code of a node that is behind minContextSlot (JSON-RPC, Agave's rpc_client/custom_error).
const minSlotNotReached = -32016

// Sweep reads the finalized balances of wallets and token accounts, 100 with each call (getMultipleAccounts with a slice of their
// data), in the order of the addresses. Every answer is from minSlot or later: a node that is behind is not believed,
// and the next one is asked. Those of one call are from one slot. Errors are wallet.NetworkError, with
// wallet.ErrNodeBehind inside if every node that could be asked is behind.
func (c *Client) Sweep(ctx context.Context, as []wallet.Address, minSlot uint64) ([]wallet.AccountBalance, error) {
	return c.sweepAt(ctx, as, finalized, minSlot)
}

// SweepConfirmed is Sweep of confirmed balances, which may be dropped again.
func (c *Client) SweepConfirmed(ctx context.Context, as []wallet.Address, minSlot uint64) ([]wallet.AccountBalance, error) {
	return c.sweepAt(ctx, as, confirmed, minSlot)
}

func (c *Client) sweepAt(ctx context.Context, as []wallet.Address, commitment string, minSlot uint64) ([]wallet.AccountBalance, error) {
	ctx = InBackground(ctx)
	out := make([]wallet.AccountBalance, 0, len(as))
	for batch := range slices.Chunk(as, maxAccountsAsked) {
		read, err := c.sweep(ctx, batch, commitment, minSlot)
		if err != nil {
			return nil, err
		}
		for i, account := range read {
			out = append(out, balanceOf(batch[i], account))
		}
	}
	return out, nil
}

// sweep reads up to 100 accounts from the first node that can be believed.
func (c *Client) sweep(ctx context.Context, as []wallet.Address, commitment string, minSlot uint64) ([]accountSnapshot, error) {
	const method = "getMultipleAccounts"
	var first, lag error
	for _, n := range c.nodes {
		read, err := snapshots(ctx, n, commitment, sweepData, minSlot, as...)
		switch {
		case err == nil && read[0].Slot < minSlot || behind(err):
			err = n.nodeError(method, wallet.ErrNodeBehind)
		case err == nil && read[0].Slot > highestSlot:
			err = n.nodeError(method, errGarbage)
		}
		switch {
		case err == nil:
			return read, nil
		case errors.Is(err, wallet.ErrNodeBehind):
			lag = err
		case first == nil:
			first = err
		}
	}
	return nil, errors.Join(first, lag)
}

// highestSlot is above every slot of the next billion years. A watcher that believed a higher one would wait for it.
const highestSlot = 1 << 56

// behind tells whether a node says of itself that it has not come to the slot that was asked for.
func behind(err error) bool {
	var answered *rpcError
	return errors.As(err, &answered) && answered.code == minSlotNotReached
}

// balanceOf is one account of a sweep.
func balanceOf(at wallet.Address, a accountSnapshot) wallet.AccountBalance {
	b := wallet.AccountBalance{Address: at, Slot: a.Slot, Exists: a.Exists, Lamports: a.Lamports, Program: a.Owner}
	if len(a.data) < tokenSize || a.space == multisigSize || a.Owner == wallet.TokenProgram && a.space != tokenSize {
		return b
	}
	if a.space > tokenSize && (len(a.data) <= tokenSize || a.data[tokenSize] != kindAccount) {
		return b // a mint of Token-2022
	}
	if account, ok := parseTokenAccount(at, a.Owner, a.data[:tokenSize]); ok {
		b.Token = &account
	}
	return b
}
