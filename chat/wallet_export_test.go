package chat_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

// settles gives Alice a wallet with this past, with no bot of the harness's own.
func (w *inTelegram) settles(c *pastChain) wallet.Address {
	w.Helper()
	p := w.people["alice"].Person
	w.Meet(p)
	w.Connect(p)
	w.History.Chain = c
	return p.Address()
}

// past is a chain with a number of payments, newest first.
func past(r *harness, n int) *pastChain {
	c := &pastChain{does: map[wallet.Signature]wallet.Activity{}}
	for i := range n {
		c.put(r.Now(), came(uint64(i+1)*sol, wallet.Address{9}))
	}
	return c
}

// file downloads a document as a person does: from the page of the sandbox's Telegram.
func (w *inTelegram) file(m telegram.Message) []byte {
	w.Helper()
	if m.Document == nil {
		w.Fatalf("no document: %q", m.Body())
	}
	res, err := http.Get(w.url + "/app/file/" + m.Document.FileID)
	w.Must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	w.Must(err)
	if want := "attachment; filename=" + m.Document.FileName; res.StatusCode != 200 || res.Header.Get("Content-Disposition") != want {
		w.Errorf("the page answers %d, %q", res.StatusCode, res.Header.Get("Content-Disposition"))
	}
	return body
}

// documents counts those in Alice's chat.
func (w *inTelegram) documents() (n int) {
	for _, m := range w.telegram.Messages(telegram.Alice) {
		if m.Document != nil {
			n++
		}
	}
	return n
}

// waiting are the replies to Alice in the outbox.
func (w *inTelegram) waiting() (jobs []store.Job) {
	w.Helper()
	w.View(func(tx store.Tx) (err error) {
		jobs, err = tx.JobsOfKey(store.Outbox, store.ChatKey(telegram.Alice), 100)
		return err
	})
	return jobs
}

// TestAnExportArrivesInTelegram: what the page downloads is what was exported, byte for byte. A button gives one file, and the
// next part has a button of its own.
func TestAnExportArrivesInTelegram(t *testing.T) {
	w := telegramOf(t, chat.New)
	w.settles(past(w.harness, 230))
	w.types("/wallet export")
	asked := w.waits(telegram.Alice, "Export your history")
	who := handlers.Caller{User: w.people["alice"].User.ID}
	cursor := ""
	for part, label := range []string{"CSV", "Earlier"} {
		want, err := w.History.Export(t.Context(), who, handlers.ExportRequest{Format: handlers.ExportCSV, Part: part + 1, Cursor: cursor})
		w.Must(err)
		if _, err := w.telegram.Tap(telegram.Alice, asked.ID, label); err != nil {
			t.Fatal(err)
		}
		got := w.waits(telegram.Alice, "newest first")
		if !bytes.Equal(w.file(got), want.File) || got.Document.FileName != want.Name || !strings.Contains(got.Body(), fmt.Sprint(want.Entries, " transactions")) {
			t.Fatalf("part %d: %q in %q, of %d bytes", part+1, got.Body(), got.Document.FileName, len(w.file(got)))
		}
		// A second tap brings no second file: what is typed behind it is answered, and no file came before that.
		if _, err := w.telegram.Tap(telegram.Alice, asked.ID, label); err != nil {
			t.Fatal(err)
		}
		w.types("/wallet export xlsx")
		w.waits(telegram.Alice, "the format")
		if n := w.documents(); n != part+1 {
			t.Errorf("%d documents after a second tap of %s", n, label)
		}
		asked, cursor = got, want.Next
	}
	if cursor != "" || len(asked.Buttons()) != 0 {
		t.Errorf("behind the last part: %q, %v", cursor, asked.Buttons())
	}
	w.types("/wallet export json")
	got := w.waits(telegram.Alice, "newest first")
	var file struct {
		Transactions []map[string]any `json:"transactions"`
	}
	w.Must(json.Unmarshal(w.file(got), &file))
	if len(file.Transactions) != 200 || got.Document.FileName != "purser-2026-11-21.json" {
		t.Errorf("%d in %q", len(file.Transactions), got.Document.FileName)
	}
	if n := w.documents(); n != 3 {
		t.Errorf("%d documents came", n)
	}
}

