package wallet

import "time"

// UserID is purser's own name of a person ("usr_…"). It says nothing of their Telegram id.
type UserID string

// User is a person who has written to the bot. The store seals TelegramID and the names.
type User struct {
	ID            UserID    `json:"id"`
	TelegramID    int64     `json:"telegram_id"`
	Username      string    `json:"username"` // without @; "" when unset
	FirstName     string    `json:"first_name"`
	LastName      string    `json:"last_name"`
	Language      string    `json:"language"` // IETF tag as Telegram gives it, or ""
	RegisteredAt  time.Time `json:"registered_at"`
	DefaultWallet Address   `json:"default_wallet"` // zero without a wallet
	Unreachable   bool      `json:"unreachable"`    // the bot was blocked; cleared when they write again
	PayableByID   bool      `json:"payable_by_id"`  // who picks them in Telegram may learn the wallet of ReceivesAt, to pay it
	// DefaultChange is the newest change of DefaultWallet; nil if payers were given the same wallet before.
	DefaultChange *DefaultChange `json:"default_change,omitempty"`

	// FormerDefaults are the newest changes of DefaultWallet from each of the wallets that payers were given in the last FormerDefaultKeptFor.
	FormerDefaults []DefaultChange `json:"former_defaults,omitempty"`
	// FormerWallets are the disconnected wallets whose keys can still end a freeze, in order of connection.
	FormerWallets []FormerWallet `json:"former_wallets,omitempty"`

	Notifications *Notifications `json:"notifications,omitempty"` // nil: DefaultCategories
	Settings      Settings       `json:"settings,omitzero"`
	Freeze        *Freeze        `json:"freeze,omitempty"`    // nil: the account is not frozen
	NewsSeen      uint64         `json:"news_seen,omitempty"` // NewsItem.Seq of the newest item that they got, or that was there when they turned news on
}

// Name is what the person is called: first and last name, or the @username.
func (u User) Name() string {
	switch {
	case u.FirstName != "" && u.LastName != "":
		return u.FirstName + " " + u.LastName
	case u.FirstName != "":
		return u.FirstName
	case u.Username != "":
		return u.Handle()
	}
	return "someone"
}

// Handle is the username as programs get it, with its @; "" when unset.
func (u User) Handle() string {
	if u.Username == "" {
		return ""
	}
	return "@" + u.Username
}

// WalletType says which kind of device signs for a wallet (docs/specification.md, Events).
type WalletType string

// The kinds of signer.
const (
	PageWallet      WalletType = "page"
	ExternalWallet  WalletType = "external"
	DeveloperWallet WalletType = "developer"
)

// Wallet is an address whose holder proved to have its private key. It belongs to one user, or to one operator's key
// (then Owner is "").
type Wallet struct {
	Address     Address    `json:"address"`
	Owner       UserID     `json:"owner,omitzero"`
	Type        WalletType `json:"type"`
	ConnectedAt time.Time  `json:"connected_at"`
	KeyLineage  string     `json:"key_id,omitzero"` // of a program: the line of the key that connected it; its own when Owner is ""
	Claim       *Claim     `json:"claim,omitempty"` // somebody else has proven it since; nil for nobody
}

// Claim is a later proof of an address that belongs to somebody else. The address moves to User unless its owner prevents
// it in time.
type Claim struct {
	User       UserID     `json:"user"`
	Type       WalletType `json:"type"`
	KeyLineage string     `json:"key_id"`
	At         time.Time  `json:"at"`
}
