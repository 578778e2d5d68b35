package wallet

// TransactionQuery describes a transaction to find on chain. A wallet may change fees before it signs, so the landed
// transaction may have a signature that this store never saw. The reference finds it, and the other fields prove that it
// is the intended one (docs/architecture.md, The rule against paying twice, 3).
type TransactionQuery struct {
	Signature Signature // zero if none is known
	Reference Address   // a public key that only this transaction should name
	From      Address   // the fee payer
	Actions   []Action  // what it must do, in order
}

// PreflightError is a node's refusal of a transaction before it broadcasts it. It proves nothing: another node, or the
// same one later, may accept the same bytes.
type PreflightError struct {
	Failure Failure // the error code of the transaction if it never lands
	Reason  Reason  // the explanation for people
}

func (e *PreflightError) Error() string { return "not accepted by the node: " + e.Reason.String() }
