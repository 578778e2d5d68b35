package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"purser/wallet"
)

// Watches are what the watcher knows of connected wallets: how far the chain was read, their stakes, and how many payments were
// folded. They disappear with their wallets.
type Watches interface {
	// ConnectedWallets lists the addresses of all connected wallets in the order of their bytes, behind the last one of the
	// page before. The zero address begins.
	ConnectedWallets(after wallet.Address, limit int) ([]wallet.Address, error)
	// Watch returns what is known of a connected wallet; ErrNotFound before its first look.
	Watch(wallet.Address) (wallet.Watch, error)
	// PutWatch replaces the row of Version w.Version (0: none yet) and raises the version; any other version is
	// ErrConflict. ErrNotFound: the wallet is not connected.
	PutWatch(w wallet.Watch) error
	// DropWatch removes a row, also a damaged one, so that the wallet is watched again; without one it does nothing. Stakes
	// and folded payments stay.
	DropWatch(wallet.Address) error
	// WatchedStakes returns what is known of the stakes of a connected wallet; ErrNotFound: it has none, or they were never
	// read.
	WatchedStakes(wallet.Address) (wallet.WatchedStakes, error)
	// PutWatchedStakes replaces the row of Version s.Version, as PutWatch does.
	PutWatchedStakes(s wallet.WatchedStakes) error
	// DropWatchedStakes removes a row, also a damaged one; without one it does nothing.
	DropWatchedStakes(wallet.Address) error
	// Folded counts the incoming payments of a connected wallet that nobody was notified of one by one, since the last
	// summary of them.
	Folded(wallet.Address) (uint64, error)
	// PutFolded replaces that count, also a damaged one. It is read and replaced in one Update, so it needs no version.
	// ErrNotFound: the wallet is not connected.
	PutFolded(at wallet.Address, count uint64) error
}

// WatchOrder is why a wallet is looked at, the body of a job of the queue WalletScans. It only saves a call: a look without
// it, or with an old one, reads the balances itself.
type WatchOrder struct {
	// Found are the balances of a sweep that saw one of them moved.
	Found []wallet.WatchedAccount `json:"found,omitempty"`
}

// OrderWatch puts the job that looks at a wallet, unless one that is as urgent waits or is in flight: a look reads whatever
// there is.
// Anything that learns that a wallet may have moved may call it.
func OrderWatch(tx Tx, w wallet.Wallet, o WatchOrder, priority Priority, now time.Time) error {
	id := JobID(w.Address.String())
	switch job, err := tx.Job(WalletScans, id); {
	case err == nil && job.Priority <= priority:
		return nil
	case err == nil: // it is more urgent now
	case errors.Is(err, ErrDamaged):
		if err := tx.RemoveJobs(WalletScans, id); err != nil {
			return err
		}
	case !errors.Is(err, ErrNotFound):
		return err
	}
	body, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("order a look at %s: %w", w.Address, err)
	}
	_, err = tx.PutJobs([]Job{{ID: id, Queue: WalletScans, Owner: fairnessOf(w), Priority: priority, At: now, About: w.Owner, Body: body}}, nil)
	return err
}

// WatchOrderOf reads the order of a job of the queue WalletScans, and the wallet's address.
func WatchOrderOf(j Job) (o WatchOrder, at wallet.Address, err error) {
	if at, err = wallet.ParseAddress(string(j.ID)); err != nil {
		return o, at, fmt.Errorf("read the order of a look: %w", err)
	}
	if err = json.Unmarshal(j.Body, &o); err != nil {
		err = fmt.Errorf("read the order of a look: %w", err)
	}
	return o, at, err
}

// SummaryEvery is the least time between two summaries of the payments that a person was not notified of one by one.
const SummaryEvery = time.Hour

// OrderSummary puts the job, in the queue FoldedSummaries, that sums up a person's folded payments SummaryEvery from now,
// unless one waits already. Its ID is the person's.
func OrderSummary(tx Tx, who wallet.UserID, now time.Time) error {
	id := JobID(who)
	if waits, err := hasJob(tx, FoldedSummaries, id); err != nil || waits {
		return err
	}
	_, err := tx.PutJobs([]Job{{ID: id, Queue: FoldedSummaries, Owner: string(who), Priority: JobNormal, At: now, NotBefore: now.Add(SummaryEvery), About: who}}, nil)
	return err
}

// OrderStakeCheck puts the job, in the queue StakeChecks, that reads the stakes of a wallet, in the place of one that waits. Its
// ID is the address. now is the time of the change that it has to see. Before the first scan of a wallet it does nothing: that
// scan orders it.
func OrderStakeCheck(tx Tx, w wallet.Wallet, now time.Time) error {
	switch _, err := tx.Watch(w.Address); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil && !errors.Is(err, ErrDamaged):
		return err
	}
	_, err := tx.PutJobs([]Job{{ID: JobID(w.Address.String()), Queue: StakeChecks, Owner: fairnessOf(w), Priority: JobBackground, At: now, About: w.Owner}}, nil)
	return err
}

// HasStakeCheck reports whether the stakes of a wallet are read from time to time.
func HasStakeCheck(tx Tx, at wallet.Address) (bool, error) {
	return hasJob(tx, StakeChecks, JobID(at.String()))
}

// fairnessOf is the owner of jobs about a wallet: the person, or the API key that connected it.
func fairnessOf(w wallet.Wallet) string {
	if w.Owner == "" {
		return w.KeyLineage
	}
	return string(w.Owner)
}

// NotifyOwner puts the job that notifies a person of an internal event, and keeps nothing of the event once it is done. The
// caller makes sure that the event happens once, since no later one with its ID is known to be the same.
func NotifyOwner(tx Tx, e wallet.Event) error {
	head, err := EventHead(e)
	if err != nil {
		return err
	}
	who := string(e.User)
	_, err = tx.PutJobs([]Job{{ID: JobID(e.ID), Queue: Events, Key: who, Owner: who, About: e.User, At: e.At, Body: EventBody(head, e)}}, nil)
	return err
}

// PaymentsKnown is how many of a person's newest payments are searched for known recipients.
const PaymentsKnown = 500

// KnownTo lists the addresses that a person has chosen to deal with: contacts, own wallets, and recipients of their own
// payments. Senders are deliberately left out. In an address poisoning attack, a tiny payment from a similar address is
// planted in the victim's history so that the victim copies it.
func KnownTo(tx Tx, who wallet.UserID) ([]wallet.Address, error) {
	known, err := tx.Recipients(who, PaymentsKnown)
	if err != nil {
		return nil, err
	}
	own, err := tx.WalletsOf(who)
	if err != nil {
		return nil, err
	}
	for _, w := range own {
		known = append(known, w.Address)
	}
	book, err := tx.ContactsOf(who)
	if err != nil {
		return nil, err
	}
	for _, contact := range book {
		known = append(known, contact.Address)
	}
	return known, nil
}
