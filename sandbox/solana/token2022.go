package solana

import (
	"encoding/binary"
	"unicode/utf8"
)

// instruction2022 is one instruction of Token-2022: the name that it logs, the number of data bytes after its type (a
// minimum with loose, else exact), the compute units that it uses here, and its code.
type instruction2022 struct {
	name  string
	size  int
	loose bool
	units uint64
	run   func(*invocation, []byte) *InstructionError
}

// instructionOf2022 finds a base instruction by its first byte. Extensions with instructions of their own are in
// extensionOf2022.
//
// Long: one case for each instruction, by its number.
func instructionOf2022(kind byte) (do instruction2022, ok bool) {
	switch kind {
	case 0:
		return instruction2022{"InitializeMint", 34, true, 1400, func(in *invocation, d []byte) *InstructionError { return in.initMint(d, true) }}, true
	case 1:
		return instruction2022{"InitializeAccount", 0, true, 1895, func(in *invocation, _ []byte) *InstructionError { return in.initAccount(nil, true) }}, true
	case 3:
		return instruction2022{"Transfer", 8, false, 1456, func(in *invocation, d []byte) *InstructionError { return in.transfer2022(d, 0) }}, true
	case 4:
		return instruction2022{"Approve", 8, false, 1100, func(in *invocation, d []byte) *InstructionError { return in.approve(d, false) }}, true
	case 5:
		return instruction2022{"Revoke", 0, true, 1000, func(in *invocation, _ []byte) *InstructionError { return in.revoke() }}, true
	case 6:
		return instruction2022{"SetAuthority", 2, true, 1200, func(in *invocation, d []byte) *InstructionError { return in.setAuthority(d) }}, true
	case 7:
		return instruction2022{"MintTo", 8, false, 1500, func(in *invocation, d []byte) *InstructionError { return in.mintTo(d, false) }}, true
	case 8:
		return instruction2022{"Burn", 8, false, 1500, func(in *invocation, d []byte) *InstructionError { return in.burn(d, false) }}, true
	case 9:
		return instruction2022{"CloseAccount", 0, true, 1500, func(in *invocation, _ []byte) *InstructionError { return in.closeAccount() }}, true
	case 10:
		return instruction2022{"FreezeAccount", 0, true, 1300, func(in *invocation, _ []byte) *InstructionError { return in.freeze(true) }}, true
	case 11:
		return instruction2022{"ThawAccount", 0, true, 1300, func(in *invocation, _ []byte) *InstructionError { return in.freeze(false) }}, true
	case 12:
		return instruction2022{"TransferChecked", 9, false, 1900, func(in *invocation, d []byte) *InstructionError { return in.transfer2022(d, 1) }}, true
	case 13:
		return instruction2022{"ApproveChecked", 9, false, 1400, func(in *invocation, d []byte) *InstructionError { return in.approve(d, true) }}, true
	case 14:
		return instruction2022{"MintToChecked", 9, false, 1500, func(in *invocation, d []byte) *InstructionError { return in.mintTo(d, true) }}, true
	case 15:
		return instruction2022{"BurnChecked", 9, false, 1500, func(in *invocation, d []byte) *InstructionError { return in.burn(d, true) }}, true
	case 16:
		return instruction2022{"InitializeAccount2", 32, false, 1687, func(in *invocation, d []byte) *InstructionError { return in.initAccount(d, true) }}, true
	case 17:
		return instruction2022{"SyncNative", 0, true, 994, func(in *invocation, _ []byte) *InstructionError { return in.syncNative() }}, true
	case 18:
		return instruction2022{"InitializeAccount3", 32, false, 1567, func(in *invocation, d []byte) *InstructionError { return in.initAccount(d, false) }}, true
	case 20:
		return instruction2022{"InitializeMint2", 34, true, 1273, func(in *invocation, d []byte) *InstructionError { return in.initMint(d, false) }}, true
	case 21:
		return instruction2022{"GetAccountDataSize", 0, true, 820, func(in *invocation, d []byte) *InstructionError { return in.dataSize(d) }}, true
	case 22:
		return instruction2022{"InitializeImmutableOwner", 0, true, 1100, func(in *invocation, _ []byte) *InstructionError { return in.initImmutableOwner() }}, true
	case 23:
		return instruction2022{"AmountToUiAmount", 8, false, 1300, func(in *invocation, d []byte) *InstructionError { return in.toText(d) }}, true
	case 24:
		return instruction2022{"UiAmountToAmount", 0, true, 1350, func(in *invocation, d []byte) *InstructionError { return in.fromText(d) }}, true
	case 25:
		return instruction2022{"InitializeMintCloseAuthority", 1, true, 1200, func(in *invocation, d []byte) *InstructionError { return in.initMintCloser(d) }}, true
	case 29:
		return instruction2022{"Reallocate", 0, true, 2100, func(in *invocation, d []byte) *InstructionError { return in.reallocate(d) }}, true
	case 32:
		return instruction2022{"InitializeNonTransferableMint", 0, true, 1100, func(in *invocation, _ []byte) *InstructionError {
			_, err := in.newMintExtension(extNonTransferable)
			return err
		}}, true
	case 35:
		return instruction2022{"InitializePermanentDelegate", 32, false, 1200, func(in *invocation, d []byte) *InstructionError { return in.initPermanentDelegate(d) }}, true
	}
	return do, false
}

