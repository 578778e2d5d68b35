package settle_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/sandbox/solana"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// watching is a harness whose wallets are watched.
type watching struct {
	*harness
	log *strings.Builder
}

func newWatching(t *testing.T) *watching {
	t.Helper()
	r := &watching{newHarness(t), &strings.Builder{}}
	r.restart()
	r.Blocks(40)
	r.look() // the first one: what they hold
	return r
}

// restart forgets everything that is not stored.
func (r *watching) restart() {
	old := r.Watcher
	r.Watcher = &settle.Watcher{Store: r.Store, Chain: old.Chain, Listed: old.Listed, Expected: old.Expected, Now: r.Now,
		Log: slog.New(slog.NewTextHandler(r.log, nil)), Pace: settle.DefaultWatchPace(120), Node: "main"}
}

// look sweeps and does all that is due then.
func (r *watching) look() {
	r.Helper()
	if err := r.Watcher.Sweep(context.Background()); err != nil {
		r.Fatal(err)
	}
	r.drain()
}

// drain does what is due in the queue.
func (r *watching) drain() {
	r.Helper()
	const most = 2000
	for range most {
		due := r.Due(r.Watcher, 10)
		if len(due) == 0 {
			return
		}
		for _, job := range due {
			r.handle(job)
		}
	}
	r.Fatal("the looks find no end")
}

// handle does one job, as the pool does.
func (r *watching) handle(job store.Job) {
	r.Helper()
	result, err := r.Watcher.Handle(context.Background(), job)
	r.Must(r.Update(func(tx store.Tx) error {
		if err != nil {
			return tx.RetryJobs(r.Now().Add(time.Second), job.Ref())
		}
		if result.Commit != nil {
			if err := result.Commit(tx); err != nil {
				return err
			}
		}
		if !result.Again.IsZero() {
			at := result.Again
			if at.Sub(r.Now()) < time.Second {
				at = r.Now()
			}
			return tx.SnoozeJobs(at, job.Ref())
		}
		return tx.DoneJobs(job.Ref())
	}))
}

// final lets blocks come until everything is final, and looks.
func (r *watching) final() {
	r.Helper()
	r.Blocks(40)
	r.Pass(20 * time.Second)
	r.look()
}

// told is what was announced: amount, token, recipient, in the order of the events.
func (r *watching) told() (out []string) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(100_000)
		for _, e := range events {
			if e.Name != wallet.TransactionReceived {
				continue
			}
			t, err := tx.Transaction(e.Transaction)
			r.Must(err)
			who := map[wallet.Address]string{r.alice.Address(): "alice", r.bob.Address(): "bob"}
			out = append(out, fmt.Sprintf("%s %s to %s", t.Money(), t.Token.Name(), who[t.To]))
		}
		return err
	})
	return out
}

// expect compares what was announced so far.
func (r *watching) expect(want ...string) {
	r.Helper()
	if got := r.told(); strings.Join(got, "; ") != strings.Join(want, "; ") {
		r.Fatalf("announced\n%q, want\n%q\n%s", got, want, r.log)
	}
}

func TestWhatComesInIsAnnouncedOnce(t *testing.T) {
	r := newWatching(t)
	r.look()
	r.expect() // what they held before is no news
	r.Fund(r.bob.Address(), 2*sol)
	r.Pass(20 * time.Second)
	r.look()
	r.expect() // not final yet
	r.final()
	r.expect("2 SOL to bob")
	r.final()
	r.restart()
	r.final()
	r.expect("2 SOL to bob")
	r.FundToken(r.bob.Address(), solana.USDC, 1_500_000) // opens his account, which his wallet does not notice
	r.final()
	r.expect("2 SOL to bob", "1.5 USDC to bob")
	r.FundToken(r.bob.Address(), solana.USDC, 500_000)
	r.Fund(r.bob.Address(), sol)
	r.Fund(r.alice.Address(), 3*sol)
	r.final()
	if got := r.told(); len(got) != 5 || !strings.Contains(strings.Join(got, ";"), "0.5 USDC to bob") || !strings.Contains(strings.Join(got, ";"), "3 SOL to alice") {
		t.Fatalf("announced %q", got)
	}
	r.FundToken(r.bob.Address(), solana.FEE, 5_000_000) // a token that he is not expected to be paid in
	r.final()
	n := len(r.told())
	r.Pass(25 * time.Hour)
	r.final()
	if got := r.told(); n > 6 || len(got) != 6 || got[5] != "5 FEE to bob" {
		t.Fatalf("the daily look at everything announced %q", got)
	}
	r.final()
	r.Pass(25 * time.Hour)
	r.final()
	if got := r.told(); len(got) != 6 {
		t.Fatalf("announced again: %q", got)
	}
	if strings.Contains(r.log.String(), "level=") {
		t.Error(r.log)
	}
}

