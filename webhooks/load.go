package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// How deliveries come into the dispatcher's memory: handed over by the relay, or read from the store.

// load is what is read of a webhook's line: from behind what was read of each urgency, as much as there is
// room for.
type load struct {
	queue *queue
	after [urgencies]uint64
	room  [urgencies]int

	hook wallet.Webhook
	gone bool // there is no such webhook
	rows []store.Delivery
	more [urgencies]bool // the store may hold more than there was room for
	err  error
}

// handed takes up deliveries as they were put. A webhook is read on instead where it was never read, where its
// window is full, and where something that was put before a delivery is not known yet.
func (d *dispatcher) handed(rows []store.PlacedDelivery) {
	ready, unread := map[*queue]bool{}, map[*queue]bool{}
	for _, row := range rows {
		q, u := d.queue(row.Webhook), row.Urgency
		switch {
		case row.Seq <= q.read[u]: // it was read meanwhile
		case q.owner == nil || q.loading || row.Behind > q.read[u] || q.held[u] >= d.window():
			q.more[u] = true
			unread[q] = true
		default:
			d.add(q, row.Delivery)
			ready[q] = true
		}
	}
	for q := range ready {
		d.pump(q)
	}
	var all []*load
	for q := range unread {
		all = d.plan(all, q)
	}
	d.load(all)
}

// add takes a delivery into memory, behind those of its line.
func (d *dispatcher) add(q *queue, row store.Delivery) {
	d.held++
	if line := q.add(row); line.state == idle && len(line.items) == 1 {
		d.arm(line, d.due(row))
	}
}

// window is how many deliveries of a webhook's urgency may be in memory now.
func (d *dispatcher) window() int {
	if d.held+d.reserved+urgencies*fullWindow > maxHeld {
		return smallWindow
	}
	return fullWindow
}

// want reads on in the lines of webhooks: something was added to them.
func (d *dispatcher) want(ids []wallet.WebhookID) {
	var all []*load
	for _, id := range ids {
		q := d.queue(id)
		q.more = everyUrgency()
		all = d.plan(all, q)
	}
	d.load(all)
}

// fill reads on in one line.
func (d *dispatcher) fill(q *queue) { d.load(d.plan(nil, q)) }

// plan adds what is to be read of a line, where that is worth while.
func (d *dispatcher) plan(all []*load, q *queue) []*load {
	room, worth := q.room(d.window())
	if !worth || q.loading {
		return all
	}
	for u := range room {
		q.more[u] = q.more[u] && room[u] == 0
		d.reserved += room[u]
	}
	q.loading = true
	return append(all, &load{queue: q, after: q.read, room: room})
}

// load has lines read, many in one look into the store.
func (d *dispatcher) load(all []*load) {
	for some := range slices.Chunk(all, loadAtOnce) {
		d.busy.Add(1)
		go func() {
			defer d.busy.Done()
			d.read(d.ctx, some)
			d.loads <- some
		}()
	}
}

// loaded takes up what was read.
func (d *dispatcher) loaded(l *load) {
	q := l.queue
	q.loading = false
	for _, room := range l.room {
		d.reserved -= room
	}
	if l.err != nil {
		if d.ctx.Err() == nil {
			d.Logger.Error("reading what waits for a webhook failed: it is read again", "webhook", q.id, "error", l.err)
		}
		q.more = everyUrgency()
		d.alarms.set(time.Now().Add(readAgain), func() { d.fill(q) })
		return
	}
	if l.gone {
		q.gone = true
		d.forget(q)
		return
	}
	if q.owner == nil {
		q.owner = d.owner(l.hook.Owner)
		q.owner.queues++
		if l.hook.Listener {
			q.width = 1 // one connection
		}
	}
	for u := range l.more {
		q.more[u] = q.more[u] || l.more[u]
	}
	for _, row := range l.rows {
		d.add(q, row)
	}
	d.pump(q)
	d.fill(q)
}

// waiting lists the webhooks that something waits for.
func (s *Service) waiting(ctx context.Context) (ids []wallet.WebhookID, err error) {
	err = s.Store.View(ctx, func(tx store.Tx) error {
		ids, err = tx.WaitingWebhooks()
		return err
	})
	return ids, err
}

// read reads what waits in lines.
func (s *Service) read(ctx context.Context, all []*load) {
	known := s.subscriptionsNow()
	err := s.Store.View(ctx, func(tx store.Tx) error {
		for _, l := range all {
			l.err = l.read(tx, known)
		}
		return nil
	})
	for _, l := range all {
		l.err = errors.Join(l.err, err)
	}
}

func (l *load) read(tx store.Tx, known *subscriptionSnapshot) error {
	r, err := known.hook(tx, l.queue.id)
	if err != nil {
		known.damaged("webhook", string(l.queue.id), err)
		l.gone = true
		return nil
	}
	l.hook = r.Webhook
	for u, room := range l.room {
		if room == 0 {
			continue
		}
		found, err := tx.DeliveriesOf(l.queue.id, store.Position{Urgency: store.Urgency(u), Seq: l.after[u]}, room)
		if err != nil {
			return err
		}
		l.more[u] = len(found) == room
		l.rows = append(l.rows, found...)
	}
	return nil
}
