package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store"
	"purser/wallet"
)

// ErrLocked says that another process has the file open.
var ErrLocked = errors.New("another purser is using this store: stop it first, or give this one its own store")

// ErrNewer says that the file was written by a newer purser, which this one would not understand.
var ErrNewer = errors.New("this store was written by a newer purser: upgrade this one")

// ErrForeign says that the file is a bbolt file, but no store of purser's.
var ErrForeign = errors.New("this file is not a store of purser's: give another path")

// ErrCut says that the file ends too early: nothing in it can be relied upon.
var ErrCut = errors.New("the file is cut off (a full disk, or a copy that did not finish?): restore a backup, or move it away to begin with an empty store")

const (
	// lockWait is how long Open waits for a process that is just shutting down.
	lockWait = 200 * time.Millisecond
	// mapped is how much of the file is mapped from the start. It costs address space, not
	// memory; only a file beyond it makes a writer wait for the readers to end.
	mapped = 256 << 20
	// growth is by how much the file grows at a time.
	growth = 4 << 20
)

// errBroken says that bbolt cannot make sense of a file.
var errBroken = errors.New("the file is damaged")

// Options say which file to open and how.
type Options struct {
	Path      string
	MasterKey []byte       // 32 bytes; the one that the store was created with
	Random    io.Reader    // for keys and nonces: crypto/rand.Reader. One goroutine reads at a time
	Log       *slog.Logger // hears of damaged rows; nil for silence
	Kinds     wallet.Kinds // of transactions; the zero Kinds are the standard ones
}

// Store is a store.Store in one bbolt file, which it holds exclusively.
type Store struct {
	path    string
	db      *bbolt.DB
	keyFile *keyFile
	master  *store.Key
	system  *store.Key
	lookup  *store.Lookup
	random  io.Reader
	log     *slog.Logger
	kinds   wallet.Kinds

	jobs    chan *job
	stopped chan struct{} // closed when the committer has ended
	failed  chan struct{} // closed when the store refuses to go on
	poison  error         // of the committer alone: the commit whose outcome nobody knows
	changed sync.Map      // by queue: chan struct{} of one slot

	dataKeys keyring
	damages  damages
	version  atomic.Uint64 // of the keys
	closing  sync.RWMutex  // held for reading while a job is queued
	closed   bool
}

var _ store.Store = (*Store)(nil)

// Kinds are those of Options.
func (s *Store) Kinds() wallet.Kinds { return s.kinds }

// Open opens or creates (mode 0600) the store and brings an older schema up to date. Errors that
// a person can act on are ErrLocked, ErrNewer, ErrForeign, ErrCut, ErrKeyFile and store.ErrMasterKey.
func Open(o Options) (*Store, error) {
	s, err := open(o, migrations())
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Path, err)
	}
	return s, nil
}

func open(o Options, steps []migration) (*Store, error) {
	if o.Random == nil {
		return nil, errors.New("bolt: Options.Random is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if len(o.Kinds.Names()) == 0 {
		o.Kinds = wallet.StandardKinds()
	}
	random := &shared{from: o.Random}
	master, err := store.NewKey(o.MasterKey, random)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: o.Path, master: master, random: random, log: o.Log, kinds: o.Kinds, dataKeys: keyring{master: master, random: random},
		jobs:    make(chan *job, maxBatch),
		stopped: make(chan struct{}),
		failed:  make(chan struct{}),
	}
	// The freelist is found again at Open; writing it slows commits after mass deletion (docs/architecture.md, Store).
	if s.db, err = openFile(o.Path, bbolt.Options{NoFreelistSync: true}); err != nil {
		return nil, err
	}
	if err := s.prepare(steps); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	go s.commitLoop() // Close waits for it
	return s, nil
}

func openFile(path string, o bbolt.Options) (db *bbolt.DB, err error) {
	defer mend(&err)
	switch _, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		if err := create(path); err != nil {
			return nil, err
		}
	case err == nil:
		if err := whole(path, o.NoFreelistSync); err != nil {
			return nil, err
		}
	}
	o.Timeout, o.FreelistType, o.InitialMmapSize, o.NoStatistics = lockWait, bbolt.FreelistMapType, mapped, true
	if db, err = bbolt.Open(path, 0o600, &o); err != nil {
		return nil, lockedOr(err)
	}
	db.AllocSize = growth
	return db, nil
}

// newSuffix follows the name of a file that is being made.
const newSuffix = ".new"

