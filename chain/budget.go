package chain

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// class says what a call to a node is for. Smaller ones go first when the budget of calls is short.
type class int

const (
	signedPayment class = iota // carries a signed payment: broadcast, status, search, finalized height
	forPerson                  // a person or a program waits for the answer
	inBackground               // nobody waits: payments of requests, the check of the cluster
	classes       int   = iota
)

// classKey marks the context of calls that are not forPerson.
type classKey struct{}

// withClass makes the calls with a context count as those of a class.
func withClass(ctx context.Context, c class) context.Context {
	return context.WithValue(ctx, classKey{}, c)
}

// withSignedTransaction is withClass for calls that carry signed payments.
func withSignedTransaction(ctx context.Context) context.Context { return withClass(ctx, signedPayment) }

// classOf is the class that a context was given; forPerson when it was given none.
func classOf(ctx context.Context) class {
	if c, ok := ctx.Value(classKey{}).(class); ok {
		return c
	}
	return forPerson
}

// oneInTurn is how often a call of a less urgent class goes although more urgent ones wait: of this many calls one,
// so that a lasting crowd of signed payments cannot keep everybody else out for good.
const oneInTurn = 10

// budget bounds the calls a second to one node, by a bucket that holds as many tokens as one second brings: an idle
// purser answers the first people at once. Who finds none waits: the most urgent class first, within a class in order
// of arrival. A nil budget has no bound.
//
// It measures real time (time.Now): the bound is the node's, whatever clock the rest of a test runs by.
type budget struct {
	bucket *rate.Limiter

	mu       sync.Mutex
	returned int // tokens of calls that left as their turn came
	waiting  [classes][]*turn
	passed   int // calls in a row that went before a less urgent one that waited
	armed    bool
}

// turn is one call that waits for a token. given is closed when it has one.
type turn struct {
	given chan struct{}
	since time.Time
}

// newBudget allows perSecond calls a second; nil, which allows any number, when it is 0.
func newBudget(perSecond int) *budget {
	if perSecond <= 0 {
		return nil
	}
	return &budget{bucket: rate.NewLimiter(rate.Limit(perSecond), perSecond)}
}

// take waits for the turn of one call of a class. Its error is that of ctx; the call then has used nothing up.
func (b *budget) take(ctx context.Context, c class) error {
	if b == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	mine := &turn{given: make(chan struct{}), since: time.Now()}
	b.waiting[c] = append(b.waiting[c], mine)
	b.serve()
	b.mu.Unlock()
	select {
	case <-mine.given:
		return nil
	case <-ctx.Done():
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.leave(c, mine) { // its turn came at the same moment: the token is somebody else's now
			b.returned = min(b.returned+1, b.bucket.Burst())
			b.serve()
		}
		return ctx.Err()
	}
}

// serve gives out the tokens there are, and sees to it that it is called again when the next one comes. b.mu is held.
func (b *budget) serve() {
	for b.crowd() {
		if wait := b.token(time.Now()); wait > 0 {
			b.serveAfter(wait)
			return
		}
		close(b.next().given)
	}
}

// serveAfter calls serve again, once for all who wait.
func (b *budget) serveAfter(wait time.Duration) {
	if b.armed {
		return
	}
	b.armed = true
	time.AfterFunc(wait, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.armed = false
		b.serve()
	})
}

// token takes a token, or tells how long the next one takes to come.
func (b *budget) token(now time.Time) time.Duration {
	if b.returned > 0 {
		b.returned--
		return 0
	}
	taken := b.bucket.ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

func (b *budget) crowd() bool {
	for _, line := range b.waiting {
		if len(line) > 0 {
			return true
		}
	}
	return false
}

// next takes whose turn it is out of those who wait; nil when nobody does.
func (b *budget) next() *turn {
	first, oldest := -1, -1 // the most urgent class with somebody in it, and of the others the one that waits longest
	for c := range b.waiting {
		switch {
		case len(b.waiting[c]) == 0:
		case first < 0:
			first = c
		case oldest < 0 || b.waiting[c][0].since.Before(b.waiting[oldest][0].since):
			oldest = c
		}
	}
	switch {
	case first < 0:
		return nil
	case oldest < 0:
		b.passed = 0
	case b.passed+1 >= oneInTurn:
		b.passed, first = 0, oldest
	default:
		b.passed++
	}
	line := b.waiting[first]
	b.waiting[first] = line[1:]
	return line[0]
}

// leave takes somebody out of a line; false when they stand in it no more.
func (b *budget) leave(c class, mine *turn) bool {
	for i, other := range b.waiting[c] {
		if other == mine {
			b.waiting[c] = append(b.waiting[c][:i:i], b.waiting[c][i+1:]...)
			return true
		}
	}
	return false
}
