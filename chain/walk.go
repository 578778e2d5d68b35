package chain

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"purser/wallet"
)

const (
	// firstPage is how many entries a walk asks for at first. Mostly a few are new.
	firstPage = 50
	// walkKeeps bounds the entries that one walk holds and delivers: the oldest of those it saw.
	walkKeeps = 10 * mentionsAPage
	// walkPages bounds the calls of one walk to a node.
	walkPages = 100
	// maxCursor bounds the places that a cursor remembers. Beyond it every other one is dropped.
	maxCursor = 1024
	// cursorUnknown is the code of a node that does not know the signature to go on from (Agave from 4.0 on; before, it
	// answered an empty page).
	cursorUnknown = -32020
)

// historyPage asks for one page of an address's history. The request never says where to stop (until): a node would not
// know of transactions in the same slot, and a node that does not know that signature answers with an error or, before
// Agave 4.0, with anything.
type historyPage struct {
	address    wallet.Address
	before     wallet.Signature // zero: the newest
	commitment string
	minSlot    uint64
	limit      int // get makes it smaller if the node's pages are too large
}

// signatureInfo is an entry of getSignaturesForAddress.
type signatureInfo struct {
	Signature string          `json:"signature"`
	Slot      *uint64         `json:"slot"`
	BlockTime *int64          `json:"blockTime"`
	Err       json.RawMessage `json:"err"`
	Status    string          `json:"confirmationStatus"`
}

// get makes the call (getSignaturesForAddress). A page is never longer than limit.
func (p *historyPage) get(ctx context.Context, n *node) ([]signatureInfo, error) {
	const method = "getSignaturesForAddress"
	for {
		asked := settings{"commitment": p.commitment, "limit": p.limit}
		if p.minSlot > 0 {
			asked["minContextSlot"] = p.minSlot
		}
		if !p.before.IsZero() {
			asked["before"] = p.before.String()
		}
		page, err := call[[]signatureInfo](ctx, n, method, p.address.String(), asked)
		switch {
		case errors.Is(err, errTooLarge) && p.limit > 1: // the answer repeats memos, which strangers can fill
			p.limit /= 10
		case err != nil:
			return nil, err
		case page == nil || len(page) > p.limit:
			return nil, n.nodeError(method, errGarbage)
		default:
			return page, nil
		}
	}
}

// entries is get, read strictly: slots never rise, and nothing comes twice.
func (p *historyPage) entries(ctx context.Context, n *node) ([]wallet.SignatureEntry, error) {
	const method = "getSignaturesForAddress"
	page, err := p.get(ctx, n)
	if behind(err) {
		return nil, n.nodeError(method, wallet.ErrNodeBehind)
	}
	if err != nil {
		return nil, err
	}
	out := make([]wallet.SignatureEntry, len(page))
	seen := make(map[wallet.Signature]bool, len(page))
	for i, info := range page {
		sig, err := wallet.ParseSignature(info.Signature)
		if err != nil || info.Slot == nil || seen[sig] || sig == p.before || i > 0 && *info.Slot > out[i-1].Slot {
			return nil, n.nodeError(method, errGarbage)
		}
		seen[sig] = true
		out[i] = wallet.SignatureEntry{Signature: sig, Slot: *info.Slot, Failed: parseFailure(info.Err) != nil,
			Finalized: p.commitment == finalized || info.Status == finalized}
		if info.BlockTime != nil && *info.BlockTime > 0 && *info.BlockTime < lastSecond {
			out[i].At = time.Unix(*info.BlockTime, 0).UTC()
		}
	}
	return out, nil
}

// History is one page of an address's confirmed transactions, newest first, of up to 1,000. before is the last
// signature of the page before, zero for the newest. more is false if there are no older ones. A node that fails, or does
// not know before, is not believed, and the next one is asked. Errors are wallet.NetworkError, with
// wallet.ErrHistoryUnknown inside if no node knows before.
func (c *Client) History(ctx context.Context, a wallet.Address, before wallet.Signature, limit int) (_ []wallet.SignatureEntry, more bool, _ error) {
	ctx = forHistory(ctx)
	var first error
	for i, n := range c.nodes {
		ask := historyPage{address: a, before: before, commitment: confirmed, limit: min(max(limit, 1), mentionsAPage)}
		page, err := ask.entries(ctx, n)
		if isUnknown(err) {
			err = n.nodeError("getSignaturesForAddress", wallet.ErrHistoryUnknown)
		}
		if err == nil && len(page) == 0 && !before.IsZero() && i < len(c.nodes)-1 {
			continue // before Agave 4.0, this may also mean that it does not know before
		}
		if err == nil {
			return page, len(page) == ask.limit, nil // a node with large pages was asked for fewer
		}
		if first == nil {
			first = err
		}
	}
	return nil, false, first
}

