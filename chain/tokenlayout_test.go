package chain

import (
	"encoding/binary"
	"testing"

	"purser/wallet"
)

// aMint writes a mint's account: 6 decimals, freezable, then extensions of Token-2022.
func aMint(extensions ...[]byte) []byte {
	data := make([]byte, mintSize)
	data[44], data[45], data[46] = 6, 1, 1
	if len(extensions) == 0 {
		return data
	}
	data = append(data, make([]byte, tokenSize-mintSize)...)
	data = append(data, kindMint)
	for _, e := range extensions {
		data = append(data, e...)
	}
	return data
}

func anExtension(kind uint16, value ...byte) []byte {
	out := binary.LittleEndian.AppendUint16(nil, kind)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(value)))
	return append(out, value...)
}

func TestMintsAreReadWithTheirPowers(t *testing.T) {
	at, delegate := testKey(1).address(), testKey(2).address()
	fee := make([]byte, 108)
	binary.LittleEndian.PutUint64(fee[80:], 7) // older: at most 7, 1 percent
	binary.LittleEndian.PutUint16(fee[88:], 100)
	binary.LittleEndian.PutUint64(fee[90:], 5) // newer from epoch 5: at most 9, 2 percent
	binary.LittleEndian.PutUint64(fee[98:], 9)
	binary.LittleEndian.PutUint16(fee[106:], 200)
	hook := append(make([]byte, 32), delegate[:]...)
	for name, c := range map[string]struct {
		data []byte
		want func(*wallet.Mint)
	}{
		"plain":              {aMint(), func(*wallet.Mint) {}},
		"transfer fee":       {aMint(anExtension(1, fee...)), func(m *wallet.Mint) { m.AccountSize += 12 }},
		"non-transferable":   {aMint(anExtension(9)), func(m *wallet.Mint) { m.NonTransferable = true; m.AccountSize += 4 }},
		"permanent delegate": {aMint(anExtension(12, delegate[:]...)), func(m *wallet.Mint) { m.PermanentDelegate = delegate }},
		"hook":               {aMint(anExtension(14, hook...)), func(m *wallet.Mint) { m.Hook = delegate; m.AccountSize += 5 }},
		"no hook program":    {aMint(anExtension(14, make([]byte, 64)...)), func(m *wallet.Mint) { m.AccountSize += 5 }},
		"born frozen":        {aMint(anExtension(6, 2)), func(m *wallet.Mint) { m.DefaultFrozen = true }},
		"born ready":         {aMint(anExtension(6, 1)), func(*wallet.Mint) {}},
		"paused":             {aMint(anExtension(26, append(make([]byte, 32), 1)...)), func(m *wallet.Mint) { m.Paused = true; m.AccountSize += 4 }},
		"scaled":             {aMint(anExtension(25, make([]byte, 56)...)), func(m *wallet.Mint) { m.Scaled = true }},
		"of tomorrow":        {aMint(anExtension(99, 1)), func(m *wallet.Mint) { m.Unknown = true }},
		"room at the end":    {aMint(anExtension(3, delegate[:]...), make([]byte, 9)), func(*wallet.Mint) {}},
	} {
		got, ok := parseMint(at, wallet.Token2022Program, c.data)
		want := wallet.Mint{Address: at, Program: wallet.Token2022Program, Decimals: 6, AccountSize: 170}
		c.want(&want)
		if got.TransferFee != nil {
			f := *got.TransferFee
			if f.Older != (wallet.FeeRate{Maximum: 7, BasisPoints: 100}) || f.Newer != (wallet.FeeRate{Epoch: 5, Maximum: 9, BasisPoints: 200}) {
				t.Errorf("%s: fee %+v", name, f)
			}
			got.TransferFee = nil
		}
		if !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, want)
		}
	}
	if m, ok := parseMint(at, wallet.TokenProgram, aMint()); !ok || m.AccountSize != tokenSize {
		t.Errorf("of SPL Token: %+v, %v", m, ok)
	}
	uninitialized := aMint()
	uninitialized[45] = 0
	account := aMint(anExtension(9))
	account[tokenSize] = kindAccount
	for name, c := range map[string]struct {
		program wallet.Address
		data    []byte
	}{
		"nothing":                 {wallet.TokenProgram, nil},
		"another program":         {memoProgram, aMint()},
		"uninitialized":           {wallet.TokenProgram, uninitialized},
		"longer, of SPL Token":    {wallet.TokenProgram, aMint(anExtension(9))},
		"a token account":         {wallet.Token2022Program, account},
		"a base of another size":  {wallet.Token2022Program, aMint()[:mintSize-1]},
		"between the sizes":       {wallet.Token2022Program, append(aMint(), make([]byte, 20)...)},
		"as long as a multisig":   {wallet.Token2022Program, append(aMint(), make([]byte, multisigSize-mintSize)...)},
		"an extension cut short":  {wallet.Token2022Program, aMint(anExtension(12, delegate[:]...)[:20])},
		"a delegate of 31 bytes":  {wallet.Token2022Program, aMint(anExtension(12, delegate[:31]...))},
		"a fee of the wrong size": {wallet.Token2022Program, aMint(anExtension(1, fee[:107]...))},
	} {
		if m, ok := parseMint(at, c.program, c.data); ok {
			t.Errorf("%s: read as %+v", name, m)
		}
	}
}

// FuzzTokenLayouts: what a node says of a mint or a token account may be anything.
func FuzzTokenLayouts(f *testing.F) {
	f.Add(aMint(), true)
	f.Add(aMint(anExtension(14, make([]byte, 64)...), anExtension(12, make([]byte, 32)...)), false)
	f.Add(append(make([]byte, 108), 1), false)
	f.Add(append(append(make([]byte, 165), kindAccount), anExtension(8, 1)...), false)
	f.Fuzz(func(t *testing.T, data []byte, old bool) {
		program := wallet.Token2022Program
		if old {
			program = wallet.TokenProgram
		}
		at := testKey(1).address()
		mint, isMint := parseMint(at, program, data)
		account, isAccount := parseTokenAccount(at, program, data)
		if isMint && isAccount && len(data) != tokenSize {
			t.Fatalf("%x is a mint and an account: %+v, %+v", data, mint, account)
		}
		if isMint && (mint.AccountSize < tokenSize || mint.AccountSize == multisigSize) {
			t.Fatalf("accounts of %d bytes", mint.AccountSize)
		}
	})
}
