package browser

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mr-tron/base58"
)

// secrets are what must never leave a device (secrets.mjs); the last four are hex.
type secrets struct {
	Words                      []string
	Passphrase                 string
	Entropy, Seed, Key, Public string
}

// needles are what a search looks for: texts as UTF-8 and as UTF-16, and raw bytes.
type needles struct {
	Texts []string `json:"texts"`
	Bytes [][]byte `json:"bytes"`
}

// needlesOf spells secrets in every way in which a leak could. Four words in a row are a leak; so
// every longer run is found too.
func needlesOf(t *testing.T, s secrets) needles {
	t.Helper()
	n := needles{Texts: []string{s.Passphrase, url.QueryEscape(s.Passphrase), url.PathEscape(s.Passphrase)}}
	n.Texts = append(n.Texts, within(base64.RawStdEncoding, []byte(s.Passphrase))...)
	for _, between := range []string{" ", "  ", ",", ", ", `","`, `", "`, "\n", "+", "%20", `\n`, ";", "-"} {
		for i := 0; i+4 <= len(s.Words); i++ {
			n.Texts = append(n.Texts, strings.Join(s.Words[i:i+4], between))
		}
	}
	key, seed, entropy := fromHex(t, s.Key, 32), fromHex(t, s.Seed, 64), fromHex(t, s.Entropy, 16)
	pair := append(bytes.Clone(key), fromHex(t, s.Public, 32)...) // as wallets export it
	for _, secret := range [][]byte{key, pair, seed, entropy} {
		n.Bytes = append(n.Bytes, secret)
		lower := hex.EncodeToString(secret)
		n.Texts = append(n.Texts, lower, strings.ToUpper(lower), base58.Encode(secret), list(secret, ","), list(secret, ", "))
		n.Texts = append(n.Texts, within(base64.RawStdEncoding, secret)...)
		n.Texts = append(n.Texts, within(base64.RawURLEncoding, secret)...)
	}
	return n
}

// within is how base64 shows raw, alone or as a part of something longer: what stands before shifts
// it by no, two or four bits.
func within(encoding *base64.Encoding, raw []byte) []string {
	var all []string
	for before := range 3 {
		text := encoding.EncodeToString(append(make([]byte, before), raw...))
		// Characters at the ends hold bits of the neighbours too.
		first, last := (before*8+5)/6, len(text)-1
		all = append(all, text[first:last])
	}
	return all
}

// list is a JSON array's inside: the bytes as decimal numbers.
func list(raw []byte, between string) string {
	var numbers []string
	for _, b := range raw {
		numbers = append(numbers, fmt.Sprint(b))
	}
	return strings.Join(numbers, between)
}

func fromHex(t *testing.T, text string, size int) []byte {
	t.Helper()
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != size {
		t.Fatalf("%q is not %d bytes in hex", text, size)
	}
	return raw
}

// place is somewhere that a secret could have come to: a file, a request, a log.
type place struct {
	name string
	data []byte
}

// hit is a needle that was found.
type hit struct{ needle, place string }

// search looks for needles in all views of the places.
func search(n needles, places []place) []hit {
	type form struct {
		name  string
		bytes []byte
	}
	var forms []form
	for _, text := range n.Texts {
		units := wide(text)
		// Without its last byte, which is 0, this is found in big-endian text too: names of databases.
		forms = append(forms, form{text, []byte(text)}, form{text, units[:len(units)-1]})
	}
	for _, raw := range n.Bytes {
		forms = append(forms, form{fmt.Sprintf("the bytes %x", raw), raw})
	}
	var hits []hit
	for _, p := range places {
		all := views(p.data)
		for _, f := range forms {
			for _, view := range all {
				if bytes.Contains(view, f.bytes) {
					hits = append(hits, hit{f.name, p.name})
					break
				}
			}
		}
	}
	return hits
}

// missing lists the needles that no hit is about.
func missing(n needles, hits []hit) []string {
	found := map[string]bool{}
	for _, h := range hits {
		found[h.needle] = true
	}
	var lost []string
	for _, text := range n.Texts {
		if !found[text] {
			lost = append(lost, text)
		}
	}
	for _, raw := range n.Bytes {
		if name := fmt.Sprintf("the bytes %x", raw); !found[name] {
			lost = append(lost, name)
		}
	}
	return lost
}

// wide is text as JavaScript engines keep it beyond Latin-1: UTF-16, little-endian.
func wide(text string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = append(out, byte(unit), byte(unit>>8))
	}
	return out
}
