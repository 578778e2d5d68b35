package solana

import "math"

// The instructions of the SPL Token program besides transfers. The order of the checks in each is the program's,
// because the first check that fails decides the error that a client sees.

// tokenApprove lets a delegate spend up to amount, in base units. It replaces an earlier delegate.
func (in *invocation) tokenApprove(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	mint, delegate, authority := withMint(checked)
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if source.frozen() {
		return custom(tokenFrozen)
	}
	if checked {
		if err := in.tokenDecimals(mint, source.mint(), decimals); err != nil {
			return err
		}
	}
	if err := in.authorized(authority, source.owner()); err != nil {
		return err
	}
	// A new approval replaces the earlier one, whatever is left of it.
	source.delegate()[0] = 1
	putKey(source.delegate(), 4, in.key(delegate))
	source.setDelegated(amount)
	return nil
}

// tokenRevoke removes the delegate. The delegate itself may do so too.
func (in *invocation) tokenRevoke() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	if source.frozen() {
		return custom(tokenFrozen)
	}
	// The delegate may give its allowance up.
	by := source.owner()
	if source.delegate().given() && source.delegate().key() == in.key(1) {
		by = in.key(1)
	}
	if err := in.authorized(1, by); err != nil {
		return err
	}
	source.delegate().drop()
	source.setDelegated(0)
	return nil
}

