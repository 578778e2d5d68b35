package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
	"purser/store"
)

// TestTroubledNodeWhileAsking: the person hears what is wrong, and can go on when it is over.
func TestTroubledNodeWhileAsking(t *testing.T) {
	for name, fault := range map[string]solana.Fault{
		"429": {Status: 429, RetryAfter: time.Second}, "503": {Status: 503}, "lost": {DropAnswer: true}, "hang": {Hang: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCouple(t, 100*time.Millisecond)
			c.world.Solana.SetFault(func(string, json.RawMessage) solana.Fault { return fault })
			c.alice.Say("/send " + nth(1).amount() + " SOL " + c.bob.Device.Address())
			c.alice.Hear("the trouble", func(m telegram.Message) bool { return strings.Contains(m.Text, "Solana isn't answering") })
			c.world.Solana.SetFault(nil)
			p := c.propose(nth(2))
			c.sign(c.confirm(p, 1))
			c.settled([]payment{p})
		})
	}
}

// TestTroubledNodeAfterTheSignature: the card tells the truth meanwhile, and the payment ends paid.
func TestTroubledNodeAfterTheSignature(t *testing.T) {
	for name, fault := range map[string]solana.Fault{
		"429": {Status: 429}, "503": {Status: 503}, "lost answers": {DropAnswer: true}, "hang": {Hang: true},
		"swallowed": {Swallow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A call that hangs takes half a minute, and the signature must outlive it: a blockhash is good for 150 slots.
			c := newCouple(t, 400*time.Millisecond)
			p := c.propose(nth(1))
			link := c.confirm(p, 1)
			asked := make(chan struct{})
			var calls atomic.Int32
			c.world.Solana.SetFault(func(method string, _ json.RawMessage) solana.Fault {
				if method != "sendTransaction" && method != "getSignatureStatuses" {
					return solana.Fault{}
				}
				if calls.Add(1) == 3 {
					close(asked)
				}
				return fault
			})
			c.sign(link)
			select {
			case <-asked:
			case <-time.After(harness.Wait):
				t.Fatal("purser gave up asking")
			}
			m := c.alice.Hear("the card", p.shows)
			if strings.Contains(m.Text, "Not sent") {
				t.Fatalf("called failed while it could land: %s", m.Text)
			}
			c.world.Solana.SetFault(nil)
			c.settled([]payment{p})
		})
	}
}

func TestPaymentsGoOnWithoutTheWebSocket(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	var paid []payment
	for n := range 3 {
		p := c.propose(nth(n))
		link := c.confirm(p, 1)
		c.world.Solana.DropWebSockets()
		c.sign(link)
		paid = append(paid, p)
	}
	c.settled(paid)
}

// TestTroubledTelegram: whatever Telegram answers for a while, each message gets through in the end.
func TestTroubledTelegram(t *testing.T) {
	for name, fault := range map[string]telegram.Fault{
		"502": {Kind: telegram.BadGateway}, "429": {Kind: telegram.TooMany, RetryAfter: 1},
		"lost answers": {Kind: telegram.DropAnswer}, "lost requests": {Kind: telegram.DropRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCouple(t, 100*time.Millisecond)
			var calls atomic.Int32
			c.world.Telegram.SetFault(func(string) telegram.Fault {
				if calls.Add(1)%3 == 0 { // every third call, for as long as it lasts
					return fault
				}
				return telegram.Fault{}
			})
			p := c.propose(nth(1))
			c.sign(c.confirm(p, 1))
			c.sent(p)
			c.told(p)
			c.world.Telegram.SetFault(nil)
			c.settled([]payment{p})
		})
	}
}

// TestFullDiskStopsAndLosesNothing: purser ends with one clear line when it cannot write, and goes
// on from what it had acknowledged when there is room again.
func TestFullDiskStopsAndLosesNothing(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	p := c.propose(nth(1))
	c.sign(c.confirm(p, 1))
	c.sent(p)
	file := filepath.Join(c.purser.Dir, "purser.db")
	// A limit of the process on file sizes is what a full disk looks like to it. The database grows in large steps and
	// has room inside: only its first pages can still be written.
	limit := syscall.Rlimit{Cur: 32 << 10, Max: 32 << 10}
	c.must(limitFiles(c.purser.PID(), limit))
	const carol = 1003
	c.must(c.world.Telegram.AddUser(telegram.User{ID: carol, FirstName: "Carol"}, ""))
	ended := make(chan error, 1)
	go func() { ended <- c.purser.Ended() }()
	deadline := time.After(harness.Wait)
	for full := false; !full; {
		select {
		case err := <-ended:
			full = true
			if err == nil || !strings.Contains(c.purser.Log(), "\npurser: ") || !strings.Contains(c.purser.Log(), "outcome of a commit unknown") || !strings.Contains(c.purser.Log(), file+": no room is left for it: free some space") {
				t.Fatalf("purser ended with %v:\n%s", err, c.purser.Log())
			}
		case <-deadline:
			c.must(syscall.Kill(c.purser.PID(), syscall.SIGKILL))
			<-ended
			t.Fatal("the disk does not fill")
		case <-time.After(time.Millisecond):
			_, err := c.world.Telegram.Say(carol, strings.Repeat("x", 4000)) // she fills the inbox and the outbox
			c.must(err)
		}
	}
	for range 500 { // while purser is away, five times what one chat may have waiting; each costs as many tries for a private key as a message may
		_, err := c.world.Telegram.Say(carol, strings.Repeat("a9", 2000))
		c.must(err)
	}
	c.purser.Start()
	again := c.propose(nth(2))
	c.sign(c.confirm(again, 1))
	c.sent(again)
	c.told(again)
	c.purser.Stop() // Carol's answers go out one a second: they may wait
	c.look(func(tx store.Tx) { c.once(tx, []payment{p, again}) })
}

