package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// ArrivingChain is what the Watcher needs of Solana to show payments that are confirmed and not final yet. An error means
// that nobody knows, and costs a card and nothing else.
type ArrivingChain interface {
	// SweepConfirmed is WatchedChain.Sweep of confirmed balances.
	SweepConfirmed(ctx context.Context, accounts []wallet.Address, minSlot uint64) ([]wallet.AccountBalance, error)
	// History lists the newest transactions of an account, confirmed ones too.
	History(ctx context.Context, account wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error)
	// Activities reads what one transaction did for each of some owners.
	Activities(ctx context.Context, signature wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error)
}

const (
	// arrivingShare is the part of Pace.Calls that arriving payments may cost each minute: an eighth, on top of it.
	arrivingShare = 8
	// accountsASearch and readsASearch bound what one search for arriving payments asks for: a page of each account, and
	// some transactions. searchCalls is their sum.
	accountsASearch, readsASearch = 2, 2
	searchCalls                   = accountsASearch + readsASearch
	// arrivingPage is how many of an account's newest transactions are listed.
	arrivingPage = 20
	// maxArriving is how many arriving payments of one person are shown at a time, so that a flood is no flood of cards.
	maxArriving = 10
	// followAfter is the wait before an arriving payment is looked at again: most are final and announced by then. It grows with
	// the payment's age.
	followAfter = 45 * time.Second
	// missingFor is how long no node may have shown a transaction before its card says that it did not arrive.
	missingFor = time.Minute
	// arrivingFor is how long a card may say that a payment arrives.
	arrivingFor = time.Hour
)

// calls counts what is asked for in each minute.
type calls struct {
	from time.Time
	used int
}

// take reports whether n calls more fit into this minute, of most, and counts them.
func (c *calls) take(now time.Time, n, most int) bool {
	if now.Sub(c.from) >= time.Minute || now.Before(c.from) {
		*c = calls{from: now}
	}
	if c.used+n > most {
		return false
	}
	c.used += n
	return true
}

// arrive looks for payments that are confirmed and not final, in the wallets that were just swept: those that moved lately
// come first, and it ends where the calls of this minute do. Whatever it misses is announced when it is final.
func (w *Watcher) arrive(ctx context.Context, out *lookout, targets []target) error {
	if w.Arriving == nil {
		return nil
	}
	most := max(w.Pace.Calls/arrivingShare, 1+searchCalls)
	targets = slices.DeleteFunc(slices.Clone(targets), func(t target) bool { return t.of.Owner == "" || out.of(t.of.Address).ordered })
	slices.SortStableFunc(targets, func(a, b target) int {
		return out.of(b.of.Address).movedAt.Compare(out.of(a.of.Address).movedAt)
	})
	for len(targets) > 0 {
		n, accounts, slot := batch(targets)
		if !out.arriving.take(w.Now(), (len(accounts)+sweepCall-1)/sweepCall, most) {
			return nil
		}
		balances, err := w.Arriving.SweepConfirmed(ctx, accounts, slot)
		if err != nil {
			return nil
		}
		for _, t := range targets[:n] {
			gained := gainedIn(t, balances)
			balances = balances[len(t.row.Accounts):]
			r := out.of(t.of.Address)
			if len(gained) == 0 || slices.Equal(r.gained, gained) {
				r.gained = gained
				continue
			}
			if !out.arriving.take(w.Now(), searchCalls, most) {
				return nil
			}
			r.gained = gained
			err := w.Store.Update(ctx, func(tx store.Tx) error { return store.OrderSearch(tx, t.of, addressesOf(gained), w.Now().UTC()) })
			if err != nil {
				return err
			}
		}
		targets = targets[n:]
	}
	return nil
}

// gain is a balance that is higher than the finalized one.
type gain struct {
	at    wallet.Address
	units uint64
}

