package solana

import (
	"encoding/base64"

	"github.com/mr-tron/base58"
)

// Methods about what happened: signature statuses, histories of accounts, transactions and blocks.

// recentStatuses is how many blocks back getSignatureStatuses looks without searchTransactionHistory, as Agave's
// status cache does.
const recentStatuses = 300

// getSignatureStatuses returns null for a signature that is unknown or too old. Confirmations are blocks on top, null
// once finalized.
func getSignatureStatuses(c *Cluster, p params) (any, *rpcError) {
	var texts []string
	if bad := p.read(0, &texts); bad != nil {
		return nil, bad
	}
	if len(texts) > 256 {
		return nil, invalidParams("Too many inputs provided; max 256")
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		sig, bad := readSignature(text)
		if bad != nil {
			return nil, bad
		}
		l := c.history.bySignature[sig]
		// Older statuses are found only with searchTransactionHistory.
		if l == nil || !cfg.SearchHistory && c.tip-l.Height > recentStatuses {
			continue
		}
		reached := c.levelOf(l.Height)
		var confirmations any
		if reached != finalized {
			confirmations = c.tip - l.Height
		}
		list[i] = object{
			"slot":               slotOf(l.Height),
			"confirmations":      confirmations,
			"err":                l.Err.wire(),
			"status":             showStatus(l.Err),
			"confirmationStatus": reached,
		}
	}
	return withContext(c.tip, list), nil
}

// showStatus is the result in the older form, which clients may read instead of err.
func showStatus(err *TransactionError) object {
	if err != nil {
		return object{"Err": err.wire()}
	}
	return object{"Ok": nil}
}

// maxHistory is Agave's limit of getSignaturesForAddress.
const maxHistory = 1000

// getSignaturesForAddress lists an account's transactions, newest first. before and until are signatures, and neither
// is in the list.
func getSignaturesForAddress(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	limit := uint64(maxHistory)
	if cfg.Limit != nil {
		limit = *cfg.Limit
	}
	if limit == 0 || limit > maxHistory {
		return nil, invalidParams("Invalid limit; max %d", maxHistory)
	}
	height, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	before, bad := c.bound(cfg.Before)
	if bad != nil {
		return nil, bad
	}
	until, bad := c.bound(cfg.Until)
	if bad != nil {
		return nil, bad
	}
	// The list begins below before and ends above until. Transactions above the commitment are left out.
	list := []object{}
	of := c.history.byAddress[key]
	started := before == nil
	for i := len(of) - 1; i >= 0 && uint64(len(list)) < limit; i-- {
		l := of[i]
		if until != nil && !l.newer(until) {
			break
		}
		if !started {
			started = before.newer(l)
		}
		if started && l.Height <= height {
			list = append(list, c.showSummary(l))
		}
	}
	return list, nil
}

// bound finds the transaction that limits a history, or nil if none is given. An unknown signature is an error: its
// place in the order is not known, and an empty list would look like the end of the history.
func (c *Cluster) bound(text string) (*landed, *rpcError) {
	if text == "" {
		return nil, nil
	}
	sig, bad := readSignature(text)
	if bad != nil {
		return nil, bad
	}
	l := c.history.bySignature[sig]
	if l == nil {
		return nil, &rpcError{Code: codeFilterNotFound, Message: sentence("Transaction %s not found", sig)}
	}
	return l, nil
}

// showSummary is one entry of getSignaturesForAddress.
func (c *Cluster) showSummary(l *landed) object {
	return object{
		"signature":          l.tx.Signature().String(),
		"slot":               slotOf(l.Height),
		"err":                l.Err.wire(),
		"memo":               l.tx.memos(),
		"blockTime":          c.blockTime(l.Height),
		"confirmationStatus": c.levelOf(l.Height),
	}
}

// memos joins the transaction's memos as Agave lists them: "[length] text; ...". It returns nil if there are none.
func (t *transaction) memos() any {
	text := ""
	for _, ix := range t.Instructions {
		if isMemo(t.Keys[ix.Program]) {
			if text != "" {
				text += "; "
			}
			text += sentence("[%d] %s", len(ix.Data), utf8Or(ix.Data, "(unparseable)"))
		}
	}
	if text == "" {
		return nil
	}
	return text
}

// utf8Or returns the data as text, or other if it is not UTF-8.
func utf8Or(data []byte, other string) string {
	if validPrefix(data) == len(data) {
		return string(data)
	}
	return other
}

// getTransaction returns null for a transaction that is unknown, or not yet at the commitment.
func getTransaction(c *Cluster, p params) (any, *rpcError) {
	sig, bad := p.signature(0)
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	l := c.history.bySignature[sig]
	if l == nil || l.Height > height {
		return nil, nil
	}
	shown, bad := showTransaction(l, cfg)
	if bad != nil {
		return nil, bad
	}
	shown["slot"] = slotOf(l.Height)
	shown["blockTime"] = c.blockTime(l.Height)
	return shown, nil
}

