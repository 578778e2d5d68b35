package purser_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	purser "purser/clients/go"
)

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

func TestAWebhookIsVerifiedByEitherScheme(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	const body = `{"event":"webhook.test"}`
	raw := "0123456789abcdef0123456789abcdef"
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(raw))
	service := func(name, key string, at time.Time) http.Header {
		h := http.Header{}
		h.Set(name, "sha256="+hex.EncodeToString(mac(key, body)))
		h.Set("x-service-timestamp", at.Format("2006-01-02T15:04:05.000Z"))
		return h
	}
	standard := func(key, text string, at time.Time) http.Header {
		h := http.Header{}
		unix := strconv.FormatInt(at.Unix(), 10)
		h.Set("webhook-id", "msg_1")
		h.Set("webhook-timestamp", unix)
		h.Set("webhook-signature", "v1,AAAA v1a,AAAA v1,"+base64.StdEncoding.EncodeToString(mac(key, "msg_1."+unix+"."+text)))
		return h
	}
	with := func(h http.Header, name, value string) http.Header { h.Set(name, value); return h }
	for _, c := range []struct {
		name, secret string
		header       http.Header
		want         error
	}{
		{"the service's scheme, the secret's literal bytes", secret, service("x-service-signature", secret, now.Add(-5*time.Minute)), nil},
		{"a secret before its rotation", "old secret of ours", service("x-service-signature-previous", "old secret of ours", now), nil},
		{"Standard Webhooks, the decoded bytes", secret, standard(raw, body, now.Add(4*time.Minute)), nil},
		{"Standard Webhooks, a secret of one's own", "a secret of my own", standard("a secret of my own", body, now), nil},
		{"Standard Webhooks, what is not base64 after whsec_", "whsec_!!", standard("whsec_!!", body, now), nil},
		{"both, the standard one of another secret", secret, func() http.Header {
			h := service("x-service-signature-previous", secret, now)
			for name, value := range standard("new", body, now) {
				h[name] = value
			}
			return h
		}(), nil},
		{"nothing", secret, http.Header{}, purser.ErrWebhookSignature},
		{"another secret", "another", service("x-service-signature", secret, now), purser.ErrWebhookSignature},
		{"the service's scheme by decoded bytes", secret, service("x-service-signature", raw, now), purser.ErrWebhookSignature},
		{"no secret", "", service("x-service-signature", "", now), purser.ErrWebhookSignature},
		{"half a signature", secret, with(service("x-service-signature", secret, now), "x-service-signature", "sha256=00"), purser.ErrWebhookSignature},
		{"another body", secret, standard(raw, body+" ", now), purser.ErrWebhookSignature},
		{"another id", secret, with(standard(raw, body, now), "webhook-id", "msg_2"), purser.ErrWebhookSignature},
		{"another time", secret, with(standard(raw, body, now.Add(-time.Hour)), "webhook-timestamp", strconv.FormatInt(now.Unix(), 10)), purser.ErrWebhookSignature},
		{"old", secret, service("x-service-signature", secret, now.Add(-5*time.Minute-time.Millisecond)), purser.ErrWebhookTime},
		{"to come", secret, service("x-service-signature", secret, now.Add(6*time.Minute)), purser.ErrWebhookTime},
		{"no time", secret, with(service("x-service-signature", secret, now), "x-service-timestamp", ""), purser.ErrWebhookTime},
		{"old, standard", secret, standard(raw, body, now.Add(-6*time.Minute)), purser.ErrWebhookTime},
		{"far away, standard", secret, standard(raw, body, time.Unix(1<<62, 0)), purser.ErrWebhookTime},
	} {
		if got := purser.VerifyWebhook(c.secret, c.header, []byte(body), now); !errors.Is(got, c.want) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
