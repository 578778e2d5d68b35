package webhooks

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

var sentAt = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// saved is a delivery as it arrived.
func saved(change ...func(*Message)) Saved {
	body, err := Body(wallet.APIKey, wallet.Event{Name: wallet.TransactionPending, At: sentAt, Data: []byte(`{"transaction_id":"tx_1","note":"a \u003c b, é"}`)})
	if err != nil {
		panic(err)
	}
	m := Message{EventID: "evt_1", Body: body, Secret: testSecret}
	for _, c := range change {
		c(&m)
	}
	h := m.Headers(sentAt)
	h.Set("Content-Length", fmt.Sprint(len(m.Body)))
	return Saved{Header: h, Body: m.Body}
}

func without(names ...string) func(Saved) Saved {
	return func(s Saved) Saved {
		for _, name := range names {
			s.Header.Del(name)
		}
		return s
	}
}

func header(name, value string) func(Saved) Saved {
	return func(s Saved) Saved { s.Header.Set(name, value); return s }
}

func body(change func(string) string) func(Saved) Saved {
	return func(s Saved) Saved { s.Body = []byte(change(string(s.Body))); return s }
}

func TestVerifyTellsWhatSignedADelivery(t *testing.T) {
	rotating := func(m *Message) { m.Secret, m.Previous = "a new secret of ours", testSecret }
	for _, c := range []struct {
		name   string
		saved  Saved
		change func(Saved) Saved
		says   []string
	}{
		{"both", saved(), nil, []string{"good", "x-service-signature and webhook-signature", "12s ago"}},
		{"standard alone", saved(), without("x-service-signature", "x-service-timestamp"), []string{"good", "by webhook-signature"}},
		{"the service's alone", saved(), without("webhook-id", "webhook-timestamp", "webhook-signature"), []string{"good", "by x-service-signature", "does not cover the time"}},
		{"the secret before", saved(rotating), nil, []string{"good", "x-service-signature-previous", "change to the new one", "and webhook-signature"}},
		{"another id", saved(), header("webhook-id", "evt_2"), []string{"good", "webhook-id", "not certain"}},
		{"another service signature", saved(), header("x-service-signature", "sha256="+strings.Repeat("0", 64)), []string{"good", "by webhook-signature (but x-service-signature"}},
	} {
		if c.change != nil {
			c.saved = c.change(c.saved)
		}
		told, err := c.saved.Verify(testSecret, sentAt.Add(12*time.Second), 5*time.Minute)
		if err != nil || strings.Contains(told, "\n") {
			t.Errorf("%s: %v %q", c.name, err, told)
		}
		for _, word := range c.says {
			if !strings.Contains(told, word) {
				t.Errorf("%s: %q does not say %q", c.name, told, word)
			}
		}
	}
}

