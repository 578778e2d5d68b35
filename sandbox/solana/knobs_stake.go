package solana

import (
	"fmt"
	"slices"
)

// What a test may change about staking while the cluster runs: the least that can be delegated, whether a validator
// votes, and its commission. The length of epochs is in epochs.go.

// minimumChange is a new minimum delegation, in lamports, from the block of that height on.
type minimumChange struct {
	Height   uint64 `json:"height"`
	Lamports uint64 `json:"lamports"`
}

// commissionChange is a validator's commission in basis points, from the first block of an epoch on.
type commissionChange struct {
	Epoch     uint64 `json:"epoch"`
	Validator int    `json:"validator"`
	Points    uint16 `json:"basis_points"`
}

// fullCommission is a commission that leaves the stakers nothing, in basis points.
const fullCommission = 10_000

// minimumAt is the minimum delegation in the block of that height, in lamports. Callers hold mu.
func (c *Cluster) minimumAt(height uint64) uint64 {
	for i := len(c.minimums) - 1; i >= 0; i-- {
		if c.minimums[i].Height <= height {
			return c.minimums[i].Lamports
		}
	}
	return defaultMinimumDelegation
}

// SetMinimumDelegation changes the least that can be delegated, in lamports, from the next block on. Stakes below it
// stay. It fails for 0, which would allow a delegation of nothing.
func (c *Cluster) SetMinimumDelegation(lamports uint64) error {
	return c.turn(func() error { return c.setMinimum(lamports) })
}

// setMinimum is SetMinimumDelegation without the lock. Callers hold mu and have called catchUp.
func (c *Cluster) setMinimum(lamports uint64) error {
	if lamports == 0 || lamports > supply {
		return fmt.Errorf("solana sandbox: the minimum delegation is 1 to %d lamports", uint64(supply))
	}
	m := minimumChange{Height: c.tip + 1, Lamports: lamports}
	c.minimums = append(c.minimums, m)
	return c.write(record{Minimum: &m})
}

