package bench

import (
	"bytes"
	"fmt"
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
	const each = 200
	run := func(b *testing.B, start func(w *sandbox.World) process) {
		w := harness.World(b, 400*time.Millisecond)
		people := crowd(b, w, 1+each)
		var mu sync.Mutex
		said, times := map[string]time.Time{}, []time.Duration{}
		answered := make(chan struct{}, 10*each)
		w.Telegram.OnCall(func(c telegram.Call) {
			if c.Method != "sendMessage" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if at, ok := said[c.Params["chat_id"]]; ok {
				times = append(times, time.Since(at))
				delete(said, c.Params["chat_id"])
				answered <- struct{}{}
			}
		})
		p := start(w)
		say := func(person int64) {
			mu.Lock()
			said[strconv.FormatInt(person, 10)] = time.Now()
			mu.Unlock()
			if _, err := w.Telegram.Say(person, "/help"); err != nil {
				b.Error(err)
			}
		}
		wait := func() {
			select {
			case <-answered:
			case <-time.After(harness.Wait):
				b.Fatal("no answer")
			}
		}
		say(people[0])
		wait()
		var used time.Duration
		count := 0
		for b.Loop() {
			before := p.cpu(b)
			ticks := time.NewTicker(time.Second / answersPerSecond)
			for _, person := range people[1:] {
				<-ticks.C
				say(person)
			}
			ticks.Stop()
			for range people[1:] {
				wait()
			}
			used += p.cpu(b) - before
			count += each
		}
		slices.Sort(times)
		l := load{times: times}
		b.ReportMetric(p50(l), "ms-p50")
		b.ReportMetric(p99(l), "ms-p99")
		b.ReportMetric(float64(used.Microseconds())/float64(count), "cpu-µs")
	}
	b.Run("purser", func(b *testing.B) {
		run(b, func(w *sandbox.World) process {
			p := harness.NewProduct(b, binary, w, unlimited...)
			p.Start()
			return process{p.PID()}
		})
	})
	b.Run("echo", func(b *testing.B) {
		run(b, func(w *sandbox.World) process { return child(b, "echo", w.TelegramURL(), collector...) })
	})
}

// marked finds the number that a message bears.
var marked = regexp.MustCompile(`mark-(\d+)\b`)

// BenchmarkUpdateToWebhook is what people write, from Telegram's update to the receiver of a bot token's webhook: as fast as it
// goes, and at 400 a second.
func BenchmarkUpdateToWebhook(b *testing.B) {
	const people = 2000
	w := harness.World(b, 400*time.Millisecond)
	ids := crowd(b, w, people)
	p := harness.NewProduct(b, binary, w, append(unlimited, "PURSER_WEBHOOKS_ALLOW_PRIVATE=127.0.0.0/8", "PURSER_WEBHOOKS_ALLOW_HTTP=true")...)
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
}
