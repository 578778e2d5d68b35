package wallet

import (
	"errors"
	"math"
	"math/big"
	"time"
)

// ErrRewardsNotPaid means that the rewards of an epoch have not been paid to all stakes, so that nobody can tell yet.
var ErrRewardsNotPaid = errors.New("the rewards of this epoch have not all been paid")

// UnknownCommission marks a commission that the node does not tell.
const UnknownCommission = math.MaxUint64

// InflationReward is what inflation paid to a stake account for one epoch.
type InflationReward struct {
	Account    Address
	Epoch      uint64
	Lamports   uint64
	Balance    uint64 // what the account held afterwards
	Commission uint64 // what its validator kept of it, in basis points; UnknownCommission
}

// MaxYield is the highest yield of AnnualYield, in basis points: a thousand times the stake.
const MaxYield = 10_000_000

// AnnualYield is what stakes that gain so much in one epoch gain in a year, compounded, in basis points. It is 0 without a
// base, and at most MaxYield.
func (e StakeEpoch) AnnualYield(gained, base uint64) uint64 {
	epoch := e.EndsAfter(2).Sub(e.EndsAfter(1))
	if base == 0 || gained == 0 || epoch <= 0 {
		return 0
	}
	const year = 365 * 24 * time.Hour
	// Fixed point with 18 decimals, squared and multiplied: (1 + gained/base) ^ epochs.
	one := big.NewInt(1_000_000_000_000_000_000)
	rate := new(big.Int).Mul(new(big.Int).SetUint64(gained), one)
	rate.Add(rate.Quo(rate, new(big.Int).SetUint64(base)), one)
	most := new(big.Int).Mul(one, big.NewInt(MaxYield))
	grown := new(big.Int).Set(one)
	for n := uint64(year / epoch); n > 0; n >>= 1 {
		if n&1 == 1 {
			grown.Quo(grown.Mul(grown, rate), one)
		}
		if rate.Quo(rate.Mul(rate, rate), one); rate.Cmp(most) > 0 {
			rate.Set(most)
		}
		if grown.Cmp(most) > 0 {
			return MaxYield
		}
	}
	points := grown.Sub(grown, one)
	points.Quo(points.Mul(points, big.NewInt(10_000)), one)
	return min(points.Uint64(), MaxYield)
}
