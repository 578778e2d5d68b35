package solana

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// run is the execution of one transaction: its accounts as they are now, its remaining compute units, and its log. It
// is used by one goroutine. Nothing in it is visible to others until execute returns an outcome.
type run struct {
	bank
	tx       *transaction
	accounts []account
	units    uint64 // compute units left
	growth   int    // bytes of data allocated so far, over all accounts
	logs     []string
	top      int // index of the top-level instruction that runs
	trace    []traced
	inner    []innerInstruction
	returned *returnData

	logged    int // bytes in logs
	truncated bool
}

// traced is an instruction that has begun, for programs that check which instruction ran before them.
type traced struct {
	depth   int
	program address
}

// innerInstruction is an instruction that a program called, as getTransaction lists it. Program and Accounts are
// indexes of the message's account keys.
type innerInstruction struct {
	Top      int    `json:"top"` // index of the top-level instruction that led to it
	Depth    int    `json:"depth"`
	Program  int    `json:"program"`
	Accounts []byte `json:"accounts"`
	Data     []byte `json:"data"`
}

// returnData is what a program returned (sol_set_return_data), kept until the next instruction begins.
type returnData struct {
	program address
	data    []byte
}

// instructions runs the message's instructions in order. The first error ends the transaction.
func (r *run) instructions() *TransactionError {
	for i, ix := range r.tx.Instructions {
		// The message's own instructions have depth 1; each call of another program adds one.
		in := &invocation{run: r, program: r.tx.Keys[ix.Program], depth: 1, data: ix.Data}
		for _, a := range ix.Accounts {
			in.accounts = append(in.accounts, instructionAccount{int(a), r.tx.signer(int(a)), r.tx.writable(int(a))})
		}
		r.top = i
		if err := in.invoke(); err != nil {
			return &TransactionError{Name: "InstructionError", Index: i, Instruction: err}
		}
	}
	return nil
}

const unitsOfNative = 150 // compute units of each System and Compute Budget instruction

// invoke runs the instruction, and logs its begin and end as the runtime does.
func (in *invocation) invoke() *InstructionError {
	// Return data of an earlier instruction is gone once the next one begins.
	in.returned = nil
	in.trace = append(in.trace, traced{in.depth, in.program})
	in.log("Program %s invoke [%d]", in.program, in.depth)
	if err := in.execute(); err != nil {
		text := err.logged
		if text == "" {
			text = err.Error()
		}
		in.log("Program %s failed: %s", in.program, text)
		return err
	}
	in.log("Program %s success", in.program)
	return nil
}

// execute dispatches to the program. Compiled programs log their units and are checked at the end; builtin programs
// are not.
func (in *invocation) execute() *InstructionError {
	switch in.program {
	case systemProgram:
		if err := in.consume(unitsOfNative); err != nil {
			return err
		}
		return in.system()
	case budgetProgram:
		return in.consume(unitsOfNative) // they took effect before the first instruction ran
	case memoV1, memoV3, memoV4:
		return in.memo()
	case tokenProgram:
		return in.compiled(in.token)
	case token2022Program:
		return in.compiled(in.token2022)
	case associatedProgram:
		return in.compiled(in.associated)
	case lighthouseProgram:
		return in.compiled(in.lighthouse)
	case lookupProgram:
		return in.compiled(in.lookupTable)
	case stakeProgram:
		return in.compiled(in.stake)
	case swapProgram:
		return in.compiled(in.swap)
	}
	return refused("UnsupportedProgramId")
}

// consume charges compute units. If too few are left, it takes all of them and fails.
func (r *run) consume(units uint64) *InstructionError {
	// The rest is charged too, so that the meter shows the whole limit as used.
	if units > r.units {
		r.units = 0
		return refused("ComputationalBudgetExceeded")
	}
	r.units -= units
	return nil
}

// maxLog is how many bytes of log a transaction keeps; lines that do not fit are left out.
const maxLog = 10_000

// log writes one line of the transaction's log. Sanitized input is at most a packet long, so only the total needs a
// bound.
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

// invocation is one running instruction. Accounts are named by their index in the instruction. For builtin programs
// (System) the setters check what the program may do, with the errors of Agave's BorrowedAccount. Programs that are
// machine code on a real cluster change copies and are checked when they end (compiled), as there.
type invocation struct {
	*run
	program  address
	depth    int // 1 for the message's own instructions
	accounts []instructionAccount
	data     []byte
	before   map[int]account // accounts at the last check, by index in the message; only for compiled programs
}

// instructionAccount is an account of an instruction: its index in the message, and the rights that the instruction
// has.
type instructionAccount struct {
	index            int
	signer, writable bool
}

