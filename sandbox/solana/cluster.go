package solana

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options says how a cluster runs. The zero value is a cluster in memory, moved by Advance.
type Options struct {
	Now          func() time.Time // nil: time.Now
	SlotTime     time.Duration    // length of a slot, usually DefaultSlotTime; 0 moves by Advance only
	Dir          string           // folder of the journal, made if missing; "" keeps nothing
	Seed         string           // what the keys and hashes of a new cluster derive from
	ConfirmedLag int              // blocks until a block is confirmed; 0 means 1, negative none
	FinalizedLag int              // blocks until a block is finalized; 0 means 32, negative none

	// LamportsPerByte is the rent; 0 means DefaultLamportsPerByte for a new cluster, and no change for
	// an old one.
	LamportsPerByte uint64
}

// DefaultSlotTime is the pace of the public clusters.
const DefaultSlotTime = 300 * time.Millisecond

// journalName is the one file that a cluster keeps in Options.Dir.
const journalName = "cluster.jsonl"

// Cluster is one running Solana cluster. Its methods may be called from any goroutine.
type Cluster struct {
	now                        func() time.Time
	confirmedLag, finalizedLag uint64

	mu      sync.Mutex
	seed    string
	world   hash // what sets this cluster apart: seed and time of birth
	version int  // which accounts its genesis, or an opening since, put in place
	paces   []pace
	rents   []rentChange
	reached map[string]uint64 // heights that levels had reached when SetFinality changed them
	forks   []fork
	tip     uint64 // height of the newest block
	state   state
	history history
	queue   []*queued
	journal *journal
	broken  error // the journal could not be written: nothing may land any more
	closed  bool
	faults  func(method string, params []byte) Fault
	airdrop int // airdrops made so far, which keeps equal ones apart
	hub     hub
	stop    chan struct{} // closed by Close, for requests that hang
	paced   chan struct{} // tells Run that SlotTime changed
}

// queued is a sent transaction that waits for its block.
type queued struct {
	tx      *transaction
	due     uint64 // height of the block that will try it
	retries int    // how often it may be tried again; negative: until its blockhash expires
}

const (
	maxQueue   = 10_000
	retryAfter = 5 // blocks, about the two seconds after which RPC nodes send again
)

