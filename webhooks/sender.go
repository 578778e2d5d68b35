package webhooks

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

const (
	// lease is how long a webhook's job stays with a node that does not renew it. After that another node may send.
	lease = time.Minute
	// handedMost bounds the deliveries in a session's inbox. Beyond it the session reads them from the store.
	handedMost = fullWindow
)

// sender is what all sessions of a node share while the service runs: its two pools of jobs, the recorder, and the slots that
// bound attempts. mu guards open. The other fields are set by newSender, and each guards itself.
type sender struct {
	*Service
	pollEvery time.Duration // see Service.Poll
	pool      *work.Pool    // of sessions: the handler of a webhook's job is its session
	relays    *work.Pool    // of the one job that turns events into deliveries
	record    *recorder
	stopping  <-chan struct{} // closed when no new attempt may begin
	slots     slots
	inMemory  atomic.Int64   // deliveries in memory, of all sessions
	busy      sync.WaitGroup // attempts, and sessions of listeners

	places places

	mu   sync.RWMutex
	open map[wallet.WebhookID]*session
}

// newSender returns a sender that runs nothing yet. stopping is closed when the service begins to stop.
func newSender(s *Service, stopping <-chan struct{}) *sender {
	x := &sender{Service: s, stopping: stopping, pollEvery: cmp.Or(s.Poll, time.Second), slots: slots{owners: map[wallet.UserID]*ownerSlots{}},
		open: map[wallet.WebhookID]*session{}, places: places{store: s.Store, log: s.Logger, owners: map[wallet.UserID]*crowd{}}}
	x.record = newRecorder(x)
	x.pool = &work.Pool{Store: s.Store, Queue: store.Deliveries, Node: s.Node, Width: sessionsAtOnce, Window: 1, PerOwner: sessionsOfOwner, Lease: lease,
		Schedule: work.Schedule{First: readAgain, Most: time.Minute}, Handle: x.handle, Grace: drainFor, Poll: x.pollEvery, Now: s.Now, Log: s.Logger}
	x.relays = &work.Pool{Store: s.Store, Queue: store.Relay, Node: s.Node, Width: 1, Lease: lease,
		Schedule: work.Schedule{First: readAgain, Most: time.Minute}, Handle: x.relay, Grace: drainFor, Poll: x.pollEvery, Now: s.Now, Log: s.Logger}
	return x
}

// handle runs the session of a webhook whose job this node has claimed. It returns when the session ends. The session's end
// and the job's end are one Update.
func (s *sender) handle(ctx context.Context, job store.Job) (work.Result, error) {
	// The job's ID is that of the webhook, and its owner that of the webhook's key.
	x := s.openSession(wallet.WebhookID(job.ID), &job, wallet.UserID(job.Owner))
	next := x.run(ctx)
	return work.Result{End: func(tx store.Tx, ref store.Ref) error { return x.end(tx, ref, next) }}, nil
}

// listen runs the session of a listener whose connection this node holds, until ctx ends. A listener has no job, because its
// webhook exists only as long as the connection, so no other node can serve it.
func (s *sender) listen(ctx context.Context, id wallet.WebhookID) {
	s.openSession(id, nil, "").run(ctx) // its owner is known when its webhook is
}

// openSession makes a session and registers it, so that hand finds it. job is nil for a listener, whose owner is read from
// its webhook later. The caller runs the session, which removes itself at its end (forget).
func (s *sender) openSession(id wallet.WebhookID, job *store.Job, owner wallet.UserID) *session {
	x := &session{sender: s, id: id, job: job, owner: owner, queue: newQueue(), asleep: map[*orderedDeliveries]bool{}, begun: time.Now(), polled: time.Now(), confirmed: s.Now(),
		ended: make(chan attemptDone, width), inbox: inbox{wake: make(chan struct{}, 1)}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = x
	if job != nil {
		s.places.enter(owner)
	}
	return x
}

// forget removes a session that has ended. A newer session of the same webhook stays.
func (s *sender) forget(x *session) {
	if x.job != nil {
		s.places.leave(x.owner, x.givesWay)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[x.id] == x {
		delete(s.open, x.id)
	}
}

// session returns this node's session of a webhook, or nil.
func (s *sender) session(id wallet.WebhookID) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.open[id]
}

// hand passes newly stored deliveries to the sessions of this node, in the order in which they were stored, which saves the
// sessions a read. After a delivery that found its inbox full, the session reads from the store, so that order is kept. The
// caller must have committed the deliveries. Those of webhooks without a session here wait in the store.
func (s *sender) hand(rows []store.PlacedDelivery) {
	for _, row := range rows {
		x := s.session(row.Webhook)
		if x == nil {
			continue
		}
		x.inbox.put(func(in *inbox) {
			if len(in.rows) < handedMost && !in.unread {
				in.rows = append(in.rows, row)
			} else {
				in.unread = true
			}
		})
	}
}

// hasAll reports whether this node has a session for the webhook of every delivery in rows.
func (s *sender) hasAll(rows []store.Delivery) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, row := range rows {
		if s.open[row.Webhook] == nil {
			return false
		}
	}
	return true
}
