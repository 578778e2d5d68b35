package solana

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/mr-tron/base58"
)

// params are the positional parameters of one call, and the fault that SetFault chose for it.
type params struct {
	list  []json.RawMessage
	fault Fault
}

// parseParams accepts an array, null or nothing. Elements stay raw until a method reads them by their index.
func parseParams(raw json.RawMessage) (params, *rpcError) {
	var p params
	if len(raw) == 0 || bytes.Equal(raw, null) {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p.list); err != nil {
		return p, invalidParams("Invalid params: expected an array")
	}
	return p, nil
}

// has says whether parameter i is there. Clients send null for an option that they leave out.
func (p params) has(i int) bool { return i < len(p.list) && !bytes.Equal(p.list[i], null) }

// read decodes parameter i, which is required.
func (p params) read(i int, into any) *rpcError {
	if !p.has(i) {
		return invalidParams("`params` should have at least %d argument(s)", i+1)
	}
	if err := json.Unmarshal(p.list[i], into); err != nil {
		return invalidParams("Invalid params: argument %d has the wrong type", i+1)
	}
	return nil
}

// text reads a required string.
func (p params) text(i int) (s string, err *rpcError) {
	err = p.read(i, &s)
	return s, err
}

// address reads a required address.
func (p params) address(i int) (address, *rpcError) {
	s, bad := p.text(i)
	if bad != nil {
		return address{}, bad
	}
	return readAddress(s)
}

// readAddress is parseAddress with the error of an RPC parameter.
func readAddress(s string) (address, *rpcError) {
	key, err := parseAddress(s)
	if err != nil {
		return key, invalidParams("Invalid param: %s", err)
	}
	return key, nil
}

// signature reads a required signature.
func (p params) signature(i int) (signature, *rpcError) {
	s, bad := p.text(i)
	if bad != nil {
		return signature{}, bad
	}
	return readSignature(s)
}

// readSignature is parseSignature with the error of an RPC parameter.
func readSignature(s string) (signature, *rpcError) {
	sig, err := parseSignature(s)
	if err != nil {
		return sig, invalidParams("Invalid param: %s", err)
	}
	return sig, nil
}

// config holds the options of all methods. Each method reads the ones that it knows, and ignores the others as Agave
// does.
//
// Commitment and MinContextSlot choose the block to read; Encoding and DataSlice the form of account data.
// SkipPreflight, PreflightCommitment and MaxRetries are options of sendTransaction; SigVerify, ReplaceBlockhash,
// Accounts and Inner of simulateTransaction; SearchHistory of getSignatureStatuses; Before, Until and Limit of
// getSignaturesForAddress; MaxVersion of getTransaction and getBlock; TransactionDetails and Rewards of getBlock; Epoch of getInflationReward; WithContext and
// Filters of getProgramAccounts (Filters of programSubscribe too); WithoutList of getSupply; Filter of
// getLargestAccounts; Identity and Range of getBlockProduction; VotePubkey, KeepUnstaked and DelinquentDistance of
// getVoteAccounts; ReceivedNotification of signatureSubscribe.
type config struct {
	Commitment          *string    `json:"commitment"`
	MinContextSlot      *uint64    `json:"minContextSlot"`
	Encoding            string     `json:"encoding"`
	DataSlice           *dataSlice `json:"dataSlice"`
	SkipPreflight       bool       `json:"skipPreflight"`
	PreflightCommitment *string    `json:"preflightCommitment"`
	MaxRetries          *uint32    `json:"maxRetries"`
	SigVerify           bool       `json:"sigVerify"`
	ReplaceBlockhash    bool       `json:"replaceRecentBlockhash"`
	Accounts            *wanted    `json:"accounts"`
	Inner               bool       `json:"innerInstructions"`
	SearchHistory       bool       `json:"searchTransactionHistory"`
	Before              string     `json:"before"`
	Until               string     `json:"until"`
	Limit               *uint64    `json:"limit"`
	MaxVersion          *uint8     `json:"maxSupportedTransactionVersion"`
	TransactionDetails  string     `json:"transactionDetails"`
	WithContext         bool       `json:"withContext"`
	WithoutList         bool       `json:"excludeNonCirculatingAccountsList"`
	Filter              string     `json:"filter"`
	Identity            string     `json:"identity"`
	Range               *slotRange `json:"range"`
	Rewards             *bool      `json:"rewards"`
	Epoch               *uint64    `json:"epoch"`

	VotePubkey         string  `json:"votePubkey"`
	KeepUnstaked       bool    `json:"keepUnstakedDelinquents"`
	DelinquentDistance *uint64 `json:"delinquentSlotDistance"`

	Filters              []programFilter `json:"filters"`
	ReceivedNotification bool            `json:"enableReceivedNotification"`
}

