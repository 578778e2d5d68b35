package chat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chart"
	"purser/chat"
	"purser/handlers"
	"purser/market"
	"purser/store"
	"purser/wallet"
)

// happensToPrices plays the lines of transcripts about prices: it stores what a source said. The words are price, token, price,
// change ("-": none), source, and how long ago.
func (r *harness) happensToPrices(words []string) bool {
	r.Helper()
	if words[0] == "rate" {
		rate := wallet.Rate{Currency: wallet.Currency(words[1]), PerDollar: wallet.MustPrice(words[2]), At: r.Now(), Source: "frankfurter"}
		r.Must(r.Update(func(tx store.Tx) error { return tx.SaveRates([]wallet.Rate{rate}) }))
		return true
	}
	if words[0] == "news" {
		item := wallet.NewsItem{ID: strings.Join(words, " "), Title: strings.Join(words[1:], " "), URL: "https://dune.example/1", Source: "The Daily Dune", At: r.Now()}
		if strings.HasPrefix(item.Title, "Gazette:") {
			item.Source = "The Gazette"
		}
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := tx.NoteNews([]wallet.NewsItem{item}, r.Now(), false)
			return errors.Join(err, store.OrderNews(tx, r.Now()))
		}))
		return true
	}
	if words[0] != "price" {
		return false
	}
	if words = words[1:]; words[0] == "reaches" { // as the sampler would have it
		r.priceReaches(words[1], words[2])
		return true
	}
	ref, err := wallet.ParseTokenRef(words[0])
	r.Must(err)
	mint := ref.Mint
	if mint.IsZero() && !ref.Native() {
		tokens, err := market.Listed(wallet.Localnet)
		r.Must(err)
		token, _ := tokens.BySymbol(ref.Symbol)
		mint = token.Mint
	}
	ago, err := time.ParseDuration(words[4])
	r.Must(err)
	p := wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice(words[1]), Source: words[3], At: r.Now().Add(-ago)}
	if words[2] != "-" {
		change, err := wallet.ParseChange(words[2])
		r.Must(err)
		p.Change24h = &change
	}
	r.Must(r.Update(func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{p}) }))
	return true
}

// priceReaches lets a token of the sandbox's market have a price, a minute later, and samples it as the product does.
func (r *harness) priceReaches(symbol, price string) {
	r.Helper()
	r.Pass(time.Minute)
	r.Must(r.Exchange.Set(symbol, price))
	r.Must(r.Market.Sample(r.Context()))
	r.settle()
}

// fakePrices answers with what a test has put into it, and notes what it was asked for.
type fakePrices struct {
	chat.Prices
	view   handlers.PriceView
	list   []handlers.PriceView
	points []wallet.PricePoint
	err    error
	spans  []time.Duration
}

func (f *fakePrices) Price(context.Context, wallet.TokenRef) (handlers.PriceView, error) {
	return f.view, f.err
}

func (f *fakePrices) Portfolio(context.Context, handlers.Caller) ([]handlers.PriceView, error) {
	return f.list, nil
}

func (f *fakePrices) Chart(_ context.Context, _ wallet.Token, span time.Duration) ([]wallet.PricePoint, error) {
	f.spans = append(f.spans, span)
	return f.points, nil
}

// withPrices is a harness whose chat asks f.
func withPrices(t *testing.T, f *fakePrices) *harness {
	t.Helper()
	r := newHarness(t)
	o := r.options()
	f.Prices, o.Prices = o.Prices, f
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	r.rich("alice", sol)
	return r
}

func viewOf(r *harness, price string) handlers.PriceView {
	return handlers.PriceView{Token: wallet.SOL, Price: wallet.TokenPrice{Price: wallet.MustPrice(price), Source: "jupiter", At: r.Now()}}
}

// postedByApp runs a command with an operator's key, and delivers what it posts to the chat.
func (r *harness) postedByApp(name, text string) (said string) {
	r.Helper()
	commit, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}, Person: r.people[name].User, Text: text})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) (err error) { said, err = commit(tx); return err }))
	r.settle()
	return said
}

// last is the newest reply that is no toast.
func (r *harness) last() chat.Reply {
	r.Helper()
	i := len(r.delivered) - 1
	for ; i >= 0 && r.delivered[i].Kind == chat.Toast; i-- {
	}
	return r.delivered[i]
}

