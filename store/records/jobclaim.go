package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/store/engine"
)

const (
	// laterPick is how often a claim considers less urgent priorities: one job in 8 may be less urgent although more
	// urgent ones wait, so that no priority starves.
	laterPick = 8
	// atOnce bounds, beyond Max, how many leases one claim ends and to how many owners it gives turns. So a claim
	// stays cheap after a node with many jobs died.
	atOnce = 64
)

// ClaimJobs leases up to c.Max jobs that are due. It takes five steps: end the leases that are over, give new jobs
// their entries, give a turn to
// owners whose jobs have become due, pick one job of each owner in turn, and compute when to claim again. A claim
// that takes nothing and changes nothing commits nothing.
func (t *tx) ClaimJobs(c store.Claim) (claimed []store.Job, next time.Time, err error) {
	q, err := t.jobQueue(c.Queue)
	if err != nil || c.Max <= 0 {
		return nil, time.Time{}, err
	}
	if len(c.Node) > maxID {
		return nil, time.Time{}, fmt.Errorf("store: a node's name has up to %d bytes, not %d", maxID, len(c.Node))
	}
	// All times below are in the queue's time (jobclock.go).
	now := q.setClock(c.Node, c.Now)
	if err := q.endLeases(now, c); err != nil {
		return nil, time.Time{}, err
	}
	if err := q.enterJobs(); err != nil {
		return nil, time.Time{}, err
	}
	if err := q.settle(); err != nil { // new jobs, and those whose leases just ended, may be claimed now
		return nil, time.Time{}, err
	}
	if err := q.promoteDue(now, c); err != nil {
		return nil, time.Time{}, err
	}
	p := picker{jobQueue: q, claim: c, now: now}
	if claimed, err = p.pick(); err != nil {
		return nil, time.Time{}, err
	}
	q.woke = false // this claim itself set it; next says when there is more
	if err := q.settle(); err != nil {
		return nil, time.Time{}, err
	}
	return claimed, q.nextDue(c.Now, now), nil
}

// endLeases ends leases whose time is over, up to c.Max + atOnce. Their jobs may be claimed at once, by newer
// attempts.
func (q *jobQueue) endLeases(now time.Time, c store.Claim) error {
	if !q.anyDue(q.key(leaseOf), now) {
		return nil
	}
	prefix := q.at(leaseOf)
	for _, e := range q.firstOf(jobs, prefix, c.Max+atOnce) {
		end, err := keyTime(e.key[len(prefix):])
		if err == nil && end.After(now) {
			return nil
		}
		if err := q.endLease(e, now); err != nil {
			return err
		}
	}
	return nil
}

// endLease ends one lease that its holder did not end: the node died, or was too slow. now is the queue's time. The
// attempt counts as an expired lease, and from the third in a row on the job waits before the next
// (store.ExpiredLeaseWait): it may be what kills the process. A damaged row ends by its lease entry alone, which
// repeats owner and key.
func (q *jobQueue) endLease(e entry, now time.Time) error {
	seq := binary.BigEndian.Uint64(e.key[len(e.key)-8:])
	j, err := q.read(seq)
	// The usual case: the row says that this is its lease.
	if err == nil && bytes.Equal(q.leaseKey(j), e.key) {
		if j.Replaced {
			return q.release(j, j.NotBefore, j.Due, 0, 0)
		}
		expiredLeases := j.ExpiredLeases + 1
		if wait := store.ExpiredLeaseWait(expiredLeases, seq); wait > 0 {
			due := now.Add(wait)
			return q.release(j, due.Add(-q.offsetOf(j.Node)), due, j.Failures, expiredLeases)
		}
		return q.release(j, j.NotBefore, time.Time{}, j.Failures, expiredLeases)
	}
	if err == nil { // the job has another lease: only this entry is wrong
		return q.delete(jobs, e.key)
	}
	// The row is damaged: remove the entries that lead to it, and let the next job of its key go on.
	if err := errors.Join(q.skipJob(seq, err), q.delete(jobs, e.key)); err != nil || len(e.value) < 2*hashSize {
		return err
	}
	owner, line := e.value[:hashSize], e.value[hashSize:2*hashSize]
	q.state.inFlight, q.state.dirty = less(q.state.inFlight), true
	o := q.owner(owner)
	o.count = less(o.count)
	q.landed(o)
	if bytes.Equal(line, nobody[:]) {
		return nil
	}
	if err := q.delist(line, 0, seq); err != nil {
		return err
	}
	return q.raiseHead(line, nil)
}

