package handlers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// SigningChain gives out blockhashes.
type SigningChain interface {
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
}

// Messages are the pure operations on a transaction's bytes that signing needs.
type Messages struct {
	WithBlockhash func(message []byte, hash [32]byte) ([]byte, error)
	Verify        func(message []byte, signer wallet.Address, sig wallet.Signature) bool
	Assemble      func(message []byte, sig wallet.Signature) ([]byte, error)
}

// Signing is the device's side of a transaction: whoever holds the secret sign id of a link may
// look, refuse, and hand in a signature by the owner's key (DESIGN §4). It broadcasts nothing.
type Signing struct {
	Store    store.Store
	Chain    SigningChain
	Messages Messages
	Cluster  string
	Now      Clock
}

// SignView is what the page gets: Message is nil unless a signature is still awaited.
type SignView struct {
	Status      wallet.Status
	Address     wallet.Address
	Chain       string
	Message     []byte
	Transaction wallet.Transaction
}

const deadSignLink = "this link is not known here: open the newest one in your chat"

// Get shows the transaction behind a sign link, with its blockhash zeroed.
func (s *Signing) Get(ctx context.Context, signID string) (SignView, error) {
	return read(ctx, s.Store, func(tx store.Tx) (SignView, error) {
		t, err := bySignID(tx, signID)
		if err != nil {
			return SignView{}, err
		}
		return s.view(t, t.Message), nil
	})
}

func bySignID(tx store.Tx, signID string) (wallet.Transaction, error) {
	if signID == "" {
		return wallet.Transaction{}, wallet.Refuse(wallet.NotFound, deadSignLink)
	}
	t, err := tx.TransactionBySignID(signID)
	return t, found(err, wallet.NotFound, deadSignLink)
}

func (s *Signing) view(t wallet.Transaction, message []byte) SignView {
	v := SignView{Status: t.Status, Address: t.From, Chain: s.Cluster, Transaction: t}
	if t.SignableAt(s.Now()) == nil {
		v.Message = message
	} else if t.Status == wallet.AwaitingSignature {
		v.Status = wallet.Expired // its time is over; the clockwork will say so in a moment
	}
	return v
}

// Refresh issues a fresh blockhash, and remembers it: whatever is signed with it may land until its
// end. At most MaxRefreshes for one transaction, then RATE_LIMIT_EXCEEDED.
func (s *Signing) Refresh(ctx context.Context, signID string) (SignView, error) {
	may := func(tx store.Tx) (wallet.Transaction, error) {
		t, err := bySignID(tx, signID)
		if err != nil {
			return t, err
		}
		if err := t.SignableAt(s.Now()); err != nil {
			return t, err
		}
		if len(t.Issues) >= wallet.MaxRefreshes {
			return t, wallet.Refuse(wallet.RateLimitExceeded, "this transaction was opened for signing too often: reject it and start anew")
		}
		return t, nil
	}
	if _, err := read(ctx, s.Store, may); err != nil {
		return SignView{}, err
	}
	hash, err := s.Chain.Blockhash(ctx)
	if err != nil {
		return SignView{}, err
	}
	var view SignView
	err = s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := may(tx)
		if err != nil {
			return err
		}
		message, err := s.Messages.WithBlockhash(t.Message, hash.Hash)
		if err != nil {
			return fmt.Errorf("put the blockhash in: %w", err)
		}
		t.Issues = append(t.Issues, wallet.Issue{Blockhash: hash, At: s.Now().UTC()})
		view = s.view(t, message)
		return tx.PutTransaction(t)
	})
	return view, err
}

// Submit takes the signature over one of the messages that were issued, named by the lowercase hex
// SHA-256 of its bytes. The first valid one is the only one that the transaction will ever have;
// the same again is answered with the present status. Signed bytes are durable when it returns.
func (s *Signing) Submit(ctx context.Context, signID, messageSHA256 string, sig wallet.Signature) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := bySignID(tx, signID)
		if err != nil {
			return err
		}
		if t.Signature == sig && len(t.Signed) > 0 { // the answer to the first try was lost
			status = t.Status
			return nil
		}
		if err := t.SignableAt(s.Now()); err != nil {
			return err
		}
		message, err := s.issued(t, messageSHA256)
		if err != nil {
			return err
		}
		if !s.Messages.Verify(message, t.From, sig) {
			return wallet.Refuse(wallet.InvalidSignature, "the signature is not one by this wallet over this transaction")
		}
		if t.Signed, err = s.Messages.Assemble(message, sig); err != nil {
			return fmt.Errorf("assemble the signed transaction: %w", err)
		}
		t.Signature = sig
		t, err = store.Step(tx, t, wallet.Change{By: wallet.DeviceSigned, At: s.Now().UTC()})
		status = t.Status
		return err
	})
	return status, err
}

// issued finds the message that the device says it signed among those that were handed out.
func (s *Signing) issued(t wallet.Transaction, messageSHA256 string) ([]byte, error) {
	for _, issue := range t.Issues {
		message, err := s.Messages.WithBlockhash(t.Message, issue.Blockhash.Hash)
		if err != nil {
			return nil, fmt.Errorf("put the blockhash in: %w", err)
		}
		sum := sha256.Sum256(message)
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(messageSHA256)) == 1 {
			return message, nil
		}
	}
	return nil, wallet.Refuse(wallet.InvalidSignature, "what was signed is not what was asked to be signed")
}

// Reject is the owner's no, on the device.
func (s *Signing) Reject(ctx context.Context, signID string) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := bySignID(tx, signID)
		if err != nil {
			return err
		}
		if t.Status == wallet.Rejected { // said twice
			status = t.Status
			return nil
		}
		t, err = store.Step(tx, t, wallet.Change{By: wallet.OwnerRejected, At: s.Now().UTC(),
			Failure: wallet.UserRejected, Reason: "The owner rejected the transaction on the device."})
		status = t.Status
		return err
	})
	return status, err
}
