package wallet

import (
	"fmt"
	"slices"
	"time"
)

// StakeTerms are the terms of a stake, unstake or withdraw beyond Transaction's own.
type StakeTerms struct {
	// Account is the stake account that is deactivated, split or withdrawn from. It is zero for a new stake, which goes
	// into Transaction.NewStakeAccount.
	Account Address `json:"account,omitzero"`
	// Merged are stake accounts that are first merged into Account.
	Merged []Address `json:"merged,omitempty"`
	// Split means that only Amount is undelegated: it is split off into Transaction.NewStakeAccount.
	Split bool `json:"split,omitzero"`
	// ValidatorName is what the validator calls itself on chain, "" without a name. Nobody verifies it.
	ValidatorName string `json:"validator_name,omitempty"`
	// CooldownEnd is when an undelegated stake can be withdrawn if it lands before EpochEnd, as estimated when it was
	// proposed: see Transaction.CooldownEndsAt. EpochLength is the length of later epochs.
	CooldownEnd time.Time     `json:"cooldown_end,omitzero"`
	EpochEnd    time.Time     `json:"epoch_end,omitzero"`
	EpochLength time.Duration `json:"epoch_nanoseconds,omitempty"`
}

// stakeSchema names StakeTerms in Terms.
const stakeSchema = "stake/1"

// Terms returns the terms as a transaction holds them; nil for the zero value.
func (s StakeTerms) Terms() Terms {
	if s.Account.IsZero() && len(s.Merged) == 0 && !s.Split && s.ValidatorName == "" && s.CooldownEnd.IsZero() && s.EpochEnd.IsZero() && s.EpochLength == 0 {
		return nil
	}
	return NewTerms(stakeSchema, s)
}

// StakeTerms returns the terms of a step of staking. It is the zero value for other kinds, whose terms have
// another schema. No transaction of the store has damaged ones (Rules.CheckTerms).
func (t Transaction) StakeTerms() StakeTerms {
	s, _ := ReadTerms[StakeTerms](t.Terms, stakeSchema)
	return s
}

// newStakeTerms is Rules.CheckTerms of a new stake, which changes no existing account.
func newStakeTerms(t Transaction) error {
	s, err := checkedStakeTerms(t)
	if err == nil && (len(s.accounts()) > 0 || s.Split) {
		return fmt.Errorf("%w: a new stake does not change others", ErrTerms)
	}
	return err
}

// unstakeTerms is Rules.CheckTerms of an undelegation, which names what it undelegates.
func unstakeTerms(t Transaction) error {
	s, err := checkedStakeTerms(t)
	if err == nil && s.Account.IsZero() {
		return fmt.Errorf("%w: no stake account", ErrTerms)
	}
	return err
}

// withdrawTerms is unstakeTerms for a withdrawal, which splits nothing.
func withdrawTerms(t Transaction) error {
	s, err := checkedStakeTerms(t)
	if err == nil && (s.Account.IsZero() || s.Split) {
		return fmt.Errorf("%w: a withdrawal takes from one stake account", ErrTerms)
	}
	return err
}

// checkedStakeTerms reads the terms of a step of staking, which names every account once.
func checkedStakeTerms(t Transaction) (StakeTerms, error) {
	s, err := ReadTerms[StakeTerms](t.Terms, stakeSchema)
	if err != nil {
		return s, err
	}
	changed := s.accounts()
	for i, a := range changed {
		if a.IsZero() || slices.Contains(changed[:i], a) {
			return s, fmt.Errorf("%w: the stake account %s", ErrTerms, a)
		}
	}
	if s.EpochLength < 0 {
		return s, fmt.Errorf("%w: the length of an epoch", ErrTerms)
	}
	return s, nil
}

// CooldownEndsAt estimates when what t undelegates can be withdrawn. Each epoch that ended before t landed moves it by one.
func (t Transaction) CooldownEndsAt() time.Time {
	terms := t.StakeTerms()
	late := t.ConfirmedAt.Sub(terms.EpochEnd)
	if t.ConfirmedAt.IsZero() || terms.EpochEnd.IsZero() || terms.EpochLength <= 0 || late < 0 {
		return terms.CooldownEnd
	}
	end := terms.CooldownEnd
	if end.Before(terms.EpochEnd) { // it would have been at once
		end = terms.EpochEnd
	}
	return end.Add((late/terms.EpochLength + 1) * terms.EpochLength)
}

// Touches reports whether the terms change one of the stake accounts that other terms change.
func (s StakeTerms) Touches(other StakeTerms) bool {
	return slices.ContainsFunc(s.accounts(), func(a Address) bool { return slices.Contains(other.accounts(), a) })
}

// accounts are the existing stake accounts that the terms change.
func (s StakeTerms) accounts() []Address {
	if s.Account.IsZero() {
		return s.Merged
	}
	return append(slices.Clone(s.Merged), s.Account)
}
