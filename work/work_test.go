// Long: everything that is promised of a pool, by one store and clock.

package work

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mrand "math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/wallet"
)

const queue store.Queue = "letters"

// harness is a store and pools over it, inside a bubble of testing/synctest.
type harness struct {
	*testing.T
	store *records.Store
	log   strings.Builder

	mu      sync.Mutex
	handled []string // ids of jobs in the order in which their handling began
	ended   map[Outcome]int
}

func inBubble(t *testing.T, run func(*harness)) {
	synctest.Test(t, func(t *testing.T) {
		kinds, err := wallet.NewKinds(wallet.SendRules(), wallet.ReceiveRules(), wallet.RequestRules())
		if err != nil {
			t.Fatal(err)
		}
		db, err := local.Open(local.Options{Path: filepath.Join(t.TempDir(), "purser.db"), MasterKey: bytes.Repeat([]byte{7}, 32), Random: rand.Reader, Kinds: kinds})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		run(&harness{T: t, store: db, ended: map[Outcome]int{}})
	})
}

func (h *harness) update(change func(store.Tx) error) {
	h.Helper()
	if err := h.store.Update(context.Background(), change); err != nil {
		h.Fatal(err)
	}
}

// chance is a source of chance that is the same in each run, and that many goroutines may read.
type chance struct {
	mu sync.Mutex
	r  *mrand.ChaCha8
}

func newChance() *chance { return &chance{r: mrand.NewChaCha8([32]byte{1})} }

func (c *chance) Read(into []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.Read(into)
}

// put puts jobs: "id", "id/key" or "id/key/owner".
func (h *harness) put(names ...string) {
	h.Helper()
	var jobs []store.Job
	for _, name := range names {
		parts := append(strings.Split(name, "/"), "", "")
		jobs = append(jobs, store.Job{ID: store.JobID(parts[0]), Queue: queue, Key: parts[1], Owner: parts[2], At: time.Now()})
	}
	h.update(func(tx store.Tx) error { _, err := tx.PutJobs(jobs, nil); return err })
}

// pool is a pool whose handler notes what it is called for.
func (h *harness) pool(handle Handle) *Pool {
	return &Pool{Store: h.store, Queue: queue, Node: "a", Width: 4, Lease: time.Minute, Grace: time.Second, Now: time.Now,
		Schedule: Schedule{First: time.Second, Most: 10 * time.Second, Failures: 4, Random: newChance()},
		Log:      slog.New(slog.NewTextHandler(&locked{h: h}, nil)), Metrics: h,
		Handle: func(ctx context.Context, job store.Job) (Result, error) {
			h.mu.Lock()
			h.handled = append(h.handled, string(job.ID))
			h.mu.Unlock()
			if handle == nil {
				return Result{}, nil
			}
			return handle(ctx, job)
		}}
}

// locked is the harness's log.
type locked struct{ h *harness }

func (l *locked) Write(p []byte) (int, error) {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return l.h.log.Write(p)
}

func (h *harness) Claimed(store.Queue, int) {}

func (h *harness) Ended(_ store.Queue, outcome Outcome, waited, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[outcome]++
}

// run runs a pool until the function that it returns is called, which fails the test if Run has failed.
func (h *harness) run(p *Pool) (stop func()) {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return func() {
		h.Helper()
		cancel()
		if err := <-ended; err != nil {
			h.Error(err)
		}
	}
}

// inOrder lists the jobs whose handling has begun, once nothing more happens at this moment.
func (h *harness) inOrder() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.handled)
}

// begun is inOrder by name: what is handled side by side has no order.
func (h *harness) begun() string { return strings.Join(slices.Sorted(slices.Values(h.inOrder())), " ") }

