package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// walletFlow is the name of the conversation of /wallet new.
const walletFlow = "wallet"

// States and triggers of /wallet new.
const (
	linkOpen State = "link open"
	choosing State = "choosing"

	linked Trigger = "link sent"
	proven Trigger = "address proven"
	chosen Trigger = "choice made"
)

// linking is the data of the /wallet new conversation.
type linking struct {
	Bind string `json:"bind,omitempty"` // wallet.Bind.Nonce of the attempt
}

// walletConversation is /wallet: it shows the person's wallets and connects new ones.
//
// Only /wallet new is a conversation. Its attempt to connect is a stored wallet.Bind of its own, which outlives the
// conversation: the person may do something else while the signing page is open. Whether a step is still valid is therefore
// decided by the Bind, and the conversation only follows (wallet_link.go).
func walletConversation() conversation {
	return conversation{
		name: walletFlow,
		commands: []command{{name: "wallet", menu: "menu.wallet", usage: "usage.wallet", looks: true, run: (*Chat).wallet, app: (*Chat).walletForApp,
			appNeeds: walletNeeds, aliases: walletAliases(), whileFrozen: walletReads}},
		flow: Flow{
			idle: {
				linked: {linkOpen, (*replyTx).sendLink},
			},
			linkOpen: {
				proven:    {choosing, nil},
				cancelled: {idle, (*replyTx).closeLink},
				movedOn:   {idle, nil}, // the link stays valid: the question comes once it is used
				timedOut:  {idle, (*replyTx).linkRanOut},
			},
			choosing: {
				chosen:    {idle, nil},
				cancelled: {idle, (*replyTx).closeLink},
				movedOn:   {idle, nil},
				timedOut:  {idle, (*replyTx).linkRanOut},
			},
		},
		version: 1, data: func() any { return new(linking) },
		callbacks: map[string]Callback{
			"choose":     (*Chat).tapChoose,
			"none":       (*Chat).tapNone,
			"disconnect": (*Chat).tapDisconnect,
			"takeover":   (*Chat).tapTakeOver,
			"stopclaim":  (*Chat).tapStopClaim,
			"past":       (*Chat).tapOlder,
			"pastall":    (*Chat).tapOlderOfAll,
			exportAction: (*Chat).tapExport,
		},
		callbacksWhileFrozen: []string{"past", "pastall", "stopclaim"},
		events: map[wallet.EventName]notice{
			wallet.WalletProven:       {priority: confirmations, notify: (*replyTx).notifyProven},
			wallet.WalletWanted:       {priority: confirmations, notify: withData((*replyTx).notifyWanted)},
			wallet.WalletClaimed:      {priority: confirmations, notify: withData((*replyTx).notifyClaimed)},
			wallet.WalletDisconnected: {priority: confirmations, notify: withData((*replyTx).notifyDisconnected)},
			wallet.DefaultChanged:     {priority: confirmations, notify: withData((*replyTx).notifyDefault)},
		},
		cancelIdle: (*replyTx).cancelOfferedLink,
		usedButton: (*replyTx).usedExport,
		refusals: map[wallet.Code]func(*replyTx, html, html) (bool, error){
			wallet.WalletNotFound:    (*replyTx).offerFirstWallet,
			wallet.InsufficientFunds: (*replyTx).offerAddress,
		},
	}
}

// walletReads reports whether /wallet with these arguments only reads, so that it works while the account is frozen. A
// request for a payment is stored, so it does not.
func walletReads(args []string) bool {
	if len(args) == 0 {
		return true
	}
	switch strings.ToLower(args[0]) {
	case "new", "use", "disconnect", exportWord:
		return false
	case "address":
		return len(args) == 1
	}
	return true
}

