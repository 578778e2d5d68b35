package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"purser/store/engine"
)

// OpenEngine opens the engine whose files are in a folder, or creates it. The suite calls Prepare.
type OpenEngine func(t testing.TB, folder string) (engine.Engine, error)

// The tables of the suite.
const (
	plainTable engine.Table = iota
	appendedTable
	numberedTable
	laterTable // that the first layout does not have
)

func engineLayout(tables int) engine.Layout {
	return engine.Layout{{Name: "plain"}, {Name: "appended", Appended: true}, {Name: "numbered", Numbered: true}, {Name: "later"}}[:tables]
}

// RunEngine checks an engine against its contract (package engine): writes, scans, numbers, snapshots, shared commits,
// failures, secrets and the opening of a database.
func RunEngine(t *testing.T, open OpenEngine) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, OpenEngine)
	}{
		{"WritesAreReadAndRolledBack", engineWrites},
		{"ScansAreInOrder", engineScans},
		{"NumbersRise", engineNumbers},
		{"ViewsAreSnapshots", engineSnapshots},
		{"UpdatesFollowEachOther", engineUpdates},
		{"FailuresAreTheirOwn", engineFailures},
		{"UpdatesOfACommitShare", engineShares},
		{"AFlushThatFailsCommitsNothing", engineFlushFails},
		{"ClosedIsClosed", engineCloses},
		{"PrepareIsAllOrNothing", enginePrepares},
		{"NewTablesAreMade", engineNewTables},
		{"SecretsAreKept", engineSecrets},
		{"DestroyedSecretsAreInNoFile", engineDestroys},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, open) })
	}
}

func nothing(engine.Setup) error { return nil }

