package wallet

import "fmt"

// Revoke takes back the right of somebody else to spend from a token account of the wallet.
const Revoke Kind = "revoke"

// TokenDelegate is who else may spend from a token account, without a signature of its owner (Approve of the token programs).
type TokenDelegate struct {
	Account  Address // the token account
	Token    Token
	Delegate Address // never the owner
	Limit    uint64  // base units that the delegate may still take, now or later
	Units    uint64  // base units in the account
	Frozen   bool    // by the issuer: while it is, nobody can spend from the account, and the right cannot be taken back
}

// Unlimited is the Limit of a delegate that may take everything, also what arrives later.
const Unlimited = ^uint64(0)

// Foreign returns who else may spend from the account, as far as the account says it: Token has neither symbol nor
// decimals. ok is false if nobody may.
func (a TokenAccount) Foreign() (d TokenDelegate, ok bool) {
	if !a.Exists || a.Delegate.IsZero() || a.Delegate == a.Owner {
		return TokenDelegate{}, false
	}
	return TokenDelegate{Account: a.Address, Token: Token{Mint: a.Mint, Program: a.Program}, Delegate: a.Delegate, Limit: a.Delegated, Units: a.Units, Frozen: a.Frozen}, true
}

// DelegateFacts is everything by which a revocation is judged, read at one slot.
type DelegateFacts struct {
	From    Account      // the wallet, as a System account
	Account TokenAccount // it may not exist
}

// RevokeTerms are the terms of a revocation beyond Transaction's own, as its owner was shown them.
type RevokeTerms struct {
	Account  Address `json:"account"` // the token account
	Token    Token   `json:"token"`
	Delegate Address `json:"delegate"`
	// Limit is how many base units the delegate could take when it was proposed.
	Limit uint64 `json:"limit,string"`
}

// revokeSchema names RevokeTerms in Terms.
const revokeSchema = "revoke/1"

// Terms returns the terms as a transaction holds them.
func (r RevokeTerms) Terms() Terms { return NewTerms(revokeSchema, r) }

// RevokeTerms returns the terms of a revocation; zero for other kinds.
func (t Transaction) RevokeTerms() RevokeTerms {
	r, _ := ReadTerms[RevokeTerms](t.Terms, revokeSchema)
	return r
}

// RevokeRules returns the rules of revocations (docs/decisions/0053). Transaction.To is the wallet itself, and its amount is
// zero: only the fee leaves the wallet.
func RevokeRules() Rules {
	return Rules{Kind: Revoke, Life: Outgoing, CheckTerms: checkRevokeTerms,
		Actions: func(t Transaction) []Action {
			terms := t.RevokeTerms()
			return []Action{{Type: ActionRevoke, From: t.From, Account: terms.Account, Program: terms.Token.Program, Reference: t.Reference, References: []Address{t.Reference}}}
		},
		Writes: func(t Transaction) []Address { return []Address{t.From, t.RevokeTerms().Account} },
		Spends: func(t Transaction) Spending { return Spending{Lamports: t.Fee} }}
}

// checkRevokeTerms is Rules.CheckTerms of revocations.
func checkRevokeTerms(t Transaction) error {
	r, err := ReadTerms[RevokeTerms](t.Terms, revokeSchema)
	switch {
	case err != nil:
		return err
	case r.Account.IsZero() || r.Account == t.From || r.Token.Mint.IsZero():
		return fmt.Errorf("%w: a revocation without a token account", ErrTerms)
	case r.Token.Program != TokenProgram && r.Token.Program != Token2022Program:
		return fmt.Errorf("%w: a token account of an unknown program", ErrTerms)
	case r.Delegate.IsZero() || r.Delegate == t.From:
		return fmt.Errorf("%w: a revocation without a delegate", ErrTerms)
	case t.Amount != 0:
		return fmt.Errorf("%w: a revocation that pays", ErrTerms)
	}
	return nil
}
