package solana

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// extensionName is the name of an extension in Agave's parser (UiExtension), or "" for a number that is not one.
func extensionName(extension uint16) string {
	return map[uint16]string{
		extTransferFeeConfig: "transferFeeConfig", extTransferFeeAmount: "transferFeeAmount",
		extMintCloseAuthority: "mintCloseAuthority", extConfidentialMint: "confidentialTransferMint",
		extConfidentialAccount: "confidentialTransferAccount", extDefaultState: "defaultAccountState",
		extImmutableOwner: "immutableOwner", extMemoTransfer: "memoTransfer",
		extNonTransferable: "nonTransferable", extInterest: "interestBearingConfig", extCPIGuard: "cpiGuard",
		extPermanentDelegate: "permanentDelegate", extNonTransferableOwned: "nonTransferableAccount",
		extTransferHook: "transferHook", extTransferHookAccount: "transferHookAccount",
		extConfidentialFee: "confidentialTransferFeeConfig", extConfidentialFeeHeld: "confidentialTransferFeeAmount",
		extMetadataPointer: "metadataPointer", extMetadata: "tokenMetadata", extGroupPointer: "groupPointer",
		extGroup: "tokenGroup", extMemberPointer: "groupMemberPointer", extMember: "tokenGroupMember",
		extConfidentialMintBurn: "confidentialMintBurn", extScaledAmount: "scaledUiAmountConfig",
		extPausable: "pausableConfig", extPausableAccount: "pausableAccount", extPermissionedBurn: "permissionedBurn",
	}[extension]
}

// showAmount is UiTokenAmount: the amount in base units, its decimals, and the amount in whole tokens as a number and
// as text.
func showAmount(units uint64, decimals byte) object {
	text := strconv.FormatUint(units, 10)
	// The text is exact; it has no zeros at the end.
	if decimals > 0 {
		if short := int(decimals) + 1 - len(text); short > 0 {
			text = strings.Repeat("0", short) + text
		}
		point := len(text) - int(decimals)
		text = strings.TrimRight(strings.TrimRight(text[:point]+"."+text[point:], "0"), ".")
	}
	number, err := strconv.ParseFloat(text, 64) // only for display; the exact amount is beside it
	if err != nil {
		number = 0
	}
	return object{"amount": strconv.FormatUint(units, 10), "decimals": decimals, "uiAmount": number, "uiAmountString": text}
}

// showToken is the jsonParsed form of a mint or token account. It returns false for other data, and for an account
// whose mint is gone, because the decimals are the mint's.
func (c *Cluster) showToken(a account, height uint64) (any, bool) {
	program := map[address]string{tokenProgram: "spl-token", token2022Program: "spl-token-2022"}[a.Owner]
	if program == "" {
		return nil, false
	}
	var kind string
	// A token account's decimals are those of its mint, read at the same height.
	var info object
	if h, ok := holdingIn(a); ok {
		decimals, known := decimalsOf(h.mint(), c.state.at(h.mint(), height))
		if !known {
			return nil, false
		}
		kind, info = "account", showHolding(h, decimals)
	} else if m, ok := mintIn(a); ok {
		kind, info = "mint", object{
			"decimals": m.decimals(), "isInitialized": m.ready(), "supply": strconv.FormatUint(m.supply(), 10),
			"mintAuthority": shownKey(m.minter()), "freezeAuthority": shownKey(m.freezer()),
		}
	} else {
		return nil, false
	}
	if list := extensionsOf(a.Data).shown(); len(list) > 0 {
		info["extensions"] = list
	}
	return object{"program": program, "parsed": object{"type": kind, "info": info}, "space": len(a.Data)}, true
}

// showHolding shows a token account. Members without a value are left out, as Agave leaves them out.
func showHolding(h tokenAccount, decimals byte) object {
	info := object{
		"mint": h.mint().String(), "owner": h.owner().String(), "isNative": h.native().some(),
		"state": map[bool]string{true: "frozen", false: "initialized"}[h.frozen()], "tokenAmount": showAmount(h.amount(), decimals),
	}
	if h.delegate().some() {
		info["delegate"], info["delegatedAmount"] = h.delegate().key().String(), showAmount(h.delegated(), decimals)
	}
	if h.native().some() {
		info["rentExemptReserve"] = showAmount(h.reserve(), decimals)
	}
	if h.closer().some() {
		info["closeAuthority"] = h.closer().key().String()
	}
	return info
}

// shownKey is null for an option without a value.
func shownKey(o coption) any {
	if !o.some() {
		return nil
	}
	return o.key().String()
}

