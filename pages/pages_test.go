// Long: every promise of the pages, by one server.

package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/api"
	"purser/quota"
	"purser/signer"
	"purser/wallet"
	"purser/webhooks"
)

// serve runs the pages over a real socket until the test ends, and returns their address.
func serve(t *testing.T, document []byte) string {
	t.Helper()
	events, err := webhooks.Describe()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Document: document, Events: events, API: &url.URL{Scheme: "https", Host: "wallet.example.org"},
		Limits: quota.Limits{APIFree: 100, APIPro: 1000, BotFree: 50, BotPro: 500, Messages: 30}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, ln) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

func TestBrowsersAreToldToStayWithHTTPS(t *testing.T) {
	for address, want := range map[string]string{"https://pages.example.org": "max-age=31536000", "http://127.0.0.1:8082": ""} {
		own, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Document: api.Document(), Events: []byte("[]"), API: own, URL: own, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		s.headers(h, Docs)
		if got := h.Get("Strict-Transport-Security"); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}

func TestEveryFileHasAContentType(t *testing.T) {
	own := &url.URL{Scheme: "http", Host: "127.0.0.1:8082"}
	s, err := New(Options{Document: api.Document(), Events: []byte("[]"), API: own, URL: own, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for path, f := range s.files {
		if path != Docs && f.kind == "" { // the documentation is rendered when it is asked for
			t.Errorf("%s has none", path)
		}
	}
	if docs, err := s.docs(); err != nil || docs.kind != "text/html; charset=utf-8" || len(s.files) < 10 {
		t.Errorf("the documentation: %q, %v, of %d files", docs.kind, err, len(s.files))
	}
}

func do(t *testing.T, method, address string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// TestTheDocumentationTellsEverythingOfTheDocument: each operation with its parameters, fields, statuses
// and codes, so that nobody needs the JSON to call it.
func TestTheDocumentationTellsEverythingOfTheDocument(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	var d document
	if err := json.Unmarshal(api.Document(), &d); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(page, "<article ")
	operations := 0
	for _, path := range d.Paths {
		for _, method := range path.Value {
			op := method.Value
			operations++
			part := ""
			for _, one := range parts {
				if strings.HasPrefix(one, `id="`+op.ID+`"`) {
					part = html.UnescapeString(one)
				}
			}
			wanted := []string{op.Summary, strings.ToUpper(method.Name), ">" + path.Name + "<", "curl", "https://wallet.example.org/v1/"}
			if op.Scope != "any" && op.Scope != "none" {
				wanted = append(wanted, "<code>"+op.Scope+"</code>")
			}
			for _, given := range op.Parameters {
				if found, ok := d.Components.Parameters.get(last(given.Ref)); ok {
					given = found
				}
				wanted = append(wanted, ">"+given.Name+" <")
			}
			if op.RequestBody != nil {
				for _, property := range d.schema(op.RequestBody.Content["application/json"].Schema).Properties {
					wanted = append(wanted, ">"+property.Name+" <")
				}
			}
			for _, r := range op.Responses {
				wanted = append(wanted, `<span class="status">`+r.Name+"</span>")
				for _, row := range d.codes(r.Name, r.Value) {
					wanted = append(wanted, "<code>"+row.Code+"</code>")
				}
			}
			for _, want := range wanted {
				if !strings.Contains(part, want) {
					t.Errorf("%s %s: the page does not tell %q", method.Name, path.Name, want)
				}
			}
		}
	}
	if operations < 20 {
		t.Errorf("the document was read to %d operations only", operations)
	}
	if rows := strings.Count(page, `<tr><th scope="row"><code>`); rows != len(d.errors()) || rows < 20 {
		t.Errorf("%d codes in the table", rows)
	}
}

// TestTheDocumentationListsEveryEventWithItsFields: what the catalogue has, each with its data's fields and what they
// mean, an example, and whether it is emitted today.
func TestTheDocumentationListsEveryEventWithItsFields(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	parts := strings.Split(page, "<article ")
	for _, e := range webhooks.Catalogue() {
		part := ""
		for _, one := range parts {
			if strings.HasPrefix(one, `id="event-`+string(e.Kind)+"-"+string(e.Name)+`"`) {
				part, _, _ = strings.Cut(html.UnescapeString(one), "</article>")
			}
		}
		raw, err := e.Schema()
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Properties struct {
				Data struct {
					Properties map[string]struct{ Description string }
				}
			}
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		example, err := e.Example()
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, example, "", "  "); err != nil {
			t.Fatal(err)
		}
		wanted := []string{"<code>" + string(e.Name) + "</code>", e.When, spaced.String()}
		if e.Scope != "" {
			wanted = append(wanted, string(e.Scope))
		}
		for name, field := range s.Properties.Data.Properties {
			wanted = append(wanted, `<dt class="depth0">`+name+"</dt>", field.Description)
		}
		if e.Name == wallet.BalanceUpdated { // what each of its balances holds
			wanted = append(wanted, `<dt class="depth1">usd_value</dt>`, `<dt class="depth1">change</dt>`)
		}
		for _, want := range wanted {
			if !strings.Contains(part, want) {
				t.Errorf("%s: the page does not tell %q", e.Name, want)
			}
		}
		if len(wanted) < 6 || strings.Contains(part, "Not emitted yet") == e.Emitted {
			t.Errorf("%s: %d facts, emitted %v", e.Name, len(wanted), e.Emitted)
		}
		if !strings.Contains(page, `<a href="#event-`+string(e.Kind)+"-"+string(e.Name)+`">`) {
			t.Errorf("the index does not lead to %s", e.Name)
		}
	}
}

// TestAnswersStandOpen: what a success holds is read without a click, and every field says what it may be.
func TestAnswersStandOpen(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	for folded := range strings.SplitSeq(page, "<details") {
		inner, _, _ := strings.Cut(folded, "</details>")
		if strings.Contains(inner, "<dt ") && strings.Contains(inner, "<summary>Example") {
			t.Errorf("fields are folded away: %.200s", inner)
		}
	}
	send := page[strings.Index(page, `<article id="send"`):]
	send = html.UnescapeString(send[:strings.Index(send, "</article>")])
	for _, want := range []string{`<h4>Response <span class="status">202</span></h4>`, ">transaction_id</dt>", ">unsigned_transaction</dt>", "<h4>Errors</h4>"} {
		if !strings.Contains(send, want) {
			t.Errorf("send does not tell %q", want)
		}
	}
	for _, field := range regexp.MustCompile(`<dd[^>]*>\s*(\.[^<]*)?</dd>`).FindAllString(page, -1) {
		t.Errorf("a field of no type: %s", field)
	}
}

// TestTheQuickstartBeginsWithSteps: a key, the first call, a webhook; what there is to know comes after them.
func TestTheQuickstartBeginsWithSteps(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	_, rest, found := strings.Cut(page, `<h2 id="start-title">Quickstart</h2>`)
	rest, _, _ = strings.Cut(rest, "</section>")
	for _, part := range []string{"\n<ol", "Get a key</h3>", "<code>/api</code>", "Make the first call</h3>", "/v1/key'</pre>", "Receive events</h3>", "/v1/webhooks'</pre>", "</ol>", "How it works</h3>", "Private keys never leave"} {
		before, after, ok := strings.Cut(rest, part)
		if !found || !ok {
			t.Fatalf("%q does not follow in its place: %s", part, rest)
		}
		if part == "\n<ol" && before != "" {
			t.Errorf("%q stands before the steps", before)
		}
		rest = after
	}
}

func TestEveryLinkLeadsSomewhereAndNothingStandsTwice(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("the id %s stands twice", id[1])
		}
		ids[id[1]] = true
	}
	for _, to := range regexp.MustCompile(`(?:href="#|data-of="|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[to[1]] {
			t.Errorf("a link leads to %s, which is nowhere", to[1])
		}
	}
	for _, address := range regexp.MustCompile(`(?:src|href)="([^#"][^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(address[1], Docs+"/") && address[1] != "https://wallet.example.org/v1/openapi.json" && address[1] != "https://www.standardwebhooks.com" {
			t.Errorf("the page leads to %s", address[1])
		}
	}
}

// TestThePagesRunNothingOfAnybodyElses: what a browser is told on every answer, and that the page needs
// nothing that it forbids.
func TestThePagesRunNothingOfAnybodyElses(t *testing.T) {
	base := serve(t, api.Document())
	scripts := []string{}
	for path := range portalFiles(t) {
		scripts = append(scripts, path)
	}
	for _, path := range append(scripts, Docs, Docs+"/style.css", Docs+"/copy.js", Docs+"/icon.svg", "/", "/w/", "/v1/key", "/docs/", "/docs/../docs", "/docs.html", "/static/style.css", "/%64ocs", "/docs/nothing",
		"/portal/", "/portal/nothing.js", "/portal.html", "/portal/../portal", "/portal/style.css", "/docs/main.js") {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"} {
			resp, body := do(t, method, base+path)
			csp := resp.Header.Get("Content-Security-Policy")
			if !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; ") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
				!strings.Contains(csp, "require-trusted-types-for 'script'; trusted-types 'none'") {
				t.Errorf("%s %s: CSP %q", method, path, csp)
			}
			// The portal sends requests to the API, and to its own origin for its texts. The documentation sends none.
			_, speaks, _ := strings.Cut(csp, "connect-src ")
			partner, keep := "", "no-cache"
			if strings.HasPrefix(path, "/portal/") || path == Portal {
				partner, keep = "'self' https://wallet.example.org", "no-store"
			}
			if speaks != partner || resp.Header.Get("Cache-Control") != keep {
				t.Errorf("%s %s: connect-src %q, kept %q", method, path, speaks, resp.Header.Get("Cache-Control"))
			}
			for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
				"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), payment=(), usb=(), publickey-credentials-get=(), publickey-credentials-create=()",
				"Cross-Origin-Resource-Policy": "same-origin", "Set-Cookie": "", "Access-Control-Allow-Origin": "", "Server": ""} {
				if got := resp.Header.Get(name); got != value {
					t.Errorf("%s %s: %s is %q", method, path, name, got)
				}
			}
			ours := path == "/%64ocs" || strings.HasPrefix(path, Docs) && path != "/docs/" && path != "/docs.html" && path != "/docs/nothing" && path != "/docs/../docs" && path != "/docs/main.js" ||
				slices.Contains(scripts, path)
			want := 404
			switch {
			case ours && (method == "GET" || method == "HEAD"):
				want = 200
			case ours:
				want = 405
			case path == "/" && (method == "GET" || method == "HEAD"):
				want = 302
				if to := resp.Header.Get("Location"); to != Docs {
					t.Errorf("%s /: to %q", method, to)
				}
			}
			if resp.StatusCode != want || want != 200 && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") || method == "HEAD" && body != "" {
				t.Errorf("%s %s: %d %q", method, path, resp.StatusCode, body[:min(len(body), 80)])
			}
		}
	}
	for _, path := range []string{Docs, Portal} {
		_, page := do(t, "GET", base+path)
		for what, inline := range map[string]string{"a script": `<script>|<script[^>]*>[^<]`, "a style": `<style| style=`, "a handler": `<[^>]* on[a-z]+=`} {
			if found := regexp.MustCompile(inline).FindString(page); found != "" {
				t.Errorf("%s stands in %s: %s", what, path, found)
			}
		}
	}
}

