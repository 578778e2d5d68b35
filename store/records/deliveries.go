package records

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// hookPrefix begins the keys of everything that belongs to a webhook: its id and a zero byte, which no id contains.
func hookPrefix(id wallet.WebhookID) []byte { return append([]byte(id), 0) }

// deliveryKey orders the deliveries of a webhook: by urgency (one byte), then in the order in which they were put (an
// 8-byte number).
func deliveryKey(id wallet.WebhookID, at store.Position) []byte {
	return binary.BigEndian.AppendUint64(append(hookPrefix(id), byte(at.Urgency)), at.Seq)
}

// aboutKey is the entry by which the deliveries about a person are found when the person is erased.
func aboutKey(user wallet.UserID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(userPrefix(user), seq)
}

// PutDeliveries stores new deliveries, then puts the jobs of their webhooks, in the same Update: after a crash no
// delivery waits without a job. A delivery whose id exists, whose webhook is gone or whose person was erased is left
// out without an error.
//
// Each new delivery comes back with the number of the one before it in the same webhook and urgency. A sender that
// remembers its place compares the two and sees whether it missed any.
func (t *tx) PutDeliveries(all []store.Delivery) ([]store.PlacedDelivery, error) {
	var fresh []store.PlacedDelivery
	last := map[string]uint64{} // number of the last one, by webhook and urgency
	for _, d := range all {
		if err := errors.Join(checkID(d.ID), checkID(string(d.Webhook))); err != nil {
			return nil, err
		}
		if t.get(webhooks, []byte(d.Webhook)) == nil || t.isErased(d.User) || t.get(deliveryRows, []byte(d.ID)) != nil {
			continue
		}
		// The first delivery of a webhook and urgency looks up which one is last in the table. The next ones take it
		// from `last`.
		line := append(hookPrefix(d.Webhook), byte(d.Urgency))
		behind, known := last[string(line)]
		if !known {
			behind = t.lastDelivery(line)
		}
		// Numbers are drawn for the whole table, so they have gaps within one webhook.
		var err error
		if d.Seq, err = t.next(deliveries); err != nil {
			return nil, err
		}
		if err := t.putDelivery(d); err != nil {
			return nil, err
		}
		last[string(line)] = d.Seq
		fresh = append(fresh, store.PlacedDelivery{Delivery: d, Behind: behind})
	}
	return fresh, t.wakeWebhooks(fresh)
}

// wakeWebhooks puts the jobs of the webhooks that got deliveries, one for each webhook.
func (t *tx) wakeWebhooks(fresh []store.PlacedDelivery) error {
	if len(fresh) == 0 {
		return nil
	}
	q, err := t.jobQueue(store.Deliveries)
	if err != nil {
		return err
	}
	seen := map[wallet.WebhookID]bool{}
	for _, d := range fresh {
		if seen[d.Webhook] {
			continue
		}
		seen[d.Webhook] = true
		if err := t.wakeWebhook(q, d.Webhook, d.NextAt); err != nil {
			return err
		}
	}
	return nil
}

// wakeWebhook puts the job of a webhook, unless one is in flight or may be claimed at once. A job that waits for a
// later time is put again, for now. A listener (Webhook.Listener) has no job: the node that holds its connection
// looks for its deliveries itself.
func (t *tx) wakeWebhook(q *jobQueue, id wallet.WebhookID, now time.Time) error {
	if awake, err := q.awake(store.JobID(id)); awake || err != nil {
		return err
	}
	hook, _, err := plainOf[wallet.Webhook](t, webhooks, []byte(id), t.get(webhooks, []byte(id)))
	if err != nil { // without its row nothing can be sent to it
		t.skipDamaged(webhooks, []byte(id), err)
		return nil
	}
	if hook.Listener {
		return nil
	}
	owner := cmp.Or(string(hook.Owner), hook.Lineage) // for fairness, an operator's key is an owner of its own
	_, err = t.PutJobs([]store.Job{{ID: store.JobID(id), Queue: store.Deliveries, Owner: owner, Priority: store.JobNormal, About: hook.Owner, At: now}}, nil)
	return err
}

