package bot

import (
	"context"
	"sync"

	"purser/store"
)

// chatWorkers are the workers: one for each chat that has updates waiting, in order, while the other
// chats go on. A slow answer (an RPC) holds up its own chat and nobody else.
type chatWorkers struct {
	handle func(u store.Update, stopping <-chan struct{})

	mu       sync.Mutex
	chats    map[int64][]store.Update // a key is there while its worker runs
	flooded  map[int64]bool           // chats that were told that some of theirs are left out, until their worker ends
	waiting  int
	stopping chan struct{}
	stopped  bool
	freed    chan struct{} // closed and replaced when an update is done
	workers  sync.WaitGroup
}

func newChatWorkers(handle func(store.Update, <-chan struct{})) *chatWorkers {
	return &chatWorkers{
		handle: handle, chats: map[int64][]store.Update{}, flooded: map[int64]bool{},
		stopping: make(chan struct{}), freed: make(chan struct{}),
	}
}

// add appends updates to their lines.
func (l *chatWorkers) add(updates []store.Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	for _, u := range updates {
		queue, busy := l.chats[u.Chat]
		l.chats[u.Chat] = append(queue, u)
		l.waiting++
		if !busy {
			l.workers.Add(1)
			go l.run(u.Chat)
		}
	}
}

func (l *chatWorkers) run(chat int64) {
	defer l.workers.Done()
	for {
		l.mu.Lock()
		queue := l.chats[chat]
		if len(queue) == 0 || l.stopped {
			delete(l.chats, chat)
			delete(l.flooded, chat)
			l.mu.Unlock()
			return
		}
		u := queue[0]
		queue[0] = store.Update{} // its body is not needed twice
		l.chats[chat] = queue[1:]
		l.mu.Unlock()

		l.handle(u, l.stopping)

		l.mu.Lock()
		l.waiting--
		l.signal()
		l.mu.Unlock()
	}
}

// cut takes the oldest updates out of a chat's line, so that with those that come no more than most wait in it. It
// tells how many of those that come are too many by themselves, and whether the chat is told of it for the first time.
// What is being handled counts for nothing, and is not taken.
func (l *chatWorkers) cut(chat int64, coming, most int) (out []store.Update, excess int, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.chats[chat]
	excess = len(queue) + coming - most
	if excess <= 0 {
		return nil, 0, false
	}
	n := min(excess, len(queue))
	out = append(out, queue[:n]...)
	if n > 0 {
		l.chats[chat] = append([]store.Update(nil), queue[n:]...)
		l.waiting -= n
		l.signal()
	}
	first = !l.flooded[chat]
	l.flooded[chat] = true
	return out, excess - n, first
}

// restore puts what was cut back to where it was.
func (l *chatWorkers) restore(chat int64, out []store.Update, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first {
		delete(l.flooded, chat)
	}
	queue, busy := l.chats[chat]
	if l.stopped || len(out) == 0 {
		return
	}
	l.chats[chat] = append(append([]store.Update(nil), out...), queue...)
	l.waiting += len(out)
	if !busy {
		l.workers.Add(1)
		go l.run(chat)
	}
}

// signal tells who waits that updates are done; l.mu is held.
func (l *chatWorkers) signal() {
	close(l.freed)
	l.freed = make(chan struct{})
}

func (l *chatWorkers) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// below waits until fewer than limit updates wait.
func (l *chatWorkers) below(ctx context.Context, limit int) error {
	for {
		l.mu.Lock()
		enough, freed := l.waiting < limit, l.freed
		l.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop lets every worker finish the update that it is at, and closes the channel when all have.
// What still waits is in the inbox.
func (l *chatWorkers) stop() <-chan struct{} {
	l.mu.Lock()
	if !l.stopped {
		l.stopped = true
		close(l.stopping)
	}
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.workers.Wait()
	}()
	return done
}
