package records

import (
	"errors"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// EraseUser removes everything about a person, in one transaction. Only lists that can be long go on after it:
// deliveries and jobs beyond the first thousand are left to Sweep. Rows of transactions stay, since they record
// public facts of the chain. What was sealed in them can never be read again, and reads and lists treat them as
// absent (ErrNotFound).
//
// The data key goes last, because the steps before it unseal what they have to follow. ErrNotFound: there is no such
// user, or an earlier EraseUser was committed. After any error the whole transaction is rolled back.
func (t *tx) EraseUser(id wallet.UserID) error {
	// The Telegram id is sealed, so it must be read before anything is removed.
	u, err := t.User(id)
	if err != nil {
		return err
	}
	// What is remembered of keys and consents is read again after the commit, on this node before Update returns.
	t.touchedAccess = true
	// Each step removes rows together with the index entries that lead to them.
	steps := []func() error{
		func() error { return t.eraseWallets(id) },
		func() error { return t.eraseBinds(id) },
		func() error { return t.eraseFreezeLinks(id) },
		func() error { return t.DeletePolicyLink(id) },
		func() error { return t.deletePrefixed(policies, userPrefix(id)) },
		func() error { return t.erasePlanted(id) },
		func() error { return t.eraseTransactions(id) },
		func() error { return t.deletePrefixed(contacts, userPrefix(id)) },
		func() error { return t.eraseTelegram(u.TelegramID) },
		func() error { return t.eraseQueued(id) },
		func() error { return t.eraseWebhooks(id) },
		func() error { return t.abandon(personErased, []byte(id)) },
		func() error { return t.eraseKeys(id) },
		func() error { return t.DeletePortalTokensOf(id, "") },
		func() error { return t.eraseQuotes(id) },
		func() error { return t.eraseAlerts(id) },
		func() error { return t.deletePrefixed(securityLog, userPrefix(id)) },
		func() error { return t.deletePrefixed(securitySeen, userPrefix(id)) },
		func() error { return t.delete(securityHeads, []byte(id)) },
		func() error { return t.eraseApps(id) },
		func() error { return t.eraseGrants(id) },
		func() error { return t.delete(developers, []byte(id)) },
		func() error { return t.delete(portfolios, []byte(id)) },
		func() error { return t.delete(newsReaders, []byte(id)) },
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

// destroyDataKey destroys the user's data key and leaves a mark that there was one. By that mark a late row about the
// person is refused. Without it the system's key would seal it (see seal). The engine overwrites the key after the
// commit and before Update returns. Afterwards only backups hold it, wrapped by the master key.
func (t *tx) destroyDataKey(id wallet.UserID) error {
	// The transaction forgets its opened copy. The keyring forgets its own after the commit (Store.Update).
	t.key = nil
	name, state := t.in.SecretOf(string(id))
	if state == engine.Kept {
		t.destroyed = append(t.destroyed, secretID{string(id), string(name)})
	}
	return t.in.DestroySecret(string(id))
}

// deletePrefixed deletes every entry of a table whose key begins with prefix.
func (t *tx) deletePrefixed(b table, prefix []byte) error {
	for _, e := range t.prefixed(b, prefix) {
		if err := t.delete(b, e.key); err != nil {
			return err
		}
	}
	return nil
}

// eraseWallets removes a person's wallets. Anybody who proves that they own such an address can connect it
// afterwards.
func (t *tx) eraseWallets(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(walletsOf, prefix) {
		address := e.key[len(prefix)+timeSize:]
		if err := errors.Join(t.dropWatched(wallet.Address(address)), t.delete(wallets, address)); err != nil {
			return err
		}
	}
	return t.deletePrefixed(walletsOf, prefix)
}

// eraseBinds removes a person's bind links, used or not.
func (t *tx) eraseBinds(id wallet.UserID) error {
	for _, e := range t.prefixed(bindsOf, userPrefix(id)) {
		if err := t.removeBind(e.value); err != nil {
			return err
		}
	}
	return nil
}

// eraseTransactions takes a person's transactions out of the lists of unsettled ones, which workers and reservations
// read, and removes their signing links and the list of recipients. It keeps the rows and the lists of the owner and of the
// wallet: reads skip rows of an erased user.
func (t *tx) eraseTransactions(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(byOwner, prefix) {
		created := e.key[len(prefix):]
		// The plain part says which entries the row has: no data key is needed.
		r, err := t.transactionIndex(created[timeSize:])
		if err != nil && !errors.Is(err, store.ErrNotFound) {
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
	return errors.Join(t.deletePrefixed(paidBy, prefix), t.eraseFinals(id))
}

// eraseTelegram removes what is found by a Telegram id: conversations and buttons of the person, cards and send
// results of the private chat, which has the same id, and last the entry that leads from the id to the user. /start
// makes a new user afterwards.
func (t *tx) eraseTelegram(id int64) error {
	if id == 0 {
		return nil
	}
	person, chat := t.telegramHash(id), t.chatHash(id)
	if err := t.eraseConversations(person); err != nil {
		return err
	}
	for _, e := range t.prefixed(buttonsOf, person[:]) {
		if err := errors.Join(t.removeButton(e.key[buttonsOfPrefix:]), t.delete(buttonsOf, e.key)); err != nil {
			return err
		}
	}
	for _, e := range t.prefixed(cards, chat[:]) {
		if err := t.removeCard(e.key); err != nil {
			return err
		}
	}
	for _, e := range t.prefixed(sendResults, chat[:]) {
		if err := t.removeSendResult(e.key); err != nil {
			return err
		}
	}
	return t.delete(telegrams, person[:])
}

// eraseConversations removes all conversations of a person, in every chat and slot.
func (t *tx) eraseConversations(telegram store.Hash) error {
	for _, e := range t.prefixed(conversations, telegram[:]) {
		if err := t.delete(conversations, e.key); err != nil {
			return err
		}
	}
	return nil
}

// eraseQueued removes outbox events that are sealed for the user. It walks the whole table, which is short: erasing
// is rare, and an index would cost every event an entry. abandon removes the jobs about the user.
func (t *tx) eraseQueued(id wallet.UserID) error {
	for b, remove := range map[table]func(key []byte) error{
		outboxEvents: func(key []byte) error {
			if number, err := keyNumber(key); err == nil {
				return t.DoneOutboxEvents([]uint64{number}) // from memory too
			}
			return t.delete(outboxEvents, key)
		},
	} {
		for _, e := range t.prefixed(b, nil) {
			r, err := t.row(b, e.key, e.value)
			if err != nil { // a damaged row: if it was theirs, it cannot be opened without their data key
				t.skipDamaged(b, e.key, err)
				continue
			}
			if r.owner != id {
				continue
			}
			err = remove(e.key)
			if errors.Is(err, store.ErrDamaged) { // its index entries stay, and lead to nothing
				err = t.delete(b, e.key)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// eraseKeys removes the API keys of a user: a key must not outlive the person that it acts for. A key's row does not
// hold the hash of its secret, so the entries in keySecrets are found by walking all of them.
func (t *tx) eraseKeys(id wallet.UserID) error {
	prefix := userPrefix(id)
	// The ids of the person's keys.
	mine := map[string]bool{}
	for _, e := range t.prefixed(keysOf, prefix) {
		mine[string(e.key[len(prefix):])] = true
	}
	if len(mine) == 0 {
		return nil
	}
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

// eraseApps removes a developer's apps, and the grants that other people gave to them.
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

// eraseGrants removes the grants that a person has given, with the entries by which the apps found them.
func (t *tx) eraseGrants(id wallet.UserID) error {
	prefix := userPrefix(id)
	for _, e := range t.prefixed(grants, prefix) {
		if err := t.delete(grantsTo, grantToKey(wallet.AppID(e.key[len(prefix):]), id)); err != nil {
			return err
		}
	}
	return t.deletePrefixed(grants, prefix)
}
