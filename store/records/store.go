// Package records keeps purser's rows in an engine: with any engine.Engine it makes a store.Store. It knows how a row
// is laid out, sealed and tagged, which index entries lead to it, when its time is over, what is erased with a person,
// and what to do about a damaged row. It knows no file and no commit: those are the engine's (store/engine,
// store/bolt).
//
// Its main types:
//
//   - Store is the store.Store that Open makes over an engine
//   - tx is the store.Tx of one closure; its verbs lie in a file for each subject (users.go, transactions.go, jobs.go
//     ...)
//   - table names the tables, and tables.go says what each of them maps to what
//   - row is the form of every row: plain JSON, then sealed fields, then a tag (row.go)
//   - Log is the store.DeliveryLog over engine.Days (log.go)
//
// A verb reads rows through unseal and plainOf and writes them through seal and putRow. It changes the row and the
// index entries that lead to it in the same transaction, so the two never disagree after a crash. Index entries hold
// keyed hashes where a plain value would say something about a person.
//
// The verbs are documented at the interfaces of package store. Here a comment says how they do it, where that is not
// plain.
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
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// ErrNewer says that a newer purser wrote the store. This one does not open it, because it could misread or lose rows.
var ErrNewer = errors.New("this store was written by a newer purser: upgrade this one")

// Options are what a Store needs besides its engine.
type Options struct {
	MasterKey []byte       // 32 bytes; the key with which the store was created
	Random    io.Reader    // source of keys and nonces: crypto/rand.Reader
	Log       *slog.Logger // gets the reports of damaged rows; nil: none
	Kinds     wallet.Kinds // kinds of transactions this binary knows, at least one; a store with another kind is refused
}

// Store is a store.Store over an engine, which it owns and closes. Any number of goroutines may use it.
type Store struct {
	engine engine.Engine
	master *store.Key    // wraps the other keys; seals no row
	system *store.Key    // seals what belongs to no person
	lookup *store.Lookup // makes the keyed hashes of index entries and tags
	random io.Reader     // safe for several goroutines (Shared)
	log    *slog.Logger  // never nil
	kinds  wallet.Kinds

	changed       sync.Map // by store.Queue: a chan struct{} of one slot
	dataKeys      keyring
	damageReports damageReports
	recent        recentEvents
	reservations  *reservations
	version       atomic.Uint64 // as far as this Store knows: see AccessVersion
}

var _ store.Store = (*Store)(nil)

// Kinds returns Options.Kinds.
func (s *Store) Kinds() wallet.Kinds { return s.kinds }

// Open prepares an empty engine as a new store, or checks schema and master key of an existing one and upgrades its
// schema. The store closes the engine, also when Open fails. A person can act on ErrNewer, store.ErrMasterKey,
// wallet.ErrUnknownKind and the errors of the engine.
func Open(in engine.Engine, o Options) (*Store, error) { return open(in, o, layout(), steps()) }

// open is Open with tables and upgrade steps as arguments: tests open older and newer schemas.
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

// newStore checks the options and makes a Store whose keys of its own are not open yet: prepare opens them.
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
		engine: in, master: master, random: random, log: o.Log, kinds: o.Kinds, dataKeys: keyring{master: master, random: random}, reservations: newReservations(),
	}, nil
}

// Keys of the table meta.
const (
	metaSchema = "schema" // number of the schema
	metaCheck  = "check"  // checkText, sealed by the master key
	metaLookup = "lookup" // secret of store.Lookup, wrapped by the master key
	metaSystem = "system" // the system's data key, wrapped by the master key
	metaAccess = "access" // how many commits raised AccessVersion. Missing: none
)

// checkText is what the master key sealed when the store was created. A master key that cannot open it is not the one
// that the store was created with.
const checkText = "purser"

// checkPlace is what checkText is sealed to.
func checkPlace() store.Place { return store.Place{Subject: "meta", ID: metaCheck, Field: "value"} }

