package wallet

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Contact is a person's own name for an address. Nobody else sees it. The store seals all of it.
type Contact struct {
	Owner   UserID    `json:"owner"`
	Name    string    `json:"name"` // as ParseContactName returned it
	Address Address   `json:"address"`
	AddedAt time.Time `json:"added_at"`
}

// Limits of an address book.
const (
	MaxContacts    = 200 // per person
	MaxContactName = 32  // characters
)

// ParseContactName parses a contact's name: 1 to 32 letters, digits, spaces, "-", "_" and "'", in Unicode's NFC with
// single spaces. It begins with a letter, and not with a word that means something else in a command, so that in "/send 5
// USDC rent" only a contact can be meant. Names that merely resemble each other are different here. INVALID_REQUEST.
func ParseContactName(text string) (string, error) {
	no := func(key string, args ...Arg) (string, error) { return "", Refuse(InvalidRequest, key, args...) }
	if len(text) > 16*MaxContactName { // avoid normalizing very long text
		return no("contact_name.too_long", NumberArg("Most", MaxContactName))
	}
	name := norm.NFC.String(strings.Join(strings.Fields(text), " "))
	switch length := utf8.RuneCountInString(name); {
	case length == 0:
		return no("contact_name.missing")
	case length > MaxContactName:
		return no("contact_name.too_long", NumberArg("Most", MaxContactName))
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !inContactName(r) }) {
		return no("contact_name.characters")
	}
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) {
		return no("contact_name.first_letter")
	}
	switch word := ContactKey(FirstWord(name)); word {
	case Max, "all", "everything", "to", "nan", "inf", "infinity":
		return no("contact_name.reserved", TextArg("Word", word))
	}
	// At least as long as the shortest address, and made of characters that addresses can have.
	if len(name) >= 32 && !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || r == ' ' }) {
		return no("contact_name.like_address")
	}
	return name, nil
}

// FirstWord returns the part of a name before its first space.
func FirstWord(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return first
}

// inContactName reports whether a name may contain r. Invisible characters are excluded: format characters can reverse or
// hide text.
func inContactName(r rune) bool {
	if Unseen(r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_'", r)
}

// ContactKey returns the key by which names are compared: without differences in case, spacing, or composition of
// accents.
func ContactKey(name string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(strings.Join(strings.Fields(name), " "))))
}