func (h *harness) same(what string, got, want any) {
	h.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func (h *harness) stats() (stats store.JobStats) {
	h.Helper()
	if err := h.store.View(context.Background(), func(tx store.Tx) (err error) { stats, err = tx.JobStats(queue); return err }); err != nil {
		h.Fatal(err)
	}
	return stats
}

// card writes a row that tells how often something was committed.
func card(tx store.Tx, name string) error {
	n, err := tx.Card(1, name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return tx.PutCard(1, name, n+1, time.Time{})
}

func (h *harness) committed(name string) (n int) {
	h.Helper()
	if err := h.store.View(context.Background(), func(tx store.Tx) (err error) { n, err = tx.Card(1, name); return err }); err != nil && !errors.Is(err, store.ErrNotFound) {
		h.Fatal(err)
	}
	return n
}

func TestAJobsCommitAndItsEndAreOne(t *testing.T) {
	inBubble(t, func(h *harness) {
		broken := errors.New("broken")
		stop := h.run(h.pool(func(_ context.Context, job store.Job) (Result, error) {
			return Result{Commit: func(tx store.Tx) error {
				if err := card(tx, string(job.ID)); err != nil {
					return err
				}
				if job.ID == "bad" && job.Failures < 2 {
					return broken
				}
				return nil
			}}, nil
		}))
		h.put("good", "bad")
		time.Sleep(time.Minute)
		stop()
		h.same("committed", []int{h.committed("good"), h.committed("bad")}, []int{1, 1})
		h.same("handled", h.begun(), "bad bad bad good")
		h.same("ended", h.ended, map[Outcome]int{Done: 2, Retried: 2})
		h.same("left", h.stats(), store.JobStats{})
	})
}

func TestFailedJobsAreTriedAgainAndThenGivenUp(t *testing.T) {
	inBubble(t, func(h *harness) {
		var times []time.Duration
		start := time.Now()
		p := h.pool(func(_ context.Context, job store.Job) (Result, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			times = append(times, time.Since(start))
			switch job.ID {
			case "panics":
				panic("no such thing")
			case "forgood":
				return Result{}, Permanent(errors.New("never"))
			case "refused":
				return Result{}, Permanent(&wallet.Error{Code: wallet.InsufficientFunds})
			}
			return Result{}, errors.New("secret")
		})
		p.Schedule.Random = nil // the whole span
		p.Dead = func(tx store.Tx, job store.Job, cause error) error { return card(tx, "sorry "+string(job.ID)) }
		stop := h.run(p)
		h.put("fails")
		time.Sleep(time.Minute)
		h.begun()
		h.same("when", times, []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second})
		h.put("panics", "forgood", "refused")
		time.Sleep(time.Minute)
		stop()
		h.same("how often", h.begun(), "fails fails fails fails forgood panics panics panics panics refused")
		var letters []store.DeadLetter
		h.update(func(tx store.Tx) (err error) { letters, err = tx.DeadLetters(queue, 10); return err })
		reasons := map[store.JobID]string{}
		for _, l := range letters {
			reasons[l.ID] = l.Reason
			h.same("apology", h.committed("sorry "+string(l.ID)), 1)
		}
		h.same("reasons", reasons, map[store.JobID]string{"fails": "error", "panics": "panic", "forgood": "error", "refused": "INSUFFICIENT_FUNDS"})
		h.same("ended", h.ended, map[Outcome]int{Retried: 6, DeadLettered: 4})
	})
}

// A dead letter's apology that cannot be written holds nothing up.
func TestADeadLetterNeedsNoApology(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(func(context.Context, store.Job) (Result, error) { return Result{}, Permanent(errors.New("never")) })
		p.Dead = func(tx store.Tx, _ store.Job, _ error) error {
			return errors.Join(card(tx, "sorry"), errors.New("nobody is there"))
		}
		stop := h.run(p)
		h.put("job")
		h.begun()
		stop()
		h.same("dead", h.stats().Dead, 1)
		h.same("undone", h.committed("sorry"), 0)
	})
}

