package solana

// bank is what a transaction is judged against: the accounts after one block, the valid blockhashes, and the
// transactions that have landed. Simulations use one with relaxed checks.
type bank struct {
	read              func(address) account
	recent            func(hash) bool // the blockhash is at most 150 blocks old
	done              func(*transaction) bool
	rent              rentRate                          // in the block that is being made
	slot              uint64                            // of the block that is being made
	time              func(slot uint64) int64           // Unix time in seconds
	recentSlot        func(uint64) (place int, ok bool) // index of a slot in SlotHashes: the 512 slots before this one, newest first
	epoch             func(slot uint64) uint64
	firstSlot         func(epoch uint64) uint64
	anyHash           bool   // simulations may replace the blockhash, so any is accepted
	minimumDelegation uint64 // lamports that a delegated stake needs
	unverified        bool   // simulations may leave signatures unchecked
}

// outcome is the result of executing a transaction. Nothing is stored until Cluster.settle takes it. Fee is in
// lamports and Units are the compute units used. Pre and Post are the balances of all the message's accounts, in the
// order of its keys. Inner, Return and Tokens go into the transaction's meta. Writes has the new state of each
// account that changed.
type outcome struct {
	Err    *TransactionError
	Landed bool // it goes into a block: it succeeded, or it failed and paid its fee
	Fee    uint64
	Units  uint64
	Loaded int // bytes of accounts loaded
	Logs   []string
	Pre    []uint64 // balances of the message's accounts before, in lamports
	Post   []uint64
	Inner  []innerInstruction
	Return *returnData
	Tokens tokenBalances
	Writes map[address]account

	loaded *transaction // the transaction with the keys from its lookup tables
}

// execute runs a transaction in the order that Agave does: first the checks that leave no trace on chain, then the
// fee, then the instructions, then rent. A failure after the fee is taken lands with only the fee as its effect.
func (b bank) execute(tx *transaction) outcome {
	out := outcome{Logs: []string{}, loaded: tx}
	// Lookup tables come first, because every later check needs the complete list of keys.
	tx, err := b.lookUp(tx)
	if err != nil {
		out.Err = err
		return out
	}
	out.loaded = tx
	limits, err := b.admit(tx)
	if err != nil {
		out.Err = err
		return out
	}

	// Balances and accounts before the fee are kept for the transaction's meta, and to undo a failure.
	accounts := make([]account, len(tx.Keys))
	for i, key := range tx.Keys {
		accounts[i] = b.read(key)
		out.Pre = append(out.Pre, accounts[i].Lamports)
	}
	before := append([]account(nil), accounts...)

	// The fee is due from here on, whatever happens.
	out.Fee = tx.fee(limits)
	if out.Err = b.payFee(&accounts[0], out.Fee); out.Err != nil {
		return out
	}
	out.Landed = true
	paid := accounts[0]

	run := &run{bank: b, tx: tx, accounts: accounts, units: limits.Units}
	if out.Loaded, out.Err = load(tx, accounts, limits); out.Err == nil {
		out.Err = run.instructions()
	}
	if out.Err == nil {
		out.Err = b.checkRent(tx, before, accounts)
	}
	out.Logs = append(out.Logs, run.logs...)
	out.Units = limits.Units - run.units
	out.Inner, out.Return = run.inner, run.returned
	// A failed transaction changes nothing but the payer's balance.
	if out.Err != nil {
		copy(accounts, before)
		accounts[0] = paid
	}

	// Only writable accounts are written back. After a failure it is the payer alone, which paid the fee.
	out.Writes = map[address]account{}
	out.Tokens = balancesOf(tx, b, before, accounts)
	for i, key := range tx.Keys {
		out.Post = append(out.Post, accounts[i].Lamports)
		if tx.writable(i) && (i == 0 || out.Err == nil) {
			out.Writes[key] = accounts[i]
		}
	}
	return out
}

// admit makes the checks after whose failure a transaction does not land and pays no fee.
func (b bank) admit(tx *transaction) (budget, *TransactionError) {
	// Agave checks in this order, so the first failing check decides which error a client sees.
	if tx.repeats() {
		return budget{}, failed("AccountLoadedTwice")
	}
	if !b.unverified && !tx.signed() {
		return budget{}, failed("SignatureFailure")
	}
	limits, err := readBudget(&tx.message)
	if err != nil {
		return budget{}, err
	}
	if !b.anyHash && !b.recent(tx.Blockhash) {
		return budget{}, failed("BlockhashNotFound")
	}
	if b.done(tx) {
		return budget{}, failed("AlreadyProcessed")
	}
	return limits, nil
}

// payFee takes the fee in lamports from the payer. The payer must be a System account without data, and what it has
// left must be nothing or at least the rent minimum.
func (b bank) payFee(payer *account, fee uint64) *TransactionError {
	// An account without lamports does not exist.
	if payer.Lamports == 0 {
		return failed("AccountNotFound")
	}
	if payer.Owner != systemProgram || len(payer.Data) > 0 {
		return failed("InvalidAccountForFee")
	}
	if payer.Lamports < fee {
		return failed("InsufficientFundsForFee")
	}
	// The payer may be emptied, but not left with less than the rent minimum.
	after := *payer
	after.Lamports -= fee
	if !b.rent.allows(*payer, after) {
		return &TransactionError{Name: "InsufficientFundsForRent"}
	}
	*payer = after
	return nil
}

// load checks the programs that the instructions call, and the size of all accounts. It returns that size in bytes.
func load(tx *transaction, accounts []account, limits budget) (int, *TransactionError) {
	size := 0
	for i, a := range accounts {
		if a.exists() {
			size += loadedOverhead + loadedSize(tx.Keys[i], a)
		}
		if size > limits.LoadedData {
			return size, failed("MaxLoadedAccountsDataSizeExceeded")
		}
	}
	for _, ix := range tx.Instructions {
		program := accounts[ix.Program]
		if !program.exists() {
			return size, failed("ProgramAccountNotFound")
		}
		if !program.Executable {
			return size, failed("InvalidProgramForExecution")
		}
	}
	return size, nil
}

// programSizes are the bytes that count as loaded for programs whose account here holds programStub in place of
// machine code. Upgradeable programs count 36 bytes, because their code is in another account.
var programSizes = map[address]int{
	memoV1: 17_280, memoV3: 2_304, associatedProgram: 105_032,
	memoV4: 36, lighthouseProgram: 36, tokenProgram: 36, token2022Program: 36, lookupProgram: 36,
	stakeProgram: 36, swapProgram: 36,
}

// loadedSize is the number of data bytes that an account counts for as loaded.
func loadedSize(key address, a account) int {
	if size, ok := programSizes[key]; ok && string(a.Data) == programStub {
		return size
	}
	return len(a.Data)
}

// checkRent checks every writable account that is left below its rent minimum, no matter who paid into it.
func (b bank) checkRent(tx *transaction, before, after []account) *TransactionError {
	for i, key := range tx.Keys {
		if tx.writable(i) && key != incinerator && !b.rent.allows(before[i], after[i]) {
			return &TransactionError{Name: "InsufficientFundsForRent", Index: i}
		}
	}
	return nil
}
