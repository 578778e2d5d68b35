package terminal

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/wallet"
)

// stakingRules are the rules of what staking does, and of revocations, by kind.
func stakingRules() map[wallet.Kind]wallet.Rules {
	return map[wallet.Kind]wallet.Rules{wallet.Stake: wallet.StakeRules(), wallet.Unstake: wallet.UnstakeRules(), wallet.Withdraw: wallet.WithdrawRules(), wallet.Revoke: wallet.RevokeRules()}
}

// The accounts of these tests: a stake account, another one, and a validator's vote account.
var oldStake, otherStake, vote = wallet.Address{0x51}, wallet.Address{0x52}, wallet.Address{0x7e}

// stakes makes the desk offer a step of staking. Its reference is another one each time.
func (d *desk) stakes(kind wallet.Kind, lamports uint64, change func(*wallet.Transaction)) {
	next := d.pay.Reference
	next[0]++
	d.pay = wallet.Transaction{Kind: kind, From: addressOf(d.key), To: addressOf(d.key), Token: wallet.SOL, Amount: lamports, Reference: next}
	change(&d.pay)
}

func delegating(t *wallet.Transaction) { t.To, t.Rent = vote, 2_282_880 }
func all(t *wallet.Transaction)        { t.Terms = wallet.StakeTerms{Account: oldStake}.Terms() }
func part(t *wallet.Transaction) {
	t.Terms, t.Rent = wallet.StakeTerms{Account: oldStake, Merged: []wallet.Address{otherStake}, Split: true}.Terms(), 2_282_880
}

// readdress lets a step be about another stake account.
func readdress(t *wallet.Transaction, account wallet.Address) {
	terms := t.StakeTerms()
	terms.Account = account
	t.Terms = terms.Terms()
}

// TestAStepOfStakingIsShownAndSigned: validator, amounts, accounts and authorities as they are in the bytes.
func TestAStepOfStakingIsShownAndSigned(t *testing.T) {
	for name, c := range map[string]struct {
		kind     wallet.Kind
		lamports uint64
		change   func(*wallet.Transaction)
		shows    func(wallet.Transaction) []string
		not      []string
	}{
		"delegation": {wallet.Stake, 2_000_000_000, delegating, func(t wallet.Transaction) []string {
			return []string{"2.00228288 SOL go into the new stake account " + t.NewStakeAccount().String(), "Authorities  only this wallet can undelegate and withdraw it; no lockup",
				"Validator    " + vote.String() + " (the server says it calls itself Elm \ufffd\ufffd[2J)", vote.Grouped()}
		}, []string{"Undelegate", "Withdraw ", "Merge"}},
		"undelegation of all": {wallet.Unstake, 2_000_000_000, all, func(wallet.Transaction) []string {
			return []string{"Undelegate   " + oldStake.String() + " (all of this stake account)", oldStake.Grouped()}
		}, []string{"2 SOL", "Validator", "Authorities", "Merge"}},
		"undelegation of a part": {wallet.Unstake, 1_500_000_000, part, func(t wallet.Transaction) []string {
			created := t.NewStakeAccount()
			return []string{"Merge        " + otherStake.String() + " into " + oldStake.String(), "0.00228288 SOL go into the new stake account " + created.String(),
				"Undelegate   1.5 SOL of the stake account " + oldStake.String(), "Undelegate   " + created.String() + " (all of this stake account)"}
		}, []string{"Validator", "Authorities"}},
		"withdrawal": {wallet.Withdraw, 1_502_282_880, all, func(wallet.Transaction) []string {
			return []string{"Withdraw     1.50228288 SOL to this wallet", "From stake   " + oldStake.String(), oldStake.Grouped()}
		}, []string{"Validator", "Undelegate", "Into"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.stakes(c.kind, c.lamports, c.change)
			d.change = func(_ bool, o map[string]any) {
				o["terms"] = map[string]any{"schema": "stake/1", "validator_name": "Elm \u202e\x1b[2J"}
			}
			if err := d.follows("s=secret", "yes"); err != nil {
				t.Fatal(err)
			}
			d.shows(append(c.shows(d.pay), "Network fee  0.000005 SOL", "From         "+d.pay.From.String())...)
			for _, word := range c.not {
				if strings.Contains(d.out.String(), word) {
					t.Errorf("it shows %q:\n%s", word, d.out.String())
				}
			}
			message, err := chain.Codec{}.Build(d.pay, stakingRules()[c.kind].Actions(d.pay))
			if err != nil {
				t.Fatal(err)
			}
			if message, err = chain.WithBlockhash(message, [32]byte{5}); err != nil {
				t.Fatal(err)
			}
			signature, err := wallet.ParseSignature(d.said[0]["signature"])
			if err != nil || !chain.VerifySignature(message, d.pay.From, signature) {
				t.Errorf("handed in %v", d.said)
			}
		})
	}
}

