package browser

import (
	"encoding/json"
	"testing"
)

// Alice and Bob share a browser: the chat page's faucet and the signing page tell them apart, also
// when the sandbox begins anew.
func TestOneBrowserOfTwoPeople(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	purser := newNewcomer(t)
	purser.Start()
	var end any
	play(t, "faucet.mjs", settings{Chat: purser.Chat, Profiles: profiles(t), Executable: executable}, deeds{
		"fresh": func(json.RawMessage) any {
			purser.Stop()
			purser.args = append(purser.args, "--fresh")
			purser.Start()
			return nil
		},
	}, &end)
	purser.Stop()
}
