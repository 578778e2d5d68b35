package chain

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"purser/wallet"
)

// accountData is an account with its data, in the node's JSON.
type accountData struct {
	accountInfo
	Data []string `json:"data"` // the bytes, and their encoding
}

// bytes decodes the account's data; nil for an address that holds nothing. false: the encoding is not the one asked
// for.
func (a *accountData) bytes() ([]byte, bool) {
	if a == nil {
		return nil, true
	}
	if len(a.Data) != 2 || a.Data[1] != "base64" {
		return nil, false
	}
	raw, err := base64.StdEncoding.DecodeString(a.Data[0])
	return raw, err == nil
}

// info is the part that every account has.
func (a *accountData) info() *accountInfo {
	if a == nil {
		return nil
	}
	return &a.accountInfo
}

// accountSnapshot is one account at a slot, with its data as far as that was read.
type accountSnapshot struct {
	wallet.Account
	data  []byte
	space uint64 // the length of all its data, in bytes
}

// cut tells that only a part of the data was read.
func (w accountSnapshot) cut() bool { return uint64(len(w.data)) < w.space }

const (
	// tokenData is how many bytes of an account are read at first. That is enough for a token account with every
	// extension, and for most mints.
	tokenData = 1 << 10
	// maxMintData is the longest mint that is read, with its metadata. An issuer can make it up to 10 MiB long, for no
	// good reason.
	maxMintData = 64 << 10
)

// readSnapshots reads the first length bytes of accounts, all at one slot (getMultipleAccounts). The bound protects
// purser: anybody can name an address whose account has 10 MiB.
func (c *Client) readSnapshots(ctx context.Context, length uint64, as ...wallet.Address) ([]accountSnapshot, error) {
	return snapshots(ctx, c.primary(), confirmed, length, 0, as...)
}

// snapshots is readSnapshots on one node, which must have come to minSlot.
func snapshots(ctx context.Context, n *node, commitment string, length, minSlot uint64, as ...wallet.Address) ([]accountSnapshot, error) {
	asked := sliced(commitment, length)
	if minSlot > 0 {
		asked["minContextSlot"] = minSlot
	}
	answer, err := accountsAt(ctx, n, asked, as)
	if err != nil {
		return nil, err
	}
	return n.snapshotsOf(answer, length)
}

// accountsMethod reads up to maxAccountsAsked accounts.
const accountsMethod = "getMultipleAccounts"

// accountsAt makes the call. It returns an account, or nil, for each address.
func accountsAt(ctx context.Context, n *node, asked settings, as []wallet.Address) (answerAt[[]*accountData], error) {
	answer, err := call[answerAt[[]*accountData]](ctx, n, accountsMethod, addresses(as), asked)
	if err == nil && len(answer.value) != len(as) {
		err = n.nodeError(accountsMethod, errGarbage)
	}
	return answer, err
}

// snapshotsOf reads accounts of which the first length bytes were asked for.
func (n *node) snapshotsOf(answer answerAt[[]*accountData], length uint64) ([]accountSnapshot, error) {
	out := make([]accountSnapshot, len(answer.value))
	for i, raw := range answer.value {
		account, ok := raw.info().account(answer.slot)
		data, readable := raw.bytes()
		var space uint64
		if raw != nil && raw.Space != nil {
			space = *raw.Space
		}
		if !ok || !readable || uint64(len(data)) != min(space, length) {
			return nil, n.nodeError(accountsMethod, errGarbage)
		}
		out[i] = accountSnapshot{account, data, space}
	}
	return out, nil
}

// readForTransfer is readSnapshots of the first tokenData bytes. If answers are shared, callers at about the same time, and of the
// same urgency, share a call.
func (c *Client) readForTransfer(ctx context.Context, as ...wallet.Address) ([]accountSnapshot, error) {
	if c.sharedFor <= 0 {
		return c.readSnapshots(ctx, tokenData, as...)
	}
	answer, err := c.transfers[classOf(ctx)].get(ctx, as)
	if err != nil {
		return nil, err
	}
	return c.primary().snapshotsOf(answer, tokenData)
}

// sliced are the settings of a call for the first length bytes of accounts.
func sliced(commitment string, length uint64) settings {
	return settings{"commitment": commitment, "encoding": "base64", "dataSlice": map[string]uint64{"offset": 0, "length": length}}
}