// extensionOf2022 finds the code of an extension's instructions. It parses the rest of the data and logs a name of
// its own.
func extensionOf2022(kind byte) func(*invocation, []byte) *InstructionError {
	switch kind {
	case 26:
		return (*invocation).transferFee
	case 28:
		return (*invocation).defaultState
	case 30:
		return func(in *invocation, d []byte) *InstructionError {
			return in.toggle(d, extMemoTransfer, "RequiredMemoTransfersInstruction")
		}
	case 34:
		return func(in *invocation, d []byte) *InstructionError {
			return in.toggle(d, extCPIGuard, "CpiGuardInstruction")
		}
	case 36:
		return (*invocation).transferHook
	case 39:
		return (*invocation).metadataPointer
	}
	return nil
}

// token2022 runs one instruction of the Token-2022 program. docs/sandbox-differences.md lists the instructions that
// are missing; they fail as unknown ones.
func (in *invocation) token2022() *InstructionError {
	return in.complain(in.dispatch2022(), tokenTexts)
}

func (in *invocation) dispatch2022() *InstructionError {
	if len(in.data) == 0 {
		return custom(tokenInvalidInstruction)
	}
	d := in.data[1:]
	// The data starts with the type; instructions of extensions have a second type after it.
	if run := extensionOf2022(in.data[0]); run != nil {
		return run(in, d)
	}
	do, ok := instructionOf2022(in.data[0])
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.spend(do.units); err != nil {
		return err
	}
	in.say("Instruction: %s", do.name)
	if len(d) < do.size || !do.loose && len(d) != do.size {
		return refused("InvalidInstructionData")
	}
	return do.run(in, d)
}

// readOption reads the optional address at the end of an instruction.
func readOption(d []byte) (k address, given bool, err *InstructionError) {
	switch {
	case len(d) > 0 && d[0] == 0:
		return k, false, nil
	case len(d) >= 33 && d[0] == 1:
		return keyAt(d, 1), true, nil
	}
	return k, false, refused("InvalidInstructionData")
}

// unpacked reads account i of this program as an initialized mint or token account with its extensions.
func (in *invocation) unpacked(i int, kind byte) ([]byte, *InstructionError) {
	if err := in.owned(i); err != nil {
		return nil, err
	}
	data := in.account(i).Data
	return data, unpack(data, kind, false)
}

// blank reads account i as one that is about to become a mint or token account.
func (in *invocation) blank(i int, kind byte) ([]byte, *InstructionError) {
	if err := in.owned(i); err != nil {
		return nil, err
	}
	data := in.account(i).Data
	return data, unpack(data, kind, true)
}

// heldBy reads account i as an initialized token account of this program.
func (in *invocation) heldBy(i int) (tokenAccount, *InstructionError) {
	data, err := in.unpacked(i, kindAccount)
	return data, err
}

// issuedBy reads account i as an initialized mint of this program.
func (in *invocation) issuedBy(i int) (mintAccount, *InstructionError) {
	data, err := in.unpacked(i, kindMint)
	return data, err
}