// promoteDue turns alarms into turns: an owner whose first head of a priority has become due gets a place behind the
// owners whose turn it is.
func (q *jobQueue) promoteDue(now time.Time, c store.Claim) error {
	for priority := range store.Priorities {
		if !q.anyDue(q.turnPrefix(priority, laterTurn), now) {
			continue
		}
		prefix := bytes.Clone(q.turnPrefix(priority, laterTurn))
		for _, e := range q.firstOf(jobs, prefix, c.Max+atOnce) {
			rest := e.key[len(prefix):]
			at, err := keyTime(rest)
			if err == nil && at.After(now) {
				break
			}
			// A damaged entry.
			if err != nil || len(rest) != timeSize+hashSize {
				if err := q.delete(jobs, e.key); err != nil {
					return err
				}
				continue
			}
			o := q.owner(rest[timeSize:])
			if o.turns[priority] != readTurn(e.key[len(prefix)-1:len(prefix)+timeSize]) { // a stale entry: the owner has another turn
				if err := q.delete(jobs, e.key); err != nil {
					return err
				}
				continue
			}
			if err := q.giveTurn(o, priority); err != nil {
				return err
			}
		}
	}
	return nil
}

// anyDue tells whether the first entry under a prefix, behind which a time follows, is due or damaged. In most claims it
// is neither, and then nothing is copied.
func (q *jobQueue) anyDue(prefix []byte, now time.Time) bool {
	key, _ := q.firstUnder(jobs, prefix)
	if key == nil {
		return false
	}
	at, err := keyTime(key[len(prefix):])
	return err != nil || !at.After(now)
}

// giveTurn puts an owner behind all others whose turn it is.
func (q *jobQueue) giveTurn(o *jobOwner, priority int) error {
	q.state.turns, q.state.dirty = q.state.turns+1, true
	return q.setTurn(o, priority, ready(q.state.turns))
}

