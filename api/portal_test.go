package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// portalKey is a key that may have webhooks, with a webhook.
type portalKey struct {
	*harness
	key    wallet.Key
	secret string
	hook   string
}

func newPortalKey(t *testing.T, change ...func(*Server)) *portalKey {
	t.Helper()
	return portalKeyOf(newHarness(t, change...), wallet.APIKey)
}

func portalKeyOf(r *harness, kind wallet.KeyKind) *portalKey {
	r.Helper()
	k := &portalKey{harness: r, secret: r.newKey(handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1001, App: "Shop"})}
	var err error
	k.key, err = r.Keys.Check(context.Background(), r.Now(), k.secret, kind)
	r.Must(err)
	path := "/v1/webhooks"
	if kind == wallet.BotKey {
		path = botWebhookPath
	}
	made := r.do("POST", path, `{"url":"https://hooks.example.com/x","events":["*"]}`, "Authorization", "Bearer "+k.secret, "Content-Type", "application/json")
	r.want(made, 201, "", "")
	k.hook = made.text("data", "webhook_id")
	return k
}

// link is what the chat would send.
func (k *portalKey) link() string {
	k.Helper()
	token, err := k.Portal.NewToken()
	k.Must(err)
	k.Must(k.Update(func(tx store.Tx) error { return k.Portal.Offer(tx, token, k.key) }))
	k.secrets = append(k.secrets, token)
	return token
}

func (k *portalKey) opens(token string) answer {
	k.Helper()
	return k.do("POST", portalPath, fmt.Sprintf(`{"token":%q}`, token), "Content-Type", "application/json", "Origin", pagesURL.String())
}

// session is a portal that is open.
func (k *portalKey) session() string {
	k.Helper()
	a := k.opens(k.link())
	k.want(a, 200, "", "")
	secret := a.text("data", "session")
	k.secrets = append(k.secrets, secret)
	return secret
}

// asks as the portal's page does.
func (k *portalKey) asks(method, path, session string) answer {
	k.Helper()
	body, headers := "", []string{"Authorization", "Bearer " + session, "Origin", pagesURL.String()}
	if method == "POST" || method == "PUT" {
		body, headers = "{}", append(headers, "Content-Type", "application/json")
	}
	return k.do(method, path, body, headers...)
}

func TestThePortalIsOpenedByALink(t *testing.T) {
	k := newPortalKey(t)
	token := k.link()
	a := k.opens(token)
	k.want(a, 200, "", "")
	for name, want := range map[string]any{"app": "Shop", "key_hint": k.key.Hint, "kind": "api", "tier": "pro", "cluster": "localnet", "bot": "purser_bot",
		"expires_at": wallet.Timestamp(k.Now().Add(handlers.PortalSessionLife))} {
		if got := a.field("data", name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	session := a.text("data", "session")
	k.secrets = append(k.secrets, session)
	list := k.asks("GET", "/v1/webhooks", session)
	k.want(list, 200, "", "")
	if list.field("data", "total_count") != 1.0 || !strings.Contains(string(list.body), k.hook) {
		t.Errorf("%s", list.body)
	}

	again := k.opens(token)
	k.want(again, 401, wallet.InvalidAPIKey, "")
	if !strings.Contains(again.text("error", "details"), "/api") || again.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%s", again.body)
	}

	k.want(k.asks("DELETE", portalPath, session), 200, "", "")
	k.want(k.asks("DELETE", portalPath, session), 401, wallet.InvalidAPIKey, "")
	k.want(k.asks("GET", "/v1/webhooks", session), 401, wallet.InvalidAPIKey, "")
	k.want(k.asks("DELETE", portalPath, k.secret), 401, wallet.InvalidAPIKey, "")
	for _, body := range []string{`{}`, `{"token":7}`, `{"token":"x","more":1}`, `[]`} {
		k.want(k.do("POST", portalPath, body, "Content-Type", "application/json"), 400, wallet.InvalidRequest, "")
	}
}

// TestAPortalSessionOpensWebhooksAndNothingElse walks the whole table with a session of each kind.
func TestAPortalSessionOpensWebhooksAndNothingElse(t *testing.T) {
	r := newHarness(t)
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		k := portalKeyOf(r, kind)
		opened := 0
		for _, e := range r.server.endpoints() {
			session := k.session() // each by itself: a DELETE takes the webhook away
			path := strings.NewReplacer(":webhook_id", "wh_other", ":delivery_id", "dlv_x", ":address", "x", ":id", "x", ":telegram_id", "1001", ":chat_id", "1001").Replace(e.pattern)
			a := k.asks(e.method, path, session)
			opens := (e.kind == "" || e.kind == kind) && (e.scope == wallet.Webhooks && !strings.HasSuffix(path, "/listen") || e.method+path == "GET/v1/key" || path == "/v1/webhooks/events")
			if (a.status != 401) != opens {
				t.Errorf("%s session, %s %s: %d %s", kind, e.method, path, a.status, a.body)
			}
			if opens {
				opened++
			}
			r.Pass(2 * time.Minute)
		}
		if opened < 10 {
			t.Errorf("%d endpoints opened", opened)
		}
	}
}

