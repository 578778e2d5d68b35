package solana

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// transfer2022 moves tokens. form is 0 for Transfer, 1 for TransferChecked, which names the mint, and 2 for
// TransferCheckedWithFee, which also names the expected fee in base units.
//
// Long: its checks stand in the order of the program, as the first that fails names the error.
func (in *invocation) transfer2022(d []byte, form int) *InstructionError {
	amount, decimals, _ := amounts(d, form > 0)
	mint, to, authority := withMint(form > 0)
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	if err := in.owned(0, to); err != nil {
		return err
	}
	source, err := in.heldBy(0)
	if err != nil {
		return err
	}
	switch {
	case source.frozen():
		return custom(tokenFrozen)
	case source.amount() < amount:
		return custom(tokenShort)
	case source.has(extNonTransferableOwned):
		return custom(tokenNonTransferable)
	}
	var m mintAccount
	var fee uint64
	// The forms that name the mint can see its extensions: fee, pause and hook.
	if form > 0 {
		if m, err = in.decimalsMatch(mint, source.mint(), decimals); err != nil {
			return err
		}
		if config, ok := m.extensions().find(extTransferFeeConfig); ok {
			if err := in.spend(unitsOfFee); err != nil {
				return err
			}
			if fee, ok = epochFee(config, in.epoch(in.slot), amount); !ok {
				return custom(tokenOverflow)
			}
		}
		if m.paused() {
			return custom(tokenPaused)
		}
	} else if source.has(extTransferHookAccount) || source.has(extTransferFeeAmount) || source.has(extPausableAccount) {
		return custom(tokenMintRequired)
	}
	// The sender's expectation protects against a fee that was raised in the meantime.
	if form == 2 && fee != binary.LittleEndian.Uint64(d[9:]) {
		in.say("Calculated fee {calculated_fee}, received {fee}")
		return custom(tokenFeeMismatch)
	}
	if in.key(authority) == source.owner() && in.guarded(source) {
		return custom(tokenGuardTransfer)
	}
	// A transfer to itself moves nothing, so its memo check is the last step.
	same := in.same(0, to)
	if err := in.spender(source, m, authority, amount, !same); err != nil {
		return err
	}
	if same {
		return in.memoWanted(source)
	}
	target, err := in.heldBy(to)
	if err != nil {
		return err
	}
	switch {
	case target.frozen():
		return custom(tokenFrozen)
	case source.mint() != target.mint():
		return custom(tokenMintMismatch)
	}
	if err := in.memoWanted(target); err != nil {
		return err
	}
	if private, ok := target.extensions().find(extConfidentialAccount); ok && private[openCreditsAt] == 0 {
		return custom(tokenPrivateOnly)
	}
	if err := credit(source, target, amount, fee); err != nil {
		return err
	}
	if source.native().some() {
		if err := in.carry(0, to, amount); err != nil {
			return err
		}
	}
	return in.hook(m, source, target, mint, to, authority, amount)
}

// openCreditsAt is the offset of the flag that lets a confidential account receive ordinary transfers.
const openCreditsAt = 262

// credit moves the amount. The fee is part of the amount and stays withheld in the recipient's account.
func credit(source, target tokenAccount, amount, fee uint64) *InstructionError {
	if fee > amount || target.amount() > math.MaxUint64-(amount-fee) {
		return custom(tokenOverflow)
	}
	source.setAmount(source.amount() - amount)
	target.setAmount(target.amount() + amount - fee)
	if fee == 0 {
		return nil
	}
	held, ok := target.extensions().find(extTransferFeeAmount)
	if !ok {
		return custom(tokenInvalidState)
	}
	if u64At(held, 0) > math.MaxUint64-fee {
		return custom(tokenOverflow)
	}
	putU64(held, 0, u64At(held, 0)+fee)
	return nil
}

// memoWanted checks for a memo right before a transfer to an account that requires one. Token-2022 accepts only the
// older versions of Memo.
func (in *invocation) memoWanted(target tokenAccount) *InstructionError {
	if value, ok := target.extensions().find(extMemoTransfer); !ok || value[0] == 0 {
		return nil
	}
	if err := in.spend(unitsOfMemoCheck); err != nil {
		return err
	}
	if program, ok := in.previous(); ok && (program == memoV1 || program == memoV3) {
		return nil
	}
	return custom(tokenNoMemo)
}

