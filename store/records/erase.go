package records

import (
	"errors"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// EraseUser removes what is about a person. Their transactions stay as public facts of the chain,
// but what was sealed in them is gone, so that reads answer ErrNotFound.
func (t *tx) EraseUser(id wallet.UserID) error {
	u, err := t.User(id)
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return t.eraseWallets(id) },
		func() error { return t.eraseBinds(id) },
		func() error { return t.eraseTransactions(id) },
		func() error { return t.deletePrefixed(contacts, userPrefix(id)) },
		func() error { return t.eraseTelegram(u.TelegramID) },
		func() error { return t.eraseQueued(id) },
		func() error { return t.eraseWebhooks(id) },
		func() error { return t.abandon(personErased, []byte(id)) },
		func() error { return t.eraseKeys(id) },
		func() error { return t.erasePasses(id) },
		func() error { return t.eraseApps(id) },
		func() error { return t.eraseGrants(id) },
		func() error { return t.delete(developers, []byte(id)) },
		func() error { return t.delete(users, []byte(id)) },
		func() error { return t.destroyDataKey(id) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// destroyDataKey destroys the user's data key, and leaves a mark, so that what still comes of them is not sealed by the
// system's instead. What is left of it then is in backups alone, where it takes the master key to use it.
func (t *tx) destroyDataKey(id wallet.UserID) error {
	t.key = nil
	name, state := t.in.SecretOf(string(id))
	if state == engine.Kept {
		t.store.dataKeys.forget(string(id), name)
	}
	return t.in.DestroySecret(string(id))
}

func (t *tx) deletePrefixed(b table, prefix []byte) error {
	for _, e := range t.prefixed(b, prefix) {
		if err := t.delete(b, e.key); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) eraseWallets(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(walletsOf, prefix) {
		if err := t.delete(wallets, e.key[len(prefix)+timeSize:]); err != nil {
			return err
		}
	}
	return t.deletePrefixed(walletsOf, prefix)
}

func (t *tx) eraseBinds(id wallet.UserID) error {
	for _, e := range t.prefixed(bindsOf, userPrefix(id)) {
		if err := t.removeBind(e.value); err != nil {
			return err
		}
	}
	return nil
}

// eraseTransactions takes them out of the lists that workers read and forgets their sign links.
func (t *tx) eraseTransactions(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(byOwner, prefix) {
		created := e.key[len(prefix):]
		r, _, err := t.transactionIndex(created[timeSize:])
		if err != nil {
			return err
		}
		if err := t.delete(unsettled, created); err != nil {
			return err
		}
		if err := t.delete(byWallet, r.unsettledKey().key); err != nil {
			return err
		}
		if len(r.Sign) > 0 {
			if err := t.delete(bySignID, r.Sign); err != nil {
				return err
			}
		}
	}
	return t.deletePrefixed(paidBy, prefix)
}

// eraseTelegram removes what is found by a Telegram id: of a person, and of the private chat that
// has the same id.
func (t *tx) eraseTelegram(id int64) error {
	if id == 0 {
		return nil
	}
	person, chat := t.telegramHash(id), t.chatHash(id)
	if err := t.eraseConversations(person); err != nil {
		return err
	}
	for _, e := range t.prefixed(buttonsOf, person[:]) {
		if err := t.removeButton(e.key[buttonsOfPrefix:]); err != nil {
			return err
		}
	}
	for _, e := range t.prefixed(cards, chat[:]) {
		if err := t.removeCard(e.key); err != nil {
			return err
		}
	}
	for _, e := range t.prefixed(outcomes, chat[:]) {
		if err := t.removeOutcome(e.key); err != nil {
			return err
		}
	}
	return t.delete(telegrams, person[:])
}

func (t *tx) eraseConversations(telegram store.Hash) error {
	for _, e := range t.prefixed(conversations, telegram[:]) {
		if err := t.delete(conversations, e.key); err != nil {
			return err
		}
	}
	return nil
}

// eraseQueued removes rows that wait for a worker and were sealed for the user. It walks whole
// queues, which are short: erasing is rare, and an index for it would burden every message.
func (t *tx) eraseQueued(id wallet.UserID) error {
	for b, remove := range map[table]func(key []byte) error{
		announcements: func(key []byte) error { return t.delete(announcements, key) },
	} {
		for _, e := range t.prefixed(b, nil) {
			r, err := t.row(b, e.key, e.value)
			if err != nil { // whosever it was: without their data key nothing sealed in it opens
				t.skipDamaged(b, e.key, err)
				continue
			}
			if r.owner != id {
				continue
			}
			err = remove(e.key)
			if errors.Is(err, store.ErrDamaged) { // its indexes are lost, which lead to nothing then
				err = t.delete(b, e.key)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseKeys ends the API keys of a user: a key must not outlive the person it speaks for.
func (t *tx) eraseKeys(id wallet.UserID) error {
	prefix := userPrefix(id)
	mine := map[string]bool{}
	for _, e := range t.prefixed(keysOf, prefix) {
		mine[string(e.key[len(prefix):])] = true
	}
	if len(mine) == 0 {
		return nil
	}
	t.touchedKeys = true
	for _, e := range t.prefixed(keySecrets, nil) {
		if !mine[string(e.value)] {
			continue
		}
		if err := t.delete(keySecrets, e.key); err != nil {
			return err
		}
	}
	for key := range mine {
		if err := t.delete(keys, []byte(key)); err != nil {
			return err
		}
	}
	return t.deletePrefixed(keysOf, prefix)
}

// eraseApps removes a developer's programs, and with them what people have allowed these.
func (t *tx) eraseApps(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(appsOf, prefix) {
		app := e.key[len(prefix):]
		to := join(app, []byte{0})
		for _, g := range t.prefixed(grantsTo, to) {
			if err := t.delete(grants, grantKey(wallet.UserID(g.key[len(to):]), wallet.AppID(app))); err != nil {
				return err
			}
		}
		if err := errors.Join(t.deletePrefixed(grantsTo, to), t.delete(apps, app)); err != nil {
			return err
		}
	}
	return t.deletePrefixed(appsOf, prefix)
}

// eraseGrants takes back what a person has allowed.
func (t *tx) eraseGrants(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(grants, prefix) {
		if err := t.delete(grantsTo, grantToKey(wallet.AppID(e.key[len(prefix):]), id)); err != nil {
			return err
		}
	}
	return t.deletePrefixed(grants, prefix)
}
