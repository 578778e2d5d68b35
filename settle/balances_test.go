package settle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// balances collects what is told of balances.
type balances struct {
	*watching
	ids  map[string]bool             // of all events
	said []wallet.BalanceUpdatedData // by the last commits
	of   []wallet.UserID
}

// noting notes the events of a transaction.
type noting struct {
	store.Tx
	events *[]wallet.Event
}

func (n noting) Emit(all ...wallet.Event) error {
	*n.events = append(*n.events, all...)
	return n.Tx.Emit(all...)
}

func tellingBalances(t *testing.T) (*balances, *moneyLedger) {
	t.Helper()
	r, chain := onLedger(t)
	return &balances{watching: r, ids: map[string]bool{}}, chain
}

// commits looks at what moved, commits each look twice as a store may, and returns for each commit what balance.updated says, and
// whether the same commit announced a payment.
func (r *balances) commits(after time.Duration) (out []string) {
	r.Helper()
	r.said, r.of = nil, nil
	r.Pass(after)
	r.Must(r.Watcher.Sweep(r.Context()))
	for range 200 {
		due := r.Due(r.Watcher, 1)
		if len(due) == 0 {
			return out
		}
		result, err := r.Watcher.Handle(r.Context(), due[0])
		r.Must(err)
		var events []wallet.Event
		failed := fmt.Errorf("the first try")
		for _, end := range []error{failed, nil} {
			events = nil
			if err := r.Update(func(tx store.Tx) error {
				if err := result.Commit(noting{tx, &events}); err != nil {
					return err
				}
				if end != nil {
					return end
				}
				if result.Again.IsZero() {
					return tx.DoneJobs(due[0].Ref())
				}
				return tx.SnoozeJobs(r.Now(), due[0].Ref())
			}); err != end {
				r.Fatal(err)
			}
		}
		for _, e := range events {
			if r.ids[e.ID] {
				r.Errorf("two events have the ID %s", e.ID)
			}
			r.ids[e.ID] = true
		}
		if said := r.saidOfBalances(events); said != "" {
			out = append(out, said)
		}
	}
	r.Fatalf("the looks find no end\n%s", r.log)
	return nil
}

func (r *balances) saidOfBalances(events []wallet.Event) string {
	var said []string
	paid := false
	for _, e := range events {
		paid = paid || e.Name == wallet.TransactionReceived
		if e.Name != wallet.BalanceUpdated {
			continue
		}
		var d wallet.BalanceUpdatedData
		r.Must(json.Unmarshal(e.Data, &d))
		if r.said, r.of = append(r.said, d), append(r.of, e.User); e.Subject != d.WalletAddress.String() || d.UpdatedAt != wallet.Timestamp(r.Now()) {
			r.Errorf("%+v of %s", d, e.Subject)
		}
		for _, token := range slices.Sorted(maps.Keys(d.Balances)) {
			said = append(said, fmt.Sprintf("%s %s (%s)", d.Balances[token].Amount, token, d.Balances[token].Change))
		}
	}
	if len(said) > 0 && paid {
		said = append(said, "with a receipt")
	}
	return strings.Join(said, ", ")
}

