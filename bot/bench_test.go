package bot

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"purser/sandbox/telegram"
)

// BenchmarkCommandReply measures a command's way through everything but the chain: the sandbox's
// Telegram over a real socket, long poll, inbox commit, telebot, handler, commit, sender, reply in
// the chat. lone: one person who waits for each answer. crowd: many at once, all answered without
// Telegram's pacing, which would be the only thing measured otherwise.
func BenchmarkCommandReply(b *testing.B) {
	for name, people := range map[string]int{"lone": 1, "crowd": 64} {
		b.Run(name, func(b *testing.B) { benchmarkReply(b, people) })
	}
}

func benchmarkReply(b *testing.B, people int) {
	w := newWorld(b)
	var mu sync.Mutex
	answered := map[string]chan time.Time{} // by the command
	w.telegram.OnCall(func(c telegram.Call) {
		if c.Method != "sendMessage" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if done := answered[c.Params["text"]]; done != nil {
			done <- time.Now()
			delete(answered, c.Params["text"])
		}
	})
	for p := range people {
		w.must(nil, w.telegram.AddUser(telegram.User{ID: 5000 + int64(p), FirstName: "P"}, ""))
	}
	w.run()
	ask := func(person, n int) time.Duration {
		text := fmt.Sprintf("/send %d of %d", n, person)
		done := make(chan time.Time, 1)
		mu.Lock()
		answered["you said: "+text] = done
		mu.Unlock()
		before := time.Now()
		if _, err := w.telegram.Say(5000+int64(person), text); err != nil {
			b.Error(err)
			return 0
		}
		select {
		case at := <-done:
			return at.Sub(before)
		case <-time.After(w.patience):
			b.Error("no answer")
			return 0
		}
	}
	ask(0, -1) // the connections are made
	runtime.GC()

	var took []time.Duration
	var asking sync.WaitGroup
	left := make(chan int, b.N)
	for n := range b.N {
		left <- n
	}
	close(left)
	b.ResetTimer()
	for p := range people {
		asking.Go(func() {
			for n := range left {
				d := ask(p, n)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}
