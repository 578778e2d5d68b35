package solana

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// run is a transaction under way: its accounts as they stand, its meter, its log.
type run struct {
	bank
	tx       *transaction
	accounts []account
	units    uint64 // left
	growth   int    // bytes of data allocated so far
	logs     []string
	top      int // place of the top-level instruction under way
	trace    []traced
	inner    []innerInstruction
	returned *returnData

	logged    int // bytes in logs
	truncated bool
}

// traced is an instruction that was begun, for programs that look at what ran before them.
type traced struct {
	depth   int
	program address
}

// innerInstruction is one that a program called, as getTransaction lists it.
type innerInstruction struct {
	Top      int    `json:"top"` // place of the top-level instruction that led to it
	Depth    int    `json:"depth"`
	Program  int    `json:"program"`
	Accounts []byte `json:"accounts"`
	Data     []byte `json:"data"`
}

// returnData is what a program handed back last.
type returnData struct {
	program address
	data    []byte
}

// instructions runs all of them; the first error ends the transaction.
func (r *run) instructions() *TransactionError {
	for i, ix := range r.tx.Instructions {
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

const unitsOfNative = 150 // what System and Compute Budget instructions use, each

// invoke runs the instruction and logs how it began and ended.
func (in *invocation) invoke() *InstructionError {
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

func (in *invocation) execute() *InstructionError {
	switch in.program {
	case systemProgram:
		if err := in.consume(unitsOfNative); err != nil {
			return err
		}
		return in.system()
	case budgetProgram:
		return in.consume(unitsOfNative) // its instructions took effect before the first ran
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
// BorrowedAccount. Programs that are machine code on a real cluster are checked once they end, as
// there (compiled).
type invocation struct {
	*run
	program  address
	depth    int // 1 for the message's own instructions
	accounts []instructionAccount
	data     []byte
	before   map[int]account // by place in the message, while a compiled program runs
}

// instructionAccount is an account of an instruction: its place in the message and what the
// instruction may do with it.
type instructionAccount struct {
	index            int
	signer, writable bool
}

// need refuses an instruction with fewer accounts than it takes.
func (in *invocation) need(n int) *InstructionError {
	if len(in.accounts) < n {
		return refused("MissingAccount")
	}
	return nil
}

func (in *invocation) key(i int) address      { return in.tx.Keys[in.accounts[i].index] }
func (in *invocation) signs(i int) bool       { return in.accounts[i].signer }
func (in *invocation) writable(i int) bool    { return in.accounts[i].writable }
func (in *invocation) account(i int) *account { return &in.run.accounts[in.accounts[i].index] }

// same says whether two places name one account.
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

func (in *invocation) setLamports(i int, lamports uint64) *InstructionError {
	a := in.account(i)
	if err := in.mayPay(i, *a, lamports); err != nil {
		return err
	}
	a.Lamports = lamports
	return nil
}

func (in *invocation) mayPay(i int, a account, lamports uint64) *InstructionError {
	if lamports < a.Lamports && a.Owner != in.program {
		return refused("ExternalAccountLamportSpend")
	}
	if !in.writable(i) {
		return refused("ReadonlyLamportChange")
	}
	return nil
}

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

func resized(data []byte, size int) []byte {
	return append(make([]byte, 0, size), data[:min(size, len(data))]...)[:size]
}

func (in *invocation) mayResize(a account, size int) *InstructionError {
	if size != len(a.Data) && a.Owner != in.program {
		return refused("AccountDataSizeChanged")
	}
	if in.growth+size-len(a.Data) > maxGrowth {
		return refused("MaxAccountsDataAllocationsExceeded")
	}
	return nil
}

func (in *invocation) mayWrite(i int, a account) *InstructionError {
	if !in.writable(i) {
		return refused("ReadonlyDataModified")
	}
	if a.Owner != in.program {
		return refused("ExternalAccountDataModified")
	}
	return nil
}

// compiled runs a program that is machine code on a real cluster. It works on copies of its
// accounts without being watched; what it did to them is judged when it ends or calls another.
func (in *invocation) compiled(program func() *InstructionError) *InstructionError {
	in.open()
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

// open remembers the accounts as they are, and gives the program copies of their data to change.
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

const maxRealloc = 10 << 10 // bytes that one instruction may add to an account

// judge compares each account with what it was, and refuses what the program may not do.
func (in *invocation) judge() *InstructionError {
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
		if is.Owner != was.Owner && (was.Owner != in.program || !a.writable || !zeroed(is.Data)) {
			return refused("ModifiedProgramId")
		}
	}
	return nil
}

// spend takes the estimated units of what a compiled program does next; running out of them ends
// the program where it stands.
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

// after says which program ran last before this instruction, at its own depth.
func (in *invocation) previous() (address, bool) {
	for i := len(in.trace) - 2; i >= 0 && in.trace[i].depth >= in.depth; i-- {
		if in.trace[i].depth == in.depth {
			return in.trace[i].program, true
		}
	}
	return address{}, false
}

// callMeta is an account of an instruction that a program makes for another.
type callMeta struct {
	key              address
	signer, writable bool
}

// call runs another program's instruction from within this one. derived are the program's own
// addresses that it signs for. What it passes on it must hold itself. An error ends the caller too.
func (in *invocation) call(program address, data []byte, derived []address, metas ...callMeta) *InstructionError {
	err := in.enter(program, data, derived, metas)
	if err != nil {
		err.fatal = true
	}
	return err
}

func (in *invocation) enter(program address, data []byte, derived []address, metas []callMeta) *InstructionError {
	next := &invocation{run: in.run, program: program, depth: in.depth + 1, data: data}
	shown := innerInstruction{Top: in.top, Depth: next.depth, Data: data}
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
	at, held := in.holds(program)
	if !held {
		in.log("Unknown program %s", program)
		return refused("MissingAccount")
	}
	if err := in.judge(); err != nil {
		return err
	}
	shown.Program = at.index
	in.inner = append(in.inner, shown)
	if !in.run.accounts[at.index].Executable {
		return refused("UnsupportedProgramId")
	}
	if err := next.invoke(); err != nil {
		return err
	}
	in.open()
	return nil
}

// holds finds a key among the instruction's accounts, with all that any of its places grants.
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

func contains(keys []address, key address) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}
