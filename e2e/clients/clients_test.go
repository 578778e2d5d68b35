// Package clients proves that programs written with our clients get what they ask for: both clients,
// against the built binary and a world that goes on. It refuses to know more of the API than they say.
package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/telegram"
)

var binary string

func TestMain(m *testing.M) {
	path, remove, err := harness.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// town is a purser that serves, Alice, who has a wallet, and a way to purser on which answers are lost.
type town struct {
	*testing.T
	world  *sandbox.World
	purser *harness.Product
	alice  *harness.Person
	losing *httptest.Server
	hooks  *httptest.Server
}

func newTown(t *testing.T) *town {
	t.Helper()
	w, market := harness.MarketWorld(t, 50*time.Millisecond)
	p := harness.NewProduct(t, binary, w, append(market, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true")...)
	p.Start()
	alice := harness.NewPerson(t, w, telegram.Alice)
	alice.Say("/start")
	alice.Connect()
	alice.Fund(1_000_000_000)
	return &town{T: t, world: w, purser: p, alice: alice, losing: losing(t, p.URL), hooks: receiver(t)}
}

// receiver takes every event, but at /none, where there is nothing.
func receiver(t *testing.T) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.Error(w, "nothing here", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// key makes one by the command line, as an operator does.
func (w *town) key(flags ...string) string {
	w.Helper()
	out, err := w.purser.CLI(append([]string{"key", "create", "--json", "--tier", "pro"}, flags...)...)
	if err != nil {
		w.Fatal(err)
	}
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.ID == "" || made.Key == "" {
		w.Fatalf("purser key create printed %q (%v)", out, err)
	}
	return made.Key
}

// settings are what a journey begins with. The keys: an operator's, one of Alice's own, an operator's bot
// token, and a bot token of Alice's own app.
type settings struct {
	URL      string `json:"url"`
	Losing   string `json:"losing"` // the way on which answers are lost
	RPC      string `json:"rpc"`
	Alice    string `json:"alice"` // her Telegram id
	To       string `json:"to"`    // whom to pay
	Receiver string `json:"receiver"`
	Operator string `json:"operator"`
	Own      string `json:"own"`
	Bot      string `json:"bot"`
	App      string `json:"app"`
}

func (w *town) settings() settings {
	w.Helper()
	to, err := harness.NewDevice()
	if err != nil {
		w.Fatal(err)
	}
	alice := strconv.FormatInt(telegram.Alice, 10)
	return settings{
		URL: w.purser.URL, Losing: w.losing.URL, RPC: w.world.RPCURL(), Alice: alice, To: to.Address(), Receiver: w.hooks.URL,
		Operator: w.key("--kind", "api"), Own: w.key("--kind", "api", "--owner", alice, "--app", "Shop"),
		Bot: w.key("--kind", "bot"), App: w.key("--kind", "bot", "--owner", alice, "--app", "Desk"),
	}
}

// heard counts what the bot has said to Alice with a text in it.
func (w *town) heard(text string) (n int) {
	for _, m := range w.world.Telegram.Messages(telegram.Alice) {
		if m.FromBot() && strings.Contains(m.Text, text) {
			n++
		}
	}
	return n
}

// checked looks at what a journey has done to the world: money and messages, each exactly once.
func (w *town) checked(s settings) {
	w.Helper()
	const sent = 1_250_000_000 // 1 SOL with every answer heard, 0.25 SOL with lost ones
	if got := w.world.Solana.Balance(s.To); got != sent {
		w.Errorf("%d lamports arrived, not %d", got, sent)
	}
	for _, text := range []string{"Hello by API", "Not an echo"} {
		if n := w.heard(text); n != 1 {
			w.Errorf("Alice has %d messages %q", n, text)
		}
	}
	w.alice.Hear("the question", func(m telegram.Message) bool { return strings.Contains(m.Text, "0.015 SOL") })
	if n := w.heard("0.015 SOL"); n != 1 {
		w.Errorf("Alice is asked %d times about the transfer that was proposed once", n)
	}
}

// losing is a way to an origin on which the first answer to each POST (by its idempotency key) and to each
// DELETE is lost, after it was carried out.
func losing(t *testing.T, origin string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(answer *http.Response) error {
			r := answer.Request
			mu.Lock()
			defer mu.Unlock()
			name := r.Method + r.URL.Path + r.Header.Get("Idempotency-Key")
			if (r.Method == http.MethodPost || r.Method == http.MethodDelete) && !seen[name] {
				seen[name] = true
				_, err := io.Copy(io.Discard, answer.Body) // it was carried out
				if err != nil {
					return err
				}
				panic(http.ErrAbortHandler)
			}
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server
}

const typescript = "../../clients/typescript"

// missing is what becomes of a test without its tools.
func missing(t *testing.T) func(...any) {
	if os.Getenv("CI") == "true" {
		return t.Fatal
	}
	return t.Skip
}

// node compiles the TypeScript client and returns how Node is run. Without the tools a test is skipped on
// a person's machine and fails in CI.
func node(t *testing.T) func(folder string, args ...string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(typescript, "node_modules")); err != nil {
		missing(t)("clients/typescript has no node_modules: run `npm ci` there")
	}
	program, err := exec.LookPath("node")
	if err != nil {
		missing(t)("node is not installed")
	}
	run := func(folder string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*harness.Wait) // beside other packages on few processors
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = folder
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("node %s: %v\n%s", args[0], err, out.String())
		}
		return out.String()
	}
	run(typescript, "node_modules/typescript/bin/tsc")
	return run
}

func TestTypeScriptClientAlone(t *testing.T) {
	run := node(t)
	tests, err := filepath.Glob(filepath.Join(typescript, "test", "*.test.mjs"))
	if err != nil || len(tests) < 3 {
		t.Fatalf("found %v (%v)", tests, err)
	}
	args := []string{"--test", "--test-reporter=spec"}
	for _, file := range tests {
		args = append(args, filepath.Join("test", filepath.Base(file)))
	}
	run(typescript, args...)
}

// TestTypeScriptClientOverTheRealBinary: journey.mjs is journey of this package, with the other client.
func TestTypeScriptClientOverTheRealBinary(t *testing.T) {
	run := node(t)
	w := newTown(t)
	s := w.settings()
	argument, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	run(".", "journey.mjs", string(argument))
	w.checked(s)
}
