package settle_test

import (
	"errors"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// onLedger is a harness whose watcher reads a chain in memory.
func onLedger(t *testing.T) (*watching, *moneyLedger) {
	t.Helper()
	r := newWatching(t)
	chain := newMoneyLedger()
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(tx.DropWatch(r.alice.Address()), tx.DropWatch(r.bob.Address()))
	}))
	r.Watcher.Chain, r.Watcher.Expected = chain, nil
	r.look()
	return r, chain
}

// TestWhatIsAnnounced: of everything that a transaction may do, what comes from others and is worth something.
func TestWhatIsAnnounced(t *testing.T) {
	usdc := func(r *watching) wallet.Token { token, _ := r.Tokens.BySymbol("USDC"); return token }
	unlisted := wallet.Token{Mint: wallet.Address{200}, Decimals: 9, Program: wallet.TokenProgram}
	similar := func(of wallet.Address) wallet.Address { // one that has the same ends in base58
		out := of
		out[15] ^= 1
		return out
	}
	for name, c := range map[string]struct {
		change func(*watching, *wallet.Activity)
		want   []string
		from   func(*watching) wallet.Address // nil: nobody
	}{
		"from a stranger": {func(_ *watching, a *wallet.Activity) {
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Units: sol}}
		}, []string{"1 SOL to bob"}, func(*watching) wallet.Address { return wallet.Address{77} }},
		"from two": {func(_ *watching, a *wallet.Activity) {
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}}, {How: wallet.MovedByTransfer, In: true, With: wallet.Address{78}}}
		}, []string{"1 SOL to bob"}, nil},
		"rent and what went out have no sender": {func(_ *watching, a *wallet.Activity) {
			a.Movements = []wallet.Movement{{How: wallet.MovedAsRent, In: true, With: wallet.Address{78}}, {How: wallet.MovedByTransfer, With: wallet.Address{79}},
				{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}}, {How: wallet.MovedByTransfer, In: true, With: wallet.Address{80}, Token: unlisted}}
		}, []string{"1 SOL to bob"}, func(*watching) wallet.Address { return wallet.Address{77} }},
		"failed":              {func(_ *watching, a *wallet.Activity) { a.Failure = "InsufficientFunds" }, nil, nil},
		"swapped":             {func(_ *watching, a *wallet.Activity) { a.Signed, a.Kind = true, wallet.ActivitySwapped }, nil, nil},
		"signed and received": {func(_ *watching, a *wallet.Activity) { a.Signed = true }, []string{"1 SOL to bob"}, nil},
		"lost":                {func(_ *watching, a *wallet.Activity) { a.Net[0].Lost = true }, nil, nil},
		"dust":                {func(_ *watching, a *wallet.Activity) { a.Net[0].Units = 99_999 }, nil, nil},
		"dust of a token": {func(r *watching, a *wallet.Activity) {
			a.Net[0] = wallet.NetChange{Token: usdc(r), Units: 999}
		}, nil, nil},
		"a thousandth of an unlisted token": {func(_ *watching, a *wallet.Activity) {
			a.Net[0] = wallet.NetChange{Token: unlisted, Units: 1}
		}, nil, nil},
		"much of an unlisted token": {func(_ *watching, a *wallet.Activity) {
			a.Net[0] = wallet.NetChange{Token: unlisted, Units: 1 << 60}
		}, nil, nil},
		"one piece": {func(_ *watching, a *wallet.Activity) {
			a.Net[0] = wallet.NetChange{Token: wallet.Token{Mint: wallet.Address{201}}, Units: 1}
		}, nil, nil},
		"an unlisted token that the owner asked for by a transaction of their own": {func(_ *watching, a *wallet.Activity) {
			a.Net[0], a.Signed = wallet.NetChange{Token: unlisted, Units: 1}, true
		}, []string{"0.000000001 " + unlisted.Mint.String() + " to bob"}, nil},
		"an unlisted token from somebody known": {func(r *watching, a *wallet.Activity) {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.PutContact(wallet.Contact{Owner: r.bob.User.ID, Name: "Alice", Address: wallet.Address{77}})
			}))
			a.Net[0] = wallet.NetChange{Token: unlisted, Units: 1}
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Signed: true, Token: unlisted}}
		}, []string{"0.000000001 " + unlisted.Mint.String() + " to bob"}, func(*watching) wallet.Address { return wallet.Address{77} }},
		"dust that names a payment request": {func(r *watching, a *wallet.Activity) {
			asked := r.requests("1.5", "SOL").Transaction
			a.Net[0].Units = 1
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, References: []wallet.Address{asked.Reference}}}
		}, nil, nil},
		"a part of a payment request": {func(r *watching, a *wallet.Activity) {
			asked := r.requests("1.5", "SOL").Transaction
			a.Net[0].Units = wallet.DustLamports
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, References: []wallet.Address{asked.Reference}, Units: wallet.DustLamports}}
		}, []string{"0.0001 SOL to bob"}, func(*watching) wallet.Address { return wallet.Address{77} }},
		"an unlisted token that names a payment request for SOL": {func(r *watching, a *wallet.Activity) {
			asked := r.requests("1.5", "SOL").Transaction
			a.Net[0] = wallet.NetChange{Token: unlisted, Units: 1}
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Token: unlisted, References: []wallet.Address{asked.Reference}}}
		}, nil, nil},
		"dust of SOL beside an unlisted token": {func(_ *watching, a *wallet.Activity) {
			a.Net[0].Units = 1
			a.Net = append(a.Net, wallet.NetChange{Token: unlisted, Units: 1 << 60})
		}, nil, nil},
		"SOL beside an unlisted token": {func(_ *watching, a *wallet.Activity) {
			a.Net = append(a.Net, wallet.NetChange{Token: unlisted, Units: 7})
		}, []string{"1 SOL to bob", "0.000000007 " + unlisted.Mint.String() + " to bob"}, nil},
		"units that are lost make no payment of it": {func(_ *watching, a *wallet.Activity) {
			a.Net[0].Lost = true
			a.Net = append(a.Net, wallet.NetChange{Token: unlisted, Units: 7})
		}, nil, nil},
		"dust beside money": {func(r *watching, a *wallet.Activity) {
			a.Net = append(a.Net, wallet.NetChange{Token: wallet.Token{Mint: usdc(r).Mint, Decimals: 6}, Units: 1})
		}, []string{"1 SOL to bob", "0.000001 USDC to bob"}, nil},
		"a look-alike": {func(r *watching, a *wallet.Activity) {
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: similar(r.bob.Address())}}
		}, []string{"1 SOL to bob"}, func(r *watching) wallet.Address { return similar(r.bob.Address()) }},
		"dust of a look-alike": {func(r *watching, a *wallet.Activity) {
			a.Net[0].Units = wallet.DustLamports - 1
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: similar(r.bob.Address())}}
		}, nil, nil},
		"dust from somebody known": {func(r *watching, a *wallet.Activity) {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.PutContact(wallet.Contact{Owner: r.bob.User.ID, Name: "Alice", Address: wallet.Address{77}})
			}))
			a.Net[0].Units = 1
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Signed: true}}
		}, []string{"0.000000001 SOL to bob"}, func(*watching) wallet.Address { return wallet.Address{77} }},
		"dust of somebody known that another moved": {func(r *watching, a *wallet.Activity) {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.PutContact(wallet.Contact{Owner: r.bob.User.ID, Name: "Alice", Address: wallet.Address{77}})
			}))
			a.Net[0].Units = 1
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}}}
		}, nil, nil},
		"dust of a token from somebody unknown and somebody known": {func(r *watching, a *wallet.Activity) {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.PutContact(wallet.Contact{Owner: r.bob.User.ID, Name: "Alice", Address: wallet.Address{77}})
			}))
			a.Net[0].Units = 1
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true}, {How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Signed: true}}
		}, nil, nil},
		"from nobody knows whom, and from somebody": {func(_ *watching, a *wallet.Activity) {
			a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true}, {How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}}}
		}, []string{"1 SOL to bob"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			sig := chain.pay(r.bob.Address(), sol)
			a := chain.paid[sig]
			a.Fee, a.Memo = 5000, "thanks"
			c.change(r, &a)
			chain.paid[sig] = a
			r.final()
			r.final()
			r.expect(c.want...)
			if len(c.want) != 1 || len(a.Net) != 1 {
				return
			}
			var from wallet.Address
			if c.from != nil {
				from = c.from(r)
			}
			r.View(func(tx store.Tx) error {
				got, err := tx.Transaction(wallet.ReceivedID(sig, r.bob.Address(), a.Net[0].Token.Mint))
				if err != nil || got.From != from || got.Memo != "thanks" || got.Signature != sig || got.Landing.Slot != a.Slot || got.Landing.Fee != 5000 || !got.Closed || got.Owner != r.bob.User.ID {
					t.Errorf("%+v, %v", got, err)
				}
				return nil
			})
		})
	}
}

