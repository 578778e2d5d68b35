package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Whether somebody uses the bot, and whether an address is a wallet of theirs, is nobody's business who
// was not let in.

// askedAbout is one request about somebody, named by Telegram id or by address.
type askedAbout struct {
	endpoint string // as in Server.endpoints
	path     string // with {id} and {address}
	body     string
}

func asksAboutSomebody() []askedAbout {
	const message = `,"message":"Hello"}`
	return []askedAbout{
		{"GET /v1/wallets", "/v1/wallets?chat_id={id}", ""},
		{"DELETE /v1/wallets/:address", "/v1/wallets/{address}", ""},
		{"POST /v1/wallet/create", "/v1/wallet/create", `{"chat_id":"{id}"}`},
		{"GET /v1/wallet/balance", "/v1/wallet/balance?address={address}", ""},
		{"POST /v1/wallet/send", "/v1/wallet/send", `{"from":"{address}","to":"{bob}","amount":1,"token":"SOL"}`},
		{"POST /v1/wallet/send", "/v1/wallet/send", `{"from":"{address}","to":"{bob}","amount":1e-7,"token":"SOL"}`},
		{"POST /v1/wallet/request", "/v1/wallet/request", `{"address":"{address}","amount":1,"token":"SOL"}`},
		{"POST /v1/stake", "/v1/stake", `{"address":"{address}","action":"delegate","amount":1}`},
		{"POST /v1/swap/quote", "/v1/swap/quote", `{"address":"{address}","from_token":"SOL","to_token":"USDC","amount":1}`},
		{"GET /v1/stake/positions", "/v1/stake/positions?address={address}", ""},
		{"GET /v1/stake/rewards", "/v1/stake/rewards?address={address}", ""},
		{"GET /v1/wallet/transactions", "/v1/wallet/transactions?address={address}", ""},
		{"POST /v1/wallet/connect/challenge", "/v1/wallet/connect/challenge", `{"address":"{address}"}`},
		{"POST /v1/wallet/connect", "/v1/wallet/connect", `{"address":"{address}","signature":"{signature}"}`},
		{"POST /v1/telegram/send-message", "/v1/telegram/send-message", `{"chat_id":"{id}"` + message},
		{"POST /v1/telegram/send-message", "/v1/telegram/send-message", `{"chat_id":"{id}","parse_mode":"no"` + message},
		{"POST /v1/telegram/execute-command", "/v1/telegram/execute-command", `{"chat_id":"{id}","command":"/wallet balance"}`},
		{"POST /v1/telegram/execute-command", "/v1/telegram/execute-command", `{"chat_id":"{id}","command":"/nothing","silent":true}`},
		{"GET /v1/telegram/user/:telegram_id", "/v1/telegram/user/{id}", ""},
		{"PUT /v1/telegram/user/:chat_id/notifications", "/v1/telegram/user/{id}/notifications", `{"enabled":false,"events":[]}`},
		{"PUT /v1/telegram/user/:chat_id/notifications", "/v1/telegram/user/{id}/notifications", `{"nothing":1}`},
	}
}

// subject is somebody, or nobody, with an address.
type subject struct {
	id      string
	address wallet.Address
}

func (r *harness) asksAbout(secret string, q askedAbout, s subject, headers ...string) answer {
	r.Helper()
	fill := strings.NewReplacer("{id}", s.id, "{address}", s.address.String(), "{bob}", r.bob.Address().String(),
		"{signature}", r.alice.Sign([]byte("something else")).String())
	method, _, _ := strings.Cut(q.endpoint, " ")
	if q.endpoint == "POST /v1/wallet/connect" { // a key has one challenge open at a time
		r.call("POST", "/v1/wallet/connect/challenge", secret, fmt.Sprintf(`{"address":%q}`, s.address))
	}
	return r.call(method, fill.Replace(q.path), secret, fill.Replace(q.body), headers...)
}