// tokenSetAuthority changes an authority: 0 mint, 1 freeze, 2 owner, 3 close. A removed mint or freeze authority
// never comes back.
func (in *invocation) tokenSetAuthority(d []byte) *InstructionError {
	if len(d) < 2 || d[0] > 3 || d[1] > 1 || d[1] == 1 && len(d) < 34 {
		return custom(tokenInvalidInstruction)
	}
	var next *address
	if d[1] == 1 {
		k := keyAt(d, 2)
		next = &k
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	// The size of the data tells a token account from a mint.
	switch len(in.account(0).Data) {
	case accountSize:
		return in.tokenSetHolder(d[0], next)
	case mintSize:
	default:
		return refused("InvalidArgument")
	}
	m, err := in.tokenIssue(0)
	if err != nil {
		return err
	}
	var o coption
	// The authority to change is an option in the mint; without a value it is gone for good.
	switch d[0] {
	case 0:
		if o = m.minter(); !o.given() {
			return custom(tokenFixedSupply)
		}
	case 1:
		if o = m.freezer(); !o.given() {
			return custom(tokenCannotFreeze)
		}
	default:
		return custom(tokenAuthorityType)
	}
	if err := in.authorized(1, o.key()); err != nil {
		return err
	}
	o.become(next)
	return nil
}

// become sets an option, or clears it for nil, in the way of this program.
func (o coption) become(k *address) {
	if k == nil {
		o.drop()
		return
	}
	o[0] = 1
	putKey(o, 4, *k)
}

// tokenSetHolder changes a token account's owner (2) or close authority (3). A new owner starts without delegate.
func (in *invocation) tokenSetHolder(kind byte, next *address) *InstructionError {
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if h.frozen() {
		return custom(tokenFrozen)
	}
	switch kind {
	case 2:
		if err := in.authorized(1, h.owner()); err != nil {
			return err
		}
		if next == nil {
			return custom(tokenInvalidInstruction)
		}
		// The delegate belonged to the earlier owner, and for wrapped SOL so did the close authority.
		putKey(h, 32, *next)
		h.delegate().drop()
		h.setDelegated(0)
		if h.native().given() {
			h.closer().drop()
		}
	case 3:
		if err := in.authorized(1, h.closedBy()); err != nil {
			return err
		}
		h.closer().become(next)
	default:
		return custom(tokenAuthorityType)
	}
	return nil
}

// closedBy is the key that may close the account: the close authority, or else the owner.
func (h tokenAccount) closedBy() address {
	if h.closer().given() {
		return h.closer().key()
	}
	return h.owner()
}

// tokenMintTo creates base units in account 1. Account 2 is the mint authority.
func (in *invocation) tokenMintTo(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	target, err := in.tokenHolding(1)
	if err != nil {
		return err
	}
	switch {
	case target.frozen():
		return custom(tokenFrozen)
	case target.native().given():
		return custom(tokenNativeUnsupported)
	case target.mint() != in.key(0):
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(0)
	if err != nil {
		return err
	}
	if checked && m.decimals() != decimals {
		return custom(tokenDecimals)
	}
	if !m.minter().given() {
		return custom(tokenFixedSupply)
	}
	if err := in.authorized(2, m.minter().key()); err != nil {
		return err
	}
	// An amount of 0 changes nothing, but the accounts must be this program's all the same.
	if amount == 0 {
		return in.owned(0, 1)
	}
	if m.supply() > math.MaxUint64-amount || target.amount() > math.MaxUint64-amount {
		return custom(tokenOverflow)
	}
	m.setSupply(m.supply() + amount)
	target.setAmount(target.amount() + amount)
	return nil
}

// tokenBurn destroys base units of account 0. Anyone may burn what the System program or the incinerator owns.
func (in *invocation) tokenBurn(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	m, err := in.tokenIssue(1)
	if err != nil {
		return err
	}
	switch {
	case source.frozen():
		return custom(tokenFrozen)
	case source.native().given():
		return custom(tokenNativeUnsupported)
	case source.amount() < amount:
		return custom(tokenShort)
	case source.mint() != in.key(1):
		return custom(tokenMintMismatch)
	case checked && m.decimals() != decimals:
		return custom(tokenDecimals)
	}
	// The owner or the delegate has to sign, unless nobody owns the account.
	if !unowned(source.owner()) {
		if err := in.tokenSpender(source, 2, amount, true); err != nil {
			return err
		}
	}
	if amount == 0 {
		return in.owned(0, 1)
	}
	source.setAmount(source.amount() - amount)
	m.setSupply(m.supply() - amount)
	return nil
}

// tokenClose deletes a token account with a balance of 0, or one of wrapped SOL, and sends its lamports to account 1.
func (in *invocation) tokenClose() *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	if in.same(0, 1) {
		return refused("InvalidAccountData")
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if !h.native().given() && h.amount() != 0 {
		return custom(tokenHasBalance)
	}
	// Accounts that nobody owns can be cleaned up by anyone, but their lamports go to the incinerator.
	if !unowned(h.owner()) {
		if err := in.authorized(2, h.closedBy()); err != nil {
			return err
		}
	} else if in.key(1) != incinerator {
		return refused("InvalidAccountData")
	}
	return in.remove(0, 1)
}

// remove sends all lamports of an account to another one, and returns it, empty, to the System program.
func (in *invocation) remove(i, to int) *InstructionError {
	if err := in.carry(i, to, in.account(i).Lamports); err != nil {
		return err
	}
	a := in.account(i)
	a.Data, a.Owner = nil, systemProgram
	return nil
}

// tokenFreeze freezes or thaws account 0. Account 2 is the freeze authority.
func (in *invocation) tokenFreeze(freeze bool) *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	switch {
	// Freezing a frozen account is an error, and so is thawing one that is not frozen.
	case h.frozen() == freeze:
		return custom(tokenInvalidState)
	case h.native().given():
		return custom(tokenNativeUnsupported)
	case h.mint() != in.key(1):
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(1)
	if err != nil {
		return err
	}
	if !m.freezer().given() {
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

// tokenSync counts lamports that were sent to the account as wrapped SOL.
func (in *invocation) tokenSync() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if !h.native().given() {
		return custom(tokenNotNative)
	}
	lamports := in.account(0).Lamports
	// The reserve stays what it was when the account was made; only the rest is wrapped SOL.
	if lamports < h.reserve() {
		return custom(tokenOverflow)
	}
	if lamports-h.reserve() < h.amount() {
		return custom(tokenInvalidState)
	}
	h.setAmount(lamports - h.reserve())
	return nil
}
