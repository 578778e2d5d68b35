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

// Developers are people who ask for access to the API in chat (docs/specification.md, Keys), and the keys
// that they make for themselves. Every operation but MailCode runs in the caller's transaction.
type Developers struct {
	Store  store.Store
	Keys   *Keys
	Mail   Mailer                // nil: no mail can be sent
	Steps  []wallet.Verification // what must be verified of everybody
	Admins []int64               // Telegram ids of the operators whose word counts; none: nobody is asked
	Log    *slog.Logger
	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Limits of what one person may have and ask for.
const (
	MaxKeys  = 10             // live ones
	AskPause = 24 * time.Hour // before the operators are asked again, after a no or no answer, also by whoever was erased meanwhile
)

// Standing is how far somebody is with their access.
type Standing struct {
	Developer wallet.Developer
	Missing   []wallet.Verification // what they must do yet, in order; an operator's word is asked for last
	Keys      []wallet.Key          // that open something
}

// Standing reads it. A wallet that they have proven since they asked counts.
func (d *Developers) Standing(tx store.Tx, user wallet.UserID) (Standing, error) {
	dev, err := d.developer(tx, user)
	if err != nil {
		return Standing{}, err
	}
	st := Standing{Developer: dev}
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

// developer reads what is known of somebody, with the wallet step as it stands now. A key that a program
// holds proves nobody's device.
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

// Accept notes that somebody has accepted the terms.
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

// NameApp reads what a developer's app is to be called: the name as it is shown, or why it can't be.
func (d *Developers) NameApp(tx store.Tx, user wallet.UserID, text string) (string, error) {
	return appName(tx, d.Keys.Bot, user, text)
}

// Note keeps what somebody wants keys for, so that a conversation that ends can be gone on with. What
// waits for an operator stays as it was asked.
func (d *Developers) Note(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) error {
	dev, err := tx.Developer(user)
	if err != nil || dev.Request.Waits() {
		return err
	}
	wanted.ID, wanted.AskedAt = "", time.Time{}
	dev.Request = &wanted
	return tx.PutDeveloper(dev)
}

// Leave notes what somebody wanted when they stopped: it is offered to them the next time, and not gone
// on with by itself.
func (d *Developers) Leave(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) error {
	if wanted.App == "" {
		return nil
	}
	wanted.Left = true
	return d.Note(tx, user, wanted)
}

// Share takes the contact that somebody has shared: whose it is, by Telegram's word. INVALID_REQUEST for
// anybody else's. The number is not looked at.
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

// Withheld are the scopes of a wish that need an operator's word on this app and do not have it: those
// that reach into other people's chats, and those of the tier pro.
func (d *Developers) Withheld(dev wallet.Developer, wanted wallet.AccessRequest) []wallet.Scope {
	approval := dev.Approval(wanted.App, wanted.Purpose)
	var out []wallet.Scope
	for _, scope := range wanted.Scopes {
		sensitive := concernsOthers(wanted, scope) && len(d.Admins) > 0 && slices.Contains(wallet.Sensitive(), scope) && !slices.Contains(approval.Scopes, scope)
		if sensitive || slices.Contains(wallet.ProOnly(), scope) && approval.Tier != wallet.ProTier {
			out = append(out, scope)
		}
	}
	return out
}

// concernsOthers tells whether one of the kinds of key that are wanted can do what a scope names for people
// other than its owner.
func concernsOthers(wanted wallet.AccessRequest, scope wallet.Scope) bool {
	return slices.ContainsFunc(wanted.Kinds, func(kind wallet.KeyKind) bool {
		return slices.Contains(wallet.Grantable(kind, wallet.ScopesOf(kind)), scope)
	})
}

// WantsPro tells whether keys of the tier pro are wanted that no operator has said yes to.
func (d *Developers) WantsPro(dev wallet.Developer, wanted wallet.AccessRequest) bool {
	return wanted.Pro && dev.Approval(wanted.App, wanted.Purpose).Tier != wallet.ProTier
}

// Unapproved tells whether no key at all can be made before an operator's word: it is a step of its own
// for each app, and an app that was approved for one purpose is not for another.
func (d *Developers) Unapproved(dev wallet.Developer, wanted wallet.AccessRequest) bool {
	if !dev.Approval(wanted.App, wanted.Purpose).At.IsZero() {
		return false
	}
	return slices.Contains(d.Steps, wallet.ByApproval) ||
		len(d.Admins) > 0 && slices.ContainsFunc(dev.Approvals, func(a wallet.Approval) bool { return a.App == wanted.App })
}

// AskableFrom is when the operators can be asked (again); zero: now.
func (d *Developers) AskableFrom(tx store.Tx, user wallet.UserID) (time.Time, error) {
	person, err := tx.User(user)
	if err != nil {
		return time.Time{}, err
	}
	return operatorsAsked().Next(tx, d.Now(), account(person))
}

// RequestApproval puts what somebody wants before the operators. CONFLICT when there are none, while they are being
// asked, and too soon after a no; INVALID_REQUEST for a wish of nothing.
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
	case dev.Request.Waits() && now.Before(dev.Request.AskedAt.Add(AskPause)):
		return dev, wallet.Refuse(wallet.Conflict, "approval.pending")
	}
	if _, err := described(wanted, wanted.Scopes); err != nil {
		return dev, err
	}
	person, err := tx.User(user)
	if err != nil {
		return dev, err
	}
	switch again, err := operatorsAsked().Spend(tx, now, account(person)); {
	case err != nil:
		return dev, err
	case !again.IsZero():
		return dev, wallet.Refuse(wallet.Conflict, "approval.denied", wallet.TimeArg("Again", again))
	}
	wanted.ID, wanted.AskedAt, wanted.Left = d.NewID("ask"), now, false
	dev.Request = &wanted
	return dev, tx.PutDeveloper(dev)
}

