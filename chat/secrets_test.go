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

// TestTheSearchForKeysIsBounded holds that a text costs only so many derivations, whatever it is made of, and that a key
// is still found behind much that could have been one.
func TestTheSearchForKeysIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	digits := func(of string, n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte(of[random.IntN(len(of))])
		}
		return b.String()
	}
	numbers := strings.Trim(fmt.Sprint([]byte(digits("abcdef", 1000))), "[]")
	for name, text := range map[string]string{
		"base58": digits(base58Digits, 4096), "hex": digits("123456789abcdef", 4096), "numbers": numbers,
		"base58 in single digits": strings.Join(strings.Split(digits(base58Digits, 2048), ""), " "), "ones": "1" + strings.Repeat("1aB", 1365),
	} {
		s := newKeySearch(text)
		if s.find(text) {
			t.Errorf("%s: a key", name)
		}
		if s.left != 0 {
			t.Errorf("%s: %d tries are left: it is not the dear text that it should be", name, s.left)
		}
	}
	prose := strings.Repeat("some words before it. ", 180)
	if s := newKeySearch(prose); s.find(prose) || s.left != maxTries {
		t.Errorf("words of a language take %d tries", maxTries-s.left)
	}

	key := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", 32)))
	k, h := base58.Encode(key), hex.EncodeToString(key)
	for name, before := range map[string]string{
		"prose": prose, "signatures": strings.Repeat(base58.Encode(ed25519.Sign(key, []byte("x")))+" ", 20),
		"one long run": digits(base58Digits, 2000) + " ", "hex": digits("123456789abcdef", 2000) + " ",
	} {
		for _, text := range []string{before + k, before + h, before + k[:44] + "\n" + k[44:], before + k + " and " + before} {
			if !newKeySearch(text).find(text) {
				t.Errorf("a key behind %s is not found: %.60q…", name, text[len(before):])
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
