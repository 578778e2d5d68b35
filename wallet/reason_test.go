package wallet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestAReasonIsStoredWithTheTypesOfItsArguments(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 5, 0, 123, time.FixedZone("", 3600))
	reason := Because("some.key", TextArg("Text", "<b>\u202e"), TextArg("Empty", ""), NumberArg("Number", uint64(1<<62)), NumberArg("Zero", 0),
		AmountArg("Amount", Amount{Units: 1<<64 - 1, Decimals: 9}), DurationArg("Wait", 90*time.Second), TimeArg("Again", at),
		AddressArg("To", Address{7}), AddressArg("Nobody", Address{}), ListArg("Words", []string{"a", "b"}), ListArg("None", []string{}))
	raw, err := json.Marshal(reason)
	if err != nil {
		t.Fatal(err)
	}
	var got Reason
	if err := json.Unmarshal(raw, &got); err != nil || !got.Equal(reason) {
		t.Errorf("%s became %v, %v", raw, got, err)
	}
	if want := "some.key Text=<b>\u202e Empty="; !strings.HasPrefix(got.String(), want) {
		t.Errorf("logged as %q", got)
	}
	for i, arg := range got.Args {
		if arg.Value() == nil {
			t.Errorf("argument %d has no value", i)
		}
		changed := Reason{Key: got.Key, Args: append([]Arg{}, got.Args...)}
		if changed.Args[i] = TextArg(arg.Name, "another"); changed.Equal(reason) {
			t.Errorf("%s is no part of the comparison", arg.Name)
		}
	}
	if Because("some.key").Equal(Because("other.key")) || !Because("some.key").Equal(Reason{Key: "some.key", Args: []Arg{}}) || !(Reason{}).IsZero() {
		t.Error("keys are not what is compared")
	}
}

func TestAnArgumentOfNoTypeIsNotStored(t *testing.T) {
	if raw, err := json.Marshal(Reason{Key: "some.key", Args: []Arg{{Name: "Text"}}}); err == nil {
		t.Errorf("stored as %s", raw)
	}
	for _, raw := range []string{`{"key":"a.b","args":[{"name":"X"}]}`, `{"key":"a.b","args":[{"name":"X","amount":"1"}]}`, `{"key":"a.b","args":[7]}`} {
		var r Reason
		if err := json.Unmarshal([]byte(raw), &r); err == nil {
			t.Errorf("%s is read as %v", raw, r)
		}
	}
}
