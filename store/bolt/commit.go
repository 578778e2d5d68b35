package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"purser/store"
	"purser/store/engine"
)

// maxBatch bounds how many closures share a commit, and with it how long the first of them waits.
const maxBatch = 1024

// job is one Update. Its closure runs on the goroutine that called Update, when the committer
// gives it its turn: so a panic unwinds through its own caller, and t.FailNow ends its own test.
type job struct {
	turns chan turn
	ran   chan ran
	gone  bool // its goroutine panicked: nobody waits
	err   error
}

// turn is what the committer tells a job: run on this transaction, or (without one) the verdict.
type turn struct {
	tx  *tx
	err error
}

// ran is what a job tells the committer.
type ran struct {
	err   error
	wrote bool
	gone  bool
}

// Update queues change for the committer and waits for its outcome. ctx counts until it is queued.
// A panic of change rolls it back and goes on in the caller.
func (e *Engine) Update(ctx context.Context, change func(engine.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{turns: make(chan turn, 1), ran: make(chan ran, 1)}
	if err := e.enqueue(ctx, j); err != nil {
		return err
	}
	for {
		turn := <-j.turns
		if turn.tx == nil {
			return turn.err
		}
		j.run(turn.tx, change)
	}
}

func (e *Engine) enqueue(ctx context.Context, j *job) error {
	e.closing.RLock()
	defer e.closing.RUnlock()
	if e.closed {
		return store.ErrClosed
	}
	select {
	case e.jobs <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *job) run(t *tx, change func(engine.Tx) error) {
	result := ran{gone: true}
	defer func() { // on a panic and on runtime.Goexit too
		t.over = true
		result.wrote = t.wrote
		j.ran <- result
	}()
	result.err = change(t)
	result.gone = false
}

// commitLoop is the committer. It takes whatever is queued into one transaction: a lone writer
// starts at once, and while a commit waits for the disk the next batch gathers by itself.
func (e *Engine) commitLoop() {
	defer close(e.stopped)
	batch := make([]*job, 0, maxBatch)
	for first := range e.jobs {
		batch = append(batch[:0], first)
		// Those whose commit just ended are about to come back: without this, the first of them
		// would have a commit to itself and all others would wait for it.
		runtime.Gosched()
		batch = e.drain(batch)
		for rest := batch; len(rest) > 0; {
			rest = e.commitFront(rest)
		}
		clear(batch)
	}
}

func (e *Engine) drain(batch []*job) []*job {
	for len(batch) < maxBatch {
		select {
		case j, ok := <-e.jobs:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commitFront commits as many jobs from the front as go together and returns those behind them.
//
// A job that fails after it wrote takes the transaction with it. Those before it run again and
// are committed; then it is the first of the next transaction, where its failure is its own: it
// is only ever told what follows from committed rows.
func (e *Engine) commitFront(batch []*job) (rest []*job) {
	n := len(batch)
	for {
		if e.poison != nil {
			answer(batch, fmt.Errorf("%w: the store stopped at an earlier commit (%v)", store.ErrUnknownOutcome, e.poison))
			return nil
		}
		root, err := e.db.Begin(true)
		if err != nil {
			answer(batch, fmt.Errorf("begin: %w", err))
			return nil
		}
		g, wrote := newGroup(e, root), false
		stuck, before := -1, 0
		for i, j := range batch[:n] {
			if j.gone {
				continue
			}
			j.turns <- turn{tx: &tx{group: g}}
			result := <-j.ran
			j.err, j.gone = result.err, result.gone
			if result.wrote && (result.err != nil || result.gone) {
				stuck = i
				break
			}
			wrote = wrote || result.wrote
			before++
		}
		if stuck < 0 {
			e.finish(g, batch[:n], wrote)
			return batch[n:]
		}
		e.keyFile.release(g.made)
		if err := root.Rollback(); err != nil {
			e.stop(err)
			continue
		}
		if before == 0 {
			answer(batch[stuck:stuck+1], batch[stuck].err)
			return batch[stuck+1:]
		}
		n = stuck
	}
}

// finish commits and tells each job its outcome. Even an error that a job chose without writing
// waits for the commit: it may rest on what a job before it wrote.
func (e *Engine) finish(g *group, batch []*job, wrote bool) {
	if !wrote {
		_ = g.root.Rollback() // nothing was written: there is nothing to keep or to lose
	} else if err := e.fullOr(e.commit(g)); err != nil {
		e.stop(err)
		answer(batch, fmt.Errorf("%w: %w", store.ErrUnknownOutcome, err))
		return
	}
	for _, j := range batch {
		if !j.gone {
			j.turns <- turn{err: j.err}
		}
	}
}

// commit makes what was written durable, with the keys that it needs before it and those that it ends after it.
func (e *Engine) commit(g *group) error {
	if err := e.keyFile.write(g.made); err != nil {
		return errors.Join(err, g.root.Rollback())
	}
	if err := g.root.Commit(); err != nil {
		return err
	}
	return e.keyFile.destroy(g.doomed)
}

// ErrFull says that the disk, or a limit on the size of files, leaves no room for the store.
var ErrFull = errors.New("no room is left for it: free some space there (or raise the limit on file sizes), then start purser again; nothing that was acknowledged is lost")

// fullOr says what to do where an error of writing is one of room.
func (e *Engine) fullOr(err error) error {
	if err == nil {
		return nil
	}
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if strings.Contains(err.Error(), full.Error()) { // bbolt wraps some as text alone
			return fmt.Errorf("%s: %w (%w)", e.path, ErrFull, err)
		}
	}
	return err
}

// stop makes the store refuse everything from here on: nobody knows what the file holds.
func (e *Engine) stop(err error) {
	if e.poison == nil {
		e.poison = err
		close(e.failed)
	}
}

// Run waits for the end of ctx, or returns store.ErrUnknownOutcome as soon as a commit has left its
// outcome open: the process must end then, and the next start reads what is true.
func (e *Engine) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-e.failed:
		return fmt.Errorf("the store stopped: %w: %w", store.ErrUnknownOutcome, e.poison)
	}
}

func answer(batch []*job, err error) {
	for _, j := range batch {
		if !j.gone {
			j.turns <- turn{err: err}
		}
	}
}
