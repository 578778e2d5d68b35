package wallet

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestTheMinimumIsRoundedDown, as the program's own is rounded up: what is shown is never more than what is enforced.
func TestTheMinimumIsRoundedDown(t *testing.T) {
	for _, c := range []struct {
		quoted uint64
		bps    uint16
		want   uint64
	}{
		{2_001, 50, 1_990}, {10_000, 0, 10_000}, {10_000, 1, 9_999}, {1, 1, 0}, {0, 50, 0}, {199, 50, 198}, {200, 50, 199}, {10_000, 9_999, 1},
		{10_000, 10_000, 0}, {10_000, 65_535, 0}, {math.MaxUint64, 0, math.MaxUint64}, {math.MaxUint64, 1_000, 16602069666338596453},
	} {
		if got := MinimumOut(c.quoted, c.bps); got != c.want {
			t.Errorf("%d at %d: %d, want %d", c.quoted, c.bps, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(15, 42))
	for range 10_000 {
		quoted, bps := random.Uint64()>>random.IntN(64), uint16(random.IntN(10_001))
		want := new(big.Int).Mul(new(big.Int).SetUint64(quoted), big.NewInt(10_000-int64(bps)))
		if got := MinimumOut(quoted, bps); want.Quo(want, big.NewInt(10_000)).Cmp(new(big.Int).SetUint64(got)) != 0 {
			t.Fatalf("%d at %d: %d, want %s", quoted, bps, got, want)
		}
	}
}

// goodSwap is a swap that may be stored.
func goodSwap(change func(*SwapTerms)) Transaction {
	terms := SwapTerms{ToToken: Token{Symbol: "USDC", Mint: Address{50}, Decimals: 6, Program: TokenProgram}, Quoted: 2_001, Minimum: 1_990, SlippageBPS: 50,
		Source: "Jupiter", Venues: []string{"Orca"}, Expires: time.Unix(1_800_000_000, 0).UTC(),
		Route: SwapRoute{Data: []byte{1, 2}, Accounts: RouteAccounts{{Address: Address{7}, Writable: true}, {LookedUp: true, Index: 255}}, Tables: []Address{{9}}}}
	if change != nil {
		change(&terms)
	}
	return Transaction{Kind: Swap, From: Address{1}, To: Address{1}, Token: SOL, Amount: 1_000, Fee: 5, Rent: 7, Terms: terms.Terms()}
}

// TestTermsOfASwapAreHeldToEachOther: what no device would sign, and what contradicts itself, is not stored.
func TestTermsOfASwapAreHeldToEachOther(t *testing.T) {
	check := SwapRules().CheckTerms
	good := goodSwap(nil)
	if err := check(good); err != nil {
		t.Error(err)
	}
	stored, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	var back Transaction
	if err := json.Unmarshal(stored, &back); err != nil || !reflect.DeepEqual(back.SwapTerms(), good.SwapTerms()) || check(back) != nil {
		t.Errorf("read back: %+v, %v", back.SwapTerms(), err)
	}
	for name, change := range map[string]func(*SwapTerms){
		"no data":                func(s *SwapTerms) { s.Route.Data = nil },
		"too much data":          func(s *SwapTerms) { s.Route.Data = make([]byte, maxRouteBytes+1) },
		"no accounts":            func(s *SwapTerms) { s.Route.Accounts = nil },
		"no minimum":             func(s *SwapTerms) { s.Quoted, s.Minimum = 0, 0 },
		"a lower minimum":        func(s *SwapTerms) { s.Minimum-- },
		"a higher minimum":       func(s *SwapTerms) { s.Minimum++ },
		"too much slippage":      func(s *SwapTerms) { s.SlippageBPS = MaxSlippage + 1; s.Minimum = MinimumOut(s.Quoted, s.SlippageBPS) },
		"the same token":         func(s *SwapTerms) { s.ToToken = SOL },
		"a table of no address":  func(s *SwapTerms) { s.Route.Tables = []Address{{}} },
		"a table that is absent": func(s *SwapTerms) { s.Route.Accounts[1].Table = 1 },
	} {
		if err := check(goodSwap(change)); !errors.Is(err, ErrTerms) {
			t.Errorf("%s: %v", name, err)
		}
	}
	most := goodSwap(func(s *SwapTerms) { s.SlippageBPS = MaxSlippage; s.Minimum = MinimumOut(s.Quoted, MaxSlippage) })
	if err := check(most); err != nil {
		t.Errorf("the most slippage: %v", err)
	}
	other := good
	other.Terms = StakeTerms{Account: Address{1}}.Terms()
	if err := check(other); !errors.Is(err, ErrTerms) {
		t.Errorf("terms of a stake: %v", err)
	}
}

// TestWhatASwapReserves and writes to: what is paid, the fee and the deposit.
func TestWhatASwapReserves(t *testing.T) {
	rules := SwapRules()
	if got := rules.Spends(goodSwap(nil)); got != (Spending{Lamports: 1_012}) {
		t.Errorf("of SOL: %+v", got)
	}
	if got := rules.Spends(goodSwap(func(s *SwapTerms) { s.Passing = 100 })); got != (Spending{Lamports: 1_112}) {
		t.Errorf("with what passes through: %+v", got)
	}
	token := goodSwap(func(s *SwapTerms) { s.ToToken = SOL })
	token.Token = Token{Mint: Address{50}, Decimals: 6, Program: TokenProgram}
	if got := rules.Spends(token); got != (Spending{Lamports: 12, Mint: Address{50}, Units: 1_000}) {
		t.Errorf("of a token: %+v", got)
	}
	own := func(mint Address) Address { return AssociatedAccount(Address{1}, mint, TokenProgram) }
	for _, swap := range []Transaction{goodSwap(nil), token} {
		writes := rules.Writes(swap)
		if want := map[Address]bool{{1}: true, own(WrappedSOL): true, own(Address{50}): true}; len(writes) != 3 || !want[writes[0]] || !want[writes[1]] || !want[writes[2]] || writes[1] == writes[2] {
			t.Errorf("writes %v", writes)
		}
	}
}

// TestWhatASwapBroughtIsReadFromTheChain, and only from a swap that worked.
func TestWhatASwapBroughtIsReadFromTheChain(t *testing.T) {
	landed := SwapRules().Landed
	for name, c := range map[string]struct {
		l    Landing
		want uint64
	}{
		"as promised":      {Landing{Gained: Gain{Mint: Address{50}, Units: 1_995}}, 1_995},
		"failed":           {Landing{Failure: "x", Gained: Gain{Mint: Address{50}, Units: 1_995}}, 0},
		"not said yet":     {Landing{}, 0},
		"of another token": {Landing{Gained: Gain{Mint: Address{51}, Units: 1_995}}, 0},
	} {
		swap := goodSwap(nil)
		if landed(&swap, c.l); swap.SwapTerms().Received != c.want || SwapRules().CheckTerms(swap) != nil {
			t.Errorf("%s: %d", name, swap.SwapTerms().Received)
		}
	}
	swap := goodSwap(nil)
	if swap.Slipped() {
		t.Error("it has not landed")
	}
	for failure, want := range map[string]bool{Slipped(4): true, "InstructionError 4: Custom 6001": true, "InstructionError 4: Custom 60010": false, "InstructionError 4: Custom 6000": false, "": false} {
		if swap.Landing = (&Landing{Failure: failure}); swap.Slipped() != want {
			t.Errorf("%q: %v", failure, swap.Slipped())
		}
	}
	swap.Kind, swap.Landing.Failure = Send, Slipped(4)
	if swap.Slipped() {
		t.Error("a payment does not slip")
	}
}

// TestOnlyOneGainIsAGain: SOL and wrapped SOL are one, and of two tokens none is what was received.
func TestOnlyOneGainIsAGain(t *testing.T) {
	token := func(b byte) Token { return Token{Mint: Address{b}} }
	wrapped := Token{Mint: WrappedSOL}
	for name, c := range map[string]struct {
		net  []NetChange
		want Gain
	}{
		"nothing":              {nil, Gain{}},
		"one":                  {[]NetChange{{Token: SOL, Units: 5, Lost: true}, {Token: token(1), Units: 7}}, Gain{Address{1}, 7}},
		"SOL":                  {[]NetChange{{Token: SOL, Units: 5}, {Token: token(1), Units: 7, Lost: true}}, Gain{Units: 5}},
		"SOL that was wrapped": {[]NetChange{{Token: SOL, Units: 9}, {Token: wrapped, Units: 5, Lost: true}, {Token: token(1), Units: 7, Lost: true}}, Gain{Units: 4}},
		"wrapped for SOL":      {[]NetChange{{Token: SOL, Units: 5}, {Token: wrapped, Units: 5, Lost: true}}, Gain{}},
		"two":                  {[]NetChange{{Token: token(1), Units: 7}, {Token: token(2), Units: 7}}, Gain{}},
		"a loss":               {[]NetChange{{Token: token(1), Units: 7, Lost: true}}, Gain{}},
		"the same twice":       {[]NetChange{{Token: token(1), Units: 7}, {Token: token(1), Units: 3}}, Gain{Address{1}, 10}},
	} {
		if got := OnlyGain(c.net); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// FuzzRouteAccounts: what is read of a packed route is written as the same bytes, and nothing else is read.
func FuzzRouteAccounts(f *testing.F) {
	packed, _ := goodSwap(nil).SwapTerms().Route.Accounts.MarshalText()
	f.Add(string(packed))
	f.Add("AA==")
	f.Add("AgAA")
	f.Add("BAAA")
	f.Add(strings.Repeat("AgAA", 2_000))
	f.Fuzz(func(t *testing.T, text string) {
		var r RouteAccounts
		if err := r.UnmarshalText([]byte(text)); err != nil {
			if !errors.Is(err, ErrTerms) {
				t.Fatal(err)
			}
			return
		}
		again, err := r.MarshalText()
		var back RouteAccounts
		if err != nil || back.UnmarshalText(again) != nil || !reflect.DeepEqual(back, r) || len(r) > maxRouteBytes/3+1 {
			t.Fatalf("%v: %s, %v", r, again, err)
		}
	})
}
