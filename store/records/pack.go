package records

import (
	"bytes"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// How the plain part of a row takes less room once the row does not change any more (decisions/0058). Nothing is lost: unpack
// returns the same JSON, to the byte. Two steps:
//
//   - JSON becomes short items: a known name is one byte, and texts of bytes, ids, times and numbers become bytes (packjson.go)
//   - What stood before is not written again: the signed transaction repeats the message, and that the addresses (packrepeats.go)
//
// A packed part begins with its form, and JSON with a brace.

// packedForm is the first byte of a packed part: the version of what stands in packjson.go and packrepeats.go, their tables
// included. firstForm is that of rows from before schema 2, which are only read (packfirst.go).
const (
	firstForm  = 1
	packedForm = 2
)

// maxPacked bounds what unpack makes of a part, in bytes: a row is never as long.
const maxPacked = 1 << 20

// pack returns a plain part in its packed form, or as it is if that is not shorter. owner is the row's: JSON that names the
// owner again need not spell it out.
func pack(plain []byte, owner wallet.UserID) []byte {
	short, ok := shorten(plain, owner)
	if !ok {
		return plain
	}
	out := appendRepeats(append(make([]byte, 0, len(plain)/2), packedForm), short)
	if len(out) >= len(plain) {
		return plain
	}
	// This row records money, and its JSON is not available again after this: check that it can be restored.
	if back, err := unpack(out, owner); err != nil || !bytes.Equal(back, plain) {
		return plain
	}
	return out
}

// unpacked returns the JSON of a part, packed or not. owner is the row's.
func unpacked(part []byte, owner wallet.UserID) ([]byte, error) {
	if !isPacked(part) {
		return part, nil
	}
	return unpack(part, owner)
}

// isPacked tells whether a part has a form that pack makes, or made. JSON begins with a brace.
func isPacked(part []byte) bool {
	return len(part) > 0 && (part[0] == packedForm || part[0] == firstForm)
}

// unpack returns the plain part that was packed. It returns ErrDamaged if the part is not packed, or does not decode.
func unpack(packed []byte, owner wallet.UserID) ([]byte, error) {
	if !isPacked(packed) {
		return nil, fmt.Errorf("%w: not packed", store.ErrDamaged)
	}
	if packed[0] == firstForm {
		return unpackFirst(packed[1:])
	}
	short, err := expandRepeats(packed[1:])
	if err != nil {
		return nil, err
	}
	return lengthen(short, owner)
}
