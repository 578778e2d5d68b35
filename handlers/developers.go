package handlers

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// Developers manages how people get access to the API in chat (docs/specification.md, Keys): their verification, the
// operators' approval, and the keys they create. All methods but MailCode run in the caller's transaction.
type Developers struct {
	Store  store.Store
	Keys   *Keys
	Mail   Mailer                // nil: no mail can be sent
	Steps  []wallet.Verification // verification that everybody has to complete
	Admins []int64               // Telegram IDs of operators, who approve requests; none: no approval is possible
	Log    *slog.Logger
	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Limits for one person.
const (
	MaxKeys  = 10             // usable at the same time
	AskPause = 24 * time.Hour // between two requests for approval; erasing the account does not end it
)

// Standing is how far a person has come with their access. It is computed at each read and never stored.
type Standing struct {
	Developer wallet.Developer
	Missing   []wallet.Verification // steps still to complete, in order, without the operators' approval
	Keys      []wallet.Key          // usable keys
}

// Standing reads a person's progress. A wallet connected after the request counts.
func (d *Developers) Standing(tx store.Tx, user wallet.UserID) (Standing, error) {
	dev, err := d.developer(tx, user)
	if err != nil {
		return Standing{}, err
	}
	st := Standing{Developer: dev}
	// The operators' approval is per app and not a step of the person: see Unapproved.
	for _, step := range wallet.Verifications() {
		if step != wallet.ByApproval && slices.Contains(d.Steps, step) && !dev.Has(step) {
			st.Missing = append(st.Missing, step)
		}
	}
	all, err := tx.KeysOf(user)
	for _, key := range all {
		if key.UsableAt(d.Now()) {
			st.Keys = append(st.Keys, key)
		}
	}
	return st, err
}

// developer returns the stored record of a person, and adds the wallet step if they have connected a wallet. A wallet
// whose key a program holds does not count, because it proves nothing about the person. Nothing is written.
func (d *Developers) developer(tx store.Tx, user wallet.UserID) (wallet.Developer, error) {
	dev, err := tx.Developer(user)
	if err != nil || dev.Has(wallet.ByWallet) || !slices.Contains(d.Steps, wallet.ByWallet) {
		return dev, err
	}
	wallets, err := tx.WalletsOf(user)
	for _, w := range wallets {
		if w.Type != wallet.DeveloperWallet {
			return dev.With(wallet.ByWallet, d.Now().UTC()), err
		}
	}
	return dev, err
}

// Accept records that a person accepted the terms. Only the first time counts.
func (d *Developers) Accept(tx store.Tx, user wallet.UserID) error {
	dev, err := tx.Developer(user)
	if err != nil {
		return err
	}
	if dev.AcceptedAt.IsZero() {
		dev.AcceptedAt = d.Now().UTC()
	}
	return tx.PutDeveloper(dev)
}

// NameApp checks the name of a developer's app and returns it as it will be shown. Errors: those of appName.
func (d *Developers) NameApp(tx store.Tx, user wallet.UserID, text string) (string, error) {
	return appName(tx, d.Keys.Bot, user, text)
}

// Note stores what a person wants keys for, so that the conversation can be resumed. A request that waits for operators
// is not changed.
func (d *Developers) Note(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) error {
	dev, err := tx.Developer(user)
	if err != nil || dev.Request.Waits() {
		return err
	}
	// Only RequestApproval may make a request pending.
	wanted.ID, wanted.RequestedAt = "", time.Time{}
	dev.Request = &wanted
	return tx.PutDeveloper(dev)
}

// Leave stores what a person wanted when they stopped. The next conversation offers it to them instead of resuming it. A
// request without the name of an app is not worth keeping, and is dropped.
func (d *Developers) Leave(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) error {
	if wanted.App == "" {
		return nil
	}
	wanted.Abandoned = true
	return d.Note(tx, user, wanted)
}

// Share records that a person shared their contact in Telegram, which verifies that they have a phone number. contactOf
// is the Telegram ID of the contact's owner. INVALID_REQUEST for anybody else's contact. The number itself is not read.
func (d *Developers) Share(tx store.Tx, user wallet.User, contactOf int64) error {
	if contactOf == 0 || contactOf != user.TelegramID {
		return wallet.Refuse(wallet.InvalidRequest, "verify.other_contact")
	}
	dev, err := tx.Developer(user.ID)
	if err != nil {
		return err
	}
	return tx.PutDeveloper(dev.With(wallet.ByContact, d.Now().UTC()))
}

// Withheld lists the requested scopes that need an operator's approval of this app and do not have it: those that act in
// other people's chats, if there are operators, and those of the pro tier.
func (d *Developers) Withheld(dev wallet.Developer, wanted wallet.AccessRequest) []wallet.Scope {
	approval := dev.Approval(wanted.App, wanted.Purpose)
	var out []wallet.Scope
	for _, scope := range wanted.Scopes {
		// Without operators nobody could approve, so the sensitive scopes are free. The pro tier is never free.
		sensitive := concernsOthers(wanted, scope) && len(d.Admins) > 0 && slices.Contains(wallet.Sensitive(), scope) && !slices.Contains(approval.Scopes, scope)
		if sensitive || slices.Contains(wallet.ProOnly(), scope) && approval.Tier != wallet.ProTier {
			out = append(out, scope)
		}
	}
	return out
}

// concernsOthers reports whether a requested kind of key can use a scope for people other than its owner.
func concernsOthers(wanted wallet.AccessRequest, scope wallet.Scope) bool {
	return slices.ContainsFunc(wanted.Kinds, func(kind wallet.KeyKind) bool {
		return slices.Contains(wallet.Grantable(kind, wallet.ScopesOf(kind)), scope)
	})
}

// NeedsPro reports whether the request is for the pro tier without an approval for it.
func (d *Developers) NeedsPro(dev wallet.Developer, wanted wallet.AccessRequest) bool {
	return wanted.Pro && dev.Approval(wanted.App, wanted.Purpose).Tier != wallet.ProTier
}

// Unapproved reports whether no key at all can be created before an approval. An approval covers one app with one
// purpose: if the app was approved for another purpose, it needs a new one.
func (d *Developers) Unapproved(dev wallet.Developer, wanted wallet.AccessRequest) bool {
	if !dev.Approval(wanted.App, wanted.Purpose).At.IsZero() {
		return false
	}
	return slices.Contains(d.Steps, wallet.ByApproval) ||
		len(d.Admins) > 0 && slices.ContainsFunc(dev.Approvals, func(a wallet.Approval) bool { return a.App == wanted.App })
}

// NextRequestAt returns when the person can ask the operators again. Zero means now.
func (d *Developers) NextRequestAt(tx store.Tx, user wallet.UserID) (time.Time, error) {
	person, err := tx.User(user)
	if err != nil {
		return time.Time{}, err
	}
	return operatorsAsked().Next(tx, d.Now(), account(person))
}

// RequestApproval asks the operators for approval. CONFLICT if there are none, a step is missing, a request is pending,
// or AskPause is not over. INVALID_REQUEST for a request without a usable key.
func (d *Developers) RequestApproval(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) (wallet.Developer, error) {
	st, err := d.Standing(tx, user)
	dev, now := st.Developer, d.Now().UTC()
	switch {
	case err != nil:
		return dev, err
	case len(d.Admins) == 0:
		return dev, wallet.Refuse(wallet.Conflict, "approval.no_operator")
	case dev.AcceptedAt.IsZero() || len(st.Missing) > 0:
		return dev, wallet.Refuse(wallet.Conflict, "approval.missing")
	case dev.Request.Waits() && now.Before(dev.Request.RequestedAt.Add(AskPause)):
		return dev, wallet.Refuse(wallet.Conflict, "approval.pending")
	}
	// Operators must not be asked for something that Make would refuse.
	if _, err := described(wanted, wanted.Scopes); err != nil {
		return dev, err
	}
	person, err := tx.User(user)
	if err != nil {
		return dev, err
	}
	// The request is counted in this transaction. The count outlives the account (see account).
	switch again, err := operatorsAsked().Spend(tx, now, account(person)); {
	case err != nil:
		return dev, err
	case !again.IsZero():
		return dev, wallet.Refuse(wallet.Conflict, "approval.denied", wallet.TimeArg("Again", again))
	}
	// The ID goes into the operators' buttons, so that an old button cannot decide a newer request.
	wanted.ID, wanted.RequestedAt, wanted.Abandoned = d.NewID("ask"), now, false
	dev.Request = &wanted
	return dev, tx.PutDeveloper(dev)
}

// Withdraw cancels a pending request for approval. question is its ID. It returns the developer as before, so that the
// caller can name the request that ended. AskPause continues. CONFLICT if this request is no longer pending.
func (d *Developers) Withdraw(tx store.Tx, user wallet.UserID, question string) (wallet.Developer, error) {
	dev, err := tx.Developer(user)
	switch {
	case err != nil:
		return dev, err
	case !dev.Request.Waits() || dev.Request.ID != question:
		return dev, wallet.Refuse(wallet.Conflict, "approval.answered")
	}
	left := dev
	left.Request = dev.Request.Leave()
	return dev, tx.PutDeveloper(left)
}

// NeedsPro is the refusal of what needs the pro tier. Its message says how to get it from the operator: owner is the
// Telegram ID to give them.
func NeedsPro(owner int64) error {
	return wallet.Refuse(wallet.TierRequired, "tier_needed.ask_operator", wallet.NumberArg("TelegramID", owner))
}

// Verdict is an operator's decision.
type Verdict string

// The decisions: an approval for one of the tiers, or a denial.
const (
	ApproveFree Verdict = "free"
	ApprovePro  Verdict = "pro"
	Deny        Verdict = "deny"
)

// Decide records an operator's decision. admin is the operator's Telegram ID, and question the ID of the request that
// they saw. The first decision counts. POLICY_VIOLATION for somebody who is not an operator, CONFLICT if the request is
// no longer pending, NOT_FOUND if the developer was erased.
func (d *Developers) Decide(tx store.Tx, admin int64, user wallet.UserID, question string, v Verdict) (wallet.Developer, error) {
	if !slices.Contains(d.Admins, admin) {
		return wallet.Developer{}, wallet.Refuse(wallet.PolicyViolation, "approval.operators_only")
	}
	person, err := tx.User(user)
	if err != nil {
		return wallet.Developer{}, found(err, wallet.NotFound, "approval.person_gone")
	}
	dev, err := d.developer(tx, user)
	if err != nil {
		return dev, err
	}
	if !dev.Request.Waits() || dev.Request.ID != question {
		return dev, wallet.Refuse(wallet.Conflict, "approval.answered")
	}
	// From here on the request is no longer pending, whatever the decision.
	asked, now := *dev.Request, d.Now().UTC()
	asked.ID, asked.RequestedAt = "", time.Time{}
	// A denial restarts AskPause. The request is kept, to be offered again.
	if v == Deny {
		dev.Request = dev.Request.Leave()
		return dev, errors.Join(operatorsAsked().Renew(tx, now, account(person)), tx.PutDeveloper(dev))
	}
	// An approval covers the requested scopes, without those of the pro tier if it is for the free tier.
	if err := operatorsAsked().Forget(tx, now, account(person)); err != nil {
		return dev, err
	}
	yes := wallet.Approval{App: asked.App, Purpose: asked.Purpose, Scopes: asked.Scopes, Tier: wallet.ProTier, At: now}
	if v == ApproveFree {
		yes.Tier, asked.Pro = wallet.FreeTier, false
		yes.Scopes = slices.DeleteFunc(slices.Clone(asked.Scopes), func(s wallet.Scope) bool { return slices.Contains(wallet.ProOnly(), s) })
	}
	asked.Scopes = yes.Scopes // scopes that were not approved are not requested again automatically
	// An API key's bot:send reaches only its owner. Approving that must not approve a bot token's, which reaches others.
	yes.Scopes = slices.DeleteFunc(slices.Clone(yes.Scopes), func(s wallet.Scope) bool { return !concernsOthers(asked, s) })
	dev.Request = &asked
	dev = dev.With(wallet.ByApproval, now).Approve(yes)
	return dev, tx.PutDeveloper(dev)
}

// Made is the result of Make.
type Made struct {
	App  wallet.App
	Keys []NewKey // with their secrets, which are shown only now
}

// Make creates the requested keys, one of each kind, and their app, in the caller's transaction. Scopes that need an
// approval and have none are left out. The store keeps only hashes of the secrets, so the caller must show them now.
// CONFLICT if a step is missing or MaxKeys would be exceeded. INVALID_REQUEST if a key would have no scope.
func (d *Developers) Make(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) (Made, error) {
	st, err := d.Standing(tx, user)
	dev := st.Developer
	if err != nil {
		return Made{}, err
	}
	// Everything that the conversation checked is checked again: it may have changed since.
	if dev.AcceptedAt.IsZero() || len(st.Missing) > 0 || d.Unapproved(dev, wanted) {
		return Made{}, wallet.Refuse(wallet.Conflict, "approval.missing")
	}
	withheld := d.Withheld(dev, wanted)
	keys, err := described(wanted, slices.DeleteFunc(slices.Clone(wanted.Scopes), func(s wallet.Scope) bool { return slices.Contains(withheld, s) }))
	if err != nil {
		return Made{}, err
	}
	if err := st.room(len(keys)); err != nil {
		return Made{}, err
	}
	app := wallet.App{ID: wallet.AppID(d.NewID("app")), Owner: user, Name: wanted.App, Purpose: wanted.Purpose, CreatedAt: d.Now().UTC()}
	made, err := d.makeKeys(tx, app, cmp.Or(dev.Approval(wanted.App, wanted.Purpose).Tier, wallet.FreeTier), keys)
	if err != nil {
		return Made{}, err
	}
	// The request is fulfilled. One that waits for operators stays, since it may ask for more than these keys have.
	if !dev.Request.Waits() {
		dev.Request = nil
	}
	return made, tx.PutDeveloper(dev)
}

// room returns CONFLICT if that many more keys would exceed MaxKeys.
func (st Standing) room(more int) error {
	live := 0
	for _, key := range st.Keys {
		if key.RevokedAt.IsZero() { // a rotated key in its grace period is not counted beside its successor
			live++
		}
	}
	if live+more > MaxKeys {
		return wallet.Refuse(wallet.Conflict, "key.too_many", wallet.NumberArg("Most", MaxKeys))
	}
	return nil
}

// makeKeys creates the described keys for an app with one tier, and adds the scopes of all of them to those that the app
// requests. Errors: those of appName.
func (d *Developers) makeKeys(tx store.Tx, app wallet.App, tier wallet.Tier, keys []wallet.Key) (made Made, err error) {
	if err := usable(tx, app.Owner, wallet.ByPerson); err != nil {
		return made, err
	}
	for _, key := range keys {
		for _, scope := range wallet.Grantable(key.Kind, key.Scopes) {
			if !slices.Contains(app.Scopes, scope) {
				app.Scopes = append(app.Scopes, scope)
			}
		}
	}
	if made.App, err = appNamed(tx, d.Keys.Bot, app); err != nil {
		return made, err
	}
	for _, key := range keys {
		key.Owner, key.App, key.Tier = app.Owner, made.App.ID, tier
		drawn, err := d.Keys.Generate(key)
		if err != nil {
			return made, err
		}
		if err := errors.Join(tx.CreateKey(drawn.Key, drawn.Secret), logKey(tx, d.Now(), wallet.LogKeyCreated, drawn.Key)); err != nil {
			return made, err
		}
		made.Keys = append(made.Keys, drawn)
	}
	return made, nil
}

// described returns the requested keys without secrets, one of each kind, with those of scopes that the kind can have.
// INVALID_REQUEST if a key would have no scope, or there is no key.
func described(wanted wallet.AccessRequest, scopes []wallet.Scope) ([]wallet.Key, error) {
	var keys []wallet.Key
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		if !slices.Contains(wanted.Kinds, kind) {
			continue
		}
		key := wallet.Key{Kind: kind}
		for _, scope := range wallet.ScopesOf(kind) {
			if slices.Contains(scopes, scope) {
				key.Scopes = append(key.Scopes, scope)
			}
		}
		if len(key.Scopes) == 0 {
			return nil, wallet.Refuse(wallet.InvalidRequest, "key.no_scope")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, wallet.Refuse(wallet.InvalidRequest, "key.no_kind")
	}
	return keys, nil
}

// Key returns one of a person's usable keys. NOT_FOUND for any other, also other people's.
func (d *Developers) Key(tx store.Tx, user wallet.UserID, id string) (wallet.Key, error) {
	key, err := tx.Key(id)
	if err == nil && (key.Owner != user || user == "" || !key.UsableAt(d.Now())) {
		err = store.ErrNotFound
	}
	return key, found(err, wallet.NotFound, "key.not_yours")
}

// Mailer sends one plain-text mail (mail.Sender). It is called without an open store transaction, and must give up by
// itself. Its errors are logged, so they must contain neither the recipient nor the text.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}
