package wallet

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestPricesAreReadExactly(t *testing.T) {
	for text, want := range map[string]Price{
		"147.4789340738336": {1474789340738336, -13},
		"1":                 {1, 0},
		"1.50":              {15, -1},
		"0010.0":            {1, 1},
		"120000":            {12, 4},
		".5":                {5, -1},
		"1e-7":              {1, -7},
		"2.5E+3":            {25, 2},
		"0.00001234e5":      {1234, -3},
		// 18 digits are kept, and what lies beyond is rounded half up.
		"123456789.123456789":                       {123456789123456789, -9},
		"123456789.1234567894999999":                {123456789123456789, -9},
		"123456789.1234567895":                      {12345678912345679, -8},
		"0.9999999999999999995":                     {1, 0},
		"0.9999999999999999994":                     {999999999999999999, -18},
		"0.0000000001234567890123456785":            {123456789012345679, -27},
		"0." + strings.Repeat("3", 290):             {333333333333333333, -18},
		"999999999.9999999994":                      {999999999999999999, -9}, // the highest price
		"0.000000000000000000000000000001":          {1, -30},                 // the lowest
		"1e-30":                                     {1, -30},
		"0.9999999999999999995e-30":                 {1, -30}, // rounded up into the bounds
		"1.00000000000000001e-30":                   {100000000000000001, -47},
		"0." + strings.Repeat("0", 29) + "123456e0": {123456, -35},
	} {
		got, err := ParsePrice(text)
		if err != nil || got != want || !got.Known() {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestBadPricesAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "0", "0.0", "0e5", "-1", "+1", "--1", "-0", "NaN", "Inf", "null", "0x10", "1,5", "1_000", " 1", "1 ", "1.", ".", "1.2.3", "1e", "1e1.5", "٣", "$1", "1\x00",
		"1000000000", "1e9", "999999999.9999999995", "1e10", "1e127", "1e128", "1e150", "1e999999999999999999999", "18446744073709551616",
		"9.9999e-31", "0.9999999999999999994e-30", "1e-31", "1e-47", "1e-128", "1e-129", "1e-299", "1e-999999999999999999999",
		strings.Repeat("9", 10), strings.Repeat("9", 300), strings.Repeat("1", 100_000), "1." + strings.Repeat("0", 300),
	} {
		if got, err := ParsePrice(text); !errors.Is(err, ErrPrice) || got != (Price{}) {
			t.Errorf("%.40q is %+v, %v", text, got, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a constant that is no price is no panic")
		}
	}()
	MustPrice("0")
}

func TestNewPricesAreNormal(t *testing.T) {
	for _, c := range []struct {
		mantissa uint64
		exponent int
		want     Price // zero: refused
	}{
		{1500, -3, Price{15, -1}},
		{1_000_000_000_000_000_000, -18, Price{1, 0}},
		{999_999_999_999_999_999, -18, Price{999_999_999_999_999_999, -18}},
		// More than 18 digits, as a text could not keep them.
		{1_234_567_890_123_456_784, -18, Price{123456789012345678, -17}},
		{1_234_567_890_123_456_785, -18, Price{123456789012345679, -17}},
		{12_345_678_901_234_567_849, -19, Price{123456789012345678, -17}}, // the last digit alone does not round up
		{12_345_678_901_234_567_850, -19, Price{123456789012345679, -17}},
		{9_999_999_999_999_999_995, -18, Price{1, 1}},
		{math.MaxUint64, -19, Price{184467440737095516, -17}},
		{math.MaxUint64, -49, Price{184467440737095516, -47}},
		{math.MaxUint64, -50, Price{}},
		{9_999_999_999_999_999_995, -10, Price{}}, // rounded up out of the bounds
		{0, 0, Price{}},
		{1, 9, Price{}}, {1, 8, Price{1, 8}}, {10, 8, Price{}}, {1, -30, Price{1, -30}}, {1, -31, Price{}}, {10, -31, Price{1, -30}},
		{1, 256, Price{}}, {1, -256, Price{}}, {10, math.MaxInt, Price{}}, {1, math.MaxInt, Price{}}, {1, math.MinInt, Price{}},
	} {
		got, err := NewPrice(c.mantissa, c.exponent)
		if got != c.want || (err == nil) != c.want.Known() || err != nil && !errors.Is(err, ErrPrice) {
			t.Errorf("%d × 10^%d is %+v, %v, want %+v", c.mantissa, c.exponent, got, err, c.want)
		}
	}
}

func TestPricesAreShownWithoutAnExponent(t *testing.T) {
	for _, text := range []string{"", "1", "10", "120000", "100000000", "999999999", "1.5", "0.5", "147.4789340738336", "0.000000000000000000000000000001"} {
		var p, again Price
		if err := p.UnmarshalText([]byte(text)); err != nil || p.String() != text || p.Known() != (text != "") {
			t.Errorf("%q is shown as %q, %v", text, p, err)
		}
		raw, err := json.Marshal(p)
		if err != nil || string(raw) != strconv.Quote(text) || json.Unmarshal(raw, &again) != nil || again != p {
			t.Errorf("%q is stored as %s, %v, and read as %q", text, raw, err, again)
		}
	}
	// What cannot be read leaves no earlier price behind.
	for _, text := range []string{"x", "-1", "0", ""} {
		p := MustPrice("5")
		if err := p.UnmarshalText([]byte(text)); p.Known() || (err == nil) != (text == "") {
			t.Errorf("%q leaves %v, %v", text, p, err)
		}
	}
}

func TestPricesAreRounded(t *testing.T) {
	for _, c := range []struct {
		text   string
		digits int
		want   string
	}{
		{"147.4789340738336", 9, "147.478934"}, {"147.4789340738336", 4, "147.5"}, {"147.4789340738336", 18, "147.4789340738336"},
		{"147.4789340738336", 1, "100"}, {"150", 1, "200"}, {"149.99", 1, "100"}, {"0.00012345", 3, "0.000123"}, {"0.00012355", 4, "0.0001236"},
		{"9.996", 3, "10"}, {"9.994", 3, "9.99"}, {"1.449", 2, "1.4"}, // not 1.45, which would become 1.5
		{"999999999", 1, "999999999"},         // 10^9 is no price
		{"147", 0, "100"}, {"147", -5, "100"}, // at least one digit
		{"", 9, ""}, {"", 0, ""},
	} {
		var p Price
		if err := p.UnmarshalText([]byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if got := p.Rounded(c.digits); got.String() != c.want {
			t.Errorf("%q with %d digits is %q, want %q", c.text, c.digits, got, c.want)
		}
	}
}

func TestWhatAnAmountIsWorth(t *testing.T) {
	for _, c := range []struct {
		price  string
		amount Amount
		want   USD
		ok     bool
	}{
		{"147.4789", Amount{1_502_000_000, 9}, 221_513_308, true},
		{"1", Amount{1, 6}, 1, true},
		{"0.5", Amount{1, 6}, 1, true}, // half of a millionth is rounded up
		{"0.499999999999999999", Amount{1, 6}, 0, true},
		{"1.4999999", Amount{1, 6}, 1, true},
		{"100000000", Amount{1, 9}, 100_000, true},
		{"100000000", Amount{184_467_440_738, 6}, 0, false},
		{"1", Amount{18_446_744_073_709, 0}, 18_446_744_073_709_000_000, true},
		{"1", Amount{18_446_744_073_710, 0}, 0, false},
		{"1", Amount{math.MaxUint64, 6}, math.MaxUint64, true},
		{"1.00000000000000001", Amount{math.MaxUint64, 6}, 0, false},
		{"0.000000000000000000000000000001", Amount{math.MaxUint64, 255}, 0, true},
		{"999999999", Amount{math.MaxUint64, 0}, 0, false},
		{"5", Amount{0, 9}, 0, true},
	} {
		if got, ok := MustPrice(c.price).Value(c.amount); got != c.want || ok != c.ok {
			t.Errorf("%s at %s is worth %d, %v, want %d, %v", c.amount, c.price, got, ok, c.want, c.ok)
		}
	}
	if got, ok := (Price{}).Value(Amount{1, 0}); ok || got != 0 {
		t.Errorf("without a price it is worth %v", got)
	}
}

func TestChangesOfPrices(t *testing.T) {
	for _, c := range []struct {
		before, now, change string // in percent
	}{
		{"100", "101.25", "1.25"}, {"100", "98.75", "-1.25"}, {"100", "100", "0.00"}, {"3", "2", "-33.33"}, {"3", "4", "33.33"}, {"3", "5", "66.66"},
		{"100", "100.00999", "0.00"}, {"100", "99.99001", "0.00"}, {"100", "99.99", "-0.01"}, {"100", "0.000001", "-99.99"}, {"999999999", "1e-30", "-99.99"},
		{"1", "100000001", "10000000000.00"},
		{"1", "100000002", "10000000000.00"}, {"1e-30", "999999999", "10000000000.00"}, // the bound
		{"1", "100000000.999", "9999999999.90"}, {"0.000000012", "0.000000018", "50.00"},
	} {
		before, now := MustPrice(c.before), MustPrice(c.now)
		change, ok := now.ChangeFrom(before)
		if !ok || change.String() != c.change || change.Percent() != strings.TrimPrefix(c.change, "-") {
			t.Errorf("from %s to %s it is %s (%s without a sign), %v, want %s", before, now, change, change.Percent(), ok, c.change)
		}
	}
	for _, pair := range [][2]Price{{{}, {}}, {{}, {1, 0}}, {{1, 0}, {}}} {
		if change, ok := pair[0].ChangeFrom(pair[1]); ok || change != 0 {
			t.Errorf("from %v to %v it is %s", pair[1], pair[0], change)
		}
	}
	if got := Change(math.MinInt64).String(); got != "-92233720368547758.08" {
		t.Errorf("the lowest number is %s", got)
	}
}

func TestChangesAreReadAsProvidersPrintThem(t *testing.T) {
	for text, want := range map[string]Change{
		"0": 0, "-0": 0, "0.0": 0, "1.25": 125, "-3.2815": -328, "3.289": 328, "1e-2": 1, "-1e-2": -1, "9.99e-3": 0, "-9.99e-3": 0, "5": 500, "5.1": 510, "5.01": 501,
		".5": 50, "1.5e2": 15_000, "-100": -10_000, "-100.009": -10_000, "10000000000": 1_000_000_000_000, "10000000000.009": 1_000_000_000_000,
		"-2.3841857910156e-7": 0, "0." + strings.Repeat("3", 290): 33,
	} {
		if got, err := ParseChange(text); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", "--1", "+1", "- 1", "1%", "NaN", "-Inf", "null", "1,5", "1e", "-100.01", "-101", "-1e9", "10000000000.01", "1e11", "1e17", "1e18", "1e149",
		"1e9999999999", "-1e9999999999", strings.Repeat("9", 301)} {
		if got, err := ParseChange(text); !errors.Is(err, ErrPrice) || got != 0 {
			t.Errorf("%.40q is %d, %v", text, got, err)
		}
	}
}

func TestSourcesDifferByMoreThanFivePercent(t *testing.T) {
	for _, c := range []struct {
		p, q string
		want bool
	}{
		{"100", "100", false}, {"105", "100", false}, {"105.01", "100", true}, {"95", "100", false}, {"94.99", "100", true},
		{"1e-30", "999999999", true}, {"999999999", "1e-30", true},
	} {
		if got := MustPrice(c.p).Differs(MustPrice(c.q)); got != c.want {
			t.Errorf("%s differs from %s: %v", c.p, c.q, got)
		}
	}
	if (Price{}).Differs(MustPrice("1")) || MustPrice("1").Differs(Price{}) {
		t.Error("an unknown price differs")
	}
}

func TestDollarsAreShownExactlyAndInCents(t *testing.T) {
	for _, c := range []struct {
		value        USD
		exact, cents string
	}{
		{0, "0", "0.00"}, {1, "0.000001", "0.00"}, {4_999, "0.004999", "0.00"}, {5_000, "0.005", "0.01"}, {221_523_400, "221.5234", "221.52"},
		{994_999, "0.994999", "0.99"}, {995_000, "0.995", "1.00"}, {50_000, "0.05", "0.05"}, {1_000_000, "1", "1.00"}, {12_340_000, "12.34", "12.34"},
		{math.MaxUint64, "18446744073709.551615", "18446744073709.55"},
	} {
		if c.value.String() != c.exact || c.value.Cents() != c.cents {
			t.Errorf("%d is shown as %s and %s, want %s and %s", uint64(c.value), c.value, c.value.Cents(), c.exact, c.cents)
		}
	}
	for _, c := range []struct {
		a, b, sum USD
		ok        bool
	}{{1, 2, 3, true}, {math.MaxUint64, 0, math.MaxUint64, true}, {math.MaxUint64 - 1, 1, math.MaxUint64, true}, {math.MaxUint64, 1, 0, false}, {math.MaxUint64, math.MaxUint64, 0, false}} {
		for range 2 {
			if sum, ok := c.a.Plus(c.b); ok != c.ok || ok && sum != c.sum {
				t.Errorf("%d + %d is %d, %v", uint64(c.a), uint64(c.b), uint64(sum), ok)
			}
			c.a, c.b = c.b, c.a
		}
	}
}

// randomPrice makes a price of any length and magnitude.
func randomPrice(r *rand.Rand) Price {
	for {
		if p, err := NewPrice(r.Uint64()>>r.IntN(64), r.IntN(60)-50); err == nil {
			return p
		}
	}
}

// exactly is the value of a price, from its text.
func exactly(t *testing.T, p Price) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(p.String())
	if !ok {
		t.Fatalf("%+v is shown as %q", p, p)
	}
	return r
}

// halfUp rounds a number that is not negative to an integer, half up.
func halfUp(r *big.Rat) *big.Int {
	r = new(big.Rat).Add(r, big.NewRat(1, 2))
	return new(big.Int).Quo(r.Num(), r.Denom())
}

// tenTo is 10^n, for any sign of n.
func tenTo(n int) *big.Rat {
	r, ok := new(big.Rat).SetString("1e" + strconv.Itoa(n))
	if !ok {
		panic(n)
	}
	return r
}

// significant rounds a positive number half up to so many digits.
func significant(r *big.Rat, digits int) *big.Rat {
	scale := 0
	for low := tenTo(digits - 1); new(big.Rat).Mul(r, tenTo(scale)).Cmp(low) < 0; scale++ {
	}
	for high := tenTo(digits); new(big.Rat).Mul(r, tenTo(scale)).Cmp(high) >= 0; scale-- {
	}
	whole := new(big.Rat).SetInt(halfUp(new(big.Rat).Mul(r, tenTo(scale))))
	return whole.Mul(whole, tenTo(-scale))
}

// isPrice reports whether a number is within the bounds of prices.
func isPrice(r *big.Rat) bool { return r.Cmp(tenTo(-30)) >= 0 && r.Cmp(tenTo(9)) < 0 }

// TestPricesCalculateAsExactNumbersDo compares with rational numbers of any size.
func TestPricesCalculateAsExactNumbersDo(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 41))
	for range 3_000 {
		p, q := randomPrice(random), randomPrice(random)
		a, b := exactly(t, p), exactly(t, q)
		if p.Compare(q) != a.Cmp(b) || p.Compare(p) != 0 || (p == q) != (a.Cmp(b) == 0) {
			t.Fatalf("%s and %s compare as %d", p, q, p.Compare(q))
		}
		product := significant(new(big.Rat).Mul(a, b), 18)
		if got, err := p.Times(q); (err == nil) != isPrice(product) || err == nil && exactly(t, got).Cmp(product) != 0 {
			t.Fatalf("%s × %s is %s, %v, want %s", p, q, got, err, product.FloatString(60))
		}
		digits := 1 + random.IntN(19)
		rounded := significant(a, digits)
		if !isPrice(rounded) {
			rounded = a
		}
		if got := p.Rounded(digits); exactly(t, got).Cmp(rounded) != 0 {
			t.Fatalf("%s with %d digits is %s, want %s", p, digits, got, rounded.FloatString(60))
		}
		testChange(t, p, q, a, b)
		testValue(t, p, a, Amount{random.Uint64() >> random.IntN(64), uint8(random.IntN(20))})
	}
}

