package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/wallet"
)

// chronicle is a scripted node with the history of one address, newest first.
type chronicle struct {
	t *testing.T

	mu        sync.Mutex
	slot      uint64 // that it has come to; 0: beyond everything
	entries   []wallet.SignatureEntry
	first     uint64 // first available block: nothing below is shown
	lost      bool   // -32020 to every cursor
	silent    bool   // an empty page to every cursor, as before Agave 4.0
	careless  bool   // does not look at minContextSlot
	down      bool
	pages     []int  // entries of each page that it gave
	commit    string // of the last call
	largest   int    // entries asked for at once
	unordered bool
}

func (c *chronicle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var request struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		c.t.Error(err)
	}
	if c.down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if request.Method == "getFirstAvailableBlock" {
		io.WriteString(w, result(fmt.Sprint(c.first)))
		return
	}
	var asked struct {
		Before, Until, Commitment string
		Limit                     int
		MinContextSlot            uint64
	}
	if err := json.Unmarshal(request.Params[1], &asked); err != nil {
		c.t.Error(err)
	}
	if asked.Until != "" {
		c.t.Error("a node is told where to stop")
	}
	fail := func(code int) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"s3cr3t"}}`, code)
	}
	rest := c.entries
	if asked.Before != "" {
		before, err := wallet.ParseSignature(asked.Before)
		if err != nil {
			c.t.Error(err)
		}
		at := slices.IndexFunc(rest, func(e wallet.SignatureEntry) bool { return e.Signature == before })
		switch {
		case c.silent:
			rest = nil
		case c.lost || at < 0:
			fail(cursorUnknown)
			return
		default:
			rest = rest[at+1:]
		}
	}
	if c.slot > 0 && c.slot < asked.MinContextSlot && !c.careless {
		fail(minSlotNotReached)
		return
	}
	c.commit, c.largest = asked.Commitment, max(c.largest, asked.Limit)
	out := []string{}
	for _, e := range rest {
		if len(out) == asked.Limit {
			break
		}
		if e.Slot < c.first || c.slot > 0 && e.Slot > c.slot || asked.Commitment == finalized && !e.Finalized {
			continue
		}
		status := confirmed
		if e.Finalized {
			status = finalized
		}
		failure := "null"
		if e.Failed {
			failure = `{"InstructionError":[0,{"Custom":1}]}`
		}
		out = append(out, fmt.Sprintf(`{"signature":%q,"slot":%d,"err":%s,"memo":null,"blockTime":%d,"confirmationStatus":%q}`, e.Signature, e.Slot, failure, e.At.Unix(), status))
	}
	if c.unordered {
		slices.Reverse(out)
	}
	c.pages = append(c.pages, len(out))
	io.WriteString(w, result("["+strings.Join(out, ",")+"]"))
}

func sigOf(n int) wallet.Signature {
	return wallet.Signature{1, byte(n), byte(n >> 8), byte(n >> 16)}
}

// historyOf is a history of n finalized transactions, perSlot in each slot from 101 on, newest first.
func historyOf(n, perSlot int) []wallet.SignatureEntry {
	out := make([]wallet.SignatureEntry, n)
	for i := range out {
		out[n-1-i] = wallet.SignatureEntry{Signature: sigOf(i), Slot: uint64(101 + i/perSlot), At: time.Unix(int64(1_800_000_000+i), 0).UTC(), Finalized: true, Failed: i%7 == 3}
	}
	return out
}

// walkers is a client of such nodes.
func walkers(t *testing.T, nodes ...*chronicle) *Client {
	t.Helper()
	var urls []string
	for _, n := range nodes {
		n.t = t
		urls = append(urls, newServer(t, n)+secretPath)
	}
	c, err := New(Options{RPCURLs: urls, Cluster: wallet.Localnet, Timeout: 5 * time.Second, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestAWalkFindsWhatIsNewInOrder(t *testing.T) {
	node := &chronicle{entries: historyOf(120, 3)}
	c := walkers(t, node)
	query := wallet.HistoryQuery{Address: testKey(1).address(), Finalized: true}
	all, err := c.Walk(t.Context(), query)
	if err != nil || len(all.Entries) != 120 || all.More || all.Since != 0 {
		t.Fatalf("%d entries, %+v, %v", len(all.Entries), all.Next, err)
	}
	for i, e := range all.Entries {
		if want := node.entries[119-i]; e != want {
			t.Fatalf("entry %d is %+v, want %+v", i, e, want)
		}
	}
	if all.Next.Slot != 140 || !slices.Equal(all.Next.Seen, []wallet.Signature{sigOf(117), sigOf(118), sigOf(119)}) {
		t.Errorf("next %+v", all.Next)
	}
	// Nothing new takes one small page.
	node.pages = nil
	query.From = all.Next
	again, err := c.Walk(t.Context(), query)
	if err != nil || len(again.Entries) != 0 || again.More || !slices.Equal(node.pages, []int{firstPage}) {
		t.Errorf("%+v, %v, pages %v", again, err, node.pages)
	}
	if again.Next.Slot != 140 || len(again.Next.Seen) != 3 {
		t.Errorf("next %+v", again.Next)
	}
	// One in the same slot, in the middle of those that were seen, and one after it.
	late := wallet.SignatureEntry{Signature: sigOf(500), Slot: 140, Finalized: true, At: time.Unix(1, 0).UTC()}
	after := wallet.SignatureEntry{Signature: sigOf(501), Slot: 141, Finalized: true, At: time.Unix(1, 0).UTC()}
	node.entries = slices.Insert(node.entries, 1, late)
	node.entries = slices.Insert(node.entries, 0, after)
	again, err = c.Walk(t.Context(), query)
	if err != nil || !slices.Equal(again.Entries, []wallet.SignatureEntry{late, after}) || again.Next.Slot != 141 || !slices.Equal(again.Next.Seen, []wallet.Signature{sigOf(501)}) {
		t.Errorf("%+v, %v", again, err)
	}
	if node.commit != finalized {
		t.Errorf("asked for %s", node.commit)
	}
}

// TestTheWatermarkStaysBeforeWhatMayBeDropped: after a rollback, the same walk finds what came instead.
func TestTheWatermarkStaysBeforeWhatMayBeDropped(t *testing.T) {
	node := &chronicle{entries: historyOf(6, 1)}
	for i := range 3 { // the newest three
		node.entries[i].Finalized = false
	}
	c := walkers(t, node)
	query := wallet.HistoryQuery{Address: testKey(1).address()}
	got, err := c.Walk(t.Context(), query)
	if err != nil || len(got.Entries) != 6 || got.Next.Slot != 103 || got.Entries[5].Finalized || !got.Entries[2].Finalized {
		t.Fatalf("%+v, %v", got, err)
	}
	node.entries = append([]wallet.SignatureEntry{{Signature: sigOf(77), Slot: 104, Finalized: true}}, node.entries[3:]...)
	query.From = got.Next
	got, err = c.Walk(t.Context(), query)
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Signature != sigOf(77) || got.Next.Slot != 104 {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestNoNodeIsBelievedThatDoesNotShowWhatItKnows(t *testing.T) {
	full := historyOf(200, 2)
	from := wallet.Watermark{Slot: 150, Seen: []wallet.Signature{sigOf(98), sigOf(99)}}
	gone := full[:60] // 60 newest: from slot 171 on
	for name, test := range map[string]struct {
		nodes   []*chronicle
		query   wallet.HistoryQuery
		entries int
		since   uint64
		err     error
	}{
		"all is well":                  {[]*chronicle{{entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"the node is behind":           {[]*chronicle{{entries: full, slot: 160}}, wallet.HistoryQuery{From: from, MinSlot: 200}, 0, 0, wallet.ErrNodeBehind},
		"behind the watermark":         {[]*chronicle{{entries: full, slot: 149}}, wallet.HistoryQuery{From: from}, 0, 0, wallet.ErrNodeBehind},
		"behind, the second is not":    {[]*chronicle{{entries: full, slot: 160}, {entries: full}}, wallet.HistoryQuery{From: from, MinSlot: 200}, 100, 0, nil},
		"behind, and says nothing":     {[]*chronicle{{entries: full, slot: 150, careless: true}}, wallet.HistoryQuery{From: from, MinSlot: 200, Changed: true}, 0, 0, wallet.ErrNothingNew},
		"behind, silent, second":       {[]*chronicle{{entries: full, slot: 150, careless: true}, {entries: full}}, wallet.HistoryQuery{From: from, MinSlot: 200, Changed: true}, 100, 0, nil},
		"pruned":                       {[]*chronicle{{entries: full, first: 171}}, wallet.HistoryQuery{From: from}, 60, 171, wallet.ErrHistoryPruned},
		"pruned, the second is not":    {[]*chronicle{{entries: full, first: 171}, {entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"both pruned, one less":        {[]*chronicle{{entries: full, first: 171}, {entries: full, first: 161}}, wallet.HistoryQuery{From: from}, 80, 161, wallet.ErrHistoryPruned},
		"pruned, and the other down":   {[]*chronicle{{entries: full, first: 171}, {entries: full, down: true}}, wallet.HistoryQuery{From: from}, 60, 171, httpStatus(502)},
		"down does not hide pruned":    {[]*chronicle{{entries: full, down: true}, {entries: full, first: 171}}, wallet.HistoryQuery{From: from}, 60, 171, wallet.ErrHistoryPruned},
		"down, and all is pruned":      {[]*chronicle{{down: true}, {first: 190}}, wallet.HistoryQuery{From: from}, 0, 190, wallet.ErrHistoryPruned},
		"behind hides it no less":      {[]*chronicle{{entries: full, first: 171}, {entries: full, slot: 149}}, wallet.HistoryQuery{From: from}, 60, 171, wallet.ErrHistoryPruned},
		"the first leaves one out":     {[]*chronicle{{entries: full[1:]}, {entries: full}}, wallet.HistoryQuery{From: from, Skip: 1}, 100, 0, nil},
		"all leave one out":            {[]*chronicle{{entries: full}, {entries: full}}, wallet.HistoryQuery{From: from, Skip: 2}, 0, 0, wallet.ErrHistoryGap},
		"one leaves out, one is down":  {[]*chronicle{{entries: full}, {down: true}}, wallet.HistoryQuery{From: from, Skip: 1}, 0, 0, wallet.ErrHistoryGap},
		"one leaves out, one pruned":   {[]*chronicle{{entries: full}, {entries: full, first: 171}}, wallet.HistoryQuery{From: from, Skip: 1}, 60, 171, wallet.ErrHistoryGap},
		"it forgot":                    {[]*chronicle{{entries: gone}}, wallet.HistoryQuery{From: from}, 60, 0, wallet.ErrHistoryUnknown},
		"it forgot, the second knows":  {[]*chronicle{{entries: gone}, {entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"it knows nothing":             {[]*chronicle{{}}, wallet.HistoryQuery{From: from}, 0, 0, wallet.ErrHistoryUnknown},
		"nothing, and pruned":          {[]*chronicle{{first: 190}}, wallet.HistoryQuery{From: from}, 0, 190, wallet.ErrHistoryPruned},
		"cursors are unknown":          {[]*chronicle{{entries: full, lost: true}}, wallet.HistoryQuery{From: from}, 50, 176, wallet.ErrHistoryUnknown},
		"unknown here, known there":    {[]*chronicle{{entries: full, lost: true}, {entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"cursors give nothing":         {[]*chronicle{{entries: full, silent: true}}, wallet.HistoryQuery{From: from}, 50, 0, wallet.ErrHistoryUnknown},
		"nothing here, known there":    {[]*chronicle{{entries: full, silent: true}, {entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"down":                         {[]*chronicle{{down: true}}, wallet.HistoryQuery{From: from}, 0, 0, httpStatus(502)},
		"down, the second is not":      {[]*chronicle{{down: true}, {entries: full}}, wallet.HistoryQuery{From: from}, 100, 0, nil},
		"in no order":                  {[]*chronicle{{entries: full, unordered: true}}, wallet.HistoryQuery{From: from}, 0, 0, errGarbage},
		"a new wallet":                 {[]*chronicle{{}}, wallet.HistoryQuery{From: wallet.Watermark{Slot: 150}}, 0, 0, nil},
		"a new wallet, pruned":         {[]*chronicle{{first: 160}}, wallet.HistoryQuery{From: wallet.Watermark{Slot: 150}}, 0, 160, wallet.ErrHistoryPruned},
		"a wallet that lived before":   {[]*chronicle{{entries: full, first: 120}}, wallet.HistoryQuery{From: wallet.Watermark{Slot: 151}}, 100, 0, nil},
		"everything, and it is pruned": {[]*chronicle{{entries: full, first: 171}}, wallet.HistoryQuery{}, 60, 171, nil},
	} {
		t.Run(name, func(t *testing.T) {
			test.query.Address = testKey(1).address()
			got, err := walkers(t, test.nodes...).Walk(t.Context(), test.query)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if err != nil {
				nobodyKnows(t, err)
			}
			if err == nil && got.Node == 0 && test.query.Skip > 0 {
				t.Error("it is the first node's")
			}
			if len(got.Entries) != test.entries || got.Since != test.since {
				t.Errorf("%d entries since %d, want %d since %d", len(got.Entries), got.Since, test.entries, test.since)
			}
			for i, e := range got.Entries {
				if e != full[test.entries-1-i] {
					t.Fatalf("entry %d is %+v", i, e)
				}
			}
			if test.entries == 0 && (got.Next.Slot != test.query.From.Slot || len(got.Next.Seen) != len(test.query.From.Seen)) {
				t.Errorf("nothing was found, and next is %+v", got.Next)
			}
			if test.entries > 0 && got.Next.Slot != full[0].Slot {
				t.Errorf("next is %+v", got.Next)
			}
		})
	}
}

// TestALongHistoryComesInParts with small bounds: 2,000 entries are kept, and a walk takes six calls at most.
func TestALongHistoryComesInParts(t *testing.T) {
	node := &chronicle{entries: historyOf(12_345, 5)}
	c := walkers(t, node)
	query := wallet.HistoryQuery{Address: testKey(1).address(), Finalized: true}
	next, walks, replaced := 0, 0, false
	for ; ; walks++ {
		w := newWalker(c.primary(), query)
		w.keeps, w.maxPages = 2000, 6
		got, err := w.walk(t.Context())
		if err != nil || walks > 100 {
			t.Fatalf("walk %d: %v", walks, err)
		}
		if len(got.Entries) > 2000 {
			t.Fatalf("%d entries at once", len(got.Entries))
		}
		for _, e := range got.Entries {
			if e.Signature != sigOf(next) {
				t.Fatalf("walk %d: %s where %s should be", walks, e.Signature, sigOf(next))
			}
			next++
		}
		if !got.More {
			break
		}
		query.From, query.Cursor = got.Next, got.Cursor
		switch {
		case walks == 4:
			query.Cursor = nil // a restart forgets it
		case walks == 8 && len(query.Cursor) > 0:
			query.Cursor[len(query.Cursor)-1] = sigOf(900_000) // which the node has forgotten
			replaced = true
		}
	}
	if next != len(node.entries) || node.largest != mentionsAPage {
		t.Errorf("%d entries of %d, %d in a page", next, len(node.entries), node.largest)
	}
	if !replaced || len(node.pages) > 100 {
		t.Errorf("it took %d pages", len(node.pages))
	}
}

// TestACursorAtTheEndIsLeft: everything after it was delivered, or the node has forgotten it without saying so.
func TestACursorAtTheEndIsLeft(t *testing.T) {
	c := walkers(t, &chronicle{entries: historyOf(60, 1)})
	got, err := c.Walk(t.Context(), wallet.HistoryQuery{Address: testKey(1).address(), Cursor: wallet.HistoryCursor{sigOf(0)}})
	if err != nil || len(got.Entries) != 60 || got.More {
		t.Errorf("%d entries, %v, %v", len(got.Entries), got.More, err)
	}
}

func TestAPageWithTheSameTransactionTwiceIsNotBelieved(t *testing.T) {
	entries := historyOf(5, 5)
	entries[2] = entries[1]
	if _, err := walkers(t, &chronicle{entries: entries}).Walk(t.Context(), wallet.HistoryQuery{Address: testKey(1).address()}); !errors.Is(err, errGarbage) {
		t.Errorf("%v", err)
	}
}

func TestACursorDoesNotGrowWithoutEnd(t *testing.T) {
	w := &walker{}
	for i := range 10 * maxCursor {
		w.remember(sigOf(i))
	}
	if len(w.cursor) > maxCursor || w.cursor[len(w.cursor)-1] != sigOf(10*maxCursor-1) {
		t.Errorf("%d places, the deepest %s", len(w.cursor), w.cursor[len(w.cursor)-1])
	}
}

func TestHistoryPages(t *testing.T) {
	full := historyOf(30, 1)
	a := testKey(1).address()
	good := &chronicle{entries: full}
	for name, test := range map[string]struct {
		nodes  []*chronicle
		before wallet.Signature
		want   []wallet.SignatureEntry
		err    error
	}{
		"newest":                  {[]*chronicle{good}, wallet.Signature{}, full[:10], nil},
		"next":                    {[]*chronicle{good}, full[9].Signature, full[10:20], nil},
		"the end":                 {[]*chronicle{good}, full[29].Signature, nil, nil},
		"the first does not know": {[]*chronicle{{lost: true}, good}, full[9].Signature, full[10:20], nil},
		"the first says nothing":  {[]*chronicle{{silent: true}, good}, full[9].Signature, full[10:20], nil},
		"nobody knows":            {[]*chronicle{{entries: full}, {entries: full[:3]}}, sigOf(900), nil, wallet.ErrHistoryUnknown},
		"down":                    {[]*chronicle{{down: true}, good}, wallet.Signature{}, full[:10], nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := walkers(t, test.nodes...).History(t.Context(), a, test.before, 10)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) || !slices.Equal(got, test.want) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
