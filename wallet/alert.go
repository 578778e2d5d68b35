package wallet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// AlertID names an alert.
type AlertID string

// AlertCondition is what an alert waits for.
type AlertCondition string

// The conditions.
const (
	AlertAbove AlertCondition = "above"  // the price reaches Price from below
	AlertBelow AlertCondition = "below"  // the price reaches Price from above
	AlertMoves AlertCondition = "change" // within Span the price moves by Change or more, up or down
)

// Alert notifies its owner when a price or a change crosses a level. After firing it stays silent until the value has moved back (see Crossings), so
// a price that hovers around the level doesn't cause a stream of messages.
type Alert struct {
	ID        AlertID        `json:"id"`
	Owner     UserID         `json:"owner"`
	Token     Token          `json:"token"`
	Condition AlertCondition `json:"condition"`
	Price     Price          `json:"price,omitzero"`    // of AlertAbove and AlertBelow
	Change    Change         `json:"change,omitempty"`  // of AlertMoves, in hundredths of a percent, above 0
	Span      time.Duration  `json:"span,omitempty"`    // of AlertMoves: one of AlertSpans
	KeyID     string         `json:"key_id,omitempty"`  // of the key by which a program set it; "" for the chat
	CreatedAt time.Time      `json:"created_at"`        //
	FiredAt   time.Time      `json:"fired_at,omitzero"` // when it fired last
	Fired     AlertSide      `json:"fired,omitempty"`   // the side on which it fired last, from which the price has to go back; AlertArmed: it waits to fire
}

// AlertSide is the side of its level on which an alert has fired.
type AlertSide string

// The sides. An alert that has not fired, or has gone back since, is armed.
const (
	AlertArmed AlertSide = ""
	FiredUp    AlertSide = "up"
	FiredDown  AlertSide = "down"
)

// Limits of alerts.
const (
	MaxAlerts       = 50     // of one person
	LeastAlertMove  = 10     // hundredths of a percent
	MaxAlertMove    = 90_000 // 900 %
	alertHysteresis = 100    // how far a price goes back before an alert is armed again, in hundredths of a percent
)

// AlertSpans are the times over which an alert can watch a change.
func AlertSpans() []time.Duration { return []time.Duration{time.Hour, 24 * time.Hour} }

// SpanName is how a span is written: "1h", "24h".
func SpanName(span time.Duration) string { return strconv.Itoa(int(span/time.Hour)) + "h" }

// ErrAlert says that an alert contradicts itself.
var ErrAlert = errors.New("not an alert")

// Check returns ErrAlert for an alert that may not be stored.
func (a Alert) Check() error {
	level := a.Condition == AlertAbove || a.Condition == AlertBelow
	moves := a.Condition == AlertMoves
	knownSpan := false
	for _, span := range AlertSpans() {
		knownSpan = knownSpan || a.Span == span
	}
	switch {
	case a.ID == "" || a.Owner == "":
		return fmt.Errorf("%w: it is nobody's", ErrAlert)
	case !level && !moves:
		return fmt.Errorf("%w: condition %q", ErrAlert, a.Condition)
	case level && (!a.Price.Known() || a.Change != 0 || a.Span != 0):
		return fmt.Errorf("%w: a level without a price", ErrAlert)
	case moves && (a.Price.Known() || a.Change < LeastAlertMove || a.Change > MaxAlertMove || !knownSpan):
		return fmt.Errorf("%w: a move by %d in %s", ErrAlert, a.Change, a.Span)
	case a.Fired != AlertArmed && a.Fired != FiredUp && a.Fired != FiredDown, a.Condition == AlertAbove && a.Fired == FiredDown, a.Condition == AlertBelow && a.Fired == FiredUp:
		return fmt.Errorf("%w: it fired %q", ErrAlert, a.Fired)
	}
	return nil
}

// Series is a quantity that alerts watch: the price of a token, or with a Span its change over that time.
type Series struct {
	Mint Address // zero for SOL
	Span time.Duration
}

// Public returns the series of a change as it is announced to all. Its mark is its own: whatever alerts people set and delete, what was announced stays known.
func (s Series) Public() Series { return Series{s.Mint, -s.Span} }

// Series returns what the alert watches.
func (a Alert) Series() Series { return Series{a.Token.Mint, a.Span} }

// AlertMark is up to where a series has been compared with alerts.
type AlertMark struct {
	Level     Level
	Announced AlertSide // of Series.Public: on which side a significant change was announced, and waits to go back
}

