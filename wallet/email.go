package wallet

import (
	"net/mail"
	"strings"
)

// Bounds of a mail address.
const (
	shortEmail = 6   // a@b.cd
	maxEmail   = 254 // RFC 5321, 4.5.3.1.3, without the brackets
	maxLocal   = 64  // RFC 5321, 4.5.3.1.1
)

// ParseEmail reads a mail address as a person writes it: plain ASCII, a name of letters, digits and
// ".!#$%&'*+/=?^_{|}~-", and a domain with a dot. Quoted names, comments, display names and addresses by
// number (RFC 5322, 3.4.1) are real, and nobody's who asks here. INVALID_REQUEST.
func ParseEmail(text string) (string, error) {
	refused := Refuse(InvalidRequest, "email.malformed")
	text = strings.TrimSpace(text)
	if len(text) < shortEmail || len(text) > maxEmail {
		return "", refused
	}
	for _, r := range text { // before the parser: it takes comments, folds and encoded words
		if r <= ' ' || r > '~' || strings.ContainsRune(`()<>[]:;\,"`, r) {
			return "", refused
		}
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil || parsed.Name != "" || parsed.Address != text {
		return "", refused
	}
	local, domain, _ := strings.Cut(text, "@")
	if len(local) > maxLocal || !mailDomain(domain) {
		return "", refused
	}
	return text, nil
}

// mailDomain tells whether a text could be a domain that mail goes to: of two labels at least, the last one
// no number.
func mailDomain(domain string) bool {
	domain = strings.ToLower(domain)
	top := domain[strings.LastIndexByte(domain, '.')+1:]
	return hostName(domain) && len(top) < len(domain) && len(top) > 1 && strings.Trim(top, "0123456789-") != ""
}
