package solana

// tokenBalances are the balances of a transaction's token accounts before and after it.
type tokenBalances struct {
	Pre  []tokenBalance `json:"pre,omitempty"`
	Post []tokenBalance `json:"post,omitempty"`
}

// tokenBalance is one balance, in base units.
type tokenBalance struct {
	Index    int     `json:"index"` // index in the transaction's account keys
	Mint     address `json:"mint"`
	Owner    address `json:"owner"`
	Program  address `json:"program"`
	Amount   uint64  `json:"amount"`
	Decimals byte    `json:"decimals"`
}

// balancesOf reads the balances as validators do: only if the transaction names a token program.
func balancesOf(tx *transaction, b bank, before, after []account) tokenBalances {
	if !tx.has(tokenProgram) && !tx.has(token2022Program) {
		return tokenBalances{}
	}
	return tokenBalances{heldIn(tx, b, before), heldIn(tx, b, after)}
}

// heldIn lists the token accounts. A mint that the transaction touches counts in its state at that moment.
func heldIn(tx *transaction, b bank, accounts []account) []tokenBalance {
	var list []tokenBalance
	for i, a := range accounts {
		h, ok := holdingIn(a)
		// Accounts that are called as programs are left out, as validators do.
		if !ok || tx.calls(i) {
			continue
		}
		mint := b.read(h.mint())
		for j, k := range tx.Keys {
			if k == h.mint() {
				mint = accounts[j]
			}
		}
		decimals, ok := decimalsOf(h.mint(), mint)
		if ok {
			list = append(list, tokenBalance{i, h.mint(), h.owner(), a.Owner, h.amount(), decimals})
		}
	}
	return list
}

// decimalsOf returns a mint's decimals. Wrapped SOL always has 9.
func decimalsOf(key address, mint account) (byte, bool) {
	if isNative(key) {
		return 9, true
	}
	m, ok := mintIn(mint)
	if !ok {
		return 0, false
	}
	return m.decimals(), true
}
