package wallet

import (
	"strconv"
	"strings"
)

// Amount is an exact quantity of a token in base units (lamports for SOL), with the token's decimals.
type Amount struct {
	Units    uint64
	Decimals uint8
}

// Decimal returns the number without its token and without trailing zeros: "1.5".
func (a Amount) Decimal() Decimal {
	units, scale := a.Units, int(a.Decimals)
	for ; scale > 0 && units%10 == 0; scale-- {
		units /= 10
	}
	return Decimal{digits: strconv.FormatUint(units, 10), scale: scale}
}

// String returns the exact decimal without trailing zeros: "1.5", "0.000005", "0".
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
