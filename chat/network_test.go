package chat_test

import (
	"context"
	"log/slog"
	"time"

	"purser/notify"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
	"purser/work"
)

// network makes something happen to somebody's newest transaction: the cluster does its part, and
// the settler finds out.
func (r *harness) network(who string, what wallet.Trigger) {
	r.Helper()
	id, p := r.newest(who).ID, r.people[who]
	r.Whole()
	want := wallet.Confirmed
	switch what {
	case wallet.NetworkAccepted:
		want = wallet.Pending
		r.Rounds(1)
	case wallet.Landed:
		r.Pass(r.Settler.Pace.Rebroadcast)
		r.Rounds(1)
		r.Blocks(3)
		r.Rounds(1)
	case wallet.Finalized:
		r.Settled(id)
	case wallet.BecameUncertain: // no node answers until it is late by our clock
		want = wallet.Signed
		r.During("sendTransaction", solana.Fault{Status: 503})
		r.Rounds(1)
		r.Pass(wallet.NeverLandsAfter)
		r.Rounds(1)
	case wallet.RolledBack:
		want = wallet.Pending
		r.Must(r.Cluster.Fork(5))
		r.forgets()
	case wallet.CanNeverLand:
		want = wallet.Failed
		r.forgets()
	case wallet.FailedOnChain:
		want = wallet.Failed
		r.fails(p, id)
	case wallet.FoundOnChain:
		r.Must(r.Chain.Broadcast(context.Background(), p.kept))
		r.Blocks(3)
		r.Pass(r.Settler.Pace.Search)
		r.Rounds(1)
	case wallet.Paid: // their newest request, by Alice, in a transaction that she makes elsewhere
		want = wallet.Received
		asked := r.Transaction(id)
		r.SendBehind(r.people["alice"].Person, wallet.Transaction{From: r.people["alice"].Address(), To: asked.To, Reference: asked.Reference, Amount: asked.Amount})
		r.Blocks(40)
		r.Pass(r.Settler.Pace.Collect)
		r.Rounds(1)
	default:
		r.Fatalf("the network does not %q", what)
	}
	if t := r.Transaction(id); t.Status != want || t.Indeterminate != (what == wallet.BecameUncertain) {
		r.Fatalf("%s: the transaction is %s, held %v", what, t.Status, t.Indeterminate)
	}
	r.settle()
}

// forgets lets the nodes lose what they are handed, until its last block has passed.
func (r *harness) forgets() {
	r.Helper()
	r.During("sendTransaction", solana.Fault{Swallow: true})
	r.Blocks(250)
	r.Pass(wallet.NeverLandsAfter)
	r.Rounds(1)
	r.Whole()
}

// fails has a payment find the wallet empty when its block comes: only its fee is taken.
func (r *harness) fails(p *person, id wallet.TransactionID) {
	r.Helper()
	const rest = 1_000_000 // enough for the fee, and for the wallet to live on
	r.During("sendTransaction", solana.Fault{Delay: 12})
	r.Rounds(1)
	r.Whole()
	spent := r.Cluster.Balance(p.Address().String()) - wallet.SignatureFee - rest
	r.SendBehind(p.Person, wallet.Transaction{From: p.Address(), To: r.Stranger(), Amount: spent})
	r.Settled(id)
	r.Fund(p.Address(), spent+wallet.SignatureFee)
}

// clock lets time go by: conversations time out, and the settler looks.
func (r *harness) clock(d time.Duration) {
	r.Helper()
	r.Pass(d)
	r.fallsSilent()
	r.Look()
	r.held()
	r.summaries()
	r.rounds()
	r.settle()
}

// summaries sends the summaries of portfolios that are due.
func (r *harness) summaries() {
	r.Helper()
	s := notify.Summaries{Store: r.Store, Portfolios: r.Summaries, Chat: r.chat, Node: "a", Now: r.Now, Log: slog.New(slog.DiscardHandler)}
	r.drains(s.Pool())
}

// held handles the events that were held and whose time has come.
func (r *harness) held() {
	r.Helper()
	n := notify.Notifier{Store: r.Store, Chat: r.chat, Node: "a", Now: r.Now, Log: slog.New(slog.DiscardHandler)}
	r.drains(n.Pools()[1])
}

// rounds brings news to people, as the pool of rounds does.
func (r *harness) rounds() {
	r.Helper()
	n := notify.News{Store: r.Store, Node: "a", Now: r.Now, Log: slog.New(slog.DiscardHandler)}
	r.drains(n.Pool())
}

// drains handles the jobs of a pool that are due, as it does.
func (r *harness) drains(pool *work.Pool) {
	r.Helper()
	for {
		var due []store.Job
		r.Must(r.Update(func(tx store.Tx) (err error) {
			due, _, err = tx.ClaimJobs(store.Claim{Queue: pool.Queue, Node: "a", Now: r.Now(), Max: 10, PerOwner: pool.PerOwner, Lease: time.Minute})
			return err
		}))
		if len(due) == 0 {
			return
		}
		for _, job := range due {
			result, err := pool.Handle(r.Context(), job)
			r.Must(err)
			r.Must(r.Update(func(tx store.Tx) error {
				if result.Commit != nil {
					if err := result.Commit(tx); err != nil {
						return err
					}
				}
				if result.End != nil {
					return result.End(tx, job.Ref())
				}
				if !result.Again.IsZero() {
					return tx.SnoozeJobs(result.Again, job.Ref())
				}
				return tx.DoneJobs(job.Ref())
			}))
		}
	}
}
