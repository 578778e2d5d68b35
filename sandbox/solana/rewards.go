package solana

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// Rewards of staking, as Agave pays them: the first block of an epoch works out what every stake earned in the epoch
// before and pays the commissions, the blocks after it pay the stakes, up to stakesPerBlock in each. Meanwhile the
// EpochRewards sysvar is active, and the Stake program refuses changes.
//
// A real cluster makes new lamports for this. Here the faucet pays, so that the sum of all lamports never changes. What
// is still to be paid lies in the sysvar's own account, where no transaction can take it from.

// stakesPerBlock is how many stakes are paid in one block; rewardBlocksPart is the part of an epoch's slots that the
// payment may take.
const (
	stakesPerBlock   = 4096
	rewardBlocksPart = 10
)

// Inflation as on mainnet: the rate of the first year, by how much it falls each year, and where it ends.
const (
	firstRate  = 0.08
	taper      = 0.15
	lastRate   = 0.015
	yearsEpoch = SlotsPerEpoch * 0.3 / (365.25 * 24 * 60 * 60) // an epoch counts as 432,000 slots of 300 ms, whatever its length
)

// inflation is the yearly rate in an epoch.
func inflation(epoch uint64) float64 {
	return max(firstRate*math.Pow(1-taper, float64(epoch)*yearsEpoch), lastRate)
}

// voteReward is what a vote account gets as its commission. Lamports may be 0.
type voteReward struct {
	Vote       address `json:"vote"`
	Lamports   uint64  `json:"lamports"`
	Commission uint16  `json:"commission"` // basis points
}

// stakeReward is what a stake account gets, and what becomes of its delegation. Lamports may be 0.
type stakeReward struct {
	Stake       address `json:"stake"`
	Lamports    uint64  `json:"lamports"`
	Commission  uint16  `json:"commission"` // basis points
	Delegated   uint64  `json:"delegated"`  // lamports after the reward
	Deactivated uint64  `json:"deactivated"`
	Credits     uint64  `json:"credits"` // up to which the vote account's credits are paid then
	Part        uint64  `json:"part"`    // 0 is paid in the block after the boundary, 1 in the next one, ...
}

// payout is what a boundary pays.
type payout struct {
	Blocks uint64        `json:"blocks"` // that pay stakes; at least one
	Total  uint64        `json:"total"`  // lamports to share; a little of it is lost to rounding
	Points *big.Int      `json:"points"` // stake times credits, over which Total is shared
	Votes  []voteReward  `json:"votes,omitempty"`
	Stakes []stakeReward `json:"stakes,omitempty"`
}

// paid is a block that pays stakes, in the journal.
type paid struct {
	Height uint64 `json:"height"`
}

// newPayout works out the rewards of the epoch that ended. It changes nothing. Every delegation gets its share of the
// total by its stake and its validator's new credits. Callers hold mu.
func (c *Cluster) newPayout(b *boundary) *payout {
	before := b.Height - 1
	history := historyIn(remembered(c.state.at(historySysvar, before).Data, b.Ended, b.Staked), b.Ended+1)
	p := &payout{Blocks: 1, Points: new(big.Int)}
	earned := map[address]earning{}
	voters := map[address]*voteState{}
	for key := range c.state {
		s, ok := c.delegated(key, before)
		if !ok {
			continue
		}
		if _, known := voters[s.Voter]; !known {
			voters[s.Voter] = nil
			if a := c.accountAt(s.Voter, before); a.Owner == voteProgram {
				if v, ok := readVote(s.Voter, a.Data); ok {
					voters[s.Voter] = &v
				}
			}
		}
		if v := voters[s.Voter]; v != nil {
			e := s.earning(v, history)
			earned[key] = e
			p.Points.Add(p.Points, e.points)
		}
	}
	if p.Points.Sign() == 0 {
		return p
	}
	// As if the whole supply were staked: the rate is what stakers get before commissions.
	p.Total = uint64(inflation(b.Ended) * yearsEpoch * float64(b.Staked.Effective))
	p.Total = min(p.Total, c.state.at(keyOf(c.faucet()), before).Lamports/2)
	commissions := map[address]uint64{}
	for _, key := range sorted(earned) {
		s, _ := c.delegated(key, before)
		points := c.commissionFor(s.Voter, b.Ended, voters[s.Voter])
		staker, voter, ok := earned[key].split(p, points, s.Activated == b.Ended)
		a := c.state.at(key, before)
		free := a.Lamports + staker - min(a.Lamports+staker, c.rentAt(b.Height).minimum(len(a.Data)))
		delegated := min(s.Stake+staker, free)
		if !ok && delegated == s.Stake {
			continue
		}
		r := stakeReward{Stake: key, Lamports: staker, Commission: points, Delegated: delegated, Deactivated: s.Deactivated, Credits: s.Credits}
		if ok {
			r.Credits = earned[key].credits
		}
		if delegated == 0 {
			r.Deactivated = b.Ended
		}
		p.Stakes = append(p.Stakes, r)
		commissions[s.Voter] += voter
	}
	for _, key := range sorted(commissions) {
		p.Votes = append(p.Votes, voteReward{key, commissions[key], c.commissionFor(key, b.Ended, voters[key])})
	}
	c.deal(p, b)
	return p
}

