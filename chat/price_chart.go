package chat

import (
	"context"
	"fmt"
	stdhtml "html"
	"strconv"
	"strings"
	"time"

	"purser/chart"
	"purser/handlers"
	"purser/wallet"
)

// chartSpan is one of the times that a chart can show.
type chartSpan struct {
	name   string // in the action of a button; what people type
	label  string // catalogue key of the button
	title  string // catalogue key of the words in the picture
	length time.Duration
}

// spans are the times that charts show, in the order of their buttons.
func spans() []chartSpan {
	const day = 24 * time.Hour
	return []chartSpan{
		{"1h", "price_button.hour", "price_chart.hour", time.Hour},
		{"24h", "price_button.day", "price_chart.day", day},
		{"7d", "price_button.week", "price_chart.week", 7 * day},
		{"30d", "price_button.month", "price_chart.month", 30 * day},
	}
}

// defaultSpan is the place in spans of what is shown first.
const defaultSpan = 1

// spanOf finds a span by its name, in any case; "1d" is a day too.
func spanOf(name string) (chartSpan, bool) {
	if strings.EqualFold(name, "1d") {
		name = "24h"
	}
	for _, span := range spans() {
		if strings.EqualFold(span.name, name) {
			return span, true
		}
	}
	return chartSpan{}, false
}

// priceContent is a price with its past before it is worded.
type priceContent struct {
	handlers.PriceView
	span   chartSpan
	points []wallet.PricePoint
	change *wallet.Change // over the span; nil if it is unknown
}

// tapChart shows another span in the place of the chart that the button stands below. The object is "7d:TOKEN".
func (c *Chat) tapChart(ctx context.Context, h Inbound, object string) (Action, error) {
	name, token, _ := strings.Cut(object, ":")
	span, ok := spanOf(name)
	if !ok { // a button of another version
		span = spans()[defaultSpan]
	}
	return c.priceChart(ctx, h, token, span)
}

