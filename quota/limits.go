package quota

import "purser/wallet"

// Limits are the limits that an operator sets for programs (docs/specification.md, Limits): requests an hour of one
// owner with all their API keys, calls an hour of one bot token, and messages a minute to one person.
type Limits struct {
	APIFree, APIPro uint64
	BotFree, BotPro uint64
	Messages        uint64
}

// Hourly is the limit of requests an hour of a kind of key in a tier.
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
