package solana

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// randomTransactions is how many run in one world, each over what the ones before left behind.
const randomTransactions = 25

// TestRandomTransactionsAgreeWithLiteSVM makes worlds of wallets, mints and token accounts out of
// a seed, and runs random transactions over them, most of them nearly right, here and in LiteSVM:
// equal errors, logs, balances and data. A failure prints the seed of its world; AGREEMENT_SEED
// runs that world alone.
func TestRandomTransactionsAgreeWithLiteSVM(t *testing.T) {
	lite := startLiteSVM(t)
	first, worlds := uint64(1), 400
	if testing.Short() {
		worlds = 12
	}
	if text := os.Getenv("AGREEMENT_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, worlds = seed, 1
	}
	ended := map[string]int{}
	total := 0
	for seed := first; seed < first+uint64(worlds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newRandomWorld(seed)
			c := agreementCase{accounts: w.accounts, anyUnits: true}
			for range randomTransactions {
				c.wires = append(c.wires, w.transaction(lite.blockhash))
			}
			for _, out := range compare(t, lite, c) {
				total++
				ended[shown(t, out.Err)]++
			}
		})
	}
	t.Logf("%d transactions, %d succeeded, %d kinds of failure", total, ended["null"], len(ended)-1)
	if os.Getenv("AGREEMENT_SEED") == "" && (total < 300 || ended["null"]*10 < total*2 || len(ended) < 15) {
		t.Errorf("the generator has grown one-sided: %d transactions ended as %v", total, ended)
	}
}

// randomWorld is what the generator knows: who there is and what belongs together.
type randomWorld struct {
	*rand.Rand
	accounts accounts
	people   []string
	mints    []randomMint
	holdings []randomHolding
	spare    []address // accounts of some size that nobody has initialized
	table    address
}

type randomMint struct {
	key, program address
	decimals     byte
}

type randomHolding struct {
	key   address
	mint  randomMint
	owner string
}

func newRandomWorld(seed uint64) *randomWorld {
	w := &randomWorld{Rand: rand.New(rand.NewPCG(seed, 7)), accounts: accounts{}, people: []string{"alice", "bob", "carol", "mallory"}}
	for _, name := range w.people {
		w.accounts[addressOf(name)] = account{Lamports: uint64(w.IntN(20)+1) * sol}
	}
	w.makeMints()
	for i := range 10 + w.IntN(8) {
		w.makeHolding(fmt.Sprintf("holding %d", i))
	}
	for i := range 3 {
		key := addressOf(fmt.Sprintf("spare %d", i))
		program := []address{tokenProgram, token2022Program}[w.IntN(2)]
		size := []int{mintSize, accountSize, extensionsAt + 4, extensionsAt + 13, extensionsAt + 112, extensionsAt + 36, 90}[w.IntN(7)]
		w.accounts[key] = rented(program, make([]byte, size))
		w.spare = append(w.spare, key)
	}
	var keys []address
	for _, h := range w.holdings {
		keys = append(keys, h.key)
	}
	w.table = addressOf("table")
	authority := addressOf("alice")
	w.accounts[w.table] = aTable(&authority, nil, append(keys, addressOf("bob"), addressOf("dave"))...)
	return w
}

func (w *randomWorld) person() string    { return w.people[w.IntN(len(w.people))] }
func (w *randomWorld) someone() address  { return addressOf(w.person()) }
func (w *randomWorld) chance(n int) bool { return w.IntN(n) == 0 }

func (w *randomWorld) makeMints() {
	add := func(name string, program address, list ...extension) {
		key := addressOf("mint " + name)
		authority := w.someone()
		data := mintData(&authority, byte(w.IntN(10)))
		if w.chance(4) {
			mintAccount(data).freezer().clear()
		}
		if w.chance(6) {
			mintAccount(data).minter().clear()
		}
		w.accounts[key] = rented(program, withExtensions(data, kindMint, list...))
		w.mints = append(w.mints, randomMint{key, program, data[44]})
	}
	add("plain", tokenProgram)
	add("other", tokenProgram)
	add("plain 2022", token2022Program)
	add("fee", token2022Program, feeExtension(w.someone(), w.someone(), uint16(w.IntN(10_001)), uint64(w.IntN(500)), uint64(w.IntN(9))))
	add("many", token2022Program, keyExtension(extPermanentDelegate, w.someone()), keyExtension(extMintCloseAuthority, w.someone()),
		extension{extDefaultState, []byte{byte(1 + w.IntN(2))}})
	add("bound", token2022Program, extension{extNonTransferable, nil})
	add("hooked", token2022Program, keyExtension(extTransferHook, w.someone(), []address{{}, addressOf("hook")}[w.IntN(2)]))
	for program, key := range map[address]address{tokenProgram: nativeMint, token2022Program: nativeMint2022} {
		w.accounts[key] = rented(program, mintData(nil, 9))
	}
	w.mints = append(w.mints, randomMint{nativeMint, tokenProgram, 9}, randomMint{nativeMint2022, token2022Program, 9})
}

