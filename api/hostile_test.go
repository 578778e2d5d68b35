// Long: one list of hostile requests goes to every route, by the helpers at its end.

package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestHostileRequests sends what openapi.json invites to be sent, spoilt in every way that we know of,
// over real connections: each answer must be one that the document allows, below 500, and betray
// nothing. OPENAPI_SEED repeats a run.
func TestHostileRequests(t *testing.T) {
	const round, connections = 500, 4
	requests := 20_000
	if testing.Short() {
		requests = 2_000
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("OPENAPI_SEED"); given != "" {
		var err error
		seed, err = strconv.ParseUint(given, 10, 64)
		check(t, err)
	}
	t.Logf("OPENAPI_SEED=%d", seed)
	h := newHostility(t)
	began := time.Now()
	for done := 0; done < requests && !t.Failed(); done += round {
		h.settle()
		var group sync.WaitGroup
		for n := range connections {
			group.Go(func() {
				a := &attacker{hostility: h, Rand: rand.New(rand.NewPCG(seed, uint64(done+n)))}
				defer a.close()
				for range round / connections {
					if err := a.attack(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	h.judgeLog()
	h.judgeReach(requests)
	t.Logf("%d requests in %s; by status: %v", requests, time.Since(began).Round(time.Millisecond), h.statuses)
}

// hostility is what all attackers share.
type hostility struct {
	*harness
	address string
	targets []target
	mallory person

	mu       sync.Mutex
	keys     []attackKey
	hidden   []string        // may stand in no answer and no line of the log
	told     []string        // were told once, and may stand in no line of the log
	ids      []string        // of transactions
	ready    map[string]shot // by target: what only the holder of a wallet's key can ask for
	statuses map[int]int
	reached  map[string]int // operations that were done
}

// target is one operation of the document.
type target struct {
	method, template string
	op               *openapi3.Operation
}

func (x target) String() string { return x.method + " " + x.template }

// attackKey is a key with what it may open.
type attackKey struct {
	secret string
	kind   wallet.KeyKind // "" opens nothing
	scopes []wallet.Scope
}

func newHostility(t *testing.T) *hostility {
	r := newHarnessIn(t, world.Options{Market: true}) // with a market, so that swaps have quotes
	h := &hostility{harness: r, address: strings.TrimPrefix(r.base, "http://"), statuses: map[int]int{}, reached: map[string]int{}}
	r.bot.auto = func(n int) store.SendResult {
		switch {
		case n%11 == 0:
			return store.SendResult{Blocked: true}
		case n%7 == 0:
			return store.SendResult{Refusal: "can't parse entities"}
		}
		return store.SendResult{MessageID: n}
	}
	h.mallory = r.person(1003, sol)
	for template, item := range r.contract.doc.Paths.Map() {
		for method, op := range item.Operations() {
			if strings.HasSuffix(template, "/listen") {
				continue // its answer has no end: TestHostileListeners
			}
			h.targets = append(h.targets, target{method, template, op})
		}
	}
	slices.SortFunc(h.targets, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return h
}

// settle renews everything that attacks use up: keys that were rotated away, wallets that were
// disconnected, proposals and links that wait. Time passes, so that limits do not answer for all.
func (h *hostility) settle() {
	h.Helper()
	h.Pass(11 * time.Minute)
	for _, p := range []person{h.alice, h.bob, h.mallory} {
		h.Must(h.Update(func(tx store.Tx) error {
			_, err := h.Wallets.DisconnectOwn(tx, p.Caller(), p.Address())
			if wallet.CodeOf(err) == wallet.WalletNotFound {
				return nil
			}
			return err
		}))
		h.Connect(p.Person)
	}
	drawn := func(req handlers.KeyRequest) (wallet.Key, string) {
		key, secret, err := h.Keys.Create(context.Background(), req)
		h.Must(err)
		h.hidden = append(h.hidden, secret)
		return key, secret
	}
	opens := func(req handlers.KeyRequest) attackKey {
		key, secret := drawn(req)
		return attackKey{secret, key.Kind, key.Scopes}
	}
	h.keys = []attackKey{
		opens(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001}),
		opens(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001}),
		opens(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier}),
		opens(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier}),
		opens(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier, OwnerTelegramID: 1002}),
		opens(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier, OwnerTelegramID: 1001}),
		// From here on such as open little or nothing: see (*attacker).key.
		opens(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1003, Scopes: []wallet.Scope{wallet.WalletRead}}),
		opens(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier, OwnerTelegramID: 1003, Scopes: []wallet.Scope{wallet.BotUsers}, App: "Hostile"}),
	}
	_, expired := drawn(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001, ExpiresAt: h.Now()})
	ended, revoked := drawn(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.FreeTier})
	_, err := h.Keys.Revoke(context.Background(), ended.ID)
	h.Must(err)
	for _, secret := range []string{expired, revoked, "", "x", "pur_test_0000000000000000000000000000000000000", strings.Repeat("k", 3000)} {
		h.keys = append(h.keys, attackKey{secret: secret})
	}
	h.ids = []string{h.send(h.keys[0].secret, h.sendBody("amount", "0.01")).text("data", "transaction_id")}
	p := program{h.harness, h.keys[2].secret, h.NewKey()}
	h.want(p.connects(), 200, "", "")
	h.Fund(p.address(), sol/10)
	sent := p.post("/v1/wallet/send", h.sendBody("from", strconv.Quote(p.address().String()), "amount", "0.01"))
	id := sent.text("data", "transaction_id")
	h.ids = append(h.ids, id, "tx_0000", "x")
	// Nobody else knows of this one, so that it stays as it is.
	kept := p.post("/v1/wallet/send", h.sendBody("from", strconv.Quote(p.address().String()), "amount", "0.01")).text("data", "transaction_id")
	swap := fmt.Sprintf(`{"address":%q,"from_token":"SOL","to_token":"USDC","amount":"0.001"}`, p.address())
	quote := p.post("/v1/swap/quote", swap).text("data", "quote_id")
	alert := h.alert()
	next := program{h.harness, p.secret, h.NewKey()}
	challenge := next.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, next.address()))
	h.ready = h.hooks()
	maps.Copy(h.ready, h.portal())
	maps.Copy(h.ready, map[string]shot{
		"POST /v1/swap/quote":                       {path: "/v1/swap/quote", key: h.keys[2], body: swap},
		"DELETE /v1/alerts/{alert_id}":              {path: "/v1/alerts/" + alert, key: h.keys[1]},
		"POST /v1/swap":                             {path: "/v1/swap", key: h.keys[2], body: fmt.Sprintf(`{"quote_id":%q}`, quote)},
		"POST /v1/wallet/transactions/{id}/refresh": {path: "/v1/wallet/transactions/" + kept + "/refresh", key: h.keys[2]},
		"POST /v1/wallet/transactions/{id}/signature": {path: "/v1/wallet/transactions/" + id + "/signature", key: h.keys[2],
			body: fmt.Sprintf(`{"signature":%q}`, p.sign(p.unsignedMessage(sent)))},
		"POST /v1/wallet/connect": {path: "/v1/wallet/connect", key: h.keys[2],
			body: fmt.Sprintf(`{"address":%q,"signature":%q}`, next.address(), next.sign([]byte(challenge.text("data", "message"))))},
	})
}

