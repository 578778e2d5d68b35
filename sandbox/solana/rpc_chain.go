package solana

import "math"

// Methods about the chain itself: slots, heights, blockhashes, fees, rent.

// getHealth is always ok. A cluster that cannot write its journal fails before the method is called.
func getHealth(*Cluster, params) (any, *rpcError) { return "ok", nil }

// getSlot returns the slot of the newest block at the commitment.
func getSlot(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	return slotOf(height), bad
}

// getBlockHeight returns a height, which is less than the slot, because skipped slots have no block.
func getBlockHeight(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	return height, bad
}

// heightFor reads the config at index i, and returns the height of the newest block that it allows to see.
func (c *Cluster) heightFor(p params, i int) (uint64, *rpcError) {
	cfg, bad := p.config(i)
	if bad != nil {
		return 0, bad
	}
	return c.height(cfg.Commitment, cfg.MinContextSlot)
}

// getTransactionCount counts what landed, failed transactions included.
func getTransactionCount(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	if bad != nil {
		return nil, bad
	}
	// Block 0 holds nothing, so everything up to height is what lies above it.
	return len(c.history.between(0, height)), nil
}

// getLatestBlockhash also returns the last height at which a transaction with this blockhash can land.
func getLatestBlockhash(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	if bad != nil {
		return nil, bad
	}
	return withContext(height, object{
		"blockhash":            c.blockhash(height).String(),
		"lastValidBlockHeight": height + maxAge,
	}), nil
}

// isBlockhashValid looks from the newest block at the commitment, so a hash can be too new for finalized.
func isBlockhashValid(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0) // a blockhash is 32 bytes in base58, like an address
	if bad != nil {
		return nil, bad
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	_, ok := c.ageOf(hash(key), height)
	return withContext(height, ok), nil
}

