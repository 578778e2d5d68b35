package records

import (
	"bytes"
	"errors"

	"purser/store"
	"purser/store/engine"
)

// replyRow is the plain part of a reply; chat, card and body are sealed.
type replyRow struct {
	store.Reply
	Waits []byte `json:"waits,omitempty"` // its key in waiting; empty without a card
}

func (t *tx) Enqueue(replies []store.Reply) error {
	for _, r := range replies {
		if err := t.enqueue(r); err != nil {
			return err
		}
	}
	if len(replies) > 0 {
		t.signal(store.Outbox)
	}
	return nil
}

func (t *tx) waitsKey(chat int64, card string) []byte {
	where := t.chatHash(chat)
	hash := t.store.lookup.Text(store.ByCard, string(where[:]), card)
	return hash[:]
}

func (t *tx) Waits(chat int64, card string) (bool, error) {
	return card != "" && t.get(waiting, t.waitsKey(chat, card)) != nil, nil
}

func (t *tx) enqueue(reply store.Reply) error {
	var waits, key []byte
	if reply.Card != "" {
		waits = t.waitsKey(reply.Chat, reply.Card)
		key = bytes.Clone(t.get(waiting, waits))
	}
	if _, err := keyNumber(key); key != nil && err != nil {
		t.skipDamaged(waiting, waits, err)
		key = nil
	}
	if key != nil { // it takes the place of the one that waits
		switch err := t.removeReply(key); {
		case errors.Is(err, store.ErrDamaged):
			t.skipDamaged(outbox, key, err)
			key = nil // that place is taken for good
		case err != nil:
			return err
		}
	}
	if key == nil {
		number, err := t.next(outbox)
		if err != nil {
			return err
		}
		key = numberKey(number)
	}
	var err error
	if reply.Seq, err = keyNumber(key); err != nil {
		return err
	}
	who, err := identity{Chat: reply.Chat, Subject: reply.Card}.field()
	if err != nil {
		return err
	}
	r := replyRow{Reply: reply, Waits: waits}
	r.Chat, r.Card, r.Body = 0, "", nil
	raw, err := t.seal(outbox, key, t.chatOwner(reply.Chat), r, who, field{"body", reply.Body})
	if err != nil {
		return err
	}
	if waits != nil {
		if err := t.put(waiting, waits, key); err != nil {
			return err
		}
	}
	if err := t.expire(replyOver, reply.NotAfter, key); err != nil {
		return err
	}
	return t.putRow(outbox, key, raw)
}

func (t *tx) openReply(key, raw []byte) (store.Reply, error) {
	var r replyRow
	sealed, err := t.unseal(outbox, key, raw, &r, "identity", "body")
	if err != nil {
		return store.Reply{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return store.Reply{}, err
	}
	r.Chat, r.Card, r.Body = who.Chat, who.Subject, sealed[1]
	return r.Reply, nil
}

func (t *tx) Replies(after uint64, limit int) ([]store.Reply, error) {
	if after == ^uint64(0) {
		return nil, nil
	}
	var out []store.Reply
	for key, raw := range t.scan(outbox, engine.Range{From: numberKey(after + 1)}) {
		if len(out) >= limit {
			break
		}
		r, err := t.openReply(key, raw)
		if erased(err) {
			continue
		}
		if err != nil {
			t.skipDamaged(outbox, key, err)
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

func (t *tx) DoneReply(done store.Reply) error {
	key := numberKey(done.Seq)
	raw := t.get(outbox, key)
	if raw == nil {
		return nil
	}
	r, err := t.openReply(key, raw)
	if err != nil {
		return err
	}
	if !bytes.Equal(r.Body, done.Body) {
		return nil
	}
	return t.removeReply(key)
}

// removeReply removes a reply and its indexes; without one it does nothing.
func (t *tx) removeReply(key []byte) error {
	raw := t.get(outbox, key)
	if raw == nil {
		return nil
	}
	r, _, err := plainOf[replyRow](t, outbox, key, raw)
	if err != nil {
		return err
	}
	if len(r.Waits) > 0 {
		if err := t.delete(waiting, r.Waits); err != nil {
			return err
		}
	}
	if err := t.unexpire(replyOver, r.NotAfter, key); err != nil {
		return err
	}
	return t.delete(outbox, key)
}
