package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"purser/locale"
	"purser/store"
	"purser/wallet"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	table, english := refusals(), englishTexts(t)
	for _, code := range wallet.Codes() {
		if r, ok := table[code]; !ok || r.status < 400 || english(r.message) == "" {
			t.Errorf("%s is answered with %+v", code, r)
		}
	}
	if len(table) != len(wallet.Codes()) {
		t.Errorf("%d codes are answered, %d exist", len(table), len(wallet.Codes()))
	}
	// The specification's own six.
	for code, status := range map[wallet.Code]int{
		wallet.InvalidAPIKey: 401, wallet.RateLimitExceeded: 429, wallet.InvalidRequest: 400,
		wallet.WalletNotFound: 404, wallet.InsufficientFunds: 422, wallet.NetworkError: 503,
	} {
		if table[code].status != status {
			t.Errorf("%s is %d, the specification says %d", code, table[code].status, status)
		}
	}
}

// englishTexts finds texts of the catalogue by their keys.
func englishTexts(t *testing.T) func(key string) string {
	t.Helper()
	texts, err := locale.New()
	check(t, err)
	english := texts.Printer("en", locale.Style{})
	return func(key string) string {
		text, err := english.Text(key, nil)
		if err != nil {
			t.Error(err)
		}
		return text
	}
}

func TestErrorsThatNobodyLabelled(t *testing.T) {
	for err, want := range map[error]wallet.Code{
		errors.New("secret detail"):                              wallet.Internal,
		fmt.Errorf("x: %w", context.DeadlineExceeded):            wallet.NetworkError,
		fmt.Errorf("x: %w", store.ErrConflict):                   wallet.Conflict,
		fmt.Errorf("x: %w", store.ErrUnknownOutcome):             wallet.Internal,
		&panicked{"secret", nil}:                                 wallet.Internal,
		fmt.Errorf("x: %w", wallet.Refuse(wallet.NotFound, "d")): wallet.NotFound,
	} {
		if e := labelled(err); e.Code != want || strings.Contains(e.Reason.String(), "secret") {
			t.Errorf("%v is %s %q, want %s", err, e.Code, e.Reason, want)
		}
	}
}

