package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the texts that a developer writes about an app, in characters.
const (
	MaxAppName    = 40
	MaxAppPurpose = 300

	shortPurpose, shortDense = 10, 4 // shortest purpose, and shortest in scripts where one character says more
)

// ParseAppName parses the name of an app: 1 to 40 visible characters on one line. INVALID_REQUEST.
func ParseAppName(text string) (string, error) {
	name := strings.Join(strings.Fields(text), " ")
	switch length := utf8.RuneCountInString(name); {
	case length == 0:
		return "", Refuse(InvalidRequest, "app_name.missing")
	case length > MaxAppName:
		return "", Refuse(InvalidRequest, "app_name.too_long", NumberArg("Most", MaxAppName))
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unseen) || !shows(name) {
		return "", Refuse(InvalidRequest, "app_name.invisible")
	}
	if at := strings.IndexAny(name, endsOfNames); at >= 0 {
		character, _ := utf8.DecodeRuneInString(name[at:])
		without := strings.Join(strings.Fields(strings.Map(func(r rune) rune {
			if strings.ContainsRune(endsOfNames, r) {
				return -1
			}
			return r
		}, name)), " ")
		if without == "" {
			return "", Refuse(InvalidRequest, "app_name.punctuation_only")
		}
		return "", Refuse(InvalidRequest, "app_name.punctuation", TextArg("Character", string(character)), TextArg("Without", without))
	}
	return name, nil
}

// endsOfNames are characters that texts of ours write around and after a name.
const endsOfNames = ":“”\"…"

// unseen reports whether a character is invisible or changes how others look. Spaces and accents are allowed.
func unseen(r rune) bool { return !unicode.IsPrint(r) || Unseen(r) }

// ParsePurpose parses what an app is for, in its developer's words: one line of visible characters. INVALID_REQUEST.
func ParsePurpose(text string) (string, error) {
	purpose := strings.Join(strings.Fields(text), " ")
	switch length, least := utf8.RuneCountInString(purpose), shortest(purpose); {
	case length < least:
		return "", Refuse(InvalidRequest, "app_purpose.too_short", NumberArg("Least", least))
	case length > MaxAppPurpose:
		return "", Refuse(InvalidRequest, "app_purpose.too_long", NumberArg("Most", MaxAppPurpose))
	case !utf8.ValidString(purpose) || strings.ContainsFunc(purpose, unseen) || !shows(purpose):
		return "", Refuse(InvalidRequest, "app_purpose.invisible")
	}
	return purpose, nil
}

// shortest returns the minimum length of a purpose, in characters.
func shortest(purpose string) int {
	if strings.ContainsFunc(purpose, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) }) {
		return shortDense
	}
	return shortPurpose
}
