package handlers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// receipt is an activity that received lamports.
func receipt(lamports uint64, from wallet.Address) wallet.Activity {
	a := wallet.Activity{Kind: wallet.ActivityReceived, Slot: 7,
		Movements: []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: from, Signed: true, Account: from, Token: wallet.SOL, Units: lamports}}}
	if lamports > 0 {
		a.Net = []wallet.NetChange{{Token: wallet.Token{Decimals: 9}, Units: lamports, Explained: true}}
	}
	return a
}

// numbered is the signature of a number.
func numbered(n int) (s wallet.Signature) {
	copy(s[:], fmt.Sprintf("signature %6d", n))
	return s
}

// follow reads the list to its end by its cursors.
func (r *harness) follow(who handlers.Caller, f handlers.Filter) (all []handlers.HistoryEntry, pages int, incomplete bool) {
	r.Helper()
	for {
		page, err := r.History.List(context.Background(), who, f)
		r.Must(err)
		if len(page.Entries) > f.Limit {
			r.Fatalf("%d entries on a page of %d", len(page.Entries), f.Limit)
		}
		all, incomplete = append(all, page.Entries...), incomplete || page.Incomplete
		if pages++; page.Next == "" || pages > 5000 {
			return all, pages, incomplete
		}
		if page.Next == f.Cursor {
			r.Fatalf("a cursor leads to itself: %s", page.Next)
		}
		f.Cursor = page.Next
	}
}

// named tells what entries are: purser's own by id, others by signature.
func named(entries []handlers.HistoryEntry) (out []string) {
	for _, e := range entries {
		if e.Transaction != nil {
			out = append(out, string(e.Transaction.ID))
		} else {
			out = append(out, strings.TrimRight(string(e.Signature[:]), "\x00"))
		}
	}
	return out
}

// inOrder puts entries in the order of ids, where "" is the newest of those from the chain. The clock of the sandbox's
// blocks is not that of the world.
func inOrder(entries []handlers.HistoryEntry, ids ...wallet.TransactionID) (out []handlers.HistoryEntry) {
	rest := slices.Clone(entries)
	for _, id := range ids {
		at := slices.IndexFunc(rest, func(e handlers.HistoryEntry) bool {
			return e.Transaction == nil && id == "" || e.Transaction != nil && e.Transaction.ID == id
		})
		if at >= 0 {
			out, rest = append(out, rest[at]), slices.Delete(rest, at, at+1)
		}
	}
	return append(out, rest...)
}

