package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/notify"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
	"purser/work"
)

// step claims the job of a queue that is due, handles it, and ends it as the pool does. false: none is due.
func (r *harness) step(pool *work.Pool, at time.Time, lost bool) bool {
	r.Helper()
	var due []store.Job
	r.update(func(tx store.Tx) (err error) {
		due, _, err = tx.ClaimJobs(store.Claim{Queue: pool.Queue, Node: "a", Now: at, Max: 1, PerOwner: pool.PerOwner, Lease: time.Minute})
		return err
	})
	if len(due) == 0 {
		return false
	}
	job := due[0]
	result, err := pool.Handle(r.Context(), job)
	if err != nil {
		r.log.WriteString(err.Error())
		r.update(func(tx store.Tx) error { return tx.RetryJobs(at.Add(time.Minute), job.Ref()) })
		return true
	}
	undone := errors.New("the first try")
	for _, end := range []error{undone, nil} { // each commit runs twice, as a store may
		if end == nil && lost { // and here the node dies before it is written
			r.update(func(tx store.Tx) error { return tx.ReleaseNode("a") })
			return true
		}
		err := r.store.Update(r.Context(), func(tx store.Tx) error {
			if result.Commit != nil {
				if err := result.Commit(tx); err != nil {
					return err
				}
			}
			var err error
			switch {
			case result.End != nil:
				err = result.End(tx, job.Ref())
			case !result.Again.IsZero():
				err = tx.SnoozeJobs(result.Again, job.Ref())
			default:
				err = tx.DoneJobs(job.Ref())
			}
			return errors.Join(err, end)
		})
		switch {
		case err == nil || errors.Is(err, undone) && end != nil:
		case job.Failures+1 == pool.Schedule.Failures:
			r.update(func(tx store.Tx) error { return tx.DeadLetterJobs(at, "it failed", job.Ref()) })
			return true
		default:
			r.update(func(tx store.Tx) error { return tx.RetryJobs(at.Add(time.Minute), job.Ref()) })
			return true
		}
	}
	return true
}

