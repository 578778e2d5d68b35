package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"purser/wallet"
)

// rich is a scripted node of somebody who holds so many tokens; it counts its calls.
func rich(tb testing.TB, owner wallet.Address, tokens int) (*Client, *atomic.Int64, []byte) {
	tb.Helper()
	var rows []string
	for i := range tokens {
		mint := wallet.Address{1, byte(i), byte(i >> 8)}
		rows = append(rows, parsedRow(owner, mint, wallet.AssociatedAccount(owner, mint, wallet.TokenProgram), wallet.TokenProgram, fmt.Sprint(i+1)))
	}
	full := `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[` + strings.Join(rows, ",") + `]}}`
	var calls atomic.Int64
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		asked, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Error(err)
		}
		answer := `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[]}}`
		if strings.Contains(string(asked), wallet.TokenProgram.String()) {
			answer = full
		}
		_, _ = io.WriteString(w, answer) // a client that has gone shows itself
	}))
	tb.Cleanup(node.Close)
	client, err := New(Options{RPCURLs: []string{node.URL}, Cluster: wallet.Localnet, Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client, &calls, []byte(full)
}

// parsedRow is an entry of getTokenAccountsByOwner as Agave writes it in jsonParsed.
func parsedRow(owner, mint, at, program wallet.Address, units string) string {
	return fmt.Sprintf(`{"pubkey":%q,"account":{"lamports":2039280,"owner":%q,"executable":false,"rentEpoch":18446744073709551615,"space":165,`+
		`"data":{"program":"spl-token","space":165,"parsed":{"type":"account","info":{"isNative":false,"mint":%q,"owner":%q,"state":"initialized",`+
		`"tokenAmount":{"amount":%q,"decimals":6,"uiAmount":0.1,"uiAmountString":"0.1"}}}}}}`, at, program, mint, owner, units)
}

func TestHoldingsTakeTwoCallsHoweverManyTokens(t *testing.T) {
	owner := testKey(1).address()
	for _, tokens := range []int{0, 1, 200} {
		client, calls, _ := rich(t, owner, tokens)
		held, err := client.Holdings(t.Context(), owner)
		if err != nil || len(held) != tokens || calls.Load() != 2 {
			t.Errorf("%d tokens: %d read in %d calls, %v", tokens, len(held), calls.Load(), err)
		}
		for i, h := range held {
			if h.Units != uint64(i+1) || h.InOtherAccounts != 0 || h.Token.Decimals != 6 || h.Slot != 9 {
				t.Errorf("read %+v", h)
			}
		}
	}
}

// TestWhatANodeSaysOfHoldingsIsNotBelievedBlindly scripts answers that contradict themselves.
func TestWhatANodeSaysOfHoldingsIsNotBelievedBlindly(t *testing.T) {
	owner, other := testKey(1).address(), testKey(2).address()
	mint := wallet.Address{1}
	own := wallet.AssociatedAccount(owner, mint, wallet.TokenProgram)
	good := parsedRow(owner, mint, own, wallet.TokenProgram, "5")
	apart := parsedRow(owner, mint, other, wallet.TokenProgram, "7")
	for name, c := range map[string]struct {
		rows []string
		held *wallet.Holding
	}{
		"one":                      {[]string{good}, &wallet.Holding{Units: 5}},
		"one elsewhere":            {[]string{good, apart}, &wallet.Holding{Units: 12, InOtherAccounts: 7}},
		"frozen":                   {[]string{strings.Replace(good, "initialized", "frozen", 1)}, &wallet.Holding{Units: 5, Frozen: true}},
		"frozen elsewhere":         {[]string{good, strings.Replace(apart, "initialized", "frozen", 1)}, &wallet.Holding{Units: 12, InOtherAccounts: 7}},
		"nothing held":             {[]string{parsedRow(owner, mint, own, wallet.TokenProgram, "0")}, nil},
		"another's":                {[]string{parsedRow(other, mint, own, wallet.TokenProgram, "5")}, &wallet.Holding{Units: 666}},
		"another program":          {[]string{parsedRow(owner, mint, own, memoProgram, "5")}, &wallet.Holding{Units: 666}},
		"more than there can be":   {[]string{parsedRow(owner, mint, own, wallet.TokenProgram, "18446744073709551615"), apart}, &wallet.Holding{Units: 666}},
		"a negative amount":        {[]string{parsedRow(owner, mint, own, wallet.TokenProgram, "-1")}, &wallet.Holding{Units: 666}},
		"no decimals":              {[]string{strings.Replace(good, `"decimals":6,`, "", 1)}, &wallet.Holding{Units: 666}},
		"two kinds of decimals":    {[]string{good, strings.Replace(apart, `"decimals":6`, `"decimals":9`, 1)}, &wallet.Holding{Units: 666}},
		"decimals beyond a byte":   {[]string{strings.Replace(good, `"decimals":6`, `"decimals":600`, 1)}, &wallet.Holding{Units: 666}},
		"an address that is none":  {[]string{strings.Replace(good, own.String(), "x", 1)}, &wallet.Holding{Units: 666}},
		"data that was not parsed": {[]string{`{"pubkey":"` + own.String() + `","account":{"owner":"` + wallet.TokenProgram.String() + `","data":["AA==","base64"]}}`}, &wallet.Holding{Units: 666}},
	} {
		t.Run(name, func(t *testing.T) {
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rows := c.rows
				if asked, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(asked), wallet.Token2022Program.String()) {
					rows = nil
				}
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":9},"value":[`+strings.Join(rows, ",")+`]}}`)
			}))
			defer node.Close()
			client, err := New(Options{RPCURLs: []string{node.URL}, Cluster: wallet.Localnet, Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			held, err := client.Holdings(t.Context(), owner)
			if c.held != nil && c.held.Units == 666 {
				if wallet.CodeOf(err) != wallet.NetworkError || held != nil {
					t.Errorf("believed: %+v, %v", held, err)
				}
				return
			}
			if c.held == nil {
				if err != nil || len(held) != 0 {
					t.Errorf("got %+v, %v", held, err)
				}
				return
			}
			want := *c.held
			want.Token, want.Slot = wallet.Token{Mint: mint, Decimals: 6, Program: wallet.TokenProgram}, 9
			if err != nil || len(held) != 1 || held[0] != want {
				t.Errorf("got %+v, %v, want %+v", held, err, want)
			}
		})
	}
}