// TestHistoryIsWhatTheChainSaysAndWhatPurserKnows: each transaction once, purser's own with their ids, others with the
// other party, its name and the amount.
func TestHistoryIsWhatTheChainSaysAndWhatPurserKnows(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, 5*sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: "Bob", Address: bob.Address()})
	}))
	paid := r.Paid(alice, bob.Address(), "1", "SOL")
	r.SendBehind(bob, wallet.Transaction{From: bob.Address(), To: alice.Address(), Amount: 2 * sol, Reference: r.Stranger()})
	r.Blocks(40)
	open := r.Propose(alice, bob.Address(), "0.5", "SOL")

	got, _, incomplete := r.follow(alice.Caller(), handlers.Filter{Limit: 10})
	if len(got) != 4 || incomplete {
		t.Fatalf("Alice has %v, incomplete %v", named(got), incomplete)
	}
	got = inOrder(got, open.ID, wallet.TransactionID(""), paid.ID)
	if got[0].Transaction == nil || got[0].Transaction.ID != open.ID || got[0].Name != "Bob" || got[0].With != bob.Address() {
		t.Errorf("the open payment: %+v", got[0])
	}
	in := got[1]
	if in.Transaction != nil || in.Type != wallet.ActivityReceived || in.Status != wallet.Received || in.With != bob.Address() || in.Name != "Bob" ||
		in.Main.Units != 2*sol || in.Main.Token != wallet.SOL || in.Wallet != alice.Address() || in.Suspect != "" || in.At.IsZero() || in.Signature.IsZero() {
		t.Errorf("what came in: %+v", in)
	}
	if got[2].Transaction == nil || got[2].Transaction.ID != paid.ID {
		t.Errorf("the payment: %+v", got[2])
	}
	if got[3].Transaction != nil || got[3].Main.Units != 10*sol || got[3].Name != "" {
		t.Errorf("from before purser did anything: %+v", got[3])
	}
	got, _, _ = r.follow(bob.Caller(), handlers.Filter{Limit: 10})
	got = inOrder(got, "", wallet.ReceivedID(paid.Signature, bob.Address(), wallet.Address{}))
	if len(got) != 3 || got[0].Type != wallet.ActivitySent || got[0].Main.Units != 2*sol || !got[0].Main.Lost || got[0].With != alice.Address() || got[0].Name != "" ||
		got[1].Transaction == nil || got[1].Transaction.ID != wallet.ReceivedID(paid.Signature, bob.Address(), wallet.Address{}) || got[1].With != alice.Address() {
		t.Errorf("Bob has %+v", got)
	}
	// An operator reads any wallet, but not whom its owner knows.
	operator := handlers.Caller{KeyID: "key_1", KeyLineage: "key_1"}
	got, _, _ = r.follow(operator, handlers.Filter{Address: alice.Address(), Limit: 10})
	got = inOrder(got, open.ID, wallet.TransactionID(""), paid.ID)
	if len(got) != 4 || got[1].With != bob.Address() || got[0].Name != "" || got[1].Name != "" {
		t.Errorf("an operator reads %+v", got)
	}
	_, err := r.History.List(context.Background(), bob.Caller(), handlers.Filter{Address: alice.Address(), Limit: 10})
	r.Refused(wallet.WalletNotFound, err)
	for name, c := range map[string]struct {
		f    handlers.Filter
		want int
	}{
		"received":      {handlers.Filter{Type: wallet.ActivityReceived}, 2},
		"sent":          {handlers.Filter{Type: wallet.ActivitySent}, 2},
		"confirmed":     {handlers.Filter{Status: wallet.Confirmed}, 1},
		"failed":        {handlers.Filter{Status: wallet.Failed}, 0},
		"by status":     {handlers.Filter{Status: wallet.Received}, 2},
		"of a token":    {handlers.Filter{Token: world.TokenRef("USDC")}, 0},
		"SOL":           {handlers.Filter{Token: world.TokenRef("SOL")}, 4},
		"purser's own":  {handlers.Filter{OwnOnly: true}, 2},
		"since":         {handlers.Filter{Since: in.At}, 1},
		"until":         {handlers.Filter{Until: in.At}, 3},
		"in no time":    {handlers.Filter{Since: in.At, Until: in.At}, 0},
		"in one second": {handlers.Filter{Since: in.At, Until: in.At.Add(time.Second)}, 1},
	} {
		c.f.Limit = 10
		if got, _, _ := r.follow(alice.Caller(), c.f); len(got) != c.want {
			t.Errorf("%s: %v", name, named(got))
		}
	}
}

