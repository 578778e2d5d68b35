package chain

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/gagliardetto/solana-go"

	"purser/sandbox/solana"
	"purser/wallet"
)

// people are those of the activity tests. Numbers are those of testKey.
var people = map[string]byte{"alice": 1, "bob": 2, "carol": 3, "dora": 4}

func person(name string) testPrivateKey { return testKey(people[name]) }

// town is a cluster in which people do all kinds of things.
type town struct {
	world
	usdc, fee wallet.Address
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := newWorld(t)
	town := &town{world: w, usdc: wallet.MustAddress(w.Cluster.Mint(solana.USDC)), fee: wallet.MustAddress(w.Cluster.Mint(solana.FEE))}
	for _, name := range []string{"alice", "bob", "carol"} {
		w.fund(person(name).address(), 10_000_000_000)
	}
	for token, name := range map[string]string{solana.USDC: "alice", solana.FEE: "bob"} {
		if _, err := w.AirdropToken(t.Context(), person(name).address().String(), token, 100_000_000); err != nil {
			t.Fatal(err)
		}
		w.advance(2)
	}
	w.advance(40)
	return town
}

// land signs and broadcasts instructions, paid by somebody, and waits until they are finalized. It returns the
// signature.
func (w *town) land(version, payer string, instructions ...Instruction) wallet.Signature {
	w.t.Helper()
	wire, sig := w.signed(version, payer, instructions...)
	if err := w.Broadcast(w.t.Context(), wire); err != nil {
		w.t.Fatal(err)
	}
	w.advance(40)
	return sig
}

