package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// alertAt is an alert on the price of a token whose mint is one byte.
func alertAt(owner wallet.UserID, id string, mint byte, condition wallet.AlertCondition, price string) wallet.Alert {
	return wallet.Alert{ID: wallet.AlertID(id), Owner: owner, Token: wallet.Token{Mint: mintOf(mint), Decimals: 9}, Condition: condition, Price: wallet.MustPrice(price), CreatedAt: noon()}
}

// crossings reads which alerts lie between two prices of a token.
func crossings(t *testing.T, s store.Store, mint byte, from, to string, limit int) string {
	t.Helper()
	var ids []string
	update(t, s, func(tx store.Tx) error {
		crossed, err := tx.CrossedAlerts(wallet.Series{Mint: mintOf(mint)}, wallet.PriceLevel(wallet.MustPrice(from)), wallet.PriceLevel(wallet.MustPrice(to)), limit)
		ids = nil
		for _, c := range crossed {
			ids = append(ids, string(c.Alert.ID))
		}
		return err
	})
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// testAlerts: alerts belong to a person, are bounded, and end with their owner. A mark of what nobody watched is forgotten.
func testAlerts(t *testing.T, open Open) {
	s := fresh(t, open)
	alice, bob := wallet.UserID("usr_alice"), wallet.UserID("usr_bob")
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: alice, TelegramID: 1, RegisteredAt: noon()}), tx.PutUser(wallet.User{ID: bob, TelegramID: 2, RegisteredAt: noon()}))
	})
	first, second := alertAt(alice, "alr_1", 0, wallet.AlertAbove, "200"), alertAt(alice, "alr_2", 7, wallet.AlertBelow, "0.5")
	moves := wallet.Alert{ID: "alr_3", Owner: bob, Token: wallet.SOL, Condition: wallet.AlertMoves, Change: 500, Span: time.Hour, CreatedAt: noon()}
	price, change := wallet.Series{}, wallet.Series{Span: time.Hour}
	mark := wallet.AlertMark{Level: wallet.PriceLevel(wallet.MustPrice("150")), Announced: wallet.FiredDown}
	update(t, s, func(tx store.Tx) error { return tx.PutAlertMark(price, mark) })
	marked := func(series wallet.Series) (m wallet.AlertMark, ok bool) {
		update(t, s, func(tx store.Tx) error { m, ok = tx.AlertMark(series); return nil })
		return m, ok
	}
	got, ok := marked(price)
	same(t, "a mark", fmt.Sprint(got, ok), fmt.Sprint(mark, true))
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutAlert(first), tx.PutAlert(second), tx.PutAlert(moves))
	})
	_, ok = marked(price)
	same(t, "of what nobody watched", ok, false)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutAlertMark(price, mark), tx.PutAlert(alertAt(bob, "alr_4", 0, wallet.AlertBelow, "100")))
	})
	_, ok = marked(price)
	same(t, "of what somebody watches", ok, true)

	of := func(who wallet.UserID) []wallet.Alert {
		return get(t, s, func(tx store.Tx) ([]wallet.Alert, error) { return tx.AlertsOf(who) })
	}
	same(t, "hers", of(alice), []wallet.Alert{first, second})
	update(t, s, func(tx store.Tx) error {
		_, err := tx.Alert(bob, "alr_1")
		same(t, "not his", err, store.ErrNotFound)
		same(t, "nor to delete", tx.DeleteAlert(bob, "alr_1"), store.ErrNotFound)
		same(t, "watched", tx.WatchedSeries(wallet.Address{}), []wallet.Series{price, change})
		same(t, "watched of another", tx.WatchedSeries(mintOf(9)), []wallet.Series{})
		same(t, "of nobody", tx.PutAlert(alertAt("", "alr_9", 0, wallet.AlertAbove, "1")) != nil, true)
		return nil
	})
	same(t, "mints", get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.AlertMints(wallet.Address{}, 10) }), []wallet.Address{mintOf(7)})
	same(t, "behind it", len(get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.AlertMints(mintOf(7), 10) })), 0)

	// What it waits for moves with it.
	fired := first
	fired.Fired, fired.FiredAt = wallet.FiredUp, noon()
	same(t, "before", crossings(t, s, 0, "150", "250", 10), "alr_1")
	update(t, s, func(tx store.Tx) error { return tx.PutAlert(fired) })
	same(t, "after it fired", crossings(t, s, 0, "150", "250", 10), "")
	same(t, "on the way back", crossings(t, s, 0, "250", "150", 10), "alr_1")

	update(t, s, func(tx store.Tx) error { return tx.DeleteAlert(alice, "alr_1") })
	same(t, "without it", crossings(t, s, 0, "250", "150", 10), "")
	same(t, "hers then", of(alice), []wallet.Alert{second})

	update(t, s, func(tx store.Tx) error {
		for i := range wallet.MaxAlerts - 1 {
			if err := tx.PutAlert(alertAt(alice, fmt.Sprint("alr_more_", i), 8, wallet.AlertAbove, fmt.Sprint(i+1))); err != nil {
				return err
			}
		}
		same(t, "one too many", tx.PutAlert(alertAt(alice, "alr_last", 8, wallet.AlertAbove, "1")), store.ErrConflict)
		second.Fired = wallet.FiredDown
		return tx.PutAlert(second) // one that is there may change
	})
	update(t, s, func(tx store.Tx) error { return tx.EraseUser(alice) })
	same(t, "of somebody erased", crossings(t, s, 8, "0.1", "1000", 100)+crossings(t, s, 7, "0.1", "10", 10), "")
	same(t, "nothing is left of hers", len(of(alice)), 0)
	same(t, "others stay", crossings(t, s, 0, "150", "50", 10), "alr_4")
	update(t, s, func(tx store.Tx) error {
		same(t, "no more of hers", tx.PutAlert(second), store.ErrNotFound)
		return nil
	})
}

