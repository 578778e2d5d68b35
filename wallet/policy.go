package wallet

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Policy is what a person allows one of their wallets to pay (docs/decisions/0054). The zero value allows everything.
// Server and signing page enforce it independently of each other.
type Policy struct {
	Payment          []TokenLimit  `json:"payment,omitempty"`    // the most that one payment or swap may pay, by token
	Day              []TokenLimit  `json:"day,omitempty"`        // the most that all within any 24 hours may pay, by token
	Recipients       *[]Address    `json:"recipients,omitempty"` // the only ones that may be paid, at most MaxAllowed; nil: anybody
	NewRecipientWait time.Duration `json:"new_wait,omitzero"`    // how long a payment to a recipient who was never paid waits, whole hours
}

// TokenLimit is the most that may be paid of one token.
type TokenLimit struct {
	Mint  Address `json:"mint"` // zero: SOL
	Units uint64  `json:"units,string"`
}

// Bounds of a Policy.
const (
	MaxTokenLimits      = 20             // of each kind
	MaxAllowed          = 50             // addresses in Policy.Recipients
	MaxNewRecipientWait = MaxDelay       // of Policy.NewRecipientWait
	PolicyDelay         = 24 * time.Hour // how long a signed Policy that allows more waits
)

// Canonical returns the policy with its lists in order and without duplicates, as it is signed and compared. Of two limits of one
// token the lower one stays.
func (p Policy) Canonical() Policy {
	p.Payment, p.Day = canonicalLimits(p.Payment), canonicalLimits(p.Day)
	if p.Recipients != nil {
		allowed := slices.Clone(*p.Recipients)
		slices.SortFunc(allowed, compareAddresses)
		allowed = slices.Compact(allowed)
		p.Recipients = &allowed
	}
	return p
}

func compareAddresses(a, b Address) int { return strings.Compare(a.String(), b.String()) }

// canonicalLimits sorts limits by the text of their mint (SOL, which has none, first).
func canonicalLimits(limits []TokenLimit) (out []TokenLimit) {
	sorted := slices.Clone(limits)
	slices.SortFunc(sorted, func(a, b TokenLimit) int {
		return cmp.Or(strings.Compare(a.mintText(), b.mintText()), cmp.Compare(a.Units, b.Units))
	})
	return slices.CompactFunc(sorted, func(a, b TokenLimit) bool { return a.Mint == b.Mint })
}

// mintText returns the mint in base58; "" for SOL.
func (l TokenLimit) mintText() string {
	if l.Mint.IsZero() {
		return ""
	}
	return l.Mint.String()
}

// Intersect returns the policy that allows exactly what both allow: of each limit the lower one, of the recipients those in both, and the
// longer wait.
func (p Policy) Intersect(q Policy) Policy {
	met := Policy{Payment: slices.Concat(p.Payment, q.Payment), Day: slices.Concat(p.Day, q.Day), Recipients: p.Recipients, NewRecipientWait: max(p.NewRecipientWait, q.NewRecipientWait)}
	switch {
	case p.Recipients == nil:
		met.Recipients = q.Recipients
	case q.Recipients != nil:
		both := []Address{}
		for _, a := range *p.Recipients {
			if slices.Contains(*q.Recipients, a) {
				both = append(both, a)
			}
		}
		met.Recipients = &both
	}
	return met.Canonical()
}

// Equal reports whether two policies allow the same.
func (p Policy) Equal(q Policy) bool { return p.canonicalText() == q.canonicalText() }

// Loosens reports whether p allows anything that current does not.
func (p Policy) Loosens(current Policy) bool { return !p.Intersect(current).Equal(p) }

// Limit returns the limit of a token among several; false if there is none.
func Limit(limits []TokenLimit, mint Address) (uint64, bool) {
	at := slices.IndexFunc(limits, func(l TokenLimit) bool { return l.Mint == mint })
	if at < 0 {
		return 0, false
	}
	return limits[at].Units, true
}