// priceChart shows what a token costs, with its chart: a symbol of the list, or a mint. It may ask sources and costs one of the
// person's lookups. The picture is drawn before the transaction. An app gets the text alone.
func (c *Chat) priceChart(ctx context.Context, h Inbound, word string, span chartSpan) (Action, error) {
	ref, question, err := c.whichToken(ctx, h, word, func(mint string) string { return "/price " + mint })
	switch {
	case err != nil:
		return refuse(err)
	case question != nil:
		return question, nil
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	p := priceContent{span: span}
	if p.PriceView, err = c.Prices.Price(ctx, ref); err != nil {
		return refuse(err)
	}
	if !p.Known() {
		return func(s *replyTx) error {
			return s.reply("price.none", vars{"Token": tokenText(p.Token), "Unlisted": p.unlisted()})
		}, nil
	}
	if h.app != nil {
		p.change = p.Price.Change24h // apps get 24 hours only
		return func(s *replyTx) error {
			caption, err := s.priceText(p)
			if err != nil {
				return err
			}
			return s.enqueue(Reply{Kind: Message, Text: string(caption)}, "")
		}, nil
	}
	if p.points, err = c.Prices.Chart(ctx, p.Token, span.length); err != nil {
		return refuse(err)
	}
	series := p.series(c.Now())
	p.change = p.moved(series)
	picture, err := c.drawChart(p, series, c.wordsFor(h.reader()))
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error { return s.sendChart(p, picture) }, nil
}

// unlisted reports whether the token is outside purser's list.
func (p priceContent) unlisted() bool { return p.Token.Symbol == "" }

// series returns the points of the chart that ends now, with the price that is shown as its last one.
func (p priceContent) series(now time.Time) chart.Series {
	s := chart.Series{From: now.Add(-p.span.length), To: now, Points: p.points, Gap: p.span.length / 12}
	if n := len(s.Points); n == 0 || s.Points[n-1].At.Before(p.Price.At) {
		s.Points = append(s.Points[:n:n], wallet.PricePoint{At: p.Price.At, Price: p.Price.Price})
	}
	return s
}

// moved returns how the price moved over the span of a chart. A source's own figure for 24 hours comes first, so that text and
// picture agree. Otherwise the chart must reach back to its beginning.
func (p priceContent) moved(s chart.Series) *wallet.Change {
	if p.span.length == 24*time.Hour && p.Price.Change24h != nil {
		return p.Price.Change24h
	}
	for _, point := range s.Points {
		if point.At.Before(s.From) || !point.Price.Known() {
			continue
		}
		if point.At.Sub(s.From) > s.Gap {
			break
		}
		if change, ok := p.Price.Price.ChangeFrom(point.Price); ok {
			return &change
		}
	}
	return nil
}

// trendOf returns in which colour a change is drawn. nil is an unknown one.
func trendOf(change *wallet.Change) chart.Trend {
	switch {
	case change == nil || *change == 0:
		return chart.Flat
	case *change > 0:
		return chart.Up
	}
	return chart.Down
}

// drawChart draws the picture of a price from its series.
func (c *Chat) drawChart(p priceContent, s chart.Series, words catalogue) ([]byte, error) {
	words = c.pictureWords(words)
	s.Name, s.Price = shortTokenName(p.Token), "$"+p.Price.Price.Rounded(priceDigits).String()
	r := &replyTx{Chat: c, words: words}
	name, err := r.sourceName(p.Price.Source)
	if err != nil {
		return nil, err
	}
	change, err := r.change(p.change)
	if err != nil {
		return nil, err
	}
	s.Change = stdhtml.UnescapeString(string(change))
	s.Trend = trendOf(p.change)
	texts := map[string]*string{p.span.title: &s.Span, "price_chart.source": &s.Source, "price_chart.empty": &s.Empty}
	if p.unlisted() {
		texts["price_chart.unlisted"] = &s.Warning
	}
	for key, into := range texts {
		text, err := words.text(key, vars{"Source": name})
		if err != nil {
			return nil, err
		}
		*into = stdhtml.UnescapeString(string(text))
	}
	picture, err := chart.Draw(s)
	if err != nil {
		return nil, fmt.Errorf("draw a chart of %s: %w", p.Token.Mint, err)
	}
	return picture, nil
}

// priceText words what a token costs, and how that moved over the span of its chart.
func (s *replyTx) priceText(p priceContent) (html, error) {
	view := p.PriceView
	v := vars{"Token": shortTokenName(view.Token), "Mint": html(""), "Price": view.Price.Price.Rounded(priceDigits).String(), "Stale": view.Stale,
		"Span": p.span.name}
	if view.Token.Symbol == "" {
		v["Mint"] = code(view.Token.Mint.String())
	}
	var err error
	if v["Local"], err = s.localPrice(view.Price.Price); err != nil {
		return "", err
	}
	if v["Change"], err = s.change(p.change); err != nil {
		return "", err
	}
	if v["Age"], err = s.age(view.Price.At); err != nil {
		return "", err
	}
	if v["Source"], err = s.sourceName(view.Price.Source); err != nil {
		return "", err
	}
	if err := s.dispute(view, v); err != nil {
		return "", err
	}
	return s.words.text("price.text", v)
}

// sendChart sends a chart with a button for each span. If such a button was tapped, the chart takes the place of the one above
// it. Of several that wait to be sent for one message, only the newest is.
func (s *replyTx) sendChart(p priceContent, picture []byte) error {
	caption, err := s.priceText(p)
	if err != nil {
		return err
	}
	var row []Button
	for _, span := range spans() {
		label, err := s.words.text(span.label, vars{"Chosen": span == p.span})
		if err != nil {
			return err
		}
		// The nonce follows from what the button does, so that tapping to and fro stores no more rows.
		action := "chart:" + span.name + ":" + p.Token.Ref().String()
		nonce := nonceOf("chart", strconv.FormatInt(s.conv.Chat, 10), strconv.FormatInt(s.conv.User, 10), action)
		b, err := s.buttonOf(nonce, label, action, "chart", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	r, card := Reply{Kind: Photo, Text: string(caption), PNG: picture, Buttons: [][]Button{row}}, ""
	if s.inbound.Tap != nil && s.inbound.MessageID != 0 && strings.HasPrefix(s.inbound.button.Action, "chart:") {
		r.MessageID, card = s.inbound.MessageID, "chart:"+strconv.Itoa(s.inbound.MessageID)
	}
	if err := s.enqueue(r, card); err != nil {
		return err
	}
	if card != "" {
		s.out[len(s.out)-1].CardUntil = s.now // the name serves the waiting replies alone; no row of it is kept
	}
	return nil
}
