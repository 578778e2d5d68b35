package chat

import (
	"crypto/ed25519"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/mr-tron/base58"
)

// maxTries bounds the parts of one text that are tried as a private key, for each form and each number of edges. A try derives
// a public key, which takes some 15 µs, and a text of Telegram's has room for thousands of them: without a bound, one person
// could keep purser from answering everybody else. What people paste is found long before: parts that begin and end where
// a word does come first, then those that do one of the two.
const maxTries = 64

// Base58 as Bitcoin and Solana use it. 64 bytes have at most longestKey digits, and fewer than usualKey only if the first
// byte is zero. Each zero byte at the beginning takes one digit, "1"; shortestKey allows for more of them than any real key
// has.
const (
	base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	shortestKey  = 80
	usualKey     = 87
	longestKey   = 88
)

// Of 80 random digits of base58, at least this many are small letters, and at least this many are not: fewer happen once in
// ten million keys. Words of a language have next to no capital letters and digits, and are left out by it.
const mixed = 10

// hexDigits are the digits of a key in hexadecimal.
const hexDigits = "0123456789abcdefABCDEF"

// hexPrefix stands before each byte in the source code of most languages.
var hexPrefix = regexp.MustCompile(`\b0[xX]`)

// dumpLine is a line as xxd and hexdump print it: an offset, bytes, and mostly the bytes as text.
var dumpLine = regexp.MustCompile(`(?m)^[0-9a-fA-F]{8}:?((?: {1,2}[0-9a-fA-F]{2,4}){1,16}).*$`)

// privateKey reports whether a text contains a Solana private key as wallets export it: 64 bytes in base58, in hex, or as
// decimal numbers, with anything before, between or after. A signature has 64 bytes too, so the second half must be the
// public key of the first: other texts do not match by chance.
func privateKey(text string) bool {
	if len(text) < shortestKey { // the shortest of the three forms
		return false
	}
	return newKeySearch(text).find(text)
}

// find looks where people paste a key first, and at what is left afterwards.
func (s *keySearch) find(text string) bool {
	if s.inNumbers(text) {
		return true
	}
	for edges := 2; edges >= 0; edges-- {
		if s.inBase58(edges) || s.inHex(edges) {
			return true
		}
	}
	return false
}

// keySearch looks for a private key in one text.
type keySearch struct {
	chars []byte // the letters and digits, without what stands between them; 0 for one that is not ASCII
	edge  []bool // edge[i]: something stood between chars[i-1] and chars[i], or one of the two does not exist
	small []int  // small[i] is the number of small letters in chars[:i]
	tries int    // all that were made
}

func newKeySearch(text string) *keySearch {
	// Regular expressions are slow, and nearly no text needs them.
	if hasDumpLine(text) {
		text = dumpLine.ReplaceAllString(text, "$1")
	}
	if strings.Contains(text, "0x") || strings.Contains(text, "0X") {
		text = hexPrefix.ReplaceAllString(text, " ")
	}
	s := &keySearch{edge: []bool{true}, small: []int{0}}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			s.edge[len(s.chars)] = true
			continue
		}
		c, small := byte(0), s.small[len(s.chars)]
		if r <= unicode.MaxASCII {
			c = byte(r)
		}
		if 'a' <= c && c <= 'z' {
			small++
		}
		s.chars, s.edge, s.small = append(s.chars, c), append(s.edge, false), append(s.small, small)
	}
	s.edge[len(s.chars)] = true
	return s
}

// hasDumpLine reports whether a line begins as dumpLine does: with eight hexadecimal digits.
func hasDumpLine(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) >= 8 && strings.Trim(line[:8], hexDigits) == "" {
			return true
		}
	}
	return false
}

// edges counts the ends of a part that are edges.
func (s *keySearch) edges(from, end int) (n int) {
	if s.edge[from] {
		n++
	}
	if s.edge[end] {
		n++
	}
	return n
}

// runs calls look for each longest run of the given digits, with its first index and the one after its last, until look
// returns true, and reports whether it did.
func (s *keySearch) runs(digits string, look func(from, to int) bool) bool {
	from := 0
	for i := 0; i <= len(s.chars); i++ {
		if i < len(s.chars) && strings.IndexByte(digits, s.chars[i]) >= 0 {
			continue
		}
		if i > from && look(from, i) {
			return true
		}
		from = i + 1
	}
	return false
}

// inBase58 tries the parts that have so many edges.
func (s *keySearch) inBase58(edges int) bool {
	left := maxTries
	return s.runs(base58Digits, func(from, to int) bool {
		for ; from+shortestKey <= to && left > 0; from++ {
			shortest := usualKey
			if s.chars[from] == '1' {
				shortest = shortestKey
			}
			for end := from + shortest; end <= min(from+longestKey, to); end++ {
				if s.edges(from, end) != edges || !s.mixed(from, end) {
					continue
				}
				raw, err := base58.Decode(string(s.chars[from:end]))
				if err == nil && s.try(&left, raw) {
					return true
				}
			}
		}
		return false
	})
}

// mixed reports whether a part can be random digits of base58.
func (s *keySearch) mixed(from, end int) bool {
	small := s.small[end] - s.small[from]
	return small >= mixed && end-from-small >= mixed
}

// inHex is inBase58 for hexadecimal digits. A part without letters is no key: 128 random digits have some, and decimal
// numbers have none.
func (s *keySearch) inHex(edges int) bool {
	const size = 2 * ed25519.PrivateKeySize
	left := maxTries
	return s.runs(hexDigits, func(from, to int) bool {
		for ; from+size <= to && left > 0; from++ {
			part := string(s.chars[from : from+size])
			if s.edges(from, from+size) != edges || strings.Trim(part, "0123456789") == "" {
				continue
			}
			raw, err := hex.DecodeString(part)
			if err == nil && s.try(&left, raw) {
				return true
			}
		}
		return false
	})
}

// inNumbers reports whether a text contains the bytes of a key as decimal numbers without a word between them.
func (s *keySearch) inNumbers(text string) bool {
	left := 2 * maxTries
	for part := range strings.FieldsFuncSeq(text, unicode.IsLetter) {
		var row []byte
		for digits := range strings.FieldsFuncSeq(part, func(r rune) bool { return r < '0' || r > '9' }) {
			n, err := strconv.ParseUint(digits, 10, 8)
			if err != nil { // not a byte: start again
				row = nil
				continue
			}
			row = append(row, byte(n))
			if len(row) >= ed25519.PrivateKeySize && s.try(&left, row[len(row)-ed25519.PrivateKeySize:]) {
				return true
			}
		}
	}
	return false
}

// try reports whether raw is an Ed25519 private key: a seed followed by its public key. Without tries left it is not.
func (s *keySearch) try(left *int, raw []byte) bool {
	if len(raw) != ed25519.PrivateKeySize || *left == 0 {
		return false
	}
	*left--
	s.tries++
	return ed25519.NewKeyFromSeed(raw[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(raw))
}
