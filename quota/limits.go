package quota

import "purser/wallet"

// Limits are how much programs may do (docs/specification.md, Limits): requests an hour of one owner with all their API
// keys, calls an hour of one bot token, messages a minute to one person.
type Limits struct {
	APIFree, APIPro uint64
	BotFree, BotPro uint64
	Messages        uint64
}

// Hourly is how many requests an hour a kind of key has in a tier.
func (l Limits) Hourly(kind wallet.KeyKind, tier wallet.Tier) uint64 {
	switch pro := tier == wallet.ProTier; {
	case kind == wallet.BotKey && pro:
		return l.BotPro
	case kind == wallet.BotKey:
		return l.BotFree
	case pro:
		return l.APIPro
	}
	return l.APIFree
}