// drawnFor draws what the chat should have drawn.
func drawnFor(t *testing.T, s chart.Series) []byte {
	t.Helper()
	want, err := chart.Draw(s)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func TestAChartShowsItsSpanAndTheChangeOverIt(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "110.1234567")
	up := wallet.Change(-250) // the source's own figure goes first, for its 24 hours
	f.view.Price.Change24h = &up
	begin := func(span time.Duration) []wallet.PricePoint {
		return []wallet.PricePoint{{At: r.Now().Add(-span), Price: wallet.MustPrice("100")}, {At: r.Now().Add(-span / 20), Price: wallet.MustPrice("105")}}
	}
	for _, c := range []struct {
		command, span, change string
		length                time.Duration
		trend                 chart.Trend
	}{
		{"/price SOL", "24 hours", "▼ 2.50%", 24 * time.Hour, chart.Down},
		{"/price $sol 1H", "1 hour", "▲ 10.12%", time.Hour, chart.Up},
		{"/chart SOL 7d", "7 days", "▲ 10.12%", 7 * 24 * time.Hour, chart.Up},
		{"/price SOL 30d", "30 days", "▲ 10.12%", 30 * 24 * time.Hour, chart.Up},
		{"/price SOL 1d", "24 hours", "▼ 2.50%", 24 * time.Hour, chart.Down},
	} {
		f.points = begin(c.length)
		r.says("alice", c.command)
		got := r.last()
		want := drawnFor(t, chart.Series{Name: "SOL", Span: c.span, Price: "$110.123", Change: c.change, Trend: c.trend, Source: "Jupiter, times in UTC",
			Empty: "No past prices are known", From: r.Now().Add(-c.length), To: r.Now(), Gap: c.length / 12,
			Points: append(slices.Clone(f.points), wallet.PricePoint{At: r.Now(), Price: f.view.Price.Price})})
		if got.Kind != chat.Photo || !bytes.Equal(got.PNG, want) {
			t.Errorf("%s: another picture (%d bytes, %s)", c.command, len(got.PNG), got.Text)
		}
		if !strings.Contains(got.Text, "\n"+c.change+" in "+c.span+"\n") {
			t.Errorf("%s: the caption is %q", c.command, got.Text)
		}
		if asked := f.spans[len(f.spans)-1]; asked != c.length {
			t.Errorf("%s asked for %v", c.command, asked)
		}
	}
	// A past that does not reach back says nothing of the change over the span.
	f.points, f.view.Price.Change24h = []wallet.PricePoint{{At: r.Now().Add(-time.Hour), Price: wallet.MustPrice("100")}}, nil
	r.says("alice", "/price SOL")
	want := drawnFor(t, chart.Series{Name: "SOL", Span: "24 hours", Price: "$110.123", Source: "Jupiter, times in UTC", Empty: "No past prices are known",
		From: r.Now().Add(-24 * time.Hour), To: r.Now(), Gap: 2 * time.Hour, Points: append(slices.Clone(f.points), wallet.PricePoint{At: r.Now(), Price: f.view.Price.Price})})
	if !bytes.Equal(r.last().PNG, want) {
		t.Error("a change is shown that nobody knows")
	}
	day := wallet.Change(125) // says nothing of another span
	f.view.Price.Change24h = &day
	r.says("alice", "/price SOL 7d")
	if got := r.last().Text; strings.Contains(got, "1.25%") || strings.Contains(got, " in ") {
		t.Errorf("the caption is %q", got)
	}
}

