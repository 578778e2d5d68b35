// Long: one app and one person go through every call of the bot's part of the API.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// app is a developer's program: Carol's, with a bot token and an API key.
type app struct {
	id     wallet.AppID
	token  string
	secret string
}

func (r *harness) app() app {
	r.Helper()
	r.Meet(r.Somebody(1003, "Carol"))
	var a app
	for kind, into := range map[wallet.KeyKind]*string{wallet.BotKey: &a.token, wallet.APIKey: &a.secret} {
		key, secret, err := r.Keys.Create(context.Background(), handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: 1003, App: "Carol's <Shop>"})
		r.Must(err)
		a.id, *into = key.App, secret
	}
	return a
}

// allows is a person's consent to all that the app asks for.
func (r *harness) allows(p person, a app) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		asked, err := r.Apps.ConsentFor(tx, p.User.ID, a.id)
		if err != nil {
			return err
		}
		return r.Apps.Allow(tx, p.User.ID, a.id, asked.App.Scopes, asked.App.Scopes)
	}))
}

func (r *harness) withdraws(p person, a app) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error { return r.Apps.Withdraw(tx, p.User.ID, a.id) }))
}

// sends posts a message and lets Telegram answer it.
func (r *harness) sends(secret, body string, o store.SendResult, headers ...string) (answer, chat.Reply) {
	r.Helper()
	r.bot.awaited = make(chan string, 1)
	got := make(chan answer, 1)
	go func() { got <- r.call("POST", "/v1/telegram/send-message", secret, body, headers...) }()
	row := r.ends(o)
	var reply chat.Reply
	r.Must(json.Unmarshal(row.Body, &reply))
	r.bot.awaited = nil
	return <-got, reply
}

func TestAnAppWritesToWhoeverAllowedIt(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	body := `{"chat_id":"1001","message":"Your order *42* is <ready>","parse_mode":"Markdown"}`
	post := func(secret, body string) answer { return r.call("POST", "/v1/telegram/send-message", secret, body) }
	r.want(post(a.token, body), 403, wallet.ConsentRequired, "start=app_")
	r.allows(r.alice, a)
	got, said := r.sends(a.token, body, store.SendResult{MessageID: 77})
	r.want(got, 200, "", "")
	if got.field("data", "message_id") != 77.0 || got.text("data", "sent_at") != "2026-11-21T12:00:00.000Z" {
		t.Errorf("got %s", got.body)
	}
	if said.ParseMode != "Markdown" || said.Text != "Not from purser. “Carol's <Shop>” writes:\n\nYour order *42* is <ready>" {
		t.Errorf("said %+v", said)
	}
	_, said = r.sends(a.token, `{"chat_id":"1001","message":"1 < 2 & so on"}`, store.SendResult{MessageID: 78})
	if said.ParseMode != "HTML" || said.Text != "Not from purser. “Carol's &lt;Shop&gt;” writes:\n\n1 &lt; 2 &amp; so on" {
		t.Errorf("said %+v", said)
	}
	_, said = r.sends(a.token, `{"chat_id":"1001","message":"x","parse_mode":"MarkdownV2"}`, store.SendResult{MessageID: 79})
	if said.Text != "Not from purser\\. “Carol's <Shop\\>” writes:\n\nx" {
		t.Errorf("said %q", said.Text)
	}
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	if _, said = r.sends(operator, `{"chat_id":"1001","message":"hello","parse_mode":""}`, store.SendResult{MessageID: 80}); said.Text != "hello" {
		t.Errorf("an operator's: %q", said.Text)
	}
	for body, c := range map[string]struct {
		status int
		code   wallet.Code
		says   string
	}{
		`{"chat_id":"9999","message":"x"}`:                                         {403, wallet.ConsentRequired, "start=app_"},
		`{"chat_id":"-1001","message":"x"}`:                                        {400, wallet.InvalidRequest, "chat_id"},
		`{"chat_id":"01001","message":"x"}`:                                        {400, wallet.InvalidRequest, "chat_id"},
		`{"chat_id":"1001"}`:                                                       {400, wallet.InvalidRequest, "message"},
		`{"chat_id":"1001","message":"x` + strings.Repeat(`\n⠀`, 4) + `y"}`:        {400, wallet.InvalidRequest, "empty lines"},
		`{"chat_id":"1001","message":"` + strings.Repeat(`x\n`, 70) + `"}`:         {400, wallet.InvalidRequest, "60 lines"},
		`{"chat_id":"1001","message":"sign at ` + r.base + `/w/#s=1"}`:             {400, wallet.InvalidRequest, "signing page"},
		`{"chat_id":"1001","message":" \n "}`:                                      {400, wallet.InvalidRequest, "message"},
		`{"chat_id":"1001","message":"` + strings.Repeat("é", 4001) + `"}`:         {400, wallet.InvalidRequest, "4000"},
		`{"chat_id":"1001","message":"x","parse_mode":"markdown"}`:                 {400, wallet.InvalidRequest, "parse_mode"},
		`{"chat_id":"1001","message":"x","reply_markup":{"inline_keyboard":[[]]}}`: {400, wallet.InvalidRequest, "reply_markup"},
	} {
		r.want(post(a.token, body), c.status, c.code, c.says)
	}
	r.withdraws(r.alice, a)
	r.want(post(a.token, body), 403, wallet.ConsentRequired, "")
}

