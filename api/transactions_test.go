package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// history gives Alice transactions a minute apart: tx_h_01 is the oldest.
func (r *harness) history(n int) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		for i := 1; i <= n; i++ {
			t := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_h_%02d", i)), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true,
				Owner: r.alice.User.ID, From: r.alice.Address(), To: r.bob.Address(), Token: wallet.SOL, Amount: uint64(i),
				CreatedAt: r.Now().Add(time.Duration(i-n) * time.Minute)}
			if i%3 == 0 {
				t.Kind, t.Status, t.From, t.To = wallet.Receive, wallet.Received, r.bob.Address(), r.alice.Address()
			}
			if i%5 == 0 {
				t.Status = wallet.Failed
			}
			if err := tx.CreateTransaction(t); err != nil {
				return err
			}
		}
		return nil
	}))
}

// listed follows the cursors of a query to the end.
func (r *harness) listed(secret string, q url.Values) (ids []string, pages int) {
	r.Helper()
	q.Set("source", "purser")
	for cursor := ""; ; {
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		a := r.get("/v1/wallet/transactions?"+q.Encode(), secret)
		r.want(a, 200, "", "")
		page, _ := a.field("data", "transactions").([]any)
		for _, one := range page {
			ids = append(ids, one.(map[string]any)["transaction_id"].(string))
		}
		pages++
		if cursor = a.text("data", "next_cursor"); cursor == "" || pages > 100 {
			return ids, pages
		}
	}
}

func TestTransactionsAreListedByPagesAndFilters(t *testing.T) {
	r := newHarness(t)
	r.history(30)
	of := func(pick func(i int) bool) (want []string) {
		for i := 30; i >= 1; i-- {
			if pick(i) {
				want = append(want, fmt.Sprintf("tx_h_%02d", i))
			}
		}
		return want
	}
	for name, c := range map[string]struct {
		q    url.Values
		want []string
	}{
		"all":         {url.Values{}, of(func(int) bool { return true })},
		"by sevens":   {url.Values{"limit": {"7"}}, of(func(int) bool { return true })},
		"one by one":  {url.Values{"limit": {"1"}, "status": {"failed"}}, of(func(i int) bool { return i%5 == 0 })},
		"received":    {url.Values{"type": {"receive"}, "limit": {"4"}}, of(func(i int) bool { return i%3 == 0 })},
		"of a wallet": {url.Values{"address": {r.alice.Address().String()}, "limit": {"8"}}, of(func(int) bool { return true })},
		"in a time": {url.Values{"since": {"2026-11-21T11:40:00Z"}, "until": {"2026-11-21T11:50:00Z"}, "limit": {"3"}},
			of(func(i int) bool { return i >= 10 && i < 20 })},
		"of a token":   {url.Values{"token": {"sol"}}, of(func(int) bool { return true })},
		"of another":   {url.Values{"token": {"USDC"}}, nil},
		"before all":   {url.Values{"until": {"2020-01-01T00:00:00Z"}}, nil},
		"after it all": {url.Values{"since": {"2027-01-01T00:00:00+01:00"}}, nil},
	} {
		if got, _ := r.listed(r.alice.secret, c.q); strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	if got, _ := r.listed(r.bob.secret, url.Values{}); len(got) != 0 {
		t.Errorf("Bob sees %v", got)
	}
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	if got, _ := r.listed(operator, url.Values{"address": {r.alice.Address().String()}}); len(got) != 30 {
		t.Errorf("an operator sees %v", got)
	}
	for query, c := range map[string]struct {
		status int
		code   wallet.Code
		says   string
	}{
		"?limit=0":                             {400, wallet.InvalidRequest, "limit"},
		"?limit=101":                           {400, wallet.InvalidRequest, "limit"},
		"?limit=2&limit=3":                     {400, wallet.InvalidRequest, "twice"},
		"?cursor=tx_nobody":                    {400, wallet.InvalidRequest, "cursor"},
		"?cursor=" + strings.Repeat("a", 65):   {400, wallet.InvalidRequest, "cursor"},
		"?status=lost":                         {400, wallet.InvalidRequest, "status"},
		"?type=barter":                         {400, wallet.InvalidRequest, "type"},
		"?since=yesterday":                     {400, wallet.InvalidRequest, "since"},
		"?stat=failed":                         {400, wallet.InvalidRequest, "stat"},
		"?token=NOPE":                          {404, wallet.TokenNotFound, ""},
		"?address=" + r.bob.Address().String(): {404, wallet.WalletNotFound, ""},
		"?address=nonsense":                    {400, wallet.InvalidRequest, "address"},
	} {
		r.want(r.get("/v1/wallet/transactions"+query, r.alice.secret), c.status, c.code, c.says)
	}
	r.want(r.get("/v1/wallet/transactions", operator), 400, wallet.InvalidRequest, "address")
}

// TestAPageCostsWhatItLooksAt: a filter that nothing fits ends in bounded steps, by its cursor.
func TestAPageCostsWhatItLooksAt(t *testing.T) {
	r := newHarness(t)
	r.Must(r.Update(func(tx store.Tx) error {
		for i := range 2500 {
			if err := tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_m_%04d", i)), Kind: wallet.Send, Status: wallet.Failed, Closed: true,
				Owner: r.alice.User.ID, From: r.alice.Address(), CreatedAt: r.Now().Add(time.Duration(i) * time.Second)}); err != nil {
				return err
			}
		}
		return nil
	}))
	got, pages := r.listed(r.alice.secret, url.Values{"status": {"confirmed"}, "limit": {"100"}})
	if len(got) != 0 || pages < 3 || pages > 4 {
		t.Errorf("%d in %d pages", len(got), pages)
	}
}

