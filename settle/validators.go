package settle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// watchValidators compares the validators that the wallet stakes with to what is known of them, and collects what their owner has to know. It returns
// what is to be known from now on. If the node doesn't list a validator, its stored state is kept: nodes omit validators without stake.
func (l *stakesLook) watchValidators(ctx context.Context, stakes []wallet.WatchedStake, now time.Time) ([]wallet.WatchedValidator, error) {
	var votes []wallet.Address
	for _, one := range stakes {
		if (one.State == wallet.StakeActive || one.State == wallet.StakeActivating) && !slices.Contains(votes, one.Voter) {
			votes = append(votes, one.Voter)
		}
	}
	if len(votes) == 0 || l.epoch.Epoch == 0 {
		return nil, nil
	}
	all, err := l.Stakes.Validators(ctx)
	if err != nil {
		return nil, fmt.Errorf("read validators for wallet %s: %w", l.of.Address, err)
	}
	ended := l.epoch.Epoch - 1
	typical := wallet.TypicalCredits(all, ended)
	var out []wallet.WatchedValidator
	for _, vote := range votes {
		known := slices.IndexFunc(l.validatorsKnown(), func(w wallet.WatchedValidator) bool { return w.Vote == vote })
		at := slices.IndexFunc(all, func(v wallet.Validator) bool { return v.Vote == vote })
		var is wallet.WatchedValidator
		var changes []wallet.ValidatorChange
		switch {
		case at < 0 && known < 0:
			continue
		case at < 0:
			is = l.known.Validators[known]
		case known < 0:
			is, changes = wallet.WatchValidator(all[at], ended, typical).Next(all[at], ended, typical, now)
		default:
			is, changes = l.known.Validators[known].Next(all[at], ended, typical, now)
		}
		out, l.changes = append(out, is), append(l.changes, changes...)
	}
	return out, nil
}

func (l *stakesLook) validatorsKnown() []wallet.WatchedValidator {
	if l.known == nil {
		return nil
	}
	return l.known.Validators
}

// sooner returns the time of the next look, or when a validator has to be looked at, if that is before it.
func sooner(next time.Time, all []wallet.WatchedValidator) time.Time {
	for _, v := range all {
		if due := v.Due(); !due.IsZero() && due.Before(next) {
			next = due
		}
	}
	return next
}

// announceValidators emits the event that notifies the owner of what changed about validators.
func (l *stakesLook) announceValidators(tx store.Tx, now time.Time) error {
	if l.of.Owner == "" || len(l.changes) == 0 {
		return nil
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_validators_%s_%d", l.of.Address, now.UnixMilli()), wallet.ValidatorsChanged, now, l.of.Owner,
		wallet.ValidatorsChangedData{WalletAddress: l.of.Address, Changes: l.changes})
	if err != nil {
		return err
	}
	return store.NotifyOwner(tx, event)
}
