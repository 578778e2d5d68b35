package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// model is what a store should hold, in maps.
type model struct {
	users        map[wallet.UserID]wallet.User
	wallets      map[wallet.Address]wallet.Wallet
	transactions map[wallet.TransactionID]wallet.Transaction
	talks        map[[2]int64]store.Conversation
	seen         map[int64]time.Time
	pending      []wallet.Event
	emitted      map[string]bool
	contacts     map[[2]string]wallet.Contact // by owner and folded name
	hooks        map[wallet.WebhookID]wallet.Webhook
	posts        map[string]store.Delivery
	announced    []wallet.Event
}

func newModel() model {
	return model{users: map[wallet.UserID]wallet.User{}, wallets: map[wallet.Address]wallet.Wallet{},
		transactions: map[wallet.TransactionID]wallet.Transaction{}, talks: map[[2]int64]store.Conversation{},
		seen: map[int64]time.Time{}, emitted: map[string]bool{},
		contacts: map[[2]string]wallet.Contact{}, hooks: map[wallet.WebhookID]wallet.Webhook{}, posts: map[string]store.Delivery{}}
}

func (m model) clone() model {
	return model{maps.Clone(m.users), maps.Clone(m.wallets), maps.Clone(m.transactions), maps.Clone(m.talks),
		maps.Clone(m.seen), slices.Clone(m.pending), maps.Clone(m.emitted),
		maps.Clone(m.contacts), maps.Clone(m.hooks), maps.Clone(m.posts), slices.Clone(m.announced)}
}

// testModel runs random store transactions, some of which fail half way, against engine and maps,
// and compares everything that can be read after each. It closes and opens the store now and then.
func testModel(t *testing.T, open Open) {
	const rounds = 300
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	folder := t.TempDir()
	s := open(t, folder)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	m := newModel()
	for round := range rounds {
		if r.IntN(60) == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, folder)
		}
		steps := make([]uint64, 1+r.IntN(6))
		for i := range steps {
			steps[i] = r.Uint64()
		}
		fails := r.IntN(4) == 0
		var next model
		err := s.Update(t.Context(), func(tx store.Tx) error {
			next = m.clone() // a closure may run again
			for _, step := range steps {
				if err := next.step(tx, rand.New(rand.NewPCG(step, 2)), round); err != nil {
					return err
				}
			}
			if fails {
				return errWanted
			}
			return nil
		})
		switch {
		case err == nil:
			m = next
		case !errors.Is(err, errWanted):
			t.Fatalf("round %d: %v", round, err)
		}
		if err := s.View(t.Context(), m.check); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

