package solana

import (
	"fmt"
)

// TransactionError says why a transaction failed, with the names of Agave's TransactionError. Index is the
// instruction or account that the error is about, for those errors that have one.
type TransactionError struct {
	Name        string            `json:"name"`
	Index       int               `json:"index,omitempty"`
	Instruction *InstructionError `json:"instruction,omitempty"`
}

// InstructionError says why an instruction failed, with the names of Agave's InstructionError. Code is used with the
// name Custom only: it is the program's own error number.
type InstructionError struct {
	Name   string `json:"name"`
	Code   uint32 `json:"code,omitempty"`
	logged string // replaces Error() in the program's log, if set
	fatal  bool   // the runtime ended the program, which could not log the error itself
}

// Error is the text that clients see after "Transaction simulation failed: ".
func (e *TransactionError) Error() string {
	// The errors that carry data are formatted here; all others have a fixed text, or their name.
	switch e.Name {
	case "InstructionError":
		return fmt.Sprintf("Error processing Instruction %d: %s", e.Index, e.Instruction.Error())
	case "DuplicateInstruction":
		return fmt.Sprintf("Transaction contains a duplicate instruction (%d) that is not allowed", e.Index)
	case "InsufficientFundsForRent":
		return fmt.Sprintf("Transaction results in an account (%d) with insufficient funds for rent", e.Index)
	}
	if text, ok := transactionTexts[e.Name]; ok {
		return text
	}
	return e.Name
}

func (e *InstructionError) Error() string {
	if e.Name == "Custom" {
		return fmt.Sprintf("custom program error: %#x", e.Code)
	}
	if text, ok := instructionTexts[e.Name]; ok {
		return text
	}
	return e.Name
}

// wire is the error in its JSON-RPC form: a bare name, or an object with one member. A nil error is null.
func (e *TransactionError) wire() any {
	if e == nil {
		return nil
	}
	// Rust enums become a bare name, or an object with one member if they carry data.
	switch e.Name {
	case "InstructionError":
		return object{e.Name: []any{e.Index, e.Instruction.wire()}}
	case "DuplicateInstruction":
		return object{e.Name: e.Index}
	case "InsufficientFundsForRent":
		return object{e.Name: object{"account_index": e.Index}}
	}
	return e.Name
}

func (e *InstructionError) wire() any {
	if e.Name == "Custom" {
		return object{e.Name: e.Code}
	}
	return e.Name
}

// failed is a transaction error without further data.
func failed(name string) *TransactionError { return &TransactionError{Name: name} }

// custom is an error number of the program's own.
func custom(code uint32) *InstructionError { return &InstructionError{Name: "Custom", Code: code} }

// refused is one of the runtime's named instruction errors.
func refused(name string) *InstructionError { return &InstructionError{Name: name} }

// transactionTexts are the messages of Agave's TransactionError; clients match on them.
var transactionTexts = map[string]string{
	"AddressLookupTableNotFound":         "Transaction loads an address table account that doesn't exist",
	"InvalidAddressLookupTableData":      "Transaction loads an address table account with invalid data",
	"InvalidAddressLookupTableIndex":     "Transaction address table lookup uses an invalid index",
	"InvalidAddressLookupTableOwner":     "Transaction loads an address table account with an invalid owner",
	"AccountLoadedTwice":                 "Account loaded twice",
	"AccountNotFound":                    "Attempt to debit an account but found no record of a prior credit.",
	"AlreadyProcessed":                   "This transaction has already been processed",
	"BlockhashNotFound":                  "Blockhash not found",
	"InsufficientFundsForFee":            "Insufficient funds for fee",
	"InvalidAccountForFee":               "This account may not be used to pay transaction fees",
	"InvalidLoadedAccountsDataSizeLimit": "LoadedAccountsDataSizeLimit set for transaction must be greater than 0.",
	"InvalidProgramForExecution":         "This program may not be used for executing instructions",
	"MaxLoadedAccountsDataSizeExceeded":  "Transaction exceeded max loaded accounts data size cap",
	"ProgramAccountNotFound":             "Attempt to load a program that does not exist",
	"SanitizeFailure":                    "Transaction failed to sanitize accounts offsets correctly",
	"SignatureFailure":                   "Transaction did not pass signature verification",
}

// instructionTexts are the messages of Agave's InstructionError.
var instructionTexts = map[string]string{
	"AccountDataSizeChanged":             "program other than the account's owner changed the size of the account data",
	"ArithmeticOverflow":                 "Program arithmetic overflowed",
	"ComputationalBudgetExceeded":        "Computational budget exceeded",
	"ExternalAccountDataModified":        "instruction modified data of an account it does not own",
	"ExternalAccountLamportSpend":        "instruction spent from the balance of an account it does not own",
	"AccountDataTooSmall":                "account data too small for instruction",
	"IllegalOwner":                       "Provided owner is not allowed",
	"Immutable":                          "Account is immutable",
	"IncorrectAuthority":                 "Incorrect authority provided",
	"IncorrectProgramId":                 "incorrect program id for instruction",
	"InvalidAccountData":                 "invalid account data for instruction",
	"InvalidAccountOwner":                "Invalid account owner",
	"InvalidRealloc":                     "Failed to reallocate account data",
	"InvalidSeeds":                       "Provided seeds do not result in a valid address",
	"NotEnoughAccountKeys":               "insufficient account keys for instruction",
	"PrivilegeEscalation":                "Cross-program invocation with unauthorized signer or writable account",
	"UninitializedAccount":               "instruction requires an initialized account",
	"InvalidArgument":                    "invalid program argument",
	"InsufficientFunds":                  "insufficient funds for instruction",
	"MaxSeedLengthExceeded":              "Length of the seed is too long for address generation",
	"InvalidInstructionData":             "invalid instruction data",
	"MaxAccountsDataAllocationsExceeded": "Accounts data allocations exceeded the maximum allowed per transaction",
	"MissingAccount":                     "An account required by the instruction is missing",
	"MissingRequiredSignature":           "missing required signature for instruction",
	"ModifiedProgramId":                  "instruction illegally modified the program id of an account",
	"ProgramFailedToComplete":            "Program failed to complete",
	"ReadonlyDataModified":               "instruction modified data of a read-only account",
	"ReadonlyLamportChange":              "instruction changed the balance of a read-only account",
	"UnsupportedProgramId":               "Unsupported program id",
}