// isUnknown tells whether a node says that it does not know the signature to go on from.
func isUnknown(err error) bool {
	var answered *rpcError
	return errors.As(err, &answered) && answered.code == cursorUnknown
}

// Walk lists what is new in an address's history since a watermark, oldest first, at most 10,000 entries at once. It
// reads back from the newest transaction until it meets what was seen before. A node is believed only if it shows that
// it knows the history so far: by something that was seen, or that is older. A node that is behind, that has thrown
// these blocks away, that does not know the place to go on from, or that knows nothing new although a balance changed,
// is not believed, and the next one is asked.
//
// Errors are wallet.NetworkError. Inside may be wallet.ErrNodeBehind, wallet.ErrNothingNew, wallet.ErrHistoryPruned and
// wallet.ErrHistoryUnknown, several if nodes differ, and wallet.ErrHistoryGap if nodes were to be passed over. With
// ErrHistoryPruned and ErrHistoryUnknown comes what is known, from the newest transaction back,
// even if another node could not be asked: the caller decides when to go on without the rest, from Next.
func (c *Client) Walk(ctx context.Context, query wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	// The first node that is believed answers. Of those that lack a part of the history, the one that shows most is kept.
	best := wallet.HistoryWalk{Next: query.From}
	var reason, denied, gap error
	if query.Skip > 0 {
		gap = unreachable(wallet.ErrHistoryGap)
	}
	for i, n := range c.nodes {
		if i < query.Skip {
			continue
		}
		found, err := newWalker(n, query).walk(ctx)
		found.Node = i
		if err == nil && query.Changed && len(found.Entries) == 0 && !found.More {
			err = n.nodeError("getSignaturesForAddress", wallet.ErrNothingNew)
		}
		switch {
		case err == nil:
			return found, nil
		case errors.Is(err, wallet.ErrHistoryPruned) || errors.Is(err, wallet.ErrHistoryUnknown):
			if denied == nil || len(found.Entries) > len(best.Entries) || len(found.Entries) == len(best.Entries) && found.Since < best.Since {
				best = found
			}
			if denied == nil || severity(err) > severity(denied) {
				denied = err
			}
		case reason == nil || severity(err) > severity(reason):
			reason = err
		}
	}
	return best, errors.Join(reason, denied, gap)
}

// severity orders the reasons for which nodes are not believed. A node that could not be asked might know everything.
func severity(err error) int {
	switch {
	case errors.Is(err, wallet.ErrHistoryPruned):
		return 0
	case errors.Is(err, wallet.ErrHistoryUnknown):
		return 1
	case errors.Is(err, wallet.ErrNothingNew):
		return 2
	case errors.Is(err, wallet.ErrNodeBehind):
		return 3
	}
	return 4
}

// walker is one walk on one node.
type walker struct {
	node   *node
	query  wallet.HistoryQuery
	seen   map[wallet.Signature]bool // those of the watermark
	cursor wallet.HistoryCursor      // places to begin at, newest first
	window []wallet.SignatureEntry   // newest first: the oldest that were found
	met    bool                      // something was shown that was seen before, or is older

	pages           int // so far
	keeps, maxPages int // walkKeeps and walkPages
}

// newWalker is before the beginning.
func newWalker(n *node, query wallet.HistoryQuery) *walker {
	w := &walker{node: n, query: query, seen: map[wallet.Signature]bool{}, cursor: slices.Clone(query.Cursor), keeps: walkKeeps, maxPages: walkPages}
	for _, sig := range query.From.Seen {
		w.seen[sig] = true
	}
	return w
}