// TestBalancesAreToldAsTheyChange: with the receipt, for what left too, once for each change. Folded payments alone tell
// nothing, and the next event has their change.
func TestBalancesAreToldAsTheyChange(t *testing.T) {
	r, chain := tellingBalances(t)
	expect := func(want ...string) {
		t.Helper()
		if got := r.commits(20 * time.Second); !slices.Equal(got, want) {
			t.Fatalf("told %q, want %q", got, want)
		}
	}
	expect()
	chain.pay(r.bob.Address(), 3*sol)
	expect("3 SOL (3), with a receipt")
	expect()
	chain.pay(r.bob.Address(), 1)
	expect()
	chain.pay(r.bob.Address(), 1)
	expect()
	chain.moves(r.bob.Address(), wallet.SOL, -sol)
	expect("2.000000002 SOL (-0.999999998)")
	chain.pay(r.bob.Address(), 1)
	chain.pay(r.bob.Address(), sol)
	expect("3.000000003 SOL (1.000000001), with a receipt")
	mention := chain.paid[chain.pay(r.bob.Address(), 0)]
	mention.Net, mention.Kind = nil, wallet.ActivityOther
	chain.paid[mention.Signature] = mention
	chain.pay(r.bob.Address(), 1)
	expect() // that strangers name the wallet is no news either
	chain.pay(r.bob.Address(), sol)
	chain.moves(r.bob.Address(), wallet.SOL, -sol-1)
	expect()
	chain.pay(r.bob.Address(), 1)
	expect() // the news was of no change, and has ended
	swap := chain.paid[chain.pay(r.bob.Address(), 10)]
	swap.Signed, swap.Kind = true, wallet.ActivitySwapped
	chain.paid[swap.Signature] = swap
	expect("3.000000014 SOL (0.000000011)")
	chain.pay(r.bob.Address(), 1)
	hidden := chain.paid[chain.pay(r.bob.Address(), sol)]
	delete(chain.paid, hidden.Signature)
	expect() // nobody knows yet what it is
	chain.paid[hidden.Signature] = hidden
	r.Pass(2 * time.Minute)
	expect("4.000000015 SOL (1.000000001), with a receipt")
	delete(chain.paid, chain.pay(r.bob.Address(), sol))
	expect()
	r.Pass(8 * 24 * time.Hour)
	expect("5.000000015 SOL (1)")
	chain.balances[r.bob.Address()] += 2 // what no transaction explains
	chain.slot++
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(r.Context()))
	for range 70 {
		r.Pass(time.Minute)
		r.drain()
	}
	expect()
	if told := r.told(); len(told) == 0 {
		t.Error("nothing was announced")
	}
	chain.moves(r.bob.Address(), wallet.SOL, -2*sol-3)
	expect("3.000000014 SOL (-2.000000003)")
	r.Pass(25 * time.Hour)
	expect()
	chain.moves(r.bob.Address(), wallet.SOL, -4)
	expect("3.00000001 SOL (-0.000000004)")
	r.Must(r.Update(func(tx store.Tx) error { return tx.DropWatch(r.bob.Address()) }))
	expect() // what a first look finds
	chain.moves(r.bob.Address(), wallet.SOL, -sol)
	expect("2.00000001 SOL (-1)")
	chain.pay(r.bob.Address(), 0)
	failed := &chain.history[r.bob.Address()][len(chain.history[r.bob.Address()])-1]
	failed.Failed = true
	chain.balances[r.bob.Address()] -= 5000
	expect("1.99999501 SOL (-0.000005)")
}

// moves lets a transaction move the balance of an account. What takes from it is signed by its owner.
func (l *moneyLedger) moves(at wallet.Address, token wallet.Token, units int64) wallet.Signature {
	a := l.paid[l.pay(at, uint64(units))] // a loss wraps around
	change := wallet.NetChange{Token: token, Units: uint64(units), Explained: true}
	if units < 0 {
		a.Signed, a.Kind = true, wallet.ActivitySent
		change.Units, change.Lost = uint64(-units), true
	}
	a.Net = []wallet.NetChange{change}
	l.paid[a.Signature] = a
	return a.Signature
}

// TestAFloodTellsBalancesWhenItIsRead: a payment among much dust is announced first. The balance follows once it is known to be
// explained, and is exact.
func TestAFloodTellsBalancesWhenItIsRead(t *testing.T) {
	r, chain := tellingBalances(t)
	for range 150 {
		chain.pay(r.bob.Address(), 1)
	}
	chain.pay(r.bob.Address(), sol)
	for range 150 {
		chain.pay(r.bob.Address(), 1)
	}
	if got := r.commits(20 * time.Second); !slices.Equal(got, []string{"1.0000003 SOL (1.0000003)"}) {
		t.Errorf("told %q", got)
	}
	chain.pay(r.bob.Address(), 1)
	if got := r.commits(20 * time.Second); len(got) != 0 {
		t.Errorf("dust told %q", got)
	}
}