// Level is a value of a series in a form whose order as bytes is its order as a number. Levels of one kind of series compare with each other only.
type Level [9]byte

// PriceLevel returns the level of a known price.
func PriceLevel(p Price) (l Level) {
	digits := strconv.FormatUint(p.Mantissa, 10)
	mantissa := p.Mantissa
	for range priceDigits - len(digits) {
		mantissa *= 10
	}
	l[0] = byte(len(digits) + int(p.Exponent) - lowestMagnitude) // 1 to 39: the price is below 10^(l[0]+lowestMagnitude)
	binary.BigEndian.PutUint64(l[1:], mantissa)
	return l
}

// ChangeLevel returns the level of a change.
func ChangeLevel(c Change) (l Level) {
	l[0] = 0xc0 // apart from prices
	binary.BigEndian.PutUint64(l[1:], uint64(c)^1<<63)
	return l
}

// Crossing is a crossing that concerns an alert: its series reaches Level, from below if Up, else from above.
type Crossing struct {
	Series Series
	Up     bool
	Level  Level
}

// Crossings returns the crossings that the alert waits for now: those at which it fires, or the one at which it is armed again.
func (a Alert) Crossings() []Crossing {
	up := func(l Level) Crossing { return Crossing{a.Series(), true, l} }
	down := func(l Level) Crossing { return Crossing{a.Series(), false, l} }
	switch {
	case a.Condition == AlertAbove && a.Fired == AlertArmed:
		return []Crossing{up(PriceLevel(a.Price))}
	case a.Condition == AlertAbove:
		return []Crossing{down(PriceLevel(a.Price.moved(-alertHysteresis)))}
	case a.Condition == AlertBelow && a.Fired == AlertArmed:
		return []Crossing{down(PriceLevel(a.Price))}
	case a.Condition == AlertBelow:
		return []Crossing{up(PriceLevel(a.Price.moved(alertHysteresis)))}
	case a.Fired == FiredUp:
		return []Crossing{down(ChangeLevel(a.Change / 2))}
	case a.Fired == FiredDown:
		return []Crossing{up(ChangeLevel(-a.Change / 2))}
	}
	return []Crossing{up(ChangeLevel(a.Change)), down(ChangeLevel(-a.Change))}
}

// Crossed returns the alert after one of its Crossings, and whether it fired.
func (a Alert) Crossed(t Crossing, at time.Time) (next Alert, fired bool) {
	if a.Fired != AlertArmed {
		a.Fired = AlertArmed
		return a, false
	}
	a.Fired, a.FiredAt = FiredDown, at.UTC()
	if t.Up {
		a.Fired = FiredUp
	}
	return a, true
}

// Begun returns a new alert as it begins while the series is at a level: one whose level is reached already waits until the price has gone back,
// so that it tells of a crossing, and not of what was so before.
func (a Alert) Begun(now Level) Alert {
	for _, t := range a.Crossings() {
		if reached := compareLevels(now, t.Level); t.Up && reached >= 0 || !t.Up && reached <= 0 {
			a.Fired = FiredDown
			if t.Up {
				a.Fired = FiredUp
			}
			return a
		}
	}
	return a
}

func compareLevels(a, b Level) int {
	for i := range a {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return 0
}

// moved returns the price moved by hundredths of a percent; the price itself where that would be out of bounds.
func (p Price) moved(by Change) Price {
	factor, err := NewPrice(uint64(wholeChange+by), -4)
	if err != nil {
		return p
	}
	moved, err := p.Times(factor)
	if err != nil {
		return p
	}
	return moved
}

// Significant returns the change over a span from which on it is announced to all as price.significant_change.
func Significant(span time.Duration) Change {
	if span <= time.Hour {
		return 500
	}
	return 1000
}

// Announce returns on which side a change over a span counts as announced after a change of now, and whether it is announced now: once for each time that it reaches
// Significant, and again only after it has gone back to half of it.
func Announce(before AlertSide, span time.Duration, now Change) (after AlertSide, announced bool) {
	most := Significant(span)
	switch {
	case now >= most:
		return FiredUp, before != FiredUp
	case now <= -most:
		return FiredDown, before != FiredDown
	case before == FiredUp && now <= most/2, before == FiredDown && now >= -most/2:
		return AlertArmed, false
	}
	return before, false
}
