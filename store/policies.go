package store

import "purser/wallet"

// Policies are the spending limits of people's wallets, and the links by which a device signs them. They are sealed by the person's data key, and
// erased with them.
type Policies interface {
	// Policy returns the stored policy of a person's wallet, connected or not. A change that waits is part of it: wallet.WalletPolicy.At says
	// what holds at a time. ErrNotFound without one, and for an erased person. A damaged row is an error: a payment must not go on as if there
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
}
