package wallet

import (
	"reflect"
	"testing"
)

func TestAWatermarkStaysBeforeWhatIsNotFinal(t *testing.T) {
	from := Watermark{Slot: 5, Seen: []Signature{{1}}}
	entries := []SignatureEntry{{Signature: Signature{2}, Slot: 5, Finalized: true}, {Signature: Signature{3}, Slot: 6, Finalized: true},
		{Signature: Signature{4}, Slot: 6, Finalized: true}, {Signature: Signature{5}, Slot: 7}, {Signature: Signature{6}, Slot: 8, Finalized: true}}
	for n, want := range []Watermark{from, {5, []Signature{{1}, {2}}}, {6, []Signature{{3}}}, {6, []Signature{{3}, {4}}}, {6, []Signature{{3}, {4}}}, {6, []Signature{{3}, {4}}}} {
		if got := from.Past(entries[:n]); !reflect.DeepEqual(got, want) {
			t.Errorf("past %d: %+v, want %+v", n, got, want)
		}
	}
	if len(from.Seen) != 1 {
		t.Error("it changed what it began from")
	}
}

func TestDust(t *testing.T) {
	token := func(decimals uint8) Token { return Token{Mint: Address{1}, Decimals: decimals} }
	for _, c := range []struct {
		change NetChange
		want   bool
	}{
		{NetChange{Token: SOL, Units: DustLamports - 1}, true},
		{NetChange{Token: SOL, Units: DustLamports}, false},
		{NetChange{Token: SOL, Units: 1, Lost: true}, false},
		{NetChange{Token: token(6), Units: 999}, true},
		{NetChange{Token: token(6), Units: 1000}, false},
		{NetChange{Token: token(3), Units: 1}, false},
		{NetChange{Token: token(1), Units: 1}, false},
		{NetChange{Token: token(0), Units: 1}, false},
		{NetChange{Token: token(7), Units: 999}, true},
		{NetChange{Token: token(7), Units: 1000}, false},
		{NetChange{Token: token(9), Units: 99_999}, true},
		{NetChange{Token: token(9), Units: 100_000}, false},
		{NetChange{Token: Token{Mint: WrappedSOL, Decimals: 9}, Units: DustLamports - 1}, true},
		{NetChange{Token: Token{Mint: WrappedSOL, Decimals: 9}, Units: DustLamports}, false},
		{NetChange{Token: token(255), Units: 1 << 63}, true},
	} {
		if got := c.change.Dust(); got != c.want {
			t.Errorf("%+v: %v", c.change, got)
		}
	}
}
