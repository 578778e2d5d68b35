package records

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Logged returns one entry of a webhook, with its body and the receivers' responses. ErrNotFound: the webhook has no
// such entry, its person was erased, or the row is damaged.
func (l *Log) Logged(ctx context.Context, id wallet.WebhookID, delivery string) (store.LogEntry, error) {
	var out store.LogEntry
	raw, err := l.row(ctx, id, delivery)
	if err != nil {
		return out, err
	}
	err = l.store.view(ctx, func(t *tx) error {
		place := entryPlace(id, delivery)
		out, err = openEntry(t, place, raw, true)
		return l.absent(place, err)
	})
	return out, err
}

// absent turns an unreadable entry into store.ErrNotFound and reports it once to the operator. Lists leave it out
// too. Another answer would show a stranger that such an id exists.
func (l *Log) absent(place []byte, err error) error {
	if err == nil || erased(err) {
		return err
	}
	l.store.skipDamaged(logSubject, place, err)
	return store.ErrNotFound
}

// row finds the row of an entry. An id need not say its day, so row looks through all days, newest first: one lookup
// in each. ErrNotFound: there is none, or it is another webhook's.
func (l *Log) row(ctx context.Context, id wallet.WebhookID, delivery string) (raw []byte, err error) {
	names, err := l.days.Names()
	if err != nil {
		return nil, err
	}
	place := entryPlace(id, delivery)
	for _, day := range slices.Backward(names) {
		// The row is copied: it belongs to the day's transaction.
		err := l.days.View(ctx, day, func(in engine.Tables) error {
			raw = bytes.Clone(in.Get(logRows, []byte(delivery)))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if raw == nil {
			continue
		}
		// An entry of another webhook reads as absent: the answer must not confirm that the id exists.
		e, err := l.store.plainEntry(delivery, raw)
		if err != nil {
			return nil, l.absent(place, err)
		}
		if e.Webhook != id {
			break // it is another webhook's
		}
		return raw, nil
	}
	return nil, store.ErrNotFound
}

// List returns a page of a webhook's entries, newest first, without bodies. ErrNotFound: the entry that the page
// begins behind is gone.
func (l *Log) List(ctx context.Context, id wallet.WebhookID, p store.LogPage) ([]store.LogEntry, error) {
	return l.list(ctx, id, p, false)
}

// Oldest returns a page of entries, oldest first, with bodies: to send them again in their order.
func (l *Log) Oldest(ctx context.Context, id wallet.WebhookID, state store.DeliveryState, since time.Time, after string, limit int) ([]store.LogEntry, error) {
	return l.list(ctx, id, store.LogPage{After: after, State: state, Since: since, Limit: limit}, true)
}

// list walks the days from one end until the page is full. It reads each part of a day in one transaction of that
// day's file and decrypts it in one of the store. The two are never open at the same time.
func (l *Log) list(ctx context.Context, id wallet.WebhookID, p store.LogPage, oldest bool) ([]store.LogEntry, error) {
	// Begin at an end of the log, or behind the last entry of the page before.
	w := walk{prefix: hookPrefix(id), since: timeKey(p.Since), oldest: oldest}
	low, high := dayOf(p.Since), ""
	// The time of that entry says in which day it lies.
	if p.After != "" {
		raw, err := l.row(ctx, id, p.After)
		if err != nil {
			return nil, err
		}
		last, err := l.store.plainEntry(p.After, raw)
		if err != nil {
			return nil, err
		}
		w.behind = append(timeKey(last.CreatedAt), p.After...)
		if oldest {
			low = max(low, dayOf(last.CreatedAt))
		} else {
			high = dayOf(last.CreatedAt)
		}
	}
	names, err := l.days.Names()
	if err != nil {
		return nil, err
	}
	if !oldest {
		slices.Reverse(names)
	}
	// Walk the days within the bounds.
	var out []store.LogEntry
	for _, day := range names {
		if day < low || high != "" && day > high {
			continue
		}
		for more := true; more && len(out) < p.Limit; {
			var rows []entry
			more = false // a day that is gone has no entries
			err := l.days.View(ctx, day, func(in engine.Tables) (err error) {
				rows, more, err = w.take(ctx, in, p, min(p.Limit-len(out), openedAtOnce))
				return err
			})
			if err != nil {
				return nil, err
			}
			// The day's transaction has ended: decrypt with one of the store.
			opened, err := l.opened(ctx, rows, w.oldest)
			if err != nil {
				return nil, err
			}
			out = append(out, opened...)
		}
	}
	return out, nil
}

// How much one transaction covers. While a transaction is open, its file keeps every page that changes meanwhile.
const (
	walkedAtOnce = 2000 // index entries that are read, of a day's file
	openedAtOnce = 200  // rows that are decrypted, with the keys of the store
)

// opened decrypts rows. It leaves out those of erased users, and damaged ones.
func (l *Log) opened(ctx context.Context, rows []entry, bodies bool) (out []store.LogEntry, err error) {
	if len(rows) == 0 {
		return nil, nil
	}
	err = l.store.view(ctx, func(t *tx) error {
		for _, row := range rows {
			e, err := openEntry(t, row.key, row.value, bodies)
			switch {
			case err == nil:
				out = append(out, e)
			case !erased(err):
				t.store.skipDamaged(logSubject, row.key, err)
			}
		}
		return nil
	})
	return out, err
}

// walk is a position in the index of one webhook in a day, in either direction. One goroutine uses it.
type walk struct {
	prefix []byte // of the webhook's keys
	since  []byte // earliest created-at of the page, as a key
	behind []byte // created-at and id of the last entry that was read; nil at the beginning
	oldest bool   // true: oldest first; false: newest first
}

// take copies the rows of a day that match a page, at most `most` of them, and remembers how far it read. more says
// that the day may have others. It also ends after walkedAtOnce entries, matching or not.
func (w *walk) take(ctx context.Context, in engine.Tables, p store.LogPage, most int) (rows []entry, more bool, err error) {
	// An oldest-first range begins with the last entry that was read, which is left out.
	from, walked := bytes.Clone(w.behind), 0
	for key, value := range in.Scan(logIndex, w.rest()) {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		created := key[len(w.prefix):]
		if w.oldest && from != nil && bytes.Equal(created, from) { // the last one of the page before
			continue
		}
		if walked++; walked > walkedAtOnce || len(rows) == most {
			return rows, true, nil
		}
		w.behind = bytes.Clone(created)
		// The index entry has what pages are filtered by, so no row is read for an entry that does not match.
		state, event, _ := bytes.Cut(value, []byte{0})
		if p.State != "" && p.State != store.DeliveryState(state) || p.Event != "" && p.Event != wallet.EventName(event) {
			continue
		}
		id := createdID(created)
		rows = append(rows, entry{join(w.prefix, id), bytes.Clone(in.Get(logRows, id))})
	}
	return rows, false, nil
}

// rest is the part of the index that the walk has not read yet.
func (w *walk) rest() engine.Range {
	r := engine.Prefix(w.prefix)
	r.From, r.Backward = join(w.prefix, w.since), !w.oldest
	switch {
	case w.oldest && bytes.Compare(w.behind, w.since) > 0:
		r.From = join(w.prefix, w.behind)
	case !w.oldest && w.behind != nil:
		r.Before = join(w.prefix, w.behind)
	}
	return r
}

// AttemptsByHour adds up all days, oldest hour first. An hour may be counted in several days: attempts count in the
// day of their delivery, and may be made on a later one.
func (l *Log) AttemptsByHour(ctx context.Context, id wallet.WebhookID, since time.Time) ([]store.AttemptCounts, error) {
	prefix := hookPrefix(id)
	hours := map[time.Time]store.AttemptCounts{}
	names, err := l.days.Names()
	if err != nil {
		return nil, err
	}
	for _, day := range names {
		err := l.days.View(ctx, day, func(in engine.Tables) error {
			r := engine.Prefix(prefix)
			r.From = join(prefix, timeKey(since))
			for key, raw := range in.Scan(logHourlyCounts, r) {
				var more store.AttemptCounts
				if err := json.Unmarshal(raw, &more); err != nil {
					l.store.skipDamaged("hourly counts", key, err)
					continue
				}
				hours[more.Hour] = sum(hours[more.Hour], more)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.SortedFunc(maps.Values(hours), func(a, b store.AttemptCounts) int { return a.Hour.Compare(b.Hour) }), nil
}
