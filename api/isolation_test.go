package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// customer is somebody whose data nobody else may see, with all that there is of it.
type customer struct {
	*harness
	person
	id      string // of a transaction
	alert   string
	hook    string // of an API key
	dlv     string // a delivery to it
	request map[string]string
	private []string // what is told to nobody who did not say it first
}

// endOf is what a key that may open an endpoint is answered there about a customer who granted it
// nothing.
type endOf struct {
	status int
	code   wallet.Code
	reads  bool // it is told of the customer, by right
}

// own: the key hears of its owner's own data alone, or changes that.

func own(status int) endOf { return endOf{status: status} }

// foreignEnds has every endpoint of the table: a new one has to be thought of here.
func foreignEnds() map[string]endOf {
	consent := endOf{status: 403, code: wallet.ConsentRequired}
	noWallet, noTransaction := endOf{status: 404, code: wallet.WalletNotFound}, endOf{status: 404, code: wallet.TransactionNotFound}
	noWebhook := endOf{status: 404, code: wallet.WebhookNotFound} // of a bot token: a token's own
	ends := map[string]endOf{
		"GET /v1/key":                                  own(200),
		"POST /v1/key/rotate":                          own(200),
		"GET /v1/wallets":                              own(200),
		"DELETE /v1/wallets/:address":                  noWallet,
		"POST /v1/messages":                            own(200),
		"POST /v1/commands":                            own(200),
		"GET /v1/notifications":                        own(200),
		"PUT /v1/notifications":                        own(200),
		"GET /v1/alerts":                               own(200),
		"POST /v1/alerts":                              own(201),
		"DELETE /v1/alerts/:alert_id":                  {status: 404, code: wallet.NotFound},
		"POST /v1/wallet/create":                       consent,
		"GET /v1/wallet/balance":                       own(200), // what the chain holds is public
		"POST /v1/wallet/send":                         noWallet,
		"POST /v1/wallet/request":                      noWallet,
		"GET /v1/wallet/transactions":                  noWallet,
		"POST /v1/stake":                               noWallet,
		"POST /v1/swap/quote":                          noWallet,
		"POST /v1/swap":                                {status: 409, code: wallet.QuoteExpired}, // a quote is its key's alone
		"GET /v1/stake/positions":                      noWallet,
		"GET /v1/stake/rewards":                        noWallet,
		"GET /v1/stake/validators":                     own(200),
		"GET /v1/prices":                               own(200), // the same for everybody
		"GET /v1/tokens":                               own(200),
		"GET /v1/pools":                                own(200),
		"GET /v1/prices/:token/history":                own(200),
		"GET /v1/wallet/transactions/:id":              noTransaction,
		"POST /v1/wallet/transactions/:id/refresh":     noTransaction,
		"POST /v1/wallet/transactions/:id/signature":   noTransaction,
		"POST /v1/wallet/transactions/:id/reject":      noTransaction,
		"POST /v1/wallet/connect/challenge":            own(200), // whose the address is, is said to none who has not proven it
		"POST /v1/wallet/connect":                      {status: 422, code: wallet.InvalidSignature},
		"POST /v1/telegram/send-message":               consent,
		"POST /v1/telegram/execute-command":            consent,
		"GET /v1/telegram/user/:telegram_id":           consent,
		"PUT /v1/telegram/user/:chat_id/notifications": consent,
		"GET /v1/telegram/webhook":                     noWebhook,
		"POST /v1/telegram/webhook":                    {status: 403, code: wallet.TierRequired},
		"PUT /v1/telegram/webhook":                     noWebhook,
		"DELETE /v1/telegram/webhook":                  noWebhook,

		"GET /v1/webhooks/listen":         {status: 403, code: wallet.TierRequired},
		"GET /v1/telegram/webhook/listen": {status: 403, code: wallet.TierRequired},
		"GET /v1/webhooks/events":         own(200),
		"GET /v1/webhooks":                own(200),
		"POST /v1/webhooks":               {status: 403, code: wallet.TierRequired},
		"PUT /v1/webhooks/:webhook_id":    noWebhook,
		"DELETE /v1/webhooks/:webhook_id": noWebhook,
		"GET /v1/webhooks/:webhook_id":    noWebhook,
	}
	for _, path := range []string{"/v1/webhooks/:webhook_id", "/v1/telegram/webhook"} {
		for _, operation := range []string{"POST %s/test", "POST %s/secret/rotate", "GET %s/deliveries", "GET %s/deliveries/:delivery_id",
			"POST %s/deliveries/:delivery_id/resend", "POST %s/recover"} {
			ends[fmt.Sprintf(operation, path)] = noWebhook
		}
	}
	return ends
}

