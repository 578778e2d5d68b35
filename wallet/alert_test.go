package wallet

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestLevelsAreOrderedAsNumbers: prices of every size, and changes of either sign.
func TestLevelsAreOrderedAsNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 1))
	price := func() Price {
		for {
			if p, err := NewPrice(random.Uint64()>>random.IntN(64), random.IntN(40)-38); err == nil {
				return p
			}
		}
	}
	for range 20_000 {
		p, q := price(), price()
		if random.IntN(4) == 0 {
			q = p.moved(Change(random.IntN(3) - 1))
		}
		a, b := PriceLevel(p), PriceLevel(q)
		if got := bytes.Compare(a[:], b[:]); got != p.Compare(q) {
			t.Fatalf("%s and %s: %d", p, q, got)
		}
		c, d := Change(random.Int64()>>random.IntN(64)), Change(random.Int64()>>random.IntN(64))
		x, y := ChangeLevel(c), ChangeLevel(d)
		if got := bytes.Compare(x[:], y[:]); got < 0 != (c < d) || got == 0 != (c == d) {
			t.Fatalf("%d and %d: %d", c, d, got)
		}
	}
	lowest, highest := PriceLevel(MustPrice("1e-30")), PriceLevel(MustPrice("999999999.999999999"))
	if lowest[0] == 0 || highest[0] >= 0xc0 {
		t.Errorf("%x, %x", lowest, highest)
	}
}

// alerts plays an alert over values of its series, and returns at which it was told.
func alerts(a Alert, levels []Level) (told []int) {
	for i, now := range levels {
		if i == 0 {
			a = a.Begun(now)
			continue
		}
		before := levels[i-1]
		for again := true; again; {
			again = false
			for _, trigger := range a.Crossings() {
				up := trigger.Up && compareLevels(before, trigger.Level) < 0 && compareLevels(now, trigger.Level) >= 0
				down := !trigger.Up && compareLevels(before, trigger.Level) > 0 && compareLevels(now, trigger.Level) <= 0
				if up || down {
					next, tell := a.Crossed(trigger, time.Unix(int64(i), 0))
					if tell {
						told = append(told, i)
					}
					a, again = next, true
					break
				}
			}
		}
	}
	return told
}

func prices(texts ...string) (out []Level) {
	for _, text := range texts {
		out = append(out, PriceLevel(MustPrice(text)))
	}
	return out
}

// TestOneCrossingIsOneAlert: a price that trembles about the level is told of once; one that went back by a percent is told of again.
func TestOneCrossingIsOneAlert(t *testing.T) {
	above := Alert{ID: "a", Owner: "u", Condition: AlertAbove, Price: MustPrice("200")}
	below := Alert{ID: "a", Owner: "u", Condition: AlertBelow, Price: MustPrice("200")}
	moves := Alert{ID: "a", Owner: "u", Condition: AlertMoves, Change: 500, Span: time.Hour}
	changes := func(of ...Change) (out []Level) {
		for _, c := range of {
			out = append(out, ChangeLevel(c))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		alert  Alert
		levels []Level
		want   []int
	}{
		{"reaches it", above, prices("199", "199.99", "200", "201"), []int{2}},
		{"trembles", above, prices("199", "200", "199.5", "200.5", "198.01", "201"), []int{1}},
		{"goes back by a percent", above, prices("199", "200", "198", "200"), []int{1, 3}},
		{"jumps over it", above, prices("100", "300", "100", "300"), []int{1, 3}},
		{"is above already", above, prices("210", "220", "199", "205", "198", "200"), []int{5}},
		{"stands on it", above, prices("200", "200", "198", "200"), []int{3}},
		{"falls to it", below, prices("201", "200.01", "200", "199", "201", "199", "202", "200"), []int{2, 7}},
		{"is below already", below, prices("150", "202", "200"), []int{2}},
		{"moves up and down", moves, changes(0, 499, 500, 700, 251, 500, 250, 500, 0, -500, -249, -500, -250, -501), []int{2, 7, 9, 11, 13}},
		{"moves from one side to the other", moves, changes(0, 600, -600, 600), []int{1, 2, 3}},
		{"has moved already", moves, changes(600, 700, 250, 500), []int{3}},
	} {
		if got := alerts(c.alert, c.levels); !slices.Equal(got, c.want) {
			t.Errorf("%s: told at %v, want %v", c.name, got, c.want)
		}
		if err := c.alert.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestWhatIsNoAlert is refused.
func TestWhatIsNoAlert(t *testing.T) {
	good := Alert{ID: "a", Owner: "u", Condition: AlertAbove, Price: MustPrice("200")}
	for name, change := range map[string]func(*Alert){
		"no id": func(a *Alert) { a.ID = "" }, "no owner": func(a *Alert) { a.Owner = "" }, "no condition": func(a *Alert) { a.Condition = "" },
		"no price": func(a *Alert) { a.Price = Price{} }, "a price and a change": func(a *Alert) { a.Change = 5 }, "a level over a time": func(a *Alert) { a.Span = time.Hour },
		"fired on the wrong side": func(a *Alert) { a.Fired = FiredDown }, "fired somewhere": func(a *Alert) { a.Fired = "x" },
		"a move of nothing":     func(a *Alert) { a.Condition, a.Price, a.Span = AlertMoves, Price{}, time.Hour },
		"a move over no time":   func(a *Alert) { a.Condition, a.Price, a.Change = AlertMoves, Price{}, 500 },
		"a move over two hours": func(a *Alert) { a.Condition, a.Price, a.Change, a.Span = AlertMoves, Price{}, 500, 2*time.Hour },
		"a move by too much": func(a *Alert) {
			a.Condition, a.Price, a.Change, a.Span = AlertMoves, Price{}, MaxAlertMove+1, time.Hour
		},
		"a move with a price": func(a *Alert) { a.Condition, a.Change, a.Span = AlertMoves, 500, time.Hour },
	} {
		a := good
		if change(&a); !errors.Is(a.Check(), ErrAlert) {
			t.Errorf("%s: %v", name, a.Check())
		}
	}
}
