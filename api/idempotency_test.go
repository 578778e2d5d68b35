package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/sandbox/solana"
	"purser/wallet"
)

func TestTheSameRequestTwiceIsOneTransaction(t *testing.T) {
	r := newHarness(t)
	first := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "order 1")
	r.Pass(23 * time.Hour)
	second := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "order 1")
	if first.status != 202 || second.status != 202 || string(first.body) != string(second.body) {
		t.Errorf("%d %s\n%d %s", first.status, first.body, second.status, second.body)
	}
	if first.header.Get("Idempotency-Replayed") != "" || second.header.Get("Idempotency-Replayed") != "true" {
		t.Error("a replay must say so, and only a replay")
	}
	if n := r.transactions(); n != 1 {
		t.Errorf("%d transactions", n)
	}
	r.Pass(time.Hour)
	if third := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "order 1"); third.status != 202 || string(third.body) == string(first.body) {
		t.Errorf("after 24 h: %d %s", third.status, third.body)
	}
	if n := r.transactions(); n != 2 {
		t.Errorf("%d transactions after 24 h", n)
	}
}

func TestAnotherBodyUnderTheSameKeyIsRefused(t *testing.T) {
	r := newHarness(t)
	r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k")
	r.want(r.send(r.alice.secret, r.sendBody("amount", "2"), "Idempotency-Key", "k"), 422, wallet.IdempotencyConflict, "new Idempotency-Key")
	if n := r.transactions(); n != 1 {
		t.Errorf("%d transactions", n)
	}
}

func TestTheSameHeaderOfAnotherKeyIsAnotherRequest(t *testing.T) {
	r := newHarness(t)
	other := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: r.alice.User.TelegramID})
	first := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k")
	second := r.send(other, r.sendBody(), "Idempotency-Key", "k")
	if second.status != 202 || first.text("data", "transaction_id") == second.text("data", "transaction_id") {
		t.Errorf("%d %s", second.status, second.body)
	}
	// And nobody hears of another's at all.
	r.want(r.send(r.bob.secret, r.sendBody(), "Idempotency-Key", "k"), 404, wallet.WalletNotFound, "")
}

func TestARefusalLeavesTheKeyFree(t *testing.T) {
	r := newHarness(t)
	r.want(r.send(r.alice.secret, r.sendBody("amount", "1000"), "Idempotency-Key", "k"), 422, wallet.InsufficientFunds, "")
	r.want(r.send(r.alice.secret, `{}`, "Idempotency-Key", "k"), 400, wallet.InvalidRequest, "")
	if a := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k"); a.status != 202 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestARequestInFlightHoldsItsKey(t *testing.T) {
	r := newHarness(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	r.Cluster.SetFault(func(string, json.RawMessage) solana.Fault {
		select {
		case begun <- struct{}{}:
			<-release
		default:
		}
		return solana.Fault{}
	})
	first := make(chan answer, 1)
	go func() { first <- r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k") }()
	<-begun
	meanwhile := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k")
	r.want(meanwhile, 409, wallet.Conflict, "still running")
	if meanwhile.header.Get("Retry-After") != "1" {
		t.Error("a program cannot tell that it should ask again")
	}
	close(release)
	a := <-first
	again := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "k")
	if a.status != 202 || string(again.body) != string(a.body) {
		t.Errorf("%d %s\n%d %s", a.status, a.body, again.status, again.body)
	}
	if n := r.transactions(); n != 1 {
		t.Errorf("%d transactions", n)
	}
}

func TestIdempotencyKeysHaveAForm(t *testing.T) {
	r := newHarness(t)
	for _, key := range []string{"", strings.Repeat("k", 129), "ключ", "a\tb"} {
		r.want(r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", key), 400, wallet.InvalidRequest, "Idempotency-Key")
	}
	r.want(r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", "a", "Idempotency-Key", "b"), 400, wallet.InvalidRequest, "Idempotency-Key")
	if a := r.send(r.alice.secret, r.sendBody(), "Idempotency-Key", strings.Repeat("k", 128)); a.status != 202 {
		t.Errorf("128 characters: %d %s", a.status, a.body)
	}
}

func TestWithoutAKeyEveryRequestIsNew(t *testing.T) {
	r := newHarness(t)
	r.send(r.alice.secret, r.sendBody())
	r.send(r.alice.secret, r.sendBody())
	if n := r.transactions(); n != 2 {
		t.Errorf("%d transactions", n)
	}
}
