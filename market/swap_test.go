package market

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

var asked = wallet.SwapRequest{Taker: wallet.Address{1}, InMint: wallet.WrappedSOL, OutMint: usdc, Units: 1_000_000_000, SlippageBPS: 50}

// built is an answer of /swap/v2/build as documented, with some of it changed.
func built(change ...string) string {
	return strings.NewReplacer(change...).Replace(`{"inputMint":"So11111111111111111111111111111111111111112","outputMint":"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v","inAmount":"1000000000","outAmount":"147000000","otherAmountThreshold":"146265000","swapMode":"ExactIn","slippageBps":50,"priceImpactPct":"0.0012",` +
		`"routePlan":[{"swapInfo":{"ammKey":"x","label":"Orca V2","inputMint":"a","outputMint":"b","inAmount":"1","outAmount":"2"},"percent":100,"bps":10000}],` +
		`"computeBudgetInstructions":[],"setupInstructions":[],` +
		`"swapInstruction":{"programId":"JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4","accounts":[{"pubkey":"` + beanMint + `","isSigner":false,"isWritable":true}],"data":"AQID"},` +
		`"cleanupInstruction":null,"otherInstructions":[],"tipInstruction":null,` +
		`"addressesByLookupTableAddress":{"` + dipMint + `":["` + beanMint + `"]},"blockhashWithMetadata":{"blockhash":[1],"lastValidBlockHeight":5}}`)
}

// quoteText is a quote in one line.
func quoteText(q wallet.SwapQuote) string {
	text := fmt.Sprintf("%s %s %v impact %d %x", q.Source, q.Program.Tail(), q.Venues, q.ImpactBPS, q.Data)
	for _, a := range q.Accounts {
		text += fmt.Sprintf(" %s/%v/%v", a.Address.Tail(), a.Signer, a.Writable)
	}
	for _, table := range q.Tables {
		text += fmt.Sprintf(" table %s %d", table.Address.Tail(), len(table.Addresses))
	}
	return text
}