func TestHealth(t *testing.T) {
	r := newHarness(t)
	a := r.do("GET", "/healthz", "")
	wantEnvelope(t, a)
	if a.status != 200 || a.text("data", "status") != "ok" || a.text("message") != "Serving." {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestOnlyTheSigningPageIsHTML walks every route, and paths that are none, with every method.
func TestOnlyTheSigningPageIsHTML(t *testing.T) {
	r := newHarness(t)
	paths := []string{"/", "/docs", "/docs/", "/docs/style.css", "/index.html", "/v1", "/v1/", "/v1/wallet/Balance", "/v1/wallet/send/", "/V1/wallet/send", "/favicon.ico", "/healthz/", "/wallet",
		"/w/nothing.js", "/w/bind/", "/w/tx/nothing", "/w/..", "/w/../v1", "/w/%2e%2e%2fgo.mod", "/w//", "//w/", "/w/page/index.html", "/w/index.html%00", "/<script>"}
	for _, route := range r.server.app.GetRoutes(true) {
		path := strings.NewReplacer(":id", "tx_1", ":telegram_id", "1", ":chat_id", "1", ":file", "icon.svg").Replace(route.Path)
		paths = append(paths, path, path+"?<script>")
	}
	if len(paths) < 40 {
		t.Fatalf("only %d paths: were the routes not listed?", len(paths))
	}
	methods := []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"}
	for _, path := range paths {
		for _, method := range methods {
			a := r.do(method, path, "")
			kind := a.header.Get("Content-Type")
			switch {
			case a.status >= 500:
				t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
			case a.status == 308:
				if len(a.body) > 0 || a.header.Get("Location") != "/w/" {
					t.Errorf("%s %s redirects to %q with %q", method, path, a.header.Get("Location"), a.body)
				}
			case strings.HasPrefix(path, "/w/") && a.status == 200:
				// The page's own files.
			case kind != "application/json":
				t.Errorf("%s %s: %d as %q", method, path, a.status, kind)
			}
			if strings.Contains(kind, "html") && !strings.HasPrefix(path, "/w/") {
				t.Errorf("%s %s is HTML", method, path)
			}
			wanted := map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
			if strings.HasPrefix(path, documentPath) && a.status == 200 {
				delete(wanted, "Cache-Control") // the same for everybody: it may be kept
			}
			for header, value := range wanted {
				if a.header.Get(header) != value {
					t.Errorf("%s %s: %s is %q", method, path, header, a.header.Get(header))
				}
			}
			if csp := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
				t.Errorf("%s %s: CSP %q", method, path, csp)
			}
			for _, header := range []string{"Server", "Set-Cookie", "Access-Control-Allow-Origin"} {
				if got := a.header.Get(header); got != "" {
					t.Errorf("%s %s: %s: %s", method, path, header, got)
				}
			}
		}
	}
}

func TestPathsAndMethodsThatDoNotExist(t *testing.T) {
	r := newHarness(t)
	r.want(r.do("GET", "/v1/nothing", ""), 404, wallet.NotFound, "There is nothing at this path. https://docs.example/docs describes the API.")
	r.want(r.do("GET", "/v1/wallet/send", ""), 405, wallet.MethodNotAllowed, "this path takes POST")
	r.want(r.do("BREW", "/v1/wallet/send", ""), 405, wallet.MethodNotAllowed, "")
	a := r.do("DELETE", "/v1/wallet/balance", "")
	r.want(a, 405, wallet.MethodNotAllowed, "this path takes GET, HEAD")
	if allow := a.header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "HEAD") {
		t.Errorf("Allow: %q", allow)
	}
	if a := r.do("HEAD", "/healthz", ""); a.status != 200 || len(a.body) != 0 {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
}

func TestRequestIDsAreTakenOverOnlyWhenSane(t *testing.T) {
	r := newHarness(t)
	if got := r.do("GET", "/healthz", "", "X-Request-Id", "my.Request_1-a").header.Get("X-Request-Id"); got != "my.Request_1-a" {
		t.Errorf("mine became %q", got)
	}
	for _, id := range []string{"", "<b>", "a b", strings.Repeat("x", 65), "ümlaut"} {
		if got := r.do("GET", "/healthz", "", "X-Request-Id", id).header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("%q became %q", id, got)
		}
	}
}

// raw writes bytes to a fresh connection and reads one answer.
func (r *harness) raw(request string) answer {
	r.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	r.Must(err)
	defer conn.Close()
	r.Must(conn.SetDeadline(time.Now().Add(10 * time.Second)))
	_, err = io.WriteString(conn, request)
	r.Must(err)
	a := r.readAnswer(conn)
	if line := strings.Fields(strings.SplitN(request, "\r\n", 2)[0]); len(line) == 3 {
		if err := r.contract.allows(line[0], line[1], "", a); err != nil {
			r.Errorf("openapi.json does not allow the answer to %.200q: %v\n%d %s", request, err, a.status, a.body)
		}
	}
	return a
}

func (r *harness) readAnswer(conn net.Conn) answer {
	r.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	r.Must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	r.Must(err)
	return answer{resp.StatusCode, resp.Header, body}
}

