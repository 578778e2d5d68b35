package api

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// savePrices puts prices into the store, as the sampler does.
func (r *harness) savePrices(prices ...wallet.TokenPrice) {
	r.Helper()
	r.Must(r.Store.Update(r.Context(), func(tx store.Tx) error { return tx.SavePrices(prices) }))
}

// TestPricesAreServed with source, age and doubts; what nobody knows is missing, not zero.
func TestPricesAreServed(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	change := wallet.Change(-125)
	now := r.Now()
	r.savePrices(
		wallet.TokenPrice{Price: wallet.MustPrice("147.4789340738336"), Change24h: &change, At: now.Add(-12 * time.Second), Source: "jupiter", Disagrees: &wallet.SourcePrice{Source: "pyth", Price: wallet.MustPrice("120")}},
		wallet.TokenPrice{Mint: usdc.Mint, Price: wallet.MustPrice("0.9998"), At: now.Add(-16 * time.Minute), Source: "coingecko"},
		wallet.TokenPrice{Mint: wallet.Address{9}, Price: wallet.MustPrice("0.00000001234"), At: now, Source: "jupiter"})
	a := r.get("/v1/prices?tokens=sol,USDC,"+wallet.Address{9}.String()+",FEE,SOL", r.alice.secret)
	want := fmt.Sprintf(`{"success":true,"data":{"prices":[`+
		`{"token":"SOL","mint":"","listed":true,"price_usd":"147.4789340738336","change_24h_percent":"-1.25","source":"jupiter","updated_at":"2026-11-21T11:59:48.000Z","age_seconds":12,"stale":false,"disagrees":{"source":"pyth","price_usd":"120"}},`+
		`{"token":"USDC","mint":"%s","listed":true,"price_usd":"0.9998","change_24h_percent":"","source":"coingecko","updated_at":"2026-11-21T11:44:00.000Z","age_seconds":960,"stale":true,"disagrees":null},`+
		`{"token":"%[2]s","mint":"%[2]s","listed":false,"price_usd":"0.00000001234","change_24h_percent":"","source":"jupiter","updated_at":"2026-11-21T12:00:00.000Z","age_seconds":0,"stale":false,"disagrees":null}`+
		`],"missing":["FEE"]},"message":"Prices read.","timestamp":"2026-11-21T12:00:00.000Z"}`, usdc.Mint, wallet.Address{9})
	if a.status != 200 || string(a.body) != want {
		t.Errorf("%d\n%s, want\n%s", a.status, a.body, want)
	}
	many := "SOL"
	for i := range 50 {
		many += "," + wallet.Address{1, byte(i)}.String()
	}
	r.want(r.get("/v1/prices?tokens="+many, r.alice.secret), 400, wallet.InvalidRequest, "at most 50")
	r.want(r.get("/v1/prices", r.alice.secret), 400, wallet.InvalidRequest, "tokens is missing")
	r.want(r.get("/v1/prices?tokens=SOL,,USDC", r.alice.secret), 404, wallet.TokenNotFound, "token")
	r.want(r.get("/v1/prices?tokens=DOGE", r.alice.secret), 404, wallet.TokenNotFound, "DOGE")
	r.want(r.get("/v1/prices?tokens=SOL&span=1h", r.alice.secret), 400, wallet.InvalidRequest, "span")
}

