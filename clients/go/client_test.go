package purser_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	purser "purser/clients/go"
)

const testKey = "pur_test_0123456789"

// fake is a server that plays a script: one handler a request, the last one for ever.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
}

func serve(t *testing.T, script ...http.HandlerFunc) (*fake, *purser.Client) {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client gave up within its request
		}
		f.mu.Lock()
		at := min(len(f.requests), len(script)-1)
		f.requests, f.bodies = append(f.requests, r), append(f.bodies, string(body))
		f.mu.Unlock()
		script[at](w, r)
	}))
	t.Cleanup(f.Close)
	return f, purser.New(f.URL, testKey, purser.WithTries(4, time.Millisecond), purser.WithTimeout(5*time.Second))
}

// seen are the requests so far.
func (f *fake) seen() []*http.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// says answers with a status, a body of JSON and headers in pairs.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_1")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a client may hang up
	}
}

func data(body string) http.HandlerFunc {
	return says(200, `{"success":true,"data":`+body+`,"message":"Done.","timestamp":"2026-01-31T12:00:00Z"}`)
}

func refusal(status int, code string, headers ...string) http.HandlerFunc {
	return says(status, `{"success":false,"error":{"code":"`+code+`","message":"No.","details":"why"},"timestamp":"2026-01-31T12:00:00Z"}`, headers...)
}

// hangsUp breaks the connection without an answer.
func hangsUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

const proposal = `{"transaction_id":"tx_1","status":"awaiting_confirmation","recipient":"B","expires_at":"2026-01-31T12:05:00Z","unsigned_transaction":null}`

func send(ctx context.Context, c *purser.Client) (purser.Proposal, error) {
	return c.Send(ctx, purser.SendRequest{From: "A", To: "B", Amount: "1.5", Token: "SOL"})
}

func TestEveryTryOfAPostCarriesTheSameIdempotencyKey(t *testing.T) {
	f, c := serve(t, hangsUp, refusal(503, "NETWORK_ERROR"), refusal(409, "CONFLICT", "Retry-After", "1"), data(proposal))
	got, err := send(t.Context(), c)
	if err != nil || got.TransactionID != "tx_1" || got.UnsignedTransaction != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	requests := f.seen()
	if len(requests) != 4 {
		t.Fatalf("%d requests", len(requests))
	}
	key := requests[0].Header.Get("Idempotency-Key")
	if len(key) != 36 {
		t.Errorf("key %q", key)
	}
	for i, r := range requests {
		if r.Header.Get("Idempotency-Key") != key || f.bodies[i] != f.bodies[0] || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("try %d differs: %v %s", i, r.Header, f.bodies[i])
		}
	}
	if f.bodies[0] != `{"from":"A","to":"B","amount":"1.5","token":"SOL"}` {
		t.Errorf("sent %s", f.bodies[0])
	}
	if _, err := send(t.Context(), c); err != nil || f.seen()[4].Header.Get("Idempotency-Key") == key {
		t.Errorf("another call has the same key (%v)", err)
	}
}

