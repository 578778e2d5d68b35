package storetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// Scale fills a store with the transactions of many people, as purser leaves them behind: each takes every step of its life in
// an Update of its own, beside others, and notify has dealt with its events. Nth values depend on the number alone.
type Scale struct {
	Store  store.Store
	People int           // who share the transactions, in turn
	At     time.Time     // when the first is created; the others follow by a millisecond each
	Window time.Duration // for which a proposal waits for its owner; 0: wallet.ConfirmWindow
}

// scaleBatch is how many transactions share an Update.
const scaleBatch = 1000

// bytesOf returns bytes that look random and depend on a subject and a number alone.
func bytesOf(subject string, n, size int) (out []byte) {
	for part := 0; len(out) < size; part++ {
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(fmt.Sprint(subject, part, " ")), uint64(n)))
		out = append(out, sum[:]...)
	}
	return out[:size]
}

// ScaleID is the id of the nth transaction, in the form of wallet.TimedIDs.
func (s Scale) ScaleID(n int) wallet.TransactionID {
	now := func() time.Time { return s.created(n) }
	return wallet.TransactionID(wallet.TimedIDs(now, &repeated{bytesOf("id", n, 64)})("tx"))
}

// repeated is a reader of given bytes, over and over.
type repeated struct{ raw []byte }

func (r *repeated) Read(into []byte) (int, error) { return copy(into, r.raw), nil }

func (s Scale) created(n int) time.Time { return s.At.Add(time.Duration(n) * time.Millisecond) }

// Person is the nth person's id, and Wallet their wallet.
func (s Scale) Person(n int) wallet.UserID  { return wallet.UserID(fmt.Sprintf("usr_%026d", n)) }
func (s Scale) Wallet(n int) wallet.Address { return wallet.Address(bytesOf("wallet", n, 32)) }
func (s Scale) telegram(n int) int64        { return int64(1_000_000_000 + n) }
func scaleSignature(n int) (x wallet.Signature) {
	copy(x[:], bytesOf("signature", n, len(x)))
	return x
}

