package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// collect searches for payments of a payment request. Each payment that names the request's reference becomes a receipt.
// The request ends with the first payment that covers the full amount, or when it can no longer be paid in time.
//
// Payments by users of this wallet are found in the same way: their transfers name the references of the link. Only
// finalized payments count (docs/decisions/0006). Finalization takes seconds, so the search goes on for a while after the
// deadline (waitedEnough).
func (s *Settler) collect(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	now := s.Now()
	if w.judged == nil {
		w.judged = map[wallet.Signature]bool{}
	}
	payments, trouble := s.Chain.Payments(ctx, t.To, t.Reference, t.Token, w.judged)
	if trouble != nil {
		trouble = fmt.Errorf("look for payments of %s: %w", t.ID, trouble)
	}
	over := s.waitedEnough(t, now, trouble)
	if len(payments) == 0 && !over {
		return nil, trouble
	}
	for _, p := range payments {
		w.found = append(w.found, p.Landing.Signature)
	}
	// Commit: store each payment, then expire the request if it is still open and its time is over.
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		for _, p := range payments {
			var err error
			if t, err = s.received(tx, t, p); err != nil {
				return t, err
			}
		}
		if over && t.TimedOutAt(s.Now()) {
			return s.apply(tx, t, wallet.TransitionInput{By: wallet.TimeRanOut, At: s.Now().UTC()})
		}
		return t, nil
	}, trouble
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

// received stores one payment of a request as a receipt, and closes the request if the payment covers it.
//
// The payer chooses which references a transfer names, and how many. One payment may therefore close one request only:
// the receipt records which (Answers), in the same store transaction. If there is no receipt, because the wallet is no
// longer connected here, that record would be missing, so the request stays open.
func (s *Settler) received(tx store.Tx, t wallet.Transaction, p wallet.Payment) (wallet.Transaction, error) {
	if t.Closed { // an earlier payment of this commit, or of another attempt, closed it
		return t, nil
	}
	paid := t
	paid.PaymentRequestRef = t.Reference
	paid.From, paid.Amount, paid.Signature, paid.Landing = p.From, p.Units, p.Landing.Signature, &p.Landing
	paid.Memo = p.Memo // what the payer wrote on chain, which may differ from what was requested
	if err := s.receipt(tx, paid); err != nil {
		return t, err
	}
	if p.Units < t.Amount {
		return t, nil // a partial payment: the rest may follow
	}
	receipt, err := tx.Transaction(wallet.ReceivedID(p.Landing.Signature, t.To, t.Token.Mint))
	if errors.Is(err, store.ErrNotFound) || err == nil && receipt.Answers != "" {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	receipt.Answers, receipt.PaymentRequestRef = t.ID, t.Reference
	if err := tx.PutTransaction(receipt); err != nil {
		return t, err
	}
	return s.apply(tx, t, wallet.TransitionInput{By: wallet.Paid, At: s.Now().UTC()})
}