// TestAPortalSessionIsRefusedAsItsKeyWouldBe: what befalls the key befalls the session at once.
func TestAPortalSessionIsRefusedAsItsKeyWouldBe(t *testing.T) {
	k := newPortalKey(t)
	change := func(change func(*wallet.Key)) {
		k.Must(k.Update(func(tx store.Tx) error {
			key, err := tx.Key(k.key.ID)
			k.Must(err)
			change(&key)
			return tx.PutKey(key)
		}))
	}
	session := k.session()
	create := func() answer {
		return k.do("POST", "/v1/webhooks", `{"url":"https://hooks.example.com/y","events":["*"]}`, "Authorization", "Bearer "+session, "Content-Type", "application/json")
	}
	k.want(create(), 201, "", "")
	change(func(key *wallet.Key) { key.Tier = wallet.FreeTier })
	k.want(create(), 403, wallet.TierRequired, "")
	change(func(key *wallet.Key) { key.Tier, key.Scopes = wallet.ProTier, []wallet.Scope{wallet.WalletRead} })
	k.want(create(), 403, wallet.InsufficientScope, "")
	change(func(key *wallet.Key) {
		key.Scopes, key.ExpiresAt = wallet.ScopesOf(wallet.APIKey), k.Now().Add(time.Minute)
	})
	k.want(create(), 201, "", "")
	k.Pass(time.Minute)
	k.want(create(), 401, wallet.InvalidAPIKey, "")
	change(func(key *wallet.Key) { key.ExpiresAt = time.Time{} })
	k.want(create(), 201, "", "")
	_, err := k.Keys.Revoke(context.Background(), k.key.ID)
	k.Must(err)
	k.want(create(), 401, wallet.InvalidAPIKey, "")
}

// TestAPortalSessionSeesItsOwnLineOnly: the webhooks of another owner, and of the same owner's other key.
func TestAPortalSessionSeesItsOwnLineOnly(t *testing.T) {
	k := newPortalKey(t)
	other := portalKeyOf(k.harness, wallet.APIKey)
	session := k.session()
	if a := k.asks("GET", "/v1/webhooks", session); strings.Contains(string(a.body), other.hook) {
		t.Errorf("%s", a.body)
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		k.want(k.asks(method, "/v1/webhooks/"+other.hook, session), 404, wallet.WebhookNotFound, "")
	}
	for _, tail := range []string{"/test", "/secret/rotate"} {
		k.want(k.asks("POST", "/v1/webhooks/"+other.hook+tail, session), 404, wallet.WebhookNotFound, "")
	}
	k.want(k.asks("GET", "/v1/webhooks/"+other.hook+"/deliveries", session), 404, wallet.WebhookNotFound, "")
}

