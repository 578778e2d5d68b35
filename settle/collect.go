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
func (s *Settler) collect(ctx context.Context, t wallet.Transaction) error {
	w, now := s.watched[t.ID], s.Now()
	if now.Before(w.searchAt) {
		return nil
	}
	w.searchAt = now.Add(s.Pace.Collect)
	if w.judged == nil {
		w.judged = map[wallet.Signature]bool{}
	}
	payments, trouble := s.Chain.Payments(ctx, t.To, t.Reference, t.Token, w.judged)
	if trouble != nil {
		trouble = fmt.Errorf("look for payments of %s: %w", t.ID, trouble)
	}
	for _, p := range payments {
		if err := s.Store.Update(ctx, func(tx store.Tx) error { return s.received(tx, t.ID, p) }); err != nil {
			return errors.Join(trouble, fmt.Errorf("settle %s: %w", t.ID, err))
		}
		w.judged[p.Landing.Signature] = true
	}
	if !s.waitedEnough(t, now, trouble) {
		return trouble
	}
	return errors.Join(trouble, s.timeOut(ctx, t))
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
func (s *Settler) received(tx store.Tx, id wallet.TransactionID, p wallet.Payment) error {
	t, err := tx.Transaction(id)
	if err != nil || t.Status != wallet.Requested {
		return err
	}
	paid := t
	paid.PaymentRequestRef = t.Reference
	paid.From, paid.Amount, paid.Signature, paid.Landing = p.From, p.Units, p.Landing.Signature, &p.Landing
	paid.Memo = p.Memo // what the payer put on chain, which need not be what was asked
	if err := s.receipt(tx, paid); err != nil {
		return err
	}
	if p.Units < t.Amount {
		return nil // a part: the rest may follow
	}
	receipt, err := tx.Transaction(wallet.ReceivedID(p.Landing.Signature, t.To, t.Token.Mint))
	if errors.Is(err, store.ErrNotFound) || err == nil && receipt.Answers != "" {
		return nil
	}
	if err != nil {
		return err
	}
	receipt.Answers, receipt.PaymentRequestRef = t.ID, t.Reference
	if err := tx.PutTransaction(receipt); err != nil {
		return err
	}
	_, err = store.Step(tx, t, wallet.TransitionInput{By: wallet.Paid, At: s.Now().UTC()})
	return err
}
