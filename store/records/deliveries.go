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

// lineOf begins the keys of everything that belongs to a webhook.
func lineOf(id wallet.WebhookID) []byte { return append([]byte(id), 0) }

// deliveryKey orders the deliveries of a webhook: by urgency, then in the order in which they were put.
func deliveryKey(id wallet.WebhookID, at store.Position) []byte {
	return binary.BigEndian.AppendUint64(append(lineOf(id), byte(at.Urgency)), at.Seq)
}

// aboutKey is the entry by which the deliveries about a person are found when the person is erased.
func aboutKey(user wallet.UserID, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(userPrefix(user), seq)
}

// PutDeliveries stores new deliveries, then puts the jobs of their webhooks. Each new delivery comes back with the
// number of the one before it in the same webhook and urgency: a sender that remembers its place sees whether it missed
// any.
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
		// The first of a webhook and urgency looks up which delivery is last, the next ones remember.
		line := append(lineOf(d.Webhook), byte(d.Urgency))
		behind, known := last[string(line)]
		if !known {
			behind = t.lastDelivery(line)
		}
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
// later time is put again, for now. A listener has no job: the node that holds its connection looks for its deliveries
// itself.
func (t *tx) wakeWebhook(q *jobQueue, id wallet.WebhookID, now time.Time) error {
	if awake, err := q.awake(store.JobID(id)); awake || err != nil {
		return err
	}
	hook, _, err := plainOf[wallet.Webhook](t, webhooks, []byte(id), t.get(webhooks, []byte(id)))
	if err != nil { // nobody can be sent anything by it
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

// awake tells whether a job is in flight or may be claimed at once, so that putting it again would change nothing.
func (q *jobQueue) awake(id store.JobID) (bool, error) {
	if q.awakeJob == id { // of 64 events that share a commit the first looked
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

// wakeRelay puts the job that turns announcements into deliveries.
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

// RestoreDeliveryJobs puts missing jobs only: one that waits for its time keeps it.
func (t *tx) RestoreDeliveryJobs(now time.Time) error {
	if !t.isEmpty(announcements) {
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
// damaged entry it is the largest number, which no sender has reached, so that every sender reads again.
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

// putDelivery writes the row, its place in the webhook's order, and its entry among those about its person.
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

// sealedDelivery is the sealed field of a delivery: length of the ordering key, ordering key, body. They share one
// ciphertext, since each ciphertext costs 40 bytes.
func sealedDelivery(d store.Delivery) field {
	out := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(d.OrderingKey)+len(d.Body)), uint64(len(d.OrderingKey)))
	return field{"delivery", append(append(out, d.OrderingKey...), d.Body...)}
}

// openSealed reads what sealedDelivery wrote into a delivery.
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

// DeliveriesOf walks the entries behind `after` and opens their rows.
func (t *tx) DeliveriesOf(id wallet.WebhookID, after store.Position, limit int) ([]store.Delivery, error) {
	if t.get(webhooks, []byte(id)) == nil {
		return nil, nil
	}
	var out []store.Delivery
	r, from := engine.Prefix(append(lineOf(id), byte(after.Urgency))), deliveryKey(id, after)
	r.From = from
	for key, named := range t.scan(deliveries, r) {
		if len(out) >= limit {
			break
		}
		if bytes.Equal(key, from) {
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

// Delivery finds a delivery by its id. Its webhook's key follows from the plain part of the row.
func (t *tx) Delivery(id string) (store.Delivery, error) {
	raw := t.get(deliveryRows, []byte(id))
	if raw == nil {
		return store.Delivery{}, store.ErrNotFound
	}
	d, _, err := plainOf[store.Delivery](t, deliveryRows, []byte(id), raw)
	if err == nil {
		if t.get(webhooks, []byte(d.Webhook)) == nil { // the row waits for Sweep
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

// WaitingWebhooks reads one entry for each webhook: from the first of one it leaps over the rest to the next webhook.
func (t *tx) WaitingWebhooks() ([]wallet.WebhookID, error) {
	var out []wallet.WebhookID
	for key, _ := t.first(deliveries, all()); key != nil; {
		id, _, _ := bytes.Cut(key, []byte{0})
		if t.get(webhooks, id) != nil {
			out = append(out, wallet.WebhookID(id))
		}
		key, _ = t.first(deliveries, engine.Range{From: join(id, []byte{1})}) // over the rest of its line
	}
	return out, nil
}

// Waiting counts entries and opens no row.
func (t *tx) Waiting(id wallet.WebhookID, limit int) (int, error) {
	if t.get(webhooks, []byte(id)) == nil {
		return 0, nil
	}
	count := 0
	for range t.scan(deliveries, engine.Prefix(lineOf(id))) {
		if count >= limit {
			break
		}
		count++
	}
	return count, nil
}

// listed tells whether a delivery still waits at the place where its caller has seen it.
func (t *tx) listed(d store.Delivery) bool {
	return d.ID != "" && string(t.get(deliveries, deliveryKey(d.Webhook, d.Position()))) == d.ID
}

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
		old.Attempts, old.NextAt, old.Pause = d.Attempts, d.NextAt, d.Pause
		if err := t.rewrite(deliveryRows, key, r, old); err != nil {
			return err
		}
	}
	return nil
}

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

// abandonedAtOnce is how many deliveries one transaction removes with their webhook or their person, so that a long
// queue does not hold up other writers. Sweep removes the rest.
const abandonedAtOnce = 1000

// abandon removes the deliveries of a webhook that is gone, or the deliveries and jobs about an erased person. What is
// left after a first part is noted for Sweep, as due since 1970.
func (t *tx) abandon(e expiry, id []byte) error {
	_, _, err := t.dropAbandoned(e.key(time.Unix(0, 0), id), abandonedAtOnce)
	return err
}

// dropAbandoned removes up to limit rows that a note of abandon is about. It returns how many, and whether these were
// all. If not, the note stays, and its value says where in the jobs to go on.
func (t *tx) dropAbandoned(note []byte, limit int) (n int, all bool, err error) {
	e, id := expiry(note[timeSize]), note[timeSize+1:]
	if n, err = t.dropDeliveries(e, id, limit); err != nil {
		return 0, true, err
	}
	if n >= limit {
		return n, false, t.put(expiries, note, nil)
	}
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
