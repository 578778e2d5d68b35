package chain

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

func TestAccounts(t *testing.T) {
	w := newWorld(t)
	alice := testKey(1).address()
	w.fund(alice, 3_000_000_000)
	got, err := w.Accounts(t.Context(), []wallet.Address{alice, testKey(9).address(), memoProgram})
	if err != nil || len(got) != 3 {
		t.Fatalf("got %+v, %v", got, err)
	}
	slot := got[0].Slot
	want := wallet.Account{Exists: true, Lamports: 3_000_000_000, Owner: wallet.SystemProgram, Slot: slot}
	if got[0] != want || slot == 0 {
		t.Errorf("got %+v", got[0])
	}
	if nothing := got[1]; nothing != (wallet.Account{Slot: slot}) {
		t.Errorf("an address that holds nothing: %+v", nothing)
	}
	if program := got[2]; !program.Exists || !program.Executable || program.Slot != slot {
		t.Errorf("a program: %+v", program)
	}
	if got, err := w.Accounts(t.Context(), nil); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	if _, err := w.Accounts(t.Context(), make([]wallet.Address, 101)); err == nil {
		t.Error("101 accounts at one slot are impossible, but were promised")
	}
}

func TestRentMinimumIsKeptForAMinute(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := newWorld(t, func(o *Options) { o.Now = func() time.Time { return now } })
	var calls atomic.Int32
	w.SetFault(func(string, json.RawMessage) solana.Fault { calls.Add(1); return solana.Fault{} })
	ask := func(size, want uint64) {
		t.Helper()
		if got, err := w.RentMinimum(t.Context(), size); err != nil || got != want {
			t.Fatalf("rent of %d bytes: %d, %v", size, got, err)
		}
	}
	ask(0, 890_880)
	ask(0, 890_880)
	ask(165, 2_039_280)
	now = now.Add(59 * time.Second)
	ask(0, 890_880)
	if calls.Load() != 2 {
		t.Errorf("%d calls, want 2", calls.Load())
	}
	now = now.Add(time.Second)
	ask(0, 890_880)
	if calls.Load() != 3 {
		t.Errorf("%d calls after a minute, want 3", calls.Load())
	}
}

func TestBlockhashSaysHowLongItLives(t *testing.T) {
	w := newWorld(t)
	got, err := w.Blockhash(t.Context())
	if err != nil || got.Hash == [32]byte{} || got.Slot == 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	if height := w.Height(); got.LastValidBlockHeight < height+140 || got.LastValidBlockHeight > height+150 {
		t.Errorf("valid until %d at height %d", got.LastValidBlockHeight, height)
	}
}

func TestClusterIsKnownByItsGenesis(t *testing.T) {
	w := newWorld(t)
	if got, err := w.GenesisCluster(t.Context()); err != nil || got != wallet.Localnet {
		t.Errorf("the sandbox: %q, %v", got, err)
	}
	for hash, want := range map[string]string{
		"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d": wallet.Mainnet,
		"EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG": wallet.Devnet,
		"4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY": wallet.Testnet,
	} {
		c := scripted(t, func(string) string { return result(`"` + hash + `"`) })
		if got, err := c.GenesisCluster(t.Context()); err != nil || got != want {
			t.Errorf("%s: %q, %v", hash, got, err)
		}
	}
}

func TestTheSecondNodeMustAgree(t *testing.T) {
	second, url := newCluster(t)
	w := newWorld(t, func(o *Options) { o.RPCURLs = append(o.RPCURLs, url+secretPath) })
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5_000_000})
	w.advance(200)

	height, err := w.FinalizedBlockHeight(t.Context())
	if err != nil || height >= second.Height() {
		t.Errorf("the lowest finalized height is the second node's: got %d, %v, it is at %d", height, err, second.Height())
	}
	if found, certain, err := w.FindEverywhere(t.Context(), s.query); found != nil || !certain || err != nil {
		t.Errorf("both look, none knows: %+v, %v, %v", found, certain, err)
	}
	if _, err := w.GenesisCluster(t.Context()); !errors.Is(err, ErrClustersDiffer) {
		t.Errorf("nodes of two clusters: %v", err)
	}

	second.SetFault(func(string, json.RawMessage) solana.Fault { return solana.Fault{Status: 503} })
	found, certain, err := w.FindEverywhere(t.Context(), s.query)
	if found != nil || certain {
		t.Errorf("a silent second node was taken for agreement: %+v, %v", found, certain)
	}
	nobodyKnows(t, err)
	_, err = w.FinalizedBlockHeight(t.Context())
	nobodyKnows(t, err)
	_, err = w.CanSeeBackTo(t.Context(), 1)
	nobodyKnows(t, err)
	if _, err := w.Find(t.Context(), s.query); err != nil {
		t.Errorf("the primary alone answers: %v", err)
	}
	fresh := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Reference: testKey(6).address(), Amount: 5_000_000})
	w.broadcast(fresh)
	w.advance(2)
	if found, _, err := w.FindEverywhere(t.Context(), fresh.query); err != nil || found == nil {
		t.Errorf("what one node knows is found, whatever the other does: %+v, %v", found, err)
	}
}

func TestNodeThatFellBehindCannotSayNotFound(t *testing.T) {
	w := newWorld(t)
	s := w.sign(testKey(1), wallet.Transaction{To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5_000_000})
	w.advance(300)
	if _, err := w.FinalizedBlockHeight(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Find(t.Context(), s.query); err != nil {
		t.Fatal(err)
	}
	// The machine behind the address is exchanged for one whose chain is shorter.
	late, err := solana.Open(solana.Options{Seed: "late"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { late.Close() })
	behind := newServer(t, late.Handler())
	w.nodes[0].url = behind + secretPath
	_, err = w.Find(t.Context(), s.query)
	nobodyKnows(t, err)
	byReference := s.query
	byReference.Signature = wallet.Signature{}
	_, err = w.Find(t.Context(), byReference)
	nobodyKnows(t, err)
}
