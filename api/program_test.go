package api

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// program is a developer's program that holds a key of its own.
type program struct {
	*harness
	secret string
	key    ed25519.PrivateKey
}

func (r *harness) program(secret string) program {
	r.Helper()
	return program{r, secret, r.NewKey()}
}

func (p program) address() wallet.Address { return world.AddressOf(p.key) }

func (p program) sign(message []byte) string {
	return wallet.Signature(ed25519.Sign(p.key, message)).String()
}

func (p program) post(path, body string) answer {
	p.Helper()
	return p.do("POST", path, body, "Authorization", "Bearer "+p.secret, "Content-Type", "application/json")
}

// connects proves its address and returns the answer.
func (p program) connects() answer {
	p.Helper()
	challenge := p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address()))
	p.want(challenge, 200, "", "")
	return p.post("/v1/wallet/connect", fmt.Sprintf(`{"address":%q,"signature":%q}`, p.address(),
		p.sign([]byte(challenge.text("data", "message")))))
}

// answered is the owner's tap on the address that their program proved.
func (p program) answered() {
	p.Helper()
	p.Must(p.Update(func(tx store.Tx) error {
		bind, err := tx.BindOf(p.alice.User.ID)
		if err != nil {
			return err
		}
		_, err = p.Wallets.Choose(tx, p.alice.User.ID, bind.Nonce, p.address())
		return err
	}))
}

// TestEveryWalletOfAKeyIsAskedAbout: one question at a time, and a lost answer is given again.
func TestEveryWalletOfAKeyIsAskedAbout(t *testing.T) {
	r := newHarness(t)
	proven := func() (n int) {
		r.View(func(tx store.Tx) error {
			all, err := tx.PendingEvents(1000)
			for _, e := range all {
				if e.Name == wallet.WalletProven {
					n++
				}
			}
			return err
		})
		return n
	}
	before := proven()
	for i := 1; i <= 3; i++ {
		p := r.program(r.alice.secret)
		challenge := p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address()))
		r.want(challenge, 200, "", "")
		proof := fmt.Sprintf(`{"address":%q,"signature":%q}`, p.address(), p.sign([]byte(challenge.text("data", "message"))))
		r.want(p.post("/v1/wallet/connect", proof), 202, "", "")
		r.want(p.post("/v1/wallet/connect", proof), 202, "", "") // the first answer was lost
		r.want(p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address())), 429, wallet.RateLimitExceeded, "still being asked")
		if n := proven() - before; n != i {
			t.Fatalf("after %d wallets the owner was asked %d times", i, n)
		}
		p.answered()
		if got := p.post("/v1/wallet/connect", proof); got.status != 200 || got.text("data", "status") != "done" {
			t.Errorf("once more: %d %s", got.status, got.body)
		}
	}
}

// sends 1 SOL to Bob.
func (p program) sends() answer {
	p.Helper()
	return p.post("/v1/wallet/send", p.sendBody("from", fmt.Sprintf("%q", p.address()), "amount", "1"))
}

// unsignedMessage is the message of an unsigned transaction: what follows its empty signature.
func (p program) unsignedMessage(a answer) []byte {
	p.Helper()
	wire, err := base64.StdEncoding.DecodeString(a.text("data", "unsigned_transaction"))
	p.Must(err)
	if len(wire) < 65 || wire[0] != 1 {
		p.Fatalf("no unsigned transaction in %s", a.body)
	}
	return wire[65:]
}

func TestAProgramsWalletIsConnectedByItsOwnersAnswer(t *testing.T) {
	r := newHarness(t)
	p := r.program(r.alice.secret)
	r.want(p.post("/v1/wallet/connect", fmt.Sprintf(`{"address":%q,"signature":%q}`, p.address(), p.sign([]byte("x")))), 404, wallet.NotFound, "challenge")
	got := p.connects()
	if r.want(got, 202, "", ""); got.text("data", "status") != "proven" {
		t.Fatalf("got %s", got.body)
	}
	r.want(p.sends(), 404, wallet.WalletNotFound, "")
	var nonce string
	r.View(func(tx store.Tx) error {
		bind, err := tx.BindOf(r.alice.User.ID)
		nonce = bind.Nonce
		return err
	})
	r.Must(r.Update(func(tx store.Tx) error {
		w, err := r.Wallets.Choose(tx, r.alice.User.ID, nonce, p.address())
		if err == nil && (w.Type != wallet.DeveloperWallet || w.Owner != r.alice.User.ID) {
			t.Errorf("bound as %+v", w)
		}
		return err
	}))
	r.want(p.connects(), 409, wallet.Conflict, "already")
	r.Fund(p.address(), 3*sol)
	p.paysOnce()
}

// TestANoHoldsForADay: and the person's own link goes on beside a program's challenge.
func TestANoHoldsForADay(t *testing.T) {
	r := newHarness(t)
	link := r.Link(r.alice.User)
	p := r.program(r.alice.secret)
	r.want(p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address())), 200, "", "")
	if got := r.page("/w/bind/challenge", map[string]string{"token": link}); got.status != 200 {
		t.Errorf("the person's own link is closed: %d %s", got.status, got.body)
	}
	r.want(p.connects(), 202, "", "")
	r.Must(r.Update(func(tx store.Tx) error {
		bind, err := tx.BindOf(r.alice.User.ID)
		if err != nil {
			return err
		}
		_, err = r.Wallets.Choose(tx, r.alice.User.ID, bind.Nonce, wallet.Address{})
		return err
	}))
	again := func() answer {
		return p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address()))
	}
	r.want(again(), 429, wallet.RateLimitExceeded, "didn't accept")
	r.Pass(24 * time.Hour)
	r.want(again(), 200, "", "")
}