// nextDue returns when there may be something to claim again, by the claiming node's clock: wall itself if more is
// ready now, else the first alarm or end of a lease, or the zero time if there is neither. now is the queue's time.
func (q *jobQueue) nextDue(wall, now time.Time) time.Time {
	if q.state.fresh != 0 {
		return wall
	}
	var next time.Time
	sooner := func(prefix []byte) {
		key, _ := q.firstUnder(jobs, prefix)
		if key == nil {
			return
		}
		if at, err := keyTime(key[len(prefix):]); err == nil && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for priority := range store.Priorities {
		if q.anyReady(priority) {
			return wall
		}
		sooner(q.turnPrefix(priority, laterTurn))
	}
	sooner(q.key(leaseOf))
	if next.IsZero() {
		return next
	}
	if next.Before(now) {
		return wall
	}
	return wall.Add(next.Sub(now))
}

// anyReady tells whether any owner has a turn of a priority.
func (q *jobQueue) anyReady(priority int) bool {
	key, _ := q.firstUnder(jobs, q.turnPrefix(priority, readyTurn))
	return key != nil
}

// picker takes the jobs of one claim: one of each owner whose turn it is, then a second one of those who have more.
type picker struct {
	*jobQueue
	claim store.Claim
	now   time.Time // in the queue's time

	lines   [store.Priorities]turnLine
	claimed []store.Job
}

// turnLine is the part of a priority's turns that this claim has read: the owners in the order in which they will be
// visited. Those who were served stand behind those who were not.
type turnLine struct {
	owners []*jobOwner
	served map[*jobOwner]bool // a job of theirs was taken, or they were put back; nil until the first
	behind []byte             // key of the last turn that was read: the next read begins after it
	all    bool               // every turn was read
}

// serve notes that the owner at the front was served, and puts them behind the others.
func (l *turnLine) serve() {
	if l.served == nil {
		l.served = map[*jobOwner]bool{}
	}
	o := l.owners[0]
	l.served[o] = true
	l.owners = append(l.owners[1:], o)
}

// pick visits owners until it has Max jobs or nothing is ready. At the end the owners who were served get new turns,
// behind those who were not.
func (p *picker) pick() ([]store.Job, error) {
	// Visits are bounded: an owner whose head has gone costs one visit and yields nothing.
	for visits := 4*p.claim.Max + atOnce; len(p.claimed) < p.claim.Max && visits > 0; visits-- {
		priority, found := p.choose()
		if !found {
			break
		}
		if err := p.visit(priority); err != nil {
			return nil, err
		}
	}
	for priority := range p.lines { // owners who were served go behind those who were not
		for _, o := range p.lines[priority].owners {
			if !p.lines[priority].served[o] {
				continue
			}
			if err := errors.Join(p.dropTurn(o, priority), p.retarget(o, priority)); err != nil {
				return nil, err
			}
		}
	}
	return p.claimed, nil
}

// choose returns the priority of the next job: the most urgent one that has a turn. Every 8th time (laterPick)
// another one may go first, and the search begins with each priority in rotation.
func (p *picker) choose() (priority int, found bool) {
	if p.state.picks%laterPick == laterPick-1 {
		start := int(p.state.picks/laterPick) % store.Priorities
		for i := range store.Priorities {
			priority := (start + i) % store.Priorities
			if p.frontOfOthers(priority) {
				return priority, true
			}
		}
	}
	for priority := range store.Priorities {
		if p.front(priority) != nil {
			return priority, true
		}
	}
	return 0, false
}

// frontOfOthers looks among the first few turns of a priority for an owner without more urgent work, and brings that
// owner to the front: an owner's less urgent job must not overtake their own urgent one. False: there is none among
// them.
func (p *picker) frontOfOthers(priority int) bool {
	for range laterPick {
		o := p.front(priority)
		if o == nil {
			return false
		}
		if !p.waitsEarlier(o, priority) {
			return true
		}
		p.lines[priority].serve()
	}
	return false
}

// waitsEarlier tells whether an owner has a turn of a more urgent priority.
func (p *picker) waitsEarlier(o *jobOwner, priority int) bool {
	for _, turn := range o.turns[:priority] {
		if turn.isReady() {
			return true
		}
	}
	return false
}

// front returns the owner whose turn it is in a priority, nil if there is none. It reads more turns once it has
// served all that it has read.
func (p *picker) front(priority int) *jobOwner {
	line := &p.lines[priority]
	for !line.all && (len(line.owners) == 0 || line.served[line.owners[0]]) {
		p.readTurns(priority)
	}
	if len(line.owners) == 0 {
		return nil
	}
	return line.owners[0]
}

// readTurns reads more turns of a priority, as many as the claim may still need, and puts these owners before those who
// were served.
func (p *picker) readTurns(priority int) {
	line := &p.lines[priority]
	if !p.anyReady(priority) { // most claims find most priorities empty
		line.all = true
		return
	}
	prefix := bytes.Clone(p.turnPrefix(priority, readyTurn))
	r := engine.Prefix(prefix)
	if line.behind != nil {
		r.From = append(line.behind, 0)
	}
	most := p.claim.Max - len(p.claimed) + 1
	var fresh []*jobOwner
	for key := range p.scan(jobs, r) {
		if len(fresh) >= most {
			break
		}
		line.behind = bytes.Clone(key)
		if len(key) != len(prefix)+8+hashSize {
			continue
		}
		o := p.owner(key[len(key)-hashSize:])
		if is := readTurn(key[len(prefix)-1 : len(prefix)+8]); o.turns[priority] != is {
			o.turns[priority] = is // the owner's entry was damaged: the turn in the index is right
			p.changes(o)
		}
		fresh = append(fresh, o)
	}
	line.all = len(fresh) < most
	line.owners = append(fresh, line.owners...)
}

// visit takes one job of the owner at the front, and puts the owner behind the others. An owner at Claim.PerOwner
// loses the turn, and gets a new one when one of their jobs ends (landed). An owner whose head has gone gets the turn
// that their next head asks for.
func (p *picker) visit(priority int) error {
	line := &p.lines[priority]
	o := line.owners[0]
	// At the limit: no turn until a job of theirs ends.
	if o.isFull(p.claim) {
		line.owners = line.owners[1:]
		o.full[priority] = true
		p.changes(o)
		return p.dropTurn(o, priority)
	}
	e, found := p.dueHead(o, priority)
	if !found {
		line.owners = line.owners[1:]
		return errors.Join(p.dropTurn(o, priority), p.retarget(o, priority))
	}
	line.serve()
	return p.take(o, priority, e)
}

// dueHead finds the head that an owner's turn is for. It compares the first head that may go at once with the first
// whose time has come, and takes the one that was put earlier.
func (p *picker) dueHead(o *jobOwner, priority int) (e entry, found bool) {
	prefix := p.at(headOf, o.hash[:], []byte{byte(priority)})
	consider := func(key, value []byte) {
		if key == nil || headDue(key[len(prefix):]).After(p.now) {
			return
		}
		if !found || bytes.Compare(key[len(key)-8:], e.key[len(e.key)-8:]) < 0 {
			e, found = entry{bytes.Clone(key), bytes.Clone(value)}, true
		}
	}
	r := engine.Prefix(prefix)
	// The first head is one that may go at once, if there is any: its key has a zero time.
	key, value := p.first(jobs, r)
	consider(key, value)
	if found && headDue(key[len(prefix):]).IsZero() { // then look at the first that waited for a time
		r.From = append(bytes.Clone(prefix), 1)
		consider(p.first(jobs, r))
	}
	return e, found
}

// take leases the job of a head. If the row is damaged, or does not belong to the entry, take repairs the index and
// claims nothing; the bound on visits ends such repairs.
func (p *picker) take(o *jobOwner, priority int, e entry) error {
	seq := binary.BigEndian.Uint64(e.key[len(e.key)-8:])
	j, err := p.read(seq)
	var job store.Job
	if err == nil {
		job, err = p.unsealJob(j)
	}
	switch {
	case err == nil && bytes.Equal(p.headKey(j), e.key):
	case err == nil: // the entry leads to a job that has another head entry
		return p.delete(jobs, e.key)
	case j != nil && erased(err): // the person was erased: what is left of the job goes too
		return p.move(j, nil)
	default:
		return p.passHead(o, seq, e, err)
	}
	// The entry and the row agree: lease the job.
	is, err := p.lease(j, p.claim)
	if err != nil {
		return err
	}
	job.Attempt = is.Attempt
	p.claimed = append(p.claimed, job)
	p.state.picks, p.state.dirty = p.state.picks+1, true
	return nil
}

// passHead removes the index entries of a damaged job, so that neither its key nor its owner waits for it. The row
// stays.
func (p *picker) passHead(o *jobOwner, seq uint64, e entry, why error) error {
	if err := errors.Join(p.skipJob(seq, why), p.delete(jobs, e.key)); err != nil {
		return err
	}
	o.count = less(o.count)
	p.changes(o)
	p.state.waiting, p.state.dirty = less(p.state.waiting), true
	// A job without a key has no line.
	if len(e.value) != hashSize {
		return nil
	}
	if first := p.firstOfLine(e.value); first.found && first.seq == seq {
		if err := p.delist(e.value, first.class, seq); err != nil {
			return err
		}
	}
	return p.raiseHead(e.value, nil)
}
