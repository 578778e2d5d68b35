package wallet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind names a type of transaction. Rules hold what the domain knows of it.
type Kind string

// The built-in kinds.
const (
	Send    Kind = "send"    // value leaves a wallet
	Receive Kind = "receive" // a receipt of value that came in
	Request Kind = "request" // a payment request, which waits for value to come in
)

// ErrUnknownKind means that a transaction has a kind that this binary does not know. It is left alone: nobody here can
// say what it spends or how to recognize it on chain.
var ErrUnknownKind = errors.New("this version of purser does not know this kind of transaction")

// Life is the part of the Lifecycle that transactions of a kind go through.
type Life string

// The lives.
const (
	Outgoing Life = "outgoing" // proposed, confirmed and signed by the owner, then settled on chain
	Incoming Life = "incoming" // recorded after it is final, and never changed
	Awaited  Life = "awaited"  // waits to be paid by somebody
)

// changes reports whether a transaction of this life can leave a state.
func (l Life) changes(s Status) bool {
	switch l {
	case Outgoing:
		return s.Known() && s != Received && s != Requested
	case Awaited:
		return s == Requested // its other states are final: nothing was signed here that could still land
	}
	return false
}

// Spending is what leaves the sender when a transaction lands.
type Spending struct {
	Lamports uint64 // including the network fee
	Mint     Address
	Units    uint64 // base units of Mint; 0 if only SOL leaves
}

// Announcement is an event that a kind emits in addition to those of the Lifecycle.
type Announcement struct {
	Name EventName
	Data any // rendered as JSON into the event's data
}

// Rules are what the domain knows of one kind. The functions are pure: they use nothing but the transaction. What other
// packages need of a kind is in package product.
type Rules struct {
	Kind Kind
	Life Life
	// Type is the kind as programs see it (type in the API and in events). It defaults to Kind.
	Type EntryType
	// Pays means that a landed transaction is a payment to To. To then counts as known to the owner, and its owner gets a
	// receipt if the wallet is connected here.
	Pays bool
	// Actions returns what it does on chain, in order. Exactly one is the principal action (chain.Codec). Required for
	// Outgoing kinds.
	Actions func(Transaction) []Action
	// Spends returns what leaves From. It is reserved from Confirm until the transaction is closed. Required for Outgoing
	// kinds.
	Spends func(Transaction) Spending
	// Writes returns the accounts by whose recent traffic the priority fee is chosen. Required for Outgoing kinds.
	Writes func(Transaction) []Address
	// CheckTerms refuses terms that the kind would not write, with ErrTerms. The store asks it of every row that it reads or
	// writes, so the other functions can rely on it. nil: the kind has no terms.
	CheckTerms func(Transaction) error
	// SignWindow is how long it can be signed after Confirm. It defaults to the constant of the same name.
	SignWindow time.Duration
	// CanWait means that its terms still hold after a delay of hours or days. A kind that cannot wait is refused where it would
	// have to (Transaction.DelayFor): a quote does not outlive a delay.
	CanWait bool
	// ComputeUnits returns the most compute units it can use, including its budget instructions. 0 means unknown: the
	// simulation decides.
	ComputeUnits func(Transaction) uint32
	// Landed copies details of a landing, beyond signature and fee, into the transaction. nil: none.
	Landed func(*Transaction, Landing)
	// ChangesStakes means that a landed transaction changes the stakes of From: they are read when it is final.
	ChangesStakes bool
	// Announces returns the kind's own event for the step just taken; false for none. nil: the kind has no events.
	Announces func(Transaction, Trigger) (Announcement, bool)
}

// check reports a part that is missing or that does not fit the kind's life.
func (r Rules) check() error {
	complete := r.Actions != nil && r.Spends != nil && r.Writes != nil
	switch {
	case r.Kind == "":
		return errors.New("a kind of transaction has no name")
	case r.Life != Outgoing && r.Life != Incoming && r.Life != Awaited:
		return fmt.Errorf("kind %s: its life is not one that transactions have", r.Kind)
	case r.Life == Outgoing && !complete:
		return fmt.Errorf("kind %s: Actions, Spends and Writes are needed", r.Kind)
	case r.Life != Outgoing && (r.Pays || r.CanWait || r.Actions != nil || r.Spends != nil):
		return fmt.Errorf("kind %s: what nobody here signs does and spends nothing", r.Kind)
	}
	return nil
}

// CheckDelay refuses a transaction that would have to wait although its kind cannot (POLICY_VIOLATION).
func (r Rules) CheckDelay(t Transaction) error {
	if t.DelayFor > 0 && !r.CanWait {
		return Refuse(PolicyViolation, "delay.cannot_wait")
	}
	return nil
}

// WalletOf returns the wallet in whose history t appears: the sender of an outgoing one, otherwise the recipient.
func (r Rules) WalletOf(t Transaction) Address {
	if r.Life == Outgoing {
		return t.From
	}
	return t.To
}

// Awaits reports whether t waits to be paid. Its Deadline may have passed: payments made in time are still searched for.
func (r Rules) Awaits(t Transaction) bool { return r.Life == Awaited && !t.Closed }

