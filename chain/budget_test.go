package chain

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"purser/wallet"
)

// queue has calls of a class wait in a budget, in order; each reports its name when its turn comes.
func queue(b *budget, turns chan<- string, names map[class][]string) {
	for _, c := range []class{inBackground, forList, forPerson, signedPayment} {
		for _, name := range names[c] {
			go func() {
				if b.take(context.Background(), c) == nil {
					turns <- name
				}
			}()
			synctest.Wait()
			time.Sleep(time.Microsecond) // in the bubble's time: who comes later has waited less
		}
	}
}

// TestABudgetGivesSoManyTurnsASecond, and as many more at once after a rest, and no more than that.
func TestABudgetGivesSoManyTurnsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		time.Sleep(time.Hour)
		began := time.Now()
		var at []time.Duration
		for range 35 {
			if err := b.take(t.Context(), forPerson); err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(began))
		}
		if at[9] != 0 || at[10] != 100*time.Millisecond || at[34] != 2500*time.Millisecond {
			t.Errorf("turns came at %v", at)
		}
	})
}

func TestSignedPaymentsGoFirstThenPeopleThenListsThenTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1)
		if err := b.take(t.Context(), inBackground); err != nil { // nothing is left
			t.Fatal(err)
		}
		turns := make(chan string, 10)
		queue(b, turns, map[class][]string{inBackground: {"collect 1", "collect 2"}, forPerson: {"person 1", "person 2"}, forList: {"list 1", "list 2"}, signedPayment: {"signed 1", "signed 2"}})
		var got []string
		for range 8 {
			got = append(got, <-turns)
		}
		want := []string{"signed 1", "signed 2", "person 1", "person 2", "list 1", "list 2", "collect 1", "collect 2"}
		if !slices.Equal(got, want) {
			t.Errorf("turns were %v", got)
		}
	})
}

// TestALastingCrowdKeepsNobodyOutForGood: of ten turns one is for whoever of the others waits longest.
func TestALastingCrowdKeepsNobodyOutForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1)
		if err := b.take(t.Context(), forPerson); err != nil {
			t.Fatal(err)
		}
		turns := make(chan string, 100)
		crowd := make([]string, 40)
		for i := range crowd {
			crowd[i] = "signed"
		}
		queue(b, turns, map[class][]string{inBackground: {"collect"}, forPerson: {"person"}, signedPayment: crowd})
		var got []string
		for range len(crowd) + 2 {
			got = append(got, <-turns)
		}
		if at := slices.Index(got, "collect"); at != 9 {
			t.Errorf("the one that waited longest had turn %d", at+1)
		}
		if at := slices.Index(got, "person"); at != 19 {
			t.Errorf("the next had turn %d", at+1)
		}
	})
}

// TestWhoLeavesTheQueueUsesNothingUp: those behind them move up, and the bound stays what it is.
func TestWhoLeavesTheQueueUsesNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(2)
		for range 2 {
			if err := b.take(t.Context(), forPerson); err != nil {
				t.Fatal(err)
			}
		}
		var left sync.WaitGroup
		for range 5 {
			left.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				if err := b.take(ctx, forPerson); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("whose time was over: %v", err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := b.take(context.Background(), forPerson); err != nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("the one behind them: %v, after %v", err, time.Since(began))
		}
		left.Wait()
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.take(ended, signedPayment); !errors.Is(err, context.Canceled) {
			t.Errorf("who is gone already: %v", err)
		}
		began = time.Now()
		if err := b.take(t.Context(), forPerson); err != nil || time.Since(began) != 500*time.Millisecond {
			t.Errorf("the next: %v, after %v", err, time.Since(began))
		}
	})
}

