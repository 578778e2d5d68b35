package solana

import (
	"math"
	"strings"
)

// v1Cases are transactions of version 1 (SIMD-0385). alice has 10 SOL, bob 1 SOL.
func v1Cases(blockhash hash) []agreementCase {
	alice, bob := addressOf("alice"), addressOf("bob")
	var cases []agreementCase
	add := func(name, want string, d draft) *agreementCase {
		d.payer, d.blockhash = "alice", blockhash
		if d.config == nil {
			d.config = v1Budget(200_000)
		}
		cases = append(cases, agreementCase{name: "v1: " + name, want: want, wires: [][]byte{d.bytes()},
			accounts: map[address]account{alice: {Lamports: 10 * sol}, bob: {Lamports: sol}}})
		return &cases[len(cases)-1]
	}
	pay := transferTo(alice, bob, sol)
	one := []call{pay}
	number := func(n uint32) *uint32 { return &n }
	lamports := func(n uint64) *uint64 { return &n }
	config := func(change func(*messageConfig)) *messageConfig {
		c := v1Budget(200_000)
		change(c)
		return c
	}

	add("transfer", "null", draft{calls: one})
	add("transfer with a memo", "null", draft{calls: []call{pay, memoCall(memoV3, "invoice 17", meta{alice, "s"})}})
	add("two signers", "null", draft{signers: []string{"bob"}, calls: []call{pay, transferTo(bob, alice, 5)}})
	add("no instructions", "null", draft{})
	add("priority fee in lamports", "null", draft{calls: one, config: config(func(c *messageConfig) { c.PriorityFee = lamports(12_345) })})
	add("priority fee of nothing", "null", draft{calls: one, config: config(func(c *messageConfig) { c.PriorityFee = lamports(0) })})
	add("priority fee of more than held", quoted("InsufficientFundsForFee"),
		draft{calls: one, config: config(func(c *messageConfig) { c.PriorityFee = lamports(10 * sol) })})
	add("largest priority fee", quoted("InsufficientFundsForFee"),
		draft{calls: one, config: config(func(c *messageConfig) { c.PriorityFee = lamports(math.MaxUint64) })})
	add("nothing asked for", quoted("MaxLoadedAccountsDataSizeExceeded"), draft{calls: one, config: &messageConfig{}}).free = true
	add("no unit limit", instr(0, "ComputationalBudgetExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.Units = nil })})
	add("unit limit of 0", instr(0, "ComputationalBudgetExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.Units = number(0) })})
	add("no unit limit, no instructions", "null", draft{config: config(func(c *messageConfig) { c.Units = nil })})
	add("just enough units", "null", draft{calls: one, config: config(func(c *messageConfig) { c.Units = number(150) })})
	add("one unit short", instr(0, "ComputationalBudgetExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.Units = number(149) })})
	add("largest unit limit", "null", draft{calls: one, config: config(func(c *messageConfig) { c.Units = number(math.MaxUint32) })})
	add("no data limit", quoted("MaxLoadedAccountsDataSizeExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.LoadedData = nil })}).free = true
	add("data limit of 0", quoted("MaxLoadedAccountsDataSizeExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.LoadedData = number(0) })}).free = true
	add("data limit of 10", quoted("MaxLoadedAccountsDataSizeExceeded"), draft{calls: one, config: config(func(c *messageConfig) { c.LoadedData = number(10) })}).free = true
	add("largest data limit", "null", draft{calls: one, config: config(func(c *messageConfig) { c.LoadedData = number(math.MaxUint32) })})
	add("heap", "null", draft{calls: one, config: config(func(c *messageConfig) { c.Heap = number(64 << 10) })})
	add("heap that is no multiple", quoted("SanitizeFailure"), draft{calls: one, config: config(func(c *messageConfig) { c.Heap = number(64<<10 + 1) })})
	add("heap below the least", quoted("SanitizeFailure"), draft{calls: one, config: config(func(c *messageConfig) { c.Heap = number(31 << 10) })})
	add("heap above the most", quoted("SanitizeFailure"), draft{calls: one, config: config(func(c *messageConfig) { c.Heap = number(257 << 10) })})
	add("everything asked for", "null", draft{calls: one, config: &messageConfig{lamports(7), number(1000), number(1 << 20), number(32 << 10)}})
	add("Compute Budget instructions do nothing", "null", draft{calls: []call{unitLimit(1), unitPrice(1_000_000), pay}})
	add("Compute Budget instructions twice", "null", draft{calls: []call{unitLimit(1), unitLimit(1), pay}})
	add("Compute Budget instruction of nonsense", "null", draft{calls: []call{{budgetProgram, nil, []byte{9, 9}}, pay}})
	add("half of the priority fee's bits", quoted("undecodable"), draft{calls: one, mask: func(m uint32) uint32 { return m | 1 }})
	add("unknown bit of the mask", quoted("undecodable"), draft{calls: one, mask: func(m uint32) uint32 { return m | 32 }})
	add("signature of another", quoted("SignatureFailure"), draft{calls: one, wire: func(w []byte) []byte { w[len(w)-1] ^= 1; return w }})
	add("signature missing", quoted("undecodable"), draft{calls: one, wire: func(w []byte) []byte { return w[:len(w)-64] }})
	add("byte too many", quoted("undecodable"), draft{calls: one, wire: func(w []byte) []byte { return append(w, 0) }})
	add("account twice", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { copy(m[42+32:42+64], m[42:42+32]); return m }})
	add("no signers", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[1] = 0; return m }, wire: func(w []byte) []byte { return w[:len(w)-64] }})
	add("read-only fee payer", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[2] = 1; return m }})
	add("more read-only accounts than there are", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[3] = 9; return m }})
	add("fee payer as program", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[42+3*32+8] = 0; return m }})
	add("program beyond the accounts", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[42+3*32+8] = 3; return m }})
	add("account beyond the accounts", quoted("SanitizeFailure"), draft{calls: one, message: func(m []byte) []byte { m[42+3*32+8+4] = 3; return m }})
	long := func(n int) []call { return []call{memoCall(memoV3, strings.Repeat("x", n))} }
	// 4,096 bytes less header, two keys, two config values, instruction header and signature.
	add("largest transaction", "null", draft{calls: long(4096 - 42 - 64 - 8 - 4 - 64)})
	calls := make([]call, 64)
	for i := range calls {
		calls[i] = memoCall(memoV3, "")
	}
	add("64 instructions", "null", draft{calls: calls})
	add("65 instructions", quoted("SanitizeFailure"), draft{calls: append(calls, calls[0])})
	var many []meta
	for i := range 63 {
		many = append(many, meta{address{byte(i + 1)}, ""})
	}
	add("64 accounts", "null", draft{calls: []call{{memoV1, many[:62], []byte("x")}}})
	add("65 accounts", quoted("SanitizeFailure"), draft{calls: []call{{memoV1, many, []byte("x")}}})
	var signers []string
	var signing []meta
	for i := range 12 {
		name := string(rune('a' + i))
		signers, signing = append(signers, name), append(signing, meta{addressOf(name), "s"})
	}
	add("12 signers", "null", draft{signers: signers, calls: []call{{memoV1, signing[:11], []byte("x")}}})
	add("13 signers", quoted("SanitizeFailure"), draft{signers: signers, calls: []call{{memoV1, signing, []byte("x")}}})
	return cases
}
