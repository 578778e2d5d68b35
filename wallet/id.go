package wallet

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// idDigits is base32hex (RFC 4648 §7), whose text has the order of its values.
const idDigits = "0123456789abcdefghijklmnopqrstuv"

// What follows the prefix of an id: its time, then chance.
const (
	idTime   = 9
	idLength = 26
)

// TimedIDs makes identifiers: a prefix ("tx"), _, and 26 digits of base32hex, which are milliseconds since 1970
// (45 bits) and 85 random bits. What is made together lies together in the store, and is written together. An id
// tells when it was made, and proves nothing. random is read by several goroutines at once.
func TimedIDs(now func() time.Time, random io.Reader) func(prefix string) string {
	return func(prefix string) string {
		var id [idLength]byte
		if _, err := io.ReadFull(random, id[idTime:]); err != nil {
			panic(fmt.Sprintf("no randomness: %v", err)) // crypto/rand's Reader ends the program itself instead
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

// IDTime is the time in an id of TimedIDs behind its prefix, in the order of time; not ok for another id. Ids of
// purser's first weeks have as many digits and no time: none of theirs is a 0 or 1, with which every timed one
// begins until the year 2039 (2^41 ms).
func IDTime(id string) (digits string, ok bool) {
	_, rest, _ := strings.Cut(id, "_")
	if len(rest) != idLength || rest[0] != '0' && rest[0] != '1' || strings.Trim(rest, idDigits) != "" {
		return "", false
	}
	return rest[:idTime], true
}
