package storetest

import (
	"errors"
	"fmt"
	"testing"

	"purser/store"
)

// testErasedJobs: a person's jobs go with them, those in flight and those given up, and what is behind them goes on.
func testErasedJobs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	about := func(names ...string) []store.Job {
		all := someJobs(names...)
		for i := range all {
			all[i].About = "usr_a"
		}
		return all
	}
	s.put(about("dead", "flies/k", "waits/l", "far/m/o")...)
	dead := s.claim(at(noon(), 1))
	update(t, s, func(tx store.Tx) error { return tx.DeadLetterJobs(noon(), "", dead[0].Ref()) })
	flies := s.claim(at(noon(), 1))
	s.put(someJobs("behind/k", "other/l")...)
	var many []store.Job
	for i := range 2500 {
		many = append(many, about(fmt.Sprint("many", i))...)
	}
	s.put(many...)
	outdated := flies[0].Ref()
	outdated.Attempt++
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error {
		return errors.Join(tx.EraseUser("usr_a"), tx.DoneJobs(outdated))
	})
	same(t, "a failed erasure leaves it", len(get(t, s, func(tx store.Tx) ([]store.Ref, error) { return tx.LostJobs(flies[0].Ref()) })), 0)
	update(t, s, func(tx store.Tx) error { // as the handler of this very job does
		if err := tx.EraseUser("usr_a"); err != nil {
			return err
		}
		lost, err := tx.LostJobs(flies[0].Ref())
		same(t, "lost by its own Update", len(lost), 0)
		return errors.Join(err, tx.DoneJobs(flies[0].Ref()))
	})
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(flies[0].Ref()) })
	same(t, "what is behind them", s.drained(noon()), "behind other")
	for range 10 {
		update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(noon(), 1000); return err })
	}
	same(t, "nothing is left", get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{})
	same(t, "late ones are left out", len(s.put(about("late")...)), 0)
	same(t, "of the dead neither", len(get(t, s, func(tx store.Tx) ([]store.DeadLetter, error) { return tx.DeadLetters(queue, 10) })), 0)
	same(t, "nor of the owner", get(t, s, func(tx store.Tx) (int, error) { return tx.CountJobs(queue, "o") }), 0)
}
