package config

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// Market is who is asked about prices, tokens and pools. Its zero value asks nobody: then no price is known.
type Market struct {
	Sources  []PriceSource // the preferred one first, each once; none: no prices
	PoolsURL string        // base address of GeckoTerminal's API, without a slash at its end; "": no pools
	RatesURL string        // base address of Frankfurter's API, without a slash at its end; "": values are in US dollars alone
}

// PriceSource is one provider of prices.
type PriceSource struct {
	Name      string // one of PriceSources
	URL       string // base address without a slash at its end; "": the provider's own
	Key       Secret // "": none
	PerMinute int    // calls that the plan allows; 0: what the provider says of its free plan
}

// The providers of prices.
const (
	Jupiter   = "jupiter"
	CoinGecko = "coingecko"
	Pyth      = "pyth"
)

// PriceSources lists the providers that purser knows.
func PriceSources() []string { return []string{Jupiter, CoinGecko, Pyth} }

// noSources turns prices off.
const noSources = "none"

// market reads who is asked. Tokens of test networks have no price, so off mainnet somebody has to name a source.
func (ch *checker) market(cluster string) (m Market) {
	jupiter, keys, perMinute := ch.marketURL("market.url"), ch.marketKeys(), ch.marketCalls()
	names := split(ch.values["market.sources"])
	if len(names) == 0 && cluster == wallet.Mainnet {
		names = []string{Jupiter}
	}
	if len(names) == 1 && names[0] == noSources {
		names = nil
	}
	for _, name := range names {
		if !slices.Contains(PriceSources(), name) {
			ch.wrong("market.sources", "%q is not one of %s; or write %s alone", name, strings.Join(PriceSources(), ", "), noSources)
			continue
		}
		source := PriceSource{Name: name, Key: keys[name]}
		if slices.ContainsFunc(m.Sources, func(s PriceSource) bool { return s.Name == name }) {
			continue
		}
		if name == Jupiter {
			source.URL, source.PerMinute = jupiter, perMinute
		}
		if name == Pyth && source.Key == "" {
			ch.wrong("market.keys", "pyth answers nobody without a key: add pyth=KEY")
		}
		m.Sources = append(m.Sources, source)
	}
	if cluster == wallet.Mainnet || ch.values["market.pools_url"] != geckoTerminal {
		m.PoolsURL = ch.marketURL("market.pools_url")
	}
	if ch.values["market.rates_url"] != noSources {
		m.RatesURL = ch.marketURL("market.rates_url")
	}
	return m
}

// geckoTerminal is where pools and candles come from by default.
const geckoTerminal = "https://api.geckoterminal.com"

// marketURL reads a base address. A key may travel there, and prices steer what people decide, so it needs TLS beyond this
// machine.
func (ch *checker) marketURL(name string) string {
	u, ok := ch.url(name, "http", "https")
	if !ok {
		return ""
	}
	if u.Scheme == "http" && !loopback(u.Hostname()) || u.RawQuery != "" || u.User != nil {
		ch.wrong(name, "must be https, without user and query")
	}
	return strings.TrimRight((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), "/")
}

// marketKeys reads NAME=KEY for each provider.
func (ch *checker) marketKeys() map[string]Secret {
	keys := map[string]Secret{}
	for _, item := range split(ch.values["market.keys"]) {
		name, key, ok := strings.Cut(item, "=")
		// Neither side is repeated: a line without "=" is often the key itself.
		if !ok || !slices.Contains(PriceSources(), name) || key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			ch.wrong("market.keys", "must be NAME=KEY, for %s, separated by commas", strings.Join(PriceSources(), ", "))
			continue
		}
		keys[name] = Secret(key)
	}
	return keys
}

// marketCalls reads how many calls a minute the plan at Jupiter allows; 0 if it is not set.
func (ch *checker) marketCalls() int {
	const most = 60_000
	text := ch.values["market.calls_per_minute"]
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 || n > most {
		ch.wrong("market.calls_per_minute", "must be a whole number from 1 to %d", most)
	}
	return int(n)
}

// text lists the sources as in the settings file.
func (m Market) text() string {
	names := make([]string, len(m.Sources))
	for i, s := range m.Sources {
		names[i] = s.Name
	}
	return strings.Join(names, ",")
}