func newCustomer(r *harness) *customer {
	r.Helper()
	carol := r.Somebody(1004, "Carolina")
	carol.Username = "carolina_of_rome"
	r.Meet(carol)
	r.Connect(carol)
	r.Fund(carol.Address(), 10*sol)
	c := &customer{harness: r, person: person{carol, ""}}
	key, secret, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1004})
	r.Must(err)
	c.secret = secret
	token, bot, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1004})
	r.Must(err)
	address := carol.Address().String()
	c.request = map[string]string{
		"POST /v1/key/rotate":                          `{}`,
		"PUT /v1/notifications":                        `{"enabled":true,"events":["stake.reward"]}`,
		"POST /v1/alerts":                              `{"token":"SOL","condition":"above","price":"200"}`,
		"POST /v1/messages":                            `{"message":"Hello"}`,
		"POST /v1/commands":                            `{"command":"/wallet address","silent":true}`,
		"POST /v1/wallet/create":                       `{"chat_id":"1004"}`,
		"POST /v1/wallet/send":                         r.sendBody("from", `"`+address+`"`),
		"POST /v1/wallet/request":                      `{"address":"` + address + `","amount":"1","token":"SOL"}`,
		"POST /v1/stake":                               `{"address":"` + address + `","action":"delegate","amount":"1"}`,
		"POST /v1/swap/quote":                          `{"address":"` + address + `","from_token":"SOL","to_token":"USDC","amount":"1"}`,
		"POST /v1/swap":                                `{"quote_id":"swq_1"}`,
		"POST /v1/wallet/transactions/:id/signature":   fmt.Sprintf(`{"signature":%q}`, carol.Sign([]byte("x"))),
		"POST /v1/wallet/connect/challenge":            `{"address":"` + address + `"}`,
		"POST /v1/wallet/connect":                      fmt.Sprintf(`{"address":%q,"signature":%q}`, address, carol.Sign([]byte("x"))),
		"POST /v1/telegram/send-message":               `{"chat_id":"1004","message":"Hello"}`,
		"POST /v1/telegram/execute-command":            `{"chat_id":"1004","command":"/wallet address"}`,
		"PUT /v1/telegram/user/:chat_id/notifications": `{"enabled":false,"events":[]}`,
		"POST /v1/telegram/webhook":                    `{"url":"https://hooks.example.com/x","events":["*"]}`,
		"POST /v1/webhooks":                            `{"url":"https://hooks.example.com/x","events":["*"]}`,
		"PUT /v1/webhooks/:webhook_id":                 `{"active":false}`,
		"PUT /v1/telegram/webhook":                     `{"active":false}`,
		"POST /v1/webhooks/:webhook_id/recover":        `{"since":"2026-01-01T00:00:00Z"}`,
		"POST /v1/telegram/webhook/recover":            `{"since":"2026-01-01T00:00:00Z"}`,
	}
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147"), At: r.Now(), Source: "jupiter"})
	alert := c.asks("POST /v1/alerts", c.secret)
	r.want(alert, 201, "", "")
	c.alert = alert.text("data", "alert_id")
	sent := c.asks("POST /v1/wallet/send", c.secret)
	r.want(sent, 202, "", "")
	c.id = sent.text("data", "transaction_id")
	hook := r.do("POST", "/v1/telegram/webhook", `{"url":"https://carolina.example.com/hook","events":["*"],"secret":"carolinas own secret"}`,
		"Authorization", "Bearer "+bot, "Content-Type", "application/json")
	r.want(hook, 201, "", "")
	_, pro, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1004})
	r.Must(err)
	post := func(path, body string) answer {
		return r.do("POST", path, body, "Authorization", "Bearer "+pro, "Content-Type", "application/json")
	}
	platform := post("/v1/webhooks", `{"url":"https://carolina.example.com/platform","events":["*"]}`)
	r.want(platform, 201, "", "")
	c.hook = platform.text("data", "webhook_id")
	tested := post("/v1/webhooks/"+c.hook+"/test", "{}")
	r.want(tested, 200, "", "")
	c.dlv = tested.text("data", "delivery_id")
	c.private = []string{c.alert, c.hook, c.dlv, pro, platform.text("data", "secret"), address, c.id, string(carol.User.ID), "1004", "Carolina", "carolina_of_rome", key.ID, token.ID, secret, bot,
		hook.text("data", "webhook_id"), "carolina.example.com", "carolinas own secret"}
	return c
}

