package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is the word for the quantity "all that can be sent".
const Max = "max"

// Quantity is how much is requested: an exact number, or everything that can be sent, which only the chain can tell. The
// zero value is no quantity.
type Quantity struct {
	Exact Decimal // zero with Max
	Max   bool
}

// ParseQuantity parses a decimal (ParseDecimal), or Max in any case. Errors are about FieldAmount.
func ParseQuantity(text string) (Quantity, error) {
	if strings.EqualFold(text, Max) {
		return Quantity{Max: true}, nil
	}
	d, err := ParseDecimal(text)
	return Quantity{Exact: d}, err
}

// IsZero reports whether no quantity was given.
func (q Quantity) IsZero() bool { return !q.Max && q.Exact.IsZero() }

// String returns the form that ParseQuantity parses; "" for none.
func (q Quantity) String() string {
	if q.Max {
		return Max
	}
	return q.Exact.String()
}

// MarshalText returns String, for the store.
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText parses what MarshalText returned.
func (q *Quantity) UnmarshalText(text []byte) (err error) {
	*q = Quantity{}
	if len(text) > 0 {
		*q, err = ParseQuantity(string(text))
	}
	return err
}

// TokenRef names a token that is not looked up yet, by the symbol of a listed token or by mint. At most one is set. The
// zero value names none, which operations treat as SOL.
type TokenRef struct {
	Symbol string // as it was written, in any case
	Mint   Address
}

// maxSymbol is the longest symbol that is accepted, in bytes. Listed symbols are much shorter.
const maxSymbol = 16

// ParseTokenRef parses a symbol or a mint. It does not check that the token exists. Text that can be neither is
// TOKEN_NOT_FOUND, about FieldToken.
func ParseTokenRef(text string) (TokenRef, error) {
	mint, err := ParseAddress(text)
	if err == nil && !mint.IsZero() {
		return TokenRef{Mint: mint}, nil
	}
	if err == nil || text == "" || len(text) > maxSymbol || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		return TokenRef{}, About(FieldToken, Refuse(TokenNotFound, "token.unknown"))
	}
	return TokenRef{Symbol: text}, nil
}

// IsZero reports whether no token is named.
func (r TokenRef) IsZero() bool { return r == TokenRef{} }

// Native reports whether r means SOL, by its symbol or by naming nothing.
func (r TokenRef) Native() bool {
	return r.Mint.IsZero() && (r.Symbol == "" || strings.EqualFold(r.Symbol, SOL.Symbol))
}

// String returns the form that ParseTokenRef parses; "" for none.
func (r TokenRef) String() string {
	if r.Mint.IsZero() {
		return r.Symbol
	}
	return r.Mint.String()
}

// MarshalText returns String, for the store.
func (r TokenRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText parses what MarshalText returned.
func (r *TokenRef) UnmarshalText(text []byte) (err error) {
	*r = TokenRef{}
	if len(text) > 0 {
		*r, err = ParseTokenRef(string(text))
	}
	return err
}

// Ref returns a reference to t by its mint, so that a changed symbol does not matter.
func (t Token) Ref() TokenRef {
	if t.Native() {
		return TokenRef{Symbol: SOL.Symbol}
	}
	return TokenRef{Mint: t.Mint}
}
