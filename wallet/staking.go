package wallet

// The kinds of native staking. Each has one principal action: a delegation, a deactivation or a withdrawal.

// The kinds.
const (
	Stake    Kind = "stake"    // SOL goes into a new stake account and is delegated to a validator
	Unstake  Kind = "unstake"  // a stake, or a part of one, is deactivated
	Withdraw Kind = "withdraw" // lamports of a stake account that are not staked return to the wallet
)

// StakeRules returns the rules of delegating SOL. Transaction.To is the validator's vote account, Rent what the new
// account must hold beside the stake.
func StakeRules() Rules {
	return Rules{Kind: Stake, Life: Outgoing, ChangesStakes: true, Actions: stakeActions, CheckTerms: newStakeTerms,
		Writes: func(t Transaction) []Address { return []Address{t.From, t.NewStakeAccount()} },
		Spends: func(t Transaction) Spending { return Spending{Lamports: t.Amount + t.Rent + t.Fee} },
		Announces: func(t Transaction, by Trigger) (Announcement, bool) {
			return Announcement{StakeDelegated, StakeDelegatedData{UserID: t.Owner, WalletAddress: t.From, ValidatorAddress: t.To, Amount: t.Money().String(),
				TransactionSignature: t.Signature, DelegatedAt: Timestamp(t.ConfirmedAt)}}, by == Finalized
		}}
}

// UnstakeRules returns the rules of undelegating. Only the fee leaves the wallet, and the rent of a new account if a part
// is split off.
func UnstakeRules() Rules {
	return Rules{Kind: Unstake, Life: Outgoing, ChangesStakes: true, Actions: unstakeActions, Writes: stakeWrites, CheckTerms: unstakeTerms,
		Spends: func(t Transaction) Spending { return Spending{Lamports: t.Rent + t.Fee} },
		Announces: func(t Transaction, by Trigger) (Announcement, bool) {
			return Announcement{StakeUndelegated, StakeUndelegatedData{UserID: t.Owner, WalletAddress: t.From, ValidatorAddress: t.To, Amount: t.Money().String(),
				TransactionSignature: t.Signature, CooldownEnd: Timestamp(t.CooldownEndsAt()), UndelegatedAt: Timestamp(t.ConfirmedAt)}}, by == Finalized
		}}
}

// WithdrawRules returns the rules of withdrawing to the wallet that owns the stake account.
func WithdrawRules() Rules {
	return Rules{Kind: Withdraw, Life: Outgoing, ChangesStakes: true, Actions: withdrawActions, Writes: stakeWrites, CheckTerms: withdrawTerms,
		Spends: func(t Transaction) Spending { return Spending{Lamports: t.Fee} }}
}

// stakeActions creates an account, gives both of its authorities to the wallet, and delegates it.
func stakeActions(t Transaction) []Action {
	account := t.NewStakeAccount()
	return []Action{
		{Type: ActionCreateStake, From: t.From, Account: account, Lamports: t.Amount + t.Rent, Text: t.StakeSeed()},
		{Type: ActionInitializeStake, From: t.From, Account: account},
		{Type: ActionDelegate, From: t.From, To: t.To, Account: account, Reference: t.Reference, References: []Address{t.Reference}},
	}
}

// unstakeActions merges, splits off what is not all, and deactivates.
func unstakeActions(t Transaction) []Action {
	terms := t.StakeTerms()
	actions, account := mergeActions(t), terms.Account
	if terms.Split {
		account = t.NewStakeAccount()
		actions = append(actions,
			Action{Type: ActionCreateStake, From: t.From, Account: account, Lamports: t.Rent, Text: t.StakeSeed()},
			Action{Type: ActionSplitStake, From: t.From, Source: terms.Account, Account: account, Lamports: t.Amount})
	}
	return append(actions, Action{Type: ActionDeactivate, From: t.From, Account: account, Reference: t.Reference, References: []Address{t.Reference}})
}

// withdrawActions merges, and withdraws to the wallet.
func withdrawActions(t Transaction) []Action {
	return append(mergeActions(t), Action{Type: ActionWithdrawStake, From: t.From, To: t.From, Account: t.StakeTerms().Account, Lamports: t.Amount,
		Reference: t.Reference, References: []Address{t.Reference}})
}

// mergeActions merges Merged into Account, in order.
func mergeActions(t Transaction) []Action {
	var out []Action
	terms := t.StakeTerms()
	for _, source := range terms.Merged {
		out = append(out, Action{Type: ActionMergeStake, From: t.From, Source: source, Account: terms.Account})
	}
	return out
}

// stakeWrites returns the accounts that undelegating and withdrawing write: the wallet and the stake accounts.
func stakeWrites(t Transaction) []Address {
	terms := t.StakeTerms()
	out := append([]Address{t.From}, terms.accounts()...)
	if terms.Split {
		out = append(out, t.NewStakeAccount())
	}
	return out
}