// validatorNamed finds a validator by its name.
func validatorNamed(name string) (int, error) {
	for i, v := range validators {
		if v.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("solana sandbox: no validator is called %.20q", name)
}

// SetSilent makes a validator stop voting from the next slot on, or vote again. After 128 slots without a vote it is
// delinquent. It fails for an unknown name.
func (c *Cluster) SetSilent(validator string, silent bool) error {
	i, err := validatorNamed(validator)
	if err != nil {
		return err
	}
	return c.turn(func() error { return c.setSilent(i, silent) })
}

// setSilent is SetSilent without the lock. Callers hold mu and have called catchUp.
func (c *Cluster) setSilent(i int, silent bool) error {
	if c.silent(i) == silent {
		return nil
	}
	v := votingChange{Slot: slotOf(c.tip) + 1, Validator: i, Silent: silent}
	c.changeVoting(v)
	return c.write(record{Voting: &v})
}

// silent says whether validator i does not vote for the next slot.
func (c *Cluster) silent(i int) bool {
	for _, v := range slices.Backward(c.voting) {
		if v.Validator == i {
			return v.Silent
		}
	}
	return validators[i].Silent
}

// changeVoting adds a change in place of the validator's later ones, which an abandoned fork may have left.
func (c *Cluster) changeVoting(v votingChange) {
	c.voting = slices.DeleteFunc(c.voting, func(old votingChange) bool {
		return old.Validator == v.Validator && old.Slot >= v.Slot
	})
	c.voting = append(c.voting, v)
}

// SetCommission changes a validator's commission, in basis points, with the first block of an epoch. An epoch that has
// begun already means the next one. It counts for the rewards of the epoch after that (SIMD-0249). It fails for an unknown
// name and for more than 10,000.
func (c *Cluster) SetCommission(validator string, points uint16, epoch uint64) error {
	i, err := validatorNamed(validator)
	if err != nil {
		return err
	}
	return c.turn(func() error { return c.setCommission(i, points, epoch) })
}

// setCommission is SetCommission without the lock. Callers hold mu and have called catchUp.
func (c *Cluster) setCommission(i int, points uint16, epoch uint64) error {
	if points > fullCommission {
		return fmt.Errorf("solana sandbox: a commission is at most %d basis points", fullCommission)
	}
	change := commissionChange{Epoch: max(epoch, c.epochAt(c.tip)+1), Validator: i, Points: points}
	c.commissions = append(c.commissions, change)
	return c.write(record{Commission: &change})
}

// raiseCommissions writes the commissions that are due with a boundary into the vote accounts.
func (c *Cluster) raiseCommissions(b *boundary, final uint64) {
	for _, change := range c.commissions {
		if change.Epoch <= b.Ended || change.Epoch > c.epochAt(b.Height) {
			continue
		}
		key := validatorKey(c.seed, "vote", change.Validator)
		a := c.state.at(key, b.Height)
		if v, ok := readVote(key, a.Data); ok {
			v.InflationCommission = change.Points
			a.Data = v.bytes()
			c.state.set(key, b.Height, a, final)
		}
	}
}

// stakeKnobs are the members of sandbox_set that are about staking. Nil means unchanged.
type stakeKnobs struct {
	SlotsPerEpoch *uint64 `json:"slotsPerEpoch"`
	Minimum       *uint64 `json:"minimumDelegation"`
	Validators    map[string]struct {
		Silent     *bool   `json:"silent"`
		Commission *uint16 `json:"commissionBps"`
		FromEpoch  uint64  `json:"fromEpoch"` // of the commission; 0: the next epoch
	} `json:"validators"`
}

// check finds values that are out of range, before anything changes.
func (k stakeKnobs) check() error {
	if n := k.SlotsPerEpoch; n != nil && (*n < minSlotsPerEpoch || *n > maxSlotsPerEpoch) {
		return errEpochLength
	}
	if n := k.Minimum; n != nil && (*n == 0 || *n > supply) {
		return fmt.Errorf("solana sandbox: the minimum delegation is 1 to %d lamports", uint64(supply))
	}
	for name, v := range k.Validators {
		if _, err := validatorNamed(name); err != nil {
			return err
		}
		if v.Commission != nil && *v.Commission > fullCommission {
			return fmt.Errorf("solana sandbox: a commission is at most %d basis points", fullCommission)
		}
	}
	return nil
}

// turnStakeKnobs applies values that check has passed. An error means that the journal cannot be written.
func (c *Cluster) turnStakeKnobs(k stakeKnobs) error {
	if k.SlotsPerEpoch != nil {
		if err := c.setSlotsPerEpoch(*k.SlotsPerEpoch); err != nil {
			return err
		}
	}
	if k.Minimum != nil {
		if err := c.setMinimum(*k.Minimum); err != nil {
			return err
		}
	}
	for i, v := range validators { // in their own order, so that equal requests leave equal journals
		want := k.Validators[v.Name]
		if want.Silent != nil {
			if err := c.setSilent(i, *want.Silent); err != nil {
				return err
			}
		}
		if want.Commission != nil {
			if err := c.setCommission(i, *want.Commission, want.FromEpoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// showValidators is the present state of the validators in the answer of sandbox_set.
func (c *Cluster) showValidators() object {
	shown := object{}
	for i, v := range validators {
		key := validatorKey(c.seed, "vote", i)
		state, _ := readVote(key, c.state.at(key, c.tip).Data)
		shown[v.Name] = object{"votePubkey": key.String(), "silent": c.silent(i), "commissionBps": state.InflationCommission}
	}
	return shown
}

// nextEpoch is sandbox_nextEpoch: it makes the first block of the next epoch and returns what getEpochInfo shows of it.
func nextEpoch(c *Cluster, _ params) (any, *rpcError) {
	if _, err := c.warp(); err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	return c.epochInfo(c.tip), nil
}
