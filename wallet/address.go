package wallet

import (
	"strings"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"
)

// Address is a Solana public key: 32 bytes, written as base58.
type Address [32]byte

// SystemProgram is the address of the System program: 32 zero bytes. It doubles as the zero
// Address, so it never names a wallet.
var SystemProgram Address

// MustAddress is an address that is a constant of the program: a mistyped one panics at its start.
func MustAddress(text string) Address {
	a, err := ParseAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

// ParseAddress reads base58 text of exactly 32 bytes. It does not judge what the address is for:
// see OnCurve.
func ParseAddress(text string) (Address, error) {
	// 32 bytes are 32 to 44 base58 digits; the bound keeps hostile text from costing anything.
	if len(text) < 32 || len(text) > 44 {
		return Address{}, Refuse(InvalidRequest, "address.length")
	}
	raw, err := base58.Decode(text)
	switch {
	case err != nil: // of characters that base58 does not have: 0, O, I, l
		return Address{}, Refuse(InvalidRequest, "address.character")
	case len(raw) < 32:
		return Address{}, Refuse(InvalidRequest, "address.short")
	case len(raw) > 32:
		return Address{}, Refuse(InvalidRequest, "address.long")
	}
	return Address(raw), nil
}

// String is the base58 form.
func (a Address) String() string { return base58.Encode(a[:]) }

// IsZero tells whether a is unset (or the System program).
func (a Address) IsZero() bool { return a == Address{} }

// OnCurve tells whether a is a point of Ed25519, which every address with a private key is.
// Program-derived addresses (token accounts among them) are off the curve.
func (a Address) OnCurve() bool {
	_, err := new(edwards25519.Point).SetBytes(a[:])
	return err == nil
}

// Tail is the last six characters, which people compare.
func (a Address) Tail() string {
	text := a.String()
	return text[len(text)-6:]
}

// MarshalText writes base58; the zero address is "".
func (a Address) MarshalText() ([]byte, error) {
	if a.IsZero() {
		return nil, nil
	}
	return []byte(a.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (a *Address) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = Address{}
		return nil
	}
	parsed, err := ParseAddress(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// Signature is an Ed25519 signature of a transaction, which is also its name on chain: 64 bytes,
// written as base58.
type Signature [64]byte

// ParseSignature reads base58 text of exactly 64 bytes.
func ParseSignature(text string) (Signature, error) {
	if len(text) < 64 || len(text) > 88 {
		return Signature{}, Refuse(InvalidRequest, "signature.malformed")
	}
	raw, err := base58.Decode(text)
	if err != nil || len(raw) != 64 {
		return Signature{}, Refuse(InvalidRequest, "signature.malformed")
	}
	return Signature(raw), nil
}

// String is the base58 form; "" for the zero signature.
func (s Signature) String() string {
	if s.IsZero() {
		return ""
	}
	return base58.Encode(s[:])
}

// IsZero tells whether s is unset.
func (s Signature) IsZero() bool { return s == Signature{} }

// MarshalText writes base58; the zero signature is "".
func (s Signature) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Signature) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Signature{}
		return nil
	}
	parsed, err := ParseSignature(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Payable refuses an address that can be no person's wallet: no key exists for it, whatever the chain
// holds there. INVALID_REQUEST.
func (a Address) Payable() error {
	switch {
	case a.IsZero():
		return Refuse(InvalidRequest, "address.system_program")
	case !a.OnCurve():
		return Refuse(InvalidRequest, "address.no_key")
	}
	return nil
}

// AddressGroup is how many characters of an address stand together where people compare it.
const AddressGroup = 4

// Grouped is the address in groups of AddressGroup with blanks between, for people who compare it character by character.
// The chat, the signing page and the terminal group alike; what is copied is String.
func (a Address) Grouped() string { return Grouped(a.String()) }

// Grouped is the beginning of an address, or all of it, in such groups.
func Grouped(address string) string {
	var out strings.Builder
	for i, letter := range address {
		if i > 0 && i%AddressGroup == 0 {
			out.WriteByte(' ')
		}
		out.WriteRune(letter)
	}
	return out.String()
}
