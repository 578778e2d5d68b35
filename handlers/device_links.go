package handlers

import (
	"crypto/sha256"
	"io"
	"net/url"
	"time"

	"purser/wallet"
)

// DeviceLinks makes the links by which a person's device signs a text with the key of a wallet, and checks those signatures. Wallets
// uses them to connect a wallet, Freezing to end a freeze, and Policies to set spending limits. Each stores its links in rows of its own.
type DeviceLinks struct {
	Signatures SignatureVerifier
	PublicURL  *url.URL // of the signing page: its host and origin are part of the signed text
	Cluster    string   // mainnet, devnet or localnet: the Chain ID of the signed text
	Now        Clock
	Random     io.Reader
}

// deviceLink is a new link. The token is its secret: only its hash is stored.
type deviceLink struct {
	token               string
	hash                [32]byte
	nonce               string // part of the text to sign
	issuedAt, expiresAt time.Time
}

// newToken draws the secret of a link, 32 random bytes in base64url.
func (d *DeviceLinks) newToken() (token string, hash [32]byte, err error) {
	token, err = wallet.RandomToken(d.Random, 32)
	return token, tokenHash(token), err
}

// tokenHash is what is stored of the token of a link.
func tokenHash(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// newLink draws a link that is open for this long.
func (d *DeviceLinks) newLink(window time.Duration) (l deviceLink, err error) {
	if l.token, l.hash, err = d.newToken(); err != nil {
		return l, err
	}
	l.nonce, err = wallet.RandomText(d.Random, 22)   // Sign-In With Solana requires at least 8 alphanumeric characters
	l.issuedAt = d.Now().UTC().Truncate(time.Second) // the signed text contains whole seconds
	l.expiresAt = l.issuedAt.Add(window)
	return l, err
}

// Challenge has the fields of the text that the page signs. The page composes the text from them itself, so that the
// server cannot make it sign anything else.
type Challenge struct {
	TelegramID int64
	Name       string
	Username   string
	Chain      string
	Nonce      string
	IssuedAt   time.Time
	ExpiresAt  time.Time
}

// challenge returns the challenge of a user's link.
func (d *DeviceLinks) challenge(user wallet.User, nonce string, issued, expires time.Time) Challenge {
	return Challenge{TelegramID: user.TelegramID, Name: user.Name(), Username: user.Username, Chain: d.Cluster,
		Nonce: nonce, IssuedAt: issued, ExpiresAt: expires}
}

// deviceText composes a text that a wallet signs: wallet.SignInText, wallet.UnfreezeText, or wallet.PolicyText for one policy.
type deviceText func(host, origin string, address wallet.Address, account, chain, nonce string, issued, expires time.Time) string

// text composes the text of a link for this server. The page composes the same text independently. account comes from
// wallet.TelegramAccount or wallet.KeyAccount.
func (d *DeviceLinks) text(compose deviceText, address wallet.Address, account, nonce string, issued, expires time.Time) string {
	return compose(d.PublicURL.Host, d.PublicURL.Scheme+"://"+d.PublicURL.Host, address, account, d.Cluster, nonce, issued, expires)
}

// signed reports whether sig is the address's signature over a text. An address without a private key signs nothing.
func (d *DeviceLinks) signed(text string, address wallet.Address, sig wallet.Signature) bool {
	return address.OnCurve() && d.Signatures.VerifySignature([]byte(text), address, sig)
}
