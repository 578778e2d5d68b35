package chat

import (
	"net/url"
	"strings"
	"testing"

	"purser/wallet"
)

// TestNoAppNamesTheSigningPage: in no form in which Telegram or a browser still finds it.
func TestNoAppNamesTheSigningPage(t *testing.T) {
	for _, c := range []struct{ host, mode, message string }{
		{"wallet.example.org", "", "sign at https://wallet.example.org/w/#s=1"},
		{"wallet.example.org", "", "Wallet.EXAMPLE.org"},
		{"wallet.example.org", "", "wallet.example.org:8443/w/"}, // the port is nobody's name
		{"wallet.example.org:8443", "", "https://wallet.example.org:08443/w/"},
		{"wallet.example.org", "", "https://wallet%2Eexample%2eorg/w/"},
		{"wallet.example.org", "", "wallet.exa\u00admple.org"},
		{"wallet.example.org", "", "wallet.exa\u200bmple.org"},
		{"wallet.example.org", "", "wallet.exa\u2060mple.org"},
		{"wallet.example.org", "", "wallet\u3002example\uff0eorg"},
		{"wallet.example.org", "", "\uff57allet.example.org"},
		{"wallet.example.org", "", "wallet.\U0001d41e\U0001d431ample.org"},
		{"wallet.example.org", "", "%ef%bd%97allet.example.org"},
		{"wallet.example.org", "Markdown", "[here](https://wallet.example.org/w/)"},
		{"wallet.example.org", "Markdown", "https://wallet.*example*.org/w/"},
		{"wallet.example.org", "MarkdownV2", `https://wallet\.example\.org/w/`},
		{"wallet.example.org", "MarkdownV2", `[here](https://w\allet\.example%2eorg/w/)`},
		{"wallet.example.org", "MarkdownV2", `wallet\.__exam__ple\.||o||rg`},
		{"127.0.0.1:8080", "MarkdownV2", `http://127\.0\.0\.1:8080/w/`},
		{"127.0.0.1:8080", "HTML", "http://127&#46;0&#46;0&#46;1:8080/w/"},
		{"wallet.example.org", "HTML", `<a href="https://wallet.example.org/w/">here</a>`},
		{"wallet.example.org", "HTML", `<a href="https://wallet&#46;example&#x2e;org/w/">here</a>`},
		{"wallet.example.org", "HTML", "https://wallet.<b>exam</b>ple.org/w/"},
		{"wallet.example.org", "HTML", "https://wallet.exa&shy;mple.org/w/"},
		{"wallet.example.org", "HTML", "https://wallet.exa&#9;mple.org/w/"},
		{"xn--wllet-gra.example.org", "", "https://w\u00e4llet.example.org/w/"},
		{"xn--wllet-gra.example.org", "", "https://wa\u0308llet.example.org/w/"},
		{"xn--wllet-gra.example.org", "", "https://xn--wllet-gra.example.org/w/"},
	} {
		chat := &Chat{Options: Options{PublicURL: &url.URL{Scheme: "https", Host: c.host}}}
		if err := chat.plainText(c.message, c.mode); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%s %q names %s, and is let through: %v", c.mode, c.message, c.host, err)
		}
	}
	for _, c := range []struct{ mode, message string }{
		{"", "see https://shop.example.org/wallet and 100% of example.org"}, {"", "wallet&#46;example&#46;org"}, {"", `wallet\.example\.org`},
		{"HTML", "<b>wallet</b> example.org &lt;3"}, {"Markdown", "*wallet* [shop](https://example.org/a%20b)"}, {"MarkdownV2", `Your order *42* is ready\.`},
	} {
		chat := &Chat{Options: Options{PublicURL: &url.URL{Scheme: "https", Host: "wallet.example.org"}}}
		if err := chat.plainText(c.message, c.mode); err != nil {
			t.Errorf("%s %q: %v", c.mode, c.message, err)
		}
	}
}

// TestNothingPushesPursersLineOutOfSight: neither with characters that show nothing, nor in a form that hides them.
func TestNothingPushesPursersLineOutOfSight(t *testing.T) {
	chat := &Chat{Options: Options{PublicURL: &url.URL{Scheme: "https", Host: "wallet.example.org"}}}
	for _, c := range []struct{ mode, message string }{
		{"", strings.Repeat("\u2800", 1700) + "sign here"}, {"", strings.Repeat(" ", 25) + "x"}, {"", strings.Repeat("\u3164", 25) + "x"},
		{"", strings.Repeat("\U0001D159", 25) + "x"}, {"", strings.Repeat("\u2800 \u200b", 9) + "x"}, {"", "a" + strings.Repeat("\u0301", 9)},
		{"", "a\n\u2800\n \n\u200b\nb"}, {"", "a\u2028\u2028\u2028\u2028b"}, {"", "a\r\r\r\rb"}, {"", "a\n\u0301\n\u0301\n\u0301\nb"},
		{"", strings.Repeat("x\n", 60)},
		{"HTML", strings.Repeat("&#10240;", 25) + "x"}, {"HTML", strings.Repeat("&#x2800;<b></b>", 25) + "x"}, {"HTML", "a" + strings.Repeat("&#10;", 4) + "b"},
		{"HTML", "a" + strings.Repeat("\n<i> </i>", 4) + "\nb"},
		{"Markdown", strings.Repeat("*\u2800*", 25) + "x"}, {"MarkdownV2", strings.Repeat("\\\u2800", 25) + "x"}, {"MarkdownV2", "a\n__\u2800__\n||\u2800||\n*\u2800*\nb"},
	} {
		if err := chat.plainText(c.message, c.mode); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%s %.40q is let through: %v", c.mode, c.message, err)
		}
	}
	for _, c := range []struct{ mode, message string }{
		{"", "Total:" + strings.Repeat(" ", 24) + "5"}, {"", "a\n\n\nb"}, {"", "किं कर्तव्यम्"}, {"", strings.Repeat("x\n", 59)}, {"", "a" + strings.Repeat("\u0301", 8)},
		{"HTML", "<b>" + strings.Repeat("x", 30) + "</b>"}, {"MarkdownV2", strings.Repeat(`\.`, 30)},
	} {
		if err := chat.plainText(c.message, c.mode); err != nil {
			t.Errorf("%s %.40q: %v", c.mode, c.message, err)
		}
	}
}

// TestSentencesInOneCharacterAreNoPartOfAHost: they would grow to eleven times their size, and take as long. What stands
// beside them is still found.
func TestSentencesInOneCharacterAreNoPartOfAHost(t *testing.T) {
	text := strings.Repeat("\ufdfa\ufdfb", 2000)
	if n := len(folded(text)); n > len(text) {
		t.Errorf("%d bytes are folded to %d", len(text), n)
	}
	for message, want := range map[string]bool{text: false, text + "wallet.example.org" + text: true, "wallet.exam\ufdfaple.org": false} {
		if got := mentions(message, "", "wallet.example.org"); got != want {
			t.Errorf("%.60q mentions the host: %v", message, got)
		}
	}
}
