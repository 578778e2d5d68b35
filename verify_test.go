package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"purser/wallet"
	"purser/webhooks"
)

const hookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// verify runs the command as main does, at a time.
func verify(t *testing.T, at time.Time, environ []string, in string, args ...string) (said string, err error) {
	t.Helper()
	var out bytes.Buffer
	cmd := verifyCommand(environ, func() time.Time { return at }, &out)
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.Execute()
	return out.String(), err
}

func TestASavedDeliveryIsVerified(t *testing.T) {
	sent := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	event, err := wallet.NewEvent("evt_1", wallet.WebhookTest, sent, "", wallet.WebhookTestData{WebhookID: "wh_1", Message: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := webhooks.Body(wallet.APIKey, event)
	if err != nil {
		t.Fatal(err)
	}
	h := webhooks.NewMessage(wallet.Webhook{Secret: hookSecret}, event.ID, body, sent).Headers(sent)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var request strings.Builder
	request.WriteString("POST /hook HTTP/1.1\r\n")
	if err := h.Write(&request); err != nil {
		t.Fatal(err)
	}
	request.WriteString("\r\n" + string(body))
	secret, raw := file("secret", hookSecret+"\n"), file("request", request.String())
	service := []string{"--header", "x-service-signature: " + h.Get("x-service-signature"), "--header", "x-service-timestamp: " + h.Get("x-service-timestamp")}
	soon, late := sent.Add(3*time.Second), sent.Add(time.Hour)
	environ := []string{"PURSER_WEBHOOK_SECRET=" + hookSecret}
	for _, c := range []struct {
		name    string
		at      time.Time
		environ []string
		in      string
		args    []string
		good    string // what is said; "" for an error
		wrong   string
	}{
		{"a whole request", soon, nil, "", []string{"--secret-file", secret, "--request", raw}, "good: signed with this secret, by x-service-signature and webhook-signature, sent 3s ago\n", ""},
		{"headers and a body", soon, nil, string(body), append(service, "--secret-file", secret), "good: signed with this secret, by x-service-signature (which does not cover the time), sent 3s ago\n", ""},
		{"a secret in the environment", soon, environ, "", []string{"--request", raw}, "good: ", ""},
		{"a file before the environment", soon, []string{"PURSER_WEBHOOK_SECRET=another one of ours"}, "", []string{"--request", raw, "--secret-file", secret}, "good: ", ""},
		{"any age", late, environ, "", []string{"--request", raw, "--max-age", "0"}, "good: ", ""},
		{"an old one", late, environ, "", []string{"--request", raw}, "", "1h0m0s ago"},
		{"an old one, within what is asked", late, environ, "", []string{"--request", raw, "--max-age", "2h"}, "good: ", ""},
		{"a header instead of the request's", soon, environ, "", []string{"--request", raw, "--header", "x-service-signature: sha256=00"}, "", "64 hexadecimal"},
		{"another secret", soon, []string{"PURSER_WEBHOOK_SECRET=another one of ours"}, "", []string{"--request", raw}, "", "no signature fits"},
		{"echo's line break", soon, environ, string(body) + "\n", service, "", "line break"},
		{"no secret", soon, []string{"HOME=/"}, "", []string{"--request", raw}, "", "--secret-file"},
		{"an empty secret", soon, []string{"PURSER_WEBHOOK_SECRET="}, "", []string{"--request", raw}, "", "--secret-file"},
		{"an empty file", soon, nil, "", []string{"--request", raw, "--secret-file", file("empty", "\n")}, "", "empty"},
		{"no such file", soon, nil, "", []string{"--request", raw, "--secret-file", filepath.Join(dir, "none")}, "", "cannot be read"},
		{"no such request", soon, environ, "", []string{"--request", filepath.Join(dir, "none")}, "", "cannot be read"},
		{"a secret as an argument", soon, nil, "", []string{hookSecret}, "", "no arguments"},
		{"no headers", soon, environ, string(body), nil, "", "neither x-service-signature nor webhook-signature"},
		{"an odd header", soon, environ, string(body), []string{"--header", "x-service-signature"}, "", "name: value"},
		{"an odd age", soon, environ, string(body), []string{"--max-age", "-5m"}, "", "--max-age"},
		{"too long", soon, environ, strings.Repeat("x", longestRequest+1), service, "", "longer"},
	} {
		said, err := verify(t, c.at, c.environ, c.in, c.args...)
		switch {
		case c.good != "" && (err != nil || !strings.HasPrefix(said, c.good) || strings.Count(said, "\n") != 1):
			t.Errorf("%s: %q, %v", c.name, said, err)
		case c.good == "" && (err == nil || said != "" || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %q, %v", c.name, said, err)
		case err != nil && strings.Contains(err.Error(), hookSecret):
			t.Errorf("%s: the secret is repeated: %v", c.name, err)
		}
	}

	// And as the whole program, whose status scripts look at.
	var out, errOut bytes.Buffer
	if status := run(context.Background(), "purser", []string{"verify", "--request", raw, "--max-age", "0"}, environ, &out, &errOut); status != 0 || !strings.HasPrefix(out.String(), "good: ") {
		t.Errorf("status %d: %s%s", status, out.String(), errOut.String())
	}
	out.Reset()
	if status := run(context.Background(), "purser", []string{"verify", "--request", raw}, environ, &out, &errOut); status != 1 || out.Len() > 0 || !strings.HasPrefix(errOut.String(), "purser: the signature is good, but it was sent ") {
		t.Errorf("status %d: %s%s", status, out.String(), errOut.String())
	}
}
