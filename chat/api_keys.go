package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// KeyShown is how long a new key stays visible in the chat.
const KeyShown = time.Minute

// deletable is the age up to which a bot can delete a message: 48 hours (Bot API, deleteMessage), minus an hour for clocks
// that differ.
const deletable = 47 * time.Hour

// newKeys is the input of showKeys: the new keys, and for a rotation when the old key ends.
type newKeys struct {
	handlers.Made
	oldEnds time.Time // when the rotated key ends; zero if none was rotated
}

// showKeys shows new keys once. Their secrets are only in this reply, never in the conversation's data: a key that was not
// copied in time is lost, and has to be rotated. The conversation remembers the card and removes it after KeyShown.
func (s *replyTx) showKeys() error {
	nonce, err := s.nonce()
	if err != nil {
		return err
	}
	// A card of its own for each showing: removing it must not touch a later one.
	card := "keys:" + nonce
	s.resetData(&access{Shown: card, ShownAt: s.now})
	s.question.Ask = card
	s.conv.ExpiresAt = s.now.Add(KeyShown)
	saved, err := s.catalogueButton("button.saved", "saved", card, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	fresh, _ := s.found.(newKeys)
	blocks, rows, err := s.keyBlocks(fresh)
	if err != nil {
		return err
	}
	v := vars{"Keys": blocks, "App": fresh.App.Name, "Old": html("")}
	if !fresh.oldEnds.IsZero() {
		v["Old"] = html(s.words.moment(fresh.oldEnds))
	}
	text, err := s.words.text("keys.shown", v)
	if err != nil {
		return err
	}
	// Secret keeps the text out of logs, events and idempotency records.
	return s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true, Buttons: append(rows, []Button{saved})}, card)
}

// keyBlocks returns the new keys as text, and a button for each that copies it. Its result contains secrets: it may go only
// into a Reply that is marked Secret.
func (s *replyTx) keyBlocks(fresh newKeys) (html, [][]Button, error) {
	var blocks []string
	var rows [][]Button
	for _, key := range fresh.Keys {
		kind, err := s.words.text(kindNames()[key.Key.Kind], nil)
		if err != nil {
			return "", nil, err
		}
		scopes, err := s.names(key.Key.Scopes)
		if err != nil {
			return "", nil, err
		}
		block, err := s.words.text("keys.new", vars{"Kind": kind, "Key": key.Secret, "Scopes": scopes, "Tier": string(key.Key.Tier)})
		if err != nil {
			return "", nil, err
		}
		label, err := s.words.text("button.copy_key", vars{"Kind": kind})
		if err != nil {
			return "", nil, err
		}
		blocks = append(blocks, string(block))
		rows = append(rows, []Button{{Text: plain(label), Copy: key.Secret}})
	}
	return html(strings.Join(blocks, "\n\n")), rows, nil
}

// removeKeys removes new keys from the chat. If their message is still queued, the notice replaces it before it is sent. If
// it was sent, it is deleted, or overwritten if it is too old for Telegram to delete, after purser was down for days.
func (s *replyTx) removeKeys() error { return s.takeKeysAway("keys.gone") }

// keysAreSaved is removeKeys after the person has saved the key, with a pointer to the first call.
func (s *replyTx) keysAreSaved() error { return s.takeKeysAway("keys.saved") }

// leaveKeys keeps new keys visible for the rest of their minute while the person does something else, for example looks
// something up before copying. A second conversation beside the main one (keysSlot) removes them in time.
func (s *replyTx) leaveKeys() error {
	beside, err := s.keysBeside()
	if err != nil {
		return err
	}
	if beside.State != "" { // a second key within a minute: remove the older one now
		if err := s.endKeysBeside(beside, "keys.gone"); err != nil {
			return err
		}
		if beside, err = s.keysBeside(); err != nil {
			return err
		}
	}
	if beside.Data, err = s.remembered(apiFlow); err != nil {
		return err
	}
	beside.Flow, beside.State, beside.ExpiresAt = apiFlow, string(keyShown), dataOf[access](s).ShownAt.Add(KeyShown)
	return store.SaveConversation(s.tx, beside, s.now)
}

// keysSlot is the store.Conversation.Slot of that second conversation. /delete_me erases it with the person.
const keysSlot = "keys"

// keysBeside returns the second conversation; its State is "" if there is none.
func (s *replyTx) keysBeside() (store.Conversation, error) {
	return s.tx.Conversation(s.conv.Chat, s.conv.User, keysSlot)
}

