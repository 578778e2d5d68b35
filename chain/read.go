package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mr-tron/base58"

	"purser/wallet"
)

// answerAt is a result with the slot at which the node read it. A result without slot or value is refused: a missing
// value must not look like an account that holds nothing.
type answerAt[T any] struct {
	slot  uint64
	value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *answerAt[T]) UnmarshalJSON(raw []byte) error {
	var answer struct {
		Context struct {
			Slot *uint64 `json:"slot"`
		} `json:"context"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	if answer.Context.Slot == nil || answer.Value == nil {
		return errGarbage
	}
	a.slot = *answer.Context.Slot
	return json.Unmarshal(answer.Value, &a.value)
}

// accountInfo is an account in the node's JSON, without its data. Pointers tell a missing field from zero.
type accountInfo struct {
	Lamports   *uint64 `json:"lamports"`
	Owner      *string `json:"owner"`
	Executable *bool   `json:"executable"`
	Space      *uint64 `json:"space"`
}

// account converts an account; nil is an address that holds nothing. ok is false if a field is missing that every
// account has.
func (a *accountInfo) account(slot uint64) (wallet.Account, bool) {
	if a == nil {
		return wallet.Account{Slot: slot}, true
	}
	if a.Lamports == nil || a.Owner == nil || a.Executable == nil || a.Space == nil {
		return wallet.Account{}, false
	}
	owner, err := wallet.ParseAddress(*a.Owner)
	if err != nil {
		return wallet.Account{}, false
	}
	return wallet.Account{
		Exists: true, Lamports: *a.Lamports, Owner: owner, Executable: *a.Executable, Slot: slot,
	}, true
}

// readAccount asks for everything but the data, which can have megabytes.
func readAccount() settings {
	return settings{
		"commitment": confirmed,
		"encoding":   "base64",
		"dataSlice":  map[string]int{"offset": 0, "length": 0},
	}
}

// maxAccountsAsked is the limit of getMultipleAccounts.
const maxAccountsAsked = 100

// Accounts reads up to 100 addresses in one call, all at one slot (getMultipleAccounts). The result has their order.
func (c *Client) Accounts(ctx context.Context, as []wallet.Address) ([]wallet.Account, error) {
	const method = "getMultipleAccounts"
	if len(as) == 0 {
		return nil, nil
	}
	if len(as) > maxAccountsAsked {
		return nil, fmt.Errorf("read accounts: %d asked for, at most %d are possible", len(as), maxAccountsAsked)
	}
	answer, err := call[answerAt[[]*accountInfo]](ctx, c.primary(), method, addresses(as), readAccount())
	if err != nil {
		return nil, err
	}
	if len(answer.value) != len(as) {
		return nil, c.primary().nodeError(method, errGarbage)
	}
	accounts := make([]wallet.Account, len(as))
	for i, info := range answer.value {
		account, ok := info.account(answer.slot)
		if !ok {
			return nil, c.primary().nodeError(method, errGarbage)
		}
		accounts[i] = account
	}
	return accounts, nil
}

// rent is an answer of getMinimumBalanceForRentExemption, and when it came.
type rent struct {
	lamports uint64
	at       time.Time
}

// rentLives is how long a rent minimum is used. The network lowers it in steps, at the beginning of epochs. A payment
// that is proposed now may be signed a quarter of an hour later.
const rentLives = time.Minute

// RentMinimum is how many lamports an account of size bytes must hold (getMinimumBalanceForRentExemption). Answers are
// kept for a minute.
func (c *Client) RentMinimum(ctx context.Context, size uint64) (uint64, error) {
	const method = "getMinimumBalanceForRentExemption"
	if known, ok := c.rents.get(size); ok && c.now().Sub(known.at) < rentLives {
		return known.lamports, nil
	}
	lamports, err := call[*uint64](ctx, c.primary(), method, size)
	if err != nil {
		return 0, err
	}
	if lamports == nil {
		return 0, c.primary().nodeError(method, errGarbage)
	}
	c.rents.put(size, rent{*lamports, c.now()})
	return *lamports, nil
}

// Blockhash is the newest blockhash at commitment confirmed (getLatestBlockhash). With Options.Share it may be two
// seconds old.
func (c *Client) Blockhash(ctx context.Context) (wallet.Blockhash, error) {
	return c.hashes.get(ctx, struct{}{}, c.now, c.sharedFor, c.latestBlockhash)
}

// latestBlockhash asks for the newest blockhash, without sharing.
func (c *Client) latestBlockhash(ctx context.Context) (wallet.Blockhash, error) {
	const method = "getLatestBlockhash"
	answer, err := call[answerAt[struct {
		Blockhash            string  `json:"blockhash"`
		LastValidBlockHeight *uint64 `json:"lastValidBlockHeight"`
	}]](ctx, c.primary(), method, settings{"commitment": confirmed})
	if err != nil {
		return wallet.Blockhash{}, err
	}
	lastValid := answer.value.LastValidBlockHeight
	hash, err := wallet.ParseAddress(answer.value.Blockhash) // the same 32 bytes in base58
	if err != nil || hash.IsZero() || lastValid == nil {
		return wallet.Blockhash{}, c.primary().nodeError(method, errGarbage)
	}
	return wallet.Blockhash{Hash: hash, LastValidBlockHeight: *lastValid, Slot: answer.slot}, nil
}

// BlockHeight is the height of the newest block at commitment confirmed (getBlockHeight).
func (c *Client) BlockHeight(ctx context.Context) (uint64, error) {
	const method = "getBlockHeight"
	height, err := call[*uint64](ctx, c.primary(), method, settings{"commitment": confirmed})
	if err != nil {
		return 0, err
	}
	if height == nil {
		return 0, c.primary().nodeError(method, errGarbage)
	}
	return *height, nil
}

// FinalizedBlockHeight is the lowest finalized block height of all configured nodes: none of them can roll back a block
// up to it (getEpochInfo). After this call a node's "not found" counts only if the node has not fallen behind that
// block. With Options.Share the height may be two seconds old. An older height is lower, so it proves less and never
// too much.
func (c *Client) FinalizedBlockHeight(ctx context.Context) (uint64, error) {
	return c.finalized.get(ctx, struct{}{}, c.now, c.sharedFor, c.finalizedBlockHeight)
}

// finalizedBlockHeight asks every node, and remembers each one's finalized slot (node.settled).
func (c *Client) finalizedBlockHeight(ctx context.Context) (uint64, error) {
	const method = "getEpochInfo"
	var lowest uint64
	for i, n := range c.nodes {
		epoch, err := call[struct {
			AbsoluteSlot *uint64 `json:"absoluteSlot"`
			BlockHeight  *uint64 `json:"blockHeight"`
		}](withSignedTransaction(ctx), n, method, settings{"commitment": finalized})
		if err != nil {
			return 0, err
		}
		if epoch.AbsoluteSlot == nil || epoch.BlockHeight == nil || *epoch.BlockHeight > *epoch.AbsoluteSlot {
			return 0, n.nodeError(method, errGarbage)
		}
		n.settled.Store(*epoch.AbsoluteSlot)
		if i == 0 || *epoch.BlockHeight < lowest {
			lowest = *epoch.BlockHeight
		}
	}
	return lowest, nil
}

// CanSeeBackTo tells whether every configured node still has the blocks since slot, so that its "not found" means
// something (getFirstAvailableBlock).
func (c *Client) CanSeeBackTo(ctx context.Context, slot uint64) (bool, error) {
	const method = "getFirstAvailableBlock"
	for _, n := range c.nodes {
		first, err := call[*uint64](withSignedTransaction(ctx), n, method)
		if err != nil {
			return false, err
		}
		if first == nil {
			return false, n.nodeError(method, errGarbage)
		}
		if *first > slot {
			return false, nil
		}
	}
	return true, nil
}

// ErrClustersDiffer says that the nodes of chain.rpc_url belong to different clusters: the setting is wrong, waiting
// does not help.
var ErrClustersDiffer = errors.New("chain.rpc_url: the nodes belong to different clusters")

// GenesisCluster is the cluster of the nodes, by its genesis hash. Any cluster that is not one of Solana's public ones
// is localnet. Errors: ErrClustersDiffer, wallet.NetworkError.
func (c *Client) GenesisCluster(ctx context.Context) (string, error) {
	const method = "getGenesisHash"
	var first string
	for i, n := range c.nodes {
		hash, err := call[string](withClass(ctx, inBackground), n, method)
		if err != nil {
			return "", err
		}
		if raw, err := base58.Decode(hash); err != nil || len(raw) != 32 {
			return "", n.nodeError(method, errGarbage)
		}
		if i > 0 && hash != first {
			return "", fmt.Errorf("%s and %s: %w", c.nodes[0].name, n.name, ErrClustersDiffer)
		}
		first = hash
	}
	switch first {
	case "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d":
		return wallet.Mainnet, nil
	case "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG":
		return wallet.Devnet, nil
	case "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY":
		return wallet.Testnet, nil
	}
	return wallet.Localnet, nil
}
