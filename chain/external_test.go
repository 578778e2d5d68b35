package chain

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// altered is a transaction as a wallet hands it back.
type altered struct {
	instructions []solana.Instruction
	payer        wallet.Address
	hash         [32]byte
}

func anInstruction(program wallet.Address, data []byte, accounts ...*solana.AccountMeta) solana.Instruction {
	return solana.NewInstruction(solana.PublicKey(program), accounts, data)
}

// meta is an account as solana-go's own builder takes it.
func meta(a Account) *solana.AccountMeta {
	return solana.NewAccountMeta(solana.PublicKey(a.Address), a.Writable, a.Signer)
}

// TestAWalletMayAddBudgetAndAssertionsAndNothingElse hands back one asked transfer in many ways.
func TestAWalletMayAddBudgetAndAssertionsAndNothingElse(t *testing.T) {
	alice, mallory := testKey(1), testKey(7)
	bob, reference := testKey(2).address(), testKey(3).address()
	hash := [32]byte{9}
	asked := wallet.Transaction{From: alice.address(), To: bob, Reference: reference, Amount: 1_500_000_000, ComputeUnitLimit: 1_000, ComputeUnitPrice: 10}
	message, err := buildTransfer(asked)
	if err != nil {
		t.Fatal(err)
	}
	transfer := func(to wallet.Address, lamports uint64, extra ...*solana.AccountMeta) solana.Instruction {
		data := binary.LittleEndian.AppendUint64([]byte{systemTransfer, 0, 0, 0}, lamports)
		return anInstruction(wallet.SystemProgram, data, append([]*solana.AccountMeta{meta(signer(alice.address())), meta(writable(to))}, extra...)...)
	}
	ours := transfer(bob, asked.Amount, meta(readonly(reference)))
	limit := anInstruction(computeBudgetProgram, []byte{budgetLimit, 0x40, 0x9c, 0, 0})
	price := func(micro uint64) solana.Instruction {
		return anInstruction(computeBudgetProgram, binary.LittleEndian.AppendUint64([]byte{budgetPrice}, micro))
	}
	assertion := func(kind byte) solana.Instruction {
		return anInstruction(lighthouseProgram, []byte{kind, 4, 0, 0}, meta(readonly(alice.address())))
	}
	plain := altered{instructions: []solana.Instruction{ours}, payer: alice.address(), hash: hash}
	with := func(change func(*altered)) altered {
		a := plain
		a.instructions = slices.Clone(plain.instructions)
		change(&a)
		return a
	}
	good := map[string]altered{
		"as asked, without its budget": plain,
		"another budget":               with(func(a *altered) { a.instructions = []solana.Instruction{limit, price(100), ours} }),
		"a budget at the end":          with(func(a *altered) { a.instructions = append(a.instructions, price(100), limit) }),
		"an assertion before and after": with(func(a *altered) {
			a.instructions = []solana.Instruction{assertion(5), ours, assertion(17), assertion(2)}
		}),
	}
	nonce := anInstruction(wallet.SystemProgram, []byte{4, 0, 0, 0}, meta(writable(testKey(8).address())), meta(readonly(testKey(9).address())), meta(signer(alice.address())))
	bad := map[string]altered{
		"another recipient": with(func(a *altered) {
			a.instructions[0] = transfer(testKey(5).address(), asked.Amount, meta(readonly(reference)))
		}),
		"another amount": with(func(a *altered) { a.instructions[0] = transfer(bob, asked.Amount+1, meta(readonly(reference))) }),
		"no reference":   with(func(a *altered) { a.instructions[0] = transfer(bob, asked.Amount) }),
		"another reference": with(func(a *altered) {
			a.instructions[0] = transfer(bob, asked.Amount, meta(readonly(testKey(6).address())))
		}),
		"a writable reference": with(func(a *altered) {
			a.instructions[0] = transfer(bob, asked.Amount, meta(writable(reference)))
		}),
		"a second transfer":      with(func(a *altered) { a.instructions = append(a.instructions, transfer(testKey(5).address(), 1)) }),
		"the transfer twice":     with(func(a *altered) { a.instructions = append(a.instructions, ours) }),
		"nothing":                with(func(a *altered) { a.instructions = []solana.Instruction{limit} }),
		"a memo":                 with(func(a *altered) { a.instructions = append(a.instructions, anInstruction(memoProgram, []byte("hi"))) }),
		"an unknown program":     with(func(a *altered) { a.instructions = append(a.instructions, anInstruction(testKey(5).address(), nil)) }),
		"a nonce advance":        with(func(a *altered) { a.instructions = append([]solana.Instruction{nonce}, a.instructions...) }),
		"Lighthouse's memory":    with(func(a *altered) { a.instructions = append(a.instructions, assertion(0)) }),
		"Lighthouse's closing":   with(func(a *altered) { a.instructions = append(a.instructions, assertion(1)) }),
		"Lighthouse of tomorrow": with(func(a *altered) { a.instructions = append(a.instructions, assertion(18)) }),
		"a ruinous fee":          with(func(a *altered) { a.instructions = append(a.instructions, limit, price(100_000_000)) }),
		"a price without limit":  with(func(a *altered) { a.instructions = append(a.instructions, price(1)) }),
		"an older blockhash":     with(func(a *altered) { a.hash = [32]byte{8} }),
		"another payer":          with(func(a *altered) { a.payer = mallory.address() }),
	}
	check := func(t *testing.T, a altered) (wallet.Signature, error) {
		t.Helper()
		tx, err := solana.NewTransaction(a.instructions, solana.Hash(a.hash), solana.TransactionPayer(solana.PublicKey(a.payer)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := tx.Message.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		wire := []byte{byte(tx.Message.Header.NumRequiredSignatures)}
		for range tx.Message.Header.NumRequiredSignatures {
			wire = append(wire, ed25519.Sign(alice.PrivateKey, raw)...)
		}
		return CheckSigned(message, hash, alice.address(), append(wire, raw...))
	}
	for name, a := range good {
		if signature, err := check(t, a); err != nil || signature.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, a := range bad {
		var refused *NotAllowed
		if signature, err := check(t, a); !errors.As(err, &refused) || !signature.IsZero() {
			t.Errorf("%s: accepted, %v", name, err)
		}
	}
	wire, err := Assemble(message, wallet.Signature{1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CheckSigned(message, [32]byte{}, alice.address(), wire); err == nil {
		t.Error("a signature by nobody was accepted")
	}
}

// TestASignedVersion1TransactionIsRefusedByName: in its own layout (message first, signatures last), and with its
// message where that of an older version stands.
func TestASignedVersion1TransactionIsRefusedByName(t *testing.T) {
	alice := testKey(1)
	message, err := buildTransfer(wallet.Transaction{From: alice.address(), To: testKey(2).address(), Amount: 5})
	if err != nil {
		t.Fatal(err)
	}
	v1 := append([]byte{0x81}, message...)
	signature := ed25519.Sign(alice.PrivateKey, v1)
	for _, wire := range [][]byte{append(slices.Clone(v1), signature...), append(append([]byte{1}, signature...), v1...)} {
		var refused *NotAllowed
		if _, err := CheckSigned(message, [32]byte{}, alice.address(), wire); !errors.As(err, &refused) || wire[0] == 0x81 && refused.Code != Version {
			t.Errorf("%x…: %v", wire[:2], err)
		}
	}
}

func FuzzCheckSigned(f *testing.F) {
	alice := testKey(1)
	message, err := buildTransfer(wallet.Transaction{From: alice.address(), To: testKey(2).address(), Amount: 5})
	if err != nil {
		f.Fatal(err)
	}
	wire, err := Assemble(message, wallet.Signature(ed25519.Sign(alice.PrivateKey, message)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Fuzz(func(t *testing.T, data []byte) {
		signature, err := CheckSigned(message, [32]byte{}, alice.address(), data)
		if err == nil && !slices.Equal(data, wire) {
			// Only what holds the very transfer, signed by Alice, may pass: nobody else can sign.
			t.Fatalf("accepted %x with %s", data, signature)
		}
	})
}