// walletAliases maps the commands of other wallets to actions of /wallet, so that people who come from them are understood.
func walletAliases() map[string]string {
	return map[string]string{
		"balance": "balance", "bal": "balance", "funds": "balance", "portfolio": "balance", "tokens": "balance",
		"history": "history", "transactions": "history", "txs": "history", "activity": "history", "payments": "history",
		"address": "address", "receive": "address", "deposit": "address", "qr": "address", "request": "address",
		"wallets": "list", "accounts": "list", "account": "",
		"new": "new", "create": "new", "connect": "new", "import": "new", "link": "new",
		"disconnect": "disconnect", "use": "use",
	}
}

// offerFirstWallet answers a person without a wallet with a button that creates one.
func (s *replyTx) offerFirstWallet(_, _ html) (bool, error) {
	if !s.user.DefaultWallet.IsZero() {
		return false, nil
	}
	rows, err := s.menu("button.create_wallet", "/wallet new")
	if err != nil {
		return false, err
	}
	return true, s.reply("wallet.none", nil, rows...)
}

// offerAddress answers a person with too little money with a button that shows their address.
func (s *replyTx) offerAddress(headline, reason html) (bool, error) {
	rows, err := s.menu("button.address", "/wallet address")
	if err != nil {
		return false, err
	}
	return true, s.reply("refusal.said", vars{"Headline": headline, "Reason": reason}, rows...)
}

// walletActions are the actions of /wallet.
func walletActions() []string {
	return []string{"list", "balance", "address", "history", exportWord, "new", "use", "disconnect"}
}

// wallet answers /wallet and its actions. The first word is the action, in any case. Words that an action does not take are
// answered with a note and otherwise ignored. Keep walletForApp in step with it.
func (c *Chat) wallet(ctx context.Context, h Inbound) (Action, error) {
	action := ""
	if len(h.line.args) > 0 {
		action = strings.ToLower(h.line.args[0])
	}
	var more []string // the words after the action
	if len(h.line.args) > 0 {
		more = h.line.args[1:]
	}
	// Actions that take more words come first.
	switch {
	case action == "address" && len(more) > 0:
		return c.walletRequest(ctx, h)
	case action == "balance" && len(more) == 1:
		return c.walletBalanceOf(ctx, h, more[0])
	case action == "history" && len(more) == 1 && strings.EqualFold(more[0], allHistory):
		return c.wholeHistory(ctx, h)
	case action == exportWord:
		return c.walletExport(ctx, h, more)
	case action == "use", action == "disconnect":
		return c.walletChosen(action, more), nil
	case len(h.line.args) == 1 && c.Transfers.Lists(action):
		return c.walletBalanceOf(ctx, h, action) // "/wallet usdc"
	case len(more) > 0 && slices.Contains(walletActions(), action):
		h.line.args = h.line.args[:1]
		next, err := c.wallet(ctx, h)
		return afterNote(more, "/wallet "+action, next), err
	}
	// What is left takes no more words.
	switch action {
	case "", "list":
		return c.walletOverview(ctx, h)
	case "balance":
		return c.walletBalance(ctx, h)
	case "address":
		return c.walletAddress(ctx, h)
	case "history":
		return c.history(ctx, h)
	case "new":
		return c.begin((*replyTx).makeLink, nil)
	}
	return reply("wallet.unknown_action", vars{"Action": echo(action)}), nil
}

// walletOverview shows the person's wallets and what they can do with them. If the network does not answer, the overview
// comes without a balance.
func (c *Chat) walletOverview(ctx context.Context, h Inbound) (Action, error) {
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
	// A refusal here means that the network did not answer; the overview works without it.
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
	// Everything slow is done. The action only renders.
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
		tokens, _, err := s.tokenLines(balance.Tokens)
		if err != nil {
			return err
		}
		return s.reply("wallet.overview", vars{
			"Address": code(w.Address.String()), "Balance": code(wallet.Lamports(balance.Lamports).String()), "Tokens": tokens,
			"Unread": unread, "Others": others, "Claimed": claimed, "Network": c.network(), "Signs": signs, "Tail": html(w.Address.Tail()),
		}, slices.Concat(stops, rows, more)...)
	}, nil
}

