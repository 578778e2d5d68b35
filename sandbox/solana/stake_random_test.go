package solana

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Whatever is done with stakes in whatever epochs, no lamport comes or goes but the fee, and each stake is backed by
// its account's lamports.
func TestRandomStakingAddsUp(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 4))
	c, err := Open(Options{Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	pool := []address{addressOf("stake 0"), addressOf("stake 1"), addressOf("stake 2"), addressOf("stake 3")}
	world := map[address]account{
		alice: {Lamports: 100_000 * sol}, voteA: aVote(1, 2), voteB: aVote(1, 2),
		pool[0]: aStake(50*sol, nil), pool[1]: anInitialized(9*sol, nil), pool[2]: anEmptyStake(0), pool[3]: anEmptyStake(0),
	}
	for _, key := range pool[:2] { // alice may do everything
		s, _ := readStake(world[key].Data)
		s.Withdrawer = alice
		world[key] = account{world[key].Lamports, stakeProgram, resized(s.bytes(), stakeSize), false}
	}
	for key, a := range world {
		c.state.set(key, 0, a, 0)
	}
	total := c.state.total(0)
	epoch, done := uint64(testEpoch), map[uint32]int{}
	history := []byte{0, 0, 0, 0, 0, 0, 0, 0}
	for range 4000 {
		if random.IntN(12) == 0 { // the next epoch, in which a ninth of these stakes may change
			epoch++
			entry := binary.LittleEndian.AppendUint64(nil, epoch-1)
			for _, n := range []uint64{100 * sol, 80 * sol, 80 * sol} {
				entry = binary.LittleEndian.AppendUint64(entry, n)
			}
			history = append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(history)/historyEntry)+1), entry...), history[8:]...)
			c.state.set(historySysvar, 0, account{1, sysvarOwner, history, false}, 0)
		}
		one, two := pool[random.IntN(4)], pool[random.IntN(4)]
		amount := random.Uint64N(60 * sol)
		if random.IntN(3) == 0 {
			amount = c.state.at(one, 0).Lamports - min(c.state.at(one, 0).Lamports, []uint64{0, stakeReserve, sol}[random.IntN(3)])
		}
		vote := []address{voteA, voteB}[random.IntN(2)]
		ix := []call{
			delegateStake(one, vote, alice), deactivateStake(one, alice), splitStake(one, two, alice, amount), mergeStake(one, two, alice),
			withdrawStake(one, alice, alice, amount/[]uint64{1, 100, 100, 100, 100}[random.IntN(5)]), moveStake(16, one, two, alice, amount/4), moveStake(17, one, two, alice, amount/20),
			transferTo(alice, one, 1+amount/5), initializeStake(one, alice, alice, lockup{}),
		}[random.IntN(9)]
		calls := []call{ix}
		// An account that is gone is made again, empty or initialized.
		if at := []address{one, two}[random.IntN(2)]; !c.state.at(at, 0).exists() {
			calls = []call{system(pack(uint32(0), stakeReserve+[]uint64{0, amount}[random.IntN(2)], uint64(stakeSize), stakeProgram), meta{alice, "sw"}, meta{at, "sw"})}
			if random.IntN(2) == 0 {
				calls = append(calls, initializeStake(at, alice, alice, lockup{}))
			}
		} else if !c.state.at(one, 0).exists() {
			continue
		}
		tx, err := parseTransaction(draft{payer: "alice", signers: []string{"stake 0", "stake 1", "stake 2", "stake 3"}, blockhash: c.blockhash(0), calls: calls}.bytes())
		if err != nil {
			t.Fatal(err)
		}
		b := c.bank(0)
		b.epoch = func(uint64) uint64 { return epoch }
		b.done = func(*transaction) bool { return false }
		out := b.execute(tx)
		if !out.Landed {
			t.Fatalf("%v %q", out.Err, out.Logs)
		}
		for key, a := range out.Writes {
			c.state.set(key, 0, a, 0)
		}
		if total -= out.Fee; c.state.total(0) != total {
			t.Fatalf("%d lamports, not %d: %v %q", c.state.total(0), total, out.Err, out.Logs)
		}
		if last := calls[len(calls)-1]; out.Err == nil && last.program == stakeProgram {
			done[binary.LittleEndian.Uint32(last.data)]++
		}
		for _, key := range pool {
			a := c.state.at(key, 0)
			s, ok := readStake(a.Data)
			if ok && s.Kind == stakeDelegated && s.at(epoch, historyIn(history, epoch)).Effective > a.Lamports-min(a.Lamports, stakeReserve) {
				t.Fatalf("%s has %d lamports for %+v after %q", key, a.Lamports, s, out.Logs)
			}
		}
	}
	for _, kind := range []uint32{0, 2, 3, 4, 5, 7, 16, 17} {
		if done[kind] == 0 {
			t.Errorf("instruction %d never succeeded: %v", kind, done)
		}
	}
}