// TestAnAccountThatIsNotParsedHidesNoOther: the list leaves it out. Any other entry that makes no sense fails the list.
func TestAnAccountThatIsNotParsedHidesNoOther(t *testing.T) {
	owner, mint := testKey(1).address(), wallet.Address{1}
	own := wallet.AssociatedAccount(owner, mint, wallet.TokenProgram)
	good := parsedRow(owner, mint, own, wallet.TokenProgram, "5")
	row := func(data string) string {
		return `{"pubkey":"` + testKey(2).address().String() + `","account":{"owner":"` + wallet.TokenProgram.String() + `","data":` + data + `}}`
	}
	for data, want := range map[string]int{`["AA==","base64"]`: 1, `["AA==","base64",1]`: 0, `["AA=="]`: 0, `"AA=="`: 0, `{}`: 0, `{"parsed":[]}`: 0, `7`: 0} {
		calls := 0
		client := scripted(t, func(string) string {
			if calls++; calls == 2 { // of the other token program
				return result(`{"context":{"slot":9},"value":[]}`)
			}
			return result(`{"context":{"slot":9},"value":[` + row(data) + "," + good + `]}`)
		})
		got, err := client.TokenAccounts(t.Context(), owner)
		if len(got) != want || (err == nil) != (want > 0) || want > 0 && got[0].Address != own {
			t.Errorf("%s: %+v, %v", data, got, err)
		}
	}
}

func TestSimulationsSayWhyInWords(t *testing.T) {
	w := newWorld(t)
	alice, bob := testKey(1), testKey(2).address()
	w.fund(alice.address(), 2_000_000_000)
	build := func(pay wallet.Transaction) []byte {
		t.Helper()
		pay.From = alice.address()
		raw, err := buildTransfer(pay)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	units, err := w.Simulate(t.Context(), build(wallet.Transaction{To: bob, Amount: 1_000_000_000}))
	if err != nil || units == 0 {
		t.Errorf("a good one: %d, %v", units, err)
	}
	for name, c := range map[string]struct {
		pay  wallet.Transaction
		want wallet.Failure
	}{
		"too much":          {wallet.Transaction{To: bob, Amount: 3_000_000_000}, wallet.InsufficientBalance},
		"under the minimum": {wallet.Transaction{To: bob, Amount: 1}, wallet.SimulationFailed},
		"no such token": {wallet.Transaction{To: bob, Amount: 1,
			Token: wallet.Token{Mint: testKey(5).address(), Program: wallet.TokenProgram}}, wallet.SimulationFailed},
	} {
		_, err := w.Simulate(t.Context(), build(c.pay))
		var refused *wallet.PreflightError
		if !errors.As(err, &refused) || refused.Failure != c.want || refused.Reason.IsZero() {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// BenchmarkHoldings reads 200 tokens over a socket; the bound is decoding the same answer once with
// encoding/json into nothing in particular.
func BenchmarkHoldings(b *testing.B) {
	owner := testKey(1).address()
	client, calls, full := rich(b, owner, 200)
	var bound time.Duration
	rounds := 0
	for b.Loop() {
		began := time.Now()
		var anything any
		if err := json.Unmarshal(full, &anything); err != nil {
			b.Fatal(err)
		}
		bound += time.Since(began)
		if held, err := client.Holdings(b.Context(), owner); err != nil || len(held) != 200 {
			b.Fatalf("%d read, %v", len(held), err)
		}
		rounds++
	}
	ours := b.Elapsed() - bound
	b.ReportMetric(float64(calls.Load())/float64(rounds), "calls")
	b.ReportMetric(float64(ours)/float64(bound), "×-bare-decode")
}

// BenchmarkBuildToken builds, decodes and checks a token transfer that makes the recipient's account;
// the bound is the Ed25519 check alone.
func BenchmarkBuildToken(b *testing.B) {
	key := testKey(1)
	pay := wallet.Transaction{From: key.address(), To: testKey(2).address(), Reference: testKey(3).address(), Amount: 25_000_000, Rent: 1,
		Token: wallet.Token{Mint: testKey(4).address(), Decimals: 6, Program: wallet.TokenProgram}, ComputeUnitLimit: 60_000, ComputeUnitPrice: 1_000}
	raw, err := buildTransfer(pay)
	if err != nil {
		b.Fatal(err)
	}
	signature := key.sign(raw)
	var bound time.Duration
	for b.Loop() {
		began := time.Now()
		if !VerifySignature(raw, key.address(), signature) {
			b.Fatal("a good signature was refused")
		}
		bound += time.Since(began)
		built, err := buildTransfer(pay)
		if err != nil {
			b.Fatal(err)
		}
		if d, err := Decode(built, key.address()); err != nil || len(d.Actions) != 2 {
			b.Fatalf("%+v, %v", d, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed()-bound)/float64(bound), "×-ed25519-check")
}
