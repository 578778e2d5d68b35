package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// BenchmarkUpdate measures the store's Update (a reply into the outbox: sealed, numbered, durable)
// with 1, 64 and 1,024 writers, and in the same run what bbolt with its defaults does by Batch and
// by Update for a row of the same size that is neither sealed nor indexed. The ratios are how many
// times the updates of a second Batch does, and what part of its median time Update takes.
func BenchmarkUpdate(b *testing.B) {
	body := make([]byte, 300)
	for _, writers := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("%dwriters", writers), func(b *testing.B) {
			s := fresh(b)
			bare := bareBolt(b)
			put := func(tx *bbolt.Tx) error {
				rows := tx.Bucket([]byte("rows"))
				n, err := rows.NextSequence()
				if err != nil {
					return err
				}
				return rows.Put(binary.BigEndian.AppendUint64(nil, n), body)
			}
			b.ResetTimer()
			ours := measure(b, writers, b.N, func() error {
				return s.Update(context.Background(), func(tx store.Tx) error {
					return store.Enqueue(tx, []store.Reply{{Chat: 7, Body: body}}...)
				})
			})
			b.StopTimer()
			few := min(b.N, 300*writers) // a lone Batch waits 10 ms each time
			batch := measure(b, writers, few, func() error { return bare.Batch(put) })
			raw := measure(b, writers, few, func() error { return bare.Update(put) })
			b.ReportMetric(ours.rate, "updates/s")
			b.ReportMetric(ours.cpu, "cpu-µs/update")
			b.ReportMetric(ours.p50.Seconds()*1e3, "p50-ms")
			b.ReportMetric(ours.p99.Seconds()*1e3, "p99-ms")
			b.ReportMetric(batch.rate, "batch-updates/s")
			b.ReportMetric(batch.p50.Seconds()*1e3, "batch-p50-ms")
			b.ReportMetric(raw.p50.Seconds()*1e3, "raw-p50-ms")
			b.ReportMetric(ours.rate/batch.rate, "x-batch-rate")
			b.ReportMetric(ours.p50.Seconds()/raw.p50.Seconds(), "x-raw-p50")
		})
	}
}

func bareBolt(b *testing.B) *bbolt.DB {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "bare.db"), 0o600, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("rows"))
		return err
	}); err != nil {
		b.Fatal(err)
	}
	return db
}

// cpu is the time on all processors that this process has used so far.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type measured struct {
	rate     float64 // a second
	cpu      float64 // µs of this process for each update
	p50, p99 time.Duration
}

// measure runs n updates, at least a few for each writer, shared among the writers.
func measure(b *testing.B, writers, n int, update func() error) measured {
	each := max(n/writers, 3)
	taken := make([][]time.Duration, writers)
	failed := make([]error, writers)
	var group sync.WaitGroup
	begin, used := time.Now(), cpu(b)
	for w := range writers {
		group.Go(func() {
			for range each {
				start := time.Now()
				if failed[w] = update(); failed[w] != nil {
					return
				}
				taken[w] = append(taken[w], time.Since(start))
			}
		})
	}
	group.Wait()
	all := time.Since(begin)
	used = cpu(b) - used
	if err := errors.Join(failed...); err != nil {
		b.Fatal(err)
	}
	times := slices.Sorted(slices.Values(slices.Concat(taken...)))
	n = len(times)
	return measured{float64(n) / all.Seconds(), float64(used.Nanoseconds()) / 1e3 / float64(n), times[len(times)/2], times[len(times)*99/100]}
}

// BenchmarkCommand is what a slash command costs in one Update: the conversation's next step, the
// buttons, a reply, an event and the end of the update's job.
func BenchmarkCommand(b *testing.B) {
	s := fresh(b)
	ctx := context.Background()
	x := storetest.NewSamples()
	x.Conversation.Version = 0
	mustUpdate(b, s, func(tx store.Tx) error { return tx.PutUser(x.User) })
	n := int64(0)
	used := cpu(b)
	b.ResetTimer()
	for b.Loop() {
		n++
		var put []store.Job
		chat := store.ChatKey(x.User.TelegramID)
		if err := s.Update(ctx, func(tx store.Tx) (err error) {
			if _, err = tx.NoteUpdate(x.Reply.At, n); err != nil {
				return err
			}
			put, err = tx.PutJobs([]store.Job{{Queue: store.Inbox, Key: chat, Owner: chat, About: x.User.ID, At: x.Reply.At, Body: x.Reply.Body}},
				&store.Claim{Queue: store.Inbox, Node: "main", Now: x.Reply.At, Max: 1, Lease: time.Minute})
			return err
		}); err != nil {
			b.Fatal(err)
		}
		if err := s.Update(ctx, func(tx store.Tx) error {
			x.Event.ID, x.Button.Nonce = fmt.Sprint("evt_", n), fmt.Sprint("nonce_", n)
			return errors.Join(store.SaveConversation(tx, x.Conversation, x.Reply.At), tx.PutButtons([]store.Button{x.Button}),
				store.Enqueue(tx, []store.Reply{x.Reply}...), tx.Emit(x.Event), tx.DoneJobs(put[0].Ref()))
		}); err != nil {
			b.Fatal(err)
		}
		x.Conversation.Version++
	}
	b.ReportMetric(float64((cpu(b)-used).Nanoseconds())/1e3/float64(n), "cpu-µs/command")
}

