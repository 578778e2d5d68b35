package records

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/bolt"
	"purser/store/storetest"
	"purser/wallet"
)

// update rewrites the committed file of the newest schema. Files of older schemas stay as their
// purser wrote them.
func update() bool {
	f := flag.Lookup("update") // of TestMain
	return f != nil && f.Value.String() == "true"
}

// TestOldFilesOpen opens a copy of each schema's committed file and reads every kind of row. What
// was written is kept beside it as JSON, so that a renamed field shows.
func TestOldFilesOpen(t *testing.T) {
	newest := fmt.Sprintf("testdata/schema%d", len(steps())+1)
	if update() {
		generate(t, newest)
	}
	files, err := filepath.Glob("testdata/schema*.db")
	if err != nil || len(files) != len(steps())+1 {
		t.Fatalf("%d files for %d schemas: go test -run OldFiles -update writes the newest (%v)", len(files), len(steps())+1, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			base := strings.TrimSuffix(file, ".db")
			key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(fileBytes(t, base+".key"))))
			if err != nil {
				t.Fatal(err)
			}
			var x storetest.Samples
			readSamples(t, base, &x)
			copied := filepath.Join(t.TempDir(), "purser.db")
			if err := os.WriteFile(copied, fileBytes(t, file), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(bolt.KeysPath(copied), fileBytes(t, base+".keys"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := at(copied)
			o.key = key
			s, err := o.open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := s.View(t.Context(), x.Read); err != nil {
				t.Error(err)
			}
			if base == newest {
				for b := range tableCount {
					if b.holdsRows() && rowsIn(t, s, b) == 0 {
						t.Errorf("the file of the newest schema has no row in %s", b)
					}
				}
			}
			if base == "testdata/schema1" {
				finalRowsStay(t, s, x)
			}
			// It is a store like any other: rows can go, and others come.
			mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser(x.User.ID) })
			mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(x.User) })
		})
	}
}

// finalRowsStay: a row that was final in schema 1 changes where it lies, and stands in one list with what becomes final today.
func finalRowsStay(t *testing.T, s *Store, x storetest.Samples) {
	t.Helper()
	again, newer := x.Transaction, x.Transaction
	again.RetriedBy = "tx_newer"
	newer.ID, newer.SignID, newer.Signature, newer.CreatedAt = "tx_newer", "newer", wallet.Signature{1}, newer.CreatedAt.Add(time.Hour)
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutTransaction(again), tx.CreateTransaction(newer))
	})
	if in, now := placeIn(t, s, again.ID), placeIn(t, s, newer.ID); in != transactions || now != finals {
		t.Errorf("it lies in %s, and a new one in %s", in, now)
	}
	if err := s.View(t.Context(), func(tx store.Tx) error {
		all, err := tx.TransactionsOf(x.User.ID, store.Page{Limit: 9})
		behind, err2 := tx.TransactionsAt(x.Transaction.From, store.Page{After: newer.ID, Limit: 9})
		bySignature, err3 := tx.TransactionBySignature(again.Signature)
		if len(all) != 2 || all[0].ID != newer.ID || all[1].RetriedBy != newer.ID || len(behind) != 1 || behind[0].ID != again.ID || bySignature.ID != again.ID {
			t.Errorf("listed are %+v, then %+v; by signature %s", all, behind, bySignature.ID)
		}
		return errors.Join(err, err2, err3)
	}); err != nil {
		t.Error(err)
	}
}

// readSamples reads what was written into a committed file.
func readSamples(t *testing.T, base string, x *storetest.Samples) {
	t.Helper()
	if err := json.Unmarshal(fileBytes(t, base+".json"), x); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []*json.RawMessage{&x.Event.Data, (*json.RawMessage)(&x.Transaction.Terms), (*json.RawMessage)(&x.Open.Terms)} { // indenting the file indented these, too
		var compact bytes.Buffer
		if len(*raw) == 0 {
			continue
		}
		if err := json.Compact(&compact, *raw); err != nil {
			t.Fatal(err)
		}
		*raw = compact.Bytes()
	}
}

func generate(t *testing.T, base string) {
	t.Helper()
	wide := filepath.Join(t.TempDir(), "wide.db")
	s := openAt(t, wide)
	x := storetest.NewSamples()
	mustUpdate(t, s, x.Write)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(base + ".db"); err != nil {
		t.Fatal(err)
	}
	from, err := bbolt.Open(wide, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := bbolt.Open(base+".db", 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(bbolt.Compact(to, from, 0), from.Close(), to.Close(),
		os.WriteFile(base+".keys", fileBytes(t, bolt.KeysPath(wide)), 0o644),
		os.WriteFile(base+".json", append(raw, '\n'), 0o644),
		os.WriteFile(base+".key", []byte(base64.StdEncoding.EncodeToString(masterKey())+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}
