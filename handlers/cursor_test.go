package handlers

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// FuzzDeliveryCursor: a cursor is one that we made, or refused; one that is taken says the same when it is written
// again, and divides any list in two.
func FuzzDeliveryCursor(f *testing.F) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	for _, c := range []cursor{{at, "dlv_1", ""}, {at, "dlv_1", "dlv_2"}, {time.Unix(0, 0).UTC(), "x", "y"}} {
		f.Add(c.String())
	}
	for _, text := range []string{"", ".", "..", "1..", "1.a", "1.a.b.c", "-9223372036854775808.a.", "9223372036854775808.a.", "+1.a.b", "01.a.b", "1.é.\x00", " 1.a.b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			if wallet.CodeOf(err) != wallet.InvalidRequest || c != (cursor{}) {
				t.Fatalf("%q: %+v, %v", text, c, err)
			}
			return
		}
		entry := func(at time.Time, id string) store.LogEntry {
			return store.LogEntry{Delivery: store.Delivery{ID: id, CreatedAt: at}}
		}
		if text == "" {
			if !c.behind(entry(at, "dlv_1")) {
				t.Error("the first page leaves something out")
			}
			return
		}
		if c.String() != text {
			t.Errorf("%q is read as %q", text, c)
		}
		again, err := parseCursor(c.String())
		if err != nil || again != c {
			t.Errorf("%q: again %+v, %v", text, again, err)
		}
		if c.behind(entry(c.at, c.id)) || !c.behind(entry(c.at.Add(-time.Nanosecond), c.id)) || c.behind(entry(c.at.Add(time.Nanosecond), c.id)) ||
			c.behind(entry(c.at, c.id+"\x00")) {
			t.Errorf("%q divides no list", text)
		}
	})
}
