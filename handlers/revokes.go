package handlers

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
)

// RevokeChain is what revocations need to know of the chain. Errors are NETWORK_ERROR unless stated otherwise.
type RevokeChain interface {
	// RentMinimum returns the smallest balance an account with size bytes of data may have, in lamports.
	RentMinimum(ctx context.Context, size uint64) (uint64, error)
	// Mint reads a mint account. TOKEN_NOT_FOUND if the address is none.
	Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error)
	// DelegateFacts reads a wallet and a token account at one slot.
	DelegateFacts(ctx context.Context, owner, account wallet.Address) (wallet.DelegateFacts, error)
	// TokenDelegates lists who else may spend from the token accounts of an owner, unsorted and without symbols.
	TokenDelegates(ctx context.Context, owner wallet.Address) ([]wallet.TokenDelegate, error)
}

// Revokes shows who else may spend from a person's token accounts, and takes that right back (docs/decisions/0053). What
// happens to a proposal afterwards is the same for every kind (Transactions).
type Revokes struct {
	*Transactions
	Chain  RevokeChain
	Tokens Tokens
}

// Operation returns the Operation of revocations, for Transactions.Operations.
func (r *Revokes) Operation() Operation {
	return Operation{Kind: wallet.Revoke, Load: r.load, Retry: r.retry}
}

