package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"purser/store/engine"
)

// bbolt trusts what it finds in a file. If it notices damage it panics, at the start even in a goroutine where nobody
// can recover. So every page that bbolt will follow is checked before bbolt opens a file for writing, or in the
// background if the file was closed cleanly (cleanmarker.go). The check reads
// with ReadAt, within bounds, and writes nothing. It checks the same as bbolt's own check: each page is of the kind
// that it says, is reached once, lies in the file, and has its keys in order, within the bounds of its parent. It
// cannot see whether a value is what was written: rows have a tag for that (store/records).
//
// Layout of bbolt 1.5.0, in the byte order of the machine. A page is id u64, flags u16, count u16, overflow u32 (how
// many more pages belong to it), then its elements. An element of a leaf is flags u32, offset u32 from the element,
// length of the key u32, of the value u32. An element of a branch is offset u32, length of the key u32, page u64. The
// value of a bucket is root page u64 (0: a page follows in the value itself) and sequence u64.
const (
	pageHeader    = 16
	pageElement   = 16
	bucketHeader  = 16
	branchFlag    = 1
	leafFlag      = 2
	freelistFlag  = 16
	bucketElement = 1

	metaMagic    = 0xED0CDAED
	metaVersion  = 2
	metaSize     = 64
	metaFreelist = 32 // where the freelist's page stands in it
	noFreelist   = ^uint64(0)

	// deepestPage bounds the depth of a tree; a real one has hardly more than five levels.
	deepestPage = 64
)

// fileMeta is the content of a meta page: the pages of the root bucket and the freelist, the first page beyond those
// in use, and the number of the commit. page is the meta page's own number, 0 or 1.
type fileMeta struct {
	page, root, freelist, beyond, commit uint64
}

// pageWalk is one check of a file. It reads each page once.
type pageWalk struct {
	from   io.ReaderAt
	size   uint64   // of a page, in bytes
	beyond uint64   // the first page that is not in use
	met    []uint64 // a bit for each page that was reached
	pages  [][]byte // memory for one page at each depth: a page is needed until all below it are checked

	stopped func() bool // ends the walk with errStopped; nil: nothing does
}

// checkPages checks a file of fileSize bytes and pages of pageSize bytes. ErrCut: it ends too early. engine.ErrBroken:
// it is damaged. Nobody may write to the file meanwhile.
func checkPages(from io.ReaderAt, fileSize int64, pageSize int) error {
	w := &pageWalk{from: from, size: uint64(pageSize)}
	meta, err := w.newestMeta()
	if err != nil {
		return err
	}
	if meta.beyond > uint64(fileSize)/w.size {
		return ErrCut
	}
	return w.all(meta)
}

// all checks everything that a meta page leads to.
func (w *pageWalk) all(meta fileMeta) error {
	w.beyond = meta.beyond
	w.met = make([]uint64, w.beyond/64+1)
	if _, err := w.tree(meta.root, nil, nil, 0, true); err != nil {
		return err
	}
	if meta.freelist == noFreelist {
		return nil
	}
	if err := w.freelist(meta.freelist); err != nil {
		return fmt.Errorf("%w: %w", errFreelist, err)
	}
	return nil
}

// errFreelist says that the stored list of free pages is damaged, and no page in use.
var errFreelist = errors.New("the list of free pages")

// storedFreelist returns the bytes of the list of free pages that the newest meta page names, nil if it names none.
func storedFreelist(from io.ReaderAt, pageSize int) ([]byte, error) {
	w := &pageWalk{from: from, size: uint64(pageSize)}
	meta, err := w.newestMeta()
	if err != nil || meta.freelist == noFreelist {
		return nil, err
	}
	w.beyond, w.met = meta.beyond, make([]uint64, meta.beyond/64+1)
	return w.page(meta.freelist, 0)
}

// dropFreelist makes the newest meta page of a file name no list of free pages. bbolt then finds them by reading all pages.
// The caller holds the file's lock. Only 16 bytes change, so that a crash leaves the page as it was, as it is to be, or with
// a wrong checksum. Then the other meta page counts, which leads to the same rows: nothing but the list was written between the
// two (writeCleanMarker).
func dropFreelist(path string, pageSize int) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // what was written is synced
	meta, err := (&pageWalk{from: file, size: uint64(pageSize)}).newestMeta()
	if err != nil {
		return err
	}
	raw, at := make([]byte, metaSize), int64(meta.page)*int64(pageSize)+pageHeader
	if _, err := file.ReadAt(raw, at); err != nil {
		return err
	}
	binary.NativeEndian.PutUint64(raw[metaFreelist:], noFreelist)
	binary.NativeEndian.PutUint64(raw[metaSize-8:], metaSum(raw))
	if _, err := file.WriteAt(raw, at); err != nil {
		return err
	}
	return file.Sync()
}

// metaSum is the checksum of a meta page: FNV-1a of all before it.
func metaSum(m []byte) uint64 {
	sum := fnv.New64a()
	sum.Write(m[:metaSize-8])
	return sum.Sum64()
}