// TestBalancesOfTokens: every listed token, with those that did not change.
func TestBalancesOfTokens(t *testing.T) {
	r := &balances{watching: newWatching(t), ids: map[string]bool{}}
	r.commits(0)
	before := r.sol()
	r.FundToken(r.bob.Address(), solana.USDC, 1_500_000)
	r.Blocks(40)
	if got := r.commits(20 * time.Second); !slices.Equal(got, []string{before + " SOL (0), 1.5 USDC (1.5), with a receipt"}) {
		t.Errorf("told %q", got)
	}
	r.FundToken(r.bob.Address(), solana.USDC, 999) // dust
	r.Blocks(40)
	if got := r.commits(20 * time.Second); len(got) != 0 {
		t.Errorf("told %q", got)
	}
	r.FundToken(r.bob.Address(), solana.USDC, 500_000)
	r.Blocks(40)
	if got := r.commits(20 * time.Second); !slices.Equal(got, []string{before + " SOL (0), 2.000999 USDC (0.500999), with a receipt"}) {
		t.Errorf("told %q", got)
	}
}

// listing is a ledger that lists token accounts.
type listing struct{ *moneyLedger }

func (l listing) TokenAccounts(_ context.Context, owner wallet.Address) (out []wallet.TokenAccount, _ error) {
	for _, account := range l.tokens {
		if account.Owner == owner {
			out = append(out, *account)
		}
	}
	return out, nil
}

// TestChangesAddUpToBalances: payments, dust, payments of the owner's own, accounts that open and close, transactions that no
// node shows for a while or ever, and restarts, at random. The changes of all events add up to what the last one says, and when
// the last of it was no dust, that is what the chain says.
func TestChangesAddUpToBalances(t *testing.T) {
	for seed := range uint64(6) {
		chance := rand.New(rand.NewPCG(seed, 9))
		r, chain := tellingBalances(t)
		r.Watcher.Expected, r.Watcher.Chain = []wallet.Token{usdcOf(r.watching)}, listing{chain}
		accounts := []wallet.Address{wallet.AssociatedAccount(r.bob.Address(), usdcOf(r.watching).Mint, usdcOf(r.watching).Program), {60, byte(seed)}, {61, byte(seed)}}
		chain.tokens = map[wallet.Address]*wallet.TokenAccount{}
		r.watchesAll(chain, accounts...)
		sums, last := map[string]*big.Rat{"SOL": new(big.Rat), "USDC": new(big.Rat)}, wallet.BalanceUpdatedData{}
		look := func() {
			r.commits(20 * time.Second)
			for _, d := range r.said {
				last = d
				for token, b := range d.Balances {
					sums[token].Add(sums[token], decimal(b.Change))
				}
			}
			for token, b := range last.Balances {
				if sums[token].Cmp(decimal(b.Amount)) != 0 {
					t.Fatalf("seed %d: the changes add up to %s, and %s %s are told\n%s", seed, sums[token].FloatString(9), b.Amount, token, r.log)
				}
			}
		}
		for range 60 {
			at, token := r.bob.Address(), wallet.SOL
			if n := chance.IntN(5); n < len(accounts) {
				at, token = accounts[n], usdcOf(r.watching)
			}
			moves := func(units int64) wallet.Signature {
				if chain.tokens[at] == nil && at != r.bob.Address() { // it opens
					chain.tokens[at] = &wallet.TokenAccount{Address: at, Owner: r.bob.Address(), Mint: token.Mint}
				}
				return chain.moves(at, token, units)
			}
			held := int64(chain.balances[at])
			switch chance.IntN(9) {
			case 0, 1:
				moves(1 + chance.Int64N(3)) // dust
			case 2, 3:
				moves(sol + chance.Int64N(sol))
			case 4:
				moves(-chance.Int64N(held + 1))
			case 5:
				moves(-held)
				delete(chain.tokens, at)
			case 6: // one that nobody shows for now
				sig := moves(sol)
				hidden := chain.paid[sig]
				delete(chain.paid, sig)
				look()
				if chance.IntN(2) == 0 {
					chain.paid[sig] = hidden
					r.Pass(7 * time.Hour)
				} else {
					r.Pass(8 * 24 * time.Hour)
				}
			case 7:
				r.Pass(25 * time.Hour)
			}
			if chance.IntN(3) > 0 {
				look()
			}
		}
		r.Pass(25 * time.Hour)
		look()
		for _, at := range accounts {
			if chain.tokens[at] != nil {
				chain.moves(at, usdcOf(r.watching), sol)
			}
		}
		chain.moves(r.bob.Address(), wallet.SOL, sol)
		look()
		usdc := uint64(0)
		for _, at := range accounts {
			usdc += chain.balances[at]
		}
		if last.Balances["SOL"].Amount != wallet.Lamports(chain.balances[r.bob.Address()]).String() ||
			last.Balances["USDC"].Amount != usdcOf(r.watching).Amount(usdc).String() {
			t.Errorf("seed %d: told %+v, the chain says %d and %d\n%s", seed, last, chain.balances[r.bob.Address()], usdc, r.log)
		}
	}
}

