package solana

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Options says how a cluster runs. The zero value is a cluster in memory, whose slots pass only when Advance is
// called.
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

	// SlotsPerEpoch is the length of an epoch; 0 means SlotsPerEpoch for a new cluster, and no change for an old one.
	// An old cluster changes it with its next epoch.
	SlotsPerEpoch uint64
}

// DefaultSlotTime is the slot length of the public clusters.
const DefaultSlotTime = 300 * time.Millisecond

// journalName is the one file that a cluster keeps in Options.Dir.
const journalName = "cluster.jsonl"

// Cluster is one running Solana cluster. Its methods may be called from any goroutine: mu guards every field but now
// and the channels. Once the journal cannot be written, broken is set for good and no more blocks are made: effects
// that clients have seen must survive a restart.
type Cluster struct {
	now                        func() time.Time
	confirmedLag, finalizedLag uint64

	mu      sync.Mutex
	seed    string
	world   hash // hash of seed and time of birth; tells clusters apart
	version int  // genesis version: decides which accounts exist from the start
	paces   []pace
	rents   []rentChange
	lengths epochLengths
	voters  map[address]int // validators by their vote accounts
	voting  []votingChange

	minimums    []minimumChange
	commissions []commissionChange

	boundaries     []*boundary       // all of them, oldest first
	rewardBlocks   []rewardBlock     // oldest first
	stakesPerBlock int               // that are paid their rewards in one block
	reached        map[string]uint64 // lower bound of each level's height, set by SetFinality
	forks          []fork
	tip            uint64 // height of the newest block
	state          state
	history        history
	queue          []*queued
	journal        *journal
	broken         error // why the journal cannot be written; no block is made any more
	closed         bool
	faults         func(method string, params []byte) Fault
	airdrop        int // number of airdrops so far; part of each airdrop's memo
	hub            hub
	stop           chan struct{} // closed by Close, for requests that hang
	paced          chan struct{} // wakes Run after SlotTime has changed
}

// queued is a sent transaction that waits to be tried in a block.
type queued struct {
	tx      *transaction
	due     uint64 // height of the block that will try it
	retries int    // how often it may be tried again; negative: until its blockhash expires
}

// maxQueue bounds the memory that senders can use up. A node that cannot keep up reports itself as unhealthy.
const (
	maxQueue   = 10_000
	retryAfter = 5 // blocks; RPC nodes send again after about two seconds
)