// damagedPage is the error about a page, for the operator.
func damagedPage(id uint64, format string, about ...any) error {
	return fmt.Errorf("%w (page %d %s): restore a backup", engine.ErrBroken, id, fmt.Sprintf(format, about...))
}

// newestMeta returns the newer of the two meta pages that have a right checksum. bbolt writes them in turn, so the
// other one belongs to the commit before, or was being written when the machine stopped.
func (w *pageWalk) newestMeta() (newest fileMeta, err error) {
	all, err := w.metas()
	if err != nil {
		return newest, err
	}
	for _, this := range all {
		if this.commit >= newest.commit {
			newest = this
		}
	}
	if len(all) == 0 {
		return newest, fmt.Errorf("%w (both of its first pages): restore a backup", engine.ErrBroken)
	}
	return newest, nil
}

// errOverwritten says that the meta page of a commit is no longer in the file.
var errOverwritten = errors.New("its meta page was overwritten")

// metaOf returns the meta page of a commit.
func (w *pageWalk) metaOf(commit uint64) (fileMeta, error) {
	all, err := w.metas()
	if err != nil {
		return fileMeta{}, err
	}
	for _, this := range all {
		if this.commit == commit {
			return this, nil
		}
	}
	return fileMeta{}, errOverwritten
}

// metas returns those of the two meta pages that have a right checksum.
func (w *pageWalk) metas() (all []fileMeta, err error) {
	for id := range uint64(2) {
		raw := make([]byte, pageHeader+metaSize)
		if _, err := w.from.ReadAt(raw, int64(id*w.size)); err != nil {
			return nil, ErrCut
		}
		// Layout of a meta page: magic u32, version u32, page size u32, flags u32, root page u64, sequence u64,
		// freelist u64, first page beyond u64, commit u64, FNV-1a u64 of all before it.
		m := raw[pageHeader:]
		native := binary.NativeEndian
		if native.Uint32(m) != metaMagic || native.Uint32(m[4:]) != metaVersion || native.Uint64(m[metaSize-8:]) != metaSum(m) {
			continue
		}
		all = append(all, fileMeta{page: id, root: native.Uint64(m[16:]), freelist: native.Uint64(m[metaFreelist:]), beyond: native.Uint64(m[40:]), commit: native.Uint64(m[48:])})
	}
	return all, nil
}

// page reads a page with its overflow pages, and marks them as reached. It is valid until another page of that depth is read.
func (w *pageWalk) page(id uint64, depth int) ([]byte, error) {
	if w.stopped != nil && w.stopped() {
		return nil, errStopped
	}
	// Pages 0 and 1 are the meta pages: no tree leads there.
	if id < 2 || id >= w.beyond {
		return nil, damagedPage(id, "is none of the file's")
	}
	for len(w.pages) <= depth {
		w.pages = append(w.pages, make([]byte, w.size))
	}
	raw := w.pages[depth]
	if _, err := w.from.ReadAt(raw, int64(id*w.size)); err != nil {
		return nil, ErrCut
	}
	if says := binary.NativeEndian.Uint64(raw); says != id {
		return nil, damagedPage(id, "says that it is page %d", says)
	}
	// An overflow must end within the file, and no page of it may belong to another one.
	more := uint64(binary.NativeEndian.Uint32(raw[12:]))
	if more >= w.beyond-id {
		return nil, damagedPage(id, "is longer than the file")
	}
	for n := id; n <= id+more; n++ {
		if w.met[n/64]&(1<<(n%64)) != 0 {
			return nil, damagedPage(n, "is reached twice")
		}
		w.met[n/64] |= 1 << (n % 64)
	}
	if more == 0 {
		return raw, nil
	}
	raw = append(bytes.Clone(raw), make([]byte, more*w.size)...)
	if _, err := w.from.ReadAt(raw[w.size:], int64((id+1)*w.size)); err != nil {
		return nil, ErrCut
	}
	return raw, nil
}

// tree checks a page and everything below it. Its keys must be at or above least and below bound (nil: no limit). It
// returns the last key. root says that the page belongs to the root bucket, which holds only buckets.
func (w *pageWalk) tree(id uint64, least, bound []byte, depth int, root bool) (last []byte, err error) {
	if depth > deepestPage {
		return nil, damagedPage(id, "lies too deep")
	}
	raw, err := w.page(id, depth)
	if err != nil {
		return nil, err
	}
	switch binary.NativeEndian.Uint16(raw[8:]) {
	case leafFlag:
		return w.leaf(id, raw, least, bound, depth, root)
	case branchFlag:
		return w.branch(id, raw, least, bound, depth, root)
	}
	return nil, damagedPage(id, "is neither branch nor leaf")
}

// element returns where the key of an element begins and ends in a page of count elements.
func element(id uint64, raw []byte, i, count int, at, key uint32) (from, to uint64, err error) {
	head := uint64(pageHeader + i*pageElement)
	from = head + uint64(at)
	to = from + uint64(key)
	if from < uint64(pageHeader+count*pageElement) || to > uint64(len(raw)) {
		return 0, 0, damagedPage(id, "has an element that lies outside of it")
	}
	return from, to, nil
}

