// Package notify knows which event becomes which chat message: a Notifier handles the jobs of the queue store.Events. It refuses to know how a message is
// worded (see chat), how it is sent (see bot), and who else hears of an event.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// tries is how often an event may fail to be told before it is a dead letter: one that cannot be rendered must not hold
// up those of the same person that come after it.
const tries = 3

// How events are handled: how many at once, how many of one person, and for how long they are this node's.
const (
	width    = 16 // where Notifier.Width does not say otherwise
	perOwner = 1
	lease    = time.Minute
)

// Talker is what notify needs of chat: each writes messages into the transaction that it is given.
type Talker interface {
	ShowTransaction(store.Tx, wallet.Transaction) error
	TellReceived(store.Tx, wallet.Transaction) error
	AskWhichWallet(store.Tx, wallet.UserID) error
	TellClaimed(store.Tx, wallet.UserID, wallet.Address) error
	TellMoved(store.Tx, wallet.UserID, wallet.Address) error
	OfferLink(tx store.Tx, person wallet.UserID, keyID string) error
	TellWebhook(store.Tx, wallet.UserID, wallet.WebhookTroubleData) error
	TellWish(store.Tx, wallet.UserID, wallet.AppWishedData) error
	TellTier(store.Tx, wallet.UserID, wallet.KeyTierSetData) error
}

// Notifier turns events into chat messages.
type Notifier struct {
	Store store.Store
	Chat  Talker
	Node  string // see work.Pool
	Width int    // how many events are handled at once; 0: a sensible number
	Now   func() time.Time
	Log   *slog.Logger
}

// Run handles the queue of events until ctx ends: each event's messages, its conversation's step and its end in the queue
// become true in one transaction, so that nothing is told twice or never. Events of one person keep their order. Its error
// is the store's, after which nothing is certain.
func (n *Notifier) Run(ctx context.Context) error {
	pool := &work.Pool{Store: n.Store, Queue: store.Events, Node: n.Node, Width: cmp.Or(n.Width, width), PerOwner: perOwner, Lease: lease,
		Schedule: work.Schedule{First: 100 * time.Millisecond, Most: time.Second, Failures: tries}, Handle: n.handle, Now: n.Now, Log: n.Log}
	return pool.Run(ctx)
}

// handle tells one event. There is nothing to be done but to write, so all of it is the commit.
func (n *Notifier) handle(_ context.Context, job store.Job) (work.Result, error) {
	event, err := store.EventOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	return work.Result{Commit: func(tx store.Tx) error { return n.tell(tx, event) }}, nil
}

// tell writes an event's messages. What is shown is the state that the store holds now: an event
// that comes late redraws the same card once more, and says nothing that is no longer true.
func (n *Notifier) tell(tx store.Tx, event wallet.Event) error {
	if event.User == "" {
		return nil
	}
	user, err := tx.User(event.User)
	switch {
	case errors.Is(err, store.ErrNotFound): // erased meanwhile
		return nil
	case err != nil:
		return err
	case user.Unreachable: // the card is drawn again when they ask for something
		return nil
	}
	switch event.Name {
	case wallet.TransactionProposed, wallet.TransactionApproved, wallet.TransactionSigned,
		wallet.TransactionPending, wallet.TransactionConfirmed, wallet.TransactionFailed,
		wallet.TransactionHeld, wallet.TransactionRolledBack, wallet.TransactionClosed:
		return n.about(tx, event, n.Chat.ShowTransaction)
	case wallet.TransactionReceived:
		if !user.Wants(string(event.Name)) {
			return nil
		}
		return n.about(tx, event, n.Chat.TellReceived)
	case wallet.WalletProven:
		return n.Chat.AskWhichWallet(tx, event.User)
	case wallet.WalletWanted:
		var data wallet.WalletWantedData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return n.Chat.OfferLink(tx, event.User, data.KeyID)
	case wallet.WalletClaimed:
		var data wallet.WalletClaimedData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return n.Chat.TellClaimed(tx, event.User, data.WalletAddress)
	case wallet.WebhookDeadLettered, wallet.WebhookEnded:
		var data wallet.WebhookTroubleData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return n.Chat.TellWebhook(tx, event.User, data)
	case wallet.KeyTierSet:
		var data wallet.KeyTierSetData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return n.Chat.TellTier(tx, event.User, data)
	case wallet.AppWished:
		var data wallet.AppWishedData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return n.Chat.TellWish(tx, event.User, data)
	case wallet.WalletDisconnected:
		var data wallet.WalletDisconnectedData
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		if data.Reason == wallet.MovedToAnother { // else they were told when they did it
			return n.Chat.TellMoved(tx, event.User, data.WalletAddress)
		}
	}
	// The rest was told when it happened (wallet.connected, user.registered), shows nowhere
	// (finalized), or belongs to a later version.
	return nil
}

func (n *Notifier) about(tx store.Tx, event wallet.Event, show func(store.Tx, wallet.Transaction) error) error {
	t, err := tx.Transaction(event.Transaction)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return show(tx, t)
}
