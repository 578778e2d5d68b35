// Package work runs jobs (store.Job): it claims them, hands them to a function, and writes what became of them.
//
// A worker is a Pool with a Handle and a Schedule. Handle does what takes time, such as a call to Telegram, with no store
// transaction open, and returns what is to become true as a Result. The pool runs Result.Commit and ends the job in one
// Update: either both become true or neither. So a job may be handled more than once, after a crash or when a node lost its
// lease, but what it wrote is written once.
//
//	pool := &work.Pool{Store: db, Queue: "letters", Node: "node-1", Width: 8, Lease: time.Minute,
//		Schedule: work.Schedule{First: time.Second, Most: time.Minute, Failures: 10, Random: random},
//		Handle: func(ctx context.Context, job store.Job) (work.Result, error) {
//			receipt, err := post.Send(ctx, job.Body)
//			return work.Result{Commit: func(tx store.Tx) error { return keep(tx, receipt) }}, err
//		}, Now: time.Now}
//	err := pool.Run(ctx)
//
// Whoever puts jobs can hand them to the pool of its own process from memory, which saves a claim: Offer before the Update
// and Hand after it.
//
// A Leader runs what only one of several nodes may do. The package refuses to know what any job is about.
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
	// Commit writes what the job came to, in the Update that ends the job. Its error undoes all of it: store.ErrConflict has
	// the job handled anew at once, any other counts as a failure. Nil writes nothing.
	Commit func(store.Tx) error
	// Again, if it is not zero, ends the attempt but not the job: it is handled again then. It counts as no failure.
	Again time.Time
	// After, if not nil, is run once Commit and the end of the job are written: to tell whoever waits in this process, or
	// to hand over what Commit put. It must not wait.
	After func()
}

// Handle does the work of one job. ctx ends when the pool's time to stop is over and when the job was lost to another
// node. A panic counts as an error.
type Handle func(ctx context.Context, job store.Job) (Result, error)

// Permanent marks an error that no further attempt will mend: the job is a dead letter at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Schedule says when a job that failed is tried again: after a random part of a span that doubles with each failure
// ("full jitter"), so that jobs that failed together do not come back together.
type Schedule struct {
	First    time.Duration // the span after the first failure
	Most     time.Duration // no span is longer
	Failures int           // after so many a job is a dead letter; 0: never
	Random   io.Reader     // of which part of a span is waited, read by many goroutines; nil: the whole span is waited
}

// Span is how long is waited at most after so many failures, which are 1 or more.
func (s Schedule) Span(failures int) time.Duration {
	span := float64(s.First) * math.Pow(2, float64(min(max(failures, 1), 64)-1))
	return time.Duration(min(span, float64(s.Most)))
}

// spent tells whether a job that has failed so often is given up.
func (s Schedule) spent(failures int) bool { return s.Failures > 0 && failures >= s.Failures }

// wait is how long a job that failed so often waits until it is tried again.
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

// Outcome is how an attempt ended.
type Outcome string

// The outcomes of attempts.
const (
	Done         Outcome = "done"
	Snoozed      Outcome = "snoozed"       // Result.Again
	Retried      Outcome = "retried"       // it failed and is tried again
	DeadLettered Outcome = "dead_lettered" // it failed for the last time
	Lost         Outcome = "lost"          // its lease was over, or it was cancelled: nothing was written
	Returned     Outcome = "returned"      // the pool stopped: it is claimed again later
)

// Metrics hears how a pool does. Its methods are called by many goroutines.
type Metrics interface {
	// Claimed tells how many jobs were claimed or handed over.
	Claimed(queue store.Queue, jobs int)
	// Ended tells how an attempt ended, how long the job had waited since it was due, and how long it took to handle.
	Ended(queue store.Queue, outcome Outcome, waited, took time.Duration)
}

// maxLapses is how many claims in a row may end without a word (store.Job.Lapses) before a job is a dead letter: what kills
// the process each time it is handled must not be handled for ever. Beyond it Pool.Dead is tried a few times more, since it
// may be what kills.
const (
	maxLapses  = 20
	deadLapses = 3
)

// errLapsed is why a job that was claimed so often is given up.
var errLapsed = errors.New("work: its attempts never ended: it may be what ends the process")

// ErrStopped is the cause of the end of a Handle's ctx when the pool's time to stop is over.
var ErrStopped = errors.New("work: the pool has stopped")

// ErrLost is the cause of the end of a Handle's ctx when the job is another node's, or was cancelled.
var ErrLost = errors.New("work: the job is another node's by now")