func TestWhatTelegramSaysOfAMessageIsTold(t *testing.T) {
	r := newHarness(t)
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	body := `{"chat_id":"1001","message":"*x","parse_mode":"Markdown"}`
	got, _ := r.sends(operator, body, store.SendResult{Refusal: "Bad Request: can't parse entities"}, "Idempotency-Key", "m")
	r.want(got, 400, wallet.InvalidRequest, "can't parse entities")
	got, _ = r.sends(operator, body, store.SendResult{Blocked: true}, "Idempotency-Key", "m") // the key was left free
	r.want(got, 403, wallet.BotBlocked, "")
	got, _ = r.sends(operator, body, store.SendResult{}, "Idempotency-Key", "m")
	r.want(got, 502, wallet.TelegramError, "")
	got, _ = r.sends(operator, body, store.SendResult{MessageID: 5}, "Idempotency-Key", "m")
	r.want(got, 200, "", "")
	again := r.call("POST", "/v1/telegram/send-message", operator, body, "Idempotency-Key", "m")
	if again.status != 200 || string(again.body) != string(got.body) || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("again: %d %s", again.status, again.body)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		u, err := tx.User(r.alice.User.ID)
		if err != nil {
			return err
		}
		u.Unreachable = true
		return tx.PutUser(u)
	}))
	r.want(r.call("POST", "/v1/telegram/send-message", operator, body), 403, wallet.BotBlocked, "after they write to it")
}

// TestAMessageIsSentOnceWhateverCrashes: its request ended in the midst, and comes again.
func TestAMessageIsSentOnceWhateverCrashes(t *testing.T) {
	for _, sent := range []bool{true, false} {
		r := newHarness(t)
		operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
		body := `{"chat_id":"1001","message":"hello"}`
		post := func() answer {
			return r.call("POST", "/v1/telegram/send-message", operator, body, "Idempotency-Key", "once")
		}
		// The first request's connection breaks while Telegram does not answer: as after a crash, the
		// record stays open, and the message in the outbox.
		r.bot.awaited = make(chan string, 2)
		ctx, cancel := context.WithCancel(context.Background())
		r.server.base = ctx
		first := make(chan answer, 1)
		go func() { first <- post() }()
		card := <-r.bot.awaited
		waits := func() (yes bool) {
			r.View(func(tx store.Tx) (err error) { yes, err = store.Waits(tx, 1001, card); return err })
			return yes
		}
		for !waits() {
		}
		cancel()
		r.want(<-first, 502, wallet.TelegramError, "Idempotency-Key")
		r.server.base = context.Background()
		if sent { // it goes out while nobody waits
			r.bot.awaited <- card
			r.ends(store.SendResult{MessageID: 9})
			r.want(post(), 200, "", "")
		} else {
			second := make(chan answer, 1)
			go func() { second <- post() }()
			r.ends(store.SendResult{MessageID: 9})
			got := <-second
			r.want(got, 200, "", "")
			if got.field("data", "message_id") != 9.0 {
				t.Errorf("got %s", got.body)
			}
		}
		if waits() {
			t.Error("it waits to be sent once more")
		}
		if got := post(); got.header.Get("Idempotency-Replayed") != "true" || got.field("data", "message_id") != 9.0 {
			t.Errorf("replay: %s", got.body)
		}
	}
}

