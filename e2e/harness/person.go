package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/sandbox"
	"purser/sandbox/telegram"
)

// Person is somebody in the sandbox's Telegram with a device of their own.
type Person struct {
	t      testing.TB
	World  *sandbox.World
	ID     int64
	Device *Device
}

// NewPerson is Alice or Bob (telegram.Alice, telegram.Bob).
func NewPerson(t testing.TB, w *sandbox.World, id int64) *Person {
	t.Helper()
	device, err := NewDevice()
	if err != nil {
		t.Fatal(err)
	}
	return &Person{t: t, World: w, ID: id, Device: device}
}

// Say writes to the bot.
func (p *Person) Say(text string) {
	p.t.Helper()
	if _, err := p.World.Telegram.Say(p.ID, text); err != nil {
		p.t.Fatal(err)
	}
}

// Hear waits for a message of the bot that match likes.
func (p *Person) Hear(what string, match func(telegram.Message) bool) telegram.Message {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	m, err := p.World.Telegram.WaitMessage(ctx, p.ID, func(m telegram.Message) bool { return m.FromBot() && match(m) })
	if err != nil {
		p.t.Fatalf("waiting for %s: %v", what, err)
	}
	return m
}

// HearButton waits for a message with a button whose label holds text.
func (p *Person) HearButton(text string) (telegram.Message, telegram.Button) {
	p.t.Helper()
	m := p.Hear("a button "+text, func(m telegram.Message) bool { _, ok := button(m, text); return ok })
	b, _ := button(m, text)
	return m, b
}

func button(m telegram.Message, text string) (telegram.Button, bool) {
	for _, b := range m.Buttons() {
		if strings.Contains(b.Text, text) {
			return b, true
		}
	}
	return telegram.Button{}, false
}

// Tap touches a button of a message.
func (p *Person) Tap(m telegram.Message, b telegram.Button) {
	p.t.Helper()
	if _, err := p.World.Telegram.TapData(p.ID, m.ID, b.CallbackData); err != nil {
		p.t.Fatal(err)
	}
}

// Connect binds the device's wallet through chat and protocol.
func (p *Person) Connect() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Wait)
	defer cancel()
	p.Say("/wallet new")
	link := p.Hear("a link", func(m telegram.Message) bool { _, ok := urlOf(m, "#b="); return ok })
	open, _ := urlOf(link, "#b=")
	if err := p.Device.Bind(ctx, open); err != nil {
		p.t.Fatal(err)
	}
	address := p.Device.Address()
	p.Tap(p.HearButton(address[len(address)-6:]))
	p.Hear("the connected wallet", func(m telegram.Message) bool {
		return strings.Contains(m.Text, address) && !strings.Contains(m.Text, "#b=")
	})
}

func urlOf(m telegram.Message, part string) (string, bool) {
	for _, b := range m.Buttons() {
		if strings.Contains(b.URL, part) {
			return b.URL, true
		}
	}
	return "", false
}

// SignLink is the link of the Sign button that a message holds, or "".
func SignLink(m telegram.Message) string {
	link, _ := urlOf(m, "#s=")
	return link
}

// Fund gives the device's wallet test money and waits until the network has confirmed it.
func (p *Person) Fund(lamports uint64) {
	p.t.Helper()
	before := p.balance()
	if _, err := p.World.Solana.Airdrop(context.Background(), p.Device.Address(), lamports); err != nil {
		p.t.Fatal(err)
	}
	deadline := time.Now().Add(Wait)
	for p.balance() < before+lamports {
		if time.Now().After(deadline) {
			p.t.Fatal("the airdrop does not arrive")
		}
		<-time.After(10 * time.Millisecond) // blocks come by the clock
	}
}

// balance is what getBalance answers at confirmed.
func (p *Person) balance() uint64 {
	p.t.Helper()
	ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"getBalance","params":[%q,{"commitment":"confirmed"}]}`, p.Device.Address())
	resp, err := http.Post(p.World.RPCURL(), "application/json", strings.NewReader(ask))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Result struct{ Value uint64 } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		p.t.Fatal(err)
	}
	return answer.Result.Value
}
