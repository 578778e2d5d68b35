package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net/url"
	"time"

	"purser/store"
	"purser/wallet"
)

// Policies are people's spending limits (docs/decisions/0054-spending-limits.md). What forbids more takes effect at once. What allows more
// takes effect wallet.PolicyDelay after the wallet's device has signed it: nothing else in purser widens a policy. The fraud rules enforce them
// (Transactions), and the signing page does so once more.
type Policies struct {
	Store      store.Store
	Signatures SignatureVerifier
	PublicURL  *url.URL // of the signing page: its host and origin are part of the signed text
	Cluster    string
	Now        Clock
	Random     io.Reader
}

// PolicyChange is what became of a change of a policy.
type PolicyChange struct {
	State wallet.PolicyState // as it is now
	// Token is the secret of the link by which the device signs what allows more; "" if nothing does. It must be sent to that person's chat and nowhere
	// else.
	Token string
}

// PolicySigned is what a signature did.
type PolicySigned struct {
	Waiting     bool      // the policy allows more, so it waits until EffectiveAt
	EffectiveAt time.Time // from when it holds
}

const deadPolicyLink = "limits.dead_link"

// Of returns the policy of a person's wallet as it is now. The zero policy allows everything. WALLET_NOT_FOUND for a wallet that is not theirs.
func (p *Policies) Of(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.PolicyState, error) {
	stored, err := p.own(tx, person, address)
	return stored.State, err
}

// Stored is Of with what the wallet has signed.
func (p *Policies) Stored(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error) {
	return p.own(tx, person, address)
}

// own returns the stored policy of a wallet that is connected to the person, as it is now.
func (p *Policies) own(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error) {
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

// Change asks for another policy of a person's wallet. What it forbids beyond the current one is stored at once, and ends a change that waits. If it
// allows anything more, nothing of that changes: the token of a link is returned, by which the device can sign it. A policy that is the
// current one already only ends a change that waits, and an open link.
//
// WALLET_NOT_FOUND, POLICY_VIOLATION for a frozen account, INVALID_REQUEST for a policy out of bounds (wallet.Policy.Check).
func (p *Policies) Change(tx store.Tx, person wallet.UserID, address wallet.Address, to wallet.Policy) (PolicyChange, error) {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return PolicyChange{}, err
	}
	stored, err := p.own(tx, person, address)
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
	// The meet has the limits of both. It must stay within what can be proposed: otherwise nobody could change it any more.
	if err := narrowed.State.Current.Check(); err != nil {
		return PolicyChange{}, err
	}
	tightens := !narrowed.State.Current.Equal(stored.State.Current)
	if tightens || !loosens && stored.State.Pending != nil {
		kind := wallet.LogLimitsTightened
		if !tightens {
			kind = wallet.LogLimitsCancelled
		}
		if err := putPolicy(tx, narrowed, kind, now); err != nil {
			return PolicyChange{}, err
		}
		stored = narrowed
	}
	change := PolicyChange{State: stored.State}
	if !loosens {
		return change, tx.DeletePolicyLink(person) // an older link would allow what was just given up
	}
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
	token, err := wallet.RandomToken(p.Random, 32)
	if err != nil {
		return "", err
	}
	nonce, err := wallet.RandomText(p.Random, 22) // as in a link to connect a wallet
	if err != nil {
		return "", err
	}
	now := p.Now().UTC().Truncate(time.Second) // the signed text contains whole seconds
	return token, tx.PutPolicyLink(wallet.PolicyLink{TokenHash: sha256.Sum256([]byte(token)), User: person, Address: address,
		Proposed: proposed.Canonical(), Nonce: nonce, IssuedAt: now, ExpiresAt: now.Add(wallet.PolicyWindow)})
}

// CancelPending ends a change that waits, and a link that is open. It needs no signature. WALLET_NOT_FOUND, CONFLICT if nothing waits: a link has
// ended then all the same, if the caller commits.
func (p *Policies) CancelPending(tx store.Tx, person wallet.UserID, address wallet.Address) (wallet.PolicyState, error) {
	stored, err := p.own(tx, person, address)
	if err != nil {
		return wallet.PolicyState{}, err
	}
	if err := tx.DeletePolicyLink(person); err != nil {
		return wallet.PolicyState{}, err
	}
	if stored.State.Pending == nil {
		return stored.State, wallet.Refuse(wallet.Conflict, "limits.nothing_waits")
	}
	now := p.Now().UTC()
	stored = stored.WithoutPending(now)
	return stored.State, putPolicy(tx, stored, wallet.LogLimitsCancelled, now)
}