// initMint initializes a mint. Its extensions must have been added before, and must fill the account exactly.
func (in *invocation) initMint(d []byte, withRent bool) *InstructionError {
	freezer, canFreeze, err := readOption(d[33:])
	if err != nil {
		return err
	}
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	// Only the older instruction passes the Rent sysvar as an account.
	if withRent {
		if err := in.atLeast(2); err != nil {
			return err
		}
		if err := in.rentAccount(1); err != nil {
			return err
		}
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	data, err := in.blank(0, kindMint)
	if err != nil {
		return err
	}
	m := mintAccount(data)
	list := m.extensions()
	types, _, err := list.types()
	if err != nil {
		return err
	}
	size, err := sizeWith(mintSize, types)
	if err != nil {
		return err
	}
	// A mint must be exactly as large as its extensions need.
	if size != len(data) {
		return refused("InvalidAccountData")
	}
	if state, ok := list.find(extDefaultState); ok {
		if state[0] > stateFrozen {
			return refused("InvalidAccountData")
		}
		if state[0] == stateFrozen && !canFreeze {
			return custom(tokenCannotFreeze)
		}
	}
	m.minter().set(keyAt(d, 1))
	m[44], m[45] = d[0], 1
	m.freezer().clear()
	if canFreeze {
		m.freezer().set(freezer)
	}
	return markKind(data, kindMint)
}

// markKind writes whether an account with extensions is a mint or a token account. A plain account has no room for
// that.
func markKind(data []byte, kind byte) *InstructionError {
	if len(data) <= kindAt {
		return nil
	}
	first, err := extensionsOf(data).first()
	if err != nil {
		return err
	}
	if of, _ := kindOf(first); first != 0 && of.of != kind {
		return custom(tokenBaseMismatch)
	}
	data[kindAt] = kind
	return nil
}

// initAccount is InitializeAccount of Token-2022 in its three forms: the owner is an account, or in the data (d).
//
// Long: its checks stand in the order of the program, as the first that fails names the error.
func (in *invocation) initAccount(d []byte, withRent bool) *InstructionError {
	n := 3
	if d != nil {
		n = 2
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	if err := in.owned(0, 1); err != nil {
		return err
	}
	if err := in.atLeast(n); err != nil {
		return err
	}
	if withRent {
		if err := in.atLeast(n + 1); err != nil {
			return err
		}
		if err := in.rentAccount(n); err != nil {
			return err
		}
	}
	data, err := in.blank(0, kindAccount)
	if err != nil {
		return err
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	m, err := in.issuedBy(1)
	if err != nil {
		return custom(tokenInvalidMint)
	}
	if _, ok := m.permanentDelegate(); ok {
		in.say("Warning: Mint has a permanent delegate, so tokens in this account may be seized at any time")
	}
	required, err := in.requiredBy(1, m)
	if err != nil {
		return err
	}
	size, err := sizeWith(accountSize, required)
	if err != nil {
		return err
	}
	if size > len(data) {
		return refused("InvalidAccountData")
	}
	h := tokenAccount(data)
	// The mint decides which extensions its accounts have, and the state that they start in.
	for _, extension := range required {
		if _, err := h.extensions().add(extension); err != nil {
			return err
		}
	}
	state := byte(stateReady)
	if preset, ok := m.extensions().find(extDefaultState); ok {
		if state = preset[0]; state > stateFrozen {
			return refused("InvalidAccountData")
		}
	}
	putKey(h, 0, in.key(1))
	if d != nil {
		putKey(h, 32, keyAt(d, 0))
	} else {
		putKey(h, 32, in.key(2))
	}
	h.closer().clear()
	h.delegate().clear()
	h.setDelegated(0)
	h[108] = state
	h.native().clear()
	h.setAmount(0)
	// Wrapped SOL: the amount is every lamport above the rent minimum.
	if in.key(1) == nativeMint2022 {
		reserve := in.rent.minimum(len(data))
		h.native().setU64(reserve)
		h.setAmount(in.account(0).Lamports - reserve)
	}
	return markKind(data, kindAccount)
}

// requiredBy lists the extensions that the accounts of the mint in account i must have.
func (in *invocation) requiredBy(i int, m mintAccount) ([]uint16, *InstructionError) {
	if err := in.owned(i); err != nil {
		return nil, err
	}
	types, _, err := m.extensions().types()
	return needed(types), err
}

// permanentDelegate is the key that may move and burn the tokens of every holder, if there is one.
func (m mintAccount) permanentDelegate() (address, bool) {
	if value, ok := m.extensions().find(extPermanentDelegate); ok {
		return optionalKey(value)
	}
	return address{}, false
}

// paused says whether the mint's authority has paused all transfers, minting and burning.
func (m mintAccount) paused() bool {
	value, ok := m.extensions().find(extPausable)
	return ok && value[32] != 0
}

// guarded says whether the account's CPI guard applies: it does when another program made the call.
func (in *invocation) guarded(h tokenAccount) bool {
	return in.depth > 1 && h.guard()
}

func (h tokenAccount) guard() bool {
	value, ok := h.extensions().find(extCPIGuard)
	return ok && value[0] != 0
}

func (h tokenAccount) has(extension uint16) bool {
	_, ok := h.extensions().find(extension)
	return ok
}

// decimalsMatch requires account i to be the given mint, with these decimals.
func (in *invocation) decimalsMatch(i int, mint address, decimals byte) (mintAccount, *InstructionError) {
	if err := in.owned(i); err != nil {
		return nil, err
	}
	if in.key(i) != mint {
		return nil, custom(tokenMintMismatch)
	}
	m, err := in.issuedBy(i)
	if err != nil {
		return nil, err
	}
	if m.decimals() != decimals {
		return nil, custom(tokenDecimals)
	}
	return m, nil
}

// readTypes reads the list of extension types at the end of an instruction.
func readTypes(d []byte) ([]uint16, *InstructionError) {
	var types []uint16
	for ; len(d) > 0; d = d[2:] {
		if len(d) < 2 {
			return nil, refused("InvalidAccountData")
		}
		extension := binary.LittleEndian.Uint16(d)
		if _, ok := kindOf(extension); !ok {
			return nil, refused("InvalidAccountData")
		}
		types = append(types, extension)
	}
	return types, nil
}

// ofAccounts says whether all types are extensions of token accounts.
func ofAccounts(types []uint16) bool {
	for _, extension := range types {
		if kind, _ := kindOf(extension); kind.of != kindAccount {
			return false
		}
	}
	return true
}

// dataSize returns the size in bytes of a token account of this mint, with the given extensions added.
func (in *invocation) dataSize(d []byte) *InstructionError {
	types, err := readTypes(d)
	if err != nil {
		return err
	}
	if !ofAccounts(types) {
		return custom(tokenTypeMismatch)
	}
	m, err := in.ownMint()
	if err != nil {
		return err
	}
	required, err := in.requiredBy(0, m)
	if err != nil {
		return err
	}
	size, err := sizeWith(accountSize, append(required, types...))
	if err != nil {
		return err
	}
	in.give(binary.LittleEndian.AppendUint64(nil, uint64(size)))
	if len(m) > mintSize {
		return in.spend(unitsOfExtensions + 150*uint64(len(types)))
	}
	return in.spend(150 * uint64(len(types)))
}

func (in *invocation) toText(d []byte) *InstructionError {
	m, err := in.ownMint()
	if err != nil {
		return err
	}
	in.give([]byte(decimal(binary.LittleEndian.Uint64(d), m.decimals())))
	return nil
}

func (in *invocation) fromText(d []byte) *InstructionError {
	if !utf8.Valid(d) {
		return custom(tokenInvalidInstruction)
	}
	m, err := in.ownMint()
	if err != nil {
		return err
	}
	amount, ok := units(string(d), m.decimals())
	if !ok {
		return refused("InvalidArgument")
	}
	in.give(binary.LittleEndian.AppendUint64(nil, amount))
	return nil
}

// ownMint requires account 0 to be a mint of this program.
func (in *invocation) ownMint() (mintAccount, *InstructionError) {
	if err := in.atLeast(1); err != nil {
		return nil, err
	}
	if err := in.owned(0); err != nil {
		return nil, err
	}
	m, err := in.issuedBy(0)
	if err != nil {
		return nil, custom(tokenInvalidMint)
	}
	return m, nil
}
