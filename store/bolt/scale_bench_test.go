package bolt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// BenchmarkScale fills a store with final transactions of 100,000 people (PURSER_BENCH_ROWS of them, a million if it is not
// set), and measures the size of the file, the time of Open after Close, and after the process died, and sends of 64 writers
// beside those on a small store in the same run.
func BenchmarkScale(b *testing.B) {
	rows := 1_000_000
	if _, err := fmt.Sscan(os.Getenv("PURSER_BENCH_ROWS"), &rows); err != nil && os.Getenv("PURSER_BENCH_ROWS") != "" {
		b.Fatal(err)
	}
	folder := os.Getenv("PURSER_BENCH_FOLDER") // holds a store that an earlier run has filled
	if folder == "" {
		folder = b.TempDir()
	}
	small, large := filepath.Join(b.TempDir(), "small.db"), filepath.Join(folder, fmt.Sprint("large", rows, ".db"))
	fillAt(b, small, 2000)
	empty := usedBytes(b, small)
	if _, err := os.Stat(large); err != nil {
		fillAt(b, large, rows)
	}
	each := float64(usedBytes(b, large)-empty) / float64(rows-2000)
	for b.Loop() {
		began := time.Now()
		s := openAt(b, large)
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "ms-open")
		few := openAt(b, small)
		first := rows + int(time.Now().UnixMilli()%1_000_000_000)*1000
		a, c := 0.0, 0.0
		for range 3 {
			c += sendsInto(b, few, first)
			a += sendsInto(b, s, first)
			first += 100_000
		}
		b.ReportMetric(a/3, "sends/s")
		b.ReportMetric(a/c, "of-small")
		if err := few.Close(); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(each, "B/transaction")
}

func benchScale(s store.Store) storetest.Scale {
	return storetest.Scale{Store: s, People: 100_000, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
}

// fillAt makes a store with final transactions at a path.
func fillAt(b *testing.B, path string, rows int) {
	b.Helper()
	s := openAt(b, path)
	scale := benchScale(s)
	began := time.Now()
	if err := scale.Settle(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := scale.Finish(context.Background(), 0, rows); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
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

// sendsInto measures the rate at which 64 writers begin and sign payments, each with its idempotency record.
func sendsInto(b *testing.B, s *whole, first int) float64 {
	b.Helper()
	const sends = 20_000
	scale := benchScale(s)
	scale.At = scale.At.AddDate(0, 1, 0)
	var next atomic.Int64
	body := make([]byte, 700)
	all := make([]wallet.Transaction, sends)
	for i := range all {
		all[i] = scale.Proposal((first + i*7919) % (1 << 40))
		all[i].ID = scale.ScaleID(first + i)
	}
	m := measure(b, 64, sends, func() error {
		n := int(next.Add(1)) - 1
		if n >= len(all) {
			return nil
		}
		return s.Update(context.Background(), func(tx store.Tx) error {
			t, err := store.Begin(tx, all[n], wallet.TransitionInput{By: wallet.OwnerConfirmed, At: all[n].CreatedAt})
			if err != nil {
				return err
			}
			return tx.PutAnswer(string(t.ID), store.Answer{Status: 202, Body: body, ExpiresAt: t.CreatedAt.Add(24 * time.Hour)})
		})
	})
	return m.rate
}
