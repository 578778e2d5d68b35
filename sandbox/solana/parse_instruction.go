package solana

import (
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The jsonParsed form of instructions, with the names that Agave's parsers use. An instruction that cannot be parsed
// is shown as if its program had no parser.

// parsing is one instruction during parsing: its account keys, a reader of its data, and the result so far.
type parsing struct {
	keys []string
	reader
	kind string
	info object
}

// parseInstruction returns the program's name and the parsed form. ok is false if there is no parser, or if parsing
// fails.
func (m *message) parseInstruction(ix instruction) (program string, parsed any, ok bool) {
	p := &parsing{reader: reader{rest: ix.Data}, info: object{}}
	// Inner instructions come from the sandbox's own execution, but an index is checked all the same.
	for _, a := range ix.Accounts {
		if int(a) >= len(m.Keys) {
			return "", nil, false
		}
		p.keys = append(p.keys, m.Keys[a].String())
	}
	switch id := m.Keys[ix.Program]; {
	// A memo that is not UTF-8 has no parsed form.
	case isMemo(id):
		return "spl-memo", string(ix.Data), utf8.Valid(ix.Data)
	case id == systemProgram:
		program, ok = "system", p.system()
	case isTokenProgram(id):
		program, ok = "spl-token", p.token(id == token2022Program)
	case id == associatedProgram:
		program, ok = "spl-associated-token-account", p.associated()
	case id == lookupProgram:
		program, ok = "address-lookup-table", p.lookupTable()
	case id == stakeProgram:
		program, ok = "stake", p.stake()
	}
	if !ok || p.err != nil {
		return "", nil, false
	}
	if p.info == nil {
		return program, object{"type": p.kind}, true
	}
	return program, object{"type": p.kind, "info": p.info}, true
}

// is sets the instruction's name and names its first accounts; "" leaves an account out. It returns false if accounts
// are missing.
func (p *parsing) is(kind string, accounts ...string) bool {
	p.kind = kind
	if len(p.keys) < len(accounts) {
		return false
	}
	for i, name := range accounts {
		if name != "" {
			p.info[name] = p.keys[i]
		}
	}
	return true
}

// signed names the authority, which is the account at index after. If signers follow it, the authority is a multisig.
func (p *parsing) signed(after int, name string) bool {
	if len(p.keys) <= after {
		return false
	}
	if len(p.keys) == after+1 {
		p.info[name] = p.keys[after]
		return true
	}
	p.info["multisig"+strings.ToUpper(name[:1])+name[1:]] = p.keys[after]
	p.info["signers"] = p.keys[after+1:]
	return true
}

// Missing bytes read as zeros and set err, which parseInstruction checks at the end.
func (p *parsing) u16() uint16 { return binary.LittleEndian.Uint16(p.take(2)) }
func (p *parsing) u64() uint64 { return binary.LittleEndian.Uint64(p.take(8)) }

// amount reads a u64 and returns it as text, as Agave shows token amounts, because JavaScript numbers lose digits.
func (p *parsing) amount() string { return strconv.FormatUint(p.u64(), 10) }

func (p *parsing) key() string { return address(p.take(32)).String() }

// optionalKey reads a byte that says whether a key follows, and the key. It returns nil, null in JSON, if there is
// none.
func (p *parsing) optionalKey() any {
	switch p.byte() {
	case 0:
		return nil
	case 1:
		return p.key()
	}
	p.fail()
	return nil
}

// setKey reads a key and adds it. All zeros mean that there is none.
func (p *parsing) setKey(name string) {
	if key := address(p.take(32)); key != (address{}) {
		p.info[name] = key.String()
	}
}

// fail marks the instruction as one that cannot be parsed.
func (p *parsing) fail() {
	if p.err == nil {
		p.err = errEnded
	}
}

// text reads a string in bincode: a u64 length, then UTF-8.
func (p *parsing) text() string {
	n := p.u64()
	if n > uint64(len(p.rest)) {
		p.fail()
		return ""
	}
	b := p.take(int(n))
	if !utf8.Valid(b) {
		p.fail()
	}
	return string(b)
}

// system parses System instructions by their u32 number. Lamports and space (bytes) are plain numbers.
func (p *parsing) system() bool {
	switch p.uint32() {
	case 0:
		p.info["lamports"], p.info["space"], p.info["owner"] = p.u64(), p.u64(), p.key()
		return p.is("createAccount", "source", "newAccount")
	case 1:
		p.info["owner"] = p.key()
		return p.is("assign", "account")
	case 2:
		p.info["lamports"] = p.u64()
		return p.is("transfer", "source", "destination")
	case 3:
		p.info["base"], p.info["seed"] = p.key(), p.text()
		p.info["lamports"], p.info["space"], p.info["owner"] = p.u64(), p.u64(), p.key()
		return p.is("createAccountWithSeed", "source", "newAccount")
	case 4:
		return p.is("advanceNonce", "nonceAccount", "recentBlockhashesSysvar", "nonceAuthority")
	case 5:
		p.info["lamports"] = p.u64()
		return p.is("withdrawFromNonce", "nonceAccount", "destination", "recentBlockhashesSysvar", "rentSysvar", "nonceAuthority")
	case 6:
		p.info["nonceAuthority"] = p.key()
		return p.is("initializeNonce", "nonceAccount", "recentBlockhashesSysvar", "rentSysvar")
	case 7:
		p.info["newAuthorized"] = p.key()
		return p.is("authorizeNonce", "nonceAccount", "nonceAuthority")
	case 8:
		p.info["space"] = p.u64()
		return p.is("allocate", "account")
	case 9:
		p.info["base"], p.info["seed"], p.info["space"], p.info["owner"] = p.key(), p.text(), p.u64(), p.key()
		return p.is("allocateWithSeed", "account", "")
	case 10:
		p.info["base"], p.info["seed"], p.info["owner"] = p.key(), p.text(), p.key()
		return p.is("assignWithSeed", "account", "")
	case 11:
		p.info["lamports"], p.info["sourceSeed"], p.info["sourceOwner"] = p.u64(), p.text(), p.key()
		return p.is("transferWithSeed", "source", "sourceBase", "destination")
	case 12:
		return p.is("upgradeNonce", "nonceAccount")
	}
	return false
}

// associated parses instructions of the associated token account program.
func (p *parsing) associated() bool {
	kind := byte(0)
	if len(p.rest) > 0 {
		kind = p.byte()
	}
	switch {
	case len(p.rest) > 0 || kind > 2:
		return false
	case kind == 2:
		return p.is("recoverNested", "nestedSource", "nestedMint", "destination", "nestedOwner", "ownerMint", "wallet", "tokenProgram")
	}
	return p.is([]string{"create", "createIdempotent"}[kind], "source", "account", "wallet", "mint", "systemProgram", "tokenProgram")
}

// lookupTable parses instructions of the address lookup table program.
func (p *parsing) lookupTable() bool {
	const table, authority = "lookupTableAccount", "lookupTableAuthority"
	switch p.uint32() {
	case 0:
		p.info["recentSlot"], p.info["bumpSeed"] = p.u64(), p.byte()
		return p.is("createLookupTable", table, authority, "payerAccount", "systemProgram")
	case 1:
		return p.is("freezeLookupTable", table, authority)
	case 2:
		n := p.u64()
		if n > uint64(len(p.rest))/32 {
			return false
		}
		added := make([]string, n)
		for i := range added {
			added[i] = p.key()
		}
		p.info["newAddresses"] = added
		if len(p.keys) >= 4 {
			return p.is("extendLookupTable", table, authority, "payerAccount", "systemProgram")
		}
		return p.is("extendLookupTable", table, authority)
	case 3:
		return p.is("deactivateLookupTable", table, authority)
	case 4:
		return p.is("closeLookupTable", table, authority, "recipient")
	}
	return false
}

// shownAuthorities are Agave's names for the kinds of SetAuthority, by number. Kinds 2 and 3 belong to accounts, all
// others to mints.
var shownAuthorities = [...]string{"mintTokens", "freezeAccount", "accountOwner", "closeAccount", "transferFeeConfig", "withheldWithdraw",
	"closeMint", "interestRate", "permanentDelegate", "confidentialTransferMint", "transferHookProgramId",
	"confidentialTransferFeeConfig", "metadataPointer", "groupPointer", "groupMemberPointer", "scaledUiAmount", "pause", "permissionedBurn"}

// token parses the instructions that both token programs have. With extended set, it also parses those of Token-2022
// that run here.
//
// Long: one case for each instruction, by its number.
func (p *parsing) token(extended bool) bool {
	if len(p.keys) == 0 {
		return false // as in Agave
	}
	kind := p.byte()
	switch kind {
	case 0, 20:
		// InitializeMint and InitializeMint2 differ in the Rent sysvar only.
		p.info["decimals"], p.info["mintAuthority"] = p.byte(), p.key()
		if freezer := p.optionalKey(); freezer != nil {
			p.info["freezeAuthority"] = freezer
		}
		if kind == 20 {
			return p.is("initializeMint2", "mint")
		}
		return p.is("initializeMint", "mint", "rentSysvar")
	case 1:
		return p.is("initializeAccount", "account", "mint", "owner", "rentSysvar")
	case 2, 19:
		p.info["m"] = p.byte()
		// The signers of a multisig follow its own accounts.
		own := []string{"multisig", "rentSysvar"}
		if kind == 19 {
			own = own[:1]
		}
		if len(p.keys) <= len(own) {
			return false
		}
		p.info["signers"] = p.keys[len(own):]
		return p.is(map[byte]string{2: "initializeMultisig", 19: "initializeMultisig2"}[kind], own...)
	case 3:
		p.info["amount"] = p.amount()
		return p.is("transfer", "source", "destination") && p.signed(2, "authority")
	case 4:
		p.info["amount"] = p.amount()
		return p.is("approve", "source", "delegate") && p.signed(2, "owner")
	case 5:
		return p.is("revoke", "source") && p.signed(1, "owner")
	case 6:
		of := p.byte()
		if int(of) >= len(shownAuthorities) {
			return false
		}
		p.info["authorityType"], p.info["newAuthority"] = shownAuthorities[of], p.optionalKey()
		owned := "mint"
		if of == 2 || of == 3 {
			owned = "account"
		}
		return p.is("setAuthority", owned) && p.signed(1, "authority")
	case 7:
		p.info["amount"] = p.amount()
		return p.is("mintTo", "mint", "account") && p.signed(2, "mintAuthority")
	case 8:
		p.info["amount"] = p.amount()
		return p.is("burn", "account", "mint") && p.signed(2, "authority")
	case 9:
		return p.is("closeAccount", "account", "destination") && p.signed(2, "owner")
	case 10:
		return p.is("freezeAccount", "account", "mint") && p.signed(2, "freezeAuthority")
	case 11:
		return p.is("thawAccount", "account", "mint") && p.signed(2, "freezeAuthority")
	case 12:
		p.tokenAmount()
		return p.is("transferChecked", "source", "mint", "destination") && p.signed(3, "authority")
	case 13:
		p.tokenAmount()
		return p.is("approveChecked", "source", "mint", "delegate") && p.signed(3, "owner")
	case 14:
		p.tokenAmount()
		return p.is("mintToChecked", "mint", "account") && p.signed(2, "mintAuthority")
	case 15:
		p.tokenAmount()
		return p.is("burnChecked", "account", "mint") && p.signed(2, "authority")
	case 16:
		p.info["owner"] = p.key()
		return p.is("initializeAccount2", "account", "mint", "rentSysvar")
	case 17:
		return p.is("syncNative", "account")
	case 18:
		p.info["owner"] = p.key()
		return p.is("initializeAccount3", "account", "mint")
	case 21:
		if types := p.extensionTypes(); len(types) > 0 {
			p.info["extensionTypes"] = types
		}
		return p.is("getAccountDataSize", "mint")
	case 22:
		return p.is("initializeImmutableOwner", "account")
	case 23:
		p.info["amount"] = p.amount()
		return p.is("amountToUiAmount", "mint")
	case 24:
		if !utf8.Valid(p.rest) {
			return false
		}
		p.info["uiAmount"] = string(p.rest)
		return p.is("uiAmountToAmount", "mint")
	}
	return extended && p.extension(kind)
}

// tokenAmount reads base units and decimals, as the Checked instructions have them.
func (p *parsing) tokenAmount() {
	units := p.u64()
	p.info["tokenAmount"] = showAmount(units, p.byte())
}

// extensionTypes reads the rest of the data as u16 numbers of extensions.
func (p *parsing) extensionTypes() []string {
	var names []string
	for len(p.rest) > 0 && p.err == nil {
		name := extensionName(p.u16())
		if name == "" {
			p.fail()
		}
		names = append(names, name)
	}
	return names
}

// extension parses instructions that only Token-2022 has.
func (p *parsing) extension(kind byte) bool {
	switch kind {
	case 25:
		p.info["newAuthority"] = p.optionalKey()
		return p.is("initializeMintCloseAuthority", "mint")
	case 26:
		return p.transferFee()
	case 28:
		of, state := p.byte(), p.byte()
		if state > 2 || of > 1 {
			return false
		}
		p.info["accountState"] = []string{"uninitialized", "initialized", "frozen"}[state]
		if of == 0 {
			return p.is("initializeDefaultAccountState", "mint")
		}
		return p.is("updateDefaultAccountState", "mint") && p.signed(1, "freezeAuthority")
	case 29:
		p.info["extensionTypes"] = append([]string{}, p.extensionTypes()...)
		return p.is("reallocate", "account", "payer", "systemProgram") && p.signed(3, "owner")
	case 30, 34:
		of := p.byte()
		if of > 1 {
			return false
		}
		names := map[byte][]string{30: {"enableRequiredMemoTransfers", "disableRequiredMemoTransfers"}, 34: {"enableCpiGuard", "disableCpiGuard"}}[kind]
		return p.is(names[of], "account") && p.signed(1, "owner")
	case 31:
		return p.is("createNativeMint", "payer", "nativeMint", "systemProgram")
	case 32:
		return p.is("initializeNonTransferableMint", "mint")
	case 35:
		p.info["delegate"] = p.key()
		return p.is("initializePermanentDelegate", "mint")
	case 36, 39:
		what, named := "TransferHook", "programId"
		if kind == 39 {
			what, named = "MetadataPointer", "metadataAddress"
		}
		switch p.byte() {
		case 0:
			p.setKey("authority")
			p.setKey(named)
			return p.is("initialize"+what, "mint")
		case 1:
			p.setKey(named)
			return p.is("update"+what, "mint") && p.signed(1, "authority")
		}
	case 38:
		return p.is("withdrawExcessLamports", "source", "destination") && p.signed(2, "authority")
	}
	return false
}

// transferFee parses the instructions of the transfer fee extension. Fees are in base units and basis points.
func (p *parsing) transferFee() bool {
	switch p.byte() {
	case 0:
		config, withdraw := p.optionalKey(), p.optionalKey()
		p.info["transferFeeBasisPoints"], p.info["maximumFee"] = p.u16(), p.u64()
		if config != nil {
			p.info["transferFeeConfigAuthority"] = config
		}
		if withdraw != nil {
			p.info["withdrawWithheldAuthority"] = withdraw
		}
		return p.is("initializeTransferFeeConfig", "mint")
	case 1:
		units, decimals := p.u64(), p.byte()
		p.info["tokenAmount"], p.info["feeAmount"] = showAmount(units, decimals), showAmount(p.u64(), decimals)
		return p.is("transferCheckedWithFee", "source", "mint", "destination") && p.signed(3, "authority")
	case 2:
		return p.is("withdrawWithheldTokensFromMint", "mint", "feeRecipient") && p.signed(2, "withdrawWithheldAuthority")
	case 3:
		sources := int(p.byte())
		// The source accounts are at the end, behind the authority and its signers.
		if len(p.keys) < 3+sources {
			return false
		}
		own := p.keys[:len(p.keys)-sources]
		p.info["sourceAccounts"] = p.keys[len(own):]
		p.keys = own
		return p.is("withdrawWithheldTokensFromAccounts", "mint", "feeRecipient") && p.signed(2, "withdrawWithheldAuthority")
	case 4:
		p.info["sourceAccounts"] = p.keys[1:]
		return p.is("harvestWithheldTokensToMint", "mint")
	case 5:
		p.info["transferFeeBasisPoints"], p.info["maximumFee"] = p.u16(), p.u64()
		return p.is("setTransferFee", "mint") && p.signed(1, "transferFeeConfigAuthority")
	}
	return false
}
