package records

import (
	"bytes"
	"iter"
	"slices"

	"purser/store"
	"purser/store/engine"
)

// Reading jobs, and counting them.

// Job finds a job by its ID, waiting or in flight.
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

// JobsOfKey walks the entries of an ordering key, which lie in the order of handling. "" is no key: it has none.
func (t *tx) JobsOfKey(queue store.Queue, key string, limit int) ([]store.Job, error) {
	q, err := t.jobQueue(queue)
	if err != nil || key == "" {
		return nil, err
	}
	return q.listed(q.lineOf(q.hash(key)), limit)
}

// listed opens jobs by their numbers. It leaves out damaged ones and those about an erased person.
func (q *jobQueue) listed(numbers iter.Seq[uint64], limit int) ([]store.Job, error) {
	var out []store.Job
	for seq := range numbers {
		if len(out) >= limit {
			break
		}
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

// CountJobs reads the owner's counter: it counts only what is fresh.
func (t *tx) CountJobs(queue store.Queue, owner string) (int, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return 0, err
	}
	hash := q.hash(owner)
	n := int(q.owner(hash).count)
	q.eachFresh(func(j *storedJob) {
		if bytes.Equal(j.Owner, hash) {
			n++
		}
	})
	return n, nil
}

// CountInFlight reads the owner's counter, too.
func (t *tx) CountInFlight(queue store.Queue, owner string) (int, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return 0, err
	}
	return int(q.owner(q.hash(owner)).inFlight), nil
}

// JobStats reads the queue's counters. The oldest job is the first row that can be read.
func (t *tx) JobStats(queue store.Queue) (store.JobStats, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return store.JobStats{}, err
	}
	stats := store.JobStats{Waiting: int(q.state.waiting), InFlight: int(q.state.inFlight), Dead: int(q.state.dead)}
	for key, raw := range q.scan(jobs, engine.Prefix(q.at(rowOf))) {
		j, err := q.readRow(jobs, key, raw)
		if err == nil {
			stats.Oldest = j.At
			break
		}
		t.skipDamaged(jobs, slices.Clone(key), err)
	}
	return stats, nil
}
