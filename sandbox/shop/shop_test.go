package shop

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// node is a Solana node that answers what a test wrote down.
type node struct {
	signatures  string            // of getSignaturesForAddress
	transaction map[string]string // by signature
	asked       []string          // addresses that signatures were asked for
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Method string
		Params []json.RawMessage
	}
	var first string
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil || json.Unmarshal(call.Params[0], &first) != nil {
		http.Error(w, "bad call", 400)
		return
	}
	result := n.signatures
	if call.Method == "getSignaturesForAddress" {
		n.asked = append(n.asked, first)
	} else {
		result = n.transaction[first]
	}
	if result == "" {
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Node is behind"}}`)
		return
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
}

func opened(t *testing.T, n *node) *Shop {
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return New(Options{RPCURL: server.URL, Rand: rand.Reader, USDC: "the-mint"})
}

func TestLinksAreSolanaPays(t *testing.T) {
	s := opened(t, &node{})
	o, err := s.Order("beans")
	if err != nil {
		t.Fatal(err)
	}
	recipient, query, _ := strings.Cut(strings.TrimPrefix(o.Link, "solana:"), "?")
	if recipient != Address() || strings.Contains(query, "+") {
		t.Errorf("link %s", o.Link)
	}
	values, err := url.ParseQuery(query)
	if err != nil || values.Get("amount") != "12.5" || values.Get("spl-token") != "the-mint" || values.Get("reference") != o.Reference || values.Get("label") != "Sandbox Coffee" || values.Get("message") != "Bag of beans" {
		t.Errorf("%v %v", values, err)
	}
	again, err := s.Order("coffee")
	if err != nil || again.Reference == o.Reference || strings.Contains(again.Link, "spl-token") {
		t.Errorf("%+v %v", again, err)
	}
	if _, err := s.Order("car"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a car: %v", err)
	}
}

func TestOnlyAFullPaymentIsOne(t *testing.T) {
	sol := func(before, after uint64) string {
		return fmt.Sprintf(`{"transaction":{"message":{"accountKeys":["payer",%q]}},"meta":{"preBalances":[9,%d],"postBalances":[9,%d]}}`, Address(), before, after)
	}
	usdc := func(mint, owner string, after int) string {
		return fmt.Sprintf(`{"transaction":{"message":{"accountKeys":[]}},"meta":{"preTokenBalances":[{"owner":%q,"mint":%q,"uiTokenAmount":{"amount":"1000000"}}],"postTokenBalances":[{"owner":%q,"mint":%q,"uiTokenAmount":{"amount":"%d"}}]}}`, owner, mint, owner, mint, after)
	}
	const one = `[{"signature":"a","err":null}]`
	for name, c := range map[string]struct {
		item, signatures, transaction string
		paid                          bool
	}{
		"nothing came":         {"coffee", `[]`, "", false},
		"the price":            {"coffee", one, sol(100, 50_000_100), true},
		"one lamport less":     {"coffee", one, sol(100, 50_000_099), false},
		"it failed":            {"coffee", `[{"signature":"a","err":{"InstructionError":[0,{"Custom":1}]}}]`, sol(100, 50_000_100), false},
		"money left":           {"coffee", one, sol(50_000_100, 100), false},
		"the node forgot it":   {"coffee", one, "null", false},
		"tokens":               {"beans", one, usdc("the-mint", Address(), 13_500_000), true},
		"too few tokens":       {"beans", one, usdc("the-mint", Address(), 13_499_999), false},
		"other tokens":         {"beans", one, usdc("another-mint", Address(), 13_500_000), false},
		"somebody else's":      {"beans", one, usdc("the-mint", "somebody", 13_500_000), false},
		"SOL instead of USDC":  {"beans", one, sol(100, 90_000_000_000), false},
		"the second of two is": {"coffee", `[{"signature":"none","err":null},{"signature":"a","err":null}]`, sol(0, 50_000_000), true},
	} {
		n := &node{signatures: c.signatures, transaction: map[string]string{"a": c.transaction, "none": "null"}}
		s := opened(t, n)
		o, err := s.Order(c.item)
		if err != nil {
			t.Fatal(err)
		}
		if paid, err := s.Paid(t.Context(), o.Reference); paid != c.paid || err != nil {
			t.Errorf("%s: %v %v", name, paid, err)
		}
		if len(n.asked) != 1 || n.asked[0] != o.Reference {
			t.Errorf("%s: asked about %q", name, n.asked)
		}
	}
}

func TestAnUnsureNodeIsNoAnswer(t *testing.T) {
	s := opened(t, &node{})
	o, err := s.Order("coffee")
	if err != nil {
		t.Fatal(err)
	}
	if paid, err := s.Paid(t.Context(), o.Reference); paid || err == nil || !strings.Contains(err.Error(), "Node is behind") {
		t.Errorf("%v %v", paid, err)
	}
	if _, err := s.Paid(t.Context(), "unknown"); !errors.Is(err, ErrUnknown) {
		t.Errorf("an unknown order: %v", err)
	}
}

func TestOldOrdersAreForgotten(t *testing.T) {
	s := opened(t, &node{signatures: `[]`})
	first, err := s.Order("coffee")
	if err != nil {
		t.Fatal(err)
	}
	for range maxOrders {
		if _, err := s.Order("coffee"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Paid(t.Context(), first.Reference); !errors.Is(err, ErrUnknown) {
		t.Errorf("the first order is still known: %v", err)
	}
	if len(s.orders) != maxOrders || len(s.oldest) != maxOrders {
		t.Errorf("%d orders, %d in line", len(s.orders), len(s.oldest))
	}
}
