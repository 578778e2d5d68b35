package wallet

import (
	"strings"
	"time"
)

// TokenMatch is a token that a search found: what a source says of a mint. Nothing that is signed depends on it: decimals and program of a
// token that is paid are read from the chain.
type TokenMatch struct {
	Mint      Address // zero for SOL
	Symbol    string  // as its issuer wrote it, cleaned: CleanTokenText
	Name      string
	Decimals  uint8
	Program   Address // the token program
	Listed    bool    // in purser's own list, which the source cannot change
	Verified  bool    // the source says that it is the token that it claims to be
	Suspect   bool    // the source warns of it, or it takes the symbol of a listed token
	Holders   uint64  // 0 if it is not known
	Liquidity Worth   // in its pools
	Source    string
	At        time.Time // when the source said it
}

// Trusted reports whether a symbol may stand for this token without asking.
func (m TokenMatch) Trusted() bool { return m.Listed || m.Verified && !m.Suspect }

func digit(r rune) bool { return '0' <= r && r <= '9' }

// MaxTokenText is the most characters of a symbol or name that are kept.
const MaxTokenText = 32

// CleanTokenText makes text of an issuer fit to be shown: letters, digits, single blanks and a few signs, at most MaxTokenText characters. What
// does not show, turns the text around it, or could make a link of it, is dropped. A period stays only between digits, as in "2.0".
func CleanTokenText(text string) string {
	var b strings.Builder
	n, blank := 0, false
	all := []rune(text)
	for i, r := range all {
		switch {
		case n >= MaxTokenText:
			return b.String()
		case r == ' ':
			blank = n > 0
			continue
		case r == '.' && i > 0 && i+1 < len(all) && digit(all[i-1]) && digit(all[i+1]):
		case !Visible(r) || strings.ContainsRune("<>&\"'`@/\\:.", r):
			continue
		}
		if blank {
			b.WriteByte(' ')
			n, blank = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
