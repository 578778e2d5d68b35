package solana

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/sha3"
)

// lighthouseWorld executes one Lighthouse instruction over accounts of a test: the target's data
// counts from 0 to 199 but for its first 8 bytes, which are the other account's lamports less 5.
type lighthouseWorld struct {
	accounts map[address]account
	metas    []meta
}

func newLighthouseWorld() lighthouseWorld {
	data := make([]byte, 200)
	for i := range data {
		data[i] = byte(i)
	}
	binary.LittleEndian.PutUint64(data, sol-5)
	return lighthouseWorld{
		accounts: map[address]account{
			addressOf("alice"):  {Lamports: 10 * sol},
			addressOf("bob"):    {Lamports: sol, Data: []byte{7, 0xff}, Owner: addressOf("vault")},
			addressOf("target"): {Lamports: sol, Data: data, Owner: addressOf("vault")},
			addressOf("mint"):   aMint(tokenProgram, addressOf("alice"), 500),
		},
		metas: []meta{{addressOf("target"), "w"}, {addressOf("bob"), ""}},
	}
}

func (w lighthouseWorld) run(t *testing.T, data []byte, after ...call) outcome {
	t.Helper()
	calls := append([]call{{lighthouseProgram, w.metas, data}}, after...)
	tx, err := parseTransaction(draft{payer: "alice", calls: calls}.bytes())
	if err != nil || tx.sanitize() != nil {
		t.Fatal(err)
	}
	program := account{Lamports: 1, Owner: loaderV2, Executable: true}
	return bank{
		read: func(key address) account {
			switch key {
			case lighthouseProgram, systemProgram, memoV4:
				return program
			}
			return w.accounts[key]
		},
		recent: func(hash) bool { return true },
		done:   func(*transaction) bool { return false },
		rent:   DefaultLamportsPerByte,
		slot:   2*SlotsPerEpoch + 7,
		epoch:  func(slot uint64) uint64 { return slot / SlotsPerEpoch },

		firstSlot: func(epoch uint64) uint64 { return epoch * SlotsPerEpoch },
		time:      func(slot uint64) int64 { return int64(slot) + 1000 },
	}.execute(tx)
}

// lh writes an instruction: kind, log level and the rest.
func lh(kind, level byte, rest ...any) []byte { return append([]byte{kind, level}, pack(rest...)...) }

