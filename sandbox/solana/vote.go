package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// validator is one of the validators that every cluster has. Stake is in lamports, Commission in basis points.
type validator struct {
	Name       string
	Stake      uint64
	Commission uint16
	Silent     bool // it never votes
}

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
	schedule := binary.LittleEndian.AppendUint64(nil, slotsPerEpoch)
	schedule = binary.LittleEndian.AppendUint64(schedule, slotsPerEpoch)
	added := map[address]account{
		stakeProgram:   {rent.minimum(len(programStub)), loaderV2, []byte(programStub), true},
		voteProgram:    {1, nativeLoader, []byte("solana_vote_program"), true},
		clockSysvar:    sysvar(nil), // filled in when it is read
		scheduleSysvar: sysvar(append(schedule, make([]byte, 17)...)),
		historySysvar:  sysvar(make([]byte, 8)),
		rewardsSysvar:  sysvar(make([]byte, rewardsActiveAt+1)),
	}
	for i, v := range validators {
		node, vote := validatorKey(c.seed, "identity", i), validatorKey(c.seed, "vote", i)
		state := voteState{
			Node: node, Withdrawer: node, InflationCollector: vote, RevenueCollector: node,
			InflationCommission: v.Commission, RevenueCommission: 10_000, Voters: []epochVoter{{0, node}},
		}
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
	case a.Owner == voteProgram && c.votes(key):
		if v, ok := readVote(key, a.Data); ok {
			slot := slotOf(height)
			v.vote(slot)
			v.LastSlot, v.LastTime = slot, c.blockTime(height)
			a.Data = v.bytes()
		}
	}
	return a
}

// votes says whether an address is the vote account of a validator that votes.
func (c *Cluster) votes(key address) bool {
	for i, v := range validators {
		if !v.Silent && key == validatorKey(c.seed, "vote", i) {
			return true
		}
	}
	return false
}

// vote makes the account that of a validator that has voted in time for every slot up to this one.
func (v *voteState) vote(slot uint64) {
	first := slot - min(slot, votesKept-1)
	for s := first; s <= slot; s++ {
		v.Votes = append(v.Votes, vote{Latency: 1, Slot: s, Confirmations: uint32(slot - s + 1)})
	}
	if first > 0 {
		root := first - 1
		v.Root = &root
	}
	epoch := slot / slotsPerEpoch
	v.Voters = []epochVoter{{epoch, v.Node}}
	for e := epoch - min(epoch, maxEpochCredits-1); e <= epoch; e++ {
		end := min(slot, (e+1)*slotsPerEpoch)
		v.Credits = append(v.Credits, epochCredits{e, end * creditsPerSlot, e * slotsPerEpoch * creditsPerSlot})
	}
}

// clockData is the Clock sysvar: slot, time of the epoch's first block, epoch, the epoch up to which leaders are known,
// and time, both in Unix seconds.
func (c *Cluster) clockData(height uint64) []byte {
	slot := slotOf(height)
	epoch := slot / slotsPerEpoch
	b := binary.LittleEndian.AppendUint64(nil, slot)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.blockTime(heightAt(epoch*slotsPerEpoch))))
	b = binary.LittleEndian.AppendUint64(b, epoch)
	b = binary.LittleEndian.AppendUint64(b, epoch+1)
	return binary.LittleEndian.AppendUint64(b, uint64(c.blockTime(height)))
}

// stakes adds up the effective stake by vote account, in lamports. Callers hold mu.
func (c *Cluster) stakes(height uint64) map[address]uint64 {
	epoch := slotOf(height) / slotsPerEpoch
	history := historyIn(c.state.at(historySysvar, height).Data, epoch)
	sums := map[address]uint64{}
	for key := range c.state {
		a := c.state.at(key, height)
		if a.Owner != stakeProgram || !a.exists() {
			continue
		}
		if s, ok := readStake(a.Data); ok && s.Kind == stakeDelegated {
			sums[s.Voter] += s.at(epoch, history).Effective
		}
	}
	return sums
}

// maxCommissionShown is the largest commission in percent that a node shows: it is a byte there.
const maxCommissionShown = math.MaxUint8
