package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// OpenLog opens a store and the log beside it in a folder, or creates both if it is empty. The suite closes the log,
// then the store, and may open the same folder again.
type OpenLog func(t testing.TB, folder string) (store.Store, store.DeliveryLog)

// RunLog runs the suite for a delivery log. Each part has a log of its own.
func RunLog(t *testing.T, open OpenLog) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, OpenLog)
	}{
		{"Entries", testLogEntries},
		{"EveryField", testLogEveryField},
		{"Pages", testLogPages},
		{"Days", testLogDays},
		{"AttemptsByHour", testLogAttemptCounts},
		{"Erased", testLogErased},
		{"Concurrent", testLogConcurrent},
		{"DropWhileInUse", testLogDropWhileInUse},
		{"Close", testLogClose},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, open) })
	}
}

// logHarness is a log with what the parts say to it.
type logHarness struct {
	store.DeliveryLog
	t      testing.TB
	store  store.Store
	open   OpenLog
	folder string
}

func newLogHarness(t testing.TB, open OpenLog) *logHarness {
	r := &logHarness{t: t, open: open, folder: t.TempDir()}
	r.store, r.DeliveryLog = open(t, r.folder)
	t.Cleanup(r.close)
	return r
}

func (r *logHarness) close() {
	r.t.Helper()
	if err := errors.Join(r.Close(), r.store.Close()); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func (r *logHarness) reopen() {
	r.t.Helper()
	r.close()
	r.store, r.DeliveryLog = r.open(r.t, r.folder)
}

func (r *logHarness) log(entries ...store.LogEntry) {
	r.t.Helper()
	if err := r.Log(context.Background(), entries); err != nil {
		r.t.Fatalf("log: %v", err)
	}
}

func (r *logHarness) list(id wallet.WebhookID, p store.LogPage) []store.LogEntry {
	r.t.Helper()
	out, err := r.List(context.Background(), id, p)
	if err != nil {
		r.t.Fatalf("list %+v: %v", p, err)
	}
	return out
}

func (r *logHarness) oldest(id wallet.WebhookID, state store.DeliveryState, since time.Time, after string, limit int) []string {
	r.t.Helper()
	out, err := r.Oldest(context.Background(), id, state, since, after, limit)
	if err != nil {
		r.t.Fatalf("oldest: %v", err)
	}
	for _, e := range out {
		if len(e.Body) == 0 {
			r.t.Errorf("%s came without its body", e.ID)
		}
	}
	return entryNames(out)
}

func (r *logHarness) logged(id wallet.WebhookID, delivery string) store.LogEntry {
	r.t.Helper()
	e, err := r.Logged(context.Background(), id, delivery)
	if err != nil {
		r.t.Fatalf("logged %s: %v", delivery, err)
	}
	return e
}

// absent checks that an entry is not there.
func (r *logHarness) absent(id wallet.WebhookID, delivery string) {
	r.t.Helper()
	if _, err := r.Logged(context.Background(), id, delivery); !errors.Is(err, store.ErrNotFound) {
		r.t.Errorf("logged %s of %s: %v", delivery, id, err)
	}
}

func (r *logHarness) attempts(id wallet.WebhookID, since time.Time) []store.AttemptCounts {
	r.t.Helper()
	out, err := r.AttemptsByHour(context.Background(), id, since)
	if err != nil {
		r.t.Fatalf("counts: %v", err)
	}
	return out
}

func (r *logHarness) drop(before time.Time) int {
	r.t.Helper()
	n, err := r.DropBefore(context.Background(), before)
	if err != nil {
		r.t.Fatalf("drop: %v", err)
	}
	return n
}

func entryNames(all []store.LogEntry) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, e.ID)
	}
	return out
}

// entry is a delivery that was tried as often as there are statuses, a second apart.
func entry(id string, to wallet.WebhookID, at time.Time, state store.DeliveryState, statuses ...int) store.LogEntry {
	d := delivery(id, to, "usr_a")
	d.CreatedAt, d.Seq, d.Attempts = at, 7, len(statuses)
	e := store.LogEntry{Delivery: d, State: state, Attempted: []store.Attempt{}}
	for i, status := range statuses {
		a := store.Attempt{At: at.Add(time.Duration(i) * time.Second), Latency: time.Millisecond, Status: status, ResponseBody: []byte("said " + id)}
		if !a.Succeeded() {
			a.Reason = wallet.Because("why.failed", wallet.TextArg("ID", id))
		}
		e.Attempted = append(e.Attempted, a)
	}
	if state != store.DeliveryWaiting {
		e.EndedAt = at.Add(time.Minute)
	}
	return e
}