// asks sends what names the customer's data to an endpoint, with a key, and holds the answer to what
// is private. The Idempotency-Key is always the same: nobody hears another's kept answer.
func (c *customer) asks(name, key string) answer {
	c.Helper()
	method, pattern, _ := strings.Cut(name, " ")
	path := c.fill(pattern)
	switch pattern {
	case "/v1/wallet/balance", "/v1/wallet/transactions", "/v1/stake/positions", "/v1/stake/rewards":
		path += "?address=" + c.Address().String()
	case "/v1/prices":
		path += "?tokens=SOL"
	case "/v1/pools":
		path += "?token=SOL"
	case "/v1/tokens":
		path += "?query=SOL"
	}
	body := c.request[name]
	headers := []string{"Authorization", "Bearer " + key, "Idempotency-Key", "the same"}
	if body != "" {
		headers = append(headers, "Content-Type", "application/json")
	}
	return c.do(method, path, body, headers...)
}

// fill puts what is the customer's into a path.
func (c *customer) fill(pattern string) string {
	return strings.NewReplacer(":token", "SOL", ":address", c.Address().String(), ":id", c.id, ":telegram_id", "1004", ":chat_id", "1004", ":webhook_id", c.hook, ":alert_id", c.alert, ":delivery_id", c.dlv).Replace(pattern)
}

// keepsPrivate holds an answer to what the asker did not say themselves.
func (c *customer) keepsPrivate(who, name string, a answer) {
	c.Helper()
	said := c.fill(name) + c.request[name]
	if strings.HasSuffix(name, "/balance") || strings.HasSuffix(name, "/transactions") {
		said += c.Address().String()
	}
	for _, private := range c.private {
		if strings.Contains(string(a.body), private) && !strings.Contains(said, private) {
			c.Errorf("%s is told %q by %s: %s", who, private, name, a.body)
		}
	}
}

// key makes a key of a kind, and tells the app that it is for ("" for none).
func (c *customer) key(kind wallet.KeyKind, telegramID int64, app string) (string, wallet.AppID) {
	c.Helper()
	key, secret, err := c.Keys.Create(context.Background(), handlers.KeyRequest{Kind: kind, Tier: wallet.FreeTier, OwnerTelegramID: telegramID, App: app})
	c.Must(err)
	return secret, key.App
}