// alert returns the id of an alert of alice's. Attackers set some too, up to the limit.
func (h *hostility) alert() string {
	h.Helper()
	if all := h.get("/v1/alerts", h.keys[1].secret).field("data", "alerts").([]any); len(all) > 0 {
		return all[0].(map[string]any)["alert_id"].(string)
	}
	return h.call("POST", "/v1/alerts", h.keys[1].secret, `{"token":"SOL","condition":"above","price":"1000000"}`).text("data", "alert_id")
}

// portal opens it, and tells what opens and ends it once more.
func (h *hostility) portal() map[string]shot {
	h.Helper()
	link := func(i int) string {
		key, err := h.Keys.Check(context.Background(), h.Now(), h.keys[i].secret, "")
		h.Must(err)
		token, err := h.Portal.NewToken()
		h.Must(err)
		h.Must(h.Update(func(tx store.Tx) error { return h.Portal.Offer(tx, token, key) }))
		h.hidden = append(h.hidden, token)
		return token
	}
	session := func(i int) string {
		opened, err := h.Portal.Open(context.Background(), link(i), handlers.Client{Address: "203.0.113.7"})
		h.Must(err)
		h.hidden = append(h.hidden, opened.Secret)
		return opened.Secret
	}
	h.keys = append(h.keys, attackKey{session(1), wallet.APIKey, []wallet.Scope{wallet.Webhooks}}, attackKey{session(3), wallet.BotKey, []wallet.Scope{wallet.Webhooks}})
	leaves := attackKey{secret: session(1)}
	return map[string]shot{ // a link takes the place of the one before
		"POST " + portalPath:   {path: portalPath, body: fmt.Sprintf(`{"token":%q}`, link(1))},
		"DELETE " + portalPath: {path: portalPath, key: leaves},
	}
}

