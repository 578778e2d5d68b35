package solana

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// short is a cluster with epochs that tests can walk through.
func short(dir string) Options {
	return Options{Dir: dir, Seed: "five", SlotsPerEpoch: 100, Now: newClock().now}
}

// warp begins the next epoch and lets two blocks pass in it.
func (s served) warp(t *testing.T) uint64 {
	t.Helper()
	epoch, err := s.NextEpoch()
	if err != nil {
		t.Fatal(err)
	}
	s.advance(t, 2)
	return epoch
}

// land sends a transaction that alice signs, and requires that it ends so.
func (s served) land(t *testing.T, want string, calls ...call) {
	t.Helper()
	s.advance(t, 1)
	wire := draft{payer: "alice", blockhash: s.blockhash(s.tip), calls: calls}.bytes()
	var sig string
	s.must(t, &sig, "sendTransaction", base64.StdEncoding.EncodeToString(wire), blindly)
	s.advance(t, 1)
	all := s.Landed()
	if last := all[len(all)-1]; last.Signature != sig || shown(t, last.Err) != want {
		t.Fatalf("%s, want %s", shown(t, last.Err), want)
	}
}

// voteOf is the vote account of validator i of the seed "five".
func voteOf(i int) address { return validatorKey("five", "vote", i) }

// delegateTo makes a stake account of alice and delegates it.
func (s served) delegateTo(t *testing.T, seed string, i int, lamports uint64) address {
	t.Helper()
	key := seeded(alice, seed, stakeProgram)
	s.land(t, "null",
		system(pack(uint32(3), alice, seed, lamports+stakeReserve, uint64(stakeSize), stakeProgram), meta{alice, "sw"}, w(key)),
		initializeStake(key, alice, alice, lockup{}), delegateStake(key, voteOf(i), alice))
	return key
}

// activation is what a stake account counts for in the newest block.
func (s served) activation(t *testing.T, key address) activation {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.delegated(key, s.tip)
	if !ok {
		t.Fatalf("%s is not delegated", key)
	}
	return state.at(s.epochAt(s.tip), historyIn(s.state.at(historySysvar, s.tip).Data, s.epochAt(s.tip)))
}

// Whatever lengths follow one another, every slot is in one epoch, and the first slots and blocks are the first.
func TestEpochsOfChangingLengthCoverAllSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	c, err := Open(short(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if err := c.SetSlotsPerEpoch(32 + random.Uint64N(60)); err != nil {
			t.Fatal(err)
		}
		if err := c.Advance(random.IntN(150)); err != nil {
			t.Fatal(err)
		}
	}
	epoch, index := uint64(0), uint64(0)
	for slot := range slotOf(c.tip) {
		if c.lengths.of(slot) != epoch {
			if epoch++; c.lengths.of(slot) != epoch || c.lengths.first(epoch) != slot {
				t.Fatalf("slot %d is in epoch %d, which begins at %d", slot, c.lengths.of(slot), c.lengths.first(epoch))
			}
			if h := c.lengths.firstBlock(epoch); slotOf(h) < slot || slotOf(h-1) >= slot || !c.begins(h) || c.begins(h+1) {
				t.Fatalf("epoch %d begins at slot %d, but with block %d in slot %d", epoch, slot, h, slotOf(h))
			}
			index = 0
		}
		if got := slot - c.lengths.first(epoch); got != index || index >= c.lengths.in(epoch).Slots {
			t.Fatalf("slot %d has index %d of %d", slot, got, c.lengths.in(epoch).Slots)
		}
		index++
	}
	if epoch < 20 {
		t.Errorf("only %d epochs", epoch)
	}
	for _, wrong := range []uint64{0, 31, maxSlotsPerEpoch + 1} {
		if c.SetSlotsPerEpoch(wrong) == nil {
			t.Errorf("an epoch of %d slots is taken", wrong)
		}
	}
}

