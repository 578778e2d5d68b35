package chat_test

import (
	"syscall"
	"testing"
	"time"

	"purser/chart"
	"purser/store"
	"purser/wallet"
)

// BenchmarkPriceWithChart is the whole of /price SOL: reading the price and a day of minutes, drawing the picture, and the commit of the reply. The
// bound is the drawing alone.
func BenchmarkPriceWithChart(b *testing.B) {
	r := newHarness(b)
	r.rich("alice", sol)
	price := func(i int) wallet.TokenPrice {
		return wallet.TokenPrice{Price: wallet.Price{Mantissa: 147_000_000 + uint64(i*7919%1_000_003), Exponent: -6}, At: r.Now().Add(time.Duration(i-1440) * time.Minute), Source: "jupiter"}
	}
	for i := range 1440 {
		p := price(i)
		r.Must(r.PastPrices.SavePoints(p.At, []wallet.TokenPrice{p}))
	}
	newest := price(1440)
	r.Must(r.Update(func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{newest}) }))
	r.says("alice", "/price SOL")
	if r.last().PNG == nil {
		b.Fatal("there is no picture")
	}
	began := cpuTime(b)
	n := 0
	for b.Loop() {
		r.says("alice", "/price SOL")
		n++
	}
	whole := (cpuTime(b) - began) / time.Duration(n)
	points, err := r.Market.Chart(r.Context(), wallet.Address{}, 24*time.Hour)
	r.Must(err)
	series := chart.Series{Name: "SOL", Span: "24 hours", Price: "$147", Source: "Jupiter", From: r.Now().Add(-24 * time.Hour), To: r.Now(), Points: points, Gap: time.Hour}
	began = cpuTime(b)
	for range n {
		if _, err := chart.Draw(series); err != nil {
			b.Fatal(err)
		}
	}
	drawn := (cpuTime(b) - began) / time.Duration(n)
	b.ReportMetric(float64(whole.Microseconds())/1000, "cpu-ms/command")
	b.ReportMetric(float64(whole)/float64(drawn), "×-drawing-alone")
}

// cpuTime is what this process has used of all cores.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
