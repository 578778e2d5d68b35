package solana

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokenInstructions are the SPL Token program's instructions by their first byte, with the units
// that one takes here. In its present form (SIMD-0266) the program is silent but for errors.
var tokenInstructions = map[byte]struct {
	run   func(*invocation, []byte) *InstructionError
	units uint64
}{
	0:  {func(in *invocation, d []byte) *InstructionError { return in.tokenMint(d, true) }, 150},
	1:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenAccount(nil, true) }, 200},
	3:  {func(in *invocation, d []byte) *InstructionError { return in.tokenTransfer(d, false) }, 76},
	4:  {func(in *invocation, d []byte) *InstructionError { return in.tokenApprove(d, false) }, 124},
	5:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenRevoke() }, 99},
	6:  {func(in *invocation, d []byte) *InstructionError { return in.tokenSetAuthority(d) }, 130},
	7:  {func(in *invocation, d []byte) *InstructionError { return in.tokenMintTo(d, false) }, 119},
	8:  {func(in *invocation, d []byte) *InstructionError { return in.tokenBurn(d, false) }, 126},
	9:  {func(in *invocation, _ []byte) *InstructionError { return in.tokenClose() }, 120},
	10: {func(in *invocation, _ []byte) *InstructionError { return in.tokenFreeze(true) }, 146},
	11: {func(in *invocation, _ []byte) *InstructionError { return in.tokenFreeze(false) }, 143},
	12: {func(in *invocation, d []byte) *InstructionError { return in.tokenTransfer(d, true) }, 105},
	13: {func(in *invocation, d []byte) *InstructionError { return in.tokenApprove(d, true) }, 164},
	14: {func(in *invocation, d []byte) *InstructionError { return in.tokenMintTo(d, true) }, 164},
	15: {func(in *invocation, d []byte) *InstructionError { return in.tokenBurn(d, true) }, 129},
	16: {func(in *invocation, d []byte) *InstructionError { return in.tokenAccount(d, true) }, 172},
	17: {func(in *invocation, _ []byte) *InstructionError { return in.tokenSync() }, 201},
	18: {func(in *invocation, d []byte) *InstructionError { return in.tokenAccount(d, false) }, 240},
	20: {func(in *invocation, d []byte) *InstructionError { return in.tokenMint(d, false) }, 230},
	21: {func(in *invocation, _ []byte) *InstructionError { return in.tokenDataSize() }, 183},
	22: {func(in *invocation, _ []byte) *InstructionError { return in.tokenImmutableOwner() }, 38},
	23: {func(in *invocation, d []byte) *InstructionError { return in.tokenToText(d) }, 350},
	24: {func(in *invocation, d []byte) *InstructionError { return in.tokenFromText(d) }, 540},
}

// token runs one instruction of the SPL Token program. Multisigs, batches and the recovery of
// excess lamports are not kept here (docs/sandbox-differences.md).
func (in *invocation) token() *InstructionError {
	if len(in.data) == 0 {
		return custom(tokenInvalidInstruction)
	}
	do, ok := tokenInstructions[in.data[0]]
	if !ok {
		return in.complain(custom(tokenInvalidInstruction), tokenTexts)
	}
	if err := in.spend(do.units); err != nil {
		return err
	}
	return in.complain(do.run(in, in.data[1:]), tokenTexts)
}

// atLeast refuses a compiled program's instruction with fewer accounts than it takes.
func (in *invocation) atLeast(n int) *InstructionError {
	if len(in.accounts) < n {
		return refused("NotEnoughAccountKeys")
	}
	return nil
}

// tokenHolding reads account i, which must be an initialized token account by its looks; whose it
// is shows when it is written.
func (in *invocation) tokenHolding(i int) (holding, *InstructionError) {
	h := holding(in.account(i).Data)
	switch {
	case len(h) != accountSize || h.state() > stateFrozen:
		return nil, refused("InvalidAccountData")
	case h.state() == stateNone:
		return nil, refused("UninitializedAccount")
	}
	return h, nil
}