// need refuses an instruction of a builtin program with fewer accounts than it takes.
func (in *invocation) need(n int) *InstructionError {
	if len(in.accounts) < n {
		return refused("MissingAccount")
	}
	return nil
}

// key, signs, writable and account look at the account at index i of the instruction. Callers have checked that there
// are enough.
func (in *invocation) key(i int) address      { return in.tx.Keys[in.accounts[i].index] }
func (in *invocation) signs(i int) bool       { return in.accounts[i].signer }
func (in *invocation) writable(i int) bool    { return in.accounts[i].writable }
func (in *invocation) account(i int) *account { return &in.run.accounts[in.accounts[i].index] }

// same says whether two indexes of the instruction are one account.
func (in *invocation) same(i, j int) bool { return in.accounts[i].index == in.accounts[j].index }

// signed says whether the key is one of this instruction's signers.
func (in *invocation) signed(key address) bool {
	for i := range in.accounts {
		if in.signs(i) && in.key(i) == key {
			return true
		}
	}
	return false
}

// setLamports changes a balance, if the rules of mayPay allow it.
func (in *invocation) setLamports(i int, lamports uint64) *InstructionError {
	a := in.account(i)
	if err := in.mayPay(i, *a, lamports); err != nil {
		return err
	}
	a.Lamports = lamports
	return nil
}

// mayPay enforces two rules of the runtime: only the owner program may take lamports, and a read-only account keeps
// its balance.
func (in *invocation) mayPay(i int, a account, lamports uint64) *InstructionError {
	if lamports < a.Lamports && a.Owner != in.program {
		return refused("ExternalAccountLamportSpend")
	}
	if !in.writable(i) {
		return refused("ReadonlyLamportChange")
	}
	return nil
}

// setOwner gives an account to another program. Only the current owner may do so, and only while the data is all
// zero, so that a program never finds data in its account which it did not write.
func (in *invocation) setOwner(i int, owner address) *InstructionError {
	a := in.account(i)
	if a.Owner != in.program || !in.writable(i) || !zeroed(a.Data) {
		return refused("ModifiedProgramId")
	}
	a.Owner = owner
	return nil
}

