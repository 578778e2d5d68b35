package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"purser/store/engine"
)

// How the jobs of an ordering key are listed. An entry of the index stands for a run: up to runSize jobs of one class, by
// their numbers. Its key has the number of the first, its value those of the others. So many jobs that wait for one
// person lie on one page: without runs, each of them would change a page of its own, since the keys of 1,000 people are
// spread over the whole table. A job in flight (class 0) is a run by itself.

// runSize is the most jobs in one entry.
const runSize = 64

// lineKey is the entry of a run that begins with a job. The class comes before the number, so the one in flight sorts
// first, then the most urgent, then the oldest.
func (q *jobQueue) lineKey(line []byte, class byte, first uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(q.key(lineOfKey), line...), class), first)
}

// run is one entry of a line: the numbers of its jobs, ascending.
type run []uint64

// decodeRun reads an entry: the number in its key, and in its value the differences to the number before each, as
// uvarints. What is damaged in the value ends the run: those jobs are lost to the index, but none is invented.
func decodeRun(first uint64, value []byte) run {
	numbers := make(run, 1, 1+len(value))
	numbers[0] = first
	for len(value) > 0 && len(numbers) < runSize {
		more, size := binary.Uvarint(value)
		last := numbers[len(numbers)-1]
		if size <= 0 || more == 0 || last+more < last {
			break
		}
		numbers, value = append(numbers, last+more), value[size:]
	}
	return numbers
}

// encode writes the value of an entry; nil for a run of one.
func (r run) encode() []byte {
	if len(r) == 1 {
		return nil
	}
	out := make([]byte, 0, 2*len(r))
	for i := 1; i < len(r); i++ {
		out = binary.AppendUvarint(out, r[i]-r[i-1])
	}
	return out
}

// putRun writes a run under the key of its first job. An empty one writes nothing.
func (q *jobQueue) putRun(line []byte, class byte, r run) error {
	if len(r) == 0 {
		return nil
	}
	return q.put(jobs, q.lineKey(line, class, r[0]), r.encode())
}

// runAt returns the run that a job is in, or, if it is in none, the last one that begins before it; nil without one.
func (q *jobQueue) runAt(line []byte, class byte, seq uint64) run {
	exact := q.lineKey(line, class, seq)
	if key, value := q.firstUnder(jobs, exact); bytes.Equal(key, exact) { // most often it is the first of its run
		return decodeRun(seq, value)
	}
	of := append(append(append(make([]byte, 0, len(q.prefix)+2+hashSize), q.key(lineOfKey)...), line...), class)
	before := binary.BigEndian.AppendUint64(slices.Clone(of), seq)
	key, value := q.first(jobs, engine.Range{From: of, Before: before, Backward: true})
	if len(key) != len(before) {
		return nil
	}
	return decodeRun(binary.BigEndian.Uint64(key[len(of):]), value)
}

// enlist adds a job to the line of its key. alone says that the line is known to be empty.
func (q *jobQueue) enlist(line []byte, class byte, seq uint64, alone bool) error {
	if alone || class == 0 {
		return q.putRun(line, class, run{seq})
	}
	r := q.runAt(line, class, seq)
	at, found := slices.BinarySearch(r, seq)
	switch {
	case found:
		return nil
	case len(r) == 0 || at == len(r) && len(r) >= runSize:
		return q.putRun(line, class, run{seq})
	case len(r) < runSize:
		return q.putRun(line, class, slices.Insert(r, at, seq))
	}
	// It belongs into a full run: a run of its own and the rest follow the first part.
	rest := append(run{seq}, r[at:]...)
	return errors.Join(q.putRun(line, class, r[:at]), q.putRun(line, class, rest))
}

// delist removes a job from the line of its key. It does nothing for one that is not listed.
func (q *jobQueue) delist(line []byte, class byte, seq uint64) error {
	if class == 0 {
		return q.delete(jobs, q.lineKey(line, class, seq))
	}
	r := q.runAt(line, class, seq)
	at, found := slices.BinarySearch(r, seq)
	if !found {
		return nil
	}
	first := r[0]
	r = slices.Delete(r, at, at+1)
	if at == 0 {
		if err := q.delete(jobs, q.lineKey(line, class, first)); err != nil {
			return err
		}
	}
	return q.putRun(line, class, r)
}

// lineOf walks the numbers of the jobs of an ordering key, in the order of handling. Fresh jobs have their place among them.
func (q *jobQueue) lineOf(line []byte) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var all []firstJob // only if there are fresh jobs
		q.eachFresh(func(j *storedJob) {
			if bytes.Equal(j.Ordering, line) {
				all = append(all, firstJob{j.class(), j.seq, true})
			}
		})
		fresh := len(all) > 0
		for class, seq := range q.enlisted(line) {
			if fresh {
				all = append(all, firstJob{class, seq, true})
			} else if !yield(seq) {
				return
			}
		}
		slices.SortFunc(all, func(a, b firstJob) int { return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.seq, b.seq)) })
		for _, j := range all {
			if !yield(j.seq) {
				return
			}
		}
	}
}

// enlisted walks what the index has of an ordering key: class and number of each job.
func (q *jobQueue) enlisted(line []byte) iter.Seq2[byte, uint64] {
	prefix := q.at(lineOfKey, line)
	return func(yield func(byte, uint64) bool) {
		for key, value := range q.scan(jobs, engine.Prefix(prefix)) {
			if len(key) != len(prefix)+9 { // the entry of the owner of that name
				continue
			}
			for _, seq := range decodeRun(binary.BigEndian.Uint64(key[len(prefix)+1:]), value) {
				if !yield(key[len(prefix)], seq) {
					return
				}
			}
		}
	}
}
