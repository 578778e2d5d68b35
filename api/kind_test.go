package api

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"purser/chain"
	"purser/chat"
	"purser/e2e/world"
	"purser/handlers"
	"purser/product"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// note is a kind of transaction that exists in this test alone: a public note that its owner signs on chain. Everything
// that purser knows of it stands in this file.
const note wallet.Kind = "note"

// signedMemo is its action: a memo that names its signer.
const signedMemo = "signed_memo"

// noteTerms are a note's own: its text.
type noteTerms struct {
	Text string `json:"text"`
}

// textOf returns the text of a note.
func textOf(t wallet.Transaction) string {
	terms, _ := wallet.ReadTerms[noteTerms](t.Terms, "note/1")
	return terms.Text
}

// noted is the public event of a note, of its own.
const noted wallet.EventName = "note.written"

var memoProgram = wallet.MustAddress("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")

func noteKind() product.Kind {
	return product.Kind{Rules: noteRules(), Actions: []chain.ActionCodec{signedMemoCodec()}, Card: noteCard(),
		Operation: func(p *product.Parts) handlers.Operation { return notes{p}.operation() }}
}

func noteRules() wallet.Rules {
	return wallet.Rules{Kind: note, Life: wallet.Outgoing,
		Actions: func(t wallet.Transaction) []wallet.Action {
			return []wallet.Action{{Type: signedMemo, From: t.From, Text: textOf(t)}}
		},
		Spends: func(t wallet.Transaction) wallet.Spending { return wallet.Spending{Lamports: t.Fee} },
		Writes: func(t wallet.Transaction) []wallet.Address { return []wallet.Address{t.From} },
		CheckTerms: func(t wallet.Transaction) error {
			terms, err := wallet.ReadTerms[noteTerms](t.Terms, "note/1")
			if err == nil && terms.Text == "" {
				return wallet.ErrTerms
			}
			return err
		},
		Announces: func(t wallet.Transaction, by wallet.Trigger) (wallet.Announcement, bool) {
			return wallet.Announcement{Name: noted, Data: map[string]string{"text": textOf(t)}}, by == wallet.Finalized
		}}
}

// signedMemoCodec is the one row of the decoder's table that a note needs.
func signedMemoCodec() chain.ActionCodec {
	return chain.ActionCodec{Type: signedMemo, Programs: []wallet.Address{memoProgram}, Principal: true,
		Claims: func(c chain.Call) bool { return c.Len() == 1 },
		Decode: func(c chain.Call, _ []wallet.Action) (wallet.Action, error) {
			if !c.IsPayer(0) {
				return wallet.Action{}, &chain.NotAllowed{Code: chain.NotTheOwner, Detail: "somebody else's note"}
			}
			return wallet.Action{Type: signedMemo, From: c.Payer(), Text: string(c.Data())}, nil
		},
		Encode: func(a wallet.Action) chain.Instruction {
			return chain.Instruction{Program: memoProgram, Data: []byte(a.Text),
				Accounts: []chain.Account{{Address: a.From, Signer: true, Writable: true}}}
		},
		Matches: func(c chain.Call, intended wallet.Action) bool {
			return c.At(0) == intended.From && string(c.Data()) == intended.Text
		}}
}

func noteCard() chat.Card {
	texts, lines, file := map[chat.Stage]string{}, map[chat.Stage]string{}, bytes.NewBufferString("[note]\n")
	for _, stage := range []chat.Stage{chat.StageReview, chat.StageSign, chat.StageSignProgram, chat.StageSigned, chat.StagePending, chat.StageHeld,
		chat.StageConfirmed, chat.StageFailed, chat.StageRejected, chat.StageNotConfirmed, chat.StageNotSigned, chat.StageLandedLate} {
		texts[stage], lines[stage] = "note."+string(stage), "note."+string(stage)
		fmt.Fprintf(file, "%s = \"%s: note of {{.Length}} bytes, {{.Text}}\"\n", stage, stage)
	}
	fmt.Fprintf(file, "finalized = \"Written for good: {{.Text}}\"\n")
	return chat.Card{Kind: note, Texts: texts, Lines: lines, Locales: fstest.MapFS{"note.en.toml": {Data: file.Bytes()}},
		With:   func(t wallet.Transaction) wallet.Address { return t.From },
		Events: map[wallet.EventName]string{noted: "note.finalized"},
		Vars: func(t wallet.Transaction) map[string]any {
			return map[string]any{"Text": textOf(t), "Length": len(textOf(t))}
		}}
}

// notes are what people and programs do to write one.
type notes struct{ *product.Parts }

