package wallet

import (
	"errors"
	"fmt"
	"slices"
)

// Kind names what a transaction does. Rules are what the domain knows of it.
type Kind string

// The kinds of today.
const (
	Send    Kind = "send"    // value that leaves a wallet
	Receive Kind = "receive" // a receipt: value that came in
	Request Kind = "request" // a request for payment: it waits for value to come in
)

// ErrUnknownKind tells of a transaction of a kind that this binary does not know. It is never judged: what it spends,
// and how it is recognised on chain, nobody here can say.
var ErrUnknownKind = errors.New("this version of purser does not know this kind of transaction")

// Life is which part of the Lifecycle a kind's transactions live.
type Life string

// The lives of transactions.
const (
	Outgoing Life = "outgoing" // proposed, confirmed and signed by its owner, carried to its end on chain
	Incoming Life = "incoming" // recorded once nothing can take it back, and never changed
	Awaited  Life = "awaited"  // waits for somebody to pay it
)

// changes tells whether a transaction of this life can take a step from a state.
func (l Life) changes(s Status) bool {
	switch l {
	case Outgoing:
		return s.Known() && s != Received && s != Requested
	case Awaited:
		return s == Requested // what it ends as stays: nobody here signed anything that could still land
	}
	return false
}

// Spending is what leaves a transaction's From when it lands.
type Spending struct {
	Lamports uint64 // with the network fee
	Mint     Address
	Units    uint64 // base units of Mint; 0 where only SOL leaves
}

// Announcement is an event of a kind's own, beside those that the Lifecycle announces for every kind.
type Announcement struct {
	Name EventName
	Data any // what is rendered as its `data`
}

// Rules are what the domain knows of one kind of transaction. Its functions are pure, and judge a row by nothing but
// itself. What a kind needs of other packages stands beside it in package product.
type Rules struct {
	Kind Kind
	Life Life
	// Type is what programs see it called (`type` in the API and in events), which is a kind's name: its own unless
	// programs know it as another.
	Type Kind
	// Pays tells that what lands is a payment to To: it makes To known to the owner, and a receipt is written for To's
	// owner if they are ours.
	Pays bool
	// Actions are what it does on chain, in order: exactly one of them is a principal action (chain.Codec). For
	// Outgoing kinds.
	Actions func(Transaction) []Action
	// Spends is what leaves From, held back from Confirm until nothing can change. For Outgoing kinds.
	Spends func(Transaction) Spending
	// Writes are the accounts whose traffic decides what priority fee it must offer. For Outgoing kinds.
	Writes func(Transaction) []Address
	// ComputeUnits is how many compute units it takes at most, with its budget; 0: the network is asked each time.
	ComputeUnits func(Transaction) uint32
	// Landed takes over what its landing tells beyond signature and fee; nil: nothing.
	Landed func(*Transaction, Landing)
	// Announces is the event of its own for a step that was just taken; nil: no step has one.
	Announces func(Transaction, Trigger) (Announcement, bool)
}

// check finds the parts that a kind's life needs.
func (r Rules) check() error {
	complete := r.Actions != nil && r.Spends != nil && r.Writes != nil
	switch {
	case r.Kind == "":
		return errors.New("a kind of transaction has no name")
	case r.Life != Outgoing && r.Life != Incoming && r.Life != Awaited:
		return fmt.Errorf("kind %s: its life is not one that transactions have", r.Kind)
	case r.Life == Outgoing && !complete:
		return fmt.Errorf("kind %s: Actions, Spends and Writes are needed", r.Kind)
	case r.Life != Outgoing && (r.Pays || r.Actions != nil || r.Spends != nil):
		return fmt.Errorf("kind %s: what nobody here signs does and spends nothing", r.Kind)
	}
	return nil
}

// WalletOf is the wallet in whose history t stands: the one that signs it, or the one that it comes to.
func (r Rules) WalletOf(t Transaction) Address {
	if r.Life == Outgoing {
		return t.From
	}
	return t.To
}

// Awaits tells whether t waits for somebody to pay it. Its Deadline may have passed: a payment that was made in time
// is still looked for.
func (r Rules) Awaits(t Transaction) bool { return r.Life == Awaited && !t.Closed }

// Reached tells whether t paid its recipient by its owner's word: it landed, and had not been called
// off before by them (a device had signed it, and kept it).
func (r Rules) Reached(t Transaction) bool {
	return r.Pays && t.Status == Confirmed && !t.LandedAfterCancel()
}

// Query is what to look for to learn what became of t.
func (r Rules) Query(t Transaction) TransactionQuery {
	q := TransactionQuery{Signature: t.Signature, Reference: t.Reference, From: t.From}
	if r.Actions != nil {
		q.Actions = r.Actions(t)
	}
	return q
}

// Apply takes one step of the lifecycle and returns the transaction as it then is, with the events
// that announce the step: those of the Lifecycle, then the kind's own. All belong in one store transaction. A step that
// the lifecycle does not have is a Conflict, and changes nothing.
func (r Rules) Apply(t Transaction, in TransitionInput) (Transaction, []Event, error) {
	if !r.Life.changes(t.Status) {
		return t, nil, &Error{Code: Conflict, Reason: t.Status.Reason(), Err: fmt.Errorf("transaction %s, a %s, is %s", t.ID, r.Kind, t.Status)}
	}
	next, events, err := t.apply(in, r.Type)
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

// Kinds are the kinds of transactions that a binary knows. It does not change, and is safe for concurrent use. The zero
// Kinds knows none.
type Kinds struct {
	byName map[Kind]Rules
}

// NewKinds gathers rules; each must be whole, and no two of one kind.
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
			r.Type = r.Kind
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

// StandardKinds are those that purser has by itself.
func StandardKinds() Kinds {
	k, err := NewKinds(SendRules(), ReceiveRules(), RequestRules())
	if err != nil {
		panic(err) // a test holds them whole
	}
	return k
}

// Of finds the rules of a kind; ErrUnknownKind.
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

// Types lists what programs see the kinds called, sorted.
func (k Kinds) Types() []Kind {
	var out []Kind
	for _, r := range k.byName {
		if !slices.Contains(out, r.Type) {
			out = append(out, r.Type)
		}
	}
	slices.Sort(out)
	return out
}

// Apply is Rules.Apply of t's kind.
func (k Kinds) Apply(t Transaction, in TransitionInput) (Transaction, []Event, error) {
	r, err := k.Of(t.Kind)
	if err != nil {
		return t, nil, err
	}
	return r.Apply(t, in)
}

// Query is Rules.Query of t's kind.
func (k Kinds) Query(t Transaction) (TransactionQuery, error) {
	r, err := k.Of(t.Kind)
	if err != nil {
		return TransactionQuery{}, err
	}
	return r.Query(t), nil
}

// ReceiveRules are those of a receipt. What it tells was final when it was written.
func ReceiveRules() Rules { return Rules{Kind: Receive, Life: Incoming} }

// RequestRules are those of a request for payment. Programs know it as a payment to come in.
func RequestRules() Rules { return Rules{Kind: Request, Life: Awaited, Type: Receive} }
