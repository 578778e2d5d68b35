package chain

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/gagliardetto/solana-go"

	"purser/wallet"
)

func TestMovementsAreReadFromData(t *testing.T) {
	seeded := slices.Concat([]byte{3, 0, 0, 0}, make([]byte, 32), u64(4), []byte("seed"), u64(77), u64(165), make([]byte, 32))
	stake, token := wallet.StakeProgram, wallet.TokenProgram
	for name, c := range map[string]struct {
		program  wallet.Address
		data     []byte
		accounts int
		from, to int
		units    uint64
		known    bool
	}{
		"transfer":                   {wallet.SystemProgram, append([]byte{2, 0, 0, 0}, u64(77)...), 2, 0, 1, 77, true},
		"transfer, short":            {wallet.SystemProgram, append([]byte{2, 0, 0, 0}, u64(77)[:7]...), 2, 0, 0, 0, false},
		"transfer, one account":      {wallet.SystemProgram, append([]byte{2, 0, 0, 0}, u64(77)...), 1, 0, 0, 0, false},
		"a number that looks alike":  {wallet.SystemProgram, append([]byte{2, 1, 0, 0}, u64(77)...), 2, 0, 0, 0, false},
		"create":                     {wallet.SystemProgram, append([]byte{0, 0, 0, 0}, u64(77)...), 2, 0, 1, 77, true},
		"create with a seed":         {wallet.SystemProgram, seeded, 2, 0, 1, 77, true},
		"a seed beyond the data":     {wallet.SystemProgram, slices.Concat(seeded[:36], u64(1<<63), seeded[44:]), 2, 0, 0, 0, false},
		"a seed to the end":          {wallet.SystemProgram, slices.Concat(seeded[:36], u64(uint64(len(seeded)-44-7)), seeded[44:]), 2, 0, 0, 0, false},
		"create where something is":  {wallet.SystemProgram, append([]byte{13, 0, 0, 0}, u64(77)...), 2, 1, 0, 77, true},
		"and nobody pays":            {wallet.SystemProgram, append([]byte{13, 0, 0, 0}, u64(0)...), 1, 0, 0, 0, false},
		"from a nonce":               {wallet.SystemProgram, append([]byte{5, 0, 0, 0}, u64(77)...), 5, 0, 1, 77, true},
		"transfer with a seed":       {wallet.SystemProgram, append([]byte{11, 0, 0, 0}, u64(77)...), 3, 0, 2, 77, true},
		"assign":                     {wallet.SystemProgram, append([]byte{1, 0, 0, 0}, make([]byte, 32)...), 2, 0, 0, 0, false},
		"stake is split":             {stake, append([]byte{3, 0, 0, 0}, u64(77)...), 3, 0, 1, 77, true},
		"stake is withdrawn":         {stake, append([]byte{4, 0, 0, 0}, u64(77)...), 5, 0, 1, 77, true},
		"stake is merged":            {stake, []byte{7, 0, 0, 0}, 5, 1, 0, 0, true},
		"stake is moved":             {stake, append([]byte{16, 0, 0, 0}, u64(77)...), 3, 0, 1, 77, true},
		"lamports of stake":          {stake, append([]byte{17, 0, 0, 0}, u64(77)...), 3, 0, 1, 77, true},
		"stake is delegated":         {stake, append([]byte{2, 0, 0, 0}, u64(77)...), 6, 0, 0, 0, false},
		"tokens":                     {token, append([]byte{3}, u64(77)...), 3, 0, 1, 77, true},
		"tokens, checked":            {token, append(append([]byte{12}, u64(77)...), 6), 4, 0, 2, 77, true},
		"checked, without decimals":  {token, append([]byte{12}, u64(77)...), 4, 0, 0, 0, false},
		"tokens with a fee":          {wallet.Token2022Program, slices.Concat([]byte{26, 1}, u64(77), []byte{6}, u64(7)), 4, 0, 2, 77, true},
		"a fee of more than all":     {wallet.Token2022Program, slices.Concat([]byte{26, 1}, u64(77), []byte{6}, u64(78)), 4, 0, 0, 0, false},
		"another fee instruction":    {wallet.Token2022Program, slices.Concat([]byte{26, 3}, u64(77), []byte{6}, u64(7)), 4, 0, 0, 0, false},
		"minted":                     {token, append([]byte{7}, u64(77)...), 3, absent, 1, 77, true},
		"minted, checked":            {token, append(append([]byte{14}, u64(77)...), 6), 3, absent, 1, 77, true},
		"burned":                     {token, append([]byte{8}, u64(77)...), 3, 0, absent, 77, true},
		"burned, checked":            {token, append(append([]byte{15}, u64(77)...), 6), 3, 0, absent, 77, true},
		"closed":                     {token, []byte{9}, 3, 0, 1, 0, true},
		"excess":                     {token, []byte{38}, 3, 0, 1, 0, true},
		"unwrapped":                  {token, slices.Concat([]byte{45, 1}, u64(77)), 3, 0, 1, 77, true},
		"all unwrapped":              {token, []byte{45, 0}, 3, 0, 1, 0, true},
		"unwrapped, short":           {token, slices.Concat([]byte{45, 1}, u64(77)[:4]), 3, 0, 0, 0, false},
		"approved":                   {token, append([]byte{4}, u64(77)...), 3, 0, 0, 0, false},
		"nothing":                    {token, nil, 3, 0, 0, 0, false},
		"the same of an unknown one": {memoProgram, append([]byte{3}, u64(77)...), 3, 0, 0, 0, false},
	} {
		m, ok := movementOf(c.program, c.accounts, c.data)
		if ok != c.known || m.from != c.from && ok || m.to != c.to && ok || m.units != c.units {
			t.Errorf("%s: %+v, %v", name, m, ok)
		}
	}
}

