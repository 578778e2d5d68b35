package wallet_test

import (
	"testing"
	"time"

	"purser/wallet"
)

// TestValuesInCurrencies checks sums to their last digit: euros have two, yen none.
func TestValuesInCurrencies(t *testing.T) {
	rate := func(code wallet.Currency, perDollar string) wallet.Rate {
		return wallet.Rate{Currency: code, PerDollar: wallet.MustPrice(perDollar)}
	}
	for _, test := range []struct {
		rate  wallet.Rate
		value wallet.USD // millionths of a dollar
		sum   wallet.Sum
	}{
		{rate("EUR", "0.8757"), 221_523_400, wallet.Sum{Currency: "EUR", Text: "193.99"}}, // 193.98804…
		{rate("EUR", "0.5"), 30_000, wallet.Sum{Currency: "EUR", Text: "0.02"}},           // half up
		{rate("EUR", "0.5"), 29_999, wallet.Sum{Currency: "EUR", Text: "0.01"}},
		{rate("EUR", "0.5"), 9_999, wallet.Sum{Currency: "EUR", Text: "0.01", Least: true}},
		{rate("EUR", "0.5"), 10_000, wallet.Sum{Currency: "EUR", Text: "0.01"}},
		{rate("EUR", "0.5"), 0, wallet.Sum{Currency: "EUR", Text: "0.00"}},
		{rate("JPY", "155.25"), 2_000_000, wallet.Sum{Currency: "JPY", Text: "311"}}, // 310.5
		{rate("JPY", "155.25"), 1_000, wallet.Sum{Currency: "JPY", Text: "1", Least: true}},
		{rate("IDR", "16500"), 10_000_000_000_000, wallet.Sum{Currency: "IDR", Text: "165000000000"}},
		{wallet.OneToOne(time.Time{}), 221_525_000, wallet.Sum{Currency: "USD", Text: "221.53"}},
	} {
		if sum, ok := test.rate.Of(test.value); !ok || sum != test.sum {
			t.Errorf("%d at %s is %+v, %v, want %+v", test.value, test.rate.PerDollar, sum, ok, test.sum)
		}
	}
	if _, ok := (wallet.Rate{Currency: "EUR"}).Of(1); ok {
		t.Error("a rate that is not known has a sum")
	}
}

// TestReachesCompares checks the bound of a large payment to the millionth of a dollar.
func TestReachesCompares(t *testing.T) {
	rate := wallet.Rate{Currency: "EUR", PerDollar: wallet.MustPrice("0.8")}
	for value, want := range map[wallet.USD]bool{1_250_000_000: true, 1_249_999_999: false, 0: false} {
		if got := rate.Reaches(value, 1000); got != want {
			t.Errorf("%d reaches 1000 EUR: %v", value, got)
		}
	}
	if (wallet.Rate{Currency: "EUR"}).Reaches(1<<63, 1) {
		t.Error("a rate that is not known is reached")
	}
}

// TestMagnitude: the figures that are offered in a currency are about as many dollars as they are in dollars.
func TestMagnitude(t *testing.T) {
	for perDollar, want := range map[string]uint64{"0.5": 1, "1": 1, "9.99": 1, "10": 10, "99.9": 10, "155.25": 100, "16500": 10_000, "1000000": 1_000_000, "999999999": 1_000_000} {
		if got := (wallet.Rate{Currency: "XXX", PerDollar: wallet.MustPrice(perDollar)}).Magnitude(); got != want {
			t.Errorf("at %s it is %d, want %d", perDollar, got, want)
		}
	}
	if got := (wallet.Rate{}).Magnitude(); got != 1 {
		t.Errorf("of a rate that is not known it is %d", got)
	}
}

// TestLargeKeepsItsCurrency: to be told values in yen does not make a thousand dollars a thousand yen.
func TestLargeKeepsItsCurrency(t *testing.T) {
	for _, test := range []struct {
		set   wallet.Settings
		whole uint64
		in    wallet.Currency
	}{
		{wallet.Settings{}, 1000, "USD"},
		{wallet.Settings{Currency: "JPY"}, 1000, "USD"},
		{wallet.Settings{Currency: "JPY", LargeFrom: 500, LargeIn: "EUR"}, 500, "EUR"},
		{wallet.Settings{Currency: "JPY", LargeFrom: 500}, 500, "JPY"}, // stored before LargeIn
	} {
		if whole, in := test.set.Large(); whole != test.whole || in != test.in {
			t.Errorf("%+v: %d %s", test.set, whole, in)
		}
	}
}

// TestParseCurrency reads codes of the list alone.
func TestParseCurrency(t *testing.T) {
	for _, code := range wallet.Currencies() {
		if got, err := wallet.ParseCurrency(string(code)); err != nil || got != code {
			t.Errorf("%s is %s, %v", code, got, err)
		}
	}
	if got, err := wallet.ParseCurrency("eur"); err != nil || got != "EUR" {
		t.Errorf("eur is %s, %v", got, err)
	}
	for _, text := range []string{"", "euro", "XAU", "BTC", "EUR "} {
		if got, err := wallet.ParseCurrency(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// TestStaleRates checks the bound: weekends and holidays have no rates of their own.
func TestStaleRates(t *testing.T) {
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	rate := wallet.Rate{At: at}
	if rate.Stale(at.Add(wallet.StaleRate)) || !rate.Stale(at.Add(wallet.StaleRate+1)) {
		t.Error("the bound is not StaleRate")
	}
}
