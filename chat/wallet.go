package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// wallet answers /wallet and its actions.
func (c *Chat) wallet(ctx context.Context, h inbound) (Action, error) {
	action := ""
	if len(h.line.args) > 0 {
		action = strings.ToLower(h.line.args[0])
	}
	switch action {
	case "", "list":
		return c.walletOverview(ctx, h)
	case "balance":
		return c.walletBalance(ctx, h)
	case "address":
		if len(h.line.args) > 1 {
			return c.walletRequest(ctx, h)
		}
		return c.walletAddress(ctx, h)
	case "history":
		return (*replyTx).history, nil
	case "new":
		return c.begin((*replyTx).makeLink, nil)
	case "use", "disconnect":
		return c.walletChosen(action, h.line.args[1:]), nil
	}
	return reply("wallet.unknown_action", vars{"Action": echo(action)}), nil
}

// walletOverview shows the wallets with what can be done; the balance is left out when the network
// does not answer.
func (c *Chat) walletOverview(ctx context.Context, h inbound) (Action, error) {
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	balance, err := c.Wallets.Balance(ctx, w.Address)
	if err != nil && !labelled(err) {
		return nil, err
	}
	unread := err != nil
	var all []wallet.Wallet
	err = c.Store.View(ctx, func(tx store.Tx) error {
		var err error
		all, err = tx.WalletsOf(h.user.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		rows, err := s.menu("button.balance", "/wallet balance", "button.history", "/wallet history", "button.address", "/wallet address", "button.send", "/send")
		if err != nil {
			return err
		}
		signs, err := s.signs(w.Type)
		if err != nil {
			return err
		}
		others, more, err := s.otherWallets(all, w.Address)
		if err != nil {
			return err
		}
		claimed, stops, err := s.claims(all)
		if err != nil {
			return err
		}
		tokens, _ := tokenLines(balance.Tokens)
		return s.reply("wallet.overview", vars{
			"Address": code(w.Address.String()), "Balance": code(wallet.Lamports(balance.Lamports).String()), "Tokens": tokens,
			"Unread": unread, "Others": others, "Claimed": claimed, "Network": c.network(), "Signs": signs, "Tail": html(w.Address.Tail()),
		}, slices.Concat(stops, rows, more)...)
	}, nil
}

// claims lists the wallets that somebody else has proven since, each with a button to stop that.
func (s *replyTx) claims(all []wallet.Wallet) (html, [][]Button, error) {
	var lines []string
	var rows [][]Button
	for _, w := range all {
		if w.Claim == nil {
			continue
		}
		b, err := s.stopClaim(w.Address, w.Address.Tail())
		if err != nil {
			return "", nil, err
		}
		lines = append(lines, string(code(w.Address.String())))
		rows = append(rows, []Button{b})
	}
	return html(strings.Join(lines, "\n")), rows, nil
}

// signs says what kind of device signs for a wallet.
func (s *replyTx) signs(t wallet.WalletType) (html, error) {
	return s.words.text(map[wallet.WalletType]string{
		wallet.PageWallet: "wallet.signs_page", wallet.ExternalWallet: "wallet.signs_external", wallet.DeveloperWallet: "wallet.signs_developer",
	}[t], nil)
}

// otherWallets lists the wallets that commands do not mean, each with a button to use it instead.
func (s *replyTx) otherWallets(all []wallet.Wallet, but wallet.Address) (html, [][]Button, error) {
	const most = 20 // a message is not endless
	var lines []string
	var rows [][]Button
	for _, w := range all {
		if w.Address == but || len(lines) == most {
			continue
		}
		signs, err := s.signs(w.Type)
		if err != nil {
			return "", nil, err
		}
		lines = append(lines, string(code(w.Address.String()))+"\n"+string(signs))
		label, err := s.words.text("button.use_wallet", vars{"Tail": html(w.Address.Tail())})
		if err != nil {
			return "", nil, err
		}
		b, err := s.button(label, "run:/wallet use "+w.Address.String(), "menu", s.now.Add(menuLife))
		if err != nil {
			return "", nil, err
		}
		rows = append(rows, []Button{b})
	}
	return html(strings.Join(lines, "\n\n")), rows, nil
}

// walletChosen answers /wallet use and /wallet disconnect with an address, or the end of one.
func (c *Chat) walletChosen(action string, args []string) Action {
	return func(s *replyTx) error {
		if len(args) != 1 {
			return s.reply("wallet.which", vars{"Action": action})
		}
		name := strings.TrimLeft(args[0], "….")
		if action == "use" {
			w, err := s.Wallets.Use(s.tx, s.user.ID, name)
			if err != nil {
				return s.refuse(err)
			}
			return s.reply("wallet.used", vars{"Address": code(w.Address.String())})
		}
		w, err := s.Wallets.Find(s.tx, s.user.ID, name)
		if err != nil {
			return s.refuse(err)
		}
		label, err := s.words.text("button.disconnect", nil)
		if err != nil {
			return err
		}
		yes, err := s.button(label, "disconnect:"+w.Address.String(), "disconnect:"+w.Address.String(), s.now.Add(Silence))
		if err != nil {
			return err
		}
		no, err := s.keep("disconnect:" + w.Address.String())
		if err != nil {
			return err
		}
		return s.reply("wallet.disconnect_ask", vars{"Address": code(w.Address.String())}, []Button{no, yes})
	}
}

// walletBalance says what the default wallet holds.
func (c *Chat) walletBalance(ctx context.Context, h inbound) (Action, error) {
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
	v := vars{
		"Balance": code(wallet.Lamports(balance.Lamports).String()), "Tail": code("…" + w.Address.Tail()),
		"Reserved": html(""), "Free": html(""), "Network": c.network(),
	}
	v["Tokens"], v["Others"] = tokenLines(balance.Tokens)
	if balance.Reserved > 0 {
		v["Reserved"] = code(wallet.Lamports(balance.Reserved).String())
		v["Free"] = code(wallet.Lamports(balance.Lamports - balance.Reserved).String())
	}
	return reply("wallet.balance", v), nil
}

// tokenLines are the tokens of a balance: listed ones by symbol, others by mint.
func tokenLines(tokens []handlers.TokenBalance) (listed, others html) {
	const most = 30 // a message is not endless, and strangers can fill it
	var named, unnamed []string
	for _, t := range tokens {
		line := string(code(t.Token.Amount(t.Units).String()))
		switch {
		case t.Token.Symbol != "":
			line += " " + escape(t.Token.Symbol)
			if t.Frozen {
				line += " (frozen by its issuer)"
			}
			if t.Reserved > 0 {
				line += ", of it reserved: " + string(code(t.Token.Amount(t.Reserved).String()))
			}
			named = append(named, line)
		case len(unnamed) < most:
			unnamed = append(unnamed, line+" of "+string(code(t.Token.Mint.String())))
		}
	}
	if more := len(tokens) - len(named) - len(unnamed); more > 0 {
		unnamed = append(unnamed, fmt.Sprintf("… and %d more", more))
	}
	return html(strings.Join(named, "\n")), html(strings.Join(unnamed, "\n"))
}

// walletAddress shows the default wallet's address in full, and as a picture for another's camera.
func (c *Chat) walletAddress(ctx context.Context, h inbound) (Action, error) {
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	picture, err := qrPicture(w.Address.String())
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		caption, err := s.words.text("wallet.address", vars{"Address": code(w.Address.String()), "Network": c.network()})
		if err != nil {
			return err
		}
		label, err := s.words.text("button.copy_address", nil)
		if err != nil {
			return err
		}
		balance, err := s.menu("button.balance", "/wallet balance")
		if err != nil {
			return err
		}
		return s.enqueue(Reply{Kind: Photo, Text: string(caption), PNG: picture,
			Buttons: append([][]Button{{{Text: plain(label), Copy: w.Address.String()}}}, balance...)}, "")
	}, nil
}

// walletRequest makes a link by which anybody can pay a sum: its payment is known by its reference.
func (c *Chat) walletRequest(ctx context.Context, h inbound) (Action, error) {
	p, err := readParts(h.line.args[1:], book{})
	if err == nil && (p.Amount == "" || p.To != "") {
		err = wallet.Refuse(wallet.InvalidRequest, "say how much you want to be paid, for example /wallet address 1.5 USDC")
	}
	if err != nil {
		return refuse(err)
	}
	if _, err := c.Wallets.Default(ctx, h.user.ID); err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	r, err := c.Transfers.PrepareRequest(ctx, h.caller(), handlers.RequestFor{Amount: p.Amount, Token: p.Token, Memo: p.Memo})
	if err != nil {
		return refuse(err)
	}
	picture, err := qrPicture(r.URL)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		if err := s.Transfers.CommitRequest(s.tx, r); err != nil {
			return s.refuse(err)
		}
		caption, err := s.words.text("wallet.request", vars{"Sum": r.Transaction.Money().String(), "Token": tokenText(r.Transaction.Token),
			"URL": code(r.URL), "Network": c.network(), "Memo": html(escape(r.Transaction.Memo))})
		if err != nil {
			return err
		}
		label, err := s.words.text("button.copy_link", nil)
		if err != nil {
			return err
		}
		return s.enqueue(Reply{Kind: Photo, Text: string(caption), PNG: picture, Buttons: [][]Button{{{Text: plain(label), Copy: r.URL}}}}, "")
	}, nil
}