func TestLighthouseAssertions(t *testing.T) {
	w := newLighthouseWorld()
	mint, target, alice, vault := addressOf("mint"), addressOf("target"), addressOf("alice"), addressOf("vault")
	account, _ := associatedAddress(alice, tokenProgram, mint)
	w.accounts[account] = aHolding(tokenProgram, mint, alice, 42)
	on := func(keys ...address) []meta {
		list := make([]meta, len(keys))
		for i, k := range keys {
			list[i] = meta{k, ""}
		}
		return list
	}
	sum := sha3.NewLegacyKeccak256()
	sum.Write(w.accounts[target].Data[10:30])
	keccak := address(sum.Sum(nil))
	const eq, ne, gt, lt, ge, le, contains, lacks = byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7)
	i128 := func(n int64) []any { return []any{uint64(n), uint64(n >> 63)} }

	type test struct {
		name  string
		data  []byte
		want  string // the error; "" when it holds
		metas []meta
	}
	failedAt := func(code int) string { return customError(0, code) }
	tests := []test{
		{"lamports equal", lh(5, 0, byte(0), uint64(sol), eq), "", nil},
		{"lamports not equal", lh(5, 0, byte(0), uint64(sol), ne), failedAt(6001), nil},
		{"lamports greater", lh(5, 0, byte(0), uint64(sol-1), gt), "", nil},
		{"lamports not greater", lh(5, 0, byte(0), uint64(sol), gt), failedAt(6001), nil},
		{"lamports less", lh(5, 0, byte(0), uint64(sol+1), lt), "", nil},
		{"lamports not less", lh(5, 0, byte(0), uint64(sol), lt), failedAt(6001), nil},
		{"lamports greater or equal", lh(5, 0, byte(0), uint64(sol), ge), "", nil},
		{"lamports short", lh(5, 0, byte(0), uint64(sol+1), ge), failedAt(6001), nil},
		{"lamports less or equal", lh(5, 0, byte(0), uint64(sol), le), "", nil},
		{"lamports too many", lh(5, 0, byte(0), uint64(sol-1), le), failedAt(6001), nil},
		{"length contains bits", lh(5, 0, byte(1), uint64(0b1001000), contains), "", nil}, // 200 is 0b11001000
		{"length contains not all bits", lh(5, 0, byte(1), uint64(0b1001001), contains), failedAt(6001), nil},
		{"length lacks bits", lh(5, 0, byte(1), uint64(0b110), lacks), "", nil},
		{"length lacks not all bits", lh(5, 0, byte(1), uint64(0b1110), lacks), failedAt(6001), nil},
		{"owner", lh(5, 0, byte(2), vault, eq), "", nil},
		{"another owner", lh(5, 0, byte(2), alice, eq), failedAt(6001), nil},
		{"not another owner", lh(5, 0, byte(2), alice, ne), "", nil},
		{"known owner", lh(5, 0, byte(3), byte(1), eq), "", on(mint)},
		{"another known owner", lh(5, 0, byte(3), byte(2), eq), failedAt(6001), on(mint)},
		{"System owns a wallet", lh(5, 0, byte(3), byte(0), eq), "", on(alice)},
		{"unknown known owner", lh(5, 0, byte(3), byte(9), eq), failedAt(6000), on(mint)},
		{"rent epoch", lh(5, 0, byte(4), uint64(math.MaxUint64), eq), "", nil},
		{"signer", lh(5, 0, byte(5), byte(1), eq), "", []meta{{alice, "sw"}}},
		{"no signer", lh(5, 0, byte(5), byte(1), eq), failedAt(6001), nil},
		{"writable", lh(5, 0, byte(6), byte(1), eq), "", nil},
		{"not writable", lh(5, 0, byte(6), byte(1), eq), failedAt(6001), on(target)},
		{"not executable", lh(5, 0, byte(7), byte(0), eq), "", nil},
		{"executable", lh(5, 0, byte(7), byte(1), eq), "", on(systemProgram)},
		{"a bool of 2", lh(5, 0, byte(7), byte(2), eq), failedAt(6000), nil},
		{"a greater bool", lh(5, 0, byte(7), byte(1), gt), failedAt(6000), nil},
		{"hash of data", lh(5, 0, byte(8), keccak, byte(10), byte(20)), "", nil},
		{"hash of other data", lh(5, 0, byte(8), keccak, byte(11), byte(20)), failedAt(6001), nil},
		{"hash beyond the data", lh(5, 0, byte(8), keccak, byte(190), byte(1), byte(20)), failedAt(6005), nil}, // LEB128 of 190
		{"hash of an impossible range", append(lh(5, 0, byte(8), keccak), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 20), instr(0, "ProgramFailedToComplete"), nil},
		{"several", lh(6, 0, byte(2), byte(0), uint64(sol), eq, byte(1), uint64(200), eq), "", nil},
		{"the second of several", lh(6, 0, byte(2), byte(0), uint64(sol), eq, byte(1), uint64(201), eq), failedAt(0x1901), nil},
		{"the first of several", lh(6, 0, byte(2), byte(0), uint64(0), eq, byte(1), uint64(201), eq), failedAt(0x1900), nil},
		{"none of several", lh(6, 0, byte(0)), "", nil},
		{"fewer than announced", lh(6, 0, byte(2), byte(0), uint64(sol), eq), failedAt(6000), nil},
		{"a huge count", append([]byte{6, 0}, 0xff, 0xff, 0xff, 0xff, 0x0f), failedAt(6000), nil},

		{"data: bool", lh(2, 0, byte(9), byte(0), byte(1), eq), instr(0, "BorshIoError"), nil}, // the byte there is 9
		{"data: u8", lh(2, 0, byte(9), byte(1), byte(9), eq), "", nil},
		{"data: i8", lh(2, 0, byte(0xc7), byte(1), byte(2), byte(0xc6), gt), "", nil}, // at 199
		{"data: i8 is signed", lh(2, 0, byte(0xc7), byte(1), byte(2), byte(0), lt), "", nil},
		{"data: u16", lh(2, 0, byte(9), byte(3), byte(9), byte(10), eq), "", nil},
		{"data: i16 is signed", lh(2, 0, byte(0xc6), byte(1), byte(4), byte(0), byte(0), lt), "", nil},
		{"data: u32", lh(2, 0, byte(16), byte(5), uint32(0x13121110), eq), "", nil},
		{"data: i32", lh(2, 0, byte(16), byte(6), uint32(0x13121110), eq), "", nil},
		{"data: u64", lh(2, 0, byte(0), byte(7), uint64(sol-5), eq), "", nil},
		{"data: i64", lh(2, 0, byte(0), byte(8), uint64(sol-5), ge), "", nil},
		{"data: u128", lh(2, 0, byte(16), byte(9), uint64(0x1716151413121110), uint64(0x1f1e1d1c1b1a1918), eq), "", nil},
		{"data: i128", lh(2, 0, byte(16), byte(10), uint64(0x1716151413121110), uint64(0x1f1e1d1c1b1a1918), ne), failedAt(6001), nil},
		{"data: bytes", lh(2, 0, byte(16), byte(11), byte(3), byte(16), byte(17), byte(18), eq), "", nil},
		{"data: other bytes", lh(2, 0, byte(16), byte(11), byte(3), byte(16), byte(17), byte(19), eq), failedAt(6001), nil},
		{"data: key", lh(2, 0, byte(16), byte(12), address(w.accounts[target].Data[16:48]), eq), "", nil},
		{"data: unknown type", lh(2, 0, byte(16), byte(13), byte(0), eq), failedAt(6000), nil},
		{"data: the end", lh(2, 0, byte(0xc1), byte(1), byte(7), uint64(0), ne), failedAt(6005), nil}, // 193 to 201
		{"data of an empty account", lh(2, 0, byte(0), byte(1), byte(0), eq), failedAt(6011), on(alice)},
		{"data: several", lh(3, 0, byte(2), byte(9), byte(1), byte(9), eq, byte(9), byte(1), byte(8), eq), failedAt(0x1901), nil},

		{"lamports grew by 5", lh(4, 0, append(append([]any{byte(0), byte(0), byte(0)}, i128(5)...), eq)...), "", nil},
		{"lamports grew by more than 4", lh(4, 0, append(append([]any{byte(0), byte(0), byte(0)}, i128(4)...), gt)...), "", nil},
		{"lamports did not fall", lh(4, 0, append(append([]any{byte(0), byte(0), byte(0)}, i128(-1)...), gt)...), "", nil},
		{"lamports fell", lh(4, 0, append(append([]any{byte(0), byte(0), byte(0)}, i128(0)...), lt)...), failedAt(6001), nil},
		{"owner in the data", lh(4, 0, byte(0), byte(16), byte(2), eq), failedAt(6001), nil},
		{"delta of data", lh(4, 0, byte(1), byte(9), byte(0), byte(0), byte(0xfe), byte(0xff), eq), "", nil},        // 7 less 9
		{"delta of signed data", lh(4, 0, byte(1), byte(9), byte(1), byte(1), byte(0xf6), byte(0xff), eq), "", nil}, // -1 less 9
		{"delta of u16", lh(4, 0, byte(1), byte(9), byte(0), byte(2), uint32(0xff07-0x0a09), eq), "", nil},
		{"delta of equal bytes", lh(4, 0, byte(1), byte(9), byte(0), byte(8), byte(1), byte(0), eq), failedAt(6001), nil},
		{"delta of an empty account", lh(4, 0, byte(1), byte(9), byte(0), byte(0), byte(0), byte(0), eq), failedAt(6011), on(target, alice)},
		{"delta of one account", lh(4, 0, byte(1), byte(9), byte(0), byte(0), byte(0), byte(0), eq), instr(0, "NotEnoughAccountKeys"), on(target)},

		{"mint authority", lh(7, 0, byte(0), byte(1), alice, eq), "", on(mint)},
		{"no mint authority", lh(7, 0, byte(0), byte(0), eq), failedAt(6001), on(mint)},
		{"some mint authority", lh(7, 0, byte(0), byte(0), ne), "", on(mint)},
		{"supply", lh(7, 0, byte(1), uint64(500), eq), "", on(mint)},
		{"decimals", lh(7, 0, byte(2), byte(6), eq), "", on(mint)},
		{"initialized", lh(7, 0, byte(3), byte(1), eq), "", on(mint)},
		{"mint that is none", lh(7, 0, byte(2), byte(6), eq), failedAt(6009), on(alice)},
		{"mint: several", lh(8, 0, byte(2), byte(2), byte(6), eq, byte(1), uint64(500), lt), failedAt(0x1901), on(mint)},
		{"token account's mint", lh(9, 0, byte(0), mint, eq), "", on(account)},
		{"token account's owner", lh(9, 0, byte(1), alice, eq), "", on(account)},
		{"token account's amount", lh(9, 0, byte(2), uint64(42), ge), "", on(account)},
		{"token account's amount short", lh(9, 0, byte(2), uint64(43), ge), failedAt(6001), on(account)},
		{"no delegate", lh(9, 0, byte(3), byte(0), eq), "", on(account)},
		{"some delegate", lh(9, 0, byte(3), byte(1), alice, eq), failedAt(6001), on(account)},
		{"state", lh(9, 0, byte(4), byte(1), eq), "", on(account)},
		{"not native", lh(9, 0, byte(5), byte(0), eq), "", on(account)},
		{"native", lh(9, 0, byte(5), byte(1), uint64(0), eq), failedAt(6001), on(account)},
		{"nothing delegated", lh(9, 0, byte(6), uint64(0), eq), "", on(account)},
		{"no close authority", lh(9, 0, byte(7), byte(0), eq), "", on(account)},
		{"associated account", lh(9, 0, byte(8)), "", on(account)},
		{"unknown field", lh(9, 0, byte(9), byte(0), eq), failedAt(6000), on(account)},
		{"token account: several", lh(10, 0, byte(3), byte(2), uint64(42), eq, byte(8), byte(4), byte(2), eq), failedAt(0x1902), on(account)},
		{"a mint is no token account", lh(9, 0, byte(7), byte(0), eq), failedAt(6007), on(mint)},

		{"slot", lh(15, 0, byte(0), uint64(2*SlotsPerEpoch+7), eq), "", nil},
		{"epoch start", lh(15, 0, byte(1), uint64(2*SlotsPerEpoch+1000), eq), "", nil},
		{"epoch", lh(15, 0, byte(2), uint64(2), eq), "", nil},
		{"leader schedule's epoch", lh(15, 0, byte(3), uint64(3), eq), "", nil},
		{"time", lh(15, 0, byte(4), uint64(2*SlotsPerEpoch+1006), gt), "", nil},
		{"unknown clock field", lh(15, 0, byte(5), uint64(2), eq), failedAt(6000), nil},
		{"time is over", lh(15, 0, byte(4), uint64(2*SlotsPerEpoch+1006), lt), failedAt(6001), nil},

		{"stake account", lh(11, 0), failedAt(6009), nil},
		{"program", lh(13, 0), failedAt(6009), nil},
		{"compressed tree", lh(16, 0), failedAt(6015), on(target, alice, mint)},
		{"tree config", lh(17, 0), failedAt(6009), nil},
		{"memory", lh(0, 0), failedAt(6000), nil},
		{"of tomorrow", lh(18, 0), failedAt(6000), nil},
		{"unknown log level", lh(5, 7, byte(0), uint64(sol), eq), failedAt(6000), nil},
		{"unknown operator", lh(5, 0, byte(0), uint64(sol), byte(8)), failedAt(6000), nil},
		{"nothing", []byte{}, failedAt(6000), nil},
	}
	for _, c := range tests {
		world := w
		if c.metas != nil {
			world.metas = c.metas
		}
		out := world.run(t, c.data)
		want := c.want
		if want == "" {
			want = "null"
		}
		if got := shown(t, out.Err); got != want {
			t.Errorf("%s: %s, not %s\n%q", c.name, got, want, out.Logs)
		}
	}
}

