package records

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// jobRow is the plain part of a job's row. ID, key, owner and body are sealed (sealedJob). Name, Ordering and Owner
// are keyed hashes of the first three. By them the index entries of a job are found even when its row cannot be
// decrypted.
//
// The plain part of other rows is JSON. This one is read and written at each step of a job, so it is binary: one byte
// of flags, one of priority, then the fields in the order of append.
type jobRow struct {
	Name          []byte // hash of the ID; nil if the store made the ID, which then holds the number
	Ordering      []byte // hash of the ordering key; nil without one
	Owner         []byte // hash of the owner; nil without one
	Priority      int
	NotBefore     time.Time     // as the caller gave it, by the caller's clock
	Due           time.Time     // the same moment in the queue's time (jobclock.go); zero: at once
	At            time.Time     // when the job was put, by the caller's clock
	Attempt       int           // number of claims so far; a claim is valid only with the newest
	Failures      int           // attempts that failed since the job was put
	ExpiredLeases int           // see store.Job
	About         wallet.UserID // the person whose data key seals the job; "": the system's key

	Node     string    // the node that holds the lease
	End      time.Time // when the lease ends, in the queue's time; zero: the job is not in flight
	Replaced bool      // new content was put while the job was in flight: the end of the attempt does not remove it

	Reason string // of a dead letter; plain text without personal data
	DiedAt time.Time
}

// inFlight tells whether a node holds a lease of the job. The lease may be over: it counts until a claim ends it.
func (r *jobRow) inFlight() bool { return !r.End.IsZero() }

// class sorts the jobs of one ordering key: 0 is in flight and comes before all that wait.
func (r *jobRow) class() byte {
	if r.inFlight() {
		return 0
	}
	return waitingClass(r.Priority)
}

// waitingClass is the class of a job that waits: 1 + priority.
func waitingClass(priority int) byte { return byte(1 + priority) }

// Flags of the optional fields. The others are always written.
const (
	withName = 1 << iota
	withOrdering
	withOwner
	withNotBefore
	withDue
	withLease
	withReplaced
	withReason
)

// withExpiredLeases is the highest bit of the second byte, which holds the priority: all 8 flags of the first are
// taken.
const withExpiredLeases = 0x80

// append writes the plain part behind out and returns the longer slice. Numbers are uvarints, times 12 bytes
// (appendTime), hashes 16 bytes, texts have their length in front.
func (r *jobRow) append(out []byte) []byte {
	flags, at := byte(0), len(out)
	out = append(out, 0, byte(r.Priority))
	text := func(flag byte, s string) {
		flags |= flag
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	moment := func(flag byte, t time.Time) {
		flags |= flag
		out = appendTime(out, t)
	}
	out = binary.AppendUvarint(out, uint64(r.Attempt))
	out = binary.AppendUvarint(out, uint64(r.Failures))
	moment(0, r.At)
	text(0, string(r.About))
	// The flags of the three hashes follow each other, so the index of the loop shifts withName.
	for flag, hash := range [...][]byte{r.Name, r.Ordering, r.Owner} {
		if hash != nil {
			flags |= withName << flag
			out = append(out, hash...)
		}
	}
	if !r.NotBefore.IsZero() {
		moment(withNotBefore, r.NotBefore)
	}
	if !r.Due.IsZero() {
		moment(withDue, r.Due)
	}
	if r.inFlight() {
		moment(withLease, r.End)
		text(withLease, r.Node)
	}
	if r.Replaced {
		flags |= withReplaced
	}
	if r.Reason != "" || !r.DiedAt.IsZero() {
		moment(withReason, r.DiedAt)
		text(withReason, r.Reason)
	}
	if r.ExpiredLeases > 0 {
		out[at+1] |= withExpiredLeases
		out = binary.AppendUvarint(out, uint64(r.ExpiredLeases))
	}
	// The flags are known only now; their byte was left free at the front.
	out[at] = flags
	return out
}

// read decodes what append wrote. The hashes point into raw. ErrDamaged: bytes are missing or left over.
func (r *jobRow) read(raw []byte) error {
	in := jobReader{raw: raw}
	head := in.take(2)
	if in.bad || int(head[1]&^withExpiredLeases) >= store.Priorities {
		return fmt.Errorf("%w: the plain part of a job", store.ErrDamaged)
	}
	flags, priority := head[0], int(head[1]&^withExpiredLeases)
	has := func(flag byte) bool { return flags&flag != 0 }
	*r = jobRow{Priority: priority, Attempt: in.number(), Failures: in.number(), At: in.time(), About: wallet.UserID(in.text())}
	for flag, hash := range [...]*[]byte{&r.Name, &r.Ordering, &r.Owner} {
		if has(withName << flag) {
			*hash = in.take(hashSize)
		}
	}
	if has(withNotBefore) {
		r.NotBefore = in.time()
	}
	if has(withDue) {
		r.Due = in.time()
	}
	if has(withLease) {
		r.End, r.Node = in.time(), in.text()
	}
	r.Replaced = has(withReplaced)
	if has(withReason) {
		r.DiedAt, r.Reason = in.time(), in.text()
	}
	if head[1]&withExpiredLeases != 0 {
		r.ExpiredLeases = in.number()
	}
	if in.bad || len(in.raw) > 0 {
		return fmt.Errorf("%w: the plain part of a job", store.ErrDamaged)
	}
	return nil
}

// jobReader reads the plain part of a job from its front. As soon as something is missing it sets bad and returns
// zeros from then on, so its caller checks only once, at the end.
type jobReader struct {
	raw []byte
	bad bool
}

// take cuts off the next n bytes.
func (in *jobReader) take(n int) []byte {
	if in.bad || n < 0 || n > len(in.raw) {
		in.bad = true
		return nil
	}
	out := in.raw[:n:n]
	in.raw = in.raw[n:]
	return out
}

// number reads a uvarint of at most 31 bits.
func (in *jobReader) number() int {
	n, size := binary.Uvarint(in.raw)
	if size <= 0 || n > 1<<31 {
		in.bad = true
		return 0
	}
	in.take(size)
	return int(n)
}

// time reads what appendTime wrote.
func (in *jobReader) time() time.Time {
	at, err := keyTime(in.take(timeSize))
	in.bad = in.bad || err != nil
	return at
}

// text reads a length, a uvarint, and that many bytes.
func (in *jobReader) text() string { return string(in.take(in.number())) }

// madeMark begins the ID of a job that the store made. The job's number follows, so such an ID needs no index entry.
const madeMark = "~"

// madeID makes the ID of a job that was put without one: madeMark and the number in base 36.
func madeID(seq uint64) store.JobID { return store.JobID(madeMark + strconv.FormatUint(seq, 36)) }

// numberOfMade reads what madeID wrote. ok is false for every other ID, also for one that only looks similar.
func numberOfMade(id store.JobID) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(string(id), madeMark)
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 36, 64)
	return seq, err == nil && madeID(seq) == id
}