// TestOwnPaymentsAreAnnouncedOnce: settling and the watcher see the same payment, whoever comes first.
func TestOwnPaymentsAreAnnouncedOnce(t *testing.T) {
	for _, first := range []string{"settler", "watcher"} {
		t.Run(first, func(t *testing.T) {
			r := newWatching(t)
			sent := r.signed("1.5")
			r.Rounds(2)
			r.Blocks(40)
			r.Pass(20 * time.Second)
			if first == "watcher" {
				r.look()
				r.expect("1.5 SOL to bob")
			}
			r.Settled(sent.ID)
			r.final()
			r.expect("1.5 SOL to bob")
			r.View(func(tx store.Tx) error {
				receipt, err := tx.Transaction(wallet.ReceivedID(r.Transaction(sent.ID).Signature, r.bob.Address(), wallet.Address{}))
				if err != nil || receipt.From != r.alice.Address() || receipt.Owner != r.bob.User.ID || receipt.Chat != r.bob.TelegramID || !receipt.Landing.Finalized {
					t.Errorf("%+v, %v", receipt, err)
				}
				return nil
			})
		})
	}
}

// TestATinyPaymentOfOurOwnIsNoDust: the sender used purser, so the watcher announces it as settling would.
func TestATinyPaymentOfOurOwnIsNoDust(t *testing.T) {
	r := newWatching(t)
	r.signed("0.00001")
	r.Rounds(2)
	r.Blocks(40)
	r.Pass(20 * time.Second)
	r.look()
	r.expect("0.00001 SOL to bob")
}

func TestNothingOfAWalletThatIsGone(t *testing.T) {
	r := newWatching(t)
	r.Fund(r.bob.Address(), sol)
	r.Blocks(40)
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(context.Background()))
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
	r.drain()
	r.expect()
	r.Connect(r.bob) // what came before is no news
	r.final()
	r.expect()
	r.Fund(r.bob.Address(), sol)
	r.final()
	r.expect("1 SOL to bob")
}

// TestALookThatIsOutdatedAnnouncesNothing: the wallet was disconnected and connected again while the look was on its way.
func TestALookThatIsOutdatedAnnouncesNothing(t *testing.T) {
	r := newWatching(t)
	r.Fund(r.bob.Address(), sol)
	r.Blocks(40)
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(context.Background()))
	due := r.Due(r.Watcher, 10)
	result, err := r.Watcher.Handle(context.Background(), due[0])
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
	r.Must(r.Update(result.Commit))
	r.Pass(time.Second)
	r.Connect(r.bob)
	if err := r.Update(result.Commit); err == nil {
		t.Error("the look was written")
	}
	r.expect()
}

// TestDustIsFolded: gains that are worth nothing, and those of an address that resembles a known one, are not announced.
func TestDustIsFolded(t *testing.T) {
	r := newWatching(t)
	r.Fund(r.bob.Address(), wallet.DustLamports-1)
	r.FundToken(r.bob.Address(), solana.USDC, 999)
	r.final()
	r.expect()
	r.Fund(r.bob.Address(), wallet.DustLamports)
	r.FundToken(r.bob.Address(), solana.USDC, 1000)
	r.final()
	if got := r.told(); len(got) != 2 {
		t.Fatalf("announced %q", got)
	}
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsOf(r.bob.User.ID, store.Page{Limit: 10})
		if len(rows) != 2 {
			t.Errorf("%d rows are stored", len(rows))
		}
		return err
	})
	// What somebody sends whom Bob knows is never dust.
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: r.bob.User.ID, Name: "Alice", Address: r.alice.Address()})
	}))
	r.Settled(r.signed("0.00001").ID)
	r.final()
	if got := r.told(); len(got) != 3 || got[2] != "0.00001 SOL to bob" {
		t.Fatalf("announced %q", got)
	}
}

var _ = world.SOL
