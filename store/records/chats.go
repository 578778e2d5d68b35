package records

import (
	"errors"
	"time"

	"purser/store"
)

// conversationKey is the key of a conversation: person, chat, slot. It begins with the person's hash, so that all
// conversations of a person lie together for EraseUser. Both hashes have 32 bytes. The slot comes last, since its
// length varies.
func (t *tx) conversationKey(chat, user int64, slot string) []byte {
	who, where := t.telegramHash(user), t.chatHash(chat)
	return join(who[:], where[:], []byte(slot))
}

// Conversation returns version 0 for a conversation that does not exist, and for one of an erased person. Its
// time-out is a job of its own (SaveConversation): the row does not end when ExpiresAt has passed.
func (t *tx) Conversation(chat, user int64, slot string) (store.Conversation, error) {
	key := t.conversationKey(chat, user, slot)
	raw := t.get(conversations, key)
	if raw == nil {
		return store.Conversation{Chat: chat, User: user, Slot: slot}, nil
	}
	c, err := t.openConversation(key, raw)
	switch {
	case erased(err):
		return store.Conversation{Chat: chat, User: user, Slot: slot}, nil
	case errors.Is(err, store.ErrDamaged):
		t.skipDamaged(conversations, key, err)
		return store.Conversation{Chat: chat, User: user, Slot: slot, Version: versionAfterDamage}, nil
	}
	return c, err
}

// versionAfterDamage is the version of a conversation whose row is damaged. Such a conversation reads as ended, so
// that its person can go on using the bot. The number is higher than any version that was stored before, so a step
// that was made against the old row is a conflict.
const versionAfterDamage = 1 << 32

