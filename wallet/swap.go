package wallet

import (
	"encoding/base64"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Swap is the kind of a swap: the wallet pays an exact amount of one token and gets at least a minimum of another, or nothing
// happens.
const Swap Kind = "swap"

// SwapProgram is Jupiter's program (Jupiter Aggregator v6). docs/decisions/0042 says which of its instructions are signed here.
var SwapProgram = MustAddress("JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4")

// Limits of a swap.
const (
	// QuoteLife is how long a quote can be confirmed, SwapSignWindow how long after Confirm a swap can be signed.
	QuoteLife      = time.Minute
	SwapSignWindow = 3 * time.Minute
	// DefaultSlippage and MaxSlippage are in hundredths of a percent. Devices refuse more than MaxSlippage.
	DefaultSlippage = 50
	MaxSlippage     = 1_000
	wholeBPS        = 10_000
)

// MinimumOut returns the least base units that the swap program lets a swap with a quoted amount pay out: quoted less the slippage,
// rounded down. The program rounds up.
func MinimumOut(quoted uint64, slippageBPS uint16) uint64 {
	if slippageBPS >= wholeBPS {
		return 0
	}
	high, low := bits.Mul64(quoted, wholeBPS-uint64(slippageBPS))
	least, _ := bits.Div64(high, low, wholeBPS) // high < wholeBPS, since the factor is at most that
	return least
}

// slippageExceeded is the swap program's error for a swap that would bring less than the minimum.
const slippageExceeded = 6_001

// Slipped returns the failure, in the form of Landing.Failure, of a swap whose instruction at an index would have brought less than
// the minimum.
func Slipped(index int) string {
	return fmt.Sprintf("InstructionError %d: Custom %d", index, slippageExceeded)
}

// Slipped reports whether a swap failed because it would have brought less than the minimum.
func (t Transaction) Slipped() bool {
	return t.Kind == Swap && t.Landing != nil && strings.HasSuffix(t.Landing.Failure, fmt.Sprintf(": Custom %d", slippageExceeded))
}

// SwapAction is what the instruction of the swap program says (Action.Swap).
type SwapAction struct {
	Source, Destination Address // the wallet's token accounts that pay and receive
	InMint, OutMint     Address // wrapped SOL stands for SOL
	Units               uint64  // base units of InMint that are paid, exactly
	Quoted              uint64  // base units of OutMint that are expected
	SlippageBPS         uint16
	// Minimum is the least that is received, in base units of OutMint.
	Minimum uint64
	// PassesSignature means that the programs on the route could act with the wallet's signature, so that the amounts do not
	// bound what it can lose (route_v2). No such swap is proposed, and no device of purser signs one.
	PassesSignature bool
	Route           SwapRoute
}

// SwapRoute is the instruction of the swap program, as the message holds it.
type SwapRoute struct {
	Data     []byte        `json:"data"`
	Accounts RouteAccounts `json:"accounts"`
	Tables   []Address     `json:"tables,omitempty"` // address lookup tables, in the order of the message
}

// RouteAccount is one account of the instruction: an address, or a place in a lookup table.
type RouteAccount struct {
	Address  Address // zero if it is looked up
	LookedUp bool
	Table    byte // number in SwapRoute.Tables
	Index    byte // within the table
	Writable bool
}

// RouteAccounts are written as base64 of, for each account, one byte of flags (1 writable, 2 looked up), and then its address, or
// the number of its table and the index: a message has room for 1,167 bytes, so these are never many more.
type RouteAccounts []RouteAccount

const (
	routeWritable = 1
	routeLookedUp = 2
	// maxRouteBytes bounds what is read of accounts and data: more cannot be in a message.
	maxRouteBytes = 4_096
)

// MarshalText packs the accounts.
func (r RouteAccounts) MarshalText() ([]byte, error) {
	var raw []byte
	for _, a := range r {
		switch {
		case a.LookedUp && a.Writable:
			raw = append(raw, routeLookedUp|routeWritable, a.Table, a.Index)
		case a.LookedUp:
			raw = append(raw, routeLookedUp, a.Table, a.Index)
		case a.Writable:
			raw = append(append(raw, routeWritable), a.Address[:]...)
		default:
			raw = append(append(raw, 0), a.Address[:]...)
		}
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads what MarshalText wrote. ErrTerms.
func (r *RouteAccounts) UnmarshalText(text []byte) error {
	bad := fmt.Errorf("%w: the accounts of a route", ErrTerms)
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(raw) > maxRouteBytes {
		return bad
	}
	*r = nil
	for len(raw) > 0 {
		a := RouteAccount{Writable: raw[0]&routeWritable != 0, LookedUp: raw[0]&routeLookedUp != 0}
		rest := raw[1:]
		switch {
		case raw[0] > routeWritable|routeLookedUp:
			return bad
		case a.LookedUp && len(rest) >= 2:
			a.Table, a.Index, raw = rest[0], rest[1], rest[2:]
		case !a.LookedUp && len(rest) >= len(a.Address):
			a.Address, raw = Address(rest[:len(a.Address)]), rest[len(a.Address):]
		default:
			return bad
		}
		*r = append(*r, a)
	}
	return nil
}

// SwapTerms are the terms of a swap beyond Transaction's own: Token and Amount are what is paid.
type SwapTerms struct {
	ToToken     Token  `json:"to_token"`
	Quoted      uint64 `json:"quoted,string"`  // base units of ToToken that are expected
	Minimum     uint64 `json:"minimum,string"` // the least that is received
	SlippageBPS uint16 `json:"slippage_bps"`
	// Source names who quoted it, Venues the exchanges on the route, and ImpactBPS how far the swap itself moves their price, in
	// hundredths of a percent. All are words of the source, and nothing depends on them.
	Source        string   `json:"source,omitempty"`
	Venues        []string `json:"venues,omitempty"`
	ImpactBPS     int64    `json:"impact_bps,omitempty"`
	ImpactUnknown bool     `json:"impact_unknown,omitempty"` // the source did not say ImpactBPS
	// BelowMarketBPS is how much less the expected amount is worth than what is paid, by the market's prices, in hundredths of a percent;
	// nil if a price is unknown.
	BelowMarketBPS *int64 `json:"below_market_bps,omitempty"`
	// Passing are lamports that an account for wrapped SOL needs while the swap runs, and that come back with it.
	Passing uint64 `json:"passing,string,omitempty"`
	// Expires is when the quote ends.
	Expires time.Time `json:"expires"`
	Route   SwapRoute `json:"route"`
	// Received is what the chain says was received, in base units of ToToken, before the network fee; 0 until it has landed.
	Received uint64 `json:"received,string,omitempty"`
}

// swapSchema names SwapTerms in Terms.
const swapSchema = "swap/1"

// Terms returns the terms as a transaction holds them.
func (s SwapTerms) Terms() Terms { return NewTerms(swapSchema, s) }

// SwapTerms returns the terms of a swap; zero for other kinds.
func (t Transaction) SwapTerms() SwapTerms {
	s, _ := ReadTerms[SwapTerms](t.Terms, swapSchema)
	return s
}

// Least returns the least amount that is received.
func (s SwapTerms) Least() Amount { return s.ToToken.Amount(s.Minimum) }

// Expected returns the amount that the quote names.
func (s SwapTerms) Expected() Amount { return s.ToToken.Amount(s.Quoted) }

// checkSwapTerms is Rules.CheckTerms of swaps.
func checkSwapTerms(t Transaction) error {
	s, err := ReadTerms[SwapTerms](t.Terms, swapSchema)
	switch {
	case err != nil:
		return err
	case len(s.Route.Data) == 0 || len(s.Route.Data) > maxRouteBytes || len(s.Route.Accounts) == 0:
		return fmt.Errorf("%w: a swap without a route", ErrTerms)
	case s.Minimum == 0 || s.SlippageBPS > MaxSlippage || s.Minimum != MinimumOut(s.Quoted, s.SlippageBPS):
		return fmt.Errorf("%w: a minimum of %d for %d at %d", ErrTerms, s.Minimum, s.Quoted, s.SlippageBPS)
	case s.ToToken.Mint == t.Token.Mint:
		return fmt.Errorf("%w: it swaps a token for itself", ErrTerms)
	case slices.Contains(s.Route.Tables, Address{}):
		return fmt.Errorf("%w: a lookup table without an address", ErrTerms)
	case slices.ContainsFunc(s.Route.Accounts, func(a RouteAccount) bool { return a.LookedUp && int(a.Table) >= len(s.Route.Tables) }):
		return fmt.Errorf("%w: a lookup table that is not named", ErrTerms)
	}
	return nil
}

// SwapRules returns the rules of swaps (docs/decisions/0042). Transaction.To is the wallet itself, Rent the deposit for an account of the token
// that is received.
func SwapRules() Rules {
	return Rules{Kind: Swap, Life: Outgoing, CheckTerms: checkSwapTerms, SignWindow: SwapSignWindow, Actions: swapActions,
		Writes: func(t Transaction) []Address {
			return []Address{t.From, t.swapAccount(t.Token), t.swapAccount(t.SwapTerms().ToToken)}
		},
		Spends: func(t Transaction) Spending {
			around := t.Fee + t.Rent + t.SwapTerms().Passing
			if t.Token.Native() {
				return Spending{Lamports: t.Amount + around}
			}
			return Spending{Lamports: around, Mint: t.Token.Mint, Units: t.Amount}
		},
		Landed: func(t *Transaction, l Landing) {
			terms := t.SwapTerms()
			if l.Failure != "" || l.Gained.Units == 0 || l.Gained.Mint != terms.ToToken.Mint {
				return // the node has not said it yet, or there is nothing to say
			}
			terms.Received = l.Gained.Units
			t.Terms = terms.Terms()
		}}
}

// SwapMint returns the mint that a swap trades for a token: that of wrapped SOL for SOL.
func (t Token) SwapMint() Address {
	if t.Native() {
		return WrappedSOL
	}
	return t.Mint
}

// swapAccount returns the token account of the sender that pays or receives a token. Swaps are of the first token program only.
func (t Transaction) swapAccount(token Token) Address {
	return AssociatedAccount(t.From, token.SwapMint(), TokenProgram)
}

// swapActions are the steps of a swap in their order (docs/decisions/0042).
func swapActions(t Transaction) []Action {
	terms := t.SwapTerms()
	in, out := t.Token.SwapMint(), terms.ToToken.SwapMint()
	source, destination := t.swapAccount(t.Token), t.swapAccount(terms.ToToken)
	create := func(account, mint Address) Action {
		return Action{Type: ActionCreateAccount, From: t.From, To: t.From, Account: account, Mint: mint, Program: TokenProgram}
	}
	var all []Action
	if in == WrappedSOL {
		all = append(all, create(source, in),
			Action{Type: ActionWrap, From: t.From, Account: source, Lamports: t.Amount},
			Action{Type: ActionSyncNative, Account: source})
	}
	all = append(all, create(destination, out),
		Action{Type: ActionReference, From: t.From, Reference: t.Reference},
		Action{Type: ActionSwap, From: t.From, Swap: &SwapAction{Source: source, Destination: destination, InMint: in, OutMint: out,
			Units: t.Amount, Quoted: terms.Quoted, SlippageBPS: terms.SlippageBPS, Minimum: terms.Minimum, Route: terms.Route}})
	switch WrappedSOL {
	case in:
		all = append(all, Action{Type: ActionUnwrap, From: t.From, Account: source})
	case out:
		all = append(all, Action{Type: ActionUnwrap, From: t.From, Account: destination})
	}
	return all
}
