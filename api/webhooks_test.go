// Long: every endpoint below /v1/webhooks, by one receiver and its helpers.

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

const hooksPath = "/v1/webhooks"

// pro makes a pro key with a line of its own.
func (r *harness) pro(kind wallet.KeyKind, owner int64, app string) string {
	r.Helper()
	return r.newKey(handlers.KeyRequest{Kind: kind, Tier: wallet.ProTier, OwnerTelegramID: owner, App: app})
}

// hook registers a webhook with a key, and returns its path and secret.
func (r *harness) hook(secret, events string) (path, signs string) {
	r.Helper()
	a := r.call("POST", hooksPath, secret, `{"url":"https://hooks.example.com/in","events":`+events+`}`)
	r.want(a, 201, "", "")
	signs = a.text("data", "secret")
	r.secrets = append(r.secrets, signs)
	return hooksPath + "/" + a.text("data", "webhook_id"), signs
}

// receipts are what a receiver has got.
type receipts struct {
	mu  sync.Mutex
	all []webhooks.Message
}

func (got *receipts) add(m webhooks.Message) {
	got.mu.Lock()
	defer got.mu.Unlock()
	got.all = append(got.all, m)
}

func (got *receipts) list() []webhooks.Message {
	got.mu.Lock()
	defer got.mu.Unlock()
	return slices.Clone(got.all)
}

// receives lets a receiver answer with a status, and notes what it gets.
func (r *harness) receives(status int, answer string) *receipts {
	got := &receipts{}
	r.Receiver = func(m webhooks.Message) webhooks.Result {
		got.add(m)
		result := webhooks.Result{Status: status, Latency: 84 * time.Millisecond, Answer: []byte(answer)}
		if status/100 != 2 {
			result.Reason = wallet.Because("attempt.status", wallet.NumberArg("Status", status))
		}
		return result
	}
	return got
}

// delivers runs the engine until the returned function is called, or the test ends.
func (r *harness) delivers() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Delivery.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(stop)
	return stop
}

// until asks again until an answer is as wanted.
func (r *harness) until(path, secret string, done func(answer) bool) answer {
	r.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		a := r.get(path, secret)
		if done(a) {
			return a
		}
		if time.Now().After(deadline) {
			r.Fatalf("%s stays %d %s", path, a.status, a.body)
		}
	}
}

// received emits a transaction.received of somebody.
func (r *harness) received(to wallet.UserID) {
	r.Helper()
	event, err := wallet.NewEvent(r.NewID("evt"), wallet.TransactionReceived, r.Now(), to, wallet.TransactionReceivedData{
		TransactionID: "tx_1", WalletAddress: r.alice.Address(), Amount: "1", Token: "SOL", ReceivedAt: wallet.Timestamp(r.Now())})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return tx.Emit(event) }))
}