// hooks registers webhooks, and tells what only their own keys can ask for.
func (h *hostility) hooks() map[string]shot {
	h.Helper()
	ready := map[string]shot{}
	for _, k := range []struct {
		key                attackKey
		register, template string
	}{{h.keys[1], "/v1/webhooks", "/v1/webhooks/{webhook_id}"}, {h.keys[3], "/v1/telegram/webhook", "/v1/telegram/webhook"}} {
		post := func(path, body string) answer {
			a := h.do("POST", path, body, "Authorization", "Bearer "+k.key.secret, "Content-Type", "application/json")
			if secret := a.text("data", "secret"); secret != "" {
				h.told = append(h.told, secret)
			}
			if a.status >= 300 {
				h.Fatalf("%s: %d %s", path, a.status, a.body)
			}
			return a
		}
		path := func() string {
			made := post(k.register, `{"url":"https://hooks.example.com/x","events":["*"]}`)
			return strings.Replace(k.template, "{webhook_id}", made.text("data", "webhook_id"), 1)
		}
		gone, at := "", path()
		if gone = k.template; k.key.kind == wallet.APIKey {
			gone = path() // to be removed by somebody
		}
		delivery := post(at+"/test", "{}").text("data", "delivery_id")
		h.ids = append(h.ids, delivery)
		of := func(method, tail, body string) {
			ready[method+" "+k.template+strings.Replace(tail, delivery, "{delivery_id}", 1)] = shot{path: at + tail, key: k.key, body: body}
		}
		of("GET", "", "")
		of("POST", "/test", "{}")
		of("POST", "/secret/rotate", `{"grace_seconds":3600}`)
		of("GET", "/deliveries", "")
		of("GET", "/deliveries/"+delivery, "")
		of("POST", "/deliveries/"+delivery+"/resend", "{}")
		of("POST", "/recover", `{"since":"2026-11-01T00:00:00Z"}`)
		of("PUT", "", `{"url":"https://hooks.example.com/y","active":true}`)
		if k.key.kind == wallet.APIKey {
			ready["DELETE "+k.template] = shot{path: gone, key: k.key}
		}
	}
	return ready
}

// judgeLog: no secret, no panic and no error of ours in the log.
func (h *hostility) judgeLog() {
	log := h.logged.String()
	for _, line := range strings.Split(log, "\n") {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "goroutine") {
			h.Errorf("logged: %.2000s", line)
		}
	}
	for _, secret := range append(h.hidden, h.told...) {
		if strings.Contains(log, secret) {
			h.Errorf("the log holds the secret %s", secret)
		}
	}
}

// judgeReach: attacks that are all turned away at the door would prove little.
func (h *hostility) judgeReach(requests int) {
	if requests < 20_000 {
		return // too few to be sure of each
	}
	for _, x := range h.targets {
		if h.reached[x.String()] == 0 {
			h.Errorf("%s was never done", x)
		}
	}
	for _, status := range []int{200, 400, 401, 403, 404, 405, 413, 422} {
		if h.statuses[status] == 0 {
			h.Errorf("no answer was %d: %v", status, h.statuses)
		}
	}
}

