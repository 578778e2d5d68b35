package handlers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// SigningChain gives out blockhashes.
type SigningChain interface {
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	BlockHeight(ctx context.Context) (uint64, error)
	// Find looks through history, by signature and by reference; nil when it is not there.
	Find(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, error)
}

// Messages are the pure operations on a transaction's bytes that signing needs.
type Messages struct {
	WithBlockhash func(message []byte, hash [32]byte) ([]byte, error)
	Verify        func(message []byte, signer wallet.Address, sig wallet.Signature) bool
	Assemble      func(message []byte, sig wallet.Signature) ([]byte, error)
	// CheckSigned judges a whole transaction that a wallet handed back, and returns its signature.
	CheckSigned func(message []byte, hash [32]byte, signer wallet.Address, signed []byte) (wallet.Signature, error)
}

// Signing is the device's side of a transaction: whoever holds the secret sign id of a link may look, refuse, and hand
// in a signature by the owner's key (docs/architecture.md, Custody and the signing page). It broadcasts nothing.
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
	// Contact is the owner's own name for the recipient, App that of the program that asked (or the end of its key
	// where it has no app); "" without. The bytes prove neither: a device shows them as the server's word.
	Contact, App string
}

const deadSignLink = "signing.dead_link"

// Get shows the transaction behind a sign link, with its blockhash zeroed.
func (s *Signing) Get(ctx context.Context, signID string) (SignView, error) {
	return read(ctx, s.Store, func(tx store.Tx) (SignView, error) {
		t, err := bySignID(tx, signID)
		if err != nil {
			return SignView{}, err
		}
		view := s.view(t, t.Message)
		if view.Contact, err = ContactName(tx, t); err != nil {
			return SignView{}, err
		}
		view.App, err = appNameOf(tx, t.KeyID)
		return view, err
	})
}

// appNameOf names the program behind a key; "" for none, and for a key that is gone.
func appNameOf(tx store.Tx, keyID string) (string, error) {
	if keyID == "" {
		return "", nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	app, err := tx.App(key.App)
	if errors.Is(err, store.ErrNotFound) {
		return "API key …" + key.Hint, nil
	}
	return app.Name, err
}

// Which says how a transaction to be signed is found, and so who has the right to it.
type Which struct {
	find   func(store.Tx) (wallet.Transaction, error)
	reject wallet.Reason // what is said of a rejection by them
}

// ByLink is the transaction of a sign link: whoever holds its secret is the owner's device.
func ByLink(signID string) Which {
	return Which{func(tx store.Tx) (wallet.Transaction, error) { return bySignID(tx, signID) },
		wallet.Because("failed_because.rejected_on_device")}
}

// ByOwner is a transaction of the caller's, by its id: their program's way to it.
func ByOwner(who Caller, id wallet.TransactionID) Which {
	return Which{func(tx store.Tx) (wallet.Transaction, error) { return authorizeOwner(tx, who, id) },
		wallet.Because("failed_because.rejected_by_program")}
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

// View shows a transaction with the newest blockhash that was issued for it.
func (s *Signing) View(t wallet.Transaction) (SignView, error) {
	last, ok := t.LastIssuedBlockhash()
	if !ok {
		return s.view(t, t.Message), nil
	}
	message, err := s.Messages.WithBlockhash(t.Message, last.Blockhash.Hash)
	if err != nil {
		return SignView{}, fmt.Errorf("put the blockhash in: %w", err)
	}
	return s.view(t, message), nil
}

// Refresh issues a fresh blockhash, and remembers it: whatever is signed with it may land until its
// end. One that was issued a moment ago is handed out again, so that impatience uses nothing up. At
// most MaxRefreshes for one transaction, then RATE_LIMIT_EXCEEDED.
func (s *Signing) Refresh(ctx context.Context, which Which) (SignView, error) {
	may := func(tx store.Tx) (wallet.Transaction, error) {
		t, err := which.find(tx)
		if err != nil {
			return t, err
		}
		if err := t.SignableAt(s.Now()); err != nil {
			return t, err
		}
		if !t.FreshAt(s.Now()) && len(t.IssuedBlockhashes) >= wallet.MaxRefreshes {
			return t, wallet.Refuse(wallet.RateLimitExceeded, "signing.opened_often")
		}
		return t, nil
	}
	waiting, err := read(ctx, s.Store, may)
	if err != nil {
		return SignView{}, err
	}
	if waiting.FreshAt(s.Now()) {
		return s.View(waiting)
	}
	// This database may be an older one than the chain knows of: what it waits for may have been paid.
	query, err := s.Store.Kinds().Query(waiting)
	if err != nil {
		return SignView{}, err
	}
	switch landing, err := s.Chain.Find(ctx, query); {
	case err != nil:
		return SignView{}, err
	case landing != nil:
		return SignView{}, wallet.Refuse(wallet.Conflict, "signing.landed")
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
		if t.FreshAt(s.Now()) { // somebody else was faster
			view, err = s.View(t)
			return err
		}
		t.IssuedBlockhashes = append(t.IssuedBlockhashes, wallet.IssuedBlockhash{Blockhash: hash, At: s.Now().UTC()})
		if view, err = s.View(t); err != nil {
			return err
		}
		return tx.PutTransaction(t)
	})
	return view, err
}

// BlocksLeft is how many more blocks may hold a transaction that is signed with the newest blockhash issued for
// it; zero and less: it can never land. A device asks before it hands in what took a person a while to sign, since
// a blockhash lives 150 blocks, which is well under a minute and gets shorter. CONFLICT when nothing was issued.
func (s *Signing) BlocksLeft(ctx context.Context, which Which) (int64, error) {
	t, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) {
		t, err := which.find(tx)
		if err != nil {
			return t, err
		}
		return t, t.SignableAt(s.Now())
	})
	if err != nil {
		return 0, err
	}
	last, ok := t.LastIssuedBlockhash()
	if !ok {
		return 0, wallet.Refuse(wallet.Conflict, "signing.no_blockhash")
	}
	height, err := s.Chain.BlockHeight(ctx)
	if err != nil {
		return 0, err
	}
	return int64(last.Blockhash.LastValidBlockHeight) - int64(height), nil
}

