package chain

import (
	"encoding/binary"
	"slices"

	"purser/wallet"
)

// Discriminators of instructions of the Stake program (u32) that only helpers of a step have.
const (
	stakeInitializeChecked = 9
	stakeMinimum           = 13
)

// stakeStep tells which step of staking a transaction is for the owner who signed it, made here or elsewhere. false: it is none, or
// something else as well: another program took part, tokens moved, the owner is no party of it, or what was withdrawn went to
// somebody else.
func (v *view) stakeStep() (step wallet.EntryType, ok bool) {
	if !v.activity.Signed || slices.ContainsFunc(v.activity.Net, func(n wallet.NetChange) bool { return !n.Token.Native() }) {
		return "", false
	}
	for _, in := range v.message.instructions {
		program := v.keys[in.program]
		if plain(program) {
			continue
		}
		word, known := v.stakeWord(in)
		switch {
		case program != wallet.StakeProgram || !known:
			return "", false
		case word == "": // a helper
		case step != "" && step != word:
			return "", false
		default:
			step = word
		}
	}
	return step, step != "" && !slices.ContainsFunc(v.activity.Net, func(n wallet.NetChange) bool { return n.Lost == (step == wallet.ActivityWithdrawn) })
}

// stakeWord is the step that an instruction of the Stake program makes; "" for a helper. false: it is another one, or not the
// owner's.
func (v *view) stakeWord(in instruction) (wallet.EntryType, bool) {
	if len(in.data) < 4 {
		return "", false
	}
	code := binary.LittleEndian.Uint32(in.data)
	switch code {
	// They stand beside a step and change nothing of what it is.
	case stakeInitialize, stakeInitializeChecked, stakeSplit, stakeMerge, stakeMinimum:
		return "", true
	}
	if !slices.ContainsFunc(in.accounts, func(at byte) bool { return v.keys[at] == v.owner }) {
		return "", false
	}
	switch {
	case code == stakeDelegate:
		return wallet.ActivityStaked, true
	case code == stakeDeactivate:
		return wallet.ActivityUnstaked, true
	case code == stakeWithdraw && len(in.accounts) > 1 && v.keys[in.accounts[1]] == v.owner:
		return wallet.ActivityWithdrawn, true
	}
	return "", false
}