// getFeeForMessage returns the fee of a base64 message in lamports, or null if its blockhash is not valid.
func getFeeForMessage(c *Cluster, p params) (any, *rpcError) {
	text, bad := p.text(0)
	if bad != nil {
		return nil, bad
	}
	raw, bad := decodeWire(text, "base64", "solana_message::versions::VersionedMessage")
	if bad != nil {
		return nil, bad
	}
	msg, err := parseMessage(raw)
	if err != nil {
		return nil, invalidParams("failed to deserialize solana_message::versions::VersionedMessage: %s", err)
	}
	if !msg.sound() {
		return nil, invalidParams("invalid transaction message: index out of bounds")
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	// The lookup must succeed, although only the message's own keys count for the fee.
	if _, err := c.bank(height).lookUp(&transaction{message: *msg}); err != nil {
		return nil, invalidParams("invalid transaction message: %s", err)
	}
	if _, ok := c.ageOf(msg.Blockhash, height); !ok {
		return withContext(height, nil), nil
	}
	limits, fault := readBudget(msg)
	if fault != nil {
		limits = budget{} // nodes count signatures only; sendTransaction refuses such a message
	}
	return withContext(height, msg.fee(limits)), nil
}

// getMinimumBalance returns the rent-exempt minimum, in lamports, of an account with that many bytes of data.
func getMinimumBalance(c *Cluster, p params) (any, *rpcError) {
	var size uint64
	if bad := p.read(0, &size); bad != nil {
		return nil, bad
	}
	if size > maxData {
		return nil, invalidParams("Invalid params: an account holds at most %d bytes", maxData)
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	return c.rentAt(height).minimum(int(size)), nil
}

// getPrioritizationFees returns, for each of the last 150 blocks, the lowest price of a transaction in it, in
// micro-lamports per compute unit. With addresses, only transactions that write all of them count. Blocks without any
// have 0.
func getPrioritizationFees(c *Cluster, p params) (any, *rpcError) {
	var texts []string
	if p.has(0) {
		if bad := p.read(0, &texts); bad != nil {
			return nil, bad
		}
	}
	if len(texts) > 128 {
		return nil, invalidParams("Too many inputs provided; max 128")
	}
	keys := make([]address, len(texts))
	for i, text := range texts {
		var bad *rpcError
		if keys[i], bad = readAddress(text); bad != nil {
			return nil, bad
		}
	}
	// The window is as long as the life of a blockhash.
	first := c.tip - min(c.tip, maxAge-1)
	lowest := map[uint64]uint64{}
	for _, l := range c.history.between(max(first, 1)-1, c.tip) {
		if limits, err := readBudget(&l.tx.message); err == nil && l.tx.writes(keys) {
			if price, ok := lowest[l.Height]; !ok || limits.price() < price {
				lowest[l.Height] = limits.price()
			}
		}
	}
	// The list has an entry for each block, 0 if no transaction in it counts.
	fees := []object{}
	for h := first; h <= c.tip; h++ {
		fees = append(fees, object{"slot": slotOf(h), "prioritizationFee": lowest[h]})
	}
	return fees, nil
}

// writes says whether all the keys are writable accounts of the message.
func (m *message) writes(keys []address) bool {
next:
	for _, key := range keys {
		for i, k := range m.Keys {
			if k == key && m.writable(i) {
				continue next
			}
		}
		return false
	}
	return true
}

// getEpochInfo tells where in its epoch the newest block is. There is no leader schedule behind it.
func getEpochInfo(c *Cluster, p params) (any, *rpcError) {
	height, bad := c.heightFor(p, 0)
	if bad != nil {
		return nil, bad
	}
	return c.epochInfo(height), nil
}

// epochInfo is where in its epoch a block is.
func (c *Cluster) epochInfo(height uint64) object {
	slot, epoch := slotOf(height), c.epochAt(height)
	return object{
		"absoluteSlot":     slot,
		"blockHeight":      height,
		"epoch":            epoch,
		"slotIndex":        slot - c.lengths.first(epoch),
		"slotsInEpoch":     c.lengths.in(epoch).Slots,
		"transactionCount": len(c.history.between(0, height)),
	}
}

// blockAt returns the height of a slot's block. It is an error if the slot is later than height, or was skipped.
func (c *Cluster) blockAt(slot, height uint64) (uint64, *rpcError) {
	if slot > slotOf(height) {
		return 0, &rpcError{Code: codeBlockNotHere, Message: sentence("Block not available for slot %d", slot)}
	}
	if skipped(slot) {
		return 0, &rpcError{Code: codeSlotSkipped, Message: sentence("Slot %d was skipped, or missing due to ledger jump to recent snapshot", slot)}
	}
	return heightAt(slot), nil
}

// getBlockTime returns Unix time in seconds.
func getBlockTime(c *Cluster, p params) (any, *rpcError) {
	var slot uint64
	if bad := p.read(0, &slot); bad != nil {
		return nil, bad
	}
	height, bad := c.blockAt(slot, c.tip)
	if bad != nil {
		return nil, bad
	}
	return c.blockTime(height), nil
}

// maxBlockRange is Agave's limit for getBlocks, in slots.
const maxBlockRange = 500_000

// getBlocks lists the slots with a block from the first slot to the last. The second parameter may be the last slot
// or the config.
func getBlocks(c *Cluster, p params) (any, *rpcError) {
	var from uint64
	if bad := p.read(0, &from); bad != nil {
		return nil, bad
	}
	to, at := uint64(math.MaxUint64), 1
	if p.has(1) && p.list[1][0] != '{' {
		if bad := p.read(1, &to); bad != nil {
			return nil, bad
		}
		at = 2
	}
	cfg, bad := p.config(at)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	// The range ends with the newest visible block. A range that begins later is empty.
	if to = min(to, slotOf(height)); to < from {
		return []uint64{}, nil
	}
	if to-from > maxBlockRange {
		return nil, invalidParams("Slot range too large; max %d", maxBlockRange)
	}
	slots := []uint64{}
	for slot := from; slot <= to; slot++ {
		if !skipped(slot) {
			slots = append(slots, slot)
		}
	}
	return slots, nil
}
