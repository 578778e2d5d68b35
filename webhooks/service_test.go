package webhooks_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"purser/handlers"
	"purser/quota"
	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/wallet"
	"purser/webhooks"
)

// sent is one attempt, as its receiver sees it.
type sent struct {
	at      time.Time
	url     string
	eventID string
	body    string
}

// rig is a service over a real store and log, inside a bubble of testing/synctest: its receivers are
// functions, its clock is the bubble's.
type rig struct {
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

// inBubble runs a test with a rig.
func inBubble(t *testing.T, test func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, dir: t.TempDir(), limit: 10_000, answers: map[string]func(webhooks.Message) webhooks.Result{}}
		r.open()
		defer r.close()
		test(r)
	})
}

func (r *rig) open() {
	r.Helper()
	var err error
	r.store, err = local.Open(local.Options{Path: filepath.Join(r.dir, "purser.db"), MasterKey: bytes.Repeat([]byte{7}, store.MasterKeySize), Random: rand.Reader})
	if err != nil {
		r.Fatal(err)
	}
	if r.log, err = local.OpenLog(filepath.Join(r.dir, "log"), r.store); err != nil {
		r.Fatal(err)
	}
	meter := &quota.Meter{Store: r.store, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	r.service = &webhooks.Service{Store: r.store, Log: r.log, Post: r.post, Meter: meter, Now: time.Now,
		Limit:     quota.Limit{Count: r.limit, Span: time.Hour},
		Schedule:  []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second},
		Retention: 72 * time.Hour, Logger: slog.New(slog.DiscardHandler)}
}

// run starts the service; restart and close stop it.
func (r *rig) run() {
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

func (r *rig) close() {
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
func (r *rig) restart() {
	r.close()
	r.open()
	r.run()
}

func (r *rig) post(ctx context.Context, m webhooks.Message) webhooks.Result {
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
func (r *rig) quiet() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// took is what the receivers were sent since the last look.
func (r *rig) took() []sent {
	r.quiet()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.sent
	r.sent = nil
	return out
}

func (r *rig) update(change func(store.Tx) error) {
	r.Helper()
	if err := r.store.Update(context.Background(), change); err != nil {
		r.Fatal(err)
	}
}

// id makes a name that no other row has.
func (r *rig) id(prefix string) string {
	r.serial++
	return fmt.Sprintf("%s_%d", prefix, r.serial)
}

func (r *rig) person() wallet.UserID {
	id := wallet.UserID(r.id("usr"))
	r.update(func(tx store.Tx) error {
		return tx.PutUser(wallet.User{ID: id, TelegramID: int64(1000 + r.serial), RegisteredAt: time.Now().UTC()})
	})
	return id
}

// key makes a key of an owner that may have webhooks.
func (r *rig) key(owner wallet.UserID, kind wallet.KeyKind, change ...func(*wallet.Key)) wallet.Key {
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
func (r *rig) subscriber() (wallet.UserID, wallet.Webhook) {
	r.Helper()
	person := r.person()
	return person, r.hook(r.key(person, wallet.APIKey), "*")
}

func (r *rig) hook(k wallet.Key, events ...string) wallet.Webhook {
	w := wallet.Webhook{ID: wallet.WebhookID(r.id("wh")), Kind: k.Kind, Lineage: k.Lineage(), Owner: k.Owner, Events: events, Active: true,
		Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), UpdatedAt: time.Now().UTC()}
	w.URL = "https://example.com/" + string(w.ID)
	r.update(func(tx store.Tx) error { return tx.PutWebhook(w) })
	return w
}

func (r *rig) grant(who wallet.UserID, k wallet.Key, scopes ...wallet.Scope) {
	r.update(func(tx store.Tx) error {
		return tx.PutGrant(wallet.Grant{User: who, App: k.App, Scopes: scopes, GrantedAt: time.Now().UTC()})
	})
}

// answer has a webhook's receiver answer so.
func (r *rig) answer(w wallet.Webhook, answer func(webhooks.Message) webhooks.Result) {
	r.mu.Lock()
	r.answers[w.URL] = answer
	r.mu.Unlock()
}

func (r *rig) emit(events ...wallet.Event) {
	r.Helper()
	r.update(func(tx store.Tx) error { return tx.Emit(events...) })
}

// paid is a transaction.confirmed of a wallet, named by one byte.
func (r *rig) paid(user wallet.UserID, of byte) wallet.Event {
	return r.event(user, wallet.TransactionConfirmed, wallet.TransactionConfirmedData{TransactionID: wallet.TransactionID(r.id("tx")),
		WalletAddress: wallet.Address{of}, Amount: "1", Token: "SOL", Fee: "0.000005", Type: wallet.Send, Confirmations: 1, ConfirmedAt: wallet.Timestamp(time.Now())})
}

func (r *rig) event(user wallet.UserID, name wallet.EventName, data any) wallet.Event {
	r.Helper()
	e, err := wallet.NewEvent(r.id("evt"), name, time.Now().UTC(), user, data)
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// logged is a webhook's log, oldest first.
func (r *rig) logged(w wallet.Webhook) []store.LogEntry {
	r.Helper()
	r.quiet()
	list, err := r.log.List(context.Background(), w.ID, store.LogPage{Limit: 1000})
	if err != nil {
		r.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (r *rig) states(w wallet.Webhook) map[store.DeliveryState]int {
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

// TestAnEventIsDelivered: signed bytes, once, and the log says so.
func TestAnEventIsDelivered(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice := r.person()
		hook := r.hook(r.key(alice, wallet.APIKey), "transaction.*")
		other := r.hook(r.key(r.person(), wallet.APIKey), "*")
		r.run()
		e := r.paid(alice, 1)
		r.emit(e)
		got := r.took()
		if len(got) != 1 || got[0].url != hook.URL || got[0].eventID != e.ID {
			t.Fatalf("sent %+v", got)
		}
		var body struct {
			Event     string          `json:"event"`
			Data      json.RawMessage `json:"data"`
			Timestamp string          `json:"timestamp"`
		}
		if err := json.Unmarshal([]byte(got[0].body), &body); err != nil || body.Event != "transaction.confirmed" ||
			string(body.Data) != string(e.Data) || body.Timestamp != wallet.Timestamp(e.At) {
			t.Errorf("body %s (%v)", got[0].body, err)
		}
		if log := r.logged(hook); len(log) != 1 || log[0].State != store.DeliveryDelivered || len(log[0].Attempted) != 1 || log[0].Attempted[0].Status != 200 {
			t.Errorf("log %+v", log)
		}
		if log := r.logged(other); len(log) != 0 {
			t.Errorf("another's log %+v", log)
		}
		r.restart()
		if again := r.took(); len(again) != 0 {
			t.Errorf("after a restart: %+v", again)
		}
	})
}

// TestScheduleOfAttempts is docs/specification.md, Limits: at once, then after 1, 2, 4, 8 and 16 s; then the delivery
// is parked and its owner told, once for a row of failures.
func TestScheduleOfAttempts(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(503))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		got := r.took()
		if want := []float64{0, 1, 3, 7, 15, 31}; !slices.Equal(after(got), want) {
			t.Errorf("attempts after %v s, want %v", after(got), want)
		}
		for _, s := range got {
			if s.body != got[0].body || s.eventID != got[0].eventID {
				t.Errorf("another body or id: %+v", s)
			}
		}
		if log := r.logged(hook); len(log) != 1 || log[0].State != store.DeliveryDeadLettered || len(log[0].Attempted) != 6 {
			t.Errorf("log %+v", log)
		}
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		if told := r.told(wallet.WebhookDeadLettered); told != 1 {
			t.Errorf("the owner is told %d times", told)
		}
		r.answer(hook, nil)
		r.emit(r.paid(alice, 1))
		r.took()
		time.Sleep(time.Hour) // nobody is told oftener than every ten minutes
		r.answer(hook, fails(500))
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		if told := r.told(wallet.WebhookDeadLettered); told != 2 {
			t.Errorf("after a success in between the owner is told %d times", told)
		}
	})
}

// told counts events that wait for notify.
func (r *rig) told(name wallet.EventName) int {
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

// TestWhatIsTriedAgain: which answers end a delivery, and that Retry-After only lengthens.
func TestWhatIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		result   webhooks.Result
		attempts []float64
		state    store.DeliveryState
	}{
		{webhooks.Result{Status: 204}, []float64{0}, store.DeliveryDelivered},
		{webhooks.Result{Status: 400}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Status: 302}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Forbidden: true}, []float64{0}, store.DeliveryDeadLettered},
		{webhooks.Result{Status: 429, RetryAfter: 5 * time.Second}, []float64{0, 5, 10, 15, 23, 39}, store.DeliveryDeadLettered},
		{webhooks.Result{Reason: wallet.Because("attempt.no_connection")}, []float64{0, 1, 3, 7, 15, 31}, store.DeliveryDeadLettered},
	} {
		t.Run(fmt.Sprint(c.result.Status, c.result.Forbidden), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				alice, hook := r.subscriber()
				r.answer(hook, func(webhooks.Message) webhooks.Result { return c.result })
				r.run()
				r.emit(r.paid(alice, 1))
				time.Sleep(2 * time.Minute)
				if got := after(r.took()); !slices.Equal(got, c.attempts) {
					t.Errorf("attempts after %v s, want %v", got, c.attempts)
				}
				if states := r.states(hook); states[c.state] != 1 {
					t.Errorf("states %v", states)
				}
			})
		})
	}
}

