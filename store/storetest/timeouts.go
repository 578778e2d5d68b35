package storetest

import (
	"errors"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testTimeouts: a conversation that can time out has one job, which looks at it in time, whatever it goes through.
func testTimeouts(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 6}) })
	c := store.Conversation{Chat: 5, User: 6, Flow: "send", State: "review", ExpiresAt: noon().Add(5 * time.Minute)}
	save := func(c store.Conversation) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return store.SaveConversation(tx, c, noon()) })
	}
	waiting := func() (jobs []store.Job) { return Jobs(t, s, store.ConversationTimeouts) }
	looks := func(what string, at ...time.Time) {
		t.Helper()
		jobs := waiting()
		var got []time.Time
		for _, job := range jobs {
			got = append(got, job.NotBefore)
		}
		same(t, what, got, at)
	}
	now := func(job store.Job) store.Conversation {
		return get(t, s, func(tx store.Tx) (store.Conversation, error) { return store.ConversationOfTimeout(tx, job) })
	}
	due := func(at time.Time) []store.Job {
		return changing(t, s, func(tx store.Tx) ([]store.Job, error) {
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: store.ConversationTimeouts, Node: "a", Now: at, Max: 10, Lease: time.Minute})
			return jobs, err
		})
	}
	save(c)
	first := noon().Add(5 * time.Minute)
	looks("begun", first)
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return store.SaveConversation(tx, c, noon()) })
	c.Version, c.ExpiresAt = 1, noon().Add(9*time.Minute)
	save(c)
	looks("an answer moves nothing", first)
	c.Version, c.ExpiresAt = 2, noon().Add(2*time.Minute)
	save(c)
	second := noon().Add(2 * time.Minute)
	looks("one that times out earlier is looked at earlier", second)
	c.Version, c.State = 3, ""
	save(c)
	looks("one that has ended keeps its job until then", second)
	c.Version, c.State, c.ExpiresAt = 4, "amount", noon().Add(7*time.Minute)
	save(c)
	looks("one that begins again needs no other", second)
	if early := due(second.Add(-1)); len(early) != 0 {
		t.Errorf("claimed before its time: %+v", early)
	}

	c.Version = 5
	jobs := due(second)
	if len(jobs) != 1 {
		t.Fatalf("claimed %+v", jobs)
	}
	same(t, "the conversation of the job", now(jobs[0]), c)
	save(c) // while it is in flight
	c.Version = 6
	looks("in flight", second)
	update(t, s, func(tx store.Tx) error { return store.ScheduleTimeout(tx, c, noon()) })
	update(t, s, func(tx store.Tx) error { return tx.DoneJobs(jobs[0].Ref()) })
	looks("put anew while it was in flight", c.ExpiresAt)
	jobs = due(c.ExpiresAt)
	update(t, s, func(tx store.Tx) error { return tx.DoneJobs(jobs[0].Ref()) })
	looks("done")
	ended := c
	ended.State = ""
	save(ended)
	looks("ended, whatever its time")
	c.Version = 7
	save(c)
	looks("after its job was done", c.ExpiresAt)

	update(t, s, func(tx store.Tx) error {
		return errors.Join(
			store.SaveConversation(tx, store.Conversation{Chat: 5, User: 6, Slot: "keys", State: "shown", ExpiresAt: noon().Add(time.Minute)}, noon()),
			store.SaveConversation(tx, store.Conversation{Chat: -100, User: 6, State: "amount", ExpiresAt: noon().Add(3 * time.Minute)}, noon()),
			store.SaveConversation(tx, store.Conversation{Chat: 6, User: 6, State: "amount"}, noon())) // no time-out
	})
	type place struct {
		chat int64
		slot string
	}
	seen := map[place]time.Time{}
	for _, job := range waiting() {
		of := now(job)
		seen[place{of.Chat, of.Slot}] = of.ExpiresAt
	}
	same(t, "beside one another", seen, map[place]time.Time{{5, ""}: c.ExpiresAt, {5, "keys"}: noon().Add(time.Minute), {-100, ""}: noon().Add(3 * time.Minute)})

	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	if left := due(noon().Add(time.Hour)); len(left) != 0 {
		t.Errorf("left of an erased person: %+v", left)
	}
}
