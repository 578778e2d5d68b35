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

// shown is the node's answer about a transaction, as it wrote it.
func (w *town) shown(sig wallet.Signature) []byte {
	w.t.Helper()
	raw, err := call[json.RawMessage](w.t.Context(), w.primary(), "getTransaction", sig.String(),
		settings{"commitment": confirmed, "encoding": "base64", "maxSupportedTransactionVersion": newestVersion})
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// changed is such an answer after a change to it.
func changed(t *testing.T, raw []byte, change func(answer, meta map[string]any)) []byte {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var answer map[string]any
	if err := decoder.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	meta, _ := answer["meta"].(map[string]any)
	change(answer, meta)
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// plusOne is the next number.
func plusOne(n any) json.Number {
	was, err := n.(json.Number).Int64()
	if err != nil {
		panic(err)
	}
	return json.Number(fmt.Sprint(was + 1))
}

// at is a part of a decoded JSON value.
func at(value any, path ...any) map[string]any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			value = value.(map[string]any)[key]
		case int:
			value = value.([]any)[key]
		}
	}
	return value.(map[string]any)
}

// paidTokens lands a transfer of tokens with a new account and a memo: it has inner instructions and balances of every
// form.
func (w *town) paidTokens(version string) wallet.Signature {
	alice, bob := person("alice").address(), person("bob").address()
	return w.land(version, "alice", memoOf("thanks"), openOf(alice, bob, w.usdc, wallet.TokenProgram), tokensOf(alice, bob, w.usdc, wallet.TokenProgram, 250, 6))
}

