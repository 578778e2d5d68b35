// Package shop is a merchant of the sandbox. It sells a few things, requests payment for each with a Solana Pay
// transfer request link, and reads from the chain whether an order was paid. It has no private key, because it only
// receives, and must not know which wallet or bot pays.
//
// Shop.Order makes an Order with a link; Shop.Paid asks the node whether it was paid.
package shop

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mr-tron/base58"
)

// name is the label of every payment link.
const name = "Sandbox Coffee"

// maxOrders bounds the orders that the shop remembers. The oldest are forgotten first.
const maxOrders = 1000

// ErrUnknown is returned for an item or an order that the shop does not have. Orders live in memory:
// a restart forgets them.
var ErrUnknown = errors.New("sandbox shop: unknown item or order")

// Item is something for sale.
type Item struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Amount string `json:"amount"` // exact decimal, in whole tokens
	Token  string `json:"token"`  // SOL or USDC
	units  uint64 // the same amount in base units
}

// Items lists what the shop sells.
func Items() []Item {
	return []Item{
		{ID: "coffee", Name: "Coffee", Amount: "0.05", Token: "SOL", units: 50_000_000},
		{ID: "beans", Name: "Bag of beans", Amount: "12.5", Token: "USDC", units: 12_500_000},
	}
}

// Order is one purchase and the link that pays for it. It never expires; the shop forgets it only when maxOrders
// newer ones exist.
type Order struct {
	Reference string // base58 of 32 random bytes; the payment names it, and the shop finds the payment by it
	Item      Item
	Link      string // solana:<address>?amount=…&reference=…&label=…&message=…
}

// Options configure a shop.
type Options struct {
	RPCURL string    // JSON-RPC address of the node
	Rand   io.Reader // source of references
	USDC   string    // mint address
}

// Shop is a merchant. Its methods are safe for concurrent use.
type Shop struct {
	opt    Options
	client *http.Client

	mu     sync.Mutex
	orders map[string]Order
	oldest []string // references, in the order in which they were made
}

// New opens a shop without orders.
func New(o Options) *Shop {
	return &Shop{opt: o, client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}, orders: map[string]Order{}}
}

// Address is the account that every order is paid to. It derives from a constant, so it stays the same after a
// restart and a wallet recognises a recipient that it has paid before.
func Address() string {
	seed := sha256.Sum256([]byte("purser sandbox shop"))
	return base58.Encode(ed25519.NewKeyFromSeed(seed[:]).Public().(ed25519.PublicKey))
}

// Order makes a payment link for one item. It returns ErrUnknown for an item that is not sold.
func (s *Shop) Order(item string) (Order, error) {
	for _, i := range Items() {
		if i.ID == item {
			return s.order(i)
		}
	}
	return Order{}, ErrUnknown
}

// order makes the link and remembers the order. When there are too many, it forgets the oldest one.
func (s *Shop) order(i Item) (Order, error) {
	// The reference is a public key that nobody has the private key of. The payment lists it as a read-only account,
	// which makes getSignaturesForAddress find the payment (Solana Pay).
	var reference [32]byte
	if _, err := io.ReadFull(s.opt.Rand, reference[:]); err != nil {
		return Order{}, fmt.Errorf("sandbox shop: reference: %w", err)
	}
	o := Order{Reference: base58.Encode(reference[:]), Item: i}
	query := url.Values{"amount": {i.Amount}, "reference": {o.Reference}, "label": {name}, "message": {i.Name}}
	if i.Token != "SOL" {
		query.Set("spl-token", s.opt.USDC)
	}
	// A form writes a blank as "+"; a URI of Solana Pay is percent-encoded (RFC 3986).
	o.Link = "solana:" + Address() + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.oldest) >= maxOrders {
		delete(s.orders, s.oldest[0])
		s.oldest = s.oldest[1:]
	}
	s.orders[o.Reference] = o
	s.oldest = append(s.oldest, o.Reference)
	return o, nil
}

// Paid reports whether the chain holds a successful transaction that names the order's reference and
// brings the shop at least its price, at commitment confirmed. It returns ErrUnknown for an order that
// the shop does not know, and the node's error when it cannot tell.
func (s *Shop) Paid(ctx context.Context, reference string) (bool, error) {
	s.mu.Lock()
	o, known := s.orders[reference]
	s.mu.Unlock()
	if !known {
		return false, ErrUnknown
	}
	var found []struct {
		Signature string          `json:"signature"`
		Err       json.RawMessage `json:"err"`
	}
	// Anyone can name the reference in a transaction, so a match is no proof: the amount that arrived decides.
	if err := s.ask(ctx, "getSignaturesForAddress", &found, reference, map[string]any{"commitment": "confirmed"}); err != nil {
		return false, err
	}
	// A failed transaction that names the reference has moved nothing.
	for _, f := range found {
		if f.Err != nil && string(f.Err) != "null" {
			continue
		}
		brought, err := s.brought(ctx, f.Signature, o.Item.Token)
		if err != nil {
			return false, err
		}
		if brought >= o.Item.units {
			return true, nil
		}
	}
	return false, nil
}

// tokenBalance is an entry of preTokenBalances and postTokenBalances (getTransaction).
type tokenBalance struct {
	Owner, Mint   string
	UITokenAmount struct {
		Amount string // base units
	} `json:"uiTokenAmount"`
}

// brought returns by how many base units a transaction raised the shop's balance of a token. It returns 0 if the node
// does not (yet) know the transaction, or if the balance fell.
func (s *Shop) brought(ctx context.Context, signature, token string) (uint64, error) {
	var t *struct {
		Transaction struct {
			Message struct {
				AccountKeys []string `json:"accountKeys"`
			} `json:"message"`
		} `json:"transaction"`
		Meta struct {
			PreBalances, PostBalances           []uint64
			PreTokenBalances, PostTokenBalances []tokenBalance
		} `json:"meta"`
	}
	// Version 1 transactions are accepted too, else the node would refuse to show them.
	options := map[string]any{"commitment": "confirmed", "encoding": "json", "maxSupportedTransactionVersion": 1}
	if err := s.ask(ctx, "getTransaction", &t, signature, options); err != nil || t == nil {
		return 0, err
	}
	var before, after uint64
	// The node lists balances by the index of the account, SOL in preBalances and tokens in preTokenBalances.
	if token == "SOL" {
		for i, key := range t.Transaction.Message.AccountKeys {
			if key == Address() && i < len(t.Meta.PreBalances) && i < len(t.Meta.PostBalances) {
				before, after = t.Meta.PreBalances[i], t.Meta.PostBalances[i]
			}
		}
	} else {
		before, after = s.units(t.Meta.PreTokenBalances), s.units(t.Meta.PostTokenBalances)
	}
	return max(after, before) - before, nil
}

// units adds up the shop's USDC, in base units.
func (s *Shop) units(balances []tokenBalance) (sum uint64) {
	for _, b := range balances {
		if b.Owner == Address() && b.Mint == s.opt.USDC {
			n, err := strconv.ParseUint(b.UITokenAmount.Amount, 10, 64)
			if err == nil {
				sum += n
			}
		}
	}
	return sum
}

// ask calls one JSON-RPC method of the node and decodes its result. A null result leaves *result as it is.
func (s *Shop) ask(ctx context.Context, method string, result any, params ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opt.RPCURL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return fmt.Errorf("sandbox shop: %s: %w", method, err)
	}
	defer response.Body.Close()
	// JSON keys match without regard to case, so the fields need no tags.
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("sandbox shop: %s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("sandbox shop: %s: %d %s", method, answer.Error.Code, answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, result)
}
