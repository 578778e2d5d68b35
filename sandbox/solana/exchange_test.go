package solana

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestATradeNeverTakesFromAPool: the product of the reserves never falls, what is paid stays in the pool to the unit, and what is bought
// is what the formula with a fee of a quarter of a percent says, rounded down.
func TestATradeNeverTakesFromAPool(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 3))
	mint := addressOf("mint")
	product := func(p pool) *big.Int {
		return new(big.Int).Mul(new(big.Int).SetUint64(p.token), new(big.Int).SetUint64(p.usdc))
	}
	traded := 0
	for range 50_000 {
		before := pool{mint, random.Uint64() >> random.IntN(64), random.Uint64() >> random.IntN(64)}
		units := random.Uint64() >> random.IntN(64)
		sells := random.IntN(2) == 0
		of := address{}
		if sells {
			of = mint
		}
		bought, after, ok := before.trade(of, units)
		if !ok {
			if after != before || bought != 0 {
				t.Fatalf("a trade that is none changed %+v to %+v", before, after)
			}
			continue
		}
		traded++
		held, other, heldAfter, otherAfter := before.usdc, before.token, after.usdc, after.token
		if sells {
			held, other, heldAfter, otherAfter = before.token, before.usdc, after.token, after.usdc
		}
		if heldAfter != held+units || otherAfter != other-bought || bought >= other || product(after).Cmp(product(before)) < 0 {
			t.Fatalf("%d of %+v (sells %v) bought %d: %+v", units, before, sells, bought, after)
		}
		// paid = units − ⌈units × 25 / 10000⌉; bought = ⌊other × paid / (held + paid)⌋
		fee := new(big.Int).Mul(new(big.Int).SetUint64(units), big.NewInt(25))
		fee.Add(fee, big.NewInt(9_999)).Quo(fee, big.NewInt(10_000))
		paid := new(big.Int).Sub(new(big.Int).SetUint64(units), fee)
		want := new(big.Int).Mul(new(big.Int).SetUint64(other), paid)
		want.Quo(want, new(big.Int).Add(new(big.Int).SetUint64(held), paid))
		if want.Cmp(new(big.Int).SetUint64(bought)) != 0 {
			t.Fatalf("%d of %+v bought %d, want %s", units, before, bought, want)
		}
	}
	if traded < 10_000 {
		t.Errorf("only %d were trades", traded)
	}
}

// TestTheLeastIsRoundedUp.
func TestTheLeastIsRoundedUp(t *testing.T) {
	for _, c := range []struct {
		quoted   uint64
		slippage uint16
		want     uint64
	}{{2_001, 50, 1_991}, {10_000, 50, 9_950}, {1, 1, 1}, {10_000, 10_000, 0}, {0, 50, 0}, {math.MaxUint64, 0, math.MaxUint64}, {math.MaxUint64, 10_000, 0}} {
		if got := minimumOut(c.quoted, c.slippage); got != c.want {
			t.Errorf("%d at %d: %d, want %d", c.quoted, c.slippage, got, c.want)
		}
	}
}

// floor is an exchange with alice, who holds all that is traded.
type floor struct {
	*Cluster
	t     *testing.T
	mints []address // USDC, SOL, BEAN, DIP, MOON
}

func newFloor(t *testing.T) floor {
	t.Helper()
	c, err := Open(Options{Now: newClock().now, Seed: "purser"})
	if err != nil {
		t.Fatal(err)
	}
	f := floor{c, t, []address{mintKey(c.seed, USDC)}}
	c.state.set(alice, 0, account{Lamports: 1000 * sol}, 0)
	for _, token := range exchangeTokens {
		f.mints = append(f.mints, c.exchangeMint(token))
	}
	for _, mint := range f.mints {
		held := aHolding(tokenProgram, mint, alice, 1_000_000_000_000)
		if isNative(mint) {
			held = aWrapped(tokenProgram, mint, alice, 1_000_000_000_000)
		}
		c.state.set(f.own(mint), 0, held, 0)
	}
	for _, mint := range f.mints[1:] {
		if !c.SetPool(mint.String(), 50_000_000_000, 7_000_000_000) {
			t.Fatal("no pool")
		}
	}
	return f
}

// own is alice's account for a mint.
func (f floor) own(mint address) address { return first(associatedAddress(alice, tokenProgram, mint)) }

// way are the pools from one mint to another.
func (f floor) way(in, out address) (pools []address) {
	for _, mint := range []address{in, out} {
		if mint != f.mints[0] {
			pools = append(pools, poolOf(mint))
		}
	}
	return pools
}

// route is the instruction of a swap by alice.
func (f floor) route(in, out address, units, quoted uint64, slippage uint16) call {
	way := f.way(in, out)
	c := call{swapProgram, []meta{r(exchangeAuthority()), s(alice), w(f.own(in)), w(vaultOf(in)), w(vaultOf(out)), w(f.own(out)), r(in), r(out),
		r(tokenProgram), r(tokenProgram), r(swapEvents), r(swapProgram)}, append(bytes.Clone(routeShared), 0)}
	c.data = append(c.data, pack(units, quoted)...)
	c.data = binary.LittleEndian.AppendUint16(c.data, slippage)
	c.data = append(c.data, 0, 0, 0, 0)
	c.data = binary.LittleEndian.AppendUint32(c.data, uint32(len(way)))
	for i, key := range way {
		c.data = append(c.data, 7, 0x10, 0x27, byte(i), byte(i+1))
		c.metas = append(c.metas, w(key))
	}
	return c
}