// TestAScheduleSurvivesARestart: what was attempted goes on where it was, with its log whole.
func TestAScheduleSurvivesARestart(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(500))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(5 * time.Second) // attempts at 0, 1 and 3 s
		first := r.took()
		r.restart()
		time.Sleep(2 * time.Minute)
		all := append(first, r.took()...)
		if got := after(all); !slices.Equal(got, []float64{0, 1, 3, 7, 15, 31}) {
			t.Errorf("attempts after %v s", got)
		}
		if log := r.logged(hook); len(log) != 1 || len(log[0].Attempted) != 6 {
			t.Errorf("log %+v", log)
		}
	})
}

// TestOrderHoldsForEachWallet: while one wallet's event waits for its next attempt, no later one of that
// wallet goes, and those of others do.
func TestOrderHoldsForEachWallet(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		a1, a2, b1, b2 := r.paid(alice, 'a'), r.paid(alice, 'a'), r.paid(alice, 'b'), r.paid(alice, 'b')
		failed := 0
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == a1.ID && failed < 2 {
				failed++
				return webhooks.Result{Status: 500}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(a1, a2, b1, b2)
		if got := ids(r.took()); len(got) != 3 || slices.Contains(got, a2.ID) || slices.Index(got, b1.ID) > slices.Index(got, b2.ID) {
			t.Errorf("at once: %v", got)
		}
		time.Sleep(time.Minute)
		if got, want := ids(r.took()), []string{a1.ID, a1.ID, a2.ID}; !slices.Equal(got, want) {
			t.Errorf("then %v, want %v", got, want)
		}
	})
}

// TestWhoseEvents walks docs/webhooks.md, Whose events, at the making of a delivery.
func TestWhoseEvents(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, bob, carol := r.person(), r.person(), r.person()
		own := r.hook(r.key(alice, wallet.APIKey), "*")
		dev := r.key(bob, wallet.APIKey)
		devs := r.hook(dev, "*")
		r.grant(alice, dev, wallet.WalletRead)
		operators := r.hook(r.key("", wallet.APIKey), "*")
		free := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Tier = wallet.FreeTier }), "*")
		scopeless := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Scopes = nil }), "*")
		revoked := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.RevokedAt = time.Now() }), "*")
		expired := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.ExpiresAt = time.Now() }), "*")
		uninterested := r.hook(r.key(alice, wallet.APIKey), "stake.*", "price.alert")
		blind := r.hook(r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Scopes = []wallet.Scope{wallet.Webhooks} }), "*")
		weak := r.key(bob, wallet.APIKey)
		weaks := r.hook(weak, "*")
		r.grant(alice, weak, wallet.WalletSend)
		bots := r.hook(r.key(alice, wallet.BotKey), "*")
		appless := r.hook(r.key(bob, wallet.APIKey, func(k *wallet.Key) { k.App = "" }), "*")
		r.run()

		// paid: transaction.confirmed, change: price.significant_change, met: user.registered
		paid := r.paid(alice, 1)
		others := r.paid(carol, 2)
		change := r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: "SOL", Timeframe: "1h"})
		met := r.event(alice, wallet.UserRegistered, wallet.UserRegisteredData{ChatID: "1"})
		r.emit(paid, others, change, met)
		got := map[string][]string{}
		for _, s := range r.took() {
			got[s.url] = append(got[s.url], s.eventID)
		}
		for _, c := range []struct {
			name string
			hook wallet.Webhook
			want []string
		}{
			{"the owner's", own, []string{paid.ID, change.ID}},
			{"an app's that she allows it", devs, []string{paid.ID, change.ID}},
			{"an operator's", operators, []string{paid.ID, others.ID, change.ID}},
			{"of the free tier", free, nil},
			{"without the scope", scopeless, nil},
			{"of a key that may not read wallets", blind, []string{change.ID}},
			{"of a revoked key", revoked, nil},
			{"of an expired key", expired, nil},
			{"for other events", uninterested, nil},
			{"an app's that she allows something else", weaks, []string{change.ID}},
			{"the owner's bot token's", bots, []string{met.ID}},
			{"of a key without an app", appless, []string{change.ID}},
		} {
			have := got[c.hook.URL]
			slices.Sort(have)
			slices.Sort(c.want)
			if !slices.Equal(have, c.want) {
				t.Errorf("%s: %v, want %v", c.name, have, c.want)
			}
		}
	})
}

