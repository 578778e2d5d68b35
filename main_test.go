// Long: every command of the binary, by the helpers that start and stop it.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/config"
	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/mail"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// instance is purser inside the test's process.
type instance struct {
	t      *testing.T
	dir    string
	env    []string
	public string
	pages  string
	stop   context.CancelFunc
	done   chan int
	mu     sync.Mutex
	out    bytes.Buffer
}

func (i *instance) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.out.Write(p)
}

func (i *instance) printed() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.out.String()
}

func newInstance(t *testing.T, env ...string) *instance {
	t.Helper()
	address, pages := harness.FreeAddress(t), harness.FreeAddress(t)
	return &instance{t: t, dir: t.TempDir(), public: "http://" + address, pages: "http://" + pages,
		env: append([]string{"PURSER_HTTP_LISTEN=" + address, "PURSER_HTTP_PUBLIC_URL=http://" + address,
			"PURSER_HTTP_PAGES_LISTEN=" + pages}, env...)}
}

// beside points an instance at a world as a real installation would be.
func (i *instance) beside(w *sandbox.World) *instance {
	i.env = append(i.env, "PURSER_TELEGRAM_TOKEN="+telegram.DefaultToken, "PURSER_TELEGRAM_API_URL="+w.TelegramURL(),
		"PURSER_CHAIN_RPC_URL="+w.RPCURL(), "PURSER_CHAIN_CLUSTER=localnet",
		"PURSER_STORE_URL=bolt:"+filepath.Join(i.dir, "purser.db"))
	return i
}

func (i *instance) start(args ...string) {
	i.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	i.stop, i.done = stop, make(chan int, 1)
	go func() { i.done <- run(ctx, "purser", args, i.env, i, i) }()
	deadline := time.Now().Add(harness.Wait)
	for {
		select {
		case code := <-i.done:
			i.t.Fatalf("purser ended with %d:\n%s", code, i.printed())
		default:
		}
		if resp, err := http.Get(i.public + "/healthz"); err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			i.t.Fatalf("purser does not serve:\n%s", i.printed())
		}
		<-time.After(5 * time.Millisecond) // there is no signal for a port that opens
	}
	i.t.Cleanup(i.end)
}

func (i *instance) end() {
	i.t.Helper()
	if i.stop == nil {
		return
	}
	i.stop()
	i.stop = nil
	if code := <-i.done; code != 0 {
		i.t.Errorf("purser ended with %d:\n%s", code, i.printed())
	}
}

// fails runs a command that must end at once with status 1 and one line that holds each of the words.
func (i *instance) fails(args []string, words ...string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Wait)
	defer cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, "purser", args, i.env, &out, &errOut)
	line := strings.TrimSuffix(errOut.String(), "\n")
	if code != 1 || ctx.Err() != nil || !strings.HasPrefix(line, "purser: ") || strings.Contains(line, "\n") {
		i.t.Fatalf("%v: status %d, said %q", args, code, errOut.String())
	}
	for _, word := range words {
		if !strings.Contains(line, word) {
			i.t.Errorf("%v: %q does not say %q", args, line, word)
		}
	}
}

func (i *instance) says(args ...string) string {
	i.t.Helper()
	var out, errOut bytes.Buffer
	if code := run(context.Background(), "purser", args, i.env, &out, &errOut); code != 0 {
		i.t.Fatalf("%v: status %d, said %q", args, code, errOut.String())
	}
	return out.String()
}

// sandboxArgs are flags for a sandbox at free addresses in the instance's folder.
func (i *instance) sandboxArgs(more ...string) []string {
	return append([]string{"--sandbox-dir", filepath.Join(i.dir, "world"), "--sandbox-telegram", harness.FreeAddress(i.t),
		"--sandbox-rpc", harness.FreeAddress(i.t), "--sandbox-ws", harness.FreeAddress(i.t), "--sandbox-market", harness.FreeAddress(i.t)}, more...)
}

func TestTheGreetingNamesWhatRuns(t *testing.T) {
	u := func(text string) *url.URL { parsed, _ := url.Parse(text); return parsed }
	at := config.HTTP{PublicURL: u("http://127.0.0.1:8080"), PagesURL: u("http://127.0.0.1:8082")}
	for dir, make := range map[string]string{
		".purser-sandbox": "go run . key create --owner 1001 --tier pro", "/tmp/other": "go run . --sandbox-dir /tmp/other key create --owner 1001 --tier pro",
		"my world's": `go run . --sandbox-dir 'my world'\''s' key create --owner 1001 --tier pro`,
	} {
		said := greeting(worldOptions{dir: dir}, at, "127.0.0.1:8025", "go run .")
		for _, want := range []string{"make a key: " + make + ")", "smtp://127.0.0.1:8025"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: the greeting does not tell %q:\n%s", dir, want, said)
			}
		}
	}
	if said := greeting(worldOptions{}, at, "", "purser"); strings.Contains(said, "smtp") {
		t.Errorf("no mail server runs:\n%s", said)
	}
}

