package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// Policies sets people's spending limits (docs/decisions/0054-spending-limits.md). A stricter limit takes effect at once. A looser one takes effect
// wallet.PolicyDelay after the wallet's device has signed it. Nothing else in purser loosens a limit. The fraud rules enforce the limits
// (Transactions), and the signing page does too.
type Policies struct {
	DeviceLinks
	Store store.Store
}

// PolicyChange is the result of Policies.Change.
type PolicyChange struct {
	State wallet.PolicyState // as it is now
	// Token is the secret of the link by which the device signs what the new policy allows more; "" if it allows nothing more. It must be
	// sent to that person's chat and nowhere else.
	Token string
}

// PolicySigned is the result of Policies.Sign.
type PolicySigned struct {
	Waiting     bool      // the policy allows more, so it waits until EffectiveAt
	EffectiveAt time.Time // from when it holds
}

const deadPolicyLink = "limits.dead_link"

// Of returns the policy of a person's wallet as it is now. The zero policy allows everything. WALLET_NOT_FOUND for a wallet that is not theirs.
func (p *Policies) Of(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.PolicyState, error) {
	stored, err := p.connected(tx, person, address)
	return stored.State, err
}

// Stored is Of with what the wallet has signed.
func (p *Policies) Stored(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error) {
	return p.connected(tx, person, address)
}

// connected returns the stored policy of a wallet that is connected to the person, as it is now.
func (p *Policies) connected(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error) {
	held, err := tx.Wallet(address)
	if err == nil && (person == "" || held.Owner != person) {
		err = store.ErrNotFound
	}
	if err != nil {
		return wallet.WalletPolicy{}, found(err, wallet.WalletNotFound, "wallet_access.none")
	}
	return policyOf(tx, person, address, p.Now())
}

// policyOf returns what is stored of the policy of somebody's wallet, as it is at a time. Without a row it allows everything.
func policyOf(tx store.Tx, person wallet.UserID, address wallet.Address, now time.Time) (wallet.WalletPolicy, error) {
	stored, err := tx.Policy(person, address)
	if errors.Is(err, store.ErrNotFound) {
		return wallet.WalletPolicy{Owner: person, Address: address}, nil
	}
	return stored.At(now), err
}

// Change asks for another policy of a person's wallet. What it forbids beyond the current one is stored at once, and ends a change that
// waits. What it allows beyond the current one is not stored: Change returns the token of a link by which the device can sign it. A policy
// that allows nothing more ends a change that waits, and an open link.
//
// WALLET_NOT_FOUND, POLICY_VIOLATION for a frozen account, INVALID_REQUEST for a policy out of bounds (wallet.Policy.Check).
func (p *Policies) Change(tx store.Tx, person wallet.UserID, address wallet.Address, to wallet.Policy) (PolicyChange, error) {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return PolicyChange{}, err
	}
	stored, err := p.connected(tx, person, address)
	if err != nil {
		return PolicyChange{}, err
	}
	to = to.WithWrappedAsSOL()
	if err := to.Check(); err != nil {
		return PolicyChange{}, err
	}
	now := p.Now().UTC()
	loosens := to.Loosens(stored.State.Current)
	narrowed := stored.Narrowed(to, now)
	// The stored policy has the limits of both, so it may be out of bounds although neither is. Then nobody could change it any more.
	if err := narrowed.State.Current.Check(); err != nil {
		return PolicyChange{}, err
	}
	tightens := !narrowed.State.Current.Equal(stored.State.Current)
	if tightens {
		if err := putPolicy(tx, narrowed, wallet.LogLimitsTightened, now); err != nil {
			return PolicyChange{}, err
		}
		stored = narrowed
	}
	if !loosens { // what waits, or an older link, would allow what was just given up
		if err := dropPending(tx, person, address, now); err != nil {
			return PolicyChange{}, err
		}
		return PolicyChange{State: narrowed.State}, nil
	}
	change := PolicyChange{State: stored.State}
	change.Token, err = p.link(tx, person, address, to)
	return change, err
}

