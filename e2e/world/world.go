// Package world knows how the packages are put together for a test: real operations over a real store and a
// real cluster, with a clock, ids, chance and blocks that the test moves. It refuses to know what a
// test is about, and how a front (chat, api, bot) carries an operation.
package world

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"purser/chain"
	"purser/config"
	"purser/product"
	"purser/quota"
	"purser/sandbox"
	exchange "purser/sandbox/market"
	"purser/sandbox/solana"
	"purser/store"
	"purser/store/bolt"
	"purser/store/engine"
	"purser/store/local"
	"purser/store/records"
	"purser/store/storetest"
	"purser/wallet"
	"purser/webhooks"
)

// SOL is one SOL in lamports.
const SOL = 1_000_000_000

// Host is where the signing page lives, unless Options say otherwise.
const Host = "wallet.example"

// Options change what New builds. The zero value suits most tests.
type Options struct {
	PublicURL *url.URL       // of the signing page; nil is https:// + Host
	Timeout   time.Duration  // of one call to the node; 0 is chain's own
	Kinds     []product.Kind // of transactions, beside the standard ones
	Market    bool           // with a market (World.Exchange), by which tokens have prices and swaps have quotes
}

// World is everything that a test of the money path stands on. The fields are the product's own
// parts, wired as the product wires them; a test may replace what they lean on. TB may be exchanged
// for a subtest's.
type World struct {
	testing.TB
	Cluster *solana.Cluster // its blocks come by Blocks
	// Exchange is the sandbox's market; nil without Options.Market. Its clock is the world's.
	Exchange *exchange.Market
	Chain    *chain.Client
	Store    *records.Store
	File     string // of Store

	engine    engine.Engine // of Store
	marketURL string        // of Exchange; "" without
	kinds     product.Kinds

	// Parts are the product's own. A test that needs other settings changes them: Developers ask for a shared contact
	// only, and Delivery runs when a test runs it.
	*product.Parts

	PublicURL   *url.URL
	DeliveryLog *records.Log
	PastPrices  *records.PriceHistory
	Receiver    func(webhooks.Message) webhooks.Result // answers deliveries; 200 when not set
	Unreachable func(address string) error             // why nothing is delivered to a webhook's address; nil when not set

	delay time.Duration // see Delayed

	mu   sync.Mutex
	now  time.Time
	ids  int
	dice *mathrand.ChaCha8

	warnings bytes.Buffer // of the settler's last look
	troubled bool         // they are part of the test
}

// New builds a world that ends with the test. Its clock begins at noon UTC, and two worlds of one
// test's name have the same chance.
func New(t testing.TB, o Options) *World {
	t.Helper()
	w := &World{TB: t, PublicURL: o.PublicURL, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		dice: mathrand.NewChaCha8(sha256.Sum256([]byte(t.Name())))}
	if w.PublicURL == nil {
		w.PublicURL = &url.URL{Scheme: "https", Host: Host}
	}
	kinds, err := product.NewKinds(append(product.StandardKinds(), o.Kinds...)...)
	w.Must(err)
	w.Cluster, err = solana.Open(solana.Options{Now: w.Now, Seed: "purser"}) // the seed of the listed test mints
	w.Must(err)
	node := serve(t, w.Cluster.Handler())
	t.Cleanup(func() { w.Must(w.Cluster.Close()) }) // before the server: it lets go of hanging requests
	w.Chain, err = chain.New(chain.Options{RPCURLs: []string{"http://cluster"}, Cluster: wallet.Localnet, Timeout: o.Timeout, Codec: kinds.Codec(), Now: w.Now, Dial: node.Dial})
	w.Must(err)
	t.Cleanup(w.Chain.Close)
	if o.Market {
		w.openMarket()
	}
	w.File = filepath.Join(t.TempDir(), "purser.db")
	w.Store, w.engine = openStore(t, w.File, kinds.Rules())
	w.kinds = kinds
	w.build()
	return w
}

