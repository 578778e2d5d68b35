package solana

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// The symbols of the test tokens that every cluster has. Both have 6 decimals, and the faucet is their mint and
// freeze authority. FEE is a Token-2022 mint with a transfer fee: 1 percent of each transfer, at most 5 FEE, is
// withheld in the recipient's account.
const (
	USDC = "USDC"
	FEE  = "FEE"
)

// testFeePoints is in basis points, testFeeMost in base units.
const (
	testDecimals  = 6
	testFeePoints = 100
	testFeeMost   = 5_000_000
)

// MintAddress is the mint address of a symbol, USDC or FEE, in every cluster with that seed.
func MintAddress(seed, symbol string) string { return mintKey(seed, symbol).String() }

// mintKey derives a mint from the seed alone, not from the time of birth, so that configurations can name it.
func mintKey(seed, symbol string) address {
	sum := sha256.Sum256(fmt.Appendf(nil, "mint %q %s", seed, symbol))
	return keyOf(ed25519.NewKeyFromSeed(sum[:]))
}

// tokensVersion is the genesis version that added token programs, test mints and lookup tables. An older journal gets
// them when it is next opened.
const tokensVersion = 1

// programsVersion is the genesis version that added Memo v4 and Lighthouse.
const programsVersion = 2

// stakingVersion is the genesis version that added the Stake program, the validators and the sysvars about epochs.
const stakingVersion = 3

// newestVersion is what a new cluster starts with, and what an old one is upgraded to.
const newestVersion = exchangeVersion

// grow adds the accounts of all genesis versions between the cluster's own and the given one.
func (c *Cluster) grow(to int) error {
	if to >= tokensVersion && c.version < tokensVersion {
		if err := c.addTokens(); err != nil {
			return err
		}
	}
	if to >= programsVersion && c.version < programsVersion {
		if err := c.addPrograms(); err != nil {
			return err
		}
	}
	if to >= stakingVersion && c.version < stakingVersion {
		if err := c.addStaking(); err != nil {
			return err
		}
	}
	if to >= exchangeVersion && c.version < exchangeVersion {
		return c.addExchange()
	}
	return nil
}

// addPrograms adds the programs of programsVersion.
func (c *Cluster) addPrograms() error {
	stub := account{c.rentAt(0).minimum(len(programStub)), loaderV2, []byte(programStub), true}
	return c.found(programsVersion, map[address]account{memoV4: stub, lighthouseProgram: stub})
}

// mint finds a mint by symbol or address. It does not check that the address is a mint.
func (c *Cluster) mint(name string) (key address, ok bool) {
	for _, symbol := range []string{USDC, FEE} {
		if name == symbol {
			return mintKey(c.seed, symbol), true
		}
	}
	key, err := parseAddress(name)
	return key, err == nil
}

// Mint is the mint address of a test token in this cluster, or "" for other symbols.
func (c *Cluster) Mint(symbol string) string {
	if symbol != USDC && symbol != FEE {
		return ""
	}
	return MintAddress(c.seed, symbol)
}

// addTokens adds the token programs and test mints.
func (c *Cluster) addTokens() error {
	faucet := keyOf(c.faucet())
	rent := c.rentAt(0)
	stub := account{rent.minimum(len(programStub)), loaderV2, []byte(programStub), true}
	wrapped := mintData(nil, 9)
	added := map[address]account{
		tokenProgram:          stub,
		token2022Program:      stub,
		associatedProgram:     stub,
		lookupProgram:         stub,
		nativeMint:            {rent.minimum(len(wrapped)), tokenProgram, wrapped, false},
		nativeMint2022:        {rent.minimum(len(wrapped)), token2022Program, wrapped, false},
		mintKey(c.seed, USDC): rent.testMint(tokenProgram, mintData(&faucet, testDecimals)),
		mintKey(c.seed, FEE):  rent.testMint(token2022Program, feeMintData(faucet)),
	}
	return c.found(tokensVersion, added)
}

