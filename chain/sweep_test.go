package chain

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"purser/sandbox/solana"
	"purser/wallet"
)

func TestSweepReadsWalletsAndTokenAccounts(t *testing.T) {
	w := newTown(t)
	alice, bob, dora := person("alice").address(), person("bob").address(), person("dora").address()
	as := []wallet.Address{alice, dora, ata(alice, w.usdc, wallet.TokenProgram), ata(bob, w.fee, wallet.Token2022Program), w.usdc, w.fee, wallet.SystemProgram}
	for len(as) < 230 {
		as = append(as, wallet.Address{9, byte(len(as))})
	}
	as = append(as, bob)
	calls := 0
	w.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		if method == "getMultipleAccounts" {
			calls++
		}
		return solana.Fault{}
	})
	got, err := w.Sweep(t.Context(), as, 1)
	if err != nil || len(got) != len(as) || calls != 3 {
		t.Fatalf("%d of %d in %d calls, %v", len(got), len(as), calls, err)
	}
	for i, b := range got {
		if b.Address != as[i] || b.Slot == 0 || b.Exists != (b.Lamports > 0) {
			t.Errorf("%d: %+v", i, b)
		}
		isToken := i == 2 || i == 3
		if (b.Token != nil) != isToken {
			t.Errorf("%d: %+v", i, b)
		}
	}
	if got[0].Lamports != w.Balance(alice.String()) || got[1].Exists || got[230].Lamports != w.Balance(bob.String()) || got[0].Program != wallet.SystemProgram {
		t.Errorf("%+v, %+v", got[0], got[1])
	}
	want := wallet.TokenAccount{Address: as[3], Exists: true, Mint: w.fee, Owner: bob, Program: wallet.Token2022Program, Units: 100_000_000}
	if *got[3].Token != want || got[2].Token.Units != 100_000_000 || got[2].Token.Owner != alice {
		t.Errorf("%+v, %+v", *got[2].Token, *got[3].Token)
	}
	if _, err := w.Sweep(t.Context(), as[:1], 1<<40); !errors.Is(err, wallet.ErrNodeBehind) {
		t.Errorf("beyond its slot: %v", err)
	}
	if none, err := w.Sweep(t.Context(), nil, 0); err != nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	accounts, err := w.TokenAccounts(t.Context(), bob)
	if err != nil || len(accounts) != 1 || accounts[0] != want {
		t.Errorf("%+v, %v", accounts, err)
	}
}

