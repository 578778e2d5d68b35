package settle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/e2e/world"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// TestALostJobComesBackWhenSettlingBegins: a signed payment without its job was never broadcast.
func TestALostJobComesBackWhenSettlingBegins(t *testing.T) {
	r := newHarness(t)
	payments := map[wallet.Signature]bool{}
	const many = 1_001 // more than two pages
	for n := range many {
		t := r.sign(n)
		payments[t.Signature] = true
		r.Must(r.Update(func(tx store.Tx) error { return tx.RemoveJobs(store.Settlement, store.JobID(t.ID)) }))
	}
	node := newScripted()
	r.Settler.Chain = node
	stop := r.run(r.Settler)
	defer stop()
	for len(payments) > 0 {
		delete(payments, await(t, "a broadcast of every payment", node.sent))
	}
}

// TestALostJobComesBackWithinAnHour, while settling runs, and every hour again: also when the last look at all open
// transactions failed.
func TestALostJobComesBackWithinAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, log := newScripted(), new(strings.Builder)
		db := &unreadable{Store: world.OpenStore(t)}
		s := &settle.Settler{Store: db, Chain: node, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil)), Pace: settle.DefaultPace(), Node: "a"}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		began := time.Now()
		lose := func(n byte) wallet.Signature {
			signature := wallet.Signature{1, n}
			node.lands(signature, true)
			lost := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprint("tx_", n)), Kind: wallet.Send, Status: wallet.AwaitingSignature, From: wallet.Address{1}, To: wallet.Address{2},
				Token: wallet.SOL, Amount: 5, Fee: 5_000, Signature: signature, Signed: append([]byte{1}, signature[:]...), CreatedAt: time.Now().UTC(), Deadline: time.Now().Add(time.Hour).UTC()}
			err := db.Store.Update(ctx, func(tx store.Tx) error {
				_, err := store.Begin(tx, lost, wallet.TransitionInput{By: wallet.DeviceSigned, At: time.Now().UTC()})
				return errors.Join(err, tx.RemoveJobs(store.Settlement, store.JobID(lost.ID)))
			})
			if err != nil {
				t.Fatal(err)
			}
			return signature
		}
		sent := func(want ...wallet.Signature) {
			t.Helper()
			synctest.Wait()
			for _, signature := range want {
				select {
				case got := <-node.sent:
					if got != signature {
						t.Errorf("%v after the start went out %v, want %v", time.Since(began), got, signature)
					}
				default:
					t.Errorf("%v after the start nothing went out", time.Since(began))
				}
			}
			for len(node.sent) > 0 {
				t.Errorf("%v after the start %v went out", time.Since(began), <-node.sent)
			}
		}

		time.Sleep(time.Minute)
		first := lose(1)
		time.Sleep(58 * time.Minute)
		sent()
		time.Sleep(2 * time.Minute) // one hour and a minute
		sent(first)

		second := lose(2)
		time.Sleep(58 * time.Minute)
		db.hangs.Store(true)
		time.Sleep(2 * time.Minute) // two hours and a minute, of which the last look saw nothing
		sent()
		db.hangs.Store(false)
		time.Sleep(58 * time.Minute)
		sent()
		time.Sleep(2 * time.Minute)
		sent(second)

		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if said := log.String(); !strings.Contains(said, "a disk that hangs") || strings.Count(said, "it was put back") != 2 {
			t.Errorf("logged %s", said)
		}
	})
}

// unreadable is a store that nothing can be read from while it hangs.
type unreadable struct {
	store.Store
	hangs atomic.Bool
}

func (u *unreadable) View(ctx context.Context, read func(store.Tx) error) error {
	if u.hangs.Load() {
		return errors.New("a disk that hangs")
	}
	return u.Store.View(ctx, read)
}
