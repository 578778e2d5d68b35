package chain

import (
	"encoding/binary"

	"purser/wallet"
)

// Layouts of SPL Token (spl_token::state). An account of Token-2022 may go on after the base with
// extensions, each as type, length and value.
const (
	mintSize     = 82
	tokenSize    = 165
	multisigSize = 355 // no mint or token account is this long, so that it is taken for no multisig
	kindMint     = 1   // the byte after the base, which is padded to tokenSize
	kindAccount  = 2
	extensionsAt = tokenSize + 1
)

// isTokenProgram tells whether accounts of this owner have these layouts.
func isTokenProgram(owner wallet.Address) bool {
	return owner == wallet.TokenProgram || owner == wallet.Token2022Program
}

// parseMint reads the account of a mint; false for anything else. AccountSize of the result is the size of a new
// associated account, in bytes, by which its rent is calculated.
func parseMint(at, program wallet.Address, data []byte) (wallet.Mint, bool) {
	m := wallet.Mint{Address: at, Program: program, AccountSize: tokenSize}
	if !isTokenProgram(program) || len(data) < mintSize || data[45] != 1 { // initialized
		return m, false
	}
	m.Decimals = data[44]
	// A mint of SPL Token has no extensions.
	if program == wallet.TokenProgram {
		return m, len(data) == mintSize
	}
	// Add up what each account of this mint will hold, extension by extension.
	size := uint64(extensionsAt + 4) // the associated account program asks for ImmutableOwner
	if len(data) != mintSize {
		if len(data) < extensionsAt || len(data) == multisigSize || data[tokenSize] != kindMint {
			return m, false
		}
		for rest := data[extensionsAt:]; len(rest) > 0; {
			kind, value, after, ok := extension(rest)
			if !ok {
				return m, false
			}
			if kind == 0 {
				break // what follows is room
			}
			held, ok := extend(&m, kind, value)
			if !ok {
				return m, false
			}
			size += held
			rest = after
		}
	}
	// The token program avoids the length of a multisig, and so does the result.
	if size == multisigSize {
		size += 2
	}
	m.AccountSize = size
	return m, true
}

// extension cuts off one entry: type u16, length u16, value. Kind 0 is the end of the entries.
func extension(raw []byte) (kind uint16, value, rest []byte, ok bool) {
	if len(raw) < 2 {
		return 0, nil, nil, true // less than a type is room
	}
	kind = binary.LittleEndian.Uint16(raw)
	if kind == 0 {
		return 0, nil, nil, true
	}
	if len(raw) < 4 {
		return 0, nil, nil, false
	}
	length := int(binary.LittleEndian.Uint16(raw[2:]))
	if len(raw)-4 < length {
		return 0, nil, nil, false
	}
	return kind, raw[4 : 4+length], raw[4+length:], true
}

// extend reads one extension of a mint (spl_token_2022::extension::ExtensionType). held is how many bytes each account
// of the mint has for it. ok is false if the value has the wrong size. An unknown extension is noted: rules may refuse
// it.
func extend(m *wallet.Mint, kind uint16, value []byte) (held uint64, ok bool) {
	switch kind {
	case 1: // TransferFeeConfig; accounts hold TransferFeeAmount
		if len(value) != 108 {
			return 0, false
		}
		m.TransferFee = &wallet.TransferFee{Older: feeRate(value[72:]), Newer: feeRate(value[90:])}
		return 4 + 8, true
	case 6: // DefaultAccountState
		if len(value) != 1 {
			return 0, false
		}
		m.DefaultFrozen = value[0] == stateFrozen
	case 9: // NonTransferable; accounts hold NonTransferableAccount
		m.NonTransferable = true
		return 4, true
	case 10, 25: // InterestBearingConfig, ScaledUiAmount
		m.Scaled = true
	case 12: // PermanentDelegate
		if len(value) != 32 {
			return 0, false
		}
		m.PermanentDelegate = wallet.Address(value)
	case 14: // TransferHook; accounts hold TransferHookAccount
		if len(value) != 64 {
			return 0, false
		}
		m.Hook = wallet.Address(value[32:])
		return 4 + 1, true
	case 26: // Pausable; accounts hold PausableAccount
		if len(value) != 33 {
			return 0, false
		}
		m.Paused = value[32] != 0
		return 4, true
	case 3, 4, 18, 19, 20, 21, 22, 23, 24, 28: // close authority, confidential transfers, metadata, groups, burning
	case 16: // ConfidentialTransferFeeConfig; accounts hold ConfidentialTransferFeeAmount
		return 4 + 64, true
	default:
		m.Unknown = true
	}
	return 0, true
}

// feeRate reads a transfer fee: epoch from which it holds, maximum in base units, basis points.
func feeRate(raw []byte) wallet.FeeRate {
	return wallet.FeeRate{
		Epoch:       binary.LittleEndian.Uint64(raw),
		Maximum:     binary.LittleEndian.Uint64(raw[8:]),
		BasisPoints: binary.LittleEndian.Uint16(raw[16:]),
	}
}

// Offsets in a token account: an optional delegate (a tag of four bytes, then its address), and how many base units it may take.
const (
	delegateAt  = 72
	delegatedAt = 121
)

// stateFrozen is AccountState::Frozen of the token programs.
const stateFrozen = 2

// parseTokenAccount reads an account that holds units of a mint; false for anything else.
func parseTokenAccount(at, program wallet.Address, data []byte) (wallet.TokenAccount, bool) {
	if !isTokenProgram(program) || len(data) < tokenSize || data[108] == 0 { // uninitialized
		return wallet.TokenAccount{}, false
	}
	a := wallet.TokenAccount{
		Address: at, Exists: true, Program: program,
		Mint: wallet.Address(data[:32]), Owner: wallet.Address(data[32:64]),
		Units: binary.LittleEndian.Uint64(data[64:]), Frozen: data[108] == stateFrozen,
	}
	// The programs leave the bytes of a delegate behind when they take it away: only the first byte says whether there is one.
	if data[delegateAt] == 1 {
		a.Delegate, a.Delegated = wallet.Address(data[delegateAt+4:delegateAt+36]), binary.LittleEndian.Uint64(data[delegatedAt:])
	}
	if len(data) == tokenSize {
		return a, true
	}
	if program != wallet.Token2022Program || len(data) < extensionsAt || len(data) == multisigSize || data[tokenSize] != kindAccount {
		return wallet.TokenAccount{}, false
	}
	for rest := data[extensionsAt:]; len(rest) > 0; {
		kind, value, after, ok := extension(rest)
		if !ok {
			return wallet.TokenAccount{}, false
		}
		if kind == 8 { // MemoTransfer
			if len(value) != 1 {
				return wallet.TokenAccount{}, false
			}
			a.MemoRequired = value[0] != 0
		}
		rest = after
	}
	return a, true
}
