package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"purser/wallet"
)

// A job is work that waits in the store for a worker: an update to be handled, a message to be sent, a transaction to
// be checked again. Any number of nodes take jobs from one store. A node claims a job for the length of a lease.
// The node that ends a job names the attempt (Ref), so a node that slept through its lease writes nothing: that is called
// fencing. Package work has the pool that does all of this. Most code only puts jobs and handles them.
//
// Order: jobs of one key are handled one at a time, a smaller priority first, else in the order in which they were put.
// Between keys there is no order. Owners take turns: a thousand jobs of one owner delay another owner's job by one
// turn.
//
// Handling happens at least once, effects inside the store exactly once: the end of a job and what it wrote share one
// Update, and the end of an outdated attempt is ErrConflict.

// JobID names a job. Its producer chooses the ID, which is unique in its queue.
type JobID string

// Priorities of jobs; the first goes first. Every 8th job that is claimed may have a later priority although more
// urgent ones wait, if it is another owner's. So no priority starves.
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
	// Owner is the unit of fairness: a chat, a person, a webhook. Jobs with "" take one turn among the owners together,
	// and no limit per owner applies to them.
	Owner    string
	Priority Priority
	// NotBefore is when the job may be claimed: its due time, or when it is tried again. The zero time, and any time up
	// to At, means at once, even if clocks change.
	NotBefore     time.Time
	At            time.Time // when it was put, by the clock of its caller
	Attempt       int       // how often it was claimed, ever; with Seq it identifies one claim
	Failures      int       // how often RetryJobs ended it since it was last put
	ExpiredLeases int       // how many claims in a row ended only because the lease did: see ExpiredLeaseWait
	// About is the person whose data key seals the job, and with whom it is erased. "" is nobody.
	About wallet.UserID
	Body  []byte // sealed, as ID, Key and Owner are
	Seq   uint64 // set by the store; a larger one was put, or gave way (YieldJobs), later
}

// maxExpiredLeaseWait is the base of the longest wait after an expired lease. With its part for each job, the wait is up to
// a minute.
const maxExpiredLeaseWait = 30 * time.Second

// ExpiredLeaseWait is how long a job waits after this many claims in a row whose lease ended, because the node died or stood
// still. The first two cost no wait: a restart must not delay anybody. From the third on the job may be what kills the
// process, or may only have been in flight beside it. The wait then doubles from 1 second up to 30, and each job adds a
// part of its own by its number. In the end each such job is claimed alone, and the one that kills becomes known.
func ExpiredLeaseWait(expiredLeases int, seq uint64) time.Duration {
	if expiredLeases < 3 {
		return 0
	}
	wait := min(time.Second<<min(expiredLeases-3, 10), maxExpiredLeaseWait)
	return wait + wait*time.Duration(seq%16)/16
}

// Ref identifies one claim of a job. The verbs that end an attempt take it: an outdated Ref is ErrConflict (fencing).
// Seq is part of it because an ID may be put again after its job has ended. The attempts of the new job begin at 1, and
// a node that slept since then must not take them for its own.
type Ref struct {
	Queue   Queue
	ID      JobID
	Seq     uint64
	Attempt int
}

// Ref is the claim by which a node holds the job.
func (j Job) Ref() Ref { return Ref{j.Queue, j.ID, j.Seq, j.Attempt} }

// EventHead is the JSON of an event without its subject and data, in one line.
func EventHead(e wallet.Event) ([]byte, error) {
	e.Subject, e.Data = "", nil
	head, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("write event %s: %w", e.ID, err)
	}
	return head, nil
}

// EventBody is the body of the job of an event in the queue Events: its head (EventHead), a line break, the length of the
// subject as a uvarint, the subject, and the data as it is.
func EventBody(head []byte, e wallet.Event) []byte {
	out := make([]byte, 0, len(head)+1+binary.MaxVarintLen32+len(e.Subject)+len(e.Data))
	out = append(append(out, head...), '\n')
	out = append(binary.AppendUvarint(out, uint64(len(e.Subject))), e.Subject...)
	return append(out, e.Data...)
}

// EventOf reads the event of a job of the queue Events.
func EventOf(j Job) (e wallet.Event, err error) {
	head, rest, _ := bytes.Cut(j.Body, []byte{'\n'})
	if err = json.Unmarshal(head, &e); err != nil {
		return e, fmt.Errorf("read the event of a job: %w", err)
	}
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n) {
		return e, errors.New("read the event of a job: it is cut short")
	}
	end := n + int(length)
	e.Subject, e.Data = string(rest[n:end]), rest[end:]
	return e, nil
}

// Claim says which jobs a node wants to take.
type Claim struct {
	Queue Queue
	Node  string    // the name of the node, the same after a restart (see ReleaseNode)
	Now   time.Time // read inside the Update that claims: one that was read before a pause looks like a clock set back
	Max   int       // how many at most; 0: none
	// PerOwner is how many jobs of one owner may be in flight at once, on all nodes together. 0: any number. All claims
	// of a queue must use the same number.
	PerOwner int
	// Lease is how long the jobs belong to the node. The store measures leases by Now: the clocks of nodes may differ
	// by a small part of a lease only.
	Lease time.Duration
}

// DeadLetter is a job that was given up and is kept for the operator.
type DeadLetter struct {
	Job
	Reason string    // for the operator; stored in the clear, so it holds no personal data
	DiedAt time.Time // when it was given up
}

// JobStats is the state of a queue.
type JobStats struct {
	Waiting  int       // jobs without a lease, due or not
	InFlight int       // jobs with a lease
	Dead     int       // dead letters that are kept
	Oldest   time.Time // when the job that is longest in the queue was put; zero: the queue is empty
}

