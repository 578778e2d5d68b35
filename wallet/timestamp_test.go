package wallet

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestTimestampIsISO8601(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		at := time.Unix(chance.Int64N(253_402_300_800), chance.Int64N(1_000_000_000)).In(time.FixedZone("x", chance.IntN(80_000)-40_000))
		if got, want := Timestamp(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	for _, at := range []time.Time{{}, time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got, want := Timestamp(at), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
