package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"purser/terminal"
)

// keyVariable holds a developer's key; it is not of config, which is the operator's.
const keyVariable = "PURSER_API_KEY"

// listenCommand hands events to a receiver on the developer's machine.
func listenCommand(environ []string, now func() time.Time, out io.Writer) *cobra.Command {
	var forward, api, keyFile string
	var events []string
	cmd := &cobra.Command{
		Use: "listen [--forward-to URL] [--events NAMES]", Short: "Receive events as they happen and forward them to this machine",
		Long: "For developing webhooks: receives the events of a key over one connection and posts each to URL, as a webhook\n" +
			"delivery would arrive. They are signed with a secret that is printed at the start. Without URL, events are printed.\n" +
			"The key needs the pro tier and the scope webhooks. It comes from a file or from " + keyVariable + ",\n" +
			"because the command line would stay in the shell's history. A bot token receives the bot's events.",
		Example: "  purser listen --forward-to http://localhost:3000/hook --events '*'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return errors.New("listen takes no arguments: put the key into a file (--key-file) and give the receiver with --forward-to")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			key, err := secretOf(keyFile, keyVariable, "key", environ)
			if err != nil {
				return err
			}
			l := &terminal.Listener{Key: key, Events: events, Out: out, Now: now}
			if l.API, err = address("--api", api); err != nil {
				return err
			}
			if local := l.API.Hostname(); l.API.Scheme == "http" && !slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, local) {
				return errors.New("--api must be https, except on this machine: over http others can read the key")
			}
			if forward != "" {
				if l.Forward, err = address("--forward-to", forward); err != nil {
					return err
				}
			}
			return l.Run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&forward, "forward-to", "", "address to post events to")
	flags.StringSliceVar(&events, "events", []string{"*"}, "event names and wildcards, separated by commas")
	flags.StringVar(&api, "api", "http://127.0.0.1:8080", "address of the purser")
	flags.StringVar(&keyFile, "key-file", "", "file that holds the key (default: "+keyVariable+")")
	return cmd
}

func address(flag, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%s must be an address such as http://localhost:3000/hook", flag)
	}
	return u, nil
}

// secretOf reads a developer's secret from a file, or from a variable.
func secretOf(file, variable, what string, environ []string) (string, error) {
	if file == "" {
		at := slices.IndexFunc(environ, func(line string) bool { return strings.HasPrefix(line, variable+"=") })
		if at < 0 || environ[at] == variable+"=" {
			return "", fmt.Errorf("there is no %s: give its file with --%s-file, or set %s", what, what, variable)
		}
		return strings.TrimPrefix(environ[at], variable+"="), nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the %s cannot be read: %w", what, err)
	}
	text := strings.TrimRight(string(raw), "\r\n") // editors end files so
	if text == "" {
		return "", fmt.Errorf("the %s's file is empty", what)
	}
	return text, nil
}
