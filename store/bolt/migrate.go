package bolt

import (
	"errors"
	"fmt"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/wallet"
)

// migration brings a file from one schema to the next. It may use the store's keys.
type migration func(*Store, *bbolt.Tx) error

// migrations lists the steps from schema 1 on: the first leads from 1 to 2. The newest schema is
// one more than there are steps. A step is never changed once released; testdata/ holds a file of
// each schema, which every later purser must open.
func migrations() []migration { return []migration{addressBook, programs} }

// addressBook leads to schema 2: contacts, and an index of whom somebody has paid.
func addressBook(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{paidBy, contacts} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	t := &tx{group: newGroup(root), store: s}
	cursor := t.bucket(transactions).Cursor()
	for key, raw := cursor.First(); key != nil; key, raw = cursor.Next() {
		x, _, err := plainOf[transactionIndex](raw)
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

// programs leads to schema 3: apps, grants, developers and counters, and indexes of keys by their owner
// and of transactions by the wallet that they concern.
func programs(s *Store, root *bbolt.Tx) error {
	for _, b := range []bucket{byWallet, keysOf, apps, appsOf, grants, grantsTo, developers, botHooks, counters} {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return err
		}
	}
	t := &tx{group: newGroup(root), store: s}
	rows := t.bucket(transactions).Cursor()
	for key, raw := rows.First(); key != nil; key, raw = rows.Next() {
		x, _, err := plainOf[transactionIndex](raw)
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
	// What it held is in byWallet now.
	if err := root.DeleteBucket([]byte("unsettled_from")); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
		return err
	}
	all := t.bucket(keys).Cursor()
	for key, raw := all.First(); key != nil; key, raw = all.Next() {
		k, _, err := plainOf[wallet.Key](raw)
		if err != nil {
			return err
		}
		if err := t.put(keysOf, join(userPrefix(k.Owner), []byte(k.ID)), nil); err != nil {
			return err
		}
	}
	return nil
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
