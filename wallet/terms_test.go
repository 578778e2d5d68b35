package wallet

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestTermsAreReadAsTheyWereWritten: one object for programs, which its kind reads back and no other kind takes for its own.
func TestTermsAreReadAsTheyWereWritten(t *testing.T) {
	want := StakeTerms{Account: Address{1}, Merged: []Address{{2}, {3}}, Split: true, ValidatorName: `"Elm" <&> é`,
		CooldownEnd: time.Unix(1_800_000_000, 5).UTC(), EpochEnd: time.Unix(1_700_000_000, 0).UTC(), EpochLength: 47 * time.Hour}
	stored, err := json.Marshal(Transaction{Kind: Unstake, Terms: want.Terms()})
	if err != nil || !strings.Contains(string(stored), `"terms":{"schema":"stake/1","account":"`) {
		t.Fatalf("%s, %v", stored, err)
	}
	var back Transaction
	if err := json.Unmarshal(stored, &back); err != nil || !reflect.DeepEqual(back.StakeTerms(), want) {
		t.Errorf("read: %+v, %v", back.StakeTerms(), err)
	}
	if terms := (StakeTerms{}).Terms(); terms != nil {
		t.Errorf("without terms they are %s", terms)
	}
	if raw, err := json.Marshal(struct{ Terms Terms }{}); err != nil || string(raw) != `{"Terms":null}` {
		t.Errorf("programs see %s, %v", raw, err)
	}
	if got := string(NewTerms("empty/1", struct{}{})); got != `{"schema":"empty/1"}` {
		t.Errorf("of no fields they are %s", got)
	}
	foreign := Transaction{Kind: Unstake, Terms: NewTerms("swap/1", StakeTerms{Account: Address{1}})}
	if got := foreign.StakeTerms(); !reflect.DeepEqual(got, StakeTerms{}) {
		t.Errorf("terms of another kind are read as %+v", got)
	}
}

