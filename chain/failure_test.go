package chain

import (
	"encoding/json"
	"testing"

	"purser/wallet"
)

func TestChainErrorsAreShortAndOurs(t *testing.T) {
	for raw, want := range map[string]string{
		`"BlockhashNotFound"`:                              "BlockhashNotFound",
		`{"InsufficientFundsForRent":{"account_index":1}}`: "InsufficientFundsForRent 1",
		`{"DuplicateInstruction":2}`:                       "DuplicateInstruction 2",
		`{"InstructionError":[3,{"Custom":4294967295}]}`:   "InstructionError 3: Custom 4294967295",
		`{"InstructionError":[0,"InvalidArgument"]}`:       "InstructionError 0: InvalidArgument",
		`{"InstructionError":[1,{"BorshIoError":"x y"}]}`:  "InstructionError 1: BorshIoError",
		// What makes no sense is still a failure, and brings no words of its own.
		`{"InstructionError":[0,{"Custom":-1}]}`: "InstructionError 0: unknown error",
		`{"InstructionError":[0,{"A":1,"B":2}]}`: "InstructionError 0",
		`{"InstructionError":[0,7]}`:             "InstructionError 0",
		`{"InstructionError":[300,"X"]}`:         "InstructionError",
		`{"InstructionError":"X"}`:               "InstructionError",
		`{"InstructionError":[0]}`:               "InstructionError",
		`"<b>click https://evil.example</b>"`:    "unknown error",
		`{"click here":1}`:                       "unknown error 1",
		`{"A":1,"B":2}`:                          "unknown error",
		`{}`:                                     "unknown error",
		`[]`:                                     "unknown error",
		`7`:                                      "unknown error",
		`""`:                                     "unknown error",
		`{"InsufficientFundsForRent":{"index":1}}`:           "InsufficientFundsForRent",
		`{"InsufficientFundsForRent":{"account_index":256}}`: "InsufficientFundsForRent",
	} {
		f := parseFailure(json.RawMessage(raw))
		if f == nil || f.String() != want {
			t.Errorf("%s: got %v, want %q", raw, f, want)
		}
	}
	for _, success := range []string{"", "null"} {
		if f := parseFailure(json.RawMessage(success)); f != nil {
			t.Errorf("%q is success, got %v", success, f)
		}
	}
}

func TestTooPoorIsToldFromOtherFailures(t *testing.T) {
	key := testKey(1).address()
	raw, err := buildTransfer(wallet.Transaction{From: key, To: testKey(2).address(), Amount: 5, Memo: "hi", ComputeUnitLimit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(raw) // instruction 0 is the budget, 1 the memo, 2 the transfer
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{
		`"InsufficientFundsForFee"`:                          true,
		`"AccountNotFound"`:                                  true,
		`{"InsufficientFundsForRent":{"account_index":0}}`:   true,
		`{"InsufficientFundsForRent":{"account_index":1}}`:   false,
		`{"InstructionError":[2,{"Custom":1}]}`:              true,
		`{"InstructionError":[2,{"Custom":2}]}`:              false,
		`{"InstructionError":[1,{"Custom":1}]}`:              false, // the memo's error, not a balance
		`{"InstructionError":[2,"InsufficientFunds"]}`:       true,
		`{"InstructionError":[9,{"Custom":1}]}`:              false,
		`{"InstructionError":[2]}`:                           false,
		`"AccountInUse"`:                                     false,
		`{"InstructionError":[2,{"Custom":18446744073709}]}`: false,
	} {
		if got := parseFailure(json.RawMessage(raw)).tooPoor(m); got != want {
			t.Errorf("%s: got %v", raw, got)
		}
	}
}

// FuzzFailure feeds what a node may answer as the error of a transaction.
func FuzzFailure(f *testing.F) {
	f.Add(`{"InstructionError":[0,{"Custom":1}]}`)
	f.Add(`{"InsufficientFundsForRent":{"account_index":1}}`)
	f.Add(`"BlockhashNotFound"`)
	m := &message{keys: []wallet.Address{{}}, instructions: []instruction{{}}}
	f.Fuzz(func(t *testing.T, raw string) {
		failure := parseFailure(json.RawMessage(raw))
		if failure == nil {
			if raw != "" && raw != "null" {
				t.Fatal("a failure was taken for success")
			}
			return
		}
		failure.tooPoor(m)
		if text := failure.String(); text == "" || len(text) > 200 {
			t.Fatalf("not a short text: %q", text)
		}
	})
}
