// Long: what the decoder takes and refuses, by one builder of messages.

package chain

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	bin "github.com/gagliardetto/binary"
	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// fixture is an entry of signer/testdata/transactions.json, which the page's decoder answers too.
type fixture struct {
	Name    string          `json:"name"`
	Message string          `json:"message"`
	Signer  string          `json:"signer"`
	Refused string          `json:"refused"`
	Want    json.RawMessage `json:"want"`
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "signer", "testdata", "transactions.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(raw, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func (f fixture) bytes(tb testing.TB) ([]byte, wallet.Address) {
	tb.Helper()
	raw, err := base64.StdEncoding.DecodeString(f.Message)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := wallet.ParseAddress(f.Signer)
	if err != nil {
		tb.Fatal(err)
	}
	return raw, signer
}

// known is an address, or "" where the bytes do not tell one.
func known(a wallet.Address) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}

// last is a transfer's reference; one may be the System program, which is the zero address in Go.
func last(a wallet.Action) string {
	if len(a.References) == 0 {
		return ""
	}
	return a.Reference.String()
}

func texts(as []wallet.Address) []any {
	out := []any{}
	for _, a := range as {
		out = append(out, a.String())
	}
	return out
}

// describeStaking writes an action of staking the way the fixtures do.
func describeStaking(said map[string]any, a wallet.Action) {
	said["from"], said["account"] = a.From.String(), a.Account.String()
	switch a.Type {
	case wallet.ActionCreateStake:
		said["lamports"], said["seed"] = strconv.FormatUint(a.Lamports, 10), a.Text
	case wallet.ActionSplitStake:
		said["source"], said["lamports"] = a.Source.String(), strconv.FormatUint(a.Lamports, 10)
	case wallet.ActionMergeStake:
		said["source"] = a.Source.String()
	case wallet.ActionDelegate, wallet.ActionDeactivate, wallet.ActionWithdrawStake:
		said["reference"], said["references"] = last(a), texts(a.References)
	}
	switch a.Type {
	case wallet.ActionDelegate:
		said["to"] = a.To.String()
	case wallet.ActionWithdrawStake:
		said["to"], said["lamports"] = a.To.String(), strconv.FormatUint(a.Lamports, 10)
	}
}

// described writes a decoded message the way the fixtures do.
func described(d wallet.Decoded) map[string]any {
	actions := []any{}
	for _, a := range d.Actions {
		said := map[string]any{"type": a.Type}
		switch a.Type {
		case wallet.ActionMemo:
			said["text"] = a.Text
		case wallet.ActionTransfer:
			said["from"], said["to"] = a.From.String(), a.To.String()
			said["lamports"], said["reference"], said["references"] = strconv.FormatUint(a.Lamports, 10), last(a), texts(a.References)
		case wallet.ActionTokenTransfer:
			said["from"], said["to"], said["account"] = a.From.String(), known(a.To), a.Account.String()
			said["mint"], said["program"] = a.Mint.String(), a.Program.String()
			said["units"], said["decimals"] = strconv.FormatUint(a.Units, 10), float64(a.Decimals)
			said["reference"], said["references"] = last(a), texts(a.References)
		case wallet.ActionCreateAccount:
			said["from"], said["to"], said["account"] = a.From.String(), a.To.String(), a.Account.String()
			said["mint"], said["program"] = a.Mint.String(), a.Program.String()
		case wallet.ActionSwap:
			describeSwap(said, a)
		case wallet.ActionRevoke:
			said["from"], said["account"], said["program"] = a.From.String(), a.Account.String(), a.Program.String()
			said["reference"], said["references"] = last(a), texts(a.References)
		case wallet.ActionReference:
			said["from"], said["reference"] = a.From.String(), a.Reference.String()
		case wallet.ActionSyncNative:
			said["account"] = a.Account.String()
		case wallet.ActionUnwrap:
			said["from"], said["account"] = a.From.String(), a.Account.String()
		case wallet.ActionWrap:
			said["from"], said["account"], said["lamports"] = a.From.String(), a.Account.String(), strconv.FormatUint(a.Lamports, 10)
		default:
			describeStaking(said, a)
		}
		actions = append(actions, said)
	}
	var limit any
	if d.ComputeUnitLimit != nil {
		limit = float64(*d.ComputeUnitLimit)
	}
	return map[string]any{
		"version": d.Version, "fee_payer": d.FeePayer.String(),
		"blockhash": wallet.Address(d.Blockhash).String(), "intent": hex.EncodeToString(d.Intent[:]),
		"actions": actions, "compute_unit_limit": limit,
		"compute_unit_price": strconv.FormatUint(d.ComputeUnitPrice, 10), "fee": strconv.FormatUint(d.Fee, 10),
	}
}

