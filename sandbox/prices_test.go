package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
)

// TestTheMarketTradesTheClustersTokens asks as a client of Jupiter does, moves a price on the chat page, and goes on after a
// restart.
func TestTheMarketTradesTheClustersTokens(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for life := range 2 {
		w, err := Open(Options{Dir: dir, TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", MarketListen: "127.0.0.1:0",
			SlotTime: time.Hour, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		if err := w.Solana.Advance(25); err != nil {
			t.Fatal(err)
		}
		usdc, fee := w.Solana.Mint(solana.USDC), w.Solana.Mint(solana.FEE)
		ask := func(answer *http.Response, err error) string {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			says, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK {
				t.Fatalf("%s %s %v", answer.Status, says, err)
			}
			return string(says)
		}
		post := func(body string, want int, says string) {
			t.Helper()
			answer, err := http.Post(w.TelegramURL()+"/app/price", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			got, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != want || !strings.Contains(string(got), says) {
				t.Errorf("%s: %s %s %v", body, answer.Status, got, err)
			}
		}
		if life == 0 {
			post(`{"mint":"`+fee+`","price":"2"}`, 200, `"price":"2"`)
			post(`{"mint":"`+fee+`","percent":10}`, 200, `"price":"2.2"`)
			post(`{"mint":"`+fee+`","price":"none"}`, 400, "151.5")
			post(`{"mint":"MOON","price":"1"}`, 404, "doesn't have this token")
			ghost := solana.MintAddress("purser", "GHOST")
			post(`{"mint":"`+ghost+`","percent":10}`, 409, "Set one first")
		}
		var prices map[string]struct {
			USDPrice json.Number
			BlockID  uint64
			Decimals int
		}
		if err := json.Unmarshal([]byte(ask(http.Get(w.MarketURL()+"/price/v3?ids="+usdc+","+fee))), &prices); err != nil {
			t.Fatal(err)
		}
		if prices[fee].USDPrice != "2.2" || prices[fee].Decimals != 6 || prices[usdc].Decimals != 6 || prices[fee].BlockID != w.Solana.Slot() || w.Solana.Slot() <= w.Solana.Height() {
			t.Errorf("life %d: %+v, the slot is %d", life, prices, w.Solana.Slot())
		}
		if says := ask(http.Get(w.TelegramURL() + "/app/prices")); !strings.Contains(says, `"mint":"`+fee+`","symbol":"FEE","name":"Fee Token","verified":true,"price":"2.2"`) {
			t.Errorf("life %d: the page has %s", life, says)
		}
		stop()
		if err := errors.Join(<-ended, w.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestAWorldWithoutAMarket listens nowhere for it.
func TestAWorldWithoutAMarket(t *testing.T) {
	w, err := Open(Options{TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", SlotTime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	if w.Market != nil || w.MarketURL() != "" {
		t.Errorf("%v %q", w.Market, w.MarketURL())
	}
	// An address that somebody has is named.
	_, err = Open(Options{TelegramListen: "127.0.0.1:0", RPCListen: "127.0.0.1:0", WSListen: "127.0.0.1:0", MarketListen: strings.TrimPrefix(w.RPCURL(), "http://"), SlotTime: time.Hour})
	var inUse *InUse
	if !errors.As(err, &inUse) || inUse.What != "the sandbox's market" {
		t.Error(err)
	}
}