// readMint is readSnapshots with a mint among the accounts, at index mint. It reads again, and more, if the mint is
// longer.
func (c *Client) readMint(ctx context.Context, mint int, as ...wallet.Address) ([]accountSnapshot, error) {
	all, err := c.readSnapshots(ctx, tokenData, as...)
	if err != nil {
		return nil, err
	}
	if m := all[mint]; m.space <= tokenData || m.space > maxMintData || !isTokenProgram(m.Owner) {
		return all, nil
	}
	return c.readSnapshots(ctx, maxMintData, as...)
}

// Mint reads what the chain says about a token. An address that is no mint is wallet.TokenNotFound.
func (c *Client) Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error) {
	accounts, err := c.readMint(ctx, 0, at)
	if err != nil {
		return wallet.Mint{}, err
	}
	mint, ok := parseMint(at, accounts[0].Owner, accounts[0].data)
	if !ok || accounts[0].cut() {
		return wallet.Mint{}, wallet.Refuse(wallet.TokenNotFound, "token.none_at", wallet.AddressArg("Mint", at))
	}
	return mint, nil
}

// TokenFacts reads everything by which a transfer of a token is judged, at one slot: both wallets, the mint, and their
// associated accounts. program is the mint's (see Mint), which never changes.
func (c *Client) TokenFacts(ctx context.Context, from, to, mint, program wallet.Address) (wallet.TokenFacts, error) {
	source := wallet.AssociatedAccount(from, mint, program)
	destination := wallet.AssociatedAccount(to, mint, program)
	all, err := c.readMint(ctx, 2, from, to, mint, source, destination)
	if err != nil {
		return wallet.TokenFacts{}, err
	}
	// The order of the accounts is that of the call above.
	facts := wallet.TokenFacts{Parties: partiesOf(all, to)}
	var ok bool
	if facts.Mint, ok = parseMint(mint, all[2].Owner, all[2].data); !ok || all[2].cut() || facts.Mint.Program != program {
		return facts, wallet.Refuse(wallet.TokenNotFound, "token.none_at", wallet.AddressArg("Mint", mint))
	}
	facts.Source = heldBy(source, all[3])
	facts.Destination = heldBy(destination, all[4])
	// Which of its two fees holds depends on the epoch.
	if facts.Mint.TransferFee != nil {
		epoch, err := c.epoch(ctx)
		if err != nil {
			return facts, err
		}
		facts.Epoch = epoch
	}
	return facts, nil
}

// heldBy reads an associated account. An account of another form counts as absent.
func heldBy(at wallet.Address, a accountSnapshot) wallet.TokenAccount {
	account, ok := parseTokenAccount(at, a.Owner, a.data)
	if !ok || a.cut() {
		return wallet.TokenAccount{Address: at}
	}
	return account
}

// epoch is the current epoch (getEpochInfo).
func (c *Client) epoch(ctx context.Context) (uint64, error) {
	const method = "getEpochInfo"
	info, err := call[struct {
		Epoch *uint64 `json:"epoch"`
	}](ctx, c.primary(), method, settings{"commitment": confirmed})
	if err != nil {
		return 0, err
	}
	if info.Epoch == nil {
		return 0, c.primary().nodeError(method, errGarbage)
	}
	return *info.Epoch, nil
}

// DelegateFacts reads a wallet and a token account at one slot, to judge whether its delegate can be taken away. Without a
// token account at the address, Account.Exists is false.
func (c *Client) DelegateFacts(ctx context.Context, owner, at wallet.Address) (wallet.DelegateFacts, error) {
	accounts, err := c.readSnapshots(ctx, tokenData, owner, at)
	if err != nil {
		return wallet.DelegateFacts{}, err
	}
	return wallet.DelegateFacts{From: accounts[0].Account, Account: heldBy(at, accounts[1])}, nil
}

// Parties reads both sides of a transfer at one slot.
func (c *Client) Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error) {
	accounts, err := c.readForTransfer(ctx, from, to)
	if err != nil {
		return wallet.Parties{}, err
	}
	return partiesOf(accounts, to), nil
}

