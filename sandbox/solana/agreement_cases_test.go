package solana

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// agreementCase is some transactions over some accounts, and how the last of them ends.
type agreementCase struct {
	name     string
	accounts map[address]account
	wires    [][]byte
	expired  bool
	rent     uint64 // lamports a byte; 0: the default
	lite     string // LiteSVM's error where it differs on purpose (docs/sandbox-differences.md)
	anyUnits bool   // compute units are not compared
	free     bool   // LiteSVM takes no fee where Agave takes one
	want     string // the error as JSON-RPC shows it; "null" for success
}

// unlike marks a failure to load: LiteSVM takes no fee for those, and may name it differently.
func (c *agreementCase) unlike(lite string) { c.lite, c.free = lite, true }

// instr and its neighbours write the expected errors.
func instr(index int, name string) string {
	return fmt.Sprintf(`{"InstructionError":[%d,%q]}`, index, name)
}

func customError(index, code int) string {
	return fmt.Sprintf(`{"InstructionError":[%d,{"Custom":%d}]}`, index, code)
}

func rentError(index int) string {
	return fmt.Sprintf(`{"InsufficientFundsForRent":{"account_index":%d}}`, index)
}

func quoted(name string) string {
	b, _ := json.Marshal(name)
	return string(b)
}

const (
	sol  = uint64(lamportsPerSOL)
	rent = uint64(890_880) // rentMinimum(0)
)