// TestFullDiskAtTheStartIsSaidAtOnce: purser does not say that it serves before it has written something.
func TestFullDiskAtTheStartIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	w := harness.World(t, 100*time.Millisecond)
	before := harness.NewProduct(t, binary, w)
	before.Start()
	before.Stop()
	file := filepath.Join(before.Dir, "purser.db")
	limited := filepath.Join(t.TempDir(), "limited")
	script := fmt.Sprintf("#!/bin/sh\nexec prlimit --fsize=4096 -- %s \"$@\"\n", binary)
	if err := os.WriteFile(limited, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	p := harness.NewProduct(t, limited, w, "PURSER_STORE_URL=bolt:"+file)
	if err := p.Launch(); err != nil {
		t.Fatal(err)
	}
	err := p.Ended()
	if log := p.Log(); err == nil || strings.Contains(log, "purser serves") || strings.Count(log, "\n") != 1 || !strings.HasPrefix(log, "purser: ") || !strings.Contains(log, "disk full") {
		t.Errorf("purser ended with %v and says:\n%s", err, log)
	}
	before.Start() // nothing was spoilt
	before.Stop()
}

// limitFiles is prlimit(2) with RLIMIT_FSIZE for another process.
func limitFiles(pid int, limit syscall.Rlimit) error {
	return exec.Command("prlimit", "--pid", fmt.Sprint(pid), fmt.Sprintf("--fsize=%d:%d", limit.Cur, limit.Max)).Run()
}

func TestSecondInstanceOnOneStoreEndsInOneLine(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	_, err := c.purser.CLI("serve", "--http-listen", "127.0.0.1:0")
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "another purser") || !strings.Contains(err.Error(), "exit status 1") {
		t.Fatalf("a second instance ended with: %v", err)
	}
	p := c.propose(nth(1)) // the first is not disturbed
	c.sign(c.confirm(p, 1))
	c.settled([]payment{p})
}

// TestStoppedWhileBusyDrains: SIGTERM in the middle of everything ends within 10 seconds, and the
// next life goes on.
func TestStoppedWhileBusyDrains(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	p := c.propose(nth(1))
	link := c.confirm(p, 1)
	c.world.Solana.SetFault(func(string, json.RawMessage) solana.Fault { return solana.Fault{Hang: true} })
	c.alice.Say("/wallet balance") // waits for a node that hangs
	c.purser.Stop()
	c.world.Solana.SetFault(nil)
	c.purser.Start()
	c.alice.Hear("an answer, of this life or the one before", func(m telegram.Message) bool {
		return strings.Contains(m.Text, "Balance") || strings.Contains(m.Text, "Solana isn't answering")
	})
	c.sign(link)
	c.settled([]payment{p})
}

// TestAPISendRepeatedAcrossACrash: the same Idempotency-Key makes one proposal, whatever was heard.
func TestAPISendRepeatedAcrossACrash(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	out, err := c.purser.CLI("key", "create", "--owner", fmt.Sprint(telegram.Alice), "--json")
	c.must(err)
	var key struct{ Key string }
	c.must(json.Unmarshal([]byte(out), &key))
	send := func(p payment) (id string, err error) {
		body := fmt.Sprintf(`{"from":%q,"to":%q,"amount":%s,"token":"SOL"}`, c.alice.Device.Address(), c.bob.Device.Address(), p.amount())
		req, err := http.NewRequest(http.MethodPost, c.purser.URL+"/v1/wallet/send", bytes.NewReader([]byte(body)))
		c.must(err)
		req.Header.Set("Authorization", "Bearer "+key.Key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "order-"+p.amount())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		var answer struct {
			Data struct {
				ID string `json:"transaction_id"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return "", err
		}
		if resp.StatusCode != http.StatusAccepted {
			return "", fmt.Errorf("status %d", resp.StatusCode)
		}
		return answer.Data.ID, nil
	}
	var paid []payment
	for n := range 8 {
		p := nth(n)
		over := make(chan error, 1)
		go func() {
			<-time.After(time.Duration(n) * 500 * time.Microsecond)
			if err := c.purser.Kill(); err != nil {
				over <- err
				return
			}
			over <- c.purser.Serve()
		}()
		first, firstErr := send(p)
		c.must(<-over)
		second, err := send(p)
		c.must(err)
		third, err := send(p)
		c.must(err)
		if second != third || firstErr == nil && first != second {
			t.Fatalf("one order, three answers: %q %q %q", first, second, third)
		}
		p.card = c.alice.Hear("the question of "+p.amount(), func(m telegram.Message) bool {
			_, ok := m.Button("Confirm")
			return ok && p.shows(m)
		})
		c.sign(c.confirm(p, 1))
		paid = append(paid, p)
	}
	c.settled(paid)
}
