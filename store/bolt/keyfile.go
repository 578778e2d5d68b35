package bolt

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	bbolt "go.etcd.io/bbolt"

	"purser/store/engine"
)

// People's data keys lie in a small file of their own beside the database, wrapped by the master key. Why: bbolt
// never overwrites, and what is deleted there stays in free pages for an unknown time. In this file a key that is
// destroyed is overwritten in its place. All that it sealed is unreadable at once, in free pages too.
//
// The database says who has which key (dataKeys); the file holds nothing but keys. What is durable first:
//
//   - A new key is written and synced before the commit of the row that names it. After a crash between the two it
//     is a key that nobody has. Its slot, 128 bytes, stays taken for good, on purpose: a key that the database does not
//     know may also belong to a newer state of the database, which finds it when it is put back.
//   - A destroyed key is noted (destroyedKeys) in the commit that erases its person, and overwritten and synced after
//     it, before Update returns. After a crash between the two the next start overwrites it.
//
// A slot is written in one piece, with its checksum. If a crash tears it, it belongs to nobody yet, or to a person
// who was erased: a slot is only written over after the commit that empties it is durable. So no living person's key
// is lost. The next start empties what is left of a destroyed key, torn or whole.
//
// So a key in the file is never older than the database says, and a database without its key file is of no use: both
// are backed up together. The first slot says which database the file belongs to. Every other slot holds the id of a
// key, the wrapped key, a checksum of both, and zeros. A whole slot with another key than the database says was
// reused, so one of the two files is from another time. A slot with a wrong checksum was damaged.
const (
	// keysSuffix follows the name of the database.
	keysSuffix = ".keys"
	// slotSize is the length of a slot in bytes: a key with room to spare. No slot straddles a sector of a disk.
	slotSize = 128
	// keyIDSize is the length in bytes of a key's random id, which distinguishes the keys that one slot had in turn.
	keyIDSize = 16
	// checksumSize is how many bytes of the SHA-256 of an id and its wrapped key follow them.
	checksumSize = 16
	keysMagic    = "purser data keys, version 1\n"
)

// KeysPath is the path of a database's key file.
func KeysPath(database string) string { return database + keysSuffix }

// ErrKeyFile says that the key file does not belong to the database, or to this state of it.
var ErrKeyFile = errors.New("the file of people's keys does not go with this database")

// keyRef says where a key lies: its slot, from 1, and its id, which distinguishes it from other keys that the slot
// had.
type keyRef struct {
	slot uint64
	id   [keyIDSize]byte
}

// encode writes a keyRef as it stands in the database.
func (r keyRef) encode() []byte { return append(numberKey(r.slot), r.id[:]...) }

// parseKeyRef reads what encode wrote. It refuses slots beyond a bound, so that a damaged one does not lead far
// behind the end of the file.
func parseKeyRef(raw []byte) (keyRef, bool) {
	if len(raw) != 8+keyIDSize {
		return keyRef{}, false
	}
	r := keyRef{slot: binary.BigEndian.Uint64(raw)}
	copy(r.id[:], raw[8:])
	return r, r.slot > 0 && r.slot < 1<<40
}

// newKey is a key that the next commit has to write first.
type newKey struct {
	keyRef
	wrapped []byte
}

// keyFile is the open key file. The lock of the database protects it from other processes. Only the goroutine that
// holds committing writes it; any goroutine reads.
type keyFile struct {
	file *os.File
	path string

	fresh bool // it still has the suffix newSuffix: adopt gives it its name

	mu   sync.Mutex      // guards what follows
	free []uint64        // slots that hold no key
	next uint64          // the first slot that was never used
	gone map[keyRef]bool // destroyed by this process, or being overwritten; an older snapshot may still name them
}

// makeKeyFile makes an empty key file for a database that has none. It gets its name from adopt, once the database is
// committed.
func makeKeyFile(path string, database []byte) (*keyFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%w: %s is another's: move it to where its own database is", ErrKeyFile, path)
	}
	file, err := os.OpenFile(path+newSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	k := &keyFile{file: file, path: path, next: 1, fresh: true}
	head := make([]byte, slotSize)
	copy(head, keysMagic)
	copy(head[len(keysMagic):], database)
	if _, err := file.WriteAt(head, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return k, nil
}

// openKeyFile opens the key file of a database. One that a crash left with the suffix newSuffix gets its name now.
func openKeyFile(path string, database []byte) (*keyFile, error) {
	file, err := openKeysOf(path, database)
	if err != nil {
		fresh, freshErr := openKeysOf(path+newSuffix, database)
		if freshErr != nil {
			return nil, err
		}
		file = fresh
		if err := renameDurably(path+newSuffix, path); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return &keyFile{file: file, path: path}, nil
}

// openKeysOf opens a key file and checks that its first slot names the database.
func openKeysOf(path string, database []byte) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing: restore it from the same backup", ErrKeyFile, path)
	}
	if err != nil {
		return nil, err
	}
	head := make([]byte, slotSize)
	_, err = io.ReadFull(io.NewSectionReader(file, 0, slotSize), head)
	if err != nil || !bytes.HasPrefix(head, append([]byte(keysMagic), database...)) {
		return nil, errors.Join(fmt.Errorf("%w: %s is another's, or damaged: restore both from one backup", ErrKeyFile, path), file.Close())
	}
	return file, nil
}

