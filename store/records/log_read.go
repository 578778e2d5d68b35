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

// Logged returns one entry of a webhook, with its body and the receivers' answers.
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

// absent turns an unreadable entry into store.ErrNotFound and reports it once to the operator. Lists pass over it too,
// and another answer would tell anyone who asks that such an id exists.
func (l *Log) absent(place []byte, err error) error {
	if err == nil || erased(err) {
		return err
	}
	l.store.skipDamaged(logSubject, place, err)
	return store.ErrNotFound
}

// row finds the row of an entry. The id need not say its day, so it looks through all days, newest first.
func (l *Log) row(ctx context.Context, id wallet.WebhookID, delivery string) (raw []byte, err error) {
	names, err := l.days.Names()
	if err != nil {
		return nil, err
	}
	place := entryPlace(id, delivery)
	for _, day := range slices.Backward(names) {
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
		e, err := l.store.plainEntry(delivery, raw)
		if err != nil {
			return nil, l.absent(place, err)
		}
		if e.Webhook != id {
			break // another's
		}
		return raw, nil
	}
	return nil, store.ErrNotFound
}

// List returns a page of a webhook's entries, newest first, without bodies.
func (l *Log) List(ctx context.Context, id wallet.WebhookID, p store.LogPage) ([]store.LogEntry, error) {
	return l.list(ctx, id, p, false)
}

// Oldest returns a page from the other end, with bodies.
func (l *Log) Oldest(ctx context.Context, id wallet.WebhookID, state store.DeliveryState, since time.Time, after string, limit int) ([]store.LogEntry, error) {
	return l.list(ctx, id, store.LogPage{After: after, State: state, Since: since, Limit: limit}, true)
}

// list walks the days from one end until the page is full. It reads each part of a day in one transaction of that day's
// file and opens it in one of the store, never both at once.
func (l *Log) list(ctx context.Context, id wallet.WebhookID, p store.LogPage, oldest bool) ([]store.LogEntry, error) {
	// Where to begin: at an end of the log, or behind the last entry of the page before.
	w := walk{prefix: lineOf(id), since: timeKey(p.Since), oldest: oldest}
	low, high := dayOf(p.Since), ""
	// The page goes on behind an entry, whose time says in which day.
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
			more = false // a day that is gone holds nothing
			err := l.days.View(ctx, day, func(in engine.Tables) (err error) {
				rows, more, err = w.take(ctx, in, p, min(p.Limit-len(out), openedAtOnce))
				return err
			})
			if err != nil {
				return nil, err
			}
			opened, err := l.opened(ctx, rows, w.oldest)
			if err != nil {
				return nil, err
			}
			out = append(out, opened...)
		}
	}
	return out, nil
}

// How much one transaction covers, of the day's file and then of the store. While a transaction is open, its file keeps
// every page that changes meanwhile.
const (
	walkedAtOnce = 2000 // index entries that are read
	openedAtOnce = 200  // rows that are decrypted
)

// opened decrypts rows. Those of erased users are left out, and so are damaged ones.
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

// walk is a way through the index of one webhook in a day, in either direction.
type walk struct {
	prefix []byte // of the webhook
	since  []byte // the least created-at
	behind []byte // created-at and id of the last entry that was read; nil at the beginning
	oldest bool   // first; else the newest first
}

// take copies the rows of a day that match a page, at most `most` of them, and remembers its place. more tells that the
// day may have others.
func (w *walk) take(ctx context.Context, in engine.Tables, p store.LogPage, most int) (rows []entry, more bool, err error) {
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

// AttemptsByHour adds up all days. The count of an hour lies in the days of its deliveries, whose attempts may be made on
// later days.
func (l *Log) AttemptsByHour(ctx context.Context, id wallet.WebhookID, since time.Time) ([]store.AttemptCounts, error) {
	prefix := lineOf(id)
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
