package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/wallet"
)

// tokensData is `data` of GET /v1/tokens. complete is false if the source did not answer, so that only purser's own list was searched.
type tokensData struct {
	Tokens   []tokenData `json:"tokens"`
	Complete bool        `json:"complete"`
}

// tokenData is a token that a search found. Symbol and name are what its issuer wrote, cleaned.
type tokenData struct {
	Mint      string `json:"mint"` // "" for SOL
	Symbol    string `json:"symbol"`
	Name      string `json:"name"`
	Decimals  uint8  `json:"decimals"`
	Listed    bool   `json:"listed"`
	Verified  bool   `json:"verified"`
	Suspect   bool   `json:"suspect"`
	Holders   uint64 `json:"holders"`       // 0 if it is not known
	Liquidity string `json:"liquidity_usd"` // "" if it is not known
	Source    string `json:"source"`        // "" for purser's own list
	UpdatedAt string `json:"updated_at"`    // "" for purser's own list
}

// tokens is GET /v1/tokens?query=.
func (s *Server) tokens(c *fiber.Ctx, key wallet.Key) error {
	q, err := query(c, "query")
	if err != nil {
		return err
	}
	if q["query"] == "" {
		return bad("query", "body.missing")
	}
	found, complete, err := s.TokenSearch.Find(c.UserContext(), handlers.CallerOf(key), q["query"])
	if err != nil {
		return err
	}
	data := tokensData{Tokens: []tokenData{}, Complete: complete}
	for _, m := range found {
		d := tokenData{Symbol: m.Symbol, Name: m.Name, Decimals: m.Decimals, Listed: m.Listed, Verified: m.Verified, Suspect: m.Suspect,
			Holders: m.Holders, Liquidity: m.Liquidity.String(), Source: m.Source, UpdatedAt: stamp(m.At)}
		if !m.Mint.IsZero() {
			d.Mint = m.Mint.String()
		}
		data.Tokens = append(data.Tokens, d)
	}
	return s.succeed(c, fiber.StatusOK, "done.tokens", data)
}
