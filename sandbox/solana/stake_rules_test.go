package solana

import (
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Five epochs without votes let anybody deactivate, if another validator has voted in each of the last five. LiteSVM's
// tests stand in epoch 2, too early for this.
func TestDelinquencyCanBeUsedAfterFiveEpochs(t *testing.T) {
	for _, c := range []struct {
		name   string
		silent account
		voting account
		want   string
	}{
		{"never voted", aVote(), aVote(4, 5, 6, 7, 8), "null"},
		{"five epochs ago", aVote(1, 2, 3), aVote(4, 5, 6, 7, 8), "null"},
		{"four epochs ago", aVote(1, 2, 3, 4), aVote(4, 5, 6, 7, 8), customError(0, stakeNotDelinquent)},
		{"reference with a gap", aVote(), aVote(2, 4, 6, 7, 8), customError(0, stakeReferenceVotes)},
		{"reference without the present epoch", aVote(), aVote(3, 4, 5, 6, 7), customError(0, stakeReferenceVotes)},
		{"reference with four epochs", aVote(), aVote(5, 6, 7, 8), customError(0, stakeReferenceVotes)},
	} {
		cluster, err := Open(Options{Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		world := accounts{alice: {Lamports: sol}, stakeA: aStake(5*sol, nil), voteA: c.silent, voteB: c.voting}
		for key, a := range world {
			cluster.state.set(key, 0, a, 0)
		}
		tx, err := parseTransaction(draft{payer: "alice", blockhash: cluster.blockhash(0), calls: []call{stakeCall(14, nil, w(stakeA), r(voteA), r(voteB))}}.bytes())
		if err != nil {
			t.Fatal(err)
		}
		b := cluster.bank(0)
		b.epoch = func(uint64) uint64 { return 8 }
		out := b.execute(tx)
		if got := shown(t, out.Err); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if s, _ := readStake(out.Writes[stakeA].Data); c.want == "null" && s.Deactivated != 8 {
			t.Errorf("%s: deactivated in %d", c.name, s.Deactivated)
		}
	}
}

// A share that rounds down to nothing is still one lamport, so that every change ends.
func TestActivationAlwaysMoves(t *testing.T) {
	history := func(uint64) (activation, bool) { return activation{10, 1 << 40, 1 << 40}, true }
	warming := delegation{Stake: 100, Activated: 1, Deactivated: never}
	if got := warming.at(3, history); got != (activation{Effective: 2, Activating: 98}) {
		t.Errorf("%+v", got)
	}
	cooling := delegation{Stake: 100, Activated: never, Deactivated: 1}
	if got := cooling.at(3, history); got != (activation{Effective: 98, Deactivating: 98}) {
		t.Errorf("%+v", got)
	}
}

// The Stake program also takes the vote accounts of versions 1.14.11 and 3.
func TestOlderVoteAccountsAreRead(t *testing.T) {
	for version := uint32(1); version <= 2; version++ {
		b := binary.LittleEndian.AppendUint32(nil, version)
		b = append(append(append(b, carol[:]...), bob[:]...), 7)
		b = append(b, pack(uint64(1))...)
		if version == 2 {
			b = append(b, 1)
		}
		b = append(append(b, pack(uint64(90), uint32(3))...), 0)
		b = append(b, pack(uint64(1), uint64(2), carol)...)
		b = append(b, make([]byte, 32*48+9)...)
		b = append(b, pack(uint64(1), uint64(2), uint64(500), uint64(400), uint64(90), uint64(1000))...)
		v, ok := readVote(voteA, b)
		if !ok || v.credits() != 500 || v.InflationCommission != 700 || v.InflationCollector != voteA || v.lastVote() != 90 || v.LastTime != 1000 {
			t.Errorf("version %d: %v %+v", version, ok, v)
		}
		if _, ok := readVote(voteA, b[:len(b)-1]); ok {
			t.Error("a cut account is read")
		}
	}
}

// The 32nd vote makes the first one the root.
func TestTheFirstRootComesWithThe32ndVote(t *testing.T) {
	for slot, want := range map[uint64]string{30: "null", 31: "0", 32: "1"} {
		cluster, err := Open(Options{Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		v := voteState{}
		cluster.vote(&v, cluster.turnout(0), slot)
		if got, err := json.Marshal(v.Root); err != nil || string(got) != want || len(v.Votes) != 31 {
			t.Errorf("at slot %d: root %s, %d votes", slot, got, len(v.Votes))
		}
	}
}
