package chain

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"purser/wallet"
)

// delegatedRow is a row of parsedRow whose account has a delegate, as Agave writes it.
func delegatedRow(row string, delegate wallet.Address, units string) string {
	return strings.Replace(row, `"tokenAmount":`, fmt.Sprintf(`"delegate":%q,"delegatedAmount":{"amount":%q,"decimals":6,"uiAmount":0.1,"uiAmountString":"0.1"},"tokenAmount":`, delegate, units), 1)
}

// TestDelegatesAreReadFromTheCallsOfBalances: of both programs, of empty and frozen accounts too, in two calls. An owner who approved
// itself is no delegate.
func TestDelegatesAreReadFromTheCallsOfBalances(t *testing.T) {
	owner, thief := testKey(1).address(), testKey(2).address()
	mint := func(n byte) wallet.Address { return wallet.Address{n} }
	at := func(n byte) wallet.Address { return wallet.Address{0xa0, n} }
	row := func(n byte, program wallet.Address, units string) string {
		return parsedRow(owner, mint(n), at(n), program, units)
	}
	calls := 0
	client := scripted(t, func(string) string {
		calls++
		rows := []string{
			row(1, wallet.TokenProgram, "5"),
			delegatedRow(row(2, wallet.TokenProgram, "7"), thief, "18446744073709551615"),
			delegatedRow(row(3, wallet.TokenProgram, "0"), thief, "3"),
			delegatedRow(row(4, wallet.TokenProgram, "9"), owner, "3"),
			strings.Replace(delegatedRow(row(5, wallet.TokenProgram, "9"), thief, "0"), "initialized", "frozen", 1),
			`{"pubkey":"` + at(6).String() + `","account":{"owner":"` + wallet.TokenProgram.String() + `","data":["AA==","base64"]}}`,
		}
		if calls == 2 { // of the other token program
			rows = []string{delegatedRow(row(7, wallet.Token2022Program, "1"), thief, "2")}
		}
		return result(`{"context":{"slot":9},"value":[` + strings.Join(rows, ",") + `]}`)
	})
	got, err := client.TokenDelegates(t.Context(), owner)
	token := func(n byte, program wallet.Address) wallet.Token {
		return wallet.Token{Mint: mint(n), Decimals: 6, Program: program}
	}
	want := []wallet.TokenDelegate{
		{Account: at(2), Token: token(2, wallet.TokenProgram), Delegate: thief, Limit: math.MaxUint64, Units: 7},
		{Account: at(3), Token: token(3, wallet.TokenProgram), Delegate: thief, Limit: 3},
		{Account: at(5), Token: token(5, wallet.TokenProgram), Delegate: thief, Units: 9, Frozen: true},
		{Account: at(7), Token: token(7, wallet.Token2022Program), Delegate: thief, Limit: 2, Units: 1},
	}
	if err != nil || !reflect.DeepEqual(got, want) || calls != 2 {
		t.Errorf("in %d calls %v:\n%+v\nwant\n%+v", calls, err, got, want)
	}
}

// TestWhatANodeSaysOfDelegatesIsNotBelievedBlindly: neither by balances nor by the list.
func TestWhatANodeSaysOfDelegatesIsNotBelievedBlindly(t *testing.T) {
	owner, thief := testKey(1).address(), testKey(2).address()
	own := wallet.AssociatedAccount(owner, wallet.Address{1}, wallet.TokenProgram)
	good := delegatedRow(parsedRow(owner, wallet.Address{1}, own, wallet.TokenProgram, "5"), thief, "3")
	for name, row := range map[string]string{
		"":                        good,
		"no address":              strings.Replace(good, thief.String(), "x", 1),
		"an empty address":        strings.Replace(good, thief.String(), "", 1),
		"no amount":               strings.Replace(good, `"delegatedAmount"`, `"other"`, 1),
		"a negative amount":       strings.Replace(good, `"amount":"3"`, `"amount":"-3"`, 1),
		"more than there can be":  strings.Replace(good, `"amount":"3"`, `"amount":"18446744073709551616"`, 1),
		"an address and an array": strings.Replace(good, `"delegate":"`+thief.String()+`"`, `"delegate":[]`, 1),
		"somebody else's account": strings.Replace(good, `"owner":"`+owner.String(), `"owner":"`+thief.String(), 1),
		"the same account twice":  good + "," + good,
	} {
		calls := 0
		client := scripted(t, func(string) string {
			rows := row
			if calls++; calls%2 == 0 { // of the other token program
				rows = ""
			}
			return result(`{"context":{"slot":9},"value":[` + rows + `]}`)
		})
		got, err := client.TokenDelegates(t.Context(), owner)
		if name == "" {
			if err != nil || len(got) != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			continue
		}
		if wallet.CodeOf(err) != wallet.NetworkError || got != nil {
			t.Errorf("%s is believed: %+v, %v", name, got, err)
		}
		if name == "the same account twice" { // which balances add up
			continue
		}
		calls = 0
		if held, err := client.Holdings(t.Context(), owner); wallet.CodeOf(err) != wallet.NetworkError || held != nil {
			t.Errorf("%s is believed by balances: %+v, %v", name, held, err)
		}
	}
}

