package wallet_test

import (
	"testing"
	"time"

	"purser/wallet"
)

// TestPayersGetThePreviousDefaultForADay: from each change, whatever is chosen in between, and longer if the account is frozen. Taking it back ends the wait.
func TestPayersGetThePreviousDefaultForADay(t *testing.T) {
	a, b, c, none := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}, wallet.Address{}
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	type step struct {
		after time.Duration
		do    string // "" nothing, "freeze", "unfreeze", or "default"
		to    wallet.Address
		gets  wallet.Address
		waits bool
	}
	day := wallet.ReceivingDelay
	for name, steps := range map[string][]step{
		"the first":                   {{0, "default", a, a, false}, {day, "", none, a, false}},
		"another":                     {{0, "default", a, a, false}, {0, "default", b, a, true}, {day - 1, "", none, a, true}, {1, "", none, b, false}},
		"the same":                    {{0, "default", a, a, false}, {0, "default", a, a, false}},
		"taken back":                  {{0, "default", a, a, false}, {0, "default", b, a, true}, {time.Hour, "default", a, a, false}, {day, "", none, a, false}},
		"a third begins the wait":     {{0, "default", a, a, false}, {0, "default", b, a, true}, {day - 1, "default", c, a, true}, {day - 1, "", none, a, true}, {1, "", none, c, false}},
		"a third after the wait":      {{0, "default", a, a, false}, {0, "default", b, a, true}, {day, "default", c, b, true}, {day, "", none, c, false}},
		"none, and another":           {{0, "default", a, a, false}, {0, "default", none, a, true}, {time.Hour, "default", b, a, true}, {day - 1, "", none, a, true}, {1, "", none, b, false}},
		"none for a day, and another": {{0, "default", a, a, false}, {0, "default", none, a, true}, {day, "", none, none, false}, {0, "default", b, b, false}},
		"frozen in the wait":          {{0, "default", a, a, false}, {0, "default", b, a, true}, {day - 1, "freeze", none, a, true}, {9 * day, "", none, a, true}, {0, "unfreeze", none, a, true}, {day - 1, "", none, a, true}, {1, "", none, b, false}},
		"frozen after the wait":       {{0, "default", a, a, false}, {0, "default", b, a, true}, {day, "freeze", none, b, false}, {0, "unfreeze", none, b, false}},
		"frozen without a change":     {{0, "default", a, a, false}, {0, "freeze", none, a, false}, {day, "unfreeze", none, a, false}},
	} {
		user, now := wallet.User{}, start
		for i, s := range steps {
			now = now.Add(s.after)
			switch s.do {
			case "default":
				user = user.WithDefault(s.to, now)
				if user.DefaultWallet != s.to {
					t.Errorf("%s, step %d: payments go out from %s", name, i, user.DefaultWallet)
				}
			case "freeze":
				user.Freeze = &wallet.Freeze{At: now}
			case "unfreeze":
				user = user.Unfrozen(now)
			}
			if gets, waits := user.ReceivesAt(now); gets != s.gets || waits != s.waits {
				t.Errorf("%s, step %d: payers get %v (waits %t), want %v (%t)", name, i, gets[0], waits, s.gets[0], s.waits)
			}
		}
		if user = user.Unfrozen(now); user.Freeze != nil {
			t.Errorf("%s: still frozen", name)
		}
	}
}
