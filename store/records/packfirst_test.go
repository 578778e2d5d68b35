package records

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/mr-tron/base58"
)

// What wrote the first form, so that tests can tell that it is still read.

var packer = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(packDictionaryID, []byte(packDictionary)), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(zstd.MinWindowSize<<4), zstd.WithSingleSegment(true))
	if err != nil {
		panic(err) // options that no input changes
	}
	return e
})

// packFirst returns a plain part in its packed form, or as it is if that is not shorter.
func packFirst(plain []byte) []byte {
	out := packer().EncodeAll(shortenFirst(plain), append(make([]byte, 0, len(plain)/2), firstForm))
	if len(out) >= len(plain) {
		return plain
	}
	// The row is money's, and this is the last time that its JSON is known.
	if back, err := unpack(out, ""); err != nil || !bytes.Equal(back, plain) {
		return plain
	}
	return out
}

// shortenFirst is the first step of packFirst.
func shortenFirst(plain []byte) []byte {
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