// partiesOf takes both sides from the first two accounts.
func partiesOf(accounts []accountSnapshot, to wallet.Address) wallet.Parties {
	return wallet.Parties{From: accounts[0].Account, To: accounts[1].Account, AtTo: heldBy(to, accounts[1])}
}

// parsedTokenAccount is an entry of getTokenAccountsByOwner in jsonParsed form. The node adds the mint's decimals,
// which saves a call for each token.
type parsedTokenAccount struct {
	Pubkey  string `json:"pubkey"`
	Account struct {
		Owner string `json:"owner"`
		Data  struct {
			Parsed struct {
				Info struct {
					Mint        string `json:"mint"`
					Owner       string `json:"owner"`
					State       string `json:"state"`
					TokenAmount struct {
						Amount   string `json:"amount"`
						Decimals *uint8 `json:"decimals"`
					} `json:"tokenAmount"`
					// Without a delegate the node leaves both out.
					Delegate        *string `json:"delegate"`
					DelegatedAmount *struct {
						Amount string `json:"amount"`
					} `json:"delegatedAmount"`
				} `json:"info"`
			} `json:"parsed"`
		} `json:"data"`
	} `json:"account"`

	unparsed bool // the node gave bytes instead; nothing but Pubkey is read then
}

// errUnparsed says that a node does not know how to read an account.
var errUnparsed = fmt.Errorf("the node did not parse an account: %w", errGarbage)

// holdingsMethod has the largest answers: it has bounds of its own (maxHoldings, lanes.heavy).
const holdingsMethod = "getTokenAccountsByOwner"

// tokenAccounts is its answer.
type tokenAccounts struct {
	slot uint64
	all  []parsedTokenAccount
}

// decodeWithin implements stepwise: the wallet of an exchange has tens of thousands of accounts.
func (t *tokenAccounts) decodeWithin(ctx context.Context, raw json.RawMessage) error {
	var list answerAt[[]json.RawMessage]
	if json.Unmarshal(raw, &list) != nil {
		return errGarbage
	}
	t.slot, t.all = list.slot, make([]parsedTokenAccount, len(list.value))
	for i, one := range list.value {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if json.Unmarshal(one, &t.all[i]) == nil {
			continue
		}
		var bytes struct {
			Pubkey  string `json:"pubkey"`
			Account struct {
				Data []string `json:"data"` // and their encoding
			} `json:"account"`
		}
		if json.Unmarshal(one, &bytes) != nil || len(bytes.Account.Data) != 2 {
			return errGarbage
		}
		t.all[i] = parsedTokenAccount{Pubkey: bytes.Pubkey, unparsed: true}
	}
	return nil
}

