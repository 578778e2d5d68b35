package market

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// rates are what a dollar costs in this world. They stay as they are: what moves here is the price of tokens.
var rates = []struct {
	quote string
	rate  number
}{
	{"AED", "3.6725"}, {"ARS", "1430.5"}, {"AUD", "1.5312"}, {"BRL", "5.3541"}, {"CAD", "1.3962"}, {"CHF", "0.80135"}, {"CNY", "7.0912"},
	{"COP", "3795.2"}, {"EGP", "47.52"}, {"EUR", "0.8648"}, {"GBP", "0.7605"}, {"HKD", "7.7803"}, {"IDR", "16640"}, {"INR", "88.71"},
	{"JPY", "154.32"}, {"KRW", "1468.9"}, {"MXN", "18.39"}, {"NGN", "1448.6"}, {"NZD", "1.7641"}, {"PLN", "3.6671"}, {"RUB", "80.95"},
	{"SAR", "3.75"}, {"SGD", "1.3021"}, {"TRY", "42.37"}, {"UAH", "42.16"}, {"ZAR", "17.18"},
}

// serveRates is GET /v2/rates?base=USD&quotes=EUR,JPY: the rates of today, in the order of their codes. It knows rates of the dollar alone.
func (m *Market) serveRates(r *http.Request, now time.Time) (any, *refusal) {
	const base = "USD"
	if r.FormValue("base") != base {
		return nil, badRequest(Frankfurter, "invalid base")
	}
	var quotes []string
	if asked := r.FormValue("quotes"); asked != "" {
		quotes = strings.Split(asked, ",")
	}
	out := []object{}
	for _, known := range rates {
		if len(quotes) == 0 || slices.Contains(quotes, known.quote) {
			out = append(out, object{"date": now.UTC().Format(time.DateOnly), "base": base, "quote": known.quote, "rate": known.rate})
		}
	}
	return out, nil
}
