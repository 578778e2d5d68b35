package bolt

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store/engine"
)

// TestPagesOfKeptTablesAreFull: seven rows of 574 bytes fit on a page. Without Kept it holds five when rows come one by one, and six when they
// come in tens. What is kept beside them for this is in no range.
func TestPagesOfKeptTablesAreFull(t *testing.T) {
	for _, batch := range []int{1, 10} {
		e, err := Open(Options{Path: filepath.Join(t.TempDir(), "purser.db"), Random: options("").Random})
		if err != nil {
			t.Fatal(err)
		}
		layout := engine.Layout{{Name: "kept", Appended: true, Kept: true, Numbered: true}, {Name: "appended", Appended: true}}
		if err := e.Prepare(layout, func(s engine.Setup) error { return errors.Join(s.OpenSecrets(), s.Check()) }); err != nil {
			t.Fatal(err)
		}
		const rows = 700
		for first := 0; first < rows; first += batch {
			if err := e.Update(t.Context(), func(tx engine.Tx) error {
				for n := first; n < first+batch; n++ {
					for b := range layout {
						if err := tx.Put(engine.Table(b), numberKey(uint64(n)), make([]byte, 550)); err != nil {
							return err
						}
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.db.View(func(root *bbolt.Tx) error {
			kept, appended := root.Bucket([]byte("kept")).Stats().LeafPageN, root.Bucket([]byte("appended")).Stats().LeafPageN
			if kept > rows/7+1 || appended < rows/6 {
				t.Errorf("%d at a time: %d rows on %d pages, and on %d", batch, rows, kept, appended)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := e.View(t.Context(), func(tx engine.Tx) error {
			for _, backward := range []bool{false, true} {
				for _, before := range [][]byte{nil, {0xff, 0xff, 0xff}} {
					n := 0
					for key := range tx.Scan(0, engine.Range{Before: before, Backward: backward}) {
						if len(key) != 8 {
							t.Errorf("there is a key %x", key)
						}
						n++
					}
					if n != rows {
						t.Errorf("%d rows, not %d", n, rows)
					}
				}
			}
			if key, _ := tx.First(0, engine.Range{Backward: true}); !bytes.Equal(key, numberKey(rows-1)) {
				t.Errorf("the last key is %x", key)
			}
			if key, _ := tx.First(0, engine.Range{From: numberKey(rows)}); key != nil {
				t.Errorf("behind the last is %x", key)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		path := e.path
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		// Nobody has drawn these numbers, and the end of the table hides that from no one.
		again, err := Open(Options{Path: path, Random: options("").Random})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Prepare(layout, func(s engine.Setup) error { return s.Check() }); !errors.Is(err, engine.ErrBroken) {
			t.Errorf("numbers that were never drawn: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
}