// TestWhatAppsWroteLeavesNoRowsBehind: the file would grow with every message for ever.
func TestWhatAppsWroteLeavesNoRowsBehind(t *testing.T) {
	r := newHarness(t)
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	kept := func(card string) (yes bool) {
		r.View(func(tx store.Tx) error {
			_, err := tx.SendResult(1001, card)
			_, cardErr := tx.Card(1001, card)
			yes = !errors.Is(err, store.ErrNotFound) || !errors.Is(cardErr, store.ErrNotFound)
			return nil
		})
		return yes
	}
	swept := func() {
		r.Must(r.Update(func(tx store.Tx) error { _, err := tx.Sweep(r.Now(), 1000); return err }))
	}
	for _, headers := range [][]string{nil, {"Idempotency-Key", "m"}} {
		r.bot.awaited = make(chan string, 1)
		got := make(chan answer, 1)
		go func() {
			got <- r.call("POST", "/v1/telegram/send-message", operator, `{"chat_id":"1001","message":"x"}`, headers...)
		}()
		row := r.ends(store.SendResult{MessageID: 5})
		r.want(<-got, 200, "", "")
		if kept(row.Card) {
			t.Errorf("%v: what became of it outlives its answer", headers)
		}
	}
	for _, w := range []struct {
		headers []string
		life    time.Duration
	}{{nil, answerTimeout}, {[]string{"Idempotency-Key", "n"}, idempotencyTTL}} { // nobody reads it
		r.bot.awaited = make(chan string, 2)
		ctx, cancel := context.WithCancel(context.Background())
		r.server.base = ctx
		got := make(chan answer, 1)
		go func() {
			got <- r.call("POST", "/v1/telegram/send-message", operator, `{"chat_id":"1001","message":"x"}`, w.headers...)
		}()
		card := <-r.bot.awaited
		for waits := false; !waits; {
			r.View(func(tx store.Tx) (err error) { waits, err = store.Waits(tx, 1001, card); return err })
		}
		cancel()
		r.want(<-got, 502, wallet.TelegramError, "")
		r.server.base = context.Background()
		_, err := r.sendAs(card, store.SendResult{MessageID: 6}, nil)
		r.Must(err)
		r.Pass(w.life)
		swept()
		if !kept(card) {
			t.Errorf("%v: what became of it is forgotten while somebody may ask", w.headers)
		}
		r.Pass(time.Hour)
		swept()
		if kept(card) {
			t.Errorf("%v: what became of it outlives its request", w.headers)
		}
	}
}

func TestNobodyGetsMoreMessagesThanTheLimit(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.Limits.Messages = 3 })
	var tokens []string
	for range 2 { // over all tokens
		tokens = append(tokens, r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier}))
	}
	for i := range 3 {
		got, _ := r.sends(tokens[i%2], `{"chat_id":"1001","message":"x"}`, store.SendResult{MessageID: i + 1})
		r.want(got, 200, "", "")
	}
	over := r.call("POST", "/v1/telegram/send-message", tokens[1], `{"chat_id":"1001","message":"x"}`)
	r.want(over, 429, wallet.RateLimitExceeded, "3 messages a minute")
	if over.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	got, _ := r.sends(tokens[1], `{"chat_id":"1002","message":"x"}`, store.SendResult{MessageID: 9})
	r.want(got, 200, "", "")
}

// replies are what waits to be posted to a chat.
func (r *harness) replies(where int64) (said []chat.Reply) {
	r.Helper()
	for _, row := range storetest.Outbox(r, r.Store) {
		var reply chat.Reply
		if row.Chat == where && json.Unmarshal(row.Body, &reply) == nil {
			said = append(said, reply)
		}
	}
	return said
}

