package chain

import (
	"encoding/binary"
	"testing"

	"purser/wallet"
)

// stakeBy is an instruction of a program by the positions of its accounts.
func stakeBy(program byte, code uint32, accounts ...byte) instruction {
	return instruction{program: program, accounts: accounts, data: binary.LittleEndian.AppendUint32(nil, code)}
}

// TestStepsOfStakingMadeElsewhere have the word that they would have here, and nothing has it that is something else as well.
func TestStepsOfStakingMadeElsewhere(t *testing.T) {
	const owner, other, stake, system, staking, exchange, memo = 0, 1, 2, 3, 4, 5, 6
	keys := []wallet.Address{{1}, {2}, {3}, wallet.SystemProgram, wallet.StakeProgram, {9}, memoProgram}
	lost := []wallet.NetChange{{Token: wallet.SOL, Units: 5, Lost: true}}
	gained := []wallet.NetChange{{Token: wallet.SOL, Units: 5}}
	delegate := stakeBy(staking, 2, stake, other, owner)
	deactivate := stakeBy(staking, 5, stake, owner)
	withdraw := stakeBy(staking, 4, stake, owner, owner)
	create := stakeBy(system, 3, owner, stake)
	for name, c := range map[string]struct {
		run      []instruction
		net      []wallet.NetChange
		unsigned bool
		want     wallet.EntryType
	}{
		"a new stake":                     {run: []instruction{create, stakeBy(staking, 0, stake), delegate}, net: lost, want: "stake"},
		"checked, with a memo":            {run: []instruction{create, stakeBy(staking, 9, stake, owner), delegate, {program: memo}}, net: lost, want: "stake"},
		"an old account":                  {run: []instruction{delegate}, want: "stake"},
		"undelegated":                     {run: []instruction{deactivate}, want: "unstake"},
		"a part of it":                    {run: []instruction{create, stakeBy(staking, 3, stake, other, owner), deactivate}, net: lost, want: "unstake"},
		"several":                         {run: []instruction{deactivate, deactivate}, want: "unstake"},
		"withdrawn":                       {run: []instruction{withdraw}, net: gained, want: "withdraw"},
		"merged before":                   {run: []instruction{stakeBy(staking, 7, stake, other, owner), withdraw}, net: gained, want: "withdraw"},
		"asked for the smallest stake":    {run: []instruction{stakeBy(staking, 13), delegate}, want: "stake"},
		"nothing":                         {},
		"only helpers":                    {run: []instruction{stakeBy(staking, 7, stake, other, owner)}},
		"withdrawn to somebody else":      {run: []instruction{stakeBy(staking, 4, stake, other, owner)}, net: lost},
		"to nobody":                       {run: []instruction{stakeBy(staking, 4, owner)}},
		"withdrawn past the wallet":       {run: []instruction{stakeBy(staking, 4, stake, other, owner)}},
		"a gain of somebody else's stake": {run: []instruction{stakeBy(staking, 5, stake, other)}},
		"two steps":                       {run: []instruction{deactivate, withdraw}, net: gained},
		"the authority is given away":     {run: []instruction{delegate, stakeBy(staking, 1, stake, owner)}},
		"a lockup":                        {run: []instruction{stakeBy(staking, 6, stake, owner), delegate}},
		"an exchange as well":             {run: []instruction{delegate, stakeBy(exchange, 2, owner)}},
		"an exchange that looks like one": {run: []instruction{stakeBy(exchange, 2, owner)}},
		"cut short":                       {run: []instruction{{program: staking, accounts: []byte{stake, owner}, data: []byte{2, 0, 0}}}},
		"a stake that brings SOL":         {run: []instruction{delegate}, net: gained},
		"a withdrawal that costs SOL":     {run: []instruction{withdraw}, net: lost},
		"tokens move":                     {run: []instruction{delegate}, net: []wallet.NetChange{{Token: wallet.Token{Mint: wallet.Address{7}}, Units: 5, Lost: true}}},
		"somebody else signed":            {run: []instruction{delegate}, unsigned: true},
	} {
		v := &view{effects: &effects{message: &message{instructions: c.run}, keys: keys}, owner: keys[owner], activity: &wallet.Activity{Signed: !c.unsigned, Net: c.net}}
		if got, ok := v.stakeStep(); got != c.want && ok || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, ok, c.want)
		}
	}
}