// openConversation reads a row: chat and person from its sealed identity, the rest from its plain part.
func (t *tx) openConversation(key, raw []byte) (store.Conversation, error) {
	var c store.Conversation
	sealed, err := t.unseal(conversations, key, raw, &c, "identity", "data")
	if err != nil {
		return store.Conversation{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return store.Conversation{}, err
	}
	c.Chat, c.User, c.Data = who.Chat, who.User, sealed[1]
	return c, nil
}

// PutConversation compares versions and writes. A conversation that ends (State "") keeps a row with only its
// version: a step that was decided before the end and arrives after it is then still a conflict.
func (t *tx) PutConversation(c store.Conversation) error {
	key := t.conversationKey(c.Chat, c.User, c.Slot)
	// The stored version: 0 without a row.
	var old store.Conversation
	if raw := t.get(conversations, key); raw != nil {
		var err error
		old, _, err = plainOf[store.Conversation](t, conversations, key, raw)
		switch {
		case errors.Is(err, store.ErrDamaged):
			old.Version = versionAfterDamage
		case err != nil:
			return err
		}
	}
	// Compare, then write the next version.
	if old.Version != c.Version {
		return store.ErrConflict
	}
	// An end removes everything that the person typed.
	if c.State == "" {
		c = store.Conversation{Chat: c.Chat, User: c.User, Slot: c.Slot, Version: c.Version}
	}
	who, err := identity{Chat: c.Chat, User: c.User}.field()
	if err != nil {
		return err
	}
	// The stored version is one higher than the one that the caller read.
	plain := c
	plain.Chat, plain.User, plain.Data = 0, 0, nil
	plain.Version++
	raw, err := t.seal(conversations, key, t.personBy(t.telegramHash(c.User)), plain, who, field{"data", c.Data})
	if err != nil {
		return err
	}
	return t.putRow(conversations, key, raw)
}

// buttonsOfPrefix is the length of a key in buttonsOf before the nonce, in bytes: two hashes.
const buttonsOfPrefix = 64

// buttonRow is the plain part of a button. Chat, person, subject and action are sealed.
type buttonRow struct {
	store.Button
	Of []byte `json:"of"` // its prefix in buttonsOf: with it the index entry is found without unsealing
}

// buttonsOf is the prefix in buttonsOf of the buttons that belong together: same person, chat and subject. It is two
// hashes of 32 bytes, and begins with the person's, so that EraseUser finds all buttons of a person.
func (t *tx) buttonsOf(chat, user int64, subject string) []byte {
	who := t.telegramHash(user)
	where := t.chatHash(chat)
	what := t.store.lookup.Text(store.BySubject, string(where[:]), subject)
	return join(who[:], what[:])
}

// Button finds a button by its nonce, also one that has expired or was used: its caller checks both, and that chat
// and person are those of the tap. ErrNotFound: the nonce is unknown, or Sweep has removed the button.
func (t *tx) Button(nonce string) (store.Button, error) {
	raw := t.get(buttons, []byte(nonce))
	if raw == nil {
		return store.Button{}, store.ErrNotFound
	}
	var r buttonRow
	sealed, err := t.unseal(buttons, []byte(nonce), raw, &r, "identity")
	if err != nil {
		return store.Button{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return store.Button{}, err
	}
	r.Chat, r.User, r.Subject, r.Action = who.Chat, who.User, who.Subject, who.Action
	return r.Button, nil
}

// PutButtons stores the buttons of one message.
func (t *tx) PutButtons(list []store.Button) error {
	for _, b := range list {
		if err := t.putButton(b); err != nil {
			return err
		}
	}
	return nil
}

// putButton replaces a button of the same nonce, with its index entry and its note for Sweep.
func (t *tx) putButton(b store.Button) error {
	if err := checkID(b.Nonce); err != nil {
		return err
	}
	key := []byte(b.Nonce)
	if err := t.removeButton(key); err != nil {
		return err
	}
	who, err := identity{Chat: b.Chat, User: b.User, Subject: b.Subject, Action: b.Action}.field()
	if err != nil {
		return err
	}
	// Chat, person, subject and action are sealed; what is left is plain.
	r := buttonRow{Button: b, Of: t.buttonsOf(b.Chat, b.User, b.Subject)}
	r.Chat, r.User, r.Subject, r.Action = 0, 0, "", ""
	raw, err := t.seal(buttons, key, t.personBy(t.telegramHash(b.User)), r, who)
	if err != nil {
		return err
	}
	if err := t.put(buttonsOf, join(r.Of, key), nil); err != nil {
		return err
	}
	if err := t.expire(buttonOver, b.ExpiresAt, key); err != nil {
		return err
	}
	return t.putRow(buttons, key, raw)
}

// removeButton removes a button, its index entry and its note; without one it does nothing. A damaged button is removed
// too, so that it does not keep its person from being erased. Its index entry and its note lead to nothing then.
func (t *tx) removeButton(key []byte) error {
	raw := t.get(buttons, key)
	if raw == nil {
		return nil
	}
	if r, _, err := plainOf[buttonRow](t, buttons, key, raw); err == nil {
		if err := errors.Join(t.delete(buttonsOf, join(r.Of, key)), t.unexpire(buttonOver, r.ExpiresAt, key)); err != nil {
			return err
		}
	}
	return t.delete(buttons, key)
}

// UseButtons writes the time of use into the plain part of each row, so it decrypts nothing. It marks all buttons of
// the subject at once: after a tap on Confirm, a tap on Cancel comes too late.
func (t *tx) UseButtons(chat, user int64, subject string, now time.Time) error {
	prefix := t.buttonsOf(chat, user, subject)
	for _, e := range t.prefixed(buttonsOf, prefix) {
		key := e.key[len(prefix):]
		raw := t.get(buttons, key)
		if raw == nil { // the row was damaged and is gone
			if err := t.delete(buttonsOf, e.key); err != nil {
				return err
			}
			continue
		}
		b, r, err := plainOf[buttonRow](t, buttons, key, raw)
		if errors.Is(err, store.ErrDamaged) { // Button fails for it too, so no tap on it counts
			t.skipDamaged(buttons, key, err)
			continue
		}
		if err != nil {
			return err
		}
		if !b.UsedAt.IsZero() {
			continue // the first use is the one that counts
		}
		b.UsedAt = now
		if err := t.rewrite(buttons, key, r, b); err != nil {
			return err
		}
	}
	return nil
}

// cardKey is the key of a card: chat, card. It begins with the chat's hash, so that all cards of a chat lie together
// for EraseUser.
func (t *tx) cardKey(chat int64, card string) []byte {
	where, what := t.chatHash(chat), t.store.lookup.Text(store.ByCard, card)
	return join(where[:], what[:])
}

// Card reads a message id. A card is not a row (row.go): it has no tag and no sealed field, since it holds two
// numbers and nothing about a person. ErrNotFound: the subject has no message yet.
func (t *tx) Card(chat int64, card string) (messageID int, err error) {
	raw := t.get(cards, t.cardKey(chat, card))
	if raw == nil {
		return 0, store.ErrNotFound
	}
	messageID, _, err = readCard(raw)
	return messageID, err
}

// readCard reads a card: 8 bytes of message id, then, if the card ever expires, the time when it does.
func readCard(raw []byte) (messageID int, until time.Time, err error) {
	const numberSize = 8
	if len(raw) > numberSize {
		if until, err = keyTime(raw[numberSize:]); err != nil {
			return 0, until, err
		}
		raw = raw[:numberSize]
	}
	n, err := keyNumber(raw)
	return int(n), until, err
}

// PutCard replaces a card together with its note for Sweep.
func (t *tx) PutCard(chat int64, card string, messageID int, until time.Time) error {
	key := t.cardKey(chat, card)
	if err := t.removeCard(key); err != nil {
		return err
	}
	row := numberKey(uint64(messageID))
	if !until.IsZero() {
		row = append(row, timeKey(until)...)
	}
	return errors.Join(t.expire(cardOver, until, key), t.put(cards, key, row))
}

// removeCard removes a card and its note; without one it does nothing. A damaged card is removed too, so that another
// can take its place.
func (t *tx) removeCard(key []byte) error {
	raw := t.get(cards, key)
	if raw == nil {
		return nil
	}
	if _, until, err := readCard(raw); err == nil {
		if err := t.unexpire(cardOver, until, key); err != nil {
			return err
		}
	}
	return t.delete(cards, key)
}
