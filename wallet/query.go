package wallet

// TransactionQuery describes a transaction to look for on chain. Wallets may change fees before they sign,
// so what landed may bear a signature that nobody here has seen: the reference finds it, and the
// rest proves that it is ours (docs/architecture.md, The rule against paying twice, 3).
type TransactionQuery struct {
	Signature Signature // zero when none is known
	Reference Address   // an address that the transaction names, and few others do
	From      Address   // that pays the fee
	Actions   []Action  // that were intended
}

// PreflightError is a node's refusal to take a transaction: its preflight check failed. It is no
// verdict: another node, or the same one a moment later, may take the same bytes.
type PreflightError struct {
	Failure Failure // what it will be called if it never lands
	Reason  Reason  // why, for people
}

func (e *PreflightError) Error() string { return "not accepted by the node: " + e.Reason.String() }