// openMarket opens the market over the cluster's exchange, on a socket.
func (w *World) openMarket() {
	var err error
	w.Exchange, err = exchange.Open(exchange.Options{Now: w.Now, Seed: "purser", Block: w.Cluster.Slot, Exchange: sandbox.Exchange(w.Cluster),
		Mint: func(name string) string { return solana.MintAddress("purser", name) }})
	w.Must(err)
	w.Cleanup(func() { w.Must(w.Exchange.Close()) })
	server := httptest.NewServer(w.Exchange.Handler())
	w.Cleanup(server.Close)
	w.marketURL = server.URL
	w.Must(w.Exchange.SetLimit(exchange.Jupiter, 100_000)) // the world's clock stands still most of the time
}

// build makes the product's parts over the open store.
func (w *World) build() {
	w.Helper()
	log, err := local.OpenLog(w.File+".deliveries", w.Store)
	w.Must(err)
	w.DeliveryLog = log
	w.Cleanup(func() { w.Must(log.Close()) })
	past, err := local.OpenPriceHistory(w.File+".prices", nil)
	w.Must(err)
	w.PastPrices = past
	w.Cleanup(func() { w.Must(past.Close()) })
	w.wire(w.kinds)
	w.Restart()
}

// Reopen closes the database's files, opens them again, and makes all parts again, as a process that starts.
func (w *World) Reopen() {
	w.Helper()
	w.Must(w.DeliveryLog.Close())
	w.Must(w.PastPrices.Close())
	w.Must(w.Store.Close())
	w.Store, w.engine = openStore(w.TB, w.File, w.kinds.Rules())
	w.build()
}

// OpenStore opens a new store until the test ends, for those who need nothing else of a world.
func OpenStore(t testing.TB) *records.Store {
	t.Helper()
	kinds, err := product.NewKinds(product.StandardKinds()...)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := openStore(t, filepath.Join(t.TempDir(), "purser.db"), kinds.Rules())
	return s
}

// Beside opens a further Store over the world's database, as another node has it. It learns of the first one's keys while
// its Run runs, which ends with the test.
func (w *World) Beside() *records.Store {
	w.Helper()
	s, err := records.Open(storetest.Beside(w.engine), recordsOptions(w.Store.Kinds()))
	w.Must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	w.Cleanup(func() {
		stop()
		w.Must(<-ended)
	})
	return s
}

// Damage cuts the stored row under key short whose plain part contains a text, as a broken disk does. Something must be found.
func (w *World) Damage(key []byte, contains string) {
	w.Helper()
	const tables = 25 // those up to the final transactions
	found := 0
	w.Must(w.engine.Update(context.Background(), func(tx engine.Tx) error {
		for t := range engine.Table(tables) {
			raw := tx.Get(t, key)
			if !bytes.Contains(raw, []byte(contains)) {
				continue
			}
			found++
			if err := tx.Put(t, key, bytes.Clone(raw[:len(raw)/2])); err != nil {
				return err
			}
		}
		return nil
	}))
	if found != 1 {
		w.Fatalf("%d rows were damaged", found)
	}
}

// Rewrite replaces what the database holds under a key of one of its tables, as somebody does who can write to the file; nil removes it. Something must be
// there.
func (w *World) Rewrite(key []byte, how func(raw []byte) []byte) {
	w.Helper()
	w.Must(w.engine.Update(context.Background(), func(tx engine.Tx) error {
		for t := engine.Table(0); ; t++ {
			raw := tx.Get(t, key)
			if raw == nil {
				continue
			}
			if made := how(bytes.Clone(raw)); made != nil {
				return tx.Put(t, key, made)
			}
			return tx.Delete(t, key)
		}
	}))
}

func recordsOptions(kinds wallet.Kinds) records.Options {
	return records.Options{MasterKey: make([]byte, 32), Random: rand.Reader, Kinds: kinds}
}