// TestAnExportOutlivesTheProcess: a file that Telegram did not take waits sealed in the outbox, and comes whole from the next
// process. Then nothing of it is left there.
func TestAnExportOutlivesTheProcess(t *testing.T) {
	w := telegramOf(t, chat.New)
	c := past(w.harness, 3)
	marked := came(7*sol, wallet.Address{9})
	marked.Memo = "a-note-to-be-found-in-the-file"
	c.put(w.Now(), marked)
	w.settles(c)
	tried := make(chan struct{}, 100)
	w.telegram.SetFault(func(method string) telegram.Fault {
		if method == "sendDocument" {
			tried <- struct{}{}
			return telegram.Fault{Kind: telegram.BadGateway}
		}
		return telegram.Fault{}
	})
	w.types("/wallet export csv")
	<-tried
	w.types("/wallet export csv") // the same file once more takes the first one's place
	w.types("/wallet export json")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for len(w.waiting()) != 2 && ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	jobs := w.waiting()
	if len(jobs) != 2 || !bytes.Contains(jobs[0].Body, []byte(`"kind":"document"`)) {
		t.Fatalf("%d replies wait", len(jobs))
	}
	raw, err := os.ReadFile(w.File)
	w.Must(err)
	if bytes.Contains(raw, []byte(marked.Memo)) || bytes.Contains(raw, []byte("created_at,type")) {
		t.Error("the file lies open in the database")
	}
	w.restart()
	w.telegram.SetFault(nil)
	got := w.waits(telegram.Alice, "newest first")
	want, err := w.History.Export(t.Context(), handlers.Caller{User: w.people["alice"].User.ID}, handlers.ExportRequest{Format: handlers.ExportCSV, Part: 1})
	w.Must(err)
	if !bytes.Equal(w.file(got), want.File) || !bytes.Contains(want.File, []byte(marked.Memo)) {
		t.Errorf("it came as %q", w.file(got))
	}
	w.waits(telegram.Alice, "newest first")
	for len(w.waiting()) > 0 && ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	if n := len(w.waiting()); n != 0 || w.documents() != 2 {
		t.Errorf("%d replies wait, %d documents came", n, w.documents())
	}
}

// TestAnErasedPersonsExportIsGone: a file that waits is erased with its person, and never sent.
func TestAnErasedPersonsExportIsGone(t *testing.T) {
	w := telegramOf(t, chat.New)
	w.settles(past(w.harness, 3))
	tried := make(chan struct{}, 100)
	w.telegram.SetFault(func(method string) telegram.Fault {
		if method == "sendDocument" {
			tried <- struct{}{}
			return telegram.Fault{Kind: telegram.BadGateway}
		}
		return telegram.Fault{}
	})
	w.types("/wallet export csv")
	<-tried
	w.Must(w.Update(func(tx store.Tx) error { return w.Users.Erase(tx, w.people["alice"].User.ID) }))
	w.telegram.SetFault(nil)
	w.restart()
	w.types("/help")
	w.waits(telegram.Alice, "/wallet")
	if n := w.documents(); n != 0 || len(w.waiting()) != 0 {
		t.Errorf("%d documents came after all, %d replies wait", n, len(w.waiting()))
	}
}

// TestAnExportSaysWhatIsMissing: in the message, in the file and in its name, with a button that tries again.
func TestAnExportSaysWhatIsMissing(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	r.During("getSignaturesForAddress", solana.Fault{Status: 503})
	said := r.asked(func() { r.says("alice", "/wallet export csv") })
	file := r.delivered[len(r.delivered)-1]
	if !strings.Contains(said, "The file isn't complete") || !strings.Contains(said, "1 transaction, newest") || !strings.Contains(said, "[Try again]") || strings.Contains(said, "Earlier") ||
		!strings.Contains(string(file.File), "complete=false") || file.FileName != "purser-2026-11-21-incomplete.csv" {
		t.Errorf("said %s\nfile %s\n%s", said, file.FileName, file.File)
	}
	r.Cluster.SetFault(nil)
	said = r.asked(func() { r.presses("alice", "Try again", "alice") })
	file = r.delivered[len(r.delivered)-1]
	if strings.Contains(said, "complete") || strings.Contains(string(file.File), "complete") || file.FileName != "purser-2026-11-21.csv" {
		t.Errorf("said %s\nfile %s\n%s", said, file.FileName, file.File)
	}
	// With nothing to put into a file there is none.
	r.rich("bob", 0)
	r.During("getSignaturesForAddress", solana.Fault{Status: 503})
	if said := r.asked(func() { r.says("bob", "/wallet export json") }); !strings.Contains(said, "nothing I can put into a file") || !strings.Contains(said, "[Try again]") {
		t.Errorf("said %s", said)
	}
}

