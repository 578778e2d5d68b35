package settle_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	solanago "github.com/gagliardetto/solana-go"

	"purser/sandbox/solana"
	"purser/wallet"
)

// gain is what a transaction brings to a watched wallet.
type gain struct {
	to   wallet.Address
	mint wallet.Address // zero: SOL
}

// sentPayment is a transaction that was sent, and what comes of it if it lands.
type sentPayment struct {
	wire    []byte
	gains   map[gain]uint64
	dust    []wallet.Address // who gets something that is folded
	answers wallet.Address   // the reference of the payment request that it names
}

// payments makes transactions of every kind, and knows what each brings.
type payments struct {
	*watching
	nodes     *nodes
	dice      *rand.Rand
	payers    []ed25519.PrivateKey
	keys      map[wallet.Address]ed25519.PrivateKey // of watched wallets
	all       []wallet.Address                      // watched wallets
	funded    []wallet.Address                      // of them, those that hold SOL from the beginning
	tables    map[solanago.PublicKey]solanago.PublicKeySlice
	mints     []mintOf
	asked     []wallet.Address       // references of Bob's payment requests
	requested []wallet.TransactionID // those requests
	hash      solanago.Hash
	sent      map[wallet.Signature]sentPayment
	order     []wallet.Signature // of those, in their order
	numbers   uint64
	kinds     map[string]int // how many of each kind were sent
}

// mintOf is a token that the payers hold.
type mintOf struct {
	mint, program wallet.Address
	decimals      byte
	points        uint64 // fee in basis points, at most feeMost units
}

const feeMost = 5_000_000

func (m mintOf) arrives(units uint64) uint64 {
	return units - min((units*m.points+9_999)/10_000, feeMost)
}

func public(key ed25519.PrivateKey) solanago.PublicKey {
	return solanago.PublicKeyFromBytes(key.Public().(ed25519.PublicKey))
}

func le(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func instruct(program wallet.Address, data []byte, accounts ...*solanago.AccountMeta) solanago.Instruction {
	return solanago.NewInstruction(solanago.PublicKey(program), accounts, data)
}

func writes(a wallet.Address) *solanago.AccountMeta {
	return solanago.Meta(solanago.PublicKey(a)).WRITE()
}

func reads(a wallet.Address) *solanago.AccountMeta { return solanago.Meta(solanago.PublicKey(a)) }

func signs(key solanago.PublicKey) *solanago.AccountMeta { return solanago.Meta(key).WRITE().SIGNER() }

// pays is a transfer of SOL.
func pays(from solanago.PublicKey, to wallet.Address, lamports uint64, references ...wallet.Address) solanago.Instruction {
	accounts := []*solanago.AccountMeta{signs(from), writes(to)}
	for _, r := range references {
		accounts = append(accounts, reads(r))
	}
	return instruct(wallet.SystemProgram, append([]byte{2, 0, 0, 0}, le(lamports)...), accounts...)
}

// opens makes the associated account, if there is none: what the program calls for it are inner instructions.
func (m mintOf) opens(payer solanago.PublicKey, of wallet.Address) solanago.Instruction {
	return instruct(wallet.AssociatedProgram, []byte{1}, signs(payer), writes(m.at(of)), reads(of), reads(m.mint), reads(wallet.SystemProgram), reads(m.program))
}

func (m mintOf) at(owner wallet.Address) wallet.Address {
	return wallet.AssociatedAccount(owner, m.mint, m.program)
}

func (m mintOf) moves(from solanago.PublicKey, to wallet.Address, units uint64) solanago.Instruction {
	return instruct(m.program, append(append([]byte{12}, le(units)...), m.decimals),
		writes(m.at(wallet.Address(from))), reads(m.mint), writes(m.at(to)), solanago.Meta(from).SIGNER())
}

// send signs a transaction, numbered by a memo, and hands it to the cluster without a preflight.
func (p *payments) send(kind string, by ed25519.PrivateKey, made sentPayment, instructions ...solanago.Instruction) {
	p.Helper()
	p.numbers++
	const memo = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
	instructions = append(instructions, instruct(wallet.MustAddress(memo), fmt.Appendf(nil, "%d", p.numbers)))
	options := []solanago.TransactionOption{solanago.TransactionPayer(public(by))}
	version := p.dice.IntN(3)
	switch {
	case version == 1 && len(p.tables) > 0:
		options = append(options, solanago.TransactionAddressTables(p.tables))
		kind += " v0"
	case version == 2:
		options = append(options, solanago.TransactionV1Config(solanago.TransactionConfig{}.WithComputeUnitLimit(400_000).WithLoadedAccountsDataSizeLimit(1<<20)))
		kind += " v1"
	}
	tx, err := solanago.NewTransaction(instructions, p.hash, options...)
	p.Must(err)
	_, err = tx.Sign(func(key solanago.PublicKey) *solanago.PrivateKey {
		private := solanago.PrivateKey(by)
		if key != public(by) {
			return nil
		}
		return &private
	})
	p.Must(err)
	made.wire, err = tx.MarshalBinary()
	p.Must(err)
	p.kinds[kind]++
	p.sent[wallet.Signature(tx.Signatures[0])] = made
	p.order = append(p.order, wallet.Signature(tx.Signatures[0]))
	p.broadcast(made.wire)
}

func (p *payments) broadcast(wire []byte) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "sendTransaction",
		"params": []any{base64.StdEncoding.EncodeToString(wire), map[string]any{"encoding": "base64", "skipPreflight": true}}})
	p.Must(err)
	var answer struct{ Error any }
	if raw := p.nodes.ask(body); json.Unmarshal(raw, &answer) != nil || answer.Error != nil {
		p.Fatalf("a transaction is refused: %s", raw)
	}
}