// portalFiles are the portal's page, scripts and style, by path.
func portalFiles(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{Portal: "portal.html"}
	list, err := files.ReadDir("portal")
	if err != nil || len(list) < 5 {
		t.Fatalf("%d files: %v", len(list), err)
	}
	for _, entry := range list {
		found[Portal+"/"+entry.Name()] = "portal/" + entry.Name()
	}
	return found
}

// TestThePortalNeedsItsOwnFilesOnly: every import and address in it is a file that is served, and nothing
// in it makes markup of text.
func TestThePortalNeedsItsOwnFilesOnly(t *testing.T) {
	base, list := serve(t, api.Document()), portalFiles(t)
	address := regexp.MustCompile(`(?:from '\.|(?:src|href)=")(/[^']*?)['"]`)
	for path, name := range list {
		content, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range address.FindAllStringSubmatch(string(content), -1) {
			to := found[1]
			if strings.HasSuffix(path, ".js") {
				to = Portal + to
			}
			if resp, _ := do(t, "GET", base+to); resp.StatusCode != 200 {
				t.Errorf("%s needs %s: %d", path, to, resp.StatusCode)
			}
		}
		if found := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|document\.cookie|\bimport\(`).FindString(string(content)); found != "" {
			t.Errorf("%s: %s", path, found)
		}
	}
	if _, page := do(t, "GET", base+Portal); !strings.Contains(page, `<meta name="purser-api" content="https://wallet.example.org">`) {
		t.Errorf("the portal does not know where the API is:\n%s", page)
	}
}

// TestThePortalsModules runs their tests in Node and, unless in a hurry, every screen of the portal in Chromium.
func TestThePortalsModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("node is not installed")
	}
	args := []string{"--test", "--test-concurrency=2", "--test-reporter=spec"} // a browser waits more than it works
	if testing.Short() {
		args = append(args, "texts.test.mjs", "api.test.mjs")
	}
	run := exec.CommandContext(t.Context(), node, args...)
	run.Dir = "portaltest"
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^ℹ pass [1-9]`).Match(out) {
		t.Fatalf("no test ran:\n%s", out)
	}
}

// TestTheSnippetsThatVerifyRun in Node: they take what is sent, and refuse everything else without throwing.
func TestTheSnippetsThatVerifyRun(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("node is not installed")
	}
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	if first, second := strings.Index(page, "webhook-signature</h3>"), strings.Index(page, "x-service-signature</h3>"); first < 0 || second < first {
		t.Errorf("the better scheme does not come first: %d, %d", first, second)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for id, name := range map[string]string{"example-verify": "verified.mjs", "example-verify-service": "simply.mjs"} {
		found := regexp.MustCompile(`(?s)<pre id="` + id + `">(.*?)</pre>`).FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("there is no %s", id)
		}
		write(name, html.UnescapeString(found[1]))
	}
	driver := write("driver.mjs", `import { text } from 'node:stream/consumers';
import { verified } from './verified.mjs';
import { verifiedSimply } from './simply.mjs';
for (const { what, headers, body, secret, standard, simple } of JSON.parse(await text(process.stdin))) {
  const raw = Buffer.from(body, 'base64');
  if (verified(raw, headers, secret) !== standard) console.log(what, 'webhook-signature: not', standard);
  if (verifiedSimply(raw, headers, secret) !== simple) console.log(what, 'x-service-signature: not', simple);
}
console.log('done');
`)
	type given struct {
		What     string         `json:"what"`
		Headers  map[string]any `json:"headers"`
		Body     []byte         `json:"body"`
		Secret   string         `json:"secret"`
		Standard bool           `json:"standard"`
		Simple   bool           `json:"simple"`
	}
	var all []given
	now, body := time.Now(), []byte(`{"event":"webhook.test","data":{"message":"é \u003c"}}`)
	for _, secret := range []string{"whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", "a secret of my own"} {
		add := func(what string, m webhooks.Message, at time.Time, standard, simple bool, change ...string) {
			g := given{What: what, Headers: map[string]any{}, Body: m.Body, Secret: secret, Standard: standard, Simple: simple}
			for name, values := range m.Headers(at) {
				g.Headers[strings.ToLower(name)] = values[0]
			}
			for i := 0; i+1 < len(change); i += 2 {
				if g.Headers[change[i]] = change[i+1]; change[i+1] == "" {
					delete(g.Headers, change[i])
				}
			}
			all = append(all, g)
		}
		m := webhooks.Message{EventID: "evt_1", Body: body, Secret: secret}
		good := m.Headers(now)
		add("as it is sent", m, now, true, true)
		add("a moment ago", m, now.Add(-4*time.Minute), true, true)
		add("of 2099", m, time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), false, false)
		add("old", m, now.Add(-6*time.Minute), false, false)
		add("to come", m, now.Add(6*time.Minute), false, false)
		add("a new time for an old one", m, now.Add(-time.Hour), false, true, "webhook-timestamp", strconv.FormatInt(now.Unix(), 10), "x-service-timestamp", wallet.Timestamp(now))
		add("a header that is not ASCII", m, now, false, false, "webhook-signature", strings.Repeat("é", len(good.Get("Webhook-Signature"))), "x-service-signature", strings.Repeat("é", 71))
		add("half a signature", m, now, false, false, "webhook-signature", good.Get("Webhook-Signature")[:20], "x-service-signature", good.Get("X-Service-Signature")[:20])
		add("no signature", m, now, false, false, "webhook-signature", "", "x-service-signature", "")
		add("no time", m, now, false, false, "webhook-timestamp", "", "x-service-timestamp", "")
		add("no number and no date", m, now, false, false, "webhook-timestamp", "１７", "x-service-timestamp", "yesterday")
		add("another id", m, now, false, true, "webhook-id", "evt_2")
		other := m
		other.Secret = "a newer secret of theirs"
		add("another secret", other, now, false, false)
		other.Previous = secret
		add("while the secret is rotated", other, now, true, false)
		other = m
		other.Body = bytes.Replace(body, []byte("test"), []byte("lost"), 1)
		add("another body", other, now, false, false, "webhook-signature", good.Get("Webhook-Signature"), "x-service-signature", good.Get("X-Service-Signature"))
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), node, driver)
	run.Stdin = bytes.NewReader(raw)
	if out, err := run.CombinedOutput(); err != nil || string(out) != "done\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAPageThatIsKeptIsNotSentAgain(t *testing.T) {
	base := serve(t, api.Document())
	resp, _ := do(t, "GET", base+Docs)
	again, body := do(t, "GET", base+Docs, "If-None-Match", resp.Header.Get("ETag"))
	if resp.Header.Get("ETag") == "" || again.StatusCode != 304 || body != "" {
		t.Errorf("%q, then %d", resp.Header.Get("ETag"), again.StatusCode)
	}
}

