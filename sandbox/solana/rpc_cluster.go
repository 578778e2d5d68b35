package solana

import "time"

// What the cluster says of its supply, its one validator and its pace.

// getSupply counts what the faucet holds as not circulating.
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

func getEpochSchedule(*Cluster, params) (any, *rpcError) {
	return object{
		"slotsPerEpoch": slotsPerEpoch, "leaderScheduleSlotOffset": slotsPerEpoch, "warmup": false,
		"firstNormalEpoch": 0, "firstNormalSlot": 0,
	}, nil
}

// maxSamples is Agave's limit for getRecentPerformanceSamples, and a sample's length.
const (
	maxSamples   = 720
	sampleLength = time.Minute
)

// getPerformanceSamples lists the last minutes, the newest first, at the present pace.
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

// maxLeaders is Agave's limit for getSlotLeaders.
const maxLeaders = 5000

func getSlotLeader(c *Cluster, p params) (any, *rpcError) {
	if _, bad := c.heightFor(p, 0); bad != nil {
		return nil, bad
	}
	return c.collector().String(), nil
}

// getSlotLeaders names the one validator for every slot up to the end of the next epoch.
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
	known := (slotOf(c.tip)/slotsPerEpoch + 2) * slotsPerEpoch
	if from >= known {
		return nil, invalidParams("Invalid slot range: leader schedule for epoch %d is unavailable", from/slotsPerEpoch)
	}
	leaders := make([]string, min(limit, known-from))
	for i := range leaders {
		leaders[i] = c.collector().String()
	}
	return leaders, nil
}

// getClusterNodes names the one validator. Where it listens is not known here.
func getClusterNodes(c *Cluster, _ params) (any, *rpcError) {
	return []object{{
		"pubkey": c.collector().String(), "version": apiVersion, "featureSet": 0, "shredVersion": 1,
		"gossip": nil, "tpu": nil, "tpuQuic": nil, "tpuForwards": nil, "tpuForwardsQuic": nil, "tpuVote": nil,
		"tvu": nil, "serveRepair": nil, "rpc": nil, "pubsub": nil,
	}}, nil
}

// getBlockCommitment has no votes to tell of: one validator has all the stake, and its blocks count
// as they come.
func getBlockCommitment(c *Cluster, p params) (any, *rpcError) {
	var slot uint64
	if bad := p.read(0, &slot); bad != nil {
		return nil, bad
	}
	return object{"commitment": nil, "totalStake": 0}, nil
}

// slotRange is the part of the chain that getBlockProduction counts.
type slotRange struct {
	First uint64  `json:"firstSlot"`
	Last  *uint64 `json:"lastSlot"`
}

// getBlockProduction counts slots and blocks, from the epoch's beginning unless a range is given.
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
	first := last / slotsPerEpoch * slotsPerEpoch
	if r := cfg.Range; r != nil {
		if r.Last != nil {
			if *r.Last > last {
				return nil, invalidParams("lastSlot, %d, is too large; max %d", *r.Last, last)
			}
			last = *r.Last
		}
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
			blocks++ // the first block has height 0
		}
		produced[own] = []uint64{last - first + 1, blocks}
	}
	return withContext(height, object{"byIdentity": produced, "range": object{"firstSlot": first, "lastSlot": last}}), nil
}

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
	slots := []uint64{}
	for slot := from; slot <= slotOf(height) && uint64(len(slots)) < limit; slot++ {
		if !skipped(slot) {
			slots = append(slots, slot)
		}
	}
	return slots, nil
}