// found adds accounts as if they had existed since genesis: the faucet's past balances shrink by their cost, so that
// the total stays the same and no fork can remove them.
func (c *Cluster) found(to int, added map[address]account) error {
	faucet := keyOf(c.faucet())
	var cost uint64
	// The faucet pays for the accounts in all of its kept versions, because a fork may bring an older one back.
	for _, a := range added {
		cost += a.Lamports
	}
	for _, v := range c.state[faucet] {
		if v.Lamports < cost {
			return errors.New("solana sandbox: the faucet is too empty to found new programs")
		}
	}
	for i := range c.state[faucet] {
		c.state[faucet][i].Lamports -= cost
	}
	for key, a := range added {
		versions := c.state[key]
		if len(versions) == 0 {
			c.state[key] = []version{{0, a}}
		}
		for i := range versions { // somebody sent lamports to this address before: each version keeps its own
			sent := versions[i].Lamports
			versions[i].account = a
			versions[i].Lamports += sent
		}
	}
	c.version = to
	return nil
}

// testMint is an account with exactly the rent minimum for the data.
func (r rentRate) testMint(program address, data []byte) account {
	return account{r.minimum(len(data)), program, data, false}
}

// mintData is an initialized mint with a supply of 0. Without an authority nobody can mint or freeze.
func mintData(authority *address, decimals byte) []byte {
	m := mintAccount(make([]byte, mintSize))
	if authority != nil {
		m.minter().set(*authority)
		m.freezer().set(*authority)
	}
	m[44], m[45] = decimals, 1
	return m
}

// feeMintData is a Token-2022 mint with the TransferFeeConfig extension (108 bytes).
func feeMintData(authority address) []byte {
	data := make([]byte, extensionsAt+4+108)
	copy(data, mintData(&authority, testDecimals))
	data[kindAt] = kindMint
	binary.LittleEndian.PutUint16(data[extensionsAt:], extTransferFeeConfig)
	binary.LittleEndian.PutUint16(data[extensionsAt+2:], 108)
	value := data[extensionsAt+4:]
	putKey(value, 0, authority)
	putKey(value, 32, authority)
	// Older and newer fee are the same, so the fee never changes by itself.
	writeFee(value[feeOlderAt:], 0, testFeeMost, testFeePoints)
	writeFee(value[feeNewerAt:], 0, testFeeMost, testFeePoints)
	return data
}

// TokenBalance is the balance of the owner's associated account in the newest block, in base units. The token is
// named as for AirdropToken. The result is 0 if there is no such account, token or address.
func (c *Cluster) TokenBalance(owner, token string) uint64 {
	wallet, err := parseAddress(owner)
	mint, ok := c.mint(token)
	if err != nil || !ok {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	associated, _ := associatedAddress(wallet, c.state.at(mint, c.tip).Owner, mint)
	if h, ok := holdingIn(c.state.at(associated, c.tip)); ok && h.mint() == mint {
		return h.amount()
	}
	return 0
}

// AirdropToken mints base units of a test token to the owner's associated account. The token is USDC, FEE or a mint
// address. The faucet creates the account and pays for it if it is missing. It returns the signature at once; the
// transaction lands with the next block. It fails for an invalid address, a mint of which the faucet is not the
// authority, and a transaction that the cluster refuses.
func (c *Cluster) AirdropToken(ctx context.Context, owner, token string, units uint64) (string, error) {
	to, err := parseAddress(owner)
	if err != nil {
		return "", fmt.Errorf("solana sandbox: %q is no address", owner)
	}
	mint, ok := c.mint(token)
	if !ok {
		return "", fmt.Errorf("solana sandbox: %q is neither a test token nor a mint", token)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	a := c.state.at(mint, c.tip)
	if _, ok := mintIn(a); !ok {
		return "", fmt.Errorf("solana sandbox: %s is no mint", token)
	}
	return c.give(func(faucet address) draftTransaction {
		// CreateIdempotent (1) does nothing if the account exists; MintTo (7) follows in the same transaction.
		associated, _ := associatedAddress(to, a.Owner, mint)
		create := draftInstruction{associatedProgram, []callMeta{{faucet, true, true}, {associated, false, true},
			{key: to}, {key: mint}, {key: systemProgram}, {key: a.Owner}}, []byte{1}}
		amount := binary.LittleEndian.AppendUint64([]byte{7}, units)
		return draftTransaction{create, draftInstruction{a.Owner, []callMeta{{mint, false, true}, {associated, false, true}, {faucet, true, true}}, amount}}
	})
}
