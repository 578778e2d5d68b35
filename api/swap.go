package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// swapToken is one side of a swap.
type swapToken struct {
	Symbol   string `json:"symbol"` // "" for a token outside the list
	Mint     string `json:"mint"`   // "" for SOL
	Decimals uint8  `json:"decimals"`
}

func swapTokenOf(t wallet.Token) swapToken {
	out := swapToken{Symbol: t.Symbol, Decimals: t.Decimals}
	if !t.Native() {
		out.Mint = t.Mint.String()
	}
	return out
}

// quoteData is `data` of POST /v1/swap/quote. Amounts are in the tokens' units, as decimal text.
type quoteData struct {
	QuoteID     string            `json:"quote_id"`
	Address     wallet.Address    `json:"address"`
	FromToken   swapToken         `json:"from_token"`
	ToToken     swapToken         `json:"to_token"`
	InAmount    string            `json:"in_amount"`      // paid, exactly
	OutAmount   string            `json:"out_amount"`     // expected
	MinOut      string            `json:"min_out_amount"` // received at least, or nothing happens
	SlippageBPS uint16            `json:"slippage_bps"`
	PriceImpact string            `json:"price_impact"` // percent, as the source says; "" if it does not
	BelowMarket *string           `json:"below_market"` // percent by which it is worse than the market; negative if better; null if not known
	Fee         string            `json:"fee"`          // SOL: the network fee
	Rent        string            `json:"rent"`         // SOL: the deposit for a new token account
	Source      string            `json:"source"`
	Route       []string          `json:"route"` // names of exchanges
	Warnings    []wallet.RuleName `json:"warnings"`
	ExpiresAt   string            `json:"expires_at"`
}

// swapQuote is POST /v1/swap/quote {address, from_token, to_token, amount, slippage_bps}. It proposes nothing.
func (s *Server) swapQuote(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	req, err := swapRequest(fields)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		q, p, err := s.Swaps.PrepareQuote(c.UserContext(), handlers.CallerOf(key), req)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusOK, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.Swaps.CommitQuote(tx, q); err != nil {
				return nil, err
			}
			return s.envelope("done.swap_quote", quoted(key, q, p.Transaction))
		})
	})
}

// quoted renders a quote and what the swap would cost, for a key.
func quoted(key wallet.Key, q store.SwapQuote, t wallet.Transaction) quoteData {
	terms := q.Draft.SwapTerms()
	data := quoteData{QuoteID: q.ID, Address: q.Draft.From, FromToken: swapTokenOf(q.Draft.Token), ToToken: swapTokenOf(terms.ToToken),
		InAmount: q.Draft.Money().String(), OutAmount: terms.Expected().String(), MinOut: terms.Least().String(), SlippageBPS: terms.SlippageBPS,
		Fee: wallet.Lamports(t.Fee).String(), Rent: wallet.Lamports(t.Rent).String(), Source: terms.Source, Route: append([]string{}, terms.Venues...),
		Warnings: warningsFor(key, t), ExpiresAt: wallet.Timestamp(q.EndsAt)}
	if !terms.ImpactUnknown {
		data.PriceImpact = wallet.Change(terms.ImpactBPS).Percent()
	}
	if below := terms.BelowMarketBPS; below != nil {
		text := wallet.Change(*below).Percent()
		if *below < 0 {
			text = "-" + text
		}
		data.BelowMarket = &text
	}
	return data
}

// swapRequest parses the fields of a request for a quote.
func swapRequest(fields object) (req handlers.SwapRequest, err error) {
	if err := fields.only("address", "from_token", "to_token", "amount", "slippage_bps"); err != nil {
		return req, err
	}
	if req.From, err = fields.ownWallet("address"); err != nil {
		return req, err
	}
	if req.Token, err = fields.tokenAt("from_token"); err != nil {
		return req, err
	}
	if req.ToToken, err = fields.tokenAt("to_token"); err != nil {
		return req, err
	}
	if req.Amount.Exact, err = fields.amount(); err != nil {
		return req, err
	}
	slippage, err := fields.count("slippage_bps", wallet.DefaultSlippage, wallet.MaxSlippage)
	if err == nil && slippage == 0 { // a request without it has 0 here, and that means the usual one
		err = bad("slippage_bps", "body.count_of", wallet.NumberArg("Most", wallet.MaxSlippage))
	}
	req.SlippageBPS = uint16(slippage)
	return req, err
}

// swap is POST /v1/swap {quote_id}. It answers as a send does: 202, and the chat asks the owner to confirm.
func (s *Server) swap(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("quote_id"); err != nil {
		return err
	}
	id, err := fields.text("quote_id")
	if err != nil {
		return err
	}
	if !validQuoteID(id) {
		return wallet.About("quote_id", wallet.Refuse(wallet.QuoteExpired, "swap.quote_ended"))
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		who := handlers.CallerOf(key)
		p, err := s.Swaps.PrepareQuoted(c.UserContext(), who, id)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(tx store.Tx) ([]byte, error) {
			t, err := s.Swaps.CommitQuoted(tx, who, id, p)
			if err != nil {
				return nil, err
			}
			return s.sent(key, t)
		})
	})
}

// maxQuoteID bounds the id of a quote, in bytes: the store takes no longer keys.
const maxQuoteID = 64

// validQuoteID reports whether a text can be the id of a quote.
func validQuoteID(id string) bool {
	if id == "" || len(id) > maxQuoteID {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return true
}
