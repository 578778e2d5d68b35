package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// mortal is a store whose process dies right after one of its commits: from then on nothing can be read or
// written, until it is started again.
type mortal struct {
	store.Store

	mu      sync.Mutex
	commits int
	dieAt   int // after so many commits; 0: never
	dead    bool
}

var errDead = errors.New("the process has died")

func (m *mortal) live(dieAt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits, m.dieAt, m.dead = 0, dieAt, false
}

func (m *mortal) Update(ctx context.Context, change func(store.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	err := m.Store.Update(ctx, change)
	if err != nil {
		return err
	}
	if m.commits++; m.commits == m.dieAt {
		m.dead = true
		return errDead
	}
	return nil
}

func (m *mortal) View(ctx context.Context, read func(store.Tx) error) error {
	m.mu.Lock()
	dead := m.dead
	m.mu.Unlock()
	if dead {
		return errDead
	}
	return m.Store.View(ctx, read)
}

// newMortalHarness is a harness all of whose operations share a mortal store.
func newMortalHarness(t *testing.T) (*harness, *mortal) {
	m := &mortal{}
	r := newHarness(t, func(s *Server) {
		m.Store = s.Store
		s.Store, s.Keys.Store, s.Wallets.Store, s.Transfers.Store, s.Signing.Store = m, m, m, m, m
		s.People.Store, s.Notifications.Store, s.Webhooks.Store = m, m, m
	})
	r.bot.auto = sentAtOnce
	return r, m
}

// effects counts what a request can have done.
func (r *harness) effects() string {
	r.Helper()
	found := map[string]int{}
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(100_000)
		for _, e := range events {
			found["event "+string(e.Name)]++
		}
		keys, keyErr := tx.AllKeys()
		found["keys"] = len(keys)
		for _, k := range keys {
			hooks, err := tx.WebhooksOf(k.Lineage())
			if err != nil {
				return err
			}
			found["webhooks"] += len(hooks)
		}
		return errors.Join(err, keyErr)
	})
	found["replies"] = len(storetest.Outbox(r, r.Store))
	found["transactions"] = r.transactions()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		lines = append(lines, fmt.Sprintf("%s: %d", name, found[name]))
	}
	return strings.Join(lines, ", ")
}

// TestACrashBetweenAnyTwoCommitsOfARequest: whichever of its commits was the last that the process made, the same
// request with the same Idempotency-Key has in the end done the same once.
func TestACrashBetweenAnyTwoCommitsOfARequest(t *testing.T) {
	type prepared struct{ method, path, secret, body string }
	for name, prepare := range map[string]func(r *harness) prepared{
		"send": func(r *harness) prepared {
			return prepared{"POST", "/v1/wallet/send", r.alice.secret, r.sendBody()}
		},
		"a request": func(r *harness) prepared {
			return prepared{"POST", "/v1/wallet/request", r.alice.secret, fmt.Sprintf(`{"address":%q,"amount":"1","token":"SOL","memo":"Order 7"}`, r.alice.Address())}
		},
		"rotate": func(r *harness) prepared {
			return prepared{"POST", "/v1/key/rotate", r.alice.secret, "{}"}
		},
		"a wallet": func(r *harness) prepared {
			return prepared{"POST", "/v1/wallet/create", r.alice.secret, `{"chat_id":"1001"}`}
		},
		"a challenge": func(r *harness) prepared {
			return prepared{"POST", "/v1/wallet/connect/challenge", r.alice.secret, fmt.Sprintf(`{"address":%q}`, r.Stranger())}
		},
		"a webhook": func(r *harness) prepared {
			return prepared{"POST", "/v1/webhooks", r.pro(wallet.APIKey, 1001, ""), `{"url":"https://hooks.example.com/x","events":["*"]}`}
		},
		"a webhook's secret": func(r *harness) prepared {
			secret := r.pro(wallet.APIKey, 1001, "")
			path, _ := r.hook(secret, `["*"]`)
			return prepared{"POST", path + "/secret/rotate", secret, `{"grace_seconds":3600}`}
		},
		"a message": func(r *harness) prepared {
			return prepared{"POST", "/v1/telegram/send-message", r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier}), `{"chat_id":"1001","message":"Hello","parse_mode":""}`}
		},
		"a command": func(r *harness) prepared {
			return prepared{"POST", "/v1/telegram/execute-command", r.newKey(handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier}), fmt.Sprintf(`{"chat_id":"1001","command":"/send 0.1 SOL %s","silent":false}`, r.bob.Address())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(dieAt int) (effects string, commits int) {
				r, m := newMortalHarness(t)
				p := prepare(r)
				r.get("/v1/key", p.secret) // it was used before: that is a commit of its own
				ask := func() answer {
					a := r.call(p.method, p.path, p.secret, p.body, "Idempotency-Key", "once")
					for _, field := range []string{"key", "secret"} {
						if secret := a.text("data", field); secret != "" {
							r.secrets = append(r.secrets, secret)
						}
					}
					return a
				}
				m.live(dieAt)
				a := ask()
				m.mu.Lock()
				commits = m.commits
				m.mu.Unlock()
				if died := a.status >= 500; died != (dieAt > 0) {
					t.Fatalf("died after %d commits: %v; %d %s", dieAt, died, a.status, a.body)
				}
				m.live(0)
				for again := 0; dieAt > 0; again++ { // a client goes on asking until it is told
					r.Pass(time.Second)
					if a := ask(); a.status < 300 {
						break
					} else if again == 10 {
						t.Fatalf("after a crash behind commit %d: %d %s", dieAt, a.status, a.body)
					}
				}
				return r.effects(), commits
			}
			want, commits := run(0)
			if commits == 0 {
				t.Fatal("it commits nothing: there is nothing to be tested")
			}
			for dieAt := 1; dieAt <= commits; dieAt++ {
				if got, _ := run(dieAt); got != want {
					t.Errorf("a crash after commit %d of %d leaves\n%s\nwant\n%s", dieAt, commits, got, want)
				}
			}
			t.Logf("%d commits; %s", commits, want)
		})
	}
}

