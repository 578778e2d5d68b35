package wallet

import (
	"crypto/sha256"
	"math/bits"
)

// Programs of tokens (SPL Token, Token-2022) and of their associated accounts.
var (
	TokenProgram      = MustAddress("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	Token2022Program  = MustAddress("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	AssociatedProgram = MustAddress("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
)

// Token is a kind of money: native SOL (no mint) or an SPL token.
type Token struct {
	Symbol   string  `json:"symbol,omitzero"` // "" for a mint that is on no list: it is shown by its mint
	Mint     Address `json:"mint,omitzero"`   // zero for SOL
	Decimals uint8   `json:"decimals"`
	Program  Address `json:"program,omitzero"` // that the mint belongs to; zero for SOL
}

// SOL is the native coin; its base unit is the lamport.
var SOL = Token{Symbol: "SOL", Decimals: 9}

// Amount makes an amount of this token from base units.
func (t Token) Amount(units uint64) Amount { return Amount{Units: units, Decimals: t.Decimals} }

// Native tells whether t is SOL itself.
func (t Token) Native() bool { return t.Mint.IsZero() }

// Name is the symbol of a listed token, and the whole mint of any other: no token can pose as
// another (docs/specification.md, Balances).
func (t Token) Name() string {
	if t.Symbol != "" {
		return t.Symbol
	}
	return t.Mint.String()
}

// Lamports makes an amount of SOL.
func Lamports(units uint64) Amount { return SOL.Amount(units) }

// AssociatedAccount is the token account that an owner is paid to: derived from owner, token
// program and mint (Associated Token Account program), so that anybody can check whose it is.
func AssociatedAccount(owner, mint, program Address) Address {
	return programAddress(AssociatedProgram, owner[:], program[:], mint[:])
}

// programAddress is Solana's find_program_address: the first address off the curve, from bump 255
// down. That none of the 256 is off the curve happens to nobody.
func programAddress(program Address, seeds ...[]byte) Address {
	for bump := 255; bump >= 0; bump-- {
		h := sha256.New()
		for _, seed := range seeds {
			h.Write(seed)
		}
		h.Write([]byte{byte(bump)})
		h.Write(program[:])
		h.Write([]byte("ProgramDerivedAddress"))
		if a := Address(h.Sum(nil)); !a.OnCurve() {
			return a
		}
	}
	panic("no program address off the curve") // probability 2^-256
}

// Mint is what the chain says of a token: the facts that decide whether and how it can be sent.
type Mint struct {
	Address     Address
	Program     Address
	Decimals    uint8
	TransferFee *TransferFee // nil without one (Token-2022)

	NonTransferable   bool
	Hook              Address // program that every transfer calls; zero for none
	PermanentDelegate Address // may move or burn anybody's; zero for none
	BornFrozen        bool    // new accounts begin frozen
	Paused            bool
	Scaled            bool // wallets show other figures than the units moved (interest, scaled UI)
	Unknown           bool // it has extensions that are not known here
	AccountSize       uint64
}

// TransferFee is what a Token-2022 mint keeps of each transfer: from epoch Newer.Epoch on the newer
// rate counts.
type TransferFee struct{ Older, Newer FeeRate }

// FeeRate is a transfer fee: BasisPoints of the amount, rounded up, at most Maximum base units.
type FeeRate struct {
	Epoch       uint64
	Maximum     uint64
	BasisPoints uint16
}

// At is what is withheld of units that are sent in an epoch.
func (f TransferFee) At(epoch, units uint64) uint64 {
	rate := f.Older
	if epoch >= f.Newer.Epoch {
		rate = f.Newer
	}
	const whole = 10_000
	high, low := bits.Mul64(units, uint64(min(rate.BasisPoints, whole)))
	fee, rest := bits.Div64(high, low, whole) // high < whole: the rate is at most the whole
	if rest > 0 {
		fee++
	}
	return min(fee, rate.Maximum)
}

// TokenAccount is one account that holds units of one mint.
type TokenAccount struct {
	Address      Address
	Exists       bool
	Mint         Address
	Owner        Address
	Program      Address
	Units        uint64
	Frozen       bool
	MemoRequired bool // a transfer to it needs a memo before it (Token-2022)
}

// TokenFacts is what a transfer of a token is judged by, all read at one slot.
type TokenFacts struct {
	Epoch       uint64
	From, To    Account // the two owners, as System accounts
	Mint        Mint
	Source      TokenAccount // From's associated account
	Destination TokenAccount // To's associated account; it may not exist yet
}

// Holding is how much of one token an address holds, over all its accounts.
type Holding struct {
	Token Token
	Units uint64
	Slot  uint64
	// Apart is what of Units lies in other accounts than the associated one, from which alone
	// purser sends.
	Apart  uint64
	Frozen bool // the associated account is frozen
}