func TestSandboxNeedsNothingAndGoesOnAfterARestart(t *testing.T) {
	i := newInstance(t)
	args := i.sandboxArgs()
	i.start(args...)
	for _, want := range []string{args[3], i.public, i.pages + "/docs", args[5], args[7], args[9], args[1], "--fresh", "PURSER_TELEGRAM_TOKEN"} {
		if !strings.Contains(i.printed(), want) {
			t.Errorf("the greeting does not tell %q:\n%s", want, i.printed())
		}
	}
	// Each origin has its own: no page but the signing page's beside the keys of browsers.
	for address, want := range map[string]string{
		i.pages + "/docs": "200 text/html; charset=utf-8", i.pages + "/w/": "404 text/plain; charset=utf-8", i.pages + "/v1/openapi.json": "404 text/plain; charset=utf-8",
		i.public + "/docs": "404 application/json", i.public + "/w/": "200 text/html; charset=utf-8", i.public + "/v1/openapi.json": "200 application/json",
	} {
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := strconv.Itoa(resp.StatusCode) + " " + resp.Header.Get("Content-Type"); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	post := func(url, body string) string {
		t.Helper()
		resp, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	bot, node := "http://"+args[3]+"/bot"+telegram.DefaultToken, "http://"+args[5]
	const somebody = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	balance := func() string {
		return post(node, `{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["`+somebody+`",{"commitment":"processed"}]}`)
	}
	prices := "http://" + args[9]
	near := func() bool { // SOL is near 777 dollars: a price moves on every 15 seconds
		resp, err := http.Get(prices + "/sandbox/state")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`"symbol":"SOL","name":"Wrapped SOL","verified":true,"price":"77[67]\b`).Match(raw)
	}
	if near() {
		t.Error("SOL is at 777 dollars by itself")
	}
	post(prices+"/sandbox/set", `{"prices":{"SOL":"777"}}`)
	if !near() {
		t.Error("the market's price is not what was set")
	}
	post(bot+"/setMyName", `{"name":"kept"}`)
	post(node, `{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":["`+somebody+`",1234567890]}`)
	for deadline := time.Now().Add(harness.Wait); !strings.Contains(balance(), "1234567890"); {
		if time.Now().After(deadline) {
			t.Fatal("the airdrop does not arrive")
		}
		<-time.After(20 * time.Millisecond) // blocks come by the clock
	}
	i.fails(args, "another purser", args[1])
	i.end()

	i.start(args...)
	if name := post(bot+"/getMyName", `{}`); !strings.Contains(name, "kept") {
		t.Errorf("after a restart Telegram says %s", name)
	}
	if held := balance(); !strings.Contains(held, "1234567890") {
		t.Errorf("after a restart Solana says %s", held)
	}
	if !near() {
		t.Error("after a restart the market has another price")
	}
	i.end()
	precious := filepath.Join(args[1], "notes.txt")
	if err := os.WriteFile(precious, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(args[1], "purser.key"))
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(args[1], "purser.db.deliveries", "left-by-the-old-world")
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.start(append(args, "--fresh")...)
	if _, err := os.Stat(stale); err == nil {
		t.Error("--fresh keeps the old log of deliveries")
	}
	if near() {
		t.Error("--fresh keeps the old prices")
	}
	after, err := os.ReadFile(filepath.Join(args[1], "purser.key"))
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("--fresh keeps the old key (%v)", err)
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("--fresh removes what is not purser's: %v", err)
	}
}

