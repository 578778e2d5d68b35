package handlers

import (
	"errors"
	"fmt"
	"strconv"

	"purser/store"
	"purser/wallet"
)

// Person is a Telegram user as an update describes them.
type Person struct {
	TelegramID                              int64
	Username, FirstName, LastName, Language string
}

// Users manages the profiles of people who write to the bot.
type Users struct {
	Now   Clock
	NewID IDs
}

// Upsert returns the profile of a person who just wrote, and whether it is new. It creates the profile at the first
// message, updates changed names, forgets old former wallets and defaults, and clears Unreachable, since the bot can evidently reach them again.
func (u *Users) Upsert(tx store.Tx, p Person) (wallet.User, bool, error) {
	known, err := tx.UserByTelegram(p.TelegramID)
	if errors.Is(err, store.ErrNotFound) {
		user, err := u.register(tx, p)
		return user, true, err
	}
	if err != nil {
		return wallet.User{}, false, err
	}
	now, forgets := known.WithoutOldWallets(u.Now())
	same := Person{known.TelegramID, known.Username, known.FirstName, known.LastName, known.Language} == p && !known.Unreachable
	now.Username, now.FirstName, now.LastName, now.Language = p.Username, p.FirstName, p.LastName, p.Language
	now.Unreachable = false
	if same && !forgets {
		return known, false, nil
	}
	if known.Unreachable {
		if err := u.missed(tx, now); err != nil {
			return wallet.User{}, false, err
		}
	}
	return now, false, tx.PutUser(now)
}

// missed repeats events that a person could not get while the bot was blocked and must not overlook: somebody claims one
// of their addresses.
func (u *Users) missed(tx store.Tx, back wallet.User) error {
	all, err := tx.WalletsOf(back.ID)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.Claim == nil {
			continue
		}
		event, err := wallet.NewEvent(fmt.Sprintf("evt_missed_%s_%d", w.Address, u.Now().UnixMilli()), wallet.WalletClaimed, u.Now().UTC(), back.ID,
			wallet.WalletClaimedData{WalletAddress: w.Address})
		if err != nil {
			return err
		}
		if err := tx.Emit(event); err != nil {
			return err
		}
	}
	return nil
}

// register creates a profile and emits user.registered, in the caller's transaction.
func (u *Users) register(tx store.Tx, p Person) (wallet.User, error) {
	at := u.Now().UTC()
	user := wallet.User{
		ID: wallet.UserID(u.NewID("usr")), TelegramID: p.TelegramID, Username: p.Username,
		FirstName: p.FirstName, LastName: p.LastName, Language: p.Language, RegisteredAt: at,
	}
	if err := tx.PutUser(user); err != nil {
		return wallet.User{}, err
	}
	event, err := wallet.NewEvent("evt_"+string(user.ID)+"_registered", wallet.UserRegistered, at, user.ID,
		wallet.UserRegisteredData{
			ChatID: strconv.FormatInt(p.TelegramID, 10), Username: user.Handle(),
			FirstName: p.FirstName, RegisteredAt: wallet.Timestamp(at),
		})
	if err != nil {
		return wallet.User{}, err
	}
	return user, tx.Emit(event)
}

// Erase deletes a person at their request. It destroys their data key, and with it everything that was encrypted with it.
// Public facts of the chain remain. CONFLICT while a payment could still land, since nobody could be notified of its
// outcome. POLICY_VIOLATION for a frozen account, since the freeze would be gone with it.
func (u *Users) Erase(tx store.Tx, id wallet.UserID) error {
	if err := usable(tx, id, wallet.ByErasure); err != nil {
		return err
	}
	open, err := couldLand(tx, id)
	if err != nil {
		return err
	}
	for _, t := range open {
		if t.Status != wallet.AwaitingConfirmation {
			return wallet.Refuse(wallet.Conflict, "erasing.payment_open")
		}
	}
	return tx.EraseUser(id)
}
