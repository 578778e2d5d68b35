package terminal

import (
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/wallet"
)

// TestAnAccountIsUnfrozenWithAKeyFile: the text is composed here, and is not the one that connects a wallet.
func TestAnAccountIsUnfrozenWithAKeyFile(t *testing.T) {
	d := newDesk(t)
	if err := d.follows("u=secret", "no"); err == nil || len(d.said) > 0 {
		t.Fatalf("without a yes: %v, %v", err, d.said)
	}
	if err := d.follows("u=secret", "yes"); err != nil {
		t.Fatal(err)
	}
	d.shows("Unfreeze an account", addressOf(d.key).String(), "id 700100", "Unfrozen")
	if len(d.said) != 1 || d.said[0]["token"] != "secret" || d.said[0]["address"] != addressOf(d.key).String() {
		t.Fatalf("handed in %v", d.said)
	}
	signature, err := wallet.ParseSignature(d.said[0]["signature"])
	if err != nil {
		t.Fatal(err)
	}
	issued := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	host := strings.TrimPrefix(d.URL, "http://")
	of := func(compose proofText) bool {
		text := compose(host, d.URL, addressOf(d.key), "Telegram account 700100", "localnet", "aB3dE5gH7jK9mN1p", issued, issued.Add(10*time.Minute))
		return chain.VerifySignature([]byte(text), addressOf(d.key), signature)
	}
	if !of(wallet.UnfreezeText) || of(wallet.SignInText) {
		t.Error("another text was signed")
	}
	d.refuse = "/w/unfreeze"
	if err := d.follows("u=secret", "yes"); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("refused: %v", err)
	}
}