// testChange compares the change from q to p, which are a and b exactly.
func testChange(t *testing.T, p, q Price, a, b *big.Rat) {
	t.Helper()
	moved := new(big.Rat).Sub(a, b)
	moved.Quo(moved, b).Mul(moved, big.NewRat(10_000, 1))
	want := new(big.Int).Quo(moved.Num(), moved.Denom())
	if most := big.NewInt(1_000_000_000_000); want.Cmp(most) > 0 {
		want = most
	}
	got, ok := p.ChangeFrom(q)
	if !ok || want.Cmp(big.NewInt(int64(got))) != 0 {
		t.Fatalf("from %s to %s it is %d, want %s", q, p, got, want)
	}
	if again, err := ParseChange(got.String()); err != nil || again != got {
		t.Fatalf("%d is shown as %s, which is read as %d, %v", got, got, again, err)
	}
}

// testValue compares the value of an amount at price p, which is exactly a.
func testValue(t *testing.T, p Price, a *big.Rat, amount Amount) {
	t.Helper()
	exact := new(big.Rat).SetInt(new(big.Int).SetUint64(amount.Units))
	want := halfUp(exact.Mul(exact, a).Mul(exact, tenTo(6-int(amount.Decimals))))
	got, ok := p.Value(amount)
	if ok != want.IsUint64() || ok && uint64(got) != want.Uint64() || !ok && got != 0 {
		t.Fatalf("%s at %s is worth %d, %v, want %s", amount, p, uint64(got), ok, want)
	}
	cents := new(big.Rat).SetFrac(halfUp(big.NewRat(0, 1).SetFrac(new(big.Int).SetUint64(uint64(got)), big.NewInt(10_000))), big.NewInt(100))
	if got.Cents() != cents.FloatString(2) {
		t.Fatalf("%d is %s in cents, want %s", uint64(got), got.Cents(), cents.FloatString(2))
	}
}

