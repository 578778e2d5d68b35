package solana

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

// inflationReward is one entry of getInflationReward.
type inflationReward struct {
	Epoch, EffectiveSlot, Amount, PostBalance uint64
	Commission                                *int
	CommissionBps                             int
}

// rewards asks what addresses got for an epoch.
func (s served) rewards(t *testing.T, epoch uint64, keys ...address) []*inflationReward {
	t.Helper()
	var list []*inflationReward
	s.must(t, &list, "getInflationReward", addressTexts(keys), object{"epoch": epoch, "commitment": confirmed})
	return list
}

// toBoundary advances to the last block of the epoch.
func (s served) toBoundary(t *testing.T) (first uint64) {
	t.Helper()
	s.mu.Lock()
	first = s.lengths.firstBlock(s.epochAt(s.tip) + 1)
	n := int(first - s.tip - 1)
	s.mu.Unlock()
	s.advance(t, n)
	return first
}

func ownStake(i int) address { return validatorKey("five", "stake", i) }

// The whole way of a reward: worked out in the first block of an epoch, paid in the next, shown by both methods.
func TestRewardsArePaid(t *testing.T) {
	s := serve(t, short(t.TempDir()))
	s.fund(t, "alice", 100*sol)
	key := s.delegateTo(t, "stake:0", 1, 10*sol)
	began := s.toBoundary(t)
	s.advance(t, 5) // the stake is active from here on, and starts with the credits of now
	if now, _ := readStake(s.state.at(key, s.tip).Data); now.Credits != slotOf(began-1)*creditsPerSlot {
		t.Errorf("%d credits when slot %d begins", now.Credits, slotOf(began))
	}
	if got := s.rewards(t, 0, key, voteOf(1), ownStake(1)); got[0] != nil || got[1] == nil || got[2] == nil {
		t.Errorf("for epoch 0: %v", got)
	}
	s.warp(t) // and both have seen the same votes
	first := s.toBoundary(t)
	before := map[address]account{}
	for _, k := range []address{key, voteOf(1), ownStake(1), ownStake(3), rewardsSysvar} {
		before[k] = s.state.at(k, s.tip)
	}
	effective := s.stakes(s.tip)
	// In the first block the Stake program refuses a change, and nothing is paid to stakes yet.
	wire := draft{payer: "alice", blockhash: s.blockhash(s.tip), calls: []call{deactivateStake(key, alice)}}.bytes()
	s.must(t, new(string), "sendTransaction", base64.StdEncoding.EncodeToString(wire), blindly)
	s.advance(t, 1)
	if all := s.Landed(); shown(t, all[len(all)-1].Err) != customError(0, stakeRewardsActive) {
		t.Errorf("in the first block: %s", shown(t, all[len(all)-1].Err))
	}
	if s.state.at(key, first).Lamports != before[key].Lamports || s.state.at(voteOf(1), first).Lamports <= before[voteOf(1)].Lamports {
		t.Error("the first block pays commissions, and only these")
	}
	var sysvar struct {
		Value struct {
			Lamports uint64
			Data     struct {
				Parsed struct {
					Info struct {
						DistributionStartingBlockHeight, NumPartitions uint64
						ParentBlockhash                                string
						TotalPoints, TotalRewards, DistributedRewards  json.Number
						Active                                         bool
					}
				}
			}
		}
	}
	look := func() uint64 {
		t.Helper()
		s.must(t, &sysvar, "getAccountInfo", rewardsSysvar.String(), object{"encoding": "jsonParsed", "commitment": processed})
		paid, err := sysvar.Value.Data.Parsed.Info.DistributedRewards.Int64()
		if err != nil {
			t.Fatal(err)
		}
		return uint64(paid)
	}
	commissions := look()
	info := sysvar.Value.Data.Parsed.Info
	if !info.Active || info.NumPartitions != 1 || info.DistributionStartingBlockHeight != first+1 || info.ParentBlockhash != s.blockhash(first-1).String() {
		t.Errorf("%+v", info)
	}
	waiting := sysvar.Value.Lamports - before[rewardsSysvar].Lamports
	// Confirmed, but not yet paid: who asks for a stake is told when.
	s.advance(t, 1)
	message, data := s.refused(t, codeRewardsActive, "getInflationReward", []string{key.String()}, object{"commitment": confirmed})
	if want := fmt.Sprintf(`{"currentBlockHeight":%d,"rewardsCompleteBlockHeight":%d,"slot":%d}`, first, first+2, slotOf(first)); string(data) != want || message != fmt.Sprintf("Epoch rewards period still active at slot %d", slotOf(first)) {
		t.Errorf("%s %s, want %s", message, data, want)
	}
	if got := s.rewards(t, 2, voteOf(1)); got[0] == nil || got[0].EffectiveSlot != slotOf(first) {
		t.Errorf("the commission: %v", got)
	}
	if got := look(); sysvar.Value.Data.Parsed.Info.Active || got != commissions+waiting || sysvar.Value.Lamports != before[rewardsSysvar].Lamports {
		t.Errorf("after the payment %+v", sysvar.Value)
	}
	s.advance(t, 1)
	got := s.rewards(t, 2, key, voteOf(1), ownStake(1), alice, ownStake(3), voteOf(3))
	if got[0] == nil || got[3] != nil || got[4] != nil || got[5] != nil {
		t.Fatalf("%v", got)
	}
	// The numbers: what all got is the rate's share of what was staked, less the rounding.
	total := uint64(inflation(2) * yearsEpoch * float64(effective[voteOf(0)]+effective[voteOf(1)]+effective[voteOf(2)]+effective[voteOf(3)]+effective[voteOf(4)]))
	if paid := commissions + waiting; paid > total || paid < total-15 {
		t.Errorf("%d lamports of %d were paid", paid, total)
	}
	mine, _ := readStake(before[key].Data)
	theirs, _ := readStake(before[ownStake(1)].Data)
	if a, b := got[0].Amount*theirs.Stake, got[2].Amount*mine.Stake; got[0].Amount == 0 || max(a, b)-min(a, b) > 3*theirs.Stake {
		t.Errorf("%d lamports for %d, but %d for %d", got[0].Amount, mine.Stake, got[2].Amount, theirs.Stake)
	}
	// Seven percent are Birch's.
	if sum := got[0].Amount + got[2].Amount + got[1].Amount; got[1].Amount < sum*7/100-3 || got[1].Amount > sum*7/100 {
		t.Errorf("a commission of %d of %d", got[1].Amount, sum)
	}
	want := inflationReward{2, slotOf(first + 1), got[0].Amount, before[key].Lamports + got[0].Amount, nil, 700}
	if *got[0] != want || s.Balance(key.String()) != want.PostBalance {
		t.Errorf("%+v, want %+v", *got[0], want)
	}
	after := s.state.at(key, s.tip)
	now, _ := readStake(after.Data)
	if now.Stake != mine.Stake+want.Amount || now.Credits != (slotOf(first-1))*creditsPerSlot || now.Deactivated != never {
		t.Errorf("%+v", now)
	}
	// Blocks tell the same.
	var block struct {
		Rewards []struct {
			Pubkey, RewardType    string
			Lamports, PostBalance uint64
			CommissionBps         int
			Commission            *int
		}
		NumRewardPartitions *uint64
	}
	s.must(t, &block, "getBlock", slotOf(first), object{"transactionDetails": "none", "commitment": confirmed})
	if len(block.Rewards) != 4 || block.Rewards[0].RewardType != "Voting" || block.NumRewardPartitions == nil || *block.NumRewardPartitions != 1 {
		t.Errorf("%+v", block)
	}
	block.NumRewardPartitions = nil
	s.must(t, &block, "getBlock", slotOf(first+1), object{"transactionDetails": "none", "commitment": confirmed})
	found := false
	for _, r := range block.Rewards {
		found = found || r.Pubkey == key.String() && r.RewardType == "Staking" && r.Lamports == want.Amount && r.PostBalance == want.PostBalance && r.CommissionBps == 700
	}
	if len(block.Rewards) != 5 || !found || block.NumRewardPartitions != nil {
		t.Errorf("%+v", block)
	}
	var bare map[string]any
	s.must(t, &bare, "getBlock", slotOf(first), object{"transactionDetails": "none", "commitment": confirmed, "rewards": false})
	if _, shown := bare["rewards"]; shown || bare["numRewardPartitions"] != nil {
		t.Errorf("%v", bare)
	}
	if s.TotalLamports() != supply {
		t.Error("lamports were made or lost")
	}
}

