package chat_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// staked is a chain on which a wallet has the given stakes.
type staked struct {
	handlers.StakeChain
	all []wallet.StakeAccount
}

func (s staked) StakeAccounts(context.Context, wallet.Address) ([]wallet.StakeAccount, error) {
	return slices.Clone(s.all), nil
}

// TestStakesHavePages: a wallet's own come first, with their buttons, and those of others behind them, without. What is behind a
// list's name is a page or nothing.
func TestStakesHavePages(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	alice, other := r.people["alice"].Address(), r.Stranger()
	validators, err := r.Stakes.Validators(r.Context())
	r.Must(err)
	var all []wallet.StakeAccount
	for i := range 23 {
		a := wallet.StakeAccount{Address: wallet.Address{9, byte(i)}, Staker: alice, Withdrawer: alice, Voter: validators[0].Vote,
			Lamports: uint64(i+1)*sol + 5, Stake: uint64(i+1) * sol, Deactivated: wallet.NeverEpoch}
		if i >= 12 {
			a.Withdrawer = other
		}
		all = append(all, a)
	}
	r.Stakes.Chain = staked{r.Stakes.Chain, all}
	said := func(text string) string { return r.asked(func() { r.says("alice", text) }) }
	shows := func(name, got string, first, last int, parts ...string) {
		t.Helper()
		for n := range 26 {
			if has := strings.Contains(got, fmt.Sprintf("| %d. ", n)); has != (n >= first && n <= last) {
				t.Errorf("%s: number %d is there: %v\n%s", name, n, has, got)
			}
		}
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s lacks %q:\n%s", name, part, got)
			}
		}
	}
	one := said("/stake")
	shows("the first page", one, 1, 10, "Your stakes: 78 SOL", "page 1 of 3", "Next")
	if strings.Contains(one, "Somebody else") || strings.Count(one, "[Undelegate") != 10 || strings.Contains(one, "Previous") {
		t.Errorf("the first page: %s", one)
	}
	two := r.asked(func() { r.presses("alice", "Next ▶", "alice") })
	shows("the second page", two, 11, 20, "Your stakes: 78 SOL", "page 2 of 3", "Previous", "Next")
	if strings.Count(two, "Someone else also controls this stake") != 8 || strings.Count(two, "[Undelegate") != 2 {
		t.Errorf("the second page: %s", two)
	}
	shows("the last page", said("/stake list 3"), 21, 23, "page 3 of 3", "Previous")
	shows("a page behind it", said("/stake positions 99"), 21, 23, "page 3 of 3")
	for _, text := range []string{"/stake list x", "/stake list 0", "/stake list -1", "/stake list 1 2", "/stake validators foo", "/stake validators 1 2", "/stake positions 99999999999999999999"} {
		if got := said(text); !strings.Contains(got, "stakes 2 SOL with a validator") {
			t.Errorf("%s is answered %q", text, got)
		}
	}
	vote := validators[0].Vote.String()
	if got := said("/stake delegate " + vote + " " + vote); !strings.Contains(got, "can't read that") {
		t.Errorf("two validators: %q", got)
	}
	for text, want := range map[string]string{"/stake list 2": "page 2 of 3", "/stake positions": "page 1 of 3", "/stake validators 1": "Validators", "/stake validators": "Validators"} {
		if got, err := r.byApp("alice", text); err != nil || !strings.Contains(got, want) {
			t.Errorf("for an app %s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"/stake list x", "/stake validators x", "/stake rewards 2"} {
		if got, err := r.byApp("alice", text); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("for an app %s is %q, %v", text, got, err)
		}
	}
}

// TestUndelegatingEverythingAsksWhichStake where one transaction cannot do it: each stake that can be undelegated has a button for
// it alone. A program gets the refusal, which says how to name one.
func TestUndelegatingEverythingAsksWhichStake(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	alice := r.people["alice"].Address()
	validators, err := r.Stakes.Validators(r.Context())
	r.Must(err)
	var all []wallet.StakeAccount
	for i := range 14 {
		a := wallet.StakeAccount{Address: wallet.Address{9, byte(i)}, Staker: alice, Withdrawer: alice, Voter: validators[i%2].Vote,
			Lamports: uint64(20-i)*sol + 5, Stake: uint64(20-i) * sol, Deactivated: wallet.NeverEpoch}
		switch i {
		case 0: // of somebody else too
			a.Withdrawer = r.Stranger()
		case 1: // cooled down
			a.Activated, a.Deactivated = 0, 0
		}
		all = append(all, a)
	}
	r.Stakes.Chain = staked{r.Stakes.Chain, all}
	for _, text := range []string{"/stake undelegate max", "/unstake"} {
		got := r.asked(func() { r.says("alice", text) })
		for _, part := range []string{"Which stake do you want to undelegate?", "1. <b>18 SOL</b>", "2. <b>17 SOL</b> with", "10. <b>9 SOL</b>",
			"And 2 more", "/stake undelegate 2", "[Your stakes]"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s lacks %q:\n%s", text, part, got)
			}
		}
		if strings.Count(got, "[Undelegate") != 10 || strings.Contains(got, "[Withdraw") || strings.Contains(got, "19 SOL") || strings.Contains(got, "20 SOL") {
			t.Errorf("%s is answered %s", text, got)
		}
	}
	b, _ := r.button("alice", "Undelegate 2")
	var stored store.Button
	r.View(func(tx store.Tx) (err error) { stored, err = tx.Button(b.Data); return err })
	if want := "run:/stake undelegate max " + all[3].Address.String(); stored.Action != want {
		t.Errorf("the second button is %q, want %q", stored.Action, want)
	}
	if got, err := r.byApp("alice", "/stake undelegate max"); wallet.ReasonOf(err).Key != "stakes.several" {
		t.Errorf("for an app it is %q, %v", got, err)
	}
}
