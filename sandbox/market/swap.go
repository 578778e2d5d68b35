package market

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Exchange is where swaps happen: the pools of the sandbox's cluster, each of a token against USDC. Addresses are base58.
type Exchange interface {
	// Pool returns the account of a mint's pool and its reserves in base units; ok is false if the mint has none.
	Pool(mint string) (address string, token, usdc uint64, ok bool)
	// SetPool sets the reserves.
	SetPool(mint string, token, usdc uint64)
	// Trade returns what a pool with these reserves pays for units of its token, or of USDC.
	Trade(token, usdc uint64, sellsToken bool, units uint64) (bought uint64, ok bool)
	// Addresses returns the exchange's program, the account of its events, the owner of its vaults, and a lookup table with its addresses.
	Addresses() (program, events, authority, table string, addresses []string)
	// Vault is the exchange's token account for a mint, Associated anybody's. "" for what is no address.
	Vault(mint string) string
	Associated(owner, mint string) string
	// Blockhash returns the newest blockhash and the last height at which it is valid.
	Blockhash() (hash [32]byte, lastValid uint64)
}

// The ways in which a quote can be other than an honest one. "" is honest.
const (
	QuoteDirect  = "direct"   // route_v2, which passes the user's signature on
	QuoteNoRoute = "no_route" // refused
	QuoteLow     = "low"      // half of what the pools pay
	QuoteMoves   = "moves"    // the price falls by a tenth after the quote
)

// poolDepth is what each side of a pool holds, in dollars; every swap moves its price.
const poolDepth = 2_000_000

// leeway is by how much the price of a pool may differ from the market's, in hundredths of a percent, before somebody makes use of it.
const leeway = 10

const (
	usdcScale   = 6
	defaultSlip = 50
	wholeBPS    = 10_000
	// defaultUnits are the compute units of the limit that a quote suggests.
	defaultUnits = 200_000
)

// instruction is an instruction in an answer of /swap/v2/build.
type instruction struct {
	ProgramID string        `json:"programId"`
	Accounts  []accountMeta `json:"accounts"`
	Data      string        `json:"data"` // base64
}

type accountMeta struct {
	Pubkey     string `json:"pubkey"`
	IsSigner   bool   `json:"isSigner"`
	IsWritable bool   `json:"isWritable"`
}

// hop is a trade with one pool.
type hop struct {
	pool                string
	in, out             *token
	inUnits, outUnits   uint64
	sellsToken          bool
	beforeIn, beforeOut uint64 // reserves
}

// noRoute is Jupiter's refusal of a swap that nobody makes.
func noRoute() *refusal {
	return &refusal{http.StatusBadRequest, object{"error": "No routes found", "errorCode": "NO_ROUTES_FOUND"}}
}

// serveBuild is GET /swap/v2/build: a quote, and the instructions that make the swap.
func (m *Market) serveBuild(r *http.Request, now time.Time) (any, *refusal) {
	q := r.URL.Query()
	in, out := m.byMint(q.Get("inputMint")), m.byMint(q.Get("outputMint"))
	amount, err := strconv.ParseUint(q.Get("amount"), 10, 64)
	taker := q.Get("taker")
	slippage := uint64(defaultSlip)
	if text := q.Get("slippageBps"); text != "" && err == nil {
		slippage, err = strconv.ParseUint(text, 10, 16)
	}
	m.mu.Lock()
	mode := m.quotes
	m.mu.Unlock()
	switch {
	case err != nil || amount == 0 || slippage > wholeBPS:
		return nil, badRequest(Jupiter, "invalid amount or slippageBps")
	case in == nil || out == nil:
		return nil, &refusal{http.StatusBadRequest, object{"error": "The token is not tradable", "errorCode": "TOKEN_NOT_TRADABLE"}}
	case in == out:
		return nil, &refusal{http.StatusBadRequest, object{"error": "Circular arbitrage is disabled", "errorCode": "CIRCULAR_ARBITRAGE_IS_DISABLED"}}
	case m.opt.Exchange == nil || mode == QuoteNoRoute:
		return nil, noRoute()
	}
	if m.opt.Exchange.Associated(taker, in.mint) == "" {
		return nil, badRequest(Jupiter, "taker is no address")
	}
	hops, refused := m.hops(in, out, amount, now)
	if refused != nil {
		return nil, refused
	}
	quoted := hops[len(hops)-1].outUnits
	if mode == QuoteLow {
		quoted /= 2
	}
	answer := m.build(in, out, taker, amount, quoted, slippage, hops, mode == QuoteDirect)
	if mode == QuoteMoves {
		m.moveAgainst(hops[0])
	}
	return answer, nil
}

