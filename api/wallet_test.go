package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

func TestBalanceOfAWallet(t *testing.T) {
	r := newHarness(t)
	a := r.get("/v1/wallet/balance?address="+r.bob.Address().String(), r.alice.secret)
	wantEnvelope(t, a)
	want := fmt.Sprintf(`{"success":true,"data":{"address":"%s","balances":{"SOL":{"amount":"1","reserved":"0","usd_value":"","mint":"","decimals":9}},"total_usd_value":"","updated_at":"2026-11-21T12:00:00.000Z"},"message":"Balance read.","timestamp":"2026-11-21T12:00:00.000Z"}`, r.bob.Address())
	if a.status != 200 || string(a.body) != want {
		t.Errorf("%d %s\nwant %s", a.status, a.body, want)
	}
	poor := r.person(1003, 0)
	if a := r.get("/v1/wallet/balance?address="+poor.Address().String(), poor.secret); a.text("data", "balances", "SOL", "amount") != "0" {
		t.Errorf("a wallet of ours without funds: %d %s", a.status, a.body)
	}
}

func TestBalanceOfNobody(t *testing.T) {
	r := newHarness(t)
	for query, want := range map[string]struct {
		status int
		code   wallet.Code
		says   string
	}{
		"?address=9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin": {404, wallet.WalletNotFound, ""},
		"":                                      {400, wallet.InvalidRequest, "address is missing"},
		"?address=":                             {400, wallet.InvalidRequest, "address"},
		"?Address=x":                            {400, wallet.InvalidRequest, "Address"},
		"?address=x":                            {400, wallet.InvalidRequest, "address:"},
		"?address=0OIl":                         {400, wallet.InvalidRequest, "address:"},
		"?address=a&address=b":                  {400, wallet.InvalidRequest, "twice"},
		"?address=%00":                          {400, wallet.InvalidRequest, "address:"},
		"?address=%zz%":                         {400, wallet.InvalidRequest, "address:"},
		"?address=" + strings.Repeat("1", 3000): {400, wallet.InvalidRequest, "address:"},
	} {
		r.want(r.get("/v1/wallet/balance"+query, r.alice.secret), want.status, want.code, want.says)
	}
}

// TestTheZeroAddressIsNobodys: inside it means "none"; outside it is the System program's.
func TestTheZeroAddressIsNobodys(t *testing.T) {
	r := newHarness(t)
	zero := wallet.SystemProgram.String()
	if a := r.get("/v1/wallet/balance?address="+zero, r.alice.secret); a.status != 200 || a.text("data", "address") != zero {
		t.Errorf("its balance: %d %s", a.status, a.body)
	}
	r.send(r.alice.secret, r.sendBody())
	r.want(r.get("/v1/wallet/transactions?address="+zero, r.alice.secret), 404, wallet.WalletNotFound, "")
	p := program{r, r.alice.secret, nil}
	r.want(p.post("/v1/wallet/connect/challenge", `{"address":"`+zero+`"}`), 400, wallet.InvalidRequest, "address: that is the System program")
}

func TestASendAsksItsOwnerAndMovesNothing(t *testing.T) {
	r := newHarness(t)
	a := r.send(r.alice.secret, r.sendBody())
	wantEnvelope(t, a)
	id := a.text("data", "transaction_id")
	want := fmt.Sprintf(`{"success":true,"data":{"transaction_id":"%s","status":"awaiting_confirmation","recipient":"%s","warnings":["new_recipient"],"expires_at":"2026-11-21T12:05:00.000Z","delay_ends_at":null,"unsigned_transaction":null},"message":"Waiting for the owner to confirm in chat.","timestamp":"2026-11-21T12:00:00.000Z"}`, id, r.bob.Address())
	if a.status != 202 || id == "" || string(a.body) != want {
		t.Fatalf("%d %s\nwant %s", a.status, a.body, want)
	}
	if names := r.Events(wallet.TransactionID(id)); len(names) != 1 || names[0] != wallet.TransactionProposed {
		t.Errorf("events: %v", names)
	}
	a = r.get("/v1/wallet/transactions/"+id, r.alice.secret)
	wantEnvelope(t, a)
	reference := a.text("data", "reference")
	want = fmt.Sprintf(`{"transaction_id":"%s","type":"send","status":"awaiting_confirmation","wallet_address":"%s","recipient":"%s","amount":"1.5","token":"SOL","mint":"","fee":"0.000005","rent":"0","transfer_fee":"0","retry_of":"","memo":"","label":"","terms":null,"signature":"","reference":"%s","created_at":"2026-11-21T12:00:00.000Z","submitted_at":"","confirmed_at":"","block_height":null,"confirmations":null,"error_code":"","error_message":"","warnings":["new_recipient"],"held":false,"expires_at":"2026-11-21T12:05:00.000Z","delay_ends_at":null}`,
		id, r.alice.Address(), r.bob.Address(), reference)
	var data struct{ Data json.RawMessage }
	if check(t, json.Unmarshal(a.body, &data)); string(data.Data) != want || reference == "" {
		t.Errorf("%s\nwant %s", data.Data, want)
	}
}