func TestNoBudgetIsNoBound(t *testing.T) {
	b := newBudget(0)
	for range 100_000 {
		if err := b.take(t.Context(), inBackground); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEveryCallIsOfItsClass: a budget that is used up has all wait, and they go in the order of what they are for.
func TestEveryCallIsOfItsClass(t *testing.T) {
	signed := signedTransfer(t, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	unsigned := signed.query
	unsigned.Signature = wallet.Signature{}
	at := testKey(1).address()
	for name, test := range map[string]struct {
		want class
		call func(context.Context, *Client) error
	}{
		"Broadcast": {signedPayment, func(ctx context.Context, c *Client) error { return c.Broadcast(ctx, signed.wire) }},
		"Statuses": {signedPayment, func(ctx context.Context, c *Client) error {
			_, err := c.Statuses(ctx, []wallet.Signature{{1}})
			return err
		}},
		"Find": {signedPayment, func(ctx context.Context, c *Client) error { _, err := c.Find(ctx, signed.query); return err }},
		"FindEverywhere": {signedPayment, func(ctx context.Context, c *Client) error {
			_, _, err := c.FindEverywhere(ctx, signed.query)
			return err
		}},
		"FinalizedBlockHeight": {signedPayment, func(ctx context.Context, c *Client) error { _, err := c.FinalizedBlockHeight(ctx); return err }},
		"CanSeeBackTo":         {signedPayment, func(ctx context.Context, c *Client) error { _, err := c.CanSeeBackTo(ctx, 1); return err }},
		"Find, unsigned":       {forPerson, func(ctx context.Context, c *Client) error { _, err := c.Find(ctx, unsigned); return err }},
		"Blockhash":            {forPerson, func(ctx context.Context, c *Client) error { _, err := c.Blockhash(ctx); return err }},
		"Accounts": {forPerson, func(ctx context.Context, c *Client) error {
			_, err := c.Accounts(ctx, []wallet.Address{at})
			return err
		}},
		"Holdings": {forPerson, func(ctx context.Context, c *Client) error { _, err := c.Holdings(ctx, at); return err }},
		"History": {forList, func(ctx context.Context, c *Client) error {
			_, _, err := c.History(ctx, at, wallet.Signature{}, 1)
			return err
		}},
		"Activities": {forList, func(ctx context.Context, c *Client) error {
			_, err := c.Activities(ctx, wallet.Signature{1}, at)
			return err
		}},
		"Activities, in the background": {inBackground, func(ctx context.Context, c *Client) error {
			_, err := c.Activities(InBackground(ctx), wallet.Signature{1}, at)
			return err
		}},
		"Payments": {inBackground, func(ctx context.Context, c *Client) error {
			_, err := c.Payments(ctx, at, signed.query.Reference, wallet.Address{}, map[wallet.Signature]bool{})
			return err
		}},
		"GenesisCluster": {inBackground, func(ctx context.Context, c *Client) error { _, err := c.GenesisCluster(ctx); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clientOf(t, "http://127.0.0.1:1")
				b := newBudget(1)
				b.bucket = rate.NewLimiter(rate.Every(time.Hour), 1)
				b.bucket.Allow() // nothing is left
				c.nodes[0].budget = b
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- test.call(ctx, c) }()
				synctest.Wait()
				var waits [classes]int
				for c, line := range b.waiting {
					waits[c] = len(line)
				}
				var want [classes]int
				want[test.want] = 1
				if waits != want {
					t.Errorf("%v wait, by class, want %v", waits, want)
				}
				cancel()
				if err := <-ended; err == nil || wallet.CodeOf(err) != wallet.NetworkError {
					t.Errorf("it ended with %v", err)
				}
			})
		})
	}
}

// counting is a node that answers with what a test says, and counts the calls of each method.
func counting(t *testing.T, o Options, answer func(method string) string) (*Client, func(method string) int) {
	t.Helper()
	var mu sync.Mutex
	calls := map[string]int{}
	o.RPCURLs = []string{newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		mu.Lock()
		calls[request.Method]++
		said := answer(request.Method)
		mu.Unlock()
		io.WriteString(w, said)
	}))}
	o.Cluster = wallet.Localnet
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, func(method string) int {
		mu.Lock()
		defer mu.Unlock()
		return calls[method]
	}
}