// PolicyState is the policy of a wallet, and the change of it that waits.
type PolicyState struct {
	Current     Policy    `json:"current"`
	Pending     *Policy   `json:"pending,omitempty"`
	PendingFrom time.Time `json:"pending_from,omitzero"` // from when Pending is the current one
}

// At returns the state at a time: what waited for it has become current.
func (s PolicyState) At(now time.Time) PolicyState {
	if s.Pending == nil || now.Before(s.PendingFrom) {
		return s
	}
	return PolicyState{Current: *s.Pending}
}

// Set returns the state after its owner asked for another policy at now. What it forbids is forbidden at once. If it allows anything
// more, all of it waits for PolicyDelay, and the caller must have verified a signature of the wallet. It replaces a change that waits.
func (s PolicyState) Set(p Policy, now time.Time) PolicyState {
	current := s.At(now).Current
	if p = p.Canonical(); !p.Loosens(current) {
		return PolicyState{Current: p}
	}
	return PolicyState{Current: p.Intersect(current), Pending: &p, PendingFrom: now.Add(PolicyDelay)}
}

// Check returns INVALID_REQUEST for a policy that is out of bounds. Duplicates in its lists count once.
func (p Policy) Check() error {
	p = p.Canonical()
	switch {
	case len(p.Payment) > MaxTokenLimits || len(p.Day) > MaxTokenLimits:
		return Refuse(InvalidRequest, "limits.too_many_tokens", NumberArg("Most", MaxTokenLimits))
	case p.Recipients != nil && len(*p.Recipients) > MaxAllowed:
		return Refuse(InvalidRequest, "limits.too_many_recipients", NumberArg("Most", MaxAllowed))
	case p.Recipients != nil && slices.Contains(*p.Recipients, Address{}):
		return Refuse(InvalidRequest, "address.no_key")
	case p.NewRecipientWait < 0 || p.NewRecipientWait > MaxNewRecipientWait || p.NewRecipientWait%time.Hour != 0:
		return Refuse(InvalidRequest, "limits.wait", DurationArg("Most", MaxNewRecipientWait))
	}
	return nil
}

// WithWrappedAsSOL returns the policy with its limits of wrapped SOL as limits of SOL: a payment of either counts as SOL.
func (p Policy) WithWrappedAsSOL() Policy {
	asSOL := func(limits []TokenLimit) []TokenLimit {
		out := slices.Clone(limits)
		for i := range out {
			out[i].Mint = limitedMint(out[i].Mint)
		}
		return out
	}
	p.Payment, p.Day = asSOL(p.Payment), asSOL(p.Day)
	return p.Canonical()
}

// limitedMint returns the mint whose limits hold for payments of a mint: zero, which is SOL, for wrapped SOL.
func limitedMint(mint Address) Address {
	if mint == WrappedSOL {
		return Address{}
	}
	return mint
}

// policyDay is the span of Policy.Day.
const policyDay = 24 * time.Hour

// PolicyReach is how long ago a transaction may have been proposed that CountsInDay and can have been settled since: the day, and everything that may lie
// between the proposal and the signature, with a day to spare. Older ones that count are unsettled.
const PolicyReach = policyDay + ConfirmWindow + MaxDelay + DelayedSignWindow + 24*time.Hour

// CountsInDay reports whether a payment or swap counts in the last 24 hours of Policy.Day at now. It does if it is confirmed and may still land, and
// if it has landed and was signed within them. Nothing that failed, expired or was rejected does.
func (t Transaction) CountsInDay(now time.Time) bool {
	switch t.Status {
	case Delayed, AwaitingSignature, Signed, Pending:
		return true
	case Confirmed:
		signed := t.SignedAt
		if signed.IsZero() { // found on chain, signed elsewhere
			signed = t.ConfirmedAt
		}
		return now.Sub(signed) < policyDay
	}
	return false
}

