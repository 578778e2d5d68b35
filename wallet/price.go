package wallet

import (
	"errors"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Price is what one whole token costs in US dollars: Mantissa × 10^Exponent. The zero value means that no price is known.
// Prices are information: nothing that is signed depends on one.
//
// The form is normal: the mantissa has no trailing zero, so equal prices are equal values.
type Price struct {
	Mantissa uint64
	Exponent int8
}

// Bounds of a Price. What lies outside is an error of its source: no token costs a billion dollars, and the smallest unit of
// the cheapest token costs more than 10^-30 dollars.
const (
	priceDigits      = 18  // significant digits that are kept
	lowestMagnitude  = -30 // 10^-30 is the lowest price
	highestMagnitude = 9   // 10^9 is above the highest price
)

// ErrPrice says that a text is no price.
var ErrPrice = errors.New("not a price")

// ParsePrice parses a price as providers print it: digits with at most one decimal point, and an exponent if need be. It
// keeps 18 significant digits and rounds half up beyond. ErrPrice: malformed, negative, zero, or out of bounds.
func ParsePrice(text string) (Price, error) {
	d, err := ParseNumber(text)
	if err != nil {
		return Price{}, ErrPrice
	}
	digits, exponent, up := trimLeading(d.digits), -d.scale, false
	if extra := len(digits) - priceDigits; extra > 0 {
		up = digits[priceDigits] >= '5'
		digits, exponent = digits[:priceDigits], exponent+extra
	}
	mantissa, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return Price{}, ErrPrice
	}
	if up {
		mantissa++
	}
	return NewPrice(mantissa, exponent)
}

// NewPrice returns the price mantissa × 10^exponent in its normal form, rounded half up to 18 significant digits. ErrPrice: it
// is zero or out of bounds.
func NewPrice(mantissa uint64, exponent int) (Price, error) {
	var dropped uint64
	for ; mantissa >= 1_000_000_000_000_000_000; exponent++ { // 10^priceDigits
		mantissa, dropped = mantissa/10, mantissa%10
	}
	if dropped >= 5 {
		mantissa++
	}
	for ; mantissa > 0 && mantissa%10 == 0; exponent++ {
		mantissa /= 10
	}
	magnitude := len(strconv.FormatUint(mantissa, 10)) + exponent // the price is below 10^magnitude
	if mantissa == 0 || magnitude <= lowestMagnitude || magnitude > highestMagnitude {
		return Price{}, ErrPrice
	}
	return Price{Mantissa: mantissa, Exponent: int8(exponent)}, nil // magnitude and 18 digits bound the exponent
}

// MustPrice parses a price that is a constant of the program, and panics if it is none.
func MustPrice(text string) Price {
	p, err := ParsePrice(text)
	if err != nil {
		panic(err)
	}
	return p
}

// Known reports whether there is a price.
func (p Price) Known() bool { return p.Mantissa != 0 }

// String returns the exact decimal, without an exponent: "147.4789"; "" if no price is known.
func (p Price) String() string {
	if !p.Known() {
		return ""
	}
	digits := strconv.FormatUint(p.Mantissa, 10)
	if p.Exponent >= 0 {
		return digits + strings.Repeat("0", int(p.Exponent))
	}
	return Decimal{digits: digits, scale: -int(p.Exponent)}.String()
}

// MarshalText returns String.
func (p Price) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses what MarshalText returned.
func (p *Price) UnmarshalText(text []byte) (err error) {
	*p = Price{}
	if len(text) > 0 {
		*p, err = ParsePrice(string(text))
	}
	return err
}

// Rounded returns the price with so many significant digits, at least one, rounded half up. A price that would be rounded up
// out of the bounds stays as it is.
func (p Price) Rounded(significant int) Price {
	mantissa, exponent := p.Mantissa, int(p.Exponent)
	var last uint64
	for len(strconv.FormatUint(mantissa, 10)) > max(significant, 1) {
		mantissa, last, exponent = mantissa/10, mantissa%10, exponent+1
	}
	if last >= 5 {
		mantissa++
	}
	if rounded, err := NewPrice(mantissa, exponent); err == nil {
		return rounded
	}
	return p // unknown, or rounded up out of the bounds
}

// Compare returns -1, 0 or 1 as p is below, equal to or above q.
func (p Price) Compare(q Price) int { return p.rat().Cmp(q.rat()) }