// TestWhatIsTakenBackStopsDeliveries: consent, key, tier and activity are asked for again before each attempt.
func TestWhatIsTakenBackStopsDeliveries(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *rig, tx store.Tx, alice wallet.UserID, k wallet.Key, w wallet.Webhook) error
		want   store.DeliveryState
	}{
		"the grant": {func(_ *rig, tx store.Tx, alice wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			return tx.DeleteGrant(alice, k.App)
		}, store.DeliveryRevoked},
		"the key": {func(_ *rig, tx store.Tx, _ wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			k.RevokedAt = time.Now()
			return tx.PutKey(k)
		}, store.DeliveryRevoked},
		"the tier": {func(_ *rig, tx store.Tx, _ wallet.UserID, k wallet.Key, _ wallet.Webhook) error {
			k.Tier = wallet.FreeTier
			return tx.PutKey(k)
		}, store.DeliveryRevoked},
		"the webhook is turned off": {func(_ *rig, tx store.Tx, _ wallet.UserID, _ wallet.Key, w wallet.Webhook) error {
			w.Active = false
			return tx.PutWebhook(w)
		}, store.DeliveryDeadLettered},
		"the webhook is removed": {func(_ *rig, tx store.Tx, _ wallet.UserID, _ wallet.Key, w wallet.Webhook) error {
			return tx.DeleteWebhook(w.ID)
		}, ""},
		"the person is erased": {func(_ *rig, tx store.Tx, alice wallet.UserID, _ wallet.Key, _ wallet.Webhook) error {
			return tx.EraseUser(alice)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				alice := r.person()
				k := r.key(r.person(), wallet.APIKey)
				hook := r.hook(k, "*")
				r.grant(alice, k, wallet.WalletRead)
				r.answer(hook, fails(500))
				r.run()
				r.emit(r.paid(alice, 1))
				if got := r.took(); len(got) != 1 {
					t.Fatalf("before: %v", got)
				}
				r.update(func(tx store.Tx) error { return c.change(r, tx, alice, k, hook) })
				r.emit(r.paid(alice, 1))
				time.Sleep(2 * time.Minute)
				if got := r.took(); len(got) != 0 {
					t.Errorf("afterwards %d attempts", len(got))
				}
				if states := r.states(hook); c.want != "" && states[c.want] != 1 {
					t.Errorf("states %v", states)
				}
				for _, e := range r.logged(hook) {
					one, err := r.log.Logged(context.Background(), hook.ID, e.ID)
					if err == nil && one.State == store.DeliveryRevoked && len(one.Body) > 0 {
						t.Errorf("what was withdrawn can be read")
					}
				}
			})
		})
	}
}

// TestTheLimitOfAnHourDelays: what is over it comes later, in order, and nothing is dropped.
func TestTheLimitOfAnHourDelays(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		r.run()
		var want []string
		for range 150 {
			e := r.paid(alice, 1)
			want = append(want, e.ID)
			r.emit(e)
		}
		at := r.took()
		if len(at) != 60 {
			t.Errorf("at once %d", len(at))
		}
		time.Sleep(4 * time.Hour)
		at = append(at, r.took()...)
		if !slices.Equal(ids(at), want) {
			t.Errorf("%d of %d came, or in another order", len(at), len(want))
		}
		for i := range at {
			if i >= 60 && at[i].at.Sub(at[i-60].at) < time.Hour {
				t.Errorf("61 within %s", at[i].at.Sub(at[i-60].at))
			}
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 150 {
			t.Errorf("states %v", states)
		}
	})
}

// TestAnotherSpellingOfAnAddressBeginsNoNewHour: the query, the default port and the case of the host name the same
// receiver, whoever changes them; another path is another receiver.
func TestAnotherSpellingOfAnAddressBeginsNoNewHour(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		r.run()
		spent := func() (sent int) {
			r.Helper()
			for range 61 {
				r.emit(r.paid(alice, 1))
			}
			return len(r.took())
		}
		move := func(address string) {
			r.Helper()
			hook.URL = address
			r.update(func(tx store.Tx) error { return tx.PutWebhook(hook) })
			r.service.Wake(hook.ID)
			time.Sleep(2 * time.Second)
		}
		move("https://example.com/hook")
		if n := spent(); n != 60 {
			t.Fatalf("%d of the hour went", n)
		}
		for _, same := range []string{"https://example.com/hook?x=1", "https://EXAMPLE.com./hook", "https://example.com:443/hook?", "https://example.com/%68ook",
			"https://example.com/a/../hook/", "https://example.com:0443//hook?a=b&c"} {
			move(same)
			if n := len(r.took()); n != 0 {
				t.Errorf("%s: %d more went in the same hour", same, n)
			}
			if delay, err := r.service.Delay(context.Background(), hook); err != nil || delay <= 0 || delay > time.Hour+time.Minute {
				t.Errorf("%s: room in %s (%v)", same, delay, err)
			}
			if used, limit, err := r.service.Used(context.Background(), hook); used != 60 || limit != 60 || err != nil {
				t.Errorf("%s: %d of %d (%v)", same, used, limit, err)
			}
		}
		for _, other := range []string{"https://example.com/other", "https://example.com:8443/hook", "https://hooks.example.com/hook"} {
			if delay, err := r.service.Delay(context.Background(), wallet.Webhook{Lineage: hook.Lineage, URL: other}); err != nil || delay != 0 {
				t.Errorf("%s: room in %s (%v)", other, delay, err)
			}
		}
	})
}

