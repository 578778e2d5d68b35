package solana

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

// parsedAs is an instruction over accounts named a, b, c, ... as jsonParsed shows it, with each
// account's address written as its name.
func parsedAs(t *testing.T, program address, accounts int, data []byte) (name, parsed string) {
	t.Helper()
	m := &message{Keys: []address{program}}
	ix := instruction{Program: 0, Data: data}
	for i := range accounts {
		m.Keys = append(m.Keys, addressOf(string(rune('a'+i))))
		ix.Accounts = append(ix.Accounts, byte(i+1))
	}
	name, value, ok := m.parseInstruction(ix)
	if !ok {
		return "", ""
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		letter := string(rune('a' + i))
		raw = bytes.ReplaceAll(raw, []byte(addressOf(letter).String()), []byte(letter))
	}
	return name, string(raw)
}

func TestInstructionsAreParsed(t *testing.T) {
	key := addressOf("l") // stands in data
	amount := `{"amount":"1500","decimals":3,"uiAmount":1.5,"uiAmountString":"1.5"}`
	for _, c := range []struct {
		program  address
		accounts int
		data     []byte
		name     string
		want     string
	}{
		{systemProgram, 2, pack(uint32(0), 7, 8, key), "system", `{"info":{"lamports":7,"newAccount":"b","owner":"l","source":"a","space":8},"type":"createAccount"}`},
		{systemProgram, 1, pack(uint32(1), key), "system", `{"info":{"account":"a","owner":"l"},"type":"assign"}`},
		{systemProgram, 2, pack(uint32(2), uint64(math.MaxUint64)), "system", `{"info":{"destination":"b","lamports":18446744073709551615,"source":"a"},"type":"transfer"}`},
		{systemProgram, 2, pack(uint32(3), key, "seed", 1, 2, key), "system", `{"info":{"base":"l","lamports":1,"newAccount":"b","owner":"l","seed":"seed","source":"a","space":2},"type":"createAccountWithSeed"}`},
		{systemProgram, 3, pack(uint32(4)), "system", `{"info":{"nonceAccount":"a","nonceAuthority":"c","recentBlockhashesSysvar":"b"},"type":"advanceNonce"}`},
		{systemProgram, 5, pack(uint32(5), 9), "system", `{"info":{"destination":"b","lamports":9,"nonceAccount":"a","nonceAuthority":"e","recentBlockhashesSysvar":"c","rentSysvar":"d"},"type":"withdrawFromNonce"}`},
		{systemProgram, 3, pack(uint32(6), key), "system", `{"info":{"nonceAccount":"a","nonceAuthority":"l","recentBlockhashesSysvar":"b","rentSysvar":"c"},"type":"initializeNonce"}`},
		{systemProgram, 2, pack(uint32(7), key), "system", `{"info":{"newAuthorized":"l","nonceAccount":"a","nonceAuthority":"b"},"type":"authorizeNonce"}`},
		{systemProgram, 1, pack(uint32(8), 165), "system", `{"info":{"account":"a","space":165},"type":"allocate"}`},
		{systemProgram, 2, pack(uint32(9), key, "s", 1, key), "system", `{"info":{"account":"a","base":"l","owner":"l","seed":"s","space":1},"type":"allocateWithSeed"}`},
		{systemProgram, 2, pack(uint32(10), key, "s", key), "system", `{"info":{"account":"a","base":"l","owner":"l","seed":"s"},"type":"assignWithSeed"}`},
		{systemProgram, 3, pack(uint32(11), 5, "s", key), "system", `{"info":{"destination":"c","lamports":5,"source":"a","sourceBase":"b","sourceOwner":"l","sourceSeed":"s"},"type":"transferWithSeed"}`},
		{systemProgram, 1, pack(uint32(12)), "system", `{"info":{"nonceAccount":"a"},"type":"upgradeNonce"}`},
		{systemProgram, 1, pack(uint32(2), 7), "", ""},          // an account is missing
		{systemProgram, 2, pack(uint32(2), uint32(7)), "", ""},  // the amount is cut off
		{systemProgram, 2, pack(uint32(13)), "", ""},            // no such instruction
		{systemProgram, 2, pack(uint32(3), key, 1<<40), "", ""}, // a seed longer than the data
		{systemProgram, 2, pack(uint32(3), key, "\xff", 1, 2, key), "", ""},

		{tokenProgram, 2, pack(byte(0), byte(6), key, byte(1), key), "spl-token", `{"info":{"decimals":6,"freezeAuthority":"l","mint":"a","mintAuthority":"l","rentSysvar":"b"},"type":"initializeMint"}`},
		{tokenProgram, 1, pack(byte(20), byte(6), key, byte(0)), "spl-token", `{"info":{"decimals":6,"mint":"a","mintAuthority":"l"},"type":"initializeMint2"}`},
		{tokenProgram, 4, pack(byte(1)), "spl-token", `{"info":{"account":"a","mint":"b","owner":"c","rentSysvar":"d"},"type":"initializeAccount"}`},
		{tokenProgram, 3, pack(byte(16), key), "spl-token", `{"info":{"account":"a","mint":"b","owner":"l","rentSysvar":"c"},"type":"initializeAccount2"}`},
		{tokenProgram, 2, pack(byte(18), key), "spl-token", `{"info":{"account":"a","mint":"b","owner":"l"},"type":"initializeAccount3"}`},
		{tokenProgram, 4, pack(byte(2), byte(2)), "spl-token", `{"info":{"m":2,"multisig":"a","rentSysvar":"b","signers":["c","d"]},"type":"initializeMultisig"}`},
		{tokenProgram, 3, pack(byte(19), byte(2)), "spl-token", `{"info":{"m":2,"multisig":"a","signers":["b","c"]},"type":"initializeMultisig2"}`},
		{tokenProgram, 3, pack(byte(3), 1500), "spl-token", `{"info":{"amount":"1500","authority":"c","destination":"b","source":"a"},"type":"transfer"}`},
		{tokenProgram, 5, pack(byte(3), 1500), "spl-token", `{"info":{"amount":"1500","destination":"b","multisigAuthority":"c","signers":["d","e"],"source":"a"},"type":"transfer"}`},
		{token2022Program, 3, pack(byte(4), 1500), "spl-token", `{"info":{"amount":"1500","delegate":"b","owner":"c","source":"a"},"type":"approve"}`},
		{tokenProgram, 2, pack(byte(5)), "spl-token", `{"info":{"owner":"b","source":"a"},"type":"revoke"}`},
		{tokenProgram, 3, pack(byte(5)), "spl-token", `{"info":{"multisigOwner":"b","signers":["c"],"source":"a"},"type":"revoke"}`},
		{tokenProgram, 2, pack(byte(6), byte(0), byte(0)), "spl-token", `{"info":{"authority":"b","authorityType":"mintTokens","mint":"a","newAuthority":null},"type":"setAuthority"}`},
		{tokenProgram, 2, pack(byte(6), byte(2), byte(1), key), "spl-token", `{"info":{"account":"a","authority":"b","authorityType":"accountOwner","newAuthority":"l"},"type":"setAuthority"}`},
		{tokenProgram, 3, pack(byte(7), 1), "spl-token", `{"info":{"account":"b","amount":"1","mint":"a","mintAuthority":"c"},"type":"mintTo"}`},
		{tokenProgram, 3, pack(byte(8), 1), "spl-token", `{"info":{"account":"a","amount":"1","authority":"c","mint":"b"},"type":"burn"}`},
		{tokenProgram, 3, pack(byte(9)), "spl-token", `{"info":{"account":"a","destination":"b","owner":"c"},"type":"closeAccount"}`},
		{tokenProgram, 3, pack(byte(10)), "spl-token", `{"info":{"account":"a","freezeAuthority":"c","mint":"b"},"type":"freezeAccount"}`},
		{tokenProgram, 4, pack(byte(11)), "spl-token", `{"info":{"account":"a","mint":"b","multisigFreezeAuthority":"c","signers":["d"]},"type":"thawAccount"}`},
		{tokenProgram, 4, pack(byte(12), 1500, byte(3)), "spl-token", `{"info":{"authority":"d","destination":"c","mint":"b","source":"a","tokenAmount":` + amount + `},"type":"transferChecked"}`},
		{tokenProgram, 4, pack(byte(13), 1500, byte(3)), "spl-token", `{"info":{"delegate":"c","mint":"b","owner":"d","source":"a","tokenAmount":` + amount + `},"type":"approveChecked"}`},
		{tokenProgram, 3, pack(byte(14), 1500, byte(3)), "spl-token", `{"info":{"account":"b","mint":"a","mintAuthority":"c","tokenAmount":` + amount + `},"type":"mintToChecked"}`},
		{tokenProgram, 3, pack(byte(15), 1500, byte(3)), "spl-token", `{"info":{"account":"a","authority":"c","mint":"b","tokenAmount":` + amount + `},"type":"burnChecked"}`},
		{tokenProgram, 1, pack(byte(17)), "spl-token", `{"info":{"account":"a"},"type":"syncNative"}`},
		{tokenProgram, 1, pack(byte(21), byte(7), byte(0)), "spl-token", `{"info":{"extensionTypes":["immutableOwner"],"mint":"a"},"type":"getAccountDataSize"}`},
		{tokenProgram, 1, pack(byte(22)), "spl-token", `{"info":{"account":"a"},"type":"initializeImmutableOwner"}`},
		{tokenProgram, 1, pack(byte(23), 5), "spl-token", `{"info":{"amount":"5","mint":"a"},"type":"amountToUiAmount"}`},
		{tokenProgram, 1, append([]byte{24}, "1.5"...), "spl-token", `{"info":{"mint":"a","uiAmount":"1.5"},"type":"uiAmountToAmount"}`},
		{token2022Program, 1, pack(byte(25), byte(1), key), "spl-token", `{"info":{"mint":"a","newAuthority":"l"},"type":"initializeMintCloseAuthority"}`},
		{token2022Program, 4, pack(byte(26), byte(1), 1500, byte(3), 1500), "spl-token", `{"info":{"authority":"d","destination":"c","feeAmount":` + amount + `,"mint":"b","source":"a","tokenAmount":` + amount + `},"type":"transferCheckedWithFee"}`},
		{token2022Program, 1, pack(byte(26), byte(0), byte(1), key, byte(0), byte(5), byte(0), 9), "spl-token", `{"info":{"maximumFee":9,"mint":"a","transferFeeBasisPoints":5,"transferFeeConfigAuthority":"l"},"type":"initializeTransferFeeConfig"}`},
		{token2022Program, 3, pack(byte(26), byte(2)), "spl-token", `{"info":{"feeRecipient":"b","mint":"a","withdrawWithheldAuthority":"c"},"type":"withdrawWithheldTokensFromMint"}`},
		{token2022Program, 5, pack(byte(26), byte(3), byte(2)), "spl-token", `{"info":{"feeRecipient":"b","mint":"a","sourceAccounts":["d","e"],"withdrawWithheldAuthority":"c"},"type":"withdrawWithheldTokensFromAccounts"}`},
		{token2022Program, 3, pack(byte(26), byte(4)), "spl-token", `{"info":{"mint":"a","sourceAccounts":["b","c"]},"type":"harvestWithheldTokensToMint"}`},
		{token2022Program, 2, pack(byte(26), byte(5), byte(5), byte(0), 9), "spl-token", `{"info":{"maximumFee":9,"mint":"a","transferFeeBasisPoints":5,"transferFeeConfigAuthority":"b"},"type":"setTransferFee"}`},
		{token2022Program, 2, pack(byte(28), byte(1), byte(2)), "spl-token", `{"info":{"accountState":"frozen","freezeAuthority":"b","mint":"a"},"type":"updateDefaultAccountState"}`},
		{token2022Program, 4, pack(byte(29), byte(8), byte(0)), "spl-token", `{"info":{"account":"a","extensionTypes":["memoTransfer"],"owner":"d","payer":"b","systemProgram":"c"},"type":"reallocate"}`},
		{token2022Program, 2, pack(byte(30), byte(0)), "spl-token", `{"info":{"account":"a","owner":"b"},"type":"enableRequiredMemoTransfers"}`},
		{token2022Program, 2, pack(byte(34), byte(1)), "spl-token", `{"info":{"account":"a","owner":"b"},"type":"disableCpiGuard"}`},
		{token2022Program, 1, pack(byte(35), key), "spl-token", `{"info":{"delegate":"l","mint":"a"},"type":"initializePermanentDelegate"}`},
		{token2022Program, 1, pack(byte(36), byte(0), address{}, key), "spl-token", `{"info":{"mint":"a","programId":"l"},"type":"initializeTransferHook"}`},
		{token2022Program, 2, pack(byte(39), byte(1), key), "spl-token", `{"info":{"authority":"b","metadataAddress":"l","mint":"a"},"type":"updateMetadataPointer"}`},
		{tokenProgram, 2, pack(byte(30), byte(0)), "", ""}, // of Token-2022 alone
		{tokenProgram, 2, pack(byte(3), 1), "", ""},        // nobody signs
		{tokenProgram, 2, pack(byte(6), byte(18), byte(0)), "", ""},
		{tokenProgram, 2, pack(byte(6), byte(0), byte(2)), "", ""},
		{tokenProgram, 0, pack(byte(17)), "", ""},
		{tokenProgram, 1, pack(byte(21), byte(7)), "", ""},
		{tokenProgram, 1, append([]byte{24}, 0xff), "", ""},
		{token2022Program, 4, pack(byte(26), byte(3), byte(2)), "", ""},
		{token2022Program, 2, pack(byte(28), byte(0), byte(3)), "", ""},

		{associatedProgram, 6, nil, "spl-associated-token-account", `{"info":{"account":"b","mint":"d","source":"a","systemProgram":"e","tokenProgram":"f","wallet":"c"},"type":"create"}`},
		{associatedProgram, 6, []byte{1}, "spl-associated-token-account", `{"info":{"account":"b","mint":"d","source":"a","systemProgram":"e","tokenProgram":"f","wallet":"c"},"type":"createIdempotent"}`},
		{associatedProgram, 7, []byte{2}, "spl-associated-token-account", `{"info":{"destination":"c","nestedMint":"b","nestedOwner":"d","nestedSource":"a","ownerMint":"e","tokenProgram":"g","wallet":"f"},"type":"recoverNested"}`},
		{associatedProgram, 5, []byte{1}, "", ""},
		{associatedProgram, 6, []byte{3}, "", ""},
		{associatedProgram, 6, []byte{1, 0}, "", ""},

		{lookupProgram, 4, pack(uint32(0), 77, byte(254)), "address-lookup-table", `{"info":{"bumpSeed":254,"lookupTableAccount":"a","lookupTableAuthority":"b","payerAccount":"c","recentSlot":77,"systemProgram":"d"},"type":"createLookupTable"}`},
		{lookupProgram, 2, pack(uint32(1)), "address-lookup-table", `{"info":{"lookupTableAccount":"a","lookupTableAuthority":"b"},"type":"freezeLookupTable"}`},
		{lookupProgram, 2, pack(uint32(2), 1, key), "address-lookup-table", `{"info":{"lookupTableAccount":"a","lookupTableAuthority":"b","newAddresses":["l"]},"type":"extendLookupTable"}`},
		{lookupProgram, 4, pack(uint32(2), 1, key), "address-lookup-table", `{"info":{"lookupTableAccount":"a","lookupTableAuthority":"b","newAddresses":["l"],"payerAccount":"c","systemProgram":"d"},"type":"extendLookupTable"}`},
		{lookupProgram, 2, pack(uint32(3)), "address-lookup-table", `{"info":{"lookupTableAccount":"a","lookupTableAuthority":"b"},"type":"deactivateLookupTable"}`},
		{lookupProgram, 3, pack(uint32(4)), "address-lookup-table", `{"info":{"lookupTableAccount":"a","lookupTableAuthority":"b","recipient":"c"},"type":"closeLookupTable"}`},
		{lookupProgram, 2, pack(uint32(2), 2, key), "", ""}, // one of two addresses
		{lookupProgram, 2, pack(uint32(2), uint64(1)<<59, key), "", ""},

		{memoV4, 0, []byte("Grüße"), "spl-memo", `"Grüße"`},
		{memoV1, 0, []byte("\xff"), "", ""},
		{lighthouseProgram, 1, []byte{5}, "", ""},
		{budgetProgram, 0, pack(byte(2), uint32(5)), "", ""},
	} {
		name, parsed := parsedAs(t, c.program, c.accounts, c.data)
		if name != c.name || parsed != c.want {
			t.Errorf("%s %x: %s %s\nwant %s %s", c.program, c.data, name, parsed, c.name, c.want)
		}
	}
}

