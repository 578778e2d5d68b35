package chat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNobodyInChatIsShownAShellCommand: neither by a text of the catalogue, nor by a refusal, nor in any transcript.
func TestNobodyInChatIsShownAShellCommand(t *testing.T) {
	shell := regexp.MustCompile(`\bpurser (key|sign|serve|sandbox|init|backup|restore|rotate-master-key|compact|doctor|page-hash|listen|verify)\b|\b(curl|wget|sudo|npm|npx|docker|export) |\bgo (run|build)\b|\$[A-Z_]{2,}|--[a-z]{2,}`)
	texts := map[string]string{}
	files, err := filepath.Glob("testdata/*.chat")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	catalogue, err := filepath.Glob("*.en.toml")
	if err != nil || len(catalogue) == 0 {
		t.Fatal(err)
	}
	for _, name := range append(append(files, "../locale/en.toml"), catalogue...) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(raw), "\n") {
			if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ">") {
				texts[fmt.Sprintf("%s:%d", name, i+1)] = line
			}
		}
	}
	for where, text := range texts {
		if found := shell.FindString(strings.ReplaceAll(text, "/wallet export ", "")); found != "" { // a command of ours
			t.Errorf("%s shows %q", where, found)
		}
	}
	for _, sample := range []string{"purser key create --kind api", "curl -H x", "echo $KEY", "export KEY=x"} {
		if !shell.MatchString(sample) {
			t.Errorf("%q would pass", sample)
		}
	}
}