// hookExecute is the discriminator of the Execute instruction of a transfer hook.
var hookExecute = []byte{105, 37, 101, 197, 75, 251, 102, 26}

// hook calls the mint's transfer hook, if it has one. No such program can run here, so the call fails as it does on a
// real cluster when the transaction does not include the program.
func (in *invocation) hook(m mintAccount, source, target tokenAccount, mint, to, authority int, amount uint64) *InstructionError {
	if m == nil {
		return nil
	}
	value, ok := m.extensions().find(extTransferHook)
	if !ok {
		return nil
	}
	program, ok := optionalKey(value[32:])
	if !ok {
		return nil
	}
	// During the call both accounts are marked as transferring, which the hook program checks.
	for _, h := range []tokenAccount{source, target} {
		flag, err := h.extensions().must(extTransferHookAccount)
		if err != nil {
			return err
		}
		flag[0] = 1
	}
	data := binary.LittleEndian.AppendUint64(hookExecute[:len(hookExecute):len(hookExecute)], amount)
	if err := in.call(program, data, nil,
		callMeta{key: in.key(0)}, callMeta{key: in.key(mint)}, callMeta{key: in.key(to)}, callMeta{key: in.key(authority)}); err != nil {
		return err
	}
	for _, i := range []int{0, to} {
		if flag, ok := tokenAccount(in.account(i).Data).extensions().find(extTransferHookAccount); ok {
			flag[0] = 0
		}
	}
	return nil
}

// Offsets in the TransferFeeConfig extension: two authorities (config, withdraw), the fees withheld in the mint
// itself, and the older and newer fee. A fee is an epoch, a maximum in base units, and basis points.
const (
	feeWithheldAt = 64
	feeOlderAt    = 72
	feeNewerAt    = 90
	feeSize       = 18

	maxBasisPoints = 10_000
)

// epochFee is the fee of a transfer in that epoch, in base units. ok is false if the product does not fit, which
// needs basis points beyond their maximum.
func epochFee(config []byte, epoch, amount uint64) (cost uint64, ok bool) {
	fee := config[feeOlderAt : feeOlderAt+feeSize]
	if epoch >= u64At(config, feeNewerAt) {
		fee = config[feeNewerAt : feeNewerAt+feeSize]
	}
	return transferFee(amount, u64At(fee, 8), uint64(binary.LittleEndian.Uint16(fee[16:])))
}

// transferFee is amount times basis points, rounded up and limited to maximum. All amounts are in base units.
func transferFee(amount, maximum, points uint64) (cost uint64, ok bool) {
	high, low := bits.Mul64(amount, points)
	low, carry := bits.Add64(low, maxBasisPoints-1, 0)
	high += carry
	if high >= maxBasisPoints {
		return 0, false
	}
	share, _ := bits.Div64(high, low, maxBasisPoints)
	return min(share, maximum), true
}

// writeFee stores a fee that applies from an epoch on.
func writeFee(b []byte, epoch, maximum uint64, points uint16) {
	putU64(b, 0, epoch)
	putU64(b, 8, maximum)
	binary.LittleEndian.PutUint16(b[16:], points)
}

// transferFee runs the instructions of the transfer fee extension, by their second byte.
func (in *invocation) transferFee(d []byte) *InstructionError {
	if len(d) == 0 {
		return custom(tokenInvalidInstruction)
	}
	kind, d := d[0], d[1:]
	if err := in.spend(unitsOfFeeInstruction(kind, len(in.accounts))); err != nil {
		return err
	}
	switch {
	case kind == 0:
		return in.initTransferFee(d)
	case kind == 1 && len(d) >= 17:
		in.say("TransferFeeInstruction: TransferCheckedWithFee")
		return in.transfer2022(d, 2)
	case kind == 2:
		in.say("TransferFeeInstruction: WithdrawWithheldTokensFromMint")
		return in.withdrawFromMint()
	case kind == 3 && len(d) >= 1:
		in.say("TransferFeeInstruction: WithdrawWithheldTokensFromAccounts")
		return in.withdrawFromAccounts(int(d[0]))
	case kind == 4:
		in.say("TransferFeeInstruction: HarvestWithheldTokensToMint")
		return in.harvest()
	case kind == 5 && len(d) >= 10:
		in.say("TransferFeeInstruction: SetTransferFee")
		return in.setTransferFee(binary.LittleEndian.Uint16(d), binary.LittleEndian.Uint64(d[2:]))
	}
	return custom(tokenInvalidInstruction)
}

