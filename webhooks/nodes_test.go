package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
}

func (g *gate) pass() {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
}

func (g *gate) View(ctx context.Context, read func(store.Tx) error) error {
	g.pass()
	return g.Store.View(ctx, read)
}

func (g *gate) Update(ctx context.Context, change func(store.Tx) error) error {
	g.pass()
	return g.Store.Update(ctx, change)
}

// pause has the node sleep: of what it does nothing reaches the store until resume.
func (n *node) pause() (resume func()) {
	n.gate.mu.Lock()
	defer n.gate.mu.Unlock()
	n.gate.closed = make(chan struct{})
	return sync.OnceFunc(func() {
		n.gate.mu.Lock()
		defer n.gate.mu.Unlock()
		close(n.gate.closed)
		n.gate.closed = nil
	})
}

// node starts one of several nodes over the harness's store.
func (r *harness) node(name string) *node {
	r.Helper()
	n := &node{harness: r, name: name, gate: &gate{Store: r.store}}
	log := slog.New(slog.DiscardHandler)
	n.service = &webhooks.Service{Store: n.gate, Node: name, Log: r.log, Meter: &quota.Meter{Store: n.gate, Node: name, Now: time.Now, Log: log}, Now: time.Now,
		Limit: r.service.Limit, Schedule: r.service.Schedule, Retention: r.service.Retention, Logger: log,
		Post: func(ctx context.Context, m webhooks.Message) webhooks.Result {
			r.mu.Lock()
			n.sent = append(n.sent, sent{time.Now(), m.URL, m.EventID, string(m.Body)})
			r.mu.Unlock()
			return r.post(ctx, m)
		}}
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
