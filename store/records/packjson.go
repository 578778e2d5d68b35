package records

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mr-tron/base58"

	"purser/store"
	"purser/wallet"
)

// The first step of pack: JSON becomes short items. An item is a byte that says what it is (item...), and its content. In an
// object each member is one byte, from the table of members (packnames.go), and its content.

// The items. The numbers are part of the stored form.
const (
	itemEnd       = 0  // of an object or an array
	itemObject    = 1  // its members, then itemEnd
	itemArray     = 2  // its items, then itemEnd
	itemTrue      = 3  //
	itemFalse     = 4  //
	itemNull      = 5  //
	itemNumber    = 6  // uvarint
	itemOther     = 7  // another number: its length (uvarint) and its text
	itemText      = 8  // a text as JSON writes it: its length (uvarint), then what stands between the quotes
	itemAddress   = 9  // text: 32 bytes in base58
	itemSignature = 10 // text: 64 bytes in base58
	itemBase64    = 11 // text: length (uvarint) and bytes
	itemHex       = 12 // text: length (uvarint) and bytes
	itemToken     = 13 // text: 16 bytes in base64url without padding
	itemDecimal   = 14 // text: uvarint
	itemTime      = 15 // text: how far from the time before, see packedTimes
	itemOwner     = 16 // text: the row's owner
	itemTimedID   = 17 // text: "tx_" and 26 digits of wallet.TimedIDs in 17 bytes
	itemUserID    = 18 // text: "usr_" and such digits
	itemKeyID     = 19 // text: "key_" and such digits
	itemHashID    = 20 // text: "tx_" and 16 bytes in hexadecimal
	itemNumbers   = 21 // array: 32 numbers of one byte each
)

// memberNamed is the byte of a member that is not in the table: the length of its name (uvarint), the name, and an item follow.
const memberNamed = 255

// deepest is how many objects and arrays may lie in each other.
const deepest = 32

// shortener writes JSON as items.
type shortener struct {
	out   []byte
	owner string
	times packedTimes
	depth int
}

// shorten returns the items of JSON that encoding/json wrote; ok is false for other texts.
func shorten(plain []byte, owner wallet.UserID) (short []byte, ok bool) {
	s := &shortener{out: make([]byte, 0, len(plain)), owner: string(owner)}
	rest, ok := s.value(plain)
	return s.out, ok && len(rest) == 0
}

// value writes the value at the front of plain, and returns what is behind it.
func (s *shortener) value(plain []byte) (rest []byte, ok bool) {
	if len(plain) == 0 {
		return nil, false
	}
	switch plain[0] {
	case '{':
		return s.list(plain, itemObject, '}', s.member)
	case '[':
		if raw, size := numbers32(plain); size > 0 {
			s.out = append(append(s.out, itemNumbers), raw[:]...)
			return plain[size:], true
		}
		return s.list(plain, itemArray, ']', s.value)
	case '"':
		end := stringEnd(plain)
		if end < 2 || plain[end-1] != '"' {
			return nil, false
		}
		s.text(string(plain[1 : end-1]))
		return plain[end:], true
	}
	end := 0
	for end < len(plain) && strings.IndexByte(",]}", plain[end]) < 0 {
		end++
	}
	s.word(string(plain[:end]))
	return plain[end:], end > 0
}

// list writes an object or an array, whose parts `part` writes.
func (s *shortener) list(plain []byte, item, closing byte, part func([]byte) ([]byte, bool)) (rest []byte, ok bool) {
	if s.depth++; s.depth > deepest {
		return nil, false
	}
	defer func() { s.depth-- }()
	s.out = append(s.out, item)
	plain = plain[1:]
	for first := true; len(plain) > 0; first = false {
		if plain[0] == closing {
			s.out = append(s.out, itemEnd)
			return plain[1:], true
		}
		if !first {
			if plain[0] != ',' {
				return nil, false
			}
			plain = plain[1:]
		}
		if plain, ok = part(plain); !ok {
			return nil, false
		}
	}
	return nil, false
}

// member writes a name with its value: as one byte if the table has both, as one byte and the content of the item if it has the
// name with this kind of item, and so on.
func (s *shortener) member(plain []byte) (rest []byte, ok bool) {
	end := stringEnd(plain)
	if end < 2 || plain[0] != '"' || end >= len(plain) || plain[end] != ':' {
		return nil, false
	}
	name, value, table := string(plain[1:end-1]), plain[end+1:], packedMembers()
	at := len(s.out)
	code, known := table.named[name]
	if !known {
		s.out = binary.AppendUvarint(append(s.out, memberNamed), uint64(len(name)))
		s.out = append(s.out, name...)
		return s.value(value)
	}
	s.out = append(s.out, code)
	if rest, ok = s.value(value); !ok {
		return nil, false
	}
	if whole, is := table.whole[string(plain[:len(plain)-len(rest)])]; is {
		s.out = append(s.out[:at], whole)
	} else if typed, is := table.typed[typedName{name, s.out[at+1]}]; is {
		s.out = append(append(s.out[:at], typed), s.out[at+2:]...)
	}
	return rest, true
}

