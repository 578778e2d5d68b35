package solana

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go/rpc"
	"github.com/klauspost/compress/zstd"
)

// result is a call's result as JSON.
func (s served) result(t *testing.T, method string, args ...any) string {
	t.Helper()
	var raw json.RawMessage
	s.must(t, &raw, method, args...)
	return string(raw)
}

func TestTheClusterTellsOfItself(t *testing.T) {
	clock := newClock()
	s := serve(t, Options{Now: clock.now, SlotTime: time.Second, FinalizedLag: 1})
	clock.add(130 * time.Second)
	s.fund(t, "alice", 10*sol)
	s.fund(t, "bob", 3*sol)
	clock.add(60 * time.Second)
	own := s.collector().String()
	faucet := keyOf(s.faucet())

	held := s.Balance(faucet.String())
	for _, without := range []bool{false, true} {
		list := `["` + faucet.String() + `"]`
		if without {
			list = `[]`
		}
		want := fmt.Sprintf(`{"circulating":%d,"nonCirculating":%d,"nonCirculatingAccounts":%s,"total":%d}`, uint64(supply)-held, held, list, uint64(supply))
		if got := s.result(t, "getSupply", object{"excludeNonCirculatingAccountsList": without}); !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	type holder struct {
		Address  string
		Lamports uint64
	}
	holders := func(args ...any) []holder {
		var of struct{ Value []holder }
		s.must(t, &of, "getLargestAccounts", args...)
		return of.Value
	}
	if all := holders(); len(all) < 5 || all[0].Address != faucet.String() || all[0].Lamports != held {
		t.Errorf("%+v", all)
	}
	// The exchange's SOL comes first, then the validators' own stakes.
	if most := holders(object{"filter": "circulating"}); most[0].Address != vaultOf(nativeMint).String() || most[1].Lamports != 3000*sol+stakeReserve || most[6] != (holder{addressOf("alice").String(), 10 * sol}) || most[7].Lamports != 3*sol {
		t.Errorf("%+v", most)
	}
	if rest := holders(object{"filter": "nonCirculating"}); len(rest) != 1 || rest[0].Lamports != held {
		t.Errorf("%+v", rest)
	}
	s.refused(t, codeInvalidParams, "getLargestAccounts", object{"filter": "all"})

	if got, want := s.result(t, "getEpochSchedule"), `{"firstNormalEpoch":0,"firstNormalSlot":0,"leaderScheduleSlotOffset":432000,"slotsPerEpoch":432000,"warmup":false}`; got != want {
		t.Errorf("%s", got)
	}
	// 192 slots of a second: the two airdrops are in the third minute, which is over.
	sample := func(slot, n int) string {
		return fmt.Sprintf(`{"numNonVoteTransactions":%d,"numSlots":60,"numTransactions":%d,"samplePeriodSecs":60,"slot":%d}`, n, n, slot)
	}
	if got, want := s.result(t, "getRecentPerformanceSamples"), "["+sample(180, 2)+","+sample(120, 0)+","+sample(60, 0)+"]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := s.result(t, "getRecentPerformanceSamples", 1), "["+sample(180, 2)+"]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	s.refused(t, codeInvalidParams, "getRecentPerformanceSamples", 721)

	if got := s.result(t, "getSlotLeader"); got != `"`+own+`"` {
		t.Error(got)
	}
	if got := s.result(t, "getSlotLeaders", 100, 2); got != `["`+own+`","`+own+`"]` {
		t.Error(got)
	}
	if got := s.result(t, "getSlotLeaders", 863_999, 10); got != `["`+own+`"]` {
		t.Error(got)
	}
	if message, _ := s.refused(t, codeInvalidParams, "getSlotLeaders", 864_000, 10); message != "Invalid slot range: leader schedule for epoch 2 is unavailable" {
		t.Error(message)
	}
	s.refused(t, codeInvalidParams, "getSlotLeaders", 1, 5001)
	s.refused(t, codeInvalidParams, "getSlotLeaders", 1)
	if got := s.result(t, "getClusterNodes"); !strings.Contains(got, `"pubkey":"`+own+`"`) || !strings.Contains(got, `"version":"`+apiVersion+`"`) {
		t.Error(got)
	}
	for args, want := range map[string]string{"[17,3]": "[17,18,20]", "[39,2]": "[40,41]", "[18,0]": "[]", "[100000,3]": "[]"} {
		var given []any
		if err := json.Unmarshal([]byte(args), &given); err != nil {
			t.Fatal(err)
		}
		if got := s.result(t, "getBlocksWithLimit", given...); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
	s.refused(t, codeInvalidParams, "getBlocksWithLimit", 1, 500_001)
	s.refused(t, codeInvalidParams, "getBlocksWithLimit", 1, 5, object{"commitment": processed})
	for method, want := range map[string]string{"minimumLedgerSlot": "0", "getMaxShredInsertSlot": fmt.Sprint(slotOf(s.Height())), "getMaxRetransmitSlot": fmt.Sprint(slotOf(s.Height()))} {
		if got := s.result(t, method); got != want {
			t.Errorf("%s: %s", method, got)
		}
	}
	s.refused(t, -32008, "getHighestSnapshotSlot")
	if got := s.result(t, "getBlockCommitment", 5); got != `{"commitment":null,"totalStake":0}` {
		t.Error(got)
	}
	for options, want := range map[string]string{
		`{"range":{"firstSlot":0,"lastSlot":19}}`:                           `{"byIdentity":{"` + own + `":[20,19]},"range":{"firstSlot":0,"lastSlot":19}}`,
		`{"range":{"firstSlot":19,"lastSlot":20},"identity":"` + own + `"}`: `{"byIdentity":{"` + own + `":[2,1]},"range":{"firstSlot":19,"lastSlot":20}}`,
		`{"range":{"firstSlot":5,"lastSlot":5},"identity":"x"}`:             `{"byIdentity":{},"range":{"firstSlot":5,"lastSlot":5}}`,
	} {
		if got := s.result(t, "getBlockProduction", json.RawMessage(options)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", options, got)
		}
	}
	s.refused(t, codeInvalidParams, "getBlockProduction", json.RawMessage(`{"range":{"firstSlot":9,"lastSlot":5}}`))
	s.refused(t, codeInvalidParams, "getBlockProduction", json.RawMessage(`{"range":{"firstSlot":9,"lastSlot":99999}}`))

	// The product's library reads them.
	client, ctx := rpc.New(s.url), t.Context()
	for name, call := range map[string]func() error{
		"getSupply":          func() error { _, err := client.GetSupply(ctx, rpc.CommitmentFinalized); return err },
		"getEpochSchedule":   func() error { _, err := client.GetEpochSchedule(ctx); return err },
		"getSamples":         func() error { _, err := client.GetRecentPerformanceSamples(ctx, nil); return err },
		"getSlotLeaders":     func() error { _, err := client.GetSlotLeaders(ctx, 1, 3); return err },
		"getClusterNodes":    func() error { _, err := client.GetClusterNodes(ctx); return err },
		"getBlocksWithLimit": func() error { _, err := client.GetBlocksWithLimit(ctx, 1, 3, rpc.CommitmentFinalized); return err },
		"minimumLedgerSlot":  func() error { _, err := client.MinimumLedgerSlot(ctx); return err },
		"getLargestAccounts": func() error { _, err := client.GetLargestAccounts(ctx, rpc.CommitmentFinalized, ""); return err },
		"getBlockProduction": func() error { _, err := client.GetBlockProduction(ctx); return err },
		"getBlockCommitment": func() error { _, err := client.GetBlockCommitment(ctx, 1); return err },
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokenAccountsAreFound(t *testing.T) {
	s := serve(t, Options{ConfirmedLag: -1, FinalizedLag: -1})
	s.fund(t, "alice", 10*sol)
	for i, name := range []string{"alice", "bob", "carol"} {
		s.giveToken(t, name, USDC, uint64(1000*(i+1)))
	}
	usdc, _ := s.mint(USDC)
	alice, _ := associatedAddress(addressOf("alice"), tokenProgram, usdc)
	h, _ := s.blockhashAt(t, processed)
	text, _ := encode(draft{payer: "alice", blockhash: h, calls: []call{
		tokenCall(tokenProgram, pack(byte(4), 7), w(alice), r(addressOf("bob")), meta{addressOf("alice"), "s"}),
	}}.bytes())
	s.must(t, new(string), "sendTransaction", text, preflight)
	s.advance(t, 1)

	var largest struct {
		Value []struct{ Address, Amount, UIAmountString string }
	}
	s.must(t, &largest, "getTokenLargestAccounts", usdc.String())
	if v := largest.Value; len(v) != 4 || v[0].Address != vaultOf(usdc).String() || v[1].Amount != "3000" || v[1].UIAmountString != "0.003" || v[3].Address != alice.String() {
		t.Errorf("%+v", v)
	}
	s.refused(t, codeInvalidParams, "getTokenLargestAccounts", addressOf("alice").String())
	s.refused(t, codeInvalidParams, "getTokenLargestAccounts", addressOf("nobody").String())

	var found struct {
		Value []struct {
			Pubkey  string
			Account struct{ Data json.RawMessage }
		}
	}
	for _, filter := range []object{{"mint": usdc.String()}, {"programId": tokenProgram.String()}} {
		s.must(t, &found, "getTokenAccountsByDelegate", addressOf("bob").String(), filter, object{"encoding": "jsonParsed"})
		if v := found.Value; len(v) != 1 || v[0].Pubkey != alice.String() || !strings.Contains(string(v[0].Account.Data), `"delegatedAmount":{"amount":"7"`) {
			t.Errorf("%+v", v)
		}
	}
	s.must(t, &found, "getTokenAccountsByDelegate", addressOf("alice").String(), object{"programId": tokenProgram.String()})
	if len(found.Value) != 0 {
		t.Errorf("%+v", found)
	}

	s.must(t, &found, "getTokenAccountsByDelegate", systemProgram.String(), object{"programId": tokenProgram.String()})
	if len(found.Value) != 0 {
		t.Errorf("accounts without a delegate: %+v", found)
	}

	// getProgramAccounts parses and compresses too.
	filters := []object{{"dataSize": accountSize}, {"memcmp": object{"offset": 32, "bytes": addressOf("alice").String()}}}
	var list []struct {
		Pubkey  string
		Account struct{ Data json.RawMessage }
	}
	s.must(t, &list, "getProgramAccounts", tokenProgram.String(), object{"encoding": "jsonParsed", "filters": filters})
	if len(list) != 1 || !strings.Contains(string(list[0].Account.Data), `"parsed":{"info":{`) || !strings.Contains(string(list[0].Account.Data), `"amount":"1000"`) {
		t.Errorf("%+v", list)
	}
	plain, packed := list[:0:0], list[:0:0]
	s.must(t, &plain, "getProgramAccounts", tokenProgram.String(), object{"encoding": "base64", "filters": filters})
	s.must(t, &packed, "getProgramAccounts", tokenProgram.String(), object{"encoding": "base64+zstd", "filters": filters})
	var a, b []string
	if json.Unmarshal(plain[0].Account.Data, &a) != nil || json.Unmarshal(packed[0].Account.Data, &b) != nil || b[1] != "base64+zstd" {
		t.Fatalf("%s %s", plain[0].Account.Data, packed[0].Account.Data)
	}
	if want, got := unbase64(t, a[0]), unzstd(t, unbase64(t, b[0])); !bytes.Equal(want, got) || len(want) != accountSize {
		t.Errorf("%x is packed as %x", want, got)
	}
}

func unbase64(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func unzstd(t *testing.T, packed []byte) []byte {
	t.Helper()
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	raw, err := decoder.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestLookupTablesAndRentAreParsed(t *testing.T) {
	s := serve(t, Options{ConfirmedLag: -1, FinalizedLag: -1})
	s.fund(t, "alice", 10*sol)
	table := s.makeTable(t, "alice", addressOf("bob"), addressOf("carol"))
	var got struct {
		Value struct{ Data json.RawMessage }
	}
	parsed := object{"encoding": "jsonParsed"}
	s.must(t, &got, "getAccountInfo", table.String(), parsed)
	extended := s.tableAt(table).Extended
	want := fmt.Sprintf(`{"parsed":{"info":{"addresses":["%s","%s"],"authority":"%s","deactivationSlot":"18446744073709551615","lastExtendedSlot":"%d","lastExtendedSlotStartIndex":0},"type":"lookupTable"},"program":"address-lookup-table","space":120}`,
		addressOf("bob"), addressOf("carol"), addressOf("alice"), extended)
	if string(got.Value.Data) != want {
		t.Errorf("%s\nwant %s", got.Value.Data, want)
	}
	s.must(t, &got, "getAccountInfo", rentSysvar.String(), parsed)
	if want := `{"parsed":{"info":{"burnPercent":50,"exemptionThreshold":1,"lamportsPerByteYear":"6960"},"type":"rent"},"program":"sysvar","space":17}`; string(got.Value.Data) != want {
		t.Errorf("%s", got.Value.Data)
	}
	s.must(t, &got, "getAccountInfo", memoV3.String(), parsed) // nothing to parse: as it is
	if !strings.Contains(string(got.Value.Data), `"base64"`) {
		t.Errorf("%s", got.Value.Data)
	}
}

func (s served) tableAt(key address) lookupTable {
	s.mu.Lock()
	defer s.mu.Unlock()
	table, _ := readTable(s.state.at(key, s.tip).Data)
	return table
}

// TestProgramSubscribersHearOfItsAccounts pays tokens while somebody listens for the token accounts of
// one wallet.
func TestProgramSubscribersHearOfItsAccounts(t *testing.T) {
	s := serve(t, Options{})
	client := &wsClient{subs: map[uint64]*subscription{}, out: make(chan []byte, 20), cut: func() {}, gone: make(chan struct{})}
	if !s.join(client) {
		t.Fatal("closed")
	}
	defer s.leave(client)
	subscribe := func(options object) string {
		body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "programSubscribe", "params": []any{tokenProgram.String(), options}})
		if err != nil {
			t.Fatal(err)
		}
		s.serveSubscription(client, body)
		return string(<-client.out)
	}
	for _, wrong := range []object{{"encoding": "base32"}, {"filters": []object{{}}}, {"filters": []object{{"dataSize": 1}, {"dataSize": 1}, {"dataSize": 1}, {"dataSize": 1}, {"dataSize": 1}}}} {
		if got := subscribe(wrong); !strings.Contains(got, "-32602") {
			t.Errorf("%v: %s", wrong, got)
		}
	}
	if got := subscribe(object{"commitment": processed, "encoding": "jsonParsed",
		"filters": []object{{"memcmp": object{"offset": 32, "bytes": addressOf("bob").String()}}}}); !strings.Contains(got, `"result":`) {
		t.Fatal(got)
	}
	usdc, _ := s.mint(USDC)
	bob, _ := associatedAddress(addressOf("bob"), tokenProgram, usdc)
	s.giveToken(t, "alice", USDC, 5) // not his
	s.giveToken(t, "bob", USDC, 7)
	got := string(<-client.out)
	if !strings.Contains(got, `"method":"programNotification"`) || !strings.Contains(got, `"pubkey":"`+bob.String()+`"`) || !strings.Contains(got, `"amount":"7"`) {
		t.Errorf("%s", got)
	}
	s.advance(t, 3)
	select {
	case more := <-client.out:
		t.Errorf("told without a change: %s", more)
	default:
	}
	var told struct{ Params struct{ Subscription uint64 } }
	if err := json.Unmarshal([]byte(got), &told); err != nil {
		t.Fatal(err)
	}
	s.serveSubscription(client, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":2,"method":"programUnsubscribe","params":[%d]}`, told.Params.Subscription))
	if got := string(<-client.out); !strings.Contains(got, `"result":true`) {
		t.Error(got)
	}
}

// FuzzAccountOptions takes any config of a call that shows accounts: no panic, and an answer.
func FuzzAccountOptions(f *testing.F) {
	for _, seed := range []string{`{"encoding":"base64+zstd","dataSlice":{"offset":1,"length":18446744073709551615}}`,
		`{"filters":[{"memcmp":{"offset":18446744073709551615,"bytes":"3","encoding":"base58"}},{"dataSize":82}]}`,
		`{"filters":[{"memcmp":{"offset":0,"bytes":"AAAA","encoding":"base64"}},{"tokenAccountState":true}],"encoding":"jsonParsed","withContext":true}`,
		`"base64"`, `{"commitment":"processed","minContextSlot":1}`, `{"slotTimeMs":5}`} {
		f.Add([]byte(seed))
	}
	c, err := Open(Options{Now: newClock().now})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, options []byte) {
		if !json.Valid(options) {
			return
		}
		for _, call := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"getProgramAccounts","params":["` + tokenProgram.String() + `",%s]}`,
			`{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["` + rentSysvar.String() + `",%s]}`,
			`{"jsonrpc":"2.0","id":1,"method":"getTokenAccountsByOwner","params":["` + tokenProgram.String() + `",{"programId":"` + tokenProgram.String() + `"},%s]}`,
			`{"jsonrpc":"2.0","id":1,"method":"getBlockProduction","params":[%s]}`,
			`{"jsonrpc":"2.0","id":1,"method":"getSlotLeaders","params":[1,%s]}`,
		} {
			answer, _ := c.call(fmt.Appendf(nil, call, options))
			if (answer.Result == nil) == (answer.Error == nil) {
				t.Fatalf("%+v", answer)
			}
			if _, err := json.Marshal(answer); err != nil {
				t.Fatal(err)
			}
		}
	})
}
