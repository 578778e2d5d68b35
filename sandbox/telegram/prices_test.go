package telegram

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ticker is a market of one token that remembers what it was asked.
type ticker struct {
	price  string
	quotes string
	done   []string
}

func (m *ticker) Quotes() string { return m.quotes }

func (m *ticker) SetQuotes(mode string) error {
	if mode != "" && mode != "low" {
		return ErrNoMode
	}
	m.quotes = mode
	return nil
}

func (m *ticker) Prices() []Price {
	return []Price{{Mint: "mint-1", Symbol: "TEA", Name: "Tea <b>", Verified: true, Price: m.price, Change: "-1.25"}}
}

func (m *ticker) SetPrice(mint, price string) error {
	m.done = append(m.done, "set "+mint+" "+price)
	switch {
	case mint != "mint-1":
		return ErrNoToken
	case price == "13":
		return errors.New("the journal is full")
	case strings.Trim(price, "0123456789.") != "" || price == "":
		return ErrBadPrice
	}
	m.price = price
	return nil
}

func (m *ticker) MovePrice(mint string, percent int) error {
	m.done = append(m.done, fmt.Sprint("move ", mint, " ", percent))
	if m.price == "" {
		return ErrNoPrice
	}
	m.price = fmt.Sprint("moved by ", percent)
	return nil
}

func TestPageMovesPrices(t *testing.T) {
	market := &ticker{}
	w := newWorld(t, Options{Market: market})
	if _, _, state := w.visit("GET", "/app/state", ""); !strings.Contains(state, `"market":true`) {
		t.Errorf("the page does not know of prices: %s", state)
	}
	const list = `{"prices":[{"mint":"mint-1","symbol":"TEA","name":"Tea \u003cb\u003e","verified":true,"price":"%s","change":"-1.25"}],"quotes":""}`
	if status, _, says := w.visit("GET", "/app/prices", ""); status != 200 || says != fmt.Sprintf(list, "") {
		t.Errorf("%d %s", status, says)
	}
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{`{"mint":"mint-1","percent":10}`, 409, "Set one first"},
		{`{"mint":"mint-1","price":" $151.5 "}`, 200, fmt.Sprintf(list, "151.5")},
		{`{"mint":"mint-1","percent":-10}`, 200, fmt.Sprintf(list, "moved by -10")},
		{`{"mint":"mint-1","price":"1,5"}`, 400, "such as 151.5"},
		{`{"mint":"mint-1","price":" ","percent":10}`, 400, "such as 151.5"},
		{`{"mint":"mint-1"}`, 400, "such as 151.5"},
		{`{"mint":"mint-2","price":"1"}`, 404, "doesn't have this token"},
		{`{"mint":"mint-1","price":"13"}`, 502, "the journal is full"},
		{`{"mint":"mint-1","percent":"10"}`, 400, "Reload"},
	} {
		if status, _, says := w.visit("POST", "/app/price", c.body); status != c.status || !strings.Contains(says, c.says) {
			t.Errorf("%s: %d %s", c.body, status, says)
		}
	}
	for body, want := range map[string]string{`{"quotes":"low"}`: `"quotes":"low"`, `{"quotes":"lies"}`: "Reload", `{"quotes":7}`: "Reload"} {
		if status, _, says := w.visit("POST", "/app/quotes", body); (status == 200) != (want != "Reload") || !strings.Contains(says, want) {
			t.Errorf("%s: %d %s", body, status, says)
		}
	}
	if _, _, says := w.visit("GET", "/app/prices", ""); !strings.Contains(says, `"quotes":"low"`) {
		t.Error(says)
	}
	want := "move mint-1 10 | set mint-1 151.5 | move mint-1 -10 | set mint-1 1,5 | set mint-1  | set mint-1  | set mint-2 1 | set mint-1 13"
	if got := strings.Join(market.done, " | "); got != want {
		t.Errorf("the market was asked:\n%s\nwant\n%s", got, want)
	}
	without := newWorld(t, Options{})
	if _, _, state := without.visit("GET", "/app/state", ""); !strings.Contains(state, `"market":false`) {
		t.Errorf("prices without a market: %s", state)
	}
	if status, _, _ := without.visit("POST", "/app/quotes", `{"quotes":""}`); status != 404 {
		t.Errorf("quotes without a market: %d", status)
	}
	if status, _, _ := without.visit("GET", "/app/prices", ""); status != 404 {
		t.Errorf("prices without a market: %d", status)
	}
	if status, _, _ := without.visit("POST", "/app/price", `{"mint":"mint-1","price":"1"}`); status != 404 {
		t.Errorf("a price without a market: %d", status)
	}
}
