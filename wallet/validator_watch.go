package wallet

import (
	"slices"
	"time"
)

// When the stakers of a validator are notified of it.
const (
	// silentFor is how long a validator must not have voted before its stakers are notified: most that restart vote again sooner.
	silentFor = 30 * time.Minute
	// A validator falls behind when it earned less than behindBelow percent of what the typical one earned in an epoch, and has caught up
	// from caughtUpFrom percent on.
	behindBelow, caughtUpFrom = 80, 90
)

// EpochCredits are the credits that a validator earned with its votes in one epoch. Rewards are paid in proportion to them.
type EpochCredits struct {
	Epoch   uint64
	Credits uint64
}

// CreditsOf returns the credits of an epoch; false if they are not known.
func (v Validator) CreditsOf(epoch uint64) (uint64, bool) {
	at := slices.IndexFunc(v.Credits[:], func(c EpochCredits) bool { return c.Epoch == epoch && c.Credits > 0 })
	if at < 0 {
		return 0, false
	}
	return v.Credits[at].Credits, true
}

// TypicalCredits returns what the validator in the middle earned in an epoch, of those that vote; 0 if nothing is known.
func TypicalCredits(all []Validator, epoch uint64) uint64 {
	var earned []uint64
	for _, v := range all {
		if c, ok := v.CreditsOf(epoch); ok && !v.Delinquent {
			earned = append(earned, c)
		}
	}
	if len(earned) == 0 {
		return 0
	}
	slices.Sort(earned)
	return earned[len(earned)/2]
}

// WatchedValidator is what was last read of a validator that somebody stakes with, and what they were notified of.
type WatchedValidator struct {
	Vote           Address   `json:"vote"`
	Commission     uint64    `json:"commission"`                // in basis points
	SilentSince    time.Time `json:"silent_since,omitzero"`     // the first reading of which it did not vote
	NotifiedSilent bool      `json:"notified_silent,omitempty"` // that it does not vote
	NotifiedBehind bool      `json:"notified_behind,omitempty"` // that it falls behind
	Judged         uint64    `json:"judged_epoch,omitempty"`    // the last epoch whose credits were compared
}

// ValidatorChangeKind says what changed about a validator.
type ValidatorChangeKind string

// The changes that stakers are notified of.
const (
	CommissionRaised  ValidatorChangeKind = "commission_raised"
	ValidatorSilent   ValidatorChangeKind = "silent"
	ValidatorVotes    ValidatorChangeKind = "votes" // again
	ValidatorBehind   ValidatorChangeKind = "behind"
	ValidatorCaughtUp ValidatorChangeKind = "caught_up"
)

// ValidatorChange is one change. Commissions are in basis points.
type ValidatorChange struct {
	Kind  ValidatorChangeKind `json:"kind"`
	Vote  Address             `json:"vote"`
	Name  string              `json:"name,omitempty"` // what the validator calls itself
	From  uint64              `json:"from,omitempty"` // of CommissionRaised
	To    uint64              `json:"to,omitempty"`   // of CommissionRaised
	Since time.Time           `json:"since,omitzero"` // of ValidatorSilent
	Epoch uint64              `json:"epoch,omitempty"`
	Share uint64              `json:"share,omitempty"` // of ValidatorBehind: of the typical credits in Epoch, in percent
}

// ValidatorsChangedData is `data` of the internal event that notifies a person of validators that they stake with, once for all that one look
// found.
type ValidatorsChangedData struct {
	WalletAddress Address           `json:"wallet_address"`
	Changes       []ValidatorChange `json:"changes"`
}

// WatchValidator begins to watch a validator, as it is. What is so already is no change, but that it does not vote.
func WatchValidator(v Validator, ended uint64, typical uint64) WatchedValidator {
	w := WatchedValidator{Vote: v.Vote, Commission: v.Commission}
	share, ok := v.share(ended, typical)
	if ok {
		w.Judged, w.NotifiedBehind = ended, share < behindBelow
	}
	return w
}

// share returns what a validator earned in an epoch, in percent of what was typical; false if either is not known.
func (v Validator) share(epoch, typical uint64) (uint64, bool) {
	earned, ok := v.CreditsOf(epoch)
	if !ok || typical < 100 {
		return 0, false
	}
	return min(earned/(typical/100), 1000), true
}

// Next compares a validator with what is known of it. ended is the last epoch that has ended, and typical what the typical validator earned in
// it. Repeated with the same reading, it finds no change.
func (w WatchedValidator) Next(v Validator, ended, typical uint64, now time.Time) (WatchedValidator, []ValidatorChange) {
	var out []ValidatorChange
	add := func(c ValidatorChange) {
		c.Vote, c.Name = w.Vote, v.Name
		out = append(out, c)
	}
	if v.Commission > w.Commission {
		add(ValidatorChange{Kind: CommissionRaised, From: w.Commission, To: v.Commission})
	}
	w.Commission = v.Commission
	switch {
	case !v.Delinquent:
		if w.NotifiedSilent {
			add(ValidatorChange{Kind: ValidatorVotes})
		}
		w.SilentSince, w.NotifiedSilent = time.Time{}, false
	case w.SilentSince.IsZero() || w.SilentSince.After(now):
		w.SilentSince = now
	case !w.NotifiedSilent && now.Sub(w.SilentSince) >= silentFor:
		add(ValidatorChange{Kind: ValidatorSilent, Since: w.SilentSince})
		w.NotifiedSilent = true
	}
	share, known := v.share(ended, typical)
	if !known || w.Judged >= ended {
		return w, out
	}
	w.Judged = ended
	switch {
	case share < behindBelow && !w.NotifiedBehind:
		w.NotifiedBehind = true
		if !w.NotifiedSilent { // that says it already
			add(ValidatorChange{Kind: ValidatorBehind, Epoch: ended, Share: share})
		}
	case share >= caughtUpFrom && w.NotifiedBehind:
		w.NotifiedBehind = false
		add(ValidatorChange{Kind: ValidatorCaughtUp, Epoch: ended})
	}
	return w, out
}

// Due returns when a validator has to be read again so that its stakers are notified in time; the zero time if nothing is pending.
func (w WatchedValidator) Due() time.Time {
	if w.SilentSince.IsZero() || w.NotifiedSilent {
		return time.Time{}
	}
	return w.SilentSince.Add(silentFor)
}