func TestLighthouseLogs(t *testing.T) {
	w := newLighthouseWorld()
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"silent", lh(5, 0, byte(0), uint64(sol), byte(0)), nil},
		{"text", lh(5, 1, byte(0), uint64(5), byte(2)), []string{"Program log: Instruction: AssertAccountInfo", "Program log: Result (Passed): Some(1000000000) > Some(5)"}},
		{"text of a failure", lh(5, 1, byte(0), uint64(5), byte(3)), []string{"Program log: Instruction: AssertAccountInfo", "Program log: Result (Failed): Some(1000000000) < Some(5)"}},
		{"text of failures only", lh(5, 4, byte(0), uint64(5), byte(2)), nil},
		{"text of failures only, failing", lh(5, 4, byte(0), uint64(5), byte(5)), []string{"Program log: Result (Failed): Some(1000000000) <= Some(5)"}},
		{"text of a bool", lh(5, 4, byte(7), byte(1), byte(0)), []string{"Program log: Result (Failed): Some(false) == Some(true)"}},
		{"text of keys", lh(5, 4, byte(2), addressOf("bob"), byte(0)), []string{"Program log: Result: ", "Program log: " + addressOf("vault").String(), "Program log: ==", "Program log: " + addressOf("bob").String()}},
		{"text of bytes", lh(2, 4, byte(16), byte(11), byte(2), byte(1), byte(2), byte(0)), []string{"Program log: Result (Failed): [16, 17] == [1, 2]"}},
		{"data", lh(5, 2, byte(1), uint64(199), byte(4)), []string{"Program data: AwHIAAAAAAAAAAHHAAAAAAAAAAQB"}},
		{"data of failures only", lh(5, 5, byte(1), uint64(199), byte(4)), nil},
		{"data of a signed number", lh(2, 5, byte(0xc7), byte(1), byte(2), byte(0), byte(2)), []string{"Program data: BQHHAQACAA=="}},
		{"out of bounds", lh(2, 0, byte(0xc7), byte(1), byte(3), byte(0), byte(0), byte(0)), []string{"Program log: Failed to deserialized u16 range 199..201 was out of bounds"}},
	} {
		out := w.run(t, c.data)
		var got []string
		for _, line := range out.Logs {
			if strings.HasPrefix(line, "Program log: ") || strings.HasPrefix(line, "Program data: ") {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	// To log by the noop program, the transaction has to bring it along; here it does not exist.
	if out := w.run(t, lh(5, 3, byte(0), uint64(sol), byte(0))); shown(t, out.Err) != instr(0, "MissingAccount") {
		t.Errorf("%v", out.Err)
	}
}

// TestAPaymentWithAssertionsLands sends what a wallet makes of a payment: assertions behind it. They
// see the accounts as the transfer left them, and undo it when they do not hold.
func TestAPaymentWithAssertionsLands(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 1})
	s.fund(t, "alice", 10*sol)
	alice, bob := addressOf("alice"), addressOf("bob")
	guard := func(least uint64) call {
		return call{lighthouseProgram, []meta{{alice, "w"}}, lh(5, 0, byte(0), least, byte(4))}
	}
	for _, c := range []struct {
		least uint64
		err   string
		bob   uint64
	}{{9*sol - 5000, "null", sol}, {8 * sol, customError(1, 6001), sol}} {
		h, _ := s.blockhashAt(t, processed)
		text, sig := encode(draft{payer: "alice", blockhash: h, calls: []call{transferTo(alice, bob, sol), guard(c.least), memoCall(memoV4, "paid")}}.bytes())
		s.must(t, new(string), "sendTransaction", text, blindly)
		s.advance(t, 1)
		if st := s.status(t, sig); st == nil || string(st.Err) != c.err {
			t.Errorf("%+v, not %s", st, c.err)
		}
		if got := s.Balance(bob.String()); got != c.bob {
			t.Errorf("bob holds %d", got)
		}
	}
}

