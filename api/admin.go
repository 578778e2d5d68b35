package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// KeyService is what an operator does with keys. handlers.Keys implements it in the process that owns the store, and
// AdminClient in a command beside a running one.
type KeyService interface {
	Create(context.Context, handlers.KeyRequest) (wallet.Key, string, error)
	List(context.Context) ([]wallet.Key, error)
	Revoke(ctx context.Context, id string) (wallet.Key, error)
	Rotate(ctx context.Context, id string, endNow bool) (wallet.Key, string, error)
	SetTier(ctx context.Context, id string, tier wallet.Tier) (wallet.Key, error)
}

// QueueService is what an operator does with the queues of jobs. handlers.Queues and AdminClient implement it, like
// KeyService.
type QueueService interface {
	States(context.Context) ([]handlers.QueueState, error)
	DeadLetters(context.Context, store.Queue) ([]store.DeadLetter, error)
	Replay(context.Context, store.Queue, store.JobID) error
}

// Admin serves an operator's commands on a Unix socket. Whether a process may open the socket is the only check: the file
// mode is 0600, so it must run as root or as the user that runs purser.
type Admin struct {
	Keys   KeyService
	Queues QueueService
	Log    *slog.Logger
}

// The wire of the admin socket: JSON over HTTP, between two processes of one binary.
type (
	// The body of POST /keys, with the fields of handlers.KeyRequest.
	adminKeyRequest struct {
		Kind            wallet.KeyKind `json:"kind"`
		Tier            wallet.Tier    `json:"tier"`
		Scopes          []wallet.Scope `json:"scopes"`
		OwnerTelegramID int64          `json:"owner_telegram_id"`
		ExpiresAt       time.Time      `json:"expires_at"`
		App             string         `json:"app"`
	}
	adminRevoke struct {
		ID string `json:"id"`
	}
	adminRotate struct {
		ID  string `json:"id"`
		Now bool   `json:"now"` // the old key stops working immediately
	}
	adminTier struct {
		ID   string      `json:"id"`
		Tier wallet.Tier `json:"tier"`
	}
	adminQueue struct {
		Queue store.Queue `json:"queue"`
	}
	adminReplay struct {
		Queue store.Queue `json:"queue"`
		ID    store.JobID `json:"id"`
	}
	adminAnswer struct {
		Key    wallet.Key   `json:"key"`
		Keys   []wallet.Key `json:"keys,omitempty"`
		Secret string       `json:"secret,omitempty"` // the new key in full; it is returned only once

		Queues  []handlers.QueueState `json:"queues,omitempty"`
		Letters []store.DeadLetter    `json:"letters,omitempty"`

		Code   wallet.Code   `json:"code,omitempty"` // set if the command failed, with Reason; the other fields are then empty
		Reason wallet.Reason `json:"reason,omitzero"`
	}
)

// SocketPath is the path of a store's admin socket.
func SocketPath(storePath string) string { return storePath + ".sock" }

// ListenAdmin opens the socket at path with mode 0600. It replaces a socket that no process listens on, as a crash leaves
// one. It returns an error if a process listens there or that cannot be found out, or if the file is not a socket.
func ListenAdmin(path string) (net.Listener, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("admin socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("admin socket: %s is in the way: it is not a socket of ours, move it", path)
	default:
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			_ = conn.Close() // connecting was the whole check
			return nil, fmt.Errorf("admin socket: another purser answers at %s", path)
		}
		if !nobodyListens(err) {
			return nil, fmt.Errorf("admin socket: another purser may run at %s: %w", path, err)
		}
	}
	// The socket is created in a private directory (mode 0700) and then renamed to path. So no other user can connect
	// before chmod has run, and the rename replaces a stale socket in one step.
	private, err := os.MkdirTemp(filepath.Dir(path), ".admin")
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	defer func() { _ = os.RemoveAll(private) }() // empty after the rename; after a failure it may hold an unused socket
	made := filepath.Join(private, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("admin socket %s (a socket's path may have about 100 characters): %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // it would unlink the old name; adminListener removes path
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fmt.Errorf("admin socket: %w", err), ln.Close())
	}
	return adminListener{ln, path}, nil
}

