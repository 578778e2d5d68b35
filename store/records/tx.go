package records

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// tx is the store.Tx of one closure: it translates the domain's verbs into rows and index entries of an engine.Tx.
// One goroutine uses it, and it must not be used after the closure has returned.
//
// What an Update changes in memory waits in the tx until the commit: news, destroyed, emitted, relayed and touchedAccess. Store.Update
// applies them after a successful commit. If the closure runs again, it gets a new tx.
type tx struct {
	in    engine.Tx
	store *Store

	owner wallet.UserID // whose data key was opened last
	key   *store.Key    // that data key; nil: none was opened yet. Most transactions are about one person

	scratch [128]byte // memory for the key of one call (copied)

	news []store.Queue // queues to signal after the commit, each once

	queues []*jobQueue    // opened by this transaction, or by those before it that share its commit
	few    [3]*jobQueue   // memory for the first three queues
	some   [3]store.Queue // memory for the first three of news

	erased    []store.Ref // claims of jobs that this Update removed with their person, without IDs (wasErased)
	destroyed []secretID  // data keys that the commit destroys; the keyring forgets them after it

	emitted []numberedEvent // outbox events of this Update: the store keeps them in memory after the commit
	relayed []uint64        // outbox events that this Update removed

	touchedAccess bool   // a key, a webhook, an app or a grant changed: the commit raises AccessVersion
	accessVersion uint64 // to which it is raised; 0: it is not
}

var _ store.Tx = (*tx)(nil)

// get returns the value of a key, nil without one. The value belongs to the engine: it must not be changed, and lives
// as long as the transaction.
func (t *tx) get(b table, key []byte) []byte {
	return t.in.Get(engine.Table(b), t.copied(key))
}

// copied copies a key into memory of the transaction, valid until the next call. Why: a slice that is passed to an
// interface method moves to the heap. Callers make most keys on the stack, and the copy leaves them there.
func (t *tx) copied(key []byte) []byte { return append(t.scratch[:0], key...) }

// put creates or replaces a value, which must not be changed before the commit. It fails in a View.
func (t *tx) put(b table, key, value []byte) error {
	if err := t.in.Put(engine.Table(b), t.copied(key), value); err != nil {
		return fmt.Errorf("write to %s: %w", b, err)
	}
	return nil
}

// delete removes a key; without it, it does nothing.
func (t *tx) delete(b table, key []byte) error {
	if err := t.in.Delete(engine.Table(b), t.copied(key)); err != nil {
		return fmt.Errorf("delete from %s: %w", b, err)
	}
	return nil
}

// scan walks a range of a table, in byte order. Nothing may be written to the table during the walk. prefixed copies
// the entries for callers that write.
func (t *tx) scan(b table, r engine.Range) iter.Seq2[[]byte, []byte] {
	return t.in.Scan(engine.Table(b), r)
}

// all is the range of a whole table.
func all() engine.Range { return engine.Range{} }

// first returns the first entry of a range, nil if it is empty.
func (t *tx) first(b table, r engine.Range) (key, value []byte) {
	return t.in.First(engine.Table(b), r)
}

// last returns the last entry under a prefix, nil without one.
func (t *tx) last(b table, prefix []byte) (key, value []byte) {
	r := engine.Prefix(prefix)
	r.Backward = true
	return t.first(b, r)
}

// firstUnder returns the first entry under a prefix, nil without one. It serves the hot path: unlike first it needs
// no end of the range, and so allocates nothing.
func (t *tx) firstUnder(b table, prefix []byte) (key, value []byte) {
	key, value = t.in.First(engine.Table(b), engine.Range{From: t.copied(prefix)})
	if !bytes.HasPrefix(key, prefix) {
		return nil, nil
	}
	return key, value
}

// isEmpty tells whether a table has no entry.
func (t *tx) isEmpty(b table) bool {
	key, _ := t.first(b, all())
	return key == nil
}