// TestWordsOfTheDocumentAreText: whatever stands in it, the page shows it and runs nothing.
func TestWordsOfTheDocumentAreText(t *testing.T) {
	for _, hostile := range []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'); rm -rf /; echo ('`} {
		quoted, err := json.Marshal(hostile)
		if err != nil {
			t.Fatal(err)
		}
		document := bytes.Replace(api.Document(), []byte(`"Who am I, and what is left of my limit"`), quoted, 1)
		document = bytes.Replace(document, []byte(`"wallet:read"`), quoted, 1)
		if bytes.Equal(document, api.Document()) {
			t.Fatal("nothing was replaced")
		}
		_, page := do(t, "GET", serve(t, document)+Docs)
		if strings.Contains(page, "<script>") || strings.Contains(page, "<img") {
			t.Errorf("%s is in the page as it stands", hostile)
		}
	}
	if got := curl("POST", "https://x/", `{"message":"it's"}`, "$KEY"); !strings.Contains(got, `'{"message":"it'\''s"}'`) {
		t.Errorf("a quote ends the shell's: %s", got)
	}
}

func TestPagesAreNotMadeOfHalves(t *testing.T) {
	at, log := &url.URL{Scheme: "https", Host: "x"}, slog.New(slog.NewTextHandler(io.Discard, nil))
	for name, o := range map[string]Options{
		"a document": {Events: []byte("[]"), API: at, Log: log}, "an address": {Document: api.Document(), Events: []byte("[]"), Log: log},
		"a log": {Document: api.Document(), Events: []byte("[]"), API: at}, "events": {Document: api.Document(), API: at, Log: log},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("made without %s", name)
		}
	}
}