// TestTransactionsOfTheChainAreListedToo: with the other party, the amount and what changed, by the document; without a
// node, what purser recorded is there, and the answer says that it is not all.
func TestTransactionsOfTheChainAreListedToo(t *testing.T) {
	r := newHarness(t)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: r.alice.User.ID, Name: "Bob", Address: r.bob.Address()})
	}))
	sent := r.Paid(r.alice.Person, r.bob.Address(), "1", "SOL")
	r.SendBehind(r.bob.Person, wallet.Transaction{From: r.bob.Address(), To: r.alice.Address(), Amount: sol / 2, Memo: "thanks", Reference: r.Stranger()})
	r.Blocks(3)
	entries := func(query string) (all []map[string]any) {
		a := r.get("/v1/wallet/transactions"+query, r.alice.secret)
		r.want(a, 200, "", "")
		list, _ := a.field("data", "transactions").([]any)
		for _, one := range list {
			all = append(all, one.(map[string]any))
		}
		return all
	}
	find := func(all []map[string]any, field string, value any) map[string]any {
		for _, one := range all {
			if one[field] == value {
				return one
			}
		}
		t.Fatalf("nothing has %s %v: %v", field, value, all)
		return nil
	}
	all := entries("")
	if len(all) != 3 {
		t.Fatalf("%d are listed: %v", len(all), all)
	}
	own := find(all, "transaction_id", string(sent.ID))
	if own["source"] != "purser" || own["counterparty"] != r.bob.Address().String() || own["counterparty_name"] != "Bob" || own["slot"] != nil || own["amount"] != "1" {
		t.Errorf("purser's own: %v", own)
	}
	in := find(all, "memo", "thanks")
	for field, want := range map[string]any{"transaction_id": "", "source": "chain", "type": "receive", "status": "pending", "wallet_address": r.alice.Address().String(),
		"recipient": r.alice.Address().String(), "counterparty": r.bob.Address().String(), "counterparty_name": "Bob", "amount": "0.5", "token": "SOL", "mint": "",
		"fee": "0", "suspect": "", "error_code": "", "confirmed_at": ""} {
		if in[field] != want {
			t.Errorf("%s is %v, want %v", field, in[field], want)
		}
	}
	if fmt.Sprint(in["changes"]) != "[map[amount:0.5 direction:in mint: token:SOL]]" || in["slot"] == nil || in["created_at"] == "" {
		t.Errorf("what came in: %v", in)
	}
	r.Blocks(40)
	if in = find(entries(""), "memo", "thanks"); in["status"] != "received" || in["confirmed_at"] != in["created_at"] {
		t.Errorf("once it is final: %v", in)
	}
	bobs := r.get("/v1/wallet/transactions?type=send", r.bob.secret)
	list, _ := bobs.field("data", "transactions").([]any)
	if len(list) != 1 {
		t.Fatalf("Bob sent %s", bobs.body)
	}
	out := list[0].(map[string]any)
	if out["recipient"] != r.alice.Address().String() || out["fee"] == "0" || out["status"] != "confirmed" || fmt.Sprint(out["changes"]) != "[map[amount:0.5 direction:out mint: token:SOL]]" ||
		out["counterparty_name"] != "" {
		t.Errorf("Bob's: %v", out)
	}
	r.want(r.get("/v1/wallet/transactions?source=chain", r.alice.secret), 400, wallet.InvalidRequest, "source")

	r.During("getSignaturesForAddress", solana.Fault{Status: 503})
	a := r.get("/v1/wallet/transactions", r.alice.secret)
	r.want(a, 200, "", "")
	if list, _ := a.field("data", "transactions").([]any); len(list) != 1 || a.field("data", "complete") != false {
		t.Errorf("without a node: %s", a.body)
	}
	a = r.get("/v1/wallet/transactions?source=purser", r.alice.secret)
	if list, _ := a.field("data", "transactions").([]any); len(list) != 1 || a.field("data", "complete") != true {
		t.Errorf("purser's own, without a node: %s", a.body)
	}
}
