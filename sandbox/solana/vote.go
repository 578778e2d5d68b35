package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// validator is one of the validators that every cluster has. Stake is in lamports, Commission in basis points.
type validator struct {
	Name       string
	Stake      uint64
	Commission uint16
	Silent     bool // it does not vote, until SetSilent says otherwise
}

// firstRaise is a change of commission that every cluster has: a validator that begins cheap and does not stay so.
var firstRaise = commissionChange{Epoch: 4, Validator: 4, Points: 1000}

// validators are the same in every cluster. The two largest could halt it, and the fourth does not vote.
var validators = [...]validator{
	{Name: "Alder", Stake: 3000 * lamportsPerSOL, Commission: 500},
	{Name: "Birch", Stake: 2500 * lamportsPerSOL, Commission: 700},
	{Name: "Cedar", Stake: 2000 * lamportsPerSOL, Commission: 800},
	{Name: "Dogwood", Stake: 1500 * lamportsPerSOL, Commission: 1000, Silent: true},
	{Name: "Elm", Stake: 1000 * lamportsPerSOL, Commission: 250},
}

// Validator says who a validator of the sandbox is, for tests and configurations.
type Validator struct {
	Name     string
	Vote     string // address of the vote account, to which stake is delegated
	Identity string // address of the node
}

// Validators lists the validators of every cluster with that seed.
func Validators(seed string) []Validator {
	var list []Validator
	for i, v := range validators {
		list = append(list, Validator{v.Name, validatorKey(seed, "vote", i).String(), validatorKey(seed, "identity", i).String()})
	}
	return list
}

// validatorKey derives an account of a validator from the seed alone, so that configurations can name it.
func validatorKey(seed, what string, i int) address {
	sum := sha256.Sum256(fmt.Appendf(nil, "validator %q %s %d", seed, what, i))
	return keyOf(ed25519.NewKeyFromSeed(sum[:]))
}

const (
	identityLamports = lamportsPerSOL
	infoSize         = 643 // bytes of a validator's info account
	creditsPerSlot   = 16  // credits of a vote that lands in the next slot (SIMD-0033)
	votesKept        = 31  // votes that a vote account holds before the oldest becomes the root
)

// infoKey is the first key of every validator's info account.
var infoKey = known("Va1idator1nfo111111111111111111111111111111")

// addStaking adds the programs and sysvars of stakingVersion, and the validators with their own stakes.
func (c *Cluster) addStaking() error {
	rent := c.rentAt(0)
	sysvar := func(data []byte) account { return account{1, sysvarOwner, data, false} }
	c.voters = map[address]int{}
	c.commissions = []commissionChange{firstRaise}
	added := map[address]account{
		stakeProgram:   {rent.minimum(len(programStub)), loaderV2, []byte(programStub), true},
		voteProgram:    {1, nativeLoader, []byte("solana_vote_program"), true},
		clockSysvar:    sysvar(nil), // filled in when it is read
		scheduleSysvar: sysvar(c.lengths[0].sysvar()),
		historySysvar:  sysvar(make([]byte, 8)),
		rewardsSysvar:  sysvar(make([]byte, rewardsActiveAt+1)),
	}
	for i, v := range validators {
		node, vote := validatorKey(c.seed, "identity", i), validatorKey(c.seed, "vote", i)
		state := voteState{
			Node: node, Withdrawer: node, InflationCollector: vote, RevenueCollector: node,
			InflationCommission: v.Commission, RevenueCommission: 10_000, Voters: []epochVoter{{0, node}},
		}
		c.voters[vote] = i
		own := stakeState{
			Kind: stakeDelegated, Reserve: pseudoReserve, Staker: node, Withdrawer: node,
			delegation: delegation{Voter: vote, Stake: v.Stake, Activated: never, Deactivated: never}, Rate: defaultRate,
		}
		added[node] = account{Lamports: identityLamports}
		added[vote] = account{rent.minimum(voteSize), voteProgram, state.bytes(), false}
		added[validatorKey(c.seed, "stake", i)] = account{
			rent.minimum(stakeSize) + v.Stake, stakeProgram, resized(own.bytes(), stakeSize), false,
		}
		added[validatorKey(c.seed, "info", i)] = account{rent.minimum(infoSize), configProgram, infoData(node, v.Name), false}
	}
	return c.found(stakingVersion, added)
}

// infoData is what the Config program keeps of a validator: two keys, of which the second has signed, and JSON.
func infoData(node address, name string) []byte {
	b := append([]byte{2}, infoKey[:]...)
	b = append(append(append(b, 0), node[:]...), 1)
	text, _ := json.Marshal(object{"name": name, "details": "A validator of the sandbox"}) // strings cannot fail
	b = binary.LittleEndian.AppendUint64(b, uint64(len(text)))
	return resized(append(b, text...), infoSize)
}

