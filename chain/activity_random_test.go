package chain

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/mr-tron/base58"

	"purser/wallet"
)

// play is a landed transaction that somebody made up, from a script of bytes: its instructions say one thing, its balances
// another. What is drawn beyond the script is zero.
type play struct {
	script  []byte
	version string
	keys    []wallet.Address // static ones
	loaded  []wallet.Address // of a lookup table
	list    []instruction
	inner   map[int][]instruction
	fee     uint64
	pre     []uint64
	post    []uint64
	before  map[int]playHeld // token accounts, by position
	after   map[int]playHeld
	failed  bool
}

// playHeld is what a token account holds.
type playHeld struct {
	mint, owner, program wallet.Address
	units                uint64
}

// draw is the next byte of the script, below n.
func (p *play) draw(n int) int {
	if len(p.script) == 0 {
		return 0
	}
	b := p.script[0]
	p.script = p.script[1:]
	return int(b) % n
}

// amount is a number that is small, middling or huge.
func (p *play) amount() uint64 {
	n := uint64(p.draw(256)) + 1
	switch p.draw(8) {
	case 0:
		return 0
	case 1:
		return n << 56
	case 2, 3:
		return n * 1_000_000
	}
	return n
}

// actors are the accounts of a play: the payer, others, programs, mints, and token accounts.
func actors() (out []wallet.Address) {
	for n := range byte(4) {
		out = append(out, testKey(n+1).address())
	}
	out = append(out, wallet.SystemProgram, wallet.TokenProgram, wallet.Token2022Program, wallet.AssociatedProgram, memoProgram, wallet.StakeProgram, testKey(70).address(),
		wallet.WrappedSOL, testKey(71).address(), testKey(72).address())
	for n := range byte(2) {
		for _, mint := range []wallet.Address{wallet.WrappedSOL, testKey(71).address()} {
			out = append(out, ata(testKey(n+1).address(), mint, wallet.TokenProgram))
		}
		out = append(out, ata(testKey(n+1).address(), testKey(72).address(), wallet.Token2022Program))
	}
	return append(out, testKey(73).address(), testKey(74).address())
}

// invent makes a play of a script.
func invent(script []byte) *play {
	p := &play{script: script, inner: map[int][]instruction{}, before: map[int]playHeld{}, after: map[int]playHeld{}}
	p.version = []string{"legacy", "v0", "v1"}[p.draw(3)]
	all := actors()
	p.keys = all
	if p.version == "v0" {
		cut := len(all) - 1 - p.draw(8)
		p.keys, p.loaded = all[:cut], all[cut:]
	}
	for i := range 1 + p.draw(6) {
		p.list = append(p.list, p.instruct(len(all)))
		for range p.draw(4) {
			p.inner[i] = append(p.inner[i], p.instruct(len(all)))
		}
	}
	p.balances(all)
	return p
}

// instruct is an instruction of a known program mostly, with accounts of any kind.
func (p *play) instruct(accounts int) instruction {
	in := instruction{program: byte(4 + p.draw(7))}
	for range p.draw(6) {
		in.accounts = append(in.accounts, byte(p.draw(accounts)))
	}
	amount := p.amount()
	switch p.draw(12) {
	case 0:
		in.data = append([]byte{systemTransfer, 0, 0, 0}, u64(amount)...)
	case 1:
		in.data = append([]byte{tokenTransfer}, u64(amount)...)
	case 2:
		in.data = append(append([]byte{transferChecked}, u64(amount)...), 6)
	case 3:
		in.data = []byte{tokenClose}
	case 4:
		in.data = append([]byte{tokenMintTo}, u64(amount)...)
	case 5:
		in.data = append([]byte{tokenBurn}, u64(amount)...)
	case 6:
		owner := testKey(byte(1 + p.draw(4))).address()
		in.data = append([]byte{tokenInitialize3}, owner[:]...)
	case 7:
		in.data = slices.Concat([]byte{systemCreate, 0, 0, 0}, u64(amount), u64(tokenSize), wallet.TokenProgram[:])
	case 8:
		owner := testKey(byte(1 + p.draw(4))).address()
		in.data = append([]byte{6, 2, 1}, owner[:]...)
	case 9:
		in.data = append([]byte{tokenBatch, 4, 9, tokenTransfer}, u64(amount)...)
	case 10:
		in.data = append([]byte{tokenFees, tokenFeesTransfer}, append(append(u64(amount), 6), u64(amount/100)...)...)
	default:
		for range p.draw(30) {
			in.data = append(in.data, byte(p.draw(256)))
		}
	}
	return in
}

