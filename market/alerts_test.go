package market

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// tick lets all tokens have a price, and returns what was emitted, each as text.
func (r *rates) tick(at time.Time, prices map[wallet.Address]string) (said []string) {
	r.t.Helper()
	learned := map[wallet.Address]wallet.TokenPrice{}
	var list []wallet.TokenPrice
	for mint, text := range prices {
		learned[mint] = wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice(text), At: at, Source: "first"}
		list = append(list, learned[mint])
	}
	if err := r.History.SavePoints(at, list); err != nil {
		r.t.Fatal(err)
	}
	if err := r.evaluate(r.t.Context(), at, learned); err != nil {
		r.t.Fatal(err)
	}
	err := r.Store.Update(r.t.Context(), func(tx store.Tx) error {
		events, err := tx.OutboxEvents(100_000)
		if err != nil {
			return err
		}
		said = nil
		var numbers []uint64
		for _, row := range events {
			said, numbers = append(said, spoken(r.t, row.Event)), append(numbers, row.Number)
		}
		return tx.DoneOutboxEvents(numbers)
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(said)
	return said
}

// spoken is an event as text.
func spoken(t testing.TB, e wallet.Event) string {
	t.Helper()
	switch e.Name {
	case wallet.PriceAlert:
		var d wallet.PriceAlertData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		if d.UserID != e.User {
			t.Errorf("%s goes to %s", e.Data, e.User)
		}
		return strings.TrimSpace(fmt.Sprint(d.AlertID, " ", d.Token, " ", d.Condition, " ", d.TargetPrice, " at ", d.CurrentPrice, " ", d.ChangePercent, " ", d.Timeframe))
	case wallet.PriceSignificantChange:
		var d wallet.PriceSignificantChangeData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		if e.User != "" {
			t.Errorf("it is about %s", e.User)
		}
		return fmt.Sprint(d.Token, " from ", d.PreviousPrice, " to ", d.CurrentPrice, " by ", d.ChangePercent, "% and ", d.ChangeAmount, " in ", d.Timeframe)
	}
	return string(e.Name)
}

// watch stores alerts of one person.
func (r *rates) watch(all ...wallet.Alert) {
	r.t.Helper()
	err := r.Store.Update(r.t.Context(), func(tx store.Tx) error {
		if err := tx.PutWebhook(wallet.Webhook{ID: "wh_1", Lineage: "key_1", URL: "https://receiver.example", CreatedAt: begun}); err != nil { // so that events wait for it
			return err
		}
		for _, a := range all {
			if _, err := tx.User(a.Owner); err != nil {
				if err := tx.PutUser(wallet.User{ID: a.Owner, TelegramID: int64(len(a.Owner)) + int64(a.Owner[len(a.Owner)-1]), RegisteredAt: time.Now()}); err != nil {
					return err
				}
			}
			if err := tx.PutAlert(a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// alertOn is an alert of a person on the price of SOL.
func alertOn(who, id string, condition wallet.AlertCondition, price string) wallet.Alert {
	return wallet.Alert{ID: wallet.AlertID(id), Owner: wallet.UserID(who), Token: wallet.SOL, Condition: condition, Price: wallet.MustPrice(price), CreatedAt: time.Now()}
}

var begun = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// TestACrossingIsToldOnce: a price that trembles about the level tells nothing more, one that goes back by a percent and comes again does.
func TestACrossingIsToldOnce(t *testing.T) {
	r := newRates(t)
	r.watch(alertOn("usr_1", "alr_up", wallet.AlertAbove, "200"), alertOn("usr_2", "alr_down", wallet.AlertBelow, "150"))
	at := begun
	for i, step := range []struct{ price, said string }{
		{"180", ""}, // where it begins
		{"199.99", ""}, {"200", "alr_up SOL above 200 at 200"}, {"199.99", ""}, {"205", ""}, {"198.01", ""}, {"201", ""},
		{"198", ""}, {"200.5", "alr_up SOL above 200 at 200.5"},
		{"140", "alr_down SOL below 150 at 140"}, {"151", ""}, {"149", ""}, {"151.5", ""}, {"150", "alr_down SOL below 150 at 150"},
		{"300", "alr_up SOL above 200 at 300"}, // armed again on the way down, and crossed
		{"100", "alr_down SOL below 150 at 100"},
	} {
		at = at.Add(time.Minute)
		// The change of a minute is no significant one: no price is known of an hour ago.
		if got := strings.Join(r.tick(at, map[wallet.Address]string{sol: step.price}), "; "); got != step.said {
			t.Errorf("step %d, at %s: %q, want %q", i, step.price, got, step.said)
		}
	}
}

// TestChangesAreToldOnce: over an hour and a day, to the person who asked for it and to all, and again only after the change has halved.
func TestChangesAreToldOnce(t *testing.T) {
	r := newRates(t)
	r.watch(wallet.Alert{ID: "alr_hour", Owner: "usr_1", Token: wallet.SOL, Condition: wallet.AlertMoves, Change: 800, Span: time.Hour, CreatedAt: begun})
	at := begun
	for range 70 {
		at = at.Add(time.Minute)
		if said := r.tick(at, map[wallet.Address]string{sol: "100"}); len(said) > 0 {
			t.Fatalf("%q", said)
		}
	}
	for i, step := range []struct{ price, said string }{
		{"104.99", ""}, {"105", "SOL from 100 to 105 by 5.00% and 5 in 1h"}, {"106", ""}, {"104", ""}, {"105.5", ""},
		{"108", "alr_hour SOL change  at 108 8.00 1h"}, {"109", ""},
		{"102.5", ""}, {"105.25", "SOL from 100 to 105.25 by 5.25% and 5.25 in 1h"}, // by half and again
		{"92", "SOL from 100 to 92 by -8.00% and -8 in 1h; alr_hour SOL change  at 92 -8.00 1h"},
	} {
		at = at.Add(time.Minute)
		if got := strings.Join(r.tick(at, map[wallet.Address]string{sol: step.price}), "; "); got != step.said {
			t.Errorf("step %d, at %s: %q, want %q", i, step.price, got, step.said)
		}
	}
}

// TestChangesAreOfTheWholeSpan: from the price an hour ago, and not from a later one. Where no price is known of then, there is no change. What was so when somebody began to
// look is no news, and neither is a token outside the list.
func TestChangesAreOfTheWholeSpan(t *testing.T) {
	r := newRates(t)
	other := wallet.Address{42}
	sample := func(minute int, prices map[wallet.Address]string) {
		t.Helper()
		var list []wallet.TokenPrice
		for mint, price := range prices {
			list = append(list, wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice(price)})
		}
		if err := r.History.SavePoints(begun.Add(time.Duration(minute)*time.Minute), list); err != nil {
			t.Fatal(err)
		}
	}
	alert := wallet.Alert{ID: "alr_other", Owner: "usr_1", Token: wallet.Token{Mint: other, Decimals: 6}, Condition: wallet.AlertMoves, Change: 5000, Span: time.Hour, CreatedAt: begun}
	r.watch(alert)
	sample(0, map[wallet.Address]string{sol: "100.5", other: "1"})
	sample(30, map[wallet.Address]string{sol: "150", other: "1"})
	for _, step := range []struct {
		minute int
		price  string
		said   string
	}{
		{60, "111", ""}, // significant, and looked at for the first time
		{61, "101", ""}, // it goes back
		{62, "105.6", "SOL from 100.5 to 105.6 by 5.07% and 5.1 in 1h"},
		{63, "101", ""},
		{64, "110.5", "SOL from 100.5 to 110.5 by 9.95% and 10 in 1h"},
		{72, "90", ""}, // an hour and eleven minutes after the first sample
	} {
		at := begun.Add(time.Duration(step.minute) * time.Minute)
		if got := strings.Join(r.tick(at, map[wallet.Address]string{sol: step.price, other: "1.2"}), "; "); got != step.said {
			t.Errorf("minute %d: %q, want %q", step.minute, got, step.said)
		}
	}
}

// TestManyAlertsAreComparedRightly: random alerts of many people on a random walk, against a model that looks at every alert. The bound of a transaction is exceeded.
func TestManyAlertsAreComparedRightly(t *testing.T) {
	r := newRates(t)
	random := rand.New(rand.NewPCG(16, 3))
	var all []wallet.Alert
	for i := range 700 {
		all = append(all, alertOn(fmt.Sprint("usr_", strings.Repeat("a", i/50), i/50), fmt.Sprint("alr_", i), []wallet.AlertCondition{wallet.AlertAbove, wallet.AlertBelow}[random.IntN(2)],
			fmt.Sprint(80+random.IntN(40))))
	}
	r.watch(all...)
	before, told := wallet.Price{}, 0
	for step := range 40 {
		now := wallet.MustPrice(fmt.Sprint(60 + random.IntN(80)))
		var want []string
		for i, a := range all {
			if !before.Known() {
				break
			}
			for again := true; again; {
				again = false
				for _, c := range a.Crossings() {
					from, to := wallet.PriceLevel(before), wallet.PriceLevel(now)
					up := c.Up && string(from[:]) < string(c.Level[:]) && string(to[:]) >= string(c.Level[:])
					down := !c.Up && string(from[:]) > string(c.Level[:]) && string(to[:]) <= string(c.Level[:])
					if !up && !down {
						continue
					}
					next, tells := a.Crossed(c, begun)
					if tells {
						want = append(want, fmt.Sprint(a.ID, " SOL ", a.Condition, " ", a.Price, " at ", now))
					}
					a, again = next, true
					break
				}
			}
			all[i] = a
		}
		slices.Sort(want)
		got := r.tick(begun.Add(time.Duration(step)*time.Second), map[wallet.Address]string{sol: now.String()})
		if !slices.Equal(got, want) {
			t.Fatalf("step %d, from %s to %s: %d are told, want %d", step, before, now, len(got), len(want))
		}
		before = now
		told += len(got)
	}
	if told < 1000 {
		t.Errorf("only %d were told", told)
	}
}

// TestWhatAlertsWatchIsSampled, although nobody holds it or asks for it.
func TestWhatAlertsWatchIsSampled(t *testing.T) {
	r := newRates(t)
	mint := wallet.Address{42}
	a := alertOn("usr_1", "alr_1", wallet.AlertAbove, "200")
	a.Token = wallet.Token{Mint: mint, Decimals: 6}
	r.watch(a)
	due, err := r.due(t.Context())
	if err != nil || !slices.Contains(due, mint) {
		t.Errorf("due are %v, %v", due, err)
	}
}

// TestNobodySilencesAnAnnouncement: somebody sets and deletes an alert on the same change each minute. What moves significantly is announced to all at the same time as without
// them.
func TestNobodySilencesAnAnnouncement(t *testing.T) {
	for name, meddles := range map[string]bool{"undisturbed": false, "with an alert that comes and goes": true} {
		t.Run(name, func(t *testing.T) {
			r := newRates(t)
			var all []string
			for minute := range 100 {
				if meddles {
					alert := alertOn("usr_1", "alr_1", wallet.AlertMoves, "1")
					alert.Price, alert.Change, alert.Span = wallet.Price{}, 500, time.Hour
					r.watch(alert)
				} else {
					r.watch()
				}
				price := "100"
				if minute >= 70 {
					price = "120"
				}
				for _, said := range r.tick(begun.Add(time.Duration(minute)*time.Minute), map[wallet.Address]string{{}: price}) {
					if strings.HasPrefix(said, "SOL from") {
						all = append(all, fmt.Sprint(minute, " ", said))
					}
				}
				if meddles {
					if err := r.Store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteAlert("usr_1", "alr_1") }); err != nil {
						t.Fatal(err)
					}
				}
			}
			if want := "70 SOL from 100 to 120 by 20.00% and 20 in 1h"; strings.Join(all, "; ") != want {
				t.Errorf("announced %q, want %q", all, want)
			}
		})
	}
}
