package wallet

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Freeze says that a person has stopped everything that purser could do for them (docs/decisions/0049-freeze.md). It stays
// until the device of a wallet that was connected before it signs UnfreezeText (UnlockedBy).
type Freeze struct {
	At      time.Time     `json:"at"`
	By      FreezeChannel `json:"by"`
	Message int           `json:"message,omitempty"` // id of the /freeze message in the private chat; 0 for the link
	// EndsFrom is from when a person without any wallet can end the freeze in chat; zero until they ask for it.
	EndsFrom time.Time `json:"ends_from,omitzero"`
}

// FreezeChannel is how a person froze their account.
type FreezeChannel string

// The channels of a freeze.
const (
	FrozenInChat FreezeChannel = "chat"
	FrozenByLink FreezeChannel = "link" // the recovery link, which works without Telegram
)

// UnfreezeDelay is how long a person without any wallet, connected or former, waits before they can end a freeze in chat: no device can sign
// for them, and somebody who holds the chat must not end it at once.
const UnfreezeDelay = 24 * time.Hour

// Unlocks reports whether the key of a wallet can end the freeze. A wallet that was connected after it cannot: somebody
// who holds the chat could connect one of their own.
func (f Freeze) Unlocks(w Wallet) bool { return !w.ConnectedAt.After(f.At) }

// FormerWallet is a wallet that was disconnected from a person's account, or that moved to another one. Its key can still end a freeze
// (User.UnlockedBy).
type FormerWallet struct {
	Address        Address    `json:"address"`
	Type           WalletType `json:"type"`
	ConnectedAt    time.Time  `json:"connected_at"`
	DisconnectedAt time.Time  `json:"disconnected_at"`
}

// FormerWalletKeptFor is for how long a disconnected wallet can end a freeze, counted until the freeze. A person has at most MaxFormerWallets.
const (
	FormerWalletKeptFor = 30 * 24 * time.Hour
	MaxFormerWallets    = 20
)

// WithoutOldWallets returns the user without the former wallets that were disconnected FormerWalletKeptFor before now and the former defaults of
// FormerDefaultKeptFor before, and whether there were any. A frozen user keeps them all: the freeze may last longer.
func (u User) WithoutOldWallets(now time.Time) (User, bool) {
	var kept []FormerWallet
	for _, f := range u.FormerWallets {
		if u.Freeze != nil || f.DisconnectedAt.After(now.Add(-FormerWalletKeptFor)) {
			kept = append(kept, f)
		}
	}
	var defaults []DefaultChange
	for _, c := range u.FormerDefaults {
		if u.Freeze != nil || now.Before(c.At.Add(FormerDefaultKeptFor)) {
			defaults = append(defaults, c)
		}
	}
	forgets := len(kept) < len(u.FormerWallets) || len(defaults) < len(u.FormerDefaults)
	u.FormerWallets, u.FormerDefaults = kept, defaults
	return u, forgets
}

// WithFormerWallet returns the user with a wallet remembered that is disconnected at now. Those that were disconnected FormerWalletKeptFor ago
// are forgotten. If there are too many, the one that was connected last goes: somebody who holds the chat can connect and disconnect as many wallets
// as they like, and must not push out the owner's.
func (u User) WithFormerWallet(w Wallet, now time.Time) User {
	gone := FormerWallet{Address: w.Address, Type: w.Type, ConnectedAt: w.ConnectedAt, DisconnectedAt: now}
	u, _ = u.WithoutOldWallets(now)
	var kept []FormerWallet
	for _, f := range u.FormerWallets {
		switch {
		case f.Address != gone.Address:
			kept = append(kept, f)
		case f.ConnectedAt.Before(gone.ConnectedAt): // the same key, connected again in between
			gone.ConnectedAt = f.ConnectedAt
		}
	}
	kept = append(kept, gone)
	slices.SortStableFunc(kept, func(a, b FormerWallet) int {
		return cmp.Or(a.ConnectedAt.Compare(b.ConnectedAt), a.DisconnectedAt.Compare(b.DisconnectedAt))
	})
	u.FormerWallets = kept[:min(len(kept), MaxFormerWallets)]
	return u
}

