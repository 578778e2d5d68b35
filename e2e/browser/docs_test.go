package browser

import (
	"testing"
	"time"

	"purser/e2e/harness"
)

// The documentation in a browser: phone and desktop, light and dark, by keyboard, and with nothing
// fetched from anywhere else.
func TestTheDocumentationIsReadableByEverybody(t *testing.T) {
	t.Parallel()
	executable := chromium(t)
	world := harness.World(t, 100*time.Millisecond)
	purser := harness.NewProduct(t, program, world)
	purser.Start()
	var end walked
	play(t, "docs.mjs", settings{Page: purser.Pages + "/docs", Profiles: profiles(t), Executable: executable}, nil, &end)
	for _, f := range end.Findings {
		t.Error(f)
	}
	if len(end.Looked) != 2*4 {
		t.Errorf("axe looked at %q", end.Looked)
	}
	purser.Stop()
}