// endKeysBeside removes the keys of the second conversation from the chat and ends it.
func (s *replyTx) endKeysBeside(beside store.Conversation, said string) error {
	there := &replyTx{Chat: s.Chat, words: s.words, tx: s.tx, user: s.user, now: s.now, conv: beside, priority: s.priority}
	if there.question, there.data = s.open(&there.conv); there.state() == keyShown {
		if err := there.takeKeysAway(said); err != nil {
			return err
		}
	}
	there.conv.State, there.moved = "", true
	return there.end()
}

// takeKeysAway removes the message with keys and sends the text said.
func (s *replyTx) takeKeysAway(said string) error {
	shown, v := dataOf[access](s), vars{"API": html(escape(s.PublicURL.String())), "Docs": s.docs()}
	// No card yet means that the message is still queued: a reply of the same card replaces it.
	message, err := s.tx.Card(s.conv.Chat, shown.Shown)
	if errors.Is(err, store.ErrNotFound) || err == nil && s.now.Sub(shown.ShownAt) > deletable {
		return s.show(shown.Shown, said, v)
	}
	if err != nil {
		return err
	}
	if err := s.enqueue(Reply{Kind: Delete, MessageID: message}, ""); err != nil {
		return err
	}
	return s.reply(said, v)
}

// tapSaved removes shown keys because the person has saved them.
func (c *Chat) tapSaved(_ context.Context, h Inbound, _ string) (Action, error) {
	if !h.newest(apiFlow, keyShown) {
		return (*replyTx).savedBeside, nil
	}
	return h.tapAccess(keyShown, func(s *replyTx) error { return s.transition(apiFlow, keySaved) }), nil
}

// savedBeside answers the button of keys that are shown while the main conversation is about something else.
func (s *replyTx) savedBeside() error {
	beside, err := s.keysBeside()
	if err != nil {
		return err
	}
	was := beside
	if asked, _ := s.open(&was); beside.State == "" || asked.Ask != s.inbound.button.Subject {
		return s.toast("toast.old", nil)
	}
	if err := s.use(); err != nil {
		return err
	}
	return s.endKeysBeside(beside, "keys.saved")
}

// keysCard is the card of the newest list of keys, and keyCard that of the messages about one key.
const keysCard = "keys"

func keyCard(id string) string { return "key:" + id }

// listKeys shows the person's keys in a new message, each with a button. An older list loses its buttons.
func (s *replyTx) listKeys(st handlers.Standing) error {
	if err := s.moveCard(keysCard); err != nil {
		return err
	}
	return s.showList(st)
}

// redrawList updates the newest list after a key has changed. Without a list in the chat it does nothing, since nobody asked
// for one.
func (s *replyTx) redrawList() error {
	switch _, err := s.tx.Card(s.conv.Chat, keysCard); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	st, err := s.Developers.Standing(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	if len(st.Keys) == 0 {
		return s.show(keysCard, "keys.list_empty", nil)
	}
	return s.showList(st)
}

// showList draws the list of keys with a button for each and one for a new key.
func (s *replyTx) showList(st handlers.Standing) error {
	const most = 20 // the chat creates at most handlers.MaxKeys; the command line may create more
	var lines []string
	var row []Button
	var rows [][]Button
	for _, key := range st.Keys[:min(len(st.Keys), most)] {
		line, err := s.listedKey(key)
		if err != nil {
			return err
		}
		kind, err := s.words.text(kindNames()[key.Kind], nil)
		if err != nil {
			return err
		}
		label, err := s.words.text("button.key", vars{"Kind": kind, "Hint": html(escape(key.Hint))})
		if err != nil {
			return err
		}
		b, err := s.button(label, "key:"+key.ID, keysCard, s.now.Add(menuLife))
		if err != nil {
			return err
		}
		lines, row = append(lines, string(line)), append(row, b)
		if len(row) == 2 {
			rows, row = append(rows, row), nil
		}
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	// Below the keys: the links that ask people for consent to their apps, and a request that waits.
	links, err := s.consentLinks(st.Keys)
	if err != nil {
		return err
	}
	another, err := s.catalogueButton("button.new_key", "newkey", "keys", s.now.Add(menuLife))
	if err != nil {
		return err
	}
	asked := ""
	if r := st.Developer.Request; r.Waits() {
		asked = s.words.moment(r.RequestedAt)
	}
	text, err := s.words.text("keys.list", vars{"Keys": html(strings.Join(lines, "\n\n")), "More": len(st.Keys) > most, "Links": links, "Asked": asked})
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: append(rows, []Button{another}), NewMessage: s.asNew}, keysCard)
}