func (in *invocation) tokenIssue(i int) (issue, *InstructionError) {
	m := issue(in.account(i).Data)
	switch {
	case len(m) != mintSize || m[45] > 1:
		return nil, refused("InvalidAccountData")
	case !m.ready():
		return nil, refused("UninitializedAccount")
	}
	return m, nil
}

// given says whether an option is set, as this program reads it: by the tag's first byte.
func (o option) given() bool { return o[0] == 1 }

// drop unsets an option and leaves the value's bytes, as this program does.
func (o option) drop() { o[0] = 0 }

// owned refuses an account that is not the Token program's own.
func (in *invocation) owned(list ...int) *InstructionError {
	for _, i := range list {
		if in.account(i).Owner != in.program {
			return refused("IncorrectProgramId")
		}
	}
	return nil
}

// authorized requires account i to be the expected authority, and to sign.
func (in *invocation) authorized(i int, expected address) *InstructionError {
	if in.key(i) != expected {
		return custom(tokenOwnerMismatch)
	}
	if !in.signs(i) {
		return refused("MissingRequiredSignature")
	}
	return nil
}

// rentAccount requires account i to be the Rent sysvar.
func (in *invocation) rentAccount(i int) *InstructionError {
	if in.key(i) != rentSysvar {
		return refused("InvalidArgument")
	}
	return nil
}

func (in *invocation) exempt(i int) bool {
	a := in.account(i)
	return a.Lamports >= rentMinimum(len(a.Data))
}