// told is all of an answer that says something: without what names the subject, the time or the request.
func (s subject) told(t testing.TB, a answer) (text string, remaining int) {
	t.Helper()
	h := a.header.Clone()
	remaining, err := strconv.Atoi(h.Get("RateLimit-Remaining"))
	if err != nil {
		t.Errorf("RateLimit-Remaining: %v in %v", err, h)
	}
	for _, name := range []string{"X-Request-Id", "Date", "RateLimit-Remaining"} {
		h.Del(name)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	var out bytes.Buffer
	fmt.Fprintln(&out, a.status)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		fmt.Fprintln(&out, name, h[name])
	}
	fmt.Fprintf(&out, "%s", a.body)
	return strings.NewReplacer(s.id, "{id}", s.address.String(), "{address}", nonceOf(a), "{nonce}").Replace(out.String()), remaining
}

// nonceOf is the random part of a challenge.
func nonceOf(a answer) string {
	_, rest, found := strings.Cut(a.text("data", "message"), "Nonce: ")
	nonce, _, _ := strings.Cut(rest, "\n")
	if !found {
		return "no nonce"
	}
	return nonce
}

// reads counts what is asked of the store for one answer.
type reads struct {
	store.Store
	views, grants *atomic.Int64
}

type readsTx struct {
	store.Tx
	grants *atomic.Int64
}

func (s reads) View(ctx context.Context, look func(store.Tx) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, func(tx store.Tx) error { return look(readsTx{tx, s.grants}) })
}

func (tx readsTx) Grant(user wallet.UserID, app wallet.AppID) (wallet.Grant, error) {
	tx.grants.Add(1)
	return tx.Tx.Grant(user, app)
}

// TestNobodyIsToldWhoUsesTheBot compares whole answers about a user with those about a stranger, and what
// each costs.
func TestNobodyIsToldWhoUsesTheBot(t *testing.T) {
	r := newHarness(t)
	views, grants := &atomic.Int64{}, &atomic.Int64{}
	r.People.Store = reads{r.People.Store, views, grants}
	carol := r.Somebody(1004, "Carol")
	r.Meet(carol)
	r.Connect(carol) // a wallet that holds nothing
	blocked := r.Somebody(1005, "Dave")
	r.Meet(blocked)
	r.Connect(blocked)
	r.Must(r.Update(func(tx store.Tx) error {
		u, err := tx.User(blocked.User.ID)
		if err != nil {
			return err
		}
		u.Unreachable = true
		return tx.PutUser(u)
	}))
	users := map[string]subject{"a user": {"1004", carol.Address()}, "a user who blocked the bot": {"1005", blocked.Address()}}
	stranger := func(like subject) subject { // of as long an address: Content-Length is compared too
		for {
			if s := (subject{"1999", r.Stranger()}); len(s.address.String()) == len(like.address.String()) {
				return s
			}
		}
	}

	withdrawn := r.app()
	r.Must(r.Update(func(tx store.Tx) error {
		for _, p := range []wallet.UserID{carol.User.ID, blocked.User.ID} {
			if err := tx.PutGrant(wallet.Grant{User: p, App: withdrawn.id, Scopes: wallet.Scopes(), GrantedAt: r.Now()}); err != nil {
				return err
			}
			if err := r.Apps.Withdraw(tx, p, withdrawn.id); err != nil {
				return err
			}
		}
		return nil
	}))
	keys := map[string]map[wallet.KeyKind]string{
		"an app whose access was revoked": {wallet.APIKey: withdrawn.secret, wallet.BotKey: withdrawn.token},
		"a key of no app":                 {},
	}
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		keys["a key of no app"][kind] = r.newKey(handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1002})
	}
	kinds := map[string]wallet.KeyKind{}
	for _, e := range r.server.endpoints() {
		kinds[e.method+" "+e.pattern] = e.kind
	}
	for whose, secrets := range keys {
		for i, q := range asksAboutSomebody() {
			for what, user := range users {
				header := []string{"Idempotency-Key", fmt.Sprintf("%d %s", i, what)}
				if strings.HasPrefix(q.endpoint, "GET") {
					header = nil
				}
				secret := secrets[kinds[q.endpoint]]
				if secret == "" {
					t.Fatalf("%s is no endpoint", q.endpoint)
				}
				about := func(s subject, other string) (text string, left int, cost [2]int64) {
					from := [2]int64{views.Load(), grants.Load()}
					h := header
					if h != nil {
						h = []string{header[0], header[1] + other}
					}
					text, left = s.told(t, r.asksAbout(secret, q, s, h...))
					return text, left, [2]int64{views.Load() - from[0], grants.Load() - from[1]}
				}
				got, left, cost := about(user, " x")
				want, leftThen, costThen := about(stranger(user), " y")
				if got != want {
					t.Errorf("%s, %s %s: about %s:\n%s\nabout a stranger:\n%s", whose, q.endpoint, q.body, what, got, want)
				}
				requests := 1
				if q.endpoint == "POST /v1/wallet/connect" {
					requests = 2
				}
				if left-requests != leftThen {
					t.Errorf("%s, %s: about %s it counts otherwise than about a stranger: %d and %d are left", whose, q.endpoint, what, left, leftThen)
				}
				if cost != costThen {
					t.Errorf("%s, %s: about %s it reads the store %d times, about a stranger %d", whose, q.endpoint, what, cost, costThen)
				}
			}
		}
	}

	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	r.want(r.get("/v1/telegram/user/1999", operator), 404, wallet.UserNotFound, "nobody with this Telegram id has written to the bot")
	r.want(r.get("/v1/telegram/user/1004", operator), 200, "", "")
	reader := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.want(r.get("/v1/wallet/balance?address="+carol.Address().String(), reader), 200, "", "")
	r.want(r.get("/v1/wallet/balance?address="+stranger(users["a user"]).address.String(), reader), 404, wallet.WalletNotFound, "")
}