// run executes calls that alice signs, and keeps what they write.
func (f floor) run(calls ...call) (outcome string) {
	f.t.Helper()
	tx, err := parseTransaction(draft{payer: "alice", blockhash: f.blockhash(0), calls: calls}.bytes())
	if err != nil {
		f.t.Fatal(err)
	}
	out := f.bank(0).execute(tx)
	for key, a := range out.Writes {
		f.state.set(key, 0, a, 0)
	}
	return shown(f.t, out.Err)
}

// units is what an account holds of its token.
func (f floor) units(key address) uint64 { return tokenAccount(f.state.at(key, 0).Data).amount() }

// held is what alice and the vaults hold, each token for itself, and all lamports.
func (f floor) held() (sums []uint64) {
	for _, mint := range f.mints {
		sums = append(sums, f.units(f.own(mint))+f.units(vaultOf(mint)))
	}
	return append(sums, f.state.total(0))
}

// reserves are the data of pools.
func (f floor) reserves(keys []address) (out [][]byte) {
	for _, key := range keys {
		out = append(out, bytes.Clone(f.state.at(key, 0).Data))
	}
	return out
}

// moved says whether every one of these pools has other reserves than before, and none a smaller product of them.
func (f floor) moved(keys []address, before [][]byte) bool {
	for i, data := range f.reserves(keys) {
		was, _ := readPool(before[i])
		is, _ := readPool(data)
		if was == is || new(big.Int).Mul(new(big.Int).SetUint64(is.token), new(big.Int).SetUint64(is.usdc)).Cmp(new(big.Int).Mul(new(big.Int).SetUint64(was.token), new(big.Int).SetUint64(was.usdc))) < 0 {
			return false
		}
	}
	return true
}

// TestRandomSwapsAddUp: whatever is swapped, what alice pays and gets is what the vaults get and pay, a swap pays exactly what it names and
// brings at least its minimum, and one that fails moves nothing.
func TestRandomSwapsAddUp(t *testing.T) {
	f := newFloor(t)
	random := rand.New(rand.NewPCG(15, 6))
	before := f.held()
	outcomes := map[string]int{}
	for n := range 3_000 {
		in, out := f.mints[random.IntN(5)], f.mints[random.IntN(5)]
		units := random.Uint64N(2_000_000_000) >> random.IntN(31)
		expected, also := units, true
		mint := in
		for _, key := range f.way(in, out) {
			p, _ := readPool(f.state.at(key, 0).Data)
			var ok bool
			if expected, _, ok = p.trade(mint, expected); !ok {
				also = false
			}
			mint = address{}
		}
		quoted := expected + expected/100*random.Uint64N(4)
		paid, got := f.units(f.own(in)), f.units(f.own(out))
		pools := f.reserves(f.way(in, out))
		slippage := uint16(random.IntN(200))
		said := f.run(f.route(in, out, units, quoted, slippage))
		outcomes[said]++
		switch {
		case said != "null":
			if f.units(f.own(in)) != paid || f.units(f.own(out)) != got {
				t.Fatalf("swap %d failed with %s and moved something", n, said)
			}
		case !also || in == out || expected < minimumOut(quoted, slippage):
			t.Fatalf("swap %d worked: %d for %d at %d", n, expected, quoted, slippage)
		case expected > 0 && !f.moved(f.way(in, out), pools):
			t.Fatalf("swap %d left a pool as it was", n)
		case paid-f.units(f.own(in)) != units || f.units(f.own(out))-got != expected:
			t.Fatalf("swap %d paid %d of %d and brought %d of %d", n, paid-f.units(f.own(in)), units, f.units(f.own(out))-got, expected)
		}
		after := f.held()
		for i := range f.mints {
			if after[i] != before[i] {
				t.Fatalf("swap %d: token %d was %d in all and is %d", n, i, before[i], after[i])
			}
		}
		if fee := before[5] - after[5]; fee != 0 && fee != 5_000 {
			t.Fatalf("swap %d: %d lamports are gone", n, fee)
		}
		before = after
		if n%50 == 49 { // traders restore the prices
			for _, mint := range f.mints[1:] {
				f.SetPool(mint.String(), 50_000_000_000, 7_000_000_000)
			}
		}
	}
	if outcomes["null"] < 500 || outcomes[customError(0, swapSlippage)] < 200 {
		t.Errorf("%v", outcomes)
	}
}

