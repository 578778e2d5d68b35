package wallet

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Max is the word for the quantity "all that can be sent".
const Max = "max"

// Quantity is how much is asked for: an exact number of some token, or all that can be sent of it, which only the chain
// can tell. The zero Quantity says nothing.
type Quantity struct {
	Exact Decimal // zero with Max
	Max   bool
}

// ParseQuantity reads a decimal (ParseDecimal), or Max in any case.
func ParseQuantity(text string) (Quantity, error) {
	if strings.EqualFold(text, Max) {
		return Quantity{Max: true}, nil
	}
	d, err := ParseDecimal(text)
	return Quantity{Exact: d}, err
}

// IsZero tells whether no quantity was given.
func (q Quantity) IsZero() bool { return !q.Max && q.Exact.IsZero() }

// String writes the quantity as ParseQuantity reads it; "" for none.
func (q Quantity) String() string {
	if q.Max {
		return Max
	}
	return q.Exact.String()
}

// MarshalText writes String, for what is stored.
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (q *Quantity) UnmarshalText(text []byte) (err error) {
	*q = Quantity{}
	if len(text) > 0 {
		*q, err = ParseQuantity(string(text))
	}
	return err
}

// TokenRef names a token before it is found: by the symbol that a list may have, or by its mint. One of the two is set;
// the zero TokenRef names none, which operations take for SOL.
type TokenRef struct {
	Symbol string // as it was written: "sol", too
	Mint   Address
}

// maxSymbol is how long a symbol may be: no token worth naming has a longer one.
const maxSymbol = 16

// ParseTokenRef reads a symbol or a mint. Whether there is such a token is for the operation to find out; text that
// could be neither is TOKEN_NOT_FOUND, with FieldToken.
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

// IsZero tells whether no token was named.
func (r TokenRef) IsZero() bool { return r == TokenRef{} }

// Native tells whether SOL is meant: by its symbol, or by naming nothing.
func (r TokenRef) Native() bool {
	return r.Mint.IsZero() && (r.Symbol == "" || strings.EqualFold(r.Symbol, SOL.Symbol))
}

// String writes the reference as ParseTokenRef reads it; "" for none.
func (r TokenRef) String() string {
	if r.Mint.IsZero() {
		return r.Symbol
	}
	return r.Mint.String()
}

// MarshalText writes String, for what is stored.
func (r TokenRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *TokenRef) UnmarshalText(text []byte) (err error) {
	*r = TokenRef{}
	if len(text) > 0 {
		*r, err = ParseTokenRef(string(text))
	}
	return err
}

// Ref names the token again: by its mint, whatever symbol it has by now.
func (t Token) Ref() TokenRef {
	if t.Native() {
		return TokenRef{Symbol: SOL.Symbol}
	}
	return TokenRef{Mint: t.Mint}
}
