package purser

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Wallet is a wallet that is connected to a person, or to an operator's key itself.
type Wallet struct {
	Address     string    `json:"address"`
	WalletType  string    `json:"wallet_type"` // "page", "external" or "developer"
	ConnectedAt time.Time `json:"connected_at"`
}

func (w Wallet) complete() bool { return w.Address != "" }

type walletList struct {
	Wallets []Wallet `json:"wallets"`
}

func (l walletList) complete() bool { return l.Wallets != nil && all(l.Wallets) }

func all[T answer](list []T) bool {
	for _, one := range list {
		if !one.complete() {
			return false
		}
	}
	return true
}

// Wallets is GET /v1/wallets, oldest first.
func (c *Client) Wallets(ctx context.Context) ([]Wallet, error) {
	list, err := do[walletList](ctx, c, call{method: http.MethodGet, path: "/v1/wallets"})
	return list.Wallets, err
}

// WalletsOf is GET /v1/wallets?chat_id: the wallets of a person (by Telegram id) who granted wallet:read to the key's
// app. Without that grant the error's code is CONSENT_REQUIRED.
func (c *Client) WalletsOf(ctx context.Context, chatID string) ([]Wallet, error) {
	list, err := do[walletList](ctx, c, call{method: http.MethodGet, path: "/v1/wallets", query: url.Values{"chat_id": {chatID}}})
	return list.Wallets, err
}

// Disconnect is DELETE /v1/wallets/{address}. It removes the wallet from its owner's profile. The wallet's key and money are
// not touched. If the first response was lost, only Address is set.
func (c *Client) Disconnect(ctx context.Context, address string) (Wallet, error) {
	id, err := segment("address", address)
	if err != nil {
		return Wallet{}, err
	}
	gone, err := do[Wallet](ctx, c, call{method: http.MethodDelete, path: "/v1/wallets/" + id})
	if err == nil {
		gone.Address = address
	}
	return gone, err
}

// WalletLink is a connection link that was sent to a person's chat.
type WalletLink struct {
	Status    string    `json:"status"`     // "sent_to_chat"
	ExpiresAt time.Time `json:"expires_at"` // when the link expires
}

func (l WalletLink) complete() bool { return l.Status != "" }

// CreateWallet is POST /v1/wallet/create. The person (by Telegram id, digits) gets a link in their chat, to create or
// connect a wallet on their own device. It fails with RateLimitExceeded while such a link is open.
func (c *Client) CreateWallet(ctx context.Context, chatID string) (WalletLink, error) {
	return do[WalletLink](ctx, c, call{method: http.MethodPost, path: "/v1/wallet/create", body: map[string]string{"chat_id": chatID}})
}

// Challenge is the text that a program signs to prove that it holds an address's key.
type Challenge struct {
	Address   string    `json:"address"`
	Message   string    `json:"message"` // sign it byte for byte: see SignChallenge
	ExpiresAt time.Time `json:"expires_at"`
}

func (c Challenge) complete() bool { return c.Address != "" && c.Message != "" }

// ConnectChallenge is POST /v1/wallet/connect/challenge.
func (c *Client) ConnectChallenge(ctx context.Context, address string) (Challenge, error) {
	return do[Challenge](ctx, c, call{method: http.MethodPost, path: "/v1/wallet/connect/challenge", body: map[string]string{"address": address}})
}

// Connection is the state of connecting a program's wallet.
type Connection struct {
	Address string `json:"address"`
	Status  string `json:"status"` // "proven": the owner is being asked in chat; "done": it is connected
}

func (c Connection) complete() bool { return c.Address != "" && c.Status != "" }

// Connect is POST /v1/wallet/connect, with the signature over the newest challenge for the address. Calling
// it again returns the current status.
func (c *Client) Connect(ctx context.Context, address, signature string) (Connection, error) {
	return do[Connection](ctx, c, call{method: http.MethodPost, path: "/v1/wallet/connect",
		body: map[string]string{"address": address, "signature": signature}})
}

// Balance is the balances of an address.
type Balance struct {
	Address       string             `json:"address"`
	Balances      map[string]Holding `json:"balances"`        // listed tokens by symbol ("SOL"), others by mint
	TotalUSDValue string             `json:"total_usd_value"` // "" if a price is unknown
	UpdatedAt     time.Time          `json:"updated_at"`
}

// Holding is the balance of one token.
type Holding struct {
	Amount   string `json:"amount"`
	Reserved string `json:"reserved"`  // the part of Amount that is reserved for confirmed transactions
	USDValue string `json:"usd_value"` // "" if its price is unknown
	Mint     string `json:"mint"`      // "" for SOL
	Decimals uint8  `json:"decimals"`
}

func (b Balance) complete() bool {
	for _, h := range b.Balances {
		if h.Amount == "" {
			return false
		}
	}
	return b.Address != "" && b.Balances != nil
}

// Balance is GET /v1/wallet/balance, of any address.
func (c *Client) Balance(ctx context.Context, address string) (Balance, error) {
	return do[Balance](ctx, c, call{method: http.MethodGet, path: "/v1/wallet/balance", query: url.Values{"address": {address}}})
}

// Notifications are the notifications that the key's owner gets in chat, or the events about a person that an app receives.
type Notifications struct {
	Enabled   bool      `json:"enabled"`
	Events    []string  `json:"events"` // names such as "transaction.received", wildcards such as "price.*"
	UpdatedAt time.Time `json:"updated_at"`
}

func (n Notifications) complete() bool { return n.Events != nil }

// NotificationSettings are new notification settings. An empty list of events turns all of them off.
type NotificationSettings struct {
	Enabled bool
	Events  []string
}

func (s NotificationSettings) body() any {
	return map[string]any{"enabled": s.Enabled, "events": append([]string{}, s.Events...)} // [] and not null
}

// Notifications is GET /v1/notifications, of the key's owner.
func (c *Client) Notifications(ctx context.Context) (Notifications, error) {
	return do[Notifications](ctx, c, call{method: http.MethodGet, path: "/v1/notifications"})
}

// SetNotifications is PUT /v1/notifications, of the key's owner.
func (c *Client) SetNotifications(ctx context.Context, s NotificationSettings) (Notifications, error) {
	return do[Notifications](ctx, c, call{method: http.MethodPut, path: "/v1/notifications", body: s.body()})
}