// differ compares what the engine answered with what the model expects.
func differ(what string, got, want any) error {
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return fmt.Errorf("%s:\n got %.500s\nwant %.500s", what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
}

// step does one random operation to both. It returns an error when they disagree.
func (m *model) step(tx store.Tx, r *rand.Rand, round int) error {
	switch r.IntN(14) {
	case 0:
		return m.putUser(tx, r)
	case 1:
		return m.putWallet(tx, r)
	case 2:
		return m.createTransaction(tx, r)
	case 3, 4:
		return m.putTransaction(tx, r)
	case 5:
		return m.talk(tx, r)
	case 6, 7:
		return m.updates(tx, r, round)
	case 8:
		return m.contact(tx, r)
	case 9:
		return m.hook(tx, r, round)
	case 10, 11, 12:
		return m.deliver(tx, r)
	default:
		return m.emit(tx, r)
	}
}

func (m *model) contact(tx store.Tx, r *rand.Rand) error {
	owner, name := fmt.Sprintf("usr_%d", r.IntN(4)), [...]string{"rent", "Rent", "bank", "Émile", "émile"}[r.IntN(5)]
	key := [2]string{owner, strings.ToLower(name)}
	_, there := m.contacts[key]
	if r.IntN(3) == 0 {
		var want error
		if !there {
			want = store.ErrNotFound
		}
		delete(m.contacts, key)
		return differ("delete contact", tx.DeleteContact(wallet.UserID(owner), name), want)
	}
	c := wallet.Contact{Owner: wallet.UserID(owner), Name: name, Address: wallet.Address{byte(r.IntN(9))}, AddedAt: noon()}
	m.contacts[key] = c
	return differ("put contact", tx.PutContact(c), nil)
}

// hook registers, changes and removes webhooks, and turns outbox events into deliveries.
func (m *model) hook(tx store.Tx, r *rand.Rand, round int) error {
	all := slices.Sorted(maps.Keys(m.hooks))
	switch {
	case len(all) > 0 && r.IntN(3) == 0:
		gone := all[r.IntN(len(all))]
		delete(m.hooks, gone)
		maps.DeleteFunc(m.posts, func(_ string, d store.Delivery) bool { return d.Webhook == gone })
		return differ("delete webhook", tx.DeleteWebhook(gone), nil)
	case len(m.announced) > 0 && r.IntN(2) == 0:
		list, err := tx.OutboxEvents(1)
		if err != nil {
			return err
		}
		m.announced = slices.Clone(m.announced[1:])
		return differ("done outbox event", tx.DoneOutboxEvents([]uint64{list[0].Number}), nil)
	case len(all) > 0 && r.IntN(2) == 0:
		w := m.hooks[all[r.IntN(len(all))]]
		w.CreatedAt, w.URL = noon().Add(time.Duration(r.IntN(5))*time.Second), fmt.Sprint("https://example.com/", round)
		m.hooks[w.ID] = w
		return differ("put webhook", tx.PutWebhook(w), nil)
	}
	// An id is never used again.
	w := webhook(wallet.WebhookID(fmt.Sprintf("wh_%d_%d", round, r.Uint32())), fmt.Sprint("key_", r.IntN(3)), wallet.UserID(fmt.Sprint("usr_", r.IntN(2))))
	m.hooks[w.ID] = w
	return differ("put a new webhook", tx.PutWebhook(w), nil)
}

func (m *model) deliver(tx store.Tx, r *rand.Rand) error {
	hooks, posts := slices.Sorted(maps.Keys(m.hooks)), slices.Sorted(maps.Keys(m.posts))
	if len(posts) > 0 && r.IntN(3) == 0 {
		d := m.posts[posts[r.IntN(len(posts))]]
		if r.IntN(2) == 0 {
			delete(m.posts, d.ID)
			return differ("done delivery", tx.DoneDeliveries([]store.Delivery{d}), nil)
		}
		d.Attempts, d.NextAt, d.Pause = d.Attempts+1, d.NextAt.Add(time.Second), d.Pause+time.Second
		m.posts[d.ID] = d
		return differ("reschedule", tx.Reschedule([]store.Delivery{d}), nil)
	}
	if len(hooks) == 0 {
		return nil
	}
	d := delivery(fmt.Sprint("dlv_", r.IntN(30)), hooks[r.IntN(len(hooks))], wallet.UserID(fmt.Sprint("usr_", r.IntN(4))))
	d.Urgency = store.Urgency(r.IntN(3))
	fresh, err := tx.PutDeliveries([]store.Delivery{d})
	if _, there := m.posts[d.ID]; there || err != nil || len(fresh) != 1 {
		return errors.Join(err, differ("a delivery that waits already", there && len(fresh) == 0, true))
	}
	behind := uint64(0)
	for _, other := range m.posts {
		if other.Webhook == d.Webhook && other.Urgency == d.Urgency {
			behind = max(behind, other.Seq)
		}
	}
	m.posts[d.ID] = fresh[0].Delivery
	return differ("what waited last", fresh[0].Behind, behind)
}

func (m *model) putUser(tx store.Tx, r *rand.Rand) error {
	u := user(wallet.UserID(fmt.Sprintf("usr_%d", r.IntN(4))), int64(1+r.IntN(6)))
	u.FirstName = fmt.Sprint(r.IntN(1000))
	var want error
	for id, other := range m.users {
		if id != u.ID && other.TelegramID == u.TelegramID {
			want = store.ErrConflict
		}
	}
	if want == nil {
		m.users[u.ID] = u
	}
	return differ("put user", tx.PutUser(u), want)
}

func (m *model) putWallet(tx store.Tx, r *rand.Rand) error {
	w := wallet.Wallet{Address: wallet.Address{byte(1 + r.IntN(6))}, Owner: wallet.UserID(fmt.Sprintf("usr_%d", r.IntN(3))),
		ConnectedAt: noon().Add(time.Duration(r.IntN(5)) * time.Second)}
	var want error
	if old, ok := m.wallets[w.Address]; ok && old.Owner != w.Owner {
		want = store.ErrConflict
	} else {
		m.wallets[w.Address] = w
	}
	return differ("put wallet", tx.PutWallet(w), want)
}

func (m *model) createTransaction(tx store.Tx, r *rand.Rand) error {
	t := transaction(r.IntN(30), wallet.UserID(fmt.Sprintf("usr_%d", r.IntN(3))), byte(1+r.IntN(3)))
	var want error
	if _, ok := m.transactions[t.ID]; ok {
		want = store.ErrConflict
	} else {
		kept := t
		kept.Version = 1
		m.transactions[t.ID] = kept
	}
	return differ("create transaction", tx.CreateTransaction(t), want)
}

func (m *model) putTransaction(tx store.Tx, r *rand.Rand) error {
	id := wallet.TransactionID(fmt.Sprintf("tx_%03d", r.IntN(30)))
	t, ok := m.transactions[id]
	if !ok {
		return differ("put what is not there", tx.PutTransaction(wallet.Transaction{ID: id}), store.ErrNotFound)
	}
	if r.IntN(4) == 0 {
		t.Version--
		return differ("put a stale one", tx.PutTransaction(t), store.ErrConflict)
	}
	for _, other := range slices.Sorted(maps.Keys(m.transactions)) {
		if o := m.transactions[other]; other != id && o.SignID != "" && r.IntN(4) == 0 { // refused, without a trace
			t.SignID, t.Signature, t.Closed = o.SignID, wallet.Signature{9}, !t.Closed
			return differ("put a sign id that is taken", tx.PutTransaction(t), store.ErrConflict)
		}
	}
	t.Closed = r.IntN(3) == 0
	t.SignID = [...]string{"", "s1", "s2", "s3"}[r.IntN(4)]
	t.Signature = wallet.Signature{byte(r.IntN(4))}
	t.Kind, t.To = wallet.Send, wallet.Address{byte(r.IntN(5))}
	t.Status = [...]wallet.Status{wallet.Pending, wallet.Confirmed, wallet.Failed}[r.IntN(3)]
	t.From = wallet.Address{byte(1 + r.IntN(3))}
	for other, o := range m.transactions {
		if other == id {
			continue
		}
		if t.SignID != "" && o.SignID == t.SignID {
			t.SignID = m.transactions[id].SignID
		}
		if !t.Signature.IsZero() && o.Signature == t.Signature {
			t.Signature = m.transactions[id].Signature
		}
	}
	kept := t
	kept.Version++
	m.transactions[id] = kept
	return differ("put transaction", tx.PutTransaction(t), nil)
}

func (m *model) talk(tx store.Tx, r *rand.Rand) error {
	who := [2]int64{int64(r.IntN(3)), int64(1 + r.IntN(3))}
	c := m.talks[who]
	c.Chat, c.User = who[0], who[1]
	if r.IntN(4) == 0 {
		c.Version += 5
		return differ("put a stale conversation", tx.PutConversation(c), store.ErrConflict)
	}
	c.State, c.Data = [...]string{"", "review", "signing"}[r.IntN(3)], []byte(fmt.Sprint(r.IntN(100)))
	c.ExpiresAt = noon().Add(time.Duration(r.IntN(5)) * time.Second)
	kept := c
	if c.State == "" {
		kept = store.Conversation{Chat: c.Chat, User: c.User, Version: c.Version}
	}
	kept.Version++
	m.talks[who] = kept
	return differ("put conversation", tx.PutConversation(c), nil)
}

func (m *model) updates(tx store.Tx, r *rand.Rand, round int) error {
	now, id := noon().Add(time.Duration(round)*time.Hour), int64(r.IntN(20))
	at, known := m.seen[id]
	known = known && now.Before(at.Add(store.SeenFor))
	got, err := tx.NoteUpdate(now, id)
	if !known {
		m.seen[id] = now
	}
	return errors.Join(err, differ("a seen update", got, known))
}

func (m *model) emit(tx store.Tx, r *rand.Rand) error {
	if len(m.pending) > 0 && r.IntN(2) == 0 {
		i := r.IntN(len(m.pending))
		id := m.pending[i].ID
		m.pending = slices.Delete(slices.Clone(m.pending), i, i+1)
		return differ("done event", doneEvent(tx, id), nil)
	}
	e := event(fmt.Sprintf("evt_%d", r.IntN(60)))
	e.Name = [...]wallet.EventName{wallet.UserRegistered, wallet.MessageReceived, wallet.TransactionSigned}[r.IntN(3)]
	notified, announced := e.Name != wallet.MessageReceived, e.Name != wallet.TransactionSigned && len(m.hooks) > 0
	if !m.emitted[e.ID] && (notified || announced) {
		m.emitted[e.ID] = true
		if notified {
			m.pending = append(m.pending, e)
		}
		if announced {
			m.announced = append(m.announced, e)
		}
	}
	return differ("emit", tx.Emit(e), nil)
}
