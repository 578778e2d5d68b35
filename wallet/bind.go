package wallet

import (
	"strconv"
	"strings"
	"time"
)

// BindStatus is how far a bind link has come.
type BindStatus string

// A link is opened once, proven once, and answered once.
const (
	BindOpen     BindStatus = "open"     // the link was sent; nothing proven yet
	BindProven   BindStatus = "proven"   // the page proved an address; the chat asks which it was
	BindDone     BindStatus = "done"     // the owner tapped the match: the wallet is bound
	BindRefused  BindStatus = "refused"  // the owner tapped another one, or cancelled
	BindReplaced BindStatus = "replaced" // a newer link of the same user took its place
)

// Bind is one attempt to connect a wallet to a Telegram user (docs/architecture.md, Custody and the signing page). The
// token of the link is never kept, only its SHA-256.
type Bind struct {
	TokenHash [32]byte   `json:"token_hash"`
	User      UserID     `json:"user"`
	Chat      int64      `json:"chat"`
	Nonce     string     `json:"nonce"`
	IssuedAt  time.Time  `json:"issued_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	Status    BindStatus `json:"status"`
	Type      WalletType `json:"type"`
	Address   Address    `json:"address"`    // what was proven; of a program's, what it asked to prove
	KeyID     string     `json:"key_id"`     // the API key that asked; "" for a link
	OfferedBy string     `json:"offered_by"` // of a link: the API key that asked for it; "" for its owner
	Choices   []Address  `json:"choices"`    // what the chat offers: the proven one among two others
}

// BindWindow is how long a link to connect a wallet lives (docs/architecture.md, Custody and the signing page).
const BindWindow = 10 * time.Minute

// OpenAt tells whether the link can still be used at now.
func (b Bind) OpenAt(now time.Time) bool { return b.Status == BindOpen && now.Before(b.ExpiresAt) }

// ChoosableAt tells whether the owner may answer at now which address was proven.
func (b Bind) ChoosableAt(now time.Time) bool {
	return b.Status == BindProven && now.Before(b.ExpiresAt)
}

// Ended tells that the link and its question count no more, whatever the clock says.
func (b Bind) Ended() bool { return b.Status != BindOpen && b.Status != BindProven }

// TelegramAccount names a Telegram account in a sign-in text.
func TelegramAccount(id int64) string { return "Telegram account " + strconv.FormatInt(id, 10) }

// KeyAccount names an API key that belongs to nobody in a sign-in text.
func KeyAccount(id string) string { return "API key " + id }

// SignInText is the text that a wallet signs to prove that it belongs to a Telegram account: the layout of EIP-4361 as
// Sign-In With Solana uses it (docs/architecture.md, Custody and the signing page). Page and server each compose it for
// themselves; times are RFC 3339 UTC in whole seconds. account is what the wallet is connected to: see TelegramAccount
// and KeyAccount.
func SignInText(host, origin string, address Address, account, chain, nonce string, issued, expires time.Time) string {
	return strings.Join([]string{
		host + " wants you to sign in with your Solana account:",
		address.String(),
		"",
		"Connect this wallet to the " + account + ".",
		"",
		"URI: " + origin,
		"Version: 1",
		"Chain ID: " + chain,
		"Nonce: " + nonce,
		"Issued At: " + issued.UTC().Format(time.RFC3339),
		"Expiration Time: " + expires.UTC().Format(time.RFC3339),
	}, "\n")
}