// makeHolding gives a person some of a mint, and counts it into the supply.
func (w *randomWorld) makeHolding(name string) {
	h := randomHolding{addressOf(name), w.mints[w.IntN(len(w.mints))], w.person()}
	amount := uint64(w.IntN(3000))
	if w.chance(3) {
		amount = 0
	}
	var list []extension
	mint := w.accounts[h.mint.key]
	types, _, _ := extensionsOf(mint.Data).types()
	for _, kind := range needed(types) {
		of, _ := kindOf(kind)
		list = append(list, extension{kind, make([]byte, of.size)})
		if kind == extTransferFeeAmount {
			putU64(list[len(list)-1].value, 0, uint64(w.IntN(20)))
		}
	}
	if h.mint.program == token2022Program && w.chance(3) {
		list = append(list, extension{extMemoTransfer, []byte{byte(w.IntN(2))}})
	}
	if h.mint.program == token2022Program && w.chance(4) {
		list = append(list, extension{extCPIGuard, []byte{byte(w.IntN(2))}})
	}
	owner := addressOf(h.owner)
	a := aHolding(h.mint.program, h.mint.key, owner, amount, list...)
	if h.mint.key == nativeMint || h.mint.key == nativeMint2022 {
		a = aWrapped(h.mint.program, h.mint.key, owner, amount*1_000_000, list...)
	} else {
		mintAccount(mint.Data).setSupply(mintAccount(mint.Data).supply() + amount)
	}
	if w.chance(4) {
		delegated(w.someone(), uint64(w.IntN(2000)))(tokenAccount(a.Data))
	}
	if w.chance(10) {
		frozenState(tokenAccount(a.Data))
	}
	if w.chance(8) {
		tokenAccount(a.Data).closer().set(w.someone())
	}
	w.accounts[h.key] = a
	w.holdings = append(w.holdings, h)
}

// transaction is one to three instructions, sometimes behind a memo, sometimes with an account out
// of a lookup table.
func (w *randomWorld) transaction(blockhash hash) []byte {
	d := draft{payer: w.person(), blockhash: blockhash, signers: append([]string{"spare 0", "spare 1", "spare 2"}, w.people...)}
	for range 1 + w.IntN(2) {
		if w.chance(4) {
			d.calls = append(d.calls, memoCall([]address{memoV1, memoV3}[w.IntN(2)], strconv.Itoa(w.IntN(1_000_000))))
		}
		d.calls = append(d.calls, w.call())
	}
	if w.chance(5) {
		d.calls = append([]call{unitPrice(uint64(w.IntN(100_000)))}, d.calls...)
	}
	if w.chance(10) {
		d.versioned = true
		d.lookups = join([]byte{1}, w.table[:], []byte{1, byte(w.IntN(12))}, []byte{1, byte(w.IntN(12))})
	}
	if w.chance(4) { // version 1 instead, sometimes with too little room for its accounts
		d.lookups, d.config = nil, v1Budget(uint32(100_000+w.IntN(400_000)))
		if w.chance(3) {
			d.config.PriorityFee = new(uint64(w.IntN(1_000_000)))
		}
		if w.chance(12) {
			d.config.LoadedData = new(uint32(1_000_000 + w.IntN(1_000_000)))
		}
		return d.bytes()
	}
	if w.chance(80) {
		d.wire = func(b []byte) []byte { b[1+w.IntN(64)] ^= 1; return b }
	}
	return d.bytes()
}

// amount is one that might be right for the account.
func (w *randomWorld) amount(h randomHolding) uint64 {
	held := tokenAccount(w.accounts[h.key].Data).amount()
	switch w.IntN(8) {
	case 0:
		return held
	case 1:
		return held + 1
	case 2:
		return 0
	case 3:
		return math.MaxUint64 - uint64(w.IntN(3))
	}
	return uint64(w.IntN(int(held/4) + 2))
}

// partner is another account of the same mint, or any, or something that is no account.
func (w *randomWorld) partner(h randomHolding) address {
	if w.chance(12) {
		return w.anything()
	}
	var same []address
	for _, o := range w.holdings {
		if o.mint.key == h.mint.key {
			same = append(same, o.key)
		}
	}
	return same[w.IntN(len(same))]
}

