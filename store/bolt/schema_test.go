package bolt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// update rewrites the committed file of the newest schema. Files of older schemas stay as their
// purser wrote them.
func update() bool {
	f := flag.Lookup("update") // of TestMain
	return f != nil && f.Value.String() == "true"
}

// samples are one row of every kind, as the newest schema knows them.
type samples struct {
	User         wallet.User
	Wallet       wallet.Wallet
	Bind         wallet.Bind
	Transaction  wallet.Transaction
	Key          wallet.Key
	Conversation store.Conversation
	Button       store.Button
	Update       store.Update
	Reply        store.Reply
	Answer       store.Answer
	Event        wallet.Event
	Card         int
	Contact      wallet.Contact
	App          wallet.App
	Grant        wallet.Grant
	Developer    wallet.Developer
	Counter      store.Counter
	Webhook      wallet.Webhook
	Health       wallet.WebhookHealth
	Delivery     store.Delivery
	Job          store.Job
	DeadJob      store.Job
}

func newSamples() samples {
	var x samples
	storetest.Fill(&x, 1000)
	x.Job.Priority, x.Job.Attempt, x.Job.Failures, x.Job.Seq, x.Job.About = store.JobSoon, 1, 0, 1, x.User.ID
	x.DeadJob.NotBefore = x.Job.NotBefore
	x.DeadJob.Queue, x.DeadJob.Priority, x.DeadJob.Attempt, x.DeadJob.Failures, x.DeadJob.Seq, x.DeadJob.About = x.Job.Queue, store.JobUrgent, 1, 0, 2, ""
	x.Update.DeadLettered, x.Update.Seq, x.Reply.Seq = false, 1, 1
	x.Conversation.Version, x.Transaction.Version = 1, 1
	x.Wallet.Owner, x.Bind.User, x.Transaction.Owner, x.Event.User = x.User.ID, x.User.ID, x.User.ID, x.User.ID
	x.Transaction.Kind = wallet.Send
	x.Contact.Owner = x.User.ID
	x.App.Owner, x.Grant.User, x.Developer.User, x.Key.Owner = x.User.ID, x.User.ID, x.User.ID, x.User.ID
	x.Webhook.Lineage, x.Webhook.Owner = x.Key.Lineage(), x.User.ID
	x.Delivery.Webhook, x.Delivery.User, x.Delivery.Seq = x.Webhook.ID, x.User.ID, 1
	x.Conversation.User, x.Button.User = x.User.TelegramID, x.User.TelegramID
	x.Update.Chat, x.Reply.Chat = x.User.TelegramID, x.User.TelegramID
	return x
}

func (x samples) write(tx store.Tx) error {
	first := x.Conversation
	first.Version = 0
	if err := tx.PutUser(x.User); err != nil { // first: what follows is sealed for them
		return err
	}
	_, err := tx.PutUpdates(x.Update.At, []store.Update{x.Update})
	if err := errors.Join(err, tx.PutWebhook(x.Webhook), tx.PutWebhookHealth(x.Webhook.ID, x.Health)); err != nil {
		return err
	}
	_, err = tx.PutDeliveries([]store.Delivery{x.Delivery})
	if err != nil {
		return err
	}
	now := x.Job.NotBefore.Add(time.Hour)
	if _, err := tx.Lead("sample", "a", now, time.Minute); err != nil {
		return err
	}
	_, err = tx.PutJobs([]store.Job{x.Job, x.DeadJob}, &store.Claim{Queue: x.Job.Queue, Node: "a", Now: now, Max: 2, Lease: time.Minute})
	if err == nil {
		err = tx.DeadLetterJobs(now, "sample reason", x.DeadJob.Ref())
	}
	return errors.Join(err, tx.PutWallet(x.Wallet), tx.PutBind(x.Bind), tx.CreateTransaction(x.Transaction),
		tx.CreateKey(x.Key, "sample secret"), tx.PutConversation(first), tx.PutButtons([]store.Button{x.Button}),
		tx.PutCard(x.Reply.Chat, x.Reply.Card, x.Card, time.Time{}), tx.Enqueue([]store.Reply{x.Reply}),
		tx.PutAnswer("sample key", x.Answer), tx.Emit(x.Event),
		tx.PutContact(x.Contact), tx.PutApp(x.App), tx.PutGrant(x.Grant), tx.PutDeveloper(x.Developer),
		tx.PutCounters([]store.Counter{x.Counter}))
}