// LinkForCurrent returns the token of a link that proposes the policy which holds already, so that another device of the person's learns it.
// WALLET_NOT_FOUND, POLICY_VIOLATION for a frozen account.
func (p *Policies) LinkForCurrent(tx store.Tx, person wallet.UserID, address wallet.Address) (token string, _ error) {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return "", err
	}
	stored, err := p.own(tx, person, address)
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

// policyLinked is an open link, with what belongs to it.
type policyLinked struct {
	link   wallet.PolicyLink
	user   wallet.User
	held   wallet.Wallet
	stored wallet.WalletPolicy // as it is now
}

// linked returns an open link. NOT_FOUND for any other, and if the wallet is not connected to the person any more. POLICY_VIOLATION for a frozen
// account.
func (p *Policies) linked(tx store.Tx, token string) (l policyLinked, err error) {
	l.link, err = tx.PolicyLink(sha256.Sum256([]byte(token)))
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
		return PolicyChallenge{Challenge: Challenge{TelegramID: l.user.TelegramID, Name: l.user.Name(), Username: l.user.Username, Chain: p.Cluster,
			Nonce: l.link.Nonce, IssuedAt: l.link.IssuedAt, ExpiresAt: l.link.ExpiresAt}, Address: l.link.Address, Type: l.held.Type,
			Current: l.stored.State.Current, Proposed: l.link.Proposed}, nil
	})
}

// Sign takes the wallet's signature over wallet.PolicyText of an open link. The text is composed here, so only a signature for this account, wallet,
// policy, link and server counts. What the policy allows beyond the current one waits for wallet.PolicyDelay, and the person is notified in any
// case. Another request with a right signature changes nothing more, and gets the same answer.
//
// NOT_FOUND for a dead or unknown link, INVALID_SIGNATURE, POLICY_VIOLATION for a frozen account, RATE_LIMIT_EXCEEDED if nobody could be notified of one
// more on this day.
func (p *Policies) Sign(ctx context.Context, token string, sig wallet.Signature) (PolicySigned, error) {
	// Read first: guessing tokens must not cost commits.
	if _, err := read(ctx, p.Store, func(tx store.Tx) (policyLinked, error) { return p.linked(tx, token) }); err != nil {
		return PolicySigned{}, err
	}
	var signed PolicySigned
	err := p.Store.Update(ctx, func(tx store.Tx) error {
		l, err := p.linked(tx, token)
		if err != nil {
			return err
		}
		text := wallet.PolicyText(p.PublicURL.Host, p.PublicURL.Scheme+"://"+p.PublicURL.Host, l.link.Address, l.link.Proposed,
			wallet.TelegramAccount(l.user.TelegramID), p.Cluster, l.link.Nonce, l.link.IssuedAt, l.link.ExpiresAt)
		if !l.link.Address.OnCurve() || !p.Signatures.VerifySignature([]byte(text), l.link.Address, sig) {
			return wallet.Refuse(wallet.InvalidSignature, "limits.wrong_signature")
		}
		if l.link.SignedAt.IsZero() { // else the response to the first request was lost
			if l.link, err = p.signed(tx, l, sig); err != nil {
				return err
			}
		}
		signed = PolicySigned{Waiting: l.link.EffectiveAt.After(l.link.SignedAt), EffectiveAt: l.link.EffectiveAt}
		return nil
	})
	return signed, err
}

// signed stores a policy that the wallet signed, notifies its owner, and uses up the link.
func (p *Policies) signed(tx store.Tx, l policyLinked, sig wallet.Signature) (wallet.PolicyLink, error) {
	now := p.Now().UTC()
	// The log takes a number of entries a day. A change that allows more must not go unnoticed.
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
	return l.link, errors.Join(tx.PutPolicy(next), tx.PutPolicyLink(l.link), store.LogSecurityFirst(tx, l.user.ID, now, wallet.LogLimitsSigned, details))
}

// dropPending ends changes of policies of a person's that wait: of one wallet, or of all for the zero address. It also ends a link that is open. Nothing
// that their owner cannot cancel any more must come into force.
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
