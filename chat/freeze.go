package chat

import (
	"context"
	"errors"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// freezeName is the name of the command /freeze.
const freezeName = "freeze"

// linkWord makes /freeze send the recovery link.
const linkWord = "link"

// freezeCommands are /freeze and /unfreeze. A freeze takes effect when its message arrives (FreezeOnArrival), before what waits
// in the inbox. The command then shows it. While an account is frozen, only what is marked whileFrozen works.
func freezeCommands() conversation {
	return conversation{
		name: freezeName,
		commands: []command{
			{name: freezeName, menu: "menu.freeze", usage: "usage.freeze", looks: true, run: (*Chat).freeze, whileFrozen: always,
				aliases: map[string]string{"lock": "", "panic": "", "emergency": ""}},
			{name: "unfreeze", menu: "menu.unfreeze", usage: "usage.unfreeze", bare: true, looks: true, run: (*Chat).unfreeze, whileFrozen: always,
				aliases: map[string]string{"unlock": ""}},
		},
		events: map[wallet.EventName]notice{ // neither waits for the end of quiet hours, and nobody can turn them off
			wallet.AccountFrozen:   {priority: answers, notify: func(s *replyTx, _ wallet.Event) error { return s.showFreeze() }},
			wallet.AccountUnfrozen: {priority: answers, notify: withData((*replyTx).notifyUnfrozen)},
		},
	}
}

// isFreeze reports whether an input is a /freeze of the person's own: typed in any case, with the bot's name or without, or the
// button that runs it. /freeze link is none.
func (c *Chat) isFreeze(tx store.Tx, in Input) (bool, error) {
	if !in.Private || in.From.IsBot || in.Forwarded || in.Edited || in.Secret != NoSecret {
		return false, nil
	}
	text := in.Text
	if in.Tap != nil {
		if !nonceLike(in.Tap.Data) {
			return false, nil
		}
		b, err := tx.Button(in.Tap.Data)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		command, runs := strings.CutPrefix(b.Action, "run:")
		if err != nil || !runs || b.Chat != in.Chat || b.User != in.From.TelegramID {
			return false, err
		}
		text = command
	}
	h := Inbound{Input: in, line: c.registry.asMeant(read(text))}
	return h.line.command == freezeName && !c.forOtherBot(h) && !wantsLink(h.line), nil
}

// wantsLink reports whether a /freeze asks for the recovery link.
func wantsLink(l parsedLine) bool { return len(l.args) > 0 && strings.EqualFold(l.args[0], linkWord) }

// FreezeOnArrival freezes the account of a person whose input is /freeze. The front calls it in the store transaction that takes
// the input into its inbox. So nothing that waits before it can propose or confirm anything, and a flood that pushes the
// input out of the inbox does not stop the freeze. It does nothing for other inputs, and for people whom purser has not met: froze
// is false then.
func (c *Chat) FreezeOnArrival(tx store.Tx, in Input) (froze bool, err error) {
	yes, err := c.isFreeze(tx, in)
	if err != nil || !yes {
		return false, err
	}
	user, err := tx.UserByTelegram(in.From.TelegramID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = c.Freezing.Freeze(tx, user.ID, wallet.FrozenInChat, in.MessageID)
	return err == nil, err
}

// freeze answers /freeze. The account is frozen already, unless the front could not do it on arrival.
func (c *Chat) freeze(_ context.Context, h Inbound) (Action, error) {
	if wantsLink(h.line) {
		return (*replyTx).sendRecoveryLink, nil
	}
	return func(s *replyTx) error {
		frozen, err := s.Freezing.Freeze(s.tx, s.user.ID, wallet.FrozenInChat, s.inbound.MessageID)
		if err != nil {
			return s.refuse(err)
		}
		s.user.Freeze = &frozen
		// The card of this very freeze is also sent by its event: whichever is later edits the message of the other. A later
		// /freeze gets a message of its own.
		if frozen.Message != s.inbound.MessageID {
			if err := s.moveCard(freezeCard(frozen)); err != nil {
				return err
			}
		}
		return s.showFreeze()
	}, nil
}

// freezeCard is the card of the message about a freeze.
func freezeCard(f wallet.Freeze) string { return "freeze:" + f.At.UTC().Format(time.RFC3339Nano) }

// showFreeze shows what a freeze stops and how it ends. It shows nothing if the account is not frozen any more.
func (s *replyTx) showFreeze() error {
	if s.user.Freeze == nil {
		return nil
	}
	if err := s.closeLimitsLink(); err != nil { // the freeze has ended it
		return err
	}
	underway, err := s.Freezing.Underway(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	signers, err := s.Freezing.Signers(s.tx, s.user)
	if err != nil {
		return err
	}
	text, err := s.words.text("freeze.on", vars{"At": s.user.Freeze.At, "Underway": underway > 0, "Device": signers > 0})
	if err != nil {
		return err
	}
	rows, err := s.menu("button.unfreeze", "/unfreeze")
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, freezeCard(*s.user.Freeze))
}

// sendRecoveryLink sends a new recovery link, as text to copy. It has no button that opens it: a tap by mistake must not lead to
// the page that freezes.
func (s *replyTx) sendRecoveryLink() error {
	token, err := s.Freezing.NewLink(s.tx, s.user.ID)
	if err != nil {
		return s.refuse(err)
	}
	link := s.signingPage("f", token)
	text, err := s.words.text("freeze.link", vars{"Link": code(link)})
	if err != nil {
		return err
	}
	label, err := s.words.text("freeze_button.copy", nil)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true, Buttons: [][]Button{{{Text: plain(label), Copy: link}}}}, "")
}