// listed is how an entry is listed.
func listed(e store.LogEntry) store.LogEntry {
	e.Body, e.OrderingKey, e.Attempted = nil, "", slices.Clone(e.Attempted)
	for i := range e.Attempted {
		e.Attempted[i].ResponseBody = nil
	}
	return e
}

func testLogEntries(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	r.absent("wh", "a")
	same(t, "nothing", r.list("wh", store.LogPage{Limit: 10}), []store.LogEntry(nil))
	r.log()
	waiting := entry("a", "wh", noon(), store.DeliveryWaiting, 500)
	r.log(waiting)
	same(t, "after the first attempt", r.logged("wh", "a"), waiting)
	r.absent("wh", "")
	r.absent("wh_other", "a")
	r.absent("w", "ha")
	done := entry("a", "wh", noon(), store.DeliveryDelivered, 500, 0, 200)
	for range 2 {
		r.log(done)
		same(t, "at the end", r.logged("wh", "a"), done)
		same(t, "listed once", r.list("wh", store.LogPage{Limit: 10}), []store.LogEntry{listed(done)})
	}
	same(t, "no longer among those that wait", r.list("wh", store.LogPage{State: store.DeliveryWaiting, Limit: 10}), []store.LogEntry(nil))
	same(t, "but among those that came", r.list("wh", store.LogPage{State: store.DeliveryDelivered, Limit: 10}), []store.LogEntry{listed(done)})
	never := entry("never", "wh", noon(), store.DeliverySuperseded)
	r.log(never, entry("twice", "wh", noon(), store.DeliveryWaiting, 500), entry("twice", "wh", noon(), store.DeliveryDeadLettered, 500, 500))
	r.reopen()
	same(t, "after reopening", r.logged("wh", "a"), done)
	same(t, "never tried", r.logged("wh", "never"), never)
	same(t, "the later of one call", r.logged("wh", "twice").State, store.DeliveryDeadLettered)
	for what, e := range map[string]store.LogEntry{"an id": entry("", "wh", noon(), store.DeliveryDeadLettered), "a webhook": entry("x", "", noon(), store.DeliveryDeadLettered),
		"a day of ours": entry("x", "wh", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), store.DeliveryDeadLettered)} {
		if err := r.Log(t.Context(), []store.LogEntry{e}); err == nil {
			t.Errorf("an entry without %s was taken", what)
		}
	}
}

func testLogEveryField(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	var e store.LogEntry
	Fill(&e, 1)
	r.log(e)
	same(t, "an entry", r.logged(e.Webhook, e.ID), e)
	same(t, "listed", r.list(e.Webhook, store.LogPage{Limit: 1}), []store.LogEntry{listed(e)})
}

