package wallet

import (
	"math/bits"
	"strings"
)

// Decimal is a number of some token as it was written, exact, before it is known how many decimals the token has: In
// makes an Amount of it. The zero Decimal is no number at all; "0" is one, which no token takes. Decimals that were
// written alike are equal: "1.5" and "1.50" are not.
type Decimal struct {
	digits string // without leading zeros; "0" for none
	scale  int    // how many of them, or of the zeros before them, follow the point
}

// maxDecimalText bounds what is read as a number: 20 digits, a point, 255 decimals fit.
const maxDecimalText = 300

// ParseDecimal reads digits with at most one decimal point ("1.5", ".5", "2"). Refused, with a reason and FieldAmount:
// empty text, signs, exponents, separators, digits other than 0-9.
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

// ParseNumber reads a decimal as programs print exact ones: a JSON number or the like, also with an exponent ("1e-7",
// "2E+3"). Nothing is rounded; zeros that say nothing are left out. A number that no token could hold is refused,
// whatever its exponent, before anything of its size is made. Else it refuses what ParseDecimal does. People who type
// an exponent are asked to write it out (chat): they do not call this.
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

// MustDecimal is a number that is a constant of the program: a mistyped one panics at its start.
func MustDecimal(text string) Decimal {
	d, err := ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// In is the number as an amount of a token with so many decimals. Refused, with a reason and FieldAmount: zero, more
// decimals than the token has, more units than 64 bits hold.
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

// IsZero tells whether there is no number: it was not given.
func (d Decimal) IsZero() bool { return d.digits == "" }

// String writes the number as ParseDecimal reads it, with all decimals that were written; "" for none.
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

// MarshalText writes String, for what is stored.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Decimal) UnmarshalText(text []byte) (err error) {
	*d = Decimal{}
	if len(text) > 0 {
		*d, err = ParseDecimal(string(text))
	}
	return err
}

// readExponent reads what follows the e of a number, as exactly as matters: beyond a million nothing fits
// anywhere.
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

// trimLeading takes the zeros off that digits begin with, and leaves one digit at least.
func trimLeading(text string) string {
	if trimmed := strings.TrimLeft(text, "0"); trimmed != "" {
		return trimmed
	}
	return text[:min(len(text), 1)]
}

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}