func TestInflationRewardIsRefusedOrNull(t *testing.T) {
	s := serve(t, short(""))
	s.advance(t, 50)
	ask := func(epoch any) []any {
		return []any{[]string{voteOf(0).String()}, object{"epoch": epoch, "commitment": confirmed}}
	}
	for _, epoch := range []uint64{0, 1, 7} {
		message, _ := s.refused(t, codeBlockNotHere, "getInflationReward", ask(epoch)...)
		if want := fmt.Sprintf("Block not available for slot %d", (epoch+1)*100); message != want {
			t.Errorf("%s, want %s", message, want)
		}
	}
	s.refused(t, codeBlockNotHere, "getInflationReward", ask(uint64(1<<63))...)
	s.refused(t, codeInvalidParams, "getInflationReward")
	s.refused(t, codeInvalidParams, "getInflationReward", "x")
	s.refused(t, codeInvalidParams, "getInflationReward", []string{"x"})
	s.refused(t, codeInvalidParams, "getInflationReward", []string{voteOf(0).String()}, object{"commitment": processed})
	s.refused(t, codeInvalidParams, "getInflationReward", []string{voteOf(0).String()}, object{"epoch": -1})
	s.warp(t)
	s.advance(t, 40)
	// Without an epoch it is the one before; the default commitment is finalized.
	if got := s.result(t, "getInflationReward", []string{voteOf(0).String(), alice.String()}); got[:10] != `[{"amount"` || got[len(got)-5:] != `null]` {
		t.Errorf("%s", got)
	}
	if got := s.result(t, "getInflationReward", []string{}); got != "[]" {
		t.Errorf("%s", got)
	}
	if got := s.result(t, "getInflationGovernor"); got != `{"foundation":0,"foundationTerm":0,"initial":0.08,"taper":0.15,"terminal":0.015}` {
		t.Errorf("%s", got)
	}
	var rate struct {
		Epoch                        uint64
		Total, Validator, Foundation float64
	}
	s.must(t, &rate, "getInflationRate")
	if rate.Epoch != 1 || rate.Total != rate.Validator || rate.Foundation != 0 || rate.Total >= 0.08 || rate.Total < 0.0799 {
		t.Errorf("%+v", rate)
	}
	if got := inflation(1 << 20); got != lastRate {
		t.Errorf("after a long time %f", got)
	}
}

