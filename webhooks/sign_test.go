package webhooks

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	purser "purser/clients/go"
	"purser/wallet"
)

var (
	testSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	oldSecret  = "whsec_" + base64.StdEncoding.EncodeToString([]byte("the key before its last rotation"))
)

func TestTheHeadersOfAnAttempt(t *testing.T) {
	at := time.Date(2026, 1, 31, 12, 0, 0, 7_900_000, time.FixedZone("elsewhere", 3600))
	// Secret, id, time and signature are the example of Standard Webhooks' own libraries.
	m := Message{EventID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Body: []byte(`{"test": 2432232314}`), Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	if got := m.Headers(time.Unix(1614265330, 0)).Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("webhook-signature of the example: %s", got)
	}
	want := map[string]string{
		"content-type":        "application/json",
		"user-agent":          "purser-webhooks/1",
		"x-service-timestamp": "2026-01-31T11:00:00.007Z",
		// printf '{"test": 2432232314}' | openssl dgst -sha256 -hmac whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
		"x-service-signature": "sha256=80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c",
		"webhook-id":          "msg_p5jXN8AQM9LWM0D4loKWxJek",
		"webhook-timestamp":   "1769857200",
		"webhook-signature":   standardSignature(m.Secret, m.EventID, "1769857200", m.Body),
	}
	got := m.Headers(at)
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.Get(name), value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("headers besides those of the specification: %v", got)
	}
}

// verifiers are those of other people and of our client for Go.
func verifiers(t *testing.T, secret string) map[string]func(body []byte, h http.Header) error {
	t.Helper()
	standard, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	if len(secret) > 6 && secret[:6] == "whsec_" {
		standard, err = standardwebhooks.NewWebhook(secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func([]byte, http.Header) error{
		"standardwebhooks": standard.Verify,
		"our client":       func(body []byte, h http.Header) error { return purser.VerifyWebhook(secret, h, body, time.Now()) },
		"our client, the service's scheme": func(body []byte, h http.Header) error {
			h = h.Clone()
			h.Del("webhook-signature")
			return purser.VerifyWebhook(secret, h, body, time.Now())
		},
	}
}

func TestOthersVerifyWhatWeSign(t *testing.T) {
	body := []byte(`{"event":"webhook.test","data":{"webhook_id":"wh_1"},"timestamp":"2026-01-31T12:00:00.000Z"}`)
	for _, secret := range []string{testSecret, "a secret of sixteen", "plain but long enough €"} {
		for name, verify := range verifiers(t, secret) {
			h := Message{EventID: "evt_1", Body: body, Secret: secret}.Headers(time.Now())
			if err := verify(body, h); err != nil {
				t.Errorf("%s, secret %q: %v", name, secret, err)
			}
			if verify(append([]byte(" "), body...), h) == nil {
				t.Errorf("%s verifies a changed body", name)
			}
			if verify(body, Message{EventID: "evt_1", Body: body, Secret: oldSecret}.Headers(time.Now())) == nil {
				t.Errorf("%s verifies what another secret signed", name)
			}
		}
	}
}

func TestBothSecretsVerifyWhileOneIsRotated(t *testing.T) {
	now := time.Now()
	hook := wallet.Webhook{URL: "https://example.com/", Secret: testSecret, Previous: oldSecret, PreviousUntil: now.Add(time.Second)}
	body := []byte(`{}`)
	for _, secret := range []string{testSecret, oldSecret} {
		for name, verify := range verifiers(t, secret) {
			if err := verify(body, NewMessage(hook, "evt_1", body, now).Headers(now)); err != nil {
				t.Errorf("%s, while both are good: %v", name, err)
			}
			err := verify(body, NewMessage(hook, "evt_1", body, hook.PreviousUntil).Headers(now))
			if (err == nil) != (secret == testSecret) {
				t.Errorf("%s, when the old one has ended: %v", name, err)
			}
		}
	}
}
