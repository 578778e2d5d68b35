package solana

// Methods that take transactions: sendTransaction and simulateTransaction.

// transactionParam decodes the transaction in the first parameter and sanitizes it. It does not check signatures.
func transactionParam(p params, encoding string) (*transaction, *rpcError) {
	const what = "solana_transaction::versioned::VersionedTransaction"
	text, bad := p.text(0)
	if bad != nil {
		return nil, bad
	}
	raw, bad := decodeWire(text, encoding, what)
	if bad != nil {
		return nil, bad
	}
	// Errors of parsing and sanitizing are invalid parameters, so that nothing that is malformed reaches the queue.
	tx, err := parseTransaction(raw)
	if err != nil {
		return nil, invalidParams("failed to deserialize %s: %s", what, err)
	}
	fault := tx.sanitize()
	if fault == nil && tx.repeats() {
		fault = failed("AccountLoadedTwice")
	}
	if fault != nil {
		return nil, invalidParams("invalid transaction: %s", fault)
	}
	return tx, nil
}

// errSignature is the response for a transaction with an invalid signature.
var errSignature = &rpcError{Code: codeSignature, Message: "Transaction signature verification failure"}

// sendTransaction checks the transaction (preflight) and queues it for the next block. It returns the first
// signature, which proves nothing about landing: a queued transaction can still fail or expire.
func sendTransaction(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	tx, bad := transactionParam(p, cfg.Encoding)
	if bad != nil {
		return nil, bad
	}
	// Without preflight, minContextSlot applies to the newest block.
	commitment := cfg.PreflightCommitment
	if cfg.SkipPreflight {
		newest := processed
		commitment = &newest
	}
	height, bad := c.height(commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	if !cfg.SkipPreflight {
		// Preflight executes the transaction on the chosen block and returns the error without sending it.
		if !tx.signed() {
			return nil, errSignature
		}
		if out := c.bank(height).execute(tx); out.Err != nil {
			return nil, &rpcError{
				Code:    codePreflight,
				Message: "Transaction simulation failed: " + out.Err.Error(),
				Data:    showSimulation(out, nil, nil),
			}
		}
	}
	// A negative number of retries means: until the blockhash expires.
	retries := -1
	if cfg.MaxRetries != nil {
		retries = int(*cfg.MaxRetries)
	}
	// A swallowed transaction is answered like any other, but never reaches the queue.
	if !p.fault.Swallow && !c.enqueue(tx, p.fault.Delay, retries) {
		return nil, &rpcError{Code: codeUnhealthy, Message: "Node is unhealthy", Data: object{"numSlotsBehind": nil}}
	}
	return tx.Signature().String(), nil
}

// simulateTransaction executes the transaction on the block at the commitment and throws the effects away. Signatures
// are not checked unless sigVerify asks for it.
func simulateTransaction(c *Cluster, p params) (any, *rpcError) {
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	tx, bad := transactionParam(p, cfg.Encoding)
	if bad != nil {
		return nil, bad
	}
	if cfg.SigVerify && cfg.ReplaceBlockhash {
		return nil, invalidParams("sigVerify may not be used with replaceRecentBlockhash")
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	if cfg.SigVerify && !tx.signed() {
		return nil, errSignature
	}
	// Signatures were checked above if asked for; the bank does not repeat that.
	bank := c.bank(height)
	bank.unverified, bank.anyHash = true, cfg.ReplaceBlockhash
	var replacement any
	if cfg.ReplaceBlockhash {
		replacement = object{
			"blockhash":            c.blockhash(height).String(),
			"lastValidBlockHeight": height + maxAge,
		}
	}
	out := bank.execute(tx)
	var accounts any
	if cfg.Accounts != nil {
		if accounts, bad = c.showAfter(*cfg.Accounts, out, height); bad != nil {
			return nil, bad
		}
	}
	shown := showSimulation(out, accounts, replacement)
	if cfg.Inner {
		shown["innerInstructions"] = showInner(out.loaded, out.Inner, true)
	}
	return withContext(height, shown), nil
}

// showAfter shows the requested accounts as the simulation left them, or null if it failed.
func (c *Cluster) showAfter(want wanted, out outcome, height uint64) (any, *rpcError) {
	if want.Encoding == "" {
		want.Encoding = "base64"
	}
	if want.Encoding == "binary" || want.Encoding == "base58" {
		return nil, invalidParams("base58 encoding not supported")
	}
	if most := len(out.loaded.Keys); len(want.Addresses) > most {
		return nil, invalidParams("Too many accounts provided; max %d", most)
	}
	list := make([]any, len(want.Addresses))
	for i, text := range want.Addresses {
		key, bad := readAddress(text)
		if bad != nil {
			return nil, bad
		}
		if out.Err != nil {
			continue
		}
		a, ok := out.Writes[key]
		if !ok {
			a = c.accountAt(key, height)
		}
		if list[i], bad = c.show(key, a, config{Encoding: want.Encoding}, height); bad != nil {
			return nil, bad
		}
	}
	return list, nil
}

// showSimulation is RpcSimulateTransactionResult. Errors of preflight carry it as their data too.
func showSimulation(out outcome, accounts, replacement any) object {
	shown := object{
		"err":                    out.Err.wire(),
		"logs":                   out.Logs,
		"accounts":               accounts,
		"unitsConsumed":          out.Units,
		"loadedAccountsDataSize": out.Loaded,
		"returnData":             showReturn(out.Return),
		"innerInstructions":      nil,
		"replacementBlockhash":   replacement,
		"fee":                    nil,
		"preBalances":            nil,
		"postBalances":           nil,
		"preTokenBalances":       nil,
		"postTokenBalances":      nil,
		"loadedAddresses":        nil,
	}
	if out.Landed {
		shown["fee"] = out.Fee
		shown["preBalances"], shown["postBalances"] = out.Pre, out.Post
		shown["preTokenBalances"], shown["postTokenBalances"] = out.Tokens.shown()
		shown["loadedAddresses"] = out.loaded.showLoaded()
	}
	return shown
}