func TestAKeyHasWebhooksOfItsOwn(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	if a := r.get(hooksPath, key); a.field("data", "total_count") != 0.0 || !strings.Contains(string(a.body), `"webhooks":[]`) {
		t.Errorf("none: %s", a.body)
	}
	body := `{"url":"https://hooks.example.com/in?x=1","events":["transaction.*","price.alert","transaction.*"]}`
	made := r.call("POST", hooksPath, key, body, "Idempotency-Key", "hook")
	r.want(made, 201, "", "")
	signs := made.text("data", "secret")
	r.secrets = append(r.secrets, signs)
	if len(signs) != len("whsec_")+44 || made.field("data", "active") != true || made.text("data", "last_triggered") != "" ||
		fmt.Sprint(made.field("data", "events")) != "[price.alert transaction.*]" {
		t.Errorf("made: %s", made.body)
	}
	replay := r.call("POST", hooksPath, key, body, "Idempotency-Key", "hook")
	if replay.status != 201 || replay.text("data", "secret") != "" || replay.field("data", "secret_shown") != true || replay.text("data", "webhook_id") != made.text("data", "webhook_id") {
		t.Errorf("replay: %d %s", replay.status, replay.body)
	}
	given := r.call("POST", hooksPath, key, `{"url":"https://hooks.example.com/b","events":["*"],"secret":"a secret of my own","active":false}`)
	r.want(given, 201, "", "")
	r.secrets = append(r.secrets, "a secret of my own")
	if strings.Contains(string(given.body), "secret") || given.field("data", "active") != false {
		t.Errorf("given: %s", given.body)
	}
	list := r.get(hooksPath, key)
	if list.field("data", "total_count") != 2.0 || strings.Contains(string(list.body), "secret") {
		t.Errorf("list: %s", list.body)
	}

	path := hooksPath + "/" + made.text("data", "webhook_id")
	r.Pass(time.Minute)
	for body, want := range map[string]string{
		`{"url":"https://hooks.example.com/c"}`: "https://hooks.example.com/c", `{"events":["*"]}`: "[*]", `{"active":false}`: "false", `{}`: "",
	} {
		a := r.call("PUT", path, key, body)
		r.want(a, 200, "", "")
		if !strings.Contains(fmt.Sprint(a.field("data")), want) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	a := r.get(path, key)
	if a.text("data", "url") != "https://hooks.example.com/c" || fmt.Sprint(a.field("data", "events")) != "[*]" || a.field("data", "active") != false ||
		a.text("data", "updated_at") == a.text("data", "created_at") || a.field("data", "health", "events", "limit") != 10000.0 {
		t.Errorf("changed: %s", a.body)
	}
	for body, code := range map[string]wallet.Code{
		`{"url":"http://hooks.example.com/"}`: wallet.InvalidWebhookURL, `{"url":"https://10.0.0.1/"}`: wallet.InvalidWebhookURL, `{"url":null}`: wallet.InvalidRequest,
		`{"events":[]}`: wallet.InvalidRequest, `{"events":["user.registered"]}`: wallet.InvalidRequest, `{"events":["webhook.test"]}`: wallet.InvalidRequest,
		`{"events":["transaction.stolen"]}`: wallet.InvalidRequest, `{"active":"yes"}`: wallet.InvalidRequest, `{"secret":"0123456789abcdef"}`: wallet.InvalidRequest,
	} {
		r.want(r.call("PUT", path, key, body), 400, code, "")
	}
	r.Unreachable = func(address string) error {
		if strings.Contains(address, "inside") {
			return wallet.Refuse(wallet.InvalidWebhookURL, "attempt.no_address")
		}
		return nil
	}
	inside := `{"url":"https://inside.example.com/","events":["*"]}`
	r.want(r.call("POST", hooksPath, key, inside), 400, wallet.InvalidWebhookURL, "url: the name leads to no address on the internet")
	r.want(r.call("PUT", path, key, inside), 400, wallet.InvalidWebhookURL, "url: the name leads to no address on the internet")
	if a := r.get(path, key); a.text("data", "url") != "https://hooks.example.com/c" {
		t.Errorf("a refused address was kept: %s", a.body)
	}
	for _, secret := range []string{strings.Repeat("a5Gk9", 25) + "abc", "16 hex: 0a1b2c3d", "whsec_" + strings.Repeat("abcde012", 4)} {
		r.want(r.call("POST", hooksPath, key, fmt.Sprintf(`{"url":"https://hooks.example.com/","events":["*"],"secret":%q}`, secret)), 201, "", "")
	}
	for secret, says := range map[string]string{strings.Repeat(" ", 20): "space", " 0123456789abcdef": "space", "0123456789abcdef ": "space", strings.Repeat("x", 20): "guess",
		strings.Repeat("abcd", 5): "guess", "abcd abcd abcd abcd": "guess", "a" + strings.Repeat(" ", 17) + "b": "guess", "whsec_" + strings.Repeat("A", 32): "guess", "whsec_0123456789abcde": "base64",
		"whsec_" + strings.Repeat("abcde012", 3)[:20]: "base64", "whsec_not base64 at all!": "base64", "whsec_" + strings.Repeat("abcde-_2", 4): "base64"} {
		r.want(r.call("POST", hooksPath, key, fmt.Sprintf(`{"url":"https://hooks.example.com/","events":["*"],"secret":%q}`, secret)), 400, wallet.InvalidRequest, says)
	}
	for _, secret := range []string{"short", strings.Repeat("x", 129), "0123456789abcdé!", "0123456789abcde\n", ""} {
		text, err := json.Marshal(secret)
		r.Must(err)
		r.want(r.call("POST", hooksPath, key, `{"url":"https://hooks.example.com/","events":["*"],"secret":`+string(text)+`}`), 400, wallet.InvalidRequest, "secret")
	}
	r.want(r.call("DELETE", path, key, ""), 200, "", "")
	for _, a := range []answer{r.get(path, key), r.call("PUT", path, key, `{}`), r.call("DELETE", path, key, ""), r.get(hooksPath+"/"+strings.Repeat("x", 65), key)} {
		r.want(a, 404, wallet.WebhookNotFound, "")
	}

	free := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	r.want(r.call("POST", hooksPath, free, body), 403, wallet.TierRequired, "pro")
	reads := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001, Scopes: []wallet.Scope{wallet.WalletRead}})
	r.want(r.get(hooksPath, reads), 403, wallet.InsufficientScope, "webhooks")
}

