package wallet

import (
	"math/bits"
	"strings"
)

// Decimal is an exact number as it was written, before the token's decimals are known. In converts it to an Amount. The
// zero value is no number; "0" is a number, which In refuses. Equality is by notation: "1.5" and "1.50" differ.
type Decimal struct {
	digits string // without leading zeros; "0" for none
	scale  int    // how many of them, or of the zeros before them, follow the point
}

// maxDecimalText is the longest number that is parsed, in bytes. 20 digits, a point and 255 decimals fit.
const maxDecimalText = 300

// ParseDecimal parses digits with at most one decimal point ("1.5", ".5", "2"). Empty text, signs, exponents, separators
// and other digits than 0-9 are INVALID_REQUEST, about FieldAmount.
func ParseDecimal(text string) (Decimal, error) {
	no := func(key string) (Decimal, error) { return Decimal{}, About(FieldAmount, Refuse(InvalidRequest, key)) }
	if text == "" {
		return no("amount.missing")
	}
	if strings.HasPrefix(text, ".") {
		text = "0" + text // as String writes it
	}
	if len(text) > maxDecimalText {
		return no("amount.too_long")
	}
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if !digits(whole) || !digits(fraction) || hasPoint && fraction == "" {
		return no("amount.malformed")
	}
	return Decimal{trimLeading(whole + fraction), len(fraction)}, nil
}

// ParseNumber parses exact decimals as programs print them, such as JSON numbers, also with an exponent ("1e-7", "2E+3").
// Nothing is rounded, and redundant zeros are dropped. A number that no token could have is refused before memory of its
// size is allocated, whatever its exponent. Other errors are those of ParseDecimal. The chat does not use it: it asks
// people to write an exponent out.
func ParseNumber(text string) (Decimal, error) {
	no := func(key string) (Decimal, error) { return Decimal{}, About(FieldAmount, Refuse(InvalidRequest, key)) }
	switch {
	case text == "":
		return no("amount.missing")
	case len(text) > maxDecimalText:
		return no("amount.too_long")
	}
	mantissa, shift, ok := text, 0, true
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		mantissa = text[:e]
		shift, ok = readExponent(text[e+1:])
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !ok || !digits(whole) || !digits(fraction) || whole+fraction == "" || hasPoint && fraction == "" {
		return no("amount.malformed")
	}
	if negative {
		return no("amount.not_positive")
	}
	significant := strings.TrimRight(trimLeading(whole+fraction), "0")
	trimmed := len(trimLeading(whole+fraction)) - len(significant)
	scale := len(fraction) - shift - trimmed // where the point stands, counted from the right of the digits
	switch {
	case significant == "":
		return Decimal{digits: "0"}, nil
	case len(significant)-scale > maxDecimalText/2:
		return no("amount.too_large")
	case scale > maxDecimalText-2:
		return no("amount.tiny")
	case scale < 0:
		return Decimal{digits: significant + strings.Repeat("0", -scale)}, nil
	}
	return Decimal{significant, scale}, nil
}

// MustDecimal parses a number that is a constant of the program, and panics if it is malformed.
func MustDecimal(text string) Decimal {
	d, err := ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// In converts the number to an amount of a token with that many decimals. INVALID_REQUEST, about FieldAmount, for zero,
// for more decimals than the token has, and for more base units than 64 bits hold.
func (d Decimal) In(decimals uint8) (Amount, error) {
	no := func(key string, args ...Arg) (Amount, error) {
		return Amount{}, About(FieldAmount, Refuse(InvalidRequest, key, args...))
	}
	switch {
	case d.IsZero():
		return no("amount.missing")
	case d.scale > int(decimals) && decimals == 0:
		return no("amount.whole")
	case d.scale > int(decimals):
		return no("amount.too_precise", NumberArg("Decimals", d.scale), NumberArg("Most", decimals))
	}
	var units uint64
	for _, digit := range d.digits + strings.Repeat("0", int(decimals)-d.scale) {
		high, low := bits.Mul64(units, 10)
		sum, carry := bits.Add64(low, uint64(digit-'0'), 0)
		if high != 0 || carry != 0 {
			return no("amount.too_large")
		}
		units = sum
	}
	if units == 0 {
		return no("amount.not_positive")
	}
	return Amount{Units: units, Decimals: decimals}, nil
}

// IsZero reports whether no number was given. The number 0 is not zero in this sense.
func (d Decimal) IsZero() bool { return d.digits == "" }

// String returns the form that ParseDecimal parses, with all decimals that were written; "" for none.
func (d Decimal) String() string {
	text := d.digits
	if d.scale == 0 {
		return text
	}
	if missing := d.scale + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return text[:len(text)-d.scale] + "." + text[len(text)-d.scale:]
}

// MarshalText returns String, for the store.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses what MarshalText returned.
func (d *Decimal) UnmarshalText(text []byte) (err error) {
	*d = Decimal{}
	if len(text) > 0 {
		*d, err = ParseDecimal(string(text))
	}
	return err
}

// readExponent parses an exponent. Beyond a million its exact value does not matter, since nothing that large fits.
func readExponent(text string) (exponent int, ok bool) {
	sign := 1
	switch {
	case strings.HasPrefix(text, "-"):
		sign, text = -1, text[1:]
	case strings.HasPrefix(text, "+"):
		text = text[1:]
	}
	if text == "" || !digits(text) {
		return 0, false
	}
	const most = 1_000_000
	for i := range len(text) {
		exponent = min(most, exponent*10+int(text[i]-'0'))
	}
	return sign * exponent, true
}

// trimLeading removes leading zeros and keeps at least one digit.
func trimLeading(text string) string {
	if trimmed := strings.TrimLeft(text, "0"); trimmed != "" {
		return trimmed
	}
	return text[:min(len(text), 1)]
}

// digits reports whether a text consists of the digits 0-9 only.
func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