// Open starts a cluster, or goes on with the one whose journal is in Options.Dir. Time has passed
// for it meanwhile: slots follow the clock, and blockhashes expired. A last line that a crash tore
// is dropped; a journal damaged elsewhere is an error.
func Open(o Options) (*Cluster, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Cluster{
		now:          func() time.Time { return o.Now().UTC().Round(0) }, // wall time: it goes on in a suspended machine
		confirmedLag: lag(o.ConfirmedLag, 1),
		finalizedLag: lag(o.FinalizedLag, 32),
		state:        state{},
		history:      newHistory(),
		stop:         make(chan struct{}),
		paced:        make(chan struct{}, 1),
	}
	c.finalizedLag = max(c.finalizedLag, c.confirmedLag)
	if o.Dir == "" {
		return c, c.begin(o)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("solana sandbox: %w", err)
	}
	records, j, err := openJournal(filepath.Join(o.Dir, journalName))
	if err != nil {
		return nil, fmt.Errorf("solana sandbox: %w", err)
	}
	c.journal = j
	if len(records) == 0 {
		err = c.begin(o)
	} else {
		err = c.resume(o, records)
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return c, nil
}

func lag(given, preset int) uint64 {
	if given == 0 {
		return uint64(preset)
	}
	return uint64(max(given, 0))
}

// begin makes a new cluster and writes its first record.
func (c *Cluster) begin(o Options) error {
	if o.LamportsPerByte > maxLamportsPerByte {
		return errRent
	}
	g := genesisRecord{Seed: o.Seed, Pace: pace{At: c.now(), SlotTime: o.SlotTime}, LamportsPerByte: o.LamportsPerByte, Version: newestVersion}
	if err := c.genesis(g); err != nil {
		return err
	}
	return c.write(record{Genesis: &g})
}

// resume replays the journal and then lets the clock catch up.
func (c *Cluster) resume(o Options, records []record) error {
	if records[0].Genesis == nil {
		return errors.New("solana sandbox: the journal does not begin with a genesis record")
	}
	for i, r := range records {
		if err := c.replay(r); err != nil {
			return fmt.Errorf("solana sandbox: journal line %d: %w", i+1, err)
		}
	}
	if c.version < newestVersion {
		if err := c.grow(newestVersion); err != nil {
			return err
		}
		if err := c.write(record{Version: newestVersion}); err != nil {
			return err
		}
	}
	last := c.paces[len(c.paces)-1]
	now := c.now()
	c.tip = max(c.tip, heightAt(last.slot(now)))
	if last.SlotTime != o.SlotTime {
		p := pace{Slot: slotOf(c.tip), At: now, SlotTime: o.SlotTime}
		c.paces = append(c.paces, p)
		if err := c.write(record{Pace: &p}); err != nil {
			return err
		}
	}
	if o.LamportsPerByte == 0 || rentRate(o.LamportsPerByte) == c.rentAt(c.tip+1) {
		return nil
	}
	return c.setRent(o.LamportsPerByte)
}

// genesis puts the first accounts in place. All lamports that will ever be are made here.
func (c *Cluster) genesis(g genesisRecord) error {
	c.paces = []pace{g.Pace}
	c.seed = g.Seed
	c.rents = []rentChange{{PerByte: rentRate(g.LamportsPerByte)}}
	if g.LamportsPerByte == 0 {
		c.rents[0].PerByte = DefaultLamportsPerByte
	}
	rent := c.rentAt(0)
	c.world = sha256.Sum256(fmt.Appendf(nil, "genesis %q %d", g.Seed, g.Pace.At.UnixNano()))
	put := func(key address, a account) { c.state.set(key, 0, a, 0) }
	put(systemProgram, account{1, nativeLoader, []byte("solana_system_program"), true})
	put(budgetProgram, account{1, nativeLoader, []byte("compute_budget_program"), true})
	for _, program := range []address{memoV1, memoV3} {
		put(program, account{rent.minimum(len(programStub)), loaderV2, []byte(programStub), true})
	}
	put(rentSysvar, rent.sysvar())
	put(c.collector(), account{Lamports: lamportsPerSOL})
	put(keyOf(c.faucet()), account{Lamports: supply - c.state.total(0)})
	return c.grow(g.Version)
}

const (
	lamportsPerSOL = 1_000_000_000
	supply         = 500_000_000 * lamportsPerSOL

	// programStub stands where programs' machine code is; nothing here runs it.
	programStub = "built into the sandbox"
)

// collector is the account that fees go to.
func (c *Cluster) collector() address {
	return address(sha256.Sum256(append([]byte("collector"), c.world[:]...)))
}

// Run lets slots pass until ctx ends: it makes blocks on time and tells WebSocket subscribers.
// (Without it blocks are made when somebody asks.) Its error is a journal that cannot be written.
func (c *Cluster) Run(ctx context.Context) error {
	const stopped = time.Hour // between the ticks of a clock that is moved by hand, which mean nothing
	ticker, running := time.NewTicker(stopped), time.Duration(stopped)
	defer ticker.Stop()
	for {
		c.mu.Lock()
		every := c.paces[len(c.paces)-1].SlotTime
		c.mu.Unlock()
		if every <= 0 {
			every = stopped
		}
		if every != running {
			running = every
			ticker.Reset(every)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.paced:
		case <-ticker.C:
			c.mu.Lock()
			c.catchUp()
			err, closed := c.broken, c.closed
			c.mu.Unlock()
			if err != nil || closed {
				return err
			}
		}
	}
}

// Advance makes n blocks at once, whatever the clock says; with a SlotTime the clock then goes on
// from there. What was sent lands in the first of them that it may land in.
func (c *Cluster) Advance(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	c.makeBlocks(c.tip + uint64(max(n, 0)))
	last := c.paces[len(c.paces)-1]
	p := pace{Slot: slotOf(c.tip), At: last.At, SlotTime: last.SlotTime}
	if last.SlotTime > 0 {
		p.At = c.now()
		c.paces = append(c.paces, p)
		c.write(record{Pace: &p})
	} else {
		c.write(record{Height: c.tip})
	}
	return c.broken
}

// Fork abandons the newest n blocks, as a cluster does when it settles on another fork: what landed
// in them never did, and the blocks are made anew, empty. Finalized blocks stay. The transactions
// are forgotten; sent again they may land while their blockhash lives.
func (c *Cluster) Fork(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	f := fork{Base: max(c.tip-min(uint64(max(n, 0)), c.tip), c.heightOf(finalized))}
	c.abandon(f)
	c.write(record{Fork: &f})
	return c.broken
}

func (c *Cluster) abandon(f fork) {
	c.forks = append(c.forks, f)
	c.state.undo(f.Base)
	c.history.undo(f.Base)
	for _, r := range c.rents { // the rent is not what the cluster disagreed about
		if r.Height > f.Base {
			c.state.set(rentSysvar, r.Height, r.PerByte.sysvar(), 0)
		}
	}
}

// Close ends the cluster: hanging requests and WebSockets are let go, the journal is closed.
func (c *Cluster) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.stop)
	var err error
	if c.journal != nil {
		err = c.journal.close()
	}
	c.mu.Unlock()
	c.DropWebSockets()
	return err
}

