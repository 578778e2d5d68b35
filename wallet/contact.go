package wallet

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Contact is a name that somebody gave an address, for themselves alone. The store seals all of it.
type Contact struct {
	Owner   UserID    `json:"owner"`
	Name    string    `json:"name"` // as ParseContactName returned it
	Address Address   `json:"address"`
	AddedAt time.Time `json:"added_at"`
}

// Bounds of an address book.
const (
	MaxContacts    = 200 // a person
	MaxContactName = 32  // characters
)

// ParseContactName reads a name for an address: 1 to 32 letters, digits, spaces, "-", "_" and "'",
// in Unicode's NFC with single spaces. It begins with a letter, and with none of the words that mean
// something else in a command: in "/send 5 USDC rent" nothing but a contact may be read as one.
// Names that only look alike to the eye are not told apart here.
func ParseContactName(text string) (string, error) {
	no := func(key string, args ...Arg) (string, error) { return "", Refuse(InvalidRequest, key, args...) }
	if len(text) > 16*MaxContactName { // no need to read ten thousand characters
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
	case Max, "to", "nan", "inf", "infinity":
		return no("contact_name.reserved", TextArg("Word", word))
	}
	// As long as the shortest address, and nothing in it that an address could not have.
	if len(name) >= 32 && !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || r == ' ' }) {
		return no("contact_name.like_address")
	}
	return name, nil
}

// FirstWord is what a name begins with, up to its first space.
func FirstWord(name string) string {
	first, _, _ := strings.Cut(name, " ")
	return first
}

// inContactName keeps out everything that is not seen: format characters (which turn text around or
// hide in it) are no letters, and the letters and marks that show nothing are named by Unicode.
func inContactName(r rune) bool {
	if Unseen(r) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_'", r)
}

// ContactKey is what tells one name from another: case and the way an accent is typed do not.
func ContactKey(name string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(strings.Join(strings.Fields(name), " "))))
}