// Stakes that are too many for one block are paid in several, and nobody changes one until the last is paid.
func TestRewardsArePaidInParts(t *testing.T) {
	s := serve(t, short(t.TempDir()))
	s.stakesPerBlock = 2
	s.fund(t, "alice", 100*sol)
	var keys []address
	for i := range 7 {
		keys = append(keys, s.delegateTo(t, fmt.Sprint("stake:", i), 0, sol))
	}
	s.warp(t)
	first := s.toBoundary(t)
	s.advance(t, 1)
	b := s.boundaries[len(s.boundaries)-1]
	// Seven of alice, and those of the four validators that vote.
	total := uint64(len(b.Payout.Stakes))
	if b.Payout.Blocks != (total+1)/2 || total != 11 {
		t.Fatalf("%d blocks for %d stakes", b.Payout.Blocks, total)
	}
	seen := 0
	for part := range b.Payout.Blocks {
		wire := draft{payer: "alice", blockhash: s.blockhash(s.tip), calls: []call{deactivateStake(keys[part%7], alice)}}.bytes()
		s.must(t, new(string), "sendTransaction", base64.StdEncoding.EncodeToString(wire), blindly)
		s.advance(t, 1)
		want := customError(0, stakeRewardsActive)
		if part == b.Payout.Blocks-1 {
			want = "null" // the block that pays the last part pays before its transactions
		}
		if all := s.Landed(); shown(t, all[len(all)-1].Err) != want {
			t.Errorf("part %d: %s", part, shown(t, all[len(all)-1].Err))
		}
		paid, ok := s.rewardsOf(first + 1 + part)
		if !ok || paid.Parts != nil {
			t.Errorf("part %d: %+v", part, paid)
		}
		seen += len(paid.rewards)
	}
	if seen != 11 {
		t.Errorf("%d stakes were paid", seen)
	}
	s.advance(t, 2)
	for i, r := range s.rewards(t, 1, keys...) {
		if r == nil || r.EffectiveSlot <= slotOf(first) || r.Amount == 0 {
			t.Errorf("stake %d: %+v", i, r)
		}
	}
	if s.TotalLamports() != supply {
		t.Error("lamports were made or lost")
	}
}

