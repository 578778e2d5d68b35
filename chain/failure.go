package chain

import (
	"encoding/json"
	"fmt"
	"strings"

	"purser/wallet"
)

// failure is a TransactionError as Solana writes it in JSON: "AccountInUse",
// {"InsufficientFundsForRent":{"account_index":1}}, or {"InstructionError":[0,{"Custom":1}]}.
type failure struct {
	name  string
	index int    // of the instruction or account in question; -1: none
	inner string // of an InstructionError: the instruction's error
	code  uint32 // of a Custom error
}

// parseFailure reads a TransactionError; nil for null or nothing, which is success. What it cannot read is a failure of
// unknown name, never a success.
func parseFailure(raw json.RawMessage) *failure {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	f := &failure{name: "unknown error", index: -1}
	var name string
	if json.Unmarshal(raw, &name) == nil {
		f.name = word(name)
		return f
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || len(object) != 1 {
		return f
	}
	// An object of one member: the name of the error, and what it is about.
	for key, value := range object {
		f.name = word(key)
		if key == "InstructionError" {
			f.readInstruction(value)
			return f
		}
		var account struct {
			Index *uint8 `json:"account_index"`
		}
		var index uint8
		switch {
		case json.Unmarshal(value, &account) == nil && account.Index != nil:
			f.index = int(*account.Index)
		case json.Unmarshal(value, &index) == nil:
			f.index = int(index)
		}
	}
	return f
}

// readInstruction reads the pair of an InstructionError: index and error.
func (f *failure) readInstruction(raw json.RawMessage) {
	// The pair is [index, error], where the error is a name or an object of one member.
	var pair []json.RawMessage
	var index uint8
	if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &index) != nil {
		return
	}
	f.index = int(index)
	// The simple form: a name.
	var name string
	if json.Unmarshal(pair[1], &name) == nil {
		f.inner = word(name)
		return
	}
	// The form with a value: an object of one member.
	var object map[string]json.RawMessage
	if json.Unmarshal(pair[1], &object) != nil || len(object) != 1 {
		return
	}
	for key, value := range object {
		f.inner = word(key)
		if key == "Custom" && json.Unmarshal(value, &f.code) != nil {
			f.inner = "unknown error"
		}
	}
}

// word lets through a name of letters and digits. Anything else could be a stranger's sentence, and is replaced.
func word(name string) string {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return "unknown error"
	}
	return name
}

// String is short and in the chain's own terms: "InstructionError 0: Custom 1".
func (f *failure) String() string {
	text := f.name
	if f.index >= 0 {
		text += fmt.Sprintf(" %d", f.index)
	}
	if f.inner != "" {
		text += ": " + f.inner
	}
	if f.inner == "Custom" {
		text += fmt.Sprintf(" %d", f.code)
	}
	return text
}

// systemTooPoor is the System program's error for a transfer of more than the account has
// (SystemError::ResultWithNegativeLamports).
const systemTooPoor = 1

// tooPoor tells whether f means that the payer of m has too little SOL.
func (f *failure) tooPoor(m *message) bool {
	switch f.name {
	case "InsufficientFundsForFee", "AccountNotFound": // an account that holds nothing is not found
		return true
	case "InsufficientFundsForRent":
		return f.index == 0
	case "InstructionError":
		if f.inner == "InsufficientFunds" {
			return true
		}
		ours := f.index >= 0 && f.index < len(m.instructions)
		return ours && f.program(m) == wallet.SystemProgram && f.inner == "Custom" && f.code == systemTooPoor
	}
	return false
}

// Errors of the token programs (spl_token::error::TokenError; Token-2022 goes on with its own).
const (
	tokenTooPoor     = 1
	tokenMismatch    = 3
	tokenFrozen      = 17
	tokenDecimals    = 18
	tokenNonTransfer = 37
	tokenNoMemo      = 36
	tokenPaused      = 67
)

// refusal is f as the reason why a node would not execute m.
func (f *failure) refusal(m *message) error {
	switch {
	case f.name == "BlockhashNotFound":
		return notAccepted(wallet.BlockhashExpired, wallet.Because("preflight.blockhash"))
	case f.tooPoor(m):
		return notAccepted(wallet.InsufficientBalance, wallet.Because("preflight.amount_short"))
	case f.name == "InsufficientFundsForRent":
		return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.under_minimum"))
	case f.inner == "ComputationalBudgetExceeded" || f.inner == "ProgramFailedToComplete":
		return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.compute"))
	}
	if f.program(m) == wallet.SwapProgram && f.String() == wallet.Slipped(f.index) {
		return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.slippage"))
	}
	// Errors of token programs are numbers.
	if isTokenProgram(f.program(m)) && f.inner == "Custom" {
		switch f.code {
		case tokenTooPoor:
			return notAccepted(wallet.InsufficientBalance, wallet.Because("preflight.token_short"))
		case tokenFrozen:
			return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.frozen"))
		case tokenMismatch, tokenDecimals:
			return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.token_changed"))
		case tokenNoMemo:
			return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.memo_needed"))
		case tokenNonTransfer:
			return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.not_transferable"))
		case tokenPaused:
			return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.paused"))
		}
	}
	return notAccepted(wallet.SimulationFailed, wallet.Because("preflight.unknown", wallet.TextArg("Error", f.String())))
}

// program is the program of the instruction of m that failed; zero if none did.
func (f *failure) program(m *message) wallet.Address {
	if f.name != "InstructionError" || f.index < 0 || f.index >= len(m.instructions) {
		return wallet.Address{}
	}
	program, _ := m.key(m.instructions[f.index].program)
	return program
}