func TestAnAppRunsWhatAPersonTypes(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	run := func(command string, more string) answer {
		return r.call("POST", "/v1/telegram/execute-command", a.token, fmt.Sprintf(`{"chat_id":"1001","command":%q%s}`, command, more))
	}
	r.want(run("/wallet balance", ""), 403, wallet.ConsentRequired, "")
	r.allows(r.alice, a)
	got := run("/wallet balance", "")
	r.want(got, 200, "", "")
	if !strings.Contains(got.text("data", "response"), "`10` SOL") || got.text("data", "command") != "/wallet balance" || got.text("data", "executed_at") == "" {
		t.Errorf("got %s", got.body)
	}
	said := r.replies(1001)
	if len(said) != 1 || !strings.HasPrefix(said[0].Text, "<i>Carol's &lt;Shop&gt;, an app you gave access, ran <code>/wallet balance</code></i>") {
		t.Fatalf("posted %+v", said)
	}
	if r.want(run("/WALLET   balance", `,"silent":true`), 200, "", ""); len(r.replies(1001)) != 1 {
		t.Errorf("posted %+v", r.replies(1001))
	}
	for command, c := range map[string]struct {
		status int
		code   wallet.Code
	}{
		"hello":                    {400, wallet.UnknownCommand},
		"/nonsense":                {400, wallet.UnknownCommand},
		"/":                        {400, wallet.UnknownCommand},
		"\fconfirm":                {400, wallet.UnknownCommand},
		"/start":                   {403, wallet.PolicyViolation},
		"/wallet new":              {403, wallet.PolicyViolation},
		"/wallet frobnicate":       {400, wallet.InvalidRequest},
		"/wallet blance":           {400, wallet.InvalidRequest},
		"/wallet disconnect x":     {403, wallet.PolicyViolation},
		"/wallet address 1.5 USDC": {403, wallet.PolicyViolation},
		"/contacts":                {403, wallet.PolicyViolation},
		"/cancel":                  {403, wallet.PolicyViolation},
		"/delete_me":               {403, wallet.PolicyViolation},
		"/send":                    {400, wallet.InvalidRequest},
		"/send 1 SOL":              {400, wallet.InvalidRequest},
		"/send 1 SOL Bob":          {400, wallet.InvalidRequest},
		"/send max SOL":            {400, wallet.InvalidRequest},
		"/send 1e3 SOL x":          {400, wallet.InvalidRequest},
		strings.Repeat("/", 2000):  {400, wallet.InvalidRequest},
	} {
		r.want(run(command, ""), c.status, c.code, "")
	}
	r.want(r.call("POST", "/v1/telegram/execute-command", a.token, `{"chat_id":"1001","command":"/help","silent":"no"}`), 400, wallet.InvalidRequest, "silent")
	if n := len(r.replies(1001)); n != 1 {
		t.Errorf("%d posted", n)
	}
}

