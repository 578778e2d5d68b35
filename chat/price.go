package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// Prices tells what tokens cost. handlers.Prices implements it.
type Prices interface {
	// Price returns what one token costs. It may ask a source and wait for it. Errors: TOKEN_NOT_FOUND, NETWORK_ERROR.
	Price(ctx context.Context, token wallet.TokenRef) (handlers.PriceView, error)
	// Portfolio returns the prices of SOL and of the listed tokens that the person's wallets hold, SOL first.
	Portfolio(ctx context.Context, who handlers.Caller) ([]handlers.PriceView, error)
	// Pools returns where a token is traded. Errors: TOKEN_NOT_FOUND, NETWORK_ERROR.
	Pools(ctx context.Context, token wallet.TokenRef) (handlers.TokenPools, error)
	// Chart returns what a token cost during the last span, oldest first, at most 300 points.
	Chart(ctx context.Context, token wallet.Token, span time.Duration) ([]wallet.PricePoint, error)
}

// priceDigits is how many significant digits of a price are shown.
const priceDigits = 6

// maxPriced and maxPriceButtons bound the list of /price.
const (
	maxPriced        = 20
	maxPriceButtons  = 8
	priceButtonsARow = 4
)

// priceCommand is /price: what tokens cost, and pictures of how their prices moved (price_chart.go).
func priceCommand() conversation {
	return conversation{
		name: "price",
		commands: []command{{name: "price", menu: "menu.price", usage: "usage.price", looks: true, run: (*Chat).price, whileFrozen: always, app: (*Chat).priceForApp,
			appNeeds: priceNeeds, aliases: map[string]string{"prices": "", "chart": ""}}},
		callbacks: map[string]Callback{"chart": (*Chat).tapChart}, callbacksWhileFrozen: []string{"chart"},
	}
}

// price answers /price with a list, and with a token with its chart. The token may be followed by the span of the chart.
func (c *Chat) price(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	if len(args) == 0 {
		return c.priceList(ctx, h)
	}
	span, more := spans()[defaultSpan], args[1:]
	if len(more) > 0 {
		if asked, ok := spanOf(more[0]); ok {
			span, more = asked, more[1:]
		}
	}
	next, err := c.priceChart(ctx, h, args[0], span)
	return afterNote(more, "/price "+echo(args[0]), next), err
}

// priceForApp is /price run by an app: the same texts without pictures and buttons.
func (c *Chat) priceForApp(ctx context.Context, h Inbound) (Action, error) {
	switch args := h.line.args; len(args) {
	case 0:
		return c.priceList(ctx, h)
	case 1:
		return c.priceChart(ctx, h, args[0], spans()[defaultSpan])
	}
	return nil, wallet.About("command", wallet.Refuse(wallet.InvalidRequest, "app_command.price"))
}

// priceNeeds returns the scope that /price needs when an app runs it. The list shows what the person holds.
func priceNeeds(args []string) wallet.Scope {
	if len(args) == 0 {
		return wallet.WalletRead
	}
	return ""
}

// priceList shows the prices of SOL and of what the person holds. It asks nobody outside.
func (c *Chat) priceList(ctx context.Context, h Inbound) (Action, error) {
	views, err := c.Prices.Portfolio(ctx, h.caller())
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		var lines []string
		var known []handlers.PriceView
		for i, view := range views[:min(len(views), maxPriced)] {
			line, err := s.priceLine(view)
			if err != nil {
				return err
			}
			lines = append(lines, string(line))
			if view.Known() && i < maxPriceButtons {
				known = append(known, view)
			}
		}
		if len(known) == 0 {
			return s.reply("price.none_at_all", nil)
		}
		rows, err := s.chartButtons(known)
		if err != nil {
			return err
		}
		source, err := s.sourcesOf(known)
		if err != nil {
			return err
		}
		return s.reply("price.list", vars{"Lines": html(strings.Join(lines, "\n")), "Source": source}, rows...)
	}, nil
}

// priceLine is one line of the list.
func (s *replyTx) priceLine(view handlers.PriceView) (html, error) {
	v := vars{"Token": shortTokenName(view.Token), "Price": "", "Change": html(""), "Age": html(""), "Other": "", "OtherPrice": ""}
	if view.Known() {
		if err := s.dispute(view, v); err != nil {
			return "", err
		}
		v["Price"] = view.Price.Price.Rounded(priceDigits).String()
		var err error
		if v["Change"], err = s.change(view.Price.Change24h); err != nil {
			return "", err
		}
		if view.Stale {
			if v["Age"], err = s.age(view.Price.At); err != nil {
				return "", err
			}
		}
	}
	return s.words.text("price.line", v)
}

// dispute sets which other source says another price; "" if none does.
func (s *replyTx) dispute(view handlers.PriceView, v vars) (err error) {
	v["Other"], v["OtherPrice"] = "", ""
	if other := view.Price.Disagrees; other != nil {
		v["OtherPrice"] = other.Price.Rounded(priceDigits).String()
		v["Other"], err = s.sourceName(other.Source)
	}
	return err
}

// chartButtons returns a button for each token that shows its chart; none for an app.
func (s *replyTx) chartButtons(views []handlers.PriceView) (rows [][]Button, _ error) {
	if s.inbound.app != nil {
		return nil, nil
	}
	for part := range slices.Chunk(views, priceButtonsARow) {
		var row []Button
		for _, view := range part {
			label, err := s.words.text("price_button.token", vars{"Token": shortTokenName(view.Token)})
			if err != nil {
				return nil, err
			}
			b, err := s.button(label, "run:/price "+view.Token.Ref().String(), "menu", s.now.Add(menuLife))
			if err != nil {
				return nil, err
			}
			row = append(row, b)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// change words how a price moved; "" if it is not known.
func (s *replyTx) change(change *wallet.Change) (html, error) {
	if change == nil {
		return "", nil
	}
	return s.words.text("price.change", vars{"Up": *change > 0, "Down": *change < 0, "Percent": change.Percent()})
}

// age says how long ago something was.
func (s *replyTx) age(at time.Time) (html, error) {
	ago := max(s.now.Sub(at), 0)
	for _, unit := range []struct {
		text string
		long time.Duration
	}{{"price_ago.days", 24 * time.Hour}, {"price_ago.hours", time.Hour}, {"price_ago.minutes", time.Minute}} {
		if n := int(ago / unit.long); n > 0 {
			return s.words.text(unit.text, vars{"Count": n})
		}
	}
	n := int(ago / time.Second)
	return s.words.text("price_ago.seconds", vars{"Count": n})
}

// sourceName returns the name of a source of prices. One that this list does not have is named as the settings name it.
func (s *replyTx) sourceName(source string) (html, error) {
	key, known := map[string]string{"jupiter": "price_source.jupiter", "coingecko": "price_source.coingecko", "pyth": "price_source.pyth",
		"geckoterminal": "price_source.geckoterminal"}[source]
	if !known {
		return html(escape(echo(source))), nil
	}
	return s.words.text(key, nil)
}

// sourcesOf lists the sources of prices, each once.
func (s *replyTx) sourcesOf(views []handlers.PriceView) (html, error) {
	var names []string
	for _, view := range views {
		name, err := s.sourceName(view.Price.Source)
		if err != nil {
			return "", err
		}
		if !slices.Contains(names, string(name)) {
			names = append(names, string(name))
		}
	}
	return html(strings.Join(names, ", ")), nil
}
