package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// DeliveryFilter says which deliveries of a webhook are listed. The zero value is all of them.
type DeliveryFilter struct {
	State  store.DeliveryState // "" for all
	Event  wallet.EventName    // "" for all
	Since  time.Time           // created at or after it
	Cursor string              // DeliveryPage.Next of the page before
	Limit  int
}

// DeliveryPage is a part of the list of a webhook's deliveries, newest first, without bodies.
type DeliveryPage struct {
	Entries []store.LogEntry
	Next    string // cursor of the page after it; "" for none
}

const (
	// waitingListed is how many of each urgency are listed of what waits and was never attempted: the
	// first ones. A list costs no more for a backlog that has no end.
	waitingListed = 200
	// pagesRead bounds how often a page is filled up after entries that fell out of it.
	pagesRead = 5
)

// cursor is where a page of deliveries ended.
type cursor struct {
	at     time.Time // when the last one was created
	id     string    // its id
	logged string    // the last one that was read of the log; "" for none yet
}

func (c cursor) String() string {
	return fmt.Sprintf("%d.%s.%s", c.at.UnixNano(), c.id, c.logged)
}

func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	refused := wallet.About("cursor", wallet.Refuse(wallet.InvalidRequest, "page.bad_cursor"))
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[1] == "" {
		return c, refused
	}
	nanos, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return c, refused
	}
	if c = (cursor{time.Unix(0, nanos).UTC(), parts[1], parts[2]}); c.String() != text { // a number is written in one way
		return cursor{}, refused
	}
	return c, nil
}

// behind tells whether an entry comes after the cursor's in the list.
func (c cursor) behind(e store.LogEntry) bool {
	return c.id == "" || newerFirst(store.LogEntry{Delivery: store.Delivery{ID: c.id, CreatedAt: c.at}}, e) < 0
}

