package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/quota"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// node is a service of its own over the harness's store.
type node struct {
	*harness
	name    string
	service *webhooks.Service
	gate    *gate
	sent    []sent // under harness.mu
	stop    func()
}

// gate is the store as a node sees it: while the node is paused, nothing comes through.
type gate struct {
	store.Store
	mu     sync.Mutex
	closed chan struct{} // not nil: paused; closed when the node goes on
	reads  bool          // while it is paused it reads all the same
}

func (g *gate) pass(reads bool) {
	g.mu.Lock()
	closed := g.closed
	if reads && g.reads {
		closed = nil
	}
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
}

func (g *gate) View(ctx context.Context, read func(store.Tx) error) error {
	g.pass(true)
	return g.Store.View(ctx, read)
}

func (g *gate) Update(ctx context.Context, change func(store.Tx) error) error {
	g.pass(false)
	return g.Store.Update(ctx, change)
}

// pause has the node sleep: of what it does nothing reaches the store until resume.
func (n *node) pause() (resume func()) { return n.hold(false) }

// holdWrites has the node sleep at whatever it writes next, with what it has read by then.
func (n *node) holdWrites() (resume func()) { return n.hold(true) }

func (n *node) hold(reads bool) (resume func()) {
	n.gate.mu.Lock()
	defer n.gate.mu.Unlock()
	n.gate.closed, n.gate.reads = make(chan struct{}), reads
	return sync.OnceFunc(func() {
		n.gate.mu.Lock()
		defer n.gate.mu.Unlock()
		close(n.gate.closed)
		n.gate.closed = nil
	})
}

// node starts one of several nodes over the harness's store.
func (r *harness) node(name string, change ...func(*webhooks.Service)) *node {
	r.Helper()
	n := &node{harness: r, name: name, gate: &gate{Store: r.store}}
	log := slog.New(slog.DiscardHandler)
	n.service = &webhooks.Service{Store: n.gate, Node: name, Log: r.log, Meter: &quota.Meter{Store: n.gate, Node: name, Now: time.Now, Log: log}, Now: time.Now,
		Limit: r.service.Limit, Schedule: r.service.Schedule, Retention: r.service.Retention, Logger: log,
		Transport: transportFunc(func(ctx context.Context, m webhooks.Message) webhooks.Result {
			r.mu.Lock()
			n.sent = append(n.sent, sent{time.Now(), m.URL, m.EventID, string(m.Body)})
			r.mu.Unlock()
			return r.post(ctx, m)
		})}
	for _, c := range change {
		c(n.service)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- n.service.Meter.Run(ctx) }()
	go func() { ended <- n.service.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			r.Errorf("%s ended with %v", name, err)
		}
	})
	synctest.Wait()
	return n
}

// posted counts what a node has sent.
func (n *node) posted() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.sent)
}

// TestTwoNodesDeliverEachEventOnce, whichever node delivers, and when one of them stops the other goes on at once.
func TestTwoNodesDeliverEachEventOnce(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		first, second := r.node("first"), r.node("second")
		defer second.stop()
		defer first.stop()
		var want []string
		for i := range 50 {
			e := r.paid(alice, 1)
			want = append(want, e.ID)
			r.emit(e)
			if i == 25 {
				r.quiet()
				first.stop()
			}
		}
		time.Sleep(time.Minute)
		if got := ids(r.took()); !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
		if first.posted() == 0 || second.posted() == 0 {
			t.Errorf("the nodes sent %d and %d", first.posted(), second.posted())
		}
		if states := r.states(hook); states[store.DeliveryDelivered] != 50 {
			t.Errorf("states %v", states)
		}
	})
}