// TestAnswersThatAreNoPageComeFromTheCatalogue: each says its own sentence of en.json, whose variables are paths, and each
// sentence is used. The catalogue itself is no page.
func TestAnswersThatAreNoPageComeFromTheCatalogue(t *testing.T) {
	sound, broken := serve(t, api.Document()), serve(t, []byte("{"))
	said := map[string]string{}
	for _, c := range []struct {
		key, method, address, text string
		status                     int
	}{
		{"moved", "GET", sound + "/", "The documentation is at /docs.\n", 302},
		{"not_found", "GET", sound + "/en.json", "This page does not exist. The documentation is at /docs.\n", 404},
		{"method", "POST", sound + Docs, "Only GET and HEAD work here.\n", 405},
		{"unavailable", "GET", broken + Docs, "The documentation is not available. The API description is at /v1/openapi.json.\n", 503},
	} {
		if answer, body := do(t, c.method, c.address); answer.StatusCode != c.status || body != c.text {
			t.Errorf("%s: %d %q", c.key, answer.StatusCode, body)
		}
		said[c.key] = strings.TrimSpace(c.text)
	}
	if texts, err := readAnswers(); err != nil || !maps.Equal(said, texts) {
		t.Errorf("the catalogue has %v, and %v is said (%v)", texts, said, err)
	}
}

