package api

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// admin serves the harness's keys on a socket and returns its path and a way to stop.
func (r *harness) admin(path string) (stop func() error) {
	r.Helper()
	ln, err := ListenAdmin(path)
	r.Must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- (&Admin{Keys: r.Keys, Queues: &handlers.Queues{Store: r.Store, Now: r.Now}, Log: slog.New(slog.NewTextHandler(r.logged, nil))}).Run(ctx, ln)
	}()
	return func() error { cancel(); return <-done }
}

// socketPath is in a folder of its own with a short name: a socket's path has 108 bytes at most.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return SocketPath(filepath.Join(dir, "purser.db"))
}

func TestKeysAreMadeBesideARunningServer(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stop := r.admin(path)
	client, err := DialAdmin(path)
	check(t, err)
	defer client.Close()
	var service KeyService = client
	ctx := context.Background()

	key, secret, err := service.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, Scopes: []wallet.Scope{wallet.WalletSend},
		OwnerTelegramID: r.alice.User.TelegramID, ExpiresAt: r.Now().Add(time.Hour)})
	check(t, err)
	if key.Owner != r.alice.User.ID || key.Tier != wallet.ProTier || len(key.Scopes) != 1 || !key.ExpiresAt.Equal(r.Now().Add(time.Hour)) || !strings.HasSuffix(secret, key.Hint) {
		t.Errorf("%+v", key)
	}
	if a := r.send(secret, r.sendBody()); a.status != 202 {
		t.Errorf("the new key: %d %s", a.status, a.body)
	}
	keys, err := service.List(ctx)
	check(t, err)
	if len(keys) != 3 { // Alice's, Bob's, the new one
		t.Errorf("%d keys", len(keys))
	}
	revoked, err := service.Revoke(ctx, key.ID)
	if err != nil || revoked.RevokedAt.IsZero() {
		t.Errorf("%+v, %v", revoked, err)
	}
	r.want(r.send(secret, r.sendBody()), 401, wallet.InvalidAPIKey, "")

	if _, _, err := service.Create(ctx, handlers.KeyRequest{Kind: "other", Tier: wallet.ProTier}); wallet.CodeOf(err) != wallet.InvalidRequest || !strings.Contains(wallet.ReasonOf(err).String(), "kind") {
		t.Errorf("a wrong kind: %v", err)
	}
	if _, _, err := service.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 99}); wallet.CodeOf(err) != wallet.UserNotFound {
		t.Errorf("an unknown owner: %v", err)
	}
	if _, err := service.Revoke(ctx, "key_x"); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("an unknown key: %v", err)
	}
	if strings.Contains(r.logged.String(), secret) {
		t.Error("the secret is in the log")
	}
	check(t, stop())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	if _, err := DialAdmin(path); !errors.Is(err, ErrNoServer) {
		t.Errorf("nobody serves: %v", err)
	}
}

func TestTheSocketIsItsUsersAlone(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stop := r.admin(path)
	info, err := os.Lstat(path)
	check(t, err)
	if info.Mode().Type() != fs.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left beside it: %v, %v", entries, err)
	}
	if _, err := ListenAdmin(path); err == nil || !strings.Contains(err.Error(), "another purser") {
		t.Errorf("a second server: %v", err)
	}
	check(t, stop())
}

func TestAStaleSocketIsReplacedAndAFileIsNot(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	check(t, err)
	stale.SetUnlinkOnClose(false)
	check(t, stale.Close()) // as a crash leaves it: the file, and nobody behind it
	if _, err := DialAdmin(path); !errors.Is(err, ErrNoServer) {
		t.Errorf("a stale socket: %v", err)
	}
	stop := r.admin(path)
	client, err := DialAdmin(path)
	check(t, err)
	if _, err := client.List(context.Background()); err != nil {
		t.Error(err)
	}
	client.Close()
	check(t, stop())

	check(t, os.WriteFile(path, []byte("precious"), 0o600))
	if _, err := ListenAdmin(path); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("a file: %v", err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "precious" {
		t.Errorf("the file is now %q, %v", raw, err)
	}
}

// TestABusyServerIsNotTakenForNone: a server whose queue of connections is full refuses new ones as well. The command line
// must then not open the store, and a second server must not replace the socket.
func TestABusyServerIsNotTakenForNone(t *testing.T) {
	path := socketPath(t)
	busy, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	check(t, err)
	defer func() { check(t, syscall.Close(busy)) }()
	check(t, syscall.Bind(busy, &syscall.SockaddrUnix{Name: path}))
	check(t, syscall.Listen(busy, 0)) // and it never accepts
	for range 8 {
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err != nil {
			break // the queue is full
		}
		defer conn.Close()
	}
	before, err := os.Lstat(path)
	check(t, err)

	if client, err := DialAdmin(path); client != nil || err == nil || errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "try again") {
		t.Errorf("DialAdmin: %v", err)
	}
	if ln, err := ListenAdmin(path); ln != nil || err == nil {
		t.Errorf("ListenAdmin: %v", err)
	}
	if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("its socket was replaced: %v", err)
	}
}

// stuckKeys are keys whose List ends only with its request.
type stuckKeys struct {
	KeyService
	entered, ended chan struct{}
}

func (k *stuckKeys) List(ctx context.Context) ([]wallet.Key, error) {
	close(k.entered)
	<-ctx.Done()
	close(k.ended)
	return nil, ctx.Err()
}

