package handlers

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// SigningChain is what signing needs of the chain. All errors are NETWORK_ERROR.
type SigningChain interface {
	// Blockhash returns the newest blockhash (getLatestBlockhash).
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	// BlockHeight returns the current block height, in blocks and not in slots.
	BlockHeight(ctx context.Context) (uint64, error)
	// Find searches the history by signature and by reference. It returns nil if the transaction is not there.
	Find(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, error)
}

// SignatureVerifier checks signatures. chain.Messages implements it.
type SignatureVerifier interface {
	// VerifySignature reports whether sig is the signer's signature over message. It must be false for small-order public
	// keys, for which anybody can make a signature.
	VerifySignature(message []byte, signer wallet.Address, sig wallet.Signature) bool
}

// Messages is what signing does with the bytes of messages and transactions, without a network. chain.Messages implements
// it.
type Messages interface {
	SignatureVerifier
	// WithBlockhash returns a copy of a message with another blockhash.
	WithBlockhash(message []byte, hash [32]byte) ([]byte, error)
	// Assemble joins a message and its signature into a transaction. It does not verify the signature.
	Assemble(message []byte, sig wallet.Signature) ([]byte, error)
	// CheckSigned checks a whole transaction from a wallet, which may have added instructions, and returns its signature.
	CheckSigned(message []byte, hash [32]byte, signer wallet.Address, signed []byte) (wallet.Signature, error)
}

// Signing is the device's side of a transaction. Anybody with the secret ID of a signing link can read the transaction,
// reject it, and submit a signature by the owner's key (docs/architecture.md, Custody and the signing page). Signing
// broadcasts nothing: settle does, once the bytes are stored.
type Signing struct {
	Store    store.Store
	Chain    SigningChain
	Messages Messages
	Cluster  string
	Now      Clock
}

// SignView is what a device gets. Message is nil unless a signature is still awaited, or will be when a delay ends.
type SignView struct {
	Status      wallet.Status
	Address     wallet.Address
	Chain       string
	Message     []byte
	Transaction wallet.Transaction
	// Contact is the owner's own name for the recipient, "" without one. By is who made the proposal. The signed bytes prove
	// neither, so a device shows them as the server's claim.
	Contact string
	By      Requester
	// DefaultChangedAt is when another wallet became the owner's default, if this one was it before; zero: not lately. Only Get sets it.
	DefaultChangedAt time.Time
	// Limits is the policy of the wallet as it is now; nil for a wallet without. Only Get and Refresh read it.
	Limits *wallet.WalletPolicy
}

const deadSignLink = "signing.dead_link"

// Get returns the transaction behind a signing link, with a zero blockhash. It can be shown but not signed: Refresh
// returns the message to sign. NOT_FOUND for an unknown link.
func (s *Signing) Get(ctx context.Context, signID string) (SignView, error) {
	return read(ctx, s.Store, func(tx store.Tx) (SignView, error) {
		t, err := bySignID(tx, signID)
		if err != nil {
			return SignView{}, err
		}
		view := s.view(t, t.Message)
		if t.Status == wallet.Delayed { // the page shows it, so that its own wait for the recipient can begin
			view.Message = t.Message
		}
		if view.Contact, err = ContactName(tx, t); err != nil {
			return SignView{}, err
		}
		if view.DefaultChangedAt, err = defaultChangedAt(tx, t, s.Now()); err != nil {
			return SignView{}, err
		}
		if view.By, err = RequesterOf(tx, t.KeyID); err != nil {
			return SignView{}, err
		}
		view.Limits, err = s.limits(tx, t)
		return view, err
	})
}

// limits returns the stored policy of the wallet that pays, as it is now; nil for none.
func (s *Signing) limits(tx store.Tx, t wallet.Transaction) (*wallet.WalletPolicy, error) {
	stored, err := tx.Policy(t.Owner, t.From)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	stored = stored.At(s.Now())
	return &stored, nil
}

// Requester is who asked for something with a key. At most one of its fields is set: both are "" for no key, and for a
// deleted one. They are apart, so that no app can pass for a key by its name.
type Requester struct {
	App     string // the name of the key's app
	KeyHint string // the last characters of a key without an app
}

// RequesterOf returns who asks with a key, inside a store transaction.
func RequesterOf(tx store.Tx, keyID string) (Requester, error) {
	if keyID == "" {
		return Requester{}, nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return Requester{}, nil
	}
	if err != nil {
		return Requester{}, err
	}
	app, err := tx.App(key.App)
	if errors.Is(err, store.ErrNotFound) {
		return Requester{KeyHint: key.Hint}, nil
	}
	return Requester{App: app.Name}, err
}

// SigningAccess selects a transaction to sign and carries the right to do so: the secret of a link, or ownership.
type SigningAccess struct {
	find   func(store.Tx) (wallet.Transaction, error) // checks the right; runs in each store transaction again
	reject wallet.Reason                              // the reason to record if this party rejects the transaction
}

// ByLink selects the transaction of a signing link. Its secret was sent to the owner's chat only.
func ByLink(signID string) SigningAccess {
	return SigningAccess{func(tx store.Tx) (wallet.Transaction, error) { return bySignID(tx, signID) },
		wallet.Because("failed_because.rejected_on_device")}
}

// ByOwner selects one of the caller's own transactions by ID. Programs that hold a wallet's key use it.
func ByOwner(who Caller, id wallet.TransactionID) SigningAccess {
	find := func(tx store.Tx) (wallet.Transaction, error) {
		t, err := authorizeOwner(tx, who, id)
		if err != nil {
			return t, err
		}
		return t, usable(tx, t.Owner, who.useOf(t.Owner))
	}
	return SigningAccess{find,
		wallet.Because("failed_because.rejected_by_program")}
}

