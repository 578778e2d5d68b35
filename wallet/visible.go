package wallet

import (
	"strings"
	"unicode"
)

// Unseen reports whether a character is invisible in any context: format characters, fillers, variation selectors, and
// two that Unicode classifies as symbols (Braille's empty pattern, the musical null notehead). Spaces are not included.
func Unseen(r rune) bool {
	return r == '\u2800' || r == '\U0001D159' || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Visible reports whether a character shows something on its own. Spaces and combining marks do not.
func Visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.IsMark(r) && !Unseen(r)
}

// shows reports whether a text has any visible character.
func shows(text string) bool { return strings.ContainsFunc(text, Visible) }
