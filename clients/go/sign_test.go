package purser_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	reference "github.com/mr-tron/base58"

	purser "purser/clients/go"
)

var seed = bytes.Repeat([]byte{7}, ed25519.SeedSize)

// unsigned is a transaction of one instruction, as purser writes it.
func unsigned(header [3]byte, version []byte, payer ed25519.PublicKey) []byte {
	wire := append([]byte{1}, make([]byte, 64)...)
	wire = append(append(wire, version...), header[:]...)
	wire = append(append(append(wire, 2), payer...), make([]byte, 32)...)
	wire = append(wire, bytes.Repeat([]byte{9}, 32)...) // blockhash
	wire = append(wire, 1, 1, 1, 0, 0)                  // one instruction of program 1 with account 0
	if len(version) > 0 {
		wire = append(wire, 0)
	}
	return wire
}

func TestSignBlindlySignsWhatTheKeyAlonePaysFor(t *testing.T) {
	key := ed25519.NewKeyFromSeed(seed)
	own := key.Public().(ed25519.PublicKey)
	for _, version := range [][]byte{nil, {0x80}} {
		wire := unsigned([3]byte{1, 0, 1}, version, own)
		signature, err := purser.SignBlindly(base64.StdEncoding.EncodeToString(wire), key)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := reference.Decode(signature)
		if err != nil || !ed25519.Verify(own, wire[65:], raw) {
			t.Errorf("version %x: %s does not verify (%v)", version, signature, err)
		}
	}

	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	good := unsigned([3]byte{1, 0, 1}, nil, own)
	changed := func(at int, to byte) []byte { w := slices.Clone(good); w[at] = to; return w }
	for name, wire := range map[string][]byte{
		"another's":            unsigned([3]byte{1, 0, 1}, nil, other),
		"two signers":          unsigned([3]byte{2, 0, 0}, nil, own),
		"no signer":            unsigned([3]byte{0, 0, 1}, nil, own),
		"a payer who only may": unsigned([3]byte{1, 1, 1}, nil, own),
		"a version to come":    unsigned([3]byte{1, 0, 1}, []byte{0x81}, own),
		"two signatures":       changed(0, 2),
		"signed already":       changed(64, 1),
		"many keys":            changed(68, 0x85),
		"cut off":              good[:120],
		"no message":           good[:65],
		"nothing":              nil,
		"too large":            append(slices.Clone(good), make([]byte, 1300)...),
	} {
		if signature, err := purser.SignBlindly(base64.StdEncoding.EncodeToString(wire), key); err == nil {
			t.Errorf("%s: signed %s", name, signature)
		}
	}
	if _, err := purser.SignBlindly(base64.StdEncoding.EncodeToString(unsigned([3]byte{1, 0, 1}, []byte{0x81}, own)), key); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("version 1: %v", err)
	}
	if _, err := purser.SignBlindly("not base64", key); err == nil {
		t.Error("signed what is not base64")
	}
	if _, err := purser.SignBlindly(base64.StdEncoding.EncodeToString(good), key[:32]); err == nil {
		t.Error("signed with half a key")
	}
}

func TestSignChallengeSignsNothingElse(t *testing.T) {
	key := ed25519.NewKeyFromSeed(seed)
	text := "wallet.example.org wants you to sign in with your Solana account:\n" + purser.Address(key) + "\n\nConnect this wallet."
	if _, err := purser.SignChallenge(text, key); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{
		"a transaction":     string(unsigned([3]byte{1, 0, 1}, nil, key.Public().(ed25519.PublicKey))[65:]),
		"another's address": strings.Replace(text, purser.Address(key), "11111111111111111111111111111111", 1),
		"no host":           strings.TrimPrefix(text, "wallet.example.org"),
		"other words":       strings.Replace(text, "sign in", "pay", 1),
		"hidden characters": text + "\u202e",
		"nothing":           "",
	} {
		if _, err := purser.SignChallenge(other, key); err == nil {
			t.Errorf("%s was signed", name)
		}
	}
}

func FuzzSign(f *testing.F) {
	key := ed25519.NewKeyFromSeed(seed)
	f.Add(unsigned([3]byte{1, 0, 1}, nil, key.Public().(ed25519.PublicKey)))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, wire []byte) {
		signature, err := purser.SignBlindly(base64.StdEncoding.EncodeToString(wire), key)
		if err != nil {
			return
		}
		raw, err := reference.Decode(signature)
		if err != nil || !ed25519.Verify(key.Public().(ed25519.PublicKey), wire[65:], raw) {
			t.Fatalf("signed %x by %s", wire, signature)
		}
	})
}
