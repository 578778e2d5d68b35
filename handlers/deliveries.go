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

// DeliveryFilter selects deliveries of a webhook. Zero fields other than Limit select all.
type DeliveryFilter struct {
	State  store.DeliveryState // "" for all
	Event  wallet.EventName    // "" for all
	Since  time.Time           // created at or after this time
	Cursor string              // DeliveryPage.Next of the previous page; "" for the first
	Limit  int                 // entries per page, at least 1
}

// DeliveryPage is one page of a webhook's deliveries, newest first, without bodies.
type DeliveryPage struct {
	Entries []store.LogEntry
	Next    string // cursor of the next page; "" at the end
}

const (
	// waitingListed is how many deliveries without an attempt are listed for each urgency: the first ones of the queue.
	// It keeps the cost of a list independent of the backlog.
	waitingListed = 200
	// pagesRead bounds how many pages of the log are read to fill one page after filtering.
	pagesRead = 5
)

// cursor marks the last entry of a page. Waiting deliveries and the log are merged, so it holds a position in both.
type cursor struct {
	at     time.Time // creation time of the last entry
	id     string    // its id
	logged string    // ID of the last entry read from the log; "" for none yet
}

// String returns the cursor as clients get it: nanoseconds since 1970, ID, and logged ID, joined by dots.
func (c cursor) String() string {
	return fmt.Sprintf("%d.%s.%s", c.at.UnixNano(), c.id, c.logged)
}

// parseCursor parses String's form. "" is the first page. INVALID_REQUEST for anything else.
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
	if c = (cursor{time.Unix(0, nanos).UTC(), parts[1], parts[2]}); c.String() != text { // only the canonical form
		return cursor{}, refused
	}
	return c, nil
}

// behind reports whether an entry comes after the cursor in the list. Every entry comes after the zero cursor.
func (c cursor) behind(e store.LogEntry) bool {
	return c.id == "" || newerFirst(store.LogEntry{Delivery: store.Delivery{ID: c.id, CreatedAt: c.at}}, e) < 0
}

