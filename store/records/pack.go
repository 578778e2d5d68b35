package records

import (
	"bytes"
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

// How the plain part of a row takes less room once the row does not change any more (decisions/0058). Nothing is lost: unpack
// returns the same JSON, to the byte. Two steps:
//
//   - Texts of bytes and times become bytes again: base58, base64, arrays of numbers, RFC 3339. So the signed transaction,
//     the message, the signature and the addresses in it repeat each other to the byte
//   - zstd with a dictionary of what each row says
//
// A packed part begins with packedForm, and JSON with a brace.

// packedForm is the first byte of a packed part: the version of all that stands in this file, the dictionary included.
const packedForm = 1

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

// maxPacked bounds what unpack makes of a part, in bytes: a row is never as long.
const maxPacked = 1 << 20

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(packDictionaryID, []byte(packDictionary)), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstd.MinWindowSize<<4), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // options that no input changes
	}
	return e
})

var unpacker = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderDictRaw(packDictionaryID, []byte(packDictionary)), zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxPacked))
	if err != nil {
		panic(err)
	}
	return d
})

// pack returns a plain part in its packed form, or as it is if that is not shorter.
func pack(plain []byte) []byte {
	out := packer().EncodeAll(shorten(plain), append(make([]byte, 0, len(plain)/2), packedForm))
	if len(out) >= len(plain) {
		return plain
	}
	// The row is money's, and this is the last time that its JSON is known.
	if back, err := unpack(out); err != nil || !bytes.Equal(back, plain) {
		return plain
	}
	return out
}

// unpacked returns the JSON of a part, packed or not.
func unpacked(part []byte) ([]byte, error) {
	if !isPacked(part) {
		return part, nil
	}
	return unpack(part)
}

// isPacked tells whether a part has the form that pack makes. JSON begins with a brace.
func isPacked(part []byte) bool { return len(part) > 0 && part[0] == packedForm }

// unpack returns the plain part that was packed. ErrDamaged: it is none.
func unpack(packed []byte) ([]byte, error) {
	if !isPacked(packed) {
		return nil, fmt.Errorf("%w: not packed", store.ErrDamaged)
	}
	short, err := unpacker().DecodeAll(packed[1:], make([]byte, 0, 4*len(packed)))
	if err != nil {
		return nil, fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	return lengthen(short)
}

// shorten is the first step of pack.
func shorten(plain []byte) []byte {
	out := make([]byte, 0, len(plain))
	for len(plain) > 0 {
		switch plain[0] {
		case '"':
			end := stringEnd(plain)
			text := plain[:end]
			plain = plain[end:]
			if len(plain) > 0 && plain[0] == ':' { // a name
				out = append(out, text...)
				continue
			}
			out = appendText(out, text)
		case '[':
			if raw, size := numbers32(plain); size > 0 {
				out = append(append(out, packedNumbers), raw[:]...)
				plain = plain[size:]
				continue
			}
			fallthrough
		default:
			out = append(out, plain[0])
			plain = plain[1:]
		}
	}
	return out
}

// stringEnd returns the length of the JSON string at the front of plain, with its quotes.
func stringEnd(plain []byte) int {
	for i := 1; i < len(plain); i++ {
		switch plain[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(plain)
}

// appendText appends a JSON string, as bytes if it is the text of some.
func appendText(out, quoted []byte) []byte {
	if len(quoted) < 2 || quoted[len(quoted)-1] != '"' {
		return append(out, quoted...)
	}
	text := string(quoted[1 : len(quoted)-1])
	switch size := len(text); {
	case size >= 32 && size <= 44 || size >= 64 && size <= 88:
		if raw, err := base58.Decode(text); err == nil && base58.Encode(raw) == text {
			switch len(raw) {
			case 32:
				return append(append(out, packedAddress), raw...)
			case 64:
				return append(append(out, packedSignature), raw...)
			}
		}
	case size >= 20 && size <= 30 && text[size-1] == 'Z':
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.Unix() >= 0 && at.Format(time.RFC3339Nano) == text {
			out = binary.AppendUvarint(append(out, packedTime), uint64(at.Unix()))
			return binary.BigEndian.AppendUint32(out, uint32(at.Nanosecond()))
		}
	}
	if len(text) >= 8 && len(text)%4 == 0 {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil && base64.StdEncoding.EncodeToString(raw) == text {
			out = binary.AppendUvarint(append(out, packedBase64), uint64(len(raw)))
			return append(out, raw...)
		}
	}
	return append(out, quoted...)
}

// numbers32 reads a JSON array of exactly 32 numbers of a byte at the front of plain, as encoding/json writes one. size is
// its length, 0 if there is none.
func numbers32(plain []byte) (raw [32]byte, size int) {
	at := 1
	for i := range raw {
		digits := at
		for at < len(plain) && at-digits < 4 && plain[at] >= '0' && plain[at] <= '9' {
			at++
		}
		n, err := strconv.ParseUint(string(plain[digits:at]), 10, 8)
		if err != nil || at >= len(plain) || plain[digits] == '0' && at-digits > 1 {
			return raw, 0
		}
		want := byte(',')
		if i == len(raw)-1 {
			want = ']'
		}
		if plain[at] != want {
			return raw, 0
		}
		raw[i] = byte(n)
		at++
	}
	return raw, at
}

// lengthen undoes shorten. ErrDamaged: bytes are missing behind a mark.
func lengthen(short []byte) ([]byte, error) {
	out := make([]byte, 0, 2*len(short))
	quoted := func(text string) { out = append(append(append(out, '"'), text...), '"') }
	for len(short) > 0 {
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
	return out, nil
}
