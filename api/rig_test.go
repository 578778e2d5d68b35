package api

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/chain"
	"purser/handlers"
	"purser/market"
	"purser/sandbox/solana"
	"purser/store"
	"purser/store/bolt"
	"purser/wallet"
)

const sol = 1_000_000_000

var (
	errForbidden = errors.New("wrong secret")
	errBadUpdate = errors.New("no update")
)

// rig is the server over a real socket, with the real deeds, a real store and a real cluster. Its
// clock is moved by the test.
type rig struct {
	t         *testing.T
	server    *Server
	base      string // http://127.0.0.1:port
	store     *bolt.Store
	cluster   *solana.Cluster
	transfers *handlers.Transfers
	wallets   *handlers.Wallets
	keys      *handlers.Keys
	alice     person
	bob       person
	logged    *safeBuffer
	accept    func(ctx context.Context, secret string, body []byte) error
	stop      func() error // ends Run and gives its result
	client    *http.Client

	mu  sync.Mutex
	now time.Time
	ids int
}

type person struct {
	user   wallet.User
	addr   wallet.Address
	key    ed25519.PrivateKey
	secret string // of an API key with every scope
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) newID(prefix string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return fmt.Sprintf("%s_%04d", prefix, r.ids)
}

func newRig(t testing.TB, change ...func(*Server)) *rig {
	t.Helper()
	r := &rig{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), logged: &safeBuffer{}}
	r.t, _ = t.(*testing.T)
	cluster, err := solana.Open(solana.Options{Now: r.Now, Seed: t.Name()})
	check(t, err)
	r.cluster = cluster
	node := httptest.NewServer(cluster.Handler())
	t.Cleanup(func() {
		_ = cluster.Close() // lets go of hanging requests
		node.Close()
	})
	client, err := chain.New(chain.Options{RPCURLs: []string{node.URL}, Cluster: "localnet", Timeout: 5 * time.Second, Now: r.Now})
	check(t, err)
	t.Cleanup(client.Close)
	r.store, err = bolt.Open(bolt.Options{Path: filepath.Join(t.TempDir(), "purser.db"), MasterKey: make([]byte, 32), Random: rand.Reader})
	check(t, err)
	t.Cleanup(func() { _ = r.store.Close() })

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	r.base = "http://" + ln.Addr().String()
	public, err := url.Parse(r.base)
	check(t, err)
	r.keys = &handlers.Keys{Store: r.store, Now: r.Now, NewID: r.newID, Random: rand.Reader}
	r.wallets = &handlers.Wallets{Store: r.store, Chain: client, Tokens: listed(t), PublicURL: public, Cluster: "localnet", Now: r.Now, Random: rand.Reader}
	r.transfers = &handlers.Transfers{Store: r.store, Chain: client, Tokens: listed(t), Now: r.Now, NewID: r.newID, Random: rand.Reader, Build: chain.Build}
	r.accept = func(context.Context, string, []byte) error { return nil }
	r.server, err = New(Options{
		PublicURL: public, Store: r.store, Keys: r.keys, Wallets: r.wallets, Transfers: r.transfers,
		Signing: &handlers.Signing{Store: r.store, Chain: client, Cluster: "localnet", Now: r.Now,
			Messages: handlers.Messages{WithBlockhash: chain.WithBlockhash, Verify: chain.VerifySignature, Assemble: chain.Assemble, CheckSigned: chain.CheckSigned}},
		Webhook: &Webhook{Forbidden: errForbidden, BadUpdate: errBadUpdate, MaxBody: 1 << 20,
			Accept: func(ctx context.Context, secret string, body []byte) error { return r.accept(ctx, secret, body) }},
		Now: r.Now, NewID: r.newID, Log: slog.New(slog.NewTextHandler(r.logged, nil)),
	})
	check(t, err)
	for _, f := range change {
		f(r.server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.server.Run(ctx, ln) }()
	r.stop = sync.OnceValue(func() error { cancel(); return <-done })
	r.client = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	r.alice, r.bob = r.person(t, 1001, 10*sol), r.person(t, 1002, sol)
	return r
}

// under lets a subtest answer for what goes wrong until the returned function is called.
func (r *rig) under(t *testing.T) func() {
	outer := r.t
	r.t = t
	return func() { r.t = outer }
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) person(t testing.TB, telegramID int64, lamports uint64) person {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	p := person{addr: wallet.Address(public), key: key}
	p.user = wallet.User{ID: wallet.UserID(r.newID("usr")), TelegramID: telegramID, FirstName: "Alice <b>", Username: "alice", DefaultWallet: p.addr, RegisteredAt: r.Now()}
	check(t, r.store.Update(context.Background(), func(tx store.Tx) error {
		if err := tx.PutUser(p.user); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: p.addr, Owner: p.user.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	if lamports > 0 {
		_, err = r.cluster.Airdrop(context.Background(), p.addr.String(), lamports)
		check(t, err)
		check(t, r.cluster.Advance(3))
	}
	p.secret = r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: telegramID})
	return p
}

func (r *rig) newKey(req handlers.KeyRequest) string {
	_, secret, err := r.keys.Create(context.Background(), req)
	if err != nil {
		panic(err)
	}
	return secret
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

func (r *rig) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.base+path, strings.NewReader(body))
	check(r.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	check(r.t, err)
	return answer{resp.StatusCode, resp.Header, raw}
}

func (r *rig) get(path, secret string) answer {
	r.t.Helper()
	return r.do("GET", path, "", "Authorization", "Bearer "+secret)
}

func (r *rig) send(secret, body string, headers ...string) answer {
	r.t.Helper()
	return r.do("POST", "/v1/wallet/send", body,
		append([]string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}, headers...)...)
}

// page posts as the signing page does.
func (r *rig) page(path string, body any, headers ...string) answer {
	r.t.Helper()
	raw, err := json.Marshal(body)
	check(r.t, err)
	return r.do("POST", path, string(raw), append([]string{"Content-Type", "application/json", "Origin", r.base}, headers...)...)
}

// sendBody is a good send of Alice to Bob, with fields replaced by raw JSON ("" leaves one out).
func (r *rig) sendBody(replace ...string) string {
	fields := map[string]string{"from": `"` + r.alice.addr.String() + `"`, "to": `"` + r.bob.addr.String() + `"`, "amount": `1.5`, "token": `"SOL"`}
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

func (r *rig) want(a answer, status int, code wallet.Code, says string) {
	r.t.Helper()
	wantEnvelope(r.t, a)
	if a.status != status || a.code() != code || !strings.Contains(a.text("error", "details"), says) {
		r.t.Errorf("got %d %s, want %d %s saying %q", a.status, a.body, status, code, says)
	}
}

// listed are the well-known tokens of the sandbox.
func listed(t testing.TB) *market.Tokens {
	t.Helper()
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}
