package solana

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// The layouts that both token programs share, in bytes (SPL Token: Pack of Mint, Account and Multisig). A COption is
// a u32 tag, 1 for a value, followed by the value.
const (
	mintSize     = 82
	accountSize  = 165
	multisigSize = 355

	kindAt       = accountSize     // offset of the kind (mint or account), if there are extensions
	extensionsAt = accountSize + 1 // offset of the extensions: type, length, value
)

// The values at kindAt. A mint with extensions is padded to accountSize, so that the kind is at the same offset in
// both.
const (
	kindNone    = 0
	kindMint    = 1
	kindAccount = 2
)

// States of a token account. stateNone is one that is not initialized.
const (
	stateNone   = 0
	stateReady  = 1
	stateFrozen = 2
)

// Integers are little-endian, as in all account data of Solana.
func u64At(b []byte, at int) uint64      { return binary.LittleEndian.Uint64(b[at:]) }
func putU64(b []byte, at int, n uint64)  { binary.LittleEndian.PutUint64(b[at:], n) }
func keyAt(b []byte, at int) address     { return address(b[at : at+32]) }
func putKey(b []byte, at int, k address) { copy(b[at:at+32], k[:]) }
func isNative(mint address) bool         { return mint == nativeMint }
func unowned(owner address) bool         { return owner == systemProgram || owner == incinerator }
func isTokenProgram(program address) bool {
	return program == tokenProgram || program == token2022Program
}

// tokenAccount is the data of a token account: mint, owner, amount, delegate, state, native reserve, delegated
// amount, close authority. Amounts are in base units, the reserve in lamports. It is at least accountSize bytes long,
// which its constructors check. It points into the account's data, so its setters change the account.
type tokenAccount []byte

func (h tokenAccount) mint() address             { return keyAt(h, 0) }
func (h tokenAccount) owner() address            { return keyAt(h, 32) }
func (h tokenAccount) amount() uint64            { return u64At(h, 64) }
func (h tokenAccount) state() byte               { return h[108] }
func (h tokenAccount) frozen() bool              { return h[108] == stateFrozen }
func (h tokenAccount) reserve() uint64           { return u64At(h, 113) }
func (h tokenAccount) delegated() uint64         { return u64At(h, 121) }
func (h tokenAccount) setAmount(n uint64)        { putU64(h, 64, n) }
func (h tokenAccount) setDelegated(n uint64)     { putU64(h, 121, n) }
func (h tokenAccount) delegate() coption         { return coption(h[72:108]) }
func (h tokenAccount) native() coption           { return coption(h[109:121]) }
func (h tokenAccount) closer() coption           { return coption(h[129:165]) }
func (h tokenAccount) extensions() extensionList { return extensionsOf(h) }

// mintAccount is the data of a mint: mint authority, supply in base units, decimals, whether it is initialized,
// freeze authority. It is at least mintSize bytes long and points into the account's data.
type mintAccount []byte

func (m mintAccount) minter() coption           { return coption(m[0:36]) }
func (m mintAccount) supply() uint64            { return u64At(m, 36) }
func (m mintAccount) decimals() byte            { return m[44] }
func (m mintAccount) ready() bool               { return m[45] != 0 }
func (m mintAccount) freezer() coption          { return coption(m[46:82]) }
func (m mintAccount) setSupply(n uint64)        { putU64(m, 36, n) }
func (m mintAccount) extensions() extensionList { return extensionsOf(m) }

// coption is a COption of an address or a u64. The two programs read and clear it differently: given, drop and become
// are those of SPL Token, the methods here those of Token-2022.
type coption []byte

func (o coption) key() address      { return keyAt(o, 4) }
func (o coption) some() bool        { return o[0] == 1 && o[1] == 0 && o[2] == 0 && o[3] == 0 }
func (o coption) none() bool        { return zeroed(o[:4]) }
func (o coption) is(k address) bool { return o.some() && o.key() == k }

// set stores an address.
func (o coption) set(k address) {
	o.tag(1)
	putKey(o, 4, k)
}

// setU64 stores a number.
func (o coption) setU64(n uint64) {
	o.tag(1)
	putU64(o, 4, n)
}

// clear overwrites tag and value with zeros.
func (o coption) clear() { clear(o) }

func (o coption) tag(b byte) { copy(o, []byte{b, 0, 0, 0}) }

// Extensions of Token-2022, by their type numbers. Each is an extension of mints or of token accounts (kindOf).
const (
	extTransferFeeConfig    = 1
	extTransferFeeAmount    = 2
	extMintCloseAuthority   = 3
	extConfidentialMint     = 4
	extConfidentialAccount  = 5
	extDefaultState         = 6
	extImmutableOwner       = 7
	extMemoTransfer         = 8
	extNonTransferable      = 9
	extInterest             = 10
	extCPIGuard             = 11
	extPermanentDelegate    = 12
	extNonTransferableOwned = 13
	extTransferHook         = 14
	extTransferHookAccount  = 15
	extConfidentialFee      = 16
	extConfidentialFeeHeld  = 17
	extMetadataPointer      = 18
	extMetadata             = 19
	extGroupPointer         = 20
	extGroup                = 21
	extMemberPointer        = 22
	extMember               = 23
	extConfidentialMintBurn = 24
	extScaledAmount         = 25
	extPausable             = 26
	extPausableAccount      = 27
	extPermissionedBurn     = 28
	extLast                 = 28
)

