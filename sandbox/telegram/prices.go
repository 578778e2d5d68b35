package telegram

import (
	"errors"
	"net/http"
	"strings"
)

// Price is a token of the market, as the page shows it.
type Price struct {
	Mint     string `json:"mint"`
	Symbol   string `json:"symbol"`
	Name     string `json:"name"`
	Verified bool   `json:"verified"`
	Price    string `json:"price"`  // decimal of dollars; "": none
	Change   string `json:"change"` // over 24 hours, in percent: "+1.25"; "": not known
}

// Market is where prices come from. The page shows them beside the chat, and lets a person change them.
type Market interface {
	Prices() []Price
	// SetPrice sets the price of a mint, a decimal of dollars. Errors: ErrBadPrice, ErrNoToken, or why it failed.
	SetPrice(mint, price string) error
	// MovePrice changes the price of a mint by so many percent. Errors: those of SetPrice, and ErrNoPrice.
	MovePrice(mint string, percent int) error
	// Quotes is how quotes of swaps are answered, and SetQuotes changes it: "" for honestly, or one of QuoteModes. Errors: ErrNoMode.
	Quotes() string
	SetQuotes(mode string) error
}

// Errors of a Market.
var (
	ErrBadPrice = errors.New("sandbox telegram: this is no price")
	ErrNoPrice  = errors.New("sandbox telegram: this token has no price")
	ErrNoToken  = errors.New("sandbox telegram: no such token")
	ErrNoMode   = errors.New("sandbox telegram: quotes are not answered like that")
)

// pagePrices lists all tokens of the market.
func (s *Server) pagePrices(w http.ResponseWriter, _ *http.Request) {
	if s.opt.Market == nil {
		pageAnswer(w, http.StatusNotFound, map[string]string{"error": "This sandbox has no market."})
		return
	}
	pageAnswer(w, http.StatusOK, s.marketState())
}

// pagePrice sets a price, or moves it by percent if only that is sent, and returns all of them.
func (s *Server) pagePrice(_ *http.Request, in pageRequest) (any, error) {
	if s.opt.Market == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no market."}
	}
	var err error
	if in.Percent != 0 && in.Price == "" {
		err = s.opt.Market.MovePrice(in.Mint, in.Percent)
	} else {
		err = s.opt.Market.SetPrice(in.Mint, strings.TrimPrefix(strings.TrimSpace(in.Price), "$"))
	}
	switch {
	case errors.Is(err, ErrBadPrice):
		return nil, &pageError{http.StatusBadRequest, "Enter a price in dollars, such as 151.5. It can be from 0.000000000001 to 1,000,000."}
	case errors.Is(err, ErrNoPrice):
		return nil, &pageError{http.StatusConflict, "This token has no price yet. Set one first."}
	case errors.Is(err, ErrNoToken):
		return nil, &pageError{http.StatusNotFound, "The market doesn't have this token."}
	case err != nil:
		return nil, &pageError{http.StatusBadGateway, "The price could not be changed: " + err.Error()}
	}
	return s.marketState(), nil
}

// marketState is what the page shows of the market.
func (s *Server) marketState() map[string]any {
	return map[string]any{"prices": s.opt.Market.Prices(), "quotes": s.opt.Market.Quotes()}
}

// pageQuotes sets how quotes of swaps are answered.
func (s *Server) pageQuotes(_ *http.Request, in pageRequest) (any, error) {
	if s.opt.Market == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no market."}
	}
	if err := s.opt.Market.SetQuotes(in.Quotes); err != nil {
		return nil, &pageError{http.StatusBadRequest, "The page is out of date. Reload it."}
	}
	return s.marketState(), nil
}