// attacker has one connection, which it keeps as long as it is let.
type attacker struct {
	*hostility
	*rand.Rand
	conn   net.Conn
	reader *bufio.Reader
}

// shot is one request.
type shot struct {
	method, path, query, body string
	headers                   []string // whole lines
	key                       attackKey
	proto                     string
	chunked, torn             bool
}

func (s shot) wire() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s %s\r\nHost: purser\r\n", s.method, s.path, s.query, s.proto)
	for _, line := range s.headers {
		b.WriteString(line + "\r\n")
	}
	if s.chunked {
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		if s.body != "" {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(s.body), s.body)
		}
		b.WriteString("0\r\n\r\n")
		return b.String()
	}
	if s.body != "" || s.method == "POST" || s.method == "PUT" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(s.body))
	}
	return b.String() + "\r\n" + s.body
}

// attack sends one request and judges its answer.
func (a *attacker) attack() error {
	x := a.targets[a.IntN(len(a.targets))]
	s := a.shot(x)
	got, err := a.fire(s)
	if err == nil {
		err = a.judge(x, s, got)
	}
	if err != nil {
		return fmt.Errorf("%w\n%.3000q\n%d %.3000q", err, s.wire(), got.status, got.body)
	}
	return nil
}

func (a *attacker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

// fire writes a request and reads its answer; on a kept connection that the server has closed meanwhile
// it begins again, once.
func (a *attacker) fire(s shot) (answer, error) {
	kept := a.conn != nil
	got, err := a.exchange(s)
	if err != nil {
		a.close()
		if kept && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "pipe")) {
			return a.exchange(s)
		}
	}
	return got, err
}

func (a *attacker) exchange(s shot) (answer, error) {
	if a.conn == nil {
		conn, err := net.Dial("tcp", a.address)
		if err != nil {
			return answer{}, err
		}
		a.conn, a.reader = conn, bufio.NewReader(conn)
	}
	if err := a.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return answer{}, err
	}
	_, wrote := io.WriteString(a.conn, s.wire()) // a refusal may come before all is written
	for {
		resp, err := http.ReadResponse(a.reader, &http.Request{Method: s.method})
		if err != nil {
			return answer{}, errors.Join(fmt.Errorf("no answer: %w", err), wrote)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return answer{}, fmt.Errorf("half an answer: %w", err)
		}
		if resp.StatusCode == http.StatusContinue {
			continue
		}
		if resp.Close || s.torn {
			a.close()
		}
		return answer{resp.StatusCode, resp.Header, body}, nil
	}
}

