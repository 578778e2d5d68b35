package store

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

func testKey(t testing.TB) *Key {
	t.Helper()
	key, err := NewKey(bytes.Repeat([]byte{1}, MasterKeySize), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestSealedFieldOpensOnlyInItsPlace(t *testing.T) {
	key := testKey(t)
	home := Place{Subject: "user", ID: "usr_1", Field: "person", Format: 1}
	sealed, err := key.Seal(home, []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := key.Open(home, sealed); err != nil || string(plain) != "secret" {
		t.Fatalf("got %q, %v", plain, err)
	}
	for what, elsewhere := range map[string]Place{
		"subject":        {"users", "usr_1", "person", 1},
		"row":            {"user", "usr_2", "person", 1},
		"field":          {"user", "usr_1", "chat", 1},
		"format":         {"user", "usr_1", "person", 2},
		"shifted border": {"userusr_1", "", "person", 1},
	} {
		if _, err := key.Open(elsewhere, sealed); !errors.Is(err, ErrUnsealed) {
			t.Errorf("moved to another %s: got %v", what, err)
		}
	}
	other, err := NewKey(bytes.Repeat([]byte{2}, MasterKeySize), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(home, sealed); !errors.Is(err, ErrUnsealed) {
		t.Errorf("under another key: got %v", err)
	}
	for i := range sealed {
		bent := bytes.Clone(sealed)
		bent[i] ^= 1
		if _, err := key.Open(home, bent); !errors.Is(err, ErrUnsealed) {
			t.Fatalf("byte %d changed: got %v", i, err)
		}
		if _, err := key.Open(home, sealed[:i]); !errors.Is(err, ErrUnsealed) {
			t.Fatalf("cut to %d bytes: got %v", i, err)
		}
	}
}

func TestSealingTwiceGivesTwoCiphertexts(t *testing.T) {
	key := testKey(t)
	one, err1 := key.Seal(Place{}, []byte("secret"))
	two, err2 := key.Seal(Place{}, []byte("secret"))
	if err := errors.Join(err1, err2); err != nil || bytes.Equal(one, two) {
		t.Fatalf("equal ciphertexts, or %v", err)
	}
}

func TestSealingNeedsRandomness(t *testing.T) {
	key, err := NewKey(make([]byte, MasterKeySize), strings.NewReader("too short"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := key.Seal(Place{}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("seal: %v", err)
	}
	if _, _, err := key.NewSecret("usr_1"); err == nil {
		t.Error("a key was drawn from nothing")
	}
}

func TestWrappedKeyIsItsOwnersAlone(t *testing.T) {
	master := testKey(t)
	secret, wrapped, err := master.NewSecret("usr_1")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(wrapped, secret) {
		t.Error("a wrapped key shows its secret")
	}
	if got, err := master.Unwrap("usr_1", wrapped); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("unwrap: %v", err)
	}
	if _, err := master.Unwrap("usr_2", wrapped); !errors.Is(err, ErrUnsealed) {
		t.Errorf("unwrapped for another: %v", err)
	}
}

func TestAShortKeyIsRefused(t *testing.T) {
	if _, err := NewKey(make([]byte, MasterKeySize-1), rand.Reader); err == nil {
		t.Error("a short key was taken")
	}
}

func TestLookupsDoNotMeet(t *testing.T) {
	lookup, err := NewLookup(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewLookup(bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Hash]string{}
	add := func(what string, h Hash) {
		if before, ok := seen[h]; ok {
			t.Errorf("%s looks like %s", what, before)
		}
		seen[h] = what
	}
	for _, label := range labels() {
		add("text under "+string(label), lookup.Text(label, "a", "bc"))
		add("shifted under "+string(label), lookup.Text(label, "ab", "c"))
		add("number under "+string(label), lookup.Number(label, 7))
		add("another store's "+string(label), other.Number(label, 7))
	}
	again, err := NewLookup(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if lookup.Number(ByChat, -7) != again.Number(ByChat, -7) {
		t.Error("the same secret gives another lookup")
	}
}

// FuzzOpen seals its seed with fixed randomness: each process that fuzzes must know the same ciphertext.
func FuzzOpen(f *testing.F) {
	key, err := NewKey(bytes.Repeat([]byte{1}, MasterKeySize), strings.NewReader("twenty-four bytes nonce!"))
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := key.Seal(Place{Subject: "user"}, []byte("secret"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		plain, err := key.Open(Place{Subject: "user"}, raw)
		if err == nil && (!bytes.Equal(raw, sealed) || string(plain) != "secret") {
			t.Errorf("%x opened", raw)
		}
	})
}

func TestSealedBehindWhatIsWritten(t *testing.T) {
	key, at := testKey(t), Place{Subject: "user", ID: "usr_1", Field: "person", Format: 1}
	for _, spare := range []int{0, 10, SealedSize(6), 1000} {
		begun := append(make([]byte, 0, 3+spare), "row"...)
		out, err := key.AppendSeal(begun, at, []byte("secret"))
		if err != nil || string(out[:3]) != "row" || len(out) != 3+SealedSize(6) {
			t.Fatalf("with %d bytes to spare: %q, %v", spare, out, err)
		}
		if plain, err := key.Open(at, out[3:]); err != nil || string(plain) != "secret" {
			t.Errorf("with %d bytes to spare: %q, %v", spare, plain, err)
		}
	}
	poor, err := NewKey(bytes.Repeat([]byte{1}, MasterKeySize), strings.NewReader("short"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := poor.AppendSeal([]byte("row"), at, []byte("secret")); err == nil {
		t.Errorf("without randomness: %q", out)
	}
}
