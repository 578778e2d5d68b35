package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	product "purser/e2e/harness"

	"purser/wallet"
)

var update = flag.Bool("update", false, "print docs/webhooks.md again")

const (
	docs        = "../docs/webhooks.md"
	oracles     = "receivertest" // what npm brings for these tests
	startsIn    = time.Minute    // a snippet, on a busy machine
	eventsBegin = "<!-- events -->\n"
	eventsEnd   = "<!-- /events -->\n"
)

// missing ends a test that wants a tool: skipped on a person's machine, failed in CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// eventsPage is the part of the docs that follows from the catalogue.
func eventsPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	used := map[string]bool{}
	for _, kind := range []struct {
		kind  wallet.KeyKind
		title string
	}{{wallet.APIKey, "Platform events"}, {wallet.BotKey, "Bot events"}} {
		fmt.Fprintf(&b, "\n### %s\n\n| event | when | `data` | grant |\n|---|---|---|---|\n", kind.title)
		for _, e := range Catalogue() {
			if e.Kind != kind.kind {
				continue
			}
			grant := "–"
			switch {
			case e.Public:
				grant = "public"
			case e.Scope != "":
				grant = "`" + string(e.Scope) + "`"
			}
			fields := fieldsOf(t, e)
			for _, field := range fields {
				used[field] = true
			}
			when := e.When
			if !e.Emitted {
				when += " *Not emitted yet.*"
			}
			fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", e.Name, when, strings.Join(fields, "`, `"), grant)
		}
	}
	for _, field := range []string{"usd_value", "change"} { // of each balance
		used[field] = true
	}
	b.WriteString("\n### Fields\n\n| field | meaning |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if _, own := meanings[name]; !own {
			continue // a time, below
		}
		var field struct{ Description string }
		raw, err := json.Marshal(meaningOf(name))
		if err != nil || json.Unmarshal(raw, &field) != nil || strings.TrimSpace(field.Description) == "" {
			t.Fatalf("%s has no meaning (%v)", name, err)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, field.Description)
	}
	b.WriteString("| `timestamp`, `…_at` | When it happened, ISO 8601 in UTC |\n")
	for name := range meanings {
		if !used[name] {
			t.Errorf("a meaning of no field: %s", name)
		}
	}
	fmt.Fprint(&b, "\n### Two bodies\n\nSpaces are added here for reading; none are sent.\n\n```json\n")
	for i, e := range []EventType{ruled(t, wallet.APIKey, wallet.TransactionConfirmed), ruled(t, wallet.BotKey, wallet.MessageReceived)} {
		raw, err := e.Example()
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, raw, "", "  "); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString("\n```\n\n```json\n")
		}
		b.Write(spaced.Bytes())
	}
	b.WriteString("\n```\n")
	return b.String()
}

// fieldsOf lists the fields of an event's data in their order.
func fieldsOf(t *testing.T, e EventType) []string {
	t.Helper()
	raw, err := e.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Data struct{ Required []string }
		}
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Properties.Data.Required
}

func TestDocsListTheCatalogue(t *testing.T) {
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), eventsBegin)
	old, after, ended := strings.Cut(rest, eventsEnd)
	if !found || !ended {
		t.Fatal("docs/webhooks.md has lost its marks")
	}
	want := eventsPage(t)
	if *update {
		if err := os.WriteFile(docs, []byte(before+eventsBegin+want+eventsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Error("docs/webhooks.md is stale: go test ./webhooks -run Docs -update")
	}
}

// snippet is the program in a part of the docs.
func snippet(t *testing.T, title string) string {
	t.Helper()
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)\n### " + regexp.QuoteMeta(title) + "\n\n```[a-z]+\n(.*?)```\n").FindSubmatch(page)
	if found == nil {
		t.Fatalf("no program under %q", title)
	}
	return string(found[1])
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool finds a program that is needed.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, name+" is not installed")
	}
	return path
}

// modules is the folder of what npm brings.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(oracles, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		missing(t, "webhooks/"+oracles+" has no node_modules: run `npm ci` there")
	}
	return dir
}

