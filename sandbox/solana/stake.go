package solana

import (
	"encoding/binary"
	"fmt"
)

// The Stake program's own error numbers, as Custom codes (StakeError).
const (
	stakeLocked              = 1
	stakeDeactivated         = 2
	stakeTooSoon             = 3
	stakeTransient           = 5
	stakeMergeMismatch       = 6
	stakeCustodianMissing    = 7
	stakeCustodianUnsigned   = 8
	stakeReferenceVotes      = 9
	stakeVoteMismatch        = 10
	stakeNotDelinquent       = 11
	stakeInsufficient        = 12
	stakeRewardsActive       = 16
	stakeTransientText       = "stake account with transient stake cannot be merged"
	delinquentEpochs         = 5 // epochs without votes after which anybody may deactivate (MINIMUM_DELINQUENT_EPOCHS_FOR_DEACTIVATION)
	defaultMinimumDelegation = lamportsPerSOL
	rewardsActiveAt          = 80 // place of "active" in the EpochRewards sysvar
	stakeUnitsOfUnknown      = 700
)

// clock is the Clock sysvar as far as programs ask for it.
type clock struct {
	slot  uint64
	epoch uint64
	unix  int64 // seconds
}

func (b bank) clock() clock { return clock{b.slot, b.epoch(b.slot), b.time(b.slot)} }

// history reads the StakeHistory sysvar.
func (b bank) history() stakeHistory { return historyIn(b.read(historySysvar).Data, b.epoch(b.slot)) }

// rewarding says whether rewards of the last epoch are being paid out, during which stakes cannot be changed.
func (b bank) rewarding() bool {
	data := b.read(rewardsSysvar).Data
	return len(data) > rewardsActiveAt && data[rewardsActiveAt] == 1
}

// stakeInstruction is one instruction of the Stake program: its name in the log, the estimated compute units, and the
// code. Redelegate (15) is gone.
type stakeInstruction struct {
	name  string
	units uint64
	run   func(*invocation, *systemArgs) *InstructionError
}

var stakeInstructions = [...]stakeInstruction{
	0:  {"Initialize", 7_500, (*invocation).stakeInitialize},
	1:  {"Authorize", 11_000, (*invocation).stakeAuthorize},
	2:  {"DelegateStake", 11_500, (*invocation).stakeDelegate},
	3:  {"Split", 3_450, (*invocation).stakeSplit},
	4:  {"Withdraw", 2_950, (*invocation).stakeWithdraw},
	5:  {"Deactivate", 10_600, (*invocation).stakeDeactivate},
	6:  {"SetLockup", 10_500, (*invocation).stakeSetLockup},
	7:  {"Merge", 5_000, (*invocation).stakeMerge},
	8:  {"AuthorizeWithSeed", 12_900, (*invocation).stakeAuthorizeWithSeed},
	9:  {"InitializeChecked", 5_200, (*invocation).stakeInitializeChecked},
	10: {"AuthorizeChecked", 11_300, (*invocation).stakeAuthorizeChecked},
	11: {"AuthorizeCheckedWithSeed", 12_600, (*invocation).stakeAuthorizeCheckedWithSeed},
	12: {"SetLockupChecked", 11_000, (*invocation).stakeSetLockupChecked},
	13: {"GetMinimumDelegation", 654, (*invocation).stakeMinimum},
	14: {"DeactivateDelinquent", 14_000, (*invocation).stakeDeactivateDelinquent},
	15: {},
	16: {"MoveStake", 9_500, (*invocation).stakeMove},
	17: {"MoveLamports", 4_000, (*invocation).stakeMoveLamports},
}

// chargeKind charges what an instruction costs in addition by the kind of an account: initialized or delegated.
func (in *invocation) chargeKind(s stakeState, initialized, delegated uint64) *InstructionError {
	switch s.Kind {
	case stakeInitialized:
		return in.spend(initialized)
	case stakeDelegated:
		return in.spend(delegated)
	}
	return nil
}

// stakeMinimumKind is the one instruction that also runs while rewards are paid out.
const stakeMinimumKind = 13

// stake runs one instruction of the Stake program, version 5.
func (in *invocation) stake() *InstructionError {
	err := in.runStake()
	if err != nil && !err.fatal {
		in.say("ERROR: %s", programErrorText(err))
	}
	return err
}

func (in *invocation) runStake() *InstructionError {
	args := &systemArgs{rest: in.data}
	kind := args.u32()
	if args.bad || kind >= uint32(len(stakeInstructions)) {
		return in.endStake(refused("InvalidInstructionData"))
	}
	ix := stakeInstructions[kind]
	// All arguments are read before anything else, because an instruction that cannot be read has its own error.
	parsed := *args
	if !parsed.stakeArguments(kind) {
		return in.endStake(refused("InvalidInstructionData"))
	}
	if in.rewarding() && kind != stakeMinimumKind {
		return in.endStake(custom(stakeRewardsActive))
	}
	if ix.run == nil {
		return in.endStake(refused("InvalidInstructionData"))
	}
	in.say("Instruction: %s", ix.name)
	if err := in.spend(ix.units); err != nil {
		return err
	}
	return ix.run(in, args)
}

// endStake charges for an instruction that is refused before it has begun.
func (in *invocation) endStake(err *InstructionError) *InstructionError {
	if out := in.spend(stakeUnitsOfUnknown); out != nil {
		return out
	}
	return err
}

// stakeArguments reads an instruction's arguments and says whether they are all there. Bytes behind them are ignored.
func (a *systemArgs) stakeArguments(kind uint32) bool {
	switch kind {
	case 0:
		a.take(32 + 32 + 8 + 8 + 32)
	case 1:
		a.key()
		a.authority()
	case 3, 4, 16, 17:
		a.u64()
	case 6:
		a.lockup(true)
	case 8:
		a.key()
		a.authority()
		a.text()
		a.key()
	case 10:
		a.authority()
	case 11:
		a.authority()
		a.text()
		a.key()
	case 12:
		a.lockup(false)
	}
	return !a.bad
}

