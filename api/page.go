package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/signer"
	"purser/wallet"
)

// asset is GET /w/ and /w/{file}: the files of the signing page, which are embedded in the binary and compressed already. They cost nothing but
// bytes and have no limit: if the page could not be loaded, a payment would stay unsigned.
func (s *Server) asset(c *fiber.Ctx) error {
	file, ok := signer.Lookup(c.Params("file"))
	if !ok {
		return wallet.Refuse(wallet.NotFound, noPath)
	}
	for _, h := range file.Headers {
		c.Set(h.Name, h.Value)
	}
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	content, encoding := file.Encoded(acceptEncoding(c))
	if file.ETag != "" {
		tag := `"` + file.ETag + encoding + `"` // the forms have other bytes
		c.Set(fiber.HeaderETag, tag)
		if etagMatches(c.Get(fiber.HeaderIfNoneMatch), tag) {
			return c.SendStatus(fiber.StatusNotModified)
		}
	}
	c.Set(fiber.HeaderContentType, file.ContentType)
	if encoding != "" {
		c.Set(fiber.HeaderContentEncoding, encoding)
	}
	return c.Send(content)
}

// acceptEncoding returns the header Accept-Encoding, which may come in several lines.
func acceptEncoding(c *fiber.Ctx) string {
	return string(bytes.Join(c.Request().Header.PeekAll(fiber.HeaderAcceptEncoding), []byte(",")))
}

// fromPage returns a handler for requests of the signing page (docs/architecture.md, Custody and the signing page). It
// requires the page's Origin, which browsers set and scripts of other sites cannot forge, and a JSON body.
//
// Requests with a living link count against a limit for each link, and all others against one for each client address. So
// nobody can use up what another person needs to sign, even if both have the same address, as they do behind a proxy that
// the configuration does not name.
func (s *Server) fromPage(next func(*fiber.Ctx, object) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		// This check comes before the request counts: other pages in the same browser can send requests that are
		// refused here, and must not use up what the owner needs to sign.
		if !hasOrigin(&c.Request().Header, s.origin) {
			return wallet.Refuse(wallet.PolicyViolation, "http_request.page_only", wallet.TextArg("URL", s.origin+"/w/"))
		}
		err := s.arrived(c)
		var fields object
		if err == nil {
			fields, err = jsonBody(c)
		}
		if err == nil {
			link := linkOf(c.Path(), fields)
			q := s.page.take(link, s.Now())
			if !q.OK {
				return s.rateLimited(c, q, "rate_limit.requests_per_minute")
			}
			// Every request that names a living link is an opening, whatever it asks for. It is logged before it is answered.
			if err = s.opened(c, fields); err != nil {
				return err
			}
			if err = next(c, fields); !strange(err) {
				requestState(c).known = true
				left(c, q)
				return err
			}
			if wallet.CodeOf(err) == wallet.NotFound { // the memory is for links that live
				s.page.forget(link)
			} else {
				s.page.forgetLone(link)
			}
		}
		// No living link: the request counts against its client.
		q := s.badLinks.take(s.client(c), s.Now())
		if !q.OK {
			return s.rateLimited(c, q, "rate_limit.requests_per_minute")
		}
		left(c, q)
		return err
	}
}

// opened logs that the link which a request names was opened, once for each link and device. A recovery link is not: who opens it freezes the account, and that is
// logged.
func (s *Server) opened(c *fiber.Ctx, fields object) error {
	kind, name := "", "token"
	switch path := c.Path(); {
	case strings.HasPrefix(path, "/w/tx/"):
		kind, name = wallet.LinkToSign, "id"
	case strings.HasPrefix(path, "/w/bind"):
		kind = wallet.LinkToConnect
	case strings.HasPrefix(path, "/w/limits/"):
		kind = wallet.LinkToSetLimits
	case strings.HasPrefix(path, "/w/unfreeze"):
		kind = wallet.LinkToUnfreeze
	default:
		return nil
	}
	secret, err := fields.text(name)
	if err != nil || secret == "" { // refused as strange
		return nil
	}
	return s.Security.OpenedLink(c.UserContext(), kind, secret, s.from(c))
}

// linkOf returns the hash of the link that a request names, under which its requests are counted: `id` of a signing
// link, `token` of all others.
func linkOf(path string, fields object) [32]byte {
	name := "token"
	if strings.HasPrefix(path, "/w/tx/") {
		name = "id"
	}
	secret, _ := fields.text(name) // without one the request is refused as strange
	return sha256.Sum256([]byte(secret))
}

// strange reports whether the error of a request means that it named no living link, or may have named none: a malformed
// request is refused before its link is looked up. Such a request counts against its address. It also still counts against
// the link that it names, or the holder of a living link could undo the count by malformed requests.
func strange(err error) bool {
	code := wallet.CodeOf(err)
	return err != nil && (code == wallet.NotFound || code == wallet.InvalidRequest || code == wallet.PayloadTooLarge)
}

// bare sends a response to the page, which uses no envelope.
func bare(c *fiber.Ctx, answer any) error { return c.JSON(answer) }

