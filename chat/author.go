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

// answerable is how long a person can reply to an app's message. After that the row is swept, and a reply counts as ordinary
// text.
const answerable = 7 * 24 * time.Hour

// authorVerb is the prefix of store.Button.Action in rows that record the author of a message. No callback has this name, so
// such a row never works as a button.
const authorVerb = "author:"

// authorNonce returns the nonce under which the author of a message in a chat is stored.
func authorNonce(chat int64, message int) string {
	return nonceOf("author", strconv.FormatInt(chat, 10), strconv.Itoa(message))
}

// Posted records the author of an app's message after Telegram has assigned it a message id, so that replies to it can reach
// the app. It does nothing for purser's own messages. It writes to the caller's transaction.
func Posted(tx store.Tx, row store.Reply, message int, now time.Time) error {
	var r Reply
	if !strings.HasPrefix(row.Card, appCard) || message == 0 || json.Unmarshal(row.Body, &r) != nil || r.Author == "" {
		return nil
	}
	return tx.PutButtons([]store.Button{{Nonce: authorNonce(row.Chat, message), Chat: row.Chat, User: row.Chat,
		Action: authorVerb + string(r.Author), Subject: appCard, ExpiresAt: now.Add(answerable)}})
}

// Author returns the app that wrote a message in a person's private chat. It returns "" for purser's own messages and for
// messages older than a week.
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

// authorOf returns the app whose message this input replies to, or "". Replies count only in private chats, where the chat id
// is the person's own Telegram id: in a group, anybody could answer in the person's place.
func (c *Chat) authorOf(tx store.Tx, in Input) (wallet.AppID, error) {
	if in.ReplyTo == 0 || !in.Private || in.Tap != nil || in.Chat != in.From.TelegramID {
		return "", nil
	}
	return Author(tx, in.Chat, in.ReplyTo, c.Now())
}
