package webhooks_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"purser/quota"
	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/store/storetest"
	"purser/wallet"
	"purser/webhooks"
	"purser/work"
)

// sent is one attempt, as its receiver sees it.
type sent struct {
	at      time.Time
	url     string
	eventID string
	body    string
}

// harness is a service over a real store and log, inside a bubble of testing/synctest: its receivers are
// functions, its clock is the bubble's.
type harness struct {
	*testing.T
	dir     string
	store   *records.Store
	log     *records.Log
	service *webhooks.Service
	stop    func()
	limit   uint64 // of an hour

	mu      sync.Mutex
	sent    []sent
	answers map[string]func(webhooks.Message) webhooks.Result // by URL; others answer 200
	serial  int
}

// transportFunc is a webhooks.Transport from a function.
type transportFunc func(context.Context, webhooks.Message) webhooks.Result

// Post implements webhooks.Transport.
func (f transportFunc) Post(ctx context.Context, m webhooks.Message) webhooks.Result {
	return f(ctx, m)
}

// inBubble runs a test with a harness.
func inBubble(t *testing.T, test func(*harness)) {
	synctest.Test(t, func(t *testing.T) {
		r := &harness{T: t, dir: t.TempDir(), limit: 10_000, answers: map[string]func(webhooks.Message) webhooks.Result{}}
		r.open()
		defer r.close()
		test(r)
	})
}

func (r *harness) open() {
	r.Helper()
	var err error
	r.store, err = local.Open(local.Options{Path: filepath.Join(r.dir, "purser.db"), MasterKey: bytes.Repeat([]byte{7}, store.MasterKeySize), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		r.Fatal(err)
	}
	if r.log, err = local.OpenLog(filepath.Join(r.dir, "log"), r.store); err != nil {
		r.Fatal(err)
	}
	meter := &quota.Meter{Store: r.store, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	r.service = &webhooks.Service{Store: r.store, Node: "main", Poll: time.Hour, Log: r.log, Transport: transportFunc(r.post), Meter: meter, Now: time.Now,
		Limit:     quota.Limit{Count: r.limit, Span: time.Hour},
		Schedule:  work.Schedule{Waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second}},
		Retention: 72 * time.Hour, Logger: slog.New(slog.DiscardHandler)}
}

// run starts the service; restart and close stop it.
func (r *harness) run() {
	r.update(func(tx store.Tx) error { return tx.ReleaseNode("main") })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.service.Meter.Run(ctx) }()
	go func() { ended <- r.service.Run(ctx) }()
	r.stop = func() {
		r.stop = nil
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				r.Errorf("ended with %v", err)
			}
		}
	}
	synctest.Wait()
}

func (r *harness) close() {
	if r.stop != nil {
		r.stop()
	}
	if err := r.log.Close(); err != nil {
		r.Error(err)
	}
	if err := r.store.Close(); err != nil {
		r.Error(err)
	}
}

// restart is a stop and a start of the process.
func (r *harness) restart() {
	r.close()
	r.open()
	r.run()
}

func (r *harness) post(ctx context.Context, m webhooks.Message) webhooks.Result {
	r.mu.Lock()
	r.sent = append(r.sent, sent{time.Now(), m.URL, m.EventID, string(m.Body)})
	answer := r.answers[m.URL]
	r.mu.Unlock()
	if answer == nil {
		return webhooks.Result{Status: 200}
	}
	return answer(m)
}

// quiet waits until all that can go has gone, and is written.
func (r *harness) quiet() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// took is what the receivers were sent since the last look.
func (r *harness) took() []sent {
	r.quiet()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.sent
	r.sent = nil
	return out
}

func (r *harness) update(change func(store.Tx) error) {
	r.Helper()
	if err := r.store.Update(context.Background(), change); err != nil {
		r.Fatal(err)
	}
}

// id makes a name that no other row has.
func (r *harness) id(prefix string) string {
	r.serial++
	return fmt.Sprintf("%s_%d", prefix, r.serial)
}

func (r *harness) person() wallet.UserID {
	id := wallet.UserID(r.id("usr"))
	r.update(func(tx store.Tx) error {
		return tx.PutUser(wallet.User{ID: id, TelegramID: int64(1000 + r.serial), RegisteredAt: time.Now().UTC()})
	})
	return id
}

// key makes a key of an owner that may have webhooks.
func (r *harness) key(owner wallet.UserID, kind wallet.KeyKind, change ...func(*wallet.Key)) wallet.Key {
	k := wallet.Key{ID: r.id("key"), Kind: kind, Tier: wallet.ProTier, Scopes: wallet.Scopes(), Owner: owner, CreatedAt: time.Now().UTC()}
	if owner != "" {
		k.App = wallet.AppID(r.id("app"))
		r.update(func(tx store.Tx) error {
			return tx.PutApp(wallet.App{ID: k.App, Owner: owner, Name: "Shop", CreatedAt: time.Now().UTC()})
		})
	}
	for _, c := range change {
		c(&k)
	}
	r.update(func(tx store.Tx) error { return tx.CreateKey(k, "secret of "+k.ID) })
	return k
}