// TestAnExportCostsLookups: every page is one, so a person who has used theirs gets a shorter part, and then none.
func TestAnExportCostsLookups(t *testing.T) {
	r := newHarness(t)
	o := r.options()
	o.Lookups = 3
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)
	r.rich("alice", sol)
	r.History.Chain = past(r, 230)
	said := r.asked(func() { r.says("alice", "/wallet export csv") })
	if !strings.Contains(said, "75 transactions") || !strings.Contains(said, "[Earlier]") {
		t.Errorf("said %s", said)
	}
	if said := r.asked(func() { r.presses("alice", "Earlier", "alice") }); !strings.Contains(said, "Too many requests") || strings.Contains(said, "document") {
		t.Errorf("said %s", said)
	}
	r.Pass(time.Minute)
	if said := r.asked(func() { r.presses("alice", "Earlier", "alice") }); !strings.Contains(said, "part 2") { // the refused tap did not use it
		t.Errorf("said %s", said)
	}
}

// TestEachWalletIsExported: with several there are buttons for each and for all, with too many for one file for each alone.
func TestEachWalletIsExported(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	first := r.people["alice"].Address()
	second := *r.people["alice"].Person
	var keys []ed25519.PrivateKey
	connect := func() {
		second.Key = r.NewKey()
		keys = append(keys, second.Key)
		r.Connect(&second)
	}
	connect()
	r.History.Chain = past(r, 2) // of each wallet
	said := r.asked(func() { r.says("alice", "/wallet export") })
	if !strings.Contains(said, "[CSV, all wallets] [JSON, all wallets]") || strings.Count(said, "[CSV …") != 2 {
		t.Errorf("said %s", said)
	}
	wallets := func() (found []string) {
		rows, err := csv.NewReader(bytes.NewReader(r.delivered[len(r.delivered)-1].File)).ReadAll()
		r.Must(err)
		for _, row := range rows[1:] {
			found = append(found, row[11])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	other := second.Address()
	r.presses("alice", "CSV …"+other.Tail(), "alice")
	if got := wallets(); len(got) != 1 || got[0] != other.String() {
		t.Errorf("of one wallet: %v", got)
	}
	if said := r.seen[len(r.seen)-1]; !strings.Contains(said, "Wallet <code>…"+other.Tail()) || !strings.Contains(said, "-"+other.Tail()+".csv") {
		t.Errorf("said %s", said)
	}
	r.presses("alice", "CSV, all wallets", "alice")
	if got := wallets(); len(got) != 2 {
		t.Errorf("of all: %v", got)
	}
	r.says("alice", "/wallet EXPORT Csv …"+first.Tail())
	if got := wallets(); len(got) != 1 || got[0] != first.String() {
		t.Errorf("by its last characters: %v", got)
	}
	before := len(r.delivered)
	r.says("alice", "/wallet export csv "+r.people["bob"].Address().String())
	if said := r.delivered[before]; said.Kind != chat.Message || !strings.Contains(said.Text, "wallet") {
		t.Errorf("of somebody else's wallet: %+v", said)
	}
	for len(keys) < handlers.MaxWalletsListed {
		connect()
	}
	for _, command := range []string{"/wallet export", "/wallet export csv"} {
		if said := r.asked(func() { r.says("alice", command) }); strings.Contains(said, "all wallets]") || strings.Count(said, "[CSV …") != handlers.MaxWalletsListed+1 {
			t.Errorf("%s of %d wallets: %s", command, len(keys)+1, said)
		}
	}
}

// TestAnExportIsForItsPersonAlone: no app runs it, no event tells of it, in a group it is not had, and its button is nobody
// else's.
func TestAnExportIsForItsPersonAlone(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", sol)
	r.rich("bob", sol)
	r.History.Chain = past(r, 2)
	for _, command := range []string{"/wallet export", "/wallet export csv", "/wallet Export json now"} {
		_, err := r.chat.Execute(t.Context(), chat.AppCommand{By: handlers.Caller{User: r.people["alice"].User.ID, KeyID: "k", KeyLineage: "k"}, Person: r.people["alice"].User, Text: command})
		if wallet.CodeOf(err) != wallet.PolicyViolation || !strings.Contains(fmt.Sprint(err), "app_command.history_export") {
			t.Errorf("%s: %v", command, err)
		}
	}
	r.says("alice", "/wallet export csv")
	told := r.announced(wallet.CommandExecuted)
	if len(told) != 1 || !strings.Contains(told[0], "[withheld]") || strings.Contains(told[0], "transactions") {
		t.Errorf("events tell %q", told)
	}
	r.says("alice", "/wallet export")
	before := len(r.delivered)
	r.presses("bob", "CSV", "alice")
	in := r.input("alice")
	in.Chat, in.Private, in.Text = -500, false, "/wallet export csv"
	r.does(in)
	for _, reply := range r.delivered[before:] {
		if reply.Kind == chat.Document {
			t.Error("somebody else has the file")
		}
	}
}