// TestWhatNeverEndsIsGivenUp: a job that ends the process each time it is handled is a dead letter after so many claims. If
// writing its apology is what kills, it goes without.
func TestWhatNeverEndsIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		claims           int
		handled, apology string
	}{{maxExpiredLeases - 1, "beside pill", ""}, {maxExpiredLeases, "beside", "pill"}, {maxExpiredLeases + deadExpiredLeases - 1, "beside", "pill"}, {maxExpiredLeases + deadExpiredLeases, "beside", ""}} {
		inBubble(t, func(h *harness) {
			h.put("pill")
			for range c.claims { // each life claims it and dies
				time.Sleep(time.Minute) // of the bubble
				h.update(func(tx store.Tx) error {
					got, _, err := tx.ClaimJobs(store.Claim{Queue: queue, Node: "a", Now: time.Now(), Max: 1, Lease: time.Hour})
					if len(got) != 1 {
						h.Errorf("%d jobs were claimed", len(got))
					}
					return errors.Join(err, tx.ReleaseNode("a"))
				})
			}
			h.put("beside")
			apology := ""
			p := h.pool(nil)
			p.Dead = func(_ store.Tx, job store.Job, _ error) error {
				apology = string(job.ID)
				return nil
			}
			stop := h.run(p)
			time.Sleep(2 * time.Minute)
			h.same("handled", h.begun(), c.handled)
			stop()
			h.same("apology", apology, c.apology)
			if dead := c.claims >= maxExpiredLeases; dead != (h.stats().Dead == 1) || h.stats().Waiting != 0 {
				h.Errorf("after %d claims: %+v", c.claims, h.stats())
			}
		})
	}
}

func TestASnoozeIsNoFailure(t *testing.T) {
	inBubble(t, func(h *harness) {
		count := 0
		p := h.pool(func(_ context.Context, job store.Job) (Result, error) {
			if count++; count < 20 {
				return Result{Again: time.Now().Add(time.Second), Commit: func(tx store.Tx) error { return card(tx, "looks") }}, nil
			}
			return Result{}, nil
		})
		stop := h.run(p)
		h.put("job")
		time.Sleep(18500 * time.Millisecond)
		h.same("looks", h.committed("looks"), 19)
		time.Sleep(time.Second)
		stop()
		h.same("ended", h.ended, map[Outcome]int{Snoozed: 19, Done: 1})
	})
}

func TestAConflictIsHandledAgain(t *testing.T) {
	inBubble(t, func(h *harness) {
		count := 0
		p := h.pool(func(context.Context, store.Job) (Result, error) {
			count++
			return Result{Commit: func(tx store.Tx) error {
				if count < 3 {
					return store.ErrConflict
				}
				return nil
			}}, nil
		})
		stop := h.run(p)
		h.put("job")
		h.same("at once", h.begun(), "job job job")
		stop()
		h.same("ended", h.ended, map[Outcome]int{Done: 1})
	})
}

// Jobs of a key go one after the other, others beside them, as many as the pool is wide.
func TestJobsOfAKeyGoOneAtATime(t *testing.T) {
	inBubble(t, func(h *harness) {
		running, most, of := 0, 0, map[string]int{}
		p := h.pool(func(_ context.Context, job store.Job) (Result, error) {
			h.mu.Lock()
			running++
			of[job.Key]++
			most = max(most, running)
			if of[job.Key] > 1 {
				h.Errorf("two of key %s at once", job.Key)
			}
			h.mu.Unlock()
			time.Sleep(time.Second)
			h.mu.Lock()
			defer h.mu.Unlock()
			running--
			of[job.Key]--
			return Result{}, nil
		})
		stop := h.run(p)
		var names []string
		for i := range 60 {
			names = append(names, fmt.Sprintf("%02d/k%d/o%d", i, i%6, i%3))
		}
		h.put(names...)
		time.Sleep(time.Minute) // fifteen rounds of a second, and what the keys hold up
		stop()
		h.same("left", h.stats(), store.JobStats{})
		h.same("at once", most, 4)
		last := map[byte]string{}
		for _, id := range h.inOrder() {
			n := byte((int(id[0]-'0')*10 + int(id[1]-'0')) % 6)
			if id < last[n] {
				t.Errorf("%s after %s of the same key", id, last[n])
			}
			last[n] = id
		}
	})
}

func TestALongHandleKeepsItsLease(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			select {
			case <-time.After(10 * time.Minute):
			case <-ctx.Done():
			}
			return Result{Commit: func(tx store.Tx) error { return card(tx, "committed") }}, ctx.Err()
		})
		p.Width = 1
		other := h.pool(nil)
		other.Node = "b"
		stop := h.run(p)
		h.put("long", "behind")
		h.same("begun", h.begun(), "long")
		stopOther := h.run(other)
		time.Sleep(20*time.Minute + time.Second)
		h.same("nobody else began it", h.begun(), "behind long")
		stopOther()
		stop()
		h.same("committed", h.committed("committed"), 2)
		h.same("ended", h.ended, map[Outcome]int{Done: 2})
	})
}

