package wallet

import (
	"net/url"
	"strings"
)

// PayLink is a Solana Pay transfer request: solana:<recipient>?amount=…&spl-token=…&reference=….
type PayLink struct {
	To        Address
	Amount    string  // decimal, as it was written; "" where the link leaves it open
	Mint      Address // zero: SOL
	Reference Address // zero for none
}

// payScheme begins every payment link.
const payScheme = "solana:"

// IsPayLink tells what is meant as a payment link, well written or not.
func IsPayLink(text string) bool {
	return len(text) > len(payScheme) && strings.EqualFold(text[:len(payScheme)], payScheme)
}

// String writes the link.
func (l PayLink) String() string {
	query := url.Values{}
	if l.Amount != "" {
		query.Set("amount", l.Amount)
	}
	if !l.Reference.IsZero() {
		query.Set("reference", l.Reference.String())
	}
	if !l.Mint.IsZero() {
		query.Set("spl-token", l.Mint.String())
	}
	link := payScheme + l.To.String()
	if len(query) > 0 {
		link += "?" + query.Encode()
	}
	return link
}

// ParsePayLink reads a transfer request. What purser could not pay as it is meant is INVALID_REQUEST: a
// request by a server (an https address), a memo, several references. Label and message are somebody
// else's words, and are passed over.
func ParsePayLink(text string) (PayLink, error) {
	no := func(reason string) (PayLink, error) { return PayLink{}, Refuse(InvalidRequest, "%s", reason) }
	if !IsPayLink(text) || len(text) > 2048 {
		return no("that is no payment link")
	}
	to, rawQuery, _ := strings.Cut(text[len(payScheme):], "?")
	if strings.Contains(to, ":") || strings.Contains(to, "%") {
		return no("that link asks a server what to sign: I pay links that name an address only")
	}
	var l PayLink
	var err error
	if l.To, err = ParseAddress(to); err != nil {
		return no("that payment link names no Solana address")
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return no("that payment link is not well written")
	}
	for name, values := range query {
		switch name {
		case "label", "message":
			continue
		case "memo":
			return no("that link asks for a memo, which I cannot add: ask for one without")
		}
		if len(values) != 1 {
			return no("that payment link names several of what it may name once")
		}
		switch name {
		case "amount":
			l.Amount = values[0]
		case "spl-token":
			l.Mint, err = ParseAddress(values[0])
		case "reference":
			l.Reference, err = ParseAddress(values[0])
		default:
			return no("that payment link asks for something that I do not know")
		}
		if err != nil {
			return no("that payment link is not well written")
		}
	}
	return l, nil
}
