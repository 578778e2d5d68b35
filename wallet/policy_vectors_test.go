package wallet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// wirePolicy is a policy as the signing page reads it.
type wirePolicy struct {
	Payment      []wireLimit `json:"payment"`
	Day          []wireLimit `json:"day"`
	Recipients   *[]string   `json:"recipients"`
	NewWaitHours int         `json:"new_wait_hours"`
}

type wireLimit struct{ Mint, Units string }

func (w wirePolicy) policy(t *testing.T) Policy {
	t.Helper()
	address := func(text string) Address {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(text, err)
		}
		return a
	}
	limits := func(all []wireLimit) (out []TokenLimit) {
		for _, l := range all {
			limit := TokenLimit{}
			if l.Mint != "SOL" {
				limit.Mint = address(l.Mint)
			}
			units, err := strconv.ParseUint(l.Units, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			limit.Units = units
			out = append(out, limit)
		}
		return out
	}
	p := Policy{Payment: limits(w.Payment), Day: limits(w.Day), NewRecipientWait: time.Duration(w.NewWaitHours) * time.Hour}
	if w.Recipients != nil {
		allowed := []Address{}
		for _, text := range *w.Recipients {
			allowed = append(allowed, address(text))
		}
		p.Recipients = &allowed
	}
	return p
}

// TestPoliciesOfThePage holds the rules against the answers of the signing page's own code (signer/pagetest/policies.mjs).
func TestPoliciesOfThePage(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "signer", "testdata", "policies.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Text struct {
			Host, Origin, Address, Chain, Nonce string
			TelegramID                          string    `json:"telegram_id"`
			IssuedAt                            time.Time `json:"issued_at"`
			ExpiresAt                           time.Time `json:"expires_at"`
		}
		Policies []struct {
			Name           string
			A, B           wirePolicy
			Intersection   wirePolicy
			Equal, Loosens bool
			Set            struct {
				Current wirePolicy
				Pending *wirePolicy
			}
			Text string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	address, err := ParseAddress(file.Text.Address)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseInt(file.Text.TelegramID, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	text := func(p Policy) string {
		return PolicyText(file.Text.Host, file.Text.Origin, address, p, TelegramAccount(id), file.Text.Chain, file.Text.Nonce, file.Text.IssuedAt, file.Text.ExpiresAt)
	}
	now := file.Text.IssuedAt
	for _, v := range file.Policies {
		a, b := v.A.policy(t), v.B.policy(t)
		if got := text(a); got != v.Text {
			t.Errorf("%s: the text is\n%s\nand the page signs\n%s", v.Name, got, v.Text)
		}
		if got, want := text(a.Intersect(b)), text(v.Intersection.policy(t)); got != want {
			t.Errorf("%s: both allow\n%s\nand by the page\n%s", v.Name, got, want)
		}
		if a.Equal(b) != v.Equal || b.Loosens(a) != v.Loosens {
			t.Errorf("%s: equal %t, loosens %t", v.Name, a.Equal(b), b.Loosens(a))
		}
		state := PolicyState{Current: a}.Set(b, now)
		if got, want := text(state.Current), text(v.Set.Current.policy(t)); got != want || (state.Pending == nil) != (v.Set.Pending == nil) {
			t.Errorf("%s: current is\n%s\nand by the page\n%s", v.Name, got, want)
		}
		if state.Pending != nil && v.Set.Pending != nil && text(*state.Pending) != text(v.Set.Pending.policy(t)) {
			t.Errorf("%s: %s waits", v.Name, text(*state.Pending))
		}
	}
	if len(file.Policies) < 50 {
		t.Errorf("only %d vectors", len(file.Policies))
	}
}
