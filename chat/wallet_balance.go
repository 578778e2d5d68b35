package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// walletBalance shows what the default wallet holds, and how much of its SOL confirmed payments have reserved.
func (c *Chat) walletBalance(ctx context.Context, h Inbound) (Action, error) {
	return c.balanceIn(ctx, h, nil)
}

// walletBalanceOf is walletBalance for one token: a symbol, or the mint address of an unlisted token.
func (c *Chat) walletBalanceOf(ctx context.Context, h Inbound, word string) (Action, error) {
	ref, question, err := c.whichToken(ctx, h, word, func(mint string) string { return "/wallet balance " + mint })
	switch {
	case err != nil:
		return refuse(err)
	case question != nil:
		return question, nil
	}
	return c.balanceIn(ctx, h, &ref)
}

// balanceIn shows the balance of the default wallet: all of it if only is nil, or else of the token that only names. The
// balance is read from a Solana node before the transaction and costs one of the person's lookups. The action explains a
// missing wallet (WALLET_NOT_FOUND) or a node that does not answer (NETWORK_ERROR). A returned error is a *tooOften or a
// failure of ours.
func (c *Chat) balanceIn(ctx context.Context, h Inbound, only *wallet.TokenRef) (Action, error) {
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	balance, err := c.Wallets.Balance(ctx, w.Address)
	if err != nil {
		return refuse(err)
	}
	// SOL is part of the account itself, any other token is in a token account: they have separate messages.
	if only != nil && !only.Native() {
		return c.balanceOfToken(balance, *only), nil
	}
	if only != nil {
		balance.Tokens = nil
	}
	v := vars{
		"Balance": code(wallet.Lamports(balance.Lamports).String()), "Tail": code("…" + w.Address.Tail()),
		"Reserved": html(""), "Free": html(""), "Network": c.network(),
	}

	// Reserved is at most Lamports (handlers.Balance), so the difference cannot underflow.
	if balance.Reserved > 0 {
		v["Reserved"] = code(wallet.Lamports(balance.Reserved).String())
		v["Free"] = code(wallet.Lamports(balance.Lamports - balance.Reserved).String())
	}
	total := wallet.Worth{Unknown: true} // of one thing it is the same as its worth
	if only == nil && len(balance.Tokens) > 0 {
		total = balance.Total
	}
	return func(s *replyTx) (err error) {
		if v["USD"], err = s.value(balance.Worth); err != nil {
			return err
		}
		if v["Total"], err = s.value(total); err != nil {
			return err
		}
		if v["Tokens"], v["Others"], err = s.tokenLines(balance.Tokens); err != nil {
			return err
		}
		return s.reply("wallet.balance", v)
	}, nil
}

// balanceOfToken shows how much a wallet holds of one token, which may be nothing. A mint is compared exactly, a symbol
// without case; only listed tokens have a symbol.
func (c *Chat) balanceOfToken(balance handlers.Balance, only wallet.TokenRef) Action {
	held := slices.DeleteFunc(slices.Clone(balance.Tokens), func(t handlers.TokenBalance) bool {
		if !only.Mint.IsZero() {
			return t.Token.Mint != only.Mint
		}
		return !strings.EqualFold(t.Token.Symbol, only.Symbol)
	})
	return func(s *replyTx) error {
		v := vars{"Tail": code("…" + balance.Address.Tail()), "Network": s.network(), "Token": strings.ToUpper(only.Symbol), "Mint": html("")}
		if !only.Mint.IsZero() {
			v["Mint"] = code(only.Mint.String())
		}
		// One of the two is empty: the token is either listed or not.
		listed, others, err := s.tokenLines(held)
		if err != nil {
			return err
		}
		v["Held"] = listed + others
		return s.reply("wallet.balance_of", v)
	}
}

// tokenLines lists the tokens of a balance: listed tokens by symbol, others by mint address, since anybody can give a token
// any symbol.
func (s *replyTx) tokenLines(tokens []handlers.TokenBalance) (listed, others html, _ error) {
	const most = 30 // a message has limits, and strangers can send any number of tokens
	var named, unnamed []string
	for _, t := range tokens {
		if t.Token.Symbol == "" && len(unnamed) == most {
			continue
		}
		v := vars{"Amount": code(t.Token.Amount(t.Units).String()), "Symbol": t.Token.Symbol, "Mint": code(t.Token.Mint.String()), "Frozen": t.Frozen, "Reserved": html("")}
		var err error
		if v["USD"], err = s.value(t.Worth); err != nil {
			return "", "", err
		}
		if t.Reserved > 0 {
			v["Reserved"] = code(t.Token.Amount(t.Reserved).String())
		}
		line, err := s.words.text("wallet.token", v)
		if err != nil {
			return "", "", err
		}
		if t.Token.Symbol != "" {
			named = append(named, string(line))
		} else {
			unnamed = append(unnamed, string(line))
		}
	}
	// Say how many tokens the message leaves out.
	if more := len(tokens) - len(named) - len(unnamed); more > 0 {
		line, err := s.words.text("wallet.more_tokens", vars{"Count": more})
		if err != nil {
			return "", "", err
		}
		unnamed = append(unnamed, string(line))
	}
	return html(strings.Join(named, "\n")), html(strings.Join(unnamed, "\n")), nil
}