// TestAnAppProposesAndNeverConfirms: the person is asked, silent or not, and their own conversation
// goes on where it was.
func TestAnAppProposesAndNeverConfirms(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	r.allows(r.alice, a)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutConversation(store.Conversation{Chat: 1001, User: 1001, Flow: "send", State: "amount", Data: []byte("{}"), ExpiresAt: r.Now().Add(chat.AnswerTimeout)})
	}))
	command := fmt.Sprintf(`{"chat_id":"1001","command":"/send 1.5 SOL %s memo order 7","silent":true}`, r.bob.Address())
	got := r.call("POST", "/v1/telegram/execute-command", a.token, command, "Idempotency-Key", "pay")
	r.want(got, 200, "", "")
	again := r.call("POST", "/v1/telegram/execute-command", a.token, command, "Idempotency-Key", "pay")
	if string(again.body) != string(got.body) {
		t.Errorf("again %s", again.body)
	}
	r.View(func(tx store.Tx) error {
		open, err := tx.UnsettledFrom(r.alice.Address())
		if err != nil || len(open) != 1 || open[0].Status != wallet.AwaitingConfirmation || open[0].KeyID == "" || open[0].Owner != r.alice.User.ID || open[0].Memo != "order 7" {
			t.Errorf("open %+v, %v", open, err)
		}
		if names := r.Events(open[0].ID); len(names) != 1 || names[0] != wallet.TransactionProposed {
			t.Errorf("announced %v", names)
		}
		conv, err := tx.Conversation(1001, 1001, "")
		if err != nil || conv.Flow != "send" || conv.State != "amount" || conv.Version != 1 {
			t.Errorf("the person's conversation is %+v, %v", conv, err)
		}
		return nil
	})
	if said := r.replies(1001); len(said) != 0 {
		t.Errorf("posted %+v", said)
	}
	// The same by the wallet's endpoint, and no more questions than a person can bear.
	for i := range 10 {
		sent := r.send(a.secret, r.sendBody("amount", fmt.Sprintf("0.%d", i+1)))
		if i < 4 {
			r.want(sent, 202, "", "")
		} else {
			r.want(sent, 429, wallet.RateLimitExceeded, "waiting for this wallet's owner")
		}
	}
	// Nor may they be worn down: what is rejected counts as well.
	for round := range 20 {
		var open []wallet.Transaction
		r.View(func(tx store.Tx) (err error) { open, err = tx.UnsettledFrom(r.alice.Address()); return err })
		for _, t := range open {
			r.Must(r.Update(func(tx store.Tx) error { _, err := r.Transfers.Reject(tx, r.alice.Caller(), t.ID); return err }))
		}
		if sent := r.send(a.secret, r.sendBody("amount", "0.01")); sent.status == 429 && strings.Contains(sent.text("error", "details"), "within an hour") {
			break
		} else if round == 19 {
			t.Errorf("asked again and again: %d %s", sent.status, sent.body)
		}
	}
	r.withdraws(r.alice, a)
	r.want(r.send(a.secret, r.sendBody()), 404, wallet.WalletNotFound, "")
	r.want(r.call("POST", "/v1/telegram/execute-command", a.token, command), 403, wallet.ConsentRequired, "")
}

func TestAppsKnowWhoAllowsIt(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	r.want(r.get("/v1/telegram/user/1001", a.token), 403, wallet.ConsentRequired, "")
	r.allows(r.alice, a)
	got := r.get("/v1/telegram/user/1001", a.token)
	r.want(got, 200, "", "")
	if want := `{"telegram_id":"1001","username":"@alice","registered_at":"2026-11-21T12:00:00.000Z","wallet_connected":true,"notifications_enabled":true}`; !strings.Contains(string(got.body), want) {
		t.Errorf("got %s", got.body)
	}
	set := r.call("PUT", "/v1/telegram/user/1001/notifications", a.token, `{"enabled":false,"events":["price.alert","transaction.*","price.alert"]}`)
	r.want(set, 200, "", "")
	if want := `{"enabled":false,"events":["price.alert","transaction.*"],"updated_at":"2026-11-21T12:00:00.000Z"}`; !strings.Contains(string(set.body), want) {
		t.Errorf("got %s", set.body)
	}
	if got := r.get("/v1/notifications", r.alice.secret); !strings.Contains(string(got.body), `{"enabled":true,"events":["price.alert","price.significant_change","stake.cooldown","stake.reward","stake.status","stake.validator","transaction.failed","transaction.large","transaction.received"]`) {
		t.Errorf("her own settings became %s", got.body)
	}
	if got := r.get("/v1/telegram/user/1001", a.token); got.field("data", "notifications_enabled") != false {
		t.Errorf("got %s", got.body)
	}
	for body, says := range map[string]string{
		`{"enabled":true}`: "events",
		`{"events":[]}`:    "enabled",
		`{"enabled":true,"events":["transaction.stolen"]}`: "events",
		`{"enabled":true,"events":"*"}`:                    "events",
		`{"enabled":true,"events":[null]}`:                 "events",
		`{"enabled":null,"events":[]}`:                     "enabled",
	} {
		r.want(r.call("PUT", "/v1/notifications", r.alice.secret, body), 400, wallet.InvalidRequest, says)
	}
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.want(r.get("/v1/notifications", operator), 404, wallet.UserNotFound, "This key has no owner")
}

