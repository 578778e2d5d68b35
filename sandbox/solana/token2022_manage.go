package solana

import "math"

// The instructions of Token-2022 besides transfers. The order of the checks in each is the program's, because the
// first check that fails decides the error that a client sees.

// approve lets a delegate spend up to amount, in base units. It replaces an earlier delegate.
func (in *invocation) approve(d []byte, checked bool) *InstructionError {
	amount, decimals, _ := amounts(d, checked)
	mint, delegate, authority := withMint(checked)
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	if h.frozen() {
		return custom(tokenFrozen)
	}
	if checked {
		if _, err := in.decimalsMatch(mint, h.mint(), decimals); err != nil {
			return err
		}
	}
	// Only the owner may approve; a delegate cannot pass its allowance on.
	if err := in.authorized(authority, h.owner()); err != nil {
		return err
	}
	if in.guarded(h) {
		return custom(tokenGuardApprove)
	}
	h.delegate().set(in.key(delegate))
	h.setDelegated(amount)
	return nil
}

// revoke removes the delegate. The delegate itself may do so too.
func (in *invocation) revoke() *InstructionError {
	if err := in.atLeast(2); err != nil {
		return err
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	if h.frozen() {
		return custom(tokenFrozen)
	}
	// The delegate may give its allowance up.
	by := h.owner()
	if h.delegate().is(in.key(1)) {
		by = in.key(1)
	}
	if err := in.authorized(1, by); err != nil {
		return err
	}
	h.delegate().clear()
	h.setDelegated(0)
	return nil
}

// mintTo creates base units in account 1; account 2 is the mint authority.
func (in *invocation) mintTo(d []byte, checked bool) *InstructionError {
	amount, decimals, _ := amounts(d, checked)
	if err := in.atLeast(3); err != nil {
		return err
	}
	if err := in.owned(0, 1); err != nil {
		return err
	}
	h, err := in.heldBy(1)
	if err != nil {
		return err
	}
	switch {
	case h.frozen():
		return custom(tokenFrozen)
	case h.native().some():
		return custom(tokenNativeUnsupported)
	case h.mint() != in.key(0):
		return custom(tokenMintMismatch)
	}
	m, err := in.issuedBy(0)
	if err != nil {
		return err
	}
	// The extensions of the mint decide whether these tokens may be created at all.
	_, nonTransferable := m.extensions().find(extNonTransferable)
	_, confidential := m.extensions().find(extConfidentialMintBurn)
	switch {
	case nonTransferable && !(h.has(extImmutableOwner) && h.has(extNonTransferableOwned)):
		return custom(tokenNeedsImmutable)
	case m.paused():
		return custom(tokenPaused)
	case confidential:
		return custom(tokenNoMintBurn)
	case checked && m.decimals() != decimals:
		return custom(tokenDecimals)
	case !m.minter().some():
		return custom(tokenFixedSupply)
	}
	if err := in.authorized(2, m.minter().key()); err != nil {
		return err
	}
	// Neither the account nor the supply may exceed a u64.
	if h.amount() > math.MaxUint64-amount || m.supply() > math.MaxUint64-amount {
		return custom(tokenOverflow)
	}
	h.setAmount(h.amount() + amount)
	m.setSupply(m.supply() + amount)
	return nil
}

// burn destroys base units of account 0. Anyone may burn what the System program or the incinerator owns.
func (in *invocation) burn(d []byte, checked bool) *InstructionError {
	amount, decimals, _ := amounts(d, checked)
	if err := in.atLeast(2); err != nil {
		return err
	}
	if err := in.owned(0, 1); err != nil {
		return err
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	m, err := in.issuedBy(1)
	if err != nil {
		return err
	}
	// A mint with a burn authority refuses the ordinary Burn.
	if value, ok := m.extensions().find(extPermissionedBurn); ok {
		if _, set := optionalKey(value); set {
			return custom(tokenInvalidInstruction)
		}
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	switch {
	case h.frozen():
		return custom(tokenFrozen)
	case h.native().some():
		return custom(tokenNativeUnsupported)
	case h.amount() < amount:
		return custom(tokenShort)
	case h.mint() != in.key(1):
		return custom(tokenMintMismatch)
	case checked && m.decimals() != decimals:
		return custom(tokenDecimals)
	case m.paused():
		return custom(tokenPaused)
	case in.key(2) == h.owner() && in.guarded(h):
		return custom(tokenGuardBurn)
	}
	// The owner, the delegate or the permanent delegate has to sign, unless nobody owns the account.
	if !unowned(h.owner()) {
		if err := in.spender(h, m, 2, amount, true); err != nil {
			return err
		}
	}
	if m.supply() < amount {
		return custom(tokenOverflow)
	}
	h.setAmount(h.amount() - amount)
	m.setSupply(m.supply() - amount)
	return nil
}

// spender requires account i to be the permanent delegate, the delegate with a sufficient allowance, or the owner.
// With spend set, a delegate's allowance shrinks by amount. m is nil for a transfer that does not name the mint.
func (in *invocation) spender(h tokenAccount, m mintAccount, i int, amount uint64, spend bool) *InstructionError {
	if m != nil {
		if permanent, ok := m.permanentDelegate(); ok && in.key(i) == permanent {
			return in.authorized(i, permanent)
		}
	}
	if !h.delegate().is(in.key(i)) {
		return in.authorized(i, h.owner())
	}
	if err := in.authorized(i, in.key(i)); err != nil {
		return err
	}
	if h.delegated() < amount {
		return custom(tokenShort)
	}
	if spend {
		h.setDelegated(h.delegated() - amount)
		if h.delegated() == 0 {
			h.delegate().clear()
		}
	}
	return nil
}

// closeAccount deletes a token account or a mint without supply, and sends its lamports to account 1.
func (in *invocation) closeAccount() *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	if in.same(0, 1) {
		return refused("InvalidAccountData")
	}
	if err := in.owned(0); err != nil {
		return err
	}
	// The same instruction closes token accounts and mints. Their layouts tell them apart.
	if h, err := in.heldBy(0); err == nil {
		if err := in.closable(h); err != nil {
			return err
		}
	} else if m, err := in.issuedBy(0); err == nil {
		value, err := m.extensions().must(extMintCloseAuthority)
		if err != nil {
			return err
		}
		closer, ok := optionalKey(value)
		if !ok {
			return custom(tokenAuthorityType)
		}
		if err := in.authorized(2, closer); err != nil {
			return err
		}
		if m.supply() != 0 {
			return custom(tokenMintHasSupply)
		}
	} else {
		return refused("UninitializedAccount")
	}
	return in.remove(0, 1)
}

// closable makes the checks for a token account: no balance, no withheld fees, and the authority to close.
func (in *invocation) closable(h tokenAccount) *InstructionError {
	if !h.native().some() && h.amount() != 0 {
		return custom(tokenHasBalance)
	}
	// Accounts that nobody owns can be cleaned up by anyone, but their lamports go to the incinerator.
	if unowned(h.owner()) {
		if in.key(1) != incinerator {
			return refused("InvalidAccountData")
		}
	} else {
		if in.guarded(h) && in.key(1) != h.owner() {
			return custom(tokenGuardClose)
		}
		by := h.owner()
		if !h.closer().none() {
			by = h.closer().key()
		}
		if err := in.authorized(2, by); err != nil {
			return err
		}
	}
	// Fees that are still withheld would be lost; harvest has to come first.
	if value, ok := h.extensions().find(extTransferFeeAmount); ok && u64At(value, 0) != 0 {
		return custom(tokenWithheldFees)
	}
	return nil
}

// freeze freezes or thaws account 0. Account 2 is the freeze authority.
func (in *invocation) freeze(freeze bool) *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	if err := in.owned(0, 1); err != nil {
		return err
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	// Freezing a frozen account is an error, and so is thawing one that is not frozen.
	switch {
	case h.frozen() == freeze:
		return custom(tokenInvalidState)
	case h.native().some():
		return custom(tokenNativeUnsupported)
	case h.mint() != in.key(1):
		return custom(tokenMintMismatch)
	}
	m, err := in.issuedBy(1)
	if err != nil {
		return err
	}
	if !m.freezer().some() {
		return custom(tokenCannotFreeze)
	}
	if err := in.authorized(2, m.freezer().key()); err != nil {
		return err
	}
	h[108] = stateReady
	if freeze {
		h[108] = stateFrozen
	}
	return nil
}

// syncNative counts lamports that were sent to the account as wrapped SOL.
func (in *invocation) syncNative() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	if len(in.accounts) > 1 {
		if err := in.rentAccount(1); err != nil {
			return err
		}
	}
	h, err := in.heldBy(0)
	if err != nil {
		return err
	}
	if !h.native().some() {
		return custom(tokenNotNative)
	}
	// Everything above the rent minimum counts as wrapped SOL.
	reserve, lamports := in.rent.minimum(len(h)), in.account(0).Lamports
	if lamports < reserve {
		return custom(tokenOverflow)
	}
	h.native().setU64(reserve)
	h.setAmount(lamports - reserve)
	return nil
}