func TestNoAnswerThatContradictsItselfIsTold(t *testing.T) {
	w := newTown(t)
	sig := w.paidTokens("")
	raw := w.shown(sig)
	type object = map[string]any
	for name, c := range map[string]struct {
		change func(answer, meta object)
		want   string // part of the reason; "": it is told as before
	}{
		"as it is":                     {func(_, _ object) {}, ""},
		"no meta":                      {func(a, _ object) { a["meta"] = nil }, "makes no sense"},
		"no slot":                      {func(a, _ object) { delete(a, "slot") }, "makes no sense"},
		"no fee":                       {func(_, m object) { delete(m, "fee") }, "makes no sense"},
		"a negative fee":               {func(_, m object) { m["fee"] = -1 }, "makes no sense"},
		"a negative balance":           {func(_, m object) { m["preBalances"].([]any)[0] = -5 }, "makes no sense"},
		"a balance with a fraction":    {func(_, m object) { m["preBalances"].([]any)[0] = 1.5 }, "makes no sense"},
		"a fee beyond what there was":  {func(_, m object) { m["fee"] = json.Number("18446744073709551615") }, "fee is more"},
		"a balance too few":            {func(_, m object) { m["preBalances"] = m["preBalances"].([]any)[1:] }, "one balance for each"},
		"a balance too many":           {func(_, m object) { m["postBalances"] = append(m["postBalances"].([]any), 0) }, "one balance for each"},
		"balances null":                {func(_, m object) { m["preBalances"], m["postBalances"] = nil, nil }, "one balance for each"},
		"lamports out of nothing":      {func(_, m object) { m["postBalances"].([]any)[1] = json.Number("9000000000000000") }, "do not add up"},
		"a lamport out of nothing":     {func(_, m object) { m["postBalances"].([]any)[1] = plusOne(m["postBalances"].([]any)[1]) }, "do not add up"},
		"lamports beyond everything":   {func(_, m object) { m["preBalances"].([]any)[1] = json.Number("18446744073709551615") }, "do not add up"},
		"block time as text":           {func(a, _ object) { a["blockTime"] = "now" }, "block time"},
		"block time null":              {func(a, _ object) { a["blockTime"] = nil }, ""},
		"block time of another world":  {func(a, _ object) { a["blockTime"] = json.Number("9223372036854775807") }, ""},
		"an index beyond the accounts": {func(_, m object) { at(m, "postTokenBalances", 0)["accountIndex"] = 64 }, "of no account"},
		"a negative index":             {func(_, m object) { at(m, "postTokenBalances", 0)["accountIndex"] = -1 }, "of no account"},
		"a huge index":                 {func(_, m object) { at(m, "postTokenBalances", 0)["accountIndex"] = 1 << 40 }, "of no account"},
		"no index":                     {func(_, m object) { delete(at(m, "postTokenBalances", 0), "accountIndex") }, "of no account"},
		"amount null":                  {func(_, m object) { at(m, "postTokenBalances", 0)["uiTokenAmount"] = nil }, "has no amount"},
		"no units":                     {func(_, m object) { delete(at(m, "postTokenBalances", 0, "uiTokenAmount"), "amount") }, "impossible amount"},
		"units negative":               {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["amount"] = "-250" }, "impossible amount"},
		"units with an exponent":       {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["amount"] = "1e3" }, "impossible amount"},
		"units beyond 64 bits":         {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["amount"] = "18446744073709551616" }, "impossible amount"},
		"more units than there can be": {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["amount"] = "18446744073709551615" }, "more units"},
		"a huge amount for display":    {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["uiAmount"] = json.Number("1e308") }, ""},
		"lying text for display":       {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["uiAmountString"] = "1000000" }, ""},
		"decimals beyond a byte":       {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["decimals"] = 256 }, "make no sense"},
		"no decimals":                  {func(_, m object) { delete(at(m, "postTokenBalances", 0, "uiTokenAmount"), "decimals") }, "has no amount"},
		"two numbers of decimals":      {func(_, m object) { at(m, "postTokenBalances", 0, "uiTokenAmount")["decimals"] = 9 }, "two numbers of decimals"},
		"other decimals everywhere": {func(_, m object) {
			for _, list := range []string{"preTokenBalances", "postTokenBalances"} {
				for i := range m[list].([]any) {
					at(m, list, i, "uiTokenAmount")["decimals"] = 0
				}
			}
		}, "other decimals than its instructions"},
		"a mint that is none":         {func(_, m object) { at(m, "postTokenBalances", 0)["mint"] = "x" }, "of no token"},
		"a program that is none":      {func(_, m object) { at(m, "postTokenBalances", 0)["programId"] = memoProgram.String() }, "no token program"},
		"an owner that is none":       {func(_, m object) { at(m, "postTokenBalances", 0)["owner"] = "x" }, "impossible owner"},
		"a balance listed twice":      {func(_, m object) { l := m["postTokenBalances"].([]any); m["postTokenBalances"] = append(l, l[0]) }, "listed twice"},
		"token balances as an object": {func(_, m object) { m["preTokenBalances"] = object{} }, "make no sense"},
		"loaded accounts from nowhere": {func(_, m object) {
			m["loadedAddresses"] = object{"writable": []string{testKey(9).address().String()}, "readonly": []string{}}
		}, "not as many"},
		"loaded accounts as text":        {func(_, m object) { m["loadedAddresses"] = "x" }, "make no sense"},
		"loaded accounts missing":        {func(_, m object) { delete(m, "loadedAddresses") }, ""},
		"an inner program beyond":        {func(_, m object) { at(m, "innerInstructions", 0, "instructions", 0)["programIdIndex"] = 200 }, "called no program"},
		"an inner program negative":      {func(_, m object) { at(m, "innerInstructions", 0, "instructions", 0)["programIdIndex"] = -1 }, "called no program"},
		"an inner account beyond":        {func(_, m object) { at(m, "innerInstructions", 0, "instructions", 0)["accounts"] = []int{0, 255} }, "names no account"},
		"inner data of another alphabet": {func(_, m object) { at(m, "innerInstructions", 0, "instructions", 1)["data"] = "0OIl" }, "no known form"},
		"inner instructions of none":     {func(_, m object) { at(m, "innerInstructions", 0)["index"] = 3 }, "belong to none"},
		"inner instructions twice":       {func(_, m object) { l := m["innerInstructions"].([]any); m["innerInstructions"] = append(l, l[0]) }, "belong to none"},
		"inner instructions as text":     {func(_, m object) { m["innerInstructions"] = "x" }, "make no sense"},
		"it failed, and moved money":     {func(_, m object) { m["err"] = object{"InstructionError": []any{0, "Custom"}} }, "moved more than its fee"},
		"other bytes":                    {func(a, _ object) { a["transaction"] = []string{"AQ==", "base64"} }, "makes no sense"},
		"bytes in another encoding":      {func(a, _ object) { a["transaction"].([]any)[1] = "base58" }, "makes no sense"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := changed(t, raw, c.change)
			client := scripted(t, func(string) string { return result(string(answer)) })
			got, err := client.Activities(t.Context(), sig, person("bob").address())
			if c.want == "" {
				if err != nil || len(got) != 1 || got[0].Kind != wallet.ActivityReceived || got[0].Net[0].Units != 250 {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%+v, %v", got, err)
			}
			keepsSecret(t, err)
			// The second node tells it.
			both, closed := withSecond(t, client, w.Client)
			defer closed()
			if got, err := both.Activities(t.Context(), sig, person("bob").address()); err != nil || got[0].Net[0].Units != 250 {
				t.Errorf("with a second node: %+v, %v", got, err)
			}
		})
	}
}

