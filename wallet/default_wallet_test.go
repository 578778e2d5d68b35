package wallet_test

import (
	"slices"
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

// TestFormerDefaultsAreKeptFor30Days: each of them, whatever becomes the default later. Nobody pushes the first out.
func TestFormerDefaultsAreKeptFor30Days(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	own := wallet.Address{1}
	user := wallet.User{DefaultWallet: own}.WithDefault(wallet.Address{2}, now)
	first, month := now, 30*24*time.Hour
	want := func(what string, address wallet.Address, at time.Time) {
		t.Helper()
		if got := user.DefaultChangedAt(address, now); !got.Equal(at) {
			t.Errorf("%s: %s, want %s", what, got, at)
		}
	}
	want("a change", own, first)
	want("the default", wallet.Address{2}, time.Time{})
	for i := range byte(20) {
		now = now.Add(wallet.ReceivingDelay)
		before := slices.Clone(user.FormerDefaults)
		next := user.WithDefault(wallet.Address{3 + i}, now)
		if !slices.Equal(before, user.FormerDefaults) {
			t.Fatal("it changes the list that it was given")
		}
		user = next
		want("after more of them", own, first)
		if i < wallet.MaxFormerDefaults-1 {
			want("the previous one", wallet.Address{2 + i}, now)
		}
	}
	if n := len(user.FormerDefaults); n != wallet.MaxFormerDefaults {
		t.Errorf("%d are kept", n)
	}
	// Chosen again and left again, it is told of the newest change.
	now = now.Add(wallet.ReceivingDelay)
	user = user.WithDefault(own, now)
	want("chosen again", own, time.Time{})
	now = now.Add(wallet.ReceivingDelay)
	user = user.WithDefault(wallet.Address{99}, now)
	want("left again", own, now)
	// After a freeze the wait begins again, and so does this.
	left := now
	user.Freeze = &wallet.Freeze{At: now.Add(time.Hour)}
	now = now.Add(50 * 24 * time.Hour)
	if kept, forgets := user.WithoutOldWallets(now); forgets || len(kept.FormerDefaults) != wallet.MaxFormerDefaults {
		t.Errorf("a frozen person's: %+v", kept.FormerDefaults)
	}
	user = user.Unfrozen(now)
	if left.Equal(now) {
		t.Fatal("the test is broken")
	}
	want("after a freeze", own, now)
	at := now
	now = now.Add(month - 1)
	want("within 30 days", own, at)
	if kept, _ := user.WithoutOldWallets(now); len(kept.FormerDefaults) != 1 {
		t.Errorf("within 30 days: %+v", kept.FormerDefaults)
	}
	now = now.Add(1)
	want("after 30 days", own, time.Time{})
	if kept, forgets := user.WithoutOldWallets(now); !forgets || kept.FormerDefaults != nil {
		t.Errorf("after 30 days: %+v", kept.FormerDefaults)
	}
}
