package wallet_test

import (
	"regexp"
	"strings"
	"testing"

	"purser/wallet"
)

func TestMailAddresses(t *testing.T) {
	for _, good := range []string{"a@b.cd", "alice@example.org", "a.b+c_d-e@mail.example.co.uk", "ALICE@Example.ORG", " alice@example.org\n", "o'neil@example.org",
		strings.Repeat("a", 64) + "@example.org"} {
		if got, err := wallet.ParseEmail(good); err != nil || got != strings.TrimSpace(good) {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "alice", "@example.org", "alice@", "alice@example", "alice@.org", "alice@example..org", "alice@-a.org", "alice@[127.0.0.1]",
		"alice@127.0.0.1", `"alice"@example.org`, "Alice <alice@example.org>", "<alice@example.org>", "alice(x)@example.org", "a@b@example.org", "alice@example.org,bob@example.org",
		"alice@exa mple.org", "alice@example.org\r\nBcc: bob@example.org", "älice@example.org", "alice@exämple.org", ".alice@example.org", "alice@example.o", "=?utf-8?q?a?=@example.org x",
		strings.Repeat("a", 65) + "@example.org", "a@" + strings.Repeat("b.", 130) + "org", "alice@example.org\x00"} {
		if got, err := wallet.ParseEmail(bad); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%q is taken as %q, %v", bad, got, err)
		}
	}
}

// FuzzParseEmail holds what is taken to what can stand in a header and in SMTP's RCPT without a doubt.
func FuzzParseEmail(f *testing.F) {
	for _, seed := range []string{"alice@example.org", "a@b.cd", `"a b"@c.de`, "a@b.cd\r\nx", "=?utf-8?q?=0a?=@b.cd", "a@[::1]", "<a@b.cd>"} {
		f.Add(seed)
	}
	safe := regexp.MustCompile(`^[^\s<>()\[\]:;,\\"@\x00-\x20\x7f-\x{10ffff}]{1,64}@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9-]*$`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := wallet.ParseEmail(text)
		if err != nil {
			if got != "" || wallet.CodeOf(err) != wallet.InvalidRequest {
				t.Errorf("%q: %q, %v", text, got, err)
			}
			return
		}
		if !safe.MatchString(got) || len(got) > 254 {
			t.Errorf("%q is taken as %q", text, got)
		}
		if again, err := wallet.ParseEmail(got); err != nil || again != got {
			t.Errorf("%q is %q, %v the second time", got, again, err)
		}
	})
}