// unitsOfFeeInstruction is about how many compute units an instruction uses; some grow with the number of accounts.
func unitsOfFeeInstruction(kind byte, accounts int) uint64 {
	switch kind {
	case 1:
		return 2050
	case 3:
		return 1200 + 250*uint64(accounts)
	case 4:
		return 600 + 450*uint64(accounts)
	}
	return 1400
}

// initTransferFee reads two optional authorities and the fee. Older and newer fee are the same at first.
func (in *invocation) initTransferFee(d []byte) *InstructionError {
	var authorities [2]address
	for i := range authorities {
		switch {
		case len(d) >= 1 && d[0] == 0:
			d = d[1:]
		case len(d) >= 33 && d[0] == 1:
			authorities[i] = keyAt(d, 1)
			if authorities[i] == (address{}) {
				return refused("InvalidArgument")
			}
			d = d[33:]
		default:
			return custom(tokenInvalidInstruction)
		}
	}
	if len(d) < 10 {
		return custom(tokenInvalidInstruction)
	}
	value, err := in.newMintExtension(extTransferFeeConfig)
	if err != nil {
		return err
	}
	putKey(value, 0, authorities[0])
	putKey(value, 32, authorities[1])
	points, maximum := binary.LittleEndian.Uint16(d), binary.LittleEndian.Uint64(d[2:])
	if points > maxBasisPoints {
		return custom(tokenFeeTooHigh)
	}
	writeFee(value[feeOlderAt:], in.epoch(in.slot), maximum, points)
	writeFee(value[feeNewerAt:], in.epoch(in.slot), maximum, points)
	return nil
}

// setTransferFee sets the fee that applies from the epoch after the next, so that nobody is surprised during a
// transfer.
func (in *invocation) setTransferFee(points uint16, maximum uint64) *InstructionError {
	if err := in.atLeast(2); err != nil {
		return err
	}
	value, err := in.mintExtension(0, extTransferFeeConfig)
	if err != nil {
		return err
	}
	if err := in.authorizedBy(1, value); err != nil {
		return err
	}
	if points > maxBasisPoints {
		return custom(tokenFeeTooHigh)
	}
	epoch := in.epoch(in.slot)
	// The present fee becomes the older one, unless a change is already pending.
	if u64At(value, feeNewerAt) <= epoch {
		copy(value[feeOlderAt:feeOlderAt+feeSize], value[feeNewerAt:feeNewerAt+feeSize])
	}
	writeFee(value[feeNewerAt:], epoch+2, maximum, points)
	return nil
}

// mintExtension reads an extension of the mint in account i.
func (in *invocation) mintExtension(i int, extension uint16) ([]byte, *InstructionError) {
	m, err := in.issuedBy(i)
	if err != nil {
		return nil, err
	}
	return m.extensions().must(extension)
}

// authorizedBy requires account i to be the authority that is stored at the start of an extension.
func (in *invocation) authorizedBy(i int, value []byte) *InstructionError {
	authority, ok := optionalKey(value)
	if !ok {
		return custom(tokenNoAuthority)
	}
	return in.authorized(i, authority)
}

// feeReceiver reads the account that withheld fees go to: account 1, which must belong to the mint in account 0.
func (in *invocation) feeReceiver() (tokenAccount, *InstructionError) {
	h, err := in.heldBy(1)
	if err != nil {
		return nil, err
	}
	if h.mint() != in.key(0) {
		return nil, custom(tokenMintMismatch)
	}
	if h.frozen() {
		return nil, custom(tokenFrozen)
	}
	return h, nil
}

