package wallet

import (
	"strconv"
	"strings"
)

// Amount is a quantity of one token in base units (lamports for SOL) with the token's decimals.
type Amount struct {
	Units    uint64
	Decimals uint8
}

// ParseAmount reads a positive decimal ("1.5", ".5", "2") of a token exactly: ParseDecimal, and Decimal.In. What is
// refused is FieldAmount.
func ParseAmount(text string, decimals uint8) (Amount, error) {
	d, err := ParseDecimal(text)
	if err != nil {
		return Amount{}, err
	}
	return d.In(decimals)
}

// Decimal is the same number without a token: "1.5", without zeros that say nothing.
func (a Amount) Decimal() Decimal {
	units, scale := a.Units, int(a.Decimals)
	for ; scale > 0 && units%10 == 0; scale-- {
		units /= 10
	}
	return Decimal{digits: strconv.FormatUint(units, 10), scale: scale}
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