// A commission counts for the rewards of the epoch after the one with which it came (SIMD-0249).
func TestStakersHaveAnEpochToReactToACommission(t *testing.T) {
	s := serve(t, short(""))
	if err := s.SetCommission("Alder", 900, 1); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		s.warp(t)
	}
	for epoch := range uint64(7) {
		got := s.rewards(t, epoch, ownStake(4), ownStake(0))
		elm, alder := 250, 500
		if epoch >= 5 {
			elm = 1000
		}
		if epoch >= 2 {
			alder = 900
		}
		if got[0].CommissionBps != elm || got[1].CommissionBps != alder {
			t.Errorf("epoch %d: %d and %d", epoch, got[0].CommissionBps, got[1].CommissionBps)
		}
	}
}

// The last reward of a stake comes when it is inactive already. All of it can be withdrawn then.
func TestAStakeIsPaidForItsLastEpoch(t *testing.T) {
	s := serve(t, short(""))
	s.fund(t, "alice", 100*sol)
	key := s.delegateTo(t, "stake:0", 0, 10*sol)
	s.warp(t)
	s.land(t, "null", deactivateStake(key, alice))
	first := s.toBoundary(t)
	s.advance(t, 4)
	got := s.rewards(t, 1, key)[0]
	paid, _ := s.rewardsOf(first + 1)
	if r := paid.of(key); got == nil || r == nil || r.kind != "DeactivatedStake" || got.Amount != r.lamports {
		t.Fatalf("%+v", got)
	}
	s.land(t, "null", withdrawStake(key, alice, alice, s.Balance(key.String())))
	s.warp(t)
	if got := s.rewards(t, 2, key); got[0] != nil || s.Balance(key.String()) != 0 {
		t.Errorf("after the end %+v", got)
	}
}

// A validator that is silent for a whole epoch earns its stakers nothing, and no later epoch makes up for it.
func TestSilenceEarnsNothing(t *testing.T) {
	s := serve(t, short(""))
	s.warp(t)
	if err := s.SetSilent("Elm", true); err != nil {
		t.Fatal(err)
	}
	s.warp(t)
	s.warp(t)
	if got := s.rewards(t, 2, ownStake(4), voteOf(4), ownStake(0)); got[0] != nil || got[1] != nil || got[2] == nil {
		t.Errorf("%v", got)
	}
	if err := s.SetSilent("Elm", false); err != nil {
		t.Fatal(err)
	}
	s.warp(t)
	s.warp(t)
	got := s.rewards(t, 4, ownStake(4), ownStake(0))
	if got[0] == nil || got[0].Amount*3 > got[1].Amount*11/10 { // 1,000 of 3,000 SOL, at other commissions
		t.Errorf("%+v %+v", got[0], got[1])
	}
}

