package browser

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"

	"purser/e2e/harness"
)

// view is an answer of /w/tx/get and /w/tx/refresh (docs/architecture.md, Custody and the signing page).
type view struct {
	Status    string `json:"status"`
	Address   string `json:"address"`
	Chain     string `json:"chain"`
	Message   []byte `json:"message"`
	ExpiresAt string `json:"expires_at"`
}

// replace puts one address for another wherever it stands in the message.
func (v *view) replace(t *testing.T, from, to string) {
	t.Helper()
	old, err := base58.Decode(from)
	if err != nil {
		t.Fatal(err)
	}
	other, err := base58.Decode(to)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(v.Message, old) {
		t.Errorf("%s is not in the message", from)
	}
	v.Message = bytes.ReplaceAll(v.Message, old, other)
}

// address is somebody's.
func address(t *testing.T) string {
	t.Helper()
	device, err := harness.NewDevice()
	if err != nil {
		t.Fatal(err)
	}
	return device.Address()
}

// afterKeys is where the blockhash of a legacy message begins; the instructions follow it.
func (v *view) afterKeys() int { return 4 + 32*int(v.Message[3]) }

// twice repeats the message's only instruction: the payment would be made two times.
func (v *view) twice() {
	count := v.afterKeys() + 32
	v.Message = append(v.Message, v.Message[count+1:]...)
	v.Message[count]++
}

// trick is what a hostile server does to the page's answers, and what the page must make of it.
type trick struct {
	Name    string `json:"name"`
	Title   string `json:"title"`   // of the screen on which it ends
	Approve bool   `json:"approve"` // the person approves what is shown, with the passphrase

	atFirst, atRefresh func(*view)
	shows              []string // on the screen where it ends
	hides              []string
}

const (
	refused = "This page blocked the transaction"
	changed = "Stop: the transaction was changed"
)

// tricks are played on a payment of 1 SOL from Alice to Bob, which Eve would like to have.
func tricks(t *testing.T, alice, bob, eve string) []trick {
	swap := func(v *view) { v.replace(t, bob, eve) }
	twice := func(v *view) { v.twice() }
	signer := func(v *view) { v.replace(t, alice, eve) }
	field := func(v *view) { v.Address = eve }
	both := func(v *view) { signer(v); field(v) }
	lamport := func(v *view) { v.Message[len(v.Message)-8]++ } // the amount stands last, little-endian
	network := func(v *view) { v.Chain = "mainnet" }
	stale := func(v *view) { clear(v.Message[v.afterKeys():][:32]) }
	return []trick{
		{Name: "another recipient from the start", Title: "Approve this payment?", atFirst: swap, shows: []string{eve, "1 SOL"}, hides: []string{bob}},
		{Name: "another amount from the start", Title: "Approve this payment?", atFirst: lamport, shows: []string{"1.000000001 SOL", bob}},
		{Name: "another network from the start", Title: "Approve this payment?", atFirst: network,
			shows: []string{"The network changed. This wallet is used on a local network. The server now says Solana mainnet"}, hides: []string{"test money"}},
		{Name: "version 1", Title: refused, atFirst: func(v *view) { v.Message = append([]byte{0x81}, v.Message...) }, shows: []string{"a version 1 transaction"}},
		{Name: "paid twice", Title: refused, atFirst: twice, shows: []string{"too_many_actions"}},
		{Name: "another signer", Title: refused, atFirst: signer, shows: []string{"signers"}},
		{Name: "another address field", Title: refused, atFirst: field, shows: []string{"signers"}},
		{Name: "another wallet altogether", Title: "A payment is waiting for you", atFirst: both, shows: []string{eve}},
		{Name: "another recipient at refresh", Title: changed, Approve: true, atRefresh: swap},
		{Name: "another amount at refresh", Title: changed, Approve: true, atRefresh: lamport},
		{Name: "paid twice at refresh", Title: changed, Approve: true, atRefresh: twice},
		{Name: "another signer at refresh", Title: changed, Approve: true, atRefresh: signer},
		{Name: "another address field at refresh", Title: changed, Approve: true, atRefresh: field},
		{Name: "another network at refresh", Title: changed, Approve: true, atRefresh: network},
		{Name: "no blockhash at refresh", Title: changed, Approve: true, atRefresh: stale},
	}
}

// apply alters an answer of the server.
func (k trick) apply(t *testing.T, path string, answer []byte) []byte {
	do := map[string]func(*view){"/w/tx/get": k.atFirst, "/w/tx/refresh": k.atRefresh}[path]
	if do == nil {
		return answer
	}
	var v view
	if err := json.Unmarshal(answer, &v); err != nil || len(v.Message) == 0 {
		t.Errorf("%s: %s answered %s", k.Name, path, answer)
		return answer
	}
	do(&v)
	out, err := json.Marshal(v)
	if err != nil {
		t.Error(err)
	}
	return out
}

// Whoever controls the server serves the true page and alters what it is told. Each time the person
// sees it, or the page refuses, and no signature leaves the device; the honest answer is signed.
func TestAHostileServerGetsNoSignature(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	world := harness.World(t, 100*time.Millisecond)
	purser := harness.NewProduct(t, program, world)
	purser.Start()
	wire := newRecorder(t)
	bob, eve := address(t), address(t)

	var played []trick
	var screens map[string]string
	next := 0
	var before int // refreshes when the trick began
	check := func() {
		if n := wire.Count("/w/tx/signature"); n != 0 {
			t.Errorf("%d signatures left the device", n)
		}
		if next > 0 && !played[next-1].Approve && wire.Count("/w/tx/refresh") != before {
			t.Errorf("%s: the page asked for a blockhash without approval", played[next-1].Name)
		}
		before = wire.Count("/w/tx/refresh")
	}
	play(t, "tamper.mjs", settings{Chat: world.TelegramURL(), To: bob, Profiles: profiles(t), Proxy: wire.URL, Executable: executable}, operations{
		"tricks": func(value json.RawMessage) any {
			var alice string
			if err := json.Unmarshal(value, &alice); err != nil {
				t.Error(err)
			}
			played = tricks(t, alice, bob, eve)
			return played
		},
		"next": func(json.RawMessage) any {
			check()
			if next == len(played) {
				wire.Alter(nil)
				return nil
			}
			k := played[next]
			next++
			wire.Alter(func(path string, answer []byte) []byte { return k.apply(t, path, answer) })
			return nil
		},
	}, &screens)
	for _, k := range played {
		for _, part := range k.shows {
			if !strings.Contains(screens[k.Name], part) {
				t.Errorf("%s: the screen does not show %q: %s", k.Name, part, screens[k.Name])
			}
		}
		for _, part := range k.hides {
			if strings.Contains(screens[k.Name], part) {
				t.Errorf("%s: the screen shows %q: %s", k.Name, part, screens[k.Name])
			}
		}
	}
	if len(screens) != len(played) || len(played) == 0 {
		t.Errorf("%d tricks were played, %d screens seen", len(played), len(screens))
	}
	if wire.Count("/w/tx/signature") != 1 || world.Solana.Balance(eve) != 0 {
		t.Errorf("%d signatures left the device; Eve holds %d lamports", wire.Count("/w/tx/signature"), world.Solana.Balance(eve))
	}
	purser.Stop()
}
