package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// BenchmarkScale fills a store with final transactions of 100,000 people (PURSER_BENCH_ROWS of them, 100,000 if it is not
// set), and measures the size of the file, the time of Open after Close and after the process died, and sends of 64 writers
// beside those on a store of 1,000 people and 2,000 transactions in the same run.
func BenchmarkScale(b *testing.B) {
	rows := 100_000
	if _, err := fmt.Sscan(os.Getenv("PURSER_BENCH_ROWS"), &rows); err != nil && os.Getenv("PURSER_BENCH_ROWS") != "" {
		b.Fatal(err)
	}
	folder := os.Getenv("PURSER_BENCH_FOLDER") // holds a store that an earlier run has filled
	if folder == "" {
		folder = b.TempDir()
	}
	small, large := scaleFile{filepath.Join(b.TempDir(), "small.db"), 1000}, scaleFile{filepath.Join(folder, fmt.Sprint("large", rows, ".db")), 100_000}
	small.fill(b, 0)
	small.fill(b, 2000)
	if _, err := os.Stat(large.path); err != nil {
		large.fill(b, 0)
		before, tables := usedBytes(b, large.path), tableBytes(b, large.path)
		large.fill(b, rows)
		b.Logf("%.0f bytes a transaction", float64(usedBytes(b, large.path)-before)/float64(rows))
		for name, bytes := range tableBytes(b, large.path) {
			if each := float64(bytes-tables[name]) / float64(rows); each >= 0.5 {
				b.Logf("%6.0f of them in %s", each, name)
			}
		}
	}
	large.path = copyStore(b, large.path) // what is filled stays as it is
	for b.Loop() {
		if err := os.Remove(CleanMarkerPath(large.path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			b.Fatal(err)
		}
		for _, after := range []string{"ms-open-after-crash", "ms-open"} {
			began := time.Now()
			s := openAt(b, large.path)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, after)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
		few, many := openAt(b, small.path), openAt(b, large.path)
		var inSmall, inLarge []measured
		for range 3 {
			inSmall = append(inSmall, small.sends(b, few))
			inLarge = append(inLarge, large.sends(b, many))
		}
		median := func(all []measured, of func(measured) float64) float64 {
			slices.SortFunc(all, func(x, y measured) int { return cmp.Compare(of(x), of(y)) })
			return of(all[len(all)/2])
		}
		rate, cpu := func(m measured) float64 { return m.rate }, func(m measured) float64 { return m.cpu }
		b.ReportMetric(median(inLarge, rate), "sends/s")
		b.ReportMetric(median(inLarge, rate)/median(inSmall, rate), "of-small")
		b.ReportMetric(median(inLarge, cpu), "cpu-µs/send")
		b.ReportMetric(median(inLarge, cpu)/median(inSmall, cpu), "x-cpu-of-small")
		if err := errors.Join(few.Close(), many.Close()); err != nil {
			b.Fatal(err)
		}
	}
}

// scaleFile is a store's file, and how many people share the transactions in it.
type scaleFile struct {
	path   string
	people int
}

func (f scaleFile) scale(s store.Store) storetest.Scale {
	return storetest.Scale{Store: s, People: f.people, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
}

// fill puts the people and their final transactions into the file.
func (f scaleFile) fill(b *testing.B, rows int) {
	b.Helper()
	s := openAt(b, f.path)
	scale := f.scale(s)
	began := time.Now()
	var err error
	if rows == 0 {
		err = scale.AddPeople(context.Background())
	} else {
		err = scale.Finish(context.Background(), 0, rows)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d transactions in %v", rows, time.Since(began).Round(time.Second))
}

// usedBytes is how much of a file is in use or free between what is.
func usedBytes(b *testing.B, path string) int64 {
	b.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	w := &pageWalk{from: file, size: uint64(os.Getpagesize())}
	meta, err := w.newestMeta()
	if err != nil {
		b.Fatal(err)
	}
	return int64(meta.beyond) * int64(os.Getpagesize())
}

// tableBytes are the bytes of the pages of each bucket of a file, with what they leave free.
func tableBytes(b *testing.B, path string) map[string]int {
	b.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]int{}
	if err := errors.Join(db.View(func(root *bbolt.Tx) error {
		return root.ForEach(func(name []byte, in *bbolt.Bucket) error {
			stats := in.Stats()
			out[string(name)] = stats.LeafAlloc + stats.BranchAlloc
			return nil
		})
	}), db.Close()); err != nil {
		b.Fatal(err)
	}
	return out
}

// sends measures 64 writers who begin and sign payments, each with its idempotency record.
func (f scaleFile) sends(b *testing.B, s *whole) measured {
	b.Helper()
	const sends = 20_000
	scale := f.scale(s)
	scale.At = time.Now() // so that ids and times come after all others
	var next atomic.Int64
	body := make([]byte, 700)
	all := make([]wallet.Transaction, sends)
	for i := range all {
		all[i] = scale.Proposal(i * 7919) // so that a person is nobody's neighbour
		all[i].ID, all[i].CreatedAt = scale.ScaleID(i), scale.At.Add(time.Duration(i)*time.Millisecond)
	}
	return measure(b, 64, sends, func() error {
		n := int(next.Add(1)) - 1
		if n >= len(all) {
			return nil
		}
		return s.Update(context.Background(), func(tx store.Tx) error {
			t, err := store.Begin(tx, all[n], wallet.TransitionInput{By: wallet.OwnerConfirmed, At: all[n].CreatedAt})
			if err != nil {
				return err
			}
			return tx.PutIdempotencyRecord(string(t.ID), store.IdempotencyRecord{Status: 202, Body: body, ExpiresAt: t.CreatedAt.Add(24 * time.Hour)})
		})
	})
}
