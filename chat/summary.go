package chat

import (
	"context"
	"fmt"
	stdhtml "html"
	"strconv"
	"strings"
	"time"

	"purser/chart"
	"purser/store"
	"purser/wallet"
)

// Bounds of a summary: Telegram allows 1024 characters below a picture.
const (
	maxHoldings = 6
	maxFlows    = 4 // tokens in a line of what came or went
)

// Summarize words the summary of a person's portfolio, with a picture of its value over time and of what it consists of. It draws the picture, and
// returns what queues the message. A portfolio without anything in it, and without a movement, has no message.
func (c *Chat) Summarize(person wallet.User, summary wallet.Summary) (queue func(store.Tx) error, err error) {
	if len(summary.Holdings) == 0 && len(summary.Flows) == 0 {
		return func(store.Tx) error { return nil }, nil
	}
	var rate wallet.Rate
	err = c.Store.View(context.Background(), func(tx store.Tx) (err error) {
		s, err := c.replyTxOf(tx, person, broadcasts)
		if err != nil {
			return err
		}
		rate, err = s.rate()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("word a summary: %w", err)
	}
	picture, err := c.drawPortfolio(summary, rate, c.pictureWords(c.wordsFor(person)))
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx) error {
		s, err := c.replyTxOf(tx, person, alerts)
		if err != nil {
			return err
		}
		if err := s.sendSummary(summary, picture); err != nil {
			return err
		}
		return s.end()
	}, nil
}

// sendSummary queues the message of a summary.
func (s *replyTx) sendSummary(summary wallet.Summary, picture []byte) error {
	v := vars{"Network": s.network(), "Change": html(""), "Since": s.words.short(summary.Since)}
	var err error
	if v["Total"], err = s.value(summary.Total); err != nil {
		return err
	}
	if change, ok := summary.Changed(); ok {
		if v["Change"], err = s.change(&change); err != nil {
			return err
		}
	}
	if v["Holdings"], err = s.holdingLines(summary); err != nil {
		return err
	}
	if v["Moves"], err = s.flowLines(summary); err != nil {
		return err
	}
	caption, err := s.words.text("summary.text", v)
	if err != nil {
		return err
	}
	rows, err := s.menu("button.balance", "/wallet balance", "summary_button.settings", "/notifications summary")
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Photo, Text: string(caption), PNG: picture, Buttons: rows}, "")
}

