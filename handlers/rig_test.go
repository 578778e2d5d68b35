package handlers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"purser/chain"
	"purser/handlers"
	"purser/market"
	"purser/sandbox/solana"
	"purser/store"
	"purser/store/bolt"
	"purser/wallet"
)

const sol = 1_000_000_000

// rig is the deeds over a real store and a real cluster whose blocks come by hand.
type rig struct {
	*testing.T
	cluster   *solana.Cluster
	chain     *chain.Client
	store     *bolt.Store
	users     *handlers.Users
	wallets   *handlers.Wallets
	transfers *handlers.Transfers
	signing   *handlers.Signing
	keys      *handlers.Keys
	contacts  *handlers.Contacts
	now       time.Time
	ids       int
}

type person struct {
	user wallet.User
	key  ed25519.PrivateKey
}

func (p person) address() wallet.Address { return wallet.Address(p.key.Public().(ed25519.PublicKey)) }

func (p person) caller() handlers.Caller { return handlers.Caller{User: p.user.ID} }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return r.now }
	newID := func(prefix string) string { r.ids++; return fmt.Sprintf("%s_%04d", prefix, r.ids) }
	var err error
	if r.cluster, err = solana.Open(solana.Options{Now: now, Seed: "purser"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cluster.Close() })
	node := httptest.NewServer(r.cluster.Handler())
	t.Cleanup(node.Close)
	client, err := chain.New(chain.Options{RPCURLs: []string{node.URL}, Cluster: wallet.Localnet, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r.chain = client
	r.store, err = bolt.Open(bolt.Options{Path: filepath.Join(t.TempDir(), "purser.db"), MasterKey: make([]byte, 32), Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close() })
	public := &url.URL{Scheme: "https", Host: "wallet.example"}
	r.users = &handlers.Users{Now: now, NewID: newID}
	r.wallets = &handlers.Wallets{Store: r.store, Chain: client, Tokens: listed(t), PublicURL: public, Cluster: "localnet", Now: now, Random: rand.Reader}
	r.transfers = &handlers.Transfers{Store: r.store, Chain: client, Tokens: listed(t), Now: now, NewID: newID, Random: rand.Reader, Build: chain.Build}
	r.signing = &handlers.Signing{Store: r.store, Chain: client, Cluster: "localnet", Now: now,
		Messages: handlers.Messages{WithBlockhash: chain.WithBlockhash, Verify: chain.VerifySignature, Assemble: chain.Assemble, CheckSigned: chain.CheckSigned}}
	r.contacts = &handlers.Contacts{Store: r.store, Tokens: listed(t), Now: now}
	r.keys = &handlers.Keys{Store: r.store, Now: now, NewID: newID, Random: rand.Reader}
	return r
}

func (r *rig) update(change func(store.Tx) error) error {
	return r.store.Update(context.Background(), change)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) refused(code wallet.Code, err error) {
	r.Helper()
	if wallet.CodeOf(err) != code || wallet.DetailOf(err) == "" {
		r.Fatalf("got %v, want a reasoned %s", err, code)
	}
}

// meet registers somebody without a wallet.
func (r *rig) meet(telegramID int64) wallet.User {
	r.Helper()
	var user wallet.User
	r.must(r.update(func(tx store.Tx) error {
		var err error
		user, _, err = r.users.Meet(tx, handlers.Person{TelegramID: telegramID, FirstName: "Alice"})
		return err
	}))
	return user
}

// rich registers somebody with a bound wallet and lamports in it.
func (r *rig) rich(telegramID int64, lamports uint64) person {
	r.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	r.must(err)
	p := person{user: r.meet(telegramID), key: key}
	r.must(r.update(func(tx store.Tx) error {
		p.user.DefaultWallet = p.address()
		if err := tx.PutUser(p.user); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: p.address(), Owner: p.user.ID, Type: wallet.PageWallet, ConnectedAt: r.now})
	}))
	if lamports > 0 {
		_, err = r.cluster.Airdrop(context.Background(), p.address().String(), lamports)
		r.must(err)
		r.must(r.cluster.Advance(3))
	}
	return p
}

// proposed stores a proposal of p's.
func (r *rig) proposed(p person, to wallet.Address, amount string) wallet.TransactionID {
	r.Helper()
	proposal, err := r.transfers.Prepare(context.Background(), p.caller(),
		handlers.SendRequest{To: to.String(), Amount: amount, Token: "SOL"})
	r.must(err)
	r.must(r.update(func(tx store.Tx) error { return r.transfers.Commit(tx, proposal) }))
	return proposal.Transaction.ID
}

func (r *rig) confirm(who handlers.Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	c, err := r.transfers.PrepareConfirm(context.Background(), who, id)
	if err != nil {
		return wallet.Transaction{}, err
	}
	var t wallet.Transaction
	err = r.update(func(tx store.Tx) error {
		var err error
		t, err = r.transfers.CommitConfirm(tx, c)
		return err
	})
	return t, err
}

// listed are the well-known tokens of the sandbox.
func listed(t testing.TB) *market.Tokens {
	t.Helper()
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}
