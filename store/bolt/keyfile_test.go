// Long: the file of keys, whole and damaged, by the helpers that damage it.

package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// keysIn looks at every place of every file of a folder for the data key of a person, wrapped by the master key: what
// a thief of both would do.
func keysIn(t *testing.T, folder string, master []byte, person wallet.UserID) (found []string) {
	t.Helper()
	key, err := store.NewKey(master, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw := fileBytes(t, filepath.Join(folder, f.Name()))
		for at := 0; at+wrappedSize <= len(raw); at++ {
			if isZero(raw[at : at+8]) { // no nonce begins so
				continue
			}
			if _, err := key.Unwrap(string(person), raw[at:at+wrappedSize]); err == nil {
				found = append(found, fmt.Sprintf("%s at %d", f.Name(), at))
			}
		}
	}
	return found
}

func closed(t *testing.T, s *whole) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func human(n int) wallet.User {
	return wallet.User{ID: wallet.UserID(fmt.Sprint("usr_", n)), TelegramID: int64(1000 + n), FirstName: fmt.Sprint("Person ", n)}
}

func meet(t *testing.T, s *whole, all ...int) {
	t.Helper()
	for _, n := range all {
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(human(n)) })
	}
}

// knows tells of whom the store can read who they are.
func knows(t *testing.T, s *whole, n int) error {
	t.Helper()
	return s.View(t.Context(), func(tx store.Tx) error {
		u, err := tx.User(human(n).ID)
		if err == nil && u.FirstName != human(n).FirstName {
			t.Errorf("person %d reads as %+v", n, u)
		}
		return err
	})
}

// TestTheKeyOfSomebodyErasedIsInNoFile: neither in use nor in free space, as soon as they are told.
func TestTheKeyOfSomebodyErasedIsInNoFile(t *testing.T) {
	folder := t.TempDir()
	s := openAt(t, filepath.Join(folder, "purser.db"))
	meet(t, s, 1, 2)
	for n := range 30 { // pages are copied again and again
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutCard(int64(n), "c", n, time.Time{}) })
	}
	if found := keysIn(t, folder, masterKey(), "usr_1"); len(found) != 1 || !strings.HasPrefix(found[0], "purser.db.keys ") {
		t.Fatalf("the key of somebody who is there: %v", found)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	if found := keysIn(t, folder, masterKey(), "usr_1"); len(found) != 0 {
		t.Errorf("it is still there: %v", found)
	}
	if found := keysIn(t, folder, masterKey(), "usr_2"); len(found) != 1 {
		t.Errorf("somebody else's key: %v", found)
	}
	closed(t, s)
	s = openAt(t, filepath.Join(folder, "purser.db"))
	if err := errors.Join(knows(t, s, 2)); err != nil {
		t.Error(err)
	}
	if err := knows(t, s, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the erased one: %v", err)
	}
	closed(t, s)
}

// TestAnErasureThatWasCutShortIsFinished at the next start: the commit was durable, the overwriting was not.
func TestAnErasureThatWasCutShortIsFinished(t *testing.T) {
	for _, again := range []bool{false, true} { // whether the person came back in the same commit
		folder := t.TempDir()
		path := filepath.Join(folder, "purser.db")
		s := openAt(t, path)
		meet(t, s, 1, 2)
		before := fileBytes(t, path+keysSuffix)
		mustUpdate(t, s, func(tx store.Tx) error {
			if err := tx.EraseUser("usr_1"); err != nil || !again {
				return err
			}
			return tx.PutUser(human(1))
		})
		closed(t, s)
		file, err := os.OpenFile(path+keysSuffix, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteAt(before, 0)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: 1}[again]
		if found := keysIn(t, folder, masterKey(), "usr_1"); len(found) != 1+want {
			t.Fatalf("the crash was not played: %v", found)
		}
		s = openAt(t, path)
		if found := keysIn(t, folder, masterKey(), "usr_1"); len(found) != want {
			t.Errorf("came back %v: there is still %v", again, found)
		}
		if left := ownKeys(t, s, destroyedKeys); len(left) != 0 {
			t.Errorf("still to be destroyed: %v", left)
		}
		if err := knows(t, s, 2); err != nil {
			t.Error(err)
		}
		if err := knows(t, s, 1); errors.Is(err, store.ErrNotFound) == again {
			t.Errorf("came back %v: %v", again, err)
		}
		meet(t, s, 3, 4, 5) // no slot is given to two
		for _, n := range []int{2, 3, 4, 5} {
			if err := knows(t, s, n); err != nil {
				t.Errorf("person %d: %v", n, err)
			}
		}
		closed(t, s)
	}
}

