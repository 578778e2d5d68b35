package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
)

// sealedJob is one field for all that is sealed: the lengths of id, key and owner before each, then the body.
func sealedJob(j store.Job) field {
	out := make([]byte, 0, 3*binary.MaxVarintLen32+len(j.ID)+len(j.Key)+len(j.Owner)+len(j.Body))
	for _, part := range []string{string(j.ID), j.Key, j.Owner} {
		out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
	}
	return field{"job", append(out, j.Body...)}
}

// unsealJob reads a stored job in full; ErrNotFound when its person was erased.
func (q *jobQueue) unsealJob(j *storedJob) (store.Job, error) {
	var again jobRow
	sealed, err := q.unsealAs(jobs.String(), q.rowKey(j.seq), j.raw, &again, "job")
	if err != nil {
		return store.Job{}, err
	}
	out := store.Job{Queue: q.name, Priority: store.Priority(j.Priority), NotBefore: j.NotBefore, At: j.At, Attempt: j.Attempt,
		Failures: j.Failures, About: j.About, Seq: j.seq}
	rest := sealed[0]
	for _, into := range []func([]byte){
		func(b []byte) { out.ID = store.JobID(b) }, func(b []byte) { out.Key = string(b) }, func(b []byte) { out.Owner = string(b) },
	} {
		part, behind, err := cutPart(rest)
		if err != nil {
			return store.Job{}, err
		}
		into(part)
		rest = behind
	}
	if len(rest) > 0 {
		out.Body = rest
	}
	return out, nil
}

// jobQueues opens each queue once in a call that is about several.
type jobQueues struct {
	*tx
	open  map[store.Queue]*jobQueue
	order []*jobQueue
}

func (t *tx) jobQueues() *jobQueues { return &jobQueues{tx: t, open: map[store.Queue]*jobQueue{}} }

func (s *jobQueues) of(name store.Queue) (*jobQueue, error) {
	if q := s.open[name]; q != nil {
		return q, nil
	}
	q, err := s.jobQueue(name)
	if err != nil {
		return nil, err
	}
	s.open[name] = q
	s.order = append(s.order, q)
	return q, nil
}

func (s *jobQueues) flush() error {
	for _, q := range s.order {
		if err := q.flush(); err != nil {
			return err
		}
	}
	return nil
}

func checkJob(j store.Job) error {
	if j.ID != "" {
		if err := checkID(string(j.ID)); err != nil {
			return err
		}
	}
	if j.Priority < 0 || int(j.Priority) >= store.Priorities {
		return fmt.Errorf("store: a job has a priority of 0 to %d, not %d", store.Priorities-1, j.Priority)
	}
	return nil
}

func (t *tx) PutJobs(all []store.Job, handTo *store.Claim) ([]store.Job, error) {
	queues := t.jobQueues()
	var put []store.Job
	handed := 0
	for _, j := range all {
		if err := checkJob(j); err != nil {
			return nil, err
		}
		if t.isErased(j.About) {
			continue
		}
		q, err := queues.of(j.Queue)
		if err != nil {
			return nil, err
		}
		stored, err := q.putJob(&j)
		if err != nil {
			return nil, err
		}
		if handTo != nil && handTo.Queue == j.Queue && handed < handTo.Max {
			took, err := q.handOver(stored, *handTo)
			if err != nil {
				return nil, err
			}
			if took != nil {
				j.Attempt = took.Attempt
				handed++
			}
		}
		put = append(put, j)
	}
	return put, queues.flush()
}

