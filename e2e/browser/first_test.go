package browser

import (
	"testing"

	"purser/e2e/harness"
)

// Somebody who tries purser pays the sandbox's shop with the first wallet that they make, and nobody else has to
// be played for it. What it takes of them is bounded.
func TestTheFirstPaymentTakesOneWallet(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	purser, chat := harness.Unconfigured(t, program)
	purser.Start()
	var effort struct{ Clicks, Fields int }
	play(t, "first.mjs", settings{Chat: chat, Profiles: profiles(t), Executable: executable}, nil, &effort)
	purser.Stop()
	t.Logf("the first payment took %d clicks and %d fields", effort.Clicks, effort.Fields)
	// 6 fields: three words, the passphrase twice and once more to sign. The message field of the chat is the
	// test's own, which asks for the balance to see that the test money has come.
	if effort.Clicks > 16 || effort.Fields > 6+1 {
		t.Errorf("%d clicks and %d fields", effort.Clicks, effort.Fields)
	}
}
