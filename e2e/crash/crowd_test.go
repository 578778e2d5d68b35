package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"purser/e2e/harness"
	"purser/sandbox/telegram"
	"purser/wallet"
)

// crowd is several people who pay each other in a ring, each several times at once, in the chat and
// by a program, through a gate that sees every call of purser to the world.
type crowd struct {
	*couple
	gate   *harness.Gate
	people []*payer
	ended  chan struct{} // closed when nobody is to begin anything new

	mu      sync.Mutex
	before  map[string]bool // signatures on the chain that are not the crowd's
	kills   []time.Time
	count   int
	handing func() // told of each handsIn; nil: nobody listens
}

// payer is one of the crowd, as persons are: they tap twice, tap again when nothing happens, and
// hand a signature in until somebody has said yes.
type payer struct {
	*harness.Person
	crowd  *crowd
	to     *payer
	key    string // of their program
	random *rand.Rand

	mu     sync.Mutex
	orders []*order
}

// order is one payment from a person's wish to its end.
type order struct {
	from, to *payer
	lamports uint64
	rejected bool            // by its owner's tap
	made     map[string]bool // signatures that left the device
	heard    string          // the one that purser has acknowledged; "" when no answer ever came through
}

func (o *order) amount() string { return wallet.Lamports(o.lamports).String() }

// carol is somebody that the sandbox does not bring along.
const carol = 1003

func newCrowd(t *testing.T, slot time.Duration, random *rand.Rand) *crowd {
	t.Helper()
	w := harness.World(t, slot)
	c := &crowd{couple: &couple{T: t, world: w, delays: watchDelays(t)}, gate: harness.NewGate(t, w), ended: make(chan struct{}), before: map[string]bool{}}
	c.must(w.Telegram.AddUser(telegram.User{ID: carol, FirstName: "Carol"}, ""))
	c.purser = harness.NewProduct(t, binary, w, c.gate.Settings()...)
	c.purser.Start()
	for _, id := range []int64{telegram.Alice, telegram.Bob, carol} {
		c.people = append(c.people, &payer{Person: harness.NewPerson(t, w, id), crowd: c, random: rand.New(rand.NewPCG(random.Uint64(), uint64(id)))})
	}
	c.alice, c.bob = c.people[0].Person, c.people[1].Person
	for i, p := range c.people {
		p.to = c.people[(i+1)%len(c.people)]
		p.Connect()
		p.Fund(funds)
		out, err := c.purser.CLI("key", "create", "--owner", fmt.Sprint(p.ID), "--tier", "pro", "--json")
		c.must(err)
		var made struct{ Key string }
		c.must(json.Unmarshal([]byte(out), &made))
		p.key = made.Key
	}
	for _, l := range w.Solana.Landed() {
		c.before[l.Signature] = true
	}
	return c
}

// state is what a message tells of a payment.
type state string

const (
	review    state = "review"
	toSign    state = "to sign"
	underway  state = "under way"
	sentState state = "sent"
	notSent   state = "not sent"
	rejected  state = "rejected"
	received  state = "received"
)

// wordings find in a card which payment it is about, and how it stands.
var wordings = []struct {
	state
	*regexp.Regexp
}{
	{review, regexp.MustCompile(`^Send ([\d.]+) SOL\?`)},
	{toSign, regexp.MustCompile(`^✍️ Sign ([\d.]+) SOL on your device`)},
	{underway, regexp.MustCompile(`^✍️ Signed: ([\d.]+) SOL`)},
	{underway, regexp.MustCompile(`^⏳ On its way: ([\d.]+) SOL`)},
	{underway, regexp.MustCompile(`^⚠️ Unclear: ([\d.]+) SOL`)},
	{sentState, regexp.MustCompile(`^✅ Sent ([\d.]+) SOL`)},
	{notSent, regexp.MustCompile(`^❌ Not sent: ([\d.]+) SOL`)},
	{notSent, regexp.MustCompile(`^⌛ Expired: ([\d.]+) SOL`)},
	{rejected, regexp.MustCompile(`^🚫 Rejected: ([\d.]+) SOL`)},
	{rejected, regexp.MustCompile(`^↩️ Replaced by the payment below: ([\d.]+) SOL`)},
	{received, regexp.MustCompile(`^💰 You received ([\d.]+) SOL`)},
}

func readCard(text string) (s state, amount string) {
	for _, w := range wordings {
		if found := w.FindStringSubmatch(text); found != nil {
			return w.state, found[1]
		}
	}
	return "", ""
}

// card is the newest message in the payer's chat about an order of theirs.
func (o *order) card() (telegram.Message, state) {
	for _, m := range slices.Backward(o.from.World.Telegram.Messages(o.from.ID)) {
		if s, amount := readCard(m.Text); m.FromBot() && s != received && amount == o.amount() {
			return m, s
		}
	}
	return telegram.Message{}, ""
}

