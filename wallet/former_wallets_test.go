package wallet_test

import (
	"slices"
	"testing"
	"time"

	"purser/wallet"
)

// TestAFormerWalletUnlocksFor30Days: counted until the freeze, however long that lasts.
func TestAFormerWalletUnlocksFor30Days(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	own := wallet.Wallet{Address: wallet.Address{1}, Type: wallet.ExternalWallet, ConnectedAt: start.Add(-day)}
	gone := wallet.User{ID: "usr_a"}.WithFormerWallet(own, start)
	for name, c := range map[string]struct {
		user   wallet.User
		frozen time.Duration // after the disconnection
		want   bool
	}{
		"at once":                        {gone, 0, true},
		"a moment before 30 days":        {gone, 30*day - 1, true},
		"after 30 days":                  {gone, 30 * day, false},
		"after 31 days":                  {gone, 31 * day, false},
		"disconnected after the freeze":  {gone, -1, false},
		"connected after the freeze":     {wallet.User{}.WithFormerWallet(wallet.Wallet{Address: wallet.Address{1}, ConnectedAt: start.Add(time.Hour)}, start.Add(2*time.Hour)), time.Minute, false},
		"a row with a wrong time":        {wallet.User{FormerWallets: []wallet.FormerWallet{{ConnectedAt: start.Add(time.Hour), DisconnectedAt: start}}}, time.Minute, false},
		"connected and gone in a moment": {wallet.User{}.WithFormerWallet(wallet.Wallet{Address: wallet.Address{1}, ConnectedAt: start}, start), 0, true},
	} {
		c.user.Freeze = &wallet.Freeze{At: start.Add(c.frozen)}
		if c.frozen == 0 { // a long freeze forgets nothing
			c.user, _ = c.user.WithoutOldWallets(start.Add(400 * day))
		}
		if keys := c.user.UnlockedBy(nil); len(keys) != map[bool]int{true: 1}[c.want] {
			t.Errorf("%s: %+v", name, keys)
		}
	}
	gone.Freeze = &wallet.Freeze{At: start}
	if keys := gone.UnlockedBy(nil); len(keys) != 1 || keys[0] != (wallet.Wallet{Address: own.Address, Owner: "usr_a", Type: own.Type, ConnectedAt: own.ConnectedAt}) {
		t.Errorf("it is shown as %+v", keys)
	}
	if keys := (wallet.User{}).UnlockedBy([]wallet.Wallet{own}); keys != nil {
		t.Errorf("without a freeze: %+v", keys)
	}
}

// TestAnOlderConnectedWalletTakesPrecedence: a thief's wallet that the owner removed ends no freeze; the owner's does if the thief keeps a newer one.
func TestAnOlderConnectedWalletTakesPrecedence(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	own := wallet.Wallet{Address: wallet.Address{1}, ConnectedAt: now.Add(-1000 * time.Hour)}
	thiefs := wallet.Wallet{Address: wallet.Address{2}, ConnectedAt: now.Add(-time.Hour)}
	later := wallet.Wallet{Address: wallet.Address{3}, ConnectedAt: now.Add(time.Hour)}
	for name, c := range map[string]struct{ connected, former, want []wallet.Wallet }{
		"the owner removed the thief's":           {[]wallet.Wallet{own}, []wallet.Wallet{thiefs}, []wallet.Wallet{own}},
		"the thief removed the owner's":           {[]wallet.Wallet{thiefs}, []wallet.Wallet{own}, []wallet.Wallet{thiefs, own}},
		"the thief removed all":                   {nil, []wallet.Wallet{thiefs, own}, []wallet.Wallet{own, thiefs}},
		"connected again":                         {[]wallet.Wallet{thiefs}, []wallet.Wallet{thiefs}, []wallet.Wallet{thiefs}},
		"what was connected later does not count": {[]wallet.Wallet{later}, []wallet.Wallet{own}, []wallet.Wallet{own}},
	} {
		user := wallet.User{}
		for _, w := range c.former {
			user = user.WithFormerWallet(w, now)
		}
		user.Freeze = &wallet.Freeze{At: now}
		if keys := user.UnlockedBy(c.connected); !slices.Equal(keys, c.want) {
			t.Errorf("%s: %+v", name, keys)
		}
	}
}

// TestNobodyPushesOutAFormerWallet: of too many, those that were connected last are forgotten.
func TestNobodyPushesOutAFormerWallet(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	own := wallet.Wallet{Address: wallet.Address{1}, ConnectedAt: now.Add(-1000 * time.Hour)}
	user := wallet.User{}.WithFormerWallet(own, now)
	for i := range 100 {
		now = now.Add(time.Minute)
		before := slices.Clone(user.FormerWallets)
		next := user.WithFormerWallet(wallet.Wallet{Address: wallet.Address{2, byte(i)}, ConnectedAt: now}, now)
		if !slices.Equal(before, user.FormerWallets) {
			t.Fatal("it changes the list that it was given")
		}
		user = next
	}
	if all := user.FormerWallets; len(all) != wallet.MaxFormerWallets || all[0].Address != own.Address {
		t.Errorf("%d are kept, first %+v", len(all), all[0])
	}
	// Connected again and disconnected, it is as old as before.
	own.ConnectedAt = now
	user = user.WithFormerWallet(own, now.Add(time.Hour))
	if first := user.FormerWallets[0]; len(user.FormerWallets) != wallet.MaxFormerWallets || first.Address != own.Address || !first.ConnectedAt.Before(now) || !first.DisconnectedAt.Equal(now.Add(time.Hour)) {
		t.Errorf("again: %d, %+v", len(user.FormerWallets), first)
	}
	// After 30 days they are forgotten.
	kept, forgets := user.WithoutOldWallets(now.Add(time.Hour - 1 + 30*24*time.Hour))
	if !forgets || len(kept.FormerWallets) != 1 {
		t.Errorf("after 30 days: %+v", kept.FormerWallets)
	}
	if kept, forgets = kept.WithoutOldWallets(now.Add(time.Hour - 1 + 30*24*time.Hour)); forgets || len(kept.FormerWallets) != 1 {
		t.Errorf("again: %+v", kept.FormerWallets)
	}
	if kept, forgets = kept.WithoutOldWallets(now.Add(time.Hour + 30*24*time.Hour)); !forgets || kept.FormerWallets != nil {
		t.Errorf("the last one: %+v", kept.FormerWallets)
	}
}