// TestAProductIsRoundedOnce: the exact product ends in ...49999999, and a first rounding on the way would make it ...5.
func TestAProductIsRoundedOnce(t *testing.T) {
	p, q := MustPrice("1.00000000000000001e-11"), MustPrice("1.49999999999999999e-11")
	// 1.000...01 × 1.499...99 = 1.50000000000000000499999999999999999: the 18th digit is followed by 0.4999...
	if got, err := p.Times(q); err != nil || got != MustPrice("1.5e-22") {
		t.Errorf("%s × %s is %s, %v", p, q, got, err)
	}
	for _, pair := range [][2]Price{{{}, {}}, {{}, {1, 0}}, {{1, 0}, {}}} {
		if got, err := pair[0].Times(pair[1]); !errors.Is(err, ErrPrice) || got.Known() {
			t.Errorf("%v × %v is %v, %v", pair[0], pair[1], got, err)
		}
	}
	if (Price{}).Compare(MustPrice("1e-30")) != -1 || (Price{}).Compare(Price{}) != 0 {
		t.Error("an unknown price is not below every other")
	}
	// No function returns such an exponent; a caller can still write one.
	if (Price{1, math.MinInt8}).Compare(MustPrice("1e-30")) != -1 || (Price{1, math.MaxInt8}).Compare(MustPrice("1")) != 1 {
		t.Error("the extreme exponents compare wrongly")
	}
	if got, err := (Price{1, 100}).Times(Price{1, math.MaxInt8}); !errors.Is(err, ErrPrice) {
		t.Errorf("the product of extreme exponents is %v, %v", got, err)
	}
}