// A job that was cancelled, or that another node has by now, is not ended, and its handler hears of it.
func TestALostJobWritesNothing(t *testing.T) {
	inBubble(t, func(h *harness) {
		var cause error
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Result{Commit: func(tx store.Tx) error { return card(tx, "committed") }}, nil
		})
		stop := h.run(p)
		h.put("job")
		h.begun()
		h.update(func(tx store.Tx) error { return tx.RemoveJobs(queue, "job") })
		time.Sleep(time.Minute)
		stop()
		h.same("cause", cause, ErrLost)
		h.same("committed", h.committed("committed"), 0)
		h.same("ended", h.ended, map[Outcome]int{Lost: 1})
	})
}

// A job that was cancelled while it was handled is over: it is not handled again.
func TestACancelledJobIsHandledOnce(t *testing.T) {
	inBubble(t, func(h *harness) {
		stop := h.run(h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			return Result{}, h.store.Update(ctx, func(tx store.Tx) error { return tx.RemoveJobs(queue, job.ID) })
		}))
		h.put("job")
		h.same("handled", h.begun(), "job")
		stop()
		h.same("ended", h.ended, map[Outcome]int{Lost: 1})
	})
}

// What stops gives back what it has not begun, ends what it has, and cuts short what takes longer than its grace.
func TestAPoolThatStopsLeavesNothingLeased(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			wait := 500 * time.Millisecond
			if job.ID == "slow" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return Result{}, nil
			case <-ctx.Done():
				h.same("cause", context.Cause(ctx), ErrStopped)
				return Result{}, ctx.Err()
			}
		})
		p.Width = 2
		stop := h.run(p)
		h.put("quick", "slow", "waits1", "waits2", "waits3")
		h.same("begun", h.begun(), "quick slow")
		begin := time.Now()
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		synctest.Wait()
		h.same("what was not begun is given back at once", h.stats(), store.JobStats{Waiting: 3, InFlight: 2, Oldest: begin})
		<-stopped
		h.same("the time to stop", time.Since(begin), time.Second)
		h.same("left", h.stats(), store.JobStats{Waiting: 4, Oldest: begin})
		h.same("ended", h.ended, map[Outcome]int{Done: 1, Returned: 1})
		h.update(func(tx store.Tx) error {
			job, err := tx.Job(queue, "slow")
			h.same("no failure", job.Failures, 0)
			return err
		})
		if offer := p.Offer(); offer != nil {
			t.Error("a pool that has stopped takes more")
		}
	})
}

func TestJobsAreHandedOverFromMemory(t *testing.T) {
	inBubble(t, func(h *harness) {
		counting := &counted{Store: h.store}
		p := h.pool(nil)
		p.Store = counting
		stop := h.run(p)
		h.begun()
		before := counting.updates()
		offer := p.Offer()
		var jobs []store.Job
		h.update(func(tx store.Tx) (err error) {
			jobs, err = tx.PutJobs([]store.Job{{ID: "one", Queue: queue, At: time.Now()}, {ID: "elsewhere", Queue: "other", At: time.Now()}}, offer)
			return err
		})
		p.Hand(jobs)
		h.same("handled", h.begun(), "one")
		h.same("updates of the pool: its end, and no look for what it has already", counting.updates()-before, 1)
		stop()
		h.same("left", h.stats(), store.JobStats{})
	})
}

// What was put and not leased is claimed like any other.
func TestOnlyWhatWasLeasedIsHandedOver(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(nil)
		if p.Offer() != nil {
			t.Error("a pool that does not run takes jobs")
		}
		stop := h.run(p)
		h.begun()
		offer := p.Offer()
		offer.Max = 1
		var jobs []store.Job
		h.update(func(tx store.Tx) (err error) {
			jobs, err = tx.PutJobs([]store.Job{{ID: "leased", Queue: queue, At: time.Now()}, {ID: "not", Queue: queue, At: time.Now()}}, offer)
			return err
		})
		p.Hand(jobs)
		h.same("each once", h.begun(), "leased not")
		stop()
		h.same("ended", h.ended, map[Outcome]int{Done: 2})
	})
}

