package wallet

import (
	"strings"

	"filippo.io/edwards25519"
	"github.com/mr-tron/base58"
)

// Address is a Solana public key: 32 bytes, written as base58.
type Address [32]byte

// SystemProgram is the address of the System program: 32 zero bytes, written as 32 times "1". It is also the zero Address
// and never a wallet.
var SystemProgram Address

// MustAddress parses an address that is a constant of the program, and panics if it is malformed.
func MustAddress(text string) Address {
	a, err := ParseAddress(text)
	if err != nil {
		panic(err)
	}
	return a
}

// ParseAddress parses base58 text of exactly 32 bytes. It does not check what the address is: see OnCurve and Payable.
// INVALID_REQUEST.
func ParseAddress(text string) (Address, error) {
	// 32 bytes have 32 to 44 base58 digits. Decoding takes quadratic time, so longer text is refused first.
	if len(text) < 32 || len(text) > 44 {
		return Address{}, Refuse(InvalidRequest, "address.length")
	}
	raw, err := base58.Decode(text)
	switch {
	case err != nil: // characters that base58 does not have: 0, O, I, l
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

// IsZero reports whether a is unset or the System program.
func (a Address) IsZero() bool { return a == Address{} }

// OnCurve reports whether a is a point of Ed25519. Every address with a private key is. Program-derived addresses, such
// as associated token accounts, are not.
func (a Address) OnCurve() bool {
	_, err := new(edwards25519.Point).SetBytes(a[:])
	return err == nil
}

// Tail returns the last six characters, which people compare.
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

// Signature is the Ed25519 signature of a transaction's fee payer, which also identifies the transaction on chain: 64
// bytes, written in base58.
type Signature [64]byte

// ParseSignature parses base58 text of exactly 64 bytes. INVALID_REQUEST.
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

// IsZero reports whether s is unset.
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

// Payable refuses an address that cannot be anybody's wallet, because no private key can exist for it. INVALID_REQUEST.
func (a Address) Payable() error {
	switch {
	case a.IsZero():
		return Refuse(InvalidRequest, "address.system_program")
	case !a.OnCurve():
		return Refuse(InvalidRequest, "address.no_key")
	}
	return nil
}

// AddressGroup is how many characters of an address form a group where people compare it.
const AddressGroup = 4

// Grouped returns the address in groups of AddressGroup, separated by blanks, for people who compare it. The chat, the
// signing page and the terminal group alike. For copying use String.
func (a Address) Grouped() string { return Grouped(a.String()) }

// Grouped groups an address, or the beginning of one.
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
