package api

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	product "purser/e2e/harness"
	"purser/handlers"
	"purser/store"
	"purser/wallet"

	client "purser/clients/go"
)

// line is one line of a connection that listens.
type line struct {
	Success bool
	Message string
	Data    struct {
		Events  []string
		Secret  string
		Headers map[string]string
		Body    string
	}
	Error struct{ Code wallet.Code }
}

// listens opens a connection; next reads its lines, and is not ok at its end.
func (r *harness) listens(secret, query string) (next func() (line, bool), hangUp func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/v1/webhooks/listen"+query, nil)
	r.Must(err)
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	r.Must(err)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" {
		r.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	lines := bufio.NewScanner(resp.Body)
	return func() (l line, ok bool) {
		r.Helper()
		for lines.Scan() {
			l = line{}
			r.Must(json.Unmarshal(lines.Bytes(), &l))
			if l.Message != "Alive." {
				return l, true
			}
		}
		return l, false
	}, cancel
}

// hooks counts all webhooks in the store.
func (r *harness) hooksLeft(want int) {
	r.Helper()
	var all []wallet.Webhook
	for deadline := time.Now().Add(product.Wait); time.Now().Before(deadline); runtime.Gosched() {
		r.View(func(tx store.Tx) (err error) {
			all, err = tx.AllWebhooks()
			return err
		})
		if len(all) == want {
			return
		}
	}
	r.Errorf("%d webhooks, want %d", len(all), want)
}

// TestAListenerHearsWhatAReceiverWouldBeSent: signed bytes, over one connection, for as long as it lasts.
func TestAListenerHearsWhatAReceiverWouldBeSent(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.beat = 50 * time.Millisecond })
	alice := r.person(1001, sol)
	key := r.pro(wallet.APIKey, 1001, "")
	defer r.delivers()()
	next, hangUp := r.listens(key, "?events=transaction.*")
	first, _ := next()
	if !first.Success || len(first.Data.Events) != 1 || !strings.HasPrefix(first.Data.Secret, "whsec_") {
		t.Fatalf("the first line: %+v", first)
	}
	if a := r.call("GET", hooksPath, key, ""); a.status != 200 || !strings.Contains(string(a.body), `"total_count":0`) {
		t.Errorf("a listener is listed: %s", a.body)
	}
	event, err := wallet.NewEvent("evt_1", wallet.TransactionFailed, r.Now(), alice.User.ID, wallet.TransactionFailedData{TransactionID: "tx_1", WalletAddress: alice.Address()})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return tx.Emit(event) }))
	heard, ok := next()
	if !ok || !strings.Contains(heard.Data.Body, `"transaction_id":"tx_1"`) {
		t.Fatalf("heard %+v", heard)
	}
	header := http.Header{}
	for name, value := range heard.Data.Headers {
		header.Set(name, value)
	}
	if err := client.VerifyWebhook(first.Data.Secret, header, []byte(heard.Data.Body), r.Now()); err != nil {
		t.Errorf("the signature: %v", err)
	}
	r.hooksLeft(1)
	hangUp()
	r.Must(r.Update(func(tx store.Tx) error { // writing finds out that nobody is there
		event.ID = "evt_2"
		return tx.Emit(event)
	}))
	r.hooksLeft(0)
}

// TestListenersAreFewAndEndWithTheServer.
func TestListenersAreFewAndEndWithTheServer(t *testing.T) {
	r := newHarness(t)
	r.person(1001, sol)
	key := r.pro(wallet.APIKey, 1001, "")
	var open []func() (line, bool)
	for range handlers.MaxListeners {
		next, _ := r.listens(key, "")
		next()
		open = append(open, next)
	}
	r.want(r.get("/v1/webhooks/listen", key), 409, wallet.WebhookLimitReached, "5 listeners")
	r.server.hangUp()
	for _, next := range open {
		if l, ok := next(); ok {
			t.Errorf("after the end: %+v", l)
		}
	}
	r.hooksLeft(0)
}

