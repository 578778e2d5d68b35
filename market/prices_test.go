package market

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/store/local"
	"purser/store/storetest"
	"purser/wallet"
)

// fakeSource answers from a table. Any goroutine may use it.
type fakeSource struct {
	name string
	most int

	mu    sync.Mutex
	says  map[wallet.Address]string
	fails error
	slow  time.Duration
	asked [][]wallet.Address
	how   []Priority
	now   func() time.Time
}

func (f *fakeSource) Name() string   { return f.name }
func (f *fakeSource) MaxTokens() int { return f.most }

func (f *fakeSource) Prices(ctx context.Context, priority Priority, mints []wallet.Address) ([]wallet.TokenPrice, error) {
	f.mu.Lock()
	fails, slow := f.fails, f.slow
	f.asked, f.how = append(f.asked, slices.Clone(mints)), append(f.how, priority)
	f.mu.Unlock()
	if slow > 0 {
		select {
		case <-ctx.Done():
			return nil, &UnavailableError{Source: f.name, Err: ctx.Err()}
		case <-time.After(slow):
		}
	}
	if fails != nil {
		return nil, &UnavailableError{Source: f.name, Err: fails}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []wallet.TokenPrice
	for _, mint := range mints {
		if price, ok := f.says[mint]; ok {
			out = append(out, wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice(price), At: f.now(), Source: f.name})
		}
	}
	return out, nil
}

// calls returns how often it was asked, and forgets it.
func (f *fakeSource) calls() (asked [][]wallet.Address) {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked, f.asked = f.asked, nil
	return asked
}

func (f *fakeSource) say(mint wallet.Address, price string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if price == "" {
		delete(f.says, mint)
	} else {
		f.says[mint] = price
	}
}

// rates is a Prices over a real store, with two sources.
type rates struct {
	*Prices
	t             testing.TB
	first, second *fakeSource
}

var (
	sol   wallet.Address
	bonk  = wallet.Address{7}
	other = wallet.Address{8}
)

func newRates(t testing.TB) *rates {
	t.Helper()
	folder := t.TempDir()
	s, err := local.Open(local.Options{Path: filepath.Join(folder, "purser.db"), MasterKey: make([]byte, 32), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		t.Fatal(err)
	}
	past, err := local.OpenPriceHistory(filepath.Join(folder, "prices"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(past.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	tokens, err := Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	source := func(name string) *fakeSource {
		return &fakeSource{name: name, most: 2, says: map[wallet.Address]string{sol: "100"}, now: time.Now}
	}
	r := &rates{t: t, first: source("first"), second: source("second")}
	r.Prices = &Prices{Store: s, History: past, Sources: []Source{r.first, r.second}, Tokens: tokens, Node: "a", Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	return r
}

// look returns what Lookup says of tokens, as text; "" for no price.
func (r *rates) look(mints ...wallet.Address) (out []string) {
	r.t.Helper()
	known, err := r.Lookup(r.t.Context(), mints)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, mint := range mints {
		text := known[mint].Price.String()
		if d := known[mint].Disagrees; d != nil {
			text += " (" + d.Source + " " + d.Price.String() + ")"
		}
		out = append(out, text)
	}
	return out
}

func (r *rates) want(what string, got []string, want ...string) {
	r.t.Helper()
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestAPriceIsAskedForOnce: then it is known, until it is two minutes old.
func TestAPriceIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		r.want("first", r.look(sol), "100")
		r.first.say(sol, "101")
		time.Sleep(Fresh)
		r.want("still fresh", r.look(sol), "100")
		if n := len(r.first.calls()); n != 1 {
			t.Errorf("asked %d times", n)
		}
		time.Sleep(time.Second)
		r.want("old", r.look(sol), "101")
		if len(r.second.calls()) != 0 {
			t.Error("the second source was asked for what the first one knew")
		}
	})
}

// TestTheNextSourceIsAskedForTheRest, also when the first one fails.
func TestTheNextSourceIsAskedForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		r.second.say(bonk, "0.00002")
		r.want("both", r.look(sol, bonk, other), "100", "0.00002", "")
		if asked := r.second.calls(); len(asked) != 1 || !slices.Equal(asked[0], []wallet.Address{bonk, other}) {
			t.Errorf("the second source was asked for %v", asked)
		}
		r.first.fails = errors.New("down")
		time.Sleep(Fresh + time.Second)
		r.second.say(sol, "99")
		r.want("the first is down", r.look(sol), "99")
		r.second.fails = errors.New("down")
		time.Sleep(Fresh + time.Second)
		r.want("both are down: the old price", r.look(sol), "99")
	})
}

// TestATokenWithoutAPriceIsNotAskedForAgain for a while. A source that is down says nothing of it.
func TestATokenWithoutAPriceIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		r.first.fails, r.second.fails = errors.New("down"), errors.New("down")
		r.want("nobody answers", r.look(other), "")
		r.first.fails, r.second.fails = nil, nil
		r.first.calls()
		r.want("nobody knows", r.look(other), "")
		if len(r.first.calls()) != 1 {
			t.Error("a source that was down is not asked again")
		}
		r.first.say(other, "5")
		time.Sleep(unpricedFor - time.Second)
		r.want("not asked again", r.look(other), "")
		time.Sleep(time.Second)
		r.want("asked again", r.look(other), "5")
	})
}

