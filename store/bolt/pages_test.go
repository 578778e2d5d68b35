package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
	"purser/store/storetest"
	"purser/wallet"
)

// grown makes, at a path, the file of a store with pages of every kind: branches, leaves, long rows, and free pages.
func grown(t testing.TB, path string) (raw []byte, pageSize int) {
	t.Helper()
	s := openSame(t, path)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	x := storetest.NewSamples()
	mustUpdate(t, s, x.Write)
	for n := range 150 {
		mustUpdate(t, s, func(tx store.Tx) error {
			owner := wallet.UserID(fmt.Sprint("usr_", n))
			return errors.Join(tx.PutUser(wallet.User{ID: owner, TelegramID: int64(n + 1)}),
				tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprint("tx_", n)), Kind: wallet.Send, Status: wallet.AwaitingConfirmation, Owner: owner,
					From: wallet.Address{byte(n)}, Token: wallet.SOL, Amount: uint64(n), CreatedAt: at.Add(time.Duration(n) * time.Second)}),
				store.Enqueue(tx, []store.Reply{{Chat: int64(n + 1), Body: make([]byte, 100), At: at}}...))
		})
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(store.Enqueue(tx, []store.Reply{{Chat: 1, Body: make([]byte, 20_000), At: at}}...), tx.EraseUser("usr_3"), tx.EraseUser("usr_4"))
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	pageSize = db.Info().PageSize
	if err := errors.Join(db.View(func(tx *bbolt.Tx) error { used = int(tx.Size()); return nil }), db.Close()); err != nil {
		t.Fatal(err)
	}
	return fileBytes(t, path)[:used], pageSize
}

