package chat

import (
	"encoding/hex"
	stdhtml "html"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"purser/wallet"
)

// Bounds of a message's shape: purser's own first line must stay in sight.
const (
	mostLines = 60
	mostBlank = 2 // in a row
)

// plainly refuses messages that are made to look as if they came from purser: whose first line is pushed
// out of sight, or that name the signing page's host, as only purser's own messages do.
func (c *Chat) plainly(message, mode string) error {
	blank, lines := 0, strings.Split(message, "\n")
	for _, line := range lines {
		seen := strings.ContainsFunc(line, func(r rune) bool {
			return r != '\u2800' && unicode.IsPrint(r) && !unicode.IsSpace(r) && !ignorable(r)
		})
		if blank++; seen {
			blank = 0
		}
		if blank > mostBlank {
			return wallet.Refuse(wallet.InvalidRequest, "message: at most %d empty lines in a row", mostBlank)
		}
	}
	if len(lines) > mostLines {
		return wallet.Refuse(wallet.InvalidRequest, "message: at most %d lines", mostLines)
	}
	if mentions(message, mode, c.PublicURL.Hostname()) {
		return wallet.Refuse(wallet.InvalidRequest, "message: links to the signing page come from purser alone")
	}
	return nil
}

// ignorable tells whether a rune shows nothing, and counts for nothing in a name.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
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
		if ignorable(r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(raw.String(), ""))
	return strings.ReplaceAll(strings.ToLower(norm.NFKC.String(kept)), "\u3002", ".")
}
