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
	// lease is how long a webhook is a node's without a word from it.
	lease = time.Minute
	// handedMost is how many deliveries are handed to a session before they are left to be read from the store.
	handedMost = fullWindow
)

// sender is what the sessions of a node share while its service runs.
type sender struct {
	*Service
	pollEvery time.Duration // see Service.Poll
	pool      *work.Pool    // of sessions: the handler of a webhook's job is its session
	relays    *work.Pool    // of the one job that turns events into deliveries
	record    *recorder
	stopping  <-chan struct{} // closed when nothing new is to be begun
	slots     slots
	inMemory  atomic.Int64   // deliveries that sessions hold
	busy      sync.WaitGroup // attempts, and sessions of listeners

	places places

	mu   sync.RWMutex
	open map[wallet.WebhookID]*session
}

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

// handle is a webhook's session on this node.
func (s *sender) handle(ctx context.Context, job store.Job) (work.Result, error) {
	x := s.openSession(wallet.WebhookID(job.ID), &job, wallet.UserID(job.Owner))
	next := x.run(ctx)
	return work.Result{End: func(tx store.Tx, ref store.Ref) error { return x.end(tx, ref, next) }}, nil
}

// listen is the session of a listener whose connection this node holds, until ctx ends. It needs no job: its webhook goes
// with the connection.
func (s *sender) listen(ctx context.Context, id wallet.WebhookID) {
	s.openSession(id, nil, "").run(ctx) // its owner is known when its webhook is
}

// openSession makes a session and has deliveries handed to it. job is nil for a listener, whose owner is known later.
func (s *sender) openSession(id wallet.WebhookID, job *store.Job, owner wallet.UserID) *session {
	x := &session{sender: s, id: id, job: job, owner: owner, queue: newQueue(), asleep: map[*line]bool{}, begun: time.Now(), polled: time.Now(), confirmed: s.Now(),
		ended: make(chan attemptDone, width), inbox: inbox{wake: make(chan struct{}, 1)}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = x
	if job != nil {
		s.places.enter(owner)
	}
	return x
}

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

// session is the one of a webhook, nil where this node has none.
func (s *sender) session(id wallet.WebhookID) *session {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.open[id]
}

// hand passes deliveries that were just put on to the sessions of this node, in the order in which they were put.
func (s *sender) hand(rows []store.PlacedDelivery) {
	for _, row := range rows {
		x := s.session(row.Webhook)
		if x == nil {
			continue
		}
		x.inbox.leave(func(in *inbox) {
			if len(in.rows) < handedMost && !in.unread {
				in.rows = append(in.rows, row)
			} else {
				in.unread = true
			}
		})
	}
}

// hasAll reports whether this node has a session of each webhook of these deliveries.
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
