package chat

import (
	"context"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// revokeCommand is /revoke: who else may spend a person's tokens, and a button for each that takes the right back. It is for the
// person alone: apps may not run it. While the account is frozen, it shows the lists and proposes nothing.
func revokeCommand() conversation {
	return conversation{
		name: "revoke",
		commands: []command{{name: "revoke", menu: "menu.revoke", usage: "usage.revoke", looks: true, run: (*Chat).revoke, whileFrozen: always,
			aliases: map[string]string{"approvals": "", "allowances": "", "delegates": ""}}},
	}
}

// revoke answers /revoke with the list of the default wallet, /revoke WALLET with that of another wallet of the person, and
// /revoke ACCOUNT with the proposal to take back the right to spend from a token account.
func (c *Chat) revoke(ctx context.Context, h Inbound) (Action, error) {
	// People copy an address in groups of four characters, as purser shows it.
	word := strings.Join(h.line.args, "")
	if word == "" {
		return c.listDelegates(ctx, h, wallet.Address{})
	}
	at, err := wallet.ParseAddress(word)
	if err != nil {
		return func(s *replyTx) error { return s.replyUsage("revoke") }, nil
	}
	if _, err := c.Revokes.Wallet(ctx, h.caller(), at); err == nil {
		return c.listDelegates(ctx, h, at)
	}
	if h.user.Freeze != nil {
		return (*replyTx).sayFrozen, nil
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	proposal, err := c.Revokes.Prepare(ctx, h.caller(), handlers.RevokeRequest{Account: at})
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		if s.user.Freeze != nil { // since the handler ran
			return s.sayFrozen()
		}
		if err := s.Revokes.Commit(s.tx, proposal); err != nil {
			return err
		}
		return s.card(proposal.Transaction)
	}, nil
}

// listDelegates lists who else may spend from a wallet's token accounts; the zero address is the default wallet. The person's other
// wallets are offered below.
func (c *Chat) listDelegates(ctx context.Context, h Inbound, at wallet.Address) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	found, err := c.delegates(ctx, h.caller(), at)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		lines, rows, err := s.delegateLines(found)
		if err != nil {
			return err
		}
		more, err := s.delegateWallets(found.wallet)
		if err != nil {
			return err
		}
		frozen := s.user.Freeze != nil
		key := "revoke.list"
		switch {
		case len(found.all) == 0:
			key = "revoke.none"
		case frozen:
			if rows, err = s.menu("button.unfreeze", "/unfreeze"); err != nil {
				return err
			}
		}
		return s.reply(key, vars{"Frozen": frozen, "Lines": lines, "Tail": code("…" + found.wallet.Tail()), "Network": s.network()}, append(rows, more...)...)
	}, nil
}

// delegateList is who else may spend from the token accounts of a wallet.
type delegateList struct {
	wallet wallet.Address
	all    []wallet.TokenDelegate
}

// delegates reads who else may spend from the token accounts of one of the caller's wallets; the zero address is the default
// wallet. It asks a Solana node, and so stands before the store transaction. delegateLines shows the result.
func (c *Chat) delegates(ctx context.Context, who handlers.Caller, at wallet.Address) (delegateList, error) {
	from, all, err := c.Revokes.Delegates(ctx, who, at)
	return delegateList{from.Address, all}, err
}

// delegatesAMessage is how many delegates one message shows. Only the owner's signature makes one, so there are rarely more.
const delegatesAMessage = 10

// delegateLines words a list of delegates, with a row of one button for each that can be taken away. Both are empty for an empty
// list. Others may show it too, below a text of their own.
func (s *replyTx) delegateLines(found delegateList) (html, [][]Button, error) {
	var lines []string
	var rows [][]Button
	for i, d := range found.all[:min(len(found.all), delegatesAMessage)] {
		name, err := s.nameOf(d.Delegate)
		if err != nil {
			return "", nil, err
		}
		v := heldVars(d.Token, d.Limit)
		v["N"], v["Name"], v["Delegate"], v["Frozen"] = strconv.Itoa(i+1), name, code(d.Delegate.String()), d.Frozen
		line, err := s.words.text("revoke.line", v)
		if err != nil {
			return "", nil, err
		}
		lines = append(lines, string(line))
		if d.Frozen {
			continue
		}
		label, err := s.words.text("revoke_button.revoke", vars{"N": v["N"]})
		if err != nil {
			return "", nil, err
		}
		b, err := s.button(label, "run:/revoke "+d.Account.String(), "menu", s.now.Add(menuLife))
		if err != nil {
			return "", nil, err
		}
		rows = append(rows, []Button{b})
	}
	if more := left(len(found.all) - len(lines)); more != "" {
		line, err := s.words.text("revoke.more", vars{"Count": more})
		if err != nil {
			return "", nil, err
		}
		lines = append(lines, string(line))
	}
	return html(strings.Join(lines, "\n\n")), rows, nil
}

// delegateWallets are buttons that list the delegates of the person's other wallets.
func (s *replyTx) delegateWallets(shown wallet.Address) ([][]Button, error) {
	const most = 10 // rows of buttons
	all, err := s.tx.WalletsOf(s.user.ID)
	if err != nil {
		return nil, err
	}
	var rows [][]Button
	for _, w := range all {
		if w.Address == shown || len(rows) == most {
			continue
		}
		label, err := s.words.text("revoke_button.wallet", vars{"Tail": w.Address.Tail()})
		if err != nil {
			return nil, err
		}
		b, err := s.button(label, "run:/revoke "+w.Address.String(), "menu", s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		rows = append(rows, []Button{b})
	}
	return rows, nil
}
