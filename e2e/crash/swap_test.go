package crash

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

// TestKilledWhileSwapping ends the process at random moments while Alice goes on swapping: each swap that purser acknowledged is on the
// chain once, or ended without having moved anything; and what the store says that was paid and received adds up to what the chain holds,
// to the unit.
func TestKilledWhileSwapping(t *testing.T) {
	t.Parallel()
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	random := seeded(t)
	w, market := harness.MarketWorld(t, 100*time.Millisecond)
	c := &couple{T: t, world: w, delays: watchDelays(t), purser: harness.NewProduct(t, binary, w, market...), alice: harness.NewPerson(t, w, telegram.Alice)}
	c.purser.Start()
	c.alice.Connect()
	c.alice.Fund(funds)

	over, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(over)
		for range rounds {
			<-time.After(time.Duration(5+random.IntN(900)) * time.Millisecond)
			if err := errors.Join(c.purser.Kill(), c.purser.Launch()); err != nil {
				failed <- err
				return
			}
		}
	}()
	asked := 0
	for going := true; going; asked++ {
		select {
		case <-over:
			going = false // one more, by a process that lives
		default:
		}
		c.swap(nth(asked), asked%5 == 4)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	c.finish()
	c.swapsAddUp(asked)
}

// swap asks for a quote, confirms it and signs it, unless it is only to be confirmed. A quote can end while the process is dead, and a price
// can move: then the swap has ended, which its card says.
func (c *couple) swap(p payment, onlyConfirm bool) {
	c.Helper()
	c.alice.Say("/swap " + p.amount() + " SOL USDC")
	mine := func(m telegram.Message) bool { return strings.Contains(m.Text, p.amount()+" SOL") }
	card := c.alice.Hear("the quote for "+p.amount(), func(m telegram.Message) bool {
		_, confirm := m.Button("Confirm")
		return mine(m) && confirm || strings.Contains(m.Text, "Try again")
	})
	b, ok := card.Button("Confirm")
	if !ok {
		return // the market was asked by a process that died
	}
	c.alice.Tap(card, b)
	ended := func(m telegram.Message) bool {
		return mine(m) && (strings.HasPrefix(m.Text, "⌛") || strings.HasPrefix(m.Text, "❌"))
	}
	m := c.alice.Hear("the link for "+p.amount(), func(m telegram.Message) bool { return mine(m) && harness.SignLink(m) != "" || ended(m) })
	if ended(m) || onlyConfirm {
		return
	}
	var signing *harness.Signing
	err := c.patiently("approve", func(ctx context.Context) (err error) {
		signing, err = c.alice.Device.Approve(ctx, harness.SignLink(m))
		return err
	})
	if err == nil {
		err = c.patiently("hand the signature in", func(ctx context.Context) error {
			_, err := signing.Send(ctx)
			return err
		})
	}
	var refused *harness.Refused
	if err != nil && !errors.As(err, &refused) {
		c.Fatal(err)
	}
	if err == nil {
		c.alice.Hear("the end of "+p.amount(), func(m telegram.Message) bool {
			return mine(m) && strings.HasPrefix(m.Text, "✅") || ended(m)
		})
	}
}

// swapsAddUp compares the store with the chain.
func (c *couple) swapsAddUp(asked int) {
	c.Helper()
	landed := map[string]int{}
	for _, l := range c.world.Solana.Landed() {
		if l.Err == nil {
			landed[l.Signature]++
		}
	}
	usdc, sol := uint64(0), uint64(funds)
	done := 0
	c.look(func(tx store.Tx) {
		user, err := tx.UserByTelegram(c.alice.ID)
		c.must(err)
		all, err := tx.TransactionsOf(user.ID, store.Page{Limit: math.MaxInt32})
		c.must(err)
		amounts := map[uint64]int{}
		for _, t := range all {
			if t.Kind != wallet.Swap {
				continue
			}
			if amounts[t.Amount]++; amounts[t.Amount] > 1 && t.RetryOf == "" {
				c.Errorf("%s SOL was asked for once and proposed again as %s", t.Money(), t.ID)
			}
			switch terms := t.SwapTerms(); {
			case t.Status == wallet.Confirmed:
				done++
				usdc, sol = usdc+terms.Received, sol-t.Amount-t.Fee-t.Rent
				if landed[t.Signature.String()] != 1 || terms.Received < terms.Minimum || terms.Received == 0 {
					c.Errorf("%s landed %d times and brought %d of at least %d", t.ID, landed[t.Signature.String()], terms.Received, terms.Minimum)
				}
			case landed[t.Signature.String()] != 0 && !t.Signature.IsZero():
				c.Errorf("%s is called %s, and is on the chain", t.ID, t.Status)
			case t.Landing != nil:
				sol -= t.Landing.Fee
			}
		}
	})
	if done == 0 || done < asked/4 {
		c.Errorf("of %d swaps %d were made", asked, done)
	}
	address := c.alice.Device.Address()
	if got := c.world.Solana.TokenBalance(address, "USDC"); got != usdc {
		c.Errorf("Alice holds %d of USDC, her swaps brought %d", got, usdc)
	}
	if got := c.world.Solana.Balance(address); got != sol {
		c.Errorf("Alice holds %d lamports, by her swaps it is %d", got, sol)
	}
	c.Logf("%d swaps of %d over the kills", done, asked)
}
