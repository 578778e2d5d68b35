package bolt

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store/engine"
)

// TestPagesOfKeptTablesAreFull: seven rows of 574 bytes fit on a page, and a table that leaves room for longer values has six. bbolt
// begins no page with one row alone, so that every other commit of ten leaves a page with one row less.
func TestPagesOfKeptTablesAreFull(t *testing.T) {
	e, err := Open(Options{Path: filepath.Join(t.TempDir(), "purser.db"), Random: options("").Random})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	layout := engine.Layout{{Name: "kept", Appended: true, Kept: true}, {Name: "appended", Appended: true}}
	if err := e.Prepare(layout, func(s engine.Setup) error { return s.OpenSecrets() }); err != nil {
		t.Fatal(err)
	}
	const rows = 700
	for n := range uint64(rows / 10) {
		if err := e.Update(t.Context(), func(tx engine.Tx) error {
			for i := range uint64(10) {
				for b := range layout {
					if err := tx.Put(engine.Table(b), binary.BigEndian.AppendUint64(nil, 10*n+i), make([]byte, 550)); err != nil {
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
		for name, most := range map[string]int{"kept": rows / 7 * 106 / 100, "appended": rows/6 + 1} {
			if pages := root.Bucket([]byte(name)).Stats().LeafPageN; pages > most || pages < most*9/10 {
				t.Errorf("%s has %d rows on %d pages", name, rows, pages)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}
