package chain

import (
	"errors"
	"strings"
	"testing"

	"purser/wallet"
)

// shout is a row that loses what it is asked to write: its text comes back in capitals.
func shout() ActionCodec {
	return ActionCodec{Type: "shout", Programs: []wallet.Address{{42}}, Principal: true,
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			return wallet.Action{Type: "shout", Text: strings.ToUpper(string(c.Data()))}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{Program: wallet.Address{42}, Data: []byte(a.Text)}
		},
		Matches: func(c Call, intended wallet.Action) bool { return string(c.Data()) == intended.Text }}
}

// TestWhatIsBuiltIsWhatWasAsked: a message that reads back as anything else is not built, whatever row wrote it.
func TestWhatIsBuiltIsWhatWasAsked(t *testing.T) {
	codec, err := NewCodec(shout())
	if err != nil {
		t.Fatal(err)
	}
	from := wallet.Transaction{From: testKey(1).address()}
	if _, err := codec.Build(from, []wallet.Action{{Type: "shout", Text: "hey"}}); err == nil {
		t.Error("a message is built that does something else than it should")
	}
	message, err := codec.Build(from, []wallet.Action{{Type: "shout", Text: "HEY"}})
	if err != nil {
		t.Fatal(err)
	}
	var refused *NotAllowed
	if _, err := Decode(message, from.From); !errors.As(err, &refused) || refused.Code != UnknownProgram {
		t.Errorf("without the row it is read: %v", err)
	}
	if _, err := (Codec{}).Build(from, []wallet.Action{{Type: "shout", Text: "HEY"}}); err == nil {
		t.Error("an action without a row is built")
	}
	if _, err := codec.Build(from, []wallet.Action{{Type: wallet.ActionMemo, Text: "alone"}}); !errors.As(err, &refused) || refused.Code != NoAction {
		t.Errorf("a memo alone: %v", err)
	}
	if _, err := codec.Build(from, []wallet.Action{{Type: "shout", Text: "HEY"}, {Type: "shout", Text: "HO"}}); !errors.As(err, &refused) || refused.Code != TooManyActions {
		t.Errorf("two principal actions: %v", err)
	}
}

// TestWhatNobodyIntendedIsNotRecognised: "not found" would be a lie where nobody knows what to look for.
func TestWhatNobodyIntendedIsNotRecognised(t *testing.T) {
	codec, err := NewCodec(shout())
	if err != nil {
		t.Fatal(err)
	}
	from := testKey(1).address()
	raw, err := codec.Build(wallet.Transaction{From: from}, []wallet.Action{{Type: wallet.ActionMemo, Text: "and"}, {Type: "shout", Text: "HEY"}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := structure(raw)
	if err != nil {
		t.Fatal(err)
	}
	hey := wallet.Action{Type: "shout", Text: "HEY"}
	for name, c := range map[string]struct {
		by      wallet.Address
		actions []wallet.Action
		found   bool
		certain bool
	}{
		"the one":                  {from, []wallet.Action{hey}, true, true},
		"its memo does not matter": {from, []wallet.Action{{Type: wallet.ActionMemo, Text: "or"}, hey}, true, true},
		"another's":                {testKey(2).address(), []wallet.Action{hey}, false, true},
		"another text":             {from, []wallet.Action{{Type: "shout", Text: "HO"}}, false, true},
		"nothing":                  {from, nil, false, false},
		"what only helps":          {from, []wallet.Action{{Type: wallet.ActionMemo, Text: "and"}}, false, false},
		"what has no row":          {from, []wallet.Action{{Type: "whisper"}}, false, false},
	} {
		found, err := codec.recognises(m, wallet.TransactionQuery{From: c.by, Actions: c.actions})
		if found != c.found || (err == nil) != c.certain {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// TestATokenTransferIsRecognisedByAllOfItsAccounts: the same units of the same token with the same reference are
// another payment where they leave or reach another account.
func TestATokenTransferIsRecognisedByAllOfItsAccounts(t *testing.T) {
	usdc := wallet.Token{Mint: wallet.Address{7}, Decimals: 6, Program: wallet.TokenProgram}
	paid := wallet.Transaction{From: testKey(1).address(), To: testKey(2).address(), Reference: testKey(3).address(), Token: usdc, Amount: 5}
	raw, err := buildTransfer(paid)
	if err != nil {
		t.Fatal(err)
	}
	m, err := structure(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*wallet.Action)
		found  bool
	}{
		"the one":           {func(*wallet.Action) {}, true},
		"another recipient": {func(a *wallet.Action) { a.Account = wallet.Address{9} }, false},
		"another sender":    {func(a *wallet.Action) { a.From = wallet.Address{9} }, false},
		"another mint":      {func(a *wallet.Action) { a.Mint = wallet.Address{9} }, false},
		"another amount":    {func(a *wallet.Action) { a.Units++ }, false},
		"another reference": {func(a *wallet.Action) { a.Reference = wallet.Address{9} }, false},
	} {
		intended := wallet.TransferActions(paid)[0]
		c.change(&intended)
		found, err := Codec{}.recognises(m, wallet.TransactionQuery{From: paid.From, Actions: []wallet.Action{intended}})
		if found != c.found || err != nil {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// TestARowThatLacksAPartIsRefused, and so is a second one for an action.
func TestARowThatLacksAPartIsRefused(t *testing.T) {
	for lacks, change := range map[string]func(*ActionCodec){
		"type":            func(r *ActionCodec) { r.Type = "" },
		"programs":        func(r *ActionCodec) { r.Programs = nil },
		"Decode":          func(r *ActionCodec) { r.Decode = nil },
		"Encode":          func(r *ActionCodec) { r.Encode = nil },
		"Matches":         func(r *ActionCodec) { r.Matches = nil },
		"name of its own": func(r *ActionCodec) { r.Type = wallet.ActionMemo },
	} {
		row := shout()
		change(&row)
		if _, err := NewCodec(row); err == nil {
			t.Errorf("a row without %s is taken", lacks)
		}
	}
	if _, err := NewCodec(shout(), shout()); err == nil {
		t.Error("one action has two rows")
	}
}
