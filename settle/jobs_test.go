// Long: what settling costs in rows and calls, by one counting store and node.

package settle_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/chain"
	"purser/handlers"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// scripted is a chain that says what a test wants, and counts what it is asked.
type scripted struct {
	mu       sync.Mutex
	landings map[wallet.Signature]*wallet.Landing
	asked    map[string]int
	sent     chan wallet.Signature
	polled   chan int // how many signatures each poll asked for
	hints    chan wallet.Signature
	during   func(method string, signature wallet.Signature) (after func()) // called around each question about one transaction
}

func newScripted() *scripted {
	return &scripted{landings: map[wallet.Signature]*wallet.Landing{}, asked: map[string]int{}, hints: make(chan wallet.Signature),
		sent: make(chan wallet.Signature, 100_000), polled: make(chan int, 100_000)}
}

func (s *scripted) lands(signature wallet.Signature, finalized bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.landings[signature] = &wallet.Landing{Signature: signature, Slot: 9, BlockHeight: 8, Fee: 5_000, Finalized: finalized}
}

func (s *scripted) note(method string, signature wallet.Signature) (*wallet.Landing, func()) {
	s.mu.Lock()
	s.asked[method]++
	landing, during := s.landings[signature], s.during
	s.mu.Unlock()
	if during == nil {
		return landing, func() {}
	}
	return landing, during(method, signature)
}

func (s *scripted) Broadcast(_ context.Context, signed []byte) error {
	signature := wallet.Signature(signed[1:65])
	_, after := s.note("Broadcast", signature)
	defer after()
	s.sent <- signature
	return nil
}

func (s *scripted) Statuses(_ context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error) {
	out := make([]*wallet.Landing, len(signatures))
	for i, signature := range signatures {
		out[i], _ = s.note("status", signature)
	}
	s.polled <- len(signatures)
	return out, nil
}

func (s *scripted) Details(context.Context, *wallet.Landing) {}

func (s *scripted) Find(_ context.Context, q wallet.TransactionQuery) (*wallet.Landing, error) {
	landing, after := s.note("Find", q.Signature)
	defer after()
	return landing, nil
}

func (s *scripted) FindEverywhere(_ context.Context, q wallet.TransactionQuery) (*wallet.Landing, bool, error) {
	landing, after := s.note("FindEverywhere", q.Signature)
	defer after()
	return landing, true, nil
}

func (s *scripted) FinalizedBlockHeight(context.Context) (uint64, error) {
	s.note("FinalizedBlockHeight", wallet.Signature{})
	return 1 << 40, nil
}

func (s *scripted) CanSeeBackTo(context.Context, uint64) (bool, error) { return true, nil }

func (s *scripted) Payments(context.Context, wallet.Address, wallet.Address, wallet.Address, map[wallet.Signature]bool) ([]wallet.Activity, error) {
	s.note("Payments", wallet.Signature{})
	return nil, nil
}

func (s *scripted) Watch(wallet.Signature)         {}
func (s *scripted) Hints() <-chan wallet.Signature { return s.hints }

func (s *scripted) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// counted is a store that counts the transactions read, and the store transactions that write.
type counted struct {
	store.Store
	mu            sync.Mutex
	rows, commits int
	severed       bool  // the node that uses it is cut off: nothing of it reaches the store any more
	broken        error // what it is told then
}

type countedTx struct {
	store.Tx
	of *counted
}

func (tx countedTx) Transaction(id wallet.TransactionID) (wallet.Transaction, error) {
	tx.of.mu.Lock()
	tx.of.rows++
	tx.of.mu.Unlock()
	return tx.Tx.Transaction(id)
}

func (c *counted) cut() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.severed {
		return c.broken
	}
	return nil
}

func (c *counted) View(ctx context.Context, read func(store.Tx) error) error {
	if err := c.cut(); err != nil {
		return err
	}
	return c.Store.View(ctx, func(tx store.Tx) error { return read(countedTx{tx, c}) })
}

func (c *counted) Update(ctx context.Context, change func(store.Tx) error) error {
	if err := c.cut(); err != nil {
		return err
	}
	c.mu.Lock()
	c.commits++
	c.mu.Unlock()
	return c.Store.Update(ctx, func(tx store.Tx) error {
		if err := c.cut(); err != nil { // it was cut off while it waited for its turn
			return err
		}
		return change(countedTx{tx, c})
	})
}

