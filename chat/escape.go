package chat

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// html is text that is Telegram HTML already; every other text is escaped before it is shown.
type html string

// longestEcho is how much of somebody's own words is ever repeated to them.
const longestEcho = 64

// escape makes foreign text harmless inside Telegram HTML (Bot API, "HTML style").
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(neutral(text))
}

// code shows text in a fixed font, which a tap copies.
func code(text string) html { return html("<code>" + escape(text) + "</code>") }

// officialMark stands before what is said of the operator's own apps, and nowhere else: foreign text loses it.
const officialMark = '🛡'

// grouped shows an address, or the beginning of one, as people compare two of them: on the signing page and in the
// terminal as well.
func grouped(address string) html { return code(wallet.Grouped(address)) }

// neutral takes out what could make text look like another text: control characters, format
// characters (bidirectional overrides, zero-width ones) that turn or hide what stands around them, and the mark
// of the operator's apps.
func neutral(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			return ' '
		case unicode.Is(unicode.Cf, r), r == officialMark:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// cut shortens text to at most limit characters, with an ellipsis when something is missing.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit-1]) + "…"
}

// echo is somebody's own words, short and on one line, for repeating to them.
func echo(text string) string {
	if len(text) > 16*longestEcho { // no need to look at ten thousand characters to show sixty-four
		text = text[:16*longestEcho]
	}
	return cut(strings.Join(strings.Fields(neutral(text)), " "), longestEcho)
}

// moment is a time as people read it.
func moment(at time.Time) string { return at.UTC().Format("2 January 2006, 15:04 UTC") }

// day is a date as people read it.
func day(at time.Time) string { return at.UTC().Format("2 January 2006") }
