package wallet

import (
	"slices"
	"time"
)

// Suspicion is why something that came in is not taken at face value, in the words of the API (suspect). Strangers plant
// such transactions so that somebody copies their address, or believes in a token that they made.
type Suspicion string

// The values of Suspicion.
const (
	NotSuspicious  Suspicion = ""
	ZeroValue      Suspicion = "zero_value"      // a transfer of nothing
	Dust           Suspicion = "dust"            // next to nothing of SOL or a listed token (NetChange.Dust)
	UnlistedToken  Suspicion = "unlisted_token"  // units of a token that is not listed: anybody can make one
	SimilarAddress Suspicion = "similar_address" // small, or unlisted, and the sender's address resembles one that the owner knows
)

// PlantedFor is how long the sender of something suspicious is remembered. Histories in wallets show about as much.
const PlantedFor = 90 * 24 * time.Hour

// Suspicions lists the values but NotSuspicious.
func Suspicions() []Suspicion {
	return []Suspicion{ZeroValue, Dust, UnlistedToken, SimilarAddress}
}

// Screen judges one gain of Net. known are the addresses that the owner knows, and listed finds a listed token by its mint.
//
// What the owner signed is not planted, nor what somebody they know signed. That a token came out of the account of somebody
// known says nothing without their signature: of a token that strangers made, the strangers can move what others hold.
// Beside a payment that counts, the others of its transaction are taken at face value too. A payment that counts is never planted,
// whatever its sender's address resembles: otherwise somebody could hide the payments of an honest sender by making the owner pay
// an address that resembles that sender's.
func (a Activity) Screen(gain NetChange, known []Address, listed func(Address) (Token, bool)) Suspicion {
	p := a.Incoming(gain)
	if a.Signed || gain.Lost || p.FromSigned && slices.Contains(known, p.From) {
		return NotSuspicious
	}
	isListed := func(token Token) bool {
		_, ok := listed(token.Mint)
		return ok || token.Native()
	}
	counts := func(n NetChange) bool { return !n.Lost && isListed(n.Token) && !n.Dust() }
	switch {
	case slices.ContainsFunc(a.Net, counts):
		return NotSuspicious
	case p.resembles(known):
		return SimilarAddress
	case isListed(gain.Token):
		return Dust
	}
	return UnlistedToken
}

// Suspicion judges the whole transaction: it is suspicious if nothing was lost and each gain is, by the gravest reason; or if
// others transferred nothing.
func (a Activity) Suspicion(known []Address, listed func(Address) (Token, bool)) (worst Suspicion) {
	if a.Failure != "" || a.Signed {
		return NotSuspicious
	}
	for _, n := range a.Net {
		s := a.Screen(n, known, listed)
		if s == NotSuspicious {
			return NotSuspicious
		}
		if slices.Index(Suspicions(), s) > slices.Index(Suspicions(), worst) {
			worst = s
		}
	}
	if len(a.Net) > 0 {
		return worst
	}
	// Nothing changed: somebody wants to be in the history, unless it is somebody known who signed.
	for _, m := range a.Movements {
		if !m.In || m.Units != 0 {
			continue
		}
		p := a.Incoming(NetChange{Token: m.Token})
		if p.resembles(known) {
			return SimilarAddress
		}
		if !p.FromSigned || !slices.Contains(known, p.From) {
			worst = ZeroValue
		}
	}
	return worst
}

// resembles reports whether the one sender's address resembles one that is known.
func (p IncomingPayment) resembles(known []Address) bool {
	_, similar := PoisoningSuspect(p.From, known)
	return similar && !p.From.IsZero()
}
