package settle

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// receipts writes what came into one wallet, inside a store transaction: the receipt of each payment, its event, and the end
// of the payment request that it answers. Settling, the search for payments of requests and the watcher all write by it,
// so it does not matter which of them sees a payment first.
type receipts struct {
	store.Tx
	to  wallet.Wallet
	at  time.Time
	log *slog.Logger

	user *wallet.User          // the owner, once read; the zero User for a wallet without one
	open *[]wallet.Transaction // the open payment requests, newest first; nil: not read yet
}

// write writes the receipt of a finalized payment and its event, and ends the payment request that it covers. paid is the
// payment as a transaction, and p what it brought. A receipt that exists was announced; it is only noted which
// request it ends, if it has ended none so far. Nothing is written for an owner who is being erased.
func (r *receipts) write(paid wallet.Transaction, p wallet.IncomingPayment) error {
	existing, err := r.Transaction(wallet.ReceivedID(paid.Signature, r.to.Address, paid.Token.Mint))
	switch {
	case err == nil:
		return r.answer(existing, p)
	case store.IsDamaged(err): // it was written, so it was announced; what it ended cannot be noted any more
		r.log.Error("a receipt is damaged; its payment is not announced again", "wallet", r.to.Address, "transaction", paid.Signature, "error", err)
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	if err := r.readOwner(); err != nil {
		return store.IgnoreNotFound(err)
	}
	request, covered, err := r.answered(p)
	if err != nil {
		return err
	}
	if !request.Reference.IsZero() {
		paid.PaymentRequestRef = request.Reference
	}
	receipt, event, err := paid.ReceiptOf(r.to, r.user.TelegramID, r.at)
	if err != nil {
		return err
	}
	if covered {
		receipt.Answers = request.ID
	}
	err = r.CreateTransaction(receipt)
	if errors.Is(err, store.ErrConflict) { // the receipt of an erased owner of the wallet, which nobody can read any more
		return nil
	}
	if err == nil && covered {
		err = r.end(request)
	}
	if err != nil {
		return err
	}
	return r.Emit(event)
}

// answer ends a request that a payment covers whose receipt exists, unless it ended another one. A request may be too old to
// be found by what saw the payment first.
func (r *receipts) answer(receipt wallet.Transaction, p wallet.IncomingPayment) error {
	if receipt.Answers != "" || len(p.References) == 0 {
		return nil
	}
	request, covered, err := r.answered(p)
	if err != nil || !covered {
		return err
	}
	receipt.Answers, receipt.PaymentRequestRef = request.ID, request.Reference
	if err := r.PutTransaction(receipt); err != nil {
		return err
	}
	return r.end(request)
}

// end ends a request that was paid. Its job finds that when it is due.
func (r *receipts) end(request wallet.Transaction) error {
	_, err := store.Apply(r.Tx, request, wallet.TransitionInput{By: wallet.Paid, At: r.at})
	*r.open = slices.DeleteFunc(*r.open, func(t wallet.Transaction) bool { return t.ID == request.ID })
	return err
}

// answered returns the open request that a payment answers, and whether it is paid in full; the zero Transaction for none.
func (r *receipts) answered(p wallet.IncomingPayment) (request wallet.Transaction, covered bool, _ error) {
	if len(p.References) == 0 {
		return request, false, nil
	}
	if err := r.readRequests(); err != nil {
		return request, false, err
	}
	request, covered, _ = p.Answers(*r.open)
	return request, covered, nil
}

// searchedRequests is how many of a wallet's newest transactions are searched for open payment requests. The search for
// payments of a request knows its own, however old.
const searchedRequests = 100

// readRequests lists the wallet's open payment requests.
func (r *receipts) readRequests() error {
	if r.open != nil {
		return nil
	}
	newest, err := r.TransactionsAt(r.to.Address, store.Page{Limit: searchedRequests})
	if err != nil {
		return err
	}
	var open []wallet.Transaction
	for _, t := range newest {
		rules, err := r.Kinds().Of(t.Kind)
		if err != nil {
			return err
		}
		if rules.Awaits(t) {
			open = append(open, t)
		}
	}
	r.open = &open
	return nil
}

// alsoOpen adds a request that readRequests may not have found.
func (r *receipts) alsoOpen(t wallet.Transaction) error {
	if err := r.readRequests(); err != nil {
		return err
	}
	if !slices.ContainsFunc(*r.open, func(other wallet.Transaction) bool { return other.ID == t.ID }) {
		*r.open = append(*r.open, t)
	}
	return nil
}

// readOwner reads the wallet's owner. ErrNotFound: the owner is being erased.
func (r *receipts) readOwner() (err error) {
	if r.user != nil {
		return nil
	}
	var user wallet.User
	if r.to.Owner != "" {
		if user, err = r.User(r.to.Owner); err != nil {
			return err
		}
	}
	r.user = &user
	return nil
}

// receipt writes the receipt of a payment that was settled here, if the recipient's wallet is connected. A wallet without an
// owner, connected by an operator's key, gets an event for webhooks only.
func (s *Settler) receipt(tx store.Tx, t wallet.Transaction) error {
	to, err := tx.Wallet(t.To)
	if err != nil {
		return store.IgnoreNotFound(err)
	}
	r := &receipts{Tx: tx, to: to, at: s.Now().UTC(), log: s.Log}
	return r.write(t, wallet.IncomingPayment{Gain: wallet.NetChange{Token: t.Token, Units: t.Net()}, From: t.From,
		References: append(slices.Clone(t.LinkReferences), t.Reference), Memo: t.Memo})
}
