package wallet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policy is what a person allows one of their wallets to pay (docs/decisions/0054). The zero value allows everything.
// Server and signing page enforce it independently of each other.
type Policy struct {
	Payment    []TokenLimit  `json:"payment,omitempty"`    // the most that one payment or swap may pay, by token
	Day        []TokenLimit  `json:"day,omitempty"`        // the most that all within any 24 hours may pay, by token
	Recipients *[]Address    `json:"recipients,omitempty"` // the only ones that may be paid, at most MaxAllowed; nil: anybody
	NewWait    time.Duration `json:"new_wait,omitzero"`    // how long a payment to a recipient who was never paid waits, whole hours
}

// TokenLimit is the most that may be paid of one token.
type TokenLimit struct {
	Mint  Address `json:"mint"` // zero: SOL
	Units uint64  `json:"units,string"`
}

// Bounds of a Policy.
const (
	MaxTokenLimits = 20             // of each kind
	MaxAllowed     = 50             // addresses in Policy.Recipients
	MaxNewWait     = MaxDelay       // of Policy.NewWait
	PolicyDelay    = 24 * time.Hour // how long a signed Policy that allows more waits
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

// Meet returns the policy that allows exactly what both allow: of each limit the lower one, of the recipients those in both, and the
// longer wait.
func (p Policy) Meet(q Policy) Policy {
	met := Policy{Payment: slices.Concat(p.Payment, q.Payment), Day: slices.Concat(p.Day, q.Day), Recipients: p.Recipients, NewWait: max(p.NewWait, q.NewWait)}
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
func (p Policy) Loosens(current Policy) bool { return !p.Meet(current).Equal(p) }

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
	return PolicyState{Current: p.Meet(current), Pending: &p, PendingFrom: now.Add(PolicyDelay)}
}

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
	limits("Most in one payment", p.Payment)
	limits("Most in 24 hours", p.Day)
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
	fmt.Fprintf(&b, "New recipients wait: %d hours\n", p.NewWait/time.Hour)
	return b.String()
}

// PolicyText returns the text that a wallet signs to set its policy. It has another first line than SignInText, so that neither
// signature can stand for the other. The page composes the same text independently. Times are RFC 3339 in UTC with whole seconds; account comes from TelegramAccount.
//
//	{host} wants you to set the spending limits of your Solana wallet:
//	{address}
//
//	Most in one payment: 1000000000 lamports
//	Most in one payment: 100000000 base units of EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v
//	Most in 24 hours: no limit
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
