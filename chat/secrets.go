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
//go:embed words/english.txt
var english string

// fewestWords is the shortest recovery phrase that BIP-39 knows.
const fewestWords = 12

// Secret says which kind of secret a message held. The message itself is not kept: this is all that is left of it.
type Secret string

// The kinds of secret.
const (
	NoSecret         Secret = ""
	WalletSecret     Secret = "wallet"     // a recovery phrase or a private key
	CredentialSecret Secret = "credential" // a key of the API, a session of the portal, or the secret of a webhook
)

// Secrets recognises what must never be typed into a chat. Whoever keeps what people write asks it first.
type Secrets struct{ words map[string]bool }

// NewSecrets reads the list of words.
func NewSecrets() Secrets {
	known := make(map[string]bool, 2048)
	for word := range strings.FieldsSeq(english) {
		known[word] = true
	}
	return Secrets{known}
}

// In tells which kind of secret a text holds. A wallet's counts for more than a credential beside it.
func (s Secrets) In(text string) Secret {
	// Characters that only direct how others are shown come along with what is copied, and are not seen.
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

// credential is a key of the API, a session of the portal or the secret of a webhook, whatever stands around it.
// No checksum is looked at: one that was copied in part, or mistyped, says too much as well.
var credential = regexp.MustCompile(`(?i)(?:pur_(?:live|test|bot|session)_|whsec_)[0-9a-z+/_-]{16}`)

// phrase looks for twelve or more words of the list in one text: in one row (numbers and
// punctuation between them do not count), or as three quarters of all that is said. Ordinary
// English uses words of the list too, but never twelve without an article between them.
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

// privateKey looks for the ways in which Solana wallets export a key: 64 bytes in base58, in hex, or as numbers.
// What stands before, behind or between its parts does not count. A signature has 64 bytes too: only a key's
// second half is the public key of its first, so that no other text is taken for one.
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

// base58Digits are those of Bitcoin and Solana. In them a key has at most longestKey digits; a zero byte at its
// beginning takes one digit only, and shortestKey leaves room for more of these than any key has.
const (
	base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	shortestKey  = 80
	longestKey   = 88
)

// keyInNumbers looks for a key's bytes as decimal numbers with no word between them.
func keyInNumbers(text string) bool {
	for part := range strings.FieldsFuncSeq(text, unicode.IsLetter) {
		var row []byte
		for digits := range strings.FieldsFuncSeq(part, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.ParseUint(digits, 10, 8)
			if err != nil { // no byte
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

func isKey(raw []byte) bool {
	return len(raw) == ed25519.PrivateKeySize &&
		ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(raw))
}
