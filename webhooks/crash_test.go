package webhooks_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"purser/quota"
	"purser/store"
	"purser/store/local"
	"purser/store/storetest"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// The environment that makes this test binary a victim: a service with its publishers, which is killed.
const (
	victimDir   = "PURSER_VICTIM_DIR"
	victimURL   = "PURSER_VICTIM_URL"
	victimRound = "PURSER_VICTIM_ROUND" // "last" delivers what is left, and ends
)

const (
	victimHooks   = 3
	victimWallets = 4
)

// runVictim opens the store, delivers, and publishes until it is killed: each line on its output names an
// event that is durable.
func runVictim(dir, url, round string) error {
	s, err := local.Open(local.Options{Path: filepath.Join(dir, "purser.db"), MasterKey: bytes.Repeat([]byte{7}, store.MasterKeySize), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		return err
	}
	log, err := local.OpenLog(filepath.Join(dir, "log"), s)
	if err != nil {
		return err
	}
	poster, err := webhooks.NewPoster(webhooks.Options{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true, Now: time.Now})
	if err != nil {
		return err
	}
	// The limit of an hour counts a twentieth as spent after each crash: here hours lie between them.
	hours, err := strconv.Atoi(round)
	if err != nil {
		hours = math.MaxInt16
	}
	meter := &quota.Meter{Store: s, Now: func() time.Time { return time.Now().Add(time.Duration(hours) * 2 * time.Hour) }, Log: slog.New(slog.DiscardHandler)}
	service := &webhooks.Service{Store: s, Node: "main", Log: log, Transport: poster, Meter: meter, Limit: quota.Limit{Count: 1 << 40, Span: time.Hour},
		Schedule:  work.Schedule{Waits: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond, 160 * time.Millisecond, 320 * time.Millisecond, 640 * time.Millisecond}},
		Retention: time.Hour, Now: time.Now, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if err := prepareVictim(s, url); err != nil {
		return err
	}
	if err := s.Update(context.Background(), func(tx store.Tx) error { return tx.ReleaseNode("main") }); err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { ended <- meter.Run(context.Background()) }()
	go func() { ended <- service.Run(context.Background()) }()
	fmt.Println("running")
	if round == "last" {
		return <-ended // it is killed when all has arrived
	}
	for n := 0; ; n++ {
		select {
		case err := <-ended:
			return err
		default:
		}
		of := n % victimWallets
		e, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%d", round, n), wallet.TransactionFailed, time.Now().UTC(), "usr_1", wallet.TransactionFailedData{
			TransactionID: wallet.TransactionID(fmt.Sprintf("%s/%d", round, n)), WalletAddress: wallet.Address{byte(of)}, Amount: "1", Token: "SOL", Type: wallet.ActivitySent})
		if err != nil {
			return err
		}
		if err := s.Update(context.Background(), func(tx store.Tx) error { return tx.Emit(e) }); err != nil {
			return err
		}
		fmt.Println(e.ID)
	}
}

