package bot

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queueing is people who stand in a pacer's line, each until their turn.
type queueing struct {
	p  *pacer
	mu sync.Mutex
	// order is who went, with the seconds since the start.
	order []string
	start time.Time
	last  uint64
	all   sync.WaitGroup
}

func newQueueing(pace Pace) *queueing {
	return &queueing{p: newPacer(pace, time.Now), start: time.Now()}
}

// stands asks for a turn, and for another one when the chat has to wait, as the outbox does.
func (q *queueing) stands(chat int64, priority int) {
	q.last++
	seq := q.last
	q.all.Go(func() {
		for {
			opens, ok := q.p.turn(context.Background(), chat, priority, seq)
			if ok {
				q.mu.Lock()
				q.order = append(q.order, fmt.Sprint(chat, "/", priority, "@", int(time.Since(q.start).Seconds())))
				q.mu.Unlock()
				return
			}
			time.Sleep(time.Until(opens))
		}
	})
	synctest.Wait()
}

func (q *queueing) went() string {
	q.all.Wait()
	return strings.Join(q.order, " ")
}

// TestTheMoreUrgentGoesFirstAndNobodyStarves: each priority waits ten seconds longer than the one above it, and then
// goes before answers that came later.
func TestTheMoreUrgentGoesFirstAndNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(Pace{All: Rate{time.Second, 1}, Chat: Rate{time.Millisecond, 1}})
		q.stands(1, 0) // goes at once
		q.stands(2, 3)
		q.stands(3, 1)
		for chat := range int64(30) {
			q.stands(100+chat, 0)
		}
		for n := range 12 { // and more keep coming
			time.Sleep(time.Second)
			q.stands(200+int64(n), 0)
		}
		got := strings.Fields(q.went())
		at := func(who string) int {
			return slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, who+"@") })
		}
		if at("100/0") != 1 || at("3/1") != 1+30+9 || at("2/3") != len(got)-1 {
			t.Errorf("the order was %v", got)
		}
		if at("211/0") < at("3/1") {
			t.Error("what came later than a notice's patience went before it")
		}
	})
}

// TestAChatThatMustWaitIsSentBack: others go on, and its share is no greater for asking often.
func TestAChatThatMustWaitIsSentBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(Pace{All: Rate{time.Millisecond, 1}, Chat: Rate{time.Second, 1}, Group: Rate{4 * time.Second, 2}})
		q.stands(1, 0)
		opens, ok := q.p.turn(context.Background(), 1, 0, 0)
		if ok || opens.Sub(q.start) != time.Second {
			t.Errorf("it may go: %v, at %v", ok, opens.Sub(q.start))
		}
		for range 3 {
			q.stands(1, 0)
			q.stands(-5, 0)
		}
		q.stands(2, 0)
		if got, want := q.went(), "1/0@0 -5/0@0 -5/0@0 2/0@0 1/0@1 1/0@2 1/0@3 -5/0@4"; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	})
}

// TestAFloodOfTwoChatsHoldsUpEverybody, of one does not, however often it is told.
func TestAFloodOfTwoChatsHoldsUpEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(Pace{Unlimited: true})
		q.p.flooded(1, 30*time.Second)
		q.p.flooded(1, 30*time.Second)
		q.stands(3, 0)
		if got := q.went(); got != "3/0@0" {
			t.Errorf("one flooded chat holds up others: %s", got)
		}
		if opens, ok := q.p.turn(context.Background(), 1, 0, 0); ok || opens.Sub(q.start) != 30*time.Second {
			t.Errorf("a flooded chat may go: %v, at %v", ok, opens.Sub(q.start))
		}
		if got := q.p.unpaced(1).Sub(q.start); got != 30*time.Second {
			t.Errorf("a deletion there may go after %v", got)
		}
		q.p.flooded(2, 20*time.Second)
		q.stands(4, 0)
		if got := q.went(); got != "3/0@0 4/0@20" {
			t.Errorf("%s", got)
		}
		if q.p.unpaced(5).Sub(q.start) != 20*time.Second {
			t.Error("answers of taps went while everybody had to wait")
		}
	})
}

// TestWhoLeavesTheLineCountsForNothing: neither for the whole nor for the chat.
func TestWhoLeavesTheLineCountsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueueing(Pace{All: Rate{10 * time.Second, 1}, Chat: Rate{time.Minute, 1}})
		q.stands(1, 0)
		ctx, cancel := context.WithCancel(context.Background())
		left := make(chan bool)
		go func() {
			_, ok := q.p.turn(ctx, 2, 0, 0)
			left <- ok
		}()
		synctest.Wait()
		cancel()
		if <-left {
			t.Error("it went all the same")
		}
		q.stands(3, 0)
		q.stands(2, 1)
		if got := q.went(); got != "1/0@0 3/0@10 2/1@20" {
			t.Errorf("%s", got)
		}
	})
}

// TestAPacerThatDrainsSendsBackWhatMayNotGoAtOnce, and keeps nobody.
func TestAPacerThatDrainsSendsBackWhatMayNotGoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(Pace{All: Rate{time.Second, 1}}, time.Now)
		ask := func(chat int64) chan bool {
			went := make(chan bool, 1)
			go func() {
				_, ok := p.turn(context.Background(), chat, 0, 0)
				went <- ok
			}()
			synctest.Wait()
			return went
		}
		if !<-ask(1) {
			t.Error("the first did not go")
		}
		waits := ask(2)
		p.drain(true)
		if <-waits || <-ask(3) {
			t.Error("it went beyond the limit")
		}
		time.Sleep(time.Second)
		if !<-ask(4) {
			t.Error("what may go at once was sent back")
		}
	})
}

// TestThePacerForgetsIdleChats, and no chat that has to wait.
func TestThePacerForgetsIdleChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(Pace{All: Rate{time.Nanosecond, 1}}, time.Now)
		p.flooded(7, time.Hour)
		for chat := range int64(10 * forgetAbove) {
			p.turn(context.Background(), 1000+chat, 0, 0)
			time.Sleep(10 * time.Millisecond)
		}
		if n := len(p.chats); n > 2*forgetAbove {
			t.Errorf("%d chats are remembered", n)
		}
		if _, ok := p.turn(context.Background(), 7, 0, 0); ok {
			t.Error("what Telegram asked for is forgotten")
		}
	})
}
