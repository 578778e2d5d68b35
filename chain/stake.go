package chain

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"purser/wallet"
)

// Instructions of the Stake program that only this file writes, u32. Those that history recognizes too are in movement.go.
const (
	stakeInitialize = 0
	stakeDelegate   = 2
	stakeDeactivate = 5
)

// The Stake program's accounts that are the same in each instruction. Version 5 of the program needs none of them. They
// are named because every version understands that.
var (
	rentSysvar    = wallet.MustAddress("SysvarRent111111111111111111111111111111111")
	clockSysvar   = wallet.MustAddress("SysvarC1ock11111111111111111111111111111111")
	historySysvar = wallet.MustAddress("SysvarStakeHistory1111111111111111111111111")
	rewardsSysvar = wallet.MustAddress("SysvarEpochRewards1111111111111111111111111")
	stakeConfig   = wallet.MustAddress("StakeConfig11111111111111111111111111111111")
)

// seedLength is the length of the seeds that purser makes: 16 bytes in hexadecimal.
const seedLength = 32

// stakeCodecs are the rows of staking. A delegation is only read together with the creation and initialization of its
// account, so that the bytes themselves prove that both authorities are the signer and that there is no lockup.
func stakeCodecs() []ActionCodec {
	return []ActionCodec{createStakeCodec(), initializeStakeCodec(), delegateCodec(), splitStakeCodec(), mergeStakeCodec(), deactivateCodec(), withdrawStakeCodec()}
}

// number appends the little-endian forms of an instruction's number and of its u64 arguments.
func number(kind uint32, args ...uint64) []byte {
	data := binary.LittleEndian.AppendUint32(nil, kind)
	for _, arg := range args {
		data = binary.LittleEndian.AppendUint64(data, arg)
	}
	return data
}

// isNumber returns a Claims for the instruction of this number.
func isNumber(kind uint32) func(Call) bool {
	return func(c Call) bool { return len(c.Data()) >= 4 && binary.LittleEndian.Uint32(c.Data()) == kind }
}

// createStakeCodec is the row of createAccountWithSeed for a stake account. Its address follows from the wallet and the
// seed, so nobody else can hold a key to it.
func createStakeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionCreateStake, Programs: []wallet.Address{wallet.SystemProgram}, Claims: isNumber(systemCreateSeed),
		Decode: decodeCreateStake, Check: checkCreateStake,
		Encode: func(a wallet.Action) Instruction {
			data := append(number(systemCreateSeed), a.From[:]...)
			data = binary.LittleEndian.AppendUint64(data, uint64(len(a.Text)))
			data = append(data, a.Text...)
			data = binary.LittleEndian.AppendUint64(data, a.Lamports)
			data = binary.LittleEndian.AppendUint64(data, wallet.StakeAccountSize)
			return Instruction{wallet.SystemProgram, []Account{signer(a.From), writable(a.Account)}, append(data, wallet.StakeProgram[:]...)}
		}}
}

// decodeCreateStake reads the creation of a stake account for signing. Its data: the number (4 bytes), the base (32), the
// length of the seed (8), the seed, the lamports (8), the size (8) and the owner (32).
func decodeCreateStake(c Call, before []wallet.Action) (wallet.Action, error) {
	data := c.Data()
	if len(data) != 4+32+8+seedLength+8+8+32 || binary.LittleEndian.Uint64(data[36:]) != seedLength || c.Len() != 2 {
		return wallet.Action{}, refuse(Malformed, "not a whole creation of a stake account")
	}
	seed, rest := data[44:44+seedLength], data[44+seedLength:]
	payer, lamports := c.Payer(), binary.LittleEndian.Uint64(rest)
	switch {
	case !c.IsPayer(0) || !bytes.Equal(data[4:36], payer[:]):
		return wallet.Action{}, refuse(NotTheOwner, "it makes another account pay")
	case !bytes.Equal(rest[16:], wallet.StakeProgram[:]) || binary.LittleEndian.Uint64(rest[8:]) != wallet.StakeAccountSize:
		return wallet.Action{}, refuse(UnknownProgram, "it creates an account that is no stake account")
	case !lowerHex(seed) || c.At(1) != wallet.AddressWithSeed(payer, string(seed), wallet.StakeProgram):
		return wallet.Action{}, refuse(WrongAccount, "the stake account does not derive from this wallet")
	case !c.Writable(1):
		return wallet.Action{}, refuse(Malformed, "a stake account that cannot change")
	case hasAction(before, wallet.ActionCreateStake):
		return wallet.Action{}, refuse(TooManyActions, "it creates more than one stake account")
	}
	return wallet.Action{Type: wallet.ActionCreateStake, From: payer, Account: c.At(1), Lamports: lamports, Text: string(seed)}, nil
}

