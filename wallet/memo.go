package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the texts and references that a payment carries.
const (
	// MaxMemo is the longest memo, in bytes of UTF-8. A whole transaction has 1,232 bytes.
	MaxMemo = 256
	// MaxLabel is the longest label, in characters.
	MaxLabel = 80
	// MaxPurpose is how many characters of a payment link's message are kept.
	MaxPurpose = 160
	// MaxLabelSpaces and MaxLabelMarks are how many spaces and combining marks a label can have in a row. More spaces would look
	// like the end of a line, and many marks draw over the lines around them.
	MaxLabelSpaces, MaxLabelMarks = 2, 3
	// MaxLinkReferences is how many references a payment link can have. A transfer names at most eight, one of them
	// purser's own.
	MaxLinkReferences = 7
)

// hidden are characters that memos must not contain, because they are invisible or change how the text around them looks.
// signer/page/decode.js has the same list. The joiners U+200C and U+200D are allowed: Persian and emoji need them.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0000, Hi: 0x001f, Stride: 1}, {Lo: 0x007f, Hi: 0x009f, Stride: 1},
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1}, {Lo: 0x061c, Hi: 0x061c, Stride: 1},
		{Lo: 0x200b, Hi: 0x200b, Stride: 1}, {Lo: 0x200e, Hi: 0x200f, Stride: 1},
		{Lo: 0x2028, Hi: 0x202e, Stride: 1}, {Lo: 0x2060, Hi: 0x206f, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1}, {Lo: 0xfff9, Hi: 0xfffb, Stride: 1},
	},
	R32:         []unicode.Range32{{Lo: 0xe0000, Hi: 0xe007f, Stride: 1}},
	LatinOffset: 3,
}

// HidesCharacters reports whether text contains such characters, or is not valid UTF-8.
func HidesCharacters(text string) bool {
	for _, char := range text {
		if unicode.Is(hidden, char) {
			return true
		}
	}
	return !utf8.ValidString(text)
}

// CheckMemo checks the public note of a payment; "" is none. INVALID_REQUEST.
func CheckMemo(text string) error {
	switch {
	case len(text) > MaxMemo:
		return Refuse(InvalidRequest, "memo.too_long", NumberArg("Bytes", len(text)), NumberArg("Most", MaxMemo))
	case HidesCharacters(text):
		return Refuse(InvalidRequest, "memo.lines")
	case text != "" && !shows(text):
		return Refuse(InvalidRequest, "memo.invisible")
	}
	return nil
}

// CheckLabel checks the label of a payment; "" is none. INVALID_REQUEST.
func CheckLabel(text string) error {
	if utf8.RuneCountInString(text) > MaxLabel {
		return Refuse(InvalidRequest, "label.too_long", NumberArg("Most", MaxLabel))
	}
	return checkShown(text)
}

// checkShown refuses a text that hides something from its reader: characters that show nothing, or that change how the
// text around them looks.
func checkShown(text string) error {
	switch {
	case HidesCharacters(text):
		return Refuse(InvalidRequest, "label.lines")
	case text != "" && !shows(text), strings.ContainsFunc(text, blank):
		return Refuse(InvalidRequest, "label.invisible")
	case leavesItsLine(text):
		return Refuse(InvalidRequest, "label.gaps", NumberArg("Spaces", MaxLabelSpaces), NumberArg("Marks", MaxLabelMarks))
	}
	return nil
}

// leavesItsLine reports whether a text has more spaces or combining marks in a row than a label can have.
func leavesItsLine(text string) bool {
	spaces, marks := 0, 0
	for _, r := range text {
		if spaces++; !unicode.IsSpace(r) {
			spaces = 0
		}
		if marks++; !unicode.IsMark(r) {
			marks = 0
		}
		if spaces > MaxLabelSpaces || marks > MaxLabelMarks {
			return true
		}
	}
	return false
}

// blank reports whether a character is invisible and no script needs it. Joiners and variation selectors shape what is
// around them, so they are not blank.
func blank(r rune) bool {
	return Unseen(r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Variation_Selector, r)
}