// adopt gives a new file its name. The database that names its keys is committed.
func (k *keyFile) adopt() error {
	k.fresh = false
	return renameDurably(k.path+newSuffix, k.path)
}

// renameDurably renames a file and syncs its folder.
func renameDurably(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// match compares the file with the keys that the database says are in use, by slot, and finds the free slots. It
// returns how many keys are missing: their slot is empty, or holds another whole key. No commit of this database
// leaves it so, so the two files are from different times. A damaged slot still counts as its owner's.
func (k *keyFile) match(used map[uint64]keyRef) (missing int, err error) {
	k.next = 1
	for slot := range used {
		k.next = max(k.next, slot+1)
	}
	// Read the file once, 512 slots at a time.
	from := io.NewSectionReader(k.file, slotSize, 1<<62)
	held := map[uint64]bool{}
	slots := make([]byte, 512*slotSize)
	for slot := uint64(1); ; {
		n, err := io.ReadFull(from, slots)
		for at := 0; at+slotSize <= n; at += slotSize {
			raw := slots[at : at+slotSize]
			empty := isZero(raw)
			if ref, taken := used[slot]; taken {
				held[slot] = !empty && (bytes.Equal(raw[:keyIDSize], ref.id[:]) || !isWhole(raw))
			} else if empty {
				k.free = append(k.free, slot)
			}
			slot++
			k.next = max(k.next, slot)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	for slot := range used {
		if !held[slot] {
			missing++
		}
	}
	return missing, nil
}

// checksum is over the id and the wrapped key of a slot.
func checksum(slot []byte) []byte {
	sum := sha256.Sum256(slot[:keyIDSize+wrappedSize])
	return sum[:checksumSize]
}

// isWhole tells whether a slot holds a key as it was written.
func isWhole(slot []byte) bool {
	at := keyIDSize + wrappedSize
	return bytes.Equal(slot[at:at+checksumSize], checksum(slot))
}

// isZero tells whether a slot is empty.
func isZero(raw []byte) bool {
	for _, b := range raw {
		if b != 0 {
			return false
		}
	}
	return true
}

// reserve finds a slot for a new key and draws the key's id. It prefers slots that were emptied. Nothing is written
// yet.
func (k *keyFile) reserve(random io.Reader) (r keyRef, err error) {
	if _, err := io.ReadFull(random, r.id[:]); err != nil {
		return r, fmt.Errorf("draw a key's id: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.free); n > 0 {
		r.slot, k.free = k.free[n-1], k.free[:n-1]
		return r, nil
	}
	r.slot = k.next
	k.next++
	return r, nil
}

// release returns the slots of new keys whose transaction was rolled back.
func (k *keyFile) release(keys []newKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, n := range keys {
		k.free = append(k.free, n.slot)
	}
}

// write writes keys durably. After an error some of them may be in the file; no row names them.
func (k *keyFile) write(keys []newKey) error {
	for _, n := range keys {
		slot := make([]byte, slotSize)
		copy(slot, n.id[:])
		copy(slot[keyIDSize:], n.wrapped)
		copy(slot[keyIDSize+wrappedSize:], checksum(slot))
		if _, err := k.file.WriteAt(slot, int64(n.slot*slotSize)); err != nil {
			return fmt.Errorf("write a data key: %w", err)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return k.file.Sync()
}

// destroy overwrites keys durably. A slot that holds another whole key was overwritten and reused before, and is left
// alone. One that holds no whole key is either r, damaged, or what a crash left of overwriting it, and is overwritten.
//
// The keys count as destroyed before the first is overwritten: a View of an older snapshot that reads an emptied slot
// must never take it for damage. Their slots are free after the sync, and no earlier.
func (k *keyFile) destroy(keys []keyRef) error {
	k.giveUp(keys)
	var emptied []uint64
	slot := make([]byte, slotSize)
	for _, r := range keys {
		switch err := k.readSlot(r.slot, slot); {
		case err != nil:
			return err
		case isZero(slot), isWhole(slot) && !bytes.Equal(slot[:keyIDSize], r.id[:]):
			continue
		}
		if _, err := k.file.WriteAt(make([]byte, slotSize), int64(r.slot*slotSize)); err != nil {
			return fmt.Errorf("overwrite a data key: %w", err)
		}
		emptied = append(emptied, r.slot)
	}
	if len(keys) == 0 {
		return nil
	}
	if err := k.file.Sync(); err != nil {
		return fmt.Errorf("overwrite a data key: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free = append(k.free, emptied...)
	return nil
}

// giveUp notes that keys are destroyed, for reads of older snapshots.
func (k *keyFile) giveUp(keys []keyRef) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone == nil {
		k.gone = map[keyRef]bool{}
	}
	for _, r := range keys {
		k.gone[r] = true
	}
}

// wrappedSize is the length of a wrapped key, in bytes.
const wrappedSize = engine.SecretSize

// readSlot reads a slot. Beyond the end of the file it is all zeros, which is an empty slot.
func (k *keyFile) readSlot(n uint64, into []byte) error {
	clear(into)
	if _, err := k.file.ReadAt(into, int64(n*slotSize)); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a data key: %w", err)
	}
	return nil
}

// read returns a wrapped key; nil if its slot is empty or holds another key.
func (k *keyFile) read(r keyRef) ([]byte, error) {
	slot := make([]byte, slotSize)
	if err := k.readSlot(r.slot, slot); err != nil {
		return nil, err
	}
	if !bytes.Equal(slot[:keyIDSize], r.id[:]) {
		return nil, nil
	}
	return slot[keyIDSize : keyIDSize+wrappedSize], nil
}

// wasDestroyed tells whether this process has destroyed a key, or is about to: its destruction is committed.
func (k *keyFile) wasDestroyed(r keyRef) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gone[r]
}

// usedKeys returns the keys that the database says are in use, by slot. Two people with one slot are engine.ErrBroken.
func (e *Engine) usedKeys(of *bbolt.Bucket) (map[uint64]keyRef, error) {
	used, damaged := map[uint64]keyRef{}, 0
	owners := of.Cursor()
	for owner, raw := owners.First(); owner != nil; owner, raw = owners.Next() {
		if string(raw) == destroyed {
			continue
		}
		r, ok := parseKeyRef(raw)
		if !ok {
			e.log.Error("who has which key is damaged for a person, whose rows cannot be read: restore a backup to have them back", "person", fmt.Sprintf("%q", owner))
			continue
		}
		if _, twice := used[r.slot]; twice {
			damaged++
		}
		used[r.slot] = r
	}
	if damaged > 0 {
		return nil, fmt.Errorf("%w (%d people share a key): restore a backup", engine.ErrBroken, damaged)
	}
	return used, nil
}

// findKeys opens the key file of an existing database, checks that they belong together, and overwrites keys whose
// destruction was committed before a crash. changed tells whether it wrote to the database.
func (e *Engine) findKeys(root *bbolt.Tx) (changed bool, err error) {
	path := KeysPath(e.path)
	if e.keyFile, err = openKeyFile(path, root.Bucket([]byte(ownBucket)).Get([]byte(ownID))); err != nil {
		return false, err
	}
	of, toDestroy := root.Bucket([]byte(dataKeys)), root.Bucket([]byte(destroyedKeys))
	if of == nil || toDestroy == nil {
		return false, fmt.Errorf("%w (%s is missing): restore a backup", engine.ErrBroken, dataKeys)
	}
	used, err := e.usedKeys(of)
	if err != nil {
		return false, err
	}
	missing, err := e.keyFile.match(used)
	if err != nil {
		return false, err
	}
	if missing > 0 {
		return false, fmt.Errorf("%w: %s lacks the keys of %d people, so it is of another time: restore both from one backup", ErrKeyFile, path, missing)
	}
	// noted are the notes to remove, left those whose key may still be in the file.
	var noted, left []keyRef
	all := toDestroy.Cursor()
	for key, _ := all.First(); key != nil; key, _ = all.Next() {
		r, ok := parseKeyRef(key)
		other, taken := used[r.slot]
		if !ok || taken && other == r {
			continue
		}
		noted = append(noted, r)
		if !taken { // if it is taken, the key was overwritten before its slot was reused
			left = append(left, r)
		}
	}
	if len(noted) == 0 {
		return false, nil
	}
	if err := e.keyFile.destroy(left); err != nil {
		return false, err
	}
	for _, r := range noted {
		if err := toDestroy.Delete(r.encode()); err != nil {
			return false, err
		}
	}
	return true, nil
}
