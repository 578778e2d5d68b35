package solana

import (
	"fmt"
)

// bank is what a transaction is judged against: the accounts after one block, and what that block
// knows of blockhashes and of transactions already done.
type bank struct {
	read       func(address) account
	recent     func(hash) bool // the blockhash is at most 150 blocks old
	done       func(*transaction) bool
	anyHash    bool // simulations may replace the blockhash
	unverified bool // simulations may leave the signatures unchecked
}

// outcome is what executing a transaction came to.
type outcome struct {
	Err    *TransactionError
	Landed bool // it belongs into a block: it succeeded, or failed and paid its fee
	Fee    uint64
	Units  uint64
	Loaded int // bytes of accounts loaded
	Logs   []string
	Pre    []uint64 // balances of the message's accounts before, in lamports
	Post   []uint64
	Writes map[address]account
}

// execute judges a sanitized transaction in the order that Agave does: what it may not even be
// charged for first, then the fee, then its instructions, then the rent of all it touched.
func (b bank) execute(tx *transaction) outcome {
	out := outcome{Logs: []string{}}
	limits, err := b.admit(tx)
	if err != nil {
		out.Err = err
		return out
	}

	accounts := make([]account, len(tx.Keys))
	for i, key := range tx.Keys {
		accounts[i] = b.read(key)
		out.Pre = append(out.Pre, accounts[i].Lamports)
	}
	before := append([]account(nil), accounts...)

	out.Fee = tx.fee(limits)
	if out.Err = payFee(&accounts[0], out.Fee); out.Err != nil {
		return out
	}
	out.Landed = true
	paid := accounts[0]

	run := &run{tx: tx, accounts: accounts, units: limits.Units}
	if out.Loaded, out.Err = load(tx, accounts, limits); out.Err == nil {
		out.Err = run.instructions()
	}
	if out.Err == nil {
		out.Err = checkRent(tx, before, accounts)
	}
	out.Logs = append(out.Logs, run.logs...)
	out.Units = limits.Units - run.units
	if out.Err != nil {
		copy(accounts, before)
		accounts[0] = paid
	}

	out.Writes = map[address]account{}
	for i, key := range tx.Keys {
		out.Post = append(out.Post, accounts[i].Lamports)
		if tx.writable(i) && (i == 0 || out.Err == nil) {
			out.Writes[key] = accounts[i]
		}
	}
	return out
}

