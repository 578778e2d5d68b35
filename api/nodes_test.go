package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync"
	"testing"

	"purser/handlers"
	"purser/wallet"
)

// node is a further server over the same store, as another node has it: with its own of whatever remembers something.
func (r *harness) node() (base string) {
	r.Helper()
	o := r.server.Options
	o.Portal = &handlers.Portal{Store: r.Store, Now: r.Now, Random: rand.Reader}
	second, err := New(o)
	r.Must(err)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	r.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- second.Run(ctx, ln) }()
	r.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Errorf("the second node: %v", err)
		}
	})
	return "http://" + ln.Addr().String()
}

// TestARequestThatComesToTwoNodesIsOne: whichever node is asked, and both at once.
func TestARequestThatComesToTwoNodesIsOne(t *testing.T) {
	r := newHarness(t)
	other := r.node()
	for i := range 5 { // more proposals may not wait
		before := r.transactions()
		key := fmt.Sprintf("order-%d", i)
		ids := map[string]bool{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for _, base := range []string{r.base, other} {
			group.Go(func() {
				for range 2 {
					a := r.doAt(base, "POST", "/v1/wallet/send", r.sendBody(), "Authorization", "Bearer "+r.alice.secret, "Idempotency-Key", key, "Content-Type", "application/json")
					mu.Lock()
					if a.status != 202 {
						t.Errorf("%d: %s", a.status, a.body)
					} else {
						ids[fmt.Sprint(a.field("data", "transaction_id"))] = true
					}
					mu.Unlock()
				}
			})
		}
		group.Wait()
		if made := r.transactions() - before; made != 1 || len(ids) != 1 {
			t.Fatalf("round %d: %d transactions, %d ids", i, made, len(ids))
		}
	}
}

// TestAKeyThatIsRevokedOpensNothingOnAnyNode: at once.
func TestAKeyThatIsRevokedOpensNothingOnAnyNode(t *testing.T) {
	r := newHarness(t)
	other := r.node()
	show := func() int {
		return r.doAt(other, "GET", "/v1/key", "", "Authorization", "Bearer "+r.alice.secret).status
	}
	if got := show(); got != 200 {
		t.Fatalf("before: %d", got)
	}
	_, err := r.Keys.Revoke(t.Context(), r.keyOf(r.alice.secret).ID)
	r.Must(err)
	if got := show(); got != 401 {
		t.Errorf("after it was revoked on the other node: %d", got)
	}
}

// TestThePortalIsOpenOnEveryNode: a link that one sent, a session that the other opened, and its end on the first.
func TestThePortalIsOpenOnEveryNode(t *testing.T) {
	k := newPortalKey(t)
	other := k.node()
	link := k.link()
	opens := func(base string) answer {
		return k.doAt(base, "POST", portalPath, fmt.Sprintf(`{"token":%q}`, link), "Content-Type", "application/json")
	}
	at := func(base, method, path, session string) answer {
		return k.doAt(base, method, path, "", "Authorization", "Bearer "+session)
	}
	opened := opens(other)
	k.want(opened, 200, "", "")
	k.want(opens(k.base), 401, wallet.InvalidAPIKey, "")
	session := opened.text("data", "session")
	k.secrets = append(k.secrets, session)
	for _, base := range []string{k.base, other} {
		k.want(at(base, "GET", "/v1/webhooks", session), 200, "", "")
	}
	k.want(at(k.base, "DELETE", portalPath, session), 200, "", "")
	k.want(at(other, "GET", "/v1/webhooks", session), 401, wallet.InvalidAPIKey, "")

	link = k.link()
	var mu sync.Mutex
	var group sync.WaitGroup
	answers := map[int]int{}
	for i := range 8 {
		group.Go(func() {
			a := opens([]string{k.base, other}[i%2])
			mu.Lock()
			defer mu.Unlock()
			answers[a.status]++
		})
	}
	if group.Wait(); answers[200] != 1 || answers[401] != 7 {
		t.Errorf("a link that both are asked to open: %v", answers)
	}
}