// awake tells whether a job is in flight or may be claimed at once, so that putting it again would change nothing. It
// remembers a "yes" for the rest of the commit, until a job of the queue changes.
func (q *jobQueue) awake(id store.JobID) (bool, error) {
	if q.awakeJob == id { // up to 64 events share a commit: only the first one reads the row
		return true, nil
	}
	j, err := q.find(id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || !j.inFlight() && !j.Due.IsZero() {
		return false, err
	}
	q.awakeJob = id
	return true, nil
}

// relayJob is the ID of the one job of the queue Relay.
const relayJob = "relay"

// wakeRelay puts the job that turns outbox events into deliveries.
func (t *tx) wakeRelay(now time.Time) error {
	q, err := t.jobQueue(store.Relay)
	if err != nil {
		return err
	}
	if awake, err := q.awake(relayJob); awake || err != nil {
		return err
	}
	_, err = t.PutJobs([]store.Job{{ID: relayJob, Queue: store.Relay, Priority: store.JobNormal, At: now}}, nil)
	return err
}

// RestoreDeliveryJobs puts jobs that are missing although deliveries or outbox events wait, as after a job was
// damaged or became a dead letter. It costs one lookup for each waiting webhook. A job that waits for its time keeps
// that time.
func (t *tx) RestoreDeliveryJobs(now time.Time) error {
	if !t.isEmpty(outboxEvents) {
		if err := t.wakeRelay(now); err != nil {
			return err
		}
	}
	q, err := t.jobQueue(store.Deliveries)
	if err != nil {
		return err
	}
	waiting, err := t.WaitingWebhooks()
	if err != nil {
		return err
	}
	for _, id := range waiting {
		if _, err := q.find(store.JobID(id)); !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return err
			}
			continue // it waits for its time
		}
		if err := t.wakeWebhook(q, id, now); err != nil {
			return err
		}
	}
	return nil
}

// lastDelivery is the number of the last delivery under the prefix of a webhook and urgency, 0 without one. For a
// damaged entry it is the largest number. No sender has reached that one, so every sender reads its deliveries again.
func (t *tx) lastDelivery(line []byte) uint64 {
	key, _ := t.last(deliveries, line)
	if key == nil {
		return 0
	}
	n, err := keyNumber(key[len(line):])
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// putDelivery writes three entries: the row by the delivery's id, the place in its webhook's order (deliveries),
// which names that id, and the entry among the deliveries about its person.
func (t *tx) putDelivery(d store.Delivery) error {
	key := deliveryKey(d.Webhook, d.Position())
	raw, err := t.seal(deliveries, key, d.User, plainDelivery(d), sealedDelivery(d))
	if err != nil {
		return err
	}
	if d.User != "" {
		if err := t.put(deliveriesAbout, aboutKey(d.User, d.Seq), key); err != nil {
			return err
		}
	}
	return errors.Join(t.put(deliveries, key, []byte(d.ID)), t.putRow(deliveryRows, []byte(d.ID), raw))
}

// plainDelivery is the part of a delivery that is not sealed.
func plainDelivery(d store.Delivery) store.Delivery {
	d.OrderingKey, d.Body = "", nil
	return d
}

// sealedDelivery is the sealed field of a delivery: the length of the ordering key as a uvarint, the ordering key,
// the body. They share one ciphertext, since each ciphertext costs 40 bytes.
func sealedDelivery(d store.Delivery) field {
	out := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(d.OrderingKey)+len(d.Body)), uint64(len(d.OrderingKey)))
	return field{"delivery", append(append(out, d.OrderingKey...), d.Body...)}
}

// openSealed reads what sealedDelivery wrote, and sets OrderingKey and Body of d. ErrDamaged: it is too short.
func openSealed(d *store.Delivery, sealed []byte) error {
	line, body, err := cutPart(sealed)
	if err != nil {
		return err
	}
	d.OrderingKey, d.Body = string(line), body
	return nil
}