func TestAnOwnerHasTheirShare(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(func(context.Context, store.Job) (Result, error) { <-time.After(time.Second); return Result{}, nil })
		p.PerOwner = 2
		stop := h.run(p)
		h.put("a1//a", "a2//a", "a3//a", "b//b")
		h.same("begun", h.begun(), "a1 a2 b")
		time.Sleep(time.Second)
		h.same("then", h.begun(), "a1 a2 a3 b")
		stop()
	})
}

func TestAJobIsHandledWhenItIsDue(t *testing.T) {
	inBubble(t, func(h *harness) {
		stop := h.run(h.pool(nil))
		h.update(func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{ID: "job", Queue: queue, At: time.Now(), NotBefore: time.Now().Add(300 * time.Millisecond)}}, nil)
			return err
		})
		time.Sleep(300*time.Millisecond - time.Nanosecond)
		h.same("not before", h.begun(), "")
		time.Sleep(time.Nanosecond)
		h.same("then", h.begun(), "job")
		stop()
	})
}

// counted counts a store's updates.
type counted struct {
	store.Store
	mu sync.Mutex
	n  int
}

func (c *counted) Update(ctx context.Context, change func(store.Tx) error) error {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.Store.Update(ctx, change)
}

func (c *counted) updates() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// A backlog costs no claim of its own: the end of a job claims the next.
func TestABacklogIsClaimedAsJobsEnd(t *testing.T) {
	inBubble(t, func(h *harness) {
		counting := &counted{Store: h.store}
		var names []string
		for i := range 200 {
			names = append(names, fmt.Sprint(i))
		}
		h.put(names...)
		p := h.pool(nil)
		p.Store = counting
		stop := h.run(p)
		h.begun()
		h.same("left", h.stats(), store.JobStats{})
		if n := counting.updates(); n > 230 {
			t.Errorf("%d updates for 200 jobs", n)
		}
		stop()
		h.same("each once", len(slices.Compact(slices.Sorted(slices.Values(h.handled)))), 200)
	})
}

// The clock is set forward by a day while a job is under way: it is not begun a second time, and committed once.
func TestAClockSetForwardDoublesNothing(t *testing.T) {
	inBubble(t, func(h *harness) {
		var mu sync.Mutex
		var ahead time.Duration
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			select {
			case <-time.After(2 * time.Minute):
			case <-ctx.Done():
			}
			return Result{Commit: func(tx store.Tx) error { return card(tx, string(job.Body)) }}, ctx.Err()
		})
		p.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(ahead)
		}
		stop := h.run(p)
		h.put("job")
		h.begun()
		mu.Lock()
		ahead = 24 * time.Hour
		mu.Unlock()
		time.Sleep(5 * time.Minute)
		h.same("begun once", h.begun(), "job")
		h.same("committed", h.committed(""), 1)

		h.update(func(tx store.Tx) error { // replaced meanwhile: then both are handled, one after the other
			_, err := tx.PutJobs([]store.Job{{ID: "job", Queue: queue, At: time.Now(), Body: []byte("first")}}, nil)
			return err
		})
		h.begun()
		h.update(func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{ID: "job", Queue: queue, At: time.Now(), Body: []byte("second")}}, nil)
			return err
		})
		mu.Lock()
		ahead = 48 * time.Hour
		mu.Unlock()
		time.Sleep(2 * time.Second)
		h.same("the newest is begun at once", h.begun(), "job job job")
		time.Sleep(10 * time.Minute)
		h.same("begun", h.begun(), "job job job")
		h.same("the newest is committed", h.committed("second"), 1)
		stop()
		h.same("left", h.stats(), store.JobStats{})
	})
}

// unsure is a store whose commits may lose their outcome.
type unsure struct {
	store.Store
	mu   sync.Mutex
	lost bool
}

func (u *unsure) lose() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lost = true
}

func (u *unsure) Update(ctx context.Context, change func(store.Tx) error) error {
	u.mu.Lock()
	lost := u.lost
	u.mu.Unlock()
	if lost {
		return fmt.Errorf("disk: %w", store.ErrUnknownOutcome)
	}
	return u.Store.Update(ctx, change)
}

