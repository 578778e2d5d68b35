package handlers_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// exportedFile is an export in JSON, as a program reads it.
type exportedFile struct {
	Transactions []map[string]any `json:"transactions"`
	NextCursor   *string          `json:"next_cursor"`
	Complete     *bool            `json:"complete"`
}

// inJSON exports a part in JSON.
func (r *harness) inJSON(who handlers.Caller, req handlers.ExportRequest) (handlers.Export, exportedFile) {
	r.Helper()
	req.Format = handlers.ExportJSON
	out, err := r.History.Export(context.Background(), who, req)
	r.Must(err)
	var file exportedFile
	if out.File != nil {
		r.Must(json.Unmarshal(out.File, &file))
	}
	return out, file
}

// inCSV exports a part in CSV, and returns its rows without the line of names, by the names.
func (r *harness) inCSV(who handlers.Caller, req handlers.ExportRequest) (handlers.Export, []map[string]string) {
	r.Helper()
	req.Format = handlers.ExportCSV
	out, err := r.History.Export(context.Background(), who, req)
	r.Must(err)
	all, err := csv.NewReader(strings.NewReader(string(out.File))).ReadAll() // refuses rows of other lengths
	r.Must(err)
	var rows []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return out, rows
}

// exportOf is a wallet with a payment of each kind: sent with a name and a label, requested, proposed only, received,
// swapped, unreadable, failed.
func exportOf(t *testing.T) (r *harness, alice, bob *world.Person, node *scripted) {
	r = newHarness(t)
	alice, bob = r.rich(1001, 10*sol), r.rich(1002, sol)
	usdc, _ := r.Tokens.BySymbol("USDC")
	node = newScripted()
	r.History.Chain = node
	hour := func(n int) time.Time { return r.Now().Add(-time.Duration(n) * time.Hour) }
	r.Must(r.Update(func(tx store.Tx) error {
		for _, w := range []wallet.Transaction{
			{ID: "tx_sent", Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: alice.User.ID, From: alice.Address(), To: bob.Address(), Token: usdc,
				Amount: 1_500_000, Fee: 5000, Signature: numbered(1), Memo: "rent", Label: "Flat 4", CreatedAt: hour(1)},
			{ID: "tx_asked", Kind: wallet.Request, Status: wallet.Received, Closed: true, Owner: alice.User.ID, To: alice.Address(), Token: wallet.SOL, Amount: 7, CreatedAt: hour(2)},
			{ID: "tx_rejected", Kind: wallet.Send, Status: wallet.Rejected, Closed: true, Owner: alice.User.ID, From: alice.Address(), To: bob.Address(), Token: wallet.SOL, Amount: 2 * sol, CreatedAt: hour(3)},
		} {
			if err := tx.CreateTransaction(w); err != nil {
				return err
			}
		}
		return tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: "Bob", Address: bob.Address()})
	}))
	spent := wallet.NetChange{Token: wallet.SOL, Units: sol, Lost: true, Explained: true}
	put := func(n int, a *wallet.Activity) {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(n), At: hour(n), Finalized: true})
		if a == nil {
			node.broken[numbered(n)] = &wallet.UnreadableTransaction{Signature: numbered(n), Why: "nonsense"}
		} else {
			node.does[numbered(n)] = *a
		}
	}
	came := receipt(3*sol, bob.Address())
	came.Memo, came.Fee, came.FeePayer = "thanks", 7000, bob.Address() // Bob paid the fee
	put(4, &came)
	put(5, &wallet.Activity{Kind: wallet.ActivitySwapped, Signed: true, Fee: 9000, FeePayer: alice.Address(), Net: []wallet.NetChange{spent, {Token: usdc, Units: 150_000_000}}})
	put(6, nil)
	put(7, &wallet.Activity{Kind: wallet.ActivityOther, Failure: "InstructionError", Signed: true, Fee: 5000, FeePayer: alice.Address()})
	return r, alice, bob, node
}

