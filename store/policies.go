package store

import (
	"time"

	"purser/wallet"
)

// Policies are the spending limits of people's wallets, and the links by which a device signs them. All that a policy says is sealed by the person's
// data key, and erased with them.
type Policies interface {
	// Policy returns what is stored of the policy of a person's wallet, connected or not. The caller asks it for the time that counts
	// (wallet.WalletPolicy.At). ErrNotFound without one, and for an erased person. A damaged row is an error: a payment must not go on as if there
	// were no limits.
	Policy(owner wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error)
	// PoliciesOf lists a person's, by address. A damaged row is an error.
	PoliciesOf(owner wallet.UserID) ([]wallet.WalletPolicy, error)
	// PutPolicy creates or replaces that of its owner and address. ErrNotFound: the owner was erased.
	PutPolicy(wallet.WalletPolicy) error

	// PolicyLink finds a link by the SHA-256 of its token, also an expired one: the caller checks. ErrNotFound without one, and for one of an
	// erased person.
	PolicyLink(tokenHash [32]byte) (wallet.PolicyLink, error)
	// PutPolicyLink stores a link, which replaces the person's older one. ErrConflict: the token is another person's. ErrNotFound: the person was
	// erased.
	PutPolicyLink(wallet.PolicyLink) error
	// DeletePolicyLink removes a person's link; without one it does nothing.
	DeletePolicyLink(user wallet.UserID) error

	// PaymentsFrom lists the outgoing transactions of a wallet that were created at since or later, newest first, and all older ones that are unsettled,
	// no matter who owns it. It gives them without what is sealed. Those of erased people are left out. A damaged row is an error: a sum without it
	// would be too low.
	PaymentsFrom(from wallet.Address, since time.Time) ([]wallet.Transaction, error)
	// HasPaid reports whether one of the newest `limit` payments of an owner, from any wallet, went from this wallet to this address and reached it
	// (wallet.Rules.Reached).
	HasPaid(owner wallet.UserID, from, to wallet.Address, limit int) (bool, error)
}
