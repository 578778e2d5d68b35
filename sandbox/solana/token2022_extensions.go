package solana

// newMintExtension adds an extension to account 0, a mint that is not initialized yet, and returns its value to be
// filled in.
func (in *invocation) newMintExtension(extension uint16) ([]byte, *InstructionError) {
	if err := in.atLeast(1); err != nil {
		return nil, err
	}
	data, err := in.blank(0, kindMint)
	if err != nil {
		return nil, err
	}
	return extensionsOf(data).add(extension)
}

// initImmutableOwner adds the extension to an account before it is initialized. The owner can never change then.
func (in *invocation) initImmutableOwner() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	data, err := in.blank(0, kindAccount)
	if err != nil {
		return err
	}
	_, err = extensionsOf(data).add(extImmutableOwner)
	return err
}

// initMintCloser adds the authority that may close the mint once its supply is 0.
func (in *invocation) initMintCloser(d []byte) *InstructionError {
	closer, given, err := readOption(d)
	if err != nil {
		return err
	}
	value, err := in.newMintExtension(extMintCloseAuthority)
	if err != nil {
		return err
	}
	return writeOptional(value, closer, given)
}

// writeOptional writes an address that may be absent. Zeros mean absent, so an address of zeros is refused.
func writeOptional(value []byte, k address, given bool) *InstructionError {
	if given && k == (address{}) {
		return refused("InvalidArgument")
	}
	putKey(value, 0, k)
	return nil
}

// initPermanentDelegate adds the key that may move and burn every holder's tokens.
func (in *invocation) initPermanentDelegate(d []byte) *InstructionError {
	value, err := in.newMintExtension(extPermanentDelegate)
	if err != nil {
		return err
	}
	return writeOptional(value, keyAt(d, 0), true)
}

// authorityTypes are the authorities of a mint that are stored in extensions: the extension, and the offset in its
// value.
var authorityTypes = map[byte]struct {
	extension uint16
	at        int
}{
	4: {extTransferFeeConfig, 0}, 5: {extTransferFeeConfig, 32}, 6: {extMintCloseAuthority, 0}, 7: {extInterest, 0},
	8: {extPermanentDelegate, 0}, 9: {extConfidentialMint, 0}, 10: {extTransferHook, 0}, 11: {extConfidentialFee, 0},
	12: {extMetadataPointer, 0}, 13: {extGroupPointer, 0}, 14: {extMemberPointer, 0}, 15: {extScaledAmount, 0},
	16: {extPausable, 0}, 17: {extPermissionedBurn, 0},
}

// lastAuthorityType is the highest number that SetAuthority accepts.
const lastAuthorityType = 17

