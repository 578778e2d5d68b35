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
