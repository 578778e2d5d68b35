package purser

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// SwapToken is one side of a swap.
type SwapToken struct {
	Symbol   string `json:"symbol"` // "" for a token that purser does not list
	Mint     string `json:"mint"`   // "" for SOL
	Decimals uint8  `json:"decimals"`
}

// SwapRequest asks for a quote. Tokens are symbols or mints.
type SwapRequest struct {
	Address     string `json:"address"`
	FromToken   string `json:"from_token"`
	ToToken     string `json:"to_token"`
	Amount      string `json:"amount"`                 // of FromToken, in its own unit
	SlippageBPS int    `json:"slippage_bps,omitempty"` // how much less may arrive than quoted, in hundredths of a percent; 0: 50
}

// SwapQuote is a quote for a swap. It is good for one Swap until ExpiresAt. Amounts are in the tokens' own units.
type SwapQuote struct {
	QuoteID     string    `json:"quote_id"`
	Address     string    `json:"address"`
	FromToken   SwapToken `json:"from_token"`
	ToToken     SwapToken `json:"to_token"`
	InAmount    string    `json:"in_amount"`      // paid, exactly
	OutAmount   string    `json:"out_amount"`     // expected
	MinOut      string    `json:"min_out_amount"` // arrives at least, or nothing is swapped
	SlippageBPS int       `json:"slippage_bps"`
	PriceImpact string    `json:"price_impact"` // percent, as the source says
	BelowMarket *string   `json:"below_market"` // percent by which it is worse than the market's prices; nil if a price is unknown
	Fee         string    `json:"fee"`          // of the network, in SOL
	Rent        string    `json:"rent"`         // deposit for a new token account, in SOL
	Source      string    `json:"source"`
	Route       []string  `json:"route"`
	Warnings    []string  `json:"warnings"`
	ExpiresAt   time.Time `json:"expires_at"`
}

func (q SwapQuote) complete() bool { return q.QuoteID != "" && q.MinOut != "" }

// SwapQuote is POST /v1/swap/quote. It proposes nothing.
func (c *Client) SwapQuote(ctx context.Context, r SwapRequest) (SwapQuote, error) {
	return do[SwapQuote](ctx, c, call{method: http.MethodPost, path: "/v1/swap/quote", body: r})
}

// Swap is POST /v1/swap. Like Send, it asks the owner, or waits for the signature of the program that holds the key (SignSwap).
func (c *Client) Swap(ctx context.Context, quoteID string) (Proposal, error) {
	return do[Proposal](ctx, c, call{method: http.MethodPost, path: "/v1/swap", body: map[string]string{"quote_id": quoteID}})
}

// FoundToken is a token that a search found. Symbol and Name are what its issuer wrote.
type FoundToken struct {
	Mint         string `json:"mint"` // "" for SOL
	Symbol       string `json:"symbol"`
	Name         string `json:"name"`
	Decimals     uint8  `json:"decimals"`
	Listed       bool   `json:"listed"`        // in purser's own list
	Verified     bool   `json:"verified"`      // as the source says
	Suspect      bool   `json:"suspect"`       // the source warns of it, or it takes the symbol of a listed token
	Holders      uint64 `json:"holders"`       // 0 if it is not known
	LiquidityUSD string `json:"liquidity_usd"` // "" if it is not known
	Source       string `json:"source"`        // "" for purser's own list
	UpdatedAt    string `json:"updated_at"`    // RFC 3339; "" for purser's own list
}

func (t FoundToken) complete() bool { return t.Symbol != "" }

// FoundTokens are the tokens that a query may mean, the most likely first. Without Complete only purser's own list was searched.
type FoundTokens struct {
	Tokens   []FoundToken `json:"tokens"`
	Complete bool         `json:"complete"`
}

func (f FoundTokens) complete() bool { return f.Tokens != nil && all(f.Tokens) }

// Tokens is GET /v1/tokens: tokens by symbol, name or mint.
func (c *Client) Tokens(ctx context.Context, query string) (FoundTokens, error) {
	return do[FoundTokens](ctx, c, call{method: http.MethodGet, path: "/v1/tokens", query: url.Values{"query": {query}}})
}

// ExpectedSwap is the swap that a transaction must make so that SignSwap signs it: exactly this, and nothing else. Amounts are base units
// (lamports of SOL), since the transaction does not say how many decimals a token has. The Decimals of a SwapQuote are purser's word.
type ExpectedSwap struct {
	FromToken  string // "SOL", or the address of a mint
	ToToken    string // "SOL", or the address of a mint
	PaidUnits  uint64 // paid, exactly
	LeastUnits uint64 // the least that may arrive
}

