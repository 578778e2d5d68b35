package main

import (
	"errors"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"purser/config"
)

// TestHelpShowsACommandsOwnFlags: and the settings of the service only where they are what the command is about.
func TestHelpShowsACommandsOwnFlags(t *testing.T) {
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var out, errOut strings.Builder
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if status := run(t.Context(), "purser", args, nil, &out, &errOut); status != 0 || errOut.Len() > 0 {
			t.Fatalf("%v: %d, %s", args, status, errOut.String())
		}
		help := out.String()
		serves := len(args) == 1 || args[0] == "serve" || args[0] == "sandbox"
		for _, setting := range []string{"--chain-cluster", "--limits-messages", "--webhooks-allow-http"} {
			if strings.Contains(help, setting) != serves {
				t.Errorf("%v: shows %s: %t", args, setting, !serves)
			}
		}
		if (args[0] == "key" || args[0] == "queue") != strings.Contains(help, "--store-url") && !serves {
			t.Errorf("%v does not say which settings it reads:\n%s", args, help)
		}
		if !strings.Contains(help, "Usage:\n  purser") || !serves && !strings.Contains(help, cmd.UseLine()) && cmd.Runnable() {
			t.Errorf("%v: no usage:\n%s", args, help)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			seen++
			if !strings.Contains(help, "--"+f.Name) {
				t.Errorf("%v: --%s is not shown", args, f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			if below.IsAvailableCommand() {
				if !strings.Contains(help, below.Name()) || !strings.Contains(help, below.Short) {
					t.Errorf("%v does not name %s", args, below.Name())
				}
				walk(below)
			}
		}
	}
	walk(commands("purser", nil, &strings.Builder{}, &strings.Builder{}))
	if seen < 12 {
		t.Errorf("%d flags were looked for", seen)
	}
}

// TestAProgramKnowsHowItWasCalled: a person who types what is printed runs this program again.
func TestAProgramKnowsHowItWasCalled(t *testing.T) {
	cached := "/home/a/.cache/go-build/2c/" + strings.Repeat("0f", 32) + "-d/purser"
	for _, c := range []struct{ typed, executable, want string }{
		{"/tmp/go-build1347125839/b001/exe/purser", "/tmp/go-build1347125839/b001/exe/purser", "go run ."},
		{cached, cached, "go run ."}, // the second go run of the same source
		{"/var/cache/2c/" + strings.Repeat("0f", 32) + "-d/purser", "/var/cache/2c/" + strings.Repeat("0f", 32) + "-d/purser", "go run ."}, // another GOCACHE
		{"./purser", "/srv/purser/purser", "./purser"},
		{"purser", "/usr/local/bin/purser", "purser"},
		{"../go-build/purser", "/srv/go-build/purser", "../go-build/purser"},
		{"/tmp/go-build1347125839/b001/purser.test", "/tmp/go-build1347125839/b001/purser.test", "/tmp/go-build1347125839/b001/purser.test"},
		{"/my tools/purser", "/my tools/purser", "'/my tools/purser'"},
	} {
		if got := calledAs(c.typed, func() (string, error) { return c.executable, nil }); got != c.want {
			t.Errorf("%s, which is %s: %q", c.typed, c.executable, got)
		}
	}
	if got := calledAs("./purser", func() (string, error) { return "", errors.New("unknown") }); got != "./purser" {
		t.Errorf("without the executable's path: %q", got)
	}
}

// TestGoRunPrintsWhatWorksAsTyped runs the program as README says, twice: the second comes from Go's build cache.
func TestGoRunPrintsWhatWorksAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	for range 2 {
		out, err := exec.CommandContext(t.Context(), "go", "run", ".", "key", "--help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Usage:\n  go run . key [command]") || !strings.Contains(string(out), `"go run . serve --help"`) {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// TestPrintedCommandsExist: each example in the help, and each command in the sandbox's banner, names commands and flags that
// exist, by the name under which the program was called.
func TestPrintedCommandsExist(t *testing.T) {
	for _, called := range []string{"go run .", "./purser"} {
		checked := 0
		check := func(line string) {
			t.Helper()
			checked++
			rest, named := strings.CutPrefix(line, called+" ")
			if !named {
				t.Errorf("%q does not begin with %s", line, called)
				return
			}
			args := strings.Fields(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(strings.TrimSuffix(rest, " < body.json"), "quoted"))
			root := commands(called, nil, &strings.Builder{}, &strings.Builder{})
			cmd, flags, err := root.Find(args)
			if err != nil || cmd == root {
				t.Errorf("%q is no command: %v", line, err)
				return
			}
			if err := cmd.ParseFlags(flags); err != nil {
				t.Errorf("%q: %v", line, err)
			} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		var walk func(cmd *cobra.Command)
		walk = func(cmd *cobra.Command) {
			for line := range strings.Lines(cmd.Example) {
				check(strings.TrimSpace(line))
			}
			for _, below := range cmd.Commands() {
				walk(below)
			}
		}
		walk(commands(called, nil, &strings.Builder{}, &strings.Builder{}))
		if checked < 8 {
			t.Errorf("%s: %d examples were found", called, checked)
		}
		at := config.HTTP{PublicURL: &url.URL{Scheme: "http", Host: "a"}, PagesURL: &url.URL{Scheme: "http", Host: "b"}}
		said := greeting(worldOptions{dir: "elsewhere"}, at, "", called)
		for _, mark := range []string{`\(make a key: (.+)\)`, `trusted_proxies.*? (\S*(?:go run \.|purser) serve)`} {
			found := regexp.MustCompile("(?i)" + mark).FindStringSubmatch(said)
			if found == nil {
				t.Fatalf("no %s in\n%s", mark, said)
			}
			check(found[1])
		}
	}
	var help strings.Builder
	if status := run(t.Context(), "./purser", []string{"key", "--help"}, nil, &help, &help); status != 0 || !strings.Contains(help.String(), `"./purser serve --help" lists them`) {
		t.Errorf("the help of key: %d, %s", status, help.String())
	}
	for _, args := range [][]string{{"key", "revoke"}, {"key", "tier"}, {"queue", "dead-letters"}, {"queue", "replay"}, {"sign"}} {
		var out, errOut strings.Builder
		if status := run(t.Context(), "go run .", args, nil, &out, &errOut); status != 1 || !strings.Contains(errOut.String(), "go run . "+args[0]) {
			t.Errorf("%v: %d, %q", args, status, errOut.String())
		}
	}
}