// count is how many elements a page has.
func count(id uint64, raw []byte) (int, error) {
	n := int(binary.NativeEndian.Uint16(raw[10:]))
	if pageHeader+n*pageElement > len(raw) {
		return 0, damagedPage(id, "has more elements than room")
	}
	return n, nil
}

// inOrder checks the nth key of a page against the key before it and the bound. The first key of a page may equal
// before, which then is the key of the page in its parent.
func inOrder(id uint64, n int, key, before, bound []byte) error {
	order := bytes.Compare(before, key)
	if before != nil && (order > 0 || order == 0 && n > 0) || bound != nil && bytes.Compare(key, bound) >= 0 {
		return damagedPage(id, "holds keys that are out of order")
	}
	return nil
}

// leaf checks a leaf page, and the buckets in it.
func (w *pageWalk) leaf(id uint64, raw, least, bound []byte, depth int, root bool) (last []byte, err error) {
	n, err := count(id, raw)
	if err != nil {
		return nil, err
	}
	last = least
	for i := range n {
		e := raw[pageHeader+i*pageElement:]
		native := binary.NativeEndian
		flags, keyLength, valueLength := native.Uint32(e), native.Uint32(e[8:]), uint64(native.Uint32(e[12:]))
		from, to, err := element(id, raw, i, n, native.Uint32(e[4:]), keyLength)
		if err != nil {
			return nil, err
		}
		if to+valueLength > uint64(len(raw)) {
			return nil, damagedPage(id, "has an element that lies outside of it")
		}
		key, value := raw[from:to], raw[to:to+valueLength]
		if err := inOrder(id, i, key, last, bound); err != nil {
			return nil, err
		}
		last = key
		switch {
		case flags > bucketElement || root && flags != bucketElement:
			return nil, damagedPage(id, "has an element of an unknown kind")
		case flags == bucketElement:
			if err := w.bucket(id, value, depth); err != nil {
				return nil, err
			}
		}
	}
	return bytes.Clone(last), nil
}

// bucket checks the value of a bucket: the tree at its root page, or the one page that lies in the value itself.
func (w *pageWalk) bucket(id uint64, value []byte, depth int) error {
	if len(value) < bucketHeader {
		return damagedPage(id, "has a bucket that is cut short")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		_, err := w.tree(root, nil, nil, depth+1, false)
		return err
	}
	inline := value[bucketHeader:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafFlag {
		return damagedPage(id, "has a bucket that is no page")
	}
	_, err := w.leaf(id, inline, nil, nil, deepestPage, false)
	return err
}

// branch checks a branch page and its children. The key of each child bounds the child before it.
func (w *pageWalk) branch(id uint64, raw, least, bound []byte, depth int, root bool) (last []byte, err error) {
	n, err := count(id, raw)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, damagedPage(id, "is a branch that leads nowhere")
	}
	// First read all elements, then check each child between its own key and the next one.
	keys, children := make([][]byte, n), make([]uint64, n)
	for i := range n {
		e := raw[pageHeader+i*pageElement:]
		from, to, err := element(id, raw, i, n, binary.NativeEndian.Uint32(e), binary.NativeEndian.Uint32(e[4:]))
		if err != nil {
			return nil, err
		}
		keys[i], children[i] = raw[from:to], binary.NativeEndian.Uint64(e[8:])
	}
	last = least
	for i, key := range keys {
		if err := inOrder(id, i, key, last, bound); err != nil {
			return nil, err
		}
		below := bound
		if i+1 < n {
			below = keys[i+1]
		}
		if last, err = w.tree(children[i], key, below, depth+1, root); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// freelist checks a stored list of free pages: it must hold exactly the pages that are not in use.
func (w *pageWalk) freelist(id uint64) error {
	raw, err := w.page(id, 0)
	if err != nil {
		return err
	}
	if binary.NativeEndian.Uint16(raw[8:]) != freelistFlag {
		return damagedPage(id, "is no list of free pages")
	}
	n, list := uint64(binary.NativeEndian.Uint16(raw[10:])), raw[pageHeader:]
	if n == 0xffff { // too many for the header: the first entry is how many
		n, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if n > uint64(len(list)/8) {
		return damagedPage(id, "has more elements than room")
	}
	for i := range n {
		free := binary.NativeEndian.Uint64(list[8*i:])
		if free < 2 || free >= w.beyond {
			return damagedPage(free, "is none of the file's")
		}
		if w.met[free/64]&(1<<(free%64)) != 0 {
			return damagedPage(free, "is in use and free")
		}
		w.met[free/64] |= 1 << (free % 64)
	}
	// All free pages are marked now: what is not marked is lost, and bbolt would never use it.
	for id := uint64(2); id < w.beyond; id++ {
		if w.met[id/64]&(1<<(id%64)) == 0 {
			return damagedPage(id, "is neither in use nor free")
		}
	}
	return nil
}