// testLogPages: order, bounds and filters of both lists, over three days.
func testLogPages(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	const n = 90
	states := []store.DeliveryState{store.DeliveryDelivered, store.DeliveryDeadLettered, store.DeliveryWaiting}
	var all []store.LogEntry // oldest first
	for i := range n {
		e := entry(fmt.Sprintf("dlv_%02d", i), "wh", noon().Add(time.Duration(i/2)*90*time.Minute), states[i%3], 200)
		e.Event = [...]wallet.EventName{wallet.BalanceUpdated, wallet.TransactionPending}[i%2]
		all = append(all, e)
	}
	mixed := slices.Clone(all)
	slices.SortFunc(mixed, func(a, b store.LogEntry) int { return int(a.ID[5]) - int(b.ID[5]) })
	r.log(mixed...)
	r.log(entry("another", "wh_2", noon().Add(time.Hour), store.DeliveryDeadLettered, 500), entry("another", "wg", noon().Add(time.Hour), store.DeliveryDeadLettered, 500))

	want := func(newest bool, takes func(store.LogEntry) bool) []string {
		out := []string{}
		for _, e := range all {
			if takes(e) {
				out = append(out, e.ID)
			}
		}
		if newest {
			slices.Reverse(out)
		}
		return out
	}
	any := func(store.LogEntry) bool { return true }
	since := all[41].CreatedAt
	for what, c := range map[string]struct {
		p     store.LogPage
		takes func(store.LogEntry) bool
	}{
		"all":      {store.LogPage{}, any},
		"a state":  {store.LogPage{State: store.DeliveryDeadLettered}, func(e store.LogEntry) bool { return e.State == store.DeliveryDeadLettered }},
		"an event": {store.LogPage{Event: wallet.TransactionPending}, func(e store.LogEntry) bool { return e.Event == wallet.TransactionPending }},
		"since":    {store.LogPage{Since: since}, func(e store.LogEntry) bool { return !e.CreatedAt.Before(since) }},
		"all of it": {store.LogPage{Since: since.Add(time.Nanosecond), State: store.DeliveryDelivered, Event: wallet.BalanceUpdated}, func(e store.LogEntry) bool {
			return e.CreatedAt.After(since) && e.State == store.DeliveryDelivered && e.Event == wallet.BalanceUpdated
		}},
		"none": {store.LogPage{State: store.DeliveryRevoked}, func(store.LogEntry) bool { return false }},
	} {
		for _, limit := range []int{1, 7, n, 1000} {
			got, p := []string{}, c.p
			p.Limit = limit
			for {
				page := r.list("wh", p)
				if len(page) == 0 {
					break
				}
				if len(page) > limit {
					t.Fatalf("%s: a page of %d, not %d", what, len(page), limit)
				}
				got = append(got, entryNames(page)...)
				p.After = page[len(page)-1].ID
			}
			same(t, fmt.Sprintf("newest first, %s, %d at a time", what, limit), got, want(true, c.takes))
			if p.Event != "" {
				continue
			}
			got, p.After = []string{}, ""
			for {
				page := r.oldest("wh", p.State, p.Since, p.After, limit)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				p.After = page[len(page)-1]
			}
			same(t, fmt.Sprintf("oldest first, %s, %d at a time", what, limit), got, want(false, c.takes))
		}
	}
	same(t, "the zero page", r.list("wh", store.LogPage{}), []store.LogEntry(nil))
	same(t, "the whole row", r.list("wh", store.LogPage{Limit: 1}), []store.LogEntry{listed(all[n-1])})
	whole, err := r.Oldest(t.Context(), "wh", "", time.Time{}, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the whole row, with its body", whole, []store.LogEntry{all[0]})
	same(t, "behind one of another state", r.oldest("wh", store.DeliveryDeadLettered, time.Time{}, all[0].ID, 1), []string{all[1].ID})
	same(t, "a later bound than the one behind", r.oldest("wh", "", since, all[3].ID, 1), []string{all[40].ID})
	for _, after := range []string{"unknown", "another"} {
		if _, err := r.List(t.Context(), "wh", store.LogPage{After: after, Limit: 1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("behind %s: %v", after, err)
		}
		if _, err := r.Oldest(t.Context(), "wh", "", time.Time{}, after, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("oldest behind %s: %v", after, err)
		}
	}
}

// testLogDays: an entry is of the day in UTC that it was made on, and goes with it.
func testLogDays(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	late := entry("late", "wh", midnight.Add(-time.Nanosecond), store.DeliveryDelivered, 500, 200) // its second attempt is of the next day
	early := entry("early", "wh", midnight.In(time.FixedZone("", -5*3600)), store.DeliveryDelivered, 200)
	old := entry("old", "wh", midnight.AddDate(0, 0, -3), store.DeliveryDelivered, 200)
	r.log(early, old, late)
	same(t, "all days", entryNames(r.list("wh", store.LogPage{Limit: 10})), []string{"early", "late", "old"})
	r.reopen()
	same(t, "all days, reopened", entryNames(r.list("wh", store.LogPage{Limit: 10})), []string{"early", "late", "old"})
	same(t, "over the border", r.attempts("wh", midnight.Add(-time.Hour)),
		[]store.AttemptCounts{{Hour: midnight.Add(-time.Hour), Failed: 1}, {Hour: midnight, Succeeded: 2}})

	same(t, "the day before the first", r.drop(old.CreatedAt), 0)
	same(t, "not before its end", r.drop(old.CreatedAt.AddDate(0, 0, 1).Add(-1)), 0)
	same(t, "the first day", r.drop(old.CreatedAt.AddDate(0, 0, 1)), 1)
	r.absent("wh", "old")
	same(t, "what is left", entryNames(r.list("wh", store.LogPage{Limit: 10})), []string{"early", "late"})
	if _, err := r.List(t.Context(), "wh", store.LogPage{After: "old", Limit: 10}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("behind one that was dropped: %v", err)
	}
	same(t, "the next", r.drop(midnight.Add(time.Hour)), 1)
	r.absent("wh", "late")
	same(t, "and no more", r.drop(midnight.Add(time.Hour)), 0)
	r.reopen()
	same(t, "what is left then", entryNames(r.list("wh", store.LogPage{Limit: 10})), []string{"early"})
	r.log(old)
	same(t, "a day that was dropped begins anew", r.logged("wh", "old"), old)
	same(t, "all of them", r.drop(midnight.AddDate(1, 0, 0)), 2)
	same(t, "nothing", r.list("wh", store.LogPage{Limit: 10}), []store.LogEntry(nil))
}

func testLogAttemptCounts(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	hour := noon().Truncate(time.Hour)
	same(t, "nothing", len(r.attempts("wh", time.Time{})), 0)
	r.log(entry("a", "wh", noon(), store.DeliveryWaiting, 500))
	r.log(entry("a", "wh", noon(), store.DeliveryWaiting, 500, 0))
	r.log(entry("a", "wh", noon(), store.DeliveryDelivered, 500, 0, 204))
	r.log(entry("a", "wh", noon(), store.DeliveryDelivered, 500, 0, 204))
	r.log(entry("b", "wh", noon(), store.DeliveryDeadLettered, 500, 410), entry("b", "wh", noon(), store.DeliveryDeadLettered, 500, 410), entry("c", "wh_2", noon(), store.DeliveryDelivered, 200))
	same(t, "each attempt once", r.attempts("wh", time.Time{}), []store.AttemptCounts{{Hour: hour, Succeeded: 1, Failed: 4, DeadLettered: 1}})
	same(t, "another's", r.attempts("wh_2", time.Time{}), []store.AttemptCounts{{Hour: hour, Succeeded: 1}})

	later := entry("d", "wh", noon(), store.DeliveryWaiting, 500)
	later.Attempted[0].At = noon().Add(3 * time.Hour)
	r.log(later)
	parked := later
	parked.State, parked.EndedAt = store.DeliveryDeadLettered, noon().Add(5*time.Hour)
	r.log(parked)
	again := parked // by hand: all attempts are others
	again.State, again.Attempted = store.DeliveryWaiting, []store.Attempt{{At: noon().Add(6 * time.Hour), Status: 302}}
	r.log(again)
	r.log(parked)
	r.reopen()
	want := []store.AttemptCounts{{Hour: hour, Succeeded: 1, Failed: 4, DeadLettered: 1}, {Hour: hour.Add(3 * time.Hour), Failed: 2},
		{Hour: hour.Add(5 * time.Hour), DeadLettered: 2}, {Hour: hour.Add(6 * time.Hour), Failed: 1}}
	same(t, "hours", r.attempts("wh", time.Time{}), want)
	same(t, "from an hour on", r.attempts("wh", hour.Add(3*time.Hour)), want[1:])
	same(t, "behind it", r.attempts("wh", hour.Add(3*time.Hour+1)), want[2:])
}

func testLogErased(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	update(t, r.store, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(user("usr_a", 1)), tx.PutUser(user("usr_b", 2)))
	})
	of := func(who wallet.UserID, ids ...string) (out []store.LogEntry) {
		for i, id := range ids {
			e := entry(id, "wh", noon().Add(time.Duration(i)*time.Minute), store.DeliveryDeadLettered, 500)
			e.User = who
			out = append(out, e)
		}
		return out
	}
	hers, his := of("usr_a", "a1", "a2", "a3"), of("usr_b", "b1", "b2")
	r.log(append(hers, his...)...)
	same(t, "hers", r.logged("wh", "a2"), hers[1])
	update(t, r.store, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	for range 2 {
		r.absent("wh", "a2")
		same(t, "listed", entryNames(r.list("wh", store.LogPage{Limit: 2})), []string{"b2", "b1"})
		same(t, "oldest", r.oldest("wh", store.DeliveryDeadLettered, time.Time{}, "", 2), []string{"b1", "b2"})
		same(t, "behind one of hers", r.oldest("wh", store.DeliveryDeadLettered, time.Time{}, "a1", 2), []string{"b1", "b2"})
		r.log(append(of("usr_a", "a4"), his[1])...) // late: hers is passed over
		r.absent("wh", "a4")
		r.reopen()
	}
	same(t, "counts are nobody's", r.attempts("wh", time.Time{})[0].Failed, 5)
}

// testLogConcurrent: what several hand in at once is all there, and counted once.
func testLogConcurrent(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	const writers, each = 16, 20
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				at := noon().AddDate(0, 0, i%3).Add(time.Duration(i) * time.Second)
				if err := r.Log(t.Context(), []store.LogEntry{entry(fmt.Sprintf("dlv_%d_%d", w, i), "wh", at, store.DeliveryDelivered, 500, 200),
					entry("same", "wh", noon(), store.DeliveryDeadLettered, 500)}); err != nil {
					t.Error(err)
				}
				if _, err := r.List(t.Context(), "wh", store.LogPage{Limit: 5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	r.reopen()
	same(t, "entries", len(r.list("wh", store.LogPage{Limit: 1 << 20})), writers*each+1)
	var all store.AttemptCounts
	for _, one := range r.attempts("wh", time.Time{}) {
		all.Succeeded, all.Failed, all.DeadLettered = all.Succeeded+one.Succeeded, all.Failed+one.Failed, all.DeadLettered+one.DeadLettered
	}
	same(t, "attempts", all, store.AttemptCounts{Succeeded: writers * each, Failed: writers*each + 1, DeadLettered: 1})
}

// testLogDropWhileInUse: days go while others read and write them.
func testLogDropWhileInUse(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for w := range 3 {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := r.Log(t.Context(), []store.LogEntry{entry(fmt.Sprintf("dlv_%d_%d", w, i), "wh", noon().AddDate(0, 0, i%4), store.DeliveryDeadLettered, 500)}); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				_, err := r.List(t.Context(), "wh", store.LogPage{Limit: 100})
				_, err2 := r.Oldest(t.Context(), "wh", store.DeliveryDeadLettered, time.Time{}, "", 100)
				_, err3 := r.AttemptsByHour(t.Context(), "wh", time.Time{})
				_, err4 := r.Logged(t.Context(), "wh", "dlv_0_0")
				if errors.Is(err4, store.ErrNotFound) {
					err4 = nil
				}
				if err := errors.Join(err, err2, err3, err4); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 40 {
		r.drop(noon().AddDate(0, 0, 1+i%4))
	}
	stop()
	group.Wait()
	r.drop(noon().AddDate(0, 0, 10))
	same(t, "nothing", r.list("wh", store.LogPage{Limit: 10}), []store.LogEntry(nil))
}

func testLogClose(t *testing.T, open OpenLog) {
	r := newLogHarness(t, open)
	r.log(entry("a", "wh", noon(), store.DeliveryDeadLettered, 500))
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Log(t.Context(), []store.LogEntry{entry("b", "wh", noon(), store.DeliveryDeadLettered, 500)}); err == nil {
		t.Error("a closed log took an entry")
	}
	if _, err := r.Logged(t.Context(), "wh", "a"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("a closed log was asked: %v", err)
	}
	if _, err := r.List(t.Context(), "wh", store.LogPage{Limit: 1}); err == nil {
		t.Error("a closed log was listed")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	r.reopen()
	cancel()
	if err := r.Log(cancelled, []store.LogEntry{entry("b", "wh", noon(), store.DeliveryDeadLettered, 500)}); !errors.Is(err, context.Canceled) {
		t.Errorf("log: %v", err)
	}
	if _, err := r.List(cancelled, "wh", store.LogPage{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("list: %v", err)
	}
	r.absent("wh", "b")
}