func FuzzLighthouse(f *testing.F) {
	for _, seed := range [][]byte{
		lh(5, 1, byte(0), uint64(sol), byte(0)), lh(6, 2, byte(2), byte(0), uint64(sol), byte(0), byte(1), uint64(200), byte(0)),
		lh(3, 4, byte(1), byte(16), byte(11), byte(3), byte(1), byte(2), byte(3), byte(0)), lh(4, 1, byte(1), byte(9), byte(0), byte(2), uint32(5), byte(0)),
		lh(9, 1, byte(8)), lh(15, 1, byte(4), uint64(9), byte(3)),
	} {
		f.Add(seed, byte(0))
	}
	w := newLighthouseWorld()
	account, _ := associatedAddress(addressOf("alice"), tokenProgram, addressOf("mint"))
	w.accounts[account] = aHolding(tokenProgram, addressOf("mint"), addressOf("alice"), 42)
	sets := [][]meta{w.metas, {{account, "w"}}, {{addressOf("mint"), ""}}, {}}
	f.Fuzz(func(t *testing.T, data []byte, set byte) {
		if len(data) > 900 {
			return
		}
		world := w
		world.metas = sets[int(set)%len(sets)]
		out := world.run(t, data)
		for key, a := range out.Writes {
			if key != addressOf("alice") && a.Lamports != world.accounts[key].Lamports {
				t.Fatalf("%s changed", key)
			}
		}
	})
}
