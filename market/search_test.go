package market

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"purser/wallet"
)

const beanMint, dipMint = "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263", "EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm"

// matchText is a match in one line.
func matchText(m wallet.TokenMatch) string {
	text := fmt.Sprintf("%s %q %q %d", m.Mint.Tail(), m.Symbol, m.Name, m.Decimals)
	if m.Mint.IsZero() {
		text = fmt.Sprintf("SOL %q %q %d", m.Symbol, m.Name, m.Decimals)
	}
	if m.Verified {
		text += " verified"
	}
	if m.Suspect {
		text += " suspect"
	}
	if m.Program == wallet.TokenProgram {
		text += " token program"
	}
	return fmt.Sprintf("%s holders %d liquidity %s", text, m.Holders, m.Liquidity)
}

// TestFoundTokensAreRead in every form that has been seen and in others that may come: one that cannot be read hides no other.
func TestFoundTokensAreRead(t *testing.T) {
	bean := func(change ...string) string {
		return strings.NewReplacer(change...).Replace(`{"id":"` + beanMint + `","name":"Bonk","symbol":"BONK","icon":null,"decimals":5,"tokenProgram":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","holderCount":981123,"audit":{"topHoldersPercentage":30.1},"isVerified":true,"liquidity":4312993.59,"tags":["verified"]}`)
	}
	const want = `1pPB263 "BONK" "Bonk" 5 verified token program holders 981123 liquidity 4312993.59`
	tail := wallet.MustAddress(beanMint).Tail()
	full := tail + strings.TrimPrefix(want, "1pPB263")
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		body string
		want []string
	}{
		"as documented":           {"[" + bean() + "]", []string{full}},
		"numbers as strings":      {"[" + bean(`:5,`, `:"5",`, "981123", `"981123"`, "4312993.59", `"4312993.59"`) + "]", []string{full}},
		"other types":             {`[5,null,"x",[],{},{"audit":7},` + bean() + "]", []string{full}},
		"nulls":                   {"[" + bean("981123", "null", "4312993.59", "null", `"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"`, "null", "true", "null", `{"topHoldersPercentage":30.1}`, "null") + "]", []string{tail + ` "BONK" "Bonk" 5 holders 0 liquidity `}},
		"missing fields":          {`[{"id":"` + beanMint + `","symbol":"B","decimals":0}]`, []string{tail + ` "B" "" 0 holders 0 liquidity `}},
		"suspect":                 {"[" + bean(`"topHoldersPercentage"`, `"isSus":true,"x"`) + "]", []string{strings.Replace(full, "verified", "verified suspect", 1)}},
		"no mint":                 {"[" + bean(beanMint, "x") + "," + bean() + "]", []string{full}},
		"the zero mint":           {"[" + bean(beanMint, "11111111111111111111111111111111") + "]", nil},
		"no decimals":             {"[" + bean(`:5,`, `:null,`) + "]", nil},
		"decimals beyond a byte":  {"[" + bean(`:5,`, `:256,`) + "]", nil},
		"negative decimals":       {"[" + bean(`:5,`, `:-1,`) + "]", nil},
		"decimals with a part":    {"[" + bean(`:5,`, `:5.5,`) + "]", nil},
		"a symbol of nothing":     {"[" + bean(`"BONK"`, `"\u200b\u202e"`) + "]", nil},
		"a symbol with a link":    {"[" + bean(`"BONK"`, `"<a href='https://x.com'>USDC</a>"`) + "]", []string{strings.Replace(full, `"BONK"`, `"a href=httpsx"`, 1)}},
		"a name that turns text":  {"[" + bean(`"Bonk"`, `"Bo\u202enk\nfree  coins t.me/x"`) + "]", []string{strings.Replace(full, `"Bonk"`, `"Bonkfree coins tmex"`, 1)}},
		"a name of a thousand":    {"[" + bean(`"Bonk"`, `"`+long+`"`) + "]", []string{strings.Replace(full, `"Bonk"`, `"`+long[:wallet.MaxTokenText]+`"`, 1)}},
		"liquidity below nothing": {"[" + bean("4312993.59", "-5") + "]", []string{strings.Replace(full, "4312993.59", "", 1)}},
		"absurd liquidity":        {"[" + bean("4312993.59", "1e300") + "]", []string{strings.Replace(full, "4312993.59", "", 1)}},
		"holders below nothing":   {"[" + bean("981123", "-5") + "]", []string{strings.Replace(full, "981123", "0", 1)}},
		"wrapped SOL":             {"[" + bean(beanMint, wallet.WrappedSOL.String(), "BONK", "WSOL", ":5,", ":9,") + "]", []string{`SOL "SOL" "Bonk" 9 verified holders 981123 liquidity 4312993.59`}},
		"nothing":                 {"[]", nil},
		"null":                    {"null", nil},
	} {
		s := newStandIn(t)
		s.says(c.body)
		found, err := NewJupiter(s.options()).Search(t.Context(), "bonk")
		var got []string
		for _, m := range found {
			if m.Source != "jupiter" || !m.At.Equal(s.at) || m.Listed {
				t.Errorf("%s: %+v", name, m)
			}
			got = append(got, matchText(m))
		}
		if name == "a symbol with a link" { // how the link is broken is not the point: no sign of it is left
			if len(got) != 1 || strings.ContainsAny(found[0].Symbol, "<>'\"/.:") {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, c.want)
		}
	}
	s := newStandIn(t)
	s.says("[" + strings.Repeat(bean()+",", 999) + bean() + "]")
	if found, err := NewJupiter(s.options()).Search(t.Context(), "bonk"); err != nil || len(found) != maxMatches {
		t.Errorf("of a thousand: %d, %v", len(found), err)
	}
}

// TestASearchIsAskedForAsDocumented, with the budget of people.
func TestASearchIsAskedForAsDocumented(t *testing.T) {
	s := newStandIn(t)
	var asked string
	s.answer = func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, "[]")
	}
	jupiter := NewJupiter(s.options())
	if _, err := jupiter.Search(t.Context(), "a&b=c/../?"); err != nil || asked != "/tokens/v2/search?query=a%26b%3Dc%2F..%2F%3F" {
		t.Errorf("asked %q, %v", asked, err)
	}
	for name, answer := range map[string]func(w http.ResponseWriter){
		"HTML":      func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html"); fmt.Fprint(w, "<html>") },
		"an object": func(w http.ResponseWriter) { w.Header().Set("Content-Type", "application/json"); fmt.Fprint(w, "{}") },
		"400":       func(w http.ResponseWriter) { w.WriteHeader(400) },
	} {
		s := newStandIn(t)
		s.answer = func(w http.ResponseWriter, _ *http.Request) { answer(w) }
		var failed *UnavailableError
		if _, err := NewJupiter(s.options()).Search(t.Context(), "x"); !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
