package handlers

import (
	"context"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// StakeChain is what staking needs to know of the chain. Errors are NETWORK_ERROR unless stated otherwise.
type StakeChain interface {
	// Accounts reads several addresses at one slot, in the order given.
	Accounts(ctx context.Context, addresses []wallet.Address) ([]wallet.Account, error)
	// RentMinimum returns the smallest balance an account with size bytes of data may have, in lamports.
	RentMinimum(ctx context.Context, size uint64) (uint64, error)
	// StakeAccounts lists the stake accounts of which an address is staker or withdrawer.
	StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error)
	// StakeEpoch returns the current epoch, and what the activation of stakes depends on.
	StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error)
	// MinimumDelegation returns the smallest stake, in lamports.
	MinimumDelegation(ctx context.Context) (uint64, error)
	// Validators lists the validators with stake, unsorted. The result must not be changed.
	Validators(ctx context.Context) ([]wallet.Validator, error)
	// StakeRewards reads what inflation paid to stake accounts for an epoch, in the order given; nil for nothing. Inside
	// an error may be wallet.ErrRewardsNotPaid or wallet.ErrHistoryPruned.
	StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error)
}

// Stakes are native stakes: delegating SOL, undelegating and withdrawing, and which positions and validators there are.
// What happens to a proposal afterwards is the same for every kind (Transactions).
type Stakes struct {
	*Transactions
	Chain     StakeChain
	Preferred []wallet.Address // vote accounts that the operator recommends, the best first
}

// Operations returns the Operations of staking, for Transactions.Operations.
func (s *Stakes) Operations() []Operation {
	return []Operation{
		{Kind: wallet.Stake, Load: s.loadStake, Retry: s.retry},
		{Kind: wallet.Unstake, Load: s.loadUnstake, Retry: s.retryUnstake},
		{Kind: wallet.Withdraw, Load: s.loadWithdraw, Retry: s.retry},
	}
}

// Operation returns the Operation of one kind of staking.
func (s *Stakes) Operation(kind wallet.Kind) Operation {
	all := s.Operations()
	return all[slices.IndexFunc(all, func(o Operation) bool { return o.Kind == kind })]
}

// StakeRequest asks for one step of staking.
type StakeRequest struct {
	Kind      wallet.Kind    // wallet.Stake, wallet.Unstake or wallet.Withdraw
	From      wallet.Address // zero: the caller's default wallet
	Amount    wallet.Quantity
	Validator wallet.Address // of a stake: a vote account; zero: the best validator
	Account   wallet.Address // of an unstake or withdraw: a stake account; zero: whichever fit
	RetryOf   wallet.TransactionID
	Ask       bool // require the owner's confirmation in chat, even if a program holds the key
}

// Fields of a request that refusals of staking are about.
const (
	FieldValidator wallet.Field = "validator_address"
	FieldAccount   wallet.Field = "stake_account"
)

// Prepare checks whether a step is possible and what it costs. Nothing is stored.
//
// Errors: INVALID_REQUEST, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, POLICY_VIOLATION, CONFLICT while rewards are paid out or
// another step on the same stake account is under way, NETWORK_ERROR.
func (s *Stakes) Prepare(ctx context.Context, who Caller, req StakeRequest) (Proposal, error) {
	from, user, err := s.Sender(ctx, who, req.From)
	if err != nil {
		return Proposal{}, err
	}
	t := wallet.Transaction{Kind: req.Kind, Owner: user.ID, Chat: user.TelegramID, From: from.Address, To: from.Address, Token: wallet.SOL, RetryOf: req.RetryOf}
	if !req.Amount.Max {
		amount, err := wallet.SOL.Exactly(req.Amount.Exact)
		if err != nil {
			return Proposal{}, err
		}
		t.Amount = amount.Units
	}
	prepare := map[wallet.Kind]func(context.Context, StakeRequest, wallet.Transaction) (wallet.Transaction, Snapshot, error){
		wallet.Stake: s.prepareStake, wallet.Unstake: s.prepareUnstake, wallet.Withdraw: s.prepareWithdraw,
	}[req.Kind]
	if prepare == nil {
		return Proposal{}, wallet.ErrUnknownKind
	}
	t, snapshot, err := prepare(ctx, req, t)
	if err != nil {
		return Proposal{}, err
	}
	return s.Propose(ctx, who, from, req.Ask, t, snapshot)
}

// retry prepares the same step again.
func (s *Stakes) retry(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	return s.Prepare(ctx, who, again(first))
}

// retryUnstake is retry of an undelegation. All of a stake is all that it is now: rewards may have added to it.
func (s *Stakes) retryUnstake(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	req := again(first)
	if terms := first.StakeTerms(); !terms.Split && len(terms.Merged) == 0 {
		req.Amount = wallet.Quantity{Max: true}
	}
	return s.Prepare(ctx, who, req)
}