func TestAnAdminRequestThatDoesNotEndIsCutOff(t *testing.T) {
	path := socketPath(t)
	ln, err := ListenAdmin(path)
	check(t, err)
	keys := &stuckKeys{entered: make(chan struct{}), ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- (&Admin{Keys: keys, Log: slog.New(slog.DiscardHandler)}).run(ctx, ln, time.Millisecond)
	}()
	client, err := DialAdmin(path)
	check(t, err)
	defer client.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := client.List(context.Background())
		answered <- err
	}()
	<-keys.entered
	cancel()
	if err := <-done; !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("Run: %v", err)
	}
	if err := <-answered; err == nil {
		t.Error("the request was answered")
	}
	<-keys.ended
}

func TestTheAdminSocketRefusesGarbage(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stop := r.admin(path)
	client, err := DialAdmin(path)
	check(t, err)
	defer client.Close()
	for _, body := range []string{"", "{", "[]", `{"kind":"api","nonsense":1}`, `{"owner_telegram_id":"x"}`, strings.Repeat("[", 1<<20)} {
		resp, err := client.http.Post("http://purser/keys", "application/json", strings.NewReader(body))
		if err != nil {
			continue // cut off while still sending: an answer too
		}
		check(t, resp.Body.Close())
		if resp.StatusCode != 200 {
			t.Errorf("%.20q: %s", body, resp.Status)
		}
	}
	if keys, err := client.List(context.Background()); err != nil || len(keys) != 2 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	check(t, stop())
}

// TestDeadLettersAreReplayedBesideARunningServer: what was given up is listed without its content, and goes back into its
// queue once.
func TestDeadLettersAreReplayedBesideARunningServer(t *testing.T) {
	r := newHarness(t)
	puts := func(body string) {
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{ID: "rep_1", Queue: store.Outbox, Key: "1001", Owner: "1001", Body: []byte(body), At: r.Now()}}, nil)
			return err
		}))
	}
	puts("private")
	r.deadLetterAll("no reason", store.Outbox)
	path := socketPath(t)
	stop := r.admin(path)
	client, err := DialAdmin(path)
	check(t, err)
	defer client.Close()
	var service QueueService = client
	ctx := context.Background()

	dead := func() map[store.Queue]int {
		t.Helper()
		states, err := service.States(ctx)
		check(t, err)
		out := map[store.Queue]int{}
		for _, s := range states {
			out[s.Queue] = s.Dead
		}
		return out
	}
	if got := dead(); len(got) != len(store.JobQueues()) || got[store.Outbox] != 1 {
		t.Errorf("the queues stand at %v", got)
	}
	letters, err := service.DeadLetters(ctx, store.Outbox)
	if err != nil || len(letters) != 1 || letters[0].ID != "rep_1" || letters[0].Reason != "no reason" || !letters[0].DiedAt.Equal(r.Now()) ||
		letters[0].Body != nil || letters[0].Key != "" || letters[0].Owner != "" {
		t.Fatalf("%+v, %v", letters, err)
	}
	check(t, service.Replay(ctx, store.Outbox, "rep_1"))
	if got := dead(); got[store.Outbox] != 0 {
		t.Errorf("after it was replayed the queues stand at %v", got)
	}
	r.View(func(tx store.Tx) error {
		job, err := tx.Job(store.Outbox, "rep_1")
		if string(job.Body) != "private" || job.Key != "1001" || job.Failures != 0 {
			t.Errorf("%+v", job)
		}
		return err
	})
	if err := service.Replay(ctx, store.Outbox, "rep_1"); wallet.CodeOf(err) != wallet.NotFound {
		t.Errorf("once more: %v", err)
	}
	r.deadLetterAll("again", store.Outbox)
	puts("anew")
	if err := service.Replay(ctx, store.Outbox, "rep_1"); wallet.CodeOf(err) != wallet.Conflict || !strings.Contains(wallet.ReasonOf(err).String(), "letter_waits") {
		t.Errorf("beside a job of its id: %v", err)
	}
	for _, queue := range []store.Queue{"", "none", store.RelaySignal} {
		if _, err := service.DeadLetters(ctx, queue); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%q: %v", queue, err)
		}
		if err := service.Replay(ctx, queue, "rep_1"); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("%q: %v", queue, err)
		}
	}
	check(t, stop())
	if strings.Contains(r.logged.String(), "private") {
		t.Error("a message is in the log")
	}
}

// deadLetterAll gives up every job of a queue.
func (r *harness) deadLetterAll(reason string, queue store.Queue) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		for {
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: queue, Node: "test", Now: r.Now(), Max: 10, Lease: time.Minute})
			if err != nil || len(jobs) == 0 {
				return err
			}
			for _, job := range jobs {
				if err := tx.DeadLetterJobs(r.Now(), reason, job.Ref()); err != nil {
					return err
				}
			}
		}
	}))
}

// TestACommandOfAnotherVersionIsRefused: a field that this version doesn't know is refused, not ignored.
func TestACommandOfAnotherVersionIsRefused(t *testing.T) {
	r := newHarness(t)
	path := socketPath(t)
	stop := r.admin(path)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}}
	answer, err := client.Post("http://purser/keys/revoke", "application/json", strings.NewReader(`{"id":"key_x","at_once":true}`))
	check(t, err)
	body, err := io.ReadAll(answer.Body)
	check(t, errors.Join(err, answer.Body.Close()))
	if !strings.Contains(string(body), string(wallet.InvalidRequest)) || !strings.Contains(string(body), "admin.other_version") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
	client.CloseIdleConnections()
	check(t, stop())
}
