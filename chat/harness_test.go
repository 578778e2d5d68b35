package chat_test

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chain"
	"purser/chat"
	"purser/e2e/world"
	"purser/notify"
	"purser/store"
	"purser/wallet"
)

const sol = world.SOL

// harness is a chat before the world. It plays Telegram: it delivers what is in the outbox, and
// remembers which message shows what.
type harness struct {
	*world.World
	chat   *chat.Chat
	people map[string]*person

	mails     []mail               // that were sent
	noMail    bool                 // none can be sent
	messages  map[int64][]*message // by chat, in order
	lastID    int
	seen      []string     // what was delivered since it was last asked
	delivered []chat.Reply // all that was ever delivered

	anyLanguage bool              // a test gives inputs a language of its own
	labels      map[string]string // English labels of buttons, by those of the language that is spoken
}

// message is one bubble in a chat.
type message struct {
	id      int
	card    string
	reply   chat.Reply
	buttons []chat.Button // every button that it ever had, newest last
}

// person is somebody with a phone, as their chat shows them.
type person struct {
	*world.Person
	link string // the newest link to a page of ours in their chat
	list int32  // the number of their newest list of people
	kept []byte // a signed transaction that their device did not hand in
	app  string // the newest consent link that stood in their chat

	called string // their first name in Telegram; "" for their own
	handle string // their username in Telegram; "" for their own
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	return newHarnessIn(t, world.Options{})
}

// newHarnessIn is newHarness in a world with other options, such as a market.
func newHarnessIn(t testing.TB, o world.Options) *harness {
	t.Helper()
	r := &harness{World: world.New(t, o), people: map[string]*person{}, messages: map[int64][]*message{}}
	for i, name := range []string{"alice", "bob", "carol", "dave", "erin", "frank"} {
		seed := sha256.Sum256([]byte(name))
		r.people[name] = &person{Person: &world.Person{TelegramID: 1001 + int64(i), Username: name, FirstName: title(name), Key: ed25519.NewKeyFromSeed(seed[:])}}
	}
	r.Developers.Mail = r
	var err error
	r.chat, err = chat.New(r.options())
	r.Must(err)
	return r
}

func (r *harness) options() chat.Options {
	o := r.Chat()
	o.DocsURL, o.Limits = &url.URL{Scheme: "https", Host: "docs.example", Path: "/docs"}, specifiedLimits{}
	o.Lookups = 1000 // transcripts stand still for long
	return o
}

// specifiedLimits are the limits of the specification.
type specifiedLimits struct{}

// Hourly implements chat.KeyLimits.
func (specifiedLimits) Hourly(kind wallet.KeyKind, tier wallet.Tier) uint64 {
	most := map[wallet.KeyKind]uint64{wallet.APIKey: 100, wallet.BotKey: 50}[kind]
	if tier == wallet.ProTier {
		most *= 10
	}
	return most
}

// mail is one that was sent.
type mail struct{ to, subject, text string }

// Send plays a mail server.
func (r *harness) Send(_ context.Context, to, subject, text string) error {
	if r.noMail {
		return errors.New("no mail server answers")
	}
	r.mails = append(r.mails, mail{to, subject, text})
	r.seen = append(r.seen, "  mail to "+to+": "+subject+"\n")
	return nil
}

// code is the newest code that was mailed.
func (r *harness) code() string {
	r.Helper()
	if len(r.mails) == 0 {
		r.Fatal("no mail was sent")
	}
	return regexp.MustCompile(`[0-9]{6}`).FindString(r.mails[len(r.mails)-1].text)
}

// rich gives somebody a profile with a connected wallet and lamports in it.
func (r *harness) rich(name string, lamports uint64) {
	r.Helper()
	p := r.people[name].Person
	r.Meet(p)
	r.Connect(p)
	r.Fund(p.Address(), lamports)
	r.settle()
	r.seen = nil
}

func title(name string) string { return string(name[0]-'a'+'A') + name[1:] }

// input is what somebody does in their private chat with the bot.
func (r *harness) input(name string) chat.Input {
	p := r.people[name]
	r.lastID++
	return chat.Input{Chat: p.TelegramID, Private: true, MessageID: r.lastID, At: r.Now(),
		From: chat.Person{TelegramID: p.TelegramID, Username: cmp.Or(p.handle, name), FirstName: cmp.Or(p.called, title(name)), Language: cmp.Or(p.Language, "en")}}
}

// does hands an input to the chat as the bot does, and delivers what comes of it.
func (r *harness) does(in chat.Input) {
	r.Helper()
	before := len(r.seen)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.chat.FreezeOnArrival(tx, in); return err }))
	r.Must(r.try(in))
	r.settle()
	toasts := strings.Count(strings.Join(r.seen[before:], ""), " < toast")
	if want := map[bool]int{true: 1}[in.Tap != nil]; toasts != want {
		r.Errorf("%d toasts for %+v", toasts, in)
	}
}

