package solana

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

// The exchange: constant-product pools behind the program id and the instruction layout of Jupiter's router (its published IDL). Real pools are
// programs of their own, which the router calls. Here the router keeps the reserves itself and moves the tokens between the user's
// accounts and its vaults, by calls of the token program (docs/sandbox-differences.md).

// exchangeVersion is the genesis version that added the exchange, its pools and the tokens that only it trades.
const exchangeVersion = 4

var (
	swapProgram = known("JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4")
	swapEvents  = known("D8cy77BBepLMngZx6ZukaTff5hCt1HrWyKk3Hnd9oitf")
)

// Instructions of the router by their discriminators.
var (
	routeShared = []byte{0xd1, 0x98, 0x53, 0x93, 0x7c, 0xfe, 0xd8, 0xe9} // shared_accounts_route_v2
	routeDirect = []byte{0xbb, 0x64, 0xfa, 0xcc, 0x31, 0xc4, 0xaf, 0x14} // route_v2
)

// Errors of the router, as Custom codes (its IDL).
const (
	swapEmptyRoute    = 6000
	swapSlippage      = 6001
	swapBadSlippage   = 6004
	swapBadRoute      = 6010
	swapNoAccounts    = 6008
	swapNotSupported  = 6016
	swapOneMint       = 6018
	swapWrongAccounts = 2001 // Anchor's ConstraintHasOne
)

const (
	poolSize     = 32 + 8 + 8 // mint, base units of it, base units of USDC
	poolFee      = 25         // of what is paid, in hundredths of a percent
	wholeBPS     = 10_000
	routeStep    = 5 // bytes of a step: kind, share in hundredths of a percent (u16), input, output
	wholeSOL     = 1_000_000_000
	vaultSOL     = 1_000_000 * wholeSOL
	vaultUnits   = 1_000_000_000_000_000
	unitsOfRoute = 30_000
)

// exchangeToken is a token that has a pool against USDC.
type exchangeToken struct {
	name     string // of MintAddress; "" for wrapped SOL
	decimals byte
}

// exchangeTokens are those with a pool. otherTokens exist as mints, and nobody trades them.
var (
	exchangeTokens = []exchangeToken{{"", 9}, {"BEAN", 5}, {"DIP", 6}, {"MOON", 6}}
	otherTokens    = []exchangeToken{{"USDC impostor", 6}, {"MOON two", 9}, {"GHOST", 0}}
)

// exchangeMint is the mint of a token with a pool.
func (c *Cluster) exchangeMint(t exchangeToken) address {
	if t.name == "" {
		return nativeMint
	}
	return mintKey(c.seed, t.name)
}

// poolOf is the address of a mint's pool, exchangeAuthority that of the owner of the vaults, and vaultOf its account for a mint. None has a
// private key.
func poolOf(mint address) address {
	key, _, _ := findDerived(swapProgram, []byte("pool"), mint[:])
	return key
}

func exchangeAuthority() address {
	key, _, _ := findDerived(swapProgram, []byte("authority"))
	return key
}

func vaultOf(mint address) address {
	key, _ := associatedAddress(exchangeAuthority(), tokenProgram, mint)
	return key
}

// exchangeTable is the address of the lookup table that has the exchange's accounts.
func exchangeTable() address {
	key, _, _ := findDerived(lookupProgram, []byte("sandbox exchange"))
	return key
}

// tableAddresses are the addresses in that table.
func (c *Cluster) tableAddresses() []address {
	all := []address{exchangeAuthority(), vaultOf(mintKey(c.seed, USDC))}
	for _, t := range exchangeTokens {
		mint := c.exchangeMint(t)
		all = append(all, poolOf(mint), vaultOf(mint))
	}
	return all
}

// pool is the data of a pool.
type pool struct {
	mint        address
	token, usdc uint64 // reserves in base units
}

func readPool(data []byte) (p pool, ok bool) {
	if len(data) != poolSize {
		return p, false
	}
	return pool{keyAt(data, 0), u64At(data, 32), u64At(data, 40)}, true
}

func (p pool) data() []byte {
	b := append(make([]byte, 0, poolSize), p.mint[:]...)
	b = binary.LittleEndian.AppendUint64(b, p.token)
	return binary.LittleEndian.AppendUint64(b, p.usdc)
}

