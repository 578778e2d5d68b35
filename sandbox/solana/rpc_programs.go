package solana

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/mr-tron/base58"
)

// Agave's limits of the filters of getProgramAccounts: their number, and the bytes that one compares.
const (
	maxFilters      = 4
	maxFilterLength = 128
)

// accountFilter returns true for the accounts to keep.
type accountFilter func(account) bool

// programFilter is one entry of "filters" as the client sent it.
type programFilter struct {
	DataSize *uint64 `json:"dataSize"`
	Memcmp   *struct {
		Offset   uint64 `json:"offset"`
		Bytes    string `json:"bytes"`
		Encoding string `json:"encoding"`
	} `json:"memcmp"`
	TokenState bool `json:"tokenAccountState"`
}

// accept turns the entry into a filter: an exact data size in bytes, bytes at an offset, or an initialized token
// account.
func (f programFilter) accept() (accountFilter, *rpcError) {
	switch {
	case f.DataSize != nil:
		return func(a account) bool { return uint64(len(a.Data)) == *f.DataSize }, nil
	case f.TokenState:
		return func(a account) bool { _, ok := holdingIn(a); return ok }, nil
	case f.Memcmp == nil:
		return nil, invalidParams("Invalid params: a filter is `dataSize`, `memcmp` or `tokenAccountState`")
	}
	var want []byte
	var err error
	switch f.Memcmp.Encoding {
	case "", "base58":
		if len(f.Memcmp.Bytes) > 175 { // the longest base58 text of 128 bytes
			return nil, invalidParams("Invalid param: encoded binary too large")
		}
		// The base58 decoder refuses the empty text, which as a filter matches everything.
		want, err = base58.Decode(f.Memcmp.Bytes)
		if f.Memcmp.Bytes == "" {
			want, err = nil, nil
		}
	case "base64":
		want, err = base64.StdEncoding.Strict().DecodeString(f.Memcmp.Bytes)
		if strings.ContainsAny(f.Memcmp.Bytes, "\r\n") {
			return nil, invalidParams("Invalid param: unable to decode base64")
		}
	default:
		return nil, invalidParams("Invalid params: unknown variant `%.20s`, expected one of `base58`, `base64`.", f.Memcmp.Encoding)
	}
	if err != nil {
		return nil, invalidParams("Invalid param: unable to decode the bytes of a filter")
	}
	if len(want) > maxFilterLength {
		return nil, invalidParams("Invalid param: data too large")
	}
	return func(a account) bool {
		size := uint64(len(a.Data))
		return f.Memcmp.Offset <= size && bytes.HasPrefix(a.Data[f.Memcmp.Offset:], want)
	}, nil
}

// accounts returns a filter for the program's accounts that pass all of the config's filters.
func (cfg config) accounts(program address) (accountFilter, *rpcError) {
	if len(cfg.Filters) > maxFilters {
		return nil, invalidParams("Too many filters provided; max %d", maxFilters)
	}
	// The account must belong to the program and pass every filter.
	filters := []accountFilter{func(a account) bool { return a.exists() && a.Owner == program }}
	for _, f := range cfg.Filters {
		accept, bad := f.accept()
		if bad != nil {
			return nil, bad
		}
		filters = append(filters, accept)
	}
	return func(a account) bool {
		return !slices.ContainsFunc(filters, func(accept accountFilter) bool { return !accept(a) })
	}, nil
}

// getProgramAccounts lists a program's accounts that pass all filters. Sorting by address keeps the result the same
// between calls.
func getProgramAccounts(c *Cluster, p params) (any, *rpcError) {
	program, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(1)
	if bad != nil {
		return nil, bad
	}
	accepted, bad := cfg.accounts(program)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	var keys []address
	// Every account of the cluster is visited, as in tokenAccounts.
	for key := range c.state {
		if accepted(c.accountAt(key, height)) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b address) int { return bytes.Compare(a[:], b[:]) })
	list := make([]object, len(keys))
	for i, key := range keys {
		shown, bad := c.show(key, c.accountAt(key, height), cfg, height)
		if bad != nil {
			return nil, bad
		}
		list[i] = object{"pubkey": key.String(), "account": shown}
	}
	if cfg.WithContext {
		return withContext(height, list), nil
	}
	return list, nil
}