// TestAChartIsReplacedInPlace, any number of times, and of taps that wait together only the newest is sent.
func TestAChartIsReplacedInPlace(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "100")
	r.says("alice", "/price SOL")
	first := r.messages[r.people["alice"].TelegramID]
	id := first[len(first)-1].id
	for _, label := range []string{"7d", "30d", "7d"} {
		r.presses("alice", label, "alice")
		got := r.last()
		if got.Kind != chat.Photo || got.MessageID != id || !strings.Contains(fmt.Sprint(got.Buttons), "• "+label) {
			t.Errorf("%s: %s into %d, want %d, %v", label, got.Kind, got.MessageID, id, got.Buttons)
		}
	}
	for _, label := range []string{"24h", "1h", "30d"} {
		b, id := r.button("alice", label)
		in := r.input("alice")
		in.MessageID, in.Tap = id, &chat.Tap{CallbackID: "cb" + label, Data: b.Data}
		r.Must(r.try(in))
	}
	for _, row := range r.outbox() {
		if row.Card != "" && row.CardUntil != row.At {
			t.Errorf("the name %s of a waiting picture is kept until %v", row.Card, row.CardUntil)
		}
	}
	var pictures []chat.Reply
	before := len(r.delivered)
	r.settle()
	for _, reply := range r.delivered[before:] {
		if reply.Kind == chat.Photo {
			pictures = append(pictures, reply)
		}
	}
	if len(pictures) != 1 || !strings.Contains(fmt.Sprint(pictures[0].Buttons), "• 30d") {
		t.Errorf("%d pictures were sent for three quick taps", len(pictures))
	}
	// The same buttons again: no more rows in the store.
	nonces := map[string]bool{}
	for _, reply := range r.delivered {
		for _, row := range reply.Buttons {
			for _, b := range row {
				nonces[b.Data] = true
			}
		}
	}
	if len(nonces) != 4 {
		t.Errorf("%d buttons were made", len(nonces))
	}
	// Somebody else's tap does nothing.
	asked := len(f.spans)
	r.says("bob", "/start")
	r.presses("bob", "7d", "alice")
	if len(f.spans) != asked {
		t.Error("a stranger's tap drew a chart")
	}
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	for _, c := range []struct {
		view handlers.PriceView
		err  error
		want string
	}{
		{handlers.PriceView{Token: wallet.SOL}, nil, "<b>No price</b> for SOL"},
		{handlers.PriceView{Token: wallet.Token{Mint: r.people["bob"].Address()}}, nil, "may not be traded"},
		{handlers.PriceView{}, wallet.Refuse(wallet.TokenNotFound, "token.unknown"), "token"},
	} {
		f.view, f.err = c.view, c.err
		r.says("alice", "/price SOL")
		if got := r.last(); got.Kind != chat.Message || !strings.Contains(got.Text, c.want) {
			t.Errorf("%s %s, want %q", got.Kind, got.Text, c.want)
		}
	}
	if len(f.spans) > 0 {
		t.Error("a chart of no price was asked for")
	}
}

// TestAnAppReadsPrices: texts without pictures, in the chat and in the answer.
func TestAnAppReadsPrices(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "0.0000012345678")
	said := r.postedByApp("alice", "/price SOL")
	if !strings.Contains(said, "$0.00000123457") || !strings.Contains(said, "Jupiter, 0 seconds ago") || len(f.spans) != 0 {
		t.Errorf("an app reads %q", said)
	}
	if got := r.last(); got.Kind != chat.Message || len(got.PNG) > 0 || len(got.Buttons) > 0 {
		t.Errorf("the chat shows %+v", got)
	}
	for _, command := range []string{"/price SOL 7d", "/price SOL and more"} {
		if _, err := r.byApp("alice", command); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%s: %v", command, err)
		}
	}
	if _, err := r.byApp("alice", "/price NOSUCH"); wallet.CodeOf(err) != wallet.TokenNotFound {
		t.Error(err)
	}
}

// TestTheChartOfAnUnlistedTokenWarns, and names the token by its mint.
func TestTheChartOfAnUnlistedTokenWarns(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "1")
	f.view.Token = wallet.Token{Mint: wallet.MustAddress("DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263"), Decimals: 5}
	f.view.Price.Source = "<b>nobody</b>"
	r.says("alice", "/price DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263")
	got := r.last()
	if !strings.Contains(got.Text, "isn't listed here") || !strings.Contains(got.Text, "&lt;b&gt;nobody") {
		t.Errorf("the caption is %s", got.Text)
	}
	want := drawnFor(t, chart.Series{Name: "DezX…pPB263", Span: "24 hours", Price: "$1", Source: "<b>nobody</b>, times in UTC", Empty: "No past prices are known",
		Warning: "Not in purser's list", From: r.Now().Add(-24 * time.Hour), To: r.Now(), Gap: 2 * time.Hour,
		Points: []wallet.PricePoint{{At: r.Now(), Price: f.view.Price.Price}}})
	if !bytes.Equal(got.PNG, want) {
		t.Error("another picture")
	}
	if _, err := png.Decode(bytes.NewReader(got.PNG)); err != nil {
		t.Error(err)
	}
}