// balances are those before, and those after some amounts moved, whatever the instructions say.
func (p *play) balances(all []wallet.Address) {
	const rent = 2_039_280
	p.pre = make([]uint64, len(all))
	for i := range p.pre {
		p.pre[i] = rent + p.amount()%(1<<40)
	}
	mints := []playHeld{{mint: wallet.WrappedSOL, program: wallet.TokenProgram}, {mint: testKey(71).address(), program: wallet.TokenProgram}, {mint: testKey(72).address(), program: wallet.Token2022Program}}
	for i := len(all) - 8; i < len(all); i++ {
		held := mints[i%3]
		held.owner = testKey(byte(1 + p.draw(4))).address()
		if p.draw(3) > 0 {
			held.units = min(p.amount(), p.pre[i])
			p.before[i] = held
		}
		if p.draw(3) > 0 {
			if p.draw(4) == 0 {
				held.owner = testKey(byte(1 + p.draw(4))).address()
			}
			p.after[i] = held
		}
	}
	p.post = slices.Clone(p.pre)
	p.fee = 5000
	p.post[0] -= p.fee
	if p.failed = p.draw(8) == 1; p.failed {
		p.after = p.before
		return
	}
	for range p.draw(6) {
		from, to := p.draw(len(all)), p.draw(len(all))
		units := min(p.amount(), p.post[from])
		p.post[from] -= units
		p.post[to] += units
	}
	for range p.draw(6) {
		i := len(all) - 8 + p.draw(8)
		if held, ok := p.after[i]; ok {
			held.units = p.amount() % (1 << 60)
			if held.mint == wallet.WrappedSOL {
				held.units = min(held.units, p.post[i])
			}
			p.after[i] = held
		}
	}
	for i, held := range p.after {
		before, had := p.before[i]
		switch change := int64(p.post[i]) - int64(p.pre[i]); {
		case held.mint != wallet.WrappedSOL:
			continue
		case had && before.owner == held.owner: // its lamports and its units change together
			held.units = uint64(min(max(0, int64(before.units)+change), int64(p.post[i])))
		default:
			held.units = min(held.units, p.post[i])
		}
		p.after[i] = held
	}
}

// wire is the signed transaction.
func (p *play) wire() ([]byte, wallet.Signature) {
	const readonly = 0
	short := func(n int) []byte { // compact-u16
		if n < 0x80 {
			return []byte{byte(n)}
		}
		return []byte{byte(n&0x7f | 0x80), byte(n >> 7)}
	}
	var m []byte
	header := []byte{1, 0, readonly}
	hash := make([]byte, 32)
	switch p.version {
	case "v1":
		m = slices.Concat([]byte{wallet.MessageV1Prefix}, header, []byte{0, 0, 0, 0}, hash, []byte{byte(len(p.list)), byte(len(p.keys))})
		for _, key := range p.keys {
			m = append(m, key[:]...)
		}
		for _, in := range p.list {
			m = binary.LittleEndian.AppendUint16(append(m, in.program, byte(len(in.accounts))), uint16(len(in.data)))
		}
		for _, in := range p.list {
			m = append(append(m, in.accounts...), in.data...)
		}
	default:
		if p.version == "v0" {
			m = []byte{0x80}
		}
		m = append(append(m, header...), short(len(p.keys))...)
		for _, key := range p.keys {
			m = append(m, key[:]...)
		}
		m = append(append(m, hash...), short(len(p.list))...)
		for _, in := range p.list {
			m = slices.Concat(m, []byte{in.program}, short(len(in.accounts)), in.accounts, short(len(in.data)), in.data)
		}
		if p.version == "v0" {
			table := testKey(50).address()
			m = slices.Concat(m, []byte{1}, table[:], []byte{byte(len(p.loaded))})
			for i := range p.loaded {
				m = append(m, byte(i))
			}
			m = append(m, 0)
		}
	}
	sig := testKey(1).sign(m)
	if p.version == "v1" {
		return append(m, sig[:]...), sig
	}
	return slices.Concat([]byte{1}, sig[:], m), sig
}

