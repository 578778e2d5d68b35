package solana

import "encoding/binary"

// What tests need to put mints and token accounts in place, and to write token instructions.

// extension is one of a fixture's extensions with its value.
type extension struct {
	kind  uint16
	value []byte
}

func withExtensions(data []byte, kind byte, list ...extension) []byte {
	if len(list) == 0 {
		return data
	}
	data = append(data, make([]byte, kindAt-len(data))...)
	data = append(data, kind)
	for _, e := range list {
		data = binary.LittleEndian.AppendUint16(data, e.kind)
		data = binary.LittleEndian.AppendUint16(data, uint16(len(e.value)))
		data = append(data, e.value...)
	}
	if len(data) == multisigSize {
		data = append(data, 0, 0)
	}
	return data
}

func rented(program address, data []byte) account {
	return account{Lamports: rentMinimum(len(data)), Owner: program, Data: data}
}

// aMint has 6 decimals and a supply; authority may mint and freeze.
func aMint(program, authority address, supply uint64, list ...extension) account {
	data := mintData(&authority, 6)
	mintAccount(data).setSupply(supply)
	return rented(program, withExtensions(data, kindMint, list...))
}

func aHolding(program, mint, owner address, amount uint64, list ...extension) account {
	h := tokenAccount(make([]byte, accountSize))
	putKey(h, 0, mint)
	putKey(h, 32, owner)
	h.setAmount(amount)
	h[108] = stateReady
	return rented(program, withExtensions(h, kindAccount, list...))
}

// changed returns the account with something of its data changed.
func (a account) changed(change func(tokenAccount)) account {
	a.Data = append([]byte(nil), a.Data...)
	change(tokenAccount(a.Data))
	return a
}

func delegated(to address, amount uint64) func(tokenAccount) {
	return func(h tokenAccount) {
		h.delegate().set(to)
		h.setDelegated(amount)
	}
}

func frozenState(h tokenAccount) { h[108] = stateFrozen }

// aWrapped is wrapped SOL.
func aWrapped(program, mint, owner address, lamports uint64, list ...extension) account {
	a := aHolding(program, mint, owner, lamports, list...)
	tokenAccount(a.Data).native().setU64(a.Lamports)
	a.Lamports += lamports
	return a
}

func feeExtension(config, withdraw address, points uint16, maximum, withheld uint64) extension {
	value := make([]byte, 108)
	putKey(value, 0, config)
	putKey(value, 32, withdraw)
	putU64(value, feeWithheldAt, withheld)
	writeFee(value[feeOlderAt:], 0, maximum, points)
	writeFee(value[feeNewerAt:], 1, maximum, points)
	return extension{extTransferFeeConfig, value}
}

func heldFee(amount uint64) extension {
	return extension{extTransferFeeAmount, binary.LittleEndian.AppendUint64(nil, amount)}
}

func keyExtension(kind uint16, keys ...address) extension {
	var value []byte
	for _, k := range keys {
		value = append(value, k[:]...)
	}
	return extension{kind, value}
}

func tokenCall(program address, data []byte, metas ...meta) call { return call{program, metas, data} }

func w(k address) meta { return meta{k, "w"} }
func s(k address) meta { return meta{k, "s"} }
func r(k address) meta { return meta{k, ""} }

func transferTokens(program, from, to, by address, amount uint64) call {
	return tokenCall(program, pack(byte(3), amount), w(from), w(to), s(by))
}

func transferChecked(program, from, mint, to, by address, amount uint64, decimals byte) call {
	return tokenCall(program, pack(byte(12), amount, decimals), w(from), r(mint), w(to), s(by))
}

func createATA(data []byte, payer, wallet, mint, program address) call {
	ata, _ := associatedAddress(wallet, program, mint)
	return call{associatedProgram, []meta{{payer, "sw"}, w(ata), r(wallet), r(mint), r(systemProgram), r(program)}, data}
}

func u16(n uint16) []byte { return binary.LittleEndian.AppendUint16(nil, n) }

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