// SignSwap is Sign for the UnsignedTransaction of a swap. The signature is given only if the transaction pays exactly PaidUnits from this key's
// own account, at least LeastUnits arrive in this key's own account, and no other program can act with the signature. The swap program enforces
// both numbers.
func SignSwap(unsignedTransaction string, key ed25519.PrivateKey, want ExpectedSwap) (signature string, err error) {
	message, err := ownMessage(unsignedTransaction, key)
	if err != nil {
		return "", err
	}
	if err := want.check(message); err != nil {
		return "", err
	}
	return base58(ed25519.Sign(key, message)), nil
}

// Programs and accounts of a swap.
const (
	swapProgram = "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"
	swapEvents  = "D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf"
	wrappedSOL  = "So11111111111111111111111111111111111111112"
)

// maxSlippage is the most that a swap may bring less than was quoted, in hundredths of a percent.
const maxSlippage = 1_000

// sharedRoute is the discriminator of the only instruction of the swap program that is signed: shared_accounts_route_v2.
var sharedRoute = []byte{0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9}

// Where that instruction has its fixed accounts, and how long its data is at least.
const (
	routeUser, routeSource, routePooledIn, routePooledOut, routeDestination = 1, 2, 3, 4, 5
	routeInMint, routeOutMint, routeInProgram, routeOutProgram              = 6, 7, 8, 9
	routeEvents, routeProgram, routeFixed                                   = 10, 11, 12
	routeLength                                                             = 35
)

// swap is what a message's instruction of the swap program says.
type swap struct {
	source, destination int // indexes of accounts
	inMint, outMint     string
	paid, least         uint64
}

// check refuses a message unless it makes the expected swap for its only signer, and nothing else.
func (want ExpectedSwap) check(message []byte) error {
	m, err := readMessage(message)
	if err != nil {
		return err
	}
	s, err := m.swap()
	if err != nil {
		return err
	}
	mint := func(token string) string {
		if token == "SOL" {
			return wrappedSOL
		}
		return token
	}
	switch {
	case s.inMint != mint(want.FromToken):
		return fmt.Errorf("purser: the transaction pays the token %s, not %s", s.inMint, want.FromToken)
	case s.outMint != mint(want.ToToken):
		return fmt.Errorf("purser: the transaction brings the token %s, not %s", s.outMint, want.ToToken)
	case s.paid != want.PaidUnits:
		return fmt.Errorf("purser: the transaction pays %d base units, not %d", s.paid, want.PaidUnits)
	case s.least < want.LeastUnits || want.LeastUnits == 0:
		return fmt.Errorf("purser: the transaction brings at least %d base units, not %d", s.least, want.LeastUnits)
	}
	return nil
}

// swap requires that a message has exactly the steps of a swap, in their order: for SOL that is paid, an account for wrapped SOL is made,
// filled and counted; the account that receives is made; a transfer of nothing names the reference; the swap; wrapped SOL is unwrapped.
// A compute budget may come anywhere.
func (m message) swap() (swap, error) {
	budgets := budget{}
	var steps []instruction
	for _, in := range m.instructions {
		if in.program != budgetProgram {
			steps = append(steps, in)
			continue
		}
		if !budgets.takes(in) {
			return swap{}, errors.New("purser: the transaction sets a compute budget in an unknown way")
		}
	}
	at := slices.IndexFunc(steps, func(in instruction) bool { return in.program == swapProgram })
	if at < 0 {
		return swap{}, errors.New("purser: the transaction swaps nothing")
	}
	s, err := m.route(steps[at])
	if err != nil {
		return s, err
	}
	var want []func(instruction) bool
	if s.inMint == wrappedSOL {
		want = append(want, m.makes(s.source, s.inMint), m.wraps(s.source, s.paid), m.counts(s.source))
	}
	want = append(want, m.makes(s.destination, s.outMint))
	if len(want) < at {
		want = append(want, m.refers)
	}
	want = append(want, func(instruction) bool { return true }) // the swap itself, which was read
	if len(want) != at+1 {
		return s, errNoSwap
	}
	switch wrappedSOL {
	case s.inMint:
		want = append(want, m.unwraps(s.source))
	case s.outMint:
		want = append(want, m.unwraps(s.destination))
	}
	if len(steps) != len(want) {
		return s, errNoSwap
	}
	for i, fits := range want {
		if !fits(steps[i]) {
			return s, errNoSwap
		}
	}
	return s, budgets.check()
}

var errNoSwap = errors.New("purser: the transaction's steps are not those of a swap")

// is reports whether an account of an instruction is the static key of this name.
func (m message) is(index int, name string) bool {
	return index < len(m.keys) && base58(m.keys[index]) == name
}