// word writes a number, true, false or null.
func (s *shortener) word(text string) {
	switch text {
	case "true":
		s.out = append(s.out, itemTrue)
	case "false":
		s.out = append(s.out, itemFalse)
	case "null":
		s.out = append(s.out, itemNull)
	default:
		if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
			s.out = binary.AppendUvarint(append(s.out, itemNumber), n)
			return
		}
		s.bytes(itemOther, text)
	}
}

// bytes writes an item with a length.
func (s *shortener) bytes(item byte, content string) {
	s.out = append(binary.AppendUvarint(append(s.out, item), uint64(len(content))), content...)
}

// text writes a text, as bytes if it is the text of some.
func (s *shortener) text(text string) {
	if text != "" && text == s.owner {
		s.out = append(s.out, itemOwner)
		return
	}
	if s.id(text) || s.base58(text) || s.time(text) {
		return
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && strconv.FormatUint(n, 10) == text {
		s.out = binary.AppendUvarint(append(s.out, itemDecimal), n)
		return
	}
	if len(text) >= 16 && len(text)%2 == 0 {
		if raw, err := hex.DecodeString(text); err == nil && hex.EncodeToString(raw) == text {
			s.bytes(itemHex, string(raw))
			return
		}
	}
	if len(text) >= 8 && len(text)%4 == 0 {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil && base64.StdEncoding.EncodeToString(raw) == text {
			s.bytes(itemBase64, string(raw))
			return
		}
	}
	if len(text) == 22 {
		if raw, err := base64.RawURLEncoding.DecodeString(text); err == nil && base64.RawURLEncoding.EncodeToString(raw) == text {
			s.out = append(append(s.out, itemToken), raw...)
			return
		}
	}
	s.bytes(itemText, text)
}

// id writes an id of wallet.TimedIDs or wallet.ReceivedID.
func (s *shortener) id(text string) bool {
	prefix, digits, _ := strings.Cut(text, "_")
	var item byte
	switch prefix {
	case "tx":
		item = itemTimedID
	case "usr":
		item = itemUserID
	case "key":
		item = itemKeyID
	default:
		return false
	}
	if raw, ok := idBytes(digits); ok {
		s.out = append(append(s.out, item), raw[:]...)
		s.times.id(item, raw)
		return true
	}
	if raw, err := hex.DecodeString(digits); item == itemTimedID && err == nil && len(raw) == 16 && hex.EncodeToString(raw) == digits {
		s.out = append(append(s.out, itemHashID), raw...)
		return true
	}
	return false
}

// base58 writes an address or a signature.
func (s *shortener) base58(text string) bool {
	if size := len(text); size < 32 || size > 44 && size < 64 || size > 88 {
		return false
	}
	raw, err := base58.Decode(text)
	if err != nil || base58.Encode(raw) != text {
		return false
	}
	switch len(raw) {
	case 32:
		s.out = append(append(s.out, itemAddress), raw...)
	case 64:
		s.out = append(append(s.out, itemSignature), raw...)
	default:
		return false
	}
	return true
}

// time writes a time of RFC 3339 in UTC.
func (s *shortener) time(text string) bool {
	if len(text) < 20 || len(text) > 30 || text[len(text)-1] != 'Z' {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Format(time.RFC3339Nano) != text {
		return false
	}
	step, ok := s.times.step(at)
	if ok {
		s.out = binary.AppendUvarint(append(s.out, itemTime), step)
	}
	return ok
}

// lengthener undoes shorten.
type lengthener struct {
	in, out []byte
	owner   string
	times   packedTimes
	depth   int
	bad     bool // something was missing, or there is no such item
}

// lengthen returns the JSON of items. ErrDamaged: they are not items, or of more than maxPacked bytes.
func lengthen(short []byte, owner wallet.UserID) ([]byte, error) {
	l := &lengthener{in: short, out: make([]byte, 0, 3*len(short)), owner: string(owner)}
	l.item(l.next())
	if l.bad || len(l.in) > 0 || len(l.out) > maxPacked {
		return nil, fmt.Errorf("%w: a packed part is cut, or no part", store.ErrDamaged)
	}
	return l.out, nil
}

// next takes one byte, take several, number a uvarint, and sized so many bytes as a uvarint says. Without them they return nothing.
func (l *lengthener) next() byte {
	raw := l.take(1)
	if raw == nil {
		return itemEnd
	}
	return raw[0]
}

func (l *lengthener) take(size uint64) []byte {
	if size > uint64(len(l.in)) || len(l.out) > maxPacked {
		l.bad = true
		return nil
	}
	raw := l.in[:size]
	l.in = l.in[size:]
	return raw
}

func (l *lengthener) number() uint64 {
	n, size := binary.Uvarint(l.in)
	if size <= 0 {
		l.bad = true
		return 0
	}
	l.in = l.in[size:]
	return n
}

func (l *lengthener) sized() []byte { return l.take(l.number()) }

// item reads the content of an item.
func (l *lengthener) item(item byte) {
	switch item {
	case itemObject:
		l.list('{', '}', l.member)
	case itemArray:
		l.list('[', ']', l.item)
	case itemTrue:
		l.out = append(l.out, "true"...)
	case itemFalse:
		l.out = append(l.out, "false"...)
	case itemNull:
		l.out = append(l.out, "null"...)
	case itemNumber:
		l.out = strconv.AppendUint(l.out, l.number(), 10)
	case itemOther:
		l.out = append(l.out, l.sized()...)
	case itemNumbers:
		for i, n := range l.take(32) {
			l.out = strconv.AppendUint(append(l.out, "[,"[min(i, 1)]), uint64(n), 10)
		}
		l.out = append(l.out, ']')
	default:
		l.out = append(l.out, '"')
		l.text(item)
		l.out = append(l.out, '"')
	}
}

// text reads the content of an item that is a text.
func (l *lengthener) text(item byte) {
	switch item {
	case itemText:
		l.out = append(l.out, l.sized()...)
	case itemAddress:
		l.out = append(l.out, base58.Encode(l.take(32))...)
	case itemSignature:
		l.out = append(l.out, base58.Encode(l.take(64))...)
	case itemBase64:
		l.out = base64.StdEncoding.AppendEncode(l.out, l.sized())
	case itemHex:
		l.out = hex.AppendEncode(l.out, l.sized())
	case itemToken:
		l.out = base64.RawURLEncoding.AppendEncode(l.out, l.take(16))
	case itemDecimal:
		l.out = strconv.AppendUint(l.out, l.number(), 10)
	case itemTime:
		l.out = l.times.at(l.number()).AppendFormat(l.out, time.RFC3339Nano)
	case itemOwner:
		l.out = append(l.out, l.owner...)
	case itemHashID:
		l.out = hex.AppendEncode(append(l.out, "tx_"...), l.take(16))
	case itemTimedID:
		l.id("tx_", item)
	case itemUserID:
		l.id("usr_", item)
	case itemKeyID:
		l.id("key_", item)
	default:
		l.bad = true
	}
}

// id reads the digits of an id.
func (l *lengthener) id(prefix string, item byte) {
	if raw := l.take(idSize); raw != nil {
		l.out = append(append(l.out, prefix...), idDigits([idSize]byte(raw))...)
		l.times.id(item, [idSize]byte(raw))
	}
}

// list reads an object or an array, whose parts `part` reads.
func (l *lengthener) list(opening, closing byte, part func(byte)) {
	if l.depth++; l.depth > deepest {
		l.bad = true
		return
	}
	defer func() { l.depth-- }()
	l.out = append(l.out, opening)
	for first := true; !l.bad; first = false {
		code := l.next()
		if code == itemEnd {
			break
		}
		if !first {
			l.out = append(l.out, ',')
		}
		part(code)
	}
	l.out = append(l.out, closing)
}

// member reads a member of an object.
func (l *lengthener) member(code byte) {
	if code == memberNamed {
		l.out = append(append(append(l.out, '"'), l.sized()...), '"', ':')
		l.item(l.next())
		return
	}
	table := packedMembers()
	if int(code) > len(table.all) {
		l.bad = true
		return
	}
	m := table.all[code-1]
	l.out = append(append(append(l.out, '"'), m.name...), '"', ':')
	switch {
	case m.value != "":
		l.out = append(l.out, m.value...)
	case m.item != 0:
		l.item(m.item)
	default:
		l.item(l.next())
	}
}

// stringEnd returns the length of the JSON string at the front of plain, with its quotes.
func stringEnd(plain []byte) int {
	for i := 1; i < len(plain); i++ {
		switch plain[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(plain)
}

// numbers32 reads a JSON array of exactly 32 numbers of a byte at the front of plain, as encoding/json writes one. size is
// its length, 0 if there is none.
func numbers32(plain []byte) (raw [32]byte, size int) {
	at := 1
	for i := range raw {
		digits := at
		for at < len(plain) && at-digits < 4 && plain[at] >= '0' && plain[at] <= '9' {
			at++
		}
		n, err := strconv.ParseUint(string(plain[digits:at]), 10, 8)
		if err != nil || at >= len(plain) || plain[digits] == '0' && at-digits > 1 {
			return raw, 0
		}
		want := byte(',')
		if i == len(raw)-1 {
			want = ']'
		}
		if plain[at] != want {
			return raw, 0
		}
		raw[i] = byte(n)
		at++
	}
	return raw, at
}
