package solana

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
)

// person is a key for tests, made from its name.
func person(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("person " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func addressOf(name string) address { return keyOf(person(name)) }

// meta is an account of a test's instruction: a letter for what it may do ("s" signs, "w" is
// written, "sw" both, "" neither).
type meta struct {
	key  address
	flag string
}

type call struct {
	program address
	metas   []meta
	data    []byte
}

// draft is a transaction under construction in a test. It is compiled as wallets do: payer first,
// then signers and writers by rank.
type draft struct {
	payer     string
	signers   []string // further persons whose keys sign
	calls     []call
	blockhash hash
	versioned bool
	config    *messageConfig      // makes it version 1
	mask      func(uint32) uint32 // spoils the config mask
	lookups   []byte              // serialized, for v0; nil means none
	message   func([]byte) []byte // spoils the message before it is signed
	wire      func([]byte) []byte // spoils the bytes after signing
}

func (d draft) bytes() []byte {
	type slot struct {
		key          address
		sign, writes bool
	}
	slots := []slot{{addressOf(d.payer), true, true}}
	find := func(key address) *slot {
		for i := range slots {
			if slots[i].key == key {
				return &slots[i]
			}
		}
		slots = append(slots, slot{key: key})
		return &slots[len(slots)-1]
	}
	for _, c := range d.calls {
		for _, m := range c.metas {
			s := find(m.key)
			for _, f := range m.flag {
				s.sign = s.sign || f == 's'
				s.writes = s.writes || f == 'w'
			}
		}
	}
	for _, c := range d.calls {
		find(c.program)
	}
	rank := func(s slot) int {
		r := 0
		if !s.sign {
			r += 2
		}
		if !s.writes {
			r++
		}
		return r
	}
	var ordered []slot
	var count [4]int
	for r := range 4 {
		for _, s := range slots {
			if rank(s) == r {
				ordered = append(ordered, s)
				count[r]++
			}
		}
	}
	index := map[address]byte{}
	var msg []byte
	if d.versioned {
		msg = append(msg, 0x80)
	}
	msg = append(msg, byte(count[0]+count[1]), byte(count[1]), byte(count[3]), byte(len(ordered)))
	for i, s := range ordered {
		index[s.key] = byte(i)
		msg = append(msg, s.key[:]...)
	}
	msg = append(msg, d.blockhash[:]...)
	msg = appendLength(msg, len(d.calls))
	for _, c := range d.calls {
		msg = append(msg, index[c.program])
		msg = appendLength(msg, len(c.metas))
		for _, m := range c.metas {
			msg = append(msg, index[m.key])
		}
		msg = appendLength(msg, len(c.data))
		msg = append(msg, c.data...)
	}
	if d.config != nil {
		at := func(key address) byte { return index[key] }
		var keys []address
		for _, s := range ordered {
			keys = append(keys, s.key)
		}
		msg = d.messageV1([3]byte{byte(count[0] + count[1]), byte(count[1]), byte(count[3])}, keys, at)
	} else if d.versioned {
		if d.lookups == nil {
			d.lookups = []byte{0}
		}
		msg = append(msg, d.lookups...)
	}
	if d.message != nil {
		msg = d.message(msg)
	}
	var wire []byte
	if d.config == nil {
		wire = append(wire, byte(count[0]+count[1]))
	} else {
		wire = msg
	}
	names := append([]string{d.payer}, d.signers...)
	for _, s := range ordered[:count[0]+count[1]] {
		sig := make([]byte, 64) // nobody signed for it
		for _, name := range names {
			if addressOf(name) == s.key {
				sig = ed25519.Sign(person(name), msg)
			}
		}
		wire = append(wire, sig...)
	}
	if d.config == nil {
		wire = append(wire, msg...)
	}
	if d.wire != nil {
		wire = d.wire(wire)
	}
	return wire
}

// messageV1 writes a version 1 message (SIMD-0385).
func (d draft) messageV1(header [3]byte, keys []address, at func(address) byte) []byte {
	le := binary.LittleEndian
	var mask uint32
	var values []byte
	if d.config.PriorityFee != nil {
		mask, values = mask|3, le.AppendUint64(values, *d.config.PriorityFee)
	}
	for i, v := range []*uint32{d.config.Units, d.config.LoadedData, d.config.Heap} {
		if v != nil {
			mask, values = mask|4<<i, le.AppendUint32(values, *v)
		}
	}
	if d.mask != nil {
		mask = d.mask(mask)
	}
	msg := append([]byte{0x81}, header[:]...)
	msg = le.AppendUint32(msg, mask)
	msg = append(msg, d.blockhash[:]...)
	msg = append(msg, byte(len(d.calls)), byte(len(keys)))
	for _, k := range keys {
		msg = append(msg, k[:]...)
	}
	msg = append(msg, values...)
	for _, c := range d.calls {
		msg = append(msg, at(c.program), byte(len(c.metas)))
		msg = le.AppendUint16(msg, uint16(len(c.data)))
	}
	for _, c := range d.calls {
		for _, m := range c.metas {
			msg = append(msg, at(m.key))
		}
		msg = append(msg, c.data...)
	}
	return msg
}

// v1Budget is a version 1 budget with so many compute units and room for every account.
func v1Budget(n uint32) *messageConfig {
	return &messageConfig{Units: &n, LoadedData: new(uint32(maxLoadedData))}
}

func appendLength(b []byte, n int) []byte {
	for n > 0x7f {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// pack writes System instruction data: integers in their width, texts with a u64 length.
func pack(values ...any) []byte {
	var b []byte
	for _, v := range values {
		switch v := v.(type) {
		case uint32:
			b = binary.LittleEndian.AppendUint32(b, v)
		case uint64:
			b = binary.LittleEndian.AppendUint64(b, v)
		case int:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case string:
			b = binary.LittleEndian.AppendUint64(b, uint64(len(v)))
			b = append(b, v...)
		case address:
			b = append(b, v[:]...)
		case byte:
			b = append(b, v)
		}
	}
	return b
}

func system(data []byte, metas ...meta) call { return call{systemProgram, metas, data} }

func transferTo(from, to address, lamports uint64) call {
	return system(pack(uint32(2), lamports), meta{from, "sw"}, meta{to, "w"})
}

func memoCall(program address, text string, metas ...meta) call {
	return call{program, metas, []byte(text)}
}

func unitLimit(n uint32) call { return call{budgetProgram, nil, pack(byte(2), n)} }

func unitPrice(n uint64) call { return call{budgetProgram, nil, pack(byte(3), n)} }

// rentMinimum is the least balance that the tests' rent allows.
func rentMinimum(size int) uint64 { return rentRate(DefaultLamportsPerByte).minimum(size) }

func seeded(base address, seed string, owner address) address {
	key, err := withSeed(base, seed, owner)
	if err != nil {
		panic(err)
	}
	return key
}
