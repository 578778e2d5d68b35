package chain

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// class says what a call to a node is for. Smaller classes go first when the budget of calls is short.
type class int

const (
	signedPayment class = iota // about a signed payment: broadcast, status, search, finalized height
	forPerson                  // a person or a program waits for the answer
	forList                    // somebody waits, but for a history: its many calls must not delay a payment that is being prepared
	inBackground               // nobody waits: payments of requests, sweeps of balances, the check of the cluster
	classes       int   = iota
)

// classKey is the context key of a call's class.
type classKey struct{}

// withClass marks a context: calls with it are of this class.
func withClass(ctx context.Context, c class) context.Context {
	return context.WithValue(ctx, classKey{}, c)
}

// withSignedTransaction marks calls about signed payments.
func withSignedTransaction(ctx context.Context) context.Context { return withClass(ctx, signedPayment) }

// forHistory marks calls that read a history, unless they are marked as less urgent already.
func forHistory(ctx context.Context) context.Context {
	return withClass(ctx, max(classOf(ctx), forList))
}

// classOf is the class of a context; forPerson if it is not marked.
func classOf(ctx context.Context) class {
	if c, ok := ctx.Value(classKey{}).(class); ok {
		return c
	}
	return forPerson
}

// oneInTurn says that one call in 10 is of a less urgent class even if more urgent ones wait. So a long crowd of signed
// payments cannot keep everybody else out.
const oneInTurn = 10

// budget bounds the calls a second to one node. Its bucket holds as many tokens as one second brings, so after a quiet
// time the first callers go at once. A caller without a token waits: the most urgent class first, within a class in
// order of arrival. A nil budget has no bound. Any number of goroutines may use it.
//
// It measures real time (time.Now), even in tests with another clock: the node's own limit is in real time.
type budget struct {
	bucket *rate.Limiter

	mu       sync.Mutex       // guards what follows
	returned int              // tokens of callers that gave up just as their turn came
	waiting  [classes][]*turn // in order of arrival
	passed   int              // calls in a row that went before a waiting less urgent one
	armed    bool             // a timer will call serve
}

// turn is one call that waits for a token. given is closed when it gets one.
type turn struct {
	given chan struct{}
	since time.Time
}

// newBudget allows perSecond calls a second; 0 makes a nil budget, which allows any number.
func newBudget(perSecond int) *budget {
	if perSecond <= 0 {
		return nil
	}
	return &budget{bucket: rate.NewLimiter(rate.Limit(perSecond), perSecond)}
}

// take waits for a token for one call. It returns an error only if ctx ends, and then has used no token.
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

// serve gives out the tokens that there are, and sets a timer for the next one if anybody still waits. b.mu is held.
func (b *budget) serve() {
	for b.crowd() {
		if wait := b.token(time.Now()); wait > 0 {
			b.serveAfter(wait)
			return
		}
		close(b.next().given)
	}
}

// serveAfter sets the timer, unless it is set.
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

// token takes a token and returns 0, or takes none and returns how long the next one takes to come.
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

// crowd tells whether any call waits.
func (b *budget) crowd() bool {
	for _, line := range b.waiting {
		if len(line) > 0 {
			return true
		}
	}
	return false
}

// next removes and returns the call whose turn it is; nil if none waits.
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

// leave removes a call that gave up; false if it has its token already.
func (b *budget) leave(c class, mine *turn) bool {
	for i, other := range b.waiting[c] {
		if other == mine {
			b.waiting[c] = append(b.waiting[c][:i:i], b.waiting[c][i+1:]...)
			return true
		}
	}
	return false
}