// TestASlowSourceHoldsNobodyUp: whoever asks waits a second and a half. Two who ask at once share the call.
func TestASlowSourceHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		r.first.slow, r.second.slow = time.Hour, time.Hour
		began := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { r.want("nothing", r.look(sol), "") })
		}
		both.Wait()
		if took := time.Since(began); took != AskTimeout {
			t.Errorf("it took %v", took)
		}
		if n := len(r.first.calls()); n != 1 {
			t.Errorf("%d calls for the same token", n)
		}
		synctest.Wait()
	})
}

// TestWhatSomebodyHoldsOrAsksForIsSampled, the well-known tokens first, then the oldest price. Tokens that have no price, and
// those that nobody asked for since yesterday, are left out.
func TestWhatSomebodyHoldsOrAsksForIsSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		held := wallet.Address{9}
		update := func(change func(tx store.Tx) error) {
			t.Helper()
			if err := r.Store.Update(t.Context(), change); err != nil {
				t.Fatal(err)
			}
		}
		at := wallet.Address{1}
		update(func(tx store.Tx) error { return tx.PutWallet(wallet.Wallet{Address: at, KeyLineage: "key_1"}) })
		update(func(tx store.Tx) error {
			return tx.PutWatch(wallet.Watch{Address: at, Accounts: []wallet.WatchedAccount{{Address: at}, {Address: wallet.Address{2}, Mint: held, Units: 1}}})
		})
		r.first.say(bonk, "0.00002")
		r.look(bonk, other)
		r.first.calls()
		sample := func() (flat []wallet.Address) {
			t.Helper()
			if err := r.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, call := range r.first.calls() {
				if len(call) > r.first.most {
					t.Errorf("%d tokens in a call", len(call))
				}
				flat = append(flat, call...)
			}
			return flat
		}
		known := r.wellKnown()
		want := func(when string, tokens ...wallet.Address) {
			t.Helper()
			if got := sample(); !slices.Equal(got, tokens) {
				t.Errorf("%s sampled %v, want %v", when, got, tokens)
			}
		}
		want("what was asked for just now is fresh:", append(slices.Clone(known), held)...)
		want("at once again")
		r.first.say(held, "3")
		time.Sleep(SampleEvery - time.Second)
		want("a second too early")
		time.Sleep(time.Second)
		want("what nobody prices waits:", sol, bonk)
		time.Sleep(unpricedFor)
		want("the oldest first:", append(slices.Clone(known), held, bonk)...)
		r.first.say(bonk, "") // so its price gets old
		time.Sleep(SampleEvery)
		want("a minute later", sol, held, bonk)
		time.Sleep(25 * time.Hour)
		want("a day later", append(slices.Clone(known), held)...)
		if how := r.first.how; how[0] != ForPerson || how[len(how)-1] != ForSampling {
			t.Errorf("asked with priorities %v", how)
		}
		points, err := r.Chart(t.Context(), held, time.Hour)
		if err != nil || len(points) != 1 || points[0].Price != wallet.MustPrice("3") {
			t.Errorf("its history is %v: %v", points, err)
		}
	})
}

// TestSourcesThatDisagreeAreNamed, until they agree again.
func TestSourcesThatDisagreeAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		r.second.say(sol, "106")
		sample := func() {
			t.Helper()
			if err := r.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		sample()
		r.want("by six percent", r.look(sol), "100 (second 106)")
		time.Sleep(SampleEvery)
		sample() // without a comparison
		r.want("a minute later", r.look(sol), "100 (second 106)")
		r.second.say(sol, "105")
		time.Sleep(compareEvery)
		sample()
		r.want("by less than five", r.look(sol), "100")
	})
}

// TestOnlyTheLeaderSamples, and another node goes on when it is gone.
func TestOnlyTheLeaderSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		there := *newRates(t)
		there.Prices = &Prices{Store: r.Store, History: r.History, Sources: []Source{there.first}, Tokens: r.Tokens, Node: "b", Now: time.Now, Log: r.Log}
		ctx, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		later, stopLater := context.WithCancel(t.Context())
		ended.Go(func() {
			if err := there.Run(later); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(5 * time.Minute)
		if one, two := len(r.first.calls()), len(there.first.calls()); one == 0 || two != 0 {
			t.Errorf("the leader asked %d times, the other %d", one, two)
		}
		stop()
		time.Sleep(5 * time.Minute)
		if len(there.first.calls()) == 0 {
			t.Error("nobody samples after the leader")
		}
		stopLater()
		ended.Wait()
	})
}

// fakeCandles is what another source knows of the past.
type fakeCandles struct {
	calls int
	steps []time.Duration
}