// UnlockedBy returns the wallets whose keys can end the freeze of a frozen user, connected ones first. connected are the wallets of their account.
//
// A former wallet counts if it was connected before the freeze and disconnected at most FormerWalletKeptFor before it. So somebody who holds the chat cannot
// lock out the owner's device by disconnecting wallets. A connected wallet that is older takes precedence: then the former one cannot be the
// owner's only device, and may be one that the owner removed because somebody else had connected it.
func (u User) UnlockedBy(connected []Wallet) (keys []Wallet) {
	if u.Freeze == nil {
		return nil
	}
	for _, w := range connected {
		if u.Freeze.Unlocks(w) {
			keys = append(keys, w)
		}
	}
	still := len(keys)
	for _, f := range u.FormerWallets {
		former := Wallet{Address: f.Address, Owner: u.ID, Type: f.Type, ConnectedAt: f.ConnectedAt}
		recent := !f.DisconnectedAt.After(u.Freeze.At) && f.DisconnectedAt.After(u.Freeze.At.Add(-FormerWalletKeptFor))
		if recent && u.Freeze.Unlocks(former) && !slices.ContainsFunc(keys[:still], func(w Wallet) bool {
			return w.Address == f.Address || w.ConnectedAt.Before(f.ConnectedAt)
		}) {
			keys = append(keys, former)
		}
	}
	return keys
}

// AccountUse is what somebody wants to do with a person's account. A freeze stops every use. What only reads a person's own
// data in their chat, and what notifies them, is no use of it.
type AccountUse string

// The uses of an account, by who acts. Each is refused with a reason of its own.
const (
	ByPerson  AccountUse = "person"  // in chat: proposals, Confirm, wallets, keys, grants, contacts, exports
	ByDevice  AccountUse = "device"  // on the signing page: signatures and new wallets
	ByKey     AccountUse = "key"     // with a key, bot token or portal session of the person's
	ByApp     AccountUse = "app"     // with a key of somebody else to whom the person granted access
	ByErasure AccountUse = "erasure" // /delete_me: with the account the freeze would be gone
)

// AccountUses lists every use.
func AccountUses() []AccountUse {
	return []AccountUse{ByPerson, ByDevice, ByKey, ByApp, ByErasure}
}

// Frozen returns POLICY_VIOLATION with the reason why a frozen account cannot be used in this way, and nil for an account
// that is not frozen.
func (u User) Frozen(use AccountUse) error {
	if u.Freeze == nil {
		return nil
	}
	switch use {
	case ByDevice:
		return Refuse(PolicyViolation, "frozen.device")
	case ByKey:
		return Refuse(PolicyViolation, "frozen.key")
	case ByApp:
		return Refuse(PolicyViolation, "frozen.app")
	case ByErasure:
		return Refuse(PolicyViolation, "frozen.erasure")
	}
	return Refuse(PolicyViolation, "frozen.person")
}

// FreezeLinkUse is what a link of a freeze can do, and the only thing that it can.
type FreezeLinkUse string

// The uses of links.
const (
	LinkFreezes   FreezeLinkUse = "freeze"   // the recovery link: used any number of times, until a newer one replaces it
	LinkUnfreezes FreezeLinkUse = "unfreeze" // shows a text to sign, for UnfreezeWindow
)

// UnfreezeWindow is how long a link to unfreeze can be used.
const UnfreezeWindow = 10 * time.Minute

// FreezeLink is a link to freeze or to unfreeze an account. Of its token only the SHA-256 is stored. A person has at most
// one of each use.
type FreezeLink struct {
	TokenHash [32]byte      `json:"token_hash"`
	User      UserID        `json:"user"`
	Use       FreezeLinkUse `json:"use"`
	Nonce     string        `json:"nonce"` // part of the text to sign; "" for a link that freezes
	IssuedAt  time.Time     `json:"issued_at"`
	ExpiresAt time.Time     `json:"expires_at,omitzero"` // zero: it does not expire
}

// OpenAt reports whether the link can be used at now.
func (l FreezeLink) OpenAt(now time.Time) bool {
	return l.ExpiresAt.IsZero() || now.Before(l.ExpiresAt)
}

// UnfreezeText returns the text that a wallet signs to unfreeze an account. It has the form of SignInText and another
// statement, so that neither signature can stand for the other. The page composes the same text independently.
func UnfreezeText(host, origin string, address Address, account, chain, nonce string, issued, expires time.Time) string {
	return strings.Replace(SignInText(host, origin, address, account, chain, nonce, issued, expires),
		"\n"+connectStatement(account)+"\n", "\n"+unfreezeStatement(account)+"\n", 1)
}
