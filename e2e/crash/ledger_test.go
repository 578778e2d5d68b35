package crash

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"purser/e2e/harness"
	"purser/store"
	"purser/store/local"
	"purser/store/storetest"
	"purser/wallet"
)

// settled waits until purser has nothing left to do, stops it politely, and compares what it
// remembers with what the chain holds: paid is what Alice's device has signed and purser acknowledged.
func (c *couple) settled(paid []payment) {
	c.Helper()
	var want uint64
	for _, p := range paid {
		c.sent(p)
		want += p.lamports
	}
	c.toldOfAll(paid)
	c.finish()
	if got := c.world.Solana.Balance(c.bob.Device.Address()); got != want {
		c.Errorf("Bob holds %d lamports, the acknowledged payments are %d", got, want)
	}
	fees := uint64(len(paid)) * 5000
	if got := c.world.Solana.Balance(c.alice.Device.Address()); got != funds-want-fees {
		c.Errorf("Alice holds %d lamports, want %d", got, funds-want-fees)
	}
	c.look(func(tx store.Tx) { c.once(tx, paid) })
}

// finish waits until nothing can change any more, and leaves purser stopped, politely. A job that was under way at many
// kills in a row waits for up to a minute (store.ExpiredLeaseWait), hence the long patience.
func (c *couple) finish() {
	c.Helper()
	for deadline := time.Now().Add(2 * harness.Wait); ; {
		c.purser.Stop()
		left := c.left()
		// Telegram drops an update when the next request for updates comes, which a stop may have been faster than.
		if n := c.world.Telegram.Pending(); n != 0 {
			left = append(left, fmt.Sprintf("%d updates wait at Telegram", n))
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, what := range left {
				c.Error(what)
			}
			return
		}
		c.purser.Start()
		<-time.After(time.Second) // some more blocks
	}
}

// left lists what the stopped store still has to do, but for what waits for a person.
func (c *couple) left() (left []string) {
	c.Helper()
	c.look(func(tx store.Tx) {
		open, err := tx.UnsettledTransactions(wallet.Transaction{}, math.MaxInt32)
		c.must(err)
		for _, t := range open {
			if t.Status != wallet.AwaitingConfirmation && t.Status != wallet.AwaitingSignature {
				left = append(left, fmt.Sprintf("%s of %s SOL is stuck: %s", t.ID, t.Money(), t.Status))
			}
		}
		events, err := tx.PendingEvents(math.MaxInt32)
		c.must(err)
		for _, e := range events {
			left = append(left, fmt.Sprintf("%s was told nobody", e.Name))
		}
	})
	c.open(func(s store.Store) {
		for _, u := range storetest.Jobs(c, s, store.Inbox) {
			left = append(left, fmt.Sprintf("update %s is left in the inbox", u.ID))
		}
		for _, r := range storetest.Jobs(c, s, store.Outbox) {
			left = append(left, fmt.Sprintf("reply %s is left in the outbox", r.ID))
		}
	})
	return left
}

func (c *couple) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// look reads the stopped store.
func (c *couple) look(at func(store.Tx)) {
	c.Helper()
	c.open(func(s store.Store) {
		c.must(s.View(context.Background(), func(tx store.Tx) error {
			at(tx)
			return nil
		}))
	})
}

// open opens the stopped store.
func (c *couple) open(with func(store.Store)) {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.purser.Dir, "purser.key"))
	c.must(err)
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	c.must(err)
	s, err := local.Open(local.Options{Path: filepath.Join(c.purser.Dir, "purser.db"), MasterKey: key, Random: rand.Reader, Kinds: storetest.Kinds()})
	c.must(err)
	defer func() { c.must(s.Close()) }()
	with(s)
}

// once checks that each payment is one confirmed transaction, one receipt, and one on the chain.
func (c *couple) once(tx store.Tx, paid []payment) {
	c.Helper()
	landed := map[string]int{}
	for _, l := range c.world.Solana.Landed() {
		landed[l.Signature]++
		if l.Err != nil {
			c.Errorf("%s failed on the chain: %v", l.Signature, l.Err)
		}
	}
	sent, received := c.confirmedOf(tx, c.alice.ID), c.confirmedOf(tx, c.bob.ID)
	for _, p := range paid {
		if len(sent[p.lamports]) != 1 || len(received[p.lamports]) != 1 {
			c.Errorf("%s SOL: sent %d times, received %d times", p.amount(), len(sent[p.lamports]), len(received[p.lamports]))
			continue
		}
		signature := sent[p.lamports][0].Signature
		if received[p.lamports][0].Signature != signature || landed[signature.String()] != 1 {
			c.Errorf("%s SOL: landed %d times as %s", p.amount(), landed[signature.String()], signature)
		}
	}
	if len(sent) != len(paid) || len(received) != len(paid) {
		c.Errorf("%d payments were acknowledged, %d are sent, %d received", len(paid), len(sent), len(received))
	}
}

// confirmedOf groups a person's transactions that moved money by their amounts. What the faucet gave them is left out: the
// watcher announces it when it gets to it, and never twice.
func (c *couple) confirmedOf(tx store.Tx, telegramID int64) map[uint64][]wallet.Transaction {
	c.Helper()
	user, err := tx.UserByTelegram(telegramID)
	c.must(err)
	all, err := tx.TransactionsOf(user.ID, store.Page{Limit: math.MaxInt32})
	c.must(err)
	moved := map[uint64][]wallet.Transaction{}
	gifts := 0
	for _, t := range all {
		if t.Kind == wallet.Receive && t.Amount == funds {
			if gifts++; gifts > 1 {
				c.Errorf("%d has %d receipts of what the faucet gave", telegramID, gifts)
			}
			continue
		}
		if t.Status == wallet.Confirmed || t.Status == wallet.Received {
			moved[t.Amount] = append(moved[t.Amount], t)
		}
	}
	return moved
}