func (w *randomWorld) anything() address {
	switch w.IntN(5) {
	case 0:
		return w.someone()
	case 1:
		return w.mints[w.IntN(len(w.mints))].key
	case 2:
		return w.spare[w.IntN(len(w.spare))]
	case 3:
		return addressOf("dave") // who has nothing
	}
	return w.holdings[w.IntN(len(w.holdings))].key
}

// by is mostly the right one.
func (w *randomWorld) by(right address) address {
	if w.chance(7) {
		return w.someone()
	}
	return right
}

func (w *randomWorld) minter(m randomMint) address {
	return mintAccount(w.accounts[m.key].Data).minter().key()
}
func (w *randomWorld) freezer(m randomMint) address {
	return mintAccount(w.accounts[m.key].Data).freezer().key()
}

// signer is a person of that address, as nobody can sign for others.
func (w *randomWorld) signer(k address) meta {
	for _, name := range w.people {
		if addressOf(name) == k {
			if w.chance(20) {
				return meta{k, ""}
			}
			return meta{k, "s"}
		}
	}
	return meta{k, ""}
}

func (w *randomWorld) writes(k address) meta {
	if w.chance(25) {
		return meta{k, ""}
	}
	return meta{k, "w"}
}

func (w *randomWorld) call() call {
	h := w.holdings[w.IntN(len(w.holdings))]
	m, p, owner := h.mint, h.mint.program, addressOf(h.owner)
	if w.chance(20) {
		p = otherProgram(p)
	}
	if w.chance(15) {
		m = w.mints[w.IntN(len(w.mints))]
	}
	decimals := m.decimals
	if w.chance(15) {
		decimals++
	}
	amount := w.amount(h)
	spender := owner
	if d := tokenAccount(w.accounts[h.key].Data).delegate(); d.some() && w.chance(3) {
		spender = d.key()
	}
	if value, ok := extensionsOf(w.accounts[m.key].Data).find(extPermanentDelegate); ok && w.chance(3) {
		spender = keyAt(value, 0)
	}
	by := w.signer(w.by(spender))
	from, to := w.writes(h.key), w.writes(w.partner(h))
	var c call
	switch w.IntN(24) {
	case 0, 1:
		c = tokenCall(p, pack(byte(3), amount), from, to, by)
	case 2, 3, 4, 5:
		c = tokenCall(p, pack(byte(12), amount, decimals), from, r(m.key), to, by)
	case 6:
		c = tokenCall(p, pack(byte(4), amount), from, r(w.someone()), w.signer(w.by(owner)))
	case 7:
		c = tokenCall(p, pack(byte(13), amount, decimals), from, r(m.key), r(w.someone()), w.signer(w.by(owner)))
	case 8:
		c = tokenCall(p, []byte{5}, from, by)
	case 9:
		c = tokenCall(p, pack(byte(7), amount), w.writes(m.key), to, w.signer(w.by(w.minter(m))))
	case 10:
		c = tokenCall(p, pack(byte(14), amount, decimals), w.writes(m.key), to, w.signer(w.by(w.minter(m))))
	case 11:
		c = tokenCall(p, pack(byte(8), amount), from, w.writes(m.key), by)
	case 12:
		c = tokenCall(p, pack(byte(15), amount, decimals), from, w.writes(m.key), by)
	case 13:
		c = tokenCall(p, []byte{9}, from, w.writes(w.someone()), w.signer(w.by(owner)))
	case 14:
		c = tokenCall(p, []byte{byte(10 + w.IntN(2))}, from, r(m.key), w.signer(w.by(w.freezer(m))))
	case 15:
		c = w.authority(p, h, m, owner)
	case 16:
		c = createATA([][]byte{nil, {0}, {1}, {1}}[w.IntN(4)], w.someone(), w.someone(), m.key, p)
	case 17:
		c = tokenCall(p, []byte{17}, from)
	case 18:
		c = transferTo(w.someone(), w.anything(), uint64(w.IntN(2_000_000_000)))
	case 19, 20:
		c = w.fees(p, h, m, by, amount, decimals)
	case 21:
		c = w.initialize(p, m)
	case 22:
		c = w.extension(p, h, m, owner)
	case 23:
		c = tokenCall(p, [][]byte{{21}, {21, 7, 0}, {21, 1, 0}, pack(byte(23), amount), append([]byte{24}, decimal(amount, decimals)...)}[w.IntN(5)], r(m.key))
	}
	if w.chance(20) {
		c.metas = c.metas[:w.IntN(len(c.metas)+1)]
	}
	if w.chance(30) && len(c.data) > 0 {
		c.data = c.data[:len(c.data)-1]
	}
	if w.chance(60) {
		c.data = append(c.data[:len(c.data):len(c.data)], byte(w.IntN(256)))
	}
	return c
}

