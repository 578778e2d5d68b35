package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/quota"
	"purser/store"
	"purser/wallet"
)

func bearerOf(secret string) []string {
	return []string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}
}

func (r *harness) call(method, path, secret, body string, headers ...string) answer {
	r.Helper()
	return r.do(method, path, body, append(bearerOf(secret), headers...)...)
}

func TestAKeySaysWhoItIsAndWhatIsLeft(t *testing.T) {
	r := newHarness(t, func(s *Server) {
		s.Limits = quota.Limits{APIFree: 100, APIPro: 1000, BotFree: 50, BotPro: 500, Messages: 30}
	})
	a := r.get("/v1/key", r.alice.secret)
	r.want(a, 200, "", "")
	for name, want := range map[string]any{"kind": "api", "tier": "free", "owner": string(r.alice.User.ID), "cluster": "localnet", "expires_at": "", "app_id": ""} {
		if got := a.field("data", name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if a.field("data", "rate_limit", "limit") != 100.0 || a.field("data", "rate_limit", "remaining") != 99.0 {
		t.Errorf("got %s", a.body)
	}
	if got := a.text("timestamp"); got != wallet.Timestamp(r.Now()) {
		t.Errorf("at %s, not %s", got, wallet.Timestamp(r.Now()))
	}
	if strings.Contains(string(a.body), r.alice.secret) {
		t.Error("the secret is in the answer")
	}
	bot := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, App: "Shop"})
	if b := r.get("/v1/key", bot); b.field("data", "rate_limit", "limit") != 500.0 || b.text("data", "app_id") == "" || b.text("data", "owner") != "" {
		t.Errorf("a bot token: %d %s", b.status, b.body)
	}
}

// TestLimitsAreOfAnOwner: all API keys of one person share one limit; bot tokens have their own.
func TestLimitsAreOfAnOwner(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.Limits = quota.Limits{APIFree: 10, APIPro: 20, BotFree: 5, BotPro: 6, Messages: 30} })
	second := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	for i := range 10 {
		a := r.get("/v1/key", []string{r.alice.secret, second}[i%2])
		r.want(a, 200, "", "")
		if got := a.header.Get("RateLimit-Remaining"); got != fmt.Sprint(9-i) || a.header.Get("RateLimit-Limit") != "10" || a.header.Get("RateLimit-Reset") == "" {
			t.Fatalf("request %d: %s left, %v", i+1, got, a.header)
		}
	}
	over := r.get("/v1/wallets", second)
	r.want(over, 429, wallet.RateLimitExceeded, "10 requests an hour")
	if over.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	r.want(r.get("/v1/key", r.bob.secret), 200, "", "")
	for range 5 {
		r.want(r.get("/v1/key", token), 200, "", "")
	}
	r.want(r.get("/v1/key", token), 429, wallet.RateLimitExceeded, "5 requests")
	wait, err := time.ParseDuration(over.header.Get("Retry-After") + "s")
	check(t, err)
	r.Pass(wait)
	r.want(r.get("/v1/key", second), 200, "", "")
}

