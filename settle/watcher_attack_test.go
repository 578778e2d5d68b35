package settle_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	solanago "github.com/gagliardetto/solana-go"

	"purser/handlers"
	"purser/market"
	"purser/store"
	"purser/wallet"
)

// resembling returns an address with the same ends in base58 that has a key.
func resembling(of wallet.Address) wallet.Address {
	for x := range byte(255) {
		out := of
		out[15] ^= x + 1
		if solanago.PublicKey(out).IsOnCurve() {
			return out
		}
	}
	panic("none")
}

// TestALookAlikeHidesNoHonestPayer: somebody makes an address that resembles an honest payer's, and gets a payment from Bob. What the
// honest payer sends is announced all the same.
func TestALookAlikeHidesNoHonestPayer(t *testing.T) {
	r, chain := onLedger(t)
	honest := r.Stranger()
	attacker := resembling(honest)
	pay := func() {
		sig := chain.pay(r.bob.Address(), 100*sol)
		a := chain.paid[sig]
		a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: honest, Account: honest, Token: wallet.SOL, Units: 100 * sol, Signed: true}}
		chain.paid[sig] = a
		r.Pass(time.Minute)
		r.look()
	}
	pay()
	sent := r.Signed(r.bob, attacker, "0.01", "SOL")
	r.Rounds(2)
	r.Blocks(40)
	r.Settled(sent.ID)
	pay()
	pay()
	r.Pass(2 * time.Hour)
	r.look()
	if len(r.told()) != 3 {
		t.Errorf("of three payments of 100 SOL by the same honest payer are announced %d", len(r.told()))
	}
}

// TestADamagedRowHoldsUpNoPaymentOfItsWallet, nor the history: a stranger pays one lamport and names any reference, for which the
// wallet's newest transactions are read.
func TestADamagedRowHoldsUpNoPaymentOfItsWallet(t *testing.T) {
	r, chain := onLedger(t)
	old := chain.pay(r.bob.Address(), 5*sol)
	r.Pass(time.Minute)
	r.look()
	r.expect("5 SOL to bob")
	id := wallet.ReceivedID(old, r.bob.Address(), wallet.Address{})
	var owner wallet.UserID
	r.View(func(tx store.Tx) error {
		receipt, err := tx.Transaction(id)
		owner = receipt.Owner
		return err
	})
	r.Damage(binary.BigEndian.AppendUint64(nil, 1), string(owner)) // a receipt is final, and the first that is
	r.View(func(tx store.Tx) error {
		if _, err := tx.Transaction(id); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("the row is not damaged: %v", err)
		}
		return nil
	})
	sig := chain.pay(r.bob.Address(), 1)
	a := chain.paid[sig]
	a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}, Units: 1, References: []wallet.Address{{99}}}}
	chain.paid[sig] = a
	chain.pay(r.bob.Address(), 100*sol)
	var last error
	for range 20 {
		r.Pass(30 * time.Minute)
		_ = r.Watcher.Sweep(t.Context())
		for range 5 {
			var due []store.Job
			r.Must(r.Update(func(tx store.Tx) (err error) {
				due, _, err = tx.ClaimJobs(store.Claim{Queue: store.WalletScans, Node: "main", Now: r.Now(), Max: 10, Lease: time.Minute})
				return err
			}))
			for _, job := range due {
				result, err := r.Watcher.Handle(context.Background(), job)
				if err == nil {
					err = r.Update(func(tx store.Tx) error {
						if result.Commit != nil {
							if err := result.Commit(tx); err != nil {
								return err
							}
						}
						return tx.DoneJobs(job.Ref())
					})
				}
				if err != nil {
					last = err
					r.Must(r.Update(func(tx store.Tx) error { return tx.RetryJobs(r.Now().Add(time.Second), job.Ref()) }))
				}
			}
		}
	}
	r.Must(last)
	n := 0
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(1000)
		for _, e := range events {
			if e.Name == wallet.TransactionReceived {
				n++
			}
		}
		return err
	})
	if n != 2 {
		t.Errorf("announced are %d of 2, over ten hours", n)
	}
	if _, err := r.History.List(context.Background(), r.bob.Caller(), handlers.Filter{Limit: 10}); err != nil {
		t.Errorf("the history: %v", err)
	}
}

// asOf is a node that shows the chain as it was at a slot, as one that was restored from a snapshot and catches up.
type asOf struct {
	*moneyLedger
	upTo uint64 // 0: all
}

