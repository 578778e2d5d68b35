package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// collect looks for what pays a request. Each payment that names its reference is a receipt of its
// own; the request ends with the first that pays all of it, or once it cannot be paid in time any more. Payments
// of our own people are found like all others: they name the references of the link that they pay.
// Only what is finalized counts (docs/decisions/0006), which takes its time: whoever paid in the last
// second is waited for.
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

// Requests are looked for less often as they grow older: whoever is asked to pay most often does so at once, and each
// look is a call to a node. The next look is at this multiple of Pace.Collect.
const (
	young, middling         = 5 * time.Minute, 15 * time.Minute // ages up to which a request is looked for
	everyTime, third, sixth = 1, 3, 6                           // every time, every third time, or else every sixth
)

// collectAgain is when a request is looked for again: by its age, and not later than when a look may end it.
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

// waitedEnough tells whether a request ends unpaid: a look that began after all that could count saw all there
// was. Single transactions that nobody can read, or more mentions than can be listed, are waited for once more
// as long and no longer, or anybody could keep a request open. Where nobody could be asked, nothing ends.
func (s *Settler) waitedEnough(t wallet.Transaction, now time.Time, trouble error) bool {
	over := t.Deadline.Add(wallet.NeverLandsAfter)
	if errors.Is(trouble, wallet.ErrSomeUnread) {
		over = over.Add(wallet.NeverLandsAfter)
	} else if trouble != nil {
		return false
	}
	return !now.Before(over)
}

// received keeps one payment of a request. The payer chooses which references a transfer names, and how many: a
// payment that ended another request stands for that one, and ends no second. What it ended stands on its receipt,
// written in the same store transaction. Without a receipt (the wallet is nobody's here any more) nothing could
// tell, and nothing is ended.
func (s *Settler) received(tx store.Tx, t wallet.Transaction, p wallet.Payment) (wallet.Transaction, error) {
	if t.Closed { // paid meanwhile
		return t, nil
	}
	paid := t
	paid.PaymentRequestRef = t.Reference
	paid.From, paid.Amount, paid.Signature, paid.Landing = p.From, p.Units, p.Landing.Signature, &p.Landing
	paid.Memo = p.Memo // what the payer put on chain, which need not be what was asked
	if err := s.receipt(tx, paid); err != nil {
		return t, err
	}
	if p.Units < t.Amount {
		return t, nil // a part: the rest may follow
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