// TestEveryPageFollowsFromTheOneBefore: whatever the wallets, times and limits, and with nodes that fail now and then,
// following the cursors gives each transaction once; newest first if nothing failed.
func TestEveryPageFollowsFromTheOneBefore(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	r.Connect(&world.Person{TelegramID: 1001, FirstName: "Alice", User: alice.User, Key: r.NewKey()})
	var addresses []wallet.Address
	r.View(func(tx store.Tx) error {
		all, err := tx.WalletsOf(alice.User.ID)
		for _, w := range all {
			addresses = append(addresses, w.Address)
		}
		return err
	})
	if len(addresses) != 2 {
		t.Fatalf("%d wallets", len(addresses))
	}
	dice := rand.New(rand.NewPCG(1, 2))
	node := newScripted()
	r.History.Chain = node
	at := map[string]time.Time{}
	for i := range 300 {
		made := r.Now().Add(-time.Duration(dice.IntN(4000)) * time.Second).Truncate(time.Second)
		a := addresses[dice.IntN(2)]
		sig := numbered(i)
		onChain, own := dice.IntN(3) > 0, dice.IntN(3) == 0
		if !onChain && !own {
			continue
		}
		if own {
			id := wallet.TransactionID(fmt.Sprintf("tx_%04d", i))
			at[string(id)] = made
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.CreateTransaction(wallet.Transaction{ID: id, Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: alice.User.ID, From: a,
					To: wallet.Address{9}, Token: wallet.SOL, Amount: 1, Signature: sig, CreatedAt: made})
			}))
		}
		if onChain {
			if !own {
				at[strings.TrimRight(string(sig[:]), "\x00")] = made
			}
			node.entries[a] = append(node.entries[a], wallet.SignatureEntry{Signature: sig, At: made, Finalized: true})
		}
	}
	for _, list := range node.entries {
		slices.SortStableFunc(list, func(a, b wallet.SignatureEntry) int { return b.At.Compare(a.At) })
	}
	for _, limit := range []int{1, 2, 7, 20, 100} {
		got, _, incomplete := r.follow(alice.Caller(), handlers.Filter{Limit: limit})
		names := named(got)
		for i, name := range names {
			if i > 0 && at[name].After(at[names[i-1]]) {
				t.Fatalf("limit %d: %s comes behind %s", limit, name, names[i-1])
			}
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != len(at) || len(got) != len(at) || incomplete {
			t.Fatalf("limit %d: %d of %d, incomplete %v", limit, len(got), len(at), incomplete)
		}
	}
	for sig, n := range node.reads {
		if n != 1 { // finalized ones are remembered
			t.Fatalf("%s was read %d times", sig, n)
		}
	}
	// Nodes that fail now and then: whoever asks for an incomplete page again misses nothing.
	r.History = &handlers.History{Transfers: r.Transfers, Chain: node}
	node.flaky = func() bool { return dice.IntN(20) == 0 }
	var names []string
	f := handlers.Filter{Limit: 10}
	for tries := 0; ; tries++ {
		page, err := r.History.List(context.Background(), alice.Caller(), f)
		r.Must(err)
		if page.Incomplete && page.Next == "" && tries < 1000 {
			continue // the same page again
		}
		names = append(names, named(page.Entries)...)
		if f.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	slices.Sort(names)
	if len(names) != len(at) || len(slices.Compact(names)) != len(at) {
		t.Errorf("%d of %d with a node that fails", len(names), len(at))
	}
}

// TestANodesFailureLeavesWhatPurserKnows: and says that the rest is missing.
func TestANodesFailureLeavesWhatPurserKnows(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, sol)
	sent := r.Propose(alice, bob.Address(), "1", "SOL")
	r.During("getSignaturesForAddress", solana.Fault{Status: 503})
	got, pages, incomplete := r.follow(alice.Caller(), handlers.Filter{Limit: 1})
	if len(got) != 1 || got[0].Transaction == nil || got[0].Transaction.ID != sent.ID || !incomplete || pages > 2 {
		t.Errorf("%v in %d pages, incomplete %v", named(got), pages, incomplete)
	}
	r.Whole()

	// One transaction that cannot be had for now stops its wallet's list there; one that nobody can read does not.
	node := newScripted()
	r.History.Chain = node
	for i := range 5 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i+1) * time.Minute), Finalized: i > 0, Failed: i == 3})
	}
	node.broken[numbered(1)] = &wallet.UnreadableTransaction{Signature: numbered(1), Why: "nonsense"}
	node.broken[numbered(3)] = &wallet.Error{Code: wallet.NetworkError, Err: wallet.ErrTransactionUnknown}
	got, _, incomplete = r.follow(alice.Caller(), handlers.Filter{Limit: 10})
	if len(got) != 6 || incomplete || got[1].Status != wallet.Pending || got[2].Activity != nil || got[2].Type != wallet.ActivityOther || got[2].Status != wallet.Confirmed ||
		got[4].Activity != nil || got[4].Status != wallet.Failed || got[5].Activity == nil {
		t.Errorf("got %+v, incomplete %v", got, incomplete)
	}
	node.broken[numbered(3)] = errDown
	page, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 10})
	r.Must(err)
	if len(page.Entries) != 4 || !page.Incomplete || page.Next != "" {
		t.Errorf("got %v, incomplete %v", named(page.Entries), page.Incomplete)
	}
	page, err = r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 3})
	r.Must(err)
	if len(page.Entries) != 3 || page.Incomplete || page.Next == "" {
		t.Errorf("got %v, incomplete %v", named(page.Entries), page.Incomplete)
	}
	next := page.Next
	if page, err = r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 3, Cursor: next}); err != nil || len(page.Entries) != 1 || !page.Incomplete {
		t.Errorf("got %v, incomplete %v, %v", named(page.Entries), page.Incomplete, err)
	}
	delete(node.broken, numbered(3))
	if page, err = r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 3, Cursor: next}); err != nil || len(page.Entries) != 3 || page.Incomplete {
		t.Errorf("again: %v, incomplete %v, %v", named(page.Entries), page.Incomplete, err)
	}
}

