package terminal

import (
	"strings"
	"testing"
	"time"

	"purser/market"
	"purser/wallet"
)

// revokes makes the desk offer a revocation of a token account's delegate. Its reference is another one each time.
func (d *desk) revokes(account, program wallet.Address) {
	next := d.pay.Reference
	next[0]++
	d.pay = wallet.Transaction{Kind: wallet.Revoke, From: addressOf(d.key), To: addressOf(d.key), Token: wallet.SOL, Reference: next,
		Terms: wallet.RevokeTerms{Account: account, Token: wallet.Token{Symbol: "GOLD", Mint: wallet.Address{3}, Program: program}, Delegate: wallet.Address{4}, Limit: 5}.Terms()}
}

// TestARevocationIsShownAndSigned: the token only where the account proves it, and what the server says of it nowhere.
func TestARevocationIsShownAndSigned(t *testing.T) {
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	usdc, _ := tokens.BySymbol("USDC")
	fee, _ := tokens.BySymbol("FEE")
	own := func(token wallet.Token) wallet.Address {
		return wallet.AssociatedAccount(addressOf(newDesk(t).key), token.Mint, token.Program)
	}
	const unknown = "from a token account; which token it holds cannot be told"
	for name, c := range map[string]struct {
		account, program wallet.Address
		shows            string
	}{
		"a listed token":               {own(usdc), wallet.TokenProgram, "your USDC (mint " + usdc.Mint.String() + ")"},
		"a listed token of Token-2022": {own(fee), wallet.Token2022Program, "your FEE (mint " + fee.Mint.String() + ")"},
		"another account":              {wallet.Address{0x51}, wallet.TokenProgram, unknown},
		"somebody else's account":      {wallet.AssociatedAccount(wallet.Address{9}, usdc.Mint, usdc.Program), wallet.TokenProgram, unknown},
		"the other program":            {own(usdc), wallet.Token2022Program, unknown},
	} {
		d := newDesk(t)
		d.revokes(c.account, c.program)
		if err := d.follows("s=secret", "yes"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d.shows("Revoke       the right of others to spend "+c.shows, "Account      "+c.account.String(), c.account.Grouped(), "Network fee  0.000005 SOL")
		for _, word := range []string{"GOLD", "Amount", "To  "} {
			if strings.Contains(d.out.String(), word) {
				t.Errorf("%s: it shows %q:\n%s", name, word, d.out.String())
			}
		}
		if len(d.said) != 1 || d.said[0]["signature"] == "" {
			t.Errorf("%s: handed in %v", name, d.said)
		}
		// To take it back again costs nothing but the fee: no warning of a second payment. The very same transaction is warned of.
		first := d.pay
		d.now = d.now.Add(time.Minute)
		d.revokes(c.account, c.program)
		if err := d.follows("s=second", "no"); err != ErrDeclined || strings.Contains(d.out.String(), "the same amount to the same recipient") {
			t.Errorf("%s, again: %v:\n%s", name, err, d.out.String())
		}
		d.pay = first
		if err := d.follows("s=third", "no"); err != ErrDeclined || !strings.Contains(d.out.String(), "you signed this transaction on") {
			t.Errorf("%s, the same: %v:\n%s", name, err, d.out.String())
		}
	}
}