// TestADocumentThatCannotBeReadIsSaidSo: the portal is served all the same.
func TestADocumentThatCannotBeReadIsSaidSo(t *testing.T) {
	base := serve(t, []byte("{"))
	for range 2 {
		if answer, body := do(t, "GET", base+Docs); answer.StatusCode != 503 || !strings.Contains(body, "/v1/openapi.json") {
			t.Errorf("%d %s", answer.StatusCode, body)
		}
	}
	if answer, _ := do(t, "GET", base+Portal); answer.StatusCode != 200 {
		t.Errorf("the portal: %d", answer.StatusCode)
	}
}

// TestTheDocumentationNamesEveryScope: those of the document, each once, with the kind of key that has it.
func TestTheDocumentationNamesEveryScope(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	told := map[string]string{}
	for _, row := range regexp.MustCompile(`<code class="scope">([^<]+)</code></th><td>([^<]+)</td>`).FindAllStringSubmatch(page, -1) {
		told[row[1]] = row[2]
	}
	for _, scope := range wallet.Scopes() {
		var kinds []string
		for _, kind := range []struct {
			kind wallet.KeyKind
			name string
		}{{wallet.APIKey, "API key"}, {wallet.BotKey, "bot token"}} {
			if slices.Contains(wallet.ScopesOf(kind.kind), scope) {
				kinds = append(kinds, kind.name)
			}
		}
		if want := strings.Join(kinds, ", "); told[string(scope)] != want {
			t.Errorf("%s is told of %q, and belongs to %s", scope, told[string(scope)], want)
		}
		delete(told, string(scope))
	}
	if len(told) > 0 {
		t.Errorf("no scopes: %v", told)
	}
	for _, say := range []string{"<b>free</b> or <b>pro</b>", "purser key create --tier pro"} {
		if !strings.Contains(page, say) {
			t.Errorf("the page does not tell %q", say)
		}
	}
}

