package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"purser/api"
	"purser/config"
	"purser/store"
	"purser/wallet"
)

// queueCommand shows the queues of jobs and replays dead letters, beside a running server or without one.
func queueCommand(settings *config.Options, world *worldOptions, out io.Writer) *cobra.Command {
	parent := &cobra.Command{Use: "queue", Short: "Show the queues of jobs, and list and replay their dead letters"}
	with := func(do queueWork) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd.Context(), *settings, *world, func(ctx context.Context, op operator) error { return do(ctx, op.queues, args) })
		}
	}
	parent.AddCommand(queuesCommand(with, out), lettersCommand(with, out), replayCommand(with, out))
	return parent
}

// queueWork is what a command does with the queues of a running purser, or of its store.
type queueWork func(ctx context.Context, queues api.QueueService, args []string) error

// queueRun makes what cobra runs of it.
type queueRun func(queueWork) func(*cobra.Command, []string) error

func queuesCommand(with queueRun, out io.Writer) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the queues, with how many jobs and dead letters each has", Args: cobra.NoArgs,
		RunE: with(func(ctx context.Context, queues api.QueueService, _ []string) error {
			states, err := queues.States(ctx)
			if err != nil {
				return plain(err)
			}
			holds := map[store.Queue]string{}
			for _, q := range store.JobQueues() {
				holds[q.Queue] = q.Holds
			}
			for _, s := range states {
				oldest := ""
				if !s.Oldest.IsZero() {
					oldest = ", oldest from " + s.Oldest.UTC().Format(time.DateTime)
				}
				fmt.Fprintf(out, "%-21s  %d waiting, %d in flight, %d dead letters%s  (%s)\n", s.Queue, s.Waiting, s.InFlight, s.Dead, oldest, holds[s.Queue])
			}
			return nil
		})}
}

func lettersCommand(with queueRun, out io.Writer) *cobra.Command {
	var asJSON bool
	letters := &cobra.Command{Use: "dead-letters QUEUE", Short: "List a queue's dead letters, newest first, without their content",
		Example: "  purser queue dead-letters outbox", Args: oneQueue,
		RunE: with(func(ctx context.Context, queues api.QueueService, args []string) error {
			all, err := queues.DeadLetters(ctx, store.Queue(args[0]))
			if err != nil {
				return plain(err)
			}
			if asJSON {
				return printLetters(out, all)
			}
			for _, l := range all {
				about := ""
				if l.About != "" {
					about = "  about " + string(l.About)
				}
				fmt.Fprintf(out, "%s  given up %s after %d attempts%s: %s\n", l.ID, l.DiedAt.UTC().Format(time.DateTime), l.Attempt, about, oneLine(l.Reason))
			}
			if len(all) == 0 {
				_, err = fmt.Fprintf(out, "The queue %s has no dead letters.\n", args[0])
			}
			return err
		})}
	letters.Flags().BoolVar(&asJSON, "json", false, `print [{"id", "about", "put_at", "given_up_at", "attempts", "reason"}]`)
	return letters
}

// printLetters writes dead letters for a program.
func printLetters(out io.Writer, all []store.DeadLetter) error {
	type row struct {
		ID        store.JobID   `json:"id"`
		About     wallet.UserID `json:"about"` // "" for nobody
		PutAt     string        `json:"put_at"`
		GivenUpAt string        `json:"given_up_at"`
		Attempts  int           `json:"attempts"`
		Reason    string        `json:"reason"`
	}
	rows := []row{} // none are [], not null
	for _, l := range all {
		rows = append(rows, row{l.ID, l.About, wallet.Timestamp(l.At), wallet.Timestamp(l.DiedAt), l.Attempt, l.Reason})
	}
	return json.NewEncoder(out).Encode(rows)
}

// oneLine is a reason without the trace that a panic leaves in it.
func oneLine(reason string) string {
	first, _, _ := strings.Cut(reason, "\n")
	return first
}

func replayCommand(with queueRun, out io.Writer) *cobra.Command {
	var all bool
	replay := &cobra.Command{Use: "replay QUEUE ID... | QUEUE --all", Short: "Give dead letters of a queue another try",
		Example: "  purser queue replay outbox job_01j9\n  purser queue replay events --all"}
	replay.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 || all != (len(args) == 1) {
			return fmt.Errorf("name a queue, and its dead letters by their ids or --all: %s QUEUE ID", cmd.CommandPath())
		}
		return nil
	}
	replay.RunE = with(func(ctx context.Context, queues api.QueueService, args []string) error {
		queue, ids := store.Queue(args[0]), args[1:]
		if all {
			letters, err := queues.DeadLetters(ctx, queue)
			if err != nil {
				return plain(err)
			}
			for i := range letters { // the newest is listed first, and replayed last: they keep their order
				ids = append(ids, string(letters[len(letters)-1-i].ID))
			}
		}
		done := 0
		for _, id := range ids {
			err := queues.Replay(ctx, queue, store.JobID(id))
			if all && wallet.CodeOf(err) == wallet.Conflict { // its job is there again: nothing is missing
				fmt.Fprintf(out, "%s waits already.\n", id)
				continue
			}
			if err != nil {
				return plain(err)
			}
			done++
		}
		_, err := fmt.Fprintf(out, "Replayed %d of the queue %s.\n", done, queue)
		return err
	})
	replay.Flags().BoolVar(&all, "all", false, "all dead letters of the queue")
	return replay
}

// oneQueue wants the name of one queue.
func oneQueue(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one queue: %s list shows them", cmd.Parent().CommandPath())
	}
	return nil
}