// TestADelegateIsReadFromTheAccountItself: by the tag alone, since the programs leave the bytes behind when they take one away.
func TestADelegateIsReadFromTheAccountItself(t *testing.T) {
	owner, thief := testKey(1).address(), testKey(2).address()
	data := make([]byte, tokenSize)
	copy(data[32:], owner[:])
	copy(data[76:], thief[:])
	binary.LittleEndian.PutUint64(data[121:], 5)
	data[108] = 1
	read := func() wallet.TokenAccount {
		a, ok := parseTokenAccount(wallet.Address{3}, wallet.TokenProgram, data)
		if !ok {
			t.Fatal("not read")
		}
		return a
	}
	if a := read(); !a.Delegate.IsZero() || a.Delegated != 0 {
		t.Errorf("one that was taken away is read as %+v", a)
	}
	data[72] = 1
	a := read()
	if a.Delegate != thief || a.Delegated != 5 {
		t.Errorf("read as %+v", a)
	}
	if d, ok := a.Foreign(); !ok || d.Delegate != thief || d.Limit != 5 || d.Account != (wallet.Address{3}) {
		t.Errorf("foreign: %+v, %v", d, ok)
	}
	copy(data[76:], owner[:])
	if d, ok := read().Foreign(); ok {
		t.Errorf("the owner itself is foreign: %+v", d)
	}
	if _, ok := (wallet.TokenAccount{Delegate: thief}).Foreign(); ok {
		t.Error("an account that does not exist has a delegate")
	}
}

// TestARevocationIsRecognisedOnChain by account, owner, program and reference, whatever stands around it. Other instructions of the
// programs, and short ones, are nobody's revocation.
func TestARevocationIsRecognisedOnChain(t *testing.T) {
	owner, account, reference := testKey(1).address(), wallet.Address{4}, wallet.Address{5}
	call := func(program wallet.Address, data []byte, accounts ...Account) *message {
		t.Helper()
		raw, err := marshal(owner, []Instruction{{wallet.SystemProgram, []Account{signer(owner), writable(wallet.Address{8})}, number(systemTransfer, 1)}, {program, accounts, data}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := structure(raw)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	whole := []Account{writable(account), signer(owner), readonly(reference)}
	for name, c := range map[string]struct {
		m    *message
		want bool
	}{
		"as it was built":          {call(wallet.TokenProgram, []byte{5}, whole...), true},
		"with another reference":   {call(wallet.TokenProgram, []byte{5}, append(whole, readonly(wallet.Address{6}))...), true},
		"of the other program":     {call(wallet.Token2022Program, []byte{5}, whole...), false},
		"of another account":       {call(wallet.TokenProgram, []byte{5}, writable(wallet.Address{7}), signer(owner), readonly(reference)), false},
		"by another owner":         {call(wallet.TokenProgram, []byte{5}, writable(account), readonly(wallet.Address{7}), readonly(reference)), false},
		"without the reference":    {call(wallet.TokenProgram, []byte{5}, whole[:2]...), false},
		"with data behind":         {call(wallet.TokenProgram, []byte{5, 0}, whole...), false},
		"an approval":              {call(wallet.TokenProgram, append([]byte{4}, make([]byte, 8)...), whole...), false},
		"with one account":         {call(wallet.TokenProgram, []byte{5}, writable(account)), false},
		"without accounts":         {call(wallet.TokenProgram, []byte{5}), false},
		"without data":             {call(wallet.TokenProgram, nil, whole...), false},
		"of a program that's none": {call(wallet.StakeProgram, []byte{5}, whole...), false},
	} {
		found, err := Codec{}.recognises(c.m, wallet.TransactionQuery{From: owner, Actions: []wallet.Action{
			{Type: wallet.ActionRevoke, From: owner, Account: account, Program: wallet.TokenProgram, Reference: reference}}})
		if found != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
