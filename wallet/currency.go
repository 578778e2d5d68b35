package wallet

import (
	"errors"
	"math/big"
	"strings"
	"time"

	"golang.org/x/text/currency"
)

// Currency is the ISO 4217 code of the money in which a person reads values, such as "EUR".
type Currency string

// Dollars is the currency of all prices, and the one of people who chose none.
const Dollars Currency = "USD"

// ErrCurrency says that a text is no currency of Currencies.
var ErrCurrency = errors.New("not a known currency")

// Currencies lists the currencies that a person can choose, the most used first.
func Currencies() []Currency {
	return []Currency{
		Dollars, "EUR", "GBP", "JPY", "CNY", "INR", "BRL", "MXN", "TRY", "RUB", "AED", "SAR",
		"CHF", "CAD", "AUD", "NZD", "SGD", "HKD", "KRW", "IDR", "PLN", "UAH", "ARS", "COP", "ZAR", "NGN", "EGP",
	}
}

// ParseCurrency reads the code of a currency, in any case. ErrCurrency if Currencies lacks it.
func ParseCurrency(text string) (Currency, error) {
	for _, known := range Currencies() {
		if strings.EqualFold(text, string(known)) {
			return known, nil
		}
	}
	return "", ErrCurrency
}

// digits is how many digits stand behind the point in a sum of the currency: 2 of euros, 0 of yen.
func (c Currency) digits() int {
	unit, err := currency.ParseISO(string(c))
	if err != nil {
		return usdCentDigits
	}
	scale, _ := currency.Standard.Rounding(unit)
	return scale
}

const usdCentDigits = 2

// Rate is what one US dollar costs in another currency. Like a Price it is information: nothing that is signed depends on it.
type Rate struct {
	Currency  Currency
	PerDollar Price     // units of the currency for one dollar
	At        time.Time // the day for which the source names it, or when it was read
	Source    string    // such as "frankfurter"
}

// StaleRate is the age from which a rate is not used any more. Central banks name none on weekends and holidays.
const StaleRate = 7 * 24 * time.Hour

// Stale reports whether the rate is too old to value anything by it.
func (r Rate) Stale(now time.Time) bool { return now.Sub(r.At) > StaleRate }

// Sum is an amount of a currency for people to read. It is information and never paid.
type Sum struct {
	Currency Currency
	Text     string // a decimal with the digits of the currency: "204.12", and "31000" of yen
	// Least says that the value is above nothing and below the smallest sum that Text can say, which Text then is.
	Least bool
}

// Of converts a value in dollars, rounded half up to the smallest sum of the currency. ok is false for a rate that is not
// known.
func (r Rate) Of(value USD) (sum Sum, ok bool) {
	if !r.PerDollar.Known() {
		return Sum{}, false
	}
	// in millionths of a dollar × mantissa, to be shifted to the smallest unit of the currency
	digits := r.Currency.digits()
	units := new(big.Rat).Mul(new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(value)), power(usdDecimals)), r.PerDollar.rat())
	units.Mul(units, new(big.Rat).SetInt(power(digits)))
	rounded := new(big.Int).Quo(new(big.Int).Add(new(big.Int).Lsh(units.Num(), 1), units.Denom()), new(big.Int).Lsh(units.Denom(), 1))
	sum = Sum{Currency: r.Currency}
	if rounded.Sign() == 0 && value > 0 {
		rounded, sum.Least = big.NewInt(1), true
	}
	text := rounded.String()
	if missing := digits + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	if digits > 0 {
		text = text[:len(text)-digits] + "." + text[len(text)-digits:]
	}
	sum.Text = text
	return sum, true
}

// Magnitude returns the largest power of ten of whole units that one dollar buys: 100 for the yen. It is 1 for a currency of which a dollar
// buys fewer than ten, and for a rate that is not known.
func (r Rate) Magnitude() uint64 {
	size := uint64(1)
	for next := size * 10; next <= maxMagnitude && r.Reaches(oneDollar, next); next *= 10 {
		size = next
	}
	return size
}

// oneDollar is one US dollar.
const oneDollar = USD(1_000_000)

// maxMagnitude bounds Rate.Magnitude, so that a rate which makes no sense leads to no overflow.
const maxMagnitude = 1_000_000

// Reaches reports whether a value is worth at least so many whole units of the rate's currency. It is false if the rate is not known.
func (r Rate) Reaches(value USD, whole uint64) bool {
	if !r.PerDollar.Known() {
		return false
	}
	worth := new(big.Rat).Mul(new(big.Rat).SetFrac(new(big.Int).SetUint64(uint64(value)), power(usdDecimals)), r.PerDollar.rat())
	return worth.Cmp(new(big.Rat).SetInt(new(big.Int).SetUint64(whole))) >= 0
}

// Dollars returns what whole units of the rate's currency are worth, rounded down to a millionth of a dollar. ok is false for a
// rate that is not known, and for a value above what USD holds.
func (r Rate) Dollars(whole uint64) (value USD, ok bool) {
	if !r.PerDollar.Known() {
		return 0, false
	}
	worth := new(big.Rat).SetInt(new(big.Int).Mul(new(big.Int).SetUint64(whole), power(usdDecimals)))
	worth.Quo(worth, r.PerDollar.rat())
	v := new(big.Int).Quo(worth.Num(), worth.Denom())
	return USD(v.Uint64()), v.IsUint64()
}

// OneToOne is the rate of the dollar.
func OneToOne(now time.Time) Rate {
	return Rate{Currency: Dollars, PerDollar: Price{Mantissa: 1}, At: now}
}

// power returns 10^n.
func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
