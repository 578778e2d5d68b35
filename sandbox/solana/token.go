package solana

import (
	"encoding/binary"
	"math"
)

// tokenInstructions are the SPL Token program's instructions by their first byte, with the compute units that each
// uses here. The program's present form (SIMD-0266) logs nothing but errors. Read-only after start.
var tokenInstructions = map[byte]struct {
	run   func(*invocation, []byte) *InstructionError
	units uint64
}{
	0:  {func(in *invocation, d []byte) *InstructionError { return in.tokenMint(d, true) }, 150},
	1:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenAccount(nil, true) }, 200},
	3:  {func(in *invocation, d []byte) *InstructionError { return in.tokenTransfer(d, false) }, 76},
	4:  {func(in *invocation, d []byte) *InstructionError { return in.tokenApprove(d, false) }, 124},
	5:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenRevoke() }, 99},
	6:  {func(in *invocation, d []byte) *InstructionError { return in.tokenSetAuthority(d) }, 130},
	7:  {func(in *invocation, d []byte) *InstructionError { return in.tokenMintTo(d, false) }, 119},
	8:  {func(in *invocation, d []byte) *InstructionError { return in.tokenBurn(d, false) }, 126},
	9:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenClose() }, 120},
	10: {func(in *invocation, _ []byte) *InstructionError { return in.tokenFreeze(true) }, 146},
	11: {func(in *invocation, _ []byte) *InstructionError { return in.tokenFreeze(false) }, 143},
	12: {func(in *invocation, d []byte) *InstructionError { return in.tokenTransfer(d, true) }, 105},
	13: {func(in *invocation, d []byte) *InstructionError { return in.tokenApprove(d, true) }, 164},
	14: {func(in *invocation, d []byte) *InstructionError { return in.tokenMintTo(d, true) }, 164},
	15: {func(in *invocation, d []byte) *InstructionError { return in.tokenBurn(d, true) }, 129},
	16: {func(in *invocation, d []byte) *InstructionError { return in.tokenAccount(d, true) }, 172},
	17: {func(in *invocation, _ []byte) *InstructionError { return in.tokenSync() }, 201},
	18: {func(in *invocation, d []byte) *InstructionError { return in.tokenAccount(d, false) }, 240},
	20: {func(in *invocation, d []byte) *InstructionError { return in.tokenMint(d, false) }, 230},
	21: {func(in *invocation, _ []byte) *InstructionError { return in.tokenDataSize() }, 183},
	22: {func(in *invocation, _ []byte) *InstructionError { return in.tokenImmutableOwner() }, 38},
	23: {func(in *invocation, d []byte) *InstructionError { return in.tokenToText(d) }, 350},
	24: {func(in *invocation, d []byte) *InstructionError { return in.tokenFromText(d) }, 540},
}

// token runs one instruction of the SPL Token program. Multisigs, batches and the recovery of excess lamports are not
// implemented (docs/sandbox-differences.md).
func (in *invocation) token() *InstructionError {
	if len(in.data) == 0 {
		return custom(tokenInvalidInstruction)
	}
	do, ok := tokenInstructions[in.data[0]]
	if !ok {
		return in.complain(custom(tokenInvalidInstruction), tokenTexts)
	}
	if err := in.spend(do.units); err != nil {
		return err
	}
	return in.complain(do.run(in, in.data[1:]), tokenTexts)
}

// atLeast refuses an instruction of a compiled program with fewer accounts than it takes.
func (in *invocation) atLeast(n int) *InstructionError {
	if len(in.accounts) < n {
		return refused("NotEnoughAccountKeys")
	}
	return nil
}

// tokenHolding reads account i, whose data must be an initialized token account. It does not check the owner program:
// a write to a foreign account fails later, in judge.
func (in *invocation) tokenHolding(i int) (tokenAccount, *InstructionError) {
	h := tokenAccount(in.account(i).Data)
	switch {
	case len(h) != accountSize || h.state() > stateFrozen:
		return nil, refused("InvalidAccountData")
	case h.state() == stateNone:
		return nil, refused("UninitializedAccount")
	}
	return h, nil
}

