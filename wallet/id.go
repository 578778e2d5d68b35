package wallet

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// idDigits is base32hex (RFC 4648 §7), whose text has the order of its values.
const idDigits = "0123456789abcdefghijklmnopqrstuv"

// The parts of an ID behind its prefix: characters of time, and of the whole.
const (
	idTime   = 9
	idLength = 26
)

// TimedIDs returns a function that makes IDs: a prefix such as "tx", an underscore, and 26 base32hex digits. These encode
// 45 bits of milliseconds since 1970 and 85 random bits. IDs sort by time, so rows created together are stored together.
// An ID reveals when it was made. It authorizes nothing. random must be safe for concurrent use.
func TimedIDs(now func() time.Time, random io.Reader) func(prefix string) string {
	return func(prefix string) string {
		var id [idLength]byte
		if _, err := io.ReadFull(random, id[idTime:]); err != nil {
			panic(fmt.Sprintf("no randomness: %v", err)) // crypto/rand never returns an error: it crashes the program itself
		}
		for i := idTime; i < len(id); i++ {
			id[i] = idDigits[id[i]%32]
		}
		for i, at := idTime-1, now().UnixMilli(); i >= 0; i, at = i-1, at>>5 {
			id[i] = idDigits[at&31]
		}
		return prefix + "_" + string(id[:])
	}
}

// Batched returns a source of randomness that reads from random in batches, since each call of the operating system costs
// more than an ID. No byte is given out twice. Any number of goroutines may use it. It is for IDs: what is still to be given
// out lies in memory, as no secret should.
func Batched(random io.Reader) io.Reader { return &batched{random: random} }

// batched is the source that Batched returns.
type batched struct {
	random io.Reader

	mu    sync.Mutex // guards what follows
	batch [64 * (idLength - idTime)]byte
	left  []byte // the end of batch
}

// Read implements io.Reader.
func (b *batched) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) == 0 {
		if _, err := io.ReadFull(b.random, b.batch[:]); err != nil {
			return 0, err
		}
		b.left = b.batch[:]
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// IDTime returns the time digits of an ID of TimedIDs; they sort by time. It returns false for other IDs. Old IDs are as
// long but have no time: none begins with 0 or 1, as every timed ID does until the year 2039 (2^41 ms).
func IDTime(id string) (digits string, ok bool) {
	_, rest, _ := strings.Cut(id, "_")
	if len(rest) != idLength || rest[0] != '0' && rest[0] != '1' || strings.Trim(rest, idDigits) != "" {
		return "", false
	}
	return rest[:idTime], true
}
