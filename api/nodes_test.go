package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	product "purser/e2e/harness"
	"purser/handlers"
	"purser/quota"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// node is a further server over the same database, as another node has it: with a Store, keys, counters and a portal of its
// own. The operations on wallets and payments remember nothing, so it shares those.
func (r *harness) node() (base string) {
	r.Helper()
	o := r.server.Options
	o.Bot = silentBot{}
	o.Store = r.Beside()
	o.Keys = &handlers.Keys{Store: o.Store, Now: r.Now, NewID: r.NewID, Random: rand.Reader, Log: o.Log}
	o.Meter = &quota.Meter{Store: o.Store, Now: r.Now, Log: o.Log}
	o.Portal = &handlers.Portal{Store: o.Store, Now: r.Now, Random: rand.Reader}
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

// silentBot is the bot of a node that sends nothing: it wakes nobody.
type silentBot struct{}

func (silentBot) Await(int64, string) (<-chan struct{}, func()) { return nil, func() {} }

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

// TestAKeyThatIsRevokedOpensNothingOnAnyNode: at once on the node that revoked it, within a second on the others.
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
	if got := r.get("/v1/key", r.alice.secret).status; got != 401 {
		t.Errorf("after it was revoked here: %d", got)
	}
	for deadline := time.Now().Add(product.Wait); show() != 401; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("a key that was revoked on the other node still opens")
		}
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

// TestAMessageIsAnsweredByTheNodeThatWasAsked, whatever became of it on the one that talks to Telegram.
func TestAMessageIsAnsweredByTheNodeThatWasAsked(t *testing.T) {
	r := newHarness(t)
	other := r.node()
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	for _, end := range []struct {
		outcome store.SendResult
		status  int
		code    wallet.Code
		says    string
	}{
		{store.SendResult{MessageID: 7}, 200, "", ""},
		{store.SendResult{Blocked: true}, 403, wallet.BotBlocked, ""},
		{store.SendResult{Refusal: "can't parse entities"}, 400, wallet.InvalidRequest, "can't parse entities"},
		{store.SendResult{}, 502, wallet.TelegramError, ""},
	} {
		for _, headers := range [][]string{nil, {"Idempotency-Key", fmt.Sprint("m", end.status)}} {
			got := make(chan answer, 1)
			go func() {
				got <- r.doAt(other, "POST", "/v1/telegram/send-message", `{"chat_id":"1001","message":"x"}`,
					append(headers, "Authorization", "Bearer "+operator, "Content-Type", "application/json")...)
			}()
			sent := r.sendsNext(end.outcome)
			a := <-got
			r.want(a, end.status, end.code, end.says)
			if end.status == 200 && a.field("data", "message_id") != 7.0 {
				t.Errorf("%s", a.body)
			}
			r.View(func(tx store.Tx) error {
				if _, err := tx.SendResult(sent.Chat, sent.Card); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("what became of it is left: %v", err)
				}
				return nil
			})
		}
	}
	for range 2 { // the record is every node's
		for _, base := range []string{r.base, other} {
			a := r.doAt(base, "POST", "/v1/telegram/send-message", `{"chat_id":"1001","message":"x"}`, "Idempotency-Key", "m200",
				"Authorization", "Bearer "+operator, "Content-Type", "application/json")
			if r.want(a, 200, "", ""); a.header.Get("Idempotency-Replayed") != "true" || a.field("data", "message_id") != 7.0 {
				t.Errorf("again: %s", a.body)
			}
		}
	}
}

// sendsNext takes the next message of an app out of the outbox, as another node does.
func (r *harness) sendsNext(o store.SendResult) store.Reply {
	r.Helper()
	for {
		for _, row := range storetest.Outbox(r, r.Store) {
			if !row.SendResultUntil.IsZero() {
				sent, err := r.sendAs(row.Card, o, nil)
				r.Must(err)
				return sent
			}
		}
		runtime.Gosched()
	}
}

// TestAMessageThatTwoNodesWaitForIsSentOnce: the same request comes to both while it is open. One settles it, the other
// gives the same answer, whatever the first one left of the outcome.
func TestAMessageThatTwoNodesWaitForIsSentOnce(t *testing.T) {
	r := newHarness(t)
	other := r.node()
	operator := r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	r.bot.awaited = make(chan string, 100)
	post := func(base, key string) answer {
		return r.doAt(base, "POST", "/v1/telegram/send-message", `{"chat_id":"1001","message":"x"}`, "Idempotency-Key", key,
			"Authorization", "Bearer "+operator, "Content-Type", "application/json")
	}
	for i := range 5 {
		key := fmt.Sprint("m", i)
		answers := make(chan answer, 2)
		go func() { answers <- post(other, key) }()
		for waits := false; !waits; runtime.Gosched() { // the first has put it
			waits = len(storetest.Outbox(r, r.Store)) == 1
		}
		go func() { answers <- post(r.base, key) }()
		<-r.bot.awaited // the second waits for it
		r.sendsNext(store.SendResult{MessageID: 70 + i})
		for range 2 {
			a := <-answers
			if r.want(a, 200, "", ""); a.field("data", "message_id") != float64(70+i) {
				t.Errorf("%s", a.body)
			}
		}
		if left := storetest.Outbox(r, r.Store); len(left) != 0 {
			t.Errorf("it is sent again: %+v", left)
		}
	}
}