// putPolicy stores a policy that allows nothing more than before, and logs it with what it replaces.
func putPolicy(tx store.Tx, stored wallet.WalletPolicy, kind wallet.SecurityKind, now time.Time) error {
	before, err := policyOf(tx, stored.Owner, stored.Address, now)
	if err != nil {
		return err
	}
	was, current := before.State.Current, stored.State.Current
	if kind == wallet.LogLimitsCancelled && before.State.Pending != nil {
		was = *before.State.Pending
	}
	return errors.Join(tx.PutPolicy(stored), store.LogSecurity(tx, stored.Owner, now, kind, wallet.SecurityDetails{Wallet: stored.Address, Policy: &current, Was: &was}))
}

// link stores a link by which the wallet's device can sign a policy. It replaces the person's older one.
func (p *Policies) link(tx store.Tx, person wallet.UserID, address wallet.Address, proposed wallet.Policy) (token string, _ error) {
	l, err := p.newLink(wallet.PolicyWindow)
	if err != nil {
		return "", err
	}
	return l.token, tx.PutPolicyLink(wallet.PolicyLink{TokenHash: l.hash, User: person, Address: address,
		Proposed: proposed.Canonical(), Nonce: l.nonce, IssuedAt: l.issuedAt, ExpiresAt: l.expiresAt})
}

// CancelPending ends a change that waits, and an open link. It needs no signature. WALLET_NOT_FOUND. CONFLICT if nothing waits: if the
// caller commits all the same, an open link has ended.
func (p *Policies) CancelPending(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.PolicyState, error) {
	stored, err := p.connected(tx, person, address)
	if err != nil {
		return wallet.PolicyState{}, err
	}
	now := p.Now().UTC()
	if err := dropPending(tx, person, address, now); err != nil {
		return wallet.PolicyState{}, err
	}
	if stored.State.Pending == nil {
		return stored.State, wallet.Refuse(wallet.Conflict, "limits.nothing_waits")
	}
	return stored.WithoutPending(now).State, nil
}

// LinkForCurrent returns the token of a link that proposes the current policy, so that another device of the person's learns it.
// WALLET_NOT_FOUND, POLICY_VIOLATION for a frozen account.
func (p *Policies) LinkForCurrent(tx store.Tx, person wallet.UserID, address wallet.Address) (token string, _ error) {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return "", err
	}
	stored, err := p.connected(tx, person, address)
	if err != nil {
		return "", err
	}
	return p.link(tx, person, address, stored.State.Current)
}

// PolicyChallenge has the fields of the text that a device signs to set a policy.
type PolicyChallenge struct {
	Challenge
	Address  wallet.Address
	Type     wallet.WalletType
	Current  wallet.Policy // what holds now
	Proposed wallet.Policy // what the text says
}

// openPolicyLink is an open link, with its person, wallet and stored policy.
type openPolicyLink struct {
	link   wallet.PolicyLink
	user   wallet.User
	held   wallet.Wallet
	stored wallet.WalletPolicy // as it is now
}

// linked returns an open link. NOT_FOUND for any other, and if the wallet is not connected to the person any more. POLICY_VIOLATION for a frozen
// account.
func (p *Policies) linked(tx store.Tx, token string) (l openPolicyLink, err error) {
	l.link, err = tx.PolicyLink(tokenHash(token))
	if err == nil && !l.link.OpenAt(p.Now()) {
		err = store.ErrNotFound
	}
	if err == nil {
		l.user, err = tx.User(l.link.User)
	}
	if err == nil {
		l.held, err = tx.Wallet(l.link.Address)
	}
	if err == nil && l.held.Owner != l.user.ID {
		err = store.ErrNotFound
	}
	if err != nil {
		return l, found(err, wallet.NotFound, deadPolicyLink)
	}
	if err := l.user.Frozen(wallet.ByDevice); err != nil {
		return l, err
	}
	l.stored, err = policyOf(tx, l.user.ID, l.link.Address, p.Now())
	return l, err
}

// Challenge returns the challenge of an open link. NOT_FOUND for any other, POLICY_VIOLATION for a frozen account.
func (p *Policies) Challenge(ctx context.Context, token string) (PolicyChallenge, error) {
	return read(ctx, p.Store, func(tx store.Tx) (PolicyChallenge, error) {
		l, err := p.linked(tx, token)
		if err != nil {
			return PolicyChallenge{}, err
		}
		return PolicyChallenge{Challenge: p.challenge(l.user, l.link.Nonce, l.link.IssuedAt, l.link.ExpiresAt), Address: l.link.Address, Type: l.held.Type,
			Current: l.stored.State.Current, Proposed: l.link.Proposed}, nil
	})
}

