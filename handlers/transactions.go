package handlers

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Network is what every kind of transaction needs of the chain before it is proposed and confirmed. Errors are
// NETWORK_ERROR unless stated otherwise.
type Network interface {
	// UnitPrice returns a recent priority fee for transactions that write the same accounts, in micro-lamports per
	// compute unit.
	UnitPrice(ctx context.Context, written []wallet.Address) (uint64, error)
	// Fee returns what the network charges for a message, in lamports: signature fee and priority fee.
	Fee(ctx context.Context, message []byte) (uint64, error)
	// Blockhash returns the newest blockhash with the last block height at which it is valid.
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	// Simulate runs a message without effect (simulateTransaction) and returns the compute units it used. The error is a
	// *wallet.PreflightError if the message would fail.
	Simulate(ctx context.Context, message []byte) (uint64, error)
}

// MessageBuilder builds the messages that owners sign. chain.Codec implements it.
type MessageBuilder interface {
	// Build returns the unsigned message that does the actions in their order, with a zero blockhash.
	Build(t wallet.Transaction, actions []wallet.Action) ([]byte, error)
}

// Transactions takes proposals of every kind from pricing to the owner's signature: it proposes, confirms, retries,
// rejects and reads them. What differs between kinds is in Operation and wallet.Rules. No method here tests for a kind.
type Transactions struct {
	Store      store.Store
	Network    Network
	Messages   MessageBuilder
	Operations []Operation   // one for each kind that can be proposed
	Rules      []wallet.Rule // what transactions are judged by: wallet.FraudRules
	// Blocked are the addresses that the operator has blocked; nil: none.
	Blocked *BlockedAddresses
	Now     Clock
	NewID   IDs
	Random  io.Reader
}

// Operation is what handlers knows of one kind of transaction that can be proposed.
type Operation struct {
	Kind wallet.Kind
	// Load reads from the chain what the transaction is judged by. It does not subtract reservations: Transactions does,
	// with Snapshot.NetOfReservations.
	Load func(context.Context, wallet.Transaction) (Snapshot, error)
	// Retry prepares a proposal with the same terms to replace a transaction that can never land. The new one names it in
	// RetryOf.
	Retry func(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error)
}

// Snapshot is the state of the chain when a transaction was loaded. It is immutable: methods return changed copies.
type Snapshot interface {
	// NetOfReservations subtracts what confirmed but unfinished transactions have reserved.
	NetOfReservations(store.Tx) (Snapshot, error)
	// Complete fills in the terms that depend on the network fee (Transaction.Fee), such as the largest amount. It
	// refuses what cannot be afforded. It may be called again with another fee.
	Complete(wallet.Transaction) (wallet.Transaction, error)
	// StillFits returns an error if the transaction would now do something other than its owner was shown.
	StillFits(wallet.Transaction) error
	// Remaining returns how many base units of the transaction's token remain after it, for a transaction that fits.
	Remaining(wallet.Transaction) uint64
	// FillRuleInput sets the Mint and the Accounts that the fraud rules judge the transaction by, if it moves tokens.
	FillRuleInput(*wallet.RuleInput)
}

// Proposal is a transaction that was found possible. Nothing of it is stored until it is committed.
type Proposal struct {
	Transaction wallet.Transaction
	snapshot    Snapshot
	who         Caller
	// signedByProgram means that a program signs with the key of its wallet. That signature is the confirmation, and nobody is asked in
	// chat. over is the blockhash that it signs over at once; nil if it has to wait first, or if the owner confirms in chat.
	signedByProgram bool
	over            *wallet.Blockhash
}

// operation returns the Operation of a kind. The error is wallet.ErrUnknownKind for kinds that cannot be proposed.
func (s *Transactions) operation(kind wallet.Kind) (Operation, error) {
	at := slices.IndexFunc(s.Operations, func(o Operation) bool { return o.Kind == kind })
	if at < 0 {
		return Operation{}, fmt.Errorf("%w: nobody can propose %q", wallet.ErrUnknownKind, kind)
	}
	return s.Operations[at], nil
}

// load returns the snapshot by which a transaction is judged, net of reservations.
func (s *Transactions) load(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	operation, err := s.operation(t.Kind)
	if err != nil {
		return nil, err
	}
	snapshot, err := operation.Load(ctx, t)
	if err != nil {
		return nil, err
	}
	return read(ctx, s.Store, snapshot.NetOfReservations)
}