// TestTheExchangeRefuses what the router refuses, with its codes.
func TestTheExchangeRefuses(t *testing.T) {
	usdc := func(f floor) address { return f.mints[0] }
	direct := func(f floor, c *call, steps byte, accounts int) {
		shared := c.metas
		c.metas = []meta{shared[1], shared[2], shared[5], shared[6], shared[7], shared[8], shared[9], shared[11], shared[10], shared[11], shared[0], shared[3], shared[4], shared[12], shared[12]}[:accounts]
		c.data = append(bytes.Clone(routeDirect), c.data[9:]...)
		c.data[30] = steps
		c.data = append(c.data, c.data[34:]...)
	}
	for name, c := range map[string]struct {
		change func(f floor, c *call)
		want   string
	}{
		"nothing changed":          {func(floor, *call) {}, "null"},
		"another instruction":      {func(_ floor, c *call) { c.data[0]++ }, customError(0, 101)},
		"half an instruction":      {func(_ floor, c *call) { c.data = c.data[:30] }, customError(0, 102)},
		"no steps":                 {func(_ floor, c *call) { c.data[31] = 0 }, customError(0, swapEmptyRoute)},
		"three steps":              {func(_ floor, c *call) { c.data[31] = 3 }, customError(0, swapBadRoute)},
		"a step that is missing":   {func(_ floor, c *call) { c.data[31] = 2 }, customError(0, swapBadRoute)},
		"slippage beyond all":      {func(_ floor, c *call) { binary.LittleEndian.PutUint16(c.data[25:], 10_001) }, customError(0, swapBadSlippage)},
		"more than it brings":      {func(_ floor, c *call) { binary.LittleEndian.PutUint64(c.data[17:], 1<<40) }, customError(0, swapSlippage)},
		"no pool":                  {func(_ floor, c *call) { c.metas = c.metas[:12] }, customError(0, swapNoAccounts)},
		"another's account":        {func(f floor, c *call) { c.metas[12] = w(usdc(f)) }, customError(0, swapNotSupported)},
		"another token's pool":     {func(f floor, c *call) { c.metas[12] = w(poolOf(f.mints[2])) }, customError(0, swapNotSupported)},
		"direct":                   {func(f floor, c *call) { direct(f, c, 1, 14) }, "null"},
		"direct without its pool":  {func(f floor, c *call) { direct(f, c, 1, 13) }, customError(0, swapNoAccounts)},
		"direct, a pool too few":   {func(f floor, c *call) { direct(f, c, 2, 14) }, customError(0, swapNoAccounts)},
		"a worthless mint as USDC": {func(f floor, c *call) { worthless(f, c) }, customError(0, swapNotSupported)},
		"one pool, no USDC": {func(f floor, c *call) {
			c.metas[5], c.metas[4], c.metas[7], c.metas[12] = w(f.own(f.mints[2])), w(vaultOf(f.mints[2])), r(f.mints[2]), w(poolOf(f.mints[2]))
		}, customError(0, swapNotSupported)},
		"the wrong end": {func(f floor, c *call) {
			c.metas[5], c.metas[4], c.metas[7] = w(f.own(f.mints[2])), w(vaultOf(f.mints[2])), r(f.mints[2])
		}, customError(0, swapBadRoute)},
		"one mint":                   {func(_ floor, c *call) { c.metas[7] = c.metas[6] }, customError(0, swapOneMint)},
		"alice's account as vault":   {func(_ floor, c *call) { c.metas[4] = c.metas[5] }, customError(0, swapWrongAccounts)},
		"another authority":          {func(_ floor, c *call) { c.metas[0] = r(alice) }, customError(0, 2006)},
		"other events":               {func(_ floor, c *call) { c.metas[10] = r(alice) }, customError(0, 2006)},
		"somebody who hasn't signed": {func(_ floor, c *call) { c.metas[1] = r(bob) }, customError(0, 3010)},
		"more than alice holds": {func(_ floor, c *call) {
			binary.LittleEndian.PutUint64(c.data[9:], 1_000_000_000_001)
			binary.LittleEndian.PutUint64(c.data[17:], 1)
		}, customError(0, 1)},
	} {
		f := newFloor(t)
		call := f.route(f.mints[1], f.mints[0], 1_000_000, 100_000, 50)
		c.change(f, &call)
		before := f.held()
		if got := f.run(call); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		after := f.held()
		for i := range f.mints {
			if after[i] != before[i] {
				t.Errorf("%s: token %d was %d in all and is %d", name, i, before[i], after[i])
			}
		}
	}
}

// worthless makes a swap pay with a mint of alice's own, for which she has made the exchange an account.
func worthless(f floor, c *call) {
	mint := addressOf("worthless")
	f.state.set(mint, 0, aMint(tokenProgram, alice, 1_000_000_000), 0)
	f.state.set(f.own(mint), 0, aHolding(tokenProgram, mint, alice, 1_000_000_000), 0)
	f.state.set(vaultOf(mint), 0, aHolding(tokenProgram, mint, exchangeAuthority(), 0), 0)
	c.metas[2], c.metas[3], c.metas[6] = w(f.own(mint)), w(vaultOf(mint)), r(mint)
	c.metas[5], c.metas[4], c.metas[7], c.metas[12] = w(f.own(f.mints[2])), w(vaultOf(f.mints[2])), r(f.mints[2]), w(poolOf(f.mints[2]))
}