// TestAnExportHasEveryEntry: in CSV and in JSON the same, newest first, each with what it moved and who was on the other
// side.
func TestAnExportHasEveryEntry(t *testing.T) {
	r, alice, bob, _ := exportOf(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	at := func(n int) string { return wallet.Timestamp(r.Now().Add(-time.Duration(n) * time.Hour)) }
	sig := func(n int) string { return numbered(n).String() }
	us := alice.Address().String()
	// Names that an entry does not have are "" in it.
	want := []map[string]string{
		{"created_at": at(1), "type": "send", "direction": "out", "status": "confirmed", "amount": "1.5", "token": "USDC", "mint": usdc.Mint.String(), "counterparty": bob.Address().String(),
			"counterparty_name": "Bob", "fee": "0.000005", "signature": sig(1), "memo": "rent", "label": "Flat 4", "transaction_id": "tx_sent", "source": "purser"},
		{"created_at": at(2), "type": "receive", "status": "received", "amount": "0.000000007", "token": "SOL", "fee": "0", "transaction_id": "tx_asked", "source": "purser"},
		{"created_at": at(3), "type": "send", "direction": "out", "status": "rejected", "amount": "2", "token": "SOL", "counterparty": bob.Address().String(), "counterparty_name": "Bob", "fee": "0",
			"transaction_id": "tx_rejected", "source": "purser"},
		{"created_at": at(4), "type": "receive", "direction": "in", "status": "received", "amount": "3", "token": "SOL", "counterparty": bob.Address().String(), "counterparty_name": "Bob", "fee": "0",
			"signature": sig(4), "memo": "thanks", "source": "chain", "changes": "in 3 SOL"},
		{"created_at": at(5), "type": "swap", "status": "confirmed", "fee": "0.000009", "signature": sig(5), "source": "chain", "changes": "out 1 SOL, in 150 USDC"},
		{"created_at": at(6), "type": "other", "status": "confirmed", "signature": sig(6), "source": "chain"},
		{"created_at": at(7), "type": "other", "status": "failed", "fee": "0.000005", "signature": sig(7), "source": "chain"},
	}
	for i := range want {
		want[i]["wallet_address"] = us
	}
	part, rows := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1})
	if part.Entries != len(want) || part.Next != "" || !part.Complete || part.Name != "purser-2026-11-21.csv" || !part.To.Equal(r.Now().Add(-time.Hour)) || !part.From.Equal(r.Now().Add(-7*time.Hour)) {
		t.Errorf("the part: %+v", part)
	}
	_, file := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1})
	if len(rows) != len(want) || len(file.Transactions) != len(want) || file.Complete == nil || !*file.Complete || file.NextCursor == nil || *file.NextCursor != "" {
		t.Fatalf("%d rows, %d in JSON, of %d; %+v", len(rows), len(file.Transactions), len(want), file)
	}
	for i := range want {
		for name, cell := range rows[i] {
			if cell != want[i][name] {
				t.Errorf("entry %d: %s is %q, want %q", i, name, cell, want[i][name])
			}
			value := file.Transactions[i][name]
			if name == "changes" {
				var changes []string
				for _, change := range value.([]any) {
					one := change.(map[string]any)
					changes = append(changes, fmt.Sprint(one["direction"], " ", one["amount"], " ", one["token"]))
				}
				value = strings.Join(changes, ", ")
			}
			if value != want[i][name] {
				t.Errorf("entry %d in JSON: %s is %q, want %q", i, name, value, want[i][name])
			}
		}
		if len(rows[i]) != 18 || len(file.Transactions[i]) != 18 {
			t.Errorf("entry %d has %d cells, %d fields", i, len(rows[i]), len(file.Transactions[i]))
		}
	}
	if file.Transactions[4]["changes"].([]any)[1].(map[string]any)["mint"] != usdc.Mint.String() || file.Transactions[4]["changes"].([]any)[0].(map[string]any)["mint"] != "" {
		t.Errorf("mints of a swap: %v", file.Transactions[4]["changes"])
	}
}

