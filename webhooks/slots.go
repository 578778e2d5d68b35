package webhooks

import (
	"slices"
	"sync"

	"purser/wallet"
)

const (
	// maxInFlight is how many deliveries of this node are on their way at once, to all webhooks.
	maxInFlight = 2048
	// maxOfOwner is how many are on their way to the webhooks of one owner.
	maxOfOwner = 512
	// reservedForEach is how many of each owner go even while all slots are taken, as many again in all: nobody
	// waits for other people's slow receivers.
	reservedForEach = 16
)

// slots are what all sessions of a node share: a delivery is on its way only while it has one. Owners who wait for a slot
// take turns, and so do the webhooks of one owner.
type slots struct {
	mu       sync.Mutex
	inFlight int
	owners   map[wallet.UserID]*ownerSlots
	waiting  []*ownerSlots // could send, and wait for anybody's slot
}

// ownerSlots are those of the webhooks of one owner.
type ownerSlots struct {
	owner    wallet.UserID
	inFlight int
	blocked  []*session // have something to send and no slot, longest first
	waiting  bool       // among slots.waiting
}

// slotState is what a session has of its owner's slots beyond those of its attempts. It belongs to slots.
type slotState struct {
	queued  bool // among the owner's blocked
	granted bool // it was given a slot, and has not used it yet
}

// take takes a slot for one delivery of a session. If there is none the session is woken when it was given one, which it
// takes by calling again.
func (s *slots) take(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.slot.granted {
		x.slot.granted = false
		return true
	}
	if x.slot.queued {
		return false
	}
	o := s.of(x.owner)
	if s.hasRoom(o) {
		s.inFlight++
		o.inFlight++
		return true
	}
	x.slot.queued = true
	o.blocked = append(o.blocked, x)
	s.enlist(o)
	return false
}

// release gives a slot back, to a session that waits for one if there is any.
func (s *slots) release(owner wallet.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(owner)
}

// leave ends a session's wait for a slot.
func (s *slots) leave(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.slot.queued {
		o := s.of(x.owner)
		o.blocked = slices.DeleteFunc(o.blocked, func(b *session) bool { return b == x })
		if len(o.blocked) == 0 && o.waiting {
			o.waiting = false
			s.waiting = slices.DeleteFunc(s.waiting, func(w *ownerSlots) bool { return w == o })
		}
		s.forget(x.owner)
	}
	if x.slot.granted {
		s.free(x.owner)
	}
	x.slot = slotState{}
}

func (s *slots) free(owner wallet.UserID) {
	own := s.of(owner)
	s.inFlight--
	own.inFlight--
	for len(s.waiting) > 0 && s.inFlight < maxInFlight {
		o := s.waiting[0]
		s.waiting = s.waiting[1:]
		o.waiting = false
		s.serve(o)
		s.forget(o.owner)
	}
	s.serve(own)
	s.forget(owner)
}

// serve gives a slot to the session of an owner that waits longest, if there is room for it.
func (s *slots) serve(o *ownerSlots) {
	if len(o.blocked) > 0 && s.hasRoom(o) {
		first := o.blocked[0]
		o.blocked = o.blocked[1:]
		first.slot = slotState{granted: true}
		s.inFlight++
		o.inFlight++
		first.inbox.ring()
	}
	s.enlist(o)
}

// enlist has an owner wait for anybody's slot, if it is not their own that they wait for.
func (s *slots) enlist(o *ownerSlots) {
	if len(o.blocked) > 0 && !o.waiting && o.inFlight < maxOfOwner {
		o.waiting = true
		s.waiting = append(s.waiting, o)
	}
}

// hasRoom reports whether there is a slot for one more of an owner.
func (s *slots) hasRoom(o *ownerSlots) bool {
	return o.inFlight < maxOfOwner && (s.inFlight < maxInFlight || o.inFlight < reservedForEach && s.inFlight < 2*maxInFlight)
}

func (s *slots) of(owner wallet.UserID) *ownerSlots {
	o := s.owners[owner]
	if o == nil {
		o = &ownerSlots{owner: owner}
		s.owners[owner] = o
	}
	return o
}

// forget drops what is known of an owner who neither has a slot nor waits for one.
func (s *slots) forget(owner wallet.UserID) {
	if o := s.owners[owner]; o != nil && o.inFlight == 0 && len(o.blocked) == 0 && !o.waiting {
		delete(s.owners, owner)
	}
}