// shown lists extensions by name. Only those that affect how a token can be moved have a state here.
func (l extensionList) shown() []object {
	var list []object
	for extension := uint16(1); extension <= extLast; extension++ {
		value, ok := l.find(extension)
		if !ok {
			continue
		}
		shown := object{"extension": extensionName(extension)}
		switch extension {
		case extTransferFeeAmount:
			shown["state"] = object{"withheldAmount": u64At(value, 0)}
		case extMemoTransfer:
			shown["state"] = object{"requireIncomingTransferMemos": value[0] != 0}
		case extDefaultState:
			shown["state"] = object{"accountState": map[byte]string{stateReady: "initialized", stateFrozen: "frozen"}[value[0]]}
		case extPermanentDelegate:
			shown["state"] = object{"delegate": keyAt(value, 0).String()}
		}
		list = append(list, shown)
	}
	return list
}

// tokenFilter reads the second parameter of getTokenAccountsBy...: the accounts of one mint, or of one token program.
func (c *Cluster) tokenFilter(p params, height uint64) (func(account, tokenAccount) bool, *rpcError) {
	var filter struct {
		Mint    string `json:"mint"`
		Program string `json:"programId"`
	}
	if bad := p.read(1, &filter); bad != nil {
		return nil, bad
	}
	switch {
	case filter.Mint != "":
		mint, bad := readAddress(filter.Mint)
		if bad != nil {
			return nil, bad
		}
		a := c.state.at(mint, height)
		if !a.exists() {
			return nil, invalidParams("Invalid param: could not find mint")
		}
		if _, ok := mintIn(a); !ok {
			return nil, invalidParams("Invalid param: not a Token mint")
		}
		return func(_ account, h tokenAccount) bool { return h.mint() == mint }, nil
	case filter.Program != "":
		program, bad := readAddress(filter.Program)
		if bad != nil {
			return nil, bad
		}
		if !isTokenProgram(program) {
			return nil, invalidParams("Invalid param: unrecognized Token program id")
		}
		return func(a account, _ tokenAccount) bool { return a.Owner == program }, nil
	}
	return nil, invalidParams("Invalid params: expected `mint` or `programId`")
}

// getTokenAccountsByOwner lists the token accounts of a wallet.
func getTokenAccountsByOwner(c *Cluster, p params) (any, *rpcError) {
	return c.tokenAccounts(p, func(h tokenAccount, owner address) bool { return h.owner() == owner })
}

// getTokenAccountsByDelegate lists the token accounts whose delegate is the address.
func getTokenAccountsByDelegate(c *Cluster, p params) (any, *rpcError) {
	return c.tokenAccounts(p, func(h tokenAccount, delegate address) bool {
		return h.delegate().some() && h.delegate().key() == delegate
	})
}

// tokenAccounts lists the token accounts that belong to the address in the first parameter, sorted by address.
func (c *Cluster) tokenAccounts(p params, belongs func(tokenAccount, address) bool) (any, *rpcError) {
	holder, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	cfg, bad := p.config(2)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.height(cfg.Commitment, cfg.MinContextSlot)
	if bad != nil {
		return nil, bad
	}
	wanted, bad := c.tokenFilter(p, height)
	if bad != nil {
		return nil, bad
	}
	type entry struct {
		key   string
		shown object
	}
	var list []entry
	// Every account of the cluster is visited. An index is not worth its upkeep for the few accounts of a sandbox.
	for key := range c.state {
		a := c.state.at(key, height)
		h, ok := holdingIn(a)
		if !ok || !belongs(h, holder) || !wanted(a, h) {
			continue
		}
		shown, bad := c.show(key, a, cfg, height)
		if bad != nil {
			return nil, bad
		}
		// Sorting makes the list the same between calls, as the state is a map.
		list = append(list, entry{key.String(), object{"pubkey": key.String(), "account": shown}})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].key < list[j].key })
	shown := make([]object, len(list))
	for i, e := range list {
		shown[i] = e.shown
	}
	return withContext(height, shown), nil
}

// show returns null for an account that does not exist, and refuses an unknown encoding in either case.
func (c *Cluster) show(key address, a account, cfg config, height uint64) (any, *rpcError) {
	if !a.exists() {
		return nil, c.mayShow(cfg)
	}
	return c.showParsedOr(key, a, cfg, height)
}

// mayShow refuses an unknown encoding before there is an account to show.
func (c *Cluster) mayShow(cfg config) *rpcError {
	_, bad := showExisting(account{}, cfg.Encoding, cfg.DataSlice)
	return bad
}