// TestSuspiciousTransfersAreMarked: what puts an address into a history that its owner does not know.
func TestSuspiciousTransfersAreMarked(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: "Bob", Address: bob.Address()})
	}))
	like := world.Resembling(r, bob.Address(), 4, 4)
	stranger := r.Stranger()
	signed := receipt(0, stranger)
	signed.Signed, signed.Kind = true, wallet.ActivityOther
	several := receipt(2, stranger)
	several.Movements = append(several.Movements, wallet.Movement{How: wallet.MovedByTransfer, In: true, With: bob.Address(), Token: wallet.SOL, Units: 1})
	unexplained := receipt(sol, stranger)
	unexplained.Net[0].Explained = false
	failed := wallet.Activity{Kind: wallet.ActivityOther, Failure: "InstructionError"}
	withRent := receipt(sol, stranger) // who opens an account for somebody pays its rent
	withRent.Movements = append(withRent.Movements, wallet.Movement{How: wallet.MovedAsRent, In: true, With: bob.Address(), Token: wallet.SOL, Units: 2_039_280})
	withToken := receipt(1, stranger)
	withToken.Net = append(withToken.Net, wallet.NetChange{Token: wallet.Token{Mint: wallet.Address{5}}, Units: 5})
	cases := []struct {
		does    wallet.Activity
		suspect wallet.Suspicion
		with    wallet.Address
	}{
		{receipt(wallet.DustLamports-1, like), wallet.SimilarAddress, like},
		{receipt(sol, like), "", like},
		{receipt(wallet.DustLamports-1, stranger), wallet.Dust, stranger},
		{receipt(wallet.DustLamports, stranger), "", stranger},
		{receipt(1, bob.Address()), "", bob.Address()},
		{receipt(0, stranger), wallet.ZeroValue, stranger},
		{receipt(0, bob.Address()), "", bob.Address()},
		{signed, "", wallet.Address{}},
		{several, wallet.Dust, wallet.Address{}},
		{unexplained, "", wallet.Address{}},
		{failed, "", wallet.Address{}},
		{withRent, "", stranger},
		{withToken, wallet.UnlistedToken, wallet.Address{}},
	}
	node := newScripted()
	r.History.Chain = node
	for i, c := range cases {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i+1) * time.Minute), Finalized: true})
		node.does[numbered(i)] = c.does
	}
	got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 25})
	if len(got) != len(cases) {
		t.Fatalf("%d entries", len(got))
	}
	for i, c := range cases {
		if got[i].Suspect != c.suspect || got[i].With != c.with {
			t.Errorf("case %d: %q with %s, want %q with %s", i, got[i].Suspect, got[i].With, c.suspect, c.with)
		}
	}
}

// TestNobodyBorrowsAContactsName: a token that strangers made can be moved out of the account of anybody, also of a contact.
func TestNobodyBorrowsAContactsName(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: "Bob", Address: bob.Address()})
	}))
	usdc, _ := r.Tokens.BySymbol("USDC")
	of := func(token wallet.Token, units uint64, signed ...bool) wallet.Activity {
		a := wallet.Activity{Kind: wallet.ActivityReceived, Slot: 7}
		if units > 0 {
			a.Net = []wallet.NetChange{{Token: token, Units: units, Explained: true}}
		}
		for _, s := range signed {
			a.Movements = append(a.Movements, wallet.Movement{How: wallet.MovedByTransfer, In: true, With: bob.Address(), Signed: s, Token: token, Units: units / uint64(len(signed))})
		}
		return a
	}
	scam := wallet.Token{Mint: wallet.Address{99}, Decimals: 6, Program: wallet.TokenProgram}
	sent := of(usdc, 1_000_000, false)
	sent.Kind, sent.Signed, sent.Net[0].Lost, sent.Movements[0].In = wallet.ActivitySent, true, true, false
	cases := []struct {
		does    wallet.Activity
		name    string
		suspect wallet.Suspicion
	}{
		{of(scam, 1_000_000, false), "", wallet.UnlistedToken},
		{of(scam, 1_000_000, true), "Bob", ""},
		{of(scam, 1_000_000, true, false), "", wallet.UnlistedToken},
		{of(scam, 1_000_000, false, true), "", wallet.UnlistedToken}, // a signature for one transfer is none for the other
		{of(usdc, 1_000_000, false), "", ""},
		{of(usdc, 1, false), "", wallet.Dust},
		{of(usdc, 0, false), "", wallet.ZeroValue},
		{sent, "Bob", ""},
	}
	node := newScripted()
	r.History.Chain = node
	for i, c := range cases {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i+1) * time.Minute), Finalized: true})
		node.does[numbered(i)] = c.does
	}
	got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 25})
	if len(got) != len(cases) {
		t.Fatalf("%d entries", len(got))
	}
	for i, c := range cases {
		if got[i].Name != c.name || got[i].Suspect != c.suspect || got[i].With != bob.Address() {
			t.Errorf("case %d: from %q, %q, want %q, %q", i, got[i].Name, got[i].Suspect, c.name, c.suspect)
		}
	}
}