// TestAKeyWhoseRowWasNeverCommittedHarmsNobody: the key was durable, its row was not. Its slot is nobody's, so that a
// newer state of the database finds its keys when it is put back.
func TestAKeyWhoseRowWasNeverCommittedHarmsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	closed(t, s)
	old := fileBytes(t, path)
	s = openAt(t, path)
	meet(t, s, 2)
	closed(t, s)
	newer := fileBytes(t, path)
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if err := knows(t, s, 1); err != nil {
		t.Error(err)
	}
	meet(t, s, 3)
	closed(t, s)
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if err := errors.Join(knows(t, s, 1), knows(t, s, 2)); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestAKeyFileThatDoesNotGoWithTheDatabase is one clear line, and nothing is written.
func TestAKeyFileThatDoesNotGoWithTheDatabase(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db")
	s := openAt(t, other)
	meet(t, s, 1, 2)
	closed(t, s)
	for what, change := range map[string]func(t *testing.T, keys string, early []byte) error{
		"missing": func(_ *testing.T, keys string, _ []byte) error { return os.Remove(keys) },
		"another's": func(t *testing.T, keys string, _ []byte) error {
			return os.WriteFile(keys, fileBytes(t, other+keysSuffix), 0o600)
		},
		"an old one": func(_ *testing.T, keys string, early []byte) error { return os.WriteFile(keys, early, 0o600) },
		"cut off":    func(_ *testing.T, keys string, _ []byte) error { return os.Truncate(keys, 2*slotSize) },
		"empty":      func(_ *testing.T, keys string, _ []byte) error { return os.Truncate(keys, 0) },
		"overwritten": func(_ *testing.T, keys string, early []byte) error {
			return os.WriteFile(keys, make([]byte, 4*slotSize), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "purser.db")
			s := openAt(t, path)
			meet(t, s, 1)
			early := fileBytes(t, path+keysSuffix)
			meet(t, s, 2)
			closed(t, s)
			right := fileBytes(t, path+keysSuffix)
			if err := change(t, path+keysSuffix, early); err != nil {
				t.Fatal(err)
			}
			before := fileBytes(t, path)
			_, err := openWhole(options(path))
			if !errors.Is(err, ErrKeyFile) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "purser.db.keys") {
				t.Errorf("%v", err)
			}
			if !bytes.Equal(before, fileBytes(t, path)) {
				t.Error("the database was changed")
			}
			if err := os.WriteFile(path+keysSuffix, right, 0o600); err != nil {
				t.Fatal(err)
			}
			s = openAt(t, path) // and the right one is taken again
			if err := errors.Join(knows(t, s, 1), knows(t, s, 2)); err != nil {
				t.Error(err)
			}
			closed(t, s)
		})
	}
}