// withSecond is a client that asks the first node of one client, then that of another.
func withSecond(t *testing.T, first, second *Client) (*Client, func()) {
	t.Helper()
	c, err := New(Options{RPCURLs: []string{first.primary().url, second.primary().url}, Cluster: wallet.Localnet, Now: first.now})
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Close
}

func TestUnreadableIsOneThingAndUnreachableAnother(t *testing.T) {
	w := newTown(t)
	sig := w.paidTokens("v1")
	owner := person("bob").address()
	var unread *wallet.UnreadableTransaction
	newer := scripted(t, func(string) string { return `{"jsonrpc":"2.0","id":1,"error":{"code":-32015,"message":"s3cr3t"}}` })
	if _, err := newer.Activities(t.Context(), sig, owner); !errors.As(err, &unread) || unread.Signature != sig || !strings.Contains(unread.Why, "version") {
		t.Errorf("a version that is not read: %v", err)
	}
	none := scripted(t, func(string) string { return result("null") })
	if _, err := none.Activities(t.Context(), sig, owner); !errors.Is(err, wallet.ErrTransactionUnknown) || errors.As(err, &unread) {
		t.Errorf("a node that has none: %v", err)
	}
	// While one node cannot be asked, nothing is final.
	broken, closed := withSecond(t, newer, scripted(t, func(string) string { return "" }))
	defer closed()
	if _, err := broken.Activities(t.Context(), sig, owner); errors.As(err, &unread) || wallet.CodeOf(err) != wallet.NetworkError {
		t.Errorf("one node is broken: %v", err)
	}
	// Nor if the other one does not have it, whichever comes first.
	for name, said := range map[string][2]string{"first": {"", result("null")}, "second": {result("null"), ""}} {
		half, closed := withSecond(t, scripted(t, func(string) string { return said[0] }), scripted(t, func(string) string { return said[1] }))
		defer closed()
		if _, err := half.Activities(t.Context(), sig, owner); errors.Is(err, wallet.ErrTransactionUnknown) || wallet.CodeOf(err) != wallet.NetworkError {
			t.Errorf("the %s node is broken: %v", name, err)
		}
	}
	both, closed := withSecond(t, none, w.Client)
	defer closed()
	if got, err := both.Activities(t.Context(), sig, owner); err != nil || w.told(got[0]) != w.told(w.activities(sig, "bob")[0]) {
		t.Errorf("%+v, %v", got, err)
	}
}

