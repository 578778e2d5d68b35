package solana

import (
	"context"
	"encoding/binary"
	"testing"
	"time"
)

func TestRentFallsWhileTheClusterRuns(t *testing.T) {
	dir, clock := t.TempDir(), newClock()
	s := serve(t, Options{Dir: dir, Now: clock.now})
	s.fund(t, "alice", 10*sol)
	minimum := func(commitment string) (lamports uint64) {
		t.Helper()
		s.must(t, &lamports, "getMinimumBalanceForRentExemption", 165, object{"commitment": commitment})
		return lamports
	}
	sysvar := func() uint64 {
		t.Helper()
		s.Cluster.mu.Lock()
		defer s.Cluster.mu.Unlock()
		return binary.LittleEndian.Uint64(s.state.at(rentSysvar, s.tip).Data)
	}
	if got := minimum(processed); got != 2_039_280 {
		t.Fatalf("a token account costs %d", got)
	}
	// Prepared at the old rent, landed at the new one: dust that would have been refused lands.
	cheap := rentRate(5080).minimum(0)
	text, sig := s.transfer(t, "alice", "carol", cheap)
	s.refused(t, codePreflight, "sendTransaction", text, preflight)
	if err := s.SetLamportsPerByte(5080); err != nil {
		t.Fatal(err)
	}
	if got := minimum(processed); got != 2_039_280 || sysvar() != 6960 {
		t.Errorf("before the next block a token account costs %d", got)
	}
	s.must(t, new(string), "sendTransaction", text, blindly)
	s.advance(t, 1)
	if got := minimum(processed); got != 293*5080 || sysvar() != 5080 {
		t.Errorf("a token account costs %d, the sysvar says %d", got, sysvar())
	}
	if got := minimum(finalized); got != 2_039_280 {
		t.Errorf("as of the finalized block it costs %d", got)
	}
	if st := s.status(t, sig); st == nil || string(st.Err) != "null" {
		t.Errorf("%+v", st)
	}
	for _, wrong := range []uint64{0, maxLamportsPerByte + 1} {
		if s.SetLamportsPerByte(wrong) == nil {
			t.Errorf("rent of %d is taken", wrong)
		}
	}
	// A fork does not undo it, and a restart keeps it.
	if err := s.Fork(1); err != nil {
		t.Fatal(err)
	}
	if got := minimum(processed); got != 293*5080 || sysvar() != 5080 {
		t.Errorf("after a fork %d, the sysvar says %d", got, sysvar())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = serve(t, Options{Dir: dir, Now: clock.now})
	if got := minimum(processed); got != 293*5080 || sysvar() != 5080 {
		t.Errorf("after a restart %d, the sysvar says %d", got, sysvar())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = serve(t, Options{Dir: dir, Now: clock.now, LamportsPerByte: 4000})
	s.advance(t, 1)
	if got := minimum(processed); got != 293*4000 {
		t.Errorf("opened with another rent: %d", got)
	}
	if got := s.TotalLamports(); got != supply {
		t.Errorf("%d lamports in all", got)
	}
}

func TestANewClusterBeginsWithTheRentItIsGiven(t *testing.T) {
	s := serve(t, Options{LamportsPerByte: 5080})
	var lamports uint64
	s.must(t, &lamports, "getMinimumBalanceForRentExemption", 0)
	if lamports != 650_240 {
		t.Errorf("%d", lamports)
	}
	var mint struct{ Value struct{ Lamports uint64 } }
	s.must(t, &mint, "getAccountInfo", MintAddress("", USDC), inBase64)
	if mint.Value.Lamports != rentRate(5080).minimum(mintSize) || s.TotalLamports() != supply {
		t.Errorf("the test mint holds %d", mint.Value.Lamports)
	}
	if _, err := Open(Options{LamportsPerByte: maxLamportsPerByte + 1}); err == nil {
		t.Error("any rent is taken")
	}
}

func TestFinalityAfterOneSlot(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	if err := s.SetFinality(0, 0); err != nil {
		t.Fatal(err)
	}
	text, sig := s.transfer(t, "alice", "bob", sol)
	s.must(t, new(string), "sendTransaction", text, preflight)
	if st := s.status(t, sig); st != nil {
		t.Fatalf("%+v", st)
	}
	s.advance(t, 1)
	if st := s.status(t, sig); st == nil || st.Level != finalized || st.Confirmations != nil {
		t.Fatalf("%+v", st)
	}
	// What was final stays final when blocks take longer again; what comes then takes longer.
	if err := s.SetFinality(1, 32); err != nil {
		t.Fatal(err)
	}
	if st := s.status(t, sig); st.Level != finalized {
		t.Errorf("no longer final: %+v", st)
	}
	text, later := s.transfer(t, "alice", "bob", sol)
	s.must(t, new(string), "sendTransaction", text, preflight)
	for _, step := range []struct {
		blocks int
		level  string
	}{{1, processed}, {1, confirmed}, {30, confirmed}, {1, finalized}} {
		s.advance(t, step.blocks)
		if st := s.status(t, later); st.Level != step.level {
			t.Errorf("%s, not %s", st.Level, step.level)
		}
		if st := s.status(t, sig); st.Level != finalized {
			t.Errorf("no longer final: %+v", st)
		}
	}
	for _, wrong := range [][2]int{{-1, 0}, {2, 1}} {
		if s.SetFinality(wrong[0], wrong[1]) == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}

func TestSlotTimeChangesWhileTheClusterRuns(t *testing.T) {
	clock := newClock()
	s := serve(t, Options{Now: clock.now, SlotTime: 400 * time.Millisecond})
	clock.add(10 * 400 * time.Millisecond)
	if got := s.Height(); got != 10 {
		t.Fatalf("height %d", got)
	}
	if err := s.SetSlotTime(200 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	clock.add(8 * 200 * time.Millisecond)
	if got := s.Height(); got != 18 {
		t.Errorf("height %d after 8 short slots", got)
	}
	var at int64
	s.must(t, &at, "getBlockTime", slotOf(18))
	if want := clock.now().Unix(); at != want {
		t.Errorf("block time %d, not %d", at, want)
	}
	if err := s.SetSlotTime(0); err != nil {
		t.Fatal(err)
	}
	clock.add(time.Hour)
	if got := s.Height(); got != 18 {
		t.Errorf("height %d while the clock stands", got)
	}
	s.advance(t, 1)
	if got := s.Height(); got != 19 {
		t.Errorf("height %d", got)
	}
	if s.SetSlotTime(time.Microsecond) == nil || s.SetSlotTime(-1) == nil {
		t.Error("any slot time is taken")
	}
}

// TestRunningClusterTakesANewPace lets Run make blocks: it must notice that slots became short.
func TestRunningClusterTakesANewPace(t *testing.T) {
	s := serve(t, Options{Now: time.Now})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	slots, err := listen(t, s.url).SlotSubscribe()
	if err != nil {
		t.Fatal(err)
	}
	s.subscribed(t, 1)
	if err := s.SetSlotTime(20 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := slots.Recv(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestKnobsAreTurnedOverJSONRPC(t *testing.T) {
	s := serve(t, Options{})
	var now struct{ SlotTimeMs, LamportsPerByte, ConfirmedAfter, FinalizedAfter uint64 }
	s.must(t, &now, "sandbox_set")
	if now.SlotTimeMs != 0 || now.LamportsPerByte != 6960 || now.ConfirmedAfter != 1 || now.FinalizedAfter != 32 {
		t.Errorf("%+v", now)
	}
	s.must(t, &now, "sandbox_set", object{"slotTimeMs": 250, "lamportsPerByte": 5080, "confirmedAfter": 0, "finalizedAfter": 2})
	if now.SlotTimeMs != 250 || now.LamportsPerByte != 5080 || now.ConfirmedAfter != 0 || now.FinalizedAfter != 2 {
		t.Errorf("%+v", now)
	}
	for _, wrong := range []any{object{"slotTimeMs": -1}, object{"lamportsPerByte": 0}, object{"confirmedAfter": 3}, "no",
		object{"lamportsPerByte": maxLamportsPerByte + 1, "slotTimeMs": 7}} {
		s.refused(t, codeInvalidParams, "sandbox_set", wrong)
	}
	s.must(t, &now, "sandbox_set", object{})
	if now.SlotTimeMs != 250 || now.LamportsPerByte != 5080 || now.ConfirmedAfter != 0 || now.FinalizedAfter != 2 {
		t.Errorf("a refused call changed %+v", now)
	}
}