// TestOneTransactionWithTwoTokensIsToldWhole: a receipt tells of one token, the entry from the chain of the others.
func TestOneTransactionWithTwoTokensIsToldWhole(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	usdc, _ := r.Tokens.BySymbol("USDC")
	from := r.Stranger()
	node := newScripted()
	r.History.Chain = node
	both := receipt(sol, from)
	bare := usdc
	bare.Symbol = "SCAM" // symbols are not what a chain says
	both.Net = append(both.Net, wallet.NetChange{Token: bare, Units: 5_000_000, Explained: true})
	both.Movements = append(both.Movements, wallet.Movement{How: wallet.MovedByTransfer, In: true, With: from, Token: bare, Units: 5_000_000})
	node.does[numbered(1)] = both
	node.entries[alice.Address()] = []wallet.SignatureEntry{{Signature: numbered(1), At: r.Now(), Finalized: true}}
	fake := bare
	fake.Decimals++ // a token of the list has its decimals
	other := both
	other.Net = []wallet.NetChange{{Token: fake, Units: 5}}
	node.does[numbered(2)] = other
	node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(2), At: r.Now().Add(-time.Hour)})
	for range 2 {
		if got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 5}); len(got) != 2 || got[1].Activity.Net[0].Token != fake {
			t.Errorf("a token with other decimals: %+v", got)
		}
	}
	if node.reads[numbered(1)] != 1 || node.reads[numbered(2)] != 2 {
		t.Errorf("read %v times: only what is final stays as it is", node.reads)
	}
	node.entries[alice.Address()] = node.entries[alice.Address()][:1]
	record := func(token wallet.Token) {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.CreateTransaction(wallet.Transaction{ID: wallet.ReceivedID(numbered(1), alice.Address(), token.Mint), Kind: wallet.Receive, Status: wallet.Received, Closed: true,
				Owner: alice.User.ID, From: from, To: alice.Address(), Token: token, Amount: 1, Signature: numbered(1), CreatedAt: r.Now()})
		}))
	}
	got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 5})
	if len(got) != 1 || got[0].Main.Token != usdc || len(got[0].Activity.Net) != 2 {
		t.Errorf("before: %+v", got)
	}
	record(wallet.SOL)
	got, _, _ = r.follow(alice.Caller(), handlers.Filter{Limit: 5})
	if len(got) != 2 || got[0].Transaction == nil || got[1].Transaction != nil || len(got[1].Activity.Net) != 1 || got[1].Main.Token != usdc {
		t.Errorf("with a receipt of SOL: %+v", got)
	}
	record(usdc)
	if got, _, _ = r.follow(alice.Caller(), handlers.Filter{Limit: 5}); len(got) != 2 || got[0].Transaction == nil || got[1].Transaction == nil {
		t.Errorf("with both: %v", named(got))
	}
}

// TestAPageAsksNodesOnlySoOften: a page is short before it costs too much, and goes on.
func TestAPageAsksNodesOnlySoOften(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	for i := range 120 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i) * time.Minute)})
	}
	f := handlers.Filter{Limit: 100}
	for page := range 3 {
		node.calls = 0
		got, err := r.History.List(context.Background(), alice.Caller(), f)
		r.Must(err)
		if len(got.Entries) != 25 || node.calls != 26 {
			t.Errorf("page %d: %d entries after %d calls", page, len(got.Entries), node.calls)
		}
		f.Cursor = got.Next
	}
	node.calls = 0
	if got, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 5, Until: r.Now().Add(-100 * time.Minute)}); err != nil || len(got.Entries) != 5 || got.Entries[0].Signature != numbered(101) {
		t.Errorf("until: %v, %v", named(got.Entries), err)
	}
}

// TestHostileCursors: each is refused with a reason, or leads somewhere.
func TestHostileCursors(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	a, b := alice.Address().String(), bob.Address().String()
	sig := numbered(1).String()
	for cursor, code := range map[string]wallet.Code{
		"~": wallet.InvalidRequest, "~x!": wallet.InvalidRequest, "~" + a: wallet.InvalidRequest, "~" + a + "!x": wallet.InvalidRequest, "nobody": wallet.InvalidRequest,
		strings.Repeat("x", 65): wallet.InvalidRequest, "!" + strings.Repeat("~"+a+"!", 17): wallet.InvalidRequest, "!~" + a + "!": "", "!~" + b + "!" + sig: "",
	} {
		page, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 5, Cursor: cursor})
		if code != "" {
			r.Refused(code, err)
		} else if err != nil {
			t.Errorf("%q: %v", cursor, err)
		}
		for _, e := range page.Entries {
			if e.Wallet != alice.Address() {
				t.Errorf("%q shows %+v", cursor, e)
			}
		}
	}
}
