package bolt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store"
	"purser/wallet"
)

// migration brings a file from one schema to the next. It may use the store's keys.
type migration func(*Store, *bbolt.Tx) error

// migrations lists the steps from schema 1 on: the first leads from 1 to 2. The newest schema is
// one more than there are steps. A step is never changed once released; testdata/ holds a file of
// each schema, which every later purser must open.
func migrations() []migration { return []migration{addressBook, programs, receivers, apart, tagRows} }

// addressBook leads to schema 2: contacts, and an index of whom somebody has paid.
func addressBook(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{paidBy, contacts} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	cursor := t.bucket(transactions).Cursor()
	for key, raw := cursor.First(); key != nil; key, raw = cursor.Next() {
		x, _, err := plainOf[transactionIndex](t, transactions, key, raw)
		if err != nil {
			return err
		}
		if !x.reached() {
			continue
		}
		if err := t.put(paidBy, x.paid().key, nil); err != nil {
			return err
		}
	}
	return nil
}

// programs leads to schema 3: apps, grants, developers and counters, and an index of keys by their owner.
// What else it made is made anew by the step after it.
func programs(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{byWallet, keysOf, apps, appsOf, grants, grantsTo, developers, counters} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	if _, err := root.CreateBucket([]byte(botHooks)); err != nil {
		return err
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	all := t.bucket(keys).Cursor()
	for key, raw := all.First(); key != nil; key, raw = all.Next() {
		k, _, err := plainOf[wallet.Key](t, keys, key, raw)
		if err != nil {
			return err
		}
		if err := t.put(keysOf, join(userPrefix(k.Owner), []byte(k.ID)), nil); err != nil {
			return err
		}
	}
	return nil
}

// botHooks was the bucket of bot tokens' receivers in schema 3: key line -> row.
const botHooks = "bot_hooks"

// unsettledFrom was the bucket of schemas 1 to 3 that held what is unsettled of a wallet.
const unsettledFrom = "unsettled_from"

// receivers leads to schema 4: webhooks of all keys, of which a bot token's receiver is one, and what
// waits for them; and what is unsettled of a wallet lies beside its history.
func receivers(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{webhooks, webhooksOf, webhooksOwned, webhookHealth, announcements, deliveries, deliveriesAbout} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	if _, err := root.CreateBucket([]byte(deliveryIDs)); err != nil {
		return err
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	old := root.Bucket([]byte(botHooks)).Cursor()
	for line, raw := old.First(); line != nil; line, raw = old.Next() {
		w, err := t.botHook(line, raw)
		if err == nil {
			err = t.PutWebhook(w)
		}
		if err != nil && !erased(err) {
			return err
		}
	}
	return errors.Join(root.DeleteBucket([]byte(botHooks)), ofWallets(s, root))
}

// ofWallets makes byWallet anew as it lies since schema 4.
func ofWallets(s *Store, root *bbolt.Tx) error {
	for _, name := range []string{byWallet.String(), unsettledFrom} {
		if err := root.DeleteBucket([]byte(name)); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
			return err
		}
	}
	if _, err := root.CreateBucket([]byte(byWallet.String())); err != nil {
		return err
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	rows := t.bucket(transactions).Cursor()
	for key, raw := rows.First(); key != nil; key, raw = rows.Next() {
		x, _, err := plainOf[transactionIndex](t, transactions, key, raw)
		if err != nil {
			return err
		}
		if err := t.put(byWallet, x.concerns().key, nil); err != nil {
			return err
		}
		if x.Final {
			continue
		}
		if err := t.put(byWallet, x.held().key, nil); err != nil {
			return err
		}
	}
	return nil
}

// deliveryIDs was the bucket of schema 4 that led from the id of a delivery to its row, which lay in deliveries.
const deliveryIDs = "delivery_ids"

// apart leads to schema 5: answers and deliveries lie in the order of their time, apart from the keys that lead
// to them.
func apart(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{answerKeys, deliveryRows} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	return errors.Join(answersApart(t), deliveriesApart(t))
}

// answersApart takes damaged rows along: what such a key was for is not done again.
func answersApart(t *tx) error {
	for _, old := range t.prefixed(answers, nil) {
		a, _, err := plainOf[store.Answer](t, answers, old.key, old.value)
		if err != nil {
			a = store.Answer{} // whose note then leads to nothing
		}
		key := old.key[:min(answerKeySize, len(old.key))]
		if err := errors.Join(t.delete(answers, old.key), t.unexpire(answerOver, a.ExpiresAt, old.key), t.keepAnswer(key, a.ExpiresAt, old.value)); err != nil {
			return err
		}
	}
	return nil
}

func deliveriesApart(t *tx) error {
	ids := t.tx.Bucket([]byte(deliveryIDs)).Cursor()
	for id, key := ids.First(); id != nil; id, key = ids.Next() {
		raw := bytes.Clone(t.get(deliveries, key))
		if raw == nil {
			continue
		}
		if err := errors.Join(t.put(deliveryRows, id, raw), t.put(deliveries, key, bytes.Clone(id))); err != nil {
			return err
		}
	}
	return t.tx.DeleteBucket([]byte(deliveryIDs))
}

// tagRows leads to schema 6: each row is tagged, what a button does is sealed, people's data keys lie in a file of
// their own, and proposals that came to nothing are noted for Sweep. What was taken out of rows and pages is in free
// pages still: the file is written anew after it.
func tagRows(s *Store, root *bbolt.Tx) error {
	if _, err := root.CreateBucket([]byte(destroyedKeys.String())); err != nil {
		return err
	}
	meta := root.Bucket([]byte(metaBucket.String()))
	if err := errors.Join(s.makeKeys(meta), meta.Put([]byte(metaTight), []byte{1})); err != nil {
		return err
	}
	t := &tx{group: newGroup(root), store: s, older: true}
	for _, e := range t.prefixed(buttons, nil) {
		if err := t.sealAction(e); err != nil {
			return err
		}
	}
	for b := range bucketCount {
		if !b.holdsRows() {
			continue
		}
		for _, e := range t.prefixed(b, nil) {
			r, err := t.row(b, e.key, e.value)
			if err != nil || e.value[0] != untagged { // damaged, or written by a step before this one
				continue
			}
			if err := t.putRow(b, e.key, r.encode()); err != nil {
				return err
			}
		}
	}
	return errors.Join(t.noteProposals(), t.moveKeys())
}

// sealAction seals what a button does. One that cannot be read does nothing any more, and goes: what it was for would
// stay readable.
func (t *tx) sealAction(e entry) error {
	old, _, err := plainOf[buttonRow](t, buttons, e.key, e.value)
	if err != nil {
		return t.delete(buttons, e.key)
	}
	b, err := t.Button(string(e.key))
	if err != nil {
		return errors.Join(t.delete(buttonsOf, join(old.Of, e.key)), t.unexpire(buttonOver, old.ExpiresAt, e.key), t.delete(buttons, e.key))
	}
	b.Action = old.Action
	return t.putButton(b)
}

// moveKeys moves people's data keys into their file.
func (t *tx) moveKeys() error {
	var moved []newKey
	for _, e := range t.prefixed(dataKeys, nil) {
		if len(e.value) != wrappedSize { // destroyed, or damaged
			continue
		}
		ref, err := t.store.keyFile.reserve(t.store.random)
		if err != nil {
			return err
		}
		moved = append(moved, newKey{ref, e.value})
		if err := t.put(dataKeys, e.key, ref.encode()); err != nil {
			return err
		}
	}
	return t.store.keyFile.write(moved)
}

// botHook reads a row of schema 3: its id, events and time lay as they do in a wallet.Webhook.
func (t *tx) botHook(line, raw []byte) (wallet.Webhook, error) {
	var w wallet.Webhook
	r, err := t.store.row(botHooks, line, raw, true)
	if err != nil {
		return w, err
	}
	sealed, err := t.unsealAs(botHooks, line, r, &w, "words")
	if err != nil {
		return w, err
	}
	var words webhookWords
	if err := json.Unmarshal(sealed[0], &words); err != nil {
		return w, fmt.Errorf("%s: %w: %v", botHooks, ErrDamaged, err)
	}
	w.URL, w.Secret = words.URL, words.Secret
	w.Kind, w.Lineage, w.Owner, w.Active, w.UpdatedAt = wallet.BotKey, string(line), r.owner, true, w.CreatedAt
	return w, nil
}

// migrate takes the steps that a file of an older schema misses, all in the one transaction that
// opens it: a failed upgrade leaves the old file as it was.
func (s *Store) migrate(root *bbolt.Tx, schema uint64, steps []migration) error {
	if schema == 0 {
		return fmt.Errorf("%w: schema 0", ErrDamaged)
	}
	for ; schema <= uint64(len(steps)); schema++ {
		if err := steps[schema-1](s, root); err != nil {
			return fmt.Errorf("upgrade from schema %d: %w", schema, err)
		}
	}
	return root.Bucket([]byte(metaBucket.String())).Put([]byte(metaSchema), numberKey(schema))
}