// Propose completes a draft: it adds the reference, fee, message and warnings, and simulates it. from is the wallet that
// signs. ask requires the owner's confirmation in chat even if a program holds the key. The draft must have its owner and
// the terms of its kind. Nothing is stored, but what an app of somebody else proposes is counted, and what private rules refuse it (probing.go).
func (s *Transactions) Propose(ctx context.Context, who Caller, from wallet.Wallet, ask bool, t wallet.Transaction, snapshot Snapshot) (Proposal, error) {
	if err := s.mayProbe(ctx, who.KeyID, t.Owner); err != nil {
		return Proposal{}, err
	}
	p, err := s.propose(ctx, who, from, ask, t, snapshot, s.assessIn)
	if err != nil {
		return Proposal{}, cmp.Or(s.countRefusal(ctx, who.KeyID, t.Owner, err), err)
	}
	return p, nil
}

// propose is Propose. judge judges the complete transaction.
func (s *Transactions) propose(ctx context.Context, who Caller, from wallet.Wallet, ask bool, t wallet.Transaction, snapshot Snapshot, judge assessment) (Proposal, error) {
	rules, err := s.Store.Kinds().Of(t.Kind)
	if err != nil {
		return Proposal{}, err
	}
	now := s.Now().UTC()
	t.ID, t.Status, t.KeyID, t.Signer = wallet.TransactionID(s.NewID("tx")), wallet.AwaitingConfirmation, who.KeyID, from.Type
	t.CreatedAt = now
	if end := now.Add(wallet.ConfirmWindow); t.Deadline.IsZero() || t.Deadline.After(end) { // the draft may end sooner: a quote does
		t.Deadline = end
	}
	// A fresh public key identifies the transaction on chain, whatever signature it gets (Solana Pay).
	if err := distinctReferences(t, rules); err != nil {
		return Proposal{}, err
	}
	if t.Reference.IsZero() {
		if _, err := io.ReadFull(s.Random, t.Reference[:]); err != nil {
			return Proposal{}, fmt.Errorf("draw a reference: %w", err)
		}
	}
	if snapshot, err = read(ctx, s.Store, snapshot.NetOfReservations); err != nil {
		return Proposal{}, err
	}
	if t, err = s.price(ctx, t, rules, snapshot); err != nil {
		return Proposal{}, err
	}
	// A program that holds the wallet's key signs without a confirmation in chat. A suspicious recipient always goes to the chat.
	signedByProgram := t.Signer == wallet.DeveloperWallet && who.KeyLineage != "" && who.owns(from) && !ask
	t, signedByProgram, err = s.assess(ctx, t, rules, signedByProgram, snapshot, judge)
	if err != nil {
		return Proposal{}, err
	}
	p := Proposal{Transaction: t, snapshot: snapshot, who: who, signedByProgram: signedByProgram}
	// A program needs a blockhash to sign over. If it has to wait, it gets one after the delay.
	if p.signedByProgram && t.DelayFor == 0 {
		hash, err := s.Network.Blockhash(ctx)
		if err != nil {
			return Proposal{}, err
		}
		p.over = &hash
	}
	return p, nil
}

// distinctReferences refuses references of a payment link that appear twice, or that are accounts the transaction
// changes: a reference must be a read-only account that nothing else uses.
func distinctReferences(t wallet.Transaction, rules wallet.Rules) error {
	for i, reference := range t.LinkReferences {
		if reference == t.To || slices.Contains(rules.Writes(t), reference) || slices.Contains(t.LinkReferences[:i], reference) {
			return wallet.Refuse(wallet.InvalidRequest, "pay_link.bad_reference")
		}
	}
	return nil
}

// Commit stores a proposal, and the job that ends it at its deadline. It then waits for the owner's Confirm. Nothing is
// reserved yet, so proposals cannot block each other. CONFLICT if a transaction that it retries was replaced since,
// POLICY_VIOLATION if the owner's account is frozen.
func (s *Transactions) Commit(tx store.Tx, p Proposal) error {
	if err := usable(tx, p.Transaction.Owner, p.who.useOf(p.Transaction.Owner)); err != nil {
		return err
	}
	if err := s.replaces(tx, p.Transaction); err != nil {
		return err
	}
	return store.Create(tx, p.Transaction)
}

// Reject ends a transaction that is not signed yet, at its owner's request. Errors: TRANSACTION_NOT_FOUND; CONFLICT if it
// is signed or has ended.
func (s *Transactions) Reject(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return s.reject(tx, who, id, "failed_because.rejected")
}

// replaced is the reason of a transaction that its owner rejected by starting another one instead.
const replaced = "failed_because.replaced"

