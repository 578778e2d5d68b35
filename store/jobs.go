package store

import (
	"encoding/json"
	"fmt"
	"time"

	"purser/wallet"
)

// A job is work that waits in the store for a worker: an update to be handled, a message to be sent, a transaction
// to be looked at again. Any number of nodes take jobs from one store. A node claims a job for the length of a
// lease; whoever ends the job says which attempt it is talking about, so that a node that slept through its lease
// writes nothing (fencing). Package work has the pool that does all of this: most code only puts jobs and handles
// them.
//
// What is promised: jobs of one key are handled one at a time, those of a smaller priority first, else in the order in
// which they were put. Nothing is promised about the order of different keys, but owners take turns: a thousand jobs of
// one owner delay another owner's job by one turn.
//
// Handling is at least once, effects inside the store are exactly once: the end of a job and what it wrote share one
// Update, and the end of an outdated attempt is ErrConflict.

// JobID names a job. Whoever puts it chooses the name, which is unique in its queue.
type JobID string

// Priorities of jobs, the first goes first. Every 8th job that is claimed may be of a later priority although earlier ones
// wait, if it is another owner's: so nobody starves.
const (
	JobUrgent Priority = iota
	JobSoon
	JobNormal
	JobBackground

	Priorities = int(JobBackground) + 1
)

// Priority says which of two jobs goes first.
type Priority int

// Job is work that waits in a queue.
type Job struct {
	ID    JobID // up to 256 bytes; "" has the store make one
	Queue Queue
	// Key is the ordering key: of the jobs of one key one is in flight at a time, in order. "" orders nothing.
	Key string
	// Owner is who fairness counts by: a chat, a person, a webhook. "" is nobody: such jobs take one turn among the
	// owners, and no share limits them.
	Owner    string
	Priority Priority
	// NotBefore is when it may be claimed: its due time, or when it is tried again. The zero time, and any at or before At,
	// is at once, whatever becomes of the clock.
	NotBefore time.Time
	At        time.Time // when it was put
	Attempt   int       // how often it was claimed, ever; with ID it says which claim is meant
	Failures  int       // how often RetryJobs ended it since it was last put
	Lapses    int       // how many claims in a row nobody ended: see LapseWait
	// About is the person whose data key seals it, and with whom it is erased. "" is nobody.
	About wallet.UserID
	Body  []byte // sealed, as ID, Key and Owner are
	Seq   uint64 // its place, set by the store: a larger one was put later
}

// maxLapseWait is the longest that a job waits after a claim that nobody ended.
const maxLapseWait = 30 * time.Second

// LapseWait is how long a job waits after so many claims in a row that nobody ended, because the node died or stood
// still. At first it does not wait, since a restart must not hold up anybody. From the third time on the job may
// be what kills the process, or stood only beside it: the waits double up to half a minute, and each job has a different one by
// its number, so that in the end each is claimed alone.
func LapseWait(lapses int, seq uint64) time.Duration {
	if lapses < 3 {
		return 0
	}
	wait := min(time.Second<<min(lapses-3, 10), maxLapseWait)
	return wait + wait*time.Duration(seq%16)/16
}

// Ref names one claim of a job.
type Ref struct {
	Queue   Queue
	ID      JobID
	Attempt int
}

// Ref is the claim by which a node holds the job.
func (j Job) Ref() Ref { return Ref{j.Queue, j.ID, j.Attempt} }

// EventOf reads the event that a job of the queue Events is about.
func EventOf(j Job) (e wallet.Event, err error) {
	if err = json.Unmarshal(j.Body, &e); err != nil {
		return e, fmt.Errorf("read the event of a job: %w", err)
	}
	return e, nil
}

// Claim says which jobs a node would take.
type Claim struct {
	Queue Queue
	Node  string // who takes them: the name of a node that is the same in its next life (see ReleaseNode)
	Now   time.Time
	Max   int // how many; none for 0
	// PerOwner is how many jobs of one owner may be in flight at once, on all nodes together. 0: any number. It
	// is the same in all claims of a queue.
	PerOwner int
	// Lease is how long they are the node's. The store measures leases by Now: clocks of nodes must agree within a
	// small part of it.
	Lease time.Duration
}

// DeadLetter is a job that was given up.
type DeadLetter struct {
	Job
	Reason string    // in the operator's words; it holds nothing about people, since it is stored in the clear
	DiedAt time.Time // when it was given up
}

