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
		return Amount{}, Refuse(InvalidRequest, "an amount is missing, for example 1.5")
	}
	if len(text) > maxAmountText {
		return Amount{}, Refuse(InvalidRequest, "that amount is too long")
	}
	whole, fraction, hasPoint := strings.Cut(text, ".")
	if !digits(whole) || !digits(fraction) || whole+fraction == "" || hasPoint && fraction == "" {
		return Amount{}, Refuse(InvalidRequest, "an amount is digits with at most one point, for example 1.5")
	}
	if len(fraction) > int(decimals) {
		if decimals == 0 {
			return Amount{}, Refuse(InvalidRequest, "this token has no decimals: use a whole number")
		}
		return Amount{}, Refuse(InvalidRequest, "that amount has %d decimals, at most %d are possible", len(fraction), decimals)
	}
	var units uint64
	for _, d := range whole + fraction + strings.Repeat("0", int(decimals)-len(fraction)) {
		high, low := bits.Mul64(units, 10)
		sum, carry := bits.Add64(low, uint64(d-'0'), 0)
		if high != 0 || carry != 0 {
			return Amount{}, Refuse(InvalidRequest, "that amount is larger than any balance can be")
		}
		units = sum
	}
	if units == 0 {
		return Amount{}, Refuse(InvalidRequest, "the amount must be more than zero")
	}
	return Amount{Units: units, Decimals: decimals}, nil
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