// challengeAnswer is the response of POST /w/bind/challenge. All fields are texts, as the page checks them.
type challengeAnswer struct {
	TelegramID   string `json:"telegram_id"`
	TelegramName string `json:"telegram_name"`
	Username     string `json:"username"` // without @; "" if the person has none
	Chain        string `json:"chain"`
	Nonce        string `json:"nonce"`
	IssuedAt     string `json:"issued_at"` // RFC 3339 UTC in whole seconds: part of the signed text
	ExpiresAt    string `json:"expires_at"`
}

// bindChallenge is POST /w/bind/challenge. It returns what the page composes the text to sign from.
func (s *Server) bindChallenge(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	ch, err := s.Wallets.Challenge(c.UserContext(), token)
	if err != nil {
		return err
	}
	return bare(c, answerOf(ch))
}

// answerOf renders the challenge of a link.
func answerOf(ch handlers.Challenge) challengeAnswer {
	return challengeAnswer{
		TelegramID: strconv.FormatInt(ch.TelegramID, 10), TelegramName: ch.Name, Username: ch.Username,
		Chain: ch.Chain, Nonce: ch.Nonce,
		IssuedAt: ch.IssuedAt.UTC().Format(time.RFC3339), ExpiresAt: ch.ExpiresAt.UTC().Format(time.RFC3339),
	}
}

// accountsAnswer is the response of POST /w/bind/accounts: which of the addresses hold SOL, in the order of the
// request.
type accountsAnswer struct {
	Holds []bool `json:"holds"`
}

// bindAccounts is POST /w/bind/accounts. The page asks it when it restores a recovery phrase, to find the account in use.
func (s *Server) bindAccounts(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	texts, err := fields.texts("addresses", handlers.MaxAccountsAsked)
	if err != nil {
		return err
	}
	addresses := make([]wallet.Address, len(texts))
	for i, text := range texts {
		if addresses[i], err = wallet.ParseAddress(text); err != nil {
			return about("addresses", err)
		}
	}
	// The token says which person asks. Their lookups are limited by person, since each one calls the Solana node:
	// with a new link a person gets no new lookups.
	challenge, err := s.Wallets.Challenge(c.UserContext(), token)
	if err != nil {
		return err
	}
	if len(addresses) > 0 {
		if q := s.lookups.take(challenge.TelegramID, s.Now()); !q.OK {
			return s.rateLimited(c, q, "rate_limit.lookups_per_minute")
		}
	}
	holds, err := s.Wallets.InUse(c.UserContext(), token, addresses)
	if err != nil {
		return err
	}
	return bare(c, accountsAnswer{holds})
}

// bindAnswer is the response of POST /w/bind. The wallet is not bound yet: the chat asks its owner first.
type bindAnswer struct {
	Address wallet.Address    `json:"address"`
	Status  wallet.BindStatus `json:"status"`
}

// bind is POST /w/bind. It stores the proof that a person holds the key of an address. After that the chat asks the
// person which address the page showed.
func (s *Server) bind(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	address, signature, err := fields.proof()
	if err != nil {
		return err
	}
	kind, err := fields.optional("wallet_type", string(wallet.PageWallet))
	if err != nil {
		return err
	}
	if t := wallet.WalletType(kind); t != wallet.PageWallet && t != wallet.ExternalWallet {
		return bad("wallet_type", "body.one_of", wallet.ListArg("Choices", []string{"page", "external"}))
	}
	if err := s.Wallets.Prove(c.UserContext(), token, wallet.WalletType(kind), address, signature); err != nil {
		return err
	}
	return bare(c, bindAnswer{address, wallet.BindProven})
}

// signAnswer is the response of POST /w/tx/get and /w/tx/refresh. Message is base64, or null if no signature is
// awaited. A delayed transaction that has a link has it too, with a zero blockhash.
type signAnswer struct {
	Status    wallet.Status  `json:"status"`
	Address   wallet.Address `json:"address"`
	Chain     string         `json:"chain"`
	Message   *string        `json:"message"`
	ExpiresAt string         `json:"expires_at"`
	// Recipient is whom the transaction is meant for. The page shows it only if the bytes prove it.
	Recipient  wallet.Address    `json:"recipient"`
	WalletType wallet.WalletType `json:"wallet_type"` // what signs: this page, or an external wallet
	// What no bytes prove. The page marks these as the server's word. "" if there is none.
	Contact string       `json:"contact,omitempty"`  // the owner's own name for the recipient
	App     string       `json:"app,omitempty"`      // the app that requested the payment
	KeyHint string       `json:"key_hint,omitempty"` // the last characters of the API key that requested it, if the key has no app
	Label   string       `json:"label,omitempty"`    // the name in the payment link, such as a shop's: written by the maker of the link
	Terms   wallet.Terms `json:"terms,omitempty"`    // the kind's own data; absent for a kind without
	// How it ended.
	Signature string         `json:"signature,omitempty"`  // base58; "" until there is one
	ErrorCode wallet.Failure `json:"error_code,omitempty"` // of a failed or rejected one
	Held      bool           `json:"held,omitempty"`       // nobody can say yet whether it landed
	// DefaultWalletChangedAt is when another wallet became the owner's default (RFC 3339), if this one was it before; null if that was not lately, and of /w/tx/refresh. The page
	// shows it as a notice.
	DefaultWalletChangedAt *string `json:"default_wallet_changed_at"`
	// ReadyAt is when a delayed one can be signed at the earliest; absent for others.
	ReadyAt string `json:"ready_at,omitempty"`
	// Limits are the spending limits of the wallet; null for a wallet without.
	Limits *limitsAnswer `json:"limits"`
	Bot    string        `json:"bot,omitempty"` // its name at https://t.me; "" if that address does not lead to it
}

