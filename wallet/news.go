package wallet

import (
	"strings"
	"time"
	"unicode"
)

// Limits of the texts of a NewsItem, in characters.
const (
	MaxNewsTitle  = 200
	MaxNewsURL    = 500
	MaxNewsSource = 60
)

// NewsItem is one item of a feed that the operator chose. It is public, and written by strangers: package market cleans the texts
// before they are stored, and a front still escapes them.
type NewsItem struct {
	// Seq is the number that the store gives in the order of saving, from 1 on; 0 before it is saved. Numbers rise, and may
	// have gaps.
	Seq uint64
	// ID identifies the item: a hash of the GUID that its feed gives it, or else of its link.
	ID string
	// Title is plain text of 1 to MaxNewsTitle characters in one line, without HTML, control characters, and characters that are
	// invisible or change the direction of text.
	Title string
	// URL is an https link to the item without a user, of at most MaxNewsURL characters.
	URL string
	// Source is the feed's title, cleaned as Title is, or the feed's host if it has none. At most MaxNewsSource characters.
	Source string
	// At is when the item was published, or when it was first read if the feed does not say so or names a time to come.
	At time.Time
}

// TitleKey returns the letters and digits of the title, in lower case: two items with the same key are the same news. A title
// without letters and digits has the key "", and resembles no other.
func (n NewsItem) TitleKey() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, n.Title)
}

// CleanNewsText makes text of a stranger fit to be shown in one line. Blanks of any kind become single spaces. Control characters,
// characters that are invisible or change the direction of text, and bytes that are not UTF-8 are dropped. A text of more than
// most characters ends in "…". It returns "" if nothing visible is left.
func CleanNewsText(text string, most int) string {
	var out []rune
	blank, marks := false, 0
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case unicode.IsSpace(r):
			blank = len(out) > 0
			continue
		case !unicode.IsPrint(r) || Unseen(r):
			continue
		case unicode.IsMark(r):
			// A mark is drawn on the character before it, and many of them are drawn over other lines.
			if marks++; len(out) == 0 || blank || marks > maxNewsMarks {
				continue
			}
		default:
			marks = 0
		}
		if blank {
			out, blank = append(out, ' '), false
		}
		if out = append(out, r); len(out) > most {
			break
		}
	}
	if len(out) > most {
		out = append([]rune(strings.TrimRight(string(out[:most-1]), " ")), '…')
	}
	if !shows(string(out)) {
		return ""
	}
	return string(out)
}

// maxNewsMarks is the most combining marks on one character. No language needs more.
const maxNewsMarks = 4