// TestThePortalUsesUpNothingOfItsKey: it has a limit of its own, and sees the key's.
func TestThePortalUsesUpNothingOfItsKey(t *testing.T) {
	k := newPortalKey(t, func(s *Server) { s.Limits.APIPro = 20 })
	session := k.session()
	left := k.get("/v1/key", k.secret).field("data", "rate_limit", "remaining")
	for i := range portalPerHour {
		a := k.asks("GET", "/v1/key", session)
		k.want(a, 200, "", "")
		if got := a.field("data", "rate_limit", "remaining"); got != left {
			t.Fatalf("%v are left, %v were", got, left)
		}
		if got := a.header.Get("RateLimit-Remaining"); got != fmt.Sprint(portalPerHour-1-i) {
			t.Fatalf("request %d: %s left", i, got)
		}
		if got := a.text("timestamp"); got != wallet.Timestamp(k.Now()) {
			t.Fatalf("at %s, not %s", got, wallet.Timestamp(k.Now()))
		}
	}
	a := k.asks("GET", "/v1/key", session)
	k.want(a, 429, wallet.RateLimitExceeded, "")
	if a.header.Get("Retry-After") == "" || !strings.Contains(a.text("error", "details"), "600 requests an hour") || a.header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("%v %s", a.header, a.body)
	}
	k.want(k.asks("GET", "/v1/key", k.session()), 200, "", "")
	k.want(k.get("/v1/key", k.secret), 200, "", "")
	k.Pass(time.Hour)
	k.want(k.asks("GET", "/v1/key", session), 200, "", "")
}

func TestGuessedLinksAreSlowedDownAndGoodOnesAreNot(t *testing.T) {
	k := newPortalKey(t)
	for range badKeysPerMinute {
		k.want(k.opens("guess"), 401, wallet.InvalidAPIKey, "")
	}
	k.want(k.opens("guess"), 429, wallet.RateLimitExceeded, "")
	k.want(k.asks("GET", "/v1/key", handlers.PortalSession+"guess"), 429, wallet.RateLimitExceeded, "")
	k.want(k.asks("DELETE", portalPath, handlers.PortalSession+"guess"), 429, wallet.RateLimitExceeded, "")
	k.want(k.asks("GET", "/v1/key", k.session()), 200, "", "")
}

// allowed are the headers of an answer by which a browser lends it.
func lentBy(a answer) map[string]string {
	found := map[string]string{}
	for name, values := range a.header {
		if strings.HasPrefix(name, "Access-Control-") {
			found[name] = strings.Join(values, ", ")
		}
	}
	return found
}

func TestAnswersAreLentToThePortalAlone(t *testing.T) {
	k := newPortalKey(t)
	session := k.session()
	pages := pagesURL.String()
	for _, test := range []struct {
		method, path, origin, bearer string
		allowed                      bool
	}{
		{"GET", "/v1/webhooks", pages, session, true},
		{"GET", "/v1/webhooks/nothing", pages, session, true}, // refusals too
		{"GET", "/v1/wallets", pages, session, true},
		{"GET", "/v1/webhooks", pages, handlers.PortalSession + "old", true},
		{"POST", portalPath, pages, "", true},
		{"DELETE", portalPath, pages, handlers.PortalSession + "old", true},
		{"GET", "/v1/webhooks", pages, k.secret, false},
		{"GET", "/v1/webhooks", pages, "", false},
		{"GET", "/v1/openapi.json", pages, "", false},
		{"GET", "/healthz", pages, session, false},
		{"GET", "/w/", pages, session, false},
		{"POST", "/w/tx/get", pages, session, false},
		{"POST", "/telegram/webhook", pages, session, false},
		{"GET", "/v1/webhooks", k.base, session, false},
		{"GET", "/v1/webhooks", "null", session, false},
		{"GET", "/v1/webhooks", "", session, false},
		{"GET", "/v1/webhooks", pages + ".evil.example", session, false},
		{"GET", "/v1/webhooks", strings.ToUpper(pages), session, false},
		{"POST", portalPath, "https://evil.example", "", false},
	} {
		headers := []string{}
		if test.origin != "" {
			headers = append(headers, "Origin", test.origin)
		}
		if test.bearer != "" {
			headers = append(headers, "Authorization", "Bearer "+test.bearer)
		}
		a := k.do(test.method, test.path, "", headers...)
		got := lentBy(a)
		if got["Access-Control-Allow-Credentials"] != "" {
			t.Errorf("%+v: with credentials", test)
		}
		if test.allowed != (got["Access-Control-Allow-Origin"] == pages && a.header.Get("Vary") == "Origin") || !test.allowed && len(got) > 0 {
			t.Errorf("%+v: %v", test, got)
		}
	}
	// What a cache may store must say that other origins get other headers.
	for _, origin := range []string{"", "https://evil.example", pages} {
		headers := []string{"Authorization", "Bearer " + session}
		if origin != "" {
			headers = append(headers, "Origin", origin)
		}
		for _, path := range []string{"/v1/openapi.json", "/v1/webhooks", "/v1/nothing", "/healthz"} {
			a := k.do("GET", path, "", headers...)
			if vary := a.header.Values("Vary"); a.header.Get("Cache-Control") != "no-store" && !slices.Equal(vary, []string{"Origin"}) {
				t.Errorf("%s from %q may be stored, and varies by %q", path, origin, vary)
			}
		}
	}
	two, err := http.NewRequest("GET", k.base+"/v1/webhooks", nil)
	k.Must(err)
	two.Header = http.Header{"Origin": {pages, pages}, "Authorization": {"Bearer " + session}}
	resp, err := k.client.Do(two)
	k.Must(err)
	k.Must(resp.Body.Close())
	if resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("two origins are allowed to")
	}
}