// TestTheListOfPricesIsBounded: many tokens are a message of a bounded length, with few buttons. Unlisted ones have no name.
func TestTheListOfPricesIsBounded(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	for i := range 40 {
		view := viewOf(r, fmt.Sprint(i+1))
		view.Token = wallet.Token{Mint: wallet.Address{byte(i + 1), 7}}
		if i != 1 {
			view.Token.Symbol = fmt.Sprintf("T%d", i)
		}
		if i == 2 {
			view.Price = wallet.TokenPrice{}
		}
		if i == 3 {
			view.Price.Source, view.Price.At, view.Stale = "pyth", r.Now().Add(-49*time.Hour), true
		}
		f.list = append(f.list, view)
	}
	r.says("alice", "/price")
	got := r.last()
	for _, want := range []string{"<b>T0</b>  $1\n", "…" + f.list[1].Token.Mint.Tail() + "</b>  $2", "<b>T2</b>  no price", "<b>T3</b>  $4  ⚠️ 2 days ago", "<b>T19</b>", "Source: Jupiter, Pyth"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the list lacks %q:\n%s", want, got.Text)
		}
	}
	var labels []string
	for _, row := range got.Buttons {
		for _, b := range row {
			labels = append(labels, b.Text)
		}
	}
	if strings.Contains(got.Text, "T20") || len(got.Buttons) != 2 || len(labels) != 7 || labels[0] != "T0" || slices.Contains(labels, "T2") {
		t.Errorf("buttons %v", labels)
	}
	// An app reads the same without buttons.
	if said := r.postedByApp("alice", "/price"); !strings.Contains(said, "T3") {
		t.Errorf("an app reads %q", said)
	}
	if got := r.last(); len(got.Buttons) > 0 {
		t.Errorf("buttons below what an app asked for: %v", got.Buttons)
	}
}

// TestAnAppNeedsAScopeForWhatThePersonHolds, and none for a price that anybody may know.
func TestAnAppNeedsAScopeForWhatThePersonHolds(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "1")
	f.list = []handlers.PriceView{f.view}
	r.rich("bob", sol)
	by := handlers.Caller{User: r.people["bob"].User.ID, KeyID: "key_2", KeyLineage: "key_2", App: "app_2"}
	for command, want := range map[string]bool{"/price": false, "/price SOL": true} {
		_, err := r.chat.Execute(r.Context(), chat.AppCommand{By: by, Person: r.people["alice"].User, Text: command, Silent: true})
		if (err == nil) != want {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestChartsAreLookups: somebody who asks too often is asked to wait, and no source is.
func TestChartsAreLookups(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "1")
	o := r.options()
	o.Prices, o.Lookups = f, 2
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	for range 2 {
		r.says("alice", "/price SOL")
	}
	in := r.input("alice")
	in.Text = "/price SOL"
	if _, err := r.chat.Handle(r.Context(), in); err != nil {
		t.Fatal(err)
	}
	if len(f.spans) != 2 {
		t.Errorf("%d charts were asked for", len(f.spans))
	}
}

// TestADisputeIsSaid: another source that says something else is named beside the price, in the list and below the chart.
func TestADisputeIsSaid(t *testing.T) {
	f := &fakePrices{}
	r := withPrices(t, f)
	f.view = viewOf(r, "147.5")
	f.list = []handlers.PriceView{f.view}
	for _, command := range []string{"/price", "/price SOL"} {
		f.view.Price.Disagrees, f.list[0].Price.Disagrees = nil, nil
		r.says("alice", command)
		if said := r.last().Text; strings.Contains(said, "Pyth") {
			t.Errorf("%s: %s", command, said)
		}
		other := &wallet.SourcePrice{Source: "pyth", Price: wallet.MustPrice("120.25")}
		f.view.Price.Disagrees, f.list[0].Price.Disagrees = other, other
		r.says("alice", command)
		if said := r.last().Text; !strings.Contains(said, "⚠️ Pyth says $120.25") {
			t.Errorf("%s: %s", command, said)
		}
	}
}