func TestARotatedKeyLivesADayBesideItsSuccessor(t *testing.T) {
	r := newHarness(t)
	old := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, Scopes: []wallet.Scope{wallet.WalletRead}})
	a := r.call("POST", "/v1/key/rotate", old, "", "Idempotency-Key", "rotate-1")
	r.want(a, 200, "", "")
	next := a.text("data", "key")
	if kind, ok := wallet.IsKeySecret(next); !ok || kind != wallet.APIKey || next == old {
		t.Fatalf("got %s", a.body)
	}
	r.secrets = append(r.secrets, next)
	// The same request again does not tell the key again, and makes no other one.
	replay := r.call("POST", "/v1/key/rotate", old, "", "Idempotency-Key", "rotate-1")
	if replay.status != 200 || replay.text("data", "key") != "" || replay.field("data", "secret_shown") != true || replay.text("data", "key_id") != a.text("data", "key_id") {
		t.Errorf("replay: %d %s", replay.status, replay.body)
	}
	// The answer was lost, and with it the key: another one takes its place, until one is used.
	r.Pass(time.Second)
	lost := next
	second := r.call("POST", "/v1/key/rotate", old, "")
	r.want(second, 200, "", "")
	r.want(r.get("/v1/key", lost), 401, wallet.InvalidAPIKey, "")
	next = second.text("data", "key")
	r.want(r.get("/v1/key", next), 200, "", "")
	r.want(r.call("POST", "/v1/key/rotate", old, ""), 409, wallet.Conflict, "already rotated")
	for _, secret := range []string{old, next} {
		got := r.get("/v1/key", secret)
		r.want(got, 200, "", "")
		if got.text("data", "tier") != "pro" || fmt.Sprint(got.field("data", "scopes")) != "[wallet:read]" || got.text("data", "owner") != string(r.alice.User.ID) {
			t.Errorf("got %s", got.body)
		}
	}
	r.want(r.get("/v1/key", old), 200, "", "")
	r.Pass(handlers.RotationGrace)
	r.want(r.get("/v1/key", old), 401, wallet.InvalidAPIKey, "")
	r.want(r.get("/v1/key", next), 200, "", "")
	// At once, where it leaked.
	last := r.call("POST", "/v1/key/rotate", next, `{"end_now":true}`)
	r.want(last, 200, "", "")
	r.want(r.get("/v1/key", next), 401, wallet.InvalidAPIKey, "")
	r.want(r.get("/v1/key", last.text("data", "key")), 200, "", "")
	r.want(r.call("POST", "/v1/key/rotate", last.text("data", "key"), `{"end_now":"yes"}`), 400, wallet.InvalidRequest, "end_now")
}

func TestAKeyRemembersItsLastUse(t *testing.T) {
	r := newHarness(t)
	r.get("/v1/key", r.alice.secret)
	r.Pass(time.Minute)
	r.get("/v1/key", r.alice.secret)
	check(t, r.Keys.WriteUse(context.Background()))
	if got := r.get("/v1/key", r.alice.secret).text("data", "last_used_at"); got != "2026-11-21T12:01:00.000Z" {
		t.Errorf("last used at %q", got)
	}
}

// TestAnOldKeyTakesNoLineOver: whoever holds one that was rotated twice, or whose successor is used, has
// nothing any more.
func TestAnOldKeyTakesNoLineOver(t *testing.T) {
	r := newHarness(t)
	rotated := func(secret string) string {
		t.Helper()
		a := r.call("POST", "/v1/key/rotate", secret, "")
		r.want(a, 200, "", "")
		return a.text("data", "key")
	}
	first := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	second := rotated(first)
	r.want(r.get("/v1/key", second), 200, "", "")
	r.want(r.call("POST", "/v1/key/rotate", first, ""), 409, wallet.Conflict, "")
	third := rotated(second) // not used yet
	r.want(r.call("POST", "/v1/key/rotate", first, ""), 401, wallet.InvalidAPIKey, "")
	r.want(r.get("/v1/key", third), 200, "", "")
	live := 0
	for _, secret := range []string{first, second, third} {
		if r.get("/v1/key", secret).status == 200 {
			live++
		}
	}
	if live != 2 {
		t.Errorf("%d keys of one line open something", live)
	}
}

// TestKeysOpenWhatTheirKindOpens: the wrong kind opens as little as no key at all.
func TestKeysOpenWhatTheirKindOpens(t *testing.T) {
	r := newHarness(t)
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	for _, a := range []answer{r.get("/v1/wallets", token), r.get("/v1/telegram/user/1001", r.alice.secret), r.get("/v1/telegram/webhook", r.alice.secret)} {
		r.want(a, http.StatusUnauthorized, wallet.InvalidAPIKey, "")
	}
	reads := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, Scopes: []wallet.Scope{wallet.WalletRead}})
	r.want(r.send(reads, r.sendBody()), 403, wallet.InsufficientScope, "wallet:send")
	if _, _, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, Scopes: []wallet.Scope{wallet.BotUsers}}); wallet.CodeOf(err) != wallet.InvalidRequest {
		t.Errorf("an API key with a bot's scope: %v", err)
	}
}

