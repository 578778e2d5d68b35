package wallet

import (
	"slices"
	"strings"
	"time"
)

// Verdict is what a fraud rule says of a proposal. Verdicts are ordered: each includes what the lesser ones do.
type Verdict int

// The verdicts, the least first. Stored rows hold the numbers, with room between them.
const (
	NoVerdict     Verdict = 10 * iota // nothing was found
	NoteVerdict                       // the owner reads it before they confirm
	WarnVerdict                       // the owner must type something to confirm it (Transaction.Typing)
	DelayVerdict                      // it also waits after Confirm, and can be cancelled meanwhile (Finding.Wait)
	RefuseVerdict                     // it is not possible: POLICY_VIOLATION
)

// String returns the name of the verdict; "" for NoVerdict.
func (v Verdict) String() string {
	switch v {
	case NoteVerdict:
		return "note"
	case WarnVerdict:
		return "warn"
	case DelayVerdict:
		return "delay"
	case RefuseVerdict:
		return "refuse"
	}
	return ""
}

// Finding is what one rule found in one proposal.
type Finding struct {
	Rule    RuleName      `json:"rule"`
	Verdict Verdict       `json:"verdict"`
	Reason  Reason        `json:"reason"`
	Wait    time.Duration `json:"wait,omitzero"` // of a DelayVerdict: how long it waits after Confirm
}

// Channel is where a proposal came in.
type Channel string

// The channels.
const (
	ChannelChat Channel = "chat" // the owner, in chat
	ChannelKey  Channel = "key"  // an API key of the owner's own
	ChannelApp  Channel = "app"  // an app of somebody else that the owner allowed to propose payments
)

// RuleInput are everything that the rules judge a proposal by. They are plain data: who collects them reads the clock, the store
// and the chain. What is not known stays zero, and rules that need it find nothing.
type RuleInput struct {
	Transaction Transaction // with its fee and terms
	Pays        bool        // it is a payment to Transaction.To (Rules.Pays)
	Channel     Channel
	Person      bool   // it has an owner, who can be notified and asked
	Value       Worth  // of the amount; of an unlisted token never known
	Left        uint64 // base units of the token that remain after it and are not reserved
	// Large is from which value on a payment is large for the owner (Settings.Large), in dollars; 0: unknown.
	Large USD
	Mint  *Mint // of the token, as the chain has it; nil for SOL
	// Accounts are the token accounts that it takes from and brings to, as the chain has them; none for SOL.
	Accounts []TokenAccount

	// Policy is what the owner allows the wallet to pay, SpentInDay what it paid of the token in the day that Policy.Day means (Transaction.SpentInDay), and
	// PaidBefore whether it paid Transaction.To before. The last two are known only if Policy needs them.
	Policy     Policy
	SpentInDay uint64
	PaidBefore bool

	Own      []Address // the owner's wallets
	Contacts []Contact
	Paid     []Address // recipients of the owner's earlier payments
	Planted  bool      // all that the recipient ever sent to the owner was suspicious (Suspicion)
	// NewDevice is when a link of the owner's was last opened on a device that was not seen before; zero: unknown, or they only ever had one.
	NewDevice time.Time
	// Recent are the owner's payments to others of the last PastSpan, without this one, the newest first.
	Recent []PastPayment

	Now       time.Time
	LocalHour int        // of Now by the owner's clock; -1: they chose no time zone
	suspect   *suspicion // of Suspect, once it was asked
	// Blocked reports whether the operator has blocked an address (fraud.addresses). nil: none.
	Blocked func(Address) bool
}

// suspicion is what RuleInput.Suspect found.
type suspicion struct {
	seems Address
	is    bool
}

// PastSpan is how far back the rules look at a person's own payments.
const PastSpan = 30 * 24 * time.Hour

// PastPayment is an earlier payment of the owner's, confirmed by them at least.
type PastPayment struct {
	At    time.Time // when it was proposed
	To    Address
	Mint  Address // zero for SOL
	Value Worth   // at today's price
}