// putJob stores a job, new or anew, and completes j.
func (q *jobQueue) putJob(j *store.Job) (*storedJob, error) {
	var was *storedJob
	if j.ID != "" {
		switch found, err := q.find(j.ID); {
		case err == nil:
			was = found
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	is := &storedJob{jobRow: jobRow{Ordering: q.hash("key", j.Key), Owner: q.hash("owner", j.Owner), Priority: int(j.Priority),
		NotBefore: j.NotBefore, At: j.At, About: j.About}}
	if j.NotBefore.After(j.At) {
		is.Due = j.NotBefore.Add(q.state.offset)
	}
	j.Attempt, j.Failures = 0, 0
	if was == nil {
		var err error
		if is.seq, err = q.next(jobs); err != nil {
			return nil, err
		}
		if j.ID == "" {
			j.ID = store.JobID(fmt.Sprintf("%012x-%x", uint64(j.At.UnixMilli()), is.seq))
		}
	} else {
		if !bytes.Equal(was.Ordering, is.Ordering) {
			return nil, errors.New("store: a job that is put anew keeps its key")
		}
		is.seq, is.Attempt = was.seq, was.Attempt
		if was.inFlight() {
			is.Node, is.End, is.Anew = was.Node, was.End, true
		}
	}
	is.Name, j.Seq = q.hash("id", string(j.ID)), is.seq
	raw, err := q.seal(jobs, q.rowKey(is.seq), j.About, is.jobRow, sealedJob(*j))
	if err != nil {
		return nil, err
	}
	if is.raw, err = decodeRow(raw); err != nil {
		return nil, err
	}
	q.woke = true // one that waits for its time, too: a worker's alarm may be later
	return is, q.move(was, is)
}

// find reads the plain part of the job of an ID. A damaged one is not there: its ID may be put again.
func (q *jobQueue) find(id store.JobID) (*storedJob, error) {
	key := q.at(idOf, q.hash("id", string(id)))
	raw := q.get(jobIndex, key)
	if raw == nil {
		return nil, store.ErrNotFound
	}
	seq, err := keyNumber(raw)
	if err != nil {
		return nil, store.ErrNotFound
	}
	j, err := q.read(seq)
	if err != nil {
		return nil, errors.Join(q.skipJob(seq, err), store.ErrNotFound)
	}
	return j, nil
}

// handOver leases a job that was just put, if it could be claimed and nobody's turn is before it; nil if not.
func (q *jobQueue) handOver(j *storedJob, c store.Claim) (*storedJob, error) {
	if j.inFlight() || !j.Due.IsZero() && j.Due.After(c.Now.Add(q.state.offset)) {
		return nil, nil
	}
	if head, seq := q.lineHead(j); j.Ordering != nil && (!head || seq != j.seq) {
		return nil, nil
	}
	o := q.owner(j.Owner)
	if full(o, j.Owner, c) {
		return nil, nil
	}
	for p := range j.Priority + 1 {
		prefix := q.at(turnOf, []byte{byte(p), readyTurn})
		if key, _ := q.first(jobIndex, engine.Prefix(prefix)); key != nil {
			return nil, nil
		}
	}
	return q.lease(j, c)
}

// full tells whether as many jobs of an owner are in flight as may be.
func full(o *jobOwner, owner []byte, c store.Claim) bool {
	return c.PerOwner > 0 && owner != nil && int(o.inFlight) >= c.PerOwner
}

// lease gives a job to a node.
func (q *jobQueue) lease(was *storedJob, c store.Claim) (*storedJob, error) {
	is := *was
	is.Attempt++
	is.Node, is.End = c.Node, c.Now.Add(q.state.offset).Add(c.Lease)
	return &is, q.move(was, &is)
}

// held reads the job of a claim; ErrConflict when that attempt does not hold it.
func (q *jobQueue) held(ref store.Ref) (*storedJob, error) {
	j, err := q.find(ref.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, store.ErrConflict
	}
	if err == nil && (!j.inFlight() || j.Attempt != ref.Attempt) {
		return nil, store.ErrConflict
	}
	return j, err
}

// end ends claims, all or none.
func (t *tx) end(refs []store.Ref, how func(*jobQueue, *storedJob) error) error {
	queues := t.jobQueues()
	found := make([]*storedJob, len(refs))
	seen := make(map[store.Ref]bool, len(refs))
	for i, ref := range refs {
		q, err := queues.of(ref.Queue)
		if err != nil {
			return err
		}
		if found[i], err = q.held(ref); err != nil {
			return err
		}
		if seen[ref] {
			return store.ErrConflict
		}
		seen[ref] = true
	}
	for i, ref := range refs {
		if err := how(queues.open[ref.Queue], found[i]); err != nil {
			return err
		}
	}
	return queues.flush()
}

func (t *tx) DoneJobs(refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Anew {
			return q.release(j, j.NotBefore, j.Due, 0)
		}
		return q.move(j, nil)
	})
}

