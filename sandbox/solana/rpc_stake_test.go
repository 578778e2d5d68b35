package solana

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type voteEntry struct {
	VotePubkey, NodePubkey        string
	ActivatedStake                uint64
	Commission                    int
	InflationRewardsCommissionBps int
	EpochCredits                  [][3]uint64
	LastVote, RootSlot            uint64
}

func TestValidatorsAreListed(t *testing.T) {
	s := serve(t, Options{Seed: "five"})
	s.advance(t, 300)
	var list struct{ Current, Delinquent []voteEntry }
	s.must(t, &list, "getVoteAccounts", object{"commitment": processed})
	all := Validators("five")
	if len(list.Current) != 4 || len(list.Delinquent) != 1 || len(all) != 5 {
		t.Fatalf("%+v", list)
	}
	// By stake: Alder, Birch, Cedar and Elm; Dogwood does not vote.
	slot := slotOf(300)
	want := voteEntry{all[0].Vote, all[0].Identity, 3000 * sol, 5, 500, [][3]uint64{{0, slot * 16, 0}}, slot, slot - 31}
	if fmt.Sprint(list.Current[0]) != fmt.Sprint(want) {
		t.Errorf("%+v\nwant %+v", list.Current[0], want)
	}
	if elm := list.Current[3]; elm.VotePubkey != all[4].Vote || elm.Commission != 3 || elm.InflationRewardsCommissionBps != 250 {
		t.Errorf("%+v", elm)
	}
	if silent := list.Delinquent[0]; silent.VotePubkey != all[3].Vote || silent.LastVote != 0 || len(silent.EpochCredits) != 0 {
		t.Errorf("%+v", silent)
	}
	s.must(t, &list, "getVoteAccounts", object{"votePubkey": all[1].Vote, "commitment": processed})
	if len(list.Current) != 1 || len(list.Delinquent) != 0 || list.Current[0].VotePubkey != all[1].Vote {
		t.Errorf("%+v", list)
	}
	s.must(t, &list, "getVoteAccounts", object{"delinquentSlotDistance": 1 << 40, "commitment": processed})
	if len(list.Current) != 5 {
		t.Errorf("%+v", list)
	}
	s.refused(t, codeInvalidParams, "getVoteAccounts", object{"votePubkey": "x"})
}

// A distance of 128 slots decides, and a silent validator without stake is left out.
func TestDelinquencyNeedsADistanceAndStake(t *testing.T) {
	s := serve(t, Options{})
	var list struct{ Current, Delinquent []voteEntry }
	s.advance(t, int(heightAt(128)))
	if s.must(t, &list, "getVoteAccounts", object{"commitment": processed}); len(list.Current) != 5 {
		t.Errorf("after 128 slots %+v", list)
	}
	s.advance(t, 1)
	if s.must(t, &list, "getVoteAccounts", object{"commitment": processed}); len(list.Current) != 4 || len(list.Delinquent) != 1 {
		t.Errorf("after 129 slots %+v", list)
	}
	s.state.set(validatorKey("", "stake", 3), s.tip, account{}, 0)
	if s.must(t, &list, "getVoteAccounts", object{"commitment": processed}); len(list.Delinquent) != 0 {
		t.Errorf("without stake %+v", list)
	}
	s.must(t, &list, "getVoteAccounts", object{"commitment": processed, "keepUnstakedDelinquents": true})
	if len(list.Delinquent) != 1 || list.Delinquent[0].ActivatedStake != 0 {
		t.Errorf("kept %+v", list)
	}
}