// create makes an empty file under another name and gives it its own when it is whole: whoever is killed
// meanwhile leaves none that looks cut off. One that somebody else makes at the same time stays.
func create(path string) error {
	left, err := filepath.Glob(path + newSuffix + "*")
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+newSuffix+"*") // mode 0600
	if err != nil {
		return err
	}
	name := fresh.Name()
	defer os.Remove(name) //nolint:errcheck // the next one that is made removes it
	if err := fresh.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{Timeout: lockWait})
	if err != nil {
		return lockedOr(err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	switch err := os.Link(name, path); {
	case errors.Is(err, os.ErrNotExist): // somebody else begins just now, and has removed it
		return ErrLocked
	case err != nil && !errors.Is(err, os.ErrExist):
		if err := os.Rename(name, path); err != nil { // where files have one name only
			return err
		}
	}
	// A new file's name must be as durable as the rows in it.
	return syncFolder(filepath.Dir(path))
}

// mend makes an error of a panic, by which bbolt asserts what it finds in a file.
func mend(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w (%v): restore a backup", errBroken, r)
	}
}

// whole refuses a file that is shorter than bbolt left it, from which it would read on until the kernel ends the
// program (SIGBUS), and with every also one with a damaged page: where the list of free pages is not kept in the file,
// bbolt looks at every page as it opens it, and panics in a goroutine of its own. It writes nothing, and holds the
// file's lock meanwhile.
func whole(path string, every bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return ErrCut // bbolt would take it for a new one
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true})
	if err != nil {
		return lockedOr(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return ErrCut
		}
		return nil
	})
	if err == nil && every {
		err = everyPage(path, info.Size(), db.Info().PageSize)
	}
	return errors.Join(err, db.Close())
}

func everyPage(path string, size int64, pageSize int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(checkPages(file, size, pageSize), file.Close())
}

func lockedOr(err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrLocked
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Names in the meta bucket.
const (
	metaSchema = "schema"
	metaCheck  = "check"
	metaLookup = "lookup"
	metaSystem = "system"
	metaStore  = "store" // which store it is: its file of keys has the same
)

// metaKind begins the name of each kind of transaction that the store ever held.
const metaKind = "kind/"

// checkKinds refuses a store with transactions of a kind that this binary does not know: it could neither carry them to
// their end nor count what they hold back.
func (s *Store) checkKinds(meta *bbolt.Bucket) error {
	cursor := meta.Cursor()
	for key, _ := cursor.Seek([]byte(metaKind)); bytes.HasPrefix(key, []byte(metaKind)); key, _ = cursor.Next() {
		if _, err := s.kinds.Of(wallet.Kind(key[len(metaKind):])); err != nil {
			return err
		}
	}
	return nil
}

// storeIDSize is the length of what tells one store from another.
const storeIDSize = 16

// checkText is what the master key sealed at creation.
const checkText = "purser"

func checkPlace() store.Place { return store.Place{Subject: "meta", ID: metaCheck, Field: "value"} }

// prepare creates what a new file needs, or checks schema and master key of an old one and
// migrates it; then it opens the keys. A file that is as it should be is not written to.
func (s *Store) prepare(steps []migration) (err error) {
	root, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Rollback())
		}
	}()
	meta, newest, changed := root.Bucket([]byte(metaBucket.String())), uint64(len(steps)+1), false
	fresh := func() bool { return s.keyFile != nil && s.keyFile.fresh }
	defer func() {
		if err != nil && fresh() {
			err = errors.Join(err, os.Remove(s.keyFile.path+newSuffix))
		}
	}()
	if meta == nil {
		if name, _ := root.Cursor().First(); name != nil {
			return ErrForeign
		}
		if meta, err = s.create(root, newest); err != nil {
			return err
		}
		changed = true
	}
	// The schema first: a newer purser may keep its keys otherwise. Then the master key: a
	// migration must not run under a wrong one.
	schema, err := keyNumber(meta.Get([]byte(metaSchema)))
	if err != nil {
		return err
	}
	if schema > newest {
		return fmt.Errorf("%w (its schema is %d, this one knows %d)", ErrNewer, schema, newest)
	}
	if err := s.openKeys(meta); err != nil {
		return err
	}
	if err := s.checkKinds(meta); err != nil {
		return err
	}
	if schema == newest {
		if err := complete(root); err != nil {
			return err
		}
	}
	if s.keyFile == nil {
		found, err := s.findKeys(root)
		if err != nil {
			return err
		}
		changed = changed || found
	}
	if schema < newest {
		if err := s.migrate(root, schema, steps); err != nil {
			return err
		}
		if err := complete(root); err != nil {
			return err
		}
		changed = true
	}
	if !changed {
		return root.Rollback()
	}
	if err := root.Commit(); err != nil {
		return err
	}
	if fresh() {
		return s.keyFile.adopt()
	}
	return nil
}

