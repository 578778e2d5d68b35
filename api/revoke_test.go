package api

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestARevocationIsReadByPrograms: as an entry of its own type, in lists, by the filter and by its id, with its terms. The answers
// are held against openapi.json.
func TestARevocationIsReadByPrograms(t *testing.T) {
	r := newHarness(t)
	alice, thief := r.alice, r.Somebody(666, "Mallory")
	r.FundToken(alice.Address(), "USDC", 5_000_000)
	usdc := r.TokenOf("USDC")
	account := r.Approve(alice.Person, usdc, thief.Address(), 3)
	p, err := r.Revokes.Prepare(context.Background(), alice.Caller(), handlers.RevokeRequest{Account: account})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Revokes.Commit(tx, p) }))
	confirmed, err := r.Confirm(alice.Caller(), p.Transaction.ID)
	r.Must(err)
	_, err = r.HandIn(alice.Person, confirmed.SignID, r.Issue(confirmed.SignID))
	r.Must(err)
	if done := r.Settled(confirmed.ID); done.Status != wallet.Confirmed {
		t.Fatalf("it ended as %s", done.Status)
	}
	address := url.QueryEscape(alice.Address().String())
	list := r.get("/v1/wallet/transactions?type=revoke&address="+address, alice.secret)
	r.want(list, 200, "", "")
	if strings.Count(string(list.body), string(confirmed.ID)) != 1 || strings.Count(string(list.body), `"type":`) != 1 {
		t.Errorf("the filter finds %s", list.body)
	}
	if all := r.get("/v1/wallet/transactions?type=send&address="+address, alice.secret); strings.Contains(string(all.body), string(confirmed.ID)) {
		t.Errorf("sends are %s", all.body)
	}
	record := r.get("/v1/wallet/transactions/"+string(confirmed.ID), alice.secret)
	r.want(record, 200, "", "")
	for name, want := range map[string]string{"type": "revoke", "status": "confirmed", "amount": "0", "fee": "0.000005", "recipient": alice.Address().String()} {
		if got := record.text("data", name); got != want {
			t.Errorf("its %s is %q, not %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"schema": "revoke/1", "account": account.String(), "delegate": thief.Address().String(), "limit": "3"} {
		if got := record.text("data", "terms", name); got != want {
			t.Errorf("of its terms %s is %q, not %q", name, got, want)
		}
	}
}