// TestNobodySeesAnothersData walks every endpoint with every kind of key that is not the customer's.
func TestNobodySeesAnothersData(t *testing.T) {
	r := newHarness(t)
	r.bot.auto = sentAtOnce
	c := newCustomer(r)
	ends := foreignEnds()
	for _, e := range r.server.endpoints() {
		name := e.method + " " + e.pattern
		if _, thought := ends[name]; !thought {
			t.Errorf("%s: what does a foreign key hear there?", name)
		}
	}
	if len(ends) != len(r.server.endpoints()) {
		t.Errorf("%d endpoints, %d ends", len(r.server.endpoints()), len(ends))
	}

	// walk asks everything that the kind of key is for.
	walk := func(who string, kind wallet.KeyKind, secret string, want func(name string) endOf) {
		t.Run(who, func(t *testing.T) {
			defer r.under(t)()
			for _, e := range r.server.endpoints() {
				if e.kind != "" && e.kind != kind {
					continue
				}
				name := e.method + " " + e.pattern
				end := want(name)
				// A webhook is not found by a key that may have some, either.
				looksFor := end.code == wallet.WebhookNotFound && e.method != "GET" && e.method != "DELETE"
				if looksFor {
					r.change(secret, func(k *wallet.Key) { k.Tier = wallet.ProTier })
				}
				a := c.asks(name, secret)
				if looksFor {
					r.change(secret, func(k *wallet.Key) { k.Tier = wallet.FreeTier })
				}
				if !end.reads {
					c.keepsPrivate(who, name, a)
				}
				if a.status != end.status || a.code() != end.code {
					t.Errorf("%s: %d %s, want %d %s", name, a.status, a.body, end.status, end.code)
				}
				if a.header.Get("Idempotency-Replayed") != "" {
					t.Errorf("%s: another's answer was kept for it", name)
				}
			}
		})
	}
	foreign := func(name string) endOf { return ends[name] }
	kinds := []wallet.KeyKind{wallet.APIKey, wallet.BotKey}

	for _, kind := range kinds {
		secret, _ := c.key(kind, 1002, "")
		walk("another owner's "+string(kind)+" key", kind, secret, foreign)

		secret, _ = c.key(kind, 1002, "No grant")
		walk("the "+string(kind)+" key of an app without a grant", kind, secret, foreign)

		secret, app := c.key(kind, 1002, "Grant of something else "+string(kind))
		c.grants(app, otherThan(kind)...)
		walk("the "+string(kind)+" key of an app with a grant of something else", kind, secret, foreign)

		secret, app = c.key(kind, 1002, "Withdrawn "+string(kind))
		c.grants(app, wallet.ScopesOf(kind)...)
		for _, name := range grantable(kind) { // the grant is what opens it
			if a := c.asks(name, secret); a.status >= 300 && a.code() != wallet.RateLimitExceeded {
				t.Errorf("with a grant, %s: %d %s", name, a.status, a.body)
			}
		}
		r.Pass(wallet.BindWindow) // the link that was just sent may not stand for an answer
		r.Must(r.Update(func(tx store.Tx) error { return r.Apps.Withdraw(tx, c.User.ID, app) }))
		secret = c.successor(secret)
		walk("the "+string(kind)+" key of an app whose grant was withdrawn", kind, secret, foreign)
	}

	operator, _ := c.key(wallet.APIKey, 0, "")
	walk("an operator's API key", wallet.APIKey, operator, func(name string) endOf {
		switch name {
		case "GET /v1/notifications", "PUT /v1/notifications", "GET /v1/alerts", "POST /v1/alerts", "DELETE /v1/alerts/:alert_id", "POST /v1/messages", "POST /v1/commands":
			return endOf{status: 404, code: wallet.UserNotFound}
		case "GET /v1/wallet/transactions", "GET /v1/wallet/transactions/:id", "GET /v1/stake/positions", "GET /v1/stake/rewards":
			return endOf{status: 200, reads: true} // the operator reads any wallet (docs/specification.md, Whose data), and sends for none
		}
		return ends[name]
	})

	refused := func(string) endOf { return endOf{status: 401, code: wallet.InvalidAPIKey} }
	for _, kind := range kinds {
		other := wallet.APIKey
		if kind == wallet.APIKey {
			other = wallet.BotKey
		}
		wrong, _ := c.key(other, 1004, "")
		t.Run("the customer's own key of the wrong kind", func(t *testing.T) {
			defer r.under(t)()
			for _, e := range r.server.endpoints() {
				if e.kind == kind {
					a := c.asks(e.method+" "+e.pattern, wrong)
					c.keepsPrivate("the wrong kind", e.method+" "+e.pattern, a)
					r.want(a, 401, wallet.InvalidAPIKey, "")
				}
			}
		})
		r.Pass(time.Minute) // refused keys are slowed down by the minute

		for who, ended := range c.endedKeys(kind) {
			walk("the customer's own "+string(kind)+" key, "+who, kind, ended, refused)
			r.Pass(time.Minute)
		}
	}
}

