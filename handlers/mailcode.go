package handlers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Limits of the codes that prove a mail address.
const (
	codeDigits  = 6
	CodeLife    = 10 * time.Minute
	CodeTries   = 5
	CodesAnHour = 3 // for one person, and to one address
)

// codesMailed and codesTo bound the codes that are mailed: for a person, and to an address.
func codesMailed() bound { return bound{"mail", CodesAnHour, time.Hour} }
func codesTo() bound     { return bound{"mail_to", CodesAnHour, time.Hour} }

// mailbox is how an address is counted: most servers read capitals, and what follows a plus, as the same one.
func mailbox(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

// MailCode is a code on its way to a mail address, as a conversation remembers it. The code itself is not
// in it: six digits are soon guessed from a hash, so whoever keeps this seals it as well.
type MailCode struct {
	Address string    `json:"address"`
	Salt    []byte    `json:"salt"`
	Hash    []byte    `json:"hash"`
	Until   time.Time `json:"until"`
	Tries   int       `json:"tries"` // wrong ones
}

// MailCode draws a code and mails it; word puts it into words. The mail is counted before it is sent, in
// a transaction of its own: a crash or a server that does not answer gives nobody more of them.
// INVALID_REQUEST for what is no address, RATE_LIMIT_EXCEEDED for the fourth in an hour, NETWORK_ERROR
// when the mail could not be sent.
func (d *Developers) MailCode(ctx context.Context, user wallet.UserID, address string, word func(code string) (subject, text string, err error)) (MailCode, error) {
	address, err := ParseEmail(address)
	if err != nil {
		return MailCode{}, err
	}
	unsent := wallet.Refuse(wallet.NetworkError, "the mail could not be sent: try again in a while, or with another address")
	if d.Mail == nil {
		return MailCode{}, unsent
	}
	code, sent, err := d.drawCode(address)
	if err != nil {
		return MailCode{}, err
	}
	subject, text, err := word(code)
	if err != nil {
		return MailCode{}, err
	}
	if err := d.Store.Update(ctx, func(tx store.Tx) error { return d.count(tx, user, address) }); err != nil {
		return MailCode{}, err
	}
	if err := d.Mail.Send(ctx, address, subject, text); err != nil {
		d.Log.WarnContext(ctx, "a mail could not be sent", "error", err)
		return MailCode{}, unsent
	}
	return sent, nil
}

// drawCode draws a code for an address.
func (d *Developers) drawCode(address string) (code string, _ MailCode, _ error) {
	digits := make([]byte, codeDigits)
	for i := range digits {
		digit, err := wallet.RandomBelow(d.Random, 10)
		if err != nil {
			return "", MailCode{}, err
		}
		digits[i] = byte('0' + digit)
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, salt); err != nil {
		return "", MailCode{}, fmt.Errorf("draw a salt: %w", err)
	}
	return string(digits), MailCode{Address: address, Salt: salt, Hash: hashOf(salt, string(digits)), Until: d.Now().UTC().Add(CodeLife)}, nil
}

func hashOf(salt []byte, code string) []byte {
	sum := sha256.Sum256(append(slices.Clone(salt), code...))
	return sum[:]
}

// count notes that a code is mailed for somebody to an address.
func (d *Developers) count(tx store.Tx, user wallet.UserID, address string) error {
	person, err := tx.User(user)
	if err != nil {
		return err
	}
	mine, err := codesMailed().spend(tx, d.Now(), account(person))
	if err != nil {
		return err
	}
	theirs, err := codesTo().spend(tx, d.Now(), mailbox(address))
	if err != nil {
		return err
	}
	if mine.Before(theirs) {
		mine = theirs
	}
	if !mine.IsZero() {
		return wallet.Refuse(wallet.RateLimitExceeded, "%d codes an hour are mailed at most: the next one from %s", CodesAnHour, mine.Format("15:04 UTC"))
	}
	return nil
}

// TryCode judges a code as it was typed, and returns what is to be remembered of it. The right one proves
// the address. INVALID_REQUEST for a wrong one; CONFLICT when this code is of no use any more, since its
// time or its tries are over.
func (d *Developers) TryCode(tx store.Tx, user wallet.UserID, sent MailCode, typed string) (MailCode, error) {
	if sent.Tries >= CodeTries || !d.Now().Before(sent.Until) {
		return sent, wallet.Refuse(wallet.Conflict, "this code is over: have a new one sent")
	}
	typed = strings.Join(strings.FieldsFunc(typed, func(r rune) bool { return r == ' ' || r == '-' }), "")
	if subtle.ConstantTimeCompare(hashOf(sent.Salt, typed), sent.Hash) != 1 {
		sent.Tries++
		if left := CodeTries - sent.Tries; left > 0 {
			return sent, wallet.Refuse(wallet.InvalidRequest, "that is not the code in the mail; tries left: %d", left)
		}
		return sent, wallet.Refuse(wallet.Conflict, "that was the last try, and not the code: have a new one sent")
	}
	dev, err := tx.Developer(user)
	if err != nil {
		return sent, err
	}
	dev.Email = sent.Address
	return sent, tx.PutDeveloper(dev.With(wallet.ByEmail, d.Now().UTC()))
}