// Reached reports whether t paid its recipient and its owner had not cancelled it before. A device can sign a
// transaction, keep it, and broadcast it after the owner cancelled.
func (r Rules) Reached(t Transaction) bool {
	return r.Pays && t.Status == Confirmed && !t.LandedAfterCancel()
}

// Check returns ErrTerms for a transaction whose terms are not those of the kind.
func (r Rules) Check(t Transaction) error {
	switch {
	case len(t.Terms) > MaxTerms:
		return fmt.Errorf("%w: %d bytes", ErrTerms, len(t.Terms))
	case r.CheckTerms != nil:
		return r.CheckTerms(t)
	case len(t.Terms) > 0:
		return fmt.Errorf("%w: %s has none", ErrTerms, r.Kind)
	}
	return nil
}

// Query returns how to find t on chain.
func (r Rules) Query(t Transaction) TransactionQuery {
	q := TransactionQuery{Signature: t.Signature, Reference: t.Reference, From: t.From}
	if r.Actions != nil {
		q.Actions = r.Actions(t)
	}
	return q
}

// Apply takes one step of the lifecycle. It returns the changed transaction and the events of the step: those of the
// Lifecycle, then the kind's own. Store all of them in one store transaction. A step that the lifecycle does not allow is
// CONFLICT, and t is returned unchanged.
func (r Rules) Apply(t Transaction, in TransitionInput) (Transaction, []Event, error) {
	if !r.Life.changes(t.Status) {
		return t, nil, &Error{Code: Conflict, Reason: t.Status.Reason(), Err: fmt.Errorf("transaction %s, a %s, is %s", t.ID, r.Kind, t.Status)}
	}
	if in.By == OwnerConfirmed {
		if err := r.CheckDelay(t); err != nil {
			return t, nil, err
		}
	}
	next, events, err := t.apply(in, r)
	if err != nil {
		return t, nil, err
	}
	if in.Landing != nil && r.Landed != nil {
		r.Landed(&next, *in.Landing)
	}
	if r.Announces == nil {
		return next, events, nil
	}
	own, ok := r.Announces(next, in.By)
	if !ok {
		return next, events, nil
	}
	event, err := NewEvent(next.eventID(next.Changes, len(events)), own.Name, in.At, next.Owner, own.Data)
	if err != nil {
		return t, nil, err
	}
	event.Transaction = next.ID
	return next, append(events, event), nil
}

// Kinds is the immutable set of kinds that a binary knows. It is safe for concurrent use. The zero value knows none.
type Kinds struct {
	byName map[Kind]Rules
}

// NewKinds returns the set of these kinds. It refuses incomplete rules and duplicates, and fills in defaults for optional
// functions.
func NewKinds(all ...Rules) (Kinds, error) {
	k := Kinds{byName: make(map[Kind]Rules, len(all))}
	for _, r := range all {
		if err := r.check(); err != nil {
			return Kinds{}, err
		}
		if _, twice := k.byName[r.Kind]; twice {
			return Kinds{}, fmt.Errorf("kind %s is there twice", r.Kind)
		}
		if r.Type == "" {
			r.Type = EntryType(r.Kind)
		}
		if r.Spends == nil {
			r.Spends = func(Transaction) Spending { return Spending{} }
		}
		if r.ComputeUnits == nil {
			r.ComputeUnits = func(Transaction) uint32 { return 0 }
		}
		k.byName[r.Kind] = r
	}
	return k, nil
}

// Of returns the rules of a kind, or ErrUnknownKind.
func (k Kinds) Of(kind Kind) (Rules, error) {
	r, ok := k.byName[kind]
	if !ok {
		return Rules{}, fmt.Errorf("%w: %q", ErrUnknownKind, kind)
	}
	return r, nil
}

// Names lists the kinds, sorted.
func (k Kinds) Names() []Kind {
	out := make([]Kind, 0, len(k.byName))
	for kind := range k.byName {
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

// Types lists the kinds as programs see them, sorted.
func (k Kinds) Types() []EntryType {
	var out []EntryType
	for _, r := range k.byName {
		if !slices.Contains(out, r.Type) {
			out = append(out, r.Type)
		}
	}
	slices.Sort(out)
	return out
}

// EntryTypes lists the types of all entries of a history, each once and sorted: those of the kinds, and those that only an Activity
// has.
func (k Kinds) EntryTypes() []EntryType {
	out := append(k.Types(), activityTypes()...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Apply is Rules.Apply for t's kind. ErrUnknownKind.
func (k Kinds) Apply(t Transaction, in TransitionInput) (Transaction, []Event, error) {
	r, err := k.Of(t.Kind)
	if err != nil {
		return t, nil, err
	}
	return r.Apply(t, in)
}

// Query is Rules.Query for t's kind. ErrUnknownKind.
func (k Kinds) Query(t Transaction) (TransactionQuery, error) {
	r, err := k.Of(t.Kind)
	if err != nil {
		return TransactionQuery{}, err
	}
	return r.Query(t), nil
}

// ReceiveRules returns the rules of receipts. A receipt is written when its payment is final, so it never changes.
func ReceiveRules() Rules { return Rules{Kind: Receive, Life: Incoming} }

// RequestRules returns the rules of payment requests. Programs see them as incoming payments.
func RequestRules() Rules { return Rules{Kind: Request, Life: Awaited, Type: EntryType(Receive)} }
