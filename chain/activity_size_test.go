package chain

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"purser/wallet"
)

// TestTheLargestTransactionIsRead: version 1, 64 accounts, nearly 4 KB. Everybody is told their own part.
func TestTheLargestTransactionIsRead(t *testing.T) {
	w := newTown(t)
	alice, bob := person("alice").address(), person("bob").address()
	const others, amount = 60, 2_000_000 // with the payer, Bob and two programs: 64 accounts
	list := []Instruction{payOf(alice, bob, 7)}
	for n := range others {
		list = append(list, payOf(alice, testKey(byte(100+n)).address(), amount+uint64(n)))
	}
	list = append(list, memoOf(strings.Repeat("x", 600)))
	wire, sig := w.signed("v1", "alice", list...)
	if len(wire) < 3800 || len(wire) > packetSizeV1 {
		t.Fatalf("%d bytes", len(wire))
	}
	if err := w.Broadcast(t.Context(), wire); err != nil {
		t.Fatal(err)
	}
	w.advance(40)
	last := testKey(100 + others - 1).address()
	got, err := w.Activities(t.Context(), sig, bob, last, alice, person("carol").address())
	if err != nil {
		t.Fatal(err)
	}
	const sent = 7 + others*amount + others*(others-1)/2
	for i, want := range []uint64{7, amount + others - 1, sent, 0} {
		a := got[i]
		switch {
		case len(a.Mentions) != 64:
			t.Errorf("it names %d accounts", len(a.Mentions))
		case want == 0 && len(a.Net) != 0, want > 0 && (len(a.Net) != 1 || a.Net[0].Units != want || a.Net[0].Lost != (i == 2) || !a.Net[0].Explained):
			t.Errorf("%d: %+v", i, a.Net)
		}
	}
}

// TestAVersionOfTomorrowIsUnreadable: bytes of a version that is not known, which the node thinks we have asked for.
func TestAVersionOfTomorrowIsUnreadable(t *testing.T) {
	w := newTown(t)
	sig := w.paidTokens("v1")
	for _, version := range []byte{0x82, 0xff} {
		answer := changed(t, w.shown(sig), func(a, _ map[string]any) {
			bytes, err := base64.StdEncoding.DecodeString(a["transaction"].([]any)[0].(string))
			if err != nil {
				t.Fatal(err)
			}
			bytes[0] = version
			a["transaction"].([]any)[0] = base64.StdEncoding.EncodeToString(bytes)
		})
		var unread *wallet.UnreadableTransaction
		if _, err := scripted(t, func(string) string { return result(string(answer)) }).Activities(t.Context(), sig, person("bob").address()); !errors.As(err, &unread) {
			t.Errorf("version %x: %v", version, err)
		}
	}
}