// holdingLines lists the most valuable tokens, a line each.
func (s *replyTx) holdingLines(summary wallet.Summary) (html, error) {
	var lines []string
	for i, h := range summary.Holdings {
		if i == maxHoldings {
			more, err := s.words.text("summary.more", vars{"Count": len(summary.Holdings) - i})
			if err != nil {
				return "", err
			}
			lines = append(lines, string(more))
			break
		}
		worth, err := s.value(h.Worth)
		if err != nil {
			return "", err
		}
		share := ""
		if part, ok := portfolioShare(h, summary.Total); ok {
			share = percents(part)
		}
		line, err := s.words.text("summary.holding", vars{"Sum": h.Token.Amount(h.Units).String(), "Token": h.Token.Name(), "Staked": h.Staked, "Worth": worth, "Share": share})
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	if len(lines) == 0 {
		return s.words.text("summary.empty", nil)
	}
	return html(strings.Join(lines, "\n")), nil
}

// flowLines says what came and went, a line for each kind of movement; "" for none.
func (s *replyTx) flowLines(summary wallet.Summary) (html, error) {
	var lines []string
	add := func(key string, v vars) error {
		line, err := s.words.text(key, v)
		lines = append(lines, string(line))
		return err
	}
	in := func(f wallet.TokenFlow) uint64 { return f.In }
	out := func(f wallet.TokenFlow) uint64 { return f.Out }
	if summary.Received > 0 {
		if err := add("summary.received", vars{"Count": summary.Received, "Amounts": amountsOf(summary.Flows, in)}); err != nil {
			return "", err
		}
	}
	if summary.Sent > 0 {
		if err := add("summary.sent", vars{"Count": summary.Sent, "Amounts": amountsOf(summary.Flows, out)}); err != nil {
			return "", err
		}
	}
	if summary.Swapped > 0 {
		if err := add("summary.swapped", vars{"Count": summary.Swapped}); err != nil {
			return "", err
		}
	}
	if summary.Rewards > 0 {
		if err := add("summary.rewards", vars{"Sum": wallet.Lamports(summary.Rewards).String()}); err != nil {
			return "", err
		}
	}
	return html(strings.Join(lines, "\n")), nil
}

// amountsOf lists what came, or what went: "1.5 SOL, 20 USDC, …".
func amountsOf(flows []wallet.TokenFlow, of func(wallet.TokenFlow) uint64) string {
	var all []string
	for _, f := range flows {
		if units := of(f); units > 0 {
			all = append(all, f.Token.Amount(units).String()+" "+f.Token.Name())
		}
	}
	if len(all) > maxFlows {
		all = append(all[:maxFlows], "…")
	}
	return strings.Join(all, ", ")
}

// portfolioShare returns which part of the whole a holding is, in thousandths. ok is false if one of the values is unknown.
func portfolioShare(h wallet.PortfolioHolding, total wallet.Worth) (part int, ok bool) {
	if h.Worth.Unknown || total.Unknown || total.USD == 0 {
		return 0, false
	}
	below, ok := h.Worth.USD.Below(total.USD)
	return int(10_000-below) / 10, ok
}

// percents writes thousandths as whole percents: "62", "<1".
func percents(part int) string {
	if part < 10 {
		return "<1"
	}
	return strconv.Itoa((part + 5) / 10)
}

// pictureWords returns the words for a picture: English where the font lacks the letters of the language.
func (c *Chat) pictureWords(words catalogue) catalogue {
	if sample, err := words.text("month.january", nil); err != nil || !chart.CanDraw(string(sample)) {
		return words.in("en", words.clock)
	}
	return words
}

// drawPortfolio draws the value of a portfolio over time, and what it consists of.
func (c *Chat) drawPortfolio(summary wallet.Summary, rate wallet.Rate, words catalogue) ([]byte, error) {
	days := 30
	if summary.Daily {
		days = 7
	}
	series := chart.Series{From: summary.At.AddDate(0, 0, -days), To: summary.At, Gap: 4 * 24 * time.Hour}
	if rate.Currency != wallet.Dollars {
		series.Currency = string(rate.Currency)
	}
	for _, point := range summary.Points {
		value, err := wallet.NewPrice(uint64(point.Value), -6)
		if err == nil {
			value, err = rate.PerDollar.Times(value)
		}
		if err == nil { // what is worth nothing has no place on the line
			series.Points = append(series.Points, wallet.PricePoint{At: point.At, Price: value})
		}
	}
	if sum, ok := rate.Of(summary.Total.USD); ok && !summary.Total.Unknown {
		series.Price = sum.Text + " " + string(sum.Currency)
		if series.Currency == "" {
			series.Price = "$" + sum.Text
		}
	}
	texts := map[string]*string{"summary_picture.title": &series.Name, "summary_picture.days": &series.Span, "summary_picture.empty": &series.Empty}
	for key, into := range texts {
		text, err := words.text(key, vars{"Count": days})
		if err != nil {
			return nil, err
		}
		*into = stdhtml.UnescapeString(string(text))
	}
	if change, ok := summary.Changed(); ok {
		r := &replyTx{Chat: c, words: words}
		text, err := r.change(&change)
		if err != nil {
			return nil, err
		}
		series.Change, series.Trend = stdhtml.UnescapeString(string(text)), trendOf(&change)
	}
	var err error
	if series.Shares, err = shares(summary, words); err != nil {
		return nil, err
	}
	picture, err := chart.Draw(series)
	if err != nil {
		return nil, fmt.Errorf("draw a portfolio: %w", err)
	}
	return picture, nil
}

// shares returns what a portfolio consists of: the most valuable tokens, and the rest together.
func shares(summary wallet.Summary, words catalogue) (out []chart.Share, _ error) {
	rest := 0
	for _, h := range summary.Holdings {
		part, ok := portfolioShare(h, summary.Total)
		switch {
		case !ok || part == 0:
			continue
		case len(out) == chart.MaxShares-1:
			rest += part
			continue
		}
		key := "summary_picture.token"
		if h.Staked {
			key = "summary_picture.staked"
		}
		label, err := words.text(key, vars{"Token": shortTokenName(h.Token), "Share": percents(part)})
		if err != nil {
			return nil, err
		}
		out = append(out, chart.Share{Label: stdhtml.UnescapeString(string(label)), Part: part})
	}
	if rest > 0 {
		label, err := words.text("summary_picture.rest", vars{"Share": percents(rest)})
		if err != nil {
			return nil, err
		}
		out = append(out, chart.Share{Label: stdhtml.UnescapeString(string(label)), Part: rest})
	}
	return out, nil
}
