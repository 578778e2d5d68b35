package chat

import (
	"strings"
	"testing"

	"github.com/mr-tron/base58"

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
		text := base58.Encode(address[:])
		groups := strings.Join(groupsOf(text), " ")
		if strings.ReplaceAll(groups, " ", "") != text {
			t.Fatalf("%s in groups: %s", text, groups)
		}
		for i, group := range groupsOf(text) {
			if len(group) != 4 && (i != (len(text)-1)/4 || len(group) == 0 || len(group) > 4) {
				t.Errorf("%s: group %d is %q", text, i, group)
			}
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