// walk walks from the deepest place of the cursor, or from the newest transaction.
func (w *walker) walk(ctx context.Context) (wallet.HistoryWalk, error) {
	for {
		ended, err := w.descend(ctx)
		switch {
		case isUnknown(err) && len(w.window) == 0 && len(w.cursor) > 0: // a place that this node does not know any more
			w.cursor = w.cursor[:len(w.cursor)-1]
			continue
		case isUnknown(err): // it lost its place on the way back
			out := w.result()
			if len(out.Entries) > 0 {
				out.Since = out.Entries[0].Slot
			}
			return out, w.node.nodeError("getSignaturesForAddress", wallet.ErrHistoryUnknown)
		case err != nil:
			return wallet.HistoryWalk{}, err
		case !ended: // go on another time
			return wallet.HistoryWalk{Next: w.query.From, More: true, Cursor: w.cursor}, nil
		case len(w.window) == 0 && len(w.cursor) > 0: // all from this place on was delivered, or the node does not know it
			w.cursor = w.cursor[:len(w.cursor)-1]
			continue
		}
		return w.found(ctx)
	}
}

// descend reads pages until something is met that was seen before, or the history ends. false: it took as many calls as
// one walk may; the cursor holds the place.
func (w *walker) descend(ctx context.Context) (ended bool, _ error) {
	// The node must have seen the watermark's slot: an older view would seem to have nothing new.
	ask := historyPage{address: w.query.Address, commitment: confirmed, limit: firstPage, minSlot: max(w.query.MinSlot, w.query.From.Slot)}
	if w.query.Finalized {
		ask.commitment = finalized
	}
	if len(w.cursor) > 0 {
		ask.before, ask.limit = w.cursor[len(w.cursor)-1], mentionsAPage
	}
	for {
		if w.pages++; w.pages > w.maxPages {
			if len(w.window) > 0 {
				w.remember(w.window[len(w.window)-1].Signature)
			}
			return false, nil
		}
		page, err := ask.entries(ctx, w.node)
		if err != nil {
			return false, err
		}
		if len(page) == 0 {
			return true, nil
		}
		// A page continues the one before. If its slots rise, the node has mixed two histories.
		if len(w.window) > 0 && page[0].Slot > w.window[len(w.window)-1].Slot {
			return false, w.node.nodeError("getSignaturesForAddress", errGarbage)
		}
		for _, entry := range page {
			switch {
			case entry.Slot < w.query.From.Slot:
				w.met = true
				return true, nil
			case w.seen[entry.Signature]:
				w.met = true
			default:
				w.window = append(w.window, entry)
			}
		}
		// The newest give way. A later walk finds them again, from where they ended.
		if len(w.window) > w.keeps {
			cut := len(w.window) - w.keeps
			w.remember(w.window[cut-1].Signature)
			w.window = slices.Clone(w.window[cut:])
		}
		ask.before, ask.limit = page[len(page)-1].Signature, mentionsAPage
	}
}

// remember adds a place to the cursor.
func (w *walker) remember(sig wallet.Signature) {
	w.cursor = append(w.cursor, sig)
	if len(w.cursor) <= maxCursor {
		return
	}
	var kept wallet.HistoryCursor
	for i, place := range w.cursor {
		if (len(w.cursor)-1-i)%2 == 0 { // the deepest stays
			kept = append(kept, place)
		}
	}
	w.cursor = kept
}

// result is what was found, oldest first.
func (w *walker) result() wallet.HistoryWalk {
	entries := slices.Clone(w.window)
	slices.Reverse(entries)
	out := wallet.HistoryWalk{Entries: entries, Next: w.query.From.Past(entries), More: len(w.cursor) > 0}
	if out.More {
		out.Cursor = w.cursor[:len(w.cursor)-1]
	}
	return out
}

// found is the result, if it reaches back to the watermark.
func (w *walker) found(ctx context.Context) (wallet.HistoryWalk, error) {
	out := w.result()
	if w.met {
		return out, nil
	}
	// The history ended before anything known was met. The node may simply have no more.
	// The oldest block that the node has decides whether what is missing was thrown away or was never there.
	first, err := call[*uint64](ctx, w.node, "getFirstAvailableBlock")
	if err != nil {
		return wallet.HistoryWalk{}, err
	}
	from := w.query.From
	switch {
	case first == nil:
		return wallet.HistoryWalk{}, w.node.nodeError("getFirstAvailableBlock", errGarbage)
	case from.Slot == 0 && len(from.Seen) == 0: // everything was asked for: everything there is
		out.Since = *first
		return out, nil
	case *first > from.Slot:
		out.Since = *first
		return out, w.node.nodeError("getSignaturesForAddress", wallet.ErrHistoryPruned)
	case len(from.Seen) > 0:
		return out, w.node.nodeError("getSignaturesForAddress", wallet.ErrHistoryUnknown)
	}
	return out, nil
}