// bySignID finds a transaction by the secret of its link. NOT_FOUND, POLICY_VIOLATION if its owner's account is frozen.
func bySignID(tx store.Tx, signID string) (wallet.Transaction, error) {
	if signID == "" {
		return wallet.Transaction{}, wallet.Refuse(wallet.NotFound, deadSignLink)
	}
	t, err := tx.TransactionBySignID(signID)
	if err != nil {
		return t, found(err, wallet.NotFound, deadSignLink)
	}
	return t, usable(tx, t.Owner, wallet.ByDevice)
}

// view returns what a device may see of t. The message is left out when it can no longer be signed.
func (s *Signing) view(t wallet.Transaction, message []byte) SignView {
	v := SignView{Status: t.Status, Address: t.From, Chain: s.Cluster, Transaction: t}
	if t.SignableAt(s.Now()) == nil {
		v.Message = message
	} else if t.Status == wallet.AwaitingSignature {
		v.Status = wallet.Expired // its deadline has passed; settle records that within moments
	}
	return v
}

// View returns a transaction with its newest issued blockhash, or with a zero one if none was issued yet.
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

// Refresh issues a fresh blockhash for a transaction and returns the message to sign. The blockhash is stored before it
// is returned: whatever is signed with it could land until its last valid block height, and the never-to-land rule has to
// know that height.
//
// A blockhash issued less than wallet.FreshFor ago is returned again. One transaction gets wallet.MaxRefreshes at most,
// then RATE_LIMIT_EXCEEDED. CONFLICT when it cannot be signed any more, or has landed already.
func (s *Signing) Refresh(ctx context.Context, which SigningAccess) (SignView, error) {
	view, err := s.refresh(ctx, which)
	if err != nil {
		return SignView{}, err
	}
	view.Limits, err = read(ctx, s.Store, func(tx store.Tx) (*wallet.WalletPolicy, error) { return s.limits(tx, view.Transaction) })
	return view, err
}

// refresh is Refresh without the limits of the wallet.
func (s *Signing) refresh(ctx context.Context, which SigningAccess) (SignView, error) {
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
	// First without writing, so that a dead or recently refreshed link costs no RPC call.
	waiting, err := read(ctx, s.Store, may)
	if err != nil {
		return SignView{}, err
	}
	if waiting.FreshAt(s.Now()) {
		return s.View(waiting)
	}
	// The store may have been restored from an older backup than the chain: then this payment may have been made already,
	// and must not be signed a second time.
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
	// Check everything again: another device may have signed or refreshed during the RPC calls.
	var view SignView
	err = s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := may(tx)
		if err != nil {
			return err
		}
		if t.FreshAt(s.Now()) { // another request was faster: share its blockhash
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

// BlocksLeft returns for how many more blocks a transaction signed with its newest blockhash can land. Zero or less means
// never. A device asks before it submits a signature that took its owner a while: a blockhash is valid for 150 blocks,
// which is less than a minute. CONFLICT when none was issued.
func (s *Signing) BlocksLeft(ctx context.Context, which SigningAccess) (int64, error) {
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

// Signature is what a device submits. It is either a signature over one of the issued messages, or a whole signed
// transaction from a wallet that may have added instructions.
type Signature struct {
	Over      string // lowercase hex SHA-256 of the signed message; "" for the newest
	Signature wallet.Signature
	Signed    []byte // wire bytes of the whole transaction; nil for a bare signature
}

// Submit takes what a device signed. The first valid signature is the only one a transaction ever gets. Submitting the
// same one again returns the current status. When Submit returns without error, the signed bytes are durable, and the job
// that broadcasts them is due.
//
// Errors: INVALID_SIGNATURE, CONFLICT when the transaction cannot be signed any more, NOT_FOUND or TRANSACTION_NOT_FOUND.
func (s *Signing) Submit(ctx context.Context, which SigningAccess, given Signature) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := which.find(tx)
		if err != nil {
			return err
		}
		if t.AlreadySigned(given.Signature, given.Signed) { // the response to the first request was lost
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

// accept verifies what was signed, and returns the wire bytes to broadcast and their signature.
func (s *Signing) accept(t wallet.Transaction, given Signature) ([]byte, wallet.Signature, error) {
	if given.Signed != nil {
		if len(given.Signed) > 0 && given.Signed[0] == wallet.MessageV1Prefix {
			return nil, wallet.Signature{}, wallet.Refuse(wallet.InvalidSignature,
				"signing.version")
		}
		// A whole transaction must contain the newest blockhash and the intended instructions, unchanged and in order.
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
	// A bare signature must be over a message that was issued. The wire bytes are assembled here.
	message, err := s.issued(t, given.Over)
	if err != nil {
		return nil, wallet.Signature{}, err
	}
	if !s.Messages.VerifySignature(message, t.From, given.Signature) {
		return nil, wallet.Signature{}, wallet.Refuse(wallet.InvalidSignature, "signing.wrong_signature")
	}
	signed, err := s.Messages.Assemble(message, given.Signature)
	if err != nil {
		return nil, wallet.Signature{}, fmt.Errorf("assemble the signed transaction: %w", err)
	}
	return signed, given.Signature, nil
}

// issued returns the issued message with the given SHA-256. INVALID_SIGNATURE if no issued message has it.
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

// Reject records that the owner rejects a transaction, on the device or by their program, before or after Confirm. A
// second rejection returns the same status. CONFLICT if it is signed or has ended.
func (s *Signing) Reject(ctx context.Context, which SigningAccess) (wallet.Status, error) {
	var status wallet.Status
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := which.find(tx)
		if err != nil {
			return err
		}
		if t.Status == wallet.Rejected { // a repeated request
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
