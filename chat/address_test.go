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