// TestHostileListeners: what is no list of events is refused, before anything listens.
func TestHostileListeners(t *testing.T) {
	r := newHarness(t)
	r.person(1001, sol)
	key, free := r.pro(wallet.APIKey, 1001, ""), r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001})
	token := r.pro(wallet.BotKey, 1001, "")
	for _, query := range []string{"?events=nosuch", "?events=%00", "?events=,", "?events=user.registered", "?event=*", "?events=*&events=*", "?events=" + strings.Repeat("*,", 200), "?events=%ff"} {
		r.want(r.get("/v1/webhooks/listen"+query, key), 400, wallet.InvalidRequest, "")
		r.want(r.get("/v1/telegram/webhook/listen"+strings.Replace(query, "user.registered", "price.alert", 1), token), 400, wallet.InvalidRequest, "")
	}
	r.want(r.get("/v1/webhooks/listen", free), 403, wallet.TierRequired, "")
	r.want(r.get("/v1/webhooks/listen", token), 401, wallet.InvalidAPIKey, "")
	r.want(r.get("/v1/telegram/webhook/listen", key), 401, wallet.InvalidAPIKey, "")
	r.hooksLeft(0)
}

// keyOf finds a key by its secret.
func (r *harness) keyOf(secret string) wallet.Key {
	r.Helper()
	var k wallet.Key
	r.View(func(tx store.Tx) (err error) { k, err = tx.KeyBySecret(secret); return err })
	return k
}

// change stores a key another way.
func (r *harness) change(secret string, how func(*wallet.Key)) {
	r.Helper()
	k := r.keyOf(secret)
	how(&k)
	r.Must(r.Update(func(tx store.Tx) error { return tx.PutKey(k) }))
}

// TestAListenerEndsWithItsKey: within a beat, and it is told why.
func TestAListenerEndsWithItsKey(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.beat = 20 * time.Millisecond })
	r.person(1001, sol)
	stays, _ := r.listens(r.pro(wallet.APIKey, 1001, ""), "")
	stays()
	for what, c := range map[string]struct {
		end  func(secret string)
		code wallet.Code
	}{
		"revoked": {func(secret string) {
			_, err := r.server.Keys.Revoke(context.Background(), r.keyOf(secret).ID)
			r.Must(err)
		}, wallet.InvalidAPIKey},
		"expired":    {func(secret string) { r.change(secret, func(k *wallet.Key) { k.ExpiresAt = r.Now() }) }, wallet.InvalidAPIKey},
		"downgraded": {func(secret string) { r.change(secret, func(k *wallet.Key) { k.Tier = wallet.FreeTier }) }, wallet.TierRequired},
		"narrowed": {func(secret string) {
			r.change(secret, func(k *wallet.Key) { k.Scopes = []wallet.Scope{wallet.WalletRead} })
		}, wallet.InsufficientScope},
		"forgotten": {func(secret string) {
			r.Must(r.Update(func(tx store.Tx) error {
				all, err := tx.WebhooksOf(r.keyOf(secret).Lineage())
				if err != nil {
					return err
				}
				return tx.DeleteWebhook(all[0].ID)
			}))
		}, wallet.WebhookNotFound},
	} {
		secret := r.pro(wallet.APIKey, 1001, "")
		next, _ := r.listens(secret, "")
		next()
		c.end(secret)
		last, ok := next()
		if !ok || last.Success || last.Error.Code != c.code {
			t.Errorf("%s: %+v", what, last)
		}
		if after, ok := next(); ok {
			t.Errorf("%s: and then %+v", what, after)
		}
	}
	r.hooksLeft(1)
}