func (t *tx) RetryJobs(notBefore time.Time, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Anew {
			return q.release(j, j.NotBefore, j.Due, 0)
		}
		return q.release(j, notBefore, q.dueAt(notBefore), j.Failures+1)
	})
}

func (t *tx) SnoozeJobs(notBefore time.Time, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Anew {
			return q.release(j, j.NotBefore, j.Due, 0)
		}
		return q.release(j, notBefore, q.dueAt(notBefore), j.Failures)
	})
}

// dueAt is a time of the clock in the queue's time; the zero time stays zero.
func (q *jobQueue) dueAt(at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(q.state.offset)
}

// release ends a lease: the job waits again.
func (q *jobQueue) release(was *storedJob, notBefore, due time.Time, failures int) error {
	is := *was
	is.Node, is.End, is.Anew = "", time.Time{}, false
	is.NotBefore, is.Due, is.Failures = notBefore, due, failures
	q.woke = true
	return q.move(was, &is)
}

func (t *tx) RenewJobs(until time.Time, refs ...store.Ref) (lost []store.Ref, _ error) {
	queues := t.jobQueues()
	for _, ref := range refs {
		q, err := queues.of(ref.Queue)
		if err != nil {
			return nil, err
		}
		was, err := q.held(ref)
		if errors.Is(err, store.ErrConflict) {
			lost = append(lost, ref)
			continue
		}
		if err != nil {
			return nil, err
		}
		is := *was
		is.End = q.dueAt(until)
		if err := q.move(was, &is); err != nil {
			return nil, err
		}
	}
	return lost, queues.flush()
}

func (t *tx) RemoveJobs(queue store.Queue, ids ...store.JobID) error {
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch j, err := q.find(id); {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		default:
			if err := q.move(j, nil); err != nil {
				return err
			}
		}
	}
	return q.flush()
}

func (t *tx) Job(queue store.Queue, id store.JobID) (store.Job, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return store.Job{}, err
	}
	j, err := q.find(id)
	if err != nil {
		return store.Job{}, err
	}
	return q.unsealJob(j)
}

func (t *tx) JobsOfKey(queue store.Queue, key string, limit int) ([]store.Job, error) {
	q, err := t.jobQueue(queue)
	if err != nil || key == "" {
		return nil, err
	}
	return q.listed(q.at(lineOfKey, q.hash("key", key)), limit)
}

func (t *tx) JobsOfOwner(queue store.Queue, owner string, limit int) ([]store.Job, error) {
	q, err := t.jobQueue(queue)
	if err != nil || owner == "" {
		return nil, err
	}
	return q.listed(q.at(allOfOwner, q.hash("owner", owner)), limit)
}

// listed reads the jobs whose numbers end the entries under a prefix.
func (q *jobQueue) listed(prefix []byte, limit int) ([]store.Job, error) {
	var out []store.Job
	for key := range q.scan(jobIndex, engine.Prefix(prefix)) {
		if len(out) >= limit {
			break
		}
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		j, err := q.read(seq)
		var job store.Job
		if err == nil {
			job, err = q.unsealJob(j)
		}
		switch {
		case err == nil:
			out = append(out, job)
		case !erased(err):
			if err := q.skipJob(seq, err); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (t *tx) CountJobs(queue store.Queue, owner string) (int, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return 0, err
	}
	return int(q.owner(q.hash("owner", owner)).count), nil
}

func (t *tx) JobStats(queue store.Queue) (store.JobStats, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return store.JobStats{}, err
	}
	stats := store.JobStats{Waiting: int(q.state.waiting), InFlight: int(q.state.inFlight), Dead: int(q.state.dead)}
	for key, raw := range q.scan(jobs, engine.Prefix(q.prefix)) {
		plain, _, err := plainOf[jobRow](t, jobs, key, raw)
		if err == nil {
			stats.Oldest = plain.At
			break
		}
		t.skipDamaged(jobs, slices.Clone(key), err)
	}
	return stats, nil
}