// tokenIssue reads account i, whose data must be an initialized mint.
func (in *invocation) tokenIssue(i int) (mintAccount, *InstructionError) {
	m := mintAccount(in.account(i).Data)
	switch {
	case len(m) != mintSize || m[45] > 1:
		return nil, refused("InvalidAccountData")
	case !m.ready():
		return nil, refused("UninitializedAccount")
	}
	return m, nil
}

// given says whether an option is set. This program looks at the first byte of the tag only.
func (o coption) given() bool { return o[0] == 1 }

// drop clears an option. This program leaves the value's bytes as they are.
func (o coption) drop() { o[0] = 0 }

// owned refuses accounts that the running program does not own.
func (in *invocation) owned(list ...int) *InstructionError {
	for _, i := range list {
		if in.account(i).Owner != in.program {
			return refused("IncorrectProgramId")
		}
	}
	return nil
}

// authorized requires account i to be the expected authority, and to have signed.
func (in *invocation) authorized(i int, expected address) *InstructionError {
	if in.key(i) != expected {
		return custom(tokenOwnerMismatch)
	}
	if !in.signs(i) {
		return refused("MissingRequiredSignature")
	}
	return nil
}

// rentAccount requires account i to be the Rent sysvar.
func (in *invocation) rentAccount(i int) *InstructionError {
	if in.key(i) != rentSysvar {
		return refused("InvalidArgument")
	}
	return nil
}

// exempt says whether account i has at least the rent minimum.
func (in *invocation) exempt(i int) bool {
	a := in.account(i)
	return a.Lamports >= in.rent.minimum(len(a.Data))
}

