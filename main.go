// Command purser is a Telegram-first wallet bot for Solana with an embedded HTTP API. This package
// joins the packages: settings, wiring, commands and shutdown, and no rule of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // the time zones of people, on machines without a database of them

	"github.com/spf13/cobra"

	"purser/config"
	"purser/signer"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	collectSeldom()
	os.Exit(run(ctx, calledAs(os.Args[0], os.Executable), os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// The heap that purser lives on is some ten megabytes: letting as much garbage gather four times over costs little
// memory and saves a fifth of the processor's time under load. Near memoryLimit it is collected as often as it must
// be: that many bytes hold all that may wait for slow receivers at once, where events are of ordinary size.
const (
	garbagePercent = 400
	memoryLimit    = 512 << 20
)

// collectSeldom sets the garbage collector, unless the environment does (GOGC, GOMEMLIMIT; Go's package runtime).
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// run is the whole program. called is what a person types to run it. It returns the exit status: 1 after one clear line on
// errors.
func run(ctx context.Context, called string, args, environ []string, out, errOut io.Writer) int {
	root := commands(called, environ, out, errOut)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.ExecuteContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(errOut, "purser: %v\n", err)
		return 1
	}
	return 0
}

// commands is the tree of commands. called is what a person types to run this program: usage lines, examples, errors and the
// sandbox's banner name it, so that what is printed works as printed.
func commands(called string, environ []string, out, errOut io.Writer) *cobra.Command {
	settings := config.Options{Environ: environ}
	root := &cobra.Command{
		Use:         "purser",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: called},
		Short:       "A self-hosted Telegram wallet bot for Solana, with an HTTP API",
		Long: "Without a bot token, purser runs in a sandbox with its own Telegram and Solana.\n" +
			"With PURSER_TELEGRAM_TOKEN set (or telegram.token in purser.yaml) it serves real Telegram.",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentFlags().StringVar(&settings.File, "config", "", "settings file (default: purser.yaml, if it exists)")
	config.AddFlags(root.PersistentFlags())
	settings.Flags = root.PersistentFlags()
	world := worldFlags(root)

	sandboxed := func(cmd *cobra.Command, _ []string) error {
		return runSandbox(cmd.Context(), settings, *world, called, out, errOut)
	}
	served := func(cmd *cobra.Command, _ []string) error {
		return runServe(cmd.Context(), settings, out, errOut)
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if config.IsSet(settings, "telegram.token") {
			return served(cmd, args)
		}
		return sandboxed(cmd, args)
	}
	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve real Telegram and a real cluster", Args: cobra.NoArgs, RunE: served},
		&cobra.Command{Use: "sandbox", Short: "Run with the sandbox's own Telegram and Solana", Args: cobra.NoArgs, RunE: sandboxed},
		keyCommand(&settings, world, out),
		queueCommand(&settings, world, out),
		signCommand(out),
		verifyCommand(environ, time.Now, out),
		listenCommand(environ, time.Now, out),
		&cobra.Command{Use: "page-hash", Short: "Print the hash of the embedded signing page", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(out, signer.Hash())
				return err
			}},
		&cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(out, version())
				return err
			}},
	)
	nameExamples(root, called)
	for _, cmd := range root.Commands() {
		if cmd.Name() != "serve" && cmd.Name() != "sandbox" { // those two are what the settings are for
			cmd.SetUsageTemplate(ownUsage(cmd.Name() == "key" || cmd.Name() == "queue"))
		}
	}
	return root
}

// nameExamples replaces the program's name at the start of each example line, here and in all commands below, by called.
func nameExamples(cmd *cobra.Command, called string) {
	lines := strings.Split(cmd.Example, "\n")
	for i, line := range lines {
		if rest, found := strings.CutPrefix(line, "  purser "); found {
			lines[i] = "  " + called + " " + rest
		}
	}
	cmd.Example = strings.Join(lines, "\n")
	for _, below := range cmd.Commands() {
		nameExamples(below, called)
	}
}

// ownUsage is the usage of a command, and of those below it, that shows its own flags and not every setting of
// the service. Cobra's own template lists all that are inherited. settings says that some of them matter here.
func ownUsage(settings bool) string {
	const text = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}
`
	if !settings {
		return text
	}
	return text + `
It reads the same settings as the service, such as --config and --store-url: "{{.Root.DisplayName}} serve --help" lists them.
`
}

// version is what the Go toolchain recorded of this build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "purser (unknown build)"
	}
	text := "purser " + info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}
