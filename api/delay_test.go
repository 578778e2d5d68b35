package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// delayedPath is the path of a transaction that an answer proposed.
func delayedPath(a answer) string {
	return "/v1/wallet/transactions/" + a.text("data", "transaction_id")
}

// delayedProgram is a program that holds the key of a wallet of Alice's, where a payment to a new recipient waits for a day.
func (r *harness) delayedProgram() program {
	r.Helper()
	p := r.program(r.alice.secret)
	p.connects()
	p.answered()
	r.Fund(p.address(), 20*sol)
	r.limitsOf(r.alice, p.address(), wallet.Policy{NewRecipientWait: 24 * time.Hour})
	return p
}

// TestADelayedPaymentOverTheAPI: what a program sees of a payment that its owner confirmed and that waits.
func TestADelayedPaymentOverTheAPI(t *testing.T) {
	r := newHarness(t)
	r.Delayed(24 * time.Hour)
	sent := r.send(r.alice.secret, r.sendBody())
	r.want(sent, 202, "", "")
	if sent.text("data", "status") != "awaiting_confirmation" || !strings.Contains(string(sent.body), `"delay_ends_at":null`) {
		t.Fatalf("got %s", sent.body)
	}
	path, id := delayedPath(sent), wallet.TransactionID(sent.text("data", "transaction_id"))
	if _, err := r.Confirm(r.alice.Caller(), id); err != nil {
		t.Fatal(err)
	}
	got := r.get(path, r.alice.secret)
	r.want(got, 200, "", "")
	if got.text("data", "status") != "delayed" || got.text("data", "delay_ends_at") != "2026-11-22T12:00:00.000Z" || got.text("data", "expires_at") != "" {
		t.Errorf("got %s", got.body)
	}
	p := program{r, r.alice.secret, r.alice.Key}
	r.want(p.post(path+"/refresh", ""), 409, wallet.Conflict, "waits")
	r.want(p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign([]byte("x")))), 409, wallet.Conflict, "waits")
	for query, found := range map[string]bool{"delayed": true, "awaiting_signature": false} {
		list := r.get("/v1/wallet/transactions?source=purser&status="+query, r.alice.secret)
		if r.want(list, 200, "", ""); strings.Contains(string(list.body), string(id)) != found {
			t.Errorf("%s: %s", query, list.body)
		}
	}
	other := program{r, r.bob.secret, r.bob.Key}
	r.want(other.post(path+"/reject", ""), 404, wallet.TransactionNotFound, "")
	if got := p.post(path+"/reject", ""); got.status != 200 || got.text("data", "status") != "rejected" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := r.get(path, r.alice.secret); got.text("data", "status") != "rejected" || !strings.Contains(string(got.body), `"delay_ends_at":null`) {
		t.Errorf("got %s", got.body)
	}
}

