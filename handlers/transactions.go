package handlers

import (
	"context"
	"fmt"
	"io"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Network is what every transaction needs of the chain before it is proposed and confirmed.
type Network interface {
	// UnitPrice is what others paid lately for writing the same accounts, in micro-lamports a unit.
	UnitPrice(ctx context.Context, written []wallet.Address) (uint64, error)
	// Fee is what the network charges for a message, in lamports.
	Fee(ctx context.Context, message []byte) (uint64, error)
	// Blockhash is the newest one.
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	// Simulate tells how many compute units a message takes; *wallet.PreflightError when it would fail.
	Simulate(ctx context.Context, message []byte) (uint64, error)
}

// Transactions carry proposals of every kind to the owner's signature: priced, proposed, confirmed, tried again,
// rejected, looked up. What differs from kind to kind are its Operation here and its wallet.Rules; nothing in these
// methods asks which kind it is.
type Transactions struct {
	Store      store.Store
	Network    Network
	Operations []Operation                                               // of the kinds that can be proposed
	Build      func(wallet.Transaction, []wallet.Action) ([]byte, error) // the unsigned message, blockhash zeroed
	Now        Clock
	NewID      IDs
	Random     io.Reader
}

// Operation is what handlers know of one kind of transaction that people propose.
type Operation struct {
	Kind wallet.Kind
	// Load reads from the chain what a transaction is judged by. Reservations are taken off afterwards.
	Load func(context.Context, wallet.Transaction) (Snapshot, error)
	// Retry prepares a proposal with the same terms in the place of one that can never land; its RetryOf names it.
	Retry func(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error)
}

// Snapshot is what the chain held when a transaction was loaded. It judges, and changes nothing.
type Snapshot interface {
	// NetOfReservations is the snapshot with what confirmed transactions hold back taken off.
	NetOfReservations(store.Tx) (Snapshot, error)
	// Complete finishes the terms once the network's fee is known (Fee): the largest amount, for example. It refuses
	// what cannot be afforded. It may be asked again with another fee.
	Complete(wallet.Transaction) (wallet.Transaction, error)
	// StillFits refuses a proposal that would not do now what its owner was shown.
	StillFits(wallet.Transaction) error
	// Left is how many base units of the transaction's token remain after it.
	Left(wallet.Transaction) uint64
}

// Proposal is a transaction that was found possible, ready to be committed.
type Proposal struct {
	Transaction wallet.Transaction
	snapshot    Snapshot
	who         Caller
	over        *wallet.Blockhash // that a program signs over at once, with its wallet's key: that signature is the confirmation; nil where the owner confirms
}

// operation finds how a kind is proposed.
func (s *Transactions) operation(kind wallet.Kind) (Operation, error) {
	at := slices.IndexFunc(s.Operations, func(o Operation) bool { return o.Kind == kind })
	if at < 0 {
		return Operation{}, fmt.Errorf("%w: nobody can propose %q", wallet.ErrUnknownKind, kind)
	}
	return s.Operations[at], nil
}

// load reads what a transaction is judged by, less what others have reserved.
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

// Propose makes a draft whole: with its reference, its fee, its message, what the network says of it, and what its owner
// should know. from is the wallet that signs it; ask has the owner confirm in chat, whoever signs. The draft has the
// terms of its kind, and its owner.
func (s *Transactions) Propose(ctx context.Context, who Caller, from wallet.Wallet, ask bool, t wallet.Transaction, snapshot Snapshot) (Proposal, error) {
	rules, err := s.Store.Kinds().Of(t.Kind)
	if err != nil {
		return Proposal{}, err
	}
	now := s.Now().UTC()
	t.ID, t.Status, t.KeyID, t.Signer = wallet.TransactionID(s.NewID("tx")), wallet.AwaitingConfirmation, who.KeyID, from.Type
	t.CreatedAt, t.Deadline = now, now.Add(wallet.ConfirmWindow)
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
	if t, err = s.recognized(ctx, t, rules); err != nil {
		return Proposal{}, err
	}
	p := Proposal{Transaction: t, snapshot: snapshot, who: who}
	if t.Signer == wallet.DeveloperWallet && who.KeyLineage != "" && who.owns(from) && !ask && t.PoisoningSuspect.IsZero() {
		hash, err := s.Network.Blockhash(ctx)
		if err != nil {
			return Proposal{}, err
		}
		p.over = &hash
	}
	return p, nil
}

// distinctReferences finds the references of a link good for a transaction: none may be an account that it changes.
func distinctReferences(t wallet.Transaction, rules wallet.Rules) error {
	for i, reference := range t.LinkReferences {
		if reference == t.To || slices.Contains(rules.Writes(t), reference) || slices.Contains(t.LinkReferences[:i], reference) {
			return wallet.Refuse(wallet.InvalidRequest, "pay_link.bad_reference")
		}
	}
	return nil
}

// Commit stores the proposal: it now waits for its owner's Confirm, and reserves nothing yet.
func (s *Transactions) Commit(tx store.Tx, p Proposal) error {
	if err := s.replaces(tx, p.Transaction); err != nil {
		return err
	}
	return store.Create(tx, p.Transaction)
}

// Reject ends a transaction that is not signed yet, by its owner's word.
func (s *Transactions) Reject(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	t, err := authorizeOwner(tx, who, id)
	if err != nil {
		return t, err
	}
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: s.Now().UTC(),
		Failure: wallet.UserRejected, Reason: wallet.Because("failed_because.rejected")})
}

// Of is a caller's own transaction.
func (s *Transactions) Of(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return authorizeOwner(tx, who, id) })
}

// Read is Of for whoever may look: an operator's key belongs to nobody and reads every transaction, an
// app those of people who let it.
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

// OpenTransactions lists what can still change of the wallets that a person has now, whoever asked for it.
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
		open = append(open, of...)
	}
	return open, nil
}

// authorizeRead tells whether a caller may see a wallet's history.
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

// authorizeOwner hides other people's transactions as if they did not exist.
func authorizeOwner(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	const unknown = "transaction_id.unknown"
	t, err := tx.Transaction(id)
	if err != nil {
		return t, found(err, wallet.TransactionNotFound, unknown)
	}
	ours := t.Owner == who.User
	if who.User == "" { // an operator's key has what it began itself
		line, err := lineOf(tx, t.KeyID)
		if err != nil {
			return wallet.Transaction{}, err
		}
		ours = who.KeyLineage != "" && t.Owner == "" && line == who.KeyLineage
	}
	if !ours {
		return wallet.Transaction{}, wallet.Refuse(wallet.TransactionNotFound, unknown)
	}
	return t, nil
}
