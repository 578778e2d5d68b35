package bot

import (
	"context"
	"sync"

	"purser/store"
)

// lines are the workers: one for each chat that has updates waiting, in order, while the other
// chats go on. A slow answer (an RPC) holds up its own chat and nobody else.
type lines struct {
	handle func(u store.Update, stopping <-chan struct{})

	mu       sync.Mutex
	chats    map[int64][]store.Update // a key is there while its worker runs
	waiting  int
	stopping chan struct{}
	stopped  bool
	freed    chan struct{} // closed and replaced when an update is done
	workers  sync.WaitGroup
}

func newLines(handle func(store.Update, <-chan struct{})) *lines {
	return &lines{
		handle: handle, chats: map[int64][]store.Update{},
		stopping: make(chan struct{}), freed: make(chan struct{}),
	}
}

// add appends updates to their lines.
func (l *lines) add(updates []store.Update) {
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

func (l *lines) run(chat int64) {
	defer l.workers.Done()
	for {
		l.mu.Lock()
		queue := l.chats[chat]
		if len(queue) == 0 || l.stopped {
			delete(l.chats, chat)
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
		close(l.freed)
		l.freed = make(chan struct{})
		l.mu.Unlock()
	}
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// below waits until fewer than limit updates wait.
func (l *lines) below(ctx context.Context, limit int) error {
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
func (l *lines) stop() <-chan struct{} {
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
