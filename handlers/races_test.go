package handlers_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// many runs an operation by many at once and tells how many of them succeeded.
func many(n int, operation func(i int) error) int {
	var won atomic.Int64
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			if operation(i) == nil {
				won.Add(1)
			}
		})
	}
	close(begin)
	all.Wait()
	return int(won.Load())
}

// TestManyConfirmsAtOnceNeverSpendMoreThanThereIs: each proposal alone is covered, any two are not.
func TestManyConfirmsAtOnceNeverSpendMoreThanThereIs(t *testing.T) {
	for _, token := range []string{"SOL", "USDC"} {
		r := newHarness(t)
		alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
		r.FundToken(alice.Address(), "USDC", 1_000_000)
		r.FundToken(bob.Address(), "USDC", 1)
		ids := make([]wallet.TransactionID, 8)
		for i := range ids {
			ids[i] = r.Propose(alice, bob.Address(), "0.6", token).ID
		}
		// Two taps on each, all at once.
		won := many(2*len(ids), func(i int) error {
			_, err := r.Confirm(alice.Caller(), ids[i/2])
			return err
		})
		waiting := 0
		for _, id := range ids {
			if r.Transaction(id).Status == wallet.AwaitingSignature {
				waiting++
			}
		}
		if won != 1 || waiting != 1 {
			t.Errorf("%s: %d confirmations were taken, %d transactions wait for a signature", token, won, waiting)
		}
	}
}

// TestManyDevicesAtOnceMakeOneSignature: many devices, several blockhashes, rejections between, all at once.
func TestManyDevicesAtOnceMakeOneSignature(t *testing.T) {
	ctx := context.Background()
	for round := range 8 {
		r := newHarness(t)
		alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
		confirmed := r.Confirmed(alice, bob.Address(), "0.5", "SOL")
		var messages [][]byte
		for range 4 {
			messages = append(messages, r.Issue(confirmed.SignID))
			r.Blocks(1)
		}
		whole := func(message []byte) []byte {
			wire, err := chain.Assemble(message, alice.Sign(message))
			r.Must(err)
			return wire
		}
		many(32, func(i int) error {
			message := messages[i%len(messages)]
			switch i % 8 {
			case 7:
				_, err := r.Signing.Reject(ctx, handlers.ByLink(confirmed.SignID))
				return err
			case 6: // only the newest may come whole
				_, err := r.Signing.Submit(ctx, handlers.ByLink(confirmed.SignID), handlers.Signature{Signed: whole(message)})
				return err
			case 5:
				_, err := r.Signing.Refresh(ctx, handlers.ByLink(confirmed.SignID))
				return err
			}
			_, err := r.HandIn(alice, confirmed.SignID, message)
			return err
		})
		got := r.Transaction(confirmed.ID)
		switch got.Status {
		case wallet.Rejected:
			if len(got.Signed) != 0 || !got.Signature.IsZero() {
				t.Errorf("round %d: rejected, and signed", round)
			}
		case wallet.Signed:
			signature := wallet.Signature(got.Signed[1:65])
			if signature != got.Signature || !ed25519.Verify(alice.Key.Public().(ed25519.PublicKey), got.Signed[65:], signature[:]) {
				t.Errorf("round %d: the stored bytes and signature do not belong together", round)
			}
			for _, message := range messages { // nobody else's comes in any more
				if other := alice.Sign(message); other != got.Signature {
					if _, err := r.HandIn(alice, confirmed.SignID, message); err == nil {
						t.Errorf("round %d: a second signature was taken", round)
					}
				}
			}
			if again := r.Transaction(confirmed.ID); again.Signature != got.Signature {
				t.Errorf("round %d: the signature changed", round)
			}
		default:
			t.Errorf("round %d: it is %s", round, got.Status)
		}
	}
}

// TestOneTryAgainAtATime: many taps on [Try again] make one new transaction.
func TestOneTryAgainAtATime(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
	first := r.Propose(alice, bob.Address(), "0.5", "SOL")
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Transfers.Reject(tx, alice.Caller(), first.ID); return err }))
	won := many(16, func(int) error {
		p, err := r.Transfers.PrepareRetry(context.Background(), alice.Caller(), first.ID)
		if err != nil {
			return err
		}
		return r.Update(func(tx store.Tx) error { return r.Transfers.Commit(tx, p) })
	})
	if retried := r.Transaction(first.ID).RetriedBy; won != 1 || r.Transaction(retried).RetryOf != first.ID {
		t.Errorf("%d took its place, the last is %s", won, retried)
	}
}

// TestOneOwnerOfAnAddress: many people prove the same key at once, on links and by claims.
func TestOneOwnerOfAnAddress(t *testing.T) {
	r := newHarness(t)
	key := r.NewKey()
	address := world.AddressOf(key)
	people := make([]*world.Person, 6)
	for i := range people {
		people[i] = r.Somebody(int64(2001+i), fmt.Sprintf("P%d", i))
		r.Meet(people[i])
		r.Must(r.Prove(r.Link(people[i].User), key))
	}
	var owned atomic.Int64
	many(2*len(people), func(i int) error { // each taps the match twice
		who := people[i/2].User.ID
		nonce := r.bindOf(who).Nonce
		return r.Update(func(tx store.Tx) error {
			w, err := r.Wallets.Choose(tx, who, nonce, address)
			if err == nil && w.Owner == who {
				owned.Add(1)
			}
			return err
		})
	})
	if owned.Load() != 1 {
		t.Errorf("%d people were told that the address is theirs", owned.Load())
	}
	r.Pass(handlers.ClaimWindow)
	var first wallet.Wallet
	r.View(func(tx store.Tx) (err error) { first, err = tx.Wallet(address); return err })
	won := many(3*len(people), func(i int) error {
		who := people[i%len(people)].User.ID
		return r.Update(func(tx store.Tx) error {
			if i >= 2*len(people) {
				err := r.Wallets.StopClaim(tx, who, address)
				return errors.Join(err, errStopped)
			}
			_, err := r.Wallets.TakeOver(tx, who, address)
			return err
		})
	})
	var last wallet.Wallet
	r.View(func(tx store.Tx) (err error) { last, err = tx.Wallet(address); return err })
	if won > 1 || won == 1 && last.Owner != first.Claim.User || won == 0 && last.Owner != first.Owner {
		t.Errorf("%d took it over: from %s, claimed by %s, it is %s's", won, first.Owner, first.Claim.User, last.Owner)
	}
}

// errStopped rolls a stop back: it is only to be in the way.
var errStopped = errors.New("not counted")

// TestNoBlockhashForWhatWasPaid: a database from a backup may wait for a signature that was given long
// ago.
func TestNoBlockhashForWhatWasPaid(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
	confirmed := r.Confirmed(alice, bob.Address(), "0.3", "SOL")
	r.SendBehind(alice, wallet.Transaction{From: confirmed.From, To: confirmed.To, Reference: confirmed.Reference, Amount: confirmed.Amount})
	r.Blocks(3)
	_, err := r.Signing.Refresh(context.Background(), handlers.ByLink(confirmed.SignID))
	r.Refused(wallet.Conflict, err)
	if got := r.Transaction(confirmed.ID); len(got.IssuedBlockhashes) != 0 {
		t.Errorf("a blockhash was issued: %+v", got.IssuedBlockhashes)
	}
}