// route reads the instruction of the swap program.
func (m message) route(in instruction) (s swap, err error) {
	no := func(why string) (swap, error) {
		return swap{}, errors.New("purser: the transaction's swap " + why)
	}
	if !bytes.HasPrefix(in.data, sharedRoute) || len(in.data) < routeLength || len(in.accounts) < routeFixed {
		return no("is no instruction that is signed here")
	}
	fixed := in.accounts[:routeFixed]
	if slices.ContainsFunc(fixed, func(index int) bool { return index >= len(m.keys) }) {
		return no("has its first accounts in a lookup table")
	}
	program, _ := address(tokenProgram)
	owner := m.keys[0]
	s.source, s.destination = fixed[routeSource], fixed[routeDestination]
	s.inMint, s.outMint = base58(m.keys[fixed[routeInMint]]), base58(m.keys[fixed[routeOutMint]])
	pooled := func(index int) bool { return index == s.source || index == s.destination }
	others := slices.Concat(in.accounts[:routeUser], in.accounts[routeUser+1:])
	switch {
	case fixed[routeUser] != 0:
		return no("is somebody else's")
	case slices.Contains(others, 0):
		return no("could pass the signature on to other programs")
	case !m.is(fixed[routeInProgram], tokenProgram) || !m.is(fixed[routeOutProgram], tokenProgram):
		return no("is of tokens that do not belong to the first token program")
	case !m.is(fixed[routeEvents], swapEvents) || !m.is(fixed[routeProgram], swapProgram):
		return no("is not whole")
	case s.inMint == s.outMint:
		return no("is of a token for itself")
	case !isAssociated(m.keys[s.source], owner, m.keys[fixed[routeInMint]], program):
		return no("takes from another account than the signer's own")
	case !isAssociated(m.keys[s.destination], owner, m.keys[fixed[routeOutMint]], program):
		return no("pays into another account than the signer's own")
	case pooled(fixed[routePooledIn]) || pooled(fixed[routePooledOut]):
		return no("names the signer's account as the program's")
	case !m.writable(s.source) || !m.writable(s.destination):
		return no("cannot change the signer's accounts")
	}
	numbers := in.data[9:]
	s.paid = binary.LittleEndian.Uint64(numbers)
	quoted, slippage := binary.LittleEndian.Uint64(numbers[8:]), binary.LittleEndian.Uint16(numbers[16:])
	if s.paid == 0 || slippage > maxSlippage || !bytes.Equal(numbers[18:22], make([]byte, 4)) || binary.LittleEndian.Uint32(numbers[22:]) == 0 {
		return no("pays nothing, brings far less than was quoted, takes a fee, or has no route")
	}
	high, low := bits.Mul64(quoted, 10_000-uint64(slippage))
	if s.least, _ = bits.Div64(high, low, 10_000); s.least == 0 {
		return no("may bring nothing")
	}
	return s, nil
}

// makes recognises Create or CreateIdempotent of the signer's own token account.
func (m message) makes(account int, mint string) func(instruction) bool {
	return func(in instruction) bool {
		return in.program == associatedProgram && (len(in.data) == 0 || len(in.data) == 1 && in.data[0] <= 1) && len(in.accounts) == 6 && in.accounts[0] == 0 && in.accounts[1] == account &&
			in.accounts[2] == 0 && m.is(in.accounts[3], mint) && m.is(in.accounts[4], systemProgram) && m.is(in.accounts[5], tokenProgram)
	}
}

// transfersOwn reports whether an instruction is a System transfer of the signer's lamports with so many accounts.
func transfersOwn(in instruction, lamports uint64, accounts int) bool {
	return in.program == systemProgram && len(in.data) == 12 && binary.LittleEndian.Uint32(in.data) == 2 && binary.LittleEndian.Uint64(in.data[4:]) == lamports &&
		len(in.accounts) == accounts && in.accounts[0] == 0
}

// wraps recognises the transfer of SOL to the signer's own account for wrapped SOL.
func (m message) wraps(account int, lamports uint64) func(instruction) bool {
	return func(in instruction) bool { return transfersOwn(in, lamports, 2) && in.accounts[1] == account }
}

// counts recognises SyncNative.
func (m message) counts(account int) func(instruction) bool {
	return func(in instruction) bool {
		return in.program == tokenProgram && bytes.Equal(in.data, []byte{17}) && slices.Equal(in.accounts, []int{account})
	}
}

// refers recognises the transfer of nothing to oneself that names a reference.
func (m message) refers(in instruction) bool {
	return transfersOwn(in, 0, 3) && in.accounts[1] == 0 && in.accounts[2] != 0 && in.accounts[2] < len(m.keys) && !m.writable(in.accounts[2])
}

// unwraps recognises CloseAccount to the signer.
func (m message) unwraps(account int) func(instruction) bool {
	return func(in instruction) bool {
		return in.program == tokenProgram && bytes.Equal(in.data, []byte{9}) && slices.Equal(in.accounts, []int{account, 0, 0})
	}
}
