package solana

import (
	"encoding/binary"
	"math"
	"sort"
)

// account is one account at one moment. Data is never changed in place: a change replaces it.
type account struct {
	Lamports   uint64
	Owner      address
	Data       []byte
	Executable bool
}

// exists tells an account from the emptiness that every other address holds.
func (a account) exists() bool { return a.Lamports > 0 }

// version is an account as it stood from the block of that height on.
type version struct {
	height uint64
	account
}

// state remembers each account's versions back to the last finalized one, oldest first, so that
// reads can be answered at any commitment level.
type state map[address][]version

// at reads an account as the block of the given height left it.
func (s state) at(key address, height uint64) account {
	versions := s[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].height <= height {
			return versions[i].account
		}
	}
	return account{}
}

// changed returns the height of the last change to the account that is not after height.
func (s state) changed(key address, height uint64) (uint64, bool) {
	versions := s[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].height <= height {
			return versions[i].height, true
		}
	}
	return 0, false
}

// set writes an account's new version and forgets those that the finalized height has passed.
func (s state) set(key address, height uint64, a account, finalized uint64) {
	if !a.exists() {
		a = account{} // an account without lamports is gone at the end of its transaction
	}
	versions := s[key]
	if n := len(versions); n > 0 && versions[n-1].height == height {
		versions[n-1].account = a
		return
	}
	versions = append(versions, version{height, a})
	keep := sort.Search(len(versions), func(i int) bool { return versions[i].height > finalized })
	if keep > 1 {
		versions = append([]version(nil), versions[keep-1:]...)
	}
	s[key] = versions
}

// undo takes back every version above the height.
func (s state) undo(height uint64) {
	for key, versions := range s {
		n := sort.Search(len(versions), func(i int) bool { return versions[i].height > height })
		if n == 0 {
			delete(s, key)
		} else {
			s[key] = versions[:n]
		}
	}
}

// total adds all lamports up, as the block of the given height left them.
func (s state) total(height uint64) uint64 {
	var sum uint64
	for key := range s {
		sum += s.at(key, height).Lamports
	}
	return sum
}

const (
	accountOverhead = 128      // bytes that rent counts on top of the data
	maxData         = 10 << 20 // bytes of data that an account may hold
	maxGrowth       = 20 << 20 // bytes of data that a transaction may allocate
)

// rentRate is what an account's storage costs, in lamports a byte (SIMD-0194: two years' rent folded
// into one number).
type rentRate uint64

// DefaultLamportsPerByte is the rent that a cluster begins with.
const DefaultLamportsPerByte = 6960

// maxLamportsPerByte keeps the largest account's minimum well inside 64 bits.
const maxLamportsPerByte = 1_000_000_000

// minimum is the least balance that keeps an account with so much data alive, in lamports.
func (r rentRate) minimum(size int) uint64 {
	return (accountOverhead + uint64(size)) * uint64(r)
}

// allows is Agave's check of what a transaction leaves behind (SIMD-0392): nothing, or at least
// the rent minimum, or, where there was less before, at least that much with the same owner and size.
func (r rentRate) allows(before, after account) bool {
	if after.Lamports == 0 || after.Lamports >= r.minimum(len(after.Data)) {
		return true
	}
	return before.Lamports > 0 && after.Lamports >= before.Lamports &&
		after.Owner == before.Owner && len(after.Data) == len(before.Data)
}

// sysvar is the Rent sysvar's account: lamports a byte, a threshold of 1.0, 50 percent burnt.
func (r rentRate) sysvar() account {
	b := binary.LittleEndian.AppendUint64(nil, uint64(r))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(1))
	return account{1, sysvarOwner, append(b, 50), false}
}
