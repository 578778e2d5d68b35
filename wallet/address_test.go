package wallet

import (
	"strings"
	"testing"
)

const someWallet = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"

func TestAddressesAreRead(t *testing.T) {
	a, err := ParseAddress(someWallet)
	if err != nil || a.String() != someWallet || a.Tail() != "usVFin" {
		t.Fatalf("read %v (%v)", a, err)
	}
	system, err := ParseAddress(strings.Repeat("1", 32))
	if err != nil || !system.IsZero() {
		t.Fatalf("the System program reads as %v (%v)", system, err)
	}
}

func TestBadAddressesAreRefusedWithAReason(t *testing.T) {
	for _, text := range []string{
		"", "abc", someWallet + "1", someWallet[1:20], strings.Repeat("1", 31), strings.Repeat("1", 33), strings.Repeat("z", 44),
		strings.Replace(someWallet, "Q", "0", 1), strings.Replace(someWallet, "Q", "О", 1), " " + someWallet, strings.Repeat("a", 10_000),
	} {
		if a, err := ParseAddress(text); err == nil || ReasonOf(err).IsZero() {
			t.Errorf("%q was read as %v (%v)", text, a, err)
		}
	}
}

func TestOnCurveTellsKeysFromProgramAddresses(t *testing.T) {
	var base Address
	base[0] = 1
	on, off := 0, 0
	for i := range 64 {
		base[31] = byte(i)
		if base.OnCurve() {
			on++
		} else {
			off++
		}
	}
	// About half of all 32-byte strings are points: a constant answer would fail here.
	if on < 10 || off < 10 {
		t.Fatalf("%d on, %d off", on, off)
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(someWallet)
	f.Add(strings.Repeat("1", 32))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			if ReasonOf(err).IsZero() {
				t.Fatalf("%q is refused without a reason", text)
			}
			return
		}
		if a.String() != text {
			t.Fatalf("%q reads as %q", text, a)
		}
		a.OnCurve()
	})
}

func TestSignaturesAreRead(t *testing.T) {
	var s Signature
	for i := range s {
		s[i] = byte(i + 1)
	}
	again, err := ParseSignature(s.String())
	if err != nil || again != s {
		t.Fatalf("read %v (%v)", again, err)
	}
	for _, text := range []string{"", someWallet, s.String() + "zz", strings.Repeat("0", 88)} {
		if got, err := ParseSignature(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestAnAddressIsGroupedByFourWithoutLosingACharacter(t *testing.T) {
	for _, text := range []string{"9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu", "11111111111111111111111111111111", "hntyVP6YFm1Hg25TN9WGLqM12b8TQmcknKrdu1oxWux"} {
		a, err := ParseAddress(text)
		if a == (Address{}) {
			a, err = SystemProgram, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		groups := strings.Split(a.Grouped(), " ")
		for i, g := range groups {
			if len(g) != 4 && (i < len(groups)-1 || g == "") {
				t.Errorf("%s: %q", text, groups)
			}
		}
		if strings.Join(groups, "") != a.String() {
			t.Errorf("%s: %q", text, groups)
		}
	}
}