func TestABotTokenHasOneWebhook(t *testing.T) {
	r := newHarness(t)
	token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	free := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier})
	const path = "/v1/telegram/webhook"
	body := `{"url":"https://example.com/hook","events":["command.executed","*"]}`
	r.want(r.get(path, token), 404, wallet.WebhookNotFound, "")
	r.want(r.call("POST", path, free, body), 403, wallet.TierRequired, "pro")
	a := r.call("POST", path, token, body, "Idempotency-Key", "hook")
	r.want(a, 201, "", "")
	secret := a.text("data", "secret")
	r.secrets = append(r.secrets, secret)
	if !strings.HasPrefix(secret, "whsec_") || len(secret) != len("whsec_")+44 {
		t.Errorf("got %s", a.body)
	}
	replay := r.call("POST", path, token, body, "Idempotency-Key", "hook")
	if replay.status != 201 || replay.text("data", "secret") != "" || replay.field("data", "secret_shown") != true {
		t.Errorf("replay: %d %s", replay.status, replay.body)
	}
	if got := r.get(path, token); got.text("data", "url") != "https://example.com/hook" || strings.Contains(string(got.body), "secret") {
		t.Errorf("got %s", got.body)
	}
	given := r.call("POST", path, token, `{"url":"https://example.com/other","events":["user.registered"],"secret":"0123456789abcdef"}`)
	r.want(given, 201, "", "")
	if strings.Contains(string(given.body), "0123456789abcdef") || given.text("data", "webhook_id") == a.text("data", "webhook_id") {
		t.Errorf("got %s", given.body)
	}
	for _, url := range []string{"http://example.com/", "https://user:pass@example.com/", "https://127.0.0.1/", "https://10.1.2.3/", "https://[::1]/", "https://[::ffff:127.0.0.1]/",
		"https://localhost/", "https://printer.local/", "https://db.internal/", "https://intranet/", "https://2130706433/", "https://0x7f.1/", "https://127.1/",
		"https://example.com/#x", "ftp://example.com/", "https://", "javascript:alert(1)", "https://exa mple.com/", "https://169.254.169.254/latest", "https://[::127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/", "https://[fec0::1]/", "https://100.64.0.1/", "https://198.18.0.1/",
		"https://240.0.0.1/", "https://0.0.0.1/", "https://localhost.localdomain/", "https://a.lan/", "https://a.home.arpa/", "https://a.test/", "https://../", "https://a..b/", "https://example.com:0/", "https://example.com:99999/", "https://-a.com/", "https://" + strings.Repeat("a", 2100) + ".com/"} {
		r.want(r.call("POST", path, token, fmt.Sprintf(`{"url":%q,"events":["*"]}`, url)), 400, wallet.InvalidWebhookURL, "url")
	}
	for body, says := range map[string]string{
		`{"url":"https://example.com/","events":[]}`:                        "events",
		`{"url":"https://example.com/","events":["transaction.confirmed"]}`: "events",
		`{"url":"https://example.com/","events":["*"],"secret":"short"}`:    "secret",
		`{"url":"https://example.com/","events":["*"],"active":true}`:       "active",
		`{"events":["*"]}`: "url",
	} {
		r.want(r.call("POST", path, token, body), 400, wallet.InvalidRequest, says)
	}
	for _, url := range []string{"https://1.bad/", "https://xn--bcher-kva.example.com:8443/a?b=c", "https://8.8.8.8/", "https://[2606:4700::1111]/"} {
		r.want(r.call("POST", path, token, fmt.Sprintf(`{"url":%q,"events":["*"]}`, url)), 201, "", "")
	}
	r.want(r.call("DELETE", path, token, ""), 200, "", "")
	r.want(r.call("DELETE", path, token, ""), 404, wallet.WebhookNotFound, "")
}