// TestAnExportOfOneWallet has that wallet's transactions alone, and its name says so. Others may not have it.
func TestAnExportOfOneWallet(t *testing.T) {
	r, alice, bob, node := exportOf(t)
	second := &world.Person{TelegramID: 1001, FirstName: "Alice", User: alice.User, Key: r.NewKey()}
	r.Connect(second)
	node.entries[second.Address()] = []wallet.SignatureEntry{{Signature: numbered(50), At: r.Now(), Finalized: true}}
	part, rows := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 3, Address: second.Address()})
	if len(rows) != 1 || rows[0]["wallet_address"] != second.Address().String() || part.Name != "purser-2026-11-21-"+second.Address().Tail()+"-part3.csv" {
		t.Errorf("%q has %v", part.Name, rows)
	}
	if part, _ := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1}); part.Entries != 8 {
		t.Errorf("of all wallets: %d entries", part.Entries)
	}
	if _, err := r.History.Export(context.Background(), bob.Caller(), handlers.ExportRequest{Format: handlers.ExportCSV, Address: second.Address()}); wallet.CodeOf(err) != wallet.WalletNotFound {
		t.Errorf("Bob exports Alice's wallet: %v", err)
	}
	if _, err := r.History.Export(context.Background(), alice.Caller(), handlers.ExportRequest{Format: "xlsx"}); err == nil {
		t.Error("a form that nobody knows")
	}
}

// TestPartsOfAnExportFollowFromEachOther: each has about 200 entries, and together they have all, once.
func TestPartsOfAnExportFollowFromEachOther(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	for i := range 501 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i) * time.Minute), Finalized: true})
	}
	var parts []int
	var all []string
	for req := (handlers.ExportRequest{Part: 1}); ; req.Part++ {
		part, rows := r.inCSV(alice.Caller(), req)
		parts = append(parts, part.Entries)
		for _, row := range rows {
			all = append(all, row["signature"])
		}
		if !part.Complete {
			t.Errorf("part %d is not complete", req.Part)
		}
		if req.Cursor = part.Next; part.Next == "" {
			break
		}
	}
	if fmt.Sprint(parts) != "[200 200 101]" {
		t.Errorf("the parts have %v entries", parts)
	}
	for i, sig := range all {
		if sig != numbered(i).String() {
			t.Fatalf("entry %d is %s", i, sig)
		}
	}
	// Pages cost: a part ends where the caller may read no more of them.
	left := 2
	part, _ := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1, May: func() bool { left--; return left >= 0 }})
	if part.Entries != 75 || part.Next == "" || !part.Complete {
		t.Errorf("after three pages: %+v", part)
	}
}

// TestLongTextsMakeAPartShort: a file stays far below a megabyte, whatever strangers write.
func TestLongTextsMakeAPartShort(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	for i := range 501 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now(), Finalized: true})
		a := receipt(sol, wallet.Address{99})
		a.Memo = strings.Repeat("x", 4000)
		node.does[numbered(i)] = a
	}
	part, _ := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1})
	if part.Entries != 75 || len(part.File) > 400<<10 || part.Next == "" {
		t.Errorf("of long memos: %d entries in %d bytes", part.Entries, len(part.File))
	}
}

// TestAnExportWithoutANode has what purser knows, and says in the file that this is not all.
func TestAnExportWithoutANode(t *testing.T) {
	r, alice, bob, node := exportOf(t)
	node.down[alice.Address()] = true
	part, rows := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1})
	if part.Complete || part.Entries != 3 || part.Name != "purser-2026-11-21-incomplete.csv" || len(rows) != 4 {
		t.Fatalf("%+v with %d rows", part, len(rows))
	}
	for name, cell := range rows[3] {
		if want := map[string]string{"created_at": "complete=false"}[name]; cell != want {
			t.Errorf("the last row: %s is %q", name, cell)
		}
	}
	if rows[0]["transaction_id"] != "tx_sent" {
		t.Errorf("the first row: %v", rows[0])
	}
	if _, file := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1}); file.Complete == nil || *file.Complete || len(file.Transactions) != 3 {
		t.Errorf("in JSON: %+v", file)
	}
	// Nothing at all is no file.
	node.down[bob.Address()] = true
	if part, _ := r.inJSON(bob.Caller(), handlers.ExportRequest{Part: 1}); part.File != nil || part.Complete || part.Entries != 0 {
		t.Errorf("of nothing: %+v", part)
	}
	node.down[alice.Address()] = false
	if part, _ := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1}); !part.Complete || part.Entries != 7 {
		t.Errorf("when the node answers again: %+v", part)
	}
}