// showParsedOr shows an account even if it is gone, because subscribers are notified of that too.
func (c *Cluster) showParsedOr(key address, a account, cfg config, height uint64) (any, *rpcError) {
	shown, bad := showExisting(a, cfg.Encoding, cfg.DataSlice)
	if cfg.Encoding != "jsonParsed" || bad != nil {
		return shown, bad
	}
	parsed, ok := c.showToken(a, height)
	if !ok {
		parsed, ok = showNative(key, a)
	}
	if !ok {
		parsed, ok = showStaking(key, a)
	}
	if ok {
		shown.(object)["data"] = parsed
	}
	return shown, nil
}

// showNative is the jsonParsed form of lookup tables and of the Rent sysvar. It returns false for other accounts.
func showNative(key address, a account) (any, bool) {
	switch {
	case a.Owner == lookupProgram:
		t, err := readTable(a.Data)
		if err != nil {
			if err.Name == "UninitializedAccount" {
				return object{"program": "address-lookup-table", "parsed": object{"type": "uninitialized"}, "space": len(a.Data)}, true
			}
			return nil, false
		}
		addresses := make([]string, len(t.Addresses)/32)
		for i := range addresses {
			addresses[i] = keyAt(t.Addresses, 32*i).String()
		}
		info := object{
			"deactivationSlot": strconv.FormatUint(t.Deactivated, 10), "lastExtendedSlot": strconv.FormatUint(t.Extended, 10),
			"lastExtendedSlotStartIndex": t.Before, "addresses": addresses,
		}
		if t.Authority != nil {
			info["authority"] = t.Authority.String()
		}
		return object{"program": "address-lookup-table", "parsed": object{"type": "lookupTable", "info": info}, "space": len(a.Data)}, true
	case key == rentSysvar && len(a.Data) == 17:
		info := object{
			"lamportsPerByteYear": strconv.FormatUint(u64At(a.Data, 0), 10),
			"exemptionThreshold":  math.Float64frombits(u64At(a.Data, 8)), "burnPercent": a.Data[16],
		}
		return object{"program": "sysvar", "parsed": object{"type": "rent", "info": info}, "space": len(a.Data)}, true
	}
	return nil, false
}

// getTokenAccountBalance returns a token account's balance in base units and as text.
func getTokenAccountBalance(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	a := c.state.at(key, height)
	if !a.exists() {
		return nil, invalidParams("Invalid param: could not find account")
	}
	h, ok := holdingIn(a)
	if !ok {
		return nil, invalidParams("Invalid param: not a Token account")
	}
	decimals, ok := decimalsOf(h.mint(), c.state.at(h.mint(), height))
	if !ok {
		return nil, invalidParams("Invalid param: could not find mint")
	}
	return withContext(height, showAmount(h.amount(), decimals)), nil
}

// maxLargest is how many accounts getLargestAccounts and getTokenLargestAccounts list.
const maxLargest = 20

// getTokenLargestAccounts lists a mint's accounts by balance, the largest first.
func getTokenLargestAccounts(c *Cluster, p params) (any, *rpcError) {
	mint, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	// A missing mint and an account that is no mint are different errors.
	if a := c.state.at(mint, height); !a.exists() {
		return nil, invalidParams("Invalid param: could not find mint")
	}
	decimals, ok := decimalsOf(mint, c.state.at(mint, height))
	if !ok {
		return nil, invalidParams("Invalid param: not a Token mint")
	}
	list := []sized{}
	for key := range c.state {
		if h, ok := holdingIn(c.state.at(key, height)); ok && h.mint() == mint {
			list = append(list, sized{key, h.amount()})
		}
	}
	shown := []object{}
	for _, e := range largest(list) {
		amount := showAmount(e.amount, decimals)
		amount["address"] = e.key.String()
		shown = append(shown, amount)
	}
	return withContext(height, shown), nil
}

// sized is an account with its balance, in lamports or base units.
type sized struct {
	key    address
	amount uint64
}

// largest sorts by amount, then by address, and returns the first maxLargest.
func largest(list []sized) []sized {
	slices.SortFunc(list, func(a, b sized) int {
		if c := cmp.Compare(b.amount, a.amount); c != 0 {
			return c
		}
		return bytes.Compare(a.key[:], b.key[:])
	})
	return list[:min(len(list), maxLargest)]
}

// getTokenSupply returns a mint's supply in base units and as text.
func getTokenSupply(c *Cluster, p params) (any, *rpcError) {
	key, bad := p.address(0)
	if bad != nil {
		return nil, bad
	}
	height, bad := c.heightFor(p, 1)
	if bad != nil {
		return nil, bad
	}
	a := c.state.at(key, height)
	if !a.exists() {
		return nil, invalidParams("Invalid param: could not find account")
	}
	m, ok := mintIn(a)
	if !ok {
		return nil, invalidParams("Invalid param: not a Token mint")
	}
	return withContext(height, showAmount(m.supply(), m.decimals())), nil
}