func TestABatchIsReadAsItsInstructions(t *testing.T) {
	transfer := append([]byte{3}, u64(5)...)
	batch := func(parts ...[]byte) instruction {
		return instruction{accounts: []byte{1, 2, 3, 4, 5, 6}, data: slices.Concat(append([][]byte{{tokenBatch}}, parts...)...)}
	}
	one := append([]byte{3, byte(len(transfer))}, transfer...)
	for name, c := range map[string]struct {
		in   instruction
		want [][]byte // accounts
	}{
		"two":                  {batch(one, one), [][]byte{{1, 2, 3}, {4, 5, 6}}},
		"accounts run out":     {batch(one, one, one), [][]byte{{1, 2, 3}, {4, 5, 6}}},
		"data runs out":        {batch(one, one[:5]), [][]byte{{1, 2, 3}}},
		"none":                 {batch(), nil},
		"a batch in the batch": {batch([]byte{0, 1, tokenBatch}, one), [][]byte{{1, 2, 3}}},
		"without data":         {batch([]byte{2, 0}, one), [][]byte{{3, 4, 5}}},
	} {
		got := unbatched(wallet.TokenProgram, c.in)
		if !slices.EqualFunc(got, c.want, func(in instruction, accounts []byte) bool {
			return slices.Equal(in.accounts, accounts) && slices.Equal(in.data, transfer)
		}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := unbatched(wallet.SystemProgram, batch(one)); len(got) != 1 || got[0].data[0] != tokenBatch {
		t.Errorf("of another program: %+v", got)
	}
}

// madeUp is a legacy transaction paid by Alice with made-up balances (before, after), as a node shows it; meta is added
// to it.
func madeUp(t *testing.T, balances map[wallet.Address][2]uint64, meta string, instructions ...Instruction) (wallet.Signature, string) {
	t.Helper()
	key := testKey(1)
	raw, err := marshal(key.address(), instructions)
	if err != nil {
		t.Fatal(err)
	}
	m, err := structure(raw)
	if err != nil {
		t.Fatal(err)
	}
	var pre, post []uint64
	for _, k := range m.keys {
		b, ok := balances[k]
		if !ok {
			b = [2]uint64{1, 1}
		}
		pre, post = append(pre, b[0]), append(post, b[1])
	}
	sig := key.sign(raw)
	wire := slices.Concat([]byte{1}, sig[:], raw)
	before, _ := json.Marshal(pre)
	after, _ := json.Marshal(post)
	return sig, fmt.Sprintf(`{"slot":80,"blockTime":1800000000,"transaction":[%q,"base64"],"meta":{"fee":5000,"err":null,"preBalances":%s,"postBalances":%s%s}}`,
		base64.StdEncoding.EncodeToString(wire), before, after, meta)
}

// inner is an inner instruction of the first top-level one.
func inner(program, from, to int, data []byte) string {
	return fmt.Sprintf(`,"innerInstructions":[{"index":0,"instructions":[{"programIdIndex":%d,"accounts":[%d,%d],"data":%q}]}]`, program, from, to, sdk.Base58(data).String())
}

func TestWhatAnotherProgramDoesIsNamedByIt(t *testing.T) {
	alice, bob, vault, exchange := testKey(1).address(), testKey(2).address(), testKey(40).address(), testKey(41).address()
	activity := func(sig wallet.Signature, answer string, owner wallet.Address) wallet.Activity {
		t.Helper()
		got, err := scripted(t, func(string) string { return result(answer) }).Activities(t.Context(), sig, owner)
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	pays := append([]byte{2, 0, 0, 0}, u64(700)...)
	claim := Instruction{exchange, []Account{as(alice, "sw"), as(vault, "w"), as(bob, "w"), as(wallet.SystemProgram, "")}, []byte{1}}
	raw, _ := marshal(alice, []Instruction{claim})
	m, _ := structure(raw)
	place := func(a wallet.Address) int { return slices.Index(m.keys, a) }
	// Its signer gets something, by an instruction that is understood, from a program that is not.
	sig, answer := madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_700}, vault: {1000, 300}}, inner(place(wallet.SystemProgram), place(vault), place(alice), pays), claim)
	if a := activity(sig, answer, alice); a.Kind != wallet.ActivityOther || a.Program != exchange || a.Net[0].Units != 700 || !a.Net[0].Explained || a.Movements[0].With != vault {
		t.Errorf("%+v", a)
	}
	// Somebody who signed nothing has just received.
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_000}, vault: {1000, 300}, bob: {5, 705}}, inner(place(wallet.SystemProgram), place(vault), place(bob), pays), claim)
	if a := activity(sig, answer, bob); a.Kind != wallet.ActivityReceived || a.Movements[0].With != vault {
		t.Errorf("%+v", a)
	}
	// Lamports that no instruction explains.
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_700}, vault: {1000, 300}}, "", claim)
	if a := activity(sig, answer, alice); a.Kind != wallet.ActivityOther || a.Net[0].Units != 700 || a.Net[0].Lost || a.Net[0].Explained || len(a.Movements) != 0 {
		t.Errorf("%+v", a)
	}
	// A batch that the instructions explain only in its sum is not explained: an account had less on the way.
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_000}, bob: {5, 5}, vault: {1000, 1000}}, "",
		payOf(alice, bob, 1<<63), Instruction{wallet.SystemProgram, []Account{as(alice, "sw"), as(vault, "w")}, append([]byte{2, 0, 0, 0}, u64(1<<63)...)})
	if a := activity(sig, answer, alice); len(a.Movements) != 0 || a.Kind != wallet.ActivityOther && a.Kind != wallet.ActivityInternal {
		t.Errorf("%+v", a)
	}
	// Stake comes back.
	withdraw := Instruction{wallet.StakeProgram, []Account{as(vault, "w"), as(alice, "sw")}, append([]byte{stakeWithdraw, 0, 0, 0}, u64(700)...)}
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_700}, vault: {1000, 300}}, "", withdraw)
	if a := activity(sig, answer, alice); a.Kind != wallet.ActivityWithdrawn || a.Program != wallet.StakeProgram || !a.Net[0].Explained || a.Movements[0].Account != vault {
		t.Errorf("%+v", a)
	}
	// What an unknown program moved from one own account to another is gained and lost, and not explained, although it
	// adds up.
	wrapped := func(units int) string {
		return fmt.Sprintf(`[{"accountIndex":%d,"mint":%q,"owner":%q,"uiTokenAmount":{"amount":"%d","decimals":9}}]`, place(vault), wallet.WrappedSOL, alice, units)
	}
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 4_300}, vault: {1000, 1700}}, `,"preTokenBalances":`+wrapped(100)+`,"postTokenBalances":`+wrapped(800), claim)
	if a := activity(sig, answer, alice); a.Kind != wallet.ActivityOther || len(a.Net) != 2 || a.Net[0].Explained || a.Net[1].Explained || a.Net[1].Units != 700 {
		t.Errorf("%+v", a)
	}
	// A failed transaction in which tokens moved.
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_000}, vault: {1000, 1000}}, `,"preTokenBalances":`+wrapped(100)+`,"postTokenBalances":`+wrapped(101), claim)
	answer = strings.Replace(answer, `"err":null`, `"err":"AccountInUse"`, 1)
	if _, err := scripted(t, func(string) string { return result(answer) }).Activities(t.Context(), sig, alice); err == nil || !strings.Contains(err.Error(), "it failed, and moved tokens") {
		t.Errorf("%v", err)
	}
	// More wrapped SOL than lamports.
	sig, answer = madeUp(t, map[wallet.Address][2]uint64{alice: {10_000, 5_000}, vault: {1000, 1000}},
		`,"postTokenBalances":[{"accountIndex":`+fmt.Sprint(place(vault))+`,"mint":"`+wallet.WrappedSOL.String()+`","uiTokenAmount":{"amount":"1001","decimals":9}}]`, claim)
	var unread *wallet.UnreadableTransaction
	if _, err := scripted(t, func(string) string { return result(answer) }).Activities(t.Context(), sig, alice); !errors.As(err, &unread) || !strings.Contains(unread.Why, "wraps more") {
		t.Errorf("%v", err)
	}
	// Long data of a known program costs nothing.
	e := &effects{keys: []wallet.Address{wallet.SystemProgram}}
	if data, ok := e.innerData(instruction{}, strings.Repeat("z", longestReadDataChars+1)); !ok || data != nil {
		t.Errorf("%d bytes, %v", len(data), ok)
	}
}

