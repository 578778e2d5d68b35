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

// Limits of the codes that prove a mail address.
const (
	CodeDigits  = 6
	CodeLife    = 10 * time.Minute
	CodeTries   = 5
	CodesAnHour = 3 // for one person, and to one address
)

// mailbox is how an address is counted: most servers read capitals, and what follows a plus, as the same one.
func mailbox(address string) string {
	local, domain, _ := strings.Cut(strings.ToLower(address), "@")
	local, _, _ = strings.Cut(local, "+")
	return local + "@" + domain
}

// Mailed is the code that somebody can still prove an address with; nil for none. It outlives the
// conversation that it was asked for in.
func (d *Developers) Mailed(tx store.Tx, user wallet.UserID) (*wallet.MailCode, error) {
	dev, err := tx.Developer(user)
	if sent := dev.MailCode; sent != nil && (sent.Tries >= CodeTries || !d.Now().Before(sent.Until)) {
		return nil, err
	}
	return dev.MailCode, err
}

// ProvingMail tells whether somebody may write a mail address or its code next: one is on its way to them, or
// they want keys, which takes that step.
func (d *Developers) ProvingMail(tx store.Tx, user wallet.UserID) (bool, error) {
	if sent, err := d.Mailed(tx, user); sent != nil || err != nil {
		return sent != nil, err
	}
	st, err := d.Standing(tx, user)
	return st.Developer.Request != nil && slices.Contains(st.Missing, wallet.ByEmail), err
}

// MailableFrom is when somebody can have the next code mailed, to whichever address; zero: now.
func (d *Developers) MailableFrom(tx store.Tx, user wallet.UserID) (time.Time, error) {
	person, err := tx.User(user)
	if err != nil {
		return time.Time{}, err
	}
	return codesMailed().Next(tx, d.Now(), account(person))
}

// CommitCode notes the code that was mailed: it takes the place of the one before.
func (d *Developers) CommitCode(tx store.Tx, user wallet.UserID, sent wallet.MailCode) error {
	dev, err := tx.Developer(user)
	if err != nil {
		return err
	}
	dev.MailCode = &sent
	return tx.PutDeveloper(dev)
}

// MailCode draws a code and mails it; word puts it into words. The mail is counted before it is sent, in
// a transaction of its own: a crash or a server that does not answer gives nobody more of them.
// INVALID_REQUEST for what is no address, RATE_LIMIT_EXCEEDED for the fourth in an hour, NETWORK_ERROR
// when the mail could not be sent.
func (d *Developers) MailCode(ctx context.Context, user wallet.UserID, address string, word func(code string) (subject, text string, err error)) (wallet.MailCode, error) {
	address, err := wallet.ParseEmail(address)
	if err != nil {
		return wallet.MailCode{}, err
	}
	unsent := wallet.Refuse(wallet.NetworkError, "code_mail.unsent")
	if d.Mail == nil {
		return wallet.MailCode{}, unsent
	}
	code, sent, err := d.drawCode(address)
	if err != nil {
		return wallet.MailCode{}, err
	}
	subject, text, err := word(code)
	if err != nil {
		return wallet.MailCode{}, err
	}
	if err := d.Store.Update(ctx, func(tx store.Tx) error { return d.count(tx, user, address) }); err != nil {
		return wallet.MailCode{}, err
	}
	if err := d.Mail.Send(ctx, address, subject, text); err != nil {
		d.Log.WarnContext(ctx, "a mail could not be sent", "error", err)
		return wallet.MailCode{}, unsent
	}
	return sent, nil
}

// drawCode draws a code for an address.
func (d *Developers) drawCode(address string) (code string, _ wallet.MailCode, _ error) {
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

// sixDigits is a code as somebody writes it, with or without spaces and hyphens; "" for anything else.
func sixDigits(typed string) string {
	typed = strings.Join(strings.FieldsFunc(typed, func(r rune) bool { return unicode.IsSpace(r) || r == '-' }), "")
	if len(typed) != CodeDigits || strings.Trim(typed, "0123456789") != "" {
		return ""
	}
	return typed
}

// IsCode tells whether a text could be a code that was mailed.
func IsCode(typed string) bool { return sixDigits(typed) != "" }

// TryCode judges a code as it was typed. The right one proves the address. INVALID_REQUEST for a wrong
// one, and for what could not be any, which costs no try; CONFLICT when the newest code is of no use any
// more, since its time or its tries are over. What a refusal counts must be stored as well.
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
	if subtle.ConstantTimeCompare(hashOf(sent.Salt, digits), sent.Hash) == 1 {
		dev.Email, dev.MailCode = sent.Address, nil
		return tx.PutDeveloper(dev.With(wallet.ByEmail, d.Now().UTC()))
	}
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