func (n notes) operation() handlers.Operation {
	return handlers.Operation{Kind: note, Load: n.load, Retry: func(ctx context.Context, who handlers.Caller, first wallet.Transaction) (handlers.Proposal, error) {
		return n.prepare(ctx, who, first.From, textOf(first), first.ID)
	}}
}

func (n notes) prepare(ctx context.Context, who handlers.Caller, at wallet.Address, text string, instead wallet.TransactionID) (handlers.Proposal, error) {
	from, user, err := n.Transactions.Sender(ctx, who, at)
	if err != nil {
		return handlers.Proposal{}, err
	}
	draft := wallet.Transaction{Kind: note, Owner: user.ID, Chat: user.TelegramID, From: from.Address, Reference: from.Address,
		Token: wallet.SOL, Terms: wallet.NewTerms("note/1", noteTerms{text}), RetryOf: instead}
	snapshot, err := n.load(ctx, draft)
	if err != nil {
		return handlers.Proposal{}, err
	}
	return n.Transactions.Propose(ctx, who, from, false, draft, snapshot)
}

func (n notes) load(ctx context.Context, t wallet.Transaction) (handlers.Snapshot, error) {
	accounts, err := n.Chain.Accounts(ctx, []wallet.Address{t.From})
	if err != nil {
		return nil, err
	}
	return purse{accounts[0], t.From, accounts[0].Lamports}, nil
}

// purse is what a note is judged by: SOL for its fee.
type purse struct {
	account wallet.Account
	owner   wallet.Address
	free    uint64
}

func (p purse) NetOfReservations(tx store.Tx) (handlers.Snapshot, error) {
	reserved, err := handlers.Reserved(tx, p.owner, p.account.Slot)
	p.free = p.account.Lamports - min(reserved.Lamports, p.account.Lamports)
	return p, err
}

func (p purse) Complete(t wallet.Transaction) (wallet.Transaction, error) { return t, p.StillFits(t) }

func (p purse) StillFits(t wallet.Transaction) error {
	if p.free < t.Fee {
		return wallet.Refuse(wallet.InsufficientFunds, "no SOL for the fee of a note")
	}
	return nil
}

func (p purse) Remaining(t wallet.Transaction) uint64 { return p.free - t.Fee }

func (p purse) FillRuleInput(*wallet.RuleInput) {}

// TestAKindIsAddedByItsOwnValue: a kind that this test alone knows goes from proposal to receipt, in the chat with a
// wallet of the page, and over the API with a program that signs. It brings its value and a row of the decoder's table;
// no code of purser's was told of it.
func TestAKindIsAddedByItsOwnValue(t *testing.T) {
	r := newHarnessIn(t, world.Options{Kinds: []product.Kind{noteKind()}})
	t.Run("in the chat", func(t *testing.T) { defer r.under(t)(); r.noteInChat() })
	t.Run("once more", func(t *testing.T) { defer r.under(t)(); r.noteOnceMore() })
	t.Run("over the API", func(t *testing.T) { defer r.under(t)(); r.noteByProgram() })
}

