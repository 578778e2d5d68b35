package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// What one message shows.
const (
	maxPools        = 8
	poolButtonsARow = 2
)

// poolsCommand is /pools: where a token is traded.
func poolsCommand() conversation {
	return conversation{
		name: "pools",
		commands: []command{{name: "pools", menu: "menu.pools", usage: "usage.pools", looks: true, run: (*Chat).pools, whileFrozen: always, app: (*Chat).poolsForApp,
			aliases: map[string]string{"pool": "", "liquidity": ""}}},
	}
}

// pools answers /pools with the pools of a token, the deepest first.
func (c *Chat) pools(ctx context.Context, h Inbound) (Action, error) {
	if len(h.line.args) == 0 {
		return func(s *replyTx) error { return s.replyUsage("pools") }, nil
	}
	ref, question, err := c.whichToken(ctx, h, h.line.args[0], func(mint string) string { return "/pools " + mint })
	switch {
	case err != nil:
		return refuse(err)
	case question != nil:
		return question, nil
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	found, err := c.Prices.Pools(ctx, ref)
	if err != nil {
		return refuse(err)
	}
	return afterNote(h.line.args[1:], "/pools "+echo(h.line.args[0]), func(s *replyTx) error { return s.showPools(found) }), nil
}

// poolsForApp is /pools run by an app.
func (c *Chat) poolsForApp(ctx context.Context, h Inbound) (Action, error) {
	if len(h.line.args) != 1 {
		return nil, wallet.About("command", wallet.Refuse(wallet.InvalidRequest, "app_command.pools"))
	}
	return c.pools(ctx, h)
}

// showPools lists pools. All of it is the source's word.
func (s *replyTx) showPools(p handlers.TokenPools) error {
	v := vars{"Token": shortTokenName(p.Token), "Mint": html(""), "Lines": html(""), "Source": html(""), "More": left(len(p.Pools) - maxPools)}
	if p.Token.Symbol == "" {
		v["Mint"] = code(p.Token.Mint.String())
	}
	var err error
	if p.Source != "" {
		if v["Source"], err = s.sourceName(p.Source); err != nil {
			return err
		}
	}
	var lines []string
	var buttons []Button
	for i, pool := range p.Pools[:min(len(p.Pools), maxPools)] {
		line := vars{"N": i + 1, "DEX": html(escape(wallet.CleanTokenText(pool.DEX))), "With": shortTokenName(pool.With), "Price": "", "Liquidity": "", "Volume": "", "Since": ""}
		if pool.With.Native() || pool.With.Mint == wallet.WrappedSOL {
			line["With"] = wallet.SOL.Symbol
		}
		if pool.Price.Known() {
			line["Price"] = pool.Price.Rounded(priceDigits).String()
		}
		if line["Liquidity"], err = s.roundDollars(pool.Liquidity); err != nil {
			return err
		}
		if line["Volume"], err = s.roundDollars(pool.Volume24h); err != nil {
			return err
		}
		if !pool.CreatedAt.IsZero() {
			line["Since"] = pool.CreatedAt.UTC().Format("2006-01-02")
		}
		text, err := s.words.text("pools.line", line)
		if err != nil {
			return err
		}
		lines = append(lines, string(text))
		if pool.URL == "" {
			continue
		}
		label, err := s.words.text("pools.button", line)
		if err != nil {
			return err
		}
		buttons = append(buttons, Button{Text: plain(label), URL: pool.URL})
	}
	v["Lines"] = html(strings.Join(lines, "\n\n"))
	return s.reply("pools.list", v, slices.Collect(slices.Chunk(buttons, poolButtonsARow))...)
}