// showTransaction is a transaction with its meta in the requested encoding. Clients must say that they understand its
// version.
func showTransaction(l *landed, cfg config) (object, *rpcError) {
	if version := l.tx.Version; l.tx.Versioned && (cfg.MaxVersion == nil || int(*cfg.MaxVersion) < version) {
		return nil, &rpcError{Code: codeVersion, Message: sentence("Transaction version (%d) is not supported by the requesting client. Please try the request again with the following configuration parameter: \"maxSupportedTransactionVersion\": %[1]d", version)}
	}
	// The version is a member only for clients that said which versions they understand.
	shown := object{"meta": showMeta(l, cfg.Encoding == "jsonParsed")}
	if cfg.MaxVersion != nil {
		shown["version"] = "legacy"
		if l.tx.Versioned {
			shown["version"] = l.tx.Version
		}
	}
	switch cfg.Encoding {
	case "", "json":
		shown["transaction"] = showJSON(l.tx)
	case "jsonParsed":
		shown["transaction"] = showParsed(l.tx)
	case "base64":
		shown["transaction"] = []any{base64.StdEncoding.EncodeToString(l.tx.Wire), "base64"}
	case "base58":
		shown["transaction"] = []any{base58.Encode(l.tx.Wire), "base58"}
	case "binary":
		shown["transaction"] = base58.Encode(l.tx.Wire)
	default:
		return nil, invalidParams("Invalid params: unknown variant `%.20s`, expected one of `binary`, `base64`, `base58`, `json`, `jsonParsed`.", cfg.Encoding)
	}
	return shown, nil
}

// signatureTexts are the signatures in base58.
func (t *transaction) signatureTexts() []string {
	texts := make([]string, len(t.Signatures))
	for i, s := range t.Signatures {
		texts[i] = s.String()
	}
	return texts
}

// showJSON is the json form: accounts are indexes of accountKeys, and data is base58.
func showJSON(tx *transaction) object {
	instructions := make([]object, len(tx.Instructions))
	for i, ix := range tx.Instructions {
		instructions[i] = tx.showInstruction(ix)
	}
	message := object{
		"header": object{
			"numRequiredSignatures":       tx.Required,
			"numReadonlySignedAccounts":   tx.ReadSigned,
			"numReadonlyUnsignedAccounts": tx.ReadUnsigned,
		},
		"accountKeys":     addressTexts(tx.Keys[:tx.own()]),
		"recentBlockhash": tx.Blockhash.String(),
		"instructions":    instructions,
	}
	tx.showVersion(message)
	return object{"signatures": tx.signatureTexts(), "message": message}
}

// showVersion adds the parts that only messages newer than legacy have.
func (m *message) showVersion(shown object) {
	switch {
	case m.Version == 1:
		shown["transactionConfig"] = m.Config.show()
	case m.Versioned:
		shown["addressTableLookups"] = m.showLookups()
	}
}

// showParsed is the jsonParsed form: keys come with their rights, and instructions are parsed.
func showParsed(tx *transaction) object {
	keys := make([]object, len(tx.Keys))
	for i, k := range tx.Keys {
		source := "transaction"
		if i >= tx.own() {
			// Keys from lookup tables are marked, because they are not in the message.
			source = "lookupTable"
		}
		keys[i] = object{"pubkey": k.String(), "signer": tx.signer(i), "writable": tx.writable(i), "source": source}
	}
	instructions := make([]object, len(tx.Instructions))
	for i, ix := range tx.Instructions {
		instructions[i] = tx.showParsedInstruction(ix)
	}
	message := object{"accountKeys": keys, "recentBlockhash": tx.Blockhash.String(), "instructions": instructions}
	tx.showVersion(message)
	return object{"signatures": tx.signatureTexts(), "message": message}
}

// getBlock returns the block of a slot, with transactions, signatures or neither. Skipped slots are an error.
func getBlock(c *Cluster, p params) (any, *rpcError) {
	var slot uint64
	if bad := p.read(0, &slot); bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	top, bad := c.settledHeight(cfg)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.blockAt(slot, top)
	if bad != nil {
		return nil, bad
	}
	parent := height - min(height, 1)
	// Block 0 is its own parent.
	block := object{
		"blockhash":         c.blockhash(height).String(),
		"previousBlockhash": c.blockhash(parent).String(),
		"parentSlot":        slotOf(parent),
		"blockHeight":       height,
		"blockTime":         c.blockTime(height),
	}
	if cfg.Rewards == nil || *cfg.Rewards {
		paid, _ := c.rewardsOf(height)
		block["rewards"] = paid.wire()
		if paid.Parts != nil {
			block["numRewardPartitions"] = *paid.Parts
		}
	}
	if bad := c.showBlock(block, height, cfg); bad != nil {
		return nil, bad
	}
	return block, nil
}

// showBlock adds the transactions of a block in the form that was asked for: whole, their signatures, or none of them.
func (c *Cluster) showBlock(block object, height uint64, cfg config) *rpcError {
	// Block 0 holds no transactions.
	var inside []*landed
	if height > 0 {
		inside = c.history.between(height-1, height)
	}
	switch cfg.TransactionDetails {
	case "", "full":
		list := []object{}
		for _, l := range inside {
			shown, bad := showTransaction(l, cfg)
			if bad != nil {
				return bad
			}
			list = append(list, shown)
		}
		block["transactions"] = list
	case "signatures":
		list := []string{}
		for _, l := range inside {
			list = append(list, l.tx.Signature().String())
		}
		block["signatures"] = list
	case "none":
	default:
		return invalidParams("Invalid params: transactionDetails is `full`, `signatures` or `none` here")
	}
	return nil
}