// TestANodeThatSleptWritesNothing: while it sleeps with a delivery on its way another node delivers that and what comes
// after it; what the sleeper knows when it wakes is out of date.
func TestANodeThatSleptWritesNothing(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		release := make(chan struct{})
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			<-release
			return webhooks.Result{Status: 500} // which nobody must write
		})
		first := r.node("first")
		defer first.stop()
		late := r.paid(alice, 1)
		r.emit(late)
		r.comes(late.ID)
		resume := first.pause()
		defer resume()
		r.answer(hook, nil)
		second := r.node("second")
		defer second.stop()
		next := r.paid(alice, 1)
		r.emit(next)
		r.comes()
		time.Sleep(2 * time.Minute)
		r.comes(late.ID, next.ID)
		close(release)
		r.quiet()
		resume()
		time.Sleep(time.Minute)
		r.comes()
		for _, e := range r.logged(hook) {
			if e.State != store.DeliveryDelivered {
				t.Errorf("%s is %s", e.EventID, e.State)
			}
		}
		r.emit(r.paid(alice, 2))
		if got := r.took(); len(got) != 1 {
			t.Errorf("%d came after it", len(got))
		}
	})
}

// TestAKilledNodeIsReplaced: what it had in hand goes on elsewhere when its leases are over, in order.
func TestAKilledNodeIsReplaced(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		r.answer(hook, fails(500))
		first := r.node("first")
		defer first.stop()
		var want []string
		for range 5 {
			e := r.paid(alice, 1)
			want = append(want, e.ID)
			r.emit(e)
		}
		r.quiet()
		killed := first.pause() // for good: nothing of it reaches the store any more
		defer killed()
		r.took()
		r.answer(hook, nil)
		second := r.node("second")
		defer second.stop()
		time.Sleep(2 * time.Minute)
		r.mu.Lock()
		var got []string
		for _, s := range second.sent {
			got = append(got, s.eventID)
		}
		r.mu.Unlock()
		if !slices.Equal(got, want) {
			t.Errorf("the second sent %v, want %v", got, want)
		}
		e := r.paid(alice, 1)
		r.emit(e)
		r.quiet()
		if n := second.posted(); n != 6 {
			t.Errorf("the second sent %d", n)
		}
	})
}

// TestNodesShareTheWork: a node that has a webhook's session sends what another node relays, and deliveries that were put
// manually on another node are found.
func TestNodesShareTheWork(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		first := r.node("first")
		defer first.stop()
		r.emit(r.paid(alice, 1))
		r.took()
		second := r.node("second")
		defer second.stop()
		manual := store.Delivery{ID: "dlv_manual", Webhook: hook.ID, EventID: "evt_manual", Event: wallet.TransactionConfirmed, User: alice,
			OrderingKey: wallet.Address{1}.String(), Body: []byte("{}"), CreatedAt: time.Now().UTC(), NextAt: time.Now().UTC()}
		r.update(func(tx store.Tx) error { _, err := tx.PutDeliveries([]store.Delivery{manual}); return err }) // the first has the session
		time.Sleep(2 * time.Second)
		r.comes(manual.EventID)
		for i := range 20 { // with and without sessions, on either node
			e := r.paid(alice, byte(i))
			r.emit(e)
			time.Sleep(time.Duration(i%4) * 3 * time.Second)
			time.Sleep(2 * time.Second)
			r.comes(e.ID)
		}
	})
}

// TestAListenerHearsWhicheverNodeIsAsked: its events are relayed by one node and taken by the other, which has its
// connection. When that one dies the row goes, and not before.
func TestAListenerHearsWhicheverNodeIsAsked(t *testing.T) {
	inBubble(t, func(r *harness) {
		key := r.key(r.person(), wallet.APIKey)
		first := r.node("first")
		defer first.stop()
		r.hook(key, "*") // the first has its session
		r.emit(r.paid(key.Owner, 9))
		r.took()
		second := r.node("second")
		defer second.stop()

		var mu sync.Mutex
		var heard []string
		const id = wallet.WebhookID("whl_1")
		hangUp := second.service.Listen(id, func(_ context.Context, h http.Header, _ []byte) error {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, h.Get("Webhook-Id"))
			return nil
		})
		defer hangUp()
		time.Sleep(3 * time.Second) // the row comes later than the connection
		r.update(func(tx store.Tx) error {
			return tx.PutWebhook(wallet.Webhook{ID: id, Kind: key.Kind, Lineage: key.Lineage(), Owner: key.Owner, Events: []string{"*"}, Active: true,
				Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), Listener: true, Node: "second"})
		})
		var want []string
		for range 10 {
			e := r.paid(key.Owner, 1)
			want = append(want, e.ID)
			r.emit(e)
		}
		time.Sleep(3 * time.Second)
		mu.Lock()
		if !slices.Equal(heard, want) {
			t.Errorf("heard %v, want %v", heard, want)
		}
		mu.Unlock()
		time.Sleep(10 * time.Minute)
		if len(r.hooks()) != 2 {
			t.Fatalf("while both nodes live there are %v", r.hooks())
		}
		defer second.pause()()
		time.Sleep(3 * time.Minute)
		if all := r.hooks(); len(all) != 1 || all[0] == id {
			t.Errorf("after the node's death there are %v", all)
		}
	})
}

