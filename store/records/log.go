package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Log is a store.DeliveryLog in tables for each day (engine.Days), in files beside the store:
//
//	rows           delivery id, which begins with its time -> row of store.LogEntry
//	index          webhook id 0 created-at delivery id     -> state 0 event
//	hourly_counts  webhook id 0 hour                       -> JSON of store.AttemptCounts
//
// An entry lies in the day (UTC) in which its delivery was created. Its attempts are counted in the same day, also
// those made later, so that entry and counts are committed together. Rows are sealed and tagged like those of the
// store, with its keys. Any goroutine may use a Log.
//
// The log is not committed together with the store: package webhooks writes the log first. After a crash in between,
// the delivery is sent and logged once more. The same id replaces its row, and attempts are distinguished by their time,
// so none counts twice.
//
// Calls of Log that come at the same time share a commit: see Log.Log.
type Log struct {
	days  engine.Days
	store *Store

	queue   sync.Mutex // guards waiting
	waiting []*logged  // calls whose rows are not committed yet
	writing sync.Mutex // held while committing or dropping days; taken before queue
}

var _ store.DeliveryLog = (*Log)(nil)

// Tables of a day, in the order of LogLayout.
const (
	logRows engine.Table = iota
	logIndex
	logHourlyCounts
)

// LogLayout describes the tables of a day to the engine.
func LogLayout() engine.Layout {
	return engine.Layout{{Name: "rows", Appended: true}, {Name: "index"}, {Name: "hourly_counts"}}
}

// logSubject is the subject to which the fields of an entry are sealed. Reports of damage name it in place of a
// table.
const logSubject = "delivery_log"

// OpenLog makes the log over days that were opened with LogLayout. The keys of the store seal its entries, so the log
// must be closed before the store. The log closes the days.
func OpenLog(days engine.Days, s *Store) *Log { return &Log{store: s, days: days} }

// logged is one call of Log and what it wants committed.
type logged struct {
	rows []logRow
	done bool // committed, or failed with err; guarded by Log.writing, as err is
	err  error
}

// logRow is an entry in the form in which its day stores it.
type logRow struct {
	plain        store.LogEntry // what is not sealed
	index, value []byte         // its entry in the table index
	row          []byte         // sealed and tagged
}

// attemptPayload is the sealed part of an attempt. The sealed field of an entry has one for each attempt, in order.
type attemptPayload struct {
	Reason       wallet.Reason `json:"reason,omitzero"`
	ResponseBody []byte        `json:"answer,omitempty"`
}

// Log seals the entries, queues them, and waits for its turn to write. The caller that gets the turn commits
// everything that is queued by then, so a call often finds that another one has committed its entries. ctx can end
// the sealing, and not the wait. An error means that some entries may not be stored: the caller may log all of them
// again.
func (l *Log) Log(ctx context.Context, entries []store.LogEntry) error {
	mine := &logged{}
	var err error
	if mine.rows, err = l.seal(ctx, entries); err != nil || len(mine.rows) == 0 {
		return err
	}
	l.queue.Lock()
	l.waiting = append(l.waiting, mine)
	l.queue.Unlock()

	// Wait for the turn. Another caller may have committed these entries meanwhile.
	l.writing.Lock()
	defer l.writing.Unlock()
	if mine.done {
		return mine.err
	}
	l.queue.Lock()
	batch := l.waiting
	l.waiting = nil
	l.queue.Unlock()
	l.commit(batch)
	return mine.err
}

// seal makes the rows of entries, in one View of the store. Entries about an erased person are left out.
func (l *Log) seal(ctx context.Context, entries []store.LogEntry) ([]logRow, error) {
	var out []logRow
	err := l.store.view(ctx, func(t *tx) error {
		for _, e := range entries {
			_, err := time.Parse(time.DateOnly, dayOf(e.CreatedAt))
			if err := errors.Join(err, checkID(e.ID), checkID(string(e.Webhook))); err != nil {
				return err
			}
			r, err := sealEntry(t, e)
			switch {
			case err == nil:
				out = append(out, r)
			case !erased(err):
				return err
			}
		}
		return nil
	})
	return out, err
}