// extensionKind says whether an extension belongs to mints or token accounts, and the size of its value in bytes. -1
// is a varying size.
type extensionKind struct {
	of   byte
	size int
}

// kindOf is false for a number that no extension has.
func kindOf(extension uint16) (extensionKind, bool) {
	if extension > extLast {
		return extensionKind{}, false
	}
	return [extLast + 1]extensionKind{
		0:                       {kindNone, 0},
		extTransferFeeConfig:    {kindMint, 108},
		extTransferFeeAmount:    {kindAccount, 8},
		extMintCloseAuthority:   {kindMint, 32},
		extConfidentialMint:     {kindMint, 65},
		extConfidentialAccount:  {kindAccount, 295},
		extDefaultState:         {kindMint, 1},
		extImmutableOwner:       {kindAccount, 0},
		extMemoTransfer:         {kindAccount, 1},
		extNonTransferable:      {kindMint, 0},
		extInterest:             {kindMint, 52},
		extCPIGuard:             {kindAccount, 1},
		extPermanentDelegate:    {kindMint, 32},
		extNonTransferableOwned: {kindAccount, 0},
		extTransferHook:         {kindMint, 64},
		extTransferHookAccount:  {kindAccount, 1},
		extConfidentialFee:      {kindMint, 129},
		extConfidentialFeeHeld:  {kindAccount, 64},
		extMetadataPointer:      {kindMint, 64},
		extMetadata:             {kindMint, -1},
		extGroupPointer:         {kindMint, 64},
		extGroup:                {kindMint, 80},
		extMemberPointer:        {kindMint, 64},
		extMember:               {kindMint, 72},
		extConfidentialMintBurn: {kindMint, 196},
		extScaledAmount:         {kindMint, 56},
		extPausable:             {kindMint, 33},
		extPausableAccount:      {kindAccount, 0},
		extPermissionedBurn:     {kindMint, 32},
	}[extension], true
}

// extensionList is the data after kindAt: type (u16), length (u16) and value of each extension, until a type of 0 or
// the end.
type extensionList []byte

// extensionsOf is empty for data without extensions.
func extensionsOf(data []byte) extensionList {
	if len(data) <= extensionsAt {
		return nil
	}
	return data[extensionsAt:]
}

// find returns an extension's value, to read or to change in place. ok is false if the extension is missing, or if
// the list is malformed before it.
func (l extensionList) find(extension uint16) (value []byte, ok bool) {
	value, err := l.must(extension)
	return value, err == nil
}

// must is find with Token-2022's errors for a missing extension and a malformed list.
func (l extensionList) must(extension uint16) ([]byte, *InstructionError) {
	at, err := l.place(extension)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, custom(tokenExtensionNotFound)
	}
	// The length that is stored must fit into the data, and be the one that the type has.
	end := at + 4 + int(binary.LittleEndian.Uint16(l[at+2:]))
	if end > len(l) {
		return nil, refused("InvalidAccountData")
	}
	if kind, ok := kindOf(extension); ok && kind.size >= 0 && kind.size != end-at-4 {
		return nil, refused("InvalidArgument")
	}
	return l[at+4 : end : end], nil
}

// place is the offset of an extension, or -1 if the list ends before it.
func (l extensionList) place(extension uint16) (int, *InstructionError) {
	for at := 0; at < len(l); {
		if at+4 > len(l) {
			return 0, refused("InvalidAccountData")
		}
		switch binary.LittleEndian.Uint16(l[at:]) {
		case extension:
			return at, nil
		case 0:
			return -1, nil
		}
		at += 4 + int(binary.LittleEndian.Uint16(l[at+2:]))
	}
	return 0, refused("InvalidAccountData")
}

// types lists the extensions in their order, and how many bytes they take up.
func (l extensionList) types() (found []uint16, used int, err *InstructionError) {
	at := 0
	// The list ends with the data or with type 0; the bytes behind that are free.
	for at < len(l) {
		if at+2 > len(l) {
			break // one byte is left over, after a reallocation
		}
		extension := binary.LittleEndian.Uint16(l[at:])
		if _, ok := kindOf(extension); !ok {
			return nil, 0, refused("InvalidAccountData")
		}
		if extension == 0 {
			break
		}
		if at+4 > len(l) {
			return nil, 0, refused("InvalidAccountData")
		}
		end := at + 4 + int(binary.LittleEndian.Uint16(l[at+2:]))
		if end > len(l) {
			return nil, 0, refused("InvalidAccountData")
		}
		found = append(found, extension)
		at = end
	}
	return found, at, nil
}

