package records

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"

	"purser/store"
)

// The first form of packed parts (firstForm), which stores of schema 1 hold. It is read and not written. Two steps made it:
//
//   - Texts of bytes and times became bytes again: base58, base64, arrays of numbers, RFC 3339
//   - zstd with a dictionary of what each row says

// Marks stand before bytes that were text. JSON has no such byte elsewhere: it escapes control characters.
const (
	packedAddress   = 1 // 32 bytes of a base58 text
	packedSignature = 2 // 64 bytes of a base58 text
	packedBase64    = 3 // length in bytes (uvarint), then the bytes
	packedNumbers   = 4 // 32 bytes of an array of numbers
	packedTime      = 5 // seconds since 1970 (uvarint), then nanoseconds (4 bytes)
)

// packDictionary is what the rows of final transactions have in common, the most frequent at its end. It is part of the stored
// form, and never changes.
const packDictionary = `"type":"stake","unstake","swap","deposit","withdraw","status":"rejected","failed","expired","received","requested","key_id":"key_` +
	`"signer":"program","telegram","symbol":"USDC","decimals":6,"mint":"unfunded":true,"requested_destination":"rent":2039280,"transfer_fee":"terms":{"memo":"retry_of":"tx_` +
	`"payment_request_ref":"answers":"link_references":["retried_by":"recheck_requested_at":"delay_for":,"delay_ends_at":"refusal":"refusal_reason":{"indeterminate":true,"error_code":"error_reason":{` +
	`"closed":true,"changes":3,"version":4,"id":"tx_","type":"send","status":"confirmed","owner":"usr_","signer":"page","from":,"to":,"token":{"symbol":"SOL","decimals":9},"amount":1000000,"fee":5000,"balance_left":,"reference":,` +
	`"compute_unit_limit":,"compute_unit_price":,"created_at":,"deadline":,"message":,"issued_blockhashes":[{"blockhash":{"hash":,"last_valid_block_height":,"slot":},"at":}],"signed":,"signature":,"signed_at":,"submitted_at":,` +
	`"landing":{"signature":,"slot":,"block_height":,"fee":5000,"spent":,"confirmations":32,"finalized":true,"failure":""},"confirmed_at":,"ended_at":,"closed":true,"changes":5,"version":6,"sign":}`

// packDictionaryID distinguishes the dictionary from others in a frame of zstd.
const packDictionaryID = 1

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(packDictionaryID, []byte(packDictionary)), zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPacked))
	if err != nil {
		panic(err)
	}
	return d
})

// unpackFirst returns the plain part of a packed one of the first form, without its first byte. It returns ErrDamaged
// if the part does not decode.
func unpackFirst(packed []byte) ([]byte, error) {
	short, err := unpacker().DecodeAll(packed, make([]byte, 0, 4*len(packed)))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	return lengthenFirst(short)
}

// lengthenFirst writes the texts that the first form keeps as bytes. ErrDamaged: bytes are missing behind a mark, or there are more than maxPacked.
func lengthenFirst(short []byte) ([]byte, error) {
	out := make([]byte, 0, 2*len(short))
	quoted := func(text string) { out = append(append(append(out, '"'), text...), '"') }
	for len(short) > 0 && len(out) <= maxPacked {
		mark := short[0]
		short = short[1:]
		size := 0
		switch mark {
		case packedAddress, packedNumbers:
			size = 32
		case packedSignature:
			size = 64
		case packedBase64:
			length, n := binary.Uvarint(short)
			if n <= 0 || length > uint64(len(short)-n) {
				return nil, fmt.Errorf("%w: a packed text is cut", store.ErrDamaged)
			}
			short, size = short[n:], int(length)
		case packedTime:
			seconds, n := binary.Uvarint(short)
			if n <= 0 || len(short) < n+4 {
				return nil, fmt.Errorf("%w: a packed time is cut", store.ErrDamaged)
			}
			quoted(time.Unix(int64(seconds), int64(binary.BigEndian.Uint32(short[n:]))).UTC().Format(time.RFC3339Nano))
			short = short[n+4:]
			continue
		default:
			out = append(out, mark)
			continue
		}
		if len(short) < size {
			return nil, fmt.Errorf("%w: packed bytes are cut", store.ErrDamaged)
		}
		raw := short[:size]
		short = short[size:]
		switch mark {
		case packedAddress, packedSignature:
			quoted(base58.Encode(raw))
		case packedBase64:
			quoted(base64.StdEncoding.EncodeToString(raw))
		case packedNumbers:
			for i, n := range raw {
				out = strconv.AppendUint(append(out, "[,"[min(i, 1)]), uint64(n), 10)
			}
			out = append(out, ']')
		}
	}
	if len(out) > maxPacked {
		return nil, fmt.Errorf("%w: a packed part is too long", store.ErrDamaged)
	}
	return out, nil
}