// read reads them in every way there is.
func (x samples) read(tx store.Tx) error {
	var errs []error
	check := func(what string, want, got any, err error) {
		if err != nil || !reflect.DeepEqual(got, want) {
			errs = append(errs, fmt.Errorf("%s: got %+v, %v\nwant %+v", what, got, err, want))
		}
	}
	u, err := tx.User(x.User.ID)
	check("user", x.User, u, err)
	u, err = tx.UserByTelegram(x.User.TelegramID)
	check("user by telegram", x.User, u, err)
	w, err := tx.Wallet(x.Wallet.Address)
	check("wallet", x.Wallet, w, err)
	ws, err := tx.WalletsOf(x.User.ID)
	check("wallets", []wallet.Wallet{x.Wallet}, ws, err)
	b, err := tx.Bind(x.Bind.TokenHash)
	check("bind", x.Bind, b, err)
	b, err = tx.BindOf(x.User.ID)
	check("newest bind", x.Bind, b, err)
	row, err := tx.Transaction(x.Transaction.ID)
	check("transaction", x.Transaction, row, err)
	row, err = tx.TransactionBySignID(x.Transaction.SignID)
	check("transaction by sign id", x.Transaction, row, err)
	row, err = tx.TransactionBySignature(x.Transaction.Signature)
	check("transaction by signature", x.Transaction, row, err)
	rows, err := tx.TransactionsOf(x.User.ID, store.Page{Limit: 10})
	check("transactions", []wallet.Transaction{x.Transaction}, rows, err)
	rows, err = tx.TransactionsAt(x.Transaction.From, store.Page{Limit: 10})
	check("transactions of a wallet", []wallet.Transaction{x.Transaction}, rows, err)
	k, err := tx.KeyBySecret("sample secret")
	check("key", x.Key, k, err)
	ks, err := tx.KeysOf(x.Key.Owner)
	check("keys", []wallet.Key{x.Key}, ks, err)
	c, err := tx.Conversation(x.Conversation.Chat, x.Conversation.User, x.Conversation.Slot)
	check("conversation", x.Conversation, c, err)
	cs, err := tx.SilentConversations(x.Conversation.ExpiresAt, 10)
	check("silent conversations", []store.Conversation{x.Conversation}, cs, err)
	n, err := tx.Button(x.Button.Nonce)
	check("button", x.Button, n, err)
	card, err := tx.Card(x.Reply.Chat, x.Reply.Card)
	check("card", x.Card, card, err)
	in, err := tx.Updates(10)
	check("inbox", []store.Update{x.Update}, in, err)
	out, err := tx.Replies(0, 10)
	check("outbox", []store.Reply{x.Reply}, out, err)
	a, err := tx.Answer("sample key", x.Answer.ExpiresAt.Add(-time.Second))
	check("answer", x.Answer, a, err)
	e, err := tx.PendingEvents(10)
	check("events", []wallet.Event{x.Event}, e, err)
	book, err := tx.ContactsOf(x.User.ID)
	check("contacts", []wallet.Contact{x.Contact}, book, err)
	app, err := tx.App(x.App.ID)
	check("app", x.App, app, err)
	apps, err := tx.AppsOf(x.App.Owner)
	check("apps", []wallet.App{x.App}, apps, err)
	grant, err := tx.Grant(x.Grant.User, x.Grant.App)
	check("grant", x.Grant, grant, err)
	grants, err := tx.GrantsOf(x.Grant.User)
	check("grants", []wallet.Grant{x.Grant}, grants, err)
	dev, err := tx.Developer(x.Developer.User)
	check("developer", x.Developer, dev, err)
	counter, err := tx.Counter(x.Counter.Name)
	check("counter", x.Counter, counter, err)
	hook, err := tx.Webhook(x.Webhook.ID)
	check("webhook", x.Webhook, hook, err)
	hooks, err := tx.WebhooksOf(x.Webhook.Lineage)
	check("webhooks of a line", []wallet.Webhook{x.Webhook}, hooks, err)
	hooks, err = tx.WebhooksOfOwner(x.User.ID)
	check("webhooks of an owner", []wallet.Webhook{x.Webhook}, hooks, err)
	health, err := tx.WebhookHealth(x.Webhook.ID)
	check("health", x.Health, health, err)
	delivery, err := tx.Delivery(x.Delivery.ID)
	check("delivery", x.Delivery, delivery, err)
	line, err := tx.DeliveriesOf(x.Webhook.ID, store.Position{Urgency: x.Delivery.Urgency}, 10)
	check("deliveries", []store.Delivery{x.Delivery}, line, err)
	job, err := tx.Job(x.Job.Queue, x.Job.ID)
	check("job", x.Job, job, err)
	jobs, err := tx.JobsOfKey(x.Job.Queue, x.Job.Key, 10)
	check("jobs of a key", []store.Job{x.Job}, jobs, err)
	jobs, err = tx.JobsOfOwner(x.Job.Queue, x.Job.Owner, 10)
	check("jobs of an owner", []store.Job{x.Job}, jobs, err)
	dead, err := tx.DeadLetters(x.Job.Queue, 10)
	check("dead letters", []store.DeadLetter{{Job: x.DeadJob, Reason: "sample reason", DiedAt: x.Job.NotBefore.Add(time.Hour)}}, dead, err)
	announced, err := tx.Announcements(10)
	check("announcements", []store.OutboxEvent{{Number: 1, Event: x.Event}}, announced, err)
	return errors.Join(errs...)
}

