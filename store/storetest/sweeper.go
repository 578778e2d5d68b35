package storetest

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
)

// testSweeper runs two nodes that sweep: one does at a time, and what is over goes in time also when that one is gone.
func testSweeper(t *testing.T, open Open) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, t.TempDir())
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		start := func(node string) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			sweeper := store.Sweeper{Store: s, Node: node, Now: time.Now, Log: slog.New(slog.DiscardHandler), Every: time.Minute}
			ended := make(chan error, 1)
			go func() { ended <- sweeper.Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		put := func(n int) {
			update(t, s, func(tx store.Tx) error {
				var all []store.Button
				for i := range n {
					all = append(all, store.Button{Nonce: fmt.Sprint(time.Now().Unix(), " ", i), ExpiresAt: time.Now().Add(time.Second)})
				}
				return tx.PutButtons(all)
			})
		}
		left := func() (n int) {
			view(t, s, func(tx store.Tx) error {
				for i := range 1200 {
					if _, err := tx.Button(fmt.Sprint(time.Now().Unix()-90, " ", i)); err == nil {
						n++
					}
				}
				return nil
			})
			return n
		}
		stopA := start("a")
		synctest.Wait()
		stopB := start("b")
		synctest.Wait()
		update(t, s, func(tx store.Tx) error {
			leads, err := tx.Lead("sweep", "b", time.Now(), time.Minute)
			same(t, "the second leads", leads, false)
			return err
		})
		put(1200) // more than go in one transaction
		time.Sleep(90 * time.Second)
		same(t, "swept", left(), 0)
		stopA()
		time.Sleep(4 * time.Minute) // its lease
		put(10)
		time.Sleep(90 * time.Second)
		same(t, "swept by the other", left(), 0)
		stopB()
		put(10)
		time.Sleep(90 * time.Second)
		same(t, "the control: nobody sweeps", left(), 10)
	})
}