// TestMoneyGoesFirst: when a receiver cannot take all at once, transactions overtake prices.
func TestMoneyGoesFirst(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice := r.person()
		r.hook(r.key(alice, wallet.APIKey), "*")
		r.limit = 60
		r.restart()
		for range 59 {
			r.emit(r.paid(alice, 1))
		}
		r.took()
		r.close()
		r.open()
		for range 5 {
			r.emit(r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: r.id("T")}))
		}
		paid := r.paid(alice, 1)
		r.emit(paid)
		r.run()
		time.Sleep(2 * time.Hour)
		if got := ids(r.took()); len(got) != 6 || got[0] != paid.ID {
			t.Errorf("went %v, want %s first", got, paid.ID)
		}
	})
}

// TestANewerBalanceTakesThePlaceOfAnOlderOne, where neither was attempted; nothing else is left out.
func TestANewerBalanceTakesThePlaceOfAnOlderOne(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		balance := func(of byte) wallet.Event {
			return r.event(alice, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: wallet.Address{of}})
		}
		release := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-release
			return webhooks.Result{Status: 200}
		})
		r.run()
		a1, a2, a3, b1 := balance('a'), balance('a'), balance('a'), balance('b')
		p1, p2 := r.paid(alice, 'a'), r.paid(alice, 'a')
		r.emit(a1)
		r.took()
		r.emit(a2, a3, b1, p1, p2)
		synctest.Wait()
		close(release)
		got := ids(r.took())
		if slices.Contains(got, a2.ID) || !slices.Contains(got, a3.ID) || !slices.Contains(got, b1.ID) || !slices.Contains(got, p1.ID) || !slices.Contains(got, p2.ID) {
			t.Errorf("sent %v", got)
		}
		if states := r.states(hook); states[store.DeliverySuperseded] != 1 || states[store.DeliveryDelivered] != 5 {
			t.Errorf("states %v", states)
		}
	})
}

// TestNoBalanceTakesThePlaceOfAnotherPersons, though both have the same address: each may be withdrawn alone.
func TestNoBalanceTakesThePlaceOfAnotherPersons(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, bob := r.person(), r.person()
		hook := r.hook(r.key("", wallet.APIKey), "*")
		release := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-release
			return webhooks.Result{Status: 200}
		})
		r.run()
		var want []string
		for _, who := range []wallet.UserID{alice, bob, alice} {
			e := r.event(who, wallet.BalanceUpdated, wallet.BalanceUpdatedData{WalletAddress: wallet.Address{'a'}})
			want = append(want, e.ID)
			r.emit(e)
		}
		synctest.Wait()
		close(release)
		if got := ids(r.took()); !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v", got, want)
		}
	})
}

// TestAnOwnerIsToldOfTroubleSeldom: of a receiver that works and fails in turns once in ten minutes at most, and
// of an outage that lasts all the same.
func TestAnOwnerIsToldOfTroubleSeldom(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.run()
		for range 5 {
			r.answer(hook, fails(400))
			r.emit(r.paid(alice, 1))
			r.took()
			r.answer(hook, nil)
			r.emit(r.paid(alice, 1))
			r.took()
			time.Sleep(time.Minute)
		}
		if told := r.told(wallet.WebhookDeadLettered); told != 1 {
			t.Errorf("told %d times of what comes and goes", told)
		}
		r.answer(hook, fails(400))
		for range 3 {
			r.emit(r.paid(alice, 1))
			time.Sleep(4 * time.Minute)
		}
		if told := r.told(wallet.WebhookDeadLettered); told != 2 {
			t.Errorf("told %d times, with an outage that lasts", told)
		}
	})
}

// TestABrokenReceiverIsAskedSparingly: after a row of failures one delivery at a time is on its way, new ones
// wait with all their attempts, and when the receiver is back everything comes, in order.
func TestABrokenReceiverIsAskedSparingly(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(502))
		r.run()
		var all []wallet.Event
		for i := range 100 {
			all = append(all, r.paid(alice, byte(i)))
		}
		r.emit(all...)
		time.Sleep(time.Minute)
		if n := len(r.took()); n > (64+10)*6+12 { // those that were on their way when it was noticed
			t.Errorf("%d attempts in the first minute", n)
		}
		time.Sleep(5 * time.Minute)
		if n := len(r.took()); n > 5*60/31*6+6 {
			t.Errorf("%d attempts in the five minutes after it", n)
		}
		r.answer(hook, nil)
		time.Sleep(time.Minute)
		states := r.states(hook)
		if states[store.DeliveryWaiting] != 0 || states[store.DeliveryDelivered] == 0 || states[store.DeliveryDelivered]+states[store.DeliveryDeadLettered] != 100 {
			t.Errorf("states %v", states)
		}
	})
}

// TestAReceiverThatIsGoneIsTurnedOff by 410 at once, and by nothing but failures after three days.
func TestAReceiverThatIsGoneIsTurnedOff(t *testing.T) {
	for _, c := range []struct {
		status int
		wait   time.Duration
		ended  wallet.Ending
	}{{410, time.Minute, wallet.EndedGone}, {500, 80 * time.Hour, wallet.EndedFailing}, {500, 60 * time.Hour, ""}} {
		t.Run(fmt.Sprint(c.status, c.wait), func(t *testing.T) {
			inBubble(t, func(r *rig) {
				alice, hook := r.subscriber()
				r.answer(hook, fails(c.status))
				r.run()
				for range int(c.wait/time.Hour) + 1 {
					r.emit(r.paid(alice, 1))
					time.Sleep(min(time.Hour, c.wait))
				}
				synctest.Wait()
				var now wallet.Webhook
				err := r.store.View(context.Background(), func(tx store.Tx) (err error) {
					now, err = tx.Webhook(hook.ID)
					return err
				})
				if err != nil || now.Ended != c.ended || now.Active != (c.ended == "") {
					t.Errorf("%+v (%v)", now, err)
				}
				if told := r.told(wallet.WebhookEnded); told != map[bool]int{true: 1, false: 0}[c.ended != ""] {
					t.Errorf("the owner is told %d times", told)
				}
			})
		})
	}
}