// TestAKeyThatMayHaveNoWebhooksLooksAndRemoves: after a downgrade it sees what it had, and nothing leaves it.
func TestAKeyThatMayHaveNoWebhooksLooksAndRemoves(t *testing.T) {
	r := newHarness(t)
	r.person(1001, sol)
	sent := r.receives(500, "")
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		key := r.pro(kind, 1001, "")
		path, list := "/v1/telegram/webhook", "/v1/telegram/webhook"
		if kind == wallet.APIKey {
			path, _ = r.hook(key, `["*"]`)
			list = hooksPath
		} else {
			r.want(r.call("POST", path, key, `{"url":"https://hooks.example.com/in","events":["*"]}`), 201, "", "")
		}
		tested := len(sent.list())
		a := r.call("POST", path+"/test", key, "")
		r.want(a, 200, "", "")
		delivery := path + "/deliveries/" + a.text("data", "delivery_id")
		r.change(key, func(k *wallet.Key) { k.Tier = wallet.FreeTier })
		for _, ask := range [][3]string{
			{"POST", list, `{"url":"https://other.example.com/","events":["*"]}`}, {"PUT", path, `{"active":true}`}, {"POST", path + "/test", ""},
			{"POST", path + "/secret/rotate", ""}, {"POST", delivery + "/resend", ""}, {"POST", path + "/recover", `{"since":"2026-01-01T00:00:00Z"}`},
		} {
			r.want(r.call(ask[0], ask[1], key, ask[2]), 403, wallet.TierRequired, "pro")
		}
		for _, see := range []string{list, path, path + "/deliveries", delivery} {
			r.want(r.get(see, key), 200, "", "")
		}
		r.want(r.call("DELETE", path, key, ""), 200, "", "")
		if n := len(sent.list()) - tested; n != 1 {
			t.Errorf("%d deliveries, want the one test of before", n)
		}
	}
}

func TestAKeyHasTwentyWebhooksAtMost(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	var path string
	for range handlers.MaxWebhooks {
		path, _ = r.hook(key, `["*"]`)
	}
	one := `{"url":"https://hooks.example.com/","events":["*"]}`
	r.want(r.call("POST", hooksPath, key, one), 409, wallet.WebhookLimitReached, "20")
	rotated := r.call("POST", "/v1/key/rotate", key, `{}`)
	next := rotated.text("data", "key")
	r.secrets = append(r.secrets, next)
	r.want(r.call("POST", hooksPath, next, one), 409, wallet.WebhookLimitReached, "20") // they are the line's
	r.want(r.call("DELETE", path, next, ""), 200, "", "")
	r.want(r.call("POST", hooksPath, next, one), 201, "", "")
	r.want(r.call("POST", hooksPath, r.pro(wallet.APIKey, 1001, ""), one), 201, "", "")
}

func TestASecretIsRotatedWithAGrace(t *testing.T) {
	r := newHarness(t)
	token := r.pro(wallet.BotKey, 0, "")
	set := r.call("POST", "/v1/telegram/webhook", token, `{"url":"https://hooks.example.com/in","events":["*"]}`)
	key := r.pro(wallet.APIKey, 1001, "")
	path, first := r.hook(key, `["*"]`)
	for _, h := range []struct{ path, key, secret string }{{path, key, first}, {"/v1/telegram/webhook", token, set.text("data", "secret")}} {
		got := r.receives(200, "")
		rotated := r.call("POST", h.path+"/secret/rotate", h.key, `{"grace_seconds":60}`, "Idempotency-Key", "rotate")
		r.want(rotated, 200, "", "")
		second := rotated.text("data", "secret")
		r.secrets = append(r.secrets, h.secret, second)
		if second == h.secret || second == "" || rotated.text("data", "previous_until") != wallet.Timestamp(r.Now().Add(time.Minute)) {
			t.Errorf("rotated: %s", rotated.body)
		}
		replay := r.call("POST", h.path+"/secret/rotate", h.key, `{"grace_seconds":60}`, "Idempotency-Key", "rotate")
		if replay.text("data", "secret") != "" || replay.field("data", "secret_shown") != true {
			t.Errorf("replay: %s", replay.body)
		}
		r.want(r.call("POST", h.path+"/test", h.key, ""), 200, "", "")
		r.Pass(time.Minute)
		r.want(r.call("POST", h.path+"/test", h.key, ""), 200, "", "")
		third := r.call("POST", h.path+"/secret/rotate", h.key, `{"grace_seconds":0}`).text("data", "secret")
		r.secrets = append(r.secrets, third)
		r.want(r.call("POST", h.path+"/test", h.key, "{}"), 200, "", "")
		for i, want := range []webhooks.Message{{Secret: second, Previous: h.secret}, {Secret: second}, {Secret: third}} {
			if m := got.list()[i]; m.Secret != want.Secret || m.Previous != want.Previous {
				t.Errorf("%d: signed otherwise", i)
			}
		}
		usual := r.call("POST", h.path+"/secret/rotate", h.key, "")
		r.secrets = append(r.secrets, usual.text("data", "secret"))
		if usual.text("data", "previous_until") != wallet.Timestamp(r.Now().Add(24*time.Hour)) {
			t.Errorf("usual: %s", usual.body)
		}
		for _, grace := range []string{"-1", "-0", "604801", "1.5", `"60"`, "null", "1e3", "[]"} {
			r.want(r.call("POST", h.path+"/secret/rotate", h.key, `{"grace_seconds":`+grace+`}`), 400, wallet.InvalidRequest, "grace_seconds")
		}
	}
}

