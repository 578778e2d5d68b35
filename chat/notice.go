package chat

import (
	"encoding/json"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// notice says how a person is notified of one type of event. Its message shows the current state from the store, not the
// state at the time of the event. A late event therefore draws the same card again and never reports something outdated. A price alert is the exception: it shows the price
// and the time of its crossing.
type notice struct {
	priority int             // store.Reply.Priority of its replies: answers, confirmations, alerts or broadcasts
	category wallet.Category // by which the person turns it off; "": they cannot, or notify looks itself
	waits    bool            // in quiet hours it waits until they end, unless urgent says otherwise
	urgent   func(s *replyTx, event wallet.Event) (bool, error)
	notify   func(s *replyTx, event wallet.Event) error
}

// Notify queues the replies for an event about a person and moves their conversation where the event affects it. It
// writes only to tx, so the caller can end the event's job in the same transaction. It writes nothing for an event that
// has no notice, or that the person has turned off. In the person's quiet hours it holds an event that can wait
// (store.HoldEvent). What the person wants counts when a message is sent, so an event that they have turned off is held too.
func (c *Chat) Notify(tx store.Tx, person wallet.User, event wallet.Event) error {
	return c.notify(tx, person, event, true)
}

// NotifyHeld is Notify for events that were held. What the person has turned off since is dropped.
func (c *Chat) NotifyHeld(tx store.Tx, person wallet.User, held []wallet.Event) error {
	for _, event := range held {
		if err := c.notify(tx, person, event, false); err != nil {
			return err
		}
		var err error
		if person, err = tx.User(person.ID); err != nil { // as the event before it has left them
			return err
		}
	}
	return nil
}

// notify is Notify; hold says whether what can wait is held in quiet hours.
func (c *Chat) notify(tx store.Tx, person wallet.User, event wallet.Event, hold bool) error {
	n, ok := c.registry.notices[event.Name]
	if !ok {
		return nil
	}
	s, err := c.replyTxOf(tx, person, n.priority)
	if err != nil {
		return err
	}
	if until := person.Settings.QuietUntil(s.now); hold && n.waits && !until.IsZero() {
		urgent := false
		if n.urgent != nil {
			if urgent, err = n.urgent(s, event); err != nil {
				return err
			}
		}
		if !urgent {
			return store.HoldEvent(tx, person.ID, event, s.now, until)
		}
	}
	if n.category != "" && !person.Wants(n.category) {
		return nil
	}
	if err := n.notify(s, event); err != nil {
		return err
	}
	return s.end()
}

// withData adapts a function that takes the decoded data of an event to the type of notice.notify.
func withData[D any](notify func(*replyTx, D) error) func(*replyTx, wallet.Event) error {
	return func(s *replyTx, event wallet.Event) error {
		var data D
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return notify(s, data)
	}
}

// withTransaction adapts a function that takes the event's transaction, as the store holds it now, to the type of
// notice.notify. It does nothing if the transaction was deleted or belongs to another person.
func withTransaction(notify func(*replyTx, wallet.Transaction) error) func(*replyTx, wallet.Event) error {
	return func(s *replyTx, event wallet.Event) error {
		t, err := s.tx.Transaction(event.Transaction)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || t.Owner != s.user.ID {
			return err
		}
		return notify(s, t)
	}
}