// next draws the table's next number. It is larger than every number drawn before.
func (t *tx) next(b table) (uint64, error) { return t.in.Next(engine.Table(b)) }

// signal makes the commit wake the workers of a queue. If the transaction is rolled back, nobody is woken.
func (t *tx) signal(queue store.Queue) {
	if t.news == nil {
		t.news = t.some[:0]
	}
	if !slices.Contains(t.news, queue) {
		t.news = append(t.news, queue)
	}
}

// entry is a key and its value, both copied: it stays valid when the table changes.
type entry struct{ key, value []byte }

// prefixed lists copies of all entries whose keys begin with prefix, so that the caller may change the table while it
// walks them.
func (t *tx) prefixed(b table, prefix []byte) []entry { return t.firstOf(b, prefix, math.MaxInt) }

// firstOf lists copies of the first `limit` entries whose keys begin with prefix.
func (t *tx) firstOf(b table, prefix []byte, limit int) []entry {
	var out []entry
	if limit <= 0 {
		return nil
	}
	for key, value := range t.scan(b, engine.Prefix(prefix)) {
		if out = append(out, entry{bytes.Clone(key), bytes.Clone(value)}); len(out) == limit {
			break
		}
	}
	return out
}

// dataKey opens a user's data key, or the system's for "". ErrNotFound: the user never had one, or it was destroyed.
// A commit after this transaction's snapshot may have destroyed it too.
func (t *tx) dataKey(owner wallet.UserID) (*store.Key, error) {
	if owner == "" {
		return t.store.system, nil
	}
	if t.key != nil && t.owner == owner {
		return t.key, nil
	}
	// The database says which secret the person has now. Only its unwrapping is cached.
	name, state := t.in.SecretOf(string(owner))
	if state != engine.Kept {
		return nil, store.ErrNotFound
	}
	key, err := t.store.dataKeys.unwrap(string(owner), name, func() ([]byte, error) {
		wrapped, err := t.in.Secret(name)
		if errors.Is(err, engine.ErrDestroyed) { // since the snapshot of this transaction
			return nil, store.ErrNotFound
		}
		return wrapped, err
	})
	if err != nil {
		return nil, fmt.Errorf("data key: %w", err)
	}
	t.owner, t.key = owner, key
	return key, nil
}

// isErased tells whether a user had a data key that was destroyed. Nothing new may be stored about them.
func (t *tx) isErased(owner wallet.UserID) bool {
	if owner == "" {
		return false
	}
	_, state := t.in.SecretOf(string(owner))
	return state == engine.Destroyed
}

// makeDataKey gives a new user a data key of 32 random bytes, wrapped by the master key. The engine makes it durable
// before the commit of the rows that it seals. After a crash in between, a key without rows is left, and no row
// without a key.
func (t *tx) makeDataKey(owner wallet.UserID) error {
	secret, wrapped, err := t.store.master.NewSecret(string(owner))
	if err != nil {
		return err
	}
	if err := t.in.PutSecret(string(owner), wrapped); err != nil {
		return err
	}
	key, err := store.NewKey(secret, t.store.random)
	if err == nil {
		t.owner, t.key = owner, key
	}
	return err
}

// personBy returns the user of a Telegram id's hash, "" for a stranger. A private chat has the id of its person, so
// this also finds the owner of a private chat.
func (t *tx) personBy(telegram store.Hash) wallet.UserID {
	return wallet.UserID(t.get(telegrams, telegram[:]))
}

// telegramHash is the keyed hash of a person's Telegram id.
func (t *tx) telegramHash(id int64) store.Hash { return t.store.lookup.Number(store.ByTelegram, id) }

// chatHash is the keyed hash of a chat's Telegram id. It differs from the telegramHash of the same number.
func (t *tx) chatHash(id int64) store.Hash { return t.store.lookup.Number(store.ByChat, id) }

// erased tells whether an error says that a row belongs to an erased user. Lists skip such a row without a report.
func erased(err error) bool { return errors.Is(err, store.ErrNotFound) }
