package wallet

import (
	"math/bits"
	"strconv"
	"strings"
)

// Amount is a quantity of one token in base units (lamports for SOL) with the token's decimals.
type Amount struct {
	Units    uint64
	Decimals uint8
}

// maxAmountText bounds what ParseAmount looks at: 20 digits, a point, 255 decimals fit.
const maxAmountText = 300

// Max is the word for the amount "all that can be sent".
const Max = "max"

// ParseAmount reads a positive decimal ("1.5", ".5", "2") exactly. Refused, with a reason: empty
// text, signs, exponents, separators, digits other than 0-9, zero, more decimals than the token
// has, more units than 64 bits hold.
func ParseAmount(text string, decimals uint8) (Amount, error) {
	if text == "" {
		return Amount{}, Refuse(InvalidRequest, "amount.missing")
	}
	if len(text) > maxAmountText {
		return Amount{}, Refuse(InvalidRequest, "amount.too_long")
	}
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if !digits(whole) || !digits(fraction) || whole+fraction == "" || hasPoint && fraction == "" {
		return Amount{}, Refuse(InvalidRequest, "amount.malformed")
	}
	if len(fraction) > int(decimals) {
		if decimals == 0 {
			return Amount{}, Refuse(InvalidRequest, "amount.whole")
		}
		return Amount{}, Refuse(InvalidRequest, "amount.too_precise", NumberArg("Decimals", len(fraction)), NumberArg("Most", decimals))
	}
	var units uint64
	for _, d := range whole + fraction + strings.Repeat("0", int(decimals)-len(fraction)) {
		high, low := bits.Mul64(units, 10)
		sum, carry := bits.Add64(low, uint64(d-'0'), 0)
		if high != 0 || carry != 0 {
			return Amount{}, Refuse(InvalidRequest, "amount.too_large")
		}
		units = sum
	}
	if units == 0 {
		return Amount{}, Refuse(InvalidRequest, "amount.not_positive")
	}
	return Amount{Units: units, Decimals: decimals}, nil
}

// PlainDecimal writes a JSON number or the like ("1e-7", "1.50", "2E+3") without an exponent and without
// zeros that say nothing, for ParseAmount: programs print exact decimals that way. Nothing is rounded. Text
// that is no such number is returned as it is; one whose plain form no token could hold is refused, whatever
// its exponent, before anything of its size is made. People who type an exponent are asked to write it out
// (chat): they do not call this.
func PlainDecimal(text string) (string, error) {
	if len(text) > maxAmountText {
		return "", Refuse(InvalidRequest, "amount.too_long")
	}
	mantissa, shift, ok := text, 0, true
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		mantissa = text[:e]
		shift, ok = readExponent(text[e+1:])
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	if !ok || !digits(whole) || !digits(fraction) || whole+fraction == "" || hasPoint && fraction == "" {
		return text, nil
	}
	significant := strings.TrimRight(whole+fraction, "0")
	point := len(whole) + shift // where the point stands in the digits, counted from their left
	leading := len(significant) - len(strings.TrimLeft(significant, "0"))
	significant, point = significant[leading:], point-leading
	switch {
	case significant == "":
		return "0", nil
	case point > maxAmountText/2:
		return "", Refuse(InvalidRequest, "amount.too_large")
	case len(significant)-point > maxAmountText-2:
		return "", Refuse(InvalidRequest, "amount.tiny")
	case point <= 0:
		return "0." + strings.Repeat("0", -point) + significant, nil
	case point >= len(significant):
		return significant + strings.Repeat("0", point-len(significant)), nil
	}
	return significant[:point] + "." + significant[point:], nil
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

func digits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// String writes the exact decimal without trailing zeros: "1.5", "0.000005", "0".
func (a Amount) String() string {
	text := strconv.FormatUint(a.Units, 10)
	if a.Decimals == 0 {
		return text
	}
	if missing := int(a.Decimals) + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	point := len(text) - int(a.Decimals)
	return strings.TrimSuffix(strings.TrimRight(text[:point]+"."+text[point:], "0"), ".")
}