func (r *harness) transactions() int {
	r.Helper()
	n := 0
	r.View(func(tx store.Tx) error {
		all, err := tx.UnsettledTransactions(wallet.Transaction{}, 1000)
		n = len(all)
		return err
	})
	return n
}

func TestALandedTransactionIsShownWhole(t *testing.T) {
	landing := wallet.Landing{Slot: 9, BlockHeight: 8, Confirmations: 32, Finalized: true}
	at := time.Date(2026, 11, 21, 12, 0, 1, 0, time.UTC)
	d := (&Server{}).recordOf(wallet.Key{}, wallet.Transaction{ID: "tx_1", Kind: wallet.Receive, Status: wallet.Received, From: wallet.Address{1}, To: wallet.Address{2},
		Token: wallet.SOL, Amount: 5, Landing: &landing, SubmittedAt: at, ConfirmedAt: at, Deadline: at}, wallet.ReceiveRules())
	if *d.BlockHeight != 8 || *d.Confirmations != 32 || d.ConfirmedAt != "2026-11-21T12:00:01.000Z" || d.ExpiresAt != "" ||
		d.WalletAddress != (wallet.Address{2}) || d.Amount != "0.000000005" {
		t.Errorf("%+v", d)
	}
}

func TestWhoMayReadATransaction(t *testing.T) {
	r := newHarness(t)
	id := r.send(r.alice.secret, r.sendBody()).text("data", "transaction_id")
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	if a := r.get("/v1/wallet/transactions/"+id, operator); a.status != 200 {
		t.Errorf("the operator: %d %s", a.status, a.body)
	}
	r.want(r.get("/v1/wallet/transactions/"+id, r.bob.secret), 404, wallet.TransactionNotFound, "")
	for _, id := range []string{"nope", "tx_%2e%2e", "%00", "..", strings.Repeat("x", 3000)} {
		a := r.get("/v1/wallet/transactions/"+id, r.alice.secret)
		wantEnvelope(t, a)
		if a.status != 404 {
			t.Errorf("%.20q: %d %s", id, a.status, a.body)
		}
		if a := r.get("/v1/wallet/transactions/"+id, operator); a.status != 404 {
			t.Errorf("%.20q by the operator: %d %s", id, a.status, a.body)
		}
	}
}

func TestAnOperatorsKeySendsForNobody(t *testing.T) {
	r := newHarness(t)
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.want(r.send(operator, r.sendBody()), 404, wallet.WalletNotFound, "")
	r.want(r.send(r.bob.secret, r.sendBody()), 404, wallet.WalletNotFound, "")
}