// engineIn opens and prepares the engine of a folder.
func engineIn(t *testing.T, open OpenEngine, folder string) engine.Engine {
	t.Helper()
	e, err := open(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(engineLayout(3), nothing); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func change(t *testing.T, e engine.Engine, do func(engine.Tx) error) {
	t.Helper()
	if err := e.Update(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, e engine.Engine, do func(engine.Tx)) {
	t.Helper()
	if err := e.View(t.Context(), func(tx engine.Tx) error { do(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// contents are the keys and values of a table.
func contents(tx engine.Tables, in engine.Table) map[string]string {
	out := map[string]string{}
	for key, value := range tx.Scan(in, engine.Range{}) {
		out[string(key)] = string(value)
	}
	return out
}

func engineWrites(t *testing.T, open OpenEngine) {
	folder := t.TempDir()
	e := engineIn(t, open, folder)
	change(t, e, func(tx engine.Tx) error {
		err := errors.Join(tx.Put(plainTable, []byte("a"), []byte("1")), tx.Put(plainTable, []byte("b"), []byte("2")),
			tx.Put(plainTable, []byte("empty"), nil), tx.Put(plainTable, []byte("a"), []byte("3")), tx.Delete(plainTable, []byte("b")),
			tx.Delete(plainTable, []byte("never")), tx.Put(appendedTable, []byte("a"), []byte("another table")))
		if got := tx.Get(plainTable, []byte("a")); string(got) != "3" || !tx.Writable() {
			t.Errorf("its own write reads as %q", got)
		}
		return err
	})
	broken := errors.New("broken")
	if err := e.Update(t.Context(), func(tx engine.Tx) error {
		return errors.Join(tx.Put(plainTable, []byte("c"), nil), tx.Delete(plainTable, []byte("a")), broken)
	}); !errors.Is(err, broken) {
		t.Errorf("a failure is reported as %v", err)
	}
	check := func(e engine.Engine) {
		t.Helper()
		look(t, e, func(tx engine.Tx) {
			same(t, "plain", contents(tx, plainTable), map[string]string{"a": "3", "empty": ""})
			same(t, "appended", contents(tx, appendedTable), map[string]string{"a": "another table"})
			if tx.Get(plainTable, []byte("empty")) == nil {
				t.Error("an empty value is none")
			}
			if tx.Get(plainTable, nil) != nil || tx.Get(plainTable, []byte("b")) != nil || tx.Writable() {
				t.Error("there is something under no key, or a View that writes")
			}
			if tx.Put(plainTable, []byte("x"), nil) == nil || tx.Delete(plainTable, []byte("a")) == nil || tx.PutSecret("x", make([]byte, engine.SecretSize)) == nil || tx.DestroySecret("x") == nil {
				t.Error("a View has written")
			}
			if _, err := tx.Next(numberedTable); err == nil {
				t.Error("a View has drawn a number")
			}
		})
	}
	check(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	check(engineIn(t, open, folder))
}

// engineScans holds scans against a sorted list, in transactions that have written and deleted before.
func engineScans(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	r := rand.New(rand.NewPCG(1, 2))
	key := func() []byte {
		return fmt.Appendf(nil, "%s%03d", []string{"a", "b", "b\xff", "\xff", "\xff\xff"}[r.IntN(5)], r.IntN(400))
	}
	model := map[string]string{}
	for range 12 {
		change(t, e, func(tx engine.Tx) error {
			for range r.IntN(500) {
				k, v := key(), fmt.Append(nil, r.Int())
				model[string(k)] = string(v)
				if err := tx.Put(plainTable, k, v); err != nil {
					return err
				}
			}
			keys := slices.Sorted(maps.Keys(model))
			if from := r.IntN(len(keys) + 1); r.IntN(2) == 0 { // whole pages of them
				for _, k := range keys[from : from+r.IntN(len(keys)-from+1)] {
					delete(model, k)
					if err := tx.Delete(plainTable, []byte(k)); err != nil {
						return err
					}
				}
			}
			keys = slices.Sorted(maps.Keys(model))
			ranges := []engine.Range{{}, engine.Prefix([]byte("b")), engine.Prefix([]byte("b\xff")), engine.Prefix([]byte("\xff")), engine.Prefix(nil), {From: []byte("z")}, {From: []byte("c"), Before: []byte("b")}}
			for range 20 {
				ranges = append(ranges, engine.Range{From: key(), Before: key()}, engine.Range{From: key()}, engine.Range{Before: key()})
			}
			for _, prefix := range []string{"", "b", "b\xff", "\xff", "\xff\xff"} {
				got, want := 0, 0
				for range tx.Scan(plainTable, engine.Prefix([]byte(prefix))) {
					got++
				}
				for _, k := range keys {
					if strings.HasPrefix(k, prefix) {
						want++
					}
				}
				same(t, fmt.Sprintf("keys that begin with %q", prefix), got, want)
			}
			for _, in := range ranges {
				scanned(t, tx, in, keys, model)
			}
			return nil
		})
	}
}

// scanned walks a range both ways, and a part of it.
func scanned(t *testing.T, tx engine.Tables, in engine.Range, keys []string, model map[string]string) {
	t.Helper()
	var want []string
	for _, k := range keys {
		if k >= string(in.From) && (in.Before == nil || k < string(in.Before)) {
			want = append(want, k)
		}
	}
	for _, backward := range []bool{false, true} {
		in.Backward = backward
		if backward {
			slices.Reverse(want)
		}
		for _, limit := range []int{len(want) + 1, 1} {
			var got []string
			for k, v := range tx.Scan(plainTable, in) {
				got = append(got, string(k))
				if model[string(k)] != string(v) {
					t.Fatalf("%q is %q, not %q", k, v, model[string(k)])
				}
				if len(got) == limit {
					break
				}
			}
			if key, _ := tx.First(plainTable, in); string(key) != strings.Join(want[:min(1, len(want))], "") || len(want) == 0 && key != nil {
				t.Fatalf("%+v: the first is %q of %q", in, key, want)
			}
			if !slices.Equal(got, want[:min(limit, len(want))]) {
				t.Fatalf("%+v: got %q, want %q, of them %d", in, got, want, limit)
			}
		}
	}
}

func engineNumbers(t *testing.T, open OpenEngine) {
	folder := t.TempDir()
	e := engineIn(t, open, folder)
	last := uint64(0)
	draw := func(e engine.Engine) {
		t.Helper()
		change(t, e, func(tx engine.Tx) error {
			n, err := tx.Next(numberedTable)
			if n <= last {
				t.Errorf("%d after %d", n, last)
			}
			last = n
			return errors.Join(err, tx.Put(numberedTable, binary.BigEndian.AppendUint64(nil, n), nil))
		})
	}
	draw(e)
	draw(e)
	change(t, e, func(tx engine.Tx) error { // what was drawn is not drawn again when its row is gone
		return tx.Delete(numberedTable, binary.BigEndian.AppendUint64(nil, last))
	})
	draw(e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	draw(engineIn(t, open, folder))
}

func engineSnapshots(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	change(t, e, func(tx engine.Tx) error { return tx.Put(plainTable, []byte("a"), []byte("before")) })
	look(t, e, func(tx engine.Tx) {
		change(t, e, func(tx engine.Tx) error { return tx.Put(plainTable, []byte("a"), []byte("after")) })
		if got := tx.Get(plainTable, []byte("a")); string(got) != "before" {
			t.Errorf("a View sees %q, which came later", got)
		}
	})
	look(t, e, func(tx engine.Tx) {
		if got := tx.Get(plainTable, []byte("a")); string(got) != "after" {
			t.Errorf("what was committed reads as %q", got)
		}
	})
}

// engineUpdates has many count at once: each sees what those before it have written.
func engineUpdates(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	const workers, each = 16, 25
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for n := range each {
				if err := e.Update(context.Background(), func(tx engine.Tx) error {
					var count uint64
					if raw := tx.Get(plainTable, []byte("count")); raw != nil {
						count = binary.BigEndian.Uint64(raw)
					}
					return errors.Join(tx.Put(plainTable, []byte("count"), binary.BigEndian.AppendUint64(nil, count+1)),
						tx.Put(appendedTable, fmt.Appendf(nil, "%d/%d", w, n), nil))
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	look(t, e, func(tx engine.Tx) {
		if got := binary.BigEndian.Uint64(tx.Get(plainTable, []byte("count"))); got != workers*each || len(contents(tx, appendedTable)) != workers*each {
			t.Errorf("%d of %d counted", got, workers*each)
		}
	})
}

func engineFailures(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	func() {
		defer func() {
			if got := recover(); got != "mine" {
				t.Errorf("the panic of a change came back as %v", got)
			}
		}()
		_ = e.Update(t.Context(), func(tx engine.Tx) error {
			if err := tx.Put(plainTable, []byte("panicked"), nil); err != nil {
				t.Error(err)
			}
			panic("mine")
		})
	}()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	ran := func(engine.Tx) error { t.Error("it ran, though its ctx was over"); return nil }
	if err := errors.Join(e.Update(over, ran), e.View(over, ran)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a ctx that is over: %v", err)
	}
	var kept engine.Tx
	change(t, e, func(tx engine.Tx) error {
		kept = tx
		if got := contents(tx, plainTable); len(got) != 0 {
			t.Errorf("a panic has left %v", got)
		}
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("a transaction that is over was used")
		}
	}()
	_ = kept.Put(plainTable, []byte("late"), nil)
}

func engineCloses(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		t.Errorf("close: %v", err)
	}
	ran := func(engine.Tx) error { t.Error("it ran in a closed engine"); return nil }
	if e.Update(t.Context(), ran) == nil || e.View(t.Context(), ran) == nil {
		t.Error("a closed engine was used")
	}
}

// enginePrepares: a setup that fails, or writes nothing, leaves the files as they were.
func enginePrepares(t *testing.T, open OpenEngine) {
	folder, broken := t.TempDir(), errors.New("broken")
	prepare := func(setup func(engine.Setup) error) error {
		t.Helper()
		e, err := open(t, folder)
		if err != nil {
			t.Fatal(err)
		}
		err = e.Prepare(engineLayout(3), setup)
		if closing := e.Close(); closing != nil {
			t.Error(closing)
		}
		return err
	}
	fill := func(tx engine.Setup) error {
		if !tx.Fresh() || len(contents(tx, plainTable)) != 0 {
			t.Error("what failed has left something")
		}
		return errors.Join(tx.OpenSecrets(), tx.Check(), tx.Put(plainTable, []byte("a"), []byte("1")), tx.PutSecret("somebody", bytes.Repeat([]byte{1}, engine.SecretSize)))
	}
	if err := prepare(func(tx engine.Setup) error { return errors.Join(fill(tx), broken) }); !errors.Is(err, broken) {
		t.Fatalf("a broken setup: %v", err)
	}
	if err := prepare(fill); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, folder)
	for what, setup := range map[string]func(engine.Setup) error{
		"that fails": func(tx engine.Setup) error {
			return errors.Join(tx.OpenSecrets(), tx.Put(plainTable, []byte("a"), []byte("2")), tx.DestroySecret("somebody"), broken)
		},
		"that writes nothing": func(tx engine.Setup) error {
			if name, state := tx.SecretOf("somebody"); tx.Fresh() || state != engine.Kept {
				t.Errorf("it is as good as new: %v", state)
			} else if err := tx.OpenSecrets(); err != nil {
				return err
			} else if secret, err := tx.Secret(name); err != nil || secret[0] != 1 {
				t.Errorf("the secret is %v, %v", secret, err)
			}
			same(t, "plain", contents(tx, plainTable), map[string]string{"a": "1"})
			return tx.Check()
		},
	} {
		if err := prepare(setup); err != nil && !errors.Is(err, broken) {
			t.Error(err)
		}
		if !maps.EqualFunc(before, filesIn(t, folder), bytes.Equal) {
			t.Errorf("a setup %s has changed the files", what)
		}
	}
}

// filesIn reads the files in a folder, by their path.
func filesIn(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		out[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func engineNewTables(t *testing.T, open OpenEngine) {
	folder := t.TempDir()
	if err := engineIn(t, open, folder).Close(); err != nil {
		t.Fatal(err)
	}
	prepare := func(setup func(engine.Setup) error) (engine.Engine, error) {
		e, err := open(t, folder)
		if err != nil {
			t.Fatal(err)
		}
		return e, e.Prepare(engineLayout(4), setup)
	}
	e, err := prepare(engine.Setup.Check)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if !errors.Is(err, engine.ErrBroken) {
		t.Errorf("a table is missing: %v", err)
	}
	for n := range 2 {
		e, err := prepare(func(tx engine.Setup) error {
			if n == 0 {
				return errors.Join(tx.CreateTable(laterTable), tx.Put(laterTable, []byte("a"), []byte("1")), tx.Check())
			}
			return tx.Check()
		})
		if err != nil {
			t.Fatal(err)
		}
		look(t, e, func(tx engine.Tx) { same(t, "later", contents(tx, laterTable), map[string]string{"a": "1"}) })
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
