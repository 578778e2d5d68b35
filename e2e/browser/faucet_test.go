package browser

import (
	"encoding/json"
	"testing"

	"purser/e2e/harness"
)

// Alice and Bob share a browser: the chat page's faucet and the signing page tell them apart, also
// when the sandbox begins again.
func TestOneBrowserOfTwoPeople(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	purser, chat := harness.Unconfigured(t, program)
	purser.Start()
	var end any
	play(t, "faucet.mjs", settings{Chat: chat, Profiles: profiles(t), Executable: executable}, operations{
		"fresh": func(json.RawMessage) any {
			purser.Stop()
			purser.Start("--fresh")
			return nil
		},
	}, &end)
	purser.Stop()
}