// grants gives an app exactly these scopes.
func (c *customer) grants(app wallet.AppID, scopes ...wallet.Scope) {
	c.Helper()
	c.Must(c.Update(func(tx store.Tx) error {
		return tx.PutGrant(wallet.Grant{User: c.User.ID, App: app, Scopes: scopes, GrantedAt: c.Now()})
	}))
}

// otherThan are scopes that open nothing of a kind of key.
func otherThan(kind wallet.KeyKind) []wallet.Scope {
	if kind == wallet.APIKey {
		return wallet.ScopesOf(wallet.BotKey)
	}
	return wallet.Grantable(wallet.APIKey, wallet.ScopesOf(wallet.APIKey))
}

// grantable are the endpoints that a grant opens.
func grantable(kind wallet.KeyKind) []string {
	if kind == wallet.BotKey {
		return []string{"POST /v1/telegram/execute-command", "GET /v1/telegram/user/:telegram_id", "PUT /v1/telegram/user/:chat_id/notifications"}
	}
	return []string{"POST /v1/wallet/create", "POST /v1/wallet/send", "POST /v1/wallet/request", "GET /v1/wallet/transactions",
		"POST /v1/stake", "GET /v1/stake/positions", "GET /v1/stake/rewards"}
}

// successor is the key that takes the place of another: what it was told is kept under another name.
func (c *customer) successor(secret string) string {
	c.Helper()
	key, err := c.Keys.Check(context.Background(), c.Now(), secret, "")
	c.Must(err)
	again, err := c.Keys.Generate(key)
	c.Must(err)
	c.Must(c.Update(func(tx store.Tx) error { return tx.CreateKey(again.Key, again.Secret) }))
	return again.Secret
}

// endedKeys are keys of the customer's own that open nothing any more.
func (c *customer) endedKeys(kind wallet.KeyKind) map[string]string {
	c.Helper()
	ctx := context.Background()
	made := func(expires time.Time) (string, string) {
		key, secret, err := c.Keys.Create(ctx, handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1004, ExpiresAt: expires})
		c.Must(err)
		return key.ID, secret
	}
	id, revoked := made(time.Time{})
	_, err := c.Keys.Revoke(ctx, id)
	c.Must(err)
	_, expired := made(c.Now().Add(time.Minute))
	id, rotated := made(time.Time{})
	_, _, err = c.Keys.Rotate(ctx, id, true)
	c.Must(err)
	id, outlived := made(time.Time{})
	_, _, err = c.Keys.Rotate(ctx, id, false)
	c.Must(err)
	c.Pass(handlers.RotationGrace)
	return map[string]string{"revoked": revoked, "expired": expired, "rotated out": rotated, "rotated out a day ago": outlived}
}

