package wallet

import "time"

// Urgency is which checks of transactions go first.
type Urgency uint8

// The urgencies.
const (
	CheckInTurn Urgency = iota
	CheckSoon           // something may have happened on chain
	CheckFirst          // signed bytes wait to be broadcast
)

// Check says when a transaction is looked at next, and by whom.
type Check struct {
	At      time.Time
	Urgency Urgency
	// Elsewhere means that the chain is searched for what others did: a payment to a request, or one that a device signed and
	// that was rejected or expired here. Such checks must not delay those of signed payments.
	Elsewhere bool
}

// firstCheck is how long after a step the first check comes of what the step may have caused: that the transaction landed,
// or that it did not.
const firstCheck = 500 * time.Millisecond

// NextCheck returns when t is looked at next, after a step at now. open is false if nothing can change any more.
func (r Rules) NextCheck(t Transaction, now time.Time) (next Check, open bool) {
	switch {
	case t.Closed:
		return Check{}, false
	case r.Awaits(t):
		return Check{At: now, Elsewhere: true}, true
	}
	switch t.Status {
	case Signed: // broadcast it at once
		return Check{At: now, Urgency: CheckFirst}, true
	case AwaitingConfirmation, AwaitingSignature: // only its deadline or its owner ends it
		return Check{At: t.Deadline}, true
	case Delayed: // only the end of the delay or its owner ends it
		return Check{At: t.DelayEndsAt}, true
	case Rejected, Expired: // a device may have signed it before
		return Check{At: now.Add(firstCheck), Urgency: CheckSoon, Elsewhere: true}, true
	default: // pending, confirmed, and whatever else is with the network
		return Check{At: now.Add(firstCheck), Urgency: CheckSoon}, true
	}
}