// first is the type of the first extension, or 0 if there is none.
func (l extensionList) first() (uint16, *InstructionError) {
	if len(l) <= 2 {
		return 0, nil
	}
	extension := binary.LittleEndian.Uint16(l)
	if _, ok := kindOf(extension); !ok {
		return 0, refused("InvalidAccountData")
	}
	return extension, nil
}

// add makes room for an extension, or finds the one that is there, and fills its value with zeros. It fails if the
// account is too small: Reallocate has to come first.
func (l extensionList) add(extension uint16) ([]byte, *InstructionError) {
	kind, _ := kindOf(extension)
	// A missing extension goes to the first free place.
	at, err := l.place(extension)
	if at < 0 {
		at, _ = l.place(0)
	}
	if err != nil {
		return nil, err
	}
	if len(l)-at < 4+kind.size {
		return nil, refused("InvalidAccountData")
	}
	held := int(binary.LittleEndian.Uint16(l[at+2:]))
	if binary.LittleEndian.Uint16(l[at:]) == extension && held != kind.size {
		return nil, custom(tokenInvalidLength)
	}
	binary.LittleEndian.PutUint16(l[at:], extension)
	binary.LittleEndian.PutUint16(l[at+2:], uint16(kind.size))
	value := l[at+4 : at+4+kind.size]
	clear(value)
	return value, nil
}

// sizeWith is the size in bytes of an account of base bytes with these extensions, each counted once.
func sizeWith(base int, extensions []uint16) (int, *InstructionError) {
	if len(extensions) == 0 {
		return base, nil
	}
	size := extensionsAt
	for i, extension := range extensions {
		kind, _ := kindOf(extension)
		if kind.size < 0 {
			return 0, refused("InvalidArgument")
		}
		if !slices.Contains(extensions[:i], extension) {
			size += 4 + kind.size
		}
	}
	return notMultisig(size), nil
}

// notMultisig avoids the size of a multisig, which programs recognise by its size alone.
func notMultisig(size int) int {
	if size == multisigSize {
		size += 2
	}
	return size
}

// needed lists the extensions that a token account must have because of its mint's extensions.
func needed(ofMint []uint16) []uint16 {
	var list []uint16
	for _, extension := range ofMint {
		switch extension {
		case extTransferFeeConfig:
			list = append(list, extTransferFeeAmount)
		case extNonTransferable:
			list = append(list, extNonTransferableOwned, extImmutableOwner)
		case extTransferHook:
			list = append(list, extTransferHookAccount)
		case extPausable:
			list = append(list, extPausableAccount)
		}
	}
	return list
}

// unpack checks that data is a Token-2022 mint or token account, as kind says. With fresh set, it must be one that is
// not initialized yet; otherwise it must be initialized.
func unpack(data []byte, kind byte, fresh bool) *InstructionError {
	base, ready := accountSize, false
	if kind == kindMint {
		base = mintSize
	}
	if len(data) < base || len(data) == multisigSize {
		return refused("InvalidAccountData")
	}
	if kind == kindMint {
		ready = mintAccount(data).ready()
	} else {
		state := tokenAccount(data).state()
		ready = state == stateReady || state == stateFrozen
	}
	if fresh && ready {
		return custom(tokenInUse)
	}
	if !fresh && !ready {
		return refused("UninitializedAccount")
	}
	// Without extensions, exactly the base size is valid.
	if len(data) == base {
		return nil
	}
	// With extensions, the gap between a mint's base size and the kind must be zeros.
	if len(data) < extensionsAt || !zeroed(data[base:kindAt]) || data[kindAt] > kindAccount {
		return refused("InvalidAccountData")
	}
	if !fresh {
		if data[kindAt] != kind {
			return refused("InvalidAccountData")
		}
		return nil
	}
	if data[kindAt] != kindNone {
		return refused("InvalidAccountData")
	}
	first, err := extensionsOf(data).first()
	if err != nil {
		return err
	}
	if of, _ := kindOf(first); first != 0 && of.of != kind {
		return custom(tokenBaseMismatch)
	}
	return nil
}

// mintIn and holdingIn are what JSON-RPC and balances use: they accept valid data of either token program only.
func mintIn(a account) (mintAccount, bool) {
	if !isTokenProgram(a.Owner) || a.Owner == tokenProgram && len(a.Data) != mintSize {
		return nil, false
	}
	return mintAccount(a.Data), unpack(a.Data, kindMint, false) == nil
}

func holdingIn(a account) (tokenAccount, bool) {
	if !isTokenProgram(a.Owner) || a.Owner == tokenProgram && len(a.Data) != accountSize {
		return nil, false
	}
	return tokenAccount(a.Data), unpack(a.Data, kindAccount, false) == nil
}

// optionalKey reads an address of an extension. All zeros mean that it is not set.
func optionalKey(b []byte) (address, bool) {
	k := keyAt(b, 0)
	return k, !bytes.Equal(k[:], make([]byte, 32))
}
