package chat_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/chain"
	"purser/chat"
	"purser/handlers"
	"purser/market"
	"purser/notify"
	"purser/sandbox/solana"
	"purser/store"
	"purser/store/bolt"
	"purser/wallet"
)

const sol = 1_000_000_000

// rig is a chat over the real deeds, a real store and a real cluster whose blocks come by hand. It
// plays Telegram: it delivers what is in the outbox, and remembers which message shows what.
type rig struct {
	t         testing.TB
	cluster   *solana.Cluster
	store     *bolt.Store
	chat      *chat.Chat
	transfers *handlers.Transfers
	wallets   *handlers.Wallets
	signing   *handlers.Signing
	people    map[string]*person

	mu   sync.Mutex
	now  time.Time
	ids  int
	dice *mathrand.ChaCha8

	messages map[int64][]*message // by chat, in order
	lastID   int
	seen     []string // what was delivered since it was last asked
}

// message is one bubble in a chat.
type message struct {
	id      int
	card    string
	reply   chat.Reply
	buttons []chat.Button // every button that it ever had, newest last
}

// person is somebody with a phone.
type person struct {
	name string
	id   int64
	key  ed25519.PrivateKey
	link string // the newest signing page link in their chat
	list int32  // the number of their newest list of people
}

func (p *person) address() wallet.Address { return wallet.Address(p.key.Public().(ed25519.PublicKey)) }

func (r *rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) Read(out []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dice.Read(out)
}

func (r *rig) newID(prefix string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids++
	return fmt.Sprintf("%s_%04d", prefix, r.ids)
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), messages: map[int64][]*message{},
		dice: mathrand.NewChaCha8(sha256.Sum256([]byte(t.Name())))}
	r.people = map[string]*person{}
	for i, name := range []string{"alice", "bob", "carol", "dave", "erin", "frank"} {
		seed := sha256.Sum256([]byte(name))
		r.people[name] = &person{name: name, id: 1001 + int64(i), key: ed25519.NewKeyFromSeed(seed[:])}
	}
	var err error
	r.cluster, err = solana.Open(solana.Options{Now: r.Now, Seed: "purser"})
	r.must(err)
	t.Cleanup(func() { r.cluster.Close() })
	node := httptest.NewServer(r.cluster.Handler())
	t.Cleanup(node.Close)
	client, err := chain.New(chain.Options{RPCURLs: []string{node.URL}, Cluster: "localnet", Timeout: 2 * time.Second, Now: r.Now})
	r.must(err)
	t.Cleanup(client.Close)
	r.store, err = bolt.Open(bolt.Options{Path: filepath.Join(t.TempDir(), "purser.db"), MasterKey: make([]byte, 32), Random: rand.Reader})
	r.must(err)
	t.Cleanup(func() { r.store.Close() })

	public := &url.URL{Scheme: "https", Host: "wallet.example"}
	r.wallets = &handlers.Wallets{Store: r.store, Chain: client, Tokens: listed(t), PublicURL: public, Cluster: "localnet", Now: r.Now, Random: r}
	r.transfers = &handlers.Transfers{Store: r.store, Chain: client, Tokens: listed(t), Now: r.Now, NewID: r.newID, Random: r, Build: chain.Build}
	r.signing = &handlers.Signing{Store: r.store, Chain: client, Cluster: "localnet", Now: r.Now,
		Messages: handlers.Messages{WithBlockhash: chain.WithBlockhash, Verify: chain.VerifySignature, Assemble: chain.Assemble, CheckSigned: chain.CheckSigned}}
	r.chat, err = chat.New(chat.Options{
		Store: r.store, Users: &handlers.Users{Now: r.Now, NewID: r.newID}, Wallets: r.wallets, Transfers: r.transfers,
		Contacts:  &handlers.Contacts{Store: r.store, Tokens: listed(t), Now: r.Now},
		PublicURL: public, ExplorerURL: "https://explorer.example/tx/{signature}?cluster={cluster}", Cluster: "localnet",
		BotName: func() string { return "purser_bot" }, Now: r.Now, Random: r, Log: slog.New(slog.DiscardHandler),
	})
	r.must(err)
	return r
}

func (r *rig) update(change func(store.Tx) error) {
	r.t.Helper()
	r.must(r.store.Update(context.Background(), change))
}