// tokenMint initializes account 0 as a mint. The data has decimals, mint authority and an optional freeze authority.
func (in *invocation) tokenMint(d []byte, withRent bool) *InstructionError {
	if len(d) < 34 || d[33] > 1 || d[33] == 1 && len(d) < 66 {
		return custom(tokenInvalidInstruction)
	}
	if withRent {
		if err := in.atLeast(2); err != nil {
			return err
		}
		if err := in.rentAccount(1); err != nil {
			return err
		}
	} else if err := in.atLeast(1); err != nil {
		return err
	}
	// The account must be allocated by the System program beforehand, with exactly the right size.
	m := mintAccount(in.account(0).Data)
	if len(m) != mintSize || m[45] > 1 {
		return refused("InvalidAccountData")
	}
	if m.ready() {
		return custom(tokenInUse)
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	m[45] = 1
	m.minter()[0] = 1
	putKey(m.minter(), 4, keyAt(d, 1))
	m[44] = d[0]
	if d[33] == 1 {
		m.freezer()[0] = 1
		putKey(m.freezer(), 4, keyAt(d, 34))
	}
	return nil
}

// tokenAccount initializes account 0 as a token account of the mint in account 1. The owner is in the data, or is
// account 2.
func (in *invocation) tokenAccount(d []byte, withRent bool) *InstructionError {
	n := 3
	var owner address
	if in.data[0] != 1 {
		if len(d) < 32 {
			return custom(tokenInvalidInstruction)
		}
		n, owner = 2, keyAt(d, 0)
	}
	if err := in.atLeast(n); err != nil {
		return err
	}
	if in.data[0] == 1 {
		owner = in.key(2)
	}
	if withRent {
		if err := in.atLeast(n + 1); err != nil {
			return err
		}
		if err := in.rentAccount(n); err != nil {
			return err
		}
	}
	h := tokenAccount(in.account(0).Data)
	if len(h) != accountSize || h.state() > stateFrozen {
		return refused("InvalidAccountData")
	}
	if h.state() != stateNone {
		return custom(tokenInUse)
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	// Wrapped SOL: the amount is every lamport above the rent minimum.
	native := isNative(in.key(1))
	if !native {
		if err := in.owned(1); err != nil {
			return err
		}
		if _, err := in.tokenIssue(1); err != nil {
			return custom(tokenInvalidMint)
		}
	}
	// The program writes only now, after all checks.
	h[108] = stateReady
	putKey(h, 0, in.key(1))
	putKey(h, 32, owner)
	if native {
		reserve := in.rent.minimum(len(h))
		h.native()[0] = 1
		putU64(h, 113, reserve)
		h.setAmount(in.account(0).Lamports - reserve)
	}
	return nil
}

// amounts reads an amount in base units and, in the checked forms, the decimals that the sender expects.
func amounts(d []byte, checked bool) (amount uint64, decimals byte, ok bool) {
	if len(d) < 8 || checked && len(d) < 9 {
		return 0, 0, false
	}
	if checked {
		decimals = d[8]
	}
	return binary.LittleEndian.Uint64(d), decimals, true
}

// withMint gives the indexes of the mint, the other party and the authority. The checked form has the mint after the
// source; the other form has no mint.
func withMint(checked bool) (mint, other, authority int) {
	if checked {
		return 1, 2, 3
	}
	return 0, 1, 2
}

// tokenTransfer moves base units from account 0. The order of its checks is the program's, because the first one that
// fails is the error.
func (in *invocation) tokenTransfer(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	mint, to, authority := withMint(checked)
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	// A transfer to itself checks everything and moves nothing.
	same := in.same(0, to)
	target := source
	if !same {
		if target, err = in.tokenHolding(to); err != nil {
			return err
		}
	}
	switch {
	case source.frozen() || target.frozen():
		return custom(tokenFrozen)
	case source.amount() < amount:
		return custom(tokenShort)
	case source.mint() != target.mint():
		return custom(tokenMintMismatch)
	}
	if checked {
		if err := in.tokenDecimals(mint, source.mint(), decimals); err != nil {
			return err
		}
	}
	if err := in.tokenSpender(source, authority, amount, !same); err != nil {
		return err
	}
	// A transfer that changes nothing still needs accounts of this program.
	if same || amount == 0 {
		return in.owned(0, to)
	}
	source.setAmount(source.amount() - amount)
	target.setAmount(target.amount() + amount) // cannot overflow: no balance exceeds its mint's supply
	if source.native().given() {
		return in.carry(0, to, amount)
	}
	return nil
}

// carry moves the lamports that back wrapped SOL.
func (in *invocation) carry(from, to int, lamports uint64) *InstructionError {
	if in.account(from).Lamports < lamports || in.account(to).Lamports > math.MaxUint64-lamports {
		return custom(tokenOverflow)
	}
	in.account(from).Lamports -= lamports
	in.account(to).Lamports += lamports
	return nil
}

// tokenDecimals requires account i to be the given mint, with the decimals that the sender expects.
func (in *invocation) tokenDecimals(i int, mint address, decimals byte) *InstructionError {
	if in.key(i) != mint {
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(i)
	if err != nil {
		return err
	}
	if m.decimals() != decimals {
		return custom(tokenDecimals)
	}
	return nil
}

// tokenSpender requires account i to be the owner, or the delegate with a sufficient allowance. With spend set, the
// allowance shrinks by amount.
func (in *invocation) tokenSpender(source tokenAccount, i int, amount uint64, spend bool) *InstructionError {
	if !source.delegate().given() || source.delegate().key() != in.key(i) {
		return in.authorized(i, source.owner())
	}
	if err := in.authorized(i, in.key(i)); err != nil {
		return err
	}
	if source.delegated() < amount {
		return custom(tokenShort)
	}
	if spend {
		source.setDelegated(source.delegated() - amount)
		if source.delegated() == 0 {
			source.delegate().drop()
		}
	}
	return nil
}
