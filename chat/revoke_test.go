package chat_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/chat"
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
	if card := said(); !strings.Contains(card, "Revoke the approval for your USDC?") || !strings.Contains(card, wallet.Grouped(account.String())) {
		t.Fatalf("asked is %s", card)
	}
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	id := r.newest("alice").ID
	if done := r.Settled(id); done.Status != wallet.Confirmed {
		t.Fatalf("it ended as %s", done.Status)
	}
	r.settle()
	if ended := said(); !strings.Contains(ended, "✅ <b>Approval revoked: USDC</b>") {
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
	if list := said(); !strings.Contains(list, "Approval revoked: USDC") {
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
	if said := r.asked(func() { r.presses("alice", "Wallet …"+second.Address().Tail(), "alice") }); !strings.Contains(said, "Any amount of <b>USDC</b>") || !strings.Contains(said, "[Revoke 1]") || !strings.Contains(said, "[Wallet …alice]") {
		t.Errorf("of the other wallet is said %s", said)
	}
	r.seen = nil
	r.presses("alice", "Revoke 1", "alice")
	if newest := r.newest("alice"); newest.From != second.Address() || newest.Kind != wallet.Revoke {
		t.Errorf("proposed is %+v", newest)
	}
	if said := r.asked(func() { r.says("alice", "/revoke "+r.people["bob"].Address().String()) }); !strings.Contains(said, "There is no token account at this address.") {
		t.Errorf("of somebody else's wallet is said %s", said)
	}
}

// TestAFrozenAccountShowsWhoCanSpend, with what to do, and proposes nothing: by no word, by no button from before, and not if the freeze
// arrives while the answer is made.
func TestAFrozenAccountShowsWhoCanSpend(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	alice := r.people["alice"]
	r.FundToken(alice.Address(), "USDC", 5_000_000)
	account := r.Approve(alice.Person, r.TokenOf("USDC"), r.people["bob"].Address(), 5)
	r.says("alice", "/revoke")
	old, message := r.button("alice", "Revoke 1")
	prepared := r.input("alice")
	prepared.Text = "/revoke " + account.String()
	turn, err := r.chat.Handle(r.Context(), prepared)
	r.Must(err)
	r.says("alice", "/freeze")
	tap := r.input("alice")
	tap.MessageID, tap.Tap = message, &chat.Tap{CallbackID: "cb", Data: old.Data}
	for what, do := range map[string]func(){
		"the account":         func() { r.says("alice", "/revoke "+account.String()) },
		"a button of before":  func() { r.does(tap) },
		"an answer of before": func() { r.seen = nil; r.Must(r.Update(turn.Commit)); r.settle() },
	} {
		r.seen = nil
		do()
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "Your account is frozen") || !strings.Contains(said, "[Unfreeze]") {
			t.Errorf("%s: %s", what, said)
		}
		r.View(func(tx store.Tx) error {
			if all, err := tx.TransactionsOf(alice.User.ID, store.Page{Limit: 10}); len(all) > 0 || err != nil {
				t.Errorf("%s: proposed are %v, %v", what, all, err)
			}
			return nil
		})
	}
	for _, command := range []string{"/revoke", "/revoke " + alice.Address().String()} {
		if said := r.asked(func() { r.says("alice", command) }); !strings.Contains(said, "<code>$bob</code>") || strings.Contains(said, "[Revoke") ||
			!strings.Contains(said, "Freezing your account doesn't stop them.") || !strings.Contains(said, "[Unfreeze]") {
			t.Errorf("%s: %s", command, said)
		}
	}
	r.says("alice", "/unfreeze")
	r.unfreezes("alice", alice.Key)
	r.seen = nil
	r.does(tap)
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Revoke the approval for your USDC?") {
		t.Errorf("unfrozen: %s", said)
	}
}

// blind is a chain that cannot say who may spend. It fails at once, and notes how long it was given.
type blind struct {
	handlers.RevokeChain
	of  wallet.Address // zero: of all
	err error

	mu       sync.Mutex // wallets are asked at the same time
	patience time.Duration
}

func (b *blind) TokenDelegates(ctx context.Context, owner wallet.Address) ([]wallet.TokenDelegate, error) {
	if deadline, ok := ctx.Deadline(); ok {
		b.mu.Lock()
		b.patience = max(b.patience, time.Until(deadline))
		b.mu.Unlock()
	}
	if b.of.IsZero() || b.of == owner {
		return nil, b.err
	}
	return b.RevokeChain.TokenDelegates(ctx, owner)
}

