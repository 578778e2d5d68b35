package sandbox

import (
	"purser/sandbox/market"
	"purser/sandbox/solana"
)

// Exchange returns a cluster's exchange for a market.
func Exchange(c *solana.Cluster) market.Exchange { return exchange{c} }

// exchange adapts the cluster's exchange to market.Exchange, because neither package may import the other.
type exchange struct{ cluster *solana.Cluster }

func (e exchange) Pool(mint string) (address string, token, usdc uint64, ok bool) {
	p, ok := e.cluster.Pool(mint)
	return p.Address, p.Token, p.USDC, ok
}

func (e exchange) SetPool(mint string, token, usdc uint64) { e.cluster.SetPool(mint, token, usdc) }

func (e exchange) Trade(token, usdc uint64, sellsToken bool, units uint64) (bought uint64, ok bool) {
	return solana.Pool{Token: token, USDC: usdc}.Trade(sellsToken, units)
}

func (e exchange) Addresses() (program, events, authority, table string, addresses []string) {
	a := e.cluster.Exchange()
	return a.Program, a.Events, a.Authority, a.Table, a.Addresses
}

func (e exchange) Vault(mint string) string { return e.cluster.Vault(mint) }

func (e exchange) Associated(owner, mint string) string { return e.cluster.Associated(owner, mint) }

func (e exchange) Blockhash() (hash [32]byte, lastValid uint64) { return e.cluster.LatestBlockhash() }
