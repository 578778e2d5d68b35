package crash

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// TestTelegramThatHangs: calls that nobody answers hold up neither the money nor, in the end, the
// news of it.
func TestTelegramThatHangs(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	p := c.propose(nth(1))
	link := c.confirm(p, 1)
	hung := make(chan struct{})
	var calls atomic.Int32
	c.world.Telegram.SetFault(func(method string) telegram.Fault {
		if method != "editMessageText" && method != "sendMessage" {
			return telegram.Fault{}
		}
		if calls.Add(1) == 1 {
			close(hung)
		}
		return telegram.Fault{Kind: telegram.Hang}
	})
	c.sign(link)
	select {
	case <-hung:
	case <-time.After(harness.Wait):
		t.Fatal("purser says nothing of a signed payment")
	}
	for deadline := time.After(harness.Wait); c.world.Solana.Balance(c.bob.Device.Address()) != p.lamports; {
		select {
		case <-deadline:
			t.Fatal("a payment waits for Telegram")
		case <-time.After(20 * time.Millisecond): // blocks come by the clock
		}
	}
	c.world.Telegram.SetFault(nil)
	c.settled([]payment{p})
}

// TestWebSocketThatNeverOpens: it is a hint and nothing more.
func TestWebSocketThatNeverOpens(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, by its kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deaf.Close() })
	for name, address := range map[string]string{"silent": deaf.Addr().String(), "closed": "127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCouple(t, 100*time.Millisecond, "PURSER_CHAIN_WS_URL=ws://"+address)
			p := c.propose(nth(1))
			c.sign(c.confirm(p, 1))
			c.settled([]payment{p})
		})
	}
}

// TestSignatureOverAnExpiredBlockhash: purser takes it, since only the chain can tell; it never
// lands, and until it is certain that it never can, nobody is told that it failed. (The rule's three
// minutes pass in settle's tests, by a clock that they move.)
func TestSignatureOverAnExpiredBlockhash(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 20*time.Millisecond)
	p := c.propose(nth(1))
	link := c.confirm(p, 1)
	var old *harness.Signing
	c.must(c.patiently("approve", func(ctx context.Context) (err error) {
		old, err = c.alice.Device.Approve(ctx, link)
		return err
	}))
	begun := c.world.Solana.Height()
	for deadline := time.After(harness.Wait); c.world.Solana.Height() < begun+200; {
		select {
		case <-deadline:
			t.Fatal("no blocks come")
		case <-time.After(20 * time.Millisecond): // they come by the clock
		}
	}
	var refused atomic.Int32
	enough := make(chan struct{})
	c.world.Solana.SetFault(func(method string, _ json.RawMessage) solana.Fault {
		if method == "sendTransaction" && refused.Add(1) == 3 { // by preflight: it does not know the blockhash
			close(enough)
		}
		return solana.Fault{}
	})
	c.must(c.patiently("hand the signature in", func(ctx context.Context) error {
		_, err := old.Send(ctx)
		return err
	}))
	select {
	case <-enough:
	case <-time.After(harness.Wait):
		t.Fatal("purser gave up on bytes that it cannot know to be dead")
	}
	for range 2 { // in this life and in the next
		if m := c.alice.Hear("the card", p.shows); !strings.Contains(m.Text, "Signed") {
			t.Fatalf("what is neither landed nor certain to fail is shown as: %s", m.Text)
		}
		c.must(c.purser.Kill())
		c.purser.Start()
	}
	if got := c.world.Solana.Balance(c.bob.Device.Address()); got != 0 {
		t.Fatalf("Bob holds %d lamports", got)
	}
	// Its amount stays reserved: nothing that could be paid twice is offered as free.
	c.alice.Say("/wallet balance")
	c.alice.Hear("the reserve", func(m telegram.Message) bool {
		return strings.Contains(m.Text, "Reserved") && strings.Contains(m.Text, "0.010006 SOL")
	})
	other := c.propose(nth(2))
	c.sign(c.confirm(other, 1))
	c.sent(other)
	c.told(other)
}

// TestStartSaysWhatIsInTheWay: one line and status 1, from the binary itself.
func TestStartSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	w := harness.World(t, 100*time.Millisecond)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := harness.NewProduct(t, binary, w)
	file := filepath.Join(p.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		args, words []string
	}{
		{[]string{"serve", "--http-listen", taken.Addr().String()}, []string{taken.Addr().String(), "taken", "PURSER_HTTP_LISTEN"}},
		{[]string{"serve", "--store-url", "bolt:" + filepath.Join(file, "purser.db")}, []string{file, "not a directory"}},
		{[]string{"serve", "--store-url", "bolt:" + filepath.Join(p.Dir, "nowhere", "purser.db")}, []string{"nowhere"}},
		{[]string{"serve", "--store-url", "bolt:" + filepath.Join("/proc", "purser.db")}, []string{"/proc"}}, // root may write anywhere else
	} {
		_, err := p.CLI(bad.args...)
		if err == nil {
			t.Errorf("%v: it serves", bad.args)
			continue
		}
		_, said, _ := strings.Cut(err.Error(), "exit status 1: ")
		if !strings.HasPrefix(said, "purser: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%v ended with: %v", bad.args, err)
		}
		for _, word := range bad.words {
			if !strings.Contains(said, word) {
				t.Errorf("%v: %q does not say %q", bad.args, said, word)
			}
		}
	}
	p.Start() // nothing of that is in the way of a good start
	p.Stop()
}

// TestKilledDuringItsFirstStart: key and store are made in an order that a kill cannot spoil.
func TestKilledDuringItsFirstStart(t *testing.T) {
	t.Parallel()
	w := harness.World(t, 100*time.Millisecond)
	random := seeded(t)
	for range 30 {
		p := harness.NewProduct(t, binary, w)
		if err := p.Launch(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(random.IntN(60)) * time.Millisecond)
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Start()
		p.Stop()
	}
}

// TestDeletedPeopleAreAnswered: the update that deletes a person is about that person, as is what waits beside it. It ends
// nevertheless, and the chat goes on as that of a stranger.
func TestDeletedPeopleAreAnswered(t *testing.T) {
	t.Parallel()
	c := newCouple(t, 100*time.Millisecond)
	c.alice.Say("/delete_me")
	card, yes := c.alice.HearButton("Delete everything")
	c.alice.Tap(card, yes)
	c.alice.Hear("the end", func(m telegram.Message) bool { return strings.Contains(m.Text, "deleted") && m.ID > card.ID })
	c.alice.Say("/wallet")
	c.alice.Hear("the answer to a stranger", func(m telegram.Message) bool {
		return strings.Contains(m.Text, "You have no wallet here yet") && m.ID > card.ID
	})
}
