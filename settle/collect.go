package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// collect searches for payments of a payment request. Each payment that names the request's reference becomes a receipt.
// The request ends with the first payment that covers the full amount, or when it can no longer be paid in time.
//
// What a transaction brought, and which request it answers, is decided as for every incoming payment (incoming). Here are
// only found those that name this request. Only finalized payments count (docs/decisions/0006). Finalization takes
// seconds, so the search goes on for a while after the deadline (waitedEnough).
func (s *Settler) collect(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	now := s.Now()
	if w.judged == nil {
		w.judged = map[wallet.Signature]bool{}
	}
	payments, trouble := s.Chain.Payments(ctx, t.To, t.Reference, t.Token.Mint, w.judged)
	if trouble != nil {
		trouble = fmt.Errorf("look for payments of %s: %w", t.ID, trouble)
	}
	over := s.waitedEnough(t, now, trouble)
	payments = slices.DeleteFunc(payments, func(a wallet.Activity) bool {
		// What the owner of the wallet did themselves is no payment, and what is next to nothing is the watcher's.
		is := !isNews(a) || isSpeck(a, t)
		if is {
			w.judged[a.Signature] = true
		}
		return is
	})
	if len(payments) == 0 && !over {
		return nil, trouble
	}
	for _, a := range payments {
		w.found = append(w.found, a.Signature)
	}
	// Commit: store each payment, then expire the request if it is still open and its time is over.
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		t, err := s.received(tx, t, payments)
		if err == nil && over && t.TimedOutAt(s.Now()) {
			return s.apply(tx, t, wallet.TransitionInput{By: wallet.TimeRanOut, At: s.Now().UTC()})
		}
		return t, err
	}, trouble
}

// isSpeck reports whether a transaction brings only dust of the token of a request, and does not cover it. It gets no receipt here.
func isSpeck(a wallet.Activity, request wallet.Transaction) bool {
	for _, gain := range a.Net {
		if gain.Lost || gain.Token.Mint != request.Token.Mint {
			continue
		}
		if _, covered, _ := a.Incoming(gain).Answers([]wallet.Transaction{request}); covered || !gain.Dust() {
			return false
		}
	}
	return true
}

// A request is searched for less often as it grows older: most people pay at once, and each search is an RPC call. These
// are the multiples of Pace.Collect between two searches.
const (
	young, middling         = 5 * time.Minute, 15 * time.Minute // ages that end the first and the second stage
	everyTime, third, sixth = 1, 3, 6                           // multiples in the first, second and last stage
)

// collectAgain returns when to search for a request again: by its age, but no later than the times at which a search may
// end it (waitedEnough).
func (s *Settler) collectAgain(t wallet.Transaction, now time.Time) time.Time {
	factor := sixth
	switch age := now.Sub(t.CreatedAt); {
	case age < young:
		factor = everyTime
	case age < middling:
		factor = third
	}
	next := now.Add(time.Duration(factor) * s.Pace.Collect)
	for _, over := range []time.Time{t.Deadline.Add(wallet.NeverLandsAfter), t.Deadline.Add(2 * wallet.NeverLandsAfter)} {
		if now.Before(over) && over.Before(next) {
			next = over
		}
	}
	return next
}

// waitedEnough reports whether a request may end unpaid. It may once a search began NeverLandsAfter past the deadline:
// any payment sent in time is finalized by then and was seen.
//
// If single transactions cannot be read, or there are more than can be listed, the wait is extended once by the same
// time. A longer extension would let anyone keep a request open. After any other error the search saw too little, and
// nothing ends.
func (s *Settler) waitedEnough(t wallet.Transaction, now time.Time, trouble error) bool {
	over := t.Deadline.Add(wallet.NeverLandsAfter)
	if errors.Is(trouble, wallet.ErrSomeUnread) {
		over = over.Add(wallet.NeverLandsAfter)
	} else if trouble != nil {
		return false
	}
	return !now.Before(over)
}

// received stores payments that name a request, oldest first, and returns the request as it is then.
//
// The payer chooses which references a transfer names, and how many, so a payment found for one request may end another one.
// If the wallet is no longer connected here, nothing could record which one it ended, so the request stays open.
func (s *Settler) received(tx store.Tx, t wallet.Transaction, payments []wallet.Activity) (wallet.Transaction, error) {
	if t.Closed || len(payments) == 0 {
		return t, nil
	}
	to, err := tx.Wallet(t.To)
	if err != nil {
		return t, store.IgnoreNotFound(err)
	}
	in := incomingOf(tx, to, func(mint wallet.Address) (wallet.Token, bool) { return t.Token, mint == t.Token.Mint }, s.Now().UTC(), s.Log)
	if err := in.alsoOpen(t); err != nil {
		return t, err
	}
	for _, a := range payments {
		for _, gain := range a.Net {
			if gain.Lost || gain.Token.Mint != t.Token.Mint {
				continue
			}
			// One that answers no open request any more is judged by the watcher alone.
			if request, _, err := in.answered(a.Incoming(gain)); err != nil || request.ID == "" {
				return t, err
			}
			if _, err := in.pay(a, gain); err != nil {
				return t, err
			}
		}
	}
	return tx.Transaction(t.ID)
}