// Withdraw takes a question to the operators back, and returns the developer as they were while it
// waited. It was asked all the same: the pause before the next one stays. CONFLICT when it is over.
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

// NeedsPro refuses what needs the tier pro, and says how to get it where no operator can be asked in the chat.
func NeedsPro(owner int64) error {
	return wallet.Refuse(wallet.TierRequired, "tier_needed.ask_operator", wallet.NumberArg("TelegramID", owner))
}

// Verdict is an operator's word.
type Verdict string

// The verdicts.
const (
	ApproveFree Verdict = "free"
	ApprovePro  Verdict = "pro"
	Deny        Verdict = "deny"
)

// Decide takes an operator's word on a question; the first one counts. POLICY_VIOLATION for whoever is no
// operator (any more), CONFLICT when the question was answered or is over, NOT_FOUND when the developer
// is gone.
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
	asked, now := *dev.Request, d.Now().UTC()
	asked.ID, asked.AskedAt = "", time.Time{}
	if v == Deny {
		dev.Request = dev.Request.Leave()
		return dev, errors.Join(operatorsAsked().Renew(tx, now, account(person)), tx.PutDeveloper(dev))
	}
	if err := operatorsAsked().Forget(tx, now, account(person)); err != nil {
		return dev, err
	}
	yes := wallet.Approval{App: asked.App, Purpose: asked.Purpose, Scopes: asked.Scopes, Tier: wallet.ProTier, At: now}
	if v == ApproveFree {
		yes.Tier, asked.Pro = wallet.FreeTier, false
		yes.Scopes = slices.DeleteFunc(slices.Clone(asked.Scopes), func(s wallet.Scope) bool { return slices.Contains(wallet.ProOnly(), s) })
	}
	asked.Scopes = yes.Scopes // what was not given is not asked for again by itself
	// bot:send of an API key reaches its owner alone: a yes to that is none to a bot token's.
	yes.Scopes = slices.DeleteFunc(slices.Clone(yes.Scopes), func(s wallet.Scope) bool { return !concernsOthers(asked, s) })
	dev.Request = &asked
	dev = dev.With(wallet.ByApproval, now).Approve(yes)
	return dev, tx.PutDeveloper(dev)
}

// Made is what Make has made.
type Made struct {
	App  wallet.App
	Keys []NewKey // the only time that anybody has their secrets
}

// Make makes the keys that somebody wants, one of each kind, with their app. Scopes that are withheld are
// left out. CONFLICT when a step is missing or there would be more than MaxKeys; INVALID_REQUEST when a
// key would open nothing.
func (d *Developers) Make(tx store.Tx, user wallet.UserID, wanted wallet.AccessRequest) (Made, error) {
	st, err := d.Standing(tx, user)
	dev := st.Developer
	if err != nil {
		return Made{}, err
	}
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
	wish := wallet.App{ID: wallet.AppID(d.NewID("app")), Owner: user, Name: wanted.App, Purpose: wanted.Purpose, CreatedAt: d.Now().UTC()}
	made, err := d.makeKeys(tx, wish, cmp.Or(dev.Approval(wanted.App, wanted.Purpose).Tier, wallet.FreeTier), keys)
	if err != nil {
		return Made{}, err
	}
	if !dev.Request.Waits() {
		dev.Request = nil
	}
	return made, tx.PutDeveloper(dev)
}

// room is CONFLICT where so many keys more would be more than MaxKeys.
func (st Standing) room(more int) error {
	live := 0
	for _, key := range st.Keys {
		if key.RevokedAt.IsZero() { // one whose successor is there already does not count twice
			live++
		}
	}
	if live+more > MaxKeys {
		return wallet.Refuse(wallet.Conflict, "key.too_many", wallet.NumberArg("Most", MaxKeys))
	}
	return nil
}

// makeKeys makes keys that are described, for an app that asks for the scopes of all of them.
func (d *Developers) makeKeys(tx store.Tx, wish wallet.App, tier wallet.Tier, keys []wallet.Key) (made Made, err error) {
	for _, key := range keys {
		for _, scope := range wallet.Grantable(key.Kind, key.Scopes) {
			if !slices.Contains(wish.Scopes, scope) {
				wish.Scopes = append(wish.Scopes, scope)
			}
		}
	}
	if made.App, err = appNamed(tx, d.Keys.Bot, wish); err != nil {
		return made, err
	}
	for _, key := range keys {
		key.Owner, key.App, key.Tier = wish.Owner, made.App.ID, tier
		drawn, err := d.Keys.Draw(key)
		if err != nil {
			return made, err
		}
		if err := tx.CreateKey(drawn.Key, drawn.Secret); err != nil {
			return made, err
		}
		made.Keys = append(made.Keys, drawn)
	}
	return made, nil
}

// described are the keys of a wish, one a kind, each with the scopes that fit it.
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

// Key finds a live key of a person's. NOT_FOUND for all others, somebody else's among them.
func (d *Developers) Key(tx store.Tx, user wallet.UserID, id string) (wallet.Key, error) {
	key, err := tx.Key(id)
	if err == nil && (key.Owner != user || user == "" || !key.UsableAt(d.Now())) {
		err = store.ErrNotFound
	}
	return key, found(err, wallet.NotFound, "key.not_yours")
}

// Mailer sends one mail of plain text. It is called with no store transaction open, and gives up by
// itself in time. Its error must not name the receiver or hold the text: it is logged.
type Mailer interface {
	Send(ctx context.Context, to, subject, text string) error
}