// Holdings lists what an owner holds of every token, in base units. It takes two calls, however many tokens there are
// (getTokenAccountsByOwner for each token program). Empty accounts are left out. Symbols are empty, since the chain
// does not define them.
func (c *Client) Holdings(ctx context.Context, owner wallet.Address) ([]wallet.Holding, error) {
	held := holdings{at: map[wallet.Address]int{}}
	err := c.eachTokenAccount(ctx, owner, func(h wallet.Holding, a wallet.TokenAccount, err error) bool {
		return err == nil && held.add(h, a.Address == wallet.AssociatedAccount(owner, h.Token.Mint, h.Token.Program))
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(held.all, func(h wallet.Holding) bool { return h.Units == 0 }), nil
}

// TokenAccounts lists the token accounts of an owner, of both token programs, empty ones too. It takes two calls.
// MemoRequired is not read. An account that the node does not know how to read is left out, as most nodes do themselves: it
// hides no other.
func (c *Client) TokenAccounts(ctx context.Context, owner wallet.Address) (all []wallet.TokenAccount, _ error) {
	_, all, err := c.listTokenAccounts(ctx, owner)
	return all, err
}

// TokenDelegates lists who else may spend from the token accounts of an owner, of both token programs, empty ones too: what
// arrives later can be spent as well. It takes the two calls that Holdings takes. Symbols are empty, and an account that the node
// does not know how to read is left out.
func (c *Client) TokenDelegates(ctx context.Context, owner wallet.Address) (out []wallet.TokenDelegate, _ error) {
	held, all, err := c.listTokenAccounts(ctx, owner)
	if err != nil {
		return nil, err
	}
	for i, a := range all {
		if d, ok := a.Foreign(); ok {
			d.Token = held[i].Token
			out = append(out, d)
		}
	}
	return out, nil
}

// listTokenAccounts lists the token accounts of an owner that the node could read, and what it says of the token of each.
func (c *Client) listTokenAccounts(ctx context.Context, owner wallet.Address) (held []wallet.Holding, all []wallet.TokenAccount, _ error) {
	seen := map[wallet.Address]bool{}
	err := c.eachTokenAccount(ctx, owner, func(h wallet.Holding, a wallet.TokenAccount, err error) bool {
		if err != nil {
			return errors.Is(err, errUnparsed)
		}
		held, all = append(held, h), append(all, a)
		again := seen[a.Address]
		seen[a.Address] = true
		return !again
	})
	if err != nil {
		return nil, nil, err
	}
	return held, all, nil
}

// eachTokenAccount calls visit with every token account of an owner, or with the error of reading it. What visit does not
// accept makes no sense.
func (c *Client) eachTokenAccount(ctx context.Context, owner wallet.Address, visit func(wallet.Holding, wallet.TokenAccount, error) bool) error {
	const method = holdingsMethod
	for _, program := range []wallet.Address{wallet.TokenProgram, wallet.Token2022Program} {
		answer, err := call[tokenAccounts](ctx, c.primary(), method, owner.String(),
			settings{"programId": program.String()}, settings{"commitment": confirmed, "encoding": "jsonParsed"})
		if err != nil {
			return err
		}
		for _, entry := range answer.all {
			h, a, err := entry.holding(owner, program)
			h.Slot = answer.slot
			if !visit(h, a, err) {
				return c.primary().nodeError(method, errGarbage)
			}
		}
	}
	return nil
}

// holding reads one entry, which must be an account of this owner and program.
func (p parsedTokenAccount) holding(owner, program wallet.Address) (h wallet.Holding, a wallet.TokenAccount, err error) {
	if p.unparsed {
		return h, a, errUnparsed
	}
	info := p.Account.Data.Parsed.Info
	a = wallet.TokenAccount{Exists: true, Owner: owner, Program: program, Frozen: info.State == "frozen"}
	if a.Address, err = wallet.ParseAddress(p.Pubkey); err != nil {
		return h, a, err
	}
	if a.Mint, err = wallet.ParseAddress(info.Mint); err != nil {
		return h, a, err
	}
	if a.Units, err = strconv.ParseUint(info.TokenAmount.Amount, 10, 64); err != nil {
		return h, a, err
	}
	if info.Delegate != nil {
		if a.Delegate, err = wallet.ParseAddress(*info.Delegate); err != nil {
			return h, a, err
		}
		if info.DelegatedAmount == nil {
			return h, a, fmt.Errorf("a delegate without an amount: %w", errGarbage)
		}
		if a.Delegated, err = strconv.ParseUint(info.DelegatedAmount.Amount, 10, 64); err != nil {
			return h, a, err
		}
	}
	if info.TokenAmount.Decimals == nil || info.Owner != owner.String() || p.Account.Owner != program.String() {
		return h, a, fmt.Errorf("not an account of this owner: %w", errGarbage)
	}
	return wallet.Holding{
		Token: wallet.Token{Mint: a.Mint, Decimals: *info.TokenAmount.Decimals, Program: program},
		Units: a.Units, Frozen: a.Frozen,
	}, a, nil
}

// holdings adds up token accounts by mint.
type holdings struct {
	all []wallet.Holding
	at  map[wallet.Address]int // mint → index in all
}

// add adds one account; false if it contradicts another one of the same mint, or the sum overflows. Units outside the
// associated account are counted in InOtherAccounts: a transfer cannot spend them.
func (p *holdings) add(h wallet.Holding, associated bool) bool {
	if !associated {
		h.InOtherAccounts, h.Frozen = h.Units, false
	}
	i, known := p.at[h.Token.Mint]
	if !known {
		p.at[h.Token.Mint] = len(p.all)
		p.all = append(p.all, h)
		return true
	}
	sum := &p.all[i]
	if sum.Token != h.Token || sum.Units+h.Units < h.Units {
		return false
	}
	sum.Units += h.Units
	sum.InOtherAccounts += h.InOtherAccounts
	sum.Frozen = sum.Frozen || h.Frozen
	return true
}
