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
	Notifications bool // the caller's app wants events about them; what they want to be told is their own affair
}

// People is who programs ask about.
type People struct {
	Store store.Store
	Now   Clock
	Bot   BotName // whose links ask for consent
}

// ByTelegram finds a person by their Telegram id, for whoever may do a family of operations for them.
// CONSENT_REQUIRED, also for somebody who never wrote to the bot: only an operator's key is told the
// difference (USER_NOT_FOUND).
func (p *People) ByTelegram(ctx context.Context, who Caller, telegramID int64, scope wallet.Scope) (wallet.User, error) {
	return read(ctx, p.Store, func(tx store.Tx) (wallet.User, error) { return p.byTelegram(tx, who, telegramID, scope) })
}

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

// ChatOf is a person's private chat, which has their Telegram id. USER_NOT_FOUND when they are erased.
func (p *People) ChatOf(ctx context.Context, person wallet.UserID) (int64, error) {
	user, err := read(ctx, p.Store, func(tx store.Tx) (wallet.User, error) { return tx.User(person) })
	return user.TelegramID, found(err, wallet.UserNotFound, "person.gone")
}

// nobody is the id of no user: a stranger's grants are looked for under it, so that the answer about a
// stranger takes the same reads as the one about a user who granted nothing.
const nobody wallet.UserID = "usr_nobody"

// unknown is what a caller is told when there is no such person. Who uses the bot is nobody's business, so
// it is the same answer as for a user who has not allowed them anything; an operator's key is told the truth.
func (p *People) unknown(tx store.Tx, who Caller, err error, scope wallet.Scope, key string) error {
	if !errors.Is(err, store.ErrNotFound) || who.operator() {
		return found(err, wallet.UserNotFound, key)
	}
	return consented(tx, p.Bot, who, nobody, scope)
}

// May is CONSENT_REQUIRED unless the caller may still do a family of operations for a person, and when they are
// erased meanwhile (USER_NOT_FOUND to an operator's key).
func (p *People) May(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) error {
	_, err := p.may(tx, who, person, scope)
	return err
}

func (p *People) may(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) (wallet.User, error) {
	user, err := tx.User(person)
	if err != nil {
		return user, p.unknown(tx, who, err, scope, "person.gone")
	}
	return user, consented(tx, p.Bot, who, person, scope)
}

// Reachable is May, and BOT_BLOCKED while the bot cannot write to the person: what would end in their
// chat cannot be promised then.
func (p *People) Reachable(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) error {
	user, err := p.may(tx, who, person, scope)
	if err != nil {
		return err
	}
	return reachable(user)
}

// reachable is BOT_BLOCKED for whoever the bot cannot write to.
func reachable(user wallet.User) error {
	if user.Unreachable {
		return wallet.Refuse(wallet.BotBlocked, "person.blocked_bot")
	}
	return nil
}

// Profile is what programs may know of a person. Errors: as ByTelegram.
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
		grant, err := tx.Grant(user.ID, key.WishHolder())
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return Profile{}, err
		}
		return Profile{User: user, HasWallet: len(all) > 0, Notifications: grant.Wish == nil || grant.Wish.Enabled}, nil
	})
}

// offerPause is how long nobody is offered another link after one that a program asked for.
const offerPause = 12 * time.Hour

// OfferLink has the chat send a person a link by which they can connect a wallet: for themselves, or
// because an app asks that may propose transfers. While one is open or answered, and for twelve hours after
// one that a program asked for, it is RATE_LIMIT_EXCEEDED: nobody is pestered with links. BOT_BLOCKED.
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
	switch again, err := offered().Spend(tx, now, account(user)); {
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

// WalletsOf lists somebody's wallets, oldest first, for whoever may read them. Errors: as ByTelegram.
func (p *People) WalletsOf(ctx context.Context, who Caller, telegramID int64) ([]wallet.Wallet, error) {
	return read(ctx, p.Store, func(tx store.Tx) ([]wallet.Wallet, error) {
		user, err := p.byTelegram(tx, who, telegramID, wallet.WalletRead)
		if err != nil {
			return nil, err
		}
		return tx.WalletsOf(user.ID)
	})
}