func TestATestTellsStatusAndNotTheBody(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["price.alert"]`)
	got := r.receives(500, "what the receiver says \xff")
	a := r.call("POST", path+"/test", key, "", "Idempotency-Key", "test")
	r.want(a, 200, "", "")
	if a.field("data", "delivered") != false || a.field("data", "status") != 500.0 || a.field("data", "latency_ms") != 84.0 || a.text("data", "error") != "The endpoint returned 500." ||
		strings.Contains(string(a.body), "receiver says") {
		t.Errorf("got %s", a.body)
	}
	if replay := r.call("POST", path+"/test", key, "", "Idempotency-Key", "test"); len(got.list()) != 1 || string(replay.body) != string(a.body) {
		t.Errorf("replay: %s, sent %d times", replay.body, len(got.list()))
	}
	one := r.get(path+"/deliveries/"+a.text("data", "delivery_id"), key)
	if body := string(got.list()[0].Body); one.text("data", "body") != body || !strings.Contains(body, `"event":"webhook.test"`) || !strings.Contains(body, `"data":{"webhook_id":"`+strings.TrimPrefix(path, "/v1/webhooks/")+`","message":"This is a test. Nothing happened."}`) ||
		!strings.Contains(string(one.body), `"answer":"what the receiver says \ufffd"`) && !strings.Contains(string(one.body), "what the receiver says \ufffd") || one.text("data", "state") != "dead_lettered" {
		t.Errorf("logged: %s", one.body)
	}
	if a := r.get(path, key); a.text("data", "last_triggered") != wallet.Timestamp(r.Now()) || a.text("data", "health", "last_success") != "" {
		t.Errorf("after a failed test: %s", a.body)
	}
	r.want(r.call("PUT", path, key, `{"active":false}`), 200, "", "")
	r.receives(204, "")
	if a := r.call("POST", path+"/test", key, `{}`); a.field("data", "delivered") != true || a.field("data", "status") != 204.0 {
		t.Errorf("turned off: %s", a.body)
	}
	if a := r.get(path, key); a.text("data", "health", "last_success") != wallet.Timestamp(r.Now()) || a.field("data", "health", "events", "used") != 2.0 || !strings.Contains(string(a.body), `"succeeded":1,"failed":1`) {
		t.Errorf("health: %s", a.body)
	}
	// What was parked of tests is not recovered.
	r.want(r.call("PUT", path, key, `{"active":true}`), 200, "", "")
	if a := r.call("POST", path+"/recover", key, `{"since":"2026-11-21T00:00:00Z"}`); a.field("data", "recovered") != 0.0 {
		t.Errorf("recovered: %s", a.body)
	}
	r.Delivery.Limit.Count = 2
	r.want(r.call("POST", path+"/test", key, ""), 429, wallet.RateLimitExceeded, "hour")
}

func TestADeliveryIsReadResentAndCountsOnce(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["transaction.*"]`)
	got := r.receives(200, "thank you")
	r.received(r.alice.User.ID)
	waits := r.get(path+"/deliveries", key)
	if strings.Contains(string(waits.body), "dlv_") { // an announcement is no delivery yet
		t.Errorf("before: %s", waits.body)
	}
	r.delivers()
	list := r.until(path+"/deliveries?state=delivered", key, func(a answer) bool { return strings.Contains(string(a.body), "dlv_") })
	one := list.field("data", "deliveries").([]any)[0].(map[string]any)
	if one["event"] != "transaction.received" || one["attempts"] != 1.0 || one["last_status"] != 200.0 || strings.Contains(string(list.body), "amount") {
		t.Errorf("listed: %s", list.body)
	}
	at := path + "/deliveries/" + one["delivery_id"].(string)
	whole := r.get(at, key)
	if whole.text("data", "body") != string(got.list()[0].Body) || !strings.Contains(string(whole.body), "thank you") || whole.field("data", "body_shown") != true {
		t.Errorf("whole: %s", whole.body)
	}
	again := r.call("POST", at+"/resend", key, "", "Idempotency-Key", "again")
	r.want(again, 202, "", "")
	id := again.text("data", "delivery_id")
	if id == one["delivery_id"] || again.text("data", "state") != "waiting" || again.field("data", "resend") != true || again.text("data", "event_id") != one["event_id"] {
		t.Errorf("again: %s", again.body)
	}
	r.until(path+"/deliveries/"+id, key, func(a answer) bool { return a.text("data", "state") == "delivered" })
	if replay := r.call("POST", at+"/resend", key, "", "Idempotency-Key", "again"); replay.text("data", "delivery_id") != id {
		t.Errorf("replay: %s", replay.body)
	}
	if all := got.list(); len(all) != 2 || all[0].EventID != all[1].EventID || string(all[0].Body) != string(all[1].Body) {
		t.Errorf("sent %d times: %+v", len(all), all)
	}
	r.want(r.get(path+"/deliveries/dlv_none", key), 404, wallet.NotFound, "")
	r.want(r.call("POST", path+"/deliveries/dlv_none/resend", key, ""), 404, wallet.NotFound, "")
	other, _ := r.hook(key, `["*"]`)
	r.want(r.get(other+"/deliveries/"+id, key), 404, wallet.NotFound, "") // another webhook's
	r.want(r.call("PUT", path, key, `{"events":["price.alert"]}`), 200, "", "")
	r.want(r.call("POST", at+"/resend", key, ""), 409, wallet.Conflict, "transaction.received")
	r.want(r.call("PUT", path, key, `{"events":["*"],"active":false}`), 200, "", "")
	r.want(r.call("POST", at+"/resend", key, ""), 409, wallet.Conflict, "turned off")
}

