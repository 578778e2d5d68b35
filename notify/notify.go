// Package notify knows which event becomes which chat message. It refuses to know how a message is
// worded (see chat), how it is sent (see bot), and who else hears of an event.
package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"purser/store"
	"purser/wallet"
)

// batch is how many events are read at once.
const batch = 100

// tries is how often an event may fail to be told before it is put aside: one that cannot be
// rendered must not hold up all that come after it.
const tries = 3

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
	Log   *slog.Logger
}

// Run empties the queue of events until ctx ends: each event's messages, its conversation's step
// and its end in the queue become true in one transaction, so that nothing is told twice or never.
// Its error is the store's, after which nothing is certain.
func (n *Notifier) Run(ctx context.Context) error {
	failed := map[string]int{} // attempts of events at the head of the queue, by id
	for {
		more, err := n.drain(ctx, failed)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-n.Store.Changed(store.Events):
		}
	}
}

// drain handles one batch, and tells whether there may be more to do at once.
func (n *Notifier) drain(ctx context.Context, failed map[string]int) (more bool, err error) {
	var events []wallet.Event
	err = n.Store.View(ctx, func(tx store.Tx) error {
		var err error
		events, err = tx.PendingEvents(batch)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("read pending events: %w", err)
	}
	for _, event := range events {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := n.handle(ctx, event, failed); err != nil {
			return false, err
		}
	}
	return len(events) > 0, nil
}

// handle tells one event, until it is told or put aside. Events of one person keep their order,
// so the next one waits meanwhile.
func (n *Notifier) handle(ctx context.Context, event wallet.Event, failed map[string]int) error {
	for {
		err := n.Store.Update(ctx, func(tx store.Tx) error {
			if err := n.tell(tx, event); err != nil {
				return &untold{err}
			}
			return done(tx, event.ID)
		})
		var why *untold
		switch {
		case err == nil:
			delete(failed, event.ID)
			return nil
		case !errors.As(err, &why) || errors.Is(err, store.ErrUnknownOutcome):
			return fmt.Errorf("settle event %s: %w", event.ID, err)
		}
		if failed[event.ID]++; failed[event.ID] < tries {
			continue
		}
		n.Log.ErrorContext(ctx, "event put aside: it cannot be told in chat",
			"event", event.Name, "id", event.ID, "error", why.err)
		delete(failed, event.ID)
		err = n.Store.Update(ctx, func(tx store.Tx) error { return done(tx, event.ID) })
		if err != nil {
			return fmt.Errorf("put event %s aside: %w", event.ID, err)
		}
		return nil
	}
}

// untold marks an error of telling, which concerns one event only, apart from one of the store.
type untold struct{ err error }

func (u *untold) Error() string { return u.err.Error() }
func (u *untold) Unwrap() error { return u.err }

// done takes an event out of the queue; one that is gone already is as good.
func done(tx store.Tx, id string) error {
	if err := tx.DoneEvent(id); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
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