// accountAt is an account as a client or program reads it after the block of that height. The Clock sysvar and the
// votes of validators change with every slot, so that they are made up here rather than stored. Callers hold mu.
func (c *Cluster) accountAt(key address, height uint64) account {
	a := c.state.at(key, height)
	switch {
	case key == clockSysvar && a.exists():
		a.Data = c.clockData(height)
	case a.Owner == voteProgram:
		i, known := c.voters[key]
		if v, ok := readVote(key, a.Data); ok && known {
			c.vote(&v, c.turnout(i), slotOf(height))
			a.Data = v.bytes()
		}
	}
	return a
}

// votingChange says whether a validator votes from a slot on.
type votingChange struct {
	Slot      uint64 `json:"slot"`
	Validator int    `json:"validator"`
	Silent    bool   `json:"silent"`
}

// turnout lists the slots that a validator votes for, as ranges without their ends, oldest first. The last one is
// open.
type turnout []struct{ From, To uint64 }

// turnout lists the slots that validator i votes for. Callers hold mu.
func (c *Cluster) turnout(i int) turnout {
	var t turnout
	silent := true
	change := func(slot uint64, to bool) {
		switch {
		case silent && !to:
			t = append(t, struct{ From, To uint64 }{slot, math.MaxUint64})
		case !silent && to:
			t[len(t)-1].To = slot
		}
		silent = to
	}
	change(0, validators[i].Silent)
	for _, v := range c.voting {
		if v.Validator == i {
			change(v.Slot, v.Silent)
		}
	}
	return t
}

// last is the newest slot before the given one that got a vote.
func (t turnout) last(before uint64) (slot uint64, ok bool) {
	for i := len(t) - 1; i >= 0; i-- {
		if to := min(t[i].To, before); to > t[i].From {
			return to - 1, true
		}
	}
	return 0, false
}

// credits is what the votes for slots before the given one have earned. The first slot earns nothing.
func (t turnout) credits(before uint64) uint64 {
	slots := uint64(0)
	for _, r := range t {
		from := max(r.From, 1)
		slots += max(min(r.To, before), from) - from
	}
	return slots * creditsPerSlot
}

// vote makes the account that of a validator that has voted in time for those slots, up to the given one.
func (c *Cluster) vote(v *voteState, t turnout, slot uint64) {
	newest, ok := t.last(slot + 1)
	if !ok {
		return
	}
	v.LastSlot, v.LastTime = newest, c.blockTime(heightAt(newest))
	v.Voters = []epochVoter{{c.lengths.of(newest), v.Node}}
	// The newest votes are kept, and the one before them is the root.
	for s, ok := newest, true; ok; s, ok = t.last(s) {
		if len(v.Votes) == votesKept {
			v.Root = &s
			break
		}
		v.Votes = append(v.Votes, vote{Latency: 1, Slot: s, Confirmations: uint32(len(v.Votes) + 1)})
	}
	slices.Reverse(v.Votes)
	// An epoch without a vote has no entry.
	for s, ok := newest, true; ok && s > 0 && len(v.Credits) < maxEpochCredits; {
		epoch := c.lengths.of(s)
		first := c.lengths.first(epoch)
		v.Credits = append(v.Credits, epochCredits{epoch, t.credits(s + 1), t.credits(first)})
		s, ok = t.last(first)
	}
	slices.Reverse(v.Credits)
}

// clockData is the Clock sysvar: slot, time of the epoch's first block, epoch, the epoch up to which leaders are known,
// and time, both in Unix seconds.
func (c *Cluster) clockData(height uint64) []byte {
	slot := slotOf(height)
	epoch := c.lengths.of(slot)
	b := binary.LittleEndian.AppendUint64(nil, slot)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.blockTime(c.lengths.firstBlock(epoch))))
	b = binary.LittleEndian.AppendUint64(b, epoch)
	b = binary.LittleEndian.AppendUint64(b, epoch+1)
	return binary.LittleEndian.AppendUint64(b, uint64(c.blockTime(height)))
}

// stakes adds up the effective stake by vote account, in lamports. Callers hold mu.
func (c *Cluster) stakes(height uint64) map[address]uint64 {
	epoch := c.epochAt(height)
	history := historyIn(c.state.at(historySysvar, height).Data, epoch)
	sums := map[address]uint64{}
	for key := range c.state {
		if s, ok := c.delegated(key, height); ok {
			sums[s.Voter] += s.at(epoch, history).Effective
		}
	}
	return sums
}

// maxCommissionShown is the largest commission in percent that a node shows: it is a byte there.
const maxCommissionShown = math.MaxUint8
