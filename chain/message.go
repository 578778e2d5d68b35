package chain

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"purser/wallet"
)

// Programs that the decoder knows. The System program is wallet.SystemProgram.
var (
	memoProgram          = wallet.MustAddress("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	memoProgramV1        = wallet.MustAddress("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo") // only read, in others' payments
	memoProgramV4        = wallet.MustAddress("Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH")
	computeBudgetProgram = wallet.MustAddress("ComputeBudget111111111111111111111111111111")
)

const (
	// packetSize is the most bytes of a legacy or version 0 transaction on the wire (Solana's PACKET_DATA_SIZE).
	packetSize = 1232
	// messageSize is what a packet leaves for a message with one signature.
	messageSize = packetSize - signedAt
	// signedAt is the offset of the message in a transaction of one signature: a count of one byte, then 64 bytes.
	signedAt = 1 + 64
	// packetSizeV1 is the same bound for version 1 (SIMD-0385). The other three bound what such a transaction contains.
	packetSizeV1      = 4096
	maxKeysV1         = 64
	maxSignaturesV1   = 12
	maxInstructionsV1 = 64
	// maxAccounts is how many accounts an index of one byte can name.
	maxAccounts = 256
)

// message is the structure of a transaction message (legacy, v0 or v1). Its slices point into the bytes that were read.
type message struct {
	version          string           // "legacy", "v0" or "v1"
	signers          int              // the first keys sign, so many
	readonlySigned   int              // of these, how many at the end are read-only
	readonlyUnsigned int              // of the other keys, how many at the end are read-only
	keys             []wallet.Address // static accounts, without those of lookup tables; keys[0] pays the fee
	blockhashAt      int              // offset of the blockhash in the bytes, where it is replaced
	blockhash        [32]byte
	instructions     []instruction
	lookups          []lookup
}

// instruction names its program and its accounts by their index in keys, behind which those of lookup tables follow.
type instruction struct {
	program  byte
	accounts []byte
	data     []byte
}

// lookup takes accounts from an address lookup table (v0).
type lookup struct {
	table              wallet.Address
	writable, readonly []byte
}

// parse reads a message strictly: steps 1 and 2 of the order in signer/page/decode.js. Lookup tables and several
// signers are accepted: Decode decides what may be signed. Errors are *NotAllowed.
func parse(raw []byte) (*message, error) {
	m, err := structure(raw)
	if err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// structure reads the parts of a message without comparing them with each other. A message that the chain has accepted
// must not be unreadable here for being untidy. An index may point to nothing.
func structure(raw []byte) (*message, error) {
	if len(raw) > messageSize {
		return nil, refuse(TooLarge, "more bytes than a transaction can have")
	}
	r := &reader{rest: raw}
	m := &message{version: "legacy"}
	// A first byte of 128 or more is the version; otherwise it belongs to the header.
	first := r.byte()
	if first >= 0x80 {
		if first != 0x80 {
			return nil, refuse(Malformed, "unknown message version")
		}
		m.version = "v0"
		first = r.byte()
	}
	m.signers, m.readonlySigned, m.readonlyUnsigned = int(first), int(r.byte()), int(r.byte())

	for range r.count(32) {
		m.keys = append(m.keys, wallet.Address(r.take(32)))
	}
	m.blockhashAt = len(raw) - len(r.rest)
	m.blockhash = [32]byte(r.take(32))
	for range r.count(3) {
		m.instructions = append(m.instructions, instruction{
			program:  r.byte(),
			accounts: r.take(r.count(1)),
			data:     r.take(r.count(1)),
		})
	}
	if m.version == "v0" {
		for range r.count(34) {
			m.lookups = append(m.lookups, lookup{
				table:    wallet.Address(r.take(32)),
				writable: r.take(r.count(1)),
				readonly: r.take(r.count(1)),
			})
		}
	}
	if r.failed || len(r.rest) > 0 {
		return nil, refuse(Malformed, "it ends too early, too late, or holds a bad count")
	}
	return m, nil
}

// structureV1 reads the parts of a version 1 message, and returns where it ends:
//
//	0x81 | header 3×u8 | config mask u32 | blockhash 32 | instructions u8 | addresses u8 | addresses
//	| config values, 4 bytes for each bit of the mask | for each instruction: program u8, accounts u8,
//	data u16 | for each instruction: its accounts, its data
//
// Numbers are little endian. There are no lookup tables. The configuration only concerns the network, and is skipped.
func structureV1(wire []byte) (m *message, end int, err error) {
	r := &reader{rest: wire}
	m = &message{version: "v1"}
	if r.byte() != wallet.MessageV1Prefix {
		return nil, 0, refuse(Version, "a version that is not read here")
	}
	m.signers, m.readonlySigned, m.readonlyUnsigned = int(r.byte()), int(r.byte()), int(r.byte())
	mask := binary.LittleEndian.Uint32(r.take(4))
	m.blockhashAt = len(wire) - len(r.rest)
	m.blockhash = [32]byte(r.take(32))
	instructions, keys := int(r.byte()), int(r.byte())
	if r.failed || m.signers > maxSignaturesV1 || keys > maxKeysV1 || instructions > maxInstructionsV1 {
		return nil, 0, refuse(Malformed, "it ends too early, or holds more than it may")
	}
	for range keys {
		m.keys = append(m.keys, wallet.Address(r.take(32)))
	}
	r.take(4 * bits.OnesCount32(mask))
	m.instructions = make([]instruction, instructions)
	lengths := make([][2]int, instructions)
	for i := range m.instructions {
		m.instructions[i].program = r.byte()
		lengths[i] = [2]int{int(r.byte()), int(binary.LittleEndian.Uint16(r.take(2)))}
	}
	for i := range m.instructions {
		m.instructions[i].accounts, m.instructions[i].data = r.take(lengths[i][0]), r.take(lengths[i][1])
	}
	if r.failed {
		return nil, 0, refuse(Malformed, "it ends too early")
	}
	return m, len(wire) - len(r.rest), nil
}

// check compares the parts of a message with each other: header, accounts and indexes.
func (m *message) check() error {
	if m.signers < 1 || m.readonlySigned >= m.signers || m.signers+m.readonlyUnsigned > len(m.keys) {
		return refuse(Malformed, "impossible header")
	}
	// No account twice.
	seen := make(map[wallet.Address]bool, len(m.keys))
	for _, key := range m.keys {
		if seen[key] {
			return refuse(Malformed, "an account is listed twice")
		}
		seen[key] = true
	}
	// Not too many accounts, those of lookup tables included.
	total := len(m.keys)
	for _, l := range m.lookups {
		if len(l.writable)+len(l.readonly) == 0 {
			return refuse(Malformed, "an empty lookup table")
		}
		total += len(l.writable) + len(l.readonly)
	}
	if total > maxAccounts {
		return refuse(Malformed, "too many accounts")
	}
	// Every index names an account, and every account is used. The fee payer always is.
	var used [maxAccounts]bool
	used[0] = true
	for _, in := range m.instructions {
		if in.program == 0 || int(in.program) >= len(m.keys) {
			return refuse(Malformed, "no such program")
		}
		used[in.program] = true
		for _, index := range in.accounts {
			if int(index) >= total {
				return refuse(Malformed, "no such account")
			}
			used[index] = true
		}
	}
	for index := range m.keys {
		if !used[index] {
			return refuse(Malformed, "an account that nothing uses")
		}
	}
	return nil
}

// program is the address of the program that an instruction calls. The index must be in range, as after parse.
func (m *message) program(in instruction) wallet.Address { return m.keys[in.program] }

// calls tells whether an instruction calls a program.
func (m *message) calls(program wallet.Address) bool {
	return slices.ContainsFunc(m.instructions, func(in instruction) bool {
		key, ok := m.key(in.program)
		return ok && key == program
	})
}

// maxCreated is how many token accounts a message may create: a swap needs one for each side.
func (m *message) maxCreated() int {
	if m.calls(wallet.SwapProgram) {
		return 2
	}
	return 1
}

// lookedUp is where an account beyond the static keys comes from: the number of its table, its index there, and whether it is
// writable. Writable ones come first, of all tables. The index must be in range, as after parse.
func (m *message) lookedUp(index byte) (table, at byte, writable bool) {
	rest := int(index) - len(m.keys)
	for _, writable := range []bool{true, false} {
		for i, l := range m.lookups {
			list := l.readonly
			if writable {
				list = l.writable
			}
			if rest < len(list) {
				return byte(i), list[rest], writable
			}
			rest -= len(list)
		}
	}
	return 0, 0, false
}

// looksUp tells whether one of these accounts comes from a lookup table.
func (m *message) looksUp(accounts []byte) bool {
	return slices.ContainsFunc(accounts, func(index byte) bool { return int(index) >= len(m.keys) })
}

// writable tells whether the message makes the static account at an index writable.
func (m *message) writable(index byte) bool {
	i := int(index)
	if i < m.signers {
		return i < m.signers-m.readonlySigned
	}
	return i < len(m.keys)-m.readonlyUnsigned
}

// key is the static account at an index; false for one from a lookup table, and for none.
func (m *message) key(index byte) (wallet.Address, bool) {
	if int(index) >= len(m.keys) {
		return wallet.Address{}, false
	}
	return m.keys[index], true
}

// reader reads bytes from front to back. Beyond the end it remembers the failure and returns zeros, so that its caller
// checks once, at the end.
type reader struct {
	rest   []byte
	failed bool
}

// take cuts off the next n bytes, without spare capacity.
func (r *reader) take(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return make([]byte, n)
	}
	taken := r.rest[:n:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *reader) byte() byte { return r.take(1)[0] }

// count reads a compact-u16 in its shortest form: 7 bits a byte, lowest first, at most 3 bytes. It fails at once if
// more things of size bytes are announced than can follow: a stranger's number allocates nothing.
func (r *reader) count(size int) int {
	value := 0
	for shift := 0; shift <= 14; shift += 7 {
		b := r.byte()
		value |= int(b&0x7f) << shift
		if b < 0x80 {
			if value > 0xffff || b == 0 && shift > 0 || value*size > len(r.rest) {
				break
			}
			return value
		}
	}
	r.failed, r.rest = true, nil
	return 0
}
