package main

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"purser/api"
	"purser/store"
	"purser/wallet"
)

// letters are queues of which one has dead letters, newest first; the job of waits is there again.
type letters struct {
	api.QueueService
	ids      []store.JobID
	waits    store.JobID
	replayed []string
}

func (l *letters) DeadLetters(context.Context, store.Queue) (out []store.DeadLetter, err error) {
	for _, id := range l.ids {
		out = append(out, store.DeadLetter{Job: store.Job{ID: id}})
	}
	return out, nil
}

func (l *letters) Replay(_ context.Context, queue store.Queue, id store.JobID) error {
	if id == l.waits {
		return wallet.Refuse(wallet.Conflict, "admin.letter_waits", wallet.TextArg("ID", id))
	}
	l.replayed = append(l.replayed, string(queue)+" "+string(id))
	return nil
}

// TestAllDeadLettersAreReplayedInTheirOrder: the oldest first, past one whose job is there again. By its id that one is
// refused.
func TestAllDeadLettersAreReplayedInTheirOrder(t *testing.T) {
	replay := func(l *letters, args ...string) (string, error) {
		var out strings.Builder
		cmd := replayCommand(func(do queueWork) func(*cobra.Command, []string) error {
			return func(cmd *cobra.Command, args []string) error { return do(cmd.Context(), l, args) }
		}, &out)
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	l := &letters{ids: []store.JobID{"c", "b", "a"}, waits: "b"}
	said, err := replay(l, "outbox", "--all")
	if got := strings.Join(l.replayed, ", "); err != nil || got != "outbox a, outbox c" || said != "b waits already.\nReplayed 2 of the queue outbox.\n" {
		t.Errorf("replayed %s, said %q, %v", got, said, err)
	}
	if said, err := replay(l, "outbox", "b"); err == nil || !strings.Contains(err.Error(), "already waits") || said != "" {
		t.Errorf("said %q, %v", said, err)
	}
}
