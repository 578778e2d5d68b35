package solana

import (
	"sort"
	"strconv"
	"strings"
)

// extensionNames are the extensions as Agave's parser names them (UiExtension).
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

// showAmount is UiTokenAmount: base units, decimals, and the same as a number and as text.
func showAmount(units uint64, decimals byte) object {
	text := strconv.FormatUint(units, 10)
	if decimals > 0 {
		if short := int(decimals) + 1 - len(text); short > 0 {
			text = strings.Repeat("0", short) + text
		}
		point := len(text) - int(decimals)
		text = strings.TrimRight(strings.TrimRight(text[:point]+"."+text[point:], "0"), ".")
	}
	number, err := strconv.ParseFloat(text, 64) // a picture for people: the units are exact beside it
	if err != nil {
		number = 0
	}
	return object{"amount": strconv.FormatUint(units, 10), "decimals": decimals, "uiAmount": number, "uiAmountString": text}
}

// showToken is the jsonParsed form of a mint or a token account; false for other data.
func (c *Cluster) showToken(a account, height uint64) (any, bool) {
	program := map[address]string{tokenProgram: "spl-token", token2022Program: "spl-token-2022"}[a.Owner]
	if program == "" {
		return nil, false
	}
	var kind string
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

func showHolding(h holding, decimals byte) object {
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

func shownKey(o option) any {
	if !o.some() {
		return nil
	}
	return o.key().String()
}

// shown lists extensions by name, with the state of those that tell how a token can be moved.
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

// tokenFilter is the second argument of getTokenAccountsByOwner: accounts of one mint, or of one
// token program.
func (c *Cluster) tokenFilter(p params, height uint64) (func(account, holding) bool, *rpcError) {
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
		return func(_ account, h holding) bool { return h.mint() == mint }, nil
	case filter.Program != "":
		program, bad := readAddress(filter.Program)
		if bad != nil {
			return nil, bad
		}
		if !isTokenProgram(program) {
			return nil, invalidParams("Invalid param: unrecognized Token program id")
		}
		return func(a account, _ holding) bool { return a.Owner == program }, nil
	}
	return nil, invalidParams("Invalid params: expected `mint` or `programId`")
}

func getTokenAccountsByOwner(c *Cluster, p params) (any, *rpcError) {
	owner, bad := p.address(0)
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
	for key := range c.state {
		a := c.state.at(key, height)
		h, ok := holdingIn(a)
		if !ok || h.owner() != owner || !wanted(a, h) {
			continue
		}
		shown, bad := c.show(a, cfg, height)
		if bad != nil {
			return nil, bad
		}
		list = append(list, entry{key.String(), object{"pubkey": key.String(), "account": shown}})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].key < list[j].key })
	shown := make([]object, len(list))
	for i, e := range list {
		shown[i] = e.shown
	}
	return withContext(height, shown), nil
}

// show is showAccount that also knows the jsonParsed form of what token programs keep.
func (c *Cluster) show(a account, cfg config, height uint64) (any, *rpcError) {
	shown, bad := showAccount(a, cfg.Encoding, cfg.DataSlice)
	if cfg.Encoding != "jsonParsed" || bad != nil || shown == nil {
		return shown, bad
	}
	if parsed, ok := c.showToken(a, height); ok {
		shown.(object)["data"] = parsed
	}
	return shown, nil
}

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
