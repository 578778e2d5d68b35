package solana

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// reopen closes a cluster and opens it again over the same journal.
func reopen(t *testing.T, s served, o Options) served {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return serve(t, o)
}

func TestChainSurvivesRestart(t *testing.T) {
	o := Options{Dir: t.TempDir(), Seed: "restart", Now: newClock().now}
	s := serve(t, o)
	s.fund(t, "alice", 10*sol)
	text, sig := s.transfer(t, "alice", "bob", sol)
	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	s.advance(t, 1)
	failing, failed := s.transfer(t, "alice", "bob", 20*sol)
	s.must(t, &answered, "sendTransaction", failing, blindly)
	s.advance(t, 5)
	height, landed := s.Height(), s.Landed()
	h, _ := s.blockhashAt(t, processed)
	before := s.ask(t, "getTransaction", sig, object{"commitment": confirmed})

	s = reopen(t, s, o)
	if got := s.Height(); got != height {
		t.Errorf("height %d, was %d", got, height)
	}
	if got, _ := s.blockhashAt(t, processed); got != h {
		t.Error("another blockhash")
	}
	if got := s.Landed(); len(got) != len(landed) || got[1] != landed[1] || got[2].Err.Error() != landed[2].Err.Error() {
		t.Errorf("landed %v, was %v", got, landed)
	}
	if after := s.ask(t, "getTransaction", sig, object{"commitment": confirmed}); !sameJSON(after.Result, before.Result) {
		t.Errorf("the transaction is now %s\nwas %s", after.Result, before.Result)
	}
	if st := s.status(t, failed); st == nil || !strings.Contains(string(st.Err), `"Custom":1`) {
		t.Errorf("status %+v", st)
	}
	if got, want := s.Balance(addressOf("alice").String()), 9*sol-2*5000; got != want {
		t.Errorf("alice holds %d, want %d", got, want)
	}
	if s.TotalLamports() != supply {
		t.Error("lamports were lost")
	}
	s.refused(t, codePreflight, "sendTransaction", text, preflight) // still known as done
	s.fund(t, "alice", sol)                                         // airdrops go on too
	if got := s.Balance(addressOf("alice").String()); got != 10*sol-2*5000 {
		t.Errorf("alice holds %d", got)
	}
}

func TestTornLastLineIsDropped(t *testing.T) {
	for _, torn := range []string{`{"height":9`, `{"height":9`[:1], "\x00\x00\x00", "{\"height\":9\n"} {
		o := Options{Dir: t.TempDir()}
		s := serve(t, o)
		s.fund(t, "alice", sol)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(o.Dir, journalName)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(whole, torn...), 0o600); err != nil {
			t.Fatal(err)
		}
		s = serve(t, o)
		if got := s.Balance(addressOf("alice").String()); got != sol {
			t.Errorf("after %q alice holds %d", torn, got)
		}
		s.fund(t, "bob", sol)
		s = reopen(t, s, o)
		if got := s.Balance(addressOf("bob").String()); got != sol {
			t.Errorf("after %q bob holds %d", torn, got)
		}
	}
}