func (c *counted) read() (rows, commits int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows, c.commits
}

// payment is a signed payment of Alice's, as the store holds it once her device has signed.
func (r *harness) payment(n int) wallet.Transaction {
	signature := wallet.Signature{0: 1, 1: byte(n >> 16), 2: byte(n >> 8), 3: byte(n)}
	signed := append([]byte{1}, signature[:]...)
	now := r.Now().UTC()
	return wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_p%06d", n)), Kind: wallet.Send, Status: wallet.AwaitingSignature,
		Owner: r.alice.User.ID, Chat: r.alice.User.TelegramID, From: r.alice.Address(), To: r.bob.Address(), Token: wallet.SOL, Amount: 5, Fee: 5_000,
		Signed: signed, Signature: signature, CreatedAt: now, Deadline: now.Add(wallet.SignWindow),
		IssuedBlockhashes: []wallet.IssuedBlockhash{{At: now, Blockhash: wallet.Blockhash{LastValidBlockHeight: 100, Slot: 1}}}}
}

// sign stores a payment and its signature.
func (r *harness) sign(n int) wallet.Transaction {
	r.Helper()
	t := r.payment(n)
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := store.Begin(tx, t, wallet.TransitionInput{By: wallet.DeviceSigned, At: r.Now().UTC()})
		return err
	}))
	return t
}

