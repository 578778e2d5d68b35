package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// Profile is what programs may know of a person (docs/specification.md, Messages and commands).
type Profile struct {
	User          wallet.User
	HasWallet     bool
	Notifications bool // whether the caller's app wants events about the person, not what the person gets in chat
}

// People answers what programs ask about users, and decides whether they may.
type People struct {
	Store store.Store
	Now   Clock
	Bot   BotName // name of the bot in consent links
}

// ByTelegram finds a person by Telegram ID, if the caller may use a scope for them. Otherwise it is CONSENT_REQUIRED,
// also for people who never wrote to the bot. Only an operator's key gets USER_NOT_FOUND for those.
func (p *People) ByTelegram(ctx context.Context, who Caller, telegramID int64, scope wallet.Scope) (wallet.User, error) {
	return read(ctx, p.Store, func(tx store.Tx) (wallet.User, error) { return p.byTelegram(tx, who, telegramID, scope) })
}

// byTelegram is ByTelegram inside a store transaction.
func (p *People) byTelegram(tx store.Tx, who Caller, telegramID int64, scope wallet.Scope) (wallet.User, error) {
	user, err := tx.UserByTelegram(telegramID)
	if err != nil {
		return wallet.User{}, p.unknown(tx, who, err, scope, "person.unknown")
	}
	if err := consented(tx, p.Bot, who, user.ID, scope); err != nil {
		return wallet.User{}, err
	}
	return user, nil
}

// ChatOf returns the ID of a person's private chat, which equals their Telegram ID. USER_NOT_FOUND if they were erased.
func (p *People) ChatOf(ctx context.Context, person wallet.UserID) (int64, error) {
	user, err := read(ctx, p.Store, func(tx store.Tx) (wallet.User, error) { return tx.User(person) })
	return user.TelegramID, found(err, wallet.UserNotFound, "person.gone")
}

// nobody is the ID of no user. The grants of a stranger are looked up under it, so that the answer for a stranger takes
// the same reads, and the same time, as for a user who granted nothing.
const nobody wallet.UserID = "usr_nobody"

// unknown is the refusal when there is no such person. Who uses the bot is private, so it equals the refusal for a user
// who did not consent. An operator's key gets USER_NOT_FOUND.
func (p *People) unknown(tx store.Tx, who Caller, err error, scope wallet.Scope, key string) error {
	if !errors.Is(err, store.ErrNotFound) || who.operator() {
		return found(err, wallet.UserNotFound, key)
	}
	return consented(tx, p.Bot, who, nobody, scope)
}

// May returns nil if the caller may use a scope for a person, else CONSENT_REQUIRED. A person who was erased is treated
// the same, except that an operator's key gets USER_NOT_FOUND. Call it in the store transaction of the effect.
func (p *People) May(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) error {
	_, err := p.may(tx, who, person, scope)
	return err
}

// may is May, and also returns the person.
func (p *People) may(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) (wallet.User, error) {
	user, err := tx.User(person)
	if err != nil {
		return user, p.unknown(tx, who, err, scope, "person.gone")
	}
	return user, consented(tx, p.Bot, who, person, scope)
}

// Reachable is May, and BOT_BLOCKED if the bot cannot write to the person. Use it where the result must reach their chat.
func (p *People) Reachable(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) error {
	user, err := p.may(tx, who, person, scope)
	if err != nil {
		return err
	}
	return reachable(user)
}

// reachable returns BOT_BLOCKED if the bot cannot write to a person.
func reachable(user wallet.User) error {
	if user.Unreachable {
		return wallet.Refuse(wallet.BotBlocked, "person.blocked_bot")
	}
	return nil
}

// Profile returns what programs may know of a person. Errors: those of ByTelegram with bot:users.
func (p *People) Profile(ctx context.Context, who Caller, telegramID int64) (Profile, error) {
	user, err := p.ByTelegram(ctx, who, telegramID, wallet.BotUsers)
	if err != nil {
		return Profile{}, err
	}
	return read(ctx, p.Store, func(tx store.Tx) (Profile, error) {
		all, err := tx.WalletsOf(user.ID)
		if err != nil {
			return Profile{}, err
		}
		key, err := tx.Key(who.KeyID)
		if err != nil {
			return Profile{}, found(err, wallet.InvalidAPIKey, "credential.ended")
		}
		grant, err := tx.Grant(user.ID, key.AppOrLineage())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Profile{}, err
		}
		return Profile{User: user, HasWallet: len(all) > 0, Notifications: grant.Events == nil || grant.Events.Enabled}, nil
	})
}

// offerPause is the time after a wallet link that a program requested in which no program can have another one sent.
const offerPause = 12 * time.Hour

// OfferLink has the chat send a person a link to connect a wallet, on behalf of a caller who may propose transfers for
// them. RATE_LIMIT_EXCEEDED while another link is open or waits for its answer, and for offerPause after one that a
// program requested. BOT_BLOCKED.
func (p *People) OfferLink(tx store.Tx, who Caller, person wallet.UserID) error {
	user, err := p.may(tx, who, person, wallet.WalletSend)
	if err != nil {
		return err
	}
	if err := reachable(user); err != nil {
		return err
	}
	now := p.Now().UTC()
	switch bind, err := tx.BindOf(person); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case bind.OpenAt(now) || bind.ChoosableAt(now):
		return wallet.Refuse(wallet.RateLimitExceeded, "connecting.link_open", wallet.TimeArg("Until", bind.ExpiresAt))
	}
	switch again, err := offerLimit().Spend(tx, now, account(user)); {
	case err != nil:
		return err
	case !again.IsZero():
		return wallet.Refuse(wallet.RateLimitExceeded, "connecting.link_sent", wallet.TimeArg("Again", again))
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_link_%s_%s_%d", who.KeyLineage, person, now.UnixMilli()), wallet.WalletWanted, now, person,
		wallet.WalletWantedData{KeyID: who.KeyID})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// WalletsOf lists a person's wallets, oldest first, for callers who may read them. Errors: those of ByTelegram.
func (p *People) WalletsOf(ctx context.Context, who Caller, telegramID int64) ([]wallet.Wallet, error) {
	return read(ctx, p.Store, func(tx store.Tx) ([]wallet.Wallet, error) {
		user, err := p.byTelegram(tx, who, telegramID, wallet.WalletRead)
		if err != nil {
			return nil, err
		}
		return tx.WalletsOf(user.ID)
	})
}
