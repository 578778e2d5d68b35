package solana

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/mr-tron/base58"
)

// The jsonParsed form of stake, vote and validator info accounts, and of the sysvars about epochs.

// digits is a number as text, because JavaScript numbers lose digits.
func digits(n uint64) string { return strconv.FormatUint(n, 10) }

// showStaking returns false for accounts of other kinds, and for data that cannot be parsed.
func showStaking(key address, a account) (any, bool) {
	var program, kind string
	var info any
	ok := false
	switch {
	case a.Owner == stakeProgram:
		program = "stake"
		kind, info, ok = showStake(a.Data)
	case a.Owner == voteProgram:
		program, kind = "vote", "vote"
		var v voteState
		if v, ok = readVote(key, a.Data); ok {
			info = v.shown()
		}
	case a.Owner == configProgram:
		program, kind = "config", "validatorInfo"
		info, ok = showInfo(a.Data)
	case a.Owner == sysvarOwner:
		program = "sysvar"
		kind, info, ok = showSysvar(key, a.Data)
	}
	if !ok {
		return nil, false
	}
	parsed := object{"type": kind}
	if info != nil {
		parsed["info"] = info
	}
	return object{"program": program, "parsed": parsed, "space": len(a.Data)}, true
}

func showStake(data []byte) (kind string, info any, ok bool) {
	s, ok := readStake(data)
	if !ok {
		return "", nil, false
	}
	meta := object{
		"rentExemptReserve": digits(s.Reserve),
		"authorized":        object{"staker": s.Staker.String(), "withdrawer": s.Withdrawer.String()},
		"lockup":            s.Lockup.shown(),
	}
	switch s.Kind {
	case stakeUninitialized:
		return "uninitialized", nil, true
	case stakeRewardsPool:
		return "rewardsPool", nil, true
	case stakeInitialized:
		return "initialized", object{"meta": meta, "stake": nil}, true
	}
	return "delegated", object{"meta": meta, "stake": object{
		"creditsObserved": s.Credits,
		"delegation": object{
			"voter": s.Voter.String(), "stake": digits(s.Stake), "activationEpoch": digits(s.Activated),
			"deactivationEpoch": digits(s.Deactivated), "warmupCooldownRate": s.rate(),
		},
	}}, true
}

// rate is warmupCooldownRate, or null for bytes that are no JSON number.
func (s stakeState) rate() any {
	if math.IsNaN(s.Rate) || math.IsInf(s.Rate, 0) {
		return nil
	}
	return s.Rate
}

func (l lockup) shown() object {
	return object{"unixTimestamp": l.Unix, "epoch": l.Epoch, "custodian": l.Custodian.String()}
}

func (v voteState) shown() object {
	votes, voters, credits := []object{}, []object{}, []object{}
	for _, one := range v.Votes {
		votes = append(votes, object{"slot": one.Slot, "confirmationCount": one.Confirmations})
	}
	for _, one := range v.Voters {
		voters = append(voters, object{"epoch": one.Epoch, "authorizedVoter": one.Voter.String()})
	}
	for _, one := range v.Credits {
		credits = append(credits, object{"epoch": one.Epoch, "credits": digits(one.Now), "previousCredits": digits(one.Before)})
	}
	var bls any
	if v.Bls != nil {
		bls = base58.Encode(v.Bls[:])
	}
	return object{
		"nodePubkey": v.Node.String(), "authorizedWithdrawer": v.Withdrawer.String(),
		"commission": byte(v.InflationCommission / 100), "votes": votes, "rootSlot": v.Root, "authorizedVoters": voters,
		"priorVoters": []object{}, "epochCredits": credits,
		"lastTimestamp":                 object{"slot": v.LastSlot, "timestamp": v.LastTime},
		"inflationRewardsCommissionBps": v.InflationCommission, "inflationRewardsCollector": v.InflationCollector.String(),
		"blockRevenueCollector": v.RevenueCollector.String(), "blockRevenueCommissionBps": v.RevenueCommission,
		"pendingDelegatorRewards": digits(v.Pending), "blsPubkeyCompressed": bls,
	}
}

// showInfo parses a validator's info: its keys, and JSON that the validator chose.
func showInfo(data []byte) (any, bool) {
	r := &reader{rest: data}
	keys := []object{}
	for n := r.length(33); n > 0; n-- {
		key := address(r.take(32))
		keys = append(keys, object{"pubkey": key.String(), "signer": r.byte() == 1})
	}
	if r.err != nil || len(keys) == 0 || keys[0]["pubkey"] != infoKey.String() {
		return nil, false
	}
	n := r.count(1)
	var chosen any
	if json.Unmarshal(r.take(n), &chosen) != nil || r.err != nil {
		return nil, false
	}
	return object{"keys": keys, "configData": chosen}, true
}

func showSysvar(key address, data []byte) (kind string, info any, ok bool) {
	r := &reader{rest: data}
	switch key {
	case clockSysvar:
		slot, began, epoch, leaders, now := r.u64(), int64(r.u64()), r.u64(), r.u64(), int64(r.u64())
		return "clock", object{"slot": slot, "epochStartTimestamp": began, "epoch": epoch, "leaderScheduleEpoch": leaders, "unixTimestamp": now}, r.err == nil
	case scheduleSysvar:
		slots, offset, warmup, first, slot := r.u64(), r.u64(), r.present(), r.u64(), r.u64()
		return "epochSchedule", object{"slotsPerEpoch": slots, "leaderScheduleSlotOffset": offset, "warmup": warmup, "firstNormalEpoch": first, "firstNormalSlot": slot}, r.err == nil
	case historySysvar:
		list := []object{}
		for n := r.count(historyEntry); n > 0; n-- {
			list = append(list, object{"epoch": r.u64(), "stakeHistory": object{"effective": r.u64(), "activating": r.u64(), "deactivating": r.u64()}})
		}
		return "stakeHistory", list, r.err == nil
	case rewardsSysvar:
		begins, parts, parent := r.u64(), r.u64(), address(r.take(32)).String()
		low, high := r.u64(), r.u64()
		total, paid, active := r.u64(), r.u64(), r.present()
		return "epochRewards", object{
			"distributionStartingBlockHeight": begins, "numPartitions": parts, "parentBlockhash": parent,
			"totalPoints": wide(high, low), "totalRewards": digits(total), "distributedRewards": digits(paid), "active": active,
		}, r.err == nil
	}
	return "", nil, false
}

// wide is a 128-bit number as text.
func wide(high, low uint64) string {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(high), 64)
	return n.Or(n, new(big.Int).SetUint64(low)).String()
}