func TestBrowsersAreToldWhatThePortalMayAsk(t *testing.T) {
	k := newPortalKey(t)
	ask := func(path, origin string, headers ...string) answer {
		return k.do("OPTIONS", path, "", append([]string{"Origin", origin}, headers...)...)
	}
	may := map[string]string{
		portalPath:                                     "DELETE, POST",
		"/v1/key":                                      "GET",
		"/v1/webhooks":                                 "GET, POST",
		"/v1/webhooks/wh_x":                            "DELETE, GET, PUT",
		"/v1/webhooks/events":                          "DELETE, GET, PUT",
		"/v1/webhooks/wh_x/test":                       "POST",
		"/v1/webhooks/wh_x/secret/rotate":              "POST",
		"/v1/webhooks/wh_x/deliveries":                 "GET",
		"/v1/webhooks/wh_x/deliveries/dlv_x":           "GET",
		"/v1/webhooks/wh_x/deliveries/dlv_x/resend":    "POST",
		"/v1/webhooks/wh_x/recover":                    "POST",
		"/v1/telegram/webhook":                         "DELETE, GET, POST, PUT",
		"/v1/telegram/webhook/deliveries/dlv_x/resend": "POST",
	}
	for _, path := range slices.Sorted(maps.Keys(may)) {
		a := ask(path, pagesURL.String(), "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization")
		want := map[string]string{"Access-Control-Allow-Origin": pagesURL.String(), "Access-Control-Allow-Methods": may[path],
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key", "Access-Control-Max-Age": "600"}
		if a.status != 204 || len(a.body) > 0 || !maps.Equal(lentBy(a), want) || a.header.Get("Vary") != "Origin" {
			t.Errorf("%s: %d %v %q", path, a.status, lentBy(a), a.body)
		}
		refused := []answer{ask(path, "https://evil.example", "Access-Control-Request-Method", "GET"), ask(path, k.base, "Access-Control-Request-Method", "GET"), ask(path, pagesURL.String())}
		for _, a := range refused {
			k.want(a, 405, wallet.MethodNotAllowed, "")
			if len(lentBy(a)) > 0 {
				t.Errorf("%s: %v", path, lentBy(a))
			}
		}
	}
	for _, path := range []string{"/v1/key/rotate", "/v1/wallets", "/v1/wallet/send", "/v1/notifications", "/w/tx/get", "/w/bind", "/healthz", "/v1/openapi.json", "/telegram/webhook", "/v1/webhooks/"} {
		a := ask(path, pagesURL.String(), "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
		if a.status == 204 || len(lentBy(a)) > 0 {
			t.Errorf("%s: %d %v", path, a.status, lentBy(a))
		}
	}
}