func TestEveryPrefixOfTheJournalOpens(t *testing.T) {
	o := Options{Dir: t.TempDir(), Now: newClock().now}
	s := serve(t, o)
	s.fund(t, "alice", sol)
	s.fund(t, "bob", sol)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(o.Dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n <= len(whole); n += 1 + n/50 {
		cut := Options{Dir: t.TempDir(), Now: o.Now}
		if err := os.WriteFile(filepath.Join(cut.Dir, journalName), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(cut)
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		if got := c.TotalLamports(); got != supply {
			t.Errorf("after %d bytes: %d lamports", n, got)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDamagedJournalIsRefused(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	s := serve(t, o)
	s.fund(t, "alice", sol)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Dir, journalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"line 2":  strings.Replace(string(whole), `{"landed"`, `{"landed`, 1),
		"genesis": strings.SplitAfterN(string(whole), "\n", 2)[1],
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimeGoesOnWhileStopped(t *testing.T) {
	clock := newClock()
	o := Options{Dir: t.TempDir(), Now: clock.now, SlotTime: DefaultSlotTime}
	s := serve(t, o)
	if _, err := s.Airdrop(t.Context(), addressOf("alice").String(), 10*sol); err != nil {
		t.Fatal(err)
	}
	clock.add(2 * DefaultSlotTime)
	if got := s.Height(); got != 2 {
		t.Fatalf("height %d after two slots", got)
	}
	text, sig := s.transfer(t, "alice", "bob", sol)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	clock.add(time.Hour)
	s = serve(t, o)
	if got, want := s.Height(), heightAt(2+12000); got != want {
		t.Errorf("height %d after an hour, want %d", got, want)
	}
	if st := s.status(t, s.Landed()[0].Signature); st == nil || st.Level != finalized {
		t.Errorf("status %+v", st)
	}
	message, _ := s.refused(t, codePreflight, "sendTransaction", text, preflight)
	if !strings.HasSuffix(message, "Blockhash not found") || s.status(t, sig) != nil {
		t.Error(message)
	}
	var at int64
	s.must(t, &at, "getBlockTime", slotOf(s.Height()))
	if now := clock.now().Unix(); at != now && at != now-1 {
		t.Errorf("block time %d at %d", at, now)
	}

	// Another pace goes on from the same slot.
	height := s.Height()
	slow := o
	slow.SlotTime = time.Minute
	s = reopen(t, s, slow)
	clock.add(10 * time.Minute)
	if got := slotOf(s.Height()); got < slotOf(height)+9 || got > slotOf(height)+10 {
		t.Errorf("slot %d ten minutes after %d", got, slotOf(height))
	}
	manual := o
	manual.SlotTime = 0
	s = reopen(t, s, manual)
	height = s.Height()
	clock.add(time.Hour)
	if got := s.Height(); got != height {
		t.Errorf("height %d moved by itself to %d", height, got)
	}
	s.advance(t, 7)
	s = reopen(t, s, manual)
	if got := s.Height(); got != height+7 {
		t.Errorf("height %d, want %d", got, height+7)
	}
}

func TestAdvanceRunsAheadOfTheClock(t *testing.T) {
	clock := newClock()
	s := serve(t, Options{Now: clock.now, SlotTime: DefaultSlotTime})
	s.advance(t, 200)
	if got := s.Height(); got != 200 {
		t.Fatalf("height %d", got)
	}
	clock.add(3 * DefaultSlotTime)
	if got, want := slotOf(s.Height()), slotOf(200)+3; got < want-1 || got > want {
		t.Errorf("slot %d, want %d", got, want)
	}
}

func TestForkForgetsWhatWasNotFinal(t *testing.T) {
	o := Options{Dir: t.TempDir(), Now: newClock().now}
	s := serve(t, o)
	s.fund(t, "alice", 10*sol)
	s.advance(t, 40)
	early, earlySig := s.transfer(t, "alice", "bob", sol)
	var answered string
	s.must(t, &answered, "sendTransaction", early, preflight)
	s.advance(t, 2)
	late, lateSig := s.transfer(t, "alice", "bob", 2*sol) // its blockhash will be forgotten
	s.must(t, &answered, "sendTransaction", late, preflight)
	s.advance(t, 1)

	height := s.Height()
	if err := s.Fork(3); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if s.status(t, earlySig) != nil || s.status(t, lateSig) != nil {
			t.Error("still landed")
		}
		if got := s.Balance(addressOf("bob").String()); got != 0 {
			t.Errorf("bob holds %d", got)
		}
		if s.Height() != height || s.TotalLamports() != supply {
			t.Errorf("height %d of %d, %d lamports", s.Height(), height, s.TotalLamports())
		}
	}
	check()
	s = reopen(t, s, o)
	check()
	s.refused(t, codePreflight, "sendTransaction", late, preflight)
	s.must(t, &answered, "sendTransaction", early, preflight)
	s.advance(t, 1)
	if got := s.Balance(addressOf("bob").String()); got != sol {
		t.Errorf("bob holds %d after landing again", got)
	}
	s.advance(t, 40)
	if err := s.Fork(1000); err != nil {
		t.Fatal(err)
	}
	if st := s.status(t, earlySig); st == nil || st.Level != finalized {
		t.Errorf("a finalized transaction is gone: %+v", st)
	}
}

func TestLamportsAreConserved(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 4})
	names := []string{"a", "b", "c", "d", "e"}
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		s.fund(t, name, 5*sol)
	}
	landed := 0
	for range 60 {
		for range random.IntN(5) {
			from, to := names[random.IntN(5)], names[random.IntN(5)]
			amount := []uint64{0, 1, rent, sol, 4 * sol, random.Uint64()}[random.IntN(6)]
			h, _ := s.blockhashAt(t, processed)
			text, _ := encode(draft{payer: from, blockhash: h, calls: []call{
				unitPrice(random.Uint64N(1 << 30)), transferTo(addressOf(from), addressOf(to), amount),
			}}.bytes())
			s.ask(t, "sendTransaction", text, blindly)
		}
		s.advance(t, 1)
		if got := s.TotalLamports(); got != supply {
			t.Fatalf("%d lamports, not %d", got, uint64(supply))
		}
		landed = len(s.Landed())
	}
	if landed < 50 {
		t.Fatalf("only %d transactions landed", landed)
	}
}

func TestRunMakesBlocksByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := Open(Options{SlotTime: DefaultSlotTime})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		tip := c.tip // without a call that catches up
		c.mu.Unlock()
		if want := heightAt(uint64(time.Minute / DefaultSlotTime)); tip < want-1 || tip > want {
			t.Errorf("height %d after a minute, want %d", tip, want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestJournalThatCannotBeWrittenStopsTheChain(t *testing.T) {
	s := serve(t, Options{Dir: t.TempDir()})
	s.fund(t, "alice", sol)
	if err := s.journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Airdrop(t.Context(), addressOf("bob").String(), sol); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(1); err == nil {
		t.Fatal("no error")
	}
	if got := s.Balance(addressOf("bob").String()); got != 0 {
		t.Errorf("bob holds %d that no journal knows", got)
	}
	s.refused(t, codeUnhealthy, "getSlot")
	s.journal = nil // its file is closed already
}