// TestTheDocumentationShowsNothingOfAnotherEndpoint: no shared refusal's details, no pattern that nobody
// reads, no event that does not come yet, and the variable of the right key.
func TestTheDocumentationShowsNothingOfAnotherEndpoint(t *testing.T) {
	_, page := do(t, "GET", serve(t, api.Document())+Docs)
	pre := regexp.MustCompile(`(?s)<pre[ >].*?</pre>`)
	examples := pre.FindAllString(page, -1)
	for _, example := range examples {
		if strings.HasPrefix(example, `<pre id="body-event-`) {
			continue // says beside it whether it comes
		}
		for _, odd := range []string{"this field is missing", "nothing at this path", "price.alert", "stake.reward", `"success": false`} {
			if strings.Contains(html.UnescapeString(example), odd) {
				t.Errorf("an example holds %q: %s", odd, example)
			}
		}
		if bot, path := strings.Contains(example, "$BOT_TOKEN"), strings.Contains(example, "/v1/telegram/"); bot != path && strings.Contains(example, "Bearer $") {
			t.Errorf("the wrong key: %s", example)
		}
	}
	if len(examples) < 40 || regexp.MustCompile(`like \^|\[1-9A-HJ`).MatchString(pre.ReplaceAllString(page, "")) {
		t.Errorf("%d examples, or a pattern", len(examples))
	}
	if !strings.Contains(page, `<details id="contents">`) {
		t.Error("the index is not folded where a script does not open it")
	}
}

// TestAServiceWorkerIsEnded: whatever path a server that was once taken over gave it.
func TestAServiceWorkerIsEnded(t *testing.T) {
	at := serve(t, api.Document())
	for _, path := range []string{"/portal/sw.js", Docs, "/"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(signer.ServiceWorkerHeader, "script")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK || string(body) != signer.EndServiceWorker || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/javascript") || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", path, resp.StatusCode, resp.Header, body)
		}
	}
}
