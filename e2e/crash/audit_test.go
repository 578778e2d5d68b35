package crash

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

// How close to a kill a message may reach Telegram without purser having noted that: on a machine that keeps up, and at most.
const (
	baseSlack = time.Second
	maxSlack  = 5 * time.Second
)

// schedulingDelays watches how late this machine wakes what waits: everything that purser does takes as much longer.
type schedulingDelays struct {
	mu   sync.Mutex
	late []lateness
}

type lateness struct {
	at time.Time
	by time.Duration
}

// What counts as late, around which time, and how many such delays there are between a message at Telegram and its mark in the store.
const (
	delayEvery  = 20 * time.Millisecond
	delayAround = 3 * time.Second
	delaySteps  = 10
)

// watchDelays watches until the test ends.
func watchDelays(t *testing.T) *schedulingDelays {
	d := &schedulingDelays{}
	ticks := time.NewTicker(delayEvery)
	t.Cleanup(ticks.Stop)
	go func() {
		for last := time.Now(); t.Context().Err() == nil; {
			select {
			case <-t.Context().Done():
			case <-ticks.C:
			}
			now := time.Now()
			if by := now.Sub(last) - delayEvery; by > delayEvery {
				d.mu.Lock()
				d.late = append(d.late, lateness{now, by})
				d.mu.Unlock()
			}
			last = now
		}
	}()
	return d
}

// slack is how close to a kill, around a time, a message may reach Telegram without purser having noted that.
func (d *schedulingDelays) slack(at time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	worst := time.Duration(0)
	for _, l := range d.late {
		if l.at.Sub(at).Abs() < delayAround {
			worst = max(worst, l.by)
		}
	}
	return min(baseSlack+delaySteps*worst, maxSlack)
}

// audit compares, when all is quiet, what the persons were told with what purser remembers and with
// what the chain holds.
func (c *crowd) audit() {
	c.Helper()
	if n := c.world.Telegram.Pending(); n != 0 {
		c.Errorf("%d updates wait at Telegram", n)
	}
	landed := map[string]bool{}
	for _, l := range c.world.Solana.Landed() {
		switch {
		case c.before[l.Signature]:
		case landed[l.Signature]:
			c.Errorf("%s landed twice", l.Signature)
		case l.Err != nil:
			c.Errorf("%s failed on the chain: %v", l.Signature, l.Err)
		default:
			landed[l.Signature] = true
		}
	}
	balances := map[*payer]uint64{}
	for _, p := range c.people {
		balances[p] += funds
	}
	paid, answered, called := 0, 0, 0
	c.look(func(tx store.Tx) {
		for _, p := range c.people {
			proposed := c.proposedBy(tx, p.ID)
			sent, got := c.confirmedOf(tx, p.ID), c.confirmedOf(tx, p.to.ID)
			for _, o := range p.orders {
				m, s := o.card()
				if n := proposed[o.lamports]; n != 1 {
					c.Errorf("%s SOL was asked for once and proposed %d times", o.amount(), n)
				}
				if o.heard != "" {
					answered++
				}
				if o.rejected {
					called++
					if s != rejected || len(sent[o.lamports])+len(got[o.lamports]) != 0 {
						c.Errorf("%s SOL was rejected and is %s", o.amount(), s)
					}
					continue
				}
				if s != sentState || len(sent[o.lamports]) != 1 || len(got[o.lamports]) != 1 {
					c.Errorf("%s SOL: the card says %s; sent %d times, received %d times", o.amount(), s, len(sent[o.lamports]), len(got[o.lamports]))
					continue
				}
				paid++
				o.proved(c, m, landed, sent[o.lamports][0], got[o.lamports][0])
				balances[p] -= o.lamports + sent[o.lamports][0].Fee
				balances[p.to] += o.lamports
			}
		}
	})
	if len(landed) != paid {
		c.Errorf("%d payments are on the chain, %d in the chats", len(landed), paid)
	}
	for p, want := range balances {
		if got := c.world.Solana.Balance(p.Device.Address()); got != want {
			c.Errorf("%d holds %d lamports, want %d", p.ID, got, want)
		}
	}
	c.toldOnce()
	c.Logf("%d payments (%d acknowledged to their device, %d rejected) over %d lives", paid, answered, called, len(c.kills)+1)
}

