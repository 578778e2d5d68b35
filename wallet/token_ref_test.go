package wallet

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestQuantitiesAreANumberOrAll(t *testing.T) {
	for text, want := range map[string]Quantity{"max": {Max: true}, "MAX": {Max: true}, "1.50": {Exact: MustDecimal("1.50")}} {
		got, err := ParseQuantity(text)
		if err != nil || got != want || got.IsZero() || !strings.EqualFold(got.String(), text) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
		var again Quantity
		if raw, err := json.Marshal(got); err != nil || json.Unmarshal(raw, &again) != nil || again != got {
			t.Errorf("%q is stored as %s, read as %v", text, raw, again)
		}
	}
	for _, text := range []string{"", "maximum", "1,5", "all", "-1"} {
		if got, err := ParseQuantity(text); CodeOf(err) != InvalidRequest || FieldOf(err) != FieldAmount || !got.IsZero() {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	var none Quantity
	if raw, err := json.Marshal(none); err != nil || string(raw) != `""` || json.Unmarshal(raw, &none) != nil || !none.IsZero() {
		t.Errorf("none is stored as %s, %v", raw, err)
	}
}

func TestATokenIsNamedByASymbolOrAMint(t *testing.T) {
	mint := MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	for text, want := range map[string]TokenRef{"SOL": {Symbol: "SOL"}, "usdc": {Symbol: "usdc"}, mint.String(): {Mint: mint}, "@x": {Symbol: "@x"}} {
		got, err := ParseTokenRef(text)
		if err != nil || got != want || got.IsZero() || got.String() != text {
			t.Errorf("%q is %v, %v", text, got, err)
		}
		var again TokenRef
		if raw, err := json.Marshal(got); err != nil || json.Unmarshal(raw, &again) != nil || again != got {
			t.Errorf("%q is stored as %s, read as %v", text, raw, again)
		}
	}
	// The address of zeros is no mint: as a TokenRef it would name nothing, which is SOL.
	for _, text := range []string{"", strings.Repeat("1", 32), strings.Repeat("x", 17), "a\x00b", "\xff", mint.String()[:40]} {
		if got, err := ParseTokenRef(text); CodeOf(err) != TokenNotFound || FieldOf(err) != FieldToken || !got.IsZero() {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for ref, native := range map[TokenRef]bool{{}: true, {Symbol: "sol"}: true, {Symbol: "SOL"}: true, {Symbol: "USDC"}: false, {Mint: mint}: false} {
		if ref.Native() != native {
			t.Errorf("%v: native is %v", ref, !native)
		}
	}
	if SOL.Ref() != (TokenRef{Symbol: "SOL"}) || (Token{Symbol: "USDC", Mint: mint}).Ref() != (TokenRef{Mint: mint}) {
		t.Error("a token names itself by its mint, SOL by its symbol")
	}
}