// answer is what a node says of it.
func (p *play) answer() (wallet.Signature, []byte) {
	type object = map[string]any
	wire, sig := p.wire()
	side := func(held map[int]playHeld) []object {
		out := []object{}
		for i, h := range held {
			decimals := 6
			if h.mint == wallet.WrappedSOL {
				decimals = 9
			}
			out = append(out, object{"accountIndex": i, "mint": h.mint.String(), "owner": h.owner.String(), "programId": h.program.String(),
				"uiTokenAmount": object{"amount": fmt.Sprint(h.units), "decimals": decimals}})
		}
		return out
	}
	inner := []object{}
	for i, list := range p.inner {
		var shown []object
		for _, in := range list {
			accounts := make([]int, len(in.accounts))
			for n, at := range in.accounts {
				accounts[n] = int(at)
			}
			shown = append(shown, object{"programIdIndex": in.program, "accounts": accounts, "data": base58.Encode(in.data)})
		}
		inner = append(inner, object{"index": i, "instructions": shown})
	}
	loaded := addresses(p.loaded)
	if loaded == nil {
		loaded = []string{}
	}
	meta := object{"fee": p.fee, "err": nil, "preBalances": p.pre, "postBalances": p.post, "preTokenBalances": side(p.before), "postTokenBalances": side(p.after),
		"innerInstructions": inner, "loadedAddresses": object{"writable": loaded, "readonly": []string{}}}
	if p.failed {
		meta["err"] = object{"InstructionError": []any{0, object{"Custom": 1}}}
	}
	raw, err := json.Marshal(object{"slot": 80, "blockTime": 1_800_000_000, "transaction": []string{base64.StdEncoding.EncodeToString(wire), "base64"}, "meta": meta})
	if err != nil {
		panic(err)
	}
	return sig, raw
}

// told reads the play as the node tells it, and holds what is said of everybody to the balances. false: it cannot be read.
func (p *play) told(t *testing.T) bool {
	t.Helper()
	sig, raw := p.answer()
	tx, ok := readTransaction(raw)
	if !ok || tx == nil {
		t.Fatalf("an answer that is no transaction: %s", raw)
	}
	e, err := tx.effects(sig)
	var why unreadable
	switch {
	case errors.As(err, &why):
		return false
	case err != nil:
		t.Fatalf("%v: %s", err, raw)
	}
	owners := append(actors(), testKey(99).address())
	for i, a := range e.activities(owners) {
		if fault := p.misleads(owners[i], a); fault != "" {
			t.Fatalf("%s: %s\n%+v\n%s", owners[i], fault, a, raw)
		}
	}
	return true
}