// again sends what was sent in the last round once more: what a fork took away may land in another block.
func (p *payments) again(some []wallet.Signature) {
	for _, signature := range some {
		if p.dice.IntN(2) == 0 {
			p.broadcast(p.sent[signature].wire)
		}
	}
}

func (p *payments) any() wallet.Address { return p.all[p.dice.IntN(len(p.all))] }

func (p *payments) rich() wallet.Address { return p.funded[p.dice.IntN(len(p.funded))] }

func (p *payments) lamports() uint64 { return 1_000_000 + p.dice.Uint64N(50_000_000) }

// one sends one transaction of some kind.
func (p *payments) one() {
	p.Helper()
	by := p.payers[p.dice.IntN(len(p.payers))]
	from, to := public(by), p.any()
	m := p.mints[p.dice.IntN(len(p.mints))]
	units := 10_000 + p.dice.Uint64N(9_000_000)
	switch p.dice.IntN(12) {
	case 0, 1:
		n := p.lamports()
		p.send("SOL", by, sentPayment{gains: map[gain]uint64{{to: to}: n}}, pays(from, to, n))
	case 2: // several, somebody twice perhaps
		made := sentPayment{gains: map[gain]uint64{}}
		var list []solanago.Instruction
		for range 2 + p.dice.IntN(5) {
			n, to := p.lamports(), p.all[p.dice.IntN(min(40, len(p.all)))]
			made.gains[gain{to: to}] += n
			list = append(list, pays(from, to, n))
		}
		p.send("several", by, made, list...)
	case 3, 4:
		p.send("tokens", by, sentPayment{gains: map[gain]uint64{{to, m.mint}: m.arrives(units)}}, m.opens(from, to), m.moves(from, to, units))
	case 5: // SOL and a token
		n := p.lamports()
		p.send("SOL and tokens", by, sentPayment{gains: map[gain]uint64{{to: to}: n, {to, m.mint}: m.arrives(units)}},
			pays(from, to, n), m.opens(from, to), m.moves(from, to, units))
	case 6:
		to := p.rich()
		p.send("dust", by, sentPayment{dust: []wallet.Address{to}}, pays(from, to, 1+p.dice.Uint64N(wallet.DustLamports-1)))
	case 7: // it takes back what it brought
		n := p.lamports()
		p.send("failed", by, sentPayment{}, pays(from, to, n), pays(from, to, 1<<60))
	case 8: // of a wallet's own: to another one, and to itself
		own, n := p.rich(), p.lamports()
		if to == own {
			return
		}
		p.send("own", p.keys[own], sentPayment{gains: map[gain]uint64{{to: to}: n}}, pays(public(p.keys[own]), to, n), pays(public(p.keys[own]), own, 5))
	case 9: // an account that lives for a moment, whose deposit goes to somebody
		p.closing(by, to)
	case 10: // an account of one's own
		own := p.rich()
		p.send("opened", p.keys[own], sentPayment{}, m.opens(public(p.keys[own]), own))
	case 11:
		if len(p.asked) == 0 {
			return
		}
		// One transfer names the request, and often another one does not. Few of them pay all of it.
		bob, asked := p.bob.Address(), p.asked[p.dice.IntN(len(p.asked))]
		list, n := []solanago.Instruction{pays(from, bob, p.lamports(), asked)}, uint64(0)
		if p.dice.IntN(4) == 0 {
			list = append(list, pays(from, bob, sol))
		} else if p.dice.IntN(2) == 0 {
			list = append(list, pays(from, bob, p.lamports(), asked))
		}
		for _, in := range list {
			data, err := in.Data()
			p.Must(err)
			n += binary.LittleEndian.Uint64(data[4:])
		}
		p.send("requested", by, sentPayment{gains: map[gain]uint64{{to: bob}: n}, answers: asked}, list...)
	}
}

