package wallet

import (
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
		got, err := ParseAmount(c.text, c.decimals)
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
		"1.", ".", "1.2.3", "1.0000000001", "18446744073.709551616", "9999999999999999999", "٣", "１", "½",
		"1\x00", "1\n", strings.Repeat("1", 10_000),
	} {
		got, err := ParseAmount(text, 9)
		if err == nil {
			t.Errorf("%q was read as %v", text, got)
			continue
		}
		if CodeOf(err) != InvalidRequest || DetailOf(err) == "" {
			t.Errorf("%q is refused without a reason: %v", text, err)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"1.5", "1e3", "", "18446744073.709551616", ".1", "٣"} {
		f.Add(seed, uint8(9))
	}
	f.Fuzz(func(t *testing.T, text string, decimals uint8) {
		got, err := ParseAmount(text, decimals)
		if err != nil {
			if DetailOf(err) == "" {
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
		again, err := ParseAmount(got.String(), decimals)
		if err != nil || again != got {
			t.Fatalf("%v is shown as %q, which reads as %v (%v)", got, got.String(), again, err)
		}
	})
}
