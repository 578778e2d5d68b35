package solana

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// maxPacket is the maximum size in bytes of a serialized legacy or version 0 transaction (PACKET_DATA_SIZE).
const maxPacket = 1232

// transaction is a parsed wire transaction. Its byte slices point into Wire. It is not changed after parsing, so the
// queue and the history share it.
type transaction struct {
	Wire       []byte
	Signatures []signature
	message
}

// message is the part of a transaction that the signatures cover. Keys are ordered: writable signers, read-only
// signers, other writable accounts, other read-only accounts, then the keys from lookup tables.
type message struct {
	Raw          []byte
	Versioned    bool // false: a legacy message
	Version      int  // 0 or 1; only if Versioned
	Required     int  // number of keys that must sign; they come first
	ReadSigned   int  // how many of the signing keys are read-only; the last ones are
	ReadUnsigned int  // how many of the other keys are read-only; the last ones are
	Keys         []address
	Blockhash    hash
	Instructions []instruction
	Lookups      []lookup      // version 0 only
	Config       messageConfig // version 1 only

	static int // number of keys in the message itself; 0 before lookups, when that is all of them
	loaded int // number of writable keys from lookup tables; they come before the read-only ones
}

// instruction names its program and accounts by their indexes in the message's keys.
type instruction struct {
	Program  int
	Accounts []byte
	Data     []byte
}

// lookup names accounts by their indexes in an address lookup table.
type lookup struct {
	Table    address
	Writable []byte
	Readonly []byte
}

// Signature is the first signature, which identifies the transaction.
func (t *transaction) Signature() signature { return t.Signatures[0] }

// Hash identifies the message. Duplicates are recognised by it, because one message can have several valid
// signatures.
func (m *message) Hash() hash { return sha256.Sum256(m.Raw) }

func (m *message) signer(i int) bool { return i < m.Required }

// writable says whether account i may change. Reserved accounts, and accounts that are called as programs, are
// read-only whatever the header says. The exception is a message that includes the upgradeable loader, which upgrades
// programs.
func (m *message) writable(i int) bool {
	switch own := m.own(); {
	case i < m.Required:
		if i >= m.Required-m.ReadSigned {
			return false
		}
	case i < own:
		if i >= own-m.ReadUnsigned {
			return false
		}
	case i >= own+m.loaded:
		return false
	}
	if reserved[m.Keys[i]] {
		return false
	}
	return !m.calls(i) || m.has(loaderV3)
}

// own is how many keys are in the message itself, without those from lookup tables.
func (m *message) own() int {
	if m.static > 0 {
		return m.static
	}
	return len(m.Keys)
}

// with returns a copy of the transaction that also has the keys from its lookup tables.
func (t *transaction) with(writable, readonly []address) *transaction {
	full := *t
	full.static, full.loaded = len(t.Keys), len(writable)
	full.Keys = append(append(append([]address(nil), t.Keys...), writable...), readonly...)
	return &full
}

// calls says whether an instruction calls account i as a program.
func (m *message) calls(i int) bool {
	for _, ix := range m.Instructions {
		if ix.Program == i {
			return true
		}
	}
	return false
}

// has says whether the key is among the accounts.
func (m *message) has(key address) bool {
	for _, k := range m.Keys {
		if k == key {
			return true
		}
	}
	return false
}

// signed verifies all signatures. It needs a sanitized transaction, which has a key for each signature.
func (t *transaction) signed() bool {
	for i, sig := range t.Signatures {
		if !verifySignature(t.Keys[i], t.Raw, sig) {
			return false
		}
	}
	return true
}

// parseTransaction parses exactly one serialized transaction (legacy, version 0 or 1). Trailing bytes are an error.
// The result still has to be sanitized before its indexes can be trusted.
func parseTransaction(wire []byte) (*transaction, error) {
	if len(wire) > 0 && wire[0] == v1Prefix {
		return parseV1(wire)
	}
	if len(wire) > maxPacket {
		return nil, fmt.Errorf("too large: %d bytes (max: %d bytes)", len(wire), maxPacket)
	}
	r := &reader{rest: wire}
	tx := &transaction{Wire: wire}
	// Signatures come first, in the order of the signing keys.
	for range r.length(64) {
		tx.Signatures = append(tx.Signatures, signature(r.take(64)))
	}
	if r.err != nil {
		return nil, r.err
	}
	msg, err := parseMessage(r.rest)
	if err != nil {
		return nil, err
	}
	if msg.Version == 1 {
		return nil, errors.New("invalid message version")
	}
	tx.message = *msg
	return tx, nil
}