// Whatever people do with their stakes over many epochs, forks and restarts, the lamports add up, every delegation is
// backed, and what the sysvar held is paid.
func TestRandomEpochsAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	o := short(t.TempDir())
	o.FinalizedLag = 8
	s := serve(t, o)
	s.fund(t, "alice", 5000*sol)
	var keys []address
	for i := range 6 {
		keys = append(keys, s.delegateTo(t, fmt.Sprint("stake:", i), i%5, 20*sol))
	}
	ok, refused, moved := 0, 0, map[uint32]int{}
	for step := range 400 {
		s.stakesPerBlock = 1 + random.IntN(4)
		one, two := keys[random.IntN(6)], keys[random.IntN(6)]
		amount := random.Uint64N(30 * sol)
		calls := []call{[]call{
			delegateStake(one, voteOf(random.IntN(5)), alice), deactivateStake(one, alice), mergeStake(one, two, alice),
			withdrawStake(one, alice, alice, amount/10), moveStake(16, one, two, alice, amount), moveStake(17, one, two, alice, amount/10),
			splitStake(one, two, alice, amount), transferTo(alice, one, 1+amount),
		}[random.IntN(8)]}
		if !s.state.at(one, s.tip).exists() { // merged away: made again
			i := 0
			for keys[i] != one {
				i++
			}
			calls = []call{
				system(pack(uint32(3), alice, fmt.Sprint("stake:", i), stakeReserve+amount, uint64(stakeSize), stakeProgram), meta{alice, "sw"}, w(one)),
				initializeStake(one, alice, alice, lockup{}),
			}
		}
		wire := draft{payer: "alice", blockhash: s.blockhash(s.tip), calls: calls}.bytes()
		s.ask(t, "sendTransaction", base64.StdEncoding.EncodeToString(wire), blindly)
		var err error
		switch random.IntN(8) {
		case 0:
			_, err = s.NextEpoch()
		case 1:
			err = s.Fork(random.IntN(10))
		case 2:
			s = reopen(t, s, o)
		case 3:
			err = s.SetSlotsPerEpoch(uint64(minSlotsPerEpoch + random.IntN(60)))
		case 4:
			err = s.SetSilent(validators[random.IntN(5)].Name, random.IntN(3) == 0)
		case 5:
			err = s.SetCommission(validators[random.IntN(5)].Name, uint16(random.IntN(fullCommission+1)), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.advance(t, 1+random.IntN(10))
		if got := s.TotalLamports(); got != supply {
			t.Fatalf("step %d: %d lamports", step, got)
		}
		history := historyIn(s.state.at(historySysvar, s.tip).Data, s.epochAt(s.tip))
		for key := range s.state {
			a := s.state.at(key, s.tip)
			if d, delegated := s.delegated(key, s.tip); delegated && d.at(s.epochAt(s.tip), history).Effective > a.Lamports-min(a.Lamports, stakeReserve) {
				t.Fatalf("step %d: %s has %d lamports for %+v", step, key, a.Lamports, d)
			}
		}
		sysvar := s.state.at(rewardsSysvar, s.tip)
		if active := sysvar.Data[rewardsActiveAt] == 1; !active && sysvar.Lamports != 1 || active != (s.paying(s.tip+1) != nil) {
			t.Fatalf("step %d: active %v with %d lamports", step, active, sysvar.Lamports)
		}
	}
	for _, l := range s.history.all {
		ix := l.tx.Instructions[0]
		if l.tx.Keys[ix.Program] != stakeProgram {
			continue
		}
		if l.Err != nil {
			refused++
			continue
		}
		ok++
		moved[binary.LittleEndian.Uint32(ix.Data)]++
	}
	if ok < 40 || refused < 20 || len(moved) < 6 || len(s.boundaries) < 20 {
		t.Errorf("%d succeeded %v, %d were refused, %d epochs", ok, moved, refused, len(s.boundaries))
	}
	// The journal tells the same world again, to the byte.
	want := s.dump()
	o.SlotsPerEpoch = 0
	s = reopen(t, s, o)
	if got := s.dump(); got != want {
		t.Error("another world after a restart")
	}
}