// entryPlace is what the fields of an entry are sealed to: its webhook and its id.
func entryPlace(id wallet.WebhookID, delivery string) []byte {
	return append(hookPrefix(id), delivery...)
}

// dayOf is the name of the day of a time, in UTC (time.DateOnly).
func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// sealEntry makes the row of an entry and its place in the index.
func sealEntry(t *tx, e store.LogEntry) (logRow, error) {
	r := logRow{plain: e, index: join(hookPrefix(e.Webhook), timeKey(e.CreatedAt), []byte(e.ID)),
		value: join([]byte(e.State), []byte{0}, []byte(e.Event))}
	// What may be private leaves the plain part: bodies, responses, and reasons that name a host.
	r.plain.Delivery, r.plain.Attempted = plainDelivery(e.Delivery), slices.Clone(e.Attempted)
	payload := make([]attemptPayload, len(e.Attempted))
	for i, a := range e.Attempted {
		payload[i] = attemptPayload{a.Reason, a.ResponseBody}
		r.plain.Attempted[i].Reason, r.plain.Attempted[i].ResponseBody = wallet.Reason{}, nil
	}
	sealed, err := json.Marshal(payload)
	if err != nil {
		return r, err
	}
	place := entryPlace(e.Webhook, e.ID)
	if r.row, err = t.sealAs(logSubject, place, e.User, r.plain, sealedDelivery(e.Delivery), field{"attempts", sealed}); err != nil {
		return r, err
	}
	r.row = t.store.tagged(logSubject, []byte(e.ID), r.row)
	return r, nil
}

// logRow reads the row of a delivery, and checks its tag.
func (s *Store) logRow(id, raw []byte) (row, error) { return s.row(logSubject, id, raw) }

// plainEntry reads the part of an entry that is not sealed.
func (s *Store) plainEntry(id string, raw []byte) (e store.LogEntry, err error) {
	r, err := s.logRow([]byte(id), raw)
	if err != nil {
		return e, err
	}
	return e, r.into(&e)
}

// openEntry decrypts an entry. Without bodies, as in lists, it leaves out the delivery's body and ordering key and
// the receivers' responses. key is entryPlace of the entry.
func openEntry(t *tx, key, raw []byte, bodies bool) (store.LogEntry, error) {
	var e store.LogEntry
	var payload []attemptPayload
	names := []string{"", "attempts"}
	if bodies {
		names[0] = "delivery"
	}
	_, id, _ := bytes.Cut(key, []byte{0})
	r, err := t.store.logRow(id, raw)
	if err != nil {
		return e, err
	}
	sealed, err := t.unsealAs(logSubject, key, r, &e, names...)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(sealed[1], &payload); err != nil || len(payload) != len(e.Attempted) {
		return e, fmt.Errorf("%s: %w", logSubject, store.ErrDamaged)
	}
	for i, w := range payload {
		if e.Attempted[i].Reason = w.Reason; bodies {
			e.Attempted[i].ResponseBody = w.ResponseBody
		}
	}
	if bodies {
		err = openSealed(&e.Delivery, sealed[0])
	}
	return e, err
}

