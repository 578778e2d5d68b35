package chain

import (
	"slices"
	"testing"

	"purser/wallet"
)

// stakeSteps are a delegation, an undelegation of a part out of merged stakes, and a withdrawal out of merged stakes, each
// with its rules.
func stakeSteps() map[wallet.Kind]struct {
	wallet.Transaction
	wallet.Rules
} {
	me := testKey(1).address()
	common := wallet.Transaction{From: me, To: me, Token: wallet.SOL, Amount: 2_000_000_000, Rent: 2_282_880, Reference: wallet.Address{0x5e}}
	delegation, part, withdrawal := common, common, common
	delegation.Kind, delegation.To = wallet.Stake, wallet.Address{0x7e}
	part.Kind, part.Terms = wallet.Unstake, wallet.StakeTerms{Account: wallet.Address{0x51}, Merged: []wallet.Address{{0x52}, {0x53}}, Split: true}.Terms()
	withdrawal.Kind, withdrawal.Terms = wallet.Withdraw, wallet.StakeTerms{Account: wallet.Address{0x51}, Merged: []wallet.Address{{0x52}}}.Terms()
	return map[wallet.Kind]struct {
		wallet.Transaction
		wallet.Rules
	}{
		wallet.Stake: {delegation, wallet.StakeRules()}, wallet.Unstake: {part, wallet.UnstakeRules()}, wallet.Withdraw: {withdrawal, wallet.WithdrawRules()},
	}
}

// TestAStepOfStakingWritesWhatItsRulesSay: the accounts that can change are those that the kind names, and no others, and
// nobody but the wallet signs. Programs take more than that, and a device does not count it, so only this test sees it.
func TestAStepOfStakingWritesWhatItsRulesSay(t *testing.T) {
	for kind, step := range stakeSteps() {
		raw, err := Codec{}.Build(step.Transaction, step.Actions(step.Transaction))
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		m, err := structure(raw)
		if err != nil {
			t.Fatal(err)
		}
		var got []wallet.Address
		for i, key := range m.keys {
			if m.writable(byte(i)) {
				got = append(got, key)
			}
		}
		want := step.Writes(step.Transaction)
		for _, list := range [][]wallet.Address{got, want} {
			slices.SortFunc(list, func(a, b wallet.Address) int { return slices.Compare(a[:], b[:]) })
		}
		if !slices.Equal(got, want) || m.signers != 1 {
			t.Errorf("%s with %d signers can change\n%v, its rules say\n%v", kind, m.signers, got, want)
		}
	}
}

// TestAStepOfStakingIsRecognisedByAllThatItIsAbout: another one of the same wallet is not taken for it.
func TestAStepOfStakingIsRecognisedByAllThatItIsAbout(t *testing.T) {
	other := wallet.Address{9}
	for kind, changes := range map[wallet.Kind]map[string]func(*wallet.Action){
		wallet.Stake: {
			"account": func(a *wallet.Action) { a.Account = other }, "validator": func(a *wallet.Action) { a.To = other },
			"reference": func(a *wallet.Action) { a.Reference = other },
		},
		wallet.Unstake: {
			"account": func(a *wallet.Action) { a.Account = other }, "reference": func(a *wallet.Action) { a.Reference = other },
		},
		wallet.Withdraw: {
			"account": func(a *wallet.Action) { a.Account = other }, "recipient": func(a *wallet.Action) { a.To = other },
			"amount": func(a *wallet.Action) { a.Lamports++ }, "reference": func(a *wallet.Action) { a.Reference = other },
		},
	} {
		step := stakeSteps()[kind]
		raw, err := Codec{}.Build(step.Transaction, step.Actions(step.Transaction))
		if err != nil {
			t.Fatal(err)
		}
		m, err := structure(raw)
		if err != nil {
			t.Fatal(err)
		}
		changes["nothing"] = func(*wallet.Action) {}
		for name, change := range changes {
			actions := step.Actions(step.Transaction)
			change(&actions[len(actions)-1])
			found, err := Codec{}.recognises(m, wallet.TransactionQuery{From: step.From, Actions: actions})
			if found != (name == "nothing") || err != nil {
				t.Errorf("%s with another %s: %v, %v", kind, name, found, err)
			}
		}
	}
	// On chain stands whatever somebody signed elsewhere: short instructions of the program are nobody's step.
	step := stakeSteps()[wallet.Withdraw]
	for _, kind := range []uint32{stakeDelegate, stakeDeactivate, stakeWithdraw} {
		for accounts := range 3 {
			names := []Account{writable(step.StakeTerms().Account), signer(step.From)}[:accounts]
			raw, err := marshal(step.From, []Instruction{{wallet.StakeProgram, names, number(kind)}})
			if err != nil {
				t.Fatal(err)
			}
			m, err := structure(raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, intended := range []string{wallet.ActionDelegate, wallet.ActionDeactivate, wallet.ActionWithdrawStake} {
				found, err := Codec{}.recognises(m, wallet.TransactionQuery{From: step.From, Actions: []wallet.Action{{Type: intended, From: step.From, To: step.From,
					Account: step.StakeTerms().Account, Lamports: 5, Reference: step.Reference}}})
				if found || err != nil {
					t.Errorf("instruction %d with %d accounts is taken for %s: %v", kind, accounts, intended, err)
				}
			}
		}
	}
}
