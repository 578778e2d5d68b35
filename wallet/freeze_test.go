package wallet

import (
	"strings"
	"testing"
	"time"
)

// TestTheTextsOfConnectingAndUnfreezingDiffer: whoever signed one has not signed the other.
func TestTheTextsOfConnectingAndUnfreezingDiffer(t *testing.T) {
	at := time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC)
	connect := SignInText("wallet.example", "https://wallet.example", Address{1}, TelegramAccount(7), "mainnet", "aB3dE5gH7jK9mN1p", at, at.Add(UnfreezeWindow))
	unfreeze := UnfreezeText("wallet.example", "https://wallet.example", Address{1}, TelegramAccount(7), "mainnet", "aB3dE5gH7jK9mN1p", at, at.Add(UnfreezeWindow))
	want := strings.Replace(connect, "Connect this wallet to the Telegram account 7.", "Unfreeze the purser account of the Telegram account 7.", 1)
	if connect == unfreeze || unfreeze != want {
		t.Errorf("the text is\n%s", unfreeze)
	}
	for _, part := range []string{"wallet.example wants you to sign in", Address{1}.String(), "Nonce: aB3dE5gH7jK9mN1p", "Issued At: 2026-11-24T20:00:00Z", "Expiration Time: 2026-11-24T20:10:00Z", "Chain ID: mainnet"} {
		if !strings.Contains(unfreeze, part) {
			t.Errorf("the text lacks %q", part)
		}
	}
}

func TestAFrozenAccountIsRefusedForEachUseWithItsOwnReason(t *testing.T) {
	seen := map[string]bool{}
	for _, use := range AccountUses() {
		if err := (User{}).Frozen(use); err != nil {
			t.Errorf("%s of an account that is not frozen: %v", use, err)
		}
		err := User{Freeze: &Freeze{}}.Frozen(use)
		key := ReasonOf(err).Key
		if CodeOf(err) != PolicyViolation || seen[key] {
			t.Errorf("%s: %v", use, err)
		}
		seen[key] = true
	}
	if err := (User{Freeze: &Freeze{}}).Frozen("something new"); CodeOf(err) != PolicyViolation {
		t.Errorf("a use that is not listed: %v", err)
	}
}

func TestOnlyWalletsConnectedBeforeAFreezeEndIt(t *testing.T) {
	at := time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]bool{-time.Hour: true, 0: true, time.Nanosecond: false, time.Hour: false} {
		if got := (Freeze{At: at}).Unlocks(Wallet{ConnectedAt: at.Add(after)}); got != want {
			t.Errorf("a wallet connected %s after it: %v", after, got)
		}
	}
}
