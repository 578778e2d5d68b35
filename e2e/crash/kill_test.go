package crash

import (
	"testing"
	"time"
)

// TestKilledAtRandomMoments ends the process a hundred times, wherever it is, while Alice goes on
// paying: nothing that was acknowledged is lost, nothing is paid twice, nothing is stuck.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 15
	}
	random := seeded(t)
	c := newCouple(t, 100*time.Millisecond)

	over, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(over)
		for range rounds {
			// From the middle of a start to some way into a payment.
			timer := time.After(time.Duration(5+random.IntN(700)) * time.Millisecond)
			<-timer
			if err := c.purser.Kill(); err != nil {
				failed <- err
				return
			}
			if err := c.purser.Launch(); err != nil {
				failed <- err
				return
			}
		}
	}()
	var paid []payment
	for n, going := 0, true; going; n++ {
		select {
		case <-over:
			going = false // one more, by a process that lives
		default:
		}
		p := c.propose(nth(n))
		taps := 1
		if n%3 == 0 {
			taps = 2
		}
		link := c.confirm(p, taps)
		if n%7 == 6 {
			continue // confirmed and never signed: it must not move anything
		}
		c.sign(link)
		paid = append(paid, p)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	t.Logf("%d payments over %d lives", len(paid), rounds+1)
	c.settled(paid)
}