// TestOneThatHangsHoldsUpNobody: one dead, one hanging and one failing receiver among a hundred.
func TestOneThatHangsHoldsUpNobody(t *testing.T) {
	inBubble(t, func(r *rig) {
		operator := r.key("", wallet.APIKey)
		alice := r.person()
		var healthy []wallet.Webhook
		for range 97 {
			healthy = append(healthy, r.hook(operator, "*"))
		}
		hangs, dead, resets := r.hook(operator, "*"), r.hook(operator, "*"), r.hook(operator, "*")
		r.answer(hangs, func(webhooks.Message) webhooks.Result {
			time.Sleep(30 * time.Second)
			return webhooks.Result{Reason: wallet.Because("attempt.no_connection")}
		})
		r.answer(dead, func(webhooks.Message) webhooks.Result {
			return webhooks.Result{Reason: wallet.Because("attempt.no_connection")}
		})
		r.answer(resets, fails(500))
		r.run()
		began := time.Now()
		for i := range 100 {
			r.emit(r.paid(alice, byte(i)))
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the healthy waited %s", took)
		}
		for _, hook := range healthy {
			if states := r.states(hook); states[store.DeliveryDelivered] != 100 {
				t.Fatalf("states of a healthy one: %v", states)
			}
		}
	})
}

// TestClockJumpsDoNoHarm: a retry that seems to lie a year ahead, because the clock was put back, waits for
// no longer than a retry ever does; one of long ago is due.
func TestClockJumpsDoNoHarm(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -365 * 24 * time.Hour, "ahead": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				alice, hook := r.subscriber()
				failed := false
				r.answer(hook, func(webhooks.Message) webhooks.Result {
					if !failed {
						failed = true
						return webhooks.Result{Status: 500}
					}
					return webhooks.Result{Status: 200}
				})
				r.run()
				r.emit(r.paid(alice, 1))
				r.took()
				r.close()
				r.open()
				r.service.Now = func() time.Time { return time.Now().Add(jump) }
				r.run()
				time.Sleep(2 * time.Minute)
				if got := r.took(); len(got) != 1 {
					t.Errorf("%d attempts", len(got))
				}
			})
		})
	}
}

// TestAClockThatIsPutBackStallsNothing: what waits behind another delivery of its wallet goes when that has ended, a
// retry waits for its own pause, and a restart between the two changes neither.
func TestAClockThatIsPutBackStallsNothing(t *testing.T) {
	var back atomic.Int64
	at := func(r *rig) {
		r.service.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	}
	t.Run("behind another", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			back.Store(0)
			at(r)
			alice, hook := r.subscriber()
			r.answer(hook, func(webhooks.Message) webhooks.Result {
				time.Sleep(3 * time.Second)
				return webhooks.Result{Status: 200}
			})
			r.run()
			r.emit(r.paid(alice, 1), r.paid(alice, 1))
			time.Sleep(time.Second)
			back.Store(int64(2 * time.Minute))
			time.Sleep(9 * time.Second)
			if got := after(r.took()); !slices.Equal(got, []float64{0, 3}) {
				t.Errorf("attempts after %v s", got)
			}
		})
	})
	t.Run("a retry", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			back.Store(0)
			at(r)
			alice, hook := r.subscriber()
			r.answer(hook, func(webhooks.Message) webhooks.Result {
				time.Sleep(time.Second)
				back.Add(int64(2 * time.Minute)) // with each attempt once more
				return webhooks.Result{Status: 503}
			})
			r.run()
			r.emit(r.paid(alice, 1))
			time.Sleep(time.Minute)
			if got := after(r.took()); !slices.Equal(got, []float64{0, 2, 5, 10, 19, 36}) {
				t.Errorf("attempts after %v s", got)
			}
		})
	})
	for name, c := range map[string]struct {
		retryAfter, stops, back time.Duration
		earliest, latest        float64 // of the next attempt, from the first
	}{
		"a restart":                     {0, 2 * time.Second, 2 * time.Minute, 3, 4}, // attempts at 0 and 1 s, the next one 2 s later
		"a restart with a Retry-After":  {30 * time.Second, 3 * time.Second, 2 * time.Minute, 30, 33},
		"a restart with the same clock": {30 * time.Second, 3 * time.Second, 0, 30, 30},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				back.Store(0)
				at(r)
				alice, hook := r.subscriber()
				r.answer(hook, func(webhooks.Message) webhooks.Result {
					return webhooks.Result{Status: 503, RetryAfter: c.retryAfter}
				})
				r.run()
				r.emit(r.paid(alice, 1))
				time.Sleep(c.stops)
				r.close()
				r.open()
				back.Store(int64(c.back))
				at(r)
				r.run()
				time.Sleep(50 * time.Second)
				all := after(r.took())
				next := slices.IndexFunc(all, func(at float64) bool { return at > c.stops.Seconds() })
				if next < 0 || all[next] < c.earliest || all[next] > c.latest {
					t.Errorf("attempts after %v s, want the next one between %v and %v s", all, c.earliest, c.latest)
				}
			})
		})
	}
}

// TestAStopWaitsForWhatIsOnItsWay, and what did not end comes again.
func TestAStopWaitsForWhatIsOnItsWay(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		quick, slow := r.paid(alice, 1), r.paid(alice, 2)
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == slow.ID {
				time.Sleep(time.Minute)
				return webhooks.Result{Interrupted: true}
			}
			time.Sleep(2 * time.Second)
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(quick, slow)
		synctest.Wait()
		r.close()
		r.took()
		r.answer(hook, nil)
		r.open()
		r.run()
		if got := ids(r.took()); !slices.Equal(got, []string{slow.ID}) {
			t.Errorf("after the stop came %v, want %s", got, slow.ID)
		}
		if log := r.logged(hook); len(log) != 2 || strings.Contains(fmt.Sprint(log), "waiting") {
			t.Errorf("log %+v", log)
		}
	})
}

// TestBacklogIsReadInWindows: ten thousand wait, and all come, in order, while few are in memory.
func TestBacklogIsReadInWindows(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		const many = 3000
		r.service.Limit.Count = 1_000_000
		var want []string
		for range many / 100 {
			var some []wallet.Event
			for range 100 {
				e := r.paid(alice, 1)
				some, want = append(some, e), append(want, e.ID)
			}
			r.emit(some...)
		}
		r.run()
		if got := ids(r.took()); !slices.Equal(got, want) {
			t.Errorf("%d of %d came, or in another order", len(got), len(want))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 1000 { // a page of the log
			t.Errorf("states %v", states)
		}
	})
}

