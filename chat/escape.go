package chat

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/wallet"
)

// html is text that is already Telegram HTML. All other text is escaped before it is shown. The type keeps the two apart.
type html string

// longestEcho is how many characters of a person's own words are repeated to them.
const longestEcho = 64

// escape makes foreign text safe inside Telegram HTML (Bot API, "HTML style"), and removes deceptive characters (neutral).
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(neutral(text))
}

// code formats text in a fixed-width font. Telegram copies it on a tap.
func code(text string) html { return html("<code>" + escape(text) + "</code>") }

// officialMark marks the operator's own apps. It is removed from all foreign text, so nobody can imitate it.
const officialMark = '🛡'

// grouped formats an address, or its beginning, in groups of four characters, which people can compare. The signing page and
// the terminal use the same groups.
func grouped(address string) html { return code(wallet.Grouped(address)) }

// neutral removes characters that could make a text look like another one: control characters, invisible format characters
// such as bidirectional overrides, and officialMark.
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

// cut shortens text to at most limit characters. Shortened text ends with an ellipsis.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit-1]) + "…"
}

// echo returns a person's own words, shortened and on one line, for repeating to them. The result is not escaped.
func echo(text string) string {
	if len(text) > 16*longestEcho { // bounds the work for very long texts
		text = text[:16*longestEcho]
	}
	return cut(strings.Join(strings.Fields(neutral(text)), " "), longestEcho)
}