// openDelivery reads the row of a delivery id. Its sealed field opens only for the key of deliveries that leads to it.
func (t *tx) openDelivery(key, id, raw []byte) (store.Delivery, error) {
	var d store.Delivery
	r, err := t.row(deliveryRows, id, raw)
	if err != nil {
		return store.Delivery{}, err
	}
	sealed, err := t.unsealAs(deliveries.String(), key, r, &d, "delivery")
	if err != nil {
		return store.Delivery{}, err
	}
	return d, openSealed(&d, sealed[0])
}

// DeliveriesOf walks the entries of one urgency behind `after` and opens their rows. For a webhook that is gone it
// returns nothing, although Sweep may not have removed its deliveries yet.
func (t *tx) DeliveriesOf(id wallet.WebhookID, after store.Position, limit int) ([]store.Delivery, error) {
	if t.get(webhooks, []byte(id)) == nil {
		return nil, nil
	}
	var out []store.Delivery
	r, from := engine.Prefix(append(hookPrefix(id), byte(after.Urgency))), deliveryKey(id, after)
	r.From = from
	for key, named := range t.scan(deliveries, r) {
		if len(out) >= limit {
			break
		}
		if bytes.Equal(key, from) { // the page begins behind this one
			continue
		}
		d, err := t.openDelivery(key, named, t.get(deliveryRows, named))
		switch {
		case err == nil:
			out = append(out, d)
		case !erased(err):
			t.skipDamaged(deliveryRows, named, err)
		}
	}
	return out, nil
}

// Delivery finds a delivery by its id. A damaged one is reported to the operator and reads as ErrNotFound, since an
// API client asks for it by id.
func (t *tx) Delivery(id string) (store.Delivery, error) {
	raw := t.get(deliveryRows, []byte(id))
	if raw == nil {
		return store.Delivery{}, store.ErrNotFound
	}
	d, _, err := plainOf[store.Delivery](t, deliveryRows, []byte(id), raw)
	if err == nil {
		if t.get(webhooks, []byte(d.Webhook)) == nil { // its webhook is gone: Sweep removes the row later
			return store.Delivery{}, store.ErrNotFound
		}
		d, err = t.openDelivery(deliveryKey(d.Webhook, d.Position()), []byte(id), raw)
	}
	if err != nil && !erased(err) {
		t.skipDamaged(deliveryRows, []byte(id), err)
		err = store.ErrNotFound
	}
	return d, err
}

// WaitingWebhooks lists the webhooks that deliveries wait for. It reads one entry for each: from the first entry of a
// webhook it seeks to the first one of the next.
func (t *tx) WaitingWebhooks() ([]wallet.WebhookID, error) {
	var out []wallet.WebhookID
	for key, _ := t.first(deliveries, all()); key != nil; {
		id, _, _ := bytes.Cut(key, []byte{0})
		if t.get(webhooks, id) != nil {
			out = append(out, wallet.WebhookID(id))
		}
		key, _ = t.first(deliveries, engine.Range{From: join(id, []byte{1})}) // id.1 comes after every key that begins with id.0
	}
	return out, nil
}

// Waiting counts entries and opens no row.
func (t *tx) Waiting(id wallet.WebhookID, limit int) (int, error) {
	if t.get(webhooks, []byte(id)) == nil {
		return 0, nil
	}
	count := 0
	for range t.scan(deliveries, engine.Prefix(hookPrefix(id))) {
		if count >= limit {
			break
		}
		count++
	}
	return count, nil
}

// listed tells whether a delivery still waits at the place where its caller read it. It may have been done, removed
// or erased since then, in another Update.
func (t *tx) listed(d store.Delivery) bool {
	return d.ID != "" && string(t.get(deliveries, deliveryKey(d.Webhook, d.Position()))) == d.ID
}

