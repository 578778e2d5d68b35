package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"purser/wallet"
)

const (
	// maxStatuses is the limit of getSignatureStatuses, in signatures a call.
	maxStatuses = 256
	// finalConfirmations is the number that a finalized transaction is reported with (docs/specification.md, Events).
	finalConfirmations = 32
	// newestVersion is the newest version of transactions that disassemble reads. A node refuses to show a newer one.
	newestVersion = 1
	// unsupportedVersion is the code of that refusal (JSON-RPC, Agave's rpc_client/custom_error).
	unsupportedVersion = -32015
)

// signatureStatus is an entry of getSignatureStatuses.
type signatureStatus struct {
	Slot               *uint64         `json:"slot"`
	Confirmations      *uint64         `json:"confirmations"` // null when rooted
	Err                json.RawMessage `json:"err"`
	ConfirmationStatus string          `json:"confirmationStatus"`
}

// sound tells whether the entry has what every entry must have.
func (s *signatureStatus) sound() bool {
	return s.Slot != nil && slices.Contains([]string{"processed", confirmed, finalized}, s.ConfirmationStatus)
}

// landing is the entry as a landing of sig; nil if the block is not even confirmed.
func (s *signatureStatus) landing(sig wallet.Signature) *wallet.Landing {
	if s == nil || s.ConfirmationStatus == "processed" {
		return nil
	}
	l := &wallet.Landing{Signature: sig, Slot: *s.Slot, Finalized: s.ConfirmationStatus == finalized}
	if l.Finalized {
		l.Confirmations = finalConfirmations
	} else if s.Confirmations != nil {
		l.Confirmations = int(min(*s.Confirmations, finalConfirmations-1))
	}
	if f := parseFailure(s.Err); f != nil {
		l.Failure = f.String()
	}
	return l
}

// statuses asks a node for up to 256 signatures, in its recent memory or its whole history. An entry is nil if it knows
// none. An answer from before the node's own finalized slot is an error: the machine behind the address lags.
func statuses(ctx context.Context, n *node, sigs []wallet.Signature, history bool) ([]*signatureStatus, error) {
	const method = "getSignatureStatuses"
	names := make([]string, len(sigs))
	for i, sig := range sigs {
		names[i] = sig.String()
	}
	answer, err := call[answerAt[[]*signatureStatus]](ctx, n, method, names,
		settings{"searchTransactionHistory": history})
	if err != nil {
		return nil, err
	}
	if answer.slot < n.settled.Load() {
		return nil, n.nodeError(method, errBehind)
	}
	unsound := func(s *signatureStatus) bool { return s != nil && !s.sound() }
	if len(answer.value) != len(sigs) || slices.ContainsFunc(answer.value, unsound) {
		return nil, n.nodeError(method, errGarbage)
	}
	return answer.value, nil
}

// Statuses is the cheap poll: where each signature has landed, by the primary node's recent memory, nil if it does not
// know (getSignatureStatuses without history, 256 a call). A transaction that is only "processed" counts as unknown.
// nil proves nothing. Fee, Spent and BlockHeight stay 0: see Details.
func (c *Client) Statuses(ctx context.Context, sigs []wallet.Signature) ([]*wallet.Landing, error) {
	ctx = withSignedTransaction(ctx)
	landings := make([]*wallet.Landing, 0, len(sigs))
	for batch := range slices.Chunk(sigs, maxStatuses) {
		found, err := statuses(ctx, c.primary(), batch, false)
		if err != nil {
			return nil, err
		}
		for i, status := range found {
			landings = append(landings, status.landing(batch[i]))
		}
	}
	return landings, nil
}

// Details adds to a landing what Statuses leaves out: the fee and what left the fee payer, in lamports, what it
// gained, and the block's height. It takes two calls for each landing, once. Values stay 0 if the node does not know them yet, as for a second
// after it has confirmed a block.
func (c *Client) Details(ctx context.Context, l *wallet.Landing) {
	if l.Fee == 0 || l.BlockHeight == 0 {
		c.fill(withSignedTransaction(ctx), c.primary(), l)
	}
}

// landed is the landing of one signature, from the node's whole history; nil if it knows none.
func (c *Client) landed(ctx context.Context, n *node, sig wallet.Signature) (*wallet.Landing, error) {
	found, err := statuses(ctx, n, []wallet.Signature{sig}, true)
	if err != nil {
		return nil, err
	}
	landing := found[0].landing(sig)
	if landing != nil {
		c.fill(ctx, n, landing)
	}
	return landing, nil
}

// place is a transaction in a block. After a rollback the same signature may land again in another block.
type place struct {
	signature wallet.Signature
	slot      uint64
}

// transactionDetails is what a status does not say: lamports, and the height of the block.
type transactionDetails struct {
	fee, spent, height uint64
	gained             wallet.Gain // of the fee payer; zero also if the node shows the transaction in a way that cannot be read
}