// TestEveryQuestionAboutSomebodyIsCompared finds in the API's document each field that names a person or a
// wallet, so that a new endpoint cannot be left out of asksAboutSomebody.
func TestEveryQuestionAboutSomebodyIsCompared(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters  []struct{ Name, Ref string } `json:"parameters"`
			RequestBody struct {
				Content map[string]struct{ Schema json.RawMessage }
			} `json:"requestBody"`
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	check(t, json.Unmarshal(document, &doc))
	compared := map[string]bool{}
	for _, q := range asksAboutSomebody() {
		compared[q.endpoint] = true
	}
	found := 0
	for path, operations := range doc.Paths {
		for method, op := range operations {
			body := string(op.RequestBody.Content["application/json"].Schema)
			for name, schema := range doc.Components.Schemas {
				if strings.Contains(body, `"#/components/schemas/`+name+`"`) {
					body += string(schema)
				}
			}
			asks := false
			for _, field := range []string{"chat_id", "telegram_id", "address", "from"} {
				asks = asks || strings.Contains(path, "{"+field+"}") || strings.Contains(body, `"`+field+`":`)
				for _, p := range op.Parameters {
					asks = asks || p.Name == field
				}
			}
			if !asks || !strings.HasPrefix(path, "/v1") {
				continue
			}
			found++
			endpoint := strings.ToUpper(method) + " " + strings.NewReplacer("{", ":", "}", "").Replace(path)
			if !compared[endpoint] {
				t.Errorf("%s names somebody and is not compared", endpoint)
			}
		}
	}
	if found != len(compared) {
		t.Errorf("the document has %d such endpoints, %d are compared", found, len(compared))
	}
}

// TestWhatIsReservedIsToldToWhoeverMayReadTheWallet: to others it would say that the wallet is one of ours.
func TestWhatIsReservedIsToldToWhoeverMayReadTheWallet(t *testing.T) {
	r := newHarness(t)
	r.Confirmed(r.alice.Person, r.bob.Address(), "1.5", "SOL")
	path := "/v1/wallet/balance?address=" + r.alice.Address().String()
	reserved := func(secret string) string {
		a := r.get(path, secret)
		r.want(a, 200, "", "")
		return a.text("data", "balances", "SOL", "reserved")
	}
	if got := reserved(r.alice.secret); !strings.HasPrefix(got, "1.5") {
		t.Errorf("its owner is told that %s is reserved", got)
	}
	if got := reserved(r.bob.secret); got != "0" {
		t.Errorf("somebody else is told that %s is reserved", got)
	}
	a := r.app()
	r.allows(r.alice, a)
	if got := reserved(a.secret); !strings.HasPrefix(got, "1.5") {
		t.Errorf("an app that may read it is told that %s is reserved", got)
	}
	if got := reserved(r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})); !strings.HasPrefix(got, "1.5") {
		t.Errorf("an operator is told that %s is reserved", got)
	}
}
