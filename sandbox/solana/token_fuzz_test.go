package solana

import (
	"encoding/binary"
	"testing"
)

// FuzzTokenData reads any bytes as mints, token accounts, extension lists and lookup tables: never
// a panic, and what is found lies inside the data.
func FuzzTokenData(f *testing.F) {
	someone := addressOf("alice")
	f.Add(mintData(&someone, 6), byte(1))
	f.Add(feeMintData(someone), byte(extTransferFeeConfig))
	f.Add(aHolding(token2022Program, theMint, someone, 5, heldFee(3), extension{extMemoTransfer, []byte{1}}).Data, byte(extMemoTransfer))
	f.Add(aTable(&someone, nil, someone, theMint).Data, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, extension byte) {
		for _, program := range []address{tokenProgram, token2022Program} {
			a := account{Lamports: 1, Owner: program, Data: data}
			if m, ok := mintIn(a); ok {
				m.permanentDelegate()
				m.paused()
				if config, ok := m.extensions().find(extTransferFeeConfig); ok {
					epochFee(config, 2, m.supply())
					points := uint64(binary.LittleEndian.Uint16(config[feeNewerAt+16:]))
					fee, ok := transferFee(m.supply(), u64At(config, feeNewerAt+8), points)
					if points <= maxBasisPoints && (!ok || fee > m.supply()) {
						t.Errorf("a fee of %d for %d", fee, m.supply())
					}
				}
			}
			if h, ok := holdingIn(a); ok {
				h.guard()
				h.closedBy()
			}
		}
		list := extensionsOf(data)
		types, used, err := list.types()
		if err == nil && used > len(list) {
			t.Errorf("%d bytes of %d are used", used, len(list))
		}
		if value, ok := list.find(uint16(extension)); ok && len(value) > len(list) {
			t.Errorf("a value of %d bytes in %d", len(value), len(list))
		}
		sizeWith(accountSize, needed(types))
	})
}

// FuzzTokenInstruction lets each token program, the associated account program and the lookup
// table program run any instruction over accounts with any data: never a panic, and no lamport
// comes or goes but for the fee.
func FuzzTokenInstruction(f *testing.F) {
	mallory := addressOf("mallory")
	mint := feeMintData(mallory)
	held := aHolding(token2022Program, theMint, mallory, 500, heldFee(0)).Data
	for _, data := range [][]byte{
		pack(byte(3), uint64(5)), pack(byte(12), uint64(5), byte(6)), pack(byte(7), uint64(5)), {9}, {10}, {17}, {22}, {21, 7, 0},
		append([]byte{24}, "1.5"...), pack(byte(26), byte(1), uint64(500), byte(6), uint64(5)), {26, 3, 1}, {26, 4}, {29, 8, 0}, {30, 0}, {34, 1},
		append([]byte{6, 2, 1}, mallory[:]...), append([]byte{18}, mallory[:]...),
	} {
		for program := range byte(4) {
			f.Add(program, byte(0b0111), data, held, mint, held)
		}
	}
	f.Fuzz(func(t *testing.T, program, flags byte, data, first, second, third []byte) {
		if len(data) > 600 || len(first)+len(second)+len(third) > 4000 {
			return
		}
		owners := []address{tokenProgram, token2022Program}
		called := []address{tokenProgram, token2022Program, associatedProgram, lookupProgram}[program%4]
		c, err := Open(Options{Now: newClock().now})
		if err != nil {
			t.Fatal(err)
		}
		metas := []meta{{from, "w"}, {theMint, "w"}, {to, "w"}}
		for i, content := range [][]byte{first, second, third} {
			if flags>>i&1 == 0 {
				metas[i].flag = ""
			}
			a := rented(owners[int(flags>>(3+i))&1], content)
			if called == lookupProgram {
				a.Owner = lookupProgram
			}
			c.state.set(metas[i].key, 0, a, 0)
		}
		c.state.set(mallory, 0, account{Lamports: sol}, 0)
		metas = append(metas, meta{mallory, "sw"}, r(systemProgram), r(tokenProgram), r(token2022Program))
		tx, err := parseTransaction(draft{payer: "mallory", blockhash: c.blockhash(0), calls: []call{{called, metas, data}}}.bytes())
		if err != nil {
			t.Fatal(err)
		}
		out := c.bank(0).execute(tx)
		var before, after uint64
		for i := range out.Pre {
			before += out.Pre[i]
			after += out.Post[i]
		}
		if !out.Landed || before != after+out.Fee {
			t.Errorf("%d lamports before, %d after and %d for the fee: %v", before, after, out.Fee, out.Err)
		}
	})
}