func TestAnUnknownOutcomeEndsRun(t *testing.T) {
	for _, way := range []string{"end", "claim", "renew", "fail"} {
		inBubble(t, func(h *harness) {
			db := &unsure{Store: h.store}
			p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
				switch way {
				case "end", "fail":
					db.lose()
				case "renew":
					time.AfterFunc(10*time.Second, db.lose)
					<-ctx.Done()
				}
				if way == "fail" {
					return Result{}, errors.New("failed")
				}
				return Result{}, ctx.Err()
			})
			p.Store, p.Width, p.Window, p.Poll = db, 1, 1, time.Hour
			ended := make(chan error, 1)
			go func() { ended <- p.Run(context.Background()) }()
			if way == "claim" {
				synctest.Wait()
				db.lose()
			}
			h.put("job", "more")
			if err := <-ended; !errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("%s: %v", way, err)
			}
		})
	}
}

// A store that refuses for a while costs nothing but time.
func TestAFailingStoreIsTriedAgain(t *testing.T) {
	inBubble(t, func(h *harness) {
		db := &refusing{Store: h.store, left: 3}
		p := h.pool(nil)
		p.Store = db
		h.put("job")
		stop := h.run(p)
		time.Sleep(time.Minute)
		stop()
		h.same("handled", h.begun(), "job")
		if !strings.Contains(h.log.String(), "could not be claimed") {
			t.Error("the operator was told nothing")
		}
	})
}

type refusing struct {
	store.Store
	mu   sync.Mutex
	left int
}

func (r *refusing) Update(ctx context.Context, change func(store.Tx) error) error {
	r.mu.Lock()
	r.left--
	refused := r.left >= 0
	r.mu.Unlock()
	if refused {
		return errors.New("busy")
	}
	return r.Store.Update(ctx, change)
}

func TestScheduleIsBoundedAndJittered(t *testing.T) {
	s := Schedule{First: time.Second, Most: time.Minute, Random: newChance()}
	for failures, want := range map[int]time.Duration{-1: time.Second, 0: time.Second, 1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1 << 40: time.Minute} {
		if got := s.Span(failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
	low, high := time.Hour, time.Duration(0)
	for range 2000 {
		w := s.wait(3)
		low, high = min(low, w), max(high, w)
	}
	if low > 100*time.Millisecond || high < 3900*time.Millisecond || high > 4*time.Second {
		t.Errorf("waits of %s to %s, not of all of 0 to 4 s", low, high)
	}
	if w := (Schedule{First: time.Second, Most: time.Minute, Random: strings.NewReader("short")}).wait(2); w != 2*time.Second {
		t.Errorf("without chance it waits %s, not the whole span", w)
	}
	if !(Schedule{Failures: 2}).Spent(2) || (Schedule{Failures: 2}).Spent(1) || (Schedule{}).Spent(1000) {
		t.Error("a job is given up after Failures, and never for 0")
	}
}

func TestAPoolSaysWhatIsMissing(t *testing.T) {
	if err := (&Pool{}).Run(context.Background()); err == nil {
		t.Error("an empty pool runs")
	}
	inBubble(t, func(h *harness) {
		p := h.pool(nil)
		p.Width = 0
		if err := p.Run(context.Background()); err == nil {
			t.Error("a pool without workers runs")
		}
	})
}

func TestOneNodeLeads(t *testing.T) {
	inBubble(t, func(h *harness) {
		leading := map[string]bool{}
		start := func(node string, db store.Store) (stop func()) {
			ctx, cancel := context.WithCancel(context.Background())
			l := &Leader{Store: db, Name: "poll", Node: node, Lease: time.Minute, Now: time.Now}
			ended := make(chan error, 1)
			go func() {
				ended <- l.Run(ctx, func(ctx context.Context) error {
					h.mu.Lock()
					leading[node] = true
					h.mu.Unlock()
					<-ctx.Done()
					h.mu.Lock()
					defer h.mu.Unlock()
					delete(leading, node)
					return nil
				})
			}()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		who := func() string {
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			return fmt.Sprint(leading)
		}
		cut := &refusing{Store: h.store, left: 0}
		stopA := start("a", cut)
		h.same("the first", who(), "map[a:true]")
		stopB := start("b", h.store)
		stopC := start("c", h.store)
		time.Sleep(time.Hour)
		h.same("goes on", who(), "map[a:true]")
		cut.mu.Lock()
		cut.left = 1 << 30 // it is cut off from the store
		cut.mu.Unlock()
		time.Sleep(61 * time.Second)
		time.Sleep(20 * time.Second)
		if got := who(); got != "map[b:true]" && got != "map[c:true]" {
			t.Fatalf("after a lease: %s", got)
		}
		stopB()
		time.Sleep(20 * time.Second)
		h.same("who stops gives way at once", who(), "map[c:true]")
		stopC()
		h.same("nobody", who(), "map[]")
		stopA()
	})
}

// A leader that is told that another node leads stops with its next word to the store.
func TestALeaderGivesWayToAnother(t *testing.T) {
	inBubble(t, func(h *harness) {
		ctx, cancel := context.WithCancel(context.Background())
		l := &Leader{Store: h.store, Name: "poll", Node: "a", Lease: time.Minute, Now: time.Now}
		led, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- l.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); close(led); return nil })
		}()
		synctest.Wait()
		h.update(func(tx store.Tx) error {
			_, err := tx.Lead("poll", "b", time.Now().Add(time.Minute), time.Minute)
			return err
		})
		begin := time.Now()
		<-led
		h.same("how long it went on", time.Since(begin), 20*time.Second)
		cancel()
		h.same("ended", <-ended, nil)
	})
}

