package chat

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
)

// TestWordListIsTheStandards compares with the SHA-256 of the list that BIP-39 publishes.
func TestWordListIsTheStandards(t *testing.T) {
	sum := sha256.Sum256([]byte(english))
	if got := hex.EncodeToString(sum[:]); got != "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda" {
		t.Errorf("words/english.txt has the hash %s", got)
	}
	if n := len(NewSecrets().words); n != 2048 {
		t.Errorf("%d words", n)
	}
}

func TestSecretsAreKnownFromTalk(t *testing.T) {
	s := NewSecrets()
	twelve := "legal winner thank year wave sausage worth useful legal winner thank yellow"
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	numbers := make([]int, len(key))
	for i, b := range key {
		numbers[i] = int(b)
	}
	array, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{
		twelve, strings.ToUpper(twelve), "please restore: " + twelve + " thanks", twelve + " " + twelve,
		strings.ReplaceAll(twelve, " ", "\n"), strings.ReplaceAll(twelve, " ", ", "), "/send " + twelve,
		"1. " + strings.ReplaceAll(twelve, " ", " 2) "), strings.ReplaceAll(twelve, "winner", "winner, and"),
		base58.Encode(key), "here: " + base58.Encode(key) + ".", string(array), "key = " + string(array) + ";",
		"pur_live_" + strings.Repeat("a1B", 12), "Key:Pur_Bot_" + strings.Repeat("a1B", 6) + "…", "whsec_" + strings.Repeat("a+/_", 8) + "==", "purpur_session_" + strings.Repeat("9", 40),
	} {
		if s.In(secret) == NoSecret {
			t.Errorf("not seen in %.60q", secret)
		}
	}
	signature := ed25519.Sign(key, []byte("a public thing"))
	for _, talk := range []string{
		"", "hello", strings.Join(strings.Fields(twelve)[:11], " "), base58.Encode(signature), base58.Encode(key[:32]),
		"pur_live_…", "keys begin with pur_test_ or pur_bot_, secrets with whsec_", "pur_bot_x",
		"[1,2,3]", "[" + strings.Repeat("1,", 63) + "1]", "[" + strings.Repeat("x,", 90) + "]",
		"I was able to use this wallet all year, and thank you for that: it is a cool thing, and the first one that is good for my family. You can ask me about it when there is time.",
		strings.Repeat("[", 10_000), strings.Repeat("a ", 5_000),
	} {
		if s.In(talk) != NoSecret {
			t.Errorf("seen in %.60q", talk)
		}
	}
}

// TestPrivateKeysAreKnownInAnyDress holds that what stands around, before or between the parts of a key hides none.
func TestPrivateKeysAreKnownInAnyDress(t *testing.T) {
	s := NewSecrets()
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	zeros := ed25519.NewKeyFromSeed(append(make([]byte, 3), strings.Repeat("z", 29)...))
	for digits, first := range map[int][]byte{86: {0, 0, 5}, 87: {5}, 88: {200}} {
		key := base58.Encode(ed25519.NewKeyFromSeed(append(first, strings.Repeat("s", 32-len(first))...)))
		if len(key) != digits || s.In(key) != WalletSecret || s.In("a"+key+"b") != WalletSecret {
			t.Errorf("a key of %d digits, meant to be %d, is not seen", len(key), digits)
		}
	}
	numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint([]byte(key)), " ", ","), "[]")
	k, h := base58.Encode(key), hex.EncodeToString(key)
	for _, secret := range []string{
		"key:" + k, "privatekey=" + k, "(" + k + ")", "<" + k + ">", "“" + k + "”", "https://x/?k=" + k, "https://x/?k=" + k + "&z=1",
		k + "\u200b", "\ufeff" + k, k[:20] + "\u200b" + k[20:], k[:40] + "\n" + k[40:], "> " + k[:40] + "\n> " + k[40:], "a" + k + "b", "ключ" + k,
		base58.Encode(zeros), "key:" + base58.Encode(zeros),
		"[backup] [" + numbers + "]", "[" + numbers + "] and [x]", numbers, strings.ReplaceAll(numbers, ",", " "), strings.ReplaceAll(numbers, ",", ",\n"),
		"64: " + numbers + ", 1", "300," + numbers, "byte[]{" + numbers + "}", strings.Repeat("some words before it ", 80) + "[" + numbers + "]",
		h, strings.ToUpper(h), "0x" + h, "key=" + h + ".", h[:64] + "\n" + h[64:], "a" + h + "b", fmt.Sprintf("% x", []byte(key)),
		"legal\u200bwinner thank year wave sausage worth useful legal winner thank yellow", "le\u00adgal winner thank year wave sausage worth useful legal winner thank yellow",
	} {
		if got := s.In(secret); got != WalletSecret {
			t.Errorf("%q in %q", got, secret)
		}
	}
	if got := s.In("pur_live_aaaa\u200b" + strings.Repeat("a1B", 12)); got != CredentialSecret {
		t.Errorf("%q in a key of the API that a character without width divides", got)
	}
	signature := ed25519.Sign(key, []byte("a public thing"))
	for _, talk := range []string{
		hex.EncodeToString(signature), "https://x/tx/" + base58.Encode(signature), fmt.Sprint(signature), h[:126], k[:80], strings.Join(strings.Split(numbers, ",")[1:], ","),
	} {
		if got := s.In(talk); got != NoSecret {
			t.Errorf("%q in %q", got, talk)
		}
	}
}

