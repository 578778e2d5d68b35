package records

import (
	"bytes"
	"errors"
	"fmt"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// alertRow is the plain part of an alert: what names it. The rest is sealed.
type alertRow struct {
	ID    wallet.AlertID `json:"id"`
	Owner wallet.UserID  `json:"owner"`
}

// alertKey is the key of an alert. It begins with its owner, so that all of a person's can be listed and erased.
func alertKey(owner wallet.UserID, id wallet.AlertID) []byte {
	return join(userPrefix(owner), []byte(id))
}

// seriesKey begins the keys of a series: the mint, and the number of its span in wallet.AlertSpans, counted from 1; 0 is the price. The mark of
// what is announced to all (wallet.Series.Public) has the highest bit as well.
func seriesKey(s wallet.Series) []byte {
	number := byte(0)
	for i, span := range wallet.AlertSpans() {
		switch s.Span {
		case span:
			number = byte(i + 1)
		case -span:
			number = byte(i+1) | 0x80
		}
	}
	return append(bytes.Clone(s.Mint[:]), number)
}

// crossingKey is where the index alertLevels leads to an alert: series, direction (0 down, 1 up), level, key of the alert.
func crossingKey(c wallet.Crossing, alert []byte) []byte {
	direction := byte(0)
	if c.Up {
		direction = 1
	}
	return join(seriesKey(c.Series), []byte{direction}, c.Level[:], alert)
}

// levelAt is where a level begins in a key of alertLevels, and levelEnd where it ends.
const (
	levelAt  = len(wallet.Address{}) + 2
	levelEnd = levelAt + len(wallet.Level{})
)

// Alert reads one row.
func (t *tx) Alert(owner wallet.UserID, id wallet.AlertID) (wallet.Alert, error) {
	return t.alertAt(alertKey(owner, id))
}

func (t *tx) alertAt(key []byte) (wallet.Alert, error) {
	_, a, err := readWithPayload[alertRow, wallet.Alert](t, alerts, key)
	return a, err
}

// AlertsOf walks a person's rows.
func (t *tx) AlertsOf(owner wallet.UserID) ([]wallet.Alert, error) {
	var out []wallet.Alert
	for _, e := range t.firstOf(alerts, userPrefix(owner), wallet.MaxAlerts) {
		a, err := t.alertAt(e.key)
		switch {
		case errors.Is(err, store.ErrDamaged): // one that nobody can read hides no other
			t.skipDamaged(alerts, e.key, err)
			continue
		case err != nil:
			return nil, fmt.Errorf("list alerts: %w", err)
		}
		out = append(out, a)
	}
	return out, nil
}

// PutAlert writes a row and its places in the index.
func (t *tx) PutAlert(a wallet.Alert) error {
	if err := errors.Join(a.Check(), checkID(string(a.ID)), checkID(string(a.Owner))); err != nil {
		return err
	}
	key := alertKey(a.Owner, a.ID)
	if t.isErased(a.Owner) {
		return store.ErrNotFound
	}
	before, err := t.alertAt(key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if len(t.firstOf(alerts, userPrefix(a.Owner), wallet.MaxAlerts)) == wallet.MaxAlerts {
			return store.ErrConflict
		}
		if key, _ := t.first(alertLevels, engine.Prefix(seriesKey(a.Series()))); key == nil { // nobody watched: the mark may be old
			if err := t.delete(alertMarks, seriesKey(a.Series())); err != nil {
				return err
			}
		}
	case err != nil:
		return err
	default:
		if err := t.unwatch(before, key); err != nil {
			return err
		}
	}
	for _, c := range a.Crossings() {
		if err := t.put(alertLevels, crossingKey(c, key), nil); err != nil {
			return err
		}
	}
	return t.putWithPayload(alerts, key, a.Owner, alertRow{a.ID, a.Owner}, a)
}

// unwatch removes an alert's places in the index.
func (t *tx) unwatch(a wallet.Alert, key []byte) error {
	for _, c := range a.Crossings() {
		if err := t.delete(alertLevels, crossingKey(c, key)); err != nil {
			return err
		}
	}
	return nil
}

// DeleteAlert removes a row and its places in the index.
func (t *tx) DeleteAlert(owner wallet.UserID, id wallet.AlertID) error {
	key := alertKey(owner, id)
	a, err := t.alertAt(key)
	if errors.Is(err, store.ErrDamaged) { // CrossedAlerts removes its places in the index when it meets them
		return t.delete(alerts, key)
	}
	if err != nil {
		return err
	}
	return errors.Join(t.unwatch(a, key), t.delete(alerts, key))
}

// CrossedAlerts scans the index between two levels.
func (t *tx) CrossedAlerts(series wallet.Series, from, to wallet.Level, limit int) ([]store.AlertCrossing, error) {
	order := bytes.Compare(from[:], to[:])
	if order == 0 {
		return nil, nil
	}
	up := order < 0
	// Up: the levels above from, up to to. Down: those from to on, below from.
	low, high := from, to
	if !up {
		low, high = to, from
	}
	begin, end := crossingKey(wallet.Crossing{Series: series, Up: up, Level: low}, nil), crossingKey(wallet.Crossing{Series: series, Up: up, Level: high}, nil)
	if up { // a key that begins with a level comes behind the level itself
		begin, end = append(begin, 0xff), append(end, 0xff)
	}
	for {
		keys := t.firstKeys(alertLevels, engine.Range{From: begin, Before: end}, limit)
		out, err := t.crossedAt(series, up, keys)
		if err != nil || len(out) > 0 || len(keys) == 0 {
			return out, err
		}
		// All of them were damaged and are removed: there may be more behind them.
	}
}

// firstKeys returns copies of the first keys of a range.
func (t *tx) firstKeys(b table, r engine.Range, limit int) (keys [][]byte) {
	for key := range t.scan(b, r) {
		if len(keys) == limit {
			break
		}
		keys = append(keys, bytes.Clone(key))
	}
	return keys
}

// crossedAt reads the alerts to which keys of alertLevels lead, and removes keys that lead to none.
func (t *tx) crossedAt(series wallet.Series, up bool, keys [][]byte) (out []store.AlertCrossing, _ error) {
	for _, key := range keys {
		a, err := t.alertAt(key[levelEnd:])
		if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNotFound) {
			if err := t.delete(alertLevels, key); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, store.AlertCrossing{Alert: a, Crossing: wallet.Crossing{Series: series, Up: up, Level: wallet.Level(key[levelAt:levelEnd])}})
	}
	return out, nil
}