// known reports whether the owner has chosen to deal with an address (docs/decisions/0010).
func (f *RuleInput) known(a Address) bool {
	return slices.Contains(f.Paid, a) || f.chosen(a)
}

// chosen reports whether an address is the owner's own, or a contact.
func (f *RuleInput) chosen(a Address) bool {
	return slices.Contains(f.Own, a) || slices.ContainsFunc(f.Contacts, func(c Contact) bool { return c.Address == a })
}

// knownAddresses lists all addresses that the owner has chosen to deal with.
func (f *RuleInput) knownAddresses() []Address {
	all := slices.Concat(f.Paid, f.Own)
	for _, c := range f.Contacts {
		all = append(all, c.Address)
	}
	return all
}

// toStranger reports whether a person pays an address that they do not know.
func (f *RuleInput) toStranger() bool { return f.Pays && f.Person && !f.known(f.Transaction.To) }

// large reports whether the payment is worth at least n times what is large for its owner. Without a price it is not.
func (f *RuleInput) large(n uint64) bool {
	return f.Large > 0 && !f.Value.Unknown && uint64(f.Value.USD)/n >= uint64(f.Large)
}

// Rule is one fraud rule: a name, and a pure function of the facts.
type Rule struct {
	Name RuleName
	// Verdicts are those that it can give, the least first.
	Verdicts []Verdict
	// Private means that the finding depends on the owner's contacts, payments or settings: apps of others must not learn of it,
	// since they could use it to find out whom the owner knows.
	Private bool
	// Recipient means that the finding is about who is paid: the owner then types part of the recipient's address.
	Recipient bool
	// AsksOwner means that a payment which a program signs by itself is shown to its owner if this rule warns. Other warnings
	// are only returned to the program.
	AsksOwner bool
	// Binding means that it holds for a payment that a program signs by itself too: its owner has decided so.
	Binding bool
	// Judge returns what it finds; NoVerdict for nothing.
	Judge func(*RuleInput) Finding
}

// Judge applies rules to the facts. It returns what they found, in their order.
func Judge(f RuleInput, rules []Rule) (found []Finding) {
	for _, r := range rules {
		if finding := r.Judge(&f); finding.Verdict != NoVerdict {
			finding.Rule = r.Name
			found = append(found, finding)
		}
	}
	return found
}

// Refusal returns POLICY_VIOLATION with the reason of the first finding that refuses; nil if none does.
func Refusal(found []Finding) error {
	for _, f := range found {
		if f.Verdict == RefuseVerdict {
			return RefuseFor(PolicyViolation, f.Reason)
		}
	}
	return nil
}

// RefusedByPrivateRule is the key of the reason that an app of somebody else gets instead of what a Private rule says.
const RefusedByPrivateRule = "rule.limit_general"

// RefusalTo is Refusal as the one who proposed it may learn it. What a Private rule says is the owner's alone: an app of somebody else gets a general reason.
func RefusalTo(channel Channel, found []Finding) error {
	if channel == ChannelApp {
		if at := slices.IndexFunc(found, func(f Finding) bool { return f.Verdict == RefuseVerdict }); at >= 0 {
			if rule, ok := ruleNamed(found[at].Rule); !ok || rule.Private {
				return Refuse(PolicyViolation, RefusedByPrivateRule)
			}
		}
	}
	return Refusal(found)
}

// Worst returns the gravest verdict of several findings.
func Worst(found []Finding) (worst Verdict) {
	for _, f := range found {
		worst = max(worst, f.Verdict)
	}
	return worst
}

// AsksOwner reports whether a payment with these findings is shown to its owner though a program could sign it alone.
func AsksOwner(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool {
		rule, ok := ruleNamed(f.Rule)
		return ok && rule.AsksOwner && f.Verdict >= WarnVerdict
	})
}

