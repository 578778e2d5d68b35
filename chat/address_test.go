package chat

import (
	"strings"
	"testing"

	"purser/wallet"
)

// TestAnAddressInGroupsIsOneAddress, and no other words are drawn together.
func TestAnAddressInGroupsIsOneAddress(t *testing.T) {
	for n := range 64 {
		address := wallet.Address{byte(n), 7, byte(3 * n)}
		if n%2 == 0 {
			address[31] = byte(n)
		}
		if n == 63 { // the shortest there is
			address = wallet.Address{}
		}
		text, groups := address.String(), address.Grouped()
		if shown := grouped(text); shown != html("<code>"+groups+"</code>") {
			t.Errorf("%s is shown as %s", text, shown)
		}
		got := read("/send 1 SOL " + groups + " memo lunch with anna").args
		if want := []string{"1", "SOL", text, "memo", "lunch", "with", "anna"}; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("read %v, want %v", got, want)
		}
		if got := read(groups).args; len(got) != 1 || got[0] != text {
			t.Errorf("read %v", got)
		}
	}
	words := "this text only uses words with four char each some more here they come okay"
	if got := read(words).args; strings.Join(got, " ") != words {
		t.Errorf("read %v", got)
	}
}

// TestGroupsAreJoinedAtABoundedCost: a message of short words costs no more than a few tries for each of them, and an
// address of any length is still found behind them.
func TestGroupsAreJoinedAtABoundedCost(t *testing.T) {
	long := wallet.Address{255, 1}
	for _, address := range []wallet.Address{{}, {0, 9}, {1}, long} {
		text := strings.Repeat("some ", 300) + address.Grouped() + " then"
		if got := read(text).args; len(got) != 302 || got[300] != address.String() {
			t.Errorf("%s is not found behind other words", address)
		}
	}
	if n := len(long.String()); n != longestAddress {
		t.Errorf("the longest address has %d digits", n)
	}
	for _, word := range []string{"some", "some of", "a"} {
		text := strings.Repeat(word+" ", longestLine/(len(word)+1))
		words := len(strings.Fields(text))
		if got := read(text).args; len(got) != words {
			t.Errorf("%q: %d words of %d", word, len(got), words)
		}
		if n := int(testing.AllocsPerRun(3, func() { read(text) })); n > 20*words {
			t.Errorf("%q: %d allocations for %d words", word, n, words)
		}
	}
}