// testAlertsByLevel compares the index with looking at every alert: what lies above one level, up to another, or the other way round.
func testAlertsByLevel(t *testing.T, open Open) {
	s := fresh(t, open)
	random := rand.New(rand.NewPCG(16, 2))
	var all []wallet.Alert
	price := func() string { return fmt.Sprint(1 + random.IntN(40)) }
	update(t, s, func(tx store.Tx) error {
		all = nil
		for person := range 6 {
			who := wallet.UserID(fmt.Sprint("usr_", person))
			if err := tx.PutUser(wallet.User{ID: who, TelegramID: int64(person + 1), RegisteredAt: noon()}); err != nil {
				return err
			}
			for i := range 20 {
				a := alertAt(who, fmt.Sprint("alr_", person, "_", i), byte(random.IntN(2)), []wallet.AlertCondition{wallet.AlertAbove, wallet.AlertBelow}[random.IntN(2)], price())
				if err := tx.PutAlert(a); err != nil {
					return err
				}
				all = append(all, a)
			}
		}
		return nil
	})
	for range 300 {
		mint, from, to := byte(random.IntN(2)), price(), price()
		a, b := wallet.MustPrice(from), wallet.MustPrice(to)
		var want []string
		for _, one := range all {
			up := one.Condition == wallet.AlertAbove && a.Compare(one.Price) < 0 && b.Compare(one.Price) >= 0
			down := one.Condition == wallet.AlertBelow && a.Compare(one.Price) > 0 && b.Compare(one.Price) <= 0
			if one.Token.Mint == mintOf(mint) && (up || down) {
				want = append(want, string(one.ID))
			}
		}
		slices.Sort(want)
		same(t, "from "+from+" to "+to, crossings(t, s, mint, from, to, 1000), strings.Join(want, " "))
		same(t, "at most three", len(strings.Fields(crossings(t, s, mint, from, to, 3))), min(3, len(want)))
	}
}