// SpentInDay returns what transactions that CountsInDay pay of the token of t, in base units, without t itself. More than 64 bits are math.MaxUint64.
func (t Transaction) SpentInDay(others []Transaction, now time.Time) (sum uint64) {
	for _, o := range others {
		if o.ID == t.ID || limitedMint(o.Token.Mint) != limitedMint(t.Token.Mint) || !o.CountsInDay(now) {
			continue
		}
		var over uint64
		if sum, over = bits.Add64(sum, o.Amount, 0); over > 0 {
			return math.MaxUint64
		}
	}
	return sum
}

// PolicyProof is a policy with the wallet's signature over its PolicyText.
type PolicyProof struct {
	Policy     Policy    `json:"policy"`
	TelegramID int64     `json:"telegram_id"` // of the account in the text
	Nonce      string    `json:"nonce"`
	IssuedAt   time.Time `json:"issued_at"` // UTC, whole seconds
	ExpiresAt  time.Time `json:"expires_at"`
	Signature  Signature `json:"signature"`
	// SignedAt is when the server took the signature; zero in rows of older versions.
	SignedAt time.Time `json:"signed_at,omitzero"`
}

// At returns when the policy was signed, or for rows of older versions when its text was made, at most PolicyWindow before.
func (p PolicyProof) At() time.Time {
	if p.SignedAt.IsZero() {
		return p.IssuedAt
	}
	return p.SignedAt
}

// WalletPolicy is what is stored of the policy of a person's wallet. It outlives the wallet's connection.
type WalletPolicy struct {
	Owner   UserID      `json:"owner"`
	Address Address     `json:"address"`
	State   PolicyState `json:"state"`
	// Signed is the newest policy that the wallet signed and that came into force; nil for none. The current one is the same or stricter.
	Signed *PolicyProof `json:"signed,omitempty"`
	// SignedPending is the signature of State.Pending.
	SignedPending *PolicyProof `json:"signed_pending,omitempty"`
	// Dropped is when a change that the wallet had signed was ended before it came into force; zero if the wallet has signed since. The device that signed
	// it may still keep it: it learns of the end when it opens a payment, or signs again.
	Dropped time.Time `json:"dropped,omitzero"`
}

// SignedAt returns when the wallet signed what is in force now, or a change that waits: the device that did so keeps what it signed. zero: what is in force was never
// signed, and a device may not have it.
func (w WalletPolicy) SignedAt() time.Time {
	switch {
	case w.SignedPending != nil:
		return w.SignedPending.At()
	case w.Signed != nil && w.Signed.Policy.Equal(w.State.Current):
		return w.Signed.At()
	}
	return time.Time{}
}

// At returns what is stored as it stands at a time.
func (w WalletPolicy) At(now time.Time) WalletPolicy {
	state := w.State.At(now)
	if w.State.Pending != nil && state.Pending == nil {
		w.Signed, w.SignedPending = w.SignedPending, nil
	}
	w.State = state
	return w
}

// Narrowed returns w after its owner asked for another policy at now, without a signature: what p forbids is forbidden, and a change that
// waits is dropped. What p allows beyond the current policy it does not get.
func (w WalletPolicy) Narrowed(p Policy, now time.Time) WalletPolicy {
	w = w.WithoutPending(now)
	w.State.Current = p.Intersect(w.State.Current)
	return w
}

// WithoutPending returns w without a change that waits at now.
func (w WalletPolicy) WithoutPending(now time.Time) WalletPolicy {
	w = w.At(now)
	if w.State.Pending != nil {
		w.Dropped = now
	}
	w.State, w.SignedPending = PolicyState{Current: w.State.Current}, nil
	return w
}