func TestWhatIsParkedIsRecovered(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["transaction.*"]`)
	r.receives(404, "")
	stop := r.delivers()
	const many = 450 // more than one transaction's worth
	for range many {
		r.received(r.alice.User.ID)
	}
	parked := func(a answer) bool { return strings.Count(string(a.body), `"dead_lettered"`) == 100 }
	r.until(path+"/deliveries?state=dead_lettered&limit=100", key, parked)
	r.until(path, key, func(a answer) bool { // all were made, and have ended
		return a.field("data", "health", "waiting") == 0.0 && strings.Contains(string(a.body), fmt.Sprintf(`"dead_lettered":%d`, many))
	})
	if a := r.get(path, key); a.text("data", "failing_since") == "" {
		t.Errorf("health: %s", a.body)
	}
	stop()
	since := fmt.Sprintf(`{"since":%q}`, wallet.Timestamp(r.Now().Add(-time.Hour)))
	one := r.get(path+"/deliveries?state=dead_lettered&limit=1", key).field("data", "deliveries").([]any)[0].(map[string]any)["delivery_id"].(string)
	first := r.call("POST", path+"/recover", key, since, "Idempotency-Key", "recover")
	r.want(first, 202, "", "")
	if first.field("data", "recovered") != float64(many) || first.text("data", "next_since") != "" {
		t.Errorf("recovered: %s", first.body)
	}
	if replay := r.call("POST", path+"/recover", key, since, "Idempotency-Key", "recover"); string(replay.body) != string(first.body) {
		t.Errorf("replay: %s", replay.body)
	}
	if a := r.call("POST", path+"/recover", key, since); a.field("data", "recovered") != 0.0 {
		t.Errorf("twice: %s", a.body)
	}
	if ids := r.walk(path, key, "?state=dead_lettered"); len(ids) > 0 {
		t.Errorf("still parked: %v", ids)
	}
	if a := r.get(path+"/deliveries/"+one, key); a.text("data", "state") != "waiting" || a.field("data", "attempts") != 1.0 || a.text("data", "ended_at") != "" {
		t.Errorf("one of them: %s", a.body)
	}
	r.want(r.call("POST", path+"/deliveries/"+one+"/resend", key, ""), 409, wallet.Conflict, "still waiting")
	if n := len(r.walk(path, key, "?state=waiting&limit=13")); n != 200 { // of a long line the first ones are listed
		t.Errorf("%d wait", n)
	}
	got := r.receives(200, "")
	r.delivers()
	r.until(path, key, func(a answer) bool { return a.field("data", "health", "waiting") == 0.0 })
	if n := len(got.list()); n != many {
		t.Errorf("%d were sent, not %d", n, many)
	}
	if n := len(r.walk(path, key, "?state=delivered&limit=100")); n != many {
		t.Errorf("%d are delivered", n)
	}
	for _, body := range []string{`{}`, `{"since":"yesterday"}`, `{"since":1}`, `{"since":"2026-11-21T00:00:00Z","until":"x"}`} {
		r.want(r.call("POST", path+"/recover", key, body), 400, wallet.InvalidRequest, "")
	}
	r.want(r.call("PUT", path, key, `{"active":false}`), 200, "", "")
	r.want(r.call("POST", path+"/recover", key, since), 409, wallet.Conflict, "turned off")
}

// walk reads all pages of a list of deliveries, which must be in order and hold each once.
func (r *harness) walk(path, key, query string) []string {
	r.Helper()
	var ids []string
	last, cursor := "~", ""
	for {
		a := r.get(path+"/deliveries"+query+cursor, key)
		r.want(a, 200, "", "")
		all, _ := a.field("data", "deliveries").([]any)
		for _, one := range all {
			d := one.(map[string]any)
			at := d["created_at"].(string) + d["delivery_id"].(string)
			if at >= last {
				r.Errorf("%s after %s", at, last)
			}
			last = at
			ids = append(ids, d["delivery_id"].(string))
		}
		next := a.text("data", "next_cursor")
		if next == "" {
			return ids
		}
		cursor = "&cursor=" + next
	}
}

// TestDeliveriesAreListedWholly: what is logged and what waits are one list, of which pages of any size hold
// each one once.
func TestDeliveriesAreListedWholly(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["*"]`)
	hook := wallet.WebhookID(strings.TrimPrefix(path, hooksPath+"/"))
	var rows []store.Delivery
	var entries []store.LogEntry
	want := map[store.DeliveryState]int{}
	states := []store.DeliveryState{store.DeliveryDelivered, store.DeliveryDeadLettered, store.DeliveryRevoked, store.DeliverySuperseded, store.DeliveryWaiting}
	for i := range 120 {
		if i%3 == 0 {
			r.Pass(7 * time.Minute)
		}
		d := store.Delivery{ID: r.NewID("dlv"), Webhook: hook, EventID: r.NewID("evt"), Event: wallet.TransactionReceived, User: r.alice.User.ID,
			Body: []byte(`{}`), CreatedAt: r.Now(), NextAt: r.Now().Add(time.Hour)}
		state := states[i%len(states)]
		attempted := []store.Attempt{{At: r.Now(), Status: 500, Reason: wallet.Because("attempt.status", wallet.NumberArg("Status", 500))}}
		if state == store.DeliveryWaiting && i%2 == 0 || i%10 == 1 { // never attempted, or put back
			rows = append(rows, d)
		}
		if state != store.DeliveryWaiting || i%2 == 1 {
			e := store.LogEntry{Delivery: d, State: state, Attempted: attempted}
			e.Attempts = 1
			entries = append(entries, e)
		}
		if i%10 == 1 && state == store.DeliveryDeadLettered {
			state = store.DeliveryWaiting
		}
		want[state]++
	}
	r.Must(r.DeliveryLog.Log(context.Background(), entries))
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := tx.PutDeliveries(rows)
		return err
	}))
	for _, limit := range []int{1, 7, 20, 100} {
		ids := r.walk(path, key, fmt.Sprintf("?limit=%d", limit))
		if len(ids) != 120 {
			t.Errorf("by %d: %d", limit, len(ids))
		}
	}
	for state, n := range want {
		if got := r.walk(path, key, "?limit=9&state="+string(state)); len(got) != n {
			t.Errorf("%s: %d, want %d", state, len(got), n)
		}
	}
	since := r.Now().Add(-time.Hour)
	if n := len(r.walk(path, key, "?since="+wallet.Timestamp(since))); n != 27 { // nine steps of seven minutes, three each
		t.Errorf("of the last hour: %d", n)
	}
	if a := r.get(path+"/deliveries?event=price.alert", key); strings.Contains(string(a.body), "dlv_") {
		t.Errorf("of another event: %s", a.body)
	}
	for query, says := range map[string]string{"state=lost": "state", "event=x": "event", "event=user.registered": "event", "since=now": "since", "limit=0": "limit", "limit=101": "limit",
		"cursor=x": "cursor", "cursor=1.x": "cursor", "cursor=1..": "cursor", "cursor=1.x.dlv_none": "cursor", "what=1": ""} {
		r.want(r.get(path+"/deliveries?"+query, key), 400, wallet.InvalidRequest, says)
	}
}