// listedKey describes one key: kind, hint, app, scopes, tier, dates and webhooks.
func (s *replyTx) listedKey(key wallet.Key) (html, error) {
	kind, err := s.words.text(kindNames()[key.Kind], nil)
	if err != nil {
		return "", err
	}
	app, err := s.appName(key.App)
	if err != nil {
		return "", err
	}
	scopes, err := s.names(key.Scopes)
	if err != nil {
		return "", err
	}
	v := vars{"Kind": kind, "Hint": key.Hint, "App": app, "Scopes": scopes, "Tier": string(key.Tier), "Made": s.words.day(key.CreatedAt), "Used": "", "Ends": "",
		"Operator": key.App == ""} // only the command line creates keys without an app
	if !key.LastUsed.IsZero() {
		v["Used"] = s.words.moment(key.LastUsed)
	}
	if ends := endOf(key); !ends.IsZero() {
		v["Ends"] = s.words.moment(ends)
	}
	if err := s.countHooks(key, v); err != nil {
		return "", err
	}
	return s.words.text("keys.line", v)
}

// ScopeInEnglish returns the plain name of a scope, as the list of keys in the chat has it: "Propose payments".
func ScopeInEnglish(scope wallet.Scope) (string, error) {
	words, err := newCatalogue(locales)
	if err != nil {
		return "", err
	}
	return words.printer.Text(scopeKey("scope_name", scope), nil)
}

// endOf returns when a key ends by its expiry or after a rotation, whichever is first; zero for never.
func endOf(key wallet.Key) time.Time {
	if key.RevokedAt.IsZero() || !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(key.RevokedAt) {
		return key.ExpiresAt
	}
	return key.RevokedAt
}

// consentLinks returns the links that ask people for consent to the apps of these keys, one line for each app.
func (s *replyTx) consentLinks(keys []wallet.Key) (html, error) {
	var lines []string
	var seen []wallet.AppID
	me := s.BotName()
	for _, key := range keys {
		if key.App == "" || me == "" || slices.Contains(seen, key.App) {
			continue
		}
		seen = append(seen, key.App)
		name, err := s.appName(key.App)
		if err != nil {
			return "", err
		}
		if name != "" {
			lines = append(lines, "<b>"+escape(name)+"</b>\n"+string(code("https://t.me/"+me+"?start="+string(key.App))))
		}
	}
	return html(strings.Join(lines, "\n")), nil
}

// tapKey shows one key with the actions for it.
func (c *Chat) tapKey(_ context.Context, _ Inbound, id string) (Action, error) {
	return func(s *replyTx) error {
		key, err := s.Developers.Key(s.tx, s.user.ID, id)
		if err != nil {
			return s.refuse(err)
		}
		var row []Button
		if key.RevokedAt.IsZero() { // a rotated key has a successor, which can be rotated instead
			b, err := s.catalogueButton("button.rotate", "rotate:"+id, keyCard(id), s.now.Add(menuLife))
			if err != nil {
				return err
			}
			row = append(row, b)
		}
		b, err := s.catalogueButton("button.revoke", "revoke:"+id, keyCard(id), s.now.Add(menuLife))
		if err != nil {
			return err
		}
		line, err := s.listedKey(key)
		if err != nil {
			return err
		}
		if err := s.moveCard(keyCard(id)); err != nil {
			return err
		}
		rows := [][]Button{append(row, b)}
		// Only keys that can have webhooks get the portal.
		if s.Portal.For(key) == nil {
			b, err := s.catalogueButton("button.portal", "portal:"+id, keyCard(id), s.now.Add(menuLife))
			if err != nil {
				return err
			}
			rows = append(rows, []Button{b})
		}
		return s.enqueue(Reply{Kind: Message, Text: string(line), Buttons: rows, NewMessage: s.asNew}, keyCard(id))
	}, nil
}

// tapRotate asks for confirmation before a key is rotated.
func (c *Chat) tapRotate(_ context.Context, _ Inbound, id string) (Action, error) {
	return askOfKey(id, "keys.rotate_ask", "button.rotate_yes", "rotateyes"), nil
}

