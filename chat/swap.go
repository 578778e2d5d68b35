package chat

import (
	"context"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// swapCommand is /swap: one message, a quote with Confirm and Reject. It asks no questions: what is missing is explained.
func swapCommand() conversation {
	return conversation{
		name: "swap",
		commands: []command{{name: "swap", menu: "menu.swap", usage: "usage.swap", looks: true, run: (*Chat).swap, app: (*Chat).swapForApp,
			aliases: map[string]string{"trade": "", "exchange": "", "convert": ""}}},
	}
}

// readSwap parses the words of a swap: 1 SOL USDC, max SOL to USDC, 1 SOL USDC 1%. complete is false if words are missing.
func readSwap(words []string) (req handlers.SwapRequest, complete bool, err error) {
	if n := len(words) - 1; n >= 0 && strings.HasSuffix(words[n], "%") {
		if req.SlippageBPS, err = readSlippage(words[n]); err != nil {
			return req, true, err
		}
		words = words[:n]
	}
	if len(words) == 4 && (strings.EqualFold(words[2], "to") || strings.EqualFold(words[2], "for") || words[2] == "→") {
		words = []string{words[0], words[1], words[3]}
	}
	switch {
	case len(words) < 3:
		return req, false, nil
	case len(words) > 3:
		return req, true, wallet.Refuse(wallet.InvalidRequest, "swap.words")
	}
	amount := readAmount(words[0])
	if err := amount.refusal(); err != nil {
		return req, true, err
	}
	req.Amount = amount.Quantity
	if req.Token, err = wallet.ParseTokenRef(strings.TrimPrefix(words[1], "$")); err != nil {
		return req, true, wallet.AboutInstead(handlers.FieldFromToken, err)
	}
	if req.ToToken, err = wallet.ParseTokenRef(strings.TrimPrefix(words[2], "$")); err != nil {
		return req, true, wallet.AboutInstead(handlers.FieldToToken, err)
	}
	return req, true, nil
}

// readSlippage parses a slippage such as 0.5%, in hundredths of a percent.
func readSlippage(word string) (uint16, error) {
	no := wallet.About(handlers.FieldSlippage, wallet.Refuse(wallet.InvalidRequest, "swap.slippage"))
	number, err := wallet.ParseNumber(strings.TrimSuffix(word, "%"))
	if err != nil {
		return 0, no
	}
	amount, err := number.In(2)
	if err != nil || amount.Units == 0 || amount.Units > wallet.MaxSlippage {
		return 0, no
	}
	return uint16(amount.Units), nil
}

// swap answers /swap with a quote that can be confirmed.
func (c *Chat) swap(ctx context.Context, h Inbound) (Action, error) {
	req, complete, err := readSwap(h.line.args)
	switch {
	case err != nil:
		return refuse(err)
	case !complete:
		return func(s *replyTx) error { return s.replyUsage("swap") }, nil
	}
	for _, ref := range []*wallet.TokenRef{&req.Token, &req.ToToken} {
		found, question, err := c.whichToken(ctx, h, ref.String(), restated("/swap", h.line.args, ref.String()))
		switch {
		case err != nil:
			return refuse(err)
		case question != nil:
			return question, nil
		}
		*ref = found
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	proposal, err := c.Swaps.Prepare(ctx, h.caller(), req)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		if err := s.Swaps.Commit(s.tx, proposal); err != nil {
			return err
		}
		return s.card(proposal.Transaction)
	}, nil
}

// swapForApp is /swap run by an app. The person is asked to confirm.
func (c *Chat) swapForApp(ctx context.Context, h Inbound) (Action, error) {
	req, complete, err := readSwap(h.line.args)
	switch {
	case err != nil:
		return nil, err
	case !complete:
		return nil, wallet.About("command", wallet.Refuse(wallet.InvalidRequest, "app_command.swap"))
	}
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	req.From, req.Ask = from.Address, true
	proposal, err := c.Swaps.Prepare(ctx, handlers.Caller{User: h.user.ID, KeyID: h.app.By.KeyID, KeyLineage: h.app.By.KeyLineage}, req)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		t, err := s.Swaps.CommitByProgram(s.tx, proposal)
		if err != nil {
			return err
		}
		v := vars(swapVars(t))
		v["Sum"], v["Token"], v["ID"] = t.Money().String(), tokenText(t.Token), code(string(t.ID))
		return s.reply("swapping.proposed", v)
	}, nil
}