// judge holds an answer to the document, and to what no answer may hold.
func (a *attacker) judge(x target, s shot, got answer) error {
	if got.status >= 500 {
		return errors.New("we broke")
	}
	if err := a.contract.allows(s.method, s.path+s.query, s.body, got); err != nil {
		return fmt.Errorf("openapi.json does not allow it: %w", err)
	}
	if s.method != "HEAD" && got.status != http.StatusNotModified && got.field("openapi") == nil {
		success, isEnvelope := got.field("success").(bool)
		if !isEnvelope || success != (got.status < 400) || got.text("timestamp") == "" || got.header.Get("Content-Type") != "application/json" {
			return errors.New("that is no envelope")
		}
	}
	if got.header.Get("X-Request-Id") == "" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		return errors.New("it does not wear what every answer wears")
	}
	told := string(got.body)
	for _, header := range got.header {
		told += "\n" + strings.Join(header, "\n")
	}
	if got.field("openapi") != nil {
		told = ""
	}
	for _, word := range []string{"goroutine", "panic", ".go:", "runtime error", "strconv.", "invalid character", "illegal base64", "json:", "<html", "<!DOCTYPE", "bbolt", "0xc0"} {
		if strings.Contains(told, word) {
			return fmt.Errorf("it holds %q", word)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, secret := range a.hidden {
		if strings.Contains(told, secret) {
			return fmt.Errorf("it holds the secret %s", secret)
		}
	}
	a.statuses[got.status]++
	if got.status < 300 && s.method == x.method && x.op.Extensions["x-scope"] != "none" {
		scope, _ := x.op.Extensions["x-scope"].(string)
		if s.key.kind == "" || scope != "any" && !slices.Contains(s.key.scopes, wallet.Scope(scope)) {
			return errors.New("a key opened what it may not")
		}
	}
	if got.status < 300 {
		a.reached[x.String()]++
		for _, secret := range []string{got.text("data", "key"), got.text("data", "secret"), got.text("data", "session")} {
			if secret != "" {
				a.told = append(a.told, secret)
			}
		}
		if id := got.text("data", "transaction_id"); id != "" && len(a.ids) < 50 {
			a.ids = append(a.ids, id)
		}
	}
	return nil
}

// one picks.
func one[T any](a *attacker, from ...T) T { return from[a.IntN(len(from))] }

// chance is true once in n times.
func (a *attacker) chance(n int) bool { return a.IntN(n) == 0 }

// pickKey is mostly one that opens the operation.
func (a *attacker) pickKey(x target) attackKey {
	if a.chance(4) {
		return one(a, a.keys...)
	}
	good := a.keys[:3]
	if strings.HasPrefix(x.template, "/v1/telegram/") {
		good = a.keys[3:6]
	}
	return one(a, good...)
}

func (a *attacker) shot(x target) shot {
	s := shot{method: x.method, key: a.pickKey(x), proto: "HTTP/1.1"}
	if a.chance(40) {
		s.proto = one(a, "HTTP/1.0", "HTTP/2.0", "HTTP/9", "http/1.1", "")
		s.torn = true
	}
	if a.chance(25) {
		s.method = one(a, "HEAD", "GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get", "GETGETGETGETGETGETGET", "G\tT")
	}
	s.path = a.path(x)
	s.query = a.query(x)
	s.headers = a.headers(s.key)
	if x.op.RequestBody != nil || a.chance(20) {
		s.body = a.body(x)
		s.chunked = a.chance(15)
	}
	if ready, is := a.ready[x.String()]; is && a.chance(2) {
		s.path, s.query, s.body, s.key, s.headers = ready.path, "", ready.body, ready.key, a.headers(ready.key)
		if a.chance(2) && s.body != "" {
			flip := a.IntN(len(s.body))
			s.body = s.body[:flip] + string(s.body[flip]^1) + s.body[flip+1:]
		}
	}
	if a.chance(60) && s.body != "" && !s.chunked { // two framings: the connection cannot be used any more
		s.headers = append(s.headers, one(a, "Content-Length: 1", "Content-Length: 0", "Content-Length: -1", "Content-Length: 1e3", "Transfer-Encoding: identity, chunked"))
		s.torn = true
	}
	return s
}

// value is what fits a parameter or field of a name, mostly.
func (a *attacker) value(name string) string {
	a.mu.Lock()
	id := one(a, a.ids...)
	a.mu.Unlock()
	switch name {
	case "address", "from", "to":
		return one(a, a.alice, a.alice, a.bob, a.mallory).Address().String()
	case "id", "cursor", "webhook_id", "delivery_id":
		return id
	case "event":
		return one(a, "webhook.test", "transaction.pending", "user.registered")
	case "state":
		return one(a, "waiting", "delivered", "dead_lettered")
	case "telegram_id", "chat_id":
		return one(a, "1001", "1001", "1002", "1003", "999")
	case "token":
		return one(a, "SOL", "SOL", "USDC", "sol", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	case "type":
		return one(a, "send", "receive")
	case "tokens":
		return one(a, "SOL", "SOL,USDC", "sol,SOL,EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
	case "span":
		return one(a, "1h", "24h", "30d")
	case "source":
		return "purser"
	case "status":
		return one(a, "confirmed", "requested", "rejected")
	case "since", "until":
		return one(a, "2026-01-01T00:00:00Z", "2026-11-21T12:00:00+02:00", "2026-11-21T12:00:00.123456789Z")
	case "limit":
		return one(a, "1", "20", "100")
	}
	return "x"
}

// strange is text that trips careless readers.
func (a *attacker) strange() string {
	return one(a, "", " ", "..", ".", "-1", "0", "1e400", "9999999999999999999", "18446744073709551616", "NaN", "null", "true", "[]", "{}", "'", "\"", "\\",
		"<script>alert(1)</script>", "%00", "%", "%zz", "%2e%2e%2f", "%252e", "\x00", "\xff\xfe", "\xed\xa0\x80", "\u202eevil", "\u200b", "\ufeff", "😀", "𝕊𝕆𝕃", "é", "e\u0301",
		"ﬀ", "İ", strings.Repeat("a", 65), strings.Repeat("A", 300), strings.Repeat("😀", 100), "${jndi:x}", "{{7*7}}", "'; DROP TABLE users;--", "../../etc/passwd", "1111111111111111111111111111111",
		"11111111111111111111111111111111", "SysvarRent111111111111111111111111111111111", "/start", "/send 1 SOL", "@alice", "0x1234", "max", "\r\nX-Evil: 1", "a,b", "a;b", "a\tb")
}

// line makes text fit to stand in a request's first line or in a header, mostly: else it is another request.
func (a *attacker) line(text string) string {
	return strings.NewReplacer("\r", "", "\n", "").Replace(text)
}

func (a *attacker) path(x target) string {
	parts := strings.Split(x.template, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, "{"); is {
			parts[i] = a.value(strings.TrimSuffix(name, "}"))
			if x.method == "DELETE" && !a.chance(10) {
				parts[i] = a.bob.Address().String() // else Alice would have no wallet to send from, most of the time
			}
			if a.chance(5) {
				parts[i] = strings.NewReplacer(" ", "%20", "?", "%3f", "#", "%23").Replace(a.line(a.strange()))
			}
		}
	}
	path := strings.Join(parts, "/")
	if !a.chance(15) {
		return path
	}
	at := 1 + a.IntN(len(path)-1)
	return one(a, path+"/", path+"//", "/"+path, strings.ReplaceAll(path, "/", "//"), strings.ToUpper(path), path+"/..", path+"/.", path+"%00", path+"%2f", path+";x=1", path+".json",
		"/v1/%2e%2e/v1/key", "/v1/../healthz", strings.Replace(path, "/v1/", "/v1/./", 1), strings.Replace(path, "/", "%2f", 2), path[:at], path[:at]+"%"+path[at:], path[:at]+"\xff"+path[at:],
		path[:at]+"é"+path[at:], path[:at]+"\\"+path[at:], path+strings.Repeat("/x", 1000), path+strings.Repeat("x", 7000), path+strings.Repeat("x", 9000), path+"#fragment", "*")
}

func (a *attacker) query(x target) string {
	var pairs []string
	for _, p := range x.op.Parameters {
		if p.Value.In != "query" || !p.Value.Required && a.chance(2) {
			continue
		}
		value := a.value(p.Value.Name)
		if a.chance(5) {
			value = a.line(a.strange())
			value = strings.NewReplacer(" ", "+", "#", "%23").Replace(value)
		}
		pair := p.Value.Name + "=" + value
		switch a.IntN(40) {
		case 0:
			pairs = append(pairs, pair)
		case 1:
			pair = p.Value.Name + "[]=" + value
		case 2:
			pair = p.Value.Name
		case 3:
			pair = strings.ToUpper(pair)
		case 4:
			pair = "%" + pair
		}
		pairs = append(pairs, pair)
	}
	if a.chance(30) {
		pairs = append(pairs, one(a, "x=1", "=", "&&", "%zz=%zz", "__proto__=1", "key="+a.keys[0].secret, a.keys[1].secret+"=1", "a="+strings.Repeat("x", 4000), "?", "address=1&address=2", "limit=1e1", "limit=%31"))
	}
	if len(pairs) == 0 {
		return one(a, "", "", "", "", "", "", "", "?")
	}
	return "?" + strings.Join(pairs, "&")
}

func (a *attacker) headers(key attackKey) []string {
	lines := []string{"Authorization: " + one(a, "Bearer ", "Bearer ", "Bearer ", "Bearer ", "Bearer ", "bearer ", "BEARER  ") + key.secret}
	if key.secret == "" && a.chance(2) {
		lines = nil
	}
	if !a.chance(15) {
		lines = append(lines, "Content-Type: "+one(a, "application/json", "application/json", "application/json; charset=utf-8", "Application/JSON"))
	} else {
		lines = append(lines, one(a, "Content-Type: text/plain", "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data; boundary=x", "Content-Type: multipart/form-data",
			"Content-Type: application/json; charset=utf-16", "Content-Type: application/json; charset", "Content-Type: ;;;", "Content-Type: application/jsonp", "Content-Type:", "X-None: 1",
			"Content-Type: application/json\r\nContent-Type: text/html", "Content-Type: "+strings.Repeat("a", 5000)))
	}
	if a.chance(3) {
		lines = append(lines, "Idempotency-Key: "+one(a, "k1", "k2", strconv.Itoa(a.IntN(1000)), strconv.Itoa(a.IntN(1_000_000)), "", " ", strings.Repeat("k", 128), strings.Repeat("k", 129), "ü", "a\tb", "\x01", "k\r\nIdempotency-Key: l"))
	}
	if a.chance(8) {
		lines = append(lines, one(a, "X-Request-Id: mine-1", "X-Request-Id: <b>", "X-Request-Id: "+strings.Repeat("x", 64), "X-Request-Id: "+strings.Repeat("x", 65), "X-Request-Id: a\r\nX-Request-Id: b",
			"X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: ::1, junk", "X-HTTP-Method-Override: DELETE", "Cookie: a=b", "Origin: https://evil.example", "Accept: text/html", "Accept-Encoding: gzip, br, deflate, zstd",
			"Range: bytes=0-1", "If-None-Match: *", "If-Modified-Since: x", "Expect: 100-continue", "Connection: close", "Connection: upgrade\r\nUpgrade: websocket", "Upgrade: h2c", "TE: trailers",
			"Content-Encoding: gzip", "Content-Encoding: identity", "Content-Encoding: br, gzip", "Content-Disposition: x", "X-Long: "+strings.Repeat("x", 6000), "X-Long: "+strings.Repeat("x", 9000),
			"X-Bytes: \xff\xfe", "X-Null: a\x00b", "Authorization: Bearer "+a.keys[0].secret+"\r\nAuthorization: Bearer "+a.keys[0].secret, "Proxy-Authorization: Basic eDp5", "Host: evil.example", "\xff: 1", "X Space: 1", " folded: 1"))
	}
	return lines
}

// raw is a JSON value that does not belong where it is put; often no JSON at all.
func (a *attacker) raw() string {
	if a.chance(3) {
		quoted, err := json.Marshal(a.strange())
		if err == nil && a.chance(2) {
			return string(quoted)
		}
		return `"` + strings.NewReplacer(`"`, "", `\`, "").Replace(a.strange()) + `"`
	}
	return one(a, "null", "true", "false", "0", "-0", "-1", "1e400", "-1e400", "1e-400", "0.1e1", "1.0000000000000000001", "9223372036854775808", "1234567890123456789", "0.0000000001", "00", "01", "1.", ".5", "+1", "0x10", "NaN", "Infinity",
		"[]", "{}", "[[]]", `[""]`, `[null]`, `["*","*"]`, `{"a":{}}`, `"\ud800"`, `"\udc00\ud800"`, `"\u0000"`, `"\u202e"`, `"\x"`, `"`, `"a`, "'a'", "tru", "undefined", "[1,2", "/**/1", `"`+"\x00"+`"`, `"`+"\xc3\x28"+`"`,
		strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000), strings.Repeat(`{"a":`, 10_000)+"1"+strings.Repeat("}", 10_000), strings.Repeat("[", 10_000), strings.Repeat("9", 19), strings.Repeat("9", 500),
		`"`+strings.Repeat("x", 4001)+`"`, `"`+strings.Repeat("😀", 4000)+`"`, `"`+strings.Repeat("x", 60_000)+`"`, `"https://user:pw@example.com/"`, `"http://example.com/"`, `"https://127.0.0.1/"`, `"https://[::1]/"`, `"https://2130706433/"`, `"https://example.com:99999/"`,
		`"https://e\u0078ample.com/%zz"`, `"javascript:alert(1)"`, `["message.received",1]`, `["transaction.*"]`, "["+strings.Repeat(`"*",`, 60)+`"*"]`, `"/help"`, `"/send 1 SOL 11111111111111111111111111111111"`, `"/price SOL"`, `"/delete_me"`, `"/wallet new"`)
}

// field is one of a body; a body is a list of them, so that a name can stand there twice.
type field struct{ name, raw string }

func (a *attacker) fields(x target) []field {
	example, _ := x.op.RequestBody.Value.Content.Get("application/json").Example.(map[string]any)
	var all []field
	for name := range x.op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
		value, given := example[name]
		switch {
		case name == "from":
			value = a.alice.Address().String()
		case name == "to", name == "address", name == "chat_id":
			value = a.value(name)
		case name == "amount":
			value = one[any](a, "0.001", 0.001, "0.5", ".01", 1, "1.000000001")
		case name == "command":
			value = one(a, "/wallet balance", "/help", "/wallet address", "/start", "/price SOL", "/send 0.01 SOL "+a.bob.Address().String(), "/nothing", "words")
		case name == "grace_seconds":
			value = one[any](a, 0, 3600, 604800)
		case name == "end_now":
			value = a.chance(3)
		case name == "secret":
			if value, given = fmt.Sprintf("given-secret-%d", a.Uint64()), a.chance(2); given {
				a.mu.Lock()
				a.hidden = append(a.hidden, value.(string))
				a.mu.Unlock()
			}
			if !given {
				continue
			}
		case !given:
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			raw = []byte("0")
		}
		all = append(all, field{name, string(raw)})
	}
	slices.SortFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return all
}

// body is a good one, or spoilt once or more.
func (a *attacker) body(x target) string {
	if a.chance(12) || x.op.RequestBody == nil {
		return one(a, "", " ", "{", "{}", "null", "[]", "1", `""`, "\ufeff{}", "{}\x00", "{}{}", "\xff", "{\"a\":1", strings.Repeat("[", 10_000), strings.Repeat(`{"a":`, 10_000)+strings.Repeat("}", 10_000),
			strings.Repeat(" ", maxBody)+"{}", strings.Repeat(" ", maxBody-2)+"{}", "{}"+strings.Repeat("\n", maxBody-2), strings.Repeat("x", 200_000), "a=b&c=d", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n", "<xml/>", "\x1f\x8b\x08\x00")
	}
	all := a.fields(x)
	for a.chance(2) {
		at := 0
		if len(all) > 0 {
			at = a.IntN(len(all))
		}
		switch a.IntN(8) {
		case 0:
			all = append(all, field{one(a, "memo", "__proto__", "From", "a b", "<b>", strings.Repeat("n", 500), "\u202e", "\x00", "id"), a.raw()})
		case 1, 2, 3, 4:
			if len(all) > 0 {
				all[at].raw = a.raw()
			}
		case 5:
			if len(all) > 0 {
				all = slices.Delete(all, at, at+1)
			}
		case 6:
			if len(all) > 0 {
				all = append(all, one(a, all[at], field{all[at].name, a.raw()}))
			}
		case 7:
			if len(all) > 0 && all[at].name != "" {
				all[at].name = one(a, strings.ToUpper(all[at].name), all[at].name+" ", `\u00`+fmt.Sprintf("%02x", all[at].name[0])+all[at].name[1:], "")
			}
		}
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + f.name + `":` + f.raw)
	}
	b.WriteByte('}')
	if a.chance(30) && b.Len() > 1 {
		b.Truncate(a.IntN(b.Len()))
	}
	return b.String()
}