// withdrawFromMint moves the fees that were harvested to the mint.
func (in *invocation) withdrawFromMint() *InstructionError {
	value, err := in.withdrawing()
	if err != nil {
		return err
	}
	h, err := in.feeReceiver()
	if err != nil {
		return err
	}
	withheld := u64At(value, feeWithheldAt)
	if h.amount() > math.MaxUint64-withheld {
		return custom(tokenOverflow)
	}
	putU64(value, feeWithheldAt, 0)
	h.setAmount(h.amount() + withheld)
	return nil
}

// withdrawing checks that account 2 is the withdraw authority of the mint in account 0.
func (in *invocation) withdrawing() ([]byte, *InstructionError) {
	if err := in.atLeast(3); err != nil {
		return nil, err
	}
	if err := in.owned(0, 1); err != nil {
		return nil, err
	}
	value, err := in.mintExtension(0, extTransferFeeConfig)
	if err != nil {
		return nil, err
	}
	return value, in.authorizedBy(2, value[32:])
}

// withdrawFromAccounts moves the fees withheld in the last n accounts. An account that does not qualify is logged and
// skipped.
func (in *invocation) withdrawFromAccounts(n int) *InstructionError {
	if _, err := in.withdrawing(); err != nil {
		return err
	}
	h, err := in.feeReceiver()
	if err != nil {
		return err
	}
	for i := max(3, len(in.accounts)-n); i < len(in.accounts); i++ {
		if in.same(i, 0) {
			return mintAsSource()
		}
		amount, fault := in.withheld(i, in.same(i, 1))
		if fault != nil {
			if in.same(i, 1) {
				return fault
			}
			if err := in.sayUnharvested(i, fault); err != nil {
				return err
			}
			continue
		}
		if h.amount() > math.MaxUint64-amount {
			return custom(tokenOverflow)
		}
		h.setAmount(h.amount() + amount)
	}
	return nil
}

// harvest moves the fees withheld in accounts to the mint. Anyone may do this, since the fees can go nowhere else.
func (in *invocation) harvest() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	value, err := in.mintExtension(0, extTransferFeeConfig)
	if err != nil {
		return err
	}
	for i := 1; i < len(in.accounts); i++ {
		if in.same(i, 0) {
			return mintAsSource()
		}
		amount, fault := in.withheld(i, false)
		if fault != nil {
			if err := in.sayUnharvested(i, fault); err != nil {
				return err
			}
			continue
		}
		if u64At(value, feeWithheldAt) > math.MaxUint64-amount {
			return custom(tokenOverflow)
		}
		putU64(value, feeWithheldAt, u64At(value, feeWithheldAt)+amount)
	}
	return nil
}

// mintAsSource is the failure when the mint is also among the accounts to collect fees from: the program panics.
func mintAsSource() *InstructionError {
	err := refused("ProgramFailedToComplete")
	err.logged, err.fatal = "SBF program Panicked in program/src/extension/transfer_fee/processor.rs at 169:58", true
	return err
}

// withheld takes the fees out of account i. Unless known is set, it checks that the account belongs to the mint in
// account 0.
func (in *invocation) withheld(i int, known bool) (uint64, *InstructionError) {
	h := tokenAccount(in.account(i).Data)
	if unpack(h, kindAccount, false) != nil {
		return 0, custom(tokenInvalidState)
	}
	if !known {
		if h.mint() != in.key(0) {
			return 0, custom(tokenMintMismatch)
		}
		if in.account(i).Owner != in.program {
			return 0, custom(tokenInvalidState)
		}
	}
	value, ok := h.extensions().find(extTransferFeeAmount)
	if !ok {
		return 0, custom(tokenInvalidState)
	}
	amount := u64At(value, 0)
	putU64(value, 0, 0)
	return amount, nil
}

// sayUnharvested logs why an account was skipped.
func (in *invocation) sayUnharvested(i int, fault *InstructionError) *InstructionError {
	why := "State is invalid for requested operation"
	if fault.Code == tokenMintMismatch {
		why = "Account not associated with this Mint"
	}
	in.say("Error harvesting from %s: %s", in.key(i), why)
	return in.spend(unitsOfBase58)
}