// TestAStepOfStakingThatChangesIsNotSigned: not another validator or amount after the look, and no foreign authority ever.
func TestAStepOfStakingThatChangesIsNotSigned(t *testing.T) {
	d := newDesk(t)
	d.stakes(wallet.Stake, 2_000_000_000, delegating)
	offered := d.pay
	build := func(change func(*wallet.Transaction)) []byte {
		other := offered
		change(&other)
		message, err := chain.Codec{}.Build(other, wallet.StakeRules().Actions(other))
		if err != nil {
			t.Fatal(err)
		}
		if message, err = chain.WithBlockhash(message, [32]byte{5}); err != nil {
			t.Fatal(err)
		}
		return message
	}
	own := offered.From
	away := build(func(*wallet.Transaction) {})
	at := strings.LastIndex(string(away), string(own[:])) // the withdrawer in the data of Initialize
	away[at] ^= 1
	for name, c := range map[string]struct {
		message []byte
		first   bool // it is offered from the beginning
		says    string
	}{
		"another validator":   {build(func(t *wallet.Transaction) { t.To[3] ^= 1 }), false, "offered another transaction"},
		"another amount":      {build(func(t *wallet.Transaction) { t.Amount++ }), false, "offered another transaction"},
		"somebody withdraws":  {away, true, "it gives the stake to somebody else"},
		"somebody, afterward": {away, false, "it gives the stake to somebody else"},
	} {
		d.change = func(refreshed bool, o map[string]any) {
			if refreshed || c.first {
				o["message"] = base64.StdEncoding.EncodeToString(c.message)
			}
		}
		if err := d.follows("s=secret", "yes"); err == nil || !strings.Contains(err.Error(), c.says) || len(d.said) > 0 {
			t.Errorf("%s: %v, handed in %v", name, err, d.said)
		}
	}
}

// TestTheSameStepOfStakingIsWarnedOf: whoever stakes the same amount with the same validator again within a day is told,
// although the stake account is a new one each time.
func TestTheSameStepOfStakingIsWarnedOf(t *testing.T) {
	const warning = "the same amount to the same recipient on"
	for name, c := range map[string]struct {
		kind   wallet.Kind
		change func(*wallet.Transaction)
		others []func(*wallet.Transaction)
	}{
		"delegation":             {wallet.Stake, delegating, []func(*wallet.Transaction){func(t *wallet.Transaction) { t.Amount++ }, func(t *wallet.Transaction) { t.To[3] ^= 1 }}},
		"undelegation of all":    {wallet.Unstake, all, []func(*wallet.Transaction){func(t *wallet.Transaction) { readdress(t, otherStake) }, part}},
		"undelegation of a part": {wallet.Unstake, part, []func(*wallet.Transaction){func(t *wallet.Transaction) { t.Amount++ }, func(t *wallet.Transaction) { readdress(t, wallet.Address{0x53}) }}},
		"withdrawal":             {wallet.Withdraw, all, []func(*wallet.Transaction){func(t *wallet.Transaction) { t.Amount++ }, func(t *wallet.Transaction) { readdress(t, otherStake) }}},
	} {
		d := newDesk(t)
		d.stakes(c.kind, 2_000_000_000, c.change)
		if err := d.follows("s=first", "yes"); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Minute)
		d.stakes(c.kind, 2_000_000_000, c.change)
		if err := d.follows("s=second", "no"); err != ErrDeclined || !strings.Contains(d.out.String(), warning) {
			t.Errorf("%s, alike: %v\n%s", name, err, d.out.String())
		}
		for i, other := range c.others {
			d.stakes(c.kind, 2_000_000_000, func(t *wallet.Transaction) {
				c.change(t)
				other(t)
			})
			if err := d.follows("s=third", "no"); err != ErrDeclined || strings.Contains(d.out.String(), warning) {
				t.Errorf("%s, another one %d: %v\n%s", name, i, err, d.out.String())
			}
		}
	}
}