// subscriber is a person with a webhook that gets all events of theirs.
func (r *harness) subscriber() (wallet.UserID, wallet.Webhook) {
	r.Helper()
	person := r.person()
	return person, r.hook(r.key(person, wallet.APIKey), "*")
}

func (r *harness) hook(k wallet.Key, events ...string) wallet.Webhook {
	w := wallet.Webhook{ID: wallet.WebhookID(r.id("wh")), Kind: k.Kind, Lineage: k.Lineage(), Owner: k.Owner, Events: events, Active: true,
		Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC()}
	w.URL = "https://example.com/" + string(w.ID)
	r.update(func(tx store.Tx) error { return tx.PutWebhook(w) })
	return w
}

func (r *harness) grant(who wallet.UserID, k wallet.Key, scopes ...wallet.Scope) {
	r.update(func(tx store.Tx) error {
		return tx.PutGrant(wallet.Grant{User: who, App: k.App, Scopes: scopes, GrantedAt: time.Now().UTC()})
	})
}

// answer has a webhook's receiver answer so.
func (r *harness) answer(w wallet.Webhook, answer func(webhooks.Message) webhooks.Result) {
	r.mu.Lock()
	r.answers[w.URL] = answer
	r.mu.Unlock()
}

func (r *harness) emit(events ...wallet.Event) {
	r.Helper()
	r.update(func(tx store.Tx) error { return tx.Emit(events...) })
}

// paid is a transaction.confirmed of a wallet, named by one byte.
func (r *harness) paid(user wallet.UserID, of byte) wallet.Event {
	return r.event(user, wallet.TransactionConfirmed, wallet.TransactionConfirmedData{TransactionID: wallet.TransactionID(r.id("tx")),
		WalletAddress: wallet.Address{of}, Amount: "1", Token: "SOL", Fee: "0.000005", Type: wallet.ActivitySent, Confirmations: 1, ConfirmedAt: wallet.Timestamp(time.Now())})
}

func (r *harness) event(user wallet.UserID, name wallet.EventName, data any) wallet.Event {
	r.Helper()
	e, err := wallet.NewEvent(r.id("evt"), name, time.Now().UTC(), user, data)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// logged is a webhook's log, oldest first.
func (r *harness) logged(w wallet.Webhook) []store.LogEntry {
	r.Helper()
	r.quiet()
	list, err := r.log.List(context.Background(), w.ID, store.LogPage{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (r *harness) states(w wallet.Webhook) map[store.DeliveryState]int {
	out := map[store.DeliveryState]int{}
	for _, e := range r.logged(w) {
		out[e.State]++
	}
	return out
}

// after lists the times of attempts, in seconds from the first.
func after(all []sent) []float64 {
	var out []float64
	for _, s := range all {
		out = append(out, s.at.Sub(all[0].at).Seconds())
	}
	return out
}

func ids(all []sent) []string {
	var out []string
	for _, s := range all {
		out = append(out, s.eventID)
	}
	return out
}

func fails(status int) func(webhooks.Message) webhooks.Result {
	return func(webhooks.Message) webhooks.Result {
		return webhooks.Result{Status: status, Reason: wallet.Because("attempt.no_connection")}
	}
}

// told counts events that wait for notify.
func (r *harness) told(name wallet.EventName) int {
	r.quiet()
	n := 0
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		list, err := tx.PendingEvents(1000)
		for _, e := range list {
			if e.Name == name {
				n++
			}
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// damage cuts every row of a bucket of the store's file, or those of some keys.
func (r *harness) damage(bucket string, only ...string) {
	r.Helper()
	db, err := bbolt.Open(filepath.Join(r.dir, "purser.db"), 0o600, nil)
	if err != nil {
		r.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte(bucket))
		var keys [][]byte
		err := b.ForEach(func(key, _ []byte) error {
			if len(only) == 0 || slices.Contains(only, string(key)) {
				keys = append(keys, bytes.Clone(key))
			}
			return nil
		})
		for _, key := range keys {
			err = errors.Join(err, b.Put(key, []byte{1, 2, 3}))
		}
		if len(keys) == 0 {
			return errors.New("nothing to damage")
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		r.Fatal(err)
	}
}

// comes checks what receivers were sent since the last look.
func (r *harness) comes(want ...string) {
	r.Helper()
	if got := ids(r.took()); !slices.Equal(got, want) {
		r.Errorf("came %v, not %v", got, want)
	}
}
