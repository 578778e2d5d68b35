package browser

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"purser/e2e/rig"
)

// newcomer is purser as somebody starts it who has configured nothing: with its own sandbox. Only
// its addresses and its folder are chosen, so that tests can stand beside each other.
type newcomer struct {
	t         *testing.T
	Chat, URL string
	Dir       string
	args, env []string
	cmd       *exec.Cmd
	end       chan error

	mu  sync.Mutex
	log bytes.Buffer // of all its lives
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	chat, rpc, ws, public := freeAddress(t), freeAddress(t), freeAddress(t), freeAddress(t)
	n := &newcomer{t: t, Chat: "http://" + chat, URL: "http://" + public, Dir: filepath.Join(t.TempDir(), "sandbox")}
	n.args = []string{"--sandbox-dir", n.Dir, "--sandbox-telegram", chat, "--sandbox-rpc", rpc, "--sandbox-ws", ws}
	n.env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "PURSER_LOG_LEVEL=debug",
		"PURSER_HTTP_LISTEN=" + public, "PURSER_HTTP_PUBLIC_URL=" + n.URL}
	t.Cleanup(func() {
		if n.cmd != nil {
			n.Stop()
		}
		if t.Failed() {
			t.Logf("the end of purser's log:\n%s", n.Log()[max(0, len(n.Log())-4000):])
		}
	})
	return n
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Write takes what the process prints.
func (n *newcomer) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.Write(text)
}

// Log is all that purser has printed.
func (n *newcomer) Log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.log.String()
}

// Start runs the program and waits until it serves.
func (n *newcomer) Start() {
	n.t.Helper()
	n.cmd = exec.Command(program, n.args...)
	n.cmd.Dir, n.cmd.Env, n.cmd.Stdout, n.cmd.Stderr = n.t.TempDir(), n.env, n, n
	if err := n.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	cmd, end := n.cmd, make(chan error, 1)
	n.end = end
	go func() { end <- cmd.Wait() }()
	for deadline := time.Now().Add(rig.Wait); time.Now().Before(deadline); {
		select {
		case err := <-end:
			n.cmd = nil
			n.t.Fatalf("purser ended at its start: %v\n%s", err, n.Log())
		default:
		}
		if answer, err := http.Get(n.URL + "/healthz"); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body) // only the status counts
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		<-time.After(5 * time.Millisecond) // there is no signal for a port that opens
	}
	n.t.Fatalf("purser does not serve\n%s", n.Log())
}

// Stop ends the program as Ctrl-C does.
func (n *newcomer) Stop() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGINT); err != nil {
		n.t.Error(err)
	}
	select {
	case err := <-n.end:
		if err != nil {
			n.t.Errorf("purser stopped with: %v", err)
		}
	case <-time.After(15 * time.Second):
		_ = n.cmd.Process.Kill() // it is reported already
		<-n.end
		n.t.Error("purser does not stop")
	}
	n.cmd = nil
}