// rich gives somebody a profile with a connected wallet and lamports in it.
func (r *rig) rich(name string, lamports uint64) {
	r.t.Helper()
	p := r.people[name]
	r.update(func(tx store.Tx) error {
		user, _, err := (&handlers.Users{Now: r.Now, NewID: r.newID}).Meet(tx, handlers.Person{TelegramID: p.id, Username: name, FirstName: title(name), Language: "en"})
		if err != nil {
			return err
		}
		user.DefaultWallet = p.address()
		return errors.Join(tx.PutUser(user),
			tx.PutWallet(wallet.Wallet{Address: p.address(), Owner: user.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()}))
	})
	if lamports > 0 {
		_, err := r.cluster.Airdrop(context.Background(), p.address().String(), lamports)
		r.must(err)
		r.must(r.cluster.Advance(3))
	}
	r.settle()
	r.seen = nil
}

func title(name string) string { return string(name[0]-'a'+'A') + name[1:] }

// input is what somebody does in their private chat with the bot.
func (r *rig) input(name string) chat.Input {
	p := r.people[name]
	r.lastID++
	return chat.Input{Chat: p.id, Private: true, MessageID: r.lastID, At: r.Now(),
		From: chat.Person{TelegramID: p.id, Username: name, FirstName: title(name), Language: "en"}}
}

// does hands an input to the chat as the bot does, and delivers what comes of it.
func (r *rig) does(in chat.Input) {
	r.t.Helper()
	before := len(r.seen)
	r.must(r.try(in))
	r.settle()
	toasts := strings.Count(strings.Join(r.seen[before:], ""), " < toast")
	if want := map[bool]int{true: 1}[in.Tap != nil]; toasts != want {
		r.t.Errorf("%d toasts for %+v", toasts, in)
	}
}

func (r *rig) try(in chat.Input) error {
	for range 3 {
		turn, err := r.chat.Handle(context.Background(), in)
		if err != nil {
			return err
		}
		err = r.store.Update(context.Background(), turn.Commit)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return store.ErrConflict
}

// says is a text in the private chat.
func (r *rig) says(name, text string) {
	r.t.Helper()
	in := r.input(name)
	in.Text = text
	r.does(in)
}

// taps touches the newest button of a label in a chat, as it is or as it once was.
func (r *rig) taps(name, label, whose string) {
	r.t.Helper()
	b, id := r.button(whose, label)
	in := r.input(name)
	in.MessageID, in.Tap = id, &chat.Tap{CallbackID: "cb" + fmt.Sprint(r.lastID), Data: b.Data}
	r.does(in)
}

func (r *rig) button(name, label string) (chat.Button, int) {
	r.t.Helper()
	all := r.messages[r.people[name].id]
	for i := len(all) - 1; i >= 0; i-- {
		for j := len(all[i].buttons) - 1; j >= 0; j-- {
			if b := all[i].buttons[j]; b.Text == label {
				return b, all[i].id
			}
		}
	}
	r.t.Fatalf("%s has no button %q", name, label)
	return chat.Button{}, 0
}

// settle tells every event, and delivers the outbox.
func (r *rig) settle() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := notify.Notifier{Store: untilIdle{r.store, cancel}, Chat: r.chat, Log: slog.New(slog.DiscardHandler)}
	r.must(n.Run(ctx))
	var replies []store.Reply
	r.must(r.store.View(context.Background(), func(tx store.Tx) error {
		var err error
		replies, err = tx.Replies(0, 1000)
		return err
	}))
	for _, reply := range replies {
		r.deliver(reply)
	}
}

// untilIdle ends a worker as soon as it would wait for events.
type untilIdle struct {
	store.Store
	idle context.CancelFunc
}

func (s untilIdle) Changed(q store.Queue) <-chan struct{} {
	s.idle()
	return nil
}

