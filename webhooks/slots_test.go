package webhooks

import (
	"testing"

	"purser/wallet"
)

// TestAGrantedSlotIsGivenBack: whoever was given a slot and ends without using it leaves it to the next one, of the same
// owner or of another, and none is counted that nobody has.
func TestAGrantedSlotIsGivenBack(t *testing.T) {
	const alice, bob = wallet.UserID("usr_alice"), wallet.UserID("usr_bob")
	for name, next := range map[string]wallet.UserID{"of one owner": alice, "of another owner": bob} {
		t.Run(name, func(t *testing.T) {
			s := &slots{owners: map[wallet.UserID]*ownerSlots{}}
			of := func(owner wallet.UserID) *session {
				return &session{owner: owner, inbox: inbox{wake: make(chan struct{}, 1)}}
			}
			var taken []wallet.UserID
			fill := func(owner wallet.UserID, n int) {
				for range n {
					if !s.take(of(owner)) {
						t.Fatalf("no slot for %s after %d", owner, len(taken))
					}
					taken = append(taken, owner)
				}
			}
			fill(alice, reservedForEach)
			if next != alice {
				fill(next, reservedForEach)
			}
			for i := 0; len(taken) < maxInFlight; i++ { // strangers take the rest
				fill(wallet.UserID(rune('A'+i)), min(maxOfOwner, maxInFlight-len(taken)))
			}
			first, second := of(alice), of(next)
			if s.take(first) || s.take(second) {
				t.Fatal("there was a slot for one more")
			}
			s.release(taken[maxInFlight-1])
			taken = taken[:maxInFlight-1]
			if !first.slot.granted || second.slot.granted {
				t.Fatalf("granted to the first: %v, to the second: %v", first.slot.granted, second.slot.granted)
			}
			s.leave(first) // it ends before it sends
			select {
			case <-second.inbox.wake:
			default:
				t.Error("the next one is not woken")
			}
			if !s.take(second) {
				t.Fatal("the next one gets no slot")
			}
			s.leave(second) // what it uses is no longer granted: it stays
			if s.inFlight != maxInFlight {
				t.Errorf("%d slots are taken", s.inFlight)
			}
			for _, owner := range append(taken, next) {
				s.release(owner)
			}
			if s.inFlight != 0 || len(s.owners) != 0 {
				t.Errorf("%d slots and %d owners are left", s.inFlight, len(s.owners))
			}
		})
	}
}