// hostileBodies are sends that must be refused, each saying why.
func hostileBodies(r *harness) []struct {
	name, body string
	status     int
	code       wallet.Code
	says       string
} {
	amount := func(raw string) string { return r.sendBody("amount", raw) }
	return []struct {
		name, body string
		status     int
		code       wallet.Code
		says       string
	}{
		{"nothing", ``, 400, wallet.InvalidRequest, "one JSON object"},
		{"blank", `   `, 400, wallet.InvalidRequest, "one JSON object"},
		{"null", `null`, 400, wallet.InvalidRequest, "one JSON object"},
		{"array", `[]`, 400, wallet.InvalidRequest, "one JSON object"},
		{"string", `"x"`, 400, wallet.InvalidRequest, "one JSON object"},
		{"number", `1`, 400, wallet.InvalidRequest, "one JSON object"},
		{"cut short", r.sendBody()[:20], 400, wallet.InvalidRequest, "one JSON object"},
		{"cut after brace", `{`, 400, wallet.InvalidRequest, "one JSON object"},
		{"trailing text", r.sendBody() + `x`, 400, wallet.InvalidRequest, "one JSON object"},
		{"trailing object", r.sendBody() + r.sendBody(), 400, wallet.InvalidRequest, "one JSON object"},
		{"comment", `{/**/}`, 400, wallet.InvalidRequest, "one JSON object"},
		{"byte order mark", "\ufeff" + r.sendBody(), 400, wallet.InvalidRequest, "one JSON object"},
		{"NUL byte", r.sendBody() + "\x00", 400, wallet.InvalidRequest, "one JSON object"},
		{"raw NUL in a string", r.sendBody("token", "\"S\x00L\""), 400, wallet.InvalidRequest, "one JSON object"},
		{"broken UTF-8", r.sendBody("token", "\"\xff\""), 400, wallet.InvalidRequest, "UTF-8"},
		{"deep arrays", strings.Repeat("[", 30000), 400, wallet.InvalidRequest, "one JSON object"},
		{"deep in a field", `{"from":` + strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}`, 400, wallet.InvalidRequest, ""},
		{"deep objects", strings.Repeat(`{"a":`, 10000), 400, wallet.InvalidRequest, "one JSON object"},
		{"single quotes", `{'from':1}`, 400, wallet.InvalidRequest, "one JSON object"},
		{"empty object", `{}`, 400, wallet.InvalidRequest, "from is missing"},
		{"names in capitals", `{"FROM":"x"}`, 400, wallet.InvalidRequest, "FROM isn't known"},
		{"field twice", `{"from":"a","from":"b"}`, 400, wallet.InvalidRequest, "from is given twice"},
		{"field twice by escape", `{"from":"a","fr\u006fm":"b"}`, 400, wallet.InvalidRequest, "from is given twice"},
		{"strange field twice", `{"<b>":1,"<b>":2}`, 400, wallet.InvalidRequest, "a name that isn't known"},
		{"a field without a name", `{"":1}`, 400, wallet.InvalidRequest, "a name that isn't known"},
		{"no to", r.sendBody("to", ""), 400, wallet.InvalidRequest, "to is missing"},
		{"no amount", amount(""), 400, wallet.InvalidRequest, "amount is missing"},
		{"no token", r.sendBody("token", ""), 400, wallet.InvalidRequest, "token is missing"},
		{"null from", r.sendBody("from", "null"), 400, wallet.InvalidRequest, "from must be a string"},
		{"number from", r.sendBody("from", "1"), 400, wallet.InvalidRequest, "from must be a string"},
		{"object to", r.sendBody("to", "{}"), 400, wallet.InvalidRequest, "to must be a string"},
		{"empty from", r.sendBody("from", `""`), 400, wallet.InvalidRequest, "from must not be empty"},
		{"short from", r.sendBody("from", `"abc"`), 400, wallet.InvalidRequest, "from: that isn't a Solana address"},
		{"system from", r.sendBody("from", `"11111111111111111111111111111111"`), 404, wallet.WalletNotFound, "from"},
		{"long to", r.sendBody("to", `"`+strings.Repeat("1", 20000)+`"`), 400, wallet.InvalidRequest, "to:"},
		{"to with NUL", r.sendBody("to", `"\u0000`+r.bob.Address().String()+`"`), 400, wallet.InvalidRequest, "to:"},
		{"half a surrogate", r.sendBody("to", `"\ud800"`), 400, wallet.InvalidRequest, "to:"},
		{"system to", r.sendBody("to", `"11111111111111111111111111111111"`), 400, wallet.InvalidRequest, "System program"},
		{"own to", r.sendBody("to", `"`+r.alice.Address().String()+`"`), 400, wallet.InvalidRequest, "own address"},
		{"null amount", amount(`null`), 400, wallet.InvalidRequest, "amount must be a number"},
		{"true amount", amount(`true`), 400, wallet.InvalidRequest, "amount must be a number"},
		{"array amount", amount(`[1]`), 400, wallet.InvalidRequest, "amount must be a number"},
		{"object amount", amount(`{"v":1}`), 400, wallet.InvalidRequest, "amount must be a number"},
		{"empty amount", amount(`""`), 400, wallet.InvalidRequest, "amount must not be empty"},
		{"zero", amount(`0`), 400, wallet.InvalidRequest, "more than zero"},
		{"zero decimals", amount(`0.000000000`), 400, wallet.InvalidRequest, "more than zero"},
		{"negative", amount(`-1`), 400, wallet.InvalidRequest, "amount: the amount must be more than zero"},
		{"negative text", amount(`"-1"`), 400, wallet.InvalidRequest, "amount: the amount must be more than zero"},
		{"exponent of more than is held", amount(`1e3`), 422, wallet.InsufficientFunds, "you have"},
		{"huge exponent", amount(`1e999999999`), 400, wallet.InvalidRequest, "amount: that amount is larger than any balance"},
		{"huge exponent as text", amount(`"1e99999999999999999999"`), 400, wallet.InvalidRequest, "amount: that amount is larger than any balance"},
		{"tiny exponent", amount(`1e-999999999`), 400, wallet.InvalidRequest, "amount: that amount has more decimals"},
		{"exponent that is not exact", amount(`1.5e-9`), 400, wallet.InvalidRequest, "10 decimals"},
		{"exponent of 10 decimals", amount(`1e-10`), 400, wallet.InvalidRequest, "10 decimals"},
		{"zero with an exponent", amount(`0e5`), 400, wallet.InvalidRequest, "more than zero"},
		{"negative with an exponent", amount(`-1e-7`), 400, wallet.InvalidRequest, "amount: the amount must be more than zero"},
		{"half an exponent", amount(`"1e"`), 400, wallet.InvalidRequest, "amount"},
		{"ten decimals", amount(`0.0000000001`), 400, wallet.InvalidRequest, "10 decimals"},
		{"20 digits", amount(`18446744074000000000`), 400, wallet.InvalidRequest, "larger than any balance"},
		{"19 digits", amount(`"9999999999999999999"`), 400, wallet.InvalidRequest, "larger than any balance"},
		{"10,000 digits", amount(strings.Repeat("9", 10000)), 400, wallet.InvalidRequest, "too long"},
		{"Arabic digits", amount(`"١.٥"`), 400, wallet.InvalidRequest, "amount"},
		{"full-width digits", amount(`"１"`), 400, wallet.InvalidRequest, "amount"},
		{"separator", amount(`"1,5"`), 400, wallet.InvalidRequest, "amount"},
		{"underscore", amount(`"1_000"`), 400, wallet.InvalidRequest, "amount"},
		{"hex", amount(`"0x10"`), 400, wallet.InvalidRequest, "amount"},
		{"NaN", amount(`"NaN"`), 400, wallet.InvalidRequest, "amount"},
		{"bare NaN", amount(`NaN`), 400, wallet.InvalidRequest, "one JSON object"},
		{"leading zero", amount(`01`), 400, wallet.InvalidRequest, "one JSON object"},
		{"plus", amount(`"+1"`), 400, wallet.InvalidRequest, "amount"},
		{"space", amount(`" 1"`), 400, wallet.InvalidRequest, "amount"},
		{"max", amount(`"max"`), 400, wallet.InvalidRequest, "an exact amount"},
		{"Max", amount(`"MAX"`), 400, wallet.InvalidRequest, "an exact amount"},
		{"token of nobody", r.sendBody("token", `"DOGE"`), 404, wallet.TokenNotFound, ""},
		{"long token", r.sendBody("token", `"`+strings.Repeat("S", 10000)+`"`), 404, wallet.TokenNotFound, ""},
		{"control token", r.sendBody("token", `"SOL\u0000"`), 404, wallet.TokenNotFound, ""},
		{"null token", r.sendBody("token", `null`), 400, wallet.InvalidRequest, "token must be a string"},
		{"more than held", amount(`1000`), 422, wallet.InsufficientFunds, "you have"},
		{"more than exists", amount(`18446744073`), 422, wallet.InsufficientFunds, "you have"},
		{"leaves dust", amount(`9.9999`), 422, wallet.InsufficientFunds, "send"},
		{"oversized", r.sendBody("token", `"`+strings.Repeat("S", maxBody)+`"`), 413, wallet.PayloadTooLarge, "65536"},
	}
}

func TestHostileSendsAreAnsweredPlainly(t *testing.T) {
	r := newHarness(t)
	for _, test := range hostileBodies(r) {
		t.Run(test.name, func(t *testing.T) {
			defer r.under(t)()
			r.want(r.send(r.alice.secret, test.body), test.status, test.code, test.says)
		})
	}
	if n := r.transactions(); n != 0 {
		t.Errorf("%d transactions were made", n)
	}
}

func TestAmountsAreExact(t *testing.T) {
	for raw, want := range map[string]string{
		`1.5`: "1.5", `"1.5"`: "1.5", `".5"`: "0.5", `1`: "1", `1.50`: "1.5", `0.123456789`: "0.123456789",
		`8.999999999`: "8.999999999", // a float64 would still hold it; the next would not survive one in lamports
		`"000000001"`: "1",
		`1e-7`:        "0.0000001", `"1E-7"`: "0.0000001", `12.5e-1`: "1.25", `0.15e+1`: "1.5", `1.500000000000`: "1.5",
	} {
		r := newHarness(t) // each its own: only a few proposals may wait at once
		a := r.send(r.alice.secret, r.sendBody("amount", raw))
		got := r.get("/v1/wallet/transactions/"+a.text("data", "transaction_id"), r.alice.secret).text("data", "amount")
		if a.status != 202 || got != want {
			t.Errorf("%s became %q: %d %s", raw, got, a.status, a.body)
		}
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	r := newHarness(t)
	body := `{"tag":{"x":[1,2]},` + r.sendBody()[1:]
	r.want(r.send(r.alice.secret, body), 400, wallet.InvalidRequest, "tag isn't known")
	if n := r.transactions(); n != 0 {
		t.Errorf("%d transactions were made", n)
	}
}

func TestASendCarriesItsNoteAndWhatItIsFor(t *testing.T) {
	r := newHarness(t)
	for field, value := range map[string]string{
		"memo": `""`, "label": `7`, "memo ": `"x"`, "label\u0000": `"x"`,
	} {
		if a := r.send(r.alice.secret, `{"`+field+`":`+value+`,`+r.sendBody()[1:]); a.status != 400 {
			t.Errorf("%s %s: %d %s", field, value, a.status, a.body)
		}
	}
	long := strings.Repeat("m", wallet.MaxMemo+1)
	r.want(r.send(r.alice.secret, `{"memo":"`+long+`",`+r.sendBody()[1:]), 400, wallet.InvalidRequest, "memo: ")
	r.want(r.send(r.alice.secret, `{"memo":"a\u202eb",`+r.sendBody()[1:]), 400, wallet.InvalidRequest, "memo: ")
	r.want(r.send(r.alice.secret, `{"label":"`+long[:wallet.MaxLabel+1]+`",`+r.sendBody()[1:]), 400, wallet.InvalidRequest, "label: ")
	a := r.send(r.alice.secret, `{"memo":"Order 7","label":"Invoice 2026-11",`+r.sendBody()[1:])
	if a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	id := a.text("data", "transaction_id")
	tx := r.Transaction(wallet.TransactionID(id))
	if tx.Memo != "Order 7" || tx.Label != "Invoice 2026-11" {
		t.Errorf("stored as %q, %q", tx.Memo, tx.Label)
	}
	read := r.do("GET", "/v1/wallet/transactions/"+id, "", "Authorization", "Bearer "+r.alice.secret)
	if read.status != 200 || !strings.Contains(string(read.body), `"memo":"Order 7","label":"Invoice 2026-11"`) {
		t.Errorf("read as %d %s", read.status, read.body)
	}
}

func TestContentTypeMustBeJSON(t *testing.T) {
	r := newHarness(t)
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", "application/json; charset=latin1", "application/json;;", "json"} {
		a := r.do("POST", "/v1/wallet/send", r.sendBody(), "Authorization", "Bearer "+r.alice.secret, "Content-Type", kind)
		r.want(a, 400, wallet.InvalidRequest, "")
	}
	for _, kind := range []string{"application/json", "Application/JSON; charset=UTF-8"} {
		a := r.do("POST", "/v1/wallet/send", r.sendBody(), "Authorization", "Bearer "+r.alice.secret, "Content-Type", kind)
		if a.status != 202 {
			t.Errorf("%q: %d %s", kind, a.status, a.body)
		}
	}
	r.want(r.send(r.alice.secret, r.sendBody(), "Content-Encoding", "gzip"), 400, wallet.InvalidRequest, "Content-Encoding")
}

func TestNetworkTroubleIs503(t *testing.T) {
	r := newHarness(t)
	r.Cluster.SetFault(func(string, json.RawMessage) solana.Fault { return solana.Fault{Status: http.StatusServiceUnavailable} })
	r.want(r.send(r.alice.secret, r.sendBody()), 503, wallet.NetworkError, "")
	r.want(r.get("/v1/wallet/balance?address="+r.bob.Address().String(), r.alice.secret), 503, wallet.NetworkError, "")
}