// await waits until the order's card is in none of the states; false when patience ended first.
func (o *order) await(ctx context.Context, patience time.Duration, leaves ...state) (telegram.Message, state, bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var m telegram.Message
	var s state
	err := o.from.World.Telegram.WaitFor(ctx, func() bool {
		m, s = o.card()
		return !slices.Contains(leaves, s)
	})
	return m, s, err == nil
}

// live pays on and on until the crowd has ended, and then brings everything that was begun to its end.
func (p *payer) live(ctx context.Context) error {
	var wg sync.WaitGroup
	failed := make(chan error, 1)
	fail := func(err error) {
		select {
		case failed <- err:
		default:
		}
	}
	slots := make(chan struct{}, 3) // payments that are signed and on their way
	for going := true; going; {
		select {
		case <-p.crowd.ended:
			going = false
			continue
		case err := <-failed:
			fail(err)
			going = false
			continue
		case slots <- struct{}{}:
		}
		o := p.order()
		late, again := p.random.IntN(100), p.random.IntN(2) == 0
		if err := p.propose(ctx, o, p.random.IntN(4) == 0); err != nil {
			fail(err)
			break
		}
		if late < 10 {
			o.rejected = true
			if err := o.tapUntil(ctx, "Reject", 1, review); err != nil {
				fail(err)
				break
			}
			<-slots
			continue
		}
		if err := o.tapUntil(ctx, "Confirm", 1+late%2, review); err != nil {
			fail(err)
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := o.sign(ctx, again); err != nil {
				fail(err)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// order draws up a payment whose amount no other has.
func (p *payer) order() *order {
	p.crowd.mu.Lock()
	p.crowd.count++
	o := &order{from: p, to: p.to, lamports: 10_000_000 + uint64(p.crowd.count), made: map[string]bool{}}
	p.crowd.mu.Unlock()
	p.mu.Lock()
	p.orders = append(p.orders, o)
	p.mu.Unlock()
	return o
}

// propose asks for a payment, in the chat or by the person's program, and waits for its card.
func (p *payer) propose(ctx context.Context, o *order, program bool) error {
	if program {
		if err := p.ask(ctx, o); err != nil {
			return err
		}
	} else if _, err := p.World.Telegram.Say(p.ID, "/send "+o.amount()+" SOL "+o.to.Device.Address()); err != nil {
		return err
	}
	if _, _, ok := o.await(ctx, harness.Wait, ""); !ok {
		return fmt.Errorf("%s SOL (by a program: %v): no card ever came", o.amount(), program)
	}
	return nil
}

// ask posts the order until it was answered twice: by one Idempotency-Key, and so as one proposal.
func (p *payer) ask(ctx context.Context, o *order) error {
	body := fmt.Sprintf(`{"from":%q,"to":%q,"amount":%q,"token":"SOL"}`, p.Device.Address(), o.to.Device.Address(), o.amount())
	var ids []string
	err := p.crowd.until(ctx, "ask for "+o.amount(), func() error {
		p.crowd.handsIn()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.crowd.purser.URL+"/v1/wallet/send", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = http.Header{"Authorization": {"Bearer " + p.key}, "Content-Type": {"application/json"}, "Idempotency-Key": {"order " + o.amount()}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var answer struct {
			Data struct {
				ID string `json:"transaction_id"`
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusAccepted {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		if ids = append(ids, answer.Data.ID); len(ids) < 2 {
			return errors.New("asked once; once more")
		}
		return nil
	})
	if err == nil && ids[0] != ids[1] {
		err = fmt.Errorf("%s SOL: one order is two proposals: %q", o.amount(), ids)
	}
	return err
}

// errOver ends until: there is nothing to try again.
var errOver = errors.New("over")

// until does something again and again: errors are what a dead or dying process answers.
func (c *crowd) until(ctx context.Context, what string, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, harness.Wait)
	defer cancel()
	for {
		err := do()
		if err == nil || errors.Is(err, errOver) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(40 * time.Millisecond): // the pace of an impatient person
		}
	}
}

// tapUntil taps a button of the card, several times at once, until the card has left a state. Where the amount is wanted instead of
// Confirm, it types that.
func (o *order) tapUntil(ctx context.Context, label string, taps int, leaves state) error {
	for deadline := time.Now().Add(harness.Wait); time.Now().Before(deadline); {
		m, s := o.card()
		if s != leaves {
			return nil
		}
		if label == "Confirm" && wantsAmount(m) {
			if _, err := o.from.World.Telegram.Say(o.from.ID, o.amount()+" SOL"); err != nil {
				return err
			}
			taps = 0
		}
		for range taps {
			_, err := o.from.World.Telegram.Tap(o.from.ID, m.ID, label)
			if err != nil && !errors.Is(err, telegram.ErrNoButton) { // it changed under the finger
				return err
			}
		}
		o.await(ctx, 4*time.Second, leaves)
	}
	return fmt.Errorf("%s SOL: %s does nothing", o.amount(), label)
}

// sign has the device approve, and hands the signature in until purser has spoken. With again the
// person begins again, with a fresh blockhash, when an answer was lost; else they try the same again.
func (o *order) sign(ctx context.Context, again bool) error {
	var signing *harness.Signing
	err := o.from.crowd.until(ctx, "sign "+o.amount(), func() error {
		if signing == nil || again {
			m, _ := o.card()
			link := harness.SignLink(m)
			if link == "" {
				return errOver // the card knows more than the device: an answer was lost
			}
			var err error
			signing, err = o.from.Device.Approve(ctx, link)
			if errors.Is(err, harness.ErrNotOffered) || conflict(err) {
				return errOver
			}
			if err != nil {
				return err
			}
			o.made[signing.Signature()] = true
		}
		o.from.crowd.handsIn()
		_, err := signing.Send(ctx)
		if conflict(err) { // an earlier signature was taken, whose answer was lost
			return errOver
		}
		if err == nil {
			o.heard = signing.Signature()
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, s, ok := o.await(ctx, harness.Wait, "", review, toSign, underway); !ok {
		return fmt.Errorf("%s SOL is stuck: %s", o.amount(), s)
	}
	return nil
}

func conflict(err error) bool {
	var refused *harness.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusConflict
}

// handsIn tells whoever listens that somebody is about to ask purser for what cannot be taken back.
func (c *crowd) handsIn() {
	c.mu.Lock()
	told := c.handing
	c.mu.Unlock()
	if told != nil {
		told()
	}
}

// killed ends the process once: at one of all the calls that a busy purser makes (just before it,
// after it took effect, or after its answer), or around the moment at which a signature or a
// program's order comes in; at the latest after some seconds.
func (c *crowd) killed(random *rand.Rand) error {
	var once sync.Once
	fired := make(chan error, 1)
	strike := func() (first bool) {
		once.Do(func() {
			first = true
			c.mu.Lock()
			c.kills = append(c.kills, time.Now())
			c.mu.Unlock()
			fired <- c.purser.Kill()
		})
		return first
	}
	at, skip := harness.Moment(random.IntN(3)), int64(random.IntN(90))
	if random.IntN(4) == 0 {
		skip = math.MaxInt64
		delay := time.Duration(random.IntN(6000)) * time.Microsecond
		c.listen(func() { time.AfterFunc(delay, func() { strike() }) })
		defer c.listen(nil)
	}
	var seen atomic.Int64
	c.gate.Watch(func(call harness.Call) bool {
		c.witness(call)
		return call.Moment == at && seen.Add(1) > skip && strike()
	})
	select {
	case err := <-fired:
		return err
	case <-time.After(3 * time.Second):
		strike()
		return <-fired
	}
}

func (c *crowd) listen(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handing = f
}

// What is looked for in messages, as Telegram is sent them.
var (
	tags           = regexp.MustCompile(`<[^>]*>`)
	signatureShape = regexp.MustCompile(`[1-9A-HJ-NP-Za-km-z]{86,88}`)
)

// witness checks each message at the moment that purser sends it: nobody is told that a payment
// arrived which is not on the chain.
func (c *crowd) witness(call harness.Call) {
	if call.Moment != harness.Asked || call.Method != "sendMessage" && call.Method != "editMessageText" {
		return
	}
	var said struct{ Text string }
	if json.Unmarshal(call.Body, &said) != nil {
		c.Errorf("%s carries no JSON: %q", call.Method, call.Body)
		return
	}
	text := tags.ReplaceAllString(said.Text, "")
	s, amount := readCard(text)
	if s != sentState && s != received {
		return
	}
	signature := signatureShape.FindString(text)
	for _, l := range c.world.Solana.Landed() {
		if l.Signature == signature && l.Err == nil {
			return
		}
	}
	c.Errorf("told that %s SOL is %s, but %q is not on the chain", amount, s, signature)
}

// TestKilledAtAnyCallWhileManyPay: whatever call the process dies at, with many payments in flight,
// each that was acknowledged is paid once, each person hears of each once, and no lamport is lost.
func TestKilledAtAnyCallWhileManyPay(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 8
	}
	random := seeded(t)
	c := newCrowd(t, 150*time.Millisecond, random)
	total := c.world.Solana.TotalLamports()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	results := make(chan error, len(c.people))
	for _, p := range c.people {
		go func() { results <- p.live(ctx) }()
	}
	for range rounds {
		if err := errors.Join(c.killed(random), c.purser.Launch()); err != nil {
			t.Error(err)
			break
		}
	}
	c.gate.Watch(func(call harness.Call) bool { c.witness(call); return false })
	close(c.ended)
	for range c.people {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		return
	}
	c.finish()
	c.audit()
	if got := c.world.Solana.TotalLamports(); got != total {
		t.Errorf("there were %d lamports, now there are %d", total, got)
	}
}
