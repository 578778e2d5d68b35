package wallet

import (
	"slices"
	"time"
)

// AppID identifies a developer's app ("app_..."). It is public: consent links contain it.
type AppID string

// App is a program that acts for people who granted it access (docs/specification.md, Whose data). Name and Purpose were
// written by its developer and are not verified.
type App struct {
	ID        AppID     `json:"id"`
	Owner     UserID    `json:"owner"` // "" for an operator's app
	Name      string    `json:"name"`
	Purpose   string    `json:"purpose"`
	Scopes    []Scope   `json:"scopes"` // what it requests
	CreatedAt time.Time `json:"created_at"`
}

// Grant is the access that one person granted to one app.
//
// Events is which events about the person the app wants; nil means all that it may get. It belongs to the app, does not
// affect what the person gets in chat, and ends with the grant. A key that needs no grant (its owner's own, or an
// operator's) keeps its Events in a Grant without scopes, which allows nothing.
type Grant struct {
	User      UserID         `json:"user"`
	App       AppID          `json:"app"` // AppOrLineage for a key without an app
	Scopes    []Scope        `json:"scopes"`
	GrantedAt time.Time      `json:"granted_at"`
	Events    *Notifications `json:"events,omitempty"`
}

// AppOrLineage returns the ID under which a key's choice of events are stored: its app, shared by all keys of the app, or its
// lineage if it has no app.
func (k Key) AppOrLineage() AppID {
	if k.App != "" {
		return k.App
	}
	return AppID(k.Lineage())
}

// Covers reports whether the grant includes a scope.
func (g Grant) Covers(scope Scope) bool { return slices.Contains(g.Scopes, scope) }

// Verification is one step of verifying a developer (verification.steps).
type Verification string

// The steps (docs/settings.md).
const (
	ByContact  Verification = "contact"  // their own phone number, shared in Telegram
	ByEmail    Verification = "email"    // a code sent to their address
	ByWallet   Verification = "wallet"   // a wallet that they connected
	ByApproval Verification = "approval" // an operator's approval
)

// Verifications lists the steps in the order in which they are completed.
func Verifications() []Verification {
	return []Verification{ByContact, ByEmail, ByWallet, ByApproval}
}

// Sensitive lists the scopes that need an operator's approval, if there are operators, because they act in other people's
// chats. A command also writes there, and may propose a payment.
func Sensitive() []Scope { return []Scope{WalletSend, BotSend, BotExecute, BotMessages} }

// ProOnly lists the scopes that have no effect on the free tier.
func ProOnly() []Scope { return []Scope{Webhooks} }

// Developer is what is known of a person who requested access to the API. A phone number is not stored, only that one was
// shared.
type Developer struct {
	User       UserID     `json:"user"`
	Email      string     `json:"email"`       // verified; "" for none
	AcceptedAt time.Time  `json:"accepted_at"` // when they accepted the terms; zero: not yet
	Verified   []Verified `json:"verified"`

	Approvals []Approval     `json:"approvals"`           // one for each approved app
	Request   *AccessRequest `json:"request,omitempty"`   // what they want keys for; nil: nothing
	MailCode  *MailCode      `json:"mail_code,omitempty"` // the last mailed code; nil: none, or it was entered correctly
}

// Approval is an operator's approval of one app with the name and purpose that the operator saw. It covers no other app
// and no other scopes. The store seals it.
type Approval struct {
	App     string    `json:"app"`
	Purpose string    `json:"purpose"`
	Scopes  []Scope   `json:"scopes"` // the approved scopes
	Tier    Tier      `json:"tier"`   // of the keys created for the app
	At      time.Time `json:"at"`
}

// Approval returns the approval of an app with a purpose; the zero value if there is none.
func (d Developer) Approval(app, purpose string) Approval {
	for _, a := range d.Approvals {
		if a.App == app && a.Purpose == purpose {
			return a
		}
	}
	return Approval{}
}

// Approve returns d with an approval added. Scopes approved earlier for the same app and purpose remain. An approval for
// another purpose of the app ends.
func (d Developer) Approve(yes Approval) Developer {
	for _, scope := range d.Approval(yes.App, yes.Purpose).Scopes {
		if !slices.Contains(yes.Scopes, scope) {
			yes.Scopes = append(slices.Clone(yes.Scopes), scope)
		}
	}
	d.Approvals = append(slices.DeleteFunc(slices.Clone(d.Approvals), func(a Approval) bool { return a.App == yes.App }), yes)
	return d
}

// MailCode is a code that was mailed. Only its salted hash is stored. Six digits are easily found from a hash, so the
// store also seals it.
type MailCode struct {
	Address string    `json:"address"`
	Salt    []byte    `json:"salt"`
	Hash    []byte    `json:"hash"`
	Until   time.Time `json:"until"`
	Tries   int       `json:"tries"` // wrong entries so far
	Input   string    `json:"input"` // the input in chat that asked for it: handling that input again mails nothing
}

// AccessRequest is what a developer wants keys for. It is stored until the keys are created, because an approval may take
// longer than a conversation. The store seals it.
type AccessRequest struct {
	App         string    `json:"app"` // the app's name
	Purpose     string    `json:"purpose"`
	Kinds       []KeyKind `json:"kinds"`
	Scopes      []Scope   `json:"scopes"`
	Pro         bool      `json:"pro"`          // keys of the pro tier
	Abandoned   bool      `json:"abandoned"`    // the developer stopped: offer it next time instead of resuming it
	ID          string    `json:"id"`           // of the pending request for approval; "" for none
	RequestedAt time.Time `json:"requested_at"` // when approval was requested; zero if none is pending
}

// Leave returns a copy of r that is no longer pending, to be offered next time.
func (r *AccessRequest) Leave() *AccessRequest {
	left := *r
	left.ID, left.RequestedAt, left.Abandoned = "", time.Time{}, true
	return &left
}

// Waits reports whether an approval is pending.
func (r *AccessRequest) Waits() bool { return r != nil && r.ID != "" }

// Verified is a completed step.
type Verified struct {
	By Verification `json:"by"`
	At time.Time    `json:"at"`
}

// Has reports whether a step was completed.
func (d Developer) Has(step Verification) bool {
	return slices.ContainsFunc(d.Verified, func(v Verified) bool { return v.By == step })
}

// With returns d with a step completed at a time. A step that was completed before keeps its time.
func (d Developer) With(step Verification, at time.Time) Developer {
	if !d.Has(step) {
		d.Verified = append(slices.Clone(d.Verified), Verified{step, at})
	}
	return d
}
