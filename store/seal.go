package store

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"
)

// MasterKeySize is the length of the master key in bytes.
const MasterKeySize = 32

// ErrMasterKey says that a store was sealed under another master key. Nothing of it can be read
// until the right one is given.
var ErrMasterKey = errors.New("the master key does not fit this store: give the one it was created with")

// ErrUnsealed says that a ciphertext is not what was sealed in this place: it was damaged, moved
// from another row or field, or sealed under another key.
var ErrUnsealed = errors.New("store: a sealed field cannot be opened")

// Place is where a ciphertext belongs. It is authenticated with it, so that a ciphertext that is
// moved to another row, field or format does not open.
type Place struct {
	Subject string // the kind of row, e.g. "user"
	ID      string // the row's key
	Field   string
	Format  uint8 // of the row; a newer format seals anew
}

// additional is Place as bytes; lengths in front keep two places from ever looking the same.
func (p Place) additional() []byte {
	out := make([]byte, 0, 16+len(p.Subject)+len(p.ID)+len(p.Field))
	for _, part := range [...]string{p.Subject, p.ID, p.Field} {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return append(out, p.Format)
}

// Key seals fields with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): 24 random bytes of nonce,
// then the ciphertext with its tag. There are three kinds: the master key, which seals keys only;
// a data key for each user, so that destroying it erases the user; a data key of the system, for
// rows that belong to nobody.
type Key struct {
	aead   cipher.AEAD
	random io.Reader
}

// NewKey makes a key of 32 secret bytes. Nonces and new keys are drawn from random, which is read
// by one goroutine at a time as long as Seal and NewKey are called so.
func NewKey(secret []byte, random io.Reader) (*Key, error) {
	if len(secret) != MasterKeySize {
		return nil, fmt.Errorf("a key has %d bytes, not %d", MasterKeySize, len(secret))
	}
	aead, err := chacha20poly1305.NewX(secret)
	if err != nil {
		return nil, err
	}
	return &Key{aead: aead, random: random}, nil
}

// SealedSize is how long the ciphertext of so many bytes is.
func SealedSize(plain int) int {
	return chacha20poly1305.NonceSizeX + plain + chacha20poly1305.Overhead
}

// Seal encrypts plain for its place.
func (k *Key) Seal(at Place, plain []byte) ([]byte, error) {
	return k.AppendSeal(make([]byte, 0, SealedSize(len(plain))), at, plain)
}

// AppendSeal appends what Seal would return, SealedSize(len(plain)) bytes. As with append, to may be moved; it
// shares no memory with plain. Its error is the random source's.
func (k *Key) AppendSeal(to []byte, at Place, plain []byte) ([]byte, error) {
	to = slices.Grow(to, SealedSize(len(plain)))
	nonce := to[len(to) : len(to)+chacha20poly1305.NonceSizeX]
	if _, err := io.ReadFull(k.random, nonce); err != nil {
		return nil, fmt.Errorf("draw a nonce: %w", err)
	}
	return k.aead.Seal(to[:len(to)+len(nonce)], nonce, plain, at.additional()), nil
}

// Open decrypts what Seal made for the same place; anything else is ErrUnsealed.
func (k *Key) Open(at Place, sealed []byte) ([]byte, error) {
	if len(sealed) < chacha20poly1305.NonceSizeX+chacha20poly1305.Overhead {
		return nil, fmt.Errorf("%w: %s.%s is too short", ErrUnsealed, at.Subject, at.Field)
	}
	nonce, ciphertext := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	plain, err := k.aead.Open(nil, nonce, ciphertext, at.additional())
	if err != nil {
		return nil, fmt.Errorf("%w: %s.%s", ErrUnsealed, at.Subject, at.Field)
	}
	return plain, nil
}

// NewSecret draws 32 bytes and returns them with their wrapping under k, which names their owner.
func (k *Key) NewSecret(owner string) (secret, wrapped []byte, err error) {
	secret = make([]byte, MasterKeySize)
	if _, err := io.ReadFull(k.random, secret); err != nil {
		return nil, nil, fmt.Errorf("draw a key: %w", err)
	}
	wrapped, err = k.Seal(wrapping(owner), secret)
	return secret, wrapped, err
}

// Unwrap opens the secret that NewSecret wrapped for the same owner.
func (k *Key) Unwrap(owner string, wrapped []byte) ([]byte, error) {
	return k.Open(wrapping(owner), wrapped)
}

func wrapping(owner string) Place { return Place{Subject: "data key", ID: owner, Field: "secret"} }