func openStore(t testing.TB, path string, kinds wallet.Kinds) (*records.Store, engine.Engine) {
	t.Helper()
	e, err := bolt.Open(bolt.Options{Path: path, Random: records.Shared(rand.Reader)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := records.Open(e, recordsOptions(kinds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, e
}

// wire makes the product's parts over the world's own store, cluster, clock and chance.
func (w *World) wire(kinds product.Kinds) {
	public := w.PublicURL
	var prices config.Market
	if w.marketURL != "" {
		prices.Sources = []config.PriceSource{{Name: config.Jupiter, URL: w.marketURL, PerMinute: 60_000}}
		prices.PoolsURL, prices.RatesURL = w.marketURL, w.marketURL
	}
	parts, err := product.New(product.Options{
		Config: config.Config{
			Market:   prices,
			Chain:    config.Chain{Cluster: wallet.Localnet, ExplorerURL: "https://explorer.example/tx/{signature}?cluster={cluster}"},
			HTTP:     config.HTTP{PublicURL: public, PagesURL: &url.URL{Scheme: "https", Host: "pages.example"}},
			Webhooks: config.Webhooks{Schedule: []time.Duration{time.Millisecond}, Retention: 72 * time.Hour, Events: 10_000},
			Access:   config.Access{Steps: []wallet.Verification{wallet.ByContact}},
			Limits:   quota.Limits{APIFree: 100, APIPro: 1000, BotFree: 50, BotPro: 500, Messages: 30},
		},
		Kinds: kinds, Store: w.Store, Deliveries: w.DeliveryLog, PastPrices: w.PastPrices, Chain: w.Chain, Poster: receiver{w}, BotName: func() string { return "purser_bot" }, Node: "main",
		Now: w.Now, NewID: w.NewID, Random: w, Log: slog.New(slog.DiscardHandler),
	})
	w.Must(err)
	w.Parts = parts
	w.Delayed(w.delay)
}

// Delayed has every transaction that is proposed from now on wait between Confirm and its signature, also after Reopen; 0: none does. A note of the
// rule RuleLargeFirstPayment says so: nobody has to type anything for it.
func (w *World) Delayed(d time.Duration) {
	w.delay, w.Transactions.Rules = d, wallet.FraudRules()
	at := slices.IndexFunc(w.Transactions.Rules, func(r wallet.Rule) bool { return r.Name == wallet.RuleLargeFirstPayment })
	if d == 0 {
		return
	}
	w.Transactions.Rules[at].Judge = func(*wallet.RuleInput) wallet.Finding {
		return wallet.Finding{Verdict: wallet.NoteVerdict, Wait: d, Reason: wallet.Because("rule.very_large_first_payment")}
	}
}

// receiver plays the receivers of webhooks.
type receiver struct{ *World }

// Check tells what a delivery to an address would say before it connects: nothing, unless Unreachable is set.
func (w receiver) Check(_ context.Context, address string) error {
	if w.Unreachable == nil {
		return nil
	}
	return w.Unreachable(address)
}

// Post is a webhook's receiver.
func (w receiver) Post(_ context.Context, m webhooks.Message) webhooks.Result {
	if w.Receiver == nil {
		return webhooks.Result{Status: 200}
	}
	return w.Receiver(m)
}

// Now is the world's clock. It stands still between two Pass.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time go by. No block comes of it, and nothing looks at the clock by itself.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// NewID counts: "tx_0001".
func (w *World) NewID(prefix string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return fmt.Sprintf("%s_%04d", prefix, w.ids)
}

// Read is the world's chance, as an io.Reader.
func (w *World) Read(out []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dice.Read(out)
}

// Must ends the test at an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// Refused holds an error to a code, and to saying something to people.
func (w *World) Refused(code wallet.Code, err error) {
	w.Helper()
	if wallet.CodeOf(err) != code || wallet.ReasonOf(err).IsZero() {
		w.Fatalf("got %v, want a reasoned %s", err, code)
	}
}

// Update writes to the store.
func (w *World) Update(change func(store.Tx) error) error {
	return w.Store.Update(context.Background(), change)
}

// View reads from the store, which must not fail.
func (w *World) View(read func(store.Tx) error) {
	w.Helper()
	w.Must(w.Store.View(context.Background(), read))
}

// Blocks lets n blocks come.
func (w *World) Blocks(n int) {
	w.Helper()
	w.Must(w.Cluster.Advance(n))
}

// During makes one RPC method misbehave ("" is all of them), until Whole. Settling may fail then.
func (w *World) During(method string, fault solana.Fault) {
	w.Trouble()
	w.Cluster.SetFault(func(m string, _ json.RawMessage) solana.Fault {
		if method == "" || m == method {
			return fault
		}
		return solana.Fault{}
	})
}

// Whole ends all faults of the node, and with them what may fail.
func (w *World) Whole() {
	w.Cluster.SetFault(nil)
	w.troubled = false
}
