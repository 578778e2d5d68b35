package api

import (
	"fmt"
	"strings"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// rotated is the key in the place of another.
func (r *harness) rotated(secret string) string {
	r.Helper()
	a := r.call("POST", "/v1/key/rotate", secret, "")
	r.want(a, 200, "", "")
	r.secrets = append(r.secrets, a.text("data", "key"))
	return a.text("data", "key")
}

// TestPeopleAreShownTheKeyThatAsked: not the first one of its line, which may be long dead.
func TestPeopleAreShownTheKeyThatAsked(t *testing.T) {
	r := newHarness(t)
	second := r.rotated(r.alice.secret)
	r.want(r.get("/v1/key", second), 200, "", "")
	third := r.rotated(second)
	hint := "…" + third[len(third)-4:] + " (a password"
	shows := func(what string, draw func(store.Tx) error) {
		t.Helper()
		before := len(r.replies(1001))
		r.Must(r.Update(draw))
		for _, said := range r.replies(1001)[before:] {
			if strings.Contains(said.Text, hint) || strings.Contains(said.Text, strings.TrimSuffix(hint, " (a password")+".") {
				return
			}
		}
		t.Errorf("%s does not show the key %s: %+v", what, hint, r.replies(1001)[before:])
	}
	sent := r.send(third, r.sendBody())
	r.want(sent, 202, "", "")
	shows("a proposal", func(tx store.Tx) error {
		proposed, err := tx.Transaction(wallet.TransactionID(sent.text("data", "transaction_id")))
		if err != nil {
			return err
		}
		return r.notify(tx, r.alice, wallet.TransactionProposed, proposed.ID, struct{}{})
	})
	p := r.program(third)
	r.want(p.connects(), 202, "", "")
	shows("the question about a program's wallet", func(tx store.Tx) error { return r.notify(tx, r.alice, wallet.WalletProven, "", struct{}{}) })
	p.answered()

	r.want(r.call("POST", "/v1/wallet/create", third, `{"chat_id":"1001"}`), 202, "", "")
	var wanted wallet.Event
	r.View(func(tx store.Tx) error {
		all, err := tx.PendingEvents(1000)
		wanted = all[len(all)-1]
		return err
	})
	shows("the offer of a link", func(tx store.Tx) error {
		return r.chat.Notify(tx, r.alice.User, wanted)
	})
}

// notify has the chat tell a person of an event, in a transaction of the test's.
func (r *harness) notify(tx store.Tx, who person, name wallet.EventName, about wallet.TransactionID, data any) error {
	r.Helper()
	event, err := wallet.NewEvent("evt_test", name, r.Now(), who.User.ID, data)
	r.Must(err)
	event.Transaction = about
	return r.chat.Notify(tx, who.User, event)
}

// TestWhatAKeyBeganBelongsToItsLine: an operator's key owns its wallets and transactions by its line.
func TestWhatAKeyBeganBelongsToItsLine(t *testing.T) {
	r := newHarness(t)
	first := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	second := r.rotated(first)
	p := r.program(second)
	r.want(p.connects(), 200, "", "")
	r.Fund(p.address(), 3*sol)
	sent := p.sends()
	r.want(sent, 202, "", "")
	stranger := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	third := r.rotated(second)
	path := "/v1/wallet/transactions/" + sent.text("data", "transaction_id")
	r.want(r.call("POST", path+"/reject", stranger, ""), 404, wallet.TransactionNotFound, "")
	r.want(r.call("POST", path+"/reject", third, ""), 200, "", "")
	if got := r.get("/v1/wallets", third); !strings.Contains(string(got.body), p.address().String()) {
		t.Errorf("the successor's wallets: %s", got.body)
	}
	if got := r.get("/v1/wallets", stranger); strings.Contains(string(got.body), p.address().String()) {
		t.Errorf("another key's wallets: %s", got.body)
	}
	again := program{r, third, p.key}
	r.want(again.post("/v1/wallet/send", p.sendBody("from", fmt.Sprintf("%q", p.address()), "amount", "1")), 202, "", "")
}