// authority changes one, or gives it up.
func (w *randomWorld) authority(p address, h randomHolding, m randomMint, owner address) call {
	next := []byte{0}
	if !w.chance(3) {
		k := w.someone()
		next = append([]byte{1}, k[:]...)
	}
	if w.chance(2) {
		return tokenCall(p, join([]byte{6, byte(w.IntN(5))}, next), w.writes(h.key), w.signer(w.by(owner)))
	}
	kind := byte(w.IntN(14))
	right := w.minter(m)
	if place, ok := authorityTypes[kind]; ok {
		if value, ok := extensionsOf(w.accounts[m.key].Data).find(place.extension); ok {
			right = keyAt(value, place.at)
		}
	}
	return tokenCall(p, join([]byte{6, kind}, next), w.writes(m.key), w.signer(w.by(right)))
}

func (w *randomWorld) fees(p address, h randomHolding, m randomMint, by meta, amount uint64, decimals byte) call {
	right := w.someone()
	fee := uint64(w.IntN(30))
	if value, ok := extensionsOf(w.accounts[m.key].Data).find(extTransferFeeConfig); ok {
		right = keyAt(value, 32*w.IntN(2))
		if !w.chance(4) {
			fee, _ = epochFee(value, 2, amount)
		}
	}
	switch w.IntN(5) {
	case 0:
		return tokenCall(p, pack(byte(26), byte(1), amount, decimals, fee), w.writes(h.key), r(m.key), w.writes(w.partner(h)), by)
	case 1:
		return tokenCall(p, []byte{26, 2}, w.writes(m.key), w.writes(h.key), w.signer(w.by(right)))
	case 2:
		return tokenCall(p, []byte{26, 3, byte(w.IntN(3))}, r(m.key), w.writes(h.key), w.signer(w.by(right)), w.writes(w.partner(h)), w.writes(w.anything()))
	case 3:
		return tokenCall(p, []byte{26, 4}, w.writes(m.key), w.writes(h.key), w.writes(w.partner(h)))
	}
	return tokenCall(p, join([]byte{26, 5}, u16(uint16(w.IntN(10_100))), pack(uint64(w.IntN(900)))), w.writes(m.key), w.signer(w.by(right)))
}

func (w *randomWorld) initialize(p address, m randomMint) call {
	key := w.spare[w.IntN(len(w.spare))]
	at, k, l := w.writes(key), w.someone(), w.someone()
	switch w.IntN(9) {
	case 0:
		return tokenCall(p, append([]byte{18}, k[:]...), at, r(m.key))
	case 1:
		return tokenCall(p, []byte{1}, at, r(m.key), r(k), r(rentSysvar))
	case 2:
		return tokenCall(p, append([]byte{16}, k[:]...), at, r(m.key), r(rentSysvar))
	case 3:
		return tokenCall(p, join([]byte{20, 4}, k[:], []byte{1}, l[:]), at)
	case 4:
		return tokenCall(p, join([]byte{0, 4}, k[:], []byte{0}), at, r(rentSysvar))
	case 5:
		return tokenCall(p, []byte{22}, at)
	case 6:
		return tokenCall(p, append([]byte{25, 1}, k[:]...), at)
	case 7:
		return tokenCall(p, join([]byte{26, 0, 1}, k[:], []byte{0}, u16(40), pack(uint64(9))), at)
	}
	return tokenCall(p, append([]byte{35}, k[:]...), at)
}

func (w *randomWorld) extension(p address, h randomHolding, m randomMint, owner address) call {
	switch w.IntN(6) {
	case 0:
		return tokenCall(p, []byte{30, byte(w.IntN(2))}, w.writes(h.key), w.signer(w.by(owner)))
	case 1:
		return tokenCall(p, []byte{34, byte(w.IntN(2))}, w.writes(h.key), w.signer(w.by(owner)))
	case 2, 3:
		kind := []uint16{extMemoTransfer, extCPIGuard, extImmutableOwner, extTransferFeeConfig}[w.IntN(4)]
		return tokenCall(p, append([]byte{29}, u16(kind)...), w.writes(h.key), meta{w.someone(), "sw"}, r(systemProgram), w.signer(w.by(owner)))
	case 4:
		return tokenCall(p, []byte{28, 1, byte(w.IntN(3))}, w.writes(m.key), w.signer(w.by(w.freezer(m))))
	}
	hook := w.someone()
	return tokenCall(p, append([]byte{36, 1}, hook[:]...), w.writes(m.key), w.signer(w.by(w.minter(m))))
}