// One delegates on the running cluster, splits, takes a part back, and the account is found by its authority.
func TestStakeOnTheCluster(t *testing.T) {
	s := serve(t, Options{Seed: "five"})
	s.fund(t, "alice", 100*sol)
	vote, err := parseAddress(Validators("five")[0].Vote)
	if err != nil {
		t.Fatal(err)
	}
	mine, part := seeded(alice, "stake:0", stakeProgram), seeded(alice, "stake:1", stakeProgram)
	create := func(key address, seed string, lamports uint64) call {
		return system(pack(uint32(3), alice, seed, lamports, uint64(stakeSize), stakeProgram), meta{alice, "sw"}, w(key))
	}
	land := func(want string, calls ...call) {
		t.Helper()
		s.advance(t, 1)
		wire := draft{payer: "alice", blockhash: s.blockhash(s.tip), calls: calls}.bytes()
		var sig string
		s.must(t, &sig, "sendTransaction", base64.StdEncoding.EncodeToString(wire), object{"encoding": "base64", "skipPreflight": true})
		s.advance(t, 1)
		all := s.Landed()
		if got := shown(t, all[len(all)-1].Err); all[len(all)-1].Signature != sig || got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	land("null", create(mine, "stake:0", 5*sol+stakeReserve), initializeStake(mine, alice, alice, lockup{}), delegateStake(mine, vote, alice))
	land("null", create(part, "stake:1", stakeReserve), splitStake(mine, part, alice, 2*sol), deactivateStake(part, alice))
	land("null", withdrawStake(part, alice, alice, 2*sol+stakeReserve))
	var found []struct {
		Pubkey  string
		Account struct {
			Lamports uint64
			Data     struct {
				Program string
				Parsed  json.RawMessage
			}
		}
	}
	by := func(at int, key address) object {
		return object{"encoding": "jsonParsed", "commitment": processed, "filters": []object{
			{"dataSize": stakeSize}, {"memcmp": object{"offset": at, "bytes": key.String()}}}}
	}
	for at, key := range map[int]address{12: alice, 44: alice, 124: vote} {
		s.must(t, &found, "getProgramAccounts", stakeProgram.String(), by(at, key))
		if at == 124 && len(found) != 2 || at != 124 && len(found) != 1 {
			t.Fatalf("%d at %d: %+v", len(found), at, found)
		}
	}
	s.must(t, &found, "getProgramAccounts", stakeProgram.String(), by(12, alice))
	want := fmt.Sprintf(`{"info":{"meta":{"authorized":{"staker":"%s","withdrawer":"%s"},"lockup":{"custodian":"11111111111111111111111111111111","epoch":0,"unixTimestamp":0},"rentExemptReserve":"2282880"},"stake":{"creditsObserved":%d,"delegation":{"activationEpoch":"0","deactivationEpoch":"18446744073709551615","stake":"3000000000","voter":"%s","warmupCooldownRate":0.25}}},"type":"delegated"}`,
		alice, alice, 16*slotOf(s.Height()-4), vote)
	if f := found[0]; f.Pubkey != mine.String() || f.Account.Lamports != 3*sol+stakeReserve || f.Account.Data.Program != "stake" || string(f.Account.Data.Parsed) != want {
		t.Errorf("%s %d\n%s\nwant %s", f.Pubkey, f.Account.Lamports, f.Account.Data.Parsed, want)
	}
	if got := s.TotalLamports(); got != supply {
		t.Errorf("%d lamports in all", got)
	}
	var minimum struct{ Value uint64 }
	if s.must(t, &minimum, "getStakeMinimumDelegation"); minimum.Value != sol {
		t.Errorf("%d", minimum.Value)
	}
}

func TestValidatorsHaveNames(t *testing.T) {
	s := serve(t, Options{Seed: "five"})
	var found []struct {
		Account struct {
			Data struct {
				Program string
				Parsed  struct {
					Type string
					Info struct {
						Keys []struct {
							Pubkey string
							Signer bool
						}
						ConfigData struct{ Name string }
					}
				}
			}
		}
	}
	s.must(t, &found, "getProgramAccounts", configProgram.String(), object{"encoding": "jsonParsed", "commitment": processed})
	names := map[string]string{}
	for _, f := range found {
		d := f.Account.Data
		if d.Program != "config" || d.Parsed.Type != "validatorInfo" || d.Parsed.Info.Keys[0].Signer || !d.Parsed.Info.Keys[1].Signer {
			t.Errorf("%+v", f)
		}
		names[d.Parsed.Info.Keys[1].Pubkey] = d.Parsed.Info.ConfigData.Name
	}
	for _, v := range Validators("five") {
		if names[v.Identity] != v.Name {
			t.Errorf("%s is called %q", v.Identity, names[v.Identity])
		}
	}
	if _, ok := showInfo(infoData(alice, "x")[:40]); ok {
		t.Error("half an info is shown")
	}
}

func TestSysvarsAndVotesAreShown(t *testing.T) {
	s := serve(t, Options{Seed: "five"})
	s.advance(t, 40)
	info := func(key string) string {
		return s.result(t, "getAccountInfo", key, object{"encoding": "jsonParsed", "commitment": processed})
	}
	slot := slotOf(40)
	for key, want := range map[address]string{
		clockSysvar:    fmt.Sprintf(`"parsed":{"info":{"epoch":0,"epochStartTimestamp":%d,"leaderScheduleEpoch":1,"slot":%d,"unixTimestamp":%d},"type":"clock"}`, s.blockTime(0), slot, s.blockTime(40)),
		scheduleSysvar: `"parsed":{"info":{"firstNormalEpoch":0,"firstNormalSlot":0,"leaderScheduleSlotOffset":432000,"slotsPerEpoch":432000,"warmup":false},"type":"epochSchedule"}`,
		historySysvar:  `"parsed":{"info":[],"type":"stakeHistory"}`,
		rewardsSysvar:  `"parsed":{"info":{"active":false,"distributedRewards":"0","distributionStartingBlockHeight":0,"numPartitions":0,"parentBlockhash":"11111111111111111111111111111111","totalPoints":"0","totalRewards":"0"},"type":"epochRewards"}`,
	} {
		if got := info(key.String()); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	got := info(Validators("five")[4].Vote)
	for _, want := range []string{
		`"program":"vote"`, `"commission":2,`, `"inflationRewardsCommissionBps":250`, `"blsPubkeyCompressed":null`, `"space":3762`,
		fmt.Sprintf(`"epochCredits":[{"credits":"%d","epoch":0,"previousCredits":"0"}]`, slot*16),
		fmt.Sprintf(`"rootSlot":%d`, slot-31), fmt.Sprintf(`{"confirmationCount":1,"slot":%d}`, slot), fmt.Sprintf(`{"confirmationCount":31,"slot":%d}`, slot-30),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// The second and third account of the usual parser test stand for sysvars here.
func TestStakeInstructionsAreParsed(t *testing.T) {
	parse := func(c call) string {
		m := &message{Keys: []address{stakeProgram}}
		ix := instruction{Data: c.data}
		for i, a := range c.metas {
			m.Keys = append(m.Keys, a.key)
			ix.Accounts = append(ix.Accounts, byte(i+1))
		}
		name, value, ok := m.parseInstruction(ix)
		if !ok {
			return ""
		}
		text, err := json.Marshal(value)
		if err != nil || name != "stake" {
			t.Fatal(name, err)
		}
		return strings.NewReplacer(stakeA.String(), "A", stakeB.String(), "B", voteA.String(), "V", alice.String(), "alice", bob.String(), "bob", carol.String(), "carol",
			clockSysvar.String(), "clock", historySysvar.String(), "history", rentSysvar.String(), "rent", stakeConfig.String(), "config").Replace(string(text))
	}
	for _, c := range []struct {
		call
		want string
	}{
		{initializeStake(stakeA, alice, bob, lockup{-1, 2, carol}), `{"info":{"authorized":{"staker":"alice","withdrawer":"bob"},"lockup":{"custodian":"carol","epoch":2,"unixTimestamp":-1},"rentSysvar":"rent","stakeAccount":"A"},"type":"initialize"}`},
		{stakeCall(1, pack(carol, uint32(1)), r(stakeA), r(clockSysvar), r(alice), r(bob)), `{"info":{"authority":"alice","authorityType":"Withdrawer","clockSysvar":"clock","custodian":"bob","newAuthority":"carol","stakeAccount":"A"},"type":"authorize"}`},
		{stakeCall(1, pack(carol, uint32(0)), r(stakeA), r(alice)), `{"info":{"authority":"alice","authorityType":"Staker","newAuthority":"carol","stakeAccount":"A"},"type":"authorize"}`},
		{stakeCall(1, pack(carol, uint32(0)), r(stakeA), r(clockSysvar)), ``},
		{delegateStake(stakeA, voteA, alice), `{"info":{"stakeAccount":"A","stakeAuthority":"alice","voteAccount":"V"},"type":"delegate"}`},
		{stakeCall(2, nil, r(stakeA), r(voteA), r(clockSysvar), r(historySysvar), r(stakeConfig), r(alice)), `{"info":{"clockSysvar":"clock","stakeAccount":"A","stakeAuthority":"alice","stakeConfigAccount":"config","stakeHistorySysvar":"history","voteAccount":"V"},"type":"delegate"}`},
		{stakeCall(2, nil, r(stakeA), r(voteA), r(clockSysvar), r(historySysvar), r(alice)), `{"info":{"clockSysvar":"clock","stakeAccount":"A","stakeAuthority":"alice","stakeHistorySysvar":"history","voteAccount":"V"},"type":"delegate"}`},
		{stakeCall(2, nil, r(stakeA), r(voteA), r(clockSysvar), r(historySysvar)), ``},
		{splitStake(stakeA, stakeB, alice, 7), `{"info":{"lamports":7,"newSplitAccount":"B","stakeAccount":"A","stakeAuthority":"alice"},"type":"split"}`},
		{withdrawStake(stakeA, bob, alice, 7, r(carol)), `{"info":{"custodian":"carol","destination":"bob","lamports":7,"stakeAccount":"A","withdrawAuthority":"alice"},"type":"withdraw"}`},
		{stakeCall(4, pack(7), r(stakeA), r(bob), r(clockSysvar), r(historySysvar), r(alice)), `{"info":{"clockSysvar":"clock","destination":"bob","lamports":7,"stakeAccount":"A","stakeHistorySysvar":"history","withdrawAuthority":"alice"},"type":"withdraw"}`},
		{deactivateStake(stakeA, alice), `{"info":{"stakeAccount":"A","stakeAuthority":"alice"},"type":"deactivate"}`},
		{stakeCall(5, nil, r(stakeA), r(clockSysvar), r(alice)), `{"info":{"clockSysvar":"clock","stakeAccount":"A","stakeAuthority":"alice"},"type":"deactivate"}`},
		{stakeCall(6, pack(byte(0), byte(1), 9, byte(1), carol), r(stakeA), r(bob)), `{"info":{"custodian":"bob","lockup":{"custodian":"carol","epoch":9},"stakeAccount":"A"},"type":"setLockup"}`},
		{mergeStake(stakeA, stakeB, alice), `{"info":{"destination":"A","source":"B","stakeAuthority":"alice"},"type":"merge"}`},
		{stakeCall(7, nil, r(stakeA), r(stakeB), r(clockSysvar), r(historySysvar), r(alice)), `{"info":{"clockSysvar":"clock","destination":"A","source":"B","stakeAuthority":"alice","stakeHistorySysvar":"history"},"type":"merge"}`},
		{stakeCall(8, pack(carol, uint32(0), "seed", bob), r(stakeA), r(alice)), `{"info":{"authorityBase":"alice","authorityOwner":"bob","authoritySeed":"seed","authorityType":"Staker","newAuthorized":"carol","stakeAccount":"A"},"type":"authorizeWithSeed"}`},
		{stakeCall(9, nil, r(stakeA), r(rentSysvar), r(alice), r(bob)), `{"info":{"rentSysvar":"rent","stakeAccount":"A","staker":"alice","withdrawer":"bob"},"type":"initializeChecked"}`},
		{stakeCall(10, pack(uint32(1)), r(stakeA), r(alice), r(bob)), `{"info":{"authority":"alice","authorityType":"Withdrawer","newAuthority":"bob","stakeAccount":"A"},"type":"authorizeChecked"}`},
		{stakeCall(11, pack(uint32(1), "seed", bob), r(stakeA), r(alice), r(clockSysvar), r(carol)), `{"info":{"authorityBase":"alice","authorityOwner":"bob","authoritySeed":"seed","authorityType":"Withdrawer","clockSysvar":"clock","newAuthorized":"carol","stakeAccount":"A"},"type":"authorizeCheckedWithSeed"}`},
		{stakeCall(12, pack(byte(1), 5, byte(0)), r(stakeA), r(bob), r(carol)), `{"info":{"custodian":"bob","lockup":{"custodian":"carol","unixTimestamp":5},"stakeAccount":"A"},"type":"setLockupChecked"}`},
		{stakeCall(13, nil, r(stakeA)), `{"type":"getMinimumDelegation"}`},
		{stakeCall(13, nil), ``},
		{stakeCall(14, nil, r(stakeA), r(voteA), r(stakeB)), `{"info":{"referenceVoteAccount":"B","stakeAccount":"A","voteAccount":"V"},"type":"deactivateDelinquent"}`},
		{moveStake(16, stakeA, stakeB, alice, 7), `{"info":{"destination":"B","lamports":7,"source":"A","stakeAuthority":"alice"},"type":"moveStake"}`},
		{moveStake(17, stakeA, stakeB, alice, 7), `{"info":{"destination":"B","lamports":7,"source":"A","stakeAuthority":"alice"},"type":"moveLamports"}`},
		{stakeCall(18, nil, r(stakeA)), ``},
		{stakeCall(3, []byte{1}, r(stakeA), r(stakeB)), ``},
	} {
		if got := parse(c.call); got != c.want {
			t.Errorf("%x\nis   %s\nwant %s", c.data, got, c.want)
		}
	}
}

// Parsers of accounts give back what they read, and never panic.
func FuzzStakeAccounts(f *testing.F) {
	f.Add(aStake(5, nil).Data)
	f.Add(anInitialized(5, nil).Data)
	f.Add(aVote(1, 2, 3).Data)
	f.Add(infoData(alice, "x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, ok := readStake(data); ok {
			if b := s.bytes(); len(b) > 197 || string(b) != string(data[:len(b)]) {
				t.Errorf("%x became %x", data, b)
			}
		}
		if v, ok := readVote(voteA, data); ok && data[0] == 3 {
			if again, ok := readVote(voteA, v.bytes()); !ok || fmt.Sprint(again.Credits, again.Votes) != fmt.Sprint(v.Credits, v.Votes) {
				t.Errorf("%+v became %+v", v, again)
			}
		}
		for _, owner := range []address{stakeProgram, voteProgram, configProgram, sysvarOwner} {
			for _, key := range []address{voteA, clockSysvar, historySysvar, rewardsSysvar, scheduleSysvar} {
				if shown, ok := showStaking(key, account{Lamports: 1, Owner: owner, Data: data}); ok {
					if _, err := json.Marshal(shown); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}
