package webhooks

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestSlotsForgetWhoIsGone: of owners who waited in vain, who left while they waited, and whose slots were given back,
// nothing stays.
func TestSlotsForgetWhoIsGone(t *testing.T) {
	s := &slots{owners: map[wallet.UserID]*ownerSlots{}}
	of := func(owner wallet.UserID) *session {
		return &session{owner: owner, inbox: inbox{wake: make(chan struct{}, 1)}}
	}
	var taken, blocked []*session
	for i := range 2 * maxInFlight / reservedForEach {
		for range reservedForEach {
			taken = append(taken, of(wallet.UserID(fmt.Sprint("owner", i))))
			if !s.take(taken[len(taken)-1]) {
				t.Fatal("somebody did not get what is reserved for them")
			}
		}
	}
	for i := range 100 {
		x := of(wallet.UserID(fmt.Sprint("late", i)))
		blocked = append(blocked, x)
		if s.take(x) {
			t.Fatal("there are more slots than there should be")
		}
	}
	for _, x := range blocked[1:] {
		s.leave(x)
	}
	if owners, want := len(s.owners), 2*maxInFlight/reservedForEach+1; owners != want || len(s.waiting) != 1 {
		t.Errorf("%d owners are known and %d wait, not %d and 1", owners, len(s.waiting), want)
	}
	own := of(taken[0].owner) // waits for anybody's slot, and is given one of its own owner's
	if blocked = append(blocked, own); s.take(own) {
		t.Fatal("somebody got more than what is reserved for them")
	}
	for _, x := range taken[:reservedForEach] {
		s.release(x.owner)
	}
	if !own.slot.granted {
		t.Error("the owner's own slot was not given on")
	}
	s.leave(own)
	for _, x := range taken[reservedForEach:] {
		s.release(x.owner)
	}
	if !blocked[0].slot.granted {
		t.Error("whoever waited on was not given a slot")
	}
	s.leave(blocked[0])
	if s.inFlight != 0 || len(s.owners) != 0 || len(s.waiting) != 0 {
		t.Errorf("at the end %d are on their way, %d owners are known, and %d wait", s.inFlight, len(s.owners), len(s.waiting))
	}
}

// TestALeaverKeepsOthersOfTheirOwnerWaiting: their place among the waiting stays.
func TestALeaverKeepsOthersOfTheirOwnerWaiting(t *testing.T) {
	s := &slots{owners: map[wallet.UserID]*ownerSlots{}, inFlight: 2 * maxInFlight}
	a, b := &session{owner: "o", inbox: inbox{wake: make(chan struct{}, 1)}}, &session{owner: "o", inbox: inbox{wake: make(chan struct{}, 1)}}
	if s.take(a) || s.take(b) {
		t.Fatal("there was a slot")
	}
	s.leave(a)
	s.inFlight = maxInFlight
	s.of("other").inFlight++
	s.release("other")
	if !b.slot.granted {
		t.Error("the one who stayed was not given the slot")
	}
}

// healthy is a store in which nothing is known of any webhook's health.
type healthy struct{ store.Tx }

func (healthy) WebhookHealth(wallet.WebhookID) (wallet.WebhookHealth, error) {
	return wallet.WebhookHealth{}, store.ErrNotFound
}

// TestAListenerSharesTheSlotsOfItsOwner: many connections of one owner have no more slots than one, and count among
// nobody's jobs.
func TestAListenerSharesTheSlotsOfItsOwner(t *testing.T) {
	for want, hook := range map[wallet.UserID]wallet.Webhook{
		"usr_1": {ID: "whl_1", Listener: true, Owner: "usr_1", Lineage: "lin_1"},
		"lin_2": {ID: "whl_2", Listener: true, Lineage: "lin_2"},
	} {
		s := newSender(&Service{Now: time.Now}, nil)
		x := s.openSession(hook.ID, nil, "")
		x.configure(healthy{}, hook)
		if x.owner != want {
			t.Errorf("%s waits for slots as %q, not as %q", hook.ID, x.owner, want)
		}
		s.forget(x)
		if len(s.places.owners) != 0 || s.places.node.here != 0 {
			t.Errorf("%v, %d jobs", s.places.owners, s.places.node.here)
		}
	}
}
