package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/sandbox/market"
	"purser/sandbox/solana"
)

// trading is a market over a cluster's exchange, whose clock stands still.
type trading struct {
	*market.Market
	t       *testing.T
	cluster *solana.Cluster
}

func newTrading(t *testing.T) trading {
	t.Helper()
	now := func() time.Time { return time.Unix(1_800_000_000, 0) }
	cluster, err := solana.Open(solana.Options{Now: now, Seed: "purser"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := market.Open(market.Options{Now: now, Seed: "purser", Block: cluster.Slot, Exchange: Exchange(cluster),
		Mint: func(name string) string { return solana.MintAddress("purser", name) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := m.SetLimit(market.Jupiter, 10_000); err != nil {
		t.Fatal(err)
	}
	return trading{m, t, cluster}
}

const taker, wrapped = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9", "So11111111111111111111111111111111111111112"

// build asks for a quote. change replaces values of the query; "" leaves one out.
func (x trading) build(change map[string]string) (status int, answer map[string]any) {
	x.t.Helper()
	query := url.Values{"inputMint": {wrapped}, "outputMint": {solana.MintAddress("purser", "USDC")}, "amount": {"1000000000"}, "taker": {taker}, "slippageBps": {"50"}}
	for name, value := range change {
		if query.Set(name, value); value == "" {
			query.Del(name)
		}
	}
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/swap/v2/build?"+query.Encode(), nil))
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		x.t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return w.Code, answer
}

// TestABuildHasJupitersShape: the fields of Jupiter's reference of GET /swap/v2/build (read in November 2026), and no others.
func TestABuildHasJupitersShape(t *testing.T) {
	x := newTrading(t)
	for _, out := range []string{"USDC", "BEAN"} {
		status, answer := x.build(map[string]string{"outputMint": solana.MintAddress("purser", out)})
		if status != 200 {
			t.Fatalf("%d %v", status, answer)
		}
		var names []string
		for name := range answer {
			names = append(names, name)
		}
		slices.Sort(names)
		if got, want := strings.Join(names, " "), "addressesByLookupTableAddress blockhashWithMetadata cleanupInstruction computeBudgetInstructions inAmount inputMint otherAmountThreshold otherInstructions "+
			"outAmount outputMint priceImpactPct routePlan setupInstructions slippageBps swapInstruction swapMode tipInstruction"; got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
		swap := answer["swapInstruction"].(map[string]any)
		first := swap["accounts"].([]any)[0].(map[string]any)
		for _, field := range []string{"pubkey", "isSigner", "isWritable"} {
			if _, ok := first[field]; !ok || len(first) != 3 {
				t.Errorf("an account is %v", first)
			}
		}
		plan := answer["routePlan"].([]any)
		if hops := map[string]int{"USDC": 1, "BEAN": 2}[out]; len(plan) != hops {
			t.Errorf("%s: %v", out, plan)
		}
		info := plan[0].(map[string]any)["swapInfo"].(map[string]any)
		for _, field := range []string{"ammKey", "label", "inputMint", "outputMint", "inAmount", "outAmount"} {
			if text, ok := info[field].(string); !ok || text == "" {
				t.Errorf("swapInfo.%s is %v", field, info[field])
			}
		}
	}
}

// TestABuildRefusesWhatJupiterRefuses: each with a status of the caller's fault and a text, whatever stands in the query.
func TestABuildRefusesWhatJupiterRefuses(t *testing.T) {
	x := newTrading(t)
	usdc := solana.MintAddress("purser", "USDC")
	for _, change := range []map[string]string{
		{"amount": ""}, {"amount": "0"}, {"amount": "-1"}, {"amount": "1.5"}, {"amount": "1e9"}, {"amount": "18446744073709551616"}, {"amount": "１"},
		{"slippageBps": "-1"}, {"slippageBps": "10001"}, {"slippageBps": "65536"}, {"slippageBps": "x"},
		{"inputMint": ""}, {"inputMint": "x"}, {"inputMint": usdc}, {"outputMint": wrapped}, {"outputMint": strings.Repeat("1", 10_000)}, {"outputMint": solana.MintAddress("purser", "GHOST")},
		{"taker": ""}, {"taker": "x"}, {"taker": taker + "1"}, {"amount": "1"}, {"outputMint": solana.MintAddress("purser", "FEE")},
	} {
		status, answer := x.build(change)
		if status != 400 || answer["error"] == "" && answer["message"] == "" {
			t.Errorf("%v: %d %v", change, status, answer)
		}
	}
	// The largest amount that can be written is no sum that overflows.
	if status, answer := x.build(map[string]string{"amount": "18446744073709551615"}); status != 200 && status != 400 {
		t.Errorf("%d %v", status, answer)
	}
}

// TestQuotesAreAnsweredAsTheControlSays.
func TestQuotesAreAnsweredAsTheControlSays(t *testing.T) {
	x := newTrading(t)
	out := func() (status int, amount, data string) {
		status, answer := x.build(nil)
		if swap, ok := answer["swapInstruction"].(map[string]any); ok {
			data = fmt.Sprint(swap["data"])
		}
		return status, fmt.Sprint(answer["outAmount"]), data
	}
	_, honest, data := out()
	if _, again, same := out(); again != honest || same != data {
		t.Errorf("the same question is answered %s and %s", honest, again)
	}
	for _, mode := range []string{market.QuoteLow, market.QuoteDirect, market.QuoteNoRoute} {
		if err := x.SetQuotes(mode); err != nil || x.QuoteMode() != mode {
			t.Fatal(mode, err)
		}
		status, amount, changed := out()
		switch mode {
		case market.QuoteLow:
			if amount == honest || changed == data {
				t.Errorf("low: %s", amount)
			}
		case market.QuoteDirect:
			if amount != honest || changed == data {
				t.Errorf("direct: %s", amount)
			}
		case market.QuoteNoRoute:
			if status != 400 {
				t.Errorf("no route: %d", status)
			}
		}
	}
	if err := x.SetQuotes(market.QuoteMoves); err != nil {
		t.Fatal(err)
	}
	before, _ := x.cluster.Pool(wrapped)
	if _, amount, _ := out(); amount != honest {
		t.Errorf("before it moves: %s", amount)
	}
	after, _ := x.cluster.Pool(wrapped)
	if after.USDC >= before.USDC || after.Token != before.Token {
		t.Errorf("the pool went from %+v to %+v", before, after)
	}
	if err := x.SetQuotes("lies"); err == nil {
		t.Error("an unknown mode is taken")
	}
}

// TestBuildsShareTheBucketOfCalls with prices and searches, as Jupiter counts them.
func TestBuildsShareTheBucketOfCalls(t *testing.T) {
	x := newTrading(t)
	if err := x.SetLimit(market.Jupiter, 30); err != nil {
		t.Fatal(err)
	}
	ask := func(path string) int {
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code
	}
	refused := 0
	for range 20 {
		for _, path := range []string{"/price/v3?ids=" + wrapped, "/tokens/v2/search?query=SOL"} {
			if ask(path) == 429 {
				refused++
			}
		}
	}
	if status, _ := x.build(nil); status != 429 || refused == 0 {
		t.Errorf("after 40 calls of 30 a build is answered with %d, %d were refused", status, refused)
	}
}
