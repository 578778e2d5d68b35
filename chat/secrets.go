package chat

import (
	"crypto/ed25519"
	_ "embed"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/mr-tron/base58"
)

// english is the English word list of BIP-39: 2048 words, one a line.
//
// english is the English word list of BIP-39: 2048 words, one on each line.
//
//go:embed words/english.txt
var english string

// fewestWords is the length of the shortest recovery phrase in BIP-39.
const fewestWords = 12

// Secret is the kind of secret found in a message. The message itself is dropped, and this is all that purser keeps of it.
type Secret string

// The kinds of secret.
const (
	NoSecret         Secret = ""
	WalletSecret     Secret = "wallet"     // a recovery phrase or a private key
	CredentialSecret Secret = "credential" // a key of the API, a session of the portal, or the secret of a webhook
)

// Secrets recognises secrets that must never be typed into a chat. Fronts check every text with it before they store or log
// it.
type Secrets struct{ words map[string]bool }

// NewSecrets builds the set of words.
func NewSecrets() Secrets {
	known := make(map[string]bool, 2048)
	for word := range strings.FieldsSeq(english) {
		known[word] = true
	}
	return Secrets{known}
}

// In returns the kind of secret that a text contains, or NoSecret. If there are two kinds, WalletSecret takes precedence.
func (s Secrets) In(text string) Secret {
	// Invisible format characters often come with copied text. Search with and without them.
	shown := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	switch {
	case s.phrase(text), s.phrase(shown), privateKey(shown):
		return WalletSecret
	case credential.MatchString(shown):
		return CredentialSecret
	}
	return NoSecret
}

// credential matches an API key, a bot token, a portal session or a webhook secret anywhere in a text. Checksums are ignored:
// a key that is incomplete or mistyped still reveals too much.
var credential = regexp.MustCompile(`(?i)(?:pur_(?:live|test|bot|session)_|whsec_)[0-9a-z+/_-]{16}`)

// phrase reports whether a text contains a recovery phrase: twelve words of the list in a row, where numbers and punctuation
// do not count, or at least twelve that are three quarters of all words. Ordinary English uses words of the list as well, but
// never twelve without an article between them.
func (s Secrets) phrase(text string) bool {
	var row, known, all int
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		all++
		if !s.words[word] {
			row = 0
			continue
		}
		known++
		if row++; row >= fewestWords {
			return true
		}
	}
	return known >= fewestWords && 4*known >= 3*all
}

// privateKey reports whether a text contains a Solana private key as wallets export it: 64 bytes in base58, in hex, or as
// decimal numbers, with anything before, between or after. A signature has 64 bytes too, so the second half must be the
// public key of the first: other texts do not match by chance.
func privateKey(text string) bool {
	together := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
	for run := range strings.FieldsFuncSeq(together, func(r rune) bool { return !strings.ContainsRune(base58Digits, r) }) {
		for from := range run {
			for size := shortestKey; size <= longestKey && from+size <= len(run); size++ {
				if raw, err := base58.Decode(run[from : from+size]); err == nil && isKey(raw) {
					return true
				}
			}
		}
	}
	for run := range strings.FieldsFuncSeq(together, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }) {
		for from := 0; from+2*ed25519.PrivateKeySize <= len(run); from++ {
			if raw, err := hex.DecodeString(run[from : from+2*ed25519.PrivateKeySize]); err == nil && isKey(raw) {
				return true
			}
		}
	}
	return keyInNumbers(text)
}

// base58Digits are the digits of base58 as Bitcoin and Solana use it. 64 bytes have at most longestKey digits. Each zero byte
// at the beginning takes only one digit; shortestKey allows for more of them than any real key has.
const (
	base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	shortestKey  = 80
	longestKey   = 88
)

// keyInNumbers reports whether a text contains the bytes of a key as decimal numbers without a word between them.
func keyInNumbers(text string) bool {
	for part := range strings.FieldsFuncSeq(text, unicode.IsLetter) {
		var row []byte
		for digits := range strings.FieldsFuncSeq(part, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.ParseUint(digits, 10, 8)
			if err != nil { // not a byte: start again
				row = nil
				continue
			}
			row = append(row, byte(n))
			if len(row) >= ed25519.PrivateKeySize && isKey(row[len(row)-ed25519.PrivateKeySize:]) {
				return true
			}
		}
	}
	return false
}

// isKey reports whether raw is an Ed25519 private key: a seed followed by its public key.
func isKey(raw []byte) bool {
	return len(raw) == ed25519.PrivateKeySize &&
		ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(raw))
}
