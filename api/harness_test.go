package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/chat"
	product "purser/e2e/harness"
	"purser/e2e/world"
	"purser/handlers"
	"purser/quota"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
	"purser/webhooks"
)

const sol = world.SOL

var (
	errForbidden = errors.New("wrong secret")
	errBadUpdate = errors.New("no update")
)

// pagesURL is where the portal is.
var pagesURL = &url.URL{Scheme: "https", Host: "pages.example"}

// harness is the server over a real socket, before the world.
type harness struct {
	*world.World
	server  *Server
	base    string // http://127.0.0.1:port
	alice   person
	bob     person
	logged  *product.Log
	secrets []string // of every key that was made
	chat    *chat.Chat
	meter   *quota.Meter
	bot     fakeBot
	accept  func(ctx context.Context, secret string, body []byte) error
	knows   func(secret string) bool // whether it is Telegram's
	contract
	stop   func() error // ends Run and gives its result
	client *http.Client
}

// updates is the harness as the receiver of Telegram's updates.
type updates struct{ r *harness }

// Knows implements UpdateReceiver.
func (u updates) Knows(secret string) bool { return u.r.knows(secret) }

// Accept implements UpdateReceiver.
func (u updates) Accept(ctx context.Context, secret string, body []byte) error {
	return u.r.accept(ctx, secret, body)
}

type person struct {
	*world.Person
	secret string // of an API key with every scope
}

func newHarness(t testing.TB, change ...func(*Server)) *harness {
	t.Helper()
	return newHarnessIn(t, world.Options{}, change...)
}

// newHarnessIn is newHarness in a world with other options: more kinds of transactions, or a market.
func newHarnessIn(t testing.TB, o world.Options, change ...func(*Server)) *harness {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	public := &url.URL{Scheme: "http", Host: ln.Addr().String()}
	o.PublicURL, o.Timeout = public, 5*time.Second
	r := &harness{World: world.New(t, o), base: public.String(), logged: &product.Log{}}
	r.bot.send = r.sendAs
	r.accept = func(context.Context, string, []byte) error { return nil }
	r.knows = func(string) bool { return true }
	r.contract = readContract(t)
	options := r.Chat()
	options.PagesURL, options.Log = pagesURL, slog.New(slog.NewTextHandler(r.logged, nil))
	r.chat, err = chat.New(options)
	r.Must(err)
	r.meter = r.Meter
	r.meter.Log = slog.New(slog.NewTextHandler(r.logged, nil))
	catalogue, err := webhooks.Describe()
	r.Must(err)
	r.server, err = New(Options{
		PublicURL: public, DocsURL: &url.URL{Scheme: "https", Host: "docs.example", Path: "/docs"}, PagesURL: pagesURL, Portal: r.Portal, Security: r.Security, Freezing: r.Freezing, Policies: r.Policies, BotName: func() string { return "purser_bot" }, LinkedBot: func() string { return "purser_bot" }, Store: r.Store, Keys: r.Keys, Wallets: r.Wallets, Transfers: r.Transfers, Stakes: r.Stakes, Swaps: r.Swaps, TokenSearch: r.TokenSearch, Prices: r.Prices, History: r.History, Signing: r.Signing,
		People: r.People, Notifications: r.Notifications, Alerts: r.Alerts, Webhooks: r.Webhooks, Catalogue: catalogue, Chat: r.chat, Bot: &r.bot, Meter: r.meter,
		Limits: quota.Limits{APIFree: 1e6, APIPro: 1e6, BotFree: 1e6, BotPro: 1e6, Messages: 30}, Cluster: wallet.Localnet,
		Webhook: &Webhook{Updates: updates{r}, Forbidden: errForbidden, BadUpdate: errBadUpdate, MaxBody: 1 << 20},
		Now:     r.Now, NewID: r.NewID, Log: slog.New(slog.NewTextHandler(r.logged, nil)),
	})
	r.Must(err)
	for _, f := range change {
		f(r.server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.server.Run(ctx, ln) }()
	counted := make(chan error, 1)
	go func() { counted <- r.meter.Run(ctx) }()
	r.stop = sync.OnceValue(func() error { cancel(); return errors.Join(<-done, <-counted) })
	r.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		r.canary()
		r.client.CloseIdleConnections()
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	r.alice, r.bob = r.person(1001, 10*sol), r.person(1002, sol)
	return r
}

// under lets a subtest answer for what goes wrong until the returned function is called.
func (r *harness) under(t *testing.T) func() {
	outer := r.TB
	r.TB = t
	return func() { r.TB = outer }
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// person is somebody with a bound wallet, a key for programs, and a name to be careful with.
func (r *harness) person(telegramID int64, lamports uint64) person {
	r.Helper()
	p := r.Somebody(telegramID, "Alice <b>")
	p.Username = "alice"
	r.Meet(p)
	r.Connect(p)
	r.Fund(p.Address(), lamports)
	return person{p, r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: telegramID})}
}

func (r *harness) newKey(req handlers.KeyRequest) string {
	r.Helper()
	_, secret, err := r.Keys.Create(context.Background(), req)
	r.Must(err)
	r.secrets = append(r.secrets, secret)
	return secret
}

