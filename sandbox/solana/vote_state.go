package solana

import (
	"encoding/binary"
)

// voteSize is the size of a vote account's data in bytes, whatever it holds.
const voteSize = 3762

// maxEpochCredits is how many epochs of credits a vote account keeps.
const maxEpochCredits = 64

// voteState is a vote account of the present version (VoteStateV4). Nobody sends votes here: those of a validator are
// made up when its account is read (Cluster.accountAt).
type voteState struct {
	Node                address
	Withdrawer          address
	InflationCollector  address
	RevenueCollector    address
	InflationCommission uint16 // basis points
	RevenueCommission   uint16 // basis points
	Pending             uint64 // lamports for delegators that wait for distribution
	Bls                 *[48]byte
	Votes               []vote
	Root                *uint64
	Voters              []epochVoter
	Credits             []epochCredits
	LastSlot            uint64
	LastTime            int64 // Unix seconds of the last vote
}

// vote is one landed vote.
type vote struct {
	Latency       byte
	Slot          uint64
	Confirmations uint32
}

// epochVoter is who votes for the account from an epoch on.
type epochVoter struct {
	Epoch uint64
	Voter address
}

// epochCredits are the credits that the validator had at the end of an epoch and at its beginning.
type epochCredits struct {
	Epoch  uint64
	Now    uint64
	Before uint64
}

// credits is the newest total.
func (v voteState) credits() uint64 {
	if len(v.Credits) == 0 {
		return 0
	}
	return v.Credits[len(v.Credits)-1].Now
}

// readVote parses a vote account of version 4, 3 or 1.14.11, which is what the Stake program takes. Older fields are
// converted. It returns false for anything else.
func readVote(key address, data []byte) (v voteState, ok bool) {
	r := &reader{rest: data}
	version := binary.LittleEndian.Uint32(r.take(4))
	if version < 1 || version > 3 {
		return v, false
	}
	v.Node, v.Withdrawer = address(r.take(32)), address(r.take(32))
	if version == 3 {
		v.InflationCollector, v.RevenueCollector = address(r.take(32)), address(r.take(32))
		v.InflationCommission = binary.LittleEndian.Uint16(r.take(2))
		v.RevenueCommission = binary.LittleEndian.Uint16(r.take(2))
		v.Pending = r.u64()
		if r.present() {
			bls := [48]byte(r.take(48))
			v.Bls = &bls
		}
	} else {
		v.InflationCollector, v.RevenueCollector = key, v.Node
		v.InflationCommission, v.RevenueCommission = uint16(r.byte())*100, 10_000
	}
	for n := r.count(12); n > 0; n-- {
		one := vote{}
		if version > 1 {
			one.Latency = r.byte()
		}
		one.Slot, one.Confirmations = r.u64(), binary.LittleEndian.Uint32(r.take(4))
		v.Votes = append(v.Votes, one)
	}
	if r.present() {
		root := r.u64()
		v.Root = &root
	}
	for n := r.count(40); n > 0; n-- {
		v.Voters = append(v.Voters, epochVoter{r.u64(), address(r.take(32))})
	}
	if version < 3 {
		r.take(32*48 + 8 + 1) // prior voters
	}
	for n := r.count(24); n > 0; n-- {
		v.Credits = append(v.Credits, epochCredits{r.u64(), r.u64(), r.u64()})
	}
	v.LastSlot, v.LastTime = r.u64(), int64(r.u64())
	return v, r.err == nil
}

// present reads the byte before an optional value, and says whether the value follows.
func (r *reader) present() bool {
	b := r.byte()
	if b > 1 && r.err == nil {
		r.err = errEnded
	}
	return b == 1 && r.err == nil
}

// count reads the u64 number of items of at least size bytes each. It refuses counts that the remaining bytes cannot
// hold.
func (r *reader) count(size int) int {
	n := r.u64()
	if r.err == nil && n > uint64(len(r.rest)/size) {
		r.err = errEnded
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// bytes encodes the account's data, always voteSize bytes.
func (v voteState) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, voteSize), 3)
	for _, key := range []address{v.Node, v.Withdrawer, v.InflationCollector, v.RevenueCollector} {
		b = append(b, key[:]...)
	}
	b = binary.LittleEndian.AppendUint16(b, v.InflationCommission)
	b = binary.LittleEndian.AppendUint16(b, v.RevenueCommission)
	b = binary.LittleEndian.AppendUint64(b, v.Pending)
	if v.Bls == nil {
		b = append(b, 0)
	} else {
		b = append(append(b, 1), v.Bls[:]...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(v.Votes)))
	for _, one := range v.Votes {
		b = binary.LittleEndian.AppendUint64(append(b, one.Latency), one.Slot)
		b = binary.LittleEndian.AppendUint32(b, one.Confirmations)
	}
	if v.Root == nil {
		b = append(b, 0)
	} else {
		b = binary.LittleEndian.AppendUint64(append(b, 1), *v.Root)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(v.Voters)))
	for _, one := range v.Voters {
		b = append(binary.LittleEndian.AppendUint64(b, one.Epoch), one.Voter[:]...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(v.Credits)))
	for _, one := range v.Credits {
		for _, n := range []uint64{one.Epoch, one.Now, one.Before} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	b = binary.LittleEndian.AppendUint64(b, v.LastSlot)
	b = binary.LittleEndian.AppendUint64(b, uint64(v.LastTime))
	return append(b, make([]byte, max(voteSize-len(b), 0))...)
}
