package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a payment carries in words.
const (
	// MaxMemo is how many bytes of UTF-8 a memo has at most. A transaction has 1,232 for everything.
	MaxMemo = 256
	// MaxLabel is how many characters a label has at most.
	MaxLabel = 80
	// MaxLinkReferences is how many references a payment link names at most: a transfer names eight, one of which is
	// purser's own.
	MaxLinkReferences = 7
)

// hidden are the characters that no memo may hold since they do not show, or change how the text around them shows;
// the list is that of signer/page/decode.js. The joiners U+200C and U+200D stay: Persian and emoji need them.
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

// HidesCharacters tells whether text holds characters that do not show, or that is not UTF-8.
func HidesCharacters(text string) bool {
	for _, char := range text {
		if unicode.Is(hidden, char) {
			return true
		}
	}
	return !utf8.ValidString(text)
}

// CheckMemo judges the public note of a payment; "" is none. Errors are INVALID_REQUEST.
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

// CheckLabel judges what a payment is said to be for; "" is none. Errors are INVALID_REQUEST.
func CheckLabel(text string) error {
	switch {
	case utf8.RuneCountInString(text) > MaxLabel:
		return Refuse(InvalidRequest, "label.too_long", NumberArg("Most", MaxLabel))
	case HidesCharacters(text):
		return Refuse(InvalidRequest, "label.lines")
	case text != "" && !shows(text), strings.ContainsFunc(text, blank):
		return Refuse(InvalidRequest, "label.invisible")
	}
	return nil
}

// blank tells of a character that shows nothing and that no script needs: joiners and variation selectors shape the
// letters and emoji around them.
func blank(r rune) bool {
	return Unseen(r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Variation_Selector, r)
}