func TestActivityOfRareKinds(t *testing.T) {
	w := newTown(t)
	alice, bob, carol, dora := person("alice").address(), person("bob").address(), person("carol").address(), person("dora").address()
	token, token22 := wallet.TokenProgram, wallet.Token2022Program
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	R := fmt.Sprint(rent)
	extra := testKey(60).address()
	mine := ata(alice, w.usdc, token)
	for _, step := range []struct {
		name, payer, who string
		instructions     []Instruction
		want             string
	}{
		{"an address is funded before it is an account", "carol", "carol", []Instruction{payOf(carol, ata(dora, wallet.WrappedSOL, token), 1_000_000)},
			"send, -1000000 SOL, 1000000 SOL to dora's wSOL"},
		{"and then it is one", "alice", "dora", []Instruction{openOf(alice, dora, wallet.WrappedSOL, token)},
			"account_opened, rent " + fmt.Sprint(rent-1_000_000) + " SOL from alice, opened 1"},
		{"a delegate", "alice", "alice", []Instruction{{token, []Account{as(mine, "w"), as(bob, ""), as(alice, "s")}, append([]byte{4}, u64(100)...)}}, "other"},
		{"takes what it may", "bob", "alice", []Instruction{openOf(bob, bob, w.usdc, token), {token, []Account{as(mine, "w"), as(ata(bob, w.usdc, token), "w"), as(bob, "s")}, append([]byte{3}, u64(60)...)}},
			"other, -60 USDC, 60 USDC to bob"},
		{"SOL in both forms", "carol", "carol", []Instruction{openOf(carol, carol, wallet.WrappedSOL, token), payOf(carol, ata(carol, wallet.WrappedSOL, token), 1000), syncOf(ata(carol, wallet.WrappedSOL, token))}, "internal, -1000 SOL, +1000 wSOL, opened 1"},
		{"goes to two", "carol", "carol", []Instruction{payOf(carol, alice, 1000), tokensOf(carol, dora, wallet.WrappedSOL, token, 1000, 9)}, "send, -1000 SOL, -1000 wSOL, 1000 SOL to alice, 1000 wSOL to dora"},
		{"one account for another", "carol", "carol", []Instruction{closeOf(ata(carol, wallet.WrappedSOL, token), carol, carol, token), openOf(carol, carol, w.usdc, token)}, "internal, opened 1, closed 1"},
		{"two with a fee", "bob", "carol", []Instruction{openOf(bob, carol, w.fee, token22), tokensOf(bob, carol, w.fee, token22, 1000, 6), tokensOf(bob, carol, w.fee, token22, 2000, 6)},
			"other, +2970 FEE?, rent " + fmt.Sprint(w.rent(182)) + " SOL from bob, opened 1"},
		{"an account with wrapped SOL in it", "alice", "bob", []Instruction{createOf(alice, extra, rent+500, tokenSize, token), initializeOf(extra, wallet.WrappedSOL, bob)},
			"receive, +500 wSOL, rent " + R + " SOL from alice, 500 SOL from alice, opened 1"},
	} {
		sig := w.land("", step.payer, step.instructions...)
		if got := w.told(w.activities(sig, step.who)[0]); got != step.want {
			t.Errorf("%s:\n got  %s\n want %s", step.name, got, step.want)
		}
	}
}

