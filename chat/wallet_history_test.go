package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/wallet"
)

// pastChain is a chain with one wallet's transactions, newest first.
type pastChain struct {
	entries []wallet.SignatureEntry
	does    map[wallet.Signature]wallet.Activity
}

func (c *pastChain) History(_ context.Context, _ wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	rest := c.entries
	for i, e := range c.entries {
		if e.Signature == before {
			rest = c.entries[i+1:]
		}
	}
	return rest[:min(limit, len(rest))], len(rest) >= limit, nil
}

func (c *pastChain) Activities(_ context.Context, sig wallet.Signature, _ ...wallet.Address) ([]wallet.Activity, error) {
	a, ok := c.does[sig]
	if !ok {
		return nil, &wallet.UnreadableTransaction{Signature: sig, Why: "nonsense"}
	}
	return []wallet.Activity{a}, nil
}

// put adds a transaction that is older than the ones before.
func (c *pastChain) put(at time.Time, a *wallet.Activity) {
	var sig wallet.Signature
	copy(sig[:], fmt.Sprintf("%064d", len(c.entries)))
	c.entries = append(c.entries, wallet.SignatureEntry{Signature: sig, At: at.Add(-time.Duration(len(c.entries)) * time.Hour), Finalized: true})
	if a != nil {
		c.does[sig] = *a
	}
}

// came is an activity that received lamports.
func came(lamports uint64, from wallet.Address) *wallet.Activity {
	a := &wallet.Activity{Kind: wallet.ActivityReceived, Movements: []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: from, Token: wallet.SOL, Units: lamports}}}
	if lamports > 0 {
		a.Net = []wallet.NetChange{{Token: wallet.SOL, Units: lamports, Explained: true}}
	}
	return a
}

// asked is what the bot said to an input.
func (r *harness) asked(do func()) string {
	r.seen = nil
	do()
	return strings.Join(r.seen, "")
}

// TestHistoryOfEveryKindHasItsLine: swaps, failed transactions, those that nobody can read and the rest.
func TestHistoryOfEveryKindHasItsLine(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	stranger := r.Stranger()
	usdc, _ := r.Tokens.BySymbol("USDC")
	spent := wallet.NetChange{Token: wallet.SOL, Units: sol, Lost: true, Explained: true}
	program := wallet.Address{7}
	c := &pastChain{does: map[wallet.Signature]wallet.Activity{}}
	c.put(r.Now(), came(2*sol, stranger))
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivitySent, Signed: true, Net: []wallet.NetChange{spent},
		Movements: []wallet.Movement{{How: wallet.MovedByTransfer, With: r.people["bob"].Address(), Token: wallet.SOL, Units: sol}}})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivitySwapped, Signed: true, Net: []wallet.NetChange{spent, {Token: usdc, Units: 150_000_000}}})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityInternal, Signed: true})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityAccountOpened, Signed: true})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityAccountClosed, Signed: true})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityOther, Failure: "InstructionError", Signed: true})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityOther, Signed: true, Program: program, Net: []wallet.NetChange{spent}})
	c.put(r.Now(), &wallet.Activity{Kind: wallet.ActivityOther, Signed: true})
	c.put(r.Now(), nil)
	c.put(r.Now(), came(1, stranger))
	c.put(r.Now(), came(0, stranger))
	r.History.Chain = c
	said := r.asked(func() { r.says("alice", "/wallet history") })
	for _, line := range []string{
		"21 Nov 12:00 💰 Received 2 SOL from <code>…" + stranger.Tail() + "</code>", "21 Nov 11:00 ✅ Sent 1 SOL to", "🔄 Swapped: −1 SOL, +150 USDC",
		"↔️ Moved between your own accounts\n", "📂 Opened a token account", "📁 Closed a token account", "❌ Transaction", "▫️ −1 SOL in transaction",
		"of program <code>…" + program.Tail(), "▫️ No change in transaction", "details aren't available", "2 suspicious transfers aren't shown", "[Show all]",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said:\n%s", line, said)
		}
	}
	if strings.Contains(said, "Zero-value transfer") || strings.Contains(said, "Earlier") {
		t.Errorf("said:\n%s", said)
	}
	said = r.asked(func() { r.presses("alice", "Show all", "alice") })
	for _, line := range []string{"Received 0.000000001 SOL from <code>…" + stranger.Tail() + "</code> ⚠️ suspicious", "⚠️ Zero-value transfer from"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is not said of all:\n%s", line, said)
		}
	}
}

// TestHistoryIsReadByPages: each has a button to the one before, to the end; pages of spam hide no payment.
func TestHistoryIsReadByPages(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	c := &pastChain{does: map[wallet.Signature]wallet.Activity{}}
	for i := range 20 {
		c.put(r.Now(), came(uint64(i+1)*sol, wallet.Address{9}))
	}
	for range 20 {
		c.put(r.Now(), came(1, wallet.Address{9}))
	}
	c.put(r.Now(), came(77*sol, wallet.Address{9}))
	r.History.Chain = c
	said := r.asked(func() { r.says("alice", "/wallet history") })
	if strings.Count(said, "Received") != 15 || !strings.Contains(said, "Received 15 SOL") || !strings.Contains(said, "last payments") {
		t.Errorf("the first page:\n%s", said)
	}
	said = r.asked(func() { r.presses("alice", "Earlier", "alice") })
	if strings.Count(said, "Received") != 6 || !strings.Contains(said, "Received 16 SOL") || !strings.Contains(said, "Received 77 SOL") ||
		!strings.Contains(said, "20 suspicious transfers") || !strings.Contains(said, "earlier payments") || strings.Contains(said, "[Show all] [Earlier]") {
		t.Errorf("the second page:\n%s", said)
	}
	said = r.asked(func() { r.says("alice", "/wallet history all") })
	for range 2 {
		said = r.asked(func() { r.presses("alice", "Earlier", "alice") })
	}
	if strings.Count(said, "Received") != 11 || !strings.Contains(said, "Received 77 SOL") || strings.Contains(said, "Earlier]") {
		t.Errorf("the third page of all:\n%s", said)
	}
}

// TestHistoryWithoutANode: what purser knows is shown, and that it is not all.
func TestHistoryWithoutANode(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	r.presses("alice", "Reject", "alice")
	r.says("alice", "/send 2 SOL "+r.people["bob"].Address().String())
	r.During("getSignaturesForAddress", solana.Fault{Status: 503})
	said := r.asked(func() { r.says("alice", "/wallet history") })
	if !strings.Contains(said, "2 SOL to") || !strings.Contains(said, "1 rejected or expired payment isn't shown") || !strings.Contains(said, "payments made outside this chat are missing") ||
		strings.Contains(said, "Earlier") {
		t.Errorf("said:\n%s", said)
	}
}
