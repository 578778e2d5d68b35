package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// tokenPrice is a price of a token whose mint is one byte; 0 is SOL.
func tokenPrice(mint byte, price string, at time.Time) wallet.TokenPrice {
	return wallet.TokenPrice{Mint: mintOf(mint), Price: wallet.MustPrice(price), At: at, Source: "jupiter"}
}

// mintOf is a mint by its first byte; 0 is SOL.
func mintOf(b byte) wallet.Address { return wallet.Address{b} }

// pricesIn reads prices.
func pricesIn(t *testing.T, s store.Store, mints ...wallet.Address) map[wallet.Address]wallet.TokenPrice {
	t.Helper()
	return get(t, s, func(tx store.Tx) (map[wallet.Address]wallet.TokenPrice, error) { return tx.Prices(mints) })
}

// testPrices: a price is replaced by a newer one, never by an older one, and is removed when nobody replaces it.
func testPrices(t *testing.T, open Open) {
	s := fresh(t, open)
	change := wallet.Change(-125)
	sol := tokenPrice(0, "147.4789340738336", noon())
	sol.Change24h, sol.Disagrees = &change, &wallet.SourcePrice{Source: "pyth", Price: wallet.MustPrice("120")}
	small := tokenPrice(7, "0.000000001234", noon())
	same(t, "nothing yet", len(pricesIn(t, s, mintOf(0), mintOf(7))), 0)
	update(t, s, func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{sol, small}) })
	update(t, s, func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{{Mint: mintOf(9), At: noon()}}) }) // unknown
	same(t, "as saved", pricesIn(t, s, mintOf(7), mintOf(0), mintOf(9)), map[wallet.Address]wallet.TokenPrice{mintOf(0): sol, mintOf(7): small})

	older, newer := tokenPrice(0, "1", noon().Add(-time.Second)), tokenPrice(0, "2", noon().Add(30*time.Hour))
	update(t, s, func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{older}) })
	same(t, "an older one changes nothing", pricesIn(t, s, mintOf(0))[mintOf(0)], sol)
	update(t, s, func(tx store.Tx) error { return tx.SavePrices([]wallet.TokenPrice{newer}) })
	same(t, "a newer one replaces", pricesIn(t, s, mintOf(0))[mintOf(0)], newer)

	sweep := func(at time.Time) {
		update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(at, 100); return err })
	}
	sweep(noon().Add(store.PriceKept))
	same(t, "both are kept for as long as was promised", len(pricesIn(t, s, mintOf(0), mintOf(7))), 2)
	sweep(noon().Add(store.PriceKept + 24*time.Hour))
	same(t, "one was replaced", pricesIn(t, s, mintOf(0), mintOf(7)), map[wallet.Address]wallet.TokenPrice{mintOf(0): newer})
	sweep(newer.At.Add(store.PriceKept + 24*time.Hour))
	same(t, "none was", len(pricesIn(t, s, mintOf(0))), 0)
}

// testAskedPrices: who asks is remembered for tokens that have a price, to within an hour.
func testAskedPrices(t *testing.T, open Open) {
	s := fresh(t, open)
	ask := func(at time.Time, mints ...wallet.Address) {
		update(t, s, func(tx store.Tx) error { return tx.AskPrices(mints, at) })
	}
	asked := func(since time.Time, after wallet.Address, limit int) []wallet.Address {
		return get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.AskedMints(since, after, limit) })
	}
	update(t, s, func(tx store.Tx) error {
		return tx.SavePrices([]wallet.TokenPrice{tokenPrice(0, "1", noon()), tokenPrice(5, "1", noon()), tokenPrice(3, "1", noon())})
	})
	ask(noon(), mintOf(5), mintOf(0), mintOf(9))
	same(t, "those that have a price, without SOL", asked(noon(), wallet.Address{}, 10), []wallet.Address{mintOf(5)})
	ask(noon().Add(59*time.Minute), mintOf(5))
	same(t, "within an hour", len(asked(noon().Add(time.Second), wallet.Address{}, 10)), 0)
	ask(noon().Add(time.Hour), mintOf(5), mintOf(3))
	same(t, "an hour later", asked(noon().Add(time.Hour), wallet.Address{}, 10), []wallet.Address{mintOf(3), mintOf(5)})
	same(t, "a page", asked(noon(), wallet.Address{}, 1), []wallet.Address{mintOf(3)})
	same(t, "the next", asked(noon(), mintOf(3), 2), []wallet.Address{mintOf(5)})
	same(t, "none of none", len(asked(noon(), wallet.Address{}, 0)), 0)
	ask(noon().Add(-time.Hour), mintOf(3)) // a node whose clock is behind
	same(t, "a clock that is behind", asked(noon(), wallet.Address{}, 2), []wallet.Address{mintOf(5)})
	update(t, s, func(tx store.Tx) error { _, err := tx.Sweep(noon().Add(store.PriceKept+24*time.Hour), 100); return err })
	same(t, "with the price it goes", len(asked(time.Time{}, wallet.Address{}, 10)), 0)
}