// TestTheSearchForKeysIsBounded holds that a text costs only so many derivations, whatever it is made of.
func TestTheSearchForKeysIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spaced := func(s string) string { return strings.Join(strings.Split(s, ""), " ") }
	numbers := strings.Trim(fmt.Sprint([]byte(randomDigits(random, "abcdef", 1000))), "[]")
	for name, c := range map[string]struct {
		text  string
		tries int
	}{
		"base58":                  {randomDigits(random, base58Digits, 4096), maxTries},
		"base58 in single digits": {spaced(randomDigits(random, base58Digits, 2048)), maxTries},
		"hex":                     {randomDigits(random, "abcdef01", 4096), maxTries},
		"hex in single digits":    {spaced(randomDigits(random, "abcdef01", 2048)), maxTries},
		"hex with base58":         {randomDigits(random, "123456789abcdef", 4096), 2 * maxTries},
		"numbers":                 {numbers, 2 * maxTries},
		"ones":                    {"1" + strings.Repeat("1aB", 1365), 2 * maxTries},
		"words of a language":     {strings.Repeat("some words before it. ", 180), 0},
		"decimal digits":          {strings.Repeat("31415926", 512), 0},
	} {
		// Some parts at the ends of a text have one edge.
		if s := newKeySearch(c.text); s.find(c.text) || s.tries < c.tries || s.tries > c.tries+8 {
			t.Errorf("%s: %d tries, want about %d", name, s.tries, c.tries)
		}
	}
}

func randomDigits(random *rand.Rand, of string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(of[random.IntN(len(of))])
	}
	return b.String()
}

// TestKeysAreFoundBehindWhatCouldBeOne holds that other things in a message do not use up the tries for a key.
func TestKeysAreFoundBehindWhatCouldBeOne(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	array := func(raw []byte) string {
		return "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(raw), "[]"), " ", ",") + "]"
	}
	list := func(n int, of func() []byte) string {
		var b strings.Builder
		for range n {
			b.WriteString(base58.Encode(of()) + "\n")
		}
		return b.String()
	}
	bytesOf := func(n int) func() []byte {
		return func() []byte {
			raw := make([]byte, n)
			for i := range raw {
				raw[i] = byte(random.IntN(256))
			}
			return raw
		}
	}
	k, h := base58.Encode(key), hex.EncodeToString(key)
	var source, xxd, hexdump strings.Builder
	for i, b := range key {
		if i%16 == 0 {
			fmt.Fprintf(&xxd, "\n%08x:", i)
			fmt.Fprintf(&hexdump, "\n%08x ", i)
		}
		if i%2 == 0 {
			fmt.Fprintf(&xxd, " %02x%02x", key[i], key[i+1])
		}
		if i%16 == 15 {
			xxd.WriteString("  .k..ab..#.|..fe.")
		}
		fmt.Fprintf(&hexdump, " %02x", b)
		fmt.Fprintf(&source, "0x%02X, ", b)
	}
	for name, before := range map[string]string{
		"nothing": "", "prose": strings.Repeat("some words before it. ", 100), "signatures": list(20, bytesOf(64)), "addresses": list(40, bytesOf(32)),
		"one long run": randomDigits(random, base58Digits, 1500) + " ", "hex": randomDigits(random, "123456789abcdef", 1500) + " ",
		"hashes": strings.Repeat("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n", 8),
		"arrays": array(bytesOf(32)()) + array(bytesOf(64)()) + "\n", "rows of numbers": strings.Repeat("10, 20, 30, 40, 50, 60, 70\n", 12),
		"a log": strings.Repeat("2026-11-22 12:30:55 0.5 1.25\n", 10),
	} {
		for form, text := range map[string]string{
			"base58": k, "base58 in two lines": k[:44] + "\n" + k[44:], "hex": h, "hex in two lines": h[:64] + "\n" + h[64:], "an array": array(key),
			"source code": source.String(), "xxd": xxd.String(), "hexdump": hexdump.String(),
		} {
			if !privateKey(before + text) {
				t.Errorf("%s behind %s is not found", form, name)
			}
		}
	}
}

// BenchmarkSecretsInTheDearestText is a message of 4,096 characters that takes all tries.
func BenchmarkSecretsInTheDearestText(b *testing.B) {
	s, text := NewSecrets(), strings.Repeat("a9", 2048)
	for b.Loop() {
		s.In(text)
	}
}

// BenchmarkSecretsInTalk is what a message usually is.
func BenchmarkSecretsInTalk(b *testing.B) {
	s := NewSecrets()
	for b.Loop() {
		s.In("/send 1.5 SOL 7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU")
	}
}
