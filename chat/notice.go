package chat

import (
	"encoding/json"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// notice is how a person is told of one type of event. What it shows is the state that the store holds now: an event that
// comes late draws the same card once more, and says nothing that is no longer true.
type notice struct {
	priority int  // of its replies among those that wait for a chat
	optional bool // a person can turn it off (wallet.Notifications), if its name is one that they can name
	notify   func(s *replyTx, event wallet.Event) error
}

// Notify writes what a person is told of an event, and how their conversation follows it, into the transaction of its
// caller. An event that no conversation and no kind of transactions tells of writes nothing, and neither does one that
// the person has turned off.
func (c *Chat) Notify(tx store.Tx, person wallet.User, event wallet.Event) error {
	n, ok := c.registry.notices[event.Name]
	if !ok || n.optional && !person.Wants(string(event.Name)) {
		return nil
	}
	s, err := c.replyTxOf(tx, person, n.priority)
	if err != nil {
		return err
	}
	if err := n.notify(s, event); err != nil {
		return err
	}
	return s.end()
}

// withData makes a notice's function of one that takes what the event carries.
func withData[D any](notify func(*replyTx, D) error) func(*replyTx, wallet.Event) error {
	return func(s *replyTx, event wallet.Event) error {
		var data D
		if err := json.Unmarshal(event.Data, &data); err != nil {
			return fmt.Errorf("read %s: %w", event.Name, err)
		}
		return notify(s, data)
	}
}

// withTransaction makes a notice's function of one that takes the transaction that the event is about, as it is now. One
// that is gone, or another person's, is told of to nobody.
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