// sorted are the keys of a map in the order of their bytes.
func sorted[V any](m map[address]V) []address {
	return slices.SortedFunc(maps.Keys(m), func(a, b address) int { return bytes.Compare(a[:], b[:]) })
}

// deal decides which block pays which stake. The hash of the block before the boundary spreads them.
func (c *Cluster) deal(p *payout, b *boundary) {
	most := max(c.lengths.in(b.Ended+1).Slots/rewardBlocksPart, 1)
	perBlock := uint64(max(c.stakesPerBlock, 1))
	p.Blocks = min(max((uint64(len(p.Stakes))+perBlock-1)/perBlock, 1), most)
	parent := c.blockhash(b.Height - 1)
	for i, r := range p.Stakes {
		p.Stakes[i].Part = partOf(r.Stake, parent, p.Blocks)
	}
}

// partOf is the part in which an address is paid, of so many.
func partOf(key address, parent hash, parts uint64) uint64 {
	sum := sha256.Sum256(append(parent[:], key[:]...))
	part, _ := bits.Mul64(binary.LittleEndian.Uint64(sum[:]), parts)
	return part
}

// commissionFor is the commission in basis points that counts for the rewards of an epoch: the one that the vote account
// had when the epoch before it began (SIMD-0249), else when this one began, else today's.
func (c *Cluster) commissionFor(vote address, epoch uint64, now *voteState) uint16 {
	if i, ok := c.voters[vote]; ok && epoch < 2 {
		return validators[i].Commission // nothing has changed since genesis
	}
	for _, b := range c.boundaries[max(len(c.boundaries)-2, 0):] {
		if points, ok := b.commissions[vote]; ok && b.Ended+2 >= epoch {
			return min(points, fullCommission)
		}
	}
	return min(now.InflationCommission, fullCommission)
}

// earning is what a delegation has to show for since it was last paid. Forced ones get no lamports, but their credits
// move on.
type earning struct {
	points  *big.Int // stake times credits
	credits uint64   // of the vote account, as of now
	forced  bool
}

// earning adds up stake times new credits over the epochs that the vote account remembers.
func (s stakeState) earning(v *voteState, history stakeHistory) earning {
	e := earning{points: new(big.Int), credits: s.Credits}
	now := v.credits()
	if now < s.Credits { // the vote account was recreated
		return earning{points: e.points, credits: now, forced: true}
	}
	for _, epoch := range v.Credits {
		earned := uint64(0)
		if s.Credits < epoch.Before {
			earned = epoch.Now - min(epoch.Before, epoch.Now)
		} else if s.Credits < epoch.Now {
			earned = epoch.Now - min(e.credits, epoch.Now)
		}
		e.credits = max(e.credits, epoch.Now)
		stake := new(big.Int).SetUint64(s.at(epoch.Epoch, history).Effective)
		e.points.Add(e.points, stake.Mul(stake, new(big.Int).SetUint64(earned)))
	}
	return e
}

// split shares a reward between the staker and the validator, in lamports. It is false if nothing is paid and the
// credits stay, for a later epoch in which there is more to share.
func (e earning) split(p *payout, commission uint16, justActivated bool) (staker, voter uint64, ok bool) {
	if e.forced || p.Total == 0 || justActivated {
		return 0, 0, true
	}
	if e.points.Sign() == 0 {
		return 0, 0, false
	}
	share := new(big.Int).Mul(e.points, new(big.Int).SetUint64(p.Total))
	reward := share.Quo(share, p.Points).Uint64()
	switch {
	case reward == 0:
		return 0, 0, false
	case commission == 0:
		return reward, 0, true
	case commission == fullCommission:
		return 0, reward, true
	}
	of := func(points uint64) uint64 {
		high, low := bits.Mul64(reward, points)
		part, _ := bits.Div64(high, low, fullCommission)
		return part
	}
	staker, voter = of(fullCommission-uint64(commission)), of(uint64(commission))
	if staker == 0 || voter == 0 {
		return 0, 0, false
	}
	return staker, voter, true
}