func (c *asOf) Sweep(ctx context.Context, as []wallet.Address, min uint64) ([]wallet.AccountBalance, error) {
	if c.upTo == 0 {
		return c.moneyLedger.Sweep(ctx, as, min)
	}
	if min > c.upTo {
		return nil, wallet.ErrNodeBehind
	}
	out, err := c.moneyLedger.Sweep(ctx, as, 0)
	for i := range out {
		var units uint64
		for _, e := range c.history[out[i].Address] {
			if e.Slot <= c.upTo {
				units += c.paid[e.Signature].Net[0].Units
			}
		}
		out[i].Slot, out[i].Lamports, out[i].Exists = c.upTo, units, units > 0
	}
	return out, err
}

func (c *asOf) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	if c.upTo > 0 && (q.From.Slot > c.upTo+1 || q.MinSlot > c.upTo) {
		return wallet.HistoryWalk{Next: q.From}, wallet.ErrNodeBehind
	}
	return c.moneyLedger.Walk(ctx, q)
}

// TestANodeThatCatchesUpAnnouncesNoPast: Bob got 5 SOL and 6 SOL, and connects his wallet the day after. Then the only node is restored
// from a snapshot of before that, and needs two hours to catch up.
func TestANodeThatCatchesUpAnnouncesNoPast(t *testing.T) {
	r, chain := onLedger(t)
	c := &asOf{moneyLedger: chain}
	r.Watcher.Chain = c
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
	chain.slot += 500
	before := chain.slot
	chain.slot += 10
	for _, n := range []uint64{5 * sol, 6 * sol} {
		a := chain.paid[chain.pay(r.bob.Address(), n)]
		a.At = r.Now()
		chain.paid[a.Signature] = a
	}
	chain.slot += 500
	r.Pass(24 * time.Hour)
	r.Connect(r.bob)
	r.look()
	r.Pass(time.Minute)
	chain.pay(r.bob.Address(), 1*sol)
	r.look()
	c.upTo = before
	r.lasts(2 * time.Hour)
	c.upTo = 0
	chain.slot += 100
	r.lasts(2 * time.Hour)
	if len(r.told()) != 1 {
		t.Errorf("payments of before the connection are announced as new: %q", r.told())
	}
}

// TestDustOfListedTokensIsFolded, whatever number of decimals they have.
func TestDustOfListedTokensIsFolded(t *testing.T) {
	for symbol, units := range map[string]uint64{"wSOL": wallet.DustLamports - 1, "JitoSOL": 99_999, "JTO": 1, "HNT": 9_999, "BONK": 99, "USDC": 999} {
		r, chain := onLedger(t)
		tokens, err := market.Listed(wallet.Mainnet)
		r.Must(err)
		token, ok := tokens.BySymbol(symbol)
		if !ok {
			t.Fatal(symbol)
		}
		r.Watcher.Listed = tokens.ByMint
		account := wallet.Address{50}
		chain.pay(account, 7)
		r.watchesToo(chain, account)
		const many = 50
		for range many {
			sig := chain.pay(account, units)
			a := chain.paid[sig]
			a.Net = []wallet.NetChange{{Token: token, Units: units, Explained: true}}
			chain.paid[sig] = a
		}
		r.Pass(time.Minute)
		r.look()
		events, rows := 0, 0
		r.View(func(tx store.Tx) error {
			all, err := tx.PendingEvents(10000)
			for _, e := range all {
				if e.Name == wallet.TransactionReceived {
					events++
				}
			}
			list, _ := tx.TransactionsAt(r.bob.Address(), store.Page{Limit: 10000})
			rows = len(list)
			return err
		})
		if events+rows > 0 {
			t.Errorf("%s: %d events and %d rows", symbol, events, rows)
		}
	}
}

// TestWhoSendsDustIsRemembered, so that its receiver is warned before they pay that address, and who sends money is not.
func TestWhoSendsDustIsRemembered(t *testing.T) {
	r, chain := onLedger(t)
	planter, zero, payer := r.Stranger(), r.Stranger(), r.Stranger()
	for from, units := range map[wallet.Address]uint64{planter: 1, zero: 0, payer: sol} {
		sig := chain.pay(r.bob.Address(), units)
		a := chain.paid[sig]
		a.Movements = []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: from, Account: from, Token: wallet.SOL, Units: units, Signed: true}}
		if units == 0 {
			a.Net = nil
		}
		chain.paid[sig] = a
	}
	r.Pass(time.Minute)
	r.look()
	for from, want := range map[wallet.Address]bool{planter: true, zero: true, payer: false} {
		r.View(func(tx store.Tx) error {
			got, err := tx.IsPlantedSender(r.bob.User.ID, from, r.Now().Add(wallet.PlantedFor-time.Hour))
			if got != want {
				t.Errorf("%s is remembered: %v, want %v", from, got, want)
			}
			return err
		})
	}
	// Another person knows nothing of it.
	r.View(func(tx store.Tx) error {
		got, err := tx.IsPlantedSender(r.alice.User.ID, planter, r.Now())
		if got {
			t.Error("Bob's planter is remembered for Alice")
		}
		return err
	})
}