// closing opens a token account for wrapped SOL and closes it, and its lamports go to a wallet.
func (p *payments) closing(by ed25519.PrivateKey, to wallet.Address) {
	const rent = 3_000_000 // more than any deposit
	wrapped := mintOf{mint: wallet.MustAddress("So11111111111111111111111111111111111111112"), program: wallet.TokenProgram, decimals: 9}
	from := public(by)
	at := wrapped.at(wallet.Address(from))
	deposit, err := p.Chain.RentMinimum(context.Background(), 165)
	p.Must(err)
	p.send("closed", by, sentPayment{gains: map[gain]uint64{{to: to}: deposit + rent}},
		wrapped.opens(from, wallet.Address(from)), pays(from, at, rent),
		instruct(wallet.TokenProgram, []byte{17}, writes(at)),
		instruct(wallet.TokenProgram, []byte{9}, writes(at), writes(to), solanago.Meta(from).SIGNER()))
}

// stock gives the payers what they pay with, and some wallets what they hold.
func (p *payments) stock() {
	p.Helper()
	ctx := context.Background()
	const payers = 8
	for _, symbol := range []string{solana.USDC, solana.FEE} {
		m := mintOf{mint: wallet.MustAddress(p.Cluster.Mint(symbol)), program: wallet.TokenProgram, decimals: 6}
		if symbol == solana.FEE {
			m.program, m.points = wallet.Token2022Program, 100
		}
		p.mints = append(p.mints, m)
	}
	for range payers {
		key := p.NewKey()
		p.payers = append(p.payers, key)
		at := public(key).String()
		_, err := p.Cluster.Airdrop(ctx, at, 10_000*sol)
		p.Must(err)
		for _, symbol := range []string{solana.USDC, solana.FEE} {
			_, err = p.Cluster.AirdropToken(ctx, at, symbol, 1<<50)
			p.Must(err)
		}
	}
	for _, to := range p.funded {
		_, err := p.Cluster.Airdrop(ctx, to.String(), sol)
		p.Must(err)
	}
	p.Blocks(3)
	p.tabled()
}

// tabled makes a lookup table of some wallets, for transactions of version 0.
func (p *payments) tabled() {
	p.Helper()
	p.fresh()
	const listed = 20
	program := wallet.MustAddress("AddressLookupTab1e1111111111111111111111111")
	by := p.payers[0]
	owner := public(by)
	slot := p.nodes.finalized()
	table, bump, err := solanago.FindProgramAddress([][]byte{owner[:], le(slot)}, solanago.PublicKey(program))
	p.Must(err)
	var addresses []byte
	var list solanago.PublicKeySlice
	for _, at := range p.all[:min(listed, len(p.all))] {
		addresses = append(addresses, at[:]...)
		list = append(list, solanago.PublicKey(at))
	}
	accounts := []*solanago.AccountMeta{solanago.Meta(table).WRITE(), signs(owner), signs(owner), reads(wallet.SystemProgram)}
	p.send("table", by, sentPayment{}, instruct(program, slices.Concat([]byte{0, 0, 0, 0}, le(slot), []byte{bump}), accounts...),
		instruct(program, slices.Concat([]byte{2, 0, 0, 0}, le(uint64(len(list))), addresses), accounts...))
	p.Blocks(40)
	p.tables = map[solanago.PublicKey]solanago.PublicKeySlice{table: list}
}

// fresh takes the newest blockhash.
func (p *payments) fresh() {
	hash, err := p.Chain.Blockhash(context.Background())
	p.Must(err)
	p.hash = solanago.Hash(hash.Hash)
}
