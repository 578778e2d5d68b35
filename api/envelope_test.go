package api

import (
	"encoding/json"
	"testing"
	"time"

	"purser/wallet"
)

func TestEnvelopeReadsAsEncodingJSONWritesIt(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	s := &Server{Options: Options{Now: func() time.Time { return now }}}
	strange := "a <b> & \"c\" \\ \u2028 \x00 \x7f \xff é"
	for _, message := range []string{"", "Key read.", strange} {
		for _, data := range []any{
			nil, map[string]string{"status": message}, &keyData{Scopes: []wallet.Scope{}},
			&keyData{KeyID: message, Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: wallet.Scopes(), Owner: "usr_1", AppID: "app_1", Cluster: strange,
				CreatedAt: "1", ExpiresAt: "2", LastUsedAt: "3", RateLimit: rateLimitData{1 << 63, 5, -7}},
		} {
			want, err := json.Marshal(success{true, data, message, wallet.Timestamp(now)})
			check(t, err)
			if got, err := s.envelope(message, data); err != nil || string(got) != string(want) {
				t.Errorf("%s %v, not %s", got, err, want)
			}
		}
	}
}