func (f *fakeCandles) PastPrices(_ context.Context, _ Priority, _ wallet.Address, since, until time.Time, step time.Duration) (out []wallet.PricePoint, err error) {
	f.calls, f.steps = f.calls+1, append(f.steps, step)
	for at := since; at.Before(until); at = at.Add(step) {
		out = append(out, wallet.PricePoint{At: at, Price: wallet.MustPrice("42")})
	}
	return out, nil
}

// emptyHistory knows nothing of the past.
type emptyHistory struct{ store.PriceHistory }

func (emptyHistory) Points(context.Context, wallet.Address, time.Time, time.Time, time.Duration) ([]wallet.PricePoint, error) {
	return nil, nil
}

// TestAChartIsFilledWhereNobodySampled, once in ten minutes for each span, and has at most 300 points.
func TestAChartIsFilledWhereNobodySampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		candles := &fakeCandles{}
		r.Candles = candles
		const day = 24 * time.Hour
		for i, span := range []time.Duration{time.Hour, day, 7 * day, 30 * day, 365 * day} {
			points, err := r.Chart(t.Context(), bonk, span)
			if err != nil || len(points) < 50 || len(points) > 300 {
				t.Errorf("%v: %d points: %v", span, len(points), err)
			}
			if candles.calls != i+1 {
				t.Errorf("%v: %d calls", span, candles.calls)
			}
		}
		if want := []time.Duration{time.Minute, 5 * time.Minute, time.Hour, 4 * time.Hour, 48 * time.Hour}; !slices.Equal(candles.steps, want) {
			t.Errorf("steps of %v", candles.steps)
		}
		r.Candles = nil
		again, err := r.Chart(t.Context(), bonk, day)
		if err != nil || len(again) < 200 {
			t.Errorf("kept: %d points: %v", len(again), err)
		}
		empty, err := r.Chart(t.Context(), other, day)
		if err != nil || len(empty) != 0 {
			t.Errorf("of another token: %v: %v", empty, err)
		}
		r.Candles = candles
		for range 2 {
			if _, err := r.Chart(t.Context(), other, day); err != nil {
				t.Fatal(err)
			}
			r.History = emptyHistory{r.History}
			time.Sleep(fillAgain - time.Second)
		}
		if candles.calls != 6 {
			t.Errorf("%d calls for a history that was asked for", candles.calls)
		}
	})
}

// TestAThousandTokensFitAFreePlan: with 30 calls a minute, of 50 tokens each, a thousand tokens are read about once a minute while people ask for prices
// and every swap gets its quote; and what the budget did not reach is not taken for unpriced.
func TestAThousandTokensFitAFreePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		var calls []time.Time
		provider := &http.Client{Transport: roundTrip(func(request *http.Request) string {
			calls = append(calls, time.Now())
			if strings.HasSuffix(request.URL.Path, "/build") {
				return built()
			}
			var rows []string
			for _, id := range strings.Split(request.URL.Query().Get("ids"), ",") {
				rows = append(rows, `"`+id+`":{"usdPrice":1.5}`)
			}
			return "{" + strings.Join(rows, ",") + "}"
		})}
		jupiter := NewJupiter(Options{URL: "http://provider", Client: provider, Now: time.Now})
		r.Sources = []Source{jupiter}
		var mints []wallet.Address
		for i := range 1_000 {
			mints = append(mints, wallet.Address{3, byte(i), byte(i >> 8)})
		}
		var old []wallet.TokenPrice
		for _, mint := range mints {
			old = append(old, wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice("1"), At: time.Now().Add(-time.Hour), Source: "jupiter"})
		}
		if err := r.Store.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.SavePrices(old), tx.AskPrices(mints, time.Now())) }); err != nil {
			t.Fatal(err)
		}
		quoted := 0
		oldest := time.Duration(0)
		const span = 20 * time.Minute
		for begin := time.Now(); time.Since(begin) < span; time.Sleep(sampleTick) {
			if err := r.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
			if quoted++; quoted%2 == 0 { // three swaps a minute
				if _, err := jupiter.Quote(t.Context(), asked); err != nil {
					t.Errorf("after %s a swap has no quote: %v", time.Since(begin), err)
				}
			}
			if time.Since(begin) < 3*time.Minute {
				continue
			}
			known, err := r.Latest(t.Context(), mints)
			if err != nil || len(known) != len(mints) {
				t.Fatalf("%d of %d have a price: %v", len(known), len(mints), err)
			}
			for _, price := range known {
				oldest = max(oldest, time.Since(price.At))
			}
		}
		if oldest > 90*time.Second {
			t.Errorf("the oldest price was %s old", oldest)
		}
		for i, at := range calls {
			last := i
			for last < len(calls) && calls[last].Sub(at) < time.Minute {
				last++
			}
			if last-i > 30+maxAtOnce {
				t.Errorf("%d calls within a minute", last-i)
				break
			}
		}
		if n := len(calls); n > int(span/time.Minute)*30+maxAtOnce {
			t.Errorf("%d calls in %s", n, span)
		}
	})
}

// roundTrip answers requests with JSON.
type roundTrip func(*http.Request) string

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	return saying(f(r)).RoundTrip(r)
}
