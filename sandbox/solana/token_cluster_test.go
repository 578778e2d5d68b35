package solana

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// tokens adds up what all accounts hold of a mint, withheld fees included, and reads its supply.
func (c *Cluster) tokens(t *testing.T, symbol string) (held, supply uint64) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	mint := mintKey(c.seed, symbol)
	m, ok := mintIn(c.state.at(mint, c.tip))
	if !ok {
		t.Fatalf("%s has no mint", symbol)
	}
	if config, ok := m.extensions().find(extTransferFeeConfig); ok {
		held += u64At(config, feeWithheldAt)
	}
	for key := range c.state {
		if h, ok := holdingIn(c.state.at(key, c.tip)); ok && h.mint() == mint {
			held += h.amount()
			if withheld, ok := h.extensions().find(extTransferFeeAmount); ok {
				held += u64At(withheld, 0)
			}
		}
	}
	return held, m.supply()
}

// giveToken lets the faucet mint test tokens for a person, and lets that land.
func (s served) giveToken(t *testing.T, name, symbol string, units uint64) {
	t.Helper()
	if _, err := s.AirdropToken(t.Context(), addressOf(name).String(), symbol, units); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 1)
}

// account is where a person has a test token, and that token's program and mint.
func (s served) account(name, symbol string) (associated, program, mint address) {
	program, mint = tokenProgram, mintKey(s.seed, symbol)
	if symbol == FEE {
		program = token2022Program
	}
	associated, _ = associatedAddress(addressOf(name), program, mint)
	return associated, program, mint
}

func TestAirdropTokenMakesTheAccountAndMints(t *testing.T) {
	o := Options{Dir: t.TempDir(), Seed: "tokens", Now: newClock().now}
	s := serve(t, o)
	alice := addressOf("alice").String()
	s.giveToken(t, "alice", USDC, 3_000_000)
	s.giveToken(t, "alice", USDC, 3_000_000) // equal ones are two
	s.giveToken(t, "alice", s.Mint(FEE), 7)
	if s.Mint(USDC) != MintAddress("tokens", USDC) || s.Mint("SOL") != "" {
		t.Errorf("mints %q and %q", s.Mint(USDC), s.Mint("SOL"))
	}
	for _, bad := range [][2]string{{"nobody", USDC}, {alice, "EUR"}, {alice, alice}, {alice, nativeMint.String()}} {
		if sig, err := s.AirdropToken(t.Context(), bad[0], bad[1], 1); err == nil {
			t.Errorf("%q of %q was given: %s", bad[1], bad[0], sig)
		}
	}
	s = reopen(t, s, o)
	if usdc, fee := s.TokenBalance(alice, USDC), s.TokenBalance(alice, FEE); usdc != 6_000_000 || fee != 7 {
		t.Errorf("after a restart alice holds %d USDC and %d FEE", usdc, fee)
	}
	for _, nothing := range [][2]string{{"nobody", USDC}, {alice, "EUR"}, {alice, alice}, {addressOf("bob").String(), USDC}} {
		if got := s.TokenBalance(nothing[0], nothing[1]); got != 0 {
			t.Errorf("%v holds %d", nothing, got)
		}
	}
}