// payCommissions pays the vote accounts, sets the stakes' rewards aside and activates the sysvar.
func (c *Cluster) payCommissions(b *boundary, final uint64) {
	p := b.Payout
	votes, stakes := uint64(0), uint64(0)
	block := rewardBlock{Height: b.Height, Parts: &p.Blocks}
	for _, r := range p.Votes {
		a := c.state.at(r.Vote, b.Height)
		a.Lamports += r.Lamports
		c.state.set(r.Vote, b.Height, a, final)
		votes += r.Lamports
		block.rewards = append(block.rewards, blockReward{r.Vote, r.Lamports, a.Lamports, "Voting", r.Commission})
	}
	c.rewardBlocks = append(c.rewardBlocks, block)
	for _, r := range p.Stakes {
		stakes += r.Lamports
	}
	faucet := c.state.at(keyOf(c.faucet()), b.Height)
	faucet.Lamports -= votes + stakes
	c.state.set(keyOf(c.faucet()), b.Height, faucet, final)

	sysvar := c.state.at(rewardsSysvar, b.Height)
	sysvar.Lamports += stakes
	data := binary.LittleEndian.AppendUint64(nil, b.Height+1)
	data = binary.LittleEndian.AppendUint64(data, p.Blocks)
	parent := c.blockhash(b.Height - 1)
	data = append(data, parent[:]...)
	low, high := new(big.Int).And(p.Points, new(big.Int).SetUint64(math.MaxUint64)), new(big.Int).Rsh(p.Points, 64)
	for _, n := range []uint64{low.Uint64(), high.Uint64(), p.Total, votes} {
		data = binary.LittleEndian.AppendUint64(data, n)
	}
	sysvar.Data = append(data, 1)
	c.state.set(rewardsSysvar, b.Height, sysvar, final)
}

// paying is the boundary whose stakes the block of that height pays, or nil.
func (c *Cluster) paying(height uint64) *boundary {
	n := len(c.boundaries)
	if n == 0 {
		return nil
	}
	if b := c.boundaries[n-1]; b.Payout != nil && b.Height < height && height <= b.Height+b.Payout.Blocks {
		return b
	}
	return nil
}

// rewardBlock is what one block paid. Parts is set for the first block of an epoch: how many blocks pay the stakes.
type rewardBlock struct {
	Height  uint64
	Parts   *uint64
	rewards []blockReward
}

// blockReward is one payment, in lamports, and the account's balance after it. Commission is in basis points.
type blockReward struct {
	key        address
	lamports   uint64
	after      uint64
	kind       string
	commission uint16
}

// rewardsOf finds what the block of that height paid.
func (c *Cluster) rewardsOf(height uint64) (rewardBlock, bool) {
	i, ok := slices.BinarySearchFunc(c.rewardBlocks, height, func(b rewardBlock, h uint64) int { return cmp.Compare(b.Height, h) })
	if !ok {
		return rewardBlock{}, false
	}
	return c.rewardBlocks[i], true
}

// payStakes pays one part of the stakes. With the last one the sysvar becomes inactive. Open calls it too when it
// replays the journal.
func (c *Cluster) payStakes(b *boundary, height uint64) {
	final := c.heightOf(finalized)
	sum := uint64(0)
	block := rewardBlock{Height: height}
	epoch := c.epochAt(height)
	history := historyIn(c.state.at(historySysvar, height).Data, epoch)
	for _, r := range b.Payout.Stakes {
		if r.Part != height-b.Height-1 {
			continue
		}
		// No transaction changes a delegation meanwhile, and none empties its account.
		s, ok := c.delegated(r.Stake, height)
		if !ok {
			continue
		}
		a := c.state.at(r.Stake, height)
		s.Stake, s.Deactivated, s.Credits = r.Delegated, r.Deactivated, r.Credits
		a.Lamports += r.Lamports
		a.Data = append(s.bytes(), a.Data[stakeLength:]...)
		c.state.set(r.Stake, height, a, final)
		sum += r.Lamports
		if r.Lamports == 0 {
			continue // only its credits moved on; blocks do not tell
		}
		kind := "Staking"
		if s.at(epoch, history).Effective == 0 {
			kind = "DeactivatedStake"
		}
		block.rewards = append(block.rewards, blockReward{r.Stake, r.Lamports, a.Lamports, kind, r.Commission})
	}
	c.rewardBlocks = append(c.rewardBlocks, block)
	sysvar := c.state.at(rewardsSysvar, height)
	sysvar.Lamports -= sum
	data := bytes.Clone(sysvar.Data)
	at := rewardsActiveAt - 8 // lamports that were paid so far
	binary.LittleEndian.PutUint64(data[at:], binary.LittleEndian.Uint64(data[at:])+sum)
	if height == b.Height+b.Payout.Blocks {
		data[rewardsActiveAt] = 0
	}
	sysvar.Data = data
	c.state.set(rewardsSysvar, height, sysvar, final)
}
