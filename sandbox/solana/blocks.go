package solana

// makeBlocks brings the chain up to height. It skips blocks that do nothing when no transaction waits and nobody is
// subscribed. Callers hold mu.
func (c *Cluster) makeBlocks(height uint64) {
	for c.tip < height && c.broken == nil && !c.closed {
		if len(c.queue) == 0 {
			skipTo := height
			if !c.hub.idle() {
				skipTo -= min(longSleep, skipTo)
			}
			if skipTo = min(skipTo, c.nextEvent(height)-1); skipTo > c.tip {
				c.tip = skipTo
				continue
			}
		}
		c.makeBlock()
		c.hub.announce(c)
	}
}

// makeBlock executes the transactions that are due and writes them to the journal, before mu is released and anyone
// can see them. If the journal cannot be written, the block is undone. Callers hold mu.
func (c *Cluster) makeBlock() {
	height := c.tip + 1
	records := c.beginBlock(height)
	// Transactions execute in the order in which they arrived. Each sees the effects of the ones before it.
	var kept []*queued
	var made []*landed
	for _, q := range c.queue {
		if q.due > height {
			kept = append(kept, q)
			continue
		}
		out := c.bank(height).execute(q.tx)
		// A refused transaction stays in the queue only if the reason can pass; otherwise the sender learns nothing
		// more, as on a cluster.
		if !out.Landed {
			if q.retries != 0 && retryable(out.Err) {
				q.retries--
				q.due = height + retryAfter
				kept = append(kept, q)
			}
			continue
		}
		l := c.settle(out.loaded, height, out)
		made = append(made, l)
	}
	c.queue = kept
	// The records are written with one call, so a crash keeps the whole block or drops it.
	for _, l := range made {
		records = append(records, record{Landed: l.record()})
	}
	if len(records) > 0 {
		if c.write(records...); c.broken != nil {
			c.undo(c.tip)
			return
		}
	}
	c.tip = height
}

// beginBlock does what a block does before its transactions, and returns it for the journal. Callers hold mu.
func (c *Cluster) beginBlock(height uint64) []record {
	if c.begins(height) {
		b := c.newBoundary(height)
		c.cross(b)
		return []record{{Boundary: b}}
	}
	if b := c.paying(height); b != nil {
		c.payStakes(b, height)
		return []record{{Paid: &paid{height}}}
	}
	return nil
}

// retryable reports whether a refusal can pass while the blockhash is valid: the missing account or balance may still
// come.
func retryable(err *TransactionError) bool {
	switch err.Name {
	case "AccountNotFound", "InsufficientFundsForFee", "InsufficientFundsForRent", "InvalidAccountForFee":
		return true
	}
	return false
}

// bank returns what a transaction is judged against in a block of that height: the accounts and blockhashes as they
// are there.
func (c *Cluster) bank(height uint64) bank {
	return bank{
		read:   func(key address) account { return c.accountAt(key, height) },
		recent: func(h hash) bool { _, ok := c.ageOf(h, height); return ok },
		done: func(tx *transaction) bool {
			l := c.history.byMessage[tx.Hash()]
			return l != nil && l.Height <= height
		},
		rent:              c.rentAt(height),
		slot:              slotOf(height),
		time:              func(slot uint64) int64 { return c.blockTime(heightAt(slot)) },
		epoch:             c.lengths.of,
		firstSlot:         c.lengths.first,
		minimumDelegation: c.minimumAt(height),
		recentSlot: func(slot uint64) (int, bool) {
			at := heightAt(slot)
			if slotOf(at) != slot || at >= height || height-at > tableHistory {
				return 0, false
			}
			return int(height - at - 1), true
		},
	}
}

// settle puts the effects of an executed transaction into the state and adds it to the history.
func (c *Cluster) settle(tx *transaction, height uint64, out outcome) *landed {
	l := &landed{tx: tx, Height: height, outcome: out}
	final := c.heightOf(finalized)
	for key, a := range out.Writes {
		c.state.set(key, height, a, final)
	}
	// The fee leaves the payer in execute; here it arrives at the collector.
	fees := c.state.at(c.collector(), height)
	fees.Lamports += out.Fee
	c.state.set(c.collector(), height, fees, final)
	c.history.add(l)
	return l
}