// testHeldMints: the list says what the watches say, whatever becomes of them.
func testHeldMints(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	held := func(after wallet.Address, limit int) []wallet.Address {
		return get(t, s, func(tx store.Tx) ([]wallet.Address, error) { return tx.HeldMints(after, limit) })
	}
	holding := func(mint byte, units uint64) wallet.WatchedAccount {
		return wallet.WatchedAccount{Address: wallet.Address{100, mint}, Exists: true, Units: units, Mint: mintOf(mint)}
	}
	watch := func(at wallet.Address, accounts ...wallet.WatchedAccount) {
		update(t, s, func(tx store.Tx) error {
			w, err := tx.Watch(at)
			if err != nil {
				w = wallet.Watch{Address: at}
			}
			w.Accounts = append([]wallet.WatchedAccount{{Address: at, Exists: true, Units: 5}}, accounts...)
			return tx.PutWatch(w)
		})
	}
	one, two, three := wallet.Address{1}, wallet.Address{2}, wallet.Address{3}
	for i, at := range []wallet.Address{one, two, three} {
		update(t, s, func(tx store.Tx) error {
			w := wallet.Wallet{Address: at, Owner: "usr_a", ConnectedAt: noon()}
			if i == 0 {
				w.Owner, w.KeyLineage = "", "key_1"
			}
			return tx.PutWallet(w)
		})
	}
	same(t, "nobody is watched", len(held(wallet.Address{}, 10)), 0)
	watch(one, holding(9, 1), holding(4, 2))
	watch(two, holding(4, 7), holding(6, 0)) // an account of 6 that is empty
	watch(three, holding(5, 1))
	same(t, "each once, in order", held(wallet.Address{}, 10), []wallet.Address{mintOf(4), mintOf(5), mintOf(9)})
	same(t, "a page", held(wallet.Address{}, 1), []wallet.Address{mintOf(4)})
	same(t, "the next", held(mintOf(4), 2), []wallet.Address{mintOf(5), mintOf(9)})
	same(t, "behind one that nobody holds", held(mintOf(6), 10), []wallet.Address{mintOf(9)})
	same(t, "none of none", len(held(wallet.Address{}, 0)), 0)
	watch(one, holding(9, 0), holding(4, 2))
	same(t, "sold", held(wallet.Address{}, 10), []wallet.Address{mintOf(4), mintOf(5)})
	watch(one)
	same(t, "another wallet has it still", held(wallet.Address{}, 10), []wallet.Address{mintOf(4), mintOf(5)})
	update(t, s, func(tx store.Tx) error { return tx.DropWatch(two) })
	same(t, "a watch that is dropped", held(wallet.Address{}, 10), []wallet.Address{mintOf(5)})
	watch(two, holding(4, 1))
	update(t, s, func(tx store.Tx) error { return tx.DeleteWallet(two) })
	same(t, "a wallet that is disconnected", held(wallet.Address{}, 10), []wallet.Address{mintOf(5)})
	watch(one, holding(8, 1))
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	same(t, "a person who is erased", held(wallet.Address{}, 10), []wallet.Address{mintOf(8)})
	last := wallet.Address{0xff}
	for i := range last {
		last[i] = 0xff
	}
	same(t, "behind the last address", len(held(last, 10)), 0)
}

// OpenPriceHistory opens past prices in a folder, or makes them. The suite closes them, and may open the folder again.
type OpenPriceHistory func(t testing.TB, folder string) store.PriceHistory

