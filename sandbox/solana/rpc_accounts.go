package solana

import (
	"encoding/base64"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"
)

// sentence is fmt.Sprintf for messages of errors.
func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// getBalance returns lamports, 0 for an account that does not exist.
func getBalance(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	return withContext(height, c.state.at(key, height).Lamports), nil
}

// getAccountInfo returns null for an account that does not exist.
func getAccountInfo(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	shown, bad := c.show(key, c.accountAt(key, height), cfg, height)
	return withContext(height, shown), bad
}

// maxAccounts is Agave's limit of getMultipleAccounts.
const maxAccounts = 100

// getMultipleAccounts reads all accounts in the same block, in the order of the request. Its default encoding is
// base64.
func getMultipleAccounts(c *Cluster, p params) (any, *rpcError) {
	var texts []string
	if bad := p.read(0, &texts); bad != nil {
		return nil, bad
	}
	if len(texts) > maxAccounts {
		return nil, invalidParams("Too many inputs provided; max %d", maxAccounts)
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	if cfg.Encoding == "" {
		cfg.Encoding = "base64"
	}
	// One invalid address fails the whole call, as in Agave.
	list := make([]any, len(texts))
	for i, text := range texts {
		key, bad := readAddress(text)
		if bad != nil {
			return nil, bad
		}
		if list[i], bad = c.show(key, c.accountAt(key, height), cfg, height); bad != nil {
			return nil, bad
		}
	}
	return withContext(height, list), nil
}

// compressed returns the data as one zstd frame.
func compressed(data []byte) []byte {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // only invalid options fail, and these are valid
	}
	return encoder.EncodeAll(data, nil)
}

// maxBase58Data is how many bytes of data Agave still encodes in base58.
const maxBase58Data = 128

// showExisting shows an account, even one without lamports or data. jsonParsed gives base64 here; show parses what it
// can before it calls this.
func showExisting(a account, encoding string, slice *dataSlice) (any, *rpcError) {
	// A slice beyond the data is shortened, never an error.
	data := a.Data
	if slice != nil {
		from := min(slice.Offset, uint64(len(data)))
		data = data[from : from+min(slice.Length, uint64(len(data))-from)]
	}
	var shown any
	switch encoding {
	case "", "binary", "base58":
		if len(data) > maxBase58Data {
			return nil, &rpcError{Code: codeInvalidRequest, Message: "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding."}
		}
		if shown = base58.Encode(data); encoding == "base58" {
			shown = []any{shown, "base58"}
		}
	case "base64", "jsonParsed":
		shown = []any{base64.StdEncoding.EncodeToString(data), "base64"}
	case "base64+zstd":
		shown = []any{base64.StdEncoding.EncodeToString(compressed(data)), encoding}
	default:
		return nil, invalidParams("Invalid params: unknown variant `%.20s`, expected one of `binary`, `base58`, `base64`, `jsonParsed`, `base64+zstd`.", encoding)
	}
	return object{
		"data":       shown,
		"executable": a.Executable,
		"lamports":   a.Lamports,
		"owner":      a.Owner.String(),
		"rentEpoch":  uint64(math.MaxUint64),
		"space":      len(a.Data),
	}, nil
}

// requestAirdrop sends lamports from the faucet and returns the signature at once. It has none of the limits of a
// public faucet.
func requestAirdrop(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	var lamports uint64
	if bad := p.read(1, &lamports); bad != nil {
		return nil, bad
	}
	sig, err := c.drop(key, lamports)
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	return sig, nil
}