func TestALeaderThatEndsByItselfEndsRun(t *testing.T) {
	inBubble(t, func(h *harness) {
		broken := errors.New("broken")
		l := &Leader{Store: h.store, Name: "poll", Node: "a", Lease: time.Minute, Now: time.Now}
		if err := l.Run(context.Background(), func(context.Context) error { return broken }); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		h.update(func(tx store.Tx) error {
			leads, err := tx.Lead("poll", "b", time.Now(), time.Minute)
			h.same("it gave way", leads, true)
			return err
		})
		db := &unsure{Store: h.store, lost: true}
		l.Store = db
		if err := l.Run(context.Background(), func(context.Context) error { return nil }); !errors.Is(err, store.ErrUnknownOutcome) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheOperatorHearsOfQueues(t *testing.T) {
	inBubble(t, func(h *harness) {
		ctx, cancel := context.WithCancel(context.Background())
		o := &Overview{Store: h.store, Queues: []store.JobQueue{{Queue: queue}, {Queue: "waiting", WaitsByDesign: true}}, Every: time.Minute, Late: 5 * time.Minute,
			Now: time.Now, Log: slog.New(slog.NewTextHandler(&locked{h: h}, nil))}
		ended := make(chan error, 1)
		go func() { ended <- o.Run(ctx) }()
		lines := func() int {
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			return strings.Count(h.log.String(), "needs a look")
		}
		h.put("job")
		h.update(func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{Queue: "waiting", At: time.Now()}}, nil)
			return err
		})
		time.Sleep(5*time.Minute + time.Second)
		h.same("nothing is late", lines(), 0)
		time.Sleep(time.Minute)
		h.same("late", lines(), 1)
		h.update(func(tx store.Tx) error {
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: queue, Node: "a", Now: time.Now(), Max: 1, Lease: time.Minute})
			if err != nil {
				return err
			}
			return tx.DeadLetterJobs(time.Now(), "no reason", jobs[0].Ref())
		})
		time.Sleep(time.Minute)
		h.same("given up", lines(), 2)
		time.Sleep(time.Hour)
		h.same("once", lines(), 2)
		cancel()
		h.same("ended", <-ended, nil)
		if err := h.store.Close(); err != nil {
			t.Error(err)
		}
		if err := o.Run(context.Background()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// TestAPanicTellsNobodysWords: its value may be what a person wrote.
func TestAPanicTellsNobodysWords(t *testing.T) {
	for value, want := range map[any]string{"my phone is 0791234567": "panic with a string\n", errors.New("somebody's words"): "panic with a *errors.errorString\n"} {
		err := (&Pool{}).run(func() error { panic(value) })
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "words\n") || strings.Contains(err.Error(), "0791234567") {
			t.Errorf("%v", err)
		}
	}
}