// prepareVictim registers the receivers, once.
func prepareVictim(s store.Store, url string) error {
	now := time.Now().UTC()
	return s.Update(context.Background(), func(tx store.Tx) error {
		if hooks, err := tx.WebhooksOfOwner("usr_1"); err != nil || len(hooks) > 0 {
			return err
		}
		if err := tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 1, RegisteredAt: now}); err != nil {
			return err
		}
		if err := tx.CreateKey(wallet.Key{ID: "key_1", Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: wallet.Scopes(), Owner: "usr_1", CreatedAt: now}, "secret"); err != nil {
			return err
		}
		for i := range victimHooks {
			err := tx.PutWebhook(wallet.Webhook{ID: wallet.WebhookID(fmt.Sprint("wh_", i)), Kind: wallet.APIKey, Lineage: "key_1", Owner: "usr_1",
				URL: fmt.Sprint(url, "/", i), Events: []string{"*"}, Active: true, Secret: "a secret of a webhook", CreatedAt: now})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// gathered is what the receivers were sent.
type gathered struct {
	*testing.T
	mu     sync.Mutex
	bodies map[string]string   // by receiver and event
	order  map[string][]string // events by receiver and wallet, in the order of their first 200
	news   chan struct{}
}

func (g *gathered) receive(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var body struct {
		Data struct {
			Wallet string `json:"wallet_address"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(raw, &body) != nil { // the sender was killed meanwhile
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if mathrand.IntN(10) == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	event := r.Header.Get("webhook-id")
	key := r.URL.Path + " " + event
	before, known := g.bodies[key]
	switch {
	case !known:
		g.bodies[key] = string(raw)
		line := r.URL.Path + " " + body.Data.Wallet
		g.order[line] = append(g.order[line], event)
		select {
		case g.news <- struct{}{}:
		default:
		}
	case before != string(raw):
		g.Errorf("%s was sent as %s and as %s", event, before, raw)
	}
}

func (g *gathered) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.bodies)
}

// TestKilledAtRandomMomentsDeliversEverything kills the process while events flow, again and again: every event
// that was durable arrives at each receiver, its bytes the same each time, and the events of a wallet in the
// order in which they happened.
func TestKilledAtRandomMomentsDeliversEverything(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	g := &gathered{T: t, bodies: map[string]string{}, order: map[string][]string{}, news: make(chan struct{}, 1)}
	server := httptest.NewServer(http.HandlerFunc(g.receive))
	defer server.Close()
	dir := t.TempDir()
	var durable []string
	for round := range rounds {
		durable = append(durable, killed(t, dir, server.URL, fmt.Sprintf("%03d", round), time.Duration(20+mathrand.IntN(150))*time.Millisecond)...)
	}
	cmd, out := victim(t, dir, server.URL, "last")
	defer cmd.Wait()         //nolint:errcheck // it ends by being killed
	defer cmd.Process.Kill() //nolint:errcheck // it runs until then
	go io.Copy(io.Discard, out)
	deadline := time.After(2 * time.Minute)
	for g.count() < len(durable)*victimHooks || len(g.missing(durable)) > 0 {
		select {
		case <-g.news:
		case <-deadline:
			missing := g.missing(durable)
			t.Fatalf("%d of %d did not arrive: %v", len(missing), len(durable)*victimHooks, missing[:min(10, len(missing))])
		}
	}
	t.Logf("%d events, %d kills", len(durable), rounds)
	g.mu.Lock()
	defer g.mu.Unlock()
	for line, events := range g.order {
		if !slices.IsSortedFunc(events, compareEvents) {
			t.Errorf("%s: out of order", line)
		}
	}
	if len(g.order) != victimHooks*victimWallets {
		t.Errorf("%d lines", len(g.order))
	}
}

// compareEvents orders events as they were emitted: evt_<round>_<n>.
func compareEvents(a, b string) int {
	number := func(id string) int {
		round, _ := strconv.Atoi(id[4:7])
		n, _ := strconv.Atoi(id[8:])
		return round*1_000_000 + n
	}
	return number(a) - number(b)
}

func (g *gathered) missing(durable []string) (out []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range durable {
		for i := range victimHooks {
			if key := fmt.Sprintf("/%d %s", i, id); g.bodies[key] == "" {
				out = append(out, key)
			}
		}
	}
	return out
}

func victim(t *testing.T, dir, url, round string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimURL+"="+url, victimRound+"="+round)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); err != nil || line != "running\n" {
		t.Fatalf("the victim says %q (%v)", line, err)
	}
	return cmd, out
}

// killed runs a victim for a while, and lists which events it made durable.
func killed(t *testing.T, dir, url, round string, after time.Duration) (durable []string) {
	t.Helper()
	cmd, out := victim(t, dir, url, round)
	time.AfterFunc(after, func() { cmd.Process.Kill() }) //nolint:errcheck // it runs
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			break
		}
		durable = append(durable, line[:len(line)-1])
	}
	cmd.Wait() //nolint:errcheck // it was killed
	return durable
}
