package telegram

import (
	"context"
	"errors"
	"net/http"
)

// Item is something that the shop sells, as the page shows it.
type Item struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Price string `json:"price"` // with its unit: "0.05 SOL"
}

// ErrNoOrder says that the shop does not sell this item, or no longer knows this order.
var ErrNoOrder = errors.New("sandbox telegram: no such item or order")

// Shop is a merchant that the page shows beside the chat. It requests payments with links.
type Shop interface {
	Items() []Item
	// Order makes a link that pays for one item. Errors: ErrNoOrder.
	Order(item string) (reference, link string, err error)
	// Paid reports whether an order was paid. Errors: ErrNoOrder, or why nobody can tell.
	Paid(ctx context.Context, reference string) (bool, error)
}

// pageBuy orders one item. It sends the payment link in the person's name, as if they had pasted it.
func (s *Server) pageBuy(_ *http.Request, in pageRequest) (any, error) {
	if s.opt.Shop == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no shop."}
	}
	reference, link, err := s.opt.Shop.Order(in.Item)
	if err != nil {
		return nil, orderError(err)
	}
	if _, err := s.pageSay(nil, pageRequest{As: in.As, Text: link}); err != nil {
		return nil, err
	}
	return map[string]string{"reference": reference}, nil
}

// pagePaid tells whether an order was paid. The page polls it.
func (s *Server) pagePaid(r *http.Request, in pageRequest) (any, error) {
	if s.opt.Shop == nil {
		return nil, &pageError{http.StatusNotFound, "This sandbox has no shop."}
	}
	paid, err := s.opt.Shop.Paid(r.Context(), in.Reference)
	if err != nil {
		return nil, orderError(err)
	}
	return map[string]bool{"paid": paid}, nil
}

// orderError is the page's error for an error of the shop: 404 for an unknown order, 502 if the node cannot be
// reached.
func orderError(err error) error {
	if errors.Is(err, ErrNoOrder) {
		return &pageError{http.StatusNotFound, "The shop does not know this order."}
	}
	return &pageError{http.StatusBadGateway, "The shop cannot reach Solana. Try again."}
}