// Sign takes the wallet's signature over wallet.PolicyText of an open link. The text is composed here, so only a signature for this account,
// wallet, policy, link and server counts. What the policy allows beyond the current one waits for wallet.PolicyDelay. The person is
// notified. The same request again changes nothing, and returns the same.
//
// NOT_FOUND for a dead or unknown link, INVALID_SIGNATURE, POLICY_VIOLATION for a frozen account. RATE_LIMIT_EXCEEDED if the security log takes no
// more signed limits on this day: then nobody would be notified.
func (p *Policies) Sign(ctx context.Context, token string, sig wallet.Signature) (PolicySigned, error) {
	// Read first: guessing tokens must not cost commits.
	if _, err := read(ctx, p.Store, func(tx store.Tx) (openPolicyLink, error) { return p.linked(tx, token) }); err != nil {
		return PolicySigned{}, err
	}
	var signed PolicySigned
	err := p.Store.Update(ctx, func(tx store.Tx) error {
		l, err := p.linked(tx, token)
		if err != nil {
			return err
		}
		text := p.text(policyText(l.link.Proposed), l.link.Address, wallet.TelegramAccount(l.user.TelegramID), l.link.Nonce, l.link.IssuedAt, l.link.ExpiresAt)
		if !p.signed(text, l.link.Address, sig) {
			return wallet.Refuse(wallet.InvalidSignature, "limits.wrong_signature")
		}
		if l.link.SignedAt.IsZero() { // else the response to the first request was lost
			if l.link, err = p.takeSigned(tx, l, sig); err != nil {
				return err
			}
		}
		signed = PolicySigned{Waiting: l.link.EffectiveAt.After(l.link.SignedAt), EffectiveAt: l.link.EffectiveAt}
		return nil
	})
	return signed, err
}

// policyText is wallet.PolicyText for one policy.
func policyText(policy wallet.Policy) deviceText {
	return func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string {
		return wallet.PolicyText(host, origin, address, policy, account, chain, nonce, issued, expires)
	}
}

// takeSigned stores a policy that the wallet signed, notifies its owner, and uses up the link.
func (p *Policies) takeSigned(tx store.Tx, l openPolicyLink, sig wallet.Signature) (wallet.PolicyLink, error) {
	now := p.Now().UTC()
	// The log takes a bounded number of entries a day. A looser limit must not go unnoticed.
	switch full, err := store.SecurityFull(tx, l.user.ID, now, wallet.LogLimitsSigned); {
	case err != nil:
		return l.link, err
	case full:
		return l.link, wallet.Refuse(wallet.RateLimitExceeded, "limits.signed_often")
	}
	next := l.stored.SetSigned(wallet.PolicyProof{Policy: l.link.Proposed, TelegramID: l.user.TelegramID, Nonce: l.link.Nonce,
		IssuedAt: l.link.IssuedAt, ExpiresAt: l.link.ExpiresAt, Signature: sig, SignedAt: now}, now)
	was := l.stored.State.Current
	details := wallet.SecurityDetails{Wallet: l.link.Address, Policy: &l.link.Proposed, Was: &was}
	l.link.SignedAt, l.link.Signature, l.link.EffectiveAt = now, sig, now
	if !l.link.Proposed.Equal(next.State.Current) {
		l.link.EffectiveAt = next.State.PendingFrom
		details.From = next.State.PendingFrom
	}
	return l.link, errors.Join(tx.PutPolicy(next), tx.PutPolicyLink(l.link), store.LogSecurityAndNotify(tx, l.user.ID, now, wallet.LogLimitsSigned, details))
}

// dropPending ends the changes that wait of a person's policies, and logs that: those of one wallet, or of all for the zero address. It also ends
// the person's open link, whichever wallet it is for. Nobody ("") has none.
func dropPending(tx store.Tx, person wallet.UserID, only wallet.Address, now time.Time) error {
	if person == "" {
		return nil
	}
	all, err := tx.PoliciesOf(person)
	if err != nil {
		return err
	}
	for _, stored := range all {
		stored = stored.At(now)
		if stored.State.Pending == nil || !only.IsZero() && stored.Address != only {
			continue
		}
		if err := putPolicy(tx, stored.WithoutPending(now), wallet.LogLimitsCancelled, now); err != nil {
			return err
		}
	}
	return tx.DeletePolicyLink(person)
}
