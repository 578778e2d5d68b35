package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/wallet"
)

// TestOldPaymentsAreKnownAfterTheUpgrade takes a file back to schema 1, and has it upgraded.
func TestOldPaymentsAreKnownAfterTheUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	row := func(id string, kind wallet.Kind, status wallet.Status, to byte) wallet.Transaction {
		at = at.Add(time.Second)
		return wallet.Transaction{ID: wallet.TransactionID(id), Owner: "usr_a", Kind: kind, Status: status, To: wallet.Address{to}, CreatedAt: at, ConfirmedAt: at}
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 7}),
			tx.CreateTransaction(row("tx_1", wallet.Send, wallet.Confirmed, 1)),
			tx.CreateTransaction(row("tx_2", wallet.Send, wallet.Failed, 2)),
			tx.CreateTransaction(row("tx_3", wallet.Receive, wallet.Received, 3)),
			tx.CreateTransaction(row("tx_4", wallet.Send, wallet.Confirmed, 4)))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	takeBack(t, path, 1, paidBy, contacts, byWallet, keysOf, apps, appsOf, grants, grantsTo, developers, counters,
		webhooks, webhooksOf, webhooksOwned, webhookHealth, announcements, deliveries, deliveryRows, deliveriesAbout, answerKeys)
	s = openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err := s.View(t.Context(), func(tx store.Tx) error {
		paid, err := tx.Recipients("usr_a", 10)
		if want := []wallet.Address{{4}, {1}}; !slices.Equal(paid, want) {
			t.Errorf("paid %v, want %v", paid, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutContact(wallet.Contact{Owner: "usr_a", Name: "rent"}) })
}

// takeBack makes a file of an older schema of one without rows that only newer ones have.
func takeBack(t *testing.T, path string, schema uint64, newer ...bucket) {
	t.Helper()
	file, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = file.Update(func(root *bbolt.Tx) error {
		if err := untag(t, root, path+keysSuffix); err != nil {
			return err
		}
		for _, b := range newer {
			if err := root.DeleteBucket([]byte(b.String())); err != nil {
				return err
			}
		}
		return root.Bucket([]byte(metaBucket.String())).Put([]byte(metaSchema), numberKey(schema))
	})
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// untag takes a file back to schema 5: rows have no tags, and people's keys lie in the database.
func untag(t *testing.T, root *bbolt.Tx, keys string) error {
	t.Helper()
	for b := range bucketCount {
		if !b.holdsRows() {
			continue
		}
		in := root.Bucket([]byte(b.String()))
		rows := map[string][]byte{}
		if err := in.ForEach(func(key, raw []byte) error {
			rows[string(key)] = bytes.Clone(raw[:len(raw)-tagSize])
			rows[string(key)][0] = untagged
			return nil
		}); err != nil {
			return err
		}
		for key, raw := range rows {
			if err := in.Put([]byte(key), raw); err != nil {
				return err
			}
		}
	}
	file := &keyFile{}
	var err error
	if file.file, err = os.Open(keys); err != nil {
		return err
	}
	in := root.Bucket([]byte(dataKeys.String()))
	old := map[string][]byte{}
	if err := in.ForEach(func(owner, raw []byte) error {
		if ref, ok := parseKeyRef(raw); ok {
			old[string(owner)], err = file.read(ref)
		}
		return err
	}); err != nil {
		return err
	}
	for owner, wrapped := range old {
		if err := in.Put([]byte(owner), wrapped); err != nil {
			return err
		}
	}
	meta := root.Bucket([]byte(metaBucket.String()))
	return errors.Join(file.file.Close(), os.Remove(keys), root.DeleteBucket([]byte(destroyedKeys.String())), meta.Delete([]byte(metaStore)))
}

// TestOldKeysAndTransactionsAreListedAfterTheUpgrade: by owner, and by wallet.
func TestOldKeysAndTransactionsAreListedAfterTheUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	sent := wallet.Transaction{ID: "tx_1", Owner: "usr_a", Kind: wallet.Send, From: wallet.Address{1}, To: wallet.Address{2}}
	got := wallet.Transaction{ID: "tx_2", Owner: "usr_b", Kind: wallet.Receive, From: wallet.Address{1}, To: wallet.Address{2}}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.CreateTransaction(sent), tx.CreateTransaction(got),
			tx.CreateKey(wallet.Key{ID: "key_1", Owner: "usr_a"}, "one"), tx.CreateKey(wallet.Key{ID: "key_2"}, "two"))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	takeBack(t, path, 2, byWallet, keysOf, apps, appsOf, grants, grantsTo, developers, counters,
		webhooks, webhooksOf, webhooksOwned, webhookHealth, announcements, deliveries, deliveryRows, deliveriesAbout, answerKeys)
	s = openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.View(t.Context(), func(tx store.Tx) error {
		for at, want := range map[byte]wallet.TransactionID{1: "tx_1", 2: "tx_2"} {
			if all, err := tx.TransactionsAt(wallet.Address{at}, store.Page{Limit: 9}); err != nil || len(all) != 1 || all[0].ID != want {
				t.Errorf("of wallet %d: %+v, %v", at, all, err)
			}
		}
		for owner, want := range map[wallet.UserID]string{"usr_a": "key_1", "": "key_2"} {
			if all, err := tx.KeysOf(owner); err != nil || len(all) != 1 || all[0].ID != want {
				t.Errorf("of %q: %+v, %v", owner, all, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestReceiversOfBotsAreWebhooksAfterTheUpgrade: a person's, the operator's, and none of somebody erased.
func TestReceiversOfBotsAreWebhooksAfterTheUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a"}) })
	old := map[string][]byte{}
	mustUpdate(t, s, func(contract store.Tx) (err error) {
		for line, owner := range map[string]wallet.UserID{"key_a": "usr_a", "key_house": "", "key_gone": "usr_a"} {
			plain := map[string]any{"id": "bwh_" + line, "line": line, "url": "", "events": []string{"*"}, "secret": "", "created_at": at}
			words := field{"words", []byte(`{"url":"https://example.com/","secret":"whsec_` + line + `"}`)}
			if old[line], err = contract.(*tx).sealAs(botHooks, []byte(line), owner, plain, words); err != nil {
				return err
			}
			old[line][0] = untagged
		}
		r, err := decodeRow(old["key_gone"])
		r.owner = "usr_gone"
		old["key_gone"] = r.encode()
		old["key_gone"][0] = untagged
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	takeBack(t, path, 3, webhooks, webhooksOf, webhooksOwned, webhookHealth, announcements, deliveries, deliveryRows, deliveriesAbout, answerKeys)
	file, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Update(func(root *bbolt.Tx) error {
		in, err := root.CreateBucket([]byte(botHooks))
		for line, raw := range old {
			err = errors.Join(err, in.Put([]byte(line), raw))
		}
		return err
	}), file.Close()); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.View(t.Context(), func(contract store.Tx) error {
		for line, owner := range map[string]wallet.UserID{"key_a": "usr_a", "key_house": ""} {
			want := wallet.Webhook{ID: wallet.WebhookID("bwh_" + line), Kind: wallet.BotKey, Lineage: line, Owner: owner, URL: "https://example.com/",
				Events: []string{"*"}, Active: true, Secret: "whsec_" + line, CreatedAt: at, UpdatedAt: at}
			all, err := contract.WebhooksOf(line)
			if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], want) {
				t.Errorf("of %s: %+v, %v", line, all, err)
			}
			all, err = contract.WebhooksOfOwner(owner)
			if err != nil || len(all) != 1 {
				t.Errorf("of owner %q: %+v, %v", owner, all, err)
			}
		}
		if gone, err := contract.WebhooksOf("key_gone"); err != nil || len(gone) > 0 {
			t.Errorf("of somebody erased: %+v, %v", gone, err)
		}
		if contract.(*tx).tx.Bucket([]byte(botHooks)) != nil {
			t.Error("the old bucket is still there")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
