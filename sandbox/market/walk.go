package market

import "time"

// tickLength is how long a price stands still.
const tickLength = 15 * time.Second

// tickOf is the number of the tick of a moment, counted from 1970. Earlier moments are tick 0.
func tickOf(t time.Time) int64 { return max(0, t.Unix()/int64(tickLength/time.Second)) }

// tickTime is when a tick begins.
func tickTime(tick int64) time.Time { return time.Unix(tick*int64(tickLength/time.Second), 0).UTC() }

// walkUnit is the middle of a walk: a price that has not moved.
const walkUnit = 1_000_000_000

// octaves is how many waves a walk is the sum of. The longest one takes 2^17 ticks, 22 days.
const octaves = 18

// walk is how a price moves by itself: the sum of random waves, each twice as long as the one before it and √2 times as
// high. That looks like a random walk, never leaves a band, and is known for every tick at once. A walk does not
// change after it was made; a cursor reads it.
type walk struct {
	seed       uint64
	amplitudes [octaves]int64 // of each wave, in 1/walkUnit
	plungeAt   int64          // tick at which the price begins to fall to plungeTo; 0: never
}

// A plunge takes an hour and leaves 60 percent.
const (
	plungeTicks = int64(time.Hour / tickLength)
	plungeTo    = walkUnit / 10 * 6
)

// newWalk makes a walk whose shortest wave is so high, in 1/walkUnit. The longest one is 362 times as high, and the
// walk stays within 1,235 times of the middle.
func newWalk(seed uint64, amplitude int64) *walk {
	w := &walk{seed: seed}
	for k := range w.amplitudes {
		w.amplitudes[k] = amplitude << (k / 2)
		if k%2 == 1 {
			w.amplitudes[k] = w.amplitudes[k] * 1414 / 1000
		}
	}
	return w
}

// point is the random height of a wave at one of its corners, from -amplitude to amplitude.
func (w *walk) point(octave int, corner int64) int64 {
	a := w.amplitudes[octave]
	h := mix(w.seed+uint64(octave)*0xd1342543de82ef95, uint64(corner))
	return int64((h>>32)*uint64(2*a+1)>>32) - a
}

// mix is a hash of two numbers (splitmix64's finalizer): equal ones give equal results, close ones unrelated results.
func mix(seed, n uint64) uint64 {
	h := seed + n*0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// cursor reads a walk, and is fast where ticks are read one after the other. A cursor belongs to one goroutine.
type cursor struct {
	walk  *walk
	waves [octaves]wave
}

// wave is the part of an octave between two corners.
type wave struct {
	known      bool
	corner     int64 // number of the left one
	left, rise int64
}

func (w *walk) cursor() *cursor { return &cursor{walk: w} }

// at is the walk at a tick: walkUnit times how high the price is above its middle. It is above 0.
func (c *cursor) at(tick int64) uint64 {
	sum := int64(walkUnit)
	for k := range c.waves {
		wv, corner := &c.waves[k], tick>>k
		if !wv.known || wv.corner != corner {
			left := c.walk.point(k, corner)
			*wv = wave{true, corner, left, c.walk.point(k, corner+1) - left}
		}
		within := tick & (1<<k - 1)
		sum += wv.left + wv.rise*within>>k
	}
	value := uint64(max(1, sum))
	if c.walk.plungeAt == 0 {
		return value
	}
	// The plunge multiplies the walk by a line from 1 to plungeTo.
	fallen := min(max(0, tick-c.walk.plungeAt), plungeTicks)
	return mulDiv(value, uint64(walkUnit-(walkUnit-plungeTo)*fallen/plungeTicks), walkUnit)
}