// proposedBy counts what a person asked for, by amount.
func (c *crowd) proposedBy(tx store.Tx, telegramID int64) map[uint64]int {
	c.Helper()
	user, err := tx.UserByTelegram(telegramID)
	c.must(err)
	all, err := tx.TransactionsOf(user.ID, store.Page{Limit: math.MaxInt32})
	c.must(err)
	count := map[uint64]int{}
	for _, t := range all {
		if t.Kind == wallet.Send {
			count[t.Amount]++
		}
	}
	return count
}

// proved checks that chat, store, device and chain mean the same signature.
func (o *order) proved(c *crowd, card telegram.Message, landed map[string]bool, sent, got wallet.Transaction) {
	c.Helper()
	signature := sent.Signature.String()
	switch {
	case !landed[signature]:
		c.Errorf("%s SOL is called sent, and is not on the chain", o.amount())
	case !o.made[signature]:
		c.Errorf("%s SOL: the device never made the signature that landed", o.amount())
	case o.heard != "" && o.heard != signature:
		c.Errorf("%s SOL: another signature landed than the one that was acknowledged", o.amount())
	case got.Signature != sent.Signature || signatureShape.FindString(card.Text) != signature:
		c.Errorf("%s SOL: card, record and receipt name different signatures", o.amount())
	}
}

// several is the message that tells of payments that came faster than they could be told of one by one.
var several = regexp.MustCompile(`^💰 You received (\d+) payments[^\n]*\n\n([\d.]+) SOL$`)

// toldOnce checks that what is sent as a message of its own (a question, news of a payment) was
// sent once. A second time is excused only by a kill while the first was on its way: Telegram had
// it, and purser died before it could note that (bot.deliver).
func (c *crowd) toldOnce() {
	c.Helper()
	type telling struct{ chat, text string }
	last := map[telling]time.Time{}
	excused := 0
	for _, call := range c.world.Telegram.Calls() {
		text := tags.ReplaceAllString(call.Params["text"], "")
		s, amount := readCard(text)
		what := telling{call.Params["chat_id"], string(s) + amount}
		switch {
		case call.Method == "editMessageText" && call.Status == 200 && s == received: // the message said that it arrives
			if _, told := last[what]; !told {
				last[what] = call.At
			}
			continue
		case call.Method != "sendMessage" || call.Status != 200:
			continue
		case several.MatchString(text):
			what.text = text
		case s != received && s != review:
			continue
		}
		before, again := last[what]
		last[what] = call.At
		if !again {
			continue
		}
		if !slices.ContainsFunc(c.kills, func(k time.Time) bool {
			return k.Sub(before).Abs() < c.delays.slack(before) && k.Before(call.At)
		}) {
			c.Errorf("chat %s was told twice for no reason: %s", what.chat, what.text)
		}
		excused++
	}
	folded := map[string]map[string]bool{} // by chat: messages that tell of several payments, each text once
	for what := range last {
		if several.MatchString(what.text) {
			if folded[what.chat] == nil {
				folded[what.chat] = map[string]bool{}
			}
			folded[what.chat][what.text] = true
		}
	}
	for _, to := range c.people {
		chat := fmt.Sprint(to.ID)
		var left, sum uint64 // payments that were told of in no message of their own
		for _, from := range c.people {
			for _, o := range from.orders {
				if o.to.ID != to.ID {
					continue
				}
				_, told := last[telling{chat, string(received) + o.amount()}]
				switch {
				case told && o.rejected:
					c.Errorf("%s SOL was rejected, and its recipient was told of it", o.amount())
				case !told && !o.rejected:
					left, sum = left+1, sum+o.lamports
				}
			}
		}
		for text := range folded[chat] {
			found := several.FindStringSubmatch(text)
			n, err := strconv.ParseUint(found[1], 10, 64)
			total, amountErr := wallet.ParseDecimal(found[2])
			if err != nil || amountErr != nil {
				c.Fatalf("%q: %v, %v", text, err, amountErr)
			}
			received, err := total.In(wallet.SOL.Decimals)
			if err != nil {
				c.Fatalf("%q: %v", text, err)
			}
			left, sum = left-n, sum-received.Units
		}
		// What the faucet gave may be one of several, if the watcher announced it and no message of its own did.
		if _, own := last[telling{chat, string(received) + wallet.Lamports(funds).String()}]; !own && left == ^uint64(0) {
			left, sum = left+1, sum+funds
		}
		if left != 0 || sum != 0 {
			c.Errorf("%s was told of %d payments and %d lamports too few, or too many", chat, int64(left), int64(sum))
		}
	}
	c.Logf("%d messages were sent twice, each with a kill between", excused)
}
