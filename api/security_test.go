package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/wallet"
)

const (
	androidChrome = "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36"
	linuxFirefox  = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
)

// behindProxy is a harness whose requests come through a trusted proxy, so that they can come from anywhere.
func behindProxy(t *testing.T) *harness {
	t.Helper()
	return newHarness(t, func(s *Server) { s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
}

// firsts lists what somebody's log says of clients.
func (r *harness) firsts(who wallet.UserID) (out []string) {
	r.Helper()
	view, err := r.Security.Log(r.Context(), who)
	r.Must(err)
	for _, row := range view.Rows {
		if d := row.Entry.Details; row.Entry.Kind == wallet.LogKeyUsed || d.Device != "" || d.Client != "" {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", row.Entry.Kind, d.Link, d.Client, d.Device)))
		}
	}
	return out
}

func (r *harness) wantFirsts(what string, who wallet.UserID, want ...string) {
	r.Helper()
	if got := r.firsts(who); !slices.Equal(got, want) {
		r.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

// TestAKeysNewAddressesAreLogged: of any endpoint, also one that refuses the request; and of no request with a key that is none.
func TestAKeysNewAddressesAreLogged(t *testing.T) {
	r := behindProxy(t)
	get := func(path, secret, from string, headers ...string) {
		r.do("GET", path, "", append([]string{"Authorization", "Bearer " + secret, "X-Forwarded-For", from}, headers...)...)
	}
	get("/v1/key", r.alice.secret, "203.0.113.7")
	get("/v1/wallet/balance", r.alice.secret, "203.0.113.7")
	get("/v1/wallet/balance", r.alice.secret, "2001:db8:1:2:3:4:5:6")
	get("/v1/wallet/balance", r.alice.secret, "2001:db8:1:2:ffff::1") // the same network
	get("/v1/webhooks", r.alice.secret, "198.51.100.1")               // refused: the free tier has none
	get("/v1/key", r.alice.secret+"x", "198.51.100.2")
	get("/v1/key", r.alice.secret, "198.51.100.3, 203.0.113.7")               // the client says whatever; the proxy says the last one
	get("/v1/key", r.alice.secret, "203.0.113.7", "User-Agent", linuxFirefox) // a key is recognised by its address alone
	r.wantFirsts("alice's key", r.alice.User.ID, "key.used  203.0.113.7", "key.used  2001:db8:1:2::/64", "key.used  198.51.100.1")
	r.wantFirsts("bob's key", r.bob.User.ID)
}

// TestEveryRequestOfALinkIsAnOpening: whichever path a device begins with, so that nobody reads or signs by a link unseen.
func TestEveryRequestOfALinkIsAnOpening(t *testing.T) {
	r := behindProxy(t)
	paths := map[string][]string{"sign": {"/w/tx/get", "/w/tx/refresh", "/w/tx/blocks", "/w/tx/signature", "/w/tx/reject"}, "connect": {"/w/bind/challenge", "/w/bind/accounts", "/w/bind"},
		"limits": {"/w/limits/challenge", "/w/limits/sign"}, "unfreeze": {"/w/unfreeze/challenge", "/w/unfreeze"}}
	number := 0
	r.limits(r.alice, wallet.Policy{NewRecipientWait: time.Hour})
	for _, link := range []string{"sign", "connect", "limits"} {
		for _, path := range paths[link] {
			number++
			from := fmt.Sprint("203.0.113.", number)
			if number > wallet.SeenDevices.PerDay { // the bound of a day is another test's
				r.Pass(wallet.BindWindow * 145)
				number = 1
			}
			var body fields
			switch link {
			case "sign":
				_, id := r.toSign()
				body = fields{"id": id}
			case "connect":
				body = fields{"token": r.Link(r.alice.User)}
			case "limits":
				body = fields{"token": r.limits(r.alice, wallet.Policy{})}
			}
			before := len(r.firsts(r.alice.User.ID))
			for range 2 {
				r.page(path, body, "X-Forwarded-For", from, "User-Agent", androidChrome)
			}
			got := r.firsts(r.alice.User.ID)[before:]
			if want := "link.opened " + link + " " + from + " Chrome (Android)"; len(got) != 1 || got[0] != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
	}
	_, id := r.toSign()
	before := len(r.firsts(r.alice.User.ID))
	for _, refused := range []func(){
		func() { r.page("/w/tx/get", fields{"id": "guess"}, "X-Forwarded-For", "198.51.100.8") },
		func() { r.page("/w/tx/get", fields{"token": id}, "X-Forwarded-For", "198.51.100.8") },
		func() {
			r.do("POST", "/w/tx/get", `{"id":"`+id+`"}`, "Content-Type", "application/json", "Origin", "https://evil.example", "X-Forwarded-For", "198.51.100.8")
		},
	} {
		refused()
	}
	if got := r.firsts(r.alice.User.ID)[before:]; len(got) > 0 {
		t.Errorf("of requests that name no link of hers, or of another page: %q", got)
	}
	if strings.Contains(fmt.Sprint(r.firsts(r.alice.User.ID)), id) {
		t.Error("the log holds the secret of a link")
	}
	// A recovery link is logged as the freeze alone. Then links to unfreeze.
	before = len(r.firsts(r.alice.User.ID))
	r.wantPage(r.page("/w/freeze", fields{"token": r.recoveryLink(r.alice)}, "X-Forwarded-For", "198.51.100.8"), 200, "")
	if got := r.firsts(r.alice.User.ID)[before:]; len(got) > 0 {
		t.Errorf("of a recovery link: %q", got)
	}
	for i, path := range paths["unfreeze"] {
		body, from := fields{"token": r.unfreezeLink(r.alice)}, fmt.Sprint("198.51.100.10", i)
		for range 2 {
			r.page(path, body, "X-Forwarded-For", from, "User-Agent", androidChrome)
		}
		got := r.firsts(r.alice.User.ID)[before:]
		if want := "link.opened unfreeze " + from + " Chrome (Android)"; len(got) != i+1 || got[i] != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestAPortalSessionIsLoggedWithItsDevice.
func TestAPortalSessionIsLoggedWithItsDevice(t *testing.T) {
	k := portalKeyOf(behindProxy(t), wallet.APIKey)
	before := len(k.firsts(k.alice.User.ID))
	session := k.do("POST", portalPath, fmt.Sprintf(`{"token":%q}`, k.link()), "Content-Type", "application/json", "Origin", pagesURL.String(),
		"X-Forwarded-For", "203.0.113.9", "User-Agent", linuxFirefox).text("data", "session")
	k.do("GET", "/v1/webhooks", "", "Authorization", "Bearer "+session, "X-Forwarded-For", "198.51.100.4") // a session is no key
	k.do("DELETE", portalPath, "", "Authorization", "Bearer "+session)
	if got := k.firsts(k.alice.User.ID)[before:]; len(got) != 1 || got[0] != "portal.opened  203.0.113.9 Firefox (Linux)" {
		t.Errorf("%q", got)
	}
	view, err := k.Security.Log(k.Context(), k.alice.User.ID)
	k.Must(err)
	if last := view.Rows[len(view.Rows)-1].Entry; last.Kind != wallet.LogPortalEnded || last.Details.KeyHint != k.key.Hint {
		t.Errorf("its end: %+v", last)
	}
}

// TestSecurityIsNotForApps: neither the card nor the log, by any spelling of the command.
func TestSecurityIsNotForApps(t *testing.T) {
	r := newHarness(t)
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	for _, command := range []string{"/security", "/security log", "/securitylog", "/SECURITY LOG"} {
		a := r.call("POST", "/v1/telegram/execute-command", token, fmt.Sprintf(`{"chat_id":"1001","command":%q}`, command))
		if a.status != 403 || a.code() != wallet.PolicyViolation {
			t.Errorf("%s: %d %s", command, a.status, a.body)
		}
	}
}
