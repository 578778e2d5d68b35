package chain

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

// land lands instructions of an account, whatever they do.
func (w world) land(key testPrivateKey, instructions ...Instruction) {
	w.t.Helper()
	message, err := marshal(key.address(), instructions)
	if err != nil {
		w.t.Fatal(err)
	}
	hash, err := w.Blockhash(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if message, err = WithBlockhash(message, hash.Hash); err != nil {
		w.t.Fatal(err)
	}
	wire, err := Assemble(message, key.sign(message))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Broadcast(w.t.Context(), wire); err != nil {
		w.t.Fatal(err)
	}
	w.advance(3)
}

// authorities are what an Initialize decides.
type authorities struct {
	staker, withdrawer wallet.Address
	until              int64  // Unix time
	epoch              uint64 // of the lockup
	custodian          wallet.Address
}

// elsewhere makes a stake account as another program may, and returns its address. It is delegated if vote is not zero.
func (w world) elsewhere(key testPrivateKey, seed string, lamports uint64, o authorities, vote wallet.Address) wallet.Address {
	w.t.Helper()
	me := key.address()
	seed += strings.Repeat("0", seedLength-len(seed))
	account := wallet.AddressWithSeed(me, seed, wallet.StakeProgram)
	create, _ := Codec{}.row(wallet.ActionCreateStake)
	data := slices.Concat(number(stakeInitialize), o.staker[:], o.withdrawer[:])
	data = binary.LittleEndian.AppendUint64(data, uint64(o.until))
	data = append(binary.LittleEndian.AppendUint64(data, o.epoch), o.custodian[:]...)
	all := []Instruction{create.Encode(wallet.Action{From: me, Account: account, Lamports: lamports, Text: seed}),
		{wallet.StakeProgram, []Account{writable(account), readonly(rentSysvar)}, data}}
	if vote != (wallet.Address{}) {
		all = append(all, delegateCodec().Encode(wallet.Action{From: me, To: vote, Account: account}))
	}
	w.land(key, all...)
	return account
}

// TestStakeAccountsOfEitherAuthority are listed, each once and as the chain has them, wherever they were made.
func TestStakeAccountsOfEitherAuthority(t *testing.T) {
	w := newWorld(t)
	key, other := testKey(1), testKey(2).address()
	me := key.address()
	w.fund(me, 20_000_000_000)
	vote := wallet.MustAddress(solana.Validators(t.Name())[0].Vote)
	const lamports = 2_000_000_000 + 2_282_880
	mine := authorities{staker: me, withdrawer: me}
	want := map[wallet.Address]wallet.StakeAccount{
		w.elsewhere(key, "a", lamports, mine, vote):                                                      {Staker: me, Withdrawer: me, Voter: vote, Stake: 2_000_000_000, Activated: 0, Deactivated: wallet.NeverEpoch},
		w.elsewhere(key, "b", lamports, mine, wallet.Address{}):                                          {Staker: me, Withdrawer: me},
		w.elsewhere(key, "c", lamports, authorities{staker: me, withdrawer: other}, vote):                {Staker: me, Withdrawer: other, Voter: vote, Stake: 2_000_000_000, Deactivated: wallet.NeverEpoch},
		w.elsewhere(key, "d", lamports, authorities{staker: other, withdrawer: me}, wallet.Address{}):    {Staker: other, Withdrawer: me},
		w.elsewhere(key, "e", lamports, authorities{me, me, 1_900_000_000, 77, other}, wallet.Address{}): {Staker: me, Withdrawer: me, LockedUntil: time.Unix(1_900_000_000, 0).UTC(), LockedEpoch: 77},
		w.elsewhere(key, "f", lamports, authorities{me, me, -1, 0, wallet.Address{}}, wallet.Address{}):  {Staker: me, Withdrawer: me},
		w.elsewhere(key, "9", lamports, authorities{me, me, math.MaxInt64, 0, other}, wallet.Address{}):  {Staker: me, Withdrawer: me, LockedUntil: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
	}
	w.elsewhere(key, "8", lamports, authorities{staker: other, withdrawer: other}, wallet.Address{})
	got, err := w.StakeAccounts(t.Context(), me)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d of %d accounts, %v: %+v", len(got), len(want), err, got)
	}
	for _, a := range got {
		expected := want[a.Address]
		expected.Address, expected.Lamports, expected.Slot = a.Address, lamports, a.Slot
		if a != expected || a.Slot == 0 {
			t.Errorf("got  %+v\nwant %+v", a, expected)
		}
	}
	if got, err := w.StakeAccounts(t.Context(), testKey(9).address()); err != nil || len(got) != 0 {
		t.Errorf("of somebody without: %+v, %v", got, err)
	}
}

// TestStakeAccountsAreOnlyBelievedWhole: a node that lists what was not asked for is believed nothing.
func TestStakeAccountsAreOnlyBelievedWhole(t *testing.T) {
	me := testKey(1).address()
	data := make([]byte, wallet.StakeAccountSize)
	data[0] = initializedStake
	copy(data[stakerAt:], me[:])
	copy(data[withdrawerAt:], me[:])
	entry := func(change func(fields map[string]string)) string {
		fields := map[string]string{"pubkey": testKey(5).address().String(), "owner": wallet.StakeProgram.String(), "data": base64.StdEncoding.EncodeToString(data)}
		change(fields)
		return fmt.Sprintf(`{"pubkey":%q,"account":{"lamports":5,"owner":%q,"executable":false,"rentEpoch":0,"space":200,"data":[%q,"base64"]}}`, fields["pubkey"], fields["owner"], fields["data"])
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		good   bool
	}{
		"whole":           {func(map[string]string) {}, true},
		"no address":      {func(f map[string]string) { f["pubkey"] = "x" }, false},
		"another program": {func(f map[string]string) { f["owner"] = memoProgram.String() }, false},
		"short":           {func(f map[string]string) { f["data"] = base64.StdEncoding.EncodeToString(data[:199]) }, false},
		"somebody else's": {func(f map[string]string) { f["data"] = base64.StdEncoding.EncodeToString(make([]byte, 200)) }, false},
		"no base64":       {func(f map[string]string) { f["data"] = "?" }, false},
	} {
		client := scripted(t, func(string) string { return result(`{"context":{"slot":5},"value":[` + entry(c.change) + `]}`) })
		got, err := client.StakeAccounts(t.Context(), me)
		if c.good && (err != nil || len(got) != 1) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !c.good {
			nobodyKnows(t, err)
		}
	}
}

// TestAFloodOfOthersStakesHidesNotOnesOwn: accounts with one authority are left out where no answer holds them. Without those
// with both nobody knows what there is.
func TestAFloodOfOthersStakesHidesNotOnesOwn(t *testing.T) {
	me := testKey(1).address()
	data := make([]byte, wallet.StakeAccountSize)
	data[0] = initializedStake
	copy(data[stakerAt:], me[:])
	copy(data[withdrawerAt:], me[:])
	own := fmt.Sprintf(`{"pubkey":%q,"account":{"lamports":5,"owner":%q,"executable":false,"rentEpoch":0,"space":200,"data":[%q,"base64"]}}`,
		testKey(5).address(), wallet.StakeProgram, base64.StdEncoding.EncodeToString(data))
	for large := range 3 {
		asked := 0
		client := scripted(t, func(string) string {
			if asked++; asked == large+1 {
				return strings.Repeat(" ", maxHoldings+1)
			}
			return result(`{"context":{"slot":5},"value":[` + own + `]}`)
		})
		got, err := client.StakeAccounts(t.Context(), me)
		if large == 0 {
			nobodyKnows(t, err)
		} else if err != nil || len(got) != 1 || asked != 3 {
			t.Errorf("too large is answer %d of %d: %+v, %v", large+1, asked, got, err)
		}
	}
	asked := 0
	client := scripted(t, func(string) string {
		if asked++; asked == 2 {
			return `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"behind"}}`
		}
		return result(`{"context":{"slot":5},"value":[` + own + `]}`)
	})
	_, err := client.StakeAccounts(t.Context(), me)
	nobodyKnows(t, err)
}

// info is a validator's info account, as a node tells it.
func info(identity wallet.Address, text string, change func(data []byte) []byte) string {
	data := slices.Concat([]byte{2}, infoMark[:], []byte{0}, identity[:], []byte{1})
	data = append(binary.LittleEndian.AppendUint64(data, uint64(len(text))), text...)
	if change != nil {
		data = change(data)
	}
	return fmt.Sprintf(`{"pubkey":%q,"account":{"lamports":5,"owner":%q,"executable":false,"rentEpoch":0,"space":1,"data":[%q,"base64"]}}`,
		testKey(7).address(), configProgram, base64.StdEncoding.EncodeToString(data))
}

// TestNamesOfValidatorsAreOnlyTheirOwn: whoever did not sign an info account has not named themselves in it.
func TestNamesOfValidatorsAreOnlyTheirOwn(t *testing.T) {
	vote, node := testKey(1).address(), testKey(2).address()
	long := strings.Repeat("n", maxName)
	for name, c := range map[string]struct {
		infos []string
		want  string
	}{
		"none":                  {nil, ""},
		"its own":               {[]string{info(node, `{"name":"Elm","website":"x"}`, nil)}, "Elm"},
		"as long as may be":     {[]string{info(node, `{"name":"`+long+`"}`, nil)}, long},
		"too long":              {[]string{info(node, `{"name":"`+long+`n"}`, nil)}, ""},
		"another's":             {[]string{info(vote, `{"name":"Elm"}`, nil)}, ""},
		"not signed":            {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { d[infoSignsAt] = 0; return d })}, ""},
		"three keys":            {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { d[0] = 3; return d })}, ""},
		"a text that ends":      {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { d[infoLengthAt]++; return d })}, ""},
		"an absurd length":      {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { d[infoLengthAt+7] = 0xff; return d })}, ""},
		"cut":                   {[]string{info(node, "", func(d []byte) []byte { return d[:infoTextAt-1] })}, ""},
		"bytes behind":          {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { return append(d, 0, 0) })}, "Elm"},
		"very long":             {[]string{info(node, `{"name":"Elm"}`, func(d []byte) []byte { return append(d, make([]byte, maxInfo)...) })}, ""},
		"no JSON":               {[]string{info(node, `Elm`, nil)}, ""},
		"no text":               {[]string{info(node, `{"name":7}`, nil)}, ""},
		"what hides":            {[]string{info(node, `{"name":"El\u202em"}`, nil)}, ""},
		"a blank":               {[]string{info(node, `{"name":"\u2800"}`, nil)}, ""},
		"a filler":              {[]string{info(node, `{"name":"\u3164"}`, nil)}, ""},
		"spaces alone":          {[]string{info(node, `{"name":"`+strings.Repeat(" ", maxName)+`"}`, nil)}, ""},
		"a tower of accents":    {[]string{info(node, `{"name":"e`+strings.Repeat("\u0301", maxName-1)+`"}`, nil)}, ""},
		"bad ones and its own":  {[]string{info(node, `x`, nil), info(node, `{"name":"Elm"}`, nil), info(vote, `{"name":"Oak"}`, nil)}, "Elm"},
		"a node without a list": {[]string{"7"}, ""},
	} {
		client := scripted(t, func(method string) string {
			if method == programMethod {
				return result(`{"context":{"slot":5},"value":[` + strings.Join(c.infos, ",") + `]}`)
			}
			return result(fmt.Sprintf(`{"current":[{"votePubkey":%q,"nodePubkey":%q,"activatedStake":9,"commission":5}],"delinquent":[]}`, vote, node))
		})
		got, err := client.Validators(t.Context())
		if err != nil || len(got) != 1 || got[0] != (wallet.Validator{Vote: vote, Identity: node, Name: c.want, Commission: 500, Stake: 9}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestValidatorsAreReadInOldAndNewForms: basis points before percent, and nothing from a node that tells neither.
func TestValidatorsAreReadInOldAndNewForms(t *testing.T) {
	vote, node := testKey(1).address(), testKey(2).address()
	for fields, want := range map[string]uint64{
		`"activatedStake":9,"commission":7`:                                       7_00,
		`"activatedStake":9,"commission":7,"inflationRewardsCommissionBps":null`:  7_00,
		`"activatedStake":9,"commission":7,"inflationRewardsCommissionBps":725`:   7_25,
		`"activatedStake":9,"commission":null,"inflationRewardsCommissionBps":0`:  0,
		`"activatedStake":9,"commission":255`:                                     100_00,
		`"activatedStake":9,"commission":18446744073709551615`:                    100_00,
		`"activatedStake":9,"commission":1,"inflationRewardsCommissionBps":65535`: 100_00,
		`"activatedStake":9`:                                 math.MaxUint64,
		`"activatedStake":9,"commission":null`:               math.MaxUint64,
		`"commission":7`:                                     math.MaxUint64,
		`"activatedStake":-1,"commission":7`:                 math.MaxUint64,
		`"activatedStake":9,"commission":7,"votePubkey":"x"`: math.MaxUint64,
		`"activatedStake":9,"commission":7,"nodePubkey":""`:  math.MaxUint64,
	} {
		client := scripted(t, func(method string) string {
			if method == programMethod {
				return `{"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"excluded from account secondary indexes"}}`
			}
			return result(fmt.Sprintf(`{"current":[],"delinquent":[{"votePubkey":%q,"nodePubkey":%q,%s}]}`, vote, node, fields))
		})
		got, err := client.Validators(t.Context())
		if want == math.MaxUint64 {
			nobodyKnows(t, err)
			continue
		}
		if err != nil || len(got) != 1 || got[0].Commission != want || !got[0].Delinquent {
			t.Errorf("%s: %+v, %v, want %d", fields, got, err, want)
		}
	}
	nobody := scripted(t, func(method string) string { return result(`{"current":[],"delinquent":[]}`) })
	_, err := nobody.Validators(t.Context())
	nobodyKnows(t, err)
}

// TestStakeEpochIsMeasured: the length of slots comes from the node, and absurd answers are none.
func TestStakeEpochIsMeasured(t *testing.T) {
	sysvars := make([]string, 3)
	clock, history, rewards := make([]byte, 40), make([]byte, historyLength), make([]byte, payingAt+1)
	binary.LittleEndian.PutUint64(clock[16:], 7)
	for i, n := range []uint64{1, 6, 100, 20, 30} {
		binary.LittleEndian.PutUint64(history[8*i:], n)
	}
	rewards[payingAt] = 1
	for i, data := range [][]byte{clock, history, rewards} {
		sysvars[i] = fmt.Sprintf(`{"lamports":5,"owner":%q,"executable":false,"rentEpoch":0,"space":%d,"data":[%q,"base64"]}`, memoProgram, len(data), base64.StdEncoding.EncodeToString(data))
	}
	good := map[string]string{
		"getMultipleAccounts":         `{"context":{"slot":5},"value":[` + strings.Join(sysvars, ",") + `]}`,
		"getEpochInfo":                `{"slotIndex":100,"slotsInEpoch":432000,"epoch":7}`,
		"getRecentPerformanceSamples": `[{"numSlots":200,"samplePeriodSecs":60},{"numSlots":100,"samplePeriodSecs":60}]`,
	}
	read := func(method, answer string) (wallet.StakeEpoch, error) {
		client := scripted(t, func(asked string) string {
			if asked == method {
				return result(answer)
			}
			return result(good[asked])
		})
		return client.StakeEpoch(t.Context())
	}
	e, err := read("", "")
	if err != nil || e.Epoch != 7 || !e.Paying || e.Slots != 432_000 || e.SlotsLeft != 431_900 || e.SlotTime != 400*time.Millisecond ||
		e.History[6] != (wallet.StakeActivation{Effective: 100, Activating: 20, Deactivating: 30}) {
		t.Errorf("got %+v, %v", e.SlotTime, err)
	}
	for answer, want := range map[string]time.Duration{`[]`: usualSlotTime, `[{"numSlots":0,"samplePeriodSecs":60}]`: usualSlotTime, `[{"numSlots":600,"samplePeriodSecs":60}]`: 100 * time.Millisecond} {
		if e, err := read("getRecentPerformanceSamples", answer); err != nil || e.SlotTime != want {
			t.Errorf("%s: slots last %v, %v", answer, e.SlotTime, err)
		}
	}
	for method, answers := range map[string][]string{
		"getEpochInfo":                {`{}`, `{"slotIndex":5}`, `{"slotIndex":5,"slotsInEpoch":5}`, `{"slotIndex":-1,"slotsInEpoch":5}`, `null`},
		"getRecentPerformanceSamples": {`{}`, `[{"numSlots":4294967296,"samplePeriodSecs":60}]`, `[{"numSlots":1,"samplePeriodSecs":65536}]`},
		"getMultipleAccounts":         {`{"context":{"slot":5},"value":[null,null,null]}`, `{"context":{"slot":5},"value":[]}`},
	} {
		for _, answer := range answers {
			_, err := read(method, answer)
			nobodyKnows(t, err)
		}
	}
	for _, answer := range []string{`{"context":{"slot":5},"value":null}`, `7`, `{"context":{"slot":5},"value":-1}`} {
		_, err := scripted(t, func(string) string { return result(answer) }).MinimumDelegation(t.Context())
		nobodyKnows(t, err)
	}
}