// fill adds what Details promises, as far as the node knows it. Missing details are no reason to doubt a landing, so
// fill returns no error.
func (c *Client) fill(ctx context.Context, n *node, l *wallet.Landing) {
	where := place{l.Signature, l.Slot}
	known, ok := c.details.get(where)
	if !ok {
		if tx, err := transaction(ctx, n, l.Signature); err == nil && tx != nil && *tx.Slot == l.Slot {
			known.fee, known.spent = *tx.Meta.Fee, tx.spent()
			if e, err := tx.effects(l.Signature); err == nil {
				known.gained = e.gain()
			}
		}
		known.height = c.height(ctx, n, l.Slot)
		if known.fee > 0 && known.height > 0 {
			c.details.put(where, known)
		}
	}
	l.Fee, l.Spent, l.BlockHeight, l.Gained = known.fee, known.spent, known.height, known.gained
}

// gain is what the fee payer gained by a transaction (Landing.Gained). Lamports that lay at the address of its account for wrapped SOL before there
// was an account, where anybody can send some, come to it with the account's end, and are not counted.
func (e *effects) gain() wallet.Gain {
	gain := wallet.OnlyGain(e.activities(e.keys[:1])[0].Net)
	at := slices.Index(e.keys, wrappedAccount(e.keys[0]))
	if at < 0 || !gain.Mint.IsZero() {
		return gain
	}
	if account := e.tokens[byte(at)]; account.pre != nil || e.post[at] > 0 {
		return gain
	}
	if gain.Units <= e.pre[at] {
		return wallet.Gain{}
	}
	gain.Units -= e.pre[at]
	return gain
}

// height is the height of the block in a slot, 0 if the node cannot tell (getBlock).
func (c *Client) height(ctx context.Context, n *node, slot uint64) uint64 {
	if height, ok := c.heights.get(slot); ok {
		return height
	}
	block, err := call[*struct {
		BlockHeight *uint64 `json:"blockHeight"`
	}](ctx, n, "getBlock", slot, settings{
		"commitment":                     confirmed,
		"transactionDetails":             "none",
		"rewards":                        false,
		"maxSupportedTransactionVersion": newestVersion,
	})
	if err != nil || block == nil || block.BlockHeight == nil {
		return 0
	}
	c.heights.put(slot, *block.BlockHeight)
	return *block.BlockHeight
}

// transactionAnswer is the part of a getTransaction answer that is read.
type transactionAnswer struct {
	Slot        *uint64          `json:"slot"`
	BlockTime   json.RawMessage  `json:"blockTime"`   // seconds, or null
	Transaction []string         `json:"transaction"` // the bytes, and their encoding
	Meta        *transactionMeta `json:"meta"`
}

// transactionMeta is what the transaction did. What only an Activity needs is not decoded here: nonsense in it does not
// hide a landing.
type transactionMeta struct {
	Fee        *uint64         `json:"fee"`
	Pre        []uint64        `json:"preBalances"`
	Post       []uint64        `json:"postBalances"`
	Err        json.RawMessage `json:"err"`
	Inner      json.RawMessage `json:"innerInstructions"`
	PreTokens  json.RawMessage `json:"preTokenBalances"`
	PostTokens json.RawMessage `json:"postTokenBalances"`
	Loaded     json.RawMessage `json:"loadedAddresses"`
}

// spent is how many lamports left the fee payer; 0 if the node does not say, or if the balance rose.
func (t *transactionAnswer) spent() uint64 {
	if len(t.Meta.Pre) == 0 || len(t.Meta.Post) == 0 || t.Meta.Post[0] > t.Meta.Pre[0] {
		return 0
	}
	return t.Meta.Pre[0] - t.Meta.Post[0]
}

// wire returns the transaction's bytes.
func (t *transactionAnswer) wire() ([]byte, error) {
	return base64.StdEncoding.DecodeString(t.Transaction[0])
}

// transaction reads one transaction from a node (getTransaction). nil: the node has none. errUnreadable: it is of a
// version that this package does not read.
func transaction(ctx context.Context, n *node, sig wallet.Signature) (*transactionAnswer, error) {
	raw, err := rawTransaction(ctx, n, sig)
	if err != nil {
		return nil, err
	}
	tx, ok := readTransaction(raw)
	if !ok {
		return nil, n.nodeError("getTransaction", errGarbage)
	}
	return tx, nil
}

// rawTransaction is the answer to getTransaction, undecoded.
func rawTransaction(ctx context.Context, n *node, sig wallet.Signature) (json.RawMessage, error) {
	const method = "getTransaction"
	raw, err := call[json.RawMessage](ctx, n, method, sig.String(), settings{
		"commitment":                     confirmed,
		"encoding":                       "base64",
		"maxSupportedTransactionVersion": newestVersion,
	})
	var answered *rpcError
	if errors.As(err, &answered) && answered.code == unsupportedVersion {
		return nil, n.nodeError(method, errUnreadable)
	}
	return raw, err
}

// readTransaction decodes the answer; nil if the node has no such transaction. false: it makes no sense.
func readTransaction(raw json.RawMessage) (*transactionAnswer, bool) {
	var tx *transactionAnswer
	if json.Unmarshal(raw, &tx) != nil {
		return nil, false
	}
	return tx, tx == nil || tx.sound()
}

// sound tells whether the answer has what every answer must have.
func (t *transactionAnswer) sound() bool {
	return t.Slot != nil && t.Meta != nil && t.Meta.Fee != nil && len(t.Transaction) == 2 && t.Transaction[1] == "base64"
}