// canary looks for secrets where none may be, whatever the test has done: in the log, in events, in what
// waits to be said, and in the file. A key is in none of them; the search is shown to work by an id.
func (r *harness) canary() {
	r.Helper()
	control := r.alice.User.ID
	var rows bytes.Buffer
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(100_000)
		for _, e := range events {
			rows.WriteString(e.ID + " " + string(e.User) + " " + string(e.Data) + "\n")
		}
		keys, keyErr := tx.AllKeys()
		for _, k := range keys {
			raw, _ := json.Marshal(k)
			rows.Write(raw)
		}
		return errors.Join(err, keyErr)
	})
	for _, reply := range storetest.Outbox(r, r.Store) {
		rows.Write(reply.Body)
	}
	file, err := os.ReadFile(r.File)
	r.Must(err)
	check(r, filepath.WalkDir(r.File+".deliveries", func(path string, entry fs.DirEntry, err error) error { // the log of deliveries
		if err != nil || entry.IsDir() {
			return err
		}
		day, err := os.ReadFile(path)
		file = append(file, day...)
		return err
	}))
	for where, text := range map[string][]byte{"the log": []byte(r.logged.String()), "the rows": rows.Bytes(), "the file": file} {
		for _, secret := range r.secrets {
			if bytes.Contains(text, []byte(secret)) {
				r.Errorf("a key is in %s", where)
			}
		}
	}
	if !bytes.Contains(rows.Bytes(), []byte(control)) || !bytes.Contains(file, []byte(control)) {
		r.Errorf("the search for secrets finds nothing at all")
	}
}

// answer is one HTTP answer, read whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// field walks the answer's JSON: field("data", "status").
func (a answer) field(path ...string) any {
	var value any
	if json.Unmarshal(a.body, &value) != nil {
		return nil
	}
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

func (a answer) text(path ...string) string {
	text, _ := a.field(path...).(string)
	return text
}

func (a answer) code() wallet.Code { return wallet.Code(a.text("error", "code")) }

func (r *harness) do(method, path, body string, headers ...string) answer {
	r.Helper()
	return r.doAt(r.base, method, path, body, headers...)
}

// doAt is do at the server of an origin.
func (r *harness) doAt(base, method, path, body string, headers ...string) answer {
	r.Helper()
	req, err := http.NewRequest(method, base+path, strings.NewReader(body))
	r.Must(err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	r.Must(err)
	a := answer{resp.StatusCode, resp.Header, raw}
	if err := r.contract.allows(method, path, body, a); err != nil {
		r.Errorf("openapi.json does not allow the answer to %s %.200s: %v\n%d %.2000s", method, path, err, a.status, a.body)
	}
	return a
}

func (r *harness) get(path, secret string) answer {
	r.Helper()
	return r.do("GET", path, "", "Authorization", "Bearer "+secret)
}

func (r *harness) send(secret, body string, headers ...string) answer {
	r.Helper()
	return r.do("POST", "/v1/wallet/send", body,
		append([]string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}, headers...)...)
}

// page posts as the signing page does.
func (r *harness) page(path string, body any, headers ...string) answer {
	r.Helper()
	raw, err := json.Marshal(body)
	r.Must(err)
	return r.do("POST", path, string(raw), append([]string{"Content-Type", "application/json", "Origin", r.base}, headers...)...)
}

// sendBody is a good send of Alice to Bob, with fields replaced by raw JSON ("" leaves one out).
func (r *harness) sendBody(replace ...string) string {
	fields := map[string]string{"from": `"` + r.alice.Address().String() + `"`, "to": `"` + r.bob.Address().String() + `"`, "amount": `1.5`, "token": `"SOL"`}
	for i := 0; i+1 < len(replace); i += 2 {
		fields[replace[i]] = replace[i+1]
	}
	var parts []string
	for _, name := range []string{"from", "to", "amount", "token"} {
		if fields[name] != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", name, fields[name]))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// wantEnvelope requires one of the two envelopes of the specification, whole.
func wantEnvelope(t testing.TB, a answer) {
	t.Helper()
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q, body %.200s", got, a.body)
	}
	for _, name := range []string{"X-Request-Id", "Date", "Content-Security-Policy"} {
		if a.header.Get(name) == "" {
			t.Errorf("no %s", name)
		}
	}
	if at, err := time.Parse(time.RFC3339, a.text("timestamp")); err != nil || at.IsZero() {
		t.Errorf("timestamp in %s", a.body)
	}
	switch a.field("success") {
	case true:
		if a.status >= 400 || a.text("message") == "" || a.field("data") == nil {
			t.Errorf("status %d with %s", a.status, a.body)
		}
	case false:
		_, details := a.field("error", "details").(string)
		if a.status < 400 || a.code() == "" || a.text("error", "message") == "" || !details {
			t.Errorf("status %d with %s", a.status, a.body)
		}
	default:
		t.Errorf("no envelope: %s", a.body)
	}
}

func (r *harness) want(a answer, status int, code wallet.Code, says string) {
	r.Helper()
	wantEnvelope(r, a)
	if a.status != status || a.code() != code || !strings.Contains(strings.ToLower(a.text("error", "details")), strings.ToLower(says)) {
		r.Errorf("got %d %s, want %d %s saying %q", a.status, a.body, status, code, says)
	}
}