func TestStartSaysInOneLineWhatIsInTheWay(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	i := newInstance(t)
	args := i.sandboxArgs()
	i.fails(append(args, "--http-listen", address), address, "taken", "PURSER_HTTP_LISTEN")
	i.fails(append(args, "--http-pages-listen", address), address, "taken", "PURSER_HTTP_PAGES_LISTEN")
	i.fails(append(args, "--sandbox-rpc", address), address, "taken")
	file := filepath.Join(i.dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.fails(append(args, "--sandbox-dir", filepath.Join(file, "x")), "--sandbox-dir")
	i.fails([]string{"--no-such-flag"}, "no-such-flag")
	newInstance(t, "PURSER_CHAIN_CLUSTER=devnet").fails([]string{"serve"}, "telegram.token", "@BotFather")
	i.fails([]string{"no-such-command"}, "no-such-command")
}

func TestNothingRealIsTouchedFromTheSandbox(t *testing.T) {
	real := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the sandbox calls a real node: %s %s", r.Method, r.URL.Path)
	}))
	defer real.Close()
	i := newInstance(t, "PURSER_CHAIN_RPC_URL="+real.URL, "PURSER_CHAIN_CLUSTER=mainnet", "PURSER_TELEGRAM_API_URL="+real.URL,
		"PURSER_MARKET_SOURCES=coingecko,jupiter", "PURSER_MARKET_URL="+real.URL, "PURSER_MARKET_POOLS_URL="+real.URL, "PURSER_MARKET_RATES_URL="+real.URL, "PURSER_MARKET_KEYS=jupiter=precious",
		"PURSER_NEWS_FEEDS="+real.URL, "PURSER_STORE_URL=bolt:"+filepath.Join(t.TempDir(), "real", "purser.db"))
	i.start(i.sandboxArgs()...)
}

func TestPricesOfTheSandboxAreItsOwn(t *testing.T) {
	o := worldOptions{dir: t.TempDir(), telegram: "127.0.0.1:1", rpc: "127.0.0.1:2", ws: "127.0.0.1:3", market: "127.0.0.1:4", mail: "127.0.0.1:5"}
	c, err := config.Load(o.settings(config.Options{Environ: []string{"PURSER_MARKET_SOURCES=coingecko,jupiter", "PURSER_MARKET_URL=https://prices.example",
		"PURSER_MARKET_POOLS_URL=https://pools.example", "PURSER_MARKET_RATES_URL=https://rates.example", "PURSER_MARKET_KEYS=jupiter=precious", "PURSER_MARKET_CALLS_PER_MINUTE=600"}}))
	want := config.Market{Sources: []config.PriceSource{{Name: config.Jupiter, URL: "http://127.0.0.1:4"}}, PoolsURL: "http://127.0.0.1:4", RatesURL: "http://127.0.0.1:4"}
	if err != nil || !reflect.DeepEqual(c.Market, want) {
		t.Errorf("%+v (%v), want %+v", c.Market, err, want)
	}
}

func TestReceiversMayRunBesideTheSandbox(t *testing.T) {
	t.Chdir(t.TempDir())
	o := worldOptions{dir: t.TempDir(), telegram: "127.0.0.1:1", rpc: "127.0.0.1:2", ws: "127.0.0.1:3", market: "127.0.0.1:5", mail: "127.0.0.1:4"}
	for environ, want := range map[string]string{
		"":                                       "[127.0.0.0/8 ::1/128] true [http://127.0.0.1:5/news.rss]",
		"PURSER_NEWS_FEEDS=https://news.example": "[127.0.0.0/8 ::1/128] true [http://127.0.0.1:5/news.rss]",
		"PURSER_WEBHOOKS_ALLOW_PRIVATE=10.0.0.1": "[10.0.0.1/32] false []", // whoever says so wants to try that
	} {
		c, err := config.Load(o.settings(config.Options{Environ: []string{environ}}))
		if got := fmt.Sprint(c.Webhooks.AllowPrivate, c.Webhooks.AllowHTTP, c.News.Addresses()); err != nil || got != want {
			t.Errorf("%q: %s (%v)", environ, got, err)
		}
	}
}

