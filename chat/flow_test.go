package chat

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"purser/wallet"
)

// TestNoStateTrapsAnybody proves of each conversation that every state ends by /cancel, by time-out
// and by another command, and that every step leads to a state of the table.
func TestNoStateTrapsAnybody(t *testing.T) {
	for _, c := range conversations() {
		name, flow := c.name, c.flow
		if flow == nil {
			continue
		}
		if _, ok := flow[idle]; !ok {
			t.Errorf("%s does not begin at idle", name)
		}
		reached := map[State]bool{idle: true}
		for at, steps := range flow {
			for by, step := range steps {
				if reached[step.To] = true; flow[step.To] == nil {
					t.Errorf("%s: %q from %q leads to %q, which is no state", name, by, at, step.To)
				}
			}
			if at == idle {
				continue
			}
			for _, by := range []Trigger{cancelled, timedOut, movedOn} {
				if step, ok := flow.Next(at, by); !ok || step.To != idle {
					t.Errorf("%s: %q does not end %q", name, by, at)
				}
			}
			if step, ok := flow.Next(at, cancelled); !ok || step.Do == nil {
				t.Errorf("%s: /cancel in %q says nothing", name, at)
			}
		}
		for at := range flow {
			if !reached[at] {
				t.Errorf("%s: nothing leads to %q", name, at)
			}
		}
	}
}

const conversationsHead = `# Conversations

What the chat remembers of a conversation, printed from the tables of ` + "`chat`" + `'s conversations by
` + "`go test ./chat -update`" + `. A conversation is forgetful: every question ends by ` + "`/cancel`" + `, by another
command that begins something, and by a time-out (5 minutes; a proposal's 5 minutes, a signature's 15, a
link's and a mailed code's 10 where one is waited for; one minute while a new key is shown). Money is not: what happens to a transaction is in
[lifecycle.md](lifecycle.md), and no conversation can bend it. Commands that only look (` + "`/help`" + `,
` + "`/wallet balance`" + `) leave a question open.

`

const lifecycleHead = `# The life of a transaction

Printed from ` + "`wallet.Lifecycle()`" + ` by ` + "`go test ./chat -update`" + `. Behind a slash stand the events that a step
announces. Nothing changes after a step that is marked *final*. A transaction that ended without a
signature stays open until it is certain that no device has signed it.

`

func lifecycle() string {
	var out strings.Builder
	out.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> awaiting_confirmation\n    [*] --> received\n    [*] --> requested\n")
	for _, edge := range wallet.Lifecycle() {
		fmt.Fprintf(&out, "    %s --> %s: %s", edge.From, edge.To, edge.By)
		for i, event := range edge.Emits {
			fmt.Fprintf(&out, "%s%s", map[bool]string{true: " / ", false: ", "}[i == 0], event)
		}
		if edge.Closes {
			out.WriteString(" (final)")
		}
		out.WriteString("\n")
	}
	out.WriteString("    received --> [*]\n```\n")
	return out.String()
}

func TestDiagramsAreFresh(t *testing.T) {
	for path, want := range map[string]string{
		"../docs/conversations.md": conversationsHead + strings.TrimSuffix(Diagrams(), "\n"),
		"../docs/lifecycle.md":     lifecycleHead + lifecycle(),
	} {
		if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is stale: go test ./chat -update prints it anew", path)
		}
	}
}
