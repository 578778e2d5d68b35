package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/sandbox/telegram"
)

// BenchmarkCommandReply measures a command's way through everything but the chain: the sandbox's
// Telegram over a real socket, long poll, inbox commit, telebot, handler, commit, sender, reply in
// the chat. lone: one person who waits for each answer. crowd: many at once, all answered without
// Telegram's pacing, which would be the only thing measured otherwise. The bound beside each is an
// echo over the same connection that keeps and decides nothing: raw polls and raw POSTs.
func BenchmarkCommandReply(b *testing.B) {
	for _, crowd := range []struct {
		name   string
		people int
	}{{"lone", 1}, {"crowd", 64}} {
		b.Run(crowd.name+"/purser", func(b *testing.B) {
			benchmarkReply(b, crowd.people, func(w *world) { w.run() })
		})
		b.Run(crowd.name+"/bound", func(b *testing.B) {
			benchmarkReply(b, crowd.people, func(w *world) { runEcho(b, w) })
		})
	}
}

// runEcho answers what is said with as little as the protocol takes.
func runEcho(b *testing.B, w *world) {
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	call := func(method, body string, into any) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/bot"+telegram.DefaultToken+"/"+method, strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			if ctx.Err() == nil {
				b.Error(err)
			}
			return
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil && ctx.Err() == nil {
			b.Error(err)
		}
	}
	var work sync.WaitGroup
	work.Go(func() {
		offset := int64(0)
		for ctx.Err() == nil {
			var got struct {
				Result []struct {
					ID      int64 `json:"update_id"`
					Message struct {
						Text string
						Chat struct{ ID int64 }
					}
				}
			}
			call("getUpdates", fmt.Sprintf(`{"timeout":30,"offset":%d}`, offset), &got)
			for _, u := range got.Result {
				offset = u.ID + 1
				work.Go(func() {
					var sent struct{}
					call("sendMessage", fmt.Sprintf(`{"chat_id":%d,"text":%q}`, u.Message.Chat.ID, "you said: "+u.Message.Text), &sent)
				})
			}
		}
	})
	b.Cleanup(func() {
		cancel()
		work.Wait()
	})
}

func benchmarkReply(b *testing.B, people int, serve func(*world)) {
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
	serve(w)
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
