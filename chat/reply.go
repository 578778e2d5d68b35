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

// appReplies are people's answers to messages of apps: not to purser's own questions, whatever waits.
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

// answerApp hands what somebody wrote to the app whose message they reply to, if they let it read their messages
// and it receives any, and tells them which. What I have asked waits on.
func (s *replyTx) answerApp() error {
	h := s.inbound
	name, err := s.appName(h.author)
	if err != nil {
		return err
	}
	v := vars{"App": name, "Hint": "", "Operator": h.author == wallet.ToOperators}
	if h.author != wallet.ToOperators {
		own, err := s.ownKey(h.author)
		if err != nil {
			return err
		}
		if own.ID != "" { // it has no app, and so nobody to whom an answer may be told
			v["Hint"] = own.Hint
			return s.reply("reply.nobody", v)
		}
		app, err := s.tx.App(h.author)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return s.reply("reply.gone", nil)
		case err != nil:
			return err
		case !slices.Contains(app.Scopes, wallet.BotMessages): // nothing that they could turn on
			return s.reply("reply.nobody", v)
		}
	}
	switch granted, listening, err := s.Receives(s.tx, h.author, s.user.ID, wallet.MessageReceived); {
	case err != nil:
		return err
	case !granted:
		return s.reply("reply.not_allowed", v)
	case !listening:
		return s.reply("reply.nobody", v)
	}
	if codeIn(h.Text) { // of purser's own mails: an app that asks for one is a thief
		if proving, err := s.Developers.ProvingMail(s.tx, s.user.ID); err != nil || proving {
			return errors.Join(err, s.reply("reply.code", v))
		}
	}
	s.to = h.author
	err = s.tell(fmt.Sprintf("message_%d", h.MessageID), wallet.MessageReceived, wallet.MessageReceivedData{
		ChatID: strconv.FormatInt(h.Chat, 10), Username: s.user.Handle(), Message: h.Text, Timestamp: wallet.Timestamp(h.At.UTC())})
	if err != nil {
		return err
	}
	return s.reply("reply.sent", v)
}

// ownKey is the person's key of no app whose line wrote a message, the last of its rotations; the zero Key when an
// app wrote it.
func (s *replyTx) ownKey(author wallet.AppID) (wallet.Key, error) {
	keys, err := s.tx.KeysOf(s.user.ID)
	var last wallet.Key
	for _, key := range keys {
		if key.App == "" && key.WishHolder() == author && (last.ID == "" || key.Next == "") {
			last = key
		}
	}
	return last, err
}
