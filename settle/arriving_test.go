package settle_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// arrivals are what people were or will be told of payments that are not final, in order.
func (r *watching) arrivals() (out []string) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(1000)
		for _, e := range events {
			var d wallet.PaymentArrivingData
			if e.Name != wallet.PaymentArriving {
				continue
			}
			r.Must(json.Unmarshal(e.Data, &d))
			who := map[wallet.Address]wallet.UserID{r.alice.Address(): r.alice.User.ID, r.bob.Address(): r.bob.User.ID}
			if e.User != cmp.Or(who[d.WalletAddress], r.bob.User.ID) || d.TransactionID != wallet.ReceivedID(d.Signature, d.WalletAddress, d.Token.Mint) {
				r.Errorf("%s is told of %+v", e.User, d)
			}
			out = append(out, fmt.Sprint(d.Outcome, " ", d.Token.Amount(d.Units), " ", d.Token.Name()))
		}
		return err
	})
	return out
}

func (r *watching) arrives(want ...string) {
	r.Helper()
	if got := r.arrivals(); !slices.Equal(got, want) {
		r.Fatalf("told %q, want %q\n%s", got, want, r.log)
	}
}

// TestAPaymentIsShownBeforeItIsFinal: once, by the same id as its receipt, and nothing else is written before.
func TestAPaymentIsShownBeforeItIsFinal(t *testing.T) {
	r := newWatching(t)
	r.Watcher.Arriving = r.Parts.Options.Chain
	pass := r.Watcher.Passes()
	sweep := func() {
		t.Helper()
		r.Must(pass(t.Context()))
		r.drain()
	}
	sweep()
	r.Blocks(40)
	before := r.watch()
	r.Fund(r.bob.Address(), 2*sol)
	for range 2 {
		r.Pass(15 * time.Second)
		sweep()
		r.expect()
		r.arrives("arriving 2 SOL")
	}
	if after := r.watch(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the row became %+v", after)
	}
	r.Blocks(40)
	r.Pass(15 * time.Second)
	sweep()
	r.expect("2 SOL to bob")
	for range 4 { // the job that follows it ends
		r.Pass(time.Minute)
		sweep()
	}
	r.expect("2 SOL to bob")
	r.arrives("arriving 2 SOL")
	r.View(func(tx store.Tx) error {
		n, err := r.waiting(tx)
		if n != 0 {
			t.Errorf("%d jobs wait", n)
		}
		return err
	})
}

// watch is Bob's row.
func (r *watching) watch() (row wallet.Watch) {
	r.View(func(tx store.Tx) (err error) {
		row, err = tx.Watch(r.bob.Address())
		return err
	})
	return row
}

// early is a chain that shows payments which are not final beside those of a ledger that are.
type early struct {
	*moneyLedger
	pending map[wallet.Address][]wallet.Activity // newest last
	err     error                                // of Activities
	asked   int                                  // calls
}

func (e *early) SweepConfirmed(ctx context.Context, as []wallet.Address, _ uint64) ([]wallet.AccountBalance, error) {
	e.asked += (len(as) + 99) / 100
	out, err := e.Sweep(ctx, as, 0)
	for i := range out {
		out[i].Slot = e.slot + 1000
		for _, a := range e.pending[out[i].Address] {
			out[i].Exists = true
			for _, n := range a.Net {
				out[i].Lamports += max(n.Units, 1)
			}
		}
	}
	return out, err
}

func (e *early) History(ctx context.Context, at wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	e.asked++
	old, more, err := e.moneyLedger.History(ctx, at, before, limit)
	var page []wallet.SignatureEntry
	for _, a := range slices.Backward(e.pending[at]) {
		page = append(page, wallet.SignatureEntry{Signature: a.Signature, Slot: a.Slot})
	}
	return append(page, old...), more, err
}

func (e *early) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	e.asked++
	if e.err != nil {
		return nil, e.err
	}
	for _, a := range e.pending[owners[0]] {
		if a.Signature == sig {
			return []wallet.Activity{a}, nil
		}
	}
	return e.moneyLedger.Activities(ctx, sig, owners...)
}

