package store

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
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
	ByJob         Label = "job"
	ByPass        Label = "portal pass"

	// OfRow is of a row as it lies: it tells whether the row is what was written there.
	OfRow Label = "row"
)

func labels() []Label {
	return []Label{ByTelegram, ByChat, BySubject, ByCard, BySignID, BySecret, ByIdempotency, ByEvent, ByContact, ByCounter, ByJob, ByPass, OfRow}
}

// Hash is a keyed hash, by which an engine finds a row without knowing what it is of.
type Hash [32]byte

// Lookup makes keyed hashes: HMAC-SHA256 under keys that HKDF-SHA256 (RFC 5869) derives from one
// secret. That secret is random and wrapped by the master key rather than being the master key:
// the secrets of API keys are not kept, so that their hashes must outlive a change of master key.
//
// A keyed hash begins with two blocks of its key, and is asked for several times in most requests: those
// that are made are kept for the next who asks.
type Lookup struct{ macs map[Label]*sync.Pool }

// NewLookup derives the keys of all labels from a secret of 32 bytes.
func NewLookup(secret []byte) (*Lookup, error) {
	l := &Lookup{macs: make(map[Label]*sync.Pool, len(labels()))}
	for _, label := range labels() {
		key, err := hkdf.Key(sha256.New, secret, nil, "purser/v1/lookup/"+string(label), sha256.Size)
		if err != nil {
			return nil, err
		}
		l.macs[label] = &sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}
	}
	return l, nil
}

// Text hashes parts under a label; their lengths count, so "a","bc" differs from "ab","c".
func (l *Lookup) Text(label Label, parts ...string) Hash {
	var text []byte
	for _, part := range parts {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	return l.of(label, text)
}

// Bytes hashes parts under a label as Text does, without copying them.
func (l *Lookup) Bytes(label Label, parts ...[]byte) (h Hash) {
	mac := l.macs[label].Get().(hash.Hash)
	defer l.macs[label].Put(mac)
	mac.Reset()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write(part)
	}
	mac.Sum(h[:0])
	return h
}

// Number hashes a Telegram id of a person or chat under a label.
func (l *Lookup) Number(label Label, id int64) Hash {
	return l.of(label, binary.BigEndian.AppendUint64(nil, uint64(id)))
}

func (l *Lookup) of(label Label, text []byte) (h Hash) {
	mac := l.macs[label].Get().(hash.Hash)
	defer l.macs[label].Put(mac)
	mac.Reset()
	mac.Write(text)
	mac.Sum(h[:0])
	return h
}