func TestGoAndThePageDecodeAlike(t *testing.T) {
	all := fixtures(t)
	if len(all) < 60 {
		t.Fatalf("only %d fixtures", len(all))
	}
	for _, f := range all {
		t.Run(f.Name, func(t *testing.T) {
			raw, signer := f.bytes(t)
			before := slices.Clone(raw)
			d, err := Decode(raw, signer)
			if !bytes.Equal(before, raw) {
				t.Error("Decode changed its input")
			}
			if f.Refused != "" {
				var refused *NotAllowed
				if !errors.As(err, &refused) || refused.Code != f.Refused || refused.Detail == "" {
					t.Fatalf("got %v, want refusal %q", err, f.Refused)
				}
				if !reflect.DeepEqual(d, wallet.Decoded{}) {
					t.Error("a refusal came with content")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := json.Unmarshal(f.Want, &want); err != nil {
				t.Fatal(err)
			}
			if got := described(d); !alike(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// TestEveryRefusalHasAFixture, and no fixture is refused with a code that the decoder does not have.
func TestEveryRefusalHasAFixture(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "decode.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{}
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST || !strings.HasPrefix(block.Doc.Text(), "Codes of the decoder's refusals.") {
			continue
		}
		for _, spec := range block.Specs {
			for _, value := range spec.(*ast.ValueSpec).Values {
				code, err := strconv.Unquote(value.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[code] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, f := range fixtures(t) {
		if f.Refused != "" {
			seen[f.Refused] = true
		}
	}
	if !maps.Equal(codes, seen) {
		t.Errorf("the decoder has the codes %q, fixtures are refused as %q", slices.Sorted(maps.Keys(codes)), slices.Sorted(maps.Keys(seen)))
	}
}

// TestNoSingleByteMayHideAChange changes each byte of valid messages in several ways: what is still
// accepted must say what the library reads in the same bytes, and differ in intent.
func TestNoSingleByteMayHideAChange(t *testing.T) {
	changed, accepted := 0, 0
	for _, f := range fixtures(t) {
		if f.Refused != "" {
			continue
		}
		raw, signer := f.bytes(t)
		original, err := Decode(raw, signer)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			for _, flip := range []byte{0xff, 0x01, 0x02, 0x40, 0x80}[:max(1, rounds(5))] {
				mutant := slices.Clone(raw)
				mutant[i] ^= flip
				changed++
				d, err := Decode(mutant, signer)
				if err != nil {
					continue
				}
				accepted++
				if d.Intent == original.Intent && d.Blockhash == original.Blockhash {
					t.Fatalf("%s: byte %d changed, but neither intent nor blockhash", f.Name, i)
				}
				agree(t, mutant, d)
			}
		}
	}
	if accepted == 0 || accepted == changed {
		t.Fatalf("%d of %d changes accepted: this proves nothing", accepted, changed)
	}
}

// agree fails unless solana-go reads in raw what Decode did, and writes the same bytes again.
func agree(t *testing.T, raw []byte, d wallet.Decoded) {
	t.Helper()
	var m solana.Message
	if err := m.UnmarshalWithDecoder(bin.NewBinDecoder(raw)); err != nil {
		t.Fatalf("solana-go cannot read an accepted message: %v", err)
	}
	again, err := m.MarshalBinary()
	if err != nil || !bytes.Equal(again, raw) {
		t.Fatalf("solana-go writes other bytes (%v):\n%x\n%x", err, again, raw)
	}
	if wallet.Address(m.AccountKeys[0]) != d.FeePayer || m.RecentBlockhash != d.Blockhash || !m.IsSigner(m.AccountKeys[0]) ||
		m.Header.NumRequiredSignatures != 1 {
		t.Fatal("fee payer, blockhash or signers differ")
	}
	if hasAction(d.Actions, wallet.ActionSwap) {
		agreeOnSwap(t, &m, d)
		return
	}
	var actions []wallet.Action
	owners := map[wallet.Address]wallet.Address{} // of token accounts that the message creates
	for _, in := range m.Instructions {
		program, err := m.Program(in.ProgramIDIndex)
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := in.ResolveInstructionAccounts(&m)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case program == solana.SystemProgramID && in.Data[0] == 3:
			actions = append(actions, readStakeAccount(t, accounts, in.Data))
		case program == solana.SystemProgramID:
			a := wallet.Action{Type: "transfer", From: wallet.Address(accounts[0].PublicKey), To: wallet.Address(accounts[1].PublicKey)}
			for place, digit := range in.Data[4:] {
				a.Lamports += uint64(digit) << (8 * place)
			}
			a.References, a.Reference = readReferences(t, accounts[2:])
			if !accounts[0].IsSigner || !accounts[1].IsWritable {
				t.Fatal("sender does not sign, or recipient is read-only")
			}
			actions = append(actions, a)
		case program == solana.MemoProgramID || wallet.Address(program) == memoProgramV4:
			actions = append(actions, wallet.Action{Type: "memo", Text: string(in.Data)})
		case (program == solana.TokenProgramID || program == solana.Token2022ProgramID) && in.Data[0] == 5:
			actions = append(actions, readRevocation(t, program, accounts, in.Data))
		case program == solana.TokenProgramID || program == solana.Token2022ProgramID:
			actions = append(actions, readTokenTransfer(t, program, accounts, in.Data))
		case program == solana.SPLAssociatedTokenAccountProgramID:
			a := readCreation(t, accounts, in.Data)
			owners[a.Account] = a.To
			actions = append(actions, a)
		case program == solana.StakeProgramID:
			actions = append(actions, readStaking(t, accounts, in.Data))
		case program != solana.ComputeBudget:
			t.Fatalf("accepted the program %s", program)
		}
	}
	for i := range actions {
		if actions[i].Type == wallet.ActionTokenTransfer {
			actions[i].To = owners[actions[i].Account]
		}
	}
	if !reflect.DeepEqual(actions, d.Actions) {
		t.Fatalf("actions differ: %v, %v", actions, d.Actions)
	}
}

// readTokenTransfer reads a TransferChecked with the library's own means.
func readTokenTransfer(t *testing.T, program solana.PublicKey, accounts []*solana.AccountMeta, data []byte) wallet.Action {
	t.Helper()
	if len(data) != 10 || data[0] != 12 || len(accounts) < 4 {
		t.Fatalf("accepted the token instruction %x with %d accounts", data, len(accounts))
	}
	source := associatedBy(t, accounts[3].PublicKey, accounts[1].PublicKey, program)
	if accounts[0].PublicKey != source || !accounts[0].IsWritable || !accounts[2].IsWritable || !accounts[3].IsSigner {
		t.Fatal("accepted tokens that are not in the signer's own account")
	}
	a := wallet.Action{Type: wallet.ActionTokenTransfer, From: wallet.Address(accounts[3].PublicKey), Account: wallet.Address(accounts[2].PublicKey),
		Mint: wallet.Address(accounts[1].PublicKey), Program: wallet.Address(program),
		Units: binary.LittleEndian.Uint64(data[1:]), Decimals: data[9]}
	a.References, a.Reference = readReferences(t, accounts[4:])
	return a
}

// readRevocation reads a Revoke.
func readRevocation(t *testing.T, program solana.PublicKey, accounts []*solana.AccountMeta, data []byte) wallet.Action {
	t.Helper()
	if len(data) != 1 || len(accounts) < 2 || !accounts[0].IsWritable || accounts[0].IsSigner || !accounts[1].IsSigner {
		t.Fatalf("accepted the revocation %x with the accounts %v", data, accounts)
	}
	a := wallet.Action{Type: wallet.ActionRevoke, From: wallet.Address(accounts[1].PublicKey), Account: wallet.Address(accounts[0].PublicKey), Program: wallet.Address(program)}
	a.References, a.Reference = readReferences(t, accounts[2:])
	return a
}

// readReferences reads what a transfer names beyond what it needs.
func readReferences(t *testing.T, accounts []*solana.AccountMeta) (all []wallet.Address, last wallet.Address) {
	t.Helper()
	if len(accounts) > 8 {
		t.Fatalf("accepted %d references", len(accounts))
	}
	for _, account := range accounts {
		last = wallet.Address(account.PublicKey)
		all = append(all, last)
		if account.IsSigner || account.IsWritable {
			t.Fatal("a reference that signs or is written")
		}
	}
	return all, last
}

// readCreation reads the making of an associated account.
func readCreation(t *testing.T, accounts []*solana.AccountMeta, data []byte) wallet.Action {
	t.Helper()
	if len(data) > 1 || len(data) == 1 && data[0] > 1 || len(accounts) != 6 {
		t.Fatalf("accepted the creation %x with %d accounts", data, len(accounts))
	}
	if associatedBy(t, accounts[2].PublicKey, accounts[3].PublicKey, accounts[5].PublicKey) != accounts[1].PublicKey || !accounts[0].IsSigner {
		t.Fatal("accepted an account that is not its owner's")
	}
	return wallet.Action{Type: wallet.ActionCreateAccount, From: wallet.Address(accounts[0].PublicKey), To: wallet.Address(accounts[2].PublicKey),
		Account: wallet.Address(accounts[1].PublicKey), Mint: wallet.Address(accounts[3].PublicKey), Program: wallet.Address(accounts[5].PublicKey)}
}

// readStaking reads an instruction of the Stake program by the accounts that sign and are written.
func readStaking(t *testing.T, accounts []*solana.AccountMeta, data []byte) wallet.Action {
	t.Helper()
	at := func(i int) wallet.Address { return wallet.Address(accounts[i].PublicKey) }
	a := wallet.Action{Account: at(0)}
	signers := 0
	for _, account := range accounts {
		if account.IsSigner {
			a.From = wallet.Address(account.PublicKey)
			signers++
		}
	}
	fixed := len(accounts)
	switch kind := binary.LittleEndian.Uint32(data); kind {
	case 0:
		a.Type, a.From, signers = wallet.ActionInitializeStake, wallet.Address(data[4:]), signers+1
		if !bytes.Equal(data[4:36], data[36:68]) || !bytes.Equal(data[68:], make([]byte, 48)) {
			t.Fatalf("accepted the initialization %x", data)
		}
	case 2:
		a.Type, a.To, fixed = wallet.ActionDelegate, at(1), 6
	case 3:
		a.Type, a.Source, a.Account, a.Lamports = wallet.ActionSplitStake, at(0), at(1), binary.LittleEndian.Uint64(data[4:])
	case 4:
		a.Type, a.To, a.Lamports, fixed = wallet.ActionWithdrawStake, at(1), binary.LittleEndian.Uint64(data[4:]), 6
	case 5:
		a.Type, fixed = wallet.ActionDeactivate, 3
	case 7:
		a.Type, a.Source = wallet.ActionMergeStake, at(1)
	default:
		t.Fatalf("accepted the Stake instruction %x", data)
	}
	if signers == 0 || !accounts[0].IsWritable {
		t.Fatal("accepted a stake instruction that nobody signs, or that changes nothing")
	}
	a.References, a.Reference = readReferences(t, accounts[fixed:])
	return a
}

// readStakeAccount reads the creation of a stake account.
func readStakeAccount(t *testing.T, accounts []*solana.AccountMeta, data []byte) wallet.Action {
	t.Helper()
	base, seed, owner := accounts[0].PublicKey, string(data[44:76]), solana.PublicKeyFromBytes(data[92:])
	made, err := solana.CreateWithSeed(base, seed, owner)
	if err != nil || owner != solana.StakeProgramID || made != accounts[1].PublicKey || binary.LittleEndian.Uint64(data[84:]) != 200 {
		t.Fatalf("accepted the account %s of %s: %v", accounts[1].PublicKey, owner, err)
	}
	return wallet.Action{Type: wallet.ActionCreateStake, From: wallet.Address(base), Account: wallet.Address(made), Lamports: binary.LittleEndian.Uint64(data[76:]), Text: seed}
}

func associatedBy(t *testing.T, owner, mint, program solana.PublicKey) solana.PublicKey {
	t.Helper()
	a, _, err := solana.FindProgramAddress([][]byte{owner[:], program[:], mint[:]}, solana.SPLAssociatedTokenAccountProgramID)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func FuzzDecode(f *testing.F) {
	for _, one := range fixtures(f) {
		raw, signer := one.bytes(f)
		f.Add(raw, signer[:])
	}
	f.Fuzz(func(t *testing.T, raw, key []byte) {
		var signer wallet.Address
		copy(signer[:], key)
		d, err := Decode(raw, signer)
		if err != nil {
			var refused *NotAllowed
			if !errors.As(err, &refused) || refused.Code == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			return
		}
		agree(t, raw, d)
		if d.FeePayer != signer || d.Fee < wallet.SignatureFee || d.Fee > wallet.SignatureFee+priorityFeeCeiling {
			t.Fatalf("accepted %+v for %s", d, signer)
		}
		var want [32]byte
		for i := range want {
			want[i] = byte(i + 1)
		}
		moved, err := WithBlockhash(raw, want)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(moved, signer)
		if err != nil || again.Intent != d.Intent || again.Blockhash != want {
			t.Fatalf("another blockhash changed more than the blockhash: %v", err)
		}
		back, err := WithBlockhash(moved, d.Blockhash)
		if err != nil || !bytes.Equal(back, raw) {
			t.Fatal("setting the blockhash back does not give the same bytes")
		}
	})
}

// FuzzDisassemble feeds what a node may answer as a transaction.
func FuzzDisassemble(f *testing.F) {
	for _, one := range fixtures(f) {
		raw, _ := one.bytes(f)
		f.Add(slices.Concat([]byte{1}, make([]byte, 64), raw))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		signatures, raw, m, err := disassemble(wire)
		if err != nil {
			return
		}
		if len(signatures) == 0 || len(signatures) != m.signers || len(raw) >= len(wire) || len(m.keys) == 0 {
			t.Fatalf("impossible transaction: %d signatures, %+v", len(signatures), m)
		}
		for _, intended := range []wallet.Action{{Type: wallet.ActionTransfer}, {Type: wallet.ActionTokenTransfer}} { // must not panic on any index
			if _, err := (Codec{}).recognises(m, wallet.TransactionQuery{Actions: []wallet.Action{intended}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestBuiltTransfersSayWhatWasAsked(t *testing.T) {
	from, to, reference := testKey(1).address(), testKey(2).address(), testKey(3).address()
	for name, transfer := range map[string]wallet.Transaction{
		"plain":          {From: from, To: to, Amount: 1},
		"with reference": {From: from, To: to, Reference: reference, Amount: math.MaxUint64},
		"answer to a link": {From: from, To: to, Amount: 7, Memo: "order 7", Reference: reference,
			LinkReferences: []wallet.Address{testKey(9).address(), testKey(4).address()}},
		"everything": {From: from, To: to, Reference: reference, Amount: 1_500_000_000,
			Memo: "rent for May", ComputeUnitLimit: 1_000, ComputeUnitPrice: 12_345},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := buildTransfer(transfer)
			if err != nil {
				t.Fatal(err)
			}
			d, err := Decode(raw, from)
			if err != nil {
				t.Fatal(err)
			}
			agree(t, raw, d)
			if d.Version != "legacy" || d.Blockhash != [32]byte{} || d.ComputeUnitPrice != transfer.ComputeUnitPrice {
				t.Errorf("got %+v", d)
			}
			want := wallet.Action{Type: "transfer", From: from, To: to, Reference: transfer.Reference, Lamports: transfer.Amount}
			if !transfer.Reference.IsZero() {
				want.References = append(slices.Clone(transfer.LinkReferences), transfer.Reference)
			}
			if last := d.Actions[len(d.Actions)-1]; !reflect.DeepEqual(last, want) {
				t.Errorf("got %+v, want %+v", last, want)
			}
			if (transfer.Memo != "") != slices.ContainsFunc(d.Actions, func(a wallet.Action) bool { return a.Type == "memo" && a.Text == transfer.Memo }) {
				t.Errorf("memo: got %+v", d.Actions)
			}
		})
	}
	raw, err := buildTransfer(wallet.Transaction{From: from, To: to, Amount: 1, ComputeUnitLimit: 200_000, ComputeUnitPrice: 7})
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Decode(raw, from); err != nil || d.Fee != wallet.SignatureFee+2 { // 1.4 lamports, rounded up
		t.Errorf("fee: got %d, %v", d.Fee, err)
	}
}

func TestTransfersThatNoDeviceWouldSignAreNotBuilt(t *testing.T) {
	from, to := testKey(1).address(), testKey(2).address()
	for code, transfer := range map[string]wallet.Transaction{
		SelfTransfer: {From: from, To: from, Amount: 1},
		ZeroAmount:   {From: from, To: to},
		BadReference: {From: from, To: to, Reference: to, Amount: 1},
		BadMemo:      {From: from, To: to, Amount: 1, Memo: "new\nline"},
		Budget:       {From: from, To: to, Amount: 1, ComputeUnitPrice: 1},
		TooLarge:     {From: from, To: to, Amount: 1, Memo: strings.Repeat("x", 1200)},
	} {
		var refused *NotAllowed
		if raw, err := buildTransfer(transfer); !errors.As(err, &refused) || refused.Code != code || raw != nil {
			t.Errorf("%s: got %v", code, err)
		}
	}
}

func TestOnlyTheSignersSignatureOfTheseBytesVerifies(t *testing.T) {
	key, other := testKey(1), testKey(2)
	raw, err := buildTransfer(wallet.Transaction{From: key.address(), To: other.address(), Amount: 5})
	if err != nil {
		t.Fatal(err)
	}
	sig := key.sign(raw)
	if !VerifySignature(raw, key.address(), sig) {
		t.Fatal("the owner's signature does not verify")
	}
	moved, err := WithBlockhash(raw, [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	// The identity point signs everything when small orders are let through: R = S·B with S = 0.
	identity := wallet.Address{1}
	forged := wallet.Signature{1}
	if !ed25519.Verify(identity[:], raw, forged[:]) {
		t.Fatal("the control does not verify by the lax rule")
	}
	for name, ok := range map[string]bool{
		"another message":        VerifySignature(moved, key.address(), sig),
		"another signer":         VerifySignature(raw, other.address(), sig),
		"no signature":           VerifySignature(raw, key.address(), wallet.Signature{}),
		"a key of small order":   VerifySignature(raw, identity, forged),
		"a nonce of small order": VerifySignature(raw, key.address(), wallet.Signature{1}),
	} {
		if ok {
			t.Errorf("verified: %s", name)
		}
	}

	wire, err := Assemble(raw, sig)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := solana.TransactionFromBytes(wire)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.VerifySignatures(); err != nil {
		t.Error(err)
	}
	signatures, message, _, err := disassemble(wire)
	if err != nil || !slices.Equal(signatures, []wallet.Signature{sig}) || !bytes.Equal(message, raw) {
		t.Errorf("taken apart it is not what was put together: %v", err)
	}
	if _, err := Assemble(raw[:len(raw)-1], sig); err == nil {
		t.Error("assembled a torn message")
	}
}

// BenchmarkDecodeAndCheck is what the server does with a signature that a device hands in.
func BenchmarkDecodeAndCheck(b *testing.B) {
	key := testKey(1)
	raw, err := buildTransfer(wallet.Transaction{From: key.address(), To: testKey(2).address(), Reference: testKey(3).address(),
		Amount: 1_500_000_000, ComputeUnitLimit: 1_000, ComputeUnitPrice: 1_000})
	if err != nil {
		b.Fatal(err)
	}
	sig := key.sign(raw)
	b.ReportAllocs()
	for b.Loop() {
		d, err := Decode(raw, key.address())
		if err != nil || len(d.Actions) != 1 || !VerifySignature(raw, key.address(), sig) {
			b.Fatal("the transaction was refused")
		}
	}
}

// testPrivateKey is a fixed key: tests repeat.
type testPrivateKey struct{ ed25519.PrivateKey }

func testKey(n byte) testPrivateKey {
	seed := sha256.Sum256([]byte{'t', n})
	return testPrivateKey{ed25519.NewKeyFromSeed(seed[:])}
}

func (k testPrivateKey) address() wallet.Address {
	return wallet.Address(k.Public().(ed25519.PublicKey))
}

func (k testPrivateKey) sign(message []byte) wallet.Signature {
	return wallet.Signature(ed25519.Sign(k.PrivateKey, message))
}
