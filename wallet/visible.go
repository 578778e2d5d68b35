package wallet

import (
	"strings"
	"unicode"
)

// Unseen tells whether a character shows nothing, by itself or beside others: format characters, fillers and variation
// selectors, and two that Unicode counts as symbols: Braille's empty pattern and the musical null notehead. Spaces
// are not among them.
func Unseen(r rune) bool {
	return r == '\u2800' || r == '\U0001D159' || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Visible tells whether a character shows something by itself. Spaces and combining marks do not.
func Visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.IsSpace(r) && !unicode.IsMark(r) && !Unseen(r)
}

// shows tells whether a text has anything to see.
func shows(text string) bool { return strings.ContainsFunc(text, Visible) }
