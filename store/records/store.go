// Package records keeps purser's rows in an engine: it is the store.Store of every engine. It knows how a row is laid
// out, sealed and tagged, which index keys lead to it, what an event is put into, what belongs to a person who is
// erased, when a row's time is over, and what to do about a damaged one. It knows no file and no commit: that is the
// engine's (store/engine, store/bolt).
//
// Its main types: Store is the store.Store that Open makes over an engine.Engine; tx is the store.Tx of one closure,
// with the domain's verbs in a file for each subject; table names what is kept where (tables.go); row is how every row
// lies (row.go); Log is the store.DeliveryLog over engine.Days (log.go).
//
// A verb reads rows through unseal and plainOf, writes them through seal and putRow, and puts or deletes the index keys
// that lead to them in the same transaction. Index keys hold keyed hashes where they are about somebody.
package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// ErrNewer says that the store was written by a newer purser, which this one would not understand.
var ErrNewer = errors.New("this store was written by a newer purser: upgrade this one")

// Options are what a Store needs besides its engine.
type Options struct {
	MasterKey []byte       // 32 bytes; the one that the store was created with
	Random    io.Reader    // for keys and nonces: crypto/rand.Reader. One goroutine reads at a time
	Log       *slog.Logger // hears of damaged rows; nil for silence
	Kinds     wallet.Kinds // of transactions, at least one: what a binary cannot judge it must not open
}

// Store is a store.Store in an engine, which it owns.
type Store struct {
	engine engine.Engine
	master *store.Key
	system *store.Key
	lookup *store.Lookup
	random io.Reader
	log    *slog.Logger // never nil
	kinds  wallet.Kinds

	changed       sync.Map // by queue: chan struct{} of one slot
	dataKeys      keyring
	damageReports damageReports
	version       atomic.Uint64 // of the keys
}

var _ store.Store = (*Store)(nil)

// Kinds are those of Options.
func (s *Store) Kinds() wallet.Kinds { return s.kinds }

// Open makes what an empty engine needs, or checks schema and master key of an old one and brings it up to date.
// The store closes the engine, also when Open fails. Errors that a person can act on are ErrNewer,
// store.ErrMasterKey, and those of the engine.
func Open(in engine.Engine, o Options) (*Store, error) { return open(in, o, layout(), steps()) }

