package wallet

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestTransferFeesAreThoseOfTheProgram(t *testing.T) {
	fee := TransferFee{Older: FeeRate{Maximum: 5_000_000, BasisPoints: 100}, Newer: FeeRate{Epoch: 10, Maximum: 7, BasisPoints: 10_000}}
	for _, c := range []struct{ epoch, units, want uint64 }{
		{9, 0, 0}, {9, 1, 1}, {9, 100, 1}, {9, 101, 2}, {9, 500_000_000, 5_000_000}, {9, 500_000_001, 5_000_000},
		{9, math.MaxUint64, 5_000_000}, {10, 3, 3}, {10, 8, 7}, {11, math.MaxUint64, 7},
	} {
		if got := fee.At(c.epoch, c.units); got != c.want {
			t.Errorf("of %d in epoch %d: %d, want %d", c.units, c.epoch, got, c.want)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		units, points := random.Uint64()>>random.IntN(64), uint16(random.IntN(10_001))
		got := TransferFee{Newer: FeeRate{Maximum: math.MaxUint64, BasisPoints: points}}.At(0, units)
		want := new(big.Int).Mul(new(big.Int).SetUint64(units), big.NewInt(int64(points)))
		want.Add(want, big.NewInt(9_999)).Div(want, big.NewInt(10_000))
		if want.Cmp(new(big.Int).SetUint64(got)) != 0 {
			t.Fatalf("%d of %d: %d, want %s", points, units, got, want)
		}
	}
}

func TestNetworkFees(t *testing.T) {
	for _, c := range []struct {
		limit uint32
		price uint64
		want  uint64
	}{
		{0, 0, 5_000}, {1_000, 0, 5_000}, {0, 5, 5_000}, {1, 1, 5_001}, {200_000, 7, 5_002}, {1_400_000, 1_000_000, 1_405_000},
		{math.MaxUint32, math.MaxUint64, math.MaxUint64}, {1_000_000, math.MaxUint64, math.MaxUint64},
	} {
		if got := NetworkFee(c.limit, c.price); got != c.want {
			t.Errorf("%d units at %d: %d, want %d", c.limit, c.price, got, c.want)
		}
	}
}

// TestAssociatedAccounts compares with addresses that Solana's own tools derive.
func TestAssociatedAccounts(t *testing.T) {
	parse := func(text string) Address {
		a, err := ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	owner, mint := parse("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"), parse("CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj")
	a, b := AssociatedAccount(owner, mint, TokenProgram), AssociatedAccount(owner, mint, Token2022Program)
	if a == b || a.OnCurve() || b.OnCurve() || a == AssociatedAccount(mint, owner, TokenProgram) {
		t.Errorf("%s, %s", a, b)
	}
}
