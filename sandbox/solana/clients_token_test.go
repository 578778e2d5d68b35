package solana

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	sdk "github.com/gagliardetto/solana-go"
	associated "github.com/gagliardetto/solana-go/programs/associated-token-account"
	"github.com/gagliardetto/solana-go/programs/token"
	"github.com/gagliardetto/solana-go/rpc"
)

// makeTable lets a person make a lookup table of addresses by its program, and waits until they
// can be used.
func (s served) makeTable(t *testing.T, name string, keys ...address) address {
	t.Helper()
	owner := addressOf(name)
	var slot uint64
	s.must(t, &slot, "getSlot", object{"commitment": processed})
	s.advance(t, 1)
	at := binary.LittleEndian.AppendUint64(nil, slot)
	var table sdk.PublicKey
	table, bump, err := sdk.FindProgramAddress([][]byte{owner[:], at}, sdk.PublicKey(lookupProgram))
	if err != nil {
		t.Fatal(err)
	}
	metas := []meta{w(address(table)), {owner, "s"}, {owner, "sw"}, r(systemProgram)}
	more := pack(uint32(2), len(keys))
	for _, k := range keys {
		more = append(more, k[:]...)
	}
	h, _ := s.blockhashAt(t, processed)
	text, sig := encode(draft{payer: name, blockhash: h, calls: []call{
		{lookupProgram, metas, pack(uint32(0), slot, bump)}, {lookupProgram, metas, more},
	}}.bytes())
	var answered string
	s.must(t, &answered, "sendTransaction", text, preflight)
	s.advance(t, 2)
	if st := s.status(t, sig); st == nil || string(st.Err) != "null" {
		t.Fatalf("no table was made: %+v", st)
	}
	return address(table)
}