// pays lets a payment be confirmed.
func (e *early) pays(to wallet.Address, lamports uint64, change ...func(*wallet.Activity)) {
	e.n++
	var sig wallet.Signature
	binary.BigEndian.PutUint64(sig[:], 1<<40+e.n)
	a := wallet.Activity{Signature: sig, Slot: e.slot + 500, Kind: wallet.ActivityReceived, Net: []wallet.NetChange{{Token: wallet.SOL, Units: lamports, Explained: true}}}
	for _, c := range change {
		c(&a)
	}
	e.pending[to] = append(e.pending[to], a)
}

// onEarly is a harness whose watcher shows what is not final.
func onEarly(t *testing.T) (r *watching, e *early, sweep func(after time.Duration)) {
	r, ledger := onLedger(t)
	e = &early{moneyLedger: ledger, pending: map[wallet.Address][]wallet.Activity{}}
	r.Watcher.Arriving = e
	pass := r.Watcher.Passes()
	return r, e, func(after time.Duration) {
		t.Helper()
		r.Pass(after)
		r.Must(pass(t.Context()))
		r.drain()
	}
}

// TestAPaymentThatIsDroppedEndsItsCard: when no node has shown it for a while, or only as failed. One node that does not
// answer, or one look that misses it, is not enough.
func TestAPaymentThatIsDroppedEndsItsCard(t *testing.T) {
	const shown, dropped, unknown = "arriving 2 SOL", "dropped 2 SOL", "unknown 2 SOL"
	type step struct {
		after time.Duration
		do    func(*watching, *early)
		want  []string
	}
	gone := func(_ *watching, e *early) { e.err = wallet.ErrTransactionUnknown }
	back := func(_ *watching, e *early) { e.err = nil }
	mute := func(_ *watching, e *early) { e.err = errors.New("no answer") }
	for name, steps := range map[string][]step{
		"dropped":          {{45 * time.Second, gone, []string{shown}}, {59 * time.Second, nil, []string{shown}}, {time.Second, nil, []string{shown, dropped}}, {time.Hour, nil, []string{shown, dropped}}},
		"failed elsewhere": {{45 * time.Second, func(r *watching, e *early) { e.pending[r.bob.Address()][0].Failure = "InsufficientFunds" }, []string{shown}}, {time.Minute, nil, []string{shown, dropped}}},
		"missed once":      {{45 * time.Second, gone, []string{shown}}, {time.Minute, back, []string{shown}}, {2 * time.Minute, gone, []string{shown}}, {time.Minute, nil, []string{shown, dropped}}},
		"nobody answers":   {{45 * time.Second, mute, []string{shown}}, {30 * time.Minute, nil, []string{shown}}, {31 * time.Minute, nil, []string{shown, unknown}}, {2 * time.Hour, nil, []string{shown, unknown}}},
		"never final":      {{30 * time.Minute, nil, []string{shown}}, {31 * time.Minute, nil, []string{shown, unknown}}},
		"final":            {{45 * time.Second, func(r *watching, e *early) { e.finalize(r.bob.Address()) }, []string{shown}}, {3 * time.Hour, gone, []string{shown}}},
		"the wallet is gone": {{45 * time.Second, func(r *watching, _ *early) {
			r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
		}, []string{shown, unknown}}},
		"the person is erased": {{time.Second, func(r *watching, e *early) {
			r.Must(r.Update(func(tx store.Tx) error { return tx.EraseUser(r.bob.User.ID) }))
			gone(r, e)
		}, nil}, {time.Hour, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			r, e, sweep := onEarly(t)
			sweep(0)
			e.pays(r.bob.Address(), 2*sol)
			sweep(15 * time.Second)
			r.arrives(shown)
			r.Watcher.Pace.Soon = 24 * time.Hour // no more searches
			for i, s := range steps {
				if s.do != nil {
					s.do(r, e)
				}
				r.Pass(s.after)
				r.drain()
				if got := r.arrivals(); !slices.Equal(got, s.want) {
					t.Fatalf("step %d: told %q, want %q", i, got, s.want)
				}
			}
			if name == "final" {
				r.expect("2 SOL to bob")
			} else {
				r.expect()
			}
		})
	}
}

// finalize makes what is pending final.
func (e *early) finalize(of wallet.Address) {
	for _, a := range e.pending[of] {
		e.slot = max(e.slot, a.Slot)
		e.balances[of] += a.Net[0].Units
		e.history[of] = append(e.history[of], wallet.SignatureEntry{Signature: a.Signature, Slot: a.Slot, Finalized: true})
		e.paid[a.Signature] = a
	}
	e.pending[of] = nil
}