// gainedIn lists the accounts of a wallet that hold more than is known to be final. balances begin with theirs.
func gainedIn(t target, balances []wallet.AccountBalance) (out []gain) {
	for i, a := range t.row.Accounts {
		if b := watched(t.of.Address, balances[i]); b.Slot > a.Slot && b.Units > a.Units && len(out) < accountsASearch {
			out = append(out, gain{a.Address, b.Units})
		}
	}
	return out
}

func addressesOf(gained []gain) (out []wallet.Address) {
	for _, g := range gained {
		out = append(out, g.at)
	}
	return out
}

// search reads the newest transactions of accounts that gained something, and shows the payments among them. It moves no
// watermark: when they are final, they are read in their turn.
func (w *Watcher) search(ctx context.Context, job store.Job) (work.Result, error) {
	order, err := store.SearchOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	var of wallet.Wallet
	var row wallet.Watch
	err = w.Store.View(ctx, func(tx store.Tx) (err error) {
		if of, err = tx.Wallet(order.Wallet); err == nil {
			row, err = tx.Watch(order.Wallet)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) || store.IsDamaged(err) || w.Arriving == nil {
		return work.Result{}, nil
	}
	if err != nil {
		return work.Result{}, fmt.Errorf("look for payments that arrive: %w", err)
	}
	var found []wallet.Activity
	ctx = w.background(ctx)
	for _, at := range order.Accounts {
		i := slices.IndexFunc(row.Accounts, func(a wallet.WatchedAccount) bool { return a.Address == at })
		if i < 0 {
			continue
		}
		page, _, err := w.Arriving.History(ctx, at, wallet.Signature{}, arrivingPage)
		if err != nil {
			continue
		}
		for _, e := range page {
			mark := row.Accounts[i].Mark
			if e.Finalized || e.Failed || e.Slot < max(mark.Slot, row.Since) || slices.Contains(mark.Seen, e.Signature) || len(found) >= readsASearch ||
				slices.ContainsFunc(found, func(a wallet.Activity) bool { return a.Signature == e.Signature }) {
				continue
			}
			read, err := w.Arriving.Activities(ctx, e.Signature, of.Address)
			if err == nil && read[0].Slot == e.Slot {
				found = append(found, read[0])
			}
		}
	}
	return work.Result{Commit: func(tx store.Tx) error { return w.showArriving(tx, of, found) }}, nil
}

// showArriving notifies the owner of payments that are confirmed. Each gets a job that ends its card.
func (w *Watcher) showArriving(tx store.Tx, of wallet.Wallet, found []wallet.Activity) error {
	if err := unchanged(tx, of); err != nil {
		return store.IgnoreNotFound(err)
	}
	in := incomingOf(tx, of, w.Listed, w.Now().UTC(), w.Log)
	for _, a := range found {
		if !isNews(a) {
			continue
		}
		for _, gain := range a.Net {
			if gain.Lost {
				continue
			}
			paid, is, err := in.judge(a, gain)
			if err != nil {
				return fmt.Errorf("show what arrives in %s: %w", of.Address, err)
			}
			if is != announced {
				continue
			}
			err = w.addArrival(tx, of, store.Arrival{At: in.at, PaymentArrivingData: wallet.PaymentArrivingData{
				TransactionID: wallet.ReceivedID(a.Signature, of.Address, gain.Token.Mint), Signature: a.Signature, WalletAddress: of.Address,
				Sender: paid.From, Token: paid.Token, Units: paid.Amount, Requested: !paid.PaymentRequestRef.IsZero(), Outcome: wallet.StillArriving}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// addArrival shows one payment, unless it is shown already or too many are.
func (w *Watcher) addArrival(tx store.Tx, of wallet.Wallet, a store.Arrival) error {
	shown, err := tx.CountJobs(store.ArrivingPayments, string(of.Owner))
	if err != nil || shown >= maxArriving {
		return err
	}
	if shown, err := store.IsArriving(tx, a.TransactionID); err != nil || shown {
		return err
	}
	if err := store.PutArrival(tx, of.Owner, a, a.At, a.At.Add(followAfter)); err != nil {
		return err
	}
	return tellArrival(tx, of.Owner, a, a.At)
}

// tellArrival notifies a person of what became of an arriving payment.
func tellArrival(tx store.Tx, who wallet.UserID, a store.Arrival, at time.Time) error {
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s", a.TransactionID, a.Outcome), wallet.PaymentArriving, at, who, a.PaymentArrivingData)
	if err != nil {
		return err
	}
	return store.NotifyOwner(tx, event)
}

// follow ends the card of an arriving payment that its receipt does not end: if no node shows the transaction for a while, or
// only as a failed one, it did not arrive. A receipt may still come, and changes the card again.
func (w *Watcher) follow(ctx context.Context, job store.Job) (work.Result, error) {
	a, err := store.ArrivalOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	now := w.Now().UTC()
	done, of, err := w.isOver(ctx, a)
	if err != nil || done {
		return work.Result{}, err
	}
	if of.Address.IsZero() { // it is not watched any more
		a.Outcome = wallet.UnknownArrival
		return work.Result{Commit: func(tx store.Tx) error { return tellArrival(tx, job.About, a, now) }}, nil
	}
	age := now.Sub(a.At)
	again := now.Add(max(followAfter, min(age, arrivingFor/4)))
	shown, err := w.activityOf(ctx, a)
	switch missing := errors.Is(err, wallet.ErrTransactionUnknown) || err == nil && shown.Failure != ""; {
	case missing && a.MissingSince.IsZero():
		a.MissingSince, again = now, now.Add(missingFor)
	case missing && now.Sub(a.MissingSince) >= missingFor:
		a.Outcome = wallet.DidNotArrive
	case missing: // wait on
	case err == nil:
		a.MissingSince = time.Time{}
		if age >= arrivingFor {
			a.Outcome = wallet.UnknownArrival
		}
	case age >= arrivingFor: // no node could be asked
		a.Outcome = wallet.UnknownArrival
	}
	return work.Result{Commit: func(tx store.Tx) error {
		if done, err := isReceived(tx, a.TransactionID); err != nil || done {
			return err
		}
		if a.Outcome != wallet.StillArriving {
			return tellArrival(tx, job.About, a, now)
		}
		// What is final by now and was not noticed is read at once.
		if err := store.OrderWatch(tx, of, store.WatchOrder{}, store.JobSoon, now); err != nil {
			return err
		}
		return store.PutArrival(tx, job.About, a, now, again)
	}}, nil
}

// isOver tells whether the receipt of an arriving payment exists. of is its wallet, the zero Wallet if it is not connected.
func (w *Watcher) isOver(ctx context.Context, a store.Arrival) (over bool, of wallet.Wallet, err error) {
	err = w.Store.View(ctx, func(tx store.Tx) (err error) {
		if over, err = isReceived(tx, a.TransactionID); err != nil || over {
			return err
		}
		if of, err = tx.Wallet(a.WalletAddress); errors.Is(err, store.ErrNotFound) {
			of, err = wallet.Wallet{}, nil
		}
		return err
	})
	return over, of, err
}

// isReceived tells whether a receipt exists, readable or not.
func isReceived(tx store.Tx, id wallet.TransactionID) (bool, error) {
	_, err := tx.Transaction(id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if store.IsDamaged(err) {
		return true, nil
	}
	return err == nil, err
}

// activityOf reads an arriving payment's transaction again.
func (w *Watcher) activityOf(ctx context.Context, a store.Arrival) (wallet.Activity, error) {
	if w.Arriving == nil {
		return wallet.Activity{}, errors.New("arriving payments are not read")
	}
	read, err := w.Arriving.Activities(w.background(ctx), a.Signature, a.WalletAddress)
	if err != nil {
		return wallet.Activity{}, err
	}
	return read[0], nil
}