// The journal was written by the version before tokens (one airdrop, one transfer, one that failed
// and was taken back by a fork). It goes on with its balances, and has tokens from now on.
func TestJournalOfBeforeTokensOpens(t *testing.T) {
	old, err := os.ReadFile("testdata/before-tokens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dir: t.TempDir(), Now: func() time.Time { return time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC) }}
	if err := os.WriteFile(filepath.Join(o.Dir, journalName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, o)
	check := func(usdc uint64) {
		t.Helper()
		alice, bob := s.Balance(addressOf("alice").String()), s.Balance(addressOf("bob").String())
		if alice != 9*sol-2*5000 || bob != sol || s.TotalLamports() != supply {
			t.Errorf("alice holds %d, bob %d, all %d", alice, bob, s.TotalLamports())
		}
		if got := s.TokenBalance(addressOf("alice").String(), USDC); got != usdc {
			t.Errorf("alice holds %d USDC, not %d", got, usdc)
		}
	}
	if s.Height() != 8 || len(s.Landed()) != 3 || s.Mint(USDC) != MintAddress("before tokens", USDC) {
		t.Errorf("height %d, %d landed, USDC at %s", s.Height(), len(s.Landed()), s.Mint(USDC))
	}
	check(0)
	s.giveToken(t, "alice", USDC, 5)
	check(5)
	s = reopen(t, s, o)
	check(5)
	s = reopen(t, s, o) // the growth is written once
	check(5)
	if err := s.Fork(1000); err != nil { // back to what was final
		t.Fatal(err)
	}
	if held, supply := s.tokens(t, USDC); held != supply {
		t.Errorf("%d held of %d", held, supply)
	}
}

// TestTokensAreConserved sends random transfers, burns, fees and closings of both test tokens, with
// forks between: what all accounts hold is the mint's supply after every block, and lamports too
// stay what they were.
func TestTokensAreConserved(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 4, Seed: "conserved"})
	random := rand.New(rand.NewPCG(3, 4))
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		s.fund(t, name, 5*sol)
		s.giveToken(t, name, USDC, 1_000_000)
		s.giveToken(t, name, FEE, 1_000_000)
	}
	moved, forks := 0, 0
	for range 80 {
		for range 1 + random.IntN(4) {
			from, to := names[random.IntN(4)], names[random.IntN(4)]
			source, program, mint := s.account(from, []string{USDC, FEE}[random.IntN(2)])
			target, _ := associatedAddress(addressOf(to), program, mint)
			owner := addressOf(from)
			amount := []uint64{0, 1, 99, 40_000, 900_000, random.Uint64()}[random.IntN(6)]
			var c call
			switch random.IntN(6) {
			case 0:
				c = tokenCall(program, pack(byte(15), amount, byte(6)), w(source), w(mint), meta{owner, "s"})
			case 1:
				c = tokenCall(program, []byte{9}, w(source), w(owner), meta{owner, "s"})
			case 2:
				c = tokenCall(token2022Program, []byte{26, 4}, w(mint), w(target), w(source))
			default:
				c = transferChecked(program, source, mint, target, owner, amount, 6)
			}
			h, _ := s.blockhashAt(t, processed)
			text, _ := encode(draft{payer: from, blockhash: h, calls: []call{
				unitPrice(random.Uint64N(1 << 30)), createATA([]byte{1}, owner, addressOf(to), mint, program), c,
			}}.bytes())
			s.ask(t, "sendTransaction", text, blindly)
		}
		s.advance(t, 1)
		if random.IntN(10) == 0 {
			if err := s.Fork(random.IntN(4)); err != nil {
				t.Fatal(err)
			}
			forks++
		}
		for _, symbol := range []string{USDC, FEE} {
			if held, supply := s.tokens(t, symbol); held != supply || supply > 4_000_000+vaultUnits || symbol != USDC && supply > 4_000_000 {
				t.Fatalf("%d %s are held, the supply is %d", held, symbol, supply)
			}
		}
		if got := s.TotalLamports(); got != supply {
			t.Fatalf("%d lamports, not %d", got, uint64(supply))
		}
	}
	for _, l := range s.Landed() {
		if l.Err == nil {
			moved++
		}
	}
	if moved < 60 || forks < 3 {
		t.Fatalf("only %d transactions worked, %d forks", moved, forks)
	}
}

// An address that already had lamports keeps in each version what it had then, however many versions came after.
func TestFoundedAccountsKeepWhatWasSentToThem(t *testing.T) {
	c, err := Open(Options{Now: newClock().now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	key, added := addressOf("program"), account{Lamports: 100, Owner: loaderV2, Data: []byte(programStub), Executable: true}
	for height, lamports := range []uint64{5, 7, 11} {
		c.state[key] = append(c.state[key], version{uint64(height), account{Lamports: lamports}})
	}
	if err := c.found(c.version, map[address]account{key: added}); err != nil {
		t.Fatal(err)
	}
	for height, want := range []uint64{105, 107, 111} {
		got := c.state.at(key, uint64(height))
		if got.Lamports != want || got.Owner != loaderV2 || !got.Executable {
			t.Errorf("at height %d: %+v, want %d lamports", height, got, want)
		}
	}
}

// Journals of the version between tokens and Lighthouse get its programs too.
func TestJournalOfBeforeLighthouseOpens(t *testing.T) {
	for name, journal := range map[string]string{
		"begun with tokens": `{"genesis":{"seed":"x","pace":{"slot":0,"at":"2026-01-02T03:04:00Z","slot_time_ns":0},"version":1}}`,
		"grown to tokens":   `{"genesis":{"seed":"x","pace":{"slot":0,"at":"2026-01-02T03:04:00Z","slot_time_ns":0}}}` + "\n" + `{"version":1}`,
	} {
		o := Options{Dir: t.TempDir(), Now: newClock().now}
		if err := os.WriteFile(filepath.Join(o.Dir, journalName), []byte(journal+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := serve(t, o)
		for range 2 {
			s.fund(t, "alice", sol)
			var program struct{ Value *struct{ Executable bool } }
			for _, key := range []address{memoV3, memoV4, lighthouseProgram, tokenProgram} {
				if s.must(t, &program, "getAccountInfo", key.String(), inBase64); program.Value == nil || !program.Value.Executable {
					t.Errorf("%s: %s is not there", name, key)
				}
			}
			if got := s.TotalLamports(); got != supply {
				t.Errorf("%s: %d lamports in all", name, got)
			}
			s = reopen(t, s, o)
		}
		if got := s.Balance(addressOf("alice").String()); got != 2*sol {
			t.Errorf("%s: alice holds %d", name, got)
		}
	}
}