// newerFirst compares two entries for sorting: the newer one first, and of one time the one with the larger ID.
func newerFirst(a, b store.LogEntry) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// Deliveries lists what was delivered to a webhook and what waits to be. Deliveries that wait are rows of the store, and
// those that have ended are entries of the log. The list merges both. Errors: INVALID_REQUEST, WEBHOOK_NOT_FOUND.
func (w *Webhooks) Deliveries(ctx context.Context, who Caller, id wallet.WebhookID, f DeliveryFilter) (DeliveryPage, error) {
	from, err := parseCursor(f.Cursor)
	if err != nil {
		return DeliveryPage{}, err
	}
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err != nil {
		return DeliveryPage{}, err
	}
	// Read what waits first: a delivery that ends in between is then found in the log, and none is missed.
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
	page = append(logged, page...) // the log's entry of a duplicate wins: it has the attempts
	slices.SortStableFunc(page, newerFirst)
	page = slices.CompactFunc(page, func(a, b store.LogEntry) bool { return a.ID == b.ID })
	// Entries older than the last one read from the log belong to a later page.
	if more {
		page = slices.DeleteFunc(page, func(e store.LogEntry) bool { return newerFirst(e, read) > 0 })
	}
	if err := w.foresee(ctx, hook, page); err != nil {
		return DeliveryPage{}, err
	}
	switch {
	case len(page) > f.Limit:
		page = page[:f.Limit]
		// The next page continues after the last entry shown. In the log it continues after the last entry of the log
		// that is shown, since others were read but cut off.
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

// foresee sets NextAt of deliveries that wait for their first attempt to the time at which the hourly limit has room
// again. If it has room now, nothing changes. Retries are exempt from the limit.
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

// neverAttempted lists deliveries that wait for their first attempt, without bodies.
func (w *Webhooks) neverAttempted(ctx context.Context, id wallet.WebhookID, f DeliveryFilter, from cursor) ([]store.LogEntry, error) {
	return read(ctx, w.Store, func(tx store.Tx) ([]store.LogEntry, error) {
		var out []store.LogEntry
		// Each urgency is a queue of its own. Only its first waitingListed rows are read.
		for _, urgency := range []store.Urgency{store.Money, store.Normal, store.Prices} {
			rows, err := tx.DeliveriesOf(id, store.Position{Urgency: urgency}, waitingListed)
			if err != nil {
				return nil, err
			}
			for _, d := range rows {
				e := store.LogEntry{Delivery: d, State: store.DeliveryWaiting}
				e.Body = nil
				// A delivery that was attempted is in the log already, with its attempts.
				if d.Attempts == 0 && (f.Event == "" || f.Event == d.Event) && !d.CreatedAt.Before(f.Since) && from.behind(e) {
					out = append(out, e)
				}
			}
		}
		return out, nil
	})
}

// logged reads entries of the log until a page is full or pagesRead pages were read. Entries that do not match the filter
// are read and left out. last is the last entry that was read, and more is true if older ones may follow it.
// INVALID_REQUEST if the entry that the cursor names is gone.
func (w *Webhooks) logged(ctx context.Context, id wallet.WebhookID, f DeliveryFilter, from cursor) (out []store.LogEntry, last store.LogEntry, more bool, err error) {
	page := store.LogPage{After: from.logged, State: f.State, Event: f.Event, Since: f.Since, Limit: f.Limit}
	more = true
	for pages := 0; more && len(out) < f.Limit && pages < pagesRead; pages++ {
		rows, err := w.Log.List(ctx, id, page)
		// The log drops whole days, so the entry at which the previous page ended may be gone.
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
		// A dead-lettered delivery may have been put back since it was logged. Its state is then Waiting, so the filter
		// by state is applied again.
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

// asTheyAre returns entries of the log in their current state. Only a dead-lettered delivery can change after it was
// logged: if it was put back, it is also a row of the store.
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

// putBack returns the log entry of a dead-lettered delivery that waits again. Its earlier attempts stay in Attempted.
func putBack(logged store.LogEntry, waits store.Delivery) store.LogEntry {
	logged.State, logged.EndedAt, logged.NextAt, logged.Resend, logged.Attempts = store.DeliveryWaiting, time.Time{}, waits.NextAt, waits.Resend, waits.Attempts
	return logged
}

// Delivery returns one delivery with its attempts. shown reports whether it includes the body and the responses: only
// while the key may get events of that type about that person. NOT_FOUND, WEBHOOK_NOT_FOUND.
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
	// Consent may have been withdrawn since the event was delivered. Then its content is withheld, and its times and
	// results remain.
	entry = one[0]
	if shown = shown && len(entry.Body) > 0; !shown {
		entry.Body = nil
		for i := range entry.Attempted {
			entry.Attempted[i].ResponseBody = nil
		}
	}
	return entry, shown, nil
}

// delivery finds a delivery among the rows that wait and in the log, and returns it with its webhook. WEBHOOK_NOT_FOUND,
// NOT_FOUND.
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
	// The store was read first: a delivery that ends in between is then found in the log.
	entry, err := w.Log.Logged(ctx, hook.ID, delivery)
	switch {
	case errors.Is(err, store.ErrNotFound) && waits.ID != "":
		return hook, waits, nil
	case err != nil:
		return hook, entry, found(err, wallet.NotFound, "delivery.unknown")
	case waits.ID != "" && entry.State == store.DeliveryDeadLettered: // it was resent from the dead letters
		entry = putBack(entry, waits.Delivery)
	}
	return hook, entry, nil
}

// PrepareResend prepares a new delivery of the same event, with the same bytes. CONFLICT while the original still waits,
// and when its body is no longer kept.
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
	// A resend is a delivery of its own with a new ID. It keeps the event's ID, by which the receiver recognizes a
	// duplicate. It has the highest urgency because a developer waits for it.
	now := w.Now().UTC()
	return store.Delivery{ID: w.NewID("dlv"), Webhook: entry.Webhook, EventID: entry.EventID, Event: entry.Event, User: entry.User,
		OrderingKey: entry.OrderingKey, Urgency: store.Money, Body: entry.Body, CreatedAt: now, NextAt: now, Resend: true}, nil
}

// CommitResend stores a prepared resend. CONFLICT if the webhook is inactive or not subscribed to the event,
// CONSENT_REQUIRED if its key may no longer get it.
func (w *Webhooks) CommitResend(tx store.Tx, who Caller, id wallet.WebhookID, again store.Delivery) error {
	hook, err := hookOf(tx, who, id)
	if err != nil {
		return err
	}
	// A test is sent whatever the webhook subscribes to.
	if again.Event != wallet.WebhookTest {
		if err := takes(hook, again.Event); err != nil {
			return err
		}
	}
	// Consent and the tier may have changed since the original was delivered.
	switch may, err := w.May(tx, hook, again.Event, again.User); {
	case err != nil:
		return err
	case !may:
		return wallet.Refuse(wallet.ConsentRequired, "delivery.not_allowed")
	}
	// The ID is new and the webhook was just read, so only an erased person makes the store leave it out.
	switch added, err := tx.PutDeliveries([]store.Delivery{again}); {
	case err != nil:
		return err
	case len(added) == 0:
		return wallet.Refuse(wallet.Conflict, "delivery.person_gone")
	}
	return nil
}

// takes returns CONFLICT if a webhook is inactive or not subscribed to an event.
func takes(hook wallet.Webhook, event wallet.EventName) error {
	switch {
	case !hook.Active:
		return wallet.Refuse(wallet.Conflict, "webhooks.inactive")
	case !hook.Takes(event):
		return wallet.Refuse(wallet.Conflict, "webhooks.not_subscribed", wallet.TextArg("Event", event))
	}
	return nil
}

// Recovered is the result of one call of Recover.
type Recovered struct {
	Count int       // deliveries that wait again
	Next  time.Time // the since of the next call; zero if everything was looked at, or if ctx left no time for a first batch
}

// Bounds of a recovery.
const (
	recoverAtOnce = 200    // deliveries in one store transaction
	recoverMost   = 20_000 // deliveries in one call
)

// Recover makes dead-lettered deliveries since a time wait again, oldest first, as far as the log reaches. Each keeps its
// ID, so recovering twice sends nothing twice. Tests, and events that the webhook would not get now, are skipped.
// CONFLICT if the webhook is inactive.
//
// It commits in steps. After an error, what was recovered before stays so. Near the deadline of ctx it returns early, and
// Recovered.Next says where to continue.
func (w *Webhooks) Recover(ctx context.Context, who Caller, id wallet.WebhookID, since time.Time) (Recovered, error) {
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err == nil && !hook.Active {
		err = wallet.Refuse(wallet.Conflict, "webhooks.inactive")
	}
	if err != nil {
		return Recovered{}, err
	}
	defer w.Wake(hook.ID)
	// Older entries are gone from the log.
	if earliest := w.Now().Add(-w.Retention); since.Before(earliest) {
		since = earliest
	}
	var done Recovered
	for after := ""; done.Count < recoverMost && leisure(ctx); {
		givenUp, err := w.Log.Oldest(ctx, hook.ID, store.DeliveryDeadLettered, since, after, recoverAtOnce)
		if after != "" && errors.Is(err, store.ErrNotFound) {
			// The day that held the last one was dropped meanwhile. What is left of the log is no older, so the walk
			// goes on by time alone.
			since, after = done.Next, ""
			continue
		}
		if err != nil {
			return done, err
		}
		// Check and put back one batch in one transaction. It is short enough not to hold up other writers.
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
		// A full batch: there may be more, from the time of the last one on.
		last := givenUp[len(givenUp)-1]
		after, done.Next = last.ID, last.CreatedAt
	}
	return done, nil
}

// leisure reports whether more than 5 seconds are left until the deadline of ctx.
func leisure(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > 5*time.Second
}

// putAllBack makes dead-lettered deliveries wait again and returns how many. Authorization is checked for each one.
func (w *Webhooks) putAllBack(tx store.Tx, who Caller, id wallet.WebhookID, givenUp []store.LogEntry) (int, error) {
	hook, err := hookOf(tx, who, id)
	if err != nil {
		return 0, err
	}
	now := w.Now().UTC()
	var rows []store.Delivery
	for _, e := range givenUp {
		// Skip tests, deliveries whose body is no longer kept, and events that the webhook no longer takes.
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
		// The delivery keeps its ID and gets all its attempts again. The store gives it a new place in the queue (Seq).
		again := e.Delivery
		again.Attempts, again.NextAt, again.Pause, again.Resend, again.Seq = 0, now, 0, true, 0
		rows = append(rows, again)
	}
	// Deliveries that wait already, and those about erased people, are left out.
	added, err := tx.PutDeliveries(rows)
	return len(added), err
}
