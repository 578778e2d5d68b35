package chat

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// countHooks adds to v how many webhooks a key has, and how many of them are inactive or failing. Open connections of
// `purser listen` (Webhook.Listener) do not count.
func (s *replyTx) countHooks(key wallet.Key, v vars) error {
	v["Hooks"], v["HooksOff"], v["HooksFailing"] = html(""), "", ""
	all, err := s.tx.WebhooksOf(key.Lineage())
	all = slices.DeleteFunc(all, func(w wallet.Webhook) bool { return w.Listener })
	if err != nil || len(all) == 0 {
		return err
	}
	// An inactive webhook counts as off even if it failed before.
	off, failing := 0, 0
	for _, hook := range all {
		health, err := s.tx.WebhookHealth(hook.ID)
		switch {
		case err != nil:
			return err
		case !hook.Active:
			off++
		case !health.FailingSince.IsZero():
			failing++
		}
	}
	v["Hooks"], err = s.words.text("hook.count", vars{"Count": len(all)})
	if off > 0 {
		v["HooksOff"] = off
	}
	if failing > 0 {
		v["HooksFailing"] = failing
	}
	return err
}

// notifyWebhook notifies the owner of a webhook that a delivery was dead-lettered, or that the webhook was turned off.
func (s *replyTx) notifyWebhook(trouble wallet.WebhookTroubleData) error {
	hook, err := s.tx.Webhook(trouble.WebhookID)
	if errors.Is(err, store.ErrNotFound) { // deleted in the meantime
		return nil
	}
	if err != nil {
		return err
	}
	why := trouble.Reason
	if why.IsZero() {
		why = wallet.Because("attempt.unanswered")
	}
	sentence, err := s.words.reason(why)
	if err != nil {
		return err
	}
	v := vars{"Host": "?", "Why": sentence, "Path": "/v1/webhooks/" + string(hook.ID), "Kept": trouble.KeptHours}
	if u, err := url.Parse(hook.URL); err == nil { // host only: the path and query may hold a secret
		v["Host"] = u.Host
	}
	if hook.Kind == wallet.BotKey {
		v["Path"] = "/v1/telegram/webhook"
	}
	said := map[wallet.Ending]string{"": "hook.dead_lettered", wallet.EndedGone: "hook.gone", wallet.EndedFailing: "hook.failing", wallet.EndedBacklog: "hook.backlog"}[trouble.Ended]
	return s.reply(said, v)
}

// tapPortal sends a link to the portal for the webhooks of one key. The link opens the portal once, for anybody who has it,
// so it is sent only to the key's owner and marked Secret.
func (c *Chat) tapPortal(_ context.Context, _ Inbound, id string) (Action, error) {
	// The random token is drawn outside the transaction, which may run twice. Offer stores only its hash.
	token, err := c.Portal.NewToken()
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		key, err := s.Developers.Key(s.tx, s.user.ID, id)
		if err == nil {
			err = s.Portal.Offer(s.tx, token, key)
		}
		if labelled(err) {
			return s.refused(err)
		}
		if err != nil {
			return err
		}
		kind, err := s.words.text(kindNames()[key.Kind], nil)
		if err != nil {
			return err
		}
		text, err := s.words.text("hook.portal", vars{"Kind": kind, "Hint": key.Hint, "Host": s.PagesURL.Host, "Minutes": int(handlers.PortalLinkLife.Minutes())})
		if err != nil {
			return err
		}
		label, err := s.words.text("button.open_portal", nil)
		if err != nil {
			return err
		}
		return s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true,
			Buttons: [][]Button{{{Text: plain(label), URL: s.portalPage(token)}}}}, "")
	}, nil
}
