package wallet

import (
	"slices"
	"time"
)

// AppID names a developer's program ("app_…"). It is no secret: links that ask for consent hold it.
type AppID string

// App is a program that acts for people who have allowed it (docs/specification.md, Whose data). Name and Purpose
// are its developer's own words.
type App struct {
	ID        AppID     `json:"id"`
	Owner     UserID    `json:"owner"` // "" for an operator's
	Name      string    `json:"name"`
	Purpose   string    `json:"purpose"`
	Scopes    []Scope   `json:"scopes"` // what it asks people for
	CreatedAt time.Time `json:"created_at"`
}

// Grant is one person's permission to an app. Scopes are what the app asked for when it was given.
//
// Wish is which events about the person the app wants; nil: all that it may have. It is the app's own
// setting, says nothing of what the person is told, and ends with the grant. A key that needs no grant (its
// owner's own, an operator's) keeps its wish in a Grant without scopes, which allows nothing.
type Grant struct {
	User      UserID         `json:"user"`
	App       AppID          `json:"app"` // for a key of no app: WishHolder
	Scopes    []Scope        `json:"scopes"`
	GrantedAt time.Time      `json:"granted_at"`
	Wish      *Notifications `json:"wish,omitempty"`
}

// WishHolder is under which app a key's wishes are kept: its own, which all keys of the app share, or, for a
// key of no app, one that stands for its line alone.
func (k Key) WishHolder() AppID {
	if k.App != "" {
		return k.App
	}
	return AppID(k.Lineage())
}

// Covers tells whether the grant allows a family of operations.
func (g Grant) Covers(scope Scope) bool { return slices.Contains(g.Scopes, scope) }

// Verification is one step by which a developer's identity is verified (verification.steps).
type Verification string

// The steps (docs/settings.md).
const (
	ByContact  Verification = "contact"  // their own phone number, shared in Telegram
	ByEmail    Verification = "email"    // a code sent by mail
	ByWallet   Verification = "wallet"   // a wallet that they have proven to hold
	ByApproval Verification = "approval" // an operator's word
)

// Verifications lists the steps in the order in which they are taken.
func Verifications() []Verification {
	return []Verification{ByContact, ByEmail, ByWallet, ByApproval}
}

// Sensitive lists the scopes that need an operator's word where there are operators to give it: they
// reach into other people's chats. A command that is run writes there, and may propose a payment.
func Sensitive() []Scope { return []Scope{WalletSend, BotSend, BotExecute, BotMessages} }

// ProOnly lists the scopes that open nothing for a key of the free tier.
func ProOnly() []Scope { return []Scope{Webhooks} }

// Developer is a person who asked for access to the API, and what is known of them. Of a phone number
// only that it was shared is kept.
type Developer struct {
	User       UserID     `json:"user"`
	Email      string     `json:"email"`       // proven; "" for none
	AcceptedAt time.Time  `json:"accepted_at"` // the terms; zero: not yet
	Verified   []Verified `json:"verified"`

	Approvals []Approval     `json:"approvals"`           // one for each app that operators said yes to
	Request   *AccessRequest `json:"request,omitempty"`   // what they are about to have keys for; nil: nothing
	MailCode  *MailCode      `json:"mail_code,omitempty"` // that was mailed last; nil: none, or it was the right one
}

// Approval is an operator's yes to one app of a developer, by the name and purpose that the operator was
// shown: it covers no other app, and no right beyond those. The store seals it.
type Approval struct {
	App     string    `json:"app"`
	Purpose string    `json:"purpose"`
	Scopes  []Scope   `json:"scopes"` // that were asked for
	Tier    Tier      `json:"tier"`   // of the keys that are made for the app
	At      time.Time `json:"at"`
}

// Approval is the operators' word on an app; the zero value for none.
func (d Developer) Approval(app, purpose string) Approval {
	for _, a := range d.Approvals {
		if a.App == app && a.Purpose == purpose {
			return a
		}
	}
	return Approval{}
}

// Approve is d with an operator's yes. One to the same app and purpose before keeps what it allowed; one to
// another purpose of the app is over.
func (d Developer) Approve(yes Approval) Developer {
	for _, scope := range d.Approval(yes.App, yes.Purpose).Scopes {
		if !slices.Contains(yes.Scopes, scope) {
			yes.Scopes = append(slices.Clone(yes.Scopes), scope)
		}
	}
	d.Approvals = append(slices.DeleteFunc(slices.Clone(d.Approvals), func(a Approval) bool { return a.App == yes.App }), yes)
	return d
}

// MailCode is a code on its way to a mail address. The code itself is not in it: six digits are soon
// guessed from a hash, so the store seals this as well.
type MailCode struct {
	Address string    `json:"address"`
	Salt    []byte    `json:"salt"`
	Hash    []byte    `json:"hash"`
	Until   time.Time `json:"until"`
	Tries   int       `json:"tries"` // wrong ones
}

// AccessRequest is what a developer wants keys for, kept until they are made: an operator's word may
// take longer than any conversation. The store seals it.
type AccessRequest struct {
	App     string    `json:"app"` // its name
	Purpose string    `json:"purpose"`
	Kinds   []KeyKind `json:"kinds"`
	Scopes  []Scope   `json:"scopes"`
	Pro     bool      `json:"pro"`      // keys of the tier pro
	Left    bool      `json:"left"`     // they stopped: it is offered the next time, and not gone on with
	ID      string    `json:"id"`       // of the question to the operators; "" when none waits
	AskedAt time.Time `json:"asked_at"` // when they were asked; zero when no question waits
}

// Leave is r as it is offered the next time.
func (r *AccessRequest) Leave() *AccessRequest {
	left := *r
	left.ID, left.AskedAt, left.Left = "", time.Time{}, true
	return &left
}

// Waits tells whether an operator's word is waited for.
func (r *AccessRequest) Waits() bool { return r != nil && r.ID != "" }

// Verified is a step that was taken.
type Verified struct {
	By Verification `json:"by"`
	At time.Time    `json:"at"`
}

// Has tells whether a step was taken.
func (d Developer) Has(step Verification) bool {
	return slices.ContainsFunc(d.Verified, func(v Verified) bool { return v.By == step })
}

// With is d with a step taken at a time; one that was taken before stays as it is.
func (d Developer) With(step Verification, at time.Time) Developer {
	if !d.Has(step) {
		d.Verified = append(slices.Clone(d.Verified), Verified{step, at})
	}
	return d
}