// Open starts a cluster, or continues the one whose journal is in Options.Dir. The time in between has passed for it
// too: slots follow the clock, so older blockhashes may have expired. An incomplete last line, left by a crash, is
// dropped. A journal damaged elsewhere is an error.
func Open(o Options) (*Cluster, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	// Without a folder there is no journal, and a cluster that ends is gone.
	c := &Cluster{
		now:          func() time.Time { return o.Now().UTC().Round(0) }, // no monotonic clock: it stops in sleep
		confirmedLag: lag(o.ConfirmedLag, 1),
		finalizedLag: lag(o.FinalizedLag, 32),
		state:        state{},
		history:      newHistory(),
		stop:         make(chan struct{}),

		stakesPerBlock: stakesPerBlock,
		paced:          make(chan struct{}, 1),
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

// lag is the number of blocks for an option: 0 means the preset, a negative number none.
func lag(given, preset int) uint64 {
	if given == 0 {
		return uint64(preset)
	}
	return uint64(max(given, 0))
}

// begin makes a new cluster and writes its genesis record.
func (c *Cluster) begin(o Options) error {
	if o.LamportsPerByte > maxLamportsPerByte {
		return errRent
	}
	if n := o.SlotsPerEpoch; n != 0 && (n < minSlotsPerEpoch || n > maxSlotsPerEpoch) {
		return errEpochLength
	}
	g := genesisRecord{
		Seed: o.Seed, Pace: pace{At: c.now(), SlotTime: o.SlotTime}, LamportsPerByte: o.LamportsPerByte,
		SlotsPerEpoch: o.SlotsPerEpoch, Version: newestVersion,
	}
	if err := c.genesis(g); err != nil {
		return err
	}
	return c.write(record{Genesis: &g})
}

// resume replays the journal, adds what newer versions of the sandbox have at genesis, and lets the clock catch up.
func (c *Cluster) resume(o Options, records []record) error {
	if records[0].Genesis == nil {
		return errors.New("solana sandbox: the journal does not begin with a genesis record")
	}
	for i, r := range records {
		if err := c.replay(r); err != nil {
			return fmt.Errorf("solana sandbox: journal line %d: %w", i+1, err)
		}
	}
	// Accounts of a newer genesis version are added before anything else happens. The record makes the next replay
	// add them at the same place.
	if c.version < newestVersion {
		if err := c.grow(newestVersion); err != nil {
			return err
		}
		if err := c.write(record{Version: newestVersion}); err != nil {
			return err
		}
	}
	// Blocks without transactions are not in the journal. The clock gives the height.
	last := c.paces[len(c.paces)-1]
	now := c.now()
	// The clock kept running while the process did not, so slots up to now count as passed, without transactions.
	if c.makeBlocks(heightAt(last.slot(now))); c.broken != nil {
		return c.broken
	}
	if last.SlotTime != o.SlotTime {
		p := pace{Slot: slotOf(c.tip), At: now, SlotTime: o.SlotTime}
		c.paces = append(c.paces, p)
		if err := c.write(record{Pace: &p}); err != nil {
			return err
		}
	}
	if o.LamportsPerByte != 0 && rentRate(o.LamportsPerByte) != c.rentAt(c.tip+1) {
		if err := c.setRent(o.LamportsPerByte); err != nil {
			return err
		}
	}
	if o.SlotsPerEpoch == 0 || o.SlotsPerEpoch == c.lengths[len(c.lengths)-1].Slots {
		return nil
	}
	return c.setSlotsPerEpoch(o.SlotsPerEpoch)
}

// genesis makes the first accounts. All lamports that will ever exist are made here: the faucet holds what the others
// do not.
func (c *Cluster) genesis(g genesisRecord) error {
	c.paces = []pace{g.Pace}
	c.seed = g.Seed
	c.rents = []rentChange{{PerByte: rentRate(g.LamportsPerByte)}}
	if g.LamportsPerByte == 0 {
		c.rents[0].PerByte = DefaultLamportsPerByte
	}
	c.lengths = epochLengths{{Slots: SlotsPerEpoch}}
	if g.SlotsPerEpoch > 0 {
		c.lengths[0].Slots = g.SlotsPerEpoch
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

// collector is the account that receives all fees. A real cluster burns a part and pays the rest to validators.
func (c *Cluster) collector() address {
	return address(sha256.Sum256(append([]byte("collector"), c.world[:]...)))
}

// Run lets slots pass until ctx ends: it makes blocks on time and notifies WebSocket subscribers. Without it, blocks
// are made when a request comes. It returns an error only if the journal cannot be written.
func (c *Cluster) Run(ctx context.Context) error {
	const stopped = time.Hour // interval of the ticker for a manual clock; its ticks do nothing
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

// Advance makes n blocks at once, whatever the clock says. With a SlotTime the clock continues from there. A waiting
// transaction lands in the first of these blocks that accepts it.
func (c *Cluster) Advance(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	return c.advance(c.tip + uint64(max(n, 0)))
}

// advance makes all blocks up to a height and keeps the clock in step. Callers hold mu and have called catchUp.
func (c *Cluster) advance(height uint64) error {
	c.makeBlocks(height)
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

// Fork abandons the newest n blocks, as a cluster does when it settles on another fork. Transactions in these blocks
// are undone and forgotten, and empty blocks replace them. Sent again, a transaction may land while its blockhash is
// valid. Finalized blocks stay.
func (c *Cluster) Fork(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	f := fork{Base: max(c.tip-min(uint64(max(n, 0)), c.tip), c.heightOf(finalized))}
	c.abandon(f)
	records := []record{{Fork: &f}}
	for height := f.Base + 1; height <= c.tip; height++ { // the first blocks of epochs are made again
		records = append(records, c.beginBlock(height)...)
	}
	return c.write(records...)
}

// abandon undoes what blocks above f.Base did. Open calls it too when it replays the journal. Callers hold mu.
func (c *Cluster) abandon(f fork) {
	c.forks = append(c.forks, f)
	c.undo(f.Base)
	for _, r := range c.rents { // a fork does not undo changes of the rent
		if r.Height > f.Base {
			c.state.set(rentSysvar, r.Height, r.PerByte.sysvar(), 0)
		}
	}
}

// undo takes back what blocks above a height did.
func (c *Cluster) undo(height uint64) {
	c.state.undo(height)
	c.history.undo(height)
	c.boundaries = slices.DeleteFunc(c.boundaries, func(b *boundary) bool { return b.Height > height })
	c.rewardBlocks = slices.DeleteFunc(c.rewardBlocks, func(b rewardBlock) bool { return b.Height > height })
}

// Close ends the cluster: it releases hanging requests, ends WebSockets and closes the journal. A second call does
// nothing.
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

// errClosed is returned by every method that changes the chain after Close.
var errClosed = errors.New("solana sandbox: the cluster is closed")

// catchUp makes the blocks that the clock has reached. Callers hold mu.
func (c *Cluster) catchUp() {
	last := c.paces[len(c.paces)-1]
	c.makeBlocks(heightAt(last.slot(c.now())))
}

// longSleep is the number of blocks after which subscribers are not notified of each block in between, for instance
// after a laptop slept for a night.
const longSleep = 512

// write appends records to the journal. A failure sets broken. Callers hold mu, or no other goroutine has the cluster
// yet.
func (c *Cluster) write(records ...record) error {
	if c.journal == nil || c.broken != nil {
		return c.broken
	}
	if err := c.journal.append(records); err != nil {
		c.broken = fmt.Errorf("solana sandbox: write the journal: %w", err)
	}
	return c.broken
}

// Balance is an account's balance in lamports at the newest block. It is 0 for an account that does not exist and for
// no address.
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

// TotalLamports adds up all accounts. The result never changes, because fees go to an account of the sandbox; tests
// check this.
func (c *Cluster) TotalLamports() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	return c.state.total(c.tip)
}

// Landed is one transaction that is in a block, whether it succeeded or failed there.
type Landed struct {
	Signature string
	Slot      uint64
	Height    uint64
	Err       *TransactionError // nil: it succeeded
}

// Landed lists every transaction on the chain in the order in which they landed.
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

// Slot is the slot of the newest block.
func (c *Cluster) Slot() uint64 { return slotOf(c.Height()) }