func decimal(of string) *big.Rat {
	out, ok := new(big.Rat).SetString(of)
	if !ok {
		panic(of)
	}
	return out
}

// TestBalancesOfAWalletWithoutOwner: the event is nobody's, so it goes to keys without an owner.
func TestBalancesOfAWalletWithoutOwner(t *testing.T) {
	r, chain := tellingBalances(t)
	of := wallet.Wallet{Address: wallet.Address{77, 1}, KeyLineage: "key_1", ConnectedAt: r.Now()}
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutWallet(of) }))
	r.commits(20 * time.Second)
	chain.pay(of.Address, sol)
	r.commits(20 * time.Second)
	if len(r.said) != 1 || r.said[0].WalletAddress != of.Address || r.of[0] != "" || r.said[0].Balances["SOL"].Change != "1" {
		t.Errorf("%+v of %q", r.said, r.of)
	}
}

// TestBalancesThatNobodyCanExplainAreTold: the nodes lost a part of a history, or all of the chain.
func TestBalancesThatNobodyCanExplainAreTold(t *testing.T) {
	for name, breaks := range map[string]func(*watching, *moneyLedger){
		"pruned": func(r *watching, chain *moneyLedger) {
			r.moody().walk = func(q wallet.HistoryQuery, _ wallet.HistoryWalk, _ error) (wallet.HistoryWalk, error) {
				return wallet.HistoryWalk{Next: q.From, Since: 1 << 30}, network(wallet.ErrHistoryPruned)
			}
			chain.pay(r.bob.Address(), 3)
		},
		"reset": func(r *watching, _ *moneyLedger) {
			fresh := newMoneyLedger()
			fresh.slot = 5
			fresh.pay(r.bob.Address(), sol+3)
			r.Watcher.Chain = &slotted{moneyLedger: fresh}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			chain.pay(r.bob.Address(), sol)
			r.Pass(time.Minute)
			r.look()
			breaks(r, chain)
			r.lasts(90 * time.Minute)
			if a := r.watched().Accounts[0]; a.Units != sol+3 || a.Before != nil {
				t.Errorf("%+v\n%s", a, r.log)
			}
		})
	}
}

// sol is what Bob's wallet holds on chain.
func (r *balances) sol() string {
	return wallet.Lamports(r.watched().Accounts[0].Units).String()
}

// TestBalancesAreToldInDollars at the prices that are known when the event is written.
func TestBalancesAreToldInDollars(t *testing.T) {
	r, chain := tellingBalances(t)
	r.commits(20 * time.Second)
	worth := func(lamports int64) [2]string {
		t.Helper()
		chain.pay(r.bob.Address(), uint64(lamports))
		r.commits(20 * time.Second)
		if len(r.said) != 1 {
			t.Fatalf("told %+v", r.said)
		}
		return [2]string{r.said[0].Balances["SOL"].USDValue, r.said[0].TotalUSDValue}
	}
	if got := worth(3 * sol); got != [2]string{} {
		t.Errorf("nobody knows a price: %q", got)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice("150.5"), At: r.Now(), Source: "jupiter"}})
	}))
	if got := worth(sol); got != [2]string{"602", "602"} {
		t.Errorf("four SOL are worth %q", got)
	}
	r.Pass(wallet.StalePrice)
	if got := worth(sol); got != [2]string{} {
		t.Errorf("by an old price: %q", got)
	}
}
