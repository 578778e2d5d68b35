package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"purser/wallet"
)

// The headers by which a receiver checks the sender, the event and the time. docs/specification.md names the first
// three, but their signature does not cover the time. That of Standard Webhooks (standardwebhooks.com, v1) does, so
// both are sent.
const (
	signatureHeader = "X-Service-Signature"
	previousHeader  = "X-Service-Signature-Previous"
	timestampHeader = "X-Service-Timestamp"
	standardID      = "Webhook-Id"
	standardTime    = "Webhook-Timestamp"
	standardSign    = "Webhook-Signature"
)

// secretPrefix begins a secret in the form of Standard Webhooks: what follows is the key in base64.
const secretPrefix = "whsec_"

// Message is what one attempt sends.
type Message struct {
	URL      string
	EventID  string // the same in all attempts and resends: receivers recognise a repeated event by it
	Body     []byte
	Secret   string
	Previous string // the secret before the last rotation, while it is valid; else ""
}

// NewMessage returns the message of an event to a webhook. now decides whether the previous secret still signs.
func NewMessage(to wallet.Webhook, eventID string, body []byte, now time.Time) Message {
	m := Message{URL: to.URL, EventID: eventID, Body: body, Secret: to.Secret}
	if now.Before(to.PreviousUntil) {
		m.Previous = to.Previous
	}
	return m
}

// Headers returns the headers of an attempt made at a time. While there is a previous secret, both secrets sign, so
// that a receiver can change from one to the other without losing events.
func (m Message) Headers(at time.Time) http.Header {
	unix := strconv.FormatInt(at.Unix(), 10)
	h := http.Header{
		"Content-Type":  {"application/json"},
		"User-Agent":    {"purser-webhooks/1"},
		timestampHeader: {wallet.Timestamp(at)},
		signatureHeader: {serviceSignature(m.Secret, m.Body)},
		standardID:      {m.EventID},
		standardTime:    {unix},
		standardSign:    {standardSignature(m.Secret, m.EventID, unix, m.Body)},
	}
	if m.Previous != "" {
		h[previousHeader] = []string{serviceSignature(m.Previous, m.Body)}
		h[standardSign][0] += " " + standardSignature(m.Previous, m.EventID, unix, m.Body)
	}
	return h
}

// serviceSignature is "sha256=" and HMAC-SHA256 of the body in hexadecimal. Its key is the secret as a text, with its
// prefix (docs/webhooks.md, What is sent).
func serviceSignature(secret string, body []byte) string {
	return "sha256=" + hex.EncodeToString(hmacOf([]byte(secret), body))
}

// standardSignature is the signature v1 of Standard Webhooks: HMAC-SHA256 of "<id>.<unix time>.<body>", in base64.
func standardSignature(secret, id, unix string, body []byte) string {
	return "v1," + base64.StdEncoding.EncodeToString(hmacOf(standardKey(secret), []byte(id+"."+unix+"."), body))
}

// standardKey returns the key that a secret stands for: the base64 behind whsec_, or else the bytes of the secret
// itself.
func standardKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

// hmacOf returns HMAC-SHA256 of the parts one after the other.
func hmacOf(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}
