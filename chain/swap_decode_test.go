package chain

import (
	"encoding/binary"
	bigint "math/big"
	"strconv"
	"testing"

	"github.com/gagliardetto/solana-go"

	"purser/wallet"
)

// describeSwap writes a swap the way the fixtures do.
func describeSwap(said map[string]any, a wallet.Action) {
	s := a.Swap
	said["from"], said["source"], said["account"] = a.From.String(), s.Source.String(), s.Destination.String()
	said["mint"], said["out_mint"] = s.InMint.String(), s.OutMint.String()
	said["units"], said["quoted"], said["minimum"] = strconv.FormatUint(s.Units, 10), strconv.FormatUint(s.Quoted, 10), strconv.FormatUint(s.Minimum, 10)
	said["slippage_bps"] = float64(s.SlippageBPS)
}

// agreeOnSwap holds an accepted swap to what the library reads in the message: nobody but the wallet signs, its accounts are derived from it,
// the amounts are those in the data, and no program but the swap program names an account that the message does not show.
func agreeOnSwap(t *testing.T, m *solana.Message, d wallet.Decoded) {
	t.Helper()
	payer := m.AccountKeys[0]
	derived := func(mint wallet.Address) wallet.Address {
		return wallet.Address(associatedBy(t, payer, solana.PublicKey(mint), solana.TokenProgramID))
	}
	var swap *wallet.SwapAction
	paid := uint64(0)
	for _, a := range d.Actions {
		switch a.Type {
		case wallet.ActionSwap:
			swap = a.Swap
		case wallet.ActionWrap:
			paid += a.Lamports
		case wallet.ActionTransfer, wallet.ActionTokenTransfer, wallet.ActionMemo:
			t.Fatalf("a swap that does more: %+v", a)
		}
	}
	if swap.Source != derived(swap.InMint) || swap.Destination != derived(swap.OutMint) || swap.PassesSignature {
		t.Fatalf("accepted %+v", swap)
	}
	if wrapped := swap.InMint == wallet.WrappedSOL; wrapped && paid != swap.Units || !wrapped && paid != 0 {
		t.Fatalf("%d lamports are wrapped for %d", paid, swap.Units)
	}
	routes := 0
	for _, in := range m.Instructions {
		program := wallet.Address(m.AccountKeys[in.ProgramIDIndex])
		mine := 0
		for _, index := range in.Accounts {
			if index == 0 {
				mine++
			}
			if int(index) >= len(m.AccountKeys) && program != wallet.SwapProgram {
				t.Fatalf("%s names an account of a lookup table", program)
			}
		}
		if program != wallet.SwapProgram {
			continue
		}
		routes++
		least := new(bigint.Int).Mul(new(bigint.Int).SetUint64(binary.LittleEndian.Uint64(in.Data[17:])), bigint.NewInt(10_000-int64(binary.LittleEndian.Uint16(in.Data[25:]))))
		least.Div(least, bigint.NewInt(10_000))
		if mine != 1 || in.Accounts[1] != 0 || binary.LittleEndian.Uint64(in.Data[9:]) != swap.Units || least.Uint64() != swap.Minimum || swap.Minimum == 0 {
			t.Fatalf("accepted %x with %d signatures as %+v", in.Data, mine, swap)
		}
	}
	if routes != 1 {
		t.Fatalf("%d swaps", routes)
	}
}
