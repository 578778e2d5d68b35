package wallet

import (
	"net/url"
	"strings"
)

// PayLink is a Solana Pay transfer request: solana:<recipient>?amount=…&spl-token=…&reference=…&label=…&message=…&memo=….
type PayLink struct {
	To         Address
	Amount     Decimal   // zero: the payer chooses
	Mint       Address   // zero: SOL
	References []Address // the transfer must name these, in this order, so that the link's creator can find it
	Label      string    // who asks, in the creator's words; "" for none, and for one that cannot be shown
	Purpose    string    // what the payment is for (message), in the creator's words, at most MaxPurpose characters; "" as for Label
	Memo       string    // the transfer should carry this; "" for none
}

// payScheme is the scheme of payment links.
const payScheme = "solana:"

// maxPayLink is the longest link that is parsed, in bytes.
const maxPayLink = 2048

// IsPayLink reports whether a text is meant as a payment link, valid or not.
func IsPayLink(text string) bool {
	return len(text) > len(payScheme) && strings.EqualFold(text[:len(payScheme)], payScheme)
}

// String returns the link, which ParsePayLink parses.
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
	if l.Purpose != "" {
		query.Set("message", l.Purpose)
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

// ParsePayLink parses a transfer request. INVALID_REQUEST for what purser could not pay as intended: a transaction
// request (an https URL), a memo that no device would sign, or too many references. A label or a message
// that cannot be shown is ignored, and a long message is cut: they are the creator's words and prove nothing.
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
			l.Purpose = purposeOf(values)
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
			if l.Mint, err = ParseAddress(values[0]); l.Mint.IsZero() { // the zero mint would mean SOL
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

// purposeOf returns the message of a link as it can be shown, shortened to MaxPurpose characters. It returns "" for several
// messages and for one with hidden characters.
func purposeOf(messages []string) string {
	if len(messages) != 1 || checkShown(messages[0]) != nil {
		return ""
	}
	text := []rune(messages[0])
	if len(text) > MaxPurpose {
		text = append(text[:MaxPurpose-1], '…')
	}
	return string(text)
}

// parseReferences parses the references of a link. to is the recipient, which must not be one of them.
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
