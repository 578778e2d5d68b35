package wallet

import (
	"crypto/sha256"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// NewsItem is a headline of a feed that the operator has chosen. All of its texts are of strangers.
type NewsItem struct {
	Seq    uint64    `json:"seq"`    // number in the order in which the store got it, from 1; 0 before
	ID     [16]byte  `json:"id"`     // NewsID
	Title  string    `json:"title"`  // as CleanNewsText leaves it
	URL    string    `json:"url"`    // https, or "" if it has no link that may be shown
	Source string    `json:"source"` // what the feed calls itself, as CleanNewsText leaves it
	At     time.Time `json:"at"`     // when it was published, or read if the feed does not say
}

// NewsFeed is what is known of a feed between two readings.
type NewsFeed struct {
	URL          string    `json:"url,omitempty"`           // may hold a key, so the store keeps a hash of it
	ETag         string    `json:"etag,omitempty"`          // of the last answer (RFC 9110, 8.8.3)
	LastModified string    `json:"last_modified,omitempty"` // of the last answer, as the server wrote it
	ReadAt       time.Time `json:"read_at"`                 // when it was first or last read; its first items are no news
}

// Limits of a headline, in characters.
const (
	MostNewsTitle  = 200
	MostNewsSource = 40
	mostNewsURL    = 500
)

// NewsID returns the identity of an item: what its feed calls it, or its link.
func NewsID(feed, guid string) (id [16]byte) {
	sum := sha256.Sum256([]byte(feed + "\x00" + guid))
	copy(id[:], sum[:])
	return id
}

// SameNews returns what two items share that tell the same: their titles without case, punctuation and blanks.
func SameNews(title string) (id [16]byte) {
	letters := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, title)
	sum := sha256.Sum256([]byte(letters))
	copy(id[:], sum[:])
	return id
}

// CleanNewsText makes a text of a feed fit to be shown: one line of visible characters, single blanks, at most `most` characters, with an ellipsis where it
// was cut. What does not show, or turns the text around it, is dropped.
func CleanNewsText(text string, most int) string {
	var out []rune
	blank := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank = len(out) > 0
			continue
		case !Visible(r) && !unicode.IsMark(r), r == unicode.ReplacementChar:
			continue
		}
		if blank {
			out, blank = append(out, ' '), false
		}
		if len(out) >= most {
			return strings.TrimSpace(string(out[:most-1])) + "…"
		}
		out = append(out, r)
	}
	return string(out)
}

// NewsURL returns a link as it may be shown, or "": https, with a host name, without a user, printable and not too long.
func NewsURL(link string) string {
	u, err := url.Parse(strings.TrimSpace(link))
	if err != nil || u.Scheme != "https" || u.User != nil || !strings.Contains(u.Hostname(), ".") {
		return ""
	}
	if text := u.String(); len(text) <= mostNewsURL && printable(text) {
		return text
	}
	return ""
}
