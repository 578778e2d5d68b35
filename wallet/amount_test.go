package wallet

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func TestAmountsAreReadExactly(t *testing.T) {
	for _, c := range []struct {
		text     string
		decimals uint8
		units    uint64
		shown    string
	}{
		{"1.5", 9, 1_500_000_000, "1.5"},
		{".5", 9, 500_000_000, "0.5"},
		{"0.000000001", 9, 1, "0.000000001"},
		{"18446744073.709551615", 9, 18446744073709551615, "18446744073.709551615"},
		{"100", 0, 100, "100"},
		{"0010.10", 6, 10_100_000, "10.1"},
		{"5", 255, 0, ""}, // more digits than 64 bits hold
	} {
		got, err := parseAmount(c.text, c.decimals)
		if c.shown == "" {
			if err == nil {
				t.Errorf("%q with %d decimals was read as %v", c.text, c.decimals, got)
			}
			continue
		}
		if err != nil || got.Units != c.units || got.String() != c.shown {
			t.Errorf("%q: got %d units shown as %q (%v), want %d as %q", c.text, got.Units, got, err, c.units, c.shown)
		}
	}
}

func TestBadAmountsAreRefusedWithAReason(t *testing.T) {
	for _, text := range []string{
		"", " ", "0", "0.0", "-1", "+1", "1e3", "1E3", "NaN", "Inf", "0x10", "1,5", "1_000", "1 000",
		"1.", ".", "1.2.3", "1.0000000001", "18446744073.709551616", "18446744073.709551617", "18446744073.709551619", "9999999999999999999", "٣", "１", "½",
		"1\x00", "1\n", strings.Repeat("1", 10_000),
	} {
		got, err := parseAmount(text, 9)
		if err == nil {
			t.Errorf("%q was read as %v", text, got)
			continue
		}
		if CodeOf(err) != InvalidRequest || ReasonOf(err).IsZero() {
			t.Errorf("%q is refused without a reason: %v", text, err)
		}
	}
}

