package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"purser/store/engine"
)

// errMine is the error of a closure of this suite.
var errMine = errors.New("mine")

// addOne counts in Shared, beginning at what is stored, and has the count written once before the commit.
func addOne(tx engine.Tx) {
	shared := tx.Shared()
	count, begun := shared.Value.(uint64)
	if raw := tx.Get(plainTable, []byte("count")); !begun && raw != nil {
		count = binary.BigEndian.Uint64(raw)
	}
	count++
	shared.Value = count
	shared.Flush = func(tx engine.Tx) error {
		return tx.Put(plainTable, []byte("count"), binary.BigEndian.AppendUint64(nil, count))
	}
	tx.Changed()
}

// engineShares has many count in memory. What a closure counted before it failed or panicked is not in the sum,
// although it put no value.
func engineShares(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	const workers, each = 16, 25
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for n := range each {
				want := error(nil)
				if n%5 == 4 {
					want = errMine
				}
				err := func() (err error) {
					defer func() {
						if recover() != nil {
							err = errMine
						}
					}()
					return e.Update(context.Background(), func(tx engine.Tx) error {
						addOne(tx)
						if n%10 == 9 {
							panic("mine")
						}
						return want
					})
				}()
				if !errors.Is(err, want) {
					t.Errorf("%v instead of %v", err, want)
				}
			}
		})
	}
	group.Wait()
	look(t, e, func(tx engine.Tx) {
		if got := binary.BigEndian.Uint64(tx.Get(plainTable, []byte("count"))); got != workers*each*4/5 {
			t.Errorf("%d counted instead of %d", got, workers*each*4/5)
		}
		if tx.Shared() != nil {
			t.Error("a View shares a commit")
		}
	})
}

// engineFlushFails commits nothing if Flush fails, and goes on after that.
func engineFlushFails(t *testing.T, open OpenEngine) {
	e := engineIn(t, open, t.TempDir())
	err := e.Update(t.Context(), func(tx engine.Tx) error {
		tx.Shared().Flush = func(engine.Tx) error { return errMine }
		return tx.Put(plainTable, []byte("lost"), nil)
	})
	if !errors.Is(err, errMine) {
		t.Errorf("an Update whose Flush failed returned %v", err)
	}
	change(t, e, func(tx engine.Tx) error { addOne(tx); return nil })
	look(t, e, func(tx engine.Tx) {
		if all := contents(tx, plainTable); len(all) != 1 || all["count"] == "" {
			t.Errorf("stored: %v", all)
		}
	})
}
