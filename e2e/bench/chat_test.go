package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"gopkg.in/telebot.v3"

	purser "purser/clients/go"
	"purser/e2e/harness"
	"purser/sandbox"
	"purser/sandbox/telegram"
)

// echoBot is a bot of telebot's that answers each message with its text, and keeps and decides nothing. address is that of Telegram.
func echoBot(address string) error {
	bot, err := telebot.NewBot(telebot.Settings{URL: address, Token: telegram.DefaultToken, Poller: &telebot.LongPoller{Timeout: 30 * time.Second}})
	if err != nil {
		return err
	}
	bot.Handle("/help", func(c telebot.Context) error { return c.Send("you said: " + c.Text()) })
	bot.Handle(telebot.OnCallback, func(c telebot.Context) error { return c.Respond() })
	bot.Handle(telebot.OnText, func(c telebot.Context) error { return c.Send("you said: " + c.Text()) })
	bot.Start()
	return nil
}

// crowd adds people to Telegram, and returns their ids.
func crowd(b *testing.B, w *sandbox.World, count int) []int64 {
	b.Helper()
	ids := make([]int64, count)
	for i := range ids {
		ids[i] = 5_000_000 + int64(i)
		if err := w.Telegram.AddUser(telegram.User{ID: ids[i], FirstName: fmt.Sprint("P", i)}, ""); err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

// answersPerSecond stays below the pace at which purser sends to all chats together, which Telegram sets.
const answersPerSecond = 20

// BenchmarkAnswer is /help by people in turn, from the message to the answer in the chat, beside telebot's echo.
func BenchmarkAnswer(b *testing.B) {
	conversation{perSecond: answersPerSecond, count: 200, method: "sendMessage", param: "chat_id",
		say: func(w *sandbox.World, person, _ int64) (string, error) {
			_, err := w.Telegram.Say(person, "/help")
			return strconv.FormatInt(person, 10), err
		}}.measure(b)
}

// BenchmarkTap is what Telegram lets a bot answer at any pace: taps, here on a button that is no longer used, from the tap to
// the toast, beside a telebot bot that answers each with an empty one.
func BenchmarkTap(b *testing.B) {
	conversation{perSecond: 100, count: 1000, method: "answerCallbackQuery", param: "callback_query_id",
		say: func(w *sandbox.World, person, message int64) (string, error) {
			return w.Telegram.TapData(person, message, "old")
		}}.measure(b)
}

// conversation is what people do at a steady pace, and the call of the bot that answers it.
type conversation struct {
	perSecond, count int
	method, param    string // the call that answers, and its parameter that says what it answers
	// say does something to a message of the bot, and returns the parameter's value.
	say func(w *sandbox.World, person, message int64) (string, error)
}

// talkers are the people of a conversation.
const talkers = 40

// measure has people talk with purser, then with telebot's echo.
func (c conversation) measure(b *testing.B) {
	b.Run("purser", func(b *testing.B) {
		c.with(b, func(w *sandbox.World) (process, string) {
			p := harness.NewProduct(b, purserBinary, w, unlimited...)
			p.Start()
			return process{p.PID()}, filepath.Join(p.Dir, "purser.db")
		})
	})
	b.Run("echo", func(b *testing.B) {
		c.with(b, func(w *sandbox.World) (process, string) { return child(b, "echo", w.TelegramURL(), collector...), "" })
	})
}

// with has people talk with the bot that start starts. start returns the file of its store too, "" without one.
func (c conversation) with(b *testing.B, start func(w *sandbox.World) (process, string)) {
	w := harness.World(b, 400*time.Millisecond)
	people := crowd(b, w, talkers)
	p, file := start(w)
	// Each has talked with the bot before.
	messages := make([]int64, talkers)
	slowly := time.NewTicker(time.Second / answersPerSecond)
	defer slowly.Stop()
	for i, person := range people {
		<-slowly.C
		if _, err := w.Telegram.Say(person, "/help"); err != nil {
			b.Fatal(err)
		}
		m, err := w.Telegram.WaitMessage(bounded(b), person, func(m telegram.Message) bool { return m.From.IsBot })
		if err != nil {
			b.Fatal(err)
		}
		messages[i] = m.ID
	}
	// answers get the value of c.param of each answer, and when it came.
	type answer struct {
		value string
		at    time.Time
	}
	answers := make(chan answer, 2*c.count)
	w.Telegram.OnCall(func(call telegram.Call) {
		if call.Method == c.method {
			answers <- answer{call.Params[c.param], time.Now()}
		}
	})
	var all load
	written := 0
	for b.Loop() {
		before, committed := p.cpu(b), commits(b, file)
		said := make(map[string][]time.Time, c.count)
		ticks := time.NewTicker(time.Second / time.Duration(c.perSecond))
		for i := range c.count {
			<-ticks.C
			at := time.Now()
			value, err := c.say(w, people[i%talkers], messages[i%talkers])
			if err != nil {
				b.Fatal(err)
			}
			said[value] = append(said[value], at)
		}
		ticks.Stop()
		for range c.count {
			select {
			case a := <-answers:
				if len(said[a.value]) == 0 {
					b.Fatalf("an answer to nothing: %q", a.value)
				}
				all.times = append(all.times, a.at.Sub(said[a.value][0]))
				said[a.value] = said[a.value][1:]
			case <-time.After(harness.Wait):
				b.Fatal("no answer")
			}
		}
		all.cpu += p.cpu(b) - before
		all.count += c.count
		written += commits(b, file) - committed
	}
	slices.Sort(all.times)
	b.ReportMetric(p50(all), "ms-p50")
	b.ReportMetric(p99(all), "ms-p99")
	b.ReportMetric(all.cpuEach(), "cpu-µs")
	b.ReportMetric(float64(written)/float64(all.count), "commits")
	if file != "" {
		reportDisk(b, filepath.Dir(file))
	}
}

// commits is the number of the last commit of a store file, which grows by one with each: the transaction id in the newer one of
// bbolt's two meta pages. Each commit syncs the disk twice.
func commits(b *testing.B, file string) int {
	b.Helper()
	if file == "" {
		return 0
	}
	f, err := os.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	last := uint64(0)
	for page := range 2 {
		var meta [80]byte
		if _, err := f.ReadAt(meta[:], int64(page*os.Getpagesize())); err != nil {
			b.Fatal(err)
		}
		last = max(last, binary.NativeEndian.Uint64(meta[64:]))
	}
	return int(last)
}

// marked finds the number that a message bears.
var marked = regexp.MustCompile(`mark-(\d+)\b`)

// BenchmarkUpdateToWebhook is what people write, from Telegram's update to the receiver of a bot token's webhook: as fast as it
// goes, and at 400 a second.
func BenchmarkUpdateToWebhook(b *testing.B) {
	const people = 2000
	w := harness.World(b, 400*time.Millisecond)
	ids := crowd(b, w, people)
	p := harness.NewProduct(b, purserBinary, w, append(unlimited, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true")...)
	p.Start()
	out, err := p.CLI("key", "create", "--kind", "bot", "--tier", "pro", "--json")
	if err != nil {
		b.Fatal(err)
	}
	secret := keyIn(b, out)
	var mu sync.Mutex
	said, times := map[int]time.Time{}, []time.Duration{}
	arrived := make(chan struct{}, 1<<20)
	receiver := harness.FreeAddress(b)
	server := &fasthttp.Server{Handler: func(c *fasthttp.RequestCtx) {
		if bytes.Contains(c.PostBody(), []byte("user.registered")) {
			arrived <- struct{}{}
			return
		}
		found := marked.FindSubmatch(c.PostBody())
		if found == nil {
			return
		}
		n, _ := strconv.Atoi(string(found[1]))
		mu.Lock()
		if at, ok := said[n]; ok {
			times = append(times, time.Since(at))
			delete(said, n)
			arrived <- struct{}{}
		}
		mu.Unlock()
	}}
	go func() { _ = server.ListenAndServe(receiver) }() // it ends with the process
	if _, err := purser.New(p.URL, secret).SetBotWebhook(bounded(b), purser.BotWebhookRequest{URL: "http://" + receiver + "/", Events: []string{"user.registered", "message.received"}}); err != nil {
		b.Fatal(err)
	}
	n := 0
	say := func() {
		n++
		mu.Lock()
		said[n] = time.Now()
		mu.Unlock()
		if _, err := w.Telegram.Say(ids[n%people], fmt.Sprintf("mark-%d", n)); err != nil {
			b.Error(err)
		}
	}
	wait := func() {
		select {
		case <-arrived:
		case <-time.After(harness.Wait):
			mu.Lock()
			b.Fatalf("no event: %d arrived, %d messages have none", len(times), len(said))
		}
	}
	measure := func(pace func(), count int) load {
		mu.Lock()
		times = times[:0]
		mu.Unlock()
		before, began := process{p.PID()}.cpu(b), time.Now()
		for range count {
			pace()
			say()
		}
		for range count {
			wait()
		}
		mu.Lock()
		defer mu.Unlock()
		l := load{count: count, took: time.Since(began), cpu: process{p.PID()}.cpu(b) - before, times: slices.Clone(times)}
		slices.Sort(l.times)
		return l
	}
	for range people { // who writes for the first time is welcomed, and registered
		say()
	}
	for range 2 * people { // the registration and the message
		wait()
	}
	var fast, steady []load
	for b.Loop() {
		steadyTicks := time.NewTicker(time.Second / 400)
		steady = append(steady, measure(func() { <-steadyTicks.C }, 1200))
		steadyTicks.Stop()
		fast = append(fast, measure(func() {}, 8000))
	}
	b.ReportMetric(medianOf(fast, load.rate), "events/s")
	b.ReportMetric(medianOf(fast, load.cpuEach), "cpu-µs")
	b.ReportMetric(medianOf(steady, p50), "ms-p50-at-400/s")
	b.ReportMetric(medianOf(steady, p99), "ms-p99-at-400/s")
	reportDisk(b, p.Dir)
}
