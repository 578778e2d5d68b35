package purser

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAModuleOfItsOwnImportsTheClientAsItsReadmeSays: to the letter, and with nothing fetched.
func TestAModuleOfItsOwnImportsTheClientAsItsReadmeSays(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(readme), "```sh\n")
	script, _, found := strings.Cut(script, "```")
	root, err := filepath.Abs("../..")
	if err != nil || !found {
		t.Fatal("the README has no script", err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(script, "/path/to/purser", root))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=", "GOWORK=off") // the cache holds modules that were verified
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "till", "till")); err != nil {
		t.Error(err)
	}
}
