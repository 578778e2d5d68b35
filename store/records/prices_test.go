package records

import (
	"path/filepath"
	"testing"
	"time"

	"purser/store"
	"purser/store/bolt"
	"purser/store/engine"
	"purser/store/storetest"
	"purser/wallet"
)

// openPast opens past prices in a folder, with their days.
func openPast(t testing.TB, folder string) (h *PriceHistory, minutes *bolt.Days) {
	t.Helper()
	minutes, err := bolt.OpenDays(filepath.Join(folder, "minutes"), PriceHistoryLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	hours, err := bolt.OpenDays(filepath.Join(folder, "hours"), PriceHistoryLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return OpenPriceHistory(minutes, hours), minutes
}

func TestPriceHistory(t *testing.T) {
	storetest.RunPriceHistory(t, func(t testing.TB, folder string) store.PriceHistory {
		h, _ := openPast(t, folder)
		return h
	})
}

// FuzzSamples: whatever lies in a row of past prices is read as prices that can be written again, and never panics.
func FuzzSamples(f *testing.F) {
	f.Add([]byte{0, 0xf8, 1, 59, 3, 0x80, 1})
	f.Add([]byte{9, 9, 9, 9, 9, 9})
	f.Add(encodeSamples([]sample{{3, wallet.MustPrice("0.00012")}, {4, wallet.MustPrice("147000")}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		samples, last := decodeSamples(raw), -1
		for _, s := range samples {
			if !s.price.Known() || int(s.number) <= last {
				t.Fatalf("%v from %x", samples, raw)
			}
			last = int(s.number)
		}
		again := decodeSamples(encodeSamples(samples))
		if len(again) != len(samples) {
			t.Fatalf("%v becomes %v", samples, again)
		}
		for i := range again {
			if again[i] != samples[i] {
				t.Fatalf("%v becomes %v", samples, again)
			}
		}
	})
}

// TestADamagedRowOfPastPricesHidesNoOther, and what is written next replaces it.
func TestADamagedRowOfPastPricesHidesNoOther(t *testing.T) {
	h, minutes := openPast(t, t.TempDir())
	defer h.Close() //nolint:errcheck // of a test
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	mint := wallet.Address{1}
	save := func(at time.Time) {
		t.Helper()
		if err := h.SavePoints(at, []wallet.TokenPrice{{Mint: mint, Price: wallet.MustPrice("5")}}); err != nil {
			t.Fatal(err)
		}
	}
	save(at)
	save(at.Add(time.Hour))
	read := func(want int) {
		t.Helper()
		points, err := h.Points(t.Context(), mint, at.Add(-time.Hour), at.Add(3*time.Hour), time.Minute)
		if err != nil || len(points) != want {
			t.Fatalf("%d points, want %d: %v", len(points), want, err)
		}
	}
	read(2)
	for _, damage := range [][]byte{{4}, {4, 4}, {9, 0, 0x80}, {9, 0, 1, 8, 0, 1}, {}} {
		err := minutes.Update("2026-01-02", func(t engine.Tables) error {
			// A key of another length is no row either.
			if err := t.Put(priceSamples, append(mint[:], 3, 3), damage); err != nil {
				return err
			}
			return t.Put(priceSamples, append(mint[:], 3), damage)
		})
		if err != nil {
			t.Fatal(err)
		}
		read(1)
		save(at)
		read(2)
	}
}

// TestADamagedWatchLeavesNoMintBehind: which mints it had is not known, so they are searched for.
func TestADamagedWatchLeavesNoMintBehind(t *testing.T) {
	s := fresh(t)
	one, two := wallet.Address{1}, wallet.Address{2}
	write := func(change func(tx store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range []wallet.Address{one, two} {
		write(func(tx store.Tx) error { return tx.PutWallet(wallet.Wallet{Address: at, KeyLineage: "key_1"}) })
		write(func(tx store.Tx) error {
			return tx.PutWatch(wallet.Watch{Address: at, Accounts: []wallet.WatchedAccount{{Address: at}, {Address: wallet.Address{3}, Units: 1, Mint: wallet.Address{9, at[0]}}}})
		})
	}
	write(func(in store.Tx) error { return in.(*tx).put(watches, one[:], []byte("damaged")) })
	write(func(tx store.Tx) error { return tx.DropWatch(one) })
	if err := s.View(t.Context(), func(tx store.Tx) error {
		held, err := tx.HeldMints(wallet.Address{}, 10)
		if err != nil || len(held) != 1 || held[0] != (wallet.Address{9, 2}) {
			t.Errorf("%v is held: %v", held, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedPriceIsNone until it is saved again, and its old note removes no newer price.
func TestADamagedPriceIsNone(t *testing.T) {
	s := fresh(t)
	sol := wallet.Address{}
	write := func(change func(tx store.Tx) error) {
		t.Helper()
		if err := s.Update(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	known := func() (n int) {
		t.Helper()
		if err := s.View(t.Context(), func(tx store.Tx) error {
			all, err := tx.Prices([]wallet.Address{sol})
			n = len(all)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	save := func(at time.Time) {
		write(func(tx store.Tx) error {
			return tx.SavePrices([]wallet.TokenPrice{{Mint: sol, Price: wallet.MustPrice("5"), At: at, Source: "jupiter"}})
		})
	}
	save(at)
	write(func(in store.Tx) error { return in.(*tx).put(prices, sol[:], []byte("damaged")) })
	if known() != 0 {
		t.Error("a damaged price is known")
	}
	later := at.Add(24 * time.Hour)
	save(later)
	write(func(tx store.Tx) error { _, err := tx.Sweep(priceOverAt(at), 100); return err })
	if known() != 1 {
		t.Error("the note of the damaged price removed the newer one")
	}
	write(func(tx store.Tx) error { _, err := tx.Sweep(priceOverAt(later), 100); return err })
	if known() != 0 {
		t.Error("the newer price stays for ever")
	}
}
