package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"purser/store"
	"purser/wallet"
)

// appReplies is the conversation that takes people's replies to messages of apps. Such a reply never answers a question of
// purser, even if one is open.
func appReplies() conversation {
	return conversation{
		name: "reply",
		intercept: func(_ *Chat, _ context.Context, h Inbound) (Action, error) {
			if h.author == "" || h.Text == "" {
				return nil, nil
			}
			return (*replyTx).answerApp, nil
		},
	}
}

// answerApp forwards a reply to the app whose message it answers, as a message.received event for that app alone. It does so
// only if the person granted the app bot:messages and the app has an active webhook for it; otherwise it tells the person
// what is missing. An open question of purser stays open.
func (s *replyTx) answerApp() error {
	h := s.inbound
	name, err := s.appName(h.author)
	if err != nil {
		return err
	}
	v := vars{"App": name, "Hint": "", "Operator": h.author == wallet.ToOperators}
	// Find out who wrote the message, and whether replies can reach them at all.
	if h.author != wallet.ToOperators {
		own, err := s.ownKey(h.author)
		if err != nil {
			return err
		}
		if own.ID != "" { // a key without an app receives no replies
			v["Hint"] = own.Hint
			return s.reply("reply.nobody", v)
		}
		app, err := s.tx.App(h.author)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return s.reply("reply.gone", nil)
		case err != nil:
			return err
		case !slices.Contains(app.Scopes, wallet.BotMessages): // the app never asked for it, so the person cannot turn it on
			return s.reply("reply.nobody", v)
		}
	}
	// The grant is checked first: without it, the person can allow it; without a webhook, only the developer can help.
	switch granted, listening, err := s.Receivers.Receives(s.tx, h.author, s.user.ID, wallet.MessageReceived); {
	case err != nil:
		return err
	case !granted:
		return s.reply("reply.not_allowed", v)
	case !listening:
		return s.reply("reply.nobody", v)
	}
	if codeIn(h.Text) { // a code from purser's own mail: an app that asks for one is stealing it
		if proving, err := s.Developers.ProvingMail(s.tx, s.user.ID); err != nil || proving {
			return errors.Join(err, s.reply("reply.code", v))
		}
	}
	// The event goes to this app alone, not to all apps with the scope.
	s.to = h.author
	err = s.tell(fmt.Sprintf("message_%d", h.MessageID), wallet.MessageReceived, wallet.MessageReceivedData{
		ChatID: strconv.FormatInt(h.Chat, 10), Username: s.user.Handle(), Message: h.Text, Timestamp: wallet.Timestamp(h.At.UTC())})
	if err != nil {
		return err
	}
	return s.reply("reply.sent", v)
}

// ownKey returns the person's key without an app whose lineage wrote a message: the newest key of its rotations. It returns
// the zero Key if an app wrote the message.
func (s *replyTx) ownKey(author wallet.AppID) (wallet.Key, error) {
	keys, err := s.tx.KeysOf(s.user.ID)
	var last wallet.Key
	for _, key := range keys {
		if key.App == "" && key.AppOrLineage() == author && (last.ID == "" || key.Next == "") {
			last = key
		}
	}
	return last, err
}