// admit holds the checks whose failure leaves no trace on chain.
func (b bank) admit(tx *transaction) (budget, *TransactionError) {
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

// payFee takes the fee from the fee payer, who must be a plain wallet and may not be left with
// something below the rent minimum.
func payFee(payer *account, fee uint64) *TransactionError {
	if payer.Lamports == 0 {
		return failed("AccountNotFound")
	}
	if payer.Owner != systemProgram || len(payer.Data) > 0 {
		return failed("InvalidAccountForFee")
	}
	if payer.Lamports < fee {
		return failed("InsufficientFundsForFee")
	}
	after := *payer
	after.Lamports -= fee
	if !rentAllows(*payer, after) {
		return &TransactionError{Name: "InsufficientFundsForRent"}
	}
	*payer = after
	return nil
}

// load checks the programs that the instructions call, and the size of all accounts.
func load(tx *transaction, accounts []account, limits budget) (int, *TransactionError) {
	size := 0
	for _, a := range accounts {
		if a.exists() {
			size += loadedOverhead + len(a.Data)
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

// checkRent looks at every account that could change, as rent is owed whoever paid in.
func checkRent(tx *transaction, before, after []account) *TransactionError {
	for i, key := range tx.Keys {
		if tx.writable(i) && key != incinerator && !rentAllows(before[i], after[i]) {
			return &TransactionError{Name: "InsufficientFundsForRent", Index: i}
		}
	}
	return nil
}

// run is a transaction under way: its accounts as they stand, its meter, its log.
type run struct {
	tx       *transaction
	accounts []account
	units    uint64 // left
	growth   int    // bytes of data allocated so far
	logs     []string

	logged    int // bytes in logs
	truncated bool
}

// instructions runs all of them; the first error ends the transaction.
func (r *run) instructions() *TransactionError {
	for i, ix := range r.tx.Instructions {
		program := r.tx.Keys[ix.Program]
		r.log("Program %s invoke [1]", program)
		if err := r.invoke(program, ix); err != nil {
			text := err.logged
			if text == "" {
				text = err.Error()
			}
			r.log("Program %s failed: %s", program, text)
			return &TransactionError{Name: "InstructionError", Index: i, Instruction: err}
		}
		r.log("Program %s success", program)
	}
	return nil
}

const unitsOfNative = 150 // what System and Compute Budget instructions use, each

func (r *run) invoke(program address, ix instruction) *InstructionError {
	in := &invocation{run: r, program: program, accounts: ix.Accounts, data: ix.Data}
	switch program {
	case systemProgram:
		if err := r.consume(unitsOfNative); err != nil {
			return err
		}
		return in.system()
	case budgetProgram:
		return r.consume(unitsOfNative) // its instructions took effect before the first ran
	case memoV1, memoV3:
		return in.memo()
	}
	return refused("UnsupportedProgramId")
}

func (r *run) consume(units uint64) *InstructionError {
	if units > r.units {
		r.units = 0
		return refused("ComputationalBudgetExceeded")
	}
	r.units -= units
	return nil
}

// maxLog is how many bytes of log a transaction keeps; lines that do not fit are left out.
const maxLog = 10_000

func (r *run) log(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	switch {
	case r.logged+len(line) < maxLog:
		r.logged += len(line)
		r.logs = append(r.logs, line)
	case !r.truncated:
		r.truncated = true
		r.logs = append(r.logs, "Log truncated")
	}
}

// invocation is one instruction running. Accounts are named by their place in the instruction;
// what a program may do to them is checked where it happens, with the errors of Agave's
// BorrowedAccount.
type invocation struct {
	*run
	program  address
	accounts []byte
	data     []byte
}

// need refuses an instruction with fewer accounts than it takes.
func (in *invocation) need(n int) *InstructionError {
	if len(in.accounts) < n {
		return refused("MissingAccount")
	}
	return nil
}

func (in *invocation) key(i int) address      { return in.tx.Keys[in.accounts[i]] }
func (in *invocation) signs(i int) bool       { return in.tx.signer(int(in.accounts[i])) }
func (in *invocation) writable(i int) bool    { return in.tx.writable(int(in.accounts[i])) }
func (in *invocation) account(i int) *account { return &in.run.accounts[in.accounts[i]] }

// signed says whether the key is one of this instruction's signers.
func (in *invocation) signed(key address) bool {
	for i := range in.accounts {
		if in.signs(i) && in.key(i) == key {
			return true
		}
	}
	return false
}

func (in *invocation) setLamports(i int, lamports uint64) *InstructionError {
	a := in.account(i)
	if lamports < a.Lamports && a.Owner != in.program {
		return refused("ExternalAccountLamportSpend")
	}
	if !in.writable(i) {
		return refused("ReadonlyLamportChange")
	}
	a.Lamports = lamports
	return nil
}

func (in *invocation) setOwner(i int, owner address) *InstructionError {
	a := in.account(i)
	if a.Owner != in.program || !in.writable(i) {
		return refused("ModifiedProgramId")
	}
	for _, b := range a.Data {
		if b != 0 {
			return refused("ModifiedProgramId")
		}
	}
	a.Owner = owner
	return nil
}

func (in *invocation) setSize(i int, size int) *InstructionError {
	a := in.account(i)
	if size != len(a.Data) && a.Owner != in.program {
		return refused("AccountDataSizeChanged")
	}
	if in.growth+size-len(a.Data) > maxGrowth {
		return refused("MaxAccountsDataAllocationsExceeded")
	}
	if !in.writable(i) {
		return refused("ReadonlyDataModified")
	}
	if a.Owner != in.program {
		return refused("ExternalAccountDataModified")
	}
	in.growth += size - len(a.Data)
	a.Data = append(make([]byte, 0, size), a.Data[:min(size, len(a.Data))]...)[:size]
	return nil
}