// typescript compiles what lies in a folder, as strictly as it goes, and leaves the result beside it.
func typescript(t *testing.T, node, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, append([]string{filepath.Join(modules(t), "typescript", "bin", "tsc")}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
}

func TestTheSnippetsOfTheDocsVerifyWhatIsSent(t *testing.T) {
	if testing.Short() {
		t.Skip("compilers take their time")
	}
	for title, build := range map[string]func(t *testing.T, dir, program string) []string{
		"Go": func(t *testing.T, dir, program string) []string {
			source, receiver := write(t, filepath.Join(dir, "main.go"), program), filepath.Join(dir, "receiver")
			cmd := exec.CommandContext(t.Context(), tool(t, "go"), "build", "-o", receiver, source)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("go build: %v\n%s", err, out)
			}
			return []string{receiver}
		},
		"TypeScript (Node)": func(t *testing.T, dir, program string) []string {
			node := tool(t, "node")
			write(t, filepath.Join(dir, "receiver.ts"), program)
			write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
			typescript(t, node, dir, "--strict", "--noUncheckedIndexedAccess", "--target", "ES2022", "--module", "NodeNext", "--types", "node",
				"--typeRoots", filepath.Join(modules(t), "@types"), "receiver.ts")
			return []string{node, filepath.Join(dir, "receiver.js")}
		},
		"Python": func(t *testing.T, dir, program string) []string {
			return []string{tool(t, "python3"), write(t, filepath.Join(dir, "receiver.py"), program)}
		},
	} {
		t.Run(title, func(t *testing.T) {
			command := build(t, t.TempDir(), snippet(t, title))
			for _, secret := range []string{testSecret, "a secret of my own", "whsec_not base64!"} {
				tryReceiver(t, command, secret)
			}
		})
	}
}

// tryReceiver runs a receiver that knows a secret, and sends it what it should take and what not.
func tryReceiver(t *testing.T, command []string, secret string) {
	t.Helper()
	address := product.FreeAddress(t)
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	_, port, _ := net.SplitHostPort(address)
	cmd.Env = append(os.Environ(), "PORT="+port, "PURSER_WEBHOOK_SECRET="+secret)
	var told, complained product.Log
	cmd.Stdout, cmd.Stderr = &told, &complained
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the receiver told\n%s\nand complained\n%s", told.String(), complained.String())
		}
	}()
	up(t, address)

	url, now := "http://"+address+"/hook", time.Now
	body := []byte(`{"event":"webhook.test","data":{"message":"a \u003c b, é"},"timestamp":"2026-01-31T12:00:00.000Z"}`)
	p := poster(t)
	send := func(id, body string, m Message) Result {
		m.URL, m.EventID, m.Body = url, id, []byte(body)
		return p.Post(t.Context(), m)
	}
	for name, r := range map[string]Result{
		"a delivery":                   send("evt_1", string(body), Message{Secret: secret}),
		"the same again":               send("evt_1", string(body), Message{Secret: secret}),
		"while the secret is rotated":  send("evt_2", string(body), Message{Secret: "a newer secret", Previous: secret}),
		"while another one is the old": send("evt_3", string(body), Message{Secret: secret, Previous: oldSecret}),
	} {
		if r.Verdict() != Delivered {
			t.Errorf("%s, secret %q: %+v", name, secret, r)
		}
	}
	if r := send("evt_4", string(body), Message{Secret: "another secret"}); r.Status != 401 {
		t.Errorf("another secret: %+v", r)
	}
	good := Message{EventID: "evt_5", Body: body, Secret: secret}
	change := func(name, value string) http.Header {
		h := good.Headers(now())
		h.Set(name, value)
		return h
	}
	for name, c := range map[string]struct {
		header http.Header
		body   string
	}{
		"another body":    {good.Headers(now()), strings.Replace(string(body), "test", "lost", 1)},
		"old":             {good.Headers(now().Add(-6 * time.Minute)), string(body)},
		"to come":         {good.Headers(now().Add(6 * time.Minute)), string(body)},
		"a new time":      {change("webhook-timestamp", fmt.Sprint(now().Unix()+1)), string(body)},
		"another id":      {change("webhook-id", "evt_6"), string(body)},
		"no signature":    {change("webhook-signature", ""), string(body)},
		"half of one":     {change("webhook-signature", good.Headers(now()).Get("webhook-signature")[:20]), string(body)},
		"another version": {change("webhook-signature", "v2"+good.Headers(now()).Get("webhook-signature")[2:]), string(body)},
		"no time":         {change("webhook-timestamp", ""), string(body)},
		"no number":       {change("webhook-timestamp", "１７"), string(body)},
		"a long number":   {change("webhook-timestamp", strings.Repeat("9", 5000)), string(body)},
		"no headers":      {http.Header{}, string(body)},
		"no body":         {good.Headers(now()), ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = c.header
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode != 401 {
			t.Errorf("%s, secret %q: answered %d", name, secret, answer.StatusCode)
		}
	}
	for deadline := time.Now().Add(startsIn); strings.Count(told.String(), string(body)) < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // another process's output
	}
	if got := strings.ReplaceAll(told.String(), "\n", ""); got != strings.Repeat(string(body), 3) { // Python's threads write a line and its end apart
		t.Errorf("told %q: each event once", got)
	}
}

