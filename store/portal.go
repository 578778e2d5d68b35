package store

import (
	"time"

	"purser/wallet"
)

// PortalTokenKind says what a portal token is for.
type PortalTokenKind string

// The kinds of portal tokens.
const (
	PortalLink    PortalTokenKind = "link"    // opens the portal once
	PortalSession PortalTokenKind = "session" // stands for a key while somebody uses the portal
)

// MaxPortalTokens is how many portal tokens of one kind a person can have. Beyond it those that end first are removed.
const MaxPortalTokens = 64

// PortalToken says what a secret of the portal opens, and until when.
type PortalToken struct {
	Kind    PortalTokenKind `json:"kind"`
	Owner   wallet.UserID   `json:"owner"`             // of the keys; its data key seals the portal token; "": the operator
	Lineage string          `json:"lineage,omitempty"` // of the keys that it stands for
	EndsAt  time.Time       `json:"ends_at"`
}

// PortalTokens are links and sessions of the portal. They are found by a keyed hash of their secret, which is not stored.
type PortalTokens interface {
	// PortalToken finds a portal token by its secret, also an expired one: the caller checks EndsAt. ErrNotFound without one, and for
	// one of an erased person.
	PortalToken(kind PortalTokenKind, secret string) (PortalToken, error)
	// PutPortalToken creates or replaces a portal token. First it removes other portal tokens of the same kind, from the one that ends first,
	// until with this one at most `most` of its lineage and MaxPortalTokens of its owner are left.
	PutPortalToken(p PortalToken, secret string, most int) error
	// DeletePortalToken removes a portal token; ErrNotFound without one.
	DeletePortalToken(kind PortalTokenKind, secret string) error
	// DeletePortalTokensOf removes every link and session of a person's keys, or only those of one lineage, unless it is "".
	DeletePortalTokensOf(owner wallet.UserID, lineage string) error
}
