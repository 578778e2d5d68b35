package wallet_test

import (
	"strings"
	"testing"

	"purser/wallet"
)

func TestPurposes(t *testing.T) {
	if got, err := wallet.ParsePurpose("  Takes\n orders "); err != nil || got != "Takes orders" {
		t.Errorf("%q, %v", got, err)
	}
	for _, good := range []string{"Une caisse", "売店のレジ", "Касса кафе"} {
		if got, err := wallet.ParsePurpose(good); err != nil || got != good {
			t.Errorf("%q: %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", " \n", "Hm", "a b c", "Une caisse"[:9], "売店", strings.Repeat("x", wallet.MaxAppPurpose+1), "a\u202eb", "a\u200bb", "\xff"} {
		if _, err := wallet.ParsePurpose(bad); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