// parseMessage parses exactly one serialized message. The message of a transaction without signatures has the same
// form.
func parseMessage(raw []byte) (*message, error) {
	if len(raw) > 0 && raw[0] == v1Prefix {
		r := &reader{rest: raw}
		m := r.messageV1()
		m.Raw = raw
		return m, r.end()
	}
	r := &reader{rest: raw}
	m := &message{Raw: raw}
	first := r.byte()
	// A set top bit marks a versioned message. Legacy messages begin with the number of signatures, which is smaller.
	if first&0x80 != 0 {
		if version := first & 0x7f; version != 0 {
			return nil, fmt.Errorf("invalid value: integer `%d`, expected a message version of 0 or 1", version)
		}
		m.Versioned = true
		first = r.byte()
	}
	m.Required, m.ReadSigned, m.ReadUnsigned = int(first), int(r.byte()), int(r.byte())
	for range r.length(32) {
		m.Keys = append(m.Keys, address(r.take(32)))
	}
	m.Blockhash = hash(r.take(32))
	for range r.length(3) {
		ix := instruction{Program: int(r.byte())}
		ix.Accounts = r.take(r.length(1))
		ix.Data = r.take(r.length(1))
		m.Instructions = append(m.Instructions, ix)
	}
	if m.Versioned {
		for range r.length(34) {
			l := lookup{Table: address(r.take(32))}
			l.Writable = r.take(r.length(1))
			l.Readonly = r.take(r.length(1))
			m.Lookups = append(m.Lookups, l)
		}
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return m, nil
}

// maxInstructions is the maximum number of instructions in a transaction (SIMD-0160).
const maxInstructions = 64

// sanitize applies the structural rules of Agave's Message::sanitize and VersionedTransaction::sanitize. It returns
// nil if all indexes and counts are valid.
func (t *transaction) sanitize() *TransactionError {
	if len(t.Signatures) != t.Required || !t.message.sound() {
		return &TransactionError{Name: "SanitizeFailure"}
	}
	return nil
}

// sound applies the rules for the message. total includes the keys that lookup tables will give.
func (m *message) sound() bool {
	if m.Version == 1 && !m.soundV1() {
		return false
	}
	// There is at least one writable signer, the fee payer.
	if m.Required+m.ReadUnsigned > len(m.Keys) || m.ReadSigned >= m.Required {
		return false
	}
	total := len(m.Keys)
	for _, l := range m.Lookups {
		if len(l.Writable)+len(l.Readonly) == 0 {
			return false
		}
		total += len(l.Writable) + len(l.Readonly)
	}
	// Accounts are indexed by one byte.
	if total > 256 || len(m.Instructions) > maxInstructions {
		return false
	}
	for _, ix := range m.Instructions {
		if ix.Program == 0 || ix.Program >= len(m.Keys) {
			return false // the fee payer is never a program
		}
		for _, i := range ix.Accounts {
			if int(i) >= total {
				return false
			}
		}
	}
	return true
}

// repeats says whether a key occurs twice. Sanitizing allows that, but execution does not.
func (m *message) repeats() bool {
	seen := make(map[address]bool, len(m.Keys))
	for _, k := range m.Keys {
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

// reader takes bytes from the front. Once bytes are missing it returns zeros and keeps the first error, so that
// parsers check err once.
type reader struct {
	rest []byte
	err  error
}

// errEnded is Agave's text for a message that is too short.
var errEnded = errors.New("io error: unexpected end of file")

// take returns the next n bytes, and after an error n zeros, so that callers can index the result.
func (r *reader) take(n int) []byte {
	if r.err == nil && n > len(r.rest) {
		r.err = errEnded
	}
	if r.err != nil {
		return make([]byte, n)
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// end returns the reader's error, or an error if bytes are left.
func (r *reader) end() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = errors.New("bytes after the end of the message")
	}
	return r.err
}

func (r *reader) byte() byte { return r.take(1)[0] }

// length reads a compact-u16 (short_vec), which counts items of at least size bytes each. It refuses encodings that
// are longer than necessary, and counts that the remaining bytes cannot hold, so that no huge slice is allocated.
func (r *reader) length(size int) int {
	n := 0
	for i := 0; i < 3; i++ {
		b := r.byte()
		// Seven bits a byte, lowest first, in at most three bytes.
		n |= int(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		if i > 0 && b == 0 || n > 0xffff {
			break
		}
		if r.err == nil && n*size > len(r.rest) {
			r.err = errEnded
		}
		if r.err != nil {
			return 0
		}
		return n
	}
	if r.err == nil {
		r.err = errors.New("invalid compact-u16 length")
	}
	return 0
}