func open(in engine.Engine, o Options, tables engine.Layout, all []step) (*Store, error) {
	s, err := newStore(in, o)
	if err == nil {
		err = in.Prepare(tables, func(setup engine.Setup) error { return s.prepare(setup, all) })
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return s, nil
}

func newStore(in engine.Engine, o Options) (*Store, error) {
	if o.Random == nil || len(o.Kinds.Names()) == 0 {
		return nil, errors.New("records: Options.Random and Options.Kinds are needed")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	random := Shared(o.Random)
	master, err := store.NewKey(o.MasterKey, random)
	if err != nil {
		return nil, err
	}
	return &Store{
		engine: in, master: master, random: random, log: o.Log, kinds: o.Kinds, dataKeys: keyring{master: master, random: random},
	}, nil
}

// Keys of the table meta.
const (
	metaSchema = "schema"
	metaCheck  = "check"
	metaLookup = "lookup"
	metaSystem = "system"
)

// checkText is what the master key sealed at creation.
const checkText = "purser"

func checkPlace() store.Place { return store.Place{Subject: "meta", ID: metaCheck, Field: "value"} }

// prepare makes or opens the store in the transaction of the engine's Prepare. One that is as it should be is not
// written to.
func (s *Store) prepare(setup engine.Setup, all []step) error {
	t, newest := &tx{in: setup, store: s}, uint64(len(all)+1)
	if setup.Fresh() {
		if err := s.create(t, newest); err != nil {
			return err
		}
	}
	// The schema first: a newer purser may keep its keys otherwise. Then the master key: a step must not run under a
	// wrong one.
	schema, err := keyNumber(t.get(meta, []byte(metaSchema)))
	if err != nil {
		return err
	}
	if schema > newest {
		return fmt.Errorf("%w (its schema is %d, this one knows %d)", ErrNewer, schema, newest)
	}
	if err := s.openKeys(t); err != nil {
		return err
	}
	if err := s.checkKinds(t); err != nil {
		return err
	}
	if schema == newest {
		if err := setup.Check(); err != nil {
			return err
		}
	}
	if err := setup.OpenSecrets(); err != nil || schema == newest {
		return err
	}
	if err := s.migrate(setup, schema, all); err != nil {
		return err
	}
	return setup.Check()
}

// metaKind begins the key of each kind of transaction that the store ever held.
const metaKind = "kind/"

// checkKinds refuses a store with transactions of a kind that this binary does not know: it could neither carry them to
// their end nor count what they hold back.
func (s *Store) checkKinds(t *tx) error {
	for key := range t.scan(meta, engine.Prefix([]byte(metaKind))) {
		if _, err := s.kinds.Of(wallet.Kind(key[len(metaKind):])); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) openKeys(t *tx) error {
	check, err := s.master.Open(checkPlace(), t.get(meta, []byte(metaCheck)))
	if err != nil || !bytes.Equal(check, []byte(checkText)) {
		return store.ErrMasterKey
	}
	lookup, err := s.master.Unwrap(metaLookup, t.get(meta, []byte(metaLookup)))
	if err != nil {
		return err
	}
	if s.lookup, err = store.NewLookup(lookup); err != nil {
		return err
	}
	system, err := s.master.Unwrap(metaSystem, t.get(meta, []byte(metaSystem)))
	if err != nil {
		return err
	}
	s.system, err = store.NewKey(system, s.random)
	return err
}

// create writes what a new store begins with: its schema, and its own keys, wrapped by the master key.
func (s *Store) create(t *tx, schema uint64) error {
	check, err := s.master.Seal(checkPlace(), []byte(checkText))
	if err != nil {
		return err
	}
	_, lookup, err := s.master.NewSecret(metaLookup)
	if err != nil {
		return err
	}
	_, system, err := s.master.NewSecret(metaSystem)
	if err != nil {
		return err
	}
	return errors.Join(
		t.put(meta, []byte(metaSchema), numberKey(schema)),
		t.put(meta, []byte(metaCheck), check),
		t.put(meta, []byte(metaLookup), lookup),
		t.put(meta, []byte(metaSystem), system),
	)
}

// Shared lets one goroutine at a time read: one that commits, or one that seals for the log. nil stays nil.
func Shared(from io.Reader) io.Reader {
	switch from.(type) {
	case nil, *shared:
		return from
	}
	return &shared{from: from}
}

type shared struct {
	mu   sync.Mutex
	from io.Reader
}

func (s *shared) Read(into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Read(into)
}

// View runs read on a consistent snapshot, on the caller's goroutine.
func (s *Store) View(ctx context.Context, read func(store.Tx) error) error {
	return s.view(ctx, func(t *tx) error { return read(t) })
}

func (s *Store) view(ctx context.Context, read func(*tx) error) error {
	return s.engine.View(ctx, func(in engine.Tx) error { return read(&tx{in: in, store: s}) })
}

// Update runs change and commits what it wrote. What it announces is heard of after the commit: first that keys have
// changed, then the queues.
func (s *Store) Update(ctx context.Context, change func(store.Tx) error) error {
	u := &oneUpdate{change: change, store: s}
	if err := s.engine.Update(ctx, u.run); err != nil {
		return err
	}
	if u.last.touchedKeys {
		s.version.Add(1)
	}
	for _, queue := range u.last.news {
		select {
		case s.signal(queue) <- struct{}{}:
		default: // a signal waits there already
		}
	}
	return nil
}

// Logger is where the store reports damaged rows.
func (s *Store) Logger() *slog.Logger { return s.log }

// oneUpdate is one Update, whose change may run more than once.
type oneUpdate struct {
	store  *Store
	change func(store.Tx) error
	last   *tx // of the run that counts
}

func (u *oneUpdate) run(in engine.Tx) error {
	u.last = &tx{in: in, store: u.store}
	if err := u.change(u.last); err != nil {
		return err
	}
	return u.last.writeJobs()
}

// KeysVersion rises with every commit that touched an API key or a webhook.
func (s *Store) KeysVersion() uint64 { return s.version.Load() }

// Changed is signalled after a commit that added to the queue.
func (s *Store) Changed(queue store.Queue) <-chan struct{} { return s.signal(queue) }

func (s *Store) signal(queue store.Queue) chan struct{} {
	if c, ok := s.changed.Load(queue); ok {
		return c.(chan struct{})
	}
	c, _ := s.changed.LoadOrStore(queue, make(chan struct{}, 1))
	return c.(chan struct{})
}

// Run waits for the end of ctx, or returns store.ErrUnknownOutcome as soon as a commit has left its outcome open:
// the process must end then, and the next start reads what is true.
func (s *Store) Run(ctx context.Context) error { return s.engine.Run(ctx) }

// Close commits what is queued, waits for running Views and closes the engine. A second Close does nothing.
func (s *Store) Close() error { return s.engine.Close() }
