package wallet

import (
	"net/url"
	"strings"
)

// PayLink is a Solana Pay transfer request: solana:<recipient>?amount=…&spl-token=…&reference=…&label=…&memo=….
type PayLink struct {
	To         Address
	Amount     Decimal   // zero where the link leaves it open
	Mint       Address   // zero: SOL
	References []Address // that the transfer must name, in this order, for whoever made the link to find it by
	Label      string    // what whoever made it says that it is for; "" for nothing, or for what cannot be shown
	Memo       string    // that the transfer is asked to carry; "" for none
}

// payScheme begins every payment link.
const payScheme = "solana:"

// maxPayLink bounds what is read of a link, in bytes.
const maxPayLink = 2048

// IsPayLink tells what is meant as a payment link, well written or not.
func IsPayLink(text string) bool {
	return len(text) > len(payScheme) && strings.EqualFold(text[:len(payScheme)], payScheme)
}

// String writes the link.
func (l PayLink) String() string {
	query := url.Values{}
	if !l.Amount.IsZero() {
		query.Set("amount", l.Amount.String())
	}
	for _, reference := range l.References {
		query.Add("reference", reference.String())
	}
	if !l.Mint.IsZero() {
		query.Set("spl-token", l.Mint.String())
	}
	if l.Label != "" {
		query.Set("label", l.Label)
	}
	if l.Memo != "" {
		query.Set("memo", l.Memo)
	}
	link := payScheme + l.To.String()
	if len(query) > 0 {
		// Solana Pay asks for percent-encoding, where a plus is a plus.
		link += "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	}
	return link
}

// ParsePayLink reads a transfer request. What purser could not pay as it is meant is INVALID_REQUEST: a
// request by a server (an https address), a memo that no device would sign, more references than a transfer
// names. A message is somebody else's words, and is passed over; so is a label that cannot be shown.
func ParsePayLink(text string) (PayLink, error) {
	no := func(key string) (PayLink, error) { return PayLink{}, Refuse(InvalidRequest, key) }
	if !IsPayLink(text) || len(text) > maxPayLink {
		return no("pay_link.none")
	}
	to, rawQuery, _ := strings.Cut(text[len(payScheme):], "?")
	if strings.Contains(to, ":") || strings.Contains(to, "%") {
		return no("pay_link.server")
	}
	var l PayLink
	var err error
	if l.To, err = ParseAddress(to); err != nil {
		return no("pay_link.no_address")
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return no("pay_link.malformed")
	}
	for name, values := range query {
		if name != "reference" && name != "message" && len(values) != 1 {
			return no("pay_link.repeated")
		}
		switch name {
		case "message":
		case "label":
			if CheckLabel(values[0]) == nil {
				l.Label = values[0]
			}
		case "memo":
			if err := CheckMemo(values[0]); err != nil {
				return PayLink{}, err
			}
			l.Memo = values[0]
		case "amount":
			if values[0] != "" {
				l.Amount, err = ParseDecimal(values[0])
			}
		case "spl-token":
			if l.Mint, err = ParseAddress(values[0]); l.Mint.IsZero() { // it would mean SOL
				return no("pay_link.malformed")
			}
		case "reference":
			if l.References, err = parseReferences(values, l.To); err != nil {
				return PayLink{}, err
			}
		default:
			return no("pay_link.unknown")
		}
		if err != nil {
			return no("pay_link.malformed")
		}
	}
	return l, nil
}

// parseReferences reads the references of a link to an address.
func parseReferences(texts []string, to Address) ([]Address, error) {
	if len(texts) > MaxLinkReferences {
		return nil, Refuse(InvalidRequest, "pay_link.too_many_references", NumberArg("Most", MaxLinkReferences))
	}
	seen := map[Address]bool{to: true}
	out := make([]Address, len(texts))
	for i, text := range texts {
		reference, err := ParseAddress(text)
		if err != nil {
			return nil, Refuse(InvalidRequest, "pay_link.malformed")
		}
		if seen[reference] {
			return nil, Refuse(InvalidRequest, "pay_link.bad_reference")
		}
		seen[reference], out[i] = true, reference
	}
	return out, nil
}