// TestAHeldEventThatFailsTakesNoOtherWithIt: of five that were held one cannot be told. The others are, in their order, and it alone is a dead letter.
func TestAHeldEventThatFailsTakesNoOtherWithIt(t *testing.T) {
	r := newHarness(t)
	for n := range 5 {
		id := wallet.TransactionID(fmt.Sprint("tx_held", n))
		event, err := wallet.NewEvent("evt_"+string(id), "stake.reward", now, "usr_alice", struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		event.Transaction = id
		r.update(func(tx store.Tx) error { return store.HoldEvent(tx, "usr_alice", event, now, now.Add(time.Hour)) })
	}
	r.listener.fail["tx_held2"] = errors.New("it cannot be rendered")
	at := now
	n := notify.Notifier{Store: r.store, Chat: r.listener, Node: "a", Now: func() time.Time { return at }, Log: slog.New(slog.DiscardHandler)}
	pool := n.Pools()[1]
	for range 60 {
		at = at.Add(2 * time.Minute)
		for r.step(pool, at, false) {
		}
	}
	var sent []string
	for _, reply := range storetest.Outbox(r, r.store) {
		sent = append(sent, string(reply.Body))
	}
	if got, want := strings.Join(sent, "; "), "usr_alice held tx_held0; usr_alice held tx_held1; usr_alice held tx_held3 tx_held4"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	var dead []store.DeadLetter
	r.update(func(tx store.Tx) (err error) {
		dead, err = tx.DeadLetters(store.HeldEvents, 10)
		return err
	})
	if len(dead) != 1 || dead[0].ID != "evt_tx_held2" {
		t.Errorf("dead letters: %+v", dead)
	}
}

// job returns the job of a queue; ErrNotFound without one.
func (r *harness) job(queue store.Queue, id store.JobID) (job store.Job, err error) {
	r.Helper()
	if failed := r.store.View(r.Context(), func(tx store.Tx) error { job, err = tx.Job(queue, id); return nil }); failed != nil {
		r.Fatal(failed)
	}
	return job, err
}

// publishes lets a feed publish an item.
func (r *harness) publishes(title string, at time.Time) {
	r.Helper()
	r.update(func(tx store.Tx) error {
		_, err := tx.NoteNews([]wallet.NewsItem{{ID: title, Title: title, At: at}}, at, false)
		return errors.Join(err, store.OrderNews(tx, at))
	})
}

// TestARoundOfNewsReachesEachReaderOnce: 1,000 people, in pages, although the node dies in the middle and somebody joins. The next round comes three hours later, and only
// if there is something new.
func TestARoundOfNewsReachesEachReaderOnce(t *testing.T) {
	r := newHarness(t)
	reader := func(n int) wallet.User {
		return wallet.User{ID: wallet.UserID(fmt.Sprintf("usr_%04d", n)), TelegramID: int64(5000 + n), RegisteredAt: now, Notifications: &wallet.Notifications{Enabled: true, Events: []string{"market.news"}}}
	}
	r.update(func(tx store.Tx) error {
		for n := range 1000 {
			if err := tx.PutUser(reader(n)); err != nil {
				return err
			}
		}
		return nil
	})
	pool := (&notify.News{Store: r.store, Node: "a", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}).Pool()
	r.publishes("Dune rises", now)
	r.publishes("Bean falls", now) // ordered once
	steps := 0
	for ; r.step(pool, now, steps == 2); steps++ {
		if steps == 1 {
			r.update(func(tx store.Tx) error {
				late := reader(9999)
				late.ID = "usr_zzz"
				return tx.PutUser(late)
			})
		}
	}
	told := map[wallet.UserID]int{}
	for {
		var events []store.Job
		r.update(func(tx store.Tx) (err error) {
			events, _, err = tx.ClaimJobs(store.Claim{Queue: store.Events, Node: "b", Now: now, Max: 500, PerOwner: 100, Lease: time.Minute})
			for _, job := range events {
				err = errors.Join(err, tx.DoneJobs(job.Ref()))
			}
			return err
		})
		if len(events) == 0 {
			break
		}
		for _, job := range events {
			told[job.About]++
		}
	}
	if len(told) != 1001 || steps != 7 {
		t.Errorf("%d people in %d steps", len(told), steps)
	}
	for who, n := range told {
		if n != 1 {
			t.Fatalf("%s has %d events", who, n)
		}
	}
	job, err := r.job(store.NewsRounds, "round")
	if err != nil || !job.NotBefore.Equal(now.Add(store.NewsEvery)) {
		t.Errorf("the next round: %+v, %v", job, err)
	}
	r.publishes("Within three hours", now.Add(time.Hour))
	if job, _ := r.job(store.NewsRounds, "round"); !job.NotBefore.Equal(now.Add(store.NewsEvery)) {
		t.Errorf("news within three hours begins a round at %s", job.NotBefore)
	}
	begin := now.Add(store.NewsEvery)
	pool = (&notify.News{Store: r.store, Node: "a", Now: func() time.Time { return begin }, Log: slog.New(slog.DiscardHandler)}).Pool()
	for r.step(pool, begin, false) {
	}
	if !r.step(pool, begin.Add(store.NewsEvery), false) {
		t.Error("there is no further look")
	}
	if _, err := r.job(store.NewsRounds, "round"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("without news the job stays: %v", err)
	}
}

// portfolios are summed up as a test says.
type portfolios struct {
	ok, due  bool
	err      error
	prepared []wallet.UserID
}

func (p *portfolios) Prepare(_ context.Context, who wallet.UserID, _ time.Time) (handlers.PortfolioSummary, bool, error) {
	p.prepared = append(p.prepared, who)
	return handlers.PortfolioSummary{Person: wallet.User{ID: who}, Due: p.due}, p.ok, p.err
}

func (p *portfolios) Commit(tx store.Tx, of handlers.PortfolioSummary) error {
	return tx.PutPortfolio(wallet.Portfolio{Owner: of.Person.ID, SentAt: now})
}

// summarizer queues a line.
type summarizer struct{}

func (summarizer) Summarize(person wallet.User, _ wallet.Summary) (func(store.Tx) error, error) {
	return func(tx store.Tx) error {
		return store.Enqueue(tx, store.Reply{Chat: 1001, Body: []byte("summary of " + person.ID)})
	}, nil
}

// TestASummaryIsLookedAtOnceADay, whoever wants one: it is recorded each day and sent when it is due. A node that is away, and quiet hours, delay it. It ends with the wish, and with
// the person.
func TestASummaryIsLookedAtOnceADay(t *testing.T) {
	quiet := wallet.QuietHours{From: 11 * 60, To: 13*60 + 30}
	tomorrow := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		portfolios portfolios
		change     func(*wallet.User)
		erased     bool
		again      time.Time // zero: the job has ended
		asked      bool
		sent       bool
	}{
		"due":              {portfolios: portfolios{ok: true, due: true}, again: tomorrow, asked: true, sent: true},
		"recorded":         {portfolios: portfolios{ok: true}, again: tomorrow, asked: true},
		"nothing to sum":   {portfolios: portfolios{}, again: tomorrow, asked: true},
		"a node is away":   {portfolios: portfolios{err: errors.New("no answer")}, again: now.Add(time.Minute), asked: true},
		"quiet hours":      {portfolios: portfolios{ok: true, due: true}, change: func(u *wallet.User) { u.Settings.Quiet = &quiet }, again: now.Add(90 * time.Minute)},
		"blocked":          {portfolios: portfolios{ok: true, due: true}, change: func(u *wallet.User) { u.Unreachable = true }, again: tomorrow},
		"not wanted":       {portfolios: portfolios{}, change: func(u *wallet.User) { u.Notifications.Enabled = false }, asked: true},
		"erased meanwhile": {portfolios: portfolios{ok: true, due: true}, erased: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			u := wallet.User{ID: "usr_alice", TelegramID: 1001, RegisteredAt: now, Notifications: &wallet.Notifications{Enabled: true, Events: []string{"portfolio.summary"}}}
			r.update(func(tx store.Tx) error {
				return errors.Join(tx.PutUser(u), store.OrderPortfolioSummary(tx, u, now.Add(-24*time.Hour)))
			})
			if c.change != nil {
				c.change(&u)
				r.update(func(tx store.Tx) error { return tx.PutUser(u) })
			}
			if c.erased {
				r.update(func(tx store.Tx) error { return tx.EraseUser("usr_alice") })
			}
			s := &notify.Summaries{Store: r.store, Portfolios: &c.portfolios, Chat: summarizer{}, Node: "a", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
			r.step(s.Pool(), now, false)
			job, err := r.job(store.PortfolioSummaries, "usr_alice")
			if gone := errors.Is(err, store.ErrNotFound); gone != c.again.IsZero() || !gone && !job.NotBefore.Equal(c.again) {
				t.Errorf("again %s, %v, want %s", job.NotBefore, err, c.again)
			}
			var kept wallet.Portfolio
			if !c.erased {
				r.update(func(tx store.Tx) (err error) {
					kept, err = tx.Portfolio("usr_alice")
					return err
				})
			}
			if recorded := !kept.SentAt.IsZero(); recorded != (c.asked && c.portfolios.ok) {
				t.Errorf("recorded: %+v", kept)
			}
			_, outbox := r.run()
			if sent := strings.Contains(strings.Join(outbox, ""), "summary of usr_alice"); sent != c.sent || (len(c.portfolios.prepared) > 0) != c.asked {
				t.Errorf("sent %q, asked about %v", outbox, c.portfolios.prepared)
			}
		})
	}
}