// TestQuotesAreRead, in every form that may come: a quote is read as documented, or there is none.
func TestQuotesAreRead(t *testing.T) {
	bean, dip, jup := wallet.MustAddress(beanMint).Tail(), wallet.MustAddress(dipMint).Tail(), wallet.SwapProgram.Tail()
	good := "Jupiter " + jup + " [Orca V2] impact 12 010203 " + bean + "/false/true table " + dip + " 1"
	account := `{"pubkey":"` + beanMint + `","isSigner":false,"isWritable":true}`
	for name, c := range map[string]struct{ body, want string }{
		"as documented":              {built(), good},
		"an impact as a number":      {built(`"0.0012"`, `0.0012`), good},
		"an impact rounded up":       {built(`"0.0012"`, `"0.00110001"`), good},
		"an impact in our favour":    {built(`"0.0012"`, `"-0.0012"`), good},
		"an impact of null":          {built(`"0.0012"`, `null`), strings.Replace(good, "impact 12", "impact 0", 1)},
		"an impact of the whole":     {built(`"0.0012"`, `"1"`), strings.Replace(good, "impact 12", "impact 10000", 1)},
		"an impact beyond it":        {built(`"0.0012"`, `"1e9"`), strings.Replace(good, "impact 12", "impact 10000", 1)},
		"an impact of no number":     {built(`"0.0012"`, `"little"`), strings.Replace(good, "impact 12", "impact 10000", 1)},
		"an impact of next to none":  {built(`"0.0012"`, `"1e-18"`), strings.Replace(good, "impact 12", "impact 1", 1)},
		"no tables":                  {built(`{"`+dipMint+`":["`+beanMint+`"]}`, "null"), strings.TrimSuffix(good, " table "+dip+" 1")},
		"an empty table":             {built(`["`+beanMint+`"]`, "[]"), strings.Replace(good, dip+" 1", dip+" 0", 1)},
		"no route plan":              {built(`"routePlan":[`, `"x":[`), strings.Replace(good, "[Orca V2]", "[]", 1)},
		"a venue that is a link":     {built("Orca V2", `<b>t.me/x\u202e`), strings.Replace(good, "Orca V2", "btmex", 1)},
		"a venue of a thousand":      {built("Orca V2", strings.Repeat("x", 1000)), strings.Replace(good, "Orca V2", strings.Repeat("x", maxVenueLength), 1)},
		"no swap instruction":        {built(`"swapInstruction"`, `"x"`), ""},
		"an instruction of null":     {`{"swapInstruction":null}`, ""},
		"nothing":                    {`{}`, ""},
		"null":                       {`null`, ""},
		"a program that is none":     {built("JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4", "x"), ""},
		"an account that is none":    {built(`"pubkey":"`+beanMint, `"pubkey":"x`), ""},
		"an account of null":         {built(account, "null"), ""},
		"data that is no base64":     {built("AQID", "%%%%"), ""},
		"data of base64 for URLs":    {built("AQID", "__-_"), ""},
		"a signer as text":           {built(`"isSigner":false`, `"isSigner":"false"`), ""},
		"accounts that are a text":   {built("["+account+"]", `"x"`), ""},
		"a table that is no address": {built(`{"`+dipMint, `{"x`), ""},
		"a table's entry that isn't": {built(`["`+beanMint+`"]`, `["x"]`), ""},
		"a table's entry of null":    {built(`["`+beanMint+`"]`, `[null]`), ""},
		"too many accounts":          {built(account, strings.Repeat(account+",", maxQuotedAccounts)+account), ""},
		"as many as are read":        {built(account, strings.Repeat(account+",", maxQuotedAccounts-1)+account), strings.Replace(good, bean+"/false/true", strings.TrimSpace(strings.Repeat(bean+"/false/true ", maxQuotedAccounts)), 1)},
		"too much data":              {built("AQID", base64.StdEncoding.EncodeToString(make([]byte, maxQuotedData+3))), ""},
		"a table beyond its size":    {built(`["`+beanMint+`"]`, `["`+beanMint+`"`+strings.Repeat(`,"`+beanMint+`"`, maxTableAddresses)+`]`), ""},
		"too many tables":            {built(`{"`+dipMint+`":["`+beanMint+`"]}`, manyTables(maxQuotedTables+1)), ""},
	} {
		s := newStandIn(t)
		s.says(c.body)
		q, err := NewJupiter(s.options()).Quote(t.Context(), asked)
		var e *wallet.Error
		switch {
		case c.want != "":
			if got := quoteText(q); err != nil || got != c.want {
				t.Errorf("%s: %v\n%s, want\n%s", name, err, got, c.want)
			}
		case !errors.As(err, &e) || e.Code != wallet.NetworkError || e.Reason.Key != "swap.no_source":
			t.Errorf("%s: %v, %s", name, err, quoteText(q))
		}
	}
}

func manyTables(n int) string {
	var tables []string
	for i := range n {
		tables = append(tables, `"`+wallet.Address{9, byte(i)}.String()+`":[]`)
	}
	return "{" + strings.Join(tables, ",") + "}"
}

// TestAnImpactThatIsNotSaidIsUnknown, which is not the same as none.
func TestAnImpactThatIsNotSaidIsUnknown(t *testing.T) {
	for text, unknown := range map[string]bool{`"0"`: false, `0`: false, `"0.0012"`: false, `null`: true, `{}`: true, `[]`: true, `true`: true, `""`: true} {
		s := newStandIn(t)
		s.says(built(`"0.0012"`, text))
		if q, err := NewJupiter(s.options()).Quote(t.Context(), asked); err != nil || q.ImpactUnknown != unknown {
			t.Errorf("%s: unknown %v, %v", text, q.ImpactUnknown, err)
		}
	}
}

// TestSearchesLeaveQuotesAlone: however much is searched for, a swap can be quoted.
func TestSearchesLeaveQuotesAlone(t *testing.T) {
	s := newStandIn(t)
	s.says(`[]`)
	jupiter := NewJupiter(s.options())
	for i := range 100 {
		_, _ = jupiter.Search(t.Context(), fmt.Sprint("word ", i))
	}
	searched := s.calls.Load()
	s.says(built())
	for range 3 {
		if _, err := jupiter.Quote(t.Context(), asked); err != nil {
			t.Error(err)
		}
	}
	if searched != 12 {
		t.Errorf("%d searches were made at once", searched)
	}
}