// lowerHex tells whether a seed is hexadecimal in lower case: text that hides nothing.
func lowerHex(seed []byte) bool {
	raw, err := hex.DecodeString(string(seed))
	return err == nil && hex.EncodeToString(raw) == string(seed)
}

// hasAction tells whether a type of action is in a list.
func hasAction(all []wallet.Action, typ string) bool {
	return slices.ContainsFunc(all, func(a wallet.Action) bool { return a.Type == typ })
}

// countActions is how many actions of a type are in a list.
func countActions(all []wallet.Action, typ string) (n int) {
	for _, a := range all {
		if a.Type == typ {
			n++
		}
	}
	return n
}

// follows tells whether an action of a type on the same account comes after the one at an index.
func follows(all []wallet.Action, at int, typ string) bool {
	return slices.ContainsFunc(all[at+1:], func(a wallet.Action) bool { return a.Type == typ && a.Account == all[at].Account })
}

// checkCreateStake requires that the new account is initialized for the signer, or split into, and then used. Who
// initializes an account decides whom it belongs to: it must not be left to somebody else.
//
// An account that is split into gets the authorities of the source, which the bytes do not tell. It gets a deposit at
// most: those who may withdraw from the source could take anything more.
func checkCreateStake(all []wallet.Action, at int) error {
	switch {
	case follows(all, at, wallet.ActionInitializeStake):
		return nil
	case !follows(all, at, wallet.ActionSplitStake):
		return refuse(WrongAccount, "it creates a stake account that it does not use")
	case all[at].Lamports > maxStakeDeposit:
		return refuse(Deposit, "it pays too much into a new stake account")
	}
	return nil
}

// maxStakeDeposit is the highest deposit of a stake account, in lamports: 6,960 for each of its bytes and for 128 beside.
// The network only ever lowers it.
const maxStakeDeposit = 6_960 * (wallet.StakeAccountSize + 128)

// initializeStakeCodec is the row of Initialize, which names both authorities and the lockup.
func initializeStakeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionInitializeStake, Programs: []wallet.Address{wallet.StakeProgram}, Claims: isNumber(stakeInitialize),
		Decode: decodeInitializeStake,
		Check: func(all []wallet.Action, at int) error {
			if !follows(all, at, wallet.ActionDelegate) {
				return refuse(WrongAccount, "it prepares a stake account that it does not delegate")
			}
			return nil
		},
		Encode: func(a wallet.Action) Instruction {
			data := append(number(stakeInitialize), a.From[:]...)
			data = append(data, a.From[:]...)
			return Instruction{wallet.StakeProgram, []Account{writable(a.Account), readonly(rentSysvar)}, append(data, make([]byte, lockupLength)...)}
		}}
}

// lockupLength is the length of a lockup: a time (8 bytes), an epoch (8) and a custodian (32). All zero: no lockup.
const lockupLength = 8 + 8 + 32

// decodeInitializeStake reads an Initialize for signing.
func decodeInitializeStake(c Call, before []wallet.Action) (wallet.Action, error) {
	data := c.Data()
	if len(data) != 4+32+32+lockupLength || c.Len() != 2 || c.At(1) != rentSysvar {
		return wallet.Action{}, refuse(Malformed, "not a whole initialization of a stake account")
	}
	payer := c.Payer()
	switch {
	case !bytes.Equal(data[4:36], payer[:]) || !bytes.Equal(data[36:68], payer[:]):
		return wallet.Action{}, refuse(NotTheOwner, "it gives the stake to somebody else")
	case !bytes.Equal(data[68:], make([]byte, lockupLength)):
		return wallet.Action{}, refuse(Lockup, "it locks the stake up")
	case !createdBefore(before, c.At(0)):
		return wallet.Action{}, refuse(WrongAccount, "it prepares a stake account that it does not create")
	case hasAction(before, wallet.ActionInitializeStake):
		return wallet.Action{}, refuse(TooManyActions, "it prepares more than one stake account")
	}
	return wallet.Action{Type: wallet.ActionInitializeStake, From: payer, Account: c.At(0)}, nil
}

