package solana

import "time"

// Methods about the supply, the one validator, and the cluster's pace.

// getSupply returns lamports. It counts the faucet's balance as non-circulating.
func getSupply(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	faucet := keyOf(c.faucet())
	total, held := c.state.total(height), c.state.at(faucet, height).Lamports
	accounts := []string{faucet.String()}
	if cfg.WithoutList {
		accounts = []string{}
	}
	return withContext(height, object{
		"total": total, "circulating": total - held, "nonCirculating": held, "nonCirculatingAccounts": accounts,
	}), nil
}

// getLargestAccounts lists accounts by lamports, the largest first.
func getLargestAccounts(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(0)
	if bad != nil {
		return nil, bad
	}
	if cfg.Filter != "" && cfg.Filter != "circulating" && cfg.Filter != "nonCirculating" {
		return nil, invalidParams("Invalid params: unknown variant `%.20s`, expected `circulating` or `nonCirculating`.", cfg.Filter)
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	faucet := keyOf(c.faucet())
	var list []sized
	// The faucet is the only non-circulating account.
	for key := range c.state {
		if cfg.Filter == "" || (key == faucet) == (cfg.Filter == "nonCirculating") {
			if lamports := c.state.at(key, height).Lamports; lamports > 0 {
				list = append(list, sized{key, lamports})
			}
		}
	}
	shown := []object{}
	for _, e := range largest(list) {
		shown = append(shown, object{"address": e.key.String(), "lamports": e.amount})
	}
	return withContext(height, shown), nil
}

// getEpochSchedule describes epochs without warm-up. After a change of their length it counts from the first epoch of
// the present length, so that it holds for that epoch and all later ones until the next change.
func getEpochSchedule(c *Cluster, _ params) (any, *rpcError) {
	now := c.lengths.in(c.epochAt(c.tip))
	return object{
		"slotsPerEpoch": now.Slots, "leaderScheduleSlotOffset": now.Slots, "warmup": false,
		"firstNormalEpoch": now.Epoch, "firstNormalSlot": now.Slot,
	}, nil
}

// maxSamples is Agave's limit of getRecentPerformanceSamples; sampleLength is the time that one sample covers.
const (
	maxSamples   = 720
	sampleLength = time.Minute
)

// getPerformanceSamples lists the last minutes, newest first. It assumes that all slots had today's length.
func getPerformanceSamples(c *Cluster, p params) (any, *rpcError) {
	limit := uint64(maxSamples)
	if p.has(0) {
		if bad := p.read(0, &limit); bad != nil {
			return nil, bad
		}
	}
	if limit > maxSamples {
		return nil, invalidParams("Invalid limit; max %d", maxSamples)
	}
	pace := c.paces[len(c.paces)-1].SlotTime
	if pace <= 0 {
		pace = DefaultSlotTime
	}
	// Samples begin at multiples of their length in slots, so that they stay the same from one call to the next.
	slots := max(uint64(sampleLength/pace), 1)
	samples := []object{}
	for end := slotOf(c.tip) / slots * slots; end > 0 && uint64(len(samples)) < limit; end -= slots {
		n := len(c.history.between(heightAt(end-slots), heightAt(end)))
		samples = append(samples, object{
			"slot": end, "numSlots": slots, "samplePeriodSecs": int(sampleLength.Seconds()),
			"numTransactions": n, "numNonVoteTransactions": n,
		})
	}
	return samples, nil
}

// maxLeaders is Agave's limit of getSlotLeaders.
const maxLeaders = 5000

// getSlotLeader names the only validator, which is also the account that collects fees.
func getSlotLeader(c *Cluster, p params) (any, *rpcError) {
	if _, bad := c.heightFor(p, 0); bad != nil {
		return nil, bad
	}
	return c.collector().String(), nil
}

// getSlotLeaders names the only validator for every slot until the end of the next epoch. Later slots are an error.
func getSlotLeaders(c *Cluster, p params) (any, *rpcError) {
	var from, limit uint64
	if bad := p.read(0, &from); bad != nil {
		return nil, bad
	}
	if bad := p.read(1, &limit); bad != nil {
		return nil, bad
	}
	if limit > maxLeaders {
		return nil, invalidParams("Invalid limit; max %d", maxLeaders)
	}
	// The leader schedule is known until the end of the next epoch.
	known := c.lengths.first(c.epochAt(c.tip) + 2)
	if from >= known {
		return nil, invalidParams("Invalid slot range: leader schedule for epoch %d is unavailable", c.lengths.of(from))
	}
	leaders := make([]string, min(limit, known-from))
	for i := range leaders {
		leaders[i] = c.collector().String()
	}
	return leaders, nil
}

// getClusterNodes names the only validator. Its addresses are null, because a Cluster does not know where it is
// served.
func getClusterNodes(c *Cluster, _ params) (any, *rpcError) {
	return []object{{
		"pubkey": c.collector().String(), "version": apiVersion, "featureSet": 0, "shredVersion": 1,
		"gossip": nil, "tpu": nil, "tpuQuic": nil, "tpuForwards": nil, "tpuForwardsQuic": nil, "tpuVote": nil,
		"tvu": nil, "serveRepair": nil, "rpc": nil, "pubsub": nil,
	}}, nil
}

// getBlockCommitment has no votes to show: there is one validator, and its blocks reach a commitment by their age
// alone.
func getBlockCommitment(c *Cluster, p params) (any, *rpcError) {
	var slot uint64
	if bad := p.read(0, &slot); bad != nil {
		return nil, bad
	}
	return object{"commitment": nil, "totalStake": 0}, nil
}

// slotRange is the range of slots that getBlockProduction counts, both ends included. Last is nil for the newest
// slot.
type slotRange struct {
	First uint64  `json:"firstSlot"`
	Last  *uint64 `json:"lastSlot"`
}

// getBlockProduction counts slots and blocks. The default range begins with the epoch.
func getBlockProduction(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	last := slotOf(height)
	first := c.lengths.first(c.epochAt(height))
	if r := cfg.Range; r != nil {
		if r.Last != nil {
			if *r.Last > last {
				return nil, invalidParams("lastSlot, %d, is too large; max %d", *r.Last, last)
			}
			last = *r.Last
		}
		// An explicit range begins where the client says.
		if first = r.First; first > last {
			return nil, invalidParams("lastSlot, %d, cannot be less than firstSlot, %d", last, first)
		}
	}
	produced := object{}
	if own := c.collector().String(); cfg.Identity == "" || cfg.Identity == own {
		blocks := heightAt(last)
		if first > 0 {
			blocks -= heightAt(first - 1)
		} else {
			blocks++ // the block at height 0 counts too
		}
		produced[own] = []uint64{last - first + 1, blocks}
	}
	return withContext(height, object{"byIdentity": produced, "range": object{"firstSlot": first, "lastSlot": last}}), nil
}

// getBlocksWithLimit lists the next slots with a block, from the given slot on.
func getBlocksWithLimit(c *Cluster, p params) (any, *rpcError) {
	var from, limit uint64
	if bad := p.read(0, &from); bad != nil {
		return nil, bad
	}
	if bad := p.read(1, &limit); bad != nil {
		return nil, bad
	}
	if limit > maxBlockRange {
		return nil, invalidParams("Limit too large; max %d", maxBlockRange)
	}
	cfg, bad := p.config(2)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	// Skipped slots do not count towards the limit.
	slots := []uint64{}
	for slot := from; slot <= slotOf(height) && uint64(len(slots)) < limit; slot++ {
		if !skipped(slot) {
			slots = append(slots, slot)
		}
	}
	return slots, nil
}