// TestWhatIsShownAsArriving: what will be announced, and nothing else. An order that is late shows nothing twice.
func TestWhatIsShownAsArriving(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*wallet.Activity)
		want   []string
	}{
		"a payment":         {func(*wallet.Activity) {}, []string{"arriving 1 SOL"}},
		"dust":              {func(a *wallet.Activity) { a.Net[0].Units = 1 }, nil},
		"an unlisted token": {func(a *wallet.Activity) { a.Net[0].Token = wallet.Token{Mint: wallet.Address{200}, Decimals: 9} }, nil},
		"a failed one":      {func(a *wallet.Activity) { a.Failure = "InsufficientFunds" }, nil},
		"a swap":            {func(a *wallet.Activity) { a.Signed, a.Kind = true, wallet.ActivitySwapped }, nil},
		"what left":         {func(a *wallet.Activity) { a.Net[0].Lost = true }, nil},
		"an old one":        {func(a *wallet.Activity) { a.Slot = 5 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, e, sweep := onEarly(t)
			sweep(0)
			e.pays(r.bob.Address(), sol, c.change)
			sweep(15 * time.Second)
			r.arrives(c.want...)
			r.expect()
		})
	}
	t.Run("another slot than the history said", func(t *testing.T) {
		r, e, sweep := onEarly(t)
		sweep(0)
		e.pays(r.bob.Address(), sol)
		r.Watcher.Arriving = shifted{e}
		sweep(15 * time.Second)
		r.arrives()
	})
	t.Run("final already", func(t *testing.T) {
		r, e, sweep := onEarly(t)
		sweep(0)
		e.pays(r.bob.Address(), sol)
		e.finalize(r.bob.Address())
		of := wallet.Wallet{Address: r.bob.Address(), Owner: r.bob.User.ID}
		order := func() {
			r.Must(r.Update(func(tx store.Tx) error { return store.OrderSearch(tx, of, []wallet.Address{of.Address}, r.Now()) }))
		}
		order()
		r.drain()
		sweep(15 * time.Second)
		order()
		r.drain()
		r.arrives()
		r.expect("1 SOL to bob")
	})
}

// shifted shows transactions in other blocks than histories do.
type shifted struct{ *early }

func (s shifted) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	out, err := s.early.Activities(ctx, sig, owners...)
	for i := range out {
		out[i].Slot++
	}
	return out, err
}

// TestArrivingPaymentsAreBounded: however many payments come, cards and calls have an end, and the wallets that moved lately
// come first. Wallets without an owner cost nothing.
func TestArrivingPaymentsAreBounded(t *testing.T) {
	r, e, sweep := onEarly(t)
	var all []wallet.Address
	r.Must(r.Update(func(tx store.Tx) error {
		for i := range 300 {
			at := wallet.Address{100, byte(i), byte(i >> 8)}
			w := wallet.Wallet{Address: at, Owner: r.bob.User.ID, ConnectedAt: r.Now()}
			if i%2 == 0 {
				w.Owner, w.KeyLineage = "", "key_1"
			}
			all = append(all, at)
			if err := tx.PutWallet(w); err != nil {
				return err
			}
		}
		return nil
	}))
	sweep(0)
	for i, at := range all {
		if i%2 == 0 {
			e.pays(at, sol)
		}
	}
	e.asked = 0
	for range 4 {
		sweep(15 * time.Second)
	}
	if got := r.arrivals(); len(got) != 0 {
		t.Errorf("nobody is told %q", got)
	}
	for minute := range 3 {
		for _, at := range all {
			for range 4 {
				e.pays(at, sol)
			}
		}
		e.asked = 0
		for range 12 {
			sweep(5 * time.Second)
		}
		if most := settle.DefaultWatchPace(120).Calls/8 + 11; e.asked > most { // and one for each card that does not end

			t.Errorf("%d calls in minute %d", e.asked, minute)
		}
	}
	if got := r.arrivals(); len(got) == 0 || len(got) > 10 || strings.Contains(strings.Join(got, " "), "dropped") {
		t.Errorf("told %q", got)
	}
}
