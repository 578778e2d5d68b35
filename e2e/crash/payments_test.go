package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/telegram"
	"purser/wallet"
)

// couple is Alice, who pays, and Bob, who is paid, with the purser between them.
type couple struct {
	*testing.T
	world      *sandbox.World
	purser     *harness.Product
	alice, bob *harness.Person
	delays     *schedulingDelays
}

const funds = 1_000_000_000_000

func newCouple(t *testing.T, slot time.Duration, extra ...string) *couple {
	t.Helper()
	w := harness.World(t, slot)
	c := &couple{T: t, world: w, delays: watchDelays(t), purser: harness.NewProduct(t, binary, w, extra...),
		alice: harness.NewPerson(t, w, telegram.Alice), bob: harness.NewPerson(t, w, telegram.Bob)}
	c.purser.Start()
	c.alice.Connect()
	c.bob.Connect()
	c.alice.Fund(funds)
	return c
}

// payment is one that Alice makes. No two have the same amount, so that each can be told apart in
// the chat and on the chain.
type payment struct {
	lamports uint64
	card     telegram.Message
}

func (p payment) amount() string { return wallet.Lamports(p.lamports).String() }

// nth is a distinct amount.
func nth(n int) payment { return payment{lamports: 10_000_000 + uint64(n)*1_000} }

// shows tells whether a message is the card of a payment.
func (p payment) shows(m telegram.Message) bool {
	return strings.Contains(m.Text, p.amount()+" SOL") && !strings.Contains(m.Text, "received")
}

// propose says /send and waits for the card.
func (c *couple) propose(p payment) payment {
	c.Helper()
	c.alice.Say("/send " + p.amount() + " SOL " + c.bob.Device.Address())
	p.card = c.alice.Hear("the card of "+p.amount(), func(m telegram.Message) bool {
		_, ok := m.Button("Confirm")
		return (ok || wantsAmount(m)) && p.shows(m)
	})
	return p
}

// wantsAmount tells whether a card has no Confirm, because a fraud rule wants the amount typed: as of the eleventh payment within an hour.
func wantsAmount(m telegram.Message) bool { return strings.Contains(m.Text, "send me the amount: ") }

// confirm taps Confirm, now and then twice, or types the amount, and waits for the link to sign.
func (c *couple) confirm(p payment, taps int) (link string) {
	c.Helper()
	b, ok := p.card.Button("Confirm")
	switch {
	case ok:
		for range taps {
			c.alice.Tap(p.card, b)
		}
	case wantsAmount(p.card):
		c.alice.Say(p.amount() + " SOL")
	default:
		c.Fatalf("the card of %s has no Confirm", p.amount())
	}
	m := c.alice.Hear("the sign link of "+p.amount(), func(m telegram.Message) bool { return p.shows(m) && harness.SignLink(m) != "" })
	return harness.SignLink(m)
}

// patiently does something over HTTP again and again until purser has answered: a person whose page
// cannot reach it taps again.
func (c *couple) patiently(what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), harness.Wait)
	defer cancel()
	for {
		err := do(ctx)
		var refused *harness.Refused
		if err == nil || errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(20 * time.Millisecond): // the pace of an impatient person
		}
	}
}

// sign approves on the device and hands the signature in until purser has acknowledged it.
func (c *couple) sign(link string) {
	c.Helper()
	var signing *harness.Signing
	err := c.patiently("approve", func(ctx context.Context) (err error) {
		signing, err = c.alice.Device.Approve(ctx, link)
		return err
	})
	if err == nil {
		err = c.patiently("hand the signature in", func(ctx context.Context) error {
			_, err := signing.Send(ctx)
			return err
		})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// sent waits until the card says that the payment is on the chain.
func (c *couple) sent(p payment) {
	c.Helper()
	c.alice.Hear("the end of "+p.amount(), func(m telegram.Message) bool {
		return p.shows(m) && strings.Contains(m.Text, "Sent "+p.amount()) && strings.Contains(m.Text, "Signature")
	})
}

// told waits until Bob knows of the payment.
func (c *couple) told(p payment) {
	c.Helper()
	c.bob.Hear("Bob's news of "+p.amount(), func(m telegram.Message) bool {
		return strings.Contains(m.Text, "received "+p.amount()+" SOL")
	})
}

// toldOfAll waits until Bob knows of all payments. Payments that come in faster than his chat takes messages share one.
func (c *couple) toldOfAll(paid []payment) {
	c.Helper()
	c.bob.Hear(fmt.Sprintf("Bob's news of %d payments", len(paid)), func(telegram.Message) bool {
		var single strings.Builder
		var count, sum uint64 // payments that messages about several speak of
		for _, m := range c.world.Telegram.Messages(c.bob.ID) {
			if found := several.FindStringSubmatch(m.Text); found != nil {
				n, err := strconv.ParseUint(found[1], 10, 64)
				c.must(err)
				total, err := wallet.ParseDecimal(found[2])
				c.must(err)
				received, err := total.In(wallet.SOL.Decimals)
				c.must(err)
				count, sum = count+n, sum+received.Units
				continue
			}
			single.WriteString(m.Text)
		}
		for _, p := range paid {
			if strings.Contains(single.String(), "received "+p.amount()+" SOL") {
				continue
			}
			if count == 0 || sum < p.lamports {
				return false
			}
			count, sum = count-1, sum-p.lamports
		}
		return true
	})
}

// seeded draws from a seed that is logged, so that a failure can be run again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