// dataSlice limits the account data that a response has; both members are in bytes.
type dataSlice struct {
	Offset uint64 `json:"offset"`
	Length uint64 `json:"length"`
}

// wanted names the accounts that a simulation returns in the state after it.
type wanted struct {
	Addresses []string `json:"addresses"`
	Encoding  string   `json:"encoding"`
}

// config reads the optional object at index i. A string there is the encoding, as older clients send it.
func (p params) config(i int) (config, *rpcError) {
	var cfg config
	if !p.has(i) {
		return cfg, nil
	}
	if p.list[i][0] == '"' {
		return cfg, p.read(i, &cfg.Encoding)
	}
	bad := p.read(i, &cfg)
	return cfg, bad
}

// level checks a commitment level. Unset means finalized.
func level(name *string) (string, *rpcError) {
	if name == nil {
		return finalized, nil
	}
	switch *name {
	case processed, confirmed, finalized:
		return *name, nil
	}
	return "", invalidParams("Invalid params: unknown variant `%.20s`, expected one of `processed`, `confirmed`, `finalized`.", *name)
}

// height is the height of the newest block that a call may see by its commitment. It is an error if that block is
// older than minContextSlot. Callers hold mu.
func (c *Cluster) height(commitment *string, minSlot *uint64) (uint64, *rpcError) {
	l, bad := level(commitment)
	if bad != nil {
		return 0, bad
	}
	height := c.heightOf(l)
	// The client wants a node that is at least as far as one that it asked before.
	if minSlot != nil && *minSlot > slotOf(height) {
		return 0, &rpcError{
			Code:    codeMinContextNotYet,
			Message: "Minimum context slot has not been reached",
			Data:    object{"contextSlot": slotOf(height)},
		}
	}
	return height, nil
}

// settledHeight is height for the methods that refuse the commitment processed.
func (c *Cluster) settledHeight(cfg config) (uint64, *rpcError) {
	if cfg.Commitment != nil && *cfg.Commitment == processed {
		return 0, invalidParams("Method does not support commitment below `confirmed`")
	}
	return c.height(cfg.Commitment, cfg.MinContextSlot)
}

// withContext wraps a result together with the slot that it was read at.
func withContext(height uint64, value any) object {
	return object{
		"context": object{"apiVersion": apiVersion, "slot": slotOf(height)},
		"value":   value,
	}
}

// maxBase58Wire and maxBase64Wire are the lengths of the largest transaction in these encodings, in characters.
const (
	maxBase58Wire = 5594
	maxBase64Wire = 5464
)

// decodeWire decodes bytes that a client sent as text. what is Agave's name for the content, for error messages.
func decodeWire(text, encoding, what string) ([]byte, *rpcError) {
	var raw []byte
	var err error
	switch encoding {
	case "", "base58":
		if len(text) > maxBase58Wire {
			return nil, invalidParams("base58 encoded %s too large: %d bytes (max: encoded/raw %d/%d)", what, len(text), maxBase58Wire, maxV1Wire)
		}
		if raw, err = base58.Decode(text); err != nil {
			return nil, invalidParams("invalid base58 encoding: %s", err)
		}
	case "base64":
		if len(text) > maxBase64Wire {
			return nil, invalidParams("base64 encoded %s too large: %d bytes (max: encoded/raw %d/%d)", what, len(text), maxBase64Wire, maxV1Wire)
		}
		// Go's decoder overlooks line breaks; Agave's does not.
		if raw, err = base64.StdEncoding.Strict().DecodeString(text); err != nil || strings.ContainsAny(text, "\r\n") {
			return nil, invalidParams("invalid base64 encoding: %s", strings.TrimSuffix(text[:min(len(text), 20)], "\n"))
		}
	default:
		return nil, invalidParams("unsupported encoding: %.20s. Supported encodings: base58, base64", encoding)
	}
	// The size limit of version 1 transactions is larger, and their first byte tells.
	most := maxPacket
	if len(raw) > 0 && raw[0] == v1Prefix {
		most = maxV1Wire
	}
	if len(raw) > most {
		return nil, invalidParams("decoded %s too large: %d bytes (max: %d bytes)", what, len(raw), most)
	}
	return raw, nil
}
