package chat

import (
	"strings"
	"testing"

	"purser/wallet"
)

// TestAValidatorsButtonHasALabel, whatever the validator calls itself, and its name is text and no link.
func TestAValidatorsButtonHasALabel(t *testing.T) {
	end := "…" + wallet.Address{7}.Tail()
	for name, want := range map[string]string{"Elm": "Elm", "": end, "🛡": end, "\u200d": end, strings.Repeat(" ", 32): end, "<b>": "&lt;b&gt;"} {
		if got := validatorLabel(wallet.Validator{Vote: wallet.Address{7}, Name: name}); string(got) != want {
			t.Errorf("%q: the button says %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"t.me/gift": "<code>t.me/gift</code>", "🛡": "", "": ""} {
		if got := validatorName(name); string(got) != want {
			t.Errorf("%q is shown as %q, want %q", name, got, want)
		}
	}
}
