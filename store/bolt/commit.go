package bolt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
)

// maxBatch bounds how many closures share a commit, and so how long the first of them waits.
const maxBatch = 1024

// pendingUpdate is one Update. Its closure runs on the goroutine that called Update, when the committer gives it its turn.
// So a panic unwinds through its own caller, and t.FailNow ends the right test.
//
// The committer and the goroutine exchange messages: a turn with a tx, the ran for it, and so on until a turn with
// the outcome. Only the committer touches gone and err.
type pendingUpdate struct {
	turns chan turn // from the committer: run, or the outcome
	ran   chan ran  // to the committer: how the run went
	gone  bool      // its goroutine panicked, so nobody waits for the outcome
	err   error     // returned by the latest run of its closure
}

// turn is a message to a pendingUpdate: with tx, run the closure on this transaction; without, err is the outcome of the Update.
type turn struct {
	tx  *tx
	err error
}

// ran is what an Update reports after it has run.
type ran struct {
	err   error
	wrote bool // the closure wrote to the transaction
	gone  bool // the closure did not return: it panicked or called runtime.Goexit
}

// Update runs change and commits it: on this goroutine if nobody else writes, else through the committer, whose
// outcome it waits for. A deferred one (store.Deferrable) goes with the next commit of others. ctx counts until the Update is
// queued. A panic of change rolls it back and continues in the caller. Errors: change's own, store.ErrClosed, ctx's, and
// store.ErrUnknownOutcome.
func (e *Engine) Update(ctx context.Context, change func(engine.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !store.IsDeferrable(ctx) && e.tryAlone() {
		return e.alone(change)
	}
	u := &pendingUpdate{turns: make(chan turn, 1), ran: make(chan ran, 1)}
	if err := e.enqueue(ctx, u); err != nil {
		return err
	}
	for {
		turn := <-u.turns
		if turn.tx == nil {
			return turn.err
		}
		u.run(turn.tx, change)
	}
}

// tryAlone takes the right to commit if the last commit had a single Update and nobody has queued since. This saves a
// lone writer the four messages of a queued Update, which cost more than its rows do. It returns false when the
// engine is closed: enqueue then refuses the Update. It returns false too while deferrable Updates wait, since they are to share
// the commit.
func (e *Engine) tryAlone() bool {
	if !e.lone.Load() || e.deferred.some.Load() {
		return false
	}
	e.closing.RLock()
	defer e.closing.RUnlock()
	return !e.closed && e.committing.TryLock()
}

// alone runs and commits one Update on its caller's goroutine, which holds committing. Updates that come meanwhile
// queue for the committer. A panic of change, or runtime.Goexit, rolls the Update back and goes on in the caller.
//
// A panic of the commit itself stops the engine: nobody knows what the file holds, and the caller may recover from
// the panic and go on.
func (e *Engine) alone(change func(engine.Tx) error) error {
	defer e.committing.Unlock()
	g, err := e.begin()
	if err != nil {
		return err
	}
	t, ran, ended := &tx{group: g}, false, false
	defer func() {
		t.over = true
		if ran && !ended { // stop comes first, since rolling back may panic too
			e.stop(errors.New("a commit panicked"))
		}
		if !ended {
			e.giveUp(g)
		}
	}()
	err = change(t)
	t.over, ran = true, true
	// It failed after it wrote: roll back. Otherwise commit; a closure that failed without writing only ends its
	// transaction.
	if err != nil && t.wrote {
		e.giveUp(g)
		err = cmp.Or(e.refusal(), err)
	} else {
		err = cmp.Or(e.finish(g, t.wrote), err)
	}
	ended = true
	return err
}

// enqueue hands an Update to the committer, unless the engine is closed. closing is held for reading, so that Close does
// not close the channel between the check and the send.
func (e *Engine) enqueue(ctx context.Context, u *pendingUpdate) error {
	e.closing.RLock()
	defer e.closing.RUnlock()
	if e.closed {
		return store.ErrClosed
	}
	if store.IsDeferrable(ctx) {
		e.deferred.add(u, e.commitDeferred)
		return nil
	}
	e.lone.Store(false) // the committer goes next, before any writer that comes later
	select {
	case e.updates <- u:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commitDeferred has the committer commit the deferrable Updates that have waited long enough.
func (e *Engine) commitDeferred() {
	e.closing.RLock()
	defer e.closing.RUnlock()
	if e.closed { // the committer commits them before it ends
		return
	}
	select {
	case e.updates <- nil:
	default: // it has others to commit, and takes these along, unless it has looked for them already
		e.deferred.again(e.commitDeferred)
	}
}

// run runs the closure and reports to the committer, also if the closure panics or ends its goroutine.
func (u *pendingUpdate) run(t *tx, change func(engine.Tx) error) {
	result := ran{gone: true}
	defer func() { // on a panic and on runtime.Goexit too
		t.over = true
		result.wrote = t.wrote
		u.ran <- result
	}()
	result.err = change(t)
	result.gone = false
}

// commitLoop is the committer, one goroutine. It commits everything that is queued in one transaction. While that
// commit waits for the disk, the next batch gathers by itself. After a batch of one, the next Update may commit
// alone. It ends when Close has closed the channel and all is committed.
func (e *Engine) commitLoop() {
	defer close(e.stopped)
	batch := make([]*pendingUpdate, 0, maxBatch)
	for first := range e.updates {
		batch = e.commitQueued(batch, first)
	}
	if e.deferred.some.Load() { // nobody else came, and none can come now
		e.commitQueued(batch, nil)
	}
}

// commitQueued commits an Update that was received from the queue, nil for none, with all that wait for a commit. It uses the
// memory of batch, and returns it for the next time.
func (e *Engine) commitQueued(batch []*pendingUpdate, first *pendingUpdate) []*pendingUpdate {
	e.committing.Lock()
	defer e.committing.Unlock()
	// Those that have waited are the first: what the others do may rest on what they end.
	batch = e.deferred.take(batch[:0])
	if first != nil {
		batch = append(batch, first)
		// Writers whose commit has just ended are about to come back. Without this pause the first of them would have a
		// commit to itself, and all others would wait for it.
		runtime.Gosched()
	}
	batch = e.drain(batch)
	e.lone.Store(len(batch) <= 1)
	for rest := batch; len(rest) > 0; {
		rest = e.commitFront(rest)
	}
	clear(batch)
	return batch
}

// drain adds queued Updates to a batch, without waiting for any.
func (e *Engine) drain(batch []*pendingUpdate) []*pendingUpdate {
	for len(batch) < maxBatch {
		select {
		case u, ok := <-e.updates:
			if !ok {
				return batch
			}
			if u == nil { // see commitDeferred: it comes once, so those that it is for are taken now
				batch = e.deferred.take(batch)
			} else {
				batch = append(batch, u)
			}
		default:
			return batch
		}
	}
	return batch
}

// commitFront commits as many Updates from the front of a batch as go together, and returns those behind them.
//
// bbolt has no savepoints: an Update that fails after it wrote takes the whole transaction with it. Then the Updates before it
// run again and are committed without it. After that it is the first of the next transaction, and its failure concerns
// nobody else. So an Update's outcome only ever follows from committed rows.
func (e *Engine) commitFront(batch []*pendingUpdate) (rest []*pendingUpdate) {
	// n is how many Updates of the batch this transaction tries.
	n := len(batch)
	for {
		g, err := e.begin()
		if err != nil {
			answer(batch, err)
			return nil
		}
		// Run the closures one after the other on the same transaction; each sees what those before it wrote.
		wrote := false
		stuck, before := -1, 0
		for i, u := range batch[:n] {
			if u.gone {
				continue
			}
			u.turns <- turn{tx: &tx{group: g}}
			result := <-u.ran
			u.err, u.gone = result.err, result.gone
			if result.wrote && (result.err != nil || result.gone) {
				stuck = i
				break
			}
			wrote = wrote || result.wrote
			before++
		}
		// All went well.
		if stuck < 0 {
			if err := e.finish(g, wrote); err != nil {
				answer(batch[:n], err)
			} else {
				for _, u := range batch[:n] {
					u.answer(u.err)
				}
			}
			return batch[n:]
		}
		// One failed after it wrote: give up this transaction.
		e.giveUp(g)
		if before == 0 && e.poison == nil {
			batch[stuck].answer(batch[stuck].err)
			return batch[stuck+1:]
		}
		n = stuck
	}
}

// begin starts the transaction of a commit. The caller holds committing until the transaction has ended.
func (e *Engine) begin() (*group, error) {
	if err := e.refusal(); err != nil {
		return nil, err
	}
	root, err := e.db.Begin(true)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return newGroup(e, root), nil
}

// refusal is the error of every Update after the engine has stopped, nil before. The caller holds committing.
func (e *Engine) refusal() error {
	if e.poison == nil {
		return nil
	}
	if isDamage(e.poison) { // no commit failed: nothing of this Update was written
		return fmt.Errorf("%w: %w", store.ErrClosed, e.poison)
	}
	return fmt.Errorf("%w: the store stopped at an earlier commit (%v)", store.ErrUnknownOutcome, e.poison)
}

// giveUp rolls back a transaction, with the slots of its new secrets. If that fails, the engine stops.
func (e *Engine) giveUp(g *group) {
	e.keyFile.release(g.made)
	if err := e.rollBack(g.root); err != nil {
		e.stop(err)
	}
}

// rollBack rolls a transaction back. A panic of bbolt is an error. The caller holds committing, or is Prepare.
func (e *Engine) rollBack(root *bbolt.Tx) (err error) {
	defer asError(&err)
	e.stuck = true
	err = root.Rollback()
	e.stuck = false
	return err
}

// finish commits a transaction. Its error is that of all its closures. If it returns nil, each closure has its own
// outcome. Also the error of a closure that wrote nothing is returned only after the commit, since it may rest on
// what another one wrote.
func (e *Engine) finish(g *group, wrote bool) error {
	if !wrote {
		_ = g.root.Rollback() // nothing was written: there is nothing to keep or to lose
		return nil
	}
	if err := g.flush(); err != nil {
		e.keyFile.release(g.made)
		return errors.Join(err, g.root.Rollback())
	}
	// An error of the commit leaves its outcome open: the file may hold the new state or the old one.
	if err := e.fullOr(e.commit(g)); err != nil {
		e.stop(err)
		return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, err)
	}
	return nil
}

// flush writes what the closures left in Shared, before the commit.
func (g *group) flush() error {
	if g.shared.Flush == nil {
		return nil
	}
	t := &tx{group: g}
	defer func() { t.over = true }()
	return g.shared.Flush(t)
}

// commit makes a transaction durable in the order that secrets need: new ones are written before the commit that names
// them, destroyed ones are overwritten after it.
func (e *Engine) commit(g *group) error {
	if err := e.keyFile.write(g.made); err != nil {
		return errors.Join(err, g.root.Rollback())
	}
	e.committed = true
	if err := g.root.Commit(); err != nil {
		return err
	}
	return e.keyFile.destroy(g.toDestroy)
}

// ErrFull says that the disk, or a limit on the size of files, leaves no room for the store.
var ErrFull = errors.New("no room is left for it: free some space there (or raise the limit on file sizes), then start purser again; nothing that was acknowledged is lost")

// fullOr adds ErrFull to an error of writing that is about room.
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

// stop makes the engine refuse every further Update: nobody knows what the file holds, or it is damaged. Its caller holds
// committing.
func (e *Engine) stop(err error) {
	if e.poison == nil {
		e.poison = err
		close(e.failed)
	}
}

// Run reads all pages of the file once, if Open did not, and waits for the end of ctx. It returns store.ErrUnknownOutcome as
// soon as a commit has left its outcome open, and engine.ErrBroken if a page is damaged. The process must end
// then: the next start reads what is true, or refuses the file.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var check sync.WaitGroup
	defer check.Wait()
	defer cancel()
	if e.checkLater {
		check.Go(func() { e.checkInBackground(ctx) })
	}
	select {
	case <-ctx.Done():
		return nil
	case <-e.failed:
	}
	if isDamage(e.poison) {
		return e.poison
	}
	return fmt.Errorf("the store stopped: %w: %w", store.ErrUnknownOutcome, e.poison)
}

// answer sends all Updates of a batch the same outcome.
func answer(batch []*pendingUpdate, err error) {
	for _, u := range batch {
		u.answer(err)
	}
}

// answer sends an Update its outcome, unless nobody waits for it.
func (u *pendingUpdate) answer(err error) {
	if !u.gone {
		u.turns <- turn{err: err}
	}
}