func TestTheCallerMayChooseTheIdempotencyKey(t *testing.T) {
	f, c := serve(t, hangsUp, data(proposal))
	if _, err := send(purser.WithIdempotencyKey(t.Context(), "order 17"), c); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.seen() {
		if r.Header.Get("Idempotency-Key") != "order 17" {
			t.Errorf("got %q", r.Header.Get("Idempotency-Key"))
		}
	}
	for _, bad := range []string{"", "two\nlines", strings.Repeat("x", 129), "größe"} {
		if _, err := send(purser.WithIdempotencyKey(t.Context(), bad), c); err == nil {
			t.Errorf("%q was sent", bad)
		}
	}
	if n := len(f.seen()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

func TestARefusalIsAnErrorWithItsCode(t *testing.T) {
	f, c := serve(t, refusal(422, "INSUFFICIENT_FUNDS"))
	_, err := send(t.Context(), c)
	var refused *purser.Error
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	if want := (purser.Error{Status: 422, Code: purser.InsufficientFunds, Message: "No.", Details: "why", RequestID: "req_1", Arguments: map[string]any{}}); !reflect.DeepEqual(*refused, want) {
		t.Errorf("got %+v", *refused)
	}
	if n := len(f.seen()); n != 1 {
		t.Errorf("%d requests: a refusal is no reason to ask again", n)
	}
}

func TestRetryAfterIsWaitedForOrTold(t *testing.T) {
	f, c := serve(t, refusal(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "1"), data(proposal))
	began := time.Now()
	if _, err := send(t.Context(), c); err != nil || time.Since(began) < time.Second || len(f.seen()) != 2 {
		t.Errorf("after %s and %d requests: %v", time.Since(began), len(f.seen()), err)
	}

	f, c = serve(t, refusal(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "3000"))
	_, err := send(t.Context(), c)
	var refused *purser.Error
	if !errors.As(err, &refused) || refused.RetryAfter != 3000*time.Second || len(f.seen()) != 1 {
		t.Errorf("%d requests: %v", len(f.seen()), err)
	}

	// Nor is a wait begun that the caller's own deadline ends.
	f, c = serve(t, refusal(429, "RATE_LIMIT_EXCEEDED", "Retry-After", "30"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	began = time.Now()
	if _, err := send(ctx, c); !errors.As(err, &refused) || time.Since(began) > 5*time.Second || len(f.seen()) != 1 {
		t.Errorf("after %s and %d requests: %v", time.Since(began), len(f.seen()), err)
	}
}

func TestTriesEnd(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{"refused": refusal(503, "NETWORK_ERROR"), "broken": hangsUp,
		"a proxy's page": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<h1>Bad gateway</h1>", http.StatusBadGateway)
		}} {
		f, c := serve(t, answer)
		if _, err := send(t.Context(), c); err == nil || len(f.seen()) != 4 {
			t.Errorf("%s: %d requests, %v", name, len(f.seen()), err)
		}
	}
}

func TestNoTryIsMadeAfterItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f, c := serve(t, func(http.ResponseWriter, *http.Request) { cancel(); panic(http.ErrAbortHandler) })
	if _, err := send(ctx, c); !errors.Is(err, context.Canceled) || len(f.seen()) != 1 {
		t.Errorf("%d requests, %v", len(f.seen()), err)
	}
}

func TestAHangingServerIsGivenUp(t *testing.T) {
	release := make(chan struct{})
	f, _ := serve(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	c := purser.New(f.URL, testKey, purser.WithTries(2, time.Millisecond), purser.WithTimeout(50*time.Millisecond))
	if _, err := c.Key(t.Context()); !errors.Is(err, context.DeadlineExceeded) || len(f.seen()) != 2 {
		t.Errorf("%d requests, %v", len(f.seen()), err)
	}
}

func TestHostileAnswersAreErrors(t *testing.T) {
	const envelope = `{"success":true,"data":%s,"message":"","timestamp":""}`
	for name, answer := range map[string]http.HandlerFunc{
		"HTML":               func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>secret</html>") },
		"HTML as JSON":       says(200, "<html>secret</html>"),
		"huge":               says(200, `{"success":true,"data":{"transaction_id":"`+strings.Repeat("x", 5<<20)+`"}}`),
		"cut off":            says(200, `{"success":true,"data":{"transaction_id":"tx`),
		"two":                data(proposal + "}"),
		"no envelope":        says(200, proposal),
		"no data":            says(200, `{"success":true}`),
		"null":               data("null"),
		"a list":             data("[]"),
		"an empty record":    data("{}"),
		"a number for an id": data(`{"transaction_id":1,"status":"signed"}`),
		"a strange time":     data(`{"transaction_id":"tx_1","status":"signed","expires_at":"soon"}`),
		"success that fails": says(422, fmt.Sprintf(envelope, proposal)),
		"failure that does":  says(200, `{"success":false,"error":{"code":"CONFLICT","message":"","details":""}}`),
		"no code":            says(422, `{"success":false,"error":{}}`),
		"a redirect":         says(307, "{}", "Location", "https://example.com/"),
	} {
		f, c := serve(t, answer)
		got, err := send(t.Context(), c)
		var refused *purser.Error
		if !errors.As(err, &refused) || refused.Code != "" || !reflect.DeepEqual(got, purser.Proposal{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") || len(err.Error()) > 200 || len(f.seen()) != 1 {
			t.Errorf("%s: %d requests, %v", name, len(f.seen()), err)
		}
	}
}

// TestARefusalCarriesItsReason: as data, and in the text of the error.
func TestARefusalCarriesItsReason(t *testing.T) {
	whole := `{"code":"INSUFFICIENT_FUNDS","message":"Too little.","details":"amount: You have 0.4 SOL.","field":"amount","reason":"funds.sol_short","arguments":` +
		`{"free":"0.4","wait":90,"names":["a","b"],"other":{"x":1},"flag":true,"none":null,"half":0.5}}`
	_, c := serve(t, says(422, `{"success":false,"error":`+whole+`}`))
	_, err := send(t.Context(), c)
	var refused *purser.Error
	if !errors.As(err, &refused) {
		t.Fatalf("got %v", err)
	}
	want := purser.Error{Status: 422, Code: purser.InsufficientFunds, Message: "Too little.", Details: "amount: You have 0.4 SOL.", Field: "amount", Reason: "funds.sol_short",
		RequestID: "req_1", Arguments: map[string]any{"free": "0.4", "wait": int64(90), "names": []string{"a", "b"}}}
	if !reflect.DeepEqual(*refused, want) {
		t.Errorf("got %+v", *refused)
	}
	if text := "purser: 422 INSUFFICIENT_FUNDS funds.sol_short: Too little. (amount: You have 0.4 SOL.) [req_1]"; err.Error() != text {
		t.Errorf("it reads %q", err)
	}
	for _, arguments := range []string{`[1]`, `"x"`, `null`, `7`} { // of a server that is no purser of today's
		_, c := serve(t, says(422, `{"success":false,"error":{"code":"CONFLICT","arguments":`+arguments+`}}`))
		if _, err := send(t.Context(), c); !errors.As(err, &refused) || refused.Code != purser.Conflict || len(refused.Arguments) != 0 {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

func TestNothingShowsASecret(t *testing.T) {
	_, c := serve(t, says(400, `{"success":false,"error":{"code":"X_`+testKey+`","message":"You sent `+testKey+`","details":"`+testKey+`\u001b[2J",`+
		`"field":"`+testKey+`","reason":"`+testKey+`","arguments":{"x`+testKey+`":"`+testKey+`\u001b","y":["`+testKey+`"]}}}`, "X-Request-Id", testKey))
	_, err := c.Key(t.Context())
	_, unreached := purser.New("http://127.0.0.1:1", testKey, purser.WithTries(1, 0)).Key(t.Context())
	rotated := purser.RotatedKey{KeyID: "key_1", Key: testKey}
	var refused *purser.Error
	if !errors.As(err, &refused) || len(refused.Arguments) != 2 {
		t.Fatalf("got %v", err)
	}
	for _, shown := range []string{err.Error(), fmt.Sprintf("%#v", *refused), unreached.Error(), fmt.Sprint(c), fmt.Sprintf("%+v %#v %v", *c, c, c), fmt.Sprintf("%v %+v %#v %s", rotated, rotated, rotated, rotated.Key),
		fmt.Sprint(purser.New("https://x/?"+testKey, testKey))} {
		if strings.Contains(shown, testKey) || strings.Contains(shown, "\x1b") {
			t.Errorf("shown: %q", shown)
		}
	}
}

func TestWrongArgumentsAreNotSent(t *testing.T) {
	f, c := serve(t, data(proposal))
	for name, try := range map[string]func() error{
		"no URL":         func() error { _, err := purser.New("wallet.example.org", testKey).Key(t.Context()); return err },
		"a password":     func() error { _, err := purser.New("https://a:b@c", testKey).Key(t.Context()); return err },
		"no key":         func() error { _, err := purser.New(f.URL, "").Key(t.Context()); return err },
		"a key in lines": func() error { _, err := purser.New(f.URL, "pur_\r\nX: y").Key(t.Context()); return err },
		"no id":          func() error { _, err := c.Transaction(t.Context(), ""); return err },
		"a path as id":   func() error { _, err := c.Reject(t.Context(), "../../key"); return err },
		"dots as id":     func() error { _, err := c.User(t.Context(), ".."); return err },
		"a query as id":  func() error { _, err := c.Disconnect(t.Context(), "x?y"); return err },
	} {
		if err := try(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if n := len(f.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestADeletionWhoseAnswerWasLostIsDone(t *testing.T) {
	_, c := serve(t, hangsUp, refusal(404, "WALLET_NOT_FOUND"))
	if gone, err := c.Disconnect(t.Context(), "A"); err != nil || gone.Address != "A" {
		t.Errorf("%+v, %v", gone, err)
	}
	_, c = serve(t, refusal(404, "WALLET_NOT_FOUND"))
	if _, err := c.Disconnect(t.Context(), "A"); err == nil {
		t.Error("a wallet that was never there is disconnected")
	}
}

func TestASecretThatWasLostIsAnError(t *testing.T) {
	_, c := serve(t, data(`{"key_id":"key_2","key":"","secret_shown":true,"old_ends_at":"2026-02-01T12:00:00Z"}`))
	if got, err := c.RotateKey(t.Context(), purser.Rotation{}); !errors.Is(err, purser.ErrSecretLost) || got.KeyID != "key_2" || got.OldEndsAt.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	_, c = serve(t, data(`{"webhook_id":"w","url":"https://example.com","events":["*"],"created_at":"2026-02-01T12:00:00Z","secret_shown":true}`))
	if _, err := c.SetBotWebhook(t.Context(), purser.BotWebhookRequest{}); !errors.Is(err, purser.ErrSecretLost) {
		t.Errorf("got %v", err)
	}
	if got, err := c.CreateWebhook(t.Context(), purser.WebhookRequest{}); !errors.Is(err, purser.ErrSecretLost) || got.WebhookID != "w" {
		t.Errorf("%+v, %v", got, err)
	}
	_, c = serve(t, data(`{"webhook_id":"w","secret":"","secret_shown":true,"previous_until":""}`))
	if got, err := c.Hook("w").RotateSecret(t.Context(), purser.SecretRotation{}); !errors.Is(err, purser.ErrSecretLost) || !got.PreviousUntil.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAWebhookIsReadWholly(t *testing.T) {
	f, c := serve(t, data(`{"webhook_id":"wh_1","url":"https://example.com","events":["*"],"active":true,"created_at":"2026-01-31T12:00:00.5Z","last_triggered":"","failing_since":"",
		"ended":"","health":{"last_success":"","hours":[{"hour":"2026-01-31T12:00:00Z","succeeded":2,"failed":1,"dead_lettered":0}],"events":{"used":3,"limit":10000}}}`))
	got, err := c.Hook("wh_1").Status(t.Context())
	if err != nil || !got.LastTriggered.IsZero() || !got.FailingSince.IsZero() || got.Health.Hours[0].Succeeded != 2 || got.Health.Events.Limit != 10000 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Hook("../key").Test(t.Context()); err == nil || len(f.seen()) != 1 {
		t.Errorf("an id that leads elsewhere was sent: %v", err)
	}
	_, c = serve(t, data(`{"deliveries":[{"delivery_id":"dlv_2","state":"waiting","ended_at":""}],"next_cursor":"c"}`), data(`{"deliveries":[{"delivery_id":"dlv_1","state":"dead_lettered"}],"next_cursor":""}`))
	var ids []string
	for d, err := range c.BotHook().Deliveries(t.Context(), purser.DeliveryFilter{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.DeliveryID)
	}
	if !slices.Equal(ids, []string{"dlv_2", "dlv_1"}) {
		t.Errorf("walked %v", ids)
	}
}

const sent = `{"transaction_id":"tx_%d","status":"confirmed","amount":"1.5","submitted_at":"","created_at":"2026-01-31T12:00:00.5Z","block_height":7,"confirmations":null}`

func TestTheIteratorFollowsTheCursor(t *testing.T) {
	page := func(next string, ids ...int) http.HandlerFunc {
		var records []string
		for _, id := range ids {
			records = append(records, fmt.Sprintf(sent, id))
		}
		return data(`{"transactions":[` + strings.Join(records, ",") + `],"next_cursor":"` + next + `"}`)
	}
	f, c := serve(t, page("c1", 1, 2), page("c2"), refusal(503, "NETWORK_ERROR"), page("", 3))
	var got []string
	for tx, err := range c.Transactions(t.Context(), purser.TransactionFilter{Token: "SOL", Since: time.Unix(0, 0), Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tx.TransactionID)
		if tx.CreatedAt.Nanosecond() != 500_000_000 || !tx.SubmittedAt.IsZero() || *tx.BlockHeight != 7 || tx.Confirmations != nil {
			t.Errorf("%+v", tx)
		}
	}
	if !slices.Equal(got, []string{"tx_1", "tx_2", "tx_3"}) {
		t.Errorf("got %v", got)
	}
	var asked []string
	for _, r := range f.seen() {
		asked = append(asked, r.URL.Query().Get("cursor"))
		if q := r.URL.Query(); q.Get("token") != "SOL" || q.Get("since") != "1970-01-01T00:00:00Z" || q.Get("limit") != "2" || q.Has("until") {
			t.Errorf("asked %s", r.URL)
		}
	}
	if !slices.Equal(asked, []string{"", "c1", "c2", "c2"}) {
		t.Errorf("asked %v", asked)
	}

	f, c = serve(t, page("c1", 1), refusal(401, "INVALID_API_KEY"))
	var failed error
	for _, err := range c.Transactions(t.Context(), purser.TransactionFilter{}) {
		failed = err
	}
	if failed == nil || len(f.seen()) != 2 {
		t.Errorf("%d requests, %v", len(f.seen()), failed)
	}
	f, c = serve(t, page("c1", 1, 2))
	for range c.Transactions(t.Context(), purser.TransactionFilter{}) {
		break
	}
	for _, err := range c.Transactions(t.Context(), purser.TransactionFilter{}) {
		failed = err
	}
	if n := len(f.seen()); n != 3 || failed == nil {
		t.Errorf("%d requests, %v", n, failed)
	}
}

// TestWhatPurserReadOnChainHasNoID: what is purser's own must have one.
func TestWhatPurserReadOnChainHasNoID(t *testing.T) {
	const entry = `{"transactions":[{"source":%q,"transaction_id":"","type":"swap","status":"confirmed","signature":"5j7s","slot":9,"suspect":"dust",` +
		`"counterparty":"9xQe","changes":[{"token":"SOL","mint":"","amount":"1","direction":"out"}]}],"next_cursor":"","complete":true}`
	f, c := serve(t, data(fmt.Sprintf(entry, "chain")))
	page, err := c.TransactionPage(t.Context(), purser.TransactionFilter{Source: "purser"})
	if err != nil || !page.Complete || len(page.Transactions) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	got := page.Transactions[0]
	if got.TransactionID != "" || *got.Slot != 9 || got.Suspect != "dust" || got.Counterparty != "9xQe" || !slices.Equal(got.Changes, []purser.Change{{Token: "SOL", Amount: "1", Direction: "out"}}) {
		t.Errorf("%+v", got)
	}
	if q := f.seen()[0].URL.Query(); q.Get("source") != "purser" {
		t.Errorf("asked %v", q)
	}
	_, c = serve(t, data(fmt.Sprintf(entry, "purser")))
	if page, err := c.TransactionPage(t.Context(), purser.TransactionFilter{}); err == nil {
		t.Errorf("took %+v", page)
	}
}
