package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"purser/chat"
	"purser/sandbox/solana"
)

// counting has every call to the nodes counted from now on.
func (r *harness) counting() *int {
	calls := new(int)
	r.Cluster.SetFault(func(string, json.RawMessage) (f solana.Fault) { *calls++; return f })
	return calls
}

// TestOnePersonAsksTheNodesOnlySoOften, while others are not held up, and nothing that needs no node is refused.
func TestOnePersonAsksTheNodesOnlySoOften(t *testing.T) {
	r := newHarness(t)
	o := r.options()
	o.Lookups = 0 // as in the product
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	r.rich("alice", 5*sol)
	r.rich("bob", 5*sol)
	said := func(who, text string) string {
		r.seen = nil
		r.happen(who + ": " + text)
		return strings.Join(r.seen, "")
	}
	for i := range chat.Lookups {
		if got := said("alice", "/wallet balance"); !strings.Contains(got, "5</code> SOL") {
			t.Fatalf("lookup %d: %s", i+1, got)
		}
	}
	calls := r.counting()
	if got := said("alice", "/wallet balance"); !strings.Contains(got, "Too many requests") || !strings.Contains(got, "in 3 seconds") {
		t.Errorf("one lookup too many: %s", got)
	}
	for _, text := range []string{"/wallet balance", "/wallet", "/wallet address 1 SOL", "/send 1 SOL $bob", "/send 1 $carol $bob"} {
		if got := said("alice", text); got != "" { // she was told just before
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := said("alice", "/wallet address"); !strings.Contains(got, "Your address") {
		t.Errorf("what needs no node: %s", got)
	}
	if got := said("alice", "/send 1 SOL nonsense"); !strings.Contains(got, "isn't a Solana address") {
		t.Errorf("what needs no node: %s", got)
	}
	if *calls != 0 {
		t.Errorf("the nodes were asked %d times", *calls)
	}
	if got := said("bob", "/wallet balance"); !strings.Contains(got, "5</code> SOL") {
		t.Errorf("somebody else: %s", got)
	}
	said("alice", "/cancel")
	r.happen("clock 10s")
	for i, want := range []string{"5</code> SOL", "5</code> SOL", "5</code> SOL", "Too many requests"} { // three came back
		if got := said("alice", "/wallet balance"); !strings.Contains(got, want) {
			t.Errorf("after ten seconds, %d: %s", i+1, got)
		}
	}
	r.happen("clock 2m")
	for range chat.Lookups {
		if got := said("alice", "/wallet balance"); !strings.Contains(got, "5</code> SOL") {
			t.Fatalf("all of them are back: %s", got)
		}
	}
	if got := said("alice", "/wallet balance"); !strings.Contains(got, "Too many requests") {
		t.Errorf("more than all of them: %s", got)
	}
}

// TestATapWithoutALookupLeftIsToldSo: the question waits on, and the same tap works later.
func TestATapWithoutALookupLeftIsToldSo(t *testing.T) {
	r := newHarness(t)
	o := r.options()
	o.Lookups = 2
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	r.rich("alice", 5*sol)
	r.happen("alice: /send 1 SOL $bob")
	r.happen("alice: /wallet balance")
	r.seen = nil
	for range 2 {
		r.happen("alice taps Confirm")
	}
	if got := strings.Join(r.seen, ""); strings.Count(got, "toast Too many requests. Try again in 3 seconds.") != 2 {
		t.Errorf("%s", got)
	}
	r.happen("clock 3s")
	r.seen = nil
	r.happen("alice taps Confirm")
	if got := strings.Join(r.seen, ""); !strings.Contains(got, "Sign 1 SOL") {
		t.Errorf("%s", got)
	}
}

// TestNobodyWithoutAWalletHasANodeAsked: what they write is looked at as far as no node is needed.
func TestNobodyWithoutAWalletHasANodeAsked(t *testing.T) {
	r := newHarness(t)
	r.happen("alice: /start")
	calls := r.counting()
	for _, text := range []string{"/send 1 $carol $bob", "/send 1 SOL $bob", "/send", "/wallet", "/wallet balance", "/wallet address 1 SOL", "$bob"} {
		r.seen = nil
		r.happen("alice: " + text)
		if got := strings.Join(r.seen, ""); !strings.Contains(got, "You have no wallet") {
			t.Errorf("%s: %s", text, got)
		}
	}
	r.rich("alice", 5*sol)
	*calls = 0
	r.happen("alice: /send 1 $carol $alice") // to herself: refused before the mint is read
	if *calls != 0 {
		t.Errorf("the nodes were asked %d times", *calls)
	}
}
