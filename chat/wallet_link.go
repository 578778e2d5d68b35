package chat

import (
	"context"
	"errors"

	"purser/store"
	"purser/wallet"
)

// makeLink begins /wallet new. A new link replaces an older one: a person has at most one attempt to connect (wallet.Bind).
//
// An attempt has three steps: the chat sends a link (sendLink), the signing page proves an
// address with it (notifyProven), and the person answers in the chat which address their device shows (choose). Only the
// right answer connects the wallet. Somebody who stole the link does not know it.
func (s *replyTx) makeLink() error { return s.transition(walletFlow, linked) }

// sendLink creates a link to the signing page and sends it to its owner's private chat, and nowhere else.
func (s *replyTx) sendLink() error {
	switch old, err := s.tx.BindOf(s.user.ID); {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case old.OpenAt(s.now) && old.KeyID == "", old.ChoosableAt(s.now): // a challenge of a program has no message in the chat
		if err := s.show(waitingCard(old), "link.replaced", nil); err != nil {
			return err
		}
	}
	bind, err := s.newLink("", "link.open", vars{})
	if err != nil {
		return err
	}
	s.resetData(&linking{Bind: bind.Nonce})
	s.conv.ExpiresAt = bind.ExpiresAt
	return nil
}

// newLink creates a link and sends it with the text of the given key. offeredBy is the id of the key whose program asked for
// it, or "" if the person did. Only the hash of the link's token is stored. The token itself is in the button of the reply,
// which is marked Secret.
func (s *replyTx) newLink(offeredBy, key string, v vars) (wallet.Bind, error) {
	link, err := s.Wallets.PrepareLink(s.user)
	if err != nil {
		return wallet.Bind{}, err
	}
	if err := s.Wallets.CommitLink(s.tx, link.OfferedBy(offeredBy)); err != nil {
		return wallet.Bind{}, err
	}
	bind, err := s.tx.BindOf(s.user.ID)
	if err != nil {
		return bind, err
	}
	v["Host"] = s.PublicURL.Host
	text, err := s.words.text(key, v)
	if err != nil {
		return bind, err
	}
	label, err := s.words.text("button.open_page", nil)
	if err != nil {
		return bind, err
	}
	return bind, s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true,
		Buttons: [][]Button{{{Text: plain(label), URL: s.signingPage("b", link.Token)}}}}, linkCard(bind))
}

// notifyWanted sends a link to connect a wallet because a program asked for it. The person's conversation stays where it is.
func (s *replyTx) notifyWanted(wanted wallet.WalletWantedData) error {
	if s.user.Freeze != nil { // frozen since the program asked
		return nil
	}
	switch old, err := s.tx.BindOf(s.user.ID); {
	case err == nil && (old.OpenAt(s.now) || old.ChoosableAt(s.now)): // the person has already begun to connect one
		return nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	}
	v := vars{"KeyHint": html(""), "Foreign": false, "App": ""}
	if err := s.askedBy(wanted.KeyID, s.user.ID, v); err != nil {
		return err
	}
	_, err := s.newLink(wanted.KeyID, "link.offered", v)
	return err
}

// linkCard and questionCard are the cards of one attempt to connect a wallet: the link, and the question which address the
// device shows.
func linkCard(b wallet.Bind) string     { return "bind:" + b.Nonce }
func questionCard(b wallet.Bind) string { return "which:" + b.Nonce }

// waitingCard returns the card at which an attempt waits.
func waitingCard(b wallet.Bind) string {
	if b.Status == wallet.BindProven {
		return questionCard(b)
	}
	return linkCard(b)
}