func TestASweepBelievesNoNodeThatIsBehind(t *testing.T) {
	row := func(slot int) string {
		return result(fmt.Sprintf(`{"context":{"slot":%d},"value":[{"lamports":%d,"owner":"11111111111111111111111111111111","executable":false,"rentEpoch":0,"space":0,"data":["","base64"]}]}`, slot, slot))
	}
	as := []wallet.Address{testKey(1).address()}
	careless := scripted(t, func(string) string { return row(5) }) // it does not look at minContextSlot
	if _, err := careless.Sweep(t.Context(), as, 6); !errors.Is(err, wallet.ErrNodeBehind) {
		t.Errorf("%v", err)
	}
	if got, err := careless.Sweep(t.Context(), as, 5); err != nil || got[0].Lamports != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	both, closed := withSecond(t, careless, scripted(t, func(string) string { return row(7) }))
	defer closed()
	if got, err := both.Sweep(t.Context(), as, 6); err != nil || got[0].Lamports != 7 || got[0].Slot != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestASweepBelievesNoSlotThatCannotBe: a watcher that believed it would wait for it.
func TestASweepBelievesNoSlotThatCannotBe(t *testing.T) {
	at := uint64(highestSlot)
	node := func(string) string {
		return result(fmt.Sprintf(`{"context":{"slot":%d},"value":[null]}`, at))
	}
	c := scripted(t, node)
	if _, err := c.Sweep(t.Context(), []wallet.Address{{7}}, 0); err != nil {
		t.Error(err)
	}
	for _, at = range []uint64{highestSlot + 1, 1<<64 - 1} {
		if got, err := c.Sweep(t.Context(), []wallet.Address{{7}}, 0); wallet.CodeOf(err) != wallet.NetworkError {
			t.Errorf("slot %d: %+v, %v", at, got, err)
		}
	}
}

// TestANodeThatIsDownHidesNoLag: it can be told that all nodes that answer are behind, whichever comes first.
func TestANodeThatIsDownHidesNoLag(t *testing.T) {
	old := func(string) string { return result(`{"context":{"slot":5},"value":[null]}`) }
	down := func(string) string { return `{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"s3cr3t"}}` }
	for name, said := range map[string][2]func(string) string{"first": {down, old}, "second": {old, down}} {
		both, closed := withSecond(t, scripted(t, said[0]), scripted(t, said[1]))
		defer closed()
		_, err := both.Sweep(t.Context(), []wallet.Address{testKey(1).address()}, 6)
		if !errors.Is(err, wallet.ErrNodeBehind) || wallet.CodeOf(err) != wallet.NetworkError {
			t.Errorf("%s: %v", name, err)
		}
		nobodyKnows(t, err)
	}
}

func TestASweepTakesNoMintForAnAccount(t *testing.T) {
	data := make([]byte, sweepData)
	data[108] = 1
	for kind, is := range map[byte]bool{kindMint: false, kindAccount: true, 0: false} {
		data[tokenSize] = kind
		a := accountSnapshot{Account: wallet.Account{Exists: true, Owner: wallet.Token2022Program}, data: data, space: 200}
		if b := balanceOf(testKey(1).address(), a); (b.Token != nil) != is {
			t.Errorf("kind %d: %+v", kind, b)
		}
	}
}

func BenchmarkSweep100(b *testing.B) {
	var rows []string
	data := make([]byte, sweepData)
	data[108], data[tokenSize] = 1, kindAccount
	for range 100 {
		rows = append(rows, fmt.Sprintf(`{"lamports":2039280,"owner":%q,"executable":false,"rentEpoch":18446744073709551615,"space":170,"data":[%q,"base64"]}`,
			wallet.Token2022Program, base64.StdEncoding.EncodeToString(data)))
	}
	answer := result(`{"context":{"slot":9},"value":[` + strings.Join(rows, ",") + `]}`)
	c := &Client{nodes: []*node{newNode("rpc 1", "http://node", Options{Timeout: 1 << 40}, saying(answer))}}
	as := make([]wallet.Address, 100)
	b.ReportAllocs()
	for b.Loop() {
		got, err := c.Sweep(b.Context(), as, 1)
		if err != nil || got[99].Token == nil {
			b.Fatal(got, err)
		}
	}
}

// TestAConfirmedSweepSeesWhatIsNotFinal: and the other one does not.
func TestAConfirmedSweepSeesWhatIsNotFinal(t *testing.T) {
	w := newTown(t)
	var asked []string
	w.SetFault(func(method string, params json.RawMessage) solana.Fault {
		if method == "getMultipleAccounts" {
			for _, commitment := range []string{"confirmed", "finalized"} {
				if strings.Contains(string(params), `"`+commitment+`"`) {
					asked = append(asked, commitment)
				}
			}
		}
		return solana.Fault{}
	})
	at := []wallet.Address{person("alice").address()}
	early, err := w.SweepConfirmed(t.Context(), at, 0)
	if err != nil || len(early) != 1 || early[0].Lamports == 0 {
		t.Errorf("%+v, %v", early, err)
	}
	late, err := w.Sweep(t.Context(), at, 0)
	if err != nil || fmt.Sprint(asked) != "[confirmed finalized]" || early[0].Slot <= late[0].Slot {
		t.Errorf("asked %q: %+v, then %+v, %v", asked, early, late, err)
	}
	if _, err := w.SweepConfirmed(t.Context(), at, 1<<40); !errors.Is(err, wallet.ErrNodeBehind) {
		t.Errorf("%v", err)
	}
}
