package solana

// rentCases run where rent has fallen to 5,080 lamports a byte, and where it has risen.
func rentCases(blockhash hash) []agreementCase {
	alice, carol, vault := addressOf("alice"), addressOf("carol"), addressOf("vault")
	var cases []agreementCase
	add := func(name, want string, rate uint64, changed map[address]account, calls ...call) {
		accounts := map[address]account{alice: {Lamports: 10 * sol}, addressOf("bob"): {Lamports: sol}}
		for key, a := range changed {
			accounts[key] = a
		}
		d := draft{payer: "alice", signers: []string{"fresh", "bob"}, blockhash: blockhash, calls: calls}
		cases = append(cases, agreementCase{name: "rent: " + name, want: want, rent: rate, accounts: accounts, wires: [][]byte{d.bytes()}})
	}
	fallen, risen := rentRate(5080), rentRate(9000)
	fresh := addressOf("fresh")
	made := func(lamports uint64, space int) call {
		return system(pack(uint32(0), lamports, uint64(space), vault), meta{alice, "sw"}, meta{fresh, "sw"})
	}
	add("new account at the fallen minimum", "null", 5080, nil, transferTo(alice, carol, fallen.minimum(0)))
	add("new account below the fallen minimum", rentError(1), 5080, nil, transferTo(alice, carol, fallen.minimum(0)-1))
	add("account made at the fallen minimum", "null", 5080, nil, made(fallen.minimum(165), 165))
	add("account made below the fallen minimum", rentError(1), 5080, nil, made(fallen.minimum(165)-1, 165))
	add("account made at the old minimum after a rise", rentError(1), 9000, nil, made(rentMinimum(165), 165))
	add("payer that falls between the minimums", "null", 5080, map[address]account{alice: {Lamports: fallen.minimum(0) + 5000}},
		memoCall(memoV3, "x"))
	add("payer below a risen minimum cannot sink further", rentError(0), 9000, map[address]account{alice: {Lamports: rent + 4000}},
		memoCall(memoV3, "x"))
	add("old account topped up below a risen minimum", "null", 9000, map[address]account{carol: {Lamports: rent}},
		transferTo(alice, carol, 1000))
	add("account made at a risen minimum", "null", 9000, nil, made(risen.minimum(10), 10))

	for program, name := range map[address]string{tokenProgram: "token", token2022Program: "token-2022"} {
		mint := addressOf("rent mint")
		owned, _ := associatedAddress(carol, program, mint)
		add("associated account of "+name, "null", 5080, map[address]account{mint: aMint(program, alice, 0)},
			call{associatedProgram, []meta{{alice, "sw"}, {owned, "w"}, {carol, ""}, {mint, ""}, {systemProgram, ""}, {program, ""}}, []byte{1}})
	}
	wrapped, _ := associatedAddress(carol, tokenProgram, nativeMint)
	add("wrapped SOL", "null", 5080, map[address]account{nativeMint: {sol, tokenProgram, mintData(nil, 9), false}},
		call{associatedProgram, []meta{{alice, "sw"}, {wrapped, "w"}, {carol, ""}, {nativeMint, ""}, {systemProgram, ""}, {tokenProgram, ""}}, []byte{1}},
		transferTo(alice, wrapped, sol), tokenCall(tokenProgram, []byte{17}, meta{wrapped, "w"}))
	return cases
}