func (in *invocation) tokenMint(d []byte, withRent bool) *InstructionError {
	if len(d) < 34 || d[33] > 1 || d[33] == 1 && len(d) < 66 {
		return custom(tokenInvalidInstruction)
	}
	if withRent {
		if err := in.atLeast(2); err != nil {
			return err
		}
		if err := in.rentAccount(1); err != nil {
			return err
		}
	} else if err := in.atLeast(1); err != nil {
		return err
	}
	m := issue(in.account(0).Data)
	if len(m) != mintSize || m[45] > 1 {
		return refused("InvalidAccountData")
	}
	if m.ready() {
		return custom(tokenInUse)
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	m[45] = 1
	m.minter()[0] = 1
	putKey(m.minter(), 4, keyAt(d, 1))
	m[44] = d[0]
	if d[33] == 1 {
		m.freezer()[0] = 1
		putKey(m.freezer(), 4, keyAt(d, 34))
	}
	return nil
}

// tokenAccount initializes account 0. The owner is in the data, or else account 2.
func (in *invocation) tokenAccount(d []byte, withRent bool) *InstructionError {
	n := 3
	var owner address
	if in.data[0] != 1 {
		if len(d) < 32 {
			return custom(tokenInvalidInstruction)
		}
		n, owner = 2, keyAt(d, 0)
	}
	if err := in.atLeast(n); err != nil {
		return err
	}
	if in.data[0] == 1 {
		owner = in.key(2)
	}
	if withRent {
		if err := in.atLeast(n + 1); err != nil {
			return err
		}
		if err := in.rentAccount(n); err != nil {
			return err
		}
	}
	h := holding(in.account(0).Data)
	if len(h) != accountSize || h.state() > stateFrozen {
		return refused("InvalidAccountData")
	}
	if h.state() != stateNone {
		return custom(tokenInUse)
	}
	if !in.exempt(0) {
		return custom(tokenNotRentExempt)
	}
	native := isNative(in.key(1))
	if !native {
		if err := in.owned(1); err != nil {
			return err
		}
		if _, err := in.tokenIssue(1); err != nil {
			return custom(tokenInvalidMint)
		}
	}
	h[108] = stateReady
	putKey(h, 0, in.key(1))
	putKey(h, 32, owner)
	if native {
		reserve := rentMinimum(len(h))
		h.native()[0] = 1
		putU64(h, 113, reserve)
		h.setAmount(in.account(0).Lamports - reserve)
	}
	return nil
}

// amounts reads an amount and, for the checked forms, the decimals.
func amounts(d []byte, checked bool) (amount uint64, decimals byte, ok bool) {
	if len(d) < 8 || checked && len(d) < 9 {
		return 0, 0, false
	}
	if checked {
		decimals = d[8]
	}
	return binary.LittleEndian.Uint64(d), decimals, true
}

// withMint is the places of mint, second party and authority in an instruction whose checked form
// has the mint after the source.
func withMint(checked bool) (mint, other, authority int) {
	if checked {
		return 1, 2, 3
	}
	return 0, 1, 2
}

func (in *invocation) tokenTransfer(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	mint, to, authority := withMint(checked)
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	same := in.same(0, to)
	target := source
	if !same {
		if target, err = in.tokenHolding(to); err != nil {
			return err
		}
	}
	switch {
	case source.frozen() || target.frozen():
		return custom(tokenFrozen)
	case source.amount() < amount:
		return custom(tokenShort)
	case source.mint() != target.mint():
		return custom(tokenMintMismatch)
	}
	if checked {
		if err := in.tokenDecimals(mint, source.mint(), decimals); err != nil {
			return err
		}
	}
	if err := in.tokenSpender(source, authority, amount, !same); err != nil {
		return err
	}
	if same || amount == 0 {
		return in.owned(0, to)
	}
	source.setAmount(source.amount() - amount)
	target.setAmount(target.amount() + amount) // unchecked: no mint has a supply that overflows
	if source.native().given() {
		return in.carry(0, to, amount)
	}
	return nil
}

// carry moves lamports along with wrapped SOL.
func (in *invocation) carry(from, to int, lamports uint64) *InstructionError {
	if in.account(from).Lamports < lamports || in.account(to).Lamports > math.MaxUint64-lamports {
		return custom(tokenOverflow)
	}
	in.account(from).Lamports -= lamports
	in.account(to).Lamports += lamports
	return nil
}

func (in *invocation) tokenDecimals(i int, mint address, decimals byte) *InstructionError {
	if in.key(i) != mint {
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(i)
	if err != nil {
		return err
	}
	if m.decimals() != decimals {
		return custom(tokenDecimals)
	}
	return nil
}

// tokenSpender requires account i to be the delegate, whose allowance is then used up if spend is
// set, or the owner.
func (in *invocation) tokenSpender(source holding, i int, amount uint64, spend bool) *InstructionError {
	if !source.delegate().given() || source.delegate().key() != in.key(i) {
		return in.authorized(i, source.owner())
	}
	if err := in.authorized(i, in.key(i)); err != nil {
		return err
	}
	if source.delegated() < amount {
		return custom(tokenShort)
	}
	if spend {
		source.setDelegated(source.delegated() - amount)
		if source.delegated() == 0 {
			source.delegate().drop()
		}
	}
	return nil
}

func (in *invocation) tokenApprove(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	mint, delegate, authority := withMint(checked)
	if err := in.atLeast(authority + 1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if source.frozen() {
		return custom(tokenFrozen)
	}
	if checked {
		if err := in.tokenDecimals(mint, source.mint(), decimals); err != nil {
			return err
		}
	}
	if err := in.authorized(authority, source.owner()); err != nil {
		return err
	}
	source.delegate()[0] = 1
	putKey(source.delegate(), 4, in.key(delegate))
	source.setDelegated(amount)
	return nil
}

func (in *invocation) tokenRevoke() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	if source.frozen() {
		return custom(tokenFrozen)
	}
	by := source.owner()
	if source.delegate().given() && source.delegate().key() == in.key(1) {
		by = in.key(1)
	}
	if err := in.authorized(1, by); err != nil {
		return err
	}
	source.delegate().drop()
	source.setDelegated(0)
	return nil
}

// tokenSetAuthority changes one of the authorities: 0 minting, 1 freezing, 2 owning, 3 closing.
func (in *invocation) tokenSetAuthority(d []byte) *InstructionError {
	if len(d) < 2 || d[0] > 3 || d[1] > 1 || d[1] == 1 && len(d) < 34 {
		return custom(tokenInvalidInstruction)
	}
	var next *address
	if d[1] == 1 {
		k := keyAt(d, 2)
		next = &k
	}
	if err := in.atLeast(2); err != nil {
		return err
	}
	switch len(in.account(0).Data) {
	case accountSize:
		return in.tokenSetHolder(d[0], next)
	case mintSize:
	default:
		return refused("InvalidArgument")
	}
	m, err := in.tokenIssue(0)
	if err != nil {
		return err
	}
	var o option
	switch d[0] {
	case 0:
		if o = m.minter(); !o.given() {
			return custom(tokenFixedSupply)
		}
	case 1:
		if o = m.freezer(); !o.given() {
			return custom(tokenCannotFreeze)
		}
	default:
		return custom(tokenAuthorityType)
	}
	if err := in.authorized(1, o.key()); err != nil {
		return err
	}
	o.become(next)
	return nil
}

// become sets an option as this program does, or unsets it.
func (o option) become(k *address) {
	if k == nil {
		o.drop()
		return
	}
	o[0] = 1
	putKey(o, 4, *k)
}

func (in *invocation) tokenSetHolder(kind byte, next *address) *InstructionError {
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if h.frozen() {
		return custom(tokenFrozen)
	}
	switch kind {
	case 2:
		if err := in.authorized(1, h.owner()); err != nil {
			return err
		}
		if next == nil {
			return custom(tokenInvalidInstruction)
		}
		putKey(h, 32, *next)
		h.delegate().drop()
		h.setDelegated(0)
		if h.native().given() {
			h.closer().drop()
		}
	case 3:
		if err := in.authorized(1, h.closedBy()); err != nil {
			return err
		}
		h.closer().become(next)
	default:
		return custom(tokenAuthorityType)
	}
	return nil
}

// closedBy is who may close the account.
func (h holding) closedBy() address {
	if h.closer().given() {
		return h.closer().key()
	}
	return h.owner()
}

func (in *invocation) tokenMintTo(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	target, err := in.tokenHolding(1)
	if err != nil {
		return err
	}
	switch {
	case target.frozen():
		return custom(tokenFrozen)
	case target.native().given():
		return custom(tokenNativeUnsupported)
	case target.mint() != in.key(0):
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(0)
	if err != nil {
		return err
	}
	if checked && m.decimals() != decimals {
		return custom(tokenDecimals)
	}
	if !m.minter().given() {
		return custom(tokenFixedSupply)
	}
	if err := in.authorized(2, m.minter().key()); err != nil {
		return err
	}
	if amount == 0 {
		return in.owned(0, 1)
	}
	if m.supply() > math.MaxUint64-amount || target.amount() > math.MaxUint64-amount {
		return custom(tokenOverflow)
	}
	m.setSupply(m.supply() + amount)
	target.setAmount(target.amount() + amount)
	return nil
}

func (in *invocation) tokenBurn(d []byte, checked bool) *InstructionError {
	amount, decimals, ok := amounts(d, checked)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	source, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	m, err := in.tokenIssue(1)
	if err != nil {
		return err
	}
	switch {
	case source.frozen():
		return custom(tokenFrozen)
	case source.native().given():
		return custom(tokenNativeUnsupported)
	case source.amount() < amount:
		return custom(tokenShort)
	case source.mint() != in.key(1):
		return custom(tokenMintMismatch)
	case checked && m.decimals() != decimals:
		return custom(tokenDecimals)
	}
	if !unowned(source.owner()) {
		if err := in.tokenSpender(source, 2, amount, true); err != nil {
			return err
		}
	}
	if amount == 0 {
		return in.owned(0, 1)
	}
	source.setAmount(source.amount() - amount)
	m.setSupply(m.supply() - amount)
	return nil
}

func (in *invocation) tokenClose() *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	if in.same(0, 1) {
		return refused("InvalidAccountData")
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if !h.native().given() && h.amount() != 0 {
		return custom(tokenHasBalance)
	}
	if !unowned(h.owner()) {
		if err := in.authorized(2, h.closedBy()); err != nil {
			return err
		}
	} else if in.key(1) != incinerator {
		return refused("InvalidAccountData")
	}
	return in.remove(0, 1)
}

// remove empties an account into another and gives it back to the System program.
func (in *invocation) remove(i, to int) *InstructionError {
	if err := in.carry(i, to, in.account(i).Lamports); err != nil {
		return err
	}
	a := in.account(i)
	a.Data, a.Owner = nil, systemProgram
	return nil
}

func (in *invocation) tokenFreeze(freeze bool) *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	switch {
	case h.frozen() == freeze:
		return custom(tokenInvalidState)
	case h.native().given():
		return custom(tokenNativeUnsupported)
	case h.mint() != in.key(1):
		return custom(tokenMintMismatch)
	}
	m, err := in.tokenIssue(1)
	if err != nil {
		return err
	}
	if !m.freezer().given() {
		return custom(tokenCannotFreeze)
	}
	if err := in.authorized(2, m.freezer().key()); err != nil {
		return err
	}
	h[108] = stateReady
	if freeze {
		h[108] = stateFrozen
	}
	return nil
}

// tokenSync counts lamports that arrived from outside as wrapped SOL.
func (in *invocation) tokenSync() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	h, err := in.tokenHolding(0)
	if err != nil {
		return err
	}
	if !h.native().given() {
		return custom(tokenNotNative)
	}
	lamports := in.account(0).Lamports
	if lamports < h.reserve() {
		return custom(tokenOverflow)
	}
	if lamports-h.reserve() < h.amount() {
		return custom(tokenInvalidState)
	}
	h.setAmount(lamports - h.reserve())
	return nil
}

func (in *invocation) tokenDataSize() *InstructionError {
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	in.give(binary.LittleEndian.AppendUint64(nil, accountSize))
	return nil
}

// tokenMintGiven requires account 0 to be a mint of this program.
func (in *invocation) tokenMintGiven() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	if err := in.owned(0); err != nil {
		return err
	}
	if _, err := in.tokenIssue(0); err != nil {
		return custom(tokenInvalidMint)
	}
	return nil
}

