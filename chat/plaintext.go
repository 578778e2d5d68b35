package chat

import (
	"encoding/hex"
	stdhtml "html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"purser/wallet"
)

// Bounds of what an app's message looks like: purser's own first line must stay in sight, or be repeated below.
const (
	mostLines = 60
	mostBlank = 2  // lines in a row
	mostGap   = 24 // characters in a row that show nothing
	mostMarks = 8  // accents in a row, which reach over the lines around them

	longText, longLines = 400, 10 // what is longer may not fit a screen
)

// plainText refuses messages that are made to look as if they came from purser: whose first line is pushed
// out of sight, or that name the signing page's host, as only purser's own messages do.
func (c *Chat) plainText(message, mode string) error {
	text := shown(message, mode)
	blank, lines := 0, strings.Split(text, "\n")
	for _, line := range lines {
		if blank++; strings.ContainsFunc(line, wallet.Visible) {
			blank = 0
		}
		if blank > mostBlank {
			return badMessage("app_message.blank_lines", wallet.NumberArg("Most", mostBlank))
		}
	}
	if len(lines) > mostLines {
		return badMessage("app_message.lines", wallet.NumberArg("Most", mostLines))
	}
	gap, marks := 0, 0
	for _, r := range text {
		if gap++; wallet.Visible(r) {
			gap = 0
		}
		if marks++; !unicode.IsMark(r) {
			marks = 0
		}
		switch {
		case gap > mostGap:
			return badMessage("app_message.gaps", wallet.NumberArg("Most", mostGap))
		case marks > mostMarks:
			return badMessage("app_message.marks", wallet.NumberArg("Most", mostMarks))
		}
	}
	if mentions(message, mode, c.PublicURL.Hostname()) {
		return badMessage("app_message.signing_link")
	}
	return nil
}

// shown is a message as Telegram shows it, about: without what marks it up, and with what is written as an entity.
// It leaves out rather too much, so that no gap goes unseen.
func shown(message, mode string) string {
	switch mode {
	case "HTML":
		message = stdhtml.UnescapeString(tags.ReplaceAllString(message, ""))
	case "Markdown", "MarkdownV2":
		message = markup.Replace(message)
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(message)
}

// long tells whether what stands above a message may be out of sight by its end.
func long(message, mode string) bool {
	text := shown(message, mode)
	return utf8.RuneCountInString(text) > longText || strings.Count(text, "\n") >= longLines
}

// mentions tells whether a message, as Telegram and browsers read it, names a host. It errs on the side of yes.
func mentions(message, mode, host string) bool {
	read := []string{message}
	switch mode {
	case "HTML": // with its tags, since links stand in them, and without, since others part words
		read = []string{stdhtml.UnescapeString(message), stdhtml.UnescapeString(tags.ReplaceAllString(message, ""))}
	case "Markdown", "MarkdownV2": // nothing that marks or escapes is part of a host
		read = append(read, markup.Replace(message))
	}
	hosts := []string{folded(host)}
	if unicoded, err := idna.Punycode.ToUnicode(host); err == nil {
		hosts = append(hosts, folded(unicoded))
	}
	for _, text := range read {
		for _, host := range hosts {
			if strings.Contains(folded(text), host) {
				return true
			}
		}
	}
	return false
}

var (
	tags   = regexp.MustCompile(`<[^<>]*>`)
	markup = strings.NewReplacer(`\`, "", "*", "", "_", "", "~", "", "|", "", "`", "", "[", "", "]", "", "(", "", ")", "")
)

// folded is text as browsers read a host's name (WHATWG URL, host parsing; UTS 46): percent-decoded, without
// what shows nothing or is skipped in a URL, other forms of letters and full stops as the plain ones.
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
		if wallet.Unseen(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(raw.String(), ""))
	return strings.ReplaceAll(strings.ToLower(norm.NFKC.String(kept)), "\u3002", ".")
}

// badMessage refuses the message of a program.
func badMessage(key string, args ...wallet.Arg) error {
	return wallet.About("message", wallet.RefuseFor(wallet.InvalidRequest, wallet.Because(key, args...)))
}