// again asks for the same step. Where several accounts were chosen, they are chosen again.
func again(first wallet.Transaction) StakeRequest {
	terms := first.StakeTerms()
	req := StakeRequest{Kind: first.Kind, From: first.From, Amount: wallet.Quantity{Exact: first.Money().Decimal()}, RetryOf: first.ID}
	switch {
	case terms.Account.IsZero():
		req.Validator = first.To
	case len(terms.Merged) == 0:
		req.Account = terms.Account
	}
	return req
}

// Position is one stake account, as its owner sees it.
type Position struct {
	wallet.StakeAccount
	State        wallet.StakeState
	Activation   wallet.StakeActivation
	Hold         wallet.StakeHold // why it is shown and cannot be used
	Withdrawable uint64           // lamports; 0 with a hold
	Validator    wallet.Validator // zero for an account without a delegation
	// ChangesAt is about when a warm-up or cooldown ends; zero in other states.
	ChangesAt time.Time
}

// CanUndelegate reports whether the owner can undelegate the position now.
func (p Position) CanUndelegate() bool {
	return p.Hold == wallet.HoldNone && delegated(p.StakeAccount, p.State)
}

// Positions are the stake accounts of a wallet: those that it can use first (Hold), and of each sort the largest first. Anybody
// can make accounts that name a wallet as one of two authorities, so these must not crowd out its own.
type Positions struct {
	Address wallet.Address
	All     []Position
	Epoch   wallet.StakeEpoch
}

// Positions reads the stake accounts of a wallet, also those made elsewhere. They are public on chain.
func (s *Stakes) Positions(ctx context.Context, owner wallet.Address) (Positions, error) {
	f, err := s.fetchStakes(ctx, owner)
	if err != nil {
		return Positions{}, err
	}
	validators, err := s.Chain.Validators(ctx)
	if err != nil {
		return Positions{}, err
	}
	out := Positions{Address: owner, Epoch: f.epoch}
	for _, a := range f.accounts {
		p := Position{StakeAccount: a, Hold: f.epoch.Hold(a, owner)}
		if p.Hold == wallet.HoldNone {
			p.Withdrawable = f.withdrawable(a)
		}
		p.State, p.Activation = f.epoch.StakeState(a)
		p.ChangesAt = f.epoch.ChangesAt(a)
		if at := slices.IndexFunc(validators, func(v wallet.Validator) bool { return v.Vote == a.Voter }); at >= 0 {
			p.Validator = validators[at]
		} else if a.Delegated() {
			p.Validator = wallet.Validator{Vote: a.Voter, Delinquent: true} // it has left the cluster
		}
		out.All = append(out.All, p)
	}
	slices.SortStableFunc(out.All, func(a, b Position) int {
		switch usable := a.Hold == wallet.HoldNone; {
		case usable == (b.Hold == wallet.HoldNone):
			return 0
		case usable:
			return -1
		}
		return 1
	})
	return out, nil
}

// PositionsFor is Positions of the caller's wallet, or of one that they may read. WALLET_NOT_FOUND for others.
func (s *Stakes) PositionsFor(ctx context.Context, who Caller, address wallet.Address) (Positions, error) {
	if _, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Wallet, error) { return authorizeRead(tx, who, address) }); err != nil {
		return Positions{}, err
	}
	return s.Positions(ctx, address)
}

// Validators lists all validators, the best first. The first is the default.
func (s *Stakes) Validators(ctx context.Context) ([]wallet.Validator, error) {
	all, err := s.Chain.Validators(ctx)
	return wallet.RankValidators(all, s.Preferred), err
}

// Minimum returns the smallest stake, in lamports.
func (s *Stakes) Minimum(ctx context.Context) (uint64, error) { return s.Chain.MinimumDelegation(ctx) }

// validator returns the validator that a request names, or the default.
func (s *Stakes) validator(ctx context.Context, vote wallet.Address) (wallet.Validator, error) {
	ranked, err := s.Validators(ctx)
	if err != nil {
		return wallet.Validator{}, err
	}
	at := 0
	if !vote.IsZero() {
		at = slices.IndexFunc(ranked, func(v wallet.Validator) bool { return v.Vote == vote })
	}
	switch {
	case at < 0 || len(ranked) == 0:
		return wallet.Validator{}, wallet.About(FieldValidator, wallet.Refuse(wallet.InvalidRequest, "stakes.no_validator"))
	case ranked[at].Delinquent:
		return wallet.Validator{}, wallet.About(FieldValidator, wallet.Refuse(wallet.InvalidRequest, "stakes.delinquent"))
	}
	return ranked[at], nil
}