// addExchange adds the accounts of exchangeVersion. The pools are empty until the market sets them.
func (c *Cluster) addExchange() error {
	faucet, usdc := keyOf(c.faucet()), mintKey(c.seed, USDC)
	rent := c.rentAt(0)
	added := map[address]account{swapProgram: {rent.minimum(len(programStub)), loaderV2, []byte(programStub), true}}
	vault := func(mint address, units uint64) account {
		h := tokenAccount(make([]byte, accountSize))
		putKey(h, 0, mint)
		putKey(h, 32, exchangeAuthority())
		h[108] = stateReady
		h.setAmount(units)
		a := account{rent.minimum(accountSize), tokenProgram, h, false}
		if isNative(mint) {
			h.native()[0] = 1
			putU64(h, 113, a.Lamports)
			a.Lamports += units
		}
		return a
	}
	issued := func(decimals byte, units uint64) account {
		m := mintData(&faucet, decimals)
		mintAccount(m).setSupply(units)
		return rent.testMint(tokenProgram, m)
	}
	for _, t := range exchangeTokens {
		mint := c.exchangeMint(t)
		added[poolOf(mint)] = account{rent.minimum(poolSize), swapProgram, pool{mint: mint}.data(), false}
		if isNative(mint) {
			added[vaultOf(mint)] = vault(mint, vaultSOL)
			continue
		}
		added[mint], added[vaultOf(mint)] = issued(t.decimals, vaultUnits), vault(mint, vaultUnits)
	}
	for _, t := range otherTokens {
		added[mintKey(c.seed, t.name)] = issued(t.decimals, 0)
	}
	table := lookupTable{Deactivated: tableActive}.meta()
	for _, key := range c.tableAddresses() {
		table = append(table, key[:]...)
	}
	added[exchangeTable()] = account{rent.minimum(len(table)), lookupProgram, table, false}
	added[vaultOf(usdc)] = vault(usdc, vaultUnits)
	if err := c.found(exchangeVersion, added); err != nil {
		return err
	}
	// USDC has been issued before: its supply grows by what is in the vault, in every version that a fork may bring back.
	versions := c.state[usdc]
	for i := range versions {
		data := bytes.Clone(versions[i].Data)
		if len(data) != mintSize {
			return errors.New("solana sandbox: the mint of USDC is damaged")
		}
		mintAccount(data).setSupply(mintAccount(data).supply() + vaultUnits)
		versions[i].Data = data
	}
	return nil
}

// Pool is a pool of a token against USDC: its account, and its reserves in base units.
type Pool struct {
	Address     string
	Token, USDC uint64
}