// unfreezeCard is the card of the newest link to unfreeze.
const unfreezeCard = "unfreeze"

// unfreeze answers /unfreeze with a link to the page where a device signs. A person without a wallet waits instead.
func (c *Chat) unfreeze(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		if s.user.Freeze == nil {
			rows, err := s.menu("freeze_button.freeze", "/freeze")
			if err != nil {
				return err
			}
			return s.reply("freeze.not", nil, rows...)
		}
		signers, err := s.Freezing.Signers(s.tx, s.user)
		if err != nil {
			return s.refuse(err)
		}
		if signers == 0 {
			return s.unfreezeWithoutWallet()
		}
		token, link, err := s.Freezing.NewUnfreezeLink(s.tx, s.user.ID)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.moveCard(unfreezeCard); err != nil {
			return err
		}
		text, err := s.words.text("freeze.open", vars{"Host": s.PublicURL.Host, "Until": link.ExpiresAt})
		if err != nil {
			return err
		}
		label, err := s.words.text("freeze_button.open", nil)
		if err != nil {
			return err
		}
		return s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true, NewMessage: s.asNew,
			Buttons: [][]Button{{{Text: plain(label), URL: s.signingPage("u", token)}}}}, unfreezeCard)
	}, nil
}

// unfreezeWithoutWallet begins the delay of a person for whom no device can sign, or ends the freeze after it.
func (s *replyTx) unfreezeWithoutWallet() error {
	from, err := s.Freezing.EndWithoutWallet(s.tx, s.user.ID)
	if err != nil {
		return s.refuse(err)
	}
	if from.IsZero() { // its event says so
		return nil
	}
	rows, err := s.menu("freeze_button.stop", "/freeze")
	if err != nil {
		return err
	}
	return s.reply("freeze.wait", vars{"From": from}, rows...)
}

// notifyUnfrozen notifies a person that their account is unfrozen, by whose wallet. It says nothing if it is frozen again.
func (s *replyTx) notifyUnfrozen(data wallet.AccountUnfrozenData) error {
	if s.user.Freeze != nil {
		return nil
	}
	tail := html("")
	if !data.WalletAddress.IsZero() {
		tail = html(data.WalletAddress.Tail())
	}
	rows, err := s.menu("freeze_button.freeze", "/freeze")
	if err != nil {
		return err
	}
	hooks, err := s.tx.WebhooksOfOwner(s.user.ID)
	if err != nil {
		return err
	}
	return s.reply("freeze.off", vars{"Tail": tail, "Webhooks": len(hooks) > 0}, rows...)
}
