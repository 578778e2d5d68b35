package wallet

import (
	"math"
	"testing"
	"time"
)

// TestAnnualYield compounds what one epoch brought over the epochs of a year.
func TestAnnualYield(t *testing.T) {
	const year = 365 * 24 * time.Hour
	of := func(epochs int64) StakeEpoch {
		return StakeEpoch{At: noon, SlotsLeft: 1, Slots: uint64(int64(year) / epochs / int64(time.Second)), SlotTime: time.Second}
	}
	for name, c := range map[string]struct {
		epoch        StakeEpoch
		gained, base uint64
		want         uint64
	}{
		"one epoch a year":       {of(1), 7, 100, 700},
		"two, compounded":        {of(2), 10, 100, 2100},
		"a real year of 36 h":    {of(243), 264, 1_000_000, 662}, // 1.000264 ^ 243
		"half a basis point":     {of(1), 1, 20_000, 0},
		"nothing gained":         {of(243), 0, 100, 0},
		"of nothing":             {of(243), 5, 0, 0},
		"epochs without length":  {StakeEpoch{At: noon, Slots: 0, SlotTime: time.Second}, 5, 100, 0},
		"longer than a year":     {of(1).times(3), 5, 100, 0},
		"absurd":                 {of(100_000), 5, 100, MaxYield},
		"as absurd as it can be": {of(31_536_000), math.MaxUint64, 1, MaxYield},
		"much in one year":       {of(1), 1001, 1, MaxYield},
	} {
		if got := c.epoch.AnnualYield(c.gained, c.base); got != c.want {
			t.Errorf("%s: %d basis points, want %d", name, got, c.want)
		}
	}
}

// times is an epoch of so many times the slots.
func (e StakeEpoch) times(n uint64) StakeEpoch {
	e.Slots *= n
	return e
}
