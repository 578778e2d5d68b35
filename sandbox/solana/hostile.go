package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"slices"
)

// What a hostile app does with somebody's signature. The sandbox does it without one, so that people can meet it.

// plantedAccount is an account as the sandbox changed it by itself, from the block of that height on.
type plantedAccount struct {
	Height  uint64        `json:"height"`
	Account accountRecord `json:"account"`
}

// ErrNoTokenAccount says that nothing can be approved: the owner has no account for the token, or the issuer has frozen it.
var ErrNoTokenAccount = errors.New("solana sandbox: the address has no account for this token that can be used")

// thief is the key that PlantApproval makes a delegate.
func (c *Cluster) thief() ed25519.PrivateKey {
	seed := sha256.Sum256(append([]byte("thief"), c.world[:]...))
	return ed25519.NewKeyFromSeed(seed[:])
}

// PlantApproval lets a stranger spend up to units (base units) from the owner's associated account of a test token, from the next
// block on. It is what Approve of the token programs does, without the owner's signature. It returns the stranger's address.
// The error is ErrNoTokenAccount, or says that an argument is wrong.
func (c *Cluster) PlantApproval(owner, token string, units uint64) (delegate string, err error) {
	of, err := parseAddress(owner)
	mint, ok := c.mint(token)
	if err != nil || !ok || units == 0 {
		return "", errors.New("solana sandbox: an approval needs an address, a test token and an amount")
	}
	by := keyOf(c.thief())
	return by.String(), c.turn(func() error {
		at, _ := associatedAddress(of, c.state.at(mint, c.tip).Owner, mint)
		a := c.state.at(at, c.tip)
		a.Data = slices.Clone(a.Data) // older versions share it
		h, ok := holdingIn(a)
		if !ok || h.frozen() || h.owner() != of || h.mint() != mint {
			return ErrNoTokenAccount
		}
		h.delegate().set(by)
		h.setDelegated(units)
		p := plantedAccount{c.tip + 1, accountRecord{at[:], a.Lamports, a.Owner[:], a.Data, a.Executable}}
		c.plant(p)
		return c.write(record{Planted: &p})
	})
}

// plant applies a change. It does not write the journal; replay calls it too.
func (c *Cluster) plant(p plantedAccount) {
	a := p.Account
	c.state.set(address(a.Address), p.Height, account{a.Lamports, address(a.Owner), a.Data, a.Executable}, c.heightOf(finalized))
}