// Signature is what a device hands in: a signature over one of the messages that were issued, named
// by the lowercase hex SHA-256 of its bytes ("" for the newest); or a whole transaction, from a
// wallet that may have added to it.
type Signature struct {
	Over      string
	Signature wallet.Signature
	Signed    []byte // wire bytes; nil without
}

// Submit takes what a device signed. The first valid one is the only one that the transaction will
// ever have; the same again is answered with the present status. Signed bytes are durable when it
// returns.
func (s *Signing) Submit(ctx context.Context, which Which, given Signature) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := which.find(tx)
		if err != nil {
			return err
		}
		if t.AlreadySigned(given.Signature, given.Signed) { // the answer to the first try was lost
			status = t.Status
			return nil
		}
		if err := t.SignableAt(s.Now()); err != nil {
			return err
		}
		if t.Signed, t.Signature, err = s.accept(t, given); err != nil {
			return err
		}
		t, err = store.Step(tx, t, wallet.TransitionInput{By: wallet.DeviceSigned, At: s.Now().UTC()})
		status = t.Status
		return err
	})
	return status, err
}

// accept judges what was signed, and returns the bytes that go over the wire with their signature.
func (s *Signing) accept(t wallet.Transaction, given Signature) ([]byte, wallet.Signature, error) {
	if given.Signed != nil {
		if len(given.Signed) > 0 && given.Signed[0] == wallet.MessageV1Prefix {
			return nil, wallet.Signature{}, wallet.Refuse(wallet.InvalidSignature,
				"signing.version")
		}
		last, ok := t.LastIssuedBlockhash()
		if !ok {
			return nil, wallet.Signature{}, wallet.Refuse(wallet.InvalidSignature, "signing.other_message")
		}
		signature, err := s.Messages.CheckSigned(t.Message, last.Blockhash.Hash, t.From, given.Signed)
		if err != nil {
			return nil, wallet.Signature{}, &wallet.Error{Code: wallet.InvalidSignature,
				Reason: wallet.Because("signing.changed"), Err: err}
		}
		return given.Signed, signature, nil
	}
	message, err := s.issued(t, given.Over)
	if err != nil {
		return nil, wallet.Signature{}, err
	}
	if !s.Messages.Verify(message, t.From, given.Signature) {
		return nil, wallet.Signature{}, wallet.Refuse(wallet.InvalidSignature, "signing.wrong_signature")
	}
	signed, err := s.Messages.Assemble(message, given.Signature)
	if err != nil {
		return nil, wallet.Signature{}, fmt.Errorf("assemble the signed transaction: %w", err)
	}
	return signed, given.Signature, nil
}

// issued finds the message that the device says it signed among those that were handed out.
func (s *Signing) issued(t wallet.Transaction, messageSHA256 string) ([]byte, error) {
	if last, ok := t.LastIssuedBlockhash(); ok && messageSHA256 == "" {
		return s.Messages.WithBlockhash(t.Message, last.Blockhash.Hash)
	}
	for _, issue := range t.IssuedBlockhashes {
		message, err := s.Messages.WithBlockhash(t.Message, issue.Blockhash.Hash)
		if err != nil {
			return nil, fmt.Errorf("put the blockhash in: %w", err)
		}
		sum := sha256.Sum256(message)
		if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(messageSHA256)) == 1 {
			return message, nil
		}
	}
	return nil, wallet.Refuse(wallet.InvalidSignature, "signing.other_message")
}

// Reject is the owner's no, on the device or by their program, before or after their Confirm.
func (s *Signing) Reject(ctx context.Context, which Which) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := which.find(tx)
		if err != nil {
			return err
		}
		if t.Status == wallet.Rejected { // said twice
			status = t.Status
			return nil
		}
		t, err = store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: s.Now().UTC(),
			Failure: wallet.UserRejected, Reason: which.reject})
		status = t.Status
		return err
	})
	return status, err
}
