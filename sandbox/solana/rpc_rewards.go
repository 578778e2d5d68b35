package solana

// Methods about inflation and the rewards that it pays.

// getInflationGovernor returns the course of inflation, with mainnet's numbers.
func getInflationGovernor(c *Cluster, p params) (any, *rpcError) {
	if _, bad := c.heightFor(p, 0); bad != nil {
		return nil, bad
	}
	return object{"initial": firstRate, "terminal": lastRate, "taper": taper, "foundation": 0.0, "foundationTerm": 0.0}, nil
}

// getInflationRate returns the yearly rate of the epoch of the newest final block.
func getInflationRate(c *Cluster, _ params) (any, *rpcError) {
	epoch := c.epochAt(c.heightOf(finalized))
	rate := inflation(epoch)
	return object{"epoch": epoch, "total": rate, "validator": rate, "foundation": 0.0}, nil
}

// getInflationReward returns what each address got for an epoch, by default for the last one that is over: a vote
// account its commission, a stake account its reward, others null. Rewards lie in the first blocks of the next epoch.
// It is an error to ask before these blocks have reached the commitment.
func getInflationReward(c *Cluster, p params) (any, *rpcError) {
	var texts []string
	if bad := p.read(0, &texts); bad != nil {
		return nil, bad
	}
	keys := make([]address, len(texts))
	for i, text := range texts {
		var bad *rpcError
		if keys[i], bad = readAddress(text); bad != nil {
			return nil, bad
		}
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	now := c.epochAt(height)
	epoch := now - min(now, 1)
	if cfg.Epoch != nil {
		epoch = *cfg.Epoch
	}
	if epoch >= now {
		// The slot is where the next epoch would begin; an absurd epoch is cut, for its slot fits into no number.
		slot := c.lengths.first(min(epoch, now+maxSlotsPerEpoch) + 1)
		return nil, &rpcError{Code: codeBlockNotHere, Message: sentence("Block not available for slot %d", slot)}
	}
	first := c.lengths.firstBlock(epoch + 1)
	boundary, ok := c.rewardsOf(first)
	list := make([]any, len(keys))
	if !ok || boundary.Parts == nil {
		return list, nil // from before there were rewards
	}
	for i, key := range keys {
		if r := boundary.of(key); r != nil {
			list[i] = r.inflation(epoch, first)
			continue
		}
		// The address alone says which block would pay it.
		at := first + 1 + partOf(key, c.blockhash(first-1), *boundary.Parts)
		if at > height {
			return nil, &rpcError{
				Code: codeRewardsActive, Message: sentence("Epoch rewards period still active at slot %d", slotOf(height)),
				Data: object{"slot": slotOf(height), "currentBlockHeight": height, "rewardsCompleteBlockHeight": first + *boundary.Parts + 1},
			}
		}
		paid, _ := c.rewardsOf(at)
		if r := paid.of(key); r != nil {
			list[i] = r.inflation(epoch, at)
		}
	}
	return list, nil
}

// of finds an account's payment, or nil.
func (b rewardBlock) of(key address) *blockReward {
	for _, r := range b.rewards {
		if r.key == key {
			return &r
		}
	}
	return nil
}

// inflation is one entry of getInflationReward. The commission in percent is null since there are basis points.
func (r *blockReward) inflation(epoch, height uint64) object {
	return object{
		"epoch": epoch, "effectiveSlot": slotOf(height), "amount": r.lamports, "postBalance": r.after,
		"commission": nil, "commissionBps": r.commission,
	}
}

// wire is the list of rewards in getBlock.
func (b rewardBlock) wire() []object {
	list := []object{}
	for _, r := range b.rewards {
		list = append(list, object{
			"pubkey": r.key.String(), "lamports": r.lamports, "postBalance": r.after, "rewardType": r.kind,
			"commission": nil, "commissionBps": r.commission,
		})
	}
	return list
}