// signAnswer renders a transaction for the page.
func (s *Server) signAnswer(v handlers.SignView) signAnswer {
	t := v.Transaction
	a := signAnswer{Status: v.Status, Address: v.Address, Chain: v.Chain, ExpiresAt: stamp(t.Deadline),
		Recipient: t.To, WalletType: t.Signer, Contact: v.Contact, App: v.By.App, KeyHint: v.By.KeyHint, Label: t.Label, Terms: t.Terms,
		ErrorCode: t.ErrorCode, Held: t.Indeterminate, Limits: limitsOf(v.Limits), Bot: s.LinkedBot()}
	if t.Status == wallet.Delayed {
		a.ReadyAt, a.ExpiresAt = stamp(t.DelayEndsAt), stamp(t.DelayEndsAt.Add(wallet.DelayedSignWindow))
	}
	if !t.Signature.IsZero() {
		a.Signature = t.Signature.String()
	}
	if !v.DefaultChangedAt.IsZero() {
		at := stamp(v.DefaultChangedAt)
		a.DefaultWalletChangedAt = &at
	}
	if v.Message != nil {
		message := base64.StdEncoding.EncodeToString(v.Message)
		a.Message = &message
	}
	return a
}

// signGet is POST /w/tx/get. It returns a transaction and the message to sign.
func (s *Server) signGet(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	view, err := s.Signing.Get(c.UserContext(), id)
	if err != nil {
		return err
	}
	return bare(c, s.signAnswer(view))
}

// signRefresh is POST /w/tx/refresh. It returns the message with a fresh blockhash.
func (s *Server) signRefresh(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	view, err := s.Signing.Refresh(c.UserContext(), handlers.ByLink(id))
	if err != nil {
		return err
	}
	return bare(c, s.signAnswer(view))
}

// blocksAnswer is the response of POST /w/tx/blocks: for how many more blocks the newest blockhash of a transaction
// is valid.
type blocksAnswer struct {
	Left int64 `json:"blocks_left"`
}

// signBlocks is POST /w/tx/blocks. The page asks it while it waits for the person.
func (s *Server) signBlocks(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	left, err := s.Signing.BlocksLeft(c.UserContext(), handlers.ByLink(id))
	if err != nil {
		return err
	}
	return bare(c, blocksAnswer{left})
}

// statusAnswer is the response of POST /w/tx/signature and /w/tx/reject.
type statusAnswer struct {
	Status wallet.Status `json:"status"`
}

// signSubmit is POST /w/tx/signature. It takes a signature, or the whole transaction that an external wallet has
// signed. A signature comes with the SHA-256 of the message that it signs.
func (s *Server) signSubmit(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	given, err := fields.signed()
	if err != nil {
		return err
	}
	if given.Signed == nil {
		if given.Over, err = fields.text("message_sha256"); err != nil {
			return err
		}
	}
	status, err := s.Signing.Submit(c.UserContext(), handlers.ByLink(id), given)
	if err != nil {
		return err
	}
	return bare(c, statusAnswer{status})
}

// signReject is POST /w/tx/reject. It ends a transaction that was not signed.
func (s *Server) signReject(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	status, err := s.Signing.Reject(c.UserContext(), handlers.ByLink(id))
	if err != nil {
		return err
	}
	return bare(c, statusAnswer{status})
}

// signed parses what a device sends after signing: `signature`, or `signed_transaction` in base64, but not both.
func (o object) signed() (handlers.Signature, error) {
	if _, whole := o["signed_transaction"]; !whole {
		signature, err := o.signature("signature")
		return handlers.Signature{Signature: signature}, err
	}
	if _, both := o["signature"]; both {
		return handlers.Signature{}, wallet.Refuse(wallet.InvalidRequest, "http_request.two_signatures")
	}
	text, err := o.text("signed_transaction")
	if err != nil {
		return handlers.Signature{}, err
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return handlers.Signature{}, bad("signed_transaction", "body.transaction")
	}
	return handlers.Signature{Signed: raw}, nil
}

// proof reads the address and the signature by which somebody proves to hold its key.
func (o object) proof() (at wallet.Address, signature wallet.Signature, err error) {
	if at, err = o.address("address"); err != nil {
		return at, signature, err
	}
	signature, err = o.signature("signature")
	return at, signature, err
}

// signature returns a required field that is a signature in base58.
func (o object) signature(name string) (wallet.Signature, error) {
	text, err := o.text(name)
	if err != nil {
		return wallet.Signature{}, err
	}
	signature, err := wallet.ParseSignature(text)
	return signature, about(name, err)
}
