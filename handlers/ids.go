package handlers

import (
	"fmt"
	"io"
)

// IDs makes opaque identifiers with the given prefix ("tx", "usr", "key").
type IDs func(prefix string) string

// TimedIDs makes identifiers of their time (milliseconds since 1970, 45 bits) and 85 random bits, in base32hex
// (RFC 4648 §7), whose text has the order of its values: what is made together lies together in the store, and is
// written together.
func TimedIDs(now Clock, random io.Reader) IDs {
	const (
		digits = "0123456789abcdefghijklmnopqrstuv"
		timed  = 9
	)
	return func(prefix string) string {
		var id [26]byte
		if _, err := io.ReadFull(random, id[timed:]); err != nil {
			panic(fmt.Sprintf("no randomness: %v", err)) // crypto/rand's Reader ends the program itself instead
		}
		for i := timed; i < len(id); i++ {
			id[i] = digits[id[i]%32]
		}
		for i, at := timed-1, now().UnixMilli(); i >= 0; i, at = i-1, at>>5 {
			id[i] = digits[at&31]
		}
		return prefix + "_" + string(id[:])
	}
}