// BenchmarkSweep is what it costs to remove one row whose time is over, from among many.
func BenchmarkSweep(b *testing.B) {
	s := fresh(b)
	ctx := context.Background()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mustUpdate(b, s, func(tx store.Tx) error {
		for id := range int64(b.N) {
			if _, err := tx.NoteUpdate(at, id); err != nil {
				return err
			}
		}
		return nil
	})
	b.ResetTimer()
	for removed := 500; removed == 500; {
		if err := s.Update(ctx, func(tx store.Tx) (err error) {
			removed, err = tx.Sweep(at.Add(100*time.Hour), 500)
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDeliveries is the way of an event to one webhook through the store: emitted, announced,
// turned into a delivery, and done; by 64 writers, and in the same run what bbolt with its defaults does
// by Batch for a row of the same size that is put once and deleted once.
func BenchmarkDeliveries(b *testing.B) {
	const writers = 64
	body := []byte(`"` + strings.Repeat("x", 400) + `"`)
	s, bare := fresh(b), bareBolt(b)
	mustUpdate(b, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_a"}), tx.PutWebhook(wallet.Webhook{ID: "wh", Lineage: "key"}))
	})
	var n atomic.Uint64
	ctx := context.Background()
	b.ResetTimer()
	ours := measure(b, writers, b.N, func() error {
		id := fmt.Sprint("evt_", n.Add(1))
		err := s.Update(ctx, func(tx store.Tx) error {
			return tx.Emit(wallet.Event{ID: id, Name: wallet.MessageReceived, User: "usr_a", Data: body})
		})
		if err != nil {
			return err
		}
		var fresh []store.PlacedDelivery
		if err = s.Update(ctx, func(tx store.Tx) error {
			all, err := tx.OutboxEvents(1)
			if err != nil {
				return err
			}
			if fresh, err = tx.PutDeliveries([]store.Delivery{{ID: "dlv_" + all[0].Event.ID, Webhook: "wh", User: "usr_a", Body: body}}); err != nil {
				return err
			}
			return tx.DoneOutboxEvents([]uint64{all[0].Number})
		}); err != nil {
			return err
		}
		return s.Update(ctx, func(tx store.Tx) error { return tx.DoneDeliveries([]store.Delivery{fresh[0].Delivery}) })
	})
	b.StopTimer()
	batch := measure(b, writers, min(b.N, 300*writers), func() error {
		key := binary.BigEndian.AppendUint64(nil, n.Add(1))
		err := bare.Batch(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("rows")).Put(key, body) })
		return errors.Join(err, bare.Batch(func(tx *bbolt.Tx) error { return tx.Bucket([]byte("rows")).Delete(key) }))
	})
	b.ReportMetric(ours.rate, "deliveries/s")
	b.ReportMetric(ours.p50.Seconds()*1e3, "p50-ms")
	b.ReportMetric(ours.p99.Seconds()*1e3, "p99-ms")
	b.ReportMetric(batch.rate, "batch-rows/s")
}

// BenchmarkClaim is what the next 64 deliveries of a line cost, at its beginning and in its middle, however
// many wait.
func BenchmarkClaim(b *testing.B) {
	for _, waiting := range []int{1_000, 1_000_000} {
		s := fresh(b)
		mustUpdate(b, s, func(tx store.Tx) error {
			return errors.Join(tx.PutUser(wallet.User{ID: "usr_a"}), tx.PutWebhook(wallet.Webhook{ID: "wh", Lineage: "key"}))
		})
		body := make([]byte, 300)
		for n := 0; n < waiting; {
			all := make([]store.Delivery, 0, 10_000)
			for ; len(all) < cap(all) && n < waiting; n++ {
				all = append(all, store.Delivery{ID: fmt.Sprintf("dlv_%07d", n), Webhook: "wh", User: "usr_a", Body: body})
			}
			mustUpdate(b, s, func(tx store.Tx) error { _, err := tx.PutDeliveries(all); return err })
		}
		for where, after := range map[string]uint64{"first": 0, "middle": uint64(waiting / 2)} {
			b.Run(fmt.Sprintf("%s64of%d", where, waiting), func(b *testing.B) {
				for b.Loop() {
					if err := s.View(context.Background(), func(tx store.Tx) error {
						got, err := tx.DeliveriesOf("wh", store.Position{Seq: after}, 64)
						if len(got) != 64 {
							b.Fatal(len(got))
						}
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