// TestAWalletThatIsQuietIsSweptLessOften: each call reads as many wallets as fit, and quiet ones wait.
func TestAWalletThatIsQuietIsSweptLessOften(t *testing.T) {
	r, chain := onLedger(t)
	for i := range 120 { // each with 256 accounts, at 1 call a minute
		at := wallet.Address{100, byte(i)}
		row := wallet.Watch{Address: at, FullAt: r.Now()}
		for n := range 256 {
			row.Accounts = append(row.Accounts, wallet.WatchedAccount{Address: wallet.Address{100, byte(i), byte(n), 1}, Slot: 1000, Mark: wallet.Watermark{Slot: 1001}})
		}
		row.Accounts[0].Address = at
		r.Must(r.Update(func(tx store.Tx) error {
			return errors.Join(tx.PutWallet(wallet.Wallet{Address: at, KeyLineage: "key_1", ConnectedAt: r.Now()}), tx.PutWatch(row))
		}))
	}
	r.Watcher.Pace.Calls = 30
	pass := r.Watcher.Passes()
	swept := func() int {
		before := chain.calls["sweep"]
		r.Must(pass(t.Context()))
		r.drain()
		return chain.calls["sweep"] - before
	}
	if calls := swept(); calls < 360 || calls > 363 {
		t.Errorf("the first pass took %d calls", calls)
	}
	r.Pass(15 * time.Second)
	if calls := swept(); calls > 1 {
		t.Errorf("%d calls after 15 seconds", calls)
	}
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(wallet.Address{100, 5}) }))
	r.Pass(13 * time.Minute)
	if calls := swept(); calls < 350 || calls > 361 {
		t.Errorf("%d calls after 13 minutes", calls)
	}
	chain.pay(wallet.Address{100, 7}, sol)
	r.Pass(13 * time.Minute)
	swept()
	for range 4 { // it moved: it is swept every 15 seconds
		r.Pass(15 * time.Second)
		swept()
	}
	before := chain.calls["walk"]
	chain.pay(wallet.Address{100, 7}, sol)
	r.Pass(15 * time.Second)
	swept()
	if chain.calls["walk"] != before+1 {
		t.Error("a wallet that moved was not swept soon")
	}
}

