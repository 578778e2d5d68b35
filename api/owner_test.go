package api

import (
	"context"
	"strings"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// TestAnAPIKeyWritesToItsOwner: POST /v1/messages is send-message for the key's own owner.
func TestAnAPIKeyWritesToItsOwner(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.Limits.Messages = 3 })
	const path = "/v1/messages"
	sends := func(body string, o store.SendResult, headers ...string) (answer, store.Reply) {
		t.Helper()
		r.bot.awaited = make(chan string, 1)
		got := make(chan answer, 1)
		go func() { got <- r.call("POST", path, r.alice.secret, body, headers...) }()
		row := r.ends(o)
		r.bot.awaited = nil
		return <-got, row
	}
	const body = `{"message":"The backup is done","parse_mode":"Markdown"}`
	got, row := sends(body, store.SendResult{MessageID: 77}, "Idempotency-Key", "m")
	r.want(got, 200, "", "")
	hint := r.alice.secret[len(r.alice.secret)-4:]
	if got.field("data", "message_id") != 77.0 || row.Chat != 1001 || !strings.Contains(string(row.Body), "Not from purser. Your own key …"+hint+" writes:") ||
		!strings.Contains(string(row.Body), "The backup is done") {
		t.Errorf("%s, to %d: %s", got.body, row.Chat, row.Body)
	}
	again := r.call("POST", path, r.alice.secret, body, "Idempotency-Key", "m")
	if again.header.Get("Idempotency-Replayed") != "true" || string(again.body) != string(got.body) {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	r.want(r.call("POST", path, r.alice.secret, `{"message":"Another"}`, "Idempotency-Key", "m"), 422, wallet.IdempotencyConflict, "")
	for body, says := range map[string]string{
		`{}`:                               "message is missing",
		`{"message":""}`:                   "message",
		`{"message":" "}`:                  "blank",
		`{"message":"x","parse_mode":"x"}`: "parse_mode",
		`{"message":"x","chat_id":"1002"}`: "chat_id isn't known", // nobody else's chat
		`{"message":"sign at ` + r.base + `/w/#s=1"}`:             "signing page",
		`{"message":"` + strings.Repeat("é", maxMessage+1) + `"}`: "4000",
	} {
		r.want(r.call("POST", path, r.alice.secret, body), 400, wallet.InvalidRequest, says)
	}
	got, _ = sends(body, store.SendResult{Blocked: true})
	r.want(got, 403, wallet.BotBlocked, "")
	sends(body, store.SendResult{MessageID: 79})
	r.want(r.call("POST", path, r.alice.secret, body), 429, wallet.RateLimitExceeded, "3 messages a minute") // the first, the blocked, the last

	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.want(r.call("POST", path, operator, body), 404, wallet.UserNotFound, "This key has no owner")
	reads := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001, Scopes: []wallet.Scope{wallet.WalletRead, wallet.BotExecute}})
	r.want(r.call("POST", path, reads, body), 403, wallet.InsufficientScope, "bot:send")
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	r.want(r.call("POST", path, token, body), 401, wallet.InvalidAPIKey, "bot token")
}

// TestAnAPIKeyRunsCommandsForItsOwner: POST /v1/commands is execute-command for the key's own owner.
func TestAnAPIKeyRunsCommandsForItsOwner(t *testing.T) {
	r := newHarness(t)
	const path = "/v1/commands"
	run := func(body string, headers ...string) answer {
		return r.call("POST", path, r.alice.secret, body, headers...)
	}
	said := func() int { return len(storetest.Outbox(r, r.Store)) }
	before := said()
	got := run(`{"command":"/wallet balance"}`)
	r.want(got, 200, "", "")
	if !strings.Contains(got.text("data", "response"), "`10` SOL") || got.text("data", "command") != "/wallet balance" || got.text("data", "executed_at") == "" {
		t.Errorf("got %s", got.body)
	}
	if n := said(); n != before+1 {
		t.Errorf("%d messages", n-before)
	}
	r.want(run(`{"command":"/wallet balance","silent":true}`), 200, "", "")
	if n := said(); n != before+1 {
		t.Errorf("a silent command posted %d messages", n-before-1)
	}
	send := `{"command":"/send 0.5 SOL ` + r.bob.Address().String() + `"}`
	got = run(send, "Idempotency-Key", "p")
	r.want(got, 200, "", "")
	if again := run(send, "Idempotency-Key", "p"); string(again.body) != string(got.body) || r.transactions() != 1 {
		t.Errorf("the same again: %s, %d transactions", again.body, r.transactions())
	}
	for body, c := range map[string]struct {
		status int
		code   wallet.Code
	}{
		`{}`: {400, wallet.InvalidRequest},
		`{"command":"/wallet balance","chat_id":"1002"}`: {400, wallet.InvalidRequest},
		`{"command":"hello"}`:                            {400, wallet.UnknownCommand},
		`{"command":"/nosuch"}`:                          {400, wallet.UnknownCommand},
		`{"command":"/wallet new"}`:                      {403, wallet.PolicyViolation},
		`{"command":"/delete_me"}`:                       {403, wallet.PolicyViolation},
	} {
		r.want(run(body), c.status, c.code, "")
	}
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.want(r.call("POST", path, operator, `{"command":"/wallet balance"}`), 404, wallet.UserNotFound, "This key has no owner")
	sends := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001, Scopes: []wallet.Scope{wallet.BotSend}})
	r.want(r.call("POST", path, sends, `{"command":"/wallet balance"}`), 403, wallet.InsufficientScope, "bot:execute")
	r.Must(r.Update(func(tx store.Tx) error { return tx.EraseUser(r.bob.User.ID) }))
	r.want(r.call("POST", path, r.bob.secret, `{"command":"/wallet balance"}`), 401, wallet.InvalidAPIKey, "")
}

// TestAnAPIKeysOwnScopesAreNotAskedOfOthers: an app whose API key may write to its owner asks nobody else for that.
func TestAnAPIKeysOwnScopesAreNotAskedOfOthers(t *testing.T) {
	r := newHarness(t)
	key, _, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1002, App: "Bobs shop"})
	r.Must(err)
	r.View(func(tx store.Tx) error {
		app, err := tx.App(key.App)
		for _, scope := range app.Scopes {
			if scope == wallet.BotSend || scope == wallet.BotExecute {
				t.Errorf("it asks for %v", app.Scopes)
			}
		}
		if len(app.Scopes) == 0 {
			t.Error("it asks for nothing")
		}
		return err
	})
}
