package store

import (
	"time"

	"purser/wallet"
)

// PassKind says what a pass of the portal is good for.
type PassKind string

// The kinds of passes.
const (
	PortalLink    PassKind = "link"    // opens the portal once
	PortalSession PassKind = "session" // stands for a key while somebody uses the portal
)

// PassesKept is how many passes of one kind a person can have. Of more, those that end first are removed.
const PassesKept = 64

// Pass is what a secret of the portal opens, and until when.
type Pass struct {
	Kind    PassKind      `json:"kind"`
	Owner   wallet.UserID `json:"owner"`             // of the keys, by whose data key it is sealed; "" for an operator's
	Lineage string        `json:"lineage,omitempty"` // of the keys that it stands for
	EndsAt  time.Time     `json:"ends_at"`
}

// Passes are links and sessions of the portal, by a keyed hash of their secret, which is not kept.
type Passes interface {
	// Pass by its secret, also one whose time is over; ErrNotFound without one, and for one of an erased person.
	Pass(kind PassKind, secret string) (Pass, error)
	// PutPass creates or replaces. Before that, it removes those that end first among the others of that kind: so many that
	// at most `most` of that lineage, and PassesKept of that person, are left with it.
	PutPass(p Pass, secret string, most int) error
	// DeletePass removes it; ErrNotFound without one.
	DeletePass(kind PassKind, secret string) error
}