// A new length holds from the next epoch on. Until then RPC and sysvar tell the old one.
func TestTheLengthOfEpochsChangesWithTheNextOne(t *testing.T) {
	s := serve(t, short(t.TempDir()))
	s.advance(t, 30)
	type info struct{ AbsoluteSlot, BlockHeight, Epoch, SlotIndex, SlotsInEpoch uint64 }
	var got info
	check := func(schedule string, want info) {
		t.Helper()
		if s.must(t, &got, "getEpochInfo", object{"commitment": processed}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if said := s.result(t, "getEpochSchedule"); said != schedule {
			t.Errorf("%s", said)
		}
		var account struct {
			Value struct {
				Data struct{ Parsed struct{ Info map[string]any } }
			}
		}
		s.must(t, &account, "getAccountInfo", scheduleSysvar.String(), object{"encoding": "jsonParsed", "commitment": processed})
		if said, err := json.Marshal(account.Value.Data.Parsed.Info); err != nil || string(said) != schedule {
			t.Errorf("the sysvar says %s", said)
		}
	}
	old := `{"firstNormalEpoch":0,"firstNormalSlot":0,"leaderScheduleSlotOffset":100,"slotsPerEpoch":100,"warmup":false}`
	s.must(t, new(any), "sandbox_set", object{"slotsPerEpoch": 50})
	s.must(t, new(any), "sandbox_set", object{"slotsPerEpoch": 40}) // replaces the one that waits
	if n := len(s.lengths); n != 2 {
		t.Errorf("%d lengths are known", n)
	}
	check(old, info{31, 30, 0, 31, 100})
	s.must(t, &got, "sandbox_nextEpoch")
	next := `{"firstNormalEpoch":1,"firstNormalSlot":100,"leaderScheduleSlotOffset":40,"slotsPerEpoch":40,"warmup":false}`
	check(next, info{100, 95, 1, 0, 40})
	s.advance(t, 70)
	check(next, info{173, 165, 2, 33, 40})
	// Clock knows it too.
	s.mu.Lock()
	clock := s.accountAt(clockSysvar, s.tip).Data
	s.mu.Unlock()
	if got := binary.LittleEndian.Uint64(clock[16:]); got != 2 {
		t.Errorf("the clock says epoch %d", got)
	}
}

// A stake warms up with the next epoch and cools down with the one after its deactivation; the history says so.
func TestStakesChangeAtBoundaries(t *testing.T) {
	s := serve(t, short(t.TempDir()))
	s.fund(t, "alice", 5000*sol)
	key := s.delegateTo(t, "stake:0", 0, 10*sol)
	if got := s.activation(t, key); got != (activation{Activating: 10 * sol}) {
		t.Errorf("at first %+v", got)
	}
	if epoch := s.warp(t); epoch != 1 {
		t.Fatalf("epoch %d", epoch)
	}
	if got := s.activation(t, key); got.Effective < 10*sol || got.Activating != 0 {
		t.Errorf("in the next epoch %+v", got)
	}
	// More than nine percent of the cluster's stake cannot come at once.
	large := s.delegateTo(t, "stake:1", 0, 2000*sol)
	s.warp(t)
	effective := s.activation(t, large).Effective
	if effective < 900*sol || effective > 902*sol {
		t.Errorf("%d lamports came at once", effective)
	}
	s.land(t, "null", deactivateStake(key, alice))
	if got := s.activation(t, key); got.Deactivating < 10*sol {
		t.Errorf("while it cools down %+v", got)
	}
	s.land(t, instr(0, "InsufficientFunds"), withdrawStake(key, alice, alice, 10*sol))
	s.warp(t)
	if got := s.activation(t, key); got != (activation{}) {
		t.Errorf("in the end %+v", got)
	}
	s.land(t, "null", withdrawStake(key, alice, alice, 10*sol))
	var account struct {
		Value struct {
			Data struct {
				Parsed struct {
					Info []struct {
						Epoch        uint64
						StakeHistory activation
					}
				}
			}
		}
	}
	s.must(t, &account, "getAccountInfo", historySysvar.String(), object{"encoding": "jsonParsed", "commitment": processed})
	entries := account.Value.Data.Parsed.Info
	if len(entries) != 3 || entries[0].Epoch != 2 || entries[2].Epoch != 0 {
		t.Fatalf("%+v", entries)
	}
	if got := entries[2].StakeHistory; got != (activation{10_000 * sol, 10 * sol, 0}) {
		t.Errorf("epoch 0 had %+v", got)
	}
	if got := entries[0].StakeHistory; got.Deactivating < 10*sol || got.Activating < 1098*sol || got.Effective < 10_910*sol {
		t.Errorf("epoch 2 had %+v", got)
	}
}

// The clock carries a cluster through its epochs, also while nobody looks and while it is stopped.
func TestEpochsPassWhileNobodyLooks(t *testing.T) {
	clock := newClock()
	o := Options{Dir: t.TempDir(), Seed: "five", SlotsPerEpoch: 40, SlotTime: DefaultSlotTime, Now: clock.now}
	s := serve(t, o)
	history := func() (list []uint64) {
		data := s.state.at(historySysvar, s.tip).Data
		for at := 8; at < len(data); at += historyEntry {
			list = append(list, binary.LittleEndian.Uint64(data[at:]))
		}
		return list
	}
	clock.add(130 * DefaultSlotTime)
	if s.Height(); !slices.Equal(history(), []uint64{2, 1, 0}) {
		t.Errorf("%d", history())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.add(70 * DefaultSlotTime)
	s = serve(t, o)
	if !slices.Equal(history(), []uint64{4, 3, 2, 1, 0}) {
		t.Errorf("after a restart %d", history())
	}
	// After a very long time the newest epochs are there, as many as the history holds.
	clock.add(1_000_000 * 40 * DefaultSlotTime)
	if s.Height(); len(history()) != maxHistoryEpochs || history()[0] != 1_000_004 || history()[maxHistoryEpochs-1] != 1_000_004-maxHistoryEpochs+1 {
		t.Errorf("%d epochs, from %d on", len(history()), history()[0])
	}
	var info struct{ Epoch uint64 }
	if s.must(t, &info, "getEpochInfo"); info.Epoch != 1_000_004 && info.Epoch != 1_000_005 {
		t.Errorf("%+v", info)
	}
}

// dump is all that a cluster knows, as text.
func (c *Cluster) dump() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	fmt.Fprintln(&b, c.tip, c.lengths, c.voting, c.minimums, c.commissions)
	keys := slices.SortedFunc(maps.Keys(c.state), func(x, y address) int { return bytes.Compare(x[:], y[:]) })
	for _, key := range keys {
		if a := c.accountAt(key, c.tip); a.exists() {
			fmt.Fprintf(&b, "%s %d %s %x\n", key, a.Lamports, a.Owner, a.Data)
		}
	}
	return b.String()
}

// A cluster that is killed between any two writes comes back as it was, and goes on as it would have.
func TestEveryLineOfTheJournalIsAWholeWorld(t *testing.T) {
	o := short(t.TempDir())
	s := serve(t, o)
	path := filepath.Join(o.Dir, journalName)
	worlds := map[int]string{}
	note := func() {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		worlds[len(raw)] = s.dump()
	}
	each := func(n int) {
		for range n {
			s.advance(t, 1)
			note()
		}
	}
	s.fund(t, "alice", 100*sol)
	key := s.delegateTo(t, "stake:0", 1, 10*sol)
	note()
	for _, turn := range []func() error{
		func() error { return s.SetSlotsPerEpoch(40) },
		func() error { return s.SetMinimumDelegation(5) },
		func() error { return s.SetSilent("Birch", true) },
		func() error { return s.SetCommission("Cedar", 900, 2) },
	} {
		if err := turn(); err != nil {
			t.Fatal(err)
		}
		note()
		each(40)
	}
	s.land(t, "null", deactivateStake(key, alice))
	note()
	if _, err := s.NextEpoch(); err != nil {
		t.Fatal(err)
	}
	note()
	each(3)
	if err := s.Fork(4); err != nil {
		t.Fatal(err)
	}
	note()
	each(5)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range worlds {
		cut := Options{Dir: t.TempDir(), Seed: o.Seed, Now: o.Now}
		if err := os.WriteFile(filepath.Join(cut.Dir, journalName), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(cut)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.dump(); got != want {
			t.Errorf("after %d bytes another world:\n%.300s\nwant\n%.300s", size, got, want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(worlds) < 100 {
		t.Errorf("only %d worlds", len(worlds))
	}
}

// A fork over a boundary undoes it, and the block that replaces it does the same again.
func TestAForkTakesABoundaryBack(t *testing.T) {
	s := serve(t, short(""))
	s.fund(t, "alice", 100*sol)
	s.delegateTo(t, "stake:0", 1, 10*sol)
	s.advance(t, 5)
	before := s.dump()
	if _, err := s.NextEpoch(); err != nil {
		t.Fatal(err)
	}
	after := s.dump()
	if err := s.Fork(1); err != nil {
		t.Fatal(err)
	}
	var info struct{ Epoch uint64 }
	if s.must(t, &info, "getEpochInfo", object{"commitment": processed}); info.Epoch != 1 {
		t.Errorf("after the fork epoch %d", info.Epoch)
	}
	if n := len(s.rewardBlocks); n != 1 { // a block that is gone paid nothing
		t.Errorf("%d blocks have paid rewards", n)
	}
	if got := s.dump(); got != after {
		t.Errorf("the remade boundary is another:\n%.400s\nwas\n%.400s\nbefore\n%.400s", got, after, before)
	}
}

// A validator that falls silent becomes delinquent and earns nothing; its credits go on when it votes again.
func TestAValidatorFallsSilent(t *testing.T) {
	s := serve(t, short(""))
	s.advance(t, 50)
	if err := s.SetSilent("Elm", true); err != nil {
		t.Fatal(err)
	}
	silent := slotOf(50)
	s.advance(t, 250)
	var list struct{ Current, Delinquent []voteEntry }
	s.must(t, &list, "getVoteAccounts", object{"commitment": processed, "votePubkey": voteOf(4).String()})
	if len(list.Delinquent) != 1 || list.Delinquent[0].LastVote != silent || fmt.Sprint(list.Delinquent[0].EpochCredits) != fmt.Sprint([][3]uint64{{0, silent * 16, 0}}) {
		t.Errorf("%+v", list)
	}
	if err := s.SetSilent("Elm", false); err != nil {
		t.Fatal(err)
	}
	again := slotOf(300)
	s.advance(t, 10)
	list.Delinquent = nil
	s.must(t, &list, "getVoteAccounts", object{"commitment": processed, "votePubkey": voteOf(4).String()})
	want := [][3]uint64{{0, silent * 16, 0}, {again / 100, (silent + slotOf(310) - again) * 16, silent * 16}}
	if len(list.Current) != 1 || list.Current[0].LastVote != slotOf(310) || fmt.Sprint(list.Current[0].EpochCredits) != fmt.Sprint(want) {
		t.Errorf("%+v, want %v", list, want)
	}
	if got := list.Current[0].RootSlot; got >= silent { // 10 votes came since, so that the root is 21 votes older than the silence
		t.Errorf("root %d", got)
	}
	if s.SetSilent("Fir", true) == nil {
		t.Error("an unknown validator is silent")
	}
}

// Elm raises its commission with epoch 4, and the knob sets any other.
func TestCommissionsChangeAtBoundaries(t *testing.T) {
	s := serve(t, short(""))
	points := func(i int) (got int) {
		t.Helper()
		var list struct{ Current, Delinquent []voteEntry }
		s.must(t, &list, "getVoteAccounts", object{"commitment": processed, "votePubkey": voteOf(i).String()})
		return append(list.Current, list.Delinquent...)[0].InflationRewardsCommissionBps
	}
	s.must(t, new(any), "sandbox_set", object{"validators": object{"Alder": object{"commissionBps": 777}, "Birch": object{"commissionBps": 888, "fromEpoch": 3}}})
	for epoch, want := range [][3]int{{500, 700, 250}, {777, 700, 250}, {777, 700, 250}, {777, 888, 250}, {777, 888, 1000}} {
		if got := [3]int{points(0), points(1), points(4)}; got != want {
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
		s.warp(t)
	}
}

func TestStakeKnobsAreChecked(t *testing.T) {
	s := serve(t, short(t.TempDir()))
	for _, wrong := range []object{
		{"slotsPerEpoch": 31}, {"slotsPerEpoch": -1}, {"minimumDelegation": 0}, {"minimumDelegation": uint64(supply) + 1},
		{"validators": object{"Fir": object{}}}, {"validators": object{"Elm": object{"commissionBps": 10_001}}},
		{"slotTimeMs": 500, "validators": object{"Elm": object{"commissionBps": 10_001}}},
	} {
		s.refused(t, codeInvalidParams, "sandbox_set", wrong)
	}
	var all struct {
		SlotTimeMs, SlotsPerEpoch, MinimumDelegation uint64
		Validators                                   map[string]struct {
			VotePubkey    string
			Silent        bool
			CommissionBps int
		}
	}
	s.must(t, &all, "sandbox_set", object{"slotsPerEpoch": 77, "minimumDelegation": 5, "validators": object{"Dogwood": object{"silent": false}}})
	if all.SlotTimeMs != 0 || all.SlotsPerEpoch != 77 || all.MinimumDelegation != 5 || len(all.Validators) != 5 || all.Validators["Dogwood"].Silent || all.Validators["Cedar"].CommissionBps != 800 {
		t.Errorf("%+v", all)
	}
	var minimum struct{ Value uint64 }
	s.advance(t, 1)
	if s.must(t, &minimum, "getStakeMinimumDelegation", object{"commitment": processed}); minimum.Value != 5 {
		t.Errorf("%+v", minimum)
	}
	if s.must(t, &minimum, "getStakeMinimumDelegation"); minimum.Value != sol {
		t.Errorf("as of the finalized block %+v", minimum)
	}
	s.fund(t, "alice", sol)
	s.delegateTo(t, "stake:0", 0, 5)
}

// A kept cluster takes the length of a new start with its next epoch; time has gone on by the old one.
func TestANewStartChangesTheLengthOfEpochs(t *testing.T) {
	o := short(t.TempDir())
	s := serve(t, o)
	s.advance(t, 10)
	o.SlotsPerEpoch = 0
	s = reopen(t, s, o)
	if got := s.lengths; len(got) != 1 || got[0].Slots != 100 {
		t.Errorf("%+v", got)
	}
	o.SlotsPerEpoch = 64
	s = reopen(t, s, o)
	s = reopen(t, s, o)
	if got := s.lengths; len(got) != 2 || got[1] != (epochLength{1, 100, 64}) {
		t.Errorf("%+v", got)
	}
	if _, err := Open(Options{SlotsPerEpoch: 31}); err == nil {
		t.Error("a new cluster takes 31")
	}
}
