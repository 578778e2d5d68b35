package api

import (
	"encoding/json"
	"testing"
	"time"

	"purser/wallet"
)

func TestEnvelopeReadsAsEncodingJSONWritesIt(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	strange := "a <b> & \"c\" \\ \u2028 \x00 \x7f \xff é"
	for _, message := range []string{"", "Key read.", strange} {
		for _, data := range []any{
			nil, map[string]string{"status": message}, &keyData{Scopes: []wallet.Scope{}},
			&keyData{KeyID: message, Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: wallet.Scopes(), Owner: "usr_1", AppID: "app_1", Cluster: strange,
				CreatedAt: "1", ExpiresAt: "2", LastUsedAt: "3", RateLimit: rateLimitData{1 << 63, 5, -7}},
		} {
			want, err := json.Marshal(success{true, data, message, wallet.Timestamp(now)})
			check(t, err)
			if got, err := writeSuccess(message, data, now); err != nil || string(got) != string(want) {
				t.Errorf("%s %v, not %s", got, err, want)
			}
			if key, ok := data.(*keyData); ok {
				if got := endSuccess(key.appendJSON([]byte(successBegins)), message, now); string(got) != string(want) {
					t.Errorf("%s, not %s", got, want)
				}
			}
		}
	}
}

// TestEachByteIsWrittenAsEncodingJSONWritesIt, wherever it stands in a text.
func TestEachByteIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	for b := range 256 {
		one := string([]byte{byte(b)})
		for _, text := range []string{one, one + "az", "a" + one + "z", "az" + one} {
			want, err := json.Marshal(text)
			check(t, err)
			if got := appendText([]byte("{"), text); string(got) != "{"+string(want) {
				t.Errorf("%q: %s, not %s", text, got, want)
			}
		}
	}
}

// TestARefusalIsDataAsWell: a program need not read the English of details.
func TestARefusalIsDataAsWell(t *testing.T) {
	r := newHarness(t)
	a := r.send(r.alice.secret, r.sendBody("amount", "1000"))
	r.want(a, 422, wallet.InsufficientFunds, "amount: You have 10 SOL to spend. This needs 1000 SOL and the network fee of 0.000005 SOL.")
	for path, want := range map[string]string{"field": "amount", "reason": "funds.sol_short", "message": "The balance is too low for this transaction."} {
		if got := a.text("error", path); got != want {
			t.Errorf("%s is %q, not %q", path, got, want)
		}
	}
	for name, want := range map[string]string{"amount": "1000", "free": "10", "fee": "0.000005"} {
		if got := a.text("error", "arguments", name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	a = r.send(r.alice.secret, r.sendBody("token", ""))
	r.want(a, 400, wallet.InvalidRequest, "token is missing.")
	if a.text("error", "field") != "token" || a.text("error", "arguments", "field") != "token" {
		t.Errorf("%s", a.body)
	}
}