func TestUnreadableRequestsGetTheEnvelopeToo(t *testing.T) {
	r := newHarness(t)
	head := "POST /v1/wallet/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + r.alice.secret + "\r\n"
	for name, test := range map[string]struct {
		request string
		status  int
		says    string
	}{
		"no HTTP":             {"hello\r\n\r\n", 400, "malformed HTTP"},
		"TLS":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "malformed HTTP"},
		"10k header":          {head + "X-Long: " + strings.Repeat("x", 10000) + "\r\n\r\n", 400, "8192 bytes"},
		"10k path":            {"GET /" + strings.Repeat("x", 10000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 400, "8192 bytes"},
		"wrong length":        {head + "Content-Length: abc\r\n\r\n", 400, "malformed HTTP"},
		"broken chunks":       {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 411, "Content-Length"},
		"oversized by length": {head + "Content-Length: 99999999\r\n\r\n", 413, "65536"},
		"two lengths":         {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}", 400, "one Content-Length"},
		"length and chunks":   {head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 400, "one Content-Length"},
		"an unknown coding":   {head + "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411, ""},
		"two codings":         {head + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411, ""},
		"a spaced name":       {head + "content-length : 2\r\nContent-Length: 3\r\n\r\n{}}", 400, ""},
		"empty chunked body":  {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411, "Content-Length"},
		"identity":            {head + "Transfer-Encoding: identity\r\n\r\n", 411, "Content-Length"},
		"a folded length":     {head + "X-A: b\r\n Content-Length: 2\r\n\r\n{}", 400, ""},
		"bare line feeds":     {head + "X-A: b\nContent-Length: 2\r\n\r\n{}", 400, "CR LF"},
		"a signed length":     {head + "Content-Length: +2\r\n\r\n{}", 400, ""},
		"no body":             {head + "\r\n", 400, "one JSON object"},
		"unknown method":      {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 405, ""},
	} {
		t.Run(name, func(t *testing.T) {
			defer r.under(t)()
			a := r.raw(test.request)
			wantEnvelope(t, a)
			if a.status != test.status || !strings.Contains(a.text("error", "details"), test.says) {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

// An answer that the kernel's reset destroys on its way would show here as a broken connection.
func TestOversizedBodiesHearWhy(t *testing.T) {
	r := newHarness(t)
	body := strings.Repeat("x", 2<<20)
	for range 20 {
		r.want(r.send(r.alice.secret, body), 413, wallet.PayloadTooLarge, "65536")
	}
}

func TestASlowBodyIsCutOff(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.http.ReadTimeout = 100 * time.Millisecond })
	a := r.raw("POST /v1/wallet/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + r.alice.secret + "\r\nContent-Length: 10\r\n\r\n{")
	r.want(a, 400, wallet.InvalidRequest, "didn't arrive")
}

func TestAPanicIsAnAnswerAndALogLine(t *testing.T) {
	r := newHarness(t)
	r.accept = func(context.Context, string, []byte) error { panic("the secret of a panic") }
	a := r.do("POST", "/telegram/webhook", "{}")
	r.want(a, 500, wallet.Internal, "")
	if strings.Contains(string(a.body), "secret") {
		t.Errorf("shown: %s", a.body)
	}
	if log := r.logged.String(); !strings.Contains(log, "the secret of a panic") || !strings.Contains(log, "server_test.go") || !strings.Contains(log, "ERROR") {
		t.Errorf("logged: %s", log)
	}
	if a := r.do("GET", "/healthz", ""); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
}

func TestTheLogHoldsNoSecrets(t *testing.T) {
	r := newHarness(t)
	r.get("/v1/wallet/balance?address="+r.bob.Address().String(), r.alice.secret)
	r.get("/v1/wallet/balance?address=query-secret", "pur_test_guessed")
	r.send(r.alice.secret, `{"from":"body-secret"}`)
	r.page("/w/tx/get", map[string]string{"id": "sign-secret"})
	r.do("GET", "/v1/path-secret", "")
	log := r.logged.String()
	for _, secret := range []string{r.alice.secret, r.bob.Address().String(), "guessed", "-secret"} {
		if strings.Contains(log, secret) {
			t.Errorf("%q is logged:\n%s", secret, log)
		}
	}
	for _, line := range []string{
		"method=GET route=/v1/wallet/balance status=200",
		"method=GET route=/v1/wallet/balance status=401",
		"method=POST route=/v1/wallet/send status=400",
		"method=POST route=/w/tx/get status=404",
		`method=GET route="" status=404`,
	} {
		if strings.Count(log, line) != 1 {
			t.Errorf("want one line with %q in\n%s", line, log)
		}
	}
}

func TestShutdownLetsARequestFinish(t *testing.T) {
	r := newHarness(t)
	begun, release := make(chan struct{}), make(chan struct{})
	r.accept = func(ctx context.Context, _ string, _ []byte) error {
		close(begun)
		<-release
		return ctx.Err()
	}
	answered := make(chan answer, 1)
	go func() { answered <- r.do("POST", "/telegram/webhook", "{}") }()
	<-begun
	var released atomic.Bool
	stopped := make(chan error, 1)
	go func() {
		err := r.stop()
		if !released.Load() {
			err = errors.New("Run ended while a request was at work")
		}
		stopped <- err
	}()
	// The listener is closed at once; the request is not.
	for deadline := time.Now().Add(5 * time.Second); ; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
		if err != nil {
			break
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("still listening")
		}
	}
	released.Store(true)
	close(release)
	if a := <-answered; a.status != 200 {
		t.Errorf("the request at work: %d %s", a.status, a.body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestEveryRequestHasADeadline(t *testing.T) {
	r := newHarness(t)
	var left time.Duration
	r.accept = func(ctx context.Context, _ string, _ []byte) error {
		at, ok := ctx.Deadline()
		if !ok {
			return errBadUpdate
		}
		left = time.Until(at)
		return nil
	}
	if a := r.do("POST", "/telegram/webhook", "{}"); a.status != 200 || left <= 0 || left > answerTimeout {
		t.Errorf("%d, %v left", a.status, left)
	}
}

func TestTelegramsWebhook(t *testing.T) {
	r := newHarness(t)
	var got string
	outcome := error(nil)
	r.accept = func(_ context.Context, secret string, body []byte) error {
		got = secret + " " + string(body)
		return outcome
	}
	post := func() answer {
		return r.do("POST", "/telegram/webhook", `{"update_id":1}`, "X-Telegram-Bot-Api-Secret-Token", "s3", "Content-Type", "application/json")
	}
	if a := post(); a.status != 200 || got != `s3 {"update_id":1}` {
		t.Errorf("%d %s, took %q", a.status, a.body, got)
	}
	for err, want := range map[error]int{
		fmt.Errorf("x: %w", errForbidden): 401, fmt.Errorf("x: %w", errBadUpdate): 400, errors.New("disk full"): 503,
	} {
		outcome = err
		a := post()
		wantEnvelope(t, a)
		if a.status != want || strings.Contains(string(a.body), "disk") {
			t.Errorf("%v: %d %s", err, a.status, a.body)
		}
	}
	if !strings.Contains(r.logged.String(), "disk full") {
		t.Error("a full disk is not in the log")
	}
	// Updates may be longer than what our own callers send: refusing one would stop them all.
	outcome = nil
	if a := r.do("POST", "/telegram/webhook", strings.Repeat(" ", 3*maxBody)); a.status != 200 {
		t.Errorf("a long update: %d %s", a.status, a.body)
	}
	r.want(r.do("POST", "/telegram/webhook", strings.Repeat(" ", (1<<20)+1)), 413, wallet.PayloadTooLarge, "")
}

func TestWithoutAWebhookThereIsNoSuchRoute(t *testing.T) {
	o := newHarness(t).server.Options
	o.Webhook = nil
	s, err := New(o)
	check(t, err)
	for _, route := range s.app.GetRoutes(true) {
		if route.Path == WebhookPath {
			t.Error("it is there")
		}
	}
}

func TestAServerIsNotBuiltOfHalves(t *testing.T) {
	whole := newHarness(t).server.Options
	for name, spoil := range map[string]func(*Options){
		"public url": func(o *Options) { o.PublicURL = nil }, "store": func(o *Options) { o.Store = nil }, "clock": func(o *Options) { o.Now = nil },
	} {
		o := whole
		spoil(&o)
		if _, err := New(o); err == nil {
			t.Errorf("built without a %s", name)
		}
	}
}

// TestHalfARequestHoldsUpNoEnd: a client that stops in the midst of a request is not waited for.
func TestHalfARequestHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	r := newHarness(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	check(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nPOST /w/tx/get HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
	check(t, err)
	_, err = http.ReadResponse(bufio.NewReader(conn), nil) // the server has read beyond the first request
	check(t, err)
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}
