package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

func (r *harness) requests(secret, fields string) answer {
	return r.do("POST", "/v1/wallet/request", "{"+fields+"}", "Authorization", "Bearer "+secret, "Content-Type", "application/json")
}

// TestAProgramRequestsAPayment: by a link that any wallet reads, with what its owner is told of it once it is paid.
func TestAProgramRequestsAPayment(t *testing.T) {
	r := newHarness(t)
	own := fmt.Sprintf(`"address":%q`, r.alice.Address())
	for fields, says := range map[string]string{
		`"amount":"1","token":"SOL"`:                        "address is missing",
		own + `,"amount":"0","token":"SOL"`:                 "more than zero",
		own + `,"amount":"max","token":"SOL"`:               "amount: ",
		own + `,"amount":1,"token":"SOL","memo":"a\nb"`:     "memo: ",
		own + `,"amount":1,"token":"SOL","label":"\u202ea"`: "label: ",
		own + `,"amount":1,"token":"SOL","from":"x"`:        "from isn't known",
	} {
		r.want(r.requests(r.alice.secret, fields), 400, wallet.InvalidRequest, says)
	}
	r.want(r.requests(r.alice.secret, fmt.Sprintf(`"address":%q,"amount":1,"token":"SOL"`, r.bob.Address())), 404, wallet.WalletNotFound, "")
	r.want(r.requests(r.alice.secret, `"address":"11111111111111111111111111111111","amount":1,"token":"SOL"`), 404, wallet.WalletNotFound, "")
	r.want(r.requests(r.alice.secret, own+`,"amount":1,"token":"NOSUCH"`), 404, wallet.TokenNotFound, "")

	a := r.requests(r.alice.secret, own+`,"amount":1.5,"token":"SOL","memo":"Order 7","label":"Café & co"`)
	r.want(a, 201, "", "")
	id, reference := wallet.TransactionID(a.text("data", "transaction_id")), a.text("data", "reference")
	one := r.get("/v1/wallet/transactions/"+a.text("data", "transaction_id"), r.alice.secret)
	if until := one.text("data", "expires_at"); until == "" || until != a.text("data", "expires_at") {
		t.Errorf("read again it expires at %q, made it said %q", until, a.text("data", "expires_at"))
	}
	link, err := wallet.ParsePayLink(a.text("data", "url"))
	if err != nil || link.To != r.alice.Address() || link.Amount.String() != "1.5" || link.Memo != "Order 7" || link.Label != "Café & co" ||
		len(link.References) != 1 || link.References[0].String() != reference {
		t.Fatalf("the link is read as %+v, %v", link, err)
	}
	if a.text("data", "status") != "requested" || a.text("data", "expires_at") != wallet.Timestamp(r.Now().Add(time.Hour)) {
		t.Errorf("answered %s", a.body)
	}
	r.Fund(r.bob.Address(), 5_000_000_000)
	r.SendBehind(r.bob.Person, wallet.Transaction{From: r.bob.Address(), To: link.To, Reference: link.References[0], Memo: link.Memo, Amount: 1_500_000_000})
	r.Blocks(40)
	r.Look()
	if got := r.Transaction(id); got.Status != wallet.Received || !got.Closed {
		t.Errorf("the request is %s", got.Status)
	}
	for range 5 {
		r.want(r.requests(r.alice.secret, own+`,"amount":1,"token":"SOL"`), 201, "", "")
	}
	r.want(r.requests(r.alice.secret, own+`,"amount":1,"token":"SOL"`), 429, wallet.RateLimitExceeded, "")
}

// TestAnOperatorsKeyRequestsPaymentsToItsOwnWallet: nobody is behind it who could be told in a chat; its programs are.
func TestAnOperatorsKeyRequestsPaymentsToItsOwnWallet(t *testing.T) {
	r := newHarness(t)
	secret := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	key, err := r.Keys.Check(context.Background(), r.Now(), secret, "")
	r.Must(err)
	shop := r.Stranger()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: shop, Type: wallet.DeveloperWallet, KeyLineage: key.Lineage(), ConnectedAt: r.Now()})
	}))
	fields := fmt.Sprintf(`"address":%q,"amount":"0.5","token":"SOL"`, shop)
	a := r.requests(secret, fields)
	r.want(a, 201, "", "")
	reference, err := wallet.ParseAddress(a.text("data", "reference"))
	r.Must(err)
	r.Fund(r.bob.Address(), 5_000_000_000)
	r.SendBehind(r.bob.Person, wallet.Transaction{From: r.bob.Address(), To: shop, Reference: reference, Amount: 500_000_000})
	r.Blocks(40)
	r.Look()
	if got := r.Transaction(wallet.TransactionID(a.text("data", "transaction_id"))); got.Status != wallet.Received {
		t.Errorf("the request is %s", got.Status)
	}
	told := 0
	r.View(func(tx store.Tx) error {
		all, err := tx.PendingEvents(1000)
		for _, event := range all {
			if event.Name == wallet.TransactionReceived && event.User == "" && strings.Contains(string(event.Data), shop.String()) {
				told++
			}
		}
		return err
	})
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	for range 5 {
		r.want(r.requests(secret, fields), 201, "", "")
	}
	r.want(r.requests(secret, fields), 429, wallet.RateLimitExceeded, "")
	// Another wallet is another till.
	other := r.Stranger()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: other, Type: wallet.DeveloperWallet, KeyLineage: key.Lineage(), ConnectedAt: r.Now()})
	}))
	r.want(r.requests(secret, strings.ReplaceAll(fields, shop.String(), other.String())), 201, "", "")
}