func TestKeysAreMadeBesideARunningServerAndWithoutOne(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.start("serve")
	alice := harness.NewPerson(t, w, telegram.Alice)
	alice.Say("/start")
	alice.Hear("the welcome", func(telegram.Message) bool { return true })
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--owner", "1001", "--json")), &made); err != nil || made.ID == "" || made.Key == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	status := func(key string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, i.public+"/v1/wallet/balance?address="+alice.Device.Address(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status(made.Key); got != http.StatusNotFound { // the key opens; the wallet is nobody's yet
		t.Fatalf("with the key: %d", got)
	}
	if list := i.says("key", "list"); !strings.Contains(list, made.ID) || strings.Contains(list, made.Key) ||
		!strings.Contains(list, "\n    can: Read wallets (wallet:read), Propose payments (wallet:send), ") || !strings.Contains(list, ", last used 20") ||
		!strings.Contains(list, "\n    works until it is revoked\n") {
		t.Fatalf("the list reads:\n%s", list)
	}
	if said := i.says("key", "create", "--owner", "1001", "--scopes", "wallet:read"); !strings.Contains(said, "shown only once. Keep it secret.\nTier: free.\nIt can: Read wallets (wallet:read).\n") {
		t.Fatalf("key create says %q", said)
	}
	if said := i.says("key", "tier", made.ID, "pro"); !strings.Contains(said, made.ID+" has the tier pro.") {
		t.Fatalf("key tier says %q", said)
	}
	if list := i.says("key", "list"); !strings.Contains(list, made.ID+"  api  pro") {
		t.Fatalf("the list reads:\n%s", list)
	}
	alice.Hear("the tier", func(m telegram.Message) bool { return strings.Contains(m.Text, "is now on the pro tier") })
	i.says("key", "revoke", made.ID)
	if got := status(made.Key); got != http.StatusUnauthorized {
		t.Fatalf("with the revoked key: %d", got)
	}
	if list := i.says("key", "list"); !regexp.MustCompile(made.ID + `  api  pro  .*\n.*\n.*\n    ended 20.* UTC: revoked or replaced\n`).MatchString(list) {
		t.Fatalf("the list reads:\n%s", list)
	}
	i.fails([]string{"key", "create", "--owner", "77"}, "Telegram id")
	i.fails([]string{"key", "create", "--kind", "root"}, "kind")
	i.fails([]string{"key", "revoke"}, "key list")
	i.fails([]string{"key", "tier", "key_x"}, "free|pro")
	i.fails([]string{"key", "tier", "key_x", "pro"}, "no key with this id")
	i.fails([]string{"key", "tier", made.ID, "gold"}, "tier must be one of")
	i.fails([]string{"key", "tier", made.ID, "free"}, "has expired or was revoked")
	var second struct{ ID, Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--owner", "1001", "--json")), &second); err != nil {
		t.Fatal(err)
	}
	newInstance(t, "PURSER_TELEGRAM_TOKEN="+telegram.DefaultToken, "PURSER_CHAIN_CLUSTER=devnet",
		"PURSER_STORE_URL=bolt:"+filepath.Join(t.TempDir(), "none.db")).fails([]string{"key", "list"}, "no store", "start purser once", "send /start")
	i.end()
	if list := i.says("key", "list"); !strings.Contains(list, made.ID) {
		t.Fatalf("without a server the list reads:\n%s", list)
	}
	i.says("key", "tier", second.ID, "pro")
	if list := i.says("key", "list"); !strings.Contains(list, second.ID+"  api  pro") {
		t.Fatalf("without a server, after key tier, the list reads:\n%s", list)
	}
	for _, secret := range []string{made.Key, telegram.DefaultToken} {
		if strings.Contains(i.printed(), secret) {
			t.Errorf("a secret stands in the log")
		}
	}
}

