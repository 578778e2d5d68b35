package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// maxMatches is how many tokens a person chooses from.
const maxMatches = 5

// tokenChoice is what a symbol outside the list may mean.
type tokenChoice struct {
	word  string
	known bool // the tokens have this symbol; otherwise they only come close
	found []wallet.TokenMatch
}

// resolve returns the token that a word means. A mint, and a symbol of the list, mean themselves. Any other symbol is searched for:
// if one trusted token alone has it, it is that; otherwise choice holds what the person chooses from. A search waits for a source and
// costs one of the person's lookups. Errors: TOKEN_NOT_FOUND; INVALID_REQUEST for what names no token; NETWORK_ERROR or RATE_LIMIT_EXCEEDED if nobody could be
// asked; a *tooOften.
func (c *Chat) resolve(ctx context.Context, h Inbound, word string) (ref wallet.TokenRef, choice tokenChoice, err error) {
	word = strings.TrimPrefix(word, "$")
	if ref, err = wallet.ParseTokenRef(word); err != nil || !ref.Mint.IsZero() || c.Transfers.Lists(ref.Symbol) {
		return ref, choice, err
	}
	if err := c.mayAsk(h); err != nil {
		return ref, choice, err
	}
	found, complete, err := c.TokenSearch.Find(ctx, h.caller(), word)
	switch {
	case err != nil:
		return ref, choice, err
	case len(found) == 0 && !complete:
		return ref, choice, wallet.About(wallet.FieldToken, wallet.Refuse(wallet.NetworkError, "token.search_unavailable"))
	case len(found) == 0:
		_, err := c.Transfers.Token(ctx, ref) // the refusal of a symbol that is on no list
		return ref, choice, err
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(m wallet.TokenMatch) bool { return !strings.EqualFold(m.Symbol, word) })
	trusted := slices.DeleteFunc(slices.Clone(exact), func(m wallet.TokenMatch) bool { return !m.Trusted() })
	if len(trusted) == 1 && !trusted[0].Mint.IsZero() {
		return wallet.TokenRef{Mint: trusted[0].Mint}, choice, nil
	}
	if len(exact) > 0 {
		found = exact
	}
	return ref, tokenChoice{word, len(exact) > 0, found[:min(len(found), maxMatches)]}, nil
}

// whichToken is resolve for commands. If there is a choice, question asks with buttons that run command with a mint. For an app
// there is no question, and what is not certain is not found.
func (c *Chat) whichToken(ctx context.Context, h Inbound, word string, command func(mint string) string) (ref wallet.TokenRef, question Action, err error) {
	ref, choice, err := c.resolve(ctx, h, word)
	if err != nil || len(choice.found) == 0 {
		return ref, nil, err
	}
	if h.app != nil {
		_, err = c.Transfers.Token(ctx, ref)
		return ref, nil, err
	}
	return ref, func(s *replyTx) error {
		v, rows, err := s.choices(choice, func(label html, mint string) (Button, error) {
			return s.button(label, "run:"+command(mint), "menu", s.now.Add(menuLife))
		})
		if err != nil {
			return err
		}
		return s.reply("which_token.text", v, rows...)
	}, nil
}

// restated returns the command with a word replaced by a mint. It skips a first occurrence that is an amount ("404 404 SOL").
func restated(command string, args []string, word string) func(mint string) string {
	return func(mint string) string {
		words := slices.Clone(args)
		reads := func(w string) bool {
			return strings.EqualFold(strings.TrimPrefix(w, "$"), strings.TrimPrefix(word, "$"))
		}
		if i := slices.IndexFunc(words, reads); i >= 0 {
			if later := slices.IndexFunc(words[i+1:], reads); later >= 0 && isQuantity(words[i]) {
				i += 1 + later
			}
			words[i] = mint
		}
		return strings.Join(append([]string{command}, words...), " ")
	}
}

// isQuantity reports whether a word is an amount or max.
func isQuantity(word string) bool {
	_, err := wallet.ParseQuantity(strings.ToLower(word))
	return err == nil
}

// choices lists tokens, and a button for each.
func (s *replyTx) choices(choice tokenChoice, button func(label html, mint string) (Button, error)) (v vars, rows [][]Button, err error) {
	var lines []string
	for i, m := range choice.found {
		ref := wallet.TokenRef{Mint: m.Mint}
		if m.Mint.IsZero() {
			ref = wallet.SOL.Ref()
		}
		ends := shortTokenName(wallet.Token{Mint: m.Mint})
		v := vars{"N": i + 1, "Trusted": m.Trusted(), "Suspect": m.Suspect, "Symbol": code(m.Symbol), "Name": html(escape(m.Name)), "Mint": code(ref.String()), "Holders": "", "Liquidity": ""}
		if m.Holders > 0 {
			if v["Holders"], err = s.grouped(strconv.FormatUint(m.Holders, 10)); err != nil {
				return nil, nil, err
			}
		}
		if v["Liquidity"], err = s.roundDollars(m.Liquidity); err != nil {
			return nil, nil, err
		}
		line, err := s.words.text("which_token.line", v)
		if err != nil {
			return nil, nil, err
		}
		label, err := s.words.text("which_token.button", vars{"N": i + 1, "Mint": ends})
		if err != nil {
			return nil, nil, err
		}
		b, err := button(label, ref.String())
		if err != nil {
			return nil, nil, err
		}
		lines, rows = append(lines, string(line)), append(rows, []Button{b})
	}
	return vars{"Word": html(escape(echo(choice.word))), "Known": choice.known, "Lines": html(strings.Join(lines, "\n\n"))}, rows, nil
}

// roundDollars returns a value for people to compare: from 1,000 dollars on without cents, in groups of three digits; "" if it is not known.
func (s *replyTx) roundDollars(w wallet.Worth) (string, error) {
	if w.Unknown {
		return "", nil
	}
	whole, _, _ := strings.Cut(w.Cents(), ".")
	if len(whole) < 4 {
		return w.Cents(), nil
	}
	return s.grouped(whole)
}

// grouped writes digits in groups of three.
func (s *replyTx) grouped(whole string) (string, error) {
	separator, err := s.words.text("number.thousands", nil)
	if err != nil {
		return "", err
	}
	grouped := whole[:(len(whole)-1)%3+1]
	for rest := whole[len(grouped):]; rest != ""; rest = rest[3:] {
		grouped += string(separator) + rest[:3]
	}
	return grouped, nil
}

// shortTokenName returns a token's symbol, or both ends of the mint of a token outside the list, whose name anybody can choose.
func shortTokenName(token wallet.Token) string {
	if token.Symbol != "" {
		return token.Symbol
	}
	return token.Mint.String()[:4] + "…" + token.Mint.Tail()
}
