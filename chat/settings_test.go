package chat_test

import (
	"errors"
	"fmt"
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
			r.says("alice", "/contacts add bob "+r.people["bob"].Address().String()) // a large payment to a stranger would have to be typed
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
	wants("from the default", "price.alert price.significant_change stake.cooldown stake.reward stake.status stake.validator transaction.failed transaction.received")
	r.customize(&wallet.Notifications{Enabled: true, Events: []string{"*"}}, func(*wallet.Settings) {})
	flip(wallet.CategoryReward, false)
	wants("from a wildcard", "market.news portfolio.summary price.alert price.significant_change stake.cooldown stake.status stake.validator transaction.confirmed transaction.failed transaction.large transaction.received")
	flip(wallet.CategoryReward, false)
	wants("twice", "market.news portfolio.summary price.alert price.significant_change stake.cooldown stake.status stake.validator transaction.confirmed transaction.failed transaction.large transaction.received")
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

// TestAlertsAreTurnedOffApart: those on a price and those on a change, and what is left of an alert that was deleted says nothing.
func TestAlertsAreTurnedOffApart(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	level := wallet.Alert{ID: "alr_level", Owner: r.userOf("alice"), Token: wallet.SOL, Condition: wallet.AlertBelow, Price: wallet.MustPrice("150"), CreatedAt: r.Now()}
	move := wallet.Alert{ID: "alr_move", Owner: r.userOf("alice"), Token: wallet.SOL, Condition: wallet.AlertMoves, Change: 550, Span: 24 * time.Hour, CreatedAt: r.Now()}
	r.Must(r.Update(func(tx store.Tx) error { return errors.Join(tx.PutAlert(level), tx.PutAlert(move)) }))
	n := 0
	hears := func(data wallet.PriceAlertData) string {
		t.Helper()
		n++
		r.seen = nil
		r.Must(r.Update(func(tx store.Tx) error {
			e, err := wallet.NewEvent(fmt.Sprint("evt_alert_", n), wallet.PriceAlert, r.Now(), r.userOf("alice"), data)
			r.Must(err)
			return tx.Emit(e)
		}))
		r.settle()
		return strings.Join(r.seen, "")
	}
	reached := wallet.PriceAlertData{AlertID: "alr_level", Condition: "below", TargetPrice: "150", CurrentPrice: "149.5", TriggeredAt: wallet.Timestamp(r.Now())}
	moved := wallet.PriceAlertData{AlertID: "alr_move", Condition: "change", CurrentPrice: "140", ChangePercent: "-6.10", Timeframe: "24h", TriggeredAt: wallet.Timestamp(r.Now())}
	for _, c := range []struct {
		events         []string
		reached, moved bool
	}{{nil, true, true}, {[]string{"price.*"}, true, true}, {[]string{"price.alert"}, true, false}, {[]string{"price.significant_change"}, false, true}, {[]string{"stake.*"}, false, false}} {
		var set *wallet.Notifications
		if c.events != nil {
			set = &wallet.Notifications{Enabled: true, Events: c.events}
		}
		r.customize(set, func(*wallet.Settings) {})
		if got := hears(reached); strings.Contains(got, "<b>SOL is below $150</b>") != c.reached || (got == "") == c.reached {
			t.Errorf("with %v, a price: %q", c.events, got)
		}
		if got := hears(moved); strings.Contains(got, "<b>SOL fell by 6.1% within 24 hours</b>") != c.moved || (got == "") == c.moved {
			t.Errorf("with %v, a change: %q", c.events, got)
		}
	}
	r.customize(nil, func(*wallet.Settings) {})
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteAlert(r.userOf("alice"), "alr_level") }))
	if got := hears(reached); got != "" {
		t.Errorf("after it was deleted: %q", got)
	}
}

// TestNobodyDeletesAnothersAlert, and nobody has more than there may be.
func TestNobodyDeletesAnothersAlert(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	alice, bob := handlers.Caller{User: r.userOf("alice")}, handlers.Caller{User: r.userOf("bob")}
	var there bool
	set := func(who handlers.Caller, price string) (a wallet.Alert, err error) {
		err = r.Update(func(tx store.Tx) (err error) {
			a, there, err = r.Alerts.Set(tx, who, handlers.AlertRequest{Token: wallet.SOL, Condition: wallet.AlertAbove, Price: wallet.MustPrice(price)})
			return err
		})
		return a, err
	}
	first, err := set(alice, "200")
	r.Must(err)
	if there {
		t.Error("the first is said to be there already")
	}
	if again, err := set(alice, "200"); err != nil || again.ID != first.ID || !there {
		t.Errorf("the same again is %s, there %v, %v", again.ID, there, err)
	}
	err = r.Update(func(tx store.Tx) error { _, err := r.Alerts.Delete(tx, bob, first.ID); return err })
	if wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("Bob deletes it: %v", err)
	}
	for i := range wallet.MaxAlerts - 1 {
		_, err := set(alice, fmt.Sprint(i+1))
		r.Must(err)
	}
	if _, err := set(alice, "300"); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("one too many: %v", err)
	}
	if _, err := set(bob, "300"); err != nil {
		t.Errorf("Bob's own: %v", err)
	}
	err = r.Update(func(tx store.Tx) error {
		_, _, err := r.Alerts.Set(tx, bob, handlers.AlertRequest{Token: wallet.SOL, Condition: wallet.AlertMoves, Change: 5, Span: time.Hour})
		return err
	})
	if wallet.CodeOf(err) != wallet.InvalidRequest {
		t.Errorf("a change of 0.05%%: %v", err)
	}
}