// TestWithoutConsentNothingIsShownOrSent: what was delivered about somebody is closed when they take their
// grant back.
// TestTheNextAttemptOfWhatWaitsForTheHour is foreseen for when there is room, in the list and alone; that of what was
// put back too, and that of a retry is its own.
func TestTheNextAttemptOfWhatWaitsForTheHour(t *testing.T) {
	r := newHarness(t)
	r.Delivery.Limit.Count = 3
	r.Delivery.Schedule = work.Schedule{Waits: []time.Duration{time.Hour}}
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["*"]`)
	r.receives(400, "no")
	r.delivers()
	parked := func(n int) func(answer) bool {
		return func(a answer) bool { return len(a.field("data", "deliveries").([]any)) == n }
	}
	r.received(r.alice.User.ID)
	r.until(path+"/deliveries?state=dead_lettered", key, parked(1))
	r.receives(503, "later")
	r.received(r.alice.User.ID)
	r.until(path+"/deliveries?state=waiting", key, func(a answer) bool { return strings.Contains(string(a.body), `"attempts":1`) })
	r.want(r.call("POST", path+"/test", key, `{}`), 200, "", "") // the third of the hour
	r.received(r.alice.User.ID)
	r.want(r.call("POST", path+"/recover", key, `{"since":"2026-01-01T00:00:00Z"}`), 202, "", "")
	waiting := r.until(path+"/deliveries?state=waiting", key, parked(3))
	room, err := r.Delivery.Delay(context.Background(), wallet.Webhook{Lineage: r.keyOf(key).Lineage(), URL: "https://hooks.example.com/in"})
	if err != nil || room < time.Minute {
		t.Fatalf("room in %s (%v)", room, err)
	}
	retries := 0
	for _, one := range waiting.field("data", "deliveries").([]any) {
		one := one.(map[string]any)
		alone := r.get(path+"/deliveries/"+one["delivery_id"].(string), key)
		next := wallet.Timestamp(r.Now().Add(room))
		if one["attempts"] == 1.0 && one["resend"] == false {
			retries++
			next = wallet.Timestamp(r.Now().Add(time.Hour))
		}
		if one["next_at"] != next || alone.text("data", "next_at") != next {
			t.Errorf("%v attempts: next_at %v, alone %v, want %s", one["attempts"], one["next_at"], alone.text("data", "next_at"), next)
		}
	}
	if retries != 1 {
		t.Errorf("%d retries: %s", retries, waiting.body)
	}
}

func TestWithoutConsentNothingIsShownOrSent(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "Shop")
	made, err := r.Keys.Check(context.Background(), r.Now(), key, wallet.APIKey)
	r.Must(err)
	path, _ := r.hook(key, `["transaction.*"]`)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutGrant(wallet.Grant{User: r.bob.User.ID, App: made.App, Scopes: []wallet.Scope{wallet.WalletRead}, GrantedAt: r.Now()})
	}))
	r.receives(404, "bob's secret answer")
	stop := r.delivers()
	r.received(r.bob.User.ID)
	list := r.until(path+"/deliveries?state=dead_lettered", key, func(a answer) bool { return strings.Contains(string(a.body), "dlv_") })
	at := path + "/deliveries/" + list.field("data", "deliveries").([]any)[0].(map[string]any)["delivery_id"].(string)
	r.until(path, key, func(a answer) bool { return a.field("data", "health", "waiting") == 0.0 })
	stop()
	if a := r.get(at, key); a.field("data", "body_shown") != true || !strings.Contains(string(a.body), "secret answer") {
		t.Errorf("with a grant: %s", a.body)
	}
	since := fmt.Sprintf(`{"since":%q}`, wallet.Timestamp(r.Now().Add(-time.Hour)))
	closed := func() {
		t.Helper()
		if a := r.get(at, key); a.field("data", "body_shown") != false || a.text("data", "body") != "" || strings.Contains(string(a.body), "secret answer") {
			t.Errorf("without a grant: %s", a.body)
		}
		r.want(r.call("POST", at+"/resend", key, ""), 403, wallet.ConsentRequired, "")
		if a := r.call("POST", path+"/recover", key, since); a.field("data", "recovered") != 0.0 {
			t.Errorf("recovered: %s", a.body)
		}
	}
	r.Must(r.Update(func(tx store.Tx) error { // of something else
		return tx.PutGrant(wallet.Grant{User: r.bob.User.ID, App: made.App, Scopes: []wallet.Scope{wallet.WalletSend}, GrantedAt: r.Now()})
	}))
	closed()
	r.Must(r.Update(func(tx store.Tx) error { return r.Apps.Withdraw(tx, r.bob.User.ID, made.App) }))
	closed()
	r.Must(r.Update(func(tx store.Tx) error { return tx.EraseUser(r.bob.User.ID) }))
	r.want(r.get(at, key), 404, wallet.NotFound, "")
}

func TestTurningAWebhookOnAgainForgetsItsFailures(t *testing.T) {
	r := newHarness(t)
	for _, h := range []struct {
		key          string
		path, events string
	}{{r.pro(wallet.APIKey, 1001, ""), "", `["transaction.*"]`}, {r.pro(wallet.BotKey, 1001, ""), "/v1/telegram/webhook", `["*"]`}} {
		if h.path == "" {
			h.path, _ = r.hook(h.key, h.events)
		} else {
			set := r.call("POST", h.path, h.key, `{"url":"https://hooks.example.com/in","events":["*"]}`)
			r.secrets = append(r.secrets, set.text("data", "secret"))
		}
		id := wallet.WebhookID(r.get(h.path, h.key).text("data", "webhook_id"))
		r.Must(r.Update(func(tx store.Tx) error {
			hook, err := tx.Webhook(id)
			if err != nil {
				return err
			}
			hook.Active, hook.Ended = false, wallet.EndedFailing
			return errors.Join(tx.PutWebhook(hook), tx.PutWebhookHealth(id, wallet.WebhookHealth{LastTriggered: r.Now(), FailingSince: r.Now(), Failures: 9, LastStatus: 500, LastReason: wallet.Because("attempt.status", wallet.NumberArg("Status", 500))}))
		}))
		if a := r.get(h.path, h.key); a.text("data", "ended") != "failing" || a.text("data", "failing_since") == "" || a.field("data", "health", "failures") != 9.0 {
			t.Errorf("ended: %s", a.body)
		}
		a := r.call("PUT", h.path, h.key, `{"active":true}`)
		r.want(a, 200, "", "")
		if a.text("data", "ended") != "" || a.text("data", "failing_since") != "" || a.text("data", "last_triggered") == "" {
			t.Errorf("on again: %s", a.body)
		}
	}
}

// TestAWebhookThatIsTurnedOnAgainIsGivenItsTime: what it failed before is forgotten by the running engine too.
func TestAWebhookThatIsTurnedOnAgainIsGivenItsTime(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["transaction.*"]`)
	r.receives(404, "")
	r.delivers()
	failed := 0
	fails := func() answer {
		r.received(r.alice.User.ID)
		failed++
		return r.until(path, key, func(a answer) bool { return a.field("data", "health", "failures") == float64(failed) })
	}
	fails()
	r.Pass(80 * time.Hour)
	if a := fails(); a.text("data", "ended") != "failing" || a.field("data", "active") != false {
		t.Fatalf("after 80 hours: %s", a.body)
	}
	r.want(r.call("PUT", path, key, `{"active":true}`), 200, "", "")
	failed = 0
	if a := fails(); a.text("data", "ended") != "" || a.text("data", "failing_since") != wallet.Timestamp(r.Now()) {
		t.Errorf("turned on again: %s", a.body)
	}
}