// Reschedule writes the attempts of deliveries that still wait, their next time, and whether they were counted. It rewrites the plain part, so it
// encrypts nothing. The body stays as it was put.
func (t *tx) Reschedule(all []store.Delivery) error {
	for _, d := range all {
		if !t.listed(d) {
			continue
		}
		key := []byte(d.ID)
		old, r, err := plainOf[store.Delivery](t, deliveryRows, key, t.get(deliveryRows, key))
		if err != nil {
			t.skipDamaged(deliveryRows, key, err)
			continue
		}
		old.Attempts, old.NextAt, old.Pause, old.Counted = d.Attempts, d.NextAt, d.Pause, d.Counted
		if err := t.rewrite(deliveryRows, key, r, old); err != nil {
			return err
		}
	}
	return nil
}

// DoneDeliveries removes deliveries that were made or given up. One that is gone already is no error: two nodes may
// have sent it.
func (t *tx) DoneDeliveries(all []store.Delivery) error {
	for _, d := range all {
		if !t.listed(d) {
			continue
		}
		if err := t.removeDelivery(d); err != nil {
			return err
		}
	}
	return nil
}

// removeDelivery removes the row of a delivery and both entries that lead to it.
func (t *tx) removeDelivery(d store.Delivery) error {
	return errors.Join(t.delete(deliveries, deliveryKey(d.Webhook, d.Position())), t.delete(deliveryRows, []byte(d.ID)),
		t.delete(deliveriesAbout, aboutKey(d.User, d.Seq)))
}

// abandonedAtOnce is how many deliveries one transaction removes together with their webhook or their person, so that
// a long queue does not delay other writers. Sweep removes the rest.
const abandonedAtOnce = 1000

// abandon begins to remove the deliveries of a deleted webhook, or the deliveries and jobs about an erased person.
// What is left after abandonedAtOnce rows is noted for Sweep. The note's time is 1970, so Sweep takes it first.
func (t *tx) abandon(e expiry, id []byte) error {
	_, _, err := t.dropAbandoned(e.key(time.Unix(0, 0), id), abandonedAtOnce)
	return err
}

// dropAbandoned removes up to limit rows that a note of abandon is about. It returns how many, and whether these were
// all. If they were not, the note stays, and its value says where in the jobs the next call goes on. Each call
// commits on its own, so a crash repeats at most one of them.
func (t *tx) dropAbandoned(note []byte, limit int) (n int, all bool, err error) {
	e, id := expiry(note[timeSize]), note[timeSize+1:]
	if n, err = t.dropDeliveries(e, id, limit); err != nil {
		return 0, true, err
	}
	// The limit is reached: deliveries may be left.
	if n >= limit {
		return n, false, t.put(expiries, note, nil)
	}
	// A deleted webhook has no jobs about it. An erased person may.
	if e != personErased {
		return n, true, nil
	}
	of, next, err := t.dropJobsAbout(wallet.UserID(id), bytes.Clone(t.get(expiries, note)), limit-n, jobsWalked)
	if err != nil {
		return 0, true, err
	}
	if next != nil {
		err = t.put(expiries, note, next)
	}
	return n + of, next == nil, err
}

// dropDeliveries removes up to limit deliveries of a webhook or about a user, and returns how many.
func (t *tx) dropDeliveries(e expiry, id []byte, limit int) (int, error) {
	from := map[expiry]table{webhookGone: deliveries, personErased: deliveriesAbout}[e]
	line := t.firstOf(from, join(id, []byte{0}), limit)
	for _, found := range line {
		key := found.key
		if from == deliveriesAbout {
			key = found.value
		}
		if err := errors.Join(t.dropDelivery(key), t.delete(from, found.key)); err != nil {
			return 0, err
		}
	}
	return len(line), nil
}

// dropDelivery removes the delivery of a key, even if its row is damaged.
func (t *tx) dropDelivery(key []byte) error {
	id := bytes.Clone(t.get(deliveries, key))
	d, _, err := plainOf[store.Delivery](t, deliveryRows, id, t.get(deliveryRows, id))
	if err != nil { // an entry in deliveriesAbout leads to nothing then
		return errors.Join(t.delete(deliveries, key), t.delete(deliveryRows, id))
	}
	return t.removeDelivery(d)
}
