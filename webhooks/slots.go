package webhooks

import (
	"slices"
	"sync"

	"purser/wallet"
)

const (
	// maxInFlight is how many attempts of this node run at once, to all webhooks.
	maxInFlight = 2048
	// maxOfOwner is how many of them go to the webhooks of one owner.
	maxOfOwner = 512
	// reservedForEach is how many attempts each owner may run even while all slots are taken, up to maxInFlight more
	// in all. So nobody waits for other people's slow receivers.
	reservedForEach = 16
)

// slots bound the attempts of all sessions of a node: an attempt runs only while it has one. Owners who wait for a
// slot take turns, and so do the webhooks of one owner. Any goroutine may use them.
type slots struct {
	mu       sync.Mutex // guards all of it, and the slot of each session
	inFlight int        // slots taken, of all owners
	owners   map[wallet.UserID]*ownerSlots
	waiting  []*ownerSlots // owners below maxOfOwner with a blocked session, longest first
}

// ownerSlots are the slots of one owner's webhooks. It is forgotten when the owner has none and waits for none.
type ownerSlots struct {
	owner    wallet.UserID
	inFlight int
	blocked  []*session // sessions that have something to send and no slot, longest first
	waiting  bool       // listed in slots.waiting
}

// slotState is what a session has besides the slots of its running attempts. slots.mu guards it.
type slotState struct {
	queued  bool // listed in the owner's blocked
	granted bool // it was given a slot, and has not used it yet
}

// take takes a slot for one attempt of a session. If there is none, it returns false and queues the session. When a
// slot is granted, the session is woken and takes it by calling again.
func (s *slots) take(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.slot.granted { // serve gave it one
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

// release gives a slot back when an attempt has ended. A session that waits gets it.
func (s *slots) release(owner wallet.UserID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(owner)
}

// leave ends a session's wait for a slot, and gives back one that was granted and not used.
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

// free gives a slot back, first to the owners who wait in turn, then to the same owner. The caller holds mu.
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

// serve grants a slot to the session of an owner that waits longest, if there is room for it.
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

// enlist makes an owner wait for a slot of others. An owner at maxOfOwner waits for their own instead.
func (s *slots) enlist(o *ownerSlots) {
	if len(o.blocked) > 0 && !o.waiting && o.inFlight < maxOfOwner {
		o.waiting = true
		s.waiting = append(s.waiting, o)
	}
}

// hasRoom reports whether an owner may have one more slot.
func (s *slots) hasRoom(o *ownerSlots) bool {
	return o.inFlight < maxOfOwner && (s.inFlight < maxInFlight || o.inFlight < reservedForEach && s.inFlight < 2*maxInFlight)
}

// of returns the slots of an owner, made at the first call.
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
