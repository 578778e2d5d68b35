package records

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/bolt"
	"purser/store/storetest"
	"purser/wallet"
)

// loggedFile is the file of a closed store in which a person's log has so many entries.
func loggedFile(t *testing.T, entries int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error {
		if err := errors.Join(tx.PutUser(human(1)), tx.PutUser(human(2))); err != nil {
			return err
		}
		for i := range entries {
			if err := errors.Join(logSample(tx, "usr_1", i), logSample(tx, "usr_2", i)); err != nil {
				return err
			}
		}
		return nil
	})
	closed(t, s)
	return path
}

func logSample(tx store.Tx, who wallet.UserID, i int) error {
	at := time.Date(2026, 11, 24, 12, 0, i, 0, time.UTC)
	_, err := tx.AppendSecurityEntry(wallet.SecurityEntry{Owner: who, At: at, Kind: wallet.LogKeyUsed, Details: wallet.SecurityDetails{Key: fmt.Sprint("key_", i), Client: "203.0.113.7"}})
	return err
}

// edit changes a closed file behind the store's back.
func edit(t *testing.T, path string, how func(bucket func(table) *bbolt.Bucket) error) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return how(func(b table) *bbolt.Bucket { return tx.Bucket([]byte(b.String())) })
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// faultsOf opens a file and words what is wrong with usr_1's log; usr_2's must be whole.
func faultsOf(t *testing.T, path string) (out string) {
	t.Helper()
	s := openAt(t, path)
	defer closed(t, s)
	return faultsIn(t, s)
}

