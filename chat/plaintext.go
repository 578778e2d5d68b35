package chat

import (
	"encoding/hex"
	stdhtml "html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"purser/wallet"
)

// Limits on the shape of an app's message. purser's own first line, which names the app, must stay visible or be repeated at
// the end.
const (
	// maxLines is the maximum number of lines.
	maxLines = 60
	maxBlank = 2  // blank lines in a row
	maxGap   = 24 // invisible characters in a row
	maxMarks = 8  // combining accents in a row, since many of them cover the lines around

	longText, longLines = 400, 10 // longer messages, in characters or lines, may not fit on a screen
)

// plainText refuses messages that could pass for purser's own: if they push the first line out of sight, or name the host of
// the signing page, as only purser's messages do. The error is INVALID_REQUEST about the field message.
func (c *Chat) plainText(message, mode string) error {
	text := shown(message, mode)
	// Blank lines and long messages would push the first line out of sight.
	blank, lines := 0, strings.Split(text, "\n")
	for _, line := range lines {
		if blank++; strings.ContainsFunc(line, wallet.Visible) {
			blank = 0
		}
		if blank > maxBlank {
			return badMessage("app_message.blank_lines", wallet.NumberArg("Most", maxBlank))
		}
	}
	if len(lines) > maxLines {
		return badMessage("app_message.lines", wallet.NumberArg("Most", maxLines))
	}
	// Gaps make a line look empty, and stacked accents draw over the lines around them.
	gap, marks := 0, 0
	for _, r := range text {
		if gap++; wallet.Visible(r) {
			gap = 0
		}
		if marks++; !unicode.IsMark(r) {
			marks = 0
		}
		switch {
		case gap > maxGap:
			return badMessage("app_message.gaps", wallet.NumberArg("Most", maxGap))
		case marks > maxMarks:
			return badMessage("app_message.marks", wallet.NumberArg("Most", maxMarks))
		}
	}
	if mentions(message, mode, c.PublicURL.Hostname()) {
		return badMessage("app_message.signing_link")
	}
	return nil
}

// shown approximates a message as Telegram shows it: without markup, and with HTML entities decoded. It removes too much
// rather than too little, so that no gap is missed.
func shown(message, mode string) string {
	switch mode {
	case "HTML":
		message = stdhtml.UnescapeString(tags.ReplaceAllString(message, ""))
	case "Markdown", "MarkdownV2":
		message = markup.Replace(message)
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(message)
}

// long reports whether the first line above a message may be out of sight at its end.
func long(message, mode string) bool {
	text := shown(message, mode)
	return utf8.RuneCountInString(text) > longText || strings.Count(text, "\n") >= longLines
}

// mentions reports whether a message names a host, as Telegram and browsers read it. In doubt it returns true.
func mentions(message, mode, host string) bool {
	read := []string{message}
	switch mode {
	case "HTML": // with its tags, which contain links, and without, since tags can split words
		read = []string{stdhtml.UnescapeString(message), stdhtml.UnescapeString(tags.ReplaceAllString(message, ""))}
	case "Markdown", "MarkdownV2": // without characters of markup and escapes, which are no part of a host
		read = append(read, markup.Replace(message))
	}
	hosts := []string{folded(host)}
	if unicoded, err := idna.Punycode.ToUnicode(host); err == nil {
		hosts = append(hosts, folded(unicoded))
	}
	for _, text := range read {
		text = folded(text)
		if slices.ContainsFunc(hosts, func(host string) bool { return strings.Contains(text, host) }) {
			return true
		}
	}
	return false
}

var (
	tags   = regexp.MustCompile(`<[^<>]*>`)
	markup = strings.NewReplacer(`\`, "", "*", "", "_", "", "~", "", "|", "", "`", "", "[", "", "]", "", "(", "", ")", "")
)

// folded normalises a text as browsers do with the host of a URL (WHATWG URL, host parsing; UTS 46): it decodes percent
// escapes, drops invisible characters, and replaces other forms of letters and full stops by the plain ones.
func folded(text string) string {
	var raw strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if b, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				raw.Write(b)
				i += 2
				continue
			}
		}
		raw.WriteByte(text[i])
	}
	kept := strings.Map(func(r rune) rune {
		switch {
		case wallet.Unseen(r) || unicode.IsControl(r):
			return -1
		case r == '\ufdfa' || r == '\ufdfb': // whole sentences, with spaces, as no host has: 4,000 of them would take 10 ms
			return ' '
		}
		return r
	}, strings.ToValidUTF8(raw.String(), ""))
	return strings.ReplaceAll(strings.ToLower(norm.NFKC.String(kept)), "\u3002", ".")
}

// badMessage refuses an app's message.
func badMessage(key string, args ...wallet.Arg) error {
	return wallet.About("message", wallet.RefuseFor(wallet.InvalidRequest, wallet.Because(key, args...)))
}