// TestListenersOutliveSkewedClocks: clocks of nodes that differ by far more than a heartbeat, or are set while the nodes
// run, remove nobody's listeners, and a node that dies is noticed all the same.
func TestListenersOutliveSkewedClocks(t *testing.T) {
	for _, skew := range []time.Duration{-24 * time.Hour, -10 * time.Minute, -45 * time.Second, 45 * time.Second, 10 * time.Minute, 24 * time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			inBubble(t, func(r *harness) {
				var offset atomic.Int64 // of the second node's clock
				key := r.key(r.person(), wallet.APIKey)
				nodes := map[string]*node{"first": r.node("first")}
				defer nodes["first"].stop()
				offset.Store(int64(skew))
				nodes["second"] = r.node("second", func(s *webhooks.Service) {
					s.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
					s.Meter.Now = s.Now
				})
				defer nodes["second"].stop()
				for name, n := range nodes {
					id := wallet.WebhookID("whl_" + name)
					defer n.service.Listen(id, func(context.Context, http.Header, []byte) error { return nil })()
					r.update(func(tx store.Tx) error {
						return tx.PutWebhook(wallet.Webhook{ID: id, Kind: key.Kind, Lineage: key.Lineage(), Owner: key.Owner, Events: []string{"*"}, Active: true,
							Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: n.service.Now().UTC(), Listener: true, Node: name})
					})
				}
				for range 8 { // the clock is set each time
					time.Sleep(2 * time.Minute)
					if all := r.hooks(); len(all) != 2 {
						t.Fatalf("while both nodes live there are %v", all)
					}
					offset.Store(-offset.Load() / 2)
				}
				defer nodes["second"].pause()()
				time.Sleep(30 * time.Second)
				if all := r.hooks(); len(all) != 2 {
					t.Errorf("half a minute after the last heartbeat there are %v", all)
				}
				time.Sleep(2 * time.Minute)
				if got := fmt.Sprint(r.hooks()); got != "[whl_first]" {
					t.Errorf("after the second node's death there are %s", got)
				}
			})
		})
	}
}

// TestANodeLeavesTheListenersOfOthers when it starts: their connections live.
func TestANodeLeavesTheListenersOfOthers(t *testing.T) {
	inBubble(t, func(r *harness) {
		key := r.key(r.person(), wallet.APIKey)
		for _, name := range []string{"first", "second"} {
			listener := wallet.Webhook{ID: wallet.WebhookID("whl_" + name), Kind: key.Kind, Lineage: key.Lineage(), Owner: key.Owner, Events: []string{"*"}, Active: true,
				Secret: "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=", CreatedAt: time.Now().UTC(), Listener: true, Node: name}
			r.update(func(tx store.Tx) error { return tx.PutWebhook(listener) })
		}
		defer r.node("first").stop()
		if got := fmt.Sprint(r.hooks()); got != "[whl_second]" {
			t.Errorf("left %s", got)
		}
	})
}

// hooks lists all webhooks that there are.
func (r *harness) hooks() (ids []wallet.WebhookID) {
	r.Helper()
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		all, err := tx.AllWebhooks()
		for _, hook := range all {
			ids = append(ids, hook.ID)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return ids
}
