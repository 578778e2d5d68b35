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

// The headers by which a receiver knows who speaks, and when. The first three are the specification's;
// they do not cover the time, so those of Standard Webhooks go along, which do.
const (
	signatureHeader = "X-Service-Signature"
	previousHeader  = "X-Service-Signature-Previous"
	timestampHeader = "X-Service-Timestamp"
	standardID      = "Webhook-Id"
	standardTime    = "Webhook-Timestamp"
	standardSign    = "Webhook-Signature"
)

// secretPrefix begins a secret that is base64 of its key for Standard Webhooks.
const secretPrefix = "whsec_"

// Message is what one attempt sends.
type Message struct {
	URL      string
	EventID  string // the same in all attempts and resends: receivers drop what they know
	Body     []byte
	Secret   string
	Previous string // the secret before the last rotation, while it is still good; else ""
}

// NewMessage is an event on its way to a webhook at now.
func NewMessage(to wallet.Webhook, eventID string, body []byte, now time.Time) Message {
	m := Message{URL: to.URL, EventID: eventID, Body: body, Secret: to.Secret}
	if now.Before(to.PreviousUntil) {
		m.Previous = to.Previous
	}
	return m
}

// Headers are those of an attempt made at a time.
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

// serviceSignature is keyed by the secret as it is written (docs/webhooks.md, What is sent).
func serviceSignature(secret string, body []byte) string {
	return "sha256=" + hex.EncodeToString(hmacOf([]byte(secret), body))
}

// standardSignature is Standard Webhooks' v1.
func standardSignature(secret, id, unix string, body []byte) string {
	return "v1," + base64.StdEncoding.EncodeToString(hmacOf(standardKey(secret), []byte(id+"."+unix+"."), body))
}

// standardKey is what a secret's base64 after whsec_ stands for, or the literal bytes of one that is none.
func standardKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

func hmacOf(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, part := range parts {
		m.Write(part)
	}
	return m.Sum(nil)
}