// TestSlowReceiversHoldUpNobodyElse: many that answer just in time, of one person, leave room for others.
func TestSlowReceiversHoldUpNobodyElse(t *testing.T) {
	inBubble(t, func(r *rig) {
		mallory, alice := r.person(), r.person()
		for range 2 {
			key := r.key(mallory, wallet.APIKey)
			for range 20 {
				r.answer(r.hook(key, "*"), func(webhooks.Message) webhooks.Result {
					time.Sleep(29 * time.Second)
					return webhooks.Result{Status: 200, Latency: 29 * time.Second}
				})
			}
		}
		hook := r.hook(r.key(alice, wallet.APIKey), "*")
		r.run()
		for i := range 250 {
			r.emit(r.paid(mallory, byte(i)))
		}
		time.Sleep(time.Second)
		for i := range 200 {
			r.emit(r.paid(alice, byte(i)))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 200 {
			t.Errorf("states %v", states)
		}
	})
}

// TestADamagedRowStopsNobodyElse: a key, an app, a grant, a health or a person that cannot be read bars its own
// webhook at most.
func TestADamagedRowStopsNobodyElse(t *testing.T) {
	for _, bucket := range []string{"keys", "apps", "grants", "webhooks", "webhook_health", "users"} {
		t.Run(bucket, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				alice, bob := r.person(), r.person()
				r.run()
				theirs := r.key(bob, wallet.APIKey)
				r.grant(alice, theirs, wallet.WalletRead)
				r.hook(theirs, "*")
				r.emit(r.paid(bob, 1))
				r.took()
				r.close()
				r.damage(bucket)
				r.open()
				mine, operators := r.hook(r.key(alice, wallet.APIKey), "*"), r.hook(r.key("", wallet.APIKey), "*")
				r.run()
				for range 300 {
					r.emit(r.paid(alice, 1), r.paid(bob, 2))
				}
				if states := r.states(mine); states[store.DeliveryDelivered] != 300 {
					t.Errorf("states %v", states)
				}
				if states := r.states(operators); states[store.DeliveryDelivered] != 600 {
					t.Errorf("the operator's: states %v", states)
				}
			})
		})
	}
}

// TestAKeyThatCannotBeReadBarsItsLine: the one before it, which it may have ended, opens nothing for it.
func TestAKeyThatCannotBeReadBarsItsLine(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		inBubble(t, func(r *rig) {
			alice := r.person()
			newer := r.key(alice, wallet.APIKey)
			older := r.key(alice, wallet.APIKey, func(k *wallet.Key) { k.Next = newer.ID })
			r.hook(older, "*")
			if damaged {
				r.close()
				r.damage("keys", newer.ID)
				r.open()
			}
			r.run()
			e := r.paid(alice, 1)
			r.emit(e)
			if damaged {
				r.comes()
			} else {
				r.comes(e.ID)
			}
		})
	}
}

// damage cuts every row of a bucket of the store's file, or those of some keys.
func (r *rig) damage(bucket string, only ...string) {
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

// TestAnEventForVeryManyIsWrittenInPieces, each of them short, and reaches everybody once.
func TestAnEventForVeryManyIsWrittenInPieces(t *testing.T) {
	inBubble(t, func(r *rig) {
		operator := r.key("", wallet.APIKey)
		const many = 2500
		for range many {
			r.hook(operator, "price.*")
		}
		pieces := &counted{Store: r.store}
		r.service.Store = pieces
		r.run()
		for range 3 {
			r.emit(r.event("", wallet.PriceSignificantChange, wallet.PriceSignificantChangeData{Token: r.id("T"), Timeframe: "1h"}))
		}
		time.Sleep(time.Minute)
		got := map[string]int{}
		for _, s := range r.took() {
			got[s.url+s.eventID]++
		}
		if pieces.puts < 9 {
			t.Errorf("%d pieces", pieces.puts)
		}
		if len(got) != 3*many {
			t.Errorf("%d of %d came", len(got), 3*many)
		}
		if pieces.most > 1000 {
			t.Errorf("%d were written in one transaction", pieces.most)
		}
		for key, n := range got {
			if n != 1 {
				t.Errorf("%s came %d times", key, n)
			}
		}
	})
}

// counted is a store that knows how many deliveries were put in one transaction at most, and has no room for each
// third of the pieces at first.
type counted struct {
	store.Store
	most, puts int // of the relay's goroutine alone
}

func (c *counted) Update(ctx context.Context, change func(store.Tx) error) error {
	return c.Store.Update(ctx, func(tx store.Tx) error { return change(countedTx{tx, c}) })
}

type countedTx struct {
	store.Tx
	of *counted
}

func (t countedTx) PutDeliveries(rows []store.Delivery) ([]store.PlacedDelivery, error) {
	t.of.most = max(t.of.most, len(rows))
	if t.of.puts++; t.of.puts%3 == 0 {
		return nil, errors.New("no room")
	}
	return t.Tx.PutDeliveries(rows)
}

// TestAQuietOwnerGoesWhileAllSlotsAreTaken by four others, whose receivers answer just in time.
func TestAQuietOwnerGoesWhileAllSlotsAreTaken(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.limit = 1_000_000
		r.close()
		r.open()
		alice, hook := r.subscriber()
		slow := func(flying, most *atomic.Int64) func(webhooks.Message) webhooks.Result {
			return func(webhooks.Message) webhooks.Result {
				most.Store(max(most.Load(), flying.Add(1)))
				defer flying.Add(-1)
				time.Sleep(29 * time.Second)
				return webhooks.Result{Status: 200, Latency: 29 * time.Second}
			}
		}
		var mallories []wallet.UserID
		for range 4 {
			who := r.person()
			mallories = append(mallories, who)
			key := r.key(who, wallet.APIKey)
			var flying, most atomic.Int64
			for range 600 {
				r.answer(r.hook(key, "*"), slow(&flying, &most))
			}
			defer func() {
				if most.Load() > 512 {
					t.Errorf("%d were on their way to one owner's", most.Load())
				}
			}()
		}
		r.run()
		for _, who := range mallories {
			r.emit(r.paid(who, 1), r.paid(who, 2), r.paid(who, 3))
		}
		time.Sleep(40 * time.Second)
		for i := range 5 {
			r.emit(r.paid(alice, byte(i)))
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 5 {
			t.Errorf("states %v", states)
		}
	})
}

