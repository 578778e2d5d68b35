package chat_test

import (
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// customize changes Alice's settings, and which messages she wants; nil: the default.
func (r *harness) customize(set *wallet.Notifications, change func(*wallet.Settings)) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		u, err := tx.User(r.userOf("alice"))
		r.Must(err)
		u.Notifications = set
		change(&u.Settings)
		return tx.PutUser(u)
	}))
}

// TestHowAPaymentEndedIsToldAsWanted: a confirmation edits the card, unless the person wants a message or the payment is large. A failure is a new message, unless they want none.
func TestHowAPaymentEndedIsToldAsWanted(t *testing.T) {
	quiet := wallet.QuietHours{From: 11 * 60, To: 15 * 60} // by UTC; it is 12:00
	for name, c := range map[string]struct {
		events []string // nil: the default
		quiet  bool
		price  string // of SOL; "": unknown
		large  uint64
		ends   wallet.Trigger
		moves  bool
	}{
		"confirmed":                             {ends: wallet.Landed, price: "100"},
		"confirmed, and wanted":                 {ends: wallet.Landed, price: "100", events: []string{"transaction.confirmed"}, moves: true},
		"confirmed, wanted, and quiet":          {ends: wallet.Landed, price: "100", events: []string{"transaction.confirmed"}, quiet: true},
		"confirmed and large":                   {ends: wallet.Landed, price: "100", large: 100, moves: true},
		"confirmed and large, at night":         {ends: wallet.Landed, price: "100", large: 100, quiet: true, moves: true},
		"confirmed, a cent below":               {ends: wallet.Landed, price: "99.99", large: 100},
		"confirmed and large, and not wanted":   {ends: wallet.Landed, price: "100", large: 100, events: []string{"transaction.received"}},
		"confirmed, of which nobody knows more": {ends: wallet.Landed, large: 1},
		"failed":                                {ends: wallet.FailedOnChain, price: "100", moves: true},
		"failed, at night":                      {ends: wallet.FailedOnChain, price: "100", quiet: true, moves: true},
		"failed, and not wanted":                {ends: wallet.FailedOnChain, price: "100", events: []string{"transaction.received"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newHarness(t)
			r.rich("alice", 10*sol)
			r.rich("bob", sol)
			if c.price != "" {
				r.Must(r.Update(func(tx store.Tx) error {
					return tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice(c.price), At: r.Now(), Source: "jupiter"}})
				}))
			}
			var set *wallet.Notifications
			if c.events != nil {
				set = &wallet.Notifications{Enabled: true, Events: c.events}
			}
			r.customize(set, func(to *wallet.Settings) {
				if to.LargeFrom = c.large; c.quiet {
					to.Quiet = &quiet
				}
			})
			r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
			r.happen("alice taps Confirm")
			r.happen("alice's page signs")
			r.seen = nil
			r.network("alice", c.ends)
			said := strings.Join(r.seen, "")
			if moved := strings.Contains(said, "See the newer message below"); moved != c.moves {
				t.Errorf("a new message: %v, want %v:\n%s", moved, c.moves, said)
			}
		})
	}
}

// TestSwitchesAreKept: turning one category off leaves the others, whatever form the setting had before, and turning one on turns messages on.
func TestSwitchesAreKept(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	n := &handlers.Notifications{Store: r.Store, Now: r.Now, NewID: r.NewID}
	who := handlers.Caller{User: r.userOf("alice")}
	wants := func(what, want string) {
		t.Helper()
		set, err := n.Of(r.Context(), who)
		r.Must(err)
		if got := strings.Join(set.Events, " "); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	flip := func(category wallet.Category, on bool) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error { return n.Switch(tx, who, category, on) }))
	}
	flip(wallet.CategoryLarge, false)
	wants("from the default", "stake.cooldown stake.reward stake.status transaction.failed transaction.received")
	r.customize(&wallet.Notifications{Enabled: true, Events: []string{"*"}}, func(*wallet.Settings) {})
	flip(wallet.CategoryReward, false)
	wants("from a wildcard", "stake.cooldown stake.status transaction.confirmed transaction.failed transaction.large transaction.received")
	flip(wallet.CategoryReward, false)
	wants("twice", "stake.cooldown stake.status transaction.confirmed transaction.failed transaction.large transaction.received")
	r.customize(&wallet.Notifications{Enabled: false, Events: []string{}}, func(*wallet.Settings) {})
	flip("transaction.nothing", true)
	wants("what there is not", "")
	flip(wallet.CategoryFailed, true)
	wants("from nothing", "transaction.failed")
	set, err := n.Of(r.Context(), who)
	r.Must(err)
	if !set.Enabled || !set.UpdatedAt.Equal(r.Now()) {
		t.Errorf("after turning one on: %+v", set)
	}
}

// TestAButtonOfAnotherVersionHarmsNothing: what it would set is not there.
func TestAButtonOfAnotherVersionHarmsNothing(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	for _, action := range []string{"settings:colour", "setting:colour:red", "setting:zone", "setting:currency:XAU", "setting:language:xx", "setting:quiet:9", "setting:large:-1",
		"type:colour", "category:stake.reward", "category", "messages:maybe"} {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutButtons([]store.Button{{Nonce: strings.Repeat("A", 22), Chat: r.people["alice"].TelegramID, User: r.people["alice"].TelegramID, Action: action,
				Subject: "settings", ExpiresAt: r.Now().Add(time.Hour)}})
		}))
		r.seen = nil
		in := r.input("alice")
		in.Tap = &chat.Tap{CallbackID: "cb", Data: strings.Repeat("A", 22)}
		r.does(in)
	}
	r.View(func(tx store.Tx) error {
		u, err := tx.User(r.userOf("alice"))
		r.Must(err)
		if u.Settings != (wallet.Settings{}) {
			t.Errorf("her settings are %+v", u.Settings)
		}
		return nil
	})
}