// Pool returns the pool of a mint as it is in the newest block; false if the mint has none.
func (c *Cluster) Pool(mint string) (Pool, bool) {
	key, err := parseAddress(mint)
	if err != nil {
		return Pool{}, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	p, ok := readPool(c.state.at(poolOf(key), c.tip).Data)
	if !ok {
		return Pool{}, false
	}
	return Pool{poolOf(key).String(), p.token, p.usdc}, true
}

// SetPool sets the reserves of a mint's pool, in base units: what arbitrage does on a real market. It is no transaction, and a restart of the
// sandbox forgets it. It returns false if the mint has no pool.
func (c *Cluster) SetPool(mint string, token, usdc uint64) bool {
	key, err := parseAddress(mint)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	versions := c.state[poolOf(key)]
	if len(versions) == 0 {
		return false
	}
	for i := range versions {
		versions[i].Data = pool{key, token, usdc}.data()
	}
	return true
}

// ExchangeAccounts are the addresses that an instruction of the exchange names, and the lookup table that has most of them.
type ExchangeAccounts struct {
	Program, Events, Authority, Table string
	Addresses                         []string // of the table, in its order
}

// Exchange returns the addresses of the exchange.
func (c *Cluster) Exchange() ExchangeAccounts {
	e := ExchangeAccounts{Program: swapProgram.String(), Events: swapEvents.String(), Authority: exchangeAuthority().String(), Table: exchangeTable().String()}
	for _, key := range c.tableAddresses() {
		e.Addresses = append(e.Addresses, key.String())
	}
	return e
}

// Vault returns the exchange's account for a mint, and Associated the associated account of anybody for it. "" for what is no address.
func (c *Cluster) Vault(mint string) string { return c.Associated(exchangeAuthority().String(), mint) }

// Associated returns an owner's associated account for a mint of the first token program.
func (c *Cluster) Associated(owner, mint string) string {
	of, err := parseAddress(owner)
	key, also := parseAddress(mint)
	if err != nil || also != nil {
		return ""
	}
	at, _ := associatedAddress(of, tokenProgram, key)
	return at.String()
}

// LatestBlockhash returns the newest blockhash and the last block height at which it is valid.
func (c *Cluster) LatestBlockhash() (hash [32]byte, lastValid uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.blockhash(c.tip), c.tip + maxAge
}

// swap runs one instruction of the router.
func (in *invocation) swap() *InstructionError {
	if err := in.spend(unitsOfRoute); err != nil {
		return err
	}
	shared := bytes.HasPrefix(in.data, routeShared)
	if !shared && !bytes.HasPrefix(in.data, routeDirect) {
		in.say("AnchorError occurred. Error Code: InstructionFallbackNotFound. Error Number: 101. Error Message: Fallback functions are not supported.")
		return custom(101)
	}
	r, err := in.readRoute(shared)
	if err != nil {
		return err
	}
	return in.runRoute(r)
}

// route is a parsed instruction of the router. Numbers of accounts are indexes of the instruction.
type route struct {
	user, source, vaultIn, vaultOut, destination, inMint, outMint, inProgram, outProgram int
	units, quoted                                                                        uint64
	slippage                                                                             uint16
	steps                                                                                int
	pools                                                                                int // index of the first pool
}

// readRoute parses data and accounts, and checks what the program checks.
func (in *invocation) readRoute(shared bool) (r route, _ *InstructionError) {
	instruction, at, fixed := "RouteV2", 8, 10
	if shared {
		instruction, at, fixed = "SharedAccountsRouteV2", 9, 12
	}
	in.say("Instruction: %s", instruction)
	if len(in.data) < at+26 {
		return r, in.anchor("InstructionDidNotDeserialize", 102, "The program could not deserialize the given instruction")
	}
	r.units, r.quoted, r.slippage = u64At(in.data, at), u64At(in.data, at+8), binary.LittleEndian.Uint16(in.data[at+16:])
	r.steps = int(min(binary.LittleEndian.Uint32(in.data[at+22:]), math.MaxInt32))
	if err := in.checkRoute(r, len(in.data)-at-26, fixed); err != nil {
		return r, err
	}
	if shared {
		r.user, r.source, r.vaultIn, r.vaultOut, r.destination, r.inMint, r.outMint, r.inProgram, r.outProgram, r.pools = 1, 2, 3, 4, 5, 6, 7, 8, 9, fixed
		if in.key(0) != exchangeAuthority() || in.key(10) != swapEvents || in.key(11) != swapProgram {
			return r, in.anchor("ConstraintSeeds", 2006, "A seeds constraint was violated")
		}
	} else { // behind the fixed accounts: authority, vaults, then pools
		r.user, r.source, r.destination, r.inMint, r.outMint, r.inProgram, r.outProgram = 0, 1, 2, 3, 4, 5, 6
		r.vaultIn, r.vaultOut, r.pools = fixed+1, fixed+2, fixed+3
		if len(in.accounts) < r.pools+r.steps {
			return r, in.anchor("NotEnoughAccountKeys", swapNoAccounts, "Not Enough Account keys")
		}
	}
	switch {
	case in.key(r.inMint) == in.key(r.outMint):
		return r, in.anchor("SourceAndDestinationMintCannotBeTheSame", swapOneMint, "Source mint and destination mint cannot the same")
	case in.key(r.vaultIn) != vaultOf(in.key(r.inMint)) || in.key(r.vaultOut) != vaultOf(in.key(r.outMint)):
		return r, in.anchor("ConstraintHasOne", swapWrongAccounts, "A has one constraint was violated")
	case !in.signs(r.user):
		return r, in.anchor("AccountNotSigner", 3010, "The given account did not sign")
	}
	return r, nil
}

// checkRoute checks the numbers: rest is how many bytes the steps have, fixed how many accounts come before those of the steps.
func (in *invocation) checkRoute(r route, rest, fixed int) *InstructionError {
	switch {
	case r.steps == 0:
		return in.anchor("EmptyRoute", swapEmptyRoute, "Empty route")
	case r.steps > 2 || rest < r.steps*routeStep:
		return in.anchor("InvalidRoutePlan", swapBadRoute, "Invalid route plan")
	case r.slippage > wholeBPS:
		return in.anchor("InvalidSlippage", swapBadSlippage, "Invalid slippage")
	case len(in.accounts) < fixed+r.steps:
		return in.anchor("NotEnoughAccountKeys", swapNoAccounts, "Not Enough Account keys")
	}
	return nil
}

// runRoute takes the amount from the user, trades it through the pools, checks the minimum, and pays it out.
func (in *invocation) runRoute(r route) *InstructionError {
	units, mint := r.units, in.key(r.inMint)
	dollars := in.isUSDC(mint) // what is held on the way is USDC, otherwise it is mint
	for step := range r.steps {
		at := r.pools + step
		p, ok := readPool(in.account(at).Data)
		if !ok || in.key(at) != poolOf(p.mint) || in.account(at).Owner != in.program {
			return in.anchor("SwapNotSupported", swapNotSupported, "Swap not supported")
		}
		bought, next, ok := p.trade(mint, units)
		if !ok || !dollars && mint != p.mint {
			return in.anchor("SwapNotSupported", swapNotSupported, "Swap not supported")
		}
		in.account(at).Data = next.data()
		if units, dollars = bought, !dollars; dollars {
			mint = address{}
		} else {
			mint = p.mint
		}
	}
	if dollars != in.isUSDC(in.key(r.outMint)) || !dollars && mint != in.key(r.outMint) {
		return in.anchor("InvalidRoutePlan", swapBadRoute, "Invalid route plan")
	}
	if units < minimumOut(r.quoted, r.slippage) {
		return in.anchor("SlippageToleranceExceeded", swapSlippage, "Slippage tolerance exceeded")
	}
	user := in.key(r.user)
	if err := in.moveTokens(r.inProgram, r.source, r.inMint, r.vaultIn, user, nil, r.units); err != nil {
		return err
	}
	return in.moveTokens(r.outProgram, r.vaultOut, r.outMint, r.destination, exchangeAuthority(), []address{exchangeAuthority()}, units)
}

// isUSDC says whether a mint is the sandbox's USDC. The exchange knows it by its vault, the second address in the lookup table (tableAddresses).
func (in *invocation) isUSDC(mint address) bool {
	table := in.read(exchangeTable()).Data
	return len(table) >= tableMeta+64 && keyAt(table, tableMeta+32) == vaultOf(mint)
}

// minimumOut is the least that a swap may bring: quoted less the slippage, rounded up.
func minimumOut(quoted uint64, slippage uint16) uint64 {
	high, low := bits.Mul64(quoted, uint64(slippage))
	less, _ := bits.Div64(high, low, wholeBPS)
	return quoted - less
}

// moveTokens calls TransferChecked of the token program.
func (in *invocation) moveTokens(program, from, mint, to int, owner address, derived []address, units uint64) *InstructionError {
	m, err := in.tokenIssue(mint)
	if err != nil {
		return err
	}
	data := append(binary.LittleEndian.AppendUint64([]byte{12}, units), m.decimals())
	return in.callCosting(in.key(program), data, derived, callMeta{in.key(from), false, true}, callMeta{in.key(mint), false, false},
		callMeta{in.key(to), false, true}, callMeta{owner, true, false})
}

// trade sells units of one side to the pool: USDC if mint is not the pool's own. It returns what is bought, and the pool after it. ok is
// false for an empty pool, and for sums that do not fit.
func (p pool) trade(mint address, units uint64) (bought uint64, next pool, ok bool) {
	held, other := p.usdc, p.token
	if mint == p.mint {
		held, other = p.token, p.usdc
	}
	after, carry := bits.Add64(held, units, 0)
	if held == 0 || other == 0 || carry > 0 {
		return 0, p, false
	}
	high, low := bits.Mul64(units, poolFee)
	fee, rest := bits.Div64(high, low, wholeBPS)
	if rest > 0 {
		fee++
	}
	paid := units - min(fee, units)
	high, low = bits.Mul64(other, paid)
	if high >= held+paid {
		return 0, p, false
	}
	bought, _ = bits.Div64(high, low, held+paid)
	held, other = after, other-bought
	if mint == p.mint {
		return bought, pool{p.mint, held, other}, true
	}
	return bought, pool{p.mint, other, held}, true
}

// Trade returns what a pool would pay for units of its token, or of USDC; false if it trades nothing.
func (p Pool) Trade(token bool, units uint64) (uint64, bool) {
	mint := address{1}
	if !token {
		mint = address{2}
	}
	bought, _, ok := pool{address{1}, p.Token, p.USDC}.trade(mint, units)
	return bought, ok
}

// anchor fails with an error of the router, logged as Anchor does.
func (in *invocation) anchor(name string, code uint32, text string) *InstructionError {
	in.say("AnchorError occurred. Error Code: %s. Error Number: %d. Error Message: %s.", name, code, text)
	return custom(code)
}
