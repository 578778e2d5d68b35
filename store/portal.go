package store

import (
	"time"

	"purser/wallet"
)

// PassKind says what a pass of the portal is for.
type PassKind string

// The kinds of passes.
const (
	PortalLink    PassKind = "link"    // opens the portal once
	PortalSession PassKind = "session" // stands for a key while somebody uses the portal
)

// PassesKept is how many passes of one kind a person can have. Beyond it those that end first are removed.
const PassesKept = 64

// Pass says what a secret of the portal opens, and until when.
type Pass struct {
	Kind    PassKind      `json:"kind"`
	Owner   wallet.UserID `json:"owner"`             // of the keys; its data key seals the pass; "": the operator
	Lineage string        `json:"lineage,omitempty"` // of the keys that it stands for
	EndsAt  time.Time     `json:"ends_at"`
}

// Passes are links and sessions of the portal. They are found by a keyed hash of their secret, which is not stored.
type Passes interface {
	// Pass finds a pass by its secret, also an expired one: the caller checks EndsAt. ErrNotFound without one, and for
	// one of an erased person.
	Pass(kind PassKind, secret string) (Pass, error)
	// PutPass creates or replaces a pass. First it removes other passes of the same kind, from the one that ends first,
	// until with this one at most `most` of its lineage and PassesKept of its owner are left.
	PutPass(p Pass, secret string, most int) error
	// DeletePass removes a pass; ErrNotFound without one.
	DeletePass(kind PassKind, secret string) error
}