// createdBefore tells whether the message has created a stake account.
func createdBefore(before []wallet.Action, account wallet.Address) bool {
	return slices.ContainsFunc(before, func(a wallet.Action) bool { return a.Type == wallet.ActionCreateStake && a.Account == account })
}

// stakeCall checks what all remaining instructions share. The data is the number and args u64 values. The first accounts,
// writables of them, can be written, then come the fixed ones, and behind them the references, which it returns. Where the
// signer is fixed, anybody else is refused as such.
func stakeCall(c Call, args int, writables int, fixed ...wallet.Address) (references []wallet.Address, last wallet.Address, _ error) {
	whole := writables + len(fixed)
	if len(c.Data()) != 4+8*args || c.Len() < whole {
		return nil, last, refuse(Malformed, "not a whole instruction of the Stake program")
	}
	for i, want := range fixed {
		if c.At(writables+i) == want {
			continue
		}
		if want == c.Payer() {
			return nil, last, refuse(NotTheOwner, "it changes a stake for somebody else")
		}
		return nil, last, refuse(Malformed, "not a whole instruction of the Stake program")
	}
	for i := range writables {
		if !c.Writable(i) {
			return nil, last, refuse(Malformed, "a stake account that cannot change")
		}
	}
	return referencesFrom(c, whole)
}

// amount is the one u64 argument of an instruction.
func (c Call) amount() uint64 { return binary.LittleEndian.Uint64(c.Data()[4:]) }

// delegateCodec is the row of DelegateStake.
func delegateCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionDelegate, Programs: []wallet.Address{wallet.StakeProgram}, Principal: true, Claims: isNumber(stakeDelegate),
		Decode: func(c Call, before []wallet.Action) (wallet.Action, error) {
			if c.Len() < 2 {
				return wallet.Action{}, refuse(Malformed, "not a whole instruction of the Stake program")
			}
			references, last, err := stakeCall(c, 0, 1, c.At(1), clockSysvar, historySysvar, stakeConfig, c.Payer())
			switch {
			case err != nil:
				return wallet.Action{}, err
			case !slices.ContainsFunc(before, func(a wallet.Action) bool { return a.Type == wallet.ActionInitializeStake && a.Account == c.At(0) }):
				return wallet.Action{}, refuse(WrongAccount, "it delegates a stake account that it does not prepare")
			}
			return wallet.Action{Type: wallet.ActionDelegate, From: c.Payer(), To: c.At(1), Account: c.At(0), Reference: last, References: references}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.StakeProgram, withReferences(a, writable(a.Account), readonly(a.To), readonly(clockSysvar), readonly(historySysvar),
				readonly(stakeConfig), signer(a.From)), number(stakeDelegate)}
		},
		Matches: func(c Call, intended wallet.Action) bool {
			return c.Len() >= 2 && c.At(0) == intended.Account && c.At(1) == intended.To && c.names(intended.Reference)
		}}
}

// names tells whether an instruction names an account, wherever it stands.
func (c Call) names(a wallet.Address) bool {
	for i := range c.Len() {
		if c.At(i) == a {
			return true
		}
	}
	return false
}

// withoutReferences refuses references: only principal actions have them.
func withoutReferences(references []wallet.Address, err error) error {
	if err == nil && len(references) > 0 {
		return refuse(ExtraAccounts, "an instruction of the Stake program names accounts that it does not need")
	}
	return err
}

// splitStakeCodec is the row of Split. It comes before the deactivation of what is split off.
func splitStakeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionSplitStake, Programs: []wallet.Address{wallet.StakeProgram}, Claims: isNumber(stakeSplit),
		Decode: func(c Call, before []wallet.Action) (wallet.Action, error) {
			references, _, err := stakeCall(c, 1, 2, c.Payer())
			switch err = withoutReferences(references, err); {
			case err != nil:
				return wallet.Action{}, err
			case !createdBefore(before, c.At(1)):
				return wallet.Action{}, refuse(WrongAccount, "it splits a stake into an account that it does not create")
			case hasAction(before, wallet.ActionSplitStake):
				return wallet.Action{}, refuse(TooManyActions, "it splits more than once")
			case c.amount() == 0:
				return wallet.Action{}, refuse(ZeroAmount, "it splits off nothing")
			}
			return wallet.Action{Type: wallet.ActionSplitStake, From: c.Payer(), Source: c.At(0), Account: c.At(1), Lamports: c.amount()}, nil
		},
		Check: func(all []wallet.Action, at int) error {
			if !follows(all, at, wallet.ActionDeactivate) {
				return refuse(WrongAccount, "it splits off a stake that it does not undelegate")
			}
			return nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.StakeProgram, []Account{writable(a.Source), writable(a.Account), signer(a.From)}, number(stakeSplit, a.Lamports)}
		}}
}

