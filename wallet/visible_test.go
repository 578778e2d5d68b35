package wallet_test

import (
	"net/url"
	"strings"
	"testing"

	"purser/wallet"
)

// TestWhatShowsNothingIsNoText: the same characters are nothing in a name, a purpose, a label and a note.
func TestWhatShowsNothingIsNoText(t *testing.T) {
	parsers := map[string]func(string) error{
		"name":    func(text string) error { _, err := wallet.ParseAppName(text); return err },
		"purpose": func(text string) error { _, err := wallet.ParsePurpose(text); return err },
		"label":   wallet.CheckLabel,
		"memo":    wallet.CheckMemo,
	}
	for what, parse := range parsers {
		for _, nothing := range []string{"\u2800", "\U0001D159", "\u3164", "\u115f", "\uffa0", "\u200d", "\ufe0f", "\u034f", "\u0301"} {
			if err := parse(strings.Repeat(nothing, 12)); wallet.CodeOf(err) != wallet.InvalidRequest {
				t.Errorf("%s of %+q alone: %v", what, nothing, err)
			}
			if what == "memo" || nothing == "\u0301" || what == "label" && (nothing == "\u200d" || nothing == "\ufe0f") {
				continue // emoji and scripts need these
			}
			if err := parse("Takes orders" + nothing); wallet.CodeOf(err) != wallet.InvalidRequest {
				t.Errorf("%s with %+q: %v", what, nothing, err)
			}
		}
		for _, seen := range []string{"Takes e\u0301clairs", "売店のレジ係", "किं कर्तव्यम्", "Pay ⠓⠑⠇⠏ 𝅘𝅥"} {
			if err := parse(seen); err != nil {
				t.Errorf("%s of %q: %v", what, seen, err)
			}
		}
	}
	for _, check := range []func(string) error{wallet.CheckLabel, wallet.CheckMemo} {
		for _, text := range []string{"", "❤\ufe0f", "👩\u200d🍳", "می\u200cخواهم"} {
			if err := check(text); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		if err := check(" \u00a0 "); wallet.CodeOf(err) != wallet.InvalidRequest {
			t.Errorf("spaces alone: %v", err)
		}
	}
}

// TestNamesThatDifferInNothingSeenLookAlike: what shows nothing is no part of how a name looks.
func TestNamesThatDifferInNothingSeenLookAlike(t *testing.T) {
	for _, nothing := range []string{"\u2800", "\U0001D159", "\u3164", "\u200b", "\ufe0f"} {
		if got, want := wallet.Skeleton("Book"+nothing+"shop"), wallet.Skeleton("Bookshop"); got != want {
			t.Errorf("with %+q: %q, not %q", nothing, got, want)
		}
	}
}

// TestALabelStaysOnItsLine: neither a row of spaces that looks like the end of a line nor accents that are drawn over the
// lines around it.
func TestALabelStaysOnItsLine(t *testing.T) {
	for text, want := range map[string]bool{
		"Café  Rio": true, "コーヒー\u3000豆": true, "e\u0301\u0323\u0332": true,
		"Café   Rio": false, "Café\u3000\u3000\u3000To bob": false, "a \u00a0 b": false, "e\u0301\u0323\u0332\u0333": false,
	} {
		if err := wallet.CheckLabel(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
		link, err := wallet.ParsePayLink("solana:11111111111111111111111111111112?message=" + url.QueryEscape(text))
		if err != nil || (link.Purpose == text) != want {
			t.Errorf("the message %q is shown as %q, %v", text, link.Purpose, err)
		}
	}
}