// JobStats is how a queue stands.
type JobStats struct {
	Waiting  int       // jobs that are in no one's hands, also those that are not due
	InFlight int       // jobs that are leased
	Dead     int       // dead letters that are kept
	Oldest   time.Time // when the job that is longest in the queue was put; zero without any
}

// How many dead letters are kept for the operator: in each queue the newest DeadLettersKept, and none for longer
// than DeadLettersFor.
const (
	DeadLettersKept = 1000
	DeadLettersFor  = 14 * 24 * time.Hour
)

// Jobs are queues of work. Every list and claim passes over a damaged row: it holds up neither its key nor its owner.
type Jobs interface {
	// PutJobs adds jobs in this order and returns those that it added, with ID and Seq set. Jobs about an erased
	// person are left out.
	//
	// An ID that waits in its queue is put anew: everything but its key is replaced, and it keeps its place. While it is
	// in flight that attempt goes on; when it ends with DoneJobs or RetryJobs, the job waits again as it was put
	// meanwhile.
	//
	// With handTo those that may be claimed at once are leased to that node in this Update, up to handTo.Max, and
	// come back with Attempt set, all others without: the node hands them to its workers from memory after the commit. A
	// job that others must go before (of its key, or because anything as urgent is ready in the queue) is not handed over.
	PutJobs(jobs []Job, handTo *Claim) ([]Job, error)
	// ClaimJobs leases jobs that are due. next is when there may be more to claim: Now when there are more at
	// once, zero when nothing is known to become due. Its cost is that of the jobs claimed, however many wait.
	ClaimJobs(Claim) (jobs []Job, next time.Time, err error)
	// RenewJobs moves the end of leases and returns those that are not held by that attempt any more.
	RenewJobs(until time.Time, refs ...Ref) (lost []Ref, err error)
	// LostJobs returns those that are not held by that attempt any more: what a long attempt writes before its end it
	// writes only if none of its jobs is lost, in the same Update.
	LostJobs(refs ...Ref) (lost []Ref, err error)
	// DoneJobs removes jobs. If any attempt is outdated, or its job was removed, it is ErrConflict and wrote nothing:
	// the same holds for the next three.
	DoneJobs(refs ...Ref) error
	// RetryJobs ends attempts that failed: they count as Failures, and the jobs wait until notBefore.
	RetryJobs(notBefore time.Time, refs ...Ref) error
	// SnoozeJobs ends attempts that did not fail, such as one that found its job not ready: the jobs wait until
	// notBefore (zero: they were given back unhandled and may be claimed at once; Lapses stay).
	SnoozeJobs(notBefore time.Time, refs ...Ref) error
	// DeadLetterJobs takes jobs out of their queue, so that what is behind them in their keys goes on, and keeps them for
	// the operator. One that was put anew meanwhile stays, and waits as it was put.
	DeadLetterJobs(now time.Time, reason string, refs ...Ref) error

	// Job is the job of an ID, in flight or not; ErrNotFound when none waits.
	Job(queue Queue, id JobID) (Job, error)
	// JobsOfKey lists the jobs of a key in the order in which they are handled; one in flight is the first.
	JobsOfKey(queue Queue, key string, limit int) ([]Job, error)
	// CountJobs counts an owner's jobs, those in flight too. It costs the same for any number.
	CountJobs(queue Queue, owner string) (int, error)
	// JobStats says how a queue stands. It costs the same for any number of jobs.
	JobStats(Queue) (JobStats, error)
	// RemoveJobs cancels jobs, in flight or not: an attempt that is under way can no longer be ended. It passes
	// over IDs that are not in the queue.
	RemoveJobs(queue Queue, ids ...JobID) error

	// DeadLetters lists what was given up, newest first.
	DeadLetters(queue Queue, limit int) ([]DeadLetter, error)
	// ReplayDeadLetter puts what was given up into its queue again, behind all others and as if it had never failed.
	// ErrNotFound without it; ErrConflict while a job of that ID waits.
	ReplayDeadLetter(queue Queue, id JobID, now time.Time) error

	// Lead makes a node the leader of a name for the length of a lease, if nobody else is: for what only one node may
	// do. The leader calls it again before its lease ends.
	Lead(name, node string, now time.Time, lease time.Duration) (bool, error)
	// ReleaseNode ends all leases of a node, of jobs and as leader: when it starts, what an earlier life of it held
	// waits for no lease.
	ReleaseNode(node string) error
}