// TestAKeyFileOfAnotherTimeIsRefusedOnceASlotWasReused: every slot that the database names holds a key, only not the
// one that it names.
func TestAKeyFileOfAnotherTimeIsRefusedOnceASlotWasReused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1, 2)
	closed(t, s)
	type pair struct{ database, keys []byte }
	now := func() pair { return pair{fileBytes(t, path), fileBytes(t, path+keysSuffix)} }
	early := now()
	s = openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	meet(t, s, 3)
	closed(t, s)
	late := now()
	if len(early.keys) != len(late.keys) {
		t.Fatal("no slot was reused")
	}
	put := func(database, keys []byte) {
		if err := errors.Join(os.WriteFile(path, database, 0o600), os.WriteFile(path+keysSuffix, keys, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for what, mixed := range map[string]pair{"an old database": {early.database, late.keys}, "old keys": {late.database, early.keys}} {
		put(mixed.database, mixed.keys)
		if s, err := openWhole(options(path)); !errors.Is(err, ErrKeyFile) || !strings.Contains(err.Error(), "the keys of 1 people") {
			t.Errorf("%s: %v", what, err)
			if err == nil {
				closed(t, s)
			}
		}
		if got := now(); !bytes.Equal(got.database, mixed.database) || !bytes.Equal(got.keys, mixed.keys) {
			t.Errorf("%s: something was written", what)
		}
	}
	put(late.database, late.keys)
	s = openAt(t, path)
	if err := errors.Join(knows(t, s, 2), knows(t, s, 3)); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestANewDatabaseTakesNobodysKeys: those of one that was moved away without them are kept.
func TestANewDatabaseTakesNobodysKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	closed(t, s)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	keys := fileBytes(t, path+keysSuffix)
	if _, err := openWhole(options(path)); !errors.Is(err, ErrKeyFile) || !bytes.Equal(keys, fileBytes(t, path+keysSuffix)) {
		t.Errorf("a new database beside old keys: %v", err)
	}
	if err := os.Rename(path+keysSuffix, path+".away"+keysSuffix); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + ".away"} {
		closed(t, openAt(t, name))
	}
}

// TestAFileOfKeysWithoutItsNameIsFound: a crash after the first commit of a database.
func TestAFileOfKeysWithoutItsNameIsFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	closed(t, s)
	if err := os.Rename(path+keysSuffix, path+keysSuffix+newSuffix); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	if err := knows(t, s, 1); err != nil {
		t.Error(err)
	}
	closed(t, s)
	if _, err := os.Stat(path + keysSuffix); err != nil {
		t.Error(err)
	}
}

// TestSlotsAreUsedAgain: of keys that were destroyed, and of those that were rolled back.
func TestSlotsAreUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	size := func() int64 {
		info, err := os.Stat(path + keysSuffix)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size() / slotSize
	}
	meet(t, s, 1, 2, 3)
	for range 20 {
		if err := s.Update(t.Context(), func(tx store.Tx) error {
			return errors.Join(tx.PutUser(human(9)), errors.New("rolled back"))
		}); err == nil {
			t.Fatal("it was committed")
		}
		mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_2") })
		meet(t, s, 2)
		mustUpdate(t, s, func(tx store.Tx) error { return errors.Join(tx.PutUser(human(8)), tx.EraseUser("usr_8")) })
	}
	if n := size(); n > 6 { // head, three people, and one that is made before another is gone
		t.Errorf("%d slots", n)
	}
	closed(t, s)
	s = openAt(t, path)
	meet(t, s, 4, 5, 6)
	if n := size(); n > 7 {
		t.Errorf("%d slots after a restart", n)
	}
	for _, n := range []int{1, 2, 3, 4, 5, 6} {
		if err := knows(t, s, n); err != nil {
			t.Errorf("person %d: %v", n, err)
		}
	}
	closed(t, s)
}