// Delegates lists who else may spend from the token accounts of one of the caller's wallets: of listed tokens first, each group
// sorted by name. A zero address means the default wallet, and the wallet is returned. WALLET_NOT_FOUND for wallets of others.
func (r *Revokes) Delegates(ctx context.Context, who Caller, owner wallet.Address) (wallet.Wallet, []wallet.TokenDelegate, error) {
	from, err := r.Wallet(ctx, who, owner)
	if err != nil {
		return from, nil, err
	}
	all, err := r.Chain.TokenDelegates(ctx, from.Address)
	if err != nil {
		return from, nil, err
	}
	for i := range all {
		if listed, ok := r.listed(all[i].Token.Mint, all[i].Token.Program); ok && listed.Decimals == all[i].Token.Decimals {
			all[i].Token = listed
		}
	}
	slices.SortFunc(all, func(a, b wallet.TokenDelegate) int {
		unlisted := func(d wallet.TokenDelegate) int {
			if d.Token.Symbol == "" {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(unlisted(a), unlisted(b)), cmp.Compare(a.Token.Name(), b.Token.Name()), slices.Compare(a.Account[:], b.Account[:]))
	})
	return from, all, nil
}

// Wallet returns one of the caller's wallets, as Sender does, but also while their account is frozen: they may look.
func (r *Revokes) Wallet(ctx context.Context, who Caller, at wallet.Address) (wallet.Wallet, error) {
	return read(ctx, r.Store, func(tx store.Tx) (wallet.Wallet, error) {
		w, _, err := sender(tx, who, at)
		return w, err
	})
}

// Spenders is how many addresses may spend from the token accounts of a person's wallets without their signature. Their own wallets
// do not count.
type Spenders struct {
	Wallets int // of the person
	Count   int
	AtLeast bool // the person has more than MaxWalletsListed wallets, and only so many were read
}

// readAtOnce is how many wallets Spenders reads at once.
const readAtOnce = 4

// Spenders counts who may spend from any of the caller's wallets. It is NETWORK_ERROR if one of them cannot be read: a number that leaves
// a wallet out would be a false comfort.
func (r *Revokes) Spenders(ctx context.Context, who Caller) (Spenders, error) {
	own, err := read(ctx, r.Store, func(tx store.Tx) ([]wallet.Wallet, error) { return tx.WalletsOf(who.User) })
	if err != nil {
		return Spenders{}, err
	}
	found := make([][]wallet.TokenDelegate, min(len(own), MaxWalletsListed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readAtOnce)
	for i := range found {
		group.Go(func() (err error) {
			found[i], err = r.Chain.TokenDelegates(ctx, own[i].Address)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Spenders{}, err
	}
	spenders := map[wallet.Address]struct{}{}
	for _, d := range slices.Concat(found...) {
		if !slices.ContainsFunc(own, func(w wallet.Wallet) bool { return w.Address == d.Delegate }) {
			spenders[d.Delegate] = struct{}{}
		}
	}
	return Spenders{len(own), len(spenders), len(own) > MaxWalletsListed}, nil
}

// listed returns the listed token of a mint of this program.
func (r *Revokes) listed(mint, program wallet.Address) (wallet.Token, bool) {
	token, ok := r.Tokens.ByMint(mint)
	return token, ok && token.Program == program
}

// RevokeRequest asks to take back the right of a token account's delegate.
type RevokeRequest struct {
	Account wallet.Address // the token account, of any of the caller's wallets
	RetryOf wallet.TransactionID
}

// Prepare checks whether the delegate of a token account can be taken away. Nothing is stored.
//
// Errors: INVALID_REQUEST if there is no such token account, POLICY_VIOLATION if it is somebody else's or frozen, CONFLICT if it
// has no delegate (any more), WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, NETWORK_ERROR.
func (r *Revokes) Prepare(ctx context.Context, who Caller, req RevokeRequest) (Proposal, error) {
	from, user, err := r.Sender(ctx, who, wallet.Address{}) // somebody without a wallet must not be able to make us call a node
	if err != nil {
		return Proposal{}, err
	}
	f, err := r.fetch(ctx, from.Address, req.Account)
	if err != nil {
		return Proposal{}, err
	}
	if f.held.Exists && f.held.Owner != from.Address { // of another wallet of theirs, or of somebody else
		switch from, user, err = r.Sender(ctx, who, f.held.Owner); {
		case wallet.CodeOf(err) == wallet.WalletNotFound:
			return Proposal{}, f.judge()
		case err != nil:
			return Proposal{}, err
		}
		if f, err = r.fetch(ctx, from.Address, req.Account); err != nil {
			return Proposal{}, err
		}
	}
	if err := f.judge(); err != nil {
		return Proposal{}, err
	}
	terms := wallet.RevokeTerms{Account: req.Account, Delegate: f.held.Delegate, Limit: f.held.Delegated}
	if terms.Token, err = r.token(ctx, f.held); err != nil {
		return Proposal{}, err
	}
	t := wallet.Transaction{Kind: wallet.Revoke, Owner: user.ID, Chat: user.TelegramID, From: from.Address, To: from.Address, Token: wallet.SOL,
		RetryOf: req.RetryOf, Terms: terms.Terms()}
	return r.Propose(ctx, who, from, true, t, f)
}

// token returns the token that an account holds. A mint that cannot be read, because it is closed for example, hides no delegate: its
// token is counted in base units.
func (r *Revokes) token(ctx context.Context, held wallet.TokenAccount) (wallet.Token, error) {
	if listed, ok := r.listed(held.Mint, held.Program); ok {
		return listed, nil
	}
	mint, err := r.Chain.Mint(ctx, held.Mint)
	if err != nil && wallet.CodeOf(err) != wallet.TokenNotFound {
		return wallet.Token{}, err
	}
	return wallet.Token{Mint: held.Mint, Decimals: mint.Decimals, Program: held.Program}, nil
}

// retry prepares the same revocation again. The delegate may be another one by then: the new card shows it.
func (r *Revokes) retry(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	return r.Prepare(ctx, who, RevokeRequest{Account: first.RevokeTerms().Account, RetryOf: first.ID})
}

// load reads again what a stored revocation is judged by.
func (r *Revokes) load(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	f, err := r.fetch(ctx, t.From, t.RevokeTerms().Account)
	return f, err
}

// fetch reads what a revocation is judged by.
func (r *Revokes) fetch(ctx context.Context, owner, account wallet.Address) (f revokeSnapshot, err error) {
	f.owner = owner
	if f.floor, err = r.Chain.RentMinimum(ctx, 0); err != nil {
		return f, err
	}
	facts, err := r.Chain.DelegateFacts(ctx, owner, account)
	f.from, f.held = facts.From, facts.Account
	return f, err
}

// revokeSnapshot is the Snapshot of a revocation. Amounts are in lamports. free is zero until NetOfReservations has set it.
type revokeSnapshot struct {
	owner wallet.Address
	from  wallet.Account
	held  wallet.TokenAccount
	floor uint64 // rent minimum of an account without data
	free  uint64 // of the wallet, not reserved
}

// NetOfReservations subtracts reserved funds.
func (f revokeSnapshot) NetOfReservations(tx store.Tx) (Snapshot, error) {
	reserved, err := Reserved(tx, f.owner, f.from.Slot)
	f.free = f.from.Lamports - min(reserved.Lamports, f.from.Lamports)
	return f, err
}

// judge refuses what has no delegate to take away.
func (f revokeSnapshot) judge() error {
	_, foreign := f.held.Foreign()
	switch {
	case f.from.Exists && f.from.Owner != wallet.SystemProgram:
		return wallet.Refuse(wallet.PolicyViolation, "sender.owned_by_program")
	case !f.held.Exists:
		return wallet.Refuse(wallet.InvalidRequest, "revokes.no_account")
	case f.held.Owner != f.owner:
		return wallet.Refuse(wallet.PolicyViolation, "revokes.not_yours")
	case !foreign:
		return wallet.Refuse(wallet.Conflict, "revokes.none")
	case f.held.Frozen:
		return wallet.Refuse(wallet.PolicyViolation, "revokes.frozen")
	}
	return nil
}

// Complete judges the revocation at its fee.
func (f revokeSnapshot) Complete(t wallet.Transaction) (wallet.Transaction, error) {
	return t, f.StillFits(t)
}

// StillFits judges the account and the funds. How much the delegate may take can have changed: all of it is taken back.
func (f revokeSnapshot) StillFits(t wallet.Transaction) error {
	if err := f.judge(); err != nil {
		return err
	}
	terms := t.RevokeTerms()
	if f.held.Delegate != terms.Delegate || f.held.Mint != terms.Token.Mint || f.held.Program != terms.Token.Program {
		return wallet.Refuse(wallet.Conflict, "revokes.changed")
	}
	return accountSnapshot{free: f.free, floor: f.floor}.checkFee(t.Fee)
}

// Remaining returns the lamports that remain in the wallet.
func (f revokeSnapshot) Remaining(t wallet.Transaction) uint64 { return f.free - t.Fee }

// FillRuleInput sets nothing: a revocation moves no token.
func (f revokeSnapshot) FillRuleInput(*wallet.RuleInput) {}