// noteInChat writes a note of Alice's: asked for by a program, confirmed in the chat, signed through the page's API.
func (r *harness) noteInChat() {
	r.Helper()
	who := handlers.Caller{User: r.alice.User.ID, KeyID: r.keyOfPerson(r.alice).ID, KeyLineage: r.keyOfPerson(r.alice).Lineage()}
	row := r.propose(who, r.alice.Address(), "I was here <1>")
	if row.Status != wallet.AwaitingConfirmation || row.Amount != 0 || row.Fee == 0 || len(row.Warnings()) > 0 { // it pays nobody who could be new
		r.Fatalf("proposed: %+v", row)
	}
	if said := r.told(r.alice); said[len(said)-1] != "review: note of 14 bytes, I was here &lt;1&gt;" {
		r.Errorf("she is asked %q", said)
	}
	r.tap(r.alice, "Confirm")
	r.told(r.alice)
	confirmed := r.Transaction(row.ID)
	if confirmed.Status != wallet.AwaitingSignature {
		r.Fatalf("after her Confirm it is %s", confirmed.Status)
	}
	if reserved := r.get("/v1/wallet/balance?address="+r.alice.Address().String(), r.alice.secret).text("data", "balances", "SOL", "reserved"); reserved != wallet.Lamports(row.Fee).String() {
		r.Errorf("reserved for it are %s SOL, its fee is %d lamports", reserved, row.Fee)
	}
	signID := confirmed.SignID
	shown := r.page("/w/tx/get", fields{"id": signID})
	fresh := r.page("/w/tx/refresh", fields{"id": signID})
	message, err := base64.StdEncoding.DecodeString(fresh.text("message"))
	r.Must(err)
	decoded, err := r.Kinds.Codec().Decode(message, r.alice.Address())
	r.Must(err)
	if shown.status != 200 || len(decoded.Actions) != 1 || decoded.Actions[0].Text != "I was here <1>" {
		r.Errorf("to be signed is %+v", decoded.Actions)
	}
	if _, err := chain.Decode(message, r.alice.Address()); err == nil {
		r.Error("a binary that does not know notes would sign one")
	}
	signed := r.page("/w/tx/signature", fields{"id": signID, "message_sha256": world.HashOf(message), "signature": r.alice.Sign(message).String()})
	if signed.status != 200 {
		r.Fatalf("the signature is answered %d %s", signed.status, signed.body)
	}
	r.settledNote(row.ID)
	want := []wallet.EventName{wallet.TransactionSigned, wallet.TransactionPending, wallet.TransactionConfirmed, wallet.TransactionFinalized, noted}
	if events := r.Events(row.ID); !slices.Equal(events, want) {
		r.Errorf("announced were %v, want %v", events, want)
	}
	said := r.told(r.alice)
	if !slices.Contains(said, "confirmed: note of 14 bytes, I was here &lt;1&gt;") {
		r.Errorf("of its end she is told %q", said)
	}
	if n := len(slices.DeleteFunc(slices.Clone(said), func(s string) bool { return s != "Written for good: I was here &lt;1&gt;" })); n != 1 {
		r.Errorf("of the kind's own event she is told %d times: %q", n, said)
	}
	r.says(r.alice, "/wallet history")
	if said = r.told(r.alice); !strings.Contains(said[len(said)-1], "confirmed: note of 14 bytes, I was here &lt;1&gt;") {
		r.Errorf("her history is %q", said[len(said)-1])
	}
	if record := r.record(row.ID, r.alice.secret); record["type"] != "note" || record["status"] != "confirmed" || record["memo"] != "" || record["recipient"] != "" ||
		fmt.Sprint(record["terms"]) != "map[schema:note/1 text:I was here <1>]" {
		r.Errorf("the API's record is %v", record)
	}
}

// noteOnceMore proposes a note again that nobody confirmed in time.
func (r *harness) noteOnceMore() {
	r.Helper()
	first := r.propose(r.alice.Caller(), r.alice.Address(), "too late")
	r.Pass(wallet.ConfirmWindow)
	if first = r.Settled(first.ID); first.Status != wallet.Expired {
		r.Fatalf("it ended as %s", first.Status)
	}
	if said := r.told(r.alice); !slices.Contains(said, "not_confirmed: note of 8 bytes, too late") {
		r.Errorf("of its end she is told %q", said)
	}
	r.tap(r.alice, "Try again")
	if said := r.told(r.alice); !slices.Contains(said, "review: note of 8 bytes, too late") {
		r.Errorf("of the second she is told %q", said)
	}
	second := r.Transaction(r.Transaction(first.ID).RetriedBy)
	if second.Kind != note || second.RetryOf != first.ID || textOf(second) != "too late" || second.Status != wallet.AwaitingConfirmation {
		r.Fatalf("in its place stands %+v", second)
	}
	r.tap(r.alice, "Reject")
	if second = r.Transaction(second.ID); second.Status != wallet.Rejected {
		r.Errorf("rejected, it is %s", second.Status)
	}
	r.told(r.alice)
}

// noteByProgram writes a note by a program that signs for its wallet: at once, without a question.
func (r *harness) noteByProgram() {
	r.Helper()
	p := r.program(r.alice.secret)
	r.want(p.connects(), 202, "", "")
	p.answered()
	r.Fund(p.address(), sol)
	who := handlers.Caller{User: r.alice.User.ID, KeyID: r.keyOfPerson(r.alice).ID, KeyLineage: r.keyOfPerson(r.alice).Lineage()}
	row := r.propose(who, p.address(), "signed by a program")
	if row.Status != wallet.AwaitingSignature {
		r.Fatalf("it waits as %s", row.Status)
	}
	path := "/v1/wallet/transactions/" + string(row.ID)
	fresh := p.post(path+"/refresh", "")
	signature := wallet.Signature(ed25519.Sign(p.key, p.unsignedMessage(fresh)))
	r.want(p.post(path+"/signature", fmt.Sprintf(`{"signature":%q}`, signature)), 200, "", "")
	// The device's own copy lands, and the one that purser knows of is looked for by its address, and found.
	r.settledNote(row.ID)
	if record := r.record(row.ID, r.alice.secret); record["type"] != "note" || record["status"] != "confirmed" || record["signature"] != signature.String() {
		r.Errorf("the API's record is %v", record)
	}
	list := r.unchecked("/v1/wallet/transactions?type=note&address="+p.address().String(), r.alice.secret)
	if !strings.Contains(list, string(row.ID)) || strings.Count(list, `"transaction_id"`) != 1 {
		r.Errorf("the notes of the wallet are %s", list)
	}
	r.want(r.get("/v1/wallet/transactions?type=barter", r.alice.secret), 400, wallet.InvalidRequest, "type")
}