// hops finds the way from one token to another through USDC, with pools whose prices are those of the market.
func (m *Market) hops(in, out *token, units uint64, now time.Time) ([]hop, *refusal) {
	usdc, err := m.find("USDC")
	if err != nil {
		return nil, noRoute()
	}
	var way []hop
	if in != usdc {
		way = append(way, hop{in: in, out: usdc, sellsToken: true})
	}
	if out != usdc {
		way = append(way, hop{in: usdc, out: out})
	}
	for i := range way {
		h := &way[i]
		of := h.out
		if h.sellsToken {
			of = h.in
		}
		if !m.align(of, now) {
			return nil, noRoute()
		}
		address, token, usd, ok := m.opt.Exchange.Pool(of.mint)
		bought, also := m.opt.Exchange.Trade(token, usd, h.sellsToken, units)
		if !ok || !also || bought == 0 {
			return nil, noRoute()
		}
		h.pool, h.inUnits, h.outUnits, h.beforeIn, h.beforeOut = address, units, bought, usd, token
		if h.sellsToken {
			h.beforeIn, h.beforeOut = token, usd
		}
		units = bought
	}
	return way, nil
}

// align gives a token's pool the market's price if it has another one, as traders would; false if it has no pool or no price.
func (m *Market) align(t *token, now time.Time) bool {
	_, token, usdc, ok := m.opt.Exchange.Pool(t.mint)
	price := m.history(t).at(now)
	if !ok || price == 0 {
		return false
	}
	// Base units of the token that poolDepth dollars are worth: depth × 10^decimals × 10^12 / price.
	want := new(big.Int).Mul(big.NewInt(poolDepth), pow10(int(t.decimals)+priceDecimals))
	want.Div(want, new(big.Int).SetUint64(uint64(price)))
	depth := uint64(poolDepth * 1_000_000)
	if !want.IsUint64() || want.Sign() == 0 {
		return false
	}
	// The two prices, usdc/token and depth/want, differ by less than the leeway if their cross products do.
	x := new(big.Int).Mul(new(big.Int).SetUint64(usdc), want)
	y := new(big.Int).Mul(new(big.Int).SetUint64(depth), new(big.Int).SetUint64(token))
	apart := new(big.Int).Abs(new(big.Int).Sub(x, y))
	if token == 0 || apart.Mul(apart, big.NewInt(wholeBPS)).Cmp(new(big.Int).Mul(y, big.NewInt(leeway))) > 0 {
		m.opt.Exchange.SetPool(t.mint, want.Uint64(), depth)
	}
	return true
}

// moveAgainst makes what a swap buys a tenth dearer.
func (m *Market) moveAgainst(h hop) {
	of, token, usdc := h.out, h.beforeOut-h.beforeOut/10, h.beforeIn
	if h.sellsToken {
		of, token, usdc = h.in, h.beforeIn, h.beforeOut-h.beforeOut/10
	}
	m.opt.Exchange.SetPool(of.mint, token, usdc)
}

// pow10 is 10^n.
func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// build makes the answer.
func (m *Market) build(in, out *token, taker string, amount, quoted, slippage uint64, hops []hop, direct bool) object {
	var plan []object
	for _, h := range hops {
		plan = append(plan, object{"swapInfo": object{"ammKey": h.pool, "label": "Sandswap", "inputMint": h.in.mint, "outputMint": h.out.mint,
			"inAmount": strconv.FormatUint(h.inUnits, 10), "outAmount": strconv.FormatUint(h.outUnits, 10)}, "percent": 100, "bps": wholeBPS})
	}
	less := new(big.Int).Mul(new(big.Int).SetUint64(quoted), new(big.Int).SetUint64(slippage))
	threshold := quoted - less.Div(less, big.NewInt(wholeBPS)).Uint64()
	hash, lastValid := m.opt.Exchange.Blockhash()
	bytes := make([]int, len(hash))
	for i, b := range hash {
		bytes[i] = int(b)
	}
	_, _, _, table, addresses := m.opt.Exchange.Addresses()
	swap := m.sharedRoute(in, out, taker, amount, quoted, slippage, hops)
	if direct {
		swap = m.directRoute(in, out, taker, swap)
	}
	setup, cleanup := m.around(in, out, taker, amount)
	return object{
		"inputMint": in.mint, "outputMint": out.mint, "inAmount": strconv.FormatUint(amount, 10), "outAmount": strconv.FormatUint(quoted, 10),
		"otherAmountThreshold": strconv.FormatUint(threshold, 10), "swapMode": "ExactIn", "slippageBps": slippage, "priceImpactPct": impact(hops), "routePlan": plan,
		"computeBudgetInstructions": []instruction{{"ComputeBudget111111111111111111111111111111", []accountMeta{}, base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint32([]byte{2}, defaultUnits))}},
		"setupInstructions":         setup, "swapInstruction": swap, "cleanupInstruction": cleanup, "otherInstructions": []instruction{}, "tipInstruction": nil,
		"addressesByLookupTableAddress": map[string][]string{table: addresses},
		"blockhashWithMetadata":         object{"blockhash": bytes, "lastValidBlockHeight": lastValid},
	}
}