func TestVerifyTellsWhatIsWrongAndWhatToDo(t *testing.T) {
	plain := func(m *Message) { m.Secret = "a plain secret of mine" }
	service := []string{"x-service-signature", "x-service-timestamp"}
	standard := []string{"webhook-id", "webhook-timestamp", "webhook-signature"}
	for _, c := range []struct {
		name, secret string
		saved        Saved
		change       func(Saved) Saved
		after        time.Duration
		says         []string
	}{
		{"no secret", "", saved(), nil, 0, []string{"no secret"}},
		{"no signatures", testSecret, saved(), without("x-service-signature", "webhook-signature"), 0, []string{"neither x-service-signature nor webhook-signature", "--header"}},
		{"no id", testSecret, saved(), without("x-service-signature", "webhook-id"), 0, []string{"webhook-id", "missing"}},
		{"no time, standard", testSecret, saved(), without("x-service-signature", "webhook-timestamp"), 0, []string{"webhook-timestamp", "missing"}},
		{"no time, the service's", testSecret, saved(), without(append(standard, "x-service-timestamp")...), 0, []string{"x-service-timestamp is missing"}},
		{"odd time", testSecret, saved(), func(s Saved) Saved { return header("x-service-timestamp", "noon")(without(standard...)(s)) }, 0, []string{"x-service-timestamp", "ISO 8601"}},
		{"cut signature", testSecret, saved(), header("x-service-signature", "sha256=abc"), 0, []string{"x-service-signature", "64 hexadecimal"}},
		{"old", testSecret, saved(), nil, time.Hour, []string{"1h0m0s ago", "older than 5m0s", "--max-age 0"}},
		{"old, the service's", testSecret, saved(), without(standard...), 6 * time.Minute, []string{"6m0s ago", "--max-age 0"}},
		{"to come", testSecret, saved(), nil, -6 * time.Minute, []string{"6m0s ahead", "clock"}},
		{"another secret", oldSecret, saved(), nil, 0, []string{"no signature fits", "another webhook's"}},
		{"secret cut", "whsec_MDEyMw==", saved(), nil, 0, []string{"no signature fits"}},
		{"secret without its beginning", strings.TrimPrefix(testSecret, "whsec_"), saved(), nil, 0, []string{"secret lacks", "whsec_"}},
		{"secret with a beginning too many", "whsec_a plain secret of mine", saved(plain), nil, 0, []string{"whsec_", "no part"}},
		{"secret with spaces", " " + testSecret + "\t", saved(), nil, 0, []string{"spaces or line breaks around"}},
		{"secret in quotes", `"` + testSecret + `"`, saved(), nil, 0, []string{"quotes"}},
		{"body with a line break", testSecret, saved(), body(func(b string) string { return b + "\n" }), 0, []string{"secret is right", "line break", "printf"}},
		{"body with another line break", testSecret, saved(), body(func(b string) string { return b + "\r\n" }), 0, []string{"secret is right", "line break"}},
		{"body spaced out", testSecret, saved(), body(func(b string) string { return strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(b) }), 0, []string{"secret is right", "re-encoded"}},
		{"body by JavaScript", testSecret, saved(), body(func(b string) string { return strings.ReplaceAll(b, `\u003c`, "<") }), 0, []string{"secret is right", "re-encoded"}},
		{"body by Python", testSecret, saved(), body(func(b string) string {
			return strings.NewReplacer(`\u003c`, "<", "é", `\u00e9`, `":`, `": `, `,"`, `, "`).Replace(b)
		}), 0, []string{"secret is right", "re-encoded"}},
		{"body sorted", testSecret, saved(), body(func(string) string {
			return `{"data":{"transaction_id":"tx_1","note":"a < b, é"},"event":"transaction.pending","timestamp":"2026-01-31T12:00:00.000Z"}`
		}), 0, []string{"secret is right", "re-encoded"}},
		{"body cut", testSecret, saved(), body(func(b string) string { return b[:20] }), 0, []string{"20 bytes", "Content-Length"}},
		{"body cut, length unknown", testSecret, saved(), func(s Saved) Saved { s.Body = s.Body[:20]; return without("Content-Length")(s) }, 0, []string{"no JSON"}},
		{"body changed", testSecret, saved(), body(func(b string) string { return strings.Replace(b, "tx_1", "tx_2", 1) }), 0, []string{"no signature fits", "byte for byte"}},
		{"no body", testSecret, saved(), func(s Saved) Saved { s.Body = nil; return without("Content-Length")(s) }, 0, []string{"empty", "pipe"}},
		{"changed, standard alone", testSecret, saved(), func(s Saved) Saved {
			return header("webhook-timestamp", fmt.Sprint(sentAt.Unix()+600))(without(service...)(s))
		}, 10 * time.Minute, []string{"no signature fits"}},
	} {
		s := c.saved
		if c.change != nil {
			s = c.change(s)
		}
		told, err := s.Verify(c.secret, sentAt.Add(c.after), 5*time.Minute)
		if err == nil {
			t.Errorf("%s: %s", c.name, told)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", c.name, err, word)
			}
		}
		if strings.Contains(err.Error(), "\n") || c.secret != "" && strings.Contains(err.Error(), strings.Trim(c.secret, "\" \t")) {
			t.Errorf("%s: %q", c.name, err)
		}
	}
	if _, err := saved().Verify(testSecret, sentAt.Add(1000*time.Hour), 0); err != nil {
		t.Errorf("any age: %v", err)
	}
}

func TestASavedRequestIsReadByteForByte(t *testing.T) {
	s := saved()
	for name, text := range map[string]string{
		"as on the wire":           "POST /hook HTTP/1.1\r\n" + lines(s.Header, "\r\n") + "\r\n" + string(s.Body),
		"without the request line": lines(s.Header, "\n") + "\n" + string(s.Body),
		"names in small letters":   lowered(s.Header) + "\n" + string(s.Body),
	} {
		got, err := ParseSaved([]byte(text))
		if err != nil || !bytes.Equal(got.Body, s.Body) {
			t.Errorf("%s: %v %q", name, err, got.Body)
			continue
		}
		if told, err := got.Verify(testSecret, sentAt, time.Minute); err != nil || !strings.Contains(told, "x-service-signature and webhook-signature") {
			t.Errorf("%s: %q %v", name, told, err)
		}
	}
	for text, word := range map[string]string{
		"": "empty line", "\r\n{}": "headers come first", "{}": "empty line", "A: b": "empty line", "A: b\n": "empty line", "{\"a\":1}\n\n{}": "name: value",
		"no header\n\n": "name: value", ": x\n\n": "name: value", "a b: c\n\n": "name: value", "A: b\n continued\n\n": "name: value",
		"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": "chunks",
	} {
		if got, err := ParseSaved([]byte(text)); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func lines(h http.Header, end string) string {
	var all []string
	for name, values := range h {
		all = append(all, name+": "+values[0]+end)
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

func lowered(h http.Header) string {
	var b strings.Builder
	for name, values := range h {
		fmt.Fprintf(&b, "%s:%s\n", strings.ToLower(name), values[0])
	}
	return b.String()
}

func FuzzSavedRequest(f *testing.F) {
	s := saved()
	f.Add([]byte("POST /hook HTTP/1.1\r\n" + lines(s.Header, "\r\n") + "\r\n" + string(s.Body)))
	f.Add([]byte("webhook-signature: v1, v1,AA==\nwebhook-id: \nwebhook-timestamp: 99999999999999999999\n\n{\"event\":1,\"data\":{\"\\u2028\":\"\\ud800\"}}"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ParseSaved(raw)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(raw, got.Body) {
			t.Errorf("the body %q is not of %q", got.Body, raw)
		}
		told, err := got.Verify(testSecret, sentAt, time.Minute)
		if (told == "") == (err == nil) {
			t.Errorf("%q and %v", told, err)
		}
		if err == nil && !bytes.Contains(got.Body, []byte("tx_1")) {
			t.Errorf("%q is called good", raw)
		}
	})
}
