package harness

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/mr-tron/base58"
)

// Device is a person's device without its page: it holds a key and speaks the page's protocol (docs/architecture.md,
// Custody and the signing page). It signs what it is given: the page's own checks are tested with the page.
type Device struct {
	key    ed25519.PrivateKey
	client *http.Client
}

// NewDevice draws a key.
func NewDevice() (*Device, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return &Device{key: key, client: &http.Client{Timeout: Wait}}, err
}

// Address is the base58 address of the key.
func (d *Device) Address() string { return base58.Encode(d.key.Public().(ed25519.PublicKey)) }

// Refused is an answer of /w with a code.
type Refused struct {
	Status        int
	Code, Message string
}

func (e *Refused) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// Call posts to a path of the page's protocol. A *Refused is purser's own word; any other error
// means that nobody knows.
func (d *Device) Call(ctx context.Context, origin, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, origin+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Origin", origin)
	resp, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		var refused struct {
			Error struct{ Code, Message string }
		}
		if err := json.NewDecoder(resp.Body).Decode(&refused); err != nil {
			return fmt.Errorf("%s answered %s", path, resp.Status)
		}
		return &Refused{resp.StatusCode, refused.Error.Code, refused.Error.Message}
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// secretOf takes a link of the chat apart: its origin, and the secret behind #b= or #s=.
func secretOf(link, kind string) (origin, secret string, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", "", err
	}
	secret, ok := strings.CutPrefix(u.Fragment, kind+"=")
	if !ok {
		return "", "", fmt.Errorf("the link leads to #%s", u.Fragment)
	}
	secret, _, _ = strings.Cut(secret, "&") // and the page's language
	return u.Scheme + "://" + u.Host, secret, nil
}

// Bind proves the key to a link of /wallet new.
func (d *Device) Bind(ctx context.Context, link string) error {
	origin, token, err := secretOf(link, "b")
	if err != nil {
		return err
	}
	var c struct {
		TelegramID json.Number `json:"telegram_id"`
		Chain      string      `json:"chain"`
		Nonce      string      `json:"nonce"`
		IssuedAt   string      `json:"issued_at"`
		ExpiresAt  string      `json:"expires_at"`
	}
	if err := d.Call(ctx, origin, "/w/bind/challenge", map[string]string{"token": token}, &c); err != nil {
		return err
	}
	_, host, _ := strings.Cut(origin, "://")
	text := fmt.Sprintf("%s wants you to sign in with your Solana account:\n%s\n\nConnect this wallet to the Telegram account %s.\n\nURI: %s\nVersion: 1\nChain ID: %s\nNonce: %s\nIssued At: %s\nExpiration Time: %s",
		host, d.Address(), c.TelegramID, origin, c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	var answer struct{ Status string }
	return d.Call(ctx, origin, "/w/bind", map[string]string{"token": token, "address": d.Address(),
		"signature": base58.Encode(ed25519.Sign(d.key, []byte(text)))}, &answer)
}

// Signing is a signature that a device has made for a sign link; Send may be repeated.
type Signing struct {
	device     *Device
	origin, id string
	sum, sig   string
}

// ErrNotOffered says that the link's transaction awaits no signature (any more).
var ErrNotOffered = errors.New("the transaction is not offered for signing")

// Approve fetches a sign link's transaction with a fresh blockhash and signs it.
func (d *Device) Approve(ctx context.Context, link string) (*Signing, error) {
	origin, id, err := secretOf(link, "s")
	if err != nil {
		return nil, err
	}
	var view struct {
		Status  string
		Message *string
	}
	if err := d.Call(ctx, origin, "/w/tx/refresh", map[string]string{"id": id}, &view); err != nil {
		return nil, err
	}
	if view.Message == nil {
		return nil, fmt.Errorf("%w: it is %s", ErrNotOffered, view.Status)
	}
	message, err := base64.StdEncoding.DecodeString(*view.Message)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(message)
	return &Signing{d, origin, id, hex.EncodeToString(sum[:]), base58.Encode(ed25519.Sign(d.key, message))}, nil
}

// Send hands the signature in and returns the transaction's status.
func (s *Signing) Send(ctx context.Context) (status string, err error) {
	var answer struct{ Status string }
	err = s.device.Call(ctx, s.origin, "/w/tx/signature", map[string]string{"id": s.id, "message_sha256": s.sum, "signature": s.sig}, &answer)
	return answer.Status, err
}

// Signature is the signature in base58, by which its transaction is known on the chain.
func (s *Signing) Signature() string { return s.sig }