// AsNotes returns findings for a payment that a program signs by itself: nobody can type, so they are notes, but for those of rules that bind
// programs as well.
func AsNotes(found []Finding) []Finding {
	out := slices.Clone(found)
	for i := range out {
		if rule, ok := ruleNamed(out[i].Rule); ok && rule.Binding {
			continue
		}
		out[i].Verdict, out[i].Wait = min(out[i].Verdict, NoteVerdict), 0
	}
	return out
}

// Found returns t with what the rules found instead of earlier findings. It waits for as long as one of them says, or longer if
// something else says so: a delay never gets shorter.
func (t Transaction) Found(found []Finding) Transaction {
	t.Findings = found
	for _, f := range found {
		if f.Wait > t.DelayFor {
			t.DelayFor, t.DelayReason = f.Wait, f.Reason
		}
	}
	return t
}

// Worse returns whether newer findings contain something that its owner was not shown and must know: a rule that warns now, or
// whose verdict is graver than at the proposal. It ignores new notes: they would ask twice for little.
func (t Transaction) Worse(newer []Finding) bool {
	return slices.ContainsFunc(newer, func(n Finding) bool {
		return n.Verdict >= WarnVerdict && !slices.ContainsFunc(t.Findings, func(shown Finding) bool {
			return shown.Rule == n.Rule && shown.Verdict >= n.Verdict
		})
	})
}

// Warnings returns the names of the rules that found something, in their order.
func (t Transaction) Warnings() (names []RuleName) {
	for _, f := range t.Findings {
		names = append(names, f.Rule)
	}
	return names
}

// PublicFindings returns the findings that an app of somebody else may learn of.
func (t Transaction) PublicFindings() (out []Finding) {
	for _, f := range t.Findings {
		if rule, ok := ruleNamed(f.Rule); ok && !rule.Private {
			out = append(out, f)
		}
	}
	return out
}

// Typing is what an owner types to confirm a transaction.
type Typing string

// The values of Typing.
const (
	TypesNothing Typing = ""
	TypesAddress Typing = "address" // Address.Middle of the recipient
	TypesAmount  Typing = "amount"  // the amount, as Money prints it
)

// Typing returns what the owner has to type to confirm t, once for all findings. If one of them is about the recipient, it is a part
// of the recipient's address, so that they read it. Otherwise it is the amount.
func (t Transaction) Typing() Typing {
	typing := TypesNothing
	if !t.PoisoningSuspect.IsZero() {
		return TypesAddress
	}
	for _, f := range t.Findings {
		if f.Verdict < WarnVerdict {
			continue
		}
		if rule, ok := ruleNamed(f.Rule); ok && rule.Recipient {
			return TypesAddress
		}
		typing = TypesAmount
	}
	return typing
}

// TypedFor returns nil if typed is what the owner must type to confirm t (Typing). Otherwise it is POLICY_VIOLATION.
func (t Transaction) TypedFor(typed string) error {
	switch t.Typing() {
	case TypesAddress:
		// Case is ignored: phones begin a message with a capital.
		if _, middle := t.To.Middle(); strings.EqualFold(typed, middle) {
			return nil
		}
		if t.PoisoningSuspect.IsZero() {
			return Refuse(PolicyViolation, "proposal.type_address")
		}
		return Refuse(PolicyViolation, "recipient.poisoned")
	case TypesAmount:
		amount := strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(typed, " ", ""), ",", "."))
		if strings.TrimSuffix(amount, strings.ToLower(t.Token.Symbol)) == t.Money().String() {
			return nil
		}
		return Refuse(PolicyViolation, "proposal.type_amount", AmountArg("Amount", t.Money()), TextArg("Token", t.Token.Name()))
	}
	return nil
}

// ruleNamed finds a rule of FraudRules; false for a name that this binary does not know.
func ruleNamed(name RuleName) (Rule, bool) {
	all := FraudRules()
	at := slices.IndexFunc(all, func(r Rule) bool { return r.Name == name })
	if at < 0 {
		return Rule{}, false
	}
	return all[at], true
}
