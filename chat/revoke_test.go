package chat_test

import (
	"strings"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// happensToDelegates plays "alice approves bob 25 USDC": a hostile app got her to sign that; "all USDC" is without a limit.
func (r *harness) happensToDelegates(who string, words []string) bool {
	r.Helper()
	if len(words) != 5 || words[1] != "approves" {
		return false
	}
	token, units := r.TokenOf(words[4]), wallet.Unlimited
	if words[3] != "all" {
		units = r.units(words[3], token.Decimals)
	}
	r.Approve(r.people[who].Person, token, r.people[words[2]].Address(), units)
	return true
}

// TestADelegateIsListedAndTakenBackFromTheChat, through everything: approved on chain, listed, Revoke tapped, confirmed, signed, landed.
// From then on the delegate can no longer spend, and the list is empty.
func TestADelegateIsListedAndTakenBackFromTheChat(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	alice, thief := r.people["alice"], r.Somebody(666, "Mallory")
	r.Fund(thief.Address(), sol)
	r.FundToken(alice.Address(), "USDC", 100_000_000)
	r.FundToken(thief.Address(), "USDC", 1)
	usdc := r.TokenOf("USDC")
	account := r.Approve(alice.Person, usdc, thief.Address(), 25_000_000)
	r.Must(r.Spend(thief.Key, account, usdc, 5_000_000))
	said := func() string {
		all := strings.Join(r.seen, "")
		r.seen = nil
		return all
	}
	said()
	r.says("alice", "/revoke")
	if list := said(); !strings.Contains(list, "Up to 20 <b>USDC</b>") || !strings.Contains(list, "<code>"+thief.Address().String()+"</code>") || !strings.Contains(list, "[Revoke 1]") {
		t.Fatalf("listed is %s", list)
	}
	r.presses("alice", "Revoke 1", "alice")
	if card := said(); !strings.Contains(card, "Revoke the right to spend your USDC?") || !strings.Contains(card, wallet.Grouped(account.String())) {
		t.Fatalf("asked is %s", card)
	}
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	id := r.newest("alice").ID
	if done := r.Settled(id); done.Status != wallet.Confirmed {
		t.Fatalf("it ended as %s", done.Status)
	}
	r.settle()
	if ended := said(); !strings.Contains(ended, "✅ <b>Revoked: the right to spend USDC</b>") {
		t.Errorf("at the end is said %s", ended)
	}
	if err := r.Spend(thief.Key, account, usdc, 1); err == nil {
		t.Error("the thief still spends")
	}
	r.says("alice", "/revoke")
	if list := said(); !strings.Contains(list, "<b>Nobody else can spend your tokens</b>") || strings.Contains(list, "[") {
		t.Errorf("then listed is %s", list)
	}
	r.says("alice", "/wallet history")
	if list := said(); !strings.Contains(list, "Revoked: the right to spend USDC") {
		t.Errorf("the history says %s", list)
	}
}

// TestOtherWalletsHaveTheirOwnDelegates: those of the default wallet are listed, and the others are a tap away. What is somebody
// else's is not shown.
func TestOtherWalletsHaveTheirOwnDelegates(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	alice := r.people["alice"]
	second := &world.Person{User: alice.User, TelegramID: alice.TelegramID, Key: r.NewKey()}
	r.Connect(second)
	r.Fund(second.Address(), sol)
	r.FundToken(second.Address(), "USDC", 5_000_000)
	r.FundToken(r.people["bob"].Address(), "USDC", 5_000_000)
	r.Approve(second, r.TokenOf("USDC"), r.people["carol"].Address(), wallet.Unlimited)
	r.Approve(r.people["bob"].Person, r.TokenOf("USDC"), r.people["carol"].Address(), wallet.Unlimited)
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Wallets.Use(tx, alice.User.ID, alice.Address().String())
		return err
	}))
	r.says("alice", "/revoke")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Nobody else can spend") || !strings.Contains(said, "[Wallet …"+second.Address().Tail()+"]") || strings.Contains(said, "[Wallet …alice]") {
		t.Errorf("of the default wallet is said %s", said)
	}
	r.seen = nil
	r.presses("alice", "Wallet …"+second.Address().Tail(), "alice")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Any amount of <b>USDC</b>") || !strings.Contains(said, "[Revoke 1]") || !strings.Contains(said, "[Wallet …alice]") {
		t.Errorf("of the other wallet is said %s", said)
	}
	r.seen = nil
	r.presses("alice", "Revoke 1", "alice")
	if newest := r.newest("alice"); newest.From != second.Address() || newest.Kind != wallet.Revoke {
		t.Errorf("proposed is %+v", newest)
	}
	r.seen = nil
	r.says("alice", "/revoke "+r.people["bob"].Address().String())
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "There is no token account at this address.") {
		t.Errorf("of somebody else's wallet is said %s", said)
	}
}

// TestAppsMayNotTakeARightBack: neither see who has one, by any name of the command, and whatever the person allowed them.
func TestAppsMayNotTakeARightBack(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.FundToken(r.people["alice"].Address(), "USDC", 5_000_000)
	account := r.Approve(r.people["alice"].Person, r.TokenOf("USDC"), r.people["bob"].Address(), 5)
	for _, text := range []string{"/revoke", "/revoke " + account.String(), "/revoke nonsense"} {
		said, err := r.byApp("alice", text)
		if wallet.CodeOf(err) != wallet.PolicyViolation || wallet.ReasonOf(err).Key != "app_command.not_for_apps" || said != "" {
			t.Errorf("%s by an app: %q, %v", text, said, err)
		}
	}
	if said, err := r.byApp("alice", "/approvals"); err == nil {
		t.Errorf("by another name: %q", said)
	}
	r.View(func(tx store.Tx) error {
		open, err := handlers.OpenTransactions(tx, r.people["alice"].User.ID)
		if len(open) > 0 {
			t.Errorf("proposed are %+v", open)
		}
		return err
	})
}
