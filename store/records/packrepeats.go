package records

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/mr-tron/base58"

	"purser/store"
)

// The second step of pack: what stood before is not written again. The form is a sequence of
//
//	count of new bytes | new bytes | length of what is repeated - leastRepeat | how far back it begins
//
// with numbers as uvarints. The last part may end behind its new bytes. What is repeated may lie in the dictionary, which
// stands before everything, and may reach into itself. zstd would take 18 bytes more for the frame and the headers of each row.

// leastRepeat is the shortest repetition that is written as one.
const leastRepeat = 6

// repeatBits is how many bits the hash of four bytes has: each has one place in the table of where it stood last.
const repeatBits = 12

// repeatTable says where four bytes of a hash stood last: the position behind their first byte, 0 for nowhere.
type repeatTable [1 << repeatBits]uint32

// at returns the place of the four bytes at the front of raw.
func (r *repeatTable) at(raw []byte) *uint32 {
	return &r[binary.LittleEndian.Uint32(raw)*2654435761>>(32-repeatBits)]
}

// packedTexts are what many rows hold: programs of Solana in base58, then parts of messages, then words. They are part of the
// stored form, and never change.
func packedTexts() (addresses, bytes []string) {
	return []string{
			"SysvarRent111111111111111111111111111111111", "SysvarC1ock11111111111111111111111111111111", "SysvarStakeHistory1111111111111111111111111",
			"StakeConfig11111111111111111111111111111111", "Stake11111111111111111111111111111111111111", "JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4",
			"So11111111111111111111111111111111111111112", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
			"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
			"ComputeBudget111111111111111111111111111111", "11111111111111111111111111111111", "11111111111111111111111111111111",
		}, []string{
			"INSUFFICIENT_BALANCE", "USER_REJECTED", "CONFIRMATION_EXPIRED", "BLOCKHASH_EXPIRED", "SIMULATION_FAILED", "CHAIN_ERROR", "POLICY_VIOLATION",
			"\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "swap/1", "stake/1", "revoke/1",
			"\x80\x01\x00\x03\x05", "\x80\x01\x00\x05\x08", "\x03\x03\x00\x05\x02", "\x03\x04\x00\x05\x02", "\x00\x00\x03\x00\x09\x03", "\x00\x00\x04\x00\x09\x03",
			"\x00\x00\x00\x00\x00\x04\x03\x00\x01\x02\x0c\x02\x00\x00\x00", "\x00\x00\x00\x00\x00\x04\x02\x00\x01\x0c\x02\x00\x00\x00",
		}
}

// repeatStart is the dictionary, and the table of what stands in it.
type repeatStart struct {
	dictionary []byte
	table      repeatTable
}

// repeatBase makes them once.
var repeatBase = sync.OnceValue(func() *repeatStart {
	var start repeatStart
	addresses, bytes := packedTexts()
	for _, text := range addresses {
		raw, err := base58.Decode(text)
		if err != nil || len(raw) != 32 {
			panic("records: a program of the dictionary is no address") // texts that no input changes
		}
		start.dictionary = append(start.dictionary, raw...)
	}
	for _, text := range bytes {
		start.dictionary = append(start.dictionary, text...)
	}
	for i := range len(start.dictionary) - 3 {
		*start.table.at(start.dictionary[i:]) = uint32(i + 1)
	}
	return &start
})

// appendRepeats appends raw to out in this form.
func appendRepeats(out, raw []byte) []byte {
	base := repeatBase()
	table := base.table // a copy
	all := slices.Concat(base.dictionary, raw)
	written, i := len(base.dictionary), len(base.dictionary)
	for i+leastRepeat <= len(all) {
		place := table.at(all[i:])
		from := int(*place) - 1
		*place = uint32(i + 1)
		size := 0
		for from >= 0 && i+size < len(all) && all[from+size] == all[i+size] {
			size++
		}
		if size < leastRepeat {
			i++
			continue
		}
		out = binary.AppendUvarint(out, uint64(i-written))
		out = append(out, all[written:i]...)
		out = binary.AppendUvarint(out, uint64(size-leastRepeat))
		out = binary.AppendUvarint(out, uint64(i-from))
		for next := i + 1; next < i+size && next+4 <= len(all); next++ {
			*table.at(all[next:]) = uint32(next + 1)
		}
		i += size
		written = i
	}
	if written < len(all) {
		out = binary.AppendUvarint(out, uint64(len(all)-written))
		out = append(out, all[written:]...)
	}
	return out
}

// expandRepeats undoes appendRepeats. ErrDamaged: it is not this form, or of more than maxPacked bytes.
func expandRepeats(packed []byte) ([]byte, error) {
	dictionary := repeatBase().dictionary
	damaged := fmt.Errorf("%w: a packed part does not repeat what stood before", store.ErrDamaged)
	out := make([]byte, len(dictionary), len(dictionary)+3*len(packed))
	copy(out, dictionary)
	number := func() (uint64, bool) {
		n, size := binary.Uvarint(packed)
		if size <= 0 {
			return 0, false
		}
		packed = packed[size:]
		return n, true
	}
	for len(packed) > 0 {
		count, ok := number()
		if !ok || count > uint64(len(packed)) {
			return nil, damaged
		}
		out, packed = append(out, packed[:count]...), packed[count:]
		if len(packed) == 0 {
			break
		}
		size, ok := number()
		back, ok2 := number()
		if !ok || !ok2 || back == 0 || back > uint64(len(out)) || size > maxPacked {
			return nil, damaged
		}
		if len(out)+int(size)+leastRepeat > len(dictionary)+maxPacked {
			return nil, damaged
		}
		for range size + leastRepeat { // byte by byte: what is repeated may reach into itself
			out = append(out, out[len(out)-int(back)])
		}
	}
	return out[len(dictionary):], nil
}
