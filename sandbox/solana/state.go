package solana

import (
	"encoding/binary"
	"math"
	"sort"
)

// account is one account at one moment. Its Data may be shared by several versions and is never changed in place.
type account struct {
	Lamports   uint64
	Owner      address
	Data       []byte
	Executable bool
}

// exists is false for an address without lamports, which is the same as having no account there.
func (a account) exists() bool { return a.Lamports > 0 }

// version is an account from the block of that height on, until the next version.
type version struct {
	height uint64
	account
}

// state keeps each account's versions back to the last finalized one, oldest first, so that reads at any commitment
// level can be answered. A Cluster's mu guards it.
type state map[address][]version

// at returns an account as it was after the block of the given height.
func (s state) at(key address, height uint64) account {
	versions := s[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].height <= height {
			return versions[i].account
		}
	}
	return account{}
}

// changed returns the height of the last change to an account at or below the given height. It is false if there was
// none.
func (s state) changed(key address, height uint64) (uint64, bool) {
	versions := s[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].height <= height {
			return versions[i].height, true
		}
	}
	return 0, false
}

// set adds an account's new version, and drops the versions that are older than the one at the finalized height.
// Several changes in one block leave one version.
func (s state) set(key address, height uint64, a account, finalized uint64) {
	if !a.exists() {
		a = account{} // without lamports an account ceases to exist
	}
	versions := s[key]
	// A second change in the same block replaces the first.
	if n := len(versions); n > 0 && versions[n-1].height == height {
		versions[n-1].account = a
		return
	}
	versions = append(versions, version{height, a})
	// The newest version at or below the finalized height stays, because reads at finalized need it.
	keep := sort.Search(len(versions), func(i int) bool { return versions[i].height > finalized })
	if keep > 1 {
		versions = append([]version(nil), versions[keep-1:]...)
	}
	s[key] = versions
}

// undo removes every version above the height. Blocks below the finalized height cannot be undone: their versions are
// gone.
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

// total is the sum of all lamports after the block of the given height.
func (s state) total(height uint64) uint64 {
	var sum uint64
	for key := range s {
		sum += s.at(key, height).Lamports
	}
	return sum
}

const (
	accountOverhead = 128      // bytes that rent counts in addition to the data
	maxData         = 10 << 20 // bytes of data that an account may hold
	maxGrowth       = 20 << 20 // bytes of data that a transaction may allocate
)

// rentRate is the price of an account's storage in lamports per byte. It covers two years, which make an account
// rent-exempt (SIMD-0194).
type rentRate uint64

// DefaultLamportsPerByte is the rent of a new cluster, in lamports per byte.
const DefaultLamportsPerByte = 6960

// maxLamportsPerByte keeps the minimum of the largest account within 64 bits.
const maxLamportsPerByte = 1_000_000_000

// minimum is the smallest rent-exempt balance, in lamports, of an account with size bytes of data.
func (r rentRate) minimum(size int) uint64 {
	return (accountOverhead + uint64(size)) * uint64(r)
}

// allows is Agave's check of an account after a transaction (SIMD-0392). The balance must be zero or at least the
// rent minimum. An account that was below it may stay below, with no less than before and the same owner and size.
func (r rentRate) allows(before, after account) bool {
	if after.Lamports == 0 || after.Lamports >= r.minimum(len(after.Data)) {
		// An account below its minimum may stay there, but must not lose lamports or change its shape.
		return true
	}
	return before.Lamports > 0 && after.Lamports >= before.Lamports &&
		after.Owner == before.Owner && len(after.Data) == len(before.Data)
}

// sysvar is the Rent sysvar's account: lamports per byte, a threshold of 1.0 year, 50 percent burned.
func (r rentRate) sysvar() account {
	b := binary.LittleEndian.AppendUint64(nil, uint64(r))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(1))
	return account{1, sysvarOwner, append(b, 50), false}
}