// TestNoLinkLeadsToAProgramsChallenge: what its attempt is kept under is no secret.
func TestNoLinkLeadsToAProgramsChallenge(t *testing.T) {
	r := newHarness(t)
	p := r.program(r.alice.secret)
	r.want(p.post("/v1/wallet/connect/challenge", fmt.Sprintf(`{"address":%q}`, p.address())), 200, "", "")
	keys, err := r.Keys.List(context.Background())
	check(t, err)
	for _, key := range keys {
		for _, token := range []string{"connect by key " + key.ID, key.ID} {
			if got := r.page("/w/bind/challenge", map[string]string{"token": token}); got.status != 404 {
				t.Errorf("%q: %d %s", token, got.status, got.body)
			}
			body := map[string]string{"token": token, "address": p.address().String(), "signature": p.sign([]byte("x"))}
			if got := r.page("/w/bind", body); got.status != 404 {
				t.Errorf("%q: %d %s", token, got.status, got.body)
			}
		}
	}
	r.want(p.connects(), 202, "", "") // and nothing was burnt
}

func TestAnOperatorsKeyHasWalletsOfItsOwn(t *testing.T) {
	r := newHarness(t)
	p := r.program(r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier}))
	got := p.connects()
	if r.want(got, 200, "", ""); got.text("data", "status") != "done" {
		t.Fatalf("got %s", got.body)
	}
	r.Fund(p.address(), 3*sol)
	p.paysOnce()
	other := r.program(r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier}))
	other.key = p.key
	r.want(other.sends(), 404, wallet.WalletNotFound, "")
	r.want(other.connects(), 409, wallet.Conflict, "")
	stranger := r.program(r.alice.secret)
	challenge := fmt.Sprintf(`{"address":%q}`, p.address())
	r.want(stranger.post("/v1/wallet/connect/challenge", challenge), 200, "", "") // who holds it is told to none who does not
}

// paysOnce takes a send of the program's to its signature.
func (p program) paysOnce() {
	t := p.TB
	t.Helper()
	sent := p.sends()
	p.want(sent, 202, "", "")
	if sent.text("data", "status") != "awaiting_signature" {
		t.Fatalf("got %s", sent.body)
	}
	path := "/v1/wallet/transactions/" + sent.text("data", "transaction_id")
	first := p.unsignedMessage(sent)
	p.want(p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign([]byte("something else")))), 422, wallet.InvalidSignature, "")
	check(t, p.Cluster.Advance(2))
	p.Pass(wallet.FreshFor)
	refreshed := p.post(path+"/refresh", "")
	p.want(refreshed, 200, "", "")
	if string(p.unsignedMessage(refreshed)) == string(first) {
		t.Error("a refreshed transaction is the same")
	}
	p.want(p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign(first))), 422, wallet.InvalidSignature, "") // not the newest
	whole := append([]byte{1}, ed25519.Sign(p.key, p.unsignedMessage(refreshed))...)
	whole = append(whole, p.unsignedMessage(refreshed)...)
	signed := fmt.Sprintf(`{"signed_transaction":%q}`, base64.StdEncoding.EncodeToString(whole))
	for range 2 { // the answer to the first may be lost
		if got := p.post(path+"/signature", signed); got.status != 200 || got.text("data", "status") != "signed" {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	p.want(p.post(path+"/reject", ""), 409, wallet.Conflict, "on its way")
	if got := p.get(path, p.secret); got.text("data", "status") != "signed" || got.text("data", "signature") == "" {
		t.Errorf("got %s", got.body)
	}
	rejected := p.sends()
	p.want(rejected, 202, "", "")
	path = "/v1/wallet/transactions/" + rejected.text("data", "transaction_id")
	if got := p.post(path+"/reject", ""); got.status != 200 || got.text("data", "status") != "rejected" {
		t.Errorf("got %d %s", got.status, got.body)
	}
	p.want(p.post(path+"/refresh", ""), 409, wallet.Conflict, "")
}

func TestForAPersonsWalletNothingIsSignedBeforeTheirConfirm(t *testing.T) {
	r := newHarness(t)
	sent := r.send(r.alice.secret, r.sendBody())
	r.want(sent, 202, "", "")
	p := program{r, r.alice.secret, r.alice.Key}
	path := "/v1/wallet/transactions/" + sent.text("data", "transaction_id")
	r.want(p.post(path+"/refresh", ""), 409, wallet.Conflict, "Confirm")
	r.want(p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, p.sign([]byte("x")))), 409, wallet.Conflict, "Confirm")
	other := program{r, r.bob.secret, r.bob.Key}
	for _, operation := range []string{"/refresh", "/reject"} {
		r.want(other.post(path+operation, ""), 404, wallet.TransactionNotFound, "")
	}
	r.want(other.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, other.sign([]byte("x")))), 404, wallet.TransactionNotFound, "")
}
