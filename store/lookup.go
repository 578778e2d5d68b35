package store

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"
)

// keyed is a keyed hash in use by one caller, with memory for its input and its result, so that a lookup allocates
// nothing.
type keyed struct {
	mac  hash.Hash
	text []byte
	sum  Hash
}

// maxText is how many bytes of input memory a keyed hash keeps for the next caller.
const maxText = 4096

// Label says what a keyed hash is of. Each label has a key of its own, so equal values under different labels have
// different hashes.
type Label string

// The labels of values that are looked up without being stored in the clear.
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
	ByPortalToken Label = "portal token"
	ByNews        Label = "news"
	ByTransaction Label = "transaction id"
	BySignature   Label = "signature"
	ByOwner       Label = "owner"
	ByWallet      Label = "wallet"

	// OfRow is the hash of a row as it is stored: it tells whether the row is what was written there.
	OfRow Label = "row"
)

// labels lists all labels.
func labels() []Label {
	return []Label{ByTelegram, ByChat, BySubject, ByCard, BySignID, BySecret, ByIdempotency, ByEvent, ByContact, ByCounter, ByJob, ByPortalToken, ByNews, ByTransaction, BySignature, ByOwner, ByWallet, OfRow}
}

// Hash is a keyed hash. An engine finds a row by it without learning the value.
type Hash [32]byte

// Lookup makes keyed hashes: HMAC-SHA256 under keys that HKDF-SHA256 (RFC 5869) derives from one secret. The secret is
// random and wrapped by the master key. It is not the master key itself, because the secrets of API keys are not
// stored: their hashes have to survive a change of the master key.
//
// Preparing an HMAC costs two blocks of hashing, and most requests need several. So prepared ones are pooled. A Lookup
// is safe for several goroutines.
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

// Text hashes parts under a label. Each part is hashed with its length, so "a","bc" differs from "ab","c".
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

// Number hashes a Telegram id of a person or a chat under a label.
func (l *Lookup) Number(label Label, id int64) Hash {
	k := l.begin(label)
	k.text = binary.BigEndian.AppendUint64(k.text, uint64(id))
	return l.end(label, k)
}

// begin takes a prepared hash from the pool.
func (l *Lookup) begin(label Label) *keyed {
	k := l.macs[label].Get().(*keyed)
	k.mac.Reset()
	k.text = k.text[:0]
	return k
}

// end hashes the text that was gathered, behind what was hashed already, and returns the hash to the pool.
func (l *Lookup) end(label Label, k *keyed) Hash {
	k.mac.Write(k.text)
	k.mac.Sum(k.sum[:0])
	sum := k.sum
	if cap(k.text) > maxText {
		k.text = nil
	}
	l.macs[label].Put(k)
	return sum
}
