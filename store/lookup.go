package store

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
)

// Label says what a keyed hash is of. Each has a key of its own, so that equal values under
// different labels do not look alike.
type Label string

// The labels of what is looked up without being kept in the clear.
const (
	ByTelegram    Label = "telegram id"
	ByChat        Label = "chat"
	BySubject     Label = "button subject"
	ByCard        Label = "card"
	BySignID      Label = "sign id"
	BySecret      Label = "api key secret"
	ByIdempotency Label = "idempotency key"
	ByEvent       Label = "event id"
	ByContact     Label = "contact"
	ByCounter     Label = "counter"
)

func labels() []Label {
	return []Label{ByTelegram, ByChat, BySubject, ByCard, BySignID, BySecret, ByIdempotency, ByEvent, ByContact, ByCounter}
}

// Hash is a keyed hash, by which an engine finds a row without knowing what it is of.
type Hash [32]byte

// Lookup makes keyed hashes: HMAC-SHA256 under keys that HKDF-SHA256 (RFC 5869) derives from one
// secret. That secret is random and wrapped by the master key rather than being the master key:
// the secrets of API keys are not kept, so that their hashes must outlive a change of master key.
type Lookup struct{ keys map[Label][]byte }

// NewLookup derives the keys of all labels from a secret of 32 bytes.
func NewLookup(secret []byte) (*Lookup, error) {
	l := &Lookup{keys: make(map[Label][]byte, len(labels()))}
	for _, label := range labels() {
		key, err := hkdf.Key(sha256.New, secret, nil, "purser/v1/lookup/"+string(label), sha256.Size)
		if err != nil {
			return nil, err
		}
		l.keys[label] = key
	}
	return l, nil
}

// Text hashes parts under a label; their lengths count, so "a","bc" differs from "ab","c".
func (l *Lookup) Text(label Label, parts ...string) Hash {
	mac := hmac.New(sha256.New, l.keys[label])
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write([]byte(part))
	}
	return Hash(mac.Sum(nil))
}

// Number hashes a Telegram id of a person or chat under a label.
func (l *Lookup) Number(label Label, id int64) Hash {
	mac := hmac.New(sha256.New, l.keys[label])
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(id))
	mac.Write(raw[:])
	return Hash(mac.Sum(nil))
}