// propose stores many proposals that wait for Confirm, each of another person but for the sealing.
func (r *harness) propose(count int) {
	r.Helper()
	for begin := 0; begin < count; begin += 1000 {
		r.Must(r.Update(func(tx store.Tx) error {
			for n := begin; n < min(begin+1000, count); n++ {
				t := r.payment(1_000_000 + n)
				t.Status, t.Signed, t.Signature, t.IssuedBlockhashes = wallet.AwaitingConfirmation, nil, wallet.Signature{}, nil
				t.Deadline = r.Now().UTC().Add(wallet.ConfirmWindow)
				if err := store.Create(tx, t); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}

// run starts the settler as the product does; the returned function stops it and waits for its end.
func (r *harness) run(s *settle.Settler) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group errgroup.Group
	group.Go(func() error { return s.Run(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		r.Must(group.Wait())
	})
}

const patience = 30 * time.Second // for what happens within milliseconds, where a machine is busy

func await[T any](t testing.TB, what string, c <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-c:
	case <-time.After(patience):
		t.Fatalf("%s: it never came", what)
	}
	return got
}

// TestASignedPaymentGoesOutBehindAnyNumberOfProposals: 10,000 proposals that merely wait for Confirm once kept a signed
// payment from ever being broadcast, and each look read all of them.
func TestASignedPaymentGoesOutBehindAnyNumberOfProposals(t *testing.T) {
	count := 10_000
	if testing.Short() {
		count = 1_000
	}
	r := newHarness(t)
	r.propose(count)
	node := newScripted()
	db := &counted{Store: r.Store}
	r.Settler.Store, r.Settler.Chain = db, node
	r.Look()
	if rows, commits := db.read(); rows != 0 || commits > 2 { // one claim for each queue
		t.Errorf("with nothing due, %d rows were read in %d store transactions", rows, commits)
	}
	defer r.run(r.Settler)()
	began := time.Now()
	tx := r.sign(1)
	if got := await(t, "the broadcast", node.sent); got != tx.Signature {
		t.Fatalf("%s was sent", got)
	}
	took := time.Since(began)
	node.lands(tx.Signature, true)
	r.closed(tx.ID)
	if rows, _ := db.read(); rows > 20 {
		t.Errorf("%d rows were read to settle one payment", rows)
	}
	t.Logf("signed to broadcast behind %d proposals: %v", count, took)
}

// closed waits until nothing can change a transaction any more.
func (r *harness) closed(id wallet.TransactionID) wallet.Transaction {
	r.Helper()
	deadline := time.After(patience)
	for {
		t := r.Transaction(id)
		if t.Closed {
			return t
		}
		r.Pass(r.Settler.Pace.Poll) // the world's clock stands still
		select {
		case <-r.Store.Changed(store.Events):
		case <-time.After(10 * time.Millisecond): // the clock, not an event, is waited for
		case <-deadline:
			r.Fatalf("%s is still %s", id, t.Status)
		}
	}
}

// TestProposalsEndAtTheirTime, all of them, and nothing is left to be done.
func TestProposalsEndAtTheirTime(t *testing.T) {
	r := newHarness(t)
	r.propose(300)
	r.Pass(wallet.ConfirmWindow - time.Millisecond)
	r.Look()
	r.is("tx_p1000299", wallet.AwaitingConfirmation)
	r.Pass(time.Millisecond)
	r.Look()
	for n := range 300 {
		r.is(r.payment(1_000_000+n).ID, wallet.Expired)
	}
	r.idle()
}

// jobs are the queues in which a transaction has a job, with the time of its next look.
func (r *harness) jobs(id wallet.TransactionID) map[store.Queue]time.Time {
	r.Helper()
	found := map[store.Queue]time.Time{}
	r.View(func(tx store.Tx) error {
		for _, queue := range []store.Queue{store.Settlement, store.Collecting} {
			switch job, err := tx.Job(queue, store.JobID(id)); {
			case err == nil:
				found[queue] = job.NotBefore
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
		}
		return nil
	})
	return found
}

// idle fails when any job is left.
func (r *harness) idle() {
	r.Helper()
	r.View(func(tx store.Tx) error {
		for _, queue := range []store.Queue{store.Settlement, store.Collecting} {
			stats, err := tx.JobStats(queue)
			if err != nil || stats.Waiting+stats.InFlight > 0 {
				r.Errorf("%s still holds %+v", queue, stats)
			}
		}
		return nil
	})
}

// TestEveryStepSaysWhenToLookNext walks all steps that there are, taken by somebody else than settle.
func TestEveryStepSaysWhenToLookNext(t *testing.T) {
	r := newHarness(t)
	now := r.Now().UTC()
	deadline, soon := now.Add(time.Hour), now.Add(500*time.Millisecond)
	want := map[wallet.Status]map[store.Queue]time.Time{
		wallet.AwaitingConfirmation: {store.Settlement: deadline},
		wallet.Delayed:              {store.Settlement: now.Add(2 * time.Hour)},
		wallet.AwaitingSignature:    {store.Settlement: now.Add(wallet.SignWindow)}, // its own time begins with the Confirm
		wallet.Signed:               {store.Settlement: now},
		wallet.Pending:              {store.Settlement: soon},
		wallet.Confirmed:            {store.Settlement: soon},
		wallet.Rejected:             {store.Collecting: soon},
		wallet.Expired:              {store.Collecting: soon},
		wallet.Requested:            {store.Collecting: now},
		wallet.Received:             {},
		wallet.Failed:               {},
	}
	for i, edge := range wallet.Lifecycle() {
		before := r.payment(i)
		before.Status, before.Deadline = edge.From, deadline
		switch {
		case edge.From == wallet.Requested:
			before.Kind = wallet.Request
		case edge.From == wallet.Delayed:
			before.DelayFor, before.DelayEndsAt = 2*time.Hour, now.Add(2*time.Hour)
		case edge.By == wallet.ConfirmedToWait:
			before.DelayFor = 2 * time.Hour
		}
		input := wallet.TransitionInput{By: edge.By, At: now, Landing: &wallet.Landing{Signature: before.Signature, Slot: 5}}
		r.Must(r.Update(func(tx store.Tx) error { return store.Create(tx, before) }))
		first := maps.Clone(want[edge.From])
		if edge.From == wallet.AwaitingSignature {
			first[store.Settlement] = deadline
		}
		if got := r.jobs(before.ID); !maps.EqualFunc(got, first, time.Time.Equal) {
			t.Errorf("a new one that is %s: %v, want %v", edge.From, got, first)
		}
		var after wallet.Transaction
		r.Must(r.Update(func(tx store.Tx) (err error) {
			before.Version = 1
			after, err = store.Step(tx, before, input)
			return err
		}))
		next := want[after.Status]
		if after.Closed {
			next = nil
		} else if edge.By == wallet.DelayEnded {
			next = map[store.Queue]time.Time{store.Settlement: now.Add(wallet.DelayedSignWindow)}
		}
		if got := r.jobs(before.ID); !maps.EqualFunc(got, next, time.Time.Equal) {
			t.Errorf("%s, %s, then %s (closed %v): %v, want %v", edge.From, edge.By, after.Status, after.Closed, got, next)
		}
	}
}

// TestRequestsAreLookedForLessOftenWithAge: every 5 seconds for 5 minutes, every 15 until 15 minutes, then every 30, and
// once at the moment that ends it.
func TestRequestsAreLookedForLessOftenWithAge(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	r.Settler.Chain = node
	asked := r.requests("1", "SOL").Transaction
	var looks []time.Duration
	for range 1_000 {
		due, open := r.jobs(asked.ID)[store.Collecting]
		if !open {
			break
		}
		r.Pass(due.Sub(r.Now()))
		looks = append(looks, r.Now().Sub(asked.CreatedAt))
		r.Look()
	}
	gaps := map[time.Duration]int{}
	for i, at := range looks[1:] {
		gap := at - looks[i]
		gaps[gap]++
		if was := looks[i]; was < 5*time.Minute && gap != 5*time.Second || was >= 5*time.Minute && was < 15*time.Minute && gap != 15*time.Second {
			t.Errorf("at %v it is looked for again after %v", was, gap)
		}
	}
	if want := map[time.Duration]int{5 * time.Second: 60, 15 * time.Second: 40, 30 * time.Second: 96}; !maps.Equal(gaps, want) {
		t.Errorf("between looks: %v, want %v", gaps, want)
	}
	if last := looks[len(looks)-1]; last != handlers.RequestWindow+wallet.NeverLandsAfter || len(looks) != node.count("Payments") {
		t.Errorf("the last of %d looks was after %v, %d questions", len(looks), last, node.count("Payments"))
	}
	r.is(asked.ID, wallet.Expired)
	r.idle()
}

// TestPollsOfAPendingPaymentWriteNothing: it stays in hand between them, and all that is pending is asked for at once.
func TestPollsOfAPendingPaymentWriteNothing(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	db := &counted{Store: r.Store}
	s := r.Settler
	r.Pass(time.Since(r.Now())) // from here on the real clock
	s.Store, s.Chain, s.Now = db, node, time.Now
	s.Pace.Poll, s.Pace.Hold, s.Pace.Gather, s.Pace.Rebroadcast, s.Pace.QuietTime = 20*time.Millisecond, time.Hour, 5*time.Millisecond, time.Hour, time.Hour
	const payments = 40
	var all []wallet.Transaction
	for n := range payments {
		all = append(all, r.sign(n))
	}
	defer r.run(s)()
	for range payments {
		await(t, "a broadcast", node.sent)
	}
	for r.Transaction(all[payments-1].ID).Status != wallet.Pending || node.count("status") < 5*payments {
		await(t, "a poll", node.polled)
	}
	for len(node.polled) > 0 {
		<-node.polled
	}
	// A claim now and then finds nothing: that is one write, and how many of them there are is a matter of time.
	claims := func(since time.Time) int { return 4 + 4*int(time.Since(since)/time.Second) }
	began := time.Now()
	_, before := db.read()
	together, polls := 0, 20
	for range polls {
		together += await(t, "a poll", node.polled)
	}
	if _, after := db.read(); after-before > claims(began) {
		t.Errorf("%d polls wrote %d times", polls, after-before)
	}
	if together < polls*payments/4 {
		t.Errorf("%d polls asked for %d signatures in all: they are not asked for together", polls, together)
	}
	for _, one := range all {
		node.lands(one.Signature, false)
	}
	for _, one := range all {
		for r.Transaction(one.ID).Status != wallet.Confirmed {
			await(t, "a poll", node.polled)
		}
	}
	for len(node.polled) > 0 {
		<-node.polled
	}
	wrote := 0
	for range 10 { // what confirmed them is still being written at first
		began = time.Now()
		_, before = db.read()
		for range polls {
			await(t, "a poll", node.polled)
		}
		_, after := db.read()
		if wrote = after - before; wrote <= claims(began) {
			break
		}
	}
	if wrote > claims(began) {
		t.Errorf("of confirmed payments %d polls wrote %d times", polls, wrote)
	}
	if got := node.count("Broadcast"); got != payments {
		t.Errorf("%d payments were sent %d times, within the pause between two broadcasts", payments, got)
	}
	for _, one := range all {
		node.lands(one.Signature, true)
	}
	for _, one := range all {
		r.closed(one.ID)
	}
	r.idle()
}

// TestRequestsStayInNobodysHands: between two looks they are in the store, or the eight that are looked at at once would
// keep all others waiting.
func TestRequestsStayInNobodysHands(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	r.Settler.Chain = node
	r.Settler.Pace.Hold = time.Hour
	const requests = 30
	looked := make(chan struct{}, 1_000)
	node.during = func(string, wallet.Signature) func() {
		looked <- struct{}{}
		return func() {}
	}
	for n := range requests {
		r.Must(r.Update(func(tx store.Tx) error {
			asked := r.payment(n)
			asked.Kind, asked.Status, asked.Signed, asked.Signature, asked.IssuedBlockhashes = wallet.Request, wallet.Requested, nil, wallet.Signature{}, nil
			return store.Create(tx, asked)
		}))
	}
	defer r.run(r.Settler)()
	for range requests {
		await(t, "a look at a request", looked)
	}
}

// TestAPartThatIsStoredIsNotReadAgain: each reading costs calls. One that could not be stored is.
func TestAPartThatIsStoredIsNotReadAgain(t *testing.T) {
	r := newHarness(t)
	asked := r.requests("2", "SOL").Transaction
	part := r.brings(1, sol, asked)
	node := &remembering{mentioned: mentioned{Chain: r.Chain, payments: []wallet.Activity{part}}}
	r.Settler.Chain = node
	r.Settler.Store = refusing{Store: r.Store, id: asked.ID}
	r.Look()
	node.payments = nil
	r.Pass(r.Settler.Pace.Collect)
	r.Look()
	if in := r.received(); len(in) != 1 || !node.judged[part.Signature] {
		t.Errorf("received %+v; the next look was told of %v", in, node.judged)
	}
}

// remembering is a chain that notes what it was told that it need not look at.
type remembering struct {
	mentioned
	judged map[wallet.Signature]bool
}

func (c *remembering) Payments(ctx context.Context, to, reference, mint wallet.Address, judged map[wallet.Signature]bool) ([]wallet.Activity, error) {
	c.judged = maps.Clone(judged)
	return c.mentioned.Payments(ctx, to, reference, mint, judged)
}

// TestTroubleIsTriedAgainLessAndLessOften, up to every 10 seconds, and at once after it has ended or the owner asks.
func TestTroubleIsTriedAgainLessAndLessOften(t *testing.T) {
	r := newTwo(t)
	tx := r.signed("2")
	r.first.change(func(n *node) { n.silent[""] = true })
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second}
	for i, wait := range want {
		r.Look()
		due := r.jobs(tx.ID)[store.Settlement]
		if got := due.Sub(r.Now()); got != wait {
			t.Fatalf("after %d failures it waits %v, want %v", i+1, got, wait)
		}
		r.Pass(wait)
	}
	r.first.change(func(n *node) { n.silent[""] = false })
	r.Look()
	r.is(tx.ID, wallet.Pending)
	r.first.change(func(n *node) { n.silent[""] = true })
	for range 3 {
		r.Pass(r.jobs(tx.ID)[store.Settlement].Sub(r.Now()))
		r.Look()
	}
	r.Must(r.Update(func(db store.Tx) error {
		row, err := db.Transaction(tx.ID)
		if err == nil {
			_, err = store.Step(db, row, wallet.TransitionInput{By: wallet.BecameUncertain, At: r.Now().UTC()})
		}
		return err
	}))
	r.Must(r.Update(func(db store.Tx) error { return r.Transfers.Recheck(db, r.alice.Caller(), tx.ID) }))
	if due := r.jobs(tx.ID)[store.Settlement]; !due.Equal(r.Now()) {
		t.Errorf("the owner asks, and it is looked at in %v", due.Sub(r.Now()))
	}
}

// TestHistoryIsSearchedForWhatThePollHasNotKnownForAWhile: a node that forgets for a moment costs no search.
func TestHistoryIsSearchedForWhatThePollHasNotKnownForAWhile(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	r.Settler.Chain = node
	tx := r.sign(1)
	r.Look()
	node.lands(tx.Signature, false)
	for range 3 {
		r.Pass(r.Settler.Pace.QuietTime / 2)
		r.Look()
	}
	r.is(tx.ID, wallet.Confirmed)
	node.mu.Lock()
	delete(node.landings, tx.Signature)
	node.mu.Unlock()
	r.Pass(r.Settler.Pace.QuietTime - time.Millisecond)
	r.Look()
	if got := node.count("Find"); got != 0 {
		t.Errorf("history was searched %d times", got)
	}
	r.Pass(r.Settler.Pace.Poll)
	r.Look()
	if got := node.count("Find"); got != 1 {
		t.Errorf("after the quiet time history was searched %d times", got)
	}
}

// TestRestartsDoNotPutOffTheSearch: a process that never lives for as long as the quiet time, and a node that knows nothing of a
// confirmed payment any more.
func TestRestartsDoNotPutOffTheSearch(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	r.Settler.Chain = node
	tx := r.sign(1)
	r.Look()
	node.lands(tx.Signature, false)
	r.Pass(r.Settler.Pace.QuietTime / 2) // the quiet time begins with the landing
	r.Look()
	r.is(tx.ID, wallet.Confirmed)
	node.mu.Lock()
	delete(node.landings, tx.Signature)
	node.mu.Unlock()
	lives := func() {
		r.Restart()
		r.Settler.Chain = node
		r.Pass(time.Second)
		r.Look()
	}
	for lived := time.Second; lived < r.Settler.Pace.QuietTime; lived += time.Second {
		lives()
	}
	if got := node.count("Find"); got != 0 {
		t.Errorf("history was searched %d times within the quiet time", got)
	}
	lives()
	if got := node.count("Find"); got != 1 {
		t.Errorf("after the quiet time history was searched %d times", got)
	}
}

// TestAHintHasAPaymentLookedAtAtOnce, whatever the pace is.
func TestAHintHasAPaymentLookedAtAtOnce(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	s := r.Settler
	r.Pass(time.Since(r.Now())) // from here on the real clock
	s.Chain, s.Now = node, time.Now
	s.Pace.Poll, s.Pace.Hold = time.Hour, 2*time.Hour
	tx := r.sign(1)
	r.Must(r.Update(func(db store.Tx) error { // as the network has accepted it, an hour before the next poll
		row, err := db.Transaction(tx.ID)
		if err == nil {
			_, err = store.Step(db, row, wallet.TransitionInput{By: wallet.NetworkAccepted, At: r.Now().UTC()})
		}
		return err
	}))
	defer r.run(s)()
	await(t, "the first poll", node.polled)
	node.lands(tx.Signature, true)
	select {
	case node.hints <- tx.Signature:
	case <-time.After(patience):
		t.Fatal("nobody hears hints")
	}
	await(t, "the poll for the hint", node.polled)
	r.closed(tx.ID)
}

// TestWhatANodeHeldIsTakenOverAfterItsLease: it died with a payment in hand that it had not sent.
func TestWhatANodeHeldIsTakenOverAfterItsLease(t *testing.T) {
	r := newHarness(t)
	node := newScripted()
	r.Settler.Chain = node
	tx := r.sign(1)
	var lease time.Duration
	for _, pool := range r.Settler.Pools() {
		lease = pool.Lease
		r.Must(r.Update(func(db store.Tx) error {
			_, _, err := db.ClaimJobs(store.Claim{Queue: pool.Queue, Node: "another", Now: r.Now(), Max: 10, Lease: lease})
			return err
		}))
	}
	r.Pass(lease - time.Millisecond)
	r.Look()
	r.is(tx.ID, wallet.Signed)
	r.Pass(time.Millisecond)
	r.Look()
	r.is(tx.ID, wallet.Pending)
	if got := node.count("Broadcast"); got != 1 {
		t.Errorf("it was sent %d times", got)
	}
}

// nodeOf is one more process over the same store.
func (r *harness) nodeOf(name string, node settle.Chain) (*settle.Settler, *counted) {
	db := &counted{Store: r.Store, broken: errors.New("cut off")}
	pace := r.Settler.Pace
	return &settle.Settler{Store: db, Chain: node, Now: r.Now, Log: slog.New(slog.DiscardHandler), Pace: pace, Node: name}, db
}

// TestTwoNodesSettleEachPaymentOnce: no payment is looked at by two at once, one of the nodes is cut off in the middle, and
// the other ends what it held after its lease.
func TestTwoNodesSettleEachPaymentOnce(t *testing.T) {
	r := newHarness(t)
	const payments = 60
	var mu sync.Mutex
	busy := map[wallet.Signature]string{}
	dead := map[string]bool{}
	looked := map[string]int{}
	var nodes []*scripted
	for _, name := range []string{"first", "second"} {
		node := newScripted()
		node.during = func(method string, signature wallet.Signature) func() {
			if method == "status" { // one question is about many
				return func() {}
			}
			mu.Lock()
			defer mu.Unlock()
			looked[name]++
			if other := busy[signature]; other != "" && other != name && !dead[other] {
				t.Errorf("%s is looked at by %s and %s at once", signature, other, name)
			}
			busy[signature] = name
			return func() {
				mu.Lock()
				defer mu.Unlock()
				if busy[signature] == name {
					busy[signature] = ""
				}
			}
		}
		nodes = append(nodes, node)
	}
	first, cut := r.nodeOf("first", nodes[0])
	second, _ := r.nodeOf("second", nodes[1])
	stopFirst, stopSecond := r.run(first), r.run(second)
	defer stopSecond()
	var all []wallet.Transaction
	for n := range payments {
		all = append(all, r.sign(n))
		for _, node := range nodes {
			node.lands(all[n].Signature, n%2 == 0) // every other is confirmed and not final yet
		}
		if n == payments/2 {
			mu.Lock()
			dead["first"] = true
			mu.Unlock()
			cut.mu.Lock()
			cut.severed = true
			cut.mu.Unlock()
		}
	}
	stopFirst()
	for _, one := range all {
		for _, node := range nodes {
			node.lands(one.Signature, true)
		}
	}
	r.Pass(time.Minute) // more than a lease
	for _, one := range all {
		r.closed(one.ID)
		times := map[wallet.EventName]int{}
		for _, name := range r.Events(one.ID) {
			times[name]++
		}
		for name, n := range times {
			if n != 1 {
				t.Errorf("%s announced %s %d times", one.ID, name, n)
			}
		}
		if times[wallet.TransactionFinalized] != 1 || times[wallet.TransactionConfirmed] != 1 {
			t.Errorf("%s announced %v", one.ID, times)
		}
	}
	mu.Lock()
	t.Logf("questions about single payments: %v", looked)
	mu.Unlock()
}

// TestABudgetOfTenCallsASecondCarriesASignedPayment, though a thousand requests are open and all due.
func TestABudgetOfTenCallsASecondCarriesASignedPayment(t *testing.T) {
	r := newTwo(t)
	for begin := range 10 {
		r.Must(r.Update(func(tx store.Tx) error {
			for n := range 100 {
				asked := r.payment(2_000_000 + 100*begin + n)
				asked.Kind, asked.Status, asked.Signed, asked.Signature, asked.IssuedBlockhashes = wallet.Request, wallet.Requested, nil, wallet.Signature{}, nil
				asked.Reference, asked.Deadline = wallet.Address{0: 9, 1: byte(begin), 2: byte(n)}, r.Now().Add(time.Hour)
				if err := store.Create(tx, asked); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	sent := make(chan struct{}, 100)
	first := make(chan struct{}, 1_000)
	r.first.change(func(n *node) {
		n.before = func(_ *node, method string) {
			switch method {
			case "sendTransaction":
				sent <- struct{}{}
			case "getSignaturesForAddress":
				first <- struct{}{}
			}
		}
	})
	client, err := chain.New(chain.Options{RPCURLs: []string{r.serverOf(r.first)}, Cluster: wallet.Localnet, Now: time.Now, Timeout: time.Minute, PerSecond: 10, Share: true})
	r.Must(err)
	defer client.Close()
	r.Settler.Chain = client
	defer r.run(r.Settler)()
	for range 15 { // requests have used up what was saved, and stand in line for more
		await(t, "a request's look", first)
	}
	began := time.Now()
	tx := r.signed("2")
	signed := time.Now()
	await(t, "the broadcast", sent)
	took := time.Since(signed)
	r.first.has(tx.Signature, final, tx.Signed, tx.Reference)
	r.closed(tx.ID)
	t.Logf("signed to broadcast: %v, to its end: %v", took, time.Since(began))
	if took > 10*time.Second { // it is a fraction of a second on a machine that does nothing else
		t.Errorf("a signed payment was broadcast after %v", took)
	}
	if asked := len(first); asked > 900 {
		t.Errorf("%d more requests were looked for meanwhile: there is no budget", asked)
	}
}

// TestWaitsAfterFailuresAreRandom: both pools draw their waits from the source that main gives.
func TestWaitsAfterFailuresAreRandom(t *testing.T) {
	chance := strings.NewReader("chance")
	for _, pool := range (&settle.Settler{Pace: settle.DefaultPace(), Random: chance}).Pools() {
		if pool.Schedule.Random != chance {
			t.Errorf("the pool of %s has the source %v", pool.Queue, pool.Schedule.Random)
		}
	}
}
