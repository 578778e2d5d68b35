package wallet

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTitlesOfTheSameNewsHaveTheSameKey(t *testing.T) {
	for title, want := range map[string]string{
		"Dune 7 moves, again!":     "dune7movesagain",
		"  DUNE 7 – moves: again ": "dune7movesagain",
		"Дюна №7":                  "дюна7",
		"沙丘 7":                     "沙丘7",
		"!!! 🚀":                    "",
		"":                         "",
	} {
		if got := (NewsItem{Title: title}).TitleKey(); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

func TestTextOfNewsIsCleaned(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                             "plain",
		"  a \t\n\r b\u00a0\u2003c\u2028d ": "a b c d",
		"a\u202eb\u2066c\u2069d\u200fe":     "abcde",
		"in\u200bvi\u00adsi\ufeffble\u3164": "invisible",
		"nul\x00 bell\x07 esc\x1b[31m":      "nul bell esc[31m",
		"bad \xff\xfe bytes":                "bad bytes",
		"\u202e \u200b":                     "",
		"\u0301\u0301":                      "",
		"e\u0301te\u0301":                   "e\u0301te\u0301",
		"z" + strings.Repeat("\u0301", 50):  "z" + strings.Repeat("\u0301", 4),
		"a \u0301b":                         "a b",
		"नमस्ते":                            "नमस्ते",
		"private \ue000 use":                "private use",
		"":                                  "",
	} {
		if got := CleanNewsText(text, 100); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLongTextOfNewsIsCut(t *testing.T) {
	for text, want := range map[string]string{
		"0123456789":                  "0123456789",
		"0123456789x":                 "012345678…",
		"01234567 9x":                 "01234567…",
		"ééééééééééé":                 "ééééééééé…",
		strings.Repeat("沙丘", 500_000): "沙丘沙丘沙丘沙丘沙…",
	} {
		got := CleanNewsText(text, 10)
		if got != want || utf8.RuneCountInString(got) > 10 {
			t.Errorf("%.30q: %q, want %q", text, got, want)
		}
	}
}