// propose stores a proposal of a note as the API does.
func (r *harness) propose(who handlers.Caller, from wallet.Address, text string) wallet.Transaction {
	r.Helper()
	proposal, err := notes{r.Parts}.prepare(context.Background(), who, from, text, "")
	r.Must(err)
	var row wallet.Transaction
	r.Must(r.Update(func(tx store.Tx) error {
		row, err = r.Transactions.CommitByProgram(tx, proposal)
		return err
	}))
	return r.Transaction(row.ID)
}

// settledNote carries a signed note to its end, and holds what came of it against the chain.
func (r *harness) settledNote(id wallet.TransactionID) {
	r.Helper()
	row := r.Settled(id)
	query, err := r.Store.Kinds().Query(row)
	r.Must(err)
	query.Signature = wallet.Signature{} // by its reference and its action alone
	found, err := r.World.Chain.Find(context.Background(), query)
	if row.Status != wallet.Confirmed || err != nil || found == nil || found.Signature != row.Signature {
		r.Errorf("it ended as %s; the chain has %+v, %v", row.Status, found, err)
	}
	query.Actions[0].Text += "!"
	if found, err := r.World.Chain.Find(context.Background(), query); err != nil || found != nil {
		r.Errorf("another note is taken for it: %+v, %v", found, err)
	}
}

func (r *harness) keyOfPerson(p person) (key wallet.Key) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) {
		key, err = tx.KeyBySecret(p.secret)
		return err
	})
	return key
}

// record is GET /v1/wallet/transactions/{id}, not held to openapi.json, which names the kinds that are published.
func (r *harness) record(id wallet.TransactionID, secret string) map[string]any {
	r.Helper()
	var answer struct{ Data map[string]any }
	r.Must(json.Unmarshal([]byte(r.unchecked("/v1/wallet/transactions/"+string(id), secret)), &answer))
	return answer.Data
}

func (r *harness) unchecked(path, secret string) string {
	r.Helper()
	req, err := http.NewRequest("GET", r.base+path, nil)
	r.Must(err)
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := r.client.Do(req)
	r.Must(err)
	body, err := io.ReadAll(resp.Body)
	r.Must(errors.Join(err, resp.Body.Close()))
	return string(body)
}

// tap touches the newest button of a label in somebody's chat.
func (r *harness) tap(p person, label string) {
	r.Helper()
	var nonce string
	for _, row := range storetest.Outbox(r, r.Store) {
		var said chat.Reply
		if row.Chat != p.TelegramID {
			continue
		}
		r.Must(json.Unmarshal(row.Body, &said))
		for _, line := range said.Buttons {
			for _, b := range line {
				if b.Text == label {
					nonce = b.Data
				}
			}
		}
	}
	if nonce == "" {
		r.Fatalf("nobody shows a button %q", label)
	}
	r.does(p, chat.Input{Tap: &chat.Tap{CallbackID: "cb", Data: nonce}})
}

func (r *harness) says(p person, text string) {
	r.Helper()
	r.does(p, chat.Input{Text: text})
}

// does hands the chat what somebody does, as a front would.
func (r *harness) does(p person, in chat.Input) {
	r.Helper()
	in.Chat, in.Private, in.MessageID, in.At = p.TelegramID, true, 7, r.Now()
	in.From = chat.Person{TelegramID: p.TelegramID, FirstName: p.FirstName, Username: p.Username, Language: "en"}
	h, err := r.chat.Receive(context.Background(), in)
	r.Must(err)
	for _, e := range r.chat.Endpoints() {
		if e.Route == h.Route {
			turn, err := e.Handle(context.Background(), h)
			r.Must(err)
			r.Must(r.Update(turn.Commit))
			return
		}
	}
	r.Fatalf("nobody answers %+v", h.Route)
}
