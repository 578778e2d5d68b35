package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// mostMatches is how many tokens a person chooses from.
const mostMatches = 5

// whichToken returns the token that a word means. A mint, and a symbol of the list, mean themselves. Any other symbol is searched for: if one
// trusted token alone has it, it is that; otherwise question asks which one is meant, with buttons that run command with a
// mint. It may ask a source and wait for it. For an app there is no question. Errors: TOKEN_NOT_FOUND.
func (c *Chat) whichToken(ctx context.Context, h Inbound, word string, command func(mint string) string) (ref wallet.TokenRef, question Action, err error) {
	word = strings.TrimPrefix(word, "$")
	if ref, err = wallet.ParseTokenRef(word); err != nil {
		return ref, nil, err
	}
	if !ref.Mint.IsZero() || c.Transfers.Lists(ref.Symbol) {
		return ref, nil, nil
	}
	_, unknown := c.Transfers.Token(ctx, ref) // the refusal of a symbol that is on no list
	found, _, err := c.TokenSearch.Find(ctx, word)
	if err != nil || len(found) == 0 {
		return ref, nil, unknown
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(m wallet.TokenMatch) bool { return !strings.EqualFold(m.Symbol, word) })
	trusted := slices.DeleteFunc(slices.Clone(exact), func(m wallet.TokenMatch) bool { return !m.Trusted() })
	switch {
	case len(trusted) == 1 && !trusted[0].Mint.IsZero():
		return wallet.TokenRef{Mint: trusted[0].Mint}, nil, nil
	case h.app != nil:
		return ref, nil, unknown
	case len(exact) > 0:
		found = exact
	}
	return ref, func(s *replyTx) error {
		return s.askWhich(word, len(exact) > 0, found[:min(len(found), mostMatches)], command)
	}, nil
}

// askWhich lists tokens with a button for each. known says that they have the symbol that was asked for.
func (s *replyTx) askWhich(word string, known bool, found []wallet.TokenMatch, command func(mint string) string) error {
	var lines []string
	var rows [][]Button
	for i, m := range found {
		ref := wallet.TokenRef{Mint: m.Mint}
		if m.Mint.IsZero() {
			ref = wallet.SOL.Ref()
		}
		ends := priceName(wallet.Token{Mint: m.Mint})
		v := vars{"N": i + 1, "Trusted": m.Trusted(), "Suspect": m.Suspect, "Symbol": code(m.Symbol), "Name": html(escape(m.Name)), "Mint": code(ref.String()), "Holders": "", "Liquidity": ""}
		if m.Holders > 0 {
			v["Holders"] = strconv.FormatUint(m.Holders, 10)
		}
		if !m.Liquidity.Unknown {
			v["Liquidity"] = m.Liquidity.Cents()
		}
		line, err := s.words.text("which_token.line", v)
		if err != nil {
			return err
		}
		label, err := s.words.text("which_token.button", vars{"N": i + 1, "Mint": ends})
		if err != nil {
			return err
		}
		b, err := s.button(label, "run:"+command(ref.String()), "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		lines, rows = append(lines, string(line)), append(rows, []Button{b})
	}
	return s.reply("which_token.text", vars{"Word": html(escape(echo(word))), "Known": known, "Lines": html(strings.Join(lines, "\n\n"))}, rows...)
}
