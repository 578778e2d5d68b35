package chat_test

import (
	"time"

	"purser/store"
)

// happensToStakes plays a line that is about stakes. false: it is not.
func (r *harness) happensToStakes(who, line string) bool {
	r.Helper()
	switch line {
	case "an epoch passes": // and its rewards are paid, and final
		_, err := r.Cluster.NextEpoch()
		r.Must(err)
		r.Blocks(40)
	case who + "'s stakes get a tip":
		p, err := r.Stakes.Positions(r.Context(), r.people[who].Address())
		r.Must(err)
		for _, one := range p.All {
			r.Fund(one.Address, 5_000_000)
		}
	case "the watcher looks":
		r.Must(r.Watcher.Sweep(r.Context()))
		r.Pass(time.Minute)
		r.looks()
	default:
		return false
	}
	return true
}

// looks makes every look of the watcher that is due, and delivers what people are notified of.
func (r *harness) looks() {
	r.Helper()
	for {
		due := r.Due(r.Watcher, 10)
		if len(due) == 0 {
			break
		}
		for _, job := range due {
			result, err := r.Watcher.Handle(r.Context(), job)
			r.Must(err)
			r.Must(r.Update(func(tx store.Tx) error {
				if result.Commit != nil {
					if err := result.Commit(tx); err != nil {
						return err
					}
				}
				if result.Again.IsZero() {
					return tx.DoneJobs(job.Ref())
				}
				return tx.SnoozeJobs(result.Again, job.Ref())
			}))
		}
	}
	r.settle()
}