// impact is how far the swap moves the price, as a part of 1: what is bought compared with the price of before, without the fee.
func impact(hops []hop) string {
	part := big.NewRat(1, 1)
	for _, h := range hops {
		// bought / (paid × other / held), where a quarter of a percent of what is paid is the fee
		ideal := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(h.inUnits), new(big.Int).SetUint64(h.beforeOut)), new(big.Int).SetUint64(h.beforeIn))
		ideal.Mul(ideal, big.NewRat(9_975, wholeBPS))
		part.Mul(part, new(big.Rat).Quo(new(big.Rat).SetInt(new(big.Int).SetUint64(h.outUnits)), ideal))
	}
	lost := new(big.Rat).Sub(big.NewRat(1, 1), part)
	if lost.Sign() < 0 {
		lost.SetInt64(0)
	}
	return lost.FloatString(8)
}

// sharedRoute is the instruction shared_accounts_route_v2.
func (m *Market) sharedRoute(in, out *token, taker string, amount, quoted, slippage uint64, hops []hop) instruction {
	x := m.opt.Exchange
	program, events, authority, _, _ := x.Addresses()
	data := []byte{0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9, 0}
	data = binary.LittleEndian.AppendUint64(data, amount)
	data = binary.LittleEndian.AppendUint64(data, quoted)
	data = binary.LittleEndian.AppendUint16(data, uint16(slippage))
	data = append(data, 0, 0, 0, 0) // platform fee, share of positive slippage
	data = binary.LittleEndian.AppendUint32(data, uint32(len(hops)))
	accounts := []accountMeta{{authority, false, false}, {taker, true, false}, {x.Associated(taker, in.mint), false, true}, {x.Vault(in.mint), false, true},
		{x.Vault(out.mint), false, true}, {x.Associated(taker, out.mint), false, true}, {in.mint, false, false}, {out.mint, false, false},
		{tokenProgram, false, false}, {tokenProgram, false, false}, {events, false, false}, {program, false, false}}
	for i, h := range hops {
		data = append(data, 7, 0x10, 0x27, byte(i), byte(i+1))
		accounts = append(accounts, accountMeta{h.pool, false, true})
	}
	return instruction{program, accounts, base64.StdEncoding.EncodeToString(data)}
}

// directRoute is the same swap as route_v2.
func (m *Market) directRoute(in, out *token, taker string, shared instruction) instruction {
	raw, err := base64.StdEncoding.DecodeString(shared.Data)
	if err != nil {
		panic(fmt.Sprintf("the market's own instruction: %v", err)) // it was encoded just now
	}
	data := append([]byte{0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14}, raw[9:]...)
	a := shared.Accounts
	program := accountMeta{shared.ProgramID, false, false}
	accounts := []accountMeta{a[1], a[2], a[5], a[6], a[7], a[8], a[9], program, a[10], program, a[0], a[3], a[4]}
	return instruction{shared.ProgramID, slices.Concat(accounts, a[12:]), base64.StdEncoding.EncodeToString(data)}
}

// around are the instructions before and after the swap that Jupiter suggests: accounts, and SOL that is wrapped and unwrapped.
func (m *Market) around(in, out *token, taker string, amount uint64) (setup []instruction, cleanup *instruction) {
	const system, associated = "11111111111111111111111111111111", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
	x := m.opt.Exchange
	create := func(mint string) instruction {
		return instruction{associated, []accountMeta{{taker, true, true}, {x.Associated(taker, mint), false, true}, {taker, false, false}, {mint, false, false},
			{system, false, false}, {tokenProgram, false, false}}, "AQ=="}
	}
	wrapped := x.Associated(taker, wrappedSOL)
	setup = []instruction{}
	if in.mint == wrappedSOL {
		data := binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, amount)
		setup = append(setup, create(wrappedSOL), instruction{system, []accountMeta{{taker, true, true}, {wrapped, false, true}}, base64.StdEncoding.EncodeToString(data)},
			instruction{tokenProgram, []accountMeta{{wrapped, false, true}}, "EQ=="})
	}
	setup = append(setup, create(out.mint))
	if in.mint == wrappedSOL || out.mint == wrappedSOL {
		cleanup = &instruction{tokenProgram, []accountMeta{{wrapped, false, true}, {taker, false, true}, {taker, true, false}}, "CQ=="}
	}
	return setup, cleanup
}

// SetQuotes says how quotes are answered from now on: one of the constants Quote..., or "" for honestly.
func (m *Market) SetQuotes(mode string) error {
	if !slices.Contains([]string{"", QuoteDirect, QuoteNoRoute, QuoteLow, QuoteMoves}, mode) {
		return fmt.Errorf("sandbox market: quotes are answered honestly (\"\"), %s, %s, %s or %s", QuoteDirect, QuoteNoRoute, QuoteLow, QuoteMoves)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quotes = mode
	return nil
}

// QuoteMode is what SetQuotes set last; "" is honest.
func (m *Market) QuoteMode() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.quotes
}