// commit writes the rows of several calls, one transaction for each day, and sets done and err of each. Its caller
// holds Log.writing. A call with entries of several days may be written in part when one day fails. It gets the
// error, and may log everything again, which replaces the same rows.
func (l *Log) commit(batches []*logged) {
	// Sort the rows by day, and note which calls have rows in each.
	rows, of := map[string][]logRow{}, map[string][]*logged{}
	for _, b := range batches {
		for _, r := range b.rows {
			day := dayOf(r.plain.CreatedAt)
			rows[day] = append(rows[day], r)
			if all := of[day]; len(all) == 0 || all[len(all)-1] != b {
				of[day] = append(all, b)
			}
		}
		b.done = true
	}
	// Then one commit for each day. Its error goes to the calls that have rows in it.
	for day, wanted := range rows {
		if err := l.days.Update(day, func(in engine.Tables) error { return l.putEntries(in, wanted) }); err != nil {
			for _, b := range of[day] {
				b.err = errors.Join(b.err, fmt.Errorf("delivery log of %s: %w", day, err))
			}
		}
	}
}

// putEntries puts the rows of one day, and adds what is new in them to the counts.
func (l *Log) putEntries(in engine.Tables, all []logRow) error {
	news := hourlyCounts{}
	for _, r := range all {
		var old store.LogEntry
		if raw := in.Get(logRows, []byte(r.plain.ID)); raw != nil {
			var err error
			if old, err = l.store.plainEntry(r.plain.ID, raw); err != nil {
				old = store.LogEntry{} // a damaged entry is replaced; its attempts count again
			}
		}
		news.count(old, r.plain)
		if err := errors.Join(in.Put(logRows, []byte(r.plain.ID), r.row), in.Put(logIndex, r.index, r.value)); err != nil {
			return err
		}
	}
	return news.add(in)
}

// hourlyCounts are counts by their keys in the table hourly_counts, collected before they are added to a day.
type hourlyCounts map[string]store.AttemptCounts

// count adds the attempts that now has and old has not, compared by their time, and a dead letter if it is new.
func (n hourlyCounts) count(old, now store.LogEntry) {
	for _, a := range now.Attempted {
		if slices.ContainsFunc(old.Attempted, func(b store.Attempt) bool { return b.At.Equal(a.At) }) {
			continue
		}
		if a.Succeeded() {
			n.at(now.Webhook, a.At, store.AttemptCounts{Succeeded: 1})
		} else {
			n.at(now.Webhook, a.At, store.AttemptCounts{Failed: 1})
		}
	}
	if now.State == store.DeliveryDeadLettered && old.State != store.DeliveryDeadLettered {
		n.at(now.Webhook, now.EndedAt, store.AttemptCounts{DeadLettered: 1})
	}
}

// at adds to the count of a webhook in the hour of a time.
func (n hourlyCounts) at(id wallet.WebhookID, at time.Time, more store.AttemptCounts) {
	more.Hour = at.UTC().Truncate(time.Hour)
	key := string(append(hookPrefix(id), timeKey(more.Hour)...))
	n[key] = sum(n[key], more)
}

// sum adds two counts of one hour.
func sum(a, b store.AttemptCounts) store.AttemptCounts {
	return store.AttemptCounts{Hour: b.Hour, Succeeded: a.Succeeded + b.Succeeded, Failed: a.Failed + b.Failed, DeadLettered: a.DeadLettered + b.DeadLettered}
}

// add adds the counts to those that a day has. A damaged count is lost and begins again.
func (n hourlyCounts) add(to engine.Tables) error {
	for key, more := range n {
		var old store.AttemptCounts
		if raw := to.Get(logHourlyCounts, []byte(key)); raw != nil && json.Unmarshal(raw, &old) != nil {
			old = store.AttemptCounts{} // damaged
		}
		raw, err := json.Marshal(sum(old, more))
		if err != nil {
			return err
		}
		if err := to.Put(logHourlyCounts, []byte(key), raw); err != nil {
			return err
		}
	}
	return nil
}

// DropBefore removes the days that ended before a time, and returns how many.
func (l *Log) DropBefore(ctx context.Context, before time.Time) (int, error) {
	l.writing.Lock() // a writer would make the day again while it is removed
	defer l.writing.Unlock()
	return l.days.Drop(ctx, before)
}

// Close waits for writers and readers, then closes the files.
func (l *Log) Close() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.days.Close()
}
