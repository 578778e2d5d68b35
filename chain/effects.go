package chain

import (
	"encoding/json"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/mr-tron/base58"

	"purser/wallet"
)

// effects is a landed transaction with all that it did: the accounts of its message and those that lookup tables added,
// their balances before and after, and its instructions with those that programs called. Positions count keys.
type effects struct {
	signature wallet.Signature
	message   *message
	keys      []wallet.Address
	slot      uint64
	at        time.Time
	failure   string
	fee       uint64
	pre, post []uint64         // lamports
	tokens    map[byte]tokenAt // by position
	run       []instruction    // in the order of execution
	from      []int            // for each of them, the instruction of the message that led to it
}

// tokenAt is a token account before and after; nil where it was none.
type tokenAt struct{ pre, post *heldTokens }

// heldTokens is what a token account held. owner is zero if the node does not say.
type heldTokens struct {
	token wallet.Token
	owner wallet.Address
	units uint64
}

// lastSecond bounds block times: in the year 3058. Beyond the year 9999, time.Time has no JSON.
const lastSecond = 1 << 35

// unreadable is why a transaction cannot be read, in a few plain words of our own.
type unreadable string

func (u unreadable) Error() string { return string(u) }

// tokenBalanceEntry is UiTransactionTokenBalance. The amounts for display are not read.
type tokenBalanceEntry struct {
	Index   *int    `json:"accountIndex"`
	Mint    string  `json:"mint"`
	Owner   *string `json:"owner"`     // missing in answers about old transactions
	Program *string `json:"programId"` // likewise
	Amount  *struct {
		Amount   string `json:"amount"`
		Decimals *uint8 `json:"decimals"`
	} `json:"uiTokenAmount"`
}

// innerEntry is UiInnerInstructions in the compiled form.
type innerEntry struct {
	Index        *int `json:"index"`
	Instructions []struct {
		Program  *int   `json:"programIdIndex"`
		Accounts []int  `json:"accounts"`
		Data     string `json:"data"`
	} `json:"instructions"`
}