// Times returns the price of a token whose price in units of another one is p, if that one costs q dollars: the cross rate,
// rounded once, as ParsePrice rounds. ErrPrice if it is out of bounds, or one of them is unknown.
func (p Price) Times(q Price) (Price, error) {
	product := new(big.Int).Mul(new(big.Int).SetUint64(p.Mantissa), new(big.Int).SetUint64(q.Mantissa))
	return ParsePrice(product.String() + "e" + strconv.Itoa(int(p.Exponent)+int(q.Exponent)))
}

// Minus returns the exact difference of two known prices as a decimal, with "-" before it if q is higher: "-1.25".
func (p Price) Minus(q Price) string {
	digits := max(0, -int(p.Exponent), -int(q.Exponent))
	text := new(big.Rat).Sub(p.rat(), q.rat()).FloatString(digits)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// rat returns the exact value.
func (p Price) rat() *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(int64(p.Exponent), -int64(p.Exponent))), nil)
	m := new(big.Int).SetUint64(p.Mantissa)
	if p.Exponent >= 0 {
		return new(big.Rat).SetInt(m.Mul(m, power))
	}
	return new(big.Rat).SetFrac(m, power)
}

// Value returns what an amount is worth, rounded half up to a millionth of a dollar. ok is false if no price is known, or if
// the value is above what USD holds.
func (p Price) Value(a Amount) (value USD, ok bool) {
	if !p.Known() {
		return 0, false
	}
	v := new(big.Int).SetUint64(a.Units)
	v.Mul(v, new(big.Int).SetUint64(p.Mantissa))
	switch shift := int(p.Exponent) - int(a.Decimals) + usdDecimals; {
	case shift >= 0:
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	default:
		divisor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-shift)), nil)
		half := new(big.Int).Rsh(divisor, 1)
		v.Div(v.Add(v, half), divisor)
	}
	if !v.IsUint64() {
		return 0, false
	}
	return USD(v.Uint64()), true
}

// ChangeFrom returns by how much the price moved since an earlier one, in hundredths of a percent, rounded towards zero. ok is
// false if one of them is unknown. A move beyond what Change holds is its bound.
func (p Price) ChangeFrom(before Price) (change Change, ok bool) {
	if !p.Known() || !before.Known() {
		return 0, false
	}
	ratio := new(big.Rat).Quo(p.rat(), before.rat())
	ratio.Sub(ratio, big.NewRat(1, 1)).Mul(ratio, big.NewRat(wholeChange, 1))
	moved := new(big.Int).Quo(ratio.Num(), ratio.Denom())
	if !moved.IsInt64() || moved.Int64() > maxChange {
		return maxChange, true
	}
	return Change(moved.Int64()), true
}

// USD is an amount of US dollars in millionths. Values are information and are never paid.
type USD uint64

const usdDecimals = 6

// String returns the exact decimal without trailing zeros: "221.5234", "0".
func (u USD) String() string { return Amount{Units: uint64(u), Decimals: usdDecimals}.String() }

// Cents returns the value rounded half up to cents, always with two decimals: "221.52".
func (u USD) Cents() string {
	const micros = 10_000 // in a cent
	cents := uint64(u) / micros
	if uint64(u)%micros >= micros/2 {
		cents++
	}
	return hundredths(cents)
}

// Plus adds two values. ok is false if the sum is above what USD holds.
func (u USD) Plus(v USD) (sum USD, ok bool) {
	s, carry := bits.Add64(uint64(u), uint64(v), 0)
	return USD(s), carry == 0
}

// Below returns by how many hundredths of a percent u is less than v, rounded toward zero; negative if it is more. ok is false if v is 0
// or the result is beyond what a Change holds.
func (u USD) Below(v USD) (below int64, ok bool) {
	if v == 0 {
		return 0, false
	}
	high, low := bits.Mul64(max(uint64(u), uint64(v))-min(uint64(u), uint64(v)), wholeChange)
	if high >= uint64(v) {
		return 0, false
	}
	parts, _ := bits.Div64(high, low, uint64(v))
	if parts > maxChange {
		return 0, false
	}
	if u > v {
		return -int64(parts), true
	}
	return int64(parts), true
}

// Change is a relative change in hundredths of a percent: 125 is +1.25 %.
type Change int64

const (
	wholeChange = 10_000            // 100 %
	maxChange   = 1_000_000_000_000 // a factor of a hundred million
)