// TestTheLimitOfAnHourHoldsUpNoRetry: only first attempts count, so only they wait.
func TestTheLimitOfAnHourHoldsUpNoRetry(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.service.Limit.Count = 60
		var failing string
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			if m.EventID == failing {
				failing = ""
				return webhooks.Result{Status: 503}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		for i := range 59 {
			r.emit(r.paid(alice, byte(i)))
		}
		r.took()
		bad := r.paid(alice, 'x')
		failing = bad.ID
		r.emit(bad)
		r.emit(r.paid(alice, 'y'), r.paid(alice, 'z')) // over the limit
		time.Sleep(2 * time.Second)
		if got := ids(r.took()); !slices.Equal(got, []string{bad.ID, bad.ID}) {
			t.Errorf("went %v", got)
		}
	})
}

// TestWhatIsPutBackKeepsItsHistory, also when it ends before it is sent.
func TestWhatIsPutBackKeepsItsHistory(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(500))
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(2 * time.Minute)
		parked, err := r.log.Logged(context.Background(), hook.ID, r.logged(hook)[0].ID)
		if err != nil || len(parked.Attempted) != 6 {
			t.Fatalf("%+v (%v)", parked, err)
		}
		again := parked.Delivery
		again.Resend, again.Attempts, again.NextAt = true, 0, time.Now().UTC()
		hook.Active = false
		r.update(func(tx store.Tx) error {
			if err := tx.PutWebhook(hook); err != nil {
				return err
			}
			_, err := tx.PutDeliveries([]store.Delivery{again})
			return err
		})
		r.service.Wake(hook.ID)
		if log := r.logged(hook); len(log) != 1 || len(log[0].Attempted) != 6 || log[0].State != store.DeliveryDeadLettered {
			t.Errorf("log %+v", log)
		}
	})
}

// comes checks what receivers were sent since the last look.
func (r *rig) comes(want ...string) {
	r.Helper()
	if got := ids(r.took()); !slices.Equal(got, want) {
		r.Errorf("came %v, not %v", got, want)
	}
}

// TestWhatIsPutByHandKeepsItsPlace: deliveries that the relay has put are handed over, unless something was put
// before them that nobody has told of yet.
func TestWhatIsPutByHandKeepsItsPlace(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.run()
		first, second := r.paid(alice, 1), r.paid(alice, 1)
		r.emit(first)
		r.emit(second) // handed over: the webhook is known
		r.comes(first.ID, second.ID)

		byHand := store.Delivery{ID: "dlv_by_hand", Webhook: hook.ID, EventID: "evt_by_hand", Event: wallet.TransactionConfirmed, User: alice,
			OrderingKey: wallet.Address{1}.String(), Urgency: store.Money, Body: []byte("{}"), CreatedAt: time.Now().UTC(), NextAt: time.Now().UTC()}
		r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries([]store.Delivery{byHand}); return err })
		third, fourth := r.paid(alice, 1), r.paid(alice, 1)
		r.emit(third)
		r.emit(fourth)
		r.comes(byHand.EventID, third.ID, fourth.ID)
		r.service.Wake(hook.ID) // comes late
		r.comes()
		r.restart()
		r.comes()
	})
}

// TestMoreThanAWindowIsHandedOver keeps its order where a slow receiver lets far more gather than is held in
// memory.
func TestMoreThanAWindowIsHandedOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, hook := r.subscriber()
		r.run()
		r.emit(r.paid(alice, 0))
		r.took()
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			time.Sleep(time.Millisecond)
			return webhooks.Result{Status: 200}
		})
		want := map[byte][]string{}
		for i := range 3000 {
			of := byte(i % 7)
			e := r.paid(alice, of)
			want[of] = append(want[of], e.ID)
			r.emit(e)
			if i%100 == 0 {
				r.service.Wake(hook.ID)
			}
		}
		time.Sleep(10 * time.Second)
		got := map[byte][]string{}
		for _, s := range r.took() {
			var body struct {
				Data wallet.TransactionConfirmedData
			}
			if err := json.Unmarshal([]byte(s.body), &body); err != nil {
				t.Fatal(err)
			}
			of := body.Data.WalletAddress[0]
			got[of] = append(got[of], s.eventID)
		}
		for of, ids := range want {
			if !slices.Equal(got[of], ids) {
				t.Errorf("wallet %d: %d came, of %d, or not in order", of, len(got[of]), len(ids))
			}
		}
	})
}

// TestOperatorsHearNoMoreOfWhoWasErased, though a delivery about them waits in memory for its next attempt.
func TestOperatorsHearNoMoreOfWhoWasErased(t *testing.T) {
	inBubble(t, func(r *rig) {
		alice, bob := r.person(), r.person()
		hook := r.hook(r.key("", wallet.APIKey), "*")
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 500} })
		r.run()
		hers, his := r.paid(alice, 1), r.paid(bob, 2)
		r.emit(hers, his)
		r.comes(hers.ID, his.ID)
		r.update(func(tx store.Tx) error { return tx.EraseUser(alice) })
		time.Sleep(2 * time.Second)
		r.comes(his.ID)
	})
}