// TestTablesAreInTheSameOrder whatever order the answer has them in: the same quote makes the same transaction.
func TestTablesAreInTheSameOrder(t *testing.T) {
	for _, body := range []string{`{"` + dipMint + `":[],"` + beanMint + `":[]}`, `{"` + beanMint + `":[],"` + dipMint + `":[]}`} {
		s := newStandIn(t)
		s.says(built(`{"`+dipMint+`":["`+beanMint+`"]}`, body))
		q, err := NewJupiter(s.options()).Quote(t.Context(), asked)
		if err != nil || len(q.Tables) != 2 || q.Tables[0].Address.String() != beanMint {
			t.Errorf("%v %+v", err, q.Tables)
		}
	}
}

// TestAQuoteIsAskedForAsDocumented.
func TestAQuoteIsAskedForAsDocumented(t *testing.T) {
	s := newStandIn(t)
	var call string
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		call = r.Method + " " + r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, built())
	}
	if _, err := NewJupiter(s.options()).Quote(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	if want := "GET /swap/v2/build?amount=1000000000&inputMint=So11111111111111111111111111111111111111112&outputMint=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v&slippageBps=50&taker=" + asked.Taker.String(); call != want {
		t.Errorf("called\n%s, want\n%s", call, want)
	}
}

// TestNoRouteAndNoAnswerAreTwoThings: a source that knows no way is no source that is ill, and is asked again at once.
func TestNoRouteAndNoAnswerAreTwoThings(t *testing.T) {
	for status, reason := range map[int]string{400: "swap.no_route", 404: "swap.no_route", 422: "swap.no_route", 401: "swap.no_source", 403: "swap.no_source", 429: "swap.no_source", 500: "swap.no_source", 502: "swap.no_source"} {
		s := newStandIn(t)
		s.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":"No routes found","errorCode":"NO_ROUTES_FOUND"}`)
		}
		jupiter := NewJupiter(s.options())
		for range 5 {
			var e *wallet.Error
			if _, err := jupiter.Quote(t.Context(), asked); !errors.As(err, &e) || e.Reason.Key != reason {
				t.Errorf("%d: %v", status, err)
			}
		}
		if n := s.calls.Load(); reason == "swap.no_route" && n != 5 {
			t.Errorf("%d: asked %d times", status, n)
		} else if reason == "swap.no_source" && n > 3 {
			t.Errorf("%d: asked %d times although it is ill", status, n)
		}
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"HTML": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, built()) },
		"endless": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(append([]byte(built()), bytes.Repeat([]byte(" "), maxAnswer)...))
		},
		"brotli": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, "\x0b\x02\x80{}\x03")
		},
		"cut off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "99999")
			fmt.Fprint(w, built())
		},
	} {
		s := newStandIn(t)
		s.answer = func(w http.ResponseWriter, _ *http.Request) { answer(w) }
		var e *wallet.Error
		if _, err := NewJupiter(s.options()).Quote(t.Context(), asked); !errors.As(err, &e) || e.Code != wallet.NetworkError {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzQuotes: whatever a source answers is read without a panic, and what is read stays within the bounds.
func FuzzQuotes(f *testing.F) {
	f.Add(built())
	f.Add(`[{"id":"` + beanMint + `","name":"Bonk","symbol":"BONK","decimals":5,"liquidity":1}]`)
	f.Fuzz(func(t *testing.T, body string) {
		o := Options{URL: "http://provider", Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Client: &http.Client{Transport: saying(body)}}
		q, err := NewJupiter(o).Quote(t.Context(), asked)
		if err == nil && (len(q.Accounts) > maxQuotedAccounts || len(q.Data) > maxQuotedData || len(q.Tables) > maxQuotedTables || q.ImpactBPS < 0 || q.ImpactBPS > 10_000) {
			t.Fatalf("%+v", q)
		}
		found, _ := NewJupiter(o).Search(t.Context(), "x")
		for _, m := range found {
			if m.Symbol == "" || m.Symbol != wallet.CleanTokenText(m.Symbol) || m.Name != wallet.CleanTokenText(m.Name) {
				t.Fatalf("%+v", m)
			}
		}
	})
}