// TestAnotherRotationGivesTheOldKeyNoMoreTime: a successor that was lost is replaced, and the old key ends when it
// was to end.
func TestAnotherRotationGivesTheOldKeyNoMoreTime(t *testing.T) {
	r := newHarness(t)
	old := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	first := r.call("POST", "/v1/key/rotate", old, "")
	r.want(first, 200, "", "")
	r.Pass(handlers.RotationGrace - time.Hour)
	second := r.call("POST", "/v1/key/rotate", old, "")
	r.want(second, 200, "", "")
	r.secrets = append(r.secrets, first.text("data", "key"), second.text("data", "key"))
	if ends := second.text("data", "old_ends_at"); ends != first.text("data", "old_ends_at") {
		t.Errorf("the old key was to end at %s, and is said to end at %s", first.text("data", "old_ends_at"), ends)
	}
	r.want(r.get("/v1/key", old), 200, "", "")
	r.Pass(time.Hour)
	r.want(r.get("/v1/key", old), 401, wallet.InvalidAPIKey, "")
	r.want(r.get("/v1/key", second.text("data", "key")), 200, "", "")
}

// TestASuccessorRotatesItselfWhateverHeaderItReuses: it is not told what its predecessor was told.
func TestASuccessorRotatesItselfWhateverHeaderItReuses(t *testing.T) {
	r := newHarness(t)
	old := r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	first := r.call("POST", "/v1/key/rotate", old, "", "Idempotency-Key", "monthly")
	r.want(first, 200, "", "")
	next := first.text("data", "key")
	r.secrets = append(r.secrets, next)
	r.want(r.get("/v1/key", next), 200, "", "")
	second := r.call("POST", "/v1/key/rotate", next, "", "Idempotency-Key", "monthly")
	r.want(second, 200, "", "")
	third := second.text("data", "key")
	if third == "" || third == next || second.text("data", "key_id") == first.text("data", "key_id") || second.header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("the successor is answered %v %s", second.header, second.body)
	}
	r.secrets = append(r.secrets, third)
	r.want(r.get("/v1/key", third), 200, "", "")
	// Other requests of a line are one another's: only rotating is a key's own.
	sent := r.send(third, r.sendBody(), "Idempotency-Key", "order")
	r.want(sent, 202, "", "")
	if again := r.send(next, r.sendBody(), "Idempotency-Key", "order"); again.header.Get("Idempotency-Replayed") != "true" || string(again.body) != string(sent.body) {
		t.Errorf("%d %s", again.status, again.body)
	}
}