// ParseChange parses a change in percent as providers print it ("-3.2815", "1e-2"), rounded towards zero to a hundredth of a
// percent. ErrPrice if it is malformed, or, so rounded, below -100 % or above what a price does.
func ParseChange(text string) (Change, error) {
	digits, negative := strings.CutPrefix(text, "-")
	d, err := ParseNumber(digits) // which refuses a second sign
	if err != nil {
		return 0, ErrPrice
	}
	const percentDecimals = 2
	whole, fraction, _ := strings.Cut(d.String(), ".")
	fraction = (fraction + "00")[:percentDecimals]
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || n > maxChange || negative && n > wholeChange {
		return 0, ErrPrice
	}
	if negative {
		n = -n
	}
	return Change(n), nil
}

// Percent returns the change in percent with two decimals and without a sign: "1.25".
func (c Change) Percent() string { return hundredths(uint64(max(c, -c))) }

// String returns the change in percent with two decimals, and "-" before a fall: "-1.25".
func (c Change) String() string {
	if c < 0 {
		return "-" + c.Percent()
	}
	return c.Percent()
}

// hundredths returns a number of hundredths as a decimal with two digits behind the point.
func hundredths(n uint64) string {
	rest := strconv.FormatUint(n%100, 10)
	if len(rest) < 2 {
		rest = "0" + rest
	}
	return strconv.FormatUint(n/100, 10) + "." + rest
}

// TokenPrice is what a source said of one token.
type TokenPrice struct {
	Mint  Address // zero for SOL
	Price Price
	// Change24h is the change over 24 hours as the source says it; nil if it does not.
	Change24h *Change
	At        time.Time // when the source said it, by our clock; or the older time that the source names
	Source    string    // such as "jupiter", as settings name it
	// Disagrees is another source that said something else at about the same time; nil: none did (Price.Differs).
	Disagrees *SourcePrice
}

// StalePrice is the age from which a price is shown with a warning, and values nothing.
const StalePrice = 15 * time.Minute

// Stale reports whether the price is too old to value anything by it.
func (p TokenPrice) Stale(now time.Time) bool { return now.Sub(p.At) > StalePrice }

// Value returns what an amount is worth now. ok is false if the price is unknown or stale. Nothing is worth nothing, at any
// price.
func (p TokenPrice) Value(a Amount, now time.Time) (value USD, ok bool) {
	if a.Units == 0 {
		return 0, true
	}
	if p.Stale(now) {
		return 0, false
	}
	return p.Price.Value(a)
}

// Values returns the lowest and the highest that an amount is worth by the sources that disagree; the same twice if none does. ok is as of Value.
func (p TokenPrice) Values(a Amount, now time.Time) (low, high USD, ok bool) {
	low, ok = p.Value(a, now)
	if high = low; !ok || p.Disagrees == nil {
		return low, high, ok
	}
	other, ok := p.Disagrees.Price.Value(a)
	return min(low, other), max(high, other), ok
}

// Worth is a value in US dollars that may be unknown. The zero value is known, and nothing.
type Worth struct {
	USD     USD
	Unknown bool
}

// WorthOf returns what an amount is worth at a price (TokenPrice.Value).
func WorthOf(p TokenPrice, a Amount, now time.Time) Worth {
	value, ok := p.Value(a, now)
	return Worth{value, !ok}
}

// Plus adds two values. The sum is unknown if one of them is.
func (w Worth) Plus(v Worth) Worth {
	sum, ok := w.USD.Plus(v.USD)
	if !ok || w.Unknown || v.Unknown {
		return Worth{Unknown: true}
	}
	return Worth{USD: sum}
}

// String returns the exact decimal; "" if it is unknown.
func (w Worth) String() string {
	if w.Unknown {
		return ""
	}
	return w.USD.String()
}

// Cents returns the value rounded to cents; "" if it is unknown.
func (w Worth) Cents() string {
	if w.Unknown {
		return ""
	}
	return w.USD.Cents()
}

// SourcePrice is what one source said.
type SourcePrice struct {
	Source string
	Price  Price
}

// Differs reports whether two sources that say p and q disagree: by more than 5 %. Prices of different markets and moments
// differ by less.
func (p Price) Differs(q Price) bool {
	const most = 500 // hundredths of a percent
	change, ok := p.ChangeFrom(q)
	return ok && (change > most || change < -most)
}

// PricePoint is the price of a token at one time.
type PricePoint struct {
	At    time.Time
	Price Price
}
