package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// timeSize is the length of a time in a key, in bytes: 8 of seconds, 4 of nanoseconds.
const timeSize = 12

// timeKey encodes a time so that byte order is time order, for every time that Go can hold. The time zone is lost.
func timeKey(t time.Time) []byte {
	return appendTime(make([]byte, 0, timeSize+64), t) // room for what the caller appends
}

// appendTime appends to out what timeKey writes.
func appendTime(out []byte, t time.Time) []byte {
	// Flipping the sign bit puts the years before 1970 first.
	out = binary.BigEndian.AppendUint64(out, uint64(t.Unix())^(1<<63))
	return binary.BigEndian.AppendUint32(out, uint32(t.Nanosecond()))
}

// keyTime reads the time at the front of a key, in UTC. ErrDamaged: there are fewer than 12 bytes.
func keyTime(key []byte) (time.Time, error) {
	if len(key) < timeSize {
		return time.Time{}, fmt.Errorf("%w: a time of %d bytes", store.ErrDamaged, len(key))
	}
	seconds := int64(binary.BigEndian.Uint64(key) ^ (1 << 63))
	return time.Unix(seconds, int64(binary.BigEndian.Uint32(key[8:]))).UTC(), nil
}

// numberKey writes a number in 8 bytes so that byte order is numeric order.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// keyNumber reads what numberKey wrote. ErrDamaged: there are not 8 bytes.
func keyNumber(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("%w: a number of %d bytes", store.ErrDamaged, len(key))
	}
	return binary.BigEndian.Uint64(key), nil
}

// join makes one key of several parts. Each part but the last must have a fixed size, or end in a byte that it cannot
// contain elsewhere. Otherwise two different lists of parts could give the same key.
func join(parts ...[]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	out := make([]byte, 0, size)
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

// maxID is the longest id that a row may have, in bytes.
const maxID = 256

// checkID refuses an id that is empty, too long, or holds a zero byte, which ends an id in keys of several parts.
func checkID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("store: an id has 1 to %d bytes, not %d", maxID, len(id))
	}
	for i := range len(id) {
		if id[i] == 0 {
			return errors.New("store: an id has no zero byte")
		}
	}
	return nil
}

// userPrefix begins the keys of everything that belongs to a user. For "" it is a bare zero byte: the operator's.
func userPrefix(id wallet.UserID) []byte { return append([]byte(id), 0) }
