package market

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// change is a price that somebody set. It holds until the next tick, and the walk goes on from it.
type change struct {
	Mint  string    `json:"mint"`
	At    time.Time `json:"at"`
	Price dollars   `json:"price,omitempty"` // 10^-12 dollars; 0: from here on there is no price
}

// history is every price of a token: its walk, and the changes that somebody made. It is a value that does not change.
type history struct {
	*token
	born    time.Time
	changes []change
}

// since is when the token's first price came up.
func (h history) since() time.Time { return h.born.Add(-h.age) }

// at is the price at a moment. 0: there is none.
func (h history) at(t time.Time) dollars { return h.reader()(t) }

// reader returns a function that is fast where moments are read one after the other. It belongs to one goroutine.
func (h history) reader() func(time.Time) dollars {
	c, since := h.walk.cursor(), h.since()
	anchor, from, until, known := uint64(0), time.Time{}, time.Time{}, false
	price := dollars(0)
	return func(t time.Time) dollars {
		if t.Before(since) {
			return 0
		}
		// The change that holds: the last one that is not after t.
		if !known || t.Before(from) || !until.IsZero() && !t.Before(until) {
			i := sort.Search(len(h.changes), func(i int) bool { return h.changes[i].At.After(t) })
			from, until, price, anchor, known = time.Time{}, time.Time{}, h.price, walkUnit, true
			if i > 0 {
				from, price = h.changes[i-1].At, h.changes[i-1].Price
				anchor = c.at(tickOf(from))
			}
			if i < len(h.changes) {
				until = h.changes[i].At
			}
		}
		if price == 0 {
			return 0
		}
		return dollars(max(1, mulDiv(uint64(price), c.at(tickOf(t)), anchor)))
	}
}

// change is by how much the price moved in the time before a moment, in 10^-percentScale percent. ok is false where one
// of the two prices is not known.
func (h history) change(now time.Time, over time.Duration) (change int64, ok bool) {
	from, to := h.at(now.Add(-over)), h.at(now)
	if from == 0 || to == 0 {
		return 0, false
	}
	return changePercent(from, to), true
}

// moments yields every moment in [from, to) at which a price can be another one than before: where a tick begins, and
// where somebody changed the price of one of the tokens. They are in the order of time.
func moments(from, to time.Time, tokens ...history) iter.Seq[time.Time] {
	var changed []time.Time
	for _, h := range tokens {
		for _, c := range h.changes {
			if !c.At.Before(from) && c.At.Before(to) {
				changed = append(changed, c.At)
			}
		}
	}
	slices.SortFunc(changed, time.Time.Compare)
	return func(yield func(time.Time) bool) {
		left := slices.CompactFunc(changed, time.Time.Equal)
		for tick := tickOf(from); tickTime(tick).Before(to); tick++ {
			at := tickTime(tick)
			if !at.Before(from) && !yield(at) {
				return
			}
			for next := tickTime(tick + 1); len(left) > 0 && left[0].Before(next); left = left[1:] {
				if !left[0].Equal(at) && !yield(left[0]) {
					return
				}
			}
		}
	}
}
