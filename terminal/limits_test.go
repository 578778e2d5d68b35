package terminal

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/wallet"
)

// TestLimitsAreSignedWithAKeyFile: the whole text is shown and composed here. Nothing that is odd is signed.
func TestLimitsAreSignedWithAKeyFile(t *testing.T) {
	d := newDesk(t)
	mint := wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	const good = `{"payment":[{"mint":"SOL","units":"1000000000"},{"mint":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","units":"18446744073709551615"}],"day":[],"recipients":null,"new_wait_hours":24}`
	policy := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1_000_000_000}, {Mint: mint, Units: 1<<64 - 1}}, NewRecipientWait: 24 * time.Hour}
	d.limits = map[string]any{"address": addressOf(d.key).String(), "proposed": json.RawMessage(good), "wallet_type": "developer"}
	if err := d.follows("l=secret", "no"); err == nil || len(d.said) > 0 {
		t.Fatalf("without a yes: %v, %v", err, d.said)
	}
	if err := d.follows("l=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("Limit per payment: 1000000000 lamports", "18446744073709551615 base units of "+mint.String(), "Recipients: any", "New recipients wait: 24 hours", addressOf(d.key).String(),
		"Telegram account 700100", "They hold from 2026-11-22T10:00:00Z")
	signature, err := wallet.ParseSignature(d.said[0]["signature"])
	if err != nil || len(d.said) != 1 || d.said[0]["token"] != "secret" {
		t.Fatalf("handed in %v: %v", d.said, err)
	}
	issued := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	text := wallet.PolicyText(strings.TrimPrefix(d.URL, "http://"), d.URL, addressOf(d.key), policy, "Telegram account 700100", "localnet", "aB3dE5gH7jK9mN1p", issued, issued.Add(10*time.Minute))
	if !chain.VerifySignature([]byte(text), addressOf(d.key), signature) {
		t.Error("another text was signed")
	}
	signed := len(d.said)
	for what, change := range map[string]func(map[string]any){
		"another wallet":           func(c map[string]any) { c["address"] = wallet.Address{1}.String() },
		"no wallet":                func(c map[string]any) { delete(c, "address") },
		"a wrong order":            proposed(strings.Replace(good, `{"mint":"SOL","units":"1000000000"},`, "", 1), `"units":"18446744073709551615"}`, `"units":"1"},{"mint":"SOL","units":"1"}`),
		"twice the same":           proposed(good, `"day":[]`, `"day":[{"mint":"SOL","units":"1"},{"mint":"SOL","units":"2"}]`),
		"a fraction":               proposed(good, "1000000000", "1.5"),
		"a sign":                   proposed(good, "1000000000", "+1"),
		"leading zeros":            proposed(good, "1000000000", "01"),
		"too much":                 proposed(good, "18446744073709551615", "18446744073709551616"),
		"no mint":                  proposed(good, `"mint":"SOL"`, `"mint":""`),
		"the zero mint":            proposed(good, `"mint":"SOL"`, `"mint":"11111111111111111111111111111111"`),
		"a mint with a line break": proposed(good, `"mint":"SOL"`, `"mint":"SOL\nRecipients: any"`),
		"a negative wait":          proposed(good, `"new_wait_hours":24`, `"new_wait_hours":-1`),
		"a long wait":              proposed(good, `"new_wait_hours":24`, `"new_wait_hours":169`),
		"a wait that overflows":    proposed(good, `"new_wait_hours":24`, `"new_wait_hours":2562048`),
		"half an hour":             proposed(good, `"new_wait_hours":24`, `"new_wait_hours":0.5`),
		"odd recipients":           proposed(good, `"recipients":null`, `"recipients":["me"]`),
		"recipients twice":         proposed(good, `"recipients":null`, `"recipients":["EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"]`),
	} {
		changed := maps.Clone(d.limits)
		change(changed)
		was := d.limits
		d.limits = changed
		if err := d.follows("l=secret", "yes"); err == nil || len(d.said) > signed {
			t.Errorf("%s was signed", what)
		}
		d.limits = was
	}
}

// proposed replaces a part of the proposed policy.
func proposed(policy, from, to string) func(map[string]any) {
	return func(c map[string]any) { c["proposed"] = json.RawMessage(strings.Replace(policy, from, to, 1)) }
}
