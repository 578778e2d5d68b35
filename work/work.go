// Package work runs jobs (store.Job): it claims them, hands them to a function, and writes what became of them.
//
// A worker is a Pool with a Handle and a Schedule. Handle does what takes time, such as a call to Telegram, with no
// store transaction open, and returns a Result: what is to become true. The pool runs Result.Commit and ends the job in
// one Update, so both become true or neither does. After a crash or a lost lease a job may be handled again, so Handle
// runs at least once. What Commit writes takes effect exactly once.
//
//	pool := &work.Pool{Store: db, Queue: "letters", Node: "node-1", Width: 8, Lease: time.Minute,
//		Schedule: work.Schedule{First: time.Second, Most: time.Minute, Failures: 10, Random: random},
//		Handle: func(ctx context.Context, job store.Job) (work.Result, error) {
//			receipt, err := post.Send(ctx, job.Body)
//			return work.Result{Commit: func(tx store.Tx) error { return keep(tx, receipt) }}, err
//		}, Now: time.Now}
//	err := pool.Run(ctx)
//
// Code that puts jobs can hand them to the pool of its own process from memory, which saves a claim: Offer before the
// Update, Hand after it. A Leader runs what only one of several nodes may do. An Overview warns of queues that need
// attention.
//
// The package does not know what any job is about.
package work

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"purser/store"
)

// Result is what a Handle decided. The zero Result ends the job.
type Result struct {
	// Commit, if not nil, writes the result in the Update that ends the job. It may run more than once. Its error
	// undoes all of it: after store.ErrConflict the job is handled again at once, any other error counts as a failure.
	Commit func(store.Tx) error
	// Again, if not zero, ends the attempt and not the job, which is handled again at that time. It counts as no
	// failure.
	Again time.Time
	// End, if not nil, ends the attempt in the place of the pool, in the same Update after Commit. It is for a handler
	// that learns only there whether the job is finished. It calls DoneJobs, SnoozeJobs or YieldJobs for ref, and its
	// ErrConflict says that the claim is lost.
	End func(tx store.Tx, ref store.Ref) error
	// After, if not nil, runs once Commit and the end of the job are written: to notify waiters in this process, or to
	// hand over what Commit put. It must not block.
	After func()
	// Deferrable says that nobody waits for what is written: its commit may wait for those of others (store.Deferrable). If the
	// process dies meanwhile, the job is handled again, as after any crash before its end is written.
	Deferrable bool
}

// Handle does the work of one job. Its ctx ends with cause ErrStopped when the pool's Grace is over, and with ErrLost
// when another node has the job. A panic counts as an error.
type Handle func(ctx context.Context, job store.Job) (Result, error)

// Permanent marks an error that further attempts cannot change: the job becomes a dead letter at once. nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Schedule says when a failed job is tried again: after a random part of a span that doubles with each failure ("full
// jitter"), so that jobs that failed together do not come back together.
type Schedule struct {
	First    time.Duration // the span after the first failure
	Most     time.Duration // the longest span
	Failures int           // after so many the job is a dead letter; 0: never
	Random   io.Reader     // chooses the part of a span; many goroutines read it; nil: the whole span
	// Waits, if not empty, are the spans one by one, where an operator sets them: after the first failure, after the
	// second ... After one failure more than there are waits the job is a dead letter. First, Most and Failures are
	// not used then.
	Waits []time.Duration
}

// Span is the longest wait after so many failures, which are 1 or more.
func (s Schedule) Span(failures int) time.Duration {
	if len(s.Waits) > 0 {
		return s.Waits[min(max(failures, 1), len(s.Waits))-1]
	}
	span := float64(s.First) * math.Pow(2, float64(min(max(failures, 1), 64)-1))
	return time.Duration(min(span, float64(s.Most)))
}

// Spent tells whether a job with so many failures is given up.
func (s Schedule) Spent(failures int) bool {
	if len(s.Waits) > 0 {
		return failures > len(s.Waits)
	}
	return s.Failures > 0 && failures >= s.Failures
}

// wait draws how long a job with so many failures waits.
func (s Schedule) wait(failures int) time.Duration {
	span := s.Span(failures)
	var drawn [8]byte
	if s.Random == nil || span <= 0 {
		return span
	}
	if _, err := io.ReadFull(s.Random, drawn[:]); err != nil { // a wait that is too long does no harm
		return span
	}
	return time.Duration(binary.BigEndian.Uint64(drawn[:]) % (uint64(span) + 1))
}

// Outcome is how an attempt ended, for Metrics.
type Outcome string

// The outcomes of attempts.
const (
	Done         Outcome = "done"
	Snoozed      Outcome = "snoozed"       // Result.Again
	Retried      Outcome = "retried"       // failed; it is tried again
	DeadLettered Outcome = "dead_lettered" // failed for the last time
	Lost         Outcome = "lost"          // its lease was over, or it was cancelled: nothing was written
	Returned     Outcome = "returned"      // the pool stopped: any node may claim it
)

// Metrics receives the figures of a pool. It is the hook for an exporter of metrics, and main sets none yet
// (docs/architecture.md, Jobs). Many goroutines call its methods, so they must be quick and safe for concurrent use.
type Metrics interface {
	// Claimed reports that jobs were claimed or handed over.
	Claimed(queue store.Queue, jobs int)
	// Ended reports the end of an attempt: how long the job had waited since it was due, and how long the attempt took.
	Ended(queue store.Queue, outcome Outcome, waited, took time.Duration)
}

// maxExpiredLeases is how many claims in a row may end with the lease (store.Job.ExpiredLeases) before the job is a dead
// letter: a job that kills the process must not be handled for ever. Pool.Dead is tried for deadExpiredLeases more, since it
// may be what kills, and is then left out.
const (
	maxExpiredLeases  = 20
	deadExpiredLeases = 3
)

// errLeasesExpired is why such a job is given up.
var errLeasesExpired = errors.New("work: its attempts never ended: it may be what ends the process")

// ErrStopped is the cause of the end of a Handle's ctx when the pool's Grace is over.
var ErrStopped = errors.New("work: the pool has stopped")

// ErrLost is the cause of the end of a Handle's ctx when another node has the job, or it was cancelled.
var ErrLost = errors.New("work: the job is another node's by now")
