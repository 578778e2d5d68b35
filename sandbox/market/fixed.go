package market

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// dollars is a price in 10^-12 US dollars. 0 is: no price.
type dollars uint64

const (
	priceDecimals = 12
	oneDollar     = 1_000_000_000_000
	maxPrice      = 1_000_000 * oneDollar // the highest that somebody may set
)

// String is the exact decimal, without trailing zeros and without an exponent.
func (d dollars) String() string { return decimal(uint64(d), priceDecimals) }

// parsePrice reads what String prints. The error is ErrPrice.
func parsePrice(text string) (dollars, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	if len(whole) > 7 || len(fraction) > priceDecimals || whole == "" || strings.Trim(whole+fraction, "0123456789") != "" ||
		strings.HasSuffix(text, ".") {
		return 0, ErrPrice
	}
	units, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", priceDecimals-len(fraction)), 10, 64)
	if err != nil || units == 0 || units > maxPrice {
		return 0, ErrPrice
	}
	return dollars(units), nil
}

// decimal prints units × 10^-scale without trailing zeros.
func decimal(units uint64, scale int) string { return point(strconv.FormatUint(units, 10), scale) }

// point puts a decimal point before the last digits, and leaves out zeros at the end.
func point(digits string, scale int) string {
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale+1-len(digits)) + digits
	}
	whole, fraction := digits[:len(digits)-scale], strings.TrimRight(digits[len(digits)-scale:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// number is a number in JSON, with all of its digits.
type number string

// MarshalJSON prints the digits as they are.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// float prints a decimal as a JSON number in the way of a program that keeps it as a binary fraction: below
// 10^-least with an exponent of at least so many digits.
func float(units uint64, scale, least, exponentDigits int) number {
	text := decimal(units, scale)
	significant := strings.TrimLeft(strings.TrimPrefix(text, "0."), "0")
	zeros := len(text) - len("0.") - len(significant)
	if !strings.HasPrefix(text, "0.") || zeros < least {
		return number(text)
	}
	exponent := strconv.Itoa(zeros + 1)
	exponent = strings.Repeat("0", max(0, exponentDigits-len(exponent))) + exponent
	if len(significant) > 1 {
		return number(significant[:1] + "." + significant[1:] + "e-" + exponent)
	}
	return number(significant + "e-" + exponent)
}

// rust prints a number as Jupiter does: 0.00001 is 1e-5, and whole numbers have ".0".
func rust(units uint64, scale int) number { return withPoint(float(units, scale, 4, 1)) }

// ruby prints a number as GeckoTerminal does: 0.00001 is 1.0e-05, and whole numbers have ".0".
func ruby(units uint64, scale int) number {
	n := float(units, scale, 4, 2)
	if digit, exponent, ok := strings.Cut(string(n), "e"); ok && len(digit) == 1 {
		return number(digit + ".0e" + exponent)
	}
	return withPoint(n)
}

// withPoint adds ".0" to a whole number.
func withPoint(n number) number {
	if strings.ContainsAny(string(n), ".e") {
		return n
	}
	return n + ".0"
}

// percentScale is the number of decimals of a change in percent.
const percentScale = 10

// minus puts the sign of a change before its digits.
func minus(change int64, digits func(units uint64) number) number {
	if change < 0 {
		return "-" + digits(uint64(-change))
	}
	return digits(uint64(change))
}

// changePercent is by how much a price moved, in 10^-10 percent, rounded towards zero. The bounds of int64 are kept.
func changePercent(from, to dollars) int64 {
	const whole = 100 * 10_000_000_000
	if to >= from {
		return int64(min(mulDiv(uint64(to-from), whole, uint64(from)), math.MaxInt64))
	}
	return -int64(mulDiv(uint64(from-to), whole, uint64(from)))
}

// percent prints a change with so many decimals, rounded towards zero, as pools show it: "-3.281".
func percent(change int64, decimals int) string {
	shift := uint64(1)
	for range percentScale - decimals {
		shift *= 10
	}
	text := decimal(uint64(max(change, -change))/shift, decimals)
	if change < 0 && text != "0" {
		return "-" + text
	}
	return text
}

// signed prints a change with a sign and two decimals, as people read it: "+1.25".
func signed(change int64) string {
	text := percent(change, 2)
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = (fraction + "00")[:2]
	if !strings.HasPrefix(whole, "-") && text != "0" {
		whole = "+" + whole
	}
	return whole + "." + fraction
}

// mulDiv is a × b / c, rounded down, or the highest number if that is above it. c must not be 0.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return math.MaxUint64
	}
	quotient, _ := bits.Div64(hi, lo, c)
	return quotient
}

// worth is what so many whole tokens cost, in cents, rounded down.
func worth(price dollars, tokens uint64) *big.Int {
	v := new(big.Int).Mul(new(big.Int).SetUint64(uint64(price)), new(big.Int).SetUint64(tokens))
	return v.Quo(v, big.NewInt(oneDollar/100))
}

// cents prints an amount of cents as a decimal of dollars with two decimals: "12.50".
func cents(c *big.Int) string {
	digits := c.String()
	if len(digits) < 3 {
		digits = strings.Repeat("0", 3-len(digits)) + digits
	}
	return digits[:len(digits)-2] + "." + digits[len(digits)-2:]
}
