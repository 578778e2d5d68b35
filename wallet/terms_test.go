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
