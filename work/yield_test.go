package work

import (
	"context"
	"testing"
	"time"

	"purser/store"
)

// TestAJobThatGivesWayGoesBehindTheOthers: the handler of `busy` ends its attempts itself, and is never finished. With one
// place for their owner, each of the others gets it.
func TestAJobThatGivesWayGoesBehindTheOthers(t *testing.T) {
	inBubble(t, func(h *harness) {
		count := 0
		p := h.pool(func(_ context.Context, job store.Job) (Result, error) {
			if job.ID != "busy" {
				return Result{}, nil
			}
			time.Sleep(time.Second)
			count++
			return Result{Commit: func(tx store.Tx) error { return card(tx, "turns") },
				End: func(tx store.Tx, ref store.Ref) error {
					if count == 3 {
						return tx.DoneJobs(ref)
					}
					return tx.YieldJobs(time.Time{}, ref)
				}}, nil
		})
		p.Width, p.Window, p.PerOwner = 1, 1, 1
		h.put("busy//o", "a//o", "b//o")
		stop := h.run(p)
		h.inOrder()
		h.put("c//o")
		time.Sleep(10 * time.Second)
		h.same("order", h.inOrder(), []string{"busy", "a", "b", "c", "busy", "busy"})
		h.same("commits", h.committed("turns"), 3)
		stop()
		h.same("ended", h.ended, map[Outcome]int{Done: 6})
		h.same("left", h.stats(), store.JobStats{})
	})
}

// TestAnEndThatIsLateWritesNothing: an attempt that ends itself is fenced as any other.
func TestAnEndThatIsLateWritesNothing(t *testing.T) {
	inBubble(t, func(h *harness) {
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			h.update(func(tx store.Tx) error { return tx.RemoveJobs(queue, job.ID) })
			return Result{Commit: func(tx store.Tx) error { return card(tx, "committed") },
				End: func(tx store.Tx, ref store.Ref) error { return tx.YieldJobs(time.Time{}, ref) }}, nil
		})
		stop := h.run(p)
		h.put("job")
		h.same("handled once", h.begun(), "job")
		stop()
		h.same("committed", h.committed("committed"), 0)
		h.same("ended", h.ended, map[Outcome]int{Lost: 1})
		h.same("left", h.stats(), store.JobStats{})
	})
}