// AddPeople adds the people to the store.
func (s Scale) AddPeople(ctx context.Context) error {
	for batch := range slices.Chunk(numbers(0, s.People), scaleBatch) {
		if err := s.Store.Update(ctx, func(tx store.Tx) error {
			for _, n := range batch {
				if err := tx.PutUser(wallet.User{ID: s.Person(n), TelegramID: s.telegram(n)}); err != nil {
					return err
				}
				if err := tx.PutWallet(wallet.Wallet{Address: s.Wallet(n), Owner: s.Person(n), Type: wallet.PageWallet, ConnectedAt: s.At}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func numbers(from, to int) []int {
	out := make([]int, 0, to-from)
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

// Proposal is the nth transaction as it waits for its owner's Confirm.
func (s Scale) Proposal(n int) wallet.Transaction {
	person := n % s.People
	return wallet.Transaction{ID: s.ScaleID(n), Kind: wallet.Send, Status: wallet.AwaitingConfirmation, Owner: s.Person(person), Chat: s.telegram(person),
		Signer: wallet.PageWallet, From: s.Wallet(person), To: wallet.Address(bytesOf("to", n%(3*s.People), 32)), Token: wallet.SOL, Amount: uint64(1_000_000 + n), Fee: 5000, BalanceLeft: 5_000_000_000,
		Reference: wallet.Address(bytesOf("reference", n, 32)), ComputeUnitLimit: 1000, ComputeUnitPrice: 10_000,
		CreatedAt: s.created(n), Deadline: s.created(n).Add(cmp.Or(s.Window, wallet.ConfirmWindow)), Message: s.message(n)}
}

// message is the nth transaction's, as chain builds it: a version 0 message of Solana with a zero blockhash. Header, addresses,
// blockhash, and three instructions, for the limit and the price of compute units and for the transfer.
func (s Scale) message(n int) []byte {
	from, to, reference := s.Wallet(n%s.People), bytesOf("to", n%(3*s.People), 32), bytesOf("reference", n, 32)
	budget, system := wallet.MustAddress("ComputeBudget111111111111111111111111111111"), make([]byte, 32)
	return slices.Concat([]byte{0x80, 1, 0, 3, 5}, from[:], to, reference, budget[:], system, make([]byte, 32),
		[]byte{3, 3, 0, 5, 2}, binary.LittleEndian.AppendUint32(nil, 1000), []byte{3, 0, 9, 3}, binary.LittleEndian.AppendUint64(nil, 10_000),
		[]byte{4, 3, 0, 1, 2, 12, 2, 0, 0, 0}, binary.LittleEndian.AppendUint64(nil, uint64(1_000_000+n)), []byte{0})
}

// blockhashAt is where the blockhash lies in message.
const blockhashAt = 5 + 5*32

// steps are what happens to the nth transaction after its proposal.
func (s Scale) steps(n int) []func(*wallet.Transaction) wallet.TransitionInput {
	at := func(seconds int) time.Time { return s.created(n).Add(time.Duration(seconds)*time.Second + 123_456_789) }
	landing := wallet.Landing{Signature: scaleSignature(n), Slot: uint64(300_000_000 + n), BlockHeight: uint64(280_000_000 + n), Fee: 5010, Spent: uint64(1_005_010 + n), Confirmations: 1}
	final := landing
	final.Finalized, final.Confirmations = true, 32
	return []func(*wallet.Transaction) wallet.TransitionInput{
		func(t *wallet.Transaction) wallet.TransitionInput {
			t.SignID = base64.RawURLEncoding.EncodeToString(bytesOf("sign", n, 16)) // as wallet.RandomToken writes it
			t.IssuedBlockhashes = []wallet.IssuedBlockhash{{Blockhash: wallet.Blockhash{Hash: [32]byte(bytesOf("blockhash", n, 32)), LastValidBlockHeight: uint64(280_000_150 + n), Slot: uint64(300_000_000 + n)}, At: at(5)}}
			return wallet.TransitionInput{By: wallet.OwnerConfirmed, At: at(5)}
		},
		func(t *wallet.Transaction) wallet.TransitionInput {
			t.Signature = landing.Signature
			message := slices.Clone(t.Message)
			copy(message[blockhashAt:], t.IssuedBlockhashes[0].Blockhash.Hash[:])
			t.Signed = slices.Concat([]byte{1}, t.Signature[:], message)
			return wallet.TransitionInput{By: wallet.DeviceSigned, At: at(9)}
		},
		func(*wallet.Transaction) wallet.TransitionInput {
			return wallet.TransitionInput{By: wallet.NetworkAccepted, At: at(9)}
		},
		func(*wallet.Transaction) wallet.TransitionInput {
			return wallet.TransitionInput{By: wallet.Landed, At: at(10), Landing: &landing}
		},
		func(*wallet.Transaction) wallet.TransitionInput {
			return wallet.TransitionInput{By: wallet.Finalized, At: at(23), Landing: &final}
		},
	}
}

// Propose leaves the transactions from first on as proposals that wait.
func (s Scale) Propose(ctx context.Context, first, count int) error {
	for batch := range slices.Chunk(numbers(first, first+count), scaleBatch) {
		if err := s.Store.Update(ctx, func(tx store.Tx) error { return s.propose(tx, batch) }); err != nil {
			return err
		}
	}
	return nil
}

func (s Scale) propose(tx store.Tx, batch []int) error {
	for _, n := range batch {
		if err := store.Create(tx, s.Proposal(n)); err != nil {
			return err
		}
	}
	return nil
}

// Finish takes the transactions from first on through their whole lives.
func (s Scale) Finish(ctx context.Context, first, count int) error {
	for batch := range slices.Chunk(numbers(first, first+count), scaleBatch) {
		if err := s.Store.Update(ctx, func(tx store.Tx) error { return s.propose(tx, batch) }); err != nil {
			return err
		}
		for step := range s.steps(0) {
			if err := s.notified(ctx); err != nil {
				return err
			}
			if err := s.Store.Update(ctx, func(tx store.Tx) error { return s.step(tx, batch, step) }); err != nil {
				return err
			}
		}
		if err := s.notified(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step takes a batch through one step.
func (s Scale) step(tx store.Tx, batch []int, step int) error {
	for _, n := range batch {
		t, err := tx.Transaction(s.ScaleID(n))
		if err != nil {
			return err
		}
		input := s.steps(n)[step](&t)
		if _, err := store.Step(tx, t, input); err != nil {
			return err
		}
	}
	return nil
}

// notified ends the jobs of all events that wait, as notify does.
func (s Scale) notified(ctx context.Context) error {
	for more := true; more; {
		if err := s.Store.Update(ctx, func(tx store.Tx) error {
			claimed, _, err := tx.ClaimJobs(store.Claim{Queue: store.Events, Node: "scale", Now: s.At.AddDate(1, 0, 0), Max: scaleBatch, Lease: time.Minute})
			more = len(claimed) > 0
			if err != nil || !more {
				return err
			}
			refs := make([]store.Ref, len(claimed))
			for i, j := range claimed {
				refs[i] = j.Ref()
			}
			return tx.DoneJobs(refs...)
		}); err != nil {
			return err
		}
	}
	return nil
}
