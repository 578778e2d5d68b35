package solana

import (
	"testing"
)

// FuzzStakeInstruction lets the Stake program run any instruction over any list of accounts, of which two hold any
// data, and then lets an epoch end over what is left: never a panic, and no lamport comes or goes but the fee.
//
// A byte of list names an account of the pool by its low four bits; the next two say whether it signs and whether it
// is written.
func FuzzStakeInstruction(f *testing.F) {
	const signs, writes = 0x10, 0x20
	delegated, initialized, vote := aStake(9*sol, nil).Data, anInitialized(5*sol, nil).Data, aVote(1, 2).Data
	for kind := range uint32(19) {
		for _, args := range [][]byte{nil, pack(uint64(2 * sol)), pack(bob, uint32(1)), pack(bob, uint32(0), alice, uint64(5), "seed", stakeProgram)} {
			f.Add(append(pack(kind), args...), []byte{0 | writes, 1 | writes, 2 | signs, 3 | signs}, delegated, initialized)
			f.Add(append(pack(kind), args...), []byte{0 | writes, 4, 5, 6, 7, 2 | signs}, initialized, vote)
			f.Add(append(pack(kind), args...), []byte{1 | writes, 0 | writes, 5, 6, 3 | signs | writes}, delegated, delegated)
		}
	}
	f.Fuzz(func(t *testing.T, data, list, first, second []byte) {
		if len(data) > 300 || len(list) > 20 || len(first)+len(second) > 8000 {
			return
		}
		c, err := Open(Options{Seed: "five", SlotsPerEpoch: minSlotsPerEpoch, Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		given := uint64(0)
		put := func(key address, a account) {
			c.state.set(key, 0, a, 0)
			given += a.Lamports
		}
		put(addressOf("mallory"), account{Lamports: sol})
		put(stakeA, account{Lamports: 20 * sol, Owner: stakeProgram, Data: first})
		put(stakeB, account{Lamports: 20 * sol, Owner: stakeProgram, Data: second})
		put(voteA, aVote(0))
		put(alice, account{Lamports: sol})
		pool := []address{stakeA, stakeB, alice, bob, voteA, clockSysvar, historySysvar, rentSysvar, rewardsSysvar, voteOf(0), ownStake(0), systemProgram, addressOf("nobody")}
		var metas []meta
		for _, one := range list {
			m := meta{key: pool[int(one&0x0f)%len(pool)]}
			if one&signs != 0 {
				m.flag += "s"
			}
			if one&writes != 0 {
				m.flag += "w"
			}
			metas = append(metas, m)
		}
		tx, err := parseTransaction(draft{payer: "mallory", blockhash: c.blockhash(0), calls: []call{{stakeProgram, metas, data}}}.bytes())
		if err != nil || tx.sanitize() != nil {
			return
		}
		bank := c.bank(1)
		bank.unverified = true
		out := bank.execute(tx)
		if !out.Landed {
			t.Fatalf("%v", out.Err)
		}
		c.settle(out.loaded, 1, out)
		c.tip = 1
		for key, a := range out.Writes {
			if before := c.state.at(key, 0); before.Owner != stakeProgram && a.exists() && string(a.Data) != string(before.Data) && key != clockSysvar && key != voteOf(0) {
				t.Errorf("%s belongs to %s and changed", key, before.Owner)
			}
		}
		showStaking(stakeA, c.state.at(stakeA, 1))
		if _, err := c.NextEpoch(); err != nil {
			t.Fatal(err)
		}
		if err := c.Advance(3); err != nil {
			t.Fatal(err)
		}
		if got := c.TotalLamports(); got != supply+given {
			t.Errorf("%d lamports more: %v %q", int64(got-supply-given), out.Err, out.Logs)
		}
	})
}