func (w *town) activities(sig wallet.Signature, names ...string) []wallet.Activity {
	w.t.Helper()
	var owners []wallet.Address
	for _, name := range names {
		owners = append(owners, person(name).address())
	}
	all, err := w.Activities(w.t.Context(), sig, owners...)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func TestAFailedTransactionMovesItsFeeAlone(t *testing.T) {
	w := newTown(t)
	alice, bob := person("alice").address(), person("bob").address()
	// The second transfer is more than there is. Preflight would refuse it, so it is emptied meanwhile.
	w.SetFault(nil)
	sig := w.landAnyway("alice", payOf(alice, bob, 5), payOf(alice, bob, 1<<60))
	all := w.activities(sig, "alice", "bob")
	if a := all[0]; a.Kind != wallet.ActivityOther || a.Failure != "InstructionError 1: Custom 1" || len(a.Net) != 0 || len(a.Movements) != 0 || a.OwnFee(alice) != 5000 ||
		len(a.Changes) != 1 || a.Changes[0].Pre-a.Changes[0].Post != 5000 {
		t.Errorf("alice: %+v", a)
	}
	if b := all[1]; b.Kind != wallet.ActivityOther || len(b.Changes) != 0 || b.OwnFee(bob) != 0 {
		t.Errorf("bob: %+v", b)
	}
}

// landAnyway is land without the node's preflight.
func (w *town) landAnyway(payer string, instructions ...Instruction) wallet.Signature {
	w.t.Helper()
	wire, sig := w.signed("", payer, instructions...)
	if _, err := call[string](w.t.Context(), w.primary(), "sendTransaction", base64.StdEncoding.EncodeToString(wire), settings{"encoding": "base64", "skipPreflight": true}); err != nil {
		w.t.Fatal(err)
	}
	w.advance(40)
	return sig
}

func TestEveryVersionReadsTheSame(t *testing.T) {
	w := newTown(t)
	var lines []string
	for _, version := range []string{"", "v0", "v1"} {
		sig := w.paidTokens(version)
		a := w.activities(sig, "alice", "bob")
		lines = append(lines, w.told(a[0])+" | "+w.told(a[1]))
	}
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	R := fmt.Sprint(rent)
	if want := `send, -` + R + ` SOL, -250 USDC, rent ` + R + ` SOL to bob, 250 USDC to bob, "thanks" | receive, +250 USDC, rent ` + R + ` SOL from alice, 250 USDC from alice, opened 1, "thanks"`; lines[0] != want {
		t.Errorf("got  %s\nwant %s", lines[0], want)
	}
	if want := `send, -250 USDC, 250 USDC to bob, "thanks" | receive, +250 USDC, 250 USDC from alice, "thanks"`; lines[1] != want || lines[2] != want {
		t.Errorf("got %s\nand %s", lines[1], lines[2])
	}
}

// tabled is a payment of a version 0 transaction whose recipient comes from a lookup table, as a node shows it.
func tabled(t *testing.T, loaded ...wallet.Address) (wallet.Signature, string) {
	t.Helper()
	alice, bob := testKey(1), testKey(2).address()
	table := sdk.PublicKey(testKey(50).address())
	in := sdk.NewInstruction(sdk.SystemProgramID, sdk.AccountMetaSlice{sdk.Meta(sdk.PublicKey(alice.address())).WRITE().SIGNER(), sdk.Meta(sdk.PublicKey(bob)).WRITE()},
		append([]byte{2, 0, 0, 0}, u64(700)...))
	tx, err := sdk.NewTransaction([]sdk.Instruction{in}, sdk.Hash{7}, sdk.TransactionPayer(sdk.PublicKey(alice.address())),
		sdk.TransactionAddressTables(map[sdk.PublicKey]sdk.PublicKeySlice{table: {sdk.PublicKey(bob)}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Sign(func(sdk.PublicKey) *sdk.PrivateKey { key := sdk.PrivateKey(alice.PrivateKey); return &key }); err != nil {
		t.Fatal(err)
	}
	wire, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	names, _ := json.Marshal(addresses(loaded))
	return wallet.Signature(tx.Signatures[0]), fmt.Sprintf(`{"slot":80,"blockTime":1800000000,"transaction":[%q,"base64"],"meta":{"fee":5000,"err":null,`+
		`"preBalances":[10000,1,5],"postBalances":[4300,1,705],"innerInstructions":null,"preTokenBalances":null,"postTokenBalances":null,"loadedAddresses":{"writable":%s,"readonly":[]}}}`,
		base64.StdEncoding.EncodeToString(wire), names)
}

func TestAccountsFromLookupTables(t *testing.T) {
	alice, bob := testKey(1).address(), testKey(2).address()
	sig, answer := tabled(t, bob)
	client := scripted(t, func(string) string { return result(answer) })
	got, err := client.Activities(t.Context(), sig, alice, bob)
	if err != nil || !slices.Contains(got[0].Mentions, bob) || got[0].Kind != wallet.ActivitySent || got[0].Movements[0].With != bob || got[1].Kind != wallet.ActivityReceived || got[1].Net[0].Units != 700 {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, loaded := range map[string][]wallet.Address{"none": {}, "too many": {bob, testKey(5).address()}, "the payer again": {alice}, "a program again": {wallet.SystemProgram}} {
		sig, answer := tabled(t, loaded...)
		var unread *wallet.UnreadableTransaction
		if _, err := scripted(t, func(string) string { return result(answer) }).Activities(t.Context(), sig, bob); !errors.As(err, &unread) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestALoadedAccountOnTheOtherSideIsRefused: as many in all, and not as many of each kind.
func TestALoadedAccountOnTheOtherSideIsRefused(t *testing.T) {
	sig, answer := tabled(t, testKey(2).address())
	swapped := strings.NewReplacer(`"writable"`, `"readonly"`, `"readonly"`, `"writable"`).Replace(answer)
	var unread *wallet.UnreadableTransaction
	if _, err := scripted(t, func(string) string { return result(swapped) }).Activities(t.Context(), sig, testKey(2).address()); !errors.As(err, &unread) {
		t.Error(err)
	}
}

// TestWhatInstructionsDoNotExplainHasNoCounterparty: balances are told, nobody is named.
func TestWhatInstructionsDoNotExplainHasNoCounterparty(t *testing.T) {
	w := newTown(t)
	sig := w.paidTokens("")
	bob := person("bob").address()
	for name, c := range map[string]struct {
		change func(meta map[string]any)
		want   string
	}{
		"more tokens came": {func(m map[string]any) {
			list := m["postTokenBalances"].([]any)
			for i := range list {
				if at(list[i])["owner"] == bob.String() {
					at(list[i], "uiTokenAmount")["amount"] = "251"
				}
			}
		}, `other, +251 USDC?, rent 2039280 SOL from alice, opened 1, "thanks"`},
		"fewer tokens came": {func(m map[string]any) {
			list := m["postTokenBalances"].([]any)
			for i := range list {
				if at(list[i])["owner"] == bob.String() {
					at(list[i], "uiTokenAmount")["amount"] = "249"
				}
			}
		}, `other, +249 USDC?, rent 2039280 SOL from alice, opened 1, "thanks"`},
		"no inner instructions": {func(m map[string]any) { delete(m, "innerInstructions") }, `other, +2039280 SOL?, +250 USDC, 250 USDC from alice, opened 1, "thanks"`},
		"no owners": {func(m map[string]any) {
			for _, list := range []string{"preTokenBalances", "postTokenBalances"} {
				for i := range m[list].([]any) {
					delete(at(m, list, i), "owner")
					delete(at(m, list, i), "programId")
				}
			}
		}, `receive, +250 USDC, rent 2039280 SOL from alice, 250 USDC from nobody, opened 1, "thanks"`},
	} {
		t.Run(name, func(t *testing.T) {
			answer := changed(t, w.shown(sig), func(_, m map[string]any) { c.change(m) })
			got, err := scripted(t, func(string) string { return result(string(answer)) }).Activities(t.Context(), sig, bob)
			if err != nil {
				t.Fatal(err)
			}
			rent, err := w.RentMinimum(t.Context(), tokenSize)
			if err != nil {
				t.Fatal(err)
			}
			if told, want := w.told(got[0]), strings.ReplaceAll(c.want, "2039280", fmt.Sprint(rent)); told != want {
				t.Errorf("got  %s\nwant %s", told, want)
			}
		})
	}
}

// FuzzActivity reads any answer about a transaction: it ends in an activity that holds together, or in a reason.
func FuzzActivity(f *testing.F) {
	sig, answer := tabled(&testing.T{}, testKey(2).address())
	f.Add([]byte(answer))
	f.Add([]byte(strings.Replace(answer, `"preTokenBalances":null`, `"preTokenBalances":[{"accountIndex":2,"mint":"`+wallet.WrappedSOL.String()+`","uiTokenAmount":{"amount":"5","decimals":9,"uiAmount":1e300}}]`, 1)))
	f.Add([]byte(strings.Replace(answer, `"innerInstructions":null`, `"innerInstructions":[{"index":0,"instructions":[{"programIdIndex":1,"accounts":[2,0],"data":"3Bxs4h24hBtQy9rw"}]}]`, 1)))
	f.Add([]byte(strings.Replace(answer, `"err":null`, `"err":{"InstructionError":[0,{"Custom":1}]}`, 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var tx *transactionAnswer
		if json.Unmarshal(raw, &tx) != nil || tx == nil || !tx.sound() {
			return
		}
		e, err := tx.effects(sig)
		if err != nil {
			var why unreadable
			if !errors.As(err, &why) && !errors.Is(err, errGarbage) && !errors.Is(err, errUnreadable) {
				t.Fatal(err)
			}
			return
		}
		for _, a := range e.activities([]wallet.Address{testKey(1).address(), testKey(2).address(), wallet.SystemProgram}) {
			if a.Failure != "" && (len(a.Net) > 0 || len(a.Movements) > 0) || a.Kind == "" {
				t.Fatalf("%+v", a)
			}
			for _, n := range a.Net {
				if n.Units == 0 || n.Token.Mint.IsZero() != (n.Token == wallet.SOL) {
					t.Fatalf("%+v", a)
				}
			}
			if _, err := json.Marshal(a); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkActivity(b *testing.B) {
	sig, answer := tabled(&testing.T{}, testKey(2).address())
	owner := []wallet.Address{testKey(2).address()}
	b.ReportAllocs()
	for b.Loop() {
		var tx *transactionAnswer
		if err := json.Unmarshal([]byte(answer), &tx); err != nil {
			b.Fatal(err)
		}
		e, err := tx.effects(sig)
		if err != nil {
			b.Fatal(err)
		}
		e.activities(owner)
	}
}