// FuzzPrice: whatever a provider says is a price within the bounds, rounded as promised, that reads the same again; or
// ErrPrice. Nothing panics.
func FuzzPrice(f *testing.F) {
	for _, seed := range []string{"147.4789340738336", "1e-30", "999999999.9999999995", "0.9999999999999999995", "-3.2815", "1e999999999", "-", "", ".5E+1", "0e9", "٣"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzChange(t, text)
		p, err := ParsePrice(text)
		var stored Price
		if errStored := stored.UnmarshalText([]byte(text)); stored != p || (errStored == nil) != (err == nil || text == "") {
			t.Fatalf("%q is %v, %v, and as a stored text %v, %v", text, p, err, stored, errStored)
		}
		number, errNumber := ParseNumber(text)
		var want *big.Rat // what it means, if it is a price
		if errNumber == nil && number.String() != "0" {
			exact, ok := new(big.Rat).SetString(number.String())
			if !ok {
				t.Fatalf("%q is the number %q", text, number)
			}
			if want = significant(exact, 18); !isPrice(want) {
				want = nil
			}
		}
		if err != nil {
			if !errors.Is(err, ErrPrice) || p != (Price{}) || want != nil {
				t.Fatalf("%q is refused with %+v, %v", text, p, err)
			}
			return
		}
		if want == nil || exactly(t, p).Cmp(want) != 0 || p.Mantissa%10 == 0 || p.Mantissa >= 1e18 {
			t.Fatalf("%q is %+v", text, p)
		}
		again, err := ParsePrice(p.String())
		made, errMade := NewPrice(p.Mantissa, int(p.Exponent))
		if err != nil || again != p || errMade != nil || made != p || strings.ContainsAny(p.String(), "eE-") {
			t.Fatalf("%q is %+v, shown as %q, which is %+v, %v; made again it is %+v, %v", text, p, p, again, err, made, errMade)
		}
		if p.Rounded(18) != p || !p.Rounded(1).Known() || p.Compare(again) != 0 {
			t.Fatalf("%q is %+v, rounded %+v", text, p, p.Rounded(1))
		}
	})
}

// fuzzChange reads a text as a change.
func fuzzChange(t *testing.T, text string) {
	t.Helper()
	c, err := ParseChange(text)
	if err != nil {
		if !errors.Is(err, ErrPrice) || c != 0 {
			t.Fatalf("the change %q is refused with %d, %v", text, c, err)
		}
		return
	}
	if c < -10_000 || c > 1_000_000_000_000 {
		t.Fatalf("the change %q is %d", text, c)
	}
	number, err := ParseNumber(strings.TrimPrefix(text, "-"))
	if err != nil {
		t.Fatalf("the change %q is %d, but no number: %v", text, c, err)
	}
	exact, _ := new(big.Rat).SetString(number.String())
	exact.Mul(exact, big.NewRat(100, 1))
	want := new(big.Int).Quo(exact.Num(), exact.Denom())
	if strings.HasPrefix(text, "-") {
		want.Neg(want)
	}
	if want.Cmp(big.NewInt(int64(c))) != 0 {
		t.Fatalf("the change %q is %d, want %s", text, c, want)
	}
	if again, err := ParseChange(c.String()); err != nil || again != c {
		t.Fatalf("%d is shown as %s, which is %d, %v", c, c, again, err)
	}
}
