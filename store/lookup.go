package store

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// keyed is a keyed hash that is at work for one caller, with room for what it is fed and for what it returns: so that
// a lookup allocates nothing.
type keyed struct {
	mac  hash.Hash
	text []byte
	sum  Hash
}

// mostText is how much room for text a keyed hash keeps for the next caller, in bytes.
const mostText = 4096

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
		l.macs[label] = &sync.Pool{New: func() any { return &keyed{mac: hmac.New(sha256.New, key)} }}
	}
	return l, nil
}

// Text hashes parts under a label; their lengths count, so "a","bc" differs from "ab","c".
func (l *Lookup) Text(label Label, parts ...string) Hash {
	k := l.begin(label)
	for _, part := range parts {
		k.text = binary.BigEndian.AppendUint64(k.text, uint64(len(part)))
		k.text = append(k.text, part...)
	}
	return l.end(label, k)
}

// Bytes hashes parts under a label as Text does, without copying them.
func (l *Lookup) Bytes(label Label, parts ...[]byte) Hash {
	k := l.begin(label)
	for _, part := range parts {
		k.text = binary.BigEndian.AppendUint64(k.text[:0], uint64(len(part)))
		k.mac.Write(k.text)
		k.mac.Write(part)
	}
	k.text = k.text[:0]
	return l.end(label, k)
}

// Number hashes a Telegram id of a person or chat under a label.
func (l *Lookup) Number(label Label, id int64) Hash {
	k := l.begin(label)
	k.text = binary.BigEndian.AppendUint64(k.text, uint64(id))
	return l.end(label, k)
}

func (l *Lookup) begin(label Label) *keyed {
	k := l.macs[label].Get().(*keyed)
	k.mac.Reset()
	k.text = k.text[:0]
	return k
}

// end hashes the text that was gathered, behind what the hash was fed already, and leaves it for the next caller.
func (l *Lookup) end(label Label, k *keyed) Hash {
	k.mac.Write(k.text)
	k.mac.Sum(k.sum[:0])
	sum := k.sum
	if cap(k.text) > mostText {
		k.text = nil
	}
	l.macs[label].Put(k)
	return sum
}
