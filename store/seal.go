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

// ErrMasterKey says that a store was sealed under another master key. Nothing in it can be read without the right one.
var ErrMasterKey = errors.New("the master key does not fit this store: give the one it was created with")

// ErrUnsealed says that a ciphertext does not open in this place: it was damaged, moved from another row or field, or
// sealed under another key.
var ErrUnsealed = errors.New("store: a sealed field cannot be opened")

// Place is where a ciphertext belongs. It is authenticated with the ciphertext, which therefore opens in no other row,
// field or format.
type Place struct {
	Subject string // the kind of row, e.g. "user"
	ID      string // the row's key
	Field   string
	Format  uint8 // of the row; a newer format seals again
}

// additional is the Place as authenticated data. Each part has its length in front, so two places never have equal
// bytes.
func (p Place) additional() []byte {
	out := make([]byte, 0, 16+len(p.Subject)+len(p.ID)+len(p.Field))
	for _, part := range [...]string{p.Subject, p.ID, p.Field} {
		out = binary.AppendUvarint(out, uint64(len(part)))
		out = append(out, part...)
	}
	return append(out, p.Format)
}

// Key seals fields with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha): 24 random bytes of nonce, then the ciphertext
// with its tag of 16 bytes. Random nonces of 24 bytes do not repeat, so no counter has to be stored. There are three
// kinds of keys:
//
//   - the master key, which wraps other keys and seals no field
//   - a data key for each user: destroying it erases the user
//   - the system's data key, for rows that belong to no user
type Key struct {
	aead   cipher.AEAD
	random io.Reader
}

// NewKey makes a key of 32 secret bytes. Nonces and new keys are drawn from random. Key does not lock it: for several
// goroutines random must be safe itself.
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

// SealedSize is the length of the ciphertext of so many bytes: 40 more.
func SealedSize(plain int) int {
	return chacha20poly1305.NonceSizeX + plain + chacha20poly1305.Overhead
}

// Seal encrypts plain for its place.
func (k *Key) Seal(at Place, plain []byte) ([]byte, error) {
	return k.AppendSeal(make([]byte, 0, SealedSize(len(plain))), at, plain)
}

// AppendSeal appends what Seal would return, SealedSize(len(plain)) bytes, to `to`. Like append it may move the slice.
// plain must not overlap it. An error is the random source's.
func (k *Key) AppendSeal(to []byte, at Place, plain []byte) ([]byte, error) {
	to = slices.Grow(to, SealedSize(len(plain)))
	nonce := to[len(to) : len(to)+chacha20poly1305.NonceSizeX]
	if _, err := io.ReadFull(k.random, nonce); err != nil {
		return nil, fmt.Errorf("draw a nonce: %w", err)
	}
	return k.aead.Seal(to[:len(to)+len(nonce)], nonce, plain, at.additional()), nil
}

// Open decrypts what Seal made for the same place; for anything else it fails with ErrUnsealed.
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

// NewSecret draws a secret of 32 bytes, and returns it with its wrapping under k. The wrapping names the owner.
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

// wrapping is the place of an owner's wrapped secret.
func wrapping(owner string) Place { return Place{Subject: "data key", ID: owner, Field: "secret"} }
