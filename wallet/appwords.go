package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what a developer may write of an app, in characters.
const (
	MaxAppName    = 40
	MaxAppPurpose = 300

	shortPurpose, shortDense = 10, 4 // in letters, and in scripts where one character says more
)

// ParseAppName reads what people are told an app is called: 1 to 40 characters that can be seen, on one
// line. INVALID_REQUEST.
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
	if strings.ContainsAny(name, ":“”\"…") {
		return "", Refuse(InvalidRequest, "app_name.punctuation")
	}
	return name, nil
}

// unseen tells of a character that shows nothing, or changes how others look. Blanks and accents may stand in a name.
func unseen(r rune) bool { return !unicode.IsPrint(r) || Unseen(r) }

// ParsePurpose reads what an app is for, in its developer's words: one line of characters that can be
// seen. INVALID_REQUEST.
func ParsePurpose(text string) (string, error) {
	purpose := strings.Join(strings.Fields(text), " ")
	switch length := utf8.RuneCountInString(purpose); {
	case length < shortest(purpose):
		return "", Refuse(InvalidRequest, "app_purpose.too_short")
	case length > MaxAppPurpose:
		return "", Refuse(InvalidRequest, "app_purpose.too_long", NumberArg("Most", MaxAppPurpose))
	case !utf8.ValidString(purpose) || strings.ContainsFunc(purpose, unseen) || !shows(purpose):
		return "", Refuse(InvalidRequest, "app_purpose.invisible")
	}
	return purpose, nil
}

// shortest is how many characters a purpose has at least.
func shortest(purpose string) int {
	if strings.ContainsFunc(purpose, func(r rune) bool { return r > unicode.MaxLatin1 && unicode.IsLetter(r) }) {
		return shortDense
	}
	return shortPurpose
}