// TestADamagedKeyIsOnePersonsLoss: the others are served.
func TestADamagedKeyIsOnePersonsLoss(t *testing.T) {
	for what, at := range map[string]int{"the id of a key": slotSize, "a key": slotSize + keyIDSize + 3} {
		path := filepath.Join(t.TempDir(), "purser.db")
		s := openAt(t, path)
		meet(t, s, 1, 2)
		closed(t, s)
		broken := fileBytes(t, path+keysSuffix)
		broken[at] ^= 1
		if err := os.WriteFile(path+keysSuffix, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
		if err := knows(t, s, 1); !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrUnsealed) {
			t.Errorf("%s: the damaged one: %v", what, err)
		}
		meet(t, s, 3)
		if err := errors.Join(knows(t, s, 2), knows(t, s, 3)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if after := fileBytes(t, path+keysSuffix); !bytes.Equal(after[:len(broken)], broken) {
			t.Errorf("%s: its slot was given away", what)
		}
		closed(t, s)
	}
}

// TestAKeyThatCannotBeWrittenStopsTheStore: nothing that needs it is committed.
func TestAKeyThatCannotBeWrittenStopsTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	if err := s.engine.keyFile.file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutUser(human(2)) }); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("without a file of keys: %v", err)
	}
	if err := s.Run(context.Background()); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("it goes on: %v", err)
	}
	_ = s.Close() // the file of keys is closed already
	s = openAt(t, path)
	if err := knows(t, s, 2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("whose key was not written: %v", err)
	}
	closed(t, s)
}

// TestWhatWasLeftOfAnotherStartIsReplaced: a file of keys that was made for a database that was not committed is
// nobody's.
func TestWhatWasLeftOfAnotherStartIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	if err := os.WriteFile(path+keysSuffix+newSuffix, append([]byte(keysMagic), bytes.Repeat([]byte{7}, 1000)...), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path)
	meet(t, s, 1)
	closed(t, s)
	s = openAt(t, path)
	if err := knows(t, s, 1); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestAWriteOfASlotThatIsTornLosesNoLivingKey: wherever in a slot the machine stopped, before the commit that needs it
// (a new key) or after it (a destroyed one), everybody who lives is read, and nobody who was erased.
func TestAWriteOfASlotThatIsTornLosesNoLivingKey(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "purser.db")
	s := openAt(t, path)
	meet(t, s, 1, 2, 3, 4)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_2") })
	closed(t, s)
	closed(t, openAt(t, path)) // the note of the erasure is gone
	type state struct{ database, keys []byte }
	now := func() state { return state{fileBytes(t, path), fileBytes(t, path+keysSuffix)} }
	before := now()
	s = openAt(t, path)
	meet(t, s, 5) // in the slot of the one who was erased
	closed(t, s)
	made := now()
	s = openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_5") })
	closed(t, s)
	erased := now()
	if len(before.keys) != len(made.keys) {
		t.Fatal("the new key has a slot of its own: nothing is written over")
	}
	for what, c := range map[string]struct{ database, from, to []byte }{
		"a new key":       {before.database, before.keys, made.keys},
		"a destroyed key": {erased.database, made.keys, erased.keys},
	} {
		slot := 0
		for slot = slotSize; bytes.Equal(c.from[slot:slot+slotSize], c.to[slot:slot+slotSize]); slot += slotSize {
		}
		for torn := range slotSize + 1 {
			keys := bytes.Clone(c.from)
			copy(keys[slot:slot+torn], c.to[slot:])
			if err := errors.Join(os.WriteFile(path, c.database, 0o600), os.WriteFile(path+keysSuffix, keys, 0o600)); err != nil {
				t.Fatal(err)
			}
			s := openAt(t, path)
			for n := 1; n <= 5; n++ {
				if err := knows(t, s, n); (n == 2 || n == 5) != errors.Is(err, store.ErrNotFound) || n != 2 && n != 5 && err != nil {
					t.Fatalf("%s, %d bytes: person %d: %v", what, torn, n, err)
				}
			}
			if left := fileBytes(t, path+keysSuffix)[slot : slot+slotSize]; what == "a destroyed key" && !isZero(left) {
				t.Fatalf("%s, %d bytes: there is left %x", what, torn, left)
			}
			meet(t, s, 6)
			if err := errors.Join(knows(t, s, 6), knows(t, s, 1), knows(t, s, 3), knows(t, s, 4)); err != nil {
				t.Fatalf("%s, %d bytes: after somebody new: %v", what, torn, err)
			}
			closed(t, s)
		}
	}
}

