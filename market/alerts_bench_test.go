package market

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// benchAlerts is how many alerts there are while a tick is measured.
const benchAlerts = 1_000_000

// BenchmarkTickOfAMillionAlerts is one comparison of a new price of SOL with a million alerts on it. quiet: no alert lies between the old price and the
// new one. thousand: a thousand do, and each is written with its event. The bound is a commit of a thousand alerts and events.
func BenchmarkTickOfAMillionAlerts(b *testing.B) {
	r := newRates(b)
	at := time.Unix(1_800_000_000, 0).UTC()
	r.Now = func() time.Time { return at }
	fillAlerts(b, r.Store, at)
	compare := func(price string) {
		b.Helper()
		at = at.Add(time.Minute)
		if err := r.evaluate(b.Context(), at, map[wallet.Address]wallet.TokenPrice{{}: {Price: wallet.MustPrice(price), At: at, Source: "first"}}); err != nil {
			b.Fatal(err)
		}
	}
	compare("1000") // the first comparison sets the marks
	b.Run("quiet", func(b *testing.B) {
		n := 0
		for b.Loop() {
			compare([]string{"1000.0000001", "1000"}[n%2])
			n++
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n)/1000, "ms/tick")
	})
	b.Run("thousand", func(b *testing.B) {
		price, n := 1000, 0
		for b.Loop() {
			price++ // a thousand alerts for each dollar
			compare(fmt.Sprint(price))
			n++
		}
		tick := b.Elapsed() / time.Duration(n)
		began := time.Now()
		for round := range n {
			commitAlerts(b, r.Store, at, round)
		}
		b.ReportMetric(float64(tick.Microseconds())/1000, "ms/tick")
		b.ReportMetric(float64(tick)/float64(time.Since(began)/time.Duration(n)), "×-its-commit")
	})
}

// benchAlert is one alert: a thousand for each dollar from 1000 on, of people with 50 each.
func benchAlert(n int, at time.Time) wallet.Alert {
	return wallet.Alert{ID: wallet.AlertID(fmt.Sprintf("alr_%07d", n)), Owner: wallet.UserID(fmt.Sprintf("usr_%05d", n/50)), Token: wallet.SOL, Condition: wallet.AlertAbove,
		Price: wallet.MustPrice(fmt.Sprintf("%d.%03d5", 1000+n/1000, n%1000)), CreatedAt: at}
}

func fillAlerts(b *testing.B, s store.Store, at time.Time) {
	b.Helper()
	for first := 0; first < benchAlerts; first += 5000 {
		err := s.Update(b.Context(), func(tx store.Tx) error {
			for n := first; n < first+5000; n++ {
				a := benchAlert(n, at)
				if n%50 == 0 {
					if err := tx.PutUser(wallet.User{ID: a.Owner, TelegramID: int64(1 + n/50), RegisteredAt: at}); err != nil {
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
			b.Fatal(err)
		}
	}
}

// commitAlerts writes a thousand alerts that have fired, and their events, in as many transactions as a tick does.
func commitAlerts(b *testing.B, s store.Store, at time.Time, round int) {
	b.Helper()
	for first := 0; first < 1000; first += alertsAtOnce {
		err := s.Update(b.Context(), func(tx store.Tx) error {
			for n := first; n < first+alertsAtOnce; n++ {
				a := benchAlert(benchAlerts/2+n, at)
				a.Fired, a.FiredAt = wallet.FiredUp, at
				event, err := wallet.NewEvent(fmt.Sprintf("evt_%d_%d", round, n), wallet.PriceAlert, at, a.Owner, wallet.PriceAlertData{AlertID: string(a.ID), UserID: a.Owner, Token: "SOL"})
				if err != nil {
					return err
				}
				if err := tx.Emit(event); err != nil {
					return err
				}
				if err := tx.PutAlert(a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