// nobodyListens reports whether dialling a Unix socket failed because no process has it open: the file does not exist, or
// it was left by a process that ended. Any other error proves nothing. A server that is too busy to accept, for example,
// refuses with EAGAIN when its queue of connections is full.
func nobodyListens(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// adminListener removes its file when it is closed.
type adminListener struct {
	net.Listener
	path string
}

// Close implements net.Listener. A second Close returns an error and removes nothing.
func (l adminListener) Close() error {
	err := l.Listener.Close()
	if err == nil {
		err = os.Remove(l.path)
	}
	return err
}

// Run serves ln, which comes from ListenAdmin, until ctx ends. It then gives open requests drainTimeout to finish. If they do
// not, it ends their contexts, closes their connections and returns an error.
func (a *Admin) Run(ctx context.Context, ln net.Listener) error {
	return a.run(ctx, ln, drainTimeout)
}

// run is Run with the time to drain as an argument.
func (a *Admin) run(ctx context.Context, ln net.Listener, drain time.Duration) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /keys", withBody(a, a.create))
	mux.HandleFunc("GET /keys", a.list)
	mux.HandleFunc("POST /keys/revoke", withBody(a, a.revoke))
	mux.HandleFunc("POST /keys/rotate", withBody(a, a.rotate))
	mux.HandleFunc("POST /keys/tier", withBody(a, a.setTier))
	mux.HandleFunc("GET /queues", a.queues)
	mux.HandleFunc("POST /queues/dead-letters", withBody(a, a.deadLetters))
	mux.HandleFunc("POST /queues/replay", withBody(a, a.replay))
	// Requests outlive ctx by the time to drain, and end with base. Closing a connection alone does not end its request:
	// net/http notices that only once the handler has read the body.
	base, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	// The limits are those of the public listener.
	server := &http.Server{
		BaseContext: func(net.Listener) context.Context { return base },
		Handler:     http.MaxBytesHandler(mux, maxBody), ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(a.Log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the admin socket: %w", err)
	case <-ctx.Done():
	}
	// Take no new connections, and let the requests in flight finish.
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(draining)
	if err != nil {
		cutOff()
		err = errors.Join(fmt.Errorf("requests to the admin socket were cut off after %s: %w", drain, err), server.Close())
	}
	<-served
	return err
}

// create is POST /keys. The answer has the new key in full.
func (a *Admin) create(ctx context.Context, req adminKeyRequest) (adminAnswer, error) {
	key, secret, err := a.Keys.Create(ctx, handlers.KeyRequest(req))
	return adminAnswer{Key: key, Secret: secret}, err
}

// list is GET /keys.
func (a *Admin) list(w http.ResponseWriter, r *http.Request) {
	keys, err := a.Keys.List(r.Context())
	a.answer(w, adminAnswer{Keys: keys}, err)
}

// revoke is POST /keys/revoke.
func (a *Admin) revoke(ctx context.Context, req adminRevoke) (adminAnswer, error) {
	key, err := a.Keys.Revoke(ctx, req.ID)
	return adminAnswer{Key: key}, err
}

// rotate is POST /keys/rotate. The answer has the new key in full.
func (a *Admin) rotate(ctx context.Context, req adminRotate) (adminAnswer, error) {
	key, secret, err := a.Keys.Rotate(ctx, req.ID, req.Now)
	return adminAnswer{Key: key, Secret: secret}, err
}

// setTier is POST /keys/tier.
func (a *Admin) setTier(ctx context.Context, req adminTier) (adminAnswer, error) {
	key, err := a.Keys.SetTier(ctx, req.ID, req.Tier)
	return adminAnswer{Key: key}, err
}

// queues is GET /queues.
func (a *Admin) queues(w http.ResponseWriter, r *http.Request) {
	states, err := a.Queues.States(r.Context())
	a.answer(w, adminAnswer{Queues: states}, err)
}

// deadLetters is POST /queues/dead-letters.
func (a *Admin) deadLetters(ctx context.Context, req adminQueue) (adminAnswer, error) {
	letters, err := a.Queues.DeadLetters(ctx, req.Queue)
	return adminAnswer{Letters: letters}, err
}

// replay is POST /queues/replay.
func (a *Admin) replay(ctx context.Context, req adminReplay) (adminAnswer, error) {
	return adminAnswer{}, a.Queues.Replay(ctx, req.Queue, req.ID)
}

// withBody returns the handler of a command with a request body: it decodes the body, calls run and writes its result.
func withBody[R any](a *Admin, run func(context.Context, R) (adminAnswer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req R
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields() // both ends are one binary: an unknown field is another version
		if err := decoder.Decode(&req); err != nil {
			a.answer(w, adminAnswer{}, &wallet.Error{Code: wallet.InvalidRequest, Reason: wallet.Because("admin.other_version"), Err: err})
			return
		}
		answer, err := run(r.Context(), req)
		a.answer(w, answer, err)
	}
}

// answer writes the result of a command. The HTTP status is always 200: a code in the body marks an error. Only the code
// and the reason leave the process; an internal error is logged here.
func (a *Admin) answer(w http.ResponseWriter, answer adminAnswer, err error) {
	if err != nil {
		answer = adminAnswer{Code: wallet.CodeOf(err), Reason: wallet.ReasonOf(err)}
		if answer.Code == wallet.Internal {
			a.Log.Error("admin command", slog.Any("error", err))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.Log.Warn("admin command answered nobody", slog.Any("error", err))
	}
}

// ErrNoServer says that no process listens on the socket. The caller may then open the store itself.
var ErrNoServer = errors.New("no purser is running here")

// AdminClient is the operator's end of the socket. Its methods return what the running process returned: errors have
// the wallet codes of handlers. Any goroutine may use it.
type AdminClient struct{ http *http.Client }

// DialAdmin returns a client of the server that listens on the socket at path. The error is ErrNoServer only if no process
// listens there; a server that is too busy to accept the connection is another error. The caller closes the client.
func DialAdmin(path string) (*AdminClient, error) {
	// Connect once to learn whether a process listens: the caller decides by that whether it may open the store
	// itself.
	probe, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%s belongs to another user: run this as the user that runs purser", path)
	case nobodyListens(err):
		return nil, fmt.Errorf("%w (%s)", ErrNoServer, path)
	case err != nil:
		return nil, fmt.Errorf("purser runs but does not accept a connection at %s, try again: %w", path, err)
	}
	_ = probe.Close() // connecting was the whole check; requests open their own connections
	return &AdminClient{&http.Client{
		Timeout: writeTimeout,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}},
	}}, nil
}

