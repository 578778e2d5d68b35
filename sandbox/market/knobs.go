package market

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"time"
)

// maxKnobs is the size of a body of /sandbox/set, in bytes.
const maxKnobs = 64 << 10

// knobs is the body of POST /sandbox/set. What it does not name stays as it is. Tokens are named by symbol or mint.
type knobs struct {
	Prices map[string]*string    `json:"prices"` // decimal of dollars; null takes the price away
	Jumps  map[string]int        `json:"jumps"`  // percent
	Limits map[string]int        `json:"limits"` // calls a minute without a key, by provider
	Faults map[string]*faultKnob `json:"faults"` // by provider; null ends the fault
	Quotes *string               `json:"quotes"` // how quotes of swaps are answered: "" (honestly), direct, no_route, low, moves
}

// faultKnob is a Fault in JSON.
type faultKnob struct {
	Kind    Kind  `json:"kind"`
	Calls   int   `json:"calls"`   // 0: until it is ended
	DelayMs int64 `json:"delayMs"` // 0: half a minute
}

// serveSet changes knobs, in the order prices, jumps, limits, faults, and answers with all present values. What was
// changed before a refused value stays changed.
func (m *Market) serveSet(w http.ResponseWriter, r *http.Request) {
	// A page of another site can send neither this content type nor hide where it comes from.
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" || r.Header.Get("Origin") != "" {
		writeJSON(w, http.StatusUnsupportedMediaType, object{"error": "send JSON, and not from a web page"})
		return
	}
	var k knobs
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxKnobs))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&k); err != nil {
		writeJSON(w, http.StatusBadRequest, object{"error": "the body is not understood: " + err.Error()})
		return
	}
	if err := m.turn(k); err != nil {
		writeJSON(w, http.StatusBadRequest, object{"error": err.Error()})
		return
	}
	m.serveState(w, r)
}

// turn changes knobs.
func (m *Market) turn(k knobs) error {
	for _, name := range slices.Sorted(maps.Keys(k.Prices)) {
		err := error(nil)
		if price := k.Prices[name]; price == nil {
			err = m.Unprice(name)
		} else {
			err = m.Set(name, *price)
		}
		if err != nil {
			return fmt.Errorf("prices: %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Jumps)) {
		if err := m.Jump(name, k.Jumps[name]); err != nil {
			return fmt.Errorf("jumps: %s: %w", name, err)
		}
	}
	for _, provider := range slices.Sorted(maps.Keys(k.Limits)) {
		if err := m.SetLimit(provider, k.Limits[provider]); err != nil {
			return fmt.Errorf("limits: %w", err)
		}
	}
	for _, provider := range slices.Sorted(maps.Keys(k.Faults)) {
		f := Fault{}
		if knob := k.Faults[provider]; knob != nil {
			if knob.DelayMs < 0 || knob.DelayMs > maxDelay.Milliseconds() || knob.Kind == "" {
				return fmt.Errorf("faults: %s: a kind is missing, or the delay is above %s", provider, maxDelay)
			}
			f = Fault{knob.Kind, knob.Calls, time.Duration(knob.DelayMs) * time.Millisecond}
		}
		if err := m.SetFault(provider, f); err != nil {
			return fmt.Errorf("faults: %w", err)
		}
	}
	if k.Quotes != nil {
		return m.SetQuotes(*k.Quotes)
	}
	return nil
}

// tokenState is a token in the answer of the knobs.
type tokenState struct {
	Mint     string  `json:"mint"`
	Symbol   string  `json:"symbol"`
	Name     string  `json:"name"`
	Verified bool    `json:"verified"`
	Price    *string `json:"price"` // null: none
}

// serveState is GET /sandbox/state: all present values.
func (m *Market) serveState(w http.ResponseWriter, _ *http.Request) {
	tokens := []tokenState{}
	for _, q := range m.Quotes() {
		t := tokenState{Mint: q.Mint, Symbol: q.Symbol, Name: q.Name, Verified: q.Verified}
		if q.Price != "" {
			t.Price = &q.Price
		}
		tokens = append(tokens, t)
	}
	m.mu.Lock()
	limits, faults := map[string]int{}, map[string]*faultKnob{}
	for provider, l := range m.limits {
		limits[provider] = l.most
		faults[provider] = nil
		if f := m.faults[provider]; f != nil {
			faults[provider] = &faultKnob{f.Kind, f.Calls, f.Delay.Milliseconds()}
		}
	}
	quotes := m.quotes
	m.mu.Unlock()
	writeJSON(w, http.StatusOK, object{"tokens": tokens, "limits": limits, "faults": faults, "quotes": quotes})
}