// Replace is Reject for an owner who has started another payment instead, for example to correct the amount.
func (s *Transactions) Replace(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return s.reject(tx, who, id, replaced)
}

// IsReplaced reports whether a transaction was rejected by Replace.
func IsReplaced(t wallet.Transaction) bool {
	return t.Status == wallet.Rejected && t.ErrorReason.Key == replaced
}

// reject rejects a transaction of the caller's own for the reason of this key.
func (s *Transactions) reject(tx store.Tx, who Caller, id wallet.TransactionID, reason string) (wallet.Transaction, error) {
	t, err := authorizeOwner(tx, who, id)
	if err != nil {
		return t, err
	}
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: s.Now().UTC(),
		Failure: wallet.UserRejected, Reason: wallet.Because(reason)})
}

// Of returns a transaction of the caller's own. TRANSACTION_NOT_FOUND for those of others.
func (s *Transactions) Of(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return authorizeOwner(tx, who, id) })
}

// Read returns a transaction that the caller may see: their own; for an app, those of people who granted wallet:read; for
// an operator's key, any. All others are TRANSACTION_NOT_FOUND, so that IDs cannot be probed.
func (s *Transactions) Read(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) {
		t, err := authorizeOwner(tx, who, id)
		if err == nil || wallet.CodeOf(err) != wallet.TransactionNotFound {
			return t, err
		}
		other, missing := tx.Transaction(id)
		if missing != nil {
			return t, err
		}
		if who.operator() {
			return other, nil
		}
		switch ok, grantErr := granted(tx, who, other.Owner, wallet.WalletRead); {
		case grantErr != nil:
			return t, grantErr
		case ok:
			return other, nil
		}
		return t, err
	})
}

// OpenTransactions lists the transactions that can still change, of all wallets a person has now. It includes those that
// a program proposed, and none of a wallet's earlier owner.
func OpenTransactions(tx store.Tx, person wallet.UserID) (open []wallet.Transaction, _ error) {
	wallets, err := tx.WalletsOf(person)
	if err != nil {
		return nil, err
	}
	for _, w := range wallets {
		of, err := tx.UnsettledFrom(w.Address)
		if err != nil {
			return nil, err
		}
		for _, t := range of {
			if t.Owner == person || t.Owner == "" {
				open = append(open, t)
			}
		}
	}
	return open, nil
}

// couldLand lists the transactions of a person that are open (OpenTransactions) or that they made from a wallet which they no longer
// have: disconnecting a wallet stops nothing that may have been signed.
func couldLand(tx store.Tx, person wallet.UserID) ([]wallet.Transaction, error) {
	open, err := OpenTransactions(tx, person)
	if err != nil {
		return nil, err
	}
	own, err := tx.UnsettledOf(person)
	if err != nil {
		return nil, err
	}
	known := map[wallet.TransactionID]bool{}
	return slices.DeleteFunc(append(open, own...), func(t wallet.Transaction) bool {
		twice := known[t.ID]
		known[t.ID] = true
		return twice || len(t.IssuedBlockhashes) == 0
	}), nil
}

// authorizeRead returns a wallet if the caller may see its history. WALLET_NOT_FOUND otherwise, whether or not it exists.
func authorizeRead(tx store.Tx, who Caller, address wallet.Address) (wallet.Wallet, error) {
	const none = "wallet_access.none"
	w, err := tx.Wallet(address)
	switch {
	case err != nil:
		return w, wallet.About("address", found(err, wallet.WalletNotFound, none))
	case who.owns(w), who.operator():
		return w, nil
	}
	ok, err := granted(tx, who, w.Owner, wallet.WalletRead)
	if err != nil || ok {
		return w, err
	}
	return w, wallet.About("address", wallet.Refuse(wallet.WalletNotFound, none))
}

// authorizeOwner returns a transaction if it belongs to the caller. Other people's transactions are
// TRANSACTION_NOT_FOUND, as if they did not exist.
func authorizeOwner(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	const unknown = "transaction_id.unknown"
	t, err := tx.Transaction(id)
	if err != nil {
		return t, found(err, wallet.TransactionNotFound, unknown)
	}
	ours := t.Owner == who.User
	if who.User == "" { // an operator's key owns what its lineage created
		lineage, err := lineageOf(tx, t.KeyID)
		if err != nil {
			return wallet.Transaction{}, err
		}
		ours = who.KeyLineage != "" && t.Owner == "" && lineage == who.KeyLineage
	}
	if !ours {
		return wallet.Transaction{}, wallet.Refuse(wallet.TransactionNotFound, unknown)
	}
	return t, nil
}