// TestAnAppIsToldWhatItWishes (docs/specification.md, Messages and commands): events about a person reach an app's
// webhooks as its wish about that person says, and those about others as before.
func TestAnAppIsToldWhatItWishes(t *testing.T) {
	inBubble(t, func(r *rig) {
		person, other := r.person(), r.person()
		dev := r.key(r.person(), wallet.APIKey)
		bot := r.key(dev.Owner, wallet.BotKey, func(k *wallet.Key) { k.App = dev.App })
		own, operator := r.key(person, wallet.APIKey), r.key("", wallet.APIKey)
		hooks := map[string]wallet.Webhook{"app": r.hook(dev, "*"), "bot": r.hook(bot, "*"), "own": r.hook(own, "*"), "operator": r.hook(operator, "*")}
		r.grant(person, dev, wallet.Scopes()...)
		r.grant(other, dev, wallet.Scopes()...)
		wish := func(k wallet.Key, who wallet.UserID, w *wallet.Notifications) {
			r.update(func(tx store.Tx) error {
				g, err := tx.Grant(who, k.WishHolder())
				if errors.Is(err, store.ErrNotFound) {
					g, err = wallet.Grant{User: who, App: k.WishHolder()}, nil
				}
				g.Wish = w
				return errors.Join(err, tx.PutGrant(g))
			})
		}
		names := []wallet.EventName{wallet.TransactionReceived, wallet.TransactionConfirmed, wallet.StakeReward, wallet.MessageReceived, wallet.WalletConnected}
		happens := func(who wallet.UserID) {
			for _, name := range names {
				r.emit(r.event(who, name, wallet.TransactionReceivedData{}))
			}
			r.quiet()
		}
		r.run()
		got := func(what string) string {
			byHook := map[string][]string{}
			for _, s := range r.took() {
				var body struct{ Event string }
				if err := json.Unmarshal([]byte(s.body), &body); err != nil {
					t.Fatal(err)
				}
				for name, hook := range hooks {
					if hook.URL == s.url {
						byHook[name] = append(byHook[name], body.Event)
					}
				}
			}
			for _, list := range byHook {
				slices.Sort(list)
			}
			return fmt.Sprintf("%v", byHook)
		}
		const all = "stake.reward transaction.confirmed transaction.received wallet.connected"
		expect := func(what string, want map[string][]string) {
			if got, want := got(what), fmt.Sprintf("%v", want); got != want {
				t.Errorf("%s:\n%s, want\n%s", what, got, want)
			}
		}
		everything := strings.Fields(all)
		happens(person)
		expect("without a wish", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "own": everything, "operator": everything})

		wish(dev, person, &wallet.Notifications{Enabled: true, Events: []string{"transaction.received", "stake.*"}})
		happens(person)
		expect("with a wish of the app", map[string][]string{"app": {"stake.reward", "transaction.received"}, "bot": {"message.received"}, "own": everything, "operator": everything})
		happens(other)
		expect("about another", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "operator": everything})

		wish(dev, person, &wallet.Notifications{Enabled: false, Events: []string{"*"}})
		wish(own, person, &wallet.Notifications{Enabled: true, Events: []string{"wallet.connected"}})
		wish(operator, person, &wallet.Notifications{Enabled: true, Events: []string{"transaction.confirmed"}})
		happens(person)
		expect("wishes of all", map[string][]string{"bot": {"message.received"}, "own": {"wallet.connected"}, "operator": {"transaction.confirmed"}})

		wish(own, person, nil)
		wish(operator, person, nil)
		r.grant(person, dev, wallet.Scopes()...) // anew
		happens(person)
		expect("with a new grant", map[string][]string{"app": everything, "bot": {"message.received", "wallet.connected"}, "own": everything, "operator": everything})

		// What waits when the wish is made is not sent any more; what was sent can still be looked at.
		r.answer(hooks["app"], func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 503} })
		r.emit(r.event(person, wallet.TransactionReceived, wallet.TransactionReceivedData{}))
		synctest.Wait()
		wish(dev, person, &wallet.Notifications{Enabled: false})
		time.Sleep(2 * time.Second) // of the bubble's clock: the second attempt is after 1 s
		if states := r.states(hooks["app"]); states[store.DeliveryRevoked] != 1 {
			t.Errorf("what waited is %v", states)
		}
		r.update(func(tx store.Tx) error {
			may, err := r.service.May(tx, hooks["app"], wallet.TransactionReceived, person)
			if !may {
				t.Error("the app may not look at what it was sent")
			}
			return err
		})
	})
}

// TestWhatIsForOneAppReachesNoOther, whatever the others may read: it reaches that app, and operators.
func TestWhatIsForOneAppReachesNoOther(t *testing.T) {
	inBubble(t, func(r *rig) {
		person := r.person()
		shop, other, own, operator := r.key(r.person(), wallet.BotKey), r.key(r.person(), wallet.BotKey), r.key(person, wallet.BotKey), r.key("", wallet.BotKey)
		hooks := map[string]wallet.Webhook{"shop": r.hook(shop, "*"), "other": r.hook(other, "*"), "own": r.hook(own, "*"), "operator": r.hook(operator, "*")}
		r.grant(person, shop, wallet.BotMessages)
		r.grant(person, other, wallet.BotMessages)
		r.run()
		for _, c := range []struct {
			to   wallet.AppID
			want []string
		}{
			{"", []string{"operator", "other", "own", "shop"}}, {shop.App, []string{"operator", "shop"}},
			{own.App, []string{"operator", "own"}}, {wallet.ToOperators, []string{"operator"}},
		} {
			e := r.event(person, wallet.MessageReceived, wallet.MessageReceivedData{Message: "hello"})
			e.To = c.to
			r.emit(e)
			var got []string
			for _, s := range r.took() {
				if strings.Contains(s.body, "app_") {
					t.Errorf("a receiver is told of it: %s", s.body)
				}
				for name, hook := range hooks {
					if hook.URL == s.url {
						got = append(got, name)
					}
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("for %q: %v, want %v", c.to, got, c.want)
			}
		}
	})
}

// TestATierStopsDeliveries: what waits when a key loses the tier pro is kept for a resend, what happens then is not
// queued, and back on pro deliveries go on.
func TestATierStopsDeliveries(t *testing.T) {
	inBubble(t, func(r *rig) {
		person := r.person()
		key := r.key(person, wallet.APIKey)
		hook := r.hook(key, "*")
		keys := &handlers.Keys{Store: r.store, Now: time.Now, NewID: r.id}
		set := func(tier wallet.Tier) {
			t.Helper()
			if _, err := keys.SetTier(context.Background(), key.ID, tier); err != nil {
				t.Fatal(err)
			}
		}
		r.run()
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 503} })
		r.emit(r.paid(person, 1))
		if got := len(r.took()); got != 1 {
			t.Fatalf("%d attempts", got)
		}
		set(wallet.FreeTier)
		r.answer(hook, func(webhooks.Message) webhooks.Result { return webhooks.Result{Status: 200} })
		r.emit(r.paid(person, 2))
		time.Sleep(time.Minute)
		if got := r.took(); len(got) != 0 {
			t.Errorf("on the free tier it was sent %d", len(got))
		}
		if states := r.states(hook); states[store.DeliveryDeadLettered] != 1 || len(states) != 1 {
			t.Errorf("the deliveries are %v", states)
		}
		set(wallet.ProTier)
		r.emit(r.paid(person, 3))
		if got := r.took(); len(got) != 1 {
			t.Errorf("on pro again it was sent %d", len(got))
		}
		if states := r.states(hook); states[store.DeliveryDeadLettered] != 1 || states[store.DeliveryDelivered] != 1 {
			t.Errorf("the deliveries are %v", states)
		}
	})
}