// TestAMistakeInAMessageIsNotPlacedInPursersOwnLine: Telegram counts from there.
func TestAMistakeInAMessageIsNotPlacedInPursersOwnLine(t *testing.T) {
	for telegram, told := range map[string]string{
		"Bad Request: can't parse entities: Can't find end of Bold entity at byte offset 44":         "Bad Request: can't parse entities: Can't find end of Bold entity",
		"Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 44": "Bad Request: can't parse entities: Can't find end of the entity",
		`Bad Request: can't parse entities: Unmatched end tag at byte offset 4, expected "</b>"`:     `Bad Request: can't parse entities: Unmatched end tag, expected "</b>"`,
	} {
		r := newHarness(t)
		token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
		a, _ := r.sends(token, `{"chat_id":"1001","message":"a *b","parse_mode":"Markdown"}`, store.SendResult{Refusal: telegram})
		r.want(a, 400, wallet.InvalidRequest, "message: Telegram doesn't accept it: "+told)
	}
}

// TestAnAppsOwnerReadsThatItIsTheirs: and of a key without an app, which one it was.
func TestAnAppsOwnerReadsThatItIsTheirs(t *testing.T) {
	r := newHarness(t)
	for app, head := range map[string]string{"Till": "<i>Your app Till ran <code>/wallet address</code></i>", "": "<i>Your own key …%s ran <code>/wallet address</code></i>"} {
		before := len(r.replies(1001))
		token := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, App: app})
		r.want(r.call("POST", "/v1/telegram/execute-command", token, `{"chat_id":"1001","command":"/wallet address"}`), 200, "", "")
		want := strings.Replace(head, "%s", token[len(token)-4:], 1)
		if said := r.replies(1001)[before:]; len(said) == 0 || !strings.HasPrefix(said[0].Text, want) {
			t.Errorf("app %q: posted %+v, want %s", app, said, want)
		}
	}
}

// TestNoAppNamesTheSigningPageThroughTheDoor: chat's own test has every form.
func TestNoAppNamesTheSigningPageThroughTheDoor(t *testing.T) {
	r := newHarness(t)
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	for mode, dot := range map[string]string{"MarkdownV2": `\\.`, "HTML": "&#46;", "Markdown": "."} {
		link := strings.ReplaceAll(r.base, ".", dot) + "/w/"
		a := r.call("POST", "/v1/telegram/send-message", operator, fmt.Sprintf(`{"chat_id":"1001","message":"%s","parse_mode":"%s"}`, link, mode))
		r.want(a, 400, wallet.InvalidRequest, "signing page")
	}
}

// TestAnAppReadsAPersonsWalletOnlyWithTheirWalletRead: bot:execute alone gives no balance, wallets or history. The owner's own
// bot and an operator's need no grant.
func TestAnAppReadsAPersonsWalletOnlyWithTheirWalletRead(t *testing.T) {
	r := newHarness(t)
	a := r.app()
	grant := func(scopes ...wallet.Scope) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutGrant(wallet.Grant{User: r.alice.User.ID, App: a.id, Scopes: scopes, GrantedAt: r.Now()})
		}))
	}
	run := func(token, command string) answer {
		return r.call("POST", "/v1/telegram/execute-command", token, fmt.Sprintf(`{"chat_id":"1001","command":%q,"silent":true}`, command))
	}
	reads := []string{"/wallet", "/wallet list", "/WALLET Balance", "/wallet balance SOL", "/wallet sol", "/wallet history", "/wallet history all",
		"/balance", "/portfolio", "/history", "/history all", "/txs", "/wallets", "/account", "/stake", "/stake rewards", "/staking", "/stake Positions"}
	others := []string{"/wallet address", "/address", "/help", "/privacy", "/stake validators"}
	grant(wallet.BotExecute)
	for _, command := range reads {
		r.want(run(a.token, command), 403, wallet.ConsentRequired, "wallet:read")
	}
	for _, command := range others {
		r.want(run(a.token, command), 200, "", "")
	}
	r.want(run(a.token, "/wallet new"), 403, wallet.PolicyViolation, "")
	grant(wallet.WalletRead)
	r.want(run(a.token, "/wallet balance"), 403, wallet.ConsentRequired, "bot:execute")
	grant(wallet.BotExecute, wallet.WalletRead)
	own := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, App: "Till"})
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	for _, token := range []string{a.token, own, operator} {
		for _, command := range append(slices.Clone(others), reads[:7]...) {
			r.want(run(token, command), 200, "", "")
		}
	}
}
