package solana

// The token programs' error numbers, as Custom codes. Clients decode them, so the numbers must be the programs' own.
const (
	tokenNotRentExempt      = 0
	tokenShort              = 1
	tokenInvalidMint        = 2
	tokenMintMismatch       = 3
	tokenOwnerMismatch      = 4
	tokenFixedSupply        = 5
	tokenInUse              = 6
	tokenInvalidProvided    = 7
	tokenInvalidRequired    = 8
	tokenNativeUnsupported  = 10
	tokenHasBalance         = 11
	tokenInvalidInstruction = 12
	tokenInvalidState       = 13
	tokenOverflow           = 14
	tokenAuthorityType      = 15
	tokenCannotFreeze       = 16
	tokenFrozen             = 17
	tokenDecimals           = 18
	tokenNotNative          = 19

	// Of Token-2022 alone.
	tokenTypeMismatch      = 20
	tokenBaseMismatch      = 21
	tokenMintHasSupply     = 28
	tokenNoAuthority       = 29
	tokenFeeTooHigh        = 30
	tokenMintRequired      = 31
	tokenFeeMismatch       = 32
	tokenImmutableOwner    = 34
	tokenWithheldFees      = 35
	tokenNoMemo            = 36
	tokenNonTransferable   = 37
	tokenNeedsImmutable    = 38
	tokenGuardLocked       = 41
	tokenGuardTransfer     = 42
	tokenGuardBurn         = 43
	tokenGuardClose        = 44
	tokenGuardApprove      = 45
	tokenGuardAuthority    = 46
	tokenGuardOwner        = 47
	tokenExtensionNotFound = 48
	tokenPrivateOnly       = 49
	tokenCombination       = 51
	tokenInvalidLength     = 52
	tokenNoMintBurn        = 65
	tokenPaused            = 67
)

// tokenTexts are the log lines of the programs' own errors, without "Program log: ".
var tokenTexts = map[uint32]string{
	tokenNotRentExempt:      "Error: Lamport balance below rent-exempt threshold",
	tokenShort:              "Error: insufficient funds",
	tokenInvalidMint:        "Error: Invalid Mint",
	tokenMintMismatch:       "Error: Account not associated with this Mint",
	tokenOwnerMismatch:      "Error: owner does not match",
	tokenFixedSupply:        "Error: the total supply of this token is fixed",
	tokenInUse:              "Error: account or token already in use",
	tokenInvalidProvided:    "Error: Invalid number of provided signers",
	tokenInvalidRequired:    "Error: Invalid number of required signers",
	tokenNativeUnsupported:  "Error: Instruction does not support native tokens",
	tokenHasBalance:         "Error: Non-native account can only be closed if its balance is zero",
	tokenInvalidInstruction: "Error: Invalid instruction",
	tokenInvalidState:       "Error: Invalid account state for operation",
	tokenOverflow:           "Error: Operation overflowed",
	tokenAuthorityType:      "Error: Account does not support specified authority type",
	tokenCannotFreeze:       "Error: This token mint cannot freeze accounts",
	tokenFrozen:             "Error: Account is frozen",
	tokenDecimals:           "Error: decimals different from the Mint decimals",
	tokenNotNative:          "Error: Instruction does not support non-native tokens",
	tokenTypeMismatch:       "Error: New extension type does not match already existing extensions",
	tokenBaseMismatch:       "Error: Extension does not match the base type provided",
	tokenMintHasSupply:      "Error: Mint has non-zero supply. Burn all tokens before closing the mint",
	tokenNoAuthority:        "Error: No authority exists to perform the desired operation",
	tokenFeeTooHigh:         "Error: Transfer fee exceeds maximum of 10,000 basis points",
	tokenMintRequired:       "Mint required for this account to transfer tokens, use `transfer_checked` or `transfer_checked_with_fee`",
	tokenFeeMismatch:        "Calculated fee does not match expected fee",
	tokenImmutableOwner:     "The owner authority cannot be changed",
	tokenWithheldFees:       "Error: An account can only be closed if its withheld fee balance is zero, harvest fees to the mint and try again",
	tokenNoMemo:             "Error: No memo in previous instruction required for recipient to receive a transfer",
	tokenNonTransferable:    "Transfer is disabled for this mint",
	tokenNeedsImmutable:     "Non-transferable tokens can't be minted to an account without immutable ownership",
	tokenGuardLocked:        "CPI Guard status cannot be changed in CPI",
	tokenGuardTransfer:      "CPI Guard is enabled, and a program attempted to transfer user funds without using a delegate",
	tokenGuardBurn:          "CPI Guard is enabled, and a program attempted to burn user funds without using a delegate",
	tokenGuardClose:         "CPI Guard is enabled, and a program attempted to close an account without returning lamports to owner",
	tokenGuardApprove:       "CPI Guard is enabled, and a program attempted to approve a delegate",
	tokenGuardAuthority:     "CPI Guard is enabled, and a program attempted to add or change an authority",
	tokenGuardOwner:         "Account ownership cannot be changed while CPI Guard is enabled",
	tokenExtensionNotFound:  "Extension not found in account data",
	tokenPrivateOnly:        "Non-confidential transfers disabled",
	tokenCombination:        "Mint or account is initialized to an invalid combination of extensions",
	tokenInvalidLength:      "Extension allocation with overwrite must use the same length",
	tokenNoMintBurn:         "Conversions from normal to confidential token balance and vice versa are illegal if the confidential-mint-burn extension is enabled",
	tokenPaused:             "Transferring, minting, and burning is paused on this mint",
}

// complain logs an error as the programs do before they return it. texts are the log lines of the program's own
// codes. An error with which the runtime ended the program is not logged.
func (in *invocation) complain(err *InstructionError, texts map[uint32]string) *InstructionError {
	switch {
	case err == nil || err.fatal:
	case err.Name != "Custom":
		in.say("Error: %s", err.Name)
	default:
		in.say("%s", texts[err.Code])
	}
	return err
}
