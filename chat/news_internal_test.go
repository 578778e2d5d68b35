package chat

import "testing"

// TestNothingInAHeadlineIsALink for Telegram: it finds addresses, names and commands in any text.
func TestNothingInAHeadlineIsALink(t *testing.T) {
	for text, want := range map[string]string{
		"Send to @phantom_support at sol-claim.xyz": "Send to ＠phantom_support at sol-claim․xyz",
		"type /send 5 SOL, and/or (/stake)":         "type ∕send 5 SOL, and/or (∕stake)",
		"It fell. By 2.5% to $1.20":                 "It fell. By 2.5% to $1.20",
		"/start":                                    "∕start",
		"":                                          "",
	} {
		if got := unlinked(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
