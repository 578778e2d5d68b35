package chat

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// pieces are put together to texts: what the regular expressions look for, and what nearly is.
var pieces = []string{"pur", "PUR", "Pur_", "live", "TEST_", "bot_", "session", "_", "_", "whsec", "whſec_", "wHSEC_", "ſ", "0x", "0X", "10x", "é", "0123456789abcdef", "ABCDEFGHIJKLMNOP",
	"00000010", "0000001g", ":", " ", "  ", "ab", "abcd", "\n", "\r\n", "text"}

// TestNoTextEscapesTheRegularExpressions: what is asked before them, because they are slow, never says no where they would match.
func TestNoTextEscapesTheRegularExpressions(t *testing.T) {
	random, credentials, dumps, prefixes := rand.New(rand.NewPCG(1, 2)), 0, 0, 0
	texts := 200_000
	if testing.Short() {
		texts = 50_000
	}
	for range texts {
		var text strings.Builder
		for range 1 + random.IntN(8) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		s := text.String()
		if credential.MatchString(s) {
			credentials++
			if !beginsCredential(s) {
				t.Fatalf("%q has a credential", s)
			}
		}
		if dumpLine.MatchString(s) {
			dumps++
			if !hasDumpLine(s) {
				t.Fatalf("%q has a line of a dump", s)
			}
		}
		if hexPrefix.MatchString(s) {
			prefixes++
		}
		want := strings.Map(func(r rune) rune {
			switch {
			case !unicode.IsLetter(r) && !unicode.IsDigit(r):
				return -1
			case r > unicode.MaxASCII:
				return 0
			}
			return r
		}, hexPrefix.ReplaceAllString(dumpLine.ReplaceAllString(s, "$1"), " "))
		if got := string(newKeySearch(s).chars); got != want {
			t.Fatalf("%q is searched as %q, not %q", s, got, want)
		}
	}
	if min(credentials, dumps, prefixes) < texts/2500 {
		t.Errorf("only %d credentials, %d dumps and %d prefixes were among the texts", credentials, dumps, prefixes)
	}
	if beginsCredential("my_wallet /delete_me pur pu_ whse_ purr_") {
		t.Error("the slow one runs for an underscore alone")
	}
}

// slowDistance is what distance computes, written down as it is defined.
func slowDistance(x, y []rune) int {
	switch {
	case len(x) == 0:
		return len(y)
	case len(y) == 0:
		return len(x)
	}
	i, j := len(x)-1, len(y)-1
	change := 1
	if x[i] == y[j] {
		change = 0
	}
	best := min(slowDistance(x[:i], y)+1, slowDistance(x, y[:j])+1, slowDistance(x[:i], y[:j])+change)
	if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
		best = min(best, slowDistance(x[:i-1], y[:j-1])+1)
	}
	return best
}

func TestDistanceIsTheFewestMistakes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		var out strings.Builder
		for range random.IntN(7) {
			out.WriteRune([]rune("abcé")[random.IntN(4)])
		}
		return out.String()
	}
	for range 5_000 {
		a, b := word(), word()
		if got, want := distance(a, b), slowDistance([]rune(a), []rune(b)); got != want {
			t.Fatalf("%q and %q are %d apart, not %d", a, b, got, want)
		}
	}
	long := strings.Repeat("a", 2*longestWord)
	for a, b := range map[string]string{long: long + "b", long + "b": long, "a" + long: long, long + "ab": long + "ba", strings.Repeat("a", longestWord-1): strings.Repeat("a", longestWord), strings.Repeat("a", longestWord+1): strings.Repeat("a", longestWord)} {
		if got := distance(a, b); got != 1 {
			t.Errorf("words of %d and %d letters are %d apart", len(a), len(b), got)
		}
	}
}

func TestDistanceAllocatesNothing(t *testing.T) {
	a, b := strings.Repeat("é", longestWord), strings.Repeat("a", longestWord)
	if n := testing.AllocsPerRun(100, func() { distance(a, b); distance("portfolio", "protfolio") }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
