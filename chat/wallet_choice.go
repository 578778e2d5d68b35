package chat

import (
	"context"
	"errors"
	"strings"

	"purser/store"
	"purser/wallet"
)

// walletChosen answers /wallet use and /wallet disconnect. The argument is an address or the last characters of one. Without an
// argument it asks which wallet is meant, unless there is only one. use takes effect at once. disconnect asks for confirmation
// first, because it also rejects the wallet's payments that wait for Confirm or a signature.
func (c *Chat) walletChosen(action string, args []string) Action {
	return func(s *replyTx) error {
		all, err := s.tx.WalletsOf(s.user.ID)
		switch {
		case err != nil:
			return err
		case len(all) == 0:
			return s.refused(wallet.Refuse(wallet.WalletNotFound, "own_wallet.no_wallet"))
		case len(args) == 0 && len(all) == 1 && action == "disconnect":
			return s.askDisconnect(all[0])
		case len(args) == 0 && len(all) == 1:
			return s.reply("wallet.only_one", vars{"Address": code(all[0].Address.String())})
		case len(args) == 0:
			return s.whichWallet(action, all)
		}
		// People copy an address in groups of four characters, as purser shows it. Or they copy a short address with its
		// ellipsis ("…abcd").
		name := strings.TrimLeft(strings.Join(args, ""), "….")
		if action == "use" {
			w, err := s.Wallets.Use(s.tx, s.user.ID, name)
			if err != nil {
				return s.refuse(err)
			}
			if notified, err := s.defaultNotified(); err != nil || notified {
				return err
			}
			return s.reply("wallet.used", vars{"Address": code(w.Address.String())})
		}
		w, err := s.Wallets.Find(s.tx, s.user.ID, name)
		if err != nil {
			return s.refuse(err)
		}
		return s.askDisconnect(w)
	}
}

// whichWallet asks which wallet is meant, with a button for each that runs the command with its address.
func (s *replyTx) whichWallet(action string, all []wallet.Wallet) error {
	const most = 20 // rows of buttons
	var rows [][]Button
	for _, w := range all[:min(len(all), most)] {
		b, err := s.button(html("…"+w.Address.Tail()), "run:/wallet "+action+" "+w.Address.String(), "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	return s.reply("wallet.which", vars{"Action": action}, rows...)
}

// askDisconnect asks for confirmation before a wallet is disconnected. The question stands beside the conversation (aside), so
// it does not end what the person is doing. It has a card of its own, since a person may ask for two wallets in a row.
func (s *replyTx) askDisconnect(w wallet.Wallet) error {
	nonce, err := s.nonce()
	if err != nil {
		return err
	}
	card := "disconnect:" + nonce
	yes, err := s.catalogueButton("button.disconnect", "disconnect:"+w.Address.String(), card, s.now.Add(AnswerTimeout))
	if err != nil {
		return err
	}
	no, err := s.keep(card)
	if err != nil {
		return err
	}
	closed, err := s.words.text("wallet.disconnect_cancelled", vars{"Tail": w.Address.Tail()})
	if err != nil {
		return err
	}
	return s.askAside(card, "wallet.disconnect_ask", vars{"Address": code(w.Address.String())}, closed, []Button{no, yes})
}

// tapDisconnect disconnects a wallet. Its keys stay on the owner's device.
func (c *Chat) tapDisconnect(_ context.Context, _ Inbound, address string) (Action, error) {
	return func(s *replyTx) error {
		// now is the default wallet after the operation: another wallet if the default was disconnected, or the zero address.
		gone, now, err := s.Wallets.Disconnect(s.tx, s.user.ID, address)
		if ok, err := s.answerTap(err, "toast.disconnected"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		v := vars{"Address": code(gone.Address.String()), "Default": html(""), "Changed": now != s.user.DefaultWallet}
		notified, err := s.defaultNotified()
		if err != nil {
			return err
		}
		if !now.IsZero() && !notified {
			v["Default"] = code(now.String())
		}
		return s.reply("wallet.disconnected", v)
	}, nil
}

// defaultNotified reports whether this input has changed the person's default wallet so that notifyDefault tells them, in this chat.
func (s *replyTx) defaultNotified() (bool, error) {
	now, err := s.tx.User(s.user.ID)
	if err != nil || now.DefaultWallet == s.user.DefaultWallet || now.DefaultWallet.IsZero() {
		return false, err
	}
	_, waits := now.ReceivesAt(s.now)
	return waits, nil
}

// notifyDefault notifies a person that another wallet is their default now, and until when payers are given the previous one. It says nothing about
// a change that is not the newest.
func (s *replyTx) notifyDefault(data wallet.DefaultChangedData) error {
	change := s.user.DefaultChange
	if change == nil || s.user.DefaultWallet != data.To || change.From != data.From {
		return nil
	}
	held, err := s.tx.Wallet(data.From)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	gone := err != nil || held.Owner != s.user.ID
	var row []Button
	if !gone {
		if row, err = s.useWallet(data.From); err != nil {
			return err
		}
	}
	rows, err := s.menu("button.freeze_account", "/freeze")
	if err != nil {
		return err
	}
	if len(row) > 0 {
		rows = append([][]Button{row}, rows...)
	}
	return s.reply("wallet.default_changed", vars{"To": code(data.To.String()), "From": code(data.From.String()), "Until": change.Until(), "Gone": gone, "Again": data.Again}, rows...)
}

// stillOld is the note that payers are given the previous default wallet, and until when; "" if they are given the default. Only its owner reads it.
func (s *replyTx) stillOld() (html, error) {
	if _, waits := s.user.ReceivesAt(s.now); !waits || s.inbound.app != nil {
		return "", nil
	}
	return s.words.text("wallet.still_old", vars{"Until": s.user.DefaultChange.Until(), "Frozen": s.user.Freeze != nil, "Tail": s.user.DefaultWallet.Tail()})
}