func faultsIn(t *testing.T, s *Store) string {
	t.Helper()
	var words []string
	if err := s.View(t.Context(), func(tx store.Tx) error {
		words = nil
		_, _, faults, err := store.SecurityLog(tx, "usr_1")
		if err != nil {
			return err
		}
		for _, f := range faults {
			word := fmt.Sprint(f.Kind, " ", f.Number)
			if f.Belongs > 0 {
				word += fmt.Sprint(" by ", f.Belongs)
			}
			words = append(words, word)
		}
		_, _, other, err := store.SecurityLog(tx, "usr_2")
		if len(other) > 0 {
			t.Errorf("another log has %v", other)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(words, ", ")
}

const entriesLogged = 6

// TestEachDamagedEntryOfASecurityLogIsNamed: every row of the file, damaged in every way, removed, exchanged with every other, and overwritten by it.
func TestEachDamagedEntryOfASecurityLogIsNamed(t *testing.T) {
	whole := loggedFile(t, entriesLogged)
	if got := faultsOf(t, whole); got != "" {
		t.Fatalf("a whole log has %s", got)
	}
	original := fileBytes(t, whole)
	keysFile := fileBytes(t, bolt.KeysPath(whole))
	again := func(what, want string, how func(bucket func(table) *bbolt.Bucket) error) {
		t.Helper()
		path := filepath.Join(t.TempDir(), "purser.db")
		if err := errors.Join(os.WriteFile(path, original, 0o600), os.WriteFile(bolt.KeysPath(path), keysFile, 0o600)); err != nil {
			t.Fatal(err)
		}
		edit(t, path, how)
		if got := faultsOf(t, path); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	for n := uint64(1); n <= entriesLogged; n++ {
		key := securityKey("usr_1", n)
		for way, how := range storetest.WaysOfDamage() {
			again(fmt.Sprint(n, " ", way), fmt.Sprint("changed ", n), func(bucket func(table) *bbolt.Bucket) error {
				b := bucket(securityLog)
				return b.Put(key, how(bytes.Clone(b.Get(key))))
			})
		}
		again(fmt.Sprint(n, " removed"), fmt.Sprint("missing ", n), func(bucket func(table) *bbolt.Bucket) error { return bucket(securityLog).Delete(key) })
		again(fmt.Sprint(n, " is another person's"), fmt.Sprint("changed ", n), func(bucket func(table) *bbolt.Bucket) error {
			b := bucket(securityLog)
			return b.Put(key, bytes.Clone(b.Get(securityKey("usr_2", n))))
		})
		for m := n + 1; m <= entriesLogged; m++ {
			other := securityKey("usr_1", m)
			again(fmt.Sprint(n, " and ", m, " exchanged"), fmt.Sprintf("reordered %d by %d, reordered %d by %d", n, m, m, n), func(bucket func(table) *bbolt.Bucket) error {
				b := bucket(securityLog)
				one, two := bytes.Clone(b.Get(key)), bytes.Clone(b.Get(other))
				return errors.Join(b.Put(key, two), b.Put(other, one))
			})
			again(fmt.Sprint(m, " moved to ", n), fmt.Sprintf("reordered %d by %d, missing %d", n, m, m), func(bucket func(table) *bbolt.Bucket) error {
				b := bucket(securityLog)
				return errors.Join(b.Put(key, bytes.Clone(b.Get(other))), b.Delete(other))
			})
		}
		again(fmt.Sprint("cut off from ", n), strings.Join(missingFrom(n), ", "), func(bucket func(table) *bbolt.Bucket) error {
			b := bucket(securityLog)
			var errs []error
			for m := n; m <= entriesLogged; m++ {
				errs = append(errs, b.Delete(securityKey("usr_1", m)))
			}
			return errors.Join(errs...)
		})
	}
	head := []byte("usr_1")
	for way, how := range storetest.WaysOfDamage() {
		if way == "one figure of what is plain" { // it has none
			continue
		}
		again("the head, "+way, "head 0", func(bucket func(table) *bbolt.Bucket) error {
			b := bucket(securityHeads)
			return b.Put(head, how(bytes.Clone(b.Get(head))))
		})
	}
	again("no head", "head 0", func(bucket func(table) *bbolt.Bucket) error { return bucket(securityHeads).Delete(head) })
	again("no entries", strings.Join(missingFrom(1), ", "), func(bucket func(table) *bbolt.Bucket) error {
		b := bucket(securityLog)
		var errs []error
		for m := uint64(1); m <= entriesLogged; m++ {
			errs = append(errs, b.Delete(securityKey("usr_1", m)))
		}
		return errors.Join(errs...)
	})
	again("a key that is none", "", func(bucket func(table) *bbolt.Bucket) error {
		return bucket(securityLog).Put([]byte("usr_1\x00\xff"), []byte("x"))
	})
}

func missingFrom(n uint64) (out []string) {
	for ; n <= entriesLogged; n++ {
		out = append(out, fmt.Sprint("missing ", n))
	}
	return out
}

// TestAnOlderHeadIsNoticed: a row can be put back as it was, with its tag. The entries behind it say so.
func TestAnOlderHeadIsNoticed(t *testing.T) {
	path := loggedFile(t, 3)
	var older []byte
	edit(t, path, func(bucket func(table) *bbolt.Bucket) error {
		older = bytes.Clone(bucket(securityHeads).Get([]byte("usr_1")))
		return nil
	})
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return logSample(tx, "usr_1", 4) })
	closed(t, s)
	edit(t, path, func(bucket func(table) *bbolt.Bucket) error { return bucket(securityHeads).Put([]byte("usr_1"), older) })
	if got := faultsOf(t, path); got != "head 0" {
		t.Errorf("an older head: %q", got)
	}
}

// TestWhoHoldsTheKeysBreaksTheChain: somebody who can seal rows changes one entry. Its tag fits, and the entry after it, or the head, does not.
func TestWhoHoldsTheKeysBreaksTheChain(t *testing.T) {
	for n := uint64(1); n <= entriesLogged; n++ {
		s := openAt(t, loggedFile(t, entriesLogged))
		mustUpdate(t, s, func(contract store.Tx) error {
			in := contract.(*tx)
			e, err := in.SecurityEntry("usr_1", n)
			if err != nil {
				return err
			}
			e.Details.Client = "198.51.100.9"
			return in.putWithPayload(securityLog, securityKey("usr_1", n), "usr_1", securityRow{n}, e)
		})
		if got, want := faultsIn(t, s), fmt.Sprint("changed ", n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		mustUpdate(t, s, func(contract store.Tx) error { // and puts another entry of the log in its place
			in := contract.(*tx)
			e, err := in.SecurityEntry("usr_1", n%entriesLogged+1)
			if err != nil {
				return err
			}
			return in.putWithPayload(securityLog, securityKey("usr_1", n), "usr_1", securityRow{n}, e)
		})
		if got, want := faultsIn(t, s), fmt.Sprintf("reordered %d by %d", n, n%entriesLogged+1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		closed(t, s)
	}
}

// TestADamagedSecurityLogTakesEntries: what is logged must not fail with the log, and the damage stays named.
func TestADamagedSecurityLogTakesEntries(t *testing.T) {
	for what, c := range map[string]struct {
		how  func(bucket func(table) *bbolt.Bucket) error
		want string
		rows []uint64
	}{
		"the head": {func(bucket func(table) *bbolt.Bucket) error {
			return bucket(securityHeads).Put([]byte("usr_1"), []byte("x"))
		}, "head 4", []uint64{1, 2, 3, 4, 5}},
		"the head and the newest": {func(bucket func(table) *bbolt.Bucket) error {
			return errors.Join(bucket(securityHeads).Delete([]byte("usr_1")), bucket(securityLog).Delete(securityKey("usr_1", 3)))
		}, "head 3", []uint64{1, 2, 3, 4}},
		"the head, and a row at the end of all numbers": {func(bucket func(table) *bbolt.Bucket) error {
			return errors.Join(bucket(securityHeads).Delete([]byte("usr_1")), bucket(securityLog).Put(securityKey("usr_1", ^uint64(0)), []byte("x")))
		}, "head 0, head 4", []uint64{1, 2, 3, 4, 5, ^uint64(0)}},
		"all but a damaged head": {func(bucket func(table) *bbolt.Bucket) error {
			b := bucket(securityLog)
			return errors.Join(bucket(securityHeads).Put([]byte("usr_1"), nil), b.Delete(securityKey("usr_1", 1)), b.Delete(securityKey("usr_1", 2)), b.Delete(securityKey("usr_1", 3)))
		}, "head 2", []uint64{2, 3}},
		"the newest": {func(bucket func(table) *bbolt.Bucket) error {
			return bucket(securityLog).Put(securityKey("usr_1", 3), []byte("x"))
		}, "changed 3", []uint64{1, 2, 3, 4, 5}},
	} {
		path := loggedFile(t, 3)
		edit(t, path, c.how)
		s := openAt(t, path)
		for i := range 2 {
			mustUpdate(t, s, func(tx store.Tx) error { return logSample(tx, "usr_1", 10+i) })
		}
		if got := faultsIn(t, s); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
		var rows []uint64
		mustUpdate(t, s, func(tx store.Tx) error {
			rows = nil
			all, err := tx.SecurityEntries("usr_1", 0, 100)
			for _, row := range slices.Backward(all) {
				rows = append(rows, row.Number)
			}
			return err
		})
		if !slices.Equal(rows, c.rows) {
			t.Errorf("%s: rows %v, want %v", what, rows, c.rows)
		}
		closed(t, s)
	}
}

// TestADamagedOldestEntryIsRemovedInItsTurn: neither the bound nor the chain depends on it.
func TestADamagedOldestEntryIsRemovedInItsTurn(t *testing.T) {
	for _, damagedRows := range [][]uint64{{1}, {2}, {1, 2}} {
		path := loggedFile(t, wallet.MaxSecurityEntries)
		edit(t, path, func(bucket func(table) *bbolt.Bucket) error {
			var errs []error
			for _, n := range damagedRows {
				errs = append(errs, bucket(securityLog).Put(securityKey("usr_1", n), []byte("x")))
			}
			return errors.Join(errs...)
		})
		s := openAt(t, path)
		for i := range 2 {
			mustUpdate(t, s, func(tx store.Tx) error { return logSample(tx, "usr_1", i) })
		}
		if got := faultsIn(t, s); got != "" {
			t.Errorf("%v: %q", damagedRows, got)
		}
		if got := rowsIn(t, s, securityLog); got != 2*wallet.MaxSecurityEntries {
			t.Errorf("%v: %d rows", damagedRows, got)
		}
		closed(t, s)
	}
}

// TestAnEntryThatWasPutBackIsNamed: an entry that was written under a number once, and replaced after the whole file was restored, has a tag that fits.
func TestAnEntryThatWasPutBackIsNamed(t *testing.T) {
	path := loggedFile(t, 2)
	row, head := securityKey("usr_1", 3), []byte("usr_1")
	var olderHead, otherThird []byte
	edit(t, path, func(bucket func(table) *bbolt.Bucket) error {
		olderHead = bytes.Clone(bucket(securityHeads).Get(head))
		return nil
	})
	for i, after := range []func(bucket func(table) *bbolt.Bucket) error{
		func(bucket func(table) *bbolt.Bucket) error {
			otherThird = bytes.Clone(bucket(securityLog).Get(row))
			return errors.Join(bucket(securityLog).Delete(row), bucket(securityHeads).Put(head, olderHead))
		},
		func(bucket func(table) *bbolt.Bucket) error { return bucket(securityLog).Put(row, otherThird) },
	} {
		s := openAt(t, path)
		mustUpdate(t, s, func(tx store.Tx) error { return logSample(tx, "usr_1", 10+i) })
		closed(t, s)
		edit(t, path, after)
	}
	if got := faultsOf(t, path); got != "changed 3" {
		t.Errorf("%q", got)
	}
}