// TestAnExportStopsWhereANodeFails: one wallet that cannot be read ends the part after its page, which says so. The next part
// leads on from there.
func TestAnExportStopsWhereANodeFails(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	second := &world.Person{TelegramID: 1001, FirstName: "Alice", User: alice.User, Key: r.NewKey()}
	r.Connect(second)
	node := newScripted()
	r.History.Chain = node
	for i := range 60 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i) * time.Minute), Finalized: true})
	}
	node.entries[second.Address()] = []wallet.SignatureEntry{{Signature: numbered(100), At: r.Now().Add(-time.Hour), Finalized: true}}
	node.down[second.Address()] = true
	part, rows := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1})
	if part.Complete || part.Entries != 25 || part.Next == "" || rows[25]["created_at"] != "complete=false" {
		t.Errorf("the first part: %d entries, complete %v, next %q", part.Entries, part.Complete, part.Next)
	}
	node.down[second.Address()] = false
	part, _ = r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 2, Cursor: part.Next})
	if !part.Complete || part.Entries != 36 || part.Next != "" {
		t.Errorf("the second part: %d entries, complete %v, next %q", part.Entries, part.Complete, part.Next)
	}
}

// TestAnExportEndsInTime: nodes that are slow make the part short, and no page is begun that could take too long.
func TestAnExportEndsInTime(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	synctest.Test(t, func(t *testing.T) {
		r.Restart() // its channels are the bubble's
		node := newScripted()
		r.History.Chain = node
		for i := range 501 {
			node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now(), Finalized: true})
		}
		node.asked = func(ctx context.Context) {
			select {
			case <-time.After(700 * time.Millisecond): // 8 in turn for a page of 25: 5.6 s
			case <-ctx.Done():
			}
		}
		for req := (handlers.ExportRequest{Part: 1, Format: handlers.ExportJSON}); req.Part < 4; req.Part++ {
			began := time.Now()
			part, err := r.History.Export(context.Background(), alice.Caller(), req)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 20*time.Second || part.Next == "" || part.Entries != 75 || !part.Complete {
				t.Errorf("part %d took %v, and has %d entries: %+v", req.Part, took, part.Entries, part.Complete)
			}
			req.Cursor = part.Next
		}
	})
}

