package chat

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// answerable is how long an app's message can be answered by a reply.
const answerable = 7 * 24 * time.Hour

// authorVerb begins the action of a row that remembers an app's message. No tap has it: such a row is no button.
const authorVerb = "author:"

// authorNonce is where the author of a message in a chat is remembered.
func authorNonce(chat int64, message int) string {
	return nonceOf("author", strconv.FormatInt(chat, 10), strconv.Itoa(message))
}

// Posted remembers whose message a reply of the outbox became, so that a reply to it finds its app. It does
// nothing for purser's own. It writes to the transaction of its caller.
func Posted(tx store.Tx, row store.Reply, message int, now time.Time) error {
	var r Reply
	if !strings.HasPrefix(row.Card, appCard) || message == 0 || json.Unmarshal(row.Body, &r) != nil || r.Author == "" {
		return nil
	}
	return tx.PutButtons([]store.Button{{Nonce: authorNonce(row.Chat, message), Chat: row.Chat, User: row.Chat,
		Action: authorVerb + string(r.Author), Subject: appCard, ExpiresAt: now.Add(answerable)}})
}

// Author is the app whose message stands in a person's private chat; "" for purser's own messages, and for what was
// sent too long ago.
func Author(tx store.Tx, chat int64, message int, now time.Time) (wallet.AppID, error) {
	row, err := tx.Button(authorNonce(chat, message))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil || row.User != chat || !now.Before(row.ExpiresAt) {
		return "", err
	}
	author, _ := strings.CutPrefix(row.Action, authorVerb)
	return wallet.AppID(author), nil
}

// authorOf is the app whose message somebody replies to in their private chat; "" for none.
func (c *Chat) authorOf(tx store.Tx, in Input) (wallet.AppID, error) {
	if in.ReplyTo == 0 || !in.Private || in.Tap != nil || in.Chat != in.From.TelegramID {
		return "", nil
	}
	return Author(tx, in.Chat, in.ReplyTo, c.Now())
}
