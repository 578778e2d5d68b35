package wallet

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestContactNames(t *testing.T) {
	for text, want := range map[string]string{
		"rent": "rent", "  Mum's   flat-2 ": "Mum's flat-2", "Zoe\u0308": "Zo\u00eb", "Хозяин": "Хозяин", "मां": "मां",
		strings.Repeat("ы", 32): strings.Repeat("ы", 32), "a_b": "a_b", strings.Repeat("a", 31): strings.Repeat("a", 31),
	} {
		if got, err := ParseContactName(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", " ", strings.Repeat("ы", 33), strings.Repeat("a b ", 5000), "5", "1.5", "-rent", "2nd", "'x", "\u0301a",
		"max", "MAX", "all", "Everything", "To", "nan", "Infinity", "@rent", "/send", "rent!", "a.sol", "a\x00b", "a\u200bb", "a\u202eb",
		"a\u2066b", "a\u3164", "\u3164", "a\ufe0f", "a\u034fb", "a\u00adb", "a\u2028b!", "rent\U0001F600", "\xff\xfe",
		"EPjFWdd5AufqSSqeM2qN1xzybapC8G4w", strings.Repeat("a", 32), "a\ufffd",
	} {
		if got, err := ParseContactName(text); CodeOf(err) != InvalidRequest || ReasonOf(err).IsZero() {
			t.Errorf("%q was taken as %q, %v", text, got, err)
		}
	}
	for _, pair := range [][2]string{{"Rent", "rENT"}, {"Zoe\u0308", "ZO\u00cb"}, {"stra\u00dfe", "STRASSE"}, {"a  b", "A b"}} {
		if ContactKey(pair[0]) != ContactKey(pair[1]) {
			t.Errorf("%q and %q are two names", pair[0], pair[1])
		}
	}
}

func FuzzContactName(f *testing.F) {
	for _, text := range []string{"rent", "Zoe\u0308", "\xff", "a\u3164", "İ", "ẞ"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := ParseContactName(text)
		if err != nil {
			return
		}
		again, err := ParseContactName(name)
		if err != nil || again != name {
			t.Errorf("%q became %q, then %q, %v", text, name, again, err)
		}
		if n := utf8.RuneCountInString(name); n < 1 || n > MaxContactName || !utf8.ValidString(name) {
			t.Errorf("%q has %d characters", name, n)
		}
		if ContactKey(name) != ContactKey(ContactKey(name)) {
			t.Errorf("the key of %q is no key", name)
		}
		if _, err := ParseAddress(name); err == nil {
			t.Errorf("%q is an address", name)
		}
		if _, err := parseAmount(name, 9); err == nil {
			t.Errorf("%q is an amount", name)
		}
	})
}
