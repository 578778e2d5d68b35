package records

import (
	"bytes"
	"encoding/json"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// userRow is the plain part of a user. What Telegram says about the person is sealed, with the user's own data key (person).
type userRow struct {
	wallet.User
	Telegram []byte `json:"telegram"` // H(telegram id), the key in telegrams; empty for a user without one
}

// person is the sealed part of a user, the field "person".
type person struct {
	TelegramID int64           `json:"telegram_id"`
	Username   string          `json:"username"`
	FirstName  string          `json:"first_name"`
	LastName   string          `json:"last_name"`
	Language   string          `json:"language"`
	Settings   wallet.Settings `json:"settings,omitzero"`
	// Former wallets are sealed, though the addresses of connected wallets are not: nobody can look up any more whose they were.
	FormerWallets  []wallet.FormerWallet  `json:"former_wallets,omitempty"`
	FormerDefaults []wallet.DefaultChange `json:"former_defaults,omitempty"`
}

// User returns a user with the sealed fields in place. ErrNotFound: there is none, or they were erased.
func (t *tx) User(id wallet.UserID) (wallet.User, error) {
	raw := t.get(users, []byte(id))
	if raw == nil {
		return wallet.User{}, store.ErrNotFound
	}
	var r userRow
	sealed, err := t.unseal(users, []byte(id), raw, &r, "person")
	if err != nil {
		return wallet.User{}, err
	}
	// The sealed part has what the plain part lacks.
	var p person
	if err := json.Unmarshal(sealed[0], &p); err != nil {
		return wallet.User{}, fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	u := r.User
	u.TelegramID, u.Username, u.FirstName, u.LastName, u.Language, u.Settings, u.FormerWallets, u.FormerDefaults =
		p.TelegramID, p.Username, p.FirstName, p.LastName, p.Language, p.Settings, p.FormerWallets, p.FormerDefaults
	return u, nil
}

// PersonOf reads the index alone, which has no tag. See UserByTelegram for decisions about money.
func (t *tx) PersonOf(telegramID int64) wallet.UserID {
	if telegramID == 0 {
		return ""
	}
	return t.personBy(t.telegramHash(telegramID))
}

// UserByTelegram follows the index and checks that the row has the same id. ErrNotFound: nobody has it, or they were
// erased. ErrDamaged: the index leads to another row.
func (t *tx) UserByTelegram(id int64) (wallet.User, error) {
	if id == 0 {
		return wallet.User{}, store.ErrNotFound
	}
	u, err := t.User(t.personBy(t.telegramHash(id)))
	if err == nil && u.TelegramID != id { // the row has a tag and says which id is right
		return wallet.User{}, fmt.Errorf("%w: an index leads to another row", store.ErrDamaged)
	}
	return u, err
}

// PutUser writes a user's row and the entry of their Telegram id. A new user first gets a data key, which then seals
// the row. ErrConflict, when another user has that Telegram id, has written nothing.
func (t *tx) PutUser(u wallet.User) error {
	if err := checkID(string(u.ID)); err != nil {
		return err
	}
	key := []byte(u.ID)
	// A Telegram id belongs to one user.
	r := userRow{User: u}
	if u.TelegramID != 0 {
		hash := t.telegramHash(u.TelegramID)
		r.Telegram = hash[:]
		if holder := t.get(telegrams, hash[:]); holder != nil && !bytes.Equal(holder, key) {
			return store.ErrConflict
		}
	}
	// An existing user: if the Telegram id changed, the old one no longer leads here. A new user: the data key must
	// exist before the row is sealed.
	if raw := t.get(users, key); raw != nil {
		old, _, err := plainOf[userRow](t, users, key, raw)
		if err != nil {
			return err
		}
		// What is remembered of the person's keys and grants depends on whether they are frozen.
		t.touchedAccess = t.touchedAccess || (old.Freeze == nil) != (u.Freeze == nil)
		if len(old.Telegram) > 0 && !bytes.Equal(old.Telegram, r.Telegram) {
			if err := t.delete(telegrams, old.Telegram); err != nil {
				return err
			}
		}
	} else if err := t.makeDataKey(u.ID); err != nil {
		return err
	}
	// The entry of the present id. Putting it again changes nothing.
	if r.Telegram != nil {
		if err := t.put(telegrams, r.Telegram, key); err != nil {
			return err
		}
	}
	if err := t.noteReader(u); err != nil {
		return err
	}
	// What Telegram says about the person, how they want to be spoken to, and their former wallets go into the sealed part only.
	sealed, err := json.Marshal(person{u.TelegramID, u.Username, u.FirstName, u.LastName, u.Language, u.Settings, u.FormerWallets, u.FormerDefaults})
	if err != nil {
		return err
	}
	r.TelegramID, r.Username, r.FirstName, r.LastName, r.Language = 0, "", "", "", ""
	r.Settings, r.FormerWallets, r.FormerDefaults = wallet.Settings{}, nil, nil
	raw, err := t.seal(users, key, u.ID, r, field{"person", sealed})
	if err != nil {
		return err
	}
	return t.putRow(users, key, raw)
}