// claims lists the person's wallets that another account has proven as well, each with a button to keep it. If the person does
// nothing for handlers.ClaimWindow, the other account can take the address over (wallet_claim.go).
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

// signs says what signs for a wallet: the signing page, an external wallet, or a developer's program.
func (s *replyTx) signs(t wallet.WalletType) (html, error) {
	return s.words.text(map[wallet.WalletType]string{
		wallet.PageWallet: "wallet.signs_page", wallet.ExternalWallet: "wallet.signs_external", wallet.DeveloperWallet: "wallet.signs_developer",
	}[t], nil)
}

// otherWallets lists the wallets other than the default, each with a button that makes it the default.
func (s *replyTx) otherWallets(all []wallet.Wallet, but wallet.Address) (html, [][]Button, error) {
	const most = 20 // Telegram limits a message to 4096 characters
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
		row, err := s.useWallet(w.Address)
		if err != nil {
			return "", nil, err
		}
		rows = append(rows, row)
	}
	return html(strings.Join(lines, "\n\n")), rows, nil
}

// useWallet returns a row with a button that makes a wallet the default.
func (s *replyTx) useWallet(address wallet.Address) ([]Button, error) {
	label, err := s.words.text("button.use_wallet", vars{"Tail": html(address.Tail())})
	if err != nil {
		return nil, err
	}
	b, err := s.button(label, "run:/wallet use "+address.String(), "menu", s.now.Add(menuLife))
	return []Button{b}, err
}

// walletAddress shows the full address of the wallet that payers are given, with a QR code.
func (c *Chat) walletAddress(ctx context.Context, h Inbound) (Action, error) {
	w, err := c.Wallets.Receiving(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	picture, err := qrPicture(w.Address.String())
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		note, err := s.stillOld()
		if err != nil {
			return err
		}
		caption, err := s.words.text("wallet.address", vars{"Address": code(w.Address.String()), "Network": c.network(), "Note": note})
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

// readRequest parses what is asked for. Nobody is paid here, so an address is the mint of the token.
func readRequest(args []string, b book) (parts, error) {
	p, err := readParts(args, b)
	if mint := p.To.Address; err == nil && p.Token.IsZero() && p.To.Wrong.IsZero() && !mint.IsZero() {
		p.Token, p.To = wallet.TokenRef{Mint: mint}, saidRecipient{}
	}
	if err == nil && (!p.Amount.given() || p.To.given()) {
		err = wallet.Refuse(wallet.InvalidRequest, "input.request_amount")
	}
	return p, err
}

// walletRequest creates a payment request: a Solana Pay link and its QR code. Its payment is recognised by the link's
// reference.
func (c *Chat) walletRequest(ctx context.Context, h Inbound) (Action, error) {
	b, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	p, err := readRequest(h.line.args[1:], b)
	if err != nil {
		return refuse(err)
	}
	if _, err := c.Wallets.Receiving(ctx, h.user.ID); err != nil {
		return refuse(err)
	}
	// A request needs a definite amount: "max" would depend on the payer's balance.
	if p.Amount.Quantity.Max {
		p.Amount.Wrong = wallet.Because("amount.not_all")
	}
	if err := p.Amount.refusal(); err != nil {
		return c.meantRequest(ctx, p, err)
	}
	// The token may have to be looked up on chain.
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	if word := p.Token.String(); p.Token.Mint.IsZero() && !p.Token.IsZero() {
		found, question, err := c.whichToken(ctx, h, word, restated("/wallet", h.line.args, word))
		switch {
		case err != nil:
			return refuse(err)
		case question != nil:
			return question, nil
		}
		p.Token = found
	}
	r, err := c.Transfers.PrepareRequest(ctx, h.caller(), handlers.RequestFor{Amount: p.Amount.Quantity.Exact, Token: p.Token, Memo: p.Memo})
	if err != nil {
		return refuse(err)
	}
	picture, err := qrPicture(r.URL)
	if err != nil {
		return nil, err
	}
	// The request is stored before its link is shown, so that no payment of it can go unnoticed.
	return func(s *replyTx) error {
		if err := s.Transfers.CommitRequest(s.tx, r); err != nil {
			return s.refuse(err)
		}
		return s.showRequest(r, picture)
	}, nil
}

// showRequest shows a payment request: its link as text, as a QR code, and on a button that copies it.
func (s *replyTx) showRequest(r handlers.PaymentRequest, picture []byte) error {
	note, err := s.stillOld()
	if err != nil {
		return err
	}
	caption, err := s.words.text("wallet.request", vars{"Sum": r.Transaction.Money().String(), "Token": shortTokenName(r.Transaction.Token),
		"URL": code(r.URL), "Note": note, "Network": s.network(), "Memo": html(escape(r.Transaction.Memo))})
	if err != nil {
		return err
	}
	label, err := s.words.text("button.copy_link", nil)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Photo, Text: string(caption), PNG: picture, Buttons: [][]Button{{{Text: plain(label), Copy: r.URL}}}}, "")
}