// TestAnAlertBeginsWhereThePriceIs: not at an old mark of a token that nobody watched.
func TestAnAlertBeginsWhereThePriceIs(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	who := handlers.Caller{User: r.userOf("alice")}
	series := wallet.Series{}
	set := func(condition wallet.AlertCondition, price string) (a wallet.Alert) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) (err error) {
			a, _, err = r.Alerts.Set(tx, who, handlers.AlertRequest{Token: wallet.SOL, Condition: condition, Price: wallet.MustPrice(price)})
			return err
		}))
		return a
	}
	mark := func() string {
		var at wallet.AlertMark
		r.View(func(tx store.Tx) error { at, _ = tx.AlertMark(series); return nil })
		for _, price := range []string{"100", "150"} {
			if at.Level == wallet.PriceLevel(wallet.MustPrice(price)) {
				return price
			}
		}
		return ""
	}
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(tx.PutAlertMark(series, wallet.AlertMark{Level: wallet.PriceLevel(wallet.MustPrice("100"))}),
			tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice("150"), At: r.Now(), Source: "jupiter"}}))
	}))
	if a := set(wallet.AlertAbove, "120"); a.Fired != wallet.FiredUp || mark() != "150" {
		t.Errorf("it begins as %q, from %s", a.Fired, mark())
	}
	if a := set(wallet.AlertAbove, "160"); a.Fired != wallet.AlertArmed {
		t.Errorf("it begins as %q", a.Fired)
	}
	// From now on the mark counts, which the sampler moves.
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutAlertMark(series, wallet.AlertMark{Level: wallet.PriceLevel(wallet.MustPrice("100"))})
	}))
	if a := set(wallet.AlertBelow, "110"); a.Fired != wallet.FiredDown || mark() != "100" {
		t.Errorf("it begins as %q, from %s", a.Fired, mark())
	}
}

// TestQuietHoursHoldReceipts: of a payment nothing is said at night, neither while it arrives nor after, unless it is large. An unlisted token is never large, at any
// price, and a rate of long ago still says what is.
func TestQuietHoursHoldReceipts(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	quiet := wallet.QuietHours{From: 11 * 60, To: 15 * 60} // by UTC; it is 12:00
	r.customize(nil, func(to *wallet.Settings) { to.Quiet, to.LargeFrom, to.LargeIn = &quiet, 100, "EUR" })
	unlisted := wallet.Token{Mint: wallet.Address{77}, Decimals: 6}
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(tx.SaveRates([]wallet.Rate{{Currency: "EUR", PerDollar: wallet.MustPrice("0.5"), At: r.Now().Add(-90 * 24 * time.Hour), Source: "frankfurter"}}),
			tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice("200"), At: r.Now(), Source: "jupiter"}, {Mint: unlisted.Mint, Price: wallet.MustPrice("1000000"), At: r.Now(), Source: "jupiter"}}))
	}))
	for i, c := range []struct {
		token wallet.Token
		units uint64
		said  string
	}{{wallet.SOL, sol - 10_000, ""}, {unlisted, 1_000_000, ""}, {wallet.SOL, sol, "You received 1 SOL</b> (about $200.00)"}} {
		r.seen = nil
		r.received("alice", i, c.token, c.units, false)
		r.settle()
		if got := strings.Join(r.seen, ""); (got == "") != (c.said == "") || !strings.Contains(got, c.said) {
			t.Errorf("of %d of %s: %q", c.units, c.token.Name(), got)
		}
	}
	arriving := wallet.PaymentArrivingData{TransactionID: "tx_arriving", WalletAddress: r.people["alice"].Address(), Sender: r.Stranger(), Token: wallet.SOL, Units: 5, Outcome: wallet.StillArriving}
	arrives := func(units uint64) string {
		t.Helper()
		arriving.Units, arriving.TransactionID, r.seen = units, wallet.TransactionID(fmt.Sprint("tx_arriving", units)), nil
		r.Must(r.Update(func(tx store.Tx) error {
			return r.notifies(tx, "alice", wallet.PaymentArriving, arriving.TransactionID, arriving)
		}))
		r.settle()
		return strings.Join(r.seen, "")
	}
	if got := arrives(5); got != "" {
		t.Errorf("while it arrives: %q", got)
	}
	if got := arrives(2 * sol); !strings.Contains(got, "Arriving: 2 SOL") {
		t.Errorf("a large one that arrives: %q", got)
	}
	r.seen = nil
	r.clock(3 * time.Hour)
	if got := strings.Join(r.seen, ""); !strings.Contains(got, "You received 2 payments") {
		t.Errorf("in the end: %q", got)
	}
	if got := arrives(6); got == "" {
		t.Error("nothing is said by day")
	}
}

// TestLargeIsInTheCurrencyOfItsDay: a number typed while values were in euros stays one of euros.
func TestLargeIsInTheCurrencyOfItsDay(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	for _, words := range []string{"currency EUR", "large 500", "currency JPY"} {
		r.seen = nil
		r.says("alice", "/notifications "+words)
	}
	if card := strings.Join(r.seen, ""); !strings.Contains(card, "Payments of 500 EUR or more") || !strings.Contains(card, "Currency: JPY") {
		t.Errorf("the settings: %s", card)
	}
}