// TestALookGoesAsFarAsItsBalance: what is newer belongs to the next look, and what is older than the row moves nothing.
func TestALookGoesAsFarAsItsBalance(t *testing.T) {
	r, chain := onLedger(t)
	chain.pay(r.bob.Address(), sol)
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(t.Context()))
	chain.pay(r.bob.Address(), 2*sol) // since the sweep
	r.drain()
	r.expect("1 SOL to bob")
	r.final()
	r.final()
	r.expect("1 SOL to bob", "2 SOL to bob")
	walks := chain.calls["walk"]
	r.Must(r.Update(func(tx store.Tx) error {
		old := store.WatchOrder{Found: []wallet.WatchedAccount{{Address: r.bob.Address(), Slot: 1001, Exists: true, Units: sol}}}
		of, err := tx.Wallet(r.bob.Address())
		return errors.Join(err, store.OrderWatch(tx, of, old, store.JobSoon, r.Now()))
	}))
	r.drain()
	r.final()
	if r.log.String() != "" || chain.calls["walk"] != walks {
		t.Errorf("%d walks more, %s", chain.calls["walk"]-walks, r.log)
	}
}

// TestWhatCountsAsMoved: an account that appears, and units in an account that is the wallet's.
func TestWhatCountsAsMoved(t *testing.T) {
	r, chain := onLedger(t)
	account := wallet.Address{50}
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		row.Accounts = append(row.Accounts, wallet.WatchedAccount{Address: account, Slot: 1000, Mark: wallet.Watermark{Slot: 1001}})
		return errors.Join(err, tx.PutWatch(row))
	}))
	walks := func(when string, want int) {
		t.Helper()
		before := chain.calls["walk"]
		chain.slot++
		r.final()
		if got := chain.calls["walk"] - before; got != want {
			t.Errorf("%s: %d walks", when, got)
		}
		r.Pass(2 * time.Hour) // whatever was denied
		r.drain()
	}
	walks("nothing", 0)
	chain.tokens = map[wallet.Address]*wallet.TokenAccount{account: {Address: account, Owner: r.alice.Address(), Units: 5}}
	walks("somebody else's", 0)
	chain.tokens[account] = &wallet.TokenAccount{Address: account, Owner: r.bob.Address()}
	walks("opened", 1)
	chain.tokens[account] = &wallet.TokenAccount{Address: account, Owner: r.bob.Address(), Units: 5}
	walks("units", 1)
	chain.tokens[account] = &wallet.TokenAccount{Address: account, Owner: r.alice.Address(), Units: 5}
	walks("handed over", 1)
}

// TestADailyReadingThatFailsIsMadeAgain: it is not done before it was complete.
func TestADailyReadingThatFailsIsMadeAgain(t *testing.T) {
	r := newWatching(t)
	m := r.moody()
	m.walk = func(q wallet.HistoryQuery, _ wallet.HistoryWalk, _ error) (wallet.HistoryWalk, error) {
		return wallet.HistoryWalk{Next: q.From}, network(errors.New("no answer"))
	}
	r.Blocks(2)
	r.Pass(25 * time.Hour)
	r.look()
	failed := len(m.walks)
	m.walk = nil
	r.Pass(time.Minute)
	r.drain()
	if failed == 0 || len(m.walks) != 2*failed {
		t.Errorf("%d walks, then %d", failed, len(m.walks)-failed)
	}
}