// meantRequest refuses an amount that was written wrongly. If its likely meaning is known, it has a button for each.
func (c *Chat) meantRequest(ctx context.Context, p parts, wrong error) (Action, error) {
	if _, unlisted := c.unlisted(p.Token); unlisted { // only a node knows its decimals
		return refuse(wrong)
	}
	token, err := c.Transfers.Token(ctx, p.Token)
	if err != nil {
		return refuse(err)
	}
	meant := p.Amount.meantAmounts(token)
	if len(meant) == 0 {
		return refuse(wrong)
	}
	return func(s *replyTx) error {
		var row []Button
		for _, amount := range meant {
			command := "/wallet address " + amount.String() + " " + token.Symbol
			if p.Memo != "" {
				command += " " + memoWord + " " + p.Memo
			}
			b, err := s.button(html(escape(amount.String()+" "+token.Symbol)), "run:"+command, "menu", s.now.Add(menuLife))
			if err != nil {
				return err
			}
			row = append(row, b)
		}
		return s.refused(didYouMean(meant), row)
	}, nil
}

// walletForApp is /wallet run by an app: only the actions that read. It accepts exactly the words that wallet reads; a program
// gets an error where a person gets a note that some words were ignored.
func (c *Chat) walletForApp(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	if len(args) == 0 {
		return c.walletOverview(ctx, h)
	}
	action, more := strings.ToLower(args[0]), args[1:]
	switch {
	case action == "new", action == "use", action == "disconnect":
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.wallet_change", wallet.TextArg("Action", action))
	case action == exportWord: // the file names the person's contacts
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.history_export")
	case action == "address" && len(more) > 0: // a payment request is a row that nobody is asked about
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.request")
	case action == "balance" && len(more) == 1:
		return c.walletBalanceOf(ctx, h, more[0])
	case action == "history" && len(more) == 1 && strings.EqualFold(more[0], allHistory):
		return c.wholeHistory(ctx, h)
	case len(more) > 0:
	case action == "list":
		return c.walletOverview(ctx, h)
	case action == "balance":
		return c.walletBalance(ctx, h)
	case action == "address":
		return c.walletAddress(ctx, h)
	case action == "history":
		return c.history(ctx, h)
	case c.Transfers.Lists(action):
		return c.walletBalanceOf(ctx, h, action)
	}
	return nil, wallet.About("command", wallet.Refuse(wallet.InvalidRequest, "app_command.wallet"))
}

// walletNeeds returns the scope that /wallet needs when an app runs it: wallet:read for everything that walletForApp shows,
// except an address. What walletForApp always refuses needs none.
func walletNeeds(args []string) wallet.Scope {
	if len(args) > 0 {
		switch strings.ToLower(args[0]) {
		case "address", exportWord, "new", "use", "disconnect":
			return ""
		}
	}
	return wallet.WalletRead
}
