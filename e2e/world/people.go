package world

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Person is somebody with a phone: a Telegram account, and a key that never leaves the device.
type Person struct {
	TelegramID int64
	FirstName  string
	Username   string
	Language   string // of their Telegram app; "": English
	Key        ed25519.PrivateKey
	User       wallet.User // zero until purser has met them
}

// Address is that of the device's key.
func (p *Person) Address() wallet.Address { return AddressOf(p.Key) }

// Caller is the person's own word in chat.
func (p *Person) Caller() handlers.Caller { return handlers.Caller{User: p.User.ID} }

// Sign is what the device answers to a message.
func (p *Person) Sign(message []byte) wallet.Signature {
	return wallet.Signature(ed25519.Sign(p.Key, message))
}

// AddressOf is the address of a key.
func AddressOf(key ed25519.PrivateKey) wallet.Address {
	return wallet.Address(key.Public().(ed25519.PublicKey))
}

// NewKey makes a key.
func (w *World) NewKey() ed25519.PrivateKey {
	w.Helper()
	seed := make([]byte, ed25519.SeedSize)
	_, err := w.Read(seed)
	w.Must(err)
	return ed25519.NewKeyFromSeed(seed)
}

// Stranger is an address on the curve that holds nothing.
func (w *World) Stranger() wallet.Address { return AddressOf(w.NewKey()) }

// Somebody has a phone; purser knows nothing of them.
func (w *World) Somebody(telegramID int64, firstName string) *Person {
	w.Helper()
	return &Person{TelegramID: telegramID, FirstName: firstName, Username: strings.ToLower(firstName), Key: w.NewKey()}
}

// Meet makes purser know somebody, as their first word to the bot does.
func (w *World) Meet(p *Person) {
	w.Helper()
	w.Must(w.Update(func(tx store.Tx) error {
		var err error
		p.User, _, err = w.Users.Upsert(tx, handlers.Person{TelegramID: p.TelegramID, FirstName: p.FirstName, Username: p.Username, Language: cmp.Or(p.Language, "en")})
		return err
	}))
}

// Connect binds the device's address, as a proof and its answer in chat do, and makes it the default.
func (w *World) Connect(p *Person) {
	w.Helper()
	w.Must(w.Update(func(tx store.Tx) error {
		p.User.DefaultWallet = p.Address()
		if err := tx.PutUser(p.User); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: p.Address(), Owner: p.User.ID, Type: wallet.PageWallet, ConnectedAt: w.Now()})
	}))
}

// Fund gives an address lamports, and waits the blocks that confirm them.
func (w *World) Fund(to wallet.Address, lamports uint64) {
	w.Helper()
	if lamports == 0 {
		return
	}
	_, err := w.Cluster.Airdrop(context.Background(), to.String(), lamports)
	w.Must(err)
	w.Blocks(3)
}

// FundToken gives an address units of a test token of the sandbox ("USDC").
func (w *World) FundToken(to wallet.Address, token string, units uint64) {
	w.Helper()
	_, err := w.Cluster.AirdropToken(context.Background(), to.String(), token, units)
	w.Must(err)
	w.Blocks(3)
}

// Rich is somebody whom purser knows, with a bound wallet and lamports in it.
func (w *World) Rich(telegramID int64, firstName string, lamports uint64) *Person {
	w.Helper()
	p := w.Somebody(telegramID, firstName)
	w.Meet(p)
	w.Connect(p)
	w.Fund(p.Address(), lamports)
	return p
}

// Link opens a bind link for somebody and returns its token.
func (w *World) Link(user wallet.User) string {
	w.Helper()
	l, err := w.Wallets.PrepareLink(user)
	w.Must(err)
	w.Must(w.Update(func(tx store.Tx) error { return w.Wallets.CommitLink(tx, l) }))
	return l.Token
}

// Prove plays the signing page behind a bind link: it signs the text with a key.
func (w *World) Prove(token string, key ed25519.PrivateKey) error {
	ctx := context.Background()
	c, err := w.Wallets.Challenge(ctx, token)
	if err != nil {
		return err
	}
	text := wallet.SignInText(w.PublicURL.Host, w.PublicURL.String(), AddressOf(key), wallet.TelegramAccount(c.TelegramID),
		c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	return w.Wallets.Prove(ctx, token, wallet.PageWallet, AddressOf(key), wallet.Signature(ed25519.Sign(key, []byte(text))))
}
