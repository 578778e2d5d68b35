package chat

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"purser/handlers"
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

var conversationsHead = `# Conversations

The states of each conversation in the chat, and what leads from one to the next. The diagrams are printed from the tables
of ` + "`chat`" + ` by ` + "`go test ./chat -update`" + `.

Every question ends with ` + "`/cancel`" + `, with another command that starts a conversation, or with a timeout. Commands that only
read (` + "`/help`" + `, ` + "`/wallet balance`" + `) leave a question open. Ending a conversation never changes a transaction that is
already signed: [lifecycle.md](lifecycle.md) says what happens to it.

| the chat waits for | timeout |
|---|---|
| an answer to a question, or Confirm | ` + words(AnswerTimeout) + ` |
| a payment's signature | ` + words(wallet.SignWindow) + ` |
| a connection link to be used, or a mailed code | ` + words(wallet.BindWindow) + ` |
| "I've saved it", while a new key is shown | ` + words(KeyShown) + ` |

A swap or a step of staking is a card and no conversation: [lifecycle.md](lifecycle.md) has its times.

`

var lifecycleHead = `# The life of a transaction

| state | what it means to the person | what ends it |
|---|---|---|
| ` + "`awaiting_confirmation`" + ` | A payment is proposed. Nothing is reserved yet | Confirm or Reject in the chat, or ` + toConfirm() + ` |
| ` + "`delayed`" + ` | You confirmed, and a fraud rule or a spending limit makes it wait. The amount is reserved, and nothing can be signed yet | the end of the delay, or Cancel. If it isn't possible any more when the delay ends, it becomes failed |
| ` + "`awaiting_signature`" + ` | You confirmed. The amount is reserved until your device signs | a signature, Reject, or ` + toSign() + ` |
| ` + "`signed`" + ` | Your device signed. purser stored the signed bytes and sends them to Solana | a Solana node accepts it, it lands, or it can never land |
| ` + "`pending`" + ` | A Solana node accepted it | it lands, or it can never land |
| ` + "`confirmed`" + ` | It landed. The money has moved | it becomes final, with 32 confirmations. A rollback before that returns it to pending |
| ` + "`failed`" + ` | It failed on chain, or it can never land. Nothing was paid, except the network fee if it failed on chain | nothing: it is final |
| ` + "`rejected`" + ` | You rejected it | certainty that no signed copy can still land. If a device had signed it and it lands, it becomes confirmed |
| ` + "`expired`" + ` | Nobody confirmed, signed or paid in time | the same as for rejected. For a payment request, nothing: it is final |
| ` + "`requested`" + ` | A payment request waits to be paid | a payment, or ` + words(handlers.RequestWindow) + ` |
| ` + "`received`" + ` | A payment reached the wallet | nothing: it is final |

The diagram has every step. After a slash it names the events that the step emits. Nothing changes after a step marked
*final*. A transaction that ended without a signature stays open until it is certain that no device has signed it.

Printed from ` + "`wallet.Lifecycle()`" + ` by ` + "`go test ./chat -update`" + `.

`

// words is a duration as the docs write it: "5 minutes".
func words(d time.Duration) string {
	n, unit := int(d.Minutes()), "minute"
	if d%time.Hour == 0 {
		n, unit = int(d.Hours()), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
}

func toConfirm() string {
	return fmt.Sprintf("%s (a swap: %s after its quote)", words(wallet.ConfirmWindow), words(wallet.QuoteLife))
}

func toSign() string {
	return fmt.Sprintf("%s (a swap: %s; after a delay: %s)", words(wallet.SignWindow), words(wallet.SwapSignWindow), words(wallet.DelayedSignWindow))
}

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

// TestEveryStateIsExplained: the table above the diagram has a row for each state in it.
func TestEveryStateIsExplained(t *testing.T) {
	explained := map[wallet.Status]bool{}
	for _, edge := range wallet.Lifecycle() {
		for _, state := range []wallet.Status{edge.From, edge.To} {
			if row := "\n| `" + string(state) + "` | "; strings.Count(lifecycleHead, row) != 1 {
				t.Errorf("%d rows explain %s", strings.Count(lifecycleHead, row), state)
			}
			explained[state] = true
		}
	}
	if rows := strings.Count(lifecycleHead, "\n| `"); rows != len(explained) {
		t.Errorf("%d rows explain %d states", rows, len(explained))
	}
}

// TestTheSpecificationHasTheTimeLimits: its table of states says the same times as that of lifecycle.md.
func TestTheSpecificationHasTheTimeLimits(t *testing.T) {
	page, err := os.ReadFile("../docs/specification.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"\n| `awaiting_confirmation` | waits for Confirm in the chat, for " + toConfirm() + " |\n",
		"\n| `awaiting_signature` | confirmed, waits for the signature, for " + toSign() + " |\n",
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("it has no row%s", row)
		}
	}
}

func TestDiagramsAreFresh(t *testing.T) {
	for path, want := range map[string]string{
		"../docs/conversations.md": conversationsHead + strings.TrimSuffix(diagrams(), "\n"),
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
			t.Errorf("%s is stale: go test ./chat -update prints it again", path)
		}
	}
}