// TestWhatIsSentAgainKeepsItsHistory: the attempts before a recovery stay in the log.
func TestWhatIsSentAgainKeepsItsHistory(t *testing.T) {
	r := newHarness(t)
	key := r.pro(wallet.APIKey, 1001, "")
	path, _ := r.hook(key, `["transaction.*"]`)
	r.receives(500, "") // attempted twice
	r.delivers()
	r.received(r.alice.User.ID)
	list := r.until(path+"/deliveries?state=dead_lettered", key, func(a answer) bool { return strings.Contains(string(a.body), `"dead_lettered"`) })
	at := path + "/deliveries/" + list.field("data", "deliveries").([]any)[0].(map[string]any)["delivery_id"].(string)
	r.until(path, key, func(a answer) bool { return a.field("data", "health", "waiting") == 0.0 })
	r.receives(200, "")
	r.Pass(time.Minute)
	r.want(r.call("POST", path+"/recover", key, `{"since":"2026-11-21T00:00:00Z"}`), 202, "", "")
	a := r.until(at, key, func(a answer) bool { return a.text("data", "state") == "delivered" })
	if a.field("data", "attempts") != 3.0 {
		t.Errorf("attempts: %s", a.body)
	}
}

// TestWebhooksEndWithTheLastKeyOfTheirLine: nobody could change or remove them afterwards.
func TestWebhooksEndWithTheLastKeyOfTheirLine(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	for _, owner := range []int64{0, 1001} {
		key, secret, err := r.Keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: owner})
		r.Must(err)
		r.secrets = append(r.secrets, secret)
		r.hook(secret, `["*"]`)
		next, _, err := r.Keys.Rotate(ctx, key.ID, false)
		r.Must(err)
		count := func() (n int) {
			r.View(func(tx store.Tx) error {
				all, err := tx.WebhooksOf(key.Lineage())
				n = len(all)
				return err
			})
			return n
		}
		_, err = r.Keys.Revoke(ctx, key.ID)
		r.Must(err)
		if count() != 1 {
			t.Error("its successor lives, and the webhook is gone")
		}
		_, err = r.Keys.Revoke(ctx, next.ID)
		r.Must(err)
		if count() != 0 {
			t.Error("the webhook outlives its keys")
		}
	}
}

func TestTheCatalogueIsForEveryKey(t *testing.T) {
	r := newHarness(t)
	for _, key := range []string{r.alice.secret, r.pro(wallet.BotKey, 0, "")} {
		a := r.get(hooksPath+"/events", key)
		r.want(a, 200, "", "")
		listed := map[string]bool{}
		for _, one := range a.field("data", "events").([]any) {
			e := one.(map[string]any)
			listed[e["kind"].(string)+" "+e["event"].(string)] = true
			if e["example"].(map[string]any)["event"] != e["event"] || e["schema"].(map[string]any)["type"] != "object" {
				t.Errorf("%v", e)
			}
		}
		for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
			for _, name := range wallet.EventsOf(kind) {
				if !listed[string(kind)+" "+string(name)] {
					t.Errorf("%s of %s is not in the catalogue", name, kind)
				}
				delete(listed, string(kind)+" "+string(name))
			}
		}
		delete(listed, "api webhook.test")
		if len(listed) > 0 {
			t.Errorf("nobody can ask for %v", listed)
		}
	}
	r.want(r.do("GET", hooksPath+"/events", ""), 401, wallet.InvalidAPIKey, "")
}
