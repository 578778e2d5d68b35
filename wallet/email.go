package wallet

import (
	"net/mail"
	"strings"
)

// Limits of an e-mail address, in bytes.
const (
	shortEmail = 6   // a@b.cd
	maxEmail   = 254 // RFC 5321, 4.5.3.1.3, without the brackets
	maxLocal   = 64  // RFC 5321, 4.5.3.1.1
)

// ParseEmail parses an e-mail address as people type it: ASCII, a local part of letters, digits and
// ".!#$%&'*+/=?^_{|}~-", and a domain with a dot. Quoted local parts, comments, display names and domain literals (RFC
// 5322, 3.4.1) are valid in mail and refused here: no developer needs them. INVALID_REQUEST.
func ParseEmail(text string) (string, error) {
	refused := Refuse(InvalidRequest, "email.malformed")
	text = strings.TrimSpace(text)
	if len(text) < shortEmail || len(text) > maxEmail {
		return "", refused
	}
	for _, r := range text { // before the parser, which accepts comments, folding and encoded words
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

// mailDomain reports whether a text can be a mail domain: at least two labels, the last not numeric.
func mailDomain(domain string) bool {
	domain = strings.ToLower(domain)
	top := domain[strings.LastIndexByte(domain, '.')+1:]
	return hostName(domain) && len(top) < len(domain) && len(top) > 1 && strings.Trim(top, "0123456789-") != ""
}
