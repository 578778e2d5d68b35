package store

import "purser/wallet"

// FreezeLinks are the links by which people freeze and unfreeze their accounts. A person has at most one of each use.
type FreezeLinks interface {
	// FreezeLink finds a link by the SHA-256 of its token, also an expired one: the caller checks. The token itself is not
	// stored. ErrNotFound without one, and for one of an erased person.
	FreezeLink(tokenHash [32]byte) (wallet.FreezeLink, error)
	// PutFreezeLink stores a link, which replaces the person's older one of the same use. ErrConflict: the token is another
	// person's or another use's. ErrNotFound: the person was erased.
	PutFreezeLink(wallet.FreezeLink) error
	// DeleteFreezeLink removes a person's link of this use; without one it does nothing.
	DeleteFreezeLink(user wallet.UserID, use wallet.FreezeLinkUse) error
}