// FuzzKeyFile: whatever is written over a part of the file of keys, the program lives, and nobody reads as another.
func FuzzKeyFile(f *testing.F) {
	folder := f.TempDir()
	path := filepath.Join(folder, "purser.db")
	s := openSame(f, path)
	for n := range 5 {
		mustUpdate(f, s, func(tx store.Tx) error { return tx.PutUser(human(n)) })
	}
	mustUpdate(f, s, func(tx store.Tx) error { return tx.EraseUser("usr_2") })
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	database, keys := fileBytes(f, path), fileBytes(f, path+keysSuffix)
	f.Add(uint16(0), []byte{1}, uint16(len(keys)))
	f.Add(uint16(slotSize), make([]byte, slotSize), uint16(len(keys)))
	f.Add(uint16(slotSize), keys[2*slotSize:3*slotSize], uint16(len(keys)))
	f.Add(uint16(len(keys)), []byte("behind the end"), uint16(len(keys)+7))
	f.Fuzz(func(t *testing.T, at uint16, patch []byte, length uint16) {
		broken := append(bytes.Clone(keys), make([]byte, 1<<16)...)
		copy(broken[at:], patch)
		if err := errors.Join(os.WriteFile(path, database, 0o600), os.WriteFile(path+keysSuffix, broken[:length], 0o600)); err != nil {
			t.Fatal(err)
		}
		s, err := openWhole(options(path))
		if err != nil {
			if !errors.Is(err, ErrKeyFile) {
				t.Errorf("%v", err)
			}
			return
		}
		defer closed(t, s)
		for n := range 5 {
			if err := knows(t, s, n); err != nil && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrUnsealed) && (n != 2 || !errors.Is(err, store.ErrNotFound)) {
				t.Errorf("person %d: %v", n, err)
			}
		}
		mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(human(9)) })
		if err := knows(t, s, 9); err != nil {
			t.Errorf("somebody new: %v", err)
		}
	})
}

// TestAKeyThatIsInUseIsNotDestroyedAtTheStart, whatever is noted of it.
func TestAKeyThatIsInUseIsNotDestroyedAtTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	inOwn(t, s, func(root *bbolt.Tx) error {
		return root.Bucket([]byte(destroyedKeys)).Put(bytes.Clone(root.Bucket([]byte(dataKeys)).Get([]byte("usr_1"))), nil)
	})
	closed(t, s)
	s = openAt(t, path)
	if err := knows(t, s, 1); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestAKeyCountsAsDestroyedBeforeItIsOverwritten: an older snapshot that finds its slot empty, or half written, must
// not call it damaged, however far the overwriting has come.
func TestAKeyCountsAsDestroyedBeforeItIsOverwritten(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	meet(t, s, 1, 2)
	err := s.engine.View(t.Context(), func(in engine.Tx) error {
		var refs []keyRef
		for _, owner := range []string{"usr_1", "usr_2"} {
			name, state := in.SecretOf(owner)
			ref, ok := parseKeyRef(name)
			if state != engine.Kept || !ok {
				t.Fatalf("%s: state %d, name %x", owner, state, name)
			}
			refs = append(refs, ref)
		}
		beyond := keyRef{slot: 1 << 56} // at a negative offset: it cannot be read, so the overwriting ends between the two
		if err := s.engine.keyFile.destroy([]keyRef{refs[0], beyond, refs[1]}); err == nil {
			t.Fatal("it overwrote what is not there")
		}
		for i, owner := range []string{"usr_1", "usr_2"} { // one is overwritten, the other not yet
			name, _ := in.SecretOf(owner)
			if secret, err := in.Secret(name); !errors.Is(err, engine.ErrDestroyed) || secret != nil {
				t.Errorf("person %d: %x, %v", i+1, secret, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
