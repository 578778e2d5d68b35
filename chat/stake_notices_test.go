package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"purser/store"
	"purser/wallet"
)

// TestNewsOfStakes: each part can be turned off, long lists are cut, and names of validators are no markup.
func TestNewsOfStakes(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	at := r.people["alice"].Address()
	n := 0
	hears := func(data wallet.StakesChangedData) string {
		t.Helper()
		data.WalletAddress = at
		n++
		r.seen = nil
		r.Must(r.Update(func(tx store.Tx) error {
			e, err := wallet.NewEvent(fmt.Sprint("evt_stakes_", n), wallet.StakesChanged, r.Now(), r.userOf("alice"), data)
			r.Must(err)
			return store.NotifyOwner(tx, e)
		}))
		r.settle()
		return strings.Join(r.seen, "")
	}
	wants := func(names ...string) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error {
			u, err := tx.User(r.userOf("alice"))
			r.Must(err)
			u.Notifications = &wallet.Notifications{Enabled: true, Events: names}
			return tx.PutUser(u)
		}))
	}
	all := wallet.StakesChangedData{Active: []wallet.StakeNews{{Lamports: 2 * sol, Voter: wallet.Address{7}, ValidatorName: "<b>Elm"}, {Lamports: 3 * sol, Voter: wallet.Address{8}}},
		Inactive: []wallet.StakeNews{{Lamports: sol + 5, Voter: wallet.Address{7}}}, Rewards: []wallet.EpochRewards{{Epoch: 7, Lamports: 5}, {Epoch: 8, Lamports: 6}}}
	parts := map[string][]string{
		"stake.status":   {"2 SOL", "with <code>&lt;b&gt;Elm</code>", "3 SOL", "it earns rewards from now on"},
		"stake.cooldown": {"1.000000005 SOL", "you can withdraw it"},
		"stake.reward":   {"Rewards of epoch 7: <b>0.000000005 SOL</b>", "Rewards of epoch 8: <b>0.000000006 SOL</b>"},
	}
	for _, setting := range [][]string{nil, {"stake.*"}, {"*"}, {"stake.status"}, {"stake.cooldown"}, {"stake.reward"}, {"stake.reward", "stake.status"}} {
		if setting != nil {
			wants(setting...)
		}
		got := hears(all)
		for name, of := range parts {
			wanted := setting == nil
			for _, s := range setting {
				wanted = wanted || s == name || s == "*" || s == "stake.*"
			}
			for _, part := range of {
				if strings.Contains(got, part) != wanted {
					t.Errorf("with %v: %q is there: %v\n%s", setting, part, !wanted, got)
				}
			}
		}
	}
	wants("transaction.received")
	if got := hears(all); got != "" {
		t.Errorf("who wants none gets %s", got)
	}
	wants("*")
	many := wallet.StakesChangedData{}
	for i := range 13 {
		many.Active = append(many.Active, wallet.StakeNews{Lamports: uint64(100+i) * sol})
	}
	if got := hears(many); !strings.Contains(got, "109 SOL") || strings.Contains(got, "110 SOL") || !strings.Contains(got, "And 3 more.") {
		t.Errorf("thirteen: %s", got)
	}
}

// TestNewsOfValidators: every kind of change has its sentence, the category turns all of them off, and names of validators are no markup.
func TestNewsOfValidators(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	n := 0
	hears := func(changes ...wallet.ValidatorChange) string {
		t.Helper()
		n++
		r.seen = nil
		r.Must(r.Update(func(tx store.Tx) error {
			e, err := wallet.NewEvent(fmt.Sprint("evt_validators_", n), wallet.ValidatorsChanged, r.Now(), r.userOf("alice"),
				wallet.ValidatorsChangedData{WalletAddress: r.people["alice"].Address(), Changes: changes})
			r.Must(err)
			return store.NotifyOwner(tx, e)
		}))
		r.settle()
		return strings.Join(r.seen, "")
	}
	elm := wallet.Address{7}
	all := []wallet.ValidatorChange{
		{Kind: wallet.CommissionRaised, Vote: elm, Name: "<b>Elm", From: 250, To: 1000},
		{Kind: wallet.ValidatorSilent, Vote: elm, Since: r.Now()},
		{Kind: wallet.ValidatorVotes, Vote: elm},
		{Kind: wallet.ValidatorBehind, Vote: elm, Epoch: 7, Share: 71},
		{Kind: wallet.ValidatorCaughtUp, Vote: elm, Epoch: 8},
		{Kind: "of a later version", Vote: elm},
	}
	got := hears(all...)
	for _, part := range []string{"&lt;b&gt;Elm", "raised its commission</b> from 2.5% to 10%", "has stopped voting</b>, since 21 November 2026, 12:00 UTC", "votes again",
		"in epoch 7 it earned 71%", "in epoch 8 it earned about as much", "[Your stakes] [Validators]"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	if strings.Contains(got, "later version") {
		t.Errorf("an unknown kind: %s", got)
	}
	if got := hears(all[5]); got != "" {
		t.Errorf("of an unknown kind alone: %s", got)
	}
	for range 3 {
		all = append(all, all[:5]...)
	}
	if got := hears(all...); !strings.Contains(got, "more.") || strings.Count(got, "⚠️")+strings.Count(got, "✅") > 10 {
		t.Errorf("many: %s", got)
	}
	r.happen("alice: /notifications")
	r.happen("alice taps ☑ Validator problems")
	if got := hears(all[0]); got != "" {
		t.Errorf("who wants none gets %s", got)
	}
}
