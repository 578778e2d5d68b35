package bot

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// patienceOf is the head start of a priority: a message counts as having come that much later for each step that its
// priority is below the highest. So answers overtake notices and messages of apps, but only those of the last seconds,
// and nothing waits for ever behind a stream of answers.
const patienceOf = 10 * time.Second

// forgetAbove is how many chats the pacer remembers before it looks for those that it may forget.
const forgetAbove = 1024

// pacer decides which message is sent next, so that Telegram's limits hold for all messages together and for each chat. It
// knows only the messages that ask for their turn now, one of each chat. All others wait in the store. Any goroutine may
// use it.
//
// A message whose chat has to wait is sent back (see turn). The caller puts it back into its queue until then, so that a
// more urgent message of that chat, or a newer state of the same card, can take its place.
type pacer struct {
	pace Pace
	now  func() time.Time

	mu       sync.Mutex // guards what follows
	chats    map[int64]*chatPace
	forgetAt int // chats are looked through for idle ones when there are this many
	all      meter
	opens    time.Time // not before, for everybody: what Telegram asked for
	flood    struct {  // the chat that must wait longest, by Telegram's word
		chat  int64
		until time.Time
	}
	waiting  tickets
	timer    *time.Timer // nil: nobody waits for a time
	draining bool
}

// chatPace is what the pacer remembers of a chat.
type chatPace struct {
	meter meter
	opens time.Time // not before: what Telegram asked for
}

// ticket is one message that waits for its turn.
type ticket struct {
	due    time.Time // its place: when it came, later for later priorities
	seq    uint64    // of those with the same place the smaller one goes first
	at     int       // in the heap
	called chan bool // true: its turn; false: not while this process lives
}

func newPacer(pace Pace, now func() time.Time) *pacer {
	return &pacer{pace: pace.orDefaults(), now: now, chats: map[int64]*chatPace{}, forgetAt: forgetAbove}
}

// turn waits until a message to a chat may be sent, and counts it. seq orders messages that come at the same time. ok is
// false, and the message must not be sent, if the chat itself has to wait (turn does not wait for that: opens says when it
// ends), if the pacer drains, or if ctx ends. In the last two cases opens is now.
func (p *pacer) turn(ctx context.Context, chat int64, priority int, seq uint64) (opens time.Time, ok bool) {
	p.mu.Lock()
	now := p.now()
	if opens := p.chatOpens(chat); opens.After(now) {
		p.mu.Unlock()
		return opens, false
	}
	t := &ticket{due: now.Add(time.Duration(priority) * patienceOf), seq: seq, called: make(chan bool, 1)}
	// The chat's share is counted at once, so that a second message of the chat (another queue of it) sees it.
	p.chat(chat).meter.spend(p.rate(chat), now)
	heap.Push(&p.waiting, t)
	p.call()
	p.mu.Unlock()
	select {
	case ok = <-t.called:
	case <-ctx.Done():
		ok = p.withdraw(t)
	}
	if !ok {
		p.refund(chat)
	}
	return p.now(), ok
}

// withdraw removes a message from those that wait. It returns true if its turn came meanwhile.
func (p *pacer) withdraw(t *ticket) (called bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.at < 0 {
		return <-t.called
	}
	heap.Remove(&p.waiting, t.at)
	return false
}

// refund takes back what was counted for a message of a chat that was not sent.
func (p *pacer) refund(chat int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.chats[chat]; c != nil {
		c.meter.refund(p.rate(chat))
	}
}

// call gives a turn to every message that may be sent now, and sets the timer for the next one. p.mu is held.
func (p *pacer) call() {
	now := p.now()
	for len(p.waiting) > 0 {
		opens := later(p.opens, p.all.opens(p.pace.All))
		if !p.draining && opens.After(now) {
			p.wake(opens.Sub(now))
			return
		}
		t := heap.Pop(&p.waiting).(*ticket)
		if p.draining && opens.After(now) {
			t.called <- false
			continue
		}
		p.all.spend(p.pace.All, now)
		t.called <- true
	}
}

// wake has call run after a time; p.mu is held.
func (p *pacer) wake(after time.Duration) {
	after = max(after, time.Millisecond)
	if p.timer != nil {
		p.timer.Reset(after)
		return
	}
	p.timer = time.AfterFunc(after, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.call()
	})
}

// flooded notes that Telegram asked a chat to wait. When it asks two chats at once, it means the whole bot, and
// everybody waits. It returns until when the chat waits.
func (p *pacer) flooded(chat int64, wait time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	until := now.Add(wait)
	if p.flood.chat != chat && p.flood.until.After(now) {
		p.opens = later(p.opens, until)
	}
	if until.After(p.flood.until) {
		p.flood.chat, p.flood.until = chat, until
	}
	c := p.chat(chat)
	c.opens = later(c.opens, until)
	return until
}

// unpaced is when something may go that is no message and does not count: only what Telegram asked for holds it up.
func (p *pacer) unpaced(chat int64) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	opens := p.opens
	if c := p.chats[chat]; c != nil {
		opens = later(opens, c.opens)
	}
	return opens
}

// drain lets those go that may go now, and sends all others back, from now on: or, with false, no more.
func (p *pacer) drain(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draining = yes
	p.call()
}

// chatOpens is when the next message of a chat may go; p.mu is held.
func (p *pacer) chatOpens(chat int64) time.Time {
	c := p.chats[chat]
	if c == nil {
		return time.Time{}
	}
	return later(c.opens, c.meter.opens(p.rate(chat)))
}

// chat is what is remembered of a chat; p.mu is held. It forgets idle chats now and then: what that costs is spread over
// the chats that came since the last time.
func (p *pacer) chat(id int64) *chatPace {
	c := p.chats[id]
	if c != nil {
		return c
	}
	if len(p.chats) >= p.forgetAt {
		now := p.now()
		for id, c := range p.chats {
			if c.meter.idle(now) && !c.opens.After(now) {
				delete(p.chats, id)
			}
		}
		p.forgetAt = max(forgetAbove, 2*len(p.chats))
	}
	c = &chatPace{}
	p.chats[id] = c
	return c
}

func (p *pacer) rate(chat int64) Rate {
	if chat < 0 {
		return p.pace.Group
	}
	return p.pace.Chat
}

// tickets is a heap of messages that wait, the next first.
type tickets []*ticket

func (h tickets) Len() int { return len(h) }
func (h tickets) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].seq < h[j].seq
	}
	return h[i].due.Before(h[j].due)
}
func (h tickets) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}
func (h *tickets) Push(x any) {
	t := x.(*ticket)
	t.at = len(*h)
	*h = append(*h, t)
}
func (h *tickets) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.at = -1
	return t
}