// WatchedSeries looks for the first place of each series.
func (t *tx) WatchedSeries(mint wallet.Address) []wallet.Series {
	out := []wallet.Series{}
	for _, s := range allSeries(mint) {
		if key, _ := t.first(alertLevels, engine.Prefix(seriesKey(s))); key != nil {
			out = append(out, s)
		}
	}
	return out
}

// allSeries lists what can be watched of a token.
func allSeries(mint wallet.Address) []wallet.Series {
	out := []wallet.Series{{Mint: mint}}
	for _, span := range wallet.AlertSpans() {
		out = append(out, wallet.Series{Mint: mint, Span: span})
	}
	return out
}

// AlertMark reads one value.
func (t *tx) AlertMark(series wallet.Series) (mark wallet.AlertMark, ok bool) {
	raw := t.get(alertMarks, seriesKey(series))
	if len(raw) != len(mark.Level)+1 || int(raw[len(mark.Level)]) >= len(alertSides) {
		return mark, false
	}
	return wallet.AlertMark{Level: wallet.Level(raw[:len(mark.Level)]), Announced: alertSides[raw[len(mark.Level)]]}, true
}

// alertSides are the sides by the byte that stands for them.
var alertSides = [...]wallet.AlertSide{wallet.AlertArmed, wallet.FiredUp, wallet.FiredDown}

// PutAlertMark writes one value.
func (t *tx) PutAlertMark(series wallet.Series, mark wallet.AlertMark) error {
	side := byte(0)
	for i, known := range alertSides {
		if known == mark.Announced {
			side = byte(i)
		}
	}
	return t.put(alertMarks, seriesKey(series), append(bytes.Clone(mark.Level[:]), side))
}

// AlertMints jumps from one token of the index to the next.
func (t *tx) AlertMints(after wallet.Address, limit int) ([]wallet.Address, error) {
	var out []wallet.Address
	for len(out) < limit {
		behind := engine.Prefix(after[:]).Before // of SOL, which is never listed, or of the last token
		if behind == nil {
			break
		}
		key, _ := t.first(alertLevels, engine.Range{From: behind})
		if len(key) < len(after) {
			break
		}
		after = wallet.Address(key[:len(after)])
		out = append(out, after)
	}
	return out, nil
}

// eraseAlerts removes a person's alerts. The places of a damaged one lead to nothing, and are removed when they are come upon.
func (t *tx) eraseAlerts(id wallet.UserID) error {
	for _, e := range t.prefixed(alerts, userPrefix(id)) {
		if a, err := t.alertAt(e.key); err == nil {
			if err := t.unwatch(a, e.key); err != nil {
				return err
			}
		}
		if err := t.delete(alerts, e.key); err != nil {
			return err
		}
	}
	return nil
}
