package records

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"

	"purser/store"
)

// damageReports remembers which damaged rows this process has reported, so that a worker that meets the same row
// every second fills no log. A restart reports each once more. Any goroutine may use it.
type damageReports struct {
	mu       sync.Mutex
	reported map[string]bool // by table and key
}

// first records a row and returns true if it was not recorded before.
func (d *damageReports) first(where string, key []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := where + "/" + string(key)
	if d.reported[name] {
		return false
	}
	if d.reported == nil {
		d.reported = map[string]bool{}
	}
	d.reported[name] = true
	return true
}

// skipDamaged reports a row that cannot be read, for a list whose worker goes on without it. The row stays in the
// file, for an operator who restores a backup or sends the file for study. The report names the kind of err and never
// contains its text, which may quote the row.
func (t *tx) skipDamaged(b table, key []byte, err error) { t.store.skipDamaged(b.String(), key, err) }

// skipDamaged is tx.skipDamaged for code without a transaction. where is the name of a table, or of what a log holds.
func (s *Store) skipDamaged(where string, key []byte, err error) {
	if !s.damageReports.first(where, key) {
		return
	}
	why := "it cannot be decoded"
	if errors.Is(err, store.ErrUnsealed) {
		why = "it cannot be unsealed"
	}
	s.log.Error("a row of the store is damaged and passed over; it stays in the file: restore a backup to have it back",
		"table", where, "key", printableKey(key), "why", why)
}

// printableKey writes a key for the operator's log: an id as it is, a number as digits, everything else in
// hexadecimal. Keys hold no secrets (tables.go), so a log may contain them.
func printableKey(key []byte) string {
	text := string(key)
	if n, err := keyNumber(key); err == nil && key[0] == 0 {
		return strconv.FormatUint(n, 10)
	}
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return hex.EncodeToString(key)
	}
	return text
}