// mergeStakeCodec is the row of Merge. The program merges accounts with equal authorities only.
func mergeStakeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionMergeStake, Programs: []wallet.Address{wallet.StakeProgram}, Claims: isNumber(stakeMerge),
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			references, _, err := stakeCall(c, 0, 2, clockSysvar, historySysvar, c.Payer())
			if err = withoutReferences(references, err); err != nil {
				return wallet.Action{}, err
			}
			return wallet.Action{Type: wallet.ActionMergeStake, From: c.Payer(), Source: c.At(1), Account: c.At(0)}, nil
		},
		Check: checkMerge,
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.StakeProgram, []Account{writable(a.Account), writable(a.Source), readonly(clockSysvar), readonly(historySysvar), signer(a.From)},
				number(stakeMerge)}
		}}
}

// checkMerge requires that what is merged is then split, undelegated or withdrawn. Nothing is merged into an account that the
// message makes: the device shows what is split off, and no more than that may be undelegated.
func checkMerge(all []wallet.Action, at int) error {
	for _, a := range all {
		if made := a.Type == wallet.ActionSplitStake || a.Type == wallet.ActionCreateStake; made && a.Account == all[at].Account {
			return refuse(WrongAccount, "it merges a stake into a new one")
		}
	}
	for _, a := range all[at+1:] {
		used := a.Account
		if a.Type == wallet.ActionSplitStake {
			used = a.Source
		}
		switch a.Type {
		case wallet.ActionSplitStake, wallet.ActionDeactivate, wallet.ActionWithdrawStake:
			if used == all[at].Account {
				return nil
			}
		}
	}
	return refuse(WrongAccount, "it merges stakes that it does not use")
}

// deactivateCodec is the row of Deactivate.
func deactivateCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionDeactivate, Programs: []wallet.Address{wallet.StakeProgram}, Principal: true, Claims: isNumber(stakeDeactivate),
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			references, last, err := stakeCall(c, 0, 1, clockSysvar, c.Payer())
			if err != nil {
				return wallet.Action{}, err
			}
			return wallet.Action{Type: wallet.ActionDeactivate, From: c.Payer(), Account: c.At(0), Reference: last, References: references}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.StakeProgram, withReferences(a, writable(a.Account), readonly(clockSysvar), signer(a.From)), number(stakeDeactivate)}
		},
		Matches: func(c Call, intended wallet.Action) bool {
			return c.Len() >= 1 && c.At(0) == intended.Account && c.names(intended.Reference)
		}}
}

// withdrawStakeCodec is the row of Withdraw to the wallet itself. The account after the authority is the custodian of a
// lockup, who must sign. It is the wallet again, so that a reference can follow.
func withdrawStakeCodec() ActionCodec {
	return ActionCodec{Type: wallet.ActionWithdrawStake, Programs: []wallet.Address{wallet.StakeProgram}, Principal: true, Claims: isNumber(stakeWithdraw),
		Decode: func(c Call, _ []wallet.Action) (wallet.Action, error) {
			references, last, err := stakeCall(c, 1, 1, c.Payer(), clockSysvar, historySysvar, c.Payer(), c.Payer())
			switch {
			case err != nil:
				return wallet.Action{}, err
			case c.amount() == 0:
				return wallet.Action{}, refuse(ZeroAmount, "it withdraws nothing")
			}
			return wallet.Action{Type: wallet.ActionWithdrawStake, From: c.Payer(), To: c.Payer(), Account: c.At(0), Lamports: c.amount(),
				Reference: last, References: references}, nil
		},
		Encode: func(a wallet.Action) Instruction {
			return Instruction{wallet.StakeProgram, withReferences(a, writable(a.Account), signer(a.To), readonly(clockSysvar), readonly(historySysvar), signer(a.From),
				signer(a.From)), number(stakeWithdraw, a.Lamports)}
		},
		Matches: func(c Call, intended wallet.Action) bool {
			return c.Len() >= 2 && len(c.Data()) == 12 && c.At(0) == intended.Account && c.At(1) == intended.To && c.amount() == intended.Lamports && c.names(intended.Reference)
		}}
}