func TestNumbersOfProgramsAreReadExactly(t *testing.T) {
	for text, want := range map[string]string{
		"1e-7": "0.0000001", "1E-9": "0.000000001", "1.5e-3": "0.0015", "15e-1": "1.5", "1.5e0": "1.5", "1.5e+1": "15", ".5e1": "5",
		"1e3": "1000", "12.345e2": "1234.5", "0.00012e5": "12", "100e-2": "1", "1.50": "1.5", "1.500000000000000": "1.5", "0010.10": "10.1",
		"0": "0", "0e999999999": "0", "0.0e-99999999999999999999": "0", "1e+000000000000000000002": "100",
		"18446744073709551615e-9": "18446744073.709551615",
	} {
		if got, err := ParseNumber(text); err != nil || got.String() != want || got != MustDecimal(want) {
			t.Errorf("%q became %q (%v), want %q", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"": "amount.missing", "-1e-7": "amount.not_positive", "-1": "amount.not_positive", "-0": "amount.not_positive",
		"-": "amount.malformed", "+1": "amount.malformed", "1e": "amount.malformed", "1e+": "amount.malformed", "1e-": "amount.malformed",
		"e5": "amount.malformed", "1.e5": "amount.malformed", "1e5.0": "amount.malformed", "1e2e3": "amount.malformed", "1e٣": "amount.malformed",
		"max": "amount.malformed", "1 e3": "amount.malformed", ".": "amount.malformed", "1e--2": "amount.malformed", "--1": "amount.malformed",
	} {
		if got, err := ParseNumber(text); CodeOf(err) != InvalidRequest || ReasonOf(err).Key != why || FieldOf(err) != FieldAmount || !got.IsZero() {
			t.Errorf("%q became %q (%v), want %s", text, got, err, why)
		}
	}
	for _, text := range []string{"1e999999999", "1e-999999999", "1e99999999999999999999999999", "1e18446744073709551617", "1e-18446744073709551617", "1e151", "1e-300", strings.Repeat("1", 301), "0." + strings.Repeat("0", 297) + "1e-9"} {
		var err error
		// These allocations are the refusal's; the size of the exponent costs nothing.
		if cost := testing.AllocsPerRun(10, func() { _, err = ParseNumber(text) }); CodeOf(err) != InvalidRequest || cost > 4 {
			t.Errorf("%.40q: %v, for %v allocations", text, err, cost)
		}
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, seed := range []string{"1.5", "1e-7", "1e999999999", "12.340e2", "", ".5E+1", "0e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		number, err := ParseNumber(text)
		plain := number.String()
		switch {
		case err != nil:
			if ReasonOf(err).IsZero() {
				t.Fatalf("%q is refused with %v", text, err)
			}
			return
		case len(plain) > maxDecimalText:
			t.Fatalf("%q became %d bytes", text, len(plain))
		case strings.ContainsAny(plain, "eE"):
			t.Fatalf("%q became %q", text, plain)
		}
		if again, err := ParseDecimal(plain); err != nil || again != number {
			t.Fatalf("%q became %q, which reads as %q, %v", text, plain, again, err)
		}
		if _, exponent, _ := strings.Cut(strings.ToLower(text), "e"); len(exponent) > 5 {
			return // big.Rat would write it out
		}
		want, ok := new(big.Rat).SetString(text)
		got, fine := new(big.Rat).SetString(plain)
		if !ok || !fine || want.Cmp(got) != 0 {
			t.Fatalf("%q became %q", text, plain)
		}
	})
}

// TestADecimalIsKeptAsItWasWritten, through String and JSON, and tells nothing given from zero.
func TestADecimalIsKeptAsItWasWritten(t *testing.T) {
	for text, want := range map[string]string{"1.5": "1.5", "1.50": "1.50", ".5": "0.5", "0010.10": "10.10", "0": "0", "0.00": "0.00", "7": "7",
		strings.Repeat("9", 300): strings.Repeat("9", 300), "." + strings.Repeat("1", 298): "0." + strings.Repeat("1", 298)} {
		d, err := ParseDecimal(text)
		if err != nil || d.String() != want || d.IsZero() {
			t.Errorf("%q is kept as %q, %v", text, d, err)
		}
		var again Decimal
		if raw, err := json.Marshal(d); err != nil || json.Unmarshal(raw, &again) != nil || again != d {
			t.Errorf("%q is stored as %s, read as %q", text, raw, again)
		}
	}
	if _, err := ParseDecimal("." + strings.Repeat("1", 299)); ReasonOf(err).Key != "amount.too_long" {
		t.Errorf("longer than it may be written: %v", err)
	}
	if _, err := (Decimal{}).In(9); ReasonOf(err).Key != "amount.missing" || FieldOf(err) != FieldAmount {
		t.Errorf("no number: %v", err)
	}
	for text, why := range map[string]string{"1.5": "amount.whole", "0.5": "amount.whole", "0": "amount.not_positive", "18446744073709551616": "amount.too_large"} {
		if a, err := MustDecimal(text).In(0); ReasonOf(err).Key != why {
			t.Errorf("%s of a token without decimals is %v, %v, want %s", text, a, err, why)
		}
	}
	if a, err := MustDecimal("1.5").In(2); err != nil || a != (Amount{150, 2}) {
		t.Errorf("1.5 with 2 decimals is %v, %v", a, err)
	}
	for want, a := range map[string]Amount{"1.5": {1_500_000_000, 9}, "0": {0, 9}, "100": {100, 0}, "10": {1000, 2}, "0.01": {1, 2}} {
		if d := a.Decimal(); d != MustDecimal(want) || a.String() != want {
			t.Errorf("%v is %v", a, d)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"1.5", "1e3", "", "18446744073.709551616", ".1", "٣"} {
		f.Add(seed, uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, decimals uint8) {
		got, err := parseAmount(text, decimals)
		if err != nil {
			if ReasonOf(err).IsZero() {
				t.Fatalf("%q is refused without a reason: %v", text, err)
			}
			return
		}
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number, yet read as %v", text, got)
		}
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
		if want.Mul(want, new(big.Rat).SetInt(scale)).Cmp(new(big.Rat).SetInt(new(big.Int).SetUint64(got.Units))) != 0 {
			t.Fatalf("%q with %d decimals was read as %d units", text, decimals, got.Units)
		}
		again, err := parseAmount(got.String(), decimals)
		if err != nil || again != got {
			t.Fatalf("%v is shown as %q, which reads as %v (%v)", got, got.String(), again, err)
		}
	})
}