// TestAKindRefusesTermsThatItWouldNotWrite: whatever is damaged, unknown, too large, or says another step.
func TestAKindRefusesTermsThatItWouldNotWrite(t *testing.T) {
	a, b := Address{1}, Address{2}
	account := `"account":"` + a.String() + `"`
	all := map[Kind]Rules{Send: SendRules(), Stake: StakeRules(), Unstake: UnstakeRules(), Withdraw: WithdrawRules()}
	good := map[Kind][]Terms{
		Send:     {nil},
		Stake:    {nil, StakeTerms{ValidatorName: "Elm"}.Terms()},
		Unstake:  {StakeTerms{Account: a}.Terms(), StakeTerms{Account: a, Merged: []Address{b}, Split: true}.Terms()},
		Withdraw: {StakeTerms{Account: a, Merged: []Address{b}}.Terms()},
	}
	bad := map[Kind][]Terms{
		Send:  {StakeTerms{Account: a}.Terms(), Terms("{}")},
		Stake: {StakeTerms{Account: a}.Terms(), StakeTerms{Merged: []Address{a}}.Terms(), StakeTerms{Split: true}.Terms(), StakeTerms{EpochLength: -1}.Terms()},
		Unstake: {nil, StakeTerms{Split: true}.Terms(), StakeTerms{Account: a, Merged: []Address{a}}.Terms(), StakeTerms{Account: a, Merged: []Address{{}}}.Terms(),
			StakeTerms{Account: a, Merged: []Address{b, b}}.Terms(), StakeTerms{Account: a, ValidatorName: strings.Repeat("x", MaxTerms)}.Terms(),
			Terms("{}"), Terms("[]"), Terms("{"), Terms(`{` + account + `}`), Terms(`{"schema":"stake/2",` + account + `}`), Terms(`{"schema":1,` + account + `}`),
			Terms(`{"schema":"stake/1",` + account + `,"new":1}`), Terms(`{"schema":"stake/1",` + account + `,"split":"yes"}`), Terms(`{"schema":"stake/1",` + account + `}{}`),
			Terms(`{"schema":"stake/1",` + account + `,` + account + `}`), Terms(`{"schema":"stake/1","Account":"` + a.String() + `"}`),
			Terms(`{` + account + `,"schema":"stake/1"}`), Terms(`{"schema":"stake/2","schema":"stake/1",` + account + `}`)},
		Withdraw: {nil, StakeTerms{Account: a, Split: true}.Terms()},
	}
	for kind, rules := range all {
		for _, terms := range good[kind] {
			if err := rules.Check(Transaction{Kind: kind, Terms: terms}); err != nil {
				t.Errorf("%s refuses %s: %v", kind, terms, err)
			}
		}
		for _, terms := range bad[kind] {
			if err := rules.Check(Transaction{Kind: kind, Terms: terms}); !errors.Is(err, ErrTerms) {
				t.Errorf("%s takes %.60s: %v", kind, terms, err)
			}
		}
	}
	large := Rules{Kind: "swap", CheckTerms: func(Transaction) error { return nil }}
	for size, fits := range map[int]bool{MaxTerms: true, MaxTerms + 1: false} {
		if err := large.Check(Transaction{Terms: Terms(fmt.Sprintf(`{"x":"%s"}`, strings.Repeat("x", size-8)))}); fits != (err == nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestARevocationRefusesTermsThatItWouldNotWrite: without a token account, a delegate or a token program, and any that pays.
func TestARevocationRefusesTermsThatItWouldNotWrite(t *testing.T) {
	good := RevokeTerms{Account: Address{1}, Token: Token{Mint: Address{2}, Decimals: 6, Program: Token2022Program}, Delegate: Address{3}, Limit: Unlimited}
	from := Address{9}
	rules := RevokeRules()
	check := func(change func(*RevokeTerms), amount uint64) error {
		terms := good
		change(&terms)
		return rules.Check(Transaction{Kind: Revoke, From: from, Amount: amount, Terms: terms.Terms()})
	}
	if err := check(func(*RevokeTerms) {}, 0); err != nil {
		t.Errorf("good terms: %v", err)
	}
	if got := (Transaction{Terms: good.Terms()}).RevokeTerms(); got != good {
		t.Errorf("read back: %+v", got)
	}
	for name, change := range map[string]func(*RevokeTerms){
		"no account":         func(r *RevokeTerms) { r.Account = Address{} },
		"the wallet itself":  func(r *RevokeTerms) { r.Account = from },
		"no mint":            func(r *RevokeTerms) { r.Token.Mint = Address{} },
		"no program":         func(r *RevokeTerms) { r.Token.Program = Address{} },
		"another program":    func(r *RevokeTerms) { r.Token.Program = StakeProgram },
		"no delegate":        func(r *RevokeTerms) { r.Delegate = Address{} },
		"the owner as other": func(r *RevokeTerms) { r.Delegate = from },
	} {
		if err := check(change, 0); !errors.Is(err, ErrTerms) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check(func(*RevokeTerms) {}, 1); !errors.Is(err, ErrTerms) {
		t.Errorf("one that pays: %v", err)
	}
	for _, terms := range []Terms{nil, StakeTerms{Account: Address{1}}.Terms(), Terms("{}")} {
		if err := rules.Check(Transaction{Kind: Revoke, From: from, Terms: terms}); !errors.Is(err, ErrTerms) {
			t.Errorf("%s: %v", terms, err)
		}
	}
}

// TestOnlyTheFeeOfARevocationLeavesTheWallet.
func TestOnlyTheFeeOfARevocationLeavesTheWallet(t *testing.T) {
	terms := RevokeTerms{Account: Address{1}, Token: Token{Mint: Address{2}, Program: TokenProgram}, Delegate: Address{3}, Limit: 7}
	row := Transaction{Kind: Revoke, From: Address{9}, To: Address{9}, Fee: 5_000, Reference: Address{4}, Terms: terms.Terms()}
	rules := RevokeRules()
	if got := rules.Spends(row); got != (Spending{Lamports: 5_000}) {
		t.Errorf("it spends %+v", got)
	}
	want := []Action{{Type: ActionRevoke, From: Address{9}, Account: Address{1}, Program: TokenProgram, Reference: Address{4}, References: []Address{{4}}}}
	if got := rules.Actions(row); !reflect.DeepEqual(got, want) {
		t.Errorf("it does %+v", got)
	}
	if got := rules.Writes(row); !reflect.DeepEqual(got, []Address{{9}, {1}}) {
		t.Errorf("it writes %v", got)
	}
	if rules.Pays || rules.Life != Outgoing {
		t.Errorf("its rules are %+v", rules)
	}
}
