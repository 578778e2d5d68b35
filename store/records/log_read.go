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

// Logged is one entry, with its body.
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

// absent makes an entry that cannot be read one that is not there, and says so once to the operator: lists pass over
// it too, and another answer would tell everybody that there is such an id.
func (l *Log) absent(place []byte, err error) error {
	if err == nil || erased(err) {
		return err
	}
	l.store.skipDamaged(logSubject, place, err)
	return store.ErrNotFound
}

// row finds the row of an entry. The day is that of CreatedAt, which an id need not tell: the newest comes first.
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

// List is a page of a webhook's entries.
func (l *Log) List(ctx context.Context, id wallet.WebhookID, p store.LogPage) ([]store.LogEntry, error) {
	return l.list(ctx, id, p, false)
}

// Oldest is a page from the other end, with bodies.
func (l *Log) Oldest(ctx context.Context, id wallet.WebhookID, state store.DeliveryState, since time.Time, after string, limit int) ([]store.LogEntry, error) {
	return l.list(ctx, id, store.LogPage{After: after, State: state, Since: since, Limit: limit}, true)
}

func (l *Log) list(ctx context.Context, id wallet.WebhookID, p store.LogPage, oldest bool) ([]store.LogEntry, error) {
	w := walk{prefix: lineOf(id), since: timeKey(p.Since), oldest: oldest}
	low, high := dayOf(p.Since), ""
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

// How much of a walk shares a transaction, of the day's file and then of the store: while one is open its file
// keeps every page that changes meanwhile.
const (
	walkedAtOnce = 2000 // entries that are looked at
	openedAtOnce = 200  // that are decrypted
)

// opened decrypts rows; those of erased users are left out.
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

// walk is a way through what a day has of a webhook, in either direction.
type walk struct {
	prefix []byte // of the webhook
	since  []byte // created-at, the least
	behind []byte // created-at and id of the last one of the page before; nil from the end
	oldest bool   // first, else the newest
}

// take copies what a day has for a page, most rows of it, and remembers how far it came; more tells that there
// may be others.
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

// rest is the part of the index that the walk has before it.
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

// Tallies sums over all days, since the attempts of a delivery may go on into the next.
func (l *Log) Tallies(ctx context.Context, id wallet.WebhookID, since time.Time) ([]store.Tally, error) {
	prefix := lineOf(id)
	hours := map[time.Time]store.Tally{}
	names, err := l.days.Names()
	if err != nil {
		return nil, err
	}
	for _, day := range names {
		err := l.days.View(ctx, day, func(in engine.Tables) error {
			r := engine.Prefix(prefix)
			r.From = join(prefix, timeKey(since))
			for key, raw := range in.Scan(logTallies, r) {
				var more store.Tally
				if err := json.Unmarshal(raw, &more); err != nil {
					l.store.skipDamaged("tallies", key, err)
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
	return slices.SortedFunc(maps.Values(hours), func(a, b store.Tally) int { return a.Hour.Compare(b.Hour) }), nil
}