func (r *harness) try(in chat.Input) error {
	for range 3 {
		turn, err := r.chat.Handle(context.Background(), in)
		if err != nil {
			return err
		}
		err = r.Update(turn.Commit)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// says is a text in the private chat.
func (r *harness) says(name, text string) {
	r.Helper()
	in := r.input(name)
	in.Text = text
	r.does(in)
}

// taps touches the newest button of a label in a chat, as it is or as it once was.
func (r *harness) presses(name, label, whose string) {
	r.Helper()
	b, id := r.button(whose, label)
	in := r.input(name)
	in.MessageID, in.Tap = id, &chat.Tap{CallbackID: "cb" + fmt.Sprint(r.lastID), Data: b.Data}
	r.does(in)
}

// button returns the newest button with a label, or with a number as in "1.", and its message.
func (r *harness) button(name, label string) (chat.Button, int) {
	r.Helper()
	all := r.messages[r.people[name].TelegramID]
	for i := len(all) - 1; i >= 0; i-- {
		for j := len(all[i].buttons) - 1; j >= 0; j-- {
			if b := all[i].buttons[j]; b.Text == label || r.labels[b.Text] == label || inEnglish(b.Text) == label || strings.HasSuffix(label, ".") && strings.HasPrefix(inEnglish(b.Text), label+" ") {
				return b, all[i].id
			}
		}
	}
	r.Fatalf("%s has no button %q", name, label)
	return chat.Button{}, 0
}

// settle tells every event, and delivers the outbox.
func (r *harness) settle() {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := notify.Notifier{Store: world.UntilIdle{Store: r.Store, Queue: store.Events, Idle: cancel}, Chat: r.chat, Node: "a", Width: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	r.Must(n.Pools()[0].Run(ctx)) // the other one is that of held events: see held
	for _, reply := range r.outbox() {
		r.deliver(reply)
	}
}

// fallsSilent does what Run's pool does: the time-outs that are due are handled, until none is left.
func (r *harness) fallsSilent() {
	r.Helper()
	for {
		var due []store.Job
		r.Must(r.Update(func(tx store.Tx) (err error) {
			due, _, err = tx.ClaimJobs(store.Claim{Queue: store.ConversationTimeouts, Node: "a", Now: r.Now(), Max: 100, Lease: time.Minute})
			return err
		}))
		if len(due) == 0 {
			return
		}
		// In the order of their times, in which a pool that runs all the while meets them.
		over := map[store.JobID]time.Time{}
		r.View(func(tx store.Tx) error {
			for _, job := range due {
				conv, err := store.ConversationOfTimeout(tx, job)
				if err != nil {
					return err
				}
				over[job.ID] = conv.ExpiresAt
			}
			return nil
		})
		slices.SortStableFunc(due, func(a, b store.Job) int { return over[a.ID].Compare(over[b.ID]) })
		for _, job := range due {
			r.timeOut(job)
		}
	}
}

// timeOut handles one time-out.
func (r *harness) timeOut(job store.Job) {
	r.Helper()
	result, err := r.chat.HandleTimeout(context.Background(), job)
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		if err := result.Commit(tx); err != nil {
			return err
		}
		if !result.Again.IsZero() {
			return tx.SnoozeJobs(result.Again, job.Ref())
		}
		return tx.DoneJobs(job.Ref())
	}))
}