// effects reads an answer of getTransaction. Everything is compared with everything else: a node that contradicts
// itself is not believed in part. Errors are errGarbage and errUnreadable for the bytes, else unreadable.
func (t *transactionAnswer) effects(sig wallet.Signature) (*effects, error) {
	m, err := t.message(sig)
	if err != nil {
		return nil, err
	}
	e := &effects{signature: sig, message: m, slot: *t.Slot, fee: *t.Meta.Fee, pre: t.Meta.Pre, post: t.Meta.Post}
	var seconds *int64
	if len(t.BlockTime) > 0 && json.Unmarshal(t.BlockTime, &seconds) != nil {
		return nil, unreadable("its block time makes no sense")
	}
	if seconds != nil && *seconds > 0 && *seconds < lastSecond {
		e.at = time.Unix(*seconds, 0).UTC()
	}
	if f := parseFailure(t.Meta.Err); f != nil {
		e.failure = f.String()
	}
	for _, step := range []func(*transactionMeta) error{e.readKeys, e.readLamports, e.readTokens, e.readInstructions, e.checkDecimals} {
		if err := step(t.Meta); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// readKeys joins the message's accounts with those from lookup tables: first all writable ones, then the others.
func (e *effects) readKeys(meta *transactionMeta) error {
	var loaded struct{ Writable, Readonly []string }
	if len(meta.Loaded) > 0 && json.Unmarshal(meta.Loaded, &loaded) != nil {
		return unreadable("its loaded accounts make no sense")
	}
	// The node resolved the lookup tables as they were at that slot. Only the number of addresses can be checked here.
	var writable, readonly int
	for _, l := range e.message.lookups {
		writable += len(l.writable)
		readonly += len(l.readonly)
	}
	if len(loaded.Writable) != writable || len(loaded.Readonly) != readonly {
		return unreadable("its loaded accounts are not as many as it looks up")
	}
	e.keys = slices.Clone(e.message.keys)
	for _, text := range slices.Concat(loaded.Writable, loaded.Readonly) {
		key, err := wallet.ParseAddress(text)
		if err != nil {
			return unreadable("one of its loaded accounts is no address")
		}
		e.keys = append(e.keys, key)
	}
	if len(e.keys) > maxAccounts {
		return unreadable("it has too many accounts")
	}
	// Positions stand for accounts everywhere below, so an account with two positions would be counted twice.
	seen := make(map[wallet.Address]bool, len(e.keys))
	for _, key := range e.keys {
		if seen[key] {
			return unreadable("one of its accounts is listed twice")
		}
		seen[key] = true
	}
	return nil
}

// readLamports checks the lamports of all accounts: no transaction makes any, and a failed one moves only its fee.
func (e *effects) readLamports(*transactionMeta) error {
	if len(e.pre) != len(e.keys) || len(e.post) != len(e.keys) {
		return unreadable("it has not one balance for each account")
	}
	if e.fee > e.pre[0] {
		return unreadable("its fee is more than its payer had")
	}
	before, ok := sum(e.pre)
	after, also := sum(append(slices.Clone(e.post), e.fee))
	// Long ago the network took rent from accounts that were loaded, so that less than everything may be left.
	if !ok || !also || after > before {
		return unreadable("its balances do not add up")
	}
	if e.failure == "" {
		return nil
	}
	// A transaction that failed is rolled back as a whole. The payer, at position 0, still pays the fee.
	for i := range e.pre {
		want := e.pre[i]
		if i == 0 {
			want -= e.fee
		}
		if e.post[i] != want {
			return unreadable("it failed, and moved more than its fee")
		}
	}
	return nil
}

// sum adds up; false if the result does not fit.
func sum(all []uint64) (total uint64, ok bool) {
	for _, n := range all {
		var carry uint64
		if total, carry = bits.Add64(total, n, 0); carry > 0 {
			return 0, false
		}
	}
	return total, true
}

// readTokens reads the token accounts before and after.
func (e *effects) readTokens(meta *transactionMeta) error {
	pre, err := e.tokenBalances(meta.PreTokens, e.pre)
	if err != nil {
		return err
	}
	post, err := e.tokenBalances(meta.PostTokens, e.post)
	if err != nil {
		return err
	}
	if !sameTokens(pre, post) {
		return unreadable("one of its tokens has two numbers of decimals")
	}
	e.tokens = make(map[byte]tokenAt, len(post))
	for _, side := range []map[byte]*heldTokens{pre, post} {
		// The sum over all accounts of a mint fits into 64 bits, as its supply does. Later sums then need no check.
		total := map[wallet.Address]uint64{}
		for at, held := range side {
			var carry uint64
			if total[held.token.Mint], carry = bits.Add64(total[held.token.Mint], held.units, 0); carry > 0 {
				return unreadable("it shows more units of a token than there can be")
			}
			e.tokens[at] = tokenAt{pre[at], post[at]}
		}
	}
	if e.failure == "" {
		return nil
	}
	for _, t := range e.tokens {
		if t.pre == nil || t.post == nil || *t.pre != *t.post {
			return unreadable("it failed, and moved tokens")
		}
	}
	return nil
}

// sameTokens reports whether each mint has one program and one number of decimals in every account. A mint of Token-2022 without supply can
// be closed and made again with other decimals in one transaction. Its accounts held nothing before, and are shown with what it is now.
func sameTokens(pre, post map[byte]*heldTokens) bool {
	before, after := map[wallet.Address]wallet.Token{}, map[wallet.Address]wallet.Token{}
	one := func(mints map[wallet.Address]wallet.Token, side map[byte]*heldTokens) bool {
		for _, held := range side {
			if known, ok := mints[held.token.Mint]; ok && known != held.token {
				return false
			}
			mints[held.token.Mint] = held.token
		}
		return true
	}
	if !one(before, pre) || !one(after, post) {
		return false
	}
	for _, held := range pre {
		if now, ok := after[held.token.Mint]; ok && now != held.token {
			if held.units > 0 {
				return false
			}
			held.token = now
		}
	}
	return true
}

// tokenBalances reads one of the two lists; null and missing are none.
func (e *effects) tokenBalances(raw json.RawMessage, lamports []uint64) (map[byte]*heldTokens, error) {
	var list []tokenBalanceEntry
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		return nil, unreadable("its token balances make no sense")
	}
	out := make(map[byte]*heldTokens, min(len(list), maxAccounts))
	for _, entry := range list {
		at, held, err := e.tokenBalance(entry)
		if err != nil {
			return nil, err
		}
		if out[at] != nil {
			return nil, unreadable("one of its token accounts is listed twice")
		}
		if held.token.Mint == wallet.WrappedSOL && held.units > lamports[at] {
			return nil, unreadable("one of its token accounts wraps more SOL than it holds")
		}
		out[at] = held
	}
	return out, nil
}

// tokenBalance reads one entry.
func (e *effects) tokenBalance(entry tokenBalanceEntry) (byte, *heldTokens, error) {
	if entry.Index == nil || *entry.Index < 0 || *entry.Index >= len(e.keys) {
		return 0, nil, unreadable("one of its token balances is of no account")
	}
	if entry.Amount == nil || entry.Amount.Decimals == nil {
		return 0, nil, unreadable("one of its token balances has no amount")
	}
	units, err := strconv.ParseUint(entry.Amount.Amount, 10, 64)
	if err != nil {
		return 0, nil, unreadable("one of its token balances has an impossible amount")
	}
	mint, err := wallet.ParseAddress(entry.Mint)
	if err != nil || mint.IsZero() {
		return 0, nil, unreadable("one of its token balances is of no token")
	}
	held := &heldTokens{token: wallet.Token{Mint: mint, Decimals: *entry.Amount.Decimals, Program: wallet.TokenProgram}, units: units}
	if entry.Program != nil { // before Token-2022, nodes did not say
		if held.token.Program, err = wallet.ParseAddress(*entry.Program); err != nil || !isTokenProgram(held.token.Program) {
			return 0, nil, unreadable("one of its token balances is of no token program")
		}
	}
	if entry.Owner != nil {
		if held.owner, err = wallet.ParseAddress(*entry.Owner); err != nil {
			return 0, nil, unreadable("one of its token accounts has an impossible owner")
		}
	}
	return byte(*entry.Index), held, nil
}

// readInstructions lists the instructions in the order in which they ran: each of the message, and behind it those that
// it called.
func (e *effects) readInstructions(meta *transactionMeta) error {
	var groups []innerEntry
	if len(meta.Inner) > 0 && json.Unmarshal(meta.Inner, &groups) != nil {
		return unreadable("the instructions that it called make no sense")
	}
	called := make(map[int][]instruction, len(groups))
	for _, g := range groups {
		if g.Index == nil || *g.Index < 0 || *g.Index >= len(e.message.instructions) || called[*g.Index] != nil {
			return unreadable("the instructions that it called belong to none of its own")
		}
		list := make([]instruction, 0, len(g.Instructions))
		for _, in := range g.Instructions {
			if in.Program == nil || *in.Program < 0 || *in.Program >= len(e.keys) {
				return unreadable("it called no program")
			}
			one := instruction{program: byte(*in.Program), accounts: make([]byte, len(in.Accounts))}
			for i, at := range in.Accounts {
				if at < 0 || at >= len(e.keys) {
					return unreadable("an instruction that it called names no account")
				}
				one.accounts[i] = byte(at)
			}
			data, ok := e.innerData(one, in.Data)
			if !ok {
				return unreadable("an instruction that it called has data in no known form")
			}
			one.data = data
			list = append(list, one)
		}
		called[*g.Index] = list
	}
	for i, in := range e.message.instructions {
		if int(in.program) >= len(e.keys) || slices.ContainsFunc(in.accounts, func(at byte) bool { return int(at) >= len(e.keys) }) {
			return unreadable("one of its instructions names no account")
		}
		e.run = append(e.run, unbatched(e.keys[in.program], in)...)
		for _, inner := range called[i] {
			e.run = append(e.run, unbatched(e.keys[inner.program], inner)...)
		}
		for len(e.from) < len(e.run) {
			e.from = append(e.from, i)
		}
	}
	return nil
}

// innerData decodes the data of a called instruction, if its program is one that is read here. Decoding base58 takes
// the square of its length, so what is longer than any such instruction is left out.
func (e *effects) innerData(in instruction, text string) ([]byte, bool) {
	program := e.keys[in.program]
	if text == "" || len(text) > longestReadDataChars ||
		program != wallet.SystemProgram && program != wallet.StakeProgram && !isTokenProgram(program) {
		return nil, true
	}
	data, err := base58.Decode(text)
	return data, err == nil
}

// checkDecimals compares the decimals of balances with those that successful instructions name, which the token programs
// have compared with the mint.
func (e *effects) checkDecimals(*transactionMeta) error {
	if e.failure != "" {
		return nil
	}
	shown := map[wallet.Address]uint8{}
	for _, t := range e.tokens {
		for _, held := range []*heldTokens{t.pre, t.post} {
			if held != nil {
				shown[held.token.Mint] = held.token.Decimals
			}
		}
	}
	for _, in := range e.run {
		m, ok := movementOf(e.keys[in.program], len(in.accounts), in.data)
		if !ok || !m.checked {
			continue
		}
		if decimals, known := shown[e.keys[in.accounts[m.mint]]]; known && decimals != m.decimals {
			return unreadable("its balances have other decimals than its instructions")
		}
	}
	return nil
}
