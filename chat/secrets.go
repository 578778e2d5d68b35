package chat

import (
	"crypto/ed25519"
	_ "embed"
	"encoding/json"
	"regexp"
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
	switch {
	case s.phrase(text), privateKey(text):
		return WalletSecret
	case credential.MatchString(text):
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

// privateKey looks for the two ways in which Solana wallets export a key: 64 bytes in base58, or as
// an array of numbers. A signature has 64 bytes too: only a key's second half is the public key of
// its first.
func privateKey(text string) bool {
	for token := range strings.FieldsSeq(text) {
		if len(token) < 80 || len(token) > 90 {
			continue
		}
		if raw, err := base58.Decode(strings.Trim(token, "\"'`,;.")); err == nil && isKey(raw) {
			return true
		}
	}
	from, to := strings.IndexByte(text, '['), strings.LastIndexByte(text, ']')
	if from < 0 || to-from < 2*ed25519.PrivateKeySize || to-from > 1024 {
		return false
	}
	var raw []byte
	return json.Unmarshal([]byte(text[from:to+1]), &raw) == nil && isKey(raw)
}

func isKey(raw []byte) bool {
	return len(raw) == ed25519.PrivateKeySize &&
		ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(raw))
}