// TestTheSnippetForTheLibraryVerifiesWhatIsSent, with generated and with literal secrets.
func TestTheSnippetForTheLibraryVerifiesWhatIsSent(t *testing.T) {
	node, dir := tool(t, "node"), t.TempDir()
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)\n### With a library\n.*?```js\n(.*?)```\n").FindSubmatch(page)
	if program == nil {
		t.Fatal("no program for the library")
	}
	write(t, filepath.Join(dir, "verified.mjs"), string(program[1]))
	if err := os.Symlink(modules(t), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	driver := write(t, filepath.Join(dir, "driver.mjs"), `import { text } from "node:stream/consumers";
import { verified } from "./verified.mjs";
const said = JSON.parse(await text(process.stdin)).map(({ headers, body }) => {
  try {
    return JSON.stringify(verified(body, headers)) === body;
  } catch {
    return false;
  }
});
console.log(JSON.stringify(said));
`)
	body := []byte(`{"event":"webhook.test","data":{"message":"é"}}`)
	for _, secret := range []string{testSecret, "a secret of my own"} {
		m := Message{EventID: "evt_1", Body: body, Secret: secret}
		now := time.Now()
		var all []map[string]any
		add := func(h http.Header, body []byte) {
			headers := map[string]string{}
			for name, values := range h {
				headers[strings.ToLower(name)] = values[0]
			}
			all = append(all, map[string]any{"headers": headers, "body": string(body)})
		}
		add(m.Headers(now), body)
		rotated := m
		rotated.Secret, rotated.Previous = "a newer secret", secret
		add(rotated.Headers(now), body)
		add(m.Headers(now.Add(-6*time.Minute)), body)
		add(m.Headers(now.Add(6*time.Minute)), body)
		add(m.Headers(now), bytes.Replace(body, []byte("test"), []byte("lost"), 1))
		m.Secret = "another secret"
		add(m.Headers(now), body)
		raw, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), node, driver)
		cmd.Env, cmd.Stdin = append(os.Environ(), "PURSER_WEBHOOK_SECRET="+secret), bytes.NewReader(raw)
		out, err := cmd.CombinedOutput()
		if want := "[true,true,false,false,false,false]\n"; err != nil || string(out) != want {
			t.Errorf("with %q: %v\n%s", secret, err, out)
		}
	}
}

// TestEverySnippetOfTheDocsIsRunSomewhere: programs and bodies by the tests of this file, shell commands by
// TestEverySnippetOfTheDocsWorks of e2e/clients.
func TestEverySnippetOfTheDocsIsRunSomewhere(t *testing.T) {
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for i, fence := range regexp.MustCompile("(?m)^```.*$").FindAllString(string(page), -1) {
		if i%2 == 0 {
			found[strings.TrimPrefix(fence, "```")]++
		}
	}
	if want := map[string]int{"": 3, "go": 1, "ts": 1, "python": 1, "js": 1, "json": 2}; !maps.Equal(found, want) {
		t.Errorf("the page holds %v, and tests run %v", found, want)
	}
}

// up waits until somebody listens.
func up(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(startsIn); ; time.Sleep(5 * time.Millisecond) { // another process
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody listens: %v", err)
		}
	}
}

// npm's reference library, and our client for TypeScript.
func TestVerifiersOfNodeTakeWhatWeSign(t *testing.T) {
	if testing.Short() {
		t.Skip("compilers take their time")
	}
	node, dir := tool(t, "node"), t.TempDir()
	client, err := filepath.Abs("../clients/typescript")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "package.json"), `{"type":"module"}`)
	typescript(t, node, client, "--outDir", filepath.Join(dir, "client"), "--sourceMap", "false", "--declaration", "false") // beside the tests that compile it in its own place
	type delivery struct {
		Secret  string            `json:"secret"`
		Raw     bool              `json:"raw"`
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		Good    bool              `json:"good"`
	}
	var all []delivery
	for _, secret := range []string{testSecret, oldSecret, "a secret of my own"} {
		for _, m := range []Message{{Secret: secret}, {Secret: testSecret, Previous: oldSecret}, {Secret: "another secret", Previous: secret}, {Secret: "another secret"}} {
			m.EventID, m.Body = "evt_1", []byte(`{"event":"webhook.test","data":{"message":"é \u003c"}}`)
			d := delivery{secret, !strings.HasPrefix(secret, "whsec_"), map[string]string{}, string(m.Body), m.Secret == secret || m.Previous == secret}
			for name, values := range m.Headers(time.Now()) {
				d.Headers[strings.ToLower(name)] = values[0]
			}
			all = append(all, d)
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(oracles, "verify.mjs"), filepath.Join(dir, "client", "index.js"))
	cmd.Stdin = bytes.NewReader(raw)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("%d deliveries\n", len(all)); err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}
