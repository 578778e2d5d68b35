package chain

import (
	"context"
	"errors"
	"slices"

	"purser/wallet"
)

const (
	mentionsAPage = 1000 // the limit of getSignaturesForAddress
	// maxMentions bounds how far a reference's history is read, since anybody may mention a reference once it is
	// public. Beyond it the result is an error, never "not found".
	maxMentions = 10 * mentionsAPage
	// maxCandidates bounds how many mentions are fetched, oldest first: before its transaction is public, only the
	// device and purser know a reference.
	maxCandidates = 100
)

// Find asks the primary node whether and where a transaction landed: by its signature in the whole history, and by its
// reference, since a wallet may have changed the fee and so the signature. Another signature counts only if From made
// it and pays the fee, and the transaction does the intended actions (docs/architecture.md, The rule against paying
// twice, 3). A success is preferred to a failure. nil without an error: this node knows of no landing.
// wallet.NetworkError: it cannot tell.
func (c *Client) Find(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, error) {
	return c.find(searching(ctx, query), c.primary(), query)
}

// searching marks a search for a signed payment as one. A search without a signature has the class of its caller: there
// may be any number of payments that were given up.
func searching(ctx context.Context, query wallet.TransactionQuery) context.Context {
	if query.Signature.IsZero() {
		return ctx
	}
	return withSignedTransaction(ctx)
}

// FindEverywhere is Find on every configured node. A success that any of them knows is the result. certain tells that
// all of them looked and agree. Without a landing that proves that the transaction can never land only after
// FinalizedBlockHeight and together with CanSeeBackTo (docs/architecture.md, The rule against paying twice, 2). The
// error is that of the first node that could not tell.
func (c *Client) FindEverywhere(ctx context.Context, query wallet.TransactionQuery) (_ *wallet.Landing, certain bool, _ error) {
	var (
		failed  *wallet.Landing
		trouble error
		silent  bool // some node knows of no landing
	)
	for _, n := range c.nodes {
		landing, err := c.find(searching(ctx, query), n, query)
		switch {
		case err != nil && trouble == nil:
			trouble = err
		case landing != nil && landing.Failure == "":
			return landing, true, nil
		case landing != nil && failed == nil:
			failed = landing
		case landing == nil:
			silent = true
		}
	}
	if failed != nil { // certain only where every node says so: one that lies must not call a payment failed
		return failed, trouble == nil && !silent, nil
	}
	return nil, trouble == nil, trouble
}

// find is Find on one node.
func (c *Client) find(ctx context.Context, n *node, query wallet.TransactionQuery) (*wallet.Landing, error) {
	if query.Signature.IsZero() && query.Reference.IsZero() {
		return nil, errors.New("find: neither signature nor reference is known") // "not found" would be a lie
	}
	// First the signature itself.
	var failed *wallet.Landing
	if !query.Signature.IsZero() {
		landing, err := c.landed(ctx, n, query.Signature)
		if err != nil || landing != nil && landing.Failure == "" {
			return landing, err
		}
		failed = landing
	}
	if query.Reference.IsZero() {
		return failed, nil
	}
	// Then every other transaction that mentions the reference, oldest first.
	candidates, err := signaturesForAddress(ctx, n, query.Reference)
	if err != nil {
		return nil, err
	}
	candidates = slices.DeleteFunc(candidates, func(sig wallet.Signature) bool { return sig == query.Signature })
	var unread error // one that cannot be read might be the one looked for, unless another is
	for i, sig := range slices.Backward(candidates) {
		if len(candidates)-i > maxCandidates {
			return nil, n.nodeError("getTransaction", errTooMany)
		}
		ours, err := c.carries(ctx, n, sig, query)
		if errors.Is(err, errUnreadable) {
			unread = err
			continue
		}
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		landing, err := c.landed(ctx, n, sig)
		if err != nil || landing != nil && landing.Failure == "" {
			return landing, err
		}
		if failed == nil {
			failed = landing
		}
	}
	if unread != nil {
		return nil, unread
	}
	return failed, nil
}

// signaturesForAddress lists the confirmed transactions that mention an address, newest first
// (getSignaturesForAddress). With an error it returns what was listed until then. A node that does not know the
// signature to go on from (-32020) cannot tell what comes before it, which is an error like any other.
func signaturesForAddress(ctx context.Context, n *node, a wallet.Address) ([]wallet.Signature, error) {
	const method = "getSignaturesForAddress"
	var all []wallet.Signature
	ask := historyPage{address: a, commitment: confirmed, limit: mentionsAPage}
	for len(all) < maxMentions {
		// The machine that answers must not be behind the one that gave the finalized height.
		ask.minSlot = n.settled.Load()
		page, err := ask.get(ctx, n)
		if err != nil {
			return all, err
		}
		for _, entry := range page {
			sig, err := wallet.ParseSignature(entry.Signature)
			if err != nil {
				return all, n.nodeError(method, errGarbage)
			}
			all = append(all, sig)
		}
		if len(page) < ask.limit {
			return all, nil
		}
		ask.before = all[len(all)-1]
	}
	return all, n.nodeError(method, errTooMany)
}

// carries tells whether a transaction on chain is the one that the query looks for.
func (c *Client) carries(ctx context.Context, n *node, sig wallet.Signature, query wallet.TransactionQuery) (bool, error) {
	m, err := fetchMessage(ctx, n, sig)
	if err != nil {
		return false, err
	}
	return c.codec.recognises(m, query)
}
