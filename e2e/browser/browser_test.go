// Package browser walks the whole path as people do: the built binary, a real Chromium, and nothing
// but what stands on the pages. It refuses to know anything that a person at the screen cannot see,
// save where a test looks for what must not have leaked.
package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"purser/e2e/harness"
)

var program string

func TestMain(m *testing.M) {
	path, remove, err := harness.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = path
	code := m.Run()
	remove()
	os.Exit(code)
}

// chromium is the browser's executable. A test that cannot have it is skipped on a person's machine
// and fails in CI; so with the packages of Node.
func chromium(t *testing.T) string {
	t.Helper()
	missing := t.Skip
	if os.Getenv("CI") == "true" {
		missing = t.Fatal
	}
	if _, err := os.Stat("node_modules"); err != nil {
		missing("e2e/browser has no node_modules: run `npm ci` there")
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("node is not installed")
	}
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing("there is no Chromium: install it, or name it in CHROMIUM")
	return ""
}

// patience bounds one scenario. They take a minute or two on a quiet machine with two cores, and eight times as long
// on a busy one.
const patience = 10 * time.Minute

// withPatience adds to a scenario's settings what every scenario gets.
func withPatience(settings any, evidence string) ([]byte, error) {
	plain, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, err
	}
	all["patience"], all["evidence"] = patience.Milliseconds(), evidence
	return json.Marshal(all)
}

// tail keeps the last of what is written to it.
type tail struct{ text []byte }

const tailBytes = 6 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.text) }

// operations are what a scenario may ask of the test, by name.
type operations map[string]func(value json.RawMessage) any

// play runs a scenario (scenario.mjs) to its end and reads its result.
func play(t *testing.T, script string, settings any, can operations, result any) {
	t.Helper()
	evidence, err := os.MkdirTemp("", "purser-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pictures of the tabs: %s", evidence)
		} else if err := os.RemoveAll(evidence); err != nil {
			t.Error(err)
		}
	})
	argument, err := withPatience(settings, evidence)
	if err != nil {
		t.Fatal(err)
	}
	// The scenario gives up first, and says where it stood.
	ctx, cancel := context.WithTimeout(t.Context(), patience+harness.Wait)
	defer cancel()
	node := exec.CommandContext(ctx, "node", script, string(argument))
	node.Env = append(os.Environ(), "DEBUG=pw:api", "DEBUG_COLORS=0") // Playwright then says each of its steps, and what it waits for
	var complaint tail
	node.Stderr = &complaint
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	finished := false
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Ask    string
			Value  json.RawMessage
			Result json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%s said %q", script, lines.Text())
			continue
		}
		if line.Ask == "" {
			finished = json.Unmarshal(line.Result, result) == nil
			continue
		}
		operation, ok := can[line.Ask]
		if !ok {
			t.Errorf("%s asks for %q", script, line.Ask)
			operation = func(json.RawMessage) any { return nil }
		}
		answer, err := json.Marshal(operation(line.Value))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(append(answer, '\n')); err != nil {
			t.Errorf("answer %s: %v", script, err)
		}
	}
	if err := node.Wait(); err != nil || !finished {
		t.Fatalf("%s: %v\n%s", script, err, complaint.String())
	}
}

// profiles are fresh folders for the browsers of Alice and Bob.
func profiles(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"alice": t.TempDir(), "bob": t.TempDir()}
}
