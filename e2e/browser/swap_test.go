package browser

import (
	"os"
	"testing"

	"purser/e2e/harness"
)

// A swap in the sandbox goes its whole way: quote, device, chain, and what arrived. SWAP_PICTURES names a folder for screenshots.
func TestASwapGoesItsWholeWay(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	purser, chat := harness.Unconfigured(t, program)
	purser.Start()
	var end any
	play(t, "swap.mjs", settings{Chat: chat, Profiles: profiles(t), Executable: executable, Pictures: os.Getenv("SWAP_PICTURES")}, nil, &end)
	purser.Stop()
}