// give hands data back to the caller.
func (in *invocation) give(data []byte) { in.returned = &returnData{in.program, data} }

func (in *invocation) tokenImmutableOwner() *InstructionError {
	if err := in.atLeast(1); err != nil {
		return err
	}
	h := holding(in.account(0).Data)
	if len(h) != accountSize || h.state() > stateFrozen {
		return refused("InvalidAccountData")
	}
	if h.state() != stateNone {
		return custom(tokenInUse)
	}
	return nil
}

func (in *invocation) tokenToText(d []byte) *InstructionError {
	amount, _, ok := amounts(d, false)
	if !ok {
		return custom(tokenInvalidInstruction)
	}
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	in.give([]byte(decimal(amount, issue(in.account(0).Data).decimals())))
	return nil
}

func (in *invocation) tokenFromText(d []byte) *InstructionError {
	if !utf8.Valid(d) {
		return custom(tokenInvalidInstruction)
	}
	if err := in.tokenMintGiven(); err != nil {
		return err
	}
	amount, ok := units(string(d), issue(in.account(0).Data).decimals())
	if !ok {
		return refused("InvalidArgument")
	}
	in.give(binary.LittleEndian.AppendUint64(nil, amount))
	return nil
}

// decimal writes an amount of base units with its decimal point and without zeros at the end.
func decimal(amount uint64, decimals byte) string {
	text := strconv.FormatUint(amount, 10)
	if decimals == 0 {
		return text
	}
	if short := int(decimals) + 1 - len(text); short > 0 {
		text = strings.Repeat("0", short) + text
	}
	at := len(text) - int(decimals)
	return strings.TrimSuffix(strings.TrimRight(text[:at]+"."+text[at:], "0"), ".")
}

// units reads such a text back.
func units(text string, decimals byte) (amount uint64, ok bool) {
	whole, rest, _ := strings.Cut(text, ".")
	rest = strings.TrimRight(rest, "0") // a second point stays, and is no digit
	if whole == "" && rest == "" || len(rest) > int(decimals) {
		return 0, false
	}
	digits := strings.TrimPrefix(whole+rest+strings.Repeat("0", int(decimals)-len(rest)), "+")
	if digits == "" || strings.ContainsAny(digits, "+-_") {
		return 0, false
	}
	amount, err := strconv.ParseUint(digits, 10, 64)
	return amount, err == nil
}
