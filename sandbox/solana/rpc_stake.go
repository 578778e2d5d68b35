package solana

import (
	"bytes"
	"slices"
)

// Methods about validators and stake.

const (
	delinquentDistance = 128 // slots behind the newest one from which on a validator is delinquent
	creditsShown       = 5   // epochs of credits in getVoteAccounts
)

// getStakeMinimumDelegation returns lamports.
func getStakeMinimumDelegation(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	if bad != nil {
		return nil, bad
	}
	return withContext(height, c.minimumAt(height)), nil
}

// getVoteAccounts lists the validators, the ones with the most stake first. A validator without stake is left out if
// it is delinquent, unless the client wants those too.
func getVoteAccounts(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(0)
	if bad != nil {
		return nil, bad
	}
	var only address
	if cfg.VotePubkey != "" {
		if only, bad = readAddress(cfg.VotePubkey); bad != nil {
			return nil, bad
		}
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	distance := uint64(delinquentDistance)
	if cfg.DelinquentDistance != nil {
		distance = *cfg.DelinquentDistance
	}
	stakes := c.stakes(height)
	var keys []address
	for key := range c.state {
		if c.state.at(key, height).Owner == voteProgram && (cfg.VotePubkey == "" || key == only) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b address) int {
		if stakes[a] != stakes[b] {
			if stakes[a] > stakes[b] {
				return -1
			}
			return 1
		}
		return bytes.Compare(a[:], b[:])
	})
	current, delinquent := []object{}, []object{}
	slot := slotOf(height)
	for _, key := range keys {
		v, ok := readVote(key, c.accountAt(key, height).Data)
		if !ok {
			continue
		}
		switch {
		case v.lastVote() >= slot-min(slot, distance):
			current = append(current, v.wire(key, stakes[key]))
		case stakes[key] > 0 || cfg.KeepUnstaked:
			delinquent = append(delinquent, v.wire(key, stakes[key]))
		}
	}
	return object{"current": current, "delinquent": delinquent}, nil
}

// lastVote is the newest slot that the validator voted for, or 0.
func (v voteState) lastVote() uint64 {
	if len(v.Votes) == 0 {
		return 0
	}
	return v.Votes[len(v.Votes)-1].Slot
}

// wire is one entry of getVoteAccounts. The commission in percent is rounded up.
func (v voteState) wire(key address, stake uint64) object {
	credits := [][3]uint64{}
	for _, e := range v.Credits[max(len(v.Credits)-creditsShown, 0):] {
		credits = append(credits, [3]uint64{e.Epoch, e.Now, e.Before})
	}
	root := uint64(0)
	if v.Root != nil {
		root = *v.Root
	}
	return object{
		"votePubkey": key.String(), "nodePubkey": v.Node.String(), "activatedStake": stake,
		"commission":                    min((int(v.InflationCommission)+99)/100, maxCommissionShown),
		"inflationRewardsCommissionBps": v.InflationCommission,
		"epochVoteAccount":              true, "epochCredits": credits, "lastVote": v.lastVote(), "rootSlot": root,
	}
}