// TestDeadLettersAreReplayedBesideARunningServerAndWithoutOne: what was given up is listed, and once it is replayed the
// person hears it.
func TestDeadLettersAreReplayedBesideARunningServerAndWithoutOne(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.fails([]string{"queue", "list"}, "no store", "start purser")
	i.start("serve")
	alice := harness.NewPerson(t, w, telegram.Alice)
	alice.Say("/start")
	alice.Hear("the welcome", func(telegram.Message) bool { return true })
	var made struct{ ID, Key string }
	if err := json.Unmarshal([]byte(i.says("key", "create", "--owner", "1001", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	if said := i.says("queue", "dead-letters", "events"); said != "The queue events has no dead letters.\n" {
		t.Fatalf("without any it says %q", said)
	}
	i.end()
	i.gaveUp(made.ID, wallet.ProTier, wallet.FreeTier)

	// Without a server.
	// An event of the welcome may wait still: the process ended as soon as it was answered.
	if list := i.says("queue", "list"); !regexp.MustCompile(`(?m)^events +[01] waiting, 0 in flight, 2 dead letters`).MatchString(list) {
		t.Fatalf("the queues read:\n%s", list)
	}
	letters := i.says("queue", "dead-letters", "events")
	if lines := strings.Split(letters, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "evt_free  given up 20") || !strings.HasSuffix(lines[1], ": no words for it") ||
		strings.Contains(letters, made.ID) {
		t.Fatalf("the dead letters read:\n%s", letters)
	}
	i.fails([]string{"queue", "replay", "events"}, "--all")
	i.fails([]string{"queue", "replay", "events", "evt_pro", "--all"}, "--all")
	i.fails([]string{"queue", "replay", "events", "evt_other"}, "no dead letter with this id")
	i.fails([]string{"queue", "dead-letters"}, "queue list")
	i.fails([]string{"queue", "dead-letters", "relay_signal"}, "queue must be one of: inbox, events, outbox")
	if said := i.says("queue", "replay", "events", "evt_pro"); said != "Replayed 1 of the queue events.\n" {
		t.Fatalf("it says %q", said)
	}
	i.start("serve")
	alice.Hear("what was replayed without a server", func(m telegram.Message) bool { return strings.Contains(m.Text, "is now on the pro tier") })

	// Beside it.
	var rows []struct {
		ID, About, Reason string
		PutAt             time.Time `json:"put_at"`
		GivenUpAt         time.Time `json:"given_up_at"`
		Attempts          int
	}
	if err := json.Unmarshal([]byte(i.says("queue", "dead-letters", "events", "--json")), &rows); err != nil || len(rows) != 1 || rows[0].ID != "evt_free" ||
		!strings.HasPrefix(rows[0].About, "usr_") || rows[0].Reason != "no words for it\nand a trace" || rows[0].Attempts != 1 || rows[0].PutAt.IsZero() || !rows[0].GivenUpAt.After(rows[0].PutAt) {
		t.Fatalf("%+v, %v", rows, err)
	}
	i.says("queue", "replay", "events", "--all")
	alice.Hear("what was replayed beside it", func(m telegram.Message) bool { return strings.Contains(m.Text, "is now on the free tier") })
	if said := i.says("queue", "dead-letters", "events", "--json"); said != "[]\n" {
		t.Errorf("at the end it says %q", said)
	}
	if said := i.says("queue", "replay", "events", "--all"); said != "Replayed 0 of the queue events.\n" {
		t.Errorf("with none left it says %q", said)
	}
}

// gaveUp leaves one dead letter for each tier in the stopped store: an event that tells a key's owner of it.
func (i *instance) gaveUp(key string, tiers ...wallet.Tier) {
	i.t.Helper()
	c, err := config.Load(config.Options{Environ: i.env})
	if err != nil {
		i.t.Fatal(err)
	}
	s, _, err := openStore(c, storetest.Kinds(), nil)
	if err != nil {
		i.t.Fatal(err)
	}
	err = s.Update(i.t.Context(), func(tx store.Tx) error {
		owned, err := tx.Key(key)
		if err != nil {
			return err
		}
		for _, tier := range tiers {
			at := time.Now().UTC()
			event, err := wallet.NewEvent("evt_"+string(tier), wallet.KeyTierSet, at, owned.Owner, wallet.KeyTierSetData{KeyID: key, Tier: tier})
			if err != nil {
				return err
			}
			if err := tx.Emit(event); err != nil {
				return err
			}
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: store.Events, Node: "test", Now: at, Max: 1, Lease: time.Minute})
			if err != nil {
				return err
			}
			if err := tx.DeadLetterJobs(at.Add(time.Second), "no words for it\nand a trace", jobs[0].Ref()); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		i.t.Fatal(err)
	}
}

// TestDeveloperGetsAKeyInTheChat goes all the way (docs/specification.md, Keys): /api, a contact, a mailed code,
// the key in a message that goes away, and the endpoint that it opens.
func TestDeveloperGetsAKeyInTheChat(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box := mail.New(time.Now)
	came := make(chan struct{}, 1)
	box.Came = func() { came <- struct{}{} }
	go box.Run(t.Context(), l) //nolint:errcheck // it ends with the test
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t, "PURSER_VERIFICATION_STEPS=contact,email", "PURSER_MAIL_URL=smtp://"+l.Addr().String(),
		"PURSER_MAIL_FROM=purser@example.org").beside(w)
	i.start("serve")
	alice := harness.NewPerson(t, w, telegram.Alice)
	hear := func(words string) telegram.Message {
		t.Helper()
		return alice.Hear(words, func(m telegram.Message) bool { return strings.Contains(m.Text, words) })
	}
	alice.Say("/api")
	hear("what is your app called")
	alice.Say("Shop")
	hear("What is Shop for")
	alice.Say("Takes orders")
	alice.Tap(alice.HearButton("I accept"))
	hear("sharing your phone number")
	if _, err := w.Telegram.ShareContact(telegram.Alice, telegram.Alice); err != nil {
		t.Fatal(err)
	}
	hear("Verify your email address")
	alice.Say("alice@example.org")
	select {
	case <-came:
	case <-time.After(harness.Wait):
		t.Fatal("no mail came")
	}
	code := regexp.MustCompile(`[0-9]{6}`).FindString(box.Mails()[0].Text)
	hear("I've emailed a code")
	alice.Say(code)
	alice.Tap(alice.HearButton("Create"))
	shown, saved := alice.HearButton("I've saved it")
	key := ""
	for _, b := range shown.Buttons() {
		if b.CopyText != nil {
			key = b.CopyText.Text
		}
	}
	ask := func() int {
		t.Helper()
		req, err := http.NewRequest("GET", i.public+"/v1/wallet/balance?address="+alice.Device.Address(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if status := ask(); status != http.StatusNotFound { // a wallet that nobody has: the key is taken
		t.Errorf("with the key: %d", status)
	}
	alice.Tap(shown, saved)
	if said := hear("I removed the message with").Text; !strings.Contains(said, i.public) || !strings.Contains(said, i.pages+"/docs") {
		t.Errorf("whoever has a key is told no way on: %q", said)
	}
	for _, m := range w.Telegram.Messages(telegram.Alice) {
		if strings.Contains(m.Text, key) {
			t.Errorf("the key still stands in the chat: %q", m.Text)
		}
	}
	alice.Say("/api")
	alice.Tap(alice.HearButton("API key …"))
	alice.Tap(alice.HearButton("Revoke"))
	alice.Tap(alice.HearButton("Revoke it"))
	hear("no longer works")
	if status := ask(); status != http.StatusUnauthorized {
		t.Errorf("with a revoked key: %d", status)
	}
	for _, secret := range []string{key, code, "alice@example.org"} {
		if strings.Contains(i.printed(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

// TestSandboxBringsAMailServerWhereOneIsWanted: the step email works there without any setting.
func TestSandboxBringsAMailServerWhereOneIsWanted(t *testing.T) {
	for steps, wanted := range map[string]bool{"contact,email": true, "contact": false} {
		i, address := newInstance(t, "PURSER_VERIFICATION_STEPS="+steps), harness.FreeAddress(t)
		i.start(i.sandboxArgs("--sandbox-mail", address)...)
		c, err := net.Dial("tcp", address)
		if (err == nil) != wanted {
			t.Errorf("%s: %v", steps, err)
		}
		if err == nil {
			c.Close()
		}
		i.end()
	}
}

func TestWebhookModeTakesUpdatesAndAnswers(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t, "PURSER_TELEGRAM_MODE=webhook", "PURSER_TELEGRAM_WEBHOOK_SECRET=s3cret_s3cret_s3cret").beside(w)
	i.start("serve")
	alice := harness.NewPerson(t, w, telegram.Alice)
	alice.Say("/start")
	alice.Hear("the welcome", func(m telegram.Message) bool { return strings.Contains(m.Text, "/wallet") })

	for secret, want := range map[string]int{"": 401, "wrong": 401, "s3cret_s3cret_s3cret": 400} {
		req, err := http.NewRequest(http.MethodPost, i.public+"/telegram/webhook", strings.NewReader("{"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("secret %q: %d, want %d", secret, resp.StatusCode, want)
		}
	}
}

func TestWrongClusterStopsTheProgram(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.env = append(i.env, "PURSER_CHAIN_CLUSTER=mainnet", "PURSER_LOG_LEVEL=error")
	i.fails([]string{"serve"}, "chain.cluster", "mainnet", "localnet")
}

func TestAStoreWithoutItsMasterKeyIsRefused(t *testing.T) {
	w := harness.World(t, 50*time.Millisecond)
	i := newInstance(t).beside(w)
	i.start("serve")
	if !strings.Contains(i.printed(), "Back it up apart") {
		t.Errorf("nobody is told to back up the master key:\n%s", i.printed())
	}
	i.end()
	if err := os.Rename(filepath.Join(i.dir, "purser.key"), filepath.Join(i.dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	i.fails([]string{"serve"}, "master key")
	i.env = append(i.env, "PURSER_STORE_MASTER_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	i.fails([]string{"serve"}, "master key")
}

func TestPageHashAndVersionArePrinted(t *testing.T) {
	i := newInstance(t)
	if hash := strings.TrimSpace(i.says("page-hash")); len(hash) != 64 {
		t.Errorf("page-hash prints %q", hash)
	}
	if v := i.says("version"); !strings.HasPrefix(v, "purser ") {
		t.Errorf("version prints %q", v)
	}
}