// TestOldFilesOpen opens a copy of each schema's committed file and reads every kind of row. What
// was written is kept beside it as JSON, so that a renamed field shows.
func TestOldFilesOpen(t *testing.T) {
	newest := fmt.Sprintf("testdata/schema%d", len(migrations())+1)
	if update() {
		generate(t, newest)
	}
	files, err := filepath.Glob("testdata/schema*.db")
	if err != nil || len(files) != len(migrations())+1 {
		t.Fatalf("%d files for %d schemas: go test -run OldFiles -update writes the newest (%v)", len(files), len(migrations())+1, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			base := strings.TrimSuffix(file, ".db")
			key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(fileBytes(t, base+".key"))))
			if err != nil {
				t.Fatal(err)
			}
			var x samples
			readSamples(t, base, &x)
			copied := filepath.Join(t.TempDir(), "purser.db")
			if err := os.WriteFile(copied, fileBytes(t, file), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(copied+keysSuffix, fileBytes(t, base+".keys"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := options(copied)
			o.MasterKey = key
			s, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := s.View(t.Context(), x.read); err != nil {
				t.Error(err)
			}
			// It is a store like any other: rows can go, and others come.
			mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser(x.User.ID) })
			mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(x.User) })
		})
	}
}

// readSamples reads what was written into a committed file.
func readSamples(t *testing.T, base string, x *samples) {
	t.Helper()
	if err := json.Unmarshal(fileBytes(t, base+".json"), x); err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer // indenting the file indented what an event says, too
	if err := json.Compact(&data, x.Event.Data); err != nil {
		t.Fatal(err)
	}
	x.Event.Data = data.Bytes()
}

func generate(t *testing.T, base string) {
	t.Helper()
	wide := filepath.Join(t.TempDir(), "wide.db")
	s := openAt(t, wide)
	x := newSamples()
	mustUpdate(t, s, x.write)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(base + ".db"); err != nil {
		t.Fatal(err)
	}
	from, err := bbolt.Open(wide, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := bbolt.Open(base+".db", 0o600, &bbolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(bbolt.Compact(to, from, 0), from.Close(), to.Close(),
		os.WriteFile(base+".keys", fileBytes(t, wide+keysSuffix), 0o644),
		os.WriteFile(base+".json", append(raw, '\n'), 0o644),
		os.WriteFile(base+".key", []byte(base64.StdEncoding.EncodeToString(masterKey())+"\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
}