// deliver plays Telegram for one reply: a card that has a message is edited in place.
func (r *rig) deliver(row store.Reply) {
	r.t.Helper()
	var reply chat.Reply
	r.must(json.Unmarshal(row.Body, &reply))
	checkReply(r.t, row, reply)
	r.update(func(tx store.Tx) error { return tx.DoneReply(row) })
	who := r.nameOf(row.Chat)
	switch reply.Kind {
	case chat.Toast, chat.Delete:
		r.seen = append(r.seen, r.show(who, "", reply))
		return
	}
	for _, m := range r.messages[row.Chat] {
		if row.Card == "" || m.card != row.Card {
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
	r.seen = append(r.seen, r.show(who, "", reply))
}

func (m *message) put(reply chat.Reply) {
	m.reply = reply
	for _, row := range reply.Buttons {
		m.buttons = append(m.buttons, row...)
	}
}

func (r *rig) nameOf(id int64) string {
	for name, p := range r.people {
		if p.id == id {
			return name
		}
	}
	return "group"
}

// linkIn remembers the link of a signing page that came to somebody's chat.
func (r *rig) linkIn(who string, reply chat.Reply) {
	if reply.Keyboard != nil && !reply.Keyboard.Remove {
		r.people[who].list = reply.Keyboard.Request
	}
	for _, row := range reply.Buttons {
		for _, b := range row {
			if u, err := url.Parse(b.URL); err == nil && u.Host == "wallet.example" {
				if !reply.Secret {
					r.t.Errorf("a reply with a signing link is not marked secret: %q", reply.Text)
				}
				r.people[who].link = u.Fragment
			}
		}
	}
}

// proves plays the signing page of somebody's newest bind link, with a key.
func (r *rig) proves(who string, key ed25519.PrivateKey) {
	r.t.Helper()
	p := r.people[who]
	token := p.link[len("b="):]
	ctx := context.Background()
	c, err := r.wallets.Challenge(ctx, token)
	r.must(err)
	address := wallet.Address(key.Public().(ed25519.PublicKey))
	text := wallet.SignInText("wallet.example", "https://wallet.example", address, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	r.must(r.wallets.Prove(ctx, token, wallet.PageWallet, address, wallet.Signature(ed25519.Sign(key, []byte(text)))))
	r.settle()
}

// signs plays the signing page of somebody's newest sign link.
func (r *rig) signs(who string) {
	r.t.Helper()
	p := r.people[who]
	id := p.link[len("s="):]
	view, err := r.signing.Refresh(context.Background(), id)
	r.must(err)
	sum := sha256.Sum256(view.Message)
	_, err = r.signing.Submit(context.Background(), id, handlers.Signature{Over: hex.EncodeToString(sum[:]), Signature: wallet.Signature(ed25519.Sign(p.key, view.Message))})
	r.must(err)
	r.settle()
}

// newest is somebody's newest transaction.
func (r *rig) newest(who string) wallet.Transaction {
	r.t.Helper()
	var t wallet.Transaction
	r.must(r.store.View(context.Background(), func(tx store.Tx) error {
		user, err := tx.UserByTelegram(r.people[who].id)
		if err != nil {
			return err
		}
		all, err := tx.TransactionsOf(user.ID, "", 1)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%s has no transaction", who)
		}
		if err == nil {
			t = all[0]
		}
		return err
	}))
	return t
}

// network makes something happen to somebody's newest transaction, as settle would.
func (r *rig) network(who string, by wallet.Happening) {
	r.t.Helper()
	t := r.newest(who)
	r.update(func(tx store.Tx) error {
		t, err := tx.Transaction(t.ID)
		if err != nil {
			return err
		}
		change := wallet.Change{By: by, At: r.Now().UTC()}
		switch by {
		case wallet.Landed, wallet.FoundOnChain, wallet.Finalized:
			signature := t.Signature
			if signature.IsZero() {
				signature = wallet.Signature{1, 2, 3}
			}
			change.Landing = &wallet.Landing{Signature: signature, Slot: 100, BlockHeight: 90, Fee: 5000, Confirmations: 1}
		case wallet.FailedOnChain:
			change.Failure, change.Reason = wallet.ChainError, "Custom program error"
			change.Landing = &wallet.Landing{Signature: t.Signature, Slot: 100, Fee: 5000, Finalized: true, Failure: "Custom"}
		case wallet.CanNeverLand:
			change.Failure, change.Reason = wallet.BlockhashExpired, "The blockhash has expired."
		}
		if t, err = store.Step(tx, t, change); err != nil {
			return err
		}
		if by != wallet.Finalized {
			return nil
		}
		to, err := tx.Wallet(t.To)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		owner, err := tx.User(to.Owner)
		if err != nil {
			return err
		}
		receipt, event, err := t.ReceiptOf(to, owner.TelegramID, r.Now().UTC())
		if err != nil {
			return err
		}
		return errors.Join(tx.CreateTransaction(receipt), tx.Emit(event))
	})
	r.settle()
}

// pass lets time go by: silent conversations end, and what was not confirmed or signed expires.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.mu.Lock()
	r.now = r.now.Add(d)
	r.mu.Unlock()
	r.must(r.chat.Silent(context.Background()))
	r.update(func(tx store.Tx) error {
		open, err := tx.UnsettledTransactions(100)
		if err != nil {
			return err
		}
		for _, t := range open {
			if (t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature) && !r.Now().Before(t.Deadline) {
				_, err = store.Step(tx, t, wallet.Change{By: wallet.TimeRanOut, At: r.Now().UTC(),
					Failure: wallet.ConfirmationExpired, Reason: "It was not confirmed or signed in time."})
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
	r.settle()
}

// listed are the well-known tokens of the sandbox.
func listed(t testing.TB) *market.Tokens {
	t.Helper()
	tokens, err := market.Listed(wallet.Localnet)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}
