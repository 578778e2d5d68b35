package wallet

import (
	"crypto/sha256"
	"math/bits"
)

// The programs of tokens (SPL Token, Token-2022) and of associated token accounts.
var (
	TokenProgram      = MustAddress("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
	Token2022Program  = MustAddress("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
	AssociatedProgram = MustAddress("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
)

// Token is a kind of money: native SOL, or an SPL token.
type Token struct {
	Symbol   string  `json:"symbol,omitzero"` // "" for a mint outside the list of well-known tokens
	Mint     Address `json:"mint,omitzero"`   // zero for SOL
	Decimals uint8   `json:"decimals"`
	Program  Address `json:"program,omitzero"` // the token program of the mint; zero for SOL
}

// SOL is the native coin; its base unit is the lamport.
var SOL = Token{Symbol: "SOL", Decimals: 9}

// WrappedSOL is the mint of wrapped SOL, an SPL token that can be exchanged for SOL by anybody at any time.
var WrappedSOL = MustAddress("So11111111111111111111111111111111111111112")

// Amount returns an amount of this token from base units.
func (t Token) Amount(units uint64) Amount { return Amount{Units: units, Decimals: t.Decimals} }

// Exactly converts a number to an amount of t. It is Decimal.In, but a refusal of too many decimals names the token.
func (t Token) Exactly(d Decimal) (Amount, error) {
	amount, err := d.In(t.Decimals)
	switch ReasonOf(err).Key {
	case "amount.whole":
		err = About(FieldAmount, Refuse(InvalidRequest, "amount.whole_of", TextArg("Token", t.Name())))
	case "amount.too_precise":
		err = About(FieldAmount, Refuse(InvalidRequest, "amount.too_precise_of", NumberArg("Decimals", d.scale), NumberArg("Most", t.Decimals), TextArg("Token", t.Name())))
	}
	return amount, err
}

// Native reports whether t is SOL itself. Wrapped SOL is an SPL token.
func (t Token) Native() bool { return t.Mint.IsZero() }

// MintText returns the mint; "" for SOL.
func (t Token) MintText() string {
	if t.Native() {
		return ""
	}
	return t.Mint.String()
}

// Name returns the symbol of a listed token, and the full mint address of any other, so that no token can pose as another
// (docs/specification.md, Balances).
func (t Token) Name() string {
	if t.Symbol != "" {
		return t.Symbol
	}
	return t.Mint.String()
}

// Lamports returns an amount of SOL.
func Lamports(units uint64) Amount { return SOL.Amount(units) }

// AssociatedAccount returns the associated token account of an owner for a mint. It is derived from owner, token program
// and mint (Associated Token Account program), so anybody can verify who owns it.
func AssociatedAccount(owner, mint, program Address) Address {
	return programAddress(AssociatedProgram, owner[:], program[:], mint[:])
}

// programAddress is Solana's find_program_address: the first address off the Ed25519 curve, trying bumps from 255 down.
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

// Mint is what the chain says of a token, as far as it decides whether and how the token can be sent.
type Mint struct {
	Address     Address
	Program     Address
	Decimals    uint8
	TransferFee *TransferFee // nil for none (Token-2022)

	NonTransferable   bool
	Hook              Address // program that every transfer calls (Token-2022); zero for none
	PermanentDelegate Address // may move or burn everybody's tokens; zero for none
	DefaultFrozen     bool    // new accounts are frozen until the issuer thaws them
	Paused            bool    // the issuer has stopped all transfers
	Scaled            bool    // wallets show other amounts than base units suggest (interest, scaled UI)
	Unknown           bool    // has extensions that purser does not know
	AccountSize       uint64  // of a token account of this mint, in bytes
}

// TransferFee is the transfer fee of a Token-2022 mint. Newer applies from its epoch on, Older before.
type TransferFee struct{ Older, Newer FeeRate }

// FeeRate is a transfer fee: BasisPoints (1/10,000) of the amount, rounded up, and at most Maximum base units.
type FeeRate struct {
	Epoch       uint64
	Maximum     uint64
	BasisPoints uint16
}

// At returns how many base units are withheld from a transfer of units in an epoch.
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

// TokenAccount is an account that holds units of one mint, if it Exists.
type TokenAccount struct {
	Address      Address
	Exists       bool
	Mint         Address
	Owner        Address
	Program      Address
	Units        uint64
	Frozen       bool
	MemoRequired bool // transfers to it need a memo right before them (Token-2022)
	// Delegate may spend up to Delegated base units without the owner's signature; zero if nobody may.
	Delegate  Address
	Delegated uint64
}

// Parties are both sides of a transfer, as the chain has them at one slot.
type Parties struct {
	From, To Account      // the two addresses, as System accounts
	AtTo     TokenAccount // the token account at To's address; Exists is false if it is none
}

// TokenFacts is everything by which a token transfer is judged, read at one slot.
type TokenFacts struct {
	Epoch uint64
	Parties
	Mint        Mint
	Source      TokenAccount // associated account of From
	Destination TokenAccount // associated account of To; it may not exist
}

// Holding is how much of one token an address holds, over all its accounts.
type Holding struct {
	Token Token
	Units uint64
	Slot  uint64
	// InOtherAccounts is the part of Units in accounts other than the associated one. purser sends from the associated one only.
	InOtherAccounts uint64
	Frozen          bool // the associated account is frozen
}