// complete refuses a file without one of the buckets, or with a counter that would give a number to two rows: the
// names of buckets and their counters are in no row, so that no code of a row covers them.
func complete(root *bbolt.Tx) error {
	for b := range bucketCount {
		in := root.Bucket([]byte(b.String()))
		if in == nil {
			return fmt.Errorf("%w (%s is missing): restore a backup", errBroken, b)
		}
		if !b.numbered() {
			continue
		}
		if key, _ := last(in.Cursor()); key != nil {
			if n, err := keyNumber(key); err == nil && n > in.Sequence() {
				return fmt.Errorf("%w (%s counts from %d, but holds %d): restore a backup", errBroken, b, in.Sequence(), n)
			}
		}
	}
	return nil
}

func (s *Store) openKeys(meta *bbolt.Bucket) error {
	check, err := s.master.Open(checkPlace(), meta.Get([]byte(metaCheck)))
	if err != nil || !bytes.Equal(check, []byte(checkText)) {
		return store.ErrMasterKey
	}
	lookup, err := s.master.Unwrap(metaLookup, meta.Get([]byte(metaLookup)))
	if err != nil {
		return err
	}
	if s.lookup, err = store.NewLookup(lookup); err != nil {
		return err
	}
	system, err := s.master.Unwrap(metaSystem, meta.Get([]byte(metaSystem)))
	if err != nil {
		return err
	}
	s.system, err = store.NewKey(system, s.random)
	return err
}

func (s *Store) create(root *bbolt.Tx, schema uint64) (*bbolt.Bucket, error) {
	for b := range bucketCount {
		if _, err := root.CreateBucket([]byte(b.String())); err != nil {
			return nil, err
		}
	}
	meta := root.Bucket([]byte(metaBucket.String()))
	check, err := s.master.Seal(checkPlace(), []byte(checkText))
	if err != nil {
		return nil, err
	}
	_, lookup, err := s.master.NewSecret(metaLookup)
	if err != nil {
		return nil, err
	}
	_, system, err := s.master.NewSecret(metaSystem)
	if err != nil {
		return nil, err
	}
	if err := s.makeKeys(meta); err != nil {
		return nil, err
	}
	return meta, errors.Join(
		meta.Put([]byte(metaSchema), numberKey(schema)),
		meta.Put([]byte(metaCheck), check),
		meta.Put([]byte(metaLookup), lookup),
		meta.Put([]byte(metaSystem), system),
	)
}

// makeKeys gives a database its file of keys.
func (s *Store) makeKeys(meta *bbolt.Bucket) (err error) {
	id := make([]byte, storeIDSize)
	if _, err := io.ReadFull(s.random, id); err != nil {
		return fmt.Errorf("draw the store's id: %w", err)
	}
	if s.keyFile, err = makeKeyFile(KeysPath(s.path), id); err != nil {
		return err
	}
	return errors.Join(s.keyFile.file.Sync(), meta.Put([]byte(metaStore), id))
}

// KeysVersion rises with every commit that touched an API key or a webhook.
func (s *Store) KeysVersion() uint64 { return s.version.Load() }

// shared lets one goroutine at a time read: the committer, or one that seals for the log.
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
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := s.db.Begin(false)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Rollback() }() // of a read: there is nothing to lose
	t := &tx{group: newGroup(root), store: s}
	defer func() { t.over = true }()
	return read(t)
}

// keys runs use with the keys of one snapshot, to seal and open rows that lie elsewhere.
func (s *Store) keys(ctx context.Context, use func(*tx) error) error {
	return s.View(ctx, func(contract store.Tx) error { return use(contract.(*tx)) })
}

// Changed is signalled after a commit that added to the queue.
func (s *Store) Changed(queue store.Queue) <-chan struct{} { return s.signal(queue) }

func (s *Store) signal(queue store.Queue) chan struct{} {
	if c, ok := s.changed.Load(queue); ok {
		return c.(chan struct{})
	}
	c, _ := s.changed.LoadOrStore(queue, make(chan struct{}, 1))
	return c.(chan struct{})
}

// Close commits what is queued, waits for running Views and lets the file go. A second Close does
// nothing.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		<-s.stopped
		return nil
	}
	s.closed = true
	close(s.jobs)
	s.closing.Unlock()
	<-s.stopped
	return s.closeFiles()
}

// closeFiles lets the files go: that of keys first, since the lock of the database is for both.
func (s *Store) closeFiles() error {
	var err error
	if s.keyFile != nil {
		err = s.keyFile.file.Close()
	}
	return errors.Join(err, s.db.Close())
}