// setAuthority changes or removes an authority of a token account or mint. Account 1 is the present authority.
func (in *invocation) setAuthority(d []byte) *InstructionError {
	next, given, err := readOption(d[1:])
	if err != nil {
		return err
	}
	if d[0] > lastAuthorityType {
		return custom(tokenInvalidInstruction)
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	// The account is a token account if it reads as one, otherwise it must be a mint.
	if h, err := in.heldBy(0); err == nil {
		return in.setHolder(h, d[0], next, given)
	}
	m, err := in.issuedBy(0)
	if err != nil {
		return refused("InvalidAccountData")
	}
	// Types 0 and 1 are the mint and freeze authority, stored in the mint itself; a removed one never comes back.
	if d[0] <= 1 {
		o, missing := m.minter(), uint32(tokenFixedSupply)
		if d[0] == 1 {
			o, missing = m.freezer(), tokenCannotFreeze
		}
		if !o.some() {
			return custom(missing)
		}
		if err := in.authorized(1, o.key()); err != nil {
			return err
		}
		o.write(next, given)
		return nil
	}
	// All other authorities of a mint are stored in an extension.
	place, ok := authorityTypes[d[0]]
	if !ok {
		return custom(tokenAuthorityType)
	}
	value, err := m.extensions().must(place.extension)
	if err != nil {
		return err
	}
	authority, ok := optionalKey(value[place.at:])
	if !ok {
		return custom(tokenAuthorityType)
	}
	if err := in.authorized(1, authority); err != nil {
		return err
	}
	return writeOptional(value[place.at:], next, given)
}

// write sets an option, or clears it if nothing is given.
func (o coption) write(k address, given bool) {
	o.clear()
	if given {
		o.set(k)
	}
}

// setHolder changes a token account's owner (2) or close authority (3).
func (in *invocation) setHolder(h tokenAccount, kind byte, next address, given bool) *InstructionError {
	if h.frozen() {
		return custom(tokenFrozen)
	}
	switch kind {
	case 2:
		if err := in.authorized(1, h.owner()); err != nil {
			return err
		}
		switch {
		case h.has(extImmutableOwner):
			return custom(tokenImmutableOwner)
		case in.guarded(h):
			return custom(tokenGuardAuthority)
		case h.guard():
			return custom(tokenGuardOwner)
		case !given:
			return custom(tokenInvalidInstruction)
		}
		// The delegate belonged to the earlier owner, and for wrapped SOL so did the close authority.
		putKey(h, 32, next)
		h.delegate().clear()
		h.setDelegated(0)
		if h.native().some() {
			h.closer().clear()
		}
	case 3:
		by := h.owner()
		if !h.closer().none() {
			by = h.closer().key()
		}
		if err := in.authorized(1, by); err != nil {
			return err
		}
		if given && in.guarded(h) {
			return custom(tokenGuardAuthority)
		}
		h.closer().write(next, given)
	default:
		return custom(tokenAuthorityType)
	}
	return nil
}

// reallocate makes room for extensions in an account that exists. Account 1 pays the additional rent.
func (in *invocation) reallocate(d []byte) *InstructionError {
	types, err := readTypes(d)
	if err != nil {
		return err
	}
	if err := in.atLeast(4); err != nil {
		return err
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	if err := in.authorized(3, h.owner()); err != nil {
		return err
	}
	present, _, err := h.extensions().types()
	if err != nil {
		return err
	}
	if !ofAccounts(types) {
		return custom(tokenInvalidState)
	}
	size, err := sizeWith(accountSize, append(present, types...))
	if err != nil {
		return err
	}
	a := in.account(0)
	// The account is large enough already.
	if len(a.Data) >= size {
		return nil
	}
	// The amount of wrapped SOL stays; only the rent reserve grows.
	native, reserve := uint64(0), in.rent.minimum(size)
	if h.native().some() {
		native = h.amount()
	}
	in.say("account needs resize, +%d bytes", size-len(a.Data))
	a.Data = resized(a.Data, size)
	if err := in.spend(unitsOfResize); err != nil {
		return err
	}
	// Wrapped SOL must not be counted as rent.
	if a.Lamports < native {
		return custom(tokenOverflow)
	}
	if spare := a.Lamports - native; spare < reserve {
		if err := in.callTransfer(in.key(1), in.key(0), reserve-spare); err != nil {
			return err
		}
	}
	h = tokenAccount(in.account(0).Data)
	if h[kindAt] == kindNone {
		h[kindAt] = kindAccount
	}
	if h.native().some() {
		h.native().setU64(reserve)
	}
	return nil
}

// defaultState runs the instructions that set the state of a mint's new accounts: Initialize (0) and Update (1).
func (in *invocation) defaultState(d []byte) *InstructionError {
	if err := in.spend(unitsOf2022Extension); err != nil {
		return err
	}
	if len(d) != 2 || d[0] > 1 || d[1] > stateFrozen {
		return custom(tokenInvalidInstruction)
	}
	state := d[1]
	if d[0] == 0 {
		in.say("DefaultAccountStateInstruction::Initialize")
	} else {
		in.say("DefaultAccountStateInstruction::Update")
	}
	if state == stateNone {
		return custom(tokenInvalidState)
	}
	if err := in.atLeast(int(d[0]) + 1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	if d[0] == 0 {
		value, err := in.newMintExtension(extDefaultState)
		if err != nil {
			return err
		}
		value[0] = state
		return nil
	}
	m, err := in.issuedBy(0)
	if err != nil {
		return err
	}
	if !m.freezer().some() {
		return custom(tokenNoAuthority)
	}
	if err := in.authorized(1, m.freezer().key()); err != nil {
		return err
	}
	value, err := m.extensions().must(extDefaultState)
	if err != nil {
		return err
	}
	value[0] = state
	return nil
}

// toggle switches an account's required memos or its CPI guard on (0) or off (1). The extension is added when it is
// missing.
func (in *invocation) toggle(d []byte, extension uint16, name string) *InstructionError {
	if err := in.spend(unitsOf2022Extension); err != nil {
		return err
	}
	if len(d) == 0 {
		return refused("InvalidInstructionData")
	}
	if d[0] > 1 {
		return custom(tokenInvalidInstruction)
	}
	in.say("%s::%s", name, [2]string{"Enable", "Disable"}[d[0]])
	if err := in.atLeast(2); err != nil {
		return err
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	if err := in.authorized(1, h.owner()); err != nil {
		return err
	}
	if extension == extCPIGuard && in.depth > 1 {
		return custom(tokenGuardLocked)
	}
	// The extension may be there already, from Reallocate or an earlier call.
	value, ok := h.extensions().find(extension)
	if !ok {
		if value, err = h.extensions().add(extension); err != nil {
			return err
		}
	}
	value[0] = 1 - d[0]
	return nil
}

// pointer runs the instructions of an extension that has an authority and an address: Initialize (0: both) and Update
// (1: the address). allowed checks the address. missing is the log line for neither.
func (in *invocation) pointer(d []byte, extension uint16, name, missing string, allowed func(address) *InstructionError) *InstructionError {
	if err := in.spend(unitsOf2022Extension); err != nil {
		return err
	}
	if len(d) == 0 || d[0] > 1 {
		return custom(tokenInvalidInstruction)
	}
	update := d[0] == 1
	in.say("%s::%s", name, [2]string{"Initialize", "Update"}[d[0]])
	if d = d[1:]; !update && len(d) != 64 || update && len(d) != 32 {
		return refused("InvalidInstructionData")
	}
	// Initialize comes before the mint is initialized and needs no signature.
	if !update {
		if err := in.atLeast(1); err != nil {
			return err
		}
		if err := in.owned(0); err != nil {
			return err
		}
		value, err := in.newMintExtension(extension)
		if err != nil {
			return err
		}
		// Authority or address may be absent, but not both.
		target, given := optionalKey(d[32:])
		if _, set := optionalKey(d); !given && !set {
			in.say("%s", missing)
			return custom(tokenInvalidInstruction)
		}
		copy(value, d)
		return allowed(target)
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	value, err := in.mintExtension(0, extension)
	if err != nil {
		return err
	}
	if err := in.authorizedBy(1, value); err != nil {
		return err
	}
	copy(value[32:], d)
	return allowed(keyAt(d, 0))
}

// metadataPointer names the account that has the token's metadata. Any address is allowed.
func (in *invocation) metadataPointer(d []byte) *InstructionError {
	return in.pointer(d, extMetadataPointer, "MetadataPointerInstruction",
		"The metadata pointer extension requires at least an authority or an address for initialization, neither was provided",
		func(address) *InstructionError { return nil })
}

// transferHook names the program to call on each transfer. It cannot be the token program itself.
func (in *invocation) transferHook(d []byte) *InstructionError {
	return in.pointer(d, extTransferHook, "TransferHookInstruction",
		"The transfer hook extension requires at least an authority or a program id for initialization, neither was provided",
		func(target address) *InstructionError {
			if target == in.program {
				return refused("IncorrectProgramId")
			}
			return nil
		})
}

// About how many compute units the instructions of extensions use, and how many the extensions add to other
// instructions.
const (
	unitsOf2022Extension = 1300
	unitsOfExtensions    = 450
	unitsOfFee           = 1000
	unitsOfResize        = 600
	unitsOfMemoCheck     = 600
	unitsOfBase58        = 1900 // for an address in a log line
)