// TestAGrantOpensWhatItNamesAndNoMore: each scope by itself, against each endpoint of its kind.
func TestAGrantOpensWhatItNamesAndNoMore(t *testing.T) {
	r := newHarness(t)
	c := newCustomer(r)
	ends := foreignEnds()
	opens := map[string]wallet.Scope{
		"POST /v1/wallet/create": wallet.WalletSend, "POST /v1/wallet/send": wallet.WalletSend, "POST /v1/wallet/request": wallet.WalletSend, "GET /v1/wallet/transactions": wallet.WalletRead,
		"POST /v1/stake": wallet.WalletSend, "GET /v1/stake/positions": wallet.WalletRead, "GET /v1/stake/rewards": wallet.WalletRead,
		"POST /v1/telegram/execute-command": wallet.BotExecute, "GET /v1/telegram/user/:telegram_id": wallet.BotUsers,
		"PUT /v1/telegram/user/:chat_id/notifications": wallet.BotUsers, "POST /v1/telegram/send-message": wallet.BotSend,
	}
	r.bot.auto = sentAtOnce
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		for i, scope := range wallet.ScopesOf(kind) {
			secret, app := c.key(kind, 1002, fmt.Sprintf("Only the %s scope %d", map[wallet.KeyKind]string{wallet.APIKey: "first", wallet.BotKey: "second"}[kind], i))
			c.grants(app, scope)
			for name, needs := range opens {
				method, pattern, _ := strings.Cut(name, " ")
				if (kind == wallet.BotKey) != strings.HasPrefix(pattern, "/v1/telegram/") {
					continue
				}
				a := c.asks(name, secret)
				if end := ends[name]; needs != scope && (a.status != end.status || a.code() != end.code) {
					t.Errorf("a grant of %s opens %s %s: %d %s", scope, method, pattern, a.status, a.body)
				}
				if needs == scope && a.status >= 300 {
					t.Errorf("a grant of %s does not open %s: %d %s", scope, name, a.status, a.body)
				}
			}
		}
	}
}

// TestAnAppReadsTheWalletsOfWhoeverLetsIt: and of nobody else, nor before or after.
func TestAnAppReadsTheWalletsOfWhoeverLetsIt(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	const ofBob = "/v1/wallets?chat_id=1002"
	link := fmt.Sprintf("Ask them to allow wallet:read: send them this link, which also works for people who have never used the bot: https://t.me/purser_bot?start=%s", a.id)
	refused := r.get(ofBob, a.secret)
	r.want(refused, 403, wallet.ConsentRequired, link)
	if !strings.Contains(string(refused.body), link) {
		t.Errorf("the link cannot be copied from the raw answer: %s", refused.body)
	}
	r.want(r.get("/v1/wallets?chat_id=1999", a.secret), 403, wallet.ConsentRequired, link)
	for _, bad := range []string{"", "x", "-1", "01002", "1002&chat_id=1001"} {
		r.want(r.get("/v1/wallets?chat_id="+bad, a.secret), 400, wallet.InvalidRequest, "")
	}
	r.allows(r.bob, a)
	got := r.get(ofBob, a.secret)
	r.want(got, 200, "", "")
	if !strings.Contains(string(got.body), r.bob.Address().String()) || strings.Contains(string(got.body), r.alice.Address().String()) {
		t.Errorf("Bob's wallets: %s", got.body)
	}
	r.want(r.get("/v1/wallets?chat_id=1001", a.secret), 403, wallet.ConsentRequired, "")
	r.want(r.get(ofBob, r.alice.secret), 403, wallet.ConsentRequired, "This key was created for no app, so nobody can grant it access.")
	r.want(r.get(ofBob, r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})), 403, wallet.ConsentRequired, "")
	if own := r.get(ofBob, r.bob.secret); own.status != 200 || !strings.Contains(string(own.body), r.bob.Address().String()) {
		t.Errorf("Bob's own: %s", own.body)
	}
	r.withdraws(r.bob, a)
	r.want(r.get(ofBob, a.secret), 403, wallet.ConsentRequired, link)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutGrant(wallet.Grant{User: r.bob.User.ID, App: a.id, Scopes: []wallet.Scope{wallet.WalletSend}, GrantedAt: r.Now()})
	}))
	r.want(r.get(ofBob, a.secret), 403, wallet.ConsentRequired, link)
	r.People.Bot = nil
	r.want(r.get(ofBob, a.secret), 403, wallet.ConsentRequired, fmt.Sprintf("Ask them to allow wallet:read: send them the link to this bot with ?start=%s", a.id))
}