var errClosed = errors.New("solana sandbox: the cluster is closed")

// catchUp makes the blocks that the clock has reached. Callers hold mu.
func (c *Cluster) catchUp() {
	last := c.paces[len(c.paces)-1]
	c.makeBlocks(heightAt(last.slot(c.now())))
}

// longSleep is the number of blocks after which subscribers are spared the ones in between, as
// after a night with the lid closed.
const longSleep = 512

// makeBlocks brings the chain up to height. Stretches in which nothing waits and nobody listens
// are passed over at once.
func (c *Cluster) makeBlocks(height uint64) {
	for c.tip < height && c.broken == nil && !c.closed {
		if len(c.queue) == 0 {
			if left := height - c.tip; c.hub.idle() {
				c.tip = height
				return
			} else if left > longSleep {
				c.tip = height - longSleep
			}
		}
		c.makeBlock()
		c.hub.announce(c)
	}
}

// makeBlock executes what is due and makes its effects durable before anyone can see them.
func (c *Cluster) makeBlock() {
	height := c.tip + 1
	var kept []*queued
	var made []*landed
	for _, q := range c.queue {
		if q.due > height {
			kept = append(kept, q)
			continue
		}
		out := c.bank(height).execute(q.tx)
		if !out.Landed {
			if q.retries != 0 && retryable(out.Err) {
				q.retries--
				q.due = height + retryAfter
				kept = append(kept, q)
			}
			continue
		}
		l := c.settle(out.loaded, height, out)
		made = append(made, l)
	}
	c.queue = kept
	if len(made) > 0 {
		records := make([]record, len(made))
		for i, l := range made {
			records[i] = record{Landed: l.record()}
		}
		if c.write(records...); c.broken != nil {
			c.state.undo(c.tip)
			c.history.undo(c.tip)
			return
		}
	}
	c.tip = height
}

// retryable says which refusals can pass while the blockhash lives: an account may be funded yet.
func retryable(err *TransactionError) bool {
	switch err.Name {
	case "AccountNotFound", "InsufficientFundsForFee", "InsufficientFundsForRent", "InvalidAccountForFee":
		return true
	}
	return false
}

// bank is the judge for a block of that height: it sees the accounts as they stand there.
func (c *Cluster) bank(height uint64) bank {
	return bank{
		read:   func(key address) account { return c.state.at(key, height) },
		recent: func(h hash) bool { _, ok := c.ageOf(h, height); return ok },
		done: func(tx *transaction) bool {
			l := c.history.byMessage[tx.Hash()]
			return l != nil && l.Height <= height
		},
		rent: c.rentAt(height),
		slot: slotOf(height),
		time: func(slot uint64) int64 { return c.blockTime(heightAt(slot)) },
		recentSlot: func(slot uint64) (int, bool) {
			at := heightAt(slot)
			if slotOf(at) != slot || at >= height || height-at > tableHistory {
				return 0, false
			}
			return int(height - at - 1), true
		},
	}
}

// settle puts the effects of a transaction into the state and its story into the history.
func (c *Cluster) settle(tx *transaction, height uint64, out outcome) *landed {
	l := &landed{tx: tx, Height: height, outcome: out}
	final := c.heightOf(finalized)
	for key, a := range out.Writes {
		c.state.set(key, height, a, final)
	}
	fees := c.state.at(c.collector(), height)
	fees.Lamports += out.Fee
	c.state.set(c.collector(), height, fees, final)
	c.history.add(l)
	return l
}

// write appends to the journal. Callers hold mu (or are alone); a failure breaks the cluster.
func (c *Cluster) write(records ...record) error {
	if c.journal == nil || c.broken != nil {
		return c.broken
	}
	if err := c.journal.append(records); err != nil {
		c.broken = fmt.Errorf("solana sandbox: write the journal: %w", err)
	}
	return c.broken
}

// Balance is an account's lamports at the newest block; 0 for what does not exist or is no address.
func (c *Cluster) Balance(text string) uint64 {
	key, err := parseAddress(text)
	if err != nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.state.at(key, c.tip).Lamports
}

// TotalLamports adds up every account. It never changes: transfers move, fees go to a collector.
func (c *Cluster) TotalLamports() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.state.total(c.tip)
}

// Landed tells of one transaction that is in a block.
type Landed struct {
	Signature string
	Slot      uint64
	Height    uint64
	Err       *TransactionError // nil: it succeeded
}

// Landed lists every transaction on the chain in the order of landing.
func (c *Cluster) Landed() []Landed {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	list := make([]Landed, len(c.history.all))
	for i, l := range c.history.all {
		list[i] = Landed{l.tx.Signature().String(), slotOf(l.Height), l.Height, l.Err}
	}
	return list
}

// Height is the height of the newest block.
func (c *Cluster) Height() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.tip
}