// RunPriceHistory runs the suite of past prices.
func RunPriceHistory(t *testing.T, open OpenPriceHistory) {
	t.Run("Points", func(t *testing.T) { testPricePoints(t, open) })
	t.Run("Fill", func(t *testing.T) { testPriceFill(t, open) })
	t.Run("Drop", func(t *testing.T) { testPriceDrop(t, open) })
}

// pastPrices opens a history, and closes it with the test.
func pastPrices(t *testing.T, open OpenPriceHistory) store.PriceHistory {
	h := open(t, t.TempDir())
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// points reads past prices as text: time and price.
func points(t *testing.T, h store.PriceHistory, mint byte, since, until time.Time, step time.Duration) []string {
	t.Helper()
	list, err := h.Points(t.Context(), mintOf(mint), since, until, step)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, p := range list {
		out = append(out, p.At.Format("02 15:04 ")+p.Price.String())
	}
	return out
}

// testPricePoints: each minute and hour has its last price, with nine digits, across days and a restart.
func testPricePoints(t *testing.T, open OpenPriceHistory) {
	folder := t.TempDir()
	h := open(t, folder)
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 1, day, hour, minute, 30, 5, time.UTC) }
	save := func(at time.Time, sol, other string) {
		t.Helper()
		list := []wallet.TokenPrice{tokenPrice(0, sol, at), tokenPrice(1, other, at), {Mint: mintOf(2)}} // 2 has no price
		if err := h.SavePoints(at, list); err != nil {
			t.Fatal(err)
		}
	}
	save(at(30, 23, 58), "100", "1")
	save(at(30, 23, 59), "101.123456789123", "2")
	save(at(31, 0, 0), "102", "3")
	save(at(31, 0, 0).Add(10*time.Second), "103", "4") // the same minute
	save(at(31, 0, 7), "0.00000000012345678949", "5")
	save(at(31, 23, 59), "105", "6")
	save(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), "106", "7")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = open(t, folder)
	defer h.Close()
	from, to := time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC)
	same(t, "each minute", points(t, h, 0, from, to, time.Minute), []string{"30 23:58 100", "30 23:59 101.123457", "31 00:00 103", "31 00:07 0.000000000123456789", "31 23:59 105", "01 00:00 106"})
	same(t, "each five", points(t, h, 0, from, to, 5*time.Minute), []string{"30 23:59 101.123457", "31 00:00 103", "31 00:07 0.000000000123456789", "31 23:59 105", "01 00:00 106"})
	same(t, "each hour", points(t, h, 1, from, to, time.Hour), []string{"30 23:00 2", "31 00:00 5", "31 23:00 6", "01 00:00 7"})
	same(t, "each four hours", points(t, h, 1, from, to, 4*time.Hour), []string{"30 23:00 2", "31 00:00 5", "31 23:00 6", "01 00:00 7"})
	same(t, "each two days", points(t, h, 1, from, to, 48*time.Hour), []string{"30 23:00 2", "01 00:00 7"})
	same(t, "from a minute, to another", points(t, h, 0, at(30, 23, 59).Truncate(time.Minute), at(31, 0, 7).Truncate(time.Minute), time.Minute), []string{"30 23:59 101.123457", "31 00:00 103"})
	same(t, "of a token without a price", len(points(t, h, 2, from, to, time.Minute)), 0)
	same(t, "of nothing", len(points(t, h, 0, to, from, time.Minute)), 0)
	same(t, "in another time zone", points(t, h, 1, from.In(time.FixedZone("", 7200)), to, time.Hour)[0], "30 23:00 2")
}

