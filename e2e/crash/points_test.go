package crash

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// point is one exact moment at which the process ends: at the nth call of a method, before it took
// effect in the world, or after that and before purser heard the answer.
type point struct {
	side   string // "solana" or "telegram"
	method string
	nth    int // counted from Alice's /send on
	after  bool
}

func (p point) String() string {
	when := "before"
	if p.after {
		when = "after"
	}
	return fmt.Sprintf("%s the %s %d", when, p.method, p.nth)
}

// points is the table: every call to the world on the way of a payment, both sides of it.
func points() []point {
	var all []point
	for _, call := range []struct {
		side, method string
		times        int
	}{
		{"telegram", "getUpdates", 2},          // the updates of /send and Confirm
		{"solana", "getMultipleAccounts", 2},   // Prepare, and Confirm's second look
		{"telegram", "sendMessage", 2},         // the card; Bob's news
		{"telegram", "answerCallbackQuery", 1}, // the toast of Confirm
		{"telegram", "editMessageText", 2},     // the sign link, and a state after it
		{"solana", "getLatestBlockhash", 1},    // the device approves
		{"solana", "sendTransaction", 1},       // the signed bytes go out
		{"solana", "getSignatureStatuses", 3},  // it has landed
		{"solana", "getTransaction", 1},        // its fee
	} {
		for n := range call.times {
			all = append(all, point{call.side, call.method, n + 1, false}, point{call.side, call.method, n + 1, true})
		}
	}
	return all
}

// trap waits for its point, once, and ends the process there.
type trap struct {
	point point
	kill  func()

	mu    sync.Mutex
	seen  int
	fired chan struct{} // closed when the process was ended
}

// springs counts a call and tells whether the process was ended at it.
func (t *trap) springs(side, method string) bool {
	if side != t.point.side || method != t.point.method {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seen++; t.seen != t.point.nth {
		return false
	}
	t.kill()
	close(t.fired)
	return true
}

// maxPaymentsToAPoint is how many payments are made at most until one of them passes a point.
const maxPaymentsToAPoint = 3

func TestTableOfCrashPoints(t *testing.T) {
	for _, at := range points() {
		t.Run(at.String(), func(t *testing.T) {
			t.Parallel()
			c := newCouple(t, 60*time.Millisecond)
			trap := &trap{point: at, fired: make(chan struct{}), kill: func() {
				if err := c.purser.Kill(); err != nil {
					t.Error(err)
				}
			}}
			// A dead process starts again, as a supervisor would have it.
			revived := make(chan error, 1)
			go func() {
				<-trap.fired
				revived <- c.purser.Serve()
			}()
			c.world.Solana.SetFault(func(method string, _ json.RawMessage) solana.Fault {
				switch {
				case !trap.springs("solana", method):
					return solana.Fault{}
				case at.after:
					return solana.Fault{DropAnswer: true}
				}
				return solana.Fault{Status: 503}
			})
			c.world.Telegram.SetFault(func(method string) telegram.Fault {
				switch {
				case !trap.springs("telegram", method):
					return telegram.Fault{}
				case at.after:
					return telegram.Fault{Kind: telegram.DropAnswer}
				}
				return telegram.Fault{Kind: telegram.DropRequest}
			})
			// On a slow machine blocks come faster than purser asks, so one payment may ask less often than another.
			var paid []payment
			for fired := false; !fired; {
				if len(paid) == maxPaymentsToAPoint {
					t.Fatal("the path of a payment does not pass this point")
				}
				p := c.propose(nth(1 + len(paid)))
				c.sign(c.confirm(p, 1))
				c.sent(p)
				c.told(p)
				paid = append(paid, p)
				select {
				case <-trap.fired:
					fired = true
				default:
				}
			}
			if err := <-revived; err != nil {
				t.Fatal(err)
			}
			c.settled(paid)
		})
	}
}

// TestKilledWhileASignatureComesIn ends the process around the moment in which a signature is
// handed in: whatever the device heard, the same signature may be handed in again, and pays once.
func TestKilledWhileASignatureComesIn(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	var paid []payment
	for n := range 12 {
		p := c.propose(nth(n))
		link := c.confirm(p, 1)
		over := make(chan error, 1)
		go func() {
			<-time.After(time.Duration(n) * 300 * time.Microsecond)
			if err := c.purser.Kill(); err != nil {
				over <- err
				return
			}
			over <- c.purser.Serve()
		}()
		c.sign(link)
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		paid = append(paid, p)
	}
	c.settled(paid)
}