// notifyProven asks which address the person's device shows, after a page has proven one. Anybody who got hold of the link could
// have opened it on a device of their own, so only the right answer connects the wallet.
func (s *replyTx) notifyProven(wallet.Event) error {
	bind, err := s.tx.BindOf(s.user.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && !bind.ChoosableAt(s.now) {
		return nil // answered, replaced or expired in the meantime
	}
	if err != nil {
		return err
	}
	text, v := "link.question", vars{}
	if bind.KeyID != "" { // proven by a program with an API key: the owner's, or a thief's
		hint, err := s.keyHint(bind.KeyID)
		if err != nil {
			return err
		}
		text, v["KeyHint"] = "link.question_program", hint
	} else if err := s.show(linkCard(bind), "link.used", nil); err != nil {
		return err
	}
	// The proven address and two random ones. A person who does not look at their device has to guess.
	var rows [][]Button
	for _, choice := range bind.Choices {
		b, err := s.button(html("…"+choice.Tail()), "choose:"+choice.String(), bind.Nonce, bind.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	label, err := s.words.text("button.none", nil)
	if err != nil {
		return err
	}
	none, err := s.button(label, "none", bind.Nonce, bind.ExpiresAt)
	if err != nil {
		return err
	}
	if err := s.show(questionCard(bind), text, v, append(rows, []Button{none})...); err != nil {
		return err
	}
	// The conversation follows only if it is still about this attempt.
	if s.conv.Flow == walletFlow && dataOf[linking](s).Bind == bind.Nonce && s.state() == linkOpen {
		if err := s.transition(walletFlow, proven); err != nil {
			return err
		}
		s.conv.ExpiresAt = bind.ExpiresAt
	}
	return nil
}

// choose takes the answer which address the device shows; the zero address means none of them.
func (s *replyTx) choose(choice wallet.Address) error {
	bind, err := s.tx.BindOf(s.user.ID)
	if errors.Is(err, store.ErrNotFound) { // cancelled, or swept after its time
		return s.linkIsOver()
	}
	if err != nil {
		return err
	}
	bound, err := s.Wallets.Choose(s.tx, s.user.ID, s.inbound.button.Subject, choice)
	switch {
	case wallet.CodeOf(err) == wallet.NotFound:
		return s.linkIsOver()
	case err != nil:
		return s.refuse(err)
	}
	if err := s.use(); err != nil {
		return err
	}
	// The person may have begun something else meanwhile: then their conversation stays.
	if s.conv.Flow == walletFlow && dataOf[linking](s).Bind == bind.Nonce && s.state() == choosing {
		if err := s.transition(walletFlow, chosen); err != nil {
			return err
		}
	}
	// The address belongs to another account: the claim has to wait.
	if bound.Address == choice && bound.Owner == "" && !choice.IsZero() {
		return s.sayClaimed(bind, choice)
	}
	// A wrong answer ends the attempt.
	if bound.Address.IsZero() {
		if err := s.toast("toast.not_connected", nil); err != nil {
			return err
		}
		rows, err := s.menu("button.new_link", "/wallet new")
		if err != nil {
			return err
		}
		return s.show(questionCard(bind), "link.mismatch", nil, rows...)
	}
	return s.sayConnected(bind, bound)
}

// sayConnected replaces the question by the address that is connected now. If the person's commands use another wallet, a
// button switches to this one.
func (s *replyTx) sayConnected(bind wallet.Bind, bound wallet.Wallet) error {
	user, err := s.tx.User(s.user.ID)
	if err != nil {
		return err
	}
	if err := s.toast("toast.connected", nil); err != nil {
		return err
	}
	rows, err := s.menu("button.address", "/wallet address", "button.balance", "/wallet balance")
	if user.DefaultWallet != bound.Address { // commands use another wallet: offer to switch instead
		rows, err = s.useThis(bound.Address)
	}
	if err != nil {
		return err
	}
	if rows, err = s.backToAPI(rows); err != nil {
		return err
	}
	return s.show(questionCard(bind), "link.connected", vars{
		"Address": code(bound.Address.String()), "First": user.DefaultWallet == bound.Address,
		"Default": code("…" + user.DefaultWallet.Tail()), "None": user.DefaultWallet.IsZero(), "Tail": html(bound.Address.Tail()),
	}, rows...)
}

// useThis returns a button that makes a wallet the default for commands.
func (s *replyTx) useThis(address wallet.Address) ([][]Button, error) {
	label, err := s.words.text("button.use_this", vars{"Tail": html(address.Tail())})
	if err != nil {
		return nil, err
	}
	b, err := s.button(label, "run:/wallet use "+address.String(), "menu", s.now.Add(menuLife))
	return [][]Button{{b}}, err
}

// linkIsOver answers a tap on a question that has expired or was cancelled, with a button that begins again.
func (s *replyTx) linkIsOver() error {
	if err := s.toast("toast.link_over", nil); err != nil {
		return err
	}
	rows, err := s.menu("button.new_link", "/wallet new")
	if err != nil {
		return err
	}
	return s.reply("link.over", nil, rows...)
}

// closeLink is /cancel while a link is open or its question waits.
func (s *replyTx) closeLink() error {
	if err := s.endLink("link.closed"); err != nil {
		return err
	}
	return s.reply("link.cancelled", nil)
}

// linkRanOut runs when the link was not used, or its question not answered, in time.
func (s *replyTx) linkRanOut() error {
	rows, err := s.menu("button.new_link", "/wallet new")
	if err != nil {
		return err
	}
	return s.endLink("link.ran_out", rows...)
}

// endLink cancels this conversation's attempt and replaces its message by the given text. An attempt that a newer one has
// replaced is left alone.
func (s *replyTx) endLink(key string, rows ...[]Button) error {
	bind, err := s.tx.BindOf(s.user.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && bind.Nonce != dataOf[linking](s).Bind {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.Wallets.CancelLink(s.tx, s.user.ID); err != nil {
		return err
	}
	return s.show(waitingCard(bind), key, nil, rows...)
}

// cancelOfferedLink answers /cancel while a link is open that a program asked for.
func (s *replyTx) cancelOfferedLink() (bool, error) {
	offered, err := s.offeredLink()
	if err != nil || !offered {
		return false, err
	}
	if err := s.Wallets.CancelLink(s.tx, s.user.ID); err != nil {
		return false, err
	}
	return true, s.reply("link.cancelled", nil)
}

// offeredLink reports whether such a link is open.
func (s *replyTx) offeredLink() (bool, error) {
	bind, err := s.tx.BindOf(s.user.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && bind.OfferedBy != "" && bind.OpenAt(s.now), err
}

// tapChoose answers with one of the shown addresses.
func (c *Chat) tapChoose(_ context.Context, _ Inbound, address string) (Action, error) {
	choice, err := wallet.ParseAddress(address)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error { return s.choose(choice) }, nil
}

// tapNone answers that the device shows none of the addresses.
func (c *Chat) tapNone(context.Context, Inbound, string) (Action, error) {
	return func(s *replyTx) error { return s.choose(wallet.Address{}) }, nil
}