// newerFirst is the order of lists of deliveries.
func newerFirst(a, b store.LogEntry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// Deliveries lists what was delivered to a webhook or is on its way. INVALID_REQUEST.
func (w *Webhooks) Deliveries(ctx context.Context, who Caller, id wallet.WebhookID, f DeliveryFilter) (DeliveryPage, error) {
	from, err := parseCursor(f.Cursor)
	if err != nil {
		return DeliveryPage{}, err
	}
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err != nil {
		return DeliveryPage{}, err
	}
	// What waits is read first: what leaves it meanwhile is in the log by then.
	var page []store.LogEntry
	if f.State == "" || f.State == store.DeliveryWaiting {
		if page, err = w.neverAttempted(ctx, hook.ID, f, from); err != nil {
			return DeliveryPage{}, err
		}
	}
	logged, read, more, err := w.logged(ctx, hook.ID, f, from)
	if err != nil {
		return DeliveryPage{}, err
	}
	page = append(logged, page...) // of two of one id the one that tells of attempts stays
	slices.SortStableFunc(page, newerFirst)
	page = slices.CompactFunc(page, func(a, b store.LogEntry) bool { return a.ID == b.ID })
	if more { // what lies behind comes after what is still to be read
		page = slices.DeleteFunc(page, func(e store.LogEntry) bool { return newerFirst(e, read) > 0 })
	}
	if err := w.foresee(ctx, hook, page); err != nil {
		return DeliveryPage{}, err
	}
	switch {
	case len(page) > f.Limit:
		page = page[:f.Limit]
		last := page[f.Limit-1]
		next := cursor{last.CreatedAt, last.ID, from.logged}
		for _, e := range logged {
			if newerFirst(e, last) <= 0 {
				next.logged = e.ID
			}
		}
		return DeliveryPage{page, next.String()}, nil
	case more:
		return DeliveryPage{page, cursor{read.CreatedAt, read.ID, read.ID}.String()}, nil
	}
	return DeliveryPage{Entries: page}, nil
}

// foresee says of deliveries that wait for the limit of the hour when there is room again, at the earliest: only
// first attempts count towards it.
func (w *Webhooks) foresee(ctx context.Context, hook wallet.Webhook, all []store.LogEntry) error {
	held := func(e store.LogEntry) bool { return e.State == store.DeliveryWaiting && e.Attempts == 0 }
	if !slices.ContainsFunc(all, held) {
		return nil
	}
	delay, err := w.Delay(ctx, hook)
	if err != nil || delay == 0 {
		return err
	}
	room := w.Now().Add(delay).UTC()
	for i := range all {
		if held(all[i]) {
			all[i].NextAt = room
		}
	}
	return nil
}

// neverAttempted are deliveries that wait for their first attempt.
func (w *Webhooks) neverAttempted(ctx context.Context, id wallet.WebhookID, f DeliveryFilter, from cursor) ([]store.LogEntry, error) {
	return read(ctx, w.Store, func(tx store.Tx) ([]store.LogEntry, error) {
		var out []store.LogEntry
		for _, urgency := range []store.Urgency{store.Money, store.Normal, store.Prices} {
			rows, err := tx.DeliveriesOf(id, store.Position{Urgency: urgency}, waitingListed)
			if err != nil {
				return nil, err
			}
			for _, d := range rows {
				e := store.LogEntry{Delivery: d, State: store.DeliveryWaiting}
				e.Body = nil
				if d.Attempts == 0 && (f.Event == "" || f.Event == d.Event) && !d.CreatedAt.Before(f.Since) && from.behind(e) {
					out = append(out, e)
				}
			}
		}
		return out, nil
	})
}

// logged is a page of the log, as it is now, with the last one that was read for it; more tells that there
// may be others behind that one.
func (w *Webhooks) logged(ctx context.Context, id wallet.WebhookID, f DeliveryFilter, from cursor) (out []store.LogEntry, last store.LogEntry, more bool, err error) {
	page := store.LogPage{After: from.logged, State: f.State, Event: f.Event, Since: f.Since, Limit: f.Limit}
	more = true
	for pages := 0; more && len(out) < f.Limit && pages < pagesRead; pages++ {
		rows, err := w.Log.List(ctx, id, page)
		if errors.Is(err, store.ErrNotFound) {
			return nil, last, false, wallet.About("cursor", wallet.Refuse(wallet.InvalidRequest, "page.old_cursor"))
		}
		if err != nil {
			return nil, last, false, err
		}
		if more = len(rows) == page.Limit; more {
			last = rows[len(rows)-1]
			page.After = last.ID
		}
		now, err := read(ctx, w.Store, func(tx store.Tx) ([]store.LogEntry, error) { return asTheyAre(tx, rows) })
		if err != nil {
			return nil, last, false, err
		}
		for _, e := range now {
			if (f.State == "" || f.State == e.State) && from.behind(e) {
				out = append(out, e)
			}
		}
	}
	return out, last, more, nil
}

// asTheyAre brings entries of the log up to date: what was given up may have been put back.
func asTheyAre(tx store.Tx, logged []store.LogEntry) ([]store.LogEntry, error) {
	out := slices.Clone(logged)
	for i := range out {
		if out[i].State != store.DeliveryDeadLettered {
			continue
		}
		switch waits, err := tx.Delivery(out[i].ID); {
		case err == nil:
			out[i] = putBack(out[i], waits)
		case !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// putBack is the entry of a given up delivery that waits again: with all its attempts before it, and those that it
// had in Attempted.
func putBack(logged store.LogEntry, waits store.Delivery) store.LogEntry {
	logged.State, logged.EndedAt, logged.NextAt, logged.Resend, logged.Attempts = store.DeliveryWaiting, time.Time{}, waits.NextAt, waits.Resend, waits.Attempts
	return logged
}

// Delivery is one delivery of a webhook, with its attempts. Its body, and what was answered, are there as
// long as the key may be told of such events about that person (shown). NOT_FOUND.
func (w *Webhooks) Delivery(ctx context.Context, who Caller, id wallet.WebhookID, delivery string) (entry store.LogEntry, shown bool, err error) {
	hook, entry, err := w.delivery(ctx, who, id, delivery)
	if err != nil {
		return entry, false, err
	}
	shown, err = read(ctx, w.Store, func(tx store.Tx) (bool, error) { return w.May(tx, hook, entry.Event, entry.User) })
	if err != nil {
		return store.LogEntry{}, false, err
	}
	one := []store.LogEntry{entry}
	if err := w.foresee(ctx, hook, one); err != nil {
		return store.LogEntry{}, false, err
	}
	entry = one[0]
	if shown = shown && len(entry.Body) > 0; !shown {
		entry.Body = nil
		for i := range entry.Attempted {
			entry.Attempted[i].Answer = nil
		}
	}
	return entry, shown, nil
}

func (w *Webhooks) delivery(ctx context.Context, who Caller, id wallet.WebhookID, delivery string) (wallet.Webhook, store.LogEntry, error) {
	var hook wallet.Webhook
	var waits store.LogEntry
	err := w.Store.View(ctx, func(tx store.Tx) (err error) {
		if hook, err = hookOf(tx, who, id); err != nil {
			return err
		}
		d, err := tx.Delivery(delivery)
		if err == nil && d.Webhook == hook.ID {
			waits = store.LogEntry{Delivery: d, State: store.DeliveryWaiting}
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return hook, waits, err
	}
	entry, err := w.Log.Logged(ctx, hook.ID, delivery)
	switch {
	case errors.Is(err, store.ErrNotFound) && waits.ID != "":
		return hook, waits, nil
	case err != nil:
		return hook, entry, found(err, wallet.NotFound, "delivery.unknown")
	case waits.ID != "" && entry.State == store.DeliveryDeadLettered: // it was put back
		entry = putBack(entry, waits.Delivery)
	}
	return hook, entry, nil
}

// PrepareResend is a delivery of the same event, with the same bytes, as one that was made before.
// CONFLICT while that one still waits, and when its body is kept no more.
func (w *Webhooks) PrepareResend(ctx context.Context, who Caller, id wallet.WebhookID, delivery string) (store.Delivery, error) {
	_, entry, err := w.delivery(ctx, who, id, delivery)
	switch {
	case err != nil:
		return store.Delivery{}, err
	case entry.State == store.DeliveryWaiting:
		return store.Delivery{}, wallet.Refuse(wallet.Conflict, "delivery.waiting")
	case len(entry.Body) == 0:
		return store.Delivery{}, wallet.Refuse(wallet.Conflict, "delivery.body_gone")
	}
	now := w.Now().UTC()
	return store.Delivery{ID: w.NewID("dlv"), Webhook: entry.Webhook, EventID: entry.EventID, Event: entry.Event, User: entry.User,
		OrderingKey: entry.OrderingKey, Urgency: store.Money, Body: entry.Body, CreatedAt: now, NextAt: now, Resend: true}, nil
}

// CommitResend puts a prepared delivery on its way. CONFLICT when the webhook does not take such events
// now, CONSENT_REQUIRED when its key may not be told of them.
func (w *Webhooks) CommitResend(tx store.Tx, who Caller, id wallet.WebhookID, again store.Delivery) error {
	hook, err := hookOf(tx, who, id)
	if err != nil {
		return err
	}
	if again.Event != wallet.WebhookTest {
		if err := takes(hook, again.Event); err != nil {
			return err
		}
	}
	switch may, err := w.May(tx, hook, again.Event, again.User); {
	case err != nil:
		return err
	case !may:
		return wallet.Refuse(wallet.ConsentRequired, "delivery.not_allowed")
	}
	switch added, err := tx.PutDeliveries([]store.Delivery{again}); {
	case err != nil:
		return err
	case len(added) == 0:
		return wallet.Refuse(wallet.Conflict, "delivery.person_gone")
	}
	return nil
}

// takes refuses what a webhook does not want to have now. CONFLICT.
func takes(hook wallet.Webhook, event wallet.EventName) error {
	switch {
	case !hook.Active:
		return wallet.Refuse(wallet.Conflict, "webhooks.inactive")
	case !hook.Takes(event):
		return wallet.Refuse(wallet.Conflict, "webhooks.not_subscribed", wallet.TextArg("Event", event))
	}
	return nil
}

// Recovered is how far a recovery came.
type Recovered struct {
	Count int       // deliveries that were put back
	Next  time.Time // from when on to go on; zero when all was looked at
}

// How much of a recovery shares a transaction, and how much one call does.
const (
	recoverAtOnce = 200
	recoverMost   = 20_000
)

// Recover puts back what was given up since a time, oldest first, as far as the log reaches: each delivery
// under its own id, so that doing it twice sends nothing twice. Deliveries that the webhook would not get
// now, and tests, are left. CONFLICT for a webhook that is turned off. What was put back before an error
// stays so.
func (w *Webhooks) Recover(ctx context.Context, who Caller, id wallet.WebhookID, since time.Time) (Recovered, error) {
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err == nil && !hook.Active {
		err = wallet.Refuse(wallet.Conflict, "webhooks.inactive")
	}
	if err != nil {
		return Recovered{}, err
	}
	defer w.Wake(hook.ID)
	if earliest := w.Now().Add(-w.Retention); since.Before(earliest) {
		since = earliest
	}
	var done Recovered
	for after := ""; done.Count < recoverMost && leisure(ctx); {
		givenUp, err := w.Log.Oldest(ctx, hook.ID, store.DeliveryDeadLettered, since, after, recoverAtOnce)
		if errors.Is(err, store.ErrNotFound) { // the day was dropped meanwhile
			err = nil
		}
		if err != nil {
			return done, err
		}
		put := 0
		err = w.Store.Update(ctx, func(tx store.Tx) (err error) {
			put, err = w.putAllBack(tx, who, id, givenUp)
			return err
		})
		if err != nil {
			return done, err
		}
		if done.Count += put; len(givenUp) < recoverAtOnce {
			return Recovered{Count: done.Count}, nil
		}
		last := givenUp[len(givenUp)-1]
		after, done.Next = last.ID, last.CreatedAt
	}
	return done, nil
}

// leisure tells whether there is time for some more before a deadline.
func leisure(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > 5*time.Second
}

// putAllBack lets given up deliveries wait again, and counts them.
func (w *Webhooks) putAllBack(tx store.Tx, who Caller, id wallet.WebhookID, givenUp []store.LogEntry) (int, error) {
	hook, err := hookOf(tx, who, id)
	if err != nil {
		return 0, err
	}
	now := w.Now().UTC()
	var rows []store.Delivery
	for _, e := range givenUp {
		if e.Event == wallet.WebhookTest || len(e.Body) == 0 || takes(hook, e.Event) != nil {
			continue
		}
		may, err := w.May(tx, hook, e.Event, e.User)
		if err != nil {
			return 0, err
		}
		if !may {
			continue
		}
		again := e.Delivery
		again.Attempts, again.NextAt, again.Pause, again.Resend, again.Seq = 0, now, 0, true, 0
		rows = append(rows, again)
	}
	added, err := tx.PutDeliveries(rows)
	return len(added), err
}