// tapRevoke asks for confirmation before a key is revoked.
func (c *Chat) tapRevoke(_ context.Context, _ Inbound, id string) (Action, error) {
	return askOfKey(id, "keys.revoke_ask", "button.revoke_yes", "revokeyes"), nil
}

// askOfKey asks for confirmation of an operation on a key, in place of the key's message.
func askOfKey(id, text, label, operation string) Action {
	return func(s *replyTx) error {
		key, err := s.Developers.Key(s.tx, s.user.ID, id)
		if err != nil {
			return s.refuse(err)
		}
		if operation == "rotateyes" && !key.RevokedAt.IsZero() {
			return s.show(keyCard(id), "keys.rotated_before", vars{"Hint": key.Hint, "Ends": s.words.moment(key.RevokedAt)})
		}
		line, err := s.listedKey(key)
		if err != nil {
			return err
		}
		yes, err := s.catalogueButton(label, operation+":"+id, keyCard(id), s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		no, err := s.catalogueButton("button.keep", "keepkey:"+id, keyCard(id), s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		closed, err := s.words.text("keys.kept", vars{"Hint": key.Hint})
		if err != nil {
			return err
		}
		return s.askAside(keyCard(id), text, vars{"Key": line}, closed, []Button{no, yes})
	}
}

// tapKeepKey answers no: the key stays as it is.
func (c *Chat) tapKeepKey(_ context.Context, _ Inbound, id string) (Action, error) {
	return func(s *replyTx) error {
		key, err := s.Developers.Key(s.tx, s.user.ID, id)
		if ok, err := s.answerTap(err, "toast.kept"); !ok {
			return err
		}
		return s.show(keyCard(id), "keys.kept", vars{"Hint": key.Hint})
	}, nil
}

// tapRotateYes rotates a key: it shows the successor, and the old key keeps working for a grace period
// (handlers.RotationGrace). The successor's random secret is drawn before the transaction, which may run twice.
func (c *Chat) tapRotateYes(ctx context.Context, _ Inbound, id string) (Action, error) {
	next, err := c.Developers.Keys.PrepareRotation(ctx, id)
	if err != nil {
		return refuse(err)
	}
	// The key may have ended or been rotated since PrepareRotation read it, so it is read again here.
	return c.begin(func(s *replyTx) error {
		old, err := s.Developers.Key(s.tx, s.user.ID, id)
		var ends time.Time
		if err == nil {
			ends, err = s.Developers.Keys.CommitRotation(s.tx, id, next, false)
		}
		if err != nil {
			return s.refuse(err)
		}
		if err := s.use(); err != nil {
			return err
		}
		name, err := s.appName(old.App)
		if err != nil {
			return err
		}
		if err := s.show(keyCard(id), "keys.rotated", vars{"Hint": old.Hint, "New": next.Key.Hint, "Ends": s.words.moment(ends)}); err != nil {
			return err
		}
		// The conversation shows the new key and removes it again like any other.
		s.found = newKeys{Made: handlers.Made{App: wallet.App{Name: name}, Keys: []handlers.NewKey{next}}, oldEnds: ends}
		return errors.Join(s.transition(apiFlow, keyMade), s.redrawList())
	}, nil)
}

// tapRevokeYes revokes a key at once. It cannot be undone.
func (c *Chat) tapRevokeYes(_ context.Context, _ Inbound, id string) (Action, error) {
	return func(s *replyTx) error {
		key, err := s.Developers.Key(s.tx, s.user.ID, id)
		if err == nil {
			key, err = s.Developers.Keys.RevokeIn(s.tx, id)
		}
		if ok, err := s.answerTap(err, "toast.revoked"); !ok {
			return err
		}
		return errors.Join(s.show(keyCard(id), "keys.revoked", vars{"Hint": key.Hint}), s.redrawList())
	}, nil
}

// notifyTier notifies a key's owner that an operator changed its tier, and how many webhooks that affects.
func (s *replyTx) notifyTier(set wallet.KeyTierSetData) error {
	key, err := s.tx.Key(set.KeyID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	kind, err := s.words.text(kindNames()[key.Kind], nil)
	if err != nil {
		return err
	}
	count, err := s.words.text("hook.count", vars{"Count": set.Webhooks})
	if err != nil {
		return err
	}
	return s.reply("tier.told", vars{"Kind": kind, "Hint": key.Hint, "Pro": set.Tier == wallet.ProTier, "Webhooks": set.Webhooks, "Hooks": count})
}