// TestPastPricesAreServed, oldest first, by the span.
func TestPastPricesAreServed(t *testing.T) {
	r := newHarness(t)
	for i, price := range []string{"100", "101", "102"} {
		at := r.Now().Add(time.Duration(i-3) * 40 * time.Minute)
		r.Must(r.PastPrices.SavePoints(at, []wallet.TokenPrice{{Price: wallet.MustPrice(price), At: at}}))
	}
	a := r.get("/v1/prices/sol/history?span=1h", r.alice.secret)
	want := `{"success":true,"data":{"token":"SOL","mint":"","span":"1h","points":[{"at":"2026-11-21T11:20:00.000Z","price_usd":"102"}]},"message":"Past prices read.","timestamp":"2026-11-21T12:00:00.000Z"}`
	if a.status != 200 || string(a.body) != want {
		t.Errorf("%d\n%s, want\n%s", a.status, a.body, want)
	}
	for _, path := range []string{"/v1/prices/SOL/history", "/v1/prices/SOL/history?span=24h"} {
		if a := r.get(path, r.alice.secret); a.status != 200 || len(a.field("data", "points").([]any)) != 3 || a.text("data", "span") != "24h" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	usdc, _ := r.Tokens.BySymbol("USDC")
	if a := r.get("/v1/prices/"+usdc.Mint.String()+"/history?span=365d", r.alice.secret); a.status != 200 || a.text("data", "token") != "USDC" || len(a.field("data", "points").([]any)) != 0 {
		t.Errorf("nothing is known of USDC: %d %s", a.status, a.body)
	}
	r.want(r.get("/v1/prices/SOL/history?span=2h", r.alice.secret), 400, wallet.InvalidRequest, "span")
	r.want(r.get("/v1/prices/DOGE/history", r.alice.secret), 404, wallet.TokenNotFound, "DOGE")
	r.want(r.get("/v1/prices/"+r.bob.Address().String()+"/history", r.alice.secret), 404, wallet.TokenNotFound, "")
}

// TestBalancesAreValued at the prices that are known: listed tokens, and their sum. Anybody can give an unlisted token any price.
func TestBalancesAreValued(t *testing.T) {
	r := newHarness(t)
	bob := r.bob.Address()
	r.FundToken(bob, "USDC", 1_500_000)
	usdc, _ := r.Tokens.BySymbol("USDC")
	worth := func() [3]string {
		t.Helper()
		a := r.get("/v1/wallet/balance?address="+bob.String(), r.alice.secret)
		return [3]string{a.text("data", "balances", "SOL", "usd_value"), a.text("data", "balances", "USDC", "usd_value"), a.text("data", "total_usd_value")}
	}
	if got := worth(); got != [3]string{} {
		t.Errorf("nobody knows a price: %q", got)
	}
	r.savePrices(wallet.TokenPrice{Price: wallet.MustPrice("147.4789340738336"), At: r.Now(), Source: "jupiter"})
	if got := worth(); got != [3]string{"147.478934", "", ""} {
		t.Errorf("the price of USDC is not known: %q", got)
	}
	r.savePrices(wallet.TokenPrice{Mint: usdc.Mint, Price: wallet.MustPrice("0.9998"), At: r.Now(), Source: "jupiter"})
	if got := worth(); got != [3]string{"147.478934", "1.4997", "148.978634"} {
		t.Errorf("valued as %q", got)
	}
	r.Pass(wallet.StalePrice + time.Second)
	if got := worth(); got != [3]string{} {
		t.Errorf("valued by old prices: %q", got)
	}
}

// pooled is a source of pools that says what it is told.
type pooled struct {
	list []handlers.Pool
	err  error
	mint wallet.Address
}

func (p *pooled) TokenPools(_ context.Context, mint wallet.Address) ([]handlers.Pool, error) {
	p.mint = mint
	return p.list, p.err
}

// TestPoolsAreServed as the source says them, with its name and its page. A source that does not answer is 503, and a service
// without one has none.
func TestPoolsAreServed(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	if a := r.get("/v1/pools?token=SOL", r.alice.secret); a.status != 200 || a.text("data", "source") != "" || len(a.field("data", "pools").([]any)) != 0 {
		t.Errorf("without a source: %d %s", a.status, a.body)
	}
	source := &pooled{list: []handlers.Pool{
		{Address: wallet.Address{7}, DEX: "raydium", With: wallet.Token{Mint: usdc.Mint}, Price: wallet.MustPrice("147.5"), Liquidity: wallet.Worth{USD: 112_004_583_600},
			Volume24h: wallet.Worth{Unknown: true}, CreatedAt: r.Now().Add(-time.Hour), URL: "https://pools.example/7"},
		{Address: wallet.Address{8}, With: wallet.Token{Mint: wallet.Address{9}}, Liquidity: wallet.Worth{Unknown: true}, Volume24h: wallet.Worth{Unknown: true}},
	}}
	r.Prices.PoolSource = source
	a := r.get("/v1/pools?token=sol", r.alice.secret)
	want := fmt.Sprintf(`{"success":true,"data":{"token":"SOL","mint":"","source":"geckoterminal","updated_at":"2026-11-21T12:00:00.000Z","pools":[`+
		`{"address":"%s","dex":"raydium","quote_token":"USDC","price_usd":"147.5","liquidity_usd":"112004.5836","volume_24h_usd":"","created_at":"2026-11-21T11:00:00.000Z","url":"https://pools.example/7"},`+
		`{"address":"%s","dex":"","quote_token":"%s","price_usd":"","liquidity_usd":"","volume_24h_usd":"","created_at":"","url":""}`+
		`]},"message":"Pools read.","timestamp":"2026-11-21T12:00:00.000Z"}`, wallet.Address{7}, wallet.Address{8}, wallet.Address{9})
	if a.status != 200 || string(a.body) != want || !source.mint.IsZero() {
		t.Errorf("%d\n%s, want\n%s", a.status, a.body, want)
	}
	if r.get("/v1/pools?token=USDC", r.alice.secret); source.mint != usdc.Mint {
		t.Errorf("asked about %s", source.mint)
	}
	source.err = errors.New("down")
	r.want(r.get("/v1/pools?token=SOL", r.alice.secret), 503, wallet.NetworkError, "Pool data")
	r.want(r.get("/v1/pools", r.alice.secret), 400, wallet.InvalidRequest, "token is missing")
	r.want(r.get("/v1/pools?token=DOGE", r.alice.secret), 404, wallet.TokenNotFound, "DOGE")
}
