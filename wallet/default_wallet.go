package wallet

import (
	"slices"
	"time"
)

// ReceivingDelay is how long payers are given the previous default wallet after it changed. Somebody who holds the chat can choose
// another wallet, and its owner must have time to notice before money goes there (docs/decisions/0055).
const ReceivingDelay = 24 * time.Hour

// FormerDefaultKeptFor is for how long the device of a former default wallet is shown the change. A person has at most MaxFormerDefaults.
const (
	FormerDefaultKeptFor = 30 * 24 * time.Hour
	MaxFormerDefaults    = 10
)

// DefaultChange is a change of a person's default wallet.
type DefaultChange struct {
	From Address   `json:"from"` // the wallet that payers were given before
	At   time.Time `json:"at"`   // when the wait began: with the change, or with the end of a freeze
}

// WithDefault returns the user with another default wallet; zero for none. Payments go out from it at once. Payers are given the wallet that
// they were given before until ReceivingDelay is over. Choosing that wallet again ends the wait.
func (u User) WithDefault(address Address, now time.Time) User {
	from, _ := u.ReceivesAt(now)
	u.DefaultWallet, u.DefaultChange = address, nil
	if !from.IsZero() && from != address {
		u = u.changedFrom(from, now)
	}
	return u
}

// changedFrom returns the user with a change of the default wallet whose wait begins now, which is remembered in FormerDefaults. If there are too many, the
// change is not: somebody who holds the chat can choose as many wallets as they like, and must not push out the owner's.
func (u User) changedFrom(from Address, now time.Time) User {
	u, _ = u.WithoutOldWallets(now)
	change := DefaultChange{From: from, At: now}
	u.DefaultChange = &change
	all := u.FormerDefaults // a copy
	at := slices.IndexFunc(all, func(c DefaultChange) bool { return c.From == from })
	switch {
	case at >= 0:
		all[at] = change
	case len(all) < MaxFormerDefaults:
		all = append(all, change)
	}
	u.FormerDefaults = all
	return u
}

// DefaultChangedAt returns when another wallet than this one became the default, for the device of this one; zero for a wallet that is the default, or was not in
// the last FormerDefaultKeptFor.
func (u User) DefaultChangedAt(address Address, now time.Time) time.Time {
	for _, c := range u.FormerDefaults {
		if c.From == address && u.DefaultWallet != address && now.Before(c.At.Add(FormerDefaultKeptFor)) {
			return c.At
		}
	}
	return time.Time{}
}

// ReceivesAt returns the wallet that payers are given at now; zero for none. waits says that it is the previous one, because the default changed less than
// ReceivingDelay ago. A freeze stops the wait. The wallet may have been disconnected since: then payers are given none.
func (u User) ReceivesAt(now time.Time) (address Address, waits bool) {
	change := u.DefaultChange
	if change == nil {
		return u.DefaultWallet, false
	}
	if u.Freeze != nil {
		now = u.Freeze.At
	}
	if !now.Before(change.Until()) {
		return u.DefaultWallet, false
	}
	return change.From, true
}

// Until is when the wait of a change is over, unless the account is frozen.
func (c DefaultChange) Until() time.Time { return c.At.Add(ReceivingDelay) }

// Unfrozen returns the user without a freeze. If a change of their default wallet was waiting, it waits for the whole ReceivingDelay again: while the account
// was frozen its owner could not take it back.
func (u User) Unfrozen(now time.Time) User {
	if _, waits := u.ReceivesAt(now); waits {
		u = u.changedFrom(u.DefaultChange.From, now)
	}
	u.Freeze = nil
	return u
}