func zeroed(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// setSize grows or shrinks an account's data, in bytes; new bytes are zero.
func (in *invocation) setSize(i int, size int) *InstructionError {
	a := in.account(i)
	if err := in.mayResize(*a, size); err != nil {
		return err
	}
	if err := in.mayWrite(i, *a); err != nil {
		return err
	}
	in.growth += size - len(a.Data)
	a.Data = resized(a.Data, size)
	return nil
}

// resized copies, so that older versions of the account in the state stay as they were.
func resized(data []byte, size int) []byte {
	return append(make([]byte, 0, size), data[:min(size, len(data))]...)[:size]
}

// mayResize lets only the owner program resize, within what one transaction may allocate (maxGrowth bytes).
func (in *invocation) mayResize(a account, size int) *InstructionError {
	if size != len(a.Data) && a.Owner != in.program {
		return refused("AccountDataSizeChanged")
	}
	if in.growth+size-len(a.Data) > maxGrowth {
		return refused("MaxAccountsDataAllocationsExceeded")
	}
	return nil
}

// mayWrite lets only the owner program change data, and only in a writable account.
func (in *invocation) mayWrite(i int, a account) *InstructionError {
	if !in.writable(i) {
		return refused("ReadonlyDataModified")
	}
	if a.Owner != in.program {
		return refused("ExternalAccountDataModified")
	}
	return nil
}

// compiled runs a program that is machine code on a real cluster. Such a program changes copies of its accounts
// without checks; judge compares them when the program ends or calls another one.
func (in *invocation) compiled(program func() *InstructionError) *InstructionError {
	in.open()
	// The log line shows the units before and after, like the virtual machine's.
	units := in.units
	err := program()
	in.log("Program %s consumed %d of %d compute units", in.program, units-in.units, units)
	if r := in.returned; r != nil {
		in.log("Program return: %s %s", in.program, base64.StdEncoding.EncodeToString(r.data))
	}
	if err != nil {
		return err
	}
	return in.judge()
}

// open saves the accounts as they are now, and gives the program copies of their data to change.
func (in *invocation) open() {
	in.before = make(map[int]account, len(in.accounts))
	for _, a := range in.accounts {
		if _, ok := in.before[a.index]; !ok {
			in.before[a.index] = in.run.accounts[a.index]
			now := &in.run.accounts[a.index]
			now.Data = bytes.Clone(now.Data)
		}
	}
}

const maxRealloc = 10 << 10 // bytes that one instruction may add to one account

// judge compares each account with its saved state, and refuses changes that the program may not make.
func (in *invocation) judge() *InstructionError {
	// An account can be named several times in one instruction and is checked once.
	seen := make(map[int]bool, len(in.accounts))
	for i, a := range in.accounts {
		if seen[a.index] {
			continue
		}
		seen[a.index] = true
		was, is := in.before[a.index], in.run.accounts[a.index]
		if is.Lamports != was.Lamports {
			if err := in.mayPay(i, was, is.Lamports); err != nil {
				return err
			}
		}
		if !bytes.Equal(is.Data, was.Data) {
			if len(is.Data) > maxData || len(is.Data)-len(was.Data) > maxRealloc {
				return refused("InvalidRealloc")
			}
			if err := in.mayResize(was, len(is.Data)); err != nil {
				return err
			}
			if err := in.mayWrite(i, was); err != nil {
				return err
			}
			in.growth += len(is.Data) - len(was.Data)
		}
		// A new owner needs an account that is the program's, writable, and empty of data.
		if is.Owner != was.Owner && (was.Owner != in.program || !a.writable || !zeroed(is.Data)) {
			return refused("ModifiedProgramId")
		}
	}
	return nil
}

// spend charges the estimated units of a compiled program's next step. When they run out, the program stops there,
// with the error that the virtual machine gives.
func (in *invocation) spend(units uint64) *InstructionError {
	if err := in.consume(units); err != nil {
		err = refused("ProgramFailedToComplete")
		err.logged, err.fatal = "exceeded CUs meter at BPF instruction", true
		return err
	}
	return nil
}

// say writes a line of the program's own log.
func (in *invocation) say(format string, args ...any) {
	in.log("Program log: "+format, args...)
}

// previous returns the program that ran last before this instruction at the same depth, under the same caller.
func (in *invocation) previous() (address, bool) {
	for i := len(in.trace) - 2; i >= 0 && in.trace[i].depth >= in.depth; i-- {
		if in.trace[i].depth == in.depth {
			return in.trace[i].program, true
		}
	}
	return address{}, false
}

// callMeta is an account that a program passes to an instruction of another program.
type callMeta struct {
	key              address
	signer, writable bool
}

// call runs another program's instruction from within this one (a cross-program invocation). derived are
// program-derived addresses for which the calling program signs. A caller can pass on only the rights that it has. An
// error ends the caller too.
func (in *invocation) call(program address, data []byte, derived []address, metas ...callMeta) *InstructionError {
	err := in.enter(program, data, derived, metas)
	if err != nil {
		err.fatal = true
	}
	return err
}

// enter makes the checks of a call in Agave's order, and then runs it.
func (in *invocation) enter(program address, data []byte, derived []address, metas []callMeta) *InstructionError {
	next := &invocation{run: in.run, program: program, depth: in.depth + 1, data: data}
	shown := innerInstruction{Top: in.top, Depth: next.depth, Data: data}
	// The rights are checked against those of the calling instruction, not against those of the message.
	for _, m := range metas {
		at, held := in.holds(m.key)
		if !held {
			in.log("Instruction references an unknown account %s", m.key)
			return refused("MissingAccount")
		}
		if m.writable && !at.writable {
			in.log("%s's writable privilege escalated", m.key)
			return refused("PrivilegeEscalation")
		}
		if m.signer && !at.signer && !contains(derived, m.key) {
			in.log("%s's signer privilege escalated", m.key)
			return refused("PrivilegeEscalation")
		}
		next.accounts = append(next.accounts, instructionAccount{at.index, m.signer, m.writable})
		shown.Accounts = append(shown.Accounts, byte(at.index))
	}
	// The called program must itself be among the accounts of the instruction.
	at, held := in.holds(program)
	if !held {
		in.log("Unknown program %s", program)
		return refused("MissingAccount")
	}
	// Changes that the caller has made so far are checked now, because the called program sees them.
	if err := in.judge(); err != nil {
		return err
	}
	// getTransaction lists the call even if it fails.
	shown.Program = at.index
	in.inner = append(in.inner, shown)
	if !in.run.accounts[at.index].Executable {
		return refused("UnsupportedProgramId")
	}
	if err := next.invoke(); err != nil {
		return err
	}
	// From here the caller's changes are compared with what the called program left.
	in.open()
	return nil
}

// holds finds a key among the instruction's accounts. The rights of all places that have this key add up.
func (in *invocation) holds(key address) (found instructionAccount, ok bool) {
	for i, a := range in.accounts {
		if in.key(i) == key {
			found.index, ok = a.index, true
			found.signer = found.signer || a.signer
			found.writable = found.writable || a.writable
		}
	}
	return found, ok
}

// contains says whether a list has the key.
func contains(keys []address, key address) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}