// agreementCases are all cases, signed over the given blockhash. alice has 10 SOL, bob 1 SOL,
// carol nothing, unless a case says otherwise.
func agreementCases(blockhash hash) []agreementCase {
	alice, bob, carol := addressOf("alice"), addressOf("bob"), addressOf("carol")
	vault := addressOf("vault") // an owner of accounts: some program or other
	var cases []agreementCase
	add := func(name, want string, change func(map[address]account), drafts ...draft) *agreementCase {
		c := agreementCase{name: name, want: want, accounts: map[address]account{
			alice: {Lamports: 10 * sol},
			bob:   {Lamports: sol},
		}}
		if change != nil {
			change(c.accounts)
		}
		for _, d := range drafts {
			if d.payer == "" {
				d.payer = "alice"
			}
			if d.blockhash == (hash{}) {
				d.blockhash = blockhash
			}
			c.wires = append(c.wires, d.bytes())
		}
		cases = append(cases, c)
		return &cases[len(cases)-1]
	}
	one := func(calls ...call) draft { return draft{calls: calls} }
	holds := func(key address, a account) func(map[address]account) {
		return func(m map[address]account) { m[key] = a }
	}
	pay := func(lamports uint64) call { return transferTo(alice, bob, lamports) }

	// Transfers.
	add("transfer", "null", nil, one(pay(sol)))
	add("transfer to a new account", "null", nil, one(transferTo(alice, carol, sol)))
	add("transfer of nothing", "null", nil, one(pay(0)))
	add("transfer of nothing to a new account", "null", nil, one(transferTo(alice, carol, 0)))
	add("transfer to oneself", "null", nil, one(transferTo(alice, alice, sol)))
	add("transfer to oneself of more than held", customError(0, 1), nil, one(transferTo(alice, alice, 11*sol)))
	add("transfer of more than held", customError(0, 1), nil, one(pay(10*sol)))
	add("transfer of everything but the fee", "null", nil, one(pay(10*sol-5000)))
	add("transfer of the largest number", customError(0, 1), nil, one(pay(math.MaxUint64)))
	add("transfer that overflows the recipient", instr(0, "ArithmeticOverflow"),
		holds(bob, account{Lamports: math.MaxUint64 - 10}), one(pay(100)))
	add("two transfers", "null", nil, one(pay(sol), transferTo(alice, carol, 2*sol)))
	add("second transfer short: the first is undone", customError(1, 1), nil, one(pay(sol), pay(10*sol)))
	add("money received is spent at once", "null", nil,
		draft{signers: []string{"bob"}, calls: []call{pay(5 * sol), transferTo(bob, carol, 6*sol)}})
	add("transfer between others", "null", nil, draft{signers: []string{"bob"}, calls: []call{transferTo(bob, carol, rent)}})
	add("reference key", "null", nil,
		one(system(pack(uint32(2), sol), meta{alice, "sw"}, meta{bob, "w"}, meta{addressOf("reference"), ""})))
	add("transfer without the sender's signature flag", instr(0, "MissingRequiredSignature"), nil,
		one(system(pack(uint32(2), sol), meta{bob, "w"}, meta{carol, "w"})))
	add("transfer from a read-only signer", instr(0, "ReadonlyLamportChange"), nil,
		draft{signers: []string{"bob"}, calls: []call{system(pack(uint32(2), uint64(1)), meta{bob, "s"}, meta{alice, "w"})}})
	add("transfer to a read-only account", instr(0, "ReadonlyLamportChange"), nil,
		one(system(pack(uint32(2), sol), meta{alice, "sw"}, meta{bob, ""})))
	add("transfer of nothing to a read-only account", instr(0, "ReadonlyLamportChange"), nil,
		one(system(pack(uint32(2), uint64(0)), meta{alice, "sw"}, meta{bob, ""})))
	add("transfer to the System program", instr(0, "ReadonlyLamportChange"), nil,
		one(system(pack(uint32(2), sol), meta{alice, "sw"}, meta{systemProgram, "w"})))
	add("transfer to the rent sysvar", instr(0, "ReadonlyLamportChange"), nil,
		one(system(pack(uint32(2), sol), meta{alice, "sw"}, meta{known("SysvarRent111111111111111111111111111111111"), "w"})))
	add("transfer with one account", instr(0, "MissingAccount"), nil,
		one(system(pack(uint32(2), sol), meta{alice, "sw"})))
	add("transfer with short data", instr(0, "InvalidInstructionData"), nil,
		one(system(pack(uint32(2), uint32(1)), meta{alice, "sw"}, meta{bob, "w"})))
	add("transfer with data to spare", "null", nil,
		one(system(pack(uint32(2), sol, uint64(7)), meta{alice, "sw"}, meta{bob, "w"})))
	add("no data", instr(0, "InvalidInstructionData"), nil, one(system(nil, meta{alice, "sw"}, meta{bob, "w"})))
	add("unknown System instruction", instr(0, "InvalidInstructionData"), nil,
		one(system(pack(uint32(99)), meta{alice, "sw"})))
	add("transfer from an account with data", instr(0, "InvalidArgument"),
		holds(bob, account{Lamports: sol, Data: make([]byte, 8)}),
		draft{signers: []string{"bob"}, calls: []call{transferTo(bob, alice, 1)}})
	add("transfer from somebody's program account", instr(0, "ExternalAccountLamportSpend"),
		holds(bob, account{Lamports: sol, Owner: vault}),
		draft{signers: []string{"bob"}, calls: []call{transferTo(bob, alice, 1)}})
	add("transfer of nothing from a foreign account", "null",
		holds(bob, account{Lamports: sol, Owner: vault}),
		draft{signers: []string{"bob"}, calls: []call{transferTo(bob, alice, 0)}})
	add("transfer to a program's account", "null",
		holds(bob, account{Lamports: sol, Owner: vault, Data: make([]byte, 20)}), one(pay(sol)))
	add("no instructions", "null", nil, one())

	// Fee payer.
	add("fee payer without an account", quoted("AccountNotFound"), nil, draft{payer: "carol", calls: []call{memoCall(memoV3, "x")}})
	add("fee payer short of the fee", quoted("InsufficientFundsForFee"), holds(alice, account{Lamports: 4999}), one(pay(0)))
	add("fee payer with exactly the fee", "null", holds(alice, account{Lamports: 5000}), one(memoCall(memoV3, "x")))
	add("fee leaves the payer below rent", rentError(0), holds(alice, account{Lamports: rent + 4999}), one(memoCall(memoV3, "x")))
	add("fee leaves the payer at rent", "null", holds(alice, account{Lamports: rent + 5000}), one(memoCall(memoV3, "x")))
	add("payer below rent cannot sink further", rentError(0), holds(alice, account{Lamports: rent - 1}), one(memoCall(memoV3, "x")))
	add("fee payer owned by a program", quoted("InvalidAccountForFee"), holds(alice, account{Lamports: sol, Owner: vault}), one(pay(0)))
	add("fee payer with data", quoted("InvalidAccountForFee"), holds(alice, account{Lamports: sol, Data: make([]byte, 4)}), one(pay(0)))
	add("two signatures cost twice", "null", nil, draft{signers: []string{"bob"}, calls: []call{memoCall(memoV3, "hi", meta{bob, "s"})}})

	// Rent.
	add("sender left below rent", rentError(0), nil, one(pay(10*sol-5000-rent+1)))
	add("sender left at rent", "null", nil, one(pay(10*sol-5000-rent)))
	add("recipient left below rent", rentError(1), nil, one(transferTo(alice, carol, rent-1)))
	add("recipient left at rent", "null", nil, one(transferTo(alice, carol, rent)))
	add("poor recipient topped up short", "null", holds(carol, account{Lamports: 100}), one(transferTo(alice, carol, 100)))
	add("poor recipient topped up to rent", "null", holds(carol, account{Lamports: 100}), one(transferTo(alice, carol, rent-100)))
	add("poor other account touched by nothing", "null", holds(carol, account{Lamports: 100}), one(transferTo(alice, carol, 0)))
	add("poor sender pays some away", rentError(1), holds(carol, account{Lamports: 1000}),
		draft{signers: []string{"carol"}, calls: []call{transferTo(carol, bob, 400)}})
	add("other sender left below rent", rentError(1), nil,
		draft{signers: []string{"bob"}, calls: []call{transferTo(bob, alice, sol-10)}})
	add("other sender emptied", "null", nil, draft{signers: []string{"bob"}, calls: []call{transferTo(bob, alice, sol)}})
	add("short in the middle, whole in the end", "null", nil,
		one(transferTo(alice, carol, 10), transferTo(alice, carol, rent-10)))
	add("recipient with data below its rent", "null", holds(bob, account{Lamports: rentMinimum(50) - 100, Owner: vault, Data: make([]byte, 50)}),
		one(pay(50)))
	poorSigns := []string{"carol"}
	add("poor account changes its owner", rentError(1), holds(carol, account{Lamports: 100}),
		draft{signers: poorSigns, calls: []call{system(pack(uint32(1), vault), meta{carol, "sw"})}})
	add("poor account grows", rentError(1), holds(carol, account{Lamports: 100}),
		draft{signers: poorSigns, calls: []call{system(pack(uint32(8), 4), meta{carol, "sw"})}})
	add("poor sender emptied", "null", holds(carol, account{Lamports: 1000}),
		draft{signers: poorSigns, calls: []call{transferTo(carol, bob, 1000)}})
	add("dust to the incinerator", "null", nil, one(transferTo(alice, incinerator, 10)))

	// CreateAccount.
	create := func(lamports, space uint64, owner address) []byte { return pack(uint32(0), lamports, space, owner) }
	made := []meta{{alice, "sw"}, {carol, "sw"}}
	both := func(calls ...call) draft { return draft{signers: []string{"carol", "bob"}, calls: calls} }
	add("create account", "null", nil, both(system(create(rentMinimum(100), 100, vault), made...)))
	add("create account below rent", rentError(1), nil, both(system(create(rentMinimum(100)-1, 100, vault), made...)))
	add("create account with nothing", "null", nil, both(system(create(0, 0, vault), made...)))
	add("create account with space but nothing", "null", nil, both(system(create(0, 10, vault), made...)))
	add("create account too dear", customError(0, 1), nil, both(system(create(10*sol, 0, vault), made...)))
	add("create account that exists", customError(0, 0), nil,
		both(system(create(sol, 0, vault), meta{alice, "sw"}, meta{bob, "sw"})))
	add("create account without its signature", instr(0, "MissingRequiredSignature"), nil,
		both(system(create(sol, 0, vault), meta{alice, "sw"}, meta{carol, "w"})))
	add("create account from one who did not sign", instr(0, "MissingRequiredSignature"), nil,
		both(system(create(rent, 0, vault), meta{addressOf("dave"), "w"}, meta{carol, "sw"})))
	add("create account over the size limit", customError(0, 3), nil, both(system(create(sol, maxData+1, vault), made...)))
	add("create account at the size limit", customError(0, 1), nil, both(system(create(100*sol, maxData, vault), made...)))
	add("create read-only account", instr(0, "ReadonlyDataModified"), nil,
		both(system(create(rent, 5, vault), meta{alice, "sw"}, meta{carol, "s"})))
	add("create read-only account without space", instr(0, "ReadonlyDataModified"), nil,
		both(system(create(rent, 0, vault), meta{alice, "sw"}, meta{carol, "s"})))
	add("create account twice", customError(1, 0), nil,
		both(system(create(rent, 0, vault), made...), system(create(rent, 0, vault), made...)))
	add("create account for oneself", customError(0, 0), nil, one(system(create(rent, 0, vault), meta{alice, "sw"}, meta{alice, "sw"})))
	add("create account with one account", instr(0, "MissingAccount"), nil, one(system(create(rent, 0, vault), meta{alice, "sw"})))
	add("create account with short data", instr(0, "InvalidInstructionData"), nil, both(system(pack(uint32(0), rent), made...)))
	add("three big accounts in one transaction", instr(2, "MaxAccountsDataAllocationsExceeded"),
		holds(alice, account{Lamports: 1000 * sol}),
		draft{signers: []string{"n1", "n2", "n3"}, calls: []call{
			system(create(rentMinimum(maxData), maxData, vault), meta{alice, "sw"}, meta{addressOf("n1"), "sw"}),
			system(create(rentMinimum(maxData), maxData, vault), meta{alice, "sw"}, meta{addressOf("n2"), "sw"}),
			system(create(rentMinimum(maxData), maxData, vault), meta{alice, "sw"}, meta{addressOf("n3"), "sw"}),
		}})

	// Assign and Allocate.
	bobSigns := meta{bob, "sw"}
	add("assign", "null", nil, both(system(pack(uint32(1), vault), bobSigns)))
	add("assign to the same owner needs no signature", "null", nil, one(system(pack(uint32(1), systemProgram), meta{bob, "w"})))
	add("assign without signature", instr(0, "MissingRequiredSignature"), nil, one(system(pack(uint32(1), vault), meta{bob, "w"})))
	add("assign a foreign account", instr(0, "ModifiedProgramId"), holds(bob, account{Lamports: sol, Owner: vault}),
		both(system(pack(uint32(1), carol), bobSigns)))
	add("assign read-only", instr(0, "ModifiedProgramId"), nil, both(system(pack(uint32(1), vault), meta{bob, "s"})))
	add("assign an account with data", instr(0, "ModifiedProgramId"), holds(bob, account{Lamports: sol, Data: []byte{1}}),
		both(system(pack(uint32(1), vault), bobSigns)))
	add("assign an account with zeroes", "null", holds(bob, account{Lamports: sol, Data: make([]byte, 9)}),
		both(system(pack(uint32(1), vault), bobSigns)))
	add("assign the fee payer", "null", nil, one(system(pack(uint32(1), vault), meta{alice, "sw"})))
	add("assign without accounts", instr(0, "MissingAccount"), nil, one(system(pack(uint32(1), vault))))
	add("allocate", "null", nil, both(system(pack(uint32(8), 200), bobSigns)))
	add("allocate more than rent covers", rentError(1), nil, both(system(pack(uint32(8), 1_000_000), bobSigns)))
	add("allocate without signature", instr(0, "MissingRequiredSignature"), nil, one(system(pack(uint32(8), 5), meta{bob, "w"})))
	add("allocate twice", customError(1, 0), nil, both(system(pack(uint32(8), 5), bobSigns), system(pack(uint32(8), 5), bobSigns)))
	add("allocate nothing", "null", nil, both(system(pack(uint32(8), 0), bobSigns)))
	add("allocate nothing read-only", instr(0, "ReadonlyDataModified"), nil, both(system(pack(uint32(8), 0), meta{bob, "s"})))
	add("allocate a foreign account", customError(0, 0), holds(bob, account{Lamports: sol, Owner: vault}),
		both(system(pack(uint32(8), 5), bobSigns)))
	add("allocate over the limit", customError(0, 3), nil, both(system(pack(uint32(8), uint64(math.MaxUint64)), bobSigns)))
	add("transfer to one that then carries data", "null", nil,
		both(system(pack(uint32(8), 10), bobSigns), pay(sol)))

	// With seeds.
	child := seeded(alice, "savings", vault)
	purse := seeded(alice, "purse", systemProgram)
	withSeedData := func(base address, seed string, lamports, space uint64, owner address) []byte {
		return pack(uint32(3), base, seed, lamports, space, owner)
	}
	add("create with seed", "null", nil,
		one(system(withSeedData(alice, "savings", rentMinimum(7), 7, vault), meta{alice, "sw"}, meta{child, "w"})))
	add("create with seed of another base", "null", nil,
		draft{signers: []string{"bob"}, calls: []call{system(withSeedData(bob, "b", rent, 0, vault), meta{alice, "sw"}, meta{seeded(bob, "b", vault), "w"}, meta{bob, "s"})}})
	add("create with seed, base not signing", instr(0, "MissingRequiredSignature"), nil,
		one(system(withSeedData(bob, "b", rent, 0, vault), meta{alice, "sw"}, meta{seeded(bob, "b", vault), "w"}, meta{bob, ""})))
	add("create with seed, wrong address", customError(0, 5), nil,
		one(system(withSeedData(alice, "other", rent, 0, vault), meta{alice, "sw"}, meta{child, "w"})))
	add("create with seed too long", customError(0, 0), nil,
		one(system(withSeedData(alice, strings.Repeat("x", 33), rent, 0, vault), meta{alice, "sw"}, meta{child, "w"})))
	add("create with seed that is not UTF-8", instr(0, "InvalidInstructionData"), nil,
		one(system(withSeedData(alice, "\xff", rent, 0, vault), meta{alice, "sw"}, meta{child, "w"})))
	add("create with seed of absurd length", instr(0, "InvalidInstructionData"), nil,
		one(system(pack(uint32(3), alice, uint64(math.MaxUint64)), meta{alice, "sw"}, meta{child, "w"})))
	marked := address{}
	copy(marked[11:], derivedMarker)
	add("create with seed for an owner that ends like a derived address", customError(0, 2), nil,
		one(system(withSeedData(alice, "s", rent, 0, marked), meta{alice, "sw"}, meta{child, "w"})))
	add("allocate with seed", "null", holds(child, account{Lamports: sol}),
		one(system(pack(uint32(9), alice, "savings", 30, vault), meta{child, "w"}, meta{alice, "s"})))
	add("allocate with seed, base not signing", instr(0, "MissingRequiredSignature"), holds(seeded(bob, "s", vault), account{Lamports: sol}),
		one(system(pack(uint32(9), bob, "s", 30, vault), meta{seeded(bob, "s", vault), "w"}, meta{bob, ""})))
	add("assign with seed", "null", holds(child, account{Lamports: sol}),
		one(system(pack(uint32(10), alice, "savings", vault), meta{child, "w"}, meta{alice, "s"})))
	add("assign with seed, wrong address", customError(0, 5), holds(child, account{Lamports: sol}),
		one(system(pack(uint32(10), alice, "saving", vault), meta{child, "w"}, meta{alice, "s"})))
	fromPurse := func(seed string, base meta) call {
		return system(pack(uint32(11), sol, seed, systemProgram), meta{purse, "w"}, base, meta{bob, "w"})
	}
	add("transfer with seed", "null", holds(purse, account{Lamports: 2 * sol}), one(fromPurse("purse", meta{alice, "s"})))
	add("transfer with seed, wrong seed", customError(0, 5), holds(purse, account{Lamports: 2 * sol}), one(fromPurse("purze", meta{alice, "s"})))
	add("transfer with seed, base not signing", instr(0, "MissingRequiredSignature"), holds(purse, account{Lamports: 2 * sol}),
		one(fromPurse("purse", meta{carol, ""})))
	add("transfer with seed, short", customError(0, 1), holds(purse, account{Lamports: sol / 2}), one(fromPurse("purse", meta{alice, "s"})))
	add("transfer with seed, seed too long", customError(0, 0), holds(purse, account{Lamports: sol}),
		one(fromPurse(strings.Repeat("y", 40), meta{alice, "s"})))
	add("transfer with seed, two accounts", instr(0, "MissingAccount"), nil,
		one(system(pack(uint32(11), sol, "purse", systemProgram), meta{purse, "w"}, meta{alice, "s"})))

	// Memo.
	for name, program := range map[string]address{"memo": memoV3, "memo v1": memoV1, "memo v4": memoV4} {
		unreadable := "InvalidInstructionData"
		if program != memoV1 {
			unreadable = "ProgramFailedToComplete"
		}
		add(name, "null", nil, one(pay(5), memoCall(program, "Thanks for the fish")))
		add(name+" in many scripts", "null", nil, one(memoCall(program, "Grüße, 世界 🐟 \"quoted\"\n")))
		add(name+" empty", "null", nil, one(memoCall(program, "")))
		add(name+" long", "null", nil, one(memoCall(program, strings.Repeat("long ", 100))))
		add(name+" that is not UTF-8", instr(0, unreadable), nil, one(memoCall(program, "ab\xff\xfe")))
		add(name+" with a cut character", instr(1, unreadable), nil, one(pay(5), memoCall(program, "ab\xe4\xb8")))
		add(name+" signed", "null", nil, both(memoCall(program, "signed", meta{alice, "s"}, meta{bob, "s"})))
	}
	for _, program := range []address{memoV3, memoV4} {
		of := program.String()[:5]
		for _, length := range []int{0, 1, 9, 10, 99, 100, 101, 900} {
			for signers := range 3 {
				metas := []meta{{alice, "s"}, {bob, "s"}}[:signers]
				add(fmt.Sprintf("units of %s: %d bytes, %d signers", of, length, signers), "null", nil, both(memoCall(program, strings.Repeat("x", length), metas...)))
			}
		}
		add("signer of "+of+" twice", "null", nil, one(memoCall(program, "x", meta{alice, "s"}, meta{alice, "s"})))
		add("signer of "+of+" twice, with another", "null", nil, both(memoCall(program, "x", meta{alice, "s"}, meta{bob, "s"}, meta{alice, "s"})))
		for limit, want := range map[uint32]string{
			0: "ProgramFailedToComplete", 6: "ProgramFailedToComplete", 7: "ComputationalBudgetExceeded", 106: "ComputationalBudgetExceeded",
			107: "ProgramFailedToComplete", 124: "ComputationalBudgetExceeded", 224: "ProgramFailedToComplete", 266: "ComputationalBudgetExceeded",
			276: "ProgramFailedToComplete", 295: "ComputationalBudgetExceeded", 395: "ProgramFailedToComplete", 398: "ComputationalBudgetExceeded",
			497: "ComputationalBudgetExceeded", 498: "ProgramFailedToComplete", 499: "ProgramFailedToComplete",
		} {
			add(fmt.Sprintf("units of %s run out at %d", of, limit), instr(1, want), nil,
				one(unitLimit(limit+150), memoCall(program, "hello", meta{alice, "s"})))
		}
		add("just enough units for "+of, "null", nil, one(unitLimit(650), memoCall(program, "hello", meta{alice, "s"})))
	}
	add("memo with an account that did not sign", instr(0, "MissingRequiredSignature"), nil, one(memoCall(memoV3, "x", meta{bob, ""})))
	add("memo with a second account that did not sign", instr(0, "MissingRequiredSignature"), nil,
		one(memoCall(memoV3, "x", meta{alice, "s"}, meta{bob, ""})))
	add("memo v1 does not care who signed", "null", nil, one(memoCall(memoV1, "x", meta{bob, ""})))

	// Compute budget.
	budgetCall := func(data ...any) call { return call{budgetProgram, nil, pack(data...)} }
	add("unit limit and price", "null", nil, one(unitLimit(1000), unitPrice(1_000_000), pay(5)))
	add("price rounds up", "null", nil, one(unitLimit(1000), unitPrice(1), pay(5)))
	add("price of exactly a lamport", "null", nil, one(unitLimit(1000), unitPrice(1000), pay(5)))
	add("price just over a lamport", "null", nil, one(unitLimit(1000), unitPrice(1001), pay(5)))
	add("price without limit, builtins", "null", nil, one(unitPrice(777_777), pay(5)))
	add("price without limit, program", "null", nil, one(unitPrice(777_777), pay(5), memoCall(memoV3, "x")))
	add("price without limit, many programs", "null", nil, one(unitPrice(50_000),
		memoCall(memoV3, "1"), memoCall(memoV3, "2"), memoCall(memoV3, "3"), memoCall(memoV3, "4"), memoCall(memoV3, "5"),
		memoCall(memoV3, "6"), memoCall(memoV3, "7"), memoCall(memoV3, "8")))
	add("limit over the maximum", "null", nil, one(unitLimit(5_000_000), unitPrice(1_000), pay(5)))
	add("price of zero", "null", nil, one(unitPrice(0), pay(5)))
	add("price that nobody can pay", quoted("InsufficientFundsForFee"), nil, one(unitPrice(math.MaxUint64), pay(5)))
	add("failed transaction pays the priority too", customError(2, 1), nil, one(unitLimit(1000), unitPrice(2_000_000), pay(11*sol)))
	add("budget after the transfer counts as well", "null", nil, one(pay(5), unitPrice(3_000_000), unitLimit(900)))
	add("limit twice", `{"DuplicateInstruction":1}`, nil, one(unitLimit(1000), unitLimit(1000), pay(5)))
	add("price twice", `{"DuplicateInstruction":2}`, nil, one(unitPrice(1), pay(5), unitPrice(2)))
	add("limit too low for one instruction", instr(1, "ComputationalBudgetExceeded"), nil, one(unitLimit(299), pay(5)))
	add("limit just enough", "null", nil, one(unitLimit(300), pay(5)))
	add("limit of zero", instr(0, "ComputationalBudgetExceeded"), nil, one(unitLimit(0), pay(5)))
	add("limit too low for a memo", instr(1, "ProgramFailedToComplete"), nil, one(unitLimit(200), memoCall(memoV3, "hello")))
	add("budget instruction empty", instr(0, "InvalidInstructionData"), nil, one(budgetCall(), pay(5)))
	add("budget instruction cut", instr(0, "InvalidInstructionData"), nil, one(budgetCall(byte(3), uint32(1)), pay(5)))
	add("budget instruction unknown", instr(0, "InvalidInstructionData"), nil, one(budgetCall(byte(9), uint64(1)), pay(5)))
	add("budget instruction withdrawn", instr(1, "InvalidInstructionData"), nil, one(pay(5), budgetCall(byte(0), uint64(1))))
	add("budget instruction with data to spare", "null", nil, one(budgetCall(byte(3), uint64(1), uint64(2)), pay(5)))
	add("heap frame", "null", nil, one(budgetCall(byte(1), uint32(64<<10)), pay(5)))
	add("heap frame odd", instr(0, "InvalidInstructionData"), nil, one(budgetCall(byte(1), uint32(64<<10+1)), pay(5)))
	add("heap frame small", instr(0, "InvalidInstructionData"), nil, one(budgetCall(byte(1), uint32(1024)), pay(5)))
	add("loaded data limit", "null", nil, one(budgetCall(byte(4), uint32(100_000)), pay(5)))
	add("loaded data limit of zero", quoted("InvalidLoadedAccountsDataSizeLimit"), nil, one(budgetCall(byte(4), uint32(0)), pay(5)))
	for _, program := range []address{systemProgram, memoV1, memoV3, memoV4, tokenProgram, token2022Program, associatedProgram, lookupProgram, budgetProgram} {
		size := 2*loadedOverhead + len("compute_budget_program")
		if program != budgetProgram {
			size += loadedOverhead + map[address]int{systemProgram: 21, memoV1: 17_280, memoV3: 2304, associatedProgram: 105_032}[program]
		}
		switch program {
		case memoV4, tokenProgram, token2022Program, lookupProgram:
			size += 36
		}
		brought := call{budgetProgram, []meta{{program, ""}}, pack(byte(2), uint32(1000))}
		add("loaded data limit that fits "+program.String(), "null", nil, one(budgetCall(byte(4), uint32(size)), brought))
		add("loaded data limit a byte short of "+program.String(), quoted("MaxLoadedAccountsDataSizeExceeded"), nil, one(budgetCall(byte(4), uint32(size-1)), brought)).unlike("")
	}
	add("loaded data limit too low", quoted("MaxLoadedAccountsDataSizeExceeded"), nil, one(budgetCall(byte(4), uint32(10)), pay(5))).unlike("")

	// Programs.
	add("unknown program", quoted("ProgramAccountNotFound"), nil, one(call{addressOf("nothing"), []meta{{alice, "sw"}}, []byte{1}})).unlike(quoted("InvalidProgramForExecution"))
	add("program that is a wallet", quoted("InvalidProgramForExecution"), nil, one(call{bob, []meta{{alice, "sw"}}, []byte{1}})).unlike("")
	add("unknown program after a transfer", quoted("ProgramAccountNotFound"), nil, one(pay(sol), call{addressOf("nothing"), nil, nil})).unlike(quoted("InvalidProgramForExecution"))

	// Envelope.
	stale := hash{9}
	add("unknown blockhash", quoted("BlockhashNotFound"), nil, draft{blockhash: stale, calls: []call{pay(5)}})
	add("expired blockhash", quoted("BlockhashNotFound"), nil, one(pay(5))).expired = true
	add("the same transaction twice", quoted("AlreadyProcessed"), nil, one(pay(5)), one(pay(5)))
	add("the same failed transaction twice", quoted("AlreadyProcessed"), nil, one(pay(11*sol)), one(pay(11*sol)))
	add("two transactions", "null", nil, one(pay(5)), one(pay(6)))
	add("funded by the one before", "null", nil, one(transferTo(alice, carol, sol)),
		draft{payer: "carol", calls: []call{transferTo(carol, bob, 5)}})
	add("missing signature", quoted("SignatureFailure"), nil, one(transferTo(bob, carol, sol)))
	add("signature over something else", quoted("SignatureFailure"), nil,
		draft{calls: []call{pay(5)}, wire: func(w []byte) []byte { w[len(w)-1]++; return w }})
	add("v0", "null", nil, draft{versioned: true, calls: []call{pay(5)}})
	add("v0 with a memo and price", "null", nil, draft{versioned: true, calls: []call{unitPrice(9), pay(5), memoCall(memoV3, "v0")}})
	add("v0 with a lookup table that is not there", quoted("AddressLookupTableNotFound"), nil,
		draft{versioned: true, calls: []call{pay(5)}, lookups: append(append([]byte{1}, vault[:]...), 1, 0, 0)})
	add("v0 with an empty lookup", quoted("SanitizeFailure"), nil,
		draft{versioned: true, calls: []call{pay(5)}, lookups: append(append([]byte{1}, vault[:]...), 0, 0)})
	add("account twice", quoted("AccountLoadedTwice"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { copy(m[4+32:4+64], m[4:4+32]); return m }})
	add("account index out of range", quoted("SanitizeFailure"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { m[len(m)-14] = 9; return m }})
	add("program index out of range", quoted("SanitizeFailure"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { m[len(m)-17] = 9; return m }})
	add("fee payer as program", quoted("SanitizeFailure"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { m[len(m)-17] = 0; return m }})
	add("header with too many read-only accounts", quoted("SanitizeFailure"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { m[2] = 7; return m }})
	add("header with a read-only payer", quoted("SanitizeFailure"), nil,
		draft{calls: []call{pay(5)}, message: func(m []byte) []byte { m[1] = 1; return m }})
	short := func(n int) []call {
		calls := make([]call, n)
		for i := range calls {
			calls[i] = call{memoV3, nil, nil}
		}
		return calls
	}
	add("64 instructions", "null", nil, draft{calls: short(64)})
	return cases
}
