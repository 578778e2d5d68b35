package settle

import (
	"context"
	"sync"

	"purser/wallet"
)

// hintsOfWallet is for how many accounts of a wallet hints are asked. Anybody can open token accounts for a wallet.
const hintsOfWallet = 8

// hinted collects the wallets about which hints came between two passes. There are at most as many as are asked for.
type hinted struct {
	mu  sync.Mutex
	all map[wallet.Address]bool
}

// listen takes hints until ctx ends, so that a busy account does not fill the queue while a pass takes long.
func (h *hinted) listen(ctx context.Context, hints <-chan wallet.AccountHint) {
	for {
		select {
		case <-ctx.Done():
			return
		case hint := <-hints:
			h.add(hint)
		}
	}
}

func (h *hinted) add(hint wallet.AccountHint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[wallet.Address]bool{}
	}
	h.all[hint.Owner] = true
}

// take returns the wallets about which hints came since the last take, those that nobody has taken from the queue included.
func (h *hinted) take(hints <-chan wallet.AccountHint) map[wallet.Address]bool {
	for queued := len(hints); queued > 0; queued-- {
		select {
		case hint := <-hints:
			h.add(hint)
		default:
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.all
	h.all = nil
	return out
}

// heed makes wallets due that were hinted at. They are then swept as often as wallets that have just moved, and not more often:
// whatever a node sends, it costs no more than payments do.
func (w *Watcher) heed(out *lookout, wallets map[wallet.Address]bool) {
	now := w.Now().UTC()
	for at := range wallets {
		r := out.wallets[at]
		if r == nil || r.sweptAt.IsZero() { // gone, or due anyway
			continue
		}
		r.movedAt = now
		if soon := r.sweptAt.Add(w.Pace.Soon); soon.Before(r.next) {
			r.next = soon
		}
	}
}

// askHints asks for hints about the accounts of a wallet that was swept: of each wallet that moved, and of the first ones
// in any case: with more wallets, only those that move are worth a subscription.
func (w *Watcher) askHints(out *lookout, t target, r *rhythm, moved bool) {
	if w.Hints == nil {
		return
	}
	if !moved {
		if !r.sweptAt.IsZero() || out.asked >= w.Subscriptions {
			return
		}
		out.asked += min(len(t.row.Accounts), hintsOfWallet)
	}
	for _, a := range t.row.Accounts[:min(len(t.row.Accounts), hintsOfWallet)] {
		w.Hints.WatchAccount(wallet.AccountHint{Account: a.Address, Owner: t.of.Address})
	}
}