// misleads says what an activity claims that the balances do not show; "": nothing.
func (p *play) misleads(owner wallet.Address, a wallet.Activity) string {
	all := slices.Concat(p.keys, p.loaded)
	if p.failed {
		if a.Kind != wallet.ActivityOther || len(a.Net) > 0 || len(a.Movements) > 0 || a.Failure == "" {
			return "it failed, and moved something"
		}
		return ""
	}
	tokens := map[wallet.Address]int64{}
	most, least, own := int64(a.OwnFee(owner)), int64(0), false
	for i, key := range all {
		b, had := p.before[i]
		after, has := p.after[i]
		isToken := had || has
		had, has = had && b.owner == owner, has && after.owner == owner
		if had {
			tokens[b.mint] -= int64(b.units)
		}
		if has {
			tokens[after.mint] += int64(after.units)
		}
		if had || has {
			own = true
		}
		change := int64(p.post[i]) - int64(p.pre[i])
		switch {
		case has && !had: // what was at the address before came with it
			most += int64(p.post[i])
		case has || key == owner && !isToken:
			most, least = most+max(0, change), least+min(0, change)
		}
	}
	native := int64(0) // SOL, and wrapped SOL, which is a part of the lamports
	for _, n := range a.Net {
		units := int64(n.Units)
		if n.Lost {
			units = -units
		}
		if n.Token.Native() || n.Token.Mint == wallet.WrappedSOL {
			native += units
		}
		switch {
		case n.Units == 0:
			return "a change of nothing"
		case !n.Token.Native():
			if units != tokens[n.Token.Mint] {
				return fmt.Sprintf("%d units of %s, and the balances show %d", units, n.Token.Mint, tokens[n.Token.Mint])
			}
			delete(tokens, n.Token.Mint)
		case !own && units != most+least:
			return fmt.Sprintf("%d lamports, and the balances show %d", units, most+least)
		}
	}
	if native > most {
		return fmt.Sprintf("%d lamports came, and the balances show %d", native, most)
	}
	for mint, units := range tokens {
		if units != 0 {
			return fmt.Sprintf("%d units of %s are not told", units, mint)
		}
	}
	return p.tells(a)
}

// tells says what is wrong with the movements, the memo and the kind.
func (p *play) tells(a wallet.Activity) string {
	gained := false
	for _, n := range a.Net {
		gained = gained || !n.Lost
	}
	zero := false
	sums := map[wallet.Address]int64{}
	for _, m := range a.Movements {
		if m.Signed && m.With != p.keys[0] {
			return "somebody signed who did not"
		}
		zero = zero || m.In && m.Units == 0
		switch {
		case m.Token.Native() || m.Token.Mint == wallet.WrappedSOL:
		case m.In:
			sums[m.Token.Mint] += int64(m.Units) - int64(m.Fee)
		default:
			sums[m.Token.Mint] -= int64(m.Units)
		}
	}
	for _, n := range a.Net {
		if n.Token.Native() || n.Token.Mint == wallet.WrappedSOL || !n.Explained {
			continue
		}
		if units := int64(n.Units); sums[n.Token.Mint] != units && sums[n.Token.Mint] != -units {
			return "movements that do not add up to what they explain"
		}
		delete(sums, n.Token.Mint)
	}
	for _, units := range sums {
		if units != 0 {
			return "movements of a token whose balance shows nothing"
		}
	}
	rent := slices.ContainsFunc(a.Movements, func(m wallet.Movement) bool { return m.In })
	switch {
	case a.Kind == wallet.ActivityReceived && !gained && !zero && !rent:
		return "nothing was received"
	case !utf8.ValidString(a.Memo):
		return "a memo that is no text"
	case len(a.Mentions) != len(p.keys)+len(p.loaded):
		return "not all accounts are named"
	}
	return ""
}

// TestNoInventedTransactionMisleads: transactions whose instructions and balances have nothing to do with each other are read
// or refused, and nobody is said to have got what the balances do not show.
func TestNoInventedTransactionMisleads(t *testing.T) {
	most := rounds(2000)
	random := rand.New(rand.NewPCG(14, 2))
	read := 0
	for range most {
		script := make([]byte, random.IntN(300))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		if invent(script).told(t) {
			read++
		}
	}
	if read < most/4 {
		t.Errorf("only %d of %d can be read", read, most)
	}
}

// FuzzInventedTransaction is TestNoInventedTransactionMisleads with the fuzzer's scripts.
func FuzzInventedTransaction(f *testing.F) {
	for n := range byte(8) {
		script := make([]byte, 200)
		for i := range script {
			script[i] = n * byte(i+1)
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) { invent(script).told(t) })
}

// rounds is how often a random test tries: a tenth with -short, as under the race detector.
func rounds(full int) int {
	if testing.Short() {
		return full / 10
	}
	return full
}