// TestSolanaGoMovesTokensByALookupTable makes bob's token account and pays into it in one v0
// transaction whose mint and accounts stand in a table, and reads all of that back.
func TestSolanaGoMovesTokensByALookupTable(t *testing.T) {
	o := Options{Dir: t.TempDir(), FinalizedLag: 3, Now: newClock().now}
	s := serve(t, o)
	s.fund(t, "alice", 10*sol)
	s.giveToken(t, "alice", USDC, 5_000_000)
	source, program, mint := s.account("alice", USDC)
	target, _, _ := s.account("bob", USDC)
	table := s.makeTable(t, "alice", target, mint, addressOf("bob"))

	ctx, client := t.Context(), rpc.New(s.url)
	key := sdk.PrivateKey(person("alice"))
	h, _ := s.blockhashAt(t, processed)
	create := associated.NewCreateInstruction(key.PublicKey(), sdk.PublicKey(addressOf("bob")), sdk.PublicKey(mint)).Build()
	pay := token.NewTransferCheckedInstruction(1_250_000, 6, sdk.PublicKey(source), sdk.PublicKey(mint), sdk.PublicKey(target), key.PublicKey(), nil).Build()
	tx, err := sdk.NewTransaction([]sdk.Instruction{create, pay}, sdk.Hash(h), sdk.TransactionPayer(key.PublicKey()),
		sdk.TransactionAddressTables(map[sdk.PublicKey]sdk.PublicKeySlice{
			sdk.PublicKey(table): {sdk.PublicKey(target), sdk.PublicKey(mint), sdk.PublicKey(addressOf("bob"))},
		}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Sign(func(sdk.PublicKey) *sdk.PrivateKey { return &key }); err != nil {
		t.Fatal(err)
	}
	if len(tx.Message.AddressTableLookups) != 1 {
		t.Fatal("the library used no table")
	}
	if fee, err := client.GetFeeForMessage(ctx, tx.Message.ToBase64(), rpc.CommitmentProcessed); err != nil || *fee.Value != 5000 {
		t.Errorf("fee %+v %v", fee, err)
	}
	sim, err := client.SimulateTransactionWithOpts(ctx, tx, &rpc.SimulateTransactionOpts{
		Commitment: rpc.CommitmentProcessed, SigVerify: true,
		Accounts: &rpc.SimulateTransactionAccountsOpts{Encoding: sdk.EncodingBase64, Addresses: []sdk.PublicKey{sdk.PublicKey(target)}},
	})
	if err != nil || sim.Value.Err != nil || tokenAccount(sim.Value.Accounts[0].Data.GetBinary()).amount() != 1_250_000 {
		t.Fatalf("%+v %v", sim, err)
	}
	sig, err := client.SendTransactionWithOpts(ctx, tx, rpc.TransactionOpts{PreflightCommitment: rpc.CommitmentProcessed})
	if err != nil {
		t.Fatal(err)
	}
	s.advance(t, 5)
	if got := s.TokenBalance(addressOf("bob").String(), USDC); got != 1_250_000 {
		t.Fatalf("bob holds %d", got)
	}

	read := func() {
		t.Helper()
		zero := uint64(0)
		got, err := client.GetTransaction(ctx, sig, &rpc.GetTransactionOpts{MaxSupportedTransactionVersion: &zero, Encoding: sdk.EncodingBase64})
		if err != nil {
			t.Fatal(err)
		}
		m := got.Meta
		keys := slices.Concat(tx.Message.AccountKeys, m.LoadedAddresses.Writable, m.LoadedAddresses.ReadOnly)
		if want := (sdk.PublicKeySlice{sdk.PublicKey(target)}); !slices.Equal(m.LoadedAddresses.Writable, want) || len(m.LoadedAddresses.ReadOnly) != 2 {
			t.Fatalf("loaded %+v", m.LoadedAddresses)
		}
		if len(m.PreTokenBalances) != 1 || len(m.PostTokenBalances) != 2 || m.PreTokenBalances[0].UiTokenAmount.Amount != "5000000" {
			t.Fatalf("token balances %+v, then %+v", m.PreTokenBalances, m.PostTokenBalances)
		}
		for _, b := range m.PostTokenBalances {
			owner, amount := key.PublicKey(), "3.75"
			if keys[b.AccountIndex] == sdk.PublicKey(target) {
				owner, amount = sdk.PublicKey(addressOf("bob")), "1.25"
			} else if keys[b.AccountIndex] != sdk.PublicKey(source) {
				t.Errorf("account %d holds tokens", b.AccountIndex)
			}
			if *b.Owner != owner || b.UiTokenAmount.UiAmountString != amount || b.Mint != sdk.PublicKey(mint) || b.UiTokenAmount.Decimals != 6 || *b.ProgramId != sdk.PublicKey(program) {
				t.Errorf("balance %+v", b)
			}
		}
		if len(m.InnerInstructions) != 1 || m.InnerInstructions[0].Index != 0 || len(m.InnerInstructions[0].Instructions) != 4 {
			t.Fatalf("inner instructions %+v", m.InnerInstructions)
		}
		inner := m.InnerInstructions[0].Instructions
		for i, want := range []address{program, systemProgram, program, program} {
			if keys[inner[i].ProgramIDIndex] != sdk.PublicKey(want) || inner[i].StackHeight != 2 {
				t.Errorf("inner instruction %d: %+v", i, inner[i])
			}
		}
		parsed, err := client.GetParsedTransaction(ctx, sig, &rpc.GetParsedTransactionOpts{MaxSupportedTransactionVersion: &zero})
		if err != nil || len(parsed.Transaction.Message.AccountKeys) != len(keys) || len(parsed.Meta.InnerInstructions[0].Instructions) != 4 {
			t.Errorf("%+v %v", parsed, err)
		}
	}
	read()
	before := s.ask(t, "getTransaction", sig.String(), object{"maxSupportedTransactionVersion": 0})
	s = reopen(t, s, o)
	client = rpc.New(s.url)
	read()
	if after := s.ask(t, "getTransaction", sig.String(), object{"maxSupportedTransactionVersion": 0}); !bytes.Equal(after.Result, before.Result) {
		t.Errorf("after a restart it is %s\nwas %s", after.Result, before.Result)
	}
	if history, err := client.GetSignaturesForAddress(ctx, sdk.PublicKey(target)); err != nil || len(history) != 1 {
		t.Errorf("history of an account from a table: %+v %v", history, err)
	}
}

func TestProgramAccountsAreFiltered(t *testing.T) {
	s := serve(t, Options{})
	for _, name := range []string{"alice", "bob"} {
		s.giveToken(t, name, USDC, 7)
		s.giveToken(t, name, FEE, 7)
	}
	bobs, program, mint := s.account("bob", USDC)
	list := func(program address, filters ...object) (keys []string) {
		t.Helper()
		var shown []struct {
			Pubkey  string
			Account struct {
				Owner string
				Data  [2]string
			}
		}
		s.must(t, &shown, "getProgramAccounts", program.String(), object{"encoding": "base64", "commitment": processed, "filters": filters})
		for _, a := range shown {
			if a.Account.Owner != program.String() || a.Account.Data[1] != "base64" {
				t.Errorf("%+v", a)
			}
			keys = append(keys, a.Pubkey)
		}
		return keys
	}
	owner := object{"memcmp": object{"offset": 32, "bytes": addressOf("bob").String()}}
	of := object{"memcmp": object{"offset": 0, "bytes": mint.String()}}
	if got := list(program, object{"dataSize": accountSize}, owner, of); len(got) != 1 || got[0] != bobs.String() {
		t.Errorf("bob's accounts are %v", got)
	}
	for _, c := range []struct {
		program address
		filters []object
		want    int
	}{
		{tokenProgram, nil, 15}, // the mints of wrapped SOL and USDC and six of the exchange, its five vaults, two accounts
		{tokenProgram, []object{{"tokenAccountState": true}}, 7},
		{token2022Program, []object{{"tokenAccountState": true}, owner}, 1},
		{tokenProgram, []object{{"dataSize": mintSize}}, 8},
		{tokenProgram, []object{{"memcmp": object{"offset": 1 << 40, "bytes": "2"}}}, 0},
		{tokenProgram, []object{{"memcmp": object{"offset": 64, "bytes": "BwAAAAAAAAA=", "encoding": "base64"}}}, 2},
		{memoV3, nil, 0},
	} {
		if got := list(c.program, c.filters...); len(got) != c.want {
			t.Errorf("%s %v: %d accounts, want %d", c.program, c.filters, len(got), c.want)
		}
	}
	for _, bad := range []object{
		{}, {"memcmp": object{"offset": 0, "bytes": "0OIl"}}, {"memcmp": object{"offset": 0, "bytes": "AA", "encoding": "hex"}},
		{"memcmp": object{"offset": 0, "bytes": "A\n==", "encoding": "base64"}}, {"memcmp": object{"offset": -1, "bytes": "2"}},
		{"memcmp": object{"offset": 0, "bytes": string(bytes.Repeat([]byte("2"), 176))}},
	} {
		s.refused(t, codeInvalidParams, "getProgramAccounts", tokenProgram.String(), object{"encoding": "base64", "filters": []object{bad}})
	}
	s.refused(t, codeInvalidParams, "getProgramAccounts", tokenProgram.String(), object{"filters": []object{of, of, of, of, of}})
	var wrapped struct {
		Context struct{ Slot uint64 }
		Value   []any
	}
	s.must(t, &wrapped, "getProgramAccounts", tokenProgram.String(), object{"encoding": "base64", "commitment": processed, "withContext": true})
	if len(wrapped.Value) != 15 || wrapped.Context.Slot == 0 {
		t.Errorf("%+v", wrapped)
	}
}