// rent is what an account of a size must hold.
func (w *town) rent(size uint64) uint64 {
	w.t.Helper()
	lamports, err := w.RentMinimum(w.t.Context(), size)
	if err != nil {
		w.t.Fatal(err)
	}
	return lamports
}

// TestATransferIsOnlyThatOfItsToken: for settlement, every part of the token must be right.
func TestATransferIsOnlyThatOfItsToken(t *testing.T) {
	alice, bob, mint, reference := testKey(1).address(), testKey(2).address(), testKey(70).address(), testKey(3).address()
	in := tokensOf(alice, bob, mint, wallet.TokenProgram, 5, 6)
	in.Accounts = append(in.Accounts, as(reference, ""))
	raw, err := marshal(alice, []Instruction{in})
	if err != nil {
		t.Fatal(err)
	}
	m, err := structure(raw)
	if err != nil {
		t.Fatal(err)
	}
	right := wallet.Token{Mint: mint, Decimals: 6, Program: wallet.TokenProgram}
	if got, ok := m.transferred(m.instructions[0], right); !ok || got.units != 5 || got.from != alice || !slices.Equal(got.references, []wallet.Address{reference}) {
		t.Errorf("%+v, %v", got, ok)
	}
	for name, token := range map[string]wallet.Token{
		"decimals": {Mint: mint, Decimals: 9, Program: wallet.TokenProgram}, "mint": {Mint: bob, Decimals: 6, Program: wallet.TokenProgram},
		"program": {Mint: mint, Decimals: 6, Program: wallet.Token2022Program}, "SOL": wallet.SOL,
	} {
		if got, ok := m.transferred(m.instructions[0], token); ok {
			t.Errorf("another %s: %+v", name, got)
		}
	}
}
