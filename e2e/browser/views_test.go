package browser

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
)

// Browsers fold what they keep: LevelDB cuts its journal into blocks and compresses its tables with
// snappy, IndexedDB compresses values, caches keep gzip. views unfolds, so that a search sees through.

// maxUnfolded bounds what one compressed piece may become.
const maxUnfolded = 16 << 20

// views are the data as it lies there, and everything that it may stand for.
func views(data []byte) [][]byte {
	all := [][]byte{data}
	if journal := levelJournal(data); journal != nil {
		all = append(all, journal)
	}
	if table := levelTable(data); table != nil {
		all = append(all, table)
	}
	for _, folded := range all[:len(all):len(all)] {
		all = append(all, compressed(folded)...)
	}
	if text := string(data); strings.Contains(text, `\`) {
		all = append(all, []byte(strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(text))) // JSON in JSON
	}
	if plain, err := url.QueryUnescape(string(data)); err == nil && plain != string(data) {
		all = append(all, []byte(plain))
	}
	return all
}

// compressed unfolds what begins with a known mark anywhere in the data.
func compressed(data []byte) [][]byte {
	var all [][]byte
	each := func(mark string, unfold func([]byte) []byte) {
		for at := 0; ; {
			next := bytes.Index(data[at:], []byte(mark))
			if next < 0 {
				return
			}
			at += next + len(mark)
			if out := unfold(data[at-len(mark):]); len(out) > 0 {
				all = append(all, out)
			}
		}
	}
	// The part that could be read counts, even when what follows is not of the stream.
	each("\x1f\x8b\x08", func(b []byte) []byte {
		if r, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			out, _ := io.ReadAll(io.LimitReader(r, maxUnfolded))
			return out
		}
		return nil
	})
	for _, level := range []string{"\x78\x01", "\x78\x9c", "\x78\xda"} {
		each(level, func(b []byte) []byte {
			if r, err := zlib.NewReader(bytes.NewReader(b)); err == nil {
				out, _ := io.ReadAll(io.LimitReader(r, maxUnfolded))
				return out
			}
			return nil
		})
	}
	// A value of IndexedDB in snappy: two tags of the serializer, then the kind of wrapping.
	each("\xff\x11\x02", func(b []byte) []byte {
		out, _ := snappy(b[3:])
		return out
	})
	return all
}

// levelJournal joins the pieces of a LevelDB journal: blocks of 32 KiB, each of records with a
// header of 7 bytes (checksum, length, whether it is whole, first, middle or last).
func levelJournal(data []byte) []byte {
	const block, header = 32 << 10, 7
	var out []byte
	for at := 0; at+header <= len(data); {
		if rest := block - at%block; rest < header {
			at += rest
			continue
		}
		size, kind := int(binary.LittleEndian.Uint16(data[at+4:])), data[at+6]
		if kind == 0 && size == 0 { // space that was set aside
			at += block - at%block
			continue
		}
		if kind < 1 || kind > 4 || at%block+header+size > block || at+header+size > len(data) {
			return out
		}
		out = append(out, data[at+header:at+header+size]...)
		at += header + size
	}
	return out
}

// levelTable reads a LevelDB table: a footer of 48 bytes leads to the index, and that to the blocks.
func levelTable(data []byte) []byte {
	const footer = 48
	if len(data) < footer || !bytes.HasSuffix(data, []byte("\x57\xfb\x80\x8b\x24\x75\x47\xdb")) {
		return nil
	}
	foot := data[len(data)-footer:]
	_, foot, ok := handle(data, foot) // the metaindex
	if !ok {
		return nil
	}
	index, _, ok := handle(data, foot)
	if !ok {
		return nil
	}
	var out []byte
	for _, at := range entries(index) {
		content, _, ok := handle(data, at.value)
		if !ok {
			continue
		}
		for _, e := range entries(content) {
			out = append(append(out, e.key...), e.value...)
		}
	}
	return out
}

// handle reads where a block lies (offset and size), and unfolds it.
func handle(data, from []byte) (content, rest []byte, ok bool) {
	offset, n := binary.Uvarint(from)
	if n <= 0 {
		return nil, nil, false
	}
	size, m := binary.Uvarint(from[n:])
	// After the block: its compression and four bytes of checksum.
	if m <= 0 || offset > uint64(len(data)) || size > uint64(len(data)) || offset+size+5 > uint64(len(data)) {
		return nil, nil, false
	}
	content = data[offset : offset+size]
	if data[offset+size] == 1 {
		var err error
		if content, err = snappy(content); err != nil {
			return nil, nil, false
		}
	}
	return content, from[n+m:], true
}

// entry is a key of a table with its value.
type entry struct{ key, value []byte }

// entries are those of a block. A key leaves out what it shares with the one before; the restart
// points stand at the block's end.
func entries(block []byte) []entry {
	if len(block) < 4 {
		return nil
	}
	restarts := 4 + 4*int(binary.LittleEndian.Uint32(block[len(block)-4:]))
	if restarts > len(block) {
		return nil
	}
	block = block[:len(block)-restarts]
	var all []entry
	var key []byte
	for len(block) > 0 {
		var sizes [3]int // shared with the key before, rest of the key, value
		for i := range sizes {
			v, n := binary.Uvarint(block)
			if n <= 0 || v > uint64(len(block)+len(key)) {
				return all
			}
			sizes[i], block = int(v), block[n:]
		}
		if sizes[0] > len(key) || sizes[1]+sizes[2] > len(block) {
			return all
		}
		key = append(bytes.Clone(key[:sizes[0]]), block[:sizes[1]]...)
		all = append(all, entry{key, block[sizes[1] : sizes[1]+sizes[2]]})
		block = block[sizes[1]+sizes[2]:]
	}
	return all
}

var errSnappy = errors.New("no snappy block")

// snappy unfolds one block of the raw format: the length, then literals and copies of what is
// already there. With an error it gives what it has read so far.
func snappy(in []byte) ([]byte, error) {
	total, n := binary.Uvarint(in)
	if n <= 0 || total > maxUnfolded {
		return nil, errSnappy
	}
	var out []byte
	for in = in[n:]; len(in) > 0 && uint64(len(out)) < total; {
		tag := in[0]
		length, offset, used := 1+int(tag>>2), 0, 1
		switch tag & 3 {
		case 0:
			if extra := length - 60; extra > 0 {
				if len(in) < 1+extra {
					return out, errSnappy
				}
				length = 1
				for i := range extra {
					length += int(in[1+i]) << (8 * i)
				}
				used += extra
			}
			if length < 0 || len(in) < used+length {
				return out, errSnappy
			}
			out = append(out, in[used:used+length]...)
			in = in[used+length:]
			continue
		case 1:
			if used = 2; len(in) < used {
				return out, errSnappy
			}
			length, offset = 4+int(tag>>2&7), int(tag>>5)<<8|int(in[1])
		case 2:
			if used = 3; len(in) < used {
				return out, errSnappy
			}
			offset = int(binary.LittleEndian.Uint16(in[1:]))
		case 3:
			if used = 5; len(in) < used {
				return out, errSnappy
			}
			offset = int(binary.LittleEndian.Uint32(in[1:]))
		}
		if offset <= 0 || offset > len(out) {
			return out, errSnappy
		}
		for range length { // a copy may run into what it has just written
			out = append(out, out[len(out)-offset])
		}
		in = in[used:]
	}
	if uint64(len(out)) != total {
		return out, errSnappy
	}
	return out, nil
}

func TestViewsSeeThroughFolding(t *testing.T) {
	const secret = "legal winner thank year"
	var zipped, deflated bytes.Buffer
	for w, to := range map[io.WriteCloser]*bytes.Buffer{gzip.NewWriter(&zipped): &zipped, zlib.NewWriter(&deflated): &deflated} {
		if _, err := io.WriteString(w, strings.Repeat("nothing ", 99)+secret); err != nil {
			t.Fatal(err, to.Len())
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// A literal, a copy of one byte from six back (the blank), and a literal.
	folded := "\x17\x44legal winner thank" + "\x02\x06\x00" + "\x0cyear"
	first, last := "legal winner ", "thank year"
	const checksum, restart = "\x00\x00\x00\x00", "\x00\x00\x00\x00\x01\x00\x00\x00"
	// Two entries: the second key shares "legal winner th" with the first, and its value is empty.
	block := "\x00\x12\x00legal winner theft" + "\x0f\x08\x00ank year" + restart
	index := "\x00\x01\x02k\x00" + string(rune(len(block))) + restart
	at, size := byte(len(block)+5), byte(len(index))
	foot := string([]byte{at, size, at, size}) + strings.Repeat("\x00", 36) + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"
	for name, data := range map[string]string{
		"plain": secret, "gzip": "x" + zipped.String() + "x", "zlib": "x" + deflated.String(), "UTF-16": string(wide(secret)),
		"a value of IndexedDB": "xx\xff\x11\x02" + folded,
		"a LevelDB journal":    checksum + "\x0d\x00\x02" + first + checksum + "\x0a\x00\x04" + last,
		"a LevelDB table":      block + "\x00" + checksum + index + "\x00" + checksum + foot,
		"big-endian UTF-16":    "\x00" + strings.TrimSuffix(string(wide(secret)), "\x00"),
		"a JSON string":        `"[\"legal winner thank year\"]"`,
		"an address":           "/?q=legal%20winner+thank%20year",
	} {
		if len(search(needles{Texts: []string{secret}}, []place{{name, []byte(data)}})) == 0 {
			t.Errorf("not seen in %s: %q", name, data)
		}
		if len(search(needles{Texts: []string{"legal winner thank yellow"}}, []place{{name, []byte(data)}})) != 0 {
			t.Errorf("%s: seen where it is not", name)
		}
	}
}

// Whatever lies in a profile is looked at without a panic.
func FuzzViews(f *testing.F) {
	f.Add([]byte("\x17\x44legal winner thank\x02\x06\x00\x0cyear"))
	f.Add([]byte(strings.Repeat("\x00", 40) + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(views(data)) == 0 {
			t.Error("no view at all")
		}
	})
}