// TestAProgramsPaymentIsDelayedAtOnce: its owner is told and can cancel it, and the program signs after the delay.
func TestAProgramsPaymentIsDelayedAtOnce(t *testing.T) {
	r := newHarness(t)
	p := r.delayedProgram()
	sent := p.sends()
	r.want(sent, 202, "", "")
	if !strings.Contains(string(sent.body), "The owner can cancel it until then.") || sent.text("data", "status") != "delayed" || sent.text("data", "delay_ends_at") != "2026-11-22T12:00:00.000Z" || sent.text("data", "expires_at") != "" || !strings.Contains(string(sent.body), `"unsigned_transaction":null`) {
		t.Fatalf("got %s", sent.body)
	}
	path, id := delayedPath(sent), wallet.TransactionID(sent.text("data", "transaction_id"))
	r.want(p.post(path+"/refresh", ""), 409, wallet.Conflict, "waits")
	if waits := r.Transaction(id); len(waits.IssuedBlockhashes) > 0 || waits.SignID != "" {
		t.Errorf("it can be signed already: %v, link %q", waits.IssuedBlockhashes, waits.SignID)
	}
	// Its owner is told at once.
	events := r.Events(id)
	if len(events) != 1 || events[0] != wallet.TransactionDelayed {
		t.Errorf("announced %v", events)
	}
	r.Must(r.Update(func(tx store.Tx) error { return r.notify(tx, r.alice, wallet.TransactionDelayed, id, struct{}{}) }))
	said := r.replies(r.alice.TelegramID)
	if len(said) == 0 {
		t.Fatal("the owner was told nothing")
	}
	card := said[len(said)-1]
	if !strings.Contains(card.Text, "Your program asked for this payment") || !strings.Contains(card.Text, "Waits until") || len(card.Buttons) != 1 || len(card.Buttons[0]) != 1 {
		t.Errorf("the owner was told %+v", card)
	}
	// It counts as a question, so a leaked key cannot flood the chat.
	refused := answer{}
	for range 8 {
		if refused = p.sends(); refused.status != 202 {
			break
		}
	}
	r.want(refused, 429, wallet.RateLimitExceeded, "")
	// After the delay the program signs, with a blockhash of that time.
	r.Pass(24 * time.Hour)
	r.Look()
	got := r.get(path, p.secret)
	if got.text("data", "status") != "awaiting_signature" || got.text("data", "expires_at") != "2026-11-23T00:00:00.000Z" || !strings.Contains(string(got.body), `"delay_ends_at":null`) {
		t.Fatalf("got %s", got.body)
	}
	refreshed := p.post(path+"/refresh", "")
	r.want(refreshed, 200, "", "")
	signed := p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign(p.unsignedMessage(refreshed))))
	if signed.status != 200 || signed.text("data", "status") != "signed" {
		t.Fatalf("got %d %s", signed.status, signed.body)
	}
	if paid := r.Settled(id); paid.Status != wallet.Confirmed {
		t.Errorf("it ended as %s", paid.Status)
	}
}

// TestNobodyIsDelayedWhoCannotCancel: the owner blocked the bot, or there is none.
func TestNobodyIsDelayedWhoCannotCancel(t *testing.T) {
	r := newHarness(t)
	p := r.delayedProgram()
	r.Must(r.Update(func(tx store.Tx) error {
		alice, err := tx.User(r.alice.User.ID)
		if err != nil {
			return err
		}
		alice.Unreachable = true
		return tx.PutUser(alice)
	}))
	r.want(p.sends(), 403, wallet.BotBlocked, "")
	ownerless := r.program(r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier}))
	ownerless.connects()
	r.Fund(ownerless.address(), 3*sol)
	ownerless.paysOnce()
}

// TestAnAppLearnsNoDelay: an app of somebody else sees that a payment waits, and neither how long nor why. The owner's key sees the time.
func TestAnAppLearnsNoDelay(t *testing.T) {
	r := newHarness(t)
	shop := r.app()
	r.allows(r.alice, shop)
	r.limits(r.alice, wallet.Policy{NewRecipientWait: 24 * time.Hour})
	sent := r.send(shop.secret, r.sendBody())
	r.want(sent, 202, "", "")
	path, id := delayedPath(sent), wallet.TransactionID(sent.text("data", "transaction_id"))
	if _, err := r.Confirm(r.alice.Caller(), id); err != nil {
		t.Fatal(err)
	}
	end := wallet.Timestamp(r.Now().Add(24 * time.Hour))
	for _, at := range []string{path, "/v1/wallet/transactions?source=purser&address=" + r.alice.Address().String()} {
		if own := r.get(at, r.alice.secret); !strings.Contains(string(own.body), `"status":"delayed"`) || !strings.Contains(string(own.body), `"delay_ends_at":"`+end) {
			t.Errorf("the owner sees %s", own.body)
		}
		app := r.get(at, shop.secret)
		r.want(app, 200, "", "")
		if body := string(app.body); !strings.Contains(body, `"status":"delayed"`) || !strings.Contains(body, `"delay_ends_at":null`) || strings.Contains(body, end) || strings.Contains(body, string(wallet.RuleLimitNewRecipient)) {
			t.Errorf("the app sees %s", body)
		}
	}
	// Its webhooks get nothing about it.
	for _, name := range r.Events(id) {
		if !strings.HasPrefix(string(name), "internal.") {
			t.Errorf("apps get %s", name)
		}
	}
}