// testPriceFill: what others know fills gaps, and replaces no price of ours.
func testPriceFill(t *testing.T, open OpenPriceHistory) {
	h := pastPrices(t, open)
	now := noon()
	if err := h.SavePoints(now.Add(-10*time.Minute), []wallet.TokenPrice{tokenPrice(1, "5", now)}); err != nil {
		t.Fatal(err)
	}
	past := []wallet.PricePoint{
		{At: now.Add(-400 * 24 * time.Hour), Price: wallet.MustPrice("1")}, {At: now.Add(-49 * time.Hour), Price: wallet.MustPrice("2")},
		{At: now.Add(-10 * time.Minute), Price: wallet.MustPrice("3")}, {At: now.Add(-9 * time.Minute), Price: wallet.MustPrice("4")},
		{At: now.Add(-8 * time.Minute)}, {At: now.Add(time.Minute), Price: wallet.MustPrice("6")},
	}
	if err := h.Fill(now, mintOf(1), time.Minute, past); err != nil {
		t.Fatal(err)
	}
	long := now.Add(-500 * 24 * time.Hour)
	same(t, "minutes", points(t, h, 1, long, now.Add(time.Hour), time.Minute), []string{now.Add(-10*time.Minute).Format("02 15:04") + " 5", now.Add(-9*time.Minute).Format("02 15:04") + " 4"})
	hours := points(t, h, 1, long, now.Add(time.Hour), time.Hour)
	same(t, "hours", hours, []string{now.Add(-49*time.Hour).Format("02 15:00") + " 2", now.Add(-10*time.Minute).Format("02 15:00") + " 5"})
	same(t, "of another", len(points(t, h, 2, long, now, time.Hour)), 0)
	coarse := []wallet.PricePoint{{At: now.Add(-70 * time.Minute), Price: wallet.MustPrice("7")}, {At: now.Add(-65 * time.Minute), Price: wallet.MustPrice("8")}}
	if err := h.Fill(now, mintOf(3), time.Hour, coarse); err != nil {
		t.Fatal(err)
	}
	same(t, "hours are no minutes", len(points(t, h, 3, long, now, time.Minute)), 0)
	same(t, "the last of an hour", points(t, h, 3, long, now, time.Hour), []string{now.Add(-65*time.Minute).Format("02 15:00") + " 8"})
}

// testPriceDrop: minutes go after two days and hours after a year, a file at a time.
func testPriceDrop(t *testing.T, open OpenPriceHistory) {
	h := pastPrices(t, open)
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for _, age := range []time.Duration{0, 47 * time.Hour, 85 * time.Hour, 365 * 24 * time.Hour, 400 * 24 * time.Hour} {
		if err := h.SavePoints(now.Add(-age), []wallet.TokenPrice{tokenPrice(1, "5", now)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := h.Drop(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		long := now.Add(-500 * 24 * time.Hour)
		same(t, "minutes", len(points(t, h, 1, long, now.Add(time.Hour), time.Minute)), 2)
		same(t, "hours", len(points(t, h, 1, long, now.Add(time.Hour), time.Hour)), 4)
	}
}

// testRates: a rate replaces the one before, the dollar needs none, and what is no rate changes nothing.
func testRates(t *testing.T, open Open) {
	s := fresh(t, open)
	rate := func(code wallet.Currency) (r wallet.Rate, err error) {
		err = s.View(t.Context(), func(tx store.Tx) error { r, err = tx.Rate(code, noon()); return err })
		return r, err
	}
	_, err := rate("EUR")
	same(t, "nothing yet", err, store.ErrNotFound)
	dollar, err := rate(wallet.Dollars)
	same(t, "a dollar is a dollar", dollar, wallet.OneToOne(noon()))
	same(t, "without an error", err, nil)
	first := wallet.Rate{Currency: "EUR", PerDollar: wallet.MustPrice("0.8648"), At: noon().Add(-time.Hour), Source: "frankfurter"}
	second := wallet.Rate{Currency: "EUR", PerDollar: wallet.MustPrice("0.87"), At: noon(), Source: "frankfurter"}
	for _, list := range [][]wallet.Rate{
		{first, {Currency: wallet.Dollars, PerDollar: wallet.MustPrice("2")}, {Currency: "XXX", PerDollar: wallet.MustPrice("2")}, {Currency: "JPY", At: noon()}},
		{second}, {{Currency: "EUR", At: noon()}},
	} {
		update(t, s, func(tx store.Tx) error { return tx.SaveRates(list) })
		want := second
		if list[0] == first {
			want = first
		}
		got, err := rate("EUR")
		same(t, "as saved", got, want)
		same(t, "without an error", err, nil)
	}
	dollar, _ = rate(wallet.Dollars)
	same(t, "a dollar stays a dollar", dollar, wallet.OneToOne(noon()))
	for _, code := range []wallet.Currency{"XXX", "JPY"} {
		_, err := rate(code)
		same(t, string(code)+" has no rate", err, store.ErrNotFound)
	}
}
