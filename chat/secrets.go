package chat

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode"
)

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
	case s.phrase(text), shown != text && s.phrase(shown), privateKey(shown):
		return WalletSecret
	case beginsCredential(shown) && credential.MatchString(shown): // which is slow, and runs on every text
		return CredentialSecret
	}
	return NoSecret
}

// credential matches an API key, a bot token, a portal session or a webhook secret anywhere in a text. Checksums are ignored:
// a key that is incomplete or mistyped still reveals too much.
var credential = regexp.MustCompile(`(?i)(?:pur_(?:live|test|bot|session)_|whsec_)[0-9a-z+/_-]{16}`)

// beginsCredential reports whether a text has what credential begins with, up to its first underscore.
func beginsCredential(text string) bool {
	for at, r := range text {
		if r != '_' {
			continue
		}
		before := text[:at]
		// With "ſ", which folds to "s", "whsec" has 6 bytes.
		if endsFold(before, 3, "pur") || endsFold(before, 5, "whsec") || endsFold(before, 6, "whsec") {
			return true
		}
	}
	return false
}

// endsFold reports whether the last size bytes of a text are a word, in letters of any case.
func endsFold(text string, size int, word string) bool {
	return len(text) >= size && strings.EqualFold(text[len(text)-size:], word)
}

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