// TestSecurityCountsWhoCanSpend over all wallets, each address once, and without the person's own. A node that does not answer costs a moment
// and that line alone.
func TestSecurityCountsWhoCanSpend(t *testing.T) {
	r := newHarness(t)
	said := func() string {
		r.seen = nil
		r.says("alice", "/security")
		return strings.Join(r.seen, "")
	}
	r.says("alice", "/start")
	if card := said(); strings.Contains(card, "without your signature") || strings.Contains(card, "[Who can spend]") || !strings.Contains(card, "Wallets: 0") {
		t.Errorf("without a wallet: %s", card)
	}
	r.rich("alice", sol)
	alice := r.people["alice"]
	if card := said(); !strings.Contains(card, "| Other addresses that can spend your tokens without your signature: 0\n") || !strings.Contains(card, "[Log] [Limits] [Who can spend]") {
		t.Errorf("nobody: %s", card)
	}
	second := &world.Person{User: alice.User, TelegramID: alice.TelegramID, Key: r.NewKey()}
	r.Connect(second)
	r.Fund(second.Address(), sol)
	for _, p := range []*world.Person{alice.Person, second} {
		r.FundToken(p.Address(), "USDC", 5_000_000)
		r.FundToken(p.Address(), "FEE", 5_000_000)
		r.Approve(p, r.TokenOf("USDC"), r.people["bob"].Address(), 5)
	}
	r.Approve(second, r.TokenOf("FEE"), r.people["carol"].Address(), 5)
	r.Approve(alice.Person, r.TokenOf("FEE"), second.Address(), 5)
	count := "⚠️ Other addresses that can spend your tokens without your signature: 2\n"
	if card := said(); !strings.Contains(card, count) {
		t.Errorf("two: %s", card)
	}
	r.presses("alice", "Who can spend", "alice")
	if list := strings.Join(r.seen, ""); !strings.Contains(list, "<b>Others can spend these tokens</b>") {
		t.Errorf("the button shows %s", list)
	}
	r.says("alice", "/freeze")
	if card := said(); !strings.Contains(card, count) {
		t.Errorf("while frozen: %s", card)
	}
	real := r.Revokes.Chain
	for what, of := range map[string]wallet.Address{"of all": {}, "of one wallet": second.Address()} {
		dead := &blind{RevokeChain: real, of: of, err: wallet.RefuseFor(wallet.NetworkError, wallet.Because("network.down"))}
		r.Revokes.Chain = dead
		card := said()
		if !strings.Contains(card, "I couldn't look just now. Send /revoke to try again") || strings.Contains(card, "without your signature") || !strings.Contains(card, "Wallets: 2") || !strings.Contains(card, "[Wallets] [Apps] [Keys]") {
			t.Errorf("without a node, %s: %s", what, card)
		}
		if dead.patience <= 0 || dead.patience > 5*time.Second {
			t.Errorf("without a node, %s, it waits for %v", what, dead.patience)
		}
	}
	// Whatever else is wrong is not taken for a node that does not answer.
	r.Revokes.Chain = &blind{RevokeChain: real, err: errors.New("broken")}
	in := r.input("alice")
	in.Text = "/security"
	if _, err := r.chat.Handle(r.Context(), in); err == nil {
		t.Error("an error of another kind is hidden")
	}
}

// TestSecurityWithoutALookupLeft: who has asked too often has the card all the same, and is then told at the next command that needs a node.
func TestSecurityWithoutALookupLeft(t *testing.T) {
	r := newHarness(t)
	o := r.options()
	o.Lookups = 2
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	r.rich("alice", sol)
	for range 2 {
		if card := r.asked(func() { r.says("alice", "/security") }); !strings.Contains(card, "without your signature: 0") {
			t.Errorf("with a lookup left: %s", card)
		}
	}
	if card := r.asked(func() { r.says("alice", "/security") }); !strings.Contains(card, "I couldn't look just now.") || !strings.Contains(card, "Wallets: 1") {
		t.Errorf("without one: %s", card)
	}
	if said := r.asked(func() { r.says("alice", "/revoke") }); !strings.Contains(said, "seconds") {
		t.Errorf("/revoke then says %q", said)
	}
}

// TestManyWalletsAreCountedAsFarAsTheyAreRead.
func TestManyWalletsAreCountedAsFarAsTheyAreRead(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	alice := r.people["alice"]
	r.FundToken(alice.Address(), "USDC", 5_000_000)
	r.Approve(alice.Person, r.TokenOf("USDC"), r.people["bob"].Address(), 5)
	connects := func(n int) {
		r.Must(r.Update(func(tx store.Tx) error {
			for range n {
				if err := tx.PutWallet(wallet.Wallet{Address: r.Stranger(), Owner: alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()}); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	connects(handlers.MaxWalletsListed - 1)
	found, err := r.Revokes.Spenders(r.Context(), alice.Caller())
	if want := (handlers.Spenders{Wallets: handlers.MaxWalletsListed, Count: 1}); err != nil || found != want {
		t.Errorf("%+v, %v", found, err)
	}
	connects(1)
	if card := r.asked(func() { r.says("alice", "/security") }); !strings.Contains(card, "without your signature: at least 1\n") {
		t.Errorf("with one more: %s", card)
	}
}

// TestAPaymentToAnOwnWalletLeadsToItsDelegates: the button of the card lists those of the wallet that is paid.
func TestAPaymentToAnOwnWalletLeadsToItsDelegates(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	alice := r.people["alice"]
	second := &world.Person{User: alice.User, TelegramID: alice.TelegramID, Key: r.NewKey()}
	r.Connect(second)
	r.Fund(second.Address(), sol)
	for _, p := range []*world.Person{alice.Person, second} {
		r.FundToken(p.Address(), "USDC", 5_000_000)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Wallets.Use(tx, alice.User.ID, alice.Address().String())
		return err
	}))
	r.Approve(second, r.TokenOf("USDC"), r.people["bob"].Address(), 5)
	if card := r.asked(func() { r.says("alice", "/send 1 USDC "+second.Address().String()) }); !strings.Contains(card, "$bob can spend USDC from the wallet you are paying, without your signature.") {
		t.Errorf("the card says %s", card)
	}
	if list := r.asked(func() { r.presses("alice", "Revoke approval", "alice") }); !strings.Contains(list, "from <code>…"+second.Address().Tail()+"</code>") || !strings.Contains(list, "[Revoke 1]") {
		t.Errorf("listed is %s", list)
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
