package market

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// BenchmarkTickOf1000 is one round of sampling of a thousand tokens: what is due is listed, asked for in calls of 50, and saved with its history. The
// source answers at once. The bound is a commit of the same rows alone.
func BenchmarkTickOf1000(b *testing.B) {
	r := newRates(b)
	at := time.Unix(1_800_000_000, 0)
	r.Now = func() time.Time { return at }
	r.first.most, r.first.now = 50, r.Now
	r.Sources = []Source{r.first}
	var rows []wallet.TokenPrice
	for i := range 1_000 {
		mint := wallet.Address{3, byte(i), byte(i >> 8)}
		r.first.say(mint, "1.2345678")
		rows = append(rows, wallet.TokenPrice{Mint: mint, Price: wallet.MustPrice("1"), At: at.Add(-time.Hour), Source: "first"})
	}
	save := func() {
		if err := r.Store.Update(b.Context(), func(tx store.Tx) error { return tx.SavePrices(rows) }); err != nil {
			b.Fatal(err)
		}
	}
	save()
	mints := make([]wallet.Address, len(rows))
	for i, row := range rows {
		mints[i] = row.Mint
	}
	if err := r.Store.Update(b.Context(), func(tx store.Tx) error { return tx.AskPrices(mints, at) }); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		at = at.Add(SampleEvery)
		if err := r.Sample(b.Context()); err != nil {
			b.Fatal(err)
		}
		r.first.calls()
		n++
	}
	tick := b.Elapsed() / time.Duration(n)
	began := time.Now()
	for range n {
		at = at.Add(SampleEvery)
		for i := range rows {
			rows[i].At = at
		}
		save()
	}
	bound := time.Since(began) / time.Duration(n)
	known, err := r.Latest(b.Context(), mints)
	if err != nil || len(known) != len(mints) {
		b.Fatalf("%d prices, %v", len(known), err)
	}
	b.ReportMetric(float64(tick.Microseconds())/1000, "ms/tick")
	b.ReportMetric(float64(tick)/float64(bound), "×-its-commit")
}
