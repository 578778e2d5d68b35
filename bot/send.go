package bot

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"purser/chat"
	"purser/store"
)

const (
	maxSending = 32 // calls in flight
	page       = 256
)

// outgoing is what the sender remembers of a waiting reply. Its body stays in the store and is read
// when it goes out: a newer state may have taken its place meanwhile.
type outgoing struct {
	seq      uint64
	chat     int64
	priority int
	kind     chat.ReplyKind
	tries    int // failed ones, in this run
}

// lane is one chat's queue. Toasts have a lane of their own: they are not messages, Telegram does
// not pace them, and a spinning button must not wait behind a message that is paced.
type lane struct {
	name
	queue   []outgoing // in order of seq
	busy    bool
	opens   time.Time // not before: a retry, or what Telegram asked for
	flooded bool      // opens is what Telegram asked for
	meter   meter
}

type name struct {
	chat  int64
	toast bool
}

// sender sends the replies of the outbox. One goroutine (run) decides; deliveries run beside it,
// one a lane at a time, so the order in a chat is kept and chats do not wait for each other.
type sender struct {
	b     *Bot
	pace  Pace
	drain chan struct{} // closed: send what can go now, then end

	lanes   map[name]*lane
	all     meter
	opens   time.Time // not before, for everybody
	last    uint64    // the newest seq that was read
	sending int
	results chan result
	flights sync.WaitGroup
}

// result is how a delivery ended.
type result struct {
	lane  name
	again bool          // the same message once more
	wait  time.Duration // not before that, for the lane
	flood bool          // Telegram asked for the wait
}

func newSender(b *Bot) *sender {
	return &sender{
		b: b, pace: b.opt.Pace.orDefaults(), drain: make(chan struct{}),
		lanes: map[name]*lane{}, results: make(chan result, maxSending),
	}
}

// run sends until ctx ends, or after drain until nothing more can go at once.
func (s *sender) run(ctx context.Context) {
	defer s.flights.Wait()
	changed, drain := s.b.opt.Store.Changed(store.Outbox), s.drain
	draining, unread := false, true
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if unread {
			unread = !s.read(ctx)
		}
		next := s.start(ctx)
		if unread {
			next = earlier(next, s.b.now().Add(time.Second))
		}
		if draining && s.sending == 0 {
			return
		}
		timer.Stop()
		var due <-chan time.Time
		if !next.IsZero() {
			timer.Reset(max(next.Sub(s.b.now()), time.Millisecond))
			due = timer.C
		}
		select {
		case <-changed:
			unread = true
		case r := <-s.results:
			s.landed(r)
		case <-due:
		case <-drain:
			draining, unread, drain = true, true, nil
		case <-ctx.Done():
			return
		}
	}
}

// read takes new rows of the outbox into their lanes; false when the store failed.
func (s *sender) read(ctx context.Context) bool {
	for {
		var rows []store.Reply
		err := s.b.opt.Store.View(ctx, func(tx store.Tx) (err error) {
			rows, err = tx.Replies(s.last, page)
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				s.b.log.Error("the outbox could not be read; trying again", "error", err)
			}
			return false
		}
		for _, row := range rows {
			s.last = row.Seq
			s.enqueue(row)
		}
		if len(rows) < page {
			return true
		}
	}
}

func (s *sender) enqueue(row store.Reply) {
	var head struct {
		Kind chat.ReplyKind `json:"kind"`
	}
	_ = json.Unmarshal(row.Body, &head) // a body that is no reply is found out, and logged, when it is sent
	key := name{row.Chat, head.Kind == chat.Toast}
	l := s.lanes[key]
	if l == nil {
		l = &lane{name: key}
		s.lanes[key] = l
	}
	l.queue = append(l.queue, outgoing{seq: row.Seq, chat: row.Chat, priority: row.Priority, kind: head.Kind})
}

// start begins as many deliveries as may begin now and tells when the next may; zero when only a
// change or a result can bring one.
func (s *sender) start(ctx context.Context) time.Time {
	for s.sending < maxSending {
		now := s.b.now()
		best, next := s.choose(now)
		if best == nil {
			return next
		}
		p := best.queue[0]
		if p.paced() {
			best.meter.spend(s.rate(best), now)
			s.all.spend(s.pace.All, now)
		}
		best.busy = true
		s.sending++
		s.flights.Add(1)
		go func() {
			defer s.flights.Done()
			r := s.b.deliver(ctx, p)
			r.lane = best.name
			s.results <- r // never blocks: as many slots as flights
		}()
	}
	return time.Time{}
}

// choose finds the lane whose turn it is: the most urgent first, then the oldest. Without one, it
// tells when the first opens. It forgets lanes that have nothing to remember.
func (s *sender) choose(now time.Time) (best *lane, next time.Time) {
	for key, l := range s.lanes {
		switch {
		case l.busy:
			continue
		case len(l.queue) == 0:
			if l.meter.idle(now) && !l.opens.After(now) {
				delete(s.lanes, key)
			}
			continue
		}
		if opens := s.lanesTurn(l); opens.After(now) {
			next = earlier(next, opens)
			continue
		}
		if best == nil || l.before(best) {
			best = l
		}
	}
	return best, next
}

// lanesTurn is when the first message of l may go.
func (s *sender) lanesTurn(l *lane) time.Time {
	opens := later(l.opens, s.opens)
	if l.queue[0].paced() {
		opens = later(opens, later(l.meter.opens(s.rate(l)), s.all.opens(s.pace.All)))
	}
	return opens
}

func (s *sender) rate(l *lane) Rate {
	if l.chat < 0 {
		return s.pace.Group
	}
	return s.pace.Chat
}

// paced tells whether p counts against Telegram's limits for messages.
func (p outgoing) paced() bool { return p.kind != chat.Toast && p.kind != chat.Delete }

// before compares by the most urgent message of each lane (it waits for those in front of it), then
// by age.
func (l *lane) before(other *lane) bool {
	if mine, theirs := l.urgency(), other.urgency(); mine != theirs {
		return mine < theirs
	}
	return l.queue[0].seq < other.queue[0].seq
}

func (l *lane) urgency() int {
	if l.toast {
		return -1 // worthless after some seconds
	}
	most := l.queue[0].priority
	for _, p := range l.queue[1:] {
		most = min(most, p.priority)
	}
	return most
}

// landed takes the result of a delivery. When Telegram asks two chats at once to wait, it means
// the whole bot, and everybody waits.
func (s *sender) landed(r result) {
	s.sending--
	l := s.lanes[r.lane]
	l.busy = false
	now := s.b.now()
	switch {
	case !r.again:
		l.queue = l.queue[1:]
	case r.wait == 0: // a newer state of the same card
		l.queue[0].tries = 0
	default:
		l.queue[0].tries++
	}
	l.opens, l.flooded = now.Add(r.wait), r.flood
	if !r.flood {
		return
	}
	for _, other := range s.lanes {
		if other != l && other.flooded && other.opens.After(now) {
			s.opens = later(s.opens, l.opens)
			return
		}
	}
}

// earlier ignores zero times.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