// TestSendsShareWhatTheyHaveInCommon, for two seconds; what is not shared, or is older, is asked for.
func TestSendsShareWhatTheyHaveInCommon(t *testing.T) {
	now := time.Now()
	hashes := 0
	c, calls := counting(t, Options{Share: true, Now: func() time.Time { return now }}, func(method string) string {
		switch method {
		case "getLatestBlockhash":
			hashes++
			return result(aBlockhash)
		case "getFeeForMessage":
			return result(`{"context":{"slot":90},"value":5000}`)
		}
		return result(`[{"prioritizationFee":7}]`)
	})
	build := func(transfer wallet.Transaction) []byte {
		transfer.From = testKey(1).address()
		message, err := buildTransfer(transfer)
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	plain := build(wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	another := build(wallet.Transaction{To: testKey(4).address(), Reference: testKey(5).address(), Amount: 6})
	priced := build(wallet.Transaction{To: testKey(2).address(), Amount: 5, ComputeUnitLimit: 1_000, ComputeUnitPrice: 5})
	dearer := build(wallet.Transaction{To: testKey(2).address(), Amount: 5, ComputeUnitLimit: 1_000, ComputeUnitPrice: 6})
	ask := func(messages ...[]byte) {
		t.Helper()
		for _, message := range messages {
			if _, err := c.Fee(t.Context(), message); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if _, err := c.Blockhash(t.Context()); err != nil {
				t.Fatal(err)
			}
			if price, err := c.UnitPrice(t.Context(), []wallet.Address{{1}}); err != nil || price != 7 {
				t.Fatal(price, err)
			}
		}
	}
	want := func(when string, hashes, fees, prices int) {
		t.Helper()
		if calls("getLatestBlockhash") != hashes || calls("getFeeForMessage") != fees || calls("getRecentPrioritizationFees") != prices {
			t.Errorf("%s: %d blockhashes, %d fees and %d prices were asked for, want %d, %d, %d", when,
				calls("getLatestBlockhash"), calls("getFeeForMessage"), calls("getRecentPrioritizationFees"), hashes, fees, prices)
		}
	}
	ask(plain, another, plain)
	want("the same costs", 1, 1, 1)
	ask(priced, dearer, priced)
	want("other costs", 1, 3, 1)
	if _, err := c.UnitPrice(t.Context(), []wallet.Address{{2}}); err != nil {
		t.Fatal(err)
	}
	want("other accounts", 1, 3, 2)
	now = now.Add(2*time.Second - 1)
	ask(plain)
	want("nearly two seconds later", 1, 3, 2)
	now = now.Add(1)
	ask(plain)
	want("two seconds later", 2, 4, 3)
	now = now.Add(-time.Hour) // the clock was set back
	ask(plain)
	want("in another time", 3, 5, 4)
}

// TestNothingIsSharedUnlessItIsSaid, and no failure ever is.
func TestNothingIsSharedUnlessItIsSaid(t *testing.T) {
	for name, share := range map[string]bool{"not shared": false, "failures": true} {
		c, calls := counting(t, Options{Share: share, Now: time.Now}, func(string) string {
			if share {
				return `{}`
			}
			return result(aBlockhash)
		})
		for range 3 {
			if _, err := c.Blockhash(t.Context()); (err != nil) != share {
				t.Fatal(err)
			}
		}
		if calls("getLatestBlockhash") != 3 {
			t.Errorf("%s: it was asked for %d times", name, calls("getLatestBlockhash"))
		}
	}
}

// TestManyWhoAskAtOnceAskOnce: one asks for all; when that one goes away, another does.
func TestManyWhoAskAtOnceAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int, string]
		asked := 0
		ask := func(ctx context.Context) (string, error) {
			asked++ // one at a time
			select {
			case <-time.After(time.Second):
				return "known", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		first, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := s.get(first, 1, time.Now, time.Minute, ask); !errors.Is(err, context.Canceled) {
				t.Errorf("who went away: %v", err)
			}
		})
		synctest.Wait()
		for range 20 {
			all.Go(func() {
				if value, err := s.get(t.Context(), 1, time.Now, time.Minute, ask); value != "known" || err != nil {
					t.Errorf("%q, %v", value, err)
				}
			})
		}
		impatient, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		all.Go(func() {
			if _, err := s.get(impatient, 1, time.Now, time.Minute, ask); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("who could not wait: %v", err)
			}
		})
		<-impatient.Done()
		synctest.Wait()
		leave()
		all.Wait()
		if asked != 2 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}

// TestAFailureIsEverybodysWhoWaitedForIt: a node that hangs is not asked by one after the other.
func TestAFailureIsEverybodysWhoWaitedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shared[int, string]
		broken := errors.New("broken")
		asked := 0
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				_, err := s.get(t.Context(), 1, time.Now, time.Minute, func(context.Context) (string, error) {
					asked++
					time.Sleep(10 * time.Second)
					return "", broken
				})
				if !errors.Is(err, broken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if asked != 1 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}