// prepare makes or opens the store, in the one transaction of the engine's Prepare. It only reads a store that needs
// no change. After an error or a crash the files are as they were.
func (s *Store) prepare(setup engine.Setup, all []step) error {
	t, newest := &tx{in: setup, store: s}, uint64(len(all)+1)
	if setup.Fresh() {
		if err := s.create(t, newest); err != nil {
			return err
		}
	}
	// First the schema, since a newer purser may store its keys in another way. Then the master key, because an
	// upgrade must not run under a wrong one.
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
	version, err := t.accessRaised()
	if err != nil {
		return err
	}
	s.learn(version)
	// Today's schema must have all its tables. An older one gets the missing ones from its upgrade, and is checked
	// after it.
	if schema == newest {
		if err := setup.Check(); err != nil {
			return err
		}
	}
	// From here on secrets can be read. This also destroys those that a crash left undestroyed.
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

// checkKinds refuses a store with transactions of a kind that this binary does not know: it could neither settle them
// nor count the funds that they reserve.
func (s *Store) checkKinds(t *tx) error {
	for key := range t.scan(meta, engine.Prefix([]byte(metaKind))) {
		if _, err := s.kinds.Of(wallet.Kind(key[len(metaKind):])); err != nil {
			return err
		}
	}
	return nil
}

// openKeys checks the master key and unwraps the store's own two keys with it: the secret of keyed hashes, and the
// system's data key. store.ErrMasterKey: it is another master key.
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

// create writes the first rows of a new store: its schema, and its own keys, wrapped by the master key.
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

// Shared makes a reader safe for several goroutines, which then read one at a time: those that run Updates, and those
// that seal entries of the delivery log. nil stays nil, and a reader that is shared already is returned as it is.
func Shared(from io.Reader) io.Reader {
	switch from.(type) {
	case nil, *shared:
		return from
	}
	return &shared{from: from}
}

// shared is the reader that Shared returns.
type shared struct {
	mu   sync.Mutex
	from io.Reader
}

// Read implements io.Reader.
func (s *shared) Read(into []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from.Read(into)
}

// View runs read on a consistent snapshot, on the caller's goroutine. The error is read's own, store.ErrClosed, ctx's,
// or the engine's.
func (s *Store) View(ctx context.Context, read func(store.Tx) error) error {
	return s.view(ctx, func(t *tx) error { return read(t) })
}

// view is View for code of this package, which needs the tx itself.
func (s *Store) view(ctx context.Context, read func(*tx) error) error {
	return s.engine.View(ctx, func(in engine.Tx) error { return read(&tx{in: in, store: s}) })
}

// Update runs change and commits what it wrote. After the commit, and never before, it forgets the data keys that
// were destroyed, raises AccessVersion, and then signals the queues. So a worker that wakes finds the rows. If Update
// returns an error, nobody is signalled: after store.ErrUnknownOutcome the process ends, and its next start reads the
// queues.
func (s *Store) Update(ctx context.Context, change func(store.Tx) error) error {
	u := &oneUpdate{change: change, store: s}
	if err := s.engine.Update(ctx, u.run); err != nil {
		return err
	}
	s.dataKeys.forget(u.last.destroyed)
	s.learn(u.last.accessVersion)
	s.recent.add(u.last.emitted)
	s.recent.done(u.last.relayed) // behind add: an Update may remove what it emitted
	for _, queue := range u.last.news {
		select {
		case s.signal(queue) <- struct{}{}:
		default: // a signal waits there already
		}
	}
	return nil
}

// Logger returns the log in which the store reports damaged rows.
func (s *Store) Logger() *slog.Logger { return s.log }

// oneUpdate is one call of Update. Its change may run more than once.
type oneUpdate struct {
	store  *Store
	change func(store.Tx) error
	last   *tx // of the latest run: the one that is committed
}

// run is the closure that the engine runs. It takes over the queues of jobs that earlier Updates of this commit
// opened, runs change, and leaves the queues to the next Update. Each run begins with an empty tx, so that nothing of
// an earlier run is announced.
func (u *oneUpdate) run(in engine.Tx) error {
	u.last = &tx{in: in, store: u.store}
	u.last.takeQueues()
	defer u.last.leaveQueues() // after a panic too
	if err := u.change(u.last); err != nil || !u.last.touchedAccess {
		return err
	}
	return u.last.raiseAccessVersion()
}

// raiseAccessVersion counts this Update among those that changed who may do what, in the same transaction as the change.
func (t *tx) raiseAccessVersion() error {
	version, err := t.accessRaised()
	if err != nil {
		return err
	}
	t.accessVersion = version + 1
	return t.put(meta, []byte(metaAccess), numberKey(t.accessVersion))
}

// accessRaised reads how often the version was raised.
func (t *tx) accessRaised() (uint64, error) {
	raw := t.get(meta, []byte(metaAccess))
	if raw == nil {
		return 0, nil
	}
	return keyNumber(raw)
}

// learn raises the version that this Store knows. It never lowers it: commits may be learned of in another order.
func (s *Store) learn(version uint64) {
	for known := s.version.Load(); known < version; known = s.version.Load() {
		if s.version.CompareAndSwap(known, version) {
			return
		}
	}
}

// AccessVersion rises with every commit that touched a key, a webhook, an app or a grant, or erased a person: before its Update returns if the commit is of
// this Store, and within learnEvery, while Run runs, if another Store over the same database made it.
func (s *Store) AccessVersion() uint64 { return s.version.Load() }

// learnEvery is how often a Store looks for commits of other nodes that raised AccessVersion. A key that was revoked on
// another node opens nothing here after it.
const learnEvery = 500 * time.Millisecond

// learnOfOthers looks for such commits until ctx ends. An error is logged once until a look succeeds again.
func (s *Store) learnOfOthers(ctx context.Context) {
	ticker := time.NewTicker(learnEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var version uint64
		err := s.view(ctx, func(t *tx) (err error) {
			version, err = t.accessRaised()
			return err
		})
		if err == nil {
			s.learn(version)
		} else if !failing && ctx.Err() == nil {
			s.log.Error("the store cannot be read: keys that other nodes revoke stay in use here until it can", "error", err)
		}
		failing = err != nil
	}
}

// Changed returns the channel of a queue, which is signalled after a commit that added to the queue. It has one slot:
// several commits may give one signal.
func (s *Store) Changed(queue store.Queue) <-chan struct{} { return s.signal(queue) }

// signal returns the one channel of a queue, made at the first call. It is never closed.
func (s *Store) signal(queue store.Queue) chan struct{} {
	if c, ok := s.changed.Load(queue); ok {
		return c.(chan struct{})
	}
	c, _ := s.changed.LoadOrStore(queue, make(chan struct{}, 1))
	return c.(chan struct{})
}

// Run learns of other nodes' commits (AccessVersion) until the end of ctx. It returns store.ErrUnknownOutcome as soon as a
// commit has left its outcome open, and engine.ErrBroken when the files turn out to be damaged. The process must end then: its
// next start reads what is true, or refuses the files.
func (s *Store) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	learned := make(chan struct{})
	go func() {
		defer close(learned)
		s.learnOfOthers(ctx)
	}()
	err := s.engine.Run(ctx)
	stop()
	<-learned
	return err
}

// Close commits what is queued, waits for running Views and closes the engine. A second Close does nothing.
func (s *Store) Close() error { return s.engine.Close() }
