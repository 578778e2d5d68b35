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
	"unicode"

	"purser/store"
	"purser/wallet"
)

// Limits of the codes that verify an e-mail address.
const (
	CodeDigits  = 6 // decimal digits of a code
	CodeLife    = 10 * time.Minute
	CodeTries   = 5 // wrong entries before a code is void
	CodesAnHour = 3 // for one person, and to one address
)

// mailbox returns the key by which an address is counted. Most servers ignore case and everything from a plus sign on.
func mailbox(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

// Mailed returns the code that a person can still enter; nil for none. It stays valid when the conversation in which it
// was requested ends.
func (d *Developers) Mailed(tx store.Tx, user wallet.UserID) (*wallet.MailCode, error) {
	dev, err := tx.Developer(user)
	if sent := dev.MailCode; sent != nil && (sent.Tries >= CodeTries || !d.Now().Before(sent.Until)) {
		return nil, err
	}
	return dev.MailCode, err
}

// ProvingMail reports whether a person's next message may be an e-mail address or a code: a code was mailed to them, or
// they requested keys and still have to verify an address.
func (d *Developers) ProvingMail(tx store.Tx, user wallet.UserID) (bool, error) {
	if sent, err := d.Mailed(tx, user); sent != nil || err != nil {
		return sent != nil, err
	}
	st, err := d.Standing(tx, user)
	return st.Developer.Request != nil && slices.Contains(st.Missing, wallet.ByEmail), err
}

// MailableFrom returns when the next code can be mailed for a person, to any address. Zero means now.
func (d *Developers) MailableFrom(tx store.Tx, user wallet.UserID) (time.Time, error) {
	person, err := tx.User(user)
	if err != nil {
		return time.Time{}, err
	}
	return codesMailed().Next(tx, d.Now(), account(person))
}

// keepCode stores the code that was mailed. It replaces the previous one.
func (d *Developers) keepCode(tx store.Tx, user wallet.UserID, sent wallet.MailCode) error {
	dev, err := tx.Developer(user)
	if err != nil {
		return err
	}
	dev.MailCode = &sent
	return tx.PutDeveloper(dev)
}

// MailCode draws a code, mails it and stores its hash. word returns the mail's subject and text. The mail is counted before
// it is sent, in a transaction of its own, so that neither a crash nor a slow server allows extra mails. The hash is stored
// right after the mail is sent, and not with the chat's answer: the chat may have to handle its input again, after a
// conflict, and must not mail a second code then. input names the input: if the newest code was mailed for it, MailCode does
// nothing. A crash between mail and hash leaves the person with a code that does not work, and handling the input again
// mails another one.
//
// Errors: INVALID_REQUEST for an invalid address, RATE_LIMIT_EXCEEDED beyond CodesAnHour, NETWORK_ERROR if the mail could
// not be sent.
func (d *Developers) MailCode(ctx context.Context, user wallet.UserID, address, input string, word func(code string) (subject, text string, err error)) error {
	address, err := wallet.ParseEmail(address)
	if err != nil {
		return err
	}
	unsent := wallet.Refuse(wallet.NetworkError, "code_mail.unsent")
	if d.Mail == nil {
		return unsent
	}
	newest, err := read(ctx, d.Store, func(tx store.Tx) (*wallet.MailCode, error) {
		dev, err := tx.Developer(user)
		return dev.MailCode, err
	})
	if err != nil || newest != nil && newest.Input == input {
		return err
	}
	code, sent, err := d.newCode(address)
	if err != nil {
		return err
	}
	sent.Input = input
	subject, text, err := word(code)
	if err != nil {
		return err
	}
	// Count first: a mail that fails to send, or a crash in between, counts too.
	if err := d.Store.Update(ctx, func(tx store.Tx) error { return d.count(tx, user, address) }); err != nil {
		return err
	}
	if err := d.Mail.Send(ctx, address, subject, text); err != nil {
		d.Log.WarnContext(ctx, "a mail could not be sent", "error", err)
		return unsent
	}
	return d.Store.Update(ctx, func(tx store.Tx) error { return d.keepCode(tx, user, sent) })
}

// newCode makes a random code for an address, and its salted hash.
func (d *Developers) newCode(address string) (code string, _ wallet.MailCode, _ error) {
	digits := make([]byte, CodeDigits)
	for i := range digits {
		digit, err := wallet.RandomBelow(d.Random, 10)
		if err != nil {
			return "", wallet.MailCode{}, err
		}
		digits[i] = byte('0' + digit)
	}
	salt := make([]byte, 16)
	if _, err := io.ReadFull(d.Random, salt); err != nil {
		return "", wallet.MailCode{}, fmt.Errorf("draw a salt: %w", err)
	}
	return string(digits), wallet.MailCode{Address: address, Salt: salt, Hash: hashOf(salt, string(digits)), Until: d.Now().UTC().Add(CodeLife)}, nil
}

// hashOf returns the SHA-256 of salt and code.
func hashOf(salt []byte, code string) []byte {
	sum := sha256.Sum256(append(slices.Clone(salt), code...))
	return sum[:]
}

// count counts one mail for the person and for the address. RATE_LIMIT_EXCEEDED if either limit is reached.
func (d *Developers) count(tx store.Tx, user wallet.UserID, address string) error {
	person, err := tx.User(user)
	if err != nil {
		return err
	}
	mine, err := codesMailed().Spend(tx, d.Now(), account(person))
	if err != nil {
		return err
	}
	theirs, err := codesTo().Spend(tx, d.Now(), mailbox(address))
	if err != nil {
		return err
	}
	if mine.Before(theirs) {
		mine = theirs
	}
	if !mine.IsZero() {
		return wallet.Refuse(wallet.RateLimitExceeded, "code_mail.too_many", wallet.NumberArg("Most", CodesAnHour), wallet.TimeArg("Again", mine))
	}
	return nil
}

// sixDigits returns the digits of a code as people type it, with or without spaces and hyphens; "" for any other text.
func sixDigits(typed string) string {
	typed = strings.Join(strings.FieldsFunc(typed, func(r rune) bool { return unicode.IsSpace(r) || r == '-' }), "")
	if len(typed) != CodeDigits || strings.Trim(typed, "0123456789") != "" {
		return ""
	}
	return typed
}

// IsCode reports whether a text has the form of a mailed code.
func IsCode(typed string) bool { return sixDigits(typed) != "" }

// TryCode checks a code that was typed. The right one verifies the address. Errors: INVALID_REQUEST for a wrong code, and
// for a text that cannot be one, which costs no try. CONFLICT when the code has expired or its tries are used up.
//
// The caller must commit the transaction even after an error: it contains the count of tries.
func (d *Developers) TryCode(tx store.Tx, user wallet.UserID, typed string) error {
	digits := sixDigits(typed)
	if digits == "" {
		return wallet.Refuse(wallet.InvalidRequest, "code_mail.digits")
	}
	sent, err := d.Mailed(tx, user)
	if err != nil {
		return err
	}
	if sent == nil {
		return wallet.Refuse(wallet.Conflict, "code_mail.expired")
	}
	dev, err := tx.Developer(user)
	if err != nil {
		return err
	}
	// Compare in constant time. The right code is used up.
	if subtle.ConstantTimeCompare(hashOf(sent.Salt, digits), sent.Hash) == 1 {
		dev.Email, dev.MailCode = sent.Address, nil
		return tx.PutDeveloper(dev.With(wallet.ByEmail, d.Now().UTC()))
	}
	// A wrong code costs a try, also if the caller shows nothing but the refusal.
	tried := *sent
	tried.Tries++
	dev.MailCode = &tried
	if err := tx.PutDeveloper(dev); err != nil {
		return err
	}
	if left := CodeTries - tried.Tries; left > 0 {
		return wallet.Refuse(wallet.InvalidRequest, "code_mail.wrong", wallet.NumberArg("Count", left))
	}
	return wallet.Refuse(wallet.Conflict, "code_mail.used_up")
}