// TestTextOfOthersIsHarmlessInAFile: no cell begins like a formula for any spreadsheet, nothing hides, each row is one
// record, and amounts are what they are. In JSON the text is whole.
func TestTextOfOthersIsHarmlessInAFile(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	hostile := map[string]string{
		"=cmd|' /C calc'!A0":  "'=cmd|' /C calc'!A0",
		"+1":                  "'+1",
		"-2+3":                "'-2+3",
		"@SUM(1)":             "'@SUM(1)",
		"\t=1":                " '=1",
		"\r=1":                "\n'=1",
		" =1":                 " '=1",
		"\"=1":                "\"'=1",
		"＝1":                  "'＝1",
		"\u202e=1":            `\u202e'=1`,
		"a;=1":                "a;'=1",
		"a\r\n-1":             "a\n'-1",
		"say \"hi\", then go": "say \"hi\", then go",
		"a-b=c":               "a-b=c",
		"pay\u2066back\u200b": `pay\u2066back\u200b`,
		"\U000E0041tag":       `\ue0041tag`,
		"\x00\x1b[2J":         `\u0000\u001b[2J`,
		"Zoë – 雪":             "Zoë – 雪",
		"":                    "",
	}
	texts := slices.Collect(func(yield func(string) bool) {
		for text := range hostile {
			if !yield(text) {
				return
			}
		}
	})
	r.Must(r.Update(func(tx store.Tx) error {
		for i, text := range texts {
			if err := tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_%02d", i)), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true,
				Owner: alice.User.ID, From: alice.Address(), To: wallet.Address{byte(i), 1}, Token: wallet.SOL, Amount: 1_230_000_000, Memo: text, Label: text, CreatedAt: r.Now()}); err != nil {
				return err
			}
			if strings.TrimSpace(text) != text || text == "" { // names may not be
				continue
			}
			if err := tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: text, Address: wallet.Address{byte(i), 1}}); err != nil {
				return err
			}
		}
		return nil
	}))
	part, rows := r.inCSV(alice.Caller(), handlers.ExportRequest{Part: 1})
	if part.Entries != len(texts) || len(rows) != len(texts) {
		t.Fatalf("%d entries, %d rows", part.Entries, len(rows))
	}
	formula := regexp.MustCompile(`^[\s"]*[=+\-@＝＋－＠]`)
	for _, row := range rows {
		var i int
		if _, err := fmt.Sscanf(row["transaction_id"], "tx_%02d", &i); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"memo", "label", "counterparty_name"} {
			if row[name] != hostile[texts[i]] && (name != "counterparty_name" || row[name] != "" || strings.TrimSpace(texts[i]) == texts[i]) {
				t.Errorf("%s %q is written as %q, want %q", name, texts[i], row[name], hostile[texts[i]])
			}
		}
		for name, cell := range row {
			for _, inner := range regexp.MustCompile("[;\n\t]").Split(cell, -1) {
				if formula.MatchString(inner) {
					t.Errorf("%s runs: %q", name, cell)
				}
			}
		}
		if row["amount"] != "1.23" {
			t.Errorf("the amount is %q", row["amount"])
		}
	}
	if strings.Contains(strings.ReplaceAll(string(part.File), "\r\n", ""), "\n") || !strings.HasSuffix(string(part.File), "\r\n") {
		t.Error("lines end otherwise than in RFC 4180")
	}
	part, file := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1})
	if strings.ContainsFunc(string(part.File), wallet.Unseen) {
		t.Error("the JSON has characters that do not show")
	}
	for _, entry := range file.Transactions {
		var i int
		if _, err := fmt.Sscanf(entry["transaction_id"].(string), "tx_%02d", &i); err != nil {
			t.Fatal(err)
		}
		if entry["memo"] != texts[i] || entry["counterparty_name"] != texts[i] && strings.TrimSpace(texts[i]) == texts[i] {
			t.Errorf("%q is %q, of %q in JSON", texts[i], entry["memo"], entry["counterparty_name"])
		}
	}
}

// TestAnExportHasTheNamesOfTheAPI: what reads the list reads the file.
func TestAnExportHasTheNamesOfTheAPI(t *testing.T) {
	raw, err := os.ReadFile("../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		AllOf      []json.RawMessage          `json:"allOf"`
	}
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"direction": true} // of the change alone in the API
	var add func(s schema)
	add = func(s schema) {
		for name := range s.Properties {
			names[name] = true
		}
		for _, part := range s.AllOf {
			var of struct {
				schema
				Ref string `json:"$ref"`
			}
			if err := json.Unmarshal(part, &of); err != nil {
				t.Fatal(err)
			}
			add(of.schema)
			add(document.Components.Schemas[strings.TrimPrefix(of.Ref, "#/components/schemas/")])
		}
	}
	add(document.Components.Schemas["HistoryEntry"])
	r, alice, _, _ := exportOf(t)
	_, file := r.inJSON(alice.Caller(), handlers.ExportRequest{Part: 1})
	for name := range file.Transactions[0] {
		if !names[name] {
			t.Errorf("the API has no %s", name)
		}
	}
	if len(names) < 20 {
		t.Errorf("the API has only %d names", len(names))
	}
}
