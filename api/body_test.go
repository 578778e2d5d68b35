package api

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"purser/wallet"
)

// FuzzSendBody holds the reader of bodies against encoding/json: what it accepts is one JSON object,
// and an amount that passes is the very digits that were sent.
func FuzzSendBody(f *testing.F) {
	const address = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"
	for _, seed := range []string{
		`{"from":"` + address + `","to":"` + address + `","amount":1.5,"token":"SOL"}`,
		`{"from":"` + address + `","to":"` + address + `","amount":"1.5","token":"SOL","x":{"y":[1e3]}}`,
		`{}`, ``, `null`, `{"a":1,"a":2}`, `{"amount":1e3}`, `{"amount":-0}`, "{\"\xff\":1}", `{"a":1}x`, `{"\u0061":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, err := parseObject(body)
		if err != nil {
			if wallet.CodeOf(err) != wallet.InvalidRequest || wallet.ReasonOf(err).IsZero() || len(wallet.ReasonOf(err).String()) > 200 {
				t.Errorf("refused with %v", err)
			}
			return
		}
		var plain map[string]json.RawMessage
		if err := json.Unmarshal(body, &plain); err != nil || len(plain) != len(fields) {
			t.Fatalf("accepted %q, which encoding/json reads as %d fields, %v", body, len(plain), err)
		}
		for name, raw := range fields {
			if string(plain[name]) != string(raw) {
				t.Errorf("%q is %s, encoding/json reads %s", name, raw, plain[name])
			}
		}
		req, err := sendRequest(fields)
		if err != nil {
			if code := wallet.CodeOf(err); code != wallet.InvalidRequest && code != wallet.WalletNotFound && code != wallet.TokenNotFound {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if req.From.IsZero() || req.Token.IsZero() || req.Amount.Max || req.Amount.IsZero() {
			t.Errorf("accepted %+v", req)
		}
		var text string
		if json.Unmarshal(fields["amount"], &text) != nil {
			text = string(fields["amount"])
		}
		want, isNumber := new(big.Rat).SetString(text)
		got, stillNumber := new(big.Rat).SetString(req.Amount.String())
		if !isNumber || !stillNumber || want.Cmp(got) != 0 {
			t.Errorf("amount %s became %q", fields["amount"], req.Amount)
		}
	})
}

// TestABodyOfManyFieldsIsRefusedEarly: nothing behind the first field too many is read, and the answer names that field,
// as it does any that is unknown.
func TestABodyOfManyFieldsIsRefusedEarly(t *testing.T) {
	body := func(fields int, rest string) []byte {
		var b strings.Builder
		for i := range fields {
			fmt.Fprintf(&b, `"f%02d":1,`, i)
		}
		return []byte("{" + strings.TrimSuffix(b.String()+rest, ",") + "}")
	}
	if fields, err := parseObject(body(maxFields, "")); err != nil || len(fields) != maxFields {
		t.Errorf("%d fields are read as %d, %v", maxFields, len(fields), err)
	}
	_, err := parseObject(body(maxFields+1, "not JSON any more"))
	if want := fmt.Sprintf("f%d", maxFields); wallet.CodeOf(err) != wallet.InvalidRequest || wallet.FieldOf(err) != wallet.Field(want) || wallet.ReasonOf(err).Key != "body.unknown" {
		t.Errorf("the first of too many is refused with %v, about %q", err, wallet.FieldOf(err))
	}
	if _, err := parseObject(body(maxFields, `"f00":1`)); wallet.ReasonOf(err).Key != "body.repeated" {
		t.Errorf("a repeated field is refused with %v", err)
	}
}