// The newest DeadLettersKept dead letters of each queue are kept, none of them for longer than DeadLettersFor.
const (
	DeadLettersKept = 1000
	DeadLettersFor  = 14 * 24 * time.Hour
)

// Jobs are queues of work. Every list and claim passes over damaged rows, which hold up neither their key nor their
// owner.
type Jobs interface {
	// PutJobs adds jobs in this order and returns those that it added, with ID and Seq set. Jobs about an erased person
	// are left out.
	//
	// A job whose ID exists in its queue replaces that one: everything but its key, which must be the same, and its
	// place. If the old one is in flight, its attempt goes on. When that ends with DoneJobs, RetryJobs or
	// DeadLetterJobs, the job waits again as it was put meanwhile.
	//
	// With handTo, jobs that may be claimed at once are leased to that node in this Update, up to handTo.Max. They come
	// back with Attempt set, and the node hands them to its workers after the commit. A job that others must go before
	// is not handed over: others of its key, or anything ready that is as urgent.
	PutJobs(jobs []Job, handTo *Claim) ([]Job, error)
	// ClaimJobs leases jobs that are due. next is when there may be more: Now if there are more at once, zero if
	// nothing is known to become due. The cost is that of the jobs claimed, however many wait. Jobs of the queue Events are
	// put without the entries that lead to them: a claim makes these first, for up to 1,000 jobs.
	ClaimJobs(Claim) (jobs []Job, next time.Time, err error)
	// RenewJobs moves the end of leases, and returns the claims that are lost: those attempts hold their jobs no more.
	RenewJobs(until time.Time, refs ...Ref) (lost []Ref, err error)
	// LostJobs returns the claims that are lost. A handler that writes before the end of its attempt checks in the same
	// Update that none of its claims is lost.
	LostJobs(refs ...Ref) (lost []Ref, err error)
	// DoneJobs removes jobs that are finished. If any claim is lost, the result is ErrConflict and nothing was written.
	// The same holds for RetryJobs, SnoozeJobs, YieldJobs and DeadLetterJobs.
	//
	// EraseUser removes the jobs about a person, those in flight too. In the Update that erases, their claims are not lost:
	// the handler that deletes a person is mostly called for a job about that person. In later Updates they are.
	DoneJobs(refs ...Ref) error
	// RetryJobs ends attempts that failed: Failures rises, and the jobs wait until notBefore.
	RetryJobs(notBefore time.Time, refs ...Ref) error
	// SnoozeJobs ends attempts that did not fail, such as one that found nothing to do yet: the jobs wait until
	// notBefore. The zero time returns jobs that nobody handled: they may be claimed at once, and ExpiredLeases stay.
	SnoozeJobs(notBefore time.Time, refs ...Ref) error
	// YieldJobs ends attempts that did not fail, and gives the jobs a new Seq: at notBefore (the zero time: at once) they
	// go behind everything of their owner and priority that was put before. It is for a job that is never finished while others of its
	// owner wait for Claim.PerOwner. A job with a Key is refused: its place is the order of the key.
	YieldJobs(notBefore time.Time, refs ...Ref) error
	// DeadLetterJobs moves jobs out of their queue and keeps them for the operator, so that the next jobs of their keys
	// go on. A job that was put again meanwhile stays and waits as it was put.
	DeadLetterJobs(now time.Time, reason string, refs ...Ref) error

	// Job returns the job of an ID, in flight or not; ErrNotFound without one.
	Job(queue Queue, id JobID) (Job, error)
	// JobsOfKey lists the jobs of a key in the order of handling: one in flight is the first.
	JobsOfKey(queue Queue, key string, limit int) ([]Job, error)
	// CountJobs counts an owner's jobs, those in flight too. Its cost does not depend on the number, except in the queue
	// Events: there it looks at what was put since the last claim.
	CountJobs(queue Queue, owner string) (int, error)
	// CountInFlight counts an owner's jobs that are in flight, on all nodes: what Claim.PerOwner bounds. It costs as
	// little.
	CountInFlight(queue Queue, owner string) (int, error)
	// JobStats returns the state of a queue. Its cost does not depend on the number of jobs.
	JobStats(Queue) (JobStats, error)
	// RemoveJobs cancels jobs, in flight or not: an attempt that is under way can then only end with ErrConflict. IDs
	// that are not in the queue are ignored.
	RemoveJobs(queue Queue, ids ...JobID) error

	// DeadLetters lists the dead letters of a queue, newest first.
	DeadLetters(queue Queue, limit int) ([]DeadLetter, error)
	// ReplayDeadLetter puts a dead letter back into its queue, behind all others and as if it had never failed.
	// The ID of an event names its dead letter in the queue Events. ErrNotFound without it; ErrConflict while a job of that
	// ID waits.
	ReplayDeadLetter(queue Queue, id JobID, now time.Time) error

	// Lead makes a node the leader of a name for the length of a lease, unless another node is. It is for what only one
	// node may do. The leader calls it again before the lease ends.
	Lead(name, node string, now time.Time, lease time.Duration) (bool, error)
	// Heartbeat gives one more sign of life of a node. Heartbeats counts them; 0: none yet. A node that watches another
	// one sees by its own clock for how long the count stays the same. No times are stored, so clocks may differ as they
	// like.
	Heartbeat(node string) error
	Heartbeats(node string) (uint64, error)
	// ReleaseNode ends all leases of a node, of jobs and as leader. A node calls it when it starts, so that nothing
	// waits for the leases of its earlier life.
	ReleaseNode(node string) error
}
