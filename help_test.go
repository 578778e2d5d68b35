package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestHelpShowsACommandsOwnFlags: and the settings of the service only where they are what the command is about.
func TestHelpShowsACommandsOwnFlags(t *testing.T) {
	seen := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		var out, errOut strings.Builder
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		if status := run(t.Context(), args, nil, &out, &errOut); status != 0 || errOut.Len() > 0 {
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
	walk(commands(nil, &strings.Builder{}, &strings.Builder{}))
	if seen < 12 {
		t.Errorf("%d flags were looked for", seen)
	}
}