// TestARotationKeepsAListener: the key that took the place of the first one has what that had.
func TestARotationKeepsAListener(t *testing.T) {
	r := newHarness(t)
	r.person(1001, sol)
	secret := r.pro(wallet.APIKey, 1001, "")
	next, _ := r.listens(secret, "")
	next()
	_, next2, err := r.server.Keys.Rotate(context.Background(), r.keyOf(secret).ID, false)
	r.Must(err)
	r.secrets = append(r.secrets, next2)
	r.Pass(handlers.RotationGrace)
	var listener wallet.Webhook
	r.View(func(tx store.Tx) error {
		all, err := tx.AllWebhooks()
		listener = all[0]
		return err
	})
	if err := r.server.Webhooks.CheckListener(context.Background(), listener); err != nil {
		t.Error(err)
	}
}

// TestAKeyThatIsEndedAtOnceTakesListenersWithIt: somebody who took the key may be listening, though a successor goes on.
func TestAKeyThatIsEndedAtOnceTakesListenersWithIt(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.beat = 20 * time.Millisecond })
	r.person(1001, sol)
	stays, _ := r.listens(r.pro(wallet.APIKey, 1001, ""), "")
	stays()
	for what, end := range map[string]func(id string){
		"rotated with end_now": func(id string) {
			_, next, err := r.server.Keys.Rotate(context.Background(), id, true)
			r.Must(err)
			r.secrets = append(r.secrets, next)
		},
		"revoked in its grace period": func(id string) {
			_, next, err := r.server.Keys.Rotate(context.Background(), id, false)
			r.Must(err)
			r.secrets = append(r.secrets, next)
			_, err = r.server.Keys.Revoke(context.Background(), id)
			r.Must(err)
		},
	} {
		secret := r.pro(wallet.APIKey, 1001, "")
		key := r.keyOf(secret)
		next, _ := r.listens(secret, "")
		next()
		late, err := r.server.Webhooks.PrepareListener(key, []string{"*"}) // asked for before the end, stored after it
		r.Must(err)
		end(key.ID)
		r.hooksLeft(1)
		if last, ok := next(); !ok || last.Success || last.Error.Code != wallet.WebhookNotFound {
			t.Errorf("%s: %+v", what, last)
		}
		err = r.Update(func(tx store.Tx) error { return r.server.Webhooks.CommitListener(tx, key, late) })
		if wallet.CodeOf(err) != wallet.InvalidAPIKey {
			t.Errorf("%s: a late listener: %v", what, err)
		}
	}
	r.hooksLeft(1)
}

// TestHEADOfListeningIsRefused over one connection, which goes on: nothing is left of it in front of the next
// answer. Neither is anything of a stream that has ended.
func TestHEADOfListeningIsRefused(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.beat = 20 * time.Millisecond })
	r.person(1001, sol)
	secret, other := r.pro(wallet.APIKey, 1001, ""), r.pro(wallet.APIKey, 1001, "")
	host := strings.TrimPrefix(r.base, "http://")
	raw, err := net.Dial("tcp", host)
	r.Must(err)
	defer raw.Close()
	r.Must(raw.SetDeadline(time.Now().Add(product.Wait)))
	from := bufio.NewReader(raw)
	ask := func(method, path, secret string) *http.Response {
		t.Helper()
		_, err := fmt.Fprintf(raw, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", method, path, host, secret)
		r.Must(err)
		resp, err := http.ReadResponse(from, &http.Request{Method: method})
		r.Must(err)
		return resp
	}
	if resp := ask("HEAD", "/v1/webhooks/listen", secret); resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	r.hooksLeft(0)
	stream := ask("GET", "/v1/webhooks/listen", secret)
	lines := bufio.NewReader(stream.Body)
	_, err = lines.ReadString('\n')
	r.Must(err)
	_, err = r.server.Keys.Revoke(context.Background(), r.keyOf(secret).ID)
	r.Must(err)
	_, err = io.Copy(io.Discard, lines)
	r.Must(err)
	if resp := ask("GET", "/v1/key", other); resp.StatusCode != 200 {
		t.Errorf("after the stream: %d", resp.StatusCode)
	}
}