// deliver plays Telegram for one reply: a card that has a message is edited in place.
func (r *harness) deliver(row store.Reply) {
	r.Helper()
	var reply chat.Reply
	r.Must(json.Unmarshal(row.Body, &reply))
	checkReply(r, row, reply)
	r.delivered = append(r.delivered, reply)
	r.Must(r.Update(func(tx store.Tx) error { return tx.RemoveJobs(store.Outbox, row.ID) }))
	who := r.nameOf(row.Chat)
	switch reply.Kind {
	case chat.Strip:
		for _, m := range r.messages[row.Chat] {
			if m.id == reply.MessageID {
				reply.Text, _, _ = strings.Cut(m.reply.Text, "\n")
				reply.Text, m.reply.Buttons = "("+reply.Text+")", nil
			}
		}
		r.seen = append(r.seen, r.show(who, "", reply))
		return
	case chat.Delete:
		reply.Text = r.delete(row.Chat, reply.MessageID)
		fallthrough
	case chat.Toast:
		r.seen = append(r.seen, r.show(who, "", reply))
		return
	}
	shows := 0
	if row.Card != "" && !reply.NewMessage && reply.Kind == chat.Message { // else what shows the subject now stays as it is
		r.View(func(tx store.Tx) error { shows, _ = tx.Card(row.Chat, row.Card); return nil })
	}
	if reply.Kind == chat.Photo && reply.MessageID != 0 {
		shows = reply.MessageID
	}
	for _, m := range r.messages[row.Chat] {
		if shows == 0 || m.id != shows || m.card == "" && reply.Kind != chat.Photo {
			continue
		}
		if m.reply.Text == reply.Text && fmt.Sprint(m.reply.Buttons) == fmt.Sprint(reply.Buttons) {
			return // "message is not modified"
		}
		m.put(reply)
		r.linkIn(who, reply)
		r.seen = append(r.seen, r.show(who, "edit ", reply))
		return
	}
	r.lastID++
	m := &message{id: r.lastID, card: row.Card}
	m.put(reply)
	r.linkIn(who, reply)
	r.messages[row.Chat] = append(r.messages[row.Chat], m)
	if row.Card != "" {
		r.Must(r.Update(func(tx store.Tx) error {
			return errors.Join(tx.PutCard(row.Chat, row.Card, m.id, time.Time{}), chat.Posted(tx, row, m.id, r.Now()))
		}))
	}
	r.seen = append(r.seen, r.show(who, "", reply))
}

// delete takes a message out of a chat, and tells how it began if it was the bot's. Its buttons stay
// known: somebody may have tapped one just before.
func (r *harness) delete(chat int64, id int) string {
	for _, m := range r.messages[chat] {
		if m.id == id {
			m.card = ""
			first, _, _ := strings.Cut(m.reply.Text, "\n")
			return "(" + first + ")"
		}
	}
	return ""
}

func (m *message) put(reply chat.Reply) {
	m.reply = reply
	for _, row := range reply.Buttons {
		m.buttons = append(m.buttons, row...)
	}
}

func (r *harness) nameOf(id int64) string {
	for name, p := range r.people {
		if p.TelegramID == id {
			return name
		}
	}
	return "group"
}

// linkIn remembers the link of a page of ours that came to somebody's chat.
func (r *harness) linkIn(who string, reply chat.Reply) {
	if link := regexp.MustCompile(`start=(app_[0-9a-z_]+)`).FindStringSubmatch(reply.Text); link != nil {
		r.people[who].app = link[1]
	}
	if reply.Keyboard != nil && !reply.Keyboard.Remove {
		r.people[who].list = reply.Keyboard.Request
	}
	for _, row := range reply.Buttons {
		for _, b := range row {
			if u, err := url.Parse(b.URL); err == nil && (u.Host == "wallet.example" || u.Host == "pages.example") {
				if !reply.Secret {
					r.Errorf("a reply with a link to a page is not marked secret: %q", reply.Text)
				}
				link, language, _ := strings.Cut(u.Fragment, "&lang=")
				if want := cmp.Or(r.people[who].Language, "en"); language != want && !r.anyLanguage {
					r.Errorf("a link in %s to somebody who speaks %s: %s", language, want, b.URL)
				}
				r.people[who].link = link
			}
		}
	}
}

// proves plays the signing page of somebody's newest bind link, with a key.
func (r *harness) proves(who string, key ed25519.PrivateKey) {
	r.Helper()
	r.Must(r.Prove(r.people[who].link[len("b="):], key))
	r.settle()
}

// signs plays the signing page of somebody's newest sign link.
func (r *harness) signs(who string) {
	r.Helper()
	p := r.people[who]
	id := p.link[len("s="):]
	_, err := r.HandIn(p.Person, id, r.Issue(id))
	r.Must(err)
	r.settle()
}

// keeps plays a device that signs and does not hand in what it signed.
func (r *harness) keeps(who string) {
	r.Helper()
	p := r.people[who]
	message := r.Issue(p.link[len("s="):])
	var err error
	p.kept, err = chain.Assemble(message, p.Sign(message))
	r.Must(err)
}

// newest is somebody's newest transaction.
func (r *harness) newest(who string) wallet.Transaction {
	r.Helper()
	var t wallet.Transaction
	r.View(func(tx store.Tx) error {
		user, err := tx.UserByTelegram(r.people[who].TelegramID)
		if err != nil {
			return err
		}
		all, err := tx.TransactionsOf(user.ID, store.Page{Limit: 1})
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s has no transaction", who)
		}
		if err == nil {
			t = all[0]
		}
		return err
	})
	return t
}

// units are the base units of an amount in a transcript.
func (r *harness) units(text string, decimals uint8) uint64 {
	r.Helper()
	d, err := wallet.ParseDecimal(text)
	r.Must(err)
	amount, err := d.In(decimals)
	r.Must(err)
	return amount.Units
}
