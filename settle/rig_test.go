package settle

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"sync"
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

// rig is the money path without its fronts: real deeds, a real store, a real cluster over HTTP
// whose blocks come by hand, and a clock that the test moves.
type rig struct {
	t         *testing.T
	cluster   *solana.Cluster
	client    *chain.Client
	store     *bolt.Store
	settler   *Settler
	transfers *handlers.Transfers
	signing   *handlers.Signing
	alice     person
	bob       person

	mu  sync.Mutex
	now time.Time
	ids int
}

type person struct {
	user wallet.User
	addr wallet.Address
	key  ed25519.PrivateKey
}

func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) newID(prefix string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return fmt.Sprintf("%s_%04d", prefix, r.ids)
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	var err error
	if r.cluster, err = solana.Open(solana.Options{Now: r.Now, Seed: "purser"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cluster.Close() })
	node := httptest.NewServer(r.cluster.Handler())
	t.Cleanup(node.Close)
	r.client, err = chain.New(chain.Options{RPCURLs: []string{node.URL}, Cluster: "localnet", Timeout: 2 * time.Second, Now: r.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.client.Close)
	r.store, err = bolt.Open(bolt.Options{Path: filepath.Join(t.TempDir(), "purser.db"), MasterKey: make([]byte, 32), Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close() })
	r.transfers = &handlers.Transfers{Store: r.store, Chain: r.client, Tokens: listed(t), Now: r.Now, NewID: r.newID, Random: rand.Reader, Build: chain.Build}
	r.signing = &handlers.Signing{Store: r.store, Chain: r.client, Cluster: "localnet", Now: r.Now,
		Messages: handlers.Messages{WithBlockhash: chain.WithBlockhash, Verify: chain.VerifySignature, Assemble: chain.Assemble, CheckSigned: chain.CheckSigned}}
	r.restart()
	r.alice, r.bob = r.person(1001, 10*sol), r.person(1002, 1*sol)
	return r
}

// restart begins settling anew, with nothing but what the store holds.
func (r *rig) restart() {
	r.settler = &Settler{Store: r.store, Chain: r.client, Now: r.Now, Log: slog.New(slog.DiscardHandler), Pace: DefaultPace()}
	r.settler.watched = map[wallet.TransactionID]*watch{}
}

func (r *rig) person(telegramID int64, lamports uint64) person {
	r.t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	p := person{addr: wallet.Address(public), key: key}
	p.user = wallet.User{ID: wallet.UserID(r.newID("usr")), TelegramID: telegramID, DefaultWallet: p.addr, RegisteredAt: r.Now()}
	r.update(func(tx store.Tx) error {
		if err := tx.PutUser(p.user); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: p.addr, Owner: p.user.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	})
	if _, err := r.cluster.Airdrop(context.Background(), p.addr.String(), lamports); err != nil {
		r.t.Fatal(err)
	}
	r.blocks(3)
	return p
}

func (r *rig) update(change func(store.Tx) error) {
	r.t.Helper()
	if err := r.store.Update(context.Background(), change); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) blocks(n int) {
	r.t.Helper()
	if err := r.cluster.Advance(n); err != nil {
		r.t.Fatal(err)
	}
}

// rounds lets the settler work n times, a poll apart. Errors of the chain are part of the tests.
func (r *rig) rounds(n int) {
	for range n {
		_, _ = r.settler.round(context.Background())
		r.pass(r.settler.Pace.Poll)
	}
}

// propose has Alice pay Bob, up to and with Confirm.
func (r *rig) confirmed(amount string) wallet.Transaction {
	r.t.Helper()
	ctx, who := context.Background(), handlers.Caller{User: r.alice.user.ID}
	p, err := r.transfers.Prepare(ctx, who, handlers.SendRequest{To: r.bob.addr.String(), Amount: amount, Token: "SOL"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.update(func(tx store.Tx) error { return r.transfers.Commit(tx, p) })
	c, err := r.transfers.PrepareConfirm(ctx, who, p.Transaction.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	r.update(func(tx store.Tx) error {
		_, err := r.transfers.CommitConfirm(tx, c)
		return err
	})
	return r.read(p.Transaction.ID)
}

// issued hands a fresh blockhash to the device and returns the message.
func (r *rig) issued(t wallet.Transaction) []byte {
	r.t.Helper()
	view, err := r.signing.Refresh(context.Background(), t.SignID)
	if err != nil {
		r.t.Fatal(err)
	}
	return view.Message
}

// signed has Alice pay Bob, up to and with the device's signature.
func (r *rig) signed(amount string) wallet.Transaction {
	r.t.Helper()
	t := r.confirmed(amount)
	r.sign(t, r.issued(t))
	return r.read(t.ID)
}

func (r *rig) sign(t wallet.Transaction, message []byte) {
	r.t.Helper()
	sum := sha256.Sum256(message)
	sig := wallet.Signature(ed25519.Sign(r.alice.key, message))
	if _, err := r.signing.Submit(context.Background(), t.SignID, handlers.Signature{Over: hex.EncodeToString(sum[:]), Signature: sig}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(id wallet.TransactionID) wallet.Transaction {
	r.t.Helper()
	var t wallet.Transaction
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		var err error
		t, err = tx.Transaction(id)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// events lists what was announced of a transaction, in order.
func (r *rig) events(id wallet.TransactionID) []wallet.EventName {
	r.t.Helper()
	var names []wallet.EventName
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		all, err := tx.PendingEvents(1000)
		for _, event := range all {
			if event.Transaction == id {
				names = append(names, event.Name)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

func (r *rig) is(id wallet.TransactionID, want wallet.Status) wallet.Transaction {
	r.t.Helper()
	t := r.read(id)
	if t.Status != want {
		r.t.Fatalf("the transaction is %s (held %v, %s %s), want %s", t.Status, t.Held, t.ErrorCode, t.ErrorText, want)
	}
	return t
}

func (r *rig) paid(lamports uint64) {
	r.t.Helper()
	if got := r.cluster.Balance(r.bob.addr.String()); got != 1*sol+lamports {
		r.t.Fatalf("Bob holds %d lamports, want %d", got, 1*sol+lamports)
	}
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