// signed is a transaction of a version ("" is legacy) with the newest blockhash, signed by all who must.
func (w *town) signed(version, payer string, instructions ...Instruction) ([]byte, wallet.Signature) {
	w.t.Helper()
	hash, err := w.Blockhash(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	options := []sdk.TransactionOption{sdk.TransactionPayer(sdk.PublicKey(person(payer).address()))}
	switch version {
	case "v0":
		options = append(options, sdk.TransactionAddressTables(map[sdk.PublicKey]sdk.PublicKeySlice{sdk.PublicKey(testKey(90).address()): {sdk.PublicKey(testKey(91).address())}}))
	case "v1":
		options = append(options, sdk.TransactionV1Config(sdk.TransactionConfig{}.WithComputeUnitLimit(400_000).WithLoadedAccountsDataSizeLimit(1<<20)))
	}
	list := make([]sdk.Instruction, len(instructions))
	for i, in := range instructions {
		var metas sdk.AccountMetaSlice
		for _, a := range in.Accounts {
			metas = append(metas, sdk.NewAccountMeta(sdk.PublicKey(a.Address), a.Writable, a.Signer))
		}
		list[i] = sdk.NewInstruction(sdk.PublicKey(in.Program), metas, in.Data)
	}
	tx, err := sdk.NewTransaction(list, sdk.Hash(hash.Hash), options...)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := tx.Sign(func(key sdk.PublicKey) *sdk.PrivateKey {
		for n := range byte(250) {
			if private := testKey(n); private.address() == wallet.Address(key) {
				signing := sdk.PrivateKey(private.PrivateKey)
				return &signing
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	wire, err := tx.MarshalBinary()
	if err != nil {
		w.t.Fatal(err)
	}
	return wire, wallet.Signature(tx.Signatures[0])
}

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

// as is an account of an instruction: "s" signs, "w" is written.
func as(a wallet.Address, roles string) Account {
	return Account{Address: a, Signer: strings.Contains(roles, "s"), Writable: strings.Contains(roles, "w")}
}

func payOf(from, to wallet.Address, lamports uint64, references ...wallet.Address) Instruction {
	in := Instruction{wallet.SystemProgram, []Account{as(from, "sw"), as(to, "w")}, append([]byte{systemTransfer, 0, 0, 0}, u64(lamports)...)}
	for _, r := range references {
		in.Accounts = append(in.Accounts, as(r, ""))
	}
	return in
}

func ata(owner, mint, program wallet.Address) wallet.Address {
	return wallet.AssociatedAccount(owner, mint, program)
}

func openOf(payer, owner, mint, program wallet.Address) Instruction {
	return Instruction{wallet.AssociatedProgram, []Account{as(payer, "sw"), as(ata(owner, mint, program), "w"), as(owner, ""), as(mint, ""), as(wallet.SystemProgram, ""), as(program, "")}, []byte{1}}
}

// tokensOf is TransferChecked between associated accounts.
func tokensOf(from, to, mint, program wallet.Address, units uint64, decimals byte) Instruction {
	return Instruction{program, []Account{as(ata(from, mint, program), "w"), as(mint, ""), as(ata(to, mint, program), "w"), as(from, "s")},
		append(append([]byte{transferChecked}, u64(units)...), decimals)}
}

func closeOf(account, to, owner, program wallet.Address) Instruction {
	return Instruction{program, []Account{as(account, "w"), as(to, "w"), as(owner, "s")}, []byte{tokenClose}}
}

func syncOf(account wallet.Address) Instruction {
	return Instruction{wallet.TokenProgram, []Account{as(account, "w")}, []byte{17}}
}

func createOf(payer, account wallet.Address, lamports, size uint64, owner wallet.Address) Instruction {
	data := slices.Concat([]byte{systemCreate, 0, 0, 0}, u64(lamports), u64(size), owner[:])
	return Instruction{wallet.SystemProgram, []Account{as(payer, "sw"), as(account, "sw")}, data}
}

func initializeOf(account, mint, owner wallet.Address) Instruction {
	return Instruction{wallet.TokenProgram, []Account{as(account, "w"), as(mint, "")}, append([]byte{tokenInitialize3}, owner[:]...)}
}

func memoOf(text string) Instruction { return Instruction{Program: memoProgram, Data: []byte(text)} }

// spelled turns addresses into the names of people and tokens, so that expectations read as sentences.
func (w *town) spelled(text string) string {
	replace := []string{w.usdc.String(), "USDC", w.fee.String(), "FEE", wallet.WrappedSOL.String(), "wSOL"}
	for name := range people {
		a := person(name).address()
		replace = append(replace, a.String(), name)
		for token, program := range map[wallet.Address]wallet.Address{w.usdc: wallet.TokenProgram, w.fee: wallet.Token2022Program, wallet.WrappedSOL: wallet.TokenProgram} {
			replace = append(replace, ata(a, token, program).String(), name+"'s "+w.tokenName(token))
		}
	}
	return strings.NewReplacer(replace...).Replace(text)
}

func (w *town) tokenName(mint wallet.Address) string {
	return map[wallet.Address]string{w.usdc: "USDC", w.fee: "FEE", wallet.WrappedSOL: "wSOL", {}: "SOL"}[mint]
}

// told is an activity in one line.
func (w *town) told(a wallet.Activity) string {
	parts := []string{string(a.Kind)}
	for _, n := range a.Net {
		sign, why := "+", ""
		if n.Lost {
			sign = "-"
		}
		if !n.Explained {
			why = "?"
		}
		parts = append(parts, fmt.Sprintf("%s%d %s%s", sign, n.Units, n.Token.Name(), why))
	}
	for _, m := range a.Movements {
		way, fee := "to", ""
		if m.In {
			way = "from"
		}
		if m.Fee > 0 {
			fee = fmt.Sprintf(" less %d", m.Fee)
		}
		how := m.How + " "
		if m.How == wallet.MovedByTransfer {
			how = ""
		}
		who := m.With.String()
		if m.With.IsZero() {
			who = "nobody"
		}
		parts = append(parts, fmt.Sprintf("%s%d %s %s %s%s", how, m.Units, m.Token.Name(), way, who, fee))
	}
	if n := len(a.Opened); n > 0 {
		parts = append(parts, fmt.Sprintf("opened %d", n))
	}
	if n := len(a.Closed); n > 0 {
		parts = append(parts, fmt.Sprintf("closed %d", n))
	}
	if !a.Program.IsZero() {
		parts = append(parts, "by "+a.Program.String())
	}
	if a.Memo != "" {
		parts = append(parts, fmt.Sprintf("%q", a.Memo))
	}
	return w.spelled(strings.Join(parts, ", "))
}

func TestActivityOfEveryKind(t *testing.T) {
	w := newTown(t)
	alice, bob, carol, dora := person("alice").address(), person("bob").address(), person("carol").address(), person("dora").address()
	token, token22 := wallet.TokenProgram, wallet.Token2022Program
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	rent22, err := w.RentMinimum(t.Context(), 182) // ImmutableOwner and TransferFeeAmount
	if err != nil {
		t.Fatal(err)
	}
	R, R22 := fmt.Sprint(rent), fmt.Sprint(rent22)
	extra := testKey(60).address()
	for _, step := range []struct {
		name         string
		payer        string
		instructions []Instruction
		want         map[string]string
	}{
		{"SOL with a memo", "alice", []Instruction{memoOf("rent"), payOf(alice, bob, 1_500_000_000)}, map[string]string{
			"alice": `send, -1500000000 SOL, 1500000000 SOL to bob, "rent"`,
			"bob":   `receive, +1500000000 SOL, 1500000000 SOL from alice, "rent"`,
			"carol": `other, "rent"`}},
		{"several at once", "alice", []Instruction{payOf(alice, bob, 5), payOf(alice, carol, 6_000_000), payOf(alice, bob, 7)}, map[string]string{
			"alice": `send, -6000012 SOL, 5 SOL to bob, 6000000 SOL to carol, 7 SOL to bob`,
			"bob":   `receive, +12 SOL, 5 SOL from alice, 7 SOL from alice`}},
		{"to oneself", "alice", []Instruction{payOf(alice, alice, 5)}, map[string]string{"alice": `internal`}},
		{"nothing", "alice", []Instruction{payOf(alice, bob, 0)}, map[string]string{
			"alice": `send, 0 SOL to bob`, "bob": `receive, 0 SOL from alice`}},
		{"an account of one's own", "bob", []Instruction{openOf(bob, bob, w.usdc, token)}, map[string]string{"bob": `account_opened, opened 1`}},
		{"and it is closed", "bob", []Instruction{closeOf(ata(bob, w.usdc, token), bob, bob, token)}, map[string]string{"bob": `account_closed, closed 1`}},
		{"tokens, and the account for them", "alice", []Instruction{openOf(alice, bob, w.usdc, token), tokensOf(alice, bob, w.usdc, token, 250, 6)}, map[string]string{
			"alice": `send, -` + R + ` SOL, -250 USDC, rent ` + R + ` SOL to bob, 250 USDC to bob`,
			"bob":   `receive, +250 USDC, rent ` + R + ` SOL from alice, 250 USDC from alice, opened 1`}},
		{"only an account for somebody", "alice", []Instruction{openOf(alice, dora, w.usdc, token)}, map[string]string{
			"alice": `account_opened, -` + R + ` SOL, rent ` + R + ` SOL to dora`,
			"dora":  `account_opened, rent ` + R + ` SOL from alice, opened 1`}},
		{"tokens with a fee", "bob", []Instruction{openOf(bob, alice, w.fee, token22), tokensOf(bob, alice, w.fee, token22, 1000, 6)}, map[string]string{
			"bob":   `send, -` + R22 + ` SOL, -1000 FEE, rent ` + R22 + ` SOL to alice, 1000 FEE to alice`,
			"alice": `receive, +990 FEE, rent ` + R22 + ` SOL from bob, 1000 FEE from bob less 10, opened 1`}},
		{"SOL is wrapped", "carol", []Instruction{openOf(carol, carol, wallet.WrappedSOL, token), payOf(carol, ata(carol, wallet.WrappedSOL, token), 1000), syncOf(ata(carol, wallet.WrappedSOL, token))}, map[string]string{
			"carol": `internal, -1000 SOL, +1000 wSOL, opened 1`}},
		{"wrapped SOL is paid", "carol", []Instruction{openOf(carol, alice, wallet.WrappedSOL, token), tokensOf(carol, alice, wallet.WrappedSOL, token, 300, 9)}, map[string]string{
			"carol": `send, -` + R + ` SOL, -300 wSOL, rent ` + R + ` SOL to alice, 300 wSOL to alice`,
			"alice": `receive, +300 wSOL, rent ` + R + ` SOL from carol, 300 wSOL from carol, opened 1`}},
		{"the rest is unwrapped", "carol", []Instruction{closeOf(ata(carol, wallet.WrappedSOL, token), carol, carol, token)}, map[string]string{
			"carol": `internal, +700 SOL, -700 wSOL, closed 1`}},
		{"closed to somebody", "alice", []Instruction{closeOf(ata(alice, wallet.WrappedSOL, token), bob, alice, token)}, map[string]string{
			"alice": `send, -300 wSOL, rent ` + R + ` SOL to bob, 300 SOL to bob, closed 1`,
			"bob":   `receive, +` + fmt.Sprint(rent+300) + ` SOL, rent ` + R + ` SOL from alice, 300 SOL from alice`}},
		{"an exchange", "alice", []Instruction{payOf(carol, alice, 900), openOf(carol, carol, w.usdc, token), tokensOf(alice, carol, w.usdc, token, 40, 6)}, map[string]string{
			"alice": `swap, +900 SOL, -40 USDC, 900 SOL from carol, 40 USDC to carol`,
			"carol": `swap, -900 SOL, +40 USDC, 900 SOL to alice, 40 USDC from alice, opened 1`}},
		{"an account that lives for a moment", "alice", []Instruction{createOf(alice, extra, rent+500, tokenSize, token), initializeOf(extra, wallet.WrappedSOL, alice),
			openOf(alice, bob, wallet.WrappedSOL, token), {token, []Account{as(extra, "w"), as(ata(bob, wallet.WrappedSOL, token), "w"), as(alice, "s")}, append([]byte{tokenTransfer}, u64(500)...)},
			closeOf(extra, alice, alice, token)}, map[string]string{
			"alice": `send, -` + fmt.Sprint(rent+500) + ` SOL, rent ` + R + ` SOL to bob, 500 wSOL to bob`,
			"bob":   `receive, +500 wSOL, rent ` + R + ` SOL from alice, 500 wSOL from alice, opened 1`}},
		{"an account changes hands", "alice", []Instruction{createOf(alice, extra, rent, tokenSize, token), initializeOf(extra, w.usdc, alice),
			{token, []Account{as(ata(alice, w.usdc, token), "w"), as(extra, "w"), as(alice, "s")}, append([]byte{tokenTransfer}, u64(11)...)},
			{token, []Account{as(extra, "w"), as(alice, "s")}, append([]byte{6, 2, 1}, carol[:]...)}}, map[string]string{
			"alice": `send, -` + R + ` SOL, -11 USDC, rent ` + R + ` SOL to carol, 11 USDC to carol`,
			"carol": `receive, +11 USDC, rent ` + R + ` SOL from alice, 11 USDC from alice, opened 1`}},
		{"and later again", "carol", []Instruction{{token, []Account{as(extra, "w"), as(carol, "s")}, append([]byte{6, 2, 1}, bob[:]...)}}, map[string]string{
			"carol": `send, -11 USDC, authority 11 USDC to bob, rent ` + R + ` SOL to bob, closed 1`,
			"bob":   `receive, +11 USDC, authority 11 USDC from carol, rent ` + R + ` SOL from carol, opened 1`}},
		{"burned", "bob", []Instruction{{token, []Account{as(extra, "w"), as(w.usdc, "w"), as(bob, "s")}, append([]byte{tokenBurn}, u64(4)...)}}, map[string]string{
			"bob": `send, -4 USDC, burn 4 USDC to nobody`}},
	} {
		t.Run(step.name, func(t *testing.T) {
			sig := w.land("", step.payer, step.instructions...)
			names := slices.Sorted(func(yield func(string) bool) {
				for name := range step.want {
					if !yield(name) {
						return
					}
				}
			})
			owners := make([]wallet.Address, len(names))
			for i, name := range names {
				owners[i] = person(name).address()
			}
			all, err := w.Activities(t.Context(), sig, owners...)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range all {
				if got := w.told(a); got != step.want[names[i]] {
					t.Errorf("%s:\n got  %s\n want %s", names[i], got, step.want[names[i]])
				}
				if a.Signature != sig || a.Slot == 0 || a.At.Before(time.Unix(1, 0)) || a.Fee < wallet.SignatureFee || a.Failure != "" {
					t.Errorf("%s: %+v", names[i], a)
				}
			}
		})
	}
}
