package market

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"purser/wallet"
)

// maxMatches is how many tokens of an answer are read.
const maxMatches = 20

// foundToken is a token in an answer of /tokens/v2/search.
type foundToken struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Symbol       string `json:"symbol"`
	Decimals     number `json:"decimals"`
	TokenProgram string `json:"tokenProgram"`
	HolderCount  number `json:"holderCount"`
	IsVerified   bool   `json:"isVerified"`
	Liquidity    number `json:"liquidity"` // in dollars
	Audit        struct {
		IsSus bool `json:"isSus"`
	} `json:"audit"`
}

// Search calls GET /tokens/v2/search?query=, by symbol, name or mint. It returns at most 20 tokens, in the order of the source. Those
// that cannot be read are left out. The error is an *UnavailableError, or of ctx.
func (j *Jupiter) Search(ctx context.Context, query string) ([]wallet.TokenMatch, error) {
	var answer []json.RawMessage // each for itself: one that cannot be read hides no other
	if err := j.api.get(ctx, ForPerson, "/tokens/v2/search", url.Values{"query": {query}}, &answer); err != nil {
		return nil, err
	}
	var out []wallet.TokenMatch
	for _, raw := range answer {
		if len(out) == maxMatches {
			break
		}
		if m, ok := matchOf(raw); ok {
			m.Source, m.At = j.Name(), j.api.now()
			out = append(out, m)
		}
	}
	return out, nil
}

// matchOf reads a token; false if it is none, or has no symbol that can be shown.
func matchOf(raw json.RawMessage) (m wallet.TokenMatch, ok bool) {
	var f foundToken
	if json.Unmarshal(raw, &f) != nil {
		return m, false
	}
	var err error
	if m.Mint, err = wallet.ParseAddress(f.ID); err != nil || m.Mint.IsZero() {
		return m, false
	}
	if m.Program, err = wallet.ParseAddress(f.TokenProgram); err != nil {
		m.Program = wallet.Address{} // not known
	}
	decimals, err := strconv.ParseUint(string(f.Decimals), 10, 8)
	if err != nil {
		return m, false
	}
	m.Decimals, m.Verified, m.Suspect = uint8(decimals), f.IsVerified, f.Audit.IsSus
	if m.Symbol, m.Name = wallet.CleanTokenText(f.Symbol), wallet.CleanTokenText(f.Name); m.Symbol == "" {
		return m, false
	}
	if holders, err := strconv.ParseUint(string(f.HolderCount), 10, 64); err == nil {
		m.Holders = holders
	}
	m.Liquidity = worthOf(f.Liquidity)
	if m.Mint == wallet.WrappedSOL {
		m.Mint, m.Symbol, m.Program = wallet.Address{}, wallet.SOL.Symbol, wallet.Address{}
	}
	return m, true
}