// Create makes a key, and returns its secret, which is shown only once; see handlers.Keys.
func (a *AdminClient) Create(ctx context.Context, req handlers.KeyRequest) (wallet.Key, string, error) {
	answer, err := a.call(ctx, http.MethodPost, "/keys", adminKeyRequest(req))
	return answer.Key, answer.Secret, err
}

// List returns every key, without secrets.
func (a *AdminClient) List(ctx context.Context) ([]wallet.Key, error) {
	answer, err := a.call(ctx, http.MethodGet, "/keys", nil)
	return answer.Keys, err
}

// Revoke ends a key now, and returns it.
func (a *AdminClient) Revoke(ctx context.Context, id string) (wallet.Key, error) {
	answer, err := a.call(ctx, http.MethodPost, "/keys/revoke", adminRevoke{id})
	return answer.Key, err
}

// Rotate makes the successor of a key, and returns its secret; see handlers.Keys.
func (a *AdminClient) Rotate(ctx context.Context, id string, endNow bool) (wallet.Key, string, error) {
	answer, err := a.call(ctx, http.MethodPost, "/keys/rotate", adminRotate{id, endNow})
	return answer.Key, answer.Secret, err
}

// SetTier changes a key's tier; see handlers.Keys.
func (a *AdminClient) SetTier(ctx context.Context, id string, tier wallet.Tier) (wallet.Key, error) {
	answer, err := a.call(ctx, http.MethodPost, "/keys/tier", adminTier{id, tier})
	return answer.Key, err
}

// States returns the state of every queue; see handlers.Queues.
func (a *AdminClient) States(ctx context.Context) ([]handlers.QueueState, error) {
	answer, err := a.call(ctx, http.MethodGet, "/queues", nil)
	return answer.Queues, err
}

// DeadLetters lists the dead-lettered jobs of a queue; see handlers.Queues.
func (a *AdminClient) DeadLetters(ctx context.Context, queue store.Queue) ([]store.DeadLetter, error) {
	answer, err := a.call(ctx, http.MethodPost, "/queues/dead-letters", adminQueue{queue})
	return answer.Letters, err
}

// Replay puts a dead-lettered job back into its queue; see handlers.Queues.
func (a *AdminClient) Replay(ctx context.Context, queue store.Queue, id store.JobID) error {
	_, err := a.call(ctx, http.MethodPost, "/queues/replay", adminReplay{queue, id})
	return err
}

// Close ends idle connections.
func (a *AdminClient) Close() { a.http.CloseIdleConnections() }

// call sends one command and decodes its answer. After an error of the connection nobody knows whether the command
// took effect.
func (a *AdminClient) call(ctx context.Context, method, path string, body any) (adminAnswer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return adminAnswer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://purser"+path, bytes.NewReader(raw))
	if err != nil {
		return adminAnswer{}, err
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return adminAnswer{}, fmt.Errorf("ask the running purser: %w", err)
	}
	defer resp.Body.Close()
	var answer adminAnswer
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return adminAnswer{}, fmt.Errorf("read the running purser's answer (%s): %w", resp.Status, err)
	}
	if answer.Code != "" {
		return adminAnswer{}, &wallet.Error{Code: answer.Code, Reason: answer.Reason}
	}
	return answer, nil
}
