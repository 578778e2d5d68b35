package wallet

import (
	"strconv"
	"strings"
	"time"
)

// BindStatus is the state of an attempt to connect a wallet.
type BindStatus string

// The states. An attempt is proven once and answered once.
const (
	BindOpen     BindStatus = "open"     // the link was sent, nothing is proven yet
	BindProven   BindStatus = "proven"   // the page proved an address, and the chat asks which one
	BindDone     BindStatus = "done"     // the owner chose the proven address: the wallet is connected
	BindRefused  BindStatus = "refused"  // the owner chose another address, or cancelled
	BindReplaced BindStatus = "replaced" // the same user has a newer link
)

// Bind is one attempt to connect a wallet (docs/architecture.md, Custody and the signing page). Of the link's token only
// the SHA-256 is stored.
type Bind struct {
	TokenHash [32]byte   `json:"token_hash"`
	User      UserID     `json:"user"`
	Chat      int64      `json:"chat"`
	Nonce     string     `json:"nonce"`
	IssuedAt  time.Time  `json:"issued_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	Status    BindStatus `json:"status"`
	Type      WalletType `json:"type"`
	Address   Address    `json:"address"`    // the proven address; for a program, the one that it is to prove
	KeyID     string     `json:"key_id"`     // the API key that connects the wallet; "" for a link
	OfferedBy string     `json:"offered_by"` // the API key that requested the link; "" for its owner
	Choices   []Address  `json:"choices"`    // what the chat offers: the proven address and two random ones
}

// BindWindow is how long a link to connect a wallet can be used.
const BindWindow = 10 * time.Minute

// OpenAt reports whether the link can be used at now.
func (b Bind) OpenAt(now time.Time) bool { return b.Status == BindOpen && now.Before(b.ExpiresAt) }

// ChoosableAt reports whether the owner can answer at now which address was proven.
func (b Bind) ChoosableAt(now time.Time) bool {
	return b.Status == BindProven && now.Before(b.ExpiresAt)
}

// Ended reports whether the attempt is over. It does not consider expiry.
func (b Bind) Ended() bool { return b.Status != BindOpen && b.Status != BindProven }

// TelegramAccount names a Telegram account in a sign-in text.
func TelegramAccount(id int64) string { return "Telegram account " + strconv.FormatInt(id, 10) }

// KeyAccount names an operator's key in a sign-in text. id is its lineage.
func KeyAccount(id string) string { return "API key " + id }

// SignInText returns the text that a wallet signs to prove that it belongs to an account: the format of EIP-4361, as
// Sign-In With Solana uses it (docs/architecture.md, Custody and the signing page). The page composes the same text
// independently. Times are RFC 3339 in UTC with whole seconds. account comes from TelegramAccount or KeyAccount.
func SignInText(host, origin string, address Address, account, chain, nonce string, issued, expires time.Time) string {
	return strings.Join([]string{
		host + " wants you to sign in with your Solana account:",
		address.String(),
		"",
		connectStatement(account),
		"",
		"URI: " + origin,
		"Version: 1",
		"Chain ID: " + chain,
		"Nonce: " + nonce,
		"Issued At: " + issued.UTC().Format(time.RFC3339),
		"Expiration Time: " + expires.UTC().Format(time.RFC3339),
	}, "\n")
}

// connectStatement is the line of SignInText that says what the signature does.
func connectStatement(account string) string { return "Connect this wallet to the " + account + "." }

// unfreezeStatement is the line of UnfreezeText that says what the signature does.
func unfreezeStatement(account string) string {
	return "Unfreeze the purser account of the " + account + "."
}