// SetSigned returns w after its wallet signed a policy at now (PolicyState.Set). The caller has verified the signature. It replaces a change that waits,
// as the page does that signs: also if the policy is the current one.
func (w WalletPolicy) SetSigned(proof PolicyProof, now time.Time) WalletPolicy {
	w = w.At(now)
	w.Dropped = time.Time{}
	w.State, w.SignedPending = w.State.Set(proof.Policy, now), nil
	if proof.Policy.Equal(w.State.Current) {
		w.Signed = &proof
	} else {
		w.SignedPending = &proof
	}
	return w
}

// PolicyWindow is how long a link to sign a policy can be used.
const PolicyWindow = 10 * time.Minute

// PolicyLink is a link by which a device signs a policy of a wallet. Of its token only the SHA-256 is stored. A person has at most one.
type PolicyLink struct {
	TokenHash [32]byte  `json:"token_hash"`
	User      UserID    `json:"user"`
	Address   Address   `json:"address"`
	Proposed  Policy    `json:"proposed"`
	Nonce     string    `json:"nonce"` // part of the text to sign
	IssuedAt  time.Time `json:"issued_at"`
	ExpiresAt time.Time `json:"expires_at"`
	// SignedAt is when it was signed, and Signature by what, zero before; EffectiveAt is from when the policy holds.
	SignedAt    time.Time `json:"signed_at,omitzero"`
	Signature   Signature `json:"signature,omitzero"`
	EffectiveAt time.Time `json:"effective_at,omitzero"`
}

// OpenAt reports whether the link can be used at now.
func (l PolicyLink) OpenAt(now time.Time) bool { return now.Before(l.ExpiresAt) }

// canonicalText is the part of PolicyText that says what the policy is.
func (p Policy) canonicalText() string {
	p = p.Canonical()
	var b strings.Builder
	limits := func(name string, all []TokenLimit) {
		for _, l := range all {
			if l.Mint.IsZero() {
				fmt.Fprintf(&b, "%s: %d lamports\n", name, l.Units)
			} else {
				fmt.Fprintf(&b, "%s: %d base units of %s\n", name, l.Units, l.Mint)
			}
		}
		if len(all) == 0 {
			fmt.Fprintf(&b, "%s: no limit\n", name)
		}
	}
	limits("Limit per payment", p.Payment)
	limits("Limit per 24 hours", p.Day)
	switch {
	case p.Recipients == nil:
		b.WriteString("Recipients: any\n")
	case len(*p.Recipients) == 0:
		b.WriteString("Recipients: none\n")
	default:
		for _, a := range *p.Recipients {
			fmt.Fprintf(&b, "Recipient: %s\n", a)
		}
	}
	fmt.Fprintf(&b, "New recipients wait: %d hours\n", p.NewRecipientWait/time.Hour)
	return b.String()
}

// PolicyText returns the text that a wallet signs to set its policy. It has another first line than SignInText, so that neither
// signature can stand for the other. The page composes the same text independently. Times are RFC 3339 in UTC with whole seconds; account comes from TelegramAccount.
//
//	{host} wants you to set the spending limits of your Solana wallet:
//	{address}
//
//	Limit per payment: 1000000000 lamports
//	Limit per payment: 100000000 base units of EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v
//	Limit per 24 hours: no limit
//	Recipients: any
//	New recipients wait: 24 hours
//
//	URI: {origin}
//	Version: 1
//	Chain ID: {chain}
//	Account: Telegram account {id}
//	Nonce: {nonce}
//	Issued At: {issued}
//	Expiration Time: {expires}
func PolicyText(host, origin string, address Address, p Policy, account, chain, nonce string, issued, expires time.Time) string {
	return fmt.Sprintf("%s wants you to set the spending limits of your Solana wallet:\n%s\n\n%s\nURI: %s\nVersion: 1\nChain ID: %s\nAccount: %s\nNonce: %s\nIssued At: %s\nExpiration Time: %s",
		host, address, p.canonicalText(), origin, chain, account, nonce, issued.UTC().Format(time.RFC3339), expires.UTC().Format(time.RFC3339))
}