// TestParsedInstructionsAreServed reads a landed transaction: its instructions and those that the
// programs called.
func TestParsedInstructionsAreServed(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1, Seed: "parsed"})
	s.giveToken(t, "alice", USDC, 5_000_000)
	s.advance(t, 2)
	type parsed struct {
		Program, ProgramID string
		Parsed             json.RawMessage
		StackHeight        int
		Accounts           []string
		Data               string
	}
	var got struct {
		Transaction struct {
			Message struct{ Instructions []parsed }
		}
		Meta struct {
			InnerInstructions []struct{ Instructions []parsed }
		}
	}
	last := s.Landed()[len(s.Landed())-1].Signature
	s.must(t, &got, "getTransaction", last, object{"encoding": "jsonParsed"})
	kind := func(p parsed) string {
		var of struct{ Type string }
		if json.Unmarshal(p.Parsed, &of) != nil {
			return p.Program
		}
		return p.Program + " " + of.Type
	}
	var kinds []string
	for _, p := range got.Transaction.Message.Instructions {
		kinds = append(kinds, kind(p))
	}
	for _, group := range got.Meta.InnerInstructions {
		for _, p := range group.Instructions {
			if p.StackHeight != 2 {
				t.Errorf("%+v", p)
			}
			kinds = append(kinds, kind(p))
		}
	}
	if want := "[spl-associated-token-account createIdempotent spl-token mintTo spl-memo" +
		" spl-token getAccountDataSize system createAccount spl-token initializeImmutableOwner spl-token initializeAccount3]"; fmt.Sprint(kinds) != want {
		t.Errorf("%s\nwant %s", fmt.Sprint(kinds), want)
	}
}

// FuzzParseInstruction takes any instruction of the programs that have a parser: no panic, and what it
// makes is JSON.
func FuzzParseInstruction(f *testing.F) {
	programs := []address{systemProgram, tokenProgram, token2022Program, associatedProgram, lookupProgram, memoV4}
	for i, data := range [][]byte{pack(uint32(3), addressOf("l"), "seed", 1, 2, addressOf("l")), pack(byte(12), 1500, byte(3)),
		pack(byte(26), byte(3), byte(2)), {1}, pack(uint32(2), 1, addressOf("l")), []byte("memo")} {
		f.Add(byte(i), byte(6), data)
	}
	f.Fuzz(func(t *testing.T, program, accounts byte, data []byte) {
		parsedAs(t, programs[int(program)%len(programs)], int(accounts%20), data)
	})
}