// authority reads which of the two authorities is meant.
func (a *systemArgs) authority() authority {
	kind := a.u32()
	if kind > uint32(withdrawer) {
		a.bad = true
	}
	return authority(kind)
}

// lockupChange is what an instruction changes of a lockup; nil keeps a value.
type lockupChange struct {
	unix, epoch *uint64
	custodian   *address
}

// lockup reads optional values. The checked instruction names the custodian as an account.
func (a *systemArgs) lockup(custodian bool) (l lockupChange) {
	some := func() bool {
		b := a.take(1)
		if !a.bad && b[0] > 1 {
			a.bad = true
		}
		return !a.bad && b[0] == 1
	}
	for _, into := range []**uint64{&l.unix, &l.epoch} {
		if some() {
			n := a.u64()
			*into = &n
		}
	}
	if custodian && some() {
		key := a.key()
		l.custodian = &key
	}
	return l
}

// programErrorTexts are the texts of ProgramError, which differ from those of InstructionError.
var programErrorTexts = map[string]string{
	"InvalidArgument":          "The arguments provided to a program instruction were invalid",
	"InvalidInstructionData":   "An instruction's data contents was invalid",
	"InvalidAccountData":       "An account's data contents was invalid",
	"AccountDataTooSmall":      "An account's data was too small",
	"InsufficientFunds":        "An account's balance was too small to complete the instruction",
	"IncorrectProgramId":       "The account did not have the expected program id",
	"MissingRequiredSignature": "A signature was required but not found",
	"NotEnoughAccountKeys":     "The instruction expected additional account keys",
	"ArithmeticOverflow":       "Arithmetic operation overflowed",
	"InvalidAccountOwner":      "Invalid account owner",
	"MaxSeedLengthExceeded":    "Length of the seed is too long for address generation",
	"IllegalOwner":             "Provided owner is not allowed",
	"InvalidSeeds":             "Provided seeds do not result in a valid address",
}

func programErrorText(err *InstructionError) string {
	if err.Name == "Custom" {
		return fmt.Sprintf("Custom program error: %#x", err.Code)
	}
	return programErrorTexts[err.Name]
}

// accountsOf walks through an instruction's accounts in order.
type accountsOf struct {
	*invocation
	at  int
	err *InstructionError
}

// next is the place of the next account. Without one it sets err, and 0 is returned.
func (a *accountsOf) next() int {
	if a.at >= len(a.accounts) {
		if a.err == nil {
			a.err = refused("NotEnoughAccountKeys")
		}
		return 0
	}
	a.at++
	return a.at - 1
}

// maybe is the next account, if there is one.
func (a *accountsOf) maybe() (place int, ok bool) {
	if a.at >= len(a.accounts) {
		return 0, false
	}
	a.at++
	return a.at - 1, true
}

// branch tells the two interfaces of version 5 apart. The old one has a sysvar account at this place, followed by more
// accounts, which are skipped; the new one has the authority, which must sign.
func (a *accountsOf) branch(sysvar address, more int) {
	place := a.next()
	if a.err != nil {
		return
	}
	if a.key(place) != sysvar {
		if !a.signs(place) {
			a.err = refused("MissingRequiredSignature")
		}
		return
	}
	for range more {
		a.next()
	}
}

// allSigners are the keys of all accounts that sign, whatever their place.
func (in *invocation) allSigners() signers {
	signed := signers{}
	for i := range in.accounts {
		if in.signs(i) {
			signed[in.key(i)] = true
		}
	}
	return signed
}

// stakeAt reads a stake account.
func (in *invocation) stakeAt(place int) (stakeState, *InstructionError) {
	a := in.account(place)
	if a.Owner != stakeProgram {
		return stakeState{}, refused("InvalidAccountOwner")
	}
	s, ok := readStake(a.Data)
	if !ok {
		return s, refused("InvalidAccountData")
	}
	return s, nil
}

// setStake writes a stake account. Bytes behind the encoded state stay.
func (in *invocation) setStake(place int, s stakeState) *InstructionError {
	a, encoded := in.account(place), s.bytes()
	if len(encoded) > len(a.Data) {
		return refused("AccountDataTooSmall")
	}
	copy(a.Data, encoded)
	return nil
}

// voteAt reads a vote account.
func (in *invocation) voteAt(place int) (voteState, *InstructionError) {
	a := in.account(place)
	if a.Owner != voteProgram {
		return voteState{}, refused("IncorrectProgramId")
	}
	v, ok := readVote(in.key(place), a.Data)
	if !ok {
		return v, refused("InvalidAccountData")
	}
	return v, nil
}

// relocate moves lamports between two accounts of the instruction.
func (in *invocation) relocate(from, to int, lamports uint64) *InstructionError {
	source, target := in.account(from), in.account(to)
	if lamports > source.Lamports {
		return refused("InsufficientFunds")
	}
	source.Lamports -= lamports
	if target.Lamports+lamports < lamports {
		return refused("ArithmeticOverflow")
	}
	target.Lamports += lamports
	return nil
}

// reserve is the rent minimum of a stake account at its present size, in lamports.
func (in *invocation) reserve(place int) uint64 { return in.rent.minimum(len(in.account(place).Data)) }

// stakeMinimum returns the minimum delegation as return data.
func (in *invocation) stakeMinimum(*systemArgs) *InstructionError {
	in.give(binary.LittleEndian.AppendUint64(nil, in.minimumDelegation))
	return nil
}