// inUse lists the pages of each kind that a file's tree holds.
func inUse(t testing.TB, raw []byte, pageSize int) (kinds map[string][]int) {
	t.Helper()
	w := &pageWalk{from: bytes.NewReader(raw), size: uint64(pageSize), beyond: uint64(len(raw) / pageSize), met: make([]uint64, len(raw)/pageSize/64+1)}
	meta, err := w.newestMeta()
	if err == nil {
		_, err = w.tree(meta.root, nil, nil, 0, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	kinds = map[string][]int{"root": {int(meta.root)}}
	for id := 2; id < int(w.beyond); id++ {
		page := raw[id*pageSize:]
		switch used := w.met[id/64]&(1<<(id%64)) != 0; {
		case !used:
			kinds["free"] = append(kinds["free"], id)
		case binary.NativeEndian.Uint64(page) != uint64(id):
			kinds["overflow"] = append(kinds["overflow"], id)
		case binary.NativeEndian.Uint16(page[8:]) == branchFlag:
			kinds["branch"] = append(kinds["branch"], id)
		default:
			kinds["leaf"] = append(kinds["leaf"], id)
		}
	}
	return kinds
}

// pageDamage are what can become of a page that holds something; each leaves a tree that cannot be followed.
func pageDamage(pageSize int) map[string]func(page []byte) {
	native := binary.NativeEndian
	return map[string]func(page []byte){
		"zeros":                      func(p []byte) { clear(p[:pageSize]) },
		"noise":                      func(p []byte) { noise(p[:pageSize]) },
		"noise in the header":        func(p []byte) { noise(p[:pageHeader]) },
		"another id":                 func(p []byte) { native.PutUint64(p, native.Uint64(p)+1) },
		"a wild id":                  func(p []byte) { native.PutUint64(p, 1<<60) },
		"no kind":                    func(p []byte) { native.PutUint16(p[8:], 0) },
		"two kinds":                  func(p []byte) { native.PutUint16(p[8:], 3) },
		"the kind of a meta page":    func(p []byte) { native.PutUint16(p[8:], 4) },
		"the kind of a free list":    func(p []byte) { native.PutUint16(p[8:], 16) },
		"too many elements":          func(p []byte) { native.PutUint16(p[10:], 0xffff) },
		"longer than the file":       func(p []byte) { native.PutUint32(p[12:], 0xffffffff) },
		"an offset beyond the page":  func(p []byte) { native.PutUint32(p[pageHeader+offsetAt(p):], 1<<30) },
		"an offset into the header":  func(p []byte) { native.PutUint32(p[pageHeader+offsetAt(p):], 0) },
		"a key as long as the world": func(p []byte) { native.PutUint32(p[pageHeader+offsetAt(p)+4:], 0xffffffff) },
	}
}

// offsetAt is where an element's offset is.
func offsetAt(page []byte) int {
	if binary.NativeEndian.Uint16(page[8:]) == branchFlag {
		return 0
	}
	return 4
}

func noise(into []byte) {
	from := mrand.NewChaCha8([32]byte{1, 2, 3})
	_, _ = from.Read(into)
}

// TestADamagedPageIsOneClearLine: bbolt alone ends the program for many of these, some in a goroutine of its own.
func TestADamagedPageIsOneClearLine(t *testing.T) {
	folder, tried := t.TempDir(), 0
	raw, pageSize := grown(t, filepath.Join(folder, "purser.db"))
	kinds := inUse(t, raw, pageSize)
	for _, kind := range []string{"root", "branch", "leaf", "overflow", "free"} {
		if len(kinds[kind]) == 0 {
			t.Fatalf("the file has no page of the kind %s: %v", kind, kinds)
		}
	}
	for _, kind := range []string{"root", "branch", "leaf"} {
		for _, id := range ends(kinds[kind]) {
			if binary.NativeEndian.Uint16(raw[id*pageSize+10:]) == 0 { // an empty bucket: nothing to follow in it
				continue
			}
			for what, damage := range pageDamage(pageSize) {
				tried++
				broken := bytes.Clone(raw)
				damage(broken[id*pageSize:])
				refusesFile(t, fmt.Sprintf("%s page %d: %s", kind, id, what), folder, broken)
			}
		}
	}
	for _, id := range ends(kinds["branch"]) {
		for what, child := range map[string]uint64{"itself": uint64(id), "a meta page": 1, "beyond the end": uint64(len(raw) / pageSize), "far beyond": 1 << 62,
			"another's": uint64(kinds["leaf"][len(kinds["leaf"])-1])} {
			tried++
			broken := bytes.Clone(raw)
			binary.NativeEndian.PutUint64(broken[id*pageSize+pageHeader+8:], child)
			refusesFile(t, fmt.Sprintf("branch page %d leads to %s", id, what), folder, broken)
		}
	}
	t.Logf("%d damaged files", tried)
}

// ends are the first, a middle and the last.
func ends(ids []int) []int {
	if len(ids) < 3 {
		return ids
	}
	return []int{ids[0], ids[len(ids)/2], ids[len(ids)-1]}
}

// refusesFile opens a damaged file: that is one clear line, and the file stays as it is.
func refusesFile(t *testing.T, what, folder string, broken []byte) {
	t.Helper()
	path := filepath.Join(folder, "purser.db")
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = checkPages(bytes.NewReader(broken), int64(len(broken)), os.Getpagesize()) // never panics, with nobody to recover it
	s, err := openWhole(options(path))
	switch {
	case err == nil:
		t.Errorf("%s: it was opened (%v)", what, s.Close())
	case !errors.Is(err, engine.ErrBroken), strings.Contains(err.Error(), "\n"), !strings.Contains(err.Error(), "restore a backup"):
		t.Errorf("%s: %v", what, err)
	}
	if !bytes.Equal(broken, fileBytes(t, path)) {
		t.Errorf("%s: the file was changed", what)
	}
}

// TestBothMetaPagesDamaged: with one of them bbolt begins from the commit before, as after a power cut.
func TestBothMetaPagesDamaged(t *testing.T) {
	folder := t.TempDir()
	raw, pageSize := grown(t, filepath.Join(folder, "purser.db"))
	for at := range pageHeader + metaSize {
		if at < pageHeader {
			continue
		}
		broken := bytes.Clone(raw)
		broken[at] ^= 0x10
		broken[pageSize+at] ^= 0x10
		path := filepath.Join(folder, "purser.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := openWhole(options(path)); err == nil {
			t.Errorf("byte %d: it was opened (%v)", at, s.Close())
		} else if !isBroken(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("byte %d: %v", at, err)
		}
		if !bytes.Equal(broken, fileBytes(t, path)) {
			t.Errorf("byte %d: the file was changed", at)
		}
	}
}

// TestAnyDamageOpensOrIsRefused flips bits and writes noise anywhere: the program lives, and what it opens it can read.
func TestAnyDamageOpensOrIsRefused(t *testing.T) {
	folder := t.TempDir()
	raw, _ := grown(t, filepath.Join(folder, "purser.db"))
	rounds, opened := 400, 0
	if testing.Short() {
		rounds = 60
	}
	random := mrand.New(mrand.NewPCG(1, 2))
	for range rounds {
		broken := bytes.Clone(raw)
		for range 1 + random.IntN(4) {
			at := random.IntN(len(broken))
			if random.IntN(2) == 0 {
				broken[at] ^= 1 << random.IntN(8)
			} else {
				noise(broken[at:min(at+1+random.IntN(64), len(broken))])
			}
		}
		path := filepath.Join(folder, "purser.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openWhole(options(path))
		if err != nil {
			if !bytes.Equal(broken, fileBytes(t, path)) {
				t.Error("a file that is refused was changed")
			}
			continue
		}
		opened++
		if err := s.View(t.Context(), func(tx store.Tx) error { _ = storetest.NewSamples().Read(tx); return nil }); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if opened == 0 || opened == rounds {
		t.Errorf("%d of %d were opened", opened, rounds)
	}
}

// TestAFileWithAListOfFreePagesIsChecked: the files of days keep one, and so does a store that is just made.
func TestAFileWithAListOfFreePagesIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := db.Update(func(tx *bbolt.Tx) error {
			in, err := tx.CreateBucketIfNotExists([]byte("rows"))
			for i := range 200 {
				err = errors.Join(err, in.Put(fmt.Append(nil, i), make([]byte, 100*n)))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	pageSize := db.Info().PageSize
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw := fileBytes(t, path)
	check := func(raw []byte) error { return checkPages(bytes.NewReader(raw), int64(len(raw)), pageSize) }
	if err := check(raw); err != nil {
		t.Fatal(err)
	}
	meta, err := (&pageWalk{from: bytes.NewReader(raw), size: uint64(pageSize)}).newestMeta()
	if err != nil || meta.freelist == noFreelist {
		t.Fatalf("%+v, %v", meta, err)
	}
	at := int(meta.freelist) * pageSize
	if n := binary.NativeEndian.Uint16(raw[at+10:]); n < 2 {
		t.Fatalf("%d free pages", n)
	}
	for what, damage := range map[string]func(page []byte){
		"another kind":          func(p []byte) { p[8] = leafFlag },
		"too many":              func(p []byte) { binary.NativeEndian.PutUint16(p[10:], 0xfffe) },
		"far too many":          func(p []byte) { binary.NativeEndian.PutUint16(p[10:], 0xffff) },
		"a page that is used":   func(p []byte) { binary.NativeEndian.PutUint64(p[pageHeader:], meta.root) },
		"a page beyond the end": func(p []byte) { binary.NativeEndian.PutUint64(p[pageHeader:], meta.beyond) },
		"a meta page":           func(p []byte) { binary.NativeEndian.PutUint64(p[pageHeader:], 1) },
		"one page twice":        func(p []byte) { copy(p[pageHeader+8:pageHeader+16], p[pageHeader:]) },
	} {
		broken := bytes.Clone(raw)
		damage(broken[at:])
		if err := check(broken); !errors.Is(err, engine.ErrBroken) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzDamagedFile: whatever is written over a part of a file, the program lives.
func FuzzDamagedFile(f *testing.F) {
	folder := f.TempDir()
	raw, pageSize := grown(f, filepath.Join(folder, "purser.db"))
	for id := range min(12, len(raw)/pageSize) {
		f.Add(uint32(id*pageSize+8), []byte{2, 0, 255, 255})
		f.Add(uint32(id*pageSize+16), bytes.Repeat([]byte{0xff}, 16))
	}
	f.Fuzz(func(t *testing.T, at uint32, patch []byte) {
		broken := bytes.Clone(raw)
		copy(broken[int(at)%len(broken):], patch)
		path := filepath.Join(folder, "purser.db")
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := openWhole(options(path))
		if err != nil {
			return
		}
		if err := errors.Join(s.View(t.Context(), func(tx store.Tx) error { _ = storetest.NewSamples().Read(tx); return nil }), s.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestAMissingBucketAndACounterGoneBackAreDamage: neither is in a row.
func TestAMissingBucketAndACounterGoneBackAreDamage(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "purser.db")
	raw, _ := grown(t, path)
	for what, change := range map[string]func(root *bbolt.Tx) error{
		"no bucket of users":              func(root *bbolt.Tx) error { return root.DeleteBucket([]byte("users")) },
		"the number of an answer is free": func(root *bbolt.Tx) error { return root.Bucket([]byte("answers")).SetSequence(0) },
	} {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(change), db.Close()); err != nil {
			t.Fatal(err)
		}
		refusesFile(t, what, folder, fileBytes(t, path))
	}
}

// TestDamageThatLooksLikeATree: each element lies where it may, and yet the tree is none.
func TestDamageThatLooksLikeATree(t *testing.T) {
	folder := t.TempDir()
	raw, pageSize := grown(t, filepath.Join(folder, "purser.db"))
	kinds, native := inUse(t, raw, pageSize), binary.NativeEndian
	root := kinds["root"][0] * pageSize
	e := func(page []byte, n int) []byte { return page[pageHeader+n*pageElement:] }
	leaves := []int{root}
	if native.Uint16(raw[root+8:]) == branchFlag { // the names of buckets fill more than a page
		leaves = nil
		for n := range int(native.Uint16(raw[root+10:])) {
			leaves = append(leaves, int(native.Uint64(e(raw[root:], n)[8:]))*pageSize)
		}
	}
	var roots []int // where elements of a leaf of the root hold the roots of buckets that have pages of their own
	for _, page := range leaves {
		var here []int
		for n := range int(native.Uint16(raw[page+10:])) {
			head := e(raw[page:], n)
			at := page + pageHeader + n*pageElement + int(native.Uint32(head[4:])) + int(native.Uint32(head[8:]))
			if native.Uint64(raw[at:]) != 0 {
				here = append(here, at)
			}
		}
		if len(here) > len(roots) {
			roots, root = here, page
		}
	}
	leaf := 0
	for _, id := range kinds["leaf"] {
		if page := raw[id*pageSize:]; !slices.Contains(leaves, id*pageSize) && native.Uint16(page[10:]) > 2 {
			leaf = id * pageSize
		}
	}
	if len(roots) < 2 || leaf == 0 {
		t.Fatalf("%d buckets, leaf %d", len(roots), leaf)
	}
	for what, damage := range map[string]func(raw []byte){
		"two buckets of one root": func(raw []byte) { copy(raw[roots[0]:roots[0]+8], raw[roots[1]:]) },
		"a bucket that is a row":  func(raw []byte) { native.PutUint32(e(raw[root:], 0), 0) },
		"a value beyond the page": func(raw []byte) { native.PutUint32(e(raw[leaf:], 0)[12:], uint32(pageSize)*8) },
		"a value without end":     func(raw []byte) { native.PutUint32(e(raw[leaf:], 0)[12:], 0xffffffff) },
		"an element of no kind":   func(raw []byte) { native.PutUint32(e(raw[leaf:], 0), 2) },
		"a row that is a bucket":  func(raw []byte) { native.PutUint32(e(raw[leaf:], 0), bucketElement) },
		"one key twice": func(raw []byte) {
			first, second := e(raw[leaf:], 0), e(raw[leaf:], 1)
			native.PutUint32(second[4:], native.Uint32(first[4:])-pageElement)
			native.PutUint32(second[8:], native.Uint32(first[8:]))
			native.PutUint32(second[12:], 0)
		},
	} {
		broken := bytes.Clone(raw)
		damage(broken)
		refusesFile(t, what, folder, broken)
	}
}