func TestWalletsAreListedAndDisconnected(t *testing.T) {
	r := newHarness(t)
	a := r.get("/v1/wallets", r.alice.secret)
	r.want(a, 200, "", "")
	all, _ := a.field("data", "wallets").([]any)
	if len(all) != 1 || !strings.Contains(string(a.body), r.alice.Address().String()) || strings.Contains(string(a.body), r.bob.Address().String()) {
		t.Fatalf("got %s", a.body)
	}
	path := "/v1/wallets/" + r.alice.Address().String()
	r.want(r.call("DELETE", path, r.bob.secret, ""), 404, wallet.WalletNotFound, "")
	r.want(r.call("DELETE", "/v1/wallets/nonsense", r.alice.secret, ""), 400, wallet.InvalidRequest, "address")
	r.want(r.call("DELETE", path, r.alice.secret, ""), 200, "", "")
	r.want(r.call("DELETE", path, r.alice.secret, ""), 404, wallet.WalletNotFound, "")
	if b := r.get("/v1/wallets", r.alice.secret); !strings.Contains(string(b.body), `"wallets":[]`) {
		t.Errorf("got %s", b.body)
	}
}

func TestAWalletIsOfferedInItsOwnersChat(t *testing.T) {
	r := newHarness(t)
	r.want(r.call("POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":"1002"}`), 403, wallet.ConsentRequired, "")
	r.want(r.call("POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":"9999"}`), 403, wallet.ConsentRequired, "")
	r.want(r.call("POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":1001}`), 400, wallet.InvalidRequest, "chat_id")
	a := r.call("POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":"1001"}`)
	r.want(a, 202, "", "")
	if a.text("data", "status") != "sent_to_chat" || a.text("data", "expires_at") != "2026-11-21T12:10:00.000Z" {
		t.Errorf("got %s", a.body)
	}
	offered := func(to person) (n int) {
		r.View(func(tx store.Tx) error {
			events, err := tx.PendingEvents(1000)
			for _, e := range events {
				if e.Name == wallet.WalletWanted && e.User == to.User.ID {
					n++
				}
			}
			return err
		})
		return n
	}
	if n := offered(r.alice); n != 1 {
		t.Errorf("offered %d times", n)
	}
	// By one key, in one moment, to two people: each of them gets theirs.
	a2 := r.app()
	r.allows(r.alice, a2)
	r.allows(r.bob, a2)
	r.Pass(13 * time.Hour)
	for chat, to := range map[string]person{"1001": r.alice, "1002": r.bob} {
		before := offered(to)
		r.want(r.call("POST", "/v1/wallet/create", a2.secret, `{"chat_id":"`+chat+`"}`), 202, "", "")
		if offered(to) != before+1 {
			t.Errorf("the link of %s is lost", chat)
		}
	}
}

func TestNothingIsPromisedToWhoeverBlockedTheBot(t *testing.T) {
	r := newHarness(t)
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	r.Must(r.Update(func(tx store.Tx) error {
		u, err := tx.User(r.alice.User.ID)
		if err != nil {
			return err
		}
		u.Unreachable = true
		return tx.PutUser(u)
	}))
	r.want(r.call("POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":"1001"}`), 403, wallet.BotBlocked, "after they write to it")
	r.want(r.call("POST", "/v1/wallet/send", r.alice.secret, r.sendBody()), 403, wallet.BotBlocked, "after they write to it")
	r.want(r.call("POST", "/v1/telegram/send-message", operator, `{"chat_id":"1001","message":"x"}`), 403, wallet.BotBlocked, "after they write to it")
	run := func(command string, silent bool) answer {
		return r.call("POST", "/v1/telegram/execute-command", operator, fmt.Sprintf(`{"chat_id":"1001","command":%q,"silent":%v}`, command, silent))
	}
	proposal := "/send 0.1 SOL " + r.bob.Address().String()
	r.want(run(proposal, false), 403, wallet.BotBlocked, "")
	r.want(run(proposal, true), 403, wallet.BotBlocked, "")
	r.want(run("/wallet balance", false), 403, wallet.BotBlocked, "")
	r.want(run("/wallet balance", true), 200, "", "") // goes nowhere but to the program
}
