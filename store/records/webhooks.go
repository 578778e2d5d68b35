package records

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// webhookPayload is the sealed part of a webhook: its address and its signing secrets, sealed with the data key of
// the key's owner. Previous is the secret before the last rotation, which signs too during the grace period.
type webhookPayload struct {
	URL      string `json:"url"`
	Secret   string `json:"secret"`
	Previous string `json:"previous,omitempty"`
}

// Webhook returns a webhook with its address and secrets. ErrNotFound: there is none, or its owner was erased.
func (t *tx) Webhook(id wallet.WebhookID) (wallet.Webhook, error) {
	w, payload, err := readWithPayload[wallet.Webhook, webhookPayload](t, webhooks, []byte(id))
	w.URL, w.Secret, w.Previous = payload.URL, payload.Secret, payload.Previous
	return w, err
}

// WebhooksOf lists the webhooks of an API key's lineage, oldest first. A rotated key has the lineage of the one
// before it, so its webhooks stay.
func (t *tx) WebhooksOf(line string) ([]wallet.Webhook, error) {
	return t.listWebhooks(webhooksOf, append([]byte(line), 0)), nil
}

// WebhooksOfOwner lists the webhooks of all keys of a person, oldest first; "" for the operator's.
func (t *tx) WebhooksOfOwner(owner wallet.UserID) ([]wallet.Webhook, error) {
	return t.listWebhooks(webhooksOwned, userPrefix(owner)), nil
}

// AllWebhooks walks the whole table, in the order of ids.
func (t *tx) AllWebhooks() ([]wallet.Webhook, error) {
	var out []wallet.Webhook
	for key := range t.scan(webhooks, all()) {
		out = t.appendWebhook(out, key)
	}
	return out, nil
}

// listWebhooks reads the webhooks that the index entries under a prefix name.
func (t *tx) listWebhooks(b table, prefix []byte) []wallet.Webhook {
	var out []wallet.Webhook
	for _, e := range t.prefixed(b, prefix) {
		out = t.appendWebhook(out, createdID(e.key[len(prefix):]))
	}
	return out
}

// appendWebhook adds a webhook to a list. A damaged one is reported and left out, so that events still reach the
// others.
func (t *tx) appendWebhook(out []wallet.Webhook, id []byte) []wallet.Webhook {
	w, err := t.Webhook(wallet.WebhookID(id))
	if err == nil {
		return append(out, w)
	}
	if !erased(err) {
		t.skipDamaged(webhooks, id, err)
	}
	return out
}

// createdID cuts the id from the end of an index key, which is a time and an id.
func createdID(key []byte) []byte { return key[min(timeSize, len(key)):] }

// webhookIndexes are the keys of a webhook in webhooksOf and webhooksOwned.
func webhookIndexes(w wallet.Webhook) (ofLine, owned []byte) {
	created := append(timeKey(w.CreatedAt), w.ID...)
	return join([]byte(w.Lineage), []byte{0}, created), join(userPrefix(w.Owner), created)
}

// PutWebhook replaces a webhook and raises AccessVersion, so that every cache of subscriptions is read again.
func (t *tx) PutWebhook(w wallet.Webhook) error {
	if err := errors.Join(checkID(string(w.ID)), checkID(w.Lineage)); err != nil {
		return err
	}
	if t.isErased(w.Owner) {
		return store.ErrNotFound
	}
	key := []byte(w.ID)
	// The index entries of the old row go, since its time of creation is a part of them.
	if raw := t.get(webhooks, key); raw != nil {
		old, _, err := plainOf[wallet.Webhook](t, webhooks, key, raw)
		if err != nil {
			return err
		}
		if old.Lineage != w.Lineage || old.Owner != w.Owner {
			return store.ErrConflict
		}
		ofLine, owned := webhookIndexes(old)
		if err := errors.Join(t.delete(webhooksOf, ofLine), t.delete(webhooksOwned, owned)); err != nil {
			return err
		}
	}
	t.touchedAccess = true
	ofLine, owned := webhookIndexes(w)
	if err := errors.Join(t.put(webhooksOf, ofLine, nil), t.put(webhooksOwned, owned, []byte(w.Lineage))); err != nil {
		return err
	}
	payload := webhookPayload{w.URL, w.Secret, w.Previous}
	w.URL, w.Secret, w.Previous = "", "", ""
	return t.putWithPayload(webhooks, key, w.Owner, w, payload)
}

// DeleteWebhook reads only the plain part, so a webhook whose secrets cannot be decrypted can still be deleted.
// Deliveries beyond the first thousand are left to Sweep; every read ignores them from this commit on.
func (t *tx) DeleteWebhook(id wallet.WebhookID) error {
	raw := t.get(webhooks, []byte(id))
	if raw == nil {
		return store.ErrNotFound
	}
	w, _, err := plainOf[wallet.Webhook](t, webhooks, []byte(id), raw)
	if err != nil {
		return err
	}
	ofLine, owned := webhookIndexes(w)
	return t.removeWebhook([]byte(id), ofLine, owned)
}

// removeWebhook removes a webhook and its health by their keys, without reading a row, and removes the first part of
// its deliveries.
func (t *tx) removeWebhook(id, ofLine, owned []byte) error {
	t.touchedAccess = true
	return errors.Join(t.delete(webhooksOf, ofLine), t.delete(webhooksOwned, owned),
		t.delete(webhooks, id), t.delete(webhookHealth, id), t.abandon(webhookGone, id))
}

// eraseWebhooks removes the webhooks of all keys of a person. It reads only index entries, so that a damaged row does
// not keep a webhook alive.
func (t *tx) eraseWebhooks(owner wallet.UserID) error {
	prefix := userPrefix(owner)
	for _, e := range t.prefixed(webhooksOwned, prefix) {
		created := e.key[len(prefix):]
		if err := t.removeWebhook(createdID(created), join(e.value, []byte{0}, created), e.key); err != nil {
			return err
		}
	}
	return nil
}

// healthPayload is the sealed part of a webhook's health. Its reason may name the receiver's host.
type healthPayload struct {
	Reason wallet.Reason `json:"reason,omitzero"`
}

// WebhookHealth returns the zero value for a webhook to which nothing was ever delivered.
func (t *tx) WebhookHealth(id wallet.WebhookID) (wallet.WebhookHealth, error) {
	if t.get(webhookHealth, []byte(id)) == nil {
		return wallet.WebhookHealth{}, nil
	}
	h, payload, err := readWithPayload[wallet.WebhookHealth, healthPayload](t, webhookHealth, []byte(id))
	h.LastReason = payload.Reason
	return h, err
}

// PutWebhookHealth seals the health with the key that sealed its webhook, so both become unreadable together.
// ErrNotFound: the webhook was deleted, and a late result of a delivery must not leave a row behind.
func (t *tx) PutWebhookHealth(id wallet.WebhookID, h wallet.WebhookHealth) error {
	key := []byte(id)
	raw := t.get(webhooks, key)
	if raw == nil {
		return store.ErrNotFound
	}
	r, err := t.row(webhooks, key, raw)
	if err != nil {
		return err
	}
	payload := healthPayload{h.LastReason}
	h.LastReason = wallet.Reason{}
	return t.putWithPayload(webhookHealth, key, r.owner, h, payload)
}
